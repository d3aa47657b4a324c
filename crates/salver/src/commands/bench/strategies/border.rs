//! From what was measured to the settings that follow.

use salver_assets::Config;
use salver_bench::compare::order::Side;
use salver_bench::report::Interval;
use serde::{Deserialize, Serialize};

use crate::values::{LONGEST_MEASURED, show};

/// A way for content to leave, and the settings of `salver serve` that choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// It is kept in memory, head and content in one send or write.
    Memory,
    /// It is not kept; its file stays open, and each window that is in the page cache leaves by
    /// `sendfile`.
    OpenHandle,
    /// Nothing is kept: the file is found, opened, read whole and closed for each request.
    Read,
    /// Nothing is kept: the file is found, opened, sent by `sendfile` and closed for each request.
    Sendfile,
}

impl Way {
    /// All of them.
    pub(super) const ALL: [Way; 4] = [Way::Memory, Way::OpenHandle, Way::Read, Way::Sendfile];

    /// Its name for a person.
    pub(super) fn title(self) -> &'static str {
        match self {
            Way::Memory => "memory",
            Way::OpenHandle => "an open handle",
            Way::Read => "reading",
            Way::Sendfile => "sendfile",
        }
    }

    /// The flags of `serve` that choose it at every length.
    pub(super) fn arguments(self) -> Vec<std::ffi::OsString> {
        // A sixteenth of the cache is the most that one content may take; what is not used costs nothing.
        let cache = format!("--cache-size={}", 32 * LONGEST_MEASURED);
        let kept = format!("--cache-max-file={LONGEST_MEASURED}");
        let flags = match self {
            Way::Memory => [kept, cache],
            Way::OpenHandle => ["--cache-max-file=0", "--sendfile-from=0"].map(str::to_owned),
            Way::Read => {
                let never = format!("--sendfile-from={}", LONGEST_MEASURED + 1);
                ["--no-cache".to_owned(), never]
            }
            Way::Sendfile => ["--no-cache", "--sendfile-from=0"].map(str::to_owned),
        };
        flags.into_iter().map(Into::into).collect()
    }
}

/// A setting that divides files by their length between two ways.
#[derive(Debug)]
pub(super) struct Border {
    /// The flag of `serve`.
    pub(super) flag: &'static str,
    default: fn(&Config) -> u64,
    /// True if a file of exactly this length still belongs to those below.
    inclusive: bool,
    pub(super) below: Way,
    pub(super) above: Way,
}

/// The borders: what is kept in memory against what is done with files that are too long for it; and how files leave
/// that are not kept at all. One for each setting, so that each has one value.
pub(super) static BORDERS: [Border; 2] = [
    Border {
        flag: "--cache-max-file",
        default: |config| config.cache_max_file,
        inclusive: true,
        below: Way::Memory,
        above: Way::OpenHandle,
    },
    Border {
        flag: "--sendfile-from",
        default: |config| config.sendfile_from,
        inclusive: false,
        below: Way::Read,
        above: Way::Sendfile,
    },
];

/// Less than this is no reason to leave a default: those are used by many, on many machines.
const WORTH: f64 = 0.8;

/// The server's CPU per request both ways at one length, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// By the way of shorter files: the median of the trials.
    pub below_us: f64,
    /// By the way of longer files.
    pub above_us: f64,
    /// The second by the first, from neighbouring trials, with its 95 % interval.
    pub ratio: Interval,
}

/// One length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Length {
    /// In bytes.
    pub size: u64,
    /// With nothing else running.
    pub quiet: Costs,
    /// Beside a load on the memory bus, if that was asked for.
    pub busy: Option<Costs>,
}

impl Length {
    /// The costs that count: where requests are dearer there is more to spare.
    fn counts(&self) -> &Costs {
        let both = |costs: &Costs| costs.below_us + costs.above_us;
        match &self.busy {
            Some(busy) if both(busy) > both(&self.quiet) => busy,
            _ => &self.quiet,
        }
    }
}

/// A setting of `salver serve` and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suggestion {
    /// In bytes.
    pub(super) value: u64,
    /// What it is if nobody says anything, in bytes.
    pub(super) default: u64,
    /// One line.
    pub(super) reason: String,
}

