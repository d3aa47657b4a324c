//! The cache keeps to its bytes, whatever is asked, and keeps what is worth it.

use std::io;
use std::sync::Arc;

use crate::common::{Site, config_of, memory};
use salver_assets::source::{Identity, Kind, Metadata, Opened, Reader, Timestamp};
use salver_assets::{Config, Mount, Patience, Source, View};
use salver_test::allocations::held_bytes;
use salver_test::alone;

const MIB: usize = 1024 * 1024;

/// Holds `f0`, `f1` and so on, each of some length, without holding them.
#[derive(Debug)]
struct Endless;

struct EndlessView;

fn number_of(path: &[u8]) -> io::Result<u64> {
    let name = std::str::from_utf8(path).unwrap();
    let number = name
        .strip_prefix('f')
        .and_then(|number| number.parse().ok());
    number.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn length_of(number: u64) -> u64 {
    number % 97 * 53
}

impl Source for Endless {
    fn view(&self, _: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::new(EndlessView))
    }
}

impl View for EndlessView {
    fn stat(&self, path: &[u8], _: Patience) -> io::Result<Metadata> {
        let number = number_of(path)?;
        let at = Timestamp {
            seconds: 0,
            nanoseconds: 0,
        };
        Ok(Metadata {
            kind: Kind::File,
            identity: Identity {
                device: 0,
                inode: number,
                length: length_of(number),
                modified: at,
                changed: at,
            },
        })
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let metadata = self.stat(path, patience)?;
        let length = usize::try_from(metadata.identity.length).unwrap();
        let reader = Reader::Memory(vec![b'x'; length].into());
        Ok(Opened {
            metadata,
            reader,
            local: true,
        })
    }

