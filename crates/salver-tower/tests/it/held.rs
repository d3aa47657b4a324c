//! Whole reads: one for all who ask at the same moment, whatever becomes of who asked first; and
//! what a name may be.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Gate, MANY_THREADS, until};
use bytes::Bytes;
use http::{HeaderMap, Method};
use salver_assets::DirectorySource;
use salver_tower::{Assets, PathError, ReadError, SharedReader, Symlinks};
use tokio::task::JoinHandle;

const ASKING: u64 = 25_000;

type Reading = JoinHandle<Result<Bytes, ReadError>>;

/// So many reads of `name`, all of which have asked when this returns.
async fn ask(gate: &Gate, assets: &Assets, name: &'static str, count: u64) -> Vec<Reading> {
    let before = assets.statistics().misses;
    gate.close();
    let mut reads = Vec::new();
    for _ in 0..count {
        let assets = assets.clone();
        reads.push(tokio::spawn(async move { assets.read(name).await }));
    }
    until(|| assets.statistics().misses == before + count).await;
    reads
}

fn gated(files: &[(&str, &[u8])]) -> (Arc<Gate>, Assets) {
    let gate = Gate::new(files);
    // Who asks later than this after a load began looks again: so long no machine takes to ask.
    let builder = Assets::from_source(gate.clone()).revalidate(Duration::from_secs(3600));
    (gate, builder.build().unwrap())
}

#[tokio::test]
async fn one_read_for_25_000() {
    let (gate, assets) = gated(&[("cold", &[7; 100_000])]);
    let reads = ask(&gate, &assets, "cold", ASKING).await;
    gate.open();
    let mut all = Vec::new();
    for read in reads {
        all.push(read.await.unwrap().unwrap());
    }
    assert!(all.iter().all(|bytes| bytes.as_ptr() == all[0].as_ptr()));
    assert_eq!(all[0], vec![7; 100_000]);
    let statistics = assets.statistics();
    assert_eq!((statistics.loads, statistics.coalesced), (1, ASKING - 1));
}

#[tokio::test]
async fn an_error_is_for_all_and_the_next_read_tries_anew() {
    let (gate, assets) = gated(&[("a", b"alpha")]);
    let reads = ask(&gate, &assets, "a", 100).await;
    gate.fail(true);
    gate.open();
    for read in reads {
        assert_eq!(
            read.await.unwrap(),
            Err(ReadError::Failed(ErrorKind::Other.into()))
        );
    }
    assert_eq!(assets.statistics().loads, 1);
    assert_eq!(
        assets.read("a").await,
        Err(ReadError::Failed(ErrorKind::Other.into()))
    );
    assert_eq!(assets.statistics().loads, 2);
    gate.fail(false);
    assert_eq!(assets.read("a").await.unwrap(), "alpha");
}

#[tokio::test]
async fn who_asked_first_may_go_away() {
    let (gate, assets) = gated(&[("a", b"alpha")]);
    let mut reads = ask(&gate, &assets, "a", 10).await;
    for gone in reads.drain(..5) {
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
    }
    gate.open();
    for read in reads {
        assert_eq!(read.await.unwrap().unwrap(), "alpha");
    }
    assert_eq!(assets.statistics().loads, 1);
    // Also if nobody is left to wait.
    for read in ask(&gate, &assets, "none", 3).await {
        read.abort();
    }
    gate.open();
    assert_eq!(assets.read("none").await, Err(ReadError::NotFound));
}

#[tokio::test]
async fn what_was_invalidated_while_it_is_read_is_not_kept() {
    let gate = Gate::new(&[("a", b"old")]);
    let hour = Duration::from_secs(3600);
    let builder = Assets::from_source(gate.clone()).revalidate(hour);
    let assets = builder.build().unwrap();
    let before = ask(&gate, &assets, "a", 10).await;
    // The load has its view of the tree, in which the file is the old one.
    until(|| gate.waiting() == 1).await;
    gate.insert("a", b"new");
    assets.invalidate("a");
    let after = ask(&gate, &assets, "a", 10).await;
    until(|| gate.waiting() == 2).await;
    gate.open();
    for read in before {
        assert_eq!(read.await.unwrap().unwrap(), "old");
    }
    for read in after {
        assert_eq!(read.await.unwrap().unwrap(), "new");
    }
    assert_eq!(assets.read("a").await.unwrap(), "new");
    assert_eq!(assets.statistics().loads, 2);
}

#[tokio::test]
async fn many_different_files_wait_for_their_turn_and_hold_up_no_request() {
    const FILES: usize = 3000;
    let _many_threads = MANY_THREADS.lock().await;
    let names: Vec<String> = (0..FILES).map(|number| format!("f{number}")).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (&**name, name.as_bytes()))
        .collect();
    let (gate, assets) = gated(&files);
    gate.close();
    let read = |name: &String| {
        let (assets, name) = (assets.clone(), name.clone());
        tokio::spawn(async move { assets.read(&name).await })
    };
    let reads: Vec<Reading> = names.iter().map(read).collect();
    until(|| gate.waiting() == 64).await;
    let request = tokio::spawn({
        let assets = assets.clone();
        async move { assets.file("none", &Method::GET, &HeaderMap::new()).await }
    });
    until(|| gate.waiting() == 65).await;
    gate.open();
    assert_eq!(request.await.unwrap().status(), 404);
    for (read, name) in reads.into_iter().zip(&names) {
        assert_eq!(read.await.unwrap().unwrap(), *name);
    }
}

