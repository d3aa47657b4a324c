//! The template of listings, from the file of an operator.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use salver_assets::{Listing, Template};

use crate::failure::Failure;

/// The longest template, in bytes.
const LONGEST_TEMPLATE: u64 = 1024 * 1024;

/// The same listing with pages by the template in a file, which the setting `name` names.
///
/// # Errors
/// What is wrong with it, and where.
pub(crate) fn with_template(listing: Listing, path: &Path, name: &str) -> Result<Listing, Failure> {
    let text = text(path).map_err(|what| Failure::Misused(format!("{name} {path:?} {what}")))?;
    let template = Template::new(text).map_err(|error| {
        let line = error
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        let path = path.to_string_lossy();
        Failure::Misused(format!("{}{line}: {}", path.escape_debug(), error.what))
    })?;
    Ok(listing.with_template(template))
}

/// The text of a template.
fn text(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "does not exist: give a template that is there".to_owned()
        }
        io::ErrorKind::IsADirectory => "is a directory: give a template".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let mut file = file.take(LONGEST_TEMPLATE + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST_TEMPLATE) {
        return Err("is longer than 1MiB: give a template".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8: give a template".to_owned())
}
