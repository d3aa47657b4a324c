//! Stale answers (RFC 5861): while what is held is compared, while the store is gone, and when it is back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::{
    CacheState, Config, ContentCoding, Conventions, Engine, Mount, Patience, RequestPath,
    Source as _,
};
use salver_object_store::{ObjectStoreSource, Settings};

use crate::site::{
    LONGEST_PAUSE, REVALIDATE, Site, at_once, body, field, of, until, with_stale_answers,
};
use crate::store::Fault;

#[test]
fn nobody_waits_for_the_comparison_of_what_is_a_little_stale() {
    let mut site = Site::with(&[("a.txt", b"one")], with_stale_answers());
    assert_eq!(body(&site.get("/a.txt")), b"one");
    let _ = site.store.asked();
    site.store.put("a.txt", Some(b"two"));
    site.pass(REVALIDATE * 8);
    let from = site.now.instant;
    for _ in 0..100 {
        let plan = at_once(&site, "/a.txt").unwrap();
        assert_eq!(body(&plan), b"one");
        assert_eq!(plan.cache_state, Some(CacheState::Stale));
    }
    until(&mut site, "/a.txt", b"two");
    // One comparison for all who asked, and where this took long one each time that it is due.
    let times = (site.now.instant - from).as_millis() / REVALIDATE.as_millis();
    let looks = of(&site.store.asked(), "a.txt").len();
    assert!(looks <= 1 + usize::try_from(times).unwrap(), "{looks}");
    // What is older is waited for.
    site.store.put("a.txt", Some(b"six"));
    site.pass(Duration::from_secs(12));
    assert!(at_once(&site, "/a.txt").is_none());
    assert_eq!(body(&site.get("/a.txt")), b"six");
}

#[test]
fn what_is_asked_for_all_the_time_is_as_fresh_as_ever() {
    let mut site = Site::with(&[("a.txt", b"0")], with_stale_answers());
    assert_eq!(body(&site.get("/a.txt")), b"0");
    for number in 1..10_u32 {
        let content = number.to_string();
        site.store.put("a.txt", Some(content.as_bytes()));
        let _ = site.store.asked();
        // Its siblings, which are a part of the answer, are not asked for at the same moment.
        for _ in 0..=22 {
            assert!(at_once(&site, "/a.txt").is_some());
            site.pass(REVALIDATE / 20);
        }
        // By then it has been asked for, whenever that is noticed here.
        let begun = Instant::now();
        while of(&site.store.asked(), "a.txt").is_empty() {
            assert!(begun.elapsed() < Duration::from_mins(1));
            std::thread::yield_now();
        }
        until(&mut site, "/a.txt", content.as_bytes());
    }
}

/// A site of many files of every kind, all of which were asked for.
fn full_site() -> (Site, Vec<(String, Vec<u8>)>) {
    let mut files: Vec<(String, Vec<u8>)> = (0..500)
        .map(|number| {
            (
                format!("p{number}.html"),
                format!("page {number}").into_bytes(),
            )
        })
        .collect();
    files.push(("docs/index.html".to_owned(), b"index".to_vec()));
    let all: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, content)| (&**path, &**content))
        .collect();
    let site = Site::with(&all, with_stale_answers());
    for (path, content) in &files {
        assert_eq!(body(&site.get(&format!("/{path}"))), *content);
    }
    assert_eq!(site.get("/docs").status, 308);
    assert_eq!(site.get("/nothing.html").status, 404);
    (site, files)
}

#[test]
fn all_that_is_held_is_sent_while_the_store_is_gone_for_an_hour() {
    let (mut site, files) = full_site();
    let _ = site.store.asked();
    site.store.fail(Some(Fault::Fails));
    for _ in 0..60 {
        site.pass(Duration::from_mins(1));
        for (path, content) in &files {
            let plan = site.get(&format!("/{path}"));
            assert_eq!((plan.status, body(&plan)), (200, content.clone()), "{path}");
        }
        assert_eq!(site.get("/docs").status, 308);
        assert_eq!(site.get("/nothing.html").status, 404);
    }
    let asked = site.store.asked().len();
    println!("{asked} requests to a store that was gone for an hour");
    // One probe for each minute, and what opened the circuit.
    assert!(asked < 100, "{asked}");
    assert_eq!(site.get("/never-asked-for.html").status, 503);
}

