//! Databases as sysbench's users write them down: for each test a line for each number of connections, with
//! transactions a second, the mean time, its standard deviation, and percentiles; of two runs the same side by side.
//!
//! The first page says in words what was measured: on which product, by how many connections, in which unit. A rate
//! that is known in advance, because the transactions arrive by themselves, is no result: there the latency is.

use super::block::{Align, Block, Cell, Table};
use super::comparison::verdict;
use super::{first, host, scaling};
use crate::comparison::{Compared, both_have_level};
use crate::lang::{Lang, say};
use crate::number::{self, NO_LEVEL_MARK, NONE, Scale};
use crate::view::RunView;
use dialects::printable::quoted;
use model::comparison::MetricComparison;
use model::estimate::MetricSummary;
use model::num::approx;
use model::plan::{CaseId, Plan, PlannedCase};
use model::record::Run;
use model::spec::Nature;
use model::units::Unit;
use stats::Headlined;
use stats::quantile::median;
use stats::scaling::{EVENT_MEAN, EVENT_P95};

/// What one asks a database for first: committed transactions a second.
const TPS: &str = "tps";

/// The highest rate that kept a limit, and what the same connections do without a rate.
const HELD: &str = "held_tps";
const CLOSED: &str = "closed_tps";

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
        let forms = [true, false].map(|wide| vec![Block::Table(table(view, cases, wide, lang))]);
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
    let heading = lang.pick("database: by connections", "データベース: 接続数ごと");
    vec![Block::section(heading, parts)]
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
            "; ~: no single number describes the rounds",
            "。~ の付いた値は、ラウンドを一つの数値では表せないものです",
        ));
    }
    said
}

/// The table of a test. Its times have one unit, which stands above the mean.
fn table(view: &RunView<'_>, cases: &[&PlannedCase], wide: bool, lang: Lang) -> Table {
    let find = |case: &CaseId, quantity: &str| find(view, case, quantity);
    let largest = cases.iter().filter_map(|case| find(&case.id, EVENT_MEAN));
    let largest = largest.filter_map(|metric| median(&metric.rounds));
    let times = number::scale(Unit::Nanoseconds, EVENT_MEAN, largest.fold(0.0, f64::max));
    let plain = Scale::settled(1.0, "");
    let column = |head: String, cell: &dyn Fn(&PlannedCase) -> String| {
        let cells: Vec<String> = cases.iter().map(|case| cell(case)).collect();
        (head, cells)
    };
    let figure = |quantity: &'static str| {
        let times = &times;
        move |case: &PlannedCase| {
            let metric = find(&case.id, quantity);
            metric.map_or_else(|| NONE.to_owned(), |metric| value(metric, times))
        }
    };
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
    let of_mean = if wide {
        let head = lang.pick("95 % interval", "95 % 信頼区間").to_owned();
        column(head, &interval)
    } else {
        column("+-".to_owned(), &|case| half(find(&case.id, EVENT_MEAN)))
    };
    let mut all = vec![
        column(connections(lang), &|case| case.id.copies.to_string()),
        column(TPS.to_owned(), &|case| {
            let metric = find(&case.id, TPS);
            metric.map_or_else(|| NONE.to_owned(), |metric| value(metric, &plain))
        }),
        column("+-".to_owned(), &|case| half(find(&case.id, TPS))),
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
    lang.pick("threads", "接続数").to_owned()
}

