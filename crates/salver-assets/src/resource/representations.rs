//! The representations of a file, and which of them a request gets.

use std::sync::Arc;

use salver_semantics::ContentCoding;

use crate::resource::coding_choice::CodingChoice;
use crate::resource::dictionary_use::DictionaryUse;
use crate::resource::head::{OwnField, vary};
use crate::resource::locate::FoundFile;
use crate::resource::makeable::Makeable;
use crate::resource::representation::Representation;
use crate::source::growth::Sample;

/// The representations of one file, and the metadata that proves that they are still right.
#[derive(Clone, Debug)]
pub(crate) struct Representations {
    /// The files that were found, siblings that turned out wrong included.
    pub(crate) found: FoundFile,
    /// Invariant: not empty, the original first.
    pub(crate) list: Vec<Arc<Representation>>,
    /// Coding and length of each, side by side: choosing reads no representation but the chosen.
    choices: Vec<(ContentCoding, u64)>,
    /// True if an equal identity may hide a change, or a tag is weak for a while: then the next look builds
    /// it again.
    pub(crate) look_again: bool,
    /// True if the verdict on some sibling is not known yet.
    pub(crate) undecided: bool,
    /// What the file had when it was seen growing, if it was.
    pub(crate) grown: Option<Sample>,
    /// The codings that it may have besides, once they are made.
    pub(crate) makeable: Option<Makeable>,
    /// What it has to do with compression dictionaries.
    pub(crate) dictionaries: Option<Arc<DictionaryUse>>,
    /// The fields that rules add to errors about the file.
    pub(crate) error_fields: Vec<OwnField>,
}

impl Representations {
    pub(crate) fn new(
        found: FoundFile,
        list: Vec<Arc<Representation>>,
        look_again: bool,
        undecided: bool,
    ) -> Self {
        let choices = list.iter().map(|r| (r.coding.plain(), r.length()));
        Representations {
            choices: choices.collect(),
            found,
            list,
            look_again,
            undecided,
            grown: None,
            makeable: None,
            dictionaries: None,
            error_fields: Vec::new(),
        }
    }

    /// The same of a file that was seen growing, if it has that.
    pub(crate) fn with_growth(mut self, grown: Option<Sample>) -> Self {
        self.grown = grown;
        self
    }

    /// The same with codings that may be made.
    pub(crate) fn with_makeable(mut self, makeable: Option<Makeable>) -> Self {
        self.makeable = makeable;
        self
    }

    /// The same with what it has to do with dictionaries.
    pub(crate) fn with_dictionaries(mut self, dictionaries: Option<Arc<DictionaryUse>>) -> Self {
        self.dictionaries = dictionaries;
        self
    }

    /// A copy with these representations in place of its own.
    pub(crate) fn with(&self, list: Vec<Arc<Representation>>) -> Self {
        let copy = Representations::new(self.found.clone(), list, self.look_again, self.undecided);
        copy.with_growth(self.grown)
            .with_makeable(self.makeable.clone())
            .with_dictionaries(self.dictionaries.clone())
            .with_error_fields(self.error_fields.clone())
    }

    /// The same with these fields for errors about the file.
    pub(crate) fn with_error_fields(mut self, fields: Vec<OwnField>) -> Self {
        self.error_fields = fields;
        self
    }

    /// A copy without the representation in this coding, which could not be read. The next look asks about it
    /// again.
    pub(crate) fn without(&self, coding: ContentCoding) -> Self {
        let others = self.list.iter().filter(|r| r.coding.plain() != coding);
        Representations {
            undecided: true,
            ..self.with(others.cloned().collect())
        }
    }

    /// The names of the request fields by which it was chosen, if there was a choice.
    pub(crate) fn vary(&self) -> Option<&'static str> {
        let by_coding = self.list.len() > 1 || self.makeable.is_some();
        vary(self.found.is_by_accept(), by_coding)
    }

    /// The representation that a request prefers; `None` if it accepts none of them.
    pub(crate) fn select(&self, choice: &CodingChoice) -> Option<(usize, &Arc<Representation>)> {
        let CodingChoice {
            accept,
            is_for_part,
        } = choice;
        let number = match &*self.choices {
            // No choice, which is the most common case of all.
            [(ContentCoding::Identity, _)] if accept.accepts(ContentCoding::Identity) => 0,
            // Those that are made stand behind the others.
            choices if *is_for_part => {
                let made = self.list.iter().rev().take_while(|r| r.is_made).count();
                let of_files = choices.len() - made;
                let selected = accept.select(choices.iter().copied().take(of_files));
                selected.or_else(|| accept.select(choices.iter().copied()))?
            }
            choices => accept.select(choices.iter().copied())?,
        };
        Some((number, self.list.get(number)?))
    }

    /// The coding that a request would rather have than `selected`, which it gets, if that can be made.
    pub(crate) fn makeable_for(
        &self,
        choice: &CodingChoice,
        selected: Option<&Arc<Representation>>,
    ) -> Option<ContentCoding> {
        let makeable = self.makeable.as_ref().filter(|_| !choice.is_for_part)?;
        let coding = selected.map(|selected| selected.coding.plain());
        makeable.wanted(&choice.accept, coding, &self.choices)
    }
}
