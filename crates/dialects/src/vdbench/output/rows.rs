//! The rows of reports: what was done in an interval, or in all intervals that count, from what copies told.

use model::num::approx;
use model::order::Keyed as _;
use model::record::CopyRecord;
use model::units::Nanos;
use std::collections::BTreeMap;

/// What was done in some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Reads.
    pub reads: Flow,
    /// Writes.
    pub writes: Flow,
    /// The share of all CPUs that this program used and the kernel used for it, and the kernel's part; from 0 to 1.
    pub cpu: Option<(f64, f64)>,
}

/// What was done of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Operations per second.
    pub per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// How long the calls took; `None` where there was none, and where nobody kept it.
    pub calls: Option<Moments>,
}

/// What is told of many times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// How many.
    pub count: f64,
    /// Their mean in nanoseconds.
    pub mean_ns: f64,
    /// Their standard deviation and the longest, in nanoseconds; `None` where the mean alone was kept.
    pub spread_ns: Option<(f64, f64)>,
}

/// Latencies and how many there were of each.
type Pairs = [(u64, u64)];

impl Moments {
    /// Of latencies in nanoseconds; `None` of none.
    pub fn of(pairs: &Pairs) -> Option<Self> {
        let count = approx(pairs.iter().map(|(_, count)| count).sum());
        let mean = model::latency::mean(pairs)?;
        let longest = pairs.iter().map(|(nanos, _)| *nanos).max()?;
        let squares = pairs
            .iter()
            .map(|&(nanos, count)| (approx(nanos) - mean).powi(2) * approx(count));
        Some(Self {
            count,
            mean_ns: mean,
            spread_ns: Some(((squares.sum::<f64>() / count).sqrt(), approx(longest))),
        })
    }

    /// Of both together.
    pub fn joined(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(a), Some(b)) = (one, other) else {
            return one.or(other);
        };
        let count = a.count + b.count;
        let mean = (a.mean_ns * a.count + b.mean_ns * b.count) / count;
        let spread = a.spread_ns.zip(b.spread_ns).map(|((s, m), (t, n))| {
            let part = |of: Self, deviation: f64| {
                of.count * (deviation.powi(2) + (of.mean_ns - mean).powi(2))
            };
            (((part(a, s) + part(b, t)) / count).sqrt(), m.max(n))
        });
        Some(Self {
            count,
            mean_ns: mean,
            spread_ns: spread,
        })
    }
}

impl Row {
    /// Operations per second.
    pub fn per_s(&self) -> f64 {
        self.reads.per_s + self.writes.per_s
    }

    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.reads.bytes_per_s + self.writes.bytes_per_s
    }

    /// Bytes of an operation; `None` where there was none.
    pub fn bytes_per_op(&self) -> Option<f64> {
        (self.per_s() > 0.0).then(|| self.bytes_per_s() / self.per_s())
    }

    /// The share of reads, from 0 to 1; `None` where nothing was done.
    pub fn reads_share(&self) -> Option<f64> {
        (self.per_s() > 0.0).then(|| self.reads.per_s / self.per_s())
    }

    /// How long all calls took.
    pub fn calls(&self) -> Option<Moments> {
        Moments::joined(self.reads.calls, self.writes.calls)
    }

    /// How many operations were under way, by Little's law (Operations Research 9 (1961) 383).
    pub fn queue_depth(&self) -> Option<f64> {
        self.calls().map(|calls| self.per_s() * calls.mean_ns / 1e9)
    }
}

/// What of a run is averaged begins so late.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The length of an interval.
    pub interval: Nanos,
    /// When figures begin to count, from the beginning of the round.
    pub counts_from: Nanos,
    /// CPUs of the machine.
    pub cpus: u32,
}

/// What all copies did of which figures count.
pub fn whole(copies: &[CopyRecord], cpus: u32) -> Row {
    let mut row = Row::default();
    for copy in copies {
        let Some(told) = copy.apart.as_ref().and_then(|apart| apart.job.as_ref()) else {
            continue;
        };
        for (flow, done) in [
            (&mut row.reads, &told.done.read),
            (&mut row.writes, &told.done.write),
        ] {
            let seconds = told.runtime.as_secs_f64();
            if seconds > 0.0 {
                flow.per_s += approx(done.ops) / seconds;
                flow.bytes_per_s += approx(done.bytes) / seconds;
            }
        }
    }
    let [reads, writes] = ["read", "write"].map(|kind| latencies(copies, &format!("{kind}_clat")));
    row.reads.calls = Moments::of(&reads);
    row.writes.calls = Moments::of(&writes);
    row.cpu = cpu(copies, cpus);
    row
}

/// The share of all CPUs that copies used over their time.
fn cpu(copies: &[CopyRecord], cpus: u32) -> Option<(f64, f64)> {
    let wall = copies
        .iter()
        .map(|copy| copy.wall.as_secs_f64())
        .fold(0.0, f64::max);
    let all = wall * f64::from(cpus);
    let sum = |of: fn(&CopyRecord) -> Nanos| {
        copies
            .iter()
            .map(|copy| of(copy).as_secs_f64())
            .sum::<f64>()
    };
    let (user, system) = (sum(|copy| copy.user), sum(|copy| copy.system));
    (all > 0.0).then(|| ((user + system) / all, system / all))
}

