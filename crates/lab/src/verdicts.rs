//! How often verdicts are wrong on runs of which the truth is known: the whole of `stats::compare` on made runs, many
//! times.
//!
//! A rate is held against its bound with the chance that calls bring: it is above the bound only where so many would be
//! wrong in less than one of a hundred experiments if the true rate were the bound. `cargo lab verdicts` makes a
//! thousand calls of every kind; a test makes a few of some.

mod noises;
mod score;

use crate::asked;
use anyhow::bail;
use clap::Parser;
use model::comparison::Verdict;
use model::record::{Outcome, Run};
use model::rng::Rng;
use model::spec::MetricClass;
use noises::{Noise, independent};
use score::{Bounds, Tally};
use stats::CompareOptions;
use std::path::Path;

/// The margin of every comparison.
const MARGIN: f64 = 0.02;

/// Options of `cargo lab verdicts`.
#[derive(Parser)]
#[command(
    name = "cargo lab verdicts",
    no_binary_name = true,
    about = "How often verdicts are wrong on runs of which the truth is known"
)]
struct Options {
    /// Kinds of runs, by parts of their names [default: all]
    #[arg(value_name = "KIND")]
    kinds: Vec<String>,
    /// Calls of each kind
    #[arg(long, default_value_t = 1000)]
    calls: u32,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Prints the rates of every kind that was asked for; an error where one is above its bound.
pub(crate) fn run(_root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let wanted = |name: &str| {
        options.kinds.is_empty() || options.kinds.iter().any(|part| name.contains(part))
    };
    say!(
        "| kind | calls | any, % | better or worse, % | covered, % | same at the margin, % | found, % | |\n|---|---|---|---|---|---|---|---|"
    );
    let mut broken = 0;
    for kind in kinds().iter().filter(|kind| wanted(&kind.name)) {
        let tally = kind.tally(options.calls, options.seed);
        let wrong = tally.above(&kind.bounds);
        broken += usize::from(!wrong.is_empty());
        say!("{}", tally.row(&kind.name, &wrong));
    }
    if broken > 0 {
        bail!("{broken} kinds are not within their bounds");
    }
    Ok(())
}

/// A kind of pair of runs.
struct Kind {
    name: String,
    metrics: usize,
    rounds: (usize, usize),
    noises: (Noise, Noise),
    /// How far neighbouring rounds depend on one another.
    rho: f64,
    /// By how much runs of one machine differ, as a standard deviation.
    shift: f64,
    /// Whether all metrics of a run are shifted alike.
    common: bool,
    /// Runs on each side, and earlier runs of each machine.
    runs: usize,
    earlier: usize,
    /// The true ratio of the first `differing` metrics.
    ratio: f64,
    differing: usize,
    /// Whether each run ended when its interval was narrow enough.
    target: bool,
    bounds: Bounds,
}

impl Kind {
    /// Equal servers whose rounds have nothing to do with one another.
    fn new(name: &str, metrics: usize, rounds: (usize, usize), noises: (Noise, Noise)) -> Self {
        Self {
            name: format!(
                "{name}, {metrics} metrics, {} and {} rounds",
                rounds.0, rounds.1
            ),
            metrics,
            rounds,
            noises,
            rho: 0.0,
            shift: 0.0,
            common: false,
            runs: 1,
            earlier: 0,
            ratio: 1.0,
            differing: 0,
            target: false,
            bounds: Bounds::default(),
        }
    }

    /// What so many comparisons conclude.
    fn tally(&self, calls: u32, seed: u64) -> Tally {
        let mut tally = Tally::default();
        let mut rng = Rng::new(seed);
        for _ in 0..calls {
            self.call(&mut rng, &mut tally);
        }
        tally
    }

