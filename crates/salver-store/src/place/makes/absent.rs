//! What is made while a deploy waits for it: nothing, in this build.

/// The place of a store, which takes nothing that was made.
pub(crate) trait Makes {}

impl<T> Makes for T {}
