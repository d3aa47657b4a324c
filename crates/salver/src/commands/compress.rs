//! `salver compress`: the siblings of a build, made once.

mod budget;
mod finding;
mod new_file;
mod original;
mod plan;
mod siblings;
mod summary;
#[cfg(test)]
mod tests;
mod tree;
mod watch;
mod workers;

use std::io::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel};

use clap::Args;
use salver_coding::{CompressibleTypes, ContentCoding, Effort, TypeRange};
use salver_config::values::{Coding, Codings, codings, size, whole};

use super::progress::Progress;
use crate::failure::Failure;
use crate::signal;

use finding::{Finding, Kind, shown};
use plan::Plan;
use summary::Summary;
use tree::{Tree, TreeFile};
use watch::{Known, Watch};
use workers::{Event, work};

/// Write siblings of files in Brotli, Zstandard and gzip, once for a build.
///
/// Beside app.js it writes app.js.br, app.js.zst and app.js.gz, each where it is shorter, with the times and rights of
/// the file. Siblings that decode to their file are left as they are, stale ones are made anew, nothing is removed. It
/// follows no links, and leaves alone what a server would not show.
#[derive(Args, Clone, Debug)]
pub struct CompressFlags {
    /// The directory of the built site
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// Write nothing: name what is missing, stale or useless, and exit with 1 if anything is
    #[arg(long, conflicts_with_all = ["watch", "anew"])]
    pub check: bool,

    /// Go on as files change, until Ctrl-C
    #[arg(long)]
    pub watch: bool,

    /// Make gzip by Zopfli: several times slower, a little shorter
    #[arg(long)]
    pub best: bool,

    /// Make siblings anew that are right, too
    #[arg(long)]
    pub anew: bool,

    /// The codings, of br, zstd and gzip
    #[arg(long, value_name = "CODINGS", default_value = "br,zstd,gzip", value_parser = codings)]
    pub codings: Codings,

    /// Compress files of these media types, too: application/x-example, image/*
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = type_range)]
    pub include_type: Vec<TypeRange>,

    /// Leave files of these media types alone
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = type_range)]
    pub exclude_type: Vec<TypeRange>,

    /// The longest file that is compressed; longer ones are named
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size)]
    pub longest: u64,

    /// The number of threads [default: one for each core]
    #[arg(long, value_name = "NUMBER", value_parser = whole(1_usize, 1024), hide_default_value = true)]
    pub threads: Option<usize>,

    /// Print the summary as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// Say only what is wrong
    #[arg(short, long)]
    pub quiet: bool,
}

fn type_range(text: &str) -> Result<TypeRange, String> {
    TypeRange::parse(text)
        .ok_or_else(|| "no media type: give text/html, text/* or */*, say".to_owned())
}

/// Compresses, or checks.
///
/// # Errors
/// There is no such directory, something failed, or a check found something.
pub fn run(flags: &CompressFlags) -> Result<(), Failure> {
    let plan = plan(flags)?;
    let is_ended = Arc::new(AtomicBool::new(false));
    // What wakes a watch: a signal, or a change.
    let (wake, woken) = sync_channel(1);
    let (by_signal, waker) = (Arc::clone(&is_ended), wake.clone());
    signal::listen(move || {
        by_signal.store(true, Ordering::Relaxed);
        let _ = waker.try_send(());
    })
    .map_err(|error| Failure::Failed(format!("signals cannot be heard: {error}")))?;
    let watch = match flags.watch {
        true => Some(Watch::start(&plan.root, wake)?),
        false => None,
    };
    let mut known = Known::default();
    let mut summary = round(flags, &plan, &is_ended, &mut known);
    report(flags, &plan, &summary)?;
    let Some(watch) = &watch else {
        return outcome(flags, &summary, is_ended.load(Ordering::Relaxed));
    };
    while watch.wait(&woken, &is_ended) {
        let before = summary.removed;
        summary = round(flags, &plan, &is_ended, &mut known);
        if summary.written() > 0 || summary.removed > 0 {
            report(flags, &plan, &summary)?;
        }
        summary.removed += before;
    }
    // What is there now, and what all rounds made of it.
    let mut all = Summary {
        removed: summary.removed,
        ..Summary::default()
    };
    for result in known.results() {
        all.add(result);
    }
    report(flags, &plan, &all)?;
    outcome(flags, &all, false)
}

