//! The order in which the answers of one connection hand content to QUIC.
//!
//! QUIC sends the content that it has by priority and in turns. But room - the client's window for the connection,
//! and the bytes that may wait to be acknowledged - goes to the stream that asks first, and those that found none are
//! woken last come, first served. So only the head of this order asks.
//!
//! ```text
//!            at the tail                      64 KiB, or all that there is
//! wants to ──────────────► waits ──► head ───────────────────────────────────► out, and again at the tail
//! hand over                           │ ▲                                        if there is more
//!                                     │ └─ no room on the connection: QUIC wakes it
//!                                     └─── no room on its own stream: out until QUIC wakes it
//! ```
//!
//! More urgent answers stand before less urgent ones (RFC 9218 section 4.1), and of equal urgency small ones before
//! large ones. An answer that its client does not read is not in the order, so that it holds up no other (RFC 9218
//! section 10).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use slab::Slab;

use crate::deadlines::keep_waker;

/// The bytes that an answer hands over before others of its rank have their turn; an answer that is no longer is
/// small.
pub(super) const TURN: usize = 64 * 1024;

/// The order of the answers that one connection sends.
#[derive(Default)]
pub(super) struct SendOrder(RefCell<OrderState>);

#[derive(Default)]
struct OrderState {
    answers: Slab<OrderEntry>,
    /// The keys of those that have content to hand over, by rank and then in the order in which they came.
    queue: VecDeque<usize>,
}

struct OrderEntry {
    rank: Rank,
    is_queued: bool,
    /// The bytes that it may still hand over in this turn.
    left: usize,
    /// True if it found no room when it was alone, so that it was not checked where.
    is_stuck: bool,
    waker: Option<Waker>,
}

/// The rank of an answer; the lower one goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank {
    urgency: u8,
    is_large: bool,
}

impl Rank {
    pub(super) fn new(urgency: u8, length: u64) -> Self {
        Rank {
            urgency,
            is_large: usize::try_from(length).map_or(true, |length| length > TURN),
        }
    }

    /// The priority for QUIC, where the larger number goes first. A small answer of the usual urgency has 0, the
    /// default.
    pub(super) fn quic_priority(self) -> i32 {
        let usual = i32::from(salver_fields::Priority::default().urgency);
        2 * (usual - i32::from(self.urgency)) - i32::from(self.is_large)
    }
}

/// The slot of one answer in the order; free again when dropped.
pub(super) struct SendSlot {
    order: Rc<SendOrder>,
    key: usize,
}

impl SendOrder {
    /// Takes a slot for an answer, which is not queued before it has content to hand over.
    pub(super) fn slot(self: &Rc<Self>, rank: Rank) -> SendSlot {
        let key = self.0.borrow_mut().answers.insert(OrderEntry {
            rank,
            is_queued: false,
            left: 0,
            is_stuck: false,
            waker: None,
        });
        SendSlot {
            order: Rc::clone(self),
            key,
        }
    }

    /// Applies a change, and wakes the answer that becomes the head by it.
    fn change<T>(&self, change: impl FnOnce(&mut OrderState) -> T) -> T {
        let mut state = self.0.borrow_mut();
        let before = state.queue.front().copied();
        let changed = change(&mut state);
        let head = state.queue.front().copied();
        let head = head.filter(|head| before != Some(*head));
        let waker = head.and_then(|head| state.answers.get_mut(head)?.waker.take());
        // Waking is done last: it may lead back here.
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        changed
    }
}

impl OrderState {
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

impl SendSlot {
    /// The bytes that it may hand over now. Pending while it is another one's turn; then only this order wakes the
    /// task.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<usize> {
        let stuck = {
            let state = &mut *self.order.0.borrow_mut();
            let Some(answer) = state.answers.get_mut(self.key) else {
                return Poll::Ready(TURN);
            };
            let is_new = !answer.is_queued;
            if is_new {
                answer.left = if answer.rank.is_large {
                    TURN
                } else {
                    usize::MAX
                };
                state.enter(self.key);
            }
            let head = state.queue.front().copied();
            if head == Some(self.key) {
                let left = state.answers.get(self.key).map_or(0, |answer| answer.left);
                return Poll::Ready(left);
            }
            if let Some(answer) = state.answers.get_mut(self.key) {
                keep_waker(&mut answer.waker, context);
            }
            // Now another answer waits for it, so that it has to find out where there is no room.
            let head = head.filter(|_| is_new);
            let head = head.and_then(|head| state.answers.get_mut(head));
            head.filter(|head| head.is_stuck)
                .and_then(|head| head.waker.take())
        };
        if let Some(stuck) = stuck {
            stuck.wake();
        }
        Poll::Pending
    }

    /// Counts bytes that the head has handed over.
    pub(super) fn handed_over(&self, bytes: usize) {
        self.order.change(|state| {
            let Some(answer) = state.answers.get_mut(self.key) else {
                return;
            };
            answer.left = answer.left.saturating_sub(bytes);
            answer.is_stuck = false;
            if answer.left == 0 {
                state.leave(self.key);
            }
        });
    }

