//! The stores that are served, as deploys over the network reach them.
//!
//! ```text
//! begin ──► content (the manifest) ──► examine ──► content (what is missing) ──► commit
//!                                        │                                        │
//!                                        └──────────── on a thread ───────────────┘
//! ```
//!
//! What may take long is done on a thread of its own, and asked about. There are a few deploys at a time; what came of one
//! that was given up stays in the store, and whoever begins it anew goes on with that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::StatusCode;
use salver_admin::{DeployOrder, DeployRefusal, Deploys, PreviewOrder};
use salver_config::values::is_url;
use salver_store::{
    BlobDigest, DeployLimits, Deployed, Error, Event, ExpectedCurrent, NewPreview, Preview,
    PreviewName, ReleaseId, ReleaseRole, RemoteDeploy, Store, Writer,
};
use serde_json::{Value, json};

use super::served::Current;
use crate::releases::ServedStore;
use crate::reports::{DeployReport, ReleaseList, RollbackReport};

/// The deploys that may be under way at a time.
const MOST: usize = 8;

/// The time after which a deploy that nobody asks about makes room for another.
const IDLE: Duration = Duration::from_mins(10);

/// The blobs that one answer names as missing.
const PAGE: usize = 1000;

/// The deploys to the stores of a server.
pub(crate) struct StoreDeploys {
    current: Arc<Current>,
    limits: DeployLimits,
    /// Tells the deploys of this process from those of the one before.
    begun: u128,
    next: AtomicU64,
    deploys: Mutex<Vec<Arc<Deploy>>>,
    /// Held by who changes a store, so that others here wait for it instead of being turned away.
    changes: Arc<Mutex<()>>,
    /// Held by who makes codings.
    coding: Arc<Mutex<()>>,
}

/// A deploy that is under way, or has ended.
struct Deploy {
    id: String,
    remote: RemoteDeploy,
    served: ServedStore,
    by: String,
    stage: Mutex<Stage>,
    used: Mutex<Instant>,
    /// The bytes that the work on a thread has done, and that it has to do.
    progress: [AtomicU64; 2],
}

/// How far a deploy is.
#[derive(Clone, Debug)]
enum Stage {
    /// It takes content.
    Receiving,
    /// The store is compared with the manifest.
    Examining,
    /// Codings are made.
    Coding,
    /// It becomes current.
    Committing,
    /// It has ended.
    Ended(Result<DeployReport, DeployRefusal>),
}

