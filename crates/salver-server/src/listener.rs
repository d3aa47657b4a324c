//! The listeners of all workers, bound to the addresses.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use salver_os::Families;

use crate::inherited_sockets::InheritedSockets;
use crate::settings::Settings;

/// The error of an address that cannot be listened on: which, why, and what to do.
#[derive(Debug)]
pub struct BindError {
    place: Place,
    /// The address of this server that is in the way.
    held: Option<SocketAddr>,
    error: io::Error,
}

/// A place that is listened at.
#[derive(Debug)]
enum Place {
    Tcp(SocketAddr),
    Udp(SocketAddr),
    Unix(PathBuf),
}

impl BindError {
    fn over_tcp(address: SocketAddr, error: io::Error) -> Self {
        BindError::at(Place::Tcp(address), error)
    }

    pub(crate) fn over_udp(address: SocketAddr, error: io::Error) -> Self {
        BindError::at(Place::Udp(address), error)
    }

    pub(crate) fn at_path(path: &Path, error: io::Error) -> Self {
        BindError::at(Place::Unix(path.to_owned()), error)
    }

    fn at(place: Place, error: io::Error) -> Self {
        BindError {
            place,
            held: None,
            error,
        }
    }

    /// The kind of the error.
    pub fn kind(&self) -> io::ErrorKind {
        self.error.kind()
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = &self.error;
        let address = match &self.place {
            Place::Tcp(address) => address,
            Place::Udp(address) => {
                let why = match error.kind() {
                    io::ErrorKind::AddrInUse => "taken by another program".to_owned(),
                    _ => error.to_string(),
                };
                return write!(
                    f,
                    "{address} cannot be used over UDP, which HTTP/3 needs: {why}; choose another \
                     port, or go without it (--no-http3)"
                );
            }
            Place::Unix(path) => {
                return match error.kind() {
                    io::ErrorKind::AddrInUse => write!(
                        f,
                        "{path:?} is taken, by another program or a file: choose another path for the socket"
                    ),
                    _ => write!(
                        f,
                        "cannot listen on {path:?}: {error}; give a path in a directory that this user may \
                         write to"
                    ),
                };
            }
        };
        if let Some(held) = &self.held {
            return write!(
                f,
                "{address} cannot be listened on beside {held}, which this server listens on until then: restart it, \
                 or choose another port"
            );
        }
        match error.kind() {
            io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "{address} is taken by another program: stop it or choose another port"
                )
            }
            io::ErrorKind::AddrNotAvailable => {
                write!(
                    f,
                    "{address} is no address of this machine: choose another host"
                )
            }
            io::ErrorKind::PermissionDenied => write!(
                f,
                "{address} may not be listened on: ports below 1024 need a right for it; choose another \
                 port, or give it: `sudo setcap cap_net_bind_service=+ep` with the path of the program, \
                 or AmbientCapabilities=CAP_NET_BIND_SERVICE in a systemd unit"
            ),
            _ => write!(f, "cannot listen on {address}: {error}"),
        }
    }
}

impl std::error::Error for BindError {}

/// The kind of a listener: the protocol at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    /// HTTP without TLS.
    Plain,
    /// HTTP over TLS.
    Tls,
    /// HTTP without TLS, redirected to a port with TLS.
    Redirect { to: u16 },
}

/// The number of a listener, which it keeps for as long as it is listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenerId(u32);

impl ListenerId {
    /// The one that stands for all Unix sockets.
    pub(crate) const UNIX: ListenerId = ListenerId(u32::MAX);
}

/// A listener: its address in the settings, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    pub(crate) id: ListenerId,
    pub(crate) kind: ListenerKind,
    /// The address in the settings.
    pub(crate) configured: SocketAddr,
    pub(crate) families: Families,
    /// The real address.
    pub(crate) address: SocketAddr,
}

impl Listener {
    /// True if its socket is what the settings now want.
    fn is_at(&self, configured: SocketAddr, families: Families) -> bool {
        let is_there = self.configured == configured || self.address == configured;
        is_there && self.families == families
    }

    /// True if no other socket can be bound to this address.
    fn is_in_the_way_of(&self, address: SocketAddr) -> bool {
        let (one, other) = (self.address.ip(), address.ip());
        let is_any = one.is_unspecified() || other.is_unspecified();
        self.address.port() == address.port() && (is_any || one == other)
    }
}

/// The listeners of all workers, and their addresses.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    /// All of them, those of a server that runs included.
    pub(crate) all: Vec<Listener>,
    /// For each worker the sockets of those that are new: one per address, or several that another process has bound.
    pub(crate) workers: Vec<Vec<(ListenerId, TcpListener)>>,
    /// The addresses without TLS, with real ports.
    pub(crate) plain: Vec<SocketAddr>,
    /// The addresses with TLS.
    pub(crate) tls: Vec<SocketAddr>,
    /// The addresses that redirect.
    pub(crate) redirects: Vec<SocketAddr>,
    /// Those of the server that runs which are not in use yet.
    before: Vec<Listener>,
    /// The number of the next listener.
    next: u32,
}

