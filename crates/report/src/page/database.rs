//! Databases as sysbench's users write them down: for each test a line for each number of connections, with
//! transactions a second, the mean time, its standard deviation, and percentiles; of two runs the same side by side.

mod server;
mod told;

pub(super) use server::{engine, is_against_server, no_comparison};
pub(super) use told::told;

use super::block::{Align, Block, Cell, Table};
use super::comparison::{value_of_side, verdict};
use super::{first, scaling};
use crate::comparison::Compared;
use crate::lang::Lang;
use crate::number::{self, NONE, Scale};
use crate::view::{RunView, value_in};
use model::comparison::MetricComparison;
use model::estimate::MetricSummary;
use model::plan::{CaseId, Plan, PlannedCase};
use model::spec::Nature;
use model::units::Unit;
use stats::quantile::median;
use stats::scaling::{EVENT_MEAN, EVENT_P95};

/// What one asks a database for first: committed transactions a second.
const TPS: &str = "tps";

const QPS: &str = "qps";

const DEVIATION: &str = "lat_ns_stddev";
const EVENT_P99: &str = "lat_ns_p99";
const RETRIES: &str = "retries_per_transaction";

/// The most columns of a side's name above its figures.
const SIDE: usize = 10;

/// The tests with a table, each with its cases: those of databases that were measured with several connections, and
/// that tell what a transaction takes.
fn tests(plan: &Plan) -> Vec<Vec<&PlannedCase>> {
    let has_times = |case: &&PlannedCase| {
        let is_rate = case.metrics.first().is_some_and(|one| one.quantity == TPS);
        let mut metrics = case.metrics.iter();
        is_rate && case.nature == Nature::Database && metrics.any(|one| one.quantity == EVENT_MEAN)
    };
    let mut found: Vec<Vec<&PlannedCase>> = Vec::new();
    for case in plan.cases.iter().filter(has_times) {
        match found.iter_mut().find(|of| of[0].id.test == case.id.test) {
            Some(of) => of.push(case),
            None => found.push(vec![case]),
        }
    }
    found.retain(|cases| cases.len() > 1);
    found
}

/// Whether the page has a table of this test, in which its concurrencies stand side by side already.
pub(super) fn has_table(view: &RunView<'_>, test: &str) -> bool {
    let all = tests(&view.run.plan);
    view.run.meta.origin.is_none() && all.iter().any(|cases| cases[0].id.test == test)
}

/// The tables of a run; nothing of what another program measured, whose page has its own words.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    if view.soak.is_some() || view.run.meta.origin.is_some() {
        return Vec::new();
    }
    let all = tests(&view.run.plan);
    let mut parts: Vec<Block> = Vec::new();
    for cases in &all {
        let test = &cases[0].id.test;
        let forms = [Form::Wide, Form::Narrow, Form::Narrowest]
            .map(|form| vec![Block::Table(table(view, cases, form, lang))]);
        let scaling = view.scaling.iter().find(|one| one.test == *test);
        let said = scaling.map_or_else(Vec::new, |one| scaling::in_short(one, lang));
        parts.push(Block::Section(
            None,
            vec![
                Block::Name(test.clone()),
                Block::Fitting(forms.to_vec()),
                Block::bullets(said),
            ],
        ));
    }
    if !parts.is_empty() {
        parts.push(Block::Line(legend(view, &all, lang)));
    }
    vec![Block::section(heading(lang), parts)]
}

/// What the figures of these tables are.
fn legend(view: &RunView<'_>, all: &[Vec<&PlannedCase>], lang: Lang) -> String {
    let mut said = lang
        .pick(
            "medians of the rounds; +-: half of the 95 % interval; mean, deviation, percentiles: of a transaction's time",
            "各ラウンドの中央値。+- は 95 % 信頼区間の半分。平均・標準偏差・パーセンタイルは 1 トランザクションの時間",
        )
        .to_owned();
    let torn = |case: &&PlannedCase| {
        let mut metrics = view.metrics_of(&case.id);
        metrics.any(|one| one.estimate.is_none() && !one.rounds.is_empty())
    };
    if all.iter().flatten().any(torn) {
        said.push_str(lang.pick(
            "; ~: their mean, where no single number describes them",
            "。~ の付いた値は、ラウンドを一つの数値では表せないため平均です",
        ));
    }
    said
}

