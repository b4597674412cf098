//! Which row a statement is about. How rows are chosen decides how often transactions meet, and so the figure: with a
//! lock for each row it turned the order of two servers round (docs/method/database.md).

use model::rng::Rng;

/// How rows are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// As sysbench 1.0 does by default: three of four picks are of few rows in the middle.
    Special,
    /// Each row as often as any other one: the default of sysbench 1.1.
    Uniform,
}

impl Choice {
    /// The words of the parameter, those of `--rand-type`.
    pub(super) const WORDS: [&'static str; 2] = ["special", "uniform"];

    /// The choice of this word.
    pub(super) fn of(word: &str) -> Self {
        match word {
            "uniform" => Self::Uniform,
            _ => Self::Special,
        }
    }

    /// The parameter's word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Special => Self::WORDS[0],
            Self::Uniform => Self::WORDS[1],
        }
    }
}

/// Picks rows of a table, by their number from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    choice: Choice,
    size: u32,
    /// The rows in the middle that most picks are of: the first, and how many.
    hot_first: u32,
    hot: u32,
}

/// Uniform numbers of which one pick is the mean (`--rand-spec-iter`).
const SUMMED: u64 = 12;

impl Rows {
    /// Rows 1 to `size`.
    pub(super) fn new(choice: Choice, size: u32) -> Self {
        // The bounds were counted in a million picks of sysbench 1.0.20 from 1,000,000 rows: from 0.4975 to 0.5050 of
        // the table. That is 75 % of 1 % (`--rand-spec-res`, `--rand-spec-pct`), and not all of the 1 %. In the tables
        // that it makes, 7507 of 10,000 values of `k` lay there.
        let share = |n: u64, of: u64| u32::try_from(u64::from(size) * n / of).unwrap_or(size);
        Self {
            choice,
            size,
            hot_first: (share(199, 400) + 1).min(size),
            hot: share(3, 400).max(1),
        }
    }

    /// The number of a row.
    #[inline]
    pub(super) fn pick(&self, rng: &mut Rng) -> u32 {
        match self.choice {
            Choice::Uniform => 1 + below(rng, self.size),
            // Three of four (`--rand-spec-res=75`).
            Choice::Special if rng.below(4) < 3 => self.hot_first + below(rng, self.hot),
            Choice::Special => 1 + self.around_the_middle(rng),
        }
    }

    /// A number below the size, near to a normal distribution: twelve uniform numbers have the standard deviation 1,
    /// and their mean has a twelfth of the range.
    fn around_the_middle(&self, rng: &mut Rng) -> u32 {
        let sum: u64 = (0..SUMMED).map(|_| rng.next() >> 32).sum();
        // Below 2^36 * 2^27: sizes end at 100 million.
        let scaled = sum * u64::from(self.size) / SUMMED;
        u32::try_from(scaled >> 32).unwrap_or(0)
    }
}

fn below(rng: &mut Rng, bound: u32) -> u32 {
    u32::try_from(rng.below(u64::from(bound))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICKS: u32 = 200_000;

    /// Shares of picks of 10,000 rows in these ranges of numbers, both ends included.
    fn shares(choice: Choice, ranges: &[(u32, u32)]) -> Vec<f64> {
        let rows = Rows::new(choice, 10_000);
        let mut rng = Rng::new(5);
        let picks: Vec<u32> = (0..PICKS).map(|_| rows.pick(&mut rng)).collect();
        let share = |&(first, last): &(u32, u32)| {
            let hits = picks.iter().filter(|row| (first..=last).contains(*row));
            f64::from(u32::try_from(hits.count()).unwrap()) / f64::from(PICKS)
        };
        ranges.iter().map(share).collect()
    }

    #[test]
    fn rows_are_picked_as_sysbench_picks_them() {
        // What 200,000 picks of sysbench 1.0.20 gave (`sysbench.rand.special(1, 10000)`), 26 November 2026.
        let ranges = [
            (1, 2000),
            (3001, 3500),
            (4001, 4500),
            (4501, 5000),
            (5001, 5500),
            (5501, 6000),
            (6501, 7000),
            (4900, 5100),
        ];
        let theirs = [
            0.0, 0.00731, 0.039_715, 0.30603, 0.55477, 0.040_545, 0.00679, 0.772_385,
        ];
        let ours = shares(Choice::Special, &ranges);
        for ((ours, theirs), range) in ours.iter().zip(theirs).zip(ranges) {
            // Five standard errors of both, and one of 75 rows, whose ends sysbench picks a part of the time.
            let error = 5.0 * (2.0_f64 * 0.25 / f64::from(PICKS)).sqrt() + 0.01;
            assert!((ours - theirs).abs() < error, "{range:?}: {ours} {theirs}");
        }
        // The 75 rows in the middle have three quarters of the picks, and what else falls there.
        let hot = shares(Choice::Special, &[(4976, 5050)])[0];
        assert!((0.75..0.775).contains(&hot), "{hot}");
    }

    #[test]
    fn uniform_picks_have_no_middle() {
        let shares = shares(Choice::Uniform, &[(1, 1000), (4501, 5500), (9001, 10_000)]);
        for share in shares {
            assert!((share - 0.1).abs() < 0.005, "{share}");
        }
    }

    #[test]
    fn every_pick_is_a_row_of_the_table_however_small() {
        let mut rng = Rng::new(3);
        for choice in [Choice::Special, Choice::Uniform] {
            for size in [1, 2, 3, 100, 1000, 100_000_000] {
                let rows = Rows::new(choice, size);
                for _ in 0..2000 {
                    let row = rows.pick(&mut rng);
                    assert!((1..=size).contains(&row), "{choice:?} {row} of {size}");
                }
            }
        }
    }

    #[test]
    fn words_and_choices_agree() {
        for word in Choice::WORDS {
            assert_eq!(Choice::of(word).word(), word);
        }
    }
}
