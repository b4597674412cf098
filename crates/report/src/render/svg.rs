//! Charts as SVG: shapes with classes, whose colours a style sheet gives, so that one drawing suits light and dark.
//!
//! Widths of words are estimated: nothing here has a font. Colour never says anything alone: series differ in shape,
//! verdicts are words.

use crate::page::block::{Chart, Tone};
use crate::page::chart::{Axis, Figure, Look, Plot, Point, Row, Rows, Series};
use crate::table::{columns, wrapped};
use dialects::printable::printable;
use maud::{Markup, PreEscaped, html};
use model::num::{count, round_to_usize};
use std::fmt::Write as _;

/// Units of a chart that stands beside text, and of one for a phone, which shows it at 75 % of this size.
pub(super) const NARROW: f64 = 420.0;
/// Units of a chart over the whole page.
pub(super) const WIDE: f64 = 880.0;

/// The size of letters in units: at 313 of 420 it is 11 CSS pixels.
const LETTER: f64 = 15.0;
/// The share of that size that a column of half width takes, on average.
const COLUMN: f64 = 0.62;
/// The height of a row of words.
const LINE: f64 = 22.0;
/// The radius of a dot.
const DOT: f64 = 5.0;
/// The height of the field of a plot.
const FIELD: f64 = 220.0;

/// What the shapes of a drawing look like, light by itself; a page that can be dark sets the variables.
pub(super) const STYLE: &str = "\
svg.chart{font:15px system-ui,\
\"Hiragino Sans\",\"Noto Sans JP\",\"Noto Sans CJK JP\",\"Yu Gothic UI\",Meiryo,sans-serif}\
.chart text{fill:var(--text);stroke:var(--page);stroke-width:3px;paint-order:stroke}\
.chart .m{fill:var(--muted)}.chart .g{stroke:var(--grid);stroke-width:1}\
.chart .a{stroke:var(--muted);stroke-width:1.5}.chart .b{fill:var(--band)}.chart .e{font-weight:700}\
.chart .l{fill:none;stroke-width:2}.chart .i{stroke-width:2}.chart .d{fill:none;stroke-width:2;stroke-dasharray:6 3}\
.chart .n{fill-opacity:.25;stroke:none}.chart .h{fill:var(--page);stroke-width:2}\
.s0{fill:#0072b2;stroke:#0072b2}.s1{fill:#d55e00;stroke:#d55e00}.s2{fill:#009e73;stroke:#009e73}\
.s3{fill:#cc79a7;stroke:#cc79a7}.sm{fill:var(--muted);stroke:var(--muted)}\
@media(prefers-contrast:more){.chart .l,.chart .i,.chart .d{stroke-width:3}}\
@media(forced-colors:active){.chart *{forced-color-adjust:auto}.chart text{fill:CanvasText}\
.s0,.s1,.s2,.s3,.sm,.chart .a{stroke:CanvasText;fill:CanvasText}.chart .h{fill:Canvas}\
.chart .n,.chart .b{fill:GrayText}}";

/// The colours of a page that is light.
pub(super) const LIGHT: &str = "--page:#fff;--text:#1a1a1a;--muted:#595959;--grid:#dcdcdc;--band:#e4e4e4;\
                                --line:#767676;--link:#00598c;--soft:#f4f4f4";

/// The chart as a file of its own, for a web log or a README. It is light, whatever stands around it.
pub fn svg(chart: &Chart) -> String {
    let drawing = chart_svg(chart, WIDE, "chart", true);
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned() + &drawing.into_string() + "\n"
}

