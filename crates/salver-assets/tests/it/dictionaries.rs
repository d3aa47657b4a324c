//! Codings against a dictionary (RFC 9842): the next version of a file for who has the former one, and nothing of that
//! for whoever could not read the answer.

mod pages;
mod traps;
mod versions;

use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::rules::{Compat, RuleSet, parse_headers};
use salver_assets::source::{FileVersion, KnownDigests, Metadata, Opened, VersionedName};
use salver_assets::{
    Config, DictionaryCoding, KeepPrevious, MemorySource, Method, Mount, Patience, PreviousSource,
    SecureContext, Source, View,
};
use salver_coding::{Dictionary, decode_with_dictionary};

use crate::common::{Answer, Site, Tree, config_of, directory, memory, request};

/// Longer than anything takes, however slow the machine is; only a test that fails takes so long.
const LONG: Duration = Duration::from_secs(600);

/// What browsers send with a dictionary.
const BROWSER: &str = "gzip, deflate, br, zstd, dcb, dcz";

/// The codings that they take without one.
const PLAIN: &str = "gzip, deflate, br, zstd";

const OWN: (&str, &str) = ("Sec-Fetch-Site", "same-origin");

/// A script that changes little with its number.
fn script(version: usize) -> Vec<u8> {
    let mut text = format!("export const version = {version};\n");
    for line in 0..400 {
        text += &format!(
            "export function name{:x}(a) {{ return a * {line}; }}\n",
            line * 7919 % 100_003
        );
    }
    text.into_bytes()
}

fn config(mount: Mount) -> Config {
    Config {
        compress: true,
        compress_cpu: 100,
        dictionaries: true,
        settle_time: Duration::ZERO,
        ..config_of(mount)
    }
}

/// Rules as a built site carries them.
fn headers(text: &str) -> Arc<RuleSet> {
    let parsed = parse_headers(text.as_bytes(), Compat::Netlify);
    Arc::new(RuleSet::compile(&parsed.rules).unwrap())
}

fn site(tree: &Tree) -> Site {
    Site::new(config(Mount::tree("/", directory(&tree.path("")))))
}

/// The value of Available-Dictionary of who has this content.
fn available(content: &[u8]) -> String {
    let value = Dictionary::new(content).available();
    String::from_utf8(value.to_vec()).unwrap()
}

/// The answer to who has `old`.
fn get(site: &Site, path: &str, accept: &str, old: &[u8]) -> Answer {
    let available = available(old);
    let fields = [
        ("Accept-Encoding", accept),
        ("Available-Dictionary", &available),
        OWN,
    ];
    site.get(path, &fields)
}

fn coding(answer: &Answer) -> &str {
    answer.field("Content-Encoding")
}

/// The content of a coding against `old`.
fn decoded(answer: &Answer, old: &[u8]) -> Vec<u8> {
    let coding = match coding(answer) {
        "dcb" => DictionaryCoding::Brotli,
        "dcz" => DictionaryCoding::Zstd,
        other => panic!("{other:?} needs no dictionary"),
    };
    decode_with_dictionary(&answer.body, &Dictionary::new(old), coding, 1 << 24).unwrap()
}

/// Waits until nothing is made or kept, and lets the entries be compared.
fn idle(site: &Site) {
    let end = Instant::now() + LONG;
    while site.engine.statistics().codings_waiting > 0 {
        assert!(Instant::now() < end, "it never ends");
        std::thread::sleep(Duration::from_millis(2));
    }
    site.advance(Duration::from_secs(1));
}

/// Asks as who has `old` until the answer has this coding.
fn until(site: &Site, path: &str, accept: &str, old: &[u8], expected: &str) -> Answer {
    let end = Instant::now() + LONG;
    loop {
        let answer = get(site, path, accept, old);
        assert_eq!(answer.status, 200);
        if coding(&answer) == expected {
            return answer;
        }
        assert!(Instant::now() < end, "{path} never came in {expected:?}");
        idle(site);
    }
}

/// Has a file sent, so that it is kept as a dictionary.
fn send(site: &Site, path: &str) -> Answer {
    let answer = site.get(path, &[("Accept-Encoding", PLAIN), OWN]);
    assert_eq!(answer.status, 200);
    idle(site);
    answer
}

/// A site that has sent the former version of a script, and has the next.
fn deployed(tree: &Tree) -> (Site, Vec<u8>, Vec<u8>) {
    let (old, new) = (script(1), script(2));
    tree.write("app.3f9a1c2b.js", &old);
    let site = site(tree);
    send(&site, "/app.3f9a1c2b.js");
    tree.remove("app.3f9a1c2b.js");
    tree.write("app.8b1d90e4.js", &new);
    (site, old, new)
}
