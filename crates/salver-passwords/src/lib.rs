#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Passwords::check`] gives the [`Verdict`] on a request by its users and its `Authorization`; [`hash_password`] makes
//! the hashes that users have.
#![forbid(unsafe_code)]

mod attempts;
mod credentials;
mod hash;
mod passwords;
mod verify;

pub use hash::{PasswordHashError, PasswordHashing, hash_password};
pub use passwords::{Passwords, Verdict};
