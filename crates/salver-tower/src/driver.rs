//! The driver of the engines: requests are asked, loads are handed to a pool.

use std::sync::Arc;

use salver_assets::{Engine, EngineReply, Now, Pending, Request, ResponsePlan};

use crate::events::EventHub;
use crate::load_pool::{ContentReads, LoadPool, check_sibling, now};

/// An engine, and the pool that performs its loads.
#[derive(Debug)]
pub(crate) struct EngineHandle {
    pub(crate) engine: Engine,
    pub(crate) pool: LoadPool,
}

/// The engines that all clones of one [`Assets`](crate::Assets) share.
#[derive(Debug)]
pub(crate) struct Engines {
    /// The engine for requests.
    pub(crate) serving: EngineHandle,
    /// The engine for files that the program names itself: the same, or one beside it that has no clean URLs.
    pub(crate) named: EngineHandle,
    /// True if it is another one.
    has_own_paths: bool,
    /// That engine, for the program's own reads.
    pub(crate) exact: EngineHandle,
    /// An engine of the same files that keeps nothing and reads each whole, whatever its length: for
    /// reads, too.
    pub(crate) whole: EngineHandle,
    /// The reads of the content of answers.
    pub(crate) reads: ContentReads,
    /// The longest file that is read whole, in bytes.
    pub(crate) read_up_to: u64,
    /// The observer of the first engine.
    pub(crate) events: Arc<EventHub>,
}

impl Engines {
    pub(crate) fn new(
        engine: Engine,
        named: Option<Engine>,
        (whole, read_up_to): (&Engine, u64),
        events: Arc<EventHub>,
    ) -> Self {
        engine.hand_sibling_checks_to(check_sibling);
        let reads = LoadPool::for_reads();
        let reading = |engine: &Engine| EngineHandle {
            engine: engine.exact(),
            pool: reads.clone(),
        };
        let has_own_paths = named.is_some();
        let named = named.unwrap_or_else(|| engine.clone());
        let exact = reading(&named);
        let serving = EngineHandle {
            engine,
            pool: LoadPool::for_requests(),
        };
        Engines {
            exact,
            whole: reading(whole),
            reads: ContentReads::new(),
            read_up_to,
            has_own_paths,
            named: EngineHandle {
                engine: named,
                pool: serving.pool.clone(),
            },
            serving,
            events,
        }
    }

    /// The engines that have cached something, each once.
    pub(crate) fn caching(&self) -> impl Iterator<Item = &Engine> {
        let named = self.has_own_paths.then_some(&self.named.engine);
        std::iter::once(&self.serving.engine).chain(named)
    }
}

impl EngineHandle {
    /// Asks the engine, without waiting.
    pub(crate) fn ask(&self, request: &Request<'_>) -> EngineReply {
        self.ask_at(request, now())
    }

    /// True if a listing may ask for the details of a request.
    pub(crate) fn may_need_details(&self) -> bool {
        self.engine.may_need_details()
    }

    fn ask_at(&self, request: &Request<'_>, now: Now) -> EngineReply {
        // Nobody else here looks after the open files: no thread, no timer.
        self.engine.sweep(now.instant);
        self.engine.ask(request, now, |load| self.pool.load(load))
    }

    /// Waits for an answer that comes later.
    pub(crate) async fn wait(&self, request: &Request<'_>, pending: Pending) -> ResponsePlan {
        match self.reply_to(request, pending).await {
            EngineReply::Ready(plan) => plan,
            _ => no_rules(),
        }
    }

    /// Waits for the reply of the engine that comes later.
    pub(crate) async fn reply_to(&self, request: &Request<'_>, pending: Pending) -> EngineReply {
        let hand_over = |load| self.pool.load(load);
        self.engine.wait(request, pending, now, hand_over).await
    }

    /// The answer.
    pub(crate) async fn plan(&self, request: &Request<'_>) -> ResponsePlan {
        match self.ask(request) {
            EngineReply::Ready(plan) => plan,
            EngineReply::Pending(pending) => self.wait(request, pending).await,
            EngineReply::NeedDetails | EngineReply::NeedAccess(_) => no_rules(),
        }
    }
}

/// The answer where rules ask for more of a request than its details: no mount here has rules.
pub(crate) fn no_rules() -> ResponsePlan {
    ResponsePlan::error(500, "Internal Server Error", vec![])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    #[cfg_attr(not(target_os = "linux"), ignore = "no file is kept open")]
    async fn open_files_that_nobody_asks_for_are_closed() {
        let directory = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(directory.path().join("long")).unwrap();
        file.set_len(3_000_000).unwrap();
        let assets = crate::Assets::new(directory.path()).unwrap();
        let open = || assets.statistics().open_files;
        let serving = &assets.engines().serving;
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
