//! A store of another maker whose objects have the times of files: what is uploaded to a bucket is of now.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use salver_assets::source::Kind;
use salver_assets::{DirectorySource, Patience, Source as _, View};
use salver_object_store::object_key;

use crate::store::put;
use crate::table::modified;

/// The longest file that is uploaded, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The store, and the times of its objects by their keys.
#[derive(Clone, Debug)]
pub(crate) struct DatedStore {
    inner: Arc<dyn ObjectStore>,
    times: Arc<HashMap<Path, SystemTime>>,
}

impl DatedStore {
    /// Uploads the files of a directory beneath a prefix, links followed; what is too long or no file is left out.
    pub(crate) fn upload(
        inner: Arc<dyn ObjectStore>,
        prefix: &str,
        files: &DirectorySource,
    ) -> Self {
        let view = files.view(Patience::MayWait).unwrap();
        let mut times = HashMap::new();
        upload(&*inner, prefix, &*view, b"", &mut times);
        DatedStore {
            inner,
            times: Arc::new(times),
        }
    }

    fn date(&self, meta: &mut ObjectMeta) {
        if let Some(time) = self.times.get(&meta.location) {
            meta.last_modified = (*time).into();
        }
    }
}

fn upload(
    store: &dyn ObjectStore,
    prefix: &str,
    view: &dyn View,
    directory: &[u8],
    times: &mut HashMap<Path, SystemTime>,
) {
    let names = view.list(directory).unwrap_or_default();
    if names.is_empty() && !directory.is_empty() {
        // A bucket has no directory without an object; nobody is shown this one.
        let keep = [directory, b"/.keep"].concat();
        put(store, prefix, str::from_utf8(&keep).unwrap(), Some(b""));
    }
    for name in names {
        let path = match directory {
            b"" => name,
            directory => [directory, b"/", &name].concat(),
        };
        let (Some(key), Ok(metadata)) = (object_key(&path), view.stat(&path, Patience::MayWait))
        else {
            continue;
        };
        let length = metadata.identity.length;
        match metadata.kind {
            Kind::Directory => upload(store, prefix, view, &path, times),
            Kind::File if length <= LONGEST => {
                let Ok(opened) = view.open(&path, Patience::MayWait) else {
                    continue;
                };
                let mut content = vec![0; usize::try_from(length).unwrap()];
                let mut have = 0;
                while have < content.len() {
                    let (rest, at) = (&mut content[have..], u64::try_from(have).unwrap());
                    have += opened.reader.read_at(rest, at, Patience::MayWait).unwrap();
                }
                put(
                    store,
                    prefix,
                    str::from_utf8(&path).unwrap(),
                    Some(&content),
                );
                let key = Path::parse(format!("{prefix}/{key}")).unwrap();
                times.insert(key, modified(&metadata.identity));
            }
            Kind::File | Kind::Other => {}
        }
    }
}

impl fmt::Display for DatedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for DatedStore {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        unreachable!("nothing is written")
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        unreachable!("nothing is written")
    }

    async fn get_opts(&self, key: &Path, options: GetOptions) -> Result<GetResult> {
        let mut result = self.inner.get_opts(key, options).await?;
        self.date(&mut result.meta);
        Ok(result)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        locations
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let store = self.clone();
        let dated = move |listed: Result<ObjectMeta>| {
            let mut meta = listed?;
            store.date(&mut meta);
            Ok(meta)
        };
        self.inner.list(prefix).map(dated).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut result = self.inner.list_with_delimiter(prefix).await?;
        result.objects.iter_mut().for_each(|meta| self.date(meta));
        Ok(result)
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        unreachable!("nothing is written")
    }
}
