//! The suite can fail: for each rule there is a source that keeps all but this one.

use std::fs::File;
use std::io;
use std::sync::Arc;

use salver_test::overwrite;

use super::*;
use crate::MemorySource;
use crate::source::{Awaited, KnownDigests, Metadata, Opened, Patience, Reader, Source, View};

/// Keeps all rules but one.
#[derive(Debug)]
struct Wrong {
    right: MemorySource,
    /// The file `sub/b.txt` of a source that rewrites files in place.
    in_place: Arc<File>,
    breaks: Option<Rule>,
}

struct WrongView {
    right: Arc<dyn View>,
    in_place: Arc<File>,
    breaks: Option<Rule>,
}

impl Wrong {
    fn new(breaks: Option<Rule>) -> Self {
        let right = MemorySource::new();
        for (path, content) in FILES {
            right.insert(path, content, 0);
        }
        let in_place = tempfile::tempfile().unwrap();
        overwrite(&in_place, b"beta");
        Wrong {
            right,
            in_place: Arc::new(in_place),
            breaks,
        }
    }

    fn put(&self, path: &str, content: Option<&[u8]>) {
        match content {
            Some(_) if self.breaks == Some(Rule::New) && path.contains("new") => {}
            Some(content) => {
                overwrite(&self.in_place, content);
                self.right.insert(path, content.to_vec(), 0);
            }
            None if self.breaks == Some(Rule::Removed) => {}
            None => self.right.remove(path),
        }
    }

    fn check_all(&self) -> Result<(), Violation> {
        check(self)?;
        let other = Wrong::new(self.breaks);
        let apart = if self.breaks == Some(Rule::Apart) {
            check_apart(self, self)
        } else {
            check_apart(self, &other)
        };
        check_changes(self, |path, content| self.put(path, content))?;
        apart
    }
}

impl Source for Wrong {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        match (self.breaks, patience) {
            (Some(Rule::View), _) => return Err(io::ErrorKind::NotFound.into()),
            (Some(Rule::NotWaiting), Patience::MustNotWait) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            _ => {}
        }
        Ok(Arc::new(WrongView {
            right: self.right.view(patience)?,
            in_place: Arc::clone(&self.in_place),
            breaks: self.breaks,
        }))
    }
}

impl WrongView {
    fn breaks(&self, rule: Rule) -> bool {
        self.breaks == Some(rule)
    }

    /// The path that is looked for.
    fn path<'a>(&self, path: &'a [u8]) -> &'a [u8] {
        match path {
            b"A.TXT" if self.breaks(Rule::Absent) => b"a.txt",
            b"sub/../a.txt" if self.breaks(Rule::Unclean) => b"a.txt",
            path => path,
        }
    }

    fn metadata(&self, path: &[u8], metadata: Metadata) -> Metadata {
        let mut metadata = metadata;
        match (self.breaks, path) {
            (Some(Rule::File), b"empty") => metadata.identity.length = 1,
            (Some(Rule::Identity), b"a.txt" | b"twin.txt") => metadata.identity.inode = 0,
            (Some(Rule::Replaced), b"sub/b.txt") => metadata.identity.inode = u64::MAX,
            (Some(Rule::Directory), b"sub/deep/1") => metadata.kind = crate::source::Kind::Other,
            _ => {}
        }
        metadata
    }
}

impl View for WrongView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        if self.breaks(Rule::Awaited) && patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let path = self.path(path);
        let metadata = self.right.stat(path, patience)?;
        Ok(self.metadata(path, metadata))
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let path = self.path(path);
        if self.breaks(Rule::DirectoryIsNoFile) && path == b"sub" {
            return self.right.open(b"a.txt", patience);
        }
        let mut opened = self.right.open(path, patience)?;
        opened.metadata = self.metadata(path, opened.metadata);
        match (self.breaks, path) {
            (Some(Rule::Opened), b"sub0") => opened.metadata.identity.modified.seconds = 1,
            (Some(Rule::Content), b"long.bin") => opened.reader = Reader::Static(b"short"),
            (Some(Rule::End), b"empty") => opened.reader = Reader::Static(b"not empty"),
            (Some(Rule::Held), b"sub/b.txt") => {
                opened.reader = Reader::File(Arc::clone(&self.in_place));
            }
            _ => {}
        }
        Ok(opened)
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut names = match path {
            b"empty" if self.breaks(Rule::FileIsNoDirectory) => Vec::new(),
            path => self.right.list(self.path(path))?,
        };
        if self.breaks(Rule::Listing) && path == b"sub" {
            names.push(b"deep".to_vec());
        }
        Ok(names)
    }

    fn awaited(&self) -> Option<Awaited> {
        self.breaks(Rule::Awaited)
            .then(|| Box::pin(std::future::ready(())) as _)
    }

    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        let mut known = self.right.known(path)?;
        if self.breaks(Rule::Known) && path == b"sub/b.txt.gz" {
            match cfg!(feature = "gzip") {
                true => known.decoded = Some(known.digest),
                // What it decodes to, nobody can tell here.
                false => known.digest = !known.digest,
            }
        }
        Some(known)
    }
}

#[test]
fn each_rule_can_be_broken() {
    assert_eq!(Wrong::new(None).check_all(), Ok(()));
    for rule in Rule::ALL {
        let violation = Wrong::new(Some(rule)).check_all().unwrap_err();
        assert_eq!(violation.rule, rule, "{violation}");
        assert!(!violation.seen.is_empty());
    }
}
