//! `salver deploy`: a directory becomes a release, and that the current one.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use salver_assets::Symlinks;
use salver_config::values::limit;
use salver_store::{DeployOptions, Deployed, NewPreview, PreviewName, Store, Writer, written_time};
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

    /// Print what was done as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// Say only what is wrong
    #[arg(short, long)]
    pub quiet: bool,
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

#[derive(Serialize)]
struct JsonPreview<'a> {
    name: &'a str,
    expires: String,
}

#[derive(Serialize)]
struct Json<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<JsonPreview<'a>>,
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
    let preview = flags.preview.clone().map(|name| NewPreview {
        name,
        expires_after: flags.expires,
    });
    let store = Store::open_or_create(&flags.to)?;
    let is_quiet = flags.quiet || flags.json;
    let deployed = with_progress(is_quiet, |listener| {
        let mut writer = Writer::lock(&store, "deploy")?;
        match &preview {
            Some(preview) => writer.deploy_preview(&flags.directory, preview, &options, listener),
            None => writer.deploy(&flags.directory, &options, listener),
        }
    })?;
    let preview = preview.map(|preview| preview.name);
    let preview = preview.as_ref().zip(deployed.expires_unix_seconds);
    if flags.json {
        return print_json(store.path(), json(&deployed, preview));
    }
    match flags.quiet {
        true => Ok(()),
        false => print(&text(&deployed, preview)),
    }
}

/// A preview by its name, and when it expires.
type ShownPreview<'a> = Option<(&'a PreviewName, i64)>;

fn json<'a>(deployed: &'a Deployed, preview: ShownPreview<'a>) -> Json<'a> {
    Json {
        preview: preview.map(|(name, expires)| JsonPreview {
            name: name.as_str(),
            expires: written_time(expires),
        }),
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

fn text(deployed: &Deployed, preview: ShownPreview<'_>) -> String {
    let files = counted(deployed.files, "file");
    let size = size(deployed.bytes);
    let mut text = match (preview, deployed.is_unchanged) {
        (Some((name, expires)), _) => format!(
            "{} is the preview {name} until {}: {files}, {size}\n",
            deployed.id,
            written_time(expires)
        ),
        (None, true) => format!("{} stays current: nothing has changed\n", deployed.id),
        (None, false) => format!("{} is current: {files}, {size}\n", deployed.id),
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
        .filter(|_| !deployed.is_unchanged && preview.is_none())
    {
        text.push_str(&format!(
            "before: {previous}; `salver rollback` goes back\n"
        ));
    }
    if let Some((name, _)) = preview {
        text.push_str(&format!(
            "shown at {name}--HOST and /_release/{name}/, as `salver serve --release-addresses` says\n"
        ));
    }
    text
}
