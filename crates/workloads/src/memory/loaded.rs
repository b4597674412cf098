//! `memory.loaded`: the latency of a load while other CPUs stream through memory.
//!
//! Every stream has as much memory of its own as the chain: where CPUs have several last caches, a part of that would
//! fit into the cache beside it, and nobody would touch the memory. So it refuses what many CPUs need and a small
//! machine does not have.

use super::curve::{Extent, LINE_BYTES, beyond_the_caches, linked};
use super::latency::{SIZE_MAX, SIZE_MIN, check};
use super::{HUGE_PAGE_SHARE, PAGE_BYTES, PAGES, reported, setting};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::host::HostFacts;
use model::num::{approx, count};
use model::params::Params;
use model::plan::Shape;
use model::spec::{
    Better, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, TestDef, Time,
};
use model::units::{Nanos, Unit};
use std::collections::BTreeMap;
use sys::loops::bandwidth::{Arrays, Kernel, Op, STEP, Stores, Width};
use sys::loops::chase::Chain;
use sys::loops::team::{Member, Team};
use sys::memory::Pages;

/// The workload.
pub(crate) static LOADED: Loaded = Loaded;

/// One chain, and streams beside it.
#[derive(Debug)]
pub(crate) struct Loaded;

const LOAD: &str = "load_bytes_per_s";
const WORKING_SET: &str = "working_set_bytes";

static SPEC: Spec = Spec {
    name: "memory.loaded",
    version: 4,
    nature: Nature::Memory,
    title: "latency of memory under load",
    doc: "One operation is one load of a chain in random order (see `memory.latency`) over memory beyond the caches, \
          on one CPU, while threads on the other CPUs read streams with the widest vectors, each for `duty` percent of \
          the time and each through memory of its own. `@N` is one chain and N - 1 streams; `@1` is the latency \
          without load.\n\n\
          The tests at 25, 50, 75 and 100 percent are the points of the curve of latency over load: the nearer the \
          memory comes to its bandwidth, the longer everybody waits. A machine whose latency doubles at half of its \
          bandwidth has less memory than its idle latency promises.",
    params: &[
        ParamDef {
            name: "duty",
            kind: ParamKind::Count { min: 1, max: 100 },
            default: "100",
            doc: "Percent of the time that each of the other threads streams.",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "0",
            doc: "Working set of the chain, and of each stream; 0 for four times the last cache that the kernel shows, \
                  at least 256 MiB: doubled where that is less than twice the cache that was observed, halved where \
                  there is too little memory. Below twice the last cache nothing is measured.",
        },
        PAGES,
    ],
    metrics: &[
        MetricDef::time(
            "ns_per_load",
            MetricClass::LatencyTypical,
            How::TimePerOp(Time::Wall),
            "Wall time over loads of the chain.",
        ),
        reported(
            LOAD,
            Unit::BytesPerSecond,
            Better::Higher,
            MetricClass::Compute,
            "Bytes that the streams read meanwhile, all together, over the same time; no value where there are none.",
        )
        .acting(Role::Load),
        setting(
            WORKING_SET,
            Unit::Bytes,
            "Bytes of the chain, and of each stream: what `size` came to.",
        ),
        HUGE_PAGE_SHARE,
        PAGE_BYTES,
    ],
    tests: &[
        TestDef::new(
            "memory.loaded-25",
            "load latency, others stream 25 %",
            &[("duty", "25")],
        ),
        TestDef::new(
            "memory.loaded-50",
            "load latency, others stream 50 %",
            &[("duty", "50")],
        ),
        TestDef::new(
            "memory.loaded-75",
            "load latency, others stream 75 %",
            &[("duty", "75")],
        ),
        TestDef::new("memory.loaded-100", "load latency, others stream", &[]),
    ],
    simulated: false,
    on_disk: false,
};

impl Workload for Loaded {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        self.shape_of(params, 1)
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        let setup = set_up(params.size("size").0, copies);
        Shape {
            setup,
            setup_max: Shape::DEFAULT
                .setup_max
                .plus(Nanos(setup.0.saturating_mul(10))),
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let size = params.size("size").0;
        if size == 0 || (SIZE_MIN..=SIZE_MAX).contains(&size) {
            return Ok(());
        }
        Err(BadValue::new("size", "0, or a size from 4 KiB to 256 GiB"))
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        let (duty, size) = (params.count("duty"), params.size("size").0);
        // With one copy all of these tests are the same one.
        let one = host.limits.cpus_allowed.known().is_some() && host.limits.copies_all() == 1;
        if duty < 100 && one {
            return Err(format!(
                "streams at {duty} % need a CPU beside the chain's, and only one may be used: \
                 `memory.loaded-100@1` is the latency without load"
            ));
        }
        super::supported(params, host, needed(size, 1))
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        let all = needed(params.size("size").0, u64::from(copies));
        super::supported(params, host, all)
    }

