//! Verifying a password by its hash: argon2id or bcrypt.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordVerifier};
use salver_assets::rules::BasicAuth;

use crate::credentials::Credentials;

/// True if one of these users has this name and password. For a name that nobody has it takes as long: the hash of the
/// first user is computed in vain.
pub(crate) fn is_right(credentials: &Credentials, users: &BasicAuth) -> bool {
    let mut known = users.users.iter();
    let user = known.find(|user| user.name.as_bytes() == credentials.name);
    let hash = user.or(users.users.first()).map(|user| &*user.hash);
    let matches = hash.is_some_and(|hash| matches(&credentials.password, hash));
    matches && user.is_some()
}

/// True if `hash` is of this password. The comparison takes the same time wherever they differ.
fn matches(password: &[u8], hash: &str) -> bool {
    if hash.starts_with("$argon2") {
        return PasswordHash::new(hash)
            .is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok());
    }
    bcrypt::verify(password, hash).unwrap_or(false)
}