/// How much of a run's table there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The mean's interval by its ends.
    Wide,
    /// As half of its width.
    Narrow,
    /// And without the rate of statements, which is the rate of transactions times their number in one.
    Narrowest,
}

/// The table of a test. Its times have one unit, which stands above the mean.
fn table(view: &RunView<'_>, cases: &[&PlannedCase], form: Form, lang: Lang) -> Table {
    let find = |case: &CaseId, quantity: &str| view.metric(case, quantity);
    let largest = cases.iter().filter_map(|case| find(&case.id, EVENT_MEAN));
    let largest = largest.filter_map(|metric| median(&metric.rounds));
    let times = number::scale(Unit::Nanoseconds, EVENT_MEAN, largest.fold(0.0, f64::max));
    let plain = Scale::settled(1.0, "");
    let column = |head: String, cell: &dyn Fn(&PlannedCase) -> String| {
        let cells: Vec<String> = cases.iter().map(|case| cell(case)).collect();
        (head, cells)
    };
    let in_scale = |quantity: &'static str, scale: &Scale| {
        let scale = scale.clone();
        move |case: &PlannedCase| {
            let metric = find(&case.id, quantity);
            metric.map_or_else(|| NONE.to_owned(), |metric| value_in(metric, &scale))
        }
    };
    let figure = |quantity| in_scale(quantity, &times);
    let rate = |quantity| in_scale(quantity, &plain);
    let half = |metric: Option<&MetricSummary>| {
        let estimate = metric.and_then(|metric| metric.estimate.as_ref());
        estimate
            .and_then(first::half)
            .unwrap_or_else(|| NONE.to_owned())
    };
    let mean = lang.pick("mean", "平均");
    let interval = |case: &PlannedCase| {
        let estimate = find(&case.id, EVENT_MEAN).and_then(|metric| metric.estimate);
        let ends = estimate.and_then(|estimate| times.estimate(&estimate).1);
        number::range(ends.as_ref())
    };
    let of_mean = if form == Form::Wide {
        let head = lang.pick("95 % interval", "95 % 信頼区間").to_owned();
        column(head, &interval)
    } else {
        column("+-".to_owned(), &|case| half(find(&case.id, EVENT_MEAN)))
    };
    let mut all = vec![
        column(connections(lang), &|case| case.id.copies.to_string()),
        column(TPS.to_owned(), &rate(TPS)),
        column("+-".to_owned(), &|case| half(find(&case.id, TPS))),
        column(QPS.to_owned(), &rate(QPS)),
        column(format!("{mean} {}", times.unit), &figure(EVENT_MEAN)),
        of_mean,
        column(
            lang.pick("std dev", "標準偏差").to_owned(),
            &figure(DEVIATION),
        ),
        column("p95".to_owned(), &figure(EVENT_P95)),
        column("p99".to_owned(), &figure(EVENT_P99)),
        column(lang.pick("retries", "再試行").to_owned(), &|case| {
            let share = find(&case.id, RETRIES).and_then(|metric| median(&metric.rounds));
            let share = share.filter(|share| *share > 0.0);
            share.map_or_else(|| NONE.to_owned(), number::percent)
        }),
    ];
    if form == Form::Narrowest {
        all.retain(|(head, _)| head != QPS);
    }
    // Columns in which nothing stands are left out.
    all.retain(|(_, cells)| cells.iter().any(|cell| cell != NONE));
    let row = |i: usize| {
        all.iter()
            .map(move |(_, cells)| Cell::from(cells[i].clone()))
    };
    Table {
        rows: (0..cases.len()).map(|i| row(i).collect()).collect(),
        ..Table::new(all.iter().map(|(head, _)| (head.as_str(), Align::Right)))
    }
}

