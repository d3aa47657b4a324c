//! `salver rollback`: a release that is there becomes the current one.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use salver_store::{Store, Writer};
use serde::Serialize;

use super::store::{print, print_json, store, who};
use crate::failure::Failure;

/// Make an older release of a store the current one again, at once.
#[derive(Args, Clone, Debug)]
pub struct RollbackFlags {
    /// The directory of the store
    #[arg(value_name = "STORE", value_parser = store)]
    pub store: PathBuf,

    /// The release, a preview, or a part of the name of a release [default: the one before the current]
    #[arg(value_name = "ID")]
    pub id: Option<String>,

    /// Print what was done as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    release: &'a str,
    previous: Option<&'a str>,
}

/// Rolls back.
///
/// # Errors
/// What is wrong; the release that was current still is.
pub fn run(flags: &RollbackFlags) -> Result<(), Failure> {
    let store = Store::open(&flags.store)?;
    let id = flags.id.as_deref().map(|id| store.find(id)).transpose()?;
    // What cannot be read is what somebody may want to put right.
    let previous = store.current().ok().flatten();
    let mut writer = Writer::lock(&store, "rollback")?;
    let now = writer.rollback(id.as_ref(), &who(), SystemTime::now())?;
    let previous = previous.as_ref().map(|id| id.as_str());
    if flags.json {
        let release = now.as_str();
        return print_json(store.path(), Json { release, previous });
    }
    match previous {
        Some(previous) => print(&format!("{now} is current; before: {previous}\n")),
        None => print(&format!("{now} is current\n")),
    }
}
