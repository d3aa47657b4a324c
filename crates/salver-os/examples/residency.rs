//! Which call says whether a window of a file is in the page cache, at what cost, and does it tell
//! the truth: `cachestat`, `preadv2(RWF_NOWAIT)` and `mincore`, on windows that are resident, cold,
//! and resident but for one page in the middle.
//!
//! `cargo run --release -p salver-os --example residency [DIRECTORY | FILE]`
//!
//! A file of 1 MiB is made in DIRECTORY (default: the one for temporary files); a FILE of at least
//! 1 MiB is used as it is, so that it can be one that belongs to somebody else.
#![allow(clippy::print_stdout, missing_docs)]

use std::cell::RefCell;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};

const LENGTH: usize = 1024 * 1024;
const WINDOWS: [usize; 4] = [4 * 1024, 64 * 1024, 256 * 1024, LENGTH];
const SAMPLES: usize = 301;

const THIS_CRATE: &str = "salver_os::residency";

/// What a probe says of a window: resident or not; an error says that it cannot tell.
type Probe = fn(&Mapped, usize) -> io::Result<bool>;

const PROBES: [(&str, Probe); 9] = [
    (THIS_CRATE, of_this_crate),
    ("cachestat", cachestat),
    ("preadv2 first byte", first_byte),
    ("preadv2 both ends", both_ends),
    ("preadv2 every 16 KiB", every_16_kib),
    ("preadv2 each page", each_page),
    ("preadv2 all of it", all_of_it),
    ("mincore, map each time", mincore_mapping),
    ("mincore, kept mapping", mincore_kept),
];

/// A file and a mapping of its first bytes.
struct Mapped {
    file: File,
    address: *mut libc::c_void,
    page: usize,
    buffer: RefCell<Vec<u8>>,
}

impl Mapped {
    fn new(file: File) -> io::Result<Self> {
        let address = map(&file, LENGTH)?;
        let page = rustix::param::page_size();
        Ok(Mapped {
            file,
            address,
            page,
            buffer: RefCell::new(vec![0; LENGTH]),
        })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        unmap(self.address, LENGTH);
    }
}

fn map(file: &File, length: usize) -> io::Result<*mut libc::c_void> {
    let (any, shared) = (std::ptr::null_mut(), libc::MAP_SHARED);
    // SAFETY: a new mapping where the kernel likes; nothing ever reads or writes through it.
    let address = unsafe { libc::mmap(any, length, libc::PROT_READ, shared, file.as_raw_fd(), 0) };
    match address {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        address => Ok(address),
    }
}

fn unmap(address: *mut libc::c_void, length: usize) {
    // SAFETY: `address` came from `map` with this length, and nobody refers to what is there.
    unsafe { libc::munmap(address, length) };
}

fn cachestat(mapped: &Mapped, length: usize) -> io::Result<bool> {
    Ok(cached_pages(&mapped.file, length)? >= length.div_ceil(mapped.page))
}

fn cached_pages(file: &File, length: usize) -> io::Result<usize> {
    const SYS_CACHESTAT: libc::c_long = 451;
    let range = [0_u64, u64::try_from(length).map_err(io::Error::other)?];
    // cached, dirty, writeback, evicted, recently evicted
    let mut pages = [0_u64; 5];
    // SAFETY: both pointers are to live arrays of the layout that the call expects
    // (linux/mman.h), it writes only to the second, and the descriptor is open.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            pages.as_mut_ptr(),
            0,
        )
    };
    let [cached, ..] = pages;
    match result {
        0 => usize::try_from(cached).map_err(io::Error::other),
        _ => Err(io::Error::last_os_error()),
    }
}

