//! What HTTP/2 and HTTP/3 have in common for a client: several requests on one connection.

use std::fmt;

use crate::carried::Carried;
use crate::exchange::Request;
use crate::response::Response;
use crate::transport::Transport;

/// How requests are put on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As ordinary clients do.
    Plain,
    /// The server may send so many bytes of content per stream before it must wait.
    Window(u32),
    /// Every frame that can be in pieces is, with padding.
    Fragmented,
    /// In two writes, cut before this byte.
    SplitAt(usize),
    /// One byte per write.
    ByteByByte,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// An answer.
    Answer(Response),
    /// The stream was reset with this code.
    Reset(u64),
    /// The connection was ended with this code.
    Ended(u64),
}

impl Outcome {
    /// The answer, or a sentence on why there is none.
    pub(crate) fn answer(self) -> Result<Response, String> {
        match self {
            Self::Answer(response) => Ok(response),
            refused => Err(refused.to_string()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(response) => write!(f, "{response}"),
            Self::Reset(code) => write!(f, "the stream was reset with code {code:#x}"),
            Self::Ended(code) => write!(f, "the connection was ended with code {code:#x}"),
        }
    }
}

/// One connection.
pub(crate) trait Session {
    /// Sends all requests at once and gives what became of each, in order.
    fn ask(&mut self, requests: &[Carried]) -> Result<Vec<Outcome>, String>;

    /// How requests are sent from now on.
    fn set_manner(&mut self, manner: Manner);

    /// Succeeds if the connection is alive and nothing is left on it.
    fn settle(&mut self) -> Result<(), String>;

    /// Sends one request.
    fn ask_one(&mut self, request: &Carried) -> Result<Outcome, String> {
        self.ask(std::slice::from_ref(request))?
            .pop()
            .ok_or_else(|| "no outcome".to_owned())
    }
}

/// What opens connections to the server under test.
pub(crate) trait Carrier {
    /// A new connection.
    fn open(&self, manner: Manner) -> Result<Box<dyn Session + '_>, String>;

    /// Whether frames can be cut and padded by the client: those of QUIC are its own matter.
    fn has_frames_of_its_own(&self) -> bool;

    /// The code with which a stream is reset for a malformed request.
    fn malformed(&self) -> u64;

    /// A request in the words of this protocol.
    fn carry(&self, request: &Request) -> Carried;
}

/// A carrier as a transport: each request on a fresh connection.
pub(crate) struct EachFresh<'a>(pub(crate) &'a dyn Carrier);

impl Transport for EachFresh<'_> {
    fn exchange(&self, request: &Request) -> Result<Response, String> {
        let carried = self.0.carry(request);
        self.0.open(Manner::Plain)?.ask_one(&carried)?.answer()
    }
}
