//! The requests of a load, each written once and sent as it is, with what is expected of its answer.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::Uri;

use crate::answer::expected::Expected;
use crate::error::BenchError;
use crate::protocol::target::{self, Target, percent_encoded};
use crate::protocol::transport::{Dialer, Transport};
use crate::requests::order::{Order, Picker};

/// At most so many URLs, or requests of a list.
pub(crate) const MOST_URLS: usize = 1_000_000;

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
    /// Further fields, written as `Name: value`. A `Host` replaces that of the URL.
    pub fields: Vec<String>,
    /// The status that answers to plain requests must have.
    pub status: u16,
    /// The request method, where no list of requests names another.
    pub method: String,
    /// The content of each request; requests of a list that are GET or HEAD have none.
    pub body: Vec<u8>,
}

impl Default for Mix {
    fn default() -> Self {
        Mix {
            accept_encoding: Vec::new(),
            ranges: 0.0,
            conditional: 0.0,
            fields: Vec::new(),
            status: 200,
            method: "GET".to_owned(),
            body: Vec::new(),
        }
    }
}

/// The name of a field that is written as `Name: value`.
pub(crate) fn field_name(field: &str) -> &str {
    field.split(':').next().unwrap_or_default().trim()
}

/// URLs to ask, and what to compare the answers with.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The server.
    pub target: Target,
    /// The request targets, each with the file that it stands for, if one was named.
    pub(crate) pages: Vec<Page>,
    /// The order of a list, by the places of its requests among the pages.
    pub(crate) sequence: Option<Arc<[u32]>>,
    pub(crate) passed_over: u64,
    /// In which order.
    pub order: Order,
    /// Which requests are made of each.
    pub mix: Mix,
    /// By which version of HTTP, and who is trusted.
    pub transport: Transport,
}

/// Something to ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Page {
    pub(crate) form: String,
    pub(crate) file: Option<PathBuf>,
    /// The request method, if it is not that of all.
    pub(crate) method: Option<String>,
    /// The status of a right answer, if it is not that of all.
    pub(crate) status: Option<u16>,
}

impl Workload {
    /// Of URLs.
    ///
    /// # Errors
    /// What is no URL, or names another server than the others.
    pub fn of_urls(urls: &[impl AsRef<str>]) -> Result<Workload, BenchError> {
        let parsed: Result<Vec<Uri>, _> =
            urls.iter().map(|url| target::parse(url.as_ref())).collect();
        let urls = parsed?;
        let page = |url| Page {
            form: target::origin_form(url),
            ..Page::default()
        };
        Workload::new(Target::of(&urls)?, urls.iter().map(page).collect())
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
            let coded = ["br", "gz", "zst"].map(|coding| Some(OsStr::new(coding)));
            coded.contains(&file.extension())
                && files.binary_search(&file.with_extension("")).is_ok()
        };
        let within = base.path().trim_end_matches('/').to_owned();
        let mut pages = Vec::with_capacity(files.len());
        for file in files.iter().filter(|file| !is_sibling(file)) {
            let Ok(relative) = file.strip_prefix(root) else {
                continue;
            };
            let mut form = within.clone();
            for part in relative.components() {
                form.push('/');
                form += &percent_encoded(part.as_os_str().as_encoded_bytes(), stays_in_segment);
            }
            pages.push(Page {
                form,
                file: Some(file.clone()),
                ..Page::default()
            });
        }
        Workload::new(Target::of(&[base])?, pages)
    }

    pub(crate) fn new(target: Target, pages: Vec<Page>) -> Result<Workload, BenchError> {
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
            sequence: None,
            passed_over: 0,
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

    /// How many URLs there are, or requests in a list.
    pub(crate) fn len(&self) -> usize {
        let listed = self.sequence.as_ref();
        listed.map_or(self.pages.len(), |sequence| sequence.len())
    }

    /// Lines of a list of requests that hold none which can be repeated.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// The dialer of connections to the server.
    pub(crate) fn dialer(&self) -> Result<Dialer, BenchError> {
        self.transport.dialer(&self.target)
    }

    /// True if contents are compared with files.
    pub(crate) fn has_files(&self) -> bool {
        self.pages.iter().any(|page| page.file.is_some())
    }

    /// The method of a request for a page.
    pub(crate) fn method<'a>(&'a self, page: &'a Page) -> &'a str {
        page.method.as_deref().unwrap_or(&self.mix.method)
    }

    /// The bytes of a request for a page, with these further lines (each ended), content included.
    pub(crate) fn request(&self, page: &Page, accept_encoding: &str, more: &str) -> Vec<u8> {
        let method = self.method(page);
        let is_host = |field: &&String| field_name(field).eq_ignore_ascii_case("host");
        let host = self.mix.fields.iter().find(is_host);
        let host = host.and_then(|field| field.split_once(':'));
        let host = host.map_or(&*self.target.authority, |(_, value)| value.trim());
        let mut text = format!("{method} {} HTTP/1.1\r\nHost: {host}\r\n", page.form);
        // Writing to a String cannot fail.
        if !accept_encoding.is_empty() {
            let _ = write!(text, "Accept-Encoding: {accept_encoding}\r\n");
        }
        for field in self.mix.fields.iter().filter(|field| !is_host(field)) {
            let _ = write!(text, "{field}\r\n");
        }
        text.push_str(more);
        let body = match page.method.as_deref() {
            Some("GET" | "HEAD") => &[][..],
            _ => &self.mix.body[..],
        };
        // RFC 9110 section 8.6.
        if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
            let _ = write!(text, "Content-Length: {}\r\n", body.len());
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }
}

