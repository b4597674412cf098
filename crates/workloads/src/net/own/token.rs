//! What lets a client in: 128 random bits, as 32 hexadecimal digits.
//!
//! Nothing else is taken as a token. Whoever hears a proof can try tokens at home, as many as he likes, and a word that
//! a person thought of would be found.

use ring::hmac;
use std::fmt::{self, Write as _};
use std::io;
use std::str::FromStr;

/// 128 bits.
const TOKEN_BYTES: usize = 16;

/// What both sides have.
#[derive(Clone)]
pub struct Token([u8; TOKEN_BYTES]);

/// Why a text is no token. It does not say which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is no token: 32 hexadecimal digits, as `kurabe net serve` and `openssl rand -hex 16` make them"
)]
pub struct BadToken;

impl Token {
    /// One that nobody can guess.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        sys::random::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// As its owner types it on the other side: for whoever is to see it, and nobody else.
    pub fn reveal(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// The key of proofs.
    pub(super) fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

impl FromStr for Token {
    type Err = BadToken;

    fn from_str(text: &str) -> Result<Self, BadToken> {
        let is_token = text.len() == 2 * TOKEN_BYTES && text.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_token {
            return Err(BadToken);
        }
        let mut bytes = [0; TOKEN_BYTES];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = str::from_utf8(digits).map_err(|_| BadToken)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| BadToken)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_like_no_other_and_is_read_as_it_is_shown() {
        let token = Token::new().unwrap();
        let shown = token.reveal();
        assert_ne!(shown, Token::new().unwrap().reveal());
        assert_eq!(shown.parse::<Token>().unwrap().0, token.0);
        assert_eq!(shown.to_uppercase().parse::<Token>().unwrap().0, token.0);
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn what_a_person_thought_of_is_none_and_is_not_quoted() {
        let digits = "0123456789abcdef0123456789abcdef";
        let longer = format!("{digits}0");
        let plus = format!("+{}", &digits[1..]);
        for text in [
            "",
            "hunter2",
            &digits[1..],
            &longer,
            &plus,
            "xyz456789abcdef0123456789abcdef0",
        ] {
            let why = text.parse::<Token>().unwrap_err().to_string();
            assert!(text.is_empty() || !why.contains(text), "{why}");
        }
    }
}
