//! A precompressed sibling never harms its original: whatever is wrong with it, the original is served.

pub(crate) mod disk;

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use crate::common::{Answer, Site, Tree, coded, config_of, directory};
use disk::{Call, Disk, State, Trouble};
use salver_assets::{Config, ContentCoding, Mount, SiblingCheck};

/// Longer than what is waited for, however slow the machine is; only a test that fails takes so long.
const LONG: Duration = Duration::from_secs(120);

/// Beyond this, files of these tests are too long to be hashed at once.
const HASHED: u64 = 5000;

/// A site on such a disk.
fn site(tree: &Tree, far: bool, change: impl FnOnce(&mut Config)) -> (Site, Arc<State>) {
    let state = Arc::new(State::default());
    let disk = Disk {
        files: directory(&tree.path("")),
        far,
        state: Arc::clone(&state),
    };
    let mut config = Config {
        settle_time: Duration::ZERO,
        ..config_of(Mount::tree("/", Arc::new(disk)))
    };
    change(&mut config);
    (Site::new(config), state)
}

fn on_threads(site: &Site) {
    site.engine
        .hand_sibling_checks_to(|check| drop(std::thread::spawn(|| check.perform())));
}

/// Checks that nobody has performed.
type Kept = Arc<Mutex<Vec<SiblingCheck>>>;

fn kept(site: &Site) -> Kept {
    let kept = Kept::default();
    let to = Arc::clone(&kept);
    site.engine
        .hand_sibling_checks_to(move |check| to.lock().unwrap().push(check));
    kept
}

fn perform(kept: &Kept) -> usize {
    let checks = std::mem::take(&mut *kept.lock().unwrap());
    let count = checks.len();
    checks.into_iter().for_each(SiblingCheck::perform);
    count
}

fn get(site: &Site, path: &str, accept: &str) -> Answer {
    site.get(path, &[("Accept-Encoding", accept)])
}

fn coding(answer: &Answer) -> &str {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.field("Content-Encoding")
}

fn text(lines: usize) -> Vec<u8> {
    b"one line of some text, and another\n".repeat(lines)
}

/// Asks until the coding is this one: what is done beside takes a while.
fn until(site: &Site, path: &str, accept: &str, expected: &str) {
    let end = std::time::Instant::now() + LONG;
    while coding(&get(site, path, accept)) != expected {
        assert!(
            std::time::Instant::now() < end,
            "{path} never came in {expected:?}"
        );
        site.advance(Duration::from_secs(1));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn trouble_with_a_sibling_is_none_for_its_original() {
    let short = text(100);
    let long = text(1000);
    assert!(short.len() < 5000 && long.len() > 5000);
    let check = |content: &[u8], far: bool, call: Call, trouble: Trouble| {
        let tree = Tree::new();
        tree.write("a.js", content);
        tree.write("a.js.gz", coded(content, "gz"));
        tree.write("a.js.br", coded(content, "br"));
        let (site, state) = site(&tree, far, |config| config.hash_up_to = HASHED);
        on_threads(&site);
        state.have("a.js.gz", call, Some(trouble));
        for accept in ["", "gzip", "gzip, zstd"] {
            for _ in 0..2 {
                let answer = get(&site, "/a.js", accept);
                assert_eq!(coding(&answer), "", "{trouble:?} {call:?}");
                assert!(answer.body == *content, "{trouble:?} {call:?}");
                site.advance(Duration::from_secs(1));
            }
        }
        // Nor for the other one, and once it is over, the sibling is one.
        until(&site, "/a.js", "br", "br");
        state.have("a.js.gz", call, None);
        until(&site, "/a.js", "gzip", "gzip");
    };
    // Side by side: most of the time goes by in waiting for what hangs.
    std::thread::scope(|scope| {
        for content in [&*short, &*long] {
            for far in [false, true] {
                for call in [Call::Stat, Call::Open] {
                    for trouble in [
                        Trouble::Fails(io::ErrorKind::PermissionDenied),
                        Trouble::Fails(io::ErrorKind::Other),
                        Trouble::Hangs,
                    ] {
                        scope.spawn(move || check(content, far, call, trouble));
                    }
                }
            }
        }
    });
}

#[test]
fn a_sibling_that_is_being_written_counts_as_absent() {
    for lines in [100, 1000] {
        let content = text(lines);
        let tree = Tree::new();
        tree.write("a.js", &content);
        tree.write("a.js.gz", "");
        let (site, _) = site(&tree, false, |config| config.hash_up_to = HASHED);
        on_threads(&site);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let path = tree.path("a.js.gz");
                let mut file = std::fs::File::options().append(true).open(path).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    file.write_all(b"x").unwrap();
                    if file.metadata().unwrap().len() > 1000 {
                        file.set_len(1).unwrap();
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            for accept in ["", "gzip", "gzip", "br", "gzip"] {
                let answer = get(&site, "/a.js", accept);
                stop.store(answer.status != 200, Ordering::Relaxed);
                assert_eq!((answer.status, answer.field("Content-Encoding")), (200, ""));
                assert!(answer.body == content);
                site.advance(Duration::from_secs(1));
            }
            stop.store(true, Ordering::Relaxed);
        });
        tree.replace("a.js.gz", coded(&content, "gz"));
        site.advance(Duration::from_secs(1));
        until(&site, "/a.js", "gzip", "gzip");
    }
}

#[test]
fn a_sibling_that_can_no_longer_be_read_does_not_take_its_original_with_it() {
    for cache_max_file in [0, 1_000_000] {
        let content = text(2000);
        let tree = Tree::new();
        tree.write("a.js", &content);
        tree.write("a.js.gz", coded(&content, "gz"));
        let (site, state) = site(&tree, false, |config| {
            config.cache = false;
            config.sendfile_from = cache_max_file;
        });
        on_threads(&site);
        until(&site, "/a.js", "gzip", "gzip");
        for kind in [io::ErrorKind::Other, io::ErrorKind::PermissionDenied] {
            state.have("a.js.gz", Call::Open, Some(Trouble::Fails(kind)));
            let answer = get(&site, "/a.js", "gzip");
            assert_eq!(coding(&answer), "");
            assert!(answer.body == content);
        }
        state.have("a.js.gz", Call::Open, None);
        until(&site, "/a.js", "gzip", "gzip");
    }
}

#[test]
fn siblings_are_looked_at_beside_each_other_and_beside_the_original() {
    let content = text(100);
    let tree = Tree::new();
    tree.write("a.js", &content);
    let (site, state) = site(&tree, true, |_| {});
    on_threads(&site);
    for path in ["a.js.br", "a.js.zst", "a.js.gz"] {
        state.have(path, Call::Stat, Some(Trouble::Meets(4)));
    }
    state.have("a.js", Call::Open, Some(Trouble::Meets(4)));
    let answer = get(&site, "/a.js", "br, gzip, zstd");
    assert_eq!(coding(&answer), "");
    assert!(answer.body == content);
    assert_eq!(state.meeting.lock().unwrap().1, 4, "at once");
}

#[test]
fn what_a_check_has_read_is_not_read_again() {
    let content = text(100);
    let tree = Tree::new();
    tree.write("a.js", &content);
    tree.write("a.js.gz", coded(&content, "gz"));
    let gz = std::fs::metadata(tree.path("a.js.gz")).unwrap().len();
    let (site, _) = site(&tree, true, |_| {});
    on_threads(&site);
    until(&site, "/a.js", "gzip", "gzip");
    let read = site.engine.statistics().bytes_loaded;
    let once = u64::try_from(content.len()).unwrap() + gz;
    // On a machine that took longer than the original waits, the sibling comes later, and is read then.
    assert!(read == once || read == once + gz, "{read} of {once}");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "every look and read may wait")]
