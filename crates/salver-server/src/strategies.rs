//! What each way to send costs on this machine, measured over real connections.
//!
//! For each length and each [`Way`] one thread answers requests on a few kept connections and
//! another thread, on a core of its own where there is one, asks and copies what it receives, as
//! real clients do. What counts is the processor time of the thread that sends ([`Cell::cpu`]):
//! the requests per second of a whole machine say more about the client. The ways take turns in
//! rounds, so that what else the machine does falls on all of them; medians of the rounds are given
//! with the interval in which they may lie ([`Figures`]).
//!
//! The files are written into the directory that is given (file systems differ), and taken in
//! turns: up to [`TOGETHER`] bytes of each length, so that they do not all stay in the nearest
//! cache of the processor. They are in the page cache the whole time: how cold files are told from
//! those is measured apart ([`Probed`]).
//!
//! What every answer costs alike is left out: parsing and selecting, that is. Both threads run event
//! loops of the kind that the server has.

mod figures;
mod machine;
mod pair;
mod probe;
mod rounds;
mod store;
mod suggest;
mod way;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use figures::{Figures, INTERVAL};
pub use machine::Machine;
pub use pair::CONNECTIONS;
pub use probe::{Call, Probed, State};
pub use store::TOGETHER;
pub use suggest::{Suggestion, show, suggest};
pub use way::Way;

/// The longest file that can be measured, in bytes: all files are held in memory as well.
pub const LONGEST: u64 = 64 * 1024 * 1024;

/// What is measured, and where.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// An empty directory; the files stay in it.
    pub directory: &'a Path,
    /// Lengths of the files in bytes, ascending, each between 1 and [`LONGEST`].
    pub sizes: &'a [u64],
    /// How long measuring may take, about.
    pub time: Duration,
    /// Set by somebody else to end it early.
    pub stop: &'a AtomicBool,
}

/// One way at one length.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Length of the content in bytes.
    pub size: u64,
    /// The way it was sent.
    pub way: Way,
    /// Requests in all rounds together.
    pub requests: u64,
    /// Processor time of the sending thread per request, user and system, in microseconds.
    pub cpu: Figures,
    /// Time per request with all connections busy, in microseconds.
    pub time: Figures,
}

/// Everything that was measured.
#[derive(Clone, Debug)]
pub struct Report {
    /// Where.
    pub machine: Machine,
    /// How often the ways took turns.
    pub rounds: usize,
    /// Whether sender and client had a core each.
    pub pinned: bool,
    /// Each length with each way, in the order of the lengths and of [`Way::ALL`].
    pub cells: Vec<Cell>,
    /// What it costs to ask whether a window of a file is in the page cache, and what was said.
    pub probed: Vec<Probed>,
    /// The settings that follow.
    pub suggestions: Vec<Suggestion>,
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum MeasureError {
    /// Somebody asked it to stop.
    Interrupted,
    /// The files could not be written or read.
    Files(io::Error),
    /// The two threads could not talk to each other.
    Connections(io::Error),
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeasureError::Interrupted => f.write_str("interrupted: nothing was measured"),
            MeasureError::Files(error) => write!(f, "the files to measure with: {error}"),
            MeasureError::Connections(error) => {
                write!(f, "measuring over loopback connections: {error}")
            }
        }
    }
}

impl std::error::Error for MeasureError {}

/// Measures all ways. `progress` is told how many of how many rounds are done.
///
/// # Errors
/// Why it could not be done, or that it was stopped.
pub fn measure(
    options: Options<'_>,
    progress: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Report, MeasureError> {
    let store = store::Store::new(options.directory, options.sizes, options.stop)?;
    let store = Arc::new(store);
    let probed = probe::probe(options.directory, options.stop)?;
    let measured = rounds::measure(&store, options, progress)?;
    Ok(Report {
        machine: Machine::of(options.directory),
        rounds: measured.rounds,
        pinned: measured.pinned,
        suggestions: suggest(&measured.cells),
        cells: measured.cells,
        probed,
    })
}

/// Whether to go on.
fn unless_stopped(stop: &AtomicBool) -> Result<(), MeasureError> {
    if stop.load(Ordering::Relaxed) {
        Err(MeasureError::Interrupted)
    } else {
        Ok(())
    }
}
