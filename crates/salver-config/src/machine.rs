//! The machine that a server runs on, and the defaults that follow it: here alone it is decided how much of it a server takes
//! when nobody says.

use std::fmt;

use crate::row::{Follows, Row, Share};
use crate::values;

/// The most workers that can be configured.
pub(crate) const MOST_WORKERS: u64 = 1024;

/// The least memory of a default, in bytes: with less there is hardly anything to serve from.
const LEAST_MEMORY: u64 = 8 << 20;

/// The machine as far as somebody has looked at it; nothing of it is known by default, and then defaults are the same everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The cores that the server may run on.
    pub cores: Option<u64>,
    /// The CPU quota, in thousandths of a core.
    pub cpu_quota: Option<u64>,
    /// The memory of the machine, in bytes.
    pub physical_memory: Option<u64>,
    /// The memory that the server's cgroup allows, in bytes: that of a container, say.
    pub memory_limit: Option<u64>,
}

impl Share {
    fn of(self, bytes: u64) -> u64 {
        match self {
            Share::Half => bytes / 2,
            Share::Quarter => bytes / 4,
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Share::Half => "half",
            Share::Quarter => "a quarter",
        })
    }
}

/// The memory that there is for a server, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AvailableMemory {
    /// That of the machine.
    Physical(u64),
    /// What a cgroup allows of it.
    Limit(u64),
}

impl AvailableMemory {
    /// Its size.
    pub fn bytes(self) -> u64 {
        match self {
            AvailableMemory::Physical(bytes) | AvailableMemory::Limit(bytes) => bytes,
        }
    }
}

impl fmt::Display for AvailableMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AvailableMemory::Physical(bytes) => write!(f, "this machine's {}", mib(*bytes)),
            AvailableMemory::Limit(bytes) => {
                write!(f, "the {} that its cgroup allows", mib(*bytes))
            }
        }
    }
}

/// A default that follows the machine, as a flag would say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DerivedDefault {
    pub(crate) value: String,
    pub(crate) reason: String,
}

impl Machine {
    /// The memory that there is; `None` if nobody knows.
    pub fn memory(&self) -> Option<AvailableMemory> {
        match (self.memory_limit, self.physical_memory) {
            (Some(limit), Some(all)) if all <= limit => Some(AvailableMemory::Physical(all)),
            (Some(limit), _) => Some(AvailableMemory::Limit(limit)),
            (None, all) => all.map(AvailableMemory::Physical),
        }
    }

    /// The default of a row on this machine; `None` if it is the one of the row.
    pub(crate) fn default_of(&self, row: &Row) -> Option<DerivedDefault> {
        match row.follows {
            Follows::Nothing => None,
            Follows::Cores => self.workers(),
            Follows::CpuQuota => self.percent_of_quota(row.default),
            Follows::Memory(share) => self.share_of_memory(share, row.default),
        }
    }

    fn workers(&self) -> Option<DerivedDefault> {
        // More threads than cores of the quota would stand still together when it is used up.
        let of_quota = self.cpu_quota.map(|quota| (quota, quota.div_ceil(1000)));
        let (count, reason) = match (self.cores, of_quota) {
            (Some(cores), Some((_, begun))) if cores <= begun => (cores, None),
            (_, Some((quota, begun))) => (begun, Some(quota)),
            (cores, None) => (cores?, None),
        };
        Some(DerivedDefault {
            value: count.clamp(1, MOST_WORKERS).to_string(),
            reason: match reason {
                None => "one per core".to_owned(),
                Some(quota) => format!("for {}", of_cores(quota)),
            },
        })
    }

    fn percent_of_quota(&self, most: &str) -> Option<DerivedDefault> {
        let quota = self.cpu_quota?;
        let percent = quota / 10 / 2;
        let most: u64 = most.parse().ok()?;
        (percent < most).then(|| DerivedDefault {
            value: percent.max(1).to_string(),
            reason: format!("half of {}", of_cores(quota)),
        })
    }

    fn share_of_memory(&self, share: Share, most: &str) -> Option<DerivedDefault> {
        let memory = self.memory()?;
        let bytes = share.of(memory.bytes());
        if bytes >= values::size(most).ok()? {
            return None;
        }
        Some(DerivedDefault {
            value: mib(bytes.max(LEAST_MEMORY)),
            reason: match bytes < LEAST_MEMORY {
                true => format!("the least, more than {share} of {memory}"),
                false => format!("{share} of {memory}"),
            },
        })
    }
}

/// A size in whole MiB.
fn mib(bytes: u64) -> String {
    format!("{}MiB", bytes >> 20)
}

