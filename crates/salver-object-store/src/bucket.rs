//! The requests to a bucket: each waits for its turn, and all of it takes no longer than the time limit.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, ListResult, ObjectMeta, ObjectStore};
use salver_assets::source::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::circuit::{Admission, Circuit};
use crate::clock::Clock;
use crate::content::{collect, refuse_coded};
use crate::failure::{Failure, is_of_range, is_redirect};
use crate::object::Object;
use crate::settings::{Settings, WHOLE_UP_TO};

/// The most names that one page of a list has.
pub(crate) const PAGE: usize = 1000;

/// The most pages without a name that are asked for, one after the other: some stores give such.
const EMPTY_PAGES: usize = 8;

/// The most pages of a list, however few names they have: a hundred thousand names of full ones.
const MOST_PAGES: usize = 101;

/// The most time that all pages of a list may take, as a multiple of that of one request.
const LIST_TIMES: u32 = 6;

/// How a bucket tells what it holds.
#[derive(Clone)]
pub(crate) enum Lists {
    /// Page by page.
    Pages(Arc<dyn PaginatedListStore>),
    /// All at once.
    Whole,
    /// Not at all: a directory is where its index is.
    Never,
}

impl fmt::Debug for Lists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lists::Pages(_) => "Pages",
            Lists::Whole => "Whole",
            Lists::Never => "Never",
        })
    }
}

/// A bucket, asked within limits.
pub(crate) struct Bucket {
    objects: Arc<dyn ObjectStore>,
    lists: Lists,
    /// True as long as the store seems to know ranges.
    looks_by_range: AtomicBool,
    index: String,
    timeout: Duration,
    lookups: Arc<Semaphore>,
    most_lookups: usize,
    fetches: Semaphore,
    circuit: Circuit,
    clock: Clock,
}

/// Nothing of the store, which knows the credentials.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").finish_non_exhaustive()
    }
}

/// The turn of a look that nobody waits for, which others do not have meanwhile.
#[derive(Debug)]
pub(crate) struct Turn(
    #[expect(dead_code, reason = "it ends when it is dropped")] OwnedSemaphorePermit,
);

/// What a look at a key found.
#[derive(Debug)]
pub(crate) enum Looked {
    /// The version that was known.
    Same,
    /// This version, and its content if it is short.
    Object(Object, Option<Bytes>),
    /// No object.
    Nothing,
}

/// One entry of a directory.
#[derive(Debug)]
pub(crate) enum Entry {
    Directory(Path),
    Object(ObjectMeta),
}

impl Bucket {
    pub(crate) fn new(objects: Arc<dyn ObjectStore>, lists: Lists, settings: &Settings) -> Self {
        Bucket {
            objects,
            looks_by_range: AtomicBool::new(!matches!(lists, Lists::Whole)),
            lists,
            index: settings.index.clone(),
            timeout: settings.timeout,
            lookups: Arc::new(Semaphore::new(settings.lookups)),
            most_lookups: settings.lookups,
            fetches: Semaphore::new(settings.fetches),
            circuit: Circuit::default(),
            clock: settings.clock.clone(),
        }
    }

    /// Looks what is at a key now, where `known` was before, for a source of this device. The look may have its
    /// [turn](Self::turn_ahead) already.
    pub(crate) async fn look(
        &self,
        key: &Path,
        known: Option<&Object>,
        device: u64,
        ahead: Option<Turn>,
    ) -> Result<Looked, Failure> {
        let look = async {
            let result = match self.begin(key, known).await {
                Ok(result) => result,
                Err(Error::NotModified { .. }) if known.is_some() => return Ok(Looked::Same),
                // From a directory, to the same with a slash.
                Err(error) if matches!(self.lists, Lists::Never) && is_redirect(&error) => {
                    return Ok(Looked::Nothing);
                }
                Err(error) => {
                    let failure = Failure::from(error);
                    return match failure.is_absence() {
                        true => Ok(Looked::Nothing),
                        false => Err(failure),
                    };
                }
            };
            refuse_coded(&result)?;
            let object = Object::new(device, &result.meta, self.modified(&result.meta))?;
            let content = match object.length() <= WHOLE_UP_TO {
                true => Some(collect(result, object.length()).await?),
                // Slices of it are asked for; what would come of this answer is not taken.
                false => None,
            };
            Ok(Looked::Object(object, content))
        };
        self.limited_by(ahead, &self.lookups, look).await
    }