/// A real file, which is kept open and not in memory.
#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "no file is kept open")]
async fn long_files_are_shared_too() {
    const READS: usize = 1000;
    let directory = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[1]).collect();
    std::fs::write(directory.path().join("long"), &content).unwrap();
    let files = DirectorySource::open(directory.path(), Symlinks::Beneath, Duration::ZERO);
    let gate = Gate::before(Arc::new(files.unwrap()));
    let hour = Duration::from_secs(3600);
    let assets = Assets::from_source(gate.clone()).revalidate(hour).build();
    let assets = assets.unwrap();
    assert!(assets.read("long").await.unwrap() == content);
    let before = assets.statistics();
    assert!(before.bytes < 1_000_000, "it is not kept: {before:?}");
    gate.close();
    let reads: Vec<_> = (0..READS)
        .map(|_| {
            let assets = assets.clone();
            tokio::spawn(async move { assets.read("long").await.unwrap() })
        })
        .collect();
    let asked = before.hits + u64::try_from(READS).unwrap();
    until(|| assets.statistics().hits == asked).await;
    until(|| gate.waiting() == 1).await;
    gate.open();
    let mut all = Vec::new();
    for read in reads {
        all.push(read.await.unwrap());
    }
    assert!(all[0] == content);
    assert!(all.iter().all(|bytes| bytes.as_ptr() == all[0].as_ptr()));
}

#[tokio::test]
async fn long_reads_of_one_moment_are_one() {
    let long = vec![1; 1_000_000];
    let gate = Gate::new(&[("long", &long)]);
    let reader = SharedReader::from_source(gate.clone()).unwrap();
    gate.close();
    let reads: Vec<_> = (0..100)
        .map(|_| {
            let reader = reader.clone();
            tokio::spawn(async move { reader.read("long").await.unwrap() })
        })
        .collect();
    until(|| reader.statistics().misses == 100).await;
    gate.open();
    for read in reads {
        assert!(read.await.unwrap() == long);
    }
    assert_eq!(reader.statistics().loads, 1);
    // Nothing is kept: the next one looks.
    gate.insert("long", b"short");
    assert_eq!(reader.read("long").await.unwrap(), "short");
    assert_eq!(reader.statistics().entries, 0);
}

#[tokio::test]
async fn the_page_of_an_application_is_no_file_that_is_not_there() {
    let gate = Gate::new(&[("index.html", b"home"), ("page", b"page")]);
    let assets = Assets::from_source(gate).spa("index.html").build();
    let assets = assets.unwrap();
    let none = HeaderMap::new();
    for _ in 0..2 {
        let answer = assets.file("some/where", &Method::GET, &none).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(assets.read("some/where").await, Err(ReadError::NotFound));
        assert_eq!(assets.read("page").await.unwrap(), "page");
        assert_eq!(assets.read("").await.unwrap(), "home");
    }
}

#[tokio::test]
async fn names() {
    let outside = tempfile::tempdir().unwrap();
    let directory = outside.path().join("inside");
    let write = |name: &str| {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    };
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../secret", directory.join("link")).unwrap();
    // On Windows the second but last is a file in a directory, and the last no name.
    let names = ["a", "d/b", "d/index.html", "%2e%2e", ".env", "x\\y"];
    let odd = "a b?c#d";
    for name in names.into_iter().chain((!cfg!(windows)).then_some(odd)) {
        write(name);
    }
    let found_if_a_name = |name| {
        if cfg!(windows) {
            Err(ReadError::NotFound)
        } else {
            Ok(name)
        }
    };
    let hour = Duration::from_secs(3600);
    let builder = Assets::builder(&directory).revalidate(hour);
    let assets = builder.build().unwrap();
    let reader = SharedReader::new(&directory).unwrap();
    let check = async |name: &str, expected: Result<&str, ReadError>| {
        let expected = expected.map(|content| Bytes::copy_from_slice(content.as_bytes()));
        assert_eq!(assets.read(name).await, expected, "{name:?}");
        if !name.ends_with('/') {
            assert_eq!(reader.read(name).await, expected, "{name:?}, reader");
        }
    };
    let above = Err(ReadError::Name(PathError::AboveRoot));
    let nul = Err(ReadError::Name(PathError::Nul));
    for (name, expected) in [
        ("a", Ok("a")),
        ("/a", Ok("a")),
        ("//a", Ok("a")),
        ("./a", Ok("a")),
        ("d/../a", Ok("a")),
        ("d//b", Ok("d/b")),
        ("d/./b", Ok("d/b")),
        ("d/", Ok("d/index.html")),
        ("d", Err(ReadError::Directory)),
        ("../secret", above),
        ("../../etc/passwd", above),
        ("..", above),
        ("d/../../secret", above),
        ("/../secret", above),
        ("a\0", nul),
        ("\0", nul),
        ("/etc/passwd", Err(ReadError::NotFound)),
        ("link", Err(ReadError::NotFound)),
        ("%2e%2e", Ok("%2e%2e")),
        ("%2e%2e/secret", Err(ReadError::NotFound)),
        ("..%2fsecret", Err(ReadError::NotFound)),
        ("x\\y", found_if_a_name("x\\y")),
        ("..\\secret", Err(ReadError::NotFound)),
        (odd, found_if_a_name(odd)),
        ("none", Err(ReadError::NotFound)),
        ("a/b", Err(ReadError::NotFound)),
        ("", Err(ReadError::NotFound)),
    ] {
        check(name, expected).await;
    }
    let long = "x".repeat(5000);
    check(&long, Err(ReadError::NotFound)).await;
    // However a name is written, it is one file, loaded once.
    let loads = assets.statistics().loads;
    for name in ["a", "/a", "./a", "d/../a", "//a"] {
        assets.read(name).await.unwrap();
    }
    assert_eq!(assets.statistics().loads, loads);
    // What begins with a dot is a file for who reads, and nothing on the web.
    assert_eq!(assets.read(".env").await, Err(ReadError::NotFound));
    assert_eq!(reader.read(".env").await.unwrap(), ".env");
    assert_eq!(
        ReadError::Name(PathError::AboveRoot).to_string(),
        "the name is no file's: it leads out of the root"
    );
}

