//! Lines of blocks: numbers drawn in the height of characters.
//!
//! A picture holds its numbers at the finest that is ever drawn, and the scale on which its blocks stand: where there
//! is room for fewer blocks, neighbours are taken together, and what is said of the scale stays true.

use model::num::{count, round_to_usize};

/// The blocks, from the lowest to the highest.
pub(crate) const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A scale spans at least this share of its middle to either side, or noise would look like a storm.
const HALF_SPAN_MIN: f64 = 0.1;

/// Numbers that are drawn as a line of blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What is drawn.
    pub drawing: Drawing,
    /// Blocks at most.
    pub most: usize,
    /// Columns that a terminal may take for each block: 2 where East Asian fonts may draw it wide.
    pub columns: usize,
}

/// What a line of blocks shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawing {
    /// A quantity in the course of time, with a gap between groups: the lowest block stands for `low`, the highest for
    /// `high`.
    Course {
        /// The values of each group, in the order of time.
        groups: Vec<Vec<f64>>,
        /// What the lowest block stands for.
        low: f64,
        /// What the highest block stands for.
        high: f64,
    },
    /// Shares of a whole in columns of equal width; a column without any stays empty.
    Distribution(Vec<f64>),
}

impl Picture {
    /// The course of `groups` in at most so many blocks, on a scale that suits it.
    pub(crate) fn course(groups: &[Vec<f64>], most: usize) -> Self {
        let groups = fitted(groups, most);
        let (low, high) = ends(groups.iter().flatten().copied());
        Self {
            drawing: Drawing::Course { groups, low, high },
            most,
            columns: 1,
        }
    }

    /// The least and the largest value of a course; `None` where it has none, and of a distribution.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        let Drawing::Course { groups, .. } = &self.drawing else {
            return None;
        };
        let all = || groups.iter().flatten().copied();
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    }

    /// The line in at most `blocks` blocks; empty for none.
    pub(crate) fn draw(&self, blocks: usize) -> String {
        let blocks = blocks.min(self.most);
        if blocks == 0 {
            return String::new();
        }
        match &self.drawing {
            Drawing::Course { groups, low, high } => fitted(groups, blocks)
                .iter()
                .map(|group| group.iter().map(|&x| block(x, *low, *high)).collect())
                .collect::<Vec<String>>()
                .join(" "),
            Drawing::Distribution(shares) => distribution(shares, blocks),
        }
    }
}

/// The groups in at most so many blocks, a gap between two of them: each as means of its neighbours, or all together as
/// means of groups where there are too many of these.
fn fitted(groups: &[Vec<f64>], blocks: usize) -> Vec<Vec<f64>> {
    let each = (blocks + 1)
        .checked_div(groups.len())
        .unwrap_or(0)
        .saturating_sub(1);
    if each > 0 {
        return groups.iter().map(|group| means(group, each)).collect();
    }
    let of_groups: Vec<f64> = groups
        .iter()
        .filter_map(|group| stats::quantile::mean(group))
        .collect();
    vec![means(&of_groups, blocks)]
}

/// `values` as at most so many means of neighbours.
fn means(values: &[f64], at_most: usize) -> Vec<f64> {
    let n = at_most.min(values.len());
    (0..n)
        .filter_map(|i| {
            let part = &values[i * values.len() / n..(i + 1) * values.len() / n];
            stats::quantile::mean(part)
        })
        .collect()
}

fn distribution(shares: &[f64], blocks: usize) -> String {
    let all = shares.len();
    let n = blocks.min(all);
    let sums: Vec<f64> = (0..n)
        .map(|i| shares[i * all / n..(i + 1) * all / n].iter().sum())
        .collect();
    let most = sums.iter().copied().fold(0.0, f64::max);
    let draw = |&share: &f64| {
        if share > 0.0 {
            block(share, 0.0, most)
        } else {
            ' '
        }
    };
    let line: String = sums.iter().map(draw).collect();
    line.trim_end().to_owned()
}

/// What the lowest and the highest block stand for.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), x| {
        (low.min(x), high.max(x))
    });
    let middle = f64::midpoint(low, high);
    let half = (HALF_SPAN_MIN * middle).max((high - low) / 2.0);
    ((middle - half).max(0.0), middle + half)
}

/// The block that stands for `x` on a scale from `low` to `high`.
fn block(x: f64, low: f64, high: f64) -> char {
    let share = if high > low {
        (x - low) / (high - low)
    } else {
        0.0
    };
    let last = BLOCKS.len() - 1;
    BLOCKS[round_to_usize(share * count(last)).min(last)]
}
