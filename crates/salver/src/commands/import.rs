//! `salver import`: what a site has for another host, as `salver.toml`.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use salver_assets::rules::limits::LARGEST_FILE;
use salver_assets::rules::{ImportFormat, Imported, import};

use crate::failure::Failure;
use crate::log::say;

/// Turn what a site has for another host into salver.toml.
///
/// Takes serve.json, vercel.json, firebase.json and staticwebapp.config.json, and names by line what it could not take.
/// _headers and _redirects need no import: `salver serve` reads them where they are.
#[derive(Args, Clone, Debug)]
pub struct ImportFlags {
    /// The file, by the name that its host wants
    pub file: PathBuf,

    /// The file to write, which must not be there yet; standard output without it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Imports a file, and says each part that was not taken in a line of its own.
///
/// # Errors
/// The file is none that can be imported, or the result cannot be written.
pub fn run(flags: &ImportFlags) -> Result<(), Failure> {
    let path = &flags.file;
    let format = format(path)?;
    let mut imported = import(&read(path)?, format)
        .map_err(|fault| Failure::Misused(format!("{path:?}: {}; {}", fault.what, fault.hint)))?;
    imported.root = Some(root(
        imported.root.as_deref().unwrap_or("."),
        path,
        flags.output.as_deref(),
    ));
    let listing = imported
        .listing
        .filter(|is_listed| !has_listing() && *is_listed);
    if !has_listing() {
        imported.listing = None;
    }
    let text = rendered(&imported, path)?;
    match &flags.output {
        Some(output) => write(output, &text)?,
        None => io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| Failure::Failed(format!("standard output failed: {error}")))?,
    }
    let file = path.to_string_lossy();
    let file = file.escape_debug();
    for fault in &imported.faults {
        let kind = if fault.taken { "note" } else { "not taken" };
        say(&format!("{kind}: {file}: {fault}"));
    }
    if listing.is_some() {
        say(&format!(
            "not taken: {file}: folders are listed there, and not here"
        ));
    }
    Ok(())
}

/// The format of a file, by its name.
fn format(path: &Path) -> Result<ImportFormat, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let "_headers" | "_redirects" = &*name {
        return Err(Failure::Misused(format!(
            "{path:?} needs no import: `salver serve` reads it in the root of the site (--compat says whose it is)"
        )));
    }
    ImportFormat::of(path).ok_or_else(|| {
        Failure::Misused(format!(
            "{path:?} has none of the names that say what it is: give serve.json, vercel.json, firebase.json or \
             staticwebapp.config.json"
        ))
    })
}

/// The content of a file; of one that is too large no more than says so.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Failure::Misused(format!(
            "{path:?} does not exist: give a file that is there"
        )),
        _ => Failure::Failed(format!("{path:?} cannot be read: {error}")),
    };
    let most = u64::try_from(LARGEST_FILE).unwrap_or(u64::MAX);
    let mut file = std::fs::File::open(path).map_err(failed)?.take(most + 1);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// The root of the site as the output has to name it: what the file names is relative to the file's own folder, what
/// the output names to the output's.
fn root(named: &str, file: &Path, output: Option<&Path>) -> String {
    let folder = |path: &Path| {
        let absolute = std::path::absolute(path).ok()?;
        absolute.parent().map(Path::to_owned)
    };
    let beside = output.map_or_else(|| std::env::current_dir().ok(), folder);
    match folder(file) {
        Some(of_file) if Some(&of_file) != beside.as_ref() => {
            // `.` adds nothing.
            let root: PathBuf = of_file.join(named).components().collect();
            root.to_string_lossy().into_owned()
        }
        _ => named.to_owned(),
    }
}

/// True if there is a setting for the listing of folders.
fn has_listing() -> bool {
    salver_config::table()
        .iter()
        .any(|entry| entry.row.key == "listing.enabled")
}

/// The whole text of the output.
fn rendered(imported: &Imported, path: &Path) -> Result<String, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let toml = imported
        .to_toml()
        .map_err(|fault| Failure::Failed(format!("{path:?}: {fault}")))?;
    Ok(format!(
        "# Made of {} by `salver import`; `salver check -c FILE` says whether all is well.\n\n{toml}",
        name.escape_debug()
    ))
}

/// Writes a file that is not there yet.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::Misused(format!(
                "{path:?} is there already: give another name, or remove it"
            )),
            _ => Failure::Failed(format!("{path:?} cannot be written: {error}")),
        })?;
    file.write_all(text.as_bytes())
        .map_err(|error| Failure::Failed(format!("{path:?} cannot be written: {error}")))
}
