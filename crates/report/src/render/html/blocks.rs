//! The blocks of a page as elements that say what they are.

use crate::lang::Lang;
use crate::number::round_to_digits;
use crate::page::block::{
    Align, Block, Cell, Chart, Drawing, Long, MARK, Picture, Table, Text, Tone,
};
use crate::page::chart::{Figure, Look};
use crate::render::svg::{NARROW, WIDE, chart_svg};
use dialects::printable::printable;
use maud::{Markup, PreEscaped, html};
use model::num::count;
use std::cell::Cell as Counter;
use std::fmt::Write as _;

/// Writes the blocks of one language; what it counts makes names of charts that no other one has.
pub(super) struct Writer {
    lang: Lang,
    charts: Counter<usize>,
    longs: Counter<usize>,
}

impl Writer {
    pub(super) const fn new(lang: Lang) -> Self {
        let (charts, longs) = (Counter::new(0), Counter::new(0));
        Self {
            lang,
            charts,
            longs,
        }
    }

    /// The blocks, in so many sections, below this heading.
    pub(super) fn blocks(&self, list: &[Block], depth: usize, heading: &str) -> Markup {
        let mut near = heading;
        html! {
            @for group in list.chunk_by(|a, b| matches!((a, b), (Block::Chart(_), Block::Chart(_)))) {
                @if let [Block::Chart(_), Block::Chart(_), ..] = group {
                    div.charts { @for block in group { (self.block(block, depth, near)) } }
                } @else {
                    @for block in group {
                        @let () = if let Block::Name(name) = block { near = name };
                        (self.block(block, depth, near))
                    }
                }
            }
        }
    }

    fn block(&self, block: &Block, depth: usize, near: &str) -> Markup {
        if block.is_empty() {
            return Markup::default();
        }
        match block {
            Block::Title(names, line, below) => title(names, line, below, near),
            Block::Section(None, inner) | Block::Within(_, inner) => {
                self.blocks(inner, depth, near)
            }
            Block::Section(Some(text), inner) => {
                let inner = self.blocks(inner, depth + 1, &text.text);
                if inner.0.is_empty() {
                    return inner;
                }
                html! { (heading(depth, text)) (inner) }
            }
            Block::Name(name) => heading(depth, &Text::name(name)),
            Block::Line(text) => html! { p { (bits(text)) } },
            Block::Facts(list) => facts(list),
            Block::Table(table) => self.table(table, near),
            Block::Bullets(lines) => html! { ul { @for line in lines { li { (span(line)) } } } },
            Block::Course(picture, [from, to]) => html! {
                div.course {
                    (spark(picture))
                    div.ends { span { (printable(from)) } span { (printable(to)) } }
                }
            },
            Block::Commands(_) | Block::Comment(_) => Markup::default(),
            Block::Chart(chart) => self.chart(chart),
            Block::Long(long) => self.long(long),
            Block::Fitting(forms) => {
                let form = forms.first().map_or(&[][..], Vec::as_slice);
                self.blocks(form, depth, near)
            }
        }
    }

    fn table(&self, table: &Table, near: &str) -> Markup {
        let heads = table.columns.iter().any(|(head, _)| !head.is_empty());
        let last = table.columns.len().saturating_sub(1);
        let class = |place: usize| match table.columns[place].1 {
            _ if table.wrapped && place == last => Some("w"),
            Align::Left => None,
            Align::Right | Align::Marked => Some("n"),
        };
        let near = printable(near);
        let name = self
            .lang
            .pick(format!("table: {near}"), format!("表: {near}"));
        html! {
            div.scroll role="group" tabindex="0" aria-label=(name) {
                table {
                    caption { (near) }
                    @if heads {
                        thead { tr { @for (place, (head, _)) in table.columns.iter().enumerate() {
                            @if head.is_empty() { td {} }
                            @else { th scope="col" class=[class(place)] { (printable(head)) } }
                        } } }
                    }
                    tbody { @for row in &table.rows { tr { @for (place, one) in row.iter().enumerate() {
                        @if place == 0 && heads { th scope="row" class=[class(0)] { (cell(one)) } }
                        @else { td class=[class(place)] { (cell(one)) } }
                    } } } }
                }
            }
        }
    }

