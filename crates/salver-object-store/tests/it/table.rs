//! The exchange table over a bucket: what it asks of a directory, a bucket with the same files answers alike.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use salver_assets::source::{Identity, Kind, Opened};
use salver_assets::{Config, DirectorySource, Mount, Patience, Source as _, Symlinks, View};
use salver_conformance::{Endpoint, Fixture, Need, Protocol, Setup, run_once};
use salver_object_store::{ObjectStoreSource, object_key};
use salver_server::{Server, Settings};

use crate::store::settings;

/// A store whose objects are the files of a directory, which holds more than any memory.
#[derive(Debug)]
struct DirectoryStore(DirectorySource);

/// The bytes that come at a time.
const PIECE: u64 = 256 * 1024;

fn path_of(key: &Path) -> Vec<u8> {
    // The only names of the table that are not their keys.
    let (mut path, text) = (Vec::new(), key.as_ref());
    let mut at = 0;
    while at < text.len() {
        let code = text
            .get(at + 1..at + 3)
            .filter(|_| text.as_bytes()[at] == b'%');
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match byte.filter(u8::is_ascii_control) {
            Some(byte) => {
                path.push(byte);
                at += 3;
            }
            None => {
                path.push(text.as_bytes()[at]);
                at += 1;
            }
        }
    }
    path
}

fn failed(key: &Path, error: std::io::Error) -> Error {
    let path = key.to_string();
    match error.kind() {
        ErrorKind::PermissionDenied => Error::PermissionDenied {
            path,
            source: "AccessDenied".into(),
        },
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput => {
            Error::NotFound {
                path,
                source: error.into(),
            }
        }
        _ => Error::Generic {
            store: "directory",
            source: error.into(),
        },
    }
}

/// The second in which a file was modified.
pub(crate) fn modified(identity: &Identity) -> SystemTime {
    let seconds = identity.modified.seconds;
    let distance = Duration::from_secs(seconds.unsigned_abs());
    match seconds < 0 {
        true => SystemTime::UNIX_EPOCH - distance,
        false => SystemTime::UNIX_EPOCH + distance,
    }
}

fn meta(key: &Path, identity: &Identity) -> ObjectMeta {
    ObjectMeta {
        location: key.clone(),
        last_modified: modified(identity).into(),
        size: identity.length,
        e_tag: Some(format!(
            "\"{}-{}.{}\"",
            identity.inode, identity.changed.seconds, identity.changed.nanoseconds
        )),
        version: None,
    }
}

impl DirectoryStore {
    fn view(&self) -> Arc<dyn View> {
        self.0.view(Patience::MayWait).unwrap()
    }
}

impl fmt::Display for DirectoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DirectoryStore")
    }
}

fn next_piece(opened: &Opened, at: u64, end: u64) -> Option<Result<Bytes>> {
    if at >= end {
        return None;
    }
    let mut buffer = vec![0; usize::try_from(PIECE.min(end - at)).unwrap()];
    let count = opened
        .reader
        .read_at(&mut buffer, at, Patience::MayWait)
        .unwrap();
    buffer.truncate(count);
    (count > 0).then(|| Ok(buffer.into()))
}