/// The chart in so many units. A file of its own has its style in it.
pub(super) fn chart_svg(chart: &Chart, width: f64, id: &str, alone: bool) -> Markup {
    let (height, shapes) = match &chart.drawing {
        Figure::Rows(rows) => draw_rows(rows, width),
        Figure::Plot(plot) => draw_plot(plot, width),
    };
    // A file of its own has the title in the picture, since nothing stands around it.
    let above = if alone { LINE + 12.0 } else { 0.0 };
    let view = format!("0 {} {width} {}", -above, height + above);
    let ids = format!("{id}-t {id}-d");
    html! {
        svg.chart xmlns="http://www.w3.org/2000/svg" viewBox=(view) role="img" aria-labelledby=(ids) {
            title id={ (id) "-t" } { (printable(&chart.title)) }
            desc id={ (id) "-d" } { (printable(&chart.finding)) }
            @if alone {
                style { (PreEscaped(format!(":root{{{LIGHT}}}{STYLE}"))) }
                rect fill="#fff" x="0" y=(-above) width=(width) height=(height + above) {}
                (words(8.0, 18.0 - above, "e", "start", &chart.title))
            }
            (shapes)
        }
    }
}

/// A dot and an interval in each row; beside its words where there is room, below them where not.
fn draw_rows(rows: &Rows, width: f64) -> (f64, Markup) {
    let longest = |of: fn(&Row) -> &str| {
        let widths = rows.rows.iter().map(|row| width_of(of(row)));
        widths.fold(0.0, f64::max)
    };
    let (names, said) = (longest(|row| &row.name), longest(|row| &row.said.text));
    let beside = width > NARROW && names + said + width * 0.4 < width;
    let (left, right) = if beside {
        (names + 20.0, width - said - 20.0)
    } else {
        (12.0, width - 12.0)
    };
    let step = if beside { LINE + 2.0 } else { 2.0 * LINE };
    let foot = step.mul_add(count(rows.rows.len()), 6.0);
    let x = |value: f64| rows.axis.place(value).mul_add(right - left, left);
    let top_of = |place: usize| step.mul_add(count(place), 4.0);
    let (label, lower) = axis_label(&rows.axis, f64::midpoint(left, right), foot, width);
    let middle_of = |place| top_of(place) + if beside { LINE / 2.0 } else { LINE * 1.5 - 3.0 };
    let shapes = html! {
        @for (value, word) in spaced(&rows.axis, right - left) {
            line.g x1=(at(x(*value))) x2=(at(x(*value))) y1="0" y2=(at(foot)) {}
            (words(x(*value), foot + 18.0, "m", "middle", word))
        }
        @for (place, row) in rows.rows.iter().enumerate() {
            @let middle = middle_of(place);
            @if let Some((low, high)) = row.band {
                rect.b x=(at(x(low))) y=(at(middle - 8.0)) width=(at(x(high) - x(low))) height="16" {}
            }
        }
        @if let Some(line) = rows.line {
            line.a x1=(at(x(line))) x2=(at(x(line))) y1="0" y2=(at(foot)) {}
        }
        @for (place, row) in rows.rows.iter().enumerate() {
            @let top = top_of(place);
            @if beside {
                (words(left - 12.0, top + 16.0, "", "end", &row.name))
                (words(right + 12.0, top + 16.0, "e", "start", &row.said.text))
            } @else {
                (words(0.0, top + 16.0, "", "start", &row.name))
                (words(width, top + 16.0, "e", "end", &row.said.text))
            }
        }
        @for (place, row) in rows.rows.iter().enumerate() {
            @let middle = middle_of(place);
            @let (class, shape) = look_of(row.said.tone);
            @if let Some(ends) = row.interval {
                (interval([x(ends.0), x(ends.1)], middle, false, class))
                (beyond(&rows.axis, ends, [left, right], middle, class))
            }
            (mark(shape, x(row.at), middle, class))
        }
        (label)
    };
    (foot + 50.0 + lower, shapes)
}

/// The class and the shape of a verdict.
const fn look_of(tone: Tone) -> (&'static str, usize) {
    match tone {
        Tone::Best => ("s0", 2),
        Tone::Worse => ("s1", 3),
        _ => ("sm", 0),
    }
}

