//! Precompressed siblings on disks that are slow, or stuck, or both, over sockets.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::case::{mounted, say};
use crate::common::client::{Answer, Client, request};
use crate::common::{PATIENCE, Running, Site, settings, trusting};
use flate2::Compression;
use flate2::write::GzEncoder;
use salver_assets::Config;
use salver_system_tests::{
    DELAY, Kind, LARGE_LENGTH, SMALL_LENGTH, Slow, SlowDisk, WITH_STUCK, bytes_at, content,
};
use salver_test::machine::judge;

fn disk_with(slow: Slow) -> Option<SlowDisk> {
    mounted(Kind::Remote(slow), "siblings on slow disks")
}

fn get(client: &mut Client, path: &str, accept: &str) -> Answer {
    client.send(request(
        "GET",
        path,
        &format!("Accept-Encoding: {accept}\r\n"),
    ));
    client.answer()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_sibling_whose_reads_never_return_holds_nobody_up() {
    let Some(disk) = disk_with(Slow::default()) else {
        return;
    };
    let config = Config {
        revalidate: Duration::from_millis(50),
        ..trusting()
    };
    let server = Running::over(disk.root(), settings(), config);
    let whole = content();
    let mut client = Client::new(server.address);
    // More of them than there may be checks.
    for number in WITH_STUCK..WITH_STUCK + 40 {
        let expected = &bytes_at(&whole, number, 0)[..usize::try_from(SMALL_LENGTH).unwrap()];
        for accept in ["", "gzip", "gzip, br"] {
            let answer = get(&mut client, &format!("/small-{number}"), accept);
            assert_eq!(
                (answer.status, answer.field("content-encoding")),
                (200, None)
            );
            assert!(answer.content == expected, "{number}");
        }
    }
    // Looked at again and again, and beyond the length that is hashed at once.
    let before = Instant::now();
    while before.elapsed() < Duration::from_millis(300) {
        let answer = get(&mut client, &format!("/small-{WITH_STUCK}"), "gzip");
        assert_eq!(
            (answer.status, answer.field("content-encoding")),
            (200, None)
        );
    }
    let path = format!("/large-{WITH_STUCK}");
    let range = "Accept-Encoding: gzip\r\nRange: bytes=5-9\r\n";
    client.send(request("GET", &path, range));
    let answer = client.answer();
    assert_eq!(
        (answer.status, answer.field("content-encoding")),
        (206, None)
    );
    let total = format!("bytes 5-9/{LARGE_LENGTH}");
    assert_eq!(answer.field("content-range"), Some(&*total));
    assert!(answer.content == bytes_at(&whole, WITH_STUCK, 5)[..5]);
}

/// Three siblings that are not there take no longer than one file that is.
#[test]
fn a_cold_file_waits_for_its_siblings_beside_each_other() {
    let Some(disk) = disk_with(Slow {
        metadata: true,
        ..Slow::default()
    }) else {
        return;
    };
    let time = |config: Config, first: u64| {
        let server = Running::over(disk.root(), settings(), config);
        let mut client = Client::new(server.address);
        // The root is resolved.
        get(&mut client, "/hot", "");
        let mut times: Vec<_> = (first..first + 9)
            .map(|number| {
                let before = Instant::now();
                assert_eq!(
                    get(&mut client, &format!("/small-{number}"), "br").status,
                    200
                );
                before.elapsed()
            })
            .collect();
        times.sort();
        times[times.len() / 2]
    };
    let without = Config {
        precompressed: Vec::new(),
        ..trusting()
    };
    // Each attempt asks for files that none before it has.
    let mut first = 1;
    judge("siblings that are looked for beside each other", || {
        let alone = time(without.clone(), first);
        let with_siblings = time(trusting(), first + 100);
        first += 200;
        say(&format!(
            "a cold file: {} ms without looking for siblings, {} ms with three",
            alone.as_millis(),
            with_siblings.as_millis()
        ));
        // One after the other they would take three times as long as one call does.
        let is_beside = (with_siblings < alone + 2 * DELAY).then_some(());
        is_beside.ok_or_else(|| format!("{with_siblings:?} and {alone:?}"))
    });
}

#[test]
fn siblings_of_long_originals_are_used_once_they_were_decoded() {
    let long = vec![b'x'; 17 * 1024 * 1024];
    let coded = gzip(&long);
    let site = Site::with(&[
        ("good.js", &long),
        ("good.js.gz", &coded),
        ("half.js", &long),
        ("half.js.gz", &coded[..coded.len() / 2]),
        ("secret.js", &long),
        ("secret.js.gz", b"may not be read"),
    ]);
    let mode = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(site.path("secret.js.gz"), mode).unwrap();
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    for path in ["/half.js", "/secret.js"] {
        for accept in ["", "gzip"] {
            let answer = get(&mut client, path, accept);
            assert_eq!(
                (answer.status, answer.field("content-encoding")),
                (200, None)
            );
            assert!(answer.content == long, "{path}");
        }
    }
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = get(&mut client, "/good.js", "gzip");
        assert_eq!(answer.status, 200);
        if answer.field("content-encoding") == Some("gzip") {
            assert!(answer.content == coded);
            break;
        }
        assert!(answer.content == long);
        assert!(Instant::now() < end, "never decoded");
    }
    let answer = get(&mut client, "/half.js", "gzip");
    assert_eq!(
        (answer.status, answer.field("content-encoding")),
        (200, None)
    );
}
