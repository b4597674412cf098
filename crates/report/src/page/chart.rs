//! What a chart is made of: figures on axes, with every word that stands in it, and nothing about how it is drawn.
//!
//! Formats of characters draw none: the tables beside a chart have its figures. The words of ticks are made here, where
//! units and languages are known.

use super::block::{Table, Text};
use crate::number;
use model::num::approx;
use model::units::{Bytes, Unit};

/// A chart with what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What was found, in words: for whoever does not see it.
    pub finding: String,
    /// What is drawn.
    pub drawing: Figure,
    /// The same figures.
    pub table: Table,
}

/// What a chart draws.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Rows below one another, each a dot with its interval, on one axis.
    Rows(Rows),
    /// Points, lines and bands over two axes.
    Plot(Plot),
}

/// Dots with intervals below one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The axis of all of them.
    pub axis: Axis,
    /// A line across all rows, such as that of a ratio of 1.
    pub line: Option<f64>,
    /// The rows from top to bottom.
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is about.
    pub name: String,
    /// Where the dot stands.
    pub at: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
    /// What counts as the same, shaded.
    pub band: Option<(f64, f64)>,
    /// The figure or the verdict at the right.
    pub said: Text,
}

/// Figures over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The axis below.
    pub x: Axis,
    /// The axis at the left.
    pub y: Axis,
    /// What is drawn, the first one below the others. Those of one colour and shape are of one kind or machine.
    pub series: Vec<Series>,
    /// Places of the axis below that have a name.
    pub marks: Vec<(f64, String)>,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is called; empty where it is the only one.
    pub name: String,
    /// How it is drawn.
    pub look: Look,
    /// The points in the order of the axis below.
    pub points: Vec<Point>,
}

/// A series over time in more detail than a chart has room for: pieces of time, one after the other, without a gap
/// between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Long {
    /// Seconds of a piece.
    pub step: f64,
    /// The unit of the values.
    pub unit: String,
    /// Least, middle and most of each piece; `None` where nothing was measured.
    pub pieces: Vec<Option<[f64; 3]>>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Dots with their intervals.
    Dots,
    /// A line, and dots on it.
    Line,
    /// A dashed line: what would be ideal, or a frontier.
    Dashed,
    /// A line with a band between the ends of its points; a gap where a point is no number.
    Band,
}