/// The bytes that stand for themselves in a segment of a path (RFC 3986 section 3.3).
fn stays_in_segment(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// All files beneath a directory; links are followed once, to files.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), BenchError> {
    let failed = |error: std::io::Error| BenchError::unreadable(directory, &error);
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
    pub(crate) message: http::Request<Bytes>,
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
    /// The order of a list: see [`Workload`].
    pub(crate) sequence: Option<Arc<[u32]>>,
    /// How the requests differ from what was asked for, in a sentence each.
    pub(crate) differs: Vec<String>,
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
        let next = picker.next();
        match &self.sequence {
            None => kind.get(next),
            Some(sequence) => kind.get(usize::try_from(*sequence.get(next)?).ok()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_becomes_urls_without_siblings_and_hidden_files() {
        let root = tempfile::tempdir().unwrap();
        let plain = ["a.js", "a.js.br", "a.js.gz", "lone.gz", "ä b/c?d.txt"];
        for name in plain.into_iter().chain([".git/x", ".well-known/y"]) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let workload = Workload::of_directory("http://127.0.0.1:1/p/", root.path()).unwrap();
        let forms: Vec<&str> = workload.pages.iter().map(|page| &*page.form).collect();
        let listed = [
            "/p/.well-known/y",
            "/p/a.js",
            "/p/lone.gz",
            "/p/%C3%A4%20b/c%3Fd.txt",
        ];
        assert_eq!(forms, listed);
        let check = |root: &Path, part: &str| {
            let error = Workload::of_directory("http://127.0.0.1:1/", root).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        };
        check(&root.path().join("missing"), "cannot be read");
        check(tempfile::tempdir().unwrap().path(), "nothing to ask for");
    }

    #[test]
    fn requests_are_written_once() {
        let mut workload = Workload::of_urls(&["http://127.0.0.1:1/a?b"]).unwrap();
        let check = |workload: &Workload, accept: &str, more: &str, expected: &str| {
            let bytes = workload.request(&workload.pages[0], accept, more);
            assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        };
        workload.mix.fields = vec!["X: y".to_owned()];
        let get = "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAccept-Encoding: br\r\nX: y\r\n\
                   Range: bytes=0-1\r\n\r\n";
        check(&workload, "br", "Range: bytes=0-1\r\n", get);
        workload.mix.fields = vec!["host:  a.example ".to_owned()];
        workload.mix.method = "PUT".to_owned();
        workload.mix.body = b"{}".to_vec();
        let put = "PUT /a?b HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\n{}";
        check(&workload, "", "", put);
        workload.pages[0].method = Some("GET".to_owned());
        let get = "GET /a?b HTTP/1.1\r\nHost: a.example\r\n\r\n";
        check(&workload, "", "", get);
    }
}
