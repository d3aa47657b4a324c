//! Comparisons by pages: what is asked for all the time is compared many at once, and no change is missed by that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::{CacheState, Config, Engine, Mount, RequestPath};
use salver_object_store::Settings;

use crate::site::{Site, at_once, body, with_stale_answers};
use crate::store::{Asked, FaultStore};

/// So long that a slow machine makes nothing of it: while a list is awaited the clock is moved on.
const PERIOD: Duration = Duration::from_hours(24);

/// The time from one round to the next: a little more.
const ROUND: Duration = Duration::from_mins(1450);

/// A site of so many files, each of which was asked for once.
fn site(files: usize) -> (Site, Vec<String>) {
    let store = FaultStore::default();
    let paths: Vec<String> = (0..files)
        .map(|number| format!("d{}/p{number:03}.html", number % 3))
        .collect();
    for path in &paths {
        store.put(path, Some(path.as_bytes()));
    }
    let mut site = Site::of(store, with_stale_answers());
    let settings = Settings {
        revalidate: PERIOD,
        stale_while_revalidate: Duration::from_hours(24),
        clock: site.clock.clone(),
        ..with_stale_answers()
    };
    let source = site.store.source_of_pages(settings);
    let config = Config {
        mounts: vec![Mount::tree("/", Arc::new(source))],
        revalidate: PERIOD,
        ..Config::default()
    };
    site.engine = Engine::new(config).unwrap();
    for path in &paths {
        assert_eq!(body(&site.get(&format!("/{path}"))), path.as_bytes());
    }
    (site, paths)
}

/// Asks for all paths once they are due, until nothing of them is stale, and gives what the store was asked.
fn round(site: &mut Site, paths: &[String]) -> Vec<Asked> {
    let _ = site.store.asked();
    site.pass(ROUND);
    settle(site, paths)
}

/// Asks for all paths until nothing of them is stale, and gives what the store was asked.
fn settle(site: &mut Site, paths: &[String]) -> Vec<Asked> {
    let begun = Instant::now();
    while stale(site, paths) > 0 {
        assert!(begun.elapsed() < Duration::from_mins(1));
        std::thread::yield_now();
        // The engine looks again after a moment.
        site.pass(Duration::from_millis(200));
    }
    site.store.asked()
}

/// Asks for all paths, and counts the stale answers.
fn stale(site: &Site, paths: &[String]) -> usize {
    let asked = paths.iter().map(|path| at_once(site, &format!("/{path}")));
    let states = asked.map(|plan| plan.unwrap().cache_state);
    states
        .filter(|state| *state == Some(CacheState::Stale))
        .count()
}

fn lists(asked: &[Asked]) -> usize {
    asked.iter().filter(|asked| asked.what == "LIST").count()
}

#[test]
fn what_is_asked_for_all_the_time_is_compared_by_one_list() {
    let (mut site, paths) = site(100);
    // Files and their siblings one by one, until it is seen to be worth it.
    let asked = round(&mut site, &paths);
    assert!(lists(&asked) == 1 && asked.len() < 30, "{}", asked.len());
    for _ in 0..3 {
        let asked = round(&mut site, &paths);
        assert!(lists(&asked) == 1 && asked.len() == 1, "{asked:?}");
    }
    // What a few are asked for is compared one by one.
    round(&mut site, &paths[..2]);
    let asked = round(&mut site, &paths[..2]);
    assert!(lists(&asked) == 0 && asked.len() == 8, "{asked:?}");
}

#[test]
fn more_than_a_page_takes_as_many_lists() {
    let (mut site, paths) = site(2300);
    round(&mut site, &paths);
    round(&mut site, &paths);
    let asked = round(&mut site, &paths);
    // Pages end where others begin, or a little later.
    assert!((3..=4).contains(&lists(&asked)), "{}", lists(&asked));
    assert!(asked.len() < 30, "{}", asked.len());
}

#[test]
fn what_a_list_does_not_confirm_is_asked_for_by_itself() {
    let (mut site, paths) = site(50);
    round(&mut site, &paths);
    site.store.put(&paths[1], Some(b"another"));
    site.store.put(&paths[2], None);
    site.store
        .put(&format!("{}/x.html", paths[2]), Some(b"beneath"));
    round(&mut site, &paths);
    let answers = paths.iter().map(|path| {
        let plan = at_once(&site, &format!("/{path}")).unwrap();
        (plan.status, body(&plan))
    });
    for (number, (status, content)) in answers.enumerate() {
        match number {
            1 => assert_eq!((status, &*content), (200, &b"another"[..])),
            2 => assert_eq!(status, 308),
            _ => assert_eq!((status, &*content), (200, paths[number].as_bytes())),
        }
    }
}

#[test]
fn what_may_have_changed_is_told_while_a_list_compares_it() {
    let (mut site, paths) = site(100);
    for _ in 0..2 {
        round(&mut site, &paths);
    }
    site.store.put(&paths[7], Some(b"another"));
    // Nobody would ask for a while yet.
    site.pass(Duration::from_secs(1));
    assert_eq!((stale(&site, &paths), site.store.asked().len()), (0, 0));
    let beneath = RequestPath::parse(b"/").unwrap();
    site.engine.make_due(&beneath);
    // And nobody waits.
    assert!(stale(&site, &paths) > 0);
    let asked = settle(&mut site, &paths);
    assert!(lists(&asked) == 1 && asked.len() < 30, "{asked:?}");
    let changed = at_once(&site, &format!("/{}", paths[7])).unwrap();
    assert_eq!(body(&changed), b"another");
    // Those beneath another prefix stay as they are.
    site.store.put(&paths[0], Some(b"another"));
    site.engine.make_due(&RequestPath::parse(b"/d1/").unwrap());
    settle(&mut site, &paths);
    let same = at_once(&site, &format!("/{}", paths[0])).unwrap();
    assert_eq!(body(&same), paths[0].as_bytes());
}
