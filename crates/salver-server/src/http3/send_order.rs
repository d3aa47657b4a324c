//! The order in which the answers of one connection hand content to QUIC.
//!
//! QUIC sends what it was handed by priority and in turns. But room - the client's window for the connection,
//! and what may wait to be acknowledged - goes to whoever asks first, and those that found none are woken
//! last come, first served. So only the head of this order asks.
//!
//! ```text
//!            at the tail                      64 KiB, or all that there is
//! wants to ──────────────► waits ──► head ───────────────────────────────────► out, and again at the tail
//! hand over                           │ ▲                                        if there is more
//!                                     │ └─ no room on the connection: QUIC wakes it
//!                                     └─── no room on its own stream: out until QUIC wakes it
//! ```
//!
//! What is more urgent stands before what is less (RFC 9218 section 4.1), and of equal urgency small answers
//! before large ones. An answer that its client does not read is not in the order, so that it holds up no other
//! (RFC 9218 section 10).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use slab::Slab;

/// What an answer hands over before others of its rank have their turn, in bytes; what is no longer than this
/// is small.
pub(super) const TURN: usize = 64 * 1024;

/// The answers of one connection that are on their way.
#[derive(Default)]
pub(super) struct SendOrder(RefCell<Inner>);

#[derive(Default)]
struct Inner {
    answers: Slab<Answer>,
    /// Those that want to hand something over, by rank and then by when they came.
    queue: VecDeque<usize>,
}

struct Answer {
    rank: Rank,
    is_queued: bool,
    /// What it may still hand over in this turn, in bytes.
    left: usize,
    /// It found no room when it was alone, so that nobody asked where.
    is_stuck: bool,
    waker: Option<Waker>,
}

/// What decides which answer goes first; the lower one does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank {
    urgency: u8,
    is_large: bool,
}

impl Rank {
    pub(super) fn new(urgency: u8, length: u64) -> Self {
        Rank {
            urgency,
            is_large: usize::try_from(length).is_ok_and(|length| length > TURN),
        }
    }

    /// What QUIC is told of it: there the larger number goes first, and 0 is what a small answer of the
    /// usual urgency has, of which nothing needs to be said.
    pub(super) fn quic_priority(self) -> i32 {
        let usual = i32::from(salver_fields::Priority::default().urgency);
        2 * (usual - i32::from(self.urgency)) - i32::from(self.is_large)
    }
}

/// One answer's place in the order; free again when dropped.
pub(super) struct Place {
    order: Rc<SendOrder>,
    key: usize,
}

impl SendOrder {
    /// A place for an answer, which does not count before it wants to hand something over.
    pub(super) fn place(self: &Rc<Self>, rank: Rank) -> Place {
        let key = self.0.borrow_mut().answers.insert(Answer {
            rank,
            is_queued: false,
            left: 0,
            is_stuck: false,
            waker: None,
        });
        Place {
            order: Rc::clone(self),
            key,
        }
    }

    /// Changes something, and wakes the answer that is the head thereby.
    fn change<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.0.borrow_mut();
        let before = inner.queue.front().copied();
        let changed = change(&mut inner);
        let head = inner.queue.front().copied();
        let head = head.filter(|head| before != Some(*head));
        let waker = head.and_then(|head| inner.answers.get_mut(head)?.waker.take());
        // Waking is done last: it may lead back here.
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
        changed
    }
}

impl Inner {
    fn enter(&mut self, key: usize) {
        let Some(answer) = self.answers.get_mut(key) else {
            return;
        };
        answer.is_queued = true;
        let rank = answer.rank;
        let at = self.queue.partition_point(|other| {
            let other = self.answers.get(*other);
            other.is_some_and(|other| other.rank <= rank)
        });
        self.queue.insert(at, key);
    }

    fn leave(&mut self, key: usize) {
        if let Some(answer) = self.answers.get_mut(key)
            && answer.is_queued
        {
            answer.is_queued = false;
            answer.is_stuck = false;
            if let Some(at) = self.queue.iter().position(|other| *other == key) {
                self.queue.remove(at);
            }
        }
    }
}

