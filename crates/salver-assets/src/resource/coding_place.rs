//! The path of a file as a place whose answers may have a coding that is made.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;

use crate::cache::key::CacheKey;
use crate::codings::job::Place;
use crate::codings::key::{CodingKey, DictionaryKey};
use crate::resource::engine_state::EngineState;
use crate::resource::handles::read_patiently;
use crate::source::digest;
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
    dictionary: Option<DictionarySource>,
}

/// Where dictionaries of a file are.
pub(super) struct DictionarySource {
    /// The name under which they are kept in memory.
    pub(super) name: Box<[u8]>,
    /// The path of the one that is wanted, if the source of the file has it.
    pub(super) path: Option<Vec<u8>>,
    /// Set once the file itself is kept.
    pub(super) is_kept: Arc<AtomicBool>,
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
            dictionary: None,
        }
    }

    /// The same, which has to do with dictionaries.
    pub(super) fn with_dictionary(mut self, source: DictionarySource) -> Self {
        self.dictionary = Some(source);
        self
    }

    /// The content of the file at this path, whatever it is.
    fn read_any(&self, path: &[u8], of: &DictionaryKey) -> Option<Bytes> {
        let shared = self.shared.upgrade()?;
        let view = self.view(&shared)?;
        let found = view.stat(path, Patience::MayWait).ok()?;
        if found.identity.length != of.length {
            return None;
        }
        read_patiently(&shared, &*view, path, &found.identity)
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
        let content = read_patiently(&shared, &*view, &self.path, &self.identity)?;
        is_it(&content).then_some(content)
    }

    fn dictionary(&self, of: &DictionaryKey) -> Option<Bytes> {
        let source = self.dictionary.as_ref()?;
        match &source.path {
            Some(path) => self.read_any(path, of),
            None => {
                let shared = self.shared.upgrade()?;
                shared.pool.dictionaries.content(&source.name, of)
            }
        }
    }

    fn keep_as_dictionary(&self, content: &Bytes, of: DictionaryKey) {
        if let (Some(source), Some(shared)) = (&self.dictionary, self.shared.upgrade()) {
            let dictionaries = &shared.pool.dictionaries;
            dictionaries.keep(&source.name, of, content.clone());
            source.is_kept.store(true, Ordering::Relaxed);
        }
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
