//! Cache levels out of a curve of latency over working-set size.
//!
//! A virtual machine often hides its caches or shows sizes that are not those of the host, so what a program obtains
//! is read off its own measurements. A level shows as a stretch of sizes over which the latency hardly changes; between
//! two of them it climbs. Noise is taken out in two steps that keep the shape: a running median of three, which removes
//! single spikes, and the nearest curve that never falls (pool adjacent violators), because a larger working set cannot
//! be faster.
//!
//! The size of a level is taken from the climb behind it: where a share m of the accesses misses, the latency is
//! (1 - m) t1 + m t2, and of a working set of S bytes in random order the cache holds (1 - m) S, which is its size. It
//! comes out up to a quarter too small, because a flat stretch still has some hits of the level before in it.
//!
//! The same law tells what a curve tends to that ends before it is flat again: four times the size of a cache a
//! quarter of the accesses still hit. Where most of them miss by then and the points lie on the law, its end is the
//! last level.
//!
//! It names no level that spans less than an octave, and none that differs by less than a third from the one before:
//! translation buffers make steps of that kind.

use crate::quantile::median;
use model::num::{approx, round_to_u64};

/// One level of the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// `L1`, `L2`, ... as seen from the core; `memory` for the last one, where the curve ends flat or in sight of it.
    pub name: String,
    /// The latency of an access, in nanoseconds: the median over the flat stretch, or what the last climb tends to.
    pub ns: f64,
    /// How much it holds, in bytes; `None` for memory, and where the curve ends within the level.
    pub bytes: Option<u64>,
}

/// Climbing by less than this per doubling of the size is flat: a quarter. Translation buffers make the latency of a
/// large cache grow by a tenth per doubling with pages of 4 KiB; the climb from one level to the next is steeper than
/// a third.
const FLAT_PER_OCTAVE: f64 = 1.25;

/// The smallest ratio of two neighbouring levels.
const STEP_MIN: f64 = 1.33;

/// The smallest span of a level: an octave.
const SPAN_MIN: f64 = 2.0;

/// Shares of misses between which a point of a climb tells the size: nearer to the ends noise decides.
const CLIMB: std::ops::Range<f64> = 0.15..0.85;

/// The share of misses at the end of a curve from which its last climb tells what it tends to: it has been followed to
/// two and a half times the size of the cache, and four times is what sweeps go to.
const TOLD_FROM: f64 = 0.6;

/// A stretch at the end that spans less may be the top of that climb: two octaves, over which a flat one is long.
const SURELY_FLAT: f64 = 3.9;

/// How far a point of that climb may be from the law.
const OFF_LAW_MAX: f64 = 0.1;

/// Points that a law of two unknowns needs to be contradicted.
const POINTS_MIN: usize = 3;

/// The levels that `curve` shows, from the core outwards. The curve is pairs of working-set size in bytes and latency
/// in nanoseconds, ascending by size; pairs without a positive latency are left out. Empty where nothing is flat.
pub fn levels(curve: &[(u64, f64)]) -> Vec<Level> {
    let points: Vec<(f64, f64)> = curve
        .iter()
        .filter(|(bytes, ns)| *bytes > 0 && ns.is_finite() && *ns > 0.0)
        .map(|&(bytes, ns)| (approx(bytes), ns))
        .collect();
    let smooth = never_falling(&median_of_three(&points));
    let (flats, end) = end(&points, flats(&points, &smooth));
    let mut levels = Vec::new();
    for (index, flat) in flats.iter().enumerate() {
        let next = flats.get(index + 1);
        let end = end.filter(|_| next.is_none());
        let told = match end {
            Some(End::Tends { bytes, ns }) => Some((bytes, ns)),
            _ => None,
        };
        let name = match end {
            Some(End::Flat) => "memory".to_owned(),
            _ => format!("L{}", index + 1),
        };
        levels.push(Level {
            name,
            ns: flat.ns,
            bytes: next
                .map(|next| size(&points, flat, next))
                .or(told.map(|(bytes, _)| bytes))
                .map(round_to_u64),
        });
        levels.extend(told.map(|(_, ns)| Level {
            name: "memory".to_owned(),
            ns,
            bytes: None,
        }));
    }
    levels
}

