//! From what was measured to the settings that follow.

use salver_assets::Config;

use super::{Cell, Figures, Way};

/// A setting of `salver serve` and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The flag: `--cache-max-file`, say.
    pub flag: &'static str,
    /// Its value in bytes.
    pub value: u64,
    /// What it is if nobody says anything, in bytes.
    pub default: u64,
    /// One line.
    pub reason: String,
}

/// A length that divides the files between two ways to send.
struct Border {
    flag: &'static str,
    default: fn(&Config) -> u64,
    /// Whether a file of exactly this length still belongs to those below.
    inclusive: bool,
    /// Of these the cheaper one counts, at each length anew.
    below: &'static [Way],
    below_title: &'static str,
    above: &'static [Way],
    above_title: &'static str,
}

/// Memory against what is done with files that are too long for it: their handles stay open.
const CACHE_MAX_FILE: Border = Border {
    flag: "--cache-max-file",
    default: |config| config.cache_max_file,
    inclusive: true,
    below: &[Way::MemoryOnePiece, Way::MemoryVectored],
    below_title: "memory",
    above: &[Way::HandleSendfile],
    above_title: "an open handle with sendfile",
};

/// What is not in memory is opened for the request either way.
const SENDFILE_FROM: Border = Border {
    flag: "--sendfile-from",
    default: |config| config.sendfile_from,
    inclusive: false,
    below: &[Way::OpenRead],
    below_title: "reading",
    above: &[Way::OpenSendfile],
    above_title: "sendfile",
};

/// Less than this is no reason to leave a default. What is not measured is not quite alike: an open
/// file of 32 to 64 KiB costs the whole server 2.2 to 2.7 us more than here, memory 0 to 1.4 us.
const WORTH: f64 = 0.8;

/// The settings that fit the measured machine. A default is left only for what is cheaper by more
/// than chance explains, and by a fifth.
pub fn suggest(cells: &[Cell]) -> Vec<Suggestion> {
    let defaults = Config::default();
    let suggest = |border: &Border| border.suggest(cells, (border.default)(&defaults));
    [CACHE_MAX_FILE, SENDFILE_FROM]
        .iter()
        .map(suggest)
        .collect()
}

/// A length as a flag takes it, and as a person reads it.
pub fn show(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(MIB) => format!("{}MiB", bytes / MIB),
        _ if bytes.is_multiple_of(KIB) => format!("{}KiB", bytes / KIB),
        _ => bytes.to_string(),
    }
}

/// One length: what each side costs there.
#[derive(Clone, Copy)]
struct Compared {
    size: u64,
    below: Figures,
    above: Figures,
}

impl Border {
    fn suggest(&self, cells: &[Cell], default: u64) -> Suggestion {
        let compared = self.compare(cells);
        let value = self.best(&compared, default);
        Suggestion {
            flag: self.flag,
            value,
            default,
            reason: self.reason(&compared, value, default),
        }
    }

