//! `salver deploy` and what belongs to it, and a store that is served.

mod addresses;
#[cfg(feature = "compress")]
mod codings;
mod disk;
mod interrupted;
mod network;
mod preview;
mod served;

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{check_one_line, run};

/// A directory that is deployed, and the store that it goes to.
struct Deployment {
    temp: tempfile::TempDir,
}

impl Deployment {
    fn new(files: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let deployment = Deployment { temp };
        fs::create_dir(deployment.site()).unwrap();
        for (path, content) in files {
            deployment.put(path, content);
        }
        deployment
    }

    fn site(&self) -> PathBuf {
        self.temp.path().join("site")
    }

    fn store(&self) -> PathBuf {
        self.temp.path().join("store")
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.site().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.site().join(path)).unwrap();
    }

    /// What follows `salver` for a deploy.
    fn words(&self) -> [String; 4] {
        let (site, store) = (self.site(), self.store());
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        [
            "deploy".to_owned(),
            text(&site),
            "--to".to_owned(),
            text(&store),
        ]
    }

    /// Deploys; gives the JSON of it.
    fn deploy(&self) -> serde_json::Value {
        let mut words = self.words().to_vec();
        words.push("--json".to_owned());
        let (code, out, said) = run(&words);
        assert_eq!(code, 0, "{said}");
        serde_json::from_str(&out).unwrap()
    }

    /// The JSON of a command on the store.
    fn json(&self, words: &[&str]) -> serde_json::Value {
        let (code, out, said) = self.command(words, &["--json"]);
        assert_eq!(code, 0, "{words:?}: {said}");
        serde_json::from_str(&out).unwrap()
    }

    /// Runs a command on the store: its name, the store, and what follows.
    fn command(&self, words: &[&str], more: &[&str]) -> (i32, String, String) {
        let store = self.store();
        let mut all = vec![words[0], store.to_str().unwrap()];
        all.extend(&words[1..]);
        all.extend(more);
        run(&all)
    }

    /// The current release, if there is one.
    fn current(&self) -> Option<String> {
        let text = fs::read_to_string(self.store().join("current")).ok()?;
        let line = text.lines().nth(1)?;
        Some(line.strip_prefix("release ")?.to_owned())
    }

    /// Fails unless the store is whole.
    fn assert_sound(&self) {
        let (code, out, said) = self.command(&["fsck"], &[]);
        assert_eq!(code, 0, "{out}{said}");
    }
}

#[test]
fn a_store_from_the_first_release_to_a_prune() {
    let site = Deployment::new(&[("index.html", "one"), ("app.3f9a1c2b.js", "code")]);
    let first = site.deploy();
    assert_eq!((&first["files"], &first["bytes"]), (&2.into(), &7.into()));
    assert_eq!(first["sent"], serde_json::json!({ "blobs": 2, "bytes": 7 }));
    assert_eq!(first["previous"], serde_json::Value::Null);
    let again = site.deploy();
    assert_eq!(again["sent"]["blobs"], 0);
    assert_eq!(
        (&again["unchanged"], &again["release"]),
        (&true.into(), &first["release"])
    );
    site.put("index.html", "other");
    let (code, out, said) = run(&site.words());
    assert_eq!((code, &*said), (0, ""), "{out}");
    assert!(
        out.contains("sent 1 blob, 5 B; the store had 1 blob, 4 B"),
        "{out}"
    );
    assert!(out.contains("`salver rollback` goes back"), "{out}");
    let list = site.json(&["releases"]);
    let is_current: Vec<_> = list["releases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["current"].clone())
        .collect();
    assert_eq!(is_current, [false, true]);
    assert_eq!(list["blobBytes"], 12);
    let (_, out, _) = site.command(&["releases"], &[]);
    assert_eq!(out.lines().count(), 4, "{out}");
    assert!(out.lines().nth(2).unwrap().starts_with("*  "), "{out}");
    let first = first["release"].as_str().unwrap();
    let second = site.current().unwrap();
    let diff = site.json(&["diff", first, &second]);
    let expected = serde_json::json!(
        [{ "path": "index.html", "change": "changed", "before": 3, "after": 5 }]
    );
    assert_eq!(diff["changes"], expected);
    let (_, out, _) = site.command(&["diff", first, &second], &[]);
    assert!(
        out.starts_with("changed  index.html (3 B to 5 B)\n1 difference"),
        "{out}"
    );
    let back = site.json(&["rollback"]);
    assert_eq!(
        (&back["release"], &back["previous"]),
        (&first.into(), &(&*second).into())
    );
    assert_eq!(site.current().as_deref(), Some(first));
    let (code, out, _) = site.command(&["rollback", second.rsplit('-').next().unwrap()], &[]);
    assert_eq!(
        (code, out),
        (0, format!("{second} is current; before: {first}\n"))
    );
    let kept = site.json(&["prune", "--keep", "1"]);
    assert_eq!(
        kept["releases"],
        serde_json::json!([]),
        "it was current a moment ago"
    );
    // What was replaced in the second in which this is asked was not replaced after it.
    let pruned = site.json(&["prune", "--keep", "1", "--for", "0s"]);
    assert_eq!(pruned["releases"], serde_json::json!([first]));
    assert_eq!(
        pruned["removed"],
        serde_json::json!({ "blobs": 1, "bytes": 3 })
    );
    site.assert_sound();
    let journal = site.json(&["releases", "--journal"]);
    let journal = journal["journal"].as_array().unwrap();
    let actions: Vec<_> = journal
        .iter()
        .map(|entry| entry["action"].as_str().unwrap())
        .collect();
    assert_eq!(
        actions,
        ["deploy", "deploy", "rollback", "rollback", "prune"]
    );
}

#[test]
fn damage_is_named_with_all_that_it_is_of() {
    let site = Deployment::new(&[("a.txt", "alpha"), ("twin.txt", "alpha")]);
    let release = site.deploy()["release"].as_str().unwrap().to_owned();
    // Of FIPS 180-4's function, whoever computes it.
    let digest = "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8";
    let (directory, rest) = digest.split_at(2);
    let blob = site.store().join("blobs").join(directory).join(rest);
    fs::remove_file(&blob).unwrap();
    fs::write(&blob, "alpxa").unwrap();
    let (code, out, said) = site.command(&["fsck"], &[]);
    let expected = format!(
        "blob {digest}: its content is not what its name says\n  {release}: a.txt\n  {release}: twin.txt\n"
    );
    assert_eq!((code, out), (1, expected));
    assert!(
        said.contains("1 blob damaged, 0 faults with its own files"),
        "{said}"
    );
    let (code, out, _) = site.command(&["fsck"], &["--json"]);
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["damaged"][0]["blob"]), (1, &digest.into()));
    assert_eq!(found["damaged"][0]["files"][1]["path"], "twin.txt");
    // The site is still there: deploying it again heals the store.
    assert_eq!(site.deploy()["repaired"], 1);
    site.assert_sound();
}