/// The work, checked.
fn plan(flags: &CompressFlags) -> Result<Plan, Failure> {
    let directory = &flags.directory;
    let root = match directory.canonicalize() {
        Ok(root) if root.is_dir() => root,
        Ok(_) => {
            let text = format!("{directory:?} is no directory: give that of the built site");
            return Err(Failure::Misused(text));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let text =
                format!("{directory:?} does not exist: build the site first, or correct the path");
            return Err(Failure::Misused(text));
        }
        Err(error) => {
            return Err(Failure::Failed(format!(
                "{directory:?} cannot be read: {error}"
            )));
        }
    };
    let Codings(codings) = &flags.codings;
    if codings.is_empty() {
        let text = "no coding is left: give some of br,zstd,gzip by --codings";
        return Err(Failure::Misused(text.to_owned()));
    }
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    Ok(Plan {
        root,
        codings: codings.iter().copied().map(content_coding).collect(),
        effort: match flags.best {
            true => Effort::Extreme,
            false => Effort::Best,
        },
        types: CompressibleTypes::with(flags.include_type.clone(), flags.exclude_type.clone()),
        longest: flags.longest,
        only_checks: flags.check,
        anew: flags.anew,
        threads: flags.threads.unwrap_or(cores),
    })
}

fn content_coding(coding: Coding) -> ContentCoding {
    match coding {
        Coding::Brotli => ContentCoding::Brotli,
        Coding::Zstd => ContentCoding::Zstd,
        Coding::Gzip => ContentCoding::Gzip,
    }
}

/// Looks at all files that are not known to be done, and compresses them.
fn round(flags: &CompressFlags, plan: &Plan, is_ended: &AtomicBool, known: &mut Known) -> Summary {
    let tree = Tree::walk(&plan.root, &plan.types);
    let mut summary = Summary::default();
    let mut found = |path: &Path, kind: Kind, why: String| {
        let path = path.to_owned();
        summary.findings.push(Finding { path, kind, why });
    };
    for (path, error) in &tree.failures {
        found(path, Kind::Failed, format!("it cannot be read: {error}"));
    }
    let removed = known.remove_orphans(&plan.root, &tree);
    for path in tree.orphans.iter().filter(|path| !removed.contains(*path)) {
        found(
            path,
            Kind::Useless,
            "its file is gone: remove it".to_owned(),
        );
    }
    for path in &tree.leftovers {
        if plan.only_checks {
            let why = "a run was killed that wrote it: run again without --check";
            found(path, Kind::Useless, why.to_owned());
        } else if let Err(error) = new_file::remove_leftover(&plan.root.join(path)) {
            found(path, Kind::Failed, format!("it cannot be removed: {error}"));
        }
    }
    summary.removed = u64::try_from(removed.len()).unwrap_or(u64::MAX);
    let files: Vec<TreeFile> = known.changed(tree.files);
    let bytes = files.iter().map(|file| file.version.length()).sum();
    let progress = Progress::new(bytes, flags.quiet);
    // A check has them all in its report.
    let tell = |findings: &[Finding], known: &mut Known| {
        for line in findings.iter().map(line) {
            if !flags.check && known.is_news(&line) {
                progress.say(&line);
            }
        }
    };
    tell(&summary.findings, known);
    let (sender, events) = channel();
    std::thread::scope(|scope| {
        // When all threads have let go of it the events end.
        scope.spawn(move || work(plan, files, is_ended, &sender));
        for event in events {
            match event {
                Event::Part(bytes) => progress.add(bytes),
                Event::File(result, told) => {
                    progress.add(result.length.saturating_sub(told));
                    tell(&result.findings, known);
                    summary.add(result.clone());
                    known.done(&plan.root, result);
                }
            }
        }
    });
    progress.clear();
    summary
}

/// A finding as a line for people.
fn line(finding: &Finding) -> String {
    let Finding { path, kind, why } = finding;
    format!("{}: {}: {why}", kind.name(), shown(path))
}

/// Says what was found and done.
fn report(flags: &CompressFlags, plan: &Plan, summary: &Summary) -> Result<(), Failure> {
    let mut text = String::new();
    if flags.json {
        text = summary.json(&plan.root);
        text.push('\n');
    } else {
        if flags.check {
            for finding in &summary.findings {
                text.push_str(&line(finding));
                text.push('\n');
            }
        }
        if !flags.quiet {
            text.push_str(&summary.text());
        }
    }
    let mut out = std::io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::Failed(format!("standard output failed: {error}")))
}

/// How a run ends that does not watch.
fn outcome(flags: &CompressFlags, summary: &Summary, is_ended: bool) -> Result<(), Failure> {
    if is_ended {
        let text = "interrupted: what is written is right, and the next run does the rest";
        return Err(Failure::Failed(text.to_owned()));
    }
    let failed = summary.count(&[Kind::Failed]);
    if flags.check {
        let [missing, stale, useless] =
            [Kind::Missing, Kind::Stale, Kind::Useless].map(|kind| summary.count(&[kind]));
        return match missing + stale + useless + failed {
            0 => Ok(()),
            _ => Err(Failure::Failed(format!(
                "{missing} siblings are missing, {stale} stale, {useless} useless; {failed} files failed: \
                 `salver compress` makes the first two, remove the others"
            ))),
        };
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Failed(format!(
            "{failed} of them failed, as said above"
        ))),
    }
}
