//! `memory.loaded`: the latency of a load while other CPUs stream through memory.

use super::curve::{LINE_BYTES, beyond_the_caches, link};
use super::latency::check;
use super::{HUGE_PAGE_SHARE, PAGE_BYTES, PAGES, reported, set_up_by_each};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::host::HostFacts;
use model::num::{approx, count};
use model::params::Params;
use model::plan::Shape;
use model::rng::Rng;
use model::spec::{Better, How, MetricClass, MetricDef, ParamDef, ParamKind, Spec, TestDef};
use model::units::{Nanos, Unit};
use sys::loops::bandwidth::{Arrays, Kernel, Op, STEP, Stores, Width};
use sys::loops::chase::Chain;
use sys::loops::team::{Member, Team};
use sys::memory::{Pages, Region};

/// The workload.
pub(crate) static LOADED: Loaded = Loaded;

/// One chain, and streams beside it.
#[derive(Debug)]
pub(crate) struct Loaded;

const LOAD: &str = "load_bytes_per_s";

const fn test(
    name: &'static str,
    title: &'static str,
    params: &'static [(&'static str, &'static str)],
) -> TestDef {
    TestDef {
        name,
        title,
        params,
    }
}

static SPEC: Spec = Spec {
    name: "memory.loaded",
    version: 1,
    title: "latency of memory under load",
    doc: "One operation is one load of a chain in random order (see `memory.latency`) over memory beyond the caches, \
          on one CPU, while threads on the other CPUs read streams with the widest vectors, each for `duty` percent of \
          the time. `@N` is one chain and N - 1 streams; `@1` is the latency without load.\n\n\
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
            doc: "Working set of the chain, and of all streams together; 0 for four times the last cache that is \
                  observed.",
        },
        PAGES,
    ],
    metrics: &[
        MetricDef {
            quantity: "ns_per_load",
            unit: Unit::Nanoseconds,
            better: Better::Lower,
            class: MetricClass::LatencyTypical,
            how: How::WallPerOp,
            doc: "Wall time over loads of the chain.",
        },
        reported(
            LOAD,
            Unit::BytesPerSecond,
            Better::Higher,
            MetricClass::Compute,
            "Bytes that the streams read meanwhile, all together, over the same time.",
        ),
        HUGE_PAGE_SHARE,
        PAGE_BYTES,
    ],
    tests: &[
        test(
            "memory.loaded-25",
            "load latency, others stream 25 %",
            &[("duty", "25")],
        ),
        test(
            "memory.loaded-50",
            "load latency, others stream 50 %",
            &[("duty", "50")],
        ),
        test(
            "memory.loaded-75",
            "load latency, others stream 75 %",
            &[("duty", "75")],
        ),
        test("memory.loaded-100", "load latency, others stream", &[]),
    ],
    simulated: false,
    on_disk: false,
};

impl Workload for Loaded {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, _: &Params) -> Shape {
        Shape {
            setup: Nanos::from_millis(500),
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        set_up_by_each(self.shape(params), copies)
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        super::supported(params, host, params.size("size").0.saturating_mul(2))
    }

    fn implementation(&self, _: &Params) -> Option<String> {
        Some(format!("{} streams", Width::best().name()))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let cpus = super::cpus(place)?;
        let streams = place.copies.saturating_sub(1);
        if usize::try_from(place.copies).is_ok_and(|copies| copies > cpus.len()) {
            return Err(WorkError::Unsupported(format!(
                "a chain and {streams} streams need a CPU each, and {} are allowed",
                cpus.len()
            )));
        }
        super::pin(cpus[0])?;
        // The chain's share and the streams', which is why twice the room is looked for.
        let alone = Place {
            copies: 2,
            copy: 0,
            ..place.clone()
        };
        let size = match params.size("size").0 {
            0 => beyond_the_caches(&alone)?,
            size => size,
        };
        super::check_room(size, &alone)?;
        let pages = super::pages(params);
        let mut region = super::map(size, pages)?;
        region.touch();
        super::page_values(&region, pages)?;
        let mut chain = Chain::new(region, usize::try_from(LINE_BYTES).unwrap_or(64));
        link(
            &mut chain,
            size,
            &mut Vec::new(),
            &mut Rng::stream(place.seed, 7),
        );
        let duty = params.count("duty");
        let each = usize::try_from(size / u64::from(streams.max(1))).unwrap_or(usize::MAX);
        let works = cpus[1..].iter().take(usize::try_from(streams).unwrap_or(0));
        let works: Vec<_> = works
            .map(|&cpu| {
                let clone = place.round;
                move |member: &Member| stream(member, cpu, each, duty, clone)
            })
            .collect();
        let team =
            Team::start(works).map_err(|error| WorkError::failed("start", "a thread", error))?;
        Ok(Box::new(Beside {
            chain,
            pages,
            team,
            clone: place.round,
            walked: 0,
            streamed_before: 0,
            spent_ns: 0,
            streamed: 0,
        }))
    }
}