    /// Notes that the head has found no room. If others wait, and `connection_has_room`, the client's window for its
    /// stream is used up, and they go on without it.
    pub(super) fn found_no_room(
        &self,
        context: &mut Context<'_>,
        connection_has_room: impl FnOnce(&mut Context<'_>) -> bool,
    ) {
        let is_alone = {
            let state = &mut *self.order.0.borrow_mut();
            let is_alone = state.queue.len() <= 1;
            if let Some(answer) = state.answers.get_mut(self.key) {
                answer.is_stuck = is_alone;
                // If it is no longer the head when QUIC has room, it has to be woken when it is again.
                answer.waker = Some(context.waker().clone());
            }
            is_alone
        };
        if !is_alone && connection_has_room(context) {
            self.leave();
        }
    }

    /// Leaves the queue: there is nothing to hand over for now.
    pub(super) fn leave(&self) {
        self.order.change(|state| state.leave(self.key));
    }

    /// Changes the rank, by a priority update of the client.
    pub(super) fn set_rank(&self, rank: Rank) {
        self.order.change(|state| {
            let Some(answer) = state.answers.get_mut(self.key) else {
                return;
            };
            let was_queued = answer.is_queued;
            state.leave(self.key);
            if let Some(answer) = state.answers.get_mut(self.key) {
                answer.rank = rank;
            }
            if was_queued {
                state.enter(self.key);
            }
        });
    }
}

impl Drop for SendSlot {
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
        slot: SendSlot,
        woken: Arc<Wakes>,
        waker: Waker,
    }

    impl Task {
        fn new(order: &Rc<SendOrder>, urgency: u8, length: u64) -> Self {
            let (woken, waker) = Wakes::new();
            Task {
                slot: order.slot(Rank::new(urgency, length)),
                waker,
                woken,
            }
        }

        fn poll(&self) -> Poll<usize> {
            self.slot.poll(&Context::from_waker(&self.waker))
        }

        fn finds_no_room(&self, connection_has_room: bool) {
            let context = &mut Context::from_waker(&self.waker);
            self.slot.found_no_room(context, |_| connection_has_room);
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
                    tasks[at].slot.handed_over(bytes);
                    left[at] -= bytes;
                    if left[at] == 0 {
                        tasks[at].slot.leave();
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
        first.slot.handed_over(TURN - 1);
        assert_eq!(first.poll(), Poll::Ready(1));
        assert_eq!(all.each_ref().map(Task::woken), [0, 0, 0]);
        first.slot.handed_over(1);
        assert_eq!(all.each_ref().map(Task::woken), [0, 1, 0]);
        assert!(first.poll().is_pending() && second.poll().is_ready());
        second.slot.leave();
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
        second.slot.leave();
        assert_eq!(all.each_ref().map(Task::woken), [0, 0, 1]);
        assert!(third.poll().is_ready() && unread.poll().is_pending());
    }

    #[test]
    fn who_was_alone_finds_out_why_when_another_one_comes() {
        let all @ [unread, other] = &tasks([(3, LARGE); 2]);
        assert!(unread.poll().is_ready());
        let mut asked = false;
        let context = &mut Context::from_waker(&unread.waker);
        unread.slot.found_no_room(context, |_| {
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
        urgent.slot.leave();
        assert_eq!(all.each_ref().map(Task::woken), [1, 0, 0]);
    }

    #[test]
    fn ranks_change_and_places_go() {
        let mut all = tasks([(3, LARGE), (3, LARGE), (6, LARGE)]);
        assert!(all[0].poll().is_ready());
        assert!(all[1].poll().is_pending() && all[2].poll().is_pending());
        all[2].slot.set_rank(Rank::new(0, LARGE));
        assert_eq!(all.each_ref().map(Task::woken), [0, 0, 1]);
        assert!(all[2].poll().is_ready() && all[0].poll().is_pending());
        all[2].slot.set_rank(Rank::new(7, LARGE));
        assert_eq!(all.each_ref().map(Task::woken), [1, 0, 0]);
        assert!(all[2].poll().is_pending());
        // It is gone, and its key may be another one's.
        let order = Rc::clone(&all[0].slot.order);
        all[0] = Task::new(&order, 3, LARGE);
        assert_eq!(all[1].woken(), 1);
        assert!(all[0].poll().is_pending() && all[1].poll().is_ready());
        drop(all);
        let state = order.0.borrow();
        assert!(state.queue.is_empty() && state.answers.is_empty());
    }

    #[test]
    fn what_quic_is_told() {
        let unknown = Rank::new(3, u64::MAX);
        assert_eq!(unknown, Rank::new(3, LARGE), "it may be without end");
        let priorities = [(3, 1), (3, LARGE), (2, LARGE), (4, 1), (0, 0), (7, LARGE)];
        let priorities =
            priorities.map(|(urgency, length)| Rank::new(urgency, length).quic_priority());
        assert_eq!(priorities, [0, -1, 1, -2, 6, -9]);
    }
}
