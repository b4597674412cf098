//! E1: the same machine twice. Whoever calls it different is wrong.
//!
//! Two ways. Pairs of whole runs, one after the other, compared as a user would: they contain what the machine does
//! between one run and the next. And one long session whose rounds are dealt out to two sides at random, ten
//! thousand times: they contain the noise within a session alone, and show the rate of errors to a fraction of a
//! percent. Simpler readers are scored on the same figures.

use super::book::Book;
use super::check::{Check, percent};
use super::lab::{Call, Lab};
use super::score::{self, differs};
use super::sessions::{Finding, findings};
use anyhow::{Context, ensure};
use model::comparison::Verdict;
use model::plan::MetricId;
use model::record::{Outcome, Round, Run};
use model::rng::Rng;
use model::spec::Better;
use stats::CompareOptions;
use std::collections::BTreeMap;

/// Tests of different families; what a file system and a CPU do differently, they do here.
const TESTS: [&str; 4] = ["cpu.dhrystone", "os.pipe", "os.syscall", "fs.copy-1024"];

/// Rounds of a run: what a verdict needs at least.
const PASSES: &str = "6";

/// At most this share may be wrong.
const WRONG_MAX: f64 = 0.05;

/// The experiment.
pub(super) fn run(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let pairs: Vec<Pair> = (0..lab.options.pairs)
        .map(|index| pair(lab, book, index))
        .collect::<anyhow::Result<_>>()?;
    let mut checks = of_pairs(&pairs);
    checks.extend(of_session(lab, book)?);
    Ok(checks)
}

/// Two runs of the same thing, and how they compare.
struct Pair {
    findings: Vec<Finding>,
    /// For each metric the rounds of both.
    rounds: Vec<(Vec<f64>, Vec<f64>)>,
}

fn measure(lab: &Lab, book: &Book, passes: &str, label: &str) -> anyhow::Result<()> {
    let more = [
        "--passes", passes, "--copies", "1", "--label", label, "--json", "--quiet",
    ];
    let call = Call::new("e1.db", &["run"]).with(&TESTS).with(&more);
    lab.document(book, &call).map(|_| ())
}

fn pair(lab: &Lab, book: &Book, index: usize) -> anyhow::Result<Pair> {
    let labels = ["a", "b"].map(|side| format!("pair-{index}-{side}"));
    for label in &labels {
        measure(lab, book, PASSES, label)?;
    }
    let call = Call::new(
        "e1.db",
        &["compare", &labels[0], &labels[1], "--format", "json"],
    );
    let document = lab.document(book, &call)?;
    book.document(&format!("pair {index}"), &document);
    let findings = findings(&document)?;
    let runs = [lab.run("e1.db", &labels[0])?, lab.run("e1.db", &labels[1])?];
    let mut rounds = Vec::new();
    for finding in &findings {
        let [a, b] = [
            values(&runs[0], &finding.id)?,
            values(&runs[1], &finding.id)?,
        ];
        let cells = [
            index.to_string(),
            finding.id.clone(),
            format!("{:.5}", finding.ratio),
        ];
        let words = [finding.verdict.clone(), finding.adjusted.clone()];
        book.sample(
            "pair,metric,ratio,verdict,adjusted",
            &[&cells[..], &words[..]].concat(),
        );
        rounds.push((a, b));
    }
    Ok(Pair { findings, rounds })
}

fn values(run: &Run, id: &str) -> anyhow::Result<Vec<f64>> {
    let id = id_of(run, id)?;
    Ok(stats::rounds::values(run, &id))
}

fn id_of(run: &Run, id: &str) -> anyhow::Result<MetricId> {
    let ids = rate_ids(run);
    let found = ids.into_iter().find(|known| known.to_string() == id);
    found.with_context(|| format!("the run has no metric `{id}`"))
}