impl Place {
    /// How many bytes it may hand over now; pending, without anything to wake the task but this order, while
    /// it is another one's turn.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<usize> {
        let stuck = {
            let inner = &mut *self.order.0.borrow_mut();
            let Some(answer) = inner.answers.get_mut(self.key) else {
                return Poll::Ready(TURN);
            };
            let is_new = !answer.is_queued;
            if is_new {
                answer.left = if answer.rank.is_large {
                    TURN
                } else {
                    usize::MAX
                };
                inner.enter(self.key);
            }
            let head = inner.queue.front().copied();
            if head == Some(self.key) {
                let left = inner.answers.get(self.key).map_or(0, |answer| answer.left);
                return Poll::Ready(left);
            }
            if let Some(answer) = inner.answers.get_mut(self.key)
                && !answer
                    .waker
                    .as_ref()
                    .is_some_and(|waker| waker.will_wake(context.waker()))
            {
                answer.waker = Some(context.waker().clone());
            }
            // Now somebody waits for it, so that it has to find out where there is no room.
            let head = head.filter(|_| is_new);
            let head = head.and_then(|head| inner.answers.get_mut(head));
            head.filter(|head| head.is_stuck)
                .and_then(|head| head.waker.take())
        };
        if let Some(stuck) = stuck {
            stuck.wake();
        }
        Poll::Pending
    }

    /// The head has handed over so many bytes.
    pub(super) fn handed_over(&self, bytes: usize) {
        self.order.change(|inner| {
            let Some(answer) = inner.answers.get_mut(self.key) else {
                return;
            };
            answer.left = answer.left.saturating_sub(bytes);
            answer.is_stuck = false;
            if answer.left == 0 {
                inner.leave(self.key);
            }
        });
    }

    /// The head has found no room. If others wait, and `connection_has_room`, it is the client's window for
    /// its own stream that is used up, and they go on without it.
    pub(super) fn found_no_room(
        &self,
        context: &mut Context<'_>,
        connection_has_room: impl FnOnce(&mut Context<'_>) -> bool,
    ) {
        let is_alone = {
            let inner = &mut *self.order.0.borrow_mut();
            let is_alone = inner.queue.len() <= 1;
            if let Some(answer) = inner.answers.get_mut(self.key) {
                answer.is_stuck = is_alone;
                // If it is no longer the head when QUIC has room, it has to hear of it when it is again.
                answer.waker = Some(context.waker().clone());
            }
            is_alone
        };
        if !is_alone && connection_has_room(context) {
            self.leave();
        }
    }

    /// There is nothing to hand over for now.
    pub(super) fn leave(&self) {
        self.order.change(|inner| inner.leave(self.key));
    }

    /// The client wants it sooner or later than it said before.
    pub(super) fn set_rank(&self, rank: Rank) {
        self.order.change(|inner| {
            let Some(answer) = inner.answers.get_mut(self.key) else {
                return;
            };
            let was_queued = answer.is_queued;
            inner.leave(self.key);
            if let Some(answer) = inner.answers.get_mut(self.key) {
                answer.rank = rank;
            }
            if was_queued {
                inner.enter(self.key);
            }
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
        let answer = self.order.0.borrow_mut().answers.try_remove(self.key);
        // The waker goes outside of the borrow: dropping it may drop the task.
        drop(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_test::Wakes;
    use std::sync::Arc;

    const LARGE: u64 = 1 << 20;

    /// An answer with a task of its own.
    struct Task {
        place: Place,
        woken: Arc<Wakes>,
        waker: Waker,
    }

    impl Task {
        fn new(order: &Rc<SendOrder>, urgency: u8, length: u64) -> Self {
            let (woken, waker) = Wakes::new();
            Task {
                place: order.place(Rank::new(urgency, length)),
                waker,
                woken,
            }
        }

        fn poll(&self) -> Poll<usize> {
            self.place.poll(&Context::from_waker(&self.waker))
        }

        fn finds_no_room(&self, connection_has_room: bool) {
            let context = &mut Context::from_waker(&self.waker);
            self.place.found_no_room(context, |_| connection_has_room);
        }

        /// How often it was woken since the last call.
        fn woken(&self) -> usize {
            self.woken.take()
        }
    }

    fn tasks<const COUNT: usize>(kinds: [(u8, u64); COUNT]) -> [Task; COUNT] {
        let order = Rc::default();
        kinds.map(|(urgency, length)| Task::new(&order, urgency, length))
    }

    /// Plays until nothing is left of `lengths`, handing over `room` bytes at a time; whose turns they were.
    fn play<const COUNT: usize>(kinds: [(u8, u64); COUNT], room: usize) -> Vec<usize> {
        let tasks = tasks(kinds);
        let mut left = kinds.map(|(_, length)| usize::try_from(length).unwrap());
        let mut turns: Vec<usize> = Vec::new();
        for task in &tasks {
            // All of them want to before anything is handed over.
            let _ = task.poll();
        }
        while left.iter().any(|left| *left > 0) {
            for at in 0..COUNT {
                if left[at] == 0 {
                    continue;
                }
                if let Poll::Ready(most) = tasks[at].poll() {
                    let bytes = most.min(room).min(left[at]);
                    tasks[at].place.handed_over(bytes);
                    left[at] -= bytes;
                    if left[at] == 0 {
                        tasks[at].place.leave();
                    } else {
                        let _ = tasks[at].poll();
                    }
                    if turns.last() != Some(&at) {
                        turns.push(at);
                    }
                }
            }
        }
        turns
    }

    #[test]
    fn equal_ones_take_turns_and_small_ones_go_first() {
        let turn = TURN as u64;
        let large = 3 * turn;
        for room in [1, 1000, TURN, 10 * TURN] {
            let three = [(3, large); 3];
            assert_eq!(play(three, room), [0, 1, 2, 0, 1, 2, 0, 1, 2], "{room}");
        }
        let mixed = [(3, large), (3, turn), (3, large), (3, 1)];
        assert_eq!(play(mixed, TURN), [1, 3, 0, 2, 0, 2, 0, 2]);
        let urgent = [(5, large), (2, large), (3, 1), (0, 1), (2, large)];
        assert_eq!(play(urgent, TURN), [3, 1, 4, 1, 4, 1, 4, 2, 0]);
    }

    #[test]
    fn only_the_next_one_is_woken_and_once() {
        let all @ [first, second, third] = &tasks([(3, LARGE); 3]);
        assert_eq!(first.poll(), Poll::Ready(TURN));
        for _ in 0..1000 {
            assert!(second.poll().is_pending() && third.poll().is_pending());
        }
        first.place.handed_over(TURN - 1);
        assert_eq!(first.poll(), Poll::Ready(1));
        assert_eq!(all.each_ref().map(Task::woken), [0, 0, 0]);
        first.place.handed_over(1);
        assert_eq!(all.each_ref().map(Task::woken), [0, 1, 0]);
        assert!(first.poll().is_pending() && second.poll().is_ready());
        second.place.leave();
        assert_eq!(all.each_ref().map(Task::woken), [0, 0, 1]);
    }

    #[test]
    fn what_its_client_does_not_read_holds_up_no_other() {
        let all @ [unread, second, third] = &tasks([(3, LARGE); 3]);
        assert!(unread.poll().is_ready() && second.poll().is_pending());
        // All of them are blocked: the head stays what it is.
        unread.finds_no_room(false);
        assert!(third.poll().is_pending() && second.poll().is_pending());
        assert_eq!(unread.poll(), Poll::Ready(TURN));
        assert_eq!(all.each_ref().map(Task::woken), [0, 0, 0]);
        // It alone is: the others go on, and when it is read again it comes after them.
        unread.finds_no_room(true);
        assert_eq!(all.each_ref().map(Task::woken), [0, 1, 0]);
        assert!(second.poll().is_ready() && third.poll().is_pending());
        assert!(unread.poll().is_pending());
        second.place.leave();
        assert_eq!(all.each_ref().map(Task::woken), [0, 0, 1]);
        assert!(third.poll().is_ready() && unread.poll().is_pending());
    }

    #[test]
    fn who_was_alone_finds_out_why_when_another_one_comes() {
        let all @ [unread, other] = &tasks([(3, LARGE); 2]);
        assert!(unread.poll().is_ready());
        let mut asked = false;
        let context = &mut Context::from_waker(&unread.waker);
        unread.place.found_no_room(context, |_| {
            asked = true;
            true
        });
        assert!(!asked, "nobody waits for it");
        assert!(other.poll().is_pending());
        assert_eq!(all.each_ref().map(Task::woken), [1, 0]);
        assert!(unread.poll().is_ready());
        unread.finds_no_room(true);
        assert_eq!(all.each_ref().map(Task::woken), [0, 1]);
        assert!(other.poll().is_ready());
    }

    #[test]
    fn a_head_that_was_overtaken_is_woken_when_it_is_the_head_again() {
        let all @ [overtaken, third, urgent] = &tasks([(3, LARGE), (3, LARGE), (0, LARGE)]);
        assert!(overtaken.poll().is_ready() && third.poll().is_pending());
        overtaken.finds_no_room(false);
        assert!(urgent.poll().is_ready());
        urgent.finds_no_room(false);
        urgent.place.leave();
        assert_eq!(all.each_ref().map(Task::woken), [1, 0, 0]);
    }

    #[test]
    fn ranks_change_and_places_go() {
        let mut all = tasks([(3, LARGE), (3, LARGE), (6, LARGE)]);
        assert!(all[0].poll().is_ready());
        assert!(all[1].poll().is_pending() && all[2].poll().is_pending());
        all[2].place.set_rank(Rank::new(0, LARGE));
        assert_eq!(all.each_ref().map(Task::woken), [0, 0, 1]);
        assert!(all[2].poll().is_ready() && all[0].poll().is_pending());
        all[2].place.set_rank(Rank::new(7, LARGE));
        assert_eq!(all.each_ref().map(Task::woken), [1, 0, 0]);
        assert!(all[2].poll().is_pending());
        // It is gone, and its key may be another one's.
        let order = Rc::clone(&all[0].place.order);
        all[0] = Task::new(&order, 3, LARGE);
        assert_eq!(all[1].woken(), 1);
        assert!(all[0].poll().is_pending() && all[1].poll().is_ready());
        drop(all);
        let inner = order.0.borrow();
        assert!(inner.queue.is_empty() && inner.answers.is_empty());
    }

    #[test]
    fn what_quic_is_told() {
        let priorities = [(3, 1), (3, LARGE), (2, LARGE), (4, 1), (0, 0), (7, LARGE)];
        let priorities =
            priorities.map(|(urgency, length)| Rank::new(urgency, length).quic_priority());
        assert_eq!(priorities, [0, -1, 1, -2, 6, -9]);
    }
}
