//! What strangers can make of the log. A process has one log, so that this has a file of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use std::io;
use std::sync::{Arc, Mutex};

use common::client::{Client, get};
use common::{Running, bind_to, settings};
use salver_assets::source::{Metadata, Opened};
use salver_assets::{Config, Patience, Source, View};

/// Nobody may look into it.
#[derive(Debug)]
struct Private;

impl Source for Private {
    fn view(&self, _: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::new(Private))
    }
}

impl View for Private {
    fn stat(&self, path: &[u8], _: Patience) -> io::Result<Metadata> {
        // As some sources do it.
        let text = format!("{}: no way", String::from_utf8_lossy(path));
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }

    fn open(&self, _: &[u8], _: Patience) -> io::Result<Opened> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn list(&self, _: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        Ok(vec![])
    }
}

/// Where lines go.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const REQUESTS: usize = 60_000;

#[test]
fn strangers_can_neither_fill_the_log_nor_forge_lines_in_it() {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().with_ansi(false);
    log.with_writer(move || writer.clone()).init();
    let server = Running::start(bind_to(Arc::new(Private), settings(), Config::default()));
    let mut client = Client::new(server.address);
    let forged = "2026-11-22T01:00:00Z  INFO the certificate was renewed";
    let answer = client.get(&format!("/x%0A{}%1B[31m", forged.replace(' ', "%20")));
    assert_eq!(answer.status, 403);
    let requests: String = (0..REQUESTS).map(|n| get(&format!("/x%0A{n}"))).collect();
    let sending = client.send_beside(requests.into_bytes());
    for _ in 0..REQUESTS {
        assert_eq!(client.answer().status, 403);
    }
    sending.join().unwrap().unwrap();
    let said = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let count = said.lines().count();
    let start: String = said.chars().take(2000).collect();
    assert!((1..=8).contains(&count), "{count} lines: {start}");
    // All are lines of the server.
    assert!(said.lines().all(|line| line.contains(" WARN ")), "{start}");
    assert!(!said.contains('\x1b'), "{start:?}");
    assert!(said.contains("\\n2026-11-22T01"), "{start}");
}
