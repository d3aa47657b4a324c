//! What is asked: requests that are written once and sent as they are, each with what is expected
//! of its answer.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use url::Url;

use crate::error::BenchError;
use crate::expected::{Content, Expected};
use crate::order::{Order, Picker};
use crate::target::{self, Target};
use crate::transport::{Dialer, Transport};

/// At most so many URLs.
const MOST_URLS: usize = 1_000_000;

/// Which requests are made of each URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Values of `Accept-Encoding`, each in an equal share of requests; an empty one leaves the
    /// field out. None at all is the same as one empty one.
    pub accept_encoding: Vec<String>,
    /// The share of requests that ask for a range: 0 to 1.
    pub ranges: f64,
    /// The share of requests that are conditional, by the entity tag that the server gave: 0 to 1.
    pub conditional: f64,
    /// Further fields, written as `Name: value`.
    pub fields: Vec<String>,
    /// The status that answers to plain requests must have.
    pub status: u16,
}

impl Default for Mix {
    fn default() -> Self {
        Mix {
            accept_encoding: Vec::new(),
            ranges: 0.0,
            conditional: 0.0,
            fields: Vec::new(),
            status: 200,
        }
    }
}

/// URLs to ask, and what to compare the answers with.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Who is asked.
    pub target: Target,
    /// What is asked for: request targets, each with the file that it stands for, if one was named.
    pub(crate) pages: Vec<Page>,
    /// In which order.
    pub order: Order,
    /// Which requests are made of each.
    pub mix: Mix,
    /// By which version of HTTP, and who is trusted.
    pub transport: Transport,
}

/// Something to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) form: String,
    pub(crate) file: Option<PathBuf>,
}

impl Workload {
    /// Of URLs.
    ///
    /// # Errors
    /// What is no URL, or names another server than the others.
    pub fn of_urls(urls: &[impl AsRef<str>]) -> Result<Workload, BenchError> {
        let parsed: Result<Vec<Url>, _> =
            urls.iter().map(|url| target::parse(url.as_ref())).collect();
        let urls = parsed?;
        let pages = urls.iter().map(|url| Page {
            form: target::origin_form(url),
            file: None,
        });
        Workload::new(Target::of(&urls)?, pages.collect())
    }

    /// Of the files beneath `root`, which the server shows at `base`. Hidden ones (but
    /// `.well-known`), and siblings that hold another file's coded content (`x.br` beside `x`), are
    /// not asked for by their own names.
    ///
    /// # Errors
    /// What cannot be read, or that there is nothing.
    pub fn of_directory(base: &str, root: &Path) -> Result<Workload, BenchError> {
        let base = target::parse(base)?;
        let mut files = Vec::new();
        collect(root, &mut files)?;
        files.sort();
        let is_sibling = |file: &PathBuf| {
            let coded = file.extension().is_some_and(|extension| {
                ["br", "gz", "zst"].iter().any(|coded| extension == *coded)
            });
            coded && files.binary_search(&file.with_extension("")).is_ok()
        };
        let mut pages = Vec::with_capacity(files.len());
        for file in files.iter().filter(|file| !is_sibling(file)) {
            let Ok(relative) = file.strip_prefix(root) else {
                continue;
            };
            let mut url = base.clone();
            if let Ok(mut segments) = url.path_segments_mut() {
                segments.pop_if_empty();
                for part in relative.components() {
                    segments.push(&part.as_os_str().to_string_lossy());
                }
            }
            pages.push(Page {
                form: target::origin_form(&url),
                file: Some(file.clone()),
            });
        }
        Workload::new(Target::of(&[base])?, pages)
    }

    fn new(target: Target, pages: Vec<Page>) -> Result<Workload, BenchError> {
        if pages.is_empty() {
            return Err(BenchError::Misused(
                "there is nothing to ask for: give a URL, or a directory with files".to_owned(),
            ));
        }
        if pages.len() > MOST_URLS {
            return Err(BenchError::Misused(format!(
                "{} URLs are more than the {MOST_URLS} that one run asks",
                pages.len()
            )));
        }
        Ok(Workload {
            target,
            pages,
            order: Order::default(),
            mix: Mix::default(),
            transport: Transport::default(),
        })
    }

    /// The same requests, whose answers are compared with nothing: for files that change.
    #[must_use]
    pub fn without_files(mut self) -> Workload {
        for page in &mut self.pages {
            page.file = None;
        }
        self
    }

