//! The limits on pending answers, which wait for a disk or a handler: their time, and their number.
//!
//! A mount whose disk hangs keeps all requests for it waiting. They do not take the places of requests for other
//! mounts: where there are several, each may have as many wait as are left for all others.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use salver_assets::{Method, ResponsePlan};

use crate::handler::Answer;

/// The limit on the number of pending answers, by mount.
#[derive(Debug)]
pub(crate) struct PendingLimit {
    all: AtomicUsize,
    by_mount: Vec<AtomicUsize>,
    most: usize,
}

/// The permit of one pending answer; it no longer counts when dropped.
#[derive(Debug)]
pub(crate) struct PendingPermit {
    answers: Arc<PendingLimit>,
    mount: usize,
}

impl PendingLimit {
    /// A limit for so many mounts: at most `most` answers where there are several.
    pub(crate) fn new(most: usize, mounts: usize) -> Arc<Self> {
        let by_mount = if mounts > 1 { mounts } else { 0 };
        Arc::new(PendingLimit {
            all: AtomicUsize::new(0),
            by_mount: (0..by_mount).map(|_| AtomicUsize::new(0)).collect(),
            most,
        })
    }

    /// Takes a permit for an answer of a mount; `None` if other mounts may need it.
    pub(crate) fn begin(self: &Arc<Self>, mount: usize) -> Option<PendingPermit> {
        if let Some(count) = self.by_mount.get(mount) {
            let left = self.most.saturating_sub(self.all.load(Ordering::Relaxed));
            let is_fair = |count| (count < left.max(1)).then_some(count + 1);
            let relaxed = Ordering::Relaxed;
            count.fetch_update(relaxed, relaxed, is_fair).ok()?;
            self.all.fetch_add(1, relaxed);
        }
        Some(PendingPermit {
            answers: Arc::clone(self),
            mount,
        })
    }
}

impl Drop for PendingPermit {
    fn drop(&mut self) {
        if let Some(count) = self.answers.by_mount.get(self.mount) {
            count.fetch_sub(1, Ordering::Relaxed);
            self.answers.all.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The output of `work` within `time`, else 503 as the answer to this method; see [`within`].
pub(crate) async fn with_timeout(
    time: Duration,
    method: Method,
    work: impl Future<Output = Answer>,
    busy_since: impl Fn() -> Option<Instant>,
) -> Answer {
    let answer = within(time, work, busy_since).await;
    answer.unwrap_or_else(|| takes_too_long().for_method(method).into())
}

/// The output of `work`; `None` if it takes longer than `time`, which begins anew when `busy_since` says a later time than
/// that at which it began.
pub(crate) async fn within<T>(
    time: Duration,
    work: impl Future<Output = T>,
    busy_since: impl Fn() -> Option<Instant>,
) -> Option<T> {
    let mut work = pin!(work);
    // Made once it is needed: much is answered at once.
    let mut late = pin!(None);
    poll_fn(|context| {
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        if late.is_none() {
            late.set(Some(tokio::time::sleep(time)));
        }
        while let Some(mut timer) = late.as_mut().as_pin_mut()
            && timer.as_mut().poll(context).is_ready()
        {
            let due = busy_since().and_then(|since| since.checked_add(time));
            match due.filter(|due| *due > Instant::now()) {
                Some(due) => timer.reset(due.into()),
                None => return Poll::Ready(None),
            }
        }
        Poll::Pending
    })
    .await
}

/// The answer where something takes longer than its time limit.
pub(crate) fn takes_too_long() -> ResponsePlan {
    service_unavailable("Service Unavailable: this takes too long")
}

/// The answer 503 (Service Unavailable), with Retry-After.
pub(crate) fn service_unavailable(text: &str) -> ResponsePlan {
    let more = vec![("Retry-After", Bytes::from_static(b"1"))];
    ResponsePlan::error(503, text, more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_leaves_places_for_others() {
        let answers = PendingLimit::new(100, 3);
        let fill = |mount| std::iter::from_fn(|| answers.begin(mount)).collect::<Vec<_>>();
        let hung = fill(0);
        assert_eq!(hung.len(), 50);
        let other = fill(1);
        assert_eq!(other.len(), 25);
        drop(hung);
        assert_eq!(fill(2).len(), 38);
        drop(other);
        assert_eq!(answers.all.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_mount_alone_has_all() {
        let answers = PendingLimit::new(10, 1);
        let all: Vec<_> = (0..1000).filter_map(|_| answers.begin(0)).collect();
        assert_eq!(all.len(), 1000);
    }
}
