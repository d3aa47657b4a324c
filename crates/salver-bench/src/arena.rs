//! The profile of a public benchmark of static files: twenty files of a built site, with the coded
//! siblings that a build makes, asked for as a browser does.

mod files;
mod staleness;

pub use files::{FILES, generate};
pub use staleness::{Probe, Staleness, probe};

/// What is sent as `Accept-Encoding`.
pub const ACCEPT_ENCODING: &str = "br;q=1, gzip;q=0.8";
