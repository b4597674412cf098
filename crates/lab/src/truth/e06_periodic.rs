//! E6: something that comes back every ten seconds must be named with its period, and nothing on a quiet machine.
//!
//! For one second in ten the limit is halved. The quiet twin of each session is the same without that.

use super::Experiment;
use super::book::Book;
use super::check::{Check, percent};
use super::lab::{Call, Lab, cpus, spread};
use super::score;
use super::sessions::{Soak, or_dash, soak_call, soak_of};
use super::throttle::{Write, apply};
use anyhow::Context;
use model::num::round_to_u64;
use serde_json::Value;
use sys::clock::{monotonic, sleep_until};

/// The period, the slow part of it, and how far the answer may be off, in seconds.
const PERIOD: f64 = 10.0;
const SLOW: f64 = 1.0;
const WITHIN: f64 = 0.5;

/// The full limits: nearly a CPU, and reads a second.
const CPUS: f64 = 0.9;
const IOPS: u64 = 1_000;

/// The experiment.
pub(crate) struct Periodic;

impl Experiment for Periodic {
    fn name(&self) -> &'static str {
        "E6"
    }

    fn what(&self) -> &'static str {
        "half the speed for one second in ten"
    }

    fn needs_root(&self) -> bool {
        true
    }

    fn run(&self, lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
        if let Some(why) = lab.lacks_soak() {
            return Ok(vec![Check::skipped("period", why)]);
        }
        let mut checks = Vec::new();
        if lab.options.disk() {
            match lab.lacks(&lab.options.disk_test) {
                Some(why) => checks.push(Check::skipped("disk", why)),
                None => checks.extend(on_disks(lab, book)?),
            }
        }
        if lab.options.cpu() {
            checks.extend(on_cpus(lab, book)?);
        }
        Ok(checks)
    }
}

fn on_disks(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let sessions = lab.options.sessions;
    let slots = lab.slots(sessions)?;
    let soaks = spread(2 * sessions, &slots, |n, slot| {
        let store = format!("e6-d{n}.db");
        let call = soak_call(
            &store,
            &lab.options.disk_test,
            lab.options.period_seconds,
            "1s",
        )
        .with(&["--dir", &slot.disk.path()])
        .within(&slot.group);
        let limits =
            [IOPS, IOPS / 2].map(|iops| vec![slot.group.read_iops(&slot.disk.number, Some(iops))]);
        session(
            lab,
            book,
            &call,
            &format!("disk {n}"),
            &limits,
            n < sessions,
        )
    })?;
    Ok(judged("disk", &soaks, sessions, book))
}

fn on_cpus(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let sessions = lab.options.sessions;
    let soaks = spread(2 * sessions, &cpus()?, |n, &cpu| {
        let group = lab.group()?;
        let store = format!("e6-c{n}.db");
        let mut call = soak_call(
            &store,
            &lab.options.cpu_test,
            lab.options.period_seconds,
            "1s",
        );
        call.cpu = Some(cpu);
        let limits = [CPUS, CPUS / 2.0].map(|cpus| group.cpu(Some(cpus)));
        session(
            lab,
            book,
            &call.within(&group),
            &format!("CPU {n}"),
            &limits,
            n < sessions,
        )
    })?;
    Ok(judged("CPU", &soaks, sessions, book))
}

/// A soak; where it is `treated`, the second of the limits holds for one second in ten.
fn session(
    lab: &Lab,
    book: &Book,
    call: &Call<'_>,
    label: &str,
    [full, half]: &[Vec<Write>; 2],
    treated: bool,
) -> anyhow::Result<Soak> {
    apply(full)?;
    let mut running = lab.start(book, call)?;
    let start = monotonic();
    let mut edges = edges();
    let text = 'soak: loop {
        let (at, slow) = edges.next().context("time does not end")?;
        let edge = start + round_to_u64(at * 1e9);
        while monotonic() < edge {
            if let Some(text) = running.ended()? {
                break 'soak text;
            }
            sleep_until(edge.min(monotonic() + 50_000_000));
        }
        if treated {
            apply(if slow { half } else { full })?;
        }
    };
    let document: Value = serde_json::from_str(&text).context("read what a soak printed")?;
    let word = if treated { "treated" } else { "quiet" };
    book.document(&format!("{label} {word}"), &document);
    soak_of(&document)
}

/// When the limit changes, in seconds, and whether the slow part begins.
fn edges() -> impl Iterator<Item = (f64, bool)> {
    (1_u64..).flat_map(|n| {
        let begin = model::num::approx(n) * PERIOD;
        [(begin - SLOW, true), (begin, false)]
    })
}

fn judged(what: &str, soaks: &[Soak], treated: usize, book: &Book) -> Vec<Check> {
    let (treated, quiet) = soaks.split_at(treated.min(soaks.len()));
    for (word, soaks) in [("treated", treated), ("quiet", quiet)] {
        for soak in soaks {
            let cells = [
                what.to_owned(),
                word.to_owned(),
                or_dash(named(soak)),
                soak.findings.join(" "),
            ];
            book.sample("what,session,period,findings", &cells);
        }
    }
    let right = |soak: &&Soak| named(soak).is_some_and(|period| (period - PERIOD).abs() <= WITHIN);
    let errors: Vec<f64> = treated
        .iter()
        .filter_map(|soak| Some(named(soak)? / PERIOD - 1.0))
        .collect();
    let figure = score::typical_and_worst(&errors).map_or("-".to_owned(), |(typical, worst)| {
        format!("{} and {}", percent(typical), percent(worst))
    });
    vec![
        Check::at_least(
            format!("{what}: period of 10 +- 0.5 s named"),
            treated.iter().filter(right).count(),
            treated.len(),
            0.95,
        ),
        Check::reported(
            format!("{what}: error of the period, median and worst"),
            figure,
        ),
        Check::at_most(
            format!("{what}, quiet: any period named"),
            quiet.iter().filter(|soak| named(soak).is_some()).count(),
            quiet.len(),
            0.02,
        ),
    ]
}

/// The period that is said, not only computed.
fn named(soak: &Soak) -> Option<f64> {
    let said = soak.findings.iter().any(|finding| finding == "periodic");
    soak.period.filter(|_| said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_second_in_ten_is_slow() {
        let found: Vec<_> = edges().take(4).collect();
        let expect = [(9.0, true), (10.0, false), (19.0, true), (20.0, false)];
        assert_eq!(format!("{found:?}"), format!("{expect:?}"));
    }
}
