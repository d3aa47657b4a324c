//! The admin listener as a person switches it on: what it tells, what it does.

mod access;
mod bucket_events;
#[cfg(feature = "object-store")]
mod folder_bucket;
mod watched;

use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::common::documents::Document;
use crate::common::{PATIENCE, Running, check_one_line, run, site, stop};

use watched::{Watched, curl};

#[test]
fn without_it_nothing_listens() {
    let root = site(&[("index.html", "page")]);
    let mut server = Running::start(root.path(), &[]);
    server.wait_for_line("cache ");
    assert!(!stop(server).contains("admin"));
}

#[test]
fn requests_of_each_version_are_counted() {
    let root = site(&[("index.html", "page"), ("big.bin", &"x".repeat(200_000))]);
    let watched = Watched::start(root.path(), &[]);
    let url = |path: &str| format!("http://{}{path}", watched.server.addr);
    let check = |version: &str, flag: &str, arguments: &[&str], path: &str, code: &str| {
        let said = curl(&[&[flag], arguments, &[&*url(path)]].concat());
        assert_eq!(said, format!("{version} {code}"));
    };
    for (version, flag) in [("1.1", "--http1.1"), ("2", "--http2-prior-knowledge")] {
        for _ in 0..2 {
            check(version, flag, &[], "/", "200");
        }
        check(version, flag, &[], "/big.bin", "200");
        check(version, flag, &["--head"], "/", "200");
        check(version, flag, &[], "/nothing", "404");
        check(version, flag, &["--data", "abc"], "/", "405");
        check(version, flag, &["--request", "BREW"], "/", "501");
    }
    // It is answered in the highest version of its major one (RFC 9110 section 6.2).
    check("1.1", "--http1.0", &[], "/", "200");
    let status = watched.after(15);
    let requests = &status["requests"];
    assert_eq!(requests["success"], 9);
    assert_eq!(requests["client_error"], 4);
    assert_eq!(requests["server_error"], 2);
    assert_eq!(requests["active"], 0);
    let durations = requests["durations"].as_array().unwrap();
    let durations: u64 = durations.iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(durations, 15);
    for (version, gets) in [("1.0", 1), ("1.1", 3), ("2", 3)] {
        let labels = format!(
            "{{site=\"\",network_protocol_version=\"{version}\",http_request_method=\"GET\",\
             http_response_status_class=\"2xx\"}}"
        );
        let name = "http_server_request_duration_seconds_count";
        let expected = format!("{name}{labels} {gets}");
        assert_eq!(watched.metrics(&format!("{name}{labels}")), [expected]);
        let name = "http_server_response_body_size_bytes_sum";
        let bytes = if version == "1.0" { 4 } else { 200_008 };
        let expected = format!("{name}{labels} {bytes}");
        assert_eq!(watched.metrics(&format!("{name}{labels}")), [expected]);
    }
    let other = watched.metrics("request_body_size_bytes_sum");
    let posted: Vec<_> = other
        .iter()
        .filter(|line| line.contains("\"POST\""))
        .collect();
    assert!(
        posted.len() == 2 && posted.iter().all(|line| line.ends_with(" 3")),
        "{other:?}"
    );
    assert!(
        other.iter().any(|line| line.contains("\"_OTHER\"")),
        "{other:?}"
    );
    // Nobody's path is told, and what was asked here is no request of the site.
    assert!(watched.metrics("nothing").is_empty());
    assert_eq!(watched.after(15)["requests"]["total"], 15);
    stop(watched.server);
}

#[test]
fn http3_is_counted_and_certificates_are_told_of() {
    let root = site(&[("index.html", "page")]);
    let flags = ["--tls-self-signed", "--metrics", "0"];
    let watched = Watched::start_with(root.path(), &flags, |_| {});
    let url = format!("https://{}/", watched.server.addr);
    assert_eq!(curl(&["--insecure", "--http2", &url]), "2 200");
    let status = watched.after(1);
    let certificate = &status["certificates"][0];
    assert!(certificate["names"].as_str().unwrap().contains("localhost"));
    let days = certificate["days_left"].as_i64().unwrap();
    assert!((300..400).contains(&days), "{certificate}");
    assert_eq!(watched.metrics("not_after_timestamp_seconds{").len(), 1);
    let load = [
        "bench",
        "load",
        &*url,
        "--http",
        "3",
        "--insecure",
        "-c",
        "1",
        "-q",
    ];
    let times = ["--duration", "200ms", "--warm-up", "0s"];
    let (_, out, said) = run(&[&load[..], &times].concat());
    let counted = watched.metrics("request_duration_seconds_count{");
    let counted: Vec<_> = counted
        .iter()
        .filter(|line| line.contains("version=\"3\""))
        .collect();
    assert_eq!(counted.len(), 1, "{counted:?} {out} {said}");
    let bytes = watched.metrics("response_body_size_bytes_sum{");
    let of_http3 = bytes
        .iter()
        .find(|line| line.contains("version=\"3\""))
        .unwrap();
    let number = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    let (requests, bytes) = (number(counted[0]), number(of_http3));
    // A request that the load has withdrawn at its end may have sent nothing.
    assert!(
        requests > 0 && bytes <= 4 * requests && bytes + 4 >= 4 * requests,
        "{requests} {bytes}"
    );
    stop(watched.server);
}

