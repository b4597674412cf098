//! Latency under load: what a load takes beside streams, one line for each load that the run measured.
//!
//! What one copy took, which is a chain without streams, is the latency without load. Nothing is shown where no test
//! had streams: a single figure is no curve.

use super::block::{Align, Block, Cell, Table, Text};
use super::charts;
use crate::lang::{Lang, say};
use crate::number;
use crate::view::RunView;
use model::num::{count, round_to_usize};
use model::units::Unit;
use stats::loaded::Level;

/// Cells of the longest bar.
const BAR: usize = 16;

/// The loads of the run; nothing where it did not measure any.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let levels = stats::loaded::levels(&view.run.plan, &view.metrics);
    let Some(most) = levels.iter().rev().find(|level| level.load.is_some()) else {
        return Vec::new();
    };
    let idle = levels.iter().find(|level| level.load.is_none());
    let idle = idle.map(|level| level.ns);
    let mut lines = Vec::new();
    if let (Some(idle), Some(load)) = (idle, most.load) {
        lines.push(say!(
            lang,
            "while the others read {load}, a load takes {times} times as long as without them",
            "他の CPU が {load} を読み出している間、1 回のロードは無負荷時の {times} 倍かかります",
            load = number::alone(Unit::BytesPerSecond, load),
            times = times(most.ns, idle)
        ));
    }
    let legend = lang.pick(
        "one chain of dependent loads beside streams on the other CPUs; # in proportion to ns/load",
        "依存ロードのチェーン 1 本を測り、他の CPU はメモリを連続して読みます。# は ns/ロードに比例します",
    );
    lines.push(legend.to_owned());
    let table = |bar| vec![Block::Table(table(&levels, idle, bar, lang))];
    let heading = lang.pick("latency under load", "負荷時のレイテンシー");
    let forms = Block::Fitting(vec![table(BAR), table(0)]);
    let chart = charts::loaded(&levels, &lines[0], lang);
    let parts = [forms, Block::bullets(lines)].into_iter();
    let parts = parts.chain(Block::chart(chart));
    vec![Block::section(heading, parts.collect())]
}

/// The lines, with bars of at most so many cells.
fn table(levels: &[Level], idle: Option<f64>, bar: usize, lang: Lang) -> Table {
    let most = |of: fn(&Level) -> f64| levels.iter().map(of).fold(0.0, f64::max);
    let scale = number::scale(
        Unit::BytesPerSecond,
        "",
        most(|level| level.load.unwrap_or(0.0)),
    );
    let slowest = most(|level| level.ns);
    let streams = lang.pick("streams", "ストリーム");
    let mut table = Table::new([
        (lang.pick("test", "テスト").to_owned(), Align::Left),
        (format!("{streams} {}", scale.unit), Align::Right),
        (lang.pick("ns/load", "ns/ロード").to_owned(), Align::Right),
        (lang.pick("times idle", "無負荷比").to_owned(), Align::Right),
        (String::new(), Align::Left),
    ]);
    for level in levels {
        let none = || number::NONE.to_owned();
        let cells = round_to_usize(level.ns / slowest * count(bar));
        table.rows.push(vec![
            Text::name(level.case.to_string()).into(),
            level
                .load
                .map_or_else(none, |load| scale.value(load))
                .into(),
            format!("{:.1}", level.ns).into(),
            idle.map_or_else(none, |idle| times(level.ns, idle)).into(),
            Cell::Bar(cells, 0),
        ]);
    }
    table
}

