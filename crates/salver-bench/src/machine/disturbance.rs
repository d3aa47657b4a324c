//! The disturbance of a measurement by other programs on the cores of this machine: beyond a bound the
//! figures are those of the others as well.
//!
//! It is looked once a second. Seconds in which a core was idle count for nothing: then client and
//! server had what they wanted, whatever others did.

use std::time::Instant;

use crate::machine::environment::{OthersWatch, Usage};
use crate::machine::serving::Place;

/// Other programs that use so many cores are worth a word.
pub const DISTURBING: f64 = 0.2;

/// A machine of which less than this share is idle has no core to spare.
const IDLE: f64 = 0.1;

/// A run that was disturbed for more of its time than this is not to be believed.
const MOST: f64 = 0.1;

/// Shorter looks count too few ticks of the kernel's clock, in seconds.
const SHORTEST: f64 = 0.25;

/// Watches a run.
#[derive(Debug)]
pub(crate) struct Disturbance {
    /// The server's processes; those of this program are known.
    server: Vec<u32>,
    /// The advice if the server is taken for one of the others.
    hint: &'static str,
    look: OthersWatch,
    since: Instant,
    seen: Seen,
}

/// The sum of all looks, in seconds and seconds of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    seconds: f64,
    disturbed: f64,
    taken: f64,
    cores: f64,
}

impl Disturbance {
    /// Begins; `None` if what the server uses could not be told from what others do. `named` are the
    /// server's processes, if somebody said which.
    pub(crate) fn watch(named: &[u32], place: impl FnOnce() -> Place) -> Option<Self> {
        let (server, hint) = match named {
            [] => match place() {
                Place::Elsewhere => (Vec::new(), ""),
                Place::Hidden => return None,
                Place::Here(pids) => (pids, " (is the server among them, name it by --pid)"),
            },
            named => (named.to_vec(), ""),
        };
        Some(Disturbance {
            look: OthersWatch::start(&server),
            server,
            hint,
            since: Instant::now(),
            seen: Seen::default(),
        })
    }

    /// Looks what others took since the last time.
    pub(crate) fn look(&mut self) {
        let seconds = self.since.elapsed().as_secs_f64();
        if seconds < SHORTEST && self.seen.seconds > 0.0 {
            return;
        }
        if let Some(usage) = self.look.usage() {
            self.seen.add(seconds, &usage);
        }
        self.look = OthersWatch::start(&self.server);
        self.since = Instant::now();
    }

    /// Why the figures must not be believed, if it is for what others took.
    pub(crate) fn reason(&self) -> Option<String> {
        self.seen.reason().map(|reason| reason + self.hint)
    }
}

impl Seen {
    fn add(&mut self, seconds: f64, usage: &Usage) {
        self.seconds += seconds;
        self.cores = usage.cores;
        if usage.is_disturbing() {
            self.disturbed += seconds;
            self.taken += usage.others.taken() * seconds;
        }
    }

    fn reason(&self) -> Option<String> {
        if self.disturbed <= MOST * self.seconds {
            return None;
        }
        let cores = (self.taken / self.disturbed, self.cores);
        let how_long = format!("for {:.1} of {:.1} s", self.disturbed, self.seconds);
        Some(in_words(cores, &how_long))
    }
}

impl Usage {
    /// Why what was measured meanwhile must not be believed, if so.
    pub fn reason(&self) -> Option<String> {
        let cores = (self.others.taken(), self.cores);
        self.is_disturbing().then(|| in_words(cores, "meanwhile"))
    }

    /// True if others took cores that client and server wanted.
    pub fn is_disturbing(&self) -> bool {
        self.others.taken() >= DISTURBING && self.idle_cores < IDLE * self.cores
    }
}

fn in_words((taken, all): (f64, f64), how_long: &str) -> String {
    format!(
        "others took {taken:.1} of {all:.0} cores {how_long}, and these figures are theirs too: run it \
         again with nothing else running"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::environment::Others;

    fn usage(cores: f64, taken: f64, idle_cores: f64) -> Usage {
        Usage {
            others: Others {
                cores: taken,
                stolen_cores: 0.0,
            },
            idle_cores,
            cores,
        }
    }

    #[test]
    fn who_takes_what_nobody_wanted_disturbs_nobody() {
        let check =
            |usage: Usage, expected| assert_eq!(usage.is_disturbing(), expected, "{usage:?}");
        check(usage(2.0, 1.85, 0.0), true);
        check(usage(2.0, 0.3, 0.1), true);
        check(usage(2.0, 0.1, 0.0), false);
        check(usage(2.0, 0.5, 1.0), false);
        check(usage(64.0, 8.0, 50.0), false);
        check(usage(64.0, 62.0, 0.5), true);
        let mut stolen = usage(2.0, 0.0, 0.0);
        stolen.others.stolen_cores = 0.5;
        check(stolen, true);
    }

    #[test]
    fn a_tenth_of_the_time_is_borne_and_more_is_said() {
        let mut seen = Seen::default();
        let (calm, busy) = (usage(2.0, 0.05, 0.0), usage(2.0, 1.5, 0.0));
        (0..9).for_each(|_| seen.add(1.0, &calm));
        seen.add(1.0, &busy);
        assert_eq!(seen.reason(), None);
        seen.add(1.0, &busy);
        let reason = seen.reason().unwrap();
        let expected = "others took 1.5 of 2 cores for 2.0 of 11.0 s";
        assert!(reason.starts_with(expected), "{reason}");
        assert_eq!(Seen::default().reason(), None);
    }
}
