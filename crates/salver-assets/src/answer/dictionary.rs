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

/// Decides for a request that would get `plain` if there were no dictionaries.
pub(crate) fn select<'a>(
    request: &Request<'_>,
    choice: &CodingChoice,
    dictionaries: &'a DictionaryUse,
    plain: Option<&'a Arc<Representation>>,
) -> BesideDictionaries<'a> {
    let mut found = BesideDictionaries {
        selected: plain.map(Selected::for_any),
        wanted: None,
    };
    let may_get_delta = match request.fields.origin.readability() {
        Readability::Hidden => return found,
        Readability::IfShared if !plain.is_some_and(is_shared) => return found,
        Readability::Readable | Readability::IfShared => true,
        // A cache on the way may ask for browsers, which it knows to keep apart by Vary.
        Readability::Unknown => false,
    };
    if !request.secure_context.is_secure() {
        return found;
    }
    found.selected = plain.map(|representation| Selected {
        representation,
        kind: HeadKind::BesideDictionaries,
    });
    let Some(available) = request.fields.available_dictionary.as_deref() else {
        return found;
    };
    let version = dictionaries.version(available);
    let Some((number, version)) = version.filter(|_| may_get_delta && !choice.is_for_part) else {
        return found;
    };
    let than = plain.map(|plain| plain.coding.plain());
    for coding in choice.accept.codings_against_dictionary(than) {
        match version.delta(coding) {
            // What is longer than the same without a dictionary is nothing to have.
            Some(Delta::Made(delta))
                if plain.is_none_or(|plain| delta.length() < plain.length()) =>
            {
                found.selected = Some(Selected::for_any(delta));
                found.wanted = None;
                return found;
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
