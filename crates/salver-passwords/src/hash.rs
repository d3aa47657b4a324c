//! The hash of a password, as rules have it.

use std::fmt;

use argon2::{Argon2, PasswordHasher as _};

/// The longest password, in bytes: with a name it has to fit into credentials.
const LONGEST: usize = 512;

/// The bytes of a password beyond which bcrypt looks at none.
const LONGEST_FOR_BCRYPT: usize = 72;

/// The cost of bcrypt: 2 to this many rounds, some 0.2 s.
const BCRYPT_COST: u32 = 12;

/// The function by which a password is hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PasswordHashing {
    /// argon2id (RFC 9106), with 19 MiB and two passes.
    #[default]
    Argon2id,
    /// bcrypt, for what is shared with programs that know no other.
    Bcrypt,
}

/// The reason for which there is no hash of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PasswordHashError {
    /// It is empty.
    Empty,
    /// It has more bytes than this, which are the most.
    TooLong(usize),
    /// It has a control character, which nobody can type into a browser (RFC 7617 section 2).
    Control,
    /// The system gave no random numbers, or no memory.
    Failed,
}

impl fmt::Display for PasswordHashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PasswordHashError::Empty => f.write_str("the password is empty: give one"),
            PasswordHashError::TooLong(most) => {
                write!(
                    f,
                    "the password has more than {most} bytes: give a shorter one"
                )
            }
            PasswordHashError::Control => {
                f.write_str("the password has a control character: give one that can be typed")
            }
            PasswordHashError::Failed => f.write_str(
                "the password cannot be hashed: the system has no random numbers or no memory",
            ),
        }
    }
}

impl std::error::Error for PasswordHashError {}

/// Hashes a password with a new salt: a PHC string of argon2id, or `$2b$…`, as rules have it.
///
/// # Errors
/// The password is none that can be asked for, or the system is at its end.
///
/// ```
/// use salver_passwords::{PasswordHashing, hash_password};
///
/// let hash = hash_password("correct horse", PasswordHashing::Argon2id).unwrap();
/// assert!(hash.starts_with("$argon2id$"));
/// ```
pub fn hash_password(
    password: &str,
    hashing: PasswordHashing,
) -> Result<String, PasswordHashError> {
    let most = match hashing {
        PasswordHashing::Argon2id => LONGEST,
        PasswordHashing::Bcrypt => LONGEST_FOR_BCRYPT,
    };
    if password.is_empty() {
        return Err(PasswordHashError::Empty);
    }
    if password.len() > most {
        return Err(PasswordHashError::TooLong(most));
    }
    if password.chars().any(char::is_control) {
        return Err(PasswordHashError::Control);
    }
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(|_| PasswordHashError::Failed)?;
    match hashing {
        PasswordHashing::Argon2id => {
            let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
            let hash = hash.map_err(|_| PasswordHashError::Failed)?;
            Ok(hash.to_string())
        }
        PasswordHashing::Bcrypt => {
            let parts = bcrypt::hash_with_salt(password, BCRYPT_COST, salt);
            let parts = parts.map_err(|_| PasswordHashError::Failed)?;
            Ok(parts.to_string())
        }
    }
}
