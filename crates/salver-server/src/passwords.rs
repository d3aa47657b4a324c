//! Passwords: `salver-passwords` verifies them beside the loops.

pub use salver_passwords::{PasswordHashError, PasswordHashing, hash_password};
pub(crate) use salver_passwords::{Passwords, Verdict};
