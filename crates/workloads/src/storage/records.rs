//! What the loop records: latencies of each kind of operation, of syncs, and the program's own lateness.

use engine::recorder::Latencies;
use engine::tick::SoFar;
use model::job::{Directions, IoPriority, Report, prioritized};
use model::latency::LATE;
use model::num::approx;
use model::order::Keyed as _;
use std::collections::BTreeMap;
use sys::clock::Clock;
use sys::io::Kind;

/// What has been recorded.
pub(super) struct Records {
    /// Of reads, writes and trims; `None` where the job does none.
    by_kind: [Option<Kinds>; 3],
    /// Of fsync and fdatasync.
    sync: Option<Latencies>,
    /// From when an operation could have started to when it did.
    late: Option<Latencies>,
    /// Operations of each kind, syncs last.
    done: [u64; 4],
    /// Of reads and writes of each priority that operations may have, where they have different ones.
    by_priority: [Vec<AtPriority>; 2],
    /// With one kind of operation the names of its latencies need no prefix.
    single: bool,
}

/// The latencies of one kind of operation.
#[derive(Default)]
struct Kinds {
    slat: Option<Latencies>,
    clat: Latencies,
    lat: Option<Latencies>,
}

/// The latencies of one kind of operation at one priority, under their name: of the whole, or of completion.
struct AtPriority {
    name: String,
    is_whole: bool,
    latencies: Latencies,
}

/// Operations that were submitted and are over at the same time.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) kind: Kind,
    /// Which of the priorities that operations may have.
    pub(super) priority: u8,
    pub(super) start: u64,
    pub(super) submitted: u64,
    pub(super) count: u64,
}

impl Records {
    /// Submission is told from completion where the engine is not `synchronous`; the whole is more than the completion
    /// there, and where operations have an intended start (`rated`).
    pub(super) fn new(kinds: &[Kind], synchronous: bool, rated: bool, syncs: bool) -> Self {
        let (slat, lat) = (!synchronous, !synchronous || rated);
        let of = |kind| {
            kinds.contains(&kind).then(|| Kinds {
                slat: slat.then(Latencies::default),
                clat: Latencies::default(),
                lat: lat.then(Latencies::default),
            })
        };
        Self {
            by_kind: [of(Kind::Read), of(Kind::Write), of(Kind::Trim)],
            sync: syncs.then(Latencies::default),
            late: rated.then(Latencies::default),
            done: [0; 4],
            by_priority: [Vec::new(), Vec::new()],
            single: kinds.len() == 1,
        }
    }

    /// The same, with what operations of each of these priorities take apart: the whole, or the completion.
    pub(super) fn by_priority(mut self, all: &[IoPriority], is_whole: bool) -> Self {
        self.by_priority = [(0, "read"), (1, "write")].map(|(place, kind)| {
            if self.by_kind[place].is_none() {
                return Vec::new();
            }
            let word = if is_whole { "lat" } else { "clat" };
            let of = |priority: &IoPriority| AtPriority {
                name: prioritized(kind, word, *priority),
                is_whole,
                latencies: Latencies::default(),
            };
            all.iter().map(of).collect()
        });
        self
    }

    /// Operations of a group are over.
    #[inline]
    pub(super) fn record(&mut self, clock: Clock, group: Group, now: u64) {
        let Group {
            kind,
            priority,
            start,
            submitted,
            count,
        } = group;
        let place = place(kind);
        self.done[place] += count;
        let clat = clock.nanos(submitted, now);
        let mut prioritized = self.by_priority.get_mut(place);
        if let Some(one) = prioritized
            .as_mut()
            .and_then(|all| all.get_mut(usize::from(priority)))
        {
            let began = if one.is_whole { start } else { submitted };
            one.latencies.record(clock.nanos(began, now), count);
        }
        match self.by_kind.get_mut(place) {
            Some(Some(kinds)) => {
                kinds.clat.record(clat, count);
                if let Some(slat) = &mut kinds.slat {
                    slat.record(clock.nanos(start, submitted), count);
                }
                if let Some(lat) = &mut kinds.lat {
                    lat.record(clock.nanos(start, now), count);
                }
            }
            Some(None) => {}
            None => {
                if let Some(sync) = &mut self.sync {
                    sync.record(clat, count);
                }
            }
        }
    }

    /// An operation started that much later than it could have, with a rate.
    #[inline]
    pub(super) fn start_late(&mut self, nanos: u64) {
        if let Some(late) = &mut self.late {
            late.record(nanos, 1);
        }
    }

    /// Reads, writes, trims and syncs that are over.
    pub(super) const fn done(&self) -> [u64; 4] {
        self.done
    }

    /// Everything that records, by its name.
    fn each(&mut self) -> impl Iterator<Item = (&str, &mut Latencies)> {
        let names = if self.single { [ALONE; 3] } else { OF_KINDS };
        let kinds = self.by_kind.iter_mut().zip(names);
        let kinds = kinds.flat_map(|(kinds, [slat, clat, lat])| {
            let all = kinds.as_mut().map(|kinds| {
                [
                    kinds.slat.as_mut().map(|own| (slat, own)),
                    Some((clat, &mut kinds.clat)),
                    kinds.lat.as_mut().map(|own| (lat, own)),
                ]
            });
            all.into_iter().flatten().flatten()
        });
        let sync = self.sync.as_mut().map(|sync| ("sync", sync));
        let late = self.late.as_mut().map(|late| (LATE, late));
        let by_priority = self.by_priority.iter_mut().flatten();
        let by_priority = by_priority.map(|one| (one.name.as_str(), &mut one.latencies));
        kinds.chain(sync).chain(late).chain(by_priority)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.done = [0; 4];
        self.each().for_each(|(_, latencies)| latencies.clear());
    }

    /// Gives the latencies away that were recorded since the last time.
    pub(super) fn give(&mut self, so_far: &mut SoFar) {
        self.each()
            .for_each(|(name, latencies)| so_far.give(name, latencies));
    }

    /// Hands everything over by name.
    pub(super) fn take(&mut self) -> BTreeMap<String, Latencies> {
        let each = self.each();
        each.map(|(name, latencies)| (name.to_owned(), std::mem::take(latencies)))
            .into_map()
    }
}

/// What submission, completion and the whole are called, where there is one kind of operation, and of each kind.
const ALONE: [&str; 3] = ["slat", "clat", "lat"];
const OF_KINDS: [[&str; 3]; 3] = [
    ["read_slat", "read_clat", "read_lat"],
    ["write_slat", "write_clat", "write_lat"],
    ["trim_slat", "trim_clat", "trim_lat"],
];

/// Where a kind is counted.
#[inline]
pub(super) const fn place(kind: Kind) -> usize {
    match kind {
        Kind::Read => 0,
        Kind::Write => 1,
        Kind::Trim => 2,
        Kind::Sync | Kind::DataSync => 3,
    }
}

/// The amounts that metrics are made of, by name.
pub(super) fn amounts(report: &Report) -> BTreeMap<String, f64> {
    let Directions { read, write, trim } = &report.done;
    [
        ("bytes", read.bytes + write.bytes + trim.bytes),
        ("reads", read.ops),
        ("writes", write.ops),
    ]
    .map(|(name, amount)| (name.to_owned(), approx(amount)))
    .into()
}
