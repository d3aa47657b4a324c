use super::*;
use crate::address::AddressText;
use crate::bell::Bell;
use crate::entry::{Draft, LoggedRequest, LoggedResponse, Protocol};
use crate::log::{AccessLog, Producer};
use crate::request_id::RequestId;
use crate::settings::{Destination, Settings};

/// A log without a thread, whose time the test tells.
struct Fixture {
    log: OpenLog,
    access_log: AccessLog,
    producer: Producer,
    now: Instant,
    said: Vec<String>,
}

impl Fixture {
    fn new(destination: Destination) -> Fixture {
        let settings = Settings::new(destination);
        let shared = Arc::new(SharedLog::new(&settings));
        let output = Output::open(&settings).unwrap();
        let access_log = AccessLog::new(Arc::clone(&shared), &Arc::new(Bell::new().unwrap()));
        Fixture {
            log: OpenLog::new("there".to_owned(), shared, output),
            producer: access_log.producer(),
            access_log,
            now: Instant::now(),
            said: Vec::new(),
        }
    }

    fn log(&mut self, entries: usize) {
        let mut draft = Draft::default();
        for _ in 0..entries {
            let request = &LoggedRequest {
                client: &AddressText::none(),
                user: b"",
                host: b"",
                method: b"GET",
                path: b"/",
                query: None,
                protocol: Protocol::Http11,
                started: Duration::ZERO,
                request_id: RequestId::from_u128(1),
                trace: None,
                referer: b"",
                user_agent: b"",
            };
            draft.keep(request);
            self.producer.log(
                &draft,
                &LoggedResponse {
                    status: 200,
                    sent: 0,
                    duration: Duration::ZERO,
                    coding: "",
                    cache: None,
                    site: b"",
                },
            );
        }
    }

    /// The log's turn so many milliseconds later.
    fn turn(&mut self, milliseconds: u64) -> Wait {
        self.now += Duration::from_millis(milliseconds);
        let said = &mut self.said;
        self.log
            .turn(self.now, &mut |notice| said.push(notice.to_string()))
    }

    fn written(&self) -> u64 {
        self.access_log.statistics().lines
    }
}

#[test]
fn an_idle_log_is_waited_for_without_an_end() {
    let mut log = Fixture::new(Destination::File("/dev/null".into()));
    assert_eq!(log.turn(0), Wait::Lines);
    assert_eq!(log.turn(1_000_000), Wait::Lines);
    // The first line comes at once, and wakes the writer.
    log.log(1);
    assert_eq!(log.turn(0), Wait::Gather(log.now + GATHER));
    assert_eq!(log.written(), 1);
    // Those behind it wait for each other, whatever else the writer wakes for.
    log.log(10);
    let due = log.now + GATHER;
    assert_eq!(log.turn(100), Wait::Gather(due));
    assert_eq!(log.written(), 1);
    assert_eq!(log.turn(100), Wait::Gather(log.now + GATHER));
    assert_eq!(log.written(), 11);
    // Then none come, and there is nothing to wake for.
    assert_eq!(log.turn(200), Wait::Lines);
}

#[test]
fn many_lines_do_not_wait() {
    let mut log = Fixture::new(Destination::File("/dev/null".into()));
    log.log(1);
    let Wait::Gather(_) = log.turn(0) else {
        panic!("it gathers")
    };
    // A quarter of a lane of 256 KiB, in lines of more than 64 bytes.
    log.log(1024);
    assert_eq!(log.turn(1), Wait::Gather(log.now + GATHER));
    assert_eq!(log.written(), 1025);
}

#[test]
fn a_failure_is_tried_again_each_second_and_said_each_minute() {
    let mut log = Fixture::new(Destination::File("/dev/full".into()));
    log.log(1);
    for second in 0..=61_u64 {
        let due = log.now + RETRY * u32::from(second > 0) + RETRY;
        assert_eq!(
            log.turn(if second > 0 { 1000 } else { 0 }),
            Wait::Retry(due)
        );
        assert_eq!(log.turn(0), Wait::Retry(due));
        assert_eq!(log.access_log.statistics().failures, second + 1);
    }
    assert_eq!(log.said.len(), 2, "{:?}", log.said);
    assert_eq!(log.written(), 0);
}

#[test]
fn drops_are_said_together_each_minute() {
    let mut log = Fixture::new(Destination::File("/dev/full".into()));
    log.log(1);
    let _ = log.turn(0);
    log.said.clear();
    let mut dropped = 0;
    for _ in 0..120 {
        log.log(10_000);
        let _ = log.turn(1000);
        let now = log.access_log.statistics().dropped;
        assert!(now > dropped);
        dropped = now;
    }
    let said = log.said.iter().filter(|line| line.contains("were dropped"));
    assert_eq!(said.count(), 2, "{:?}", log.said);
    // All are counted, and those that were not said yet are said at the end.
    let said = &mut log.said;
    log.log
        .end(log.now, &mut |notice| said.push(notice.to_string()));
    let numbers = log.said.iter().filter(|line| line.contains("were dropped"));
    let numbers = numbers.map(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(numbers.sum::<u64>(), 1_200_001);
    assert_eq!(log.access_log.statistics().dropped, 1_200_001);
}

#[test]
fn a_log_is_over_when_its_last_line_is_written() {
    let mut log = Fixture::new(Destination::File("/dev/null".into()));
    log.log(1);
    let Wait::Gather(_) = log.turn(0) else {
        panic!("it gathers")
    };
    log.log(1);
    let Fixture {
        mut log,
        access_log,
        producer,
        now,
        ..
    } = log;
    assert!(!log.is_over());
    drop(access_log);
    assert!(!log.is_over());
    drop(producer);
    assert!(!log.is_over(), "a line waits");
    let _ = log.turn(now + GATHER, &mut |_| {});
    assert!(log.is_over());
}
