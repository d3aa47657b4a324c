//! A store in memory that counts what it is asked, and fails as it is told.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload,
    ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};
use salver_object_store::{ObjectStoreSource, Settings, object_key};

/// What a store does instead of what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It never answers.
    Hangs,
    /// It answers after this time.
    IsSlow(Duration),
    /// It answers 503.
    Fails,
    /// It refuses the credentials.
    HasExpired,
    /// It refuses this object.
    Refuses,
    /// It sends half of the content.
    Truncates,
    /// It sends a byte too many.
    Lengthens,
    /// It sends a part, and then nothing.
    Stalls,
    /// It sends another version than was asked for.
    Replaces,
    /// It says that the content is coded.
    IsCoded,
    /// There is no such bucket.
    HasNoBucket,
}

/// One request that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// `GET` or `LIST`.
    pub(crate) what: &'static str,
    pub(crate) key: String,
    pub(crate) range: Option<GetRange>,
    pub(crate) is_conditional: bool,
}

/// The store. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultStore {
    inner: Arc<InMemory>,
    asked: Arc<Mutex<Vec<Asked>>>,
    fault: Arc<Mutex<Option<Fault>>>,
    /// The requests under way, and the most that were.
    under_way: Arc<(AtomicUsize, AtomicUsize)>,
}

