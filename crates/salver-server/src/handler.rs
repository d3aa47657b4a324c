//! Handlers: the functions and services of a program that answer requests beside the files.

mod answer;
mod body;
mod call;
#[cfg(feature = "tower")]
#[cfg_attr(not(feature = "axum"), path = "handler/connect_info/absent.rs")]
mod connect_info;
mod content_buffer;
mod content_channel;
mod http_request;
#[cfg(feature = "tower")]
#[cfg_attr(not(feature = "axum"), path = "handler/hyper_upgrade/absent.rs")]
mod hyper_upgrade;
mod incoming_content;
mod peer;
mod receive_pace;
mod reply;
mod request_body;
mod sent_fields;
#[cfg(feature = "tower")]
mod service;
mod streamed_content;
mod upgrade;
mod upgrade_kind;
mod whole_answer;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use salver_assets::{RequestPath, ResponsePlan};

pub(crate) use answer::{Answer, answer, whole_or_planned, with_fields};
pub use body::Body;
pub(crate) use call::HandlerCall;
pub(crate) use content_channel::ContentWatch;
pub(crate) use http_request::to_http_request;
pub(crate) use incoming_content::{IncomingContent, trailers};
pub use peer::Peer;
pub(crate) use receive_pace::receive_step;
pub use reply::Reply;
pub use request_body::RequestBody;
#[cfg(feature = "tower")]
pub(crate) use service::of_service;
pub(crate) use streamed_content::{NextPiece, StreamedContent, TrailerLines, is_of_handler};
pub use upgrade::{Upgrade, UpgradedStream};
pub(crate) use upgrade_kind::UpgradeKind;
pub(crate) use whole_answer::{Digits, WholeAnswer};

/// A handler without its type. Its future stays on the loop that began it.
pub(crate) type Handler = Arc<dyn Fn(Request<RequestBody>) -> ReplyFuture + Send + Sync>;

pub(crate) type ReplyFuture = Pin<Box<dyn Future<Output = Result<Reply, HandlerError>>>>;

/// The error of a handler that gave no reply.
#[derive(Debug)]
pub(crate) enum HandlerError {
    /// It panicked.
    Panicked,
    /// A service failed, for this reason.
    #[cfg_attr(
        not(feature = "tower"),
        expect(dead_code, reason = "there are no services")
    )]
    Failed(String),
    /// The content of the request could not be had whole.
    Content(io::Error),
}

/// The handlers of a server.
#[derive(Default)]
pub(crate) struct Handlers {
    /// The guards, asked before the files beneath their prefix.
    guards: ByPrefix<Handler>,
    /// The handler of requests that are for no file.
    fallback: Option<Handler>,
    /// The decision whether the content of a request is received, by the value of its `Authorization`.
    content_permit: Option<ContentPermit>,
    /// The time limits of handlers beneath a prefix.
    time_limits: ByPrefix<Duration>,
}

/// The decision whether the content of a request is received.
pub(crate) type ContentPermit = Arc<dyn Fn(Option<&[u8]>) -> bool + Send + Sync>;

/// The error of a prefix that is no path.
pub(crate) struct InvalidPrefix;

/// Values by the prefix of paths: that, normalised and without a slash at its end, the longest first.
struct ByPrefix<T>(Vec<(Vec<u8>, T)>);

impl<T> Default for ByPrefix<T> {
    fn default() -> Self {
        ByPrefix(Vec::new())
    }
}

impl<T> ByPrefix<T> {
    fn add(&mut self, prefix: &str, value: T) -> Result<(), InvalidPrefix> {
        let path = RequestPath::parse(prefix.as_bytes()).map_err(|_| InvalidPrefix)?;
        let bytes = path.as_bytes();
        let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes).to_vec();
        self.0.push((bytes, value));
        self.0
            .sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Ok(())
    }

    /// The value for a path. That is compared in the form in which it becomes a file's, so that no way of writing it
    /// leads past a guard.
    fn find(&self, path: &RequestPath<'_>) -> Option<&T> {
        let mut all = self.0.iter();
        let found = all.find(|(prefix, _)| {
            let rest = path.as_bytes().strip_prefix(&**prefix);
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
        });
        found.map(|(_, value)| value)
    }
}

