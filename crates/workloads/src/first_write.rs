//! `storage.first-write`: what it costs to write where nothing was written before.
//!
//! Thin volumes, lazily loaded ones and file systems find a place for data when it is first written. Every other test
//! writes to a file that was made before; this one writes fresh parts of the disk, and then the same parts again. Each
//! round has a file of its own, which stays until the run ends: a part that was given back would be written a second
//! time by the next round and called the first. Rejected: reading the speed off the making of the test file, which goes
//! through the page cache in pieces of its own and has nothing to be compared with.

use crate::storage::Fill;
use crate::storage::space::check_round;
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload, Writes};
use model::digest::Digest;
use model::job::Redundancy;
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{
    Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, TestDef,
};
use model::units::{Bytes, Nanos, Unit};
use std::fs::OpenOptions;
use std::path::PathBuf;
use sys::io::file::{Access, SyncMode};
use sys::io::{Completion, Engine, Kind, Op, Psync, Setup, Wait};

/// The workload.
pub(crate) static FIRST_WRITE: FirstWrite = FirstWrite;

/// Writes fresh parts of a disk, and writes them again.
#[derive(Debug)]
pub(crate) struct FirstWrite;

static SPEC: Spec = Spec {
    name: "storage.first-write",
    version: 1,
    nature: Nature::Storage,
    title: "the first write of a place against the second",
    doc: "One operation writes one block, one after the other. Each round makes a file that has its length and \
          no place on the disk yet, writes it from its beginning for at most 0.7 s, syncs it, writes the same \
          blocks again, and syncs again. The files stay until the run ends, so that no round writes where \
          another one did. What the file system does to find a place is part of the first write. At most half \
          of the free space is used, and at least 1 GiB stays free, or 10 % of a small file system.",
    params: &[
        ParamDef {
            name: "bs",
            kind: ParamKind::Size,
            default: "64k",
            doc: "Bytes of one operation, at most 1M. With O_DIRECT a multiple of what the device asks for, mostly 512 \
                  or 4096.",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "64M",
            doc: "Bytes that a round writes twice, at most; 0 and more than 1G count as 1G.",
        },
        ParamDef {
            name: "direct",
            kind: ParamKind::Switch,
            default: "yes",
            doc: "Past the page cache (O_DIRECT).",
        },
    ],
    metrics: &[
        metric(
            "first_bytes_per_s",
            "Bytes of the first pass over the time from before its first write to the return of the fdatasync behind it.",
        )
        .acting(Role::FirstWrites),
        metric(
            "again_bytes_per_s",
            "The same of the second pass, over the same blocks.",
        )
        .acting(Role::SecondWrites),
    ],
    tests: &[TestDef::new(
        "storage.first-write",
        "first and second writes of 64 KiB to the same places, one at a time",
        &[],
    )],
    simulated: false,
    on_disk: true,
};

const fn metric(quantity: &'static str, doc: &'static str) -> MetricDef {
    MetricDef::rate(
        quantity,
        Unit::BytesPerSecond,
        MetricClass::Throughput,
        How::Reported(Fold::Sum),
        doc,
    )
}

/// The longest first pass: on a slow volume a part of the span is enough, and the second pass must fit too.
const FIRST_PASS_MAX: Nanos = Nanos::from_millis(700);
/// The longest second pass: where it takes so much longer than the first, a part of it says so.
const SECOND_PASS_MAX: Nanos = Nanos::from_secs(5);
/// Both passes, and the syncs behind them.
const EXPECTED: Nanos = Nanos::from_millis(1500);
/// The most that a round writes twice. Sizes are often set for all storage tests at once, and those of test files are
/// larger than what 0.7 s can write.
const SPAN_MAX: u64 = 1 << 30;
/// The largest block.
const BLOCK_MAX: u64 = 1 << 20;
/// Random data that writes take in turn, at least: more than any compressor looks back.
const VARIETY: u64 = 1 << 20;

impl Workload for FirstWrite {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, _: &Params) -> Shape {
        Shape {
            // A warm-up would be the first write.
            warmup: Nanos::ZERO,
            measure: EXPECTED,
            fixed_work: true,
            // The second pass is no later part of the first: windows over both would show two levels.
            windowless: true,
            settle: Settle::Sync,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let (block, span) = (params.size("bs").0, span(params.size("size").0));
        if !(512..=BLOCK_MAX).contains(&block) {
            let expected = format!("a size from 512 to {BLOCK_MAX} bytes");
            return Err(BadValue::new("bs", expected));
        }
        if span < block {
            let expected = format!("a size that holds at least one block of {block} bytes");
            return Err(BadValue::new("size", expected));
        }
        Ok(())
    }

