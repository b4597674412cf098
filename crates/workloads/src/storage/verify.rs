//! Blocks that can be checked when they are read back: which block they are, which writing they are from, and a
//! checksum of every byte.
//!
//! A stamped block begins with a header and holds data of its own behind it. The header is that of fio, so that what
//! one of the two wrote the other can check; it was learned from blocks that fio 3.33 wrote. Where fio keeps the time
//! of the writing, here its number stands. What is found on reading is told apart: bytes that changed, a whole block
//! from another place, and a block from an earlier writing (a write that was acknowledged and lost). With a pattern the
//! block is the pattern repeated, without a header, and only the bytes can be judged.

mod sums;

use super::full::repeat;
use model::job::{HEADER, VerifyMethod};
use std::ops::Range;

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
    /// It was written for another check.
    #[error(
        "its header is of method {} and {} bytes, and not of method {} and {}", found.0, found.1, expected.0, expected.1
    )]
    Other {
        /// fio's number of the method, and the length of the block, that its header tells.
        found: (u64, u64),
        /// Those that are asked for.
        expected: (u64, u64),
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

/// What every header begins with, its first two bytes.
const MAGIC: u16 = 0xacca;
/// The other parts of a header: which method, how many bytes of block, where, which writing, and its own checksum.
const METHOD: Range<usize> = 2..4;
const LENGTH: Range<usize> = 4..8;
const OFFSET: Range<usize> = 16..24;
/// Two words in which fio keeps a time, and nobody reads it.
const WRITING: [Range<usize>; 2] = [24..28, 28..32];
/// The number of the job, and of its operation.
const JOB: Range<usize> = 32..34;
const OPERATION: Range<usize> = 34..36;
const OWN_SUM: Range<usize> = 36..40;

/// Blocks that can be checked.
pub(super) trait Checked {
    /// Makes `block`, at `offset` of its file and written for the time number `writing`, a block that can be checked.
    /// What it holds behind the header stays. A block shorter than its header is left as it is.
    fn stamp(&self, block: &mut [u8], offset: u64, writing: u64);

    /// Judges `block`, read from `offset`. `writing` is the writing that it must be from, where that is known.
    fn check(&self, block: &[u8], offset: u64, writing: Option<u64>) -> Result<(), Damage>;

    /// How long the block is that begins with this intact header, made for this offset; `None` where there is none.
    fn length(&self, block: &[u8], offset: u64) -> Option<usize>;

    /// The number of the writing that a header tells; `None` where there is no header.
    fn writing(&self, block: &[u8]) -> Option<u64>;

    /// Whether bytes that do not pass were a header for this offset, or a piece of the pattern: most of it is there.
    fn resembles(&self, block: &[u8], offset: u64) -> bool;

    /// Whether these are bytes of a pattern, from any place of it on.
    fn continues(&self, block: &[u8]) -> bool;
}

/// A part of a header.
fn part(header: &[u8], place: &Range<usize>) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes[..place.len()].copy_from_slice(header.get(place.clone())?);
    Some(u64::from_le_bytes(bytes))
}

/// fio's number of a method.
const fn number(method: &VerifyMethod) -> u16 {
    match method {
        VerifyMethod::Nothing | VerifyMethod::Pattern(_) => 0,
        VerifyMethod::Meta => 1,
        VerifyMethod::Md5 => 2,
        VerifyMethod::Crc64 => 3,
        VerifyMethod::Crc32 => 4,
        VerifyMethod::Crc32c => 5,
        VerifyMethod::Crc16 => 7,
        VerifyMethod::Crc7 => 8,
        VerifyMethod::Sha256 => 9,
        VerifyMethod::Sha512 => 10,
        VerifyMethod::Xxhash => 15,
        VerifyMethod::Sha1 => 16,
    }
}

impl Checked for VerifyMethod {
    fn stamp(&self, block: &mut [u8], offset: u64, writing: u64) {
        if let Self::Pattern(pattern) = self {
            repeat(pattern, block);
            return;
        }
        let len = block.len();
        let Some((header, data)) = block.split_at_mut_checked(self.header()) else {
            return;
        };
        if header.is_empty() {
            return;
        }
        header[..HEADER].fill(0);
        let mut put = |place: &Range<usize>, bytes: &[u8]| {
            header[place.clone()].copy_from_slice(&bytes[..place.len()]);
        };
        put(&(0..METHOD.start), &MAGIC.to_le_bytes());
        put(&METHOD, &number(self).to_le_bytes());
        put(&LENGTH, &(len as u64).to_le_bytes());
        put(&OFFSET, &offset.to_le_bytes());
        put(&WRITING[0], &(writing >> 32).to_le_bytes());
        put(&WRITING[1], &writing.to_le_bytes());
        put(&JOB, &1_u16.to_le_bytes());
        put(&OPERATION, &writing.wrapping_sub(1).to_le_bytes());
        let own = sums::crc32c(&header[..OWN_SUM.start]);
        header[OWN_SUM].copy_from_slice(&own.to_le_bytes());
        header[HEADER..].copy_from_slice(sums::sum(self, data).bytes());
    }

