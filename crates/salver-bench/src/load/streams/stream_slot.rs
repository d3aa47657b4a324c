//! A slot for one stream of a connection: one request at a time, again and again.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Instant;

use super::{Connection, Crew};
use crate::answer::{Answer, Keep};
use crate::load::accounts::SentRequest;
use crate::protocol::opened::{Failed, How};
use crate::result::model::ErrorKind;

pub(super) struct StreamSlot<'a> {
    /// The connection that carries it, by its place.
    pub(super) connection: usize,
    /// The request that is under way.
    pub(super) asked: Cell<Option<SentRequest<'a>>>,
    /// Since when it has waited for a moment.
    pub(super) since: Cell<Instant>,
    /// The answer to it, as far as it has come. Borrowed while the request is worked at.
    pub(super) answer: RefCell<Answer>,
    /// Its request has taken too long.
    is_given_up: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl StreamSlot<'_> {
    pub(super) fn new(connection: usize) -> Self {
        StreamSlot {
            connection,
            asked: Cell::new(None),
            since: Cell::new(Instant::now()),
            answer: RefCell::new(Answer::default()),
            is_given_up: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Its request has taken too long: whatever it waits for is no longer waited for.
    pub(super) fn give_up(&self) {
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
    /// The whole life of a slot: it never ends by itself.
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "nobody else borrows the answer while its request is worked at"
    )]
    pub(super) async fn live(&self, index: usize, slot: &StreamSlot<'a>) {
        let Some(connection) = self.connections.get(slot.connection) else {
            return;
        };
        loop {
            {
                let mut answer = slot.answer.borrow_mut();
                let mut work = pin!(self.work(index, slot, connection, &mut answer));
                poll_fn(|cx| {
                    slot.remember(cx.waker());
                    if slot.is_given_up.take() {
                        return Poll::Ready(());
                    }
                    work.as_mut().poll(cx).map(|never| match never {})
                })
                .await;
            }
            if let Some(asked) = slot.asked.take() {
                let mut accounts = self.accounts.borrow_mut();
                let answer = &slot.answer.borrow();
                accounts.fail(asked, |errors| &mut errors.timeout, Some(answer));
            }
            slot.answer.borrow_mut().begin(Keep::Nothing);
        }
    }

    /// Asks again and again, until it is dropped: that gives up the request that is under way.
    async fn work(
        &self,
        index: usize,
        slot: &StreamSlot<'a>,
        connection: &Connection,
        answer: &mut Answer,
    ) -> Infallible {
        loop {
            let (mut session, generation) = connection.session().await;
            // What was asked of it while there was no connection was not sent then.
            let mut is_late = slot.asked.get().is_some();
            while session.is_ready().await {
                if slot.asked.get().is_none() {
                    self.is_free(index, slot);
                    let waited = self.next_request(slot).await;
                    if waited {
                        // The connection may have ended meanwhile.
                        continue;
                    }
                }
                let Some(mut asked) = slot.asked.get() else {
                    continue;
                };
                if std::mem::take(&mut is_late) && !asked.again {
                    asked.sent = Instant::now();
                    slot.asked.set(Some(asked));
                }
                self.accounts.borrow().begin_answer(&asked, answer);
                let result = session.ask(asked.request.message.clone(), answer).await;
                let mut accounts = self.accounts.borrow_mut();
                match result {
                    Ok(()) => {
                        let now = Instant::now();
                        connection.heard.set(now);
                        slot.asked.set(None);
                        accounts.complete(asked, answer, now);
                    }
                    Err(Failed {
                        how: How::Unprocessed,
                        ..
                    }) => {
                        accounts.asked_again(&mut asked);
                        slot.asked.set(Some(asked));
                        answer.begin(Keep::Nothing);
                        break;
                    }
                    Err(Failed { how, is_lost }) => {
                        slot.asked.set(None);
                        let kind: ErrorKind = match (how, answer.has_begun) {
                            (How::Malformed, _) => |errors| &mut errors.malformed,
                            (_, true) => |errors| &mut errors.short,
                            (_, false) => |errors| &mut errors.closed,
                        };
                        accounts.fail(asked, kind, Some(answer));
                        if is_lost {
                            answer.begin(Keep::Nothing);
                            break;
                        }
                    }
                }
                // What has come is in the accounts.
                answer.begin(Keep::Nothing);
            }
            connection.forget(generation);
        }
    }

    /// A slot can take the next request.
    fn is_free(&self, index: usize, slot: &StreamSlot<'a>) {
        let now = Instant::now();
        let mut accounts = self.accounts.borrow_mut();
        slot.since.set(now);
        if accounts.is_scheduled() {
            let mut idle = self.idle.borrow_mut();
            if idle.is_empty() {
                self.some_idle.notify_one();
            }
            idle.push_back(index);
            drop(idle);
            self.dispatch(&mut accounts, now);
        } else if accounts.goes_on(now) {
            slot.asked.set(accounts.begin(now, now));
        }
    }

    /// Waits for a request; whether it had to wait.
    async fn next_request(&self, slot: &StreamSlot<'a>) -> bool {
        let mut waited = false;
        // Who gives it one wakes it.
        poll_fn(|_| match slot.asked.get() {
            Some(_) => Poll::Ready(waited),
            None => {
                waited = true;
                Poll::Pending
            }
        })
        .await
    }
}
