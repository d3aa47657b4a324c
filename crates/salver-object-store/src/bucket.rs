//! The requests to a bucket: each waits for its turn, and all of it takes no longer than the time limit.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{
    Attribute, Error, GetOptions, GetRange, GetResult, ListResult, ObjectMeta, ObjectStore,
};
use tokio::sync::Semaphore;

use crate::failure::{Failure, is_redirect};
use crate::object::Object;
use crate::settings::{Settings, WHOLE_UP_TO};

/// The most names that one page of a list has.
pub(crate) const PAGE: usize = 1000;

/// The most pages without a name that are asked for to know if a directory is there: some stores give such.
const EMPTY_PAGES: usize = 8;

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
#[derive(Debug)]
pub(crate) struct Bucket {
    objects: Arc<dyn ObjectStore>,
    lists: Lists,
    index: String,
    timeout: Duration,
    lookups: Semaphore,
    fetches: Semaphore,
}

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
            lists,
            index: settings.index.clone(),
            timeout: settings.timeout,
            lookups: Semaphore::new(settings.lookups),
            fetches: Semaphore::new(settings.fetches),
        }
    }

    /// Looks what is at a key now, where `known` was before, for a source of this device.
    pub(crate) async fn look(
        &self,
        key: &Path,
        known: Option<&Object>,
        device: u64,
    ) -> Result<Looked, Failure> {
        let options = known.map_or_else(GetOptions::default, Object::if_changed);
        let look = async {
            let result = match self.objects.get_opts(key, options).await {
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
            let object = Object::new(device, &result.meta)?;
            let content = match object.length() <= WHOLE_UP_TO {
                true => Some(collect(result, object.length()).await?),
                // Slices of it are asked for; what would come of this answer is not taken.
                false => None,
            };
            Ok(Looked::Object(object, content))
        };
        self.limited(&self.lookups, look).await
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
                let (mut entries, mut page_token) = (Vec::new(), None);
                loop {
                    let options = PaginatedListOptions {
                        delimiter: Some("/".into()),
                        max_keys: Some(PAGE.min(most.saturating_sub(entries.len())).max(1)),
                        page_token,
                        ..PaginatedListOptions::default()
                    };
                    let prefix = prefix_of(directory);
                    let page = async {
                        let page = pages.list_paginated(prefix.as_deref(), options).await;
                        page.map_err(Failure::from)
                    };
                    let page = self.limited(&self.lookups, page).await?;
                    add(&mut entries, page.result);
                    page_token = page.page_token;
                    if page_token.is_none() || entries.len() >= most {
                        return Ok(entries);
                    }
                }
            }
            Lists::Whole => {
                let list = async {
                    let prefix = Some(directory).filter(|path| !path.as_ref().is_empty());
                    let list = self.objects.list_with_delimiter(prefix).await;
                    list.map_err(Failure::from)
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

    /// The bytes of a range of just this version of an object.
    pub(crate) async fn fetch(&self, object: &Object, range: Range<u64>) -> Result<Bytes, Failure> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let length = range.end - range.start;
        let fetch = async {
            let mut options = object.if_same();
            // Not all origins know ranges.
            if length < object.length() {
                options.range = Some(GetRange::Bounded(range));
            }
            let result = match self.objects.get_opts(object.key(), options).await {
                Ok(result) => result,
                Err(error) => {
                    let failure = Failure::from(error);
                    return Err(match failure.is_absence() {
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
        };
        self.limited(&self.fetches, fetch).await
    }

    /// True if a request for a slice would have its turn at once.
    pub(crate) fn may_fetch_ahead(&self) -> bool {
        self.fetches.available_permits() > 0
    }

    /// Does a request's work in its turn, within the time limit.
    async fn limited<T>(
        &self,
        turns: &Semaphore,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let in_turn = async {
            let Ok(_turn) = turns.acquire().await else {
                return Err(Failure::given_up());
            };
            work.await
        };
        let limited = tokio::time::timeout(self.timeout, in_turn).await;
        limited.unwrap_or_else(|_| Err(Failure::too_slow()))
    }
}

/// The prefix of the keys beneath a directory; none if it is the whole bucket.
fn prefix_of(directory: &Path) -> Option<String> {
    match directory.as_ref() {
        "" => None,
        path => Some(format!("{path}/")),
    }
}

fn add(entries: &mut Vec<Entry>, page: ListResult) {
    entries.extend(page.common_prefixes.into_iter().map(Entry::Directory));
    entries.extend(page.objects.into_iter().map(Entry::Object));
}

/// Refuses an object that says it is coded: it would be sent as if it were not.
fn refuse_coded(result: &GetResult) -> Result<(), Failure> {
    let coding = result.attributes.get(&Attribute::ContentEncoding);
    let coding = coding.map_or("", |coding| coding.as_ref()).trim();
    // Of S3: how it was uploaded.
    match coding {
        "" | "identity" | "aws-chunked" => Ok(()),
        coding => Err(Failure::new(
            io::ErrorKind::InvalidData,
            &format!(
                "the object has Content-Encoding {coding:?}: upload the file as it is, and a coded one beside it"
            ),
        )),
    }
}

/// The whole content of an answer, if it has the length that it should.
async fn collect(result: GetResult, length: u64) -> Result<Bytes, Failure> {
    let wrong = || {
        Failure::new(
            io::ErrorKind::ConnectionAborted,
            "the answer of the bucket has another length than it says",
        )
    };
    let length = usize::try_from(length).map_err(|_| wrong())?;
    // Copied: what comes may be a part of a buffer that is far longer.
    let mut bytes = BytesMut::with_capacity(length);
    let mut pieces = result.into_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(Failure::from)?;
        if bytes.len().saturating_add(piece.len()) > length {
            return Err(wrong());
        }
        bytes.extend_from_slice(&piece);
    }
    match bytes.len() == length {
        true => Ok(bytes.freeze()),
        false => Err(wrong()),
    }
}
