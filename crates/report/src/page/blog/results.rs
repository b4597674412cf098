//! Results: what blogs quote of a server, family by family.

use super::{Row, Servers, ranged, steady};
use crate::lang::{Lang, say};
use crate::number::{self, Scale};
use crate::offers;
use crate::page::block::Block;
use crate::page::{database, first, indexes};
use crate::said;
use crate::view::RunView;
use dialects::unixbench::INDEX_ID;
use model::estimate::{IndexSummary, MetricSummary};
use model::figure::FigureName;
use model::headline::Topic;
use model::order::Order as _;
use model::units::Unit;
use stats::Headlined;
use stats::figure::Figures;
use std::cmp::Reverse;

const SYSTEM: [&str; 2] = ["CPU and system", "CPU・システム"];

const DATABASE: [&str; 2] = ["Database", "データベース"];

/// Families of headlines: what they are called, and their topics. All but the first, which UnixBench is about too, and
/// databases, which not everybody has, are missed where they are not measured.
const FAMILIES: [(&str, &str, &[Topic]); 5] = [
    (
        SYSTEM[0],
        SYSTEM[1],
        &[Topic::Cpu, Topic::Os, Topic::PageCache],
    ),
    (
        "Disk",
        "ディスク",
        &[
            Topic::LargeBlocks,
            Topic::SmallReads,
            Topic::SmallWrites,
            Topic::Syncs,
            Topic::Storage,
        ],
    ),
    ("Memory", "メモリ", &[Topic::Memory]),
    (DATABASE[0], DATABASE[1], &[Topic::Database]),
    ("Network", "ネットワーク", &[Topic::Network]),
];

pub(super) fn blocks(servers: &Servers<'_>) -> Vec<Block> {
    let lang = servers.lang;
    let families = FAMILIES.map(|(en, ja, topics)| (lang.pick(en, ja), of_topics(servers, topics)));
    let measured = families.iter().filter(|(_, rows)| !rows.is_empty()).count();
    let index = ("UnixBench", of_indexes(servers));
    // An article about a whole server says what it does not tell.
    let is_of_server = measured + usize::from(!index.1.is_empty()) >= 2;
    let quiet = [SYSTEM, DATABASE].concat();
    let section = |(name, rows): (&'static str, Vec<Row>)| {
        let missing = lang.pick("not measured yet", "未計測");
        let block = if rows.is_empty() && is_of_server && !quiet.contains(&name) {
            Block::Line(missing.to_owned())
        } else {
            servers.table(lang.pick("value", "値"), rows)
        };
        Block::section(name, vec![block])
    };
    let mut blocks: Vec<Block> = [index].into_iter().chain(families).map(section).collect();
    blocks.extend(steady::blocks(servers));
    blocks
}