    fn writes(&self, params: &Params) -> Writes {
        Writes {
            per_round: Bytes(2 * span(params.size("size").0)),
            ..Writes::default()
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let (block, span) = (params.size("bs").0, span(params.size("size").0));
        check_room(place, span)?;
        let path = place
            .run_dir
            .join(format!("first-{}-{}", place.round, place.copy));
        let failed = |operation: &'static str, path: &PathBuf| {
            let path = path.display().to_string();
            move |error: std::io::Error| WorkError::failed(operation, path, error)
        };
        // A round that died may have left its file: then these places were written before.
        let _ = std::fs::remove_file(&path);
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        let made = made.map_err(failed("create", &path))?;
        made.set_len(span).map_err(failed("size", &path))?;
        drop(made);
        let access = Access {
            write: true,
            direct: params.switch("direct"),
            sync: SyncMode::None,
        };
        let file = sys::io::file::open(&path, access).map_err(|error| {
            if sys::io::file::refuses_direct(&error) {
                WorkError::Unsupported(
                    "the file system has no O_DIRECT; hint: --set storage.first-write.direct=no"
                        .to_owned(),
                )
            } else {
                WorkError::failed("open", path.display(), error)
            }
        })?;
        let slot_bytes = usize::try_from(VARIETY.next_multiple_of(block)).unwrap_or(usize::MAX);
        let setup = Setup {
            files: vec![file],
            slots: 1,
            slot_bytes,
        };
        let mut engine = Psync::new(setup).map_err(failed("get memory for", &path))?;
        Redundancy::default().fill(place.seed, 0, engine.buffer(0));
        Ok(Box::new(Twice {
            engine,
            path,
            block,
            turns: VARIETY.div_ceil(block),
            blocks: span / block,
            at: 0,
            written: place.seed,
            began: None,
            first: None,
            again: None,
        }))
    }
}

/// What a round writes twice, at most.
const fn span(size: u64) -> u64 {
    if size == 0 || size > SPAN_MAX {
        SPAN_MAX
    } else {
        size
    }
}

/// Refuses a span that there is no room for.
fn check_room(place: &Place, span: u64) -> Result<(), WorkError> {
    // All copies of a round write at the same time.
    check_round(&place.run_dir, span.saturating_mul(u64::from(place.copies)))
}

/// A pass that is over.
#[derive(Clone, Copy, Debug)]
struct Pass {
    blocks: u64,
    nanos: u64,
}

/// Two passes over a fresh file.
struct Twice {
    engine: Psync,
    path: PathBuf,
    block: u64,
    /// Blocks of random data in the buffer, which writes take in turn.
    turns: u64,
    /// Blocks of the pass under way: the span's, and in the second pass those of the first.
    blocks: u64,
    /// The next block.
    at: u64,
    /// Numbers what is written.
    written: u64,
    /// When the pass under way began.
    began: Option<u64>,
    first: Option<Pass>,
    again: Option<Pass>,
}

impl Twice {
    /// Does one operation of `len` bytes and says how many it transferred.
    #[inline]
    fn operate(&mut self, kind: Kind, offset: u64, len: u32, at: usize) -> std::io::Result<u32> {
        let op = Op {
            kind,
            file: 0,
            offset,
            len,
            at,
            priority: 0,
        };
        self.engine.prepare(0, op);
        self.engine.submit()?;
        let mut over = [Completion::default()];
        self.engine.reap(Wait::One, &mut over)?;
        over[0].bytes()
    }

    fn write(&mut self) -> Result<(), WorkError> {
        let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let at = index(self.at % self.turns * self.block);
        self.written = self.written.wrapping_add(1);
        let data = &mut self.engine.buffer(0)[at..at + index(self.block)];
        Redundancy::default().refresh(self.written, data);
        let len = u32::try_from(self.block).unwrap_or(u32::MAX);
        match self.operate(Kind::Write, self.at * self.block, len, at) {
            Ok(bytes) if bytes == len => Ok(()),
            Ok(bytes) => Err(WorkError::Failed(format!(
                "write `{}`: {bytes} of {len} bytes were transferred",
                self.path.display()
            ))),
            Err(error) => Err(WorkError::failed("write", self.path.display(), error)),
        }
    }

    /// Ends the pass under way with a sync.
    fn end_pass(&mut self, began: u64) -> Result<(), WorkError> {
        self.operate(Kind::DataSync, 0, 0, 0)
            .map_err(|error| WorkError::failed("fdatasync", self.path.display(), error))?;
        let pass = Pass {
            blocks: self.at,
            nanos: sys::clock::monotonic() - began,
        };
        if self.first.is_none() {
            self.first = Some(pass);
            self.blocks = pass.blocks;
        } else {
            self.again = Some(pass);
        }
        self.at = 0;
        self.began = None;
        Ok(())
    }
}

