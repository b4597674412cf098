//! A soak for people: the sentence, the course as a line of blocks with its time axis, the levels, the marks.

use crate::number::{self, Scale};
use crate::style::Style;
use crate::table::{Grid, wrapped};
use crate::text::Page;
use crate::view::RunView;
use crate::words::{Marked, Said, Spent, Words};
use dialects::printable::printable;
use model::estimate::State;
use model::num::{approx, count, round_to_u64, round_to_usize};
use model::record::Run;
use model::soak::StretchKind;
use model::units::{Nanos, Unit, UnixNanos};
use stats::burst::{Burst, Cause};
use stats::soak::{Finding, Point, SoakSummary, Throttle, What};

/// The widest line of blocks.
const BLOCKS_MAX: usize = 72;
/// The blocks, from the lowest to the highest.
pub(crate) const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The line of blocks spans at least this share of the typical value to either side, or noise would look like a storm.
const HALF_SPAN_MIN: f64 = 0.1;

/// A soak that is shorter than what was asked for by no more windows than this lasted as long as was asked for: its
/// last stretch has whole windows.
const SHORTER_WINDOWS: u64 = 2;

/// The blocks of the page that stand in the place of a table of metrics.
pub(crate) fn text(page: &mut Page, soak: &SoakSummary, view: &RunView<'_>, words: &Words) {
    let style = page.style;
    let mut sentence = Grid::new(1);
    sentence.row(vec![self::sentence(soak, words)]);
    page.block(None, &sentence.render_wrapped(style.columns(), &[]));
    page.block(None, &course(soak, view, style, words));
    let mut grid = Grid::new(3);
    for row in levels(soak, view, words) {
        grid.row(row.to_vec());
    }
    let table = if grid.is_empty() {
        String::new()
    } else {
        grid.render_wrapped(style.columns() - 2, &[1])
    };
    page.block(Some(words.soak.levels), &table);
    page.block(
        Some(words.soak.marks),
        &crate::text::pairs(&marks(soak, words), style),
    );
}

/// What the soak says, in one sentence.
pub(crate) fn sentence(soak: &SoakSummary, words: &Words) -> String {
    let scale = scale(soak);
    let clauses: Vec<String> = soak
        .findings
        .iter()
        .map(|finding| (words.soak.says)(&said(finding, soak, &scale, words)))
        .collect();
    clauses.join(words.soak.between)
}

/// How the soak was spent, in a few words: what was asked for too, where it was not done in full, and for how long
/// nothing was measured that should have been.
pub(crate) fn spent(soak: &SoakSummary, view: &RunView<'_>, words: &Words) -> String {
    let length = |nanos: Nanos| time(nanos.as_secs_f64());
    let missed: u64 = soak
        .marks
        .iter()
        .map(|mark| match mark.what {
            What::Gap(time) => time.0,
            _ => 0,
        })
        .sum();
    let left = soak.soak.span.since(soak.lasted);
    let shorter = left > Nanos(soak.window.0.saturating_mul(SHORTER_WINDOWS));
    let early = |finding: &Finding| matches!(finding, Finding::EndedEarly { .. });
    let given_up = soak.findings.iter().any(early);
    (words.soak.spent)(&Spent {
        time: length(soak.lasted),
        asked: (!view.complete() || shorter).then(|| length(soak.soak.span)),
        no_room: view.complete() && shorter && !given_up,
        every: soak.soak.every.map(length),
        missed: (missed > 0).then(|| length(Nanos(missed))),
        windows: soak.windows,
        window: length(soak.window),
        between: between(soak, view.run).map(length),
        // Windows after a rest are not in the picture either.
        edges: if soak.picture.points.is_empty() || has_refill(view.run) {
            0
        } else {
            soak.edges
        },
    })
}

/// What of a load without a pause is in no window, where that is a window or more: stretches begin and end. Only of a
/// soak to which nothing else happened, which would be part of it.
fn between(soak: &SoakSummary, run: &Run) -> Option<Nanos> {
    if soak.soak.every.is_some() || has_refill(run) || !soak.marks.is_empty() || soak.left_out > 0 {
        return None;
    }
    let in_windows = count(soak.windows) * approx(soak.window.0);
    let between = soak.lasted.since(Nanos(round_to_u64(in_windows)));
    (soak.windows > 0 && between >= soak.window).then_some(between)
}

