//! `cpu.zstd`: compression and decompression of prose with zstd.

use super::{all_right, bytes_per_s, check_size, data, size, size_param, work};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::params::Params;
use model::spec::{Nature, ParamDef, ParamKind, Spec, TestDef};
use zstd::bulk::{Compressor, Decompressor};

/// The workload.
pub(crate) static ZSTD: Zstd = Zstd;

/// Zstandard by the reference implementation in C.
#[derive(Debug)]
pub(crate) struct Zstd;

static SPEC: Spec = Spec {
    name: "cpu.zstd",
    version: 1,
    nature: Nature::Compute,
    title: "compression and decompression with zstd",
    doc: "One operation compresses, or decompresses, one block of generated prose (about 2.8 times smaller at level \
          3) in memory with zstd 1.5.7, through the crate `zstd`. The context and both buffers are used again, so \
          nothing is allocated. Frames carry zstd's checksum, which every decompression verifies.\n\n\
          Compression is table look-ups with hard-to-predict branches in a few hundred KiB; decompression is short \
          copies and bit arithmetic. Both are what backups, package managers, logs and web servers do. Rates count \
          uncompressed bytes in both directions.",
    params: &[
        ParamDef {
            name: "direction",
            kind: ParamKind::Choice(&["compress", "decompress"]),
            default: "compress",
            doc: "What one operation does.",
        },
        ParamDef {
            name: "level",
            kind: ParamKind::Count { min: 1, max: 19 },
            default: "3",
            doc: "The compression level; 3 is zstd's default.",
        },
        size_param(
            "1M",
            "Uncompressed size of a block, from 64 bytes to 256 MiB.",
        ),
    ],
    metrics: &bytes_per_s(
        "Uncompressed bytes, over the wall time from the start of the first block to the end of the last.",
        "Uncompressed bytes, over the CPU time that all copies together spent in between.",
    ),
    tests: &[
        TestDef::new("cpu.zstd-compress", "zstd level 3, compressing", &[]),
        TestDef::new(
            "cpu.zstd-decompress",
            "zstd level 3, decompressing",
            &[("direction", "decompress")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

impl Workload for Zstd {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let words = match params.text("direction") {
            "compress" => ["zstd", "zstd 圧縮"],
            _ => ["unzstd", "zstd 展開"],
        };
        Some(Headline::new(Topic::Cpu, words).and_all())
    }

    /// zstd compiles its hot functions a second time for BMI2, and has an assembly loop for decoding with it.
    fn implementation(&self, _: &Params) -> Option<String> {
        let fast = sys::features::has("bmi2");
        Some(if fast { "C with BMI2" } else { "portable C" }.to_owned())
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        check_size(params)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let text = data::text(place.seed, size(params, place, 3)?);
        let level = i32::try_from(params.count("level"))
            .map_err(|error| WorkError::failed("set", "level", error))?;
        let mut compressor =
            Compressor::new(level).map_err(|error| WorkError::failed("set up", "zstd", error))?;
        let decompressor =
            Decompressor::new().map_err(|error| WorkError::failed("set up", "zstd", error))?;
        compressor
            .include_checksum(true)
            .map_err(|error| WorkError::failed("set up", "zstd", error))?;
        let mut packed = vec![0; zstd::zstd_safe::compress_bound(text.len())];
        let length = compressor
            .compress_to_buffer(&text, &mut packed[..])
            .map_err(|error| WorkError::failed("compress", "block", error))?;
        Ok(Box::new(Blocks {
            unpacked: vec![0; text.len()],
            text,
            packed,
            length,
            compressor,
            decompressor,
            compress: params.text("direction") == "compress",
            different: 0,
        }))
    }
}

struct Blocks {
    text: Vec<u8>,
    packed: Vec<u8>,
    /// Of the block when packed.
    length: usize,
    unpacked: Vec<u8>,
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
    compress: bool,
    different: u64,
}

impl Blocks {
    fn unpack(&mut self) -> Result<usize, WorkError> {
        self.decompressor
            .decompress_to_buffer(&self.packed[..self.length], &mut self.unpacked[..])
            .map_err(|error| WorkError::Wrong(format!("decompress `block`: {error}")))
    }
}

impl Body for Blocks {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            let right = if self.compress {
                let length = recorder.time(|| {
                    self.compressor
                        .compress_to_buffer(&self.text, &mut self.packed[..])
                });
                length.ok() == Some(self.length)
            } else {
                recorder.time(|| self.unpack())? == self.text.len()
            };
            self.different += u64::from(!right);
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        work(self.text.len())
    }

    /// A compressed block must unpack to the text; an unpacked one must be it.
    fn finish(&mut self) -> Result<Finish, WorkError> {
        if self.compress {
            self.unpack()?;
        }
        if self.unpacked != self.text {
            return Err(WorkError::Wrong(
                "the unpacked block is not what was packed".to_owned(),
            ));
        }
        let digest = Digest::EMPTY.bytes(&self.text[..64]);
        Ok(Finish {
            digest: all_right(self.different, "length", digest)?,
            ..Finish::default()
        })
    }
}