    fn check(&self, block: &[u8], offset: u64, writing: Option<u64>) -> Result<(), Damage> {
        match self {
            Self::Pattern(pattern) => return check_pattern(pattern, block),
            Self::Nothing => return Ok(()),
            _ => {}
        }
        let Some((header, data)) = block.split_at_checked(self.header()) else {
            return Err(Damage::NoHeader);
        };
        let read = |place: &Range<usize>| part(header, place).unwrap_or(0);
        if read(&(0..METHOD.start)) != u64::from(MAGIC) {
            return Err(Damage::NoHeader);
        }
        let own = sums::crc32c(&header[..OWN_SUM.start]).to_le_bytes();
        if own != header[OWN_SUM] {
            return Err(differ(&own, &header[OWN_SUM]));
        }
        let found = (read(&METHOD), read(&LENGTH));
        let expected = (u64::from(number(self)), block.len() as u64);
        if found != expected {
            return Err(Damage::Other { found, expected });
        }
        let sum = sums::sum(self, data);
        if *sum.bytes() != header[HEADER..] {
            return Err(differ(sum.bytes(), &header[HEADER..]));
        }
        let found = read(&OFFSET);
        if found != offset {
            return Err(Damage::Misplaced { found });
        }
        let found = (read(&WRITING[0]) << 32) | read(&WRITING[1]);
        match writing {
            Some(expected) if expected != found => Err(Damage::Stale { found, expected }),
            _ => Ok(()),
        }
    }

    fn length(&self, block: &[u8], offset: u64) -> Option<usize> {
        let header = block.get(..HEADER).filter(|_| self.header() > 0)?;
        let begins = part(header, &(0..METHOD.start))? == u64::from(MAGIC);
        let is_intact = begins
            && has_own_sum(header)
            && part(header, &METHOD)? == u64::from(number(self))
            && part(header, &OFFSET)? == offset;
        let length = usize::try_from(part(header, &LENGTH)?).ok()?;
        (is_intact && length >= self.header()).then_some(length)
    }

    fn writing(&self, block: &[u8]) -> Option<u64> {
        let header = block.get(..HEADER).filter(|_| self.header() > 0)?;
        Some((part(header, &WRITING[0])? << 32) | part(header, &WRITING[1])?)
    }

    fn resembles(&self, block: &[u8], offset: u64) -> bool {
        if let Self::Pattern(pattern) = self {
            return is_piece(pattern, block);
        }
        let Some(header) = block.get(..HEADER).filter(|_| self.header() > 0) else {
            return false;
        };
        let read = |place: &Range<usize>| part(header, place).unwrap_or(0);
        let length = read(&LENGTH);
        let signs = [
            read(&(0..METHOD.start)) == u64::from(MAGIC),
            read(&METHOD) == u64::from(number(self)),
            read(&OFFSET) == offset,
            length >= self.header() as u64 && length.is_multiple_of(512),
        ];
        signs.iter().filter(|sign| **sign).count() >= 3 && !has_own_sum(header)
    }

    fn continues(&self, block: &[u8]) -> bool {
        let Self::Pattern(pattern) = self else {
            return false;
        };
        (0..pattern.len()).any(|from| {
            let bytes = pattern.iter().cycle().skip(from);
            block.iter().eq(bytes.take(block.len()))
        })
    }
}

/// Whether a header has the checksum that it says it has.
fn has_own_sum(header: &[u8]) -> bool {
    sums::crc32c(&header[..OWN_SUM.start]).to_le_bytes() == header[OWN_SUM]
}

/// Whether most of these bytes are the pattern from some place of it on, and some are not.
fn is_piece(pattern: &[u8], block: &[u8]) -> bool {
    /// So many are compared at a time: one byte alone is often the same.
    const WINDOW: usize = 16;
    let is_of_one = block.iter().all(|byte| Some(byte) == block.first());
    let matches = |from: usize| {
        let windows = block.chunks(WINDOW).zip((from..).step_by(WINDOW));
        let is_same = |(window, at): &(&[u8], usize)| {
            let bytes = pattern.iter().cycle().skip(at % pattern.len());
            window.iter().eq(bytes.take(window.len()))
        };
        windows.filter(is_same).count()
    };
    let all = block.len().div_ceil(WINDOW);
    !is_of_one
        && (0..pattern.len())
            .map(matches)
            .any(|count| (all / 2 + 1..all).contains(&count))
        && !VerifyMethod::Pattern(pattern.to_vec()).continues(block)
}

fn check_pattern(pattern: &[u8], block: &[u8]) -> Result<(), Damage> {
    let odd = block
        .iter()
        .zip(pattern.iter().cycle())
        .position(|(byte, expected)| byte != expected);
    odd.map_or(Ok(()), |at| {
        Err(Damage::Byte {
            at,
            found: block[at],
            expected: pattern[at % pattern.len()],
        })
    })
}

