//! From found files to representations: entity tags, and which siblings can be trusted.

use std::cell::RefCell;
use std::io::Read;
use std::sync::Arc;

use salver_semantics::coding::ContentCoding;

use crate::cache_control::Named;
use crate::digest::{self, Digest, Known};
use crate::error::Stop;
use crate::held::Held;
use crate::locate::FoundFile;
use crate::log::quoted;
use crate::representation::Representation;
use crate::resource::Offer;
use crate::shared::Shared;
use crate::snapshot::{Cursor, Effort, may_change_unseen, steady};
use crate::source::{Identity, Opened, Patience, View};
use crate::strategy::{Way, way};

/// What an event loop may read and hash without being missed, in bytes.
pub(crate) const AT_ONCE: u64 = 64 * 1024;

/// Builds what `file`, of the mount of this number, offers. Content that happened to be read, or that `previous` holds and that
/// is still right, comes with it.
pub(crate) fn build(
    shared: &Shared,
    mount: usize,
    files: &Handles<'_>,
    file: FoundFile,
    previous: Option<&Offer>,
    cached: bool,
    effort: Effort,
) -> Result<Offer, Stop> {
    let named = Named {
        view: files.view,
        path: &file.path,
    };
    // Before anything is read, so that nothing is read twice, and the program's rule asked once.
    if effort.patience == Patience::MustNotWait && shared.is_in_doubt(mount, named) {
        return Err(Stop::WouldWait);
    }
    let look_again = may_change_unseen(&file.identity)
        || file
            .siblings
            .iter()
            .any(|(_, identity)| may_change_unseen(identity));
    let (digest, content) = match files.view.known(&file.path) {
        Some(known) => (Some(known.digest), None),
        None if file.identity.length <= shared.config.hash_up_to => {
            let (known, content) = original(shared, files, &file, cached, effort)?;
            (Some(known.digest), content)
        }
        None => (None, None),
    };
    let now = shared.since_epoch(effort.since);
    let mut siblings = Vec::with_capacity(file.siblings.len());
    for &(coding, identity) in &file.siblings {
        match sibling(shared, files, &file, digest, coding, identity, effort)? {
            Trust::Fits(digest) => siblings.push((coding, identity, digest)),
            Trust::Not(why) => {
                let said = &shared.said;
                if said.first(&said.siblings, now, (&file.path, coding, identity)) {
                    tracing::warn!("{}: passed over, {why}", quoted(&file.path_of(coding)));
                }
            }
        }
    }
    let negotiable = !siblings.is_empty();
    let cache_control = shared.cache_control(mount, named, now);
    let mut representations = Vec::with_capacity(1 + siblings.len());
    let all = std::iter::once((ContentCoding::Identity, file.identity, digest)).chain(siblings);
    for (coding, identity, digest) in all {
        let path = file.path_of(coding);
        let representation = Representation::new(
            coding,
            path,
            &file.path,
            identity,
            digest,
            negotiable,
            cache_control.clone(),
        );
        let held = previous
            .and_then(|offer| {
                offer
                    .representations
                    .iter()
                    .find(|old| old.coding == coding)
            })
            .filter(|old| old.identity == identity && !look_again)
            .and_then(|old| old.content.clone());
        let content = held.or_else(|| {
            content
                .clone()
                .filter(|_| coding == ContentCoding::Identity && !negotiable)
        });
        representations.push(Arc::new(match content {
            None => representation,
            content => representation.with_content(content),
        }));
    }
    Ok(Offer::new(file, representations, look_again))
}

