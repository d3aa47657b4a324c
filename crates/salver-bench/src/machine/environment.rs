//! The environment of a measurement, on which figures depend as well: the machine, its settings, this
//! program and the others that ran meanwhile. A figure without it says nothing, so it is stored with every result.
//!
//! It is read from `/proc` and `/sys`; what cannot be known is null.

use std::fs;
use std::thread::available_parallelism;
use std::time::{Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::machine::server_cost::{ServerWatch, of_ticks};

/// The commit that this program was built from, as far as its build script knows. Changes that were not committed do not
/// show in it.
pub const COMMIT: Option<&str> = option_env!("SALVER_COMMIT");

/// The target that this program was built for, as Rust calls it.
pub const TARGET: &str = env!("SALVER_TARGET");

/// Where and with what a run was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// When it began, in UTC (RFC 3339).
    pub date: String,
    /// The command line as given, the program's name first; what is secret in it is not.
    pub command: Vec<String>,
    /// The version of the program that measured.
    pub version: String,
    /// The commit that it was built from. Changes that were not committed do not show in it.
    pub commit: Option<String>,
    /// The platform that it was built for: `x86_64-unknown-linux-gnu`, say.
    pub target: String,
    /// Built without optimisation: the client is then slow.
    pub debug_build: bool,
    /// The processor's name.
    pub cpu: Option<String>,
    /// Cores that this program may use.
    pub cores: Option<usize>,
    /// The processor is lent by a host, which may take it away.
    pub virtual_machine: Option<bool>,
    /// How the first core's frequency is chosen: `performance`, say.
    pub governor: Option<String>,
    /// The machine's memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The kernel's name and version.
    pub kernel: Option<String>,
    /// TCP's congestion control: it can double what a large answer costs the server.
    pub congestion_control: Option<String>,
    /// Threads that ran or wanted to when it began, on average over a minute.
    pub load_average: Option<f64>,
    /// The share of other programs meanwhile.
    pub others: Option<Others>,
}

/// The share of other programs and of the host in the processor while a run was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Others {
    /// Cores that neither this process with its children nor the named server used: 1 is one core
    /// all the time. A server on this machine that was neither named nor found by its port is among the
    /// others. What the kernel does in interrupts is not: that belongs to nobody, and to who sends and
    /// receives most of all.
    pub cores: f64,
    /// Cores that the host of a virtual machine gave to somebody else.
    pub stolen_cores: f64,
}

impl Others {
    /// Cores that others had, be it on this machine or on its host.
    pub fn taken(self) -> f64 {
        self.cores + self.stolen_cores
    }
}

impl Environment {
    /// The environment as it is known before a run; `command` is its command line. [`others`](Self::others) is
    /// known after it: [`OthersWatch`].
    pub fn now(command: impl IntoIterator<Item = String>) -> Environment {
        let read = |path: &str| fs::read_to_string(path).ok();
        let word = |path: &str| read(path).map(|text| text.trim().to_owned());
        let processor = read("/proc/cpuinfo");
        let kernel = ["ostype", "osrelease"].map(|name| word(&format!("/proc/sys/kernel/{name}")));
        Environment {
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            command: without_secrets(command),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: COMMIT.map(str::to_owned),
            target: TARGET.to_owned(),
            debug_build: cfg!(debug_assertions),
            cpu: processor.as_deref().and_then(processor_name),
            cores: available_parallelism().ok().map(usize::from),
            virtual_machine: processor.as_deref().and_then(is_virtual),
            governor: word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            memory_bytes: read("/proc/meminfo").as_deref().and_then(memory),
            kernel: match kernel {
                [Some(name), Some(release)] => Some(format!("{name} {release}")),
                _ => None,
            },
            congestion_control: word("/proc/sys/net/ipv4/tcp_congestion_control"),
            load_average: read("/proc/loadavg").as_deref().and_then(load_average),
            others: None,
        }
    }
}

/// How the cores of the machine were used for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// By whom who is not measured here.
    pub others: Others,
    /// Cores that had nothing to do.
    pub idle_cores: f64,
    /// All of them.
    pub cores: f64,
}

/// Watches what others take, from a moment on.
#[derive(Clone, Debug)]
pub struct OthersWatch {
    began: Instant,
    machine: Option<Machine>,
    /// This process, and the server if it was named.
    ours: Option<ServerWatch>,
}

impl OthersWatch {
    /// Begins. `server` are the server's processes, if they are on this machine and no children of
    /// this process.
    pub fn start(server: &[u32]) -> OthersWatch {
        let own = [std::process::id()];
        let server = server.iter().copied().filter(|pid| !own.contains(pid));
        let all: Vec<u32> = own.into_iter().chain(server).collect();
        // One family: a server that is a child of this process counts once.
        let ours = ServerWatch::start(&all).or_else(|_| ServerWatch::start(&own));
        OthersWatch {
            ours: ours.ok(),
            machine: machine_now(),
            began: Instant::now(),
        }
    }

