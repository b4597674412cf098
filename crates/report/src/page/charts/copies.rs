//! How a test scales: its rate over copies beside what as many machines as copies would do.

use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Align, Chart, Table};
use crate::page::chart::{Axis, Figure, Look, Plot, Point, Series};
use model::num::approx;
use stats::scaling::{Scaling, Step};

/// The chart; `None` where fewer than two concurrencies have a rate.
pub(crate) fn copies(scaling: &Scaling, lang: Lang) -> Option<Chart> {
    let steps = scaling.steps.iter();
    let rated: Vec<(&Step, f64)> = steps
        .filter_map(|step| Some((step, step.rate?.value)))
        .collect();
    let (first, last) = (rated.first()?, rated.last()?);
    if rated.len() < 2 {
        return None;
    }
    let copies = |step: &Step| f64::from(step.copies);
    let ideal = |step: &Step| first.1 * copies(step) / copies(first.0);
    let ends = rated
        .iter()
        .filter_map(|(step, _)| Some(step.rate?.interval?.hi));
    let most = rated
        .iter()
        .map(|(_, rate)| *rate)
        .chain(ends)
        .fold(0.0, f64::max);
    let allowed = f64::from(scaling.cpus.allowed);
    // Beyond the CPUs that there are nothing is ideal.
    let inside = rated.iter().filter(|(step, _)| copies(step) <= allowed);
    let dashed: Vec<Point> = inside
        .map(|(step, _)| Point {
            x: copies(step),
            y: ideal(step),
            ..Point::default()
        })
        .collect();
    let most = dashed.iter().map(|point| point.y).fold(most, f64::max);
    let dots = rated.iter().map(|(step, rate)| Point {
        x: copies(step),
        y: *rate,
        y_ends: step
            .rate
            .and_then(|of| of.interval)
            .map(|ends| (ends.lo, ends.hi)),
        label: step
            .efficiency
            .map_or_else(String::new, |of| number::percent(of.value)),
        ..Point::default()
    });
    let (unit, quantity) = (scaling.metric.unit, scaling.metric.quantity.as_str());
    let scale = number::scale(unit, quantity, most);
    let mut table = Table::new([
        (lang.pick("copies", "並列数").to_owned(), Align::Right),
        (scale.unit.clone(), Align::Right),
        (
            lang.pick("95 % interval", "95 % 信頼区間").to_owned(),
            Align::Right,
        ),
        (lang.pick("per CPU", "CPU あたり").to_owned(), Align::Right),
    ]);
    for (step, _) in &rated {
        let none = || (number::NONE.to_owned(), None);
        let (value, ends) = step.rate.map_or_else(none, |rate| scale.estimate(&rate));
        let share = step.efficiency.map(|of| number::percent(of.value));
        table.rows.push(vec![
            step.copies.to_string().into(),
            value.into(),
            number::range(ends.as_ref()).into(),
            share.unwrap_or_else(|| number::NONE.to_owned()).into(),
        ]);
    }
    let test = &scaling.test;
    let times = last.1 / first.1;
    let ticks = rated
        .iter()
        .map(|(step, _)| (copies(step), step.copies.to_string()));
    Some(Chart {
        title: say!(lang, "{test}: rate by copies", "{test}: 並列数と速度"),
        finding: say!(
            lang,
            "{n} copies do {times:.2} times what {one} does; beside the dots the share of a perfect speed-up",
            "{n} 並列の速度は {one} 並列の {times:.2} 倍です。点の横は理想の倍率に対する割合です",
            n = last.0.copies,
            one = first.0.copies
        ),
        drawing: Figure::Plot(Plot {
            x: Axis {
                label: lang.pick("copies", "並列数").to_owned(),
                log: true,
                low: copies(first.0) / 1.1,
                high: copies(last.0) * 1.25,
                ticks: ticks.collect(),
            },
            y: Axis::of_unit("", unit, quantity, 0.0, most),
            series: vec![
                Series {
                    name: lang.pick("measured", "測定値").to_owned(),
                    look: Look::Dots,
                    points: dots.collect(),
                },
                Series {
                    name: lang.pick("perfect", "理想").to_owned(),
                    look: Look::Dashed,
                    points: dashed,
                },
            ],
            marks: Vec::new(),
        }),
        table,
    })
    .filter(|_| approx(u64::from(last.0.copies)) > copies(first.0))
}
