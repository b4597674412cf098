//! The latency of a soak over its time: half of the operations are faster than the line, and one in a hundred is slower
//! than the band.

use super::series::{marks, time_axis};
use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Align, Chart, Table};
use crate::page::chart::{Axis, Figure, Look, Plot, Point, Series};
use crate::view::RunView;
use model::units::Unit;
use stats::soak::{LatencyAt, SoakSummary, latencies};

/// Pieces of time at most, and rows of the table.
const PIECES_MAX: usize = 200;
const ROWS_MAX: usize = 24;

/// The chart; `None` where fewer than two pieces of time have latencies.
pub(crate) fn latency_over_time(
    view: &RunView<'_>,
    soak: &SoakSummary,
    lang: Lang,
) -> Option<Chart> {
    let pieces = latencies(view.run, PIECES_MAX);
    let worst = pieces.iter().max_by(|a, b| a.p99.total_cmp(&b.p99))?;
    let best = pieces.iter().min_by(|a, b| a.p99.total_cmp(&b.p99))?;
    if pieces.len() < 2 {
        return None;
    }
    let about = |ns| number::about(Unit::Nanoseconds, ns);
    let least = pieces.iter().map(|piece| piece.median);
    let least = least.fold(f64::INFINITY, f64::min);
    let points = pieces.iter().map(|piece| Point {
        x: f64::midpoint(piece.from, piece.to),
        y: piece.median,
        y_ends: Some((piece.median, piece.p99)),
        ..Point::default()
    });
    let case = view.run.plan.cases.first()?.id.to_string();
    Some(Chart {
        title: say!(
            lang,
            "{case}: latency over time",
            "{case}: レイテンシーの推移"
        ),
        finding: say!(
            lang,
            "99 of 100 operations took at most {best} at the best time and {worst} at the worst, {when} after the \
             beginning; half are faster than the line, one in a hundred is slower than the band",
            "100 回中 99 回は、最も速い時間帯で {best} 以内、最も遅い時間帯（開始から {when}）で {worst} 以内でした。\
             半数は線より速く、100 回に 1 回は帯より遅い操作です",
            best = about(best.p99),
            worst = about(worst.p99),
            when = number::seconds(worst.from, lang)
        ),
        drawing: Figure::Plot(Plot {
            x: time_axis(soak.lasted.as_secs_f64(), lang),
            y: Axis::log(
                lang.pick("latency", "レイテンシー"),
                least,
                worst.p99,
                about,
            ),
            series: vec![Series {
                name: String::new(),
                look: Look::Band,
                points: points.collect(),
            }],
            marks: marks(soak, lang),
        }),
        table: table(&latencies(view.run, ROWS_MAX), lang),
    })
}

fn table(pieces: &[LatencyAt], lang: Lang) -> Table {
    let mut table = Table::new(
        [
            lang.pick("from", "開始"),
            lang.pick("median", "中央値"),
            "p99",
            lang.pick("slowest", "最長"),
        ]
        .map(|head| (head.to_owned(), Align::Right)),
    );
    for piece in pieces {
        let figures = [piece.median, piece.p99, piece.slowest];
        let figures = figures.map(|ns| number::alone(Unit::Nanoseconds, ns).into());
        let from = number::seconds(piece.from, lang).into();
        table
            .rows
            .push(std::iter::once(from).chain(figures).collect());
    }
    table
}
