//! The protocol itself, asked by curl over each version of HTTP.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime};

use salver_assets::Symlinks;
use salver_store::{BlobDigest, DeployOptions, Piece, SiteFiles};
use serde_json::Value;

use super::{Deployment, TOKEN, Taking, deploy_to, fail_to_deploy, names};
use crate::common::{PATIENCE, stop};

pub(super) const VERSIONS: [&str; 2] = ["--http1.1", "--http1.0"];

/// A client of the protocol over one version of HTTP.
pub(super) struct Api {
    base: String,
    version: &'static str,
}

impl Api {
    pub(super) fn new(taking: &Taking, version: &'static str) -> Self {
        Api {
            base: format!("http://{}", taking.admin),
            version,
        }
    }

    pub(super) fn ask(&self, method: &str, target: &str, content: &[u8]) -> (u16, String) {
        self.ask_as(Some(TOKEN), method, target, content, &[])
    }

    /// The status and the content of an answer.
    pub(super) fn ask_as(
        &self,
        token: Option<&str>,
        method: &str,
        target: &str,
        content: &[u8],
        fields: &[&str],
    ) -> (u16, String) {
        let mut command = Command::new("curl");
        command.args([
            "--silent",
            "--noproxy",
            "*",
            "--max-time",
            "60",
            self.version,
        ]);
        command.args(["--request", method, "--write-out", "\n%{http_code}"]);
        // Nobody is asked whether content may come.
        command.args(["--header", "Expect:"]);
        if let Some(token) = token {
            let field = format!("Authorization: Bearer {token}");
            command.args(["--header", &field]);
        }
        for field in fields {
            command.args(["--header", field]);
        }
        if method == "POST" {
            command.args(["--data-binary", "@-"]);
        }
        command.arg(format!("{}{target}", self.base));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // Who is refused may be so before all was read.
        let _ = input.write_all(content);
        drop(input);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let (body, status) = text.rsplit_once('\n').unwrap_or_default();
        (status.parse().unwrap_or(0), body.to_owned())
    }

    fn json(&self, method: &str, target: &str, content: &[u8]) -> Value {
        let (status, body) = self.ask(method, target, content);
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Waits until the server has done its work.
    fn wait(&self, deploy: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let status = self.json("GET", &format!("/deploys/{deploy}"), b"");
            if !matches!(
                status["state"].as_str(),
                Some("examining" | "coding" | "committing")
            ) {
                return status;
            }
            assert!(Instant::now() < until, "{status}");
        }
    }

    /// Begins a deploy of the files of a site, and has them compared.
    pub(super) fn begin(&self, files: &SiteFiles) -> String {
        let text = files.manifest().to_text();
        let deploy = self.announce(&text);
        let status = self.examine(&deploy, &text);
        assert_eq!(status["state"], "receiving", "{status}");
        deploy
    }

    fn announce(&self, manifest: &str) -> String {
        let digest = BlobDigest::of(manifest.as_bytes());
        let target = format!(
            "/deploys?manifest={digest}&length={}&by=test",
            manifest.len()
        );
        let begun = self.json("POST", &target, b"");
        begun["deploy"].as_str().unwrap().to_owned()
    }

    fn examine(&self, deploy: &str, manifest: &str) -> Value {
        let piece = piece(manifest.as_bytes(), 0, manifest.len());
        self.json("POST", &format!("/deploys/{deploy}/content"), &piece);
        self.json("POST", &format!("/deploys/{deploy}/examine"), b"");
        self.wait(deploy)
    }

    pub(super) fn missing(&self, deploy: &str) -> Value {
        self.json("GET", &format!("/deploys/{deploy}/missing"), b"")["missing"].clone()
    }

    pub(super) fn send(&self, deploy: &str, pieces: &[u8]) -> (u16, String) {
        self.ask("POST", &format!("/deploys/{deploy}/content"), pieces)
    }

    fn commit(&self, deploy: &str, expected: &str) -> Value {
        let target = format!("/deploys/{deploy}/commit?expected={expected}");
        self.json("POST", &target, b"");
        self.wait(deploy)
    }
}

