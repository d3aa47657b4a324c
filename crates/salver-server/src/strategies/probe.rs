//! What it costs to ask whether a window of a file is in the page cache, and what is said.
//!
//! `examples/residency.rs` of salver-os compares these calls with others.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::fs::{Advice, fadvise};
use salver_os::Residency;

use super::{Figures, MeasureError, unless_stopped};

/// A call that tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`salver_os::residency`], which the server asks before each window.
    Residency,
    /// [`salver_os::read_resident`] of the first byte, which knows of no other.
    ReadByte,
}

/// What was done with the file before it was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All of it was read.
    Read,
    /// The kernel was advised to let go of it. File systems that live in memory do not.
    Dropped,
    /// So it was, and then all was read but the page in the middle of the window.
    DroppedInTheMiddle,
}

/// The answers of one call to one question.
#[derive(Clone, Copy, Debug)]
pub struct Probed {
    /// What was called.
    pub call: Call,
    /// Length of the window in bytes.
    pub window: u64,
    /// What had been done before.
    pub state: State,
    /// Time of a call in nanoseconds.
    pub nanoseconds: Figures,
    /// Of the answers, the share that said: resident. 0 to 1.
    pub resident: f64,
}

impl Call {
    /// All of them.
    pub const ALL: [Call; 2] = [Call::Residency, Call::ReadByte];

    /// What a program calls it.
    pub fn name(self) -> &'static str {
        match self {
            Call::Residency => "residency",
            Call::ReadByte => "read-byte",
        }
    }

    fn ask(self, file: &File, window: &Range<u64>) -> bool {
        match self {
            Call::Residency => salver_os::residency(file, window) == Residency::Resident,
            Call::ReadByte => {
                matches!(
                    salver_os::read_resident(file, &mut [0], window.start),
                    Ok(1)
                )
            }
        }
    }
}

impl State {
    /// All of them.
    pub const ALL: [State; 3] = [State::Read, State::Dropped, State::DroppedInTheMiddle];

    /// What a program calls it.
    pub fn name(self) -> &'static str {
        match self {
            State::Read => "read",
            State::Dropped => "dropped",
            State::DroppedInTheMiddle => "dropped-in-the-middle",
        }
    }
}

const KIB: u64 = 1024;

/// Windows that are asked about; the longest is the whole file.
const WINDOWS: [u64; 4] = [4 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB];
const LENGTH: u64 = 1024 * KIB;

/// Calls for each question.
const CALLS: u32 = 51;

/// Asks everything of a file in `directory`.
pub(super) fn probe(directory: &Path, stop: &AtomicBool) -> Result<Vec<Probed>, MeasureError> {
    let file = prepare(directory).map_err(MeasureError::Files)?;
    let mut probed = Vec::new();
    for call in Call::ALL {
        for window in WINDOWS {
            for state in State::ALL {
                if state == State::DroppedInTheMiddle && window <= page() {
                    continue;
                }
                unless_stopped(stop)?;
                probed.push(ask(&file, call, window, state).map_err(MeasureError::Files)?);
            }
        }
    }
    Ok(probed)
}

fn page() -> u64 {
    u64::try_from(rustix::param::page_size()).unwrap_or(4 * KIB)
}

fn prepare(directory: &Path) -> io::Result<File> {
    let path = directory.join("window.bin");
    let mut file = File::create_new(&path)?;
    let kib = [b'x'; 1024];
    for _ in 0..LENGTH / KIB {
        file.write_all(&kib)?;
    }
    // What is not on disk is not let go of.
    file.sync_all()?;
    let file = File::open(path)?;
    // Else what is read around the page in the middle would bring that in as well.
    fadvise(&file, 0, None, Advice::Random)?;
    Ok(file)
}

fn bring_about(file: &File, window: u64, state: State) -> io::Result<()> {
    let page = page();
    let mut bytes = vec![0; usize::try_from(page).map_err(io::Error::other)?];
    let pages = match state {
        State::Read => 0..LENGTH / page,
        State::Dropped | State::DroppedInTheMiddle => 0..window / page,
    };
    let middle = pages.end / 2;
    if state != State::Read {
        fadvise(file, 0, None, Advice::DontNeed)?;
    }
    for number in pages {
        let is_read = match state {
            State::Read => true,
            State::Dropped => false,
            State::DroppedInTheMiddle => number != middle,
        };
        if is_read {
            file.read_exact_at(&mut bytes, number * page)?;
        }
    }
    Ok(())
}

fn ask(file: &File, call: Call, window: u64, state: State) -> io::Result<Probed> {
    let mut samples = Vec::new();
    let mut resident = 0;
    for number in 0..CALLS {
        // A call may begin to read what it is asked about.
        if number == 0 || state != State::Read {
            bring_about(file, window, state)?;
        }
        let began = Instant::now();
        resident += u32::from(black_box(call.ask(file, &(0..window))));
        samples.push(began.elapsed().as_secs_f64() * 1e9);
    }
    Ok(Probed {
        call,
        window,
        state,
        nanoseconds: Figures::of(samples),
        resident: f64::from(resident) / f64::from(CALLS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_resident_and_costs_something_to_ask() {
        let temp = tempfile::tempdir().unwrap();
        let probed = probe(temp.path(), &AtomicBool::new(false)).unwrap();
        assert_eq!(probed.len(), 2 * (4 * 3 - 1));
        for probed in &probed {
            assert!(probed.nanoseconds.median > 0.0, "{probed:?}");
            assert!((0.0..=1.0).contains(&probed.resident), "{probed:?}");
            if probed.call == Call::Residency && probed.state == State::Read {
                assert!(probed.resident > 0.9, "{probed:?}");
            }
        }
    }
}