impl Handlers {
    pub(crate) fn is_empty(&self) -> bool {
        self.guards.0.is_empty() && self.fallback.is_none()
    }

    /// True if there is a handler of requests that are for no file.
    pub(crate) fn have_fallback(&self) -> bool {
        self.fallback.is_some()
    }

    /// Sets the handler of requests that are for no file.
    pub(crate) fn set_fallback(&mut self, handler: Handler) {
        self.fallback = Some(handler);
    }

    /// Sets whose content is received.
    pub(crate) fn set_content_permit(&mut self, permit: ContentPermit) {
        self.content_permit = Some(permit);
    }

    /// True if the content of a request with these field lines is received.
    pub(crate) fn permits_content<'l>(
        &self,
        mut lines: impl Iterator<Item = (&'l [u8], &'l [u8])>,
    ) -> bool {
        let Some(permits) = &self.content_permit else {
            return true;
        };
        let mut shown = std::iter::from_fn(|| {
            let found = lines.find(|(name, _)| name.eq_ignore_ascii_case(b"authorization"));
            found.map(|(_, value)| value)
        });
        match (shown.next(), shown.next()) {
            (shown, None) => permits(shown),
            (_, Some(_)) => permits(None),
        }
    }

    /// Adds a guard of all paths beneath `prefix`.
    pub(crate) fn add_guard(
        &mut self,
        prefix: &str,
        handler: Handler,
    ) -> Result<(), InvalidPrefix> {
        self.guards.add(prefix, handler)
    }

    /// The guard of a path.
    pub(crate) fn guard(&self, path: &RequestPath<'_>) -> Option<&Handler> {
        self.guards.find(path)
    }

    /// Sets the time limit of handlers for all paths beneath `prefix`.
    pub(crate) fn add_time_limit(
        &mut self,
        prefix: &str,
        limit: Duration,
    ) -> Result<(), InvalidPrefix> {
        self.time_limits.add(prefix, limit)
    }

    /// The time limit of handlers for a path, if it has one of its own.
    pub(crate) fn time_limit(&self, path: &RequestPath<'_>) -> Option<Duration> {
        self.time_limits.find(path).copied()
    }

    /// The handler of a request, if the files have no better answer than `plan`. 204 is the answer of rules to a
    /// preflight.
    pub(crate) fn fallback(&self, is_get_or_head: bool, plan: &ResponsePlan) -> Option<&Handler> {
        self.fallback
            .as_ref()
            .filter(|_| plan.status == 404 || !is_get_or_head && plan.status != 204)
    }
}

/// A handler of any type, which is given the content of requests whole.
pub(crate) fn erase_type<F, O>(handler: F) -> Handler
where
    F: AsyncFn(Request<Bytes>) -> O + Send + Sync + 'static,
    O: Into<Reply> + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |request| {
        // The future of an async closure borrows what that has captured.
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            let (head, content) = request.into_parts();
            let content = content.collect().await.map_err(HandlerError::Content)?;
            Ok(handler(Request::from_parts(head, content)).await.into())
        })
    })
}

/// A handler of any type, which is given the content of requests as it comes.
pub(crate) fn erase_streaming_type<F, O>(handler: F) -> Handler
where
    F: AsyncFn(Request<RequestBody>) -> O + Send + Sync + 'static,
    O: Into<Reply> + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |request| {
        let handler = Arc::clone(&handler);
        Box::pin(async move { Ok(handler(request).await.into()) })
    })
}

/// The same request for another handler, which is asked after the one that has this: it gets the content that that
/// leaves.
pub(crate) fn for_next(request: &Request<RequestBody>) -> Request<RequestBody> {
    let mut next = Request::new(request.body().for_next());
    next.method_mut().clone_from(request.method());
    next.uri_mut().clone_from(request.uri());
    *next.version_mut() = request.version();
    next.headers_mut().clone_from(request.headers());
    next.extensions_mut().clone_from(request.extensions());
    next
}

/// The status and the text of the answer where the content of a request could not be had.
pub(crate) fn content_refusal(error: &io::Error) -> (u16, &'static str) {
    match error.kind() {
        io::ErrorKind::OutOfMemory => (503, "Service Unavailable"),
        io::ErrorKind::TimedOut => (408, "Request Timeout"),
        _ => (400, "Bad Request: the content is not whole"),
    }
}

#[cfg(test)]
mod tests;
