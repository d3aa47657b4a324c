//! The service behind each kind of listener: the protocol of a connection, selected and served.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use salver_assets::Field;
use tokio::net::TcpStream;
use tokio::task::spawn_local;

use crate::byte_stream::ByteStream;
use crate::context::{ServerContext, WorkerContext};
use crate::http1::Http1Connection;
use crate::http2::Http2Connection;
use crate::listener::{ListenerId, ListenerKind};
use crate::listener_fields::{FieldsBySite, ListenerFields};
use crate::redirect;
use crate::seats::{ConnectionKind, Seat};
use crate::settings::TlsSettings;
use crate::sites::{SiteFields, Sites};
use crate::tls::TcpHandshakes;
use crate::tls_accept::accept;
use crate::versions::Versions;
use crate::wire::Wire;

/// The fields of each answer over TLS, over TCP and QUIC alike.
pub(crate) fn tls_fields(tls: &TlsSettings, sites: &Sites) -> FieldsBySite {
    let hsts = |time: Option<Duration>| -> Option<Field> {
        time.map(|time| {
            let value = format!("max-age={}", time.as_secs());
            ("Strict-Transport-Security", Bytes::from(value))
        })
    };
    let of_site = |of: &SiteFields| hsts(of.hsts).into_iter().chain(noindex(*of)).collect();
    FieldsBySite {
        server: hsts(tls.hsts).into_iter().collect(),
        by_site: sites.fields().iter().map(of_site).collect(),
    }
}

/// The fields of each answer without TLS.
fn plain_fields(sites: &Sites) -> FieldsBySite {
    let of_site = |of: &SiteFields| noindex(*of).into_iter().collect();
    FieldsBySite {
        server: Vec::new(),
        by_site: sites.fields().iter().map(of_site).collect(),
    }
}

/// The field that keeps an answer out of what search engines show.
fn noindex(of: SiteFields) -> Option<Field> {
    let value = Bytes::from_static(b"noindex");
    of.is_noindex.then_some(("X-Robots-Tag", value))
}

/// The service behind a listener.
#[derive(Clone)]
pub(crate) enum ListenerService {
    /// Serves HTTP without TLS.
    Plain(Rc<ListenerFields>),
    /// Serves HTTP over TLS.
    Tls(Rc<ListenerFields>, TcpHandshakes),
    /// Redirects to the port with TLS.
    Redirect(u16),
}

impl ListenerService {
    /// The service of a loop's listeners of this kind; `quic_port` is where HTTP/3 is spoken.
    pub(crate) fn new(
        kind: ListenerKind,
        common: &ServerContext,
        quic_port: Option<u16>,
    ) -> io::Result<Self> {
        let tls = || {
            let tls = common.settings.tls();
            tls.ok_or_else(|| io::Error::other("a listener for TLS without settings for it"))
        };
        let cache_status = common.settings.cache_status;
        Ok(match kind {
            ListenerKind::Plain => {
                let fields = plain_fields(&common.sites);
                ListenerService::Plain(ListenerFields::of_listener(&fields, cache_status))
            }
            ListenerKind::Tls => {
                let tls = tls()?;
                let mut fields = tls_fields(tls, &common.sites);
                if let Some(port) = quic_port {
                    // RFC 7838 section 3, RFC 9114 section 3.1.1: for a day.
                    let value = format!("h3=\":{port}\"; ma=86400");
                    fields = fields.with(&("Alt-Svc", Bytes::from(value)));
                }
                let config = tls
                    .handshakes
                    .over_tcp(common.settings.versions().protocols());
                let config = config.map_err(io::Error::other)?;
                ListenerService::Tls(ListenerFields::of_listener(&fields, cache_status), config)
            }
            ListenerKind::Redirect { to } => ListenerService::Redirect(to),
        })
    }

    /// Serves a connection that has come in, on a task of its own.
    pub(crate) fn serve(
        &self,
        context: &Rc<WorkerContext>,
        stream: TcpStream,
        seat: Seat,
        listener: ListenerId,
    ) {
        let context = Rc::clone(context);
        match self {
            ListenerService::Plain(listener_fields) => {
                let versions = context.common.settings.versions();
                let wire = Wire::new(context, stream, seat, listener);
                serve_http(wire, Rc::clone(listener_fields), versions);
            }
            ListenerService::Tls(listener_fields, config) => {
                let (listener_fields, config) = (Rc::clone(listener_fields), config.clone());
                spawn_local(async move {
                    let accepted = accept(&config, &context, stream, &seat).await;
                    if let Some((stream, versions)) = accepted {
                        // A task of its own, which holds nothing of the handshake.
                        let wire = Wire::new(context, stream, seat, listener);
                        serve_http(wire, listener_fields, versions);
                    }
                });
            }
            ListenerService::Redirect(port) => {
                spawn_local(redirect::serve(context, stream, *port, seat));
            }
        }
    }

    /// True for TLS, and the fields of its answers, for connections that outlive the generation that they began with.
    pub(crate) fn fields(&self) -> Option<(bool, &Rc<ListenerFields>)> {
        match self {
            ListenerService::Plain(fields) => Some((false, fields)),
            ListenerService::Tls(fields, _) => Some((true, fields)),
            ListenerService::Redirect(_) => None,
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

/// Serves a client in one of these versions. Where it may choose, it says so: HTTP/2 begins with a preface.
fn serve_http<S: ByteStream>(
    wire: Wire<S>,
    listener_fields: Rc<ListenerFields>,
    versions: Versions,
) {
    if versions == Versions::Http2 {
        spawn_local(Http2Connection::new(wire, listener_fields).serve());
        return;
    }
    let connection = Http1Connection::new(wire, listener_fields);
    spawn_local(
        connection
            .with_prior_knowledge(versions == Versions::Both)
            .serve(),
    );
}