/// A part of content, as it is sent.
pub(super) fn piece(content: &[u8], from: usize, to: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    Piece {
        blob: BlobDigest::of(content),
        length: u64::try_from(content.len()).unwrap(),
        offset: u64::try_from(from).unwrap(),
        bytes: &content[from..to],
    }
    .write(&mut bytes);
    bytes
}

/// The files of a site as a client reads them.
pub(super) fn files(site: &Deployment) -> SiteFiles {
    let options = DeployOptions {
        symlinks: Symlinks::Beneath,
        dotfiles: false,
        coding_threads: None,
        who: "test".to_owned(),
        now: SystemTime::now(),
    };
    SiteFiles::read(&site.site(), &options, &mut |_| true).unwrap()
}

#[test]
fn what_is_sent_wrong_gets_no_name() {
    let site = Deployment::new(&[("index.html", "one")]);
    let taking = Taking::start(&site);
    deploy_to(&site, &taking.url(), &[]);
    let old = site.current();
    for version in VERSIONS {
        let api = Api::new(&taking, version);
        let content = format!("content of {version}");
        site.put("index.html", &content);
        let deploy = api.begin(&files(&site));
        let missing = api.missing(&deploy);
        assert_eq!(
            (missing.as_array().unwrap().len(), &missing[0]["received"]),
            (1, &0.into())
        );
        let content = content.as_bytes();
        // Other bytes of the same length.
        let blob = BlobDigest::of(content);
        let mut wrong = format!("{blob} {0} 0 {0}\n", content.len()).into_bytes();
        wrong.extend(content.iter().rev());
        let (status, said) = api.send(&deploy, &wrong);
        assert_eq!(status, 422, "{said}");
        assert!(said.contains("was changed while it was sent"), "{said}");
        assert_eq!(api.missing(&deploy), missing);
        // More bytes than it has, fewer than were said, what nobody has asked for, what is no piece, a hole.
        let longer = format!(
            "{blob} {0} 0 {0}\n{1}x",
            content.len() + 1,
            String::from_utf8_lossy(content)
        );
        let other = piece(b"nobody asked for this", 0, 21);
        let short = &piece(content, 0, content.len())[..80];
        for (pieces, expected) in [
            (longer.as_bytes(), 422),
            (short, 422),
            (&*other, 422),
            (b"no piece", 422),
            (&*piece(content, 5, 9), 409),
        ] {
            let (status, said) = api.send(&deploy, pieces);
            assert_eq!(status, expected, "{said}");
        }
        assert_eq!(api.missing(&deploy), missing);
        let status = api.commit(&deploy, "-");
        assert_eq!(
            (&status["state"], &status["status"]),
            (&"failed".into(), &409.into())
        );
        assert_eq!(site.current(), old, "{version}");
    }
    site.assert_sound();
    stop(taking.server);
}

#[test]
fn manifests_are_checked_as_a_directory_would_be() {
    let site = Deployment::new(&[("index.html", "one"), ("a/b.txt", "two")]);
    let flags = [
        "--metrics",
        "0",
        "--deploy-max-file",
        "4KiB",
        "--deploy-max-release",
        "6KiB",
    ];
    let taking = Taking::start_with(&site, &flags);
    let api = Api::new(&taking, VERSIONS[0]);
    let text = files(&site).manifest().to_text();
    // The manifest after a change, with its sum as it has to be.
    let changed = |from: &str, to: &str| {
        let body = text.replace(from, to);
        let (body, _) = body.rsplit_once("end ").unwrap();
        format!("{body}end {}\n", BlobDigest::of(body.as_bytes()))
    };
    let check = |manifest: &str, expected: u16, part: &str| {
        let deploy = api.announce(manifest);
        let status = api.examine(&deploy, manifest);
        assert_eq!(status["status"], expected, "{status}");
        assert!(status["error"].as_str().unwrap().contains(part), "{status}");
    };
    check(
        &changed("a/b.txt", "../b.txt"),
        422,
        "a path that no file has",
    );
    check(
        &changed("a/b.txt", "/etc/x"),
        422,
        "a path that no file has",
    );
    check(&changed("a/b.txt", "a/./b"), 422, "a path that no file has");
    check(&changed("a/b.txt", "a%00b"), 422, "a path that no file has");
    check(&changed("a/b.txt", "z.txt"), 422, "it is not sorted");
    check(&changed("a/b.txt", "index.html"), 422, "it is not sorted");
    check(&changed("files 2", "files 3"), 422, "");
    check("not a manifest", 422, "line 1");
    check(
        &text.replace("created 1", "created 2"),
        422,
        "cut off or changed",
    );
    site.put("long", vec![b'x'; 5000]);
    let said = fail_to_deploy(&site, &taking.url(), &[]);
    assert!(
        said.contains("this server takes 4096: see its --deploy-max-file"),
        "{said}"
    );
    site.remove("long");
    for name in ["one", "two"] {
        site.put(name, vec![b'x'; 4000]);
    }
    let said = fail_to_deploy(&site, &taking.url(), &[]);
    assert!(
        said.contains("this server takes 6144: see its --deploy-max-release"),
        "{said}"
    );
    let longest = format!("/deploys?manifest={}&length=100000000", BlobDigest::of(b""));
    assert_eq!(api.ask("POST", &longest, b"").0, 413);
    assert_eq!(site.current(), None);
    stop(taking.server);
}

