//! Listings: pages that follow the disk, are shared while they are made, and count as what they take.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::Duration;

use salver_assets::rules::{Action, Rule, RuleSet, Scheme};
use salver_assets::{
    Config, Conventions, Listing, Method, Mount, Patience, Request, RequestDetails, Step,
};

use crate::common::{Answer, Site, Tree, config_of, directory, memory, request, seen};

const LATER: Duration = Duration::from_secs(2);

fn listed(mount: Mount) -> Site {
    Site::new(config_of(mount.with_listing(Listing::default())))
}

fn tree(tree: &Tree) -> Mount {
    Mount::tree("/", directory(&tree.path("")))
}

fn details(accept: &str) -> RequestDetails {
    let line = (&b"accept"[..], accept.as_bytes());
    let lines = (!accept.is_empty()).then_some(line).into_iter();
    RequestDetails::new(Scheme::Http, b"localhost", b"GET", lines)
}

fn ask(site: &Site, target: &str, accept: &str, fields: &[(&str, &str)]) -> Answer {
    let details = details(accept);
    let request = Request {
        details: Some(&details),
        ..request(Method::Get, target, fields)
    };
    seen(&site.plan(&request))
}

fn page(site: &Site, target: &str) -> String {
    let answer = ask(site, target, "text/html", &[]);
    assert_eq!(answer.status, 200, "{target}");
    answer.text()
}

#[test]
fn only_directories_without_an_index_are_listed_and_only_if_asked_for() {
    let files: &[(&str, &[u8])] = &[("a/index.html", b"index"), ("b/x.txt", b"x"), ("top", b"1")];
    let plain = Site::of(files);
    assert_eq!(plain.get("/b/", &[]).status, 404);
    let site = listed(Mount::tree("/", memory(files)));
    assert!(page(&site, "/").contains("href=\"./a/\""));
    assert_eq!(ask(&site, "/a/", "", &[]).text(), "index");
    assert!(page(&site, "/b/").contains("href=\"./x.txt\""));
    assert_eq!(ask(&site, "/b", "", &[]).field("Location"), "/b/");
    assert_eq!(ask(&site, "/c/", "", &[]).status, 404);
    assert_eq!(ask(&site, "/top/", "", &[]).status, 404);
    // One file is no directory.
    let one = Mount::file("/one", memory(files), "top");
    let site = listed(one);
    assert_eq!(ask(&site, "/one/", "", &[]).status, 404);
}

#[test]
fn a_page_has_the_head_of_a_representation() {
    let site = listed(Mount::tree("/", memory(&[("x.txt", b"x")])));
    let html = ask(&site, "/", "text/html", &[]);
    assert_eq!(html.field("Content-Type"), "text/html; charset=utf-8");
    assert_eq!(html.field("Vary"), "Accept");
    assert_eq!(html.field("Cache-Control"), "no-cache");
    assert_eq!(html.field("Last-Modified"), "");
    assert_eq!(html.field("X-Content-Type-Options"), "nosniff");
    assert!(
        html.field("Content-Security-Policy")
            .starts_with("default-src 'none'")
    );
    let json = ask(&site, "/", "application/json", &[]);
    assert_eq!(json.field("Content-Type"), "application/json");
    assert!(json.text().contains("\"name\":\"x.txt\""));
    assert_ne!(json.field("ETag"), html.field("ETag"));
    for answer in [&html, &json] {
        let accept = answer.field("Content-Type");
        let tag = answer.field("ETag");
        let again = ask(&site, "/", accept, &[("If-None-Match", tag)]);
        assert_eq!((again.status, again.field("Vary")), (304, "Accept"));
        let part = ask(
            &site,
            "/",
            accept,
            &[("Range", "bytes=1-3"), ("If-Range", tag)],
        );
        assert_eq!((part.status, &*part.body), (206, &answer.body[1..4]));
        let failed = ask(&site, "/", accept, &[("If-Match", "\"other\"")]);
        assert_eq!(failed.status, 412);
    }
    // As no time proves anything, a condition on one changes nothing.
    let since = ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT");
    assert_eq!(ask(&site, "/", "", &[since]).status, 200);
}

