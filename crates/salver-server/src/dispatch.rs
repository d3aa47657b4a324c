//! Dispatching a request to a guard, the engine or a handler, for every protocol. Loads that have to wait for a disk
//! go to the loader.
//!
//! ```text
//!            no guard, answered ───────────────────────────────────────► Plan
//! request ──►    │ guarded                                               ▲
//!                ▼              it proceeds            404, or not read  │ it proceeds
//!              guard ─────────────────────────► files ──────────────► handler
//!                └───── its reply: a response, or a file ◄───────────────┘
//! ```

mod head;
mod pending_request;

use std::borrow::Cow;
use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use salver_assets::{
    EngineReply, Method, Now, Pending, Request, RequestDetails, RequestPath, ResponsePlan,
};

pub(crate) use self::head::{engine_request, scheme};
use crate::context::WorkerContext;
use crate::dispatch::pending_request::{
    HandlerRequest, PendingRequest, ask_engine, check, handler_failed, is_get_or_head, overtaken,
    too_many_pending, unreadable,
};
use crate::handler::{
    Answer, ContentWatch, Handler, HandlerCall, Handlers, RequestBody, WholeAnswer, for_next,
    whole_or_planned,
};
use crate::passwords::Verdict;
use crate::pending_limit::with_timeout;
use crate::release_addresses;
use crate::seats::Seat;
use crate::sites::{Destination, FoundSite, ServedRelease, ServedSite};

/// The answer to a request that is refused before the engine is asked, by its method as far as that is known.
pub(crate) fn error_plan(status: u16, text: &str, method: Option<Method>) -> ResponsePlan {
    let plan = ResponsePlan::error(status, text, vec![]);
    match method {
        Some(method) => plan.for_method(method),
        None => plan,
    }
}

/// The answer to a request that was dispatched.
pub(crate) enum Dispatched {
    /// The plan of the answer.
    Ready(ResponsePlan),
    /// The answer of a handler, of which no plan has been made.
    Whole(WholeAnswer),
    /// The plan waits for a load or a handler.
    Pending(PendingPlan),
}

impl Dispatched {
    /// The plan, or what waits for it.
    pub(crate) fn planned(self) -> Result<ResponsePlan, PendingPlan> {
        match self {
            Dispatched::Ready(plan) => Ok(plan),
            Dispatched::Whole(whole) => Ok(whole.into_plan()),
            Dispatched::Pending(plan) => Err(plan),
        }
    }
}

/// An answer that waits for a load or a handler.
pub(crate) type PendingPlan = Pin<Box<dyn Future<Output = Answer>>>;

/// The memory of a request whose answer is awaited, besides its own and that of the work, in bytes: what the loader
/// keeps of it.
const PENDING_OVERHEAD: usize = 1024;

/// Dispatches a request. Loads that do not have to wait are performed here. `to_http_request` is called only if a
/// handler may be asked, with the path if the target is one, `to_details` only if rules may ask for them, and
/// `destination` only if there are several sites. With the `context` of the task a handler may answer at once, for which
/// nothing of the request has to be kept.
#[inline]
pub(crate) fn dispatch<'d>(
    shared: &Rc<WorkerContext>,
    seat: &Seat,
    request: &Request<'_>,
    to_http_request: impl FnOnce(Option<&RequestPath<'_>>) -> HandlerRequest,
    to_details: impl Fn() -> RequestDetails,
    destination: impl FnOnce() -> Destination<'d>,
    (context, now): (Option<&mut Context<'_>>, Now),
) -> Dispatched {
    let common = &*shared.common;
    let site = match common
        .sites
        .find(destination, &request.path, common.settings.tls())
    {
        Ok(FoundSite::Site(site)) => site,
        Ok(FoundSite::Release(release)) => {
            let ask = |site: &ServedSite, request: &Request<'_>| {
                dispatch_at(
                    shared,
                    seat,
                    site,
                    request,
                    to_http_request,
                    to_details,
                    (context, now),
                )
            };
            return to_release(&release, request, ask);
        }
        Err(refusal) => {
            return Dispatched::Ready(refusal.plan().for_method(request.method));
        }
    };
    dispatch_at(
        shared,
        seat,
        site,
        request,
        to_http_request,
        to_details,
        (context, now),
    )
}

