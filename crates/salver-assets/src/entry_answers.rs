//! Answers of entries that are no file: directories, what is missing, redirects, and what rules say of the request.

use std::sync::Arc;

use bytes::Bytes;
use salver_rules::{BasicAuth, Route};
use salver_semantics::{CacheState, CacheStatus, Method, RequestPath, has_known_extension};

use crate::answer::plan::ResponsePlan;
use crate::answer::status_responses::{self, moved, redirect};
use crate::config::MountMatch;
use crate::engine::{Engine, Now, Step, respond};
use crate::error::LoadError;
use crate::path::{file_name, path_of_key};
use crate::pending::{AskedKey, RequestProgress};
use crate::request::{Access, Request, RequestDetails};
use crate::resource::entry::{CacheEntry, Resource};
use crate::resource::ruling::Ruling;
use crate::resource::tree_rules::RulesInForce;

impl Engine {
    /// How the cache had the entry of an answer.
    #[inline]
    pub(crate) fn cache_state(
        &self,
        entry: &Arc<CacheEntry>,
        progress: RequestProgress,
    ) -> CacheState {
        progress.cache_state(entry, || self.shared.is_cached(&entry.key))
    }

    /// Says in a plan how the cache had the entry that it is of.
    #[inline]
    pub(crate) fn tell_cache(
        &self,
        plan: &mut ResponsePlan,
        entry: &Arc<CacheEntry>,
        now: Now,
        progress: RequestProgress,
    ) {
        let state = self.cache_state(entry, progress);
        plan.cache_state = Some(state);
        if self.config().cache_status {
            self.tell_all(plan, (state, progress.collapsed), entry, now);
        }
    }

    /// Says all that is known of that.
    #[inline(never)]
    pub(crate) fn tell_all(
        &self,
        plan: &mut ResponsePlan,
        (state, collapsed): (CacheState, bool),
        entry: &CacheEntry,
        now: Now,
    ) {
        let since_epoch = self.shared.since_epoch(now.instant);
        let ttl = entry.ttl(since_epoch, self.config().revalidate);
        plan.cache_status = Some(Box::new(CacheStatus {
            state,
            ttl: (state != CacheState::Bypass).then_some(ttl),
            stored: matches!(state, CacheState::Miss | CacheState::Expired),
            // RFC 9211 section 2.7: of a request that was forwarded.
            collapsed: collapsed && !matches!(state, CacheState::Hit | CacheState::Stale),
        }));
    }

    /// Answers from an entry that has no content, and says how the cache had it.
    pub(crate) fn answer_without_file(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        entry: &Arc<CacheEntry>,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let mut step = self.step_without_file(request, path, entry, now, progress);
        if let Step::Respond(plan) = &mut step
            && plan.cache_state.is_none()
        {
            self.tell_cache(plan, entry, now, progress);
        }
        step
    }

    fn step_without_file(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        entry: &CacheEntry,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        if progress.key == AskedKey::Alternative {
            return self.look_up_original(request, path, now, progress);
        }
        let is_fallback = progress.key == AskedKey::Fallback;
        let ruling = entry.rules.ruling.as_ref();
        let plan = match &entry.resource {
            Resource::ByRequest(rules) => {
                return self.answer_by_rules(request, path, rules, now, progress);
            }
            Resource::Listing(listing) => {
                return self.answer_listing(request, path, (entry, listing), now, progress);
            }
            // A directory has no slash of its own at the path that the fallback stands for.
            Resource::Directory if is_fallback => status_responses::not_found(),
            Resource::Directory if !self.hides_directory(path) => {
                redirect(path.as_bytes(), request)
            }
            Resource::Moved(relative) => {
                let (asked, _) = path_of_key(&entry.key);
                let mounts = &self.shared.mounts;
                let mount = mounts.number_of(asked).unwrap_or_default();
                moved(&mounts.path_of(mount, relative), request)
            }
            Resource::Redirect => match ruling.and_then(|ruling| ruling.route.as_ref()) {
                Some(route) => redirect_by(route, request),
                None => status_responses::not_found(),
            },
            Resource::Missing
            | Resource::Directory
            | Resource::Error {
                is_absent: true, ..
            } if !is_fallback && self.falls_back(path) => {
                let progress = RequestProgress {
                    key: AskedKey::Fallback,
                    ..progress
                };
                return match (ruling, self.fallback_of(path)) {
                    // The rules for the path hold for the fallback in its place.
                    (Some(ruling), Some(file)) => {
                        let (key, ruling) = ruling.for_fallback(path.as_bytes(), &file);
                        self.look_up_key(request, path, (key, Some(ruling)), now, progress)
                    }
                    _ => self.look_up(request, path, now, progress),
                };
            }
            Resource::Directory => {
                let progress = RequestProgress {
                    key: AskedKey::Refusal(404),
                    ..progress
                };
                return self.answer_refusal(request, path, 404, now, progress);
            }
            Resource::Error { status, .. } => status_responses::error(*status),
            Resource::Missing | Resource::File(_) | Resource::Negotiated(_) => {
                status_responses::not_found()
            }
        };
        if progress.loads == 0 {
            self.shared.pool.counters.hits.add(1);
        }
        let plan = match ruling {
            Some(ruling) => plan.with_fields(ruling.error_fields()),
            None => plan,
        };
        respond(request, plan)
    }