/// How a curve ends, where it does not end in the middle of a climb.
#[derive(Clone, Copy, Debug)]
enum End {
    /// On its last flat stretch.
    Flat,
    /// In a climb that tells how much the last cache holds, and the latency behind it.
    Tends { bytes: f64, ns: f64 },
}

/// The flat stretches, and how the curve ends behind them. A flat stretch at the end that is short may be the top of
/// the climb, flattened by noise: where the climb is on the law, it is none.
fn end(points: &[(f64, f64)], mut flats: Vec<Flat>) -> (Vec<Flat>, Option<End>) {
    let last = points.len().saturating_sub(1);
    let tends = |flat: &Flat| {
        let (bytes, ns) = tends_to(points, flat)?;
        Some(End::Tends { bytes, ns })
    };
    // One point of noise at the end is no climb.
    let found = match flats.as_slice() {
        [.., before, flat] if flat.to + 1 >= last => {
            let short = points[flat.to].0 < points[flat.from].0 * SURELY_FLAT;
            let end = tends(before).filter(|_| short);
            Some(end.unwrap_or(End::Flat))
        }
        [.., flat] => tends(flat),
        [] => None,
    };
    if let (Some(End::Tends { .. }), [.., flat]) = (found, flats.as_slice())
        && flat.to + 1 >= last
    {
        flats.pop();
    }
    (flats, found)
}

/// Where the climb behind the last flat stretch leads: the size of the cache and the latency behind it. With misses of
/// 1 - C / S the latency of S bytes is t2 - (t2 - t1) C / S, a straight line over 1 / S. `None` where the curve ends
/// too early, or is no such line.
fn tends_to(points: &[(f64, f64)], flat: &Flat) -> Option<(f64, f64)> {
    let climb = &points[flat.to + 1..];
    let end = climb.last().filter(|_| climb.len() >= POINTS_MIN)?.0;
    let n = model::num::count(climb.len());
    let mean = |of: fn(&(f64, f64)) -> f64| climb.iter().map(of).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(|point| 1.0 / point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        let apart = climb.iter().map(|(x, y)| (1.0 / x - mean_x, y - mean_y));
        apart.map(|(x, y)| of(x, y)).sum()
    };
    let slope = sum(&|x, y| x * y) / sum(&|x, _| x * x);
    let ns = mean_y - slope * mean_x;
    let bytes = -slope / (ns - flat.ns);
    let on_the_law = climb
        .iter()
        .all(|(x, y)| (y / (ns + slope / x) - 1.0).abs() <= OFF_LAW_MAX);
    let told = ns > flat.ns * STEP_MIN && bytes > 0.0 && 1.0 - bytes / end >= TOLD_FROM;
    (told && on_the_law).then_some((bytes, ns))
}

/// A flat stretch: indexes of its first and last point, and its latency.
#[derive(Clone, Copy, Debug)]
struct Flat {
    from: usize,
    to: usize,
    ns: f64,
}

fn flats(points: &[(f64, f64)], smooth: &[f64]) -> Vec<Flat> {
    let mut found: Vec<Flat> = Vec::new();
    let mut from = 0;
    for at in 1..=points.len() {
        let flat = points.get(at).is_some_and(|point| {
            let octaves = (point.0 / points[at - 1].0).log2();
            (smooth[at] / smooth[at - 1]).ln() < octaves * FLAT_PER_OCTAVE.ln()
        });
        if flat {
            continue;
        }
        let to = at - 1;
        if points
            .get(from)
            .is_some_and(|first| points[to].0 >= first.0 * SPAN_MIN)
        {
            add(&mut found, points, from, to);
        }
        from = at;
    }
    found
}

