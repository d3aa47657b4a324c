//! Who hands content to QUIC while there is little room: the more urgent answer.
//!
//! QUIC sends what it was handed by priority, but room - the client's window for the connection, and
//! what may wait to be acknowledged - goes to whoever asks first. So an answer lets more urgent ones
//! ask before it. Only for a moment each time: an urgent answer that its client does not read is no
//! reason to hold up the others (RFC 9218 section 10).

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::Sleep;

/// How long an answer lets others go first before it hands over another piece.
const COURTESY: Duration = Duration::from_millis(100);

/// RFC 9218 section 4.1.
const URGENCIES: usize = 8;

/// The answers of one connection that are on their way.
#[derive(Default)]
pub(super) struct Turns {
    /// How many there are, by urgency.
    sending: [Cell<usize>; URGENCIES],
    /// Who lets others go first.
    waiting: RefCell<Vec<Waker>>,
}

/// One answer's place among them; free again when dropped.
pub(super) struct Turn {
    turns: Rc<Turns>,
    urgency: usize,
    /// For how long it still lets others go first; `None` if it has not begun to.
    courtesy: Option<Pin<Box<Sleep>>>,
    /// It has waited for the piece that it is about to hand over.
    has_waited: bool,
}

impl Turns {
    pub(super) fn take(self: &Rc<Self>, urgency: u8) -> Turn {
        let turn = Turn {
            turns: Rc::clone(self),
            urgency: usize::from(urgency).min(URGENCIES - 1),
            courtesy: None,
            has_waited: false,
        };
        self.count(turn.urgency, 1);
        turn
    }

    fn count(&self, urgency: usize, by: isize) {
        if let Some(count) = self.sending.get(urgency) {
            count.set(count.get().saturating_add_signed(by));
        }
        if by < 0 {
            self.waiting.take().into_iter().for_each(Waker::wake);
        }
    }

    fn has_more_urgent(&self, urgency: usize) -> bool {
        self.sending
            .iter()
            .take(urgency)
            .any(|count| count.get() > 0)
    }
}

impl Turn {
    /// Whether it may hand over a piece; ready until [`handed_over`](Self::handed_over).
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.has_waited || !self.turns.has_more_urgent(self.urgency) {
            return Poll::Ready(());
        }
        self.turns
            .waiting
            .borrow_mut()
            .push(context.waker().clone());
        let courtesy = self
            .courtesy
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(COURTESY)));
        ready!(courtesy.as_mut().poll(context));
        self.has_waited = true;
        Poll::Ready(())
    }

    /// It has.
    pub(super) fn handed_over(&mut self) {
        self.has_waited = false;
        self.courtesy = None;
    }

    /// The client wants it sooner or later than it said before.
    pub(super) fn change(&mut self, urgency: u8) {
        let urgency = usize::from(urgency).min(URGENCIES - 1);
        if urgency != self.urgency {
            self.turns.count(urgency, 1);
            self.turns.count(self.urgency, -1);
            self.urgency = urgency;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.count(self.urgency, -1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn the_more_urgent_goes_first_but_not_for_ever() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let turns = Rc::new(Turns::default());
        let mut usual = turns.take(3);
        let mut equal = turns.take(3);
        assert!(usual.poll(&mut context).is_ready() && equal.poll(&mut context).is_ready());
        let mut urgent = turns.take(0);
        assert!(urgent.poll(&mut context).is_ready());
        assert!(usual.poll(&mut context).is_pending());
        // It is over, or less urgent than it was.
        urgent.change(7);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(usual.poll(&mut context).is_ready());
        assert!(urgent.poll(&mut context).is_pending());
        drop((usual, equal));
        assert!(count.0.load(Ordering::SeqCst) >= 2);
        assert!(urgent.poll(&mut context).is_ready());
        // It is there and does not move.
        let _stuck = turns.take(1);
        poll_fn(|context| urgent.poll(context)).await;
        assert!(
            urgent.poll(&mut context).is_ready(),
            "until it has used its turn"
        );
        urgent.handed_over();
        assert!(urgent.poll(&mut context).is_pending());
    }
}