fn a_verdict_that_comes_late_is_used_at_once() {
    for lines in [100, 1000] {
        let content = text(lines);
        let tree = Tree::new();
        tree.write("a.js", &content);
        tree.write("a.js.gz", coded(&content, "gz"));
        tree.write("a.js.br", "no Brotli");
        let (site, _) = site(&tree, lines == 100, |config| config.hash_up_to = HASHED);
        let checks = kept(&site);
        let early = get(&site, "/a.js", "gzip, br");
        assert_eq!(coding(&early), "");
        assert!(early.body == content);
        assert!(perform(&checks) >= 2, "one for each sibling");
        // The clock stands still: nothing is due, but something has become known.
        if lines == 100 {
            // What the load after the first check does not wait for is looked at within a second.
            perform(&checks);
            site.advance(Duration::from_secs(1));
            on_threads(&site);
            until(&site, "/a.js", "gzip, br", "gzip");
            continue;
        }
        let late = get(&site, "/a.js", "gzip, br");
        assert_eq!(coding(&late), "gzip");
        assert_eq!(late.field("Vary"), "Accept-Encoding");
        assert_ne!(late.field("ETag"), early.field("ETag"));
        assert_eq!(coding(&get(&site, "/a.js", "br")), "");
        for _ in 0..3 {
            site.advance(Duration::from_secs(1));
            assert_eq!(coding(&get(&site, "/a.js", "gzip")), "gzip");
        }
        assert_eq!(perform(&checks), 0, "what is known is not found out again");
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "every look and read may wait")]
fn siblings_of_long_originals_are_decoded_whatever_their_times() {
    let content = text(1000);
    let tree = Tree::new();
    let good = coded(&content, "gz");
    tree.write("good.js", &content);
    tree.write("good.js.gz", &good);
    // As some compressors copy times: in whole seconds, so that it seems older than it is.
    tree.modified(
        "good.js",
        UNIX_EPOCH + Duration::from_millis(1_500_000_000_700),
    );
    tree.modified(
        "good.js.gz",
        UNIX_EPOCH + Duration::from_secs(1_500_000_000),
    );
    for (name, sibling) in [
        ("half.js", good[..good.len() / 2].to_vec()),
        ("empty.js", Vec::new()),
        ("text.js", b"no gzip at all".to_vec()),
        ("other.js", coded(b"something else", "gz")),
    ] {
        tree.write(name, &content);
        tree.write(&format!("{name}.gz"), sibling);
        tree.modified_ago(&format!("{name}.gz"), Duration::from_secs(60));
    }
    let (site, _) = site(&tree, false, |config| config.hash_up_to = HASHED);
    let checks = kept(&site);
    for _ in 0..3 {
        for name in ["half.js", "empty.js", "text.js", "other.js"] {
            let answer = get(&site, &format!("/{name}"), "gzip");
            assert_eq!(coding(&answer), "", "{name}");
            assert!(answer.body == content, "{name}");
        }
        get(&site, "/good.js", "gzip");
        perform(&checks);
        site.advance(Duration::from_secs(1));
    }
    assert_eq!(coding(&get(&site, "/good.js", "gzip")), "gzip");
    // What was half done is complete.
    tree.write("half.js.gz", &good);
    site.advance(Duration::from_secs(1));
    assert_eq!(coding(&get(&site, "/half.js", "gzip")), "");
    perform(&checks);
    assert_eq!(coding(&get(&site, "/half.js", "gzip")), "gzip");
}

