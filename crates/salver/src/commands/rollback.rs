//! `salver rollback`: a release that is there becomes the current one.

use std::time::SystemTime;

use clap::Args;
use salver_store::{Store, Writer};

use super::remote::{self, RemoteFlags, StorePlace, store_place};
use super::store::{print, print_json_of, who};
use crate::failure::Failure;
use crate::reports::RollbackReport;

/// Make an older release of a store the current one again, at once.
#[derive(Args, Clone, Debug)]
pub struct RollbackFlags {
    /// The directory of the store, the URL of its bucket, or the server that has it, as for `salver deploy`
    #[arg(value_name = "STORE", value_parser = store_place)]
    pub store: StorePlace,

    /// The release, a preview, or a part of the name of a release [default: the one before the current]
    #[arg(value_name = "ID")]
    pub id: Option<String>,

    /// Print what was done as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// How a server is asked.
    #[command(flatten)]
    pub remote: RemoteFlags,
}

/// Rolls back.
///
/// # Errors
/// What is wrong; the release that was current still is.
pub fn run(flags: &RollbackFlags) -> Result<(), Failure> {
    let (store, report) = match &flags.store {
        StorePlace::Own(store) => {
            let store = store.open()?;
            let report = roll_back(&store, flags.id.as_deref())?;
            (store.path().to_string_lossy().into_owned(), report)
        }
        StorePlace::Server(target) => {
            let id = flags.id.as_deref();
            let report = remote::rollback(target, &flags.remote, id, &who())?;
            (target.to_string(), report)
        }
    };
    if flags.json {
        return print_json_of(&store, &report);
    }
    let now = &report.release;
    match &report.previous {
        Some(previous) => print(&format!("{now} is current; before: {previous}\n")),
        None => print(&format!("{now} is current\n")),
    }
}

fn roll_back(store: &Store, id: Option<&str>) -> Result<RollbackReport, Failure> {
    let id = id.map(|id| store.find(id)).transpose()?;
    // What cannot be read is what somebody may want to put right.
    let previous = store.current().ok().flatten();
    let mut writer = Writer::lock(store, "rollback")?;
    let now = writer.rollback(id.as_ref(), &who(), SystemTime::now())?;
    Ok(RollbackReport {
        release: now.to_string(),
        previous: previous.map(|id| id.to_string()),
    })
}
