//! A directory of static files becomes part of a program, with its precompressed siblings: for the
//! program's `build.rs`.
//!
//! In `Cargo.toml` this crate is a build dependency:
//!
//! ```toml
//! [dependencies]
//! salver-tower = "0.1"
//!
//! [build-dependencies]
//! salver-embed = "0.1"
//!
//! # Compressing at best quality takes long if the compressor itself was not optimised.
//! [profile.dev.build-override]
//! opt-level = 3
//! [profile.release.build-override]
//! opt-level = 3
//! ```
//!
//! This is the whole `build.rs`; [`Tree`] has options for it:
//!
//! ```no_run
//! fn main() -> Result<(), salver_embed::Error> {
//!     salver_embed::Tree::new("dist").build()?;
//!     Ok(())
//! }
//! ```
//!
//! And in the program `salver_tower::embedded!("dist")`, or `salver_assets::embedded!`, is the
//! [`EmbeddedSource`](salver_assets::EmbeddedSource):
//!
//! ```text
//! let assets = Assets::from_source(Arc::new(embedded!("dist"))).build()?;
//! ```
//!
//! While you work on the site, a debug build can serve it from disk instead:
//!
//! ```text
//! let builder = if cfg!(debug_assertions) {
//!     Assets::builder(concat!(env!("CARGO_MANIFEST_DIR"), "/dist"))
//! } else {
//!     Assets::from_source(Arc::new(embedded!("dist")))
//! };
//! ```
//!
//! Which files those are, is as on disk: no names that begin with a dot but `.well-known`, links
//! only beneath the directory, unless [asked for](Tree::dotfiles). For each file that is worth it a
//! sibling of each [coding](Tree::codings) is made, at best quality: not if it would save less than a
//! twentieth or less than 64 bytes, and not for what is compressed already (PNG, WOFF2, MP4), which a
//! quick try shows. A sibling that is there already (`app.js.br`) is taken if it decodes to the file.
//! Made siblings are kept in `OUT_DIR`: what has not changed is not compressed again.
//!
//! The same files make the same program: they are sorted, and nothing of the machine gets into it.
//! `Last-Modified` is the file's modification time or, if the variable is set, `SOURCE_DATE_EPOCH`.
//! Entity tags are hashes of the contents, the same as if they were served from disk.
//!
//! It writes nowhere but in `OUT_DIR`, and never downloads or runs anything.
#![forbid(unsafe_code)]

mod compress;
mod error;
mod generate;
mod prepare;
mod store;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub use error::Error;
pub use salver_assets::{ContentCoding, Symlinks};
pub use tree::{Summary, Tree};