/// Whether part of it was measured after a rest, to see what had come back.
fn has_refill(run: &Run) -> bool {
    let mut stretches = run.rounds.iter().filter_map(|round| round.stretch);
    stretches.any(|stretch| matches!(stretch.kind, StretchKind::Refill { .. }))
}

/// One scale for every rate of a soak.
fn scale(soak: &SoakSummary) -> Scale {
    let points = soak.course.points.iter().map(|point| point.value);
    let burst = match &soak.throttle {
        Throttle::Seen { burst, .. } => Some(burst.burst_rate),
        _ => None,
    };
    let largest = points.chain(burst).fold(0.0, f64::max);
    number::scale(soak.unit, &soak.quantity, largest)
}

/// A rate in the scale of all, or in its own where it would otherwise begin with noughts.
fn rate(soak: &SoakSummary, scale: &Scale, x: f64) -> String {
    let own = own_scale(soak, scale, x);
    let scale = own.as_ref().unwrap_or(scale);
    format!("{} {}", scale.value(x), scale.unit)
}

/// The scale of a rate that would begin with noughts in the scale of all.
fn own_scale(soak: &SoakSummary, scale: &Scale, x: f64) -> Option<Scale> {
    scale
        .value(x)
        .starts_with("0.")
        .then(|| number::scale(soak.unit, &soak.quantity, x))
}

fn said(finding: &Finding, soak: &SoakSummary, scale: &Scale, words: &Words) -> Said {
    let rate = |x: f64| rate(soak, scale, x);
    match finding {
        Finding::TooShort { windows } => Said::TooShort {
            windows: *windows,
            need: stats::soak::STEADY_MIN,
        },
        Finding::Burst {
            burst,
            cause,
            rest_seconds,
            at,
        } => {
            let when = (time(rest_seconds.unwrap_or_default()), number::instant(*at));
            said_of_burst(burst, *cause, when, (soak, scale, words))
        }
        Finding::Step {
            at,
            after_seconds,
            from,
            to,
        } => Said::Step {
            at: number::instant(*at),
            after: time(*after_seconds),
            from: rate(*from),
            to: rate(*to),
            change: to / from - 1.0,
        },
        Finding::Ramp {
            change,
            interval,
            seconds,
        } => Said::Ramp {
            change: *change,
            interval: *interval,
            time: time(*seconds),
        },
        Finding::TwoState {
            low,
            high,
            low_share,
            dwell_seconds,
        } => Said::TwoState {
            low: rate(*low),
            high: rate(*high),
            low_share: *low_share,
            dwell: time(*dwell_seconds),
        },
        Finding::Periodic { seconds, depth } => Said::Periodic {
            time: time(*seconds),
            depth: *depth,
        },
        Finding::Unstable { levels, low, high } => Said::Unstable {
            levels: *levels,
            low: rate(*low),
            high: rate(*high),
        },
        Finding::Steady { level, slow_share } => Said::Steady {
            level: rate(*level),
            slow: *slow_share,
        },
        Finding::PossibleRamp {
            level,
            change,
            interval,
            seconds,
        } => Said::PossibleRamp {
            level: rate(*level),
            change: *change,
            interval: *interval,
            time: time(*seconds),
        },
        Finding::Disturbed(disturbed) => Said::Disturbed(*disturbed),
        Finding::EndedEarly { lasted, of, why } => Said::EndedEarly {
            why: *why,
            lasted: (lasted.0 > 0).then(|| {
                let share = lasted.as_secs_f64() / of.as_secs_f64();
                (time(lasted.as_secs_f64()), share)
            }),
            of: time(of.as_secs_f64()),
        },
        Finding::NotSeen(seen) => Said::NotSeen {
            time: time(seen.seconds),
            work: work(soak, seen.work, words),
        },
    }
}

