//! How long old bytes are served after a file was replaced by others of the same length.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::answer::expected::Bytes;
use crate::error::BenchError;
use crate::protocol::probe_client::ProbeClient;
use crate::requests::workload::{Page, Workload};

/// After the first new bytes, old ones are looked for this much longer: a server of several
/// processes may have several caches.
const AFTERWARDS: Duration = Duration::from_millis(1500);

/// What is probed.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// What is asked for; each of its files is replaced once, and put back.
    pub workload: &'a Workload,
    /// At most so many of its files.
    pub files: usize,
    /// Old bytes are waited for no longer than this.
    pub limit: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
}

/// How long old bytes of one file were served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Staleness {
    /// The request target.
    pub target: String,
    /// The content coding that was asked for: `identity` or `br`.
    pub coding: String,
    /// From the moment at which the file was replaced to the last moment at which old bytes were
    /// *asked for and served*, in milliseconds; 0 if none were.
    pub stale_ms: f64,
    /// Old bytes were still served at the limit.
    pub still_stale: bool,
    /// Answers that were neither the old nor the new bytes: torn, or of another status.
    pub torn: u64,
    /// Answers in all.
    pub asked: u64,
}

/// Replaces files one by one and watches what is served; `watch` is told each finding.
///
/// # Errors
/// A file cannot be replaced, the server cannot be asked, or does not serve the files as they are
/// before anything is replaced. The files are put back in any case, with their times and owners, and links as
/// links: each stays beside its place meanwhile, under a name that begins with `.salver-`.
pub fn probe(
    probe: &Probe<'_>,
    watch: &mut dyn FnMut(&Staleness) -> std::ops::ControlFlow<()>,
) -> Result<Vec<Staleness>, BenchError> {
    let mut found = Vec::new();
    let pages = probe.workload.pages.iter();
    let with_files = pages.filter_map(|page| Some((page, page.file.as_deref()?)));
    'files: for (page, path) in with_files.take(probe.files) {
        for coding in ["identity", "br"] {
            let failed = |error: io::Error| {
                BenchError::Failed(format!("{} cannot be replaced: {error}", path.display()))
            };
            if coding == "br" && !sibling(path, ".br").is_file() {
                continue;
            }
            let old = fs::read(path).map_err(failed)?;
            let new: Vec<u8> = old.iter().rev().map(|byte| byte ^ 1).collect();
            let mut replaced = Replaced::default();
            let one = one(probe, page, coding, path, (&old, &new), &mut replaced);
            replaced.put_back().map_err(failed)?;
            let one = one?;
            let stop = watch(&one).is_break();
            found.push(one);
            if stop {
                break 'files;
            }
        }
    }
    Ok(found)
}

fn one(
    probe: &Probe<'_>,
    page: &Page,
    coding: &str,
    path: &Path,
    (old, new): (&[u8], &[u8]),
    replaced: &mut Replaced,
) -> Result<Staleness, BenchError> {
    let accept = if coding == "identity" { "" } else { coding };
    let request = probe
        .workload
        .request(page, accept, "Connection: close\r\n");
    let mut found = Staleness {
        target: page.form.clone(),
        coding: coding.to_owned(),
        ..Staleness::default()
    };
    let (old, new_bytes) = (Bytes::of(old), Bytes::of(new));
    let dialer = probe.workload.dialer()?;
    let ask = || {
        // A new connection each time, so that each process of the server has its turn.
        let mut client = ProbeClient::new(dialer.clone(), probe.timeout);
        let answer = client.call(&request)?;
        let content = answer.coding.decode(&answer.content, old.length).ok();
        let content = content.filter(|_| answer.status == 200);
        Ok::<_, BenchError>(content.map(|content| Bytes::of(&content)))
    };
    // The file as it was put back last: what is replaced must be what is served.
    let began = Instant::now();
    while ask()? != Some(old) {
        if began.elapsed() > probe.limit {
            return Err(BenchError::Failed(format!(
                "{} is not served as {} has it: name the directory that is served",
                page.form,
                path.display()
            )));
        }
    }
    replaced.replace(path, new).map_err(|error| {
        BenchError::Failed(format!("{} cannot be replaced: {error}", path.display()))
    })?;
    let at = Instant::now();
    let mut fresh_since = None;
    loop {
        let asked_at = at.elapsed();
        let served = ask()?;
        found.asked += 1;
        if served == Some(old) {
            found.stale_ms = asked_at.as_secs_f64() * 1e3;
            fresh_since = None;
            if asked_at >= probe.limit {
                found.still_stale = true;
                return Ok(found);
            }
            continue;
        }
        if served != Some(new_bytes) {
            found.torn += 1;
        }
        let since = *fresh_since.get_or_insert(asked_at);
        if asked_at - since >= AFTERWARDS {
            return Ok(found);
        }
    }
}

/// Files that were replaced, and the originals beside them: put back when this is dropped.
#[derive(Default)]
struct Replaced(Vec<(PathBuf, NamedTempFile<()>)>);

impl Replaced {
    /// Replaces a file and the siblings that it has, each by renaming; the file itself last.
    fn replace(&mut self, path: &Path, new: &[u8]) -> io::Result<()> {
        let (br, gz) = (sibling(path, ".br"), sibling(path, ".gz"));
        if br.is_file() {
            let mut coded = Vec::new();
            brotli::BrotliCompress(&mut &*new, &mut coded, &BrotliEncoderParams::default())?;
            self.swap(&br, &coded)?;
        }
        if gz.is_file() {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(new)?;
            self.swap(&gz, &encoder.finish()?)?;
        }
        self.swap(path, new)
    }

    fn swap(&mut self, path: &Path, new: &[u8]) -> io::Result<()> {
        let directory = path.parent().ok_or(io::ErrorKind::NotFound)?;
        // A second name for what is there, be it a file or a link: putting it back changes nothing of it.
        let original = tempfile::Builder::new()
            .prefix(".salver-")
            .make_in(directory, |beside| fs::hard_link(path, beside))?;
        let mut temporary = NamedTempFile::new_in(directory)?;
        temporary.write_all(new)?;
        let permissions = fs::metadata(path)?.permissions();
        temporary.as_file().set_permissions(permissions)?;
        temporary.persist(path).map_err(|error| error.error)?;
        self.0.push((path.to_owned(), original));
        Ok(())
    }

    fn put_back(&mut self) -> io::Result<()> {
        while let Some((path, original)) = self.0.pop() {
            if let Err(failed) = original.persist(&path) {
                // What could not be put back must not go with its second name.
                self.0.push((path, failed.file));
                return Err(failed.error);
            }
        }
        Ok(())
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        // Who put them back has been told of errors; what is left keeps its second name.
        if self.put_back().is_err() {
            for (_, original) in self.0.drain(..) {
                let _ = original.keep();
            }
        }
    }
}

/// Beside `path`, with this at the end of its name.
fn sibling(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(extension);
    name.into()
}
