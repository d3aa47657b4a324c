//! TLS where it is left out: the names that the rest of the server uses. Of these types there is no value.

use std::io;
use std::time::SystemTime;

/// The certificates of a server and what its handshakes share.
#[derive(Clone, Debug)]
pub enum Handshakes {}

/// The settings of a listener's handshakes.
#[derive(Clone, Debug)]
pub(crate) enum TcpHandshakes {}

impl Handshakes {
    pub(crate) fn expiries(&self) -> Vec<(String, SystemTime)> {
        match *self {}
    }

    pub(crate) fn shows_same(&self, _: &str, _: &[u8]) -> bool {
        match *self {}
    }

    pub(crate) fn over_tcp(&self, _: &[&[u8]]) -> io::Result<TcpHandshakes> {
        match *self {}
    }
}

/// The watch of certificates' files.
pub(crate) enum CertificateWatch {}

pub(crate) fn watch(handshakes: &Handshakes) -> io::Result<Option<CertificateWatch>> {
    match *handshakes {}
}
