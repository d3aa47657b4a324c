//! A lane of a connection: one request at a time, again and again.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Instant;

use super::opened::{Failed, How};
use super::{Connection, Crew};
use crate::answer::Answer;
use crate::ledger::Asked;

pub(super) struct Lane<'a> {
    /// The connection that carries it, by its place.
    pub(super) connection: usize,
    /// The request that is under way.
    pub(super) asked: Cell<Option<Asked<'a>>>,
    /// Since when it has waited for a moment.
    pub(super) since: Cell<Instant>,
    /// Its request has taken too long.
    is_given_up: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Lane<'_> {
    pub(super) fn new(connection: usize) -> Self {
        Lane {
            connection,
            asked: Cell::new(None),
            since: Cell::new(Instant::now()),
            is_given_up: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Its request has failed: whatever it waits for is no longer waited for.
    pub(super) fn give_up(&self) {
        self.asked.set(None);
        self.is_given_up.set(true);
        self.wake();
    }

    fn remember(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }
}

impl<'a> Crew<'a> {
    /// The whole life of a lane: it never ends by itself.
    pub(super) async fn live(&self, index: usize, lane: &Lane<'a>) {
        let Some(connection) = self.connections.get(lane.connection) else {
            return;
        };
        let mut answer = Answer::new();
        loop {
            let mut work = pin!(self.work(index, lane, connection, &mut answer));
            poll_fn(|cx| {
                lane.remember(cx.waker());
                if lane.is_given_up.take() {
                    return Poll::Ready(());
                }
                work.as_mut().poll(cx).map(|never| match never {})
            })
            .await;
        }
    }

    /// Asks again and again, until it is dropped: that gives up the request that is under way.
    async fn work(
        &self,
        index: usize,
        lane: &Lane<'a>,
        connection: &Connection,
        answer: &mut Answer,
    ) -> Infallible {
        loop {
            let (mut session, generation) = connection.session().await;
            // What was asked of it while there was no connection was not sent then.
            let mut is_late = lane.asked.get().is_some();
            while session.is_ready().await {
                if lane.asked.get().is_none() {
                    self.is_free(index, lane);
                    let waited = self.next_request(lane).await;
                    if waited {
                        // The connection may have ended meanwhile.
                        continue;
                    }
                }
                let Some(mut asked) = lane.asked.get() else {
                    continue;
                };
                if std::mem::take(&mut is_late) && !asked.again {
                    asked.sent = Instant::now();
                    lane.asked.set(Some(asked));
                }
                answer.begin(asked.request.expected.keep());
                let result = session.ask(asked.request.message.clone(), answer).await;
                let mut ledger = self.ledger.borrow_mut();
                match result {
                    Ok(()) => {
                        let now = Instant::now();
                        connection.heard.set(now);
                        lane.asked.set(None);
                        ledger.complete(asked, answer, now);
                    }
                    Err(Failed {
                        how: How::Unprocessed,
                        ..
                    }) => {
                        ledger.asked_again(&mut asked);
                        lane.asked.set(Some(asked));
                        break;
                    }
                    Err(Failed { how, is_lost }) => {
                        lane.asked.set(None);
                        ledger.fail(
                            asked,
                            match (how, answer.has_begun) {
                                (How::Malformed, _) => |errors| &mut errors.malformed,
                                (_, true) => |errors| &mut errors.short,
                                (_, false) => |errors| &mut errors.closed,
                            },
                        );
                        if is_lost {
                            break;
                        }
                    }
                }
            }
            connection.forget(generation);
        }
    }

    /// A lane can take the next request.
    fn is_free(&self, index: usize, lane: &Lane<'a>) {
        let now = Instant::now();
        let mut ledger = self.ledger.borrow_mut();
        lane.since.set(now);
        if ledger.is_scheduled() {
            let mut idle = self.idle.borrow_mut();
            if idle.is_empty() {
                self.some_idle.notify_one();
            }
            idle.push_back(index);
            drop(idle);
            self.dispatch(&mut ledger, now);
        } else if ledger.goes_on(now) {
            lane.asked.set(ledger.begin(now, now));
        }
    }

    /// Waits for a request; whether it had to wait.
    async fn next_request(&self, lane: &Lane<'a>) -> bool {
        let mut waited = false;
        poll_fn(|_| {
            let asked = lane.asked.take();
            let has_come = asked.is_some();
            lane.asked.set(asked);
            match has_come {
                true => Poll::Ready(waited),
                // Who gives it one wakes it.
                false => {
                    waited = true;
                    Poll::Pending
                }
            }
        })
        .await
    }
}