    /// Answers by what the rules say of this request.
    fn answer_by_rules(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        rules: &RulesInForce,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let Some(details) = request.details else {
            return Step::NeedDetails;
        };
        self.shared.pool.counters.rulings.add(1);
        let field = |name: &str| details.field(name);
        let RequestDetails {
            scheme,
            host,
            method,
            ..
        } = details;
        let asked = salver_rules::Request {
            scheme: *scheme,
            host,
            method,
            query: request.query.as_deref(),
            field: &field,
        };
        let (mut ruling, users) = rules.rule_for(path.as_bytes(), &asked);
        if let (Some(Route::Preflight { fields }), Method::Options) =
            (&ruling.route, request.method)
        {
            let fields = fields.iter().map(|(name, value)| {
                let value = Bytes::copy_from_slice(value.as_bytes());
                ((*name).into(), value)
            });
            return Step::Respond(ResponsePlan::own(204, fields.collect(), Bytes::new()));
        }
        if let Some(users) = users {
            match &details.access {
                Access::Granted(granted) if *granted == users => ruling.is_private = true,
                // Others hold now than those by whom it was granted.
                Access::Unknown | Access::Granted(_) => return Step::NeedAccess(users),
                refused => ruling = refused_by(&ruling, refused, &users),
            }
        }
        if request.method == Method::Options {
            let plan = match ruling.route {
                Some(Route::Deny { status }) => status_responses::error(status),
                _ => status_responses::options(),
            };
            return Step::Respond(plan.with_fields(ruling.error_fields()));
        }
        if let Some(
            route @ Route::Redirect {
                unless_file: false, ..
            },
        ) = &ruling.route
        {
            let plan = redirect_by(route, request).with_fields(ruling.error_fields());
            return respond(request, plan);
        }
        let key = ruling.key_at(path.as_bytes());
        let ruling = Arc::new(ruling);
        // If it has to be begun again, then at the path.
        let progress = RequestProgress {
            key: match progress.key {
                AskedKey::Original => AskedKey::Original,
                _ => AskedKey::Path,
            },
            ..progress
        };
        self.look_up_key(request, path, (&key, Some(&ruling)), now, progress)
    }

    /// Looks up again what a load was too late for. With rules it is the path that tells what that is.
    pub(crate) fn begin_again(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let key = match progress.key {
            AskedKey::Fallback if self.shared.has_rules() => AskedKey::Path,
            AskedKey::PageOfFailure | AskedKey::Alternative => AskedKey::Path,
            key => key,
        };
        self.look_up(request, path, now, RequestProgress { key, ..progress })
    }

    /// Answers a failed load: with a page, if rules for the path have one for that.
    pub(crate) fn answer_failure(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        error: LoadError,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        if progress.key == AskedKey::Alternative {
            return self.look_up_original(request, path, now, progress);
        }
        if let AskedKey::Refusal(status) = progress.key {
            return respond(request, status_responses::refusal(status));
        }
        let plan = status_responses::failed(error);
        let status = plan.status;
        // Where something is wanting, loading a page would take more of it.
        let may_have_page = match error {
            LoadError::Forbidden | LoadError::Failed(_) | LoadError::GivenUp => {
                progress.key != AskedKey::PageOfFailure
            }
            LoadError::Overloaded | LoadError::Unsettled | LoadError::Unavailable(_) => false,
        };
        let ruling = may_have_page.then(|| self.ruling_at(path)).flatten();
        let Some(ruling) = ruling.filter(|ruling| ruling.page(status).is_some()) else {
            return respond(request, plan);
        };
        let ruling = Arc::new(ruling.with_route(Some(Route::Deny { status })));
        let progress = RequestProgress {
            key: AskedKey::PageOfFailure,
            ..progress
        };
        let key = ruling.key_at(path.as_bytes());
        self.look_up_key(request, path, (&key, Some(&ruling)), now, progress)
    }

