//! The path of a file as a place whose answers may have a coding that is made.

use std::sync::{Arc, Weak};
use std::time::Instant;

use bytes::Bytes;

use crate::cache::key::CacheKey;
use crate::codings::job::Place;
use crate::codings::key::CodingKey;
use crate::error::Stop;
use crate::resource::engine_state::EngineState;
use crate::resource::handles::{Handles, read};
use crate::source::digest;
use crate::source::snapshot::{FirstSeen, ReadContext};
use crate::source::{Identity, Kind, Patience, View};

/// A path, and the file that answers for it.
pub(crate) struct CodingPlace {
    /// Weak, so that a coding which is made keeps no engine alive that has no other user.
    shared: Weak<EngineState>,
    key: CacheKey,
    /// The number of the mount that the file is in.
    mount: usize,
    path: Vec<u8>,
    identity: Identity,
}

impl CodingPlace {
    /// The file at `path` in the mount of this number, which answers for `key`.
    pub(crate) fn new(
        shared: &Arc<EngineState>,
        key: CacheKey,
        mount: usize,
        path: Vec<u8>,
        identity: Identity,
    ) -> Self {
        CodingPlace {
            shared: Arc::downgrade(shared),
            key,
            mount,
            path,
            identity,
        }
    }

    fn view(&self, shared: &EngineState) -> Option<Arc<dyn View>> {
        let mount = shared.mounts.get(self.mount)?;
        mount.source.view(Patience::MayWait).ok()
    }
}

impl Place for CodingPlace {
    fn key(&self) -> &CacheKey {
        &self.key
    }

    fn read(&self, key: &CodingKey) -> Option<Bytes> {
        let shared = self.shared.upgrade()?;
        let is_it = |content: &Bytes| {
            u64::try_from(content.len()) == Ok(key.length)
                && digest::of_bytes(content) == key.digest
        };
        let view = self.view(&shared)?;
        let files = Handles::new(&*view);
        let first_seen = FirstSeen::default();
        let context = ReadContext {
            patience: Patience::MayWait,
            since: Instant::now(),
            first_seen: &first_seen,
            grows: false,
        };
        let content = || {
            let opened = files.open(&self.path, &self.identity, context)?;
            read(&shared, &opened, context)
        };
        let content = match content() {
            // One that was written a moment ago is worth a moment; what is still being written is not.
            Err(Stop::RetryAfter(after)) => {
                std::thread::sleep(after);
                content()
            }
            content => content,
        };
        let content = content.ok()?.bytes;
        is_it(&content).then_some(content)
    }

    fn is_unchanged(&self) -> bool {
        let Some(shared) = self.shared.upgrade() else {
            return false;
        };
        let Some(view) = self.view(&shared) else {
            return false;
        };
        let found = view.stat(&self.path, Patience::MayWait);
        found.is_ok_and(|found| found.kind == Kind::File && found.identity == self.identity)
    }

    fn load_again(&self) {
        if let Some(shared) = self.shared.upgrade() {
            (shared.reload)(&shared, self.key.clone());
        }
    }
}
