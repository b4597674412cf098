//! Something that comes back at a fixed interval: a timer, a checkpoint, writeback, a collector of garbage.
//!
//! The test is Fisher's: the largest share of the periodogram held by one frequency (Proc. R. Soc. A 125 (1929)
//! 54-59). It assumes white noise, so that the dependence of each window on the one before is taken out first; without
//! that, noise alone is called periodic in 37 to 100 % of cases. Short pulses spread over harmonics, which is why the
//! lowest frequency of which the found one is a multiple is looked for afterwards.

use crate::{quantile, within};
use model::num::{count, round_to_usize};
use std::f64::consts::TAU;

/// The fewest windows: below, a handful of frequencies share all of the noise.
pub const WINDOWS_MIN: usize = 120;
/// The chance with which noise may be called periodic.
const ALPHA: f64 = 0.01;
/// How many times slower than the strongest frequency the true one is looked for.
const HARMONICS: u32 = 8;
/// The share of the strongest frequency's power that a slower one needs to be the true one.
const FUNDAMENTAL_SHARE: f64 = 0.35;
/// The most phases a period is folded into.
const PHASES_MAX: usize = 50;

/// A period found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Its length in windows.
    pub windows: f64,
    /// How far the slowest phase lies below the fastest, as a share of the median.
    pub depth: f64,
    /// The chance that noise shows a period at least as strong.
    pub p_value: f64,
}

/// The period of `series`, where it has one; `None` for fewer than [`WINDOWS_MIN`] windows too.
pub fn find(series: &[f64]) -> Option<Period> {
    if series.len() < WINDOWS_MIN {
        return None;
    }
    let median = quantile::median(series).filter(|&median| median > 0.0)?;
    let white = whitened(series)?;
    let n = count(white.len());
    let last = (white.len() - 1) / 2;
    let powers: Vec<f64> = (1..=last).map(|j| power(&white, count(j) / n)).collect();
    let total: f64 = powers.iter().sum();
    let (strongest, peak) = powers
        .iter()
        .copied()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|&(_, peak)| peak > 0.0)?;
    let p_value = fisher_p(peak / total, powers.len());
    if p_value >= ALPHA {
        return None;
    }
    let frequency = fundamental(
        &white,
        count(strongest + 1) / n,
        total / count(powers.len()),
    );
    Some(Period {
        windows: 1.0 / frequency,
        depth: depth(series, 1.0 / frequency)? / median,
        p_value,
    })
}

/// The series without its mean and without the dependence of each value on the one before.
fn whitened(series: &[f64]) -> Option<Vec<f64>> {
    let r = within::autocorrelation(series)?.clamp(-0.99, 0.99);
    let mean = quantile::mean(series)?;
    // The first value has none before it; scaled like this it has the variance of the others.
    let first = (series[0] - mean) * (1.0 - r * r).sqrt();
    let others = series
        .windows(2)
        .map(|pair| (pair[1] - mean) - r * (pair[0] - mean));
    let white: Vec<f64> = std::iter::once(first).chain(others).collect();
    let rest = quantile::mean(&white)?;
    Some(white.iter().map(|x| x - rest).collect())
}

/// The power at `frequency` in cycles per window.
fn power(series: &[f64], frequency: f64) -> f64 {
    let (mut re, mut im) = (0.0, 0.0);
    for (i, x) in series.iter().enumerate() {
        let (sin, cos) = (TAU * frequency * count(i)).sin_cos();
        re += x * cos;
        im += x * sin;
    }
    (re * re + im * im) / count(series.len())
}

/// The chance that the largest of `m` ordinates of white noise holds at least the share `g` of their sum.
fn fisher_p(g: f64, m: usize) -> f64 {
    let mut p = 0.0;
    let mut choose = 1.0;
    let mut sign = 1.0;
    for k in 1..=m {
        let rest = 1.0 - count(k) * g;
        if rest <= 0.0 {
            break;
        }
        choose *= count(m - k + 1) / count(k);
        let term = choose * rest.powf(count(m) - 1.0);
        p += sign * term;
        sign = -sign;
        // For shares far from significance the alternating terms outgrow what doubles hold; the answer is then 1.
        if term > 1e9 {
            return 1.0;
        }
    }
    p.clamp(0.0, 1.0)
}

