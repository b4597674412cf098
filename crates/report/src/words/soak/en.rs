//! About soaks, in English.

use super::{ALIKE, Marked, Said, SoakWords, Spent, shares, with};
use crate::number::{percent, signed_percent};
use crate::words::en::{plural, warning_of_soak};
use stats::soak::{Disturbed, Early};

pub(in crate::words) const WORDS: SoakWords = SoakWords {
    says,
    between: "; ",
    operations: |n| format!("{n} operations"),
    of_cpu_time: |work, time| format!("{work} ({time} of CPU time)"),
    blocks: |low, high| format!("lowest block {low}, highest {high}"),
    spent,
    levels: "levels",
    burst: "burst rate",
    sustained: "sustained rate",
    bucket: "bucket",
    at_full_speed: |time| format!("or {time} at full speed"),
    typical: "typical (median window)",
    floor: "floor (10 % of windows are slower)",
    best: "best (5 % of windows are faster)",
    slow: "windows below 90 % of typical",
    mean: "mean",
    within: "within this run; not to be compared",
    of_stretches: |metric| format!("{metric} (median of the stretches)"),
    marks: "marks",
    mark: |mark| match mark {
        Marked::ClockJump(by) => format!("the clock was set by {by}"),
        Marked::Suspended(time) => format!("the machine was suspended for {time}"),
        Marked::SuspendedAtRest(time) => {
            format!("the machine was suspended for {time} while it rested before this")
        }
        Marked::Failed(why) => format!("a stretch failed: {why}"),
        Marked::Gap(time) => format!("nothing was measured for {time} before this"),
    },
    left_out: |n| {
        format!(
            "{} left out of every level: the clock was set or the machine suspended meanwhile",
            plural(n, "window is", "windows are")
        )
    },
    next_resume: "go on with it until its time is over",
    clock_range: |lo, hi, median| {
        format!("{lo}..{hi} GHz (median {median}), seen before and after the stretches")
    },
    warning: warning_of_soak,
};

fn spent(spent: &Spent) -> String {
    let asked = with(spent.asked.as_ref(), |time| format!(" of {time}"));
    let no_room = if spent.no_room {
        " (what is left has no room for another sample)"
    } else {
        ""
    };
    let load = match (&spent.every, &spent.missed) {
        (None, None) => "load without a pause".to_owned(),
        (None, Some(missed)) => {
            format!("load without a pause but for {missed} in which nothing was measured")
        }
        (Some(every), None) => format!("a sample every {every}"),
        (Some(every), Some(missed)) => {
            format!("a sample every {every}, none for {missed}")
        }
    };
    let (time, window) = (&spent.time, &spent.window);
    let windows = plural(spent.windows, "window", "windows");
    let between = with(spent.between.as_ref(), |time| {
        format!("; starting and ending stretches took {time}")
    });
    let edges = match spent.edges {
        0 => String::new(),
        n => {
            format!("; {n} of them, the ends of stretches, are not in the picture")
        }
    };
    format!("{time}{asked}{no_room}, {load}: {windows} of {window}{edges}{between}")
}

fn disturbed(disturbed: &Disturbed) -> String {
    let by = shares(
        disturbed,
        [
            |share| format!("by the host in {share}"),
            |share| format!("by other processes in {share}"),
            |share| format!("by a CPU quota in {share}"),
        ],
    );
    let change = match disturbed.change {
        None => String::new(),
        Some(change) if change.abs() < ALIKE => {
            ", where the median window is within 0.5 % of the others'".to_owned()
        }
        Some(change) => format!(
            ", where the median window differs by {} from the others'",
            signed_percent(change)
        ),
    };
    format!(
        "disturbed in {} of its stretches ({}){change}",
        percent(disturbed.share),
        by.join(", ")
    )
}

fn ended_early(why: Early, lasted: Option<&(String, f64)>, of: &str) -> String {
    let how = match why {
        Early::Unfinished => "killed, or still going on,",
        Early::Interrupted => "interrupted",
        Early::Failed => "given up, for its stretches fail,",
        Early::Lapsed => "its time ran out while it was not running,",
    };
    match lasted {
        Some((time, share)) => {
            format!(
                "{how} after {time} of the {of} asked for ({})",
                percent(*share)
            )
        }
        None => format!("{how} before a stretch of the {of} asked for had ended"),
    }
}

fn says(said: &Said) -> String {
    match said {
        Said::TooShort { windows, need } if windows < need => format!(
            "too short to be called steady: {}, and it takes {need}",
            plural(*windows, "usable window", "usable windows")
        ),
        Said::TooShort { windows, .. } => {
            format!("nothing to describe: at least half of the {windows} windows did no work")
        }
        Said::Bucket {
            burst,
            time,
            sustained,
            credit,
            rest,
        } => format!(
            "{burst} for {time}, then {sustained}: a token bucket of {credit}, confirmed by its refill during a rest of {rest}"
        ),
        Said::NoBucket {
            burst,
            time,
            sustained,
            at,
            rest,
        } => format!(
            "{burst} for {time}, then, from {at} on, {sustained}: a step, cause unknown, for after a rest of {rest} the fast rate did not come back as credit would"
        ),
        Said::Untested {
            burst,
            time,
            sustained,
            credit,
            at,
        } => format!(
            "{burst} for {time}, then, from {at} on, {sustained}: a step, or a bucket of {credit}; no refill test was made to tell"
        ),
        Said::Step {
            at,
            after,
            from,
            to,
            change,
        } => format!(
            "a step of {} at {at}, {after} after the start: from {from} to {to}",
            signed_percent(*change)
        ),
        Said::Ramp {
            change,
            interval: (lo, hi),
            time,
        } => format!(
            "a ramp of {} over {time} (99 % interval {} .. {})",
            signed_percent(*change),
            signed_percent(*lo),
            signed_percent(*hi)
        ),
        Said::TwoState {
            low,
            high,
            low_share,
            dwell,
        } => format!(
            "two states in turn: {low} for {} of the time and {high} for {}, each held for {dwell} on average",
            percent(*low_share),
            percent(1.0 - low_share)
        ),
        Said::Periodic { time, depth } => {
            format!(
                "something comes back every {time} and takes up to {}",
                percent(*depth)
            )
        }
        Said::Unstable { levels, low, high } => {
            format!("{levels} levels between {low} and {high}: no single number describes it")
        }
        Said::Steady { level, slow: None } => format!("steady at {level}"),
        Said::Steady {
            level,
            slow: Some(share),
        } => format!(
            "steady at {level}, but {} of the windows are below 90 % of that",
            percent(*share)
        ),
        Said::PossibleRamp {
            level,
            change,
            interval: (lo, hi),
            time,
        } => format!(
            "around {level}, not surely steady: perhaps a ramp of {} over {time} (99 % interval {} .. {}, so it may be chance)",
            signed_percent(*change),
            signed_percent(*lo),
            signed_percent(*hi)
        ),
        Said::Disturbed(by) => disturbed(by),
        Said::EndedEarly { why, lasted, of } => ended_early(*why, lasted.as_ref(), of),
        Said::NotSeen { time, work } => format!(
            "no throttle seen in {time} of load or {work}: a bucket, if there is any, is larger"
        ),
    }
}