#[test]
fn health_status_and_loops() {
    let root = site(&[("index.html", "page")]);
    let watched = Watched::start(root.path(), &["--workers", "2"]);
    assert_eq!(watched.ask("GET", "/live", ""), (200, "live\n".to_owned()));
    let end = Instant::now() + PATIENCE;
    // Until every worker accepts.
    while watched.ask("GET", "/ready", "").0 != 200 {
        assert!(Instant::now() < end);
    }
    let status = watched.status();
    assert_eq!(status["state"], "ready");
    assert_eq!(status["loops"].as_array().unwrap().len(), 2);
    assert!(status["process"]["resident_bytes"].as_u64().unwrap() > 1 << 20);
    assert_eq!(status["connections"]["most"], 10_000);
    assert_eq!(
        watched.client(&["health"]),
        (0, "ready\n".to_owned(), String::new())
    );
    let (code, json, _) = watched.client(&["health", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["healthy"]), (0, &Value::Bool(true)));
    let (code, text, _) = watched.client(&["status"]);
    assert!(
        code == 0 && text.contains("state       ready, for"),
        "{text}"
    );
    let (code, json, _) = watched.client(&["status", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["state"]), (0, &status["state"]));
    let admin = watched.admin.to_string();
    stop(watched.server);
    for client in [&["health"][..], &["status"], &["purge", "--all"]] {
        let arguments = [client, &["--admin", &admin]].concat();
        check_one_line(&arguments, 1, &["nobody listens"]);
    }
    check_one_line(&["health"], 2, &["no admin listener is named"]);
}

