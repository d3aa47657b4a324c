//! One file for each thing that `salver` can do.

pub mod admin;
pub mod bench;
pub mod check;
#[cfg(feature = "basic-auth")]
pub mod hash_password;
pub mod import;
pub mod running_server;
pub mod serve;
#[cfg(feature = "basic-auth")]
mod terminal;
pub mod written;