/// The figure with the digits of its interval; the median of the rounds where it has none, with a mark where no single
/// number describes them.
fn value(metric: &MetricSummary, scale: &Scale) -> String {
    if let Some(estimate) = &metric.estimate {
        return scale.estimate(estimate).0;
    }
    let median = median(&metric.rounds);
    median.map_or_else(
        || NONE.to_owned(),
        |median| format!("{NO_LEVEL_MARK}{}", scale.value(median)),
    )
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
    let heading = lang.pick("database: by connections", "データベース: 接続数ごと");
    Block::section(heading, parts)
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
                        let value = if side {
                            one.values.base
                        } else {
                            one.values.other
                        };
                        let mark = if both_have_level(one) {
                            ""
                        } else {
                            NO_LEVEL_MARK
                        };
                        let value = value.map_or_else(|| NONE.to_owned(), |x| scale.value(x));
                        format!("{mark}{value}").into()
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

/// What the first page says of a headline: of what, what came out, and what stands beside it where there is room.
pub(super) struct Told {
    /// `PostgreSQL OLTP`, without the product where that is asked for.
    pub(super) name: String,
    /// `8 connections`, and the rate that was ordered.
    pub(super) by: String,
    /// `184 transactions/s +-2 %`.
    pub(super) figure: String,
    /// `, mean 0.81 ms`.
    pub(super) beside: String,
}

/// The headline in words; `None` for what counts no transactions, and for what has no figure.
pub(super) fn told(view: &RunView<'_>, one: &Headlined, lang: Lang) -> Option<Told> {
    let case = view.planned(&one.metric.case)?;
    let copies = case.id.copies;
    let by = lang.pick(
        number::counted(copies, "connection", "connections"),
        format!("{copies} 接続"),
    );
    let [en, ja] = &one.words;
    let word = lang.pick(en, ja);
    // A test that declares no headline has its name there.
    let (first, rest) = if *word == case.id.test {
        ("", word.as_str())
    } else {
        word.split_once(' ').unwrap_or((word, ""))
    };
    let product = product(view.run).unwrap_or_else(|| first.to_owned());
    let name = format!("{product} {rest}").trim().to_owned();
    match one.metric.quantity.as_str() {
        TPS => match case.params.ordered_rate() {
            Some(rate) => {
                of_arrivals(view, case, rate, lang).map(|(by_rate, figure, beside)| Told {
                    name,
                    by: format!("{by}{by_rate}"),
                    figure,
                    beside,
                })
            }
            None => Some(Told {
                name,
                by,
                figure: transactions(find(view, &case.id, TPS)?, lang)?,
                beside: time_beside(view, case, EVENT_MEAN, lang.pick("mean", "平均")),
            }),
        },
        HELD => {
            let (figure, beside) = of_search(view, case, lang)?;
            Some(Told {
                name: if product.is_empty() { name } else { product },
                by,
                figure,
                beside,
            })
        }
        _ => None,
    }
}

/// What the server calls itself: where one address speaks to two products, it is the server that knows.
fn product(run: &Run) -> Option<String> {
    let version = run.plan.servers().find_map(host::version)?;
    version.split(' ').next().map(str::to_owned)
}

/// Product and version of the server of a run, in two words: `MariaDB 10.11.14`.
pub(super) fn server(run: &Run) -> Option<String> {
    let version = run.plan.servers().find_map(host::version)?;
    let mut words = version.split(' ');
    let (product, version) = (words.next()?, words.next().unwrap_or_default());
    let version = version.split(['-', ',']).next().unwrap_or_default();
    Some(format!("{product} {version}").trim_end().to_owned())
}

/// What a run's database is: the server, or what is inside of this program.
pub(super) fn engine(run: &Run) -> Option<String> {
    let mut cases = run.plan.cases.iter();
    let within = || {
        let case = cases.find(|case| case.nature == Nature::Database)?;
        case.implementation.clone()
    };
    server(run).or_else(within)
}

/// Whether one side is a server and the other one SQLite, so that what they set for themselves differs by nature. What
/// was imported names no server and is none of SQLite's.
pub(super) fn is_against_server(base: &Run, other: &Run) -> bool {
    if [base, other].iter().any(|run| run.meta.origin.is_some()) {
        return false;
    }
    let has_server = |run: &Run| run.plan.servers().next().is_some();
    let is_database = |run: &Run| {
        let mut cases = run.plan.cases.iter();
        cases.any(|case| case.nature == Nature::Database)
    };
    has_server(base) != has_server(other) && is_database(base) && is_database(other)
}

/// That these do not compare in two runs, and what compares them.
pub(super) fn no_comparison(base: &Run, other: &Run, test: &str, lang: Lang) -> String {
    let side = |run: &Run| {
        let server = run.plan.servers().next();
        server.map_or_else(
            || format!("dir={}", quoted(&run.meta.dir)),
            |server| format!("db={}", quoted(&server.path)),
        )
    };
    let (a, b) = (side(base), side(other));
    say!(
        lang,
        "SQLite inside of kurabe and a server set different things, and two runs of them do not compare; a duel \
         does: `kurabe duel {test} --a {a} --b {b}`",
        "kurabe 内蔵の SQLite とサーバーは設定項目が異なるため、2 つの測定としては比較できません。デュエルなら比較\
         できます: `kurabe duel {test} --a {a} --b {b}`"
    )
}

/// The rate that was ordered, the latency, and what stands beside it.
fn of_arrivals(
    view: &RunView<'_>,
    case: &PlannedCase,
    rate: u64,
    lang: Lang,
) -> Option<(String, String, String)> {
    let mean = find(view, &case.id, EVENT_MEAN)?;
    let grew = if fell_behind(find(view, &case.id, TPS)?, case, rate) {
        lang.pick(
            ", the queue grew until the end",
            "、待ち行列は最後まで伸び続けた",
        )
    } else {
        ""
    };
    let by = say!(
        lang,
        ", {rate}/s ordered{grew}",
        "、毎秒 {rate} 件を指定{grew}"
    );
    let word = lang.pick("mean", "平均");
    let figure = format!("{word} {}", first::figure(view, mean, lang)?);
    Some((by, figure, time_beside(view, case, EVENT_P99, "p99")))
}

/// The share of what arrived that is done where the queue does not grow.
const DONE_MIN: f64 = 0.95;

/// Arrivals scatter by the root of their number; nothing is made of less than so many times that.
const DEVIATIONS: f64 = 3.0;

/// Whether fewer transactions were done than arrived, by more than chance.
fn fell_behind(done: &MetricSummary, case: &PlannedCase, rate: u64) -> bool {
    let Some(done) = median(&done.rounds) else {
        return false;
    };
    let rate = approx(rate);
    let arrived = rate * case.shape.measure.as_secs_f64();
    let missed = arrived * (1.0 - done / rate);
    done < DONE_MIN * rate && missed > DEVIATIONS * arrived.sqrt()
}

/// `, p99 12 ms`; nothing where that is not known.
fn time_beside(view: &RunView<'_>, case: &PlannedCase, quantity: &str, word: &str) -> String {
    let metric = find(view, &case.id, quantity);
    let Some(estimate) = metric.and_then(|metric| metric.estimate) else {
        return String::new();
    };
    let scale = number::scale(Unit::Nanoseconds, quantity, estimate.value);
    format!(", {word} {} {}", scale.estimate(&estimate).0, scale.unit)
}

/// `184 transactions/s +-2 %`, or between which ends they are.
fn transactions(metric: &MetricSummary, lang: Lang) -> Option<String> {
    let plain = Scale::settled(1.0, "");
    let unit = lang.pick("transactions/s", "トランザクション/秒");
    if let Some(estimate) = &metric.estimate {
        let (value, within) = (plain.estimate(estimate).0, first::within(estimate));
        return Some(format!("{value} {unit}{within}"));
    }
    let end = |pick: fn(f64, f64) -> f64| metric.rounds.iter().copied().reduce(pick);
    let [lo, hi] = [end(f64::min)?, end(f64::max)?].map(|end| plain.value(end));
    Some(say!(
        lang,
        "unstable, {lo} .. {hi} {unit}",
        "不安定 {lo} .. {hi} {unit}"
    ))
}

/// What a search for the highest rate found, and what the same connections do without one.
fn of_search(view: &RunView<'_>, case: &PlannedCase, lang: Lang) -> Option<(String, String)> {
    let held = find(view, &case.id, HELD)?;
    let (percentile, time) = case.params.limit()?;
    let (number, unit) = time.split_at(time.find(|c: char| c.is_ascii_alphabetic())?);
    let time = format!("{number} {unit}");
    let closed = find(view, &case.id, CLOSED).and_then(|metric| median(&metric.rounds));
    let closed = closed.map(|rate| Scale::settled(1.0, "").value(rate));
    let beside = closed.as_ref().map_or_else(String::new, |rate| {
        say!(lang, " (without a rate {rate})", "（指定なしでは {rate}）")
    });
    if let Some(rate) = transactions(held, lang) {
        let figure = say!(
            lang,
            "{rate} keep {percentile} below {time}",
            "{rate} まで {percentile} が {time} 未満"
        );
        return Some((figure, beside));
    }
    // Where the closed loop ran and no rate held, that is what was found.
    closed.map(|_| {
        let figure = say!(
            lang,
            "no rate keeps {percentile} below {time}",
            "どの速度でも {percentile} は {time} 未満になりません"
        );
        (figure, beside)
    })
}

fn find<'a>(view: &'a RunView<'_>, case: &CaseId, quantity: &str) -> Option<&'a MetricSummary> {
    let mut metrics = view.metrics_of(case);
    metrics.find(|metric| metric.id.quantity == quantity)
}

#[cfg(test)]
mod tests;
