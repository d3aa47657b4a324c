//! From a request to a plan, for every protocol: what has to wait for a disk goes to the loader, and
//! what the files have no answer to goes to a handler.
//!
//! ```text
//!            no guard, answered ───────────────────────────────────────► Plan
//! request ──►    │ guarded                                               ▲
//!                ▼              it proceeds            404, or not read  │ it proceeds
//!              guard ─────────────────────────► files ──────────────► handler
//!                └───── its reply: a response, or a file ◄───────────────┘
//! ```

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use salver_assets::{
    Method, Now, Pending, Request, RequestFields, RequestPath, ResponsePlan, target_of,
};
use salver_fields::{Lines, RequestHead};
use salver_semantics::Method as Sent;

use crate::awaited::{unavailable, within};
use crate::context::Context as Loop;
use crate::handler::{self, Handler, Reply};
use crate::memory_budget::{Account, Charge};

/// The request method, mapped to what the engine can answer.
pub(crate) fn method(sent: Sent) -> Method {
    match sent {
        Sent::Get => Method::Get,
        Sent::Head => Method::Head,
        Sent::Options => Method::Options,
        Sent::Post | Sent::Put | Sent::Delete | Sent::Patch | Sent::Connect | Sent::Trace => {
            Method::NotAllowed
        }
        Sent::Other => Method::NotImplemented,
    }
}

/// The request as the engine reads it, of a head as HTTP/2 and HTTP/3 have it, and its lines.
pub(crate) fn request(head: RequestHead<'_>) -> (Request<'_>, Lines<'_>) {
    let request = Request {
        method: method(head.method),
        path: head.path,
        query: head.query,
        fields: head.fields,
    };
    (request, head.lines)
}

/// The answer that says what is wrong with a request that the engine is not asked about; `sent` is its
/// method, as far as that is known.
pub(crate) fn error(status: u16, text: &str, sent: Option<Sent>) -> ResponsePlan {
    let plan = ResponsePlan::error(status, text, vec![]);
    match sent {
        Some(sent) => plan.for_method(method(sent)),
        None => plan,
    }
}

/// What asking gave.
pub(crate) enum Asked {
    /// The answer.
    Plan(ResponsePlan),
    /// It comes later.
    Later(Awaited),
}

/// A plan that waits for a load, or for a handler.
pub(crate) type Awaited = Pin<Box<dyn Future<Output = ResponsePlan>>>;

/// The request as handlers are given it; `None` if it cannot be.
type Given = Option<http::Request<Bytes>>;

/// Bytes of memory that a request takes while its answer is awaited, besides its own.
const AWAITED: usize = 2 * 1024;

/// Finds the answer. Loads that do not have to wait are performed here. `given` is called with the path, if
/// the target is one, if there are handlers that may be asked.
pub(crate) fn ask(
    shared: &Rc<Loop>,
    account: &Arc<Account>,
    request: &Request<'_>,
    given: impl FnOnce(Option<&RequestPath<'_>>) -> Given,
    now: Now,
) -> Asked {
    let handlers = Some(&shared.common.handlers).filter(|handlers| !handlers.is_empty());
    let path = handlers.and_then(|_| RequestPath::parse(&request.path).ok());
    let path = path.as_ref();
    let handlers = handlers.filter(|_| may_be_asked(request, path));
    let given = || given(path);
    let case = |request: &Request<'_>| Case {
        shared: Rc::clone(shared),
        charge: account.charge(request.length().saturating_add(AWAITED)),
        request: request.clone().into_owned(),
    };
    let time = shared.common.settings.answer_timeout;
    let guarded = handlers.zip(path);
    if let Some(guard) = guarded.and_then(|(handlers, path)| handlers.guard(path).cloned()) {
        let work = case(request).guarded(guard, given());
        return Asked::Later(Box::pin(within(time, request.method, work)));
    }
    match ask_engine(shared, request, now) {
        salver_assets::EngineReply::Ready(plan) => {
            match handlers.and_then(|handlers| handlers.other(is_read(request), &plan)) {
                None => Asked::Plan(plan),
                Some(_) => {
                    let work = case(request).unanswered(plan, given());
                    Asked::Later(Box::pin(within(time, request.method, work)))
                }
            }
        }
        salver_assets::EngineReply::Pending(pending) => {
            let case = case(request);
            let Some(place) = shared.common.awaited.begin(pending.mount()) else {
                return Asked::Plan(crowded().for_method(request.method));
            };
            let given = handlers.map(|_| given());
            Asked::Later(Box::pin(within(time, request.method, async move {
                let plan = case.wait(&case.request, pending).await;
                drop(place);
                match given {
                    None => plan,
                    Some(given) => case.unanswered(plan, given).await,
                }
            })))
        }
    }
}

