//! Locating the file that could answer a relative path: by metadata only, nothing is read.

use std::sync::Arc;

use salver_semantics::coding::ContentCoding;

use crate::alternative::Alternative;
use crate::config::Config;
use crate::error::{Stop, is_absence};
use crate::resource::directory_listing::DirectoryListing;
use crate::source::{Identity, Kind, Patience, View};

/// The result of a lookup. Two lookups with the same result prove that nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file, or a directory's index.
    File(FoundFile),
    /// A directory that was asked for without its slash.
    Directory,
    /// Nothing that could be served.
    Missing,
    /// An error that has content of its own, or another status.
    Error {
        status: u16,
        /// True if it is because nothing is there.
        is_absent: bool,
        page: Option<FoundFile>,
    },
    /// The redirect that rules say.
    Redirect,
    /// Another path of this tree, to which the request is redirected.
    Moved(Vec<u8>),
    /// The request decides, by rules.
    ByRequest,
    /// A directory without an index, whose entries are listed.
    Listing(Arc<DirectoryListing>),
}

impl Found {
    /// The file whose content is sent.
    pub(crate) fn file(&self) -> Option<&FoundFile> {
        match self {
            Found::File(file) => Some(file),
            Found::Error { page, .. } => page.as_ref(),
            Found::Directory
            | Found::Missing
            | Found::Redirect
            | Found::Moved(_)
            | Found::ByRequest
            | Found::Listing(_) => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn file_mut(&mut self) -> Option<&mut FoundFile> {
        match self {
            Found::File(file) => Some(file),
            Found::Error { page, .. } => page.as_mut(),
            Found::Directory
            | Found::Missing
            | Found::Redirect
            | Found::Moved(_)
            | Found::ByRequest
            | Found::Listing(_) => None,
        }
    }
}

/// A file, its precompressed siblings and its alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub(crate) path: Vec<u8>,
    pub(crate) identity: Identity,
    /// The siblings that could be looked at, in the order of the configuration.
    pub(crate) siblings: Vec<(ContentCoding, Identity)>,
    /// The alternatives that are there, in that order.
    pub(crate) alternatives: Vec<Alternative>,
    /// True if it is an alternative itself.
    pub(crate) is_alternative: bool,
}

impl FoundFile {
    /// A file of which siblings and alternatives are not looked for yet.
    pub(crate) fn alone(path: Vec<u8>, identity: Identity) -> Self {
        FoundFile {
            path,
            identity,
            siblings: Vec::new(),
            alternatives: Vec::new(),
            is_alternative: false,
        }
    }

    /// True if Accept has a part in what is sent at its path.
    pub(crate) fn is_by_accept(&self) -> bool {
        self.is_alternative || !self.alternatives.is_empty()
    }

    /// The path of the representation in `coding`.
    pub(crate) fn path_of(&self, coding: ContentCoding) -> Vec<u8> {
        let mut path = self.path.clone();
        path.extend_from_slice(coding.extension().unwrap_or_default().as_bytes());
        path
    }
}

/// Looks up `relative`, which ends with `/` (or is empty) to ask for a directory. A file's
/// [siblings](crate::resource::siblings) are not looked for yet.
pub(crate) fn locate(
    view: &dyn View,
    relative: &[u8],
    config: &Config,
    patience: Patience,
) -> Result<Found, Stop> {
    let directory = match relative {
        b"" => Some(relative),
        _ => relative.strip_suffix(b"/"),
    };
    let Some(directory) = directory else {
        return match stat(view, relative, patience)? {
            Some((Kind::File, identity)) => Ok(alone(relative.to_vec(), identity)),
            Some((Kind::Directory, _)) => Ok(Found::Directory),
            Some((Kind::Other, _)) | None => Ok(Found::Missing),
        };
    };
    for name in &config.index {
        let mut path = directory.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.as_bytes());
        if let Some((Kind::File, identity)) = stat(view, &path, patience)? {
            return Ok(alone(path, identity));
        }
    }
    Ok(Found::Missing)
}

fn alone(path: Vec<u8>, identity: Identity) -> Found {
    Found::File(FoundFile::alone(path, identity))
}

/// True if the file itself is coded, by its name.
pub(crate) fn is_coded(name: &[u8]) -> bool {
    original(name).is_some()
}

/// The path of the original of the sibling at this path; `None` if it has no coding's extension.
pub(crate) fn original(path: &[u8]) -> Option<&[u8]> {
    ContentCoding::CODED
        .iter()
        .filter_map(|coding| coding.extension())
        .find_map(|extension| path.strip_suffix(extension.as_bytes()))
}

pub(crate) fn stat(
    view: &dyn View,
    path: &[u8],
    patience: Patience,
) -> Result<Option<(Kind, Identity)>, Stop> {
    match view.stat(path, patience) {
        Ok(metadata) => Ok(Some((metadata.kind, metadata.identity))),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;
    use crate::source::Source;

    #[test]
    fn what_is_at_a_path() {
        let source = MemorySource::new();
        for path in [
            "a.js",
            "a.js.gz",
            "d/home.htm",
            "d/index.html",
            "e/x",
            "b.gz",
        ] {
            source.insert(path, path.as_bytes().to_vec(), 0);
        }
        let config = Config {
            index: vec!["index.html".into(), "home.htm".into()],
            ..Config::default()
        };
        let check = |relative: &str, expected: &str| {
            let view = source.view(Patience::MayWait).unwrap();
            let found = locate(&*view, relative.as_bytes(), &config, Patience::MayWait).unwrap();
            let text = match found {
                Found::File(file) => String::from_utf8(file.path).unwrap(),
                other => format!("{other:?}"),
            };
            assert_eq!(text, expected, "{relative:?}");
        };
        check("a.js", "a.js");
        check("a.js.gz", "a.js.gz");
        check("b.gz", "b.gz");
        check("d", "Directory");
        check("d/", "d/index.html");
        check("e/", "Missing");
        check("", "Missing");
        check("a.js/", "Missing");
        check("nothing", "Missing");
        source.remove("d/index.html");
        check("d/", "d/home.htm");
    }
}
