//! Versions of a file: offered as a dictionary, kept, and what the next one costs then.

use super::*;

#[test]
fn a_version_is_a_dictionary_for_the_next() {
    let tree = Tree::new();
    let (old, new) = (script(1), script(2));
    tree.write("js/app.3f9a1c2b.js", &old);
    let site = site(&tree);
    let first = send(&site, "/js/app.3f9a1c2b.js");
    let tag = first.field("ETag");
    let expected = format!(
        "match=\"app.*.js\", match-dest=(\"script\" \"worker\" \"\"), id=\"{}\"",
        tag.get(1..17).unwrap()
    );
    assert_eq!(first.field("Use-As-Dictionary"), expected);
    let vary = "Accept-Encoding, Available-Dictionary";
    assert_eq!(first.field("Vary"), vary);
    tree.remove("js/app.3f9a1c2b.js");
    tree.write("js/app.8b1d90e4.js", &new);
    // The first answer does not wait.
    let plain = get(&site, "/js/app.8b1d90e4.js", BROWSER, &old);
    assert_eq!((coding(&plain), plain.field("Vary")), ("", vary));
    assert!(plain.body == new);
    let delta = until(&site, "/js/app.8b1d90e4.js", BROWSER, &old, "dcb");
    assert!(decoded(&delta, &old) == new);
    assert!(delta.body.len() < new.len() / 50, "{}", delta.body.len());
    assert_eq!(delta.field("Vary"), vary);
    assert!(delta.field("ETag").ends_with("-dcb\""));
    for name in [
        "Use-As-Dictionary",
        "Content-Type",
        "Cache-Control",
        "Last-Modified",
    ] {
        assert_eq!(delta.field(name), plain.field(name), "{name}");
    }
    // Who has no dictionary gets what it would have had.
    let other = site.get("/js/app.8b1d90e4.js", &[("Accept-Encoding", PLAIN), OWN]);
    assert!(matches!(coding(&other), "" | "br"));
    assert_eq!(other.field("Vary"), vary);
}

#[test]
fn head_and_conditions_are_of_the_selected_representation() {
    let tree = Tree::new();
    let (site, old, _) = deployed(&tree);
    let path = "/app.8b1d90e4.js";
    let delta = until(&site, path, BROWSER, &old, "dcb");
    let available = available(&old);
    let all = |more: (&'static str, String)| {
        let fields = [
            ("Accept-Encoding", BROWSER.to_owned()),
            ("Available-Dictionary", available.clone()),
            ("Sec-Fetch-Site", "same-origin".to_owned()),
            more,
        ];
        let borrowed: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        (site.get(path, &borrowed), site.head(path, &borrowed))
    };
    let none = || ("If-Range", "\"none\"".to_owned());
    let (get, head) = all(none());
    assert_eq!((get.status, &get.body), (200, &delta.body));
    assert_eq!((head.status, &head.fields), (200, &delta.fields));
    let (same, _) = all(("If-None-Match", delta.field("ETag").to_owned()));
    assert_eq!(same.status, 304);
    assert_eq!(same.field("Vary"), delta.field("Vary"));
    assert_eq!(same.field("ETag"), delta.field("ETag"));
    assert_eq!(same.field("Use-As-Dictionary"), "");
    let (other, _) = all(("If-None-Match", "\"other\"".to_owned()));
    assert_eq!((other.status, coding(&other)), (200, "dcb"));
    let (failed, _) = all(("If-Match", "\"other\"".to_owned()));
    assert_eq!(
        (failed.status, failed.field("Vary")),
        (412, delta.field("Vary"))
    );
}

