//! One measuring `run`, `soak` or `duel` at a time on a machine. Plans, tests of the program itself and `fio`, which
//! stands in for a program that knows no such rule, ask nobody.

use crate::args::LookArgs;
use crate::exit::{Exit, failure};
use crate::output;
use crate::session::Ready;
use dialects::printable::{quoted, said};
use engine::alone::{Lock, VARIABLE, take};
use engine::look;
use model::plan::Plan;
use model::units::Nanos;
use report::Lang;
use report::number::{duration, in_seconds};
use sys::clock::monotonic;
use sys::lock::{Held, Holder};
use sys::tree::Tree;

/// How long is waited before the lock is tried again: each try disturbs whoever measures.
const AGAIN: Nanos = Nanos::from_secs(1);

/// What is held while something is measured.
#[derive(Debug)]
pub(crate) struct Alone {
    _held: Option<Held>,
}

/// Takes the machine's lock for what is ready, and notes with new runs what is known by that. Somebody else's end is
/// waited for as long as `args` say, which have what is left of that in the end.
pub(crate) fn hold(ready: &mut Ready, args: &mut LookArgs) -> anyhow::Result<Alone> {
    refuse_to_wait_for_all_of_it(ready, args.wait_quiet)?;
    if ready.runs.iter().all(|run| asks_nobody(&run.plan)) {
        return Ok(Alone { _held: None });
    }
    let (began, wait) = (monotonic(), args.wait_quiet);
    let mut told = false;
    loop {
        let left = wait.map(|wait| wait.since(Nanos(monotonic() - began)));
        let (held, alone) = match take() {
            Lock::Ours(held, alone) => (Some(held), alone),
            Lock::Unseen(alone) => (None, alone),
            Lock::Taken(holder) => {
                let left = left.filter(|left| *left > Nanos::ZERO);
                let (Some(wait), Some(left)) = (wait, left) else {
                    return Err(refused(holder, wait));
                };
                if !told {
                    let most = duration(wait, Lang::En);
                    output::say(&format!("waiting, {most} at most: {}", who(holder)));
                    told = true;
                }
                sys::clock::sleep(left.min(AGAIN).0);
                continue;
            }
        };
        let waited = if told { monotonic() - began } else { 0 };
        for run in ready.runs.iter_mut().filter(|_| !ready.kept) {
            run.host.limits.alone = alone.clone();
            // It begins where the waiting ends.
            run.meta.started.0 += waited;
        }
        if told {
            // One look is taken in any case.
            args.wait_quiet = left.map(|left| left.max(look::SPAN));
        }
        return Ok(Alone { _held: held });
    }
}

/// Waiting is a part of the budget, and nothing would be left of it.
fn refuse_to_wait_for_all_of_it(ready: &Ready, wait: Option<Nanos>) -> anyhow::Result<()> {
    let budget = ready.runs.first().and_then(|run| run.plan.budget);
    match (wait, budget) {
        (Some(wait), Some(budget)) if wait >= budget => {
            let [wait, budget] = [wait, budget].map(in_seconds);
            let text = format!(
                "wait for {wait} within a budget of {budget}: waiting is a part of it, and no time would be left"
            );
            let hint = "a larger `--budget`; or `--passes`, and no budget";
            Err(failure(Exit::Usage, text, Some(hint)))
        }
        _ => Ok(()),
    }
}

/// What tests of the program itself measure is known before.
fn asks_nobody(plan: &Plan) -> bool {
    plan.cases
        .iter()
        .all(|case| workloads::is_selftest(&case.workload))
}

fn refused(holder: Holder, waited: Option<Nanos>) -> anyhow::Error {
    let who = who(holder);
    match waited {
        None => {
            let hint = format!(
                "two would measure each other: `--wait-quiet 10m` waits for its end; \
                 {VARIABLE}=NAME is for machines that are divided"
            );
            failure(Exit::Incomplete, format!("measure: {who}"), Some(&hint))
        }
        Some(waited) => {
            let waited = duration(waited, Lang::En);
            let text = format!("measure: waited {waited}, and still {who}");
            failure(Exit::Incomplete, text, None)
        }
    }
}

/// Who measures, as far as we may know.
fn who(Holder { pid, user }: Holder) -> String {
    let user = user.map_or_else(String::new, |user| format!(" of user {user}"));
    let Some(pid) = pid else {
        return format!("another kurabe{user} measures, in a process that is not seen from here");
    };
    let tree = Tree::real();
    let words = tree
        .read(&format!("/proc/{pid}/cmdline"))
        .unwrap_or_default();
    let words: Vec<String> = words.split_terminator('\0').map(quoted).collect();
    let command = match words.as_slice() {
        [] => String::new(),
        words => format!(", `{}`", said(&words.join(" "))),
    };
    let since = since(&tree, pid).map_or_else(String::new, |age| {
        format!(", started {} ago", duration(age, Lang::En))
    });
    format!("another kurabe measures: process {pid}{user}{command}{since}")
}

/// How long ago a process was started.
fn since(tree: &Tree, pid: u32) -> Option<Nanos> {
    let start = sys::counters::process(tree, pid).ok()?.start;
    let ticks = sys::probe::ticks_per_second()
        .ok()
        .filter(|&ticks| ticks > 0)?;
    let start = Nanos(u64::try_from(u128::from(start) * 1_000_000_000 / u128::from(ticks)).ok()?);
    Some(Nanos(sys::clock::boottime()).since(start))
}
