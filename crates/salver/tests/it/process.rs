//! The process of a server that runs for good: reloaded, replaced, managed, confined.

mod confined;
mod managed;
mod reloaded;
mod units;
mod upgraded;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::{PATIENCE, Running, addr_in, run, salver, site};

/// A server with a configuration file, which is written anew by tests.
struct Configured {
    folder: TempDir,
    server: Running,
}

impl Configured {
    /// Serves the root `a` of two, `a` and `b`, with further lines in the file.
    fn start(more: &str) -> Configured {
        Configured::start_with(more, |_| {})
    }

    fn start_with(more: &str, prepare: impl FnOnce(&mut Command)) -> Configured {
        let folder = site(&[("a/index.html", "page a"), ("b/index.html", "page b")]);
        write(&folder, &format!("port = 0\nroot = \"a\"\n{more}"));
        let mut command = salver();
        command
            .args(["serve", "-c"])
            .arg(folder.path().join("salver.toml"));
        prepare(&mut command);
        let mut server = Running::spawn(command);
        server.addr = addr_in(&server.wait_for_line("://"));
        let mut configured = Configured { folder, server };
        configured.wait_for_pid(None);
        configured
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the file anew: what it said of the port, and this.
    fn configure(&self, text: &str) {
        write(&self.folder, &format!("port = 0\n{text}"));
    }

    /// Waits until the file has the number of a process that is not `before`.
    fn wait_for_pid(&mut self, before: Option<i32>) -> i32 {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = fs::read_to_string(self.path("salver.pid")).unwrap_or_default();
            match text.trim().parse() {
                Ok(pid) if Some(pid) != before => return pid,
                _ if !self.has_pid_file() => return 0,
                _ => {}
            }
            assert!(Instant::now() < until, "no number of a process");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn has_pid_file(&self) -> bool {
        let text = fs::read_to_string(self.path("salver.toml")).unwrap();
        text.contains("pid-file")
    }

    /// Runs `salver reload` or `salver upgrade`: its exit code and what it said.
    fn tell(&self, command: &str) -> (i32, String) {
        let file = self.path("salver.pid");
        let (code, out, said) = run(&[command, "--pid-file", file.to_str().unwrap()]);
        assert_eq!(out, "");
        (code, said)
    }
}

const PID_FILE: &str = "[process]\npid-file = \"salver.pid\"\n";

fn write(folder: &TempDir, text: &str) {
    let next = folder.path().join("next.toml");
    fs::write(&next, text).unwrap();
    fs::rename(next, folder.path().join("salver.toml")).unwrap();
}

/// A connection over HTTP/1.1 that stays open.
struct Kept(TcpStream);

impl Kept {
    fn to(address: SocketAddr) -> Kept {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Kept(stream)
    }

    /// The answer to one more request, head and content.
    fn get(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
        self.0.write_all(request.as_bytes()).unwrap();
        let mut all = Vec::new();
        loop {
            let mut buffer = [0; 4096];
            let count = self.0.read(&mut buffer).unwrap();
            all.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8(all.clone()).unwrap();
            let (head, content) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            if length.is_some_and(|length| length == content.len().to_string()) {
                return text;
            }
            assert_ne!(count, 0, "it ended: {text}");
        }
    }
}

/// The content of an answer over HTTP/2 without TLS.
fn http2_get(address: SocketAddr) -> Vec<u8> {
    block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (sender, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let mut sender = sender.ready().await.unwrap();
        let request = http::Request::get("http://a.test/").body(()).unwrap();
        let (answer, _) = sender.send_request(request, true).unwrap();
        let mut body = answer.await.unwrap().into_body();
        let mut content = Vec::new();
        while let Some(piece) = body.data().await {
            content.extend_from_slice(&piece.unwrap());
        }
        content
    })
}

/// The content of an answer over HTTP/3, on a connection of its own.
#[cfg(feature = "http3")]
fn http3_get(address: SocketAddr, certificate: &Path) -> Vec<u8> {
    use bytes::Buf as _;
    use rustls::pki_types::pem::PemObject as _;
    let mut trusted = rustls::RootCertStore::empty();
    let certificate = rustls::pki_types::CertificateDer::from_pem_file(certificate);
    trusted.add(certificate.unwrap()).unwrap();
    let mut tls = rustls::ClientConfig::builder()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let tls = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let config = quinn::ClientConfig::new(std::sync::Arc::new(tls));
    block_on(async {
        let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
        let connecting = endpoint.connect_with(config, address, "localhost").unwrap();
        let connection = h3_quinn::Connection::new(connecting.await.unwrap());
        let (mut driver, mut sender) = h3::client::new(connection).await.unwrap();
        let asking = async {
            let request = http::Request::get("https://localhost/").body(()).unwrap();
            let mut stream = sender.send_request(request).await.unwrap();
            stream.finish().await.unwrap();
            stream.recv_response().await.unwrap();
            let mut content = Vec::new();
            while let Some(mut piece) = stream.recv_data().await.unwrap() {
                let length = piece.remaining();
                content.extend_from_slice(&piece.copy_to_bytes(length));
            }
            content
        };
        tokio::select! {
            content = asking => content,
            error = std::future::poll_fn(|context| driver.poll_close(context)) => {
                panic!("it ended: {error}")
            }
        }
    })
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() })
}

fn is_there(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}/exe")).read_link().is_ok()
}

/// Waits until a process has ended.
fn wait_for_end(pid: i32) {
    let until = Instant::now() + PATIENCE;
    while is_there(pid) {
        assert!(Instant::now() < until, "process {pid} does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until this is so.
fn end_of(is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "it does not come to that");
        std::thread::sleep(Duration::from_millis(10));
    }
}
