//! The notes below a table: each kind of warning once, numbered, with the figures of the worst metric that has it.
//!
//! A table of sixty metrics on a machine with a noisy neighbour would otherwise say the same sentence sixty times.
//! Documents for programs keep every warning at its metric.

use model::warning::Warning;

/// The numbered warnings of a set of metrics, in the order in which they first appear.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Marks {
    notes: Vec<Note>,
}

/// One numbered warning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    /// The warning with the figures of the worst metric.
    pub(crate) warning: Warning,
    /// How many metrics have it.
    pub(crate) metrics: usize,
    /// Of too few rounds, the most that one of them has.
    pub(crate) rounds_most: Option<u32>,
    /// True where metrics of other numbers of copies have it too, so that it cannot name those of the worst.
    pub(crate) copies_differ: bool,
}

impl Marks {
    /// Collects the warnings of each metric.
    pub(crate) fn new<'a>(of_metrics: impl IntoIterator<Item = &'a [Warning]>) -> Self {
        let mut marks = Self::default();
        for warnings in of_metrics {
            for warning in warnings {
                marks.add(warning);
            }
        }
        marks
    }

    /// The notes; the first has number 1.
    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The numbers of a metric's warnings, such as `[1] [3]`.
    pub(crate) fn of(&self, warnings: &[Warning]) -> String {
        let numbers: Vec<String> = self
            .notes
            .iter()
            .enumerate()
            .filter(|(_, note)| {
                warnings
                    .iter()
                    .any(|warning| warning.same_kind(&note.warning))
            })
            .map(|(i, _)| format!("[{}]", i + 1))
            .collect();
        numbers.join(" ")
    }

    fn add(&mut self, warning: &Warning) {
        match self
            .notes
            .iter_mut()
            .find(|note| note.warning.same_kind(warning))
        {
            Some(note) => {
                note.metrics += 1;
                note.rounds_most = note.rounds_most.max(rounds(warning));
                note.copies_differ |= note.warning.copies() != warning.copies();
                if warning.severity() > note.warning.severity() {
                    note.warning = warning.clone();
                }
            }
            None => self.notes.push(Note {
                warning: warning.clone(),
                metrics: 1,
                rounds_most: rounds(warning),
                copies_differ: false,
            }),
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
    use model::warning::OffCpuCause;

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
        let marks = Marks::new([&a[..], &b[..], &c[..]]);
        assert_eq!(
            marks.notes()[0],
            Note {
                warning: gaps(0.5),
                metrics: 3,
                rounds_most: None,
                copies_differ: false,
            }
        );
        assert_eq!(marks.notes().len(), 3);
        assert_eq!(marks.of(&b), "[1] [3]");
        assert_eq!(marks.of(&c), "[1]");
        assert_eq!(marks.of(&[]), "");
    }

    #[test]
    fn copies_are_named_where_all_have_as_many() {
        let off = |share, copies| {
            [Warning::OffCpu {
                share,
                copies,
                cause: OffCpuCause::Foreign,
            }]
        };
        let differ = |all: &[[Warning; 1]]| {
            let marks = Marks::new(all.iter().map(|of| &of[..]));
            let [note] = marks.notes() else { panic!() };
            note.copies_differ
        };
        assert!(!differ(&[off(0.1, 2), off(0.2, 2)]));
        assert!(differ(&[off(0.1, 1), off(0.2, 2)]));
        assert!(differ(&[off(0.3, 1), off(0.2, 2), off(0.1, 1)]));
    }

    #[test]
    fn failures_for_different_reasons_stay_apart() {
        let failed = |reason: &str| Warning::RoundsFailed {
            failed: 1,
            of: 6,
            reason: reason.to_owned(),
        };
        let marks = Marks::new([&[failed("a")][..], &[failed("b")][..]]);
        assert_eq!(marks.notes().len(), 2);
    }

    #[test]
    fn too_few_rounds_are_noted_with_the_fewest_and_the_most() {
        let few = |have| [Warning::TooFewRounds { have, need: 6 }];
        let marks = Marks::new([&few(2)[..], &few(1)[..], &few(2)[..]]);
        let [note] = marks.notes() else { panic!() };
        assert_eq!((note.metrics, note.rounds_most), (3, Some(2)));
        assert_eq!(note.warning, few(1)[0]);
    }
}
