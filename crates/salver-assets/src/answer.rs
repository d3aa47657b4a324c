//! Answers: the representations of a resource, or a status alone, as a plan that a driver carries out.

pub(crate) mod accept;
pub(crate) mod dictionary;
pub(crate) mod file_content;
pub(crate) mod plan;
pub mod reading;
pub(crate) mod select;
pub(crate) mod selected;
pub(crate) mod status_responses;
