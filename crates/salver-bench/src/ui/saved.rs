//! Saved runs: one JSON file each, in one directory.

use std::cmp::Reverse;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::job::{Job, JobKind};
use crate::result::model::SCHEMA;
use crate::result::report::Report;

/// The most runs that are listed: the newest.
pub(super) const MOST_LISTED: usize = 1000;

/// A file that is longer is none of ours, in bytes: a run takes some ten thousand.
const LONGEST: u64 = 16 << 20;

/// The longest name, in bytes.
const LONGEST_NAME: usize = 80;

/// The most files of one second, which differ in their number alone.
const MOST_PER_SECOND: u32 = 1000;

/// A run with what was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Saved {
    /// The time of its start, in milliseconds since 1970 in UTC.
    pub(super) started_ms: u64,
    pub(super) job: Job,
    pub(super) report: Report,
}

/// The name of a saved run: letters, digits, `-` and `_`. It can name nothing outside of the
/// directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RunId(String);

impl RunId {
    /// The name, if it is one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fits = (1..=LONGEST_NAME).contains(&text.len());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (fits && text.bytes().all(plain)).then(|| RunId(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The summary of a run, for a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    pub(super) id: RunId,
    pub(super) title: String,
    /// The time of its start, in milliseconds since 1970 in UTC.
    pub(super) started_ms: u64,
    pub(super) kind: JobKind,
    /// It was stopped before its end.
    pub(super) interrupted: bool,
    /// True if all went right in it.
    pub(super) sound: bool,
}

/// A file that is not listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct SkippedFile {
    pub(super) name: String,
    pub(super) reason: String,
}

/// The saved runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Listing {
    pub(super) directory: String,
    /// The newest first, at most [`MOST_LISTED`].
    pub(super) runs: Vec<Summary>,
    /// Files that are no runs, at most [`MOST_LISTED`].
    pub(super) skipped: Vec<SkippedFile>,
    /// The number of older files, which were not looked at.
    pub(super) older: usize,
}

/// A directory with saved runs.
#[derive(Clone, Debug)]
pub(super) struct RunFiles {
    directory: PathBuf,
}

