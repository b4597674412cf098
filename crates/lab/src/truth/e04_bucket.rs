//! E4: a bucket of credit must be found with its figures, and none where there is none.
//!
//! While `kurabe soak` puts load on a CPU or a disk, a supervisor counts what it uses and rewrites the limit as a
//! provider would (see `bucket`). Its terms are drawn at random and known to the supervisor alone. What a reader of
//! one number would have reported, the rate of the first minute, is given beside.

use super::book::Book;
use super::bucket::{Bucket, Terms};
use super::check::{Check, percent};
use super::lab::{Call, Lab, spread};
use super::score;
use super::sessions::{Soak, soak_of};
use super::subject::{Subject, on_both};
use super::throttle::PERIOD_DEFAULT_US;
use anyhow::Context;
use model::num::{approx, round_to_u64};
use model::record::{Outcome, Round, Run};
use model::rng::Rng;
use serde_json::Value;
use sys::clock::{monotonic, sleep_until};

/// How long the credit lasts, in seconds.
const BURST_SECONDS: (f64, f64) = (5.0, 20.0);

/// How long a soak takes: the longest burst, as much of plateau as is wanted behind it, the longest rest (twice the
/// burst) and the second burst.
const SECONDS: u64 = 180;

/// The fastest burst of a CPU: most of it, so that the supervisor of the soak finds room.
const CPUS: f64 = 0.9;

const RATE_WITHIN: f64 = 0.02;
const CREDIT_WITHIN: f64 = 0.05;

/// The experiment.
pub(super) fn run(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let options = &lab.options;
    let of_cpus = Kind {
        stream: 500,
        fastest: CPUS,
        grain: None,
        window: &options.cpu_window,
    };
    let of_disks = Kind {
        stream: 400,
        fastest: f64::from(options.bucket_iops),
        // The kernel grants whole reads in slices of 20 ms: other limits than multiples of 50 are kept up to a slice.
        grain: Some(50.0),
        window: &options.disk_window,
    };
    on_both(
        lab,
        || of_cpus.examine(lab, book, &Subject::cpus(lab, PERIOD_DEFAULT_US)?),
        || of_disks.examine(lab, book, &Subject::disks(lab)?),
    )
}

/// How buckets of one kind are drawn and looked at.
struct Kind<'a> {
    /// The stream of random numbers of the first session.
    stream: u64,
    /// The most that a bucket lends a second.
    fastest: f64,
    /// What rates are multiples of, where not every one can be kept.
    grain: Option<f64>,
    /// The soak's windows.
    window: &'a str,
}

impl Kind<'_> {
    fn examine(&self, lab: &Lab, book: &Book, subjects: &[Subject]) -> anyhow::Result<Vec<Check>> {
        let (what, sessions) = (subjects[0].what, lab.options.sessions);
        let found = spread(sessions, subjects, |n, subject| {
            self.session(lab, book, subject, n)
        })?;
        let mut checks = judged(what, &found, book);
        let quiet = spread(sessions, subjects, |n, subject| {
            let mut call = subject.soak(&format!("e4-{what}-q{n}.db"), SECONDS, self.window);
            call.group = None;
            let document = lab.document(book, &call)?;
            book.document(&format!("untreated {n}"), &document);
            soak_of(&document)
        })?;
        checks.push(none_claimed(what, &quiet));
        Ok(checks)
    }

    fn terms(&self, seed: u64, session: usize) -> Terms {
        let mut rng = Rng::stream(seed, self.stream + session as u64);
        let drawn = Terms::draw(&mut rng, self.fastest, BURST_SECONDS);
        let whole = |rate: f64| self.grain.map_or(rate, |of| (rate / of).round() * of);
        Terms {
            burst: whole(drawn.burst),
            sustained: whole(drawn.sustained),
            credit: drawn.credit,
        }
    }

    fn session(
        &self,
        lab: &Lab,
        book: &Book,
        subject: &Subject,
        session: usize,
    ) -> anyhow::Result<Session> {
        let terms = self.terms(lab.options.seed, session);
        let store = format!("e4-{}-{session}.db", subject.what);
        let call = subject.soak(&store, SECONDS, self.window);
        let document = supervised(lab, book, &call, terms, subject)?;
        subject.set(None)?;
        book.document(&format!("{} {session}", subject.what), &document);
        if subject.disk.is_none() {
            let granted = granted(&lab.run(&store, "latest")?);
            book.text(&format!("granted-{session}.txt"), &granted);
        }
        Ok(Session {
            soak: soak_of(&document)?,
            truth: [terms.burst, terms.sustained, terms.credit],
        })
    }
}

/// A soak of something that lends.
pub(super) struct Session {
    pub(super) soak: Soak,
    /// Burst rate, sustained rate and credit: reads, CPU seconds, or bytes.
    pub(super) truth: [f64; 3],
}

impl Session {
    /// Relative errors of burst rate, sustained rate and credit; `None` where no bucket was reported.
    fn errors(&self) -> Option<[f64; 3]> {
        let found = self.soak.bucket?;
        Some([0, 1, 2].map(|i| found[i] / self.truth[i] - 1.0))
    }

