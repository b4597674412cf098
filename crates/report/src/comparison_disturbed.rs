//! What the summary of a comparison says where something else took time from the rounds: a difference may then be one
//! of the hour and not of the machine, however sure it is. Which side by what is in the notes.

use crate::comparison::{Party, names};
use crate::words::Words;
use model::comparison::Comparison;
use model::warning::Warning;

/// The share of a side's rounds from which on the summary says that something else took time from it.
const MOST_ROUNDS: f64 = 0.5;

/// That most rounds of a side were disturbed; and of the other one with it, where the notes tell as much of that. What
/// disturbs the pairs of a duel disturbs both of each.
pub(crate) fn line(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Option<String> {
    let says = &words.comparison;
    let any_change = comparison.metrics.iter().any(|m| m.ratio.is_some());
    if comparison.paired || !any_change {
        return None;
    }
    let most = |warnings: &[Warning]| warnings.iter().filter_map(rounds_share).fold(0.0, f64::max);
    let (on_base, on_other) = &comparison.disturbed;
    if most(on_base).max(most(on_other)) < MOST_ROUNDS {
        return None;
    }
    let (base_name, other_name) = names(base, other, words);
    let is = |warnings: &[Warning]| {
        warnings
            .iter()
            .any(|warning| rounds_share(warning).is_some())
    };
    match (is(on_base), is(on_other)) {
        (true, true) => Some(says.both_disturbed.to_owned()),
        (true, false) => Some((says.one_disturbed)(&base_name)),
        (false, true) => Some((says.one_disturbed)(&other_name)),
        (false, false) => None,
    }
}

/// In which share of the rounds something took time that may be quiet another time, which a quota never is.
const fn rounds_share(warning: &Warning) -> Option<f64> {
    match warning {
        Warning::Steal { rounds_share, .. } | Warning::ForeignCpu { rounds_share, .. } => {
            Some(*rounds_share)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::summary;
    use crate::testkit;
    use crate::words::Lang;

    #[test]
    fn the_summary_says_whose_rounds_were_mostly_disturbed() {
        let (base, other, mut comparison) = testkit::comparison();
        let (base, other) = (Party::one(&base), Party::one(&other));
        let by = |share: f64| match share {
            0.0 => Vec::new(),
            rounds_share => vec![Warning::ForeignCpu {
                rounds_share,
                process: None,
            }],
        };
        for words in Lang::ALL.map(Lang::words) {
            let (base_name, other_name) = names(&base, &other, words);
            let says = &words.comparison;
            let both = says.both_disturbed.to_owned();
            for (on_base, on_other, expect) in [
                (0.0, 0.0, None),
                (0.3, 0.4, None),
                (0.44, 1.0, Some(both.clone())),
                (0.5, 0.2, Some(both)),
                (0.0, 0.7, Some((says.one_disturbed)(&other_name))),
                (0.7, 0.0, Some((says.one_disturbed)(&base_name))),
            ] {
                comparison.disturbed = (by(on_base), by(on_other));
                let said = line(&base, &other, &comparison, words);
                assert_eq!(said, expect, "{on_base} {on_other}");
                let lines = summary(&base, &other, &comparison, words);
                assert_eq!(
                    expect.is_some_and(|line| lines.contains(&line)),
                    said.is_some()
                );
                assert!(lines.len() <= crate::comparison::SUMMARY_LINES_MAX);
            }
            // A quota is there today and tomorrow.
            let throttled = || vec![Warning::Throttled { rounds_share: 1.0 }];
            comparison.disturbed = (throttled(), throttled());
            assert_eq!(line(&base, &other, &comparison, words), None);
            comparison.disturbed = (by(1.0), by(1.0));
            comparison.paired = true;
            assert_eq!(line(&base, &other, &comparison, words), None);
            comparison.paired = false;
        }
    }
}
