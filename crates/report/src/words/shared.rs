//! What the sentences of every language share: lengths of time in one unit, and parameters to set.

/// A length of time as a scope gives it: one unit, rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// Up to a minute and a half.
    Seconds(u64),
    /// Up to an hour and a half.
    Minutes(u64),
    /// Less than most of a day.
    Hours(u64),
    /// A day's round or more: every hour of the day was seen.
    DayAndMore(u64),
}

impl Span {
    /// A day's round in hours, less what a run may stop short of it.
    const DAY_HOURS: u64 = 23;

    pub(crate) const fn of(span: model::units::Nanos) -> Self {
        // Begun seconds do not count, as in `number::duration`: both stand on one page.
        let seconds = span.0 / 1_000_000_000;
        let hours = (seconds + 1800) / 3600;
        match seconds {
            0..90 => Self::Seconds(seconds),
            90..5400 => Self::Minutes((seconds + 30) / 60),
            _ if hours < Self::DAY_HOURS => Self::Hours(hours),
            _ => Self::DayAndMore(hours),
        }
    }
}

/// Whole days, from two on: what lies between two runs of which the later was on another day.
pub(crate) const fn days(span: model::units::Nanos) -> Option<u64> {
    let hours = span.0 / 3_600_000_000_000;
    if hours >= 48 {
        Some((hours + 12) / 24)
    } else {
        None
    }
}

/// What to set so that parameters are the base's: all that the base has a value for.
pub(crate) fn sets_of(differences: &[(String, String, String)]) -> Vec<(String, String)> {
    differences
        .iter()
        .filter(|(name, base, _)| name != "workload" && base != "not set")
        .map(|(name, base, _)| (name.clone(), typed(base)))
        .collect()
}

/// A value as one types it: a size without the space that people read.
fn typed(value: &str) -> String {
    match model::params::parse_size(value) {
        Some(_) => value.replace(' ', ""),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_differs_is_set_without_a_space() {
        let differing = |base: &str| [("size".to_owned(), base.to_owned(), "1 KiB".to_owned())];
        let check = |base: &str, expect: &str| {
            let set = sets_of(&differing(base));
            assert_eq!(set, [("size".to_owned(), expect.to_owned())]);
        };
        check("64 MiB", "64MiB");
        check("1000 B", "1000B");
        check("10", "10");
        check("a b", "a b");
        assert!(sets_of(&differing("not set")).is_empty());
    }
}
