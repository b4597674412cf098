//! E2: a difference that is there must be found.
//!
//! Duels in which one side is slowed down by a known amount: a CPU quota, or a disk that may serve so many reads a
//! second. The disk's other side is throttled too, to half of what the disk does by itself, because a disk that is
//! faster in one minute than in the next would hide a difference of 3 % in its own.

use super::Experiment;
use super::book::Book;
use super::check::{Check, percent};
use super::lab::{Call, Lab, Slot, spread};
use super::sessions::{Duel, duel, or_dash, rates};
use super::throttle::{Group, PERIOD_DEFAULT_US, command};
use anyhow::Context;
use model::num::{approx, round_to_u64};
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
pub(crate) struct Power;

impl Experiment for Power {
    fn name(&self) -> &'static str {
        "E2"
    }

    fn what(&self) -> &'static str {
        "known slowdowns of 3, 5 and 10 %"
    }

    fn needs_root(&self) -> bool {
        true
    }

    fn run(&self, lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
        let mut checks = Vec::new();
        if lab.options.cpu() {
            // Set anew before each round, 97 % of a period of 10 ms came out as 90 %.
            let group = lab.group()?.with_period(PERIOD_DEFAULT_US);
            for level in LEVELS {
                let duels: Vec<Duel> = (0..lab.options.sessions)
                    .map(|session| on_cpu(lab, book, &group, level, session))
                    .collect::<anyhow::Result<_>>()?;
                checks.extend(judged("CPU", level, &duels, book));
            }
        }
        if lab.options.disk() {
            match lab.lacks(&lab.options.disk_test) {
                Some(why) => checks.push(Check::skipped("disk", why)),
                None => checks.extend(on_disks(lab, book)?),
            }
        }
        Ok(checks)
    }
}

fn on_cpu(
    lab: &Lab,
    book: &Book,
    group: &Group,
    level: f64,
    session: usize,
) -> anyhow::Result<Duel> {
    let call = Call::new("e2.db", &[lab.options.cpu_test.as_str()]).within(group);
    let sides = [command(&group.cpu(None)), command(&group.cpu(Some(level)))];
    let label = format!("CPU {} session {session}", percent(1.0 - level));
    duel(lab, book, &label, &call, [&sides[0], &sides[1]])
}

fn on_disks(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let slots = lab.slots(lab.options.sessions)?;
    let base = base_rate(lab, book, &slots)?;
    let mut checks = vec![Check::reported(
        "disk: reads a second of side A",
        base.to_string(),
    )];
    for level in LEVELS {
        let duels = spread(lab.options.sessions, &slots, |session, slot| {
            on_disk(lab, book, slot, base, level, session)
        })?;
        checks.extend(judged("disk", level, &duels, book));
    }
    Ok(checks)
}

/// Half of what a disk does by itself while all the others are at work too.
fn base_rate(lab: &Lab, book: &Book, slots: &[Slot]) -> anyhow::Result<u64> {
    let speeds = spread(slots.len(), slots, |session, slot| {
        let label = format!("base-{session}");
        let more = [
            "--passes",
            "3",
            "--copies",
            "1",
            "--dir",
            &slot.disk.path(),
            "--label",
            &label,
        ];
        let store = format!("e2-base-{session}.db");
        let call = Call::new(&store, &["run", &lab.options.disk_test, "--quiet"]).with(&more);
        lab.text(book, &call)?;
        let run = lab.run(&store, &label)?;
        let iops = super::e03_accuracy::iops(&run).context("a disk has no rate")?;
        quantile::median(&iops).context("a disk has no rate")
    })?;
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(round_to_u64((slowest / 2.0).min(IOPS_MAX)))
}

fn on_disk(
    lab: &Lab,
    book: &Book,
    slot: &Slot,
    base: u64,
    level: f64,
    session: usize,
) -> anyhow::Result<Duel> {
    let dir = format!("dir={}", slot.disk.path());
    let store = format!("e2-disk-{session}.db");
    let call = Call::new(&store, &[&lab.options.disk_test, "--a", &dir, "--b", &dir]);
    let limits = [base, round_to_u64(approx(base) * level)]
        .map(|iops| command(&[slot.group.read_iops(&slot.disk.number, Some(iops))]));
    let label = format!("disk {} session {session}", percent(1.0 - level));
    let call = call.within(&slot.group);
    duel(lab, book, &label, &call, [&limits[0], &limits[1]])
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
