//! Files that are published: their size, and what is in them.

use super::*;
use crate::comparison;
use crate::page::soak;
use crate::testkit;
use model::record::{Outcome, Run};
use stats::CompareOptions;

fn alone(run: &Run) -> Published<'_> {
    Published::new(None, &[run], None, &[])
}

fn compared(runs: &[Run]) -> Published<'_> {
    let others: Vec<&Run> = runs[1..].iter().collect();
    let options = CompareOptions::default();
    let compared = comparison::view(&runs[0], &others, &options);
    Published::new(Some(compared), &runs.iter().collect::<Vec<_>>(), None, &[])
}

/// Runs of one plan, each with an id and a label of its own.
fn several(n: usize) -> Vec<Run> {
    let one = |place: usize| {
        let mut run = testkit::unixbench("off", 100.0 + model::num::count(place));
        run.meta.id = format!("20261121-004311-{place:04x}");
        run.meta.label = Some(format!("server-{place}"));
        run
    };
    (0..n).map(one).collect()
}

#[test]
fn a_soak_of_a_day_in_windows_of_100_ms_is_small_and_keeps_its_spikes() {
    let mut run = soak::tests::run();
    let most = 123_456.0;
    for (place, round) in run.rounds.iter_mut().enumerate() {
        if let Outcome::Done(done) = &mut round.outcome {
            let windows = done.windows.iter().cycle().take(864_000 / 29);
            done.windows = windows.copied().collect();
            if place == 3 {
                done.windows[777] = most;
            }
        }
    }
    let published = alone(&run);
    let text = published.html(Lang::En).unwrap();
    assert!(text.len() <= BYTES_MAX, "{}", text.len());
    let soak = published.runs[0].soak.as_ref().unwrap();
    let chart = charts::series(&published.runs[0], soak, Lang::En).unwrap();
    let crate::page::chart::Figure::Plot(plot) = &chart.drawing else {
        panic!("{chart:?}");
    };
    let points = &plot.series[0].points;
    assert!(points.len() <= 400);
    let spikes = points
        .iter()
        .filter(|point| point.y_ends.is_some_and(|(_, end)| end >= most));
    assert_eq!(
        spikes.count(),
        1,
        "the highest window is in one piece of time"
    );
    let rows = chart.table.rows.len();
    assert!((2..=24).contains(&rows), "{rows}");
}

#[test]
fn a_soak_of_storage_has_its_latency_over_time() {
    let mut run = soak::tests::run();
    let drawn = |run: &Run| {
        let view = view::view(run);
        let soak = view.soak.as_ref().unwrap();
        charts::latency_over_time(&view, soak, Lang::En)
    };
    assert!(drawn(&run).is_none());
    for (place, round) in (1..).zip(&mut run.rounds) {
        if let Outcome::Done(done) = &mut round.outcome {
            let pairs = vec![(50_000, 900), (1_000_000 * place, 100)];
            done.latencies.insert("clat".to_owned(), pairs);
        }
    }
    let chart = drawn(&run).unwrap();
    assert!(
        chart
            .finding
            .contains("at most 1.0 ms at the best time and 30 ms at the worst, 29 min")
    );
    assert!((2..=24).contains(&chart.table.rows.len()));
}

#[test]
fn twenty_runs_have_room_in_one_file() {
    let runs = several(20);
    let published = compared(&runs);
    let text = published.html(Lang::En).unwrap();
    assert!(text.len() <= BYTES_MAX, "{}", text.len());
    for run in &runs {
        assert!(text.contains(run.meta.label.as_deref().unwrap()));
    }
}

#[test]
fn a_comparison_has_the_machines_side_by_side_and_each_run_in_both_languages() {
    let runs = several(2);
    let document = compared(&runs).document(Lang::Ja, ROOMS[0], false);
    assert_eq!(
        document.title,
        ["server-1 against server-0", "server-1 対 server-0（基準）"]
    );
    let headings = document.parts.each_ref().map(|parts| {
        let all = parts.iter().map(|part| part.heading.as_str());
        all.collect::<Vec<_>>()
    });
    assert_eq!(
        headings[0],
        ["Comparison", "The machines", "server-0", "server-1"]
    );
    assert_eq!(
        headings[1],
        ["比較", "マシンの比較", "server-0", "server-1"]
    );
    assert_eq!(document.raw.len(), 2);
    assert_eq!(document.left_out, ["", ""]);
}

