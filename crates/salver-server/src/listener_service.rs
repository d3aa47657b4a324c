//! The service behind each kind of listener: the protocol of a connection, selected and served.

use std::io;
use std::rc::Rc;

use bytes::Bytes;
use salver_assets::Field;
use tokio::net::TcpStream;
use tokio::task::spawn_local;

use crate::byte_stream::ByteStream;
use crate::context::{ServerContext, WorkerContext};
use crate::http1::Http1Connection;
use crate::http2::Http2Connection;
use crate::listener::ListenerKind;
use crate::listener_fields::ListenerFields;
use crate::seats::{ConnectionKind, Seat};
use crate::settings::TlsSettings;
use crate::tls::{OverTcp, Versions};
use crate::wire::Wire;
use crate::{redirect, tls_accept};

/// The fields of each answer over TLS, over TCP and QUIC alike.
pub(crate) fn tls_fields(tls: &TlsSettings) -> Vec<Field> {
    let hsts = tls.hsts.map(|time| {
        let value = format!("max-age={}", time.as_secs());
        ("Strict-Transport-Security", Bytes::from(value))
    });
    hsts.into_iter().collect()
}

/// The service behind a listener.
#[derive(Clone)]
pub(crate) enum ListenerService {
    /// Serves HTTP without TLS.
    Plain(Rc<ListenerFields>),
    /// Serves HTTP over TLS.
    Tls(Rc<ListenerFields>, OverTcp),
    /// Redirects to the port with TLS.
    Redirect(u16),
}

impl ListenerService {
    /// The service of a loop's listeners of this kind; `quic_port` is where HTTP/3 is spoken.
    ///
    /// # Errors
    /// If there are no settings for it.
    pub(crate) fn new(
        kind: ListenerKind,
        common: &ServerContext,
        quic_port: Option<u16>,
    ) -> io::Result<Self> {
        let tls = || {
            let tls = common.settings.tls.as_ref();
            tls.ok_or_else(|| io::Error::other("a listener for TLS without settings for it"))
        };
        Ok(match kind {
            ListenerKind::Plain => ListenerService::Plain(Rc::default()),
            ListenerKind::Tls => {
                let tls = tls()?;
                let mut fields = tls_fields(tls);
                if let Some(port) = quic_port {
                    // RFC 7838 section 3, RFC 9114 section 3.1.1: for a day.
                    let value = format!("h3=\":{port}\"; ma=86400");
                    fields.push(("Alt-Svc", Bytes::from(value)));
                }
                let config = tls.handshakes.over_tcp(common.settings.versions());
                let config = config.map_err(io::Error::other)?;
                ListenerService::Tls(Rc::new(ListenerFields::new(fields)), config)
            }
            ListenerKind::Redirect { to } => ListenerService::Redirect(to),
        })
    }

    /// Serves a connection that has come in, on a task of its own.
    pub(crate) fn serve(&self, context: &Rc<WorkerContext>, stream: TcpStream, seat: Seat) {
        let context = Rc::clone(context);
        match self {
            ListenerService::Plain(listener_fields) => {
                serve_any(context, stream, Rc::clone(listener_fields), seat)
            }
            ListenerService::Tls(listener_fields, config) => {
                let (listener_fields, config) = (Rc::clone(listener_fields), config.clone());
                spawn_local(async move {
                    if let Some(stream) =
                        tls_accept::accept(&context, stream, &config, seat.client).await
                    {
                        // A task of its own, which holds nothing of the handshake.
                        match stream.get_ref().1.alpn_protocol() {
                            Some(b"h2") => serve_http2(context, stream, listener_fields, seat),
                            Some(_) => serve_http1(context, stream, listener_fields, seat, false),
                            // Without ALPN any version that is served here may follow.
                            None => serve_any(context, stream, listener_fields, seat),
                        }
                    }
                });
            }
            ListenerService::Redirect(port) => {
                spawn_local(redirect::serve(context, stream, *port, seat));
            }
        }
    }

    /// The kind of its connections.
    pub(crate) fn connection_kind(&self) -> ConnectionKind {
        match self {
            ListenerService::Plain(_) | ListenerService::Redirect(_) => ConnectionKind::Plain,
            ListenerService::Tls(..) => ConnectionKind::Tls,
        }
    }

    /// True if a client can be answered without a handshake.
    pub(crate) fn is_without_tls(&self) -> bool {
        match self {
            ListenerService::Plain(_) | ListenerService::Redirect(_) => true,
            ListenerService::Tls(..) => false,
        }
    }
}

/// Serves a client that has not agreed on a version of HTTP.
fn serve_any<S: ByteStream>(
    context: Rc<WorkerContext>,
    stream: S,
    listener_fields: Rc<ListenerFields>,
    seat: Seat,
) {
    match context.common.settings.versions() {
        Versions::Http1 => serve_http1(context, stream, listener_fields, seat, false),
        Versions::Both => serve_http1(context, stream, listener_fields, seat, true),
        Versions::Http2 => serve_http2(context, stream, listener_fields, seat),
    }
}

/// Serves HTTP/1.1, and HTTP/2 to a client that begins with its preface, if it `may_switch`.
fn serve_http1<S: ByteStream>(
    context: Rc<WorkerContext>,
    stream: S,
    listener_fields: Rc<ListenerFields>,
    seat: Seat,
    may_switch: bool,
) {
    let connection = Http1Connection::new(Wire::new(context, stream, seat), listener_fields);
    spawn_local(connection.with_prior_knowledge(may_switch).serve());
}

fn serve_http2<S: ByteStream>(
    context: Rc<WorkerContext>,
    stream: S,
    listener_fields: Rc<ListenerFields>,
    seat: Seat,
) {
    let connection = Http2Connection::new(Wire::new(context, stream, seat), listener_fields);
    spawn_local(connection.serve());
}