    /// Their share since; nothing if it cannot be known.
    pub fn others(&self) -> Option<Others> {
        self.usage().map(|usage| usage.others)
    }

    /// The use of all cores since; nothing if it cannot be known.
    pub fn usage(&self) -> Option<Usage> {
        let elapsed = self.began.elapsed().as_secs_f64();
        let (before, after) = (self.machine?, machine_now()?);
        let ours = self.ours.as_ref()?.cpu().ok()?.as_secs_f64();
        if elapsed <= 0.0 {
            return None;
        }
        let between = |of: fn(&Machine) -> u64| {
            of_ticks(of(&after).saturating_sub(of(&before))).as_secs_f64()
        };
        let busy = between(|machine| machine.busy_ticks);
        let others = Others {
            cores: (busy - ours).max(0.0) / elapsed,
            stolen_cores: between(|machine| machine.stolen_ticks) / elapsed,
        };
        Some(Usage {
            others,
            idle_cores: between(|machine| machine.idle_ticks) / elapsed,
            cores: f64::from(after.cores),
        })
    }
}

/// The work of all cores since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Machine {
    /// Work of processes, in their programs or in the kernel for them.
    busy_ticks: u64,
    /// No work, be it that nothing is to be done or that a disk is waited for.
    idle_ticks: u64,
    /// Time in which there was work, and the host did something else.
    stolen_ticks: u64,
    cores: u32,
}

fn machine_now() -> Option<Machine> {
    machine(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first lines of `/proc/stat` (`proc_stat(5)`): one of all cores, and one of each.
fn machine(stat: &str) -> Option<Machine> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    let is_core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let cores = stat.lines().filter(is_core);
    // Guests' time, which follows, is part of the user's.
    let [user, nice, system, idle, waiting, _, _, stolen, ..] = ticks[..] else {
        return None;
    };
    Some(Machine {
        busy_ticks: user + nice + system,
        idle_ticks: idle + waiting,
        stolen_ticks: stolen,
        cores: u32::try_from(cores.count()).unwrap_or(u32::MAX),
    })
}

/// The value of the first line `key : value`.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == key).then(|| value.trim())
    })
}

