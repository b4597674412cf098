//! Which block comes next where some are more popular than others.
//!
//! Zipf's law is drawn by rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6 (1996) 169), exact for every
//! exponent, without tables and in constant time. Pareto's is the self-similar law of Gray et al. ("Quickly generating
//! billion-record synthetic databases", SIGMOD 1994): a share h of the blocks gets a share 1 - h of the operations.
//! Ranks become blocks by a permutation, so that popular blocks are no neighbours and the law stays exact; a hash, as
//! other programs use, would give some blocks several ranks and others none.

use crate::storage::offsets::Scatter;
use crate::storage::records::place;
use model::job::Distribution;
use model::num::{approx, round_to_u64};
use model::rng::Rng;
use sys::io::Kind;

/// Draws numbers of blocks from 0 to `count` - 1.
#[derive(Clone, Debug)]
pub(super) struct Popular {
    rng: Rng,
    count: u64,
    law: Law,
    place: Spot,
}

/// Draws numbers of files. The law holds over 1024 ranks to each file, as fio's does by what it draws: the first 1024
/// are the most popular file's, the next ones those of the file behind it.
#[derive(Clone, Debug)]
pub(super) struct PopularFile(Popular);

/// Ranks of one file.
const RANKS: u64 = 1024;

impl PopularFile {
    /// `None` for the distribution that prefers nothing. Where nothing says which file is the most popular one, it is
    /// drawn.
    pub(super) fn new(what: &Distribution, files: u32, seed: u64) -> Option<Self> {
        let files = u64::from(files.max(1));
        let mut what = what.clone();
        if let Distribution::Zipf { center, .. } | Distribution::Pareto { center, .. } = &mut what {
            let drawn = Rng::stream(seed, 37).below(files) * RANKS;
            // Half a rank behind its first one: no rounding makes it that of the file before.
            center.get_or_insert((approx(drawn) + 0.5) / approx(files * RANKS));
        }
        Popular::new(&what, files * RANKS, 1, seed).map(Self)
    }

