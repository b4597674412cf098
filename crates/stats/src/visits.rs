//! At how many times a machine was seen. What runs of it differ by comes with the hour, so that rounds of one
//! quarter of an hour say nothing of it, however many runs they are of.

use model::num::count;
use model::order::Order as _;

/// Rounds that began so far apart, in ns, saw the machine at two times.
pub(crate) const APART: u64 = 20 * 60 * 1_000_000_000;

/// How runs saw their machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Visits {
    /// The visit during which each run began.
    of_run: Vec<usize>,
    /// What each visit counts in a mean in which every run counts the same, and in a run every round.
    shares: Vec<f64>,
}

impl Visits {
    /// Those of runs whose rounds began at these times; a run has at least one.
    pub(crate) fn of(runs: &[&[u64]]) -> Self {
        let mut began: Vec<u64> = runs.iter().copied().flatten().copied().collect();
        began.order();
        let mut starts: Vec<u64> = Vec::new();
        for at in began {
            if starts.last().is_none_or(|last| at - last >= APART) {
                starts.push(at);
            }
        }
        let visit_of = |at: u64| starts.partition_point(|start| *start <= at) - 1;
        let mut shares = vec![0.0; starts.len()];
        for rounds in runs {
            for at in *rounds {
                shares[visit_of(*at)] += 1.0 / (count(rounds.len()) * count(runs.len()));
            }
        }
        let firsts = runs.iter().filter_map(|rounds| rounds.iter().min());
        Self {
            of_run: firsts.map(|first| visit_of(*first)).collect(),
            shares,
        }
    }

    /// How many equal visits would say as much: eight rounds in one and one in another are little more than one.
    pub(crate) fn equal(&self) -> f64 {
        let squares: f64 = self.shares.iter().map(|share| share * share).sum();
        if squares > 0.0 { 1.0 / squares } else { 1.0 }
    }

    /// The values of runs, by the visit during which each began.
    pub(crate) fn sorted(&self, values: &[f64]) -> Vec<Vec<f64>> {
        let mut sorted = vec![Vec::new(); self.shares.len()];
        for (visit, value) in self.of_run.iter().zip(values) {
            sorted[*visit].push(*value);
        }
        sorted.retain(|values| !values.is_empty());
        sorted
    }
}

/// How many equal visits the rounds of one run are, most of which are one.
pub(crate) fn equal_of(times: &[u64]) -> f64 {
    let (first, last) = (times.iter().min(), times.iter().max());
    match (first, last) {
        (Some(first), Some(last)) if last - first >= APART => Visits::of(&[times]).equal(),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(runs: &[&[u64]]) -> Visits {
        let times = |run: &&[u64]| run.iter().map(|minute| minute * 60_000_000_000).collect();
        let runs: Vec<Vec<u64>> = runs.iter().map(times).collect();
        Visits::of(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn what_began_close_together_is_one_visit() {
        let one_each = minutes(&[&[30], &[0], &[19], &[20], &[39], &[41]]);
        assert_eq!(one_each.of_run, [1, 0, 0, 1, 1, 2]);
        let sorted = one_each.sorted(&[3.0, 0.0, 1.0, 4.0, 5.0, 6.0]);
        assert_eq!(sorted, [vec![0.0, 1.0], vec![3.0, 4.0, 5.0], vec![6.0]]);
        // A run that goes on into another visit belongs to the one in which it began.
        assert_eq!(minutes(&[&[0, 25], &[26]]).of_run, [0, 1]);
        assert_eq!(minutes(&[]), Visits::default());
    }

    #[test]
    fn visits_count_by_what_they_give_to_the_mean() {
        let about = |visits: Visits, expected: f64| {
            let equal = visits.equal();
            assert!((equal - expected).abs() < 1e-9, "{equal}, not {expected}");
        };
        about(minutes(&[]), 1.0);
        about(minutes(&[&[0, 1, 2, 3, 4, 5]]), 1.0);
        about(minutes(&[&[0, 1, 2, 30, 31, 32]]), 2.0);
        // Eight rounds, and one more another day.
        about(minutes(&[&[0, 1, 2, 3, 4, 5, 6, 7, 3000]]), 81.0 / 65.0);
        // Every run counts the same, however many rounds it has.
        about(minutes(&[&[0, 1, 2, 3], &[60, 61]]), 2.0);
        about(minutes(&[&[0], &[1], &[2], &[60]]), 16.0 / 10.0);
        let hour = 3_600_000_000_000;
        assert!((equal_of(&[0, 5, hour, hour + 5]) - 2.0).abs() < 1e-9);
        assert!((equal_of(&[5, 0]) - 1.0).abs() < 1e-9 && (equal_of(&[]) - 1.0).abs() < 1e-9);
    }
}
