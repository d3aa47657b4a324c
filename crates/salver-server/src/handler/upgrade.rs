//! Upgrades: a request whose client would go on in another protocol, and the connection in that (RFC 9110 section 7.8,
//! RFC 8441).

mod pipe;

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
#[cfg(feature = "axum")]
use http::StatusCode;
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use self::pipe::PipeWriter;
use super::body::Body;
use super::request_body::RequestBody;
use super::upgrade_kind::UpgradeKind;
use crate::memory_budget::Account;
#[cfg(feature = "axum")]
use crate::memory_budget::Charge;

/// The offer of a client to go on in another protocol: in the extensions of a request that a handler takes. Over HTTP/1.1
/// it is the field `Upgrade`, over HTTP/2 an extended CONNECT with `:protocol`.
///
/// A handler that does not [accept](Self::accept) it answers as ever. One that does is given the connection in the other
/// protocol, as bytes in both directions; the other requests of a connection over HTTP/2 go on beside it.
///
/// ```
/// use http::{HeaderValue, Request, Response};
/// use salver_server::{Body, Reply, RequestBody, Server, Upgrade};
///
/// async fn echo(request: Request<RequestBody>) -> Response<Body> {
///     let upgrade = request.extensions().get::<Upgrade>();
///     let offered = upgrade.filter(|upgrade| upgrade.offers("echo"));
///     let protocol = HeaderValue::from_static("echo");
///     let Some((response, stream)) = offered.and_then(|upgrade| upgrade.accept(protocol)) else {
///         return Response::new("this speaks echo alone".into());
///     };
///     tokio::spawn(async move {
///         let (mut read, mut write) = tokio::io::split(stream);
///         tokio::io::copy(&mut read, &mut write).await
///     });
///     response
/// }
/// let server = Server::builder().streaming_handler(echo);
/// ```
#[derive(Clone)]
pub struct Upgrade(Arc<Offer>);

struct Offer {
    protocol: HeaderValue,
    kind: UpgradeKind,
    account: Arc<Account>,
    /// What the client will send, until the offer is accepted.
    content: Mutex<Option<RequestBody>>,
}

impl Upgrade {
    /// An offer of these protocols, of a client that will send this.
    fn new(
        protocol: HeaderValue,
        kind: UpgradeKind,
        account: &Arc<Account>,
        content: RequestBody,
    ) -> Self {
        Upgrade(Arc::new(Offer {
            protocol,
            kind,
            account: Arc::clone(account),
            content: Mutex::new(Some(content)),
        }))
    }

    /// Adds the offer of these protocols to a request of HTTP/1.1, and the fields that make it: programs look for them.
    pub(crate) fn offer_switch(
        protocols: HeaderValue,
        account: &Arc<Account>,
        content: RequestBody,
        request: &mut Request<RequestBody>,
    ) {
        let fields = request.headers_mut();
        fields.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        fields.insert(UPGRADE, protocols.clone());
        let offer = Upgrade::new(protocols, UpgradeKind::Switch, account, content);
        request.extensions_mut().insert(offer);
    }

    /// Makes a request whose content is awaited the offer of this protocol: an extended CONNECT.
    pub(crate) fn offer_connect(
        protocol: HeaderValue,
        account: &Arc<Account>,
        request: &mut Request<RequestBody>,
    ) {
        let content = std::mem::take(request.body_mut());
        let offer = Upgrade::new(protocol, UpgradeKind::ExtendedConnect, account, content);
        request.extensions_mut().insert(offer);
    }

    /// The protocols that the client offers, the one that it likes best first: `websocket`, say.
    pub fn protocols(&self) -> &HeaderValue {
        &self.0.protocol
    }

    /// True if this protocol is among those that the client offers.
    pub fn offers(&self, protocol: &str) -> bool {
        let mut offered = salver_semantics::field::list(self.0.protocol.as_bytes());
        offered.any(|offered| offered.eq_ignore_ascii_case(protocol.as_bytes()))
    }

    /// A charge of so many bytes to the memory of the client's connection, if there is room for them.
    #[cfg(feature = "axum")]
    pub(super) fn charge(&self, bytes: usize) -> Option<Charge> {
        let room = usize::try_from(self.0.account.room()).unwrap_or(usize::MAX);
        (room >= bytes).then(|| self.0.account.charge(bytes))
    }

    /// True if a response with this status accepts the upgrade.
    #[cfg(feature = "axum")]
    pub(super) fn is_accepted_by(&self, status: StatusCode) -> bool {
        self.0.kind.is_accepted_by(status)
    }

    /// Accepts the upgrade to this protocol: the response to give, to which fields may be added, and the connection in the
    /// other protocol, which goes on for as long as anybody has it. `None` if it has been accepted before.
    ///
    /// What is written before the response has been sent is sent behind it.
    pub fn accept(&self, protocol: HeaderValue) -> Option<(Response<Body>, UpgradedStream)> {
        let content = self.0.content.lock();
        let content = content.unwrap_or_else(PoisonError::into_inner).take()?;
        content.owe_nothing();
        let (body, write) = pipe::pipe(&self.0.account);
        let mut response = Response::new(Body::upgraded(self.0.kind, body));
        *response.status_mut() = self.0.kind.accepting();
        if self.0.kind == UpgradeKind::Switch {
            response.headers_mut().insert(UPGRADE, protocol);
        }
        let stream = UpgradedStream {
            read: content,
            failed: None,
            piece: Bytes::new(),
            write,
        };
        Some((response, stream))
    }
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Upgrade").field(&self.0.protocol).finish()
    }
}

/// A connection in the protocol to which it was upgraded.
///
/// No more is received than is read, and no more than 64 KiB is held of what is written. The end of what is read is the end
/// of the client's side; it fails with `ConnectionAborted` if the client is gone. Shutting down what is written ends the
/// connection, or over HTTP/2 the stream, once all of it has been sent; so does dropping it.
pub struct UpgradedStream {
    read: RequestBody,
    /// The kind of the error with which reading ended.
    failed: Option<io::ErrorKind>,
    /// What was received and not read.
    piece: Bytes,
    write: PipeWriter,
}

impl UpgradedStream {
    /// Writes some of these bytes; the number of them.
    #[cfg(feature = "axum")]
    pub(super) fn push(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write.push(context, bytes)
    }

    /// The next bytes, at most so many; none at the end.
    pub(super) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> Poll<io::Result<Bytes>> {
        while self.piece.is_empty() {
            match (ready!(self.read.poll(context)), self.failed) {
                (Some(Ok(frame)), _) => self.piece = frame.into_data().unwrap_or_default(),
                (Some(Err(error)), _) => {
                    self.failed = Some(error.kind());
                    return Poll::Ready(Err(error));
                }
                // What has failed does not look as if it had ended.
                (None, Some(kind)) => return Poll::Ready(Err(kind.into())),
                (None, None) => return Poll::Ready(Ok(Bytes::new())),
            }
        }
        let count = most.min(self.piece.len());
        Poll::Ready(Ok(self.piece.split_to(count)))
    }
}

impl AsyncRead for UpgradedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let piece = ready!(self.poll_piece(context, buffer.remaining()))?;
        buffer.put_slice(&piece);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for UpgradedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write.push(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write.end();
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for UpgradedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpgradedStream").finish_non_exhaustive()
    }
}
