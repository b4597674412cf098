//! Runs, machines and comparisons made by hand, for the tests of this crate.

use crate::lang::Lang;
use crate::page::Block;
use crate::page::run::Detail;
use crate::style::Style;
use crate::view::RunView;
use ::testkit::START;
pub(crate) use ::testkit::{origin, server};
use model::comparison::{
    Both, CategoryComparison, Comparison, Difference, Estimator, FloorComparison, Hopeless, Inside,
    MarginSource, MetricComparison, Place, Refusal, RoundsNeeded, RunState, Scatter, ScatterSource,
    Scope, Verdict, Watched,
};
use model::digest::Digest;
use model::estimate::{Interval, State};
use model::host::Fact;
use model::noise::Noise;
use model::params::Params;
use model::plan::{CaseId, Dropped, MetricId, PlannedCase, PlannedMetric, StorageLoad, TestFile};
use model::record::{CopyRecord, End, Failure, Measured, Outcome, Round, Run};
use model::spec::{Better, Fold, How, MetricClass, Nature, Role};
use model::units::{Bytes, Nanos, Unit, UnixNanos};
use model::warning::Warning;
use std::collections::BTreeMap;

mod samples;

pub(crate) use samples::{all_failures, all_refusals, all_seen, all_states, all_warnings, host};

/// A metric of a test case.
#[derive(Clone, Copy)]
pub(crate) struct Quantity(pub(crate) &'static str, pub(crate) Unit, pub(crate) Better);

pub(crate) const OPS: Quantity = Quantity("ops_per_s", Unit::OpsPerSecond, Better::Higher);
pub(crate) const BYTES: Quantity = Quantity("bytes_per_s", Unit::BytesPerSecond, Better::Higher);
pub(crate) const P99: Quantity = Quantity("clat_ns_p99", Unit::Nanoseconds, Better::Lower);

/// The page of a run on a terminal.
pub(crate) fn text(view: &RunView<'_>, style: Style, lang: Lang) -> String {
    crate::render::text(&crate::page::run::page(view, Detail::Full, lang), style)
}

/// The page of a run in Markdown.
pub(crate) fn markdown(view: &RunView<'_>, lang: Lang) -> String {
    crate::render::markdown(&crate::page::run::page(view, Detail::Full, lang))
}

/// A section on a terminal, without its heading and as far to the left; empty for no blocks.
pub(crate) fn section(blocks: &[Block], width: usize) -> String {
    let style = Style {
        width,
        color: false,
    };
    let text = crate::render::text(blocks, style);
    let lines = text.lines().skip(1);
    lines
        .map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned() + "\n")
        .collect()
}

/// A finished run without cases.
pub(crate) fn empty() -> Run {
    let mut run = ::testkit::run(Vec::new());
    run.meta.binary.commit = Some("cbb9fe7".to_owned());
    run.meta.binary.linked_statically = false;
    run.meta.dir = "/home/bench".to_owned();
    run.plan.seed = u64::MAX;
    run.plan.budget = Some(Nanos::from_secs(180));
    run.host = host();
    run
}

/// Pictures that any case may have.
const PICTURES: [(&str, Role); 2] = [("ns_at", Role::Curve(Unit::Bytes)), ("ns", Role::Matrix)];

fn picture((quantity, role): (&str, Role)) -> PlannedMetric {
    PlannedMetric {
        class: MetricClass::LatencyTypical,
        how: How::Reported(Fold::Mean),
        role,
        ..::testkit::metric(quantity, Unit::Nanoseconds, Better::Lower)
    }
}

/// The role of a quantity in the tests that the program has.
fn role_of(quantity: &str) -> Role {
    match quantity {
        "cached_share" => Role::Cached,
        "device_busy_share" => Role::DeviceBusy,
        "first_bytes_per_s" => Role::FirstWrites,
        "again_bytes_per_s" => Role::SecondWrites,
        "load_bytes_per_s" => Role::Load,
        "arriving_iops" => Role::Offered,
        _ => Role::Plain,
    }
}

/// Adds a case to a run.
pub(crate) fn add_case(
    run: &mut Run,
    test: &str,
    copies: u32,
    compat: &str,
    quantities: &[Quantity],
) -> CaseId {
    let is_storage = quantities
        .iter()
        .any(|Quantity(name, ..)| matches!(*name, "iops" | "first_bytes_per_s"));
    let metric = |Quantity(quantity, unit, better): &Quantity| PlannedMetric {
        role: role_of(quantity),
        ..::testkit::metric(quantity, *unit, *better)
    };
    let metrics = quantities.iter().map(metric).collect();
    let case = PlannedCase {
        params: Params::resolve(&::testkit::SPEC, [("compat", compat)]).unwrap(),
        nature: if is_storage {
            Nature::Storage
        } else {
            Nature::System
        },
        pictures: PICTURES.map(picture).into(),
        headline: None,
        load: is_storage.then(|| StorageLoad {
            depth: 1,
            paced: false,
            direct: true,
            file: Some(TestFile {
                name: "data".to_owned(),
                size_max: Bytes(64 << 20),
                block: Bytes(4096),
            }),
        }),
        on_disk: test.starts_with("fs."),
        ..::testkit::case(&format!("{test}@{copies}"), metrics)
    };
    let id = case.id.clone();
    run.plan.cases.push(case);
    id
}

