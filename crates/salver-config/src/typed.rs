//! What was typed of the flags.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// What a command line says of settings.
#[derive(Clone, Debug, Default)]
pub struct Typed(BTreeMap<&'static str, (String, Vec<OsString>)>);

impl Typed {
    /// Adds what was said of a flag: as it was typed, and its values.
    pub(crate) fn insert(&mut self, flag: &'static str, typed: String, values: Vec<OsString>) {
        self.0.insert(flag, (typed, values));
    }

    /// The flag as it was typed, and its values.
    pub(crate) fn get(&self, flag: &str) -> Option<(&str, &[OsString])> {
        let (flag, values) = self.0.get(flag)?;
        Some((flag, values))
    }
}
