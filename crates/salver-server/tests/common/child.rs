//! A server in a process of its own, for tests of what a process has: descriptors and memory.
//!
//! The process is this test program again, told by its environment to run one test only, which
//! calls [`serve_if_child`].

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use salver_assets::{Config, DirectorySource, Engine, Mount, Symlinks};
use salver_server::{Server, Settings};

use super::settings;
use super::stuck::Stuck;

const ROOT: &str = "SALVER_TEST_ROOT";
const CONNECTIONS: &str = "SALVER_TEST_CONNECTIONS";
const SPARE: &str = "SALVER_TEST_SPARE_DESCRIPTORS";

/// A server in another process.
pub(crate) struct Child {
    pub(crate) address: SocketAddr,
    process: std::process::Child,
}

impl Child {
    /// Starts the program's test `name`, which must call [`serve_if_child`]. `spare` is how many
    /// descriptors it may open beyond those that it has when it begins to serve.
    pub(crate) fn start(name: &str, root: &Path, connections: usize, spare: Option<u64>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(ROOT, root)
            .env(CONNECTIONS, connections.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(spare) = spare {
            command.env(SPARE, spare.to_string());
        }
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, address) = line.split_once("address=")?;
            Some(address.parse().unwrap())
        });
        // What the test program says later is of no interest, but it must be able to say it.
        std::thread::spawn(move || lines.count());
        Child {
            address: address.unwrap(),
            process,
        }
    }

    pub(crate) fn pid(&self) -> String {
        self.process.id().to_string()
    }

    /// Ends the process; what it said in its log.
    pub(crate) fn end(mut self) -> String {
        drop(self.process.stdin.take());
        let mut log = String::new();
        let mut pipe = self.process.stderr.take().unwrap();
        pipe.read_to_string(&mut log).unwrap();
        assert!(self.process.wait().unwrap().success(), "{log}");
        log
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In the process that [`Child::start`] has started: serves until its standard input ends. In any
/// other: nothing.
pub(crate) fn serve_if_child() {
    let Ok(root) = std::env::var(ROOT) else {
        return;
    };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let settings = Settings {
        max_connections: std::env::var(CONNECTIONS).unwrap().parse().unwrap(),
        ..settings()
    };
    let config = Config::default();
    let tree =
        DirectorySource::open(Path::new(&root), Symlinks::Beneath, config.revalidate).unwrap();
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
    assert!(super::client::is_served(address, "/"));
    if let Ok(spare) = std::env::var(SPARE) {
        let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let most = u64::try_from(open).unwrap() + spare.parse::<u64>().unwrap();
        let limit = Rlimit {
            current: Some(most),
            ..getrlimit(Resource::Nofile)
        };
        setrlimit(Resource::Nofile, limit).unwrap();
    }
    #[allow(clippy::print_stdout)]
    {
        println!("address={address}");
    }
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    handle.shutdown();
    handle.shutdown();
    thread.join().unwrap().unwrap();
}
