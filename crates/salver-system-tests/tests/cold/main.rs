//! Cold files do not delay hot ones: while many clients read what only a slow disk has, the
//! answers that need no disk come as quickly as without them. The disk is one that may ask somebody else
//! (FUSE), or one of this machine (ext4 on a slow device), whose files belong to whoever serves
//! them, or to somebody else.
//!
//! `cargo test` measures nothing: the disk stops answering, and what is in memory is answered all the
//! same. `make cold` measures in release, prints a line for each case and asserts the promised
//! factor. Both show what comes out without the check of residency.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

#[path = "../../../salver-server/tests/common/mod.rs"]
mod common;

mod case;
mod clients;
mod cores;
mod siblings;

use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use case::{
    Case, DATA, EVERYTHING, Hot, METADATA, UNASKED, UNCACHED, User, disk_of, local, remote, say,
    serve,
};
use clients::{Cold, ColdReaders, Steady, come_first, next};
use common::client::{Client, get, request};
use common::{PATIENCE, Site, until};
use cores::{Cores, KernelCores, use_cores};
use rustix::fs::Advice;
use salver_assets::{DirectorySource, Patience, Source, Symlinks};
use salver_system_tests::{HOT_LENGTH, Kind, SlowDisk, bytes_at, content};
use salver_test::machine::judge;

/// Cold readers.
const CLIENTS: usize = 32;

/// Between two requests for the hot file.
const INTERVAL: Duration = Duration::from_millis(1);

/// With cold readers the 99th percentile may be this many times what it is without.
const FACTOR: f64 = 2.0;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Effort {
    rounds: usize,
    each: Duration,
}

/// Medians over the rounds, in which both take turns.
#[derive(Clone, Copy, Debug)]
struct Figures {
    alone: Duration,
    beside: Duration,
    ratio: f64,
    /// What the cold readers received, in MB per second.
    rate: f64,
}

fn p99(samples: &[Duration]) -> Duration {
    samples[samples.len() * 99 / 100]
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}

/// Waits until the disk has had nothing to do for some looks in a row: what was begun for readers
/// that have gone is done.
fn settle(disk: &SlowDisk) {
    let mut idle = 0;
    until("the disk has nothing to do", || {
        idle = if disk.work().waiting == 0 {
            idle + 1
        } else {
            0
        };
        idle == 10
    });
}

fn measured(case: Case, effort: Effort) -> Option<Figures> {
    let cores = Cores::divide();
    use_cores(&cores.others);
    come_first();
    let _kernel = (case.disk == Kind::Local).then(|| KernelCores::take(&cores.others));
    let disk = disk_of(case)?;
    let whole = content();
    let hot = &bytes_at(&whole, 0, 0)[..usize::try_from(HOT_LENGTH).unwrap()];
    let site = Site::with(&[("hot", hot)]);
    use_cores(&cores.server);
    let server = serve(&disk, &site, case);
    use_cores(&cores.others);
    let path = match case.hot {
        Hot::Elsewhere => "/hot",
        Hot::SlowDisk => "/slow/hot",
    };
    let mut steady = Steady::new(server.address, path, hot);
    // Connections are made, the file is in memory.
    steady.measure(INTERVAL, Duration::from_millis(100));
    let (mut alone, mut beside, mut rates) = (vec![], vec![], vec![]);
    for _ in 0..effort.rounds {
        settle(&disk);
        // Hot is what is asked for all the time: after a pause the first one waits for a look.
        steady.measure(INTERVAL, effort.each);
        alone.push(p99(&steady.measure(INTERVAL, effort.each)));
        let readers = ColdReaders::start(CLIENTS, &disk, server.address, "/slow", case.cold);
        steady.measure(INTERVAL, effort.each);
        let (bytes, reads, began) = (readers.bytes(), disk.work().reads, Instant::now());
        beside.push(p99(&steady.measure(INTERVAL, effort.each)));
        let received = readers.bytes() - bytes;
        rates.push(received as f64 / 1e6 / began.elapsed().as_secs_f64());
        assert!(
            received > 0 && disk.work().reads > reads,
            "nothing was cold"
        );
        readers.end();
    }
    use_cores(&cores.all);
    let (alone, beside) = (median(alone), median(beside));
    let figures = Figures {
        ratio: beside.as_secs_f64() / alone.as_secs_f64(),
        alone,
        beside,
        rate: median(rates),
    };
    say(&format!(
        "{case}: hot p99 alone {} us, with {CLIENTS} cold {} us, ratio {:.2} ({:.1} MB/s cold)",
        figures.alone.as_micros(),
        figures.beside.as_micros(),
        figures.ratio,
        figures.rate,
    ));
    Some(figures)
}

