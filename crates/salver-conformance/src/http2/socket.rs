//! Frames over a blocking connection, judged by nobody.

use std::io;
use std::time::Duration;

use crate::endpoint::Endpoint;
use crate::http2::frame::Frame;
use crate::wire::Wire;

/// What a client sends first (RFC 9113 section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that carries whatever frames it is told to.
pub struct FrameSocket {
    wire: Wire,
    received: Vec<u8>,
}

impl FrameSocket {
    /// Connects, with the TLS handshake if there is one. Sends nothing of HTTP/2 yet.
    ///
    /// # Errors
    /// A sentence: no connection, no handshake, or another protocol.
    pub fn open(endpoint: &Endpoint) -> Result<Self, String> {
        Ok(Self {
            wire: Wire::open(endpoint)?,
            received: Vec::new(),
        })
    }

    /// The same, with the preface and these settings sent.
    ///
    /// # Errors
    /// As [`open`](Self::open), or the connection ended at once.
    pub fn start(endpoint: &Endpoint, settings: &[(u16, u32)]) -> Result<Self, String> {
        let mut this = Self::open(endpoint)?;
        let mut bytes = PREFACE.to_vec();
        bytes.extend_from_slice(&Frame::settings(settings).to_bytes());
        this.send(&bytes)
            .map_err(|error| format!("send: {error}"))?;
        Ok(this)
    }

    /// Sends bytes, whatever they are, in one write.
    ///
    /// # Errors
    /// What the connection says: it has ended, or takes nothing for ten seconds or for the time
    /// that was set.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.wire.send(bytes)
    }

    /// Sends frames in one write.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_frames(&mut self, frames: &[Frame]) -> io::Result<()> {
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::to_bytes).collect();
        self.send(&bytes)
    }

    /// The next frame; `None` at the end of the connection.
    ///
    /// # Errors
    /// Nothing comes in time, the connection is reset, or it ends within a frame.
    pub fn read(&mut self) -> Result<Option<Frame>, String> {
        loop {
            if let Some(frame) = Frame::take(&mut self.received) {
                return Ok(Some(frame));
            }
            if !self.wire.fill(&mut self.received)? {
                return if self.received.is_empty() {
                    Ok(None)
                } else {
                    Err(format!(
                        "the connection ended in a frame: {}",
                        self.received.escape_ascii()
                    ))
                };
            }
        }
    }

    /// How long a read and a write wait from now on; ten seconds at first.
    ///
    /// # Errors
    /// The socket refuses, for example a time of zero.
    pub fn set_patience(&self, read: Duration, write: Duration) -> io::Result<()> {
        self.wire.set_patience(read, write)
    }
}
