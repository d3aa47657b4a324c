//! Deploys and rollbacks.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::sync::Barrier;

use salver_store::{Action, Error, Store, Writer};

use crate::site::Site;

#[test]
fn only_what_has_changed_is_sent() {
    let mut site = Site::new(&[
        ("index.html", "one"),
        ("a/app.js", "code"),
        ("b/app.js", "code"),
    ]);
    let first = site.deploy();
    assert_eq!((first.files, first.bytes), (3, 11));
    assert_eq!((first.sent, first.kept), ((2, 7), (0, 0)));
    assert_eq!((first.previous, first.is_unchanged), (None, false));
    site.now += 60;
    // Whatever a build writes anew, nothing has changed.
    site.put("index.html", "one");
    let again = site.deploy();
    assert_eq!((again.sent, again.kept), ((0, 0), (2, 7)));
    assert!(again.is_unchanged && again.id == first.id);
    site.put("index.html", "other");
    let second = site.deploy();
    assert_eq!((second.sent, second.kept), ((1, 5), (1, 4)));
    assert_eq!(second.previous.as_ref(), Some(&first.id));
    assert!(second.id > first.id);
    assert_eq!(site.store().current().unwrap(), Some(second.id.clone()));
    let diff = site.store().diff(&first.id, &second.id).unwrap();
    let shown: Vec<_> = diff.changes.iter().map(|c| (c.name(), &*c.path)).collect();
    assert_eq!(shown, [("changed", &b"index.html"[..])]);
    assert!(site.fsck().is_sound());
}

#[test]
fn what_stays_keeps_its_time() {
    let site = Site::new(&[("a.txt", "alpha"), ("b.txt", "beta")]);
    let time = |seconds| std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let touch = |path: &str, seconds| {
        let file = fs::File::options()
            .append(true)
            .open(site.directory().join(path));
        file.unwrap().set_modified(time(seconds)).unwrap();
    };
    touch("a.txt", 1000);
    touch("b.txt", 1000);
    site.deploy();
    site.put("b.txt", "gamma");
    touch("a.txt", 2000);
    touch("b.txt", 2000);
    let second = site.deploy();
    let manifest = site.store().manifest(&second.id).unwrap();
    let modified = |path: &[u8]| manifest.find(path).unwrap().modified_unix_seconds;
    assert_eq!((modified(b"a.txt"), modified(b"b.txt")), (1000, 2000));
}

