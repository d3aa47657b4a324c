//! The sockets that are listened on, and what is behind each.

use std::io;
use std::net::{SocketAddr, TcpListener};

use crate::banner::Addresses;
use crate::failure::Failure;

/// The service behind a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// HTTP without TLS.
    Plain,
    /// HTTP over TLS.
    Tls,
    /// Redirects to this port, which has TLS.
    Redirect(u16),
}

/// The sockets of a server.
#[derive(Debug)]
pub(crate) struct Listeners {
    pub(crate) all: Vec<(TcpListener, Service)>,
    /// Where they listen.
    pub(crate) addresses: Addresses,
}

impl Listeners {
    /// Listens at these addresses.
    ///
    /// # Errors
    /// The first that cannot be had, and what to do.
    pub(crate) fn bind(configured: &Addresses) -> Result<Self, Failure> {
        let mut all = Vec::new();
        let mut bind = |configured: &[SocketAddr], service: Service| {
            let mut addresses = Vec::with_capacity(configured.len());
            for &address in configured {
                let (listener, address) =
                    listen(address).map_err(|error| failure(address, &error))?;
                all.push((listener, service));
                addresses.push(address);
            }
            Ok::<_, Failure>(addresses)
        };
        let https = bind(&configured.https, Service::Tls)?;
        let http = bind(&configured.http, Service::Plain)?;
        let port = https.first().map_or(443, SocketAddr::port);
        let redirects = bind(&configured.redirects, Service::Redirect(port))?;
        Ok(Listeners {
            all,
            addresses: Addresses {
                https,
                http,
                redirects,
            },
        })
    }
}

fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn failure(address: SocketAddr, error: &io::Error) -> Failure {
    let what = match error.kind() {
        io::ErrorKind::AddrInUse => "is taken: choose another --port, or end what listens there",
        io::ErrorKind::PermissionDenied => "may not be listened on by this user",
        io::ErrorKind::AddrNotAvailable => "is no address of this machine",
        _ => return Failure::Failed(format!("{address} cannot be listened on: {error}")),
    };
    Failure::Failed(format!("{address} {what}"))
}
