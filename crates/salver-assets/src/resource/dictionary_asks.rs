//! Asking for codings against dictionaries that are not made yet, and for dictionaries to be kept.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::codings::key::MadeAs;
use crate::resource::coding_place::{CodingPlace, DictionarySource};
use crate::resource::dictionary_place::DictionaryPlace;
use crate::resource::dictionary_use::{Delta, DictionaryUse, Keeps, WantedDelta};
use crate::resource::engine_state::EngineState;
use crate::resource::entry::CacheEntry;
use crate::resource::known_versions::versions;
use crate::resource::representations::Representations;
use crate::source::{View, digest};

impl DictionaryUse {
    /// True if there are other versions by now, or a verdict on a coding that there was none on when it was built.
    pub(crate) fn has_changed(
        &self,
        shared: &EngineState,
        view: &dyn View,
        representations: &Representations,
    ) -> bool {
        let file = &representations.found;
        let known = self.versions.iter().map(|version| &version.known);
        if !known.eq(&versions(shared, view, &file.path, &self.name)) {
            return true;
        }
        let mut versions = self.versions.iter();
        versions.any(|version| {
            version.deltas.iter().any(|(coding, delta)| {
                let made = MadeAs::Delta(*coding, version.known.key);
                let key = shared.coding_key(self.digest, file.identity.length, made);
                matches!(delta, Delta::Makeable) && shared.pool.codings.get(&key).is_some()
            })
        })
    }

    /// Asks for a coding, if nobody has since the last look.
    pub(crate) fn ask_for_delta(
        &self,
        shared: &Arc<EngineState>,
        entry: &CacheEntry,
        representations: &Representations,
        wanted: WantedDelta,
    ) {
        let Some(version) = self.versions.get(wanted.version) else {
            return;
        };
        if !entry.is_first_to_ask_for_delta(wanted.version, wanted.coding) {
            return;
        }
        let file = &representations.found;
        let made = MadeAs::Delta(wanted.coding, version.known.key);
        let key = shared.coding_key(self.digest, file.identity.length, made);
        let place = self.place(shared, entry, representations);
        let place = place.with_dictionary(DictionarySource {
            name: self.name.clone(),
            path: version.known.path.clone(),
            is_kept: Arc::clone(&self.is_kept),
        });
        shared.pool.codings.ask(key, Box::new(place));
    }

    /// Has what is sent, or named, kept as a dictionary for later versions, unless it was, or somebody has asked for that
    /// since the last look.
    #[inline]
    pub(crate) fn ask_to_keep(
        &self,
        shared: &Arc<EngineState>,
        entry: &CacheEntry,
        representations: &Representations,
    ) {
        let Some(keeps) = &self.keeps else {
            return;
        };
        if self.is_kept.load(Ordering::Relaxed) || !entry.is_first_to_ask_for_keeping() {
            return;
        }
        let codings = &shared.pool.codings;
        match keeps {
            Keeps::Itself => {
                let length = representations.found.identity.length;
                let key = shared.coding_key(self.digest, length, MadeAs::Dictionary);
                let place = self.place(shared, entry, representations);
                let place = place.with_dictionary(DictionarySource {
                    name: self.name.clone(),
                    path: None,
                    is_kept: Arc::clone(&self.is_kept),
                });
                codings.ask(key, Box::new(place));
            }
            Keeps::File(mount, path) => {
                // One job for all pages: what it reads is known by its path alone.
                let key = shared.coding_key(digest::of_bytes(path), 0, MadeAs::Dictionary);
                let kept = (self.name.clone(), Arc::clone(&self.is_kept));
                let place = DictionaryPlace::new(shared, *mount, path.clone(), kept);
                codings.ask(key, Box::new(place));
            }
        }
    }

    fn place(
        &self,
        shared: &Arc<EngineState>,
        entry: &CacheEntry,
        representations: &Representations,
    ) -> CodingPlace {
        let file = &representations.found;
        let (path, identity) = (file.path.clone(), file.identity);
        CodingPlace::new(shared, entry.key.clone(), self.mount, path, identity)
    }
}