    /// How many URLs there are.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there is none: never.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// What connections to the server are opened with.
    ///
    /// # Errors
    /// Misused: what cannot be meant. Failed: certificates cannot be read.
    pub(crate) fn dialer(&self) -> Result<Dialer, BenchError> {
        self.transport.dialer(&self.target)
    }

    /// Whether contents are compared with files.
    pub(crate) fn has_files(&self) -> bool {
        self.pages.iter().any(|page| page.file.is_some())
    }

    /// The bytes of a request for a page, with these further lines (each ended).
    pub(crate) fn request(&self, page: &Page, accept_encoding: &str, more: &str) -> Vec<u8> {
        let mut text = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\n",
            page.form, self.target.authority
        );
        if !accept_encoding.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(text, "Accept-Encoding: {accept_encoding}\r\n");
        }
        for field in &self.mix.fields {
            text.push_str(field);
            text.push_str("\r\n");
        }
        text.push_str(more);
        text.push_str("\r\n");
        text.into_bytes()
    }
}

/// All files beneath a directory; links are followed once, to files.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), BenchError> {
    let failed = |error: std::io::Error| {
        BenchError::Failed(format!("{} cannot be read: {error}", directory.display()))
    };
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".");
        let kind = entry.file_type().map_err(failed)?;
        let path = entry.path();
        if hidden && name != ".well-known" {
            continue;
        }
        if kind.is_dir() {
            collect(&path, files)?;
        } else if kind.is_file() || (kind.is_symlink() && path.is_file()) {
            files.push(path);
        }
    }
    Ok(())
}

/// A request as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// With HTTP/1.1.
    pub(crate) bytes: Vec<u8>,
    /// With the others; empty with HTTP/1.1.
    pub(crate) message: http::Request<()>,
    pub(crate) expected: Expected,
}

impl Prepared {
    pub(crate) fn new(bytes: Vec<u8>, expected: Expected) -> Prepared {
        Prepared {
            bytes,
            message: http::Request::default(),
            expected,
        }
    }
}

/// All requests of a run, and how often each is sent.
#[derive(Clone, Debug)]
pub(crate) struct Prepares {
    /// By share, rising to 1: the requests of one kind, one for each page, in their order.
    pub(crate) kinds: Vec<(f64, Vec<Prepared>)>,
}

impl Prepares {
    /// The next request.
    pub(crate) fn pick(&self, picker: &mut Picker) -> Option<&Prepared> {
        let kind = match &*self.kinds {
            [(_, only)] => only,
            kinds => {
                let chance = picker.chance();
                let found = kinds.iter().find(|(up_to, _)| chance < *up_to);
                &found.or(kinds.last())?.1
            }
        };
        kind.get(picker.next())
    }
}

impl Expected {
    /// What is expected of which nothing but the status is known.
    pub(crate) fn status(status: u16) -> Expected {
        Expected {
            status,
            content: Content::Any,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_becomes_urls_without_siblings_and_hidden_files() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        };
        for name in [
            "a.js",
            "a.js.br",
            "a.js.gz",
            "lone.gz",
            "ä b/c?d.txt",
            ".git/x",
            ".well-known/y",
        ] {
            make(name);
        }
        let workload = Workload::of_directory("http://127.0.0.1:1/p/", root.path()).unwrap();
        let forms: Vec<&str> = workload.pages.iter().map(|page| &*page.form).collect();
        assert_eq!(
            forms,
            [
                "/p/.well-known/y",
                "/p/a.js",
                "/p/lone.gz",
                "/p/%C3%A4%20b/c%3Fd.txt"
            ]
        );
    }

    #[test]
    fn requests_are_written_once() {
        let mut workload = Workload::of_urls(&["http://127.0.0.1:1/a?b"]).unwrap();
        workload.mix.fields = vec!["X: y".to_owned()];
        let bytes = workload.request(&workload.pages[0], "br", "Range: bytes=0-1\r\n");
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAccept-Encoding: br\r\nX: y\r\n\
             Range: bytes=0-1\r\n\r\n"
        );
    }

    #[test]
    fn nothing_to_ask_for_is_said() {
        let root = tempfile::tempdir().unwrap();
        let error = Workload::of_directory("http://127.0.0.1:1/", root.path()).unwrap_err();
        assert!(error.to_string().contains("nothing to ask for"), "{error}");
        let missing = root.path().join("missing");
        let error = Workload::of_directory("http://127.0.0.1:1/", &missing).unwrap_err();
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
}