impl Border {
    /// The way that a side of the comparison is.
    pub(super) fn way(&self, side: Side) -> Way {
        match side {
            Side::A => self.below,
            Side::B => self.above,
        }
    }

    /// The setting that fits what was measured at these lengths, ascending. The default is left only for
    /// what is cheaper by more than chance explains, and by a fifth.
    pub(super) fn suggest(&self, lengths: &[Length]) -> Suggestion {
        let default = (self.default)(&Config::default());
        let value = self.best(lengths, default);
        Suggestion {
            value,
            default,
            reason: self.reason(lengths, value, default),
        }
    }

    /// True if a border leaves this length on the side that is clearly dearer.
    fn is_wrong(&self, length: &Length, border: u64) -> bool {
        let Interval { ratio, low, high } = length.counts().ratio;
        match length.size < border || (self.inclusive && length.size == border) {
            true => high < 1.0 && ratio < WORTH,
            false => low > 1.0 && ratio > 1.0 / WORTH,
        }
    }

    /// The border with the fewest lengths on the wrong side; of several the default, or what is
    /// nearest to it.
    fn best(&self, lengths: &[Length], default: u64) -> u64 {
        let sizes = lengths.iter().map(|length| length.size);
        let nothing = lengths.first().map(|_| 0);
        // Longer than everything that was measured.
        let everything = { lengths.last() }.map(|last| (last.size + 1).next_power_of_two());
        let candidates = sizes.chain(nothing).chain(everything).chain([default]);
        let wrong = |border: u64| {
            let is_wrong = |length: &&Length| self.is_wrong(length, border);
            lengths.iter().filter(is_wrong).count()
        };
        candidates
            .min_by_key(|&border| (wrong(border), border.abs_diff(default)))
            .unwrap_or(default)
    }