/// The index of one copy and of as many as the server has CPUs, and what a month's money buys of it.
fn of_indexes(servers: &Servers<'_>) -> Vec<Row> {
    let lang = servers.lang;
    let one = |view: &RunView<'_>| view.indexes.iter().position(|index| index.copies == 1);
    let all = |view: &RunView<'_>| {
        let several = view.indexes.iter().enumerate();
        let several = several.filter(|(_, index)| index.copies > 1);
        several
            .max_by_key(|(_, index)| index.copies)
            .map(|(at, _)| at)
    };
    let names = [
        indexes::copies(1, lang),
        lang.pick("all CPUs", "全 CPU 並列").to_owned(),
    ];
    let finds: [fn(&RunView<'_>) -> Option<usize>; 2] = [one, all];
    let rows = names.into_iter().zip(finds).flat_map(|(name, find)| {
        let at = |view: &RunView<'_>| find(view);
        let mut value = servers.row(name.as_str(), |view| {
            Some(index_cell(&view.indexes[at(view)?], lang))
        });
        value.best = best_index(servers, find);
        let price = servers.row(
            say!(
                lang,
                "{name}, for the price of a month",
                "{name}、月額あたり"
            ),
            |view| per_price(view, &view.indexes[at(view)?]),
        );
        [value, price]
    });
    rows.filter(Row::is_said).collect()
}

fn index_cell(index: &IndexSummary, lang: Lang) -> String {
    let Some(estimate) = index.whole() else {
        let partial = indexes::partial(index, lang);
        return partial.unwrap_or_else(|| said::missing(index.missing.as_deref(), lang));
    };
    let (value, ends) = number::index(&estimate);
    let value = first::mark_of(index).to_owned() + &ranged(&value, ends.as_ref(), lang);
    match index.copies {
        1 => value,
        copies => format!("{value}, {}", indexes::copies(copies, lang)),
    }
}

fn per_price(view: &RunView<'_>, index: &IndexSummary) -> Option<String> {
    let (estimate, price) = (index.whole()?, &view.offer.as_ref()?.monthly);
    let value = number::alone(Unit::Number, estimate.value / price.amount.approx());
    Some(format!("{value} / {}", price.currency))
}

/// The server whose index is proven better than that of each other one, by the ranks that they may have.
fn best_index(servers: &Servers<'_>, find: fn(&RunView<'_>) -> Option<usize>) -> Option<usize> {
    let all: Vec<Figures<'_>> = servers
        .views
        .iter()
        .map(|view| Figures::of(view.run))
        .collect();
    let figures = servers.views.iter().zip(&all).map(|(view, figures)| {
        let name = FigureName {
            test: INDEX_ID.to_owned(),
            copies: Some(view.indexes[find(view)?].copies),
            quantity: None,
        };
        offers::find(figures, &name).ok()
    });
    let figures = figures.collect::<Option<Vec<_>>>()?;
    let alike = figures.iter().all(|one| one.is_alike(&figures[0]));
    let ranks = stats::rank::ranks(&figures.iter().collect::<Vec<_>>());
    let first = ranks.iter().position(|ranks| ranks.worst == 1);
    first.filter(|_| alike && figures.len() > 1)
}

/// A row for each headline of these topics that any server has, in the order of the first page.
fn of_topics(servers: &Servers<'_>, topics: &[Topic]) -> Vec<Row> {
    let lang = servers.lang;
    let mut headlines: Vec<&Headlined> = Vec::new();
    for topic in topics {
        for view in &servers.views {
            let of_topic = view.headlines.iter().filter(|one| one.topic == *topic);
            for one in of_topic {
                if headlines.iter().all(|known| known.metric != one.metric) {
                    headlines.push(one);
                }
            }
        }
    }
    // Stable: what is not a job of a disk stays where it stands on the first page.
    headlines.order_by_key(|one| {
        let place = servers.views.iter().find_map(|view| disk_place(view, one));
        (place.is_none(), place)
    });
    let row = |one: &Headlined| {
        let name = servers.views.iter().find_map(|view| name(view, one, lang));
        let mut row = servers.row(name.unwrap_or_default(), |view| cell(view, one, lang));
        let cells = row.cells.iter().enumerate();
        let with = cells
            .filter(|(_, cell)| cell.is_some())
            .map(|(place, _)| place);
        row.best = servers.best(&one.metric, &with.collect::<Vec<_>>());
        row
    };
    let rows = headlines.into_iter().map(row);
    rows.filter(Row::is_said).collect()
}

/// Where a job of a disk stands among others: large blocks first, then the deepest queue, reads before writes; `None`
/// for everything else, and for what is synced, which stands behind them.
fn disk_place(view: &RunView<'_>, one: &Headlined) -> Option<(bool, Reverse<u64>, u32, bool)> {
    let case = view.planned(&one.metric.case)?;
    let is_small = match one.topic {
        Topic::LargeBlocks => false,
        Topic::SmallReads | Topic::SmallWrites => true,
        _ => return None,
    };
    let depth = Reverse(case.load.as_ref()?.depth);
    Some((is_small, depth, case.id.copies, is_write(one)))
}

fn is_write(one: &Headlined) -> bool {
    one.topic == Topic::SmallWrites || one.words[0].starts_with("write")
}

