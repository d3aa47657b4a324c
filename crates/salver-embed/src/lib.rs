#![doc = include_str!("../README.md")]
//!
//! # Which files, and how
//!
//! Which files those are, is as on disk: no names that begin with a dot but `.well-known`, links
//! only beneath the directory, unless [asked for](Tree::dotfiles). A sibling of each
//! [coding](Tree::codings) is made, but not if it would save less than a twentieth or less than 64
//! bytes, and not for what is compressed already (PNG, WOFF2, MP4), which a quick try shows. One that is
//! there already (`app.js.br`) is taken if it decodes to the file. Made siblings are kept in `OUT_DIR`,
//! by the hash of what they were made of.
//!
//! `Last-Modified` is the file's modification time or, if the variable is set, `SOURCE_DATE_EPOCH`: a fresh checkout
//! has other times, so that a build which is to have the same bytes anywhere sets it. Otherwise nothing of the machine gets
//! into the program. Entity tags are hashes of the contents.
//!
//! `embedded!`, which `salver-tower` and `salver-assets` have, gives an
//! [`EmbeddedSource`](salver_assets::EmbeddedSource); the package `examples/embedded` of Salver's
//! repository is a program that has its site in itself.
//!
//! # While you work on the site
//!
//! A debug build - one whose profile inherits `dev` - compresses nothing and has no file in itself: it holds the path of the
//! directory, and reads it while it runs. A change of a file is seen at the next look, and nothing is built anew.
//! [`Tree::embed_in_debug_builds`] has them in it all the same.
#![forbid(unsafe_code)]

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