    /// A chart, what it says, and its figures.
    fn chart(&self, chart: &Chart) -> Markup {
        let number = self.charts.replace(self.charts.get() + 1);
        let id = self
            .lang
            .pick(format!("en-c{number}"), format!("ja-c{number}"));
        let over_all = match &chart.drawing {
            Figure::Rows(_) => true,
            Figure::Plot(plot) => plot.series.iter().any(|series| series.look == Look::Band),
        };
        let phone = format!("{id}p");
        let figures = self.lang.pick("Figures of this chart", "この図の数値");
        html! {
            figure class=(if over_all { "all" } else { "one" }) {
                figcaption { (printable(&chart.title)) span { (printable(&chart.finding)) } }
                @if over_all {
                    div.desk { (chart_svg(chart, WIDE, &id, false)) }
                    div.phone { (chart_svg(chart, NARROW, &phone, false)) }
                } @else {
                    (chart_svg(chart, NARROW, &id, false))
                }
                @if !chart.table.rows.is_empty() {
                    details { summary { (figures) } (self.table(&chart.table, &chart.title)) }
                }
            }
        }
    }
}

impl Writer {
    /// A place where a script shows a series. The figures stand in the file once, where its first language is.
    fn long(&self, long: &Long) -> Markup {
        let lang = self.lang;
        let id = format!("long{}", self.longs.replace(self.longs.get() + 1));
        let help = lang.pick(
            "Drag over a part to look into it, click twice to see all of it; keys: arrows, + and -, 0 for all of it.",
            "範囲をドラッグすると拡大し、ダブルクリックで全体に戻ります。キー操作: 矢印、+ と -、0 で全体。",
        );
        html! {
            @if lang == Lang::ALL[0] {
                script type="application/json" id=(id) { (PreEscaped(series(long))) }
            }
            div.long.print-no hidden data-long=(id) data-help=(help) data-unit=(long.unit)
                data-time=(lang.pick("seconds", "秒")) data-least=(lang.pick("least", "最小"))
                data-middle=(lang.pick("median", "中央値")) data-most=(lang.pick("most", "最大")) {
                button type="button" { (lang.pick("Look into it", "拡大して見る")) }
                p hidden { (help) }
            }
        }
    }
}

/// The figures of a long series as a document for the script: four digits are finer than a dot.
fn series(long: &Long) -> String {
    let values = |which: usize| -> Vec<Option<f64>> {
        let pieces = long.pieces.iter();
        pieces
            .map(|piece| Some(round_to_digits((*piece)?[which], 4)))
            .collect()
    };
    serde_json::json!({
        "step": long.step, "least": values(0), "middle": values(1), "most": values(2),
    })
    .to_string()
}

/// What a page is about; its name only where the heading above is another one.
fn title(names: &[Text], line: &str, below: &str, near: &str) -> Markup {
    let is_new = !matches!(names, [one] if one.text == near) && !names.is_empty();
    html! {
        @if is_new {
            h3.name { @for (place, name) in names.iter().enumerate() { @if place > 0 { ": " } (span(name)) } }
        }
        @if !line.is_empty() { p.lead { (bits(line)) } }
        @if !below.is_empty() { p { (bits(below)) } }
    }
}

/// A heading below that of the page.
fn heading(depth: usize, text: &Text) -> Markup {
    match depth {
        0 => html! { h3 { (span(text)) } },
        1 => html! { h4 { (span(text)) } },
        2 => html! { h5 { (span(text)) } },
        _ => html! { h6 { (span(text)) } },
    }
}

