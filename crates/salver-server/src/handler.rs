//! What a program answers itself, beside the files.

mod http_request;
mod request_body;

use std::fmt;
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

use crate::listener::canonical;
use crate::byte_stream::Stream;
pub(crate) use http_request::given;
pub(crate) use request_body::{Full, RequestBody};

/// What a handler answers.
#[derive(Debug)]
pub enum Reply {
    /// This. `Content-Length` and `Date` are made for it, and what belongs to the connection
    /// (`Connection`, `Transfer-Encoding` and the like) is left out.
    Response(Response<Bytes>),
    /// A file, in the way that it would be sent if it had been asked for.
    File {
        /// Its path as in a URL, but not percent-encoded: `/reports/2026.pdf`. Handlers are not
        /// asked about it. A directory's is answered by the way to that path with its slash.
        path: String,
        /// Fields for the answer, each instead of those of its name; `Vary` in addition. What says
        /// which bytes are sent (`Content-Length`, `Content-Range`, `Content-Encoding`) stays, and
        /// all that an error says: of a file that is gone, say.
        fields: HeaderMap,
    },
    /// What is answered where there is no handler.
    Proceed,
}

impl Reply {
    /// A file: see [`Reply::File`]. GET and HEAD are answered by what the request says of conditions,
    /// ranges and codings; other methods by the whole of it.
    pub fn file(path: impl Into<String>) -> Self {
        Reply::File {
            path: path.into(),
            fields: HeaderMap::new(),
        }
    }

    /// The same with one field more, if it is a file or a response.
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

/// Who asks: in the extensions of each request that a handler is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The address at the other end of the connection; a proxy's, if there is one between.
    pub address: SocketAddr,
    /// Whether the connection is one with TLS.
    pub over_tls: bool,
}

impl Peer {
    /// Who is at the other end of a stream, if it is still there.
    pub(crate) fn of<S: Stream>(stream: &S) -> Option<Self> {
        Some(Peer {
            address: canonical(stream.tcp().peer_addr().ok()?),
            over_tls: S::TRANSPORT == Transport::PassesThrough,
        })
    }
}

/// A handler without its type. Its future stays on the loop that began it.
pub(crate) type Handler = Arc<dyn Fn(Request<Bytes>) -> Replying + Send + Sync>;

pub(crate) type Replying = Pin<Box<dyn Future<Output = Reply>>>;

/// The handlers of a server.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    /// Asked before files beneath a prefix: that, normalised and without a slash at its end, the
    /// longest first.
    guards: Vec<(Vec<u8>, Handler)>,
    /// Asked about what is no file.
    other: Option<Handler>,
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guards = self.guards.iter();
        let guards: Vec<_> = guards
            .map(|(prefix, _)| String::from_utf8_lossy(prefix))
            .collect();
        f.debug_struct("Handlers")
            .field("guards", &guards)
            .field("other", &self.other.is_some())
            .finish()
    }
}

/// A guard's prefix is no path.
pub(crate) struct BadPrefix;

impl Handlers {
    pub(crate) fn is_empty(&self) -> bool {
        self.guards.is_empty() && self.other.is_none()
    }

    /// Has `handler` asked about what is no file.
    pub(crate) fn set_other<F, R>(&mut self, handler: F)
    where
        F: Fn(Request<Bytes>) -> R + Send + Sync + 'static,
        R: Future<Output: Into<Reply>> + 'static,
    {
        self.other = Some(without_type(handler));
    }

    /// Has `handler` asked first about all beneath `prefix`.
    pub(crate) fn add_guard<F, R>(&mut self, prefix: &str, handler: F) -> Result<(), BadPrefix>
    where
        F: Fn(Request<Bytes>) -> R + Send + Sync + 'static,
        R: Future<Output: Into<Reply>> + 'static,
    {
        let path = RequestPath::parse(prefix.as_bytes()).map_err(|_| BadPrefix)?;
        let bytes = path.as_bytes();
        let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes).to_vec();
        self.guards.push((bytes, without_type(handler)));
        self.guards
            .sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Ok(())
    }

    /// Who is asked before files at a path. It is compared in the form in which it becomes a file's,
    /// so that no way of writing it leads past a guard.
    pub(crate) fn guard(&self, path: &RequestPath<'_>) -> Option<&Handler> {
        let mut guards = self.guards.iter();
        let found = guards.find(|(prefix, _)| {
            let rest = path.as_bytes().strip_prefix(&**prefix);
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
        });
        found.map(|(_, handler)| handler)
    }

    /// Who is asked about a request to which the files have no better answer than `plan`.
    pub(crate) fn other(&self, is_read: bool, plan: &ResponsePlan) -> Option<&Handler> {
        self.other
            .as_ref()
            .filter(|_| !is_read || plan.status == 404)
    }
}

fn without_type<F, R>(handler: F) -> Handler
where
    F: Fn(Request<Bytes>) -> R + Send + Sync + 'static,
    R: Future<Output: Into<Reply>> + 'static,
{
    Arc::new(move |request| {
        let reply = handler(request);
        Box::pin(async move { reply.await.into() })
    })
}

/// Asks a handler; `None` if it panicked.
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
    // The answer is there, whatever becomes of what made it.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(replying)));
    reply
}

/// A response as the driver sends it; `None` if it is none: 1xx only goes before one.
pub(crate) fn plan(response: Response<Bytes>) -> Option<ResponsePlan> {
    let (head, content) = response.into_parts();
    if head.status.is_informational() {
        return None;
    }
    let status = head.status.as_u16();
    let fields = fields(&head.headers, &["content-length"]);
    Some(ResponsePlan::own(status, fields, content))
}

/// A file's answer with the fields that go with it. An error keeps what it says of itself: that text
/// is no video, and not to be kept for a year.
pub(crate) fn extended(plan: ResponsePlan, more: &HeaderMap) -> ResponsePlan {
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

/// What of `headers` is sent, without `but`.
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

/// Whether a field is about one connection, not about a message (RFC 9110 section 7.6.1).
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
