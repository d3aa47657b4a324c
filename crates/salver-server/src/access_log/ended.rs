//! The records of requests that have ended in this turn of the loop. Their lines are made together when the loop is about
//! to wait: what makes one line is at hand for the next then, and was not after the system calls between two answers.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use super::LoopLog;
use super::record::Record;

/// The records that wait for their lines at most: those of a loop that has no time to wait.
const MOST: usize = 32;

thread_local! {
    /// The logs of this thread's loop that have such records.
    static WAITING: RefCell<Vec<Weak<LoopLog>>> = const { RefCell::new(Vec::new()) };
}

/// Makes the lines of the requests that have ended: the loop of this thread is about to wait.
pub(crate) fn make_lines() {
    WAITING.with_borrow_mut(|waiting| {
        for log in waiting.drain(..).filter_map(|log| log.upgrade()) {
            log.ended.is_waiting.set(false);
            log.make_lines();
        }
    });
}

/// The records of requests that have ended, in this order.
#[derive(Default)]
pub(super) struct EndedRecords {
    #[allow(clippy::vec_box, reason = "the boxes are what is used again")]
    records: RefCell<Vec<Box<Record>>>,
    /// True if the loop will come to them before it waits.
    is_waiting: Cell<bool>,
}

impl LoopLog {
    /// Has the line made of a record whose request has ended.
    pub(super) fn end(self: &Rc<Self>, record: Box<Record>) {
        let count = {
            let mut records = self.ended.records.borrow_mut();
            records.push(record);
            records.len()
        };
        if !self.ended.is_waiting.replace(true) {
            WAITING.with_borrow_mut(|waiting| waiting.push(Rc::downgrade(self)));
        }
        if count >= MOST {
            self.make_lines();
        }
    }

    fn make_lines(&self) {
        let Some(lines) = &self.lines else { return };
        for record in self.ended.records.borrow_mut().drain(..) {
            lines.log(&record);
            self.reuse(record);
        }
    }
}

impl Drop for LoopLog {
    fn drop(&mut self) {
        self.make_lines();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::time::Duration;

    use salver_access_log::{Destination, LogWriter, Protocol, Settings};

    use crate::access_log::ConnectionLog;
    use crate::access_log::tests::loop_log;

    #[test]
    fn lines_are_made_before_the_loop_waits_and_when_many_wait() {
        let writer = LogWriter::start(|_| {}).unwrap();
        let settings = Settings::new(Destination::File("/dev/null".into()));
        let log = writer.open(&settings).unwrap();
        let logs = [loop_log(&log), loop_log(&log)];
        let end = |at: usize, count: usize| {
            let address = IpAddr::from([192, 0, 2, 1]);
            let connection = ConnectionLog::new(Some(&logs[at]), address).unwrap();
            (0..count)
                .for_each(|_| drop(connection.unread(Protocol::Http11, b"BREW / HTTP/1.1\r\n")));
        };
        let check = |expected: [usize; 2]| {
            let waiting = [0, 1].map(|at| logs[at].ended.records.borrow().len());
            assert_eq!(waiting, expected);
        };
        end(0, 1);
        end(1, MOST - 1);
        check([1, MOST - 1]);
        end(1, 2);
        check([1, 1]);
        make_lines();
        check([0, 0]);
        end(0, 3);
        make_lines();
        check([0, 0]);
        end(0, 2);
        // What never waits again makes them when it goes.
        drop(logs);
        assert!(writer.stop(Duration::from_secs(60)));
        let lines = 1 + MOST + 1 + 3 + 2;
        assert_eq!(log.statistics().lines, u64::try_from(lines).unwrap());
    }
}