    fn reason(&self, lengths: &[Length], value: u64, default: u64) -> String {
        let costs = |length: &Length| {
            let costs = length.counts();
            let beside = match length.busy.as_ref() == Some(costs) {
                true => " beside a load on the memory bus",
                false => "",
            };
            format!(
                "at {} {} costs {:.1} us of CPU and {} {:.1} us{beside}",
                show(length.size),
                self.below.title(),
                costs.below_us,
                self.above.title(),
                costs.above_us
            )
        };
        if value == default {
            return match lengths.iter().find(|one| self.is_wrong(one, value)) {
                None => "the default: at no length is another way cheaper by a fifth".to_owned(),
                Some(wrong) => format!(
                    "the default: another value would be wrong at as many lengths, though {}",
                    costs(wrong)
                ),
            };
        }
        // What speaks against the default, nearest to the value.
        let mut against = lengths
            .iter()
            .filter(|one| self.is_wrong(one, default) && !self.is_wrong(one, value));
        let against = match value < default {
            true => against.next(),
            false => against.next_back(),
        };
        against.map_or_else(String::new, costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;

    /// A length in KiB with the costs of both ways.
    fn kib((length, below, above): (u64, f64, f64)) -> (u64, f64, f64) {
        (length * KIB, below, above)
    }

    fn costs(below: f64, above: f64) -> Costs {
        let ratio = above / below;
        Costs {
            below_us: below,
            above_us: above,
            ratio: Interval {
                ratio,
                low: ratio * 0.9,
                high: ratio * 1.1,
            },
        }
    }

    fn quiet(size: u64, below: f64, above: f64) -> Length {
        Length {
            size,
            quiet: costs(below, above),
            busy: None,
        }
    }

    /// `lengths`: length, cost of the way below the border, cost of the way above.
    fn check(border: &Border, lengths: &[(u64, f64, f64)], value: u64, reason: &str) {
        let lengths: Vec<Length> = lengths.iter().map(|&(s, b, a)| quiet(s, b, a)).collect();
        let suggestion = border.suggest(&lengths);
        assert_eq!(suggestion.value, value, "{lengths:?}: {suggestion:?}");
        assert!(suggestion.reason.contains(reason), "{suggestion:?}");
        assert_eq!(suggestion.reason.lines().count(), 1);
    }

    #[test]
    fn memory_ends_where_an_open_handle_is_clearly_cheaper() {
        let check = |lengths: &[(u64, f64, f64)], value, reason| {
            check(&BORDERS[0], lengths, value, reason);
        };
        let default = Config::default().cache_max_file;
        assert_eq!(default, 32 * KIB);
        // The shape that the defaults were found with.
        let short = [(1, 7.0, 10.0), (10, 9.0, 11.0), (50, 18.0, 19.0)];
        let long = [(64, 22.0, 22.0), (100, 33.0, 29.0), (1024, 320.0, 240.0)];
        let usual = [short, long]
            .concat()
            .into_iter()
            .map(kib)
            .collect::<Vec<_>>();
        check(&usual, default, "at no length");
        let early = [(16, 9.0, 12.0), (32, 20.0, 14.0), (64, 40.0, 20.0)].map(kib);
        let reason = "at 32KiB memory costs 20.0 us of CPU and an open handle 14.0 us";
        check(&early, 16 * KIB, reason);
        // One length by chance does not move it.
        let outlier = [(1, 5.0, 6.8), (10, 20.0, 8.1), (30, 13.0, 18.0)].map(kib);
        check(&outlier, default, "at 10KiB memory costs 20.0 us");
        // Memory is cheaper beyond the default, and not for ever.
        let beyond = [
            (256, 60.0, 99.0),
            (1024, 160.0, 230.0),
            (4096, 900.0, 700.0),
        ]
        .map(kib);
        check(&beyond, MIB, "at 1MiB memory costs 160.0 us");
        check(&beyond[..2], MIB, "at 1MiB");
        check(&[(KIB, 9.0, 6.0), (MIB, 99.0, 73.0)], 0, "at 1KiB");
    }

    #[test]
    fn sendfile_begins_where_reading_is_clearly_dearer() {
        let check = |lengths: &[(u64, f64, f64)], value, reason| {
            check(&BORDERS[1], lengths, value, reason);
        };
        let usual = [(1, 9.9, 10.9), (50, 12.9, 11.0), (100, 19.8, 16.1)].map(kib);
        check(&usual, Config::default().sendfile_from, "at no length");
        let early = [(1, 9.9, 10.4), (4, 10.0, 7.5), (16, 12.0, 9.0)].map(kib);
        let reason = "at 4KiB reading costs 10.0 us of CPU and sendfile 7.5 us";
        check(&early, 4 * KIB, reason);
        let late = [(32, 9.0, 12.0), (64, 12.0, 16.0), (100, 20.0, 14.0)].map(kib);
        check(&late, 100 * KIB, "at 64KiB reading costs 12.0 us");
        let never = [(64 * KIB, 12.0, 16.0), (MIB, 100.0, 150.0)];
        check(&never, 2 * MIB, "at 1MiB reading costs 100.0 us");
    }

    #[test]
    fn what_chance_explains_moves_nothing() {
        let mut length = quiet(32 * KIB, 20.0, 10.0);
        let default = Config::default().cache_max_file;
        assert_ne!(BORDERS[0].suggest(&[length]).value, default);
        length.quiet.ratio.high = 1.01;
        assert_eq!(BORDERS[0].suggest(&[length]).value, default);
        assert_eq!(BORDERS[0].suggest(&[]).value, default);
    }

    #[test]
    fn the_dearer_of_quiet_and_busy_counts() {
        let mut length = quiet(30 * KIB, 18.0, 19.0);
        length.busy = Some(costs(40.0, 25.0));
        let found = BORDERS[0].suggest(&[length]);
        assert_eq!(found.value, 0);
        let reason =
            "at 30KiB memory costs 40.0 us of CPU and an open handle 25.0 us beside a load";
        assert!(found.reason.starts_with(reason), "{found:?}");
        // A load that made nothing dearer says nothing.
        length.busy = Some(costs(15.0, 10.0));
        let default = Config::default().cache_max_file;
        assert_eq!(BORDERS[0].suggest(&[length]).value, default);
    }
}
