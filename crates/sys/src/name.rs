//! Names for many files: a prefix and a number, written into the same buffer again and again, so that no operation
//! allocates.

use std::ffi::CStr;

/// Room for a name and its NUL.
const ROOM: usize = 48;

/// Digits of a number in a name: names are of one length, so that all entries of a directory are.
const DIGITS: usize = 10;

/// A name that is written again and again: `PREFIX0000000042`.
#[derive(Clone, Debug)]
pub struct Name {
    bytes: [u8; ROOM],
    prefix: usize,
}

impl Name {
    /// Names that begin so, which is at most 37 bytes without a slash.
    pub fn new(prefix: &str) -> Self {
        assert!(prefix.len() + DIGITS < ROOM && !prefix.contains(['/', '\0']));
        let mut bytes = [0; ROOM];
        bytes[..prefix.len()].copy_from_slice(prefix.as_bytes());
        Self {
            bytes,
            prefix: prefix.len(),
        }
    }

    /// The name of this number; of its last ten digits, where it has more.
    #[inline]
    pub fn of(&mut self, number: u64) -> &CStr {
        let (mut rest, end) = (number, self.prefix + DIGITS);
        for byte in self.bytes[self.prefix..end].iter_mut().rev() {
            *byte = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_length_and_the_buffer_is_used_again() {
        let mut name = Name::new("mail-");
        for (number, expected) in [
            (0, c"mail-0000000000"),
            (42, c"mail-0000000042"),
            (9_999_999_999, c"mail-9999999999"),
            (1, c"mail-0000000001"),
        ] {
            assert_eq!(name.of(number), expected);
        }
        assert_eq!(Name::new("").of(7), c"0000000007");
    }
}