/// A CPU quota for people.
fn of_cores(quota: u64) -> String {
    let (whole, thousandths) = (quota / 1000, quota % 1000);
    let text = format!("{whole}.{thousandths:03}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let unit = if text == "1" { "core" } else { "cores" };
    format!("a CPU quota of {text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::ROW;

    const MIB: u64 = 1 << 20;

    fn derived(machine: Machine, row: Row) -> Option<(String, String)> {
        let found = machine.default_of(&row)?;
        Some((found.value, found.reason))
    }

    #[test]
    fn workers_are_begun_cores_of_the_quota_and_no_more_than_there_are() {
        let check = |cores: Option<u64>, cpu_quota: Option<u64>, expected: Option<(&str, &str)>| {
            let machine = Machine {
                cores,
                cpu_quota,
                ..Machine::default()
            };
            let row = Row {
                follows: Follows::Cores,
                ..ROW
            };
            let expected = expected.map(|(value, reason)| (value.to_owned(), reason.to_owned()));
            assert_eq!(derived(machine, row), expected, "{machine:?}");
        };
        check(None, None, None);
        check(Some(1), None, Some(("1", "one per core")));
        check(Some(64), None, Some(("64", "one per core")));
        check(Some(5000), None, Some(("1024", "one per core")));
        check(
            Some(8),
            Some(500),
            Some(("1", "for a CPU quota of 0.5 cores")),
        );
        check(
            Some(8),
            Some(1000),
            Some(("1", "for a CPU quota of 1 core")),
        );
        check(
            Some(8),
            Some(1001),
            Some(("2", "for a CPU quota of 1.001 cores")),
        );
        check(
            Some(8),
            Some(2500),
            Some(("3", "for a CPU quota of 2.5 cores")),
        );
        check(Some(2), Some(2500), Some(("2", "one per core")));
        check(Some(3), Some(2500), Some(("3", "one per core")));
        check(
            None,
            Some(20_000),
            Some(("20", "for a CPU quota of 20 cores")),
        );
        check(Some(4), Some(0), Some(("1", "for a CPU quota of 0 cores")));
        check(
            Some(u64::MAX),
            Some(u64::MAX),
            Some(("1024", "for a CPU quota of 18446744073709551.615 cores")),
        );
    }

    #[test]
    fn memory_is_a_share_of_what_there_is_within_bounds() {
        let check = |physical: Option<u64>,
                     limit: Option<u64>,
                     share: Share,
                     expected: Option<(&str, &str)>| {
            let machine = Machine {
                physical_memory: physical.map(|mib| mib * MIB),
                memory_limit: limit.map(|mib| mib * MIB),
                ..Machine::default()
            };
            let row = Row {
                follows: Follows::Memory(share),
                default: "256MiB",
                ..ROW
            };
            let expected = expected.map(|(value, reason)| (value.to_owned(), reason.to_owned()));
            assert_eq!(derived(machine, row), expected, "{machine:?}");
        };
        check(None, None, Share::Half, None);
        check(Some(24_000), None, Share::Half, None);
        check(Some(512), None, Share::Half, None);
        check(
            Some(510),
            None,
            Share::Half,
            Some(("255MiB", "half of this machine's 510MiB")),
        );
        check(
            Some(510),
            None,
            Share::Quarter,
            Some(("127MiB", "a quarter of this machine's 510MiB")),
        );
        let of_limit = Some(("64MiB", "half of the 128MiB that its cgroup allows"));
        check(Some(24_000), Some(128), Share::Half, of_limit);
        check(None, Some(128), Share::Half, of_limit);
        // A limit beyond what there is limits nothing.
        check(
            Some(128),
            Some(256),
            Share::Half,
            Some(("64MiB", "half of this machine's 128MiB")),
        );
        let least = Some((
            "8MiB",
            "the least, more than a quarter of the 16MiB that its cgroup allows",
        ));
        check(Some(24_000), Some(16), Share::Quarter, least);
        check(
            Some(24_000),
            Some(0),
            Share::Quarter,
            Some((
                "8MiB",
                "the least, more than a quarter of the 0MiB that its cgroup allows",
            )),
        );
        check(
            Some(24_000),
            Some(32),
            Share::Quarter,
            Some(("8MiB", "a quarter of the 32MiB that its cgroup allows")),
        );
    }

    #[test]
    fn work_behind_the_scenes_takes_half_of_a_small_quota() {
        let check = |cpu_quota: Option<u64>, expected: Option<(&str, &str)>| {
            let machine = Machine {
                cores: Some(8),
                cpu_quota,
                ..Machine::default()
            };
            let row = Row {
                follows: Follows::CpuQuota,
                default: "50",
                ..ROW
            };
            let expected = expected.map(|(value, reason)| (value.to_owned(), reason.to_owned()));
            assert_eq!(derived(machine, row), expected, "{machine:?}");
        };
        check(None, None);
        check(Some(1000), None);
        check(Some(500), Some(("25", "half of a CPU quota of 0.5 cores")));
        check(Some(5), Some(("1", "half of a CPU quota of 0.005 cores")));
        check(Some(0), Some(("1", "half of a CPU quota of 0 cores")));
    }

    #[test]
    fn who_follows_nothing_has_its_default_on_every_machine() {
        let machine = Machine {
            cores: Some(1),
            cpu_quota: Some(1),
            physical_memory: Some(1),
            memory_limit: Some(1),
        };
        assert_eq!(
            derived(
                machine,
                Row {
                    default: "8080",
                    ..ROW
                }
            ),
            None
        );
    }

    proptest::proptest! {
        #[test]
        fn every_machine_has_defaults_within_their_bounds(
            cores: Option<u64>, cpu_quota: Option<u64>, physical_memory: Option<u64>, memory_limit: Option<u64>,
        ) {
            let machine = Machine { cores, cpu_quota, physical_memory, memory_limit };
            let value = |follows, default| machine.default_of(&Row { follows, default, ..ROW });
            if let Some(found) = value(Follows::Cores, "") {
                let workers: u64 = found.value.parse().unwrap();
                proptest::prop_assert!((1..=MOST_WORKERS).contains(&workers));
                proptest::prop_assert!(cores.is_none_or(|cores| workers <= cores.max(1)));
            }
            for share in [Share::Half, Share::Quarter] {
                if let Some(found) = value(Follows::Memory(share), "512MiB") {
                    let bytes = values::size(&found.value).unwrap();
                    proptest::prop_assert!((LEAST_MEMORY..512 * MIB).contains(&bytes));
                }
            }
            if let Some(found) = value(Follows::CpuQuota, "50") {
                let percent: u64 = found.value.parse().unwrap();
                proptest::prop_assert!((1..50).contains(&percent));
            }
        }
    }
}
