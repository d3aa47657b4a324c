//! Which cores do what: one is the server's, the others are its clients' and the disk's.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use salver_test::cannot_be_shown;

/// One core for the server, the others for its clients and for the disk.
pub(crate) struct Cores {
    pub(crate) all: CpuSet,
    pub(crate) server: CpuSet,
    pub(crate) others: CpuSet,
}

impl Cores {
    pub(crate) fn divide() -> Self {
        let all = sched_getaffinity(None).unwrap();
        let (mut server, mut others) = (CpuSet::new(), all);
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).unwrap();
        if all.count() > 1 {
            server.set(first);
            others.unset(first);
        } else {
            server = all;
        }
        Cores {
            all,
            server,
            others,
        }
    }
}

pub(crate) fn use_cores(cores: &CpuSet) {
    sched_setaffinity(None, cores).unwrap();
}

/// The cores of the kernel's unbound work queues while this lives: those of the machine afterwards.
///
/// What a loop device reads, one of these queues copies. A disk has a controller for that, which takes no time of the
/// core that serves.
pub(crate) struct KernelCores {
    before: String,
}

const CORES_OF_QUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";

impl KernelCores {
    pub(crate) fn take(cores: &CpuSet) -> Option<Self> {
        let taken = std::fs::read_to_string(CORES_OF_QUEUES).and_then(|before| {
            std::fs::write(CORES_OF_QUEUES, mask(cores))?;
            Ok(KernelCores { before })
        });
        taken
            .inspect_err(|error| cannot_be_shown("a disk without the server's core", error))
            .ok()
    }
}

impl Drop for KernelCores {
    fn drop(&mut self) {
        let _ = std::fs::write(CORES_OF_QUEUES, &self.before);
    }
}

/// Cores as the kernel reads them: words of 32 in hexadecimal digits, the highest first.
fn mask(cores: &CpuSet) -> String {
    let word = |number: usize| {
        (0..32).fold(0_u32, |word, bit| {
            word | u32::from(cores.is_set(number * 32 + bit)) << bit
        })
    };
    let words: Vec<_> = (0..CpuSet::MAX_CPU / 32)
        .rev()
        .map(word)
        .skip_while(|&word| word == 0)
        .map(|word| format!("{word:08x}"))
        .collect();
    words.join(",")
}

#[test]
fn cores_are_written_as_the_kernel_reads_them() {
    let check = |cores: &[usize], expected| {
        let mut set = CpuSet::new();
        cores.iter().for_each(|&core| set.set(core));
        assert_eq!(mask(&set), expected);
    };
    check(&[0], "00000001");
    check(&[1, 5], "00000022");
    check(&[0, 32, 63], "80000001,00000001");
}
