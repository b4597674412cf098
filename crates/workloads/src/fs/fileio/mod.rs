//! `fs.fileio`: sysbench's fileio test: threads that read and write a set of files, and sync all of it now and then.
//!
//! What decides its figures is kept to the letter: 128 files, one row of requests for all threads, an fsync of every
//! file after each 100 requests as events of their own, and one more by every thread in the end, inside of the measured
//! time.

mod files;
mod rules;
mod spec;
mod thread;

use crate::fs::aligned::Aligned;
use crate::sysbench::{Threads, Timing};
use engine::recorder::Recorder;
use engine::workload::{
    BadValue, Body, ErrandKind, Finish, Place, StandIn, Told, WorkError, Workload, Writes,
};
use model::ground::{Ground, GroundKind};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::rng::Rng;
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
use rules::{Course, Mode};
use spec::SPEC;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use sys::clock::monotonic;
use sys::io::map::Map;
use sys::io::{Aio, Setup, why_no_context};
use thread::{Counts, Queue, Shared, Thread, Way};

/// The workload.
pub(crate) static FILEIO: Fileio = Fileio;

/// Threads on a set of files.
#[derive(Debug)]
pub(crate) struct Fileio;

/// The largest block.
const BLOCK_MAX: u64 = 16 << 20;

/// Requests that the kernel has of each thread at the same time (`--file-async-backlog`).
const BACKLOG: u32 = 128;

/// What storage is expected to take, and the slowest that is waited for: bytes a second, written and synced.
const USUAL_BYTES_PER_S: u64 = 128 << 20;
const SLOWEST_BYTES_PER_S: u64 = 4 << 20;
const AT_MOST: Nanos = Nanos::from_secs(600);

/// What decides the course of a test.
#[derive(Clone, Copy, Debug)]
struct Setting {
    mode: Mode,
    files: u32,
    /// Blocks of each file.
    blocks: u64,
    block_bytes: u64,
    fsync_freq: u64,
    fsync_all: bool,
    fsync_end: bool,
    data_only: bool,
}

impl Setting {
    /// That of the parameters, before it is known how large the files are.
    fn of(params: &Params) -> Self {
        Self {
            mode: Mode::of(params.text("mode")),
            files: u32::try_from(params.count("files")).unwrap_or(u32::MAX),
            blocks: 1,
            block_bytes: params.size("block").0,
            fsync_freq: params.count("fsync_freq"),
            fsync_all: params.switch("fsync_all"),
            fsync_end: params.switch("fsync_end"),
            data_only: params.text("fsync_mode") == "fdatasync",
        }
    }
}

impl Workload for Fileio {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        Shape {
            setup: Nanos::from_millis(50),
            setup_max: Nanos::from_secs(600),
            // sysbench measures from the first event on.
            warmup: Nanos::ZERO,
            measure: params.duration("time"),
            measure_min: Nanos::from_secs(1),
            settle: Settle::Sync,
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let block = params.size("block").0;
        if !(1..=BLOCK_MAX).contains(&block) {
            return Err(BadValue::new(
                "block",
                format!("from 1 to {BLOCK_MAX} bytes"),
            ));
        }
        if params.text("flags") == "direct" && !block.is_multiple_of(512) {
            return Err(BadValue::new(
                "block",
                "a multiple of 512 with `flags` `direct`",
            ));
        }
        if params.size("size").0 / params.count("files") < block {
            return Err(BadValue::new("size", "a block for each file at least"));
        }
        if params.duration("time").0 < Nanos::from_secs(1).0 {
            return Err(BadValue::new("time", "a second or more"));
        }
        Ok(())
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let word = format!("fileio {}", params.text("mode"));
        Some(Headline::named(Topic::Storage, &word))
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let mode = Mode::of(params.text("mode"));
        let means = |metric: &&MetricDef| match metric.quantity {
            "read_iops" | "read_bw_bytes_per_s" => mode.reads(),
            "write_iops" | "write_bw_bytes_per_s" => mode.writes(),
            "fsyncs_per_s" => {
                let syncs = ["fsync_all", "fsync_end"].map(|name| params.switch(name));
                mode.writes() && (syncs.contains(&true) || params.count("fsync_freq") > 0)
            }
            _ => true,
        };
        SPEC.metrics.iter().filter(means).collect()
    }

    fn writes(&self, params: &Params) -> Writes {
        let mode = Mode::of(params.text("mode"));
        Writes {
            per_round: match mode {
                Mode::SeqWrite => files::bytes(params),
                _ => Bytes(0),
            },
            throughout: mode.writes(),
        }
    }