/// A point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Its place on the axis below.
    pub x: f64,
    /// Its place on the axis at the left.
    pub y: f64,
    /// The ends of its interval below.
    pub x_ends: Option<(f64, f64)>,
    /// The ends of its interval at the left.
    pub y_ends: Option<(f64, f64)>,
    /// What stands beside it.
    pub label: String,
    /// True for one that another one beats in everything: hollow.
    pub dominated: bool,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// True for one on which equal steps are equal factors.
    pub log: bool,
    /// The least value.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Values with a line and a word.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Where `x` stands, from 0 to 1; ends where it lies beyond them.
    pub fn place(&self, x: f64) -> f64 {
        let of = |x: f64| if self.log { x.ln() } else { x };
        let (low, high) = (of(self.low), of(self.high));
        let share = (of(x) - low) / (high - low);
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// From 0 to `high`, in a scale of this unit.
    pub(crate) fn of_unit(label: &str, unit: Unit, quantity: &str, low: f64, high: f64) -> Self {
        let scale = number::scale(unit, quantity, high);
        // Round as they are shown: a round number of bytes is none of MiB.
        let of = scale.divisor;
        let (low, high, step) = round_ends(low / of, high / of);
        let (low, high, step) = (low * of, high * of, step * of);
        let ticks = steps(low, high, step);
        Self {
            label: joined(label, &scale.unit),
            log: false,
            low,
            high,
            ticks: ticks.map(|x| (x, scale.exact(x))).collect(),
        }
    }

    /// Ticks at powers of ten, with 2 and 5 between them where there is room.
    pub(crate) fn log(label: &str, low: f64, high: f64, said: impl Fn(f64) -> String) -> Self {
        let (low, high) = widened(low, high);
        let decades = (high / low).log10();
        let within: &[f64] = if decades > 4.0 {
            &[1.0]
        } else if decades > 2.0 {
            &[1.0, 3.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let mut ticks = Vec::new();
        let mut power = 10_f64.powf(low.log10().floor());
        while power <= high {
            let of_power = within.iter().map(|step| power * step);
            ticks.extend(of_power.filter(|x| (low..=high).contains(x)));
            power *= 10.0;
        }
        if ticks.len() < 2 {
            ticks = vec![low, high];
        }
        Self {
            label: label.to_owned(),
            log: true,
            low,
            high,
            ticks: ticks.into_iter().map(|x| (x, short(&said(x)))).collect(),
        }
    }

    /// Sizes: a tick for every fourth power of two, or fewer.
    pub(crate) fn sizes(label: &str, low: u64, high: u64) -> Self {
        let sizes = (0..63).map(|power| 1_u64 << power);
        let inside: Vec<u64> = sizes.filter(|x| (low..=high).contains(x)).collect();
        let every = inside.len().div_ceil(6).max(1);
        let ticks = inside.into_iter().step_by(every);
        Self {
            label: label.to_owned(),
            log: true,
            low: approx(low),
            high: approx(high),
            ticks: ticks.map(|x| (approx(x), Bytes(x).exact())).collect(),
        }
    }

    /// Ratios on both sides of 1, as many times as large as a reader takes in.
    pub(crate) fn ratios(label: &str, low: f64, high: f64) -> Self {
        let (low, high) = (low.min(0.9), high.max(1.0 / 0.9));
        let wide = [
            0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0,
        ];
        let near = [0.25, 0.33, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0];
        let close = [0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4];
        let all: &[f64] = match high / low {
            span if span > 16.0 => &wide,
            span if span > 2.0 => &near,
            _ => &close,
        };
        let ticks = all.iter().copied().filter(|x| (low..=high).contains(x));
        Self {
            label: label.to_owned(),
            log: true,
            low,
            high,
            ticks: ticks.map(|x| (x, x.to_string())).collect(),
        }
    }
}

fn joined(label: &str, unit: &str) -> String {
    match (label, unit) {
        (label, "") => label.to_owned(),
        ("", unit) => unit.to_owned(),
        (label, unit) => format!("{label} ({unit})"),
    }
}

/// A figure, which a unit may stand behind, without noughts behind its point.
pub(super) fn short(text: &str) -> String {
    let (figure, unit) = text.split_at(text.find(' ').unwrap_or(text.len()));
    if figure.contains('.') {
        figure
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
            + unit
    } else {
        text.to_owned()
    }
}

/// Ends with some room, neither at zero nor at one another.
fn widened(low: f64, high: f64) -> (f64, f64) {
    let low = if low > 0.0 {
        low
    } else {
        f64::MIN_POSITIVE.max(high / 1e6)
    };
    let high = high.max(low * 1.1);
    (low / 1.05, high * 1.05)
}

/// Ends and a step of about four parts, in round figures.
fn round_ends(low: f64, high: f64) -> (f64, f64, f64) {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return (low.min(0.0), low.max(1.0), low.max(1.0));
    }
    let raw = span / 4.0;
    let power = 10_f64.powf(raw.log10().floor());
    let times = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = times
        .iter()
        .map(|of| of * power)
        .find(|step| *step >= raw * 0.999);
    let step = step.unwrap_or(raw);
    (
        (low / step).floor() * step,
        (high / step).ceil() * step,
        step,
    )
}

/// The multiples of a step between two ends.
fn steps(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let all = (0..=20_u32).map(move |n| f64::from(n).mul_add(step, low));
    all.take_while(move |x| *x <= step.mul_add(1e-6, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_figures_within_the_axis() {
        let check = |axis: &Axis, expect: &str| {
            let words: Vec<&str> = axis.ticks.iter().map(|(_, word)| word.as_str()).collect();
            assert_eq!(words.join(" "), expect, "{axis:?}");
            let inside = |(x, _): &(f64, String)| (axis.low..=axis.high).contains(x);
            assert!(axis.ticks.iter().all(inside), "{axis:?}");
        };
        let ratios = |low, high| Axis::ratios("", low, high);
        check(&ratios(1.0, 1.0), "0.9 1 1.1");
        check(&ratios(0.6, 2.2), "0.7 1 1.4 2");
        check(&ratios(0.04, 30.0), "0.05 0.1 0.2 0.5 1 2 5 10 20");
        let plain = |x: f64| x.to_string();
        check(&Axis::log("", 1.0, 80.0, plain), "1 2 5 10 20 50");
        check(
            &Axis::log("", 1.0, 3000.0, plain),
            "1 3 10 30 100 300 1000 3000",
        );
        check(
            &Axis::log("", 1.0, 1e6, plain),
            "1 10 100 1000 10000 100000 1000000",
        );
        let two = Axis::log("", 3.0, 3.1, |x: f64| format!("{x:.2}"));
        check(&two, "2.86 3.47");
        check(
            &Axis::log("", 0.9, 12.0, |x| format!("{x:.1} ms")),
            "1 ms 2 ms 5 ms 10 ms",
        );
        check(
            &Axis::sizes("", 4096, 1 << 30),
            "4 KiB 64 KiB 1 MiB 16 MiB 256 MiB",
        );
        let unit = |low, high| Axis::of_unit("", Unit::OpsPerSecond, "iops", low, high);
        check(&unit(0.0, 7300.0), "0 2 4 6 8");
        let bytes = |high| Axis::of_unit("", Unit::BytesPerSecond, "", 0.0, high);
        check(&bytes(3.7 * 1_048_576.0), "0 1 2 3 4");
        check(&unit(5.0, 5.0), "0 5");
    }

    #[test]
    fn a_place_lies_on_its_axis_whatever_the_value() {
        let axis = Axis::ratios("", 0.5, 2.0);
        let check = |x, expect: f64| assert!((axis.place(x) - expect).abs() < 1e-9, "{x}");
        check(0.5, 0.0);
        check(1.0, 0.5);
        check(2.0, 1.0);
        check(9.0, 1.0);
        check(-1.0, 0.0);
        check(f64::NAN, 0.0);
    }
}
