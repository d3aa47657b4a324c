//! Answers beside compression dictionaries: what a request gets, and what is made or kept for later ones.

use std::sync::Arc;

use salver_semantics::Method;

use crate::answer::dictionary;
use crate::answer::selected::Selected;
use crate::engine::Engine;
use crate::request::Request;
use crate::resource::coding_choice::CodingChoice;
use crate::resource::dictionary_use::DictionaryUse;
use crate::resource::entry::CacheEntry;
use crate::resource::head::HeadKind;
use crate::resource::representation::Representation;
use crate::resource::representations::Representations;

impl Engine {
    /// The representation that a request gets which would get what `plain` gives if there were no dictionaries.
    #[inline(never)]
    pub(crate) fn select_beside_dictionaries<'a>(
        &self,
        request: &Request<'_>,
        (entry, representations): (&CacheEntry, &'a Representations),
        dictionaries: &'a DictionaryUse,
        choice: &CodingChoice,
        plain: impl Fn() -> Option<&'a Arc<Representation>>,
    ) -> Option<Selected<'a>> {
        let found = dictionary::select(request, choice, dictionaries, plain);
        if request.method == Method::Get {
            if let Some(wanted) = found.wanted {
                dictionaries.ask_for_delta(&self.shared, entry, representations, wanted);
            }
            // Whoever is told that it may keep this as a dictionary names it later.
            let is_told = found.selected.is_some_and(|selected| {
                let is_delta = selected.representation.coding.is_against_dictionary();
                is_delta || selected.kind == HeadKind::BesideDictionaries
            });
            if is_told {
                dictionaries.ask_to_keep(&self.shared, entry, representations);
            }
        }
        found.selected
    }
}
