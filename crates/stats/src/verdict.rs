//! From an interval to one of six words.
//!
//! A difference that matters is one beyond the margin; a difference that is merely not zero is named with a question
//! mark. `same` is a positive finding: the whole interval lies within the margin (two one-sided tests, Schuirmann,
//! J. Pharmacokin. Biopharm. 15 (1987) 657-680), never the absence of evidence for a difference, which is `unclear`.

use crate::yuen::RatioInterval;
use model::comparison::Verdict;

/// The shares of false claims that a verdict may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Of a difference: the chance of naming one where there is none.
    pub difference: f64,
    /// Of sameness: twice the chance of calling a true difference as large as the margin the same. Not above
    /// `difference`, so that no interval is too wide for `same` and too narrow for a difference.
    pub same: f64,
}

impl Levels {
    /// One level for either claim.
    pub const fn both(level: f64) -> Self {
        Self {
            difference: level,
            same: level,
        }
    }

    /// The same where a difference may be claimed at `level` only, if that is stricter.
    #[must_use]
    pub fn difference_at_most(self, level: f64) -> Self {
        Self {
            difference: self.difference.min(level),
            same: self.same.min(level),
        }
    }
}

/// The verdict that `found` allows at `levels`. Where it lies within the margin at the level of a difference but not at
/// that of sameness, what is left to say is its direction, if that is sure.
pub fn of_ratio(found: &RatioInterval, levels: Levels, margin: f64) -> Verdict {
    let (ln_lo, ln_hi) = found.ln_ends(levels.difference);
    let verdict = of_interval((ln_lo, ln_hi), margin);
    let is_one_level = levels.same.to_bits() == levels.difference.to_bits();
    let stricter = || of_interval(found.ln_ends(levels.same), margin);
    if verdict != Verdict::Same || is_one_level || stricter() == Verdict::Same {
        verdict
    } else {
        direction((ln_lo, ln_hi))
    }
}

/// The verdict for the interval from `ln_lo` to `ln_hi` of the logarithm of a ratio that is turned so that above 0
/// is better. `margin` is a share: 0.03 counts ratios from 1/1.03 to 1.03 as the same.
pub fn of_interval((ln_lo, ln_hi): (f64, f64), margin: f64) -> Verdict {
    let within = margin.ln_1p();
    if ln_lo > within {
        Verdict::Better
    } else if ln_hi < -within {
        Verdict::Worse
    } else if ln_lo >= -within && ln_hi <= within {
        Verdict::Same
    } else {
        direction((ln_lo, ln_hi))
    }
}

const fn direction((ln_lo, ln_hi): (f64, f64)) -> Verdict {
    if ln_lo > 0.0 {
        Verdict::BetterMaybe
    } else if ln_hi < 0.0 {
        Verdict::WorseMaybe
    } else {
        Verdict::Unclear
    }
}

/// True where more rounds cannot be asked for: the difference is proven larger or smaller than the margin.
pub const fn is_final(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse | Verdict::Same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yuen;
    use proptest::prelude::*;

    #[test]
    fn each_position_of_the_interval_has_its_word() {
        let check = |lo: f64, hi: f64, expect| {
            assert_eq!(of_interval((lo.ln(), hi.ln()), 0.05), expect, "{lo} {hi}");
        };
        check(1.06, 1.10, Verdict::Better);
        check(1.01, 1.10, Verdict::BetterMaybe);
        check(1.01, 1.04, Verdict::Same);
        check(0.97, 1.03, Verdict::Same);
        check(0.97, 1.08, Verdict::Unclear);
        check(0.90, 0.98, Verdict::WorseMaybe);
        check(0.80, 0.90, Verdict::Worse);
        check(0.50, 2.00, Verdict::Unclear);
        // Within 5 % means 1/1.05 below, not 0.95.
        check(0.951, 1.0, Verdict::Unclear);
        check(0.953, 1.0, Verdict::Same);
    }

    #[test]
    fn sameness_may_ask_for_a_wider_interval_than_a_difference() {
        let levels = Levels {
            difference: 0.05,
            same: 0.01,
        };
        let check = |ratio: f64, se: f64, expect| {
            let rounds = [0.0; 9].map(|_| ratio.ln());
            let mut found = yuen::paired(&rounds, 0.05).unwrap();
            found.se = se;
            assert_eq!(of_ratio(&found, levels, 0.05), expect, "{ratio} {se}");
        };
        // Student's quantiles for six degrees of freedom are 2.45 at 95 % and 3.71 at 99 %.
        check(1.00, 0.010, Verdict::Same);
        check(1.00, 0.018, Verdict::Unclear);
        check(1.02, 0.007, Verdict::Same);
        check(1.02, 0.008, Verdict::BetterMaybe);
        check(1.10, 0.015, Verdict::Better);
        check(1.0 / 1.02, 0.008, Verdict::WorseMaybe);
        let of = |difference, same| Levels { difference, same };
        assert_eq!(levels.difference_at_most(0.02), of(0.02, 0.01));
        assert_eq!(levels.difference_at_most(0.001), Levels::both(0.001));
    }

    proptest! {
        #[test]
        fn the_other_point_of_view_has_the_reversed_word(lo in -1.0..1.0_f64, width in 0.0..1.0_f64) {
            let hi = lo + width;
            let there = of_interval((lo, hi), 0.03);
            let back = of_interval((-hi, -lo), 0.03);
            prop_assert_eq!(there.reversed(), back);
        }
    }
}
