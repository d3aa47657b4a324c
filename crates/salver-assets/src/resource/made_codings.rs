//! Codings of a file that are made of its content: those that are there, and asking for others.

use std::sync::Arc;

use salver_semantics::{CompressibleTypes, ContentCoding};

use crate::codings::coder::{self, MADE};
use crate::codings::table::{MadeCoding, Verdict};
use crate::resource::coding_choice::CodingChoice;
use crate::resource::coding_place::CodingPlace;
use crate::resource::engine_state::EngineState;
use crate::resource::entry::CacheEntry;
use crate::resource::head::Head;
use crate::resource::makeable::Makeable;
use crate::resource::representation::Representation;
use crate::resource::representations::Representations;
use crate::source::digest::Digest;

/// The codings of a file beside its siblings.
#[derive(Debug, Default)]
pub(super) struct MadeCodings {
    /// Those that are there.
    pub(super) made: Vec<(ContentCoding, MadeCoding)>,
    /// Those that may be made.
    pub(super) makeable: Option<Makeable>,
}

impl MadeCodings {
    /// The codings of content of this digest and length, in the mount of this number. `siblings` are those that it has,
    /// or may have, as files.
    pub(super) fn of(
        shared: &EngineState,
        mount: usize,
        (digest, length): (Digest, u64),
        siblings: &[ContentCoding],
    ) -> Self {
        let codings = &shared.pool.codings;
        let mut found = MadeCodings::default();
        let mut makeable = Vec::new();
        for &coding in MADE.iter().filter(|coding| !siblings.contains(coding)) {
            match codings.get(&shared.coding_key(digest, length, coding)) {
                Some(Verdict::Made(made)) => found.made.push((coding, made)),
                Some(Verdict::NotWorthIt) => {}
                None if codings.has_room_for(length, &coding.into()) => makeable.push(coding),
                None => {}
            }
        }
        if !makeable.is_empty() {
            found.makeable = Some(Makeable {
                mount,
                digest,
                codings: makeable,
            });
        }
        found
    }
}

/// True if content of this length that is sent with this head may be sent in another coding, with these compressible
/// types.
pub(super) fn may_be_coded(types: &CompressibleTypes, head: &Head, length: u64) -> bool {
    // RFC 9110 section 7.7, RFC 9111 section 5.2.2.6.
    let is_fixed = head.values("Cache-Control").iter().any(|line| {
        let mut directives = line.split(|&byte| byte == b',');
        directives.any(|directive| directive.trim_ascii().eq_ignore_ascii_case(b"no-transform"))
    });
    // What a rule says to be coded is.
    if is_fixed || head.value("Content-Encoding").is_some() {
        return false;
    }
    let media_type = head
        .value("Content-Type")
        .map(|value| String::from_utf8_lossy(value));
    coder::may_get_smaller(types, &media_type.unwrap_or_default(), length)
}

/// True if there is a verdict on a coding of a file by now that there was none on when its representations were built.
pub(super) fn has_more(shared: &EngineState, representations: &Representations) -> bool {
    let length = representations.found.identity.length;
    representations.makeable.as_ref().is_some_and(|makeable| {
        let mut codings = makeable.codings.iter();
        codings.any(|&coding| {
            let key = shared.coding_key(makeable.digest, length, coding);
            shared.pool.codings.get(&key).is_some()
        })
    })
}

/// Asks for the coding that a request would rather have than `selected`, which it gets, if nobody has since the last
/// look.
pub(crate) fn ask(
    shared: &Arc<EngineState>,
    entry: &CacheEntry,
    representations: &Representations,
    choice: &CodingChoice,
    selected: Option<&Arc<Representation>>,
) {
    let Some((coding, makeable)) = representations
        .makeable_for(choice, selected)
        .zip(representations.makeable.as_ref())
    else {
        return;
    };
    if !entry.is_first_to_ask_for(coding) {
        return;
    }
    let file = &representations.found;
    let wanted = shared.coding_key(makeable.digest, file.identity.length, coding);
    let (path, identity) = (file.path.clone(), file.identity);
    let place = CodingPlace::new(shared, entry.key.clone(), makeable.mount, path, identity);
    shared.pool.codings.ask(wanted, Box::new(place));
}

#[cfg(all(test, feature = "compress"))]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn what_may_be_coded() {
        let check = |fields: &[(&'static str, &'static str)], length, expected| {
            let fields = fields
                .iter()
                .map(|(name, value)| (*name, Bytes::from_static(value.as_bytes())));
            let head = Head {
                fields: fields.collect(),
                ..Head::default()
            };
            let types = CompressibleTypes::default();
            let found = may_be_coded(&types, &head, length);
            assert_eq!(found, expected, "{head:?} {length}");
        };
        let html = ("Content-Type", "text/html; charset=utf-8");
        check(&[html], 5000, true);
        check(&[html], 50, false);
        check(&[("Content-Type", "image/png")], 5000, false);
        check(&[("Content-Type", "application/octet-stream")], 5000, true);
        check(&[html, ("Cache-Control", "no-cache")], 5000, true);
        check(
            &[html, ("Cache-Control", "public, No-Transform")],
            5000,
            false,
        );
        check(
            &[
                html,
                ("Cache-Control", "no-cache"),
                ("cache-control", "no-transform"),
            ],
            5000,
            false,
        );
        check(&[html, ("Content-Encoding", "gzip")], 5000, false);
    }
}
