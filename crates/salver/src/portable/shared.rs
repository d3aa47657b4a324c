//! What the connections of a server share.

use std::sync::Arc;

use http::HeaderValue;
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto::Builder;
use tokio::sync::watch;

use crate::live_reload::LiveReload;
use crate::portable::passwords::Passwords;
use crate::portable::request_log::RequestLog;
use crate::portable::seats::Seats;
use crate::portable::sites::Sites;
use crate::portable::tls::Tls;
use crate::settings::Limits;

/// What connections share.
pub(crate) struct Shared {
    pub(crate) sites: Arc<Sites>,
    pub(crate) limits: Limits,
    pub(crate) builder: Builder<TokioExecutor>,
    pub(crate) tls: Option<Tls>,
    /// The field of answers over TLS to what is no request for a site.
    pub(crate) hsts: Option<HeaderValue>,
    /// The access log, if there is one.
    pub(crate) log: Option<Arc<RequestLog>>,
    /// True if `Cache-Status` is sent.
    pub(crate) cache_status: bool,
    pub(crate) passwords: Passwords,
    /// What pages ask whether they shall load again, if they are to know.
    pub(crate) live_reload: Option<LiveReload>,
    /// True once the server is to end.
    pub(crate) ending: watch::Receiver<bool>,
    pub(crate) seats: Seats,
}