/// Points, lines and bands in a field with axes.
fn draw_plot(plot: &Plot, width: f64) -> (f64, Markup) {
    let ticks = plot.y.ticks.iter().map(|(_, word)| width_of(word));
    let (left, right) = (ticks.fold(0.0, f64::max) + 10.0, width - 16.0);
    let named = plot.series.iter().filter(|series| !series.name.is_empty());
    let legend = legend_of(named, width);
    let top = LINE + 6.0 + if plot.marks.is_empty() { 0.0 } else { LINE };
    let foot = top + FIELD;
    let x = |value: f64| plot.x.place(value).mul_add(right - left, left);
    let y = |value: f64| plot.y.place(value).mul_add(-FIELD, foot);
    let (label, lower) = axis_label(&plot.x, f64::midpoint(left, right), foot, width);
    let shapes = html! {
        (words(0.0, 16.0, "m", "start", &plot.y.label))
        @for (value, word) in &plot.y.ticks {
            line.g x1=(at(left)) x2=(at(right)) y1=(at(y(*value))) y2=(at(y(*value))) {}
            (words(left - 6.0, y(*value) + 5.0, "m", "end", word))
        }
        @for (value, word) in spaced(&plot.x, right - left) {
            line.g x1=(at(x(*value))) x2=(at(x(*value))) y1=(at(top)) y2=(at(foot)) {}
            (words(x(*value).min(width - width_of(word) / 2.0), foot + 18.0, "m", "middle", word))
        }
        line.a x1=(at(left)) x2=(at(right)) y1=(at(foot)) y2=(at(foot)) {}
        @for (value, word) in &plot.marks {
            @let anchor = if plot.x.place(*value) > 0.6 { "end" } else { "start" };
            line.a x1=(at(x(*value))) x2=(at(x(*value))) y1=(at(top - 6.0)) y2=(at(foot)) stroke-dasharray="2 2" {}
            (words(x(*value), top - 10.0, "m", anchor, word))
        }
        @for (place, series) in plot.series.iter().enumerate() {
            (draw_series(series, place, &x, &y))
        }
        (labels(plot, [left, right, top - LINE, foot], &x, &y))
        (label)
        @for (place, series, across, down) in &legend {
            @let middle = foot + 62.0 + lower + down;
            @if series.look == Look::Dashed {
                @let line = format!("M{} {}h16", at(across - 8.0), at(middle));
                path class={ "d " (class_of(*place)) } d=(line) {}
            } @else {
                (mark(*place, *across, middle, class_of(*place)))
            }
            (words(across + 14.0, middle + 5.0, "", "start", &series.name))
        }
    };
    let lines = legend.last().map_or(0.0, |(.., down)| down + LINE + 4.0);
    (foot + 50.0 + lower + lines, shapes)
}

/// Where each name of a legend stands: from left to right, and on a further line where there is no room.
fn legend_of<'a>(
    series: impl Iterator<Item = &'a Series>,
    width: f64,
) -> Vec<(usize, &'a Series, f64, f64)> {
    let (mut across, mut down) = (12.0, 0.0);
    let mut list = Vec::new();
    for (place, one) in series.enumerate() {
        let wide = width_of(&one.name) + 40.0;
        if across + wide > width && across > 12.0 {
            (across, down) = (12.0, down + LINE);
        }
        list.push((place, one, across, down));
        across += wide;
    }
    list
}