#[tokio::test]
async fn a_disk_that_hangs_leaves_threads_to_the_program() {
    let _many_threads = MANY_THREADS.lock().await;
    let (gate, assets) = gated(&[]);
    gate.close();
    let mut requests = Vec::new();
    // More than Tokio has threads for, and fewer than may wait.
    for number in 0..700 {
        let assets = assets.clone();
        requests.push(tokio::spawn(async move {
            let path = format!("none{number}");
            let answer = assets.file(&path, &Method::GET, &HeaderMap::new()).await;
            answer.status().as_u16()
        }));
    }
    until(|| assets.statistics().misses == 700 && gate.waiting() == 128).await;
    let work = tokio::task::spawn_blocking(|| "done");
    assert_eq!(work.await.unwrap(), "done");
    assert_eq!(gate.waiting(), 128);
    gate.open();
    for request in requests {
        assert_eq!(request.await.unwrap(), 404);
    }
}

#[tokio::test]
async fn what_is_too_long_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, length: u64| {
        let file = std::fs::File::create(directory.path().join(name)).unwrap();
        file.set_len(length).unwrap();
    };
    write("short", 2_000_000);
    write("long", 2_000_001);
    write("huge", 1 << 40);
    let builder = Assets::builder(directory.path()).read_up_to(2_000_000);
    let assets = builder.build().unwrap();
    let reader = SharedReader::with_limit(directory.path(), 2_000_000).unwrap();
    for (name, length) in [("long", 2_000_001), ("huge", 1 << 40)] {
        let too_long = Err(ReadError::TooLong(length));
        assert_eq!(assets.read(name).await, too_long, "{name}");
        assert_eq!(reader.read(name).await, too_long, "{name}, reader");
    }
    assert_eq!(assets.read("short").await.unwrap().len(), 2_000_000);
    assert_eq!(reader.read("short").await.unwrap().len(), 2_000_000);
    // What is cached may be too long, too.
    let builder = Assets::builder(directory.path()).read_up_to(10);
    write("eleven", 11);
    let assets = builder.build().unwrap();
    assert_eq!(assets.read("eleven").await, Err(ReadError::TooLong(11)));
}

/// The memory for what a program reads is the program's affair, whatever the cache may take.
#[tokio::test]
async fn a_program_may_hold_more_than_the_cache_does() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        let file = std::fs::File::create(directory.path().join(name)).unwrap();
        file.set_len(20_000_000).unwrap();
    }
    let assets = Assets::builder(directory.path()).cache_size(16 << 20);
    let assets = assets.build().unwrap();
    let mut held = Vec::new();
    for name in ["a", "b", "c"] {
        held.push(assets.read(name).await.unwrap());
    }
    assert!(held.iter().all(|bytes| bytes.len() == 20_000_000));
}

#[test]
fn a_runtime_that_ends_is_no_error_of_the_disk() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.max_blocking_threads(1).build().unwrap()
    };
    let (gate, assets) = gated(&[]);
    gate.close();
    let read = |name: String| {
        let assets = assets.clone();
        tokio::spawn(async move { assets.read(&name).await })
    };
    // So many are begun at once: the last waits for its turn.
    let first = runtime();
    first.block_on(async {
        (0..65).for_each(|number| drop(read(format!("f{number}"))));
        until(|| assets.statistics().misses == 65).await;
    });
    let given_up = runtime().block_on(async {
        let of_last = read("f64".to_owned());
        until(|| assets.statistics().coalesced == 1).await;
        first.shutdown_background();
        of_last.await.unwrap()
    });
    gate.open();
    assert_eq!(given_up, Err(ReadError::GivenUp));
}
