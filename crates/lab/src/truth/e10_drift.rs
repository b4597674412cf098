//! E10: a machine that slows down meanwhile must not make its later half look different.
//!
//! The quota of a CPU sinks, or the reads that a disk may do, while the same thing is measured twice: once as two runs,
//! one after the other, which is how classic tools are used, and once as a duel, whose rounds stand next to each other.
//! The first is expected to call the two different in 50 % of cases or more: otherwise the drift is too small to show
//! anything. That is why it is 3 % on a quiet machine, and more where rounds scatter so much that two runs could not
//! tell. And a duel that decides for itself when to end must end at one of its five looks, never in between.

use super::book::Book;
use super::check::{Check, percent};
use super::lab::{Call, Lab, Running};
use super::sessions::{Duel, Finding, duel, end_duel, findings, or_dash, start_duel};
use super::subject::{Subject, on_both};
use anyhow::Context;
use model::num::approx;
use stats::looks::LOOKS;
use stats::quantile;
use sys::clock::{monotonic, sleep};

/// Rounds of a side: one of the looks, so that both ways have the same.
const PASSES: &str = "13";

/// The least that is lost from the first round to the last.
const LOSS: f64 = 0.03;

/// The loss in scatters of a round. Half of it is what two runs differ by; with 13 rounds a side the standard error of
/// that difference is half a scatter (trimmed means, and the drift within each run), so that it stands out fourfold.
const LOSS_OF_SCATTER: f64 = 4.0;

/// The most that is lost: more is no drift any more.
const LOSS_MAX: f64 = 0.2;

/// The reads a second that a disk may do without drift: far below what it can, so that its rounds scatter little.
const IOPS: f64 = 2_000.0;

/// How often the limit is rewritten, in nanoseconds.
const TICK_NS: u64 = 100_000_000;

/// Duels that end when they want, for each four that drift.
const FREE_OF: usize = 4;

/// The experiment.
pub(super) fn run(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let examine = |subject: &Subject, full| Drift { subject, full }.examine(lab, book);
    on_both(
        lab,
        || examine(&Subject::cpu(lab)?, 1.0),
        || examine(&Subject::disk(lab)?, IOPS),
    )
}

/// What slows down.
struct Drift<'a> {
    subject: &'a Subject,
    /// The limit without drift.
    full: f64,
}

impl Drift<'_> {
    /// Allows this share of what is allowed without drift.
    fn allow(&self, share: f64) -> anyhow::Result<()> {
        self.subject.set(Some(share * self.full))
    }

    fn examine(&self, lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
        // The same thing without drift shows how long it takes, and how much the machine scatters.
        self.allow(1.0)?;
        let (calm, seconds) = self.still(lab, book)?;
        let sinking = Sinking {
            loss: loss(calm.deviation()),
            seconds,
        };
        let mut ours = Vec::new();
        let mut blocked = Vec::new();
        for session in 0..lab.options.sessions {
            let found = self.drifting_duel(lab, book, session, sinking)?;
            self.sample(book, "duel", &found.finding);
            ours.push(found);
            let found = self.drifting_runs(lab, book, session, sinking)?;
            self.sample(book, "two runs", &found);
            blocked.push(found);
        }
        self.allow(1.0)?;
        let free: Vec<Duel> = (0..lab.options.sessions.div_ceil(FREE_OF))
            .map(|session| {
                let label = format!("{} free {session}", self.subject.what);
                duel(lab, book, &label, &self.duel_call(&[]), ["true", "true"])
            })
            .collect::<anyhow::Result<_>>()?;
        self.subject.set(None)?;
        Ok(judged(
            self.subject.what,
            &calm,
            sinking.loss,
            &ours,
            &blocked,
            &free,
        ))
    }

    fn sample(&self, book: &Book, way: &str, finding: &Finding) {
        let cells = [
            self.subject.what.to_owned(),
            way.to_owned(),
            format!("{:.5}", finding.ratio),
            format!("{:.5}", finding.ends.0),
            format!("{:.5}", finding.ends.1),
            finding.adjusted.clone(),
        ];
        book.sample("what,way,ratio,lo,hi,verdict", &cells);
    }

    fn duel_call(&self, more: &[&str]) -> Call<'_> {
        self.subject.duel("e10.db", more)
    }

    /// A duel without drift, and how many seconds it took.
    fn still(&self, lab: &Lab, book: &Book) -> anyhow::Result<(Duel, f64)> {
        let start = monotonic();
        let label = format!("{} without drift", self.subject.what);
        let call = self.duel_call(&["--passes", PASSES]);
        let calm = duel(lab, book, &label, &call, ["true", "true"])?;
        Ok((calm, approx(monotonic() - start) / 1e9))
    }

    /// Lets what is allowed sink until `running` has ended; what that printed.
    fn sink(&self, mut running: Running, start: u64, sinking: Sinking) -> anyhow::Result<String> {
        loop {
            let elapsed = approx(monotonic() - start) / 1e9;
            self.allow(sinking.share(elapsed))?;
            if let Some(text) = running.ended()? {
                return Ok(text);
            }
            sleep(TICK_NS);
        }
    }

    fn drifting_duel(
        &self,
        lab: &Lab,
        book: &Book,
        session: usize,
        sinking: Sinking,
    ) -> anyhow::Result<Duel> {
        let call = self.duel_call(&["--passes", PASSES]);
        let running = start_duel(lab, book, &call, ["true", "true"])?;
        let text = self.sink(running, monotonic(), sinking)?;
        let label = format!("{} drift {session}", self.subject.what);
        end_duel(lab, book, &label, &call, &text)
    }

    /// Two runs, one after the other, while what is allowed sinks over both.
    fn drifting_runs(
        &self,
        lab: &Lab,
        book: &Book,
        session: usize,
        sinking: Sinking,
    ) -> anyhow::Result<Finding> {
        let labels = ["a", "b"].map(|side| format!("{}-{session}-{side}", self.subject.what));
        let start = monotonic();
        for label in &labels {
            let call = self.subject.run("e10.db", label, &["--passes", PASSES]);
            self.sink(lab.start(book, &call)?, start, sinking)?;
        }
        let call = Call::new(
            "e10.db",
            &["compare", &labels[0], &labels[1], "--format", "json"],
        );
        let document = lab.document(book, &call)?;
        book.document(
            &format!("{} blocked {session}", self.subject.what),
            &document,
        );
        findings(&document)?
            .into_iter()
            .next()
            .context("nothing was compared")
    }
}

