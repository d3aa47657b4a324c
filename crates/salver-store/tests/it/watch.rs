//! A store in a bucket as a server sees it: one question while nothing changes, and what is held stays.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::source::conformance::{FILES, check, check_apart, check_changes};
use salver_assets::{Patience, Source, View};
use salver_store::{NewPreview, PreviewName, ReleaseId, Store, StoreSource, Writer};

use crate::memory_bucket::{Fault, MemoryBucket};
use crate::site::Site;

pub(crate) const WAIT: Patience = Patience::MayWait;

/// A source each view of which asks.
pub(crate) fn source(bucket: &MemoryBucket) -> StoreSource {
    StoreSource::open_bucket(bucket.shared(), Duration::ZERO)
}

pub(crate) fn read_of(view: &dyn View, path: &str) -> Result<Vec<u8>, io::ErrorKind> {
    let opened = view
        .open(path.as_bytes(), WAIT)
        .map_err(|error| error.kind())?;
    let mut bytes = vec![0; 100];
    let count = opened.reader.read_at(&mut bytes, 0, WAIT);
    bytes.truncate(count.map_err(|error| error.kind())?);
    Ok(bytes)
}

pub(crate) fn read(source: &StoreSource, path: &str) -> Result<Vec<u8>, io::ErrorKind> {
    let view = source.view(WAIT).map_err(|error| error.kind())?;
    read_of(&*view, path)
}

/// Takes what follows the lines of `current` out of a bucket, so that all has to be asked for.
fn take_bundle(bucket: &MemoryBucket) {
    let current = bucket.objects().remove("current").unwrap();
    let lines: Vec<&[u8]> = current.split_inclusive(|byte| *byte == b'\n').collect();
    bucket.spoil("current", Some(&lines[..3].concat()));
}

#[test]
fn holds_to_what_every_source_must() {
    let [one, other] = [(); 2].map(|()| {
        let site = Site::new(&[]);
        FILES
            .iter()
            .for_each(|(path, content)| site.put(path, content));
        let bucket = MemoryBucket::default();
        site.deploy_to(&bucket).unwrap();
        (source(&bucket), site, bucket)
    });
    check(&one.0).unwrap();
    check_apart(&one.0, &other.0).unwrap();
    check_changes(&one.0, |path, content| {
        match content {
            Some(content) => one.1.put(path, content),
            None => std::fs::remove_file(one.1.directory().join(path)).unwrap(),
        }
        one.1.deploy_to(&one.2).unwrap();
    })
    .unwrap();
}

#[test]
fn while_nothing_changes_one_question_is_asked_and_blobs_are_not() {
    let site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    let source = source(&bucket);
    assert_eq!(read(&source, "a.txt"), Err(io::ErrorKind::NotFound));
    site.deploy_to(&bucket).unwrap();
    assert_eq!(read(&source, "a.txt").as_deref(), Ok(&b"alpha"[..]));
    bucket.asked();
    for _ in 0..3 {
        let view = source.view(WAIT).unwrap();
        assert!(view.stat(b"a.txt", Patience::MustNotWait).is_ok());
        assert!(view.known(b"a.txt").is_some());
        assert!(view.stat(b"nothing.html", Patience::MustNotWait).is_err());
    }
    assert_eq!(bucket.asked(), ["GET current"; 3]);
}

#[test]
fn a_look_after_a_deploy_asks_for_what_is_new_alone() {
    let check = |files: usize, expected_manifests: usize| {
        let mut site = Site::new(&[("a.txt", "alpha")]);
        (1..files).for_each(|number| site.put(&format!("a-file-of-many-{number}.txt"), "same"));
        let bucket = MemoryBucket::default();
        for number in 0..5 {
            site.put("a.txt", number.to_string());
            site.deploy_to(&bucket).unwrap();
            site.now += 60;
        }
        let source = source(&bucket);
        source.view(WAIT).unwrap();
        site.put("a.txt", "last");
        site.deploy_to(&bucket).unwrap();
        bucket.asked();
        source.view(WAIT).unwrap();
        let asked = bucket.asked();
        let manifests = asked
            .iter()
            .filter(|asked| asked.starts_with("GET manifests/"));
        assert_eq!(manifests.count(), expected_manifests, "{asked:?}");
        assert_eq!(asked.len(), 4 + expected_manifests, "{asked:?}");
        let view = source.view(WAIT).unwrap();
        bucket.asked();
        assert_eq!(read_of(&*view, "a.txt").as_deref(), Ok(&b"last"[..]));
        assert_eq!(bucket.asked().len(), expected_manifests, "the content");
    };
    // What is short comes with the pointer, and what is new in it and short, too.
    check(1, 0);
    check(1000, 1);
}

