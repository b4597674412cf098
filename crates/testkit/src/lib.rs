//! Runs made by hand, for the tests of every crate: the one place that fills in every field of a run.
//!
//! What a test is about it sets itself; what it is not about is here, the same everywhere. Nothing but tests may depend
//! on this crate.

use model::host::{Fact, HostFacts};
use model::named::{Named, NamedKind};
use model::noise::Noise;
use model::origin::Origin;
use model::params::Params;
use model::plan::{CaseId, Plan, PlannedCase, PlannedMetric, Shape};
use model::record::{Binary, End, Measured, Outcome, Round, Run, RunMeta};
use model::spec::{
    Amount, Better, How, MetricClass, Nature, ParamDef, ParamKind, Role, Spec, Time,
};
use model::units::{Nanos, Unit, UnixNanos};
use std::collections::BTreeMap;

/// When runs begin: 2026-11-21 00:43:11 UTC.
pub const START: UnixNanos = UnixNanos(1_795_221_791_000_000_000);

/// A workload with the parameter of UnixBench's tests.
pub static SPEC: Spec = Spec {
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

/// A finished run of these cases, without rounds, on a machine of which nothing is known.
pub fn run(cases: Vec<PlannedCase>) -> Run {
    Run {
        meta: meta("20261121-004311-9f3c"),
        plan: plan(cases),
        host: HostFacts::default(),
        rounds: Vec::new(),
    }
}

/// A database server at this address on which tests work, of which nothing is known.
pub fn server(address: &str) -> Named {
    Named {
        path: address.to_owned(),
        kind: NamedKind::Server,
        stands_in: true,
        writes: true,
        size: Fact::default(),
        devices: Fact::default(),
        serial: Fact::default(),
        server: Vec::new(),
    }
}

/// Where figures come from that another program measured.
pub fn origin() -> Origin {
    Origin {
        program: "fio".to_owned(),
        version: None,
        when: Fact::Missing("not said".to_owned()),
        digest: "0".repeat(16),
        file: "x".to_owned(),
    }
}

/// A run of three minutes that is complete.
pub fn meta(id: &str) -> RunMeta {
    RunMeta {
        id: id.to_owned(),
        label: None,
        tags: BTreeMap::new(),
        started: START,
        finished: Some(UnixNanos(START.0 + 182_000_000_000)),
        end: End::Complete,
        binary: Binary {
            version: "0.1.0".to_owned(),
            commit: None,
            build: "release".to_owned(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            linked_statically: true,
        },
        warnings: Vec::new(),
        looks: Vec::new(),
        origin: None,
        offer: None,
        dir: "/srv".to_owned(),
    }
}

/// A plan of neither budget nor passes.
pub fn plan(cases: Vec<PlannedCase>) -> Plan {
    Plan {
        what: vec!["quick".to_owned()],
        cases,
        seed: 1,
        budget: None,
        passes: None,
        target: None,
        duel: None,
        soak: None,
        named: Vec::new(),
        dropped: Vec::new(),
        room: None,
        own_ground: None,
        ordered: false,
        max_bytes: None,
        spread: None,
    }
}

/// A metric of class `System`, whose margin is 5 %.
pub fn metric(quantity: &str, unit: Unit, better: Better) -> PlannedMetric {
    PlannedMetric {
        quantity: quantity.to_owned(),
        unit,
        better,
        class: MetricClass::System,
        how: How::Per(Amount::Operations, Time::Wall),
        role: Role::Plain,
    }
}

/// Operations per second.
pub fn ops_per_s() -> PlannedMetric {
    metric("ops_per_s", Unit::OpsPerSecond, Better::Higher)
}

/// A case of a workload that is named like its test.
///
/// # Panics
///
/// If `id` is no case's.
pub fn case(id: &str, metrics: Vec<PlannedMetric>) -> PlannedCase {
    let id: CaseId = id.parse().expect("a test knows its cases");
    PlannedCase {
        title: format!("Title of {}", id.test),
        workload: id.test.clone(),
        workload_version: 1,
        params: Params::default(),
        nature: Nature::System,
        metrics,
        pictures: Vec::new(),
        headline: None,
        load: None,
        shape: Shape::DEFAULT,
        hands_over: false,
        simulated: false,
        on_disk: false,
        allocates: false,
        implementation: None,
        ground: None,
        needs: None,
        anchors: Vec::new(),
        exceeds_memory: false,
        in_place_of: Params::default(),
        id,
    }
}

/// These values and nothing beside them.
pub fn measured(values: &[(&str, f64)]) -> Measured {
    let value = |&(quantity, value): &(&str, f64)| (quantity.to_owned(), value);
    Measured {
        values: values.iter().map(value).collect(),
        missing: BTreeMap::new(),
        windows: Vec::new(),
        cpu_windows: Vec::new(),
        copies: Vec::new(),
        latencies: BTreeMap::new(),
        series: BTreeMap::new(),
        notes: Vec::new(),
    }
}

/// A round of one second without noise, whose position is its pass.
pub fn round(case: &CaseId, pass: u32, outcome: Outcome) -> Round {
    Round {
        case: case.clone(),
        pass,
        seq: pass,
        started: UnixNanos(START.0 + u64::from(pass) * 1_000_000_000),
        took: Nanos::from_secs(1),
        layout_seed: 0,
        partial: None,
        moved: None,
        stretch: None,
        errands: Vec::new(),
        outcome,
        noise: Noise::default(),
    }
}
