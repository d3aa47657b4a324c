//! The integration tests, as one program.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod media_types;
