//! `salver releases`: what a store holds.

use clap::Args;
use salver_store::{JournalEntry, Store, written_time};
use serde::Serialize;

use super::remote::{self, RemoteFlags, StorePlace, store_place};
use super::store::{counted, print, print_json, print_json_of};
use crate::failure::Failure;
use crate::reports::{PreviewEntry, ReleaseList};
use crate::size::size;

/// List the releases of a store, the newest last.
#[derive(Args, Clone, Debug)]
pub struct ReleasesFlags {
    /// The directory of the store, the URL of its bucket, or the server that has it, as for `salver deploy`
    #[arg(value_name = "STORE", value_parser = store_place)]
    pub store: StorePlace,

    /// List what was done instead: deploys, previews, rollbacks and prunes
    #[arg(long)]
    pub journal: bool,

    /// Print the list as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// How a server is asked.
    #[command(flatten)]
    pub remote: RemoteFlags,
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
    let (store, list) = match &flags.store {
        StorePlace::Server(target) if flags.journal => {
            return Err(Failure::Misused(format!(
                "{target}: --journal is for who is on the machine of the store"
            )));
        }
        StorePlace::Server(target) => {
            let list = remote::releases(target, &flags.remote)?;
            (target.to_string(), list)
        }
        StorePlace::Own(store) => {
            let store = store.open()?;
            if flags.journal {
                return print_journal(&store, flags.json);
            }
            let path = store.path().to_string_lossy().into_owned();
            (path, ReleaseList::of(&store)?)
        }
    };
    match flags.json {
        true => print_json_of(&store, &list),
        false => print(&text(&list)),
    }
}

fn print_journal(store: &Store, as_json: bool) -> Result<(), Failure> {
    let entries = store.journal()?;
    match as_json {
        true => {
            let journal = entries.iter().map(json_entry).collect();
            print_json(store.path(), JsonJournal { journal })
        }
        false => print(&journal(&entries)),
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

fn text(list: &ReleaseList) -> String {
    let releases = &list.releases;
    let head = ["", "release", "files", "size", "alone", "by"].map(str::to_owned);
    let mut rows = vec![head];
    rows.extend(releases.iter().map(|release| {
        [
            if release.current { "*" } else { "" }.to_owned(),
            release.id.clone(),
            release.files.to_string(),
            size(release.bytes),
            size(release.bytes_alone),
            release
                .by
                .as_deref()
                .map_or_else(|| "?".to_owned(), escaped),
        ]
    }));
    let mut text = table(&rows);
    text.push_str(&format!(
        "{}, {} together; * is current, alone is what removing one would free\n",
        counted(releases.len(), "release"),
        size(list.blob_bytes)
    ));
    text.extend(list.previews.iter().map(preview_line));
    text
}

fn preview_line(preview: &PreviewEntry) -> String {
    let PreviewEntry {
        name,
        release,
        expires,
        expired,
    } = preview;
    match expired {
        false => format!("preview {name}: {release} until {expires}\n"),
        true => {
            format!("preview {name}: {release}, expired at {expires}; `salver prune` removes it\n")
        }
    }
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
