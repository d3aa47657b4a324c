//! Which crate may use which, and what each may not touch: the shape that ARCHITECTURE.md shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate and the crates of this workspace that it may depend on.
const MAY_USE: [(&str, &[&str]); 27] = [
    (
        "salver",
        &[
            "salver-server",
            "salver-access-log",
            "salver-admin",
            "salver-assets",
            "salver-bench",
            "salver-coding",
            "salver-config",
            "salver-forwarded",
            "salver-object-store",
            "salver-os",
            "salver-passwords",
            "salver-store",
            "salver-tls",
            "salver-tower",
        ],
    ),
    ("salver-config", &[]),
    (
        "salver-server",
        &[
            "salver-access-log",
            "salver-admin",
            "salver-assets",
            "salver-fields",
            "salver-forwarded",
            "salver-http1",
            "salver-http2",
            "salver-http3",
            "salver-os",
            "salver-passwords",
            "salver-semantics",
            "salver-tls",
        ],
    ),
    (
        "salver-assets",
        &[
            "salver-coalesce",
            "salver-coding",
            "salver-listing",
            "salver-os",
            "salver-rules",
            "salver-semantics",
        ],
    ),
    ("salver-tower", &["salver-assets"]),
    ("salver-embed", &["salver-assets", "salver-coding"]),
    (
        "salver-store",
        &[
            "salver-assets",
            "salver-coding",
            "salver-os",
            "salver-semantics",
        ],
    ),
    (
        "salver-object-store",
        &[
            "salver-assets",
            "salver-coalesce",
            "salver-os",
            "salver-store",
        ],
    ),
    ("salver-coding", &["salver-semantics"]),
    ("salver-http1", &["salver-semantics"]),
    ("salver-http2", &["salver-semantics", "salver-fields"]),
    ("salver-http3", &["salver-semantics", "salver-fields"]),
    ("salver-fields", &["salver-semantics"]),
    ("salver-semantics", &[]),
    ("salver-os", &[]),
    ("salver-coalesce", &[]),
    ("salver-rules", &["salver-semantics"]),
    ("salver-access-log", &["salver-semantics"]),
    ("salver-admin", &["salver-semantics"]),
    ("salver-forwarded", &[]),
    ("salver-passwords", &["salver-assets", "salver-semantics"]),
    ("salver-tls", &["salver-os", "salver-semantics"]),
    ("salver-listing", &["salver-semantics"]),
    // What judges the server must not share its mistakes.
    ("salver-conformance", &[]),
    ("salver-test", &[]),
    (
        "salver-system-tests",
        &["salver-assets", "salver-server", "salver-test"],
    ),
    // Nor must what compares it with others.
    ("salver-bench", &[]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The crates of this workspace in the sections of a manifest with this name, those for one target
/// included.
fn dependencies(manifest: &str, section: &str) -> BTreeSet<String> {
    let (here, of_target) = (format!("[{section}]"), format!(".{section}]"));
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == here || line.ends_with(&of_target);
        } else if inside && line.starts_with("salver") {
            names.extend(line.split(['.', '=', ' ']).next().map(str::to_owned));
        }
    }
    names
}

/// All Rust files beneath `directory`, with what they say outside of comments.
fn sources(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text
                .lines()
                .map(|line| line.split("//").next().unwrap_or_default());
            let code = code.collect::<Vec<_>>().join("\n");
            found.push((path, code));
        }
    }
    found
}

#[test]
fn dependencies_point_one_way() {
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains(&format!("name = \"{name}\"")),
            "the folder of {name}"
        );
        let (_, may) = MAY_USE
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("say in this test what {name} may use"));
        let allowed: BTreeSet<_> = may.iter().map(|name| (*name).to_owned()).collect();
        let mut used = dependencies(&manifest, "dependencies");
        used.extend(dependencies(&manifest, "build-dependencies"));
        assert!(
            used.is_subset(&allowed),
            "{name} uses {used:?}, may use {allowed:?}"
        );
        if name == "salver-conformance" {
            assert!(dependencies(&manifest, "dev-dependencies").is_empty());
        }
        seen.insert(name);
    }
    assert_eq!(seen.len(), MAY_USE.len(), "{seen:?}");
    // The reading itself works: this much is known.
    let manifest = fs::read_to_string(crates().join("salver/Cargo.toml")).unwrap();
    assert!(dependencies(&manifest, "dependencies").contains("salver-server"));
}

