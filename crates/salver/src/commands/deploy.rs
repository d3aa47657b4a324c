//! `salver deploy`: a directory becomes a release, and that the current one.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use salver_assets::Symlinks;
use salver_store::{DeployOptions, Deployed, Store, Writer};
use serde::Serialize;

use super::store::{BlobCount, counted, print, print_json, store, who, with_progress};
use crate::failure::Failure;
use crate::size::size;

/// Make a directory the current release of a store, at once.
///
/// What the store has already is not copied. Everything is read back before the switch, which is one rename: whatever ends
/// this before, the old release stays current, whole. What a server would not show is left out.
#[derive(Args, Clone, Debug)]
pub struct DeployFlags {
    /// The directory of the built site
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// The directory of the store, which is made if there is none
    #[arg(long, value_name = "STORE", value_parser = store)]
    pub to: PathBuf,

    /// Deploy names that begin with a dot, too; .well-known always is
    #[arg(long)]
    pub dotfiles: bool,

    /// Follow links that lead out of the directory, too; else those that stay beneath it are
    #[arg(long)]
    pub follow_all_links: bool,

    /// Print what was done as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// Say only what is wrong
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    release: &'a str,
    previous: Option<&'a str>,
    unchanged: bool,
    files: usize,
    bytes: u64,
    sent: BlobCount,
    kept: BlobCount,
    repaired: usize,
}

/// Deploys.
///
/// # Errors
/// What is wrong; the release that was current still is.
pub fn run(flags: &DeployFlags) -> Result<(), Failure> {
    let options = DeployOptions {
        symlinks: match flags.follow_all_links {
            true => Symlinks::Any,
            false => Symlinks::Beneath,
        },
        dotfiles: flags.dotfiles,
        who: who(),
        now: SystemTime::now(),
    };
    if !flags.directory.is_dir() {
        // Before a store is made for it.
        return Err(Failure::Misused(format!(
            "{:?} is no directory: build the site first, or correct the path",
            flags.directory
        )));
    }
    let store = Store::open_or_create(&flags.to)?;
    let is_quiet = flags.quiet || flags.json;
    let deployed = with_progress(is_quiet, |listener| {
        let mut writer = Writer::lock(&store, "deploy")?;
        writer.deploy(&flags.directory, &options, listener)
    })?;
    if flags.json {
        return print_json(store.path(), json(&deployed));
    }
    match flags.quiet {
        true => Ok(()),
        false => print(&text(&deployed)),
    }
}

fn json(deployed: &Deployed) -> Json<'_> {
    Json {
        release: deployed.id.as_str(),
        previous: deployed.previous.as_ref().map(|id| id.as_str()),
        unchanged: deployed.is_unchanged,
        files: deployed.files,
        bytes: deployed.bytes,
        sent: deployed.sent.into(),
        kept: deployed.kept.into(),
        repaired: deployed.repaired,
    }
}

fn text(deployed: &Deployed) -> String {
    let files = counted(deployed.files, "file");
    let mut text = match deployed.is_unchanged {
        true => format!("{} stays current: nothing has changed\n", deployed.id),
        false => format!(
            "{} is current: {files}, {}\n",
            deployed.id,
            size(deployed.bytes)
        ),
    };
    let sent = BlobCount::from(deployed.sent).text();
    let kept = BlobCount::from(deployed.kept).text();
    text.push_str(&format!("sent {sent}; the store had {kept}\n"));
    if deployed.repaired > 0 {
        let repaired = counted(deployed.repaired, "blob");
        text.push_str(&format!("{repaired} of those sent replaced damaged ones\n"));
    }
    if let Some(previous) = deployed
        .previous
        .as_ref()
        .filter(|_| !deployed.is_unchanged)
    {
        text.push_str(&format!(
            "before: {previous}; `salver rollback` goes back\n"
        ));
    }
    text
}
