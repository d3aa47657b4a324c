//! The opening of connections, at first and whenever one has ended.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use super::Worker;
use super::poller::{Poller, Ready};
use crate::load::accounts::{Accounts, TICK};
use crate::load::connection::{At, Connection};
use crate::protocol::wire::{Room, Wire, connect};

impl<'a> Worker<'a> {
    /// Opens its connections, handshakes included, and waits until all are open or have failed.
    /// The last error, if not one could be opened.
    pub(crate) fn connect(
        accounts: Accounts<'a>,
        numbers: std::ops::Range<usize>,
    ) -> io::Result<Self> {
        let now = Instant::now();
        let shared = accounts.shared;
        let mut worker = Worker {
            accounts,
            poller: Poller::new()?,
            connections: numbers.clone().map(|_| Connection::new(now)).collect(),
            first: numbers.start,
            idle: VecDeque::new(),
            room: Room::new(&shared.dialer),
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
        let any = |worker: &Self, at| worker.connections.iter().any(|one| one.at == at);
        while any(&worker, At::Connecting) && Instant::now() < deadline {
            worker.poller.wait(TICK, &mut ready)?;
            worker.take_opened(&ready, &mut last_error);
        }
        match any(&worker, At::Idle) {
            true => Ok(worker),
            false => Err(last_error.unwrap_or_else(|| io::ErrorKind::TimedOut.into())),
        }
    }

    fn take_opened(&mut self, ready: &[Ready], last_error: &mut Option<io::Error>) {
        let now = Instant::now();
        for ready in ready {
            if self.is_at(ready.number, At::Connecting)
                && let Err(error) = self.opened(ready.number, now)
            {
                *last_error = Some(error);
            }
        }
    }

    /// Opens a connection anew.
    pub(super) fn open(&mut self, index: usize, now: Instant) {
        let number = self.first + index;
        let dialer = &self.accounts.shared.dialer;
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        if connection.at == At::Idle {
            self.idle.retain(|idle| *idle != index);
        }
        connection.asked = None;
        connection.wire = None;
        connection.since = now;
        let wire = connect(dialer.address, number).and_then(|tcp| Wire::new(tcp, dialer));
        match wire.and_then(|wire| self.poller.add(wire.tcp(), index).map(|()| wire)) {
            Ok(wire) => {
                connection.wire = Some(wire);
                connection.at = At::Connecting;
            }
            Err(_) => self.refused(index, now),
        }
    }

    /// Goes on with an attempt to connect; whether the connection is open now.
    pub(super) fn opened(&mut self, index: usize, now: Instant) -> io::Result<bool> {
        let Some(connection) = self.connections.get_mut(index) else {
            return Ok(false);
        };
        let Some(wire) = &mut connection.wire else {
            return Ok(false);
        };
        let opened = match wire.open(&mut self.room) {
            Ok(false) => return Ok(false),
            Ok(true) => wire.agreed(&self.accounts.shared.dialer),
            Err(error) => Err(error),
        };
        match opened {
            Ok(tls) => {
                connection.at = At::Idle;
                connection.since = now;
                self.accounts.opened(now, tls);
                Ok(true)
            }
            Err(error) => {
                self.refused(index, now);
                Err(error)
            }
        }
    }

    pub(super) fn refused(&mut self, index: usize, now: Instant) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.wire = None;
            connection.at = At::Down;
            connection.since = now;
        }
        self.accounts.refused(now);
    }
}
