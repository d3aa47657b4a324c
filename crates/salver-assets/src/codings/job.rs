//! A job: the coding that is wanted, and the places whose answers would have it.

use bytes::Bytes;

use crate::cache::key::CacheKey;
use crate::codings::key::{CodingKey, DictionaryKey};

/// The places that a job knows, at most. Others are loaded again when they are next compared with the disk.
const MOST_PLACES: usize = 16;

/// A path whose file has the content in question, as the engine knows it.
pub(crate) trait Place: Send {
    /// The path.
    fn key(&self) -> &CacheKey;

    /// The content, if the file still has it. May wait.
    fn read(&self, key: &CodingKey) -> Option<Bytes>;

    /// The content of a dictionary, if there still is any, whatever it is. May wait.
    fn dictionary(&self, of: &DictionaryKey) -> Option<Bytes>;

    /// Keeps the content as a dictionary.
    fn keep_as_dictionary(&self, content: &Bytes, of: DictionaryKey);

    /// True if the file is still the version that was asked about. May wait.
    fn is_unchanged(&self) -> bool;

    /// Loads what is kept at the path again, so that its answers have what has become known.
    fn load_again(&self);
}

/// The places of one job.
#[derive(Default)]
pub(crate) struct Places(Vec<Box<dyn Place>>);

impl Places {
    /// Adds a place, if it is not there and there is room.
    pub(super) fn add(&mut self, place: Box<dyn Place>) {
        if self.0.len() < MOST_PLACES && !self.0.iter().any(|known| known.key() == place.key()) {
            self.0.push(place);
        }
    }

    /// Adds all of these.
    pub(super) fn take_all(&mut self, others: Places) {
        others.0.into_iter().for_each(|place| self.add(place));
    }

    /// The content, as the first place gives it that still has it.
    pub(super) fn read(&self, key: &CodingKey) -> Option<Bytes> {
        self.0.iter().find_map(|place| place.read(key))
    }

    /// A dictionary, as the first place gives it that has `it`.
    pub(super) fn dictionary(
        &self,
        of: &DictionaryKey,
        mut is_it: impl FnMut(&Bytes) -> bool,
    ) -> Option<Bytes> {
        let mut places = self.0.iter();
        places.find_map(|place| place.dictionary(of).filter(&mut is_it))
    }

    /// Keeps the content as a dictionary for each place.
    pub(super) fn keep_as_dictionary(&self, content: &Bytes, of: DictionaryKey) {
        let places = self.0.iter();
        places.for_each(|place| place.keep_as_dictionary(content, of));
    }

    /// True if any file is still the version that was asked about.
    pub(super) fn any_is_unchanged(&self) -> bool {
        self.0.iter().any(|place| place.is_unchanged())
    }

    pub(super) fn load_again(&self) {
        self.0.iter().for_each(|place| place.load_again());
    }
}
