//! From an interval to one of six words.
//!
//! A difference that matters is one beyond the margin; a difference that is merely not zero is named with a question
//! mark. `same` is a positive finding: the whole interval lies within the margin (two one-sided tests, Schuirmann,
//! J. Pharmacokin. Biopharm. 15 (1987) 657-680), never the absence of evidence for a difference, which is `unclear`.

use model::comparison::Verdict;

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
    } else if ln_lo > 0.0 {
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
