//! Files that change while they are sent, that are no files, and that are very long.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixListener;

use crate::common::client::{Answer, Client, get, request};
use crate::common::{Running, Site, pattern, settings};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use salver_assets::Config;

const LARGE: usize = 20 * 1024 * 1024;

/// A client that has read the beginning of a long file, and no more of it.
fn halfway(server: &Running) -> (Client, Answer) {
    let mut client = Client::narrow(server.address);
    client.send(get("/large"));
    let mut answer = client.head();
    assert_eq!(answer.length(), LARGE);
    answer.content = vec![0; 100_000];
    client.0.read_exact(&mut answer.content).unwrap();
    (client, answer)
}

#[test]
fn a_file_that_is_truncated_ends_the_connection() {
    let content = pattern(LARGE, 1);
    let site = Site::with(&[("large", &content)]);
    let server = Running::serving(&site);
    for length in [0, 1024 * 1024, 15 * 1024 * 1024] {
        site.write("large", &content);
        let (mut client, mut answer) = halfway(&server);
        let file = File::options()
            .write(true)
            .open(site.path("large"))
            .unwrap();
        file.set_len(length).unwrap();
        answer.content.extend(client.rest().0);
        let received = answer.content.len();
        assert!(received < LARGE, "padded to {received}");
        // What is still there is what it was. Of what is not, something may have been on its way
        // already: the kernel may clear those pages, but nobody takes them for the whole.
        let there = received.min(usize::try_from(length).unwrap());
        assert!(
            answer.content[..there] == content[..there],
            "{received} of {length}"
        );
    }
}

#[test]
fn a_file_that_is_rewritten_in_place_ends_the_connection() {
    let site = Site::with(&[("large", &pattern(LARGE, 1))]);
    let server = Running::serving(&site);
    // Everything, or just one byte far ahead of what is being sent.
    for everything in [true, false] {
        site.write("large", &pattern(LARGE, 1));
        let (mut client, answer) = halfway(&server);
        let file = File::options()
            .write(true)
            .open(site.path("large"))
            .unwrap();
        if everything {
            file.write_all_at(&pattern(LARGE, 2), 0).unwrap();
        } else {
            file.write_all_at(b"x", 19 * 1024 * 1024).unwrap();
        }
        let received = answer.content.len() + client.rest().0.len();
        assert!(received < LARGE, "a mixture is complete");
    }
}

#[test]
fn a_file_that_is_open_is_looked_at_before_it_is_sent() {
    // Longer than what is hashed, and at rest as the engine is told, so that it stays open.
    let site = Site::with(&[("large", &pattern(LARGE, 1))]);
    let config = Config {
        settle_time: std::time::Duration::ZERO,
        revalidate: std::time::Duration::from_secs(3600),
        ..Config::default()
    };
    let server = Running::over(site.root(), settings(), config);
    for seed in 1..4 {
        // In place, and nobody looks at the path again for an hour.
        let version = pattern(LARGE, seed);
        let file = File::options()
            .write(true)
            .open(site.path("large"))
            .unwrap();
        file.write_all_at(&version, 0).unwrap();
        // A connection each: a change right after the last byte ends the one of that answer. And it begins
        // when there is something to ask, for a slow disk takes longer than a connection may wait.
        let answer = Client::new(server.address).get("/large");
        assert!(answer.content == version, "version {seed}");
    }
}

