//! The search for the largest number that holds: doubled while it does, then halved between the last one that did and
//! the first one that did not.
//!
//! Who asks whether a number holds, and for how long, is the caller's business. Steps of equal size were rejected: from
//! an unknown scale on they take as many tries as there are numbers.

/// What is known of the largest number that holds.
#[derive(Clone, Debug)]
pub struct Bracket {
    /// The number that is tried.
    at: u32,
    least: u32,
    most: u32,
    good: Option<u32>,
    bad: Option<u32>,
    /// Neighbours whose distance is no more than this share of the smaller one are close enough.
    share: f64,
    is_over: bool,
}

impl Bracket {
    /// Begins with this number, and tries none below `least` or above `most`. The search is over when the last number
    /// that held and the first one that did not are neighbours, or no further apart than `share` of the smaller one.
    pub fn new(first: u32, (least, most): (u32, u32), share: f64) -> Self {
        let most = most.max(least);
        Self {
            at: first.clamp(least, most),
            least,
            most,
            good: None,
            bad: None,
            share,
            is_over: false,
        }
    }

    /// The number to try; once the search is over the one that was found, or the least.
    #[inline]
    pub const fn at(&self) -> u32 {
        self.at
    }

    /// The largest number that held.
    pub const fn good(&self) -> Option<u32> {
        self.good
    }

    /// The smallest number that did not.
    pub const fn bad(&self) -> Option<u32> {
        self.bad
    }

    /// Whether no number is left to try.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// The number that was tried holds, or does not.
    pub fn judged(&mut self, holds: bool) {
        if holds {
            self.good = Some(self.at);
        } else {
            self.bad = Some(self.at);
        }
        self.choose();
    }

    /// What was found no longer holds: the search goes on below it.
    pub fn lost(&mut self) {
        (self.bad, self.good, self.is_over) = (Some(self.at), None, false);
        self.choose();
    }

    fn choose(&mut self) {
        let (next, is_over) = match (self.good, self.bad) {
            (Some(good), None) => (good.saturating_mul(2).min(self.most), good >= self.most),
            (None, Some(bad)) => ((bad / 2).max(self.least), bad <= self.least),
            (Some(good), Some(bad)) => {
                let apart = f64::from(bad.saturating_sub(good));
                let is_close = apart <= (self.share * f64::from(good)).max(1.0);
                let next = if is_close {
                    good
                } else {
                    u32::midpoint(good, bad)
                };
                (next, is_close)
            }
            (None, None) => (self.at, false),
        };
        (self.at, self.is_over) = (next, is_over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found where numbers up to `holds` hold, and in how many tries.
    fn found(mut bracket: Bracket, holds: u32) -> (Option<u32>, Option<u32>, u32) {
        for tries in 0..100 {
            if bracket.is_over() {
                return (bracket.good(), bracket.bad(), tries);
            }
            bracket.judged(bracket.at() <= holds);
        }
        panic!("{bracket:?} ends never");
    }

    #[test]
    fn the_largest_number_is_found_from_wherever_the_search_begins() {
        for first in [1, 7, 64, 1000] {
            for holds in 0..=130 {
                let (good, bad, tries) = found(Bracket::new(first, (1, 128), 0.0), holds);
                let most = holds.min(128);
                assert_eq!(good, (most > 0).then_some(most), "{first} {holds}");
                assert_eq!(bad, (holds < 128).then_some(holds + 1), "{first} {holds}");
                assert!(tries <= 16, "{first} {holds}: {tries}");
            }
        }
    }

    #[test]
    fn a_share_ends_the_search_earlier() {
        for holds in [40, 55, 70, 99, 140, 199] {
            let (good, bad, tries) = found(Bracket::new(50, (10, 200), 0.05), holds);
            let (good, bad) = (good.unwrap(), bad.unwrap());
            assert!(good <= holds && holds < bad, "{good} {holds} {bad}");
            assert!(
                f64::from(bad - good) <= 0.05 * f64::from(good) + 1.0,
                "{good} {bad}"
            );
            assert!(tries <= 8, "{holds}: {tries}");
        }
        assert_eq!(
            found(Bracket::new(50, (10, 200), 0.05), 9),
            (None, Some(10), 4)
        );
        assert_eq!(
            found(Bracket::new(50, (10, 200), 0.05), 900),
            (Some(200), None, 3)
        );
        assert_eq!(
            found(Bracket::new(5, (10, 2), 0.05), 900),
            (Some(10), None, 1)
        );
    }
}
