//! Files that do not rest keep nothing waiting but themselves.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::common::{Site, Tree, config_of, directory};
use salver_assets::{Config, Event, Mount, Observer, Request, RetryLater, Step};
use salver_test::overwrite;

/// The paths of loads, in the order in which they ended.
#[derive(Debug, Default)]
struct Ended(Mutex<Vec<String>>);

impl Observer for Ended {
    fn observe(&self, event: Event) {
        if let Event::Loaded { path, .. } | Event::Failed { path, .. } = event {
            self.0.lock().unwrap().push(path.to_string());
        }
    }
}

/// Runs `work` while these files are written without a pause.
fn while_written(tree: &Tree, names: &[&str], work: impl FnOnce()) {
    let create = |name: &&str| File::create(tree.path(name)).unwrap();
    let files: Vec<File> = names.iter().map(create).collect();
    let write = || files.iter().for_each(|file| overwrite(file, b"on"));
    write();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                write();
            }
        });
        work();
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_file_that_does_not_rest_takes_no_time_of_whoever_loads_it() {
    let tree = Tree::new();
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
    tree.write_fresh("log", "on");
    let Step::Load(load, _) = site.begin(&Request::get(b"/log")) else {
        panic!("nothing is known yet")
    };
    // Unless this thread was away for so long after it had written that the file rests.
    while load.perform_without_sleeping(Instant::now()).is_ok() {
        tree.write_fresh("log", "on");
    }
    // It comes to rest by itself.
    let outcome = loop {
        match load.perform_without_sleeping(Instant::now()) {
            Ok(outcome) => break outcome,
            Err(RetryLater { after }) => std::thread::sleep(after),
        }
    };
    site.engine.finish(load, outcome);
    assert_eq!(site.get("/log", &[]).text(), "on");
}

#[test]
fn prewarming_goes_on_with_others_and_waits_for_all_together() {
    let tree = Tree::new();
    (0..50).for_each(|number| tree.write(&format!("empty/{number}"), ""));
    tree.write("z", "at rest");
    let config = || config_of(Mount::tree("/", directory(&tree.path(""))));
    let Step::Load(load, _) = Site::new(config()).begin(&Request::get(b"/z")) else {
        panic!("nothing is known yet")
    };
    while load.perform_without_sleeping(Instant::now()).is_err() {
        std::thread::yield_now();
    }
    let ended = Arc::new(Ended::default());
    let site = Site::new(Config {
        observer: Some(Arc::clone(&ended) as Arc<dyn Observer>),
        ..config()
    });
    let mut prewarmed = None;
    let logs = ["log-1", "log-2", "log-3"];
    while_written(&tree, &logs, || prewarmed = Some(site.engine.prewarm()));
    assert!(prewarmed.unwrap().files >= 51, "{prewarmed:?}");
    let ended = std::mem::take(&mut *ended.0.lock().unwrap());
    assert_eq!(ended.first().map(String::as_str), Some("/z"), "{ended:?}");
    // What is written all the time is left to whoever asks for it, and there is a load to wait for.
    assert_eq!(site.get("/log-1", &[]).text(), "on");
}
