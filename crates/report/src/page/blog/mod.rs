//! What an author of a web log says of servers, in the order of such articles: how it was measured, under which
//! conditions, what came out, and what it means. The last is the author's.
//!
//! Servers stand side by side. The best of a row is marked only where comparisons prove it better than each other one:
//! the largest of several figures that nobody can tell apart is the best by chance.

mod results;
mod steady;

use super::block::{Align, Block, Table, Text, Tone};
use super::{database, host, offers, title, trust};
use crate::comparison::ComparisonView;
use crate::lang::{Lang, say};
use crate::number::{self, NONE};
use crate::set_otherwise;
use crate::view::RunView;
use model::comparison::{Comparison, Verdict};
use model::host::Fact;
use model::plan::MetricId;
use model::record::Run;
use stats::CompareOptions;
use std::borrow::Cow;

/// The servers, a column for each.
pub(crate) struct Servers<'a> {
    views: Vec<&'a RunView<'a>>,
    /// Each two of them that are compared, the one that stands first as the base.
    pairs: Vec<([usize; 2], Cow<'a, Comparison>)>,
    lang: Lang,
}

/// The page of these runs; of several with their comparison, whose sides they are in their order, and earlier runs of
/// their machines.
pub(crate) fn page(
    views: Vec<&RunView<'_>>,
    comparison: Option<&ComparisonView<'_>>,
    earlier: &[Run],
    lang: Lang,
) -> Vec<Block> {
    let servers = Servers {
        pairs: pairs(&views, comparison, earlier),
        views,
        lang,
    };
    let author = lang.pick(
        "What do these figures mean for your readers? kurabe leaves that to you.",
        "ここに考察を書いてください。kurabe は計測結果だけを出力します。",
    );
    vec![
        Block::section(
            lang.pick("How it was measured", "計測手段"),
            method(&servers),
        ),
        Block::section(
            lang.pick("Conditions", "計測条件"),
            vec![servers.table(lang.pick("server", "サーバー"), conditions(&servers))],
        ),
        Block::section(lang.pick("Results", "計測結果"), results::blocks(&servers)),
        Block::section(
            lang.pick("What it means", "考察"),
            vec![Block::Comment(author.to_owned())],
        ),
    ]
}

/// The comparisons with the base as they were made, and those of the others with one another.
fn pairs<'a>(
    views: &[&RunView<'_>],
    comparison: Option<&'a ComparisonView<'_>>,
    earlier: &[Run],
) -> Vec<([usize; 2], Cow<'a, Comparison>)> {
    let others = comparison.map_or(&[][..], |view| &view.others);
    let others = others.iter().map(|(_, one)| Cow::Borrowed(one));
    let mut pairs: Vec<_> = (1..).map(|place| [0, place]).zip(others).collect();
    let options = CompareOptions {
        earlier,
        ..CompareOptions::default()
    };
    for base in 1..views.len() {
        for other in base + 1..views.len() {
            let [one, against] = [base, other].map(|place| views[place].run);
            let made = stats::compare(one, against, &options);
            pairs.push(([base, other], Cow::Owned(made)));
        }
    }
    pairs
}

/// A row of a table: what it is about, and what is said of each server.
struct Row {
    name: String,
    cells: Vec<Option<String>>,
    /// The server that is proven best.
    best: Option<usize>,
}

impl Row {
    /// Whether it says something of any server.
    fn is_said(&self) -> bool {
        self.cells.iter().any(Option::is_some)
    }
}

impl<'a> Servers<'a> {
    fn row(
        &self,
        name: impl Into<String>,
        cell: impl Fn(&'a RunView<'a>) -> Option<String>,
    ) -> Row {
        Row {
            name: name.into(),
            cells: self.views.iter().map(|view| cell(view)).collect(),
            best: None,
        }
    }

    /// The rows that say something of a server, under the names of the servers where there are several, and else under
    /// this word.
    fn table(&self, value: &str, rows: Vec<Row>) -> Block {
        let head = self.lang.pick("item", "項目");
        let names = self.views.iter().map(|view| match self.views.len() {
            1 => value.to_owned(),
            _ => called(view),
        });
        let names = names.map(|name| (name, Align::Left));
        let heads = [(head.to_owned(), Align::Left)].into_iter().chain(names);
        let row = |row: Row| {
            let cells = row.cells.into_iter().enumerate();
            let cells = cells.map(|(place, cell)| {
                let is_best = row.best == Some(place);
                let tone = if is_best { Tone::Best } else { Tone::Plain };
                Text::with(tone, cell.unwrap_or_else(|| NONE.to_owned())).into()
            });
            [row.name.into()].into_iter().chain(cells).collect()
        };
        Block::Table(Table {
            rows: rows.into_iter().filter(Row::is_said).map(row).collect(),
            ..Table::new(heads)
        })
    }

    /// The server among these that is proven better than each other one of them.
    fn best(&self, id: &MetricId, among: &[usize]) -> Option<usize> {
        let better = |one: usize, other: usize| {
            let pair = [one.min(other), one.max(other)];
            let found = self.pairs.iter().find(|(of, _)| *of == pair);
            let mut metrics = found.iter().flat_map(|(_, made)| &made.metrics);
            let verdict = metrics.find(|metric| metric.id == *id)?.adjusted;
            let wanted = if one == pair[1] {
                Verdict::Better
            } else {
                Verdict::Worse
            };
            Some(verdict == wanted)
        };
        let beats_all = |&&one: &&usize| {
            let mut others = among.iter().filter(|&&other| other != one);
            others.all(|&other| better(one, other) == Some(true))
        };
        let found = among.iter().find(beats_all).copied();
        found.filter(|_| among.len() > 1)
    }
}

