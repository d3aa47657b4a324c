//! One thread of a load over HTTP/1.1: its connections, in one loop that never waits for one of
//! them alone.

mod opening;
mod poller;

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use crate::answer::Fed;
use crate::load::accounts::{Accounts, RETRY, TICK, Timeline};
use crate::load::connection::{At, Connection};
use crate::load::tally::Tally;
use crate::protocol::wire::{Received, Room};
use crate::result::model::ErrorKind;
use poller::{Poller, Ready};

pub(crate) struct Worker<'a> {
    accounts: Accounts<'a>,
    poller: Poller,
    connections: Vec<Connection<'a>>,
    /// The number of its first connection among those of all threads.
    first: usize,
    /// Connections that wait for a moment, the longest first.
    idle: VecDeque<usize>,
    room: Room,
}

impl Worker<'_> {
    /// Sends and receives until all that belongs to the timeline is answered, or has failed.
    pub(crate) fn run(mut self, timeline: Timeline) -> io::Result<Tally> {
        self.accounts.begin_run(timeline);
        let mut ready = Vec::new();
        let mut tick = Instant::now();
        for index in 0..self.connections.len() {
            if self.is_at(index, At::Idle) {
                self.is_free(index, Instant::now());
            }
        }
        loop {
            let now = Instant::now();
            self.accounts.turn(now);
            self.dispatch(now);
            if self.accounts.is_over(now) {
                break;
            }
            let wait = match self.accounts.next_moment() {
                Some(due) if !self.idle.is_empty() => {
                    due.saturating_duration_since(Instant::now()).min(TICK)
                }
                _ => TICK,
            };
            self.poller.wait(wait, &mut ready)?;
            for ready in &ready {
                self.handle(*ready);
            }
            if tick.elapsed() >= TICK {
                tick = Instant::now();
                self.tick(tick);
            }
        }
        // What has not come by now does not come.
        for connection in &mut self.connections {
            if let Some(request) = connection.asked.take() {
                self.accounts.give_up(request, &connection.answer);
            }
        }
        Ok(self.accounts.close())
    }

    fn is_at(&self, index: usize, at: At) -> bool {
        self.connections.get(index).is_some_and(|one| one.at == at)
    }

    fn dispatch(&mut self, now: Instant) {
        while let Some(&index) = self.idle.front()
            && let Some(due) = self.accounts.take_due(now)
        {
            self.idle.pop_front();
            self.begin(index, due);
        }
    }

    /// A connection can take the next request.
    fn is_free(&mut self, index: usize, now: Instant) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.at = At::Idle;
            connection.since = now;
        }
        if self.accounts.is_scheduled() {
            self.idle.push_back(index);
            self.dispatch(now);
        } else if self.accounts.goes_on(now) {
            self.begin(index, now);
        }
    }

    /// Sends the next request on a connection that is idle.
    fn begin(&mut self, index: usize, intended: Instant) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        let Some(asked) = self.accounts.begin(intended, connection.since) else {
            return;
        };
        connection.at = At::Busy;
        connection.since = asked.sent;
        connection.sent = 0;
        self.accounts.begin_answer(&asked, &mut connection.answer);
        connection.asked = Some(asked);
        self.send(index);
    }

    /// Sends what is left of the request.
    fn send(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        let (Some(wire), Some(asked)) = (&mut connection.wire, &connection.asked) else {
            return;
        };
        let bytes = &asked.request.bytes;
        if wire.send(bytes, &mut connection.sent).is_err() {
            self.fail(index, |errors| &mut errors.closed);
            self.open(index, Instant::now());
        }
    }

    fn handle(&mut self, ready: Ready) {
        let index = ready.number;
        match self.connections.get(index).map(|one| one.at) {
            Some(At::Connecting) => {
                let now = Instant::now();
                if let Ok(true) = self.opened(index, now) {
                    self.is_free(index, now);
                }
            }
            Some(At::Busy) => {
                if ready.writable {
                    self.send(index);
                }
                if ready.readable {
                    self.receive(index, ready.ends);
                }
            }
            Some(At::Idle) if ready.readable => self.receive(index, ready.ends),
            Some(_) | None => {}
        }
    }

    /// Takes what has come, to the end if it `ends`.
    fn receive(&mut self, index: usize, ends: bool) {
        // Lent to this connection, so that others can be told meanwhile.
        let mut room = std::mem::take(&mut self.room);
        while self.receive_once(index, ends, &mut room) {}
        self.room = room;
    }

    /// Takes what has come at once; whether there may be more.
    fn receive_once(&mut self, index: usize, ends: bool, room: &mut Room) -> bool {
        let Some(connection) = self.connections.get_mut(index) else {
            return false;
        };
        let Some(wire) = &mut connection.wire else {
            return false;
        };
        let Received {
            bytes,
            more,
            is_end,
        } = match wire.receive(room) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => {
                self.ended(index, true);
                return false;
            }
        };
        let now = Instant::now();
        if !bytes.is_empty() {
            if connection.at != At::Busy {
                // Nobody has asked for that.
                self.accounts.unasked(now);
                self.open(index, now);
                return false;
            }
            match connection.answer.feed(bytes) {
                Fed::More => {}
                Fed::Done(taken) if taken == bytes.len() => {
                    let asked = connection.asked.as_ref();
                    let is_sent =
                        asked.is_none_or(|one| connection.sent == one.request.bytes.len());
                    let lasts = connection.answer.persistent && !is_end && is_sent;
                    self.complete(index, now);
                    if !lasts {
                        self.open(index, now);
                        return false;
                    }
                    self.is_free(index, now);
                }
                Fed::Done(_) | Fed::Malformed => {
                    self.fail(index, |errors| &mut errors.malformed);
                    self.open(index, now);
                    return false;
                }
            }
        }
        if is_end {
            self.ended(index, false);
            return false;
        }
        // All there was, otherwise: what comes later is told.
        more || ends
    }

    /// The connection has ended, by an error or in order.
    fn ended(&mut self, index: usize, by_error: bool) {
        let now = Instant::now();
        if let Some(connection) = self.connections.get_mut(index)
            && connection.at == At::Busy
        {
            if !by_error && connection.answer.is_ended_by_close() {
                self.complete(index, now);
            } else if connection.answer.has_begun {
                self.fail(index, |errors| &mut errors.short);
            } else {
                self.fail(index, |errors| &mut errors.closed);
            }
        }
        self.open(index, now);
    }

    fn complete(&mut self, index: usize, now: Instant) {
        if let Some(connection) = self.connections.get_mut(index)
            && let Some(asked) = connection.asked.take()
        {
            self.accounts.complete(asked, &connection.answer, now);
        }
    }

    /// The request that a connection was busy with has failed.
    fn fail(&mut self, index: usize, kind: ErrorKind) {
        if let Some(connection) = self.connections.get_mut(index)
            && let Some(asked) = connection.asked.take()
        {
            self.accounts.fail(asked, kind, Some(&connection.answer));
        }
    }

    /// Ends what takes too long, and tries again what was refused.
    fn tick(&mut self, now: Instant) {
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections.get(index) else {
                continue;
            };
            let age = now.saturating_duration_since(connection.since);
            let timeout = self.accounts.shared.timeout;
            match connection.at {
                At::Busy if age >= timeout => {
                    self.fail(index, |errors| &mut errors.timeout);
                    self.open(index, now);
                }
                At::Connecting if age >= timeout => self.refused(index, now),
                At::Down if age >= RETRY && self.accounts.goes_on(now) => self.open(index, now),
                At::Busy | At::Connecting | At::Down | At::Idle => {}
            }
        }
    }
}
