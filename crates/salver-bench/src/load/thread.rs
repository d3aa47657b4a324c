//! A thread of a load, by the version of HTTP.

use std::io;
use std::ops::Range;

use crate::load::accounts::{Accounts, Timeline};
use crate::load::streams::Streams;
use crate::load::tally::Tally;
use crate::load::worker::Worker;
use crate::result::model::Http;

/// Sends and receives until all that belongs to the timeline is answered, or has failed.
pub(crate) type Run<'a> = Box<dyn FnOnce(Timeline) -> io::Result<Tally> + 'a>;

/// Opens the connections of these numbers, handshakes included, and waits until all are open or have
/// failed. The last error, if not one could be opened.
pub(crate) fn connect<'a>(accounts: Accounts<'a>, numbers: Range<usize>) -> io::Result<Run<'a>> {
    Ok(match accounts.shared.dialer.http {
        // One request at a time on a connection.
        Http::One => {
            let worker = Worker::connect(accounts, numbers)?;
            Box::new(move |timeline| worker.run(timeline))
        }
        Http::Two | Http::Three => {
            let streams = Streams::connect(accounts, numbers)?;
            Box::new(move |timeline| streams.run(timeline))
        }
    })
}