    fn ground(&self, params: &Params, host: &HostFacts, _: Option<&StandIn>) -> Option<Ground> {
        if Mode::of(params.text("mode")) == Mode::SeqWrite {
            return None;
        }
        // No more than half of what is free is used.
        let free = host.storage.free.known();
        let bytes = free.map_or(files::bytes(params), |free| {
            files::bytes(params).min(Bytes(free.0 / 2))
        });
        Some(Ground {
            key: files::key(params),
            kind: GroundKind::Data,
            bytes: Some(bytes),
            expected: bytes.time_at(USUAL_BYTES_PER_S),
            at_most: AT_MOST.plus(bytes.time_at(SLOWEST_BYTES_PER_S)),
        })
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        match errand {
            ErrandKind::Make => files::make(params, place, tell),
            ErrandKind::Check => Ok(files::check(params, place)),
            ErrandKind::Remove => files::remove(params, place).map(|()| Told::default()),
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let mut setting = Setting::of(params);
        let opened = files::open(params, &setting, place)?;
        setting.blocks = opened.each_bytes / setting.block_bytes;
        let note = files::note(params, opened.each_bytes);
        let size_bytes = opened.each_bytes * u64::from(setting.files);
        let maps = match params.text("io") {
            "mmap" => maps(&opened)?,
            _ => Vec::new(),
        };
        let shared = Arc::new(Shared {
            setting,
            files: opened.all,
            maps,
            course: Mutex::new(Course::new(&setting)),
        });
        let threads = place.copies.max(1);
        let ways = (0..threads).map(|thread| way(params, &shared, place, thread));
        let mut ways = ways.collect::<Result<Vec<_>, _>>()?.into_iter();
        let counts: Vec<Arc<Counts>> = (0..threads).map(|_| Arc::default()).collect();
        let make = |thread: u32| Thread {
            shared: Arc::clone(&shared),
            counts: Arc::clone(&counts[thread as usize]),
            rng: Rng::stream(place.seed, u64::from(thread) + 1000),
            way: ways.next().expect("as many as there are threads"),
            file: 0,
        };
        Ok(Box::new(Testing {
            threads: Threads::start(place, make, Timing::Own)?,
            counts,
            began: None,
            setting,
            size_bytes,
            note,
        }))
    }
}

fn maps(opened: &files::Files) -> Result<Vec<Map>, WorkError> {
    let bytes = usize::try_from(opened.each_bytes).unwrap_or(usize::MAX);
    let maps = opened.all.iter().map(|named| {
        // A file that is written from empty has to be as long as it will be.
        let long = named.file.set_len(opened.each_bytes);
        long.and_then(|()| Map::new(&named.file, bytes, true))
            .map_err(|error| WorkError::failed("map", named.path.display(), error))
    });
    maps.collect()
}

/// How a thread reads and writes.
fn way(
    params: &Params,
    shared: &Arc<Shared>,
    place: &Place,
    thread: u32,
) -> Result<Way, WorkError> {
    let block = u32::try_from(shared.setting.block_bytes).unwrap_or(u32::MAX);
    let mut rng = Rng::stream(place.seed, u64::from(thread) + 2000);
    Ok(match params.text("io") {
        "async" => {
            let files = shared.files.iter().map(|named| {
                let file = named.file.try_clone();
                file.map_err(|error| WorkError::failed("open again", named.path.display(), error))
            });
            let setup = Setup {
                files: files.collect::<Result<_, _>>()?,
                slots: BACKLOG,
                slot_bytes: block as usize,
            };
            let aio = Aio::new(setup).map_err(|error| {
                let why = why_no_context(&error);
                WorkError::Unsupported(format!("queue requests with libaio: {why}"))
            })?;
            Way::Queue(Box::new(Queue::new(aio, block, &mut rng)))
        }
        "mmap" => Way::Maps(Aligned::random(block as usize, &mut rng)),
        _ => Way::Calls(Aligned::random(block as usize, &mut rng)),
    })
}

/// What was done until now: reads, writes, fsyncs that are events, and the others.
type Sums = [u64; 4];

struct Testing {
    threads: Threads<Thread>,
    counts: Vec<Arc<Counts>>,
    /// When the measured part began, and what had been done until then.
    began: Option<(u64, Sums)>,
    setting: Setting,
    size_bytes: u64,
    note: Option<String>,
}

impl Testing {
    fn sums(&self) -> Sums {
        let sum = |of: fn(&Counts) -> &AtomicU64| {
            let all = self.counts.iter();
            all.map(|counts| of(counts).load(Ordering::Relaxed)).sum()
        };
        [
            sum(|counts| &counts.reads),
            sum(|counts| &counts.writes),
            sum(|counts| &counts.syncs),
            sum(|counts| &counts.last_syncs),
        ]
    }

    fn begin(&mut self) {
        self.began = Some((monotonic(), self.sums()));
    }
}

impl Body for Testing {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if self.began.is_none() {
            self.begin();
        }
        self.threads.batch(ops)
    }

    fn measured_part_begins(&mut self) {
        self.threads.measured_part_begins();
        self.begin();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.threads.end()?;
        let now = self.sums();
        let (start, before) = self.began.unwrap_or((0, now));
        let seconds = approx(monotonic().saturating_sub(start)) / 1e9;
        let [reads, writes, syncs, last] =
            std::array::from_fn(|place| approx(now[place] - before[place]));
        let block = approx(self.setting.block_bytes);
        // Fsyncs of single writes are part of those.
        let own_syncs = if self.setting.fsync_all { 0.0 } else { syncs };
        let events = reads + writes + own_syncs;
        let rates = [
            ("ops_per_s", events),
            ("read_iops", reads),
            ("write_iops", writes),
            ("fsyncs_per_s", syncs + last),
            ("read_bw_bytes_per_s", reads * block),
            ("write_bw_bytes_per_s", writes * block),
        ];
        let mut reported: std::collections::BTreeMap<String, f64> = rates
            .into_iter()
            .map(|(quantity, amount)| (quantity.to_owned(), amount / seconds))
            .collect();
        reported.insert("size_bytes".to_owned(), approx(self.size_bytes));
        Ok(Finish {
            reported,
            latencies: self.threads.latencies(),
            notes: self.note.iter().cloned().collect(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests;
