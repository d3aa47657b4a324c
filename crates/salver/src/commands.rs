//! One file for each thing that `salver` can do.

#[cfg(target_os = "linux")]
pub mod admin;
#[cfg(target_os = "linux")]
pub mod bench;
pub mod check;
#[cfg(feature = "compress")]
pub mod compress;
pub mod deploy;
pub mod diff;
pub mod fsck;
#[cfg(feature = "basic-auth")]
pub mod hash_password;
pub mod import;
mod progress;
pub mod prune;
pub mod releases;
#[cfg_attr(not(target_os = "linux"), path = "commands/remote/absent.rs")]
mod remote;
pub mod rollback;
#[cfg(target_os = "linux")]
pub mod running_server;
#[cfg_attr(not(target_os = "linux"), path = "portable/serve.rs")]
pub mod serve;
mod store;
#[cfg(feature = "basic-auth")]
mod terminal;
pub mod written;
