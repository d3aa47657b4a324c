//! An engine, and where its loads are performed.

use std::sync::Arc;

use salver_assets::{Asked, Engine, Now, Pending, Request, ResponsePlan};

use crate::events::Hub;
use crate::loading::{Loading, check_sibling, now};

/// See the module.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) engine: Engine,
    pub(crate) loading: Loading,
}

/// Whom all clones of one [`Assets`](crate::Assets) ask.
#[derive(Debug)]
pub(crate) struct Shared {
    /// For requests.
    pub(crate) serving: Asking,
    /// The same engine, for the program's own reads.
    pub(crate) exact: Asking,
    /// An engine of the same files that keeps nothing and reads each whole, whatever its length: for
    /// reads, too.
    pub(crate) whole: Asking,
    /// Observes the first engine.
    pub(crate) events: Arc<Hub>,
}

impl Shared {
    pub(crate) fn new(engine: Engine, whole: &Engine, events: Arc<Hub>) -> Self {
        engine.hand_sibling_checks_to(check_sibling);
        let reads = Loading::for_reads();
        let reading = |engine: &Engine| Asking {
            engine: engine.exact(),
            loading: reads.clone(),
        };
        Shared {
            exact: reading(&engine),
            whole: reading(whole),
            serving: Asking {
                engine,
                loading: Loading::for_requests(),
            },
            events,
        }
    }
}

impl Asking {
    /// What can be answered now.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Asked {
        self.ask_at(request, now())
    }

    fn ask_at(&self, request: &Request<'_>, now: Now) -> Asked {
        // Nobody else here looks after the open files: no thread, no timer.
        self.engine.sweep(now.instant);
        self.engine
            .ask(request, now, |load| self.loading.load(load))
    }

    /// What is answered later.
    pub(crate) async fn wait(&self, request: &Request<'_>, pending: Pending) -> ResponsePlan {
        let hand_over = |load| self.loading.load(load);
        self.engine.wait(request, pending, now, hand_over).await
    }

    /// The answer.
    pub(crate) async fn plan(&self, request: &Request<'_>) -> ResponsePlan {
        match self.ask(request) {
            Asked::Plan(plan) => plan,
            Asked::Later(pending) => self.wait(request, pending).await,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn open_files_that_nobody_asks_for_are_closed() {
        let directory = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(directory.path().join("long")).unwrap();
        file.set_len(3_000_000).unwrap();
        let assets = crate::Assets::new(directory.path()).unwrap();
        let open = || assets.statistics().open_files;
        let serving = &assets.shared().serving;
        serving.plan(&Request::get(b"/long")).await;
        assert_eq!(open(), 1);
        let now = now();
        for (later, left) in [(1, 1), (20, 0)] {
            let instant = now.instant + Duration::from_secs(later);
            serving.ask_at(&Request::get(b"/%00"), Now { instant, ..now });
            assert_eq!(open(), left, "after {later} s");
        }
    }
}