#[test]
fn a_bucket_that_is_away_takes_nothing_that_is_held() {
    let mut site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    let early = source(&bucket);
    bucket.fail(Some((0, Fault::IsAway)));
    assert_eq!(read(&early, "a.txt"), Err(io::ErrorKind::NotConnected));
    bucket.fail(None);
    site.deploy_to(&bucket).unwrap();
    take_bundle(&bucket);
    let source = source(&bucket);
    let before = source.view(WAIT).unwrap();
    assert_eq!(read(&source, "a.txt").as_deref(), Ok(&b"alpha"[..]));
    bucket.fail(Some((0, Fault::IsAway)));
    let view = source.view(WAIT).unwrap();
    let stat = |view: &Arc<dyn View>| view.stat(b"a.txt", Patience::MustNotWait).unwrap();
    assert_eq!(stat(&view), stat(&before));
    // Nobody waits for a bucket that is away to be told that something is not there.
    let missing = view.stat(b"app.3f9a1c2b.js", Patience::MustNotWait);
    assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(read_of(&*view, "a.txt"), Err(io::ErrorKind::NotConnected));
    bucket.fail(None);
    site.now += 60;
    site.put("a.txt", "beta");
    site.deploy_to(&bucket).unwrap();
    assert_eq!(read(&source, "a.txt").as_deref(), Ok(&b"beta"[..]));
    // One that has lost its pointer is no reason to serve nothing.
    bucket.spoil("current", None);
    assert_eq!(read(&source, "a.txt").as_deref(), Ok(&b"beta"[..]));
    bucket.spoil("current", Some(b"nonsense"));
    assert_eq!(read(&source, "a.txt").as_deref(), Ok(&b"beta"[..]));
}

