//! How often verdicts are wrong on runs of which the truth is known: the whole of `stats::compare` on made runs, many
//! times.
//!
//! A rate is held against its bound with the chance that calls bring: it is above the bound only where so many would be
//! wrong in less than one of a hundred experiments if the true rate were the bound. `cargo lab verdicts` makes a
//! thousand calls of every kind; a test makes a few of some. What has no bound says so in its row.

mod kind;
mod kinds;
mod made;
mod noises;
mod score;

use crate::asked;
use anyhow::bail;
use clap::Parser;
use score::HEADING;
use std::path::Path;

/// Options of `cargo lab verdicts`.
#[derive(Parser)]
#[command(
    name = "cargo lab verdicts",
    no_binary_name = true,
    about = "How often verdicts are wrong on runs of which the truth is known"
)]
struct Options {
    /// Kinds of runs, by parts of their names [default: all]
    #[arg(value_name = "KIND")]
    kinds: Vec<String>,
    /// Calls of each kind
    #[arg(long, default_value_t = 1000)]
    calls: u32,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Prints the rates of every kind that was asked for; an error where one is above its bound.
pub(crate) fn run(_root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let wanted = |name: &str| {
        options.kinds.is_empty() || options.kinds.iter().any(|part| name.contains(part))
    };
    let kinds = kinds::all();
    let kinds: Vec<_> = kinds.iter().filter(|kind| wanted(&kind.name)).collect();
    if kinds.is_empty() {
        bail!("no kind has a name like that");
    }
    say!("{HEADING}");
    let mut broken = 0;
    for kind in kinds {
        let tally = kind.tally(options.calls, options.seed);
        let wrong = tally.broken(kind);
        broken += usize::from(!wrong.is_empty());
        say!("{}", tally.row(kind, &wrong));
    }
    if broken > 0 {
        bail!("{broken} kinds are not within their bounds");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Makes so many calls of the first kind of each name: none may be beyond its bounds.
    fn check(some: &[(&str, u32)]) {
        let kinds = kinds::all();
        let mut broken = Vec::new();
        for &(name, calls) in some {
            let kind = kinds.iter().find(|kind| kind.name.starts_with(name));
            let kind = kind.unwrap_or_else(|| panic!("{name}"));
            let tally = kind.tally(calls, 1);
            let wrong = tally.broken(kind);
            if !wrong.is_empty() {
                broken.push(tally.row(kind, &wrong));
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }

    /// Some of each sort, with so many calls that a rule which fails as often as the one before does not pass.
    #[test]
    fn verdicts_on_runs_of_which_the_truth_is_known_are_rarely_wrong() {
        check(&[
            ("independent, two levels, p .5, 24 metrics, 6 and 6", 60),
            ("independent, two levels, p .3, 24 metrics, 6 and 28", 60),
            ("independent, normal 5 %, 24 metrics, 6 and 28", 60),
            ("independent, 5 % against 1 %, 24 metrics, 6 and 28", 60),
            ("5 of 100 differ, normal 1 %, 100 metrics, 6 and 28", 10),
            ("dependent 0.8, 24 metrics, 9 and 9", 40),
            ("dependent 0.5, at the margin, 24 metrics, 28 and 28", 10),
            ("target, normal 1 %", 20),
            ("target, two levels, p .5, 24", 60),
            ("slow moments, normal 1 %, 24 metrics, 9 and 9", 30),
        ]);
    }

    #[test]
    fn verdicts_on_runs_of_other_hours_are_rarely_wrong() {
        check(&[
            (
                "between runs, 1 % on each metric, one machine, 20 earlier runs, 24",
                10,
            ),
            (
                "between runs, 2 % on all metrics, two machines, three runs a side, 24",
                20,
            ),
            (
                "sittings, 1 % on all metrics, 20 earlier runs in one sitting, 6",
                10,
            ),
            ("power, 5 % slower, duel", 60),
            (
                "power, 5 % slower, three runs a side, 0.5 % between runs",
                60,
            ),
        ]);
    }

    #[test]
    fn every_kind_is_there_once_and_what_it_has_no_bound_for_is_said() {
        let kinds = kinds::all();
        let names: BTreeSet<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names.len(), kinds.len());
        for kind in &kinds {
            let silent = !kind.bounds.has_any() && kind.remark.is_empty();
            assert!(!silent, "{}", kind.name);
        }
        for metrics in ["1 metric,", "6 metrics", "24 metrics", "100 metrics"] {
            for family in ["independent,", "dependent", "between runs", "sittings"] {
                let mut fitting = names.iter().filter(|name| name.starts_with(family));
                let there = fitting.any(|name| name.contains(metrics));
                assert!(there, "{family} {metrics}");
            }
        }
    }

    /// A rate says nothing of earlier runs where the program took its figures from elsewhere.
    #[test]
    fn every_kind_is_judged_by_what_it_is_about() {
        for kind in kinds::all().iter().filter(|kind| kind.metrics == 1) {
            let tally = kind.tally(1, 1);
            let row = tally.row(kind, &[]);
            assert!(!tally.broken(kind).contains(&score::SOURCE), "{row}");
        }
    }
}
