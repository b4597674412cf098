//! A comparison: for each other side what is read in ten seconds, which runs these are, what stands out, one line per
//! metric, what is said beside the table, what was not compared and why, and what differs in the set-up. The
//! better side carries a mark, the verdict a word.

mod first;
mod notes;
pub(crate) mod refusal;
mod refused;
mod summary;
mod table;

use crate::comparison::{Compared, ComparisonView, LatestOf, Party, role};
use crate::duel;
use crate::lang::{Lang, say};
use crate::page::block::{Align, Block, Table};
use crate::page::charts;
use crate::page::run::Detail;
use crate::page::title;
use crate::set_otherwise;
use dialects::printable::printable;
use model::comparison::{Difference, Joined, NotJoined};
use model::plan::CaseId;
use model::record::Run;
use stats::verdict::Levels;

pub(crate) use table::{ratio_text, value_of_side, verdict};

/// The page of a comparison.
pub fn page(view: &ComparisonView<'_>, detail: Detail, lang: Lang) -> Vec<Block> {
    let all = view.compared(lang);
    if all.is_empty() {
        return vec![Block::Line(summary::nothing(lang).to_owned())];
    }
    let mut page: Vec<Block> = all.iter().map(|compared| first::block(*compared)).collect();
    if detail == Detail::Short {
        // A category without a ratio is not there: whoever looks for it is told why.
        let none = |compared: &&Compared<'_>| compared.comparison.categories.is_empty();
        let lines = all.iter().filter(none);
        let lines = lines.filter_map(|compared| left_out(&compared.comparison.left_out, lang));
        page.extend(lines.map(Block::Line));
        return page;
    }
    let is_alone = all.len() == 1;
    page.extend(all.iter().flat_map(|compared| {
        let blocks = one(*compared, detail);
        if is_alone {
            return blocks;
        }
        let [base, other] = compared.sides.names(lang);
        let heading = say!(lang, "{other} against {base}", "{other} 対 {base}（基準）");
        vec![Block::section(heading, blocks)]
    }));
    page.push(Block::bullets(table::legend(&all, detail)));
    if detail == Detail::Usual {
        page.push(next(view, lang));
    }
    page
}

/// What stands below the first lines. Reasons are told with everything, and where there is nothing else to tell.
fn one(of: Compared<'_>, detail: Detail) -> Vec<Block> {
    let (comparison, lang) = (of.comparison, of.lang);
    let is_full = detail == Detail::Full;
    // On a full page they stand among the notes.
    let doubts = if is_full {
        Vec::new()
    } else {
        notes::doubts(of)
    };
    let section = |heading: &str, block| Block::section(heading, vec![block]);
    let mut page = vec![
        Block::facts(heads(of)),
        Block::bullets(pairing(of, detail)),
        section(
            lang.pick("summary", "要約"),
            Block::bullets(summary::lines(of).into_iter().chain(doubts)),
        ),
    ];
    page.extend(Block::chart(charts::ratios(of)));
    page.push(table::indexes(of));
    page.push(super::database::compared(of));
    page.push(table::metrics(of, detail));
    if is_full {
        let notes = Block::bullets(notes::notes(of));
        page.push(section(lang.pick("notes", "注"), notes));
    }
    if is_full || comparison.metrics.iter().all(|one| one.interval.is_none()) {
        let refused = refused::refused(of);
        let plain = lang.pick("without an interval", "区間のない項目");
        let none = lang.pick("not compared", "比較しなかった項目");
        page.push(section(plain, Block::facts(refused.without_interval)));
        page.push(section(none, Block::facts(refused.not_compared)));
    }
    if is_full {
        let heading = lang.pick("differences in set-up", "環境の違い");
        page.push(section(heading, differences(&comparison.differences, lang)));
    }
    page
}

/// What to type to see everything.
fn next(view: &ComparisonView<'_>, lang: Lang) -> Block {
    let others = view.others.iter().map(|(other, _)| other);
    let sides = std::iter::once(&view.base).chain(others);
    let sides: Vec<String> = sides.map(Party::typed).collect();
    let command = format!("kurabe compare {} --full", sides.join(" "));
    let what = lang.pick(
        "everything: further metrics, notes, reasons, differences in set-up",
        "すべて（ほかの項目、注、理由、環境の違い）",
    );
    Block::section(
        lang.pick("next", "次にできること"),
        vec![Block::Commands(vec![(command, what.to_owned())])],
    )
}

fn differences(list: &[Difference], lang: Lang) -> Block {
    let columns = ["", role(true, lang), role(false, lang)].map(|head| (head, Align::Left));
    let mut table = Table::new(columns);
    for Difference { what, base, other } in list {
        let cells = [what, base, other].map(|text| text.clone().into());
        table.rows.push(cells.to_vec());
    }
    Block::Table(table)
}