/// Names with what is said of them; sentences with a sign before them are a list.
fn facts(list: &[(Text, Text)]) -> Markup {
    let is_sign = |(name, _): &(Text, Text)| name.tone == Tone::Sign;
    html! {
        @for group in list.chunk_by(|a, b| is_sign(a) == is_sign(b)) {
            @if is_sign(&group[0]) {
                ul.signs { @for (sign, text) in group { li { span.sign { (printable(&sign.text)) } (span(text)) } } }
            } @else {
                dl { @for (name, text) in group {
                    @if !name.text.is_empty() { dt { (span(name)) } }
                    dd { (span(text)) }
                } }
            }
        }
    }
}

fn cell(cell: &Cell) -> Markup {
    match cell {
        Cell::Text(text) => span(text),
        Cell::Below(whole, _) => span(whole),
        Cell::Bar(filled, missing) => {
            let (whole, filled) = (count(filled + missing).max(24.0), count(*filled));
            let behind = count(*missing);
            html! {
                svg.spark viewBox={ "0 0 " (whole) " 4" } preserveAspectRatio="none" aria-hidden="true" {
                    rect.area x="0" y="0.5" width=(filled) height="3" {}
                    rect.lost x=(filled) y="0.5" width=(behind) height="3" {}
                }
            }
        }
        Cell::Picture(picture) => spark(picture),
    }
}

/// A text as what it is; a mark stays behind it.
fn span(text: &Text) -> Markup {
    let (body, mark) = match text.text.strip_suffix(MARK) {
        Some(body) => (body, MARK),
        None => (text.text.as_str(), ""),
    };
    match text.tone {
        Tone::Name => html! { code { bdi { (printable(body)) } } (mark) },
        Tone::Best => html! { strong { (bits(body)) (mark) } },
        Tone::Attention => html! { strong.attention { (bits(body)) (mark) } },
        Tone::Plain | Tone::Sign | Tone::Worse => html! { (bits(body)) (mark) },
    }
}

/// A text whose parts, which stand apart on a terminal, stay apart. Text from outside turns nothing around it.
fn bits(text: &str) -> Markup {
    // What keeps words together on a terminal would break a narrow page within them.
    let text = printable(text).replace('\u{a0}', " ");
    let parts: Vec<&str> = text.split("  ").map(str::trim).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    html! {
        @if let [one] = parts[..] {
            bdi { (quoted(one)) }
        } @else {
            @for part in parts { bdi.bit { (quoted(part)) } " " }
        }
    }
}

/// A text whose names of commands and files stand between backticks.
fn quoted(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    let is_even = parts.len() % 2 == 1;
    html! {
        @for (place, part) in parts.iter().enumerate() {
            @if is_even && place % 2 == 1 { code { (part) } }
            @else if is_even || place == 0 { (part) }
            @else { "`" (part) }
        }
    }
}

/// A course or a distribution in the height of a line. What it says stands beside it in words.
fn spark(picture: &Picture) -> Markup {
    let mut line = String::new();
    let (mut at, mut area) = (0.0, false);
    match &picture.drawing {
        Drawing::Course { groups, low, high } => {
            for group in groups {
                for (place, x) in group.iter().enumerate() {
                    let height = 19.0 - 18.0 * (x - low) / (high - low).max(f64::MIN_POSITIVE);
                    let pen = if place == 0 { 'M' } else { 'L' };
                    let _ = write!(line, "{pen}{at} {height:.1}");
                    at += 1.0;
                }
                // One value alone is a dash.
                line += "h.5";
                at += 1.0;
            }
        }
        Drawing::Distribution(shares) => {
            area = true;
            let most = shares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            for share in shares {
                let height = 19.0 * share / most;
                let _ = write!(line, "M{at} 20v-{height:.1}h1v{height:.1}z");
                at += 1.0;
            }
        }
    }
    html! {
        svg.spark viewBox={ "0 0 " (at) " 20" } preserveAspectRatio="none" aria-hidden="true" {
            path class=[area.then_some("area")] d=(line) {}
        }
    }
}
