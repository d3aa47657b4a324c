//! The way by which content is sent: one pure function, one table.
//!
//! It is asked twice. The engine asks before it opens a file whether to read it whole; nothing is
//! known of the page cache then. The driver asks before each window of a file's content, with what
//! it has learned of that window.
//!
//! | in memory | length | changes now | page cache | transport | way |
//! | --- | --- | --- | --- | --- | --- |
//! | yes | | | | | [`Memory`](Way::Memory) |
//! | no | up to `keep_up_to` | | | | [`Read`](Way::Read) |
//! | no | below `sendfile_from` | | | | [`Read`](Way::Read) |
//! | no | up to [`STEADY_UP_TO`] | yes | | | [`Read`](Way::Read) |
//! | no | else | no | resident | kernel sends | [`Sendfile`](Way::Sendfile) |
//! | no | else | no | cold | kernel sends | [`Prefetch`](Way::Prefetch) |
//! | no | else | | resident | | [`Copy`](Way::Copy) |
//! | no | else | | | | [`Offload`](Way::Offload) |
//!
//! The first row that fits holds; those with `Read` do not while memory is full. `salver bench strategies` measures where the lengths cross.

/// A way to send content, or one window of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From memory, with the head.
    Memory,
    /// Read it whole into memory once, and keep it for others if it may be kept.
    Read,
    /// From the open handle by `sendfile`: it never enters this process.
    Sendfile,
    /// Read the window at once - it is in the page cache - and send the copy.
    Copy,
    /// Have a thread that may wait bring the window into the page cache, and look again.
    Prefetch,
    /// Have a thread that may wait read the window, and send the copy.
    Offload,
}

/// The residency of a window in the page cache, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residency {
    /// All of the window is there.
    Resident,
    /// Some of the window is not there, and it has not been prefetched.
    Cold,
    /// Not known: it was not looked at, looking could wait (file systems that are not local), or
    /// what was prefetched did not stay.
    Unknown,
}

/// The transport that carries the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The kernel can send from a file.
    KernelSends,
    /// The bytes have to pass through the process: encryption, or a file that has no pages.
    PassesThrough,
}

/// The default of [`Config::cache_max_file`](crate::Config::cache_max_file) for a transport, in bytes.
/// Where the kernel can send, `sendfile` is as cheap as memory from some 32 KiB on, and cheaper sooner where others keep
/// the memory bus busy: files of 50 KiB took 1.1 to 1.6 times as much CPU time from memory. Where every byte passes through
/// the process anyway, memory is the cheaper way for longer: files of 500 KiB and 1 MiB took 0.7 of the CPU time
/// that pieces of the page cache take on hyper, 0.85 to 0.9 of it over TLS.
pub fn cache_max_file(transport: Transport) -> u64 {
    match transport {
        Transport::KernelSends => 32 * 1024,
        Transport::PassesThrough => 1024 * 1024,
    }
}

/// The situation that the choice depends on. Lengths in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// The length of the representation.
    pub length: u64,
    /// True if its content is in memory.
    pub in_memory: bool,
    /// The longest content that is kept in memory; 0 if none is kept.
    pub keep_up_to: u64,
    /// The length from which on content that is not in memory is not read whole.
    pub sendfile_from: u64,
    /// True if the file changed moments ago, so that it may well change again while it is sent, and pages
    /// that the kernel sends would show that.
    pub changes_now: bool,
    /// True if so much content is in memory that no more is read whole.
    pub memory_is_full: bool,
    /// The residency of the window, or [`Residency::Unknown`].
    pub residency: Residency,
    /// The transport that carries the bytes.
    pub transport: Transport,
}

/// The length in bytes up to which a file that is being changed is read whole, even if it is not kept: what
/// is in memory can no longer change before it has left.
pub const STEADY_UP_TO: u64 = 1024 * 1024;