    /// The number of the next file.
    pub(super) fn next(&mut self) -> u32 {
        u32::try_from(self.0.next(Kind::Read) / RANKS).unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
enum Law {
    Zipf(Zipf),
    /// The exponent of a uniform number.
    Pareto(f64),
    /// Mean and standard deviation, in blocks.
    Normal(f64, f64),
    /// The end of each zone's part of 2^32 for each kind, its first block and its length.
    Zones([Vec<Zone>; 3]),
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    end: u64,
    first: u64,
    count: u64,
}

/// Where the block of a rank lies.
#[derive(Clone, Debug)]
enum Spot {
    Same,
    Scattered(Scatter),
    From(u64),
}

impl Popular {
    /// `None` for the distribution that prefers nothing. Blocks begin at multiples of `grain` bytes.
    pub(super) fn new(what: &Distribution, count: u64, grain: u64, seed: u64) -> Option<Self> {
        let count = count.max(1);
        let (law, center) = match what {
            Distribution::Uniform => return None,
            Distribution::Zipf { theta, center } => {
                (Law::Zipf(Zipf::new(count, *theta)), Some(*center))
            }
            Distribution::Pareto { power, center } => {
                let exponent = power.ln() / (1.0 - power).ln();
                (Law::Pareto(exponent), Some(*center))
            }
            Distribution::Normal { deviation_percent } => {
                let middle = approx(count - 1) / 2.0;
                (
                    Law::Normal(middle, approx(count) * deviation_percent / 100.0),
                    None,
                )
            }
            Distribution::Zoned(zones) => {
                let zones = [&zones.read, &zones.write, &zones.trim].map(|zones| {
                    let parts = zones
                        .iter()
                        .map(|&(ops, share)| (ops, approx(count) * f64::from(share) / 100.0));
                    cut(parts, count)
                });
                (Law::Zones(zones), None)
            }
            Distribution::ZonedAbsolute(zones) => {
                let zones = [&zones.read, &zones.write, &zones.trim].map(|zones| {
                    let parts = zones
                        .iter()
                        .map(|&(ops, bytes)| (ops, approx(bytes) / approx(grain)));
                    cut(parts, count)
                });
                (Law::Zones(zones), None)
            }
        };
        let place = match center {
            None => Spot::Same,
            Some(None) => Spot::Scattered(Scatter::new(count, seed)),
            Some(Some(center)) => {
                Spot::From(round_to_u64((approx(count) * center).floor()).min(count - 1))
            }
        };
        Some(Self {
            rng: Rng::stream(seed, 19),
            count,
            law,
            place,
        })
    }

    /// The next block's number, for an operation of this kind.
    pub(super) fn next(&mut self, kind: Kind) -> u64 {
        let (rng, last) = (&mut self.rng, self.count - 1);
        let rank = match &self.law {
            Law::Zipf(zipf) => zipf.draw(rng),
            Law::Pareto(exponent) => floor(approx(self.count) * rng.unit().powf(*exponent)),
            Law::Normal(mean, deviation) => loop {
                let drawn = (mean + deviation * rng.normal()).round();
                if (0.0..=approx(last)).contains(&drawn) {
                    break round_to_u64(drawn);
                }
            },
            Law::Zones(zones) => {
                let zones = &zones[place(kind).min(2)];
                let drawn = rng.next() >> 32;
                match zones.iter().find(|zone| drawn < zone.end).or(zones.last()) {
                    Some(zone) => zone.first + rng.below(zone.count),
                    None => rng.below(self.count),
                }
            }
        };
        let rank = rank.min(last);
        match &self.place {
            Spot::Same => rank,
            Spot::Scattered(scatter) => scatter.of(rank),
            Spot::From(first) => (first + rank) % self.count,
        }
    }
}

fn floor(x: f64) -> u64 {
    round_to_u64(x.floor())
}

/// Zones with their share of operations in per cent and their length in blocks, one behind the other.
fn cut(parts: impl Iterator<Item = (u8, f64)>, count: u64) -> Vec<Zone> {
    let (mut ops, mut at) = (0.0, 0.0);
    parts
        .map(|(percent, blocks)| {
            let first = round_to_u64(at).min(count - 1);
            at += blocks;
            ops += f64::from(percent);
            Zone {
                end: round_to_u64(ops / 100.0 * approx(1 << 32)),
                first,
                count: round_to_u64(at).min(count).saturating_sub(first).max(1),
            }
        })
        .collect()
}

/// Zipf's law over 1 to `count`, in the notation of the source.
#[derive(Clone, Debug)]
struct Zipf {
    count: f64,
    theta: f64,
    /// H(1.5) - h(1) and H(count + 0.5).
    ends: (f64, f64),
    accept: f64,
}

impl Zipf {
    fn new(count: u64, theta: f64) -> Self {
        let mut zipf = Self {
            count: approx(count),
            theta,
            ends: (0.0, 0.0),
            accept: 0.0,
        };
        zipf.ends = (zipf.sum(1.5) - 1.0, zipf.sum(zipf.count + 0.5));
        zipf.accept = 2.0 - zipf.unsum(zipf.sum(2.5) - zipf.weight(2.0));
        zipf
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of the weight from 1 to x.
    fn sum(&self, x: f64) -> f64 {
        let log = x.ln();
        let y = (1.0 - self.theta) * log;
        // (e^y - 1) / y is 1 at 0, where the exponent is 1.
        if y.abs() < 1e-12 {
            log
        } else {
            y.exp_m1() / y * log
        }
    }

    /// The other way round.
    fn unsum(&self, sum: f64) -> f64 {
        let y = (sum * (1.0 - self.theta)).max(-1.0);
        if y.abs() < 1e-12 {
            sum.exp()
        } else {
            (y.ln_1p() / y * sum).exp()
        }
    }

    /// A rank from 0 on.
    fn draw(&self, rng: &mut Rng) -> u64 {
        let (low, high) = self.ends;
        loop {
            let drawn = high + rng.unit() * (low - high);
            let x = self.unsum(drawn);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.accept || drawn >= self.sum(rank + 0.5) - self.weight(rank) {
                return round_to_u64(rank) - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::Directions;

    fn counts(what: &Distribution, count: u64, draws: u64, kind: Kind) -> Vec<f64> {
        what.check().unwrap();
        let mut popular = Popular::new(what, count, 4096, 5).unwrap();
        let mut seen = vec![0.0; usize::try_from(count).unwrap()];
        for _ in 0..draws {
            seen[usize::try_from(popular.next(kind)).unwrap()] += 1.0;
        }
        seen
    }

    /// Chi-square of counts against probabilities, and the value that 1 in 10,000 exceeds (Wilson and Hilferty).
    fn assert_fits(seen: &[f64], probabilities: &[f64], case: &str) {
        let draws: f64 = seen.iter().sum();
        let pairs = seen.iter().zip(probabilities);
        let chi: f64 = pairs
            .map(|(n, p)| (n - draws * p).powi(2) / (draws * p))
            .sum();
        let degrees = model::num::count(seen.len()) - 1.0;
        let spread = 2.0 / (9.0 * degrees);
        let limit = degrees * (1.0 - spread + 3.72 * spread.sqrt()).powi(3);
        assert!(chi < limit, "{case}: {chi} of {limit}");
    }

    #[test]
    fn zipf_fits_its_law_for_exponents_below_at_and_above_one() {
        for theta in [0.5, 0.99, 1.0, 1.2, 2.5] {
            let weights: Vec<f64> = (1..=50_u32).map(|k| f64::from(k).powf(-theta)).collect();
            let all: f64 = weights.iter().sum();
            let law: Vec<f64> = weights.iter().map(|w| w / all).collect();
            let centered = Distribution::Zipf {
                theta,
                center: Some(0.0),
            };
            assert_fits(
                &counts(&centered, 50, 500_000, Kind::Read),
                &law,
                &format!("{theta}"),
            );
            // Scattered, the same shares belong to other blocks.
            let scattered = Distribution::Zipf {
                theta,
                center: None,
            };
            let mut seen = counts(&scattered, 50, 500_000, Kind::Read);
            assert!(
                seen[0] < seen.iter().copied().fold(0.0, f64::max),
                "block 0 is not the first"
            );
            seen.sort_by(|a, b| b.total_cmp(a));
            assert!((seen[0] / 500_000.0 - law[0]).abs() < 0.005, "{theta}");
        }
    }

    #[test]
    fn pareto_gives_a_share_of_the_blocks_the_rest_of_the_operations() {
        for power in [0.1, 0.2, 0.4_f64] {
            let what = Distribution::Pareto {
                power,
                center: Some(0.0),
            };
            let seen = counts(&what, 100, 400_000, Kind::Read);
            // The closed form: x of the blocks have x^(ln(1-h)/ln h) of the operations.
            let shape = (1.0 - power).ln() / power.ln();
            let below: Vec<f64> = (0..=100)
                .map(|k| (f64::from(k) / 100.0).powf(shape))
                .collect();
            let law: Vec<f64> = below.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert_fits(&seen, &law, &format!("{power}"));
            let first = model::num::round_to_usize(power * 100.0);
            let share = seen[..first].iter().sum::<f64>() / 400_000.0;
            assert!((share - (1.0 - power)).abs() < 0.005, "{power}: {share}");
        }
    }

    #[test]
    fn normal_has_its_mean_and_deviation_and_stays_inside() {
        let what = Distribution::Normal {
            deviation_percent: 10.0,
        };
        let seen = counts(&what, 1000, 200_000, Kind::Read);
        let at = |k: usize| model::num::count(k);
        let mean = seen.iter().enumerate().map(|(k, n)| at(k) * n).sum::<f64>() / 200_000.0;
        let squares: f64 = seen
            .iter()
            .enumerate()
            .map(|(k, n)| (at(k) - mean).powi(2) * n)
            .sum();
        let deviation = (squares / 200_000.0).sqrt();
        assert!((mean - 499.5).abs() < 1.2, "{mean}");
        assert!((deviation - 100.0).abs() < 0.8, "{deviation}");
    }

    #[test]
    fn the_first_files_ranks_come_before_the_next_ones() {
        let theta = 1.2;
        let law = |file: u64| -> f64 {
            let ranks = file * RANKS + 1..=(file + 1) * RANKS;
            ranks.map(|rank| approx(rank).powf(-theta)).sum()
        };
        let all: f64 = (0..10).map(law).sum();
        for (center, first) in [(Some(0.1), Some(1)), (None, None)] {
            let what = Distribution::Zipf { theta, center };
            let mut drawn = PopularFile::new(&what, 10, 5).unwrap();
            let mut seen = vec![0.0; 10];
            for _ in 0..200_000 {
                seen[usize::try_from(drawn.next()).unwrap()] += 1.0;
            }
            let most = (0..10).max_by(|&a, &b| f64::total_cmp(&seen[a], &seen[b]));
            let most = most.unwrap();
            assert!(first.is_none_or(|first| first == most), "{seen:?}");
            seen.rotate_left(most);
            let law: Vec<f64> = (0..10).map(|file| law(file) / all).collect();
            assert_fits(&seen, &law, &format!("{center:?}"));
            // fio 3.33 did 920 of 1000 operations on it.
            assert!((law[0] - 0.904).abs() < 0.001, "{law:?}");
        }
        assert!(PopularFile::new(&Distribution::Uniform, 10, 5).is_none());
    }

    #[test]
    fn zones_get_their_shares_and_are_uniform_inside() {
        let zones = Directions {
            read: vec![(60, 10), (30, 20), (8, 30), (2, 40)],
            write: vec![(100, 100)],
            trim: Vec::new(),
        };
        let what = Distribution::Zoned(zones);
        let law: Vec<f64> = [(0.6, 10), (0.3, 20), (0.08, 30), (0.02, 40)]
            .into_iter()
            .flat_map(|(share, blocks)| {
                vec![share / f64::from(blocks); usize::try_from(blocks).unwrap()]
            })
            .collect();
        assert_fits(&counts(&what, 100, 500_000, Kind::Read), &law, "read");
        assert_fits(
            &counts(&what, 100, 500_000, Kind::Write),
            &[0.01; 100],
            "write",
        );
        assert_fits(
            &counts(&what, 100, 500_000, Kind::Trim),
            &[0.01; 100],
            "trim",
        );
        let absolute =
            Distribution::ZonedAbsolute(Directions::all(vec![(75, 4096 * 10), (25, 4096 * 90)]));
        let law: Vec<f64> = [(0.75, 10), (0.25, 90)]
            .into_iter()
            .flat_map(|(share, blocks)| {
                vec![share / f64::from(blocks); usize::try_from(blocks).unwrap()]
            })
            .collect();
        assert_fits(
            &counts(&absolute, 100, 500_000, Kind::Read),
            &law,
            "absolute",
        );
    }
}
