//! Handlers: the functions of a program that answer requests beside the files.

mod http_request;
mod request_body;

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use salver_assets::strategy::Transport;
use salver_assets::{OwnField, RequestPath, ResponsePlan};

use crate::byte_stream::ByteStream;
use crate::listener::canonical;
pub(crate) use http_request::to_http_request;
pub(crate) use request_body::{MemoryExhausted, RequestBody};

/// The reply of a handler.
#[derive(Debug)]
pub enum Reply {
    /// A response. `Content-Length` and `Date` are made for it, and the fields of the connection (`Connection`,
    /// `Transfer-Encoding` and the like) are left out.
    Response(Response<Bytes>),
    /// A file, sent as if it had been requested.
    File {
        /// Its path as in a URL, but not percent-encoded: `/reports/2026.pdf`. Handlers are not asked about it. That
        /// of a directory is answered by a redirect to the path with its slash.
        path: String,
        /// Fields for the answer, each instead of those of its name; `Vary` in addition. The fields that describe the
        /// bytes sent (`Content-Length`, `Content-Range`, `Content-Encoding`) stay, and all fields of an error: of a
        /// file that is gone, say.
        fields: HeaderMap,
    },
    /// The answer that there is without the handler.
    Proceed,
}

impl Reply {
    /// A reply with a file: see [`Reply::File`]. For GET and HEAD conditions, ranges and codings of the request
    /// apply; other methods get the whole file.
    pub fn file(path: impl Into<String>) -> Self {
        Reply::File {
            path: path.into(),
            fields: HeaderMap::new(),
        }
    }

    /// The same reply with one more field, if it is a file or a response.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        match &mut self {
            Reply::Response(response) => response.headers_mut().append(name, value),
            Reply::File { fields, .. } => fields.append(name, value),
            Reply::Proceed => false,
        };
        self
    }
}

impl<B: Into<Bytes>> From<Response<B>> for Reply {
    fn from(response: Response<B>) -> Self {
        Reply::Response(response.map(Into::into))
    }
}

/// The peer of a request's connection: in the extensions of each request that a handler takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The address at the other end of the connection; a proxy's, if there is one between.
    pub address: SocketAddr,
    /// True if the connection has TLS.
    pub over_tls: bool,
}

impl Peer {
    /// The peer of a stream, if it is still connected.
    pub(crate) fn of<S: ByteStream>(stream: &S) -> Option<Self> {
        Some(Peer {
            address: canonical(stream.tcp().peer_addr().ok()?),
            over_tls: S::TRANSPORT == Transport::PassesThrough,
        })
    }
}

/// A handler without its type. Its future stays on the loop that began it.
pub(crate) type Handler = Arc<dyn Fn(Request<Bytes>) -> ReplyFuture + Send + Sync>;

pub(crate) type ReplyFuture = Pin<Box<dyn Future<Output = Reply>>>;

/// The handlers of a server.
#[derive(Default)]
pub(crate) struct Handlers {
    /// The guards, asked before the files beneath their prefix: that, normalised and without a slash at its end, the
    /// longest first.
    guards: Vec<(Vec<u8>, Handler)>,
    /// The handler of requests that are for no file.
    fallback: Option<Handler>,
    /// The decision whether the content of a request is received, by the value of its `Authorization`.
    content_permit: Option<ContentPermit>,
}

/// The decision whether the content of a request is received.
pub(crate) type ContentPermit = Arc<dyn Fn(Option<&[u8]>) -> bool + Send + Sync>;

/// The error of a guard whose prefix is no path.
pub(crate) struct InvalidPrefix;

impl Handlers {
    pub(crate) fn is_empty(&self) -> bool {
        self.guards.is_empty() && self.fallback.is_none()
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
        let path = RequestPath::parse(prefix.as_bytes()).map_err(|_| InvalidPrefix)?;
        let bytes = path.as_bytes();
        let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes).to_vec();
        self.guards.push((bytes, handler));
        self.guards
            .sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Ok(())
    }

    /// The guard of a path. The path is compared in the form in which it becomes a file's, so that no way of writing
    /// it leads past a guard.
    pub(crate) fn guard(&self, path: &RequestPath<'_>) -> Option<&Handler> {
        let mut guards = self.guards.iter();
        let found = guards.find(|(prefix, _)| {
            let rest = path.as_bytes().strip_prefix(&**prefix);
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
        });
        found.map(|(_, handler)| handler)
    }

    /// The handler of a request, if the files have no better answer than `plan`. 204 is the answer of rules to a
    /// preflight.
    pub(crate) fn fallback(&self, is_get_or_head: bool, plan: &ResponsePlan) -> Option<&Handler> {
        self.fallback
            .as_ref()
            .filter(|_| plan.status == 404 || !is_get_or_head && plan.status != 204)
    }
}

/// A handler of any type.
pub(crate) fn erase_type<F, O>(handler: F) -> Handler
where
    F: AsyncFn(Request<Bytes>) -> O + Send + Sync + 'static,
    O: Into<Reply> + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |request| {
        // The future of an async closure borrows what that has captured.
        let handler = Arc::clone(&handler);
        Box::pin(async move { handler(request).await.into() })
    })
}

/// Calls a handler; `None` if it panicked.
pub(crate) async fn call(handler: &Handler, request: Request<Bytes>) -> Option<Reply> {
    let mut replying = catch_unwind(AssertUnwindSafe(|| handler(request))).ok()?;
    let reply = poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| replying.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await;
    // A panic when the future is dropped no longer matters.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(replying)));
    reply
}

/// The plan of a handler's response; `None` for 1xx, which can only go before a response.
pub(crate) fn response_plan(response: Response<Bytes>) -> Option<ResponsePlan> {
    let (head, content) = response.into_parts();
    if head.status.is_informational() {
        return None;
    }
    let status = head.status.as_u16();
    let fields = fields(&head.headers, &["content-length"]);
    Some(ResponsePlan::own(status, fields, content))
}

/// A file's answer with the fields of a [`Reply::File`]. An error keeps its own fields: its text is no video, and not
/// to be cached for a year.
pub(crate) fn with_fields(plan: ResponsePlan, more: &HeaderMap) -> ResponsePlan {
    let said = ["content-length", "content-range", "content-encoding"];
    let mut more = fields(more, &said);
    if plan.status >= 400 {
        more.retain(|(name, _)| {
            let mut own = plan.fields();
            &**name == "vary" || !own.any(|(own, _)| own.eq_ignore_ascii_case(name))
        });
    }
    plan.with_fields(more)
}

/// The fields of `headers` that are sent, without `but`.
fn fields(headers: &HeaderMap, but: &[&str]) -> Vec<OwnField> {
    let said = |name: &HeaderName| {
        let name = name.as_str();
        name != "date" && !belongs_to_connection(name) && !but.contains(&name)
    };
    let all = headers.iter().filter(|(name, _)| said(name));
    all.map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.as_str().into(), value)
    })
    .collect()
}

/// True for the fields of one connection, not of a message (RFC 9110 section 7.6.1).
fn belongs_to_connection(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "keep-alive"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

#[cfg(test)]
mod tests;
