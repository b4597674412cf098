//! Runs in one order, each with the ranks that it may have.

use super::block::{Align, Block, Cell, Table, Text};
use crate::lang::{Lang, say};
use crate::number;
use crate::offers::estimate;
use crate::ranking::{Ranking, RankingView, Row};
use model::units::Unit;

/// One table for each figure.
pub fn page(view: &RankingView, lang: Lang) -> Vec<Block> {
    let mut blocks: Vec<Block> = view
        .tables
        .iter()
        .map(|table| section(table, lang))
        .collect();
    blocks.push(Block::Line(
        lang.pick(
            "rank: 1 + the runs proven better .. all less the runs proven worse; a table has a false one in at most \
             1 case of 20",
            "順位: 1 + 明らかに優れる測定数 .. 全体 - 明らかに劣る測定数（表に誤りが含まれる確率は最大 5 %）",
        )
        .to_owned(),
    ));
    blocks.push(Block::Line(of_server(lang).to_owned()));
    blocks
}

/// Why a figure here is not that of the run's own page.
pub(super) fn of_server(lang: Lang) -> &'static str {
    lang.pick(
        "figures are trimmed means, and intervals hold what runs of one server differ by; `kurabe show` gives the median \
         of one run, which may differ a little",
        "値はトリム平均で、区間は同じサーバーの測定どうしの差を含みます。`kurabe show` は 1 回の測定の中央値を示すため、\
         わずかに異なることがあります",
    )
}

fn section(ranking: &Ranking, lang: Lang) -> Block {
    let largest = ranking.rows.iter().map(|row| row.figure.value);
    let largest = largest
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    let unit = ranking.unit.unwrap_or(Unit::Number);
    let scale = number::scale(unit, &ranking.quantity, largest);
    let mut table = Table::new([
        (lang.pick("rank", "順位").to_owned(), Align::Right),
        (lang.pick("run", "測定").to_owned(), Align::Left),
        (scale.unit.clone(), Align::Right),
        (
            lang.pick("95 % interval", "95 % 信頼区間").to_owned(),
            Align::Right,
        ),
        (lang.pick("offer", "オファー").to_owned(), Align::Left),
        (lang.pick("a month", "月額").to_owned(), Align::Right),
    ]);
    for row in &ranking.rows {
        let figure = &row.figure;
        let (value, ends) = scale.estimate(&estimate(figure.value, figure.interval));
        let price = row.monthly.as_ref().map(ToString::to_string);
        let cells: [Cell; 6] = [
            ranks(row).into(),
            Text::name(row.label.as_ref().unwrap_or(&row.run).as_str()).into(),
            value.into(),
            number::range(ends.as_ref()).into(),
            row.offer.clone().unwrap_or_default().into(),
            price.unwrap_or_default().into(),
        ];
        table.rows.push(cells.into());
    }
    if ranking.rows.iter().all(|row| row.offer.is_none()) {
        table.leave_out(5);
        table.leave_out(4);
    }
    let left_out = ranking.left_out.iter().map(|one| {
        let (run, why) = (&one.run, one.why.text(lang));
        say!(lang, "not ranked: {run}: {why}", "対象外: {run}: {why}")
    });
    Block::section(
        ranking.metric.as_str(),
        vec![Block::Table(table), Block::bullets(left_out)],
    )
}

/// `1`, or `2 .. 4`.
fn ranks(row: &Row) -> String {
    let (best, worst) = (row.ranks.best, row.ranks.worst);
    if best == worst {
        best.to_string()
    } else {
        format!("{best} .. {worst}")
    }
}
