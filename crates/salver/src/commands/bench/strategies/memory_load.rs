//! A load on the memory bus: threads that stream through more memory than the processor's caches hold.
//!
//! A server that shares its machine finds less of its content in the last cache than one that has it
//! alone. What is in memory twice, in the page cache and in the server's own, then costs more than what
//! is there once.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// More threads than these add little: a few of them fill the bus.
const MOST_THREADS: usize = 4;

/// All buffers together are so many times as long as the last cache, and no shorter than [`SHORTEST`].
const OF_CACHE: u64 = 4;

/// In bytes; more than the caches of most machines, if the kernel does not tell.
const SHORTEST: u64 = 64 * 1024 * 1024;

/// In bytes, whatever the kernel says.
const LONGEST: u64 = 1024 * 1024 * 1024;

/// As far apart as what the processor takes from memory at a time, in words of eight bytes.
const LINE: usize = 8;

/// The load, once it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Streamed {
    /// Threads that streamed.
    pub threads: usize,
    /// The memory that they went through again and again, in bytes.
    pub buffer_bytes: u64,
    /// The part that they read, and wrote again, in MiB per second.
    pub mib_per_second: f64,
}

/// The threads; they end when this is dropped.
#[derive(Debug)]
pub(super) struct MemoryLoad {
    began: Instant,
    over: Arc<AtomicBool>,
    streamed: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
    buffer_bytes: u64,
}

impl MemoryLoad {
    /// Starts one for each core that this thread may use: those have the same cores, so that they keep
    /// off the server's where it has one of its own.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start() -> Result<MemoryLoad, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let number = cores.min(MOST_THREADS);
        let cache = last_cache().unwrap_or_default();
        let all = (cache * OF_CACHE).clamp(SHORTEST, LONGEST);
        let of_each = usize::try_from(all).unwrap_or(usize::MAX) / number;
        let mut load = MemoryLoad {
            began: Instant::now(),
            over: Arc::default(),
            streamed: Arc::default(),
            threads: Vec::new(),
            buffer_bytes: all,
        };
        for _ in 0..number {
            let (over, streamed) = (Arc::clone(&load.over), Arc::clone(&load.streamed));
            let thread = std::thread::Builder::new().name("salver-memory".to_owned());
            let spawned = thread.spawn(move || stream(of_each, &over, &streamed));
            let failed = |error| Failure::Failed(format!("a thread cannot start: {error}"));
            load.threads.push(spawned.map_err(failed)?);
        }
        Ok(load)
    }

    /// Ends it, and says what it was.
    pub(super) fn stop(mut self) -> Streamed {
        let threads = self.threads.len();
        self.end();
        let mib = (self.streamed.load(Ordering::Relaxed) >> 20) as f64;
        Streamed {
            threads,
            buffer_bytes: self.buffer_bytes,
            mib_per_second: mib / self.began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE),
        }
    }

    fn end(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

impl Drop for MemoryLoad {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads and writes a word of every line of `bytes`, again and again.
fn stream(bytes: usize, over: &AtomicBool, streamed: &AtomicU64) {
    /// After so many words it is looked whether it is over: half a MiB.
    const PIECE: usize = 64 * 1024;
    let mut buffer = vec![1_u64; bytes / size_of::<u64>()];
    while !over.load(Ordering::Relaxed) {
        for piece in buffer.chunks_mut(PIECE) {
            if over.load(Ordering::Relaxed) {
                return;
            }
            for line in piece.chunks_mut(LINE) {
                if let Some(word) = line.first_mut() {
                    *word = word.wrapping_mul(3);
                }
            }
            let length = size_of_val(piece) as u64;
            black_box(piece);
            streamed.fetch_add(length, Ordering::Relaxed);
        }
    }
}

/// The length of the largest cache of the first core, in bytes; nothing if the kernel does not tell.
fn last_cache() -> Option<u64> {
    let entries = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = entries.flatten().filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path().join("size")).ok()?;
        cache_size(&text)
    });
    sizes.max()
}

/// `32768K`, as the kernel writes it.
fn cache_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1024),
        None => (text.strip_suffix('M')?, 1024 * 1024),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_streams_until_it_is_stopped() {
        let load = MemoryLoad::start().unwrap();
        let streamed = Arc::clone(&load.streamed);
        while streamed.load(Ordering::Relaxed) < SHORTEST {
            std::thread::yield_now();
        }
        let found = load.stop();
        assert!((1..=MOST_THREADS).contains(&found.threads));
        assert!(found.buffer_bytes >= SHORTEST && found.buffer_bytes <= LONGEST);
        assert!(found.mib_per_second > 0.0, "{found:?}");
        // Nobody else has it: the threads are gone.
        assert_eq!(Arc::strong_count(&streamed), 1);
    }

    #[test]
    fn caches_are_read_as_the_kernel_writes_them() {
        let table = [
            ("32K\n", Some(32 * 1024)),
            ("32768K", Some(32 << 20)),
            ("8M\n", Some(8 << 20)),
            ("", None),
            ("K", None),
            ("12", None),
            ("99999999999999999999K", None),
        ];
        for (text, expected) in table {
            assert_eq!(cache_size(text), expected, "{text:?}");
        }
    }
}
