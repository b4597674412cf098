//! What an experiment found: figures, each with its bound and whether it held.
//!
//! What could not be judged says so with its reason and is never counted as held.

use std::fmt::Write as _;

/// How a figure stands against its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Within it.
    Held,
    /// Not within it.
    Broken,
    /// There is no bound: the figure is for the record.
    Reported,
    /// The bound does not apply to what was measured, and why.
    Unjudged(String),
    /// Nothing was measured, and why.
    Skipped(String),
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// What was measured.
    pub(crate) what: String,
    /// The figure, as text with its unit.
    pub(crate) figure: String,
    /// What it must be, as text; empty without a bound.
    pub(crate) bound: String,
    /// How it stands.
    pub(crate) judged: Judged,
}

impl Judged {
    /// The word in the table.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Held => "pass".to_owned(),
            Self::Broken => "FAIL".to_owned(),
            Self::Reported => "-".to_owned(),
            Self::Unjudged(why) => format!("not judged: {why}"),
            Self::Skipped(why) => format!("skipped: {why}"),
        }
    }
}

impl Check {
    /// A figure with a bound.
    pub(crate) fn bound(
        what: impl Into<String>,
        figure: impl Into<String>,
        bound: impl Into<String>,
        held: bool,
    ) -> Self {
        Self {
            what: what.into(),
            figure: figure.into(),
            bound: bound.into(),
            judged: if held { Judged::Held } else { Judged::Broken },
        }
    }

    /// A figure for the record.
    pub(crate) fn reported(what: impl Into<String>, figure: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            figure: figure.into(),
            bound: String::new(),
            judged: Judged::Reported,
        }
    }

    /// Something that was not measured.
    pub(crate) fn skipped(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            figure: String::new(),
            bound: String::new(),
            judged: Judged::Skipped(why.into()),
        }
    }

    /// At least `least` of `of` must be so; not judged where nothing counts.
    pub(crate) fn at_least(what: impl Into<String>, hits: usize, of: usize, least: f64) -> Self {
        let bound = format!(">= {}", percent(least));
        Self::share(what, hits, of, bound, |share| share >= least - TINY)
    }

    /// At most `most` of `of` may be so.
    pub(crate) fn at_most(what: impl Into<String>, hits: usize, of: usize, most: f64) -> Self {
        let bound = format!("<= {}", percent(most));
        Self::share(what, hits, of, bound, |share| share <= most + TINY)
    }

    fn share(
        what: impl Into<String>,
        hits: usize,
        of: usize,
        bound: String,
        held: impl Fn(f64) -> bool,
    ) -> Self {
        let figure = super::score::rate(hits, of);
        let share = model::num::count(hits) / model::num::count(of.max(1));
        let mut check = Self::bound(what, figure, bound, held(share));
        if of == 0 {
            check.judged = Judged::Unjudged("nothing to count".to_owned());
        }
        check
    }

    /// The same, where the bound applies; with the reason, where it does not.
    #[must_use]
    pub(crate) fn unless(mut self, why: Option<String>) -> Self {
        if let Some(why) = why
            && matches!(
                self.judged,
                Judged::Held | Judged::Broken | Judged::Unjudged(_)
            )
        {
            self.judged = Judged::Unjudged(why);
        }
        self
    }
}

/// A share this close to its bound is the bound: sums of floating point numbers are not exact.
const TINY: f64 = 1e-9;

/// A share as text.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} %")
}

/// The table of all checks, in markdown.
pub(crate) fn table(results: &[(&str, Vec<Check>)]) -> String {
    let mut text =
        String::from("| experiment | what | measured | bound | result |\n|---|---|---|---|---|\n");
    for (name, checks) in results {
        for check in checks {
            let cells = [&check.what, &check.figure, &check.bound];
            let cells = cells.map(|cell| if cell.is_empty() { "-" } else { cell });
            let [what, figure, bound] = cells;
            let word = check.judged.word();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {name} | {what} | {figure} | {bound} | {word} |");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_held_to_its_bound_and_nothing_is_not_held() {
        let check =
            |check: Check, expect: &str| assert_eq!(check.judged.word(), expect, "{check:?}");
        check(Check::at_least("x", 19, 20, 0.95), "pass");
        check(Check::at_least("x", 18, 20, 0.95), "FAIL");
        check(Check::at_most("x", 1, 20, 0.05), "pass");
        check(Check::at_most("x", 2, 20, 0.05), "FAIL");
        check(
            Check::at_most("x", 0, 0, 0.05),
            "not judged: nothing to count",
        );
        check(
            Check::at_least("x", 1, 20, 0.95).unless(Some("noisy".to_owned())),
            "not judged: noisy",
        );
        check(
            Check::at_least("x", 0, 0, 0.95).unless(Some("noisy".to_owned())),
            "not judged: noisy",
        );
        check(
            Check::skipped("x", "needs root").unless(Some("noisy".to_owned())),
            "skipped: needs root",
        );
    }

    #[test]
    fn every_check_is_a_line_of_the_table() {
        let results = [(
            "E9",
            vec![
                Check::reported("speed", "3"),
                Check::skipped("y", "needs root"),
            ],
        )];
        assert_eq!(
            table(&results).lines().skip(2).collect::<Vec<_>>(),
            [
                "| E9 | speed | 3 | - | - |",
                "| E9 | y | - | - | skipped: needs root |"
            ]
        );
        assert_eq!(percent(0.05), "5 %");
    }
}
