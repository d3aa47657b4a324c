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

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use salver_assets::rules::{BasicAuth, Scheme};
use salver_assets::{
    Access, EngineReply, Method, Now, Pending, Request, RequestDetails, RequestFields, RequestPath,
    ResponsePlan, target_of,
};
use salver_fields::{FieldLines, RequestHead};
use tokio::sync::oneshot;

use crate::context::WorkerContext;
use crate::handler::{self, Handler, Handlers, Reply};
use crate::memory_budget::Charge;
use crate::passwords::Verdict;
use crate::pending_limit::{service_unavailable, with_timeout};
use crate::seats::{ClientKey, Seat};

/// The parts of the head of HTTP/2 and HTTP/3 that the engine reads rarely.
pub(crate) struct MoreOfHead<'h> {
    /// The field lines, if they are kept.
    pub(crate) lines: FieldLines<'h>,
    authority: Cow<'h, [u8]>,
}

impl MoreOfHead<'_> {
    /// The details of the request, for rules that ask for them.
    pub(crate) fn details(&self, over_tls: bool, method: Method) -> RequestDetails {
        let mut lines = self.lines.iter();
        let token = lines.find_map(|(name, value)| (name == b":method").then_some(value));
        let token = token.unwrap_or(method.token().as_bytes());
        RequestDetails::new(scheme(over_tls), &self.authority, token, self.lines.iter())
    }
}

/// The scheme of a connection's requests.
pub(crate) fn scheme(over_tls: bool) -> Scheme {
    match over_tls {
        true => Scheme::Https,
        false => Scheme::Http,
    }
}

/// The request for the engine, made of the head of HTTP/2 and HTTP/3, and the rest of that.
pub(crate) fn engine_request(head: RequestHead<'_>) -> (Request<'_>, MoreOfHead<'_>) {
    let request = Request {
        method: head.method,
        path: head.path,
        query: head.query,
        fields: head.fields,
        details: None,
    };
    let more = MoreOfHead {
        lines: head.lines,
        authority: head.authority,
    };
    (request, more)
}

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
    /// The plan waits for a load or a handler.
    Pending(PendingPlan),
}

/// The plan of an answer that waits for a load or a handler.
pub(crate) type PendingPlan = Pin<Box<dyn Future<Output = ResponsePlan>>>;

/// The request in the form that handlers take; `None` if it has none.
type HandlerRequest = Option<http::Request<Bytes>>;

/// The memory of a request whose answer is awaited, besides its own, in bytes.
const PENDING_OVERHEAD: usize = 2 * 1024;

/// The replies of the engine to one request after which it is given up: rules change no faster.
const MOST_REPLIES: usize = 8;

/// Dispatches a request. Loads that do not have to wait are performed here. `to_http_request` is called only if a
/// handler may be asked, with the path if the target is one, and `to_details` only if rules may ask for them.
pub(crate) fn dispatch(
    shared: &Rc<WorkerContext>,
    seat: &Seat,
    request: &Request<'_>,
    (to_http_request, to_details): (
        impl FnOnce(Option<&RequestPath<'_>>) -> HandlerRequest,
        impl Fn() -> RequestDetails,
    ),
    now: Now,
) -> Dispatched {
    let handlers = Some(&shared.common.handlers).filter(|handlers| !handlers.is_empty());
    let path = handlers.and_then(|_| RequestPath::parse(&request.path).ok());
    let path = path.as_ref();
    let handlers = handlers.filter(|_| is_for_handlers(request, path));
    let http_request = || to_http_request(path);
    let asked = Asked {
        shared,
        seat,
        request,
        handlers,
    };
    let guarded = handlers.zip(path);
    if let Some(guard) = guarded.and_then(|(handlers, path)| handlers.guard(path).cloned()) {
        let work = asked.to_pending(asked.details(to_details));
        return asked.later(work.ask_guard_first(guard, http_request()));
    }
    match ask_engine(shared, request, now) {
        EngineReply::Ready(plan) => asked.ready(plan, http_request, to_details),
        EngineReply::Pending(pending) => {
            let details = asked.details(to_details);
            asked.pending(pending, http_request, details)
        }
        EngineReply::NeedDetails | EngineReply::NeedAccess(_) => {
            asked.by_rules(http_request, to_details(), now)
        }
    }
}

/// A request that the engine was asked about.
struct Asked<'a> {
    shared: &'a Rc<WorkerContext>,
    seat: &'a Seat,
    request: &'a Request<'a>,
    /// The handlers that may be asked about it.
    handlers: Option<&'a Handlers>,
}