#[test]
fn a_listing_follows_the_disk() {
    let disk = Tree::new();
    disk.write("d/a", "1");
    let site = listed(tree(&disk));
    let first = page(&site, "/d/");
    disk.write("d/b", "12");
    assert_eq!(page(&site, "/d/"), first, "nothing is compared yet");
    site.advance(LATER);
    assert!(page(&site, "/d/").contains("./b"));
    // What changes no directory changes its listing all the same.
    disk.write("d/b", "x".repeat(3000));
    site.advance(LATER);
    assert!(page(&site, "/d/").contains("2.9 KiB"));
    disk.remove("d/a");
    site.advance(LATER);
    assert!(!page(&site, "/d/").contains("\"./a\""));
    disk.write("d/index.html", "index");
    site.advance(LATER);
    assert_eq!(page(&site, "/d/"), "index");
    std::fs::remove_dir_all(disk.path("d")).unwrap();
    site.advance(LATER);
    assert_eq!(ask(&site, "/d/", "", &[]).status, 404);
}

#[test]
fn an_invalidated_file_is_listed_anew() {
    let disk = Tree::new();
    disk.write("d/a", "1");
    let site = listed(tree(&disk));
    page(&site, "/d/");
    page(&site, "/");
    disk.write("d/b", "1");
    let path = salver_assets::RequestPath::parse(b"/d/b").unwrap();
    site.engine.invalidate(&path);
    assert!(page(&site, "/d/").contains("./b"));
    disk.write("c", "1");
    let path = salver_assets::RequestPath::parse(b"/c").unwrap();
    site.engine.invalidate(&path);
    assert!(page(&site, "/").contains("./c"));
}

#[test]
fn what_no_request_gets_is_not_listed() {
    let disk = Tree::new();
    let outside = Tree::new();
    outside.write("secret", "s");
    for name in [
        "shown",
        "_headers",
        "_redirects",
        ".hidden",
        "deep/_headers",
        "deep/.git/x",
    ] {
        disk.write(name, "");
    }
    #[cfg(unix)]
    {
        symlink("shown", disk.path("inside")).unwrap();
        symlink(outside.path("secret"), disk.path("outside")).unwrap();
        symlink("nowhere", disk.path("dangling")).unwrap();
    }
    #[cfg(not(unix))]
    disk.write("inside", "");
    let names = |site: &Site, target: &str| {
        let json = ask(site, target, "application/json", &[]).text();
        let names = json
            .lines()
            .filter_map(|line| line.strip_prefix("{\"name\":\""));
        let names = names.map(|line| line.split('"').next().unwrap_or_default().to_owned());
        names.collect::<Vec<_>>()
    };
    let site = listed(tree(&disk).with_conventions(Conventions::default()));
    assert_eq!(names(&site, "/"), ["deep", "inside", "shown"]);
    assert_eq!(names(&site, "/deep/"), ["_headers"]);
    let mount = tree(&disk).with_listing(Listing::default());
    let site = Site::new(Config {
        dotfiles: true,
        ..config_of(mount)
    });
    let all = [".hidden", "_headers", "_redirects", "inside", "shown"];
    assert_eq!(names(&site, "/")[1..], all);
}

#[test]
fn one_load_makes_a_page_for_all_who_ask() {
    let site = listed(Mount::tree("/", memory(&[("x", b"x")])));
    let details = details("");
    let request = Request {
        details: Some(&details),
        ..Request::get(b"/")
    };
    // Reading the directory, and then making the page: each is shared, and neither is done where nobody may wait.
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let begun = match waiting.pop() {
            None => site.begin(&request),
            Some(arrived) => site.engine.resume(&request, arrived, site.now()),
        };
        let Step::Load(load, pending) = begun else {
            panic!("nothing is cached yet")
        };
        assert!(
            load.perform(Patience::MustNotWait, site.now().instant)
                .is_err()
        );
        let Step::Wait(other) = site.begin(&request) else {
            panic!("somebody does it already")
        };
        drop(other);
        site.perform(load);
        waiting.push(crate::common::block_on(pending));
    }
    let arrived = waiting.pop().unwrap();
    let step = site.engine.resume(&request, arrived, site.now());
    assert!(matches!(step, Step::Respond(_)));
    let before = site.engine.statistics();
    assert!(matches!(site.begin(&request), Step::Respond(_)));
    let after = site.engine.statistics();
    assert_eq!((after.loads, after.hits), (before.loads, before.hits + 1));
    // Without its fields a request does not say what it accepts.
    assert!(matches!(site.begin(&Request::get(b"/")), Step::NeedDetails));
    assert!(site.engine.may_need_details() && site.engine.reads_request_fields());
}

