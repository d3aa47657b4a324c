//! The settings of a server, with measured or customary defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use salver_access_log::AccessLog;
use salver_admin::metrics::{Metrics, SiteNames};
use salver_assets::strategy::{self, Transport};
use salver_forwarded::{ForwardedField, TrustedNetworks};
use salver_semantics::LeastRate;

use crate::tls::Handshakes;
use crate::versions::Versions;

/// The server's settings; see each field for its default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses without TLS. Port 0 takes any free one. `::` is every interface over IPv6 and, unless an address of
    /// IPv4 stands beside it with its port, over IPv4. Default: 127.0.0.1:8080.
    pub addresses: Vec<SocketAddr>,
    /// Addresses with TLS, and its settings. Default: none.
    #[cfg(feature = "tls")]
    pub tls: Option<TlsSettings>,
    /// True to serve HTTP/1.1. If neither it nor HTTP/2 is, both are. Default: true.
    pub http1: bool,
    /// True to serve HTTP/2. Default: true.
    pub http2: bool,
    /// True to serve HTTP/3 at the addresses with TLS, over UDP. Default: true.
    #[cfg(feature = "http3")]
    pub http3: bool,
    /// Threads with an event loop of their own. Default: as many as the process may use cores.
    pub workers: usize,
    /// Connections of the whole server. For one more, the one that has waited longest for its client's
    /// next request is closed; if none waits, the new one is answered 503. Default: 10,000.
    pub max_connections: usize,
    /// Connections of one client: of an IPv4 address, or of an IPv6 network (/56). Further ones are
    /// answered 503 and closed. Behind a proxy all connections are the proxy's. Default: half of
    /// `max_connections`.
    pub max_connections_per_client: Option<usize>,
    /// Handshakes of HTTP/3 that may be under way at a time before a client has to prove first that
    /// its address is its own, which costs it a round trip (Retry, RFC 9000 section 8.1.2). Default:
    /// 256.
    #[cfg(feature = "http3")]
    pub quic_handshakes: usize,
    /// The time for a connection to wait for its next request, and for a request's body that nobody wants. Of content
    /// that a handler waits for, the time for which a client may send nothing, or less than `min_rate`. Default: 60 s.
    pub idle_timeout: Duration,
    /// The time for a request's head from its first byte to its last; that of the first request on a connection from
    /// the connection's beginning. Default: 10 s.
    pub header_timeout: Duration,
    /// The time for which a client may take nothing of an answer that is being sent: of any one, where several are
    /// being sent on one connection. Default: 30 s.
    pub send_timeout: Duration,
    /// Bytes a second that a client has to take of an answer, measured over `send_timeout`: one that takes less is
    /// treated as one that takes nothing, when that time is used up. It has to send as many of content that a handler
    /// waits for, measured over `idle_timeout`. 0: any byte will do. Default: 128.
    pub min_rate: u64,
    /// The time to wait for an answer of a slow disk or a handler, without that in which the handler waits for content
    /// that the client has not sent; then it is 503. [`Builder::answer_timeout`](crate::Builder::answer_timeout) has
    /// others for some paths. Default: 30 s.
    pub answer_timeout: Duration,
    /// The time that a shutdown waits for answers that are under way. Default: 10 s.
    pub grace: Duration,
    /// Threads that may wait for disks; started as needed. Half of them at most read for downloads,
    /// three eighths load files that are asked for the first time. Default: 64.
    pub loader_threads: usize,
    /// Loads that may wait for such a thread; beyond, requests are answered 503. Default: 4,096.
    pub loader_queue: usize,
    /// The longest content of a request, in bytes, whole or streamed; longer ones are answered 413. Default: 1 MiB.
    pub max_body: u64,
    /// Memory for all that connections hold, in bytes: themselves, answers that were not taken yet, content that is
    /// read ahead, the content of requests for handlers. It is shared fairly: when it becomes short, each connection
    /// may hold less; further requests are answered 503, or wait. Content of the cache is not part of it. Default:
    /// 512 MiB.
    pub connection_memory: u64,
    /// True to check the page cache before the loop sends content from a file. Without it a cold file blocks its
    /// whole loop: only for showing the worth of the check. Default: true.
    pub check_residency: bool,
    /// The log that each request gets a line of, when its answer has ended. Default: none.
    pub access_log: Option<AccessLog>,
    /// The metrics that each request is counted in, when its answer has ended. Default: none.
    pub metrics: Option<Arc<Metrics>>,
    /// The names of sites, for the log and for metrics. Default: none.
    pub site_names: Arc<SiteNames>,
    /// Unix sockets at these paths, for HTTP without TLS, which the owner of the process alone may use. What lies
    /// there and is a socket that nobody listens on is replaced. One of the workers serves them.
    /// They are bound at the start; a reload changes nothing of them. Default: none.
    pub unix_sockets: Vec<PathBuf>,
    /// True to say in each answer how the cache had it, by the field `Cache-Status` (RFC 9211). Default: false.
    pub cache_status: bool,
    /// The proxies that are believed who the client is. Default: none are.
    pub proxies: Proxies,
}

