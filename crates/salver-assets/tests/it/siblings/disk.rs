//! A disk that has trouble with some paths.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex};

use salver_assets::source::{Metadata, Opened};
use salver_assets::{Patience, Source, View};

use super::LONG;

/// The trouble of whoever asks for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The storage says this.
    Fails(io::ErrorKind),
    /// Nothing, until the trouble is over.
    Hangs,
    /// Nothing, until so many are in the same trouble.
    Meets(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Stat,
    Open,
}

/// A disk that has trouble with some paths, and never answers without waiting if it is `far`.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) files: Arc<dyn Source>,
    pub(crate) far: bool,
    pub(crate) state: Arc<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    troubles: Mutex<HashMap<(Vec<u8>, Call), Trouble>>,
    changed: Condvar,
    /// Who meets whom, and how many ever did at once.
    pub(crate) meeting: Mutex<(usize, usize)>,
}

impl State {
    pub(crate) fn have(&self, path: &str, call: Call, trouble: Option<Trouble>) {
        let key = (path.as_bytes().to_vec(), call);
        let mut troubles = self.troubles.lock().unwrap();
        match trouble {
            Some(trouble) => troubles.insert(key, trouble),
            None => troubles.remove(&key),
        };
        self.changed.notify_all();
    }

    pub(crate) fn pass(&self, path: &[u8], call: Call) -> io::Result<()> {
        let key = (path.to_vec(), call);
        let troubles = self.troubles.lock().unwrap();
        let trouble = troubles.get(&key).copied();
        match trouble {
            None => Ok(()),
            Some(Trouble::Fails(kind)) => Err(kind.into()),
            Some(Trouble::Hangs) => {
                let hangs =
                    |troubles: &mut HashMap<_, _>| troubles.get(&key) == Some(&Trouble::Hangs);
                let waited = self.changed.wait_timeout_while(troubles, 2 * LONG, hangs);
                drop(waited.unwrap());
                Ok(())
            }
            Some(Trouble::Meets(enough)) => {
                drop(troubles);
                let mut meeting = self.meeting.lock().unwrap();
                meeting.0 += 1;
                meeting.1 = meeting.1.max(meeting.0);
                self.changed.notify_all();
                let alone = |(_, most): &mut (usize, usize)| *most < enough;
                let waited = self.changed.wait_timeout_while(meeting, LONG, alone);
                waited.unwrap().0.0 -= 1;
                Ok(())
            }
        }
    }
}

pub(crate) struct DiskView {
    files: Arc<dyn View>,
    far: bool,
    state: Arc<State>,
}

impl Source for Disk {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::new(DiskView {
            files: self.files.view(patience)?,
            far: self.far,
            state: Arc::clone(&self.state),
        }))
    }
}

impl DiskView {
    pub(crate) fn pass(&self, path: &[u8], call: Call, patience: Patience) -> io::Result<()> {
        let hangs = || {
            let troubles = self.state.troubles.lock().unwrap();
            let trouble = troubles.get(&(path.to_vec(), call)).copied();
            matches!(trouble, Some(Trouble::Hangs | Trouble::Meets(_)))
        };
        if patience == Patience::MustNotWait && (self.far || hangs()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.state.pass(path, call)
    }
}

impl View for DiskView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        self.pass(path, Call::Stat, patience)?;
        self.files.stat(path, patience)
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        self.pass(path, Call::Open, patience)?;
        self.files.open(path, patience)
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.files.list(path)
    }
}
