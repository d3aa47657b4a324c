//! Content in an anonymous file: bytes that no file of a tree has, and that the kernel sends without copying them.

use std::fs::File;
use std::sync::Arc;

use crate::cache::content_memory::{ContentCharge, ContentMemory};
use crate::cache::open_files::{AnonymousCharge, OpenFiles};
use crate::cache::recent_checks::RecentChecks;
use crate::source::{Identity, Metadata, Patience};

/// Content in an anonymous file, which nobody can change. It counts as memory, and as an open file, until the last
/// answer that is sent from it has ended.
#[derive(Debug)]
pub(crate) struct AnonymousContent {
    pub(crate) file: Arc<File>,
    pub(crate) identity: Identity,
    pub(crate) checks: Arc<RecentChecks>,
    _memory: ContentCharge,
    _open: AnonymousCharge,
}

impl AnonymousContent {
    /// The same bytes in an anonymous file; `None` where the system has none, or too many files are open.
    pub(crate) fn of(bytes: &[u8], memory: &ContentMemory, open: &OpenFiles) -> Option<Arc<Self>> {
        let open = open.charge_anonymous()?;
        let file = anonymous_file(bytes)?;
        let (metadata, _) = Metadata::with_attributes(&file, Patience::MayWait).ok()?;
        Some(Arc::new(AnonymousContent {
            file: Arc::new(file),
            identity: metadata.identity,
            checks: Arc::default(),
            _memory: memory.charge(bytes.len()),
            _open: open,
        }))
    }

    /// The length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.identity.length
    }
}

#[cfg(target_os = "linux")]
fn anonymous_file(bytes: &[u8]) -> Option<File> {
    salver_os::anonymous_file(bytes).ok()
}

#[cfg(not(target_os = "linux"))]
fn anonymous_file(_bytes: &[u8]) -> Option<File> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_counts_until_the_last_who_has_it_lets_go() {
        let (memory, open) = (ContentMemory::default(), OpenFiles::new(4));
        open.limit_open(3);
        let make = || AnonymousContent::of(b"content", &memory, &open);
        let first = make().unwrap();
        assert_eq!((first.length(), memory.bytes(), open.left()), (7, 7, 2));
        let second = make().unwrap();
        // Half of what may stay open.
        assert!(make().is_none());
        assert_eq!((memory.bytes(), open.left()), (14, 1));
        drop((first, second));
        assert_eq!((memory.bytes(), open.left()), (0, 3));
        assert!(AnonymousContent::of(b"", &memory, &OpenFiles::new(0)).is_none());
    }
}
