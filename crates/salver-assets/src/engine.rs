//! The steps from a request to a plan, in order.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use salver_semantics::{AcceptEncoding, HttpDate, has_known_extension};

use crate::answer::{Decision, answer};
use crate::coalesce::{Joined, Waiter};
use crate::config::{Config, ConfigError, Place};
use crate::counters::Statistics;
use crate::load::{Landed, Load, Outcome, Previous};
use crate::path::{PathError, RequestPath, encode_path, encode_query, file_name, is_hidden};
use crate::plan::{Content, ResponsePlan};
use crate::policy::Key;
use crate::request::{Method, Request};
use crate::resource::{Entry, Resource, Standing};
use crate::shared::Shared;
use crate::source::Opened;

/// The methods that are answered, for `Allow` (RFC 9110 section 10.2.1).
const ALLOWED: &[u8] = b"GET, HEAD, OPTIONS";

/// A request is answered after at most so many loads; each but the last was overtaken by a change.
const MOST_LOADS: u8 = 8;

/// The time as the driver sees it.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// For ages.
    pub instant: Instant,
    /// For dates: what the answer's `Date` will say.
    pub date: HttpDate,
}

/// Decides how requests are answered; cheap to clone, all clones are one engine.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// What to do next for a request.
pub enum Step {
    /// Carry this out.
    Respond(ResponsePlan),
    /// See that this load is performed and [finished](Engine::finish) - whatever becomes of the
    /// request -, await the [`Pending`] and [resume](Engine::resume).
    Load(Load, Pending),
    /// Somebody else's load will do: await and [resume](Engine::resume).
    Wait(Pending),
}

/// A request's place in a queue for a load; may be dropped at any time.
pub struct Pending {
    waiter: Waiter<Landed>,
    progress: Progress,
}

/// What a [`Pending`] resolves to.
pub struct Arrived {
    landed: Landed,
    progress: Progress,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Whether the fallback is asked for instead of the path, which is unknown.
    fallback: bool,
    loads: u8,
}

impl Future for Pending {
    type Output = Arrived;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Arrived> {
        let progress = self.progress;
        Pin::new(&mut self.waiter)
            .poll(context)
            .map(|landed| Arrived { landed, progress })
    }
}

