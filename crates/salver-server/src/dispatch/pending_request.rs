//! A request that waits for a load, a password's verdict or a handler: what it needs once its bytes have gone.

use std::borrow::Cow;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use salver_assets::rules::BasicAuth;
use salver_assets::{
    Access, Engine, EngineReply, Load, Method, Now, Pending, Request, RequestDetails,
    RequestFields, ResponsePlan, SecureContext, target_of,
};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use crate::context::WorkerContext;
use crate::handler::{self, Answer, ContentWatch, HandlerCall, HandlerError, Reply, RequestBody};
use crate::passwords::Verdict;
use crate::pending_limit::{service_unavailable, takes_too_long, within};
use crate::seats::ClientKey;
use crate::sites::ServedSite;

/// The request in the form that handlers take; `None` if it has none.
pub(super) type HandlerRequest = Option<http::Request<RequestBody>>;

/// The replies of the engine to one request after which it is given up: rules change no faster.
const MOST_REPLIES: usize = 8;

/// A request that waits for a load or a handler.
pub(super) struct PendingRequest {
    pub(super) shared: Rc<WorkerContext>,
    pub(super) site: ServedSite,
    pub(super) client: ClientKey,
    pub(super) request: Request<'static>,
    /// The time limit of handlers, if it is not that of all answers.
    pub(super) time: Option<Duration>,
    /// The details of the request, if rules may ask for them.
    pub(super) details: Option<RequestDetails>,
}

impl PendingRequest {
    /// The answer once this verdict on its password has come.
    pub(super) async fn after_verdict(
        mut self,
        verdict: oneshot::Receiver<Access>,
        http_request: Option<HandlerRequest>,
    ) -> Answer {
        // A thread that panicked gives none.
        let access = verdict.await.unwrap_or(Access::Overloaded);
        if let Some(details) = &mut self.details {
            details.access = access;
        }
        let plan = self.ask_files(&self.with_details()).await;
        match http_request {
            None => plan.into(),
            // What few of those that wait need, and is large.
            Some(http_request) => Box::pin(self.or_ask_handler(plan, http_request)).await,
        }
    }