/// A burst, by what the refill test says about it.
fn said_of_burst(
    burst: &Burst,
    cause: Option<Cause>,
    (rest, at): (String, String),
    (soak, scale, words): (&SoakSummary, &Scale, &Words),
) -> Said {
    let rate = |x: f64| rate(soak, scale, x);
    let (burst_rate, sustained) = (rate(burst.burst_rate), rate(burst.sustained_rate));
    let credit = credit(soak, burst, words);
    let time_of_burst = time(burst.burst_seconds);
    match cause {
        Some(Cause::TokenBucket) => Said::Bucket {
            burst: burst_rate,
            time: time_of_burst,
            sustained,
            credit,
            rest,
        },
        Some(Cause::Unknown) => Said::NoBucket {
            burst: burst_rate,
            time: time_of_burst,
            sustained,
            at,
            rest,
        },
        None => Said::Untested {
            burst: burst_rate,
            time: time_of_burst,
            sustained,
            credit,
            at,
        },
    }
}

/// The credit of a burst: as work, and in CPU seconds where these were lent.
fn credit(soak: &SoakSummary, burst: &Burst, words: &Words) -> String {
    let work = work(soak, burst.credit, words);
    match burst.credit_cpu_seconds() {
        Some(seconds) => (words.soak.of_cpu_time)(&work, &time(seconds)),
        None => work,
    }
}

/// An amount of work in native units.
fn work(soak: &SoakSummary, amount: f64, words: &Words) -> String {
    match soak.unit {
        Unit::BytesPerSecond => number::alone(Unit::Bytes, amount),
        _ => (words.soak.operations)(&number::alone(Unit::Number, amount)),
    }
}

/// A time with three digits below a minute, and as clocks tell it above.
fn time(seconds: f64) -> String {
    if seconds < 0.9995 {
        number::alone(Unit::Nanoseconds, seconds * 1e9)
    } else if seconds < 9.995 {
        format!("{seconds:.2} s")
    } else if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else {
        number::duration(Nanos(round_to_u64(seconds).saturating_mul(1_000_000_000)))
    }
}

/// The course as a line of blocks, its time axis, and what the blocks stand for.
pub(crate) fn course(
    soak: &SoakSummary,
    view: &RunView<'_>,
    style: Style,
    words: &Words,
) -> String {
    let points = &soak.picture.points;
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return match soak.windows {
            0 => String::new(),
            _ => wrapped(&spent(soak, view, words), style.columns()),
        };
    };
    let width = style.columns().min(BLOCKS_MAX).min(points.len());
    let columns = columns(points, width);
    let (low, high) = ends(&columns);
    let blocks: String = columns.iter().map(|&x| block(x, low, high)).collect();
    let (from, to) = (number::instant(first.at), end_of(soak, last.at));
    let scale = scale(soak);
    let rate = |x: f64| rate(soak, &scale, x);
    let axis = if from.len() + to.len() < width {
        format!("{from}{}{to}", " ".repeat(width - from.len() - to.len()))
    } else {
        format!("{from} .. {to}")
    };
    format!(
        "{blocks}\n{axis}\n{}\n{}",
        (words.soak.blocks)(&rate(low), &rate(high)),
        wrapped(&spent(soak, view, words), style.columns())
    )
}

/// When the last point ends.
fn end_of(soak: &SoakSummary, last: UnixNanos) -> String {
    let length = round_to_u64(soak.picture.point_seconds * 1e9);
    number::instant(UnixNanos(last.0.saturating_add(length)))
}

/// The points as means of `width` neighbours of nearly equal number.
fn columns(points: &[Point], width: usize) -> Vec<f64> {
    (0..width)
        .filter_map(|i| {
            let part = &points[i * points.len() / width..(i + 1) * points.len() / width];
            let values: Vec<f64> = part.iter().map(|point| point.value).collect();
            stats::quantile::mean(&values)
        })
        .collect()
}

/// What the lowest and the highest block stand for.
pub(crate) fn ends(columns: &[f64]) -> (f64, f64) {
    let low = columns.iter().copied().fold(f64::INFINITY, f64::min);
    let high = columns.iter().copied().fold(0.0, f64::max);
    let middle = f64::midpoint(low, high);
    let half = (HALF_SPAN_MIN * middle).max((high - low) / 2.0);
    ((middle - half).max(0.0), middle + half)
}