impl Body for Twice {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        for done in 0..ops {
            if self.again.is_some() {
                return Ok(done);
            }
            let began = *self.began.get_or_insert_with(sys::clock::monotonic);
            self.write()?;
            self.at += 1;
            let most = match self.first {
                None => FIRST_PASS_MAX,
                Some(_) => SECOND_PASS_MAX,
            };
            let slow = sys::clock::monotonic() - began >= most.0;
            if self.at == self.blocks || slow {
                self.end_pass(began)?;
            }
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        approx(self.block)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        // Somebody else ended the round: what was written until then stands for the rest.
        if let (Some(began), true) = (self.began, self.at > 0) {
            self.end_pass(began)?;
        }
        let rate =
            |pass: Pass| approx(pass.blocks * self.block) / Nanos(pass.nanos.max(1)).as_secs_f64();
        let passes = [
            ("first_bytes_per_s", self.first),
            ("again_bytes_per_s", self.again),
        ];
        let rates = passes.map(|(name, pass)| Some((name.to_owned(), rate(pass?))));
        Ok(Finish {
            digest: Digest::EMPTY,
            reported: rates.into_iter().flatten().collect(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;
    use std::os::unix::fs::MetadataExt;

    fn place() -> (tempfile::TempDir, Place) {
        let root = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let place = testing::place_in(&root);
        (root, place)
    }

    const SMALL: &[(&str, &str)] = &[("size", "1M"), ("direct", "no")];

    #[test]
    fn both_passes_write_the_whole_span_and_the_body_ends_by_itself() {
        let (_root, place) = place();
        let mut body = testing::prepare(&FIRST_WRITE, SMALL, &place).unwrap();
        let file = place.run_dir.join("first-1-0");
        let allocated = || file.metadata().unwrap().blocks() * 512;
        assert_eq!(
            (file.metadata().unwrap().len(), allocated()),
            (1 << 20, 0),
            "no place yet"
        );
        let mut recorder = Recorder::off();
        assert_eq!(body.batch(10, &mut recorder).unwrap(), 10);
        assert_eq!(
            body.batch(1000, &mut recorder).unwrap(),
            22,
            "16 blocks twice"
        );
        assert_eq!(body.batch(1, &mut recorder).unwrap(), 0);
        assert_eq!(allocated(), 1 << 20);
        let finish = body.finish().unwrap();
        let rate = |name: &str| finish.reported[name];
        assert!(rate("first_bytes_per_s") > 0.0 && rate("again_bytes_per_s") > 0.0);
        assert!(finish.windows.is_empty(), "its two passes are no series");
        let data = std::fs::read(&file).unwrap();
        let zeros = data
            .chunks(4096)
            .filter(|chunk| chunk.iter().all(|&byte| byte == 0))
            .count();
        assert_eq!(zeros, 0, "every block holds data");
    }

    #[test]
    fn a_round_that_runs_out_of_time_reports_what_it_wrote_twice() {
        let (_root, place) = place();
        let mut body = testing::prepare(&FIRST_WRITE, SMALL, &place).unwrap();
        let mut recorder = Recorder::off();
        body.batch(20, &mut recorder).unwrap();
        let finish = body.finish().unwrap();
        assert!(finish.reported["again_bytes_per_s"] > 0.0);
        let mut body = testing::prepare(&FIRST_WRITE, SMALL, &place).unwrap();
        body.batch(5, &mut recorder).unwrap();
        let finish = body.finish().unwrap();
        assert!(finish.reported.contains_key("first_bytes_per_s"));
        assert!(
            !finish.reported.contains_key("again_bytes_per_s"),
            "missing, not 0"
        );
    }

    #[test]
    fn rounds_write_to_places_of_their_own() {
        let (_root, place) = place();
        for round in 1..=3 {
            let place = Place {
                round,
                ..place.clone()
            };
            let mut body = testing::prepare(&FIRST_WRITE, SMALL, &place).unwrap();
            body.batch(1000, &mut Recorder::off()).unwrap();
            body.finish().unwrap();
        }
        assert_eq!(std::fs::read_dir(&place.run_dir).unwrap().count(), 3);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (_root, place) = place();
        let check = |overrides: &[(&str, &str)], words: &str| {
            let error = testing::prepare(&FIRST_WRITE, overrides, &place)
                .err()
                .unwrap();
            assert!(
                matches!(&error, WorkError::Unsupported(why) if why.contains(words)),
                "{error}"
            );
        };
        check(&[("bs", "2M")], "from 512 to");
        check(&[("bs", "64k"), ("size", "4k")], "at least one block");
        assert_eq!(std::fs::read_dir(&place.run_dir).unwrap().count(), 0);
        let crowd = Place {
            copies: u32::MAX,
            ..place.clone()
        };
        let error = check_room(&crowd, SPAN_MAX).unwrap_err();
        assert!(error.to_string().contains("there is room for"), "{error}");
    }

    #[test]
    fn spans_are_bounded() {
        const G: u64 = 1 << 30;
        for (size, expect) in [(0, G), (1 << 20, 1 << 20), (G, G), (8 * G, G)] {
            assert_eq!(span(size), expect);
        }
    }
}