fn connections(lang: Lang) -> String {
    lang.pick("clients", "接続数").to_owned()
}

fn heading(lang: Lang) -> &'static str {
    lang.pick("database: by connections", "データベース: 接続数ごと")
}

/// The same table of two sides: figures of either with the verdict, for the rate and for the mean time.
pub(super) fn compared(of: Compared<'_>) -> Block {
    let lang = of.lang;
    let mut parts: Vec<Block> = Vec::new();
    for cases in tests(&of.sides.base.first().plan) {
        let test = cases[0].id.test.clone();
        let of_test: Vec<&MetricComparison> = of
            .comparison
            .metrics
            .iter()
            .filter(|metric| metric.id.case.test == test && metric.ratio.is_some())
            .collect();
        let forms = [true, false].map(|wide| both(of, &cases, &of_test, wide));
        if forms[0].rows.is_empty() {
            continue;
        }
        let forms = forms.map(|table| vec![Block::Table(table)]).to_vec();
        parts.push(Block::Section(
            None,
            vec![Block::Name(test), Block::Fitting(forms)],
        ));
    }
    Block::section(heading(lang), parts)
}

/// The table of a test of both sides; with the standard deviations where there is room.
fn both(
    of: Compared<'_>,
    cases: &[&PlannedCase],
    metrics: &[&MetricComparison],
    wide: bool,
) -> Table {
    let lang = of.lang;
    let at = |case: &CaseId, quantity: &str| {
        let mut metrics = metrics.iter();
        metrics.find(|one| one.id.case == *case && one.id.quantity == quantity)
    };
    let rows: Vec<&&PlannedCase> = cases
        .iter()
        .filter(|case| at(&case.id, EVENT_MEAN).is_some() || at(&case.id, TPS).is_some())
        .collect();
    let largest = metrics.iter().filter(|one| one.id.quantity == EVENT_MEAN);
    let largest = largest.flat_map(|one| [one.values.base, one.values.other]);
    let largest = largest.flatten().fold(0.0, f64::max);
    let times = number::scale(Unit::Nanoseconds, EVENT_MEAN, largest);
    let plain = Scale::settled(1.0, "");
    let [base, other] = of
        .sides
        .names(lang)
        .map(|name| super::fit::cut(&name, SIDE));
    let mean = lang.pick("mean", "平均");
    let deviation = lang.pick("std dev", "標準偏差");
    let judged = lang.pick("verdict", "判定");
    let mut heads = vec![(connections(lang), Align::Right)];
    let mut quantities = vec![
        (TPS, TPS.to_owned(), &plain, true),
        (EVENT_MEAN, format!("{mean} {}", times.unit), &times, true),
    ];
    if wide {
        quantities.push((DEVIATION, deviation.to_owned(), &times, false));
    }
    for (_, word, _, has_verdict) in &quantities {
        heads.push((format!("{word} {base}"), Align::Right));
        heads.push((other.clone(), Align::Right));
        if *has_verdict {
            heads.push((judged.to_owned(), Align::Left));
        }
    }
    let row = |case: &&&PlannedCase| {
        let mut cells: Vec<Cell> = vec![case.id.copies.to_string().into()];
        for (quantity, _, scale, has_verdict) in &quantities {
            let found = at(&case.id, quantity);
            for side in [true, false] {
                cells.push(found.map_or_else(
                    || NONE.into(),
                    |one| {
                        let (value, states) = if side {
                            (one.values.base, &one.states.base)
                        } else {
                            (one.values.other, &one.states.other)
                        };
                        let value = value.map(|value| value_of_side(value, states, scale));
                        value.unwrap_or_else(|| NONE.to_owned()).into()
                    },
                ));
            }
            if *has_verdict {
                cells.push(found.map_or(NONE, |one| verdict(one.adjusted, lang)).into());
            }
        }
        cells
    };
    Table {
        rows: rows.iter().map(row).collect(),
        ..Table::new(heads)
    }
}

#[cfg(test)]
mod tests;
