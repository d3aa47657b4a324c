//! One file: which of its siblings are right, and how others are made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use salver_coding::{
    Compressibility, ContentCoding, Effort, EncodeError, SHORT, decodes_to, encode, is_worth_it,
    looks_compressed,
};

use super::budget::{Budget, Share};
use super::finding::{FileResult, Finding, Kind, Sibling};
use super::new_file;
use super::original::{self, Version};
use super::plan::Plan;
use super::tree::TreeFile;

/// A file whose siblings are made.
#[derive(Debug)]
pub(super) struct Original<'a> {
    bytes: Vec<u8>,
    metadata: fs::Metadata,
    result: Mutex<FileResult>,
    #[expect(dead_code, reason = "given back when the content is dropped")]
    share: Share<'a>,
}

/// What is to be done about a file.
#[derive(Debug)]
pub(super) enum Inspected<'a> {
    /// Nothing more.
    Done(FileResult),
    /// Siblings are to be made in these codings.
    Wanted(Box<Original<'a>>, Vec<ContentCoding>),
}

/// The path of a sibling.
pub(super) fn sibling_path(path: &Path, coding: ContentCoding) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(coding.extension().unwrap_or_default());
    name.into()
}

/// Looks at a file and its siblings, and makes none.
pub(super) fn inspect<'a>(plan: &Plan, file: &TreeFile, budget: &'a Budget) -> Inspected<'a> {
    let mut result = FileResult {
        path: file.path.clone(),
        length: file.version.length(),
        version: file.version,
        siblings: Vec::new(),
        findings: Vec::new(),
    };
    let name = file.path.as_os_str().as_encoded_bytes();
    let by_type = plan.types.of_file(name);
    let there = Existing::of(plan, &file.path, &mut result.findings);
    if result.length == 0 || (by_type == Compressibility::No && there.is_empty()) {
        return Inspected::Done(result);
    }
    if result.length > plan.longest {
        let why = format!(
            "it has {} bytes, more than --longest: nothing is made of it",
            result.length
        );
        result.found(file.path.clone(), Kind::Skipped, why);
        return Inspected::Done(result);
    }
    let share = budget.for_content(result.length);
    let path = plan.root.join(&file.path);
    let read = original::open(&path).and_then(|(mut file, metadata)| {
        let bytes = original::read(&path, &mut file, &metadata)?;
        Ok((bytes, metadata))
    });
    let (bytes, metadata) = match read {
        Ok(read) => read,
        // It was removed since the walk.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Inspected::Done(result),
        Err(error) => {
            let why = format!("it cannot be read: {}", said(&error));
            result.found(file.path.clone(), Kind::Failed, why);
            return Inspected::Done(result);
        }
    };
    result.length = length(&bytes);
    result.version = Version::of(&metadata);
    let is_compressible = match by_type {
        Compressibility::Yes => true,
        Compressibility::No => false,
        Compressibility::Unknown => !looks_compressed(&bytes),
    };
    let mut wanted = Vec::new();
    for coding in plan.codings.iter().copied() {
        if there.in_the_way.contains(&coding) {
            continue;
        }
        let exists = there.files.contains(&coding);
        let state = match exists {
            true => state(plan, &file.path, coding, &bytes),
            false => State::Missing,
        };
        if let State::Right(length) = state
            && !plan.anew
        {
            let is_new = false;
            result.siblings.push(Sibling {
                coding,
                length,
                is_new,
            });
            continue;
        }
        let is_wanted = is_compressible && is_promising(plan, &bytes, coding);
        if is_wanted && !plan.only_checks {
            wanted.push(coding);
            continue;
        }
        let finding = state.finding(is_wanted);
        if let Some((kind, why)) = finding {
            result.found(sibling_path(&file.path, coding), kind, why.to_owned());
        }
    }
    if wanted.is_empty() {
        return Inspected::Done(result);
    }
    let original = Original {
        bytes,
        metadata,
        result: Mutex::new(result),
        share,
    };
    Inspected::Wanted(Box::new(original), wanted)
}

/// Makes a sibling, if it is worth it.
pub(super) fn make(
    plan: &Plan,
    original: &Original<'_>,
    coding: ContentCoding,
    is_wanted: &dyn Fn() -> bool,
) {
    let (path, has_failed) = {
        let result = original.result();
        let failed = |finding: &Finding| finding.kind == Kind::Failed;
        (result.path.clone(), result.findings.iter().any(failed))
    };
    // What holds for one sibling holds for the others: it is said once.
    if has_failed || !is_wanted() {
        return;
    }
    let sibling = sibling_path(&path, coding);
    let made = encode(&original.bytes, coding, plan.effort, is_wanted);
    let coded = match made {
        Ok(coded) => coded,
        Err(EncodeError::Cancelled) => return,
        Err(EncodeError::Failed(error)) => {
            let why = format!("it cannot be made: {}", said(&error));
            return original.failed(sibling, why);
        }
    };
    if !is_worth_it(original.bytes.len(), coded.len()) {
        return match state(plan, &path, coding, &original.bytes) {
            State::Right(length) => original.has(coding, length, false),
            state => {
                if let Some((kind, why)) = state.finding(false) {
                    original.result().found(sibling, kind, why.to_owned());
                }
            }
        };
    }
    if !decodes_to(&mut &*coded, coding, &original.bytes) {
        let why = "it would not decode to its file: leave this coding out by --codings";
        return original.failed(sibling, why.to_owned());
    }
    let version = Version::of(&original.metadata);
    let is_same = || version.is_at(&plan.root.join(&path));
    let at = plan.root.join(&sibling);
    match new_file::write(&at, &coded, &original.metadata, is_same) {
        Ok(true) => original.has(coding, length(&coded), true),
        Ok(false) => original.failed(path, said(&original::changed())),
        Err(error) => original.failed(sibling, format!("it cannot be written: {}", said(&error))),
    }
}