/// Adds a round with these values, or a failed one.
pub(crate) fn add_round(
    run: &mut Run,
    case: &CaseId,
    pass: u32,
    outcome: Result<&[(&str, f64)], Failure>,
) {
    let seq = u32::try_from(run.rounds.len()).unwrap() + 1;
    let outcome = match outcome {
        Ok(values) => {
            let rate = values.first().map_or(0.0, |(_, value)| *value);
            let copy = CopyRecord {
                ops: model::num::round_to_u64(rate / 2.0 / f64::from(case.copies)),
                work: rate,
                wall: Nanos::from_millis(500),
                user: Nanos::from_millis(300),
                system: Nanos::from_millis(200),
                digest: Digest::EMPTY,
                allocations: 0,
                cpu: Some(0),
                reported: BTreeMap::new(),
                apart: None,
            };
            Outcome::Done(Measured {
                windows: vec![rate; 5],
                copies: vec![copy; usize::try_from(case.copies).unwrap()],
                ..::testkit::measured(values)
            })
        }
        Err(failure) => Outcome::Failed(failure),
    };
    run.rounds.push(Round {
        seq,
        started: UnixNanos(START.0 + u64::from(seq) * 1_000_000_000),
        took: Nanos::from_millis(700),
        errands: Vec::new(),
        layout_seed: u64::from(seq),
        noise: Noise {
            steal_share: Some(0.0),
            ..Noise::default()
        },
        ..::testkit::round(case, pass, outcome)
    });
}

/// Six values around `level`, one or two per mille apart, in no order.
pub(crate) fn six_around(level: f64) -> [f64; 6] {
    [1.001, 0.998, 1.0, 1.002, 0.999, 1.0005].map(|share| share * level)
}

fn steady(run: &mut Run, test: &str, copies: u32, quantity: Quantity, level: f64) -> CaseId {
    let id = add_case(run, test, copies, "off", &[quantity]);
    for (pass, value) in (1..).zip(six_around(level)) {
        add_round(run, &id, pass, Ok(&[(quantity.0, value)]));
    }
    id
}

/// A quiet run: rates at two concurrencies, bytes, and a latency.
pub(crate) fn normal() -> Run {
    let mut run = empty();
    run.meta.label = Some("vps ssd".to_owned());
    run.meta.tags = BTreeMap::from([("plan".to_owned(), "1g".to_owned())]);
    steady(&mut run, "os.pipe", 1, OPS, 1_234_567.0);
    steady(&mut run, "os.pipe", 2, OPS, 2_345_678.0);
    steady(&mut run, "os.spawn", 1, OPS, 4321.0);
    steady(&mut run, "fs.copy-1024", 1, BYTES, 1.5e9);
    let id = add_case(&mut run, "storage.randread", 1, "off", &[OPS, P99]);
    for (pass, value) in (1..).zip(six_around(10_000.0)) {
        let values = [("ops_per_s", value), ("clat_ns_p99", 1e9 / value)];
        add_round(&mut run, &id, pass, Ok(&values));
    }
    run
}

/// A run with a crashed case, a case with one failed round, a case never run, and warnings.
pub(crate) fn with_failures() -> Run {
    let mut run = normal();
    run.meta.warnings = vec![
        Warning::WorkDirInMemory {
            file_system: "tmpfs".to_owned(),
        },
        Warning::DebugBuild,
    ];
    let crashed = add_case(&mut run, "os.execl", 1, "off", &[OPS]);
    for pass in 1..=6 {
        let failure = Failure::Signal {
            signal: 11,
            said: "segmentation\nfault\u{1b}[2J".to_owned(),
        };
        add_round(&mut run, &crashed, pass, Err(failure));
    }
    let shaky = add_case(&mut run, "os.context", 2, "off", &[OPS]);
    for (pass, value) in (1..).zip(six_around(55_000.0)) {
        add_round(&mut run, &shaky, pass, Ok(&[("ops_per_s", value)]));
    }
    add_round(&mut run, &shaky, 7, Err(Failure::OutOfMemory));
    add_case(&mut run, "os.shell-8", 1, "off", &[OPS]);
    run.plan.dropped = vec![Dropped {
        what: "cpu.prime".to_owned(),
        why: "does not fit the budget of 3m".to_owned(),
        needs: None,
    }];
    run
}

