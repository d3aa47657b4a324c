//! The content of a long object, slice by slice, the next while one is sent.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use salver_assets::Patience;
use salver_assets::source::{Reader, RemoteContent};

use crate::lookup::Lookups;
use crate::object::Object;
use crate::slices::Slices;

/// The content of one version of a long object.
#[derive(Debug)]
pub(crate) struct RemoteObject {
    object: Arc<Object>,
    path: Vec<u8>,
    slices: Arc<Slices>,
    lookups: Arc<Lookups>,
    /// The end of the last read: what begins there goes on.
    read_to: AtomicU64,
}

impl RemoteObject {
    /// The content of the object that was found at a path.
    pub(crate) fn new(
        object: Arc<Object>,
        path: &[u8],
        slices: &Arc<Slices>,
        lookups: &Arc<Lookups>,
    ) -> Self {
        RemoteObject {
            object,
            path: path.to_vec(),
            slices: Arc::clone(slices),
            lookups: Arc::clone(lookups),
            read_to: AtomicU64::new(u64::MAX),
        }
    }

    /// Has the next slice come, if this read goes on from the last and is in the second half of its slice: who wants a
    /// few bytes gets no more.
    fn look_ahead(&self, offset: u64, count: u64) {
        let end = offset.saturating_add(count);
        let goes_on = self.read_to.swap(end, Ordering::Relaxed) == offset;
        let size = self.slices.size();
        let next = (offset / size).saturating_add(1);
        let start = next.saturating_mul(size);
        if goes_on && end.saturating_add(size / 2) > start && start < self.object.length() {
            self.slices.prefetch(&self.object, next);
        }
    }
}

impl RemoteContent for RemoteObject {
    fn read_at(&self, buffer: &mut [u8], offset: u64, patience: Patience) -> io::Result<usize> {
        if offset >= self.object.length() || buffer.is_empty() {
            return Ok(0);
        }
        let number = offset / self.slices.size();
        let slice = self.slices.slice(&self.object, number, patience);
        let slice = slice.inspect_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                self.lookups.forget(&self.path);
            }
        })?;
        let count = Reader::Memory(slice).read_at(buffer, offset % self.slices.size(), patience)?;
        self.look_ahead(offset, u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }

    fn is_in_memory(&self, range: &Range<u64>) -> bool {
        self.slices.has(&self.object, range)
    }
}
