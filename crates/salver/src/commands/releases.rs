//! `salver releases`: what a store holds.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use salver_store::{JournalEntry, Preview, Release, Store, written_time};
use serde::Serialize;

use super::store::{counted, print, print_json, store};
use crate::failure::Failure;
use crate::size::size;

/// List the releases of a store, the newest last.
#[derive(Args, Clone, Debug)]
pub struct ReleasesFlags {
    /// The directory of the store
    #[arg(value_name = "STORE", value_parser = store)]
    pub store: PathBuf,

    /// List what was done instead: deploys, previews, rollbacks and prunes
    #[arg(long)]
    pub journal: bool,

    /// Print the list as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonRelease<'a> {
    id: &'a str,
    current: bool,
    created: String,
    files: usize,
    bytes: u64,
    bytes_alone: u64,
    by: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonPreview<'a> {
    name: &'a str,
    release: &'a str,
    expires: String,
    expired: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonReleases<'a> {
    releases: Vec<JsonRelease<'a>>,
    previews: Vec<JsonPreview<'a>>,
    blob_bytes: u64,
}

#[derive(Serialize)]
struct JsonEntry<'a> {
    change: u64,
    time: String,
    action: &'static str,
    release: &'a str,
    previous: Option<&'a str>,
    by: &'a str,
}

#[derive(Serialize)]
struct JsonJournal<'a> {
    journal: Vec<JsonEntry<'a>>,
}

/// Lists.
///
/// # Errors
/// There is no store, or it is damaged.
pub fn run(flags: &ReleasesFlags) -> Result<(), Failure> {
    let store = Store::open(&flags.store)?;
    if flags.journal {
        let entries = store.journal()?;
        return match flags.json {
            true => {
                let journal = entries.iter().map(json_entry).collect();
                print_json(store.path(), JsonJournal { journal })
            }
            false => print(&journal(&entries)),
        };
    }
    let (releases, blob_bytes) = (store.releases()?, store.blob_bytes()?);
    let previews = store.previews()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = i64::try_from(now.unwrap_or_default().as_secs()).unwrap_or(i64::MAX);
    match flags.json {
        true => {
            let releases = releases.iter().map(json).collect();
            let previews = previews.iter().map(|preview| json_preview(preview, now));
            let all = JsonReleases {
                releases,
                previews: previews.collect(),
                blob_bytes,
            };
            print_json(store.path(), all)
        }
        false => {
            let previews = previews.iter().map(|preview| preview_line(preview, now));
            let all = text(&releases, blob_bytes) + &previews.collect::<String>();
            print(&all)
        }
    }
}

fn json_preview(preview: &Preview, now: i64) -> JsonPreview<'_> {
    JsonPreview {
        name: preview.name.as_str(),
        release: preview.release.as_str(),
        expires: written_time(preview.expires_unix_seconds),
        expired: preview.has_expired(now),
    }
}

fn preview_line(preview: &Preview, now: i64) -> String {
    let Preview { name, release, .. } = preview;
    let time = written_time(preview.expires_unix_seconds);
    match preview.has_expired(now) {
        false => format!("preview {name}: {release} until {time}\n"),
        true => {
            format!("preview {name}: {release}, expired at {time}; `salver prune` removes it\n")
        }
    }
}

fn json(release: &Release) -> JsonRelease<'_> {
    JsonRelease {
        id: release.id.as_str(),
        current: release.is_current,
        created: written_time(release.created_unix_seconds),
        files: release.files,
        bytes: release.bytes,
        bytes_alone: release.bytes_alone,
        by: release.who.as_deref(),
    }
}

fn json_entry(entry: &JournalEntry) -> JsonEntry<'_> {
    JsonEntry {
        change: entry.change,
        time: written_time(entry.unix_seconds),
        action: entry.action.name(),
        release: entry.release.as_str(),
        previous: entry.previous.as_ref().map(|id| id.as_str()),
        by: &entry.who,
    }
}

fn text(releases: &[Release], blob_bytes: u64) -> String {
    let head = ["", "release", "files", "size", "alone", "by"].map(str::to_owned);
    let mut rows = vec![head];
    rows.extend(releases.iter().map(|release| {
        [
            if release.is_current { "*" } else { "" }.to_owned(),
            release.id.to_string(),
            release.files.to_string(),
            size(release.bytes),
            size(release.bytes_alone),
            release
                .who
                .as_deref()
                .map_or_else(|| "?".to_owned(), escaped),
        ]
    }));
    let mut text = table(&rows);
    text.push_str(&format!(
        "{}, {} together; * is current, alone is what removing one would free\n",
        counted(releases.len(), "release"),
        size(blob_bytes)
    ));
    text
}

fn journal(entries: &[JournalEntry]) -> String {
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| {
            [
                written_time(entry.unix_seconds),
                entry.action.name().to_owned(),
                entry.release.to_string(),
                escaped(&entry.who),
            ]
        })
        .collect();
    table(&rows)
}

fn escaped(text: &str) -> String {
    text.escape_debug().to_string()
}

/// Rows with their columns beneath each other, two spaces between them.
fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths);
        let line: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_beneath_each_other() {
        let rows = [["a", "bcd"], ["abc", "d"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "a    bcd\nabc  d\n");
    }
}