#[test]
fn a_hundred_thousand_entries_are_paged_and_more_are_cut() {
    let source = salver_assets::MemorySource::new();
    for number in 0..=100_000 {
        source.insert(&format!("f{number:06}"), "x", 0);
    }
    let source = Arc::new(source);
    let site = listed(Mount::tree("/", Arc::clone(&source) as _));
    let text = page(&site, "/?page=100");
    assert!(text.contains("page 100 of 100. The directory holds more"));
    assert!(text.len() < 400_000);
    source.remove("f100000");
    site.advance(LATER);
    let text = page(&site, "/?page=100");
    assert!(text.contains("100000 entries, page 100 of 100<") && text.contains("f099999"));
    // It is kept, and counted.
    let loads = site.engine.statistics().loads;
    page(&site, "/?page=100");
    // A page beyond the last is the last, whatever number it has.
    page(&site, "/?page=4000000000");
    let statistics = site.engine.statistics();
    assert_eq!(statistics.loads, loads);
    assert!(statistics.bytes > 3_000_000, "{}", statistics.bytes);
}

#[test]
fn strangers_fill_no_more_than_the_cache() {
    let source = salver_assets::MemorySource::new();
    for number in 0..300 {
        source.insert(&format!("f{number:06}"), "x", 0);
    }
    let mount = Mount::tree("/", Arc::new(source)).with_listing(Listing::default());
    let most = 2 * 1024 * 1024;
    let site = Site::new(Config {
        cache_size: most,
        ..config_of(mount)
    });
    for number in 0..300 {
        page(&site, &format!("/?filter=f&x={number}&page={number}"));
        page(&site, &format!("/?filter={number}"));
        page(&site, &format!("/?filter=none+of+{number}"));
    }
    let held = site.engine.statistics().bytes;
    assert!(held <= most as u64, "{held}");
    assert!(site.engine.statistics().evictions > 0);
}

#[test]
fn without_a_cache_each_answer_is_of_this_moment() {
    let disk = Tree::new();
    disk.write("a", "1");
    let mount = tree(&disk).without_cache();
    let site = listed(mount);
    page(&site, "/");
    disk.write("b", "1");
    assert!(page(&site, "/").contains("./b"));
    assert_eq!(site.engine.statistics().entries, 0);
}

#[test]
fn rules_hold_for_listings_and_leave_them_their_policy() {
    let set = |name: &str, value: &str| Action::Set(name.to_owned(), value.to_owned());
    let rule = Rule {
        actions: vec![
            set("X-Site", "1"),
            set("Content-Security-Policy", "default-src 'self'"),
        ],
        ..Rule::default()
    };
    let rules = Arc::new(RuleSet::compile(&[rule]).unwrap());
    let files: &[(&str, &[u8])] = &[("x", b"x")];
    let site = listed(Mount::tree("/", memory(files)).with_rules(rules));
    let answer = ask(&site, "/", "", &[]);
    assert_eq!(answer.field("x-site"), "1");
    let policies: Vec<_> = answer
        .fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-security-policy"))
        .collect();
    assert_eq!(policies.len(), 1);
    assert!(policies[0].1.contains("style-src 'sha256-"), "{policies:?}");
}

#[cfg(feature = "listing-template")]
#[test]
fn a_template_takes_the_place_of_the_page() {
    let text = "<p>{{ path }}</p>{% for entry in entries %}{{ entry.name }};{% endfor %}";
    let template = salver_assets::Template::new(text.to_owned()).unwrap();
    let files: &[(&str, &[u8])] = &[("<x>", b"x")];
    let listing = Listing::default().with_template(template);
    let site = Site::new(config_of(
        Mount::tree("/", memory(files)).with_listing(listing),
    ));
    let answer = ask(&site, "/", "", &[]);
    assert_eq!(answer.text(), "<p>&#x2f;</p>&lt;x&gt;;");
    assert!(
        answer
            .field("Content-Security-Policy")
            .starts_with("default-src 'self'")
    );
    assert!(
        ask(&site, "/", "application/json", &[])
            .text()
            .contains("<x>")
    );
}
