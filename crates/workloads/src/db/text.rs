//! The texts of rows: groups of eleven digits with hyphens between them, ten in `c` and five in `pad`.

use model::rng::Rng;

/// Bytes of the column `c`.
pub(super) const C_BYTES: usize = 119;
/// Bytes of the column `pad`.
pub(super) const PAD_BYTES: usize = 59;

/// A group and its hyphen.
const GROUP_BYTES: usize = 12;

/// A text of so many bytes that is written anew in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Text<BYTES> {
    /// Hyphens alone.
    pub(super) const fn new() -> Self {
        Self([b'-'; BYTES])
    }

    /// Writes new digits.
    #[inline]
    pub(super) fn renew(&mut self, rng: &mut Rng) -> &str {
        for group in self.0.chunks_mut(GROUP_BYTES) {
            let mut number = rng.next();
            for digit in &mut group[..GROUP_BYTES - 1] {
                *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
                number /= 10;
            }
        }
        self.as_str()
    }

    /// What was written last.
    #[inline]
    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and hyphens are UTF-8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_groups_of_sysbench() {
        let mut rng = Rng::new(1);
        let mut c = Text::<C_BYTES>::new();
        let mut pad = Text::<PAD_BYTES>::new();
        let check = |text: &str, groups: usize| {
            let found: Vec<&str> = text.split('-').collect();
            assert_eq!(found.len(), groups, "{text}");
            for group in found {
                assert!(group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit()));
            }
        };
        check(c.renew(&mut rng), 10);
        check(pad.renew(&mut rng), 5);
        let before = c.as_str().to_owned();
        assert_ne!(c.renew(&mut rng), before);
    }
}
