//! `salver prune`: old releases are removed.

use std::time::{Duration, SystemTime};

use clap::Args;
use salver_config::values::{time, whole};
use salver_store::{Pruned, Writer};
use serde::Serialize;

use super::store::{OwnStore, blob_count, counted, own_store, print, print_json, who};
use crate::failure::Failure;
use crate::reports::BlobCount;

/// Remove old releases of a store, and what only they have.
///
/// A release is removed if it is neither among the newest nor was current lately, when visitors may still have its pages
/// open. The current one never is; one that was never more than a preview is once that has expired. What an interrupted
/// deploy has left goes, too.
#[derive(Args, Clone, Debug)]
pub struct PruneFlags {
    /// The directory of the store, or the URL of its bucket
    #[arg(value_name = "STORE", value_parser = own_store)]
    pub store: OwnStore,

    /// The number of the newest releases that stay
    #[arg(long, value_name = "NUMBER", default_value = "5", value_parser = whole(0_usize, 1_000_000))]
    pub keep: usize,

    /// The time for which a release stays after another took its place
    #[arg(long = "for", value_name = "TIME", default_value = "7d", value_parser = time)]
    pub time: Duration,

    /// Print what was done as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    releases: Vec<&'a str>,
    previews: Vec<&'a str>,
    removed: BlobCount,
}

/// Prunes.
///
/// # Errors
/// What is wrong.
pub fn run(flags: &PruneFlags) -> Result<(), Failure> {
    let store = flags.store.open()?;
    let mut writer = Writer::lock(&store, "prune")?;
    let pruned = writer.prune(flags.keep, flags.time, &who(), SystemTime::now())?;
    if flags.json {
        let json = Json {
            releases: pruned.releases.iter().map(|id| id.as_str()).collect(),
            previews: pruned.previews.iter().map(|name| name.as_str()).collect(),
            removed: (pruned.blobs, pruned.bytes).into(),
        };
        return print_json(store.path(), json);
    }
    print(&text(&pruned))
}

fn text(pruned: &Pruned) -> String {
    let mut text = String::new();
    for id in &pruned.releases {
        text.push_str(&format!("removed {id}\n"));
    }
    for name in &pruned.previews {
        text.push_str(&format!("removed the preview {name}, which had expired\n"));
    }
    let freed = blob_count((pruned.blobs, pruned.bytes).into());
    let releases = counted(pruned.releases.len(), "release");
    text.push_str(&format!("{releases} removed, {freed}\n"));
    text
}