/// From `/proc/cpuinfo`. Some architectures do not name it.
fn processor_name(text: &str) -> Option<String> {
    let name = value(text, "model name").or_else(|| value(text, "Model"))?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// From `/proc/cpuinfo`: x86 has a flag for it; elsewhere nothing is known.
fn is_virtual(text: &str) -> Option<bool> {
    let flags = value(text, "flags")?;
    Some(flags.split(' ').any(|flag| flag == "hypervisor"))
}

/// From `/proc/meminfo`, in bytes.
fn memory(text: &str) -> Option<u64> {
    let kib = value(text, "MemTotal")?.strip_suffix("kB")?;
    kib.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// From `/proc/loadavg`: over one minute.
fn load_average(text: &str) -> Option<f64> {
    text.split(' ').next()?.parse().ok()
}

const HIDDEN: &str = "***";

/// Parts of the names of fields whose values are secrets.
const SECRET_FIELDS: [&str; 5] = ["authorization", "cookie", "key", "secret", "token"];

/// A command line without the name and password of URLs and without the values of fields that
/// carry secrets, and without the place of the program.
fn without_secrets(command: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut command = command.into_iter();
    let name = |program: String| program.rsplit('/').next().unwrap_or_default().to_owned();
    let program = command.next().map(name);
    let arguments = command.map(|argument| without_secret(&argument));
    program.into_iter().chain(arguments).collect()
}

fn without_secret(argument: &str) -> String {
    if let Some((field, _)) = argument.split_once(':') {
        // `--header=Cookie: a=b` has the flag before the field.
        let name = field.rsplit('=').next().unwrap_or_default();
        let name = name.trim().to_ascii_lowercase();
        if SECRET_FIELDS.iter().any(|secret| name.contains(secret)) {
            return format!("{field}: {HIDDEN}");
        }
    }
    if let Some((scheme, rest)) = argument.split_once("://") {
        let (authority, after) = match rest.find(['/', '?', '#']) {
            Some(end) => rest.split_at(end),
            None => (rest, ""),
        };
        if let Some((_, host)) = authority.rsplit_once('@') {
            return format!("{scheme}://{HIDDEN}@{host}{after}");
        }
    }
    argument.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "processor\t: 0\nmodel name\t: AMD EPYC 9R14\nflags\t\t: fpu hypervisor lm\n\n\
                       processor\t: 1\nmodel name\t: Another\nflags\t\t: fpu\n";
    const ARM: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\n\
                       CPU implementer\t: 0x41\n";

    #[test]
    fn what_the_kernel_says_is_read_where_it_says_it() {
        let name = |text: &str, expected| assert_eq!(processor_name(text).as_deref(), expected);
        name(X86, Some("AMD EPYC 9R14"));
        name(
            "processor\t: 0\nModel\t\t: Raspberry Pi 5\n",
            Some("Raspberry Pi 5"),
        );
        [ARM, "model name\t:\n", ""]
            .iter()
            .for_each(|text| name(text, None));
        assert_eq!(is_virtual(X86), Some(true));
        assert_eq!(is_virtual("flags\t: fpu hypervisors\n"), Some(false));
        assert_eq!(is_virtual(ARM), None);
        let text = "MemTotal:        8148560 kB\nMemFree:          199312 kB\n";
        assert_eq!(memory(text), Some(8_148_560 * 1024));
        for wrong in ["", "MemTotal: 1", "MemTotal: x kB", "MemFree: 1 kB"] {
            assert_eq!(memory(wrong), None, "{wrong}");
        }
        assert_eq!(load_average("0.17 0.65 1.10 1/88 28010\n"), Some(0.17));
        assert_eq!(load_average("\n"), None);
    }

    #[test]
    fn the_machines_work_is_that_of_its_processes() {
        let stat = "cpu  413959 420644 643901 1095333 65041 7 157154 2441 5 6\ncpu0 1 2 3 4\n\
                    cpu1 1 2 3 4\nintr 1\n";
        let expected = Machine {
            busy_ticks: 413_959 + 420_644 + 643_901,
            idle_ticks: 1_095_333 + 65_041,
            stolen_ticks: 2441,
            cores: 2,
        };
        assert_eq!(machine(stat), Some(expected));
        for wrong in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7", "cpu  a"] {
            assert_eq!(machine(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_command_line_is_kept_without_its_secrets() {
        let check = |given: &str, kept: &str| {
            let command = ["/home/somebody/bin/salver", given].map(str::to_owned);
            assert_eq!(without_secrets(command), ["salver", kept], "{given}");
        };
        check(
            "http://127.0.0.1:8080/a@b?c=d:e@f",
            "http://127.0.0.1:8080/a@b?c=d:e@f",
        );
        for plain in [
            "--rate=100",
            "http://[::1]:80/",
            "Accept-Encoding: br",
            "a@b",
            "",
        ] {
            check(plain, plain);
        }
        check("http://me:word@host:1/a", "http://***@host:1/a");
        check("--url=http://me@host?x@y", "--url=http://***@host?x@y");
        check("http://a@b@host", "http://***@host");
        check("Authorization: Basic eDp5", "Authorization: ***");
        check("--header=cookie:a=b", "--header=cookie: ***");
        check("X-API-Key: 1", "X-API-Key: ***");
        assert!(without_secrets([]).is_empty());
    }

    #[test]
    fn this_machine_is_described() {
        let found = Environment::now(["salver".to_owned()]);
        assert_eq!(found.version, env!("CARGO_PKG_VERSION"));
        assert!(found.target.contains('-'), "{}", found.target);
        let date = &found.date;
        assert!(humantime::parse_rfc3339(date).is_ok(), "{date}");
        assert!(found.commit.is_none_or(|commit| commit.len() >= 40));
        assert!(found.cores.is_none_or(|cores| cores > 0));
        assert!(found.kernel.unwrap().starts_with("Linux "));
        assert!(found.memory_bytes.unwrap() > 1 << 20);
        assert!(found.load_average.unwrap() >= 0.0);
    }

    #[test]
    fn the_work_of_this_process_is_not_that_of_others() {
        let watch = OthersWatch::start(&[]);
        let one_core = Instant::now();
        let ours = watch.ours.as_ref().unwrap();
        let before = ours.cpu().unwrap();
        // A quarter of a second of work, however long it takes.
        while ours.cpu().unwrap() - before < std::time::Duration::from_millis(250) {}
        let elapsed = one_core.elapsed().as_secs_f64();
        let others = watch.others().unwrap();
        let busy = {
            let (before, after) = (watch.machine.unwrap(), machine_now().unwrap());
            of_ticks(after.busy_ticks - before.busy_ticks).as_secs_f64() / elapsed
        };
        assert!(others.cores >= 0.0 && others.stolen_cores >= 0.0);
        // All that was done, less what was done here.
        let most = (busy - 0.2 / elapsed).max(0.05);
        assert!(others.cores <= most, "{others:?} {busy}");
    }
}