    /// The request, with its details.
    pub(super) fn with_details(&self) -> Request<'_> {
        let request = &self.request;
        Request {
            method: request.method,
            path: Cow::Borrowed(&request.path),
            query: request.query.as_deref().map(Cow::Borrowed),
            fields: request.fields.reborrow(),
            details: self.details.as_ref(),
            secure_context: request.secure_context,
        }
    }

    /// The answer of a guard that has been called, or of the files and the handler if it lets them answer.
    pub(super) async fn after_guard(self, call: HandlerCall, next: HandlerRequest) -> Answer {
        if let Some(answer) = self.answer_of(call).await {
            return answer;
        }
        // In a box, as most guards answer, and room for what few need would be kept for each.
        Box::pin(async move {
            let plan = self.ask_files(&self.with_details()).await;
            self.or_ask_handler(plan, next).await
        })
        .await
    }

    /// The answer of the handler, which has been called, or `plan` if it lets the files answer.
    pub(super) async fn after_handler(self, call: HandlerCall, plan: ResponsePlan) -> Answer {
        let answered = self.answer_of(call).await;
        answered.unwrap_or_else(|| plan.into())
    }

    /// The answer of the handler if the files have none, else `plan`, which is theirs.
    pub(super) async fn or_ask_handler(
        self,
        plan: ResponsePlan,
        mut http_request: HandlerRequest,
    ) -> Answer {
        let handlers = &self.shared.common.handlers;
        let Some(handler) = handlers.fallback(is_get_or_head(&self.request), &plan) else {
            return plan.into();
        };
        if http_request.is_none() {
            return unreadable().for_method(self.request.method).into();
        }
        let call = HandlerCall::new(handler, &mut http_request);
        let answered = self.answer_of(call).await;
        answered.unwrap_or_else(|| plan.into())
    }

    /// The answer of a handler that has been called; `None` if it lets the files answer.
    async fn answer_of(&self, call: HandlerCall) -> Option<Answer> {
        let method = self.request.method;
        let called = match self.time {
            None => call.await,
            Some(time) => {
                let watch = call.watch();
                let busy_since = || watch.as_ref().map(ContentWatch::busy_since);
                match Box::pin(within(time, call, busy_since)).await {
                    Some(called) => called,
                    None => return Some(takes_too_long().for_method(method).into()),
                }
            }
        };
        let reply = match called {
            Ok(reply) => reply,
            Err(HandlerError::Panicked) => {
                return Some(self.handler_failed("a handler panicked").into());
            }
            Err(HandlerError::Failed(error)) => {
                let how = format!("a service failed: {error}");
                return Some(self.handler_failed(&how).into());
            }
            Err(HandlerError::Content(error)) => {
                let (status, text) = handler::content_refusal(&error);
                let plan = ResponsePlan::error(status, text, vec![]);
                return Some(plan.for_method(method).into());
            }
        };
        match reply {
            Reply::Proceed => None,
            Reply::Response(response) => {
                let mut response = Some(response);
                let answer = poll_fn(|context| {
                    let response = response.take().unwrap_or_default();
                    Poll::Ready(handler::answer(response, method, context))
                });
                Some(match answer.await {
                    Ok(answer) => answer,
                    Err(how) => self.handler_failed(&how).into(),
                })
            }
            Reply::File { path, fields } => {
                let mut request = Request {
                    path: target_of(&path).into_bytes().into(),
                    query: None,
                    // What a file is a dictionary for is said by its own path.
                    secure_context: SecureContext::Insecure,
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
                // In a box, for the same reason.
                let plan = Box::pin(self.ask_files(&request)).await;
                Some(handler::with_fields(plan, &fields).into())
            }
        }
    }

    /// The answer where a handler failed, which is logged.
    fn handler_failed(&self, how: &str) -> ResponsePlan {
        handler_failed(&self.shared, how).for_method(self.request.method)
    }

    /// The answer of the files.
    async fn ask_files(&self, request: &Request<'_>) -> ResponsePlan {
        let now = self.shared.clock.now();
        let reply = ask_engine(&self.shared, &self.site.engine, request, now);
        self.finish(request, reply).await
    }

    /// The answer of the files that begins with this reply.
    pub(super) async fn finish(
        &self,
        request: &Request<'_>,
        mut reply: EngineReply,
    ) -> ResponsePlan {
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
                    let now = self.shared.clock.now();
                    ask_engine(&self.shared, &self.site.engine, &request, now)
                }
                EngineReply::NeedDetails => break,
            };
        }
        overtaken().for_method(self.request.method)
    }

    /// The reply of the engine once it is no longer pending.
    pub(super) async fn wait(&self, request: &Request<'_>, pending: Pending) -> EngineReply {
        let common = &*self.shared.common;
        let clock = || self.shared.clock.now();
        let hand_over = |load| hand_over(&self.shared, load);
        let engine = &self.site.engine;
        let waited = engine.wait(request, pending, clock, hand_over);
        if self.time.is_none() {
            return waited.await;
        }
        let reply = tokio::time::timeout(common.settings.answer_timeout, waited).await;
        let late = |_| EngineReply::Ready(takes_too_long().for_method(request.method));
        reply.unwrap_or_else(late)
    }
}

/// The answer where a handler failed, which is logged.
pub(super) fn handler_failed(shared: &WorkerContext, how: &str) -> ResponsePlan {
    let common = &shared.common;
    if common.log_limits.handlers_fail.permits(common.uptime()) {
        tracing::error!("{how}: answering 500 (said at most once a minute)");
    }
    ResponsePlan::error(500, "Internal Server Error", vec![])
}

/// The answer to a request that has no form that handlers take.
pub(super) fn unreadable() -> ResponsePlan {
    let text = "Bad Request: the target or the method has a form that no program here reads";
    ResponsePlan::error(400, text, vec![])
}

#[inline]
pub(super) fn ask_engine(
    shared: &WorkerContext,
    engine: &Engine,
    request: &Request<'_>,
    now: Now,
) -> EngineReply {
    engine.ask(request, now, |load| hand_over(shared, load))
}

/// Has a load performed that would wait: by this loop once what it waits for has come, where its source tells when that is, else
/// by a thread.
fn hand_over(shared: &WorkerContext, load: Load) {
    let Some(awaited) = load.awaited() else {
        return shared.common.loader.load(load);
    };
    let (common, load) = (Arc::clone(&shared.common), Box::new(load));
    spawn_local(async move {
        awaited.await;
        if let Err(load) = load.run_at_once(Instant::now()) {
            common.loader.load(*load);
        }
    });
}

/// The verdict on the password of a request.
pub(super) fn check(
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

/// The answer where rules changed again and again while it was asked for.
pub(super) fn overtaken() -> ResponsePlan {
    service_unavailable("Service Unavailable: the rules are changing")
}

/// The answer where too many requests wait for one mount.
pub(super) fn too_many_pending() -> ResponsePlan {
    service_unavailable("Service Unavailable: too many wait for this")
}

/// True for the methods that read a file.
pub(super) fn is_get_or_head(request: &Request<'_>) -> bool {
    matches!(request.method, Method::Get | Method::Head)
}
