//! A tree on a disk that is stuck until it is told to go on.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use salver_assets::MemorySource;
use salver_assets::source::{Metadata, Opened, Patience, Source, View};

use super::client::{Client, get};
use super::until;

/// A source with a disk that is stuck: what is there is found without waiting, except for names that
/// begin with `cold`, for which whoever may wait waits until the gate opens.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    pub(crate) files: MemorySource,
    pub(crate) gate: Arc<Gate>,
}

#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    /// How many are waiting.
    pub(crate) waiting: AtomicUsize,
}

pub(crate) struct StuckView(Arc<dyn View>, Arc<Gate>);

impl Stuck {
    /// With `a`, and some files that are waited for.
    pub(crate) fn with_cold(count: usize) -> Self {
        let source = Stuck::default();
        source.files.insert("a", "alpha", 0);
        for number in 0..count {
            source.files.insert(&format!("cold{number}"), "cold", 0);
        }
        source
    }
}

/// A client whose answer waits for the disk, so that it is the server that keeps it in its place. `number` is
/// how many there were before.
pub(crate) fn occupy(address: SocketAddr, gate: &Gate, number: usize) -> Client {
    let mut client = Client::new(address);
    client.send(get(&format!("/cold{number}")));
    until("the disk is waited for", || {
        gate.waiting.load(Ordering::SeqCst) > number
    });
    client
}

impl Source for Stuck {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let view = StuckView(self.files.view(patience)?, Arc::clone(&self.gate));
        Ok(Arc::new(view))
    }
}

impl Gate {
    fn pass(&self, path: &[u8], patience: Patience) -> io::Result<()> {
        if path.starts_with(b"cold") {
            let open = self.open.lock().unwrap();
            if !*open && patience == Patience::MustNotWait {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
            drop(self.opened.wait_while(open, |open| !*open).unwrap());
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }

    pub(crate) fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    pub(crate) fn close(&self) {
        *self.open.lock().unwrap() = false;
    }
}

impl View for StuckView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        self.1.pass(path, patience)?;
        self.0.stat(path, patience)
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        self.1.pass(path, patience)?;
        self.0.open(path, patience)
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.list(path)
    }
}
