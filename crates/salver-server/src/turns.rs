//! Turns: the order in which connections of a crowded loop do costly work.
//!
//! A handshake, a batch of requests, a piece of a file: each costs a millisecond at most, but thousands of
//! connections may have one to do at the same moment. On a loop that is not crowded all go on at once. Where work has
//! gone on for a while and the loop has not polled its sockets meanwhile, further work waits, and clients have turns
//! one after the other, however many connections each of them has. So an ordinary client waits for a turn of each
//! other client, not for one of each connection, and work that costs little waits for none. Windows of files, each of
//! which takes as long as ten answers from memory, wait sooner: such an answer may come between them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::task::{spawn_local, yield_now};

use crate::fair_queue::FairQueue;
use crate::seats::ClientKey;

/// The time for which all connections go on at once, before the loop polls its sockets again.
const AT_ONCE: Duration = Duration::from_millis(4);

/// The time for which windows of files leave at once: hardly longer than one of them takes.
const WINDOWS_AT_ONCE: Duration = Duration::from_micros(50);

/// The number of turns that are taken at once in any case: so few connections need not wait.
const FEW: usize = 16;

/// Of so many turns that are taken at once, further ones than [`FEW`], one looks at the clock.
const LOOKS_EACH: usize = 4;

/// The time that turns given together take, about: an ordinary client may come right after them. Some cost a hundred
/// times as much as others, so those that have not begun by then come first next time.
const TOGETHER: Duration = Duration::from_micros(200);

/// The most turns that are given together.
const MOST_TOGETHER: usize = 64;

/// The number of requests of one connection in a turn.
pub(crate) const REQUESTS_IN_TURN: u32 = 32;

thread_local! {
    /// True if the loop of this thread has waited for its sockets since a turn was asked for.
    static HAS_WAITED: Cell<bool> = const { Cell::new(true) };
}

/// Notes that the loop of this thread has waited: all work was done.
pub(crate) fn note_wait() {
    HAS_WAITED.set(true);
}

/// The turns of one loop.
pub(crate) struct Turns(RefCell<TurnState>);

struct TurnState {
    /// The time when the loop last polled its sockets, as far as that is known.
    heard: Instant,
    /// The number of turns that were taken at once since then.
    taken: usize,
    waiting: FairQueue<ClientKey, Rc<Waiting>>,
    /// The turns that were given and had not begun when those before them had taken too long.
    put_off: VecDeque<Rc<Waiting>>,
    /// The number of turns that are given together.
    together: usize,
    /// The time when the first of those began.
    began: Option<Instant>,
    /// True while a task gives turns.
    are_given: bool,
}

/// A connection that waits for its turn.
struct Waiting {
    has_come: Cell<bool>,
    waker: RefCell<Waker>,
}

/// A connection's turn, for which it may wait.
#[derive(Default)]
pub(crate) struct LoopTurn(Option<Rc<Waiting>>);

/// What a turn is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// A handshake, or requests.
    Requests,
    /// A further window of a file.
    Window,
}

