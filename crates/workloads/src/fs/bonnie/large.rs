//! `fs.bonnie`: one large file, written and read byte by byte and by blocks, rewritten, and jumped about in.

use super::metrics::{bytes_per_s, cpu_share, longest, ops_per_s, share};
use super::seekers::{Seekers, Seeks};
use super::size::{self, SIZE_MIN};
use super::{PHASES, Part, failed, timed};
use crate::fs::aligned::Aligned;
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload, Writes};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::rng::Rng;
use model::spec::{How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, TestDef};
use model::units::{Bytes, Nanos, Unit};
use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use sys::clock::Clock;
use sys::io::counters;
use sys::loops::chunks::{
    Done, read_bytes, read_chunks, rewrite_chunks, write_bytes, write_chunks,
};
use sys::loops::failure::Failure;
use sys::tree::Tree;

/// The workload.
pub(crate) static LARGE: Large = Large;

/// Six phases on one file.
#[derive(Debug)]
pub(crate) struct Large;

/// The name of the workload, and of the test that everybody quotes.
const NAME: &str = "fs.bonnie";
/// The test for those who have five minutes.
const QUICK: &str = "fs.bonnie-quick";

static SPEC: Spec = Spec {
    name: NAME,
    version: 1,
    nature: Nature::FileSystem,
    title: "bonnie++'s six phases on one large file",
    doc: "One round is six phases in their order, as bonnie++ 2.00 has them: a small file is written by write(2) of \
          one byte each; a large one is written in blocks of 8 KiB; each of its blocks is read, changed and written \
          back; its beginning is read by read(2) of one byte each; all of it is read in blocks; and five seekers, each \
          with the file opened for itself, read blocks at random, of which every tenth is changed and written back. \
          Every phase ends with fsync and close, which are part of its time. Everything goes through the page cache, \
          so the file has twice the size of the memory, or of what a control group allows of it; where the disk has no \
          room for that it is smaller, and the figures carry a mark.\n\n\
          Each page of the file begins with its number, which is checked when it is read; the rest of a block are \
          random bytes, the same in every block. bonnie++ writes almost nothing but zeros: on a file system that \
          compresses, its figures are not these.",
    params: PARAMS,
    metrics: METRICS,
    tests: &[
        TestDef::new(
            NAME,
            "bonnie++'s six phases on a file of twice the memory",
            &[],
        ),
        TestDef::new(
            QUICK,
            "the same on 256 MiB, most of which the page cache holds: what the file system costs, and not the disk",
            &[("size", "256M"), ("char_size", "512k"), ("seeks", "2000")],
        ),
    ],
    simulated: false,
    on_disk: true,
};

static PARAMS: &[ParamDef] = &[
    ParamDef {
        name: "size",
        kind: ParamKind::Size,
        default: "0",
        doc: "Bytes of the file that each copy has, at least 1M; 0 is twice the memory for all copies together, at \
              least 300 MiB, and less where the disk has no room: at most half of what is free is used.",
    },
    ParamDef {
        name: "char_size",
        kind: ParamKind::Size,
        default: "3M",
        doc: "Bytes that are written and read one by one; of a smaller file all are read. 3 MiB in bonnie++ 2.00.",
    },
    ParamDef {
        name: "seeks",
        kind: ParamKind::Count {
            min: 1,
            max: 10_000_000,
        },
        default: "8192",
        doc: "Seeks of all seekers together.",
    },
    ParamDef {
        name: "seekers",
        kind: ParamKind::Count { min: 1, max: 256 },
        default: "5",
        doc: "Seekers at the same time.",
    },
];

static METRICS: &[MetricDef] = &[
    bytes_per_s(
        "block_write_bytes_per_s",
        "Bytes of the file over the time from before the first write of a block to the return of fsync and close.",
    ),
    bytes_per_s(
        "block_read_bytes_per_s",
        "Bytes of the file over the time from before the first read of a block to the return of fsync and close.",
    ),
    bytes_per_s(
        "rewrite_bytes_per_s",
        "Bytes of the file, each read and written back and counted once, over the time from before the first read to \
         the return of fsync and close.",
    ),
    ops_per_s(
        "random_seek_ops_per_s",
        "Seeks of all seekers over the time from their start, with opening the file, to the last return of fsync and \
         close.",
    ),
    bytes_per_s(
        "char_write_bytes_per_s",
        "Bytes written by calls of one byte each, over the time from before the first to the return of fsync and close.",
    ),
    bytes_per_s(
        "char_read_bytes_per_s",
        "Bytes read by calls of one byte each, over the time from before the first to the return of fsync and close.",
    ),
    cpu_share("block_write_cpu_share"),
    cpu_share("block_read_cpu_share"),
    cpu_share("rewrite_cpu_share"),
    cpu_share("random_seek_cpu_share"),
    cpu_share("char_write_cpu_share"),
    cpu_share("char_read_cpu_share"),
    longest("block_write_lat_ns_max"),
    longest("block_read_lat_ns_max"),
    longest("rewrite_lat_ns_max"),
    longest("random_seek_lat_ns_max"),
    longest("char_write_lat_ns_max"),
    longest("char_read_lat_ns_max"),
    share(
        "cached_share",
        "The share of all bytes read in the round that no device delivered: 1 means that everything came out of \
         the page cache. What the kernel reads ahead and nobody asks for counts as delivered.",
    )
    .acting(Role::Cached),
    MetricDef::rate(
        "size_bytes",
        Unit::Bytes,
        MetricClass::Throughput,
        How::Setting,
        "Bytes of the file that each copy had.",
    ),
];