#[test]
fn a_part_is_of_the_file_unless_its_tag_is_of_a_coding() {
    let tree = Tree::new();
    let (site, old, new) = deployed(&tree);
    let path = "/app.8b1d90e4.js";
    let delta = until(&site, path, BROWSER, &old, "dcb");
    let available = available(&old);
    let part = |if_range: Option<&str>| {
        let mut fields = vec![
            ("Accept-Encoding", "dcb, dcz"),
            ("Available-Dictionary", &*available),
            OWN,
            ("Range", "bytes=10-29"),
        ];
        fields.extend(if_range.map(|tag| ("If-Range", tag)));
        site.get(path, &fields)
    };
    let of_file = part(None);
    assert_eq!((of_file.status, coding(&of_file)), (206, ""));
    assert_eq!(of_file.body, new[10..30]);
    assert_eq!(of_file.field("Use-As-Dictionary"), "", "a part is none");
    assert_eq!(of_file.field("Vary"), delta.field("Vary"));
    let of_coding = part(Some(delta.field("ETag")));
    assert_eq!((of_coding.status, coding(&of_coding)), (206, "dcb"));
    assert_eq!(of_coding.body, delta.body[10..30]);
    let expected = format!("bytes 10-29/{}", delta.body.len());
    assert_eq!(of_coding.field("Content-Range"), expected);
    let of_another = part(Some("\"0-dcb\""));
    assert_eq!((of_another.status, coding(&of_another)), (200, "dcb"));
}

#[test]
fn what_is_accepted_decides() {
    let tree = Tree::new();
    let (site, old, new) = deployed(&tree);
    let path = "/app.8b1d90e4.js";
    let other = until(&site, path, "br, dcb;q=0, dcz", &old, "dcz");
    assert!(decoded(&other, &old) == new);
    until(&site, path, BROWSER, &old, "dcz");
    until(&site, path, "dcb", &old, "dcb");
    for (accept, expected) in [
        ("dcb, dcz", "dcb"),
        ("dcb;q=0.5, dcz", "dcz"),
        ("DCB;q=0.1", "dcb"),
        ("dcb;q=0, dcz;q=0", ""),
        ("identity;q=0, dcb", "dcb"),
        ("identity, dcb;q=0.5", ""),
        ("", ""),
        ("deflate", ""),
    ] {
        let answer = get(&site, path, accept, &old);
        assert_eq!(
            (answer.status, coding(&answer)),
            (200, expected),
            "{accept}"
        );
    }
    // Whatever else: nothing that was not named.
    let any = get(&site, path, "*", &old);
    assert!(matches!(coding(&any), "" | "br"));
    let brotli = until(&site, path, "br", &old, "br");
    for (accept, expected) in [("br, dcb;q=0.5", "br"), ("br, dcb", "dcb")] {
        assert_eq!(
            coding(&get(&site, path, accept, &old)),
            expected,
            "{accept}"
        );
    }
    assert!(brotli.body.len() > other.body.len());
}

#[test]
fn what_is_longer_than_without_is_not_sent() {
    let tree = Tree::new();
    let noise = |seed: u64| -> Vec<u8> {
        let mut state = seed;
        let next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            b'a' + u8::try_from(state >> 60).unwrap()
        };
        std::iter::repeat_with(next).take(30_000).collect()
    };
    let (old, new) = (noise(1), noise(2));
    tree.write("app.3f9a1c2b.js", &old);
    let site = site(&tree);
    send(&site, "/app.3f9a1c2b.js");
    tree.write("app.8b1d90e4.js", &new);
    let path = "/app.8b1d90e4.js";
    for _ in 0..4 {
        get(&site, path, BROWSER, &old);
        idle(&site);
    }
    // Both are there, and the one that needs no dictionary is no longer.
    assert_eq!(coding(&get(&site, path, PLAIN, &old)), "br");
    let answer = get(&site, path, BROWSER, &old);
    let plain = get(&site, path, PLAIN, &old);
    assert!(answer.body.len() <= plain.body.len());
}

#[test]
fn an_engine_in_place_of_another_knows_what_clients_have() {
    let tree = Tree::new();
    let (before, old, new) = deployed(&tree);
    let after = before.in_place_of(config(Mount::tree("/", directory(&tree.path("")))));
    drop(before);
    let delta = until(&after, "/app.8b1d90e4.js", BROWSER, &old, "dcb");
    assert!(decoded(&delta, &old) == new);
}

