//! Selecting beside compression dictionaries (RFC 9842): who may be told of one, and who gets a coding against one.
//!
//! The length of what is sent against a dictionary says something of both. So none is used unless the request comes from
//! a secure context and whoever asks can read the answer anyway (section 9.3.2). In doubt there is none.

use std::sync::Arc;

use salver_semantics::Readability;

use crate::answer::selected::Selected;
use crate::request::Request;
use crate::resource::coding_choice::CodingChoice;
use crate::resource::dictionary_use::{Delta, DictionaryUse, WantedDelta};
use crate::resource::head::HeadKind;
use crate::resource::representation::Representation;

/// What a request gets beside dictionaries.
pub(crate) struct BesideDictionaries<'a> {
    pub(crate) selected: Option<Selected<'a>>,
    /// The coding that it would rather have, if that can be made.
    pub(crate) wanted: Option<WantedDelta>,
}

/// Decides for a request that would get what `plain` gives if there were no dictionaries.
#[inline]
pub(crate) fn select<'a>(
    request: &Request<'_>,
    choice: &CodingChoice,
    dictionaries: &'a DictionaryUse,
    plain: impl Fn() -> Option<&'a Arc<Representation>>,
) -> BesideDictionaries<'a> {
    let of = |selected| BesideDictionaries {
        selected,
        wanted: None,
    };
    let readability = request.fields.origin.readability();
    if readability == Readability::Hidden || !request.secure_context.is_secure() {
        return of(plain().map(Selected::for_any));
    }
    let available = request.fields.available_dictionary.as_deref();
    let version = available.and_then(|available| dictionaries.version(available));
    let version = version.filter(|_| !choice.is_for_part);
    if let (Readability::Readable, Some((_, version))) = (readability, version)
        && let Some(delta) = dictionaries.best_for(&choice.accept, version)
    {
        return of(Some(Selected::for_any(delta)));
    }
    let plain = plain();
    if readability == Readability::IfShared && !plain.is_some_and(is_shared) {
        return of(plain.map(Selected::for_any));
    }
    let mut found = of(plain.map(|representation| Selected {
        representation,
        kind: HeadKind::BesideDictionaries,
    }));
    // A cache on the way may ask for browsers, which it knows to keep apart by Vary.
    let Some((number, version)) = version.filter(|_| readability != Readability::Unknown) else {
        return found;
    };
    let than = plain.map(|plain| plain.coding.plain());
    for coding in choice.accept.codings_against_dictionary(than) {
        match version.delta(coding) {
            // What is longer than the same without a dictionary is nothing to have.
            Some(Delta::Made(delta))
                if plain.is_none_or(|plain| delta.length() < plain.length()) =>
            {
                return of(Some(Selected::for_any(delta)));
            }
            Some(Delta::Makeable) => {
                found.wanted.get_or_insert(WantedDelta {
                    version: number,
                    coding,
                });
            }
            Some(Delta::Made(_)) | None => {}
        }
    }
    found
}

/// True if pages of all origins may read a representation (the Fetch standard's CORS check without credentials).
fn is_shared(representation: &Arc<Representation>) -> bool {
    let allowed = representation.head.value("Access-Control-Allow-Origin");
    allowed.is_some_and(|value| &**value == b"*")
}