impl Engine {
    /// Validates the configuration; touches no file.
    ///
    /// # Errors
    /// Which setting cannot be used, and why.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Engine {
            shared: Arc::new(Shared::new(config, Instant::now())?),
        })
    }

    /// The first step for a request. Never waits, never does I/O; allocates nothing and takes no
    /// lock if the answer is cached.
    pub fn begin(&self, request: &Request<'_>, now: Now) -> Step {
        let plan = match request.method {
            Method::Get | Method::Head => {
                return self.parse_and_ask(request, |engine, path| {
                    engine.ask(
                        request,
                        path,
                        now,
                        Progress {
                            fallback: false,
                            loads: 0,
                        },
                    )
                });
            }
            Method::Options => ResponsePlan::made(
                200,
                vec![
                    ("Allow", Bytes::from_static(ALLOWED)),
                    ("Content-Length", Bytes::from_static(b"0")),
                ],
                Content::Empty,
            ),
            Method::NotAllowed => ResponsePlan::error(
                405,
                "Method Not Allowed",
                vec![("Allow", Bytes::from_static(ALLOWED))],
            ),
            Method::NotImplemented => ResponsePlan::error(501, "Not Implemented", vec![]),
        };
        respond(request, plan)
    }

    /// The next step after a load that the request waited for.
    pub fn resume(&self, request: &Request<'_>, arrived: Arrived, now: Now) -> Step {
        let Arrived { landed, progress } = arrived;
        match landed {
            Landed::Failed(error) => {
                let (status, retry_after) = error.status();
                let after =
                    |seconds: &'static str| ("Retry-After", Bytes::from_static(seconds.as_bytes()));
                let more = retry_after.map(after).into_iter().collect();
                let text = match status {
                    403 => "Forbidden",
                    503 => "Service Unavailable",
                    _ => "Internal Server Error",
                };
                respond(request, ResponsePlan::error(status, text, more))
            }
            Landed::Ready { entry, opened } => self.parse_and_ask(request, |engine, path| {
                engine.use_entry(request, path, &entry, opened.as_deref(), now, progress)
            }),
        }
    }

    /// Takes the outcome of a load: keeps what is to be kept, and wakes who waits.
    pub fn finish(&self, load: Load, outcome: Outcome) {
        let shared = &*self.shared;
        let Outcome { landed, began } = outcome;
        shared.counters.loads.add(1);
        if let Landed::Ready { entry, .. } = &landed {
            let confirmed = load
                .previous
                .as_ref()
                .is_some_and(|previous| Arc::ptr_eq(&previous.entry, entry));
            if confirmed {
                entry.confirm(began);
                shared.counters.revalidations.add(1);
            } else if shared.config.cache {
                shared
                    .memory
                    .insert(Arc::clone(entry), &shared.counters.evictions);
            }
        }
        // The look is over before anybody is told of it.
        drop(load.previous);
        load.ticket.land(landed);
    }

    /// Counters and what the cache holds.
    pub fn statistics(&self) -> Statistics {
        let counters = &self.shared.counters;
        let (entries, bytes) = self.shared.memory.size();
        Statistics {
            hits: counters.hits.get(),
            misses: counters.misses.get(),
            coalesced: counters.coalesced.get(),
            loads: counters.loads.get(),
            revalidations: counters.revalidations.get(),
            evictions: counters.evictions.get(),
            bytes_loaded: counters.bytes_loaded.get(),
            entries: u64::try_from(entries).unwrap_or(u64::MAX),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        }
    }

    /// Lets go of everything that is cached.
    pub fn clear(&self) {
        self.shared.memory.clear();
    }

    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    pub(crate) fn mounts(&self) -> &crate::config::Mounts {
        &self.shared.mounts
    }

    fn parse_and_ask(
        &self,
        request: &Request<'_>,
        ask: impl FnOnce(&Self, &RequestPath<'_>) -> Step,
    ) -> Step {
        let path = match RequestPath::parse(&request.path) {
            Ok(path) => path,
            Err(error) => {
                let plan = match error {
                    PathError::EncodedSlash => not_found(),
                    PathError::NotAbsolute
                    | PathError::BadEscape
                    | PathError::Nul
                    | PathError::AboveRoot => {
                        ResponsePlan::error(400, "Bad Request: the path is malformed", vec![])
                    }
                };
                return respond(request, plan);
            }
        };
        if path.has_dot_segment()
            && !self.shared.config.dotfiles
            && let Place::Within(_, relative) = self.shared.mounts.place(path.as_bytes())
            && is_hidden(&relative)
        {
            return respond(request, not_found());
        }
        ask(self, &path)
    }

    /// From the cache if it may be used, else by a load.
    fn ask(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        now: Now,
        progress: Progress,
    ) -> Step {
        let shared = &*self.shared;
        let fallback;
        let key = if progress.fallback {
            fallback = self.fallback_of(path);
            match &fallback {
                Some(key) => &**key,
                None => return respond(request, not_found()),
            }
        } else {
            path.as_bytes()
        };
        if !shared.config.cache {
            return self.load(request, path, key, None, progress);
        }
        let Some(entry) = shared.memory.get(key) else {
            return self.load(request, path, key, None, progress);
        };
        let announced =
            match entry.standing(shared.since_epoch(now.instant), shared.config.revalidate) {
                Standing::Use => {
                    return self.use_entry(request, path, &entry, None, now, progress);
                }
                Standing::Check => true,
                Standing::Wait => false,
            };
        self.load(
            request,
            path,
            key,
            Some(Previous { entry, announced }),
            progress,
        )
    }

    /// Answers from an entry, which is fresh or has just been loaded.
    fn use_entry(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        entry: &Arc<Entry>,
        opened: Option<&(usize, Opened)>,
        now: Now,
        progress: Progress,
    ) -> Step {
        entry.touch();
        let step = match &entry.resource {
            Resource::Directory => respond(request, redirect(path.as_bytes(), request)),
            Resource::Missing if progress.fallback => respond(request, not_found()),
            Resource::Missing => {
                let name = file_name(path.as_bytes());
                let fallback = self
                    .fallback_of(path)
                    .filter(|_| !has_known_extension(name));
                if fallback.is_some() {
                    let progress = Progress {
                        fallback: true,
                        ..progress
                    };
                    return self.ask(request, path, now, progress);
                }
                respond(request, not_found())
            }
            Resource::File(offer) => match answer(request, offer, opened, now.date) {
                Decision::Respond(plan) => Step::Respond(plan),
                Decision::NeedContent => {
                    let previous = Previous {
                        entry: Arc::clone(entry),
                        announced: false,
                    };
                    return self.load(request, path, &entry.key, Some(previous), progress);
                }
            },
        };
        if progress.loads == 0 {
            self.shared.counters.hits.add(1);
        }
        step
    }

    /// Begins a load, or joins one that is under way.
    fn load(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        key: &[u8],
        previous: Option<Previous>,
        progress: Progress,
    ) -> Step {
        let shared = &*self.shared;
        let (mount, relative) = match shared.mounts.place(key) {
            Place::Within(mount, relative) => (mount, relative),
            Place::Redirect => return respond(request, redirect(path.as_bytes(), request)),
            Place::Nowhere => return respond(request, not_found()),
        };
        if progress.loads == MOST_LOADS {
            let more = vec![("Retry-After", Bytes::from_static(b"1"))];
            return respond(
                request,
                ResponsePlan::error(503, "Service Unavailable", more),
            );
        }
        if progress.loads == 0 {
            shared.counters.misses.add(1);
        }
        let progress = Progress {
            loads: progress.loads + 1,
            ..progress
        };
        let ticket = if shared.config.coalesce {
            match shared.flights.join(key) {
                Joined::First(ticket) => ticket,
                Joined::Later(waiter) => {
                    shared.counters.coalesced.add(1);
                    return Step::Wait(Pending { waiter, progress });
                }
            }
        } else {
            shared.flights.alone(Key::from(key))
        };
        let pending = Pending {
            waiter: ticket.waiter(),
            progress,
        };
        let wanted = (request.method == Method::Get)
            .then(|| AcceptEncoding::parse(request.fields.accept_encoding.as_deref()));
        let load = Load {
            shared: Arc::clone(&self.shared),
            ticket,
            key: Key::from(key),
            mount,
            relative,
            previous,
            wanted,
        };
        Step::Load(load, pending)
    }

    fn fallback_of(&self, path: &RequestPath<'_>) -> Option<Vec<u8>> {
        match self.shared.mounts.place(path.as_bytes()) {
            Place::Within(mount, _) => self.shared.mounts.fallback(mount),
            Place::Redirect | Place::Nowhere => None,
        }
    }
}

fn respond(request: &Request<'_>, plan: ResponsePlan) -> Step {
    Step::Respond(match request.method {
        Method::Head => plan.without_content(),
        _ => plan,
    })
}

fn not_found() -> ResponsePlan {
    ResponsePlan::error(404, "Not Found", vec![])
}

/// To the same path with its slash, as a path-absolute reference (RFC 3986 section 4.2): never to
/// another host. 308 keeps the method (RFC 9110 section 15.4.9).
fn redirect(path: &[u8], request: &Request<'_>) -> ResponsePlan {
    let mut location = String::with_capacity(path.len() + 1);
    encode_path(path, &mut location);
    location.push('/');
    if let Some(query) = &request.query {
        location.push('?');
        encode_query(query, &mut location);
    }
    ResponsePlan::error(
        308,
        "Permanent Redirect",
        vec![("Location", location.into())],
    )
}
