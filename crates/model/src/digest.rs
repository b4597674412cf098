//! A 64-bit digest that proves work was done: FNV-1a over words.
//!
//! Measured loops fold their results into it, and the digest is checked against the known result, so that an
//! optimiser that removes work, or a machine that computes wrongly, is found out. It is no protection against
//! somebody who wants to cheat. Source: Fowler, Noll, Vo, <http://www.isthe.com/chongo/tech/comp/fnv/>.

use serde::{Deserialize, Serialize};

/// A running digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub u64);

impl Digest {
    /// The digest of nothing.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The digest after one more word.
    #[must_use]
    pub const fn word(self, word: u64) -> Self {
        Self((self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3))
    }

    /// The digest after more bytes.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        bytes
            .iter()
            .fold(self, |digest, &byte| digest.word(u64::from(byte)))
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_fnv_1a_vectors() {
        assert_eq!(Digest::EMPTY.bytes(b"").0, 0xcbf2_9ce4_8422_2325);
        assert_eq!(Digest::EMPTY.bytes(b"a").0, 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Digest::EMPTY.bytes(b"foobar").0, 0x8594_4171_f739_67e8);
    }
}