fn draw_series(
    series: &Series,
    place: usize,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> Markup {
    let class = class_of(place);
    let line =
        |of: &dyn Fn(&Point) -> f64| path(series.points.iter().map(|p| (x(p.x), p.y, y(of(p)))));
    let is_line = series.look != Look::Dots;
    let has_dots = has_dots(series.look);
    html! {
        @if series.look == Look::Band {
            path class={ "n " (class) } d=(band(&series.points, x, y)) {}
        }
        @if is_line {
            path class={ (if series.look == Look::Dashed { "d " } else { "l " }) (class) } d=(line(&|point| point.y)) {}
        }
        @for point in series.points.iter().filter(|point| has_dots && point.y.is_finite()) {
            @if let Some((low, high)) = point.x_ends {
                (interval([x(low), x(high)], y(point.y), false, class))
            }
            @if let Some((low, high)) = point.y_ends {
                (interval([y(low), y(high)], x(point.x), true, class))
            }
            @let hollow = if point.dominated { " h" } else { "" };
            (mark(place, x(point.x), y(point.y), &[class, hollow].concat()))
        }
    }
}

/// The words beside points, each where nothing else stands; further away than beside it a line leads to it.
fn labels(plot: &Plot, field: [f64; 4], x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> Markup {
    let seen = plot.series.iter().filter(|series| has_dots(series.look));
    let seen = seen.flat_map(|series| &series.points);
    let dots: Vec<(&Point, f64, f64)> = seen
        .filter(|point| point.y.is_finite())
        .map(|point| (point, x(point.x), y(point.y)))
        .collect();
    let mut taken: Vec<[f64; 4]> = dots
        .iter()
        .map(|(_, x, y)| [x - DOT, x + DOT, y - DOT, y + DOT])
        .collect();
    let mut placed = Vec::new();
    for (point, x, y) in dots.iter().filter(|(point, ..)| !point.label.is_empty()) {
        let wide = width_of(&point.label);
        let places = (0..6_u32).flat_map(|ring| {
            let away = f64::from(ring) * LINE;
            let (above, below) = (y - 7.0 - away, y + 17.0 + away);
            [
                (9.0, above),
                (9.0, below),
                (-9.0 - wide, above),
                (-9.0 - wide, below),
            ]
            .map(|(across, base)| (x + across, base, ring > 0))
        });
        let box_of = |left: f64, base: f64| [left, left + wide, base - LETTER, base + 4.0];
        let is_free = |of: [f64; 4]| {
            let inside = of[0] >= field[0] && of[1] <= field[1] + 16.0;
            let inside = inside && of[2] >= field[2] && of[3] <= field[3];
            let apart = |other: &[f64; 4]| {
                of[0] >= other[1] || of[1] <= other[0] || of[2] >= other[3] || of[3] <= other[2]
            };
            inside && taken.iter().all(apart)
        };
        let mut free = places.filter(|(left, base, _)| is_free(box_of(*left, *base)));
        // A word without room is in the table.
        let Some((left, base, is_away)) = free.next() else {
            continue;
        };
        taken.push(box_of(left, base));
        placed.push((*point, (*x, *y), (left, base), is_away));
    }
    html! {
        @for (_, (x, y), (left, base), _) in placed.iter().filter(|(.., is_away)| *is_away) {
            @let end = if left > x { *left } else { left + width_of("  ") };
            line.g x1=(at(*x)) y1=(at(*y)) x2=(at(end)) y2=(at(base - 5.0)) {}
        }
        @for (point, _, (left, base), _) in &placed {
            (words(*left, *base, "", "start", &point.label))
        }
    }
}

const fn has_dots(look: Look) -> bool {
    matches!(look, Look::Dots | Look::Line)
}

/// A line through points, which is broken where one is no number.
fn path(points: impl Iterator<Item = (f64, f64, f64)>) -> String {
    let (mut out, mut pen) = (String::new(), 'M');
    for (x, value, y) in points {
        if !value.is_finite() {
            pen = 'M';
            continue;
        }
        let _ = write!(out, "{pen}{} {}", at(x), at(y));
        pen = 'L';
    }
    out
}

/// The area between the ends of points, in one piece for each that has no gap in it.
fn band(points: &[Point], x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    let mut out = String::new();
    for piece in points.split(|point| !point.y.is_finite()) {
        let ends = |point: &Point| point.y_ends.unwrap_or((point.y, point.y));
        let above = piece.iter().map(|point| (x(point.x), ends(point).1));
        let below = piece.iter().rev().map(|point| (x(point.x), ends(point).0));
        let around = path(above.chain(below).map(|(x, value)| (x, value, y(value))));
        if !around.is_empty() {
            out = out + &around + "Z";
        }
    }
    out
}

/// An interval with ticks at its ends; `across` is its place on the other axis.
fn interval([from, to]: [f64; 2], across: f64, upright: bool, class: &str) -> Markup {
    let (from, to, [low, high]) = (at(from), at(to), [at(across - 5.0), at(across + 5.0)]);
    let middle = at(across);
    let d = if upright {
        format!("M{middle} {from}V{to}M{low} {from}H{high}M{low} {to}H{high}")
    } else {
        format!("M{from} {middle}H{to}M{from} {low}V{high}M{to} {low}V{high}")
    };
    html! { path class={ "i " (class) } d=(d) {} }
}

/// Arrows where an interval goes on beyond the axis.
fn beyond(axis: &Axis, ends: (f64, f64), [left, right]: [f64; 2], y: f64, class: &str) -> Markup {
    // The tip lies outside, the base on the last place of the axis.
    let arrow = |x: f64, by: f64| {
        let [low, high] = [at(y - 6.0), at(y + 6.0)];
        format!("M{} {}L{} {low}V{high}Z", at(x + by), at(y), at(x))
    };
    html! {
        @if ends.0 < axis.low { path class=(class) d=(arrow(left, -8.0)) {} }
        @if ends.1 > axis.high { path class=(class) d=(arrow(right, 8.0)) {} }
    }
}

/// The dot of a series: a shape of its own for each of the first four.
fn mark(place: usize, x: f64, y: f64, class: &str) -> Markup {
    let points = |list: &[(f64, f64)]| {
        let list = list.iter();
        let list =
            list.map(|(dx, dy)| format!("{},{}", at(dx.mul_add(DOT, x)), at(dy.mul_add(DOT, y))));
        list.collect::<Vec<_>>().join(" ")
    };
    html! {
        @match place % 4 {
            0 => circle class=(class) cx=(at(x)) cy=(at(y)) r=(DOT) {},
            1 => rect class=(class) x=(at(x - DOT)) y=(at(y - DOT)) width=(2.0 * DOT) height=(2.0 * DOT) {},
            2 => polygon class=(class) points=(points(&[(0.0, -1.3), (1.2, 0.9), (-1.2, 0.9)])) {},
            _ => polygon class=(class) points=(points(&[(0.0, -1.4), (1.4, 0.0), (0.0, 1.4), (-1.4, 0.0)])) {},
        }
    }
}

const fn class_of(place: usize) -> &'static str {
    match place % 4 {
        0 => "s0",
        1 => "s1",
        2 => "s2",
        _ => "s3",
    }
}

fn words(x: f64, y: f64, class: &str, anchor: &str, text: &str) -> Markup {
    html! {
        @if !text.is_empty() {
            @let class = Some(class).filter(|class| !class.is_empty());
            text class=[class] x=(at(x)) y=(at(y)) text-anchor=(anchor) { (printable(text)) }
        }
    }
}

/// What an axis shows, below its ticks around this place or across the whole chart, and how much room its further lines
/// take.
fn axis_label(axis: &Axis, middle: f64, foot: f64, width: f64) -> (Markup, f64) {
    let half = width_of(&axis.label) / 2.0;
    let fits = middle - half >= 0.0 && middle + half <= width;
    let middle = if fits { middle } else { width / 2.0 };
    let room = round_to_usize((width / (LETTER * COLUMN)).floor());
    let text = wrapped(&axis.label, room);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let drawn = html! {
        @for (place, line) in lines.iter().enumerate() {
            (words(middle, LINE.mul_add(count(place), foot + 40.0), "m", "middle", line))
        }
    };
    (drawn, LINE * count(lines.len().saturating_sub(1)))
}

/// The ticks whose words have room beside one another.
fn spaced(axis: &Axis, room: f64) -> Vec<&(f64, String)> {
    let mut kept: Vec<&(f64, String)> = Vec::new();
    let mut free = f64::NEG_INFINITY;
    for tick in &axis.ticks {
        let (middle, half) = (axis.place(tick.0) * room, width_of(&tick.1) / 2.0);
        if middle - half >= free {
            free = middle + half + 8.0;
            kept.push(tick);
        }
    }
    kept
}

/// About how wide a text is.
fn width_of(text: &str) -> f64 {
    count(columns(text)) * LETTER * COLUMN
}

/// A coordinate with one digit behind the point at most.
fn at(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0")
        .map_or(text.clone(), ToOwned::to_owned)
}
