//! All ways in turns, so that what else the machine does falls on all of them alike.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use super::pair::{self, End, Job};
use super::store::Store;
use super::{Cell, Figures, MeasureError, Options, Way, unless_stopped};

/// How long one batch of one way lasts at best: long against the clocks, short against what else a
/// machine may begin.
const BATCH: Duration = Duration::from_millis(20);

/// Fewer rounds have no median worth its name.
const LEAST_ROUNDS: u32 = 5;

/// More rounds tell no more; batches become longer instead.
const MOST_ROUNDS: u32 = 25;

/// What all rounds gave.
pub(super) struct Measured {
    pub(super) cells: Vec<Cell>,
    pub(super) rounds: usize,
    pub(super) pinned: bool,
}

/// How the time is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    rounds: u32,
    batch: Duration,
}

impl Plan {
    /// `cells` batches make a round.
    fn new(time: Duration, cells: usize) -> Self {
        // A tenth is for finding out how many requests make a batch.
        let time = time.mul_f64(0.9);
        let cells = u32::try_from(cells).unwrap_or(u32::MAX).max(1);
        let round = BATCH.saturating_mul(cells);
        let rounds = time.div_duration_f64(round);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the bounds"
        )]
        let rounds = rounds.clamp(LEAST_ROUNDS.into(), MOST_ROUNDS.into()) as u32;
        // An odd number has a median of its own.
        let rounds = rounds - u32::from(rounds.is_multiple_of(2));
        Plan {
            rounds,
            batch: time / rounds / cells,
        }
    }
}

/// What a batch of requests took, of one.
struct Batch {
    cpu_micros: f64,
    micros: f64,
}

/// The samples of one way at one length.
struct Samples {
    /// The number of the length.
    length: usize,
    way: Way,
    /// Requests of one batch, on each connection.
    requests: u64,
    cpu: Vec<f64>,
    time: Vec<f64>,
}

/// Measures on two threads of their own.
pub(super) fn measure(
    store: &Arc<Store>,
    options: Options<'_>,
    progress: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Measured, MeasureError> {
    let (senders, clients) = pair::connect().map_err(MeasureError::Connections)?;
    let (jobs, queue) = channel();
    let (first, last) = cores();
    std::thread::scope(|scope| {
        let client = scope.spawn(move || {
            let pinned = pin(last);
            pair::receive(clients, &queue).map(|()| pinned)
        });
        let sender = scope.spawn(move || {
            let pinned = pin(first);
            let mut sending = Sending {
                store: Arc::clone(store),
                end: End::new(senders).map_err(MeasureError::Connections)?,
                jobs,
                next: Arc::default(),
            };
            let measured = sending.all(options, progress)?;
            Ok(Measured { pinned, ..measured })
        });
        // Its sockets are closed and its jobs have ended when it has, so the client ends as well.
        let lost = || MeasureError::Connections(io::Error::other("a thread panicked"));
        let measured = sender.join().unwrap_or_else(|_| Err(lost()));
        match (measured, client.join().unwrap_or(Ok(false))) {
            (Err(MeasureError::Connections(_)), Err(why)) => Err(MeasureError::Connections(why)),
            (measured, received) => {
                let mut measured = measured?;
                measured.pinned &= received.map_err(MeasureError::Connections)? && first != last;
                Ok(measured)
            }
        }
    })
}

/// The sending thread's.
struct Sending {
    store: Arc<Store>,
    end: End,
    jobs: Sender<Job>,
    /// Which of the files of a length is next.
    next: Arc<AtomicUsize>,
}

impl Sending {
    fn all(
        &mut self,
        options: Options<'_>,
        progress: &mut (dyn FnMut(usize, usize) + Send),
    ) -> Result<Measured, MeasureError> {
        let began = Instant::now();
        let plan = Plan::new(options.time, self.store.lengths.len() * Way::ALL.len());
        let mut lengths = Vec::new();
        for length in 0..self.store.lengths.len() {
            let mut ways = Vec::new();
            for way in Way::ALL {
                unless_stopped(options.stop)?;
                ways.push(Samples {
                    length,
                    way,
                    requests: self.requests_for(plan.batch, length, way)?,
                    cpu: Vec::new(),
                    time: Vec::new(),
                });
            }
            lengths.push(ways);
        }
        let planned = usize::try_from(plan.rounds).unwrap_or(usize::MAX);
        let mut rounds = 0;
        while rounds < planned {
            let done = u32::try_from(rounds).unwrap_or(u32::MAX);
            if done >= LEAST_ROUNDS && began.elapsed() > options.time {
                break;
            }
            progress(rounds, planned);
            for ways in &mut lengths {
                for turn in 0..ways.len() {
                    unless_stopped(options.stop)?;
                    let number = whose_turn(rounds, turn, ways.len());
                    let Some(samples) = ways.get_mut(number) else {
                        continue;
                    };
                    let batch = self.batch(samples.length, samples.way, samples.requests)?;
                    samples.cpu.push(batch.cpu_micros);
                    samples.time.push(batch.micros);
                }
            }
            rounds += 1;
        }
        progress(rounds, rounds);
        let cells = self
            .store
            .lengths
            .iter()
            .zip(lengths)
            .flat_map(|(length, ways)| {
                ways.into_iter().map(|samples| Cell {
                    size: length.size,
                    way: samples.way,
                    requests: of_all(samples.requests) * u64::try_from(rounds).unwrap_or(u64::MAX),
                    cpu: Figures::of(samples.cpu),
                    time: Figures::of(samples.time),
                })
            });
        Ok(Measured {
            cells: cells.collect(),
            rounds,
            pinned: false,
        })
    }

    /// How many requests on each connection take about as long as `batch`; finding out is the warming up.
    fn requests_for(
        &mut self,
        batch: Duration,
        length: usize,
        way: Way,
    ) -> Result<u64, MeasureError> {
        let mut requests = 1;
        loop {
            let began = Instant::now();
            self.batch(length, way, requests)?;
            let took = began.elapsed();
            if took * 4 < batch {
                requests *= 2;
                continue;
            }
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "about so many; too large a number becomes the largest"
            )]
            let fitting = (requests as f64 * batch.div_duration_f64(took)) as u64;
            return Ok(fitting.max(1));
        }
    }

    fn batch(&mut self, length: usize, way: Way, requests: u64) -> Result<Batch, MeasureError> {
        self.try_batch(length, way, requests)
            .map_err(MeasureError::Connections)
    }

    fn try_batch(&mut self, number: usize, way: Way, requests: u64) -> io::Result<Batch> {
        let files = self.store.lengths.get(number).map(|length| &length.files);
        let first = files.and_then(|files| files.first());
        let answer = first.map_or(0, |file| file.bytes.len());
        let job = Job {
            requests,
            answer: u64::try_from(answer).map_err(io::Error::other)?,
        };
        self.jobs
            .send(job)
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let (before, began) = (cpu_time()?, Instant::now());
        self.end.run(|mut stream| {
            let (store, next) = (Arc::clone(&self.store), Arc::clone(&self.next));
            async move {
                let Some(length) = store.lengths.get(number) else {
                    return Ok(stream);
                };
                let mut buffer = Vec::new();
                for _ in 0..requests {
                    pair::take_request(&mut stream).await?;
                    let next = next.fetch_add(1, Ordering::Relaxed);
                    if let Some(stored) = length.files.get(next % length.files.len()) {
                        way.send(&mut stream, stored, &store.root, &mut buffer)
                            .await?;
                    }
                }
                Ok(stream)
            }
        })?;
        let (time, cpu) = (began.elapsed(), cpu_time()?.saturating_sub(before));
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let of_one = |time: Duration| time.as_secs_f64() * 1e6 / of_all(requests) as f64;
        Ok(Batch {
            cpu_micros: of_one(cpu),
            micros: of_one(time),
        })
    }
}

