//! A server over a temporary directory, and a blocking client that trusts nothing.
// Each file of tests uses a part of this.
#![allow(dead_code)]

pub(crate) mod client;
pub(crate) mod secure;
pub(crate) mod stuck;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use salver_assets::{Config, DirectorySource, Engine, Mount, Source, Symlinks};
use salver_server::{Handle, Monitor, Server, Settings};

/// No test waits longer for anything; far more than a slow machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A directory to serve.
pub(crate) struct Site(tempfile::TempDir);

impl Site {
    pub(crate) fn new() -> Self {
        Site(tempfile::tempdir().unwrap())
    }

    /// A site with `files`.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let site = Site::new();
        for (name, content) in files {
            site.write(name, content);
        }
        site
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file in place, last changed an hour ago: nobody needs to wait for it to settle.
    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.path(name), content).unwrap();
        self.settle(name);
    }

    /// Has a file look as if it had not changed for an hour.
    pub(crate) fn settle(&self, name: &str) {
        let file = File::options().write(true).open(self.path(name)).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        file.set_modified(long_ago).unwrap();
    }
}

/// One worker on any free port.
pub(crate) fn settings() -> Settings {
    Settings {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        workers: 1,
        // All clients of a test have one address.
        max_connections_per_client: Some(usize::MAX),
        ..Settings::default()
    }
}

/// The defaults, but for trusting files that were written a moment ago, as tests write theirs: so
/// that they leave by the ways that files of some age leave.
pub(crate) fn trusting() -> Config {
    Config {
        settle_time: Duration::ZERO,
        ..Config::default()
    }
}

/// Bound to `root`, not yet running.
pub(crate) fn bind(root: &Path, settings: Settings, config: Config) -> Server {
    let source = DirectorySource::open(root, Symlinks::Beneath, config.revalidate).unwrap();
    bind_to(Arc::new(source), settings, config)
}

/// Bound to any source, not yet running.
pub(crate) fn bind_to(source: Arc<dyn Source>, settings: Settings, config: Config) -> Server {
    let config = Config {
        mounts: vec![Mount::tree("/", source)],
        ..config
    };
    Server::bind(Engine::new(config).unwrap(), settings).unwrap()
}

/// A server on a thread of its own; ended when it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) handle: Handle,
    pub(crate) monitor: Monitor,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    pub(crate) fn over(root: &Path, settings: Settings, config: Config) -> Self {
        Running::start(bind(root, settings, config))
    }

    pub(crate) fn start(server: Server) -> Self {
        let places = [
            server.addresses(),
            server.tls_addresses(),
            server.redirect_addresses(),
        ];
        let (address, handle) = (places.concat()[0], server.handle());
        let monitor = server.monitor();
        let thread = Some(std::thread::spawn(|| server.serve()));
        Running {
            address,
            handle,
            monitor,
            thread,
        }
    }

    /// With defaults.
    pub(crate) fn serving(site: &Site) -> Self {
        Running::over(site.root(), settings(), trusting())
    }

    /// Whether `run` has returned.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// What `run` returned, once it has.
    pub(crate) fn result(mut self) -> io::Result<()> {
        until("the server ends", || self.has_ended());
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // At the second call nothing is waited for.
            self.handle.shutdown();
            self.handle.shutdown();
            let _ = thread.join();
        }
    }
}

/// Looks again and again until `holds`.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Bytes in which every place can be told from every other of the first 64 KiB, none of them 0.
pub(crate) fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|at| u8::try_from((at + at / 251 + seed) % 255 + 1).unwrap())
        .collect()
}
