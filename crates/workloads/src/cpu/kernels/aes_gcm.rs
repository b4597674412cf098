//! `cpu.aes-gcm`: authenticated encryption of records, as TLS does it.

use super::{all_right, bytes_per_s, check_size, data, size, size_param, work};
use aes_gcm::aead::{AeadInOut, Nonce, Tag};
use aes_gcm::{Aes256Gcm, KeyInit};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::params::Params;
use model::rng::Rng;
use model::spec::{Nature, Spec, TestDef};

/// The workload.
pub(crate) static AES_GCM: AesGcm = AesGcm;

/// AES-256-GCM by the crate `aes-gcm`.
#[derive(Debug)]
pub(crate) struct AesGcm;

static SPEC: Spec = Spec {
    name: "cpu.aes-gcm",
    version: 1,
    nature: Nature::Compute,
    title: "AES-256-GCM encryption",
    doc: "One operation encrypts one record in place with AES-256-GCM and makes its tag, by the crate `aes-gcm`. 16 \
          KiB is the largest record of TLS, and what a server sends for a large file. The result names the \
          instructions used: AES-NI or its wide forms (VAES) for the cipher, PCLMULQDQ for the tag; without them it \
          is many times slower. Nothing is allocated. OpenSSL's assembly, which interleaves cipher and tag, is \
          faster: compare machines, not libraries.",
    params: &[size_param(
        "16k",
        "The size of a record, from 64 bytes to 256 MiB.",
    )],
    metrics: &bytes_per_s(
        "Bytes encrypted, over the wall time from the start of the first record to the end of the last.",
        "Bytes encrypted, over the CPU time that all copies together spent in between.",
    ),
    tests: &[TestDef::new(
        "cpu.aes-gcm",
        "AES-256-GCM of 16 KiB records",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for AesGcm {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::named(Topic::Cpu, "aes-gcm").and_all())
    }

    /// The crates ask for the same features in the same order (`aes` 0.9.4, src/lib.rs; `polyval` 0.7.3,
    /// src/backend/intrinsics).
    fn implementation(&self, _: &Params) -> Option<String> {
        Some(named(sys::features::has, sys::features::architecture()))
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        check_size(params)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        check_known()?;
        let mut rng = Rng::stream(place.seed, 0x6165_7367);
        let mut key = [0; 32];
        for part in key.as_chunks_mut::<8>().0 {
            *part = rng.next().to_le_bytes();
        }
        let plain = data::text(place.seed, size(params, place, 2)?);
        let mut records = Records {
            cipher: Aes256Gcm::new(&key.into()),
            record: plain.clone(),
            plain,
            tags: [Tag::<Aes256Gcm>::default(); TAGS],
            next: 0,
            different: 0,
        };
        for number in 0..TAGS {
            records.tags[number] = records.seal(number)?;
        }
        Ok(Box::new(records))
    }
}

fn named(has: impl Fn(&str) -> bool, architecture: &str) -> String {
    if architecture == "aarch64" {
        let name = if has("aes") {
            "ARMv8 AES, PMULL"
        } else {
            "portable"
        };
        return name.to_owned();
    }
    let cipher = if has("vaes") && has("avx512f") {
        "VAES-512"
    } else if has("vaes") {
        "VAES-256"
    } else if has("aes") {
        "AES-NI"
    } else {
        "portable AES"
    };
    let tag = if has("avx") && has("pclmulqdq") {
        "PCLMULQDQ"
    } else {
        "portable GHASH"
    };
    format!("{cipher}, {tag}")
}

/// Test case 14 of the GCM specification (2005): 16 zero bytes under a zero key and nonce.
fn check_known() -> Result<(), WorkError> {
    const TEXT: [u8; 16] = [
        0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60, 0x6b, 0x6e, 0x07, 0x4e, 0xc5, 0xd3, 0xba, 0xf3, 0x9d,
        0x18,
    ];
    const TAG: [u8; 16] = [
        0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99, 0x6b, 0xf0, 0x26, 0x5b, 0x98, 0xb5, 0xd4, 0x8a, 0xb9,
        0x19,
    ];
    let mut text = [0; 16];
    let tag = Aes256Gcm::new(&[0; 32].into())
        .encrypt_inout_detached(&[0; 12].into(), &[], text.as_mut_slice().into())
        .map_err(|error| WorkError::failed("encrypt", "known record", error))?;
    if text != TEXT || tag.as_slice() != TAG {
        return Err(WorkError::Wrong(format!(
            "the known record encrypts to {text:02x?} with tag {tag:02x?}, not to the published ones"
        )));
    }
    Ok(())
}

/// Records that follow each other have different tags, all known from set-up. The counter mode makes encrypting twice
/// with the same nonce the same as decrypting, so that after an even number of records the plain text is back and
/// the tags repeat, without a byte being copied in between.
const TAGS: usize = 64;

struct Records {
    cipher: Aes256Gcm,
    plain: Vec<u8>,
    record: Vec<u8>,
    tags: [Tag<Aes256Gcm>; TAGS],
    next: usize,
    different: u64,
}

impl Records {
    /// Encrypts the record under the nonce of this number; each nonce is used twice in a row.
    fn seal(&mut self, number: usize) -> Result<Tag<Aes256Gcm>, WorkError> {
        let mut nonce = Nonce::<Aes256Gcm>::default();
        nonce[..8].copy_from_slice(&(number as u64 / 2).to_le_bytes());
        // As long as the header that TLS 1.3 authenticates with each record.
        let header = [23, 3, 3, 64, 16];
        self.cipher
            .encrypt_inout_detached(&nonce, &header, self.record.as_mut_slice().into())
            .map_err(|error| WorkError::failed("encrypt", "record", error))
    }
}

impl Body for Records {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            let number = self.next;
            let tag = recorder.time(|| self.seal(number))?;
            self.different += u64::from(tag != self.tags[number]);
            self.next = (number + 1) % TAGS;
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        work(self.record.len())
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        if !self.next.is_multiple_of(2) {
            self.seal(self.next)?;
        }
        if self.record != self.plain {
            return Err(WorkError::Wrong(
                "the decrypted record is not what was encrypted".to_owned(),
            ));
        }
        let digest = self
            .tags
            .iter()
            .fold(Digest::EMPTY, |digest, tag| digest.bytes(tag));
        Ok(Finish {
            digest: all_right(self.different, "tag", digest)?,
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cpu_lacks_is_not_named() {
        let check = |has: &[&str], architecture, expected: &str| {
            assert_eq!(named(|name| has.contains(&name), architecture), expected);
        };
        check(&[], "x86_64", "portable AES, portable GHASH");
        check(&["aes"], "x86_64", "AES-NI, portable GHASH");
        check(&["aes", "avx", "pclmulqdq"], "x86_64", "AES-NI, PCLMULQDQ");
        let wide = ["aes", "avx", "avx512f", "pclmulqdq", "vaes"];
        check(&wide, "x86_64", "VAES-512, PCLMULQDQ");
        check(&[], "aarch64", "portable");
        check(&["aes"], "aarch64", "ARMv8 AES, PMULL");
        check(&[], "riscv64", "portable AES, portable GHASH");
    }
}
