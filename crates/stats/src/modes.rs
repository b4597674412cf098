//! Where most of a latency distribution lies: in one place, or in several.
//!
//! A mean between two humps describes no operation at all: a cache that answers in 90 us and a disk behind it that
//! takes 1.2 ms make a mean of 420 us. Humps are looked for on the logarithm of the latency, where what a queue or a
//! cache does is a factor, with a density of a fixed width of 10 %: finer structure (two paths of 90 and 95 us)
//! decides nothing, and a width that followed the sample would find more and more of it as samples grow. Two humps
//! count as two only where the valley between them is deep enough to matter and to be no accident, and each holds a
//! share that matters: a stall in fifty is a tail, and percentiles tell of it.
//!
//! Rejected: Hartigan's dip test (says that there is more than one hump, not where, and rejects every exact repetition
//! of a latency), Gaussian mixtures (split every skewed distribution in two), Silverman's test (needs a bootstrap, and
//! with enough operations finds every ripple). The idea of ordering humps by what the valley leaves of them is that of
//! topological persistence (Edelsbrunner, Letscher, Zomorodian, Discrete Comput. Geom. 28 (2002) 511-533).

use model::latency;
use model::num::{approx, count, round_to_usize};
use schemars::JsonSchema;
use serde::Serialize;

/// The fewest operations of which a shape is said.
pub const OPERATIONS_MIN: u64 = 200;
/// The deviation of the kernel on the logarithm: humps less than a quarter apart melt into one.
const WIDTH: f64 = 0.1;
/// Added to each latency before its logarithm is taken. Clocks that count in steps of up to 42 ns (24 MHz) would make a
/// comb of humps of latencies below a microsecond; this keeps their teeth within two kernels of each other.
const CLOCK_NS: f64 = 250.0;
/// The distance of two points at which the density is computed.
const STEP: f64 = 0.02;
/// How far the kernel reaches, in points: four deviations.
const REACH: usize = 20;
/// The deepest point of a valley, as a share of the lower of its two humps, at which they are two.
const VALLEY_MAX: f64 = 0.8;
/// How far hump and valley must be apart, in standard errors of their difference: the best of some fifty places is
/// taken, so that two would be found in every broad distribution.
const ERRORS_MIN: f64 = 4.0;
/// The least share of operations that makes a hump worth a word.
const SHARE_MIN: f64 = 0.05;

/// One hump.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mode {
    /// The share of the operations that belong to it, 0 to 1; those of all humps make 1.
    pub share: f64,
    /// The latency where it is highest, in nanoseconds.
    pub peak_ns: f64,
    /// The 10 % quantile of its latencies, in nanoseconds.
    pub lo_ns: f64,
    /// The 90 % quantile of its latencies, in nanoseconds.
    pub hi_ns: f64,
    /// Latencies below this belong to it and not to the next, in nanoseconds; infinite for the last.
    #[serde(skip)]
    pub below_ns: f64,
}

/// The humps of `pairs` (nanoseconds and count, in any order), the fastest first; at least one. `None` for fewer than
/// [`OPERATIONS_MIN`] operations.
pub fn find(pairs: &[(u64, u64)]) -> Option<Vec<Mode>> {
    let pairs = latency::merged([pairs]);
    let operations = latency::operations(&pairs);
    if operations < OPERATIONS_MIN {
        return None;
    }
    let density = Density::of(&pairs)?;
    let mut humps = density.humps();
    join_the_doubtful(&mut humps, &density, approx(operations));
    join_the_small(&mut humps, &density);
    Some(modes(&humps, &density, &pairs, approx(operations)))
}

/// The share of the operations of `pairs` that belong to each of `modes`; nothing where there are no operations.
pub fn shares(modes: &[Mode], pairs: &[(u64, u64)]) -> Vec<f64> {
    let total = latency::operations(pairs);
    if total == 0 {
        return Vec::new();
    }
    let mut from = f64::NEG_INFINITY;
    let mut share = |mode: &Mode| {
        let within = pairs.iter().filter(|pair| {
            let nanos = approx(pair.0);
            nanos >= from && nanos < mode.below_ns
        });
        let operations: u64 = within.map(|pair| pair.1).sum();
        from = mode.below_ns;
        approx(operations) / approx(total)
    };
    modes.iter().map(&mut share).collect()
}

/// A hump of the density: the points of its foot on either side, and of its peak.
#[derive(Clone, Copy, Debug)]
struct Hump {
    from: usize,
    peak: usize,
    /// The foot on the right, where the next hump begins.
    to: usize,
}

/// The density of the logarithms at points in equal distances.
struct Density {
    /// The place of the first point.
    origin: f64,
    /// The density at each point, per unit of the logarithm; together they hold all operations as 1.
    at: Vec<f64>,
}

impl Density {
    fn of(pairs: &[(u64, u64)]) -> Option<Self> {
        let total = latency::operations(pairs);
        let (first, last) = (place(pairs.first()?.0), place(pairs.last()?.0));
        let origin = first - count(REACH) * STEP;
        let points = round_to_usize(((last - first) / STEP).ceil()) + 2 * REACH + 2;
        // Each operation is shared between its two neighbouring points, so that nothing is rounded to one of them.
        let mut mass = vec![0.0; points];
        for &(nanos, n) in pairs {
            let at = (place(nanos) - origin) / STEP;
            let left = round_to_usize(at.floor()).min(points - 2);
            let right_share = at - count(left);
            let share = approx(n) / approx(total);
            mass[left] += share * (1.0 - right_share);
            mass[left + 1] += share * right_share;
        }
        let kernel: Vec<f64> = (0..=REACH)
            .map(|points| {
                let deviations = count(points) * STEP / WIDTH;
                (-0.5 * deviations * deviations).exp() / (WIDTH * std::f64::consts::TAU.sqrt())
            })
            .collect();
        let at = (0..points)
            .map(|here| {
                let from = here.saturating_sub(REACH);
                let to = (here + REACH + 1).min(points);
                (from..to)
                    .map(|there| mass[there] * kernel[here.abs_diff(there)])
                    .sum()
            })
            .collect();
        Some(Self { origin, at })
    }

