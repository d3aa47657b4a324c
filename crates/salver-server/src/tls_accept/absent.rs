//! The handshake where TLS is left out: there is none.

use tokio::net::TcpStream;

use crate::seats::Seat;
use crate::tls::TcpHandshakes;
use crate::versions::Versions;

pub(crate) async fn accept<C>(
    handshakes: &TcpHandshakes,
    _: &C,
    _: TcpStream,
    _: &Seat,
) -> Option<(TcpStream, Versions)> {
    match *handshakes {}
}
