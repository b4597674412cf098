//! Memory latency over what the other CPUs read meanwhile: a line through the loads that were measured.

use crate::lang::{Lang, say};
use crate::page::block::{Chart, Table};
use crate::page::chart::{Axis, Figure, Look, Plot, Point, Series};
use model::units::Unit;
use stats::loaded::Level;

/// The chart, which says this; its figures stand in a table beside it. `None` for fewer points than make a line.
pub(crate) fn loaded(levels: &[Level], finding: &str, lang: Lang) -> Option<Chart> {
    let [_, .., last] = levels else {
        return None;
    };
    let load = |level: &Level| level.load.unwrap_or(0.0);
    let point = |level: &Level| Point {
        x: load(level),
        y: level.ns,
        ..Point::default()
    };
    let slowest = levels.iter().map(|level| level.ns).fold(0.0, f64::max);
    let x = lang.pick("streams", "ストリーム");
    let test = &last.case;
    Some(Chart {
        title: say!(
            lang,
            "{test}: latency by load",
            "{test}: 負荷とレイテンシー"
        ),
        finding: finding.to_owned(),
        drawing: Figure::Plot(Plot {
            x: Axis::of_unit(x, Unit::BytesPerSecond, "", 0.0, load(last)),
            y: Axis::of_unit("", Unit::Nanoseconds, "", 0.0, slowest),
            series: vec![Series {
                name: String::new(),
                look: Look::Line,
                points: levels.iter().map(point).collect(),
            }],
            marks: Vec::new(),
        }),
        table: Table::default(),
    })
    .filter(|_| load(last) > 0.0)
}
