//! Latency by offered load: what operations take that arrive by themselves at shares of the most that storage can do.
//!
//! A line for each rate, with what was done of it; and one sentence, which is why anybody measures it.

use super::block::{Align, Block, Cell, Table};
use super::{charts, storage};
use crate::lang::{Lang, say};
use crate::number::{self, NONE, about, percent};
use crate::view::RunView;
use model::estimate::Estimate;
use model::units::Unit;
use stats::offered::{Curve, Figure, Point};

/// The share of the most that the highest one is told beside.
const HALF: f64 = 0.5;

/// Every curve of the run; nothing where nothing arrived by itself.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let curves = stats::offered::curves(view.run, &view.metrics);
    let parts = curves.iter().flat_map(|curve| part(view, curve, lang));
    let heading = lang.pick("latency by offered load", "負荷率とレイテンシー");
    vec![Block::section(heading, parts.collect())]
}

fn part(view: &RunView<'_>, curve: &Curve, lang: Lang) -> Vec<Block> {
    let kind = kind(view, curve, lang);
    let found = sentence(curve, kind, lang);
    let mut lines: Vec<String> = found.iter().cloned().collect();
    let behind = curve.points.iter().filter(|point| point.fell_behind);
    lines.extend(behind.filter_map(|point| fell_behind(point, &curve.of.quantity, lang)));
    let most = number::of(Unit::OpsPerSecond, &curve.of.quantity, curve.most);
    lines.push(say!(
        lang,
        "load: {kind} that arrived by themselves, as from many users, as a share of what {case} came to ({most}). \
         Latencies count from the intended start; p99.9 is that of all rounds together",
        "負荷率: {case} が達した速度（{most}）に対する、多数の利用者からのように独立に到着する{kind}の割合です。\
         レイテンシーは本来の開始時刻から数えます。p99.9 は全ラウンドをまとめた値です",
        case = curve.of.case
    ));
    let form = |intervals| vec![Block::Table(table(curve, intervals, lang))];
    let chart = charts::offered(
        curve,
        found.as_deref().unwrap_or_default(),
        table(curve, true, lang),
        lang,
    );
    let forms = Block::Fitting(vec![form(true), form(false)]);
    [forms, Block::bullets(lines)]
        .into_iter()
        .chain(Block::chart(chart))
        .collect()
}