/// What two sums that differ are told as.
fn differ(found: &[u8], expected: &[u8]) -> Damage {
    let head = |sum: &[u8]| {
        let mut bytes = [0; 8];
        let len = sum.len().min(8);
        bytes[..len].copy_from_slice(&sum[..len]);
        u64::from_be_bytes(bytes)
    };
    Damage::Checksum {
        found: head(found),
        expected: head(expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    /// Those that find every flipped bit of data, and the pattern.
    fn methods() -> [VerifyMethod; 10] {
        let pattern = VerifyMethod::Pattern(vec![0xde, 0xad, 0xbe, 0xef, 0x01]);
        [
            VerifyMethod::Crc7,
            VerifyMethod::Crc16,
            VerifyMethod::Crc32,
            VerifyMethod::Crc32c,
            VerifyMethod::Crc64,
            VerifyMethod::Xxhash,
            VerifyMethod::Md5,
            VerifyMethod::Sha1,
            VerifyMethod::Sha512,
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
        for method in &methods()[..9] {
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
    fn most_of_a_header_or_of_a_pattern_is_known_as_such() {
        let method = VerifyMethod::Crc32c;
        let block = stamped(&method, 4096, 8192, 3);
        assert!(!method.resembles(&block, 8192), "intact");
        assert!(!method.resembles(&block, 4096), "intact, of another place");
        for bit in 0..8 * HEADER {
            // Where fio keeps other things, and in the length, a bit is as good as another.
            let mut block = block.clone();
            block[bit / 8] ^= 1 << (bit % 8);
            let found = method.resembles(&block, 8192);
            assert!(found, "bit {bit}");
        }
        let random: Vec<u8> = stamped(&VerifyMethod::Nothing, 4096, 0, 1);
        for other in [vec![0; 4096], vec![0xff; 4096], random] {
            assert!(!method.resembles(&other, 0));
        }
        let check = |pattern: &[u8], change: fn(&mut [u8]), expected: bool| {
            let method = VerifyMethod::Pattern(pattern.to_vec());
            let mut block = vec![0; 1024];
            method.stamp(&mut block, 0, 1);
            let part = &mut block[512..];
            change(part);
            assert_eq!(method.resembles(part, 0), expected, "{pattern:?}");
        };
        for pattern in [&[1, 2, 3, 4, 5, 6, 7][..], &[0, 0, 0, 1], &[0x5a]] {
            check(pattern, |_| (), false);
            check(pattern, |part| part[0] ^= 4, true);
            check(pattern, |part| part[511] ^= 4, true);
            check(pattern, |part| part[200..260].fill(9), true);
            check(pattern, |part| part.fill(0), false);
        }
        let mostly_zero = |part: &mut [u8]| {
            part.fill(0);
            part[9] = 7;
        };
        check(&[0, 0, 0, 1], mostly_zero, false);
    }

    #[test]
    fn the_headers_are_those_of_fio() {
        // The second block of a file that fio 3.33 wrote with `verify=crc32c verify_pattern=0x5a bs=4k`.
        let header: [u8; 44] = [
            0xca, 0xac, 0x05, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0xab, 0xde, 0x48, 0x0a, 1, 0, 1, 0, 0x3e, 0x37, 0x40, 0x82, 0x93, 0x53,
            0x70, 0x37,
        ];
        let mut block = vec![0x5a; 4096];
        block[..header.len()].copy_from_slice(&header);
        let method = VerifyMethod::Crc32c;
        assert_eq!(method.check(&block, 4096, None), Ok(()));
        method.stamp(&mut block, 4096, 0x0a48_deab);
        // The operation of that number, and the checksum of the header with it.
        assert_eq!(
            (&block[..34], &block[40..44]),
            (&header[..34], &header[40..])
        );
    }

    #[test]
    fn what_is_no_block_of_this_check_is_said() {
        let block = stamped(&VerifyMethod::Crc32c, 4096, 0, 1);
        let other = Damage::Other {
            found: (5, 4096),
            expected: (2, 4096),
        };
        assert_eq!(VerifyMethod::Md5.check(&block, 0, None), Err(other));
        let halves = block[..2048].to_vec();
        let half = VerifyMethod::Crc32c.check(&halves, 0, None).unwrap_err();
        assert_eq!(
            half.to_string(),
            "its header is of method 5 and 4096 bytes, and not of method 5 and 2048"
        );
        assert_eq!(VerifyMethod::Nothing.check(&[1, 2], 7, None), Ok(()));
        let mut meta = stamped(&VerifyMethod::Meta, 512, 512, 1);
        meta[100] ^= 1;
        assert_eq!(
            VerifyMethod::Meta.check(&meta, 512, Some(1)),
            Ok(()),
            "data is not looked at"
        );
        meta[17] ^= 1;
        assert!(VerifyMethod::Meta.check(&meta, 512, Some(1)).is_err());
    }
}
