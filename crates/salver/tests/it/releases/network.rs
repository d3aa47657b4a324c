//! Deploys over the network: to the admin listener of a running server.

mod api;
mod cut;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Deployment;
use crate::common::documents::{Document, root};
use crate::common::{NO_COMPRESS, Running, addr_in, certify, check_one_line, salver, stop};

use api::{Api, VERSIONS};

pub(super) const TOKEN: &str = "a-token-of-twenty-four-b";

/// A server of a store that takes deploys.
pub(super) struct Taking {
    pub(super) server: Running,
    pub(super) admin: SocketAddr,
}

impl Taking {
    pub(super) fn start(site: &Deployment) -> Taking {
        Taking::start_with(site, &["--metrics", "0"])
    }

    /// The server with its admin listener as these flags say.
    pub(super) fn start_with(site: &Deployment, flags: &[&str]) -> Taking {
        Taking::start_at(&site.store(), flags)
    }

    /// That of the store at a path.
    pub(super) fn start_at(store: &Path, flags: &[&str]) -> Taking {
        let mut command = salver();
        command.args(["serve", "--port", "0", "--accept-deploys", "--store"]);
        command.arg(store).args(flags);
        command.env(NO_COMPRESS, "true");
        command.env("SALVER_ADMIN_TOKEN", TOKEN);
        let mut server = Running::spawn(command);
        let line = server.wait_for_line("://");
        server.addr = addr_in(&line);
        let line = server.wait_for_line("takes deploys");
        let admin = match line.contains("://") {
            true => addr_in(&line),
            false => SocketAddr::from(([0, 0, 0, 0], 0)),
        };
        Taking { server, admin }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.admin)
    }
}