/// A run that was interrupted in its second pass.
pub(crate) fn interrupted() -> Run {
    let mut run = normal();
    run.rounds.retain(|round| round.pass <= 2);
    run.rounds.pop();
    run.meta.end = End::Interrupted;
    run.meta.warnings = vec![Warning::BudgetShort];
    run
}

/// The twelve tests of the UnixBench index at one concurrency and `times` the reference machine.
pub(crate) fn unixbench(compat: &str, times: f64) -> Run {
    let mut run = empty();
    run.plan.what = vec!["unixbench".to_owned()];
    for entry in &dialects::unixbench::TESTS {
        let quantity = match entry.quantity {
            "bytes_per_s" => BYTES,
            "wips" => Quantity("wips", Unit::OpsPerSecond, Better::Higher),
            _ => OPS,
        };
        let id = add_case(&mut run, entry.test, 1, compat, &[quantity]);
        for (pass, value) in (1..).zip(six_around(times * entry.baseline / entry.scale)) {
            add_round(&mut run, &id, pass, Ok(&[(entry.quantity, value)]));
        }
    }
    run
}

/// A run in which every text from outside tries to break out of the format it is shown in.
pub(crate) fn hostile() -> Run {
    let nasty = "a,\"b\"|c\u{1b}[31m\n<script>`x`*_[y](z)\u{202e}\u{9b}\\|";
    let mut run = with_failures();
    run.meta.label = Some(nasty.to_owned());
    run.meta.tags = BTreeMap::from([(nasty.to_owned(), nasty.to_owned())]);
    run.meta.warnings = vec![Warning::Other {
        what: nasty.to_owned(),
    }];
    run.host.hostname = Fact::Known(nasty.to_owned());
    run.host.cpu.model = Fact::Known(nasty.to_owned());
    run.host.programs = BTreeMap::from([(nasty.to_owned(), Fact::Missing(nasty.to_owned()))]);
    run.plan.dropped = vec![Dropped {
        what: nasty.to_owned(),
        why: nasty.to_owned(),
        needs: None,
    }];
    run.plan.what = vec![nasty.to_owned()];
    let id = add_case(&mut run, nasty, 1, "off", &[OPS]);
    run.plan.cases.last_mut().unwrap().title = nasty.to_owned();
    add_round(&mut run, &id, 1, Err(Failure::Error(nasty.to_owned())));
    run
}

/// How many lines `rounds` in CSV must have: rounds times the metrics of their case.
pub(crate) fn round_metrics(run: &Run) -> usize {
    run.rounds
        .iter()
        .map(|round| {
            let case = run.plan.case(&round.case);
            case.map_or(1, |case| case.metrics.len())
        })
        .sum()
}

const SHIPPED: Scatter = Scatter {
    deviation: 0.006,
    source: ScatterSource::Shipped { runs: 20 },
};

fn compared(
    case: &str,
    quantity: Quantity,
    values: (f64, f64),
    ratio: (f64, f64, f64),
    verdict: Verdict,
) -> MetricComparison {
    MetricComparison {
        id: MetricId {
            case: case.parse().unwrap(),
            quantity: quantity.0.to_owned(),
        },
        title: format!("Title of {case}"),
        ratio: Some(ratio.1),
        interval: Some(Interval {
            lo: ratio.0,
            hi: ratio.2,
            confidence: 0.95,
        }),
        minutes: Some(Interval {
            lo: f64::midpoint(ratio.0, ratio.1),
            hi: f64::midpoint(ratio.1, ratio.2),
            confidence: 0.95,
        }),
        scatter: (Some(SHIPPED), Some(SHIPPED)).into(),
        margin: 0.05,
        margin_source: MarginSource::Class,
        verdict,
        adjusted: verdict,
        doubt: None,
        needed: None,
        hopeless: None,
        refused: None,
        n: (6, 6).into(),
        values: (Some(values.0), Some(values.1)).into(),
        medians: (Some(values.0), Some(values.1)).into(),
        states: Both::default(),
        floor: None,
    }
}

/// What one run's rounds look like.
fn looks(run: &str, state: State) -> Vec<RunState> {
    let run = run.to_owned();
    vec![RunState { run, state }]
}

/// Slow moments in which the other side is a fifth slower.
fn slower_floor() -> FloorComparison {
    FloorComparison {
        ratio: Some(0.8),
        interval: Some(Interval {
            lo: 0.75,
            hi: 0.85,
            confidence: 0.95,
        }),
        verdict: Verdict::Worse,
        adjusted: Verdict::Worse,
        values: (Some(2.2e6), Some(1.76e6)).into(),
        medians: (Some(2.21e6), Some(1.75e6)).into(),
        doubt: None,
        slow_shares: (Some(0.031), Some(0.12)).into(),
    }
}

