//! What a set of metrics is warned of: each kind of warning once, with the figures of the worst metric that has it.
//!
//! A table of sixty metrics on a machine with a noisy neighbour would otherwise say the same sentence sixty times.

use model::warning::Warning;

/// A kind of warning that metrics have.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// The warning with the figures of the worst metric.
    pub warning: Warning,
    /// How many metrics have it.
    pub metrics: usize,
    /// Of too few rounds, the most that one of them has.
    pub rounds_most: Option<u32>,
}

/// The kinds of warnings of all metrics, in the order in which they first appear.
pub fn noted<'a>(of_metrics: impl IntoIterator<Item = &'a [Warning]>) -> Vec<Noted> {
    let mut all: Vec<Noted> = Vec::new();
    for warning in of_metrics.into_iter().flatten() {
        let mut known = all.iter_mut();
        let Some(note) = known.find(|note| note.warning.same_kind(warning)) else {
            all.push(Noted {
                warning: warning.clone(),
                metrics: 1,
                rounds_most: rounds(warning),
            });
            continue;
        };
        note.metrics += 1;
        note.rounds_most = note.rounds_most.max(rounds(warning));
        if warning.severity() > note.warning.severity() {
            note.warning = warning.clone();
        }
    }
    all
}

/// The rounds of which there are too few.
const fn rounds(warning: &Warning) -> Option<u32> {
    match warning {
        Warning::TooFewRounds { have, .. } => Some(*have),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_warning_is_noted_once_with_its_worst_figures() {
        let gaps = |rounds_share| Warning::Gaps { rounds_share };
        let a = [gaps(0.1), Warning::DebugBuild];
        let b = [
            Warning::Other {
                what: "x".to_owned(),
            },
            gaps(0.5),
        ];
        let c = [gaps(0.3)];
        let footnotes = noted([&a[..], &b[..], &c[..]]);
        assert_eq!(
            footnotes[0],
            Noted {
                warning: gaps(0.5),
                metrics: 3,
                rounds_most: None,
            }
        );
        assert_eq!(footnotes.len(), 3);
    }

    #[test]
    fn failures_for_different_reasons_stay_apart() {
        let failed = |reason: &str| Warning::RoundsFailed {
            failed: 1,
            of: 6,
            reason: reason.to_owned(),
            others: Vec::new(),
        };
        let footnotes = noted([&[failed("a")][..], &[failed("b")][..]]);
        assert_eq!(footnotes.len(), 2);
    }

    #[test]
    fn too_few_rounds_are_noted_with_the_fewest_and_the_most() {
        let few = |have| [Warning::TooFewRounds { have, need: 6 }];
        let footnotes = noted([&few(2)[..], &few(1)[..], &few(2)[..]]);
        let [note] = &footnotes[..] else { panic!() };
        assert_eq!((note.metrics, note.rounds_most), (3, Some(2)));
        assert_eq!(note.warning, few(1)[0]);
    }
}
