//! A server of a directory, with a tree beside it whose disk is stuck:
//! `stuck-server ROOT CONNECTIONS [SPARE]`. It prints where it listens, and serves until its standard input ends.
//! It may open so many descriptors as SPARE beyond those that it has then.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that panics has failed, as it should"
)]

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use salver_assets::{Config, DirectorySource, Engine, Mount, Symlinks};
use salver_server::{Server, Settings};

use common::settings;
use common::stuck::Stuck;

#[path = "../../../salver-server/tests/common/mod.rs"]
mod common;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (root, connections) = (Path::new(&arguments[0]), arguments[1].parse().unwrap());
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let settings = Settings {
        max_connections: connections,
        ..settings()
    };
    let config = Config::default();
    let tree = DirectorySource::open(root, Symlinks::Beneath, config.revalidate).unwrap();
    let config = Config {
        mounts: vec![
            Mount::tree("/", Arc::new(tree)),
            Mount::tree("/stuck", Arc::new(Stuck::with_cold(1))),
        ],
        ..config
    };
    let server = Server::bind(Engine::new(config).unwrap(), settings).unwrap();
    let (address, handle) = (server.addresses()[0], server.handle());
    let thread = std::thread::spawn(|| server.serve());
    // It serves as soon as it accepts.
    assert!(common::client::is_served(address, "/"));
    if let Some(spare) = arguments.get(2) {
        let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let most = u64::try_from(open).unwrap() + spare.parse::<u64>().unwrap();
        let limit = Rlimit {
            current: Some(most),
            ..getrlimit(Resource::Nofile)
        };
        setrlimit(Resource::Nofile, limit).unwrap();
    }
    println!("{address}");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    handle.shutdown();
    handle.shutdown();
    thread.join().unwrap().unwrap();
}