#[test]
fn a_file_that_changed_just_now_leaves_by_copies() {
    // Too long to be kept, and written a moment ago: what comes next must not show in it.
    let site = Site::new();
    let config = Config {
        cache_max_file: 1000,
        ..Config::default()
    };
    let server = Running::over(site.root(), settings(), config);
    for length in [1_000_000, 1_100_000, 2_000_000, 3_000_000] {
        let (old, new) = (pattern(length, 1), pattern(length, 2));
        for round in 0..3 {
            let name = format!("file{length}-{round}");
            site.write(&name, &old);
            let mut client = Client::narrow(server.address);
            client.send(format!(
                "GET /{name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            ));
            assert_eq!(client.head().length(), old.len());
            let file = File::options().write(true).open(site.path(&name)).unwrap();
            file.write_all_at(&new, 0).unwrap();
            let received = client.rest().0;
            assert!(old.starts_with(&received), "{length}: a mixture");
            assert!(length > 1_000_000 || received == old, "{length}: cut short");
        }
    }
}

#[test]
fn a_file_that_is_replaced_goes_on_as_it_was() {
    let (old, new) = (pattern(LARGE, 1), pattern(LARGE, 2));
    let site = Site::with(&[("large", &old)]);
    let server = Running::serving(&site);
    let (mut client, mut answer) = halfway(&server);
    site.write("next", &new);
    std::fs::rename(site.path("next"), site.path("large")).unwrap();
    answer.content.resize(LARGE, 0);
    client.0.read_exact(&mut answer.content[100_000..]).unwrap();
    assert!(answer.content == old);
    // The connection goes on; deleting does not disturb either.
    let (mut client, mut answer) = halfway(&server);
    std::fs::remove_file(site.path("large")).unwrap();
    let is = if answer.content == old[..100_000] {
        old
    } else {
        new
    };
    answer.content.resize(LARGE, 0);
    client.0.read_exact(&mut answer.content[100_000..]).unwrap();
    assert!(answer.content == is);
}

#[test]
fn what_is_no_file_is_not_found_at_once() {
    let site = Site::with(&[("a", b"alpha")]);
    mknodat(CWD, site.path("fifo"), FileType::Fifo, Mode::from(0o644), 0).unwrap();
    let _socket = UnixListener::bind(site.path("socket")).unwrap();
    std::os::unix::fs::symlink("fifo", site.path("link")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", site.path("device")).unwrap();
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    for _ in 0..3 {
        for path in ["/fifo", "/socket", "/link", "/device"] {
            assert_eq!(client.get(path).status, 404, "{path}");
            client.send(request("HEAD", path, ""));
            assert_eq!(client.head().status, 404, "{path}");
        }
        assert_eq!(client.get("/a").content, b"alpha");
    }
}

fn range(client: &mut Client, path: &str, range: &str) -> Answer {
    client.send(request("GET", path, &format!("Range: bytes={range}\r\n")));
    client.answer()
}

#[test]
fn several_ranges_come_in_parts() {
    let content = pattern(2_000_000, 1);
    let site = Site::with(&[("large", &content)]);
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    let asked = [0..10, 700_000..1_100_000, 1_999_995..2_000_000];
    let answer = range(&mut client, "/large", "0-9, 700000-1099999, -5");
    assert_eq!(answer.status, 206);
    let kind = answer.field("content-type").unwrap();
    let boundary = kind
        .strip_prefix("multipart/byteranges; boundary=")
        .unwrap();
    let mut rest = &answer.content[..];
    for asked in asked {
        let delimiter = format!("--{}\r\n", boundary.trim_matches('"'));
        let start = find(rest, delimiter.as_bytes());
        let from = start + find(&rest[start..], b"\r\n\r\n") + 4;
        let head = String::from_utf8(rest[start..from].to_vec()).unwrap();
        let expected = format!("bytes {}-{}/2000000", asked.start, asked.end - 1);
        assert!(head.contains(&expected), "{head}");
        let end = from + asked.len();
        assert!(rest[from..end] == content[asked]);
        rest = &rest[end..];
    }
    assert_eq!(
        rest,
        format!("\r\n--{}--\r\n", boundary.trim_matches('"')).as_bytes()
    );
    assert_eq!(range(&mut client, "/large", "1-3").content, content[1..4]);
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes
        .windows(what.len())
        .position(|window| window == what)
        .unwrap()
}

#[test]
fn without_a_cache_every_change_is_seen_at_once() {
    let site = Site::new();
    let config = Config {
        cache: false,
        ..Config::default()
    };
    let server = Running::over(site.root(), settings(), config);
    let mut client = Client::new(server.address);
    let path = site.path("a");
    // Below, at and beyond the lengths at which the way to send changes.
    for (round, length) in [10, 40_000, 2_000_000].into_iter().enumerate() {
        assert_eq!(client.get("/a").status, 404);
        for seed in 0..4 {
            let content = pattern(length + seed % 2, round * 10 + seed);
            if seed < 2 {
                std::fs::write(&path, &content).unwrap();
            } else {
                std::fs::write(site.path("next"), &content).unwrap();
                std::fs::rename(site.path("next"), &path).unwrap();
            }
            assert!(client.get("/a").content == content, "{length} {seed}");
        }
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(client.get("/a").status, 404);
}