impl Turns {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Turns(RefCell::new(TurnState {
            heard: Instant::now(),
            taken: 0,
            waiting: FairQueue::default(),
            put_off: VecDeque::new(),
            together: 1,
            began: None,
            are_given: false,
        })))
    }

    /// Waits for the turn of a client's connection.
    pub(crate) async fn wait(self: &Rc<Self>, client: ClientKey) {
        self.wait_for(Work::Requests, client).await;
    }

    /// Waits for the turn in which a client's connection may send a window of a file.
    pub(crate) async fn wait_for_window(self: &Rc<Self>, client: ClientKey) {
        self.wait_for(Work::Window, client).await;
    }

    async fn wait_for(self: &Rc<Self>, work: Work, client: ClientKey) {
        let mut turn = LoopTurn::default();
        poll_fn(|context| turn.poll_for(work, self, client, context)).await;
    }

    /// Asks for a turn; `None` if it has come already.
    fn ask(
        self: &Rc<Self>,
        work: Work,
        client: ClientKey,
        context: &Context<'_>,
    ) -> Option<Rc<Waiting>> {
        let state = &mut *self.0.borrow_mut();
        if !state.are_given {
            if HAS_WAITED.replace(false) {
                (state.heard, state.taken) = (Instant::now(), 0);
            }
            let is_sure = state.taken < FEW || !state.taken.is_multiple_of(LOOKS_EACH);
            let is_at_once = match work {
                Work::Requests => is_sure || state.heard.elapsed() < AT_ONCE,
                Work::Window => state.heard.elapsed() < WINDOWS_AT_ONCE,
            };
            if is_at_once {
                state.taken += 1;
                return None;
            }
            state.are_given = true;
            spawn_local(give(Rc::clone(self)));
        }
        let waiting = Rc::new(Waiting {
            has_come: Cell::new(false),
            waker: RefCell::new(context.waker().clone()),
        });
        state.waiting.push(client, Rc::clone(&waiting));
        Some(waiting)
    }

    /// Puts off a turn that was given together with others which have taken too long; true if it did.
    fn put_off(&self, waiting: &Rc<Waiting>) -> bool {
        let state = &mut *self.0.borrow_mut();
        let now = Instant::now();
        let began = *state.began.get_or_insert(now);
        let is_late = now.saturating_duration_since(began) >= TOGETHER;
        if is_late {
            waiting.has_come.set(false);
            state.put_off.push_back(Rc::clone(waiting));
        }
        is_late
    }

    /// Gives the next turns; true if there were any.
    fn give_some(&self) -> bool {
        let state = &mut *self.0.borrow_mut();
        let now = Instant::now();
        let began = state.began.take().unwrap_or(now);
        let took = now.saturating_duration_since(began);
        (state.heard, state.taken) = (now, 0);
        state.together = match took < TOGETHER {
            true => (state.together * 2).min(MOST_TOGETHER),
            false => (state.together / 2).max(1),
        };
        let mut given = 0;
        while given < state.together
            && let Some(waiting) = state.put_off.pop_front().or_else(|| state.waiting.pop())
        {
            // There is no other reference once its connection has ended.
            if Rc::strong_count(&waiting) > 1 {
                waiting.has_come.set(true);
                waiting.waker.borrow().wake_by_ref();
                given += 1;
            }
        }
        state.are_given = given > 0;
        state.are_given
    }
}

impl LoopTurn {
    /// Ready if the turn of this connection has come; if not, its task is woken when it has.
    pub(crate) fn poll(
        &mut self,
        turns: &Rc<Turns>,
        client: ClientKey,
        context: &Context<'_>,
    ) -> Poll<()> {
        self.poll_for(Work::Requests, turns, client, context)
    }

    fn poll_for(
        &mut self,
        work: Work,
        turns: &Rc<Turns>,
        client: ClientKey,
        context: &Context<'_>,
    ) -> Poll<()> {
        match &self.0 {
            None => self.0 = turns.ask(work, client, context),
            Some(waiting) if waiting.has_come.get() && !turns.put_off(waiting) => self.0 = None,
            Some(waiting) => waiting.waker.borrow_mut().clone_from(context.waker()),
        }
        match self.0 {
            None => Poll::Ready(()),
            Some(_) => Poll::Pending,
        }
    }
}