fn method(servers: &Servers<'_>) -> Vec<Block> {
    let lang = servers.lang;
    let any = |is: fn(&RunView<'_>) -> bool| servers.views.iter().any(|view| is(view));
    let is_imported = |view: &RunView<'_>| view.run.meta.origin.is_some();
    let is_soak = |view: &RunView<'_>| view.soak.is_some();
    let mut lines = Vec::new();
    if any(|view| view.soak.is_none() && view.run.meta.origin.is_none()) {
        lines.push(lang.pick(
            "kurabe runs every test several times, each time in new processes and in a new order; a figure is the median \
             of these rounds, and +- half of its 95 % interval.",
            "kurabe は各テストを毎回新しいプロセスで、順序を入れ替えながら繰り返します。数値はその中央値、+- は 95 % 信頼\
             区間の幅の半分です。",
        ));
    }
    if any(is_soak) {
        lines.push(lang.pick(
            "A soak is load of one test without a pause, whose rate is looked at over time.",
            "連続計測では一つのテストの負荷をかけ続け、性能の推移を調べます。",
        ));
    }
    if any(is_imported) {
        lines.push(lang.pick(
            "Imported figures are those of the program that is named; one sample has no interval.",
            "取り込んだ数値は表に示したプログラムによるものです。1 回だけの値に信頼区間はありません。",
        ));
    }
    if servers.views.len() > 1 {
        lines.push(lang.pick(
            "Bold is what is proven better than every other figure of its row; without it nobody can tell which is best.",
            "太字は、同じ行のほかのすべての値より優れていると判定された値です。太字のない行では、どれが優れているとも言え\
             ません。",
        ));
    }
    vec![Block::bullets(lines)]
}

/// What a server is called.
fn called(view: &RunView<'_>) -> String {
    let meta = &view.run.meta;
    meta.label.as_ref().unwrap_or(&meta.id).clone()
}

/// What is said of a run under a name in English and in Japanese.
type Condition = (
    &'static str,
    &'static str,
    fn(&RunView<'_>, Lang) -> Option<String>,
);

const CONDITIONS: [Condition; 16] = [
    (
        "provider and plan",
        "サービス・プラン",
        |view, _| view.offer.as_ref().map(offers::whose),
    ),
    ("a month, with tax", "月額（税込）", |view, lang| {
        let offer = view.offer.as_ref()?;
        let (month, charged) = (&offer.monthly, &offer.charged);
        Some(if month.currency == charged.currency {
            month.to_string()
        } else {
            say!(lang, "{month} ({charged})", "{month}（{charged}）")
        })
    }),
    ("resources", "契約資源", |view, _| {
        Some(offers::resources(view.offer.as_ref()?)).filter(|text| !text.is_empty())
    }),
    ("CPU", "CPU", |view, lang| {
        let cpu = &view.run.host.cpu;
        let count = cpu.online.known().map(|&n| host::cpus(n, lang));
        let parts = [cpu.model.known().cloned(), count];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        Some(parts.join(", ")).filter(|text| !text.is_empty())
    }),
    ("memory", "メモリ", |view, _| {
        Some(view.run.host.memory.total.known()?.rounded())
    }),
    ("virtualization", "仮想化", |view, _| {
        view.run.host.platform.virtualization.known()?.clone()
    }),
    ("file system", "ファイルシステム", |view, _| {
        known(&view.run.host.storage.file_system)
    }),
    ("OS", "OS", |view, _| {
        known(&view.run.host.kernel.distribution)
    }),
    ("kernel", "カーネル", |view, _| {
        known(&view.run.host.kernel.release)
    }),
    ("database", "データベース", |view, _| {
        database::engine(view.run)
    }),
    ("measured", "計測日時", |view, lang| {
        Some(title::began(view.run, number::instant, lang))
    }),
    ("took", "所要時間", |view, lang| {
        title::took(view.run, lang)
    }),
    ("tests", "計測内容", |view, _| {
        Some(view.run.plan.what.join(" ")).filter(|text| !text.is_empty())
    }),
    ("set otherwise", "変更した設定", |view, lang| {
        set_otherwise::fact(&view.run.plan, lang).map(|(_, text)| text)
    }),
    ("program", "計測プログラム", |view, _| {
        let meta = &view.run.meta;
        let own = || format!("kurabe {}", meta.binary.version);
        Some(meta.origin.as_ref().map_or_else(own, |origin| origin.who()))
    }),
    ("disturbances", "外乱", |view, lang| {
        let rounds = if view.soak.is_some() {
            "stretches"
        } else {
            "rounds"
        };
        Some(trust::brief(&view.trust, rounds, lang))
    }),
];

fn known(fact: &Fact<String>) -> Option<String> {
    fact.known().cloned()
}

fn conditions(servers: &Servers<'_>) -> Vec<Row> {
    let lang = servers.lang;
    let row = |(en, ja, of): Condition| servers.row(lang.pick(en, ja), |view| of(view, lang));
    CONDITIONS.into_iter().map(row).collect()
}

/// A value behind which its interval stands.
fn ranged(value: &str, ends: Option<&(String, String)>, lang: Lang) -> String {
    match ends {
        None => value.to_owned(),
        ends => {
            let range = number::range(ends);
            say!(lang, "{value} ({range})", "{value}（{range}）")
        }
    }
}

#[cfg(test)]
mod tests;
