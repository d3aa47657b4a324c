//! `salver fsck`: whether a store is whole.

use clap::Args;
use salver_store::{Damaged, Fsck};
use serde::Serialize;

use super::store::{OwnStore, counted, own_store, print, print_json, remark, shown, with_progress};
use crate::failure::Failure;
use crate::size::size;

/// The files of a damaged blob that are named for people.
const SHOWN: usize = 20;

/// Read a whole store, and name what is damaged.
///
/// Each blob is compared with its hash; of a damaged one all releases and paths are named that it is of. Deploying the
/// site again writes anew what is damaged of it. Exits with 1 if anything is wrong.
#[derive(Args, Clone, Debug)]
pub struct FsckFlags {
    /// The directory of the store, or the URL of its bucket
    #[arg(value_name = "STORE", value_parser = own_store)]
    pub store: OwnStore,

    /// Print what was found as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// Say only what is wrong
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    release: &'a str,
    path: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
struct JsonDamaged<'a> {
    blob: String,
    damage: String,
    files: Vec<JsonFile<'a>>,
}

#[derive(Serialize)]
struct Json<'a> {
    releases: usize,
    blobs: usize,
    bytes: u64,
    unnamed: usize,
    faults: &'a [String],
    damaged: Vec<JsonDamaged<'a>>,
}

/// Checks.
///
/// # Errors
/// Something is damaged.
pub fn run(flags: &FsckFlags) -> Result<(), Failure> {
    let store = flags.store.open()?;
    let found = with_progress(flags.quiet || flags.json, |listener| store.fsck(listener))?;
    if flags.json {
        print_json(store.path(), json(&found))?;
    } else {
        print(&text(&found, flags.quiet))?;
        if found.unnamed > 0 {
            let unnamed = counted(found.unnamed, "file");
            let text = format!(
                "{unnamed} among the blobs that no release names: `salver prune` removes blobs"
            );
            remark(&text, flags.quiet);
        }
    }
    match found.is_sound() {
        true => Ok(()),
        false => Err(Failure::Failed(format!(
            "{:?}: {} damaged, {} with its own files: deploy the site again, or go to a release that is whole",
            store.path(),
            counted(found.damaged.len(), "blob"),
            counted(found.faults.len(), "fault")
        ))),
    }
}

fn json(found: &Fsck) -> Json<'_> {
    Json {
        releases: found.releases,
        blobs: found.blobs,
        bytes: found.bytes,
        unnamed: found.unnamed,
        faults: &found.faults,
        damaged: found.damaged.iter().map(json_damaged).collect(),
    }
}

fn json_damaged(damaged: &Damaged) -> JsonDamaged<'_> {
    let files = damaged.files.iter().map(|(id, path)| JsonFile {
        release: id.as_str(),
        path: String::from_utf8_lossy(path),
    });
    JsonDamaged {
        blob: damaged.blob.to_string(),
        damage: damaged.damage.to_string(),
        files: files.collect(),
    }
}

fn text(found: &Fsck, is_quiet: bool) -> String {
    let mut text: String = found
        .faults
        .iter()
        .map(|fault| format!("{fault}\n"))
        .collect();
    for damaged in &found.damaged {
        text.push_str(&format!("blob {}: {}\n", damaged.blob, damaged.damage));
        for (id, path) in damaged.files.iter().take(SHOWN) {
            text.push_str(&format!("  {id}: {}\n", shown(path)));
        }
        if let Some(more) = damaged
            .files
            .len()
            .checked_sub(SHOWN)
            .filter(|more| *more > 0)
        {
            text.push_str(&format!("  and {more} more, which --json has\n"));
        }
    }
    if found.is_sound() && !is_quiet {
        text.push_str(&format!(
            "{} whole: {}, {}\n",
            counted(found.releases, "release"),
            counted(found.blobs, "blob"),
            size(found.bytes)
        ));
    }
    text
}
