//! No pages of listings, as there are none.

use crate::error::Stop;
use crate::listing::Listing;
use crate::resource::engine_state::EngineState;
use crate::resource::entry::EntryRules;
use crate::resource::representations::Representations;

/// A page that is wanted of the entries of a directory, which nobody makes.
#[derive(Debug)]
pub(crate) enum ListedPage {}

impl ListedPage {
    pub(crate) fn rules(&self) -> &EntryRules {
        match *self {}
    }

    pub(crate) fn render(&self, _: &Listing, _: &EngineState) -> Result<Representations, Stop> {
        match *self {}
    }
}
