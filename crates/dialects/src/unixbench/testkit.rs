//! Runs made by hand, for the tests of this module.

use crate::figures::Figures;
use crate::unixbench::table::find;
use model::host::Fact;
use model::params::Params;
use model::plan::{CaseId, PlannedCase};
use model::record::{CopyRecord, Failure, Measured, Outcome, Round, Run};
use model::spec::Better;
use model::units::{Nanos, Unit, UnixNanos};

/// 2026-11-21 10:00:00 UTC.
const START: UnixNanos = UnixNanos(1_795_255_200_000_000_000);

/// Builds a run.
pub(super) struct Kit {
    compat: &'static str,
    run: Run,
}

impl Kit {
    pub(super) fn new(compat: &'static str) -> Self {
        let mut run = ::testkit::run(Vec::new());
        run.meta.started = START;
        run.meta.dir = "/bench".to_owned();
        run.plan.what = vec!["unixbench".to_owned()];
        run.plan.passes = Some(6);
        run.host.hostname = Fact::Known("box\u{1b}[2J".to_owned());
        Self { compat, run }
    }

    pub(super) fn case(mut self, test: &str, copies: u32) -> Self {
        let quantity = find(test).map_or("ops_per_s", |entry| entry.quantity);
        let metric = ::testkit::metric(quantity, Unit::OpsPerSecond, Better::Higher);
        self.run.plan.cases.push(PlannedCase {
            title: test.to_owned(),
            params: Params::resolve(&::testkit::SPEC, [("compat", self.compat)]).unwrap(),
            ..::testkit::case(&format!("{test}@{copies}"), vec![metric])
        });
        self
    }

    pub(super) fn all_at(self, copies: u32) -> Self {
        crate::unixbench::TESTS
            .iter()
            .fold(self, |kit, entry| kit.case(entry.test, copies))
    }

    /// Adds passes in which every case scores `times` the reference machine.
    pub(super) fn passes(mut self, n: u32, times: impl Fn(&CaseId, u32) -> f64) -> Self {
        let cases: Vec<CaseId> = self
            .run
            .plan
            .cases
            .iter()
            .map(|case| case.id.clone())
            .collect();
        for pass in 1..=n {
            for case in &cases {
                let entry = find(&case.test);
                let ours = entry.map_or(1000.0, |entry| entry.baseline / entry.scale);
                let rate = ours * times(case, pass);
                // Copies that count in whole loops at the same rate: 10^6 seconds make the rounding vanish.
                let seconds = 1_000_000;
                let loops = rate * 1e6 / f64::from(case.copies);
                let quantity = entry.map_or("ops_per_s", |entry| entry.quantity);
                let loops = model::num::round_to_u64(loops);
                add(&mut self.run, case, pass, quantity, rate, loops, seconds);
            }
        }
        self
    }

    /// Adds cases of figures that were read, each with one pass of its value.
    pub(super) fn figures(mut self, figures: &[&Figures]) -> Self {
        for one in figures {
            let test = &one.ours.as_ref().unwrap().test;
            self = self.case(test, one.copies);
            let case = self.run.plan.cases.last().unwrap().id.clone();
            let figure = &one.values[0];
            let loops = model::num::round_to_u64(figure.value * 1e6 / f64::from(one.copies));
            add(
                &mut self.run,
                &case,
                1,
                &figure.quantity,
                figure.value,
                loops,
                1_000_000,
            );
        }
        self
    }

    pub(super) fn run(self) -> Run {
        self.run
    }
}

/// Adds one round of a case at one copy that did `loops` operations in `seconds`.
pub(super) fn ops(run: &mut Run, test: &str, pass: u32, loops: u64, seconds: u64) {
    let case = CaseId {
        test: test.to_owned(),
        copies: 1,
    };
    let rate = model::num::approx(loops) / model::num::approx(seconds);
    add(run, &case, pass, "ops_per_s", rate, loops, seconds);
}

/// Turns the round of `test` in `pass` into a failed one.
pub(super) fn fail(run: &mut Run, test: &str, pass: u32) {
    let round = run
        .rounds
        .iter_mut()
        .find(|round| round.case.test == test && round.pass == pass)
        .unwrap();
    round.outcome = Outcome::Failed(Failure::OutOfMemory);
}

fn add(
    run: &mut Run,
    case: &CaseId,
    pass: u32,
    quantity: &str,
    rate: f64,
    loops: u64,
    seconds: u64,
) {
    let copy = CopyRecord {
        wall: Nanos::from_secs(seconds),
        ..CopyRecord::of_operations(loops)
    };
    let seq = u32::try_from(run.rounds.len()).unwrap() + 1;
    let measured = Measured {
        copies: vec![copy; usize::try_from(case.copies).unwrap()],
        ..::testkit::measured(&[(quantity, rate)])
    };
    run.rounds.push(Round {
        seq,
        started: UnixNanos(START.0 + u64::from(seq) * 1_000_000_000),
        ..::testkit::round(case, pass, Outcome::Done(measured))
    });
}