/// Dispatches a request for a release: by `ask`, as one for a site, with the path within the release.
#[inline(never)]
fn to_release(
    release: &ServedRelease,
    request: &Request<'_>,
    ask: impl FnOnce(&ServedSite, &Request<'_>) -> Dispatched,
) -> Dispatched {
    let answer = |plan: ResponsePlan| {
        let mut plan = plan.for_method(request.method);
        release.site.mark(&mut plan);
        Dispatched::Ready(plan)
    };
    if !release.is_known {
        return answer(release_addresses::unknown());
    }
    if release.prefix == 0 {
        return ask(&release.site, request);
    }
    let (prefix, path) = request
        .path
        .split_at_checked(release.prefix)
        .unwrap_or_default();
    if path.is_empty() {
        return answer(release_addresses::with_slash(
            prefix,
            request.query.as_deref(),
        ));
    }
    let within = Request {
        path: Cow::Borrowed(path),
        ..request.clone()
    };
    match ask(&release.site, &within).planned() {
        Ok(plan) => Dispatched::Ready(release_addresses::within(prefix, plan)),
        Err(plan) => {
            let prefix = prefix.to_vec();
            Dispatched::Pending(Box::pin(async move {
                let mut answer = plan.await;
                answer.plan = release_addresses::within(&prefix, answer.plan);
                answer
            }))
        }
    }
}

/// Dispatches a request for a site, as [`dispatch`] says.
// Releases have one of their own: for a second caller alone, the compiler would call what nearly all requests take.
#[inline(always)]
fn dispatch_at(
    shared: &Rc<WorkerContext>,
    seat: &Seat,
    site: &ServedSite,
    request: &Request<'_>,
    to_http_request: impl FnOnce(Option<&RequestPath<'_>>) -> HandlerRequest,
    to_details: impl Fn() -> RequestDetails,
    (context, now): (Option<&mut Context<'_>>, Now),
) -> Dispatched {
    let mut asked = Asked {
        shared,
        site,
        seat,
        request,
        handlers: None,
        time: None,
        context,
    };
    if shared.common.has_handlers {
        return asked.beside_handlers(to_http_request, to_details, now);
    }
    match ask_engine(shared, &site.engine, request, now) {
        EngineReply::Ready(mut plan) => {
            site.mark(&mut plan);
            Dispatched::Ready(plan)
        }
        reply => asked.not_ready(reply, || None, to_details, now),
    }
}

/// A request that the engine was asked about.
struct Asked<'a, 'c> {
    shared: &'a Rc<WorkerContext>,
    site: &'a ServedSite,
    seat: &'a Seat,
    request: &'a Request<'a>,
    /// The handlers that may be asked about it.
    handlers: Option<&'a Handlers>,
    /// Their time limit, if it is not that of all answers.
    time: Option<Duration>,
    /// The context of the task, if a handler may answer at once.
    context: Option<&'a mut Context<'c>>,
}

impl Asked<'_, '_> {
    /// The answer where there are handlers, which may be asked first or last.
    #[inline(never)]
    fn beside_handlers(
        &mut self,
        to_http_request: impl FnOnce(Option<&RequestPath<'_>>) -> HandlerRequest,
        to_details: impl Fn() -> RequestDetails,
        now: Now,
    ) -> Dispatched {
        let handlers = &*self.shared.common.handlers;
        let path = RequestPath::parse(&self.request.path).ok();
        let path = path.as_ref();
        self.handlers = is_for_handlers(self.request, path).then_some(handlers);
        let known = self.handlers.zip(path);
        self.time = known.and_then(|(handlers, path)| handlers.time_limit(path));
        if let Some(guard) = known.and_then(|(handlers, path)| handlers.guard(path)) {
            let mut http_request = to_http_request(path);
            let Some(known) = &http_request else {
                return self.marked(unreadable());
            };
            // Where nobody else may be asked nothing is copied.
            let next = handlers.have_fallback().then(|| for_next(known));
            return match self.call(guard, &mut http_request) {
                Ok(answered) => answered,
                Err(call) => {
                    let work = self.to_pending(self.details(to_details));
                    let watch = call.watch();
                    self.later(work.after_guard(call, next), watch)
                }
            };
        }
        let http_request = || to_http_request(path);
        match ask_engine(self.shared, &self.site.engine, self.request, now) {
            EngineReply::Ready(plan) => self.ready(plan, http_request, to_details),
            reply => self.not_ready(reply, http_request, to_details, now),
        }
    }

    /// The answer where the engine needs more for it, or a load.
    #[inline(never)]
    fn not_ready(
        &mut self,
        reply: EngineReply,
        http_request: impl FnOnce() -> HandlerRequest,
        to_details: impl Fn() -> RequestDetails,
        now: Now,
    ) -> Dispatched {
        match reply {
            EngineReply::Ready(plan) => self.ready(plan, http_request, to_details),
            EngineReply::Pending(pending) => {
                self.pending(pending, http_request, self.details(to_details))
            }
            EngineReply::NeedDetails | EngineReply::NeedAccess(_) => {
                self.by_rules(http_request, to_details(), now)
            }
        }
    }

    /// The details of the request, if rules may ask for them later.
    fn details(&self, to_details: impl Fn() -> RequestDetails) -> Option<RequestDetails> {
        self.site.engine.may_need_details().then(to_details)
    }

    /// The answer by rules that ask for these details of the request, and perhaps for a password.
    fn by_rules(
        &mut self,
        http_request: impl FnOnce() -> HandlerRequest,
        mut details: RequestDetails,
        now: Now,
    ) -> Dispatched {
        let ask = |details: &RequestDetails| {
            let request = Request {
                details: Some(details),
                ..self.request.clone()
            };
            ask_engine(self.shared, &self.site.engine, &request, now)
        };
        let mut reply = ask(&details);
        if let EngineReply::NeedAccess(users) = &reply {
            match check(self.shared, self.seat.client, users, &details, now) {
                Verdict::Known(access) => {
                    details.access = access;
                    reply = ask(&details);
                }
                Verdict::Pending(verdict) => {
                    let http_request = self.handlers.map(|_| http_request());
                    let watch = http_request.as_ref().and_then(watch);
                    let work = self.to_pending(Some(details));
                    return self.later(work.after_verdict(verdict, http_request), watch);
                }
            }
        }
        match reply {
            EngineReply::Ready(plan) => self.ready(plan, http_request, || details.clone()),
            EngineReply::Pending(pending) => self.pending(pending, http_request, Some(details)),
            EngineReply::NeedDetails | EngineReply::NeedAccess(_) => {
                Dispatched::Ready(overtaken().for_method(self.request.method))
            }
        }
    }

    /// The same for when the bytes that it was read from have gone.
    fn to_pending(&self, details: Option<RequestDetails>) -> PendingRequest {
        PendingRequest {
            shared: Rc::clone(self.shared),
            site: self.site.clone(),
            client: self.seat.client,
            time: self.time,
            details,
            request: Request::clone(self.request).into_owned(),
        }
    }

    /// The answer that `work` gives within the time for answers, of which that for the request's content is no part.
    fn later(
        &self,
        work: impl Future<Output = Answer> + 'static,
        watch: Option<ContentWatch>,
    ) -> Dispatched {
        // Where handlers have a time of their own each part of the work has its limit, that of disks included.
        let time = match self.time {
            None => self.shared.common.settings.answer_timeout,
            Some(_) => Duration::MAX,
        };
        let (fields, label) = (self.site.fields, self.site.label);
        let held = self.request.length().saturating_add(size_of_val(&work));
        let account = &self.seat.account;
        let charge = account.charge(held.saturating_add(PENDING_OVERHEAD));
        // Apart, as whoever awaits what it was given keeps room for that twice.
        let busy_since = move || watch.as_ref().map(ContentWatch::busy_since);
        let work = with_timeout(time, self.request.method, Box::pin(work), busy_since);
        Dispatched::Pending(Box::pin(async move {
            let mut answer = work.await;
            drop(charge);
            answer.plan.driver_fields = fields;
            answer.plan.driver_site = label;
            answer
        }))
    }

    /// The answer where the files have this one: that of a handler, perhaps.
    fn ready(
        &mut self,
        mut plan: ResponsePlan,
        http_request: impl FnOnce() -> HandlerRequest,
        to_details: impl Fn() -> RequestDetails,
    ) -> Dispatched {
        self.site.mark(&mut plan);
        let is_get_or_head = is_get_or_head(self.request);
        let handlers = self.handlers;
        match handlers.and_then(|handlers| handlers.fallback(is_get_or_head, &plan)) {
            None => Dispatched::Ready(plan),
            Some(handler) => {
                let mut http_request = http_request();
                if http_request.is_none() {
                    return self.marked(unreadable());
                }
                match self.call(handler, &mut http_request) {
                    Ok(answered) => answered,
                    Err(call) => {
                        let work = self.to_pending(self.details(to_details));
                        let watch = call.watch();
                        self.later(work.after_handler(call, plan), watch)
                    }
                }
            }
        }
    }

    /// Calls a handler: what it answers at once, else the call.
    fn call(
        &mut self,
        handler: &Handler,
        request: &mut HandlerRequest,
    ) -> Result<Dispatched, HandlerCall> {
        let mut call = HandlerCall::new(handler, request);
        let Some(context) = &mut self.context else {
            return Err(call);
        };
        let Some(response) = call.response_at_once(context) else {
            return Err(call);
        };
        let mut answer = match whole_or_planned(response, self.request.method, context) {
            Ok(Ok(answer)) => answer,
            Ok(Err(mut whole)) => {
                whole.driver_fields = self.site.fields;
                whole.driver_site = self.site.label;
                return Ok(Dispatched::Whole(whole));
            }
            Err(how) => return Ok(self.marked(handler_failed(self.shared, &how))),
        };
        self.site.mark(&mut answer.plan);
        Ok(match answer.streamed {
            None => Dispatched::Ready(answer.plan),
            Some(_) => Dispatched::Pending(Box::pin(ready(answer))),
        })
    }

    /// An answer of the server itself.
    fn marked(&self, plan: ResponsePlan) -> Dispatched {
        let mut plan = plan.for_method(self.request.method);
        self.site.mark(&mut plan);
        Dispatched::Ready(plan)
    }

    /// The answer where it waits for a load.
    fn pending(
        &self,
        pending: Pending,
        http_request: impl FnOnce() -> HandlerRequest,
        details: Option<RequestDetails>,
    ) -> Dispatched {
        let pending_request = self.to_pending(details);
        let Some(permit) = self.shared.common.pending_limit.begin(pending.mount()) else {
            return Dispatched::Ready(too_many_pending().for_method(self.request.method));
        };
        let http_request = self.handlers.map(|_| http_request());
        let watch = http_request.as_ref().and_then(watch);
        let work = async move {
            let request = pending_request.with_details();
            let reply = pending_request.wait(&request, pending).await;
            drop(permit);
            // In boxes, as room for what few need would be kept for each that waits.
            let plan = match reply {
                EngineReply::Ready(plan) => plan,
                reply => Box::pin(pending_request.finish(&request, reply)).await,
            };
            match http_request {
                None => plan.into(),
                Some(request) => Box::pin(pending_request.or_ask_handler(plan, request)).await,
            }
        };
        self.later(work, watch)
    }
}

/// A watch of the content of a request for handlers, if that is on its way.
fn watch(request: &HandlerRequest) -> Option<ContentWatch> {
    request
        .as_ref()
        .and_then(|request| RequestBody::watch(request.body()))
}

/// True for requests that handlers may be asked about: for a path, or for the server itself. Other targets have no
/// guard, so that handlers that rely on one must not see them: `/private%2Fx`, say. Nor is a handler a tunnel, as 200
/// to CONNECT would mean.
fn is_for_handlers(request: &Request<'_>, path: Option<&RequestPath<'_>>) -> bool {
    path.is_some() || (&*request.path == b"*" && request.method == Method::Options)
}