impl Asked<'_> {
    /// The details of the request, if rules may ask for them later.
    fn details(&self, to_details: impl Fn() -> RequestDetails) -> Option<RequestDetails> {
        self.shared
            .common
            .engine
            .may_need_details()
            .then(to_details)
    }

    /// The answer by rules that ask for these details of the request, and perhaps for a password.
    fn by_rules(
        &self,
        http_request: impl FnOnce() -> HandlerRequest,
        mut details: RequestDetails,
        now: Now,
    ) -> Dispatched {
        let ask = |details: &RequestDetails| {
            let request = Request {
                details: Some(details),
                ..self.request.clone()
            };
            ask_engine(self.shared, &request, now)
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
                    let work = self.to_pending(Some(details));
                    return self.later(work.after_verdict(verdict, http_request));
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
        let length = self.request.length().saturating_add(PENDING_OVERHEAD);
        PendingRequest {
            shared: Rc::clone(self.shared),
            client: self.seat.client,
            charge: self.seat.account.charge(length),
            details,
            request: Request::clone(self.request).into_owned(),
        }
    }

    /// The answer that `work` gives within the time for answers.
    fn later(&self, work: impl Future<Output = ResponsePlan> + 'static) -> Dispatched {
        let time = self.shared.common.settings.answer_timeout;
        Dispatched::Pending(Box::pin(with_timeout(time, self.request.method, work)))
    }

    /// The answer where the files have this one: that of a handler, perhaps.
    #[inline]
    fn ready(
        &self,
        plan: ResponsePlan,
        http_request: impl FnOnce() -> HandlerRequest,
        to_details: impl Fn() -> RequestDetails,
    ) -> Dispatched {
        let is_get_or_head = is_get_or_head(self.request);
        let handlers = self.handlers;
        match handlers.and_then(|handlers| handlers.fallback(is_get_or_head, &plan)) {
            None => Dispatched::Ready(plan),
            Some(_) => {
                let work = self.to_pending(self.details(to_details));
                self.later(work.or_ask_handler(plan, http_request()))
            }
        }
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
        self.later(async move {
            let request = pending_request.with_details();
            let reply = pending_request.wait(&request, pending).await;
            drop(permit);
            let plan = pending_request.finish(&request, reply).await;
            pending_request.or_ask(plan, http_request).await
        })
    }
}

/// The answer where rules changed again and again while it was asked for.
fn overtaken() -> ResponsePlan {
    service_unavailable("Service Unavailable: the rules are changing")
}

/// The verdict on the password of a request.
fn check(
    shared: &WorkerContext,
    client: ClientKey,
    users: &Arc<BasicAuth>,
    details: &RequestDetails,
    now: Now,
) -> Verdict {
    let passwords = &shared.common.passwords;
    let authorization = details.field("authorization");
    passwords.check(client, users, authorization, now.instant)
}

#[inline]
fn ask_engine(shared: &WorkerContext, request: &Request<'_>, now: Now) -> EngineReply {
    let common = &*shared.common;
    common
        .engine
        .ask(request, now, |load| common.loader.load(load))
}

/// The answer where too many requests wait for one mount.
fn too_many_pending() -> ResponsePlan {
    service_unavailable("Service Unavailable: too many wait for this")
}

/// True for requests that handlers may be asked about: for a path, or for the server itself. Other targets have no
/// guard, so that handlers that rely on one must not see them: `/private%2Fx`, say. Nor is a handler a tunnel, as 200
/// to CONNECT would mean.
fn is_for_handlers(request: &Request<'_>, path: Option<&RequestPath<'_>>) -> bool {
    path.is_some() || (&*request.path == b"*" && request.method == Method::Options)
}

/// True for the methods that read a file.
fn is_get_or_head(request: &Request<'_>) -> bool {
    matches!(request.method, Method::Get | Method::Head)
}

/// A request that waits for a load or a handler.
struct PendingRequest {
    shared: Rc<WorkerContext>,
    client: ClientKey,
    request: Request<'static>,
    /// The details of the request, if rules may ask for them.
    details: Option<RequestDetails>,
    /// The memory of the request.
    #[expect(dead_code, reason = "counts while it lives")]
    charge: Charge,
}

impl PendingRequest {
    /// The answer once this verdict on its password has come.
    async fn after_verdict(
        mut self,
        verdict: oneshot::Receiver<Access>,
        http_request: Option<HandlerRequest>,
    ) -> ResponsePlan {
        // A thread that panicked gives none.
        let access = verdict.await.unwrap_or(Access::Overloaded);
        if let Some(details) = &mut self.details {
            details.access = access;
        }
        let plan = self.ask_files(&self.with_details()).await;
        self.or_ask(plan, http_request).await
    }

    /// The answer of the handler if there is one and the files have none, else `plan`.
    async fn or_ask(self, plan: ResponsePlan, request: Option<HandlerRequest>) -> ResponsePlan {
        match request {
            None => plan,
            Some(http_request) => self.or_ask_handler(plan, http_request).await,
        }
    }

