//! Imports: the files in which other hosts keep what a site needs, as rules and settings.

mod firebase;
mod json;
mod key_lines;
mod render;
mod serve;
mod source_pattern;
mod static_web_app;
mod vercel;

use std::path::Path;

use crate::compiled::CompiledRule;
use crate::fault::{Fault, Faults, Place, quoted};
use crate::limits::{LARGEST_FILE, MOST_RULES};
use crate::rule::Rule;
use json::Object;
use key_lines::key_lines;

/// What a file of another host came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The rules, in the order in which they count. Each compiles.
    pub rules: Vec<Rule>,
    /// The folder that was served, as the file names it.
    pub root: Option<String>,
    /// True if `/about` is `about.html` and the latter is redirected to the former.
    pub clean_urls: Option<bool>,
    /// True if paths of pages end with a slash, false if they do not; `None` leaves them.
    pub trailing_slash: Option<bool>,
    /// True if folders are listed.
    pub listing: Option<bool>,
    /// Pages for statuses.
    pub error_pages: Vec<(u16, String)>,
    /// What could not be taken, by name, and what holds otherwise than there.
    pub faults: Vec<Fault>,
}

/// The file that is imported, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// `serve.json` of the npm packages `serve` and `serve-handler`.
    Serve,
    /// `vercel.json`.
    Vercel,
    /// `firebase.json`.
    Firebase,
    /// `staticwebapp.config.json` of Azure.
    StaticWebApp,
}

impl ImportFormat {
    /// The format of a file of that name, whatever its folder.
    pub fn of(path: &Path) -> Option<Self> {
        match path.file_name()?.to_str()? {
            "serve.json" => Some(ImportFormat::Serve),
            "vercel.json" | "now.json" => Some(ImportFormat::Vercel),
            "firebase.json" => Some(ImportFormat::Firebase),
            "staticwebapp.config.json" => Some(ImportFormat::StaticWebApp),
            _ => None,
        }
    }
}

/// Imports the content of a file.
///
/// # Errors
/// The file as a whole is not what it should be: too large, no JSON, no object. All else is in
/// [`Imported::faults`].
///
/// ```
/// use salver_rules::{ImportFormat, import};
///
/// let file = br#"{"cleanUrls": true, "redirects": [{"source": "/old/:x", "destination": "/new/:x"}]}"#;
/// let imported = import(file, ImportFormat::Serve).unwrap();
/// assert_eq!(imported.clean_urls, Some(true));
/// assert!(imported.to_toml().unwrap().contains("from = \"/old/:x\""));
/// ```
pub fn import(file: &[u8], format: ImportFormat) -> Result<Imported, Fault> {
    if file.len() > LARGEST_FILE {
        let what = format!("the file has {} bytes", file.len());
        return Err(Fault::new(what, format!("{LARGEST_FILE} are the most")));
    }
    let value: serde_json::Value = serde_json::from_slice(file)
        .map_err(|error| Fault::new(format!("the file is not JSON: {error}"), "mend it"))?;
    let mut importing = Importing::default();
    let object = Object::root(&value)?;
    match format {
        ImportFormat::Serve => serve::import(object, &mut importing),
        ImportFormat::Vercel => vercel::import(object, &mut importing),
        ImportFormat::Firebase => firebase::import(object, &mut importing),
        ImportFormat::StaticWebApp => static_web_app::import(object, &mut importing),
    }
    Ok(importing.finish(file))
}

/// An [`Imported`] under construction.
#[derive(Debug, Default)]
pub(crate) struct Importing {
    imported: Imported,
    faults: Faults,
}

impl Importing {
    pub(crate) fn fault(&mut self, place: &Place, fault: Fault) {
        self.faults.push(fault.at(place));
    }

    /// Says that a key is not taken.
    pub(crate) fn not_taken(&mut self, place: &Place, why: &str) {
        self.fault(place, Fault::new("it is not taken", why));
    }

    /// Takes a rule if it compiles.
    pub(crate) fn take(&mut self, rule: Rule) {
        if self.imported.rules.len() == MOST_RULES {
            let fault = Fault::new(
                "there are too many rules",
                format!("{MOST_RULES} are the most"),
            );
            self.faults.push(fault.at(&rule.place));
            return;
        }
        match CompiledRule::compile(&rule) {
            Ok(_) => self.imported.rules.push(rule),
            Err(fault) => self.faults.push(fault),
        }
    }

    /// What was imported of `file`, each rule and each fault with its line.
    fn finish(self, file: &[u8]) -> Imported {
        let lines = key_lines(file);
        let mut imported = Imported {
            faults: self.faults.into_vec(),
            ..self.imported
        };
        let rules = imported.rules.iter_mut().map(|rule| &mut rule.place);
        let faults = imported.faults.iter_mut().map(|fault| &mut fault.place);
        for place in rules.chain(faults) {
            if let Place::Key(key) = place
                && let Some(line) = lines.get(key)
            {
                *place = Place::KeyAtLine(std::mem::take(key), *line);
            }
        }
        imported
    }
}

/// The redirect's status: what the file says, if it is one.
pub(crate) fn redirect_status(status: Option<i64>, default: u16) -> Result<u16, Fault> {
    match status {
        None => Ok(default),
        Some(status @ (301 | 302 | 303 | 307 | 308)) => {
            Ok(u16::try_from(status).unwrap_or(default))
        }
        Some(status) => {
            let what = format!(
                "{} is not the status of a redirect",
                quoted(&status.to_string())
            );
            Err(Fault::new(what, "use 301, 302, 303, 307 or 308"))
        }
    }
}

#[cfg(test)]
mod tests;
