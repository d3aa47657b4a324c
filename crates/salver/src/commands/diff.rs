//! `salver diff`: what differs between two releases.

use clap::Args;
use salver_store::Change;
use serde::Serialize;

use super::store::{OwnStore, counted, own_store, print, print_json, shown};
use crate::failure::Failure;
use crate::size::size;

/// Say what differs between two releases of a store.
#[derive(Args, Clone, Debug)]
pub struct DiffFlags {
    /// The directory of the store, or the URL of its bucket
    #[arg(value_name = "STORE", value_parser = own_store)]
    pub store: OwnStore,

    /// A release, a preview, or a part of the name of a release
    #[arg(value_name = "A")]
    pub before: String,

    /// The release that it is compared with
    #[arg(value_name = "B")]
    pub after: String,

    /// Print what differs as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct JsonChange<'a> {
    path: std::borrow::Cow<'a, str>,
    change: &'static str,
    before: Option<u64>,
    after: Option<u64>,
}

#[derive(Serialize)]
struct Json<'a> {
    before: &'a str,
    after: &'a str,
    changes: Vec<JsonChange<'a>>,
}

/// Compares.
///
/// # Errors
/// One of them is not there, or damaged.
pub fn run(flags: &DiffFlags) -> Result<(), Failure> {
    let store = flags.store.open()?;
    let (before, after) = (store.find(&flags.before)?, store.find(&flags.after)?);
    let diff = store.diff(&before, &after)?;
    if flags.json {
        let changes = diff.changes.iter().map(json).collect();
        let (before, after) = (before.as_str(), after.as_str());
        return print_json(
            store.path(),
            Json {
                before,
                after,
                changes,
            },
        );
    }
    let mut text: String = diff.changes.iter().map(line).collect();
    let differences = counted(diff.changes.len(), "difference");
    text.push_str(&format!("{differences} between {before} and {after}\n"));
    print(&text)
}

fn json(change: &Change) -> JsonChange<'_> {
    JsonChange {
        path: String::from_utf8_lossy(&change.path),
        change: change.name(),
        before: change.before,
        after: change.after,
    }
}

fn line(change: &Change) -> String {
    let sizes = match (change.before, change.after) {
        (Some(before), Some(after)) => format!("{} to {}", size(before), size(after)),
        (one, other) => size(one.or(other).unwrap_or(0)),
    };
    format!("{:8} {} ({sizes})\n", change.name(), shown(&change.path))
}