/// What a headline is called; jobs of a disk by the names that `CrystalDiskMark` made usual.
fn name(view: &RunView<'_>, one: &Headlined, lang: Lang) -> Option<String> {
    let case = view.planned(&one.metric.case)?;
    let [en, ja] = &one.words;
    let word = lang.pick(en, ja);
    let copies = case.id.copies;
    let quoted = |blocks: &str, what: &str| {
        let depth = case.load.as_ref()?.depth;
        Some(format!("{blocks} Q{depth}T{copies} {what}"))
    };
    let what = if is_write(one) {
        lang.pick("write", "書き込み")
    } else {
        lang.pick("read", "読み込み")
    };
    let named = match one.topic {
        Topic::SmallReads | Topic::SmallWrites => quoted("RND4K", what),
        Topic::LargeBlocks => quoted("SEQ1M", what),
        _ => None,
    };
    let with_copies = || {
        if let Some(told) = database::told(view, one, lang) {
            // The conditions have the product, which need not be the same on all servers.
            let what = if told.what.is_empty() {
                "OLTP"
            } else {
                &told.what
            };
            return format!("{what}{}{}", lang.pick(", ", "、"), told.by);
        }
        if one.says_copies {
            format!("{word}, {}", indexes::copies(copies, lang))
        } else {
            word.clone()
        }
    };
    Some(named.unwrap_or_else(with_copies) + view.mark(&one.metric.case))
}

/// The figure; of a disk as megabytes of a million bytes with its operations, or with its latency. Why there is none,
/// where it was to be measured.
fn cell(view: &RunView<'_>, one: &Headlined, lang: Lang) -> Option<String> {
    let metric = view.metric(&one.metric.case, &one.metric.quantity)?;
    // What a soak says is how its rate goes on.
    if view.soak.is_some() {
        return None;
    }
    if let Some(told) = database::told(view, one, lang) {
        return Some(told.figure + &told.beside);
    }
    if metric.rounds.is_empty() {
        return Some(match view.last_failure(&metric.id.case) {
            Some(failure) => said::failure(failure, lang),
            None => said::missing(metric.missing.as_deref(), lang),
        });
    }
    if matches!(
        one.topic,
        Topic::SmallReads | Topic::SmallWrites | Topic::LargeBlocks
    ) && let Some(text) = of_disk(view, metric, lang)
    {
        return Some(text);
    }
    let figure = first::figure(view, metric, lang)?;
    let beside = first::beside(view, one).unwrap_or_default();
    Some(format!("{figure}{beside}"))
}

/// Disks are told in millions of bytes.
pub(super) fn megabytes() -> Scale {
    Scale::settled(1e6, "MB/s")
}

/// `523 MB/s +-2 % (128 kIOPS)`, or the ends of both where no single number describes them; `None` for two levels, and
/// where the job has no such metrics.
fn of_disk(view: &RunView<'_>, metric: &MetricSummary, lang: Lang) -> Option<String> {
    let in_unit = |unit: Unit| {
        let mut metrics = view.metrics_of(&metric.id.case);
        metrics.find(|metric| metric.metric.unit == unit)
    };
    let (bytes, operations) = (in_unit(Unit::BytesPerSecond)?, in_unit(Unit::OpsPerSecond)?);
    if view.levels(metric, lang).is_some() {
        return None;
    }
    let megabytes = megabytes();
    let largest = operations.rounds.iter().copied().fold(0.0, f64::max);
    let scale = number::scale(Unit::OpsPerSecond, "iops", largest);
    let both = [(bytes, &megabytes), (operations, &scale)];
    let shown = both.map(|(metric, scale)| {
        let ends: [fn(f64, f64) -> f64; 2] = [f64::min, f64::max];
        let ends = ends.map(|end| metric.rounds.iter().copied().reduce(end));
        let [lo, hi] = ends.map(|end| scale.value(end.unwrap_or_default()));
        let estimate = metric.estimate.as_ref();
        let value = estimate.map_or_else(|| format!("{lo} .. {hi}"), |one| scale.estimate(one).0);
        format!("{value} {}", scale.unit)
    });
    let unstable = lang.pick("unstable, ", "不安定 ");
    let (before, within) = match &bytes.estimate {
        Some(estimate) => ("", first::within(estimate)),
        None => (unstable, String::new()),
    };
    let [bytes, operations] = shown;
    Some(say!(
        lang,
        "{before}{bytes}{within} ({operations})",
        "{before}{bytes}{within}（{operations}）"
    ))
}