    /// The request, with its details.
    fn with_details(&self) -> Request<'_> {
        let request = &self.request;
        Request {
            method: request.method,
            path: Cow::Borrowed(&request.path),
            query: request.query.as_deref().map(Cow::Borrowed),
            fields: request.fields.reborrow(),
            details: self.details.as_ref(),
        }
    }

    /// The answer of this guard, or of the files and the handler if it lets them answer.
    async fn ask_guard_first(self, guard: Handler, http_request: HandlerRequest) -> ResponsePlan {
        if let Some(plan) = self.ask_handler(&guard, http_request.clone()).await {
            return plan;
        }
        let plan = self.ask_files(&self.with_details()).await;
        self.or_ask_handler(plan, http_request).await
    }

    /// The answer of the handler if the files have none, else `plan`, which is theirs.
    async fn or_ask_handler(
        self,
        plan: ResponsePlan,
        http_request: HandlerRequest,
    ) -> ResponsePlan {
        let handlers = &self.shared.common.handlers;
        let Some(handler) = handlers.fallback(is_get_or_head(&self.request), &plan) else {
            return plan;
        };
        self.ask_handler(handler, http_request)
            .await
            .unwrap_or(plan)
    }

    /// The answer of a handler; `None` if it lets the files answer.
    async fn ask_handler(
        &self,
        handler: &Handler,
        http_request: HandlerRequest,
    ) -> Option<ResponsePlan> {
        let Some(http_request) = http_request else {
            let text =
                "Bad Request: the target or the method has a form that no program here reads";
            let plan = ResponsePlan::error(400, text, vec![]);
            return Some(plan.for_method(self.request.method));
        };
        match handler::call(handler, http_request).await {
            None => Some(self.handler_failed("a handler panicked")),
            Some(Reply::Proceed) => None,
            Some(Reply::Response(response)) => Some(match handler::response_plan(response) {
                Some(plan) => plan.for_method(self.request.method),
                None => self.handler_failed("a handler answered 1xx, which is no answer"),
            }),
            Some(Reply::File { path, fields }) => {
                let mut request = Request {
                    path: target_of(&path).into_bytes().into(),
                    query: None,
                    ..self.with_details()
                };
                if !is_get_or_head(&request) {
                    // Conditions and ranges apply to the method's own result, not to the file.
                    let accept_encoding = request.fields.accept_encoding.take();
                    request.method = Method::Get;
                    request.fields = RequestFields {
                        accept_encoding,
                        ..RequestFields::default()
                    };
                }
                Some(handler::with_fields(
                    self.ask_files(&request).await,
                    &fields,
                ))
            }
        }
    }

    /// The answer where a handler failed, which is logged.
    fn handler_failed(&self, how: &str) -> ResponsePlan {
        let common = &self.shared.common;
        if common.log_limits.handlers_fail.permits(common.uptime()) {
            tracing::error!("{how}: answering 500 (said at most once a minute)");
        }
        let plan = ResponsePlan::error(500, "Internal Server Error", vec![]);
        plan.for_method(self.request.method)
    }

    /// The answer of the files.
    async fn ask_files(&self, request: &Request<'_>) -> ResponsePlan {
        let reply = ask_engine(&self.shared, request, self.shared.clock.now());
        self.finish(request, reply).await
    }

    /// The answer of the files that begins with this reply.
    async fn finish(&self, request: &Request<'_>, mut reply: EngineReply) -> ResponsePlan {
        let mut details = request.details.cloned();
        for _ in 0..MOST_REPLIES {
            reply = match reply {
                EngineReply::Ready(plan) => return plan,
                EngineReply::Pending(pending) => {
                    let Some(_permit) = self.shared.common.pending_limit.begin(pending.mount())
                    else {
                        return too_many_pending().for_method(self.request.method);
                    };
                    let request = Request {
                        details: details.as_ref(),
                        ..request.clone()
                    };
                    self.wait(&request, pending).await
                }
                EngineReply::NeedAccess(users) => {
                    let Some(details) = &mut details else { break };
                    let now = self.shared.clock.now();
                    details.access = match check(&self.shared, self.client, &users, details, now) {
                        Verdict::Known(access) => access,
                        Verdict::Pending(verdict) => verdict.await.unwrap_or(Access::Overloaded),
                    };
                    let request = Request {
                        details: Some(details),
                        ..request.clone()
                    };
                    ask_engine(&self.shared, &request, self.shared.clock.now())
                }
                EngineReply::NeedDetails => break,
            };
        }
        overtaken().for_method(self.request.method)
    }

    /// The reply of the engine once it is no longer pending.
    async fn wait(&self, request: &Request<'_>, pending: Pending) -> EngineReply {
        let common = &*self.shared.common;
        let clock = || self.shared.clock.now();
        let hand_over = |load| common.loader.load(load);
        common.engine.wait(request, pending, clock, hand_over).await
    }
}