#[test]
fn of_two_at_once_one_wins_and_the_other_is_told() {
    let site = Deployment::new(&[("index.html", "old")]);
    let taking = Taking::start(&site);
    let old = deploy_to(&site, &taking.url(), &[]);
    let mut old = old["release"].as_str().unwrap().to_owned();
    for version in VERSIONS {
        let api = Api::new(&taking, version);
        let deploys = ["mine", "yours"].map(|content| {
            let content = format!("{content} {version}");
            site.put("index.html", &content);
            let deploy = api.begin(&files(&site));
            let (status, said) = api.send(&deploy, &piece(content.as_bytes(), 0, content.len()));
            assert_eq!(status, 200, "{said}");
            deploy
        });
        let won = api.commit(&deploys[1], &old);
        assert_eq!(won["state"], "done", "{won}");
        let lost = api.commit(&deploys[0], &old);
        assert_eq!(
            (&lost["state"], &lost["status"]),
            (&"failed".into(), &412.into())
        );
        let said = lost["error"].as_str().unwrap();
        let current = site.current().unwrap();
        assert!(
            said.starts_with(&current) && said.contains("nothing was switched"),
            "{said}"
        );
        assert_eq!(won["result"]["release"], *current);
        assert_eq!(won["result"]["previous"], *old);
        old = current;
    }
    // A deploy of this machine that is under way has the lock of the store.
    let lock = std::fs::File::options()
        .write(true)
        .open(site.store().join("lock"))
        .unwrap();
    lock.lock().unwrap();
    site.put("index.html", "third");
    let said = fail_to_deploy(&site, &taking.url(), &[]);
    assert!(
        said.contains("is changing the store, and has won"),
        "{said}"
    );
    assert_eq!(site.current().as_ref(), Some(&old));
    lock.unlock().unwrap();
    deploy_to(&site, &taking.url(), &[]);
    site.assert_sound();
    stop(taking.server);
}

#[test]
fn what_has_come_of_a_blob_is_kept() {
    let long = "0123456789abcdef".repeat(4000);
    let site = Deployment::new(&[("long.txt", &long), ("short.txt", "short")]);
    let taking = Taking::start(&site);
    for (version, from, to) in [(VERSIONS[0], 0, 10_000), (VERSIONS[1], 10_000, 30_001)] {
        // Whoever sent it never comes back.
        let api = Api::new(&taking, version);
        let deploy = api.begin(&files(&site));
        let (status, said) = api.send(&deploy, &piece(long.as_bytes(), from, to));
        assert_eq!(status, 200, "{said}");
        let missing = api.missing(&deploy);
        let missing = missing.as_array().unwrap();
        let of_long = missing
            .iter()
            .find(|one| one["length"] == long.len())
            .unwrap();
        assert_eq!(of_long["received"], to);
    }
    assert_eq!(names(&site.store().join("incoming")).len(), 1);
    let deployed = deploy_to(&site, &taking.url(), &[]);
    assert_eq!(deployed["sent"]["blobs"], 2);
    assert!(names(&site.store().join("incoming")).is_empty());
    site.assert_sound();
    stop(taking.server);
}
