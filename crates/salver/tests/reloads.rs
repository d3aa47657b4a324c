//! Reloads and upgrades of a server under load, over HTTP/1.1 and HTTP/2 with TLS and without: no request fails. At
//! each tenth the configuration is broken: then the fault is said, and all goes on as before.
//!
//! `make reloads` does it a thousand times and twenty times.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

mod common;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{PATIENCE, Running, addr_in, salver};
use h2::client::SendRequest;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use salver_test::Certificate;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The page that every request is answered by: of one root or of the other.
const PAGES: [&str; 2] = ["the page of root a", "the page of root b"];

/// What the requests of one client came to.
#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    connections: AtomicU64,
    /// Requests that the server said it would not answer, to be sent again elsewhere (RFC 9113 section 6.8).
    refused: AtomicU64,
}

/// What a client needs.
struct Load {
    ends: AtomicBool,
    clear: SocketAddr,
    tls: SocketAddr,
    /// Those that want HTTP/1.1 and HTTP/2.
    connectors: [TlsConnector; 2],
    http1: Counts,
    http1_tls: Counts,
    http2: Counts,
    http2_tls: Counts,
}

impl Load {
    fn goes_on(&self) -> bool {
        !self.ends.load(Ordering::Relaxed)
    }

    async fn tls(
        &self,
        connector: &TlsConnector,
    ) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static + use<> {
        let tcp = TcpStream::connect(self.tls).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        connector.connect(name, tcp).await.unwrap()
    }
}

/// The connectors of clients that trust this certificate and want HTTP/1.1, and HTTP/2.
fn connectors(certificate: &Certificate) -> [TlsConnector; 2] {
    ["http/1.1", "h2"].map(|protocol| {
        let mut trusted = RootCertStore::empty();
        trusted.add(certificate.der.clone()).unwrap();
        let mut config = ClientConfig::builder()
            .with_root_certificates(trusted)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        TlsConnector::from(Arc::new(config))
    })
}

/// Asks over HTTP/1.1 until the end. A connection is used again unless the server says that it ends.
async fn http1(load: Arc<Load>, over_tls: bool) {
    let counts = if over_tls {
        &load.http1_tls
    } else {
        &load.http1
    };
    while load.goes_on() {
        counts.connections.fetch_add(1, Ordering::Relaxed);
        match over_tls {
            true => ask_http1(&load, counts, load.tls(&load.connectors[0]).await).await,
            false => {
                let stream = TcpStream::connect(load.clear).await.unwrap();
                ask_http1(&load, counts, stream).await;
            }
        }
    }
}

async fn ask_http1(load: &Load, counts: &Counts, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    // Not for ever, so that there are new connections all the time.
    for _ in 0..100 {
        if !load.goes_on() {
            return;
        }
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut all = Vec::new();
        let head = loop {
            let count = stream.read_buf(&mut all).await.unwrap();
            assert_ne!(count, 0, "the connection ended after {all:?}");
            let text = str::from_utf8(&all).unwrap();
            if let Some((head, content)) = text.split_once("\r\n\r\n")
                && PAGES.contains(&content)
            {
                break head;
            }
        };
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        counts.answered.fetch_add(1, Ordering::Relaxed);
        if head.contains("Connection: close") {
            return;
        }
    }
}

/// Asks over HTTP/2 until the end, several requests at a time on a connection.
async fn http2(load: Arc<Load>, over_tls: bool) {
    let counts = if over_tls {
        &load.http2_tls
    } else {
        &load.http2
    };
    while load.goes_on() {
        counts.connections.fetch_add(1, Ordering::Relaxed);
        let sender = match over_tls {
            true => {
                let stream = load.tls(&load.connectors[1]).await;
                let (sender, connection) = h2::client::handshake(stream).await.unwrap();
                tokio::spawn(connection);
                sender
            }
            false => {
                let stream = TcpStream::connect(load.clear).await.unwrap();
                let (sender, connection) = h2::client::handshake(stream).await.unwrap();
                tokio::spawn(connection);
                sender
            }
        };
        let asking: Vec<_> = (0..4)
            .map(|_| tokio::spawn(ask_http2(Arc::clone(&load), sender.clone(), over_tls)))
            .collect();
        for one in asking {
            one.await.unwrap();
        }
    }
}