/// A request under way.
struct UnderWay(Arc<(AtomicUsize, AtomicUsize)>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Settings for tests: each look asks the bucket, and nothing is waited for long.
pub(crate) fn settings() -> Settings {
    Settings {
        revalidate: Duration::ZERO,
        slice_size: 1024 * 1024,
        ..Settings::default()
    }
}

impl FaultStore {
    pub(crate) fn source(&self, settings: Settings) -> ObjectStoreSource {
        ObjectStoreSource::new(Arc::new(self.clone()), "", settings).unwrap()
    }

    /// The same, of a store that lists its keys page by page.
    pub(crate) fn source_of_pages(&self, settings: Settings) -> ObjectStoreSource {
        ObjectStoreSource::of_pages(Arc::new(self.clone()), "", settings).unwrap()
    }

    /// Puts an object in the place of the file at a path, or removes it.
    pub(crate) fn put(&self, path: &str, content: Option<&[u8]>) {
        put(&*self.inner, "", path, content);
    }

    pub(crate) fn fail(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// What was asked since this was asked last.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// The most requests that were under way at once.
    pub(crate) fn most_under_way(&self) -> usize {
        self.under_way.1.load(Ordering::SeqCst)
    }

    fn begin(&self) -> UnderWay {
        let count = self.under_way.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.under_way.1.fetch_max(count, Ordering::SeqCst);
        UnderWay(Arc::clone(&self.under_way))
    }

    fn note(&self, what: &'static str, key: &Path, options: &GetOptions) -> Option<Fault> {
        self.asked.lock().unwrap().push(Asked {
            what,
            key: key.to_string(),
            range: options.range.clone(),
            is_conditional: options.if_none_match.is_some(),
        });
        *self.fault.lock().unwrap()
    }

    async fn listed(&self, prefix: Option<&Path>) -> Result<()> {
        let _under_way = self.begin();
        let key = prefix.cloned().unwrap_or_default();
        match self.note("LIST", &key, &GetOptions::default()) {
            Some(fault) => before(fault, &key).await,
            None => Ok(()),
        }
    }
}

/// Puts an object into a store, or removes it.
pub(crate) fn put(store: &dyn ObjectStore, prefix: &str, path: &str, content: Option<&[u8]>) {
    let key = object_key(path.as_bytes()).unwrap();
    let key = Path::parse(format!("{prefix}/{key}")).unwrap();
    block_on(async {
        match content {
            Some(content) => {
                let payload = PutPayload::from(content.to_vec());
                store.put(&key, payload).await.map(drop).unwrap();
            }
            None => store.delete(&key).await.unwrap(),
        }
    });
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// An answer that is a refusal, as clients of stores tell it.
fn answered(status: u16, code: &str) -> Box<dyn std::error::Error + Send + Sync> {
    format!("Server returned non-2xx status code: {status} X: <Error><Code>{code}</Code></Error>")
        .into()
}

/// What a fault does before there is an answer.
async fn before(fault: Fault, key: &Path) -> Result<()> {
    let path = key.to_string();
    match fault {
        Fault::Hangs => std::future::pending().await,
        Fault::IsSlow(time) => {
            tokio::time::sleep(time).await;
            Ok(())
        }
        Fault::Fails => Err(Error::Generic {
            store: "test",
            source: answered(503, ""),
        }),
        Fault::HasExpired => Err(Error::PermissionDenied {
            path,
            source: answered(403, "ExpiredToken"),
        }),
        Fault::Refuses => Err(Error::PermissionDenied {
            path,
            source: answered(403, "AccessDenied"),
        }),
        Fault::HasNoBucket => Err(Error::NotFound {
            path,
            source: answered(404, "NoSuchBucket"),
        }),
        Fault::Truncates | Fault::Lengthens | Fault::Stalls | Fault::Replaces | Fault::IsCoded => {
            Ok(())
        }
    }
}

/// The answer with what a fault makes of it.
async fn spoilt(fault: Fault, answer: GetResult) -> Result<GetResult> {
    let (mut meta, range) = (answer.meta.clone(), answer.range.clone());
    let mut attributes = Attributes::new();
    let content = answer.bytes().await?;
    let pieces = match fault {
        Fault::Truncates => vec![content.slice(..content.len() / 2)],
        Fault::Lengthens => vec![content, Bytes::from_static(b"!")],
        Fault::Stalls => vec![content.slice(..content.len() / 2)],
        Fault::Replaces => {
            meta.e_tag = Some("\"another\"".to_owned());
            vec![content]
        }
        Fault::IsCoded => {
            attributes.insert(Attribute::ContentEncoding, "gzip".into());
            vec![content]
        }
        _ => vec![content],
    };
    let pieces = futures_util::stream::iter(pieces.into_iter().map(Ok));
    let stream = match fault {
        Fault::Stalls => pieces.chain(futures_util::stream::pending()).boxed(),
        _ => pieces.boxed(),
    };
    Ok(GetResult {
        payload: GetResultPayload::Stream(stream),
        meta,
        range,
        attributes,
        extensions: object_store::Extensions::default(),
    })
}

impl fmt::Display for FaultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultStore")
    }
}

#[async_trait]
impl ObjectStore for FaultStore {
    async fn put_opts(&self, at: &Path, payload: PutPayload, o: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(at, payload, o).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let _under_way = self.begin();
        let Some(fault) = self.note("GET", at, &options) else {
            return self.inner.get_opts(at, options).await;
        };
        before(fault, at).await?;
        spoilt(fault, self.inner.get_opts(at, options).await?).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            match store.listed(prefix.as_ref()).await {
                Ok(()) => store.inner.list(prefix.as_ref()),
                Err(error) => futures_util::stream::iter([Err(error)]).boxed(),
            }
        };
        futures_util::stream::once(listed).flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.listed(prefix).await?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[async_trait]
impl PaginatedListStore for FaultStore {
    async fn list_paginated(
        &self,
        prefix: Option<&str>,
        options: PaginatedListOptions,
    ) -> Result<PaginatedListResult> {
        let prefix = prefix.unwrap_or_default();
        self.listed(Some(&Path::from(prefix))).await?;
        // The key behind which the next page begins is its token.
        let after = options.page_token.or(options.offset).unwrap_or_default();
        let all: Vec<_> = self.inner.list(None).collect().await;
        let mut objects = Vec::new();
        for meta in all {
            let meta = meta?;
            let key = meta.location.as_ref();
            if key.starts_with(prefix) && *key > *after {
                objects.push(meta);
            }
        }
        objects.sort_unstable_by(|one, other| one.location.cmp(&other.location));
        let most = options.max_keys.unwrap_or(usize::MAX);
        let is_last = objects.len() <= most;
        objects.truncate(most);
        let last = objects.last().map(|meta| meta.location.to_string());
        Ok(PaginatedListResult {
            result: ListResult {
                common_prefixes: Vec::new(),
                objects,
                extensions: object_store::Extensions::default(),
            },
            page_token: last.filter(|_| !is_last),
        })
    }
}
