//! Secrets: whoever knows one may do what it stands for.

use std::fmt;
use std::io;

/// A secret: 128 random bits, as 32 hexadecimal digits.
#[derive(Clone)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Secret(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// True if this is it. How long that takes does not tell how much of it is right.
    pub(super) fn is(&self, guess: &str) -> bool {
        let pairs = self.0.bytes().zip(guess.bytes());
        let differing = pairs.fold(0, |differing, (own, guessed)| differing | (own ^ guessed));
        self.0.len() == guess.len() && differing == 0
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Secret {
    /// Nothing of it: what is debugged is logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_itself_and_nothing_else() {
        let secret = Secret::random().unwrap();
        let text = secret.to_string();
        assert_eq!(text.len(), 32);
        assert!(text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(secret.is(&text));
        let shorter = text.strip_suffix(|_: char| true).unwrap();
        for wrong in ["", shorter, &format!("{text}0")] {
            assert!(!secret.is(wrong));
        }
        for at in 0..32 {
            let mut wrong = text.clone().into_bytes();
            wrong[at] = if wrong[at] == b'0' { b'1' } else { b'0' };
            assert!(!secret.is(std::str::from_utf8(&wrong).unwrap()), "{at}");
        }
        assert_ne!(Secret::random().unwrap().to_string(), text);
        assert!(!format!("{secret:?}").contains(&text));
    }
}