impl StoreDeploys {
    pub(crate) fn new(current: Arc<Current>, limits: DeployLimits) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        StoreDeploys {
            current,
            limits,
            begun: since.unwrap_or_default().as_nanos(),
            next: AtomicU64::new(1),
            deploys: Mutex::default(),
            changes: Arc::default(),
            coding: Arc::default(),
        }
    }

    /// The store of a site, which is made if there is none.
    fn store(&self, site: Option<&str>) -> Result<(ServedStore, Store), DeployRefusal> {
        let served = self.served(site)?;
        let store = Store::open_or_create(&served.path).map_err(|error| refusal(&error))?;
        Ok((served, store))
    }

    fn served(&self, site: Option<&str>) -> Result<ServedStore, DeployRefusal> {
        let stores = self.current.stores();
        let names = || {
            let names: Vec<&str> = stores.iter().map(|store| &*store.name).collect();
            names.join(", ")
        };
        let found = match (site, &*stores) {
            (_, []) => {
                let message = "no site here is served from a store: start the server with --store";
                return Err(refused(StatusCode::NOT_FOUND, message));
            }
            (None, [only]) => Some(only),
            (None, _) => {
                let message = format!("which site? give one of {}", names());
                return Err(refused(StatusCode::BAD_REQUEST, &message));
            }
            (Some(site), _) => {
                let mut stores = stores.iter();
                stores.find(|store| store.name.eq_ignore_ascii_case(site))
            }
        };
        if let Some(served) = found
            && is_url(served.path.as_os_str())
        {
            let url = served.path.display();
            let message = format!(
                "the store is a bucket, which is worked on by itself: `salver deploy DIR --to {url}` and its kin"
            );
            return Err(refused(StatusCode::UNPROCESSABLE_ENTITY, &message));
        }
        found.cloned().ok_or_else(|| {
            let site = site.unwrap_or_default().escape_debug();
            let message = format!(
                "{site} is no site with a store here: give one of {}",
                names()
            );
            refused(StatusCode::NOT_FOUND, &message)
        })
    }

    fn begin(
        &self,
        site: Option<&str>,
        (manifest, length): (&str, u64),
        by: String,
    ) -> Result<Value, DeployRefusal> {
        let manifest = BlobDigest::parse(manifest)
            .ok_or_else(|| refused(StatusCode::BAD_REQUEST, "manifest is no SHA-256"))?;
        let (served, store) = self.store(site)?;
        let current = store.current().map_err(|error| refusal(&error))?;
        let remote = RemoteDeploy::begin(store, (manifest, length), self.limits, SystemTime::now());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let deploy = Deploy {
            id: format!("{:x}-{number}", self.begun),
            remote: remote.map_err(|error| refusal(&error))?,
            served,
            by,
            stage: Mutex::new(Stage::Receiving),
            used: Mutex::new(Instant::now()),
            progress: Default::default(),
        };
        let begun = json!({ "deploy": deploy.id, "current": current.map(|id| id.to_string()) });
        let mut deploys = self.hold();
        deploys.retain(|deploy| !deploy.is_given_up());
        if deploys.len() >= MOST {
            // The longest ended makes room.
            let ended = deploys.iter().position(|deploy| deploy.has_ended());
            let Some(ended) = ended else {
                let message = format!("{MOST} deploys are under way: try again when one has ended");
                return Err(refused(StatusCode::SERVICE_UNAVAILABLE, &message));
            };
            deploys.remove(ended);
        }
        deploys.push(Arc::new(deploy));
        Ok(begun)
    }

    fn find(&self, id: &str) -> Result<Arc<Deploy>, DeployRefusal> {
        let deploys = self.hold();
        let found = deploys.iter().find(|deploy| deploy.id == id);
        let found = found.ok_or_else(|| {
            refused(
                StatusCode::NOT_FOUND,
                "there is no such deploy: begin it anew",
            )
        })?;
        *held(&found.used) = Instant::now();
        Ok(Arc::clone(found))
    }

    fn commit(
        &self,
        id: &str,
        role: ReleaseRole,
        waits_for_codings: bool,
    ) -> Result<Value, DeployRefusal> {
        let deploy = self.find(id)?;
        let changes = Arc::clone(&self.changes);
        let coding = Arc::clone(&self.coding);
        let stage = match waits_for_codings {
            true => Stage::Coding,
            false => Stage::Committing,
        };
        deploy.start(stage, move |deploy| {
            if waits_for_codings {
                // One at a time: encoders take what cores and memory there are.
                let _alone = held(&coding);
                let listen = &mut |event: Event<'_>| deploy.listen(event);
                deploy.remote.make_codings(coding_threads(), listen)?;
                *held(&deploy.stage) = Stage::Committing;
            }
            let _alone = held(&changes);
            let finished = deploy.remote.finish(&role, &deploy.by, SystemTime::now());
            finished.map(|deployed| Some(deploy.report(&deployed)))
        })?;
        Ok(deploy.status())
    }

    fn rollback(
        &self,
        site: Option<&str>,
        release: Option<&str>,
        by: &str,
    ) -> Result<Value, DeployRefusal> {
        let path = self.served(site)?.path;
        let _alone = held(&self.changes);
        let roll_back = || -> Result<RollbackReport, Error> {
            let store = Store::open(&path)?;
            let id = release.map(|id| store.find(id)).transpose()?;
            let previous = store.current().ok().flatten();
            let mut writer = Writer::lock(&store, "rollback")?;
            let now = writer.rollback(id.as_ref(), by, SystemTime::now())?;
            Ok(RollbackReport {
                release: now.to_string(),
                previous: previous.map(|id| id.to_string()),
            })
        };
        let report = roll_back().map_err(|error| refusal(&error))?;
        let by = by.escape_debug();
        tracing::info!(
            "admin: {} is current, by a rollback of {by}",
            report.release
        );
        to_json(&report)
    }

    fn hold(&self) -> MutexGuard<'_, Vec<Arc<Deploy>>> {
        held(&self.deploys)
    }
}

