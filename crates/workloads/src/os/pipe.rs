//! `os.pipe`: how fast one process writes into a pipe and reads back.

use super::{all_or_each, failed, ops_per_s};
use crate::unixbench::{COMPAT, Length, shape};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, Spec, TestDef};
use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsFd;

/// Bytes per write and per read, as in the original.
const BLOCK_BYTES: usize = 512;

/// The workload.
pub(crate) static PIPE: Pipe = Pipe;

/// One process, one pipe.
#[derive(Debug)]
pub(crate) struct Pipe;

static SPEC: Spec = Spec {
    name: "os.pipe",
    version: 1,
    nature: Nature::System,
    title: "pipe throughput of one process",
    doc: "One operation writes 512 bytes into a pipe and reads them back, in the same process: two system calls and \
          two small copies, no context switch. It follows the cost of entering the kernel and of the mitigations \
          against CPU weaknesses more than anything else.",
    params: &[COMPAT],
    metrics: &[ops_per_s(
        "Pairs of one write and one read of 512 bytes, over the wall time from the call of the first write to the \
         return of the last read.",
    )],
    tests: &[TestDef::new("os.pipe", "Pipe Throughput", &[])],
    simulated: false,
    on_disk: false,
};

impl Workload for Pipe {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::new(Topic::Os, ["pipe", "パイプ"]))
    }

    fn shape(&self, params: &Params) -> Shape {
        shape(params, 10, Length::Long, Shape::DEFAULT)
    }

    fn prepare(&self, _: &Params, _: &Place) -> Result<Box<dyn Body>, WorkError> {
        let (reader, writer) =
            std::io::pipe().map_err(|error| WorkError::failed("pipe", "a new pipe", error))?;
        Ok(Box::new(Echo {
            reader,
            writer,
            block: pattern(),
            batches: 0,
        }))
    }
}

/// Bytes that each tell where they stand.
fn pattern() -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    for (byte, value) in block.iter_mut().zip((0..=u8::MAX).cycle()) {
        *byte = value;
    }
    block
}

struct Echo {
    reader: PipeReader,
    writer: PipeWriter,
    block: [u8; BLOCK_BYTES],
    batches: u64,
}

impl Body for Echo {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        // A stamp, so that a block of an earlier batch cannot pass for one of this.
        self.batches += 1;
        self.block[..8].copy_from_slice(&self.batches.to_ne_bytes());
        let expected = self.block;
        let Self {
            reader,
            writer,
            block,
            ..
        } = self;
        let (reader, writer) = (reader.as_fd(), writer.as_fd());
        let done = all_or_each(ops, recorder, |ops| {
            sys::loops::pipe::echo(reader, writer, block, ops).map(|()| ops)
        })
        .map_err(|failure| failed(&failure, "the pipe"))?;
        if self.block != expected {
            return Err(WorkError::Wrong(
                "what came out of the pipe is not what went in".to_owned(),
            ));
        }
        Ok(done)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        // Without the stamp, which depends on how many batches there were.
        let digest = Digest::EMPTY.bytes(&self.block[8..]);
        Ok(Finish {
            digest,
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_block_that_comes_back_changed_is_found() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        // A foreign byte in the pipe shifts everything that is read after it.
        writer.write_all(b"x").unwrap();
        let mut body = Echo {
            reader,
            writer,
            block: pattern(),
            batches: 0,
        };
        let error = body.batch(10, &mut Recorder::off()).unwrap_err();
        assert!(matches!(error, WorkError::Wrong(_)), "{error}");
    }
}
