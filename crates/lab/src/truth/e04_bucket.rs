//! E4: a bucket of credit must be found with its figures, and none where there is none.
//!
//! While `kurabe soak` puts load on a CPU or a disk, a supervisor counts what it uses and rewrites the limit as a
//! provider would (see `bucket`). Its terms are drawn at random and known to the supervisor alone. What a reader of
//! one number would have reported, the rate of the first minute, is given beside.

use super::Experiment;
use super::book::Book;
use super::bucket::{Bucket, Terms};
use super::check::{Check, percent};
use super::lab::{Call, Lab, Slot, cpus, spread};
use super::score;
use super::sessions::{Soak, soak_call, soak_of};
use super::throttle::{PERIOD_DEFAULT_US, apply};
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
pub(crate) struct TokenBucket;

impl Experiment for TokenBucket {
    fn name(&self) -> &'static str {
        "E4"
    }

    fn what(&self) -> &'static str {
        "buckets of credit with hidden terms"
    }

    fn needs_root(&self) -> bool {
        true
    }

    fn run(&self, lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
        if let Some(why) = lab.lacks_soak() {
            return Ok(vec![Check::skipped("buckets", why)]);
        }
        let sessions = lab.options.sessions;
        let mut checks = Vec::new();
        if lab.options.disk() {
            if let Some(why) = lab.lacks(&lab.options.disk_test) {
                checks.push(Check::skipped("disk", why));
            } else {
                let slots = lab.slots(sessions)?;
                let found = spread(sessions, &slots, |n, slot| on_disk(lab, book, slot, n))?;
                checks.extend(judged("disk", &found, book));
                let quiet = spread(sessions, &slots, |n, slot| {
                    untreated(lab, book, &disk_call(lab, slot, &format!("q{n}")), n)
                })?;
                checks.push(none_claimed("disk", &quiet));
            }
        }
        if lab.options.cpu() {
            let cpus = cpus()?;
            let found = spread(sessions, &cpus, |n, &cpu| on_cpu(lab, book, cpu, n))?;
            checks.extend(judged("CPU", &found, book));
            let quiet = spread(sessions, &cpus, |n, &cpu| {
                let mut call = soak_call(
                    &format!("e4-cq{n}.db"),
                    &lab.options.cpu_test,
                    SECONDS,
                    &lab.options.cpu_window,
                );
                call.cpu = Some(cpu);
                untreated(lab, book, &call, n)
            })?;
            checks.push(none_claimed("CPU", &quiet));
        }
        Ok(checks)
    }
}

/// A soak under a supervisor.
struct Session {
    soak: Soak,
    /// Burst rate, sustained rate and credit: reads, or CPU seconds.
    truth: [f64; 3],
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

/// What a supervisor reads and writes.
struct Lever<'a> {
    used: &'a dyn Fn() -> anyhow::Result<f64>,
    limit: &'a dyn Fn(f64) -> anyhow::Result<()>,
}

/// Runs `call` while a bucket with these terms is played; the document.
fn supervised(
    lab: &Lab,
    book: &Book,
    call: &Call<'_>,
    terms: Terms,
    lever: &Lever<'_>,
) -> anyhow::Result<Value> {
    let mut bucket = Bucket::full(terms);
    let mut limit = bucket.after(0.0, 0.0);
    (lever.limit)(limit)?;
    let mut used = (lever.used)()?;
    let mut running = lab.start(book, call)?;
    let mut before = monotonic();
    loop {
        sleep_until(before + round_to_u64(bucket.next_look() * 1e9));
        let (now, total) = (monotonic(), (lever.used)()?);
        let allowed = bucket.after(total - used, approx(now - before) / 1e9);
        (before, used) = (now, total);
        if (allowed - limit).abs() > f64::EPSILON {
            (lever.limit)(allowed)?;
            limit = allowed;
        }
        if let Some(text) = running.ended()? {
            return serde_json::from_str(&text).context("read what a soak printed");
        }
    }
}

fn disk_call<'a>(lab: &Lab, slot: &'a Slot, name: &str) -> Call<'a> {
    let store = format!("e4-{name}.db");
    soak_call(
        &store,
        &lab.options.disk_test,
        SECONDS,
        &lab.options.disk_window,
    )
    .with(&["--dir", &slot.disk.path()])
    .within(&slot.group)
}

fn on_disk(lab: &Lab, book: &Book, slot: &Slot, session: usize) -> anyhow::Result<Session> {
    let mut rng = Rng::stream(lab.options.seed, 400 + session as u64);
    let drawn = Terms::draw(&mut rng, f64::from(lab.options.bucket_iops), BURST_SECONDS);
    // The kernel grants whole reads in slices of 20 ms: other limits than multiples of 50 are kept up to a slice only.
    let whole = Terms {
        burst: (drawn.burst / 50.0).round() * 50.0,
        sustained: (drawn.sustained / 50.0).round() * 50.0,
        credit: drawn.credit,
    };
    let group = &slot.group;
    let device = &slot.disk.number;
    let lever = Lever {
        used: &|| Ok(approx(group.reads(device)?)),
        limit: &|iops| group.read_iops(device, Some(round_to_u64(iops))).now(),
    };
    let call = disk_call(lab, slot, &format!("d{session}"));
    let document = supervised(lab, book, &call, whole, &lever)?;
    group.read_iops(device, None).now()?;
    book.document(&format!("disk {session}"), &document);
    Ok(Session {
        soak: soak_of(&document)?,
        truth: [whole.burst, whole.sustained, whole.credit],
    })
}

fn on_cpu(lab: &Lab, book: &Book, cpu: u32, session: usize) -> anyhow::Result<Session> {
    let mut rng = Rng::stream(lab.options.seed, 500 + session as u64);
    let terms = Terms::draw(&mut rng, CPUS, BURST_SECONDS);
    let group = lab.group()?.with_period(PERIOD_DEFAULT_US);
    let lever = Lever {
        used: &|| group.cpu_seconds(),
        limit: &|cpus| apply(&group.cpu(Some(cpus))),
    };
    let store = format!("e4-c{session}.db");
    let mut call = soak_call(
        &store,
        &lab.options.cpu_test,
        SECONDS,
        &lab.options.cpu_window,
    )
    .within(&group);
    call.cpu = Some(cpu);
    let document = supervised(lab, book, &call, terms, &lever)?;
    book.document(&format!("CPU {session}"), &document);
    book.text(
        &format!("granted-{session}.txt"),
        &granted(&lab.run(&store, "latest")?),
    );
    Ok(Session {
        soak: soak_of(&document)?,
        truth: [terms.burst, terms.sustained, terms.credit],
    })
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

fn untreated(lab: &Lab, book: &Book, call: &Call<'_>, session: usize) -> anyhow::Result<Soak> {
    let document = lab.document(book, call)?;
    book.document(&format!("untreated {session}"), &document);
    soak_of(&document)
}

fn judged(what: &str, sessions: &[Session], book: &Book) -> Vec<Check> {
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
        let figure = score::typical_and_worst(&errors)
            .map_or("-".to_owned(), |(typical, worst)| {
                format!("{} and {}", percent(typical), percent(worst))
            });
        checks.push(Check::reported(
            format!("{what}: error of the {name}, median and worst"),
            figure,
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
