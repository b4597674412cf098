//! Storage for people: for each case its rate over time and its latencies as lines of blocks, and what they mean in
//! sentences.
//!
//! The blocks stand last on their line. Their width is ambiguous in East Asian fonts, so that in Japanese half as many
//! are drawn: where a terminal draws them wide, the line still fits. Where there is no room for a picture it is left
//! out, and the range beside it says the most of it.

use crate::number::{self, NONE};
use crate::soak::{block, ends};
use crate::style::Style;
use crate::table::{Grid, indent};
use crate::view::RunView;
use crate::words::{
    SaidFall, SaidFirstWrite, SaidMode, SaidModes, SaidSteady, StorageWords, Words,
};
use dialects::printable::printable;
use model::plan::CaseId;
use model::units::{Nanos, Unit};
use stats::state::gate::Gate;
use stats::storage::{
    Cause, Course, Fall, FirstWrite, LatencyShape, Picture, Steady, StorageCase, StorageSummary,
};

/// The longest line of blocks.
pub(crate) const BLOCKS_MAX: usize = 44;
/// Fewer blocks than this are no picture.
const BLOCKS_MIN: usize = 16;

/// One line of the block of a case: what it shows, its range, and the picture.
pub(crate) type Row = [String; 3];

/// The block of all storage cases; empty where the run has none.
pub(crate) fn block_of(view: &RunView<'_>, style: Style, words: &Words) -> String {
    let Some(storage) = &view.storage else {
        return String::new();
    };
    let says = &words.storage;
    let mut out = String::new();
    for case in &storage.cases {
        out.push_str(&printable(&case.case.to_string()));
        out.push('\n');
        out.push_str(&pictures(case, style, says));
        let mut lines = Grid::new(2);
        for line in sentences(case, says) {
            lines.row(vec!["-".to_owned(), line]);
        }
        if !lines.is_empty() {
            out.push_str(&indent(&lines.render_wrapped(style.columns() - 4, &[])));
        }
        out.push('\n');
    }
    let mut below = Grid::new(1);
    for line in about_all(storage, words) {
        below.row(vec![line]);
    }
    out.push_str(&below.render_wrapped(style.columns() - 2, &[]));
    out
}

/// What is said below all cases: whether a burst was seen to end, and how to read the pictures.
pub(crate) fn about_all(storage: &StorageSummary, words: &Words) -> Vec<String> {
    let says = &words.storage;
    let quiet = storage.cases.iter().all(|case| case.fall.is_none());
    let busiest = storage
        .cases
        .iter()
        .max_by(|a, b| mean(&a.course).total_cmp(&mean(&b.course)));
    let mut lines = Vec::new();
    if let Some(busiest) = busiest.filter(|_| quiet) {
        lines.push((says.no_fall)(
            &time(storage.load.seconds),
            &number::alone(Unit::Number, storage.load.operations),
            &soak(&busiest.case, "1h"),
        ));
    }
    lines.push(says.legend.to_owned());
    lines
}

/// The mean of all windows where they are operations; cases that count bytes come last.
fn mean(course: &Course) -> f64 {
    let all: Vec<f64> = course.rounds.iter().flatten().copied().collect();
    match course.unit {
        Unit::OpsPerSecond => stats::quantile::mean(&all).unwrap_or(0.0),
        _ => 0.0,
    }
}

fn pictures(case: &StorageCase, style: Style, says: &StorageWords) -> String {
    let with_room_for = |blocks: usize| {
        let mut grid = Grid::new(3);
        for row in rows(case, blocks, says) {
            grid.row(row.to_vec());
        }
        grid
    };
    let room = style.columns() - 4;
    let beside = with_room_for(0).width();
    let factor = if says.wide_blocks { 2 } else { 1 };
    let blocks = (room.saturating_sub(beside) / factor).min(BLOCKS_MAX);
    let grid = with_room_for(if blocks < BLOCKS_MIN { 0 } else { blocks });
    if grid.is_empty() {
        String::new()
    } else {
        indent(&grid.render(&[]))
    }
}

