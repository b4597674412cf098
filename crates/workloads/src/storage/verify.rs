//! Blocks that can be checked when they are read back: which block they are, which writing they are from, and a
//! checksum of every byte.
//!
//! A stamped block begins with a header and holds data of its own behind it. What is found on reading is told apart:
//! bytes that changed, a whole block from another place, and a block from an earlier writing (a write that was
//! acknowledged and lost). With a pattern the block is the pattern repeated, without a header, and only the bytes can
//! be judged.

use super::full::repeat;
use model::job::{HEADER, VerifyMethod};
use sha2::Digest;

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    /// It has no header: it was never stamped, or its beginning is gone.
    #[error("it has no header: never written, or overwritten by something else")]
    NoHeader,
    /// It is intact and belongs elsewhere.
    #[error("it is the block of offset {found}")]
    Misplaced {
        /// The offset it was stamped for.
        found: u64,
    },
    /// It is intact and from an earlier writing: the last write was lost.
    #[error("it is from writing {found} and not from {expected}: a write was lost")]
    Stale {
        /// The writing it is from.
        found: u64,
        /// The writing it should be from.
        expected: u64,
    },
    /// Its bytes are not those that were written.
    #[error(
        "its bytes have the checksum {found:016x}... and not {expected:016x}... as they were written"
    )]
    Checksum {
        /// The first 64 bits of the checksum of what was read.
        found: u64,
        /// The first 64 bits of the checksum that it says it has.
        expected: u64,
    },
    /// A byte of a pattern differs.
    #[error("byte {at} is {found:#04x} and not {expected:#04x}")]
    Byte {
        /// Its place in the block.
        at: usize,
        /// What was read.
        found: u8,
        /// What was written.
        expected: u8,
    },
}

/// `kurabe` and the layout's version, in ASCII.
const MAGIC: [u8; 8] = *b"kurabe1\0";
/// Where they stand in a header, behind the magic.
const OFFSET: std::ops::Range<usize> = 8..16;
const WRITING: std::ops::Range<usize> = 16..24;
const SUM: std::ops::Range<usize> = 24..56;

/// Blocks that can be checked.
pub(super) trait Checked {
    /// Makes `block`, at `offset` of its file and written for the time number `writing`, a block that can be checked.
    /// What it holds behind the header stays. A block shorter than [`HEADER`] is left as it is.
    fn stamp(&self, block: &mut [u8], offset: u64, writing: u64);

    /// Judges `block`, read from `offset`. `writing` is the writing that it must be from, where that is known.
    fn check(&self, block: &[u8], offset: u64, writing: Option<u64>) -> Result<(), Damage>;
}

impl Checked for VerifyMethod {
    fn stamp(&self, block: &mut [u8], offset: u64, writing: u64) {
        if let Self::Pattern(pattern) = self {
            repeat(pattern, block);
            return;
        }
        if block.len() < HEADER {
            return;
        }
        block[..8].copy_from_slice(&MAGIC);
        block[OFFSET].copy_from_slice(&offset.to_le_bytes());
        block[WRITING].copy_from_slice(&writing.to_le_bytes());
        let sum = sum(self, block);
        block[SUM].copy_from_slice(&sum);
    }

    fn check(&self, block: &[u8], offset: u64, writing: Option<u64>) -> Result<(), Damage> {
        if let Self::Pattern(pattern) = self {
            let odd = block
                .iter()
                .zip(pattern.iter().cycle())
                .position(|(byte, expected)| byte != expected);
            return match odd {
                None => Ok(()),
                Some(at) => Err(Damage::Byte {
                    at,
                    found: block[at],
                    expected: pattern[at % pattern.len()],
                }),
            };
        }
        if block.len() < HEADER || block[..8] != MAGIC {
            return Err(Damage::NoHeader);
        }
        let sum = sum(self, block);
        if sum[..] != block[SUM] {
            let head = |sum: &[u8]| {
                sum.first_chunk()
                    .map_or(0, |head| u64::from_be_bytes(*head))
            };
            return Err(Damage::Checksum {
                found: head(&sum),
                expected: head(&block[SUM]),
            });
        }
        let found = number(&block[OFFSET]);
        if found != offset {
            return Err(Damage::Misplaced { found });
        }
        let found = number(&block[WRITING]);
        match writing {
            Some(expected) if expected != found => Err(Damage::Stale { found, expected }),
            _ => Ok(()),
        }
    }
}

