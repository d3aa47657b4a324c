//! From found files to representations with their entity tags.

use std::sync::Arc;

use salver_semantics::coding::ContentCoding;

use crate::error::Stop;
use crate::resource::cached_content::Held;
use crate::resource::entry::Offer;
use crate::resource::handles::{Handles, hash, read};
use crate::resource::locate::FoundFile;
use crate::resource::representation::{Promise, Representation};
use crate::resource::shared::Shared;
use crate::resource::siblings::{Siblings, Trust};
use crate::source::Patience;
use crate::source::digest::{self, Digest, Hashed};
use crate::source::identity::{changed_within, may_change_unseen};
use crate::source::snapshot::Effort;
use crate::strategy::{Way, way};

/// What is known of an original: its digest, if it is short enough to be hashed at once, and its content if
/// that was read and may be kept.
#[derive(Debug, Default)]
pub(crate) struct Original {
    digest: Option<Digest>,
    content: Option<Held>,
}

impl Original {
    /// Reads the file, of the mount of this number, if its digest is not known.
    pub(crate) fn read(
        shared: &Shared,
        mount: usize,
        files: &Handles<'_>,
        file: &FoundFile,
        cached: bool,
        effort: Effort<'_>,
    ) -> Result<Self, Stop> {
        // Before anything is read, so that nothing is read twice, and the program's rule asked once.
        if effort.patience == Patience::MustNotWait && shared.is_in_doubt(mount, files.named(file))
        {
            return Err(Stop::WouldWait);
        }
        let known = |digest| Original {
            digest: Some(digest),
            content: None,
        };
        if let Some(hashed) = files.view().known(&file.path) {
            return Ok(known(hashed.digest));
        }
        if file.identity.length > shared.config.hash_up_to {
            return Ok(Original::default());
        }
        let coding = ContentCoding::Identity;
        if !may_change_unseen(&file.identity)
            && let Some(hashed) = shared.digests.get(&file.identity, coding)
        {
            return Ok(known(hashed.digest));
        }
        let opened = files.open(&file.path, &file.identity, effort)?;
        // What will be sent from memory is read once, for that and for its hash.
        let (digest, content) = if way(&shared.situation(&file.identity, cached)) == Way::Read {
            let content = read(shared, &opened, effort)?;
            (digest::of_bytes(&content.bytes), Some(content))
        } else {
            (hash(shared, &opened, effort)?, None)
        };
        let hashed = Hashed::plain(digest);
        shared.digests.remember(&file.identity, coding, hashed);
        let digest = Some(digest);
        Ok(Original { digest, content })
    }
}

/// Builds what `file`, of the mount of this number, offers. Content that happened to be read, or that
/// `previous` holds and that is still right, comes with it.
pub(crate) fn build(
    siblings: &mut Siblings<'_>,
    mount: usize,
    files: &Handles<'_>,
    file: FoundFile,
    original: Original,
    previous: Option<&Offer>,
    effort: Effort<'_>,
) -> Result<Offer, Stop> {
    let look_again = may_change_unseen(&file.identity)
        || file
            .siblings
            .iter()
            .any(|(_, identity)| may_change_unseen(identity));
    let Original { digest, content } = original;
    let trusts = siblings.judge(files, &file, digest)?;
    let open = trusts.contains(&Trust::Open);
    let fits = file.siblings.iter().zip(trusts);
    let fits = fits.filter_map(|(&(coding, identity), trust)| match trust {
        Trust::Fits(digest) => Some((coding, identity, digest)),
        Trust::Not | Trust::Open => None,
    });
    let shared = siblings.shared();
    let all = std::iter::once((ContentCoding::Identity, file.identity, digest)).chain(fits);
    let all: Vec<_> = all.collect();
    let is_alone = all.len() == 1;
    // Who may get another one tomorrow has a choice, too.
    let negotiable = !is_alone || open;
    let now = shared.since_epoch(effort.since);
    let cache_control = shared.cache_control(mount, files.named(&file), now);
    let mut representations = Vec::with_capacity(all.len());
    for (coding, identity, digest) in all {
        let path = file.path_of(coding);
        // What is not hashed and changed a moment ago may change again, or grow, under one identity.
        let may_change = || {
            changed_within(&identity, shared.config.restless)
                || may_change_unseen(&identity)
                || (effort.grows && coding == ContentCoding::Identity)
        };
        let promise = match digest {
            Some(digest) => Promise::Digest(digest),
            None if may_change() => Promise::Prefix,
            None => Promise::Identity,
        };
        let representation = Representation::new(
            coding,
            path,
            &file.path,
            identity,
            promise,
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
        let content = held.or_else(|| content.clone().filter(|_| is_alone));
        representations.push(Arc::new(match content {
            None => representation,
            content => representation.with_content(content),
        }));
    }
    let look_again = look_again || representations.iter().any(|r| r.promise == Promise::Prefix);
    Ok(Offer::new(
        file,
        representations,
        look_again,
        open,
        effort.grows,
    ))
}