/// Two runs and what could have been concluded from them: one metric for each verdict and refusal.
pub(crate) fn comparison() -> (Run, Run, Comparison) {
    let base = normal();
    let mut other = normal();
    other.meta.id = "20261122-010000-aaaa".to_owned();
    other.meta.label = Some("cloud ssd".to_owned());
    let unclear = MetricComparison {
        needed: Some(RoundsNeeded::Rounds(14)),
        ..compared(
            "os.spawn@1",
            OPS,
            (4321.0, 4300.0),
            (0.9, 0.995, 1.1),
            Verdict::Unclear,
        )
    };
    let noisy = MetricComparison {
        needed: Some(RoundsNeeded::NotAtThisNoise),
        hopeless: Some(Hopeless::BetweenRounds),
        ..compared(
            "fs.copy-1024@1",
            BYTES,
            (1.5e9, 1.9e9),
            (0.5, 1.27, 2.9),
            Verdict::Unclear,
        )
    };
    let refused = |case: &str, refusal: Refusal| MetricComparison {
        ratio: None,
        interval: None,
        refused: Some(refusal),
        ..compared(case, OPS, (1.0, 1.0), (1.0, 1.0, 1.0), Verdict::Unclear)
    };
    let mut metrics = vec![
        compared(
            "os.pipe@1",
            OPS,
            (1.2e6, 1.5e6),
            (1.21, 1.25, 1.29),
            Verdict::Better,
        ),
        compared(
            "os.pipe@2",
            OPS,
            (2.3e6, 2.31e6),
            (0.99, 1.004, 1.02),
            Verdict::Same,
        ),
        unclear,
        noisy,
        compared(
            "storage.randread@1",
            OPS,
            (1e4, 9.3e3),
            (0.90, 0.93, 0.96),
            Verdict::WorseMaybe,
        ),
        compared(
            "storage.randread@1",
            P99,
            (1e5, 1.2e5),
            (0.80, 0.833, 0.87),
            Verdict::Worse,
        ),
    ];
    metrics[1].floor = Some(slower_floor());
    metrics[4].doubt = Some(Inside::Others);
    metrics[4].scatter.base = Some(Scatter {
        deviation: 0.02,
        source: ScatterSource::Earlier { runs: 7 },
    });
    metrics[0].states.other = looks("20261122-010000-aaaa", State::Unstable { spread: 0.23 });
    metrics[2].states.base = looks("20261121-004311-9f3c", State::Drifting { change: -0.07 });
    let cases = [
        "os.a@1", "os.b@1", "os.c@1", "os.d@1", "os.e@1", "os.f@1", "os.g@1", "os.h@1", "os.i@1",
        "os.j@1", "os.k@1", "os.l@1", "os.m@1", "os.n@1", "os.o@1", "os.p@1", "os.q@1", "os.r@1",
        "os.s@1", "os.t@1",
    ];
    assert_eq!(cases.len(), all_refusals().len());
    metrics.extend(
        all_refusals()
            .into_iter()
            .zip(cases)
            .map(|(refusal, case)| refused(case, refusal)),
    );
    let comparison = Comparison {
        metrics,
        left_out: Vec::new(),
        categories: vec![CategoryComparison {
            category: "os".to_owned(),
            ratio: 1.08,
            interval: Some(Interval {
                lo: 1.05,
                hi: 1.11,
                confidence: 0.95,
            }),
            margin: 0.05,
            verdict: Verdict::BetterMaybe,
            doubt: None,
            metrics: 3,
        }],
        paired: false,
        estimator: Estimator::Rounds,
        looked: false,
        disturbed: Both::default(),
        scope: Scope {
            place: Place::TwoInstances,
            watched: Watched::Once {
                span: Nanos::from_secs(720),
            },
        },
        earlier: (vec!["20261119-004311-77aa".to_owned()], Vec::new()).into(),
        dependence: (vec![0.1], vec![0.35]).into(),
        repeats: Vec::new(),
        joined: Vec::new(),
        not_joined: Vec::new(),
        differences: vec![Difference {
            what: "kernel: release".to_owned(),
            base: "3.2.0".to_owned(),
            other: "4.0.0".to_owned(),
        }],
    };
    (base, other, comparison)
}

/// Fails where a sentence is none: empty, on several lines, with a full stop, said twice, or not in its language.
pub(crate) fn assert_sentences(all: &[String], lang: Lang) {
    let japanese = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}');
    for (i, sentence) in all.iter().enumerate() {
        let is_line = !sentence.is_empty() && !sentence.contains('\n');
        assert!(is_line && !sentence.ends_with(['.', '。']), "{sentence}");
        assert!(!all[..i].contains(sentence), "said twice: {sentence}");
        assert_eq!(sentence.contains(japanese), lang == Lang::Ja, "{sentence}");
    }
}