fn byte_at(mapped: &Mapped, offset: usize) -> io::Result<bool> {
    let offset = u64::try_from(offset).map_err(io::Error::other)?;
    match salver_os::read_resident(&mapped.file, &mut [0], offset) {
        Ok(count) => Ok(count == 1),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

fn first_byte(mapped: &Mapped, _: usize) -> io::Result<bool> {
    byte_at(mapped, 0)
}

fn both_ends(mapped: &Mapped, length: usize) -> io::Result<bool> {
    Ok(byte_at(mapped, 0)? && byte_at(mapped, length - 1)?)
}

fn each(mapped: &Mapped, length: usize, step: usize) -> io::Result<bool> {
    for offset in (0..length).step_by(step) {
        if !byte_at(mapped, offset)? {
            return Ok(false);
        }
    }
    byte_at(mapped, length - 1)
}

fn every_16_kib(mapped: &Mapped, length: usize) -> io::Result<bool> {
    each(mapped, length, 16 * 1024)
}

fn each_page(mapped: &Mapped, length: usize) -> io::Result<bool> {
    each(mapped, length, mapped.page)
}

/// Reads into a buffer that is thrown away.
fn all_of_it(mapped: &Mapped, length: usize) -> io::Result<bool> {
    let mut buffer = mapped.buffer.borrow_mut();
    let mut at = 0;
    while at < length {
        let rest = buffer.get_mut(at..length).unwrap_or_default();
        let offset = u64::try_from(at).map_err(io::Error::other)?;
        match salver_os::read_resident(&mapped.file, rest, offset) {
            Ok(0) => return Ok(false),
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn of_this_crate(mapped: &Mapped, length: usize) -> io::Result<bool> {
    let window = 0..u64::try_from(length).map_err(io::Error::other)?;
    Ok(salver_os::residency(&mapped.file, &window) == salver_os::Residency::Resident)
}

fn mincore(address: *mut libc::c_void, length: usize, page: usize) -> io::Result<bool> {
    let mut pages = [0_u8; LENGTH / 4096];
    // SAFETY: `address` is that of a mapping of at least `length` bytes, and the call writes one
    // byte for each page of it, of which there are no more than `pages` has.
    let result = unsafe { libc::mincore(address, length, pages.as_mut_ptr()) };
    let mut asked = pages.iter().take(length.div_ceil(page));
    match result {
        0 => Ok(asked.all(|page| page & 1 == 1)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn mincore_mapping(mapped: &Mapped, length: usize) -> io::Result<bool> {
    let address = map(&mapped.file, length)?;
    let resident = mincore(address, length, mapped.page);
    unmap(address, length);
    resident
}

fn mincore_kept(mapped: &Mapped, length: usize) -> io::Result<bool> {
    mincore(mapped.address, length, mapped.page)
}

/// What of the file is in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Resident,
    Cold,
    /// Resident but for the page in the middle of the window.
    Hole(usize),
}

fn bring_about(mapped: &Mapped, state: State) -> io::Result<()> {
    let mut bytes = vec![0; mapped.page];
    if state == State::Resident {
        for page in 0..LENGTH / mapped.page {
            read_page(mapped, page, &mut bytes)?;
        }
        return Ok(());
    }
    fadvise(&mapped.file, 0, None, Advice::DontNeed)?;
    if let State::Hole(length) = state {
        // Page by page and without reading ahead: a larger block could not be cold in part.
        let pages = length.div_ceil(mapped.page);
        for page in (0..pages).filter(|&page| page != pages / 2) {
            read_page(mapped, page, &mut bytes)?;
        }
    }
    Ok(())
}

fn read_page(mapped: &Mapped, page: usize, bytes: &mut [u8]) -> io::Result<()> {
    let offset = u64::try_from(page * mapped.page).map_err(io::Error::other)?;
    mapped.file.read_exact_at(bytes, offset)
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

/// The cost of taking the time.
fn of_the_clock() -> Duration {
    median((0..SAMPLES).map(|_| Instant::now().elapsed()).collect())
}

/// The median cost of a call and what it said, the same each time or nothing.
fn ask(
    mapped: &Mapped,
    probe: Probe,
    length: usize,
    state: State,
    clock: Duration,
) -> io::Result<(Duration, Option<bool>)> {
    let mut samples = Vec::new();
    let mut said = [0; 2];
    for sample in 0..SAMPLES {
        // Asking may begin to read.
        if sample == 0 || state != State::Resident {
            bring_about(mapped, state)?;
        }
        let began = Instant::now();
        let answer = black_box(probe(mapped, length));
        samples.push(began.elapsed());
        let [cold, resident] = &mut said;
        *(if answer? { resident } else { cold }) += 1;
    }
    let said = match said {
        [0, _] => Some(true),
        [_, 0] => Some(false),
        _ => None,
    };
    Ok((median(samples).saturating_sub(clock), said))
}

fn of_states(length: usize) -> Vec<(&'static str, State, bool)> {
    let mut states = vec![
        ("resident", State::Resident, true),
        ("cold", State::Cold, false),
    ];
    if length > WINDOWS[0] {
        states.push(("one page cold", State::Hole(length), false));
    }
    states
}

/// Resident pages before and after asking about one of a file that is cold: whether it makes the
/// kernel read.
fn reads(mapped: &Mapped, probe: Probe) -> io::Result<Range<usize>> {
    let resident = || {
        let pages = (0..LENGTH).step_by(mapped.page);
        let addresses = pages.map(|offset| mapped.address.wrapping_byte_add(offset));
        addresses
            .filter(|&page| matches!(mincore(page, 1, mapped.page), Ok(true)))
            .count()
    };
    bring_about(mapped, State::Cold)?;
    let before = resident();
    let _ = probe(mapped, WINDOWS[0]);
    // The disk takes its time.
    let until = Instant::now() + Duration::from_millis(200);
    let mut after = resident();
    while after == before && Instant::now() < until {
        std::thread::yield_now();
        after = resident();
    }
    Ok(before..after)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let file = if path.is_dir() {
        let mut file = tempfile::tempfile_in(&path)?;
        file.write_all(&vec![b'x'; LENGTH])?;
        // What is not on disk cannot be made cold.
        file.sync_all()?;
        file
    } else {
        File::open(&path)?
    };
    if file.metadata()?.len() < u64::try_from(LENGTH)? {
        return Err("give a directory, or a file of at least 1 MiB".into());
    }
    fadvise(&file, 0, None, Advice::Random)?;
    let mapped = Mapped::new(file)?;
    let clock = of_the_clock();
    println!(
        "medians of {SAMPLES} calls in ns, less {} for the clock",
        clock.as_nanos()
    );
    println!(
        "{:>8} {:24} {:>14} {:>8} said",
        "window", "call", "state", "ns"
    );
    let mut truthful: Vec<(&str, Duration)> = Vec::new();
    for (name, probe) in PROBES {
        let mut always_true = true;
        let mut cost_of_window = Duration::ZERO;
        for length in WINDOWS {
            for (state, brought, truth) in of_states(length) {
                let kib = length / 1024;
                match ask(&mapped, probe, length, brought, clock) {
                    Ok((cost, said)) => {
                        always_true &= said == Some(truth);
                        if length == 256 * 1024 && brought == State::Resident {
                            cost_of_window = cost;
                        }
                        let said = match said {
                            Some(said) if said == truth => "the truth",
                            Some(true) => "WRONG: resident",
                            Some(false) => "WRONG: cold",
                            None => "now this, now that",
                        };
                        println!(
                            "{kib:4} KiB {name:24} {state:>14} {:8} {said}",
                            cost.as_nanos()
                        );
                    }
                    Err(error) => {
                        always_true = false;
                        println!("{kib:4} KiB {name:24} {state:>14} {:>8} {error}", "-");
                    }
                }
            }
        }
        // What this crate asks is one of the others.
        if always_true && name != THIS_CRATE {
            truthful.push((name, cost_of_window));
        }
    }
    println!();
    for (name, probe) in PROBES {
        let pages = reads(&mapped, probe)?;
        if pages.end > pages.start {
            let more = pages.end - pages.start;
            println!("{name}: asking about a cold page begins to read, {more} pages at least");
        }
    }
    bring_about(&mapped, State::Resident)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        let began = Instant::now();
        mapped.file.read_exact_at(&mut buffer, 0)?;
        samples.push(began.elapsed());
    }
    println!(
        "for scale: reading 256 KiB that are resident: {} ns",
        median(samples).as_nanos()
    );
    match truthful.iter().min_by_key(|(_, cost)| *cost) {
        Some((name, cost)) => println!(
            "the winner for 256 KiB among those that always told the truth: {name}, {} ns",
            cost.as_nanos()
        ),
        None => println!("none always told the truth"),
    }
    Ok(())
}
