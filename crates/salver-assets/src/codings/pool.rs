//! The codings of all engines beside each other: what is made, what is asked for, and who makes it.

use std::fmt;
use std::sync::Arc;

use crate::cache::content_memory::ContentMemory;
use crate::cache::open_files::OpenFiles;
use crate::codings::coder;
use crate::codings::job::Place;
use crate::codings::key::{CodingKey, MadeAs};
use crate::codings::queue::{CodingCounts, CodingSettings, SharedCodings};
use crate::codings::table::Verdict;
use crate::codings::worker;

/// The codings of all engines beside each other. When it is dropped, what is at work ends.
pub(crate) struct Codings(Arc<SharedCodings>);

impl fmt::Debug for Codings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codings")
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

impl Codings {
    /// The codings of engines whose content is counted by `contents`, and whose files by `open_files`.
    pub(crate) fn new(
        settings: CodingSettings,
        contents: ContentMemory,
        open_files: Arc<OpenFiles>,
    ) -> Self {
        Codings(Arc::new(SharedCodings::new(settings, contents, open_files)))
    }

    /// Takes over what others have made, as far as there is room. What is at work there is not waited for.
    pub(crate) fn take_over(&self, others: &Codings) {
        self.0.table.take_over(&others.0.table);
    }

    /// The verdict on a coding.
    pub(crate) fn get(&self, key: &CodingKey) -> Option<Verdict> {
        self.0.table.get(key)
    }

    /// True if content of this length can be coded so within the memory that there is for that.
    pub(crate) fn has_room_for(&self, length: u64, made: &MadeAs) -> bool {
        let settings = &self.0.settings;
        length <= settings.longest() && coder::memory(length, made) <= settings.most_memory()
    }

    /// Asks for a coding that there is no verdict on, to be sent at `place`. Never waits.
    pub(crate) fn ask(&self, key: CodingKey, place: Box<dyn Place>) {
        if !self.0.ask(key, place) {
            return;
        }
        let shared = Arc::clone(&self.0);
        let started = std::thread::Builder::new()
            .name("salver-codings".to_owned())
            .spawn(move || worker::work(&shared));
        if started.is_err() {
            self.0.lose_worker();
        }
    }

    pub(crate) fn counts(&self) -> &CodingCounts {
        &self.0.counts
    }

    /// The number of codings that can be sent, and the bytes that they take.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.0.table.size()
    }

    /// The number of codings that wait or are at work.
    pub(crate) fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

impl Drop for Codings {
    fn drop(&mut self) {
        self.0.close();
    }
}