    fn is_right(&self) -> bool {
        let within = |[burst, sustained, credit]: [f64; 3]| {
            burst.abs() <= RATE_WITHIN
                && sustained.abs() <= RATE_WITHIN
                && credit.abs() <= CREDIT_WITHIN
        };
        self.soak.throttle == "token_bucket" && self.errors().is_some_and(within)
    }
}

/// Runs `call` while a bucket with these terms is played; the document.
fn supervised(
    lab: &Lab,
    book: &Book,
    call: &Call<'_>,
    terms: Terms,
    subject: &Subject,
) -> anyhow::Result<Value> {
    let mut bucket = Bucket::full(terms);
    let mut limit = bucket.after(0.0, 0.0);
    subject.set(Some(limit))?;
    let mut used = subject.used()?;
    let mut running = lab.start(book, call)?;
    let mut before = monotonic();
    loop {
        sleep_until(before + round_to_u64(bucket.next_look() * 1e9));
        let (now, total) = (monotonic(), subject.used()?);
        let allowed = bucket.after(total - used, approx(now - before) / 1e9);
        (before, used) = (now, total);
        if (allowed - limit).abs() > f64::EPSILON {
            subject.set(Some(allowed))?;
            limit = allowed;
        }
        if let Some(text) = running.ended()? {
            return serde_json::from_str(&text).context("read what a soak printed");
        }
    }
}

/// The CPU time of each window, a line for each stretch: what a missed bucket is looked for in.
fn granted(run: &Run) -> String {
    let line = |round: &Round| match &round.outcome {
        Outcome::Done(done) => {
            let shares = done.cpu_windows.iter().map(|share| format!("{share:.4}"));
            shares.collect::<Vec<_>>().join(" ")
        }
        Outcome::Failed(failure) => failure.to_string(),
    };
    let lines: Vec<String> = run.rounds.iter().map(line).collect();
    lines.join("\n")
}

/// What the sessions found, held against the truth.
pub(super) fn judged(what: &str, sessions: &[Session], book: &Book) -> Vec<Check> {
    for session in sessions {
        let found = session.soak.bucket.map_or_else(
            || vec!["-".to_owned(); 3],
            |found| found.map(|value| format!("{value:.4}")).to_vec(),
        );
        let truth = session.truth.map(|value| format!("{value:.4}"));
        let cells = [
            vec![what.to_owned(), session.soak.throttle.clone()],
            truth.to_vec(),
            found,
        ];
        let header = "what,state,burst,sustained,credit,burst_found,sustained_found,credit_found";
        book.sample(header, &cells.concat());
    }
    let right = sessions.iter().filter(|session| session.is_right()).count();
    let mut checks = vec![Check::at_least(
        format!("{what}: called a bucket, rates within 2 %, credit within 5 %"),
        right,
        sessions.len(),
        0.95,
    )];
    for (index, name) in ["burst rate", "sustained rate", "credit"]
        .iter()
        .enumerate()
    {
        let errors: Vec<f64> = sessions
            .iter()
            .filter_map(|session| Some(session.errors()?[index]))
            .collect();
        checks.push(Check::reported(
            format!("{what}: error of the {name}, median and worst"),
            score::errors(&errors),
        ));
    }
    let naive: Vec<f64> = sessions
        .iter()
        .map(|session| session.truth[0] / session.truth[1] - 1.0)
        .collect();
    let naive =
        score::typical_and_worst(&naive).map_or("-".to_owned(), |(typical, _)| percent(typical));
    checks.push(Check::reported(
        format!("{what}: error of who takes the burst for the speed, median"),
        naive,
    ));
    checks
}

fn none_claimed(what: &str, soaks: &[Soak]) -> Check {
    let claimed = soaks
        .iter()
        .filter(|soak| soak.throttle == "token_bucket")
        .count();
    Check::at_most(
        format!("{what}, untreated: buckets claimed"),
        claimed,
        soaks.len(),
        0.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_right_only_with_name_rates_and_credit() {
        let session = |throttle: &str, bucket| Session {
            soak: Soak {
                sentence: String::new(),
                findings: Vec::new(),
                throttle: throttle.to_owned(),
                bucket,
                period: None,
                levels: None,
                slow_share: None,
            },
            truth: [100.0, 20.0, 400.0],
        };
        let check = |throttle, bucket, expect| {
            assert_eq!(
                session(throttle, bucket).is_right(),
                expect,
                "{throttle} {bucket:?}"
            );
        };
        check("token_bucket", Some([101.0, 20.1, 415.0]), true);
        check("step", Some([101.0, 20.1, 415.0]), false);
        check("token_bucket", Some([103.0, 20.1, 415.0]), false);
        check("token_bucket", Some([101.0, 20.5, 415.0]), false);
        check("token_bucket", Some([101.0, 20.1, 425.0]), false);
        check("token_bucket", None, false);
    }
}
