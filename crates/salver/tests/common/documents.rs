//! The documents of this repository, for tests that hold them to what they say.

use std::fs;
use std::path::{Path, PathBuf};

/// The top folder of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().to_owned()
}

/// A page of Markdown.
#[derive(Debug)]
pub struct Document {
    /// Where it lies, from the top folder: `docs/serve.md`.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl Document {
    /// The page at a path from the top folder.
    pub fn read(path: &str) -> Document {
        let text = fs::read_to_string(root().join(path));
        Document {
            path: path.to_owned(),
            text: text.unwrap_or_else(|error| panic!("{path}: {error}")),
        }
    }

    /// The texts of its blocks of code in a language.
    pub fn blocks(&self, language: &str) -> Vec<String> {
        let begin = format!("```{language}\n");
        let parts = self.text.split(&begin).skip(1);
        let text = |part: &str| part.split("```").next().unwrap().to_owned();
        parts.map(text).collect()
    }

    /// Its text without the blocks of code.
    pub fn prose(&self) -> String {
        self.text.split("```").step_by(2).collect()
    }
}

/// The pages at the top and those of `docs/`.
pub fn guides() -> Vec<Document> {
    let mut found = pages("");
    found.extend(pages("docs"));
    found.extend(pages("docs/internals"));
    found
}

/// These, and the page of each crate.
pub fn all() -> Vec<Document> {
    let mut found = guides();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        found.extend(pages(&format!("crates/{name}")));
    }
    found
}

/// The pages in one folder.
fn pages(folder: &str) -> Vec<Document> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.ends_with(".md"))
        .map(|name| match folder {
            "" => Document::read(&name),
            _ => Document::read(&format!("{folder}/{name}")),
        })
        .collect()
}
