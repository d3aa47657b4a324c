#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Directory`] opens files so that no link leads out; [`residency()`] asks the page cache;
//! [`send_file`] sends without a copy; [`listen`] makes a listening socket. [`Patience`] says whether a
//! call may wait. Errors are those of the system, as [`std::io::Error`].

mod beneath;
mod given_sockets;
mod locality;
mod memory;
mod metadata;
mod privileges;
mod residency;
mod socket;
mod thread_waits;
mod transfer;
mod unix_socket;
mod writers;

pub use beneath::{Directory, OpenedFile, Resolver, Symlinks};
pub use given_sockets::{GivenSockets, take_given_sockets};
pub use memory::use_small_pages;
pub use metadata::{Attributes, Identity, Kind, Metadata, Timestamp};
pub use privileges::{ProcessUser, forbid_new_privileges};
pub use residency::{Residency, read_resident, residency};
pub use socket::{Families, bind_datagrams, listen, raise_descriptor_limit, send_at_once};
pub use thread_waits::thread_waits;
pub use transfer::{acknowledged, send_file, send_more};
pub use unix_socket::{is_abandoned, listen_unix};
pub use writers::{Writers, writers};

/// The patience of a caller: whether a call may wait for a disk, a network file system or a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// The caller has a thread of its own for this.
    MayWait,
    /// The caller runs an event loop: what would wait fails with [`std::io::ErrorKind::WouldBlock`].
    MustNotWait,
}