/// Gives turns until none is waited for: some, then all other tasks that are ready have their time. The first turns
/// come behind all tasks that were ready when a connection had to wait.
async fn give(turns: Rc<Turns>) {
    while turns.give_some() {
        // Behind all that are ready, those included whose sockets have yet to be polled.
        yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> ClientKey {
        ClientKey::of([192, 0, 2, last].into())
    }

    /// Runs tasks on a loop, each of which works for a time in its turn; in which order they ended.
    fn order(of: &[(u8, usize)], work: Duration) -> Vec<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_unpark(note_wait)
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap();
        let ended = Rc::new(RefCell::new(Vec::new()));
        runtime.block_on(async {
            let turns = Turns::new();
            let mut tasks = Vec::new();
            for &(last, count) in of {
                for _ in 0..count {
                    let (turns, ended) = (Rc::clone(&turns), Rc::clone(&ended));
                    tasks.push(spawn_local(async move {
                        turns.wait(client(last)).await;
                        let until = Instant::now() + work;
                        while Instant::now() < until {}
                        ended.borrow_mut().push(last);
                    }));
                }
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
        ended.take()
    }

    #[test]
    fn a_client_waits_for_clients_not_for_connections() {
        let ended = order(&[(1, 100), (2, 100), (3, 1)], Duration::from_millis(1));
        assert_eq!(ended.len(), 201);
        let place = ended.iter().position(|&last| last == 3).unwrap();
        // Those that went on at once before the loop was known to be crowded, and some that were given together.
        assert!(place < FEW + 20, "{ended:?}");
    }

    #[test]
    fn nobody_waits_where_work_is_short() {
        let ended = order(&[(1, 1), (2, 1)], Duration::ZERO);
        assert_eq!(ended, [1, 2]);
    }

    /// The most turns that are taken between two looks at the sockets, of those that count: what each is for, how long it
    /// takes and if it counts.
    fn most_at_a_time(works: impl IntoIterator<Item = (Work, Duration, bool)>) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_unpark(note_wait)
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap();
        let (since, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        runtime.block_on(async {
            let turns = Turns::new();
            let mut tasks = Vec::new();
            for (work, cost, counts) in works {
                let (turns, since) = (Rc::clone(&turns), Rc::clone(&since));
                tasks.push(spawn_local(async move {
                    turns.wait_for(work, client(1)).await;
                    let until = Instant::now() + cost;
                    while Instant::now() < until {}
                    since.set(since.get() + usize::from(counts));
                }));
            }
            let (seen, longest) = (Rc::clone(&since), Rc::clone(&most));
            let other = spawn_local(async move {
                loop {
                    longest.set(longest.get().max(seen.take()));
                    yield_now().await;
                }
            });
            for task in tasks {
                task.await.unwrap();
            }
            other.abort();
        });
        most.get()
    }

    #[test]
    fn costly_turns_after_cheap_ones_come_a_few_at_a_time() {
        let cost = |number: usize| match number {
            // The loop becomes crowded.
            0..40 => Duration::from_millis(1),
            // So many cheap ones that most are given together.
            40..1000 => Duration::ZERO,
            _ => Duration::from_millis(1),
        };
        let works = (0..1100).map(|number| (Work::Requests, cost(number), number >= 1000));
        let most = most_at_a_time(works);
        assert!((1..=4).contains(&most), "{most} at a time");
    }

    #[test]
    fn windows_that_are_ready_at_the_same_moment_leave_a_few_at_a_time() {
        let window = (Work::Window, Duration::from_micros(100), true);
        let most = most_at_a_time(std::iter::repeat_n(window, 100));
        assert!((1..=4).contains(&most), "{most} at a time");
    }

    #[test]
    fn a_connection_that_ended_is_passed_over() {
        let turns = Turns::new();
        let context = Context::from_waker(Waker::noop());
        let mut state = turns.0.borrow_mut();
        // As if a task gave them.
        state.are_given = true;
        drop(state);
        let (mut gone, mut there) = (LoopTurn::default(), LoopTurn::default());
        assert!(gone.poll(&turns, client(1), &context).is_pending());
        assert!(there.poll(&turns, client(1), &context).is_pending());
        drop(gone);
        tokio::runtime::Builder::new_current_thread()
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap()
            .block_on(give(Rc::clone(&turns)));
        assert!(there.poll(&turns, client(1), &context).is_ready());
        assert!(!turns.0.borrow().are_given);
    }
}
