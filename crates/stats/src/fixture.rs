//! Small runs for tests.

use model::plan::{CaseId, PlannedCase, PlannedMetric};
use model::record::{CopyRecord, Measured, Outcome, Round, Run};
use model::rng::Rng;
use model::spec::{Better, MetricClass};
use model::units::{Nanos, Unit};

/// The metric of every case made here, unless a test adds to it.
pub(crate) const QUANTITY: &str = "ops_per_s";

pub(crate) fn metric(
    quantity: &str,
    unit: Unit,
    better: Better,
    class: MetricClass,
) -> PlannedMetric {
    PlannedMetric {
        class,
        ..testkit::metric(quantity, unit, better)
    }
}

/// A case of a workload that is named like its test, with one rate of class `System` (margin 5 %).
pub(crate) fn case(id: &str) -> PlannedCase {
    testkit::case(id, vec![testkit::ops_per_s()])
}

pub(crate) fn done(case: &CaseId, pass: u32, values: &[(&str, f64)]) -> Round {
    let value = values.first().map_or(1.0, |&(_, value)| value);
    let shares = [1.0, 1.1, 0.8, 1.0, 1.0];
    let measured = Measured {
        windows: shares.map(|share| share * value).to_vec(),
        copies: vec![CopyRecord {
            work: 1e6,
            wall: Nanos::from_millis(500),
            ..CopyRecord::of_operations(1_000_000)
        }],
        ..testkit::measured(values)
    };
    testkit::round(case, pass, Outcome::Done(measured))
}

/// A run with the given cases; pass `i` holds the `i`-th value of each.
pub(crate) fn run(series: &[(&str, Vec<f64>)]) -> Run {
    let cases: Vec<PlannedCase> = series.iter().map(|(id, _)| case(id)).collect();
    let mut rounds = Vec::new();
    for ((_, values), case) in series.iter().zip(&cases) {
        for (pass, &value) in (1..).zip(values) {
            rounds.push(done(&case.id, pass, &[(QUANTITY, value)]));
        }
    }
    rounds.sort_by_key(|round| round.pass);
    let mut run = testkit::run(cases);
    run.plan.passes = Some(6);
    Run { rounds, ..run }
}

/// `n` rounds around `level` with log-normal scatter.
pub(crate) fn noisy(seed: u64, n: usize, level: f64, deviation: f64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..n)
        .map(|_| level * (deviation * rng.normal()).exp())
        .collect()
}

/// An AR(1) series of mean 0 and standard deviation 1 in which neighbours are correlated by `phi`.
pub(crate) fn dependent(rng: &mut Rng, n: usize, phi: f64) -> Vec<f64> {
    let mut x = rng.normal();
    (0..n)
        .map(|_| {
            x = phi * x + (1.0 - phi * phi).sqrt() * rng.normal();
            x
        })
        .collect()
}

/// Kinds of noise that servers have.
pub(crate) mod noises {
    use model::rng::Rng;

    /// One server's noise: the logarithm of a round around its level.
    pub(crate) type Noise = fn(&mut Rng) -> f64;

    pub(crate) const SD_05: Noise = |rng| 0.005 * rng.normal();
    pub(crate) const SD_1: Noise = |rng| 0.01 * rng.normal();
    pub(crate) const SD_2: Noise = |rng| 0.02 * rng.normal();
    pub(crate) const SD_4: Noise = |rng| 0.04 * rng.normal();
    /// Normal with 1 %, and in 15 % of the rounds slower by 10 % on average.
    pub(crate) const OUTLIERS: Noise = |rng| {
        let stall = if rng.unit() < 0.15 {
            0.1 * rng.exponential()
        } else {
            0.0
        };
        0.01 * rng.normal() - stall
    };
    /// Two levels, 60 to 40, six standard deviations of 1 % apart.
    pub(crate) const BIMODAL: Noise = |rng| {
        let level = if rng.unit() < 0.4 { -0.06 } else { 0.0 };
        0.01 * rng.normal() + level
    };
    /// Student's t with three degrees of freedom, scaled to 1 %.
    pub(crate) const HEAVY: Noise = |rng| {
        let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
        0.01 * rng.normal() / (squares / 3.0).sqrt()
    };

    /// The same noise on both sides seven times, and a quiet server beside a noisy one.
    pub(crate) const PAIRS: [(&str, Noise, Noise); 8] = [
        ("0.5 %", SD_05, SD_05),
        ("1 %", SD_1, SD_1),
        ("2 %", SD_2, SD_2),
        ("4 %", SD_4, SD_4),
        ("stalled rounds", OUTLIERS, OUTLIERS),
        ("two levels", BIMODAL, BIMODAL),
        ("heavy tails", HEAVY, HEAVY),
        ("0.5 % and 4 %", SD_05, SD_4),
    ];
}
