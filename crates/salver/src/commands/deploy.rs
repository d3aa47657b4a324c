//! `salver deploy`: a directory becomes a release, and that the current one.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use salver_assets::Symlinks;
use salver_config::values::limit;
use salver_store::{DeployOptions, Event, NewPreview, PreviewName, SiteFiles, Writer};

use super::remote::{self, Deploying, RemoteFlags, StorePlace, Target, store_place};
use super::store::{blob_count, counted, print, print_json_of, who, with_progress};
use crate::failure::Failure;
use crate::reports::{DeployReport, PreviewReport};
use crate::size::size;

/// Make a directory the current release of a store, at once.
///
/// What the store has already is not copied. Everything is read back before the switch, which is one rename, or one
/// conditional request: whatever ends this before, the old release stays current, whole. What a server would not show is left out.
#[derive(Args, Clone, Debug)]
pub struct DeployFlags {
    /// The directory of the built site
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// The directory of the store, which is made if there is none; the URL of a bucket, as s3://BUCKET/PREFIX, in builds with
    /// the feature object-store; or the admin listener of a server that takes deploys, and the site, if it has several:
    /// https://HOST:PORT/SITE, or unix:PATH#SITE
    #[arg(long, value_name = "STORE", value_parser = store_place)]
    pub to: StorePlace,

    /// Of a server or a bucket: take the place of whatever is current, also of what somebody else has deployed meanwhile
    #[arg(long)]
    pub force: bool,

    /// Let the release that is current stay, and show this one at NAME--HOST and /_release/NAME/ alone, as
    /// --release-addresses of `salver serve` says
    #[arg(long, value_name = "NAME", value_parser = preview_name)]
    pub preview: Option<PreviewName>,

    /// The time for which a preview is shown
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = limit, requires = "preview")]
    pub expires: Duration,

    /// Deploy names that begin with a dot, too; .well-known always is
    #[arg(long)]
    pub dotfiles: bool,

    /// Follow links that lead out of the directory, too; else those that stay beneath it are
    #[arg(long)]
    pub follow_all_links: bool,

    /// Before the switch, have the codings br, zstd and gzip made of what gets smaller and has none: once for each content,
    /// and kept in the store; a server makes them beside what it serves
    #[arg(long)]
    pub wait_compressed: bool,

    /// Print what was done as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// Say only what is wrong
    #[arg(short, long)]
    pub quiet: bool,

    /// How a server is asked.
    #[command(flatten)]
    pub remote: RemoteFlags,
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
        coding_threads: flags
            .wait_compressed
            .then(|| std::thread::available_parallelism().map_or(1, usize::from)),
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
    let preview = flags.preview.clone().map(|name| NewPreview {
        name,
        expires_after: flags.expires,
    });
    let is_quiet = flags.quiet || flags.json;
    let (store, report) = match &flags.to {
        StorePlace::Own(store) => {
            let store = store.open_or_create()?;
            let deployed = with_progress(is_quiet, |listener| {
                let mut writer = Writer::lock(&store, "deploy")?;
                if flags.force {
                    writer = writer.forcing();
                }
                match &preview {
                    Some(preview) => {
                        writer.deploy_preview(&flags.directory, preview, &options, listener)
                    }
                    None => writer.deploy(&flags.directory, &options, listener),
                }
            })?;
            let path = store.path().to_string_lossy().into_owned();
            (path, DeployReport::from(&deployed))
        }
        StorePlace::Server(target) => {
            let report = with_progress(is_quiet, |listener| {
                to_server(target, flags, preview.as_ref(), &options, listener)
            })?;
            (target.to_string(), report)
        }
    };
    if flags.json {
        return print_json_of(&store, &report);
    }
    match flags.quiet {
        true => Ok(()),
        false => print(&text(&report)),
    }
}

/// The name of a preview.
///
/// # Errors
/// It cannot be the beginning of a host.
fn preview_name(text: &str) -> Result<PreviewName, String> {
    PreviewName::parse(text).ok_or_else(|| {
        "it begins a host: give letters in lower case, digits and single hyphens, 32 at most"
            .to_owned()
    })
}

/// Deploys to a running server.
fn to_server(
    target: &Target,
    flags: &DeployFlags,
    preview: Option<&NewPreview>,
    options: &DeployOptions,
    listener: &mut dyn FnMut(Event<'_>) -> bool,
) -> Result<DeployReport, Failure> {
    let files = SiteFiles::read(&flags.directory, options, listener)?;
    let deploying = Deploying {
        files: &files,
        by: &options.who,
        preview,
        force: flags.force,
        waits_for_codings: flags.wait_compressed,
    };
    remote::deploy(target, &flags.remote, &deploying, listener)
}

fn text(report: &DeployReport) -> String {
    let DeployReport { release, .. } = report;
    let (files, size) = (counted(report.files, "file"), size(report.bytes));
    let mut text = match (&report.preview, report.unchanged) {
        (Some(PreviewReport { name, expires }), _) => {
            format!("{release} is the preview {name} until {expires}: {files}, {size}\n")
        }
        (None, true) => format!("{release} stays current: nothing has changed\n"),
        (None, false) => format!("{release} is current: {files}, {size}\n"),
    };
    let (sent, kept) = (blob_count(report.sent), blob_count(report.kept));
    text.push_str(&format!("sent {sent}; the store had {kept}\n"));
    if report.repaired > 0 {
        let repaired = counted(report.repaired, "blob");
        text.push_str(&format!("{repaired} of those sent replaced damaged ones\n"));
    }
    let is_switched = !report.unchanged && report.preview.is_none();
    if let Some(previous) = report.previous.as_ref().filter(|_| is_switched) {
        text.push_str(&format!(
            "before: {previous}; `salver rollback` goes back\n"
        ));
    }
    if !report.addresses.is_empty() {
        let addresses = report.addresses.join(" and ");
        text.push_str(&format!("shown at {addresses}\n"));
    } else if let Some(PreviewReport { name, .. }) = &report.preview {
        text.push_str(&format!(
            "shown at {name}--HOST and /_release/{name}/, as `salver serve --release-addresses` says\n"
        ));
    }
    text
}
