//! English, of comparisons.

use super::plural;
use crate::words::{ComparisonWords, Counts, FloorNote, Span, days};
use model::comparison::{
    Estimator, Hopeless, Place, Refusal, RoundsNeeded, Scope, Verdict, Watched,
};

pub(super) const WORDS: ComparisonWords = ComparisonWords {
    base: "base",
    other: "other",
    summary: "summary",
    categories: "categories",
    ratio: "ratio",
    verdict: "verdict",
    needed: "to tell",
    refused: "not compared",
    without_interval: "without an interval",
    differences: "differences in set-up",
    metrics: |n| plural(n, "metric", "metrics"),
    all_metrics: |n| format!("all {n} metrics"),
    these_are: |why, list| format!("{why}; these are {list}"),
    latest_of: |n| format!("the latest of {n} runs of that label"),
    rounds_needed: |needed| match needed {
        RoundsNeeded::Rounds(n) => format!("about {} a side", plural(n, "round", "rounds")),
        RoundsNeeded::RoundsAtLeast(n) => format!("at least {n} rounds a side"),
        RoundsNeeded::Pairs(n) => format!("about {}", plural(n, "pair", "pairs")),
        RoundsNeeded::PairsAtLeast(n) => format!("at least {n} pairs"),
        RoundsNeeded::Instances(n) => {
            format!("about {} a side", plural(n, "instance", "instances"))
        }
        RoundsNeeded::InstancesAtLeast(n) => format!("at least {n} instances a side"),
        RoundsNeeded::NotAtThisNoise => "not at this noise level".to_owned(),
    },
    counts,
    gain: |metric, ratio, interval| format!("largest gain: {metric}, ratio {ratio} ({interval})"),
    loss: |metric, ratio, interval| format!("largest loss: {metric}, ratio {ratio} ({interval})"),
    incomplete: |plain, none| {
        let metrics = |n| plural(n, "metric", "metrics");
        let what = match (plain, none) {
            (plain, 0) => format!("{} without an interval", metrics(plain)),
            (0, none) => format!("{} not compared", metrics(none)),
            (plain, none) => format!(
                "{} without an interval, {none} not compared",
                metrics(plain)
            ),
        };
        format!("{what}; the reasons are below")
    },
    both_disturbed: "both were disturbed while they were measured (notes), which may be the cause: measure both again \
                     when it is quiet",
    one_disturbed: |name| {
        format!(
            "{name} was disturbed while it was measured (notes), which may be the cause: measure it again when it is quiet"
        )
    },
    setup_differs: |n, list| {
        let points = plural(n, "point", "points");
        format!("the set-ups differ in {points} ({list}), which may be the cause")
    },
    looked: |difference, same| {
        format!(
            "the figures themselves decided how many rounds there are, so that verdicts are more careful than the intervals: read at {difference}, `same` at {same}"
        )
    },
    paired: "a duel: rounds measured and compared in pairs, one of each side, the order decided by a coin",
    scope,
    and_more: |first, more| format!("{first} and {more} more"),
    notes: "notes",
    slow_moments,
    hopeless,
    margin_raised: |metric, class, margin| {
        format!("{metric}: margin {class}, raised to {margin}: twice the noise floor of this test")
    },
    repeat: |on_base, sure, runs| {
        let side = if on_base { "base" } else { "other side" };
        if sure {
            format!("{side}: {runs} come from one instance; a plan takes five separate ones a side")
        } else {
            format!(
                "{side}: {runs} cannot be told apart and may come from one instance; a plan takes five separate ones a side"
            )
        }
    },
    no_level: |side, list, estimator| {
        let about = match estimator {
            Estimator::Rounds => "the trimmed mean of all rounds",
            Estimator::Pairs => "the trimmed mean over all pairs of rounds",
            Estimator::Runs => "the medians of the runs",
        };
        format!(
            "{side}: no single level in {list}: `kurabe show` gives no value there; what stands in the table is about {about}, at which the machine may never run"
        )
    },
    changed: |side, list| {
        format!(
            "{side}: the level changed during the run in {list}: the figures are about the whole of it, and another hour may tell otherwise"
        )
    },
    with_remark: |metric, remark| format!("{metric} ({remark})"),
    in_runs: |n, of| format!("in {n} of {of} runs"),
    lower: "(lower)",
    values_are: |estimator| match estimator {
        Estimator::Rounds => {
            "base, other: the trimmed means (on a logarithmic scale) that the ratio is made of; `kurabe show` gives medians, which may differ a little"
        }
        Estimator::Pairs => {
            "base, other: the trimmed means over pairs (on a logarithmic scale) that the ratio is made of; `kurabe show` gives medians, which may differ a little"
        }
        Estimator::Runs => {
            "base, other: the geometric means of the runs' medians, which the ratio is made of; each run counts once"
        }
    },
    no_level_legend: "~ stands before the mean of rounds that have no single level: see the notes",
    lower_legend: "(lower) behind a unit: lower is better, and the ratio is base over other",
    legend: &[
        "ratio: other over base, turned so that above 1 is better; * marks the better side",
        "intervals are at 95 % for each metric by itself; verdicts are corrected for the number of metrics",
        "better?, worse?: the direction is sure, the size is not; same: no difference beyond the margin; unclear: cannot tell",
    ],
    nothing: "there is nothing to compare",
};