    fn implementation(&self, _: &Params) -> Option<String> {
        Some(format!("{} streams", Width::best().name()))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let cpus = super::cpus(place)?;
        if usize::try_from(place.copies).is_ok_and(|copies| copies > cpus.len()) {
            return Err(WorkError::Unsupported(format!(
                "a chain and {} streams need a CPU each, and {} are allowed",
                place.copies.saturating_sub(1),
                cpus.len()
            )));
        }
        super::pin(cpus[0])?;
        let Extent { bytes: size, note } = size_of_each(params, place)?;
        let pages = super::pages(params);
        let region = super::region("the chain of loads", size, pages, cpus[0], None)?;
        super::page_values(region.paging(), pages)?;
        let chain = linked(region, size, place);
        let streams = streams(&cpus, size, params, place);
        let works = streams
            .into_iter()
            .map(|stream| move |member: &Member| stream.run(member));
        let team = started(works.collect())?;
        Ok(Box::new(Beside {
            chain,
            pages,
            streams: team.len(),
            team,
            clone: place.round,
            walked: 0,
            streamed_before: 0,
            began: sys::clock::monotonic(),
            spent_ns: 0,
            streamed: 0,
            note,
        }))
    }
}

/// The working set for which set-up is estimated where the caches decide: four times a last cache of 105 MiB.
const USUAL_SIZE: u64 = 420 << 20;

/// What set-up takes: linking the chain, and filling the streams, which they do side by side. Each took half a second
/// for 420 MiB on a small virtual machine; many streams wait for the memory, of which 50 GB a second are expected.
fn set_up(size: u64, copies: u32) -> Nanos {
    let size = if size == 0 { USUAL_SIZE } else { size };
    let streams = u64::from(copies.saturating_sub(1));
    let one = size.saturating_mul(6) / 5;
    let together = (size / 50).saturating_mul(streams);
    Nanos(
        one.saturating_mul(1 + streams.min(1))
            .saturating_add(together),
    )
}

/// Bytes that a round needs: the chain with the order in which it is linked, 4 bytes for each line, and the streams.
const fn needed(size: u64, slots: u64) -> u64 {
    size.saturating_mul(slots)
        .saturating_add(size / LINE_BYTES * 4)
}

/// The working set of the chain and of each stream, for which there is room.
fn size_of_each(params: &Params, place: &Place) -> Result<Extent, WorkError> {
    let slots = u64::from(place.copies.max(1));
    let given = params.size("size").0;
    if given == 0 {
        return beyond_the_caches(place, "working sets", |room| most_for(room, slots));
    }
    super::check_room_once(needed(given, slots), place)?;
    Ok(Extent {
        bytes: given,
        note: None,
    })
}

/// The largest working set of which so many fit into `room` bytes, and the order of one, which is a sixteenth of it.
const fn most_for(room: u64, slots: u64) -> u64 {
    room / (16 * slots + 1) * 16 / LINE_BYTES * LINE_BYTES
}

/// Streams that are set up and wait. One that is not is no load, and a chain beside fewer is another test.
fn started<W>(works: Vec<W>) -> Result<Team<Result<(), WorkError>>, WorkError>
where
    W: FnOnce(&Member) -> Result<(), WorkError> + Send + 'static,
{
    let mut team =
        Team::start(works).map_err(|error| WorkError::failed("start", "a thread", error))?;
    // Nobody ends before the work begins, unless it cannot be set up.
    if team.anybody_ended() {
        team.end().into_iter().collect::<Result<(), _>>()?;
        return Err(WorkError::Failed(
            "set up the streams: a thread has panicked".to_owned(),
        ));
    }
    Ok(team)
}

/// Bytes between two looks at the clock: 10 to 30 us.
const PIECE_BYTES: usize = 256 << 10;

/// What one of the other threads does.
#[derive(Debug)]
struct Stream {
    cpu: u32,
    bytes: u64,
    params: Params,
    clone: u32,
}

