//! What one transaction of each test is made of: the statements of sysbench 1.0, in its order and as often; and those
//! of pgbench's built-in transaction.

use super::statement::Kind;

/// A group of statements that one transaction makes on one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Reads one row.
    Point,
    /// Reads a range of rows.
    Range,
    /// Adds up a range of rows.
    Sum,
    /// Reads a range in order.
    Ordered,
    /// Reads a range in order, each value once.
    Distinct,
    /// Changes an indexed column of one row.
    UpdateIndex,
    /// Changes a column of one row that no index has.
    UpdateNonIndex,
    /// Deletes a row and inserts another one of its number: two statements.
    Replace,
    /// Deletes a row, where it is still there.
    Delete,
    /// Adds a row at the end.
    Append,
    /// A deposit at a bank, pgbench's: three updates, a row that is read, and one more of the history.
    Deposit,
}

impl Step {
    const fn statements(self) -> u32 {
        match self {
            Self::Replace => 2,
            Self::Deposit => 5,
            _ => 1,
        }
    }

    /// The statements that it makes.
    const fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Point => &[Kind::Point],
            Self::Range => &[Kind::Range],
            Self::Sum => &[Kind::Sum],
            Self::Ordered => &[Kind::Ordered],
            Self::Distinct => &[Kind::Distinct],
            Self::UpdateIndex => &[Kind::UpdateIndex],
            Self::UpdateNonIndex => &[Kind::UpdateNonIndex],
            Self::Replace => &[Kind::Delete, Kind::Insert],
            Self::Delete => &[Kind::Delete],
            Self::Append => &[Kind::Append],
            Self::Deposit => &[
                Kind::Account,
                Kind::Balance,
                Kind::Teller,
                Kind::Branch,
                Kind::History,
            ],
        }
    }

    const fn reads(self) -> bool {
        matches!(
            self,
            Self::Point | Self::Range | Self::Sum | Self::Ordered | Self::Distinct
        )
    }
}

/// What one transaction is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mix {
    /// The parameter's word.
    pub(super) word: &'static str,
    /// True where BEGIN and COMMIT stand around its statements; a single one is a transaction by itself.
    pub(super) explicit: bool,
    /// What is done, and how often one after the other. A table is chosen for each of them.
    pub(super) steps: &'static [(Step, u32)],
}

const fn single(word: &'static str, steps: &'static [(Step, u32)]) -> Mix {
    Mix {
        word,
        explicit: false,
        steps,
    }
}

const fn explicit(word: &'static str, steps: &'static [(Step, u32)]) -> Mix {
    Mix {
        word,
        explicit: true,
        steps,
    }
}

/// pgbench's built-in transaction `tpcb-like`. Source: PostgreSQL's documentation, "pgbench", and the statements of
/// pgbench 15 that a server logged.
pub(super) static TPCB: Mix = explicit("tpcb", &[(Step::Deposit, 1)]);

/// Every mix of sysbench. Source: what `sysbench oltp_read_write help` prints as defaults, and the statements of
/// sysbench 1.0.20 that a server logged.
static ALL: [Mix; 8] = [
    explicit(
        "read_write",
        &[
            (Step::Point, 10),
            (Step::Range, 1),
            (Step::Sum, 1),
            (Step::Ordered, 1),
            (Step::Distinct, 1),
            (Step::UpdateIndex, 1),
            (Step::UpdateNonIndex, 1),
            (Step::Replace, 1),
        ],
    ),
    explicit(
        "read_only",
        &[
            (Step::Point, 10),
            (Step::Range, 1),
            (Step::Sum, 1),
            (Step::Ordered, 1),
            (Step::Distinct, 1),
        ],
    ),
    explicit(
        "write_only",
        &[
            (Step::UpdateIndex, 1),
            (Step::UpdateNonIndex, 1),
            (Step::Replace, 1),
        ],
    ),
    single("point_select", &[(Step::Point, 1)]),
    single("update_index", &[(Step::UpdateIndex, 1)]),
    single("update_non_index", &[(Step::UpdateNonIndex, 1)]),
    single("insert", &[(Step::Append, 1)]),
    single("delete", &[(Step::Delete, 1)]),
];

impl Mix {
    /// The words of the parameter, those of sysbench's scripts.
    pub(super) const WORDS: [&'static str; 8] = [
        "read_write",
        "read_only",
        "write_only",
        "point_select",
        "update_index",
        "update_non_index",
        "insert",
        "delete",
    ];

    /// The mix of this word; the first for one that is none, which a parameter cannot be.
    pub(super) fn of(word: &str) -> &'static Self {
        ALL.iter().find(|mix| mix.word == word).unwrap_or(&ALL[0])
    }

    /// Statements of one transaction, BEGIN and COMMIT among them: what sysbench counts as queries.
    pub(super) fn statements(&self) -> u32 {
        let inside = self.steps.iter().map(|(step, n)| step.statements() * n);
        inside.sum::<u32>() + if self.explicit { 2 } else { 0 }
    }

    /// Statements of one transaction that may change something.
    pub(super) fn changes(&self) -> u32 {
        let steps = self.steps.iter().filter(|(step, _)| !step.reads());
        steps.map(|(step, n)| step.statements() * n).sum()
    }

    /// Whether it changes anything.
    pub(super) fn writes(&self) -> bool {
        self.steps.iter().any(|(step, _)| !step.reads())
    }

    /// Whether one of its steps makes such a statement.
    pub(super) fn needs(&self, kind: Kind) -> bool {
        self.steps
            .iter()
            .any(|(step, _)| step.kinds().contains(&kind))
    }

    /// Whether it makes such a step.
    pub(super) fn has(&self, wanted: Step) -> bool {
        self.steps.iter().any(|(step, _)| *step == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_has_the_statements_of_sysbench() {
        // Reads, writes and others of an event, as its reports count them.
        for (word, reads, writes, others) in [
            ("read_write", 14, 4, 2),
            ("read_only", 14, 0, 2),
            ("write_only", 0, 4, 2),
            ("point_select", 1, 0, 0),
            ("update_index", 0, 1, 0),
            ("update_non_index", 0, 1, 0),
            ("insert", 0, 1, 0),
            ("delete", 0, 1, 0),
        ] {
            let mix = Mix::of(word);
            assert_eq!(mix.word, word);
            assert_eq!(mix.statements(), reads + writes + others, "{word}");
            let sum = |of_reads: bool| {
                let steps = mix
                    .steps
                    .iter()
                    .filter(|(step, _)| step.reads() == of_reads);
                steps.map(|(step, n)| step.statements() * n).sum::<u32>()
            };
            assert_eq!((sum(true), sum(false)), (reads, writes), "{word}");
            assert_eq!(mix.explicit, others > 0, "{word}");
            assert_eq!(mix.writes(), writes > 0, "{word}");
        }
        assert_eq!(ALL.each_ref().map(|mix| mix.word), Mix::WORDS);
        assert_eq!((TPCB.statements(), TPCB.writes()), (7, true));
    }
}
