//! What the commands that work on a store have in common.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use salver_store::{Event, Store};
use serde::Serialize;

use super::progress::Progress;
use crate::buckets;
use crate::failure::Failure;
use crate::log::say;
use crate::reports::BlobCount;
use crate::signal;

/// The version of the JSON of all of them.
const VERSION: u32 = 1;

/// The schemes of buckets that a store may lie in.
const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"];

/// A store that the program works on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnStore {
    /// In a directory of this machine.
    Directory(PathBuf),
    /// In the bucket of this URL.
    Bucket(String),
}

impl OwnStore {
    /// The store.
    ///
    /// # Errors
    /// There is none, or the bucket does not say.
    pub(super) fn open(&self) -> Result<Store, Failure> {
        Ok(match self {
            OwnStore::Directory(path) => Store::open(path)?,
            OwnStore::Bucket(url) => Store::open_bucket(buckets::of_store(url)?)?,
        })
    }

    /// The store, which is made if there is none.
    ///
    /// # Errors
    /// There is something else, or it cannot be made.
    pub(super) fn open_or_create(&self) -> Result<Store, Failure> {
        Ok(match self {
            OwnStore::Directory(path) => Store::open_or_create(path)?,
            OwnStore::Bucket(url) => Store::open_or_create_bucket(buckets::of_store(url)?)?,
        })
    }
}

/// A store that is given on a command line: a path, or the URL of a bucket.
///
/// # Errors
/// It is another URL, which would be taken for a path.
pub(super) fn own_store(text: &str) -> Result<OwnStore, String> {
    match text.split_once("://") {
        Some((scheme, _)) if SCHEMES.contains(&scheme) => Ok(OwnStore::Bucket(text.to_owned())),
        Some(_) => Err(
            "give the path of a directory of this machine, or the URL of a bucket: s3://, gs:// or az://"
                .to_owned(),
        ),
        None if text.is_empty() => Err("give the path of a store".to_owned()),
        None => Ok(OwnStore::Directory(text.into())),
    }
}

/// Who runs the program, for the journal of a store.
pub(super) fn who() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME", "USERNAME"];
    let name = named
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| OsString::from("unknown"));
    name.to_string_lossy().into_owned()
}

/// What `work` gives, which tells of its progress in a terminal and ends by Ctrl-C.
pub(super) fn with_progress<T, E: Into<Failure>>(
    is_quiet: bool,
    work: impl FnOnce(&mut dyn FnMut(Event<'_>) -> bool) -> Result<T, E>,
) -> Result<T, Failure> {
    let is_ended = Arc::new(AtomicBool::new(false));
    let by_signal = Arc::clone(&is_ended);
    signal::listen(move || by_signal.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Failed(format!("signals cannot be heard: {error}")))?;
    let progress = Progress::new(0, is_quiet);
    let result = work(&mut |event| {
        match event {
            Event::Expected(bytes) => progress.expect(bytes),
            Event::Done(bytes) => progress.add(bytes),
            Event::Note(note) => progress.say(&format!("note: {note}")),
        }
        !is_ended.load(Ordering::Relaxed)
    });
    progress.clear();
    result.map_err(Into::into)
}

/// A number of blobs and their bytes, for people.
pub(super) fn blob_count(count: BlobCount) -> String {
    let blobs = counted(count.blobs, "blob");
    format!("{blobs}, {}", crate::size::size(count.bytes))
}

/// A number and what is counted.
pub(super) fn counted(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

/// A path within a release, for people: one line, whatever it holds.
pub(super) fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}

#[derive(Serialize)]
struct Json<'a, T> {
    version: u32,
    store: &'a str,
    #[serde(flatten)]
    result: T,
}

/// Prints a result as one line of JSON.
///
/// # Errors
/// Standard output fails.
pub(super) fn print_json(store: &Path, result: impl Serialize) -> Result<(), Failure> {
    print_json_of(&store.to_string_lossy(), result)
}

/// The same of a store that is named so.
///
/// # Errors
/// Standard output fails.
pub(super) fn print_json_of(store: &str, result: impl Serialize) -> Result<(), Failure> {
    let json = Json {
        version: VERSION,
        store,
        result,
    };
    let text = serde_json::to_string(&json);
    let text = text.map_err(|error| Failure::Failed(format!("no JSON can be made: {error}")))?;
    print(&format!("{text}\n"))
}

/// Prints a result for people.
///
/// # Errors
/// Standard output fails.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::Failed(format!("standard output failed: {error}")))
}

/// Says what somebody should know, unless they want to hear nothing.
pub(super) fn remark(text: &str, is_quiet: bool) {
    if !is_quiet {
        say(&format!("note: {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_directory_or_a_bucket() {
        let directory = |path: &str| Ok(OwnStore::Directory(path.into()));
        assert_eq!(own_store("/srv/store"), directory("/srv/store"));
        for url in ["s3://bucket", "gs://bucket/site", "az://container/a"] {
            assert_eq!(own_store(url), Ok(OwnStore::Bucket(url.to_owned())));
        }
        for wrong in ["https://example.org/", "ftp://a", "file:///srv", ""] {
            assert!(own_store(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_counted() {
        assert_eq!(blob_count((1, 2048).into()), "1 blob, 2 KiB");
        assert_eq!(blob_count((0, 0).into()), "0 blobs, 0 B");
        assert_eq!(shown(b"a\n\xff"), "a\\n\u{fffd}");
    }
}