/// The checksum of everything but the place of the checksum itself, filled up with zeros.
fn sum(method: &VerifyMethod, block: &[u8]) -> [u8; 32] {
    let (head, tail) = (&block[..SUM.start], &block[SUM.end..]);
    let mut sum = [0; 32];
    match method {
        VerifyMethod::Crc32c => {
            let crc = crc32c::crc32c_append(crc32c::crc32c(head), tail);
            sum[..4].copy_from_slice(&crc.to_le_bytes());
        }
        VerifyMethod::Md5 => {
            let whole = md5::Md5::new().chain_update(head).chain_update(tail);
            sum[..16].copy_from_slice(&whole.finalize());
        }
        VerifyMethod::Sha256 => {
            let whole = sha2::Sha256::new().chain_update(head).chain_update(tail);
            sum.copy_from_slice(&whole.finalize());
        }
        VerifyMethod::Pattern(_) => {}
    }
    sum
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    fn methods() -> [VerifyMethod; 4] {
        let pattern = VerifyMethod::Pattern(vec![0xde, 0xad, 0xbe, 0xef, 0x01]);
        [
            VerifyMethod::Crc32c,
            VerifyMethod::Md5,
            VerifyMethod::Sha256,
            pattern,
        ]
    }

    fn stamped(method: &VerifyMethod, len: usize, offset: u64, writing: u64) -> Vec<u8> {
        let mut rng = Rng::new(7);
        let mut block: Vec<u8> = (0..len).map(|_| rng.next().to_le_bytes()[0]).collect();
        method.stamp(&mut block, offset, writing);
        block
    }

    #[test]
    fn what_was_stamped_passes_and_every_flipped_bit_is_found() {
        for method in methods() {
            for len in [method.block_min(), 512, 4096] {
                let mut block = stamped(&method, len, 8192, 3);
                assert_eq!(method.check(&block, 8192, Some(3)), Ok(()), "{method:?}");
                let step = if len > 512 { 61 } else { 1 };
                for bit in (0..len * 8).step_by(step) {
                    block[bit / 8] ^= 1 << (bit % 8);
                    assert!(
                        method.check(&block, 8192, Some(3)).is_err(),
                        "{method:?} bit {bit}"
                    );
                    block[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
    }

    #[test]
    fn a_block_in_the_wrong_place_and_a_lost_write_are_told_apart() {
        for method in &methods()[..3] {
            let block = stamped(method, 4096, 8192, 3);
            let misplaced = Damage::Misplaced { found: 8192 };
            assert_eq!(method.check(&block, 4096, Some(3)), Err(misplaced));
            let stale = Damage::Stale {
                found: 3,
                expected: 4,
            };
            assert_eq!(method.check(&block, 8192, Some(4)), Err(stale));
            assert_eq!(method.check(&block, 8192, None), Ok(()));
            assert_eq!(method.check(&[0; 4096], 0, None), Err(Damage::NoHeader));
        }
    }

    #[test]
    fn checksums_are_the_published_ones() {
        // RFC 3720 B.4: CRC-32C of 32 bytes of zeros. RFC 1321 A.5 and FIPS 180-4: MD5 and SHA-256 of "abc".
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(md5::Md5::digest(b"abc")[..4], [0x90, 0x01, 0x50, 0x98]);
        assert_eq!(sha2::Sha256::digest(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
