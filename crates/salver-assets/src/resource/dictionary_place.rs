//! The file that pages are coded against, as a place that it is read from.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;

use crate::cache::key::CacheKey;
use crate::codings::job::Place;
use crate::codings::key::{CodingKey, DictionaryKey};
use crate::resource::engine_state::EngineState;
use crate::resource::handles::read_patiently;
use crate::source::{Kind, Patience};

/// A file that is kept as a dictionary, whatever is in it.
pub(super) struct DictionaryPlace {
    shared: Weak<EngineState>,
    key: CacheKey,
    /// The number of the mount that the file is in.
    mount: usize,
    path: Vec<u8>,
    /// The name under which it is kept.
    name: Box<[u8]>,
    /// Set once it is kept.
    is_kept: Arc<AtomicBool>,
}

impl DictionaryPlace {
    /// The file at `path` in the mount of this number, to be kept under this name; what is given with it is set then.
    pub(super) fn new(
        shared: &Arc<EngineState>,
        mount: usize,
        path: Vec<u8>,
        (name, is_kept): (Box<[u8]>, Arc<AtomicBool>),
    ) -> Self {
        DictionaryPlace {
            shared: Arc::downgrade(shared),
            key: shared.owned_key(&path),
            mount,
            path,
            name,
            is_kept,
        }
    }
}

impl Place for DictionaryPlace {
    fn key(&self) -> &CacheKey {
        &self.key
    }

    fn read(&self, _: &CodingKey) -> Option<Bytes> {
        let shared = self.shared.upgrade()?;
        let mount = shared.mounts.get(self.mount)?;
        let view = mount.source.view(Patience::MayWait).ok()?;
        let found = view.stat(&self.path, Patience::MayWait).ok()?;
        if found.kind != Kind::File || found.identity.length > shared.pool.dictionaries.longest() {
            return None;
        }
        read_patiently(&shared, &*view, &self.path, &found.identity)
    }

    fn dictionary(&self, _: &DictionaryKey) -> Option<Bytes> {
        None
    }

    fn keep_as_dictionary(&self, content: &Bytes, of: DictionaryKey) {
        if let Some(shared) = self.shared.upgrade() {
            let dictionaries = &shared.pool.dictionaries;
            dictionaries.keep(&self.name, of, content.clone());
            self.is_kept.store(true, Ordering::Relaxed);
        }
    }

    fn is_unchanged(&self) -> bool {
        true
    }

    fn load_again(&self) {}
}