/// Asks for cold files of a disk that has stopped to answer, and for a hot one meanwhile; whether that is
/// answered. All answers are right once the disk answers again.
fn answers_while_the_disk_does_not(case: Case) -> Option<bool> {
    let disk = disk_of(case)?;
    let whole = content();
    let hot = &bytes_at(&whole, 0, 0)[..usize::try_from(HOT_LENGTH).unwrap()];
    let site = Site::with(&[("hot", hot)]);
    let server = serve(&disk, &site, case);
    let path = match case.hot {
        Hot::Elsewhere => "/hot",
        Hot::SlowDisk => "/slow/hot",
    };
    let mut readers: Vec<_> = (0..8)
        .map(|_| {
            let (kind, number, length) = next(&disk, case.cold);
            let mut client = Client::new(server.address);
            assert!(client.get(path).content == hot);
            (client, format!("{kind}-{number}"), number, length)
        })
        .collect();
    let mut client = Client::new(server.address);
    disk.hold(true);
    if case.disk == Kind::Local {
        // From now on pages of some, as many as its queue has room for, are in the page cache; what belongs into them
        // is not.
        for (_, name, ..) in readers.iter().take(4) {
            disk.advise(name, Advice::WillNeed);
        }
        until("the disk is asked", || disk.work().waiting > 0);
    }
    for (reader, name, ..) in &mut readers {
        reader.send(get(&format!("/slow/{name}")));
    }
    until("the disk is asked", || disk.work().waiting > 0);
    // Who is not to be answered cannot be waited for any longer than this.
    let patience = match case.check_residency {
        true => PATIENCE,
        false => Duration::from_secs(1),
    };
    client.0.get_ref().set_read_timeout(Some(patience)).unwrap();
    let mut answered = true;
    let begun = Instant::now();
    let mut count = 0;
    // Without the check it may take a moment until the loop comes to what it has to wait for.
    while count < 100 || !case.check_residency && begun.elapsed() < Duration::from_secs(5) {
        count += 1;
        client.send(get(path));
        let mut byte = [0];
        match client.0.get_ref().peek(&mut byte) {
            Ok(count) => assert_eq!(count, 1),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                answered = false;
                break;
            }
            Err(error) => panic!("{error}"),
        }
        assert!(client.answer().content == hot);
    }
    disk.hold(false);
    if !answered {
        client.0.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(client.answer().content == hot);
    }
    for (mut reader, name, number, length) in readers {
        let head = reader.head();
        assert_eq!(head.status, 200, "{name}");
        assert_eq!(u64::try_from(head.length()).unwrap(), length);
        let mut some = vec![0; usize::try_from(length.min(1024 * 1024)).unwrap()];
        reader.0.read_exact(&mut some).unwrap();
        assert!(some == bytes_at(&whole, number, 0)[..some.len()], "{name}");
    }
    Some(answered)
}

#[test]
fn what_is_in_memory_is_answered_while_a_remote_disk_is_not() {
    for case in [
        remote(Hot::Elsewhere, Cold::Streams, DATA),
        remote(Hot::Elsewhere, Cold::SmallFiles, EVERYTHING),
        remote(Hot::SlowDisk, Cold::Streams, EVERYTHING),
    ] {
        assert_ne!(answers_while_the_disk_does_not(case), Some(false), "{case}");
    }
}

#[test]
fn what_is_in_memory_is_answered_while_a_local_disk_is_not_whoever_owns_it() {
    for user in [User::Ours, User::Owner, User::Neither] {
        for cold in [Cold::Streams, Cold::SmallFiles] {
            let case = local(Hot::Elsewhere, cold, user);
            assert_ne!(answers_while_the_disk_does_not(case), Some(false), "{case}");
        }
        let case = local(Hot::SlowDisk, Cold::Streams, user);
        assert_ne!(answers_while_the_disk_does_not(case), Some(false), "{case}");
    }
}

/// Whoever touches a page that the kernel has marked has it read ahead, and waits for room in the queue of the disk.
#[test]
fn what_is_in_memory_is_answered_while_the_queue_of_a_local_disk_is_full() {
    for user in [User::Ours, User::Owner, User::Neither] {
        let case = local(Hot::Elsewhere, Cold::Streams, user);
        let Some(disk) = disk_of(case) else {
            return;
        };
        let site = Site::with(&[("hot", b"hot")]);
        let server = serve(&disk, &site, case);
        let mut client = Client::new(server.address);
        let readers = ColdReaders::start(CLIENTS, &disk, server.address, "/slow", case.cold);
        disk.hold(true);
        let ask = move || (0..1000).for_each(|_| assert!(client.get("/hot").content == b"hot"));
        let asked = std::thread::spawn(ask).join();
        disk.hold(false);
        readers.end();
        assert!(asked.is_ok(), "{case}");
    }
}

/// What the first two tests above are worth: without the check the loop waits. Not each time: what a busy kernel has read
/// meanwhile, or not yet begun to read, does not hold it up.
#[test]
fn nothing_is_answered_while_a_disk_is_not_if_nobody_asks_what_is_resident() {
    for case in UNASKED {
        let mut tries = std::iter::repeat_with(|| answers_while_the_disk_does_not(case)).take(3);
        assert!(tries.any(|answered| answered != Some(true)), "{case}");
    }
}

