//! A connection that was opened, and a request on it that failed, whatever the version of HTTP.

use tokio::task::JoinHandle;

use crate::answer::framed::Contradictory;
use crate::result::model::Tls;

/// The bytes that a server may send on one stream before they are read. It is read at once: a small
/// window would make the server wait for the network's sake alone.
pub(super) const STREAM_WINDOW: u32 = 8 << 20;

/// The same for all streams of a connection together: this bounds what the libraries keep.
pub(super) const CONNECTION_WINDOW: u32 = 32 << 20;

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The stream or the connection has ended.
    Ended,
    /// What came is no answer, or contradicts itself.
    Malformed,
    /// The server is leaving, and said that it has not looked at it (RFC 9113 section 6.8, RFC 9114
    /// section 5.2).
    Unprocessed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) how: How,
    /// The connection takes no more requests.
    pub(crate) is_lost: bool,
}

impl From<Contradictory> for Failed {
    fn from(_: Contradictory) -> Failed {
        Failed {
            how: How::Malformed,
            is_lost: false,
        }
    }
}

/// A connection that was opened: its session, the task that ends with it, and what TLS has agreed.
pub(crate) type Opened<S> = (S, JoinHandle<()>, Option<Tls>);
