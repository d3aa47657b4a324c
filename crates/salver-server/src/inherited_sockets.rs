//! Sockets that another process has bound: the server before an upgrade, or a service manager. Connections that wait in
//! their queues are not lost.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The sockets that a server takes over instead of binding its own: each for an address of its settings.
#[derive(Debug, Default)]
pub struct InheritedSockets {
    listeners: Vec<(SocketAddr, TcpListener)>,
    datagrams: Vec<(SocketAddr, UdpSocket)>,
    unix: Vec<(PathBuf, UnixListener)>,
    datagrams_are_awaited: bool,
}

impl InheritedSockets {
    /// Adds a listener for this address of the settings. An address may have several, with `SO_REUSEPORT`.
    pub fn add_listener(&mut self, address: SocketAddr, listener: TcpListener) {
        self.listeners.push((address, listener));
    }

    /// Adds a socket for HTTP/3 at this address of the settings, which has TLS. An address may have several.
    pub fn add_datagrams(&mut self, address: SocketAddr, socket: UdpSocket) {
        self.datagrams.push((address, socket));
    }

    /// Adds a listener for this path of the settings' Unix sockets.
    pub fn add_unix(&mut self, path: PathBuf, listener: UnixListener) {
        self.unix.push((path, listener));
    }

    /// Has the sockets for HTTP/3 left alone until [`Handle::take_datagrams`](crate::Handle::take_datagrams): the
    /// process before still reads them.
    pub fn await_datagrams(&mut self) {
        self.datagrams_are_awaited = true;
    }

    /// The addresses of the listeners, each once.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let mut all: Vec<SocketAddr> = Vec::new();
        for (address, _) in &self.listeners {
            if !all.contains(address) {
                all.push(*address);
            }
        }
        all
    }

    /// Takes the listeners for these addresses and paths of another server's settings; where any port does, there are
    /// none.
    #[must_use]
    pub fn split_off(&mut self, addresses: &[SocketAddr], paths: &[PathBuf]) -> InheritedSockets {
        let is_one = |(address, _): &mut (SocketAddr, TcpListener)| {
            address.port() != 0 && addresses.contains(address)
        };
        InheritedSockets {
            listeners: self.listeners.extract_if(.., is_one).collect(),
            unix: (self.unix.extract_if(.., |(path, _)| paths.contains(path))).collect(),
            ..InheritedSockets::default()
        }
    }

    /// The listener at a path; `None` if there is none.
    pub(crate) fn take_unix(&mut self, path: &Path) -> io::Result<Option<UnixListener>> {
        let taken = self.unix.iter().position(|(of, _)| of == path);
        let taken = taken.map(|at| self.unix.swap_remove(at).1);
        taken.iter().try_for_each(|one| one.set_nonblocking(true))?;
        Ok(taken)
    }

    pub(crate) fn datagrams_are_awaited(&self) -> bool {
        self.datagrams_are_awaited
    }

    /// The listeners for an address, for so many workers; `None` if there are none. Each worker has one at least: with
    /// fewer listeners than workers, several accept from the same queue.
    pub(crate) fn take_listeners(
        &mut self,
        address: SocketAddr,
        workers: usize,
    ) -> io::Result<Option<(SocketAddr, Vec<Vec<TcpListener>>)>> {
        let mut taken = take(&mut self.listeners, address);
        let Some(first) = taken.first() else {
            return Ok(None);
        };
        let address = first.local_addr()?;
        for number in taken.len()..workers {
            let shared = taken.get(number % taken.len().max(1));
            let shared = shared.map(TcpListener::try_clone).transpose()?;
            taken.extend(shared);
        }
        for listener in &taken {
            listener.set_nonblocking(true)?;
            salver_os::send_at_once(listener)?;
        }
        Ok(Some((address, spread(taken, workers))))
    }

    /// The sockets for HTTP/3 at an address, for so many workers; `None` if there are none. With fewer sockets than
    /// workers the last have none: a handshake of several datagrams has to come to one worker.
    pub(crate) fn take_datagrams(
        &mut self,
        address: SocketAddr,
        workers: usize,
    ) -> io::Result<Option<Vec<Vec<UdpSocket>>>> {
        let taken = take(&mut self.datagrams, address);
        for socket in &taken {
            socket.set_nonblocking(true)?;
        }
        Ok((!taken.is_empty()).then(|| spread(taken, workers)))
    }
}

/// Takes the sockets for an address.
fn take<S>(all: &mut Vec<(SocketAddr, S)>, address: SocketAddr) -> Vec<S> {
    let taken = all.extract_if(.., |(of, _)| *of == address);
    taken.map(|(_, socket)| socket).collect()
}

/// Spreads sockets over workers, in turn.
fn spread<S>(sockets: Vec<S>, workers: usize) -> Vec<Vec<S>> {
    let mut all: Vec<Vec<S>> = (0..workers).map(|_| Vec::new()).collect();
    for (number, socket) in sockets.into_iter().enumerate() {
        if let Some(worker) = all.get_mut(number % workers.max(1)) {
            worker.push(socket);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listeners(count: usize) -> (SocketAddr, InheritedSockets) {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listen = |at| salver_os::listen(at, salver_os::Families::Own, true).unwrap();
        let (mut all, mut at) = (InheritedSockets::default(), any);
        for _ in 0..count {
            let listener = listen(at);
            at = listener.local_addr().unwrap();
            all.add_listener(any, listener);
        }
        (at, all)
    }

    #[test]
    fn no_queue_is_left_without_a_worker_and_no_worker_without_a_queue() {
        for (count, workers, expected) in [
            (1, 1, vec![1]),
            (1, 3, vec![1, 1, 1]),
            (3, 2, vec![2, 1]),
            (3, 1, vec![3]),
        ] {
            let (address, mut all) = listeners(count);
            let any = all.addresses()[0];
            let (found, spread) = all.take_listeners(any, workers).unwrap().unwrap();
            let each: Vec<_> = spread.iter().map(Vec::len).collect();
            assert_eq!((found, each), (address, expected));
            assert!(all.take_listeners(any, workers).unwrap().is_none());
            // Whichever queue the kernel chooses, somebody accepts.
            std::net::TcpStream::connect(address).unwrap();
            let mut accepted = 0;
            while accepted == 0 {
                let all = spread.iter().flatten();
                accepted = all.filter(|listener| listener.accept().is_ok()).count();
            }
        }
    }

    #[test]
    fn sockets_for_datagrams_are_never_read_by_two_workers() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let mut all = InheritedSockets::default();
        all.add_datagrams(any, UdpSocket::bind(any).unwrap());
        let spread = all.take_datagrams(any, 2).unwrap().unwrap();
        assert_eq!(spread.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0]);
        assert!(all.take_datagrams(any, 2).unwrap().is_none());
    }
}
