//! How connections are opened, at first and whenever one has ended.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use super::{Shared, TICK, Timeline, Worker};
use crate::connection::{At, Connection, connect};
use crate::order::Picker;
use crate::poller::{Poller, Ready};
use crate::schedule::Moments;
use crate::tally::Tally;

impl<'a> Worker<'a> {
    /// Opens its connections, and waits until all are open or have failed.
    ///
    /// # Errors
    /// The last error, if not one could be opened.
    pub(crate) fn connect(
        shared: &'a Shared<'a>,
        numbers: std::ops::Range<usize>,
        picker: Picker,
        moments: Moments,
    ) -> io::Result<Self> {
        let now = Instant::now();
        let mut worker = Worker {
            shared,
            poller: Poller::new()?,
            connections: numbers.clone().map(|_| Connection::new(now)).collect(),
            first: numbers.start,
            picker,
            moments,
            next: 0,
            idle: VecDeque::new(),
            busy: 0,
            timeline: Timeline {
                start: now,
                from: now,
                // Nothing is sent yet.
                until: now,
            },
            tally: Tally::default(),
            answers: 0,
            errors: 0,
        };
        let mut last_error = None;
        let mut ready = Vec::new();
        for index in 0..worker.connections.len() {
            worker.open(index, now);
            // In steps, so that the server's backlog does not overflow.
            if index % 128 == 127 {
                worker.poller.wait(TICK, &mut ready)?;
                worker.take_opened(&ready, &mut last_error);
            }
        }
        let deadline = now + shared.timeout;
        while worker
            .connections
            .iter()
            .any(|one| one.at == At::Connecting)
            && Instant::now() < deadline
        {
            worker.poller.wait(TICK, &mut ready)?;
            worker.take_opened(&ready, &mut last_error);
        }
        if worker.connections.iter().any(|one| one.at == At::Idle) {
            return Ok(worker);
        }
        Err(last_error.unwrap_or_else(|| io::ErrorKind::TimedOut.into()))
    }

    fn take_opened(&mut self, ready: &[Ready], last_error: &mut Option<io::Error>) {
        let now = Instant::now();
        for ready in ready {
            if let Err(error) = self.opened(ready.number, now) {
                *last_error = Some(error);
            }
        }
    }

    /// Opens a connection anew.
    pub(super) fn open(&mut self, index: usize, now: Instant) {
        let number = self.first + index;
        let address = self.shared.address;
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        if connection.at == At::Idle {
            self.idle.retain(|idle| *idle != index);
        }
        connection.request = None;
        connection.stream = None;
        connection.since = now;
        let stream = connect(address, number);
        match stream.and_then(|stream| self.poller.add(&stream, index).map(|()| stream)) {
            Ok(stream) => {
                connection.stream = Some(stream);
                connection.at = At::Connecting;
            }
            Err(_) => self.refused(index, now),
        }
    }

    /// Looks how an attempt to connect has ended.
    pub(super) fn opened(&mut self, index: usize, now: Instant) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(index) else {
            return Ok(());
        };
        let Some(stream) = &connection.stream else {
            return Ok(());
        };
        match stream.take_error() {
            Ok(None) if stream.peer_addr().is_ok() => {
                connection.at = At::Idle;
                connection.since = now;
                Ok(())
            }
            // Not yet: it is told again.
            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
            Ok(Some(error)) | Err(error) => {
                self.refused(index, now);
                Err(error)
            }
        }
    }

    pub(super) fn refused(&mut self, index: usize, now: Instant) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.stream = None;
            connection.at = At::Down;
            connection.since = now;
        }
        self.error(now, |errors| &mut errors.connect);
    }
}
