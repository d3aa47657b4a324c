//! Secrets by which the page knows who asks.

use std::fmt;
use std::io;

/// 128 random bits, as 32 hexadecimal digits.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Secret(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// Whether this is it. How long that takes does not tell how much of it is right.
    pub fn is(&self, guess: &str) -> bool {
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
