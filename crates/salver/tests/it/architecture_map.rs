//! The map in ARCHITECTURE.md, and what else the documents say of files: each that is named is there, each module is
//! named, each link leads somewhere, and no page grows beyond what is read at a sitting.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::common::documents::{Document, guides, root};

/// The bytes that a page may have.
const LONGEST: [(&str, usize); 3] = [
    ("README.md", 9 * 1024),
    ("ARCHITECTURE.md", 18 * 1024),
    ("BENCHMARKS.md", 15 * 1024),
];

#[test]
fn pages_stay_short() {
    for (path, most) in LONGEST {
        let length = Document::read(path).text.len();
        assert!(
            length <= most,
            "{path} has {length} bytes, more than {most}: move a part to docs/"
        );
    }
}

/// What stands between backquotes.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The modules that the map has, by crate.
fn mapped() -> BTreeMap<String, BTreeSet<String>> {
    let document = Document::read("ARCHITECTURE.md");
    let (_, map) = document.text.split_once("<!-- map:begin -->").unwrap();
    let (map, _) = map.split_once("<!-- map:end -->").unwrap();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in map.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            name.clone_into(&mut current);
            found.insert(current.clone(), BTreeSet::new());
        } else if let Some(line) = line.strip_prefix("- ") {
            let (names, _) = line
                .split_once("`: ")
                .unwrap_or_else(|| panic!("a line of the map names modules: {line}"));
            let modules = found.get_mut(&current).unwrap();
            for name in code(&format!("{names}`")) {
                assert!(modules.insert(name.to_owned()), "{current}: {name} twice");
            }
        }
    }
    found
}

/// The modules at the top of a crate, those of tests left out.
fn modules(source: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(source).unwrap();
    let names = entries.filter_map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match name.strip_suffix(".rs") {
            Some(stem) => Some(stem.to_owned()),
            None => entry.path().is_dir().then_some(name),
        }
    });
    names
        .filter(|name| !["lib", "main", "bin"].contains(&&**name) && !name.ends_with("tests"))
        .collect()
}

#[test]
fn the_map_has_every_module_of_every_crate_and_nothing_else() {
    let mut map = mapped();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mapped = map
            .remove(&name)
            .unwrap_or_else(|| panic!("ARCHITECTURE.md: the map has no part for {name}"));
        let there = modules(&path.join("src"));
        let missing: Vec<_> = there.difference(&mapped).collect();
        assert!(missing.is_empty(), "not in the map: {name}: {missing:?}");
        let gone: Vec<_> = mapped.difference(&there).collect();
        assert!(gone.is_empty(), "only in the map: {name}: {gone:?}");
    }
    assert!(map.is_empty(), "crates that are only in the map: {map:?}");
}

/// The paths of all files and folders beneath a folder, from the top folder, each with a slash before it.
fn paths(folder: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if ["target", "node_modules"].contains(&&*name) {
            continue;
        }
        let path = format!("{folder}/{name}");
        found.push(format!("/{path}"));
        if entry.file_type().unwrap().is_dir() {
            paths(&path, found);
        }
    }
}

fn all_paths() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["crates", "docs", "bench", "examples", "fuzz", "scripts"] {
        paths(folder, &mut found);
    }
    found
}

#[test]
fn files_that_documents_name_are_there() {
    let (paths, mut seen) = (all_paths(), 0);
    for document in guides() {
        // What was is told there as it was.
        if document.path == "CHANGELOG.md" {
            continue;
        }
        let prose = document.prose();
        for name in code(&prose).filter(|name| name.ends_with(".rs") && !name.contains(' ')) {
            let end = format!("/{name}");
            assert!(
                paths.iter().any(|path| path.ends_with(&end)),
                "{}: there is no {name}",
                document.path
            );
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn each_guarantee_names_tests_that_there_are() {
    let document = Document::read("ARCHITECTURE.md");
    let (_, section) = document.text.split_once("## What always holds\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let paths = all_paths();
    let is_test = |name: &str| {
        let mut paths = paths.iter().filter(|path| path.contains("/tests/"));
        paths.any(|path| {
            path.ends_with(&format!("/{name}.rs")) || path.ends_with(&format!("/{name}"))
        })
    };
    let rows = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(2);
    let mut seen = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let tests: Vec<&str> = code(cells[2]).collect();
        assert!(!tests.is_empty(), "no test holds this: {row}");
        for name in tests {
            assert!(is_test(name), "there is no test {name}: {row}");
        }
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}

/// The anchor of a heading, as pages of Markdown have it.
fn anchor(heading: &str) -> String {
    let heading = heading.trim().to_lowercase();
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    kept.collect()
}

fn anchors(document: &Document) -> BTreeSet<String> {
    let prose = document.prose();
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn links_lead_to_files_and_their_sections() {
    let mut seen = 0;
    for document in guides() {
        let folder = Path::new(&document.path).parent().unwrap();
        let prose = document.prose();
        for part in prose.split("](").skip(1) {
            let (target, _) = part.split_once(')').unwrap();
            if target.contains("://") {
                continue;
            }
            let (file, section) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => root().join(&document.path),
                _ => root().join(folder).join(file),
            };
            assert!(path.exists(), "{}: there is no {target}", document.path);
            if !section.is_empty() {
                let text = fs::read_to_string(&path).unwrap();
                let led_to = Document {
                    path: file.to_owned(),
                    text,
                };
                assert!(
                    anchors(&led_to).contains(section),
                    "{}: {target}: no such section",
                    document.path
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn an_anchor_is_its_heading_without_signs() {
    for (heading, expected) in [
        ("HTTPS", "https"),
        (" A server of one's own", "a-server-of-ones-own"),
        ("`salver serve`: flags", "salver-serve-flags"),
        ("Where do I …?", "where-do-i-"),
    ] {
        assert_eq!(anchor(heading), expected);
    }
}
