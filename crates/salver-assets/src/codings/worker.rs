//! A worker: it reads what is to be coded, looks whether that is kept, has its idle thread make what is not, and says so.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::cache::anonymous_content::AnonymousContent;
use crate::codings::coder::{self, Encoded};
use crate::codings::idle_thread::{self, IdleThread};
use crate::codings::job::Places;
use crate::codings::key::{CodingKey, ContentKey, DictionaryKey, MadeAs};
use crate::codings::queue::SharedCodings;
use crate::codings::table::{MadeCoding, MadeContent, Verdict};
use crate::source::digest;

/// Makes codings until none waits.
pub(super) fn work(shared: &Arc<SharedCodings>) {
    salver_os::run_behind_others();
    let mut background = Background {
        shared,
        thread: shared.take_idle_thread(),
    };
    while let Some((key, places)) = shared.next() {
        // One that panics fails alone; it is asked for again.
        let worked = catch_unwind(AssertUnwindSafe(|| {
            perform(shared, &mut background, key, places);
        }));
        if worked.is_err() {
            background.thread = None;
            shared.abandon(&key);
        }
        shared.give_back(&key);
    }
    if let Some(thread) = background.thread.filter(IdleThread::is_behind) {
        shared.leave_idle_thread(thread);
    }
}

/// The idle thread of a worker, started once there is something to do for it.
struct Background<'a> {
    shared: &'a Arc<SharedCodings>,
    thread: Option<IdleThread>,
}

impl Background<'_> {
    /// Has work done as long as it is wanted; `None` if it has failed. Where there can be no more threads the worker
    /// does it.
    fn perform<T: Send + 'static>(
        &mut self,
        work: impl Fn(&dyn Fn() -> bool) -> T + Send + Sync + 'static,
        is_wanted: &dyn Fn() -> bool,
    ) -> Option<T> {
        let percent = self.shared.settings.percent_each();
        if self.thread.is_none() {
            self.thread = IdleThread::start(percent);
        }
        let Some(thread) = &mut self.thread else {
            return Some(idle_thread::perform_here(percent, work, is_wanted));
        };
        let done = thread.perform(work, is_wanted);
        // One that has gone has panicked.
        done.map_err(|_| self.thread = None).ok()
    }

    /// As [`perform`](Self::perform), as long as anybody wants codings.
    fn perform_for_any<T: Send + 'static>(
        &mut self,
        work: impl Fn(&dyn Fn() -> bool) -> Option<T> + Send + Sync + 'static,
    ) -> Option<T> {
        let shared = self.shared;
        self.perform(work, &|| !shared.is_closed()).flatten()
    }

    fn sha256(&mut self, content: &Bytes) -> Option<[u8; 32]> {
        let content = content.clone();
        self.perform_for_any(move |wanted| coder::sha256(&content, wanted))
    }
}

/// Takes or makes one coding, and has the places loaded again that wait for it.
fn perform(
    shared: &Arc<SharedCodings>,
    background: &mut Background<'_>,
    key: CodingKey,
    places: Places,
) {
    let content = places.read(&key);
    let sha256 = content
        .as_ref()
        .and_then(|content| background.sha256(content));
    let (Some(content), Some(sha256)) = (content, sha256) else {
        shared.end(&key);
        return;
    };
    let of = ContentKey {
        sha256,
        made: key.made,
    };
    let dictionary = match &key.made {
        MadeAs::Coded(_) => Some(Bytes::new()),
        // What was pruned meanwhile is there no more, and what is damaged where it lies would make codings that no client
        // decodes.
        MadeAs::Delta(_, wanted) => places.dictionary(wanted, |content| {
            background.sha256(content) == Some(wanted.sha256)
        }),
        MadeAs::Dictionary => {
            let kept = DictionaryKey {
                sha256: of.sha256,
                length: u64::try_from(content.len()).unwrap_or(u64::MAX),
            };
            places.keep_as_dictionary(&content, kept);
            shared.end(&key).keep_as_dictionary(&content, kept);
            return;
        }
    };
    let Some(dictionary) = dictionary else {
        shared.end(&key);
        return;
    };
    let Some(places) = shared.begin(of, key, places) else {
        return;
    };
    let work = Work {
        shared,
        key,
        of,
        content,
        dictionary,
    };
    let is_known = shared.table.adopt(key, of).is_some() || work.take(background);
    let is_known = is_known || work.make(background, &places);
    let others = shared.end_work(&of);
    for (key, places) in others.into_iter().chain([(key, places)]) {
        let is_known = is_known && shared.table.adopt(key, of).is_some();
        let loads = is_known && !shared.is_closed();
        if loads {
            places.load_again();
        }
        let since = shared.end(&key);
        if loads {
            since.load_again();
        }
    }
}