impl Original<'_> {
    /// The memory that making a coding of it takes.
    pub(super) fn peak_memory(&self, coding: ContentCoding, effort: Effort) -> u64 {
        salver_coding::peak_memory(coding, effort, self.bytes.len())
    }

    pub(super) fn length(&self) -> u64 {
        length(&self.bytes)
    }

    /// What has become of it.
    pub(super) fn into_result(self) -> FileResult {
        let mut result = self
            .result
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        result.siblings.sort_by_key(|sibling| sibling.coding);
        result
    }

    fn result(&self) -> MutexGuard<'_, FileResult> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, coding: ContentCoding, length: u64, is_new: bool) {
        self.result().siblings.push(Sibling {
            coding,
            length,
            is_new,
        });
    }

    /// Says once that something failed.
    fn failed(&self, path: PathBuf, why: String) {
        let mut result = self.result();
        if !result
            .findings
            .iter()
            .any(|known| known.kind == Kind::Failed)
        {
            result.found(path, Kind::Failed, why);
        }
    }
}

impl FileResult {
    fn found(&mut self, path: PathBuf, kind: Kind, why: String) {
        self.findings.push(Finding { path, kind, why });
    }
}

/// The siblings that are there, by their names alone.
struct Existing {
    files: Vec<ContentCoding>,
    in_the_way: Vec<ContentCoding>,
}

impl Existing {
    fn of(plan: &Plan, path: &Path, findings: &mut Vec<Finding>) -> Existing {
        let (mut files, mut in_the_way) = (Vec::new(), Vec::new());
        for coding in plan.codings.iter().copied() {
            let sibling = sibling_path(path, coding);
            match fs::symlink_metadata(plan.root.join(&sibling)) {
                Ok(metadata) if metadata.is_file() => files.push(coding),
                Ok(_) => {
                    in_the_way.push(coding);
                    findings.push(Finding {
                        path: sibling,
                        kind: Kind::Skipped,
                        why: "it is a link, or no file: it is left alone".to_owned(),
                    });
                }
                Err(_) => {}
            }
        }
        Existing { files, in_the_way }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.in_the_way.is_empty()
    }
}

/// The state of a sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Missing,
    /// It decodes to the file and has so many bytes, less than that.
    Right(u64),
    /// It decodes to the file, and is as long or longer.
    Long,
    Stale,
}

impl State {
    /// What is wrong with a sibling in this state, if a run would make one, or not.
    fn finding(self, is_wanted: bool) -> Option<(Kind, &'static str)> {
        match (self, is_wanted) {
            (State::Missing, true) => Some((Kind::Missing, "it would save bytes")),
            (State::Missing, false) | (State::Right(_), _) => None,
            (State::Long, _) => Some((Kind::Useless, "it is not shorter than its file")),
            (State::Stale, true) => Some((Kind::Stale, "it does not decode to its file")),
            (State::Stale, false) => Some((
                Kind::Stale,
                "it does not decode to its file, of which no coding is worth it: remove it",
            )),
        }
    }
}

/// The state of the sibling at a path beneath the directory.
fn state(plan: &Plan, path: &Path, coding: ContentCoding, bytes: &[u8]) -> State {
    let sibling = plan.root.join(sibling_path(path, coding));
    let (mut file, metadata) = match original::open(&sibling) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return State::Missing,
        // Whoever may not read it cannot say that it is right.
        Err(_) => return State::Stale,
    };
    match decodes_to(&mut file, coding, bytes) {
        true if metadata.len() < length(bytes) => State::Right(metadata.len()),
        true => State::Long,
        false => State::Stale,
    }
}

/// True if it is worth trying a coding at the best effort; a check wants to know if that is worth it.
fn is_promising(plan: &Plan, bytes: &[u8], coding: ContentCoding) -> bool {
    if bytes.len() > SHORT || !plan.only_checks {
        return salver_coding::is_promising(bytes, coding);
    }
    let coded = encode(bytes, coding, Effort::Best, &|| true);
    coded.is_ok_and(|coded| is_worth_it(bytes.len(), coded.len()))
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// An error in one line.
fn said(error: &io::Error) -> String {
    error.to_string().escape_debug().to_string()
}