/// The latencies of this name of all copies.
pub fn latencies(copies: &[CopyRecord], name: &str) -> Vec<(u64, u64)> {
    let lists = copies
        .iter()
        .filter_map(|copy| copy.apart.as_ref()?.latencies.get(name));
    model::latency::merged(lists.map(Vec::as_slice))
}

/// What copies did between two looks at a round that goes on, and the number of the interval that ends with it. What
/// they tell is counted anew where figures begin to count.
pub fn between(before: &[CopyRecord], now: &[CopyRecord], grid: Grid) -> (u64, Row) {
    let nobody = CopyRecord::of_operations(0);
    let mut row = Row::default();
    let mut calls: [BTreeMap<u64, u64>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let (mut user, mut system, mut longest) = (0.0, 0.0, 0.0_f64);
    for (at, copy) in now.iter().enumerate() {
        let earlier = before.get(at).unwrap_or(&nobody);
        let begins_anew = earlier.wall < grid.counts_from && copy.wall >= grid.counts_from;
        let from = if begins_anew {
            grid.counts_from
        } else {
            earlier.wall
        };
        let seconds = Nanos(copy.wall.0.saturating_sub(from.0)).as_secs_f64();
        let wall = Nanos(copy.wall.0.saturating_sub(earlier.wall.0)).as_secs_f64();
        longest = longest.max(wall);
        user += Nanos(copy.user.0.saturating_sub(earlier.user.0)).as_secs_f64();
        system += Nanos(copy.system.0.saturating_sub(earlier.system.0)).as_secs_f64();
        let earlier = if begins_anew { &nobody } else { earlier };
        for (side, kind) in [(0, "read"), (1, "write")] {
            let (ops, bytes) = done(copy, side);
            let (ops_before, bytes_before) = done(earlier, side);
            let flow = if side == 0 {
                &mut row.reads
            } else {
                &mut row.writes
            };
            if seconds > 0.0 {
                flow.per_s += approx(ops.saturating_sub(ops_before)) / seconds;
                flow.bytes_per_s += approx(bytes.saturating_sub(bytes_before)) / seconds;
            }
            differ(copy, earlier, &format!("{kind}_clat"), &mut calls[side]);
        }
    }
    let [reads, writes] = calls.map(|counts| {
        let pairs: Vec<(u64, u64)> = counts.into_iter().collect();
        Moments::of(&pairs)
    });
    row.reads.calls = reads;
    row.writes.calls = writes;
    let all = longest * f64::from(grid.cpus);
    row.cpu = (all > 0.0).then(|| ((user + system) / all, system / all));
    let wall = now.iter().map(|copy| copy.wall.0).max().unwrap_or(0);
    let half = grid.interval.0 / 2;
    ((wall + half) / grid.interval.0.max(1), row)
}

/// Operations and bytes of a direction.
fn done(copy: &CopyRecord, side: usize) -> (u64, u64) {
    let told = copy.apart.as_ref().and_then(|apart| apart.job.as_ref());
    told.map_or((0, 0), |told| {
        let done = if side == 0 {
            &told.done.read
        } else {
            &told.done.write
        };
        (done.ops, done.bytes)
    })
}

/// Adds what came to the latencies of this name.
fn differ(now: &CopyRecord, before: &CopyRecord, name: &str, all: &mut BTreeMap<u64, u64>) {
    let of = |copy: &CopyRecord| -> Vec<(u64, u64)> {
        let pairs = copy
            .apart
            .as_ref()
            .and_then(|apart| apart.latencies.get(name));
        pairs.cloned().unwrap_or_default()
    };
    let earlier: BTreeMap<u64, u64> = of(before).into_iter().into_map();
    for (nanos, count) in of(now) {
        let came = count.saturating_sub(earlier.get(&nanos).copied().unwrap_or(0));
        if came > 0 {
            *all.entry(nanos).or_default() += came;
        }
    }
}

/// The intervals that figures are of, as the copies of a kept round wrote them down: the mean of the calls of each.
pub fn intervals(copies: &[CopyRecord]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for copy in copies {
        let Some(apart) = &copy.apart else { continue };
        for (side, kind) in [(0, "read"), (1, "write")] {
            let of = |quantity: &str| apart.series.get(&format!("{kind}_{quantity}_at"));
            let (Some(ops), Some(bytes)) = (of("iops"), of("bytes_per_s")) else {
                continue;
            };
            let means = of("clat_ns");
            for (at, (ops_per_s, bytes_per_s)) in ops.values.iter().zip(&bytes.values).enumerate() {
                if rows.len() <= at {
                    rows.push(Row::default());
                }
                let row = &mut rows[at];
                let flow = if side == 0 {
                    &mut row.reads
                } else {
                    &mut row.writes
                };
                let per_s = ops_per_s.unwrap_or(0.0);
                flow.per_s += per_s;
                flow.bytes_per_s += bytes_per_s.unwrap_or(0.0);
                let mean = means.and_then(|means| *means.values.get(at)?);
                let own = mean.filter(|_| per_s > 0.0).map(|mean_ns| Moments {
                    count: per_s * ops.step.as_secs_f64(),
                    mean_ns,
                    spread_ns: None,
                });
                flow.calls = Moments::joined(flow.calls, own);
            }
        }
    }
    rows
}