    /// The answer of a look: of a range that a short object is within, so that its length is told twice. An answer that was
    /// truncated on its way would else be a version of its own, which the store confirms from then on by its tag.
    async fn begin(&self, key: &Path, known: Option<&Object>) -> Result<GetResult, Error> {
        let options = known.map_or_else(GetOptions::default, Object::if_changed);
        if !self.looks_by_range.load(Ordering::Relaxed) {
            return self.objects.get_opts(key, options).await;
        }
        let ranged = GetOptions {
            range: Some(GetRange::Bounded(0..WHOLE_UP_TO)),
            ..options.clone()
        };
        let error = match self.objects.get_opts(key, ranged).await {
            Err(error) if is_of_range(&error) => error,
            result => return result,
        };
        // RFC 9110 section 14.2: a server may know no ranges; section 15.5.17: of nothing there is none.
        let Ok(whole) = self.objects.get_opts(key, options).await else {
            return Err(error);
        };
        if whole.meta.size > 0 {
            self.looks_by_range.store(false, Ordering::Relaxed);
        }
        Ok(whole)
    }

    /// The time of an object's last change.
    pub(crate) fn modified(&self, meta: &ObjectMeta) -> Timestamp {
        match (&self.lists, meta.last_modified.timestamp()) {
            // The client's for an answer without `Last-Modified`; other stores than these have no such answers.
            (Lists::Pages(_) | Lists::Never, 0) => Timestamp::UNKNOWN,
            (_, seconds) => Timestamp {
                seconds,
                nanoseconds: 0,
            },
        }
    }

    /// True if any object lies beneath a directory.
    pub(crate) async fn has_beneath(&self, directory: &Path) -> Result<bool, Failure> {
        self.limited(&self.lookups, async {
            match self.first_beneath(directory).await {
                // There is something, if under a name that no path has.
                Err(Error::InvalidPath { .. }) => Ok(true),
                Err(error) => {
                    let failure = Failure::from(error);
                    match failure.is_absence() {
                        true => Ok(false),
                        false => Err(failure),
                    }
                }
                Ok(is_there) => Ok(is_there),
            }
        })
        .await
    }

    async fn first_beneath(&self, directory: &Path) -> Result<bool, Error> {
        match &self.lists {
            Lists::Pages(pages) => {
                let mut page_token = None;
                for _ in 0..EMPTY_PAGES {
                    let options = PaginatedListOptions {
                        max_keys: Some(1),
                        page_token,
                        ..PaginatedListOptions::default()
                    };
                    let page = pages
                        .list_paginated(prefix_of(directory).as_deref(), options)
                        .await?;
                    if !page.result.objects.is_empty() {
                        return Ok(true);
                    }
                    match page.page_token {
                        Some(token) => page_token = Some(token),
                        None => return Ok(false),
                    }
                }
                Ok(false)
            }
            Lists::Whole => {
                let first = self.objects.list(Some(directory)).next().await;
                first.transpose().map(|first| first.is_some())
            }
            Lists::Never => {
                let index = Path::parse(format!("{directory}/{}", self.index))?;
                let options = GetOptions {
                    head: true,
                    ..GetOptions::default()
                };
                self.objects.get_opts(&index, options).await.map(|_| true)
            }
        }
    }

