//! Footnotes of a table: each kind of warning once, numbered, with the figures of the worst metric that has it.
//!
//! A table of sixty metrics on a machine with a noisy neighbour would otherwise say the same sentence sixty times.
//! Documents for programs keep every warning at its metric.

use model::warning::Warning;

/// The footnotes of a set of metrics, in the order in which their warnings first appear; the first has number 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Footnotes(pub(crate) Vec<Footnote>);

/// One footnote.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Footnote {
    /// The warning with the figures of the worst metric.
    pub(crate) warning: Warning,
    /// How many metrics have it.
    pub(crate) metrics: usize,
    /// Of too few rounds, the most that one of them has.
    pub(crate) rounds_most: Option<u32>,
}

impl Footnotes {
    /// Collects the warnings of each metric.
    pub(crate) fn new<'a>(of_metrics: impl IntoIterator<Item = &'a [Warning]>) -> Self {
        let mut footnotes = Self::default();
        for warning in of_metrics.into_iter().flatten() {
            footnotes.add(warning);
        }
        footnotes
    }

    /// The numbers of a metric's warnings, such as `[1] [3]`.
    pub(crate) fn numbers(&self, warnings: &[Warning]) -> String {
        let has = |note: &Footnote| warnings.iter().any(|of| of.same_kind(&note.warning));
        let numbered = self.0.iter().zip(1..).filter(|(note, _)| has(note));
        let numbers: Vec<String> = numbered.map(|(_, n)| format!("[{n}]")).collect();
        numbers.join(" ")
    }

    fn add(&mut self, warning: &Warning) {
        let mut known = self.0.iter_mut();
        let Some(note) = known.find(|note| note.warning.same_kind(warning)) else {
            self.0.push(Footnote {
                warning: warning.clone(),
                metrics: 1,
                rounds_most: rounds(warning),
            });
            return;
        };
        note.metrics += 1;
        note.rounds_most = note.rounds_most.max(rounds(warning));
        if warning.severity() > note.warning.severity() {
            note.warning = warning.clone();
        }
    }
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
        let footnotes = Footnotes::new([&a[..], &b[..], &c[..]]);
        assert_eq!(
            footnotes.0[0],
            Footnote {
                warning: gaps(0.5),
                metrics: 3,
                rounds_most: None,
            }
        );
        assert_eq!(footnotes.0.len(), 3);
        assert_eq!(footnotes.numbers(&b), "[1] [3]");
        assert_eq!(footnotes.numbers(&c), "[1]");
        assert_eq!(footnotes.numbers(&[]), "");
    }

    #[test]
    fn failures_for_different_reasons_stay_apart() {
        let failed = |reason: &str| Warning::RoundsFailed {
            failed: 1,
            of: 6,
            reason: reason.to_owned(),
        };
        let footnotes = Footnotes::new([&[failed("a")][..], &[failed("b")][..]]);
        assert_eq!(footnotes.0.len(), 2);
    }

    #[test]
    fn too_few_rounds_are_noted_with_the_fewest_and_the_most() {
        let few = |have| [Warning::TooFewRounds { have, need: 6 }];
        let footnotes = Footnotes::new([&few(2)[..], &few(1)[..], &few(2)[..]]);
        let [note] = &footnotes.0[..] else { panic!() };
        assert_eq!((note.metrics, note.rounds_most), (3, Some(2)));
        assert_eq!(note.warning, few(1)[0]);
    }
}