/// The proxies before the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// The networks that they are in. Default: none.
    pub trusted: TrustedNetworks,
    /// The field in which they name the client of a request: in the access log it is that one. Default: none.
    pub field: Option<ForwardedField>,
    /// True if their connections begin with a header of the PROXY protocol, version 1 or 2, over TCP; the client that
    /// it names is that of the connection, also where [`Settings::max_connections_per_client`] is counted. Those that
    /// begin otherwise are closed; those from elsewhere are not looked at. Default: false.
    pub protocol: bool,
}

/// The settings of TLS.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The certificates, and the state that handshakes share.
    pub handshakes: Handshakes,
    /// Addresses with TLS. Port 0 takes any free one.
    pub addresses: Vec<SocketAddr>,
    /// Addresses without TLS, whose requests are redirected (308) to the first of `addresses`.
    pub redirects: Vec<SocketAddr>,
    /// The time for which clients shall use nothing but TLS with this host, in whole seconds; a field of each answer
    /// over TLS (Strict-Transport-Security, RFC 6797). `None`: no field.
    pub hsts: Option<Duration>,
}

impl Settings {
    /// The default of [`Config::cache_max_file`](salver_assets::Config::cache_max_file) for this server, in bytes:
    /// with TLS, also beside a port without it, that of bytes which pass through the process. Bytes that the kernel
    /// could send without TLS cost about the same from memory.
    pub fn cache_max_file(&self) -> u64 {
        let tls = self.tls();
        strategy::cache_max_file(match tls.is_some_and(|tls| !tls.addresses.is_empty()) {
            true => Transport::PassesThrough,
            false => Transport::KernelSends,
        })
    }

    /// The addresses with TLS, and its settings.
    pub(crate) fn tls(&self) -> Option<&TlsSettings> {
        #[cfg(feature = "tls")]
        let tls = self.tls.as_ref();
        #[cfg(not(feature = "tls"))]
        let tls = None;
        tls
    }

    /// Has sessions of TLS that began by `before` resumed.
    pub(crate) fn continue_sessions(&mut self, before: &Settings) {
        #[cfg(feature = "tls")]
        if let (Some(tls), Some(before)) = (&mut self.tls, &before.tls) {
            tls.handshakes.continue_sessions(&before.handshakes);
        }
        #[cfg(not(feature = "tls"))]
        let _ = before;
    }

    /// The versions of HTTP over TCP, with TLS or without.
    pub(crate) fn versions(&self) -> Versions {
        match (self.http1, self.http2) {
            (true, false) => Versions::Http1,
            (false, true) => Versions::Http2,
            (true, true) | (false, false) => Versions::Both,
        }
    }

    /// The most connections of one client.
    pub(crate) fn most_of_one(&self) -> usize {
        let default = self.max_connections.div_ceil(2);
        self.max_connections_per_client.unwrap_or(default)
    }

    /// The lowest rate at which clients have to take answers.
    pub(crate) fn least_rate(&self) -> LeastRate {
        LeastRate {
            patience: self.send_timeout,
            bytes_per_second: self.min_rate,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            addresses: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 8080))],
            #[cfg(feature = "tls")]
            tls: None,
            http1: true,
            http2: true,
            #[cfg(feature = "http3")]
            http3: true,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            max_connections: 10_000,
            max_connections_per_client: None,
            #[cfg(feature = "http3")]
            quic_handshakes: 256,
            idle_timeout: Duration::from_secs(60),
            header_timeout: Duration::from_secs(10),
            send_timeout: Duration::from_secs(30),
            min_rate: 128,
            answer_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(10),
            loader_threads: 64,
            loader_queue: 4096,
            max_body: 1024 * 1024,
            connection_memory: 512 * 1024 * 1024,
            check_residency: true,
            access_log: None,
            metrics: None,
            site_names: Arc::default(),
            unix_sockets: Vec::new(),
            cache_status: false,
            proxies: Proxies::default(),
        }
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use super::*;
    use crate::tls::Certificates;

    #[test]
    fn with_tls_memory_is_the_way_for_longer_files() {
        let check = |plain: bool, tls: Option<bool>, expected: u64| {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let tls = tls.map(|listens| {
                let certificates = Certificates::self_signed(&["a.test".to_owned()]).unwrap();
                TlsSettings {
                    handshakes: Handshakes::new(certificates).unwrap(),
                    addresses: listens.then_some(address).into_iter().collect(),
                    redirects: Vec::new(),
                    hsts: None,
                }
            });
            let settings = Settings {
                addresses: plain.then_some(address).into_iter().collect(),
                tls,
                ..Settings::default()
            };
            assert_eq!(settings.cache_max_file(), expected * 1024);
        };
        check(true, None, 32);
        check(false, Some(true), 1024);
        check(true, Some(true), 1024);
        check(true, Some(false), 32);
    }
}