impl Listeners {
    /// Binds all addresses for every worker, but for those that are inherited, and those of a server that runs: a
    /// listener that the settings have as before goes on, with its socket.
    pub(crate) fn bind(
        settings: &Settings,
        inherited: &mut InheritedSockets,
        before: &[Listener],
    ) -> Result<Self, BindError> {
        let used = before
            .iter()
            .map(|listener| listener.id.0.saturating_add(1));
        let mut all = Listeners {
            workers: (0..settings.workers).map(|_| Vec::new()).collect(),
            next: used.max().unwrap_or(0),
            before: before.to_vec(),
            ..Listeners::default()
        };
        all.plain = all.add(ListenerKind::Plain, &settings.addresses, inherited)?;
        if let Some(tls) = settings.tls() {
            all.tls = all.add(ListenerKind::Tls, &tls.addresses, inherited)?;
            let to = all.tls.first().map_or(0, SocketAddr::port);
            all.redirects = all.add(ListenerKind::Redirect { to }, &tls.redirects, inherited)?;
        }
        Ok(all)
    }

    fn add(
        &mut self,
        kind: ListenerKind,
        addresses: &[SocketAddr],
        inherited: &mut InheritedSockets,
    ) -> Result<Vec<SocketAddr>, BindError> {
        let mut real = Vec::new();
        for (&configured, families) in addresses.iter().zip(families(addresses)) {
            let mut before = self.before.iter();
            let kept = before.position(|listener| listener.is_at(configured, families));
            let listener = match kept.map(|place| self.before.swap_remove(place)) {
                Some(kept) => Listener {
                    kind,
                    configured,
                    ..kept
                },
                None => self.bind_one(kind, configured, families, inherited)?,
            };
            real.push(listener.address);
            self.all.push(listener);
        }
        Ok(real)
    }

    /// Binds one address, unless it is inherited.
    fn bind_one(
        &mut self,
        kind: ListenerKind,
        configured: SocketAddr,
        families: Families,
        inherited: &mut InheritedSockets,
    ) -> Result<Listener, BindError> {
        let workers = self.workers.len();
        let bind = |address, share| salver_os::listen(address, families, share);
        let failed = |error: io::Error| {
            let mut own = self.before.iter().chain(&self.all);
            let held = own.find(|listener| listener.is_in_the_way_of(configured));
            BindError {
                held: held.map(|listener| listener.address),
                ..BindError::over_tcp(configured, error)
            }
        };
        let given = inherited.take_listeners(configured, workers);
        let (address, listeners) = match given.map_err(failed)? {
            Some(given) => given,
            None => {
                let bound = bind_for_workers(configured, workers, bind, TcpListener::local_addr);
                let (address, listeners) = bound.map_err(failed)?;
                (
                    address,
                    listeners.into_iter().map(|one| vec![one]).collect(),
                )
            }
        };
        let id = ListenerId(self.next);
        self.next = self.next.saturating_add(1);
        for (worker, listeners) in self.workers.iter_mut().zip(listeners) {
            worker.extend(listeners.into_iter().map(|listener| (id, listener)));
        }
        Ok(Listener {
            id,
            kind,
            configured,
            families,
            address,
        })
    }
}

/// The address families of each of these addresses that are listened on together. `::` stands for all of IPv4 too,
/// unless IPv4 has sockets of its own at that port.
pub(crate) fn families(addresses: &[SocketAddr]) -> impl Iterator<Item = Families> {
    addresses.iter().map(|address| {
        let has_own = |other: &SocketAddr| other.is_ipv4() && other.port() == address.port();
        match addresses.iter().any(has_own) {
            true => Families::Own,
            false => Families::Both,
        }
    })
}

/// The canonical form of an address, as clients and programs know it: an IPv4 address that came to a socket of both
/// families is one of IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}