#[test]
fn what_cannot_be_meant_is_one_line_with_what_to_do() {
    let site = Deployment::new(&[("a.txt", "alpha")]);
    site.deploy();
    let (directory, store) = (site.site(), site.store());
    let (directory, store) = (directory.to_str().unwrap(), store.to_str().unwrap());
    let check = check_one_line;
    check(&["deploy", directory], 2, &["--to"]);
    check(
        &["deploy", "no/where", "--to", store],
        2,
        &["no/where", "build the site first"],
    );
    check(
        &["deploy", directory, "--to", "ftp://bucket"],
        2,
        &["the path of a directory", "s3://", "https://"],
    );
    // Before any bucket is asked: there is no such place, or none in this build.
    for command in ["releases", "rollback", "prune", "fsck"] {
        let told = match cfg!(feature = "object-store") {
            true => "credentials do not belong into a URL",
            false => "--features object-store",
        };
        check(&[command, "s3://user:secret@bucket/site"], 2, &[told]);
    }
    check(
        &["deploy", directory, "--to", "/"],
        2,
        &["neither empty nor a store"],
    );
    check(
        &["releases", directory],
        2,
        &["is no store", "salver deploy"],
    );
    check(&["rollback", store], 2, &["no release before"]);
    check(
        &["rollback", store, "2020"],
        2,
        &["no release 2020", "salver releases"],
    );
    check(&["diff", store, "2020", "2021"], 2, &["no release 2020"]);
    check(&["prune", store, "--keep", "x"], 2, &["not a whole number"]);
    check(&["prune", store, "--for", "x"], 2, &["not a time"]);
    check(
        &["serve", directory, "--store", store],
        2,
        &["PATH and --store", "give one of them"],
    );
    check(&["serve", "--store", directory], 2, &["is no store"]);
    check(
        &["serve", "--store", store, "--live-reload"],
        2,
        &["--live-reload", "PATH"],
    );
}

#[test]
fn of_two_at_once_one_wins_and_the_other_is_told() {
    let site = Deployment::new(&[("a.txt", "alpha")]);
    site.deploy();
    let lock = fs::File::options()
        .read(true)
        .write(true)
        .open(site.store().join("lock"))
        .unwrap();
    lock.lock().unwrap();
    site.put("a.txt", "beta");
    let before = site.current();
    let words = site.words();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    check_one_line(
        &words,
        1,
        &["is changing the store, and has won", "nothing was switched"],
    );
    assert_eq!(site.current(), before);
    // Not by closing it: a process that another test begins has a duplicate for a moment.
    lock.unlock().unwrap();
    // Many at once, whoever comes first: each succeeds or is told, and all of the last that did is there.
    let others: Vec<Deployment> = (0..6)
        .map(|number| {
            let text = format!("of {number}");
            Deployment::new(&[("a.txt", &text), ("b.txt", &text)])
        })
        .collect();
    let store = site.store();
    let store = store.to_str().unwrap();
    let outcomes: Vec<(i32, String, String)> = std::thread::scope(|scope| {
        let runs: Vec<_> = others
            .iter()
            .map(|other| {
                scope.spawn(move || {
                    let directory = other.site();
                    run(&[
                        "deploy",
                        directory.to_str().unwrap(),
                        "--to",
                        store,
                        "--json",
                    ])
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let mut winners = Vec::new();
    for (code, out, said) in outcomes {
        match code {
            0 => {
                let json: serde_json::Value = serde_json::from_str(&out).unwrap();
                winners.push(json["release"].as_str().unwrap().to_owned());
            }
            _ => assert!(code == 1 && said.contains("has won"), "{code}: {said}"),
        }
    }
    winners.sort();
    assert_eq!(winners.last(), site.current().as_ref());
    site.assert_sound();
}
