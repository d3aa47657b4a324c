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
    /// The configuration of the server.
    pub setup: Setup,
    /// Rows played.
    pub exchanges: usize,
    /// Requests sent for them.
    pub requests: usize,
    /// Rows not played, because the machine does not offer what they need.
    pub skipped: Vec<String>,
    /// What was wrong, one entry per row and mode.
    pub failures: Vec<Failure>,
}

impl Report {
    /// An empty report.
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            setup,
            exchanges: 0,
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
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:?}: {} exchanges in {} requests, {} failures, {} rows skipped",
            self.setup,
            self.exchanges,
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
