//! The files of a store: what each says, and how it is written so that it is whole or not there.

pub(crate) mod bundle;
pub(crate) mod current;
pub(crate) mod digest;
pub(crate) mod durable;
pub(crate) mod escape;
pub(crate) mod journal;
pub(crate) mod layout;
pub(crate) mod manifest;
pub(crate) mod piece_hashes;
pub(crate) mod pieces;
pub(crate) mod preview;
pub(crate) mod release_id;
pub(crate) mod time;
