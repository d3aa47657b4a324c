//! The disk of an answer's content: the loader reads the bytes that are not in memory, and all that are read count as
//! memory of the connection until they are sent.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
pub(crate) use salver_assets::reading::Reading;
use salver_assets::reading::{Disk, Read};
use salver_assets::strategy::Residency;
use salver_assets::{Content, FileContent};

use crate::context::ServerContext;
use crate::memory_budget::{Account, charged};
use crate::shared_reads::within_block;

/// The disk behind a server's loader, for one connection.
pub(crate) struct LoaderDisk<'a> {
    pub(crate) common: &'a Arc<ServerContext>,
    pub(crate) account: &'a Arc<Account>,
}

impl Disk for LoaderDisk<'_> {
    fn residency(&self, file: &FileContent, window: &Range<u64>) -> Residency {
        super::residency(self.common, file, window)
    }

    fn read(&self, file: &FileContent, window: Range<u64>) -> (u64, Read) {
        let window = within_block(window);
        let most = usize::try_from(window.end - window.start).unwrap_or(usize::MAX);
        let length = self.account.room_up_to(most);
        // From now on, so that the next read has less room.
        let charge = self.account.charge(length);
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        let window = window.start..window.start.saturating_add(length).min(window.end);
        let (common, file) = (Arc::clone(self.common), file.clone());
        let read = async move {
            let (reads, loader) = (&common.shared_reads, &common.loader);
            let bytes = reads.read(loader, &file, window).await?;
            io::Result::Ok(charge.with(bytes))
        };
        (length, Box::pin(read))
    }

    fn room(&self, most: usize) -> usize {
        self.account.room_up_to(most)
    }

    fn keep(&self, bytes: Bytes) -> Bytes {
        charged(self.account, bytes, 0)
    }

    fn discard(&self, content: Content) {
        self.common.loader.discard(content);
    }
}