    /// The lengths at which both sides were measured, ascending.
    fn compare(&self, cells: &[Cell]) -> Vec<Compared> {
        let mut sizes: Vec<u64> = cells.iter().map(|cell| cell.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let cheapest = |size: u64, ways: &[Way]| {
            let there = cells
                .iter()
                .filter(|cell| cell.size == size && ways.contains(&cell.way));
            there
                .map(|cell| cell.cpu)
                .min_by(|a, b| a.median.total_cmp(&b.median))
        };
        let compare = |size| {
            let below = cheapest(size, self.below)?;
            let above = cheapest(size, self.above)?;
            Some(Compared { size, below, above })
        };
        sizes.into_iter().filter_map(compare).collect()
    }

    fn is_below(&self, size: u64, border: u64) -> bool {
        size < border || (self.inclusive && size == border)
    }

    /// Whether a border leaves this length on the side that is clearly dearer.
    fn is_wrong(&self, compared: &Compared, border: u64) -> bool {
        let Compared { size, below, above } = compared;
        let (taken, other) = if self.is_below(*size, border) {
            (below, above)
        } else {
            (above, below)
        };
        other.is_clearly_below(taken) && other.median < taken.median * WORTH
    }

    /// The border with the fewest lengths on the wrong side; of several the default, or what is
    /// nearest to it.
    fn best(&self, compared: &[Compared], default: u64) -> u64 {
        let sizes = compared.iter().map(|compared| compared.size);
        let nothing = compared.first().map(|_| 0);
        // Longer than everything that was measured.
        let everything = compared
            .last()
            .map(|last| (last.size + 1).next_power_of_two());
        let candidates = sizes.chain(nothing).chain(everything).chain([default]);
        let wrong = |border: u64| {
            compared
                .iter()
                .filter(|compared| self.is_wrong(compared, border))
                .count()
        };
        candidates
            .min_by_key(|&border| (wrong(border), border.abs_diff(default)))
            .unwrap_or(default)
    }

    fn reason(&self, compared: &[Compared], value: u64, default: u64) -> String {
        let costs = |compared: &Compared| {
            format!(
                "at {} {} costs {:.1} us of CPU and {} {:.1} us",
                show(compared.size),
                self.below_title,
                compared.below.median,
                self.above_title,
                compared.above.median
            )
        };
        if value == default {
            let wrong = compared.iter().find(|one| self.is_wrong(one, value));
            return match (compared.is_empty(), wrong) {
                (true, _) => "the default: nothing was measured".to_owned(),
                (_, None) => {
                    "the default: at no length is another way cheaper by a fifth".to_owned()
                }
                (_, Some(wrong)) => format!(
                    "the default: another value would be wrong at as many lengths, though {}",
                    costs(wrong)
                ),
            };
        }
        // What speaks against the default, nearest to the value.
        let mut against = compared
            .iter()
            .filter(|one| self.is_wrong(one, default) && !self.is_wrong(one, value));
        let against = if value < default {
            against.next()
        } else {
            against.next_back()
        };
        against.map_or_else(String::new, costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;

    fn figures(median: f64) -> Figures {
        Figures {
            median,
            low: median * 0.95,
            high: median * 1.05,
        }
    }

    fn cells(costs: &[(u64, f64, f64)], below: Way, above: Way) -> Vec<Cell> {
        let cell = |size, way, cost| Cell {
            size,
            way,
            requests: 1,
            cpu: figures(cost),
            time: figures(cost),
        };
        let of_size = |&(size, cost_below, cost_above): &(u64, f64, f64)| {
            [cell(size, below, cost_below), cell(size, above, cost_above)]
        };
        costs.iter().flat_map(of_size).collect()
    }

    /// `costs`: length, cost of the way below the border, cost of the way above.
    fn check(border: &Border, default: u64, costs: &[(u64, f64, f64)], value: u64, reason: &str) {
        let cells = cells(costs, border.below[0], border.above[0]);
        let suggestion = border.suggest(&cells, default);
        assert_eq!(suggestion.value, value, "{costs:?}: {suggestion:?}");
        assert!(suggestion.reason.contains(reason), "{suggestion:?}");
        assert_eq!(suggestion.reason.lines().count(), 1);
    }

    #[test]
    fn memory_ends_where_a_file_is_clearly_cheaper() {
        let check = |costs: &[(u64, f64, f64)], value, reason| {
            check(&CACHE_MAX_FILE, MIB, costs, value, reason);
        };
        check(&[], MIB, "nothing was measured");
        // The shape that the starting point of the design has.
        let design = [
            (KIB, 5.0, 6.8),
            (10 * KIB, 6.2, 8.1),
            (100 * KIB, 13.0, 14.9),
            (500 * KIB, 50.0, 61.0),
            (MIB, 99.0, 73.0),
        ];
        let reason = "at 1MiB memory costs 99.0 us of CPU and an open handle with sendfile 73.0 us";
        check(&design, 500 * KIB, reason);
        // As good as equal at the end: the default stays.
        let close = [(KIB, 5.0, 6.8), (MIB, 99.0, 80.0)];
        check(&close, MIB, "at no length");
        // As good as equal before the end: as near to the default as can be.
        let gap = [
            (100 * KIB, 13.0, 16.0),
            (200 * KIB, 25.0, 25.0),
            (500 * KIB, 50.0, 50.0),
            (MIB, 99.0, 73.0),
        ];
        check(&gap, 500 * KIB, "at 1MiB");
        // One length by chance does not move it.
        let outlier = [
            (KIB, 5.0, 6.8),
            (10 * KIB, 20.0, 8.1),
            (100 * KIB, 13.0, 18.0),
            (500 * KIB, 50.0, 70.0),
        ];
        check(&outlier, MIB, "at 10KiB memory costs 20.0 us");
        // Memory is cheaper beyond the default, and not for ever.
        let beyond = [
            (MIB, 80.0, 99.0),
            (2 * MIB, 160.0, 230.0),
            (4 * MIB, 400.0, 300.0),
        ];
        check(&beyond, 2 * MIB, "at 2MiB memory costs 160.0 us");
        check(&beyond[..2], 2 * MIB, "at 2MiB");
        check(&[(KIB, 9.0, 6.0), (MIB, 99.0, 73.0)], 0, "at 1KiB");
    }

    #[test]
    fn sendfile_begins_where_reading_is_clearly_dearer() {
        let check = |costs: &[(u64, f64, f64)], value, reason| {
            check(&SENDFILE_FROM, 32 * KIB, costs, value, reason);
        };
        check(&[], 32 * KIB, "nothing was measured");
        let design = [
            (KIB, 9.9, 10.9),
            (10 * KIB, 9.0, 10.3),
            (50 * KIB, 12.9, 11.0),
            (100 * KIB, 19.8, 16.1),
        ];
        check(&design, 32 * KIB, "at no length");
        let early = [
            (KIB, 9.9, 10.4),
            (4 * KIB, 10.0, 7.5),
            (16 * KIB, 12.0, 9.0),
        ];
        check(
            &early,
            4 * KIB,
            "at 4KiB reading costs 10.0 us of CPU and sendfile 7.5 us",
        );
        let late = [
            (32 * KIB, 9.0, 11.0),
            (64 * KIB, 12.0, 16.0),
            (100 * KIB, 20.0, 14.0),
        ];
        check(&late, 100 * KIB, "at 64KiB reading costs 12.0 us");
        let never = [(64 * KIB, 12.0, 16.0), (MIB, 100.0, 150.0)];
        check(&never, 2 * MIB, "at 1MiB reading costs 100.0 us");
        check(&[(KIB, 9.0, 6.0), (16 * KIB, 9.0, 6.0)], KIB, "at 1KiB");
    }

    #[test]
    fn the_cheaper_way_of_a_side_counts() {
        let mut cells = cells(
            &[(MIB, 99.0, 73.0)],
            Way::MemoryOnePiece,
            Way::HandleSendfile,
        );
        assert_eq!(CACHE_MAX_FILE.suggest(&cells, MIB).value, 0);
        cells.push(Cell {
            way: Way::MemoryVectored,
            cpu: figures(60.0),
            ..cells[0]
        });
        assert_eq!(CACHE_MAX_FILE.suggest(&cells, MIB).value, MIB);
    }

    #[test]
    fn the_defaults_are_those_of_the_engine() {
        let suggestions = suggest(&[]);
        let found: Vec<_> = suggestions
            .iter()
            .map(|suggestion| (suggestion.flag, suggestion.value, suggestion.default))
            .collect();
        let Config {
            cache_max_file,
            sendfile_from,
            ..
        } = Config::default();
        let expected = [
            ("--cache-max-file", cache_max_file, cache_max_file),
            ("--sendfile-from", sendfile_from, sendfile_from),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn lengths_are_shown_as_flags_take_them() {
        let table = [
            (0, "0"),
            (1, "1"),
            (1000, "1000"),
            (1024, "1KiB"),
            (500 * 1024, "500KiB"),
            (1 << 20, "1MiB"),
            (3 << 19, "1536KiB"),
        ];
        for (bytes, shown) in table {
            assert_eq!(show(bytes), shown);
        }
    }
}