/// The rows of a case's block, with pictures of at most so many blocks.
pub(crate) fn rows(case: &StorageCase, blocks: usize, says: &StorageWords) -> Vec<Row> {
    let mut rows = Vec::new();
    let (line, range) = over_time(&case.course, blocks);
    if range != NONE {
        rows.push([says.over_time.to_owned(), range, line]);
    }
    for shape in case.latencies.iter().filter(|shape| shape.leading) {
        if let Some(picture) = &shape.picture {
            rows.push([
                (says.latency)(shape.of, &printable(&shape.name)),
                span(picture.lo_ns, picture.hi_ns),
                distribution(picture, blocks),
            ]);
        }
    }
    rows
}

/// The rate over time as a line of blocks with a gap between rounds, and what it ranges over.
pub(crate) fn over_time(course: &Course, blocks: usize) -> (String, String) {
    let rounds: Vec<&[f64]> = course.rounds.iter().map(Vec::as_slice).collect();
    let each = (blocks + 1)
        .checked_div(rounds.len())
        .unwrap_or(0)
        .saturating_sub(1);
    let groups: Vec<Vec<f64>> = if each > 0 || blocks == 0 {
        rounds
            .iter()
            .map(|windows| means(windows, each.max(1)))
            .collect()
    } else {
        let medians: Vec<f64> = rounds
            .iter()
            .filter_map(|round| stats::quantile::mean(round))
            .collect();
        vec![means(&medians, blocks)]
    };
    let all: Vec<f64> = groups.iter().flatten().copied().collect();
    let (Some(lo), Some(hi)) = (
        all.iter().copied().reduce(f64::min),
        all.iter().copied().reduce(f64::max),
    ) else {
        return (String::new(), NONE.to_owned());
    };
    let range = range(course, lo, hi);
    if blocks == 0 {
        return (String::new(), range);
    }
    let (low, high) = ends(&all);
    let lines: Vec<String> = groups
        .iter()
        .map(|group| group.iter().map(|&rate| block(rate, low, high)).collect())
        .collect();
    (lines.join(" "), range)
}

/// `11.7 .. 12.6 kIOPS`; `603 IOPS .. 3.12 kIOPS` where one scale does not suit both.
fn range(course: &Course, lo: f64, hi: f64) -> String {
    let scale = number::scale(course.unit, &course.quantity, hi);
    if scale.value(lo).starts_with("0.") {
        return format!("{} .. {}", rate(course, lo), rate(course, hi));
    }
    format!("{} .. {} {}", scale.value(lo), scale.value(hi), scale.unit)
}

