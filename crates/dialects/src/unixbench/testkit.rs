//! Runs made by hand, for the tests of this module.

use crate::unixbench::table::find;
use model::host::{Fact, HostFacts};
use model::noise::Noise;
use model::params::Params;
use model::plan::{CaseId, Plan, PlannedCase, PlannedMetric, Shape};
use model::record::{Binary, CopyRecord, End, Failure, Measured, Outcome, Round, Run, RunMeta};
use model::spec::{
    Amount, Better, How, MetricClass, Nature, ParamDef, ParamKind, Role, Spec, Time,
};
use model::units::{Nanos, Unit, UnixNanos};
use std::collections::BTreeMap;

static SPEC: Spec = Spec {
    name: "test.kit",
    version: 1,
    nature: Nature::System,
    title: "A workload that only tests know",
    doc: "",
    params: &[ParamDef {
        name: "compat",
        kind: ParamKind::Choice(&["off", "5.1.3", "6"]),
        default: "off",
        doc: "",
    }],
    metrics: &[],
    tests: &[],
    simulated: false,
    on_disk: false,
};

/// 2026-11-21 10:00:00 UTC.
const START: u64 = 1_795_255_200_000_000_000;

/// Builds a run.
pub(super) struct Kit {
    compat: &'static str,
    run: Run,
}

impl Kit {
    pub(super) fn new(compat: &'static str) -> Self {
        Self {
            compat,
            run: Run {
                meta: RunMeta {
                    id: "20261121-100000-9f3c".to_owned(),
                    label: None,
                    tags: BTreeMap::new(),
                    started: UnixNanos(START),
                    finished: None,
                    end: End::Complete,
                    binary: Binary {
                        version: "0.1.0".to_owned(),
                        commit: None,
                        build: "release".to_owned(),
                        target: "x86_64-unknown-linux-gnu".to_owned(),
                        linked_statically: true,
                    },
                    warnings: Vec::new(),
                    dir: "/bench".to_owned(),
                },
                plan: Plan {
                    what: vec!["unixbench".to_owned()],
                    cases: Vec::new(),
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
                host: HostFacts {
                    hostname: Fact::Known("box\u{1b}[2J".to_owned()),
                    ..HostFacts::default()
                },
                rounds: Vec::new(),
            },
        }
    }

    pub(super) fn case(mut self, test: &str, copies: u32) -> Self {
        let quantity = find(test).map_or("ops_per_s", |entry| entry.quantity);
        self.run.plan.cases.push(PlannedCase {
            id: CaseId {
                test: test.to_owned(),
                copies,
            },
            title: test.to_owned(),
            workload: test.to_owned(),
            workload_version: 1,
            params: Params::resolve(&SPEC, [("compat", self.compat)]).unwrap(),
            metrics: vec![PlannedMetric {
                quantity: quantity.to_owned(),
                unit: Unit::OpsPerSecond,
                better: Better::Higher,
                class: MetricClass::System,
                how: How::Per(Amount::Operations, Time::Wall),
                role: Role::Plain,
            }],
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
    run.rounds.push(Round {
        case: case.clone(),
        pass,
        seq,
        started: UnixNanos(START + u64::from(seq) * 1_000_000_000),
        took: Nanos::from_secs(1),
        layout_seed: 0,
        partial: None,
        stretch: None,
        outcome: Outcome::Done(Measured {
            values: BTreeMap::from([(quantity.to_owned(), rate)]),
            missing: BTreeMap::new(),
            cpu_windows: Vec::new(),
            windows: Vec::new(),
            latencies: BTreeMap::new(),
            notes: Vec::new(),
            copies: vec![copy; usize::try_from(case.copies).unwrap()],
        }),
        noise: Noise::default(),
    });
}