#[test]
fn it_outlives_reloads_and_follows_them() {
    let page = "index.html";
    let folder = site(&[("a/index.html", "a"), ("b/index.html", "b")]);
    let sites = |all: &[&str]| {
        let one = |host: &&str| format!("[[site]]\nhosts = ['{host}.test']\nroot = 'a'\n");
        let all: String = all.iter().map(one).collect();
        format!("{all}[[site]]\nroot = 'b'\n")
    };
    let write = |metrics: u16, sites: &str| {
        let text = format!("workers = 1\n[admin]\nmetrics = {metrics}\n{sites}");
        std::fs::write(folder.path().join("salver.toml"), text).unwrap();
    };
    write(0, &sites(&["a"]));
    let watched = Watched::by_file(folder.path());
    let get = |host: &str| {
        let url = format!("http://{}/{page}", watched.server.addr);
        let found = curl(&["--header", &format!("Host: {host}.test"), &url]);
        assert_eq!(found, "1.1 200");
    };
    let reload = || watched.ask("POST", "/reload", "");
    let counted = || {
        let lines = watched.metrics("http_server_request_duration_seconds_count{");
        let site = |line: &String| {
            line.split("site=\"")
                .nth(1)?
                .split('"')
                .next()
                .map(str::to_owned)
        };
        let number = |line: &String| line.rsplit(' ').next().unwrap().to_owned();
        let all = lines
            .iter()
            .map(|line| (site(line).unwrap_or_default(), number(line)));
        let mut all: Vec<_> = all
            .map(|(site, number)| format!("{site} {number}"))
            .collect();
        all.sort();
        all
    };
    ["a", "b", "c"].into_iter().for_each(get);
    watched.after(3);
    assert_eq!(counted(), ["* 2", "a.test 1"]);
    assert_eq!(watched.cached(), ["/index.html"; 2], "of each site");
    let (_, first) = watched.ask("GET", "/cache?limit=1", "");
    let first: Value = serde_json::from_str(&first).unwrap();
    let after = first["next"].as_str().unwrap();
    let (_, second) = watched.ask("GET", &format!("/cache?limit=1&after={after}"), "");
    let second: Value = serde_json::from_str(&second).unwrap();
    let names = [&first, &second].map(|page| page["entries"][0]["site"].as_str().unwrap());
    assert_eq!(names, ["a.test", "*"]);
    assert_eq!(second["next"], Value::Null);
    let (code, body) = reload();
    assert!(code == 200 && body.contains("nothing is another"), "{body}");
    // With other sites counters go on, and what is told and purged is of the new ones.
    write(0, &sites(&["a", "c"]));
    let (code, body) = reload();
    assert!(code == 200 && body.contains("\"reloaded\":true"), "{body}");
    assert_eq!(watched.cached(), Vec::<String>::new());
    ["a", "c"].into_iter().for_each(get);
    let status = watched.after(5);
    assert_eq!(status["loops"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!(counted(), ["* 2", "a.test 2", "c.test 1"]);
    let (_, body) = watched.ask("POST", "/cache/purge?path=/index.html", "");
    assert!(body.contains(":2"), "of both sites: {body}");
    ["a", "c"].into_iter().for_each(get);
    watched.after(7);
    let (code, out, said) = watched.client(&["purge", "--all", "--site", "A.test"]);
    assert_eq!((code, &*said), (0, "1 entry was purged\n"), "{out}");
    let (_, body) = watched.ask("GET", "/cache?site=a.test", "");
    assert!(body.contains("\"entries\":[]"), "{body}");
    let (_, body) = watched.ask("GET", "/cache?site=c.test", "");
    assert!(body.contains("/index.html"), "{body}");
    for target in ["/cache?site=b.test", "/cache?site="] {
        let (code, body) = watched.ask("GET", target, "");
        assert!(code == 400 && body.contains("is no site"), "{body}");
    }
    // What is wrong changes nothing, and is told; so is another listener.
    write(0, "[[site]]\nrot = 'a'\n");
    let (code, body) = reload();
    assert!(code == 409 && body.contains("salver.toml"), "{body}");
    write(1, &sites(&["a"]));
    let (code, body) = reload();
    assert!(
        code == 409 && body.contains("admin.metrics is another"),
        "{body}"
    );
    get("c");
    stop(watched.server);
}

#[test]
fn purges_by_path_by_prefix_and_all() {
    let root = site(&[
        ("index.html", "page"),
        ("a/one.txt", "1"),
        ("a/two words.txt", "2"),
        ("b.txt", "b"),
    ]);
    let flags = ["--revalidate", "1h", "--prewarm"];
    let watched = Watched::start(root.path(), &flags);
    let all = watched.cached();
    assert!(all.contains(&"/a/two%20words.txt".to_owned()), "{all:?}");
    let get = |path: &str| String::from_utf8(watched.server.get(path, "").2).unwrap();
    let change = |to: &str| {
        for name in ["a/one.txt", "a/two words.txt", "b.txt"] {
            std::fs::write(root.path().join(name), to).unwrap();
        }
    };
    let all_three = || ["/a/one.txt", "/a/two%20words.txt", "/b.txt"].map(get);
    assert_eq!(all_three(), ["1", "2", "b"]);
    change("new");
    assert_eq!(all_three(), ["1", "2", "b"]);
    let (code, json, said) = watched.client(&["purge", "/a/two%20words.txt", "--json"]);
    assert_eq!((code, &*json), (0, "{\"purged\":1}\n"), "{said}");
    assert_eq!(all_three(), ["1", "new", "b"]);
    let (code, _, said) = watched.client(&["purge", "--prefix", "/a/"]);
    assert_eq!((code, &*said), (0, "2 entries were purged\n"));
    assert_eq!(all_three(), ["new", "new", "b"]);
    assert_eq!(watched.client(&["purge", "--all"]).0, 0);
    assert_eq!(all_three(), ["new", "new", "new"]);
    let (code, _, said) = watched.client(&["purge", "no-path"]);
    assert!(code == 1 && said.contains("is no path"), "{said}");
    stop(watched.server);
}

#[test]
fn purges_the_answers_that_rules_put_into_a_group() {
    let root = site(&[
        (
            "_headers",
            "/a/*\n  Cache-Groups: \"letters\", \"two words\"\n",
        ),
        ("a/one.txt", "1"),
        ("b.txt", "b"),
    ]);
    let watched = Watched::start(root.path(), &["--revalidate", "1h"]);
    let both = || {
        let texts = ["/a/one.txt", "/b.txt"].map(|path| watched.server.get(path, "").2);
        texts.map(|text| String::from_utf8(text).unwrap())
    };
    assert_eq!(both(), ["1", "b"]);
    for name in ["a/one.txt", "b.txt"] {
        std::fs::write(root.path().join(name), "new").unwrap();
    }
    assert_eq!(watched.client(&["purge", "--group", "numbers"]).0, 0);
    assert_eq!(both(), ["1", "b"]);
    let (code, _, said) = watched.client(&["purge", "--group", "two words"]);
    assert_eq!((code, &*said), (0, "1 entry was purged\n"));
    assert_eq!(both(), ["new", "b"]);
    stop(watched.server);
}

#[test]
fn a_paused_cache_is_not_asked() {
    let root = site(&[("index.html", "old")]);
    let watched = Watched::start(root.path(), &["--revalidate", "1h"]);
    let get = || String::from_utf8(watched.server.get("/", "").2).unwrap();
    assert_eq!(get(), "old");
    let paused = watched.ask("POST", "/cache/pause", "Content-Length: 0\r\n");
    assert_eq!(paused, (200, "{\"paused\":true}".to_owned()));
    std::fs::write(root.path().join("index.html"), "new").unwrap();
    assert_eq!(get(), "new");
    assert_eq!(watched.status()["cache"]["paused"], true);
    assert_eq!(
        watched.metrics("salver_cache_paused "),
        ["salver_cache_paused 1"]
    );
    assert_eq!(watched.ask("POST", "/cache/resume", "").0, 200);
    assert_eq!(get(), "old");
    assert_eq!(watched.status()["cache"]["paused"], false);
    stop(watched.server);
}

#[test]
fn hostile_names_are_told_harmlessly() {
    let names = [
        "<script>alert(1)</script>.txt".to_owned(),
        "a\r\nSet-Cookie: x=1.txt".to_owned(),
        "\"quotes'`.txt".to_owned(),
        "\u{202e}gpj.txt".to_owned(),
        format!("{}.txt", "n".repeat(251)),
    ];
    let root = site(&[("index.html", "page")]);
    for name in &names {
        // What HTML has a slash for is a directory here.
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    let watched = Watched::start(root.path(), &["--prewarm"]);
    let (_, body) = watched.ask("GET", "/cache?limit=1000", "");
    for sign in ["<", "\r", "\n", "'", "`", "\u{202e}"] {
        assert!(!body.contains(sign), "{sign:?}: {body}");
    }
    let paths = watched.cached();
    assert!(
        paths.contains(&"/%3Cscript%3Ealert%281%29%3C/script%3E.txt".to_owned()),
        "{paths:?}"
    );
    assert!(paths.contains(&"/%E2%80%AEgpj.txt".to_owned()), "{paths:?}");
    // What was told is what can be purged.
    for path in &paths {
        let (code, json, said) = watched.client(&["purge", path, "--json"]);
        assert_eq!(code, 0, "{path}: {said} {json}");
    }
    assert!(watched.cached().is_empty());
    stop(watched.server);
}

#[test]
fn the_commands_of_the_documents_do_what_they_say() {
    let document = Document::read("docs/operate.md");
    let mut blocks = document.blocks("sh").into_iter();
    let block = blocks
        .find(|block| block.contains("salver status --metrics"))
        .unwrap();
    let root = site(&[
        ("index.html", "page"),
        ("app.js", "1"),
        ("blog/a.html", "a"),
    ]);
    let watched = Watched::start(root.path(), &["--prewarm"]);
    assert!(watched.cached().len() >= 3);
    let port = watched.admin.port().to_string();
    let program = env!("CARGO_BIN_EXE_salver");
    for line in block.lines() {
        let line = line.replace("9090", &port);
        let line = match line.strip_prefix("salver ") {
            Some(rest) => format!("{program:?} {rest}"),
            None => line,
        };
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
    }
    assert!(block.lines().count() >= 9 && watched.cached().is_empty());
    assert_eq!(watched.status()["cache"]["paused"], false);
    stop(watched.server);
}

#[test]
fn dropped_lines_of_the_log_are_told() {
    let root = site(&[("dist/index.html", "page")]);
    let pipe = root.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // Its reader is there, and reads nothing.
    let both = std::fs::File::options().read(true).write(true).open(&pipe);
    let reader = both.unwrap();
    let flags = ["--log", pipe.to_str().unwrap()];
    let watched = Watched::start(&root.path().join("dist"), &flags);
    let told = |status: &Value| status["log"]["dropped"].as_u64().unwrap();
    assert_eq!(told(&watched.status()), 0);
    let agent = format!("User-Agent: {}\r\n", "a".repeat(4000));
    let end = Instant::now() + PATIENCE;
    while told(&watched.status()) == 0 {
        // To ask for all that is told takes longer than a page.
        for _ in 0..64 {
            assert_eq!(watched.server.get("/", &agent).0, 200);
        }
        assert!(Instant::now() < end, "nothing is dropped");
    }
    let metric = watched.metrics("access_log_dropped_total ");
    let dropped = metric[0].rsplit(' ').next().unwrap();
    assert!(dropped.parse::<u64>().unwrap() > 0, "{metric:?}");
    drop(reader);
    stop(watched.server);
}