    /// Answers a request that is refused with this status: with a page, if rules for the path have one for that.
    pub(crate) fn answer_refusal(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        status: u16,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let mounts = &self.shared.mounts;
        let is_within = matches!(mounts.find_mount(path.as_bytes()), MountMatch::Within(..));
        let ruling = is_within.then(|| self.ruling_at(path)).flatten();
        let Some(ruling) = ruling.filter(|ruling| ruling.page(status).is_some()) else {
            return respond(request, status_responses::refusal(status));
        };
        let ruling = Arc::new(match status {
            405 => ruling.refused(405, "allow", status_responses::ALLOWED.to_owned()),
            _ => ruling.with_route(Some(Route::Deny { status })),
        });
        let key = ruling.key_at(path.as_bytes());
        self.look_up_key(request, path, (&key, Some(&ruling)), now, progress)
    }

    /// The ruling for every request for a path, by the rules that were compared last.
    fn ruling_at(&self, path: &RequestPath<'_>) -> Option<Ruling> {
        let shared = &*self.shared;
        let mount = shared.mounts.number_of(path.as_bytes())?;
        let rules = shared.rules(mount)?.latest();
        shared.pool.counters.rulings.add(1);
        rules.rule(path.as_bytes())
    }

    /// True if the fallback of its mount answers for a path at which nothing is.
    pub(crate) fn falls_back(&self, path: &RequestPath<'_>) -> bool {
        !has_known_extension(file_name(path.as_bytes())) && self.fallback_of(path).is_some()
    }

    /// The path of the fallback for what is missing at `path`.
    pub(crate) fn fallback_of(&self, path: &RequestPath<'_>) -> Option<Vec<u8>> {
        if self.exact {
            return None;
        }
        match self.shared.mounts.find_mount(path.as_bytes()) {
            MountMatch::Within(mount, _) => self.shared.mounts.fallback(mount),
            MountMatch::Redirect | MountMatch::Nowhere => None,
        }
    }

    /// True if a directory is as if it were not there: where no name stands for one and none is listed, a redirect to
    /// its slash would only tell that it is there. The program itself is told.
    fn hides_directory(&self, path: &RequestPath<'_>) -> bool {
        let mounts = &self.shared.mounts;
        let is_listed = || {
            let mount = mounts.number_of(path.as_bytes());
            let mount = mount.and_then(|number| mounts.get(number));
            mount.is_some_and(|mount| mount.listing().is_some())
        };
        !self.exact && self.config().index.is_empty() && !is_listed()
    }

    /// True if rules, listings or alternatives may ask for the [details](Request::details) of a request: a request that
    /// has to wait for a load takes them along then.
    pub fn may_need_details(&self) -> bool {
        self.shared.has_rules() || self.negotiates() || self.mounts().have_listings()
    }

    /// True if files may have alternatives.
    pub(crate) fn negotiates(&self) -> bool {
        !self.config().negotiate.is_empty()
    }

    /// True if rules of the configuration ask for fields of requests, or alternatives and listings for their Accept.
    /// Rules of [conventions](crate::Conventions) ask for the host at most.
    pub fn reads_request_fields(&self) -> bool {
        let mounts = self.mounts();
        let mut rules = mounts.iter().filter_map(|(_, mount)| mount.rules());
        self.negotiates()
            || mounts.have_listings()
            || rules.any(|rules| rules.reads_request_fields())
    }
}

/// The ruling for a request that is refused.
fn refused_by(ruling: &Ruling, access: &Access, users: &BasicAuth) -> Ruling {
    let retry_after = |seconds: u64| seconds.to_string();
    match access {
        Access::Limited { seconds } => ruling.refused(429, "retry-after", retry_after(*seconds)),
        Access::Overloaded => ruling.refused(503, "retry-after", retry_after(1)),
        Access::Unsupported => ruling.with_route(Some(Route::Deny { status: 403 })),
        Access::Denied | Access::Unknown | Access::Granted(_) => {
            ruling.refused(401, "www-authenticate", challenge(&users.realm))
        }
    }
}

/// The challenge of RFC 7617 section 2. The realm is a quoted string (RFC 9110 section 5.6.4).
fn challenge(realm: &str) -> String {
    let mut challenge = String::from("Basic realm=\"");
    for character in realm.chars() {
        match character {
            '"' | '\\' => challenge.extend(['\\', character]),
            ' '..='~' => challenge.push(character),
            _ => challenge.push('?'),
        }
    }
    challenge.push_str("\", charset=\"UTF-8\"");
    challenge
}

/// The redirect of a rule.
fn redirect_by(route: &Route, request: &Request<'_>) -> ResponsePlan {
    let Route::Redirect {
        status, location, ..
    } = route
    else {
        return status_responses::not_found();
    };
    match location.for_query(request.query.as_deref()) {
        Some(location) => status_responses::redirect_to(*status, location),
        None => status_responses::error(414),
    }
}
