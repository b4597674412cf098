//! How often runs of one machine are called different: every pair of kept runs, as `kurabe compare` judges it, and what
//! simpler readers would have said of the same rounds.
//!
//! Both runs of a pair are of one machine, so that whoever calls them different is wrong about the machine, whatever
//! the minutes were like. Pairs are counted by what ran beside them (the tag `load` of a run) and by whether they are
//! of one sitting: runs that began within an hour of each other.

use crate::asked;
use crate::truth::score;
use clap::Parser;
use model::comparison::{Comparison, Verdict};
use model::num::count;
use model::record::Run;
use model::spec::Better;
use stats::CompareOptions;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs that began closer together than this, in ns, are of one sitting.
const SITTING: u64 = 3_600_000_000_000;

/// Options of `cargo lab sittings`.
#[derive(Parser)]
#[command(
    name = "cargo lab sittings",
    no_binary_name = true,
    about = "How often pairs of kept runs of one machine are called different, by kurabe and by simpler readers"
)]
struct Options {
    /// Where the runs are kept
    #[arg(required = true, value_name = "STORE")]
    stores: Vec<PathBuf>,
}

/// Prints a table of the rates, and one of the metrics that were called different.
pub(crate) fn run(_root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let mut runs = asked::runs(&options.stores)?;
    runs.sort_by_key(|run| run.meta.started);
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut metrics: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (second, other) in runs.iter().enumerate() {
        for base in &runs[..second] {
            if !stats::scope::of_one_machine(&[base, other]) {
                continue;
            }
            let called = called(base, other, &runs);
            for (metric, verdict) in &called.told {
                let seen = metrics.entry(metric.clone()).or_default();
                seen[0] += 1;
                seen[1] += usize::from(is_final(*verdict));
            }
            for key in [kind(base, other), "all".to_owned()] {
                tallies.entry(key).or_default().add(&called);
            }
        }
    }
    say!(
        "| pairs of runs | n | better, worse | with `?` | with earlier runs | minutes alone (`--scatter 0`) | mean, 3 % | UnixBench's mean, 3 % | one round, 3 % |\n|---|---|---|---|---|---|---|---|---|"
    );
    for (kind, tally) in &tallies {
        let shares = tally.hits.map(|hits| score::rate(hits, tally.pairs));
        say!("| {kind} | {} | {} |", tally.pairs, shares.join(" | "));
    }
    say!("\n| metric | pairs | called better or worse, % |\n|---|---|---|");
    for (metric, [seen, wrong]) in metrics.iter().filter(|(_, [_, wrong])| *wrong > 0) {
        let share = 100.0 * count(*wrong) / count(*seen);
        say!("| `{metric}` | {seen} | {share:.1} |");
    }
    Ok(())
}

/// What ran beside either run, and whether both are of one sitting.
fn kind(base: &Run, other: &Run) -> String {
    let load = |run: &Run| {
        run.meta
            .tags
            .get("load")
            .map_or("none", String::as_str)
            .to_owned()
    };
    let mut loads = [load(base), load(other)];
    loads.sort();
    let apart = other.meta.started.0.abs_diff(base.meta.started.0);
    let sitting = if apart < SITTING {
        "one sitting"
    } else {
        "two sittings"
    };
    format!("load {} and {}, {sitting}", loads[0], loads[1])
}

/// What is said of a pair.
struct Called {
    /// By whom a difference was called, in the order of the columns.
    hits: [bool; 7],
    /// The verdicts of metrics that have an interval.
    told: Vec<(String, Verdict)>,
}

fn is_final(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

fn called(base: &Run, other: &Run, kept: &[Run]) -> Called {
    let shipped = stats::compare(base, other, &CompareOptions::default());
    let options = CompareOptions {
        earlier: kept,
        ..CompareOptions::default()
    };
    let stored = stats::compare(base, other, &options);
    let options = CompareOptions {
        scatter: Some(0.0),
        ..CompareOptions::default()
    };
    let minutes = stats::compare(base, other, &options);
    let any = |comparison: &Comparison, of: fn(Verdict) -> bool| {
        comparison.metrics.iter().any(|metric| of(metric.adjusted))
    };
    let maybe = |verdict| matches!(verdict, Verdict::BetterMaybe | Verdict::WorseMaybe);
    let told: Vec<_> = shipped
        .metrics
        .iter()
        .filter(|metric| metric.interval.is_some())
        .collect();
    let leading = |rule: fn(&[f64], &[f64]) -> bool| {
        let cases = base.plan.cases.iter();
        let mut rates = cases.filter_map(|case| {
            let lead = case.metrics.first()?;
            let id = model::plan::MetricId {
                case: case.id.clone(),
                quantity: lead.quantity.clone(),
            };
            (lead.better == Better::Higher).then_some(id)
        });
        rates.any(|id| {
            rule(
                &stats::rounds::values(base, &id),
                &stats::rounds::values(other, &id),
            )
        })
    };
    Called {
        hits: [
            any(&shipped, is_final),
            any(&shipped, maybe),
            any(&stored, is_final),
            any(&minutes, is_final),
            leading(score::by_mean),
            leading(score::by_unixbench),
            leading(by_one),
        ],
        told: told
            .into_iter()
            .map(|metric| (metric.id.to_string(), metric.adjusted))
            .collect(),
    }
}

fn by_one(a: &[f64], b: &[f64]) -> bool {
    matches!((a.first(), b.first()), (Some(&a), Some(&b)) if score::differs(a, b))
}

/// How often a difference was called.
#[derive(Default)]
struct Tally {
    pairs: usize,
    hits: [usize; 7],
}

impl Tally {
    fn add(&mut self, called: &Called) {
        self.pairs += 1;
        for (hits, hit) in self.hits.iter_mut().zip(called.hits) {
            *hits += usize::from(hit);
        }
    }
}