#[test]
fn what_is_deployed_is_what_a_server_would_show() {
    // Windows takes no line feeds in names, and wine makes no links.
    let (odd, shown_odd) = if cfg!(unix) {
        ("line\nbreak %.txt", "line\\nbreak %.txt")
    } else {
        ("line break %.txt", "line break %.txt")
    };
    let site = Site::new(&[
        ("index.html", "page"),
        (".env", "secret"),
        (".git/config", "secret"),
        (".well-known/security.txt", "contact"),
        (odd, "odd"),
        ("dir/page.html", "linked"),
    ]);
    fs::create_dir(site.directory().join("empty")).unwrap();
    #[cfg(unix)]
    let _socket = {
        symlink("dir", site.directory().join("link")).unwrap();
        symlink("/etc", site.directory().join("out")).unwrap();
        symlink("nowhere", site.directory().join("dead")).unwrap();
        std::os::unix::net::UnixListener::bind(site.directory().join("socket")).unwrap()
    };
    #[cfg(not(unix))]
    site.put("link/page.html", "linked");
    let notes = site.notes();
    assert_eq!(notes.len(), if cfg!(unix) { 3 } else { 0 }, "{notes:?}");
    assert!(
        notes.iter().all(|note| note.contains("passed over")),
        "{notes:?}"
    );
    let id = site.store().current().unwrap().unwrap();
    let shown = [
        ".well-known/security.txt",
        "dir/page.html",
        "index.html",
        shown_odd,
        "link/page.html",
    ];
    assert_eq!(site.paths(&id), shown);
    let mut options = site.options();
    options.dotfiles = true;
    let mut writer = Writer::lock(&site.store(), "deploy").unwrap();
    let all = writer
        .deploy(&site.directory(), &options, &mut |_| true)
        .unwrap();
    assert_eq!(all.files, 7);
    #[cfg(unix)]
    {
        symlink("..", site.directory().join("dir/up")).unwrap();
        let circle = writer
            .deploy(&site.directory(), &options, &mut |_| true)
            .unwrap_err();
        assert!(circle.to_string().contains("leads back"), "{circle}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_and_nothing_is_made() {
    let site = Site::new(&[]);
    let check = |part: &str| {
        let error = site.try_deploy().unwrap_err();
        assert!(matches!(error, Error::Misused(_)), "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(site.store().current().unwrap(), None);
    };
    check("holds no files");
    fs::remove_dir(site.directory()).unwrap();
    check("does not exist");
    fs::write(site.directory(), "file").unwrap();
    check("is no directory");
    // Somebody else's directory is not ours to write to.
    let error = Store::open_or_create(std::path::Path::new("/")).unwrap_err();
    assert!(
        error.to_string().contains("neither empty nor a store"),
        "{error}"
    );
    assert!(Store::open(&site.directory().join("none")).is_err());
    let within = Site::new(&[("a.txt", "alpha")]);
    let store = Store::open_or_create(&within.directory().join("store")).unwrap();
    let mut writer = Writer::lock(&store, "deploy").unwrap();
    let error = writer.deploy(&within.directory(), &within.options(), &mut |_| true);
    assert!(error.unwrap_err().to_string().contains("lie in each other"));
}

#[test]
fn a_store_of_another_version_is_left_alone() {
    let site = Site::new(&[("a.txt", "alpha")]);
    site.deploy();
    fs::write(site.path().join("salver-store"), "salver-store 2\n").unwrap();
    let error = Store::open_or_create(&site.path()).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
}

#[test]
fn of_two_at_once_one_wins_and_the_other_is_told() {
    let site = Site::new(&[("a.txt", "alpha")]);
    let store = site.store();
    let (begun, told) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        let winner = scope.spawn(|| {
            let mut is_first = true;
            let mut writer = Writer::lock(&store, "deploy").unwrap();
            writer.deploy(&site.directory(), &site.options(), &mut |_| {
                if std::mem::take(&mut is_first) {
                    begun.wait();
                    told.wait();
                }
                true
            })
        });
        begun.wait();
        let error = Writer::lock(&store, "prune").unwrap_err();
        assert!(matches!(error, Error::Busy(_)), "{error}");
        let process = format!("`salver deploy (process {})`", std::process::id());
        assert!(error.to_string().starts_with(&process), "{error}");
        told.wait();
        assert_eq!(winner.join().unwrap().unwrap().files, 1);
    });
    assert!(Writer::lock(&store, "prune").is_ok());
}

#[test]
fn a_rollback_goes_to_the_release_before_or_to_any() {
    let mut site = Site::new(&[("a.txt", "one")]);
    let mut ids = vec![site.deploy().id];
    for content in ["two", "three"] {
        site.now += 60;
        site.put("a.txt", content);
        ids.push(site.deploy().id);
    }
    assert_eq!(site.rollback(None).unwrap(), ids[1]);
    assert_eq!(site.rollback(None).unwrap(), ids[0]);
    let error = site.rollback(None).unwrap_err();
    assert!(error.to_string().contains("no release before"), "{error}");
    let error = site.rollback(Some(&ids[0])).unwrap_err();
    assert!(
        error.to_string().contains("is the current release already"),
        "{error}"
    );
    assert_eq!(site.rollback(Some(&ids[2])).unwrap(), ids[2]);
    let store = site.store();
    let list: Vec<_> = store.releases().unwrap();
    assert_eq!(
        list.iter().map(|r| r.is_current).collect::<Vec<_>>(),
        [false, false, true]
    );
    assert_eq!(list[2].bytes_alone, 5);
    assert_eq!(list[2].who.as_deref(), Some("jo"));
    let actions: Vec<_> = store
        .journal()
        .unwrap()
        .iter()
        .map(|e| (e.change, e.action))
        .collect();
    let (deploy, rollback) = (Action::Deploy, Action::Rollback);
    assert_eq!(
        actions,
        [
            (1, deploy),
            (2, deploy),
            (3, deploy),
            (4, rollback),
            (5, rollback),
            (6, rollback)
        ]
    );
    // A part of a name will do, if it is of one.
    let text = ids[1].as_str();
    assert_eq!(store.find(&text[text.len() - 8..]).unwrap(), ids[1]);
    assert!(
        store
            .find(&text[..8])
            .unwrap_err()
            .to_string()
            .contains("several")
    );
    assert!(store.find("").is_err() && store.find("x").is_err());
}

#[test]
fn names_sort_as_deploys_came_whatever_the_clock_says() {
    let mut site = Site::new(&[("a.txt", "0")]);
    let mut last = site.deploy().id;
    for number in 1..5 {
        site.now -= 1000;
        site.put("a.txt", number.to_string());
        let next = site.deploy().id;
        assert!(next > last, "{next} after {last}");
        last = next;
    }
}

#[test]
fn twenty_releases_take_little_more_than_one() {
    let mut site = Site::new(&[]);
    // Noise, so that nothing is saved by chance: 200 files of 1 to 40 KiB.
    let mut state = 1_u64;
    let mut noise = |length: usize| -> Vec<u8> {
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        };
        std::iter::repeat_with(next).take(length).collect()
    };
    for number in 0..200 {
        site.put(
            &format!("pages/{number:03}/index.html"),
            noise(1024 * (number % 40 + 1)),
        );
    }
    let taken = |site: &Site| {
        let mut bytes = 0;
        let mut directories = vec![site.path()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                let metadata = entry.metadata().unwrap();
                match metadata.is_dir() {
                    true => directories.push(entry.path()),
                    false => bytes += metadata.len(),
                }
            }
        }
        bytes
    };
    site.deploy();
    let one = taken(&site);
    for release in 1..20 {
        site.now += 3600;
        for number in 0..3 {
            let page = (release * 7 + number * 31) % 200;
            site.put(
                &format!("pages/{page:03}/index.html"),
                noise(1024 * (page % 40 + 1)),
            );
        }
        assert_eq!(site.deploy().sent.0, 3);
    }
    assert_eq!(site.store().releases().unwrap().len(), 20);
    let twenty = taken(&site);
    println!("one release {one} bytes, twenty {twenty}");
    assert!(
        twenty * 2 <= one * 3,
        "one release {one} bytes, twenty {twenty}"
    );
}
