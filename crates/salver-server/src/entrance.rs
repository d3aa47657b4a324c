//! What happens to a connection behind each kind of listener.

use std::io;
use std::rc::Rc;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::task::spawn_local;

use crate::context::{Common, Context};
use crate::front::{Field, Front};
use crate::listener::Kind;
use crate::seats::{Carrier, Seat};
use crate::settings::TlsSettings;
use crate::stream::Stream;
use crate::tls::{OverTcp, Versions};
use crate::wire::Wire;
use crate::{http1, http2, redirect, tls_accept};

/// What is added to each answer over TLS, whatever carries it.
pub(crate) fn fields_over_tls(tls: &TlsSettings) -> Vec<Field> {
    let hsts = tls.hsts.map(|time| {
        let value = format!("max-age={}", time.as_secs());
        ("Strict-Transport-Security", Bytes::from(value))
    });
    hsts.into_iter().collect()
}

/// What a listener does with connections.
#[derive(Clone)]
pub(crate) enum Entrance {
    /// Serves.
    Plain(Rc<Front>),
    /// Makes a handshake, and serves.
    Tls(Rc<Front>, OverTcp),
    /// Says at which port the same is served over TLS.
    Redirect(u16),
}

impl Entrance {
    /// The entrance of a loop's listeners of this kind; `quic_port` is where HTTP/3 is spoken.
    ///
    /// # Errors
    /// If there are no settings for it.
    pub(crate) fn new(kind: Kind, common: &Common, quic_port: Option<u16>) -> io::Result<Self> {
        let tls = || {
            let tls = common.settings.tls.as_ref();
            tls.ok_or_else(|| io::Error::other("a listener for TLS without settings for it"))
        };
        Ok(match kind {
            Kind::Plain => Entrance::Plain(Rc::default()),
            Kind::Tls => {
                let tls = tls()?;
                let mut fields = fields_over_tls(tls);
                if let Some(port) = quic_port {
                    // RFC 7838 section 3, RFC 9114 section 3.1.1: for a day.
                    let value = format!("h3=\":{port}\"; ma=86400");
                    fields.push(("Alt-Svc", Bytes::from(value)));
                }
                let config = tls.handshakes.over_tcp(common.settings.versions());
                let config = config.map_err(io::Error::other)?;
                Entrance::Tls(Rc::new(Front::new(fields)), config)
            }
            Kind::Redirect { to } => Entrance::Redirect(to),
        })
    }

    /// Serves a connection that has come in, on a task of its own.
    pub(crate) fn admit(&self, context: &Rc<Context>, stream: TcpStream, seat: Seat) {
        let context = Rc::clone(context);
        match self {
            Entrance::Plain(front) => serve_any(context, stream, Rc::clone(front), seat),
            Entrance::Tls(front, config) => {
                let (front, config) = (Rc::clone(front), config.clone());
                spawn_local(async move {
                    if let Some(stream) =
                        tls_accept::accept(&context, stream, &config, seat.client).await
                    {
                        // A task of its own, which holds nothing of the handshake.
                        match stream.get_ref().1.alpn_protocol() {
                            Some(b"h2") => serve_http2(context, stream, front, seat),
                            Some(_) => serve_http1(context, stream, front, seat, false),
                            // What was not agreed on is what is spoken here at all.
                            None => serve_any(context, stream, front, seat),
                        }
                    }
                });
            }
            Entrance::Redirect(port) => {
                spawn_local(redirect::serve(context, stream, *port, seat));
            }
        }
    }

    /// What its connections are made of.
    pub(crate) fn carrier(&self) -> Carrier {
        match self {
            Entrance::Plain(_) | Entrance::Redirect(_) => Carrier::Plain,
            Entrance::Tls(..) => Carrier::Tls,
        }
    }

    /// Whether a client that finds no seat can be told so without a handshake.
    pub(crate) fn speaks_plainly(&self) -> bool {
        match self {
            Entrance::Plain(_) | Entrance::Redirect(_) => true,
            Entrance::Tls(..) => false,
        }
    }
}

/// Serves a client that has not said what it speaks.
fn serve_any<S: Stream>(context: Rc<Context>, stream: S, front: Rc<Front>, seat: Seat) {
    match context.common.settings.versions() {
        Versions::Http1 => serve_http1(context, stream, front, seat, false),
        Versions::Both => serve_http1(context, stream, front, seat, true),
        Versions::Http2 => serve_http2(context, stream, front, seat),
    }
}

/// Serves HTTP/1.1, and HTTP/2 to a client that begins with it, if it `may_switch`.
fn serve_http1<S: Stream>(
    context: Rc<Context>,
    stream: S,
    front: Rc<Front>,
    seat: Seat,
    may_switch: bool,
) {
    let connection = http1::Connection::new(Wire::new(context, stream, seat), front);
    spawn_local(connection.or_http2(may_switch).serve());
}

fn serve_http2<S: Stream>(context: Rc<Context>, stream: S, front: Rc<Front>, seat: Seat) {
    let connection = http2::Connection::new(Wire::new(context, stream, seat), front);
    spawn_local(connection.serve());
}