fn counts(counts: &Counts) -> String {
    let Counts {
        other,
        base,
        compared,
        better,
        worse,
        same,
        unclear,
        no_level,
    } = counts;
    let no_level = match no_level {
        0 => String::new(),
        1 => "; 1 of all these has no single level (~)".to_owned(),
        n => format!("; {n} of all these have no single level (~)"),
    };
    format!(
        "of {}, {other} is better than {base} in {better}, worse in {worse}, the same in {same}; {unclear} cannot be told{no_level}",
        plural(*compared, "metric", "metrics")
    )
}

fn length(span: Span) -> String {
    match span {
        Span::Seconds(0) => "less than a second".to_owned(),
        Span::Seconds(n) => plural(n, "second", "seconds"),
        Span::Minutes(n) => plural(n, "minute", "minutes"),
        Span::Hours(n) | Span::DayAndMore(n) => plural(n, "hour", "hours"),
    }
}

fn watched(watched: Watched) -> String {
    match watched {
        Watched::Once(span) => match Span::of(span) {
            Span::Seconds(1) => "this second".to_owned(),
            span @ (Span::Seconds(0) | Span::DayAndMore(_)) => length(span),
            span => format!("these {}", length(span)),
        },
        Watched::Twice { base, other, apart } => {
            let (base, other) = (length(Span::of(base)), length(Span::of(other)));
            let spans = if base == other {
                format!("{base} each")
            } else {
                format!("{base} and {other}")
            };
            let apart = match days(apart) {
                Some(days) => plural(days, "day", "days"),
                None => length(Span::of(apart)),
            };
            format!("{spans}, begun {apart} apart")
        }
    }
}

fn scope(scope: &Scope) -> String {
    let when = watched(scope.watched);
    match scope.place {
        Place::OneInstance => format!("this instance, {when}"),
        Place::TwoInstances => format!("these two instances, {when}"),
        Place::TwoRuns => format!("these two runs, {when}"),
        Place::Plan { base, other } => format!("this plan ({base} and {other} instances)"),
        Place::Runs { base, other } => format!("these {base} and {other} runs, no plan"),
    }
}

fn hopeless(metrics: &str, why: Hopeless) -> String {
    let why = match why {
        Hopeless::OnTheMargin => {
            "the ratio lies on the margin, where no number of rounds tells; another `--margin` would"
        }
        Hopeless::Steal => {
            "not at this noise level: the host takes time away in most of the rounds; another hour may be quieter"
        }
        Hopeless::BetweenRounds => {
            "not at this noise level: rounds differ among themselves; passes spread over more time would say more than more of them"
        }
        Hopeless::WithinRounds => {
            "not at this noise level: the scatter is within the rounds; longer rounds would say more than more of them"
        }
        Hopeless::BetweenInstances => {
            "not at this noise level: the instances differ among themselves"
        }
        Hopeless::Unseen => "not at this noise level; where the scatter comes from cannot be seen",
    };
    format!("{metrics}: {why}")
}

fn slow_moments(note: &FloorNote) -> String {
    let FloorNote {
        metric,
        other,
        typical,
        faster,
        change,
        range,
        slow_shares,
    } = note;
    let typically = match typical {
        Verdict::Same => "typically the same",
        Verdict::Better | Verdict::BetterMaybe => "typically better",
        Verdict::Worse | Verdict::WorseMaybe => "typically worse",
        Verdict::Unclear => "typically too close to tell",
    };
    let direction = if *faster { "faster" } else { "slower" };
    let shares = slow_shares
        .as_ref()
        .map_or_else(String::new, |(base, other)| {
            format!("; windows below 90 % of the typical rate: {base} and {other}")
        });
    format!(
        "{metric}: {typically}, but {other}'s slow moments are {change} {direction} ({range}){shares}"
    )
}

