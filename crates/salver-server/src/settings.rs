//! What the server can be told, with measured or customary defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use salver_assets::strategy::{self, Transport};
use salver_semantics::LeastRate;

use crate::tls::Handshakes;
use crate::versions::Versions;

/// The server's settings; see each field for its default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen without TLS. Port 0 takes any free one. `::` is every interface over IPv6
    /// and, unless an address of IPv4 stands beside it with its port, over IPv4. Default:
    /// 127.0.0.1:8080.
    pub addresses: Vec<SocketAddr>,
    /// Where to listen with TLS, and how. Default: nowhere.
    #[cfg(feature = "tls")]
    pub tls: Option<TlsSettings>,
    /// Whether HTTP/1.1 is spoken. If neither it nor HTTP/2 is, both are. Default: yes.
    pub http1: bool,
    /// Whether HTTP/2 is spoken. Default: yes.
    pub http2: bool,
    /// Whether HTTP/3 is spoken at the addresses with TLS, over UDP. Default: yes.
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
    /// How long a connection may wait for its next request, or take over a request's body.
    /// Default: 60 s.
    pub idle_timeout: Duration,
    /// How long a request's head may take from its first byte to its last; that of the first request on a
    /// connection from the connection's beginning. Default: 10 s.
    pub header_timeout: Duration,
    /// How long a client may take nothing of an answer that is being sent: of any one, where several are
    /// on their way on one connection. Default: 30 s.
    pub send_timeout: Duration,
    /// Bytes a second that a client has to take of an answer, measured over `send_timeout`: who takes less
    /// is treated as one that takes nothing, when that time is used up. 0: any byte will do. Default: 128.
    pub min_rate: u64,
    /// How long an answer may be waited for, a slow disk's or a handler's; then it is 503. Default: 30 s.
    pub answer_timeout: Duration,
    /// How long a shutdown waits for answers that are under way. Default: 10 s.
    pub grace: Duration,
    /// Threads that may wait for disks; started as needed. Half of them at most read for downloads,
    /// three eighths load files that are asked for the first time. Default: 64.
    pub loader_threads: usize,
    /// Loads that may wait for such a thread; beyond, requests are answered 503. Default: 4,096.
    pub loader_queue: usize,
    /// Length of the content of a request, in bytes; longer ones are answered 413. Default: 1 MiB.
    pub max_body: u64,
    /// Memory for all that connections hold, in bytes: themselves, answers that were not taken yet, what
    /// is read ahead for them, the content of requests for handlers. It is shared fairly: when it becomes
    /// short, each connection may hold less; what does not fit is answered 503, or waits. Content of the
    /// cache is not part of it. Default: 512 MiB.
    pub connection_memory: u64,
    /// Whether the page cache is asked before content leaves a file from the loop. Off, a cold file
    /// blocks its whole loop: only for showing what the check is worth. Default: on.
    pub check_residency: bool,
}

/// What a server with TLS can be told.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Certificates, and what handshakes share.
    pub handshakes: Handshakes,
    /// Where to listen with TLS. Port 0 takes any free one.
    pub addresses: Vec<SocketAddr>,
    /// Where to listen without TLS for requests that are redirected (308) to the first of
    /// `addresses`.
    pub redirects: Vec<SocketAddr>,
    /// For how long clients shall use nothing but TLS with this host, in whole seconds; said in
    /// each answer over TLS (Strict-Transport-Security, RFC 6797). `None`: nothing is said.
    pub hsts: Option<Duration>,
}

impl Settings {
    /// The default of [`Config::cache_max_file`](salver_assets::Config::cache_max_file) for this server, in
    /// bytes: with TLS, whether or not there is a port without it, that of bytes which pass through the
    /// process. What the kernel could send without TLS costs about the same from memory.
    pub fn cache_max_file(&self) -> u64 {
        let tls = self.tls();
        strategy::cache_max_file(match tls.is_some_and(|tls| !tls.addresses.is_empty()) {
            true => Transport::PassesThrough,
            false => Transport::KernelSends,
        })
    }

    /// Where to listen with TLS, and how.
    pub(crate) fn tls(&self) -> Option<&TlsSettings> {
        #[cfg(feature = "tls")]
        let tls = self.tls.as_ref();
        #[cfg(not(feature = "tls"))]
        let tls = None;
        tls
    }

    /// What is spoken over TCP, with TLS or without.
    pub(crate) fn versions(&self) -> Versions {
        match (self.http1, self.http2) {
            (true, false) => Versions::Http1,
            (false, true) => Versions::Http2,
            (true, true) | (false, false) => Versions::Both,
        }
    }

    /// The rate at which clients have to take what is sent to them.
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
        check(true, None, 64);
        check(false, Some(true), 1024);
        check(true, Some(true), 1024);
        check(true, Some(false), 64);
    }
}
