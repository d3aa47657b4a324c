//! Codings that are made: identity first, the coding later, under a tag of its own, and never other bytes than the
//! file's.

mod jobs;
mod kept;

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use bytes::Bytes;
use salver_assets::{CacheControl, CompressibleTypes, Config, Method, Mount, Step, TypeRange};

use crate::common::{Answer, Site, Tree, coded, config_of, directory, memory, request};

/// Longer than anything takes, however slow the machine is; only a test that fails takes so long.
const LONG: Duration = Duration::from_secs(600);

/// What browsers send.
const BROWSER: &str = "gzip, deflate, br, zstd";

/// Words that a coding makes a quarter of, and no two numbers make the same.
fn text(number: usize, length: usize) -> Vec<u8> {
    let lines = (0..).map(|line| format!("{number} is the number of {line} lines of text\n"));
    let mut text = Vec::with_capacity(length + 64);
    for line in lines {
        text.extend_from_slice(line.as_bytes());
        if text.len() >= length {
            text.truncate(length);
            return text;
        }
    }
    text
}

/// Bytes that no coding makes shorter.
fn noise(seed: u64) -> impl Iterator<Item = u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
}

fn config(mount: Mount) -> Config {
    Config {
        compress: true,
        // Not all of a core: so it rests, as by default.
        compress_cpu: 80,
        settle_time: Duration::ZERO,
        ..config_of(mount)
    }
}

fn site(tree: &Tree) -> Site {
    Site::new(config(Mount::tree("/", directory(&tree.path("")))))
}

fn get(site: &Site, path: &str, accept: &str) -> Answer {
    site.get(path, &[("Accept-Encoding", accept)])
}

fn coding(answer: &Answer) -> &str {
    answer.field("Content-Encoding")
}

/// The content of an answer without its coding.
fn decoded(answer: &Answer) -> Vec<u8> {
    let mut content = Vec::new();
    let body = &*answer.body;
    match coding(answer) {
        "" => content = body.to_vec(),
        "br" => drop(
            brotli::Decompressor::new(body, 4096)
                .read_to_end(&mut content)
                .unwrap(),
        ),
        "gzip" => drop(
            flate2::read::GzDecoder::new(body)
                .read_to_end(&mut content)
                .unwrap(),
        ),
        "zstd" => content = zstd::decode_all(body).unwrap(),
        other => panic!("{other}"),
    }
    content
}