#[test]
fn nothing_has_a_heading_above_it() {
    let mut runs = several(2);
    for run in &mut runs {
        run.host = model::host::HostFacts::default();
    }
    let document = compared(&runs).document(Lang::En, ROOMS[0], false);
    let parts = document.parts[0].iter();
    let headings: Vec<&str> = parts.map(|part| part.heading.as_str()).collect();
    assert_eq!(headings, ["Comparison", "server-0", "server-1"]);
}

#[test]
fn figures_without_room_are_replaced_and_what_is_left_out_is_said() {
    let runs = several(1);
    let published = alone(&runs[0]);
    let check = |room, names: &[&str], left_out: usize| {
        let (raw, left) = published.raw(room);
        let found: Vec<&str> = raw.iter().map(|raw| raw.name.as_str()).collect();
        assert_eq!((found.as_slice(), left.len()), (names, left_out), "{room}");
    };
    let json = compact(&json::run(&published.runs[0])).len();
    check(json, &["20261121-004311-0000.json"], 0);
    check(json - 1, &["20261121-004311-0000.csv"], 0);
    check(10, &[], 1);
    let room = Room {
        raw: 10,
        ..ROOMS[0]
    };
    let document = published.document(Lang::En, room, true);
    assert!(document.left_out[0].contains("Not everything has room here"));
    assert!(document.left_out[0].contains("20261121-004311-0000"));
    assert!(document.left_out[1].contains("20261121-004311-0000"));
}

/// Two offers, the dearer of which is no better.
const CATALOGUE: &str = r#"
base = "JPY"
[[offer]]
id = "small"
provider = "Cloud A"
plan = "small"
price_per_month = 300
currency = "JPY"
tax = "included"
[[offer]]
id = "large"
provider = "Cloud B"
plan = "large"
price_per_month = 900
currency = "JPY"
tax = "included"
"#;

/// Three runs of each offer, hours apart, on a machine of its own.
fn rented() -> Vec<Run> {
    let mut runs = several(6);
    for (place, run) in runs.iter_mut().enumerate() {
        let offer = if place < 3 { "small" } else { "large" };
        run.meta.offer = Some(offer.to_owned());
        run.meta.started.0 += 3_600_000_000_000 * u64::try_from(place % 3).unwrap();
        run.host.identity.machine = model::host::Fact::Known(offer.to_owned());
        let headline = Some(model::headline::Headline::named(
            model::headline::Topic::Cpu,
            "cpu",
        ));
        run.plan.cases[0].headline = headline;
    }
    runs
}

#[test]
fn runs_of_several_offers_have_prices_an_order_and_a_picture_of_both() {
    let runs = rented();
    let runs: Vec<&Run> = runs.iter().collect();
    let catalogue = Catalogue::parse("offers.toml", CATALOGUE).unwrap();
    let published = Published::new(None, &runs, Some(&catalogue), &[]);
    let document = published.document(Lang::En, ROOMS[0], false);
    let headings: Vec<&str> = document.parts[0]
        .iter()
        .map(|part| part.heading.as_str())
        .collect();
    let expect = [
        "All of them in order",
        "Price against performance",
        "The machines",
    ];
    assert_eq!(headings[..3], expect);
    let chart = charts::price(&published.values[0], Lang::En).unwrap();
    let crate::page::chart::Figure::Plot(plot) = &chart.drawing else {
        panic!("{chart:?}");
    };
    let labels: Vec<&str> = plot.series[0]
        .points
        .iter()
        .map(|point| point.label.as_str())
        .collect();
    assert_eq!(labels, ["small", "large"]);
    assert!(plot.x.low.abs() < 1e-9, "prices begin at nothing");
    assert_eq!(chart.table.rows.len(), 2);
    let page = published.html(Lang::En).unwrap();
    assert!(page.contains("a month with tax, JPY"), "the chart is drawn");
    let without = Published::new(None, &runs[..2], None, &[]);
    assert!(without.values.is_empty() && without.ranking.is_none());
}

#[test]
fn the_headline_picture_is_ratios_or_headlines() {
    let runs = several(2);
    let check = |chart: Option<Chart>, expect: &str| assert_eq!(chart.unwrap().title, expect);
    check(
        compared(&runs).headline(Lang::En),
        "server-1 against server-0",
    );
    check(
        alone(&runs[0]).headline(Lang::En),
        "How sure the figures are",
    );
    let empty = testkit::empty();
    assert_eq!(alone(&empty).headline(Lang::En), None);
}
