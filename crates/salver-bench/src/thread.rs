//! A thread of a load, by the version of HTTP.

use std::io;
use std::ops::Range;

use crate::accounts::{Accounts, Timeline};
use crate::http_version::Http;
use crate::streams::Streams;
use crate::tally::Tally;
use crate::worker::Worker;

/// A thread whose connections are open.
pub(crate) enum Thread<'a> {
    /// With HTTP/1.1: one request at a time on a connection.
    One(Box<Worker<'a>>),
    /// With the others.
    More(Box<Streams<'a>>),
}

impl<'a> Thread<'a> {
    /// Opens the connections of these numbers, handshakes included, and waits until all are open or
    /// have failed.
    ///
    /// # Errors
    /// The last error, if not one could be opened.
    pub(crate) fn connect(accounts: Accounts<'a>, numbers: Range<usize>) -> io::Result<Self> {
        Ok(match accounts.shared.dialer.http {
            Http::One => Thread::One(Box::new(Worker::connect(accounts, numbers)?)),
            Http::Two | Http::Three => Thread::More(Box::new(Streams::connect(accounts, numbers)?)),
        })
    }

    /// Sends and receives until all that belongs to the timeline is answered, or has failed.
    ///
    /// # Errors
    /// The system refused to wait.
    pub(crate) fn run(self, timeline: Timeline) -> io::Result<Tally> {
        match self {
            Thread::One(worker) => worker.run(timeline),
            Thread::More(streams) => streams.run(timeline),
        }
    }
}
