//! Memory latency by working set: a line through the medians, between the least and the most of the rounds.

use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Align, Chart, Table};
use crate::page::chart::{Axis, Figure, Look, Plot, Point, Series};
use model::num::approx;
use model::units::{Bytes, Unit};
use stats::memory::Curve;

/// The chart; `None` for fewer points than make a line.
pub(crate) fn curve(curve: &Curve, lang: Lang) -> Option<Chart> {
    let [first, .., last] = &curve.points[..] else {
        return None;
    };
    let scale = number::scale(Unit::Nanoseconds, "", 1.0);
    let ns = |x: f64| scale.value(x);
    let least = curve.points.iter().map(|point| point.least);
    let most = curve.points.iter().map(|point| point.most);
    let (least, most) = (
        least.fold(f64::INFINITY, f64::min),
        most.fold(0.0, f64::max),
    );
    let mut table = Table::new([
        (lang.pick("working set", "ワーキングセット"), Align::Right),
        (lang.pick("ns/load", "ns/ロード"), Align::Right),
        (lang.pick("rounds", "各ラウンド"), Align::Right),
    ]);
    for point in &curve.points {
        table.rows.push(vec![
            Bytes(point.bytes).exact().into(),
            ns(point.ns).into(),
            number::range(Some(&(ns(point.least), ns(point.most)))).into(),
        ]);
    }
    let point = |of: &stats::memory::Point| Point {
        x: approx(of.bytes),
        y: of.ns,
        y_ends: Some((of.least, of.most)),
        ..Point::default()
    };
    let case = curve.case.to_string();
    Some(Chart {
        title: say!(
            lang,
            "{case}: latency by size",
            "{case}: サイズとレイテンシー"
        ),
        finding: say!(
            lang,
            "from {from} ns in {small} to {to} ns in {large}",
            "{small} で {from} ns、{large} で {to} ns です",
            from = ns(first.ns),
            to = ns(last.ns),
            small = Bytes(first.bytes).exact(),
            large = Bytes(last.bytes).exact()
        ),
        drawing: Figure::Plot(Plot {
            x: Axis::sizes(
                lang.pick("working set", "ワーキングセット"),
                first.bytes,
                last.bytes,
            ),
            y: Axis::log(lang.pick("ns/load", "ns/ロード"), least, most, ns),
            series: vec![Series {
                name: String::new(),
                look: Look::Line,
                points: curve.points.iter().map(point).collect(),
            }],
            marks: Vec::new(),
        }),
        table,
    })
}
