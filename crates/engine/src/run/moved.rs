//! Bytes that rounds move between this machine and its peers, held against the bound that the user has set: what leaves
//! a cloud is paid for.
//!
//! It is counted here alone, for all sides and with the earlier parts of the run. A round is told how much is left and
//! ends where that has passed; none begins that could go beyond it, as far as the rounds before tell.

use model::plan::{CaseId, Plan};
use model::record::{Failure, Outcome, Round};
use model::spec::Nature;
use model::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// What was moved.
#[derive(Debug)]
pub(super) struct Moved {
    most: Option<Bytes>,
    /// The cases that move anything.
    networked: BTreeSet<CaseId>,
    /// In all rounds.
    all: u64,
    /// The most that a round of a case has moved.
    each: BTreeMap<CaseId, u64>,
}

impl Moved {
    /// Within the bound of this plan, after these rounds.
    pub(super) fn of<'a>(plan: &Plan, earlier: impl Iterator<Item = &'a Round>) -> Self {
        let networked = plan.cases.iter();
        let networked = networked.filter(|case| case.nature == Nature::Network);
        let mut moved = Self {
            most: plan.max_bytes,
            networked: networked.map(|case| case.id.clone()).collect(),
            all: 0,
            each: BTreeMap::new(),
        };
        earlier.for_each(|round| moved.learn(round));
        moved
    }

    /// Takes a finished round into account.
    pub(super) fn learn(&mut self, round: &Round) {
        let Some(left) = self.left() else { return };
        let moved = match (round.moved, &round.outcome) {
            (Some(moved), _) => moved.0,
            // Whoever could have said it is gone: no more than it was told.
            (
                None,
                Outcome::Failed(
                    Failure::Exited { .. }
                    | Failure::Signal { .. }
                    | Failure::OutOfMemory
                    | Failure::Hung { .. },
                ),
            ) if self.networked.contains(&round.case) => left.0,
            (None, _) => return,
        };
        self.all = self.all.saturating_add(moved);
        let each = self.each.entry(round.case.clone()).or_default();
        *each = moved.max(*each);
    }

    /// What may still be moved; `None` for as much as there is.
    pub(super) fn left(&self) -> Option<Bytes> {
        Some(Bytes(self.most?.0.saturating_sub(self.all)))
    }

    /// Why no further round of this case begins, where one on each of so many sides could move more than is left.
    pub(super) fn none_left(&self, case: &CaseId, sides: usize) -> Option<Failure> {
        let (most, left) = self.most.zip(self.left())?;
        let next = *self.each.get(case).filter(|each| **each > 0)?;
        (next.saturating_mul(sides as u64) > left.0).then(|| {
            Failure::Error(format!(
                "no further round begins: of the {} B of `--max-bytes` {} are left, and a round has moved {next}\nhint: a larger \
                 `--max-bytes`",
                most.0, left.0
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(case: &CaseId, outcome: Outcome, moved: Option<u64>) -> Round {
        Round {
            moved: moved.map(Bytes),
            ..testkit::round(case, 1, outcome)
        }
    }

    #[test]
    fn all_rounds_count_and_none_begins_that_could_go_beyond() {
        let [a, b] = ["net.tcp@1", "net.rr@1"].map(|id| id.parse::<CaseId>().unwrap());
        let plan = Plan {
            max_bytes: Some(Bytes(1000)),
            ..Plan::new(Vec::new(), Vec::new())
        };
        let failed = || Outcome::Failed(Failure::Error("gone".to_owned()));
        // Those of an earlier part, and those that failed.
        let earlier = [round(&a, failed(), Some(300))];
        let mut moved = Moved::of(&plan, earlier.iter());
        moved.networked.insert(a.clone());
        let of_memory = "memory.read@1".parse().unwrap();
        moved.learn(&round(
            &of_memory,
            Outcome::Failed(Failure::OutOfMemory),
            None,
        ));
        assert_eq!(moved.left(), Some(Bytes(700)));
        moved.learn(&round(&b, failed(), None));
        moved.learn(&round(&b, failed(), Some(50)));
        assert_eq!(moved.left(), Some(Bytes(650)));
        let ends = |moved: &Moved, case, sides| moved.none_left(case, sides).is_some();
        assert!(!ends(&moved, &a, 2) && ends(&moved, &a, 3) && !ends(&moved, &b, 13));
        let why = moved.none_left(&a, 3).unwrap().to_string();
        assert!(
            why.contains("1000 B of `--max-bytes` 650 are left"),
            "{why}"
        );
        // What has moved nothing so far may go on: it may be of another kind.
        moved.learn(&round(&a, Outcome::Failed(Failure::OutOfMemory), None));
        assert_eq!(moved.left(), Some(Bytes(0)));
        let other = "os.pipe@1".parse().unwrap();
        assert!(ends(&moved, &b, 1) && !ends(&moved, &other, 1));
    }

    #[test]
    fn without_a_bound_nothing_ends() {
        let case: CaseId = "net.tcp@1".parse().unwrap();
        let plan = Plan::new(Vec::new(), Vec::new());
        let rounds = [round(&case, Outcome::Failed(Failure::OutOfMemory), Some(7))];
        let moved = Moved::of(&plan, rounds.iter());
        assert_eq!(moved.left(), None);
        assert!(moved.none_left(&case, 9).is_none());
    }
}