/// The work on one coding.
struct Work<'a> {
    shared: &'a Arc<SharedCodings>,
    key: CodingKey,
    of: ContentKey,
    content: Bytes,
    /// The dictionary that it is made against; empty if there is none.
    dictionary: Bytes,
}

impl Work<'_> {
    /// Takes the verdict that the directory keeps; false if it has none.
    fn take(&self, background: &mut Background<'_>) -> bool {
        let Some(directory) = &self.shared.settings.directory else {
            return false;
        };
        let verdict = match directory.read(&self.of, self.key.length) {
            None => return false,
            Some(None) => Verdict::NotWorthIt,
            Some(Some(coded)) => {
                let (content, dictionary) = (self.content.clone(), self.dictionary.clone());
                let coded = self.shared.contents.count(coded);
                let (of, made) = (coded.clone(), self.of.made);
                let is_of =
                    move |_: &dyn Fn() -> bool| coder::is_of(&of, &made, &content, &dictionary);
                match background.perform(is_of, &|| true) {
                    Some(true) => self.made(coded),
                    Some(false) => {
                        directory.remove(&self.of, "it does not decode to its original");
                        return false;
                    }
                    None => return false,
                }
            }
        };
        count(&self.shared.counts.taken);
        self.shared.table.put(self.key, self.of, verdict);
        true
    }

    /// Has the coding made; false if it is no longer wanted, or nobody can make it.
    fn make(&self, background: &mut Background<'_>, places: &Places) -> bool {
        let is_wanted = || {
            !self.shared.is_closed()
                && (places.any_is_unchanged() || self.shared.is_wanted_since(&self.key))
        };
        let (content, dictionary) = (self.content.clone(), self.dictionary.clone());
        let made = self.of.made;
        let encode =
            move |wanted: &dyn Fn() -> bool| coder::encode(&content, &made, &dictionary, wanted);
        let Some(encoded) = background.perform(encode, &is_wanted) else {
            return false;
        };
        let counts = &self.shared.counts;
        let (verdict, kept) = match encoded {
            Encoded::Cancelled => return false,
            Encoded::NotWorthIt => {
                count(&counts.useless);
                (Verdict::NotWorthIt, None)
            }
            Encoded::To(coded) => {
                count(&counts.made);
                let coded = self.shared.contents.count(coded);
                (self.made(coded.clone()), Some(coded))
            }
        };
        self.shared.table.put(self.key, self.of, verdict);
        if let Some(directory) = &self.shared.settings.directory {
            directory.keep(&self.of, self.key.length, kept.as_deref());
        }
        true
    }

    fn made(&self, coded: Bytes) -> Verdict {
        let digest = digest::of_bytes(&coded);
        let SharedCodings {
            settings,
            contents,
            open_files,
            ..
        } = &**self.shared;
        let is_short = u64::try_from(coded.len()).is_ok_and(|length| length <= settings.keep_up_to);
        let anonymous = match is_short {
            true => None,
            false => AnonymousContent::of(&coded, contents, open_files),
        };
        let content = anonymous.map_or(MadeContent::Memory(coded), MadeContent::Anonymous);
        Verdict::Made(MadeCoding { content, digest })
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