/// Adds a flat stretch, or joins it with the one before where both are the same level.
fn add(found: &mut Vec<Flat>, points: &[(f64, f64)], from: usize, to: usize) {
    let ns = |from: usize, to: usize| {
        let latencies: Vec<f64> = points[from..=to].iter().map(|point| point.1).collect();
        median(&latencies).unwrap_or(points[from].1)
    };
    let own = ns(from, to);
    match found.last_mut() {
        Some(before) if own < before.ns * STEP_MIN => {
            before.to = to;
            before.ns = ns(before.from, to);
        }
        _ => found.push(Flat { from, to, ns: own }),
    }
}

/// How much the level `flat` holds: the median of what the points of the climb behind it tell, or the last flat point
/// where the climb has none.
fn size(points: &[(f64, f64)], flat: &Flat, next: &Flat) -> f64 {
    let told: Vec<f64> = points[flat.to..next.to]
        .iter()
        .filter_map(|&(bytes, ns)| {
            let missed = (ns - flat.ns) / (next.ns - flat.ns);
            CLIMB.contains(&missed).then_some(bytes * (1.0 - missed))
        })
        .collect();
    median(&told).unwrap_or(points[flat.to].0)
}

fn median_of_three(points: &[(f64, f64)]) -> Vec<f64> {
    (0..points.len())
        .map(|at| {
            let around = &points[at.saturating_sub(1)..(at + 2).min(points.len())];
            let latencies: Vec<f64> = around.iter().map(|point| point.1).collect();
            // The ends have one neighbour only and stay as they are.
            median(&latencies)
                .filter(|_| around.len() == 3)
                .unwrap_or(points[at].1)
        })
        .collect()
}