    /// The entries of a directory, no more than `most` and a page.
    pub(crate) async fn list(&self, directory: &Path, most: usize) -> Result<Vec<Entry>, Failure> {
        match &self.lists {
            Lists::Pages(pages) => {
                let (mut entries, mut page_token, mut empty) = (Vec::new(), None, 0);
                let begun = Instant::now();
                for _ in 0..MOST_PAGES {
                    if begun.elapsed() > self.timeout.saturating_mul(LIST_TIMES) {
                        return Err(Failure::too_slow());
                    }
                    let options = PaginatedListOptions {
                        delimiter: Some("/".into()),
                        max_keys: Some(PAGE.min(most.saturating_sub(entries.len())).max(1)),
                        page_token,
                        ..PaginatedListOptions::default()
                    };
                    let prefix = prefix_of(directory);
                    let page = async {
                        let page = pages.list_paginated(prefix.as_deref(), options).await;
                        page.map_err(of_list)
                    };
                    let page = self.limited(&self.lookups, page).await?;
                    let before = entries.len();
                    add(&mut entries, page.result);
                    page_token = page.page_token;
                    if page_token.is_none() || entries.len() >= most {
                        return Ok(entries);
                    }
                    empty = if entries.len() > before { 0 } else { empty + 1 };
                    if empty >= EMPTY_PAGES {
                        break;
                    }
                }
                Err(Failure::new(
                    io::ErrorKind::InvalidData,
                    "the list of a directory has too many pages with too few names in them",
                ))
            }
            Lists::Whole => {
                let list = async {
                    let prefix = Some(directory).filter(|path| !path.as_ref().is_empty());
                    let list = self.objects.list_with_delimiter(prefix).await;
                    list.map_err(of_list)
                };
                let mut entries = Vec::new();
                add(&mut entries, self.limited(&self.lookups, list).await?);
                Ok(entries)
            }
            Lists::Never => Err(Failure::new(
                io::ErrorKind::Unsupported,
                "an origin that is asked by HTTP has no list of its files",
            )),
        }
    }

    /// True if the bucket lists its keys page by page.
    pub(crate) fn has_pages(&self) -> bool {
        matches!(self.lists, Lists::Pages(_))
    }

    /// The objects beneath a directory, and all others in it, that come behind a key, in one page; and whether it is the last.
    pub(crate) async fn page(
        &self,
        directory: &Path,
        after: &str,
        ahead: Option<Turn>,
    ) -> Result<(Vec<ObjectMeta>, bool), Failure> {
        let Lists::Pages(pages) = &self.lists else {
            return Ok((Vec::new(), false));
        };
        let prefix = prefix_of(directory);
        let options = PaginatedListOptions {
            offset: (!after.is_empty()).then(|| after.to_owned()),
            max_keys: Some(PAGE),
            ..PaginatedListOptions::default()
        };
        let page = async {
            let page = pages.list_paginated(prefix.as_deref(), options).await;
            page.map_err(of_list)
        };
        let page = self.limited_by(ahead, &self.lookups, page).await?;
        Ok((page.result.objects, page.page_token.is_none()))
    }

