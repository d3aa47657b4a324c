//! One thread of a load over HTTP/2 or HTTP/3: its connections, each with slots that have one
//! request under way at a time.
//!
//! ```text
//!            schedule, or the last answer
//!                     │
//! free ──► asked ─────┴──► answered ──► free
//!             │  ▲
//!             │  └── the server leaves, and has not looked at it: asked again
//!             └── time-out, end, nonsense: failed ──► free, when a connection is open
//! ```

mod stream_slot;
mod timer;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Instant;

use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::load::accounts::{Accounts, RETRY, TICK, Timeline};
use crate::load::tally::Tally;
use crate::protocol::session::{Opener, Session, runtime};
use stream_slot::StreamSlot;
use timer::Timer;

/// Connections that are opened at a time, so that a server's backlog does not overflow.
const OPENING: usize = 64;

pub(crate) struct Streams<'a> {
    runtime: Runtime,
    crew: Crew<'a>,
}

/// All that the slots of a thread share.
struct Crew<'a> {
    accounts: RefCell<Accounts<'a>>,
    opener: Opener,
    connections: Vec<Connection>,
    slots: Vec<StreamSlot<'a>>,
    /// Slots that wait for a moment, the longest first.
    idle: RefCell<VecDeque<usize>>,
    /// There is one again.
    some_idle: Notify,
}

/// A place for a connection, which is opened again whenever it has ended.
struct Connection {
    /// Its number among those of all threads.
    number: usize,
    session: RefCell<Option<Session>>,
    /// Counts the sessions that were here.
    generation: Cell<u64>,
    opened: Notify,
    lost: Notify,
    /// Ends with the session.
    driver: Cell<Option<JoinHandle<()>>>,
    /// When the last answer came.
    heard: Cell<Instant>,
}

impl Connection {
    fn new(number: usize) -> Connection {
        Connection {
            number,
            session: RefCell::new(None),
            generation: Cell::new(0),
            opened: Notify::new(),
            lost: Notify::new(),
            driver: Cell::new(None),
            heard: Cell::new(Instant::now()),
        }
    }

    /// The session, when there is one, and its number.
    async fn session(&self) -> (Session, u64) {
        loop {
            if let Some(session) = &*self.session.borrow() {
                return (session.clone(), self.generation.get());
            }
            self.opened.notified().await;
        }
    }

    fn has_session(&self) -> bool {
        self.session.borrow().is_some()
    }

    /// A session has ended. Requests that it still carries may end in order.
    fn forget(&self, generation: u64) {
        if self.generation.get() == generation && self.session.take().is_some() {
            self.lost.notify_one();
        }
    }
}

impl<'a> Streams<'a> {
    /// Opens its connections, handshakes included, and waits until all are open or have failed.
    /// The last error, if not one could be opened.
    pub(crate) fn connect(accounts: Accounts<'a>, numbers: Range<usize>) -> io::Result<Self> {
        let runtime = runtime()?;
        let dialer = accounts.shared.dialer.clone();
        let streams = dialer.streams;
        let opener = {
            let _within = runtime.enter();
            Opener::new(dialer, numbers.len())?
        };
        let slots = (0..numbers.len() * streams).map(|slot| StreamSlot::new(slot / streams));
        let crew = Crew {
            accounts: RefCell::new(accounts),
            opener,
            slots: slots.collect(),
            connections: numbers.map(Connection::new).collect(),
            idle: RefCell::default(),
            some_idle: Notify::new(),
        };
        let last_error = runtime.block_on(async {
            let opening = crew.connections.iter().map(|one| crew.open(one));
            let opened = futures_util::stream::iter(opening).buffer_unordered(OPENING);
            let errors = opened.filter_map(|opened| async { opened.err() });
            errors.fold(None, |_, error| async { Some(error) }).await
        });
        match last_error {
            Some(error) if !crew.connections.iter().any(Connection::has_session) => Err(error),
            _ => Ok(Streams { runtime, crew }),
        }
    }

