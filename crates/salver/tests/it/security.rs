//! SECURITY.md: each row of its tables names tests that there are, so that no promise stands alone.

use std::fs;
use std::path::Path;

use crate::common::documents::{Document, root};

/// All files of Rust of the crates.
fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("node_modules") {
                files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.to_str().unwrap().to_owned(), text));
        }
    }
}

#[test]
fn each_promise_of_security_names_tests_that_there_are() {
    let mut sources = Vec::new();
    files(&root().join("crates"), &mut sources);
    let is_test = |name: &str| {
        let Some((file, function)) = name.rsplit_once("::") else {
            return false;
        };
        let (end, begin) = (format!("/{file}.rs"), format!("\nfn {function}("));
        let with_folder = format!("/{file}/");
        sources.iter().any(|(path, text)| {
            (path.ends_with(&end) || path.contains(&with_folder)) && {
                let before = text.split_once(&begin).map(|(before, _)| before);
                before.is_some_and(|before| {
                    let attributes = before.rsplit("\n\n").next().unwrap();
                    attributes.contains("#[test]") || attributes.contains("::test")
                })
            }
        })
    };
    let document = Document::read("SECURITY.md");
    let mut rows = 0;
    for table in document.text.split("| cannot | held by |").skip(1) {
        let lines = table.lines().skip(2);
        for row in lines.take_while(|line| line.starts_with("| ")) {
            let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
            let tests: Vec<&str> = cells[1].split('`').skip(1).step_by(2).collect();
            assert!(!tests.is_empty(), "no test holds this: {row}");
            for name in tests {
                assert!(is_test(name), "there is no test {name}: {row}");
            }
            rows += 1;
        }
    }
    assert!(rows >= 20, "{rows}");
}
