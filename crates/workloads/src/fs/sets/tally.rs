//! What a thread counts: operations, their times and their bytes, where whoever tells how far a round is can see
//! them, and latencies, which are the thread's own until it ends.

use engine::recorder::Latencies;
use model::fileset::{FileOperation, FileTask};
use model::latency::{LAT, LATE};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kinds of operations.
const KINDS: usize = FileOperation::ALL.len();

/// The name of the latency of what is asked for: the calls alone, as vdbench has it.
pub(super) const RESP: &str = "resp";

/// Counts of one thread, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Tally {
    ops: [AtomicU64; KINDS],
    ns: [AtomicU64; KINDS],
    read_bytes: AtomicU64,
    write_bytes: AtomicU64,
    /// Operations that were asked for, and their times.
    asked: AtomicU64,
    asked_ns: AtomicU64,
}

/// The counts of several threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) ops: [u64; KINDS],
    pub(super) ns: [u64; KINDS],
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) asked: u64,
    pub(super) asked_ns: u64,
}

fn add(count: &AtomicU64, more: u64) {
    // Nobody else writes it, so no locked instruction is needed.
    count.store(
        count.load(Ordering::Relaxed).wrapping_add(more),
        Ordering::Relaxed,
    );
}

impl Tally {
    #[inline]
    pub(super) fn did(&self, operation: FileOperation, nanos: u64) {
        let kind = operation as usize;
        add(&self.ops[kind], 1);
        add(&self.ns[kind], nanos);
    }

    #[inline]
    pub(super) fn read(&self, bytes: u64) {
        add(&self.read_bytes, bytes);
    }

    #[inline]
    pub(super) fn wrote(&self, bytes: u64) {
        add(&self.write_bytes, bytes);
    }

    #[inline]
    pub(super) fn asked(&self, nanos: u64) {
        add(&self.asked, 1);
        add(&self.asked_ns, nanos);
    }

    /// How many of those that were asked for were done.
    pub(super) fn done(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Forgets what was counted; by the thread itself.
    pub(super) fn clear(&self) {
        let all = self.ops.iter().chain(&self.ns);
        let rest = [
            &self.read_bytes,
            &self.write_bytes,
            &self.asked,
            &self.asked_ns,
        ];
        all.chain(rest)
            .for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

impl Sum {
    pub(super) fn of<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Self {
        let mut sum = Self::default();
        for tally in tallies {
            let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
            for kind in 0..KINDS {
                sum.ops[kind] += load(&tally.ops[kind]);
                sum.ns[kind] = sum.ns[kind].saturating_add(load(&tally.ns[kind]));
            }
            sum.read_bytes += load(&tally.read_bytes);
            sum.write_bytes += load(&tally.write_bytes);
            sum.asked += load(&tally.asked);
            sum.asked_ns = sum.asked_ns.saturating_add(load(&tally.asked_ns));
        }
        sum
    }

    /// What was added since `before`; all of it where counting began anew since.
    pub(super) fn since(&self, before: &Self) -> Self {
        if self.asked < before.asked {
            return *self;
        }
        let less = |now: u64, then: u64| now.saturating_sub(then);
        let each = |now: &[u64; KINDS], then: &[u64; KINDS]| {
            std::array::from_fn(|kind| less(now[kind], then[kind]))
        };
        Self {
            ops: each(&self.ops, &before.ops),
            ns: each(&self.ns, &before.ns),
            read_bytes: less(self.read_bytes, before.read_bytes),
            write_bytes: less(self.write_bytes, before.write_bytes),
            asked: less(self.asked, before.asked),
            asked_ns: less(self.asked_ns, before.asked_ns),
        }
    }

    /// What one of so many intervals comes to, where all of them came to this.
    pub(super) fn part_of(&self, intervals: u64) -> Self {
        let part = |all: u64| all / intervals;
        Self {
            ops: self.ops.map(part),
            ns: self.ns.map(part),
            read_bytes: part(self.read_bytes),
            write_bytes: part(self.write_bytes),
            asked: part(self.asked),
            asked_ns: part(self.asked_ns),
        }
    }
}

/// Latencies of one thread.
#[derive(Debug)]
pub(super) struct Recorded {
    each: [Option<Latencies>; KINDS],
    /// Of what is asked for: the calls alone.
    resp: Latencies,
    /// From the arrival to the end, and how late the program was, where operations arrive.
    lat: Option<(Latencies, Latencies)>,
}

impl Recorded {
    /// Ready for all that the task does.
    pub(super) fn new(task: &FileTask) -> Self {
        let does = task.operations();
        Self {
            each: FileOperation::ALL.map(|of| does.contains(&of).then(Latencies::default)),
            resp: Latencies::default(),
            lat: task.rate.map(|_| Default::default()),
        }
    }

    #[inline]
    pub(super) fn did(&mut self, operation: FileOperation, nanos: u64) {
        if let Some(latencies) = &mut self.each[operation as usize] {
            latencies.record(nanos, 1);
        }
    }

    #[inline]
    pub(super) fn asked(&mut self, nanos: u64) {
        self.resp.record(nanos, 1);
    }

    /// One that had arrived so long ago, and was begun so late.
    #[inline]
    pub(super) fn arrived(&mut self, nanos: u64, late: u64) {
        if let Some((lat, lates)) = &mut self.lat {
            lat.record(nanos, 1);
            lates.record(late, 1);
        }
    }

    pub(super) fn clear(&mut self) {
        let both = self.lat.iter_mut().flat_map(|(lat, late)| [lat, late]);
        let all = self.each.iter_mut().flatten().chain([&mut self.resp]);
        all.chain(both).for_each(Latencies::clear);
    }

    /// Adds them to those of other threads, by name.
    pub(super) fn add_to(&self, all: &mut BTreeMap<String, Latencies>) {
        let mut add = |name: &str, more: &Latencies| match all.get_mut(name) {
            Some(own) => own.absorb(more),
            None => drop(all.insert(name.to_owned(), more.clone())),
        };
        for (operation, latencies) in FileOperation::ALL.iter().zip(&self.each) {
            if let Some(latencies) = latencies {
                add(operation.word(), latencies);
            }
        }
        add(RESP, &self.resp);
        if let Some((lat, late)) = &self.lat {
            add(LAT, lat);
            add(LATE, late);
        }
    }
}