/// Asks until `is_there` is content with the answer. Whatever comes meanwhile decodes to `content`.
fn until(site: &Site, path: &str, accept: &str, content: &[u8], expected: &str) -> Answer {
    let end = Instant::now() + LONG;
    loop {
        let answer = get(site, path, accept);
        assert_eq!(answer.status, 200);
        assert!(
            decoded(&answer) == content,
            "{path} in {:?}",
            coding(&answer)
        );
        if coding(&answer) == expected {
            return answer;
        }
        assert!(Instant::now() < end, "{path} never came in {expected:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until no coding is made.
fn idle(site: &Site) {
    let end = Instant::now() + LONG;
    while site.engine.statistics().codings_waiting > 0 {
        assert!(Instant::now() < end, "it never ends");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn identity_first_and_the_coding_later() {
    let content = text(1, 20_000);
    let tree = Tree::new();
    tree.write("a.js", &content);
    let site = site(&tree);
    let first = get(&site, "/a.js", BROWSER);
    assert_eq!(
        (coding(&first), first.field("Vary")),
        ("", "Accept-Encoding")
    );
    assert!(first.body == content);
    let later = until(&site, "/a.js", BROWSER, &content, "br");
    assert!(later.body.len() < content.len() / 4);
    assert_ne!(later.field("ETag"), first.field("ETag"));
    assert!(later.field("ETag").ends_with("-br\""));
    for name in ["Vary", "Last-Modified", "Content-Type", "Cache-Control"] {
        assert_eq!(later.field(name), first.field(name));
    }
    // What nobody has asked for is not made.
    assert_eq!(site.engine.statistics().codings_made, 1);
    for (accept, expected) in [("gzip", "gzip"), ("zstd", "zstd")] {
        assert_eq!(coding(&get(&site, "/a.js", accept)), "");
        until(&site, "/a.js", accept, &content, expected);
    }
    for accept in ["", "identity", "deflate", "br;q=0, gzip;q=0, zstd;q=0"] {
        let answer = get(&site, "/a.js", accept);
        assert_eq!(answer.field("ETag"), first.field("ETag"), "{accept}");
        assert_eq!(answer.field("Vary"), "Accept-Encoding");
    }
    // Whoever made the last one may still be putting away its tools.
    idle(&site);
    let statistics = site.engine.statistics();
    assert_eq!(statistics.codings_made, 3);
    assert!(statistics.coding_bytes > 0);
    // Compared with the disk again and again it stays.
    for _ in 0..3 {
        site.advance(Duration::from_secs(1));
        // The shortest.
        let shortest = get(&site, "/a.js", BROWSER);
        assert!(!coding(&shortest).is_empty() && shortest.body.len() <= later.body.len());
    }
    assert_eq!(site.engine.statistics().codings_made, 3);
}

#[test]
fn head_conditions_and_ranges_in_both_states() {
    // As bytes, and in a file without a name.
    for cache_max_file in [1 << 20, 100] {
        head_conditions_and_ranges(cache_max_file);
    }
}

fn head_conditions_and_ranges(cache_max_file: u64) {
    let content = text(2, 20_000);
    let tree = Tree::new();
    tree.write("a.css", &content);
    // Before the clock of the site.
    tree.modified("a.css", UNIX_EPOCH + Duration::from_secs(900_000_000));
    let site = Site::new(Config {
        cache_max_file,
        ..config(Mount::tree("/", directory(&tree.path(""))))
    });
    let ask = |fields: &[(&str, &str)]| {
        let all = [&[("Accept-Encoding", "br")], fields].concat();
        site.get("/a.css", &all)
    };
    // HEAD asks for nothing to be made.
    let head = site.head("/a.css", &[("Accept-Encoding", "br")]);
    assert_eq!((coding(&head), head.field("Vary")), ("", "Accept-Encoding"));
    assert_eq!(site.engine.statistics().codings_waiting, 0);
    // Nor do parts, which are of the file in either state.
    let part = ask(&[("Range", "bytes=100-199")]);
    assert_eq!((part.status, coding(&part)), (206, ""));
    assert_eq!(site.engine.statistics().codings_waiting, 0);
    let plain = get(&site, "/a.css", "").field("ETag").to_owned();
    assert_eq!(ask(&[("If-None-Match", &plain)]).status, 304);
    let made = until(&site, "/a.css", "br", &content, "br");
    let tag = made.field("ETag");
    let Step::Respond(plan) = site.begin(&request(
        Method::Get,
        "/a.css",
        &[("Accept-Encoding", "br")],
    )) else {
        panic!("it is in the cache");
    };
    let is_in_file = plan.content.file().is_some();
    assert_eq!(
        is_in_file,
        cfg!(target_os = "linux") && cache_max_file == 100
    );
    let head = site.head("/a.css", &[("Accept-Encoding", "br")]);
    assert_eq!((coding(&head), head.field("ETag")), ("br", tag));
    assert_eq!(head.field("Content-Length"), made.body.len().to_string());
    assert_eq!(ask(&[("If-None-Match", tag)]).status, 304);
    assert_eq!(
        ask(&[("If-None-Match", &format!("\"x\", {tag}"))]).field("ETag"),
        tag
    );
    // The tag of the file is that of another representation now.
    assert_eq!(coding(&ask(&[("If-None-Match", &plain)])), "br");
    assert_eq!(site.get("/a.css", &[("If-None-Match", &plain)]).status, 304);
    assert_eq!(ask(&[("If-Match", &plain)]).status, 412);
    assert_eq!(ask(&[("If-Match", tag)]).status, 200);
    let since = made.field("Last-Modified");
    assert_eq!(ask(&[("If-Modified-Since", since)]).status, 304);
    let again = ask(&[("Range", "bytes=100-199")]);
    assert_eq!(again, part);
    assert!(again.body == content[100..200]);
    assert_eq!(
        ask(&[("Range", "bytes=100-199"), ("If-Range", &plain)]),
        part
    );
    // Who has the beginning of the coding gets the rest of it.
    let rest = ask(&[("Range", "bytes=10-"), ("If-Range", tag)]);
    assert_eq!(
        (rest.status, coding(&rest), rest.field("ETag")),
        (206, "br", tag)
    );
    assert!(rest.body == made.body[10..]);
    // RFC 9110 section 13.1.1: If-Match is for that, too.
    let rest_if = |tags: &str| ask(&[("Range", "bytes=10-"), ("If-Match", tags)]);
    assert_eq!(rest_if(tag), rest);
    assert_eq!(rest_if(&format!("\"x\", {tag}")), rest);
    assert_eq!(
        (rest_if(&plain).status, coding(&rest_if(&plain))),
        (206, "")
    );
    assert_eq!(rest_if("\"x-br\"").status, 412);
    let whole = ask(&[("Range", "bytes=10-"), ("If-Range", "\"x-br\"")]);
    assert_eq!((whole.status, coding(&whole)), (200, "br"));
}

#[test]
fn who_refuses_the_file_as_it_is_gets_it_when_it_is_coded() {
    let content = text(3, 20_000);
    let tree = Tree::new();
    tree.write("a.html", &content);
    let site = site(&tree);
    let accept = "br, identity;q=0";
    let refused = get(&site, "/a.html", accept);
    assert_eq!(
        (refused.status, refused.field("Vary")),
        (406, "Accept-Encoding")
    );
    idle(&site);
    assert!(decoded(&get(&site, "/a.html", accept)) == content);
    // A part of the coding is better than nothing.
    let part = site.get(
        "/a.html",
        &[("Accept-Encoding", accept), ("Range", "bytes=0-9")],
    );
    assert_eq!((part.status, coding(&part)), (206, "br"));
}

#[test]
fn what_is_coded_besides_and_what_is_not_is_said() {
    let range = |text| TypeRange::parse(text).unwrap();
    let types = CompressibleTypes::default();
    let types = types.include(range("image/*")).exclude(range("text/css"));
    let tree = Tree::new();
    let content = text(5, 20_000);
    tree.write("a.png", &content);
    tree.write("a.css", &content);
    let mount = Mount::tree("/", directory(&tree.path("")));
    let site = Site::new(Config {
        compress_types: types,
        ..config(mount)
    });
    until(&site, "/a.png", "br", &content, "br");
    let left_alone = get(&site, "/a.css", BROWSER);
    assert_eq!((coding(&left_alone), left_alone.field("Vary")), ("", ""));
}

#[test]
fn what_is_not_coded() {
    let content = text(4, 20_000);
    let noise: Vec<u8> = noise(1).take(20_000).collect();
    let files: [(&str, &[u8]); 6] = [
        ("fixed.js", &content),
        ("a.png", &content),
        ("a.js.gz", &content),
        ("short.js", b"short"),
        ("noise.js", &noise),
        ("noise.bin", &noise),
    ];
    let mut config = config(Mount::tree("/", memory(&files)));
    config.cache_control = CacheControl::by_path(|path| {
        (path == "/fixed.js").then(|| Bytes::from_static(b"max-age=60, no-transform"))
    });
    let site = Site::new(config);
    for (path, _) in &files[..4] {
        let answer = get(&site, &format!("/{path}"), BROWSER);
        assert_eq!((coding(&answer), answer.field("Vary")), ("", ""), "{path}");
    }
    assert_eq!(site.engine.statistics().codings_waiting, 0);
    // What does not get smaller is tried once.
    for path in ["/noise.js", "/noise.bin"] {
        assert_eq!(coding(&get(&site, path, BROWSER)), "");
        idle(&site);
        for accept in ["zstd", "gzip"] {
            get(&site, path, accept);
            idle(&site);
        }
        let answer = get(&site, path, BROWSER);
        assert_eq!((coding(&answer), answer.field("Vary")), ("", ""), "{path}");
    }
    let statistics = site.engine.statistics();
    assert_eq!(
        (statistics.codings_made, statistics.codings_useless),
        (0, 3)
    );
    let plain = Site::new(config_of(Mount::tree("/", memory(&files))));
    assert_eq!(get(&plain, "/noise.js", BROWSER).field("Vary"), "");
}

#[test]
fn who_wants_more_than_the_first_to_ask_gets_more() {
    let content = text(7, 20_000);
    let files: [(&str, &[u8]); 1] = [("a.js", &content)];
    let site = Site::new(config(Mount::tree("/", memory(&files))));
    until(&site, "/a.js", "gzip", &content, "gzip");
    // It gets what there is, and then what it would rather have.
    assert_eq!(coding(&get(&site, "/a.js", BROWSER)), "gzip");
    until(&site, "/a.js", BROWSER, &content, "br");
    assert_eq!(site.engine.statistics().codings_made, 2);
    idle(&site);
    get(&site, "/a.js", BROWSER);
    assert_eq!(site.engine.statistics().codings_waiting, 0);
}

#[test]
fn a_sibling_goes_before_a_coding_that_is_made() {
    let content = text(5, 20_000);
    let tree = Tree::new();
    tree.write("a.js", &content);
    let sibling = coded(&content, "gz");
    tree.write("a.js.gz", &sibling);
    tree.write("b.js", &content);
    tree.write("b.js.gz", coded(b"something else", "gz"));
    let site = site(&tree);
    let first = until(&site, "/a.js", BROWSER, &content, "gzip");
    assert!(first.body == sibling);
    until(&site, "/a.js", BROWSER, &content, "br");
    assert!(until(&site, "/a.js", "gzip", &content, "gzip").body == sibling);
    let part = site.get(
        "/a.js",
        &[("Accept-Encoding", "gzip, br"), ("Range", "bytes=0-9")],
    );
    assert_eq!((coding(&part), &*part.body), ("gzip", &sibling[..10]));
    // One that does not fit is as good as none.
    let made = until(&site, "/b.js", "gzip", &content, "gzip");
    assert!(made.body.len() <= sibling.len());
}

#[test]
fn every_byte_is_of_the_file_while_it_changes() {
    let tree = Tree::new();
    let versions: Vec<Vec<u8>> = (0..30).map(|number| text(number, 30_000)).collect();
    tree.write("a.js", &versions[0]);
    let site = site(&tree);
    let end = Instant::now() + LONG;
    let (mut seen, mut number) = (0, 0);
    while number + 1 < versions.len() || seen == 0 {
        for accept in [BROWSER, "gzip", "zstd", ""] {
            let answer = get(&site, "/a.js", accept);
            assert!(
                decoded(&answer) == versions[number],
                "{number} in {:?}",
                coding(&answer)
            );
            seen += usize::from(!coding(&answer).is_empty());
        }
        // Some are there for as long as it takes, most change while they are coded.
        if number % 10 == 9 && coding(&get(&site, "/a.js", "gzip")).is_empty() {
            assert!(Instant::now() < end, "no coding comes");
            site.advance(Duration::from_secs(1));
            continue;
        }
        number = (number + 1).min(versions.len() - 1);
        tree.replace("a.js", &versions[number]);
        site.advance(Duration::from_secs(1));
    }
    until(&site, "/a.js", "gzip", &versions[number], "gzip");
}

#[test]
fn without_a_cache_codings_are_made_all_the_same() {
    let content = text(7, 20_000);
    let files: [(&str, &[u8]); 1] = [("a.js", &content)];
    for change in [
        |config: &mut Config| config.cache = false,
        |config: &mut Config| config.cache_max_file = 0,
        |config: &mut Config| config.revalidate = Duration::ZERO,
    ] {
        let mut config = config(Mount::tree("/", memory(&files)));
        change(&mut config);
        let site = Site::new(config);
        until(&site, "/a.js", BROWSER, &content, "br");
        assert_eq!(site.engine.statistics().codings_made, 1);
    }
}

#[test]
fn pages_of_errors_and_fallbacks_are_coded_too() {
    let (page, app) = (text(8, 9_000), text(9, 9_000));
    let files: [(&str, &[u8]); 2] = [("404.html", &page), ("app.html", &app)];
    let conventions = salver_assets::Conventions::default();
    let mount = Mount::tree("/", memory(&files)).with_conventions(conventions);
    let site = Site::new(config(mount));
    let end = Instant::now() + LONG;
    loop {
        let answer = get(&site, "/nothing", "br");
        assert_eq!(
            (answer.status, answer.field("Vary")),
            (404, "Accept-Encoding")
        );
        assert!(decoded(&answer) == page);
        if coding(&answer) == "br" {
            break;
        }
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(2));
    }
    let mount = Mount::tree("/", memory(&files)).with_fallback("app.html");
    let site = Site::new(config(mount));
    until(&site, "/some/route", "br", &app, "br");
}
