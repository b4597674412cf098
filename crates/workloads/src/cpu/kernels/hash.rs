//! `cpu.sha256` and `cpu.blake3`: digests of blocks in memory.

use super::{all_right, bytes_per_s, check_size, data, size, size_param, work};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::params::Params;
use model::spec::{Nature, Spec, TestDef};
use sha2::Digest as _;

/// `cpu.sha256`.
pub(crate) static SHA256: Hash = Hash {
    spec: &SHA256_SPEC,
    sum: sha256,
    known: SHA256_OF_ABC,
    implementation: sha256_implementation,
};

/// `cpu.blake3`.
pub(crate) static BLAKE3: Hash = Hash {
    spec: &BLAKE3_SPEC,
    sum: blake3,
    known: BLAKE3_OF_ABC,
    implementation: blake3_implementation,
};

type Sum = [u8; 32];

/// Whether the CPU has the instructions of this name.
type Has = fn(&str) -> bool;

/// A cryptographic digest by a crate.
#[derive(Debug)]
pub(crate) struct Hash {
    spec: &'static Spec,
    sum: fn(&[u8]) -> Sum,
    /// The published digest of `abc`.
    known: Sum,
    /// The name of the code that the crate takes where the CPU has what this says.
    implementation: fn(Has) -> &'static str,
}

static SHA256_SPEC: Spec = Spec {
    name: "cpu.sha256",
    version: 1,
    nature: Nature::Compute,
    title: "SHA-256 digests",
    doc: "One operation is the SHA-256 digest of one block that stays in the cache, by the crate `sha2`, which uses \
          the CPU's SHA instructions where it has them. What package managers, backups, certificates and git do; \
          without these instructions it is several times slower; the result names what was used. Nothing is \
          allocated.",
    params: &[size_param(
        "64k",
        "The size of a block, from 64 bytes to 256 MiB.",
    )],
    metrics: &METRICS,
    tests: &[TestDef::new("cpu.sha256", "SHA-256 of 64 KiB blocks", &[])],
    simulated: false,
    on_disk: false,
};

static BLAKE3_SPEC: Spec = Spec {
    name: "cpu.blake3",
    version: 1,
    nature: Nature::Compute,
    title: "BLAKE3 digests",
    doc: "One operation is the BLAKE3 digest of one block that stays in the cache, by the crate `blake3` on one \
          thread. It is integer arithmetic in the widest vectors that the CPU has (SSE2, SSE4.1, AVX2, AVX-512, \
          NEON; the result names which), without any instruction made for the purpose, and so shows what vector \
          units are worth. Nothing is allocated.",
    params: &[size_param(
        "64k",
        "The size of a block, from 64 bytes to 256 MiB.",
    )],
    metrics: &METRICS,
    tests: &[TestDef::new("cpu.blake3", "BLAKE3 of 64 KiB blocks", &[])],
    simulated: false,
    on_disk: false,
};

static METRICS: [model::spec::MetricDef; 2] = bytes_per_s(
    "Bytes digested, over the wall time from the start of the first block to the end of the last.",
    "Bytes digested, over the CPU time that all copies together spent in between.",
);

fn sha256(bytes: &[u8]) -> Sum {
    sha2::Sha256::digest(bytes).into()
}

fn blake3(bytes: &[u8]) -> Sum {
    blake3::hash(bytes).into()
}

/// FIPS 180-4, example of a one-block message.
const SHA256_OF_ABC: Sum = [
    0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
    0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
];

/// As the reference implementation prints it (`printf abc | b3sum`).
const BLAKE3_OF_ABC: Sum = [
    0x64, 0x37, 0xb3, 0xac, 0x38, 0x46, 0x51, 0x33, 0xff, 0xb6, 0x3b, 0x75, 0x27, 0x3a, 0x8d, 0xb5,
    0x48, 0xc5, 0x58, 0x46, 0x5d, 0x79, 0xdb, 0x03, 0xfd, 0x35, 0x9c, 0x6c, 0xd5, 0xbd, 0x9d, 0x85,
];

/// The crate asks for the same features (`sha2` 0.11.1, src/sha256.rs).
fn sha256_implementation(has: Has) -> &'static str {
    if has("sha") && has("sse4.1") {
        "SHA-NI"
    } else if has("sha2") {
        "ARMv8 SHA2"
    } else {
        "portable"
    }
}

/// The crate asks for the same features in the same order (`blake3` 1.8.7, src/platform.rs).
fn blake3_implementation(has: Has) -> &'static str {
    if has("avx512f") && has("avx512vl") {
        "AVX-512"
    } else if has("avx2") {
        "AVX2"
    } else if has("sse4.1") {
        "SSE4.1"
    } else if sys::features::architecture() == "x86_64" {
        "SSE2"
    } else if sys::features::architecture() == "aarch64" {
        "NEON"
    } else {
        "portable"
    }
}

/// Blocks that follow each other differ; their digests are known from set-up, so that every one is checked.
const BLOCKS: usize = 16;

impl Workload for Hash {
    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        let word = self.spec.name.trim_start_matches("cpu.");
        Some(Headline::named(Topic::Cpu, word).and_all())
    }

    fn implementation(&self, _: &Params) -> Option<String> {
        Some((self.implementation)(sys::features::has).to_owned())
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        check_size(params)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let known = (self.sum)(b"abc");
        if known != self.known {
            return Err(WorkError::Wrong(format!(
                "the digest of `abc` is {known:02x?}, not the published one"
            )));
        }
        let mut block = data::text(place.seed, size(params, place, 1)?);
        let mut sums = [[0; 32]; BLOCKS];
        for (number, sum) in sums.iter_mut().enumerate() {
            mark(&mut block, number);
            *sum = (self.sum)(&block);
        }
        Ok(Box::new(Blocks {
            block,
            sum: self.sum,
            sums,
            next: 0,
            different: 0,
        }))
    }
}

/// Makes the block the one of this number.
fn mark(block: &mut [u8], number: usize) {
    block[..8].copy_from_slice(&(number as u64).to_le_bytes());
}

struct Blocks {
    block: Vec<u8>,
    sum: fn(&[u8]) -> Sum,
    sums: [Sum; BLOCKS],
    next: usize,
    different: u64,
}

impl Body for Blocks {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            mark(&mut self.block, self.next);
            let sum = recorder.time(|| (self.sum)(&self.block));
            self.different += u64::from(sum != self.sums[self.next]);
            self.next = (self.next + 1) % BLOCKS;
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        work(self.block.len())
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let digest = self
            .sums
            .iter()
            .fold(Digest::EMPTY, |digest, sum| digest.bytes(sum));
        Ok(Finish {
            digest: all_right(self.different, "digest", digest)?,
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cpu_lacks_is_not_named() {
        let none: Has = |_| false;
        assert_eq!(sha256_implementation(none), "portable");
        assert_eq!(sha256_implementation(|name| name == "sha"), "portable");
        assert_eq!(sha256_implementation(|name| name != "sha2"), "SHA-NI");
        assert_eq!(sha256_implementation(|name| name == "sha2"), "ARMv8 SHA2");
        assert_eq!(blake3_implementation(|name| name != "avx512vl"), "AVX2");
        assert_eq!(blake3_implementation(|_| true), "AVX-512");
        assert_eq!(blake3_implementation(|name| name == "sse4.1"), "SSE4.1");
        let base = match sys::features::architecture() {
            "x86_64" => "SSE2",
            "aarch64" => "NEON",
            _ => "portable",
        };
        assert_eq!(blake3_implementation(none), base);
    }
}