#[test]
fn a_store_that_is_back_is_asked_slowly() {
    let (mut site, files) = full_site();
    site.store.fail(Some(Fault::Fails));
    for _ in 0..10 {
        let _ = site.store.asked();
        site.pass(Duration::from_mins(1));
        let _ = site.get("/p1.html");
        // The probe has failed before there is another.
        let begun = Instant::now();
        while site.store.asked().is_empty() {
            assert!(begun.elapsed() < Duration::from_mins(1));
            std::thread::yield_now();
        }
    }
    let changed: Vec<u8> = b"changed".to_vec();
    for (path, _) in &files {
        site.store.put(path, Some(&changed));
    }
    site.store.fail(None);
    site.pass(LONGEST_PAUSE);
    let _ = site.store.asked();
    let (from, begun) = (site.now.instant, Instant::now());
    let mut seconds = [0; 10];
    loop {
        for (path, content) in &files {
            // Nobody waits, until nothing is held back any more.
            let path = format!("/{path}");
            let sent = body(&at_once(&site, &path).unwrap_or_else(|| site.get(&path)));
            assert!(sent == *content || sent == changed, "{path}");
        }
        // The time by the clock of the source, which goes on by itself as well.
        let since = site.now.instant - from + begun.elapsed();
        let second = usize::try_from(since.as_secs()).unwrap();
        let Some(asked) = seconds.get_mut(second) else {
            break;
        };
        *asked += site.store.asked().len();
        // The probe, what is admitted in each second, and what of that is noticed a little later.
        let most = 2 + (0..=second).map(|second| 32 << second).sum::<usize>();
        assert!(seconds.iter().sum::<usize>() <= most, "{seconds:?}");
        site.pass(Duration::from_millis(50));
    }
    println!("requests in each second after the store was back: {seconds:?}");
    for (path, _) in &files {
        until(&mut site, &format!("/{path}"), &changed);
    }
}

#[test]
fn a_failure_that_is_long_over_does_not_make_old_content_new() {
    for (fault, path) in [(Fault::Fails, "a.txt"), (Fault::HasExpired, "b.txt")] {
        let files: [(&str, &[u8]); 2] = [("a.txt", b"one"), ("b.txt", b"one")];
        let mut site = Site::with(&files, with_stale_answers());
        for (path, content) in files {
            assert_eq!(body(&site.get(&format!("/{path}"))), content);
        }
        site.pass(Duration::from_secs(12));
        site.store.fail(Some(fault));
        assert_eq!(body(&site.get("/a.txt")), b"one");
        // For the moment, that holds for all.
        for (path, content) in files {
            let plan = at_once(&site, &format!("/{path}")).unwrap();
            assert_eq!(body(&plan), content);
        }
        site.store.fail(None);
        site.store.put(path, Some(b"two"));
        // Nobody asks in the night.
        site.pass(Duration::from_hours(7));
        assert_eq!(body(&site.get(&format!("/{path}"))), b"two", "{path}");
    }
}

/// A site with rules, and its source.
fn site_with_rules() -> (Site, Arc<ObjectStoreSource>) {
    let files: [(&str, &[u8]); 3] = [
        ("_headers", b"/*\n  X-A: 1\n"),
        ("a.txt", b"a"),
        ("b.txt", b"b"),
    ];
    let mut site = Site::with(&files, with_stale_answers());
    let settings = Settings {
        clock: site.clock.clone(),
        ..with_stale_answers()
    };
    let source = Arc::new(site.store.source(settings));
    let mount = Mount::tree("/", Arc::<ObjectStoreSource>::clone(&source));
    let config = Config {
        mounts: vec![mount.with_conventions(Conventions::default())],
        revalidate: REVALIDATE,
        ..Config::default()
    };
    site.engine = Engine::new(config).unwrap();
    assert_eq!(site.get("/a.txt").status, 200);
    (site, source)
}