fn ask_engine(shared: &Loop, request: &Request<'_>, now: Now) -> salver_assets::EngineReply {
    let common = &*shared.common;
    common
        .engine
        .ask(request, now, |load| common.loader.load(load))
}

/// Too many wait for one mount.
fn crowded() -> ResponsePlan {
    unavailable("Service Unavailable: too many wait for this")
}

/// Whether handlers may be asked about a request: about a path, or about the server itself. What is
/// neither has no guard either, so that whoever trusts in one must not see it: `/private%2Fx`, say.
/// Nor is a handler a tunnel, as 200 to CONNECT would say.
fn may_be_asked(request: &Request<'_>, path: Option<&RequestPath<'_>>) -> bool {
    path.is_some() || (&*request.path == b"*" && request.method == Method::Options)
}

/// Whether a request is one for what files give.
fn is_read(request: &Request<'_>) -> bool {
    matches!(request.method, Method::Get | Method::Head)
}

/// A request that is not answered at once.
struct Case {
    shared: Rc<Loop>,
    request: Request<'static>,
    /// Its memory.
    #[expect(dead_code, reason = "counts while it lives")]
    charge: Charge,
}

impl Case {
    /// Its path has this guard.
    async fn guarded(self, guard: Handler, given: Given) -> ResponsePlan {
        if let Some(plan) = self.call(&guard, given.clone()).await {
            return plan;
        }
        let plan = self.files(&self.request).await;
        self.unanswered(plan, given).await
    }

    /// The files say `plan`; what they have no answer to is for a handler.
    async fn unanswered(self, plan: ResponsePlan, given: Given) -> ResponsePlan {
        let handlers = &self.shared.common.handlers;
        let Some(handler) = handlers.other(is_read(&self.request), &plan) else {
            return plan;
        };
        self.call(handler, given).await.unwrap_or(plan)
    }

    /// What a handler answers; `None` if it leaves that to the files.
    async fn call(&self, handler: &Handler, given: Given) -> Option<ResponsePlan> {
        let Some(given) = given else {
            let text =
                "Bad Request: the target or the method has a form that no program here reads";
            let plan = ResponsePlan::error(400, text, vec![]);
            return Some(plan.for_method(self.request.method));
        };
        match handler::call(handler, given).await {
            None => Some(self.failed("a handler panicked")),
            Some(Reply::Proceed) => None,
            Some(Reply::Response(response)) => Some(match handler::plan(response) {
                Some(plan) => plan.for_method(self.request.method),
                None => self.failed("a handler answered 1xx, which is no answer"),
            }),
            Some(Reply::File { path, fields }) => {
                let mut request = Request {
                    path: target_of(&path).into_bytes().into(),
                    query: None,
                    ..self.request.clone()
                };
                if !is_read(&request) {
                    // Conditions and ranges are about what the method does, not about the file.
                    let accept_encoding = request.fields.accept_encoding.take();
                    request.method = Method::Get;
                    request.fields = RequestFields {
                        accept_encoding,
                        ..RequestFields::default()
                    };
                }
                Some(handler::extended(self.files(&request).await, &fields))
            }
        }
    }

    /// A handler is at fault.
    fn failed(&self, how: &str) -> ResponsePlan {
        let common = &self.shared.common;
        if common.said.handlers_fail.permits(common.uptime()) {
            tracing::error!("{how}: answering 500 (said at most once a minute)");
        }
        let plan = ResponsePlan::error(500, "Internal Server Error", vec![]);
        plan.for_method(self.request.method)
    }

    /// What the files say.
    async fn files(&self, request: &Request<'_>) -> ResponsePlan {
        match ask_engine(&self.shared, request, self.shared.clock.now()) {
            salver_assets::EngineReply::Ready(plan) => plan,
            salver_assets::EngineReply::Pending(pending) => {
                match self.shared.common.awaited.begin(pending.mount()) {
                    Some(_place) => self.wait(request, pending).await,
                    None => crowded().for_method(self.request.method),
                }
            }
        }
    }

    async fn wait(&self, request: &Request<'_>, pending: Pending) -> ResponsePlan {
        let common = &*self.shared.common;
        let clock = || self.shared.clock.now();
        let hand_over = |load| common.loader.load(load);
        common.engine.wait(request, pending, clock, hand_over).await
    }
}
