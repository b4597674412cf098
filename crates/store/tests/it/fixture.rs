//! Runs to keep: small, complete in every field, and different in every number.

use model::digest::Digest;
use model::host::{Fact, HostFacts};
use model::noise::{Noise, Sentinel};
use model::plan::{Plan, PlannedCase};
use model::record::{CopyRecord, End, Failure, Measured, Outcome, Round, Run, RunMeta, Series};
use model::units::{Nanos, UnixNanos};
use model::warning::Warning;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

pub(crate) fn meta(id: &str, label: Option<&str>, started: u64) -> RunMeta {
    RunMeta {
        label: label.map(str::to_owned),
        tags: BTreeMap::from([("地域".to_owned(), "東京 \"1\"\n".to_owned())]),
        started: UnixNanos(started),
        finished: None,
        end: End::Open,
        warnings: vec![Warning::DebugBuild],
        ..testkit::meta(id)
    }
}

pub(crate) fn plan() -> Plan {
    let case = PlannedCase {
        simulated: true,
        ..testkit::case("selftest.replay@2", vec![testkit::ops_per_s()])
    };
    Plan {
        what: vec!["quick".to_owned(), "selftest.*".to_owned()],
        seed: u64::MAX,
        budget: Some(Nanos::from_secs(180)),
        ..testkit::plan(vec![case])
    }
}

pub(crate) fn host() -> HostFacts {
    let mut host = HostFacts {
        hostname: Fact::Known("比べ".to_owned()),
        ..HostFacts::default()
    };
    host.cpu.mhz = Fact::Known(2_699.998);
    host.limits.cpu_quota = Fact::Known(Some(1.5));
    host
}

/// A finished round of this number, with `value` as what it measured.
pub(crate) fn round(seq: u32, value: f64) -> Round {
    let case = "selftest.replay@2".parse().unwrap();
    let measured = Measured {
        missing: BTreeMap::from([("clat_ns_p99".to_owned(), "not recorded".to_owned())]),
        windows: vec![value, value / 3.0, value * 1.1],
        latencies: BTreeMap::from([("clat".to_owned(), vec![(100, 5), (250, 7)])]),
        notes: vec!["a note".to_owned()],
        copies: vec![CopyRecord {
            ops: 12_345,
            work: value / 7.0,
            wall: Nanos::from_millis(500),
            user: Nanos::from_millis(400),
            system: Nanos(1),
            digest: Digest::EMPTY,
            allocations: 0,
            cpu: Some(1),
            reported: BTreeMap::new(),
            apart: None,
        }],
        series: BTreeMap::from([(
            "queue".to_owned(),
            Series {
                step: Nanos::from_millis(100),
                values: vec![Some(value), None, Some(0.5)],
            },
        )]),
        ..testkit::measured(&[("ops_per_s", value)])
    };
    Round {
        started: UnixNanos(1_700_000_000_000_000_000 + u64::from(seq)),
        took: Nanos::from_millis(600),
        errands: Vec::new(),
        layout_seed: u64::MAX - u64::from(seq),
        noise: Noise {
            steal_share: Some(0.1 + 0.2),
            before: Some(Sentinel {
                add_ns: 1.0 / 3.0,
                gap_share: 1e-300,
                gap_max: Nanos(7),
                adds_per_cycle: Some(4.5 + 0.1 + 0.2),
            }),
            ..Noise::default()
        },
        ..testkit::round(&case, seq, Outcome::Done(measured))
    }
}

pub(crate) fn failed_round(seq: u32) -> Round {
    Round {
        outcome: Outcome::Failed(Failure::Signal {
            signal: 9,
            said: "最後の言葉".to_owned(),
        }),
        noise: Noise::default(),
        ..round(seq, 1.0)
    }
}

/// A finished run of `rounds` rounds, the last of them failed.
pub(crate) fn run(id: &str, rounds: u32) -> Run {
    let mut all: Vec<Round> = (1..rounds)
        .map(|seq| round(seq, 1e6 / f64::from(seq)))
        .collect();
    all.push(failed_round(rounds));
    Run {
        meta: RunMeta {
            finished: Some(UnixNanos(2_000)),
            end: End::Complete,
            ..meta(id, Some("基準"), 1_000)
        },
        plan: plan(),
        host: host(),
        rounds: all,
    }
}

/// Keeps `run` the way a measuring process does: begin, append, finish.
pub(crate) fn keep(store: &Store, run: &Run) -> Result<(), StoreError> {
    let open = RunMeta {
        finished: None,
        end: End::Open,
        ..run.meta.clone()
    };
    store.begin(&open, &run.plan, &run.host)?;
    for round in &run.rounds {
        store.append(&run.meta.id, round)?;
    }
    match run.meta.finished {
        Some(finished) => store
            .finish(&run.meta.id, finished, run.meta.end, &[])
            .map(drop),
        None => Ok(()),
    }
}

/// A store of two runs as a killed process leaves it, the second one in its log alone; with the log's index or
/// without.
pub(crate) fn left_behind(dir: &Path, index: bool) -> PathBuf {
    let (live, left) = (dir.join("live.db"), dir.join("kurabe.db"));
    Store::open(&live).unwrap().import(&run("r1", 3)).unwrap();
    let store = Store::open(&live).unwrap();
    store
        .begin(&meta("r2", None, 2_000), &plan(), &host())
        .unwrap();
    store.append("r2", &round(1, 1.5)).unwrap();
    let ends: &[&str] = if index {
        &["", "-wal", "-shm"]
    } else {
        &["", "-wal"]
    };
    for end in ends {
        let name = |of: &Path| PathBuf::from(format!("{}{end}", of.display()));
        std::fs::copy(name(&live), name(&left)).unwrap();
    }
    drop(store);
    std::fs::remove_file(&live).unwrap();
    left
}
