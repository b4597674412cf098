//! Made runs: rounds of which the truth is known, of the machines and at the hours that a kind has.

use super::kind::{Batch, Kind};
use super::noises::Noise;
use model::host::Fact;
use model::plan::Duel;
use model::record::{Outcome, Run};
use model::rng::Rng;
use model::spec::{MetricClass, Nature};
use model::units::UnixNanos;
use stats::looks::{ALPHA, LOOKS};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;

/// From run to run of one sitting: twenty of them begin within 17 minutes.
const RUNS_APART: u64 = 50 * SECOND;

/// From pass to pass: nine of them are over before the next run of a sitting begins.
const PASSES_APART: u64 = 5 * SECOND;

/// When the base begins, and how much later the other side; earlier runs begin at 0.
const BASE: u64 = 1000 * HOUR;
const LATER: u64 = 1000 * HOUR;
const LATER_IN_TURN: u64 = 2 * SECOND;

/// Windows of a round, and what they scatter by around it.
const WINDOWS: usize = 10;
const WINDOW_NOISE: f64 = 0.02;

/// The half-width at which a run with a target ends.
const TARGET: f64 = 0.02;

/// The runs of one comparison.
pub(super) struct Made {
    pub(super) base: Vec<Run>,
    pub(super) other: Vec<Run>,
    pub(super) earlier: Vec<Run>,
}

/// Makes the runs of one kind.
pub(super) struct Maker<'a> {
    kind: &'a Kind,
    /// One without rounds.
    blank: Run,
}

/// Runs of one machine.
#[derive(Clone, Copy)]
struct List<'a> {
    machine: &'a str,
    batch: Batch,
    /// When the first of them began.
    from: u64,
    n: usize,
    noise: Noise,
    /// Whether its metrics are those of the other side.
    differs: bool,
    /// Whether each pass has an hour of its own.
    spread: bool,
}

impl<'a> Maker<'a> {
    pub(super) fn of(kind: &'a Kind) -> Self {
        let mut metric = ::testkit::ops_per_s();
        metric.class = MetricClass::Compute;
        let cases = (0..kind.metrics).map(|at| {
            let mut case = ::testkit::case(&kind.tests.id(at), vec![metric.clone()]);
            case.nature = Nature::Compute;
            case
        });
        let mut blank = ::testkit::run(cases.collect());
        blank.plan.target = kind.rounds.target.then_some(TARGET);
        Self { kind, blank }
    }