/// Requests on all connections together.
fn of_all(requests: u64) -> u64 {
    requests.saturating_mul(u64::try_from(pair::CONNECTIONS).unwrap_or(1))
}

/// Who comes first changes with each round, and which way round it goes as well: each comes after
/// each.
fn whose_turn(round: usize, turn: usize, count: usize) -> usize {
    let turn = if round.is_multiple_of(2) {
        turn
    } else {
        count - turn
    };
    (turn + round) % count
}

/// Processor time of this thread so far, user and system.
fn cpu_time() -> io::Result<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).map_err(io::Error::other)
}

/// Two cores that this process may use, as far apart as their numbers: neighbours often share one
/// core's units.
#[cfg(target_os = "linux")]
fn cores() -> (Option<usize>, Option<usize>) {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let Ok(allowed) = sched_getaffinity(None) else {
        return (None, None);
    };
    let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    let first = cores.next();
    (first, cores.next_back().or(first))
}

/// Whether this thread now has one core only.
#[cfg(target_os = "linux")]
fn pin(core: Option<usize>) -> bool {
    use rustix::thread::{CpuSet, sched_setaffinity};
    core.is_some_and(|core| {
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only).is_ok()
    })
}

#[cfg(not(target_os = "linux"))]
fn cores() -> (Option<usize>, Option<usize>) {
    (None, None)
}

#[cfg(not(target_os = "linux"))]
fn pin(_core: Option<usize>) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_shared_out() {
        fn check(milliseconds: u64, cells: usize, rounds: u32, batch_micros: u64) {
            let plan = Plan::new(Duration::from_millis(milliseconds), cells);
            let batch = Duration::from_micros(batch_micros);
            assert_eq!(
                (plan.rounds, plan.batch.as_micros()),
                (rounds, batch.as_micros()),
                "{milliseconds} ms for {cells}"
            );
        }
        check(15_000, 72, 9, 20_833);
        check(500, 12, 5, 7500);
        check(60_000, 72, 25, 30_000);
        check(60_000, 6, 25, 360_000);
        check(100, 72, 5, 250);
        check(10_000, 0, 25, 360_000);
    }

    #[test]
    fn each_way_has_its_turn_and_comes_first_sometimes() {
        let count = Way::ALL.len();
        let order = |round: usize| -> Vec<usize> {
            (0..count)
                .map(|turn| whose_turn(round, turn, count))
                .collect()
        };
        let mut first = Vec::new();
        for round in 0..2 * count {
            let mut order = order(round);
            first.push(order[0]);
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>(), "round {round}");
        }
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), count);
    }
}
