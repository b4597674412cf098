//! E6: something that comes back every ten seconds must be named with its period, and nothing on a quiet machine.
//!
//! For one second in ten the limit is halved. The quiet twin of each session is the same without that.

use super::book::Book;
use super::check::Check;
use super::lab::{Lab, spread};
use super::score;
use super::sessions::{Soak, or_dash, soak_of};
use super::subject::{Subject, on_both};
use super::throttle::PERIOD_US;
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
const IOPS: f64 = 1_000.0;

/// The experiment.
pub(super) fn run(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    on_both(
        lab,
        || examine(lab, book, &Subject::cpus(lab, PERIOD_US)?, CPUS),
        || examine(lab, book, &Subject::disks(lab)?, IOPS),
    )
}

/// Sessions that are treated, and then as many that are not.
fn examine(lab: &Lab, book: &Book, subjects: &[Subject], full: f64) -> anyhow::Result<Vec<Check>> {
    let (what, sessions) = (subjects[0].what, lab.options.sessions);
    let soaks = spread(2 * sessions, subjects, |n, subject| {
        session(lab, book, subject, full, (n, n < sessions))
    })?;
    Ok(judged(what, &soaks, sessions, book))
}

/// A soak; where it is `treated`, half of the limit holds for one second in ten.
fn session(
    lab: &Lab,
    book: &Book,
    subject: &Subject,
    full: f64,
    (session, treated): (usize, bool),
) -> anyhow::Result<Soak> {
    let what = subject.what;
    let store = format!("e6-{what}-{session}.db");
    let call = subject.soak(&store, lab.options.period_seconds, "1s");
    subject.set(Some(full))?;
    let mut running = lab.start(book, &call)?;
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
            subject.set(Some(if slow { full / 2.0 } else { full }))?;
        }
    };
    let document: Value = serde_json::from_str(&text).context("read what a soak printed")?;
    let word = if treated { "treated" } else { "quiet" };
    book.document(&format!("{what} {session} {word}"), &document);
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
    vec![
        Check::at_least(
            format!("{what}: period of 10 +- 0.5 s named"),
            treated.iter().filter(right).count(),
            treated.len(),
            0.95,
        ),
        Check::reported(
            format!("{what}: error of the period, median and worst"),
            score::errors(&errors),
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
