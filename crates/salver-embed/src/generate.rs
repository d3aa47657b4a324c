//! The Rust that the program includes.

use std::fmt::Write;

use salver_assets::Symlinks;
use salver_assets::source::KnownDigests;

/// A file of the tree, as the program will have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GeneratedFile {
    pub(crate) path: String,
    /// The name of its bytes in the store.
    pub(crate) stored: String,
    pub(crate) modified_unix_seconds: i64,
    pub(crate) known: KnownDigests,
}

/// The source of these files; their bytes lie in the directory `store` beside it.
/// `salver_assets::embedded!` has the names in scope.
///
/// The files are a `static`, which is in the program once: a constant would be copied by the compiler into each of its
/// units that uses it, and with it the bytes.
pub(crate) fn generate(entries: &[GeneratedFile], store: &str) -> String {
    let mut text = format!(
        "// By salver-embed.\n{{\nstatic FILES: [EmbeddedFile; {}] = [\n",
        entries.len()
    );
    for entry in entries {
        let GeneratedFile {
            path,
            stored,
            modified_unix_seconds,
            known: KnownDigests { digest, decoded },
        } = entry;
        let decoded = match decoded {
            Some(decoded) => format!("Some({decoded:#x})"),
            None => "None".to_owned(),
        };
        let content = format!("{store}/{stored}");
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "    EmbeddedFile {{ path: {path:?}, content: include_bytes!({content:?}), \
             modified_unix_seconds: {modified_unix_seconds}, \
             known: KnownDigests {{ digest: {digest:#x}, decoded: {decoded} }} }},"
        );
    }
    text.push_str("];\nEmbeddedSource::new(&FILES)\n}\n");
    text
}

/// The source of a directory that is read while the program runs.
pub(crate) fn generate_on_disk(path: &str, symlinks: Symlinks) -> String {
    format!(
        "// By salver-embed.\n{{\nstatic DIRECTORY: EmbeddedDirectory = \
         EmbeddedDirectory::new({path:?}, Symlinks::{symlinks:?});\n\
         EmbeddedSource::on_disk(&DIRECTORY)\n}}\n"
    )
}