#[async_trait]
impl ObjectStore for DirectoryStore {
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
        let (view, path) = (self.view(), path_of(key));
        let opened = match view.stat(&path, Patience::MayWait) {
            // What is neither file nor directory is no object, either.
            Ok(metadata) if metadata.kind != Kind::File => Err(ErrorKind::NotFound.into()),
            Ok(_) => view.open(&path, Patience::MayWait),
            Err(error) => Err(error),
        };
        let opened = opened.map_err(|error| failed(key, error))?;
        let meta = meta(key, &opened.metadata.identity);
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            Some(range) => range.as_range(meta.size).map_err(|error| Error::Generic {
                store: "directory",
                source: Box::new(error),
            })?,
            None => 0..meta.size,
        };
        let end = range.end;
        let pieces = stream::unfold(range.start, move |at| {
            let piece = next_piece(&opened, at, end);
            async move { piece.map(|piece| (piece, at + PIECE)) }
        });
        Ok(GetResult {
            payload: GetResultPayload::Stream(pieces.boxed()),
            meta,
            range,
            attributes: Attributes::new(),
            extensions: object_store::Extensions::default(),
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        locations
    }

    /// One object of all, which tells that a directory is there.
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let key = prefix.cloned().unwrap_or_default();
        let (view, path) = (self.view(), path_of(&key));
        let metadata = view.stat(&path, Patience::MayWait);
        let is_directory = metadata.as_ref().is_ok_and(|it| it.kind == Kind::Directory);
        let found = is_directory.then(|| Ok(meta(&key, &metadata.unwrap().identity)));
        stream::iter(found).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let key = prefix.cloned().unwrap_or_default();
        let view = self.view();
        let mut result = ListResult {
            common_prefixes: Vec::new(),
            objects: Vec::new(),
            extensions: object_store::Extensions::default(),
        };
        let path = path_of(&key);
        let names = view.list(&path).map_err(|error| failed(&key, error))?;
        for name in names {
            let path = match &*path {
                b"" => name,
                path => [path, b"/", &name].concat(),
            };
            let (Some(key), Ok(metadata)) =
                (object_key(&path), view.stat(&path, Patience::MayWait))
            else {
                continue;
            };
            let key = Path::parse(key).unwrap();
            match metadata.kind {
                Kind::Directory => result.common_prefixes.push(key),
                Kind::File => result.objects.push(meta(&key, &metadata.identity)),
                Kind::Other => {}
            }
        }
        Ok(result)
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        unreachable!("nothing is written")
    }
}

/// Plays the table against a server of this source.
pub(crate) fn play(fixture: &Fixture, source: ObjectStoreSource, protocol: Protocol) {
    let server = Server::builder()
        .config(Config {
            compress: false,
            ..Config::default()
        })
        .mount(Mount::tree("/", Arc::new(source)))
        .settings(Settings {
            // One row is what HTTP/2 begins with, and is refused only where that is not spoken.
            http2: protocol != Protocol::Http1,
            ..Settings::default()
        })
        .listen(([127, 0, 0, 1], 0))
        .build()
        .unwrap();
    let endpoint = Endpoint::bare(server.addresses()[0], protocol).unwrap();
    let handle = server.handle();
    let serving = std::thread::spawn(|| server.serve());
    let mut report = run_once(&endpoint, fixture, Setup::Default).unwrap();
    let again = || run_once(&endpoint, fixture, Setup::Default);
    report.retain_repeated(again).unwrap();
    handle.shutdown();
    serving.join().unwrap().unwrap();
    println!("{report}");
    assert!(report.passed(), "{report}");
}

/// The table's tree, as a bucket can have it: keys are text.
pub(crate) fn fixture(directory: &tempfile::TempDir) -> (Fixture, DirectorySource) {
    let mut fixture = Fixture::build(directory.path()).unwrap();
    fixture.leave_out(Need::RawNames);
    let second = Duration::from_secs(1);
    let files = DirectorySource::open(&fixture.site(), Symlinks::Beneath, second).unwrap();
    (fixture, files)
}

fn check(protocol: Protocol) {
    let directory = tempfile::tempdir().unwrap();
    let (fixture, files) = fixture(&directory);
    let source = ObjectStoreSource::new(Arc::new(DirectoryStore(files)), "", settings()).unwrap();
    play(&fixture, source, protocol);
}

#[test]
fn what_is_asked_of_a_directory_is_answered_alike_over_http1() {
    check(Protocol::Http1);
}

#[test]
fn what_is_asked_of_a_directory_is_answered_alike_over_http2() {
    check(Protocol::Http2Cleartext);
}