    /// The runs of one comparison.
    pub(super) fn call(&self, rng: &mut Rng) -> Made {
        let (rounds, runs) = (&self.kind.rounds, &self.kind.runs);
        let machines = if runs.one_machine {
            ["one", "one"]
        } else {
            ["base", "other"]
        };
        let base = List {
            machine: machines[0],
            batch: runs.side,
            from: BASE,
            n: rounds.n.0,
            noise: rounds.noise.0,
            differs: false,
            spread: runs.spread,
        };
        let other = List {
            machine: machines[1],
            from: BASE + if runs.duel { LATER_IN_TURN } else { LATER },
            n: rounds.n.1,
            noise: rounds.noise.1,
            differs: true,
            ..base
        };
        // What is looked for is new: a machine's earlier runs are as fast as the base is.
        let past = |side: List<'a>| List {
            batch: runs.earlier,
            from: 0,
            differs: false,
            ..side
        };
        let mut earlier = self.list(rng, &past(base));
        if !runs.one_machine {
            earlier.extend(self.list(rng, &past(other)));
        }
        let mut made = Made {
            base: self.list(rng, &base),
            other: self.list(rng, &other),
            earlier,
        };
        if runs.duel {
            made.measure_in_turn();
        }
        made
    }

    fn list(&self, rng: &mut Rng, list: &List<'_>) -> Vec<Run> {
        let mut hour = Vec::new();
        let mut made = Vec::new();
        for number in 0..list.batch.runs {
            let (sitting, place) = (
                number / list.batch.per_sitting,
                number % list.batch.per_sitting,
            );
            if place == 0 {
                hour = self.shifts(rng);
            }
            let own = self.shifts(rng);
            let truth = |at| {
                if list.differs {
                    self.kind.truth.of(at).ln()
                } else {
                    0.0
                }
            };
            let levels = hour.iter().zip(&own).enumerate();
            let levels: Vec<f64> = levels
                .map(|(at, (hour, own))| truth(at) + own + if list.spread { 0.0 } else { *hour })
                .collect();
            // Runs that are spread over hours follow one another all the same.
            let apart = HOUR * u64::try_from(if list.spread { list.n + 1 } else { 1 }).unwrap_or(1);
            let began = list.from + u64::from(sitting) * apart + u64::from(place) * RUNS_APART;
            made.push(self.run(rng, list, ::testkit::START.0 + began, &levels));
        }
        made
    }

    /// What an hour or a run by itself brings to each metric: half of the variance between runs.
    fn shifts(&self, rng: &mut Rng) -> Vec<f64> {
        let between = self.kind.between;
        let mut shift = || 0.5_f64.sqrt() * between.deviation * rng.normal();
        let all = shift();
        let each = (0..self.kind.metrics).map(|_| if between.common { all } else { shift() });
        each.collect()
    }

    /// Adds what the hour of each pass brings.
    fn shift_each_pass(&self, rng: &mut Rng, noises: &mut [Vec<f64>]) {
        let passes = noises.iter().map(Vec::len).max().unwrap_or_default();
        for pass in 0..passes {
            let of_metrics = noises.iter_mut().zip(self.shifts(rng));
            of_metrics.for_each(|(of_metric, shift)| of_metric[pass] += shift);
        }
    }

    /// A run of metrics at these levels.
    fn run(&self, rng: &mut Rng, list: &List<'_>, began: u64, levels: &[f64]) -> Run {
        let mut run = self.blank.clone();
        run.meta.id = format!("{}-{began}", list.machine);
        run.meta.started = UnixNanos(began);
        let identity = &mut run.host.identity;
        for fact in [
            &mut identity.machine,
            &mut identity.boot,
            &mut run.host.hostname,
        ] {
            *fact = Fact::Known(list.machine.to_owned());
        }
        let rounds = &self.kind.rounds;
        let mut noises = rounds
            .course
            .of_run(rng, self.kind.metrics, list.n, list.noise);
        if list.spread {
            self.shift_each_pass(rng, &mut noises);
        }
        let levelled = noises.iter().zip(levels);
        let mut series: Vec<Vec<f64>> = levelled
            .map(|(noises, &level)| values_of(noises, level))
            .collect();
        if rounds.target {
            series.iter_mut().for_each(end_at_target);
        }
        for (pass, at) in (1..).zip(0..list.n) {
            let began = began + u64::from(pass) * if list.spread { HOUR } else { PASSES_APART };
            run.meta.finished = Some(UnixNanos(began + SECOND));
            for (case, values) in self.blank.plan.cases.iter().zip(&series) {
                let Some(&value) = values.get(at) else {
                    continue;
                };
                let mut measured = ::testkit::measured(&[("ops_per_s", value)]);
                if rounds.windows {
                    measured.windows = windows(rng, value);
                }
                let mut round = ::testkit::round(&case.id, pass, Outcome::Done(measured));
                round.started = UnixNanos(began);
                run.rounds.push(round);
            }
        }
        run
    }
}

impl Made {
    /// Makes the two runs the sides of one duel, whose passes were counted beforehand.
    fn measure_in_turn(&mut self) {
        for (runs, side) in [(&mut self.base, "a"), (&mut self.other, "b")] {
            for run in runs {
                run.plan.passes = run.rounds.iter().map(|round| round.pass).max();
                run.plan.duel = Some(Duel {
                    id: "duel".to_owned(),
                    side: side.to_owned(),
                    prepare: None,
                    traits: Vec::new(),
                });
            }
        }
    }
}