#[test]
fn pure_crates_touch_no_file_no_socket_and_no_clock() {
    let forbidden = [
        "std::fs",
        "std::net::Tcp",
        "std::net::Udp",
        "std::io",
        "std::thread",
    ];
    let clocks = ["SystemTime", "Instant::now", "std::time"];
    for name in [
        "salver-semantics",
        "salver-fields",
        "salver-http1",
        "salver-http2",
        "salver-http3",
        "salver-coding",
    ] {
        let sources = sources(&crates().join(name).join("src"));
        assert!(!sources.is_empty());
        for (path, code) in sources {
            for word in forbidden.iter().chain(&clocks) {
                // Coded bytes come and go by std's `Read` and `Write`.
                let is_allowed = name == "salver-coding" && *word == "std::io";
                let is_said = code.contains(word) && !is_allowed;
                assert!(!is_said, "{} mentions {word}", path.display());
            }
        }
    }
}

/// The names of the test programs of a crate.
fn test_programs(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory.join("tests")) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let programs = paths.filter(|path| match path.is_dir() {
        true => path.join("main.rs").exists(),
        false => path.extension().is_some_and(|extension| extension == "rs"),
    });
    programs
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_test_program_is_run_by_make() {
    let makefile = fs::read_to_string(crates().join("../Makefile")).unwrap();
    let list = |name: &str| {
        let line = makefile.lines().find_map(|line| line.strip_prefix(name));
        let names = line.unwrap().split_whitespace().map(str::to_owned);
        names.collect::<BTreeSet<_>>()
    };
    let lists = ["TOGETHER := ", "IN_PAIRS := ", "APART := "].map(list);
    let named = lists.iter().flatten().cloned().collect::<BTreeSet<_>>();
    assert_eq!(named.len(), lists.iter().map(BTreeSet::len).sum::<usize>());
    let mut found = BTreeSet::new();
    for folder in ["crates", "examples"] {
        for entry in fs::read_dir(crates().join("..").join(folder)).unwrap() {
            let package = entry.unwrap().path();
            found.extend(test_programs(&package));
            // Of programs no units are compiled: what is worth a test is in a library.
            let program = fs::read_to_string(package.join("src/main.rs")).unwrap_or_default();
            assert!(!program.contains("#[test]"), "{}", package.display());
        }
    }
    assert_eq!(found, named);
}

#[test]
fn unsafe_code_stays_in_few_crates() {
    for (name, _) in MAY_USE {
        for root in ["lib.rs", "main.rs"] {
            let Ok(code) = fs::read_to_string(crates().join(name).join("src").join(root)) else {
                assert_eq!(root, "main.rs", "{name} is no library");
                continue;
            };
            // An allocator that counts is unsafe; it is in no program that is published.
            // What is forbidden at the root cannot be allowed further in.
            let forbids = code.contains("#![forbid(unsafe_code)]");
            let may = ["salver-os", "salver-coding", "salver-test"].contains(&name);
            assert_eq!(forbids, !may, "{name}/src/{root}");
        }
    }
}

/// C libraries are called by one module of salver-coding each, and what decodes is in none of them.
#[test]
fn unsafe_code_of_codings_stays_where_c_libraries_are_called() {
    let root = crates().join("salver-coding").join("src");
    let library = fs::read_to_string(root.join("lib.rs")).unwrap();
    assert!(library.contains("#![deny(unsafe_code)]"));
    let mut allowed = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::read_to_string(&path)
                .unwrap()
                .contains("allow(unsafe_code")
            {
                allowed.push(path.strip_prefix(&root).unwrap().to_path_buf());
            }
        }
    }
    allowed.sort();
    assert_eq!(
        allowed,
        ["encode/brotli/library.rs", "encode/zopfli/library.rs"].map(Path::new)
    );
}
