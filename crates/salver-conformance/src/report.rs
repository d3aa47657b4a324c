//! What a run found.

use std::fmt;

use crate::setup::Setup;

/// How an exchange was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In one write, on a fresh connection.
    Plain,
    /// In two writes, cut before this byte.
    SplitAt(usize),
    /// One byte per write.
    ByteByByte,
    /// Between two neighbours, all in one write.
    Pipelined,
    /// As HEAD instead of GET.
    AsHead,
    /// Among others on one connection, all at once.
    Concurrent,
    /// The server may send so many bytes of content before it must wait.
    SmallWindow(u32),
    /// Frames in pieces, with padding.
    Fragmented,
    /// A procedure of several steps.
    Scenario,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::SplitAt(at) => write!(f, "split at byte {at}"),
            Self::ByteByByte => f.write_str("byte by byte"),
            Self::Pipelined => f.write_str("pipelined"),
            Self::AsHead => f.write_str("as HEAD"),
            Self::Concurrent => f.write_str("among others at once"),
            Self::SmallWindow(bytes) => write!(f, "with a window of {bytes}"),
            Self::Fragmented => f.write_str("in padded pieces"),
            Self::Scenario => f.write_str("scenario"),
        }
    }
}

/// One wrong answer.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The row's name.
    pub name: String,
    /// The section that the row cites.
    pub section: &'static str,
    /// How it was played.
    pub mode: Mode,
    /// What was sent, escaped.
    pub request: String,
    /// Each thing that is wrong, and the answer.
    pub problems: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "- {} [{}] ({})", self.name, self.section, self.mode)?;
        writeln!(f, "    sent: {}", self.request)?;
        for problem in &self.problems {
            writeln!(f, "    {problem}")?;
        }
        Ok(())
    }
}

/// What one run over one setup found.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it was played over.
    pub transport: String,
    /// The configuration of the server.
    pub setup: Setup,
    /// Rows played.
    pub exchanges: usize,
    /// Rows about the syntax of HTTP/1.1, which have no counterpart in another protocol.
    pub syntax_only: usize,
    /// Requests sent for them.
    pub requests: usize,
    /// Rows not played, because the machine does not offer what they need.
    pub skipped: Vec<String>,
    /// What was wrong, one entry per row and mode.
    pub failures: Vec<Failure>,
}

impl Report {
    /// An empty report.
    pub(crate) fn new(transport: impl fmt::Display, setup: Setup) -> Self {
        Self {
            transport: transport.to_string(),
            setup,
            exchanges: 0,
            syntax_only: 0,
            requests: 0,
            skipped: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Whether nothing was wrong, and something was played at all.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures.is_empty() && self.exchanges > 0
    }

    /// Leaves what is wrong each time that rows are played, as often as three times more: a sibling that a busy machine has
    /// not verified yet is passed by for a moment.
    ///
    /// # Errors
    /// Those of `play`.
    pub fn retain_repeated<E>(
        &mut self,
        mut play: impl FnMut() -> Result<Self, E>,
    ) -> Result<(), E> {
        for _ in 0..3 {
            if self.failures.is_empty() {
                break;
            }
            let again = play()?;
            let is_wrong_again =
                |row: &Failure| again.failures.iter().any(|it| it.name == row.name);
            self.failures.retain(is_wrong_again);
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} {:?}: {} exchanges ({} more are HTTP/1.1 syntax only) in {} requests, \
             {} failures, {} rows skipped",
            self.transport,
            self.setup,
            self.exchanges,
            self.syntax_only,
            self.requests,
            self.failures.len(),
            self.skipped.len()
        )?;
        for name in &self.skipped {
            writeln!(f, "- skipped: {name}")?;
        }
        for failure in &self.failures {
            failure.fmt(f)?;
        }
        Ok(())
    }
}