/// Bytes between two looks at the clock: 10 to 30 us.
const PIECE_BYTES: usize = 256 << 10;

/// Streams through memory of its own, on `cpu`, for `duty` percent of the time.
fn stream(member: &Member, cpu: u32, bytes: usize, duty: u64, clone: u32) -> Result<(), String> {
    sys::affinity::pin(cpu).map_err(|error| format!("sched_setaffinity `CPU {cpu}`: {error}"))?;
    let mut region = Region::new(bytes.max(PIECE_BYTES), Pages::Usual)
        .map_err(|error| format!("mmap `{bytes} bytes`: {error}"))?;
    let numbers = region.numbers();
    numbers.fill(1.0);
    let kernel = Kernel {
        op: Op::Read,
        stores: Stores::Regular,
        width: Width::best(),
    };
    let piece = PIECE_BYTES / 8 / STEP * STEP;
    let expected = count(piece);
    member.wait();
    let mut at = 0;
    while !member.stopped() {
        let start = sys::clock::monotonic();
        let mut arrays = Arrays {
            dest: &mut [],
            a: &numbers[at..at + piece],
            b: &[],
        };
        let sum = kernel.pass(&mut arrays, 0.0, clone);
        if sum.to_bits() != expected.to_bits() {
            return Err(format!("a stream of {piece} ones has the sum {sum}"));
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

struct Beside {
    chain: Chain,
    pages: Pages,
    team: Team<Result<(), String>>,
    clone: u32,
    walked: u64,
    /// Bytes of the streams when the measured part began, and the measured part so far.
    streamed_before: u64,
    spent_ns: u64,
    streamed: u64,
}

impl Body for Beside {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if self.team.me().part() == 0 {
            self.team.next_part();
        }
        let start = sys::clock::monotonic();
        self.chain.walk(ops, self.clone);
        self.spent_ns += sys::clock::monotonic() - start;
        self.streamed = self.team.done();
        self.walked += ops;
        Ok(ops)
    }

    fn measured_part_begins(&mut self) {
        self.spent_ns = 0;
        self.streamed_before = self.team.done();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        for stream in self.team.end() {
            stream.map_err(WorkError::Wrong)?;
        }
        check(&mut self.chain, self.walked)?;
        let mut reported: std::collections::BTreeMap<_, _> =
            super::page_values(self.chain.region(), self.pages)?.into();
        let streamed = approx(self.streamed - self.streamed_before);
        let load = streamed * 1e9 / approx(self.spent_ns.max(1));
        reported.insert(LOAD.to_owned(), load);
        Ok(Finish {
            digest: Digest::EMPTY.word(self.chain.nodes()),
            reported,
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    /// In a thread of its own, because the body pins it.
    fn apart(test: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(test);
        });
    }

    #[test]
    fn the_streams_run_beside_the_chain_and_not_without_a_cpu_each() {
        let cpus = sys::affinity::allowed_cpus().unwrap().len();
        for copies in [1, cpus, cpus + 1] {
            apart(move || check_load(copies, cpus));
        }
    }

    fn check_load(copies: usize, cpus: usize) {
        let (_root, mut place) = testing::place();
        place.copies = u32::try_from(copies).unwrap();
        let set = [("size", "2M"), ("pages", "small"), ("duty", "50")];
        let body = testing::prepare(&LOADED, &set, &place);
        if copies > cpus {
            assert!(matches!(body, Err(WorkError::Unsupported(_))));
            return;
        }
        let mut body = body.unwrap();
        body.batch(10_000, &mut Recorder::off()).unwrap();
        body.measured_part_begins();
        for _ in 0..50 {
            body.batch(20_000, &mut Recorder::off()).unwrap();
        }
        let load = body.finish().unwrap().reported[LOAD];
        assert_eq!(load > 0.0, copies > 1, "{copies}: {load}");
    }
}
