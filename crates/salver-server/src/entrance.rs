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
use crate::tls::OverTcp;
use crate::versions::Versions;
use crate::wire::Wire;
use crate::{http1, http2, redirect};

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
            let tls = common.settings.tls();
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
            Entrance::Plain(front) => {
                let versions = context.common.settings.versions();
                serve(context, stream, Rc::clone(front), seat, versions);
            }
            Entrance::Tls(front, config) => {
                let (front, config) = (Rc::clone(front), config.clone());
                spawn_local(async move {
                    let accepted = config.accept(&context, stream, seat.client).await;
                    if let Some((stream, versions)) = accepted {
                        // A task of its own, which holds nothing of the handshake.
                        serve(context, stream, front, seat, versions);
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

/// Serves a client that may speak these versions. One that may speak both says which: HTTP/2 by the
/// preface that it begins with.
fn serve<S: Stream>(
    context: Rc<Context>,
    stream: S,
    front: Rc<Front>,
    seat: Seat,
    versions: Versions,
) {
    let wire = Wire::new(context, stream, seat);
    if versions == Versions::Http2 {
        spawn_local(http2::Connection::new(wire, front).serve());
        return;
    }
    let connection = http1::Connection::new(wire, front);
    spawn_local(connection.or_http2(versions == Versions::Both).serve());
}
