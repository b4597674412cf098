//! What tells the connections of one test from those of another: made by the client, sent first on each.

use super::wire_error::{Part, WireError, fill};
use std::fmt;
use std::io::{self, Read, Write};

/// 36 characters and a NUL.
pub const COOKIE_BYTES: usize = 37;

/// What they are of: five bits each.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Any 37 bytes: iperf3 3.1 makes them of its host's name, which is why they are never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cookie([u8; COOKIE_BYTES]);

impl Cookie {
    /// One that nobody can guess.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; COOKIE_BYTES];
        sys::random::fill(&mut bytes[..COOKIE_BYTES - 1])?;
        for byte in &mut bytes[..COOKIE_BYTES - 1] {
            *byte = ALPHABET[usize::from(*byte) % ALPHABET.len()];
        }
        Ok(Self(bytes))
    }

    /// Its characters, for whoever made it.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0[..COOKIE_BYTES - 1]).into_owned()
    }

    /// Reads one.
    pub fn read(from: &mut impl Read) -> Result<Self, WireError> {
        let mut bytes = [0; COOKIE_BYTES];
        fill(from, &mut bytes, Part::Cookie)?;
        Ok(Self(bytes))
    }

    /// Writes it.
    pub fn write(&self, to: &mut impl Write) -> Result<(), WireError> {
        to.write_all(&self.0)
            .map_err(|error| WireError::Unsent(Part::Cookie, error))
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookie(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_like_no_other_and_ends_as_text_of_c_does() {
        let cookie = Cookie::new().unwrap();
        assert_ne!(cookie, Cookie::new().unwrap());
        let mut sent = Vec::new();
        cookie.write(&mut sent).unwrap();
        assert_eq!((sent.len(), sent[36]), (37, 0));
        assert!(sent[..36].iter().all(|byte| ALPHABET.contains(byte)));
        assert_eq!(Cookie::read(&mut sent.as_slice()).unwrap(), cookie);
        assert_eq!(cookie.text().as_bytes(), &sent[..36]);
        assert_eq!(format!("{cookie:?}"), "Cookie(..)");
    }

    #[test]
    fn any_bytes_are_one_and_fewer_are_none() {
        // 3.1 sends a name, a time and digits.
        let sent = b"my-server.example.1448223344.123456.\0";
        Cookie::read(&mut sent.as_slice()).unwrap();
        let why = Cookie::read(&mut &sent[..20]).unwrap_err().to_string();
        assert!(why.contains("20 of 37 bytes"), "{why}");
        assert!(!why.contains("my-server"), "{why}");
    }
}