/// The streams beside the chain, which is on the first of `cpus`.
fn streams(cpus: &[u32], size: u64, params: &Params, place: &Place) -> Vec<Stream> {
    let streams = usize::try_from(place.copies.saturating_sub(1)).unwrap_or(usize::MAX);
    let cpus = cpus.iter().skip(1).take(streams);
    cpus.map(|&cpu| Stream {
        cpu,
        bytes: size.max(PIECE_BYTES as u64),
        params: params.clone(),
        clone: place.round,
    })
    .collect()
}

impl Stream {
    /// Streams through memory of its own, on its CPU, for `duty` percent of the time.
    fn run(&self, member: &Member) -> Result<(), WorkError> {
        super::pin(self.cpu)?;
        let pages = super::pages(&self.params);
        let mut region = super::region(
            "a stream beside the loads",
            self.bytes,
            pages,
            self.cpu,
            None,
        )?;
        let numbers = region.numbers();
        numbers.fill(1.0);
        super::page_values(region.paging(), pages)?;
        member.wait();
        self.pieces(region.numbers(), member)?;
        super::page_values(region.paging(), pages)?;
        Ok(())
    }

    fn pieces(&self, numbers: &[f64], member: &Member) -> Result<(), WorkError> {
        let duty = self.params.count("duty");
        let kernel = Kernel {
            op: Op::Read,
            stores: Stores::Regular,
            width: Width::best(),
            strides: 1,
        };
        let piece = PIECE_BYTES / 8 / STEP * STEP;
        let expected = count(piece);
        let mut at = 0;
        while !member.stopped() {
            let start = sys::clock::monotonic();
            let mut arrays = Arrays {
                dest: &mut [],
                a: &numbers[at..at + piece],
                b: &[],
            };
            let sum = kernel.pass(&mut arrays, 0.0, self.clone);
            if sum.to_bits() != expected.to_bits() {
                return Err(WorkError::Wrong(format!(
                    "a stream of {piece} ones has the sum {sum}"
                )));
            }
            member.add(PIECE_BYTES as u64);
            at = if at + 2 * piece <= numbers.len() {
                at + piece
            } else {
                0
            };
            if duty < 100 {
                let now = sys::clock::monotonic();
                let until = now + (now - start) * (100 - duty) / duty;
                while sys::clock::monotonic() < until && !member.stopped() {
                    std::hint::spin_loop();
                }
            }
        }
        Ok(())
    }
}

struct Beside {
    chain: Chain,
    pages: Pages,
    team: Team<Result<(), WorkError>>,
    streams: usize,
    clone: u32,
    walked: u64,
    /// When the measured part began, and the bytes of the streams then.
    began: u64,
    streamed_before: u64,
    /// The measured part so far, with what lies between two batches: the streams go on there.
    spent_ns: u64,
    streamed: u64,
    /// What is said of the size.
    note: Option<String>,
}

impl Body for Beside {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if self.team.me().part() == 0 {
            // Where there is no warm-up the measured part begins here.
            self.began = sys::clock::monotonic();
            self.team.next_part();
        }
        self.chain.walk(ops, self.clone);
        self.spent_ns = sys::clock::monotonic() - self.began;
        self.streamed = self.team.done();
        self.walked += ops;
        Ok(ops)
    }

    fn measured_part_begins(&mut self) {
        self.began = sys::clock::monotonic();
        self.streamed_before = self.team.done();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let ended = self.team.end();
        if ended.len() < self.streams {
            return Err(WorkError::Failed(
                "end the streams: a thread has panicked".to_owned(),
            ));
        }
        ended.into_iter().collect::<Result<(), _>>()?;
        check(&mut self.chain, self.walked)?;
        let mut reported: BTreeMap<_, _> =
            super::page_values(self.chain.paging(), self.pages)?.into();
        let lines = self.chain.nodes().saturating_mul(LINE_BYTES);
        reported.insert(WORKING_SET.to_owned(), approx(lines));
        let mut missing = BTreeMap::new();
        if self.streams > 0 {
            let streamed = approx(self.streamed - self.streamed_before);
            let load = streamed * 1e9 / approx(self.spent_ns.max(1));
            reported.insert(LOAD.to_owned(), load);
        } else {
            missing.insert(LOAD.to_owned(), NO_STREAMS.to_owned());
        }
        Ok(Finish {
            digest: Digest::EMPTY.word(self.chain.nodes()),
            reported,
            missing,
            notes: self.note.iter().cloned().collect(),
            ..Finish::default()
        })
    }
}

/// Why one copy has no load: nothing was loaded, which is no measurement of 0.
const NO_STREAMS: &str = "one copy is the chain alone: there are no streams";

#[cfg(test)]
mod tests;