pub(super) fn refusal(refusal: &Refusal, run: &str) -> String {
    match refusal {
        Refusal::OneSideOnly { base_has_it: true } => {
            format!("only the base has it; on the other side: {run}")
        }
        Refusal::OneSideOnly { base_has_it: false } => {
            format!("only the other run has it; on the base's side: {run}")
        }
        Refusal::WorkloadVersion { base, other } => format!(
            "measured by different versions of the workload ({base} and {other}), which do not compare: measure both with the same kurabe, {run}"
        ),
        Refusal::Parameters(differences) => {
            let list: Vec<String> = differences
                .iter()
                .map(|(name, base, other)| format!("{name} {base} and {other}"))
                .collect();
            format!("parameters differ: {}; as the base: {run}", list.join(", "))
        }
        Refusal::NoValue { base, other, why } => {
            let side = match (base, other) {
                (true, true) => "on both sides",
                (true, false) => "on the base's side",
                _ => "on the other side",
            };
            format!("{side} no round has a value: {why}; to try again: {run}")
        }
        Refusal::TooFewRounds { base, other, need } => {
            let single = if *base == 1 || *other == 1 {
                "; a single figure says nothing about its scatter"
            } else {
                ""
            };
            let side = match (base < need, other < need) {
                (true, false) => "on the base's side",
                (false, true) => "on the other side",
                _ => "on both sides",
            };
            format!(
                "too few rounds: {base} and {other}, where each side needs {need}{single}; {side}: {run}"
            )
        }
        Refusal::TooFewPairs {
            pairs,
            need,
            resume,
        } => {
            let help = resume.as_ref().map_or_else(
                || "a new `kurabe duel` takes `--passes 9` or more, or more time".to_owned(),
                |id| format!("`kurabe duel --resume {id}` goes on with it"),
            );
            format!("too few pairs with both values: {pairs}, where a verdict takes {need}; {help}")
        }
        Refusal::TooFewRuns { base, other, need } => format!(
            "too few runs: {base} and {other}, where a plan needs {need} separate instances a side; on each further instance: {run}"
        ),
        Refusal::GroupDisagrees { on_base, runs, why } => {
            let side = if *on_base { "base" } else { "other side" };
            let why = refusal_of_group(why);
            format!(
                "the runs of the {side} did not measure the same ({} and {}: {why}); leave one out, or measure it again: {run}",
                runs.0, runs.1
            )
        }
        Refusal::Soak { base, other } => {
            let (who, side) = match (base, other) {
                (true, true) => ("both sides are soaks", "both sides"),
                (true, false) => ("the base is a soak", "the base's side"),
                _ => ("the other side is a soak", "the other side"),
            };
            format!(
                "{who}: rounds of a soak are one series and no independent sample, so that the plain ratio is all there is; what a soak found is in `kurabe show RUN`; for a verdict, on {side}: {run}"
            )
        }
        Refusal::NoRatio {
            base_is_zero: true,
            other_is_zero: true,
        } => "0 in every round of both sides: there is no ratio, and no difference".to_owned(),
        Refusal::NoRatio {
            base_is_zero,
            other_is_zero,
        } if *base_is_zero || *other_is_zero => format!(
            "0 in every round of the {}, so there is no ratio: see the rounds with `kurabe show RUN --format csv-rounds`, or measure again, {run}",
            if *base_is_zero { "base" } else { "other side" }
        ),
        Refusal::NoRatio { .. } => format!(
            "a value is zero, negative or missing, so there is no ratio: see the rounds with `kurabe show RUN --format csv-rounds`, or measure again, {run}"
        ),
    }
}

/// Why two runs of one side disagree.
fn refusal_of_group(why: &Refusal) -> String {
    match why {
        Refusal::WorkloadVersion { base, other } => {
            format!("versions {base} and {other} of the workload")
        }
        Refusal::Parameters(differences) => {
            let list = differences
                .iter()
                .map(|(name, base, other)| format!("{name} {base} and {other}"));
            list.collect::<Vec<_>>().join(", ")
        }
        _ => "other work".to_owned(),
    }
}
