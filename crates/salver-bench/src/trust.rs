//! The trust in certificates of servers.

use std::path::PathBuf;

/// The certificates that a client accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those that the system trusts.
    #[default]
    System,
    /// Those too that the certificates in this PEM file have signed, or are.
    File(PathBuf),
    /// Any, whatever its name, signer and age: the result says so.
    Any,
}