/// The way for a situation; see the table at the [module](self).
pub fn way(situation: &Situation) -> Way {
    let &Situation {
        length,
        in_memory,
        keep_up_to,
        sendfile_from,
        changes_now,
        memory_is_full,
        residency,
        transport,
    } = situation;
    let reads_whole = !memory_is_full;
    match (changes_now, residency, transport) {
        _ if in_memory => Way::Memory,
        _ if reads_whole && (length <= keep_up_to || length < sendfile_from) => Way::Read,
        (true, ..) if reads_whole && length <= STEADY_UP_TO => Way::Read,
        (false, Residency::Resident, Transport::KernelSends) => Way::Sendfile,
        (false, Residency::Cold, Transport::KernelSends) => Way::Prefetch,
        (_, Residency::Resident, _) => Way::Copy,
        _ => Way::Offload,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESIDENCIES: [Residency; 3] = [Residency::Resident, Residency::Cold, Residency::Unknown];
    const TRANSPORTS: [Transport; 2] = [Transport::KernelSends, Transport::PassesThrough];
    const KIB: u64 = 1024;

    /// Every situation that can be told from another, with lengths at both sides of each limit.
    fn all() -> Vec<Situation> {
        let mut all = Vec::new();
        let limits = [0, 32 * KIB, 512 * KIB, STEADY_UP_TO, 4 * STEADY_UP_TO];
        for keep_up_to in limits {
            for sendfile_from in limits {
                let edges = [keep_up_to, sendfile_from, STEADY_UP_TO];
                let lengths = edges
                    .iter()
                    .flat_map(|&at| [at.saturating_sub(1), at, at + 1]);
                for length in lengths.chain([0, u64::MAX]) {
                    for bits in 0..8 {
                        for residency in RESIDENCIES {
                            for transport in TRANSPORTS {
                                all.push(Situation {
                                    length,
                                    in_memory: bits & 1 != 0,
                                    keep_up_to,
                                    sendfile_from,
                                    changes_now: bits & 2 != 0,
                                    memory_is_full: bits & 4 != 0,
                                    residency,
                                    transport,
                                });
                            }
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn the_table() {
        use Residency::{Cold, Resident, Unknown};
        use Transport::{KernelSends, PassesThrough};
        let beyond = |changes_now, residency, transport, expected| {
            let situation = Situation {
                length: 10 * STEADY_UP_TO,
                in_memory: false,
                keep_up_to: STEADY_UP_TO,
                sendfile_from: 32 * KIB,
                changes_now,
                memory_is_full: false,
                residency,
                transport,
            };
            assert_eq!(way(&situation), expected, "{situation:?}");
        };
        beyond(false, Resident, KernelSends, Way::Sendfile);
        beyond(false, Resident, PassesThrough, Way::Copy);
        beyond(false, Cold, KernelSends, Way::Prefetch);
        beyond(false, Cold, PassesThrough, Way::Offload);
        beyond(false, Unknown, KernelSends, Way::Offload);
        beyond(false, Unknown, PassesThrough, Way::Offload);
        beyond(true, Resident, KernelSends, Way::Copy);
        beyond(true, Resident, PassesThrough, Way::Copy);
        beyond(true, Cold, KernelSends, Way::Offload);
        beyond(true, Cold, PassesThrough, Way::Offload);
        beyond(true, Unknown, KernelSends, Way::Offload);
        beyond(true, Unknown, PassesThrough, Way::Offload);
    }

    #[test]
    fn what_holds_in_every_situation() {
        let all = all();
        for s in &all {
            let way = way(s);
            let holds = |rule: &str, holds: bool| assert!(holds, "{rule}: {way:?} for {s:?}");
            holds("memory first", (way == Way::Memory) == s.in_memory);
            if way == Way::Read {
                let why = s.length <= s.keep_up_to
                    || s.length < s.sendfile_from
                    || (s.changes_now && s.length <= STEADY_UP_TO);
                holds("read whole only for a reason", why);
                holds("and only while there is room", !s.memory_is_full);
            }
            if let Way::Sendfile | Way::Prefetch = way {
                holds("nothing that changes is shared", !s.changes_now);
                let kernel = s.transport == Transport::KernelSends;
                holds("only where the kernel can", kernel);
            }
            if let Way::Sendfile | Way::Copy = way {
                let resident = s.residency == Residency::Resident;
                holds("the loop touches only what is there", resident);
            }
            // Whether to read whole is decided before anything is known of windows: knowing more
            // must not change it.
            let unknown = Situation {
                residency: Residency::Unknown,
                transport: Transport::PassesThrough,
                ..*s
            };
            let whole = |way| matches!(way, Way::Memory | Way::Read);
            holds("decided once", whole(way) == whole(super::way(&unknown)));
        }
        for expected in [
            Way::Memory,
            Way::Read,
            Way::Sendfile,
            Way::Copy,
            Way::Prefetch,
            Way::Offload,
        ] {
            assert!(all.iter().any(|s| way(s) == expected), "{expected:?}");
        }
    }
}