/// Which cases are the same job under two names, and what of that is not known.
fn joined(list: &[Joined], lang: Lang) -> impl Iterator<Item = String> {
    list.iter().map(move |one| {
        let [base, other] = [&one.base, &one.other].map(|case| printable(&case.to_string()));
        let unknown: Vec<String> = one.unknown.iter().map(|name| format!("`{name}`")).collect();
        let unknown = unknown.join(", ");
        let pair = if base == other {
            format!("`{base}`")
        } else {
            say!(lang, "`{base}` with `{other}`", "`{base}` と `{other}`")
        };
        if unknown.is_empty() {
            return say!(lang, "{pair}: the same job", "{pair}: 同じジョブです");
        }
        say!(
            lang,
            "{pair}: the same job as far as both sides say it; only one of them says {unknown}",
            "{pair}: 双方に記録がある範囲では同じジョブです。{unknown} は片側にしか記録がありません"
        )
    })
}

/// Which cases are jobs of the same kind, and what keeps them apart.
fn not_joined(list: &[NotJoined], lang: Lang) -> impl Iterator<Item = String> {
    list.iter().map(move |one| {
        let [base, other] = [&one.base, &one.other].map(|case| printable(&case.to_string()));
        let list = refusal::parameters(&one.parameters, lang);
        say!(
            lang,
            "`{base}` and `{other}` are not compared, because they are not known to be the same job: {list}",
            "`{base}` と `{other}` は同じジョブと確認できないため比較しません: {list}"
        )
    })
}

/// What each side is called, and its runs, a line for each; below a side of a duel what makes it that.
fn heads(of: Compared<'_>) -> Vec<(String, String)> {
    let lang = of.lang;
    let is_duel = of.sides.are_of_a_duel();
    let [base, other] = of.sides.both();
    let mut list = Vec::new();
    for (side, is_base) in [(base, true), (other, false)] {
        let mut lines = run_lines(side, lang);
        let own = side.first().plan.duel.as_ref().filter(|_| is_duel);
        lines.extend(own.and_then(|_| duel::side(side.first(), lang)));
        let name = match own {
            Some(duel) => duel::role(&duel.letter(), is_base, lang),
            None => role(is_base, lang).to_owned(),
        };
        let names = std::iter::once(name).chain(std::iter::repeat(String::new()));
        list.extend(names.zip(lines));
    }
    list
}

/// A line for each run of a side: which it is, and whether its label would mean others too.
fn run_lines(side: &Party<'_>, lang: Lang) -> Vec<String> {
    let line = |run: &'_ Run| {
        let line = title::line(run, lang);
        let mut latest = side.latest_of().iter();
        match latest.find(|of| of.run == run.meta.id) {
            Some(LatestOf { runs, .. }) => say!(
                lang,
                "{line}; the latest of {runs} runs of that label",
                "{line}; このラベルの {runs} 件のうち最新"
            ),
            None => line,
        }
    };
    side.runs().into_iter().map(line).collect()
}

/// How the rounds were measured and are compared, where that is in pairs or in as many rounds as it took; and what must
/// be known of a duel, or of runs that are no separate instances.
fn pairing(of: Compared<'_>, detail: Detail) -> Vec<String> {
    let (sides, comparison, lang) = (of.sides, of.comparison, of.lang);
    let mut lines = Vec::new();
    let is_full = detail == Detail::Full;
    if comparison.paired && is_full {
        let paired = lang.pick(
            "a duel: rounds measured and compared in pairs, one of each side, the order decided by a coin",
            "デュエル: 両側のラウンドを 1 つずつ組にし、順序を無作為に決めて続けて測定し、組ごとに比較しています",
        );
        lines.push(paired.to_owned());
    }
    if comparison.looked && is_full {
        let confidence = |level: f64| format!("{:.1} %", 100.0 * (1.0 - level));
        let Levels { difference, same } = stats::looks::levels(comparison.paired);
        let (difference, same) = (confidence(difference), confidence(same));
        lines.push(say!(
            lang,
            "the figures themselves decided how many rounds there are, so that verdicts are more careful than the \
             intervals: read at {difference}, `same` at {same}",
            "回数を測定値に応じて決めたため、判定には区間より厳しい水準を使っています（{difference}、「同等」は {same}）"
        ));
    }
    if !is_full {
        lines.extend(notes::repeats(of));
    }
    lines.extend(duel::about(sides.base, sides.other, lang));
    if !sides.are_of_a_duel() {
        let [base, other] = sides.names(lang);
        let (a, b) = (sides.base.first(), sides.other.first());
        lines.extend(duel::servers(a, b, [&base, &other], lang));
    }
    lines.extend(left_out(&comparison.left_out, lang));
    lines.extend(joined(&comparison.joined, lang));
    lines.extend(not_joined(&comparison.not_joined, lang));
    lines.extend(set_otherwise::of_sides(sides, lang));
    lines
}

/// What is in none of the ratios of the first lines.
fn left_out(cases: &[CaseId], lang: Lang) -> Option<String> {
    let list: Vec<String> = cases.iter().map(ToString::to_string).collect();
    let list = list.join(", ");
    let said = say!(
        lang,
        "in no ratio of a category, because their rate is given and not measured: {list}",
        "速度が指定され測定値ではないため、分野の比に含まれません: {list}"
    );
    (!cases.is_empty()).then_some(said)
}

#[cfg(test)]
mod tests;
