//! A source behind a gate, so that a test decides when loads end.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use salver_assets::source::{Metadata, Opened};
use salver_assets::{MemorySource, Patience, Source, View};

/// Held by a test that has many threads wait for a disk: all tests of this process share in them.
pub static MANY_THREADS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// While it is closed, a load has its view of the tree and waits for the rest.
#[derive(Debug)]
pub struct Gate {
    source: Arc<dyn Source>,
    memory: Arc<MemorySource>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    closed: Mutex<bool>,
    opened: Condvar,
    failing: AtomicBool,
    waiting: AtomicUsize,
}

impl Gate {
    /// An open one, with these files behind it.
    pub fn new(files: &[(&str, &[u8])]) -> Arc<Self> {
        let memory = Arc::new(MemorySource::new());
        let gate = Gate {
            source: memory.clone(),
            memory,
            state: Arc::default(),
        };
        for (name, content) in files {
            gate.insert(name, content);
        }
        Arc::new(gate)
    }

    /// An open one before another source.
    pub fn before(source: Arc<dyn Source>) -> Arc<Self> {
        Arc::new(Gate {
            source,
            memory: Arc::default(),
            state: Arc::default(),
        })
    }

    /// Puts a file into the memory behind it.
    pub fn insert(&self, name: &str, content: &[u8]) {
        self.memory.insert(name, content.to_vec(), 0);
    }

    pub fn close(&self) {
        *self.state.closed.lock().unwrap() = true;
    }

    pub fn open(&self) {
        *self.state.closed.lock().unwrap() = false;
        self.state.opened.notify_all();
    }

    /// From now on storage fails, or does no longer.
    pub fn fail(&self, failing: bool) {
        self.state.failing.store(failing, Ordering::SeqCst);
    }

    /// So many loads wait at the gate.
    pub fn waiting(&self) -> usize {
        self.state.waiting.load(Ordering::SeqCst)
    }
}

impl Source for Gate {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::new(Behind {
            view: self.source.view(patience)?,
            state: Arc::clone(&self.state),
        }))
    }
}

struct Behind {
    view: Arc<dyn View>,
    state: Arc<State>,
}

impl Behind {
    fn pass(&self, patience: Patience) -> io::Result<()> {
        let mut closed = self.state.closed.lock().unwrap();
        if *closed {
            if patience == Patience::MustNotWait {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.state.waiting.fetch_add(1, Ordering::SeqCst);
            while *closed {
                closed = self.state.opened.wait(closed).unwrap();
            }
            self.state.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        if self.state.failing.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is on fire"));
        }
        Ok(())
    }
}

impl View for Behind {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        self.pass(patience)?;
        self.view.stat(path, patience)
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        self.view.open(path, patience)
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.view.list(path)
    }
}

/// Lets the other tasks run until it is so.
pub async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}
