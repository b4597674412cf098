//! What the loop records: latencies of each kind of operation, of syncs, and the program's own lateness.

use engine::recorder::Latencies;
use model::job::{Directions, Report};
use model::latency::LATE;
use model::num::approx;
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

/// Operations that were submitted and are over at the same time.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) kind: Kind,
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
            single: kinds.len() == 1,
        }
    }

    /// Operations of a group are over.
    #[inline]
    pub(super) fn record(&mut self, clock: Clock, group: Group, now: u64) {
        let Group {
            kind,
            start,
            submitted,
            count,
        } = group;
        let place = place(kind);
        self.done[place] += count;
        let clat = clock.nanos(submitted, now);
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

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.done = [0; 4];
        let kinds = self.by_kind.iter_mut().flatten();
        let all = kinds.flat_map(|kinds| {
            let (slat, lat) = (kinds.slat.as_mut(), kinds.lat.as_mut());
            [Some(&mut kinds.clat), slat, lat].into_iter().flatten()
        });
        let others = self.sync.iter_mut().chain(&mut self.late);
        all.chain(others).for_each(Latencies::clear);
    }

    /// Hands everything over by name.
    pub(super) fn take(&mut self) -> BTreeMap<String, Latencies> {
        let mut named = BTreeMap::new();
        for (kinds, name) in self.by_kind.iter_mut().zip(["read_", "write_", "trim_"]) {
            let Some(kinds) = kinds.take() else { continue };
            let prefix = if self.single { "" } else { name };
            named.insert(format!("{prefix}clat"), kinds.clat);
            named.extend(kinds.slat.map(|slat| (format!("{prefix}slat"), slat)));
            named.extend(kinds.lat.map(|lat| (format!("{prefix}lat"), lat)));
        }
        named.extend(self.sync.take().map(|sync| ("sync".to_owned(), sync)));
        named.extend(self.late.take().map(|late| (LATE.to_owned(), late)));
        named
    }
}

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