/// The phases in their order.
const NAMES: [&str; PHASES] = [
    "char_write",
    "block_write",
    "rewrite",
    "char_read",
    "block_read",
    "random_seek",
];

/// Bytes of a block, which bonnie++ calls a chunk.
const CHUNK: u64 = 8 << 10;
/// Tickets number blocks with 31 bits, of which the last value says that there is none.
const SIZE_MAX: u64 = CHUNK << 30;
/// What is expected where nothing is known of the storage: bytes a second, bytes a second one by one, seeks a second.
const USUAL: [u64; 3] = [150 << 20, 500_000, 500];
/// What is waited for: the storage of a memory card.
const SLOWEST: [u64; 3] = [2 << 20, 10_000, 5];
/// However little there is to do, it may take this long.
const AT_LEAST: Nanos = Nanos::from_secs(600);
/// A cache that delivers more than this share of what is read is what was measured.
const CACHED_MAX: f64 = 0.5;

const OF_THE_CACHE: &str = "most of what was read came out of the page cache, and not from a device: rates of reading \
                            and of seeks are those of memory";

/// The time of a round at these rates.
fn at(rates: [u64; 3], size: u64, params: &Params) -> Nanos {
    let [bytes, single, seeks] = rates;
    // Written, read and written back, and read.
    let work = [
        (size.saturating_mul(4), bytes),
        (params.size("char_size").0.saturating_mul(2), single),
        (params.count("seeks"), seeks),
    ];
    let seconds = work.map(|(amount, rate)| approx(amount) / approx(rate));
    Nanos(model::num::round_to_u64(seconds.iter().sum::<f64>() * 1e9))
}

impl Workload for Large {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        self.shape_of(params, 1)
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        // Copies share the storage.
        let all = size::wanted(params, copies).saturating_mul(u64::from(copies));
        Shape {
            warmup: Nanos::ZERO,
            measure: at(USUAL, all, params),
            measure_max: Some(AT_LEAST.plus(at(SLOWEST, all, params))),
            fixed_work: true,
            // The phases are different things.
            windowless: true,
            settle: Settle::Sync,
            shortenable: false,
            ..Shape::DEFAULT
        }
    }

    fn on(&self, params: &Params, host: &HostFacts, copies: u32) -> Params {
        let mut here = params.clone();
        if let Some(size) = size::expected(params, host, copies) {
            let set = here.set(&SPEC, "size", &size.to_string());
            set.expect("a number is a size");
        }
        here
    }

    fn exceeds_memory(&self, params: &Params, host: &HostFacts, copies: u32) -> bool {
        size::exceeds_memory(params, host, copies)
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let size = params.size("size").0;
        if size != 0 && !(SIZE_MIN..=SIZE_MAX).contains(&size) {
            return Err(BadValue::new("size", "0, or from 1M to 8T"));
        }
        if params.size("char_size").0 == 0 {
            return Err(BadValue::new("char_size", "at least one byte"));
        }
        Ok(())
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        // A small file is in memory.
        let topic = match params.size("size").0 {
            0 => Topic::Storage,
            _ => Topic::PageCache,
        };
        Some(Headline::new(topic, ["bonnie write", "bonnie 書き込み"]))
    }

    fn shorter(&self, params: &Params) -> Option<&'static str> {
        (params.size("size").0 == 0).then_some(QUICK)
    }

    fn writes(&self, params: &Params) -> Writes {
        let file = size::wanted(params, 1).saturating_mul(2);
        let seeks = params.count("seeks").saturating_mul(CHUNK) / 10;
        Writes {
            per_round: Bytes(
                file.saturating_add(seeks)
                    .saturating_add(params.size("char_size").0),
            ),
            throughout: false,
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let size = size::of_copy(params, &place.dir, place.copies)?;
        let chunks = size.bytes / CHUNK;
        let chunk_bytes = usize::try_from(CHUNK).unwrap_or(usize::MAX);
        let mut rng = Rng::stream(place.seed, 1);
        let path = place.dir.join("data");
        let seeks = Seeks {
            tickets: params.count("seeks"),
            seekers: params.count("seekers"),
            chunks,
            chunk_bytes,
            seed: place.seed,
        };
        Ok(Box::new(Round {
            chunk: Aligned::random(chunk_bytes, &mut rng),
            seekers: Seekers::start(&path, seeks, place.clock())?,
            path,
            chunks,
            single: params.size("char_size").0,
            seeks: seeks.tickets,
            clock: place.clock(),
            parts: Vec::with_capacity(PHASES),
            fetched: fetched(),
            notes: size.note.map(str::to_owned).into_iter().collect(),
        }))
    }
}

