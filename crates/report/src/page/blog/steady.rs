//! Steadiness: how far the rounds of a test scatter, and where they span hours, at which hour, the evening apart.

use super::{Row, Servers, called, results};
use crate::lang::{Lang, say};
use crate::number::{self, NONE};
use crate::page::block::{Align, Block, Table};
use crate::page::{soak, usual};
use crate::view::RunView;
use model::estimate::MetricSummary;
use model::plan::MetricId;
use model::record::Outcome;
use model::units::{Nanos, Unit, UnixNanos};
use stats::quantile::{mean, median, variance};

const HOUR: u64 = 3_600_000_000_000;

/// From this hour on, to the second behind midnight, people are at home and share what they rent.
const EVENING: [u64; 2] = [18, 2];

/// The most tests that are told hour by hour.
const HOURLY: usize = 3;

pub(super) fn blocks(servers: &Servers<'_>) -> Vec<Block> {
    let lang = servers.lang;
    let heading = lang.pick("Steadiness", "安定性");
    let what = lang.pick("median, coefficient of variation", "中央値、変動係数");
    let rows = rows(servers);
    let is_told = !rows.is_empty() && servers.views.len() > 1;
    let mut blocks = vec![servers.table(what, rows)];
    if is_told {
        blocks.push(Block::Line(what.to_owned()));
    }
    for view in &servers.views {
        let sentence = view.soak.as_ref().map(|soak| soak::sentence(soak, lang));
        let lines = sentence.into_iter().chain(of_points(view, lang));
        let of_server = lines.map(Block::Line).chain(by_hour(view, lang));
        let of_server = of_server.collect();
        blocks.push(match servers.views.len() {
            1 => Block::Section(None, of_server),
            _ => Block::section(called(view), of_server),
        });
    }
    vec![Block::section(heading, blocks)]
}

/// A row for the first metric of each case of which there are several values.
fn rows(servers: &Servers<'_>) -> Vec<Row> {
    let mut ids: Vec<&MetricId> = Vec::new();
    for view in &servers.views {
        let leading = view.measured().filter(|metric| view.leads(metric));
        for metric in leading {
            if !ids.contains(&&metric.id) {
                ids.push(&metric.id);
            }
        }
    }
    let row = |id: &MetricId| {
        servers.row(id.case.to_string(), |view| {
            let metric = view.metric(&id.case, &id.quantity)?;
            let values = samples(view, metric).into_iter().map(|(_, value)| value);
            let values: Vec<f64> = values.collect();
            let [median, scatter] = figures(view, metric, &values)?;
            (values.len() > 1).then(|| format!("{median}, {scatter}"))
        })
    };
    let rows = ids.into_iter().map(row);
    rows.filter(Row::is_said).collect()
}

/// The median with its unit, and the standard deviation as a share of the mean; `None` without a value.
fn figures(view: &RunView<'_>, metric: &MetricSummary, values: &[f64]) -> Option<[String; 2]> {
    let scale = if usual::is_storage(view, metric) && metric.metric.unit == Unit::BytesPerSecond {
        results::megabytes()
    } else {
        view.scale(metric)
    };
    let value = scale.value(median(values)?);
    let scatter = variance(values)
        .zip(mean(values))
        .filter(|_| values.len() > 1);
    let scatter = scatter.filter(|(_, mean)| mean.abs() > 0.0);
    let scatter = scatter.map(|(variance, mean)| number::percent(variance.sqrt() / mean.abs()));
    Some([
        format!("{value} {}", scale.unit).trim_end().to_owned(),
        scatter.unwrap_or_else(|| NONE.to_owned()),
    ])
}

/// When each value was measured: rounds, or the points of a soak.
fn samples(view: &RunView<'_>, metric: &MetricSummary) -> Vec<(UnixNanos, f64)> {
    let soak = view
        .soak
        .as_ref()
        .filter(|soak| soak.quantity == metric.id.quantity);
    if let Some(soak) = soak {
        let points = soak.picture.points.iter();
        return points.map(|point| (point.at, point.value)).collect();
    }
    let rounds = view.run.rounds_of(&metric.id.case);
    let values = rounds.filter_map(|round| match &round.outcome {
        Outcome::Done(measured) => {
            let value = measured.values.get(&metric.id.quantity).copied()?;
            Some((round.started, value))
        }
        Outcome::Failed(_) => None,
    });
    values.filter(|(_, value)| value.is_finite()).collect()
}

/// Of a soak a value is no round: how long each lasts, on which the coefficient depends.
fn of_points(view: &RunView<'_>, lang: Lang) -> Option<String> {
    let points = &view.soak.as_ref()?.picture.points;
    let (first, last) = (points.first()?, points.last()?);
    let gaps = u64::try_from(points.len() - 1).ok()?;
    let each = number::duration(
        Nanos(last.at.0.saturating_sub(first.at.0).checked_div(gaps)?),
        lang,
    );
    Some(say!(
        lang,
        "Each value is the mean of about {each}.",
        "1 回の値は約 {each}の平均です。"
    ))
}

/// The hour of the day where the language is spoken; every hour of Japan is nine hours ahead of UTC.
fn hour(at: UnixNanos, lang: Lang) -> u64 {
    (at.0 / HOUR + lang.pick(0, 9)) % 24
}

fn by_hour(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let told = view.measured().filter(|metric| {
        let mut headlines = view.headlines.iter();
        headlines.any(|one| one.metric == metric.id)
    });
    let sections = told.filter_map(|metric| {
        let samples = samples(view, metric);
        let times = || samples.iter().map(|(at, _)| at.0);
        let span = times().max()? - times().min()?;
        let table = || hours(view, metric, &samples, lang);
        let name = format!(
            "{}, {}",
            metric.id.case,
            lang.pick("by hour (UTC)", "時間帯別（日本時間）")
        );
        (span >= HOUR).then(|| Block::section(name, vec![Block::Table(table())]))
    });
    sections.take(HOURLY).collect()
}

/// The hours of the day, then those of the evening, each part below its own figures.
fn hours(
    view: &RunView<'_>,
    metric: &MetricSummary,
    samples: &[(UnixNanos, f64)],
    lang: Lang,
) -> Table {
    let heads = lang.pick(
        ["hour", "samples", "median", "coefficient of variation"],
        ["時間帯", "回数", "中央値", "変動係数"],
    );
    let mut table = Table::new(heads.map(|head| (head, Align::Left)));
    let mut add = |name: String, is_in: &dyn Fn(u64) -> bool| {
        let inside = samples.iter().filter(|(at, _)| is_in(hour(*at, lang)));
        let values: Vec<f64> = inside.map(|&(_, value)| value).collect();
        if let Some([median, scatter]) = figures(view, metric, &values) {
            let cells = [name, values.len().to_string(), median, scatter];
            table.rows.push(cells.map(Into::into).into());
        }
    };
    let [from, to] = EVENING;
    let parts = [
        (lang.pick("day", "昼間"), to, from),
        (lang.pick("evening", "夜間"), from, to + 24),
    ];
    for (name, from, to) in parts {
        let is_in =
            move |hour: u64| (from..to).contains(&hour) || (from..to).contains(&(hour + 24));
        let end = to % 24;
        add(
            say!(
                lang,
                "{name}, {from} to {end} h",
                "{name}（{from}–{end} 時）"
            ),
            &is_in,
        );
        for one in from..to {
            let hour = one % 24;
            add(say!(lang, "{hour} h", "{hour} 時"), &move |at| at == hour);
        }
    }
    table
}
