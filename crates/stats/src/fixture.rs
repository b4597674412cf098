//! Small runs for tests.

use model::host::HostFacts;
use model::noise::Noise;
use model::params::Params;
use model::plan::{CaseId, Plan, PlannedCase, PlannedMetric, Shape};
use model::record::{Binary, CopyRecord, End, Measured, Outcome, Round, Run, RunMeta};
use model::rng::Rng;
use model::spec::{Amount, Better, How, MetricClass, Nature, Role, Time};
use model::units::{Nanos, Unit, UnixNanos};
use std::collections::BTreeMap;

/// The metric of every case made here, unless a test adds to it.
pub(crate) const QUANTITY: &str = "ops_per_s";

pub(crate) fn metric(
    quantity: &str,
    unit: Unit,
    better: Better,
    class: MetricClass,
) -> PlannedMetric {
    PlannedMetric {
        quantity: quantity.to_owned(),
        unit,
        better,
        class,
        how: How::Per(Amount::Operations, Time::Wall),
        role: Role::Plain,
    }
}

/// A case of a workload that is named like its test, with one rate of class `System` (margin 5 %).
pub(crate) fn case(id: &str) -> PlannedCase {
    let id: CaseId = id.parse().unwrap();
    PlannedCase {
        title: format!("title of {}", id.test),
        workload: id.test.clone(),
        workload_version: 1,
        params: Params::default(),
        metrics: vec![metric(
            QUANTITY,
            Unit::OpsPerSecond,
            Better::Higher,
            MetricClass::System,
        )],
        nature: Nature::System,
        pictures: Vec::new(),
        headline: None,
        load: None,
        shape: Shape::DEFAULT,
        simulated: false,
        on_disk: false,
        allocates: false,
        implementation: None,
        in_place_of: Params::default(),
        id,
    }
}

pub(crate) fn done(case: &CaseId, pass: u32, values: &[(&str, f64)]) -> Round {
    let value = values.first().map_or(1.0, |&(_, value)| value);
    Round {
        case: case.clone(),
        pass,
        seq: pass,
        started: UnixNanos(u64::from(pass)),
        took: Nanos::from_secs(1),
        layout_seed: 0,
        partial: None,
        stretch: None,
        outcome: Outcome::Done(Measured {
            values: values
                .iter()
                .map(|&(quantity, value)| (quantity.to_owned(), value))
                .collect(),
            missing: BTreeMap::new(),
            cpu_windows: Vec::new(),
            windows: [1.0, 1.1, 0.8, 1.0, 1.0]
                .map(|share| share * value)
                .to_vec(),
            latencies: BTreeMap::new(),
            notes: Vec::new(),
            copies: vec![CopyRecord {
                work: 1e6,
                wall: Nanos::from_millis(500),
                ..CopyRecord::of_operations(1_000_000)
            }],
        }),
        noise: Noise::default(),
    }
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
    Run {
        meta: RunMeta {
            id: "20261121-004311-9f3c".to_owned(),
            label: None,
            tags: BTreeMap::new(),
            started: UnixNanos(0),
            finished: Some(UnixNanos(1)),
            end: End::Complete,
            binary: Binary {
                version: "0.1.0".to_owned(),
                commit: None,
                build: "release".to_owned(),
                target: "x86_64-unknown-linux-gnu".to_owned(),
                linked_statically: true,
            },
            warnings: Vec::new(),
            dir: "/srv".to_owned(),
        },
        plan: Plan {
            what: vec!["quick".to_owned()],
            cases,
            seed: 1,
            budget: None,
            passes: Some(6),
            target: None,
            duel: None,
            soak: None,
            named: Vec::new(),
            dropped: Vec::new(),
            ordered: false,
        },
        host: HostFacts::default(),
        rounds,
    }
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