impl Deploys for StoreDeploys {
    fn carry_out(&self, order: DeployOrder, content: &Bytes) -> Result<Value, DeployRefusal> {
        match order {
            DeployOrder::Begin {
                site,
                manifest,
                length,
                by,
            } => self.begin(site.as_deref(), (&manifest, length), by),
            DeployOrder::Status(id) => Ok(self.find(&id)?.status()),
            DeployOrder::Missing { deploy, after } => {
                let after = after.as_deref().and_then(BlobDigest::parse);
                Ok(self.find(&deploy)?.missing(after.as_ref()))
            }
            DeployOrder::Content(id) => {
                let deploy = self.find(&id)?;
                let received = deploy.remote.receive(content);
                received.map_err(|error| refusal(&error))?;
                Ok(json!({}))
            }
            DeployOrder::Examine(id) => {
                let deploy = self.find(&id)?;
                deploy.start(Stage::Examining, |deploy| {
                    let examined = deploy.remote.examine(&mut |event| deploy.listen(event));
                    examined.map(|()| None)
                })?;
                Ok(deploy.status())
            }
            DeployOrder::Commit {
                deploy,
                expected,
                preview,
                waits_for_codings,
            } => {
                let role = role(expected.as_deref(), preview)?;
                self.commit(&deploy, role, waits_for_codings)
            }
            DeployOrder::Releases { site } => {
                let store = Store::open(&self.served(site.as_deref())?.path);
                let list = store.and_then(|store| ReleaseList::of(&store));
                to_json(&list.map_err(|error| refusal(&error))?)
            }
            DeployOrder::Rollback { site, release, by } => {
                self.rollback(site.as_deref(), release.as_deref(), &by)
            }
        }
    }
}

impl Deploy {
    /// Does work on a thread of its own, behind those that serve; it ends the deploy if it fails or gives a report.
    fn start(
        self: &Arc<Self>,
        stage: Stage,
        work: impl FnOnce(&Deploy) -> Result<Option<DeployReport>, Error> + Send + 'static,
    ) -> Result<(), DeployRefusal> {
        {
            let mut now = held(&self.stage);
            if !matches!(*now, Stage::Receiving) {
                let message = "this deploy is at work, or has ended: ask how far it is";
                return Err(refused(StatusCode::CONFLICT, message));
            }
            *now = stage;
        }
        for counter in &self.progress {
            counter.store(0, Ordering::Relaxed);
        }
        let deploy = Arc::clone(self);
        let run = move || {
            salver_store::run_behind_others();
            let work = std::panic::AssertUnwindSafe(|| work(&deploy));
            let worked = std::panic::catch_unwind(work);
            *held(&deploy.stage) = match worked {
                Ok(Ok(None)) => Stage::Receiving,
                Ok(Ok(Some(report))) => Stage::Ended(Ok(report)),
                Ok(Err(error)) => {
                    tracing::warn!("admin: a deploy failed: {error}");
                    Stage::Ended(Err(refusal(&error)))
                }
                Err(_) => {
                    let message = "a thread panicked: nothing was switched";
                    Stage::Ended(Err(refused(StatusCode::INTERNAL_SERVER_ERROR, message)))
                }
            };
        };
        let thread = std::thread::Builder::new().name("salver-deploy".to_owned());
        if let Err(error) = thread.spawn(run) {
            *held(&self.stage) = Stage::Receiving;
            let message = format!("the system has no thread for it: {error}");
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE, &message));
        }
        Ok(())
    }

    /// The report of its end, which the log has in a line, too.
    fn report(&self, deployed: &Deployed) -> DeployReport {
        let (id, by) = (&deployed.id, self.by.escape_debug());
        let name = match (&deployed.preview, deployed.is_unchanged) {
            (Some(Preview { name, .. }), _) => {
                tracing::info!("admin: {id} is the preview {name}, deployed by {by}");
                name.as_str()
            }
            (None, is_unchanged) => {
                match is_unchanged {
                    true => tracing::info!("admin: {id} stays current, {by} deployed the same"),
                    false => tracing::info!("admin: {id} is current, deployed by {by}"),
                }
                id.as_str()
            }
        };
        DeployReport {
            addresses: self.served.addresses(name),
            ..DeployReport::from(deployed)
        }
    }

    /// Counts what work has done.
    fn listen(&self, event: Event<'_>) -> bool {
        let [done, expected] = &self.progress;
        match event {
            Event::Expected(bytes) => expected.fetch_add(bytes, Ordering::Relaxed),
            Event::Done(bytes) => done.fetch_add(bytes, Ordering::Relaxed),
            Event::Note(_) => 0,
        };
        true
    }

    fn status(&self) -> Value {
        let [done, expected] = &self.progress;
        let stage = held(&self.stage).clone();
        let (state, result, refusal) = match &stage {
            Stage::Receiving => ("receiving", None, None),
            Stage::Examining => ("examining", None, None),
            Stage::Coding => ("coding", None, None),
            Stage::Committing => ("committing", None, None),
            Stage::Ended(Ok(report)) => ("done", Some(report), None),
            Stage::Ended(Err(refusal)) => ("failed", None, Some(refusal)),
        };
        json!({
            "state": state,
            "done": done.load(Ordering::Relaxed),
            "expected": expected.load(Ordering::Relaxed),
            "result": result,
            "status": refusal.map(|refusal| refusal.status.as_u16()),
            "error": refusal.map(|refusal| &refusal.message),
        })
    }

    fn missing(&self, after: Option<&BlobDigest>) -> Value {
        let mut missing = self.remote.missing(after, PAGE + 1);
        let has_more = missing.len() > PAGE;
        missing.truncate(PAGE);
        let all = missing.iter().map(|one| {
            json!({
                "blob": one.blob.to_string(),
                "length": one.length,
                "received": one.received,
            })
        });
        json!({ "missing": all.collect::<Vec<_>>(), "more": has_more })
    }

    fn has_ended(&self) -> bool {
        matches!(*held(&self.stage), Stage::Ended(_))
    }

    /// True if nobody has asked about it for long, and nothing is done for it.
    fn is_given_up(&self) -> bool {
        let is_idle = held(&self.used).elapsed() > IDLE;
        is_idle && matches!(*held(&self.stage), Stage::Ended(_) | Stage::Receiving)
    }
}

