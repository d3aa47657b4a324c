//! Work that is done for many things side by side.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::event::{Event, Listener};

/// Does work for each of these, several at a time; what has failed first ends it, and is told to who still works. The bytes
/// that each piece of work gives are told when it is done.
pub(crate) fn for_each<T: Sync>(
    (items, at_once): (&[T], usize),
    work: impl Fn(&T, &AtomicBool) -> Result<u64, Error> + Sync,
    listener: &mut Listener<'_>,
) -> Result<(), Error> {
    let (next, is_ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure = Mutex::new(None);
    let fail = |error| {
        failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
        // Behind it: who gives up for this is not the first.
        is_ended.store(true, Ordering::Release);
    };
    let (sender, done) = channel();
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(items.len()) {
            let (sender, next, is_ended) = (sender.clone(), &next, &is_ended);
            let (work, fail) = (&work, &fail);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if is_ended.load(Ordering::Acquire) {
                        return;
                    }
                    match work(item, is_ended) {
                        // Whoever listens waits for the end of all.
                        Ok(bytes) => drop(sender.send(bytes)),
                        Err(error) => fail(error),
                    }
                }
            });
        }
        drop(sender);
        for bytes in done {
            if !listener(Event::Done(bytes)) {
                fail(Error::Stopped);
            }
        }
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_ends_all() {
        let items: Vec<usize> = (0..1000).collect();
        let done = AtomicUsize::new(0);
        let work = |item: &usize, _: &AtomicBool| match item {
            3 => Err(Error::Busy("three".to_owned())),
            _ => {
                done.fetch_add(1, Ordering::Relaxed);
                Ok(1)
            }
        };
        let ended = for_each((&items, 16), work, &mut |_| true);
        assert!(matches!(ended, Err(Error::Busy(_))), "{ended:?}");
        let mut told = 0;
        let all = for_each((&items, 16), |_, _| Ok(1), &mut |_| {
            told += 1;
            true
        });
        assert!(all.is_ok() && told == items.len());
        let stopped = for_each((&items, 16), |_, _| Ok(1), &mut |_| false);
        assert!(matches!(stopped, Err(Error::Stopped)));
    }
}
