//! `memory.block`: sysbench's memory test: one word after the other through a small block.
//!
//! What lies around an event is most of the original's figure at 1 KiB, so it is done here too unless asked otherwise.
//! Blocks that are no whole words are refused: an event is so many loads or stores.

use super::map;
use crate::sysbench::{
    Events, LAT_MAX, LAT_MEAN, LAT_MIN, LAT_P95, Threads, Timing, VERSION, Version,
    events_per_cpu_s,
};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::host::HostFacts;
use model::num::approx;
use model::params::Params;
use model::plan::Shape;
use model::rng::Rng;
use model::spec::{
    Amount, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time,
};
use model::units::Unit;
use std::sync::Arc;
use sys::loops::blocks::{Access, Walk, event, event_of_halves};
use sys::loops::failure::Failure;
use sys::loops::locks::{Locks, Spacing, once};
use sys::memory::{Pages, Region};

/// The workload.
pub(crate) static BLOCK: Block = Block;

/// Blocks read or written word by word.
#[derive(Debug)]
pub(crate) struct Block;

static SPEC: Spec = Spec {
    name: "memory.block",
    version: 3,
    nature: Nature::Memory,
    title: "sysbench's memory test: words of a small block",
    doc: "One operation is one event of sysbench's memory test: every word of a block is loaded or stored once, with \
          one instruction each. With the usual block of 1 KiB this measures how many loads or stores a core can start, \
          out of its first-level cache: its bytes per second say nothing about memory (`memory.read`, `memory.write` \
          and `memory.triad` do).\n\n\
          With `scope=global`, the default there, all threads use the same block, and writing measures how its lines \
          are passed from core to core. sysbench reads the clock three times per event and takes a logarithm, which at \
          1 KiB is most of the instructions; with `timing=sysbench` (the default) the same is done here and is part of \
          the figure. `timing=own` times events with the CPU's counter, and `timing=no` not at all. With `version=0.4` \
          words have four bytes and a mutex is taken per event.",
    params: &[
        VERSION,
        ParamDef {
            name: "block_size",
            kind: ParamKind::Size,
            default: "1k",
            doc: "Bytes of a block (`--memory-block-size`), a multiple of 8 up to 4G.",
        },
        ParamDef {
            name: "scope",
            kind: ParamKind::Choice(&["global", "local"]),
            default: "global",
            doc: "One block for all threads, or one for each (`--memory-scope`).",
        },
        ParamDef {
            name: "oper",
            kind: ParamKind::Choice(&["write", "read"]),
            default: "write",
            doc: "What is done with each word (`--memory-oper`).",
        },
        ParamDef {
            name: "mode",
            kind: ParamKind::Choice(&["seq", "rnd"]),
            default: "seq",
            doc: "One word after the other, or each one chosen at random (`--memory-access-mode`).",
        },
        ParamDef {
            name: "timing",
            kind: ParamKind::Choice(&["sysbench", "own", "no"]),
            default: "sysbench",
            doc: "How every event is timed: with the calls of sysbench, with our own clock, or not at all; then there \
                  are no latencies.",
        },
    ],
    metrics: &[
        MetricDef::rate(
            "bytes_per_s",
            Unit::BytesPerSecond,
            MetricClass::Compute,
            How::Per(Amount::Work, Time::Wall),
            "Bytes read or written by all threads, each counted once, over the wall time of the measured part; \
                  sysbench's MiB/sec is this over 1048576.",
        ),
        MetricDef::rate(
            "ops_per_s",
            Unit::OpsPerSecond,
            MetricClass::Compute,
            How::Per(Amount::Operations, Time::Wall),
            "Events of all threads over the wall time of the measured part: sysbench's operations per second.",
        ),
        MetricDef {
            how: How::Per(Amount::Operations, Time::Cpu),
            ..events_per_cpu_s(MetricClass::Compute)
        },
        LAT_MEAN,
        LAT_MIN,
        LAT_P95,
        LAT_MAX,
    ],
    tests: &[
        TestDef::new(
            "memory.block-write",
            "sysbench memory: write 1 KiB blocks",
            &[],
        ),
        TestDef::new(
            "memory.block-read",
            "sysbench memory: read 1 KiB blocks",
            &[("oper", "read")],
        ),
        TestDef::new(
            "memory.block-write-1m",
            "sysbench memory: write 1 MiB blocks",
            &[("block_size", "1M")],
        ),
        TestDef::new(
            "memory.block-read-1m",
            "sysbench memory: read 1 MiB blocks",
            &[("oper", "read"), ("block_size", "1M")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

const SIZE_MAX: u64 = 4 << 30;

impl Workload for Block {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, _: &Params) -> Shape {
        Shape {
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let size = params.size("block_size").0;
        if (8..=SIZE_MAX).contains(&size) && size.is_multiple_of(8) {
            return Ok(());
        }
        Err(BadValue::new(
            "block_size",
            "a multiple of 8 bytes, from 8 bytes to 4 GiB",
        ))
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        super::supported(params, host, params.size("block_size").0)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let bytes = params.size("block_size").0;
        let blocks = if params.text("scope") == "local" {
            place.copies.max(1)
        } else {
            1
        };
        super::check_room_once(bytes.saturating_mul(u64::from(blocks)), place)?;
        let filled = || -> Result<Arc<Region>, WorkError> {
            let mut region = map("a block that is read or written", bytes, Pages::Usual)?;
            region.words().fill(FILL);
            Ok(Arc::new(region))
        };
        let regions: Vec<Arc<Region>> = (0..blocks).map(|_| filled()).collect::<Result<_, _>>()?;
        let version = Version::of(params);
        let lock = Arc::new(Locks::new(1, Spacing::Apart));
        let access = match params.text("oper") {
            "read" => Access::Read,
            _ => Access::Write,
        };
        let make = |index: u32| Accesses {
            region: Arc::clone(&regions[usize::try_from(index % blocks).unwrap_or(0)]),
            lock: Arc::clone(&lock),
            version,
            access,
            walk: match params.text("mode") {
                "rnd" => Walk::Random,
                _ => Walk::Sequential,
            },
            random: Rng::stream(place.seed, u64::from(index)).next() | 1,
            clone: place.round,
            wrong: 0,
        };
        let timing = match params.text("timing") {
            "no" => Timing::Off,
            "own" => Timing::Own,
            _ => Timing::Theirs,
        };
        Ok(Box::new(Blocks {
            threads: Threads::start(place, make, timing)?,
            regions: regions.clone(),
            bytes,
            access,
        }))
    }
}

/// What blocks hold before and after: exclusive-or over an even number of such words is 0.
const FILL: u64 = 0x0123_4567_0123_4567;

struct Accesses {
    region: Arc<Region>,
    lock: Arc<Locks>,
    version: Version,
    access: Access,
    walk: Walk,
    random: u64,
    clone: u32,
    wrong: u64,
}

impl Events for Accesses {
    #[inline]
    fn event(&mut self) -> Result<(), Failure> {
        let random = &mut self.random;
        let result = match self.version {
            Version::V10 => {
                let words = self.region.shared_words();
                event(words, self.access, self.walk, FILL, random, self.clone)
            }
            Version::V04 => {
                once(&self.lock)?;
                let words = self.region.shared_half_words();
                event_of_halves(words, self.access, self.walk, FILL, random, self.clone)
            }
        };
        self.wrong += u64::from(result != expected(self.access, self.version, &self.region));
        Ok(())
    }
}

/// What an event returns: exclusive-or over words that are all alike is 0 or the word, by whether their number is even.
#[inline]
fn expected(access: Access, version: Version, region: &Region) -> u64 {
    let (word, bytes) = match version {
        Version::V10 => (FILL, 8),
        Version::V04 => (FILL & 0xffff_ffff, 4),
    };
    match access {
        Access::Write => FILL,
        Access::Read if (region.len() / bytes).is_multiple_of(2) => 0,
        Access::Read => word,
    }
}

struct Blocks {
    threads: Threads<Accesses>,
    regions: Vec<Arc<Region>>,
    bytes: u64,
    access: Access,
}

impl Body for Blocks {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        self.threads.batch(ops)
    }

    fn work_per_op(&self) -> f64 {
        approx(self.bytes)
    }

    fn measured_part_begins(&mut self) {
        self.threads.measured_part_begins();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.threads.end()?;
        let wrong: u64 = self.threads.all().map(|events| events.wrong).sum();
        let spoilt = self.regions.iter().any(|region| {
            let mut words = region.shared_words().iter();
            words.any(|word| word.load(std::sync::atomic::Ordering::Relaxed) != FILL)
        });
        if wrong > 0 || spoilt {
            return Err(WorkError::Wrong(format!(
                "{wrong} events did not {} what the block holds",
                match self.access {
                    Access::Read => "read",
                    Access::Write => "write",
                }
            )));
        }
        Ok(Finish {
            digest: Digest::EMPTY.word(FILL).word(self.bytes),
            latencies: self.threads.latencies(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn every_kind_of_event_is_done_by_all_threads() {
        for version in ["1.0", "0.4"] {
            for (oper, mode, scope) in [
                ("write", "seq", "global"),
                ("read", "seq", "local"),
                ("write", "rnd", "local"),
                ("read", "rnd", "global"),
            ] {
                let (_root, mut place) = testing::place();
                place.copies = 3;
                let set = [
                    ("version", version),
                    ("oper", oper),
                    ("mode", mode),
                    ("scope", scope),
                ];
                let mut body = testing::prepare(&BLOCK, &set, &place).unwrap();
                assert!(body.batch(100, &mut Recorder::off()).unwrap() >= 100);
                assert!(body.finish().unwrap().latencies["lat"].count() > 0);
            }
        }
    }

    #[test]
    fn events_are_timed_with_the_calls_of_the_original_or_with_our_own() {
        for timing in ["sysbench", "own"] {
            let (_root, place) = testing::place();
            let mut body = testing::prepare(&BLOCK, &[("timing", timing)], &place).unwrap();
            let done = body.batch(100, &mut Recorder::off()).unwrap();
            let recorded = body.finish().unwrap().latencies["lat"].count();
            assert_eq!(recorded, done, "{timing}");
        }
    }

    #[test]
    fn an_untimed_block_has_no_latencies() {
        let (_root, place) = testing::place();
        let mut body = testing::prepare(&BLOCK, &[("timing", "no")], &place).unwrap();
        body.batch(100, &mut Recorder::off()).unwrap();
        assert!(body.finish().unwrap().latencies.is_empty() && !body.records_latency());
    }

    #[test]
    fn events_and_bytes_are_counted_by_the_same_batches_and_no_clock_of_its_own() {
        let of = |quantity: &str| {
            let mut metrics = SPEC.metrics.iter();
            metrics.find(|def| def.quantity == quantity).unwrap().how
        };
        // The engine divides both by one wall time: they differ by the bytes of an event alone.
        assert_eq!(
            (of("ops_per_s"), of("bytes_per_s")),
            (
                How::Per(Amount::Operations, Time::Wall),
                How::Per(Amount::Work, Time::Wall)
            )
        );
        for size in ["8", "1k", "1M"] {
            let (_root, mut place) = testing::place();
            place.copies = 2;
            let mut body = testing::prepare(&BLOCK, &[("block_size", size)], &place).unwrap();
            body.batch(10, &mut Recorder::off()).unwrap();
            let bytes = model::params::parse_size(size).unwrap().0;
            assert!((body.work_per_op() - approx(bytes)).abs() < 0.5, "{size}");
            assert!(body.finish().unwrap().reported.is_empty(), "{size}");
        }
    }

    #[test]
    fn sizes_that_are_no_blocks_are_refused_beforehand() {
        for bad in ["0", "12", "5G"] {
            let params = testing::params(&BLOCK, &[("block_size", bad)]);
            let refused = BLOCK.check_params(&params).unwrap_err();
            assert_eq!(refused.param, "block_size", "{bad}");
        }
    }
}