#[test]
fn what_is_made_outlives_the_engine_in_a_directory() {
    let tree = Tree::new();
    let kept = tempfile::tempdir().unwrap();
    let open = || {
        let directory = salver_assets::CodingDirectory::open(kept.path(), 1 << 20).unwrap();
        Some(Arc::new(directory))
    };
    let config = || Config {
        kept_codings: open(),
        ..config(Mount::tree("/", directory(&tree.path(""))))
    };
    tree.write("app.3f9a1c2b.js", script(1));
    tree.write("app.8b1d90e4.js", script(2));
    // The coding for all of the first version, and the one against it.
    for made in [2, 0] {
        let site = Site::new(config());
        send(&site, "/app.3f9a1c2b.js");
        let delta = until(&site, "/app.8b1d90e4.js", "dcb", &script(1), "dcb");
        assert!(decoded(&delta, &script(1)) == script(2));
        assert_eq!(site.engine.statistics().codings_made, made);
    }
}

/// A source that tells which versions there are, as a store of releases does.
#[derive(Debug)]
struct Telling {
    files: Arc<MemorySource>,
    versions: Vec<FileVersion>,
}

struct TellingView(Arc<dyn View>, Vec<FileVersion>);

impl Source for Telling {
    fn view(&self, patience: Patience) -> std::io::Result<Arc<dyn View>> {
        let view = self.files.view(patience)?;
        Ok(Arc::new(TellingView(view, self.versions.clone())))
    }
}

impl View for TellingView {
    fn stat(&self, path: &[u8], patience: Patience) -> std::io::Result<Metadata> {
        self.0.stat(path, patience)
    }

    fn open(&self, path: &[u8], patience: Patience) -> std::io::Result<Opened> {
        self.0.open(path, patience)
    }

    fn list(&self, path: &[u8]) -> std::io::Result<Vec<Vec<u8>>> {
        self.0.list(path)
    }

    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        self.0.known(path)
    }

    fn versions(&self, _: &[u8], name: VersionedName<'_>) -> Option<Vec<FileVersion>> {
        assert_eq!((name.before, name.after), (&b"app."[..], &b".js"[..]));
        Some(self.versions_of())
    }
}

impl TellingView {
    fn versions_of(&self) -> Vec<FileVersion> {
        self.1.clone()
    }
}

fn version(path: &str, content: &[u8]) -> FileVersion {
    FileVersion {
        path: path.as_bytes().to_vec(),
        sha256: *Dictionary::new(content).sha256(),
        length: u64::try_from(content.len()).unwrap(),
    }
}

#[test]
fn a_source_may_have_the_versions() {
    let (old, new, damaged) = (script(1), script(2), script(3));
    let files = memory(&[
        ("app.3f9a1c2b.js", &old),
        ("app.8b1d90e4.js", &new),
        ("app.1a2b3c4d.js", &script(4)),
    ]);
    let versions = vec![
        version("app.8b1d90e4.js", &new),
        version("app.3f9a1c2b.js", &old),
        // What lies there is something else, and what was there is no more.
        version("app.1a2b3c4d.js", &damaged),
        version("app.9e8d7c6b.js", &script(5)),
    ];
    let source: Arc<dyn Source> = Arc::new(Telling { files, versions });
    let path = "/app.8b1d90e4.js";
    // Nothing has to be sent before: who has it may have it from another server. Nor does it matter whether what is
    // removed is kept besides.
    let keeping = PreviousSource::new(
        Arc::clone(&source),
        KeepPrevious {
            name: "test".to_owned(),
            time: LONG,
            most_bytes: 0,
            directory: None,
            dotfiles: false,
        },
    );
    for source in [Arc::clone(&source), Arc::new(keeping)] {
        let site = Site::new(config(Mount::tree("/", source)));
        let delta = until(&site, path, BROWSER, &old, "dcb");
        assert!(decoded(&delta, &old) == new);
    }
    let site = Site::new(config(Mount::tree("/", source)));
    for gone in [damaged, script(5)] {
        for _ in 0..3 {
            let answer = get(&site, path, "dcb, dcz", &gone);
            assert_eq!((answer.status, coding(&answer)), (200, ""));
            assert!(answer.body == new);
            idle(&site);
        }
    }
}