/// The nearest sequence that never falls, on logarithms. Source: Ayer et al., Annals of Mathematical Statistics 26
/// (1955) 641.
fn never_falling(values: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut block = (value.ln(), 1);
        while let Some(&(before, count)) = blocks.last() {
            if before <= block.0 {
                break;
            }
            let all = count + block.1;
            let sum = before * model::num::count(count) + block.0 * model::num::count(block.1);
            block = (sum / model::num::count(all), all);
            blocks.pop();
        }
        blocks.push(block);
    }
    let values = blocks.into_iter();
    values
        .flat_map(|(value, count)| std::iter::repeat_n(value.exp(), count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    const KIB: f64 = 1024.0;

    /// A machine: sizes in KiB and latencies of its caches, and the latency of its memory.
    struct Machine {
        caches: &'static [(f64, f64)],
        memory_ns: f64,
    }

    impl Machine {
        /// What a random chain over `bytes` takes: each cache holds its share.
        fn ns(&self, bytes: f64) -> f64 {
            let mut left = 1.0;
            let mut sum = 0.0;
            for (kib, ns) in self.caches {
                let held = (kib * KIB / bytes).min(1.0);
                let here = (held - (1.0 - left)).max(0.0);
                sum += here * ns;
                left -= here;
            }
            sum + left * self.memory_ns
        }

        fn curve(&self, max_kib: f64, noise: f64, seed: u64) -> Vec<(u64, f64)> {
            let mut rng = Rng::new(seed);
            let mut curve = Vec::new();
            let mut bytes = 4.0 * KIB;
            while bytes <= max_kib * KIB {
                let factor = (rng.normal() * noise).exp();
                curve.push((round_to_u64(bytes), self.ns(bytes) * factor));
                bytes *= std::f64::consts::SQRT_2;
            }
            curve
        }
    }

    const SERVER: Machine = Machine {
        caches: &[(48.0, 2.0), (2048.0, 6.0), (107_520.0, 28.0)],
        memory_ns: 110.0,
    };
    const TWO_LEVELS: Machine = Machine {
        caches: &[(64.0, 1.4), (1024.0, 5.0)],
        memory_ns: 95.0,
    };

    fn check(machine: &Machine, max_kib: f64, noise: f64, tolerance: f64) {
        for seed in 0..20 {
            let levels = levels(&machine.curve(max_kib, noise, seed));
            let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
            let mut expected: Vec<String> = (1..=machine.caches.len())
                .map(|level| format!("L{level}"))
                .collect();
            expected.push("memory".to_owned());
            assert_eq!(names, expected, "seed {seed}: {levels:?}");
            for (level, (kib, ns)) in levels.iter().zip(machine.caches) {
                assert!((level.ns / ns - 1.0).abs() < 0.25, "seed {seed}: {level:?}");
                let ratio = approx(level.bytes.unwrap()) / (kib * KIB);
                assert!(
                    (ratio - 1.0).abs() < tolerance,
                    "seed {seed}: {level:?} {ratio}"
                );
            }
            let last = levels.last().unwrap();
            assert_eq!(last.bytes, None);
            assert!(
                (last.ns / machine.memory_ns - 1.0).abs() < 0.2,
                "seed {seed}: {last:?}"
            );
        }
    }

    #[test]
    fn levels_and_sizes_of_known_machines_are_found() {
        check(&SERVER, 1_720_320.0, 0.0, 0.25);
        check(&TWO_LEVELS, 65_536.0, 0.0, 0.25);
    }

    #[test]
    fn noise_moves_sizes_a_little_and_levels_not_at_all() {
        check(&SERVER, 1_720_320.0, 0.03, 0.4);
        check(&TWO_LEVELS, 65_536.0, 0.03, 0.4);
    }

    #[test]
    fn a_curve_to_four_times_the_last_cache_tells_what_it_tends_to() {
        for (machine, max_kib) in [(&SERVER, 524_288.0), (&TWO_LEVELS, 4096.0)] {
            check(machine, max_kib, 0.0, 0.25);
            check(machine, max_kib, 0.02, 0.4);
            let last = machine.caches.len() - 1;
            for seed in 0..20 {
                let levels = levels(&machine.curve(max_kib, 0.02, seed));
                let ratio = approx(levels[last].bytes.unwrap()) / (machine.caches[last].0 * KIB);
                assert!((ratio - 1.0).abs() < 0.1, "seed {seed}: {levels:?}");
            }
        }
    }

    #[test]
    fn a_climb_that_is_no_law_of_misses_tells_nothing() {
        // Climbing ever faster, as a machine does that somebody else begins to use.
        let mut curve = SERVER.curve(524_288.0, 0.0, 1);
        let from = curve.len() - 5;
        for (times, point) in (1..).zip(&mut curve[from..]) {
            point.1 = 30.0 * 1.6_f64.powi(times);
        }
        let names: Vec<String> = levels(&curve).into_iter().map(|level| level.name).collect();
        assert_eq!(names, ["L1", "L2", "L3"]);
    }

    #[test]
    fn a_spike_is_no_level() {
        let mut curve = SERVER.curve(1_720_320.0, 0.0, 1);
        curve[3].1 *= 6.0;
        curve[12].1 *= 4.0;
        assert_eq!(levels(&curve).len(), 4);
    }

    #[test]
    fn a_curve_that_ends_in_a_climb_has_no_memory() {
        let levels = levels(&SERVER.curve(200_000.0, 0.0, 1));
        let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        assert_eq!(names, ["L1", "L2", "L3"]);
        assert_eq!(levels[2].bytes, None, "where it ends is not seen");
    }

    #[test]
    fn curves_without_levels_are_told_as_they_are() {
        let check = |curve: &[(u64, f64)], expected: usize| {
            assert_eq!(levels(curve).len(), expected, "{curve:?}");
        };
        check(&[], 0);
        check(&[(4096, 1.0)], 0);
        check(&[(4096, 1.0), (8192, 1.0)], 1);
        check(&[(4096, f64::NAN), (8192, 0.0)], 0);
        check(&[(4096, 1.0), (8192, 2.0), (16384, 4.0)], 0);
    }
}