/// Bytes that storage has delivered to this process so far.
fn fetched() -> Option<u64> {
    let io = counters::process(&Tree::real()).ok()?;
    Some(io.read_bytes)
}

/// A round.
struct Round {
    path: PathBuf,
    chunk: Aligned,
    chunks: u64,
    /// Bytes that are written and read one by one.
    single: u64,
    seeks: u64,
    clock: Clock,
    seekers: Seekers,
    /// The phases that are over.
    parts: Vec<Part>,
    /// What storage had delivered before the round.
    fetched: Option<u64>,
    notes: Vec<String>,
}

impl Round {
    /// Bytes of the beginning that are read one by one.
    fn read_singly(&self) -> u64 {
        self.single.min(self.chunks * CHUNK)
    }

    fn phase(&mut self, at: usize) -> Result<Part, WorkError> {
        let (path, clock, chunks) = (self.path.as_path(), self.clock, self.chunks);
        let (chunk, single) = (self.chunk.bytes_mut(), self.single);
        match at {
            0 => {
                let part = phase_on(path, true, |file| write_bytes(file.as_fd(), single, clock));
                remove(path)?;
                part
            }
            1 => phase_on(path, true, |file| {
                write_chunks(file.as_fd(), chunk, chunks, clock)
            }),
            2 => phase_on(path, false, |file| {
                rewrite_chunks(file.as_fd(), chunk, chunks, clock)
            }),
            3 => {
                let bytes = self.read_singly();
                phase_on(&self.path, false, |file| {
                    read_bytes(file.as_fd(), bytes, clock)
                })
            }
            4 => phase_on(path, false, |file| {
                read_chunks(file.as_fd(), chunk, chunks, clock)
            }),
            _ => timed(|| self.seekers.work(&self.path)),
        }
    }

    /// The share of what was read that no device delivered.
    fn cached(&self) -> Option<f64> {
        let asked = 2 * self.chunks * CHUNK + self.read_singly() + self.seeks * CHUNK;
        let fetched = fetched()?.saturating_sub(self.fetched?);
        Some((1.0 - approx(fetched) / approx(asked)).max(0.0))
    }
}

/// Opens the file, which is no part of the phase, and works on it until it is synced and closed, which is.
fn phase_on(
    path: &Path,
    is_new: bool,
    work: impl FnOnce(&File) -> Result<Done, Failure>,
) -> Result<Part, WorkError> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(is_new).open(path);
    let operation = if is_new { "create" } else { "open" };
    let file = file.map_err(|error| WorkError::failed(operation, path.display(), error))?;
    timed(|| {
        let done = work(&file).map_err(|failure| failed(&failure, path))?;
        let synced = file.sync_all();
        synced.map_err(|error| {
            let (operation, done) = ("fsync", done.ops);
            let failure = Failure {
                operation,
                done,
                error,
            };
            failed(&failure, path)
        })?;
        drop(file);
        Ok(done)
    })
}

fn remove(path: &Path) -> Result<(), WorkError> {
    std::fs::remove_file(path).map_err(|error| WorkError::failed("remove", path.display(), error))
}

impl Body for Round {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        for done in 0..ops {
            let at = self.parts.len();
            if at == PHASES {
                return Ok(done);
            }
            let part = self.phase(at)?;
            self.parts.push(part);
        }
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let seeks = self.seekers.end(&self.path)?;
        let mut finish = Finish::default();
        let reported = &mut finish.reported;
        let rates = [
            ("bytes_per_s", 1.0),
            ("bytes_per_s", approx(CHUNK)),
            ("bytes_per_s", approx(CHUNK)),
            ("bytes_per_s", 1.0),
            ("bytes_per_s", approx(CHUNK)),
            ("ops_per_s", 1.0),
        ];
        let mut digest = Digest::EMPTY;
        for ((at, part), (rate, work)) in self.parts.iter().enumerate().zip(rates) {
            let done = if at + 1 == PHASES { seeks } else { part.done };
            let part = Part { done, ..*part };
            part.report(NAMES[at], rate, work, reported);
            digest = digest.word(done.ops);
        }
        reported.insert("size_bytes".to_owned(), approx(self.chunks * CHUNK));
        if let Some(share) = self.cached() {
            reported.insert("cached_share".to_owned(), share);
            let of_the_cache = (share > CACHED_MAX).then(|| OF_THE_CACHE.to_owned());
            self.notes.extend(of_the_cache);
        } else {
            let why = "this kernel does not count what a process reads from storage";
            let quantity = "cached_share".to_owned();
            finish.missing.insert(quantity, why.to_owned());
        }
        finish.digest = digest;
        finish.notes = std::mem::take(&mut self.notes);
        Ok(finish)
    }
}

#[cfg(test)]
#[path = "large_tests.rs"]
mod tests;
