//! Content as pieces of memory: what cannot be had without waiting is read by the loader, within the
//! memory that there is for passing content.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
pub(crate) use salver_assets::reading::Reading;
use salver_assets::reading::{Disk, Read};
use salver_assets::strategy::Residency;
use salver_assets::{Content, FileContent};

use crate::context::Common;
use crate::passing::Room;

/// The disk behind a server's loader.
pub(crate) struct Loading<'a>(pub(crate) &'a Arc<Common>);

impl Disk for Loading<'_> {
    fn residency(&self, file: &FileContent, window: &Range<u64>) -> Residency {
        super::residency(self.0, file, window)
    }

    fn read(&self, file: &FileContent, window: Range<u64>) -> (u64, Read) {
        let room = self.0.passing.take(window.end - window.start);
        let length = room.length();
        let window = window.start..window.start + length;
        let (common, file) = (Arc::clone(self.0), file.clone());
        let read = async move {
            let bytes = common.loader.read(&file, window).await?;
            io::Result::Ok(Bytes::from_owner(Passes { bytes, _room: room }))
        };
        (length, Box::pin(read))
    }

    fn discard(&self, content: Content) {
        self.0.loader.discard(content);
    }
}

/// Bytes that have their room until the last of them is gone.
struct Passes {
    bytes: Bytes,
    _room: Room,
}

impl AsRef<[u8]> for Passes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
