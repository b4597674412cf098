//! Rounds without a value: how many of which case, how many of them had measured something until then, and why.

use crate::rounds::{CaseRounds, RunRounds, whole};
use model::order::Order as _;
use model::plan::CaseId;
use model::record::{Failure, Run};

/// The rounds of a case that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed<'a> {
    /// The case.
    pub case: &'a CaseId,
    /// How many.
    pub failed: u32,
    /// How many of them had measured something when they ended.
    pub early: u32,
    /// Of how many.
    pub of: u32,
    /// Why, and how many for each reason, the most frequent first.
    pub reasons: Vec<(&'a Failure, usize)>,
}

/// The cases of a run of which rounds failed, in the order of the plan.
pub fn failed(run: &Run) -> Vec<Failed<'_>> {
    let rounds = RunRounds::of(run);
    rounds.cases().iter().filter_map(of_case).collect()
}

fn of_case<'a>(rounds: &CaseRounds<'a>) -> Option<Failed<'a>> {
    let all = failures(rounds);
    // Jobs that are told apart are kept whatever became of them.
    let early = rounds.all.iter().filter(|round| round.partial.is_some());
    let early = early.filter(|_| !rounds.case.shape.apart);
    (!all.is_empty()).then(|| Failed {
        case: &rounds.case.id,
        failed: whole(all.len()),
        early: whole(early.count()),
        of: whole(rounds.all.len()),
        reasons: reasons(all),
    })
}

/// Why rounds of a case failed, in their order. What the machine cannot do at all did not fail: the reason stands where
/// the value would. What it did in one round and could not do in another did.
pub(crate) fn failures<'a>(rounds: &CaseRounds<'a>) -> Vec<&'a Failure> {
    let was_done = !rounds.done.is_empty();
    let all = rounds.all.iter().filter_map(|round| round.failure());
    all.filter(|failure| was_done || !matches!(failure, Failure::Unsupported(_)))
        .collect()
}

/// Different reasons and how many rounds failed for each, the most frequent first; of each the first one's words.
pub(crate) fn reasons<'a>(all: impl IntoIterator<Item = &'a Failure>) -> Vec<(&'a Failure, usize)> {
    let mut kinds = Vec::new();
    let mut reasons: Vec<(&Failure, usize)> = Vec::new();
    for why in all {
        let kind = kind(why);
        if let Some(place) = kinds.iter().position(|known| *known == kind) {
            reasons[place].1 += 1;
        } else {
            kinds.push(kind);
            reasons.push((why, 1));
        }
    }
    reasons.order_by_key(|(_, n)| std::cmp::Reverse(*n));
    reasons
}

/// What a failure is whatever its figures; another code or signal of a worker is another failure.
pub(crate) fn kind(why: &Failure) -> (String, Option<i32>) {
    let end = match why {
        Failure::Exited { code: end, .. } | Failure::Signal { signal: end, .. } => Some(*end),
        _ => None,
    };
    (kind_of(&why.to_string()), end)
}

/// The words of a failure without its figures: the same command, file or call in another round is the same failure.
pub fn kind_of(why: &str) -> String {
    let parts = why.split(|c: char| c.is_ascii_digit() || c == '.');
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("#")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::record::{Outcome, Round};
    use model::warning::{FailedFor, Warning};

    #[test]
    fn another_signal_is_another_reason_and_another_figure_is_not() {
        let killed = |signal| Failure::Signal {
            signal,
            said: String::new(),
        };
        let all = [killed(11), killed(9), killed(9)];
        assert_eq!(reasons(&all), [(&all[1], 2), (&all[0], 1)]);
        let mut run = fixture::run(&[("net.a@1", vec![1.0; 5])]);
        for (round, why) in run.rounds.iter_mut().zip(&all) {
            round.outcome = Outcome::Failed(why.clone());
        }
        let metrics = crate::summarize(&run);
        let expected = Warning::RoundsFailed {
            failed: 3,
            of: 5,
            reason: all[1].to_string(),
            others: vec![FailedFor {
                rounds: 1,
                reason: all[0].to_string(),
            }],
        };
        assert!(metrics[0].warnings.contains(&expected), "{metrics:?}");
        let gone = |rate| Failure::Error(format!("gone: {rate} Mbit/s arrived"));
        let all = [gone("942"), gone("94.25")];
        assert_eq!(reasons(&all), [(&all[0], 2)]);
    }

    #[test]
    fn rounds_that_failed_are_told_by_case_and_each_reason_with_its_count() {
        let mut run = fixture::run(&[("net.a@1", vec![1.0; 5]), ("net.b@1", vec![1.0; 2])]);
        let of_a = |round: &&mut Round| round.case.test == "net.a";
        let whys = ["nobody listens", "gone after 1.5 s", "gone after 2.5 s"];
        for (round, why) in run.rounds.iter_mut().filter(of_a).zip(whys) {
            let why = Failure::Error(why.to_owned());
            let done = std::mem::replace(&mut round.outcome, Outcome::Failed(why));
            if let Outcome::Done(measured) = done
                && round.pass > 1
            {
                round.partial = Some(measured.into());
            }
        }
        let gone = Failure::Error("gone after 1.5 s".to_owned());
        let silent = Failure::Error("nobody listens".to_owned());
        let found = failed(&run);
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(one.case.test, "net.a");
        assert_eq!((one.failed, one.early, one.of), (3, 2, 5));
        assert_eq!(one.reasons, [(&gone, 2), (&silent, 1)]);
        // Every reason travels with the warning too, the last one's words first.
        let metrics = crate::summarize(&run);
        let expected = Warning::RoundsFailed {
            failed: 3,
            of: 5,
            reason: "gone after 2.5 s".to_owned(),
            others: vec![FailedFor {
                rounds: 1,
                reason: "nobody listens".to_owned(),
            }],
        };
        assert!(metrics[0].warnings.contains(&expected), "{metrics:?}");
        // What cannot be done here at all has not failed.
        for round in run.rounds.iter_mut().filter(of_a) {
            let why = Failure::Unsupported("no io_uring".to_owned());
            round.outcome = Outcome::Failed(why);
        }
        assert_eq!(failed(&run), []);
    }
}