/// Runs a command that shows the token: exit code, standard output, standard error.
fn with_token(words: &[&str]) -> (i32, String, String) {
    let mut command = salver();
    let output = command.args(words).env("SALVER_ADMIN_TOKEN", TOKEN);
    let output = output.output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Deploys the directory of a site to a server; gives the JSON of it.
pub(super) fn deploy_to(site: &Deployment, to: &str, more: &[&str]) -> Value {
    let directory = site.site();
    let words = [
        &["deploy", directory.to_str().unwrap(), "--to", to, "--json"],
        more,
    ]
    .concat();
    let (code, out, said) = with_token(&words);
    assert_eq!(code, 0, "{said}");
    serde_json::from_str(&out).unwrap()
}

/// The same where it fails; gives what is said.
pub(super) fn fail_to_deploy(site: &Deployment, to: &str, more: &[&str]) -> String {
    let directory = site.site();
    let words = [
        &["deploy", directory.to_str().unwrap(), "--to", to, "--quiet"],
        more,
    ]
    .concat();
    let (code, out, said) = with_token(&words);
    assert_eq!((code, &*out), (1, ""), "{said}");
    said
}

#[test]
fn a_release_is_sent_and_is_what_a_deploy_on_the_machine_makes() {
    let code = "let answer = 42;\n".repeat(400);
    let site = Deployment::new(&[("index.html", "one"), ("app.js", &code), ("empty.txt", "")]);
    let compressed = salver().arg("compress").arg(site.site()).output().unwrap();
    assert!(compressed.status.success());
    // Longer than one request.
    site.put("long.bin", "0123456789abcdef".repeat(200_000));
    site.put("a b/\u{e9}%.txt", "name");
    let taking = Taking::start(&site);
    let first = deploy_to(&site, &taking.url(), &[]);
    assert_eq!(first["previous"], Value::Null);
    assert_eq!(first["sent"]["blobs"], first["files"]);
    assert_eq!(site.current().as_deref(), first["release"].as_str());
    super::served::until(&taking.server, "/", 200, "one");
    let (status, head, _) = taking.server.get("/app.js", "Accept-Encoding: br\r\n");
    assert!(
        status == 200 && head.to_lowercase().contains("content-encoding: br"),
        "{head}"
    );
    assert_eq!(taking.server.get("/empty.txt", "").0, 200);
    // What is made here is the same, byte by byte.
    let again = deploy_to(&site, &taking.url(), &[]);
    assert_eq!(
        (&again["unchanged"], &again["sent"]["blobs"]),
        (&true.into(), &0.into())
    );
    assert_eq!(site.deploy()["unchanged"], true);
    site.put("index.html", "other");
    let second = deploy_to(&site, &taking.url(), &[]);
    assert_eq!(second["previous"], first["release"]);
    assert_eq!(
        second["sent"],
        serde_json::json!({ "blobs": 1, "bytes": 5 })
    );
    site.assert_sound();
    let store = site.store();
    assert_eq!(fs::read_dir(store.join("incoming")).unwrap().count(), 0);
    let url = taking.url();
    let (code, out, said) = with_token(&["releases", &url]);
    assert!(code == 0 && out.contains("2 releases"), "{out}{said}");
    let (code, out, said) = with_token(&["rollback", &url, "--json"]);
    assert_eq!(code, 0, "{said}");
    let back: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(back["release"], first["release"]);
    super::served::until(&taking.server, "/", 200, "one");
    let journal = site.json(&["releases", "--journal"]);
    let actions: Vec<_> = journal["journal"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["action"])
        .collect();
    assert_eq!(actions, ["deploy", "deploy", "rollback"]);
    let said = stop(taking.server);
    assert!(said.contains("is current, deployed by"), "{said}");
}

#[test]
fn a_damaged_blob_is_sent_anew() {
    let site = Deployment::new(&[("index.html", "one"), ("same.txt", "same")]);
    site.deploy();
    let blob = salver_store::BlobDigest::of(b"same").to_string();
    let (directory, rest) = blob.split_at(2);
    let blob = site.store().join("blobs").join(directory).join(rest);
    fs::remove_file(&blob).unwrap();
    fs::write(&blob, "sane").unwrap();
    site.put("index.html", "two");
    let taking = Taking::start(&site);
    let deployed = deploy_to(&site, &taking.url(), &[]);
    assert_eq!(
        (&deployed["repaired"], &deployed["sent"]["blobs"]),
        (&1.into(), &2.into())
    );
    site.assert_sound();
    stop(taking.server);
}

#[test]
fn over_tls_and_by_a_unix_socket() {
    let site = Deployment::new(&[("index.html", "one")]);
    let folder = tempfile::tempdir().unwrap();
    let pair = certify(folder.path());
    let [certificate, key] = pair.each_ref().map(|path| path.to_str().unwrap());
    let socket = folder.path().join("admin.sock");
    let flags = [
        "--admin",
        "0.0.0.0:0",
        "--admin-tls-cert",
        certificate,
        "--admin-tls-key",
        key,
    ];
    let with_socket = [&flags[..], &["--admin-socket", socket.to_str().unwrap()]].concat();
    let taking = Taking::start_with(&site, &with_socket);
    let url = format!("https://localhost:{}/", taking.admin.port());
    let first = deploy_to(&site, &url, &["--ca", certificate]);
    assert_eq!(first["store"], url);
    site.put("index.html", "two");
    // Whom the system does not trust is sent nothing.
    let said = fail_to_deploy(&site, &url, &[]);
    assert!(said.contains("cannot be reached"), "{said}");
    let by_address = format!("https://127.0.0.1:{}/", taking.admin.port());
    let said = fail_to_deploy(&site, &by_address, &["--ca", certificate]);
    assert!(said.contains("cannot be reached"), "{said}");
    let by_socket = format!("unix:{}", socket.display());
    let second = deploy_to(&site, &by_socket, &[]);
    assert_eq!(second["previous"], first["release"]);
    stop(taking.server);
}

#[test]
fn sites_have_names() {
    let (one, two) = (
        Deployment::new(&[("i.txt", "1")]),
        Deployment::new(&[("i.txt", "2")]),
    );
    let folder = tempfile::tempdir().unwrap();
    let sites: String = [("one.test", &one), ("two.test", &two)]
        .iter()
        .map(|(host, site)| {
            format!(
                "[[site]]\nstore = {:?}\nhosts = [\"{host}\"]\n",
                site.store()
            )
        })
        .collect();
    let token = folder.path().join("token");
    fs::write(&token, format!("{TOKEN}\n")).unwrap();
    let text = format!(
        "[admin]\nmetrics = 0\naccept-deploys = true\ntoken-file = {token:?}\ndeploy-max-files = 1\n{sites}"
    );
    fs::write(folder.path().join("salver.toml"), text).unwrap();
    let mut server = Running::by_file(folder.path(), &["--sandbox", "off"]);
    let admin = addr_in(&server.wait_for_line("takes deploys"));
    let said = fail_to_deploy(&one, &format!("http://{admin}/"), &[]);
    assert!(
        said.contains("which site? give one of one.test, two.test"),
        "{said}"
    );
    let said = fail_to_deploy(&one, &format!("http://{admin}/three.test"), &[]);
    assert!(
        said.contains("three.test is no site with a store here"),
        "{said}"
    );
    for (host, site) in [("one.test", &one), ("TWO.test", &two)] {
        let deployed = deploy_to(site, &format!("http://{admin}/{host}"), &[]);
        assert_eq!(site.current().as_deref(), deployed["release"].as_str());
        site.put("more.txt", "more");
        let said = fail_to_deploy(site, &format!("http://{admin}/{host}"), &[]);
        assert!(
            said.contains("has 2 files, and this server takes 1"),
            "{said}"
        );
    }
    stop(server);
}

#[test]
fn a_preview_is_sent_and_where_it_is_shown_is_said() {
    let site = Deployment::new(&[("index.html", "site")]);
    let taking = Taking::start_with(&site, &["--metrics", "0", "--release-addresses", "both"]);
    let url = taking.url();
    let preview = ["--preview", "next", "--expires", "1h"];
    let said = fail_to_deploy(&site, &url, &preview);
    assert!(said.contains("without --preview first"), "{said}");
    let first = deploy_to(&site, &url, &[]);
    // The preview was refused before anything was sent.
    assert_eq!(first["sent"]["blobs"], 1);
    let name = first["release"].as_str().unwrap();
    let shown = |name: &str| {
        serde_json::json!([format!("{name}--HOST/"), format!("HOST/_release/{name}/")])
    };
    assert_eq!(first["addresses"], shown(name));
    site.put("index.html", "preview");
    let made = deploy_to(&site, &url, &preview);
    assert_eq!(made["preview"]["name"], "next");
    assert_eq!(made["addresses"], shown("next"));
    assert_eq!(site.current().as_deref(), Some(name));
    super::served::until(&taking.server, "/_release/next/", 200, "preview");
    super::served::until(&taking.server, "/", 200, "site");
    let (code, out, said) = with_token(&["releases", &url]);
    assert!(code == 0 && out.contains("\npreview next: "), "{out}{said}");
    let (code, _, said) = with_token(&["rollback", &url, "next"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(site.current().as_deref(), made["release"].as_str());
    site.assert_sound();
    let said = stop(taking.server);
    assert!(said.contains("is the preview next, deployed by"), "{said}");
}

#[test]
fn deploys_are_taken_of_who_may_alone() {
    let site = Deployment::new(&[("index.html", "one")]);
    let store = site.store();
    let store = ["serve", "--port", "0", "--store", store.to_str().unwrap()];
    let accept = [&store[..], &["--accept-deploys"]].concat();
    check_one_line(&accept, 2, &["--accept-deploys", "--admin"]);
    let open = [&accept[..], &["--metrics", "0"]].concat();
    check_one_line(&open, 2, &["no token is set", "--admin-token-file"]);
    let half = [&store[..], &["--metrics", "0", "--admin-tls-cert", "/c"]].concat();
    check_one_line(&half, 2, &["--admin-tls-key", "give both"]);
    let (from, words) = (site.site(), ["deploy"]);
    let words = [&words[..], &[from.to_str().unwrap(), "--to"]].concat();
    check_one_line(
        &[&words[..], &["http://127.0.0.1:1/"]].concat(),
        2,
        &["no token is given"],
    );
    check_one_line(
        &[&words[..], &["http://192.0.2.1/"]].concat(),
        2,
        &["for all to see", "--plain-http"],
    );
    check_one_line(
        &[&words[..], &["https://a.test/b/c"]].concat(),
        2,
        &["the name of one site"],
    );
    let said = fail_to_deploy(&site, "http://127.0.0.1:1/", &[]);
    assert!(said.contains("cannot be reached"), "{said}");
    assert!(!site.store().exists());
    let taking = Taking::start(&site);
    let wrong = site.temp.path().join("wrong");
    fs::write(&wrong, format!("{TOKEN}x")).unwrap();
    let flag = ["--token-file", wrong.to_str().unwrap()];
    let said = fail_to_deploy(&site, &taking.url(), &flag);
    assert!(
        said.contains("wants its token, and this is another"),
        "{said}"
    );
    assert_eq!(site.current(), None);
    stop(taking.server);
}

/// What lies in a directory, by its names.
pub(super) fn names(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn whoever_asks_for_what_is_not_theirs_is_refused_before_they_send_it() {
    let site = Deployment::new(&[("index.html", "one")]);
    let taking = Taking::start(&site);
    for version in VERSIONS {
        let api = Api::new(&taking, version);
        let content = vec![b'x'; 1024 * 1024];
        let begin = "/deploys?manifest=00&length=1";
        for (token, fields, expected) in [
            (None, &[][..], 401),
            (Some("a-token-of-twenty-four-c"), &[][..], 401),
            (Some(TOKEN), &["Origin: https://evil.example"][..], 403),
            (Some(TOKEN), &["Sec-Fetch-Site: cross-site"][..], 403),
            (Some(TOKEN), &[][..], 400),
        ] {
            for body in [&b""[..], &content] {
                let (status, _) = api.ask_as(token, "POST", begin, body, fields);
                assert_eq!(status, expected, "{version} {token:?} {fields:?}");
            }
            for target in ["/releases", "/deploys/x", "/deploys/x/missing"] {
                let (status, _) = api.ask_as(token, "GET", target, b"", fields);
                let is_refused = status == expected;
                assert!(is_refused || expected == 400, "{version} {target} {status}");
            }
        }
        // More than a request may have, also of who shows the token.
        let (status, _) = api.ask("POST", "/deploys/x/content", &vec![0; 2 * 1024 * 1024]);
        assert_eq!(status, 413, "{version}");
    }
    assert!(!site.store().join("incoming").exists());
    // The answer comes although not a byte of the content was sent.
    let mut stream = std::net::TcpStream::connect(taking.admin).unwrap();
    stream
        .set_read_timeout(Some(crate::common::PATIENCE))
        .unwrap();
    let head = format!(
        "POST /deploys/x/content HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000000\r\n\r\n",
        taking.admin
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    std::io::Read::read_exact(&mut stream, &mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
    stop(taking.server);
}

#[test]
fn the_recipes_for_ci_deploy() {
    let site = Deployment::new(&[("index.html", "one")]);
    fs::rename(site.site(), site.temp.path().join("dist")).unwrap();
    let taking = Taking::start(&site);
    let recipes = Document::read("docs/remote-deploys.md").blocks("yaml");
    let [github, gitlab] = &*recipes else {
        panic!("{recipes:?}")
    };
    let program = Path::new(env!("CARGO_BIN_EXE_salver"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let here = |text: &str| text.replace("https://deploy.example.org:9443/", &taking.url());
    let run = |command: &mut std::process::Command| {
        let command = command.current_dir(site.temp.path()).env("PATH", &path);
        let output = command.env("SALVER_ADMIN_TOKEN", TOKEN).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let lines = gitlab
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- salver "));
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), 2, "{gitlab}");
    for line in lines {
        let line = here(&format!("salver {line}"));
        run(std::process::Command::new("sh").args(["-e", "-c", &line]));
    }
    assert_eq!(
        site.json(&["releases"])["releases"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let input = |name: &str| {
        let begin = format!("{name}: ");
        let mut lines = github.lines();
        let value = lines.find_map(|line| line.trim().strip_prefix(&begin));
        here(value.unwrap_or_else(|| panic!("{name} in {github}")))
    };
    assert!(input("token").contains("secrets.SALVER_ADMIN_TOKEN"));
    fs::write(site.temp.path().join("dist/index.html"), "two").unwrap();
    let script = root().join("packaging/action/deploy.sh");
    let mut action = std::process::Command::new(script);
    action
        .env("PROGRAM", program)
        .env("SITE_PATH", input("path"));
    let out = run(action.env("DEPLOY_TO", input("deploy")));
    assert!(out.contains("is current: 1 file"), "{out}");
    site.assert_sound();
    stop(taking.server);
}
