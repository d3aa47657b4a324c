//! Credentials of Basic authentication (RFC 7617 section 2), and the key by which they are remembered.

use std::fmt;

use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput, KeyInit, Update};
use salver_assets::rules::BasicAuth;
use salver_semantics::field::decode_base64;

/// The longest credentials that are looked at, in bytes: each attempt hashes them.
const LONGEST: usize = 1024;

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) name: Vec<u8>,
    pub(crate) password: Vec<u8>,
}

impl fmt::Debug for Credentials {
    /// Without the password: it may land in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// The credentials in the value of an `Authorization` field; `None` if it has none of this scheme.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let (scheme, rest) = value.split_at_checked(5)?;
        if !scheme.eq_ignore_ascii_case(b"Basic") || !rest.starts_with(b" ") || rest.len() > LONGEST
        {
            return None;
        }
        let decoded = decode_base64(rest.trim_ascii())?;
        let colon = decoded.iter().position(|&byte| byte == b':')?;
        let (name, password) = decoded.split_at_checked(colon)?;
        Some(Credentials {
            name: name.to_vec(),
            password: password.get(1..)?.to_vec(),
        })
    }
}

/// The key of credentials: of no use to whoever reads it in memory.
pub(crate) type CredentialsKey = [u8; 32];

/// A hash with a key of this process.
pub(crate) struct KeyedHash([u8; 32]);

impl KeyedHash {
    /// A hash with a random key.
    pub(crate) fn new() -> Option<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        Some(KeyedHash(key))
    }

    /// The key of these credentials among these users: another hash of the password makes another.
    pub(crate) fn of(&self, credentials: &Credentials, users: &BasicAuth) -> CredentialsKey {
        let mut hash = Blake2sMac256::new(&self.0.into());
        let mut part = |bytes: &[u8]| {
            // So that no two lists of parts are one.
            hash.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(bytes);
        };
        part(&credentials.name);
        part(&credentials.password);
        for user in &users.users {
            part(user.name.as_bytes());
            part(user.hash.as_bytes());
        }
        hash.finalize_fixed().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials() {
        let check = |value: &str, expected: Option<(&str, &str)>| {
            let found = Credentials::parse(value.as_bytes());
            let expected = expected.map(|(name, password)| Credentials {
                name: name.into(),
                password: password.into(),
            });
            assert_eq!(found, expected, "{value}");
        };
        check(
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            Some(("Aladdin", "open sesame")),
        );
        check(
            "basic  QWxhZGRpbjpvcGVuIHNlc2FtZQ",
            Some(("Aladdin", "open sesame")),
        );
        check("BASIC dGVzdDoxMjPCow==", Some(("test", "123£")));
        check("Basic YTpiOmM=", Some(("a", "b:c")));
        check("Basic Og==", Some(("", "")));
        check("Basic YQ==", None);
        check("Basic", None);
        check("Basic ", None);
        check("BasicYTpi", None);
        check("Bearer YTpi", None);
        check("Basic YTp!", None);
        check("Basic YTpib", None);
        check("Basic YTpi=", None);
        check("Basic ====", None);
        check(&format!("Basic {}", "YTpi".repeat(1000)), None);
    }

    #[test]
    fn keys_are_of_all_that_decides() {
        let hash = KeyedHash::new().unwrap();
        let users = |hash: &str| BasicAuth {
            realm: "r".to_owned(),
            users: vec![salver_assets::rules::User {
                name: "a".to_owned(),
                hash: hash.to_owned(),
            }],
        };
        let pair = |name: &str, password: &str| Credentials {
            name: name.into(),
            password: password.into(),
        };
        let key = hash.of(&pair("a", "bc"), &users("x"));
        assert_eq!(hash.of(&pair("a", "bc"), &users("x")), key);
        assert_ne!(hash.of(&pair("ab", "c"), &users("x")), key);
        assert_ne!(hash.of(&pair("a", "bc"), &users("y")), key);
        assert_ne!(
            KeyedHash::new().unwrap().of(&pair("a", "bc"), &users("x")),
            key
        );
    }
}
