//! Files of a directory, each page with the script of live reload at its end.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use bytes::Bytes;
use salver_assets::source::{Identity, Kind, Metadata, Opened, Reader};
use salver_assets::{Patience, Source, View};

use super::SCRIPT;

/// The longest page that gets the script, in bytes.
const LONGEST: u64 = 4 * 1024 * 1024;

/// The bytes that are read where nothing may wait.
const AT_ONCE: u64 = 64 * 1024;

/// A directory whose pages have the script.
#[derive(Debug)]
pub(super) struct ScriptedSource {
    files: Arc<dyn Source>,
    element: Arc<str>,
}

struct ScriptedView {
    files: Arc<dyn View>,
    element: Arc<str>,
}

impl ScriptedSource {
    pub(super) fn new(files: Arc<dyn Source>) -> Self {
        ScriptedSource {
            files,
            element: format!("\n<script src=\"{SCRIPT}\" async></script>\n").into(),
        }
    }
}

impl Source for ScriptedSource {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::new(ScriptedView {
            files: self.files.view(patience)?,
            element: Arc::clone(&self.element),
        }))
    }
}

/// True if a file of that name and that length gets the script.
fn is_page(path: &[u8], metadata: &Metadata) -> bool {
    let ends_with = |ending: &[u8]| {
        let start = path.len().saturating_sub(ending.len());
        path.get(start..)
            .is_some_and(|end| end.eq_ignore_ascii_case(ending))
    };
    metadata.kind == Kind::File
        && metadata.identity.length <= LONGEST
        && (ends_with(b".html") || ends_with(b".htm"))
}

impl ScriptedView {
    /// The metadata of a page with the script.
    fn longer(&self, metadata: Metadata) -> Metadata {
        let more = u64::try_from(self.element.len()).unwrap_or(u64::MAX);
        Metadata {
            identity: Identity {
                length: metadata.identity.length.saturating_add(more),
                ..metadata.identity
            },
            ..metadata
        }
    }

    /// The content of a page with the script.
    fn read(&self, opened: &Opened, patience: Patience) -> io::Result<Bytes> {
        let length = opened.metadata.identity.length;
        if patience == Patience::MustNotWait && length > AT_ONCE {
            return Err(ErrorKind::WouldBlock.into());
        }
        let mut content = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut rest = &mut *content;
        let mut offset = 0;
        while !rest.is_empty() {
            let count = opened.reader.read_at(rest, offset, patience)?;
            if count == 0 {
                return Err(changed());
            }
            rest = rest.get_mut(count..).unwrap_or_default();
            offset += u64::try_from(count).unwrap_or(u64::MAX);
        }
        let now = opened.reader.metadata()?;
        if now.is_some_and(|now| now.identity != opened.metadata.identity) {
            return Err(changed());
        }
        content.extend_from_slice(self.element.as_bytes());
        Ok(content.into())
    }
}

/// The error of a file that is no longer what it was when it was opened: who asks looks again.
fn changed() -> io::Error {
    ErrorKind::NotFound.into()
}

impl View for ScriptedView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        let metadata = self.files.stat(path, patience)?;
        Ok(match is_page(path, &metadata) {
            true => self.longer(metadata),
            false => metadata,
        })
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let opened = self.files.open(path, patience)?;
        if !is_page(path, &opened.metadata) {
            return Ok(opened);
        }
        Ok(Opened {
            reader: Reader::Memory(self.read(&opened, patience)?),
            metadata: self.longer(opened.metadata),
            local: opened.local,
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.files.list(path)
    }

    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        self.files.names(path, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_assets::{DirectorySource, Symlinks};
    use std::time::Duration;

    fn source(root: &std::path::Path) -> ScriptedSource {
        let files = DirectorySource::open(root, Symlinks::Beneath, Duration::ZERO);
        ScriptedSource::new(Arc::new(files.unwrap()))
    }

    #[test]
    fn pages_have_the_script_and_other_files_do_not() {
        let root = tempfile::tempdir().unwrap();
        let source = source(root.path());
        let view = source.view(Patience::MayWait).unwrap();
        let check = |name: &str, length: usize, is_page: bool| {
            std::fs::write(root.path().join(name), vec![b'x'; length]).unwrap();
            let metadata = view.stat(name.as_bytes(), Patience::MayWait).unwrap();
            let opened = view.open(name.as_bytes(), Patience::MayWait).unwrap();
            assert_eq!(metadata, opened.metadata, "{name}");
            let mut content = vec![0; length + 100];
            let reader = &opened.reader;
            let count = reader.read_at(&mut content, 0, Patience::MayWait).unwrap();
            assert_eq!(u64::try_from(count).unwrap(), metadata.identity.length);
            let text = String::from_utf8_lossy(&content[length..count]);
            assert_eq!(text.contains(SCRIPT), is_page, "{name}: {text}");
        };
        check("index.html", 10, true);
        check("EMPTY.HTM", 0, true);
        check("a.js", 10, false);
        check("html", 10, false);
        let longest = usize::try_from(LONGEST).unwrap();
        check("longest.html", longest, true);
        check("longer.html", longest + 1, false);
    }

    #[test]
    fn a_page_that_is_replaced_is_another() {
        let root = tempfile::tempdir().unwrap();
        let source = source(root.path());
        let put = |content: &str| {
            let new = root.path().join("new");
            std::fs::write(&new, content).unwrap();
            std::fs::rename(new, root.path().join("page.html")).unwrap();
            let view = source.view(Patience::MayWait).unwrap();
            view.open(b"page.html", Patience::MayWait).unwrap()
        };
        let begins = |opened: &Opened, with: &[u8]| {
            let mut content = vec![0; with.len()];
            let reader = &opened.reader;
            reader.read_at(&mut content, 0, Patience::MayWait).unwrap();
            assert_eq!(content, with);
        };
        let (old, new) = (put("alpha"), put("gamma"));
        assert_ne!(old.metadata.identity, new.metadata.identity);
        begins(&old, b"alpha");
        begins(&new, b"gamma");
    }
}