#[test]
fn rules_that_were_looked_at_a_while_ago_keep_nobody_waiting() {
    let (mut site, _) = site_with_rules();
    // Nearly as old as they may be, for a file that is looked at now.
    site.pass(REVALIDATE * 19 / 20);
    let plan = site.get("/b.txt");
    assert_eq!((plan.status, body(&plan)), (200, b"b".to_vec()));
    assert_eq!(field(&plan, "x-a").as_deref(), Some("1"));
}

/// True if what the source tells of a file and its siblings is no older than it may be.
fn is_compared(source: &ObjectStoreSource, path: &str) -> bool {
    let view = source.view(Patience::MayWait).unwrap();
    let ends = ContentCoding::CODED.map(ContentCoding::extension);
    for end in [Some("")].into_iter().chain(ends).flatten() {
        // It need not be there.
        let _ = view.stat(format!("{path}{end}").as_bytes(), Patience::MayWait);
    }
    view.age() < REVALIDATE
}

#[test]
fn the_ages_of_a_file_and_of_the_rules_do_not_add_up() {
    for looked_at in [1, 3, 5, 7, 9, 11, 13] {
        let (mut site, source) = site_with_rules();
        // It is told as it was, and compared meanwhile.
        site.pass(REVALIDATE * 6 / 5);
        assert_eq!(site.get("/a.txt").status, 200);
        let begun = Instant::now();
        while !is_compared(&source, "a.txt") {
            assert!(begun.elapsed() < Duration::from_mins(1));
            std::thread::yield_now();
        }
        // The rules are younger than the file.
        site.pass(REVALIDATE * looked_at / 20);
        for file in ["_headers", "_redirects"] {
            source.invalidate(file.as_bytes());
        }
        assert_eq!(site.get("/b.txt").status, 200);
        site.pass(REVALIDATE * 9 / 20);
        let plan = at_once(&site, "/a.txt").unwrap_or_else(|| site.get("/a.txt"));
        assert_eq!((plan.status, body(&plan)), (200, b"a".to_vec()));
    }
}

#[test]
fn what_is_purged_is_compared_before_it_is_sent() {
    let files: [(&str, &[u8]); 3] = [("a.txt", b"one"), ("d/b.txt", b"one"), ("c.txt", b"one")];
    let paths = files.map(|(path, _)| format!("/{path}"));
    let site = Site::with(&files, with_stale_answers());
    let texts = |site: &Site| paths.clone().map(|path| body(&site.get(&path)));
    let path = |path: &'static str| RequestPath::parse(path.as_bytes()).unwrap();
    assert_eq!(texts(&site), [b"one"; 3]);
    for (path, _) in files {
        site.store.put(path, Some(b"two"));
    }
    assert_eq!(texts(&site), [b"one"; 3]);
    let _ = site.store.asked();
    site.engine.invalidate(&path("/a.txt"));
    assert_eq!(texts(&site), [b"two", b"one", b"one"]);
    assert_eq!(of(&site.store.asked(), "a.txt").len(), 1);
    site.engine.invalidate_prefix(&path("/d/"));
    assert_eq!(texts(&site), [b"two", b"two", b"one"]);
    site.engine.clear();
    assert_eq!(texts(&site), [b"two"; 3]);
    // And not at all while that cannot be done.
    site.store.fail(Some(Fault::Fails));
    site.engine.invalidate(&path("/c.txt"));
    assert_eq!(site.get("/c.txt").status, 503);
    assert_eq!(body(&site.get("/a.txt")), b"two");
}