/// How much is to be lost on a machine whose rounds scatter by so much.
fn loss(scatter: Option<f64>) -> f64 {
    (LOSS_OF_SCATTER * scatter.unwrap_or(0.0)).clamp(LOSS, LOSS_MAX)
}

/// A limit that goes down evenly.
#[derive(Clone, Copy)]
struct Sinking {
    loss: f64,
    seconds: f64,
}

impl Sinking {
    /// The share that is left after `elapsed` seconds.
    fn share(self, elapsed: f64) -> f64 {
        1.0 - self.loss * (elapsed / self.seconds).clamp(0.0, 1.0)
    }
}

fn judged(
    what: &str,
    calm: &Duel,
    loss: f64,
    ours: &[Duel],
    blocked: &[Finding],
    free: &[Duel],
) -> Vec<Check> {
    let different = ours
        .iter()
        .filter(|duel| duel.finding.has_direction())
        .count();
    let fooled = blocked
        .iter()
        .filter(|finding| finding.has_direction())
        .count();
    let at_look = |duel: &&Duel| LOOKS.iter().any(|&look| u64::from(look) == duel.finding.n);
    let ratio = |ratios: Vec<f64>| or_dash(quantile::median(&ratios));
    vec![
        Check::reported(
            format!("{what}: scatter of a round without drift"),
            or_dash(calm.deviation()),
        ),
        Check::reported(
            format!("{what}: lost from the first round to the last"),
            percent(loss),
        ),
        Check::at_most(
            format!("{what}: duels called different, in any direction"),
            different,
            ours.len(),
            0.05,
        ),
        Check::at_least(
            format!("{what}: two runs one after the other called different"),
            fooled,
            blocked.len(),
            0.5,
        ),
        Check::reported(
            format!("{what}: median ratio: duels; two runs"),
            format!(
                "{}; {}",
                ratio(ours.iter().map(|duel| duel.finding.ratio).collect()),
                ratio(blocked.iter().map(|finding| finding.ratio).collect())
            ),
        ),
        Check::at_least(
            format!("{what}: duels without a number of passes that ended at a look"),
            free.iter().filter(at_look).count(),
            free.len(),
            1.0,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_sinks_evenly_and_stays() {
        let sinking = Sinking {
            loss: 0.03,
            seconds: 20.0,
        };
        let check = |elapsed: f64, expect: f64| {
            assert!((sinking.share(elapsed) - expect).abs() < 1e-9, "{elapsed}");
        };
        check(0.0, 1.0);
        check(10.0, 0.985);
        check(20.0, 0.97);
        check(99.0, 0.97);
    }

    #[test]
    fn the_drift_grows_with_the_scatter_within_limits() {
        let check = |scatter, expect: f64| {
            assert!((loss(scatter) - expect).abs() < 1e-9, "{scatter:?}");
        };
        check(None, 0.03);
        check(Some(0.005), 0.03);
        check(Some(0.02), 0.08);
        check(Some(0.5), 0.2);
    }
}
