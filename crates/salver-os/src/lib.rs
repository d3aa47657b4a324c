#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Directory`] opens files so that no link leads out; [`residency()`] asks the page cache. [`Patience`] says whether a
//! call may wait. With the feature `server` `send_file` sends without a copy, and `listen` makes a listening socket.
//! Errors are those of the system, as [`std::io::Error`].

#[cfg(target_os = "linux")]
mod anonymous_file;
mod background;
#[cfg(unix)]
mod beneath;
#[cfg(target_os = "linux")]
mod clock;
mod event_loop;
#[cfg(unix)]
mod file_calls;
#[cfg(all(target_os = "linux", feature = "server"))]
mod given_sockets;
#[cfg(unix)]
mod locality;
mod memory;
mod metadata;
mod opening;
#[cfg(all(target_os = "linux", feature = "server"))]
mod privileges;
mod read_at;
mod residency;
#[cfg(feature = "server")]
mod resource_limits;
#[cfg(all(unix, feature = "server"))]
mod socket;
mod thread_waits;
#[cfg(all(unix, feature = "server"))]
mod transfer;
#[cfg(all(unix, feature = "server"))]
mod unix_socket;
#[cfg(any(windows, test))]
mod windows;
mod writers;

#[cfg(target_os = "linux")]
pub use anonymous_file::anonymous_file;
pub use background::{
    ThreadClock, ask_for_short_slices, run_behind_others, run_when_idle, thread_time,
};
#[cfg(unix)]
pub use beneath::Directory;
pub use event_loop::{become_event_loop, is_event_loop};
#[cfg(all(target_os = "linux", feature = "server"))]
pub use given_sockets::{GivenSockets, take_given_sockets};
pub use memory::use_small_pages;
pub use metadata::{Attributes, Identity, Kind, Metadata, Timestamp};
pub use opening::{OpenedFile, Resolver, Symlinks};
#[cfg(all(target_os = "linux", feature = "server"))]
pub use privileges::{ProcessUser, forbid_new_privileges};
pub use read_at::{has_blocks, read_at, read_exact_at};
pub use residency::{Residency, is_cached, read_resident, residency};
#[cfg(feature = "server")]
pub use resource_limits::{ResourceLimits, resource_limits};
#[cfg(all(unix, feature = "server"))]
pub use socket::{Families, bind_datagrams, listen, raise_descriptor_limit, send_at_once};
pub use thread_waits::thread_waits;
#[cfg(all(unix, feature = "server"))]
pub use transfer::{acknowledged, send_file, send_more};
#[cfg(all(unix, feature = "server"))]
pub use unix_socket::{is_abandoned, listen_unix};
#[cfg(windows)]
pub use windows::beneath::Directory;
#[cfg(windows)]
pub use windows::hidden_typing::HiddenTyping;
pub use writers::{Writers, writers};

/// The patience of a caller: whether a call may wait for a disk, a network file system or a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// The caller has a thread of its own for this.
    MayWait,
    /// The caller runs an event loop: what would wait fails with [`std::io::ErrorKind::WouldBlock`].
    MustNotWait,
}
