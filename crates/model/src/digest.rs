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

    /// These digests, each after more bytes of its own: what [`Digest::bytes`] says of each alone, in a third of the
    /// time, because no digest waits for another one's multiplication.
    #[must_use]
    pub fn side_by_side(digests: [Self; 4], texts: [&[u8]; 4]) -> [Self; 4] {
        let common = texts.iter().map(|text| text.len()).min().unwrap_or(0);
        let [mut a, mut b, mut c, mut d] = digests;
        let [ta, tb, tc, td] = texts.map(|text| &text[..common]);
        for (((xa, xb), xc), xd) in ta.iter().zip(tb).zip(tc).zip(td) {
            a = a.word(u64::from(*xa));
            b = b.word(u64::from(*xb));
            c = c.word(u64::from(*xc));
            d = d.word(u64::from(*xd));
        }
        let mut found = [a, b, c, d];
        for (digest, text) in found.iter_mut().zip(texts) {
            *digest = digest.bytes(&text[common..]);
        }
        found
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

    #[test]
    fn four_side_by_side_are_four_alone() {
        let texts: [&[u8]; 4] = [b"a", b"longer than the others", b"", b"foobar"];
        let starts = [1, 2, 3, 4].map(Digest);
        for shift in 0..4 {
            let mut turned = texts;
            turned.rotate_left(shift);
            let found = Digest::side_by_side(starts, turned);
            for ((start, text), found) in starts.iter().zip(turned).zip(found) {
                assert_eq!(found, start.bytes(text));
            }
        }
        let equal = Digest::side_by_side([Digest::EMPTY; 4], [b"foobar"; 4]);
        assert_eq!(equal, [Digest::EMPTY.bytes(b"foobar"); 4]);
    }
}