/// What the operations are.
fn kind(view: &RunView<'_>, curve: &Curve, lang: Lang) -> &'static str {
    let known = view.storage.as_ref().and_then(|storage| {
        let point = curve.points.first()?;
        let case = storage.cases.iter().find(|one| one.case == point.case)?;
        let shape = case
            .latencies
            .iter()
            .find(|one| one.name == point.latency)?;
        Some(storage::operations(shape.of, lang))
    });
    known.unwrap_or_else(|| lang.pick("operations", "操作"))
}

/// What it costs to come near the most: the highest load that was held, beside half of the most.
fn sentence(curve: &Curve, kind: &str, lang: Lang) -> Option<String> {
    let known = |point: &&Point| point.p99.is_some() && !point.fell_behind;
    let high = curve.points.iter().rfind(known)?;
    let away = |point: &Point| (point.share - HALF).abs();
    let lower = curve.points.iter().filter(known);
    let low = lower
        .filter(|point| point.share < high.share)
        .min_by(|a, b| away(a).total_cmp(&away(b)))?;
    let share = |point: &Point| percent(point.share);
    let slow = |point: &Point| point.p99.map_or(0.0, |figure| figure.value);
    let ns = |point: &Point| about(Unit::Nanoseconds, slow(point));
    Some(say!(
        lang,
        "at {near} of the most it can do, 1 of 100 {kind} takes {slow} or longer, at {half} {fast}",
        "最大の {near} の負荷では{kind} 100 回に 1 回が {slow} 以上かかり、{half} の負荷では {fast} です",
        near = share(high),
        half = share(low),
        slow = ns(high),
        fast = ns(low)
    ))
}

/// A load that was not held.
fn fell_behind(point: &Point, quantity: &str, lang: Lang) -> Option<String> {
    let rate = |x| number::of(Unit::OpsPerSecond, quantity, x);
    Some(say!(
        lang,
        "at {share} {offered} arrived and only {done} were done: the queue grew to the end of each round, and these \
         latencies say how long a round is",
        "{share} の負荷では毎秒 {offered} が到着し、完了は {done} のみです。待ち行列はラウンドの終わりまで伸び続け、\
         このレイテンシーはラウンドの長さで決まります",
        share = percent(point.share),
        offered = rate(point.offered),
        done = rate(point.done?)
    ))
}

fn table(curve: &Curve, intervals: bool, lang: Lang) -> Table {
    let rates = number::scale(Unit::OpsPerSecond, &curve.of.quantity, curve.most);
    let right = |head: &str| (head.to_owned(), Align::Right);
    let interval = lang.pick("95 % interval", "95 % 信頼区間");
    let mut columns = vec![
        right(lang.pick("load", "負荷率")),
        right(&say!(
            lang,
            "offered {unit}",
            "到着 {unit}",
            unit = rates.unit
        )),
        right(lang.pick("done", "完了")),
        right("p50"),
    ];
    columns.extend(intervals.then(|| right(interval)));
    columns.push(right("p99"));
    columns.extend(intervals.then(|| right(interval)));
    columns.push(right("p99.9"));
    let mut table = Table::new(columns);
    for point in &curve.points {
        let done = point
            .done
            .map_or_else(|| NONE.to_owned(), |done| rates.value(done));
        let sign = if point.fell_behind { "!" } else { "" };
        let mut cells: Vec<Cell> = vec![
            percent(point.share).into(),
            rates.value(point.offered).into(),
            format!("{done}{sign}").into(),
        ];
        for figure in [point.p50, point.p99] {
            let (value, range) = latency(figure);
            cells.push(value.into());
            cells.extend(intervals.then(|| range.into()));
        }
        let rare = point.p999.map(|ns| number::alone(Unit::Nanoseconds, ns));
        cells.push(rare.unwrap_or_else(|| NONE.to_owned()).into());
        table.rows.push(cells);
    }
    table
}

/// A latency with its unit, and its interval in the same one.
fn latency(figure: Option<Figure>) -> (String, String) {
    let Some(Figure { value, interval }) = figure else {
        return (NONE.to_owned(), NONE.to_owned());
    };
    let scale = number::scale(Unit::Nanoseconds, "", value);
    let n = 0;
    let (value, ends) = scale.estimate(&Estimate { value, interval, n });
    (
        format!("{value} {}", scale.unit),
        number::range(ends.as_ref()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{self, Quantity, add_case, add_round, six_around};
    use crate::view::view;
    use model::record::{Outcome, Run};
    use model::spec::{Better, How, Stat};

    const IOPS: Quantity = Quantity("iops", Unit::OpsPerSecond, Better::Higher);
    const ARRIVING: Quantity = Quantity("arriving_iops", Unit::OpsPerSecond, Better::Higher);

    /// A disk of 12,000 IOPS with the median and the slow hundredth of some loads, in microseconds, and what it did of
    /// what arrived.
    fn run(loads: &[(u32, f64, f64, f64)]) -> Run {
        let mut run = testkit::empty();
        let time = |name| Quantity(name, Unit::Nanoseconds, Better::Lower);
        let most = add_case(&mut run, "storage.randread-4k-qd32", 1, "off", &[IOPS]);
        for (pass, rate) in (1..).zip(six_around(12_000.0)) {
            add_round(&mut run, &most, pass, Ok(&[("iops", rate)]));
        }
        for &(load, p50, p99, done) in loads {
            let quantities = [IOPS, time("lat_ns_p50"), time("lat_ns_p99"), ARRIVING];
            let test = format!("storage.randread-4k-load{load}");
            let id = add_case(&mut run, &test, 1, "off", &quantities);
            let case = run.plan.cases.last_mut().unwrap();
            case.needs = "storage.randread-4k-qd32@1:iops".to_owned().try_into().ok();
            for (place, q) in [(1, 0.5), (2, 0.99)] {
                case.metrics[place].how = How::Of("lat".to_owned(), Stat::Quantile(q));
            }
            case.metrics[3].how = How::Setting;
            let offered = f64::from(load) * 120.0;
            for (pass, share) in (1..).zip(six_around(1.0)) {
                let values = [
                    ("iops", offered * done * share),
                    ("lat_ns_p50", p50 * 1e3 * share),
                    ("lat_ns_p99", p99 * 1e3 * share),
                    ("arriving_iops", offered),
                ];
                add_round(&mut run, &id, pass, Ok(&values));
                let Some(Outcome::Done(done)) =
                    run.rounds.last_mut().map(|round| &mut round.outcome)
                else {
                    panic!()
                };
                let list = vec![(90_000, 4980), (model::num::round_to_u64(p99 * 3e3), 20)];
                done.latencies = [("lat".to_owned(), list)].into();
                done.copies[0].reported = [("reads".to_owned(), 5000.0)].into();
            }
        }
        run
    }

    /// As the profile has them, and the last one not held.
    const CURVE: [(u32, f64, f64, f64); 4] = [
        (50, 130.0, 310.0, 1.0),
        (25, 110.0, 190.0, 1.0),
        (75, 180.0, 940.0, 1.0),
        (90, 420.0, 4_130.0, 1.0),
    ];

    fn shown(run: &Run, width: usize, lang: Lang) -> String {
        testkit::section(&blocks(&view(run), lang), width)
    }

    #[test]
    fn the_curve_of_latency_over_offered_load_in_both_languages() {
        let run = run(&CURVE);
        insta::assert_snapshot!("offered_en", shown(&run, 100, Lang::En));
        insta::assert_snapshot!("offered_ja", shown(&run, 100, Lang::Ja));
    }

    #[test]
    fn one_sentence_tells_what_it_costs_to_come_near_the_most() {
        let text = shown(&run(&CURVE), 200, Lang::En);
        let expect =
            "at 90 % of the most it can do, 1 of 100 reads takes 4.1 ms or longer, at 50 % 310 us";
        assert!(text.contains(expect), "{text}");
    }

    #[test]
    fn a_load_that_was_not_held_is_marked_and_is_not_the_one_that_is_told() {
        let mut loads = CURVE;
        loads[3].3 = 0.9;
        let text = shown(&run(&loads), 200, Lang::En);
        assert!(text.contains("at 75 % of the most it can do"), "{text}");
        let behind = "at 90 % 10.8 kIOPS arrived and only 9.72 kIOPS were done";
        assert!(text.contains(behind) && text.contains("9.72!"), "{text}");
    }

    #[test]
    fn the_chart_has_a_line_for_each_quantile_and_one_point_makes_none() {
        let chart = |loads: &[_]| {
            let run = run(loads);
            let all = blocks(&view(&run), Lang::En);
            let Block::Section(_, parts) = all.into_iter().next().unwrap() else {
                panic!()
            };
            parts.into_iter().find_map(|block| match block {
                Block::Chart(chart) => Some(chart),
                _ => None,
            })
        };
        assert!(chart(&CURVE[..1]).is_none());
        let found = chart(&CURVE).unwrap();
        assert!(found.finding.starts_with("at 90 %"), "{}", found.finding);
        let crate::page::chart::Figure::Plot(plot) = found.drawing else {
            panic!()
        };
        let names: Vec<&str> = plot.series.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["p50", "p99", "p99.9"]);
        assert!(plot.series.iter().all(|one| one.points.len() == 4));
        assert!(plot.y.log && plot.y.low < 110e3 && plot.y.high > 4e6);
        assert_eq!(found.table.rows.len(), 4);
    }

    #[test]
    fn a_run_without_loads_has_no_such_part() {
        assert_eq!(shown(&testkit::normal(), 100, Lang::En), "");
    }
}
