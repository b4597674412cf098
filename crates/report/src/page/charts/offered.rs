//! Latency by offered load: a line for each quantile over the share of the most, latencies on an axis of factors.

use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Chart, Table};
use crate::page::chart::{Axis, Figure, Look, Plot, Point, Series};
use model::units::Unit;
use stats::offered;

/// The chart, which says this and has these figures; `None` for fewer points than make a line.
pub(crate) fn offered(
    curve: &offered::Curve,
    finding: &str,
    table: Table,
    lang: Lang,
) -> Option<Chart> {
    let ends = |figure: offered::Figure| figure.interval.map(|ends| (ends.lo, ends.hi));
    let whole = |figure: offered::Figure| (figure.value, ends(figure));
    let kinds = [
        (
            "p50",
            curve.points.iter().map(|of| of.p50.map(whole)).collect(),
        ),
        (
            "p99",
            curve.points.iter().map(|of| of.p99.map(whole)).collect(),
        ),
        (
            "p99.9",
            curve
                .points
                .iter()
                .map(|of| of.p999.map(|ns| (ns, None)))
                .collect::<Vec<_>>(),
        ),
    ];
    let series: Vec<Series> = kinds
        .into_iter()
        .map(|(name, figures)| Series {
            name: name.to_owned(),
            look: Look::Line,
            points: points(curve, &figures),
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let all = || series.iter().flat_map(|series| &series.points);
    let reach = || all().flat_map(|point| [point.y, point.y_ends.map_or(point.y, |ends| ends.0)]);
    let above = || all().flat_map(|point| [point.y, point.y_ends.map_or(point.y, |ends| ends.1)]);
    let (least, most) = (
        reach().filter(|ns| *ns > 0.0).fold(f64::INFINITY, f64::min),
        above().fold(0.0, f64::max),
    );
    let beyond = all().map(|point| point.x).fold(1.0, f64::max);
    let about = |ns| number::about(Unit::Nanoseconds, ns);
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, number::percent(share)));
    let is_line = series.iter().any(|series| series.points.len() > 1);
    let of = &curve.of.case;
    is_line.then(|| Chart {
        title: say!(
            lang,
            "{of}: latency by offered load",
            "{of}: 負荷率とレイテンシー"
        ),
        finding: finding.to_owned(),
        drawing: Figure::Plot(Plot {
            x: Axis {
                label: lang
                    .pick("offered load, of the most", "最大に対する負荷率")
                    .to_owned(),
                log: false,
                low: 0.0,
                high: beyond,
                ticks: ticks.into(),
            },
            y: Axis::log(lang.pick("latency", "レイテンシー"), least, most, about),
            series,
            marks: Vec::new(),
        }),
        table,
    })
}

/// A latency with the ends of its interval, where it has one.
type Latency = (f64, Option<(f64, f64)>);

fn points(curve: &offered::Curve, figures: &[Option<Latency>]) -> Vec<Point> {
    let both = curve.points.iter().zip(figures);
    // What fell behind was offered less than it says.
    let known = both.filter(|(of, _)| !of.fell_behind);
    let known = known.filter_map(|(of, figure)| Some((of, (*figure)?)));
    known
        .map(|(of, (ns, ends))| Point {
            x: of.share,
            y: ns,
            y_ends: ends,
            ..Point::default()
        })
        .collect()
}
