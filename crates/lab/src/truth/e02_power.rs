//! E2: a difference that is there must be found.
//!
//! Duels in which one side is slowed down by a known amount: a CPU quota, or a disk that may serve so many reads a
//! second. The disk's other side is throttled too, to half of what the disk does by itself, because a disk that is
//! faster in one minute than in the next would hide a difference of 3 % in its own.

use super::book::Book;
use super::check::{Check, percent};
use super::lab::{Lab, spread};
use super::sessions::{Duel, duel, or_dash, rates};
use super::subject::{Subject, on_both};
use super::throttle::command;
use anyhow::Context;
use model::num::approx;
use stats::looks::LOOKS;
use stats::quantile;
use std::collections::BTreeMap;

/// What is left of the speed on side B.
const LEVELS: [f64; 3] = [0.97, 0.95, 0.90];

/// The bounds hold where a round scatters by at most this share.
const QUIET: f64 = 0.01;

/// The most reads a second of side A of a disk: enough for a round, little enough for several disks at the same time.
const IOPS_MAX: f64 = 2_000.0;

/// The experiment.
pub(super) fn run(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    on_both(
        lab,
        // Set anew before each round, 97 % of a period of 10 ms came out as 90 %.
        || at_levels(lab, book, &[Subject::cpu(lab)?], None),
        || {
            let disks = Subject::disks(lab)?;
            let base = base_rate(lab, book, &disks)?;
            let what = "disk: reads a second of side A";
            let mut checks = vec![Check::reported(what, base.to_string())];
            checks.extend(at_levels(lab, book, &disks, Some(base))?);
            Ok(checks)
        },
    )
}

/// Duels between `full` and a share of it; without one, between no limit and a share of a CPU.
fn at_levels(
    lab: &Lab,
    book: &Book,
    subjects: &[Subject],
    full: Option<f64>,
) -> anyhow::Result<Vec<Check>> {
    let what = subjects[0].what;
    let mut checks = Vec::new();
    for level in LEVELS {
        let limits = [full, Some(full.unwrap_or(1.0) * level)];
        let duels = spread(lab.options.sessions, subjects, |session, subject| {
            let sides = limits.map(|limit| command(&subject.limit(limit)));
            let call = subject.duel(&format!("e2-{what}-{session}.db"), &[]);
            let label = format!("{what} {} session {session}", percent(1.0 - level));
            duel(lab, book, &label, &call, [&sides[0], &sides[1]])
        })?;
        checks.extend(judged(what, level, &duels, book));
    }
    Ok(checks)
}

/// Half of what a disk does by itself while all the others are at work too.
fn base_rate(lab: &Lab, book: &Book, disks: &[Subject]) -> anyhow::Result<f64> {
    let speeds = spread(disks.len(), disks, |session, disk| {
        let label = format!("base-{session}");
        let store = format!("e2-base-{session}.db");
        lab.text(book, &disk.run(&store, &label, &["--passes", "3"]))?;
        let run = lab.run(&store, &label)?;
        let iops = super::e03_accuracy::iops(&run).context("a disk has no rate")?;
        quantile::median(&iops).context("a disk has no rate")
    })?;
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((slowest / 2.0).min(IOPS_MAX).round())
}

/// What the duels at one level must have said, and what they said.
fn judged(what: &str, level: f64, duels: &[Duel], book: &Book) -> Vec<Check> {
    let slower = percent(1.0 - level);
    let deviations: Vec<f64> = duels.iter().filter_map(Duel::deviation).collect();
    let typical = quantile::median(&deviations);
    for duel in duels {
        let found = &duel.finding;
        let cells = [
            what.to_owned(),
            format!("{level}"),
            format!("{:.5}", found.ratio),
            found.adjusted.clone(),
            found.n.to_string(),
            or_dash(duel.deviation()),
            scatter(duel),
        ];
        book.sample("what,level,ratio,verdict,pairs,deviation,rounds_b", &cells);
    }
    let is_quiet = |duel: &&Duel| duel.deviation().is_some_and(|sd| sd <= QUIET);
    let quiet: Vec<&Duel> = duels.iter().filter(is_quiet).collect();
    let noisy = quiet.is_empty().then(|| {
        let typical = typical.map_or("unknown".to_owned(), percent);
        format!("no session with a scatter up to 1 %; the median is {typical}")
    });
    let of_quiet = |hit: &dyn Fn(&Duel) -> bool| quiet.iter().filter(|duel| hit(duel)).count();
    let name = format!("{what} slower by {slower}, sessions that scatter up to 1 %");
    // A slowdown within the margin is the same by definition, and must not be called worse by more than that.
    let within = quiet
        .iter()
        .all(|duel| 1.0 - level < duel.finding.margin - f64::EPSILON);
    let main = if level > 0.96 && within {
        let worse = of_quiet(&|duel| duel.finding.adjusted == "worse");
        let name = format!("{name}, less than the margin: `worse`");
        Check::at_most(name, worse, quiet.len(), 0.05)
    } else if level > 0.96 {
        let same = of_quiet(&|duel| duel.finding.adjusted == "same");
        Check::at_most(format!("{name}: `same`"), same, quiet.len(), 0.05)
    } else {
        let found = of_quiet(&|duel| duel.finding.is_worse());
        let least = if level > 0.94 { 0.95 } else { 1.0 };
        Check::at_least(
            format!("{name}: `worse` or `worse?`"),
            found,
            quiet.len(),
            least,
        )
    };
    let looks = duels
        .iter()
        .filter(|duel| LOOKS.iter().any(|&look| u64::from(look) == duel.finding.n));
    vec![
        main.unless(noisy),
        Check::reported(
            format!("{what} slower by {slower}, all sessions: verdicts"),
            words(duels),
        ),
        Check::reported(
            format!("{what} slower by {slower}: median ratio; scatter of a round; pairs"),
            figures(duels, typical),
        ),
        Check::at_least(
            format!("{what} slower by {slower}: duels that ended at a look"),
            looks.count(),
            duels.len(),
            1.0,
        ),
    ]
}

fn scatter(duel: &Duel) -> String {
    let values = rates(&duel.b).unwrap_or_default();
    let texts: Vec<String> = values.iter().map(|value| format!("{value:.5e}")).collect();
    texts.join(" ")
}

/// How often each word was said.
pub(super) fn words(duels: &[Duel]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for duel in duels {
        *counts.entry(&duel.finding.adjusted).or_default() += 1;
    }
    let texts: Vec<String> = counts
        .iter()
        .map(|(word, n)| format!("`{word}` {n}"))
        .collect();
    texts.join(", ")
}

fn figures(duels: &[Duel], typical: Option<f64>) -> String {
    let median = |value: &dyn Fn(&Duel) -> f64| {
        quantile::median(&duels.iter().map(value).collect::<Vec<_>>())
    };
    format!(
        "{}; {}; {}",
        or_dash(median(&|duel| duel.finding.ratio)),
        typical.map_or("-".to_owned(), percent),
        or_dash(median(&|duel| approx(duel.finding.n)))
    )
}