#[test]
fn a_chunk_of_a_release_that_this_node_has_not_seen_is_found() {
    let mut site = Site::new(&[("index.html", "old"), ("app.3f9a1c2b.js", "old")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    let source = StoreSource::open_bucket(bucket.shared(), Duration::from_secs(3600));
    let view = source.view(WAIT).unwrap();
    site.now += 60;
    std::fs::remove_file(site.directory().join("app.3f9a1c2b.js")).unwrap();
    site.put("index.html", "new");
    site.put("app.9c2b1f3a.js", "new");
    site.deploy_to(&bucket).unwrap();
    bucket.asked();
    // Who must not wait is told so; of what has no fingerprint nobody asks.
    let now = view
        .stat(b"app.9c2b1f3a.js", Patience::MustNotWait)
        .unwrap_err();
    assert_eq!(now.kind(), io::ErrorKind::WouldBlock);
    for path in ["app.3f9a1c2b.js.br", "plain.js", "page-3f9a1c2b.html"] {
        let now = view
            .stat(path.as_bytes(), Patience::MustNotWait)
            .unwrap_err();
        assert_eq!(now.kind(), io::ErrorKind::NotFound, "{path}");
    }
    assert!(bucket.asked().is_empty());
    assert!(view.stat(b"app.9c2b1f3a.js", WAIT).is_ok());
    assert_eq!(
        read_of(&*view, "app.9c2b1f3a.js").as_deref(),
        Ok(&b"new"[..])
    );
    assert!(view.known(b"app.9c2b1f3a.js").is_some());
    // All else of the view is as it was, and the next one is of the new release.
    assert_eq!(read_of(&*view, "index.html").as_deref(), Ok(&b"old"[..]));
    assert_eq!(read(&source, "index.html").as_deref(), Ok(&b"new"[..]));
    assert_eq!(read(&source, "app.3f9a1c2b.js").as_deref(), Ok(&b"old"[..]));
    let siblings = view
        .stat(b"app.9c2b1f3a.js.br", Patience::MustNotWait)
        .unwrap_err();
    assert_eq!(
        siblings.kind(),
        io::ErrorKind::NotFound,
        "its original is known"
    );
}

#[test]
fn who_is_told_of_a_change_looks_at_once() {
    let mut site = Site::new(&[("index.html", "old")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    let source = StoreSource::open_bucket(bucket.shared(), Duration::from_secs(3600));
    // Nobody has asked for anything yet: the first view looks anyway.
    source.look_now();
    assert_eq!(read(&source, "index.html").as_deref(), Ok(&b"old"[..]));
    site.now += 60;
    site.put("index.html", "new");
    site.deploy_to(&bucket).unwrap();
    assert_eq!(read(&source, "index.html").as_deref(), Ok(&b"old"[..]));
    source.look_now();
    wait_for(&source, b"new");
}

/// Waits until a source shows this page.
fn wait_for(source: &StoreSource, page: &[u8]) {
    let since = Instant::now();
    while read(source, "index.html").as_deref() != Ok(page) {
        assert!(since.elapsed() < Duration::from_secs(120), "in vain");
        std::thread::yield_now();
    }
}

fn is_look(asked: &String) -> bool {
    asked == "GET current"
}

/// What is asked for until so many looks more have begun.
fn asked_until(bucket: &MemoryBucket, looks: usize) -> Vec<String> {
    let (mut asked, since) = (bucket.asked(), Instant::now());
    while asked.iter().filter(|asked| is_look(asked)).count() < looks {
        assert!(since.elapsed() < Duration::from_secs(120), "in vain");
        std::thread::yield_now();
        asked.extend(bucket.asked());
    }
    asked
}

/// A bucket with a release, and a source of it that looks by itself after this time alone.
fn told(period: Duration) -> (Site, MemoryBucket, StoreSource) {
    let mut site = Site::new(&[("index.html", "old")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    let source = StoreSource::open_bucket(bucket.shared(), period);
    assert_eq!(read(&source, "index.html").as_deref(), Ok(&b"old"[..]));
    site.now += 60;
    site.put("index.html", "new");
    (site, bucket, source)
}

#[test]
fn a_storm_of_events_has_few_looks() {
    let (.., bucket, source) = told(Duration::from_secs(3600));
    bucket.asked();
    let begun = Instant::now();
    let mut looks = 0;
    let mut told = 0_u64;
    while looks < 6 {
        source.look_now();
        told += 1;
        looks += bucket.asked().len();
    }
    // The first one begins at once, if the one before began a while ago.
    let least = Duration::from_millis(20) * u32::try_from(looks - 1).unwrap();
    let took = begun.elapsed();
    assert!(took >= least, "{looks} looks for {told} events in {took:?}");
}

#[test]
fn an_event_that_comes_during_a_look_has_another_one() {
    let (site, bucket, source) = told(Duration::from_secs(3600));
    let source = Arc::new(source);
    // The request has begun, and its answer is of before.
    let told = Arc::clone(&source);
    let after = bucket.clone();
    bucket.after_get(move || {
        site.deploy_to(&after).unwrap();
        told.look_now();
    });
    source.look_now();
    wait_for(&source, b"new");
}

#[test]
fn what_else_a_store_has_is_asked_for_after_several_changes() {
    let check = |goes_on_telling: bool| {
        let (mut site, bucket, source) = told(Duration::from_secs(3600));
        site.put("index.html", "unseen");
        site.deploy_to(&bucket).unwrap();
        site.now += 60;
        site.put("index.html", "new");
        site.deploy_to(&bucket).unwrap();
        bucket.asked();
        let since = Instant::now();
        source.look_now();
        wait_for(&source, b"new");
        let mut asked = bucket.asked();
        let is = |what: &'static str| move |asked: &String| asked.starts_with(what);
        // Whoever goes on telling of something new puts it off, and not for ever.
        while !asked.iter().any(is("LIST previews")) {
            if asked.iter().any(is("LIST")) {
                let least = Duration::from_millis(200);
                assert!(since.elapsed() >= least, "beside the switch");
            }
            assert!(since.elapsed() < Duration::from_secs(120), "in vain");
            if goes_on_telling {
                source.look_now();
            }
            std::thread::yield_now();
            asked.extend(bucket.asked());
        }
        let before = || asked.iter().take_while(|asked| !is("LIST")(asked));
        let looks = before().filter(|asked| is("GET current")(asked));
        assert!(looks.count() >= 2, "by another look: {asked:?}");
        assert!(
            !before().any(is("GET manifests")),
            "it came with `current`: {asked:?}"
        );
    };
    check(false);
    check(true);
}

#[test]
fn a_switch_alone_is_all_that_is_asked_for() {
    let (mut site, bucket, source) = told(Duration::from_millis(40));
    let source = Arc::new(source);
    let writer = || Writer::lock(&Store::open_bucket(bucket.shared()).unwrap(), "it").unwrap();
    let seen = |page: &[u8]| {
        wait_for(&source, page);
        // What is owed is asked for by the next look.
        asked_until(&bucket, 4)
    };
    let check = |page: &[u8]| {
        let asked = seen(page);
        let is_due = |asked: &String| is_look(asked) || asked.starts_with("GET blobs/");
        assert!(asked.iter().all(is_due), "{asked:?}");
    };
    let first = Store::open_bucket(bucket.shared()).unwrap().current();
    let first = first.unwrap().unwrap();
    site.put("index.html", "preview");
    let preview = NewPreview {
        name: PreviewName::parse("next").unwrap(),
        // By now that is over.
        expires_after: Duration::from_secs(100),
    };
    let (directory, options) = (site.directory(), site.options());
    let preview = writer().deploy_preview(&directory, &preview, &options, &mut |_| true);
    let preview = preview.unwrap().id;
    // What the writer itself has asked for is no look.
    bucket.asked();
    asked_until(&bucket, 2);
    // After another change it is looked once more.
    site.now += 60;
    site.put("index.html", "new");
    site.deploy_to(&bucket).unwrap();
    bucket.asked();
    seen(b"new");
    for page in ["newer", "newest"] {
        site.now += 60;
        site.put("index.html", page);
        site.deploy_to(&bucket).unwrap();
        bucket.asked();
        check(page.as_bytes());
    }
    let is_shown = || source.release(preview.as_str()).unwrap().view(WAIT).is_ok();
    let rollback = |id: &ReleaseId| {
        writer().rollback(Some(id), "jo", site.time()).unwrap();
        bucket.asked();
    };
    assert!(!is_shown());
    rollback(&preview);
    check(b"preview");
    rollback(&first);
    check(b"old");
    assert!(is_shown(), "it was current once");
}

#[test]
fn what_was_cleared_up_is_gone_after_the_next_switch() {
    let (mut site, bucket, source) = told(Duration::from_millis(40));
    let source = Arc::new(source);
    site.deploy_to(&bucket).unwrap();
    wait_for(&source, b"new");
    bucket.asked();
    asked_until(&bucket, 4);
    // A deploy that ends before its switch, and another one that closes its number, and has not cleared up yet.
    site.now += 60;
    site.put("index.html", "dead");
    let before = bucket.objects().remove("current").unwrap();
    site.deploy_to(&bucket).unwrap();
    let dead = Store::open_bucket(bucket.shared()).unwrap().current();
    let dead = dead.unwrap().unwrap();
    let before = String::from_utf8(before).unwrap();
    let lines: Vec<&str> = before.lines().take(3).collect();
    let closed = lines.join("\n").replace("change 2", "change 3") + "\n";
    bucket.spoil("current", Some(closed.as_bytes()));
    wait_for(&source, b"new");
    bucket.asked();
    asked_until(&bucket, 4);
    let is_shown = || source.release(dead.as_str()).unwrap().view(WAIT).is_ok();
    assert!(is_shown());
    // It clears up, and switches.
    site.now += 60;
    site.put("index.html", "alive");
    site.deploy_to(&bucket).unwrap();
    wait_for(&source, b"alive");
    bucket.asked();
    asked_until(&bucket, 4);
    assert!(!is_shown());
}

#[test]
fn who_misses_every_event_loses_time_alone() {
    let (site, bucket, source) = told(Duration::from_millis(40));
    site.deploy_to(&bucket).unwrap();
    wait_for(&source, b"new");
}

#[test]
fn other_bytes_than_a_name_says_are_never_sent() {
    let site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    take_bundle(&bucket);
    let source = source(&bucket);
    let objects = bucket.objects();
    let (blob, content) = objects
        .iter()
        .find(|(key, _)| key.starts_with("blobs/"))
        .unwrap();
    for wrong in [Some(&b"omega"[..]), Some(b"longer"), None] {
        bucket.spoil(blob, wrong);
        assert_eq!(
            read(&source, "a.txt"),
            Err(io::ErrorKind::InvalidData),
            "{wrong:?}"
        );
    }
    bucket.spoil(blob, Some(content));
    assert_eq!(read(&source, "a.txt").as_deref(), Ok(&b"alpha"[..]));
}

#[test]
fn whoever_stops_serving_leaves_no_thread() {
    let site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    let shared = bucket.shared();
    let watch = Arc::downgrade(&shared);
    let source = StoreSource::open_bucket(shared, Duration::from_secs(3600));
    assert!(source.view(WAIT).is_ok());
    drop(source);
    // The thread lets go of it once it has seen that.
    while watch.upgrade().is_some() {
        std::thread::yield_now();
    }
}