/// A rate in a scale of its own: 600 IOPS, not 0.600 kIOPS.
fn rate(course: &Course, x: f64) -> String {
    let scale = number::scale(course.unit, &course.quantity, x);
    format!("{} {}", scale.value(x), scale.unit)
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

/// A distribution as a line of blocks; a column without operations stays empty.
pub(crate) fn distribution(picture: &Picture, blocks: usize) -> String {
    let n = blocks.min(picture.columns.len());
    let sums: Vec<f64> = (0..n)
        .map(|i| {
            let all = picture.columns.len();
            picture.columns[i * all / n..(i + 1) * all / n].iter().sum()
        })
        .collect();
    let most = sums.iter().copied().fold(0.0, f64::max);
    let draw = |&share: &f64| {
        if share > 0.0 {
            block(share, 0.0, most)
        } else {
            ' '
        }
    };
    sums.iter()
        .map(draw)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

/// `60 us .. 1.2 ms`.
fn span(lo: f64, hi: f64) -> String {
    let about = |ns| number::about(Unit::Nanoseconds, ns);
    format!("{} .. {}", about(lo), about(hi))
}

/// What a case says, one sentence each.
pub(crate) fn sentences(case: &StorageCase, says: &StorageWords) -> Vec<String> {
    let leading = case.latencies.iter().filter(|shape| shape.leading);
    let mut lines: Vec<String> = leading
        .map(|shape| (says.modes)(&said_modes(shape)))
        .collect();
    lines.extend(
        case.first_write
            .as_ref()
            .map(|found| (says.first_write)(&said_first_write(found))),
    );
    lines.extend(
        case.fall
            .as_ref()
            .map(|fall| (says.fall)(&said_fall(fall, case))),
    );
    let rounds = case.course.rounds.len();
    lines.extend(
        case.steady
            .as_ref()
            .map(|steady| (says.steady)(&said_steady(steady, rounds))),
    );
    lines
}

fn said_modes(shape: &LatencyShape) -> SaidModes {
    SaidModes {
        of: shape.of,
        modes: shape
            .modes
            .iter()
            .map(|mode| SaidMode {
                share: number::percent(mode.share),
                peak: number::about(Unit::Nanoseconds, mode.peak_ns),
                range: span(mode.lo_ns, mode.hi_ns),
            })
            .collect(),
        together: shape.together,
        cached: shape
            .cause
            .map(|Cause::Cache { cached_share }| number::percent(cached_share)),
    }
}

fn said_steady(steady: &Steady, rounds: usize) -> SaidSteady {
    let bytes =
        |bytes: model::units::Bytes| number::alone(Unit::Bytes, model::num::approx(bytes.0));
    match (steady.gate, steady.since) {
        (Gate::Open, Some(since)) => SaidSteady::Since(since, rounds),
        (Gate::Open, None) | (Gate::NoLevel, _) => SaidSteady::NoLevel,
        (Gate::TooFewRounds, _) => SaidSteady::TooFewRounds,
        (Gate::NotWritten, _) => {
            SaidSteady::NotWritten(bytes(steady.written), bytes(steady.needed))
        }
        (Gate::Ranging(range), _) => SaidSteady::Ranging(number::percent(range)),
        (Gate::Sloping(slope), _) => SaidSteady::Sloping(number::percent(slope)),
    }
}

fn said_fall(fall: &Fall, StorageCase { case, course, .. }: &StorageCase) -> SaidFall {
    let rate = |x: f64| rate(course, x);
    match fall {
        Fall::Between {
            fast_rounds,
            from,
            to,
        } => SaidFall::Between(*fast_rounds, rate(*from), rate(*to), soak(case, "1h")),
        Fall::Within { seconds, from, to } => {
            SaidFall::Within(time(*seconds), rate(*from), rate(*to), soak(case, "10m"))
        }
    }
}

/// The command that watches a case for long enough.
fn soak(case: &CaseId, time: &str) -> String {
    let test = printable(&case.test);
    match case.copies {
        1 => format!("kurabe soak {test} --for {time}"),
        copies => format!("kurabe soak {test} --copies {copies} --for {time}"),
    }
}

fn said_first_write(found: &FirstWrite) -> SaidFirstWrite {
    let Some(penalty) = &found.penalty else {
        return SaidFirstWrite::TooFew(found.places);
    };
    let interval = penalty.ratio.interval();
    let ratio = format!("{:.2}", penalty.ratio.ratio());
    let range = format!("{:.2} .. {:.2}", interval.lo, interval.hi);
    if penalty.present {
        SaidFirstWrite::Costs(ratio, range)
    } else {
        SaidFirstWrite::None(ratio, range)
    }
}

/// A time: milliseconds below a second, and as clocks tell it above.
fn time(seconds: f64) -> String {
    if seconds < 0.9995 {
        number::about(Unit::Nanoseconds, seconds * 1e9)
    } else {
        number::duration(Nanos(
            model::num::round_to_u64(seconds).saturating_mul(1_000_000_000),
        ))
    }
}

#[cfg(test)]
mod tests;