    /// Sends and receives until all that belongs to the timeline is answered, or has failed.
    pub(crate) fn run(self, timeline: Timeline) -> io::Result<Tally> {
        let Streams { runtime, crew } = self;
        crew.accounts.borrow_mut().begin_run(timeline);
        // The runtime's own bound on how much is done in one go would stop all slots at once.
        runtime.block_on(tokio::task::unconstrained(crew.run()))?;
        for slot in &crew.slots {
            // What has not come by now does not come.
            if let Some(asked) = slot.asked.take() {
                let mut accounts = crew.accounts.borrow_mut();
                accounts.give_up(asked, &slot.answer.borrow());
            }
        }
        let tally = crew.accounts.into_inner().close();
        runtime.block_on(crew.opener.close());
        Ok(tally)
    }
}

impl<'a> Crew<'a> {
    async fn run(&self) -> io::Result<()> {
        let mut all: FuturesUnordered<Pin<Box<dyn Future<Output = ()> + '_>>> =
            FuturesUnordered::new();
        for connection in &self.connections {
            all.push(Box::pin(self.keep_open(connection)));
        }
        for (index, slot) in self.slots.iter().enumerate() {
            all.push(Box::pin(self.live(index, slot)));
        }
        let timer = Timer::new()?;
        let mut conducting = pin!(self.conduct(&timer));
        poll_fn(|cx| {
            if let Poll::Ready(result) = conducting.as_mut().poll(cx) {
                return Poll::Ready(result);
            }
            // None of these ends.
            let _ = all.poll_next_unpin(cx);
            Poll::Pending
        })
        .await
    }

    /// Gives slots what is due, and ends what takes too long, until all is over.
    async fn conduct(&self, timer: &Timer) -> io::Result<()> {
        let mut tick = Instant::now();
        loop {
            let now = Instant::now();
            let mut until = now + TICK;
            {
                let mut accounts = self.accounts.borrow_mut();
                accounts.turn(now);
                self.dispatch(&mut accounts, now);
                if accounts.is_over(now) {
                    return Ok(());
                }
                let due = accounts.next_moment();
                let due = due.filter(|_| !self.idle.borrow().is_empty());
                for moment in [due, accounts.next_phase(now)].into_iter().flatten() {
                    until = until.min(moment);
                }
            }
            if now - tick >= TICK {
                tick = now;
                self.expire(now);
            }
            let woken = pin!(self.some_idle.notified());
            select(pin!(timer.until(until)), woken).await;
        }
    }

    fn dispatch(&self, accounts: &mut Accounts<'a>, now: Instant) {
        let mut idle = self.idle.borrow_mut();
        while let Some(&index) = idle.front()
            && let Some(due) = accounts.take_due(now)
        {
            idle.pop_front();
            if let Some(slot) = self.slots.get(index) {
                slot.asked.set(accounts.begin(due, slot.since.get()));
                slot.wake();
            }
        }
    }

    fn expire(&self, now: Instant) {
        let timeout = self.accounts.borrow().shared.timeout;
        for slot in &self.slots {
            let Some(asked) = slot.asked.get() else {
                continue;
            };
            if now.saturating_duration_since(asked.sent) < timeout {
                continue;
            }
            slot.give_up();
            // Who has said nothing for so long is left; otherwise it is the one request.
            if let Some(connection) = self.connections.get(slot.connection)
                && connection.heard.get() < asked.sent
            {
                connection.forget(connection.generation.get());
            }
        }
    }

    async fn open(&self, connection: &Connection) -> io::Result<()> {
        let patience = self.accounts.borrow().shared.timeout;
        let opened = self.opener.open(connection.number, patience).await;
        let now = Instant::now();
        let mut accounts = self.accounts.borrow_mut();
        match opened {
            Ok((session, driver, tls)) => {
                accounts.opened(now, tls);
                connection.generation.set(connection.generation.get() + 1);
                connection.session.replace(Some(session));
                connection.driver.set(Some(driver));
                connection.opened.notify_waiters();
                Ok(())
            }
            Err(error) => {
                accounts.refused(now);
                Err(error)
            }
        }
    }

    /// Opens a connection again whenever it has ended.
    async fn keep_open(&self, connection: &Connection) {
        loop {
            let Some(mut driver) = connection.driver.take() else {
                if self.open(connection).await.is_err() {
                    tokio::time::sleep(RETRY).await;
                }
                continue;
            };
            while connection.has_session() {
                // A slot finds that it has ended, or the server leaves while nobody asks.
                let lost = pin!(connection.lost.notified());
                if let Either::Left(_) = select(&mut driver, lost).await {
                    connection.session.take();
                }
            }
        }
    }
}