/// EPERM may come from a sandbox that knows no `openat2`, and then every path has to be walked to, which may
/// always wait. Of one file it says nothing of the others.
#[test]
fn a_file_that_is_denied_keeps_no_other_waiting() {
    let case = remote(Hot::Elsewhere, Cold::Streams, DATA);
    let Some(disk) = disk_of(case) else {
        return;
    };
    let site = Site::with(&[("hot", b"hot")]);
    let server = serve(&disk, &site, case);
    let mut client = Client::new(server.address);
    assert_eq!(client.get("/hot").status, 200);
    let source = DirectorySource::open(site.root(), Symlinks::Beneath, Duration::ZERO).unwrap();
    let view = source.view(Patience::MayWait).unwrap();
    view.stat(b"hot", Patience::MustNotWait).unwrap();
    assert_eq!(client.get("/slow/denied").status, 403);
    view.stat(b"hot", Patience::MustNotWait).unwrap();
}

/// As much of a cold file is read for many as for one, where no page cache sees to that.
#[test]
fn what_several_ask_for_is_read_once_without_a_page_cache() {
    let case = remote(Hot::Elsewhere, Cold::Streams, UNCACHED);
    let Some(disk) = disk_of(case) else {
        return;
    };
    let whole = content();
    let site = Site::with(&[("hot", b"hot")]);
    let server = serve(&disk, &site, case);
    let length = 4 * 1024 * 1024;
    let range = format!("Range: bytes=0-{}\r\n", length - 1);
    // So many ask for the beginning of a file: how often the disk was.
    let reads_for = |askers: usize| {
        let (kind, number, _) = next(&disk, case.cold);
        let request = request("GET", &format!("/slow/{kind}-{number}"), &range);
        let before = disk.work().reads;
        disk.hold(true);
        let mut clients: Vec<_> = (0..askers).map(|_| Client::new(server.address)).collect();
        for client in &mut clients {
            client.send(&request);
        }
        for client in &mut clients {
            let head = client.head();
            assert_eq!((head.status, head.length()), (206, length));
        }
        disk.hold(false);
        std::thread::scope(|scope| {
            for client in &mut clients {
                scope.spawn(|| {
                    let mut bytes = vec![0; length];
                    client.0.read_exact(&mut bytes).unwrap();
                    for (at, part) in (0..).step_by(PART).zip(bytes.chunks(PART)) {
                        assert!(part == &bytes_at(&whole, number, at)[..part.len()], "{at}");
                    }
                });
            }
        });
        disk.work().reads - before
    };
    // Who is kept from reading as fast as the others falls behind what is shared.
    judge("one read for several", || {
        let (one, many) = (reads_for(1), reads_for(16));
        let is_shared = (one > 0 && many < 2 * one).then_some(());
        is_shared.ok_or_else(|| format!("{many} reads for many, {one} for one"))
    });
}

/// Less than the test's disk can give at a time.
const PART: usize = 1024 * 1024;

/// Measures a case until it is as it should be, or nobody else can have made it what it is.
fn judged(case: Case, effort: Effort, is_right: impl Fn(&Figures) -> bool) {
    judge(case, || {
        let figures = measured(case, effort).expect("a slow disk");
        let right = is_right(&figures).then_some(());
        right.ok_or_else(|| format!("{figures:?}"))
    });
}

/// `make cold`: the promise itself, in release, on a machine that does nothing else.
#[test]
#[ignore = "measures for minutes, on a machine that does nothing else: make cold"]
fn hot_files_stay_as_quick_as_without_cold_ones() {
    let effort = Effort {
        rounds: 5,
        each: Duration::from_millis(700),
    };
    let mut cases = Vec::new();
    for cold in [Cold::Streams, Cold::SmallFiles] {
        for hot in [Hot::Elsewhere, Hot::SlowDisk] {
            for slow in [DATA, METADATA, EVERYTHING] {
                cases.push(remote(hot, cold, slow));
            }
            // Small files stay in the server's memory: a disk with so few of them is soon not asked any more.
            if cold == Cold::Streams {
                for user in [User::Ours, User::Owner, User::Neither] {
                    cases.push(local(hot, cold, user));
                }
            }
        }
    }
    let all = cases.into_iter();
    let all: Vec<_> = all
        .map(|case| (case, measured(case, effort).expect("a slow disk")))
        .collect();
    // The p99 alone is the same measurement in every case, and on a virtual machine it moves by a
    // factor of five from one minute to the next: a case must be over both its own and the usual one.
    let usual = median(all.iter().map(|(_, figures)| figures.alone).collect());
    say(&format!(
        "hot p99 alone, median of the cases: {} us",
        usual.as_micros()
    ));
    let is_kept = |figures: &Figures| figures.beside <= figures.alone.max(usual).mul_f64(FACTOR);
    for (case, figures) in all {
        if !is_kept(&figures) {
            judged(case, effort, is_kept);
        }
    }
    let is_held_up =
        |figures: &Figures| figures.beside > figures.alone.max(usual).mul_f64(4.0 * FACTOR);
    for case in UNASKED {
        judged(case, effort, is_held_up);
    }
}
