//! The checksums of fio's methods of verification, in the bytes in which fio 3.33 keeps them.
//!
//! Which sum it is, from which value it starts and in which order its bytes stand was found out from blocks that the
//! installed fio wrote, by computing published sums over them; the tests hold such blocks. Two of them are not what
//! their name says. `sha256` keeps the last block that went into the sum, of which the first eight bytes are replaced
//! by the lowest byte of each word of the sum, with the length in the wrong byte order: 64 bits, which protects against
//! accident. `sha512` keeps what went into the sum last, and nothing of the sum: fio finds no damage that lies before.
//! Here it is the real one, which fio takes for damage.

use model::job::VerifyMethod;
use sha1::Sha1;
use sha2::block_api::compress256;
use sha2::{Digest, Sha512};

/// The longest sum.
const LONGEST: usize = 64;

/// A checksum, as long as its method's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Sum {
    fn of(sum: &[u8]) -> Self {
        let mut bytes = [0; LONGEST];
        let len = sum.len().min(LONGEST);
        bytes[..len].copy_from_slice(&sum[..len]);
        Self { bytes, len }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The checksum of the data of a block.
pub(super) fn sum(method: &VerifyMethod, data: &[u8]) -> Sum {
    match method {
        VerifyMethod::Meta | VerifyMethod::Nothing | VerifyMethod::Pattern(_) => Sum::of(&[]),
        VerifyMethod::Crc7 => Sum::of(&[crc7(data)]),
        VerifyMethod::Crc16 => Sum::of(&crc16(data).to_le_bytes()),
        VerifyMethod::Crc32 => Sum::of(&crc32(data).to_le_bytes()),
        VerifyMethod::Crc32c => Sum::of(&crc32c(data).to_le_bytes()),
        VerifyMethod::Crc64 => Sum::of(&crc64(data).to_le_bytes()),
        VerifyMethod::Xxhash => Sum::of(&xxh32(data, 1).to_le_bytes()),
        VerifyMethod::Md5 => Sum::of(&md5::Md5::digest(data)),
        VerifyMethod::Sha1 => {
            let mut sum: [u8; 20] = Sha1::digest(data).into();
            sum.chunks_exact_mut(4).for_each(<[u8]>::reverse);
            Sum::of(&sum)
        }
        VerifyMethod::Sha256 => Sum::of(&sha256(data)),
        VerifyMethod::Sha512 => Sum::of(&Sha512::digest(data)),
    }
}

/// CRC-32C without the inversion at its end.
pub(super) fn crc32c(data: &[u8]) -> u32 {
    !crc32c::crc32c(data)
}

/// The remainders of all bytes in front of which nothing stands, for a polynomial whose highest power comes first.
const fn forwards(width: u32, polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u32;
    while byte < 256 {
        let mut rest = byte << 24;
        let mut bit = 0;
        while bit < 8 {
            let out = rest >> 31;
            rest = (rest << 1) ^ (out * (polynomial << (32 - width)));
            bit += 1;
        }
        table[byte as usize] = rest;
        byte += 1;
    }
    table
}

/// The same for one whose lowest power comes first.
const fn backwards(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            let out = rest & 1;
            rest = (rest >> 1) ^ (out * polynomial);
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
}

static CRC7: [u32; 256] = forwards(7, 0x09);
static CRC32: [u32; 256] = forwards(32, 0x04c1_1db7);
static CRC16: [u64; 256] = backwards(0xa001);
static CRC64: [u64; 256] = backwards(0x95ac_9329_ac4b_c9b5);

fn divided_forwards(table: &[u32; 256], data: &[u8]) -> u32 {
    data.iter().fold(0, |rest: u32, byte| {
        let [top, ..] = rest.to_be_bytes();
        (rest << 8) ^ table[usize::from(top ^ byte)]
    })
}

fn divided_backwards(table: &[u64; 256], data: &[u8]) -> u64 {
    data.iter().fold(0, |rest: u64, byte| {
        let [low, ..] = rest.to_le_bytes();
        (rest >> 8) ^ table[usize::from(low ^ byte)]
    })
}

/// x^7 + x^3 + 1.
fn crc7(data: &[u8]) -> u8 {
    let [top, ..] = divided_forwards(&CRC7, data).to_be_bytes();
    top >> 1
}

/// CRC-16/ARC.
fn crc16(data: &[u8]) -> u16 {
    let [low, high, ..] = divided_backwards(&CRC16, data).to_le_bytes();
    u16::from_le_bytes([low, high])
}

/// That of Ethernet, from 0 and with the highest power first, as POSIX's cksum has it.
fn crc32(data: &[u8]) -> u32 {
    divided_forwards(&CRC32, data)
}

/// CRC-64 of Jones, from 0.
fn crc64(data: &[u8]) -> u64 {
    divided_backwards(&CRC64, data)
}

/// xxHash of 32 bits, as its author describes it (xxhash.com, XXH32).
fn xxh32(data: &[u8], seed: u32) -> u32 {
    const PRIMES: [u32; 5] = [
        0x9e37_79b1,
        0x85eb_ca77,
        0xc2b2_ae3d,
        0x27d4_eb2f,
        0x1656_67b1,
    ];
    let [one, two, three, four, five] = PRIMES;
    let word = |bytes: &[u8]| {
        bytes
            .first_chunk()
            .map_or(0, |bytes| u32::from_le_bytes(*bytes))
    };
    let mut lanes = [
        seed.wrapping_add(one).wrapping_add(two),
        seed.wrapping_add(two),
        seed,
        seed.wrapping_sub(one),
    ];
    let stripes = data.chunks_exact(16);
    let rest = stripes.remainder();
    for stripe in stripes {
        for (lane, bytes) in lanes.iter_mut().zip(stripe.chunks_exact(4)) {
            let mixed = lane.wrapping_add(word(bytes).wrapping_mul(two));
            *lane = mixed.rotate_left(13).wrapping_mul(one);
        }
    }
    let turned = lanes.iter().zip([1, 7, 12, 18]);
    let mut sum = if data.len() < 16 {
        seed.wrapping_add(five)
    } else {
        turned.fold(0, |sum: u32, (lane, by)| {
            sum.wrapping_add(lane.rotate_left(by))
        })
    };
    let [low, next, third, fourth, ..] = data.len().to_le_bytes();
    sum = sum.wrapping_add(u32::from_le_bytes([low, next, third, fourth]));
    let words = rest.chunks_exact(4);
    let single = words.remainder();
    for bytes in words {
        let mixed = sum.wrapping_add(word(bytes).wrapping_mul(three));
        sum = mixed.rotate_left(17).wrapping_mul(four);
    }
    for byte in single {
        let mixed = sum.wrapping_add(u32::from(*byte).wrapping_mul(five));
        sum = mixed.rotate_left(11).wrapping_mul(one);
    }
    sum = (sum ^ (sum >> 15)).wrapping_mul(two);
    sum = (sum ^ (sum >> 13)).wrapping_mul(three);
    sum ^ (sum >> 16)
}

/// From what SHA-256 starts (FIPS 180-4, 5.3.3).
const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// What fio keeps of a SHA-256.
fn sha256(data: &[u8]) -> [u8; 64] {
    let mut state = START;
    let (blocks, rest) = data.as_chunks();
    compress256(&mut state, blocks);
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    if rest.len() >= 56 {
        compress256(&mut state, &[last]);
        last = [0; 64];
    }
    last[56..].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    compress256(&mut state, &[last]);
    for (byte, word) in last.iter_mut().zip(state) {
        [*byte, ..] = word.to_le_bytes();
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_published_ones() {
        let data = b"123456789";
        // The check values of the catalogue of parametrised CRC algorithms: CRC-7/MMC, CRC-16/ARC, CRC-32/CKSUM (which
        // is inverted at its end), CRC-64/REDIS.
        assert_eq!(crc7(data), 0x75);
        assert_eq!(crc16(data), 0xbb3d);
        assert_eq!(!crc32(data), 0x765e_7680);
        assert_eq!(crc64(data), 0xe9c6_d914_c4b8_d9ca);
        // RFC 3720 B.4, without the inversion; xxHash's own sanity check of nothing.
        assert_eq!(!crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(xxh32(b"", 0), 0x02cc_5d05);
        // RFC 1321 A.5, FIPS 180-4 by word with its bytes turned round.
        assert_eq!(
            sum(&VerifyMethod::Md5, b"abc").bytes()[..4],
            [0x90, 0x01, 0x50, 0x98]
        );
        assert_eq!(
            sum(&VerifyMethod::Sha1, b"abc").bytes()[..4],
            [0x36, 0x3e, 0x99, 0xa9]
        );
        assert_eq!(
            sum(&VerifyMethod::Sha512, b"abc").bytes()[..4],
            [0xdd, 0xaf, 0x35, 0xa1]
        );
    }

    #[test]
    fn they_are_those_that_fio_wrote() {
        // Blocks of 4096 bytes of 0x5a behind their headers, written by fio 3.33 with `verify_pattern=0x5a`.
        let check = |method: VerifyMethod, expected: &[u8]| {
            let data = vec![0x5a; 4096 - method.header()];
            assert_eq!(
                sum(&method, &data).bytes()[..expected.len()],
                *expected,
                "{method:?}"
            );
        };
        check(VerifyMethod::Crc7, &[0x5b]);
        check(VerifyMethod::Crc16, &[0xf2, 0x54]);
        check(VerifyMethod::Crc32, &[0xaa, 0xc0, 0xc6, 0xe4]);
        check(VerifyMethod::Crc32c, &[0x93, 0x53, 0x70, 0x37]);
        check(
            VerifyMethod::Crc64,
            &[0x61, 0xb4, 0x6f, 0x76, 0x5a, 0xc1, 0xca, 0xbd],
        );
        check(VerifyMethod::Xxhash, &[0x6e, 0x29, 0xdc, 0xaf]);
        check(VerifyMethod::Md5, &[0xac, 0x0f, 0xb3, 0x84]);
        check(VerifyMethod::Sha1, &[0x69, 0xf1, 0x2a, 0x47]);
        let kept = [0x30, 0x3f, 0xd5, 0xc2, 0x63, 0xd1, 0xa8, 0x42, 0x5a, 0x5a];
        check(VerifyMethod::Sha256, &kept);
    }

    #[test]
    fn what_is_kept_of_a_sha_256_has_its_padding_wherever_the_data_ends() {
        for len in [0, 1, 8, 55, 56, 63, 64, 119, 120] {
            let kept = sha256(&vec![7; len]);
            let bits = (len as u64 * 8).to_le_bytes();
            assert_eq!(kept[56..], bits, "{len}");
            let other = sha256(&vec![8; len]);
            assert_eq!(kept[..8] != other[..8], len > 0, "{len}");
        }
    }
}
