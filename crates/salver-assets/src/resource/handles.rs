//! The files that one attempt opens, and reading the whole content of one.

use std::cell::RefCell;
use std::io::Read;

use bytes::Bytes;

use crate::cache_control::FileName;
use crate::error::Stop;
use crate::resource::cached_content::CachedContent;
use crate::resource::engine_state::EngineState;
use crate::resource::locate::FoundFile;
use crate::source::digest::{self, Digest};
use crate::source::identity::has_grown;
use crate::source::snapshot::{Cursor, FirstSeen, ReadContext, steady};
use crate::source::{Identity, Opened, Patience, View};

/// The bytes that an event loop may read and hash without keeping others waiting.
const AT_ONCE: u64 = 64 * 1024;

/// The files that one attempt opens, each once: what was hashed and what is sent is one handle,
/// whatever has its name by then.
pub(crate) struct Handles<'a> {
    view: &'a dyn View,
    opened: RefCell<Vec<(Vec<u8>, Opened)>>,
}

impl<'a> Handles<'a> {
    pub(crate) fn new(view: &'a dyn View) -> Self {
        Handles::with(view, Vec::new())
    }

    /// The files that an earlier attempt has opened, and those to come.
    pub(crate) fn with(view: &'a dyn View, opened: Vec<(Vec<u8>, Opened)>) -> Self {
        Handles {
            view,
            opened: RefCell::new(opened),
        }
    }

    pub(crate) fn into_opened(self) -> Vec<(Vec<u8>, Opened)> {
        self.opened.into_inner()
    }

    /// The state of the tree that they are opened in.
    pub(super) fn view(&self) -> &'a dyn View {
        self.view
    }

    /// The name of the file, beside the others of its directory.
    pub(super) fn name_of<'b>(&'b self, file: &'b FoundFile) -> FileName<'b> {
        FileName {
            view: self.view,
            path: &file.path,
        }
    }

    /// Opens the file that was found a moment ago.
    pub(crate) fn open(
        &self,
        path: &[u8],
        identity: &Identity,
        context: ReadContext<'_>,
    ) -> Result<Opened, Stop> {
        let mut opened = self.opened.borrow_mut();
        if let Some((_, file)) = opened.iter().find(|(known, _)| known == path) {
            return Ok(file.clone());
        }
        let mut file =
            self.view
                .open(path, context.patience)
                .map_err(|error| match error.kind() {
                    // It is a directory or a FIFO now.
                    std::io::ErrorKind::InvalidInput => Stop::Changed,
                    _ => error.into(),
                })?;
        if file.metadata.identity != *identity {
            if !context.grows || !has_grown(identity, &file.metadata.identity) {
                return Err(Stop::Changed);
            }
            // As much of it as there was when it was found.
            file.metadata.identity = *identity;
        }
        opened.push((path.to_vec(), file.clone()));
        Ok(file)
    }
}

/// The whole content of one version: what is in memory is shared, not copied.
pub(crate) fn read(
    shared: &EngineState,
    opened: &Opened,
    context: ReadContext<'_>,
) -> Result<CachedContent, Stop> {
    if let Some(content) = CachedContent::from_reader(&opened.reader) {
        return Ok(content);
    }
    let length = within_patience(opened, context)?;
    // Counts from now on, so that those who read at the same time do not find the same room.
    let capacity = usize::try_from(length).unwrap_or(0);
    let _reading = shared.pool.contents.charge(capacity);
    let bytes = steady(opened, context, |cursor: &mut Cursor<'_>| {
        let mut bytes = Vec::with_capacity(capacity);
        cursor.read_to_end(&mut bytes)?;
        Ok(bytes)
    })?;
    shared.pool.counters.bytes_loaded.add(length);
    Ok(CachedContent::counted(shared.pool.contents.count(bytes)))
}

/// The whole content of a version that was found, for whoever may wait. One that was written a moment ago is worth a
/// moment; what is still being written is not.
pub(super) fn read_patiently(
    shared: &EngineState,
    view: &dyn View,
    path: &[u8],
    identity: &Identity,
) -> Option<Bytes> {
    let files = Handles::new(view);
    let first_seen = FirstSeen::default();
    let context = ReadContext::patient(&first_seen);
    loop {
        let opened = files.open(path, identity, context);
        match opened.and_then(|opened| read(shared, &opened, context)) {
            Err(Stop::RetryAfter(after)) if !context.is_spent() => std::thread::sleep(after),
            content => return Some(content.ok()?.bytes),
        }
    }
}

pub(super) fn hash(
    shared: &EngineState,
    opened: &Opened,
    context: ReadContext<'_>,
) -> Result<Digest, Stop> {
    let length = within_patience(opened, context)?;
    let digest = steady(opened, context, |cursor| digest::of_reader(cursor))?;
    shared.pool.counters.bytes_loaded.add(length);
    Ok(digest)
}

fn within_patience(opened: &Opened, context: ReadContext<'_>) -> Result<u64, Stop> {
    let length = opened.metadata.identity.length;
    if context.patience == Patience::MustNotWait && length > AT_ONCE {
        return Err(Stop::WouldWait);
    }
    Ok(length)
}