impl RunFiles {
    /// The directory, which is made if it is not there: for its owner alone, since a run tells
    /// about the machine.
    pub(super) fn open(directory: PathBuf) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&directory)?;
        fs::read_dir(&directory)?;
        Ok(RunFiles { directory })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Saves a run under a name of its own: after a crash it is there whole or not at all.
    pub(super) fn save(&self, saved: &Saved) -> io::Result<RunId> {
        let started = SystemTime::UNIX_EPOCH + Duration::from_millis(saved.started_ms);
        // The form of RFC 3339, without the colons that some file systems do not take.
        let time = humantime::format_rfc3339_seconds(started).to_string();
        let kind = saved.job.kind.name();
        let stem = format!("{}-{kind}", time.replace(':', ""));
        let mut file = tempfile::Builder::new()
            .prefix(".salver-")
            .tempfile_in(&self.directory)?;
        serde_json::to_writer(&mut file, saved)?;
        file.flush()?;
        file.as_file().sync_all()?;
        for number in 1..=MOST_PER_SECOND {
            let name = match number {
                1 => stem.clone(),
                _ => format!("{stem}-{number}"),
            };
            let id = RunId::parse(&name).ok_or(io::ErrorKind::InvalidInput)?;
            match file.persist_noclobber(self.path(&id)) {
                Ok(_) => return Ok(id),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    file = error.file;
                }
                Err(error) => return Err(error.error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Reads a run.
    /// Why it cannot be shown, otherwise, in a few words.
    pub(super) fn load(&self, id: &RunId) -> Result<Saved, String> {
        read(&self.path(id))
    }

    /// The runs that are there, and what else is.
    pub(super) fn list(&self) -> io::Result<Listing> {
        let mut listing = Listing {
            directory: self.directory.display().to_string(),
            ..Listing::default()
        };
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            let id = stem.and_then(RunId::parse);
            // What has a dot in front is a run that is being written, or not meant to be seen.
            match id {
                Some(id) => ids.push(id),
                None if name.as_encoded_bytes().starts_with(b".") => {}
                None => {
                    let reason = "not a name of a saved run".to_owned();
                    listing.skip(name.to_string_lossy().into_owned(), reason);
                }
            }
        }
        // The names begin with the time.
        ids.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        listing.older = ids.len().saturating_sub(MOST_LISTED);
        ids.truncate(MOST_LISTED);
        for id in ids {
            match self.load(&id) {
                Ok(saved) => listing.runs.push(Summary {
                    id,
                    sound: saved.report.is_sound(),
                    title: saved.report.title,
                    started_ms: saved.started_ms,
                    kind: saved.job.kind,
                    interrupted: saved.report.interrupted,
                }),
                Err(reason) => listing.skip(format!("{}.json", id.0), reason),
            }
        }
        listing.runs.sort_by_key(|run| Reverse(run.started_ms));
        Ok(listing)
    }

    fn path(&self, id: &RunId) -> PathBuf {
        self.directory.join(format!("{}.json", id.0))
    }
}

impl Listing {
    fn skip(&mut self, name: String, reason: String) {
        if self.skipped.len() < MOST_LISTED {
            self.skipped.push(SkippedFile { name, reason });
        }
    }
}

fn read(path: &Path) -> Result<Saved, String> {
    let why = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such run".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    // Opening a pipe would wait for who writes to it.
    if !fs::metadata(path).map_err(why)?.is_file() {
        return Err("no file".to_owned());
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(why)?;
    let length = file.take(LONGEST + 1).read_to_end(&mut text).map_err(why)?;
    if length as u64 > LONGEST {
        return Err(format!("longer than {} MiB: no saved run", LONGEST >> 20));
    }
    let saved: Saved =
        serde_json::from_slice(&text).map_err(|error| format!("no saved run: {error}"))?;
    match saved.report.schema {
        SCHEMA => Ok(saved),
        other => Err(format!(
            "written in schema {other}, which this version cannot read"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(started_ms: u64) -> Saved {
        Saved {
            started_ms,
            job: Job::default(),
            report: Report::new("t".to_owned(), serde_json::Value::Null, Vec::new()),
        }
    }

    #[test]
    fn names_tell_the_time_and_never_collide() {
        let directory = tempfile::tempdir().unwrap();
        let files = RunFiles::open(directory.path().join("a/b")).unwrap();
        for (ms, expected) in [
            (1_000, "1970-01-01T000001Z-cache"),
            (1_999, "1970-01-01T000001Z-cache-2"),
            (2_000, "1970-01-01T000002Z-cache"),
        ] {
            let id = files.save(&saved(ms)).unwrap();
            assert_eq!(id.as_str(), expected);
            assert_eq!(files.load(&id), Ok(saved(ms)));
        }
        let stems = ["2Z-cache", "1Z-cache-2", "1Z-cache"];
        let newest_first = stems.map(|stem| format!("1970-01-01T00000{stem}"));
        let runs = files.list().unwrap().runs.into_iter();
        assert!(runs.map(|run| run.id.0).eq(newest_first));
        let left = fs::read_dir(files.directory()).unwrap().count();
        assert_eq!(left, 3, "no temporary file stays");
    }

    #[test]
    fn what_is_no_run_is_named_and_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let files = RunFiles::open(directory.path().to_owned()).unwrap();
        let good = files.save(&saved(0)).unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("half.json", "{\"started_ms\":");
        write("foreign.json", "[1, 2]");
        for name in ["empty.json", "notes.txt", ".hidden", "a b.json"] {
            write(name, "");
        }
        let mut newer = saved(0);
        newer.report.schema = SCHEMA + 1;
        write("newer.json", &serde_json::to_string(&newer).unwrap());
        fs::create_dir(directory.path().join("folder.json")).unwrap();
        let huge = File::create(directory.path().join("huge.json")).unwrap();
        huge.set_len(LONGEST + 1).unwrap();

        let listing = files.list().unwrap();
        assert_eq!(listing.runs.len(), 1);
        assert_eq!(listing.runs[0].id, good);
        let skipped = listing.skipped.iter();
        let mut skipped: Vec<_> = { skipped }
            .map(|file| (&*file.name, &*file.reason))
            .collect();
        skipped.sort_unstable();
        let expected = [
            ("a b.json", "not a name"),
            ("empty.json", "no saved run"),
            ("folder.json", "no file"),
            ("foreign.json", "no saved run"),
            ("half.json", "no saved run"),
            ("huge.json", "longer than 16 MiB"),
            ("newer.json", "schema 2"),
            ("notes.txt", "not a name"),
        ];
        assert_eq!(skipped.len(), expected.len(), "{skipped:?}");
        for ((name, reason), (file, part)) in skipped.iter().zip(expected) {
            assert_eq!(*name, file);
            assert!(reason.contains(part), "{name}: {reason}");
        }
    }

    #[test]
    fn the_newest_are_listed_and_the_others_counted() {
        let directory = tempfile::tempdir().unwrap();
        let files = RunFiles::open(directory.path().to_owned()).unwrap();
        let text = serde_json::to_string(&saved(0)).unwrap();
        for number in 0..MOST_LISTED + 3 {
            fs::write(directory.path().join(format!("{number:04}.json")), &text).unwrap();
        }
        let listing = files.list().unwrap();
        assert_eq!((listing.runs.len(), listing.older), (MOST_LISTED, 3));
        assert_eq!(listing.runs[0].id.as_str(), "1002");
    }

    #[test]
    fn only_plain_names_are_names() {
        for good in ["a", "2026-11-21T151303Z-cache-2", "A_9", &"a".repeat(80)] {
            assert_eq!(RunId::parse(good).unwrap().as_str(), good);
        }
        let long = "a".repeat(81);
        let bad = [
            "", ".", "..", "a.b", "a/b", "../a", "a\\b", "a\0", "ä", " a", &long,
        ];
        for bad in bad {
            assert_eq!(RunId::parse(bad), None, "{bad:?}");
        }
    }
}