async fn ask_http2(load: Arc<Load>, mut sender: SendRequest<Bytes>, over_tls: bool) {
    let counts = if over_tls {
        &load.http2_tls
    } else {
        &load.http2
    };
    for _ in 0..100 {
        if !load.goes_on() {
            return;
        }
        sender = match sender.ready().await {
            Ok(sender) => sender,
            Err(error) => return goes_away(&error),
        };
        let request = http::Request::get("http://localhost/").body(()).unwrap();
        let answer = match sender.send_request(request, true) {
            Ok((answer, _)) => answer,
            Err(error) => return goes_away(&error),
        };
        let answer = match answer.await {
            Ok(answer) => answer,
            Err(error) => {
                goes_away(&error);
                counts.refused.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        assert_eq!(answer.status(), 200);
        let (mut body, mut content) = (answer.into_body(), Vec::new());
        while let Some(piece) = body.data().await {
            let piece = piece.unwrap();
            body.flow_control().release_capacity(piece.len()).unwrap();
            content.extend_from_slice(&piece);
        }
        assert!(PAGES.iter().any(|page| page.as_bytes() == content));
        counts.answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// The only error that is none: the server has said which requests it will not answer.
#[track_caller]
fn goes_away(error: &h2::Error) {
    let is_clean = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
    let is_refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
    assert!(is_clean || is_refused, "{error:?}");
}

/// Asks as all clients do, until the end or until one of them has failed.
fn ask(load: &Arc<Load>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let clients = [
            tokio::spawn(http1(Arc::clone(load), false)),
            tokio::spawn(http1(Arc::clone(load), true)),
            tokio::spawn(http2(Arc::clone(load), false)),
            tokio::spawn(http2(Arc::clone(load), true)),
        ];
        while load.goes_on() && !clients.iter().any(tokio::task::JoinHandle::is_finished) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        load.ends.store(true, Ordering::Relaxed);
        for client in clients {
            client.await.unwrap();
        }
    });
}

/// The files of the server.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a configuration by which this root is shown.
    fn configure(&self, root: &str, ports: Option<(SocketAddr, SocketAddr)>, more: &str) {
        let ports = ports.map(|(clear, tls)| (clear.port(), tls.port()));
        let (clear, tls) = ports.unwrap_or_default();
        let text = format!(
            "port = {tls}\nhttp-port = {clear}\nroot = \"{root}\"\ndrain = \"3s\"\n{more}\n\
             [tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\n\
             [process]\npid-file = \"salver.pid\"\n"
        );
        // As whole as deploys do it.
        fs::write(self.path("next.toml"), text).unwrap();
        fs::rename(self.path("next.toml"), self.path("salver.toml")).unwrap();
    }

    fn pid(&self) -> i32 {
        let text = fs::read_to_string(self.path("salver.pid")).unwrap();
        text.trim().parse().unwrap()
    }

    /// Runs `salver reload` or `salver upgrade`: whether it went well, and what it said.
    fn tell(&self, command: &str) -> (bool, String) {
        let mut telling: Command = salver();
        telling
            .args([command, "--pid-file"])
            .arg(self.path("salver.pid"));
        let output = telling.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        (output.status.success(), said)
    }
}

fn count(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

fn alive(pid: i32) -> bool {
    test_kill_process(Pid::from_raw(pid).unwrap()).is_ok()
}

#[test]
fn no_request_fails_however_often_the_configuration_or_the_program_changes() {
    let (reloads, upgrades) = (count("RELOADS", 30), count("UPGRADES", 3));
    let files = Files {
        folder: tempfile::tempdir().unwrap(),
    };
    for (name, page) in ["a", "b"].into_iter().zip(PAGES) {
        fs::create_dir(files.path(name)).unwrap();
        fs::write(files.path(name).join("index.html"), page).unwrap();
    }
    let certificate = Certificate::of(&["localhost"]);
    certificate.write(files.folder.path());
    files.configure("a", None, "");
    let mut command = salver();
    command.args(["serve", "-c"]).arg(files.path("salver.toml"));
    let mut server = Running::spawn(command);
    let tls = addr_in(&server.wait_for_line("https://"));
    let clear = addr_in(&server.wait_for_line("http://"));
    let until = Instant::now() + PATIENCE;
    while !Path::new(&files.path("salver.pid")).exists()
        || fs::read_to_string(files.path("salver.pid"))
            .unwrap()
            .is_empty()
    {
        assert!(Instant::now() < until, "it does not say its number");
        std::thread::sleep(Duration::from_millis(5));
    }
    let ports = Some((clear, tls));

    let load = Arc::new(Load {
        ends: AtomicBool::new(false),
        clear,
        tls,
        connectors: connectors(&certificate),
        http1: Counts::default(),
        http1_tls: Counts::default(),
        http2: Counts::default(),
        http2_tls: Counts::default(),
    });
    let clients = std::thread::spawn({
        let load = Arc::clone(&load);
        move || ask(&load)
    });
    let check = || assert!(!clients.is_finished(), "a client has failed");

    let (mut done, mut refused) = (0, 0);
    let mut pids = vec![files.pid()];
    let mut tell = |command: &str, number: usize, expected: &str| {
        let is_broken = number % 10 == 9;
        let root = ["a", "b"][number % 2];
        files.configure(root, ports, if is_broken { "rot = \"a\"" } else { "" });
        let (is_well, said) = files.tell(command);
        check();
        if is_broken {
            assert!(
                !is_well && said.contains("salver.toml:") && said.contains("rot"),
                "{said}"
            );
            refused += 1;
        } else {
            assert!(is_well && said.contains(expected), "{said}");
            done += 1;
        }
        is_well
    };
    for number in 0..reloads {
        tell("reload", number, "reloaded");
    }
    for number in 0..upgrades {
        if tell("upgrade", number, "upgraded") {
            // It is the one as soon as the old one has let go.
            let before = *pids.last().unwrap();
            let until = Instant::now() + PATIENCE;
            while files.pid() == before {
                assert!(Instant::now() < until, "nobody has taken over");
                std::thread::sleep(Duration::from_millis(5));
            }
            pids.push(files.pid());
        }
        // Some requests by the new one.
        std::thread::sleep(Duration::from_millis(50));
    }
    check();
    load.ends.store(true, Ordering::Relaxed);
    clients.join().unwrap();
    let last = *pids.last().unwrap();
    kill_process(Pid::from_raw(last).unwrap(), Signal::TERM).unwrap();
    // Everything that has served here ends; its lines end with it.
    drop(server);
    let until = Instant::now() + PATIENCE;
    while pids.iter().skip(1).any(|pid| alive(*pid)) {
        assert!(Instant::now() < until, "some process has not ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    let of = |counts: &Counts| {
        let get = |of: &AtomicU64| of.load(Ordering::Relaxed);
        assert!(get(&counts.answered) > 0);
        format!(
            "{} answered on {} connections, {} refused by GOAWAY and asked again, 0 failed",
            get(&counts.answered),
            get(&counts.connections),
            get(&counts.refused)
        )
    };
    println!(
        "{done} reloads and upgrades, {refused} refused, {} processes",
        pids.len()
    );
    println!("HTTP/1.1: {}", of(&load.http1));
    println!("HTTP/1.1 with TLS: {}", of(&load.http1_tls));
    println!("HTTP/2: {}", of(&load.http2));
    println!("HTTP/2 with TLS: {}", of(&load.http2_tls));
}