/// The role of a release that is ordered: to be current in the place of an expected one, or a preview.
fn role(
    expected: Option<&str>,
    preview: Option<PreviewOrder>,
) -> Result<ReleaseRole, DeployRefusal> {
    let wrong = |message| refused(StatusCode::BAD_REQUEST, message);
    if let Some(PreviewOrder {
        name,
        expires_after,
    }) = preview
    {
        let name = PreviewName::parse(&name);
        return Ok(ReleaseRole::Preview(NewPreview {
            name: name.ok_or_else(|| wrong("preview is no name of a preview"))?,
            expires_after,
        }));
    }
    Ok(ReleaseRole::Current(match expected {
        None => ExpectedCurrent::Any,
        Some("-") => ExpectedCurrent::Nothing,
        Some(id) => {
            let id = ReleaseId::parse(id);
            ExpectedCurrent::Release(id.ok_or_else(|| wrong("expected is no name of a release"))?)
        }
    }))
}

/// The threads that make codings: half of the cores, behind the threads that serve.
fn coding_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// Locks, whatever happened to who locked before.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(status: StatusCode, message: &str) -> DeployRefusal {
    DeployRefusal {
        status,
        message: message.to_owned(),
    }
}

/// An error of a store as a response.
fn refusal(error: &Error) -> DeployRefusal {
    let status = match error {
        Error::Misused(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Busy(_) => StatusCode::CONFLICT,
        Error::Overtaken(_) => StatusCode::PRECONDITION_FAILED,
        Error::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Error::Io(_, error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
            ) =>
        {
            StatusCode::INSUFFICIENT_STORAGE
        }
        Error::Io(..) | Error::Damaged(_) | Error::Stopped => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refused(status, &error.to_string())
}

fn to_json(value: &impl serde::Serialize) -> Result<Value, DeployRefusal> {
    serde_json::to_value(value)
        .map_err(|error| refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()))
}