enum Trust {
    Fits(Option<Digest>),
    Not(&'static str),
}

impl Trust {
    /// Of a sibling with this digest, that decodes to the original or does not.
    fn of(digest: Digest, fits: bool) -> Self {
        if fits {
            Trust::Fits(Some(digest))
        } else {
            Trust::Not("it does not decode to the original")
        }
    }
}

/// The original's digest, and its content if it was read and may be kept.
fn original(
    shared: &Shared,
    files: &Handles<'_>,
    file: &FoundFile,
    cached: bool,
    effort: Effort,
) -> Result<(Known, Option<Held>), Stop> {
    let coding = ContentCoding::Identity;
    if !may_change_unseen(&file.identity)
        && let Some(known) = shared.digests.get(&file.identity, coding)
    {
        return Ok((known, None));
    }
    let opened = files.open(&file.path, &file.identity, effort)?;
    // What will be sent from memory is read once, for that and for its hash.
    let (digest, content) = if way(&shared.situation(&file.identity, cached)) == Way::Read {
        let content = read(shared, &opened, effort)?;
        (digest::of_bytes(&content.bytes), Some(content))
    } else {
        (hash(shared, &opened, effort)?, None)
    };
    let known = Known {
        digest,
        decoded: None,
    };
    shared.digests.remember(&file.identity, coding, known);
    Ok((known, content))
}

/// Whether a sibling holds the original, and its own digest.
fn sibling(
    shared: &Shared,
    files: &Handles<'_>,
    file: &FoundFile,
    original: Option<Digest>,
    coding: ContentCoding,
    identity: Identity,
    effort: Effort,
) -> Result<Trust, Stop> {
    let hash_up_to = shared.config.hash_up_to;
    let path = file.path_of(coding);
    let known = files.view.known(&path);
    if let Some(Known {
        digest,
        decoded: Some(decoded),
    }) = known
    {
        return Ok(Trust::of(digest, Some(decoded) == original));
    }
    let Some(original) = original else {
        if identity.modified < file.identity.modified {
            return Ok(Trust::Not("it is older than the original"));
        }
        if identity.length > hash_up_to {
            return Ok(Trust::Fits(None));
        }
        let opened = files.open(&path, &identity, effort)?;
        return Ok(Trust::Fits(Some(hash(shared, &opened, effort)?)));
    };
    if identity.length > hash_up_to {
        return Ok(Trust::Not("it is far longer than the original"));
    }
    let remembered = shared.digests.get(&identity, coding);
    let known = match remembered.filter(|_| !may_change_unseen(&identity)) {
        Some(known) => known,
        None => {
            // Decoding takes longer than a loop has.
            if effort.patience == Patience::MustNotWait {
                return Err(Stop::WouldWait);
            }
            let opened = match files.open(&path, &identity, effort) {
                Err(Stop::Io(error)) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    return Ok(Trust::Not("it may not be read"));
                }
                result => result?,
            };
            let length = file.identity.length;
            let known = steady(&opened, effort, |cursor| {
                digest::of_coded(cursor, coding, length)
            })?;
            shared.counters.bytes_loaded.add(identity.length);
            shared.digests.remember(&identity, coding, known);
            known
        }
    };
    Ok(Trust::of(known.digest, known.decoded == Some(original)))
}

/// The files that one attempt opens, each once: what was hashed and what is sent is one handle,
/// whatever has its name by then.
pub(crate) struct Handles<'a> {
    view: &'a dyn View,
    opened: RefCell<Vec<(Vec<u8>, Opened)>>,
}

impl<'a> Handles<'a> {
    pub(crate) fn new(view: &'a dyn View) -> Self {
        Handles {
            view,
            opened: RefCell::default(),
        }
    }

    /// Opens the file that was found a moment ago.
    pub(crate) fn open(
        &self,
        path: &[u8],
        identity: &Identity,
        effort: Effort,
    ) -> Result<Opened, Stop> {
        let mut opened = self.opened.borrow_mut();
        if let Some((_, file)) = opened.iter().find(|(known, _)| known == path) {
            return Ok(file.clone());
        }
        let file = self
            .view
            .open(path, effort.patience)
            .map_err(|error| match error.kind() {
                // It is a directory or a FIFO now.
                std::io::ErrorKind::InvalidInput => Stop::Changed,
                _ => error.into(),
            })?;
        if file.metadata.identity != *identity {
            return Err(Stop::Changed);
        }
        opened.push((path.to_vec(), file.clone()));
        Ok(file)
    }
}

/// The whole content of one version: what is in memory is shared, not copied.
pub(crate) fn read(shared: &Shared, opened: &Opened, effort: Effort) -> Result<Held, Stop> {
    if let Some(held) = Held::shared(&opened.reader) {
        return Ok(held);
    }
    let length = within_patience(opened, effort)?;
    let bytes = steady(opened, effort, |cursor: &mut Cursor<'_>| {
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        cursor.read_to_end(&mut bytes)?;
        Ok(bytes)
    })?;
    shared.counters.bytes_loaded.add(length);
    Ok(Held::kept(shared.contents.count(bytes)))
}

fn hash(shared: &Shared, opened: &Opened, effort: Effort) -> Result<Digest, Stop> {
    let length = within_patience(opened, effort)?;
    let digest = steady(opened, effort, |cursor| digest::of_reader(cursor))?;
    shared.counters.bytes_loaded.add(length);
    Ok(digest)
}

fn within_patience(opened: &Opened, effort: Effort) -> Result<u64, Stop> {
    let length = opened.metadata.identity.length;
    if effort.patience == Patience::MustNotWait && length > AT_ONCE {
        return Err(Stop::WouldWait);
    }
    Ok(length)
}
