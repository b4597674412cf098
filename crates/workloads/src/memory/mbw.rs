//! `memory.mbw`: mbw's three ways to copy an array.
//!
//! A method does what its name says, which is not what every build of mbw prints under that name: whoever looks at the
//! figure is told so. Every byte that counts is copied, in MCBLOCK too where the last block is a part of one.

use super::{HUGE_PAGE_SHARE, PAGE_BYTES, map, set_up_by_each};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::host::HostFacts;
use model::params::Params;
use model::plan::Shape;
use model::spec::{
    Amount, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time,
};
use model::units::{Nanos, Unit};
use sys::loops::memcpy::{Method, copy};
use sys::memory::{Pages, Region};

/// The workload.
pub(crate) static MBW: Mbw = Mbw;

/// Copies of whole arrays.
#[derive(Debug)]
pub(crate) struct Mbw;

static SPEC: Spec = Spec {
    name: "memory.mbw",
    version: 2,
    nature: Nature::Memory,
    title: "mbw's three ways to copy an array",
    doc: "One operation fills an array of `size` bytes from another: with one call of the C library's memcpy \
          (MEMCPY), word by word in a loop (DUMB), or with a memcpy of the first `block` bytes to each place \
          (MCBLOCK); the last place gets as many of them as fit. Both arrays are filled before. Bytes are counted \
          once, though each is read and written, and what the CPU reads in order to overwrite it is not counted; mbw's \
          MiB/s is the metric over 1048576.\n\n\
          In the mbw that Debian 12 ships two names are the other way round: what it prints as MEMCPY is the loop \
          (here `memory.mbw-dumb`), and what it prints as DUMB is memcpy (here `memory.mbw-memcpy`).\n\n\
          MEMCPY and DUMB differ by the C library, which writes past the caches from a size on that depends on the \
          cache that the machine shows. MCBLOCK reads the same block again and again, out of the cache, and is \
          therefore a measure of writing. Nobody is kept on a CPU, and pages are as the kernel gives them, as with \
          mbw. `memory.copy` measures the memory.",
    params: &[
        ParamDef {
            name: "method",
            kind: ParamKind::Choice(&["memcpy", "dumb", "mcblock"]),
            default: "memcpy",
            doc: "The way to copy.",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "128M",
            doc: "Bytes of each of the two arrays: mbw's only argument, which has no default there.",
        },
        ParamDef {
            name: "block",
            kind: ParamKind::Size,
            default: "262144",
            doc: "Bytes of one memcpy of MCBLOCK (`-b`).",
        },
    ],
    metrics: &[
        MetricDef::rate(
            "bytes_per_s",
            Unit::BytesPerSecond,
            MetricClass::Compute,
            How::Per(Amount::Work, Time::Wall),
            "Bytes copied, counted once, over the wall time from the start of the first copy to the end of the \
                  last, summed over the copies.",
        ),
        HUGE_PAGE_SHARE,
        PAGE_BYTES,
    ],
    tests: &[
        TestDef::new("memory.mbw-memcpy", "mbw MEMCPY", &[]),
        TestDef::new("memory.mbw-dumb", "mbw DUMB", &[("method", "dumb")]),
        TestDef::new(
            "memory.mbw-mcblock",
            "mbw MCBLOCK",
            &[("method", "mcblock")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

impl Workload for Mbw {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        // Filling both arrays, comparing them at the end and giving them back: about a second for a gigabyte.
        Shape {
            setup: Nanos(params.size("size").0.saturating_mul(2)),
            ..Shape::DEFAULT
        }
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        set_up_by_each(self.shape(params), copies)
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        for param in ["size", "block"] {
            let bytes = params.size(param).0;
            if bytes < 8 || !bytes.is_multiple_of(8) {
                return Err(BadValue::new(param, "a multiple of 8 bytes, from 8 on"));
            }
        }
        Ok(())
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        self.supported_with(params, host, 1)
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        let each = params.size("size").0.saturating_mul(2);
        super::supported(params, host, each.saturating_mul(u64::from(copies)))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let size = params.size("size").0;
        super::check_room(size.saturating_mul(2), place)?;
        let mut from = map("the array that is copied from", size, Pages::Usual)?;
        let mut to = map("the array that is copied to", size, Pages::Usual)?;
        for (word, value) in from.words().iter_mut().zip(1..) {
            *word = value;
        }
        to.words().fill(u64::MAX);
        Ok(Box::new(Copies {
            from,
            to,
            method: match params.text("method") {
                "dumb" => Method::Dumb,
                "mcblock" => {
                    let block = usize::try_from(params.size("block").0);
                    Method::Blocks(block.unwrap_or(usize::MAX))
                }
                _ => Method::Memcpy,
            },
            clone: place.round,
            stamp: 0,
        }))
    }
}

struct Copies {
    from: Region,
    to: Region,
    method: Method,
    clone: u32,
    stamp: u64,
}

impl Body for Copies {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            // The ends differ from copy to copy, so that one that was left out is found.
            self.stamp += 1;
            let from = self.from.words();
            let last = from.len() - 1;
            (from[0], from[last]) = (self.stamp, self.stamp);
            let to = self.to.words();
            recorder.time(|| copy(to, from, self.method, self.clone));
            // The blocks' source is the first block alone, so that the beginning of the last one has the stamp.
            let end = match self.method {
                Method::Blocks(bytes) => last - last % words_of(bytes),
                Method::Memcpy | Method::Dumb => last,
            };
            if to[0] != self.stamp || to[end] != self.stamp {
                return Err(WorkError::Wrong("a copy left an end as it was".to_owned()));
            }
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        model::num::count(self.to.len())
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let (from, to) = (self.from.words(), self.to.words());
        let same = match self.method {
            Method::Blocks(bytes) => {
                let mut blocks = to.chunks(words_of(bytes).min(from.len()));
                blocks.all(|block| *block == from[..block.len()])
            }
            Method::Memcpy | Method::Dumb => from == to,
        };
        if !same {
            return Err(WorkError::Wrong(
                "the arrays differ after a copy".to_owned(),
            ));
        }
        let size = self.to.len() as u64;
        // Neither may have been swapped out; what is told of the pages is of the array that is written.
        super::page_values(self.from.paging(), Pages::Usual)?;
        Ok(Finish {
            digest: Digest::EMPTY.word(size),
            reported: super::page_values(self.to.paging(), Pages::Usual)?.into(),
            notes: self.other_name().into_iter().map(str::to_owned).collect(),
            ..Finish::default()
        })
    }
}

/// Words of a block.
fn words_of(bytes: usize) -> usize {
    (bytes / 8).max(1)
}

impl Copies {
    /// Where a well-known build of mbw prints this method under the name of another one.
    const fn other_name(&self) -> Option<&'static str> {
        match self.method {
            Method::Memcpy => Some("the mbw of Debian 12 prints this figure, memcpy's, as DUMB"),
            Method::Dumb => Some("the mbw of Debian 12 prints this figure, the loop's, as MEMCPY"),
            Method::Blocks(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn every_method_copies_the_whole_array() {
        for method in ["memcpy", "dumb", "mcblock"] {
            for size in ["8", "1M", "1000000"] {
                let (_root, place) = testing::place();
                let set = [("method", method), ("size", size), ("block", "4096")];
                let mut body = testing::prepare(&MBW, &set, &place).unwrap();
                assert_eq!(body.batch(3, &mut Recorder::off()).unwrap(), 3);
                let told = body.finish().unwrap().notes;
                assert_eq!(told.is_empty(), method == "mcblock", "{told:?}");
            }
        }
    }

    fn copies(size: u64, method: Method) -> Copies {
        let mut body = Copies {
            from: map("a", size, Pages::Usual).unwrap(),
            to: map("b", size, Pages::Usual).unwrap(),
            method,
            clone: 0,
            stamp: 0,
        };
        for (word, value) in body.from.words().iter_mut().zip(1..) {
            *word = value;
        }
        body.to.words().fill(u64::MAX);
        body
    }

    #[test]
    fn as_many_bytes_are_copied_as_are_counted_whatever_the_block() {
        for block in [8, 256 << 10, 640 << 10, 1 << 20, 3 << 20] {
            let mut body = copies(1 << 20, Method::Blocks(block));
            body.batch(1, &mut Recorder::off()).unwrap();
            let copied = body.to.words().iter().filter(|word| **word != u64::MAX);
            let copied = model::num::count(copied.count() * 8);
            assert!(
                (copied - body.work_per_op()).abs() < 0.5,
                "{block}: {copied}"
            );
            body.finish().unwrap();
            // The last word of all, which lies behind the last whole block.
            *body.to.words().last_mut().unwrap() ^= 1;
            assert!(matches!(body.finish(), Err(WorkError::Wrong(_))), "{block}");
        }
    }

    #[test]
    fn a_word_that_was_not_copied_is_found() {
        let mut body = copies(4096, Method::Memcpy);
        body.batch(1, &mut Recorder::off()).unwrap();
        body.to.words()[100] ^= 1;
        assert!(matches!(body.finish(), Err(WorkError::Wrong(_))));
    }

    #[test]
    fn arrays_that_fit_once_and_not_for_all_copies_are_left_out_for_all() {
        let mut host = HostFacts::default();
        host.memory.available = model::host::Fact::Known(model::units::Bytes(1 << 30));
        let params = testing::params(&MBW, &[("size", "256M")]);
        for (copies, fits) in [(1, true), (2, false), (u32::MAX, false)] {
            let found = MBW.supported_with(&params, &host, copies);
            assert_eq!(found.is_ok(), fits, "{copies}: {found:?}");
        }
    }

    #[test]
    fn sizes_that_cannot_be_copied_in_words_are_refused_beforehand() {
        for set in [("size", "0"), ("size", "1001"), ("block", "4")] {
            let params = testing::params(&MBW, &[set]);
            let refused = MBW.check_params(&params).unwrap_err();
            assert_eq!(refused.param, set.0, "{set:?}");
        }
    }
}
