//! One file for each thing that `salver` can do.

#[cfg(target_os = "linux")]
pub mod admin;
#[cfg(target_os = "linux")]
pub mod bench;
pub mod check;
#[cfg(feature = "compress")]
pub mod compress;
#[cfg(all(feature = "basic-auth", target_os = "linux"))]
pub mod hash_password;
pub mod import;
#[cfg(target_os = "linux")]
pub mod running_server;
#[cfg_attr(not(target_os = "linux"), path = "portable/serve.rs")]
pub mod serve;
#[cfg(all(feature = "basic-auth", target_os = "linux"))]
mod terminal;
pub mod written;
