//! A site that is served from a bucket, by an engine whose time is passed in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::{
    Config, Content, Engine, EngineReply, HttpDate, Load, Mount, Now, Patience, Request,
    ResponsePlan, Step,
};
use salver_object_store::{Clock, Settings};

use crate::store::{Asked, FaultStore, block_on, settings};

/// A site whose bucket was looked at whenever the clock is moved on.
pub(crate) struct Site {
    pub(crate) store: FaultStore,
    pub(crate) engine: Engine,
    pub(crate) now: Now,
    pub(crate) clock: Clock,
}

pub(crate) const REVALIDATE: Duration = Duration::from_secs(1);

/// More than the longest time after which a bucket that fails is asked again.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(7);

impl Site {
    /// One whose bucket is asked at each look.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let timeout = Duration::from_millis(200);
        Site::with(
            files,
            Settings {
                timeout,
                ..settings()
            },
        )
    }

    pub(crate) fn with(files: &[(&str, &[u8])], settings: Settings) -> Self {
        let store = FaultStore::default();
        for (path, content) in files {
            store.put(path, Some(content));
        }
        Site::of(store, settings)
    }

    /// A node that serves what is in a store.
    pub(crate) fn of(store: FaultStore, mut settings: Settings) -> Self {
        let clock = Clock::adjustable();
        settings.clock = clock.clone();
        let source = store.source(settings);
        let config = Config {
            mounts: vec![Mount::tree("/", Arc::new(source))],
            revalidate: REVALIDATE,
            ..Config::default()
        };
        let now = Now {
            instant: Instant::now(),
            date: HttpDate::from_unix_seconds(2_000_000_000),
        };
        Site {
            store,
            engine: Engine::new(config).unwrap(),
            now,
            clock,
        }
    }

    /// Another node, which serves the same bucket.
    pub(crate) fn another_node(&self) -> Self {
        let config = Config {
            mounts: vec![Mount::tree("/", Arc::new(self.store.source(settings())))],
            ..Config::default()
        };
        Site {
            engine: Engine::new(config).unwrap(),
            store: self.store.clone(),
            now: self.now,
            clock: Clock::default(),
        }
    }

    /// Lets time pass, so that what is cached has to be compared.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now.instant += time;
        self.clock.advance(time);
    }

    pub(crate) fn perform(&self, load: Load) {
        let outcome = load.perform(Patience::MayWait, self.now.instant).unwrap();
        self.engine.finish(load, outcome);
    }

    pub(crate) fn plan(&self, request: &Request<'_>) -> ResponsePlan {
        let mut step = self.engine.begin(request, self.now);
        loop {
            let pending = match step {
                Step::Respond(plan) => return plan,
                Step::Load(load, pending) => {
                    self.perform(load);
                    pending
                }
                Step::Wait(pending) => pending,
                Step::NeedDetails | Step::NeedAccess(_) => panic!("there are no rules"),
            };
            step = self.engine.resume(request, block_on(pending), self.now);
        }
    }

    pub(crate) fn get(&self, path: &str) -> ResponsePlan {
        self.plan(&Request::get(path.as_bytes()))
    }
}

pub(crate) fn field(plan: &ResponsePlan, name: &str) -> Option<String> {
    let mut fields = plan.fields();
    let found = fields.find(|(known, _)| *known == name);
    found.map(|(_, value)| String::from_utf8(value.to_vec()).unwrap())
}

pub(crate) fn body(plan: &ResponsePlan) -> Vec<u8> {
    match &plan.content {
        Content::Empty => Vec::new(),
        Content::Memory(bytes) => bytes.to_vec(),
        Content::File(file) => file.read(&file.range).unwrap().to_vec(),
        Content::Parts(_) => panic!("one range"),
    }
}

/// The requests for just this key by GET.
pub(crate) fn of<'a>(asked: &'a [Asked], key: &str) -> Vec<&'a Asked> {
    let is_it = |asked: &&Asked| asked.what == "GET" && asked.key == key;
    asked.iter().filter(is_it).collect()
}

/// The answer that is there without waiting, if there is one. Loads that would wait are performed all the same.
pub(crate) fn at_once(site: &Site, path: &str) -> Option<ResponsePlan> {
    let mut loads = Vec::new();
    let request = Request::get(path.as_bytes());
    let reply = site.engine.ask(&request, site.now, |load| loads.push(load));
    loads.into_iter().for_each(|load| site.perform(load));
    match reply {
        EngineReply::Ready(plan) => Some(plan),
        _ => None,
    }
}

/// Settings under which what was found is told for a while.
pub(crate) fn with_stale_answers() -> Settings {
    Settings {
        revalidate: REVALIDATE,
        ..settings()
    }
}

/// Asks again and again, in moments of the site's clock, until the answer is as it should be.
pub(crate) fn until(site: &mut Site, path: &str, expected: &[u8]) {
    let begun = Instant::now();
    loop {
        let plan = at_once(site, path).unwrap();
        if body(&plan) == expected {
            return;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{plan:?}");
        // A moment for the look, and then one for the clock, so that this is not far ahead of others.
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_millis(1) {
            std::thread::yield_now();
        }
        site.pass(Duration::from_millis(30));
    }
}
