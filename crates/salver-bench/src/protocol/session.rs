//! A connection that carries many requests at once: HTTP/2 over TCP, HTTP/3 over QUIC.

use std::future::poll_fn;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::runtime::{Builder, Runtime};

use super::opened::{Failed, Opened};
use super::{http2, http3};
use crate::answer::Answer;
use crate::protocol::transport::Dialer;
use crate::result::model::Http;

/// A runtime for one thread.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// How long connections may take to end in order.
const FAREWELL: Duration = Duration::from_millis(300);

/// An open connection; clones are the same one.
#[derive(Clone)]
pub(crate) enum Session {
    Two(http2::Sender),
    Three(http3::Sender),
}

impl Session {
    /// Waits until it takes another request; whether it does at all.
    pub(crate) async fn is_ready(&mut self) -> bool {
        match self {
            Session::Two(sender) => poll_fn(|cx| sender.poll_ready(cx)).await.is_ok(),
            Session::Three(sender) => sender.is_open(),
        }
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn ask(
        &mut self,
        message: Request<Bytes>,
        answer: &mut Answer,
    ) -> Result<(), Failed> {
        match self {
            Session::Two(sender) => http2::ask(sender, message, answer).await,
            Session::Three(sender) => sender.ask(message, answer).await,
        }
    }
}

/// Opens connections. It belongs to a runtime.
pub(crate) struct Opener {
    dialer: Dialer,
    quic: Option<http3::Sockets>,
}

impl Opener {
    /// For so many connections. To be called within the runtime.
    pub(crate) fn new(dialer: Dialer, connections: usize) -> io::Result<Opener> {
        let quic = match dialer.http {
            Http::Three => Some(http3::Sockets::new(&dialer, connections)?),
            Http::One | Http::Two => None,
        };
        Ok(Opener { dialer, quic })
    }

    /// Opens a connection, handshakes included, within a time.
    ///
    /// # Errors
    /// What went wrong; in TLS also what to do about it.
    pub(crate) async fn open(
        &self,
        number: usize,
        patience: Duration,
    ) -> io::Result<Opened<Session>> {
        let opening = async {
            match &self.quic {
                Some(sockets) => {
                    let (sender, driver, tls) = sockets.open(&self.dialer, number).await?;
                    Ok((Session::Three(sender), driver, tls))
                }
                None => {
                    let (sender, driver, tls) = http2::open(&self.dialer, number).await?;
                    Ok((Session::Two(sender), driver, tls))
                }
            }
        };
        tokio::time::timeout(patience, opening).await?
    }

    /// Ends all connections, so that the server need not wait for them.
    pub(crate) async fn close(&self) {
        if let Some(sockets) = &self.quic {
            // Who does not answer that need not be waited for.
            let _ = tokio::time::timeout(FAREWELL, sockets.close()).await;
        }
    }
}