/// The metrics of which more is better: every test here has one, its rate.
fn rate_ids(run: &Run) -> Vec<MetricId> {
    let cases = run.plan.cases.iter();
    cases
        .flat_map(|case| {
            let rates = case
                .metrics
                .iter()
                .filter(|metric| metric.better == Better::Higher);
            rates.map(|metric| MetricId {
                case: case.id.clone(),
                quantity: metric.quantity.clone(),
            })
        })
        .collect()
}

fn of_pairs(pairs: &[Pair]) -> Vec<Check> {
    let wrong = |pair: &&Pair| {
        pair.findings
            .iter()
            .any(|f| is_final_difference(&f.adjusted))
    };
    let all = || pairs.iter().flat_map(|pair| &pair.findings);
    let unadjusted = |f: &&Finding| ["better", "worse"].contains(&f.verdict.as_str());
    let rounds = || pairs.iter().flat_map(|pair| &pair.rounds);
    let metrics = all().count();
    let single = rounds().filter(|(a, b)| one_each(a, b, 0, 0)).count();
    let third = rounds().filter(|(a, b)| score::by_unixbench(a, b)).count();
    let mean = rounds().filter(|(a, b)| score::by_mean(a, b)).count();
    vec![
        Check::at_most(
            "pairs of runs with any `better` or `worse`",
            pairs.iter().filter(wrong).count(),
            pairs.len(),
            WRONG_MAX,
        ),
        Check::reported(
            "metrics of pairs with `better` or `worse`, not corrected",
            score::rate(all().filter(unadjusted).count(), metrics),
        ),
        Check::reported(
            "metrics of pairs with any direction, corrected",
            score::rate(all().filter(|f| f.has_direction()).count(), metrics),
        ),
        Check::reported(
            "peer, pairs of runs: one round each, 3 % rule",
            score::rate(single, metrics),
        ),
        Check::reported(
            "peer, pairs of runs: UnixBench's mean, 3 % rule",
            score::rate(third, metrics),
        ),
        Check::reported(
            "peer, pairs of runs: mean of 6, 3 % rule",
            score::rate(mean, metrics),
        ),
    ]
}

fn is_final_difference(word: &str) -> bool {
    ["better", "worse"].contains(&word)
}

fn one_each(a: &[f64], b: &[f64], i: usize, j: usize) -> bool {
    matches!((a.get(i), b.get(j)), (Some(&a), Some(&b)) if differs(a, b))
}

/// How often each reader is wrong about labels that mean nothing.
#[derive(Debug, Default)]
struct Tally {
    shuffles: usize,
    any: usize,
    /// For each metric: intervals that exclude 1, corrected verdicts with a direction.
    metrics: BTreeMap<String, [usize; 2]>,
    single: usize,
    third: usize,
    mean: usize,
}

fn of_session(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let passes = lab.options.passes.next_multiple_of(2);
    measure(lab, book, &passes.to_string(), "session")?;
    let run = lab.run("e1.db", "session")?;
    let tally = shuffle(run, lab.options.shuffles, lab.options.seed)?;
    let metrics = tally.metrics.len() * tally.shuffles;
    let mut checks = vec![Check::at_most(
        format!("labels dealt out anew to {passes} passes: any `better` or `worse`"),
        tally.any,
        tally.shuffles,
        WRONG_MAX,
    )];
    for (id, [interval, direction]) in &tally.metrics {
        // The share of one recording is itself an estimate: it is held to the bound with its uncertainty.
        let (lo, _) = score::wilson(*interval, tally.shuffles).context("nothing was shuffled")?;
        checks.push(Check::bound(
            format!("`{id}`: 95 % interval excludes no difference"),
            score::rate(*interval, tally.shuffles),
            format!("{} within its interval", percent(WRONG_MAX)),
            lo <= WRONG_MAX,
        ));
        checks.push(Check::reported(
            format!("`{id}`: direction after correction"),
            score::rate(*direction, tally.shuffles),
        ));
    }
    checks.extend([
        Check::reported(
            "peer, dealt rounds: one each, 3 % rule",
            score::rate(tally.single, metrics),
        ),
        Check::reported(
            format!(
                "peer, dealt rounds: UnixBench's mean of {}, 3 % rule",
                passes / 2
            ),
            score::rate(tally.third, metrics),
        ),
        Check::reported(
            format!("peer, dealt rounds: mean of {}, 3 % rule", passes / 2),
            score::rate(tally.mean, metrics),
        ),
    ]);
    Ok(checks)
}