/// How many times as long as without load.
fn times(ns: f64, idle: f64) -> String {
    format!("{:.2}", ns / idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use crate::testkit::{Quantity, add_case, add_round, empty, six_around};
    use crate::view::view;
    use model::record::Run;
    use model::spec::Better;

    const LATENCY: &str = "ns_per_load";
    const LOAD: &str = "load_bytes_per_s";

    /// The share of the time that the others stream, how many copies, what a load takes, and bytes per second.
    type Measured = (u32, u32, f64, Option<f64>);

    fn run(measured: &[Measured]) -> Run {
        let quantities = [
            Quantity(LATENCY, Unit::Nanoseconds, Better::Lower),
            Quantity(LOAD, Unit::BytesPerSecond, Better::Higher),
        ];
        let mut run = empty();
        for &(duty, copies, ns, load) in measured {
            let test = format!("memory.loaded-{duty}");
            let case = add_case(&mut run, &test, copies, "off", &quantities);
            for (pass, share) in (1..).zip(six_around(1.0)) {
                let values = [(LATENCY, ns * share), (LOAD, load.unwrap_or(0.0) * share)];
                let values = &values[..if load.is_some() { 2 } else { 1 }];
                add_round(&mut run, &case, pass, Ok(values));
            }
        }
        run
    }

    /// As the profile has them: not in the order of the load.
    const CURVE: [Measured; 5] = [
        (25, 8, 118.2, Some(21e9)),
        (50, 8, 131.0, Some(40e9)),
        (75, 8, 190.4, Some(55e9)),
        (100, 1, 110.0, None),
        (100, 8, 330.0, Some(61e9)),
    ];

    fn shown(measured: &[Measured], width: usize, lang: Lang) -> String {
        let run = run(measured);
        crate::testkit::section(&blocks(&view(&run), lang), width)
    }

    #[test]
    fn the_curve_of_latency_over_load_in_both_languages() {
        insta::assert_snapshot!("loaded_en", shown(&CURVE, 80, Lang::En));
        insta::assert_snapshot!("loaded_ja", shown(&CURVE, 80, Lang::Ja));
    }

    #[test]
    fn the_page_and_the_markdown_have_it_under_its_heading() {
        let run = run(&CURVE);
        let view = view(&run);
        let page = crate::testkit::text(&view, Style::PLAIN, Lang::En);
        let markdown = crate::testkit::markdown(&view, Lang::En);
        let line = "memory.loaded-25@8";
        let below = |text: &str, heading: &str| {
            let at = text.find(heading).unwrap_or_else(|| panic!("{text}"));
            assert!(text[at..].contains(line), "{text}");
        };
        below(&page, "\nlatency under load\n");
        below(&markdown, "\n### latency under load\n\n| test |");
    }

    #[test]
    fn the_chart_goes_from_no_load_to_the_most() {
        let chart = |measured| {
            let run = run(measured);
            let levels = stats::loaded::levels(&run.plan, &view(&run).metrics);
            charts::loaded(&levels, "said", Lang::En)
        };
        let crate::page::chart::Figure::Plot(plot) = chart(&CURVE[..]).unwrap().drawing else {
            panic!()
        };
        let places: Vec<f64> = plot.series[0].points.iter().map(|point| point.x).collect();
        assert!(places.is_sorted() && places.len() == 5, "{places:?}");
        assert!(places[0].abs() < 1.0 && plot.x.high >= 61e9, "{places:?}");
        assert!(chart(&CURVE[..1]).is_none());
        assert!(chart(&CURVE[3..4]).is_none());
    }

    #[test]
    fn a_narrow_terminal_has_the_figures_without_the_bars() {
        let text = shown(&CURVE, 60, Lang::En);
        assert!(text.contains("3.00") && !text.contains("##"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 58), "{text}");
    }

    #[test]
    fn without_streams_there_is_no_curve_and_without_idle_no_ratio() {
        assert_eq!(shown(&CURVE[3..4], 80, Lang::En), "");
        let text = shown(&CURVE[..3], 80, Lang::En);
        let first = text.lines().nth(1).unwrap();
        let cells: Vec<&str> = first.split_whitespace().collect();
        assert_eq!(cells[2..4], ["118.2", number::NONE], "{text}");
        assert!(!text.contains("times as long"), "{text}");
    }
}
