//! HTTP/3 (RFC 9114) over QUIC.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use h3::error::{Code, ConnectionError, LocalError, StreamError};
use http::Request;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, EndpointConfig, TokioRuntime, TransportConfig, VarInt};
use socket2::{Domain, Protocol, Socket, Type};

use super::opened::{CONNECTION_WINDOW, Failed, How, Opened, STREAM_WINDOW};
use crate::answer::Answer;
use crate::protocol::tls;
use crate::protocol::transport::Dialer;
use crate::result::model::Tls;

/// Sockets of one thread: servers that share a port among threads tell clients apart by the socket.
const SOCKETS: usize = 16;

/// Room for datagrams that were not yet taken, in bytes; as much as the system allows.
const ROOM: usize = 4 << 20;

/// The errors of connections whose certificate was not trusted: alerts of TLS from
/// bad_certificate to unknown_ca (RFC 8446 section 6, RFC 9001 section 4.8).
const CERTIFICATE_ALERTS: RangeInclusive<u64> = 0x100 + 42..=0x100 + 48;

/// RFC 9114 section 8.1.
const NO_ERROR: u32 = 0x100;

/// Where requests are given to a connection.
#[derive(Clone)]
pub(crate) struct Sender {
    send: h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>,
    connection: quinn::Connection,
}

/// UDP sockets, shared by the connections of a thread.
pub(super) struct Sockets {
    endpoints: Vec<Endpoint>,
    config: ClientConfig,
}

impl Sockets {
    /// For so many connections.
    pub(super) fn new(dialer: &Dialer, connections: usize) -> io::Result<Sockets> {
        // It was checked that there is TLS.
        let secure = dialer.secure.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let crypto = QuicClientConfig::try_from(Arc::clone(&secure.0)).map_err(io::Error::other)?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        transport
            .stream_receive_window(STREAM_WINDOW.into())
            .receive_window(CONNECTION_WINDOW.into());
        config.transport_config(Arc::new(transport));
        let mut endpoints = Vec::new();
        for _ in 0..connections.clamp(1, SOCKETS) {
            let endpoint = Endpoint::new(
                EndpointConfig::default(),
                None,
                socket(dialer.address)?,
                Arc::new(TokioRuntime),
            );
            endpoints.push(endpoint?);
        }
        Ok(Sockets { endpoints, config })
    }

    /// Opens a connection. What it needs to go on is done by tasks of the runtime.
    pub(super) async fn open(&self, dialer: &Dialer, number: usize) -> io::Result<Opened<Sender>> {
        let endpoint = self.endpoints.get(number % self.endpoints.len().max(1));
        let endpoint = endpoint.ok_or(io::ErrorKind::NotConnected)?;
        let name = match &dialer.secure {
            Some((_, name)) => name.to_str(),
            None => return Err(io::ErrorKind::Unsupported.into()),
        };
        let connecting = endpoint.connect_with(self.config.clone(), dialer.address, &name);
        let connection = connecting.map_err(io::Error::other)?.await;
        let connection = connection.map_err(explain)?;
        let quic = h3_quinn::Connection::new(connection.clone());
        let mut builder = h3::client::builder();
        let built = builder.send_grease(false).build(quic).await;
        let (mut driver, send) = built.map_err(io::Error::other)?;
        let driver = tokio::spawn(async move {
            // Every request that was under way is told.
            poll_fn(|cx| driver.poll_close(cx)).await;
        });
        let tls = Tls {
            version: "TLSv1.3".to_owned(),
            cipher: None,
            certificate: tls::certificate(dialer.is_any_certificate_good),
        };
        Ok((Sender { send, connection }, driver, Some(tls)))
    }

    /// Ends all connections, and waits until the servers know.
    pub(super) async fn close(&self) {
        for endpoint in &self.endpoints {
            endpoint.close(VarInt::from_u32(NO_ERROR), b"");
        }
        for endpoint in &self.endpoints {
            endpoint.wait_idle().await;
        }
    }
}

fn socket(to: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind(&SocketAddr::new(any, 0).into())?;
    // Less will do, at the price of datagrams sent again.
    let _ = socket.set_recv_buffer_size(ROOM);
    let _ = socket.set_send_buffer_size(ROOM);
    Ok(socket.into())
}

/// Why there is no connection, in words.
fn explain(error: quinn::ConnectionError) -> io::Error {
    match error {
        quinn::ConnectionError::TimedOut => io::ErrorKind::TimedOut.into(),
        quinn::ConnectionError::TransportError(why)
            if CERTIFICATE_ALERTS.contains(&u64::from(why.code)) =>
        {
            io::Error::new(io::ErrorKind::InvalidData, tls::not_trusted(&why.reason))
        }
        error => io::Error::other(error),
    }
}

impl Sender {
    /// True if the connection has not ended.
    pub(super) fn is_open(&self) -> bool {
        self.connection.close_reason().is_none()
    }

    pub(super) async fn ask(
        &mut self,
        message: Request<Bytes>,
        answer: &mut Answer,
    ) -> Result<(), Failed> {
        let failed = |error: StreamError| failed(&error);
        let (head, content) = message.into_parts();
        let request = Request::from_parts(head, ());
        let mut stream = self.send.send_request(request).await.map_err(failed)?;
        // Why content cannot be sent is seen in the answer: a server may not want it.
        if content.is_empty() || stream.send_data(content).await.is_ok() {
            stream.finish().await.map_err(failed)?;
        }
        let head = loop {
            let head = stream.recv_response().await.map_err(failed)?;
            // RFC 9110 section 15.2.
            if !head.status().is_informational() {
                break head;
            }
        };
        answer.take_head(head.status(), head.headers())?;
        while let Some(mut pieces) = stream.recv_data().await.map_err(failed)? {
            while pieces.has_remaining() {
                let piece = pieces.chunk();
                let length = piece.len();
                answer.take_piece(piece)?;
                pieces.advance(length);
            }
        }
        Ok(answer.take_end()?)
    }
}

fn failed(error: &StreamError) -> Failed {
    let (how, is_lost) = match error {
        // RFC 9114 section 4.1.1. The library does not tell whether the server is leaving.
        StreamError::RemoteTerminate {
            code: Code::H3_REQUEST_REJECTED,
            ..
        } => (How::Unprocessed, false),
        StreamError::RemoteTerminate { .. } => (How::Ended, false),
        // What the library found wrong.
        StreamError::StreamError { .. } | StreamError::HeaderTooBig { .. } => {
            (How::Malformed, false)
        }
        StreamError::ConnectionError {
            0:
                ConnectionError::Local {
                    error: LocalError::Application { .. },
                    ..
                },
            ..
        } => (How::Malformed, true),
        StreamError::RemoteClosing { .. } => (How::Unprocessed, true),
        _ => (How::Ended, true),
    };
    Failed { how, is_lost }
}