fn values_of(noises: &[f64], level: f64) -> Vec<f64> {
    let values = noises.iter().map(|noise| 100.0 * (level + noise).exp());
    values.collect()
}

/// Keeps the rounds until the first look at which the interval is narrow enough.
fn end_at_target(values: &mut Vec<f64>) {
    let looks = LOOKS.into_iter().map(|look| look as usize);
    let narrow = |&look: &usize| {
        let half = stats::yuen::one_sample_half_width(&values[..look], ALPHA);
        half.is_some_and(|half| half <= TARGET)
    };
    let mut looks = looks.take_while(|&look| look <= values.len());
    if let Some(end) = looks.find(narrow) {
        values.truncate(end);
    }
}

fn windows(rng: &mut Rng, value: f64) -> Vec<f64> {
    let windows = (0..WINDOWS).map(|_| value * (WINDOW_NOISE * rng.normal()).exp());
    windows.collect()
}

#[cfg(test)]
mod tests {
    use super::super::kinds;
    use super::*;

    fn began(runs: &[Run]) -> Vec<u64> {
        runs.iter().map(|run| run.meta.started.0).collect()
    }

    #[test]
    fn runs_are_of_the_machines_and_the_hours_that_their_kind_has() {
        for kind in kinds::all().iter().filter(|kind| kind.metrics == 1) {
            let made = Maker::of(kind).call(&mut Rng::new(1));
            let (base, other) = (&made.base, &made.other);
            let last = began(&made.earlier).into_iter().max();
            assert!(last < began(base).into_iter().min(), "{}", kind.name);
            assert!(began(base) < began(other), "{}", kind.name);
            let machine = |run: &Run| run.host.identity.machine.known().cloned();
            let one = machine(&base[0]) == machine(&other[0]);
            assert_eq!(one, kind.runs.one_machine, "{}", kind.name);
            for (runs, batch) in [
                (base, kind.runs.side),
                (other, kind.runs.side),
                (&made.earlier, kind.runs.earlier),
            ] {
                let of_first = runs.iter().filter(|run| machine(run) == machine(&runs[0]));
                let of_first: Vec<u64> = of_first.map(|run| run.meta.started.0).collect();
                assert_eq!(u32::try_from(of_first.len()), Ok(batch.runs));
                let far = of_first
                    .windows(2)
                    .filter(|pair| pair[1] - pair[0] > HOUR / 3);
                let sittings = batch.runs.checked_div(batch.per_sitting).unwrap_or(0);
                assert_eq!(u32::try_from(far.count()), Ok(sittings.saturating_sub(1)));
            }
        }
    }

    /// The two parts of a shift are those of its hour and its own, and their sum is what the kind says.
    #[test]
    fn runs_of_one_sitting_share_half_of_what_they_differ_by() {
        let kinds = kinds::all();
        let kind = kinds
            .iter()
            .find(|kind| kind.runs.side.per_sitting == 3 && kind.between.deviation > 0.015)
            .unwrap();
        let maker = Maker::of(kind);
        let mut rng = Rng::new(5);
        let (mut inside, mut all) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            let made = maker.call(&mut rng);
            let level = |run: &Run| {
                let cases = run.rounds.iter().filter(|round| round.case.test == "t0.m0");
                let values: Vec<f64> = cases
                    .filter_map(|round| match &round.outcome {
                        Outcome::Done(measured) => measured.values.get("ops_per_s").copied(),
                        Outcome::Failed(_) => None,
                    })
                    .collect();
                stats::quantile::median(&values).unwrap().ln() - 100.0_f64.ln()
            };
            let levels: Vec<f64> = made.base.iter().map(level).collect();
            inside.push(stats::quantile::variance(&levels).unwrap());
            all.push(levels[0].powi(2));
        }
        let mean = |values: &[f64]| stats::quantile::mean(values).unwrap();
        let share = mean(&inside) / mean(&all);
        assert!((0.4..0.65).contains(&share), "{share}");
    }
}