/// The block that stands for `x` on a scale from `low` to `high`.
pub(crate) fn block(x: f64, low: f64, high: f64) -> char {
    let share = if high > low {
        (x - low) / (high - low)
    } else {
        0.0
    };
    let last = BLOCKS.len() - 1;
    BLOCKS[round_to_usize(share * count(last)).min(last)]
}

/// The rows of the levels: name, value with unit, remark.
pub(crate) fn levels(soak: &SoakSummary, view: &RunView<'_>, words: &Words) -> Vec<[String; 3]> {
    let scale = scale(soak);
    let rate = |x: f64| rate(soak, &scale, x);
    let says = &words.soak;
    let row = |name: &str, value: String| [name.to_owned(), value, String::new()];
    let mut rows = Vec::new();
    if let Throttle::Seen { burst, cause, .. } = &soak.throttle {
        rows.push(row(says.burst, rate(burst.burst_rate)));
        rows.push(row(says.sustained, rate(burst.sustained_rate)));
        if *cause == Some(Cause::TokenBucket) {
            rows.push([
                says.bucket.to_owned(),
                credit(soak, burst, words),
                (says.at_full_speed)(&time(burst.burst_seconds)),
            ]);
        }
    }
    if let Some(levels) = &soak.levels {
        rows.push(row(says.typical, rate(levels.typical)));
        rows.push(row(says.floor, rate(levels.floor)));
        rows.push(row(says.best, rate(levels.best)));
        rows.push(row(says.slow, number::percent(levels.slow_share)));
        let within = levels.within.map_or_else(String::new, |interval| {
            // In the scale of the mean, behind whose unit it stands.
            let own = own_scale(soak, &scale, levels.mean);
            let scale = own.as_ref().unwrap_or(&scale);
            format!(
                "{} .. {} {}",
                scale.value(interval.lo),
                scale.value(interval.hi),
                says.within
            )
        });
        rows.push([says.mean.to_owned(), rate(levels.mean), within]);
    }
    rows.extend(other_metrics(soak, view, words));
    rows
}

/// The metrics beside the rate of the windows.
fn other_metrics<'a>(
    soak: &'a SoakSummary,
    view: &'a RunView<'_>,
    words: &'a Words,
) -> impl Iterator<Item = [String; 3]> + 'a {
    let other = view
        .metrics
        .iter()
        .filter(|metric| metric.id.quantity != soak.quantity);
    other.filter_map(|metric| {
        let value = metric.estimate?.value;
        let quantity = printable(&metric.id.quantity);
        if let State::Setting { .. } = metric.state {
            let text = number::alone_exact(metric.metric.unit, value);
            return Some([quantity, text, (words.state)(&metric.state)]);
        }
        Some([
            (words.soak.of_stretches)(&quantity),
            number::alone(metric.metric.unit, value),
            String::new(),
        ])
    })
}

/// Time and words of everything that happened to the series.
pub(crate) fn marks(soak: &SoakSummary, words: &Words) -> Vec<(String, String)> {
    let length = |nanos: Nanos| time(nanos.as_secs_f64());
    let mut list: Vec<(String, String)> = soak
        .marks
        .iter()
        .map(|mark| {
            let marked = match &mark.what {
                What::ClockJump(by) => Marked::ClockJump(length(*by)),
                What::Suspended(time) => Marked::Suspended(length(*time)),
                What::SuspendedAtRest(time) => Marked::SuspendedAtRest(length(*time)),
                What::Gap(time) => Marked::Gap(length(*time)),
                What::Failed(failure) => Marked::Failed(printable(&(words.failure)(failure))),
            };
            (number::instant(mark.at), (words.soak.mark)(&marked))
        })
        .collect();
    if soak.left_out > 0 {
        list.push((
            crate::text::NOTED.to_owned(),
            (words.soak.left_out)(soak.left_out),
        ));
    }
    list
}

#[cfg(test)]
mod tests;