/// Deals the passes of `run` out to two sides, again and again, and asks every reader.
fn shuffle(mut run: Run, shuffles: usize, seed: u64) -> anyhow::Result<Tally> {
    let rounds = std::mem::take(&mut run.rounds);
    let mut passes: Vec<u32> = rounds.iter().map(|round| round.pass).collect();
    passes.sort_unstable();
    passes.dedup();
    ensure!(
        passes.len() >= 12,
        "{} passes give no two sides of six",
        passes.len()
    );
    let light: Vec<Round> = rounds.into_iter().map(lightened).collect();
    let ids = rate_ids(&run);
    let (mut a, mut b) = (run.clone(), run);
    let mut tally = Tally::default();
    let mut rng = Rng::stream(seed, 1);
    for _ in 0..shuffles {
        rng.shuffle(&mut passes);
        let first = &passes[..passes.len() / 2];
        let (on_a, on_b) = light
            .iter()
            .cloned()
            .partition(|round| first.contains(&round.pass));
        a.rounds = on_a;
        b.rounds = on_b;
        tally.add(&a, &b, &ids, &mut rng);
    }
    Ok(tally)
}

/// A round without what no comparison needs: it is copied ten thousand times.
fn lightened(mut round: Round) -> Round {
    if let Outcome::Done(measured) = &mut round.outcome {
        measured.windows.clear();
        measured.copies.clear();
    }
    round
}

impl Tally {
    fn add(&mut self, a: &Run, b: &Run, ids: &[MetricId], rng: &mut Rng) {
        self.shuffles += 1;
        let comparison = stats::compare(a, b, &CompareOptions::default());
        let final_difference = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
        let metrics = &comparison.metrics;
        self.any += usize::from(
            metrics
                .iter()
                .any(|metric| final_difference(metric.adjusted)),
        );
        for metric in metrics.iter().filter(|metric| ids.contains(&metric.id)) {
            let wrong = self.metrics.entry(metric.id.to_string()).or_default();
            let excludes = metric.interval.is_some_and(|i| i.lo > 1.0 || i.hi < 1.0);
            let directed = !matches!(metric.adjusted, Verdict::Same | Verdict::Unclear);
            wrong[0] += usize::from(excludes);
            wrong[1] += usize::from(directed);
            let [on_a, on_b] = [a, b].map(|run| stats::rounds::values(run, &metric.id));
            let (i, j) = (rng.index(on_a.len()), rng.index(on_b.len()));
            self.single += usize::from(one_each(&on_a, &on_b, i, j));
            self.third += usize::from(score::by_unixbench(&on_a, &on_b));
            self.mean += usize::from(score::by_mean(&on_a, &on_b));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_wrong_where_any_metric_is_called_different() {
        let pair = |words: &[&str]| Pair {
            findings: words
                .iter()
                .map(|word| Finding {
                    id: "x".to_owned(),
                    ratio: 1.0,
                    ends: (0.9, 1.1),
                    verdict: (*word).to_owned(),
                    adjusted: (*word).to_owned(),
                    n: 6,
                    margin: 0.05,
                })
                .collect(),
            rounds: vec![(vec![100.0; 6], vec![104.0; 6])],
        };
        let checks = of_pairs(&[pair(&["same", "worse?"]), pair(&["unclear", "better"])]);
        assert!(checks[0].figure.starts_with("1 of 2"), "{:?}", checks[0]);
        assert_eq!(checks[0].judged, super::super::check::Judged::Broken);
        assert!(checks[2].figure.starts_with("2 of 4"));
        assert!(checks[3].figure.starts_with("2 of 4"), "{:?}", checks[3]);
    }
}