#[test]
fn a_sibling_that_comes_before_its_longer_original_is_used_once_that_is_there() {
    let (old, new) = (text(30), text(600));
    for threads in [false, true] {
        let tree = Tree::new();
        tree.write("app.js", &old);
        tree.write("app.js.gz", coded(&old, "gz"));
        let (site, _) = site(&tree, false, |_| {});
        if threads {
            on_threads(&site);
        }
        until(&site, "/app.js", "gzip", "gzip");
        let sibling = coded(&new, "gz");
        assert!(
            sibling.len() < old.len(),
            "else it is refused by its length"
        );
        tree.replace("app.js.gz", sibling);
        site.advance(Duration::from_secs(1));
        let between = get(&site, "/app.js", "gzip");
        assert_eq!(coding(&between), "");
        assert!(between.body == old);
        tree.replace("app.js", &new);
        site.advance(Duration::from_secs(1));
        until(&site, "/app.js", "gzip", "gzip");
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "every look and read may wait")]
fn checks_are_few_and_one_for_each_file() {
    let content = text(1000);
    let tree = Tree::new();
    for number in 0..50 {
        tree.write(&format!("{number}.js"), &content);
        tree.write(&format!("{number}.js.gz"), coded(&content, "gz"));
    }
    let (site, _) = site(&tree, false, |config| {
        config.hash_up_to = HASHED;
        config.precompressed = vec![ContentCoding::Gzip];
    });
    let checks = kept(&site);
    for _ in 0..3 {
        for number in 0..50 {
            let answer = get(&site, &format!("/{number}.js"), "gzip");
            assert_eq!(coding(&answer), "");
            assert!(answer.body == content);
        }
        site.advance(Duration::from_secs(1));
        let waiting = checks.lock().unwrap().len();
        // As nobody performs them, the disk seems to hang after a second.
        assert!((8..50).contains(&waiting), "{waiting}");
        let mut paths: Vec<_> = checks
            .lock()
            .unwrap()
            .iter()
            .map(|c| format!("{c:?}"))
            .collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), waiting, "one for each file");
    }
    let mut rounds = 0;
    while perform(&checks) > 0 {
        for number in 0..50 {
            get(&site, &format!("/{number}.js"), "gzip");
        }
        site.advance(Duration::from_secs(1));
        rounds += 1;
        assert!(rounds < 10);
    }
    for number in 0..50 {
        assert_eq!(
            coding(&get(&site, &format!("/{number}.js"), "gzip")),
            "gzip"
        );
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "every look and read may wait")]
fn a_check_that_is_dropped_is_done_another_time() {
    let content = text(1000);
    let tree = Tree::new();
    tree.write("a.js", &content);
    tree.write("a.js.gz", coded(&content, "gz"));
    let (site, _) = site(&tree, false, |config| {
        config.hash_up_to = HASHED;
        config.precompressed = vec![ContentCoding::Gzip];
    });
    site.engine.hand_sibling_checks_to(drop);
    assert_eq!(coding(&get(&site, "/a.js", "gzip")), "");
    let checks = kept(&site);
    site.advance(Duration::from_secs(1));
    assert_eq!(coding(&get(&site, "/a.js", "gzip")), "");
    assert_eq!(perform(&checks), 1);
    // What was written a moment ago is looked at again.
    let end = std::time::Instant::now() + LONG;
    while coding(&get(&site, "/a.js", "gzip")) != "gzip" {
        assert!(std::time::Instant::now() < end);
        site.advance(Duration::from_secs(1));
        perform(&checks);
    }
}

#[test]
fn a_check_outlives_no_engine() {
    let content = text(1000);
    let tree = Tree::new();
    tree.write("a.js", &content);
    tree.write("a.js.gz", coded(&content, "gz"));
    let (site, state) = site(&tree, false, |config| config.hash_up_to = HASHED);
    let checks = kept(&site);
    get(&site, "/a.js", "gzip");
    state.have("a.js.gz", Call::Stat, Some(Trouble::Hangs));
    let kept = std::mem::take(&mut *checks.lock().unwrap());
    drop(site);
    // Were it to look, it would hang.
    kept.into_iter().for_each(SiblingCheck::perform);
}