    fn list(&self, _: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

fn site(source: Arc<dyn Source>, cache_size: usize) -> Site {
    Site::new(Config {
        cache_size,
        ..config_of(Mount::tree("/", source))
    })
}

#[test]
fn the_budget_holds_under_100_000_files_half_of_which_are_not_there() {
    let _alone = alone();
    let budget = 8 * MIB;
    let before = held_bytes();
    let site = site(Arc::new(Endless), budget);
    for number in 0..100_000 {
        let (path, status) = match number % 2 {
            0 => (format!("/f{number}"), 200),
            _ => (format!("/missing-{number}"), 404),
        };
        let answer = site.get(&path, &[]);
        assert_eq!(answer.status, status);
        let statistics = site.engine.statistics();
        assert!(
            usize::try_from(statistics.bytes).unwrap() <= budget,
            "{statistics:?}"
        );
    }
    let statistics = site.engine.statistics();
    assert!(
        usize::try_from(statistics.bytes).unwrap() > budget / 2,
        "{statistics:?}"
    );
    assert_eq!(statistics.evictions + statistics.entries, 100_000);
    // What is counted is what is held. Beside it there are the digests of the files seen last, of
    // which the number is bounded.
    let held = held_bytes() - before;
    let counted = usize::try_from(statistics.bytes).unwrap();
    println!("{counted} bytes counted, {held} held: {statistics:?}");
    assert!(
        held < counted + 16 * MIB,
        "{held} bytes held, {counted} counted"
    );
    site.engine.clear();
    let held = held_bytes() - before;
    println!("{held} held when cleared");
    assert!(held < 16 * MIB, "{held} bytes held when cleared");
}

#[test]
fn what_comes_once_does_not_push_out_what_comes_again() {
    let _alone = alone();
    let site = site(Arc::new(Endless), 2 * MIB);
    // Some 100 kB.
    let hot: Vec<String> = (1000..1040).map(|number| format!("/f{number}")).collect();
    for path in hot.iter().cycle().take(3 * hot.len()) {
        site.get(path, &[]);
    }
    for number in 2000..22_000 {
        site.get(&format!("/f{number}"), &[]);
    }
    let loads = site.engine.statistics().loads;
    for path in &hot {
        assert_eq!(site.get(path, &[]).status, 200);
    }
    assert_eq!(
        site.engine.statistics().loads,
        loads,
        "all were still there"
    );
}

#[test]
fn an_oversize_file_evicts_nothing() {
    let _alone = alone();
    let tree = crate::common::Tree::new();
    let small: Vec<String> = (0..100).map(|number| format!("small-{number}")).collect();
    for name in &small {
        tree.write(name, name);
    }
    // Longer than what is kept: by the file's own length, by its share of the cache, and changed
    // so recently that it is read whole before it is sent.
    tree.write("long", vec![1; 300_000]);
    tree.write("recent", vec![2; 900_000]);
    let coded_twins: Vec<u8> = (0..45_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    tree.write("twins", &coded_twins);
    for (name, coding) in [("twins.br", "br"), ("twins.gz", "gz"), ("twins.zst", "zst")] {
        tree.write(name, crate::common::coded(&coded_twins, coding));
    }
    let site = Site::new(Config {
        cache_size: MIB,
        cache_max_file: 200_000,
        ..config_of(Mount::tree("/", crate::common::directory(&tree.path(""))))
    });
    for name in &small {
        assert_eq!(site.get(&format!("/{name}"), &[]).text(), *name);
    }
    for _ in 0..3 {
        assert_eq!(site.get("/long", &[]).body.len(), 300_000);
        assert_eq!(site.get("/recent", &[]).body.len(), 900_000);
        for coding in ["identity", "br", "gzip", "zstd"] {
            let answer = site.get("/twins", &[("Accept-Encoding", coding)]);
            assert_eq!(answer.status, 200);
        }
    }
    let statistics = site.engine.statistics();
    assert_eq!(statistics.evictions, 0, "{statistics:?}");
    for name in &small {
        site.get(&format!("/{name}"), &[]);
    }
    assert_eq!(site.engine.statistics().loads, statistics.loads);
}

#[test]
fn what_is_not_to_be_kept_is_not() {
    let _alone = alone();
    let content = vec![b'x'; 1000];
    let site = Site::new(Config {
        cache_max_file: 999,
        ..config_of(Mount::tree(
            "/",
            memory(&[("a", &content), ("b", &content[1..])]),
        ))
    });
    for _ in 0..3 {
        assert_eq!(site.get("/a", &[]).body, content);
        assert_eq!(site.get("/b", &[]).body, content[1..]);
    }
    let statistics = site.engine.statistics();
    assert_eq!(statistics.hits, 2, "those of /b: {statistics:?}");
}

#[test]
fn a_budget_of_nothing_still_answers() {
    let _alone = alone();
    for cache_size in [0, 1, 1000] {
        let site = site(Arc::new(Endless), cache_size);
        for number in 0..100 {
            let answer = site.get(&format!("/f{}", number % 3), &[]);
            assert_eq!(answer.status, 200);
        }
        assert!(site.engine.statistics().bytes <= u64::try_from(cache_size).unwrap());
    }
}

#[test]
fn prewarming_fills_nine_tenths_and_says_so() {
    let _alone = alone();
    let names: Vec<String> = (0..100)
        .map(|number| format!("d{}/f{number}", number % 7))
        .collect();
    let content = vec![b'x'; 30_000];
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &*content)).collect();
    let check = |cache_size: usize, full: bool| {
        let site = site(memory(&files), cache_size);
        let done = site.engine.prewarm();
        let statistics = site.engine.statistics();
        assert_eq!(done.full, full, "{done:?}");
        assert_eq!(
            (done.bytes, done.files),
            (statistics.bytes, statistics.entries)
        );
        assert_eq!(statistics.evictions, 0);
        let bytes = usize::try_from(done.bytes).unwrap();
        assert!(bytes <= cache_size / 10 * 9, "{done:?} of {cache_size}");
        if full {
            assert!(
                bytes > cache_size / 10 * 9 - 2 * content.len(),
                "{done:?} of {cache_size}"
            );
        } else {
            assert_eq!(done.files, 100);
        }
        site
    };
    check(MIB, true);
    check(2 * MIB, true);
    let site = check(20 * MIB, false);
    let before = site.engine.statistics();
    for name in &names {
        assert_eq!(site.get(&format!("/{name}"), &[]).status, 200);
    }
    let after = site.engine.statistics();
    assert_eq!((after.loads, after.hits), (before.loads, before.hits + 100));
}

#[test]
fn prewarming_loads_what_a_browser_gets() {
    let _alone = alone();
    let content = b"hello, hello, hello, hello, hello, hello, hello".repeat(100);
    let br = crate::common::coded(&content, "br");
    let files: [(&str, &[u8]); 7] = [
        ("a.js", &content),
        ("a.js.br", &br),
        ("d/index.html", b"index"),
        ("d/with space", b"space"),
        (".hidden", b"hidden"),
        (".well-known/x", b"known"),
        ("alone.gz", b"only coded"),
    ];
    let site = site(memory(&files), 20 * MIB);
    let done = site.engine.prewarm();
    assert!(!done.full);
    let loads = site.engine.statistics().loads;
    const BROWSER: [(&str, &str); 1] = [("Accept-Encoding", "gzip, deflate, br, zstd")];
    assert_eq!(site.get("/a.js", &BROWSER).body, br);
    for path in ["/d/", "/d/with%20space", "/.well-known/x"] {
        assert_eq!(site.get(path, &BROWSER).status, 200);
    }
    assert_eq!(site.get("/.hidden", &BROWSER).status, 404);
    assert_eq!(site.engine.statistics().loads, loads);
    assert_eq!(done.files, 4);
}

#[test]
fn prewarming_goes_in_no_circles() {
    let _alone = alone();
    let tree = crate::common::Tree::new();
    std::fs::create_dir_all(tree.path("root/d")).unwrap();
    tree.write("root/d/file", "content");
    for (target, link) in [(".", "here"), (".", "too"), ("../d", "d/again"), ("d", "e")] {
        std::os::unix::fs::symlink(target, tree.path("root").join(link)).unwrap();
    }
    let site = site(crate::common::directory(&tree.path("root")), 20 * MIB);
    let done = site.engine.prewarm();
    // Once beneath each name that leads somewhere else.
    assert_eq!((done.files, done.full), (2, false));
}