    /// The bytes of a range of just this version of an object.
    pub(crate) async fn fetch(&self, object: &Object, range: Range<u64>) -> Result<Bytes, Failure> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let length = range.end - range.start;
        let range = (length < object.length()).then_some(GetRange::Bounded(range));
        if range.is_some() && !object.has_strong_tag() {
            return Err(Failure::new(
                io::ErrorKind::InvalidData,
                "a long file comes in slices, and without a strong ETag they could be of different versions: have the origin send one",
            ));
        }
        let fetch = async {
            match self
                .try_fetch(object, object.if_same(), &range, length)
                .await
            {
                Err(failure) if failure.is_absence() => match object.of_version() {
                    Some(options) => self.try_fetch(object, options, &range, length).await,
                    None => Err(failure),
                },
                fetched => fetched,
            }
        };
        self.limited(&self.fetches, fetch).await
    }

    /// The content of an answer to this request, if it is of this version; else that has gone.
    async fn try_fetch(
        &self,
        object: &Object,
        mut options: GetOptions,
        range: &Option<GetRange>,
        length: u64,
    ) -> Result<Bytes, Failure> {
        // Not all origins know ranges.
        options.range.clone_from(range);
        let is_of_version = options.version.is_some();
        let result = match self.objects.get_opts(object.key(), options).await {
            Ok(result) => result,
            Err(error) => {
                let failure = Failure::from(error);
                // To read older versions takes a permission of its own.
                let may_not = is_of_version && failure.kind == io::ErrorKind::PermissionDenied;
                return Err(match failure.is_absence() || may_not {
                    true => Failure::gone(),
                    false => failure,
                });
            }
        };
        if !object.is(&result.meta) {
            return Err(Failure::gone());
        }
        refuse_coded(&result)?;
        collect(result, length).await
    }

    /// True if a request for a slice would have its turn at once.
    pub(crate) fn may_fetch_ahead(&self) -> bool {
        self.fetches.available_permits() > 0 && self.circuit.has_room(self.clock.now())
    }

    /// The turn of a look that nobody waits for, if it has one at once: while the store is silent one after the other.
    pub(crate) fn turn_ahead(&self) -> Option<Turn> {
        let turn = Arc::clone(&self.lookups).try_acquire_owned().ok()?;
        let is_only = self.lookups.available_permits() + 1 == self.most_lookups;
        if !is_only && self.circuit.is_silent() {
            return None;
        }
        let admitted = self.circuit.admit_if_room(self.clock.now(), self.timeout);
        admitted.then_some(Turn(turn))
    }

    /// Gives back the turn of a look that is not needed any more.
    pub(crate) fn give_back(&self, turn: Turn) {
        drop(turn);
        self.circuit.give_back(self.clock.now());
    }

    /// True if the store has not failed lately.
    pub(crate) fn is_well(&self) -> bool {
        self.circuit.is_well(self.clock.now())
    }

    /// Notes that somebody has waited for the store for longer than is worth it.
    pub(crate) fn note_silence(&self) {
        self.circuit.note_silence(self.clock.now());
    }

    /// Does a request's work in its turn, within the time limit, if the store is asked at all at the moment.
    async fn limited<T>(
        &self,
        turns: &Semaphore,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.limited_by(None, turns, work).await
    }

    /// The same for a request that may have its turn already, and is admitted by the circuit then.
    async fn limited_by<T>(
        &self,
        ahead: Option<Turn>,
        turns: &Semaphore,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        if ahead.is_none() && self.circuit.is_open(self.clock.now()) {
            return Err(Failure::not_asked());
        }
        // What waits for its turn says nothing of the store.
        let asked = OnceLock::new();
        let in_turn = async {
            let _turn = match &ahead {
                Some(_) => None,
                None => Some(turns.acquire().await.map_err(|_| Failure::given_up())?),
            };
            let admission = match &ahead {
                Some(_) => Admission::Now,
                None => self.circuit.admit(self.clock.now(), self.timeout),
            };
            match admission {
                Admission::Now => {}
                Admission::After(pause) => tokio::time::sleep(pause).await,
                Admission::Refused => return Err(Failure::not_asked()),
            }
            asked.get_or_init(|| self.clock.now());
            work.await
        };
        let limited = tokio::time::timeout(self.timeout, in_turn).await;
        let result = limited.unwrap_or_else(|_| Err(Failure::too_slow()));
        if let Some(began) = asked.into_inner() {
            let now = self.clock.now();
            match &result {
                Err(failure) if failure.is_of_store() => self.circuit.failed(now, began),
                _ => self.circuit.answered(now),
            }
        }
        result
    }
}

/// The prefix of the keys beneath a directory; none if it is the whole bucket.
fn prefix_of(directory: &Path) -> Option<String> {
    match directory.as_ref() {
        "" => None,
        path => Some(format!("{path}/")),
    }
}

/// The failure of a list.
fn of_list(error: Error) -> Failure {
    match error {
        Error::InvalidPath { .. } => Failure::unlistable(&error),
        error => Failure::from(error),
    }
}

fn add(entries: &mut Vec<Entry>, page: ListResult) {
    entries.extend(page.common_prefixes.into_iter().map(Entry::Directory));
    entries.extend(page.objects.into_iter().map(Entry::Object));
}

#[cfg(test)]
mod tests;