    fn call(&self, rng: &mut Rng, tally: &mut Tally) {
        let mut side = |machine: &str, n: usize, noise: Noise, ratio: f64| -> Vec<Run> {
            (0..self.runs + self.earlier)
                .map(|number| {
                    let mut made = self.made(rng, n, noise, ratio);
                    made.meta.id = format!("{machine}-{number}");
                    for (fact, text) in [
                        (&mut made.host.identity.machine, machine),
                        (&mut made.host.hostname, machine),
                    ] {
                        *fact = model::host::Fact::Known(text.to_owned());
                    }
                    made
                })
                .collect()
        };
        let base = side("base", self.rounds.0, self.noises.0, 1.0);
        let other = side("other", self.rounds.1, self.noises.1, self.ratio);
        let split = |runs: &[Run]| (runs[..self.runs].to_vec(), runs[self.runs..].to_vec());
        let ((base, past), (other, other_past)) = (split(&base), split(&other));
        let earlier = [past, other_past].concat();
        let options = CompareOptions {
            margin: Some(MARGIN),
            earlier: &earlier,
            // What is known of the runs themselves counts; otherwise nothing hides a rate.
            scatter: (self.shift <= 0.0).then_some(0.0),
        };
        let found = stats::compare_groups(&refer(&base), &refer(&other), &options);
        let truth = |at: usize| if at < self.differing { self.ratio } else { 1.0 };
        tally.add(&found.metrics, truth);
        if self.differing == self.metrics && self.ratio > 1.0 {
            tally.found(
                found
                    .metrics
                    .iter()
                    .map(|one| one.adjusted == Verdict::Better),
            );
        }
    }

