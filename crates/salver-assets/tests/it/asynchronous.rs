//! Files of a source whose calls are futures.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use salver_assets::source::{
    AsyncBytes, AsyncContent, AsyncReader, AsyncSource, AsyncView, Identity, Kind, Metadata,
    SyncBridge, Timestamp, new_device,
};
use salver_assets::{Config, Mount};
use tokio::runtime::{Builder, Runtime};

use crate::common::{Site, config_of};

/// Longer than what the engine keeps in memory, in bytes.
const LONG: u64 = 3_000_000;

/// A service with two files and a third that it never finds.
#[derive(Clone, Debug)]
struct Service(u64);

/// Bytes that tell their place.
#[derive(Debug)]
struct Numbers;

impl AsyncSource for Service {
    type View = Service;

    async fn view(&self) -> io::Result<Service> {
        Ok(self.clone())
    }
}

impl AsyncView for Service {
    async fn stat(&self, path: &[u8]) -> io::Result<Metadata> {
        tokio::task::yield_now().await;
        let (kind, inode, length) = match path {
            b"" => (Kind::Directory, 0, 0),
            b"short" => (Kind::File, 1, 5),
            b"long" => (Kind::File, 2, LONG),
            b"never" => std::future::pending().await,
            _ => return Err(io::ErrorKind::NotFound.into()),
        };
        let never = Timestamp {
            seconds: 0,
            nanoseconds: 0,
        };
        let identity = Identity {
            device: self.0,
            inode,
            length,
            modified: never,
            changed: never,
        };
        Ok(Metadata { kind, identity })
    }

    async fn open(&self, path: &[u8]) -> io::Result<(Metadata, AsyncReader)> {
        let metadata = self.stat(path).await?;
        let reader = match path {
            b"short" => AsyncReader::Whole(Bytes::from_static(b"short")),
            b"long" => AsyncReader::Ranges(Arc::new(Numbers)),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        Ok((metadata, reader))
    }

    async fn names(&self, _: &[u8], _: usize) -> io::Result<Vec<Vec<u8>>> {
        Ok(vec![b"long".to_vec(), b"short".to_vec()])
    }
}

impl AsyncContent for Numbers {
    fn read(&self, range: Range<u64>) -> AsyncBytes<'_> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(numbers(range.start..range.end.min(LONG)).into())
        })
    }
}

fn numbers(range: Range<u64>) -> Vec<u8> {
    range.map(|place| (place % 251) as u8).collect()
}

/// A site of the service's files, and what drives its futures.
fn site(time_limit: Duration) -> (Site, Runtime) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    let source = SyncBridge::new(Service(new_device()), move |task| {
        handle.spawn(task);
    });
    let mount = Mount::tree("/", Arc::new(source.time_limit(time_limit)));
    let config = Config {
        compress: false,
        ..config_of(mount)
    };
    (Site::new(config), runtime)
}

#[test]
fn files_are_served_whole_and_in_part() {
    let (site, _runtime) = site(Duration::from_secs(60));
    let check = |path: &str, range: Option<&str>, status: u16, expected: Vec<u8>| {
        let fields: Vec<_> = range.map(|range| ("Range", range)).into_iter().collect();
        for state in ["cold", "warm"] {
            let answer = site.get(path, &fields);
            assert_eq!(answer.status, status, "{path} {range:?} {state}");
            assert!(answer.body == expected, "{path} {range:?} {state}");
        }
    };
    check("/short", None, 200, b"short".to_vec());
    check("/short", Some("bytes=1-2"), 206, b"ho".to_vec());
    check("/long", None, 200, numbers(0..LONG));
    check(
        "/long",
        Some("bytes=1000000-1999999"),
        206,
        numbers(1_000_000..2_000_000),
    );
    check("/none", None, 404, site.get("/none", &[]).body);
}

#[test]
fn a_call_that_takes_too_long_is_503_and_keeps_nobody() {
    let (site, _runtime) = site(Duration::from_millis(1));
    assert_eq!(site.get("/never", &[]).status, 503);
}
