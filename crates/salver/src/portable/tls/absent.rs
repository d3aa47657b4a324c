//! TLS where it is left out: the names that the rest of the server uses. Of these types there is no value.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use salver_config::Configuration;
use tokio::net::TcpStream;

use crate::failure::Failure;
use crate::portable::timed_stream::TimedStream;

pub(crate) const NOT_TLS: &str = "";

/// The settings of TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    never: Infallible,
    pub(crate) redirects: Vec<SocketAddr>,
    pub(crate) hsts: Option<Duration>,
    pub(crate) certificates: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// The stream of a connection whose first bytes were looked at.
#[allow(dead_code, reason = "nobody makes a handshake")]
pub(crate) enum Accepted {
    Secure(TimedStream<TcpStream>),
    Plain(TcpStream),
}

pub(crate) fn read(_: &Configuration, _: &[&[u8]]) -> Result<Option<Tls>, Failure> {
    Ok(None)
}

impl Tls {
    pub(crate) fn watch(&self) -> io::Result<Option<Infallible>> {
        match self.never {}
    }

    pub(crate) fn shows_same(&self, _: &str, _: &[u8]) -> bool {
        match self.never {}
    }

    pub(crate) async fn accept(
        &self,
        _: TcpStream,
        _: impl FnOnce(TcpStream) -> TimedStream<TcpStream>,
    ) -> io::Result<Accepted> {
        match self.never {}
    }
}

pub(crate) fn server_name(_: &TimedStream<TcpStream>) -> &str {
    ""
}