/// The lowest frequency that `peak` is a multiple of and that holds a good part of its power, refined to a fraction of
/// the spacing of frequencies.
fn fundamental(white: &[f64], peak: f64, mean_power: f64) -> f64 {
    let spacing = 1.0 / count(white.len());
    let refined = |around: f64| {
        (-20..=20)
            .map(|i| around + f64::from(i) / 20.0 * 0.5 * spacing)
            .filter(|&frequency| frequency > spacing)
            .map(|frequency| (frequency, power(white, frequency)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or((around, 0.0))
    };
    let (mut best, peak_power) = refined(peak);
    let needed = (FUNDAMENTAL_SHARE * peak_power).max(-ALPHA.ln() * mean_power);
    let peak = best;
    for divisor in 2..=HARMONICS {
        let (frequency, power) = refined(peak / f64::from(divisor));
        if power >= needed {
            best = frequency;
        }
    }
    best
}

/// The difference between the fastest and the slowest phase of the series folded by `period` windows.
fn depth(series: &[f64], period: f64) -> Option<f64> {
    let phases = round_to_usize(period.floor()).clamp(2, PHASES_MAX);
    let mut folded = vec![Vec::new(); phases];
    for (i, &x) in series.iter().enumerate() {
        let turn = count(i) / period;
        let phase = round_to_usize(((turn - turn.floor()) * count(phases)).floor());
        folded[phase.min(phases - 1)].push(x);
    }
    let medians: Vec<f64> = folded
        .iter()
        .filter_map(|phase| quantile::median(phase))
        .collect();
    let sorted = quantile::sorted(&medians);
    Some(sorted.last()? - sorted.first()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    fn dependent(rng: &mut Rng, n: usize, phi: f64) -> Vec<f64> {
        let series = crate::fixture::dependent(rng, n, phi);
        series.iter().map(|x| 100.0 + x).collect()
    }

    fn percent(mut hit: impl FnMut() -> bool) -> f64 {
        count((0..300).filter(|_| hit()).count()) / 3.0
    }

    #[test]
    fn noise_is_not_periodic_even_where_it_depends_on_its_past() {
        let mut rng = Rng::new(31);
        for phi in [0.0, 0.5, 0.8] {
            let wrong = percent(|| find(&dependent(&mut rng, 120, phi)).is_some());
            assert!(wrong <= 2.0, "phi {phi}: {wrong} %");
        }
    }

    #[test]
    fn dips_and_waves_are_found_with_their_period() {
        let mut rng = Rng::new(37);
        let near = |series: &[f64], expect: f64, tolerance: f64| {
            find(series).is_some_and(|found| (found.windows - expect).abs() <= tolerance)
        };
        let dips = percent(|| {
            let mut series = dependent(&mut rng, 120, 0.0);
            series.iter_mut().step_by(10).for_each(|x| *x -= 5.0);
            near(&series, 10.0, 0.5)
        });
        assert!(dips >= 95.0, "dips: {dips} %");
        let waves = percent(|| {
            let series: Vec<f64> = (0_u32..)
                .zip(dependent(&mut rng, 120, 0.3))
                .map(|(i, x)| x + 2.0 * (TAU * f64::from(i) / 20.0).sin())
                .collect();
            near(&series, 20.0, 1.0)
        });
        assert!(waves >= 90.0, "waves: {waves} %");
    }

    #[test]
    fn the_depth_is_what_a_dip_costs() {
        let series: Vec<f64> = (0..200)
            .map(|i| if i % 10 == 0 { 50.0 } else { 100.0 } + count(i % 3) / 10.0)
            .collect();
        let found = find(&series).unwrap();
        assert!((found.windows - 10.0).abs() < 0.2, "{found:?}");
        assert!((found.depth - 0.5).abs() < 0.02, "{found:?}");
        assert!(found.p_value < 1e-6);
    }

    #[test]
    fn fishers_chance_is_exact() {
        // Fisher 1929, table: for 5 ordinates the share exceeded in 5 % of cases is 0.68377, for 50 it is 0.13135.
        assert!((fisher_p(0.683_77, 5) - 0.05).abs() < 1e-4);
        assert!((fisher_p(0.131_35, 50) - 0.05).abs() < 1e-3);
        assert!((fisher_p(0.2, 5) - 1.0).abs() < 1e-9);
        assert_eq!(find(&[1.0; 119]), None);
        assert_eq!(find(&[1.0; 150]), None);
    }
}
