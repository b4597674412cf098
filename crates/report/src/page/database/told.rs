//! The headline of a database in words: on which product, by how many connections, in which unit. A rate that is known
//! in advance, because the transactions arrive by themselves, is no result: there the latency is.

use super::server::product;
use super::{EVENT_P99, TPS};
use crate::lang::{Lang, say};
use crate::number::{self, Scale};
use crate::page::first;
use crate::view::RunView;
use model::estimate::MetricSummary;
use model::num::approx;
use model::plan::PlannedCase;
use model::units::Unit;
use stats::Headlined;
use stats::offered::is_behind_chance;
use stats::quantile::median;
use stats::scaling::EVENT_MEAN;

/// The highest rate that kept a limit, and what the same connections do without a rate.
const HELD: &str = "held_tps";
const CLOSED: &str = "closed_tps";

/// What the first page says of a headline: of what, what came out, and what stands beside it where there is room.
pub(in crate::page) struct Told {
    /// `PostgreSQL`; empty where nothing tells.
    product: String,
    /// `OLTP`; empty where the product and the figure say all.
    pub(in crate::page) what: String,
    /// `8 connections`, and the rate that was ordered.
    pub(in crate::page) by: String,
    /// `184 transactions/s +-2 %`.
    pub(in crate::page) figure: String,
    /// `, mean 0.81 ms`.
    pub(in crate::page) beside: String,
}

impl Told {
    /// `PostgreSQL OLTP`.
    pub(in crate::page) fn name(&self) -> String {
        format!("{} {}", self.product, self.what).trim().to_owned()
    }
}

/// The headline in words; `None` for what counts no transactions, and for what has no figure.
pub(in crate::page) fn told(view: &RunView<'_>, one: &Headlined, lang: Lang) -> Option<Told> {
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
    let what = rest.to_owned();
    match one.metric.quantity.as_str() {
        TPS => match case.params.ordered_rate() {
            Some(rate) => {
                of_arrivals(view, case, rate, lang).map(|(by_rate, figure, beside)| Told {
                    product,
                    what,
                    by: format!("{by}{by_rate}"),
                    figure,
                    beside,
                })
            }
            None => Some(Told {
                product,
                what,
                by,
                figure: transactions(view.metric(&case.id, TPS)?, lang)?,
                beside: time_beside(view, case, EVENT_MEAN, lang.pick("mean", "平均")),
            }),
        },
        HELD => {
            let (figure, beside) = of_search(view, case, lang)?;
            Some(Told {
                what: if product.is_empty() {
                    what
                } else {
                    String::new()
                },
                product,
                by,
                figure,
                beside,
            })
        }
        _ => None,
    }
}

/// The rate that was ordered, the latency, and what stands beside it.
fn of_arrivals(
    view: &RunView<'_>,
    case: &PlannedCase,
    rate: u64,
    lang: Lang,
) -> Option<(String, String, String)> {
    let mean = view.metric(&case.id, EVENT_MEAN)?;
    let grew = if fell_behind(view.metric(&case.id, TPS)?, case, rate) {
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

/// Whether fewer transactions were done than arrived, by more than chance.
fn fell_behind(done: &MetricSummary, case: &PlannedCase, rate: u64) -> bool {
    let seconds = case.shape.measure.as_secs_f64();
    median(&done.rounds).is_some_and(|done| is_behind_chance(done, approx(rate), seconds))
}

/// `, p99 12 ms`; nothing where that is not known.
fn time_beside(view: &RunView<'_>, case: &PlannedCase, quantity: &str, word: &str) -> String {
    let metric = view.metric(&case.id, quantity);
    let Some(estimate) = metric.and_then(|metric| metric.estimate) else {
        return String::new();
    };
    let scale = number::scale(Unit::Nanoseconds, quantity, estimate.value);
    format!(", {word} {} {}", scale.estimate(&estimate).0, scale.unit)
}

/// `184 transactions/s +-2 %`, or its two levels, or between which ends they are.
fn transactions(metric: &MetricSummary, lang: Lang) -> Option<String> {
    let unit = lang.pick("transactions/s", "トランザクション/秒");
    first::figure_in(metric, Scale::settled(1.0, ""), unit, lang)
}

/// What a search for the highest rate found, and what the same connections do without one.
fn of_search(view: &RunView<'_>, case: &PlannedCase, lang: Lang) -> Option<(String, String)> {
    let held = view.metric(&case.id, HELD)?;
    let (percentile, time) = case.params.limit()?;
    let (number, unit) = time.split_at(time.find(|c: char| c.is_ascii_alphabetic())?);
    let time = format!("{number} {unit}");
    let closed = view
        .metric(&case.id, CLOSED)
        .and_then(|metric| median(&metric.rounds));
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