    /// A run of `n` rounds whose first metrics are `ratio` times as fast.
    fn made(&self, rng: &mut Rng, n: usize, noise: Noise, ratio: f64) -> Run {
        let all = self.shift * rng.normal();
        let series: Vec<Vec<f64>> = (0..self.metrics)
            .map(|at| {
                let own = if self.common {
                    all
                } else {
                    self.shift * rng.normal()
                };
                let level = own + if at < self.differing { ratio.ln() } else { 0.0 };
                let rounds = noises::series(rng, n, noise, self.rho);
                rounds
                    .iter()
                    .map(|value| 100.0 * (level + value).exp())
                    .collect()
            })
            .collect();
        let keep = |values: &Vec<f64>| {
            if !self.target {
                return values.len();
            }
            let looks = stats::looks::LOOKS.into_iter().map(|look| look as usize);
            let narrow = |&look: &usize| {
                let half = stats::yuen::one_sample_half_width(&values[..look], stats::looks::ALPHA);
                half.is_some_and(|half| half <= 0.02)
            };
            looks
                .take_while(|&look| look <= n)
                .find(narrow)
                .unwrap_or(n)
        };
        let mut metric = ::testkit::ops_per_s();
        metric.class = MetricClass::Compute;
        let ids = (0..self.metrics).map(|at| format!("t{}.m{at}@1", at % 6));
        let cases: Vec<_> = ids
            .map(|id| ::testkit::case(&id, vec![metric.clone()]))
            .collect();
        let mut run = ::testkit::run(cases.clone());
        for (case, values) in cases.iter().zip(&series) {
            for (pass, &value) in (1..).zip(&values[..keep(values)]) {
                let measured = ::testkit::measured(&[("ops_per_s", value)]);
                run.rounds
                    .push(::testkit::round(&case.id, pass, Outcome::Done(measured)));
            }
        }
        run.rounds.sort_by_key(|round| round.pass);
        run.plan.target = self.target.then_some(0.02);
        run
    }
}

fn refer(runs: &[Run]) -> Vec<&Run> {
    runs.iter().collect()
}

/// Every kind, with what is promised of it.
fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    let of_metrics = [1, 6, 24, 100];
    let of_rounds = [(6, 6), (9, 9), (13, 13), (28, 28), (6, 28), (9, 28)];
    for (name, base, other) in noises::PAIRS {
        for rounds in of_rounds {
            for metrics in of_metrics {
                let kind = Kind::new(
                    &format!("independent, {name}"),
                    metrics,
                    rounds,
                    (base, other),
                );
                // One case alone cannot show how far its rounds depend on one another: its interval is the wider.
                let most = if metrics == 1 { 100.0 } else { 98.5 };
                kinds.push(Kind {
                    bounds: Bounds::independent().covering(93.5, most),
                    ..kind
                });
            }
            let kind = Kind::new(
                &format!("5 of 100 differ, {name}"),
                100,
                rounds,
                (base, other),
            );
            kinds.push(Kind {
                ratio: 1.3,
                differing: 5,
                bounds: Bounds::false_discoveries(5.0),
                ..kind
            });
        }
        let kind = Kind::new(&format!("target, {name}"), 24, (28, 28), (base, other));
        kinds.push(Kind {
            target: true,
            bounds: Bounds::independent().covering(93.5, 98.5),
            ..kind
        });
    }
    for rho in [0.5, 0.8] {
        for rounds in of_rounds {
            for metrics in of_metrics {
                let kind = Kind::new(
                    &format!("dependent {rho}"),
                    metrics,
                    rounds,
                    (noises::TWO_PERCENT, noises::TWO_PERCENT),
                );
                let least = if metrics < 24 { 0.0 } else { 93.0 };
                kinds.push(Kind {
                    rho,
                    bounds: Bounds::wrong(5.0).covering(least, 100.0),
                    ..kind
                });
                let kind = Kind::new(
                    &format!("dependent {rho}, at the margin"),
                    metrics,
                    rounds,
                    (noises::TWO_PERCENT, noises::TWO_PERCENT),
                );
                kinds.push(Kind {
                    rho,
                    ratio: 1.0 + MARGIN,
                    differing: metrics,
                    bounds: Bounds::same(3.0),
                    ..kind
                });
            }
        }
    }
    for shift in [0.005, 0.01, 0.02] {
        for (name, common) in [("each metric", false), ("all metrics", true)] {
            for (known, runs, earlier) in [("20 earlier runs", 1, 20), ("three runs a side", 3, 0)]
            {
                let what = format!("between runs, {:.1} % on {name}, {known}", 100.0 * shift);
                let kind = Kind::new(
                    &what,
                    24,
                    (9, 9),
                    (independent::ONE_PERCENT, independent::ONE_PERCENT),
                );
                kinds.push(Kind {
                    shift,
                    common,
                    runs,
                    earlier,
                    bounds: Bounds::wrong(5.0),
                    ..kind
                });
            }
        }
    }
    let kind = Kind::new(
        "power, three runs a side, 0.5 % between runs, 5 %",
        1,
        (9, 9),
        (independent::ONE_PERCENT, independent::ONE_PERCENT),
    );
    kinds.push(Kind {
        shift: 0.005,
        runs: 3,
        ratio: 1.05,
        differing: 1,
        bounds: Bounds::power(95.0),
        ..kind
    });
    for (runs, earlier, metrics, shift) in [
        (1, 20, 1, 0.005),
        (1, 20, 1, 0.01),
        (3, 0, 1, 0.01),
        (3, 0, 100, 0.005),
        (3, 0, 100, 0.01),
    ] {
        let what = format!(
            "power told, {runs} runs a side, {:.1} % between runs, 5 %",
            100.0 * shift
        );
        let kind = Kind::new(
            &what,
            metrics,
            (9, 9),
            (independent::ONE_PERCENT, independent::ONE_PERCENT),
        );
        kinds.push(Kind {
            shift,
            runs,
            earlier,
            ratio: 1.05,
            differing: metrics,
            ..kind
        });
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some of each sort, with so many calls that a rule which fails as often as the one before does not pass.
    #[test]
    fn verdicts_on_runs_of_which_the_truth_is_known_are_rarely_wrong() {
        let mut broken = Vec::new();
        let some = [
            ("independent, two levels, p .5, 24 metrics, 6 and 6", 60),
            ("independent, two levels, p .3, 24 metrics, 6 and 28", 60),
            ("independent, normal 5 %, 24 metrics, 6 and 28", 60),
            ("5 of 100 differ, normal 1 %, 100 metrics, 6 and 28", 10),
            ("dependent 0.8, 24 metrics, 9 and 9", 40),
            ("dependent 0.5, at the margin, 24 metrics, 28 and 28", 10),
            ("between runs, 1.0 % on each metric, 20 earlier", 10),
            ("between runs, 2.0 % on all metrics, three runs", 20),
            ("power, three runs a side", 60),
            ("target, normal 1 %", 20),
        ];
        let kinds = kinds();
        for (name, calls) in some {
            let kind = kinds.iter().find(|kind| kind.name.starts_with(name));
            let kind = kind.unwrap_or_else(|| panic!("{name}"));
            let tally = kind.tally(calls, 1);
            let wrong = tally.above(&kind.bounds);
            if !wrong.is_empty() {
                broken.push(tally.row(&kind.name, &wrong));
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }
}
