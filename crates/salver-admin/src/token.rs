//! The token: who knows it may do everything here.

use std::fmt;
use std::hint::black_box;

/// The fewest characters of a token: fewer could be guessed.
const LEAST: usize = 16;

/// The most characters of a token.
const MOST: usize = 1024;

/// A token: visible characters of ASCII, at least sixteen.
#[derive(Clone)]
pub struct Token(Vec<u8>);

/// The fault of a text that is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// It is shorter than sixteen characters.
    Short,
    /// It is longer than a field may be.
    Long,
    /// It has characters that no field can carry.
    Characters,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenError::Short => "the token is shorter than 16 characters: give a longer one",
            TokenError::Long => "the token is longer than 1024 characters: give a shorter one",
            TokenError::Characters => {
                "the token has characters other than visible ones of ASCII: give one of letters and digits"
            }
        })
    }
}

impl std::error::Error for TokenError {}

impl Token {
    /// The token in a text, without the space around it.
    ///
    /// # Errors
    /// The text is none.
    pub fn new(text: &[u8]) -> Result<Self, TokenError> {
        let text = text.trim_ascii();
        match text.len() {
            _ if !text.iter().all(u8::is_ascii_graphic) => Err(TokenError::Characters),
            ..LEAST => Err(TokenError::Short),
            LEAST..=MOST => Ok(Token(text.to_vec())),
            _ => Err(TokenError::Long),
        }
    }

    /// True if this is it. How long that takes does not tell how much of it is right.
    pub fn is(&self, guess: &[u8]) -> bool {
        // A guess of another length is compared all the same, with zeros behind it.
        let guessed = guess.iter().chain(std::iter::repeat(&0));
        let differing = self.0.iter().zip(guessed);
        let differing = differing.fold(0, |all, (own, guess)| black_box(all | (own ^ guess)));
        (differing == 0) & (guess.len() == self.0.len())
    }

    /// The field by which a client shows it.
    pub fn authorization(&self) -> Vec<u8> {
        [b"Bearer ", &*self.0].concat()
    }
}

impl fmt::Debug for Token {
    /// Nothing of it: what is debugged is logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token = Token::new(b" 0123456789abcdef\n").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for wrong in [
            &b""[..],
            b"0",
            b"0123456789abcde",
            b"0123456789abcdef0",
            b"0123456789abcdef\0",
            b"1123456789abcdef",
            b"0123456789abcdeF",
        ] {
            assert!(!token.is(wrong), "{wrong:?}");
        }
        assert_eq!(token.authorization(), b"Bearer 0123456789abcdef");
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn texts_that_are_no_tokens() {
        fn check(text: &[u8], expected: TokenError) {
            assert_eq!(Token::new(text).unwrap_err(), expected);
        }
        check(b"", TokenError::Short);
        check(b"0123456789abcde", TokenError::Short);
        check(b"0123456789 abcdef", TokenError::Characters);
        check(b"0123456789abcdef\x7f", TokenError::Characters);
        check("0123456789abcdefü".as_bytes(), TokenError::Characters);
        check(&[b'a'; 1025], TokenError::Long);
    }
}