    /// The latency of a point, in nanoseconds.
    fn nanos(&self, point: usize) -> f64 {
        ((self.origin + count(point) * STEP).exp() - CLOCK_NS).max(0.0)
    }

    /// Every local maximum with its feet.
    fn humps(&self) -> Vec<Hump> {
        let at = &self.at;
        let last = at.len() - 1;
        let mut humps = vec![Hump {
            from: 0,
            peak: 0,
            to: last,
        }];
        let mut falling = false;
        for point in 1..=last {
            let Some(hump) = humps.last_mut() else { break };
            if at[point] >= at[hump.peak] && !falling {
                hump.peak = point;
            } else if at[point] < at[point - 1] {
                falling = true;
                hump.to = point;
            } else if falling && at[point] > at[point - 1] {
                falling = false;
                let foot = hump.to;
                humps.push(Hump {
                    from: foot,
                    peak: point,
                    to: last,
                });
            }
        }
        if let Some(hump) = humps.last_mut() {
            hump.to = last;
        }
        humps
    }

    /// What lies between the feet of a hump, as a share of all.
    fn mass(&self, hump: &Hump) -> f64 {
        self.at[hump.from..hump.to].iter().sum::<f64>() * STEP
    }
}

fn place(nanos: u64) -> f64 {
    (approx(nanos) + CLOCK_NS).ln()
}

/// How clearly two neighbours are two: the lower peak against the valley, in standard errors; 0 where the valley is too
/// shallow to matter.
fn clearness(density: &Density, left: &Hump, right: &Hump, operations: f64) -> f64 {
    let valley = density.at[left.to];
    let lower = density.at[left.peak].min(density.at[right.peak]);
    if valley > VALLEY_MAX * lower {
        return 0.0;
    }
    // The variance of a Gaussian kernel's density is the density over twice the number of operations, the kernel's
    // deviation and the root of pi (Silverman, Density Estimation, 1986, 3.3).
    let effective = 2.0 * operations * WIDTH * std::f64::consts::PI.sqrt();
    (lower - valley) / ((lower + valley) / effective).sqrt()
}

/// Joins neighbours, the least clear first, until all are clear.
fn join_the_doubtful(humps: &mut Vec<Hump>, density: &Density, operations: f64) {
    loop {
        let least = humps
            .windows(2)
            .enumerate()
            .map(|(i, pair)| {
                (
                    i,
                    clearness(density, &pair[0], &pair[1], operations),
                    valley(density, &pair[0]),
                )
            })
            // Of those that are not clear at all the highest valley goes first: what it joins is most alike.
            .min_by(|a, b| a.1.total_cmp(&b.1).then(b.2.total_cmp(&a.2)));
        match least {
            Some((i, clear, _)) if clear < ERRORS_MIN => join(humps, density, i),
            _ => return,
        }
    }
}

fn valley(density: &Density, left: &Hump) -> f64 {
    density.at[left.to]
}

/// Joins the smallest hump to the neighbour behind the higher valley, until all are large enough.
fn join_the_small(humps: &mut Vec<Hump>, density: &Density) {
    while humps.len() > 1 {
        let smallest = humps
            .iter()
            .map(|hump| density.mass(hump))
            .enumerate()
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((i, _)) = smallest.filter(|(_, mass)| *mass < SHARE_MIN) else {
            return;
        };
        let left = i.checked_sub(1).map(|left| valley(density, &humps[left]));
        let right = (i + 1 < humps.len()).then(|| valley(density, &humps[i]));
        join(humps, density, if left >= right { i - 1 } else { i });
    }
}

/// Makes one hump of `left` and the next, with the higher of their peaks.
fn join(humps: &mut Vec<Hump>, density: &Density, left: usize) {
    let right = humps.remove(left + 1);
    let joined = &mut humps[left];
    if density.at[right.peak] > density.at[joined.peak] {
        joined.peak = right.peak;
    }
    joined.to = right.to;
}

fn modes(humps: &[Hump], density: &Density, pairs: &[(u64, u64)], operations: f64) -> Vec<Mode> {
    let mut rest = pairs;
    let mut found = Vec::with_capacity(humps.len());
    for (i, hump) in humps.iter().enumerate() {
        let last = i + 1 == humps.len();
        let below_ns = if last {
            f64::INFINITY
        } else {
            density.nanos(hump.to)
        };
        let (own, others) = rest.split_at(rest.partition_point(|pair| approx(pair.0) < below_ns));
        rest = others;
        let at = |q| latency::quantile(own, q).map_or(0.0, approx);
        found.push(Mode {
            share: approx(latency::operations(own)) / operations,
            peak_ns: density.nanos(hump.peak),
            lo_ns: at(0.1),
            hi_ns: at(0.9),
            below_ns,
        });
    }
    found
}

#[cfg(test)]
mod tests;