/// Binds a socket at this address for each worker; returns the real address with them.
pub(crate) fn bind_for_workers<S>(
    mut address: SocketAddr,
    workers: usize,
    bind: impl Fn(SocketAddr, bool) -> io::Result<S>,
    local_address: impl Fn(&S) -> io::Result<SocketAddr>,
) -> io::Result<(SocketAddr, Vec<S>)> {
    // Sockets that share a port would also share it with another server of this user that
    // happens to run: this one, which does not share, finds that out.
    let alone = bind(address, false)?;
    if workers == 1 {
        return Ok((local_address(&alone)?, vec![alone]));
    }
    drop(alone);
    let mut sockets = Vec::new();
    for _ in 0..workers {
        let socket = bind(address, true)?;
        // Port 0 has become a real one, which the others are to share.
        address = local_address(&socket)?;
        sockets.push(socket);
    }
    Ok((address, sockets))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(
        addresses: &[SocketAddr],
        workers: usize,
    ) -> Result<(Listeners, Vec<SocketAddr>), BindError> {
        let mut all = Listeners {
            workers: (0..workers).map(|_| Vec::new()).collect(),
            ..Listeners::default()
        };
        let none = &mut InheritedSockets::default();
        let real = all.add(ListenerKind::Plain, addresses, none)?;
        Ok((all, real))
    }

    #[test]
    fn every_worker_gets_every_address() {
        for workers in [1, 2, 3] {
            let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
            let (all, real) = bind(&[any, any], workers).unwrap();
            assert_eq!((all.workers.len(), real.len()), (workers, 2));
            for listeners in &all.workers {
                let bound = listeners.iter().map(|(_, one)| one.local_addr().unwrap());
                let bound: Vec<_> = bound.collect();
                assert_eq!(bound, real);
            }
            assert!(real.iter().all(|address| address.port() != 0));
        }
    }

    #[test]
    fn every_interface_is_both_families_unless_each_has_its_own() {
        fn check(addresses: &[&str], expected: &[Families]) {
            let all: Vec<_> = addresses.iter().map(|a| a.parse().unwrap()).collect();
            assert_eq!(families(&all).collect::<Vec<_>>(), expected);
        }
        use Families::{Both, Own};
        check(&["[::]:80"], &[Both]);
        check(&["[::]:80", "[::]:81"], &[Both, Both]);
        check(&["0.0.0.0:80", "[::]:80"], &[Own, Own]);
        check(&["[::]:80", "0.0.0.0:80", "[::]:81"], &[Own, Own, Both]);
        check(&["127.0.0.1:80", "[::]:80"], &[Own, Own]);
        for workers in [1, 2] {
            let (_both, real) = bind(&["[::]:0".parse().unwrap()], workers).unwrap();
            let port = real[0].port();
            std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            std::net::TcpStream::connect(("::1", port)).unwrap();
        }
    }

    #[test]
    fn a_listener_that_stays_keeps_its_socket_and_what_is_in_the_way_is_named() {
        let settings = |addresses: &[SocketAddr]| Settings {
            addresses: addresses.to_vec(),
            workers: 2,
            ..Settings::default()
        };
        let none = &mut InheritedSockets::default();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let first = Listeners::bind(&settings(&[any]), none, &[]).unwrap();
        let real = first.plain[0];
        // As it was written, or as it came out.
        for again in [any, real] {
            let next = Listeners::bind(&settings(&[again, any]), none, &first.all).unwrap();
            assert_eq!((next.plain[0], next.all[0].id), (real, first.all[0].id));
            assert_ne!(next.all[1].id, next.all[0].id);
            let new: Vec<_> = next.workers.iter().flatten().map(|(id, _)| *id).collect();
            assert_eq!(new, [next.all[1].id; 2]);
        }
        let wider = SocketAddr::from(([0, 0, 0, 0], real.port()));
        let error = Listeners::bind(&settings(&[wider]), none, &first.all).unwrap_err();
        let line = error.to_string();
        assert!(line.contains(&format!("beside {real}")), "{line}");
    }

    #[test]
    fn an_address_of_ipv4_is_one_wherever_it_came() {
        fn check(address: &str, expected: &str) {
            let found = canonical(address.parse().unwrap());
            assert_eq!(found, expected.parse().unwrap());
        }
        check("[::ffff:192.0.2.1]:80", "192.0.2.1:80");
        check("192.0.2.1:80", "192.0.2.1:80");
        check("[::1]:80", "[::1]:80");
        check("[fe80::1%3]:80", "[fe80::1%3]:80");
    }

    #[test]
    fn who_may_not_listen_is_told_what_gives_the_right() {
        let address = "0.0.0.0:80".parse().unwrap();
        let error = BindError::over_tcp(address, io::ErrorKind::PermissionDenied.into());
        let line = error.to_string();
        assert_eq!(line.lines().count(), 1, "{line}");
        for part in [
            "0.0.0.0:80",
            "another port",
            "setcap",
            "CAP_NET_BIND_SERVICE",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn a_port_that_another_server_shares_is_taken_too() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        for workers in [1, 2] {
            let (_listeners, real) = bind(&[any], workers).unwrap();
            for again in [1, 2] {
                let error = bind(&real, again).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
                assert!(error.to_string().contains("is taken"), "{error}");
            }
        }
    }
}
