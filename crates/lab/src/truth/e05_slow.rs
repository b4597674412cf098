//! E5: a server that is slow for a fifth of the time must not pass for a fast one.
//!
//! A co-runner on the same CPU takes half of it in bursts of 3 to 15 seconds, 20 % of the time. How much CPU time it
//! really took it says itself, so that the true mean rate is known: what a second of CPU time is worth, times the
//! share of the CPU that was left. UnixBench's rule, which drops the worst third, is scored on the same windows.

use super::book::Book;
use super::check::Check;
use super::helper::cpu_seconds_within;
use super::lab::{Lab, cpus, spread};
use super::score;
use super::sessions::{Soak, soak_call, soak_of, work_per_cpu_second};
use anyhow::Context;
use model::record::{Outcome, Run};

/// The share of the time with a co-runner.
const SHARE: f64 = 0.2;

/// How far the mean may be off.
const MEAN_WITHIN: f64 = 0.03;

/// A floor this far below the typical window says that something is slow.
const FLOOR_BELOW: f64 = 0.9;

/// The experiment.
pub(super) fn run(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let cpus = cpus()?;
    let sessions = spread(lab.options.sessions, &cpus, |n, &cpu| {
        session(lab, book, cpu, n)
    })?;
    Ok(judged(&sessions, book))
}

struct Session {
    soak: Soak,
    /// The mean rate that the schedule of the co-runner allows.
    truth: f64,
    /// What UnixBench's rule makes of the windows.
    dropped: Option<f64>,
}

impl Session {
    fn names_two_states(&self) -> bool {
        self.soak
            .findings
            .iter()
            .any(|finding| finding == "two_state")
    }

    fn shows_the_floor(&self) -> bool {
        let below = |[typical, floor, _]: [f64; 3]| floor < FLOOR_BELOW * typical;
        self.soak.levels.is_some_and(below)
    }

    fn mean_error(&self) -> Option<f64> {
        Some(self.soak.levels?[2] / self.truth - 1.0)
    }
}

fn session(lab: &Lab, book: &Book, cpu: u32, session: usize) -> anyhow::Result<Session> {
    let seconds = lab.options.slow_seconds;
    let seed = (lab.options.seed * 1_000 + session as u64).to_string();
    let (share, span) = (SHARE.to_string(), seconds.to_string());
    // One group for both, ahead of everybody else: what the co-runner leaves is the program's then.
    let group = match lab.lacks_groups() {
        None => Some(lab.group()?),
        Some(_) => None,
    };
    let group = group.as_ref();
    let spinner = lab.start_helper(&["spin", &seed, &share, &span], group, Some(cpu))?;
    let store = format!("e5-{session}.db");
    let mut call = soak_call(&store, &lab.options.cpu_test, seconds, "1s");
    call.cpu = Some(cpu);
    call.group = group;
    let document = lab.document(book, &call)?;
    let bursts = spinner.wait()?;
    book.document(&format!("session {session}"), &document);
    book.text(&format!("co-runner-{session}.txt"), &bursts);
    let run = lab.run(&store, "latest")?;
    let worth = work_per_cpu_second(&run).context("the soak used no CPU time")?;
    let span = seconds_measured(&run).context("the soak measured nothing")?;
    let taken = cpu_seconds_within(&bursts)?;
    Ok(Session {
        soak: soak_of(&document)?,
        truth: worth * (1.0 - taken / span),
        dropped: score::without_worst_third(&windows(&run)),
    })
}

/// From the beginning of the first stretch to the end of the last.
fn seconds_measured(run: &Run) -> Option<f64> {
    let first = run.rounds.first()?;
    let last = run.rounds.last()?;
    let lasted = last.started.0.checked_sub(first.started.0)?;
    Some(model::num::approx(lasted + last.took.0) / 1e9)
}

fn windows(run: &Run) -> Vec<f64> {
    let done = run.rounds.iter().filter_map(|round| match &round.outcome {
        Outcome::Done(measured) => Some(&measured.windows),
        Outcome::Failed(_) => None,
    });
    done.flatten().copied().collect()
}

fn judged(sessions: &[Session], book: &Book) -> Vec<Check> {
    for session in sessions {
        let [typical, floor, mean] = session.soak.levels.unwrap_or([f64::NAN; 3]);
        let figures = [
            session.truth,
            mean,
            typical,
            floor,
            session.dropped.unwrap_or(f64::NAN),
        ];
        let mut cells = figures.map(|value| format!("{value:.5e}")).to_vec();
        cells.push(session.soak.findings.join(" "));
        book.sample(
            "true_mean,mean,typical,floor,unixbench_rule,findings",
            &cells,
        );
    }
    let of = sessions.len();
    let count = |hit: &dyn Fn(&Session) -> bool| sessions.iter().filter(|s| hit(s)).count();
    let flagged = count(&|s| s.names_two_states() || s.shows_the_floor());
    let right = count(&|s| {
        s.mean_error()
            .is_some_and(|error| error.abs() <= MEAN_WITHIN)
    });
    let errors: Vec<f64> = sessions.iter().filter_map(Session::mean_error).collect();
    let peer: Vec<f64> = sessions
        .iter()
        .filter_map(|session| Some(session.dropped? / session.truth - 1.0))
        .collect();
    vec![
        Check::at_least(
            "two states named, or a floor below 90 % of the typical window",
            flagged,
            of,
            0.9,
        ),
        Check::reported(
            "two states named",
            score::rate(count(&Session::names_two_states), of),
        ),
        Check::at_least("long-run mean within 3 % of the truth", right, of, 1.0),
        Check::reported(
            "error of the mean, median and worst",
            score::errors(&errors),
        ),
        Check::reported(
            "peer, the same windows: error of UnixBench's mean, median and worst",
            score::errors(&peer),
        ),
    ]
}
