//! What every comparison begins with, in at most [`LINES`] lines: what is compared, whether the figures of either side
//! may be quoted, one line for each category, and how many metrics are better or worse.
//!
//! There is never one ratio over all: whoever wants one has to say what he will run.

use super::table::{ratio_text, verdict};
use crate::comparison::{Compared, Party, Sides};
use crate::duel;
use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Block, Text, Tone};
use crate::page::first::name_of_category;
use crate::page::fit::{cut, joined};
use crate::page::{database, list, trust};
use crate::scope;
use crate::table::columns;
use model::comparison::{CategoryComparison, Verdict};
use model::line::Machine;
use stats::Trust;

/// The most lines, on a terminal of [`WIDTH`].
pub(super) const LINES: usize = 10;

/// The columns for which these lines are made, whatever the terminal.
pub(super) const WIDTH: usize = 80;

/// Columns of names, ratios, intervals and verdicts at least, so that verdicts stand in the same column of every page.
/// The last name is about as wide as that in either language.
const NAME: usize = 8;
const RATIO: usize = 19;
const INTERVAL: usize = 16;
const VERDICT: usize = 8;

/// Columns between two columns, and before the line below the first one.
const GAP: usize = 2;

/// Columns behind a name: lists leave two free at the right.
const ROOM: usize = WIDTH - NAME - 2 * GAP;

/// The most columns that a name may take where the whole names have no room.
const SHORT_NAME: usize = 22;

/// The first lines.
pub(super) fn block(of: Compared<'_>) -> Block {
    let lang = of.lang;
    let name = of.sides.names(lang).join(" / ");
    let names = [lang.pick("trust", "信頼性"), ""].into_iter();
    let facts = names.zip(trust_of_both(of));
    let mut facts: Vec<(Text, Text)> = facts.map(|(name, line)| (name.into(), line)).collect();
    facts.extend(databases(of).map(|line| {
        let name = lang.pick("database", "DB").into();
        (name, line.into())
    }));
    // Two lines say what this is, and two count.
    let spare = LINES.saturating_sub(facts.len() + 4);
    let rows = telling(&of.comparison.categories, spare);
    let widths = rows
        .iter()
        .map(|one| columns(name_of_category(&one.category, lang)));
    let beyond = widths.max().unwrap_or_default().saturating_sub(NAME);
    let room = ROOM.saturating_sub(beyond);
    facts.extend(rows.into_iter().map(|one| row(one, of, room)));
    if !of.comparison.categories.is_empty() {
        facts.push((lang.pick("in all", "総合").into(), in_all(of).into()));
    }
    facts.push((lang.pick("metrics", "項目の数").into(), counts(of).into()));
    let title = Block::Title(vec![name.into()], what(of), sides(of));
    Block::Within(WIDTH, vec![title, Block::Facts(facts)])
}

/// What the databases of both sides are, where one of them is a server; the sides of a duel say so themselves.
fn databases(of: Compared<'_>) -> Option<String> {
    let lang = of.lang;
    let [base, other] = of.sides.both().map(Party::first);
    let told = [base, other].map(database::engine);
    let is_server = [base, other]
        .iter()
        .any(|run| run.plan.servers().next().is_some());
    if !is_server || of.sides.are_of_a_duel() {
        return None;
    }
    let line = match told {
        [Some(one), Some(two)] if one == two => say!(lang, "both {one}", "双方とも {one}"),
        told => {
            let [one, two] = told.map(|told| told.unwrap_or_else(|| "?".to_owned()));
            let [base, other] = names(of.sides, lang);
            say!(
                lang,
                "{base}: {one}; {other}: {two}",
                "{base}: {one}、{other}: {two}"
            )
        }
    };
    Some(cut(&line, ROOM))
}

/// As many categories as have room: those of which nothing is known give way first. The last line
/// counts the metrics of all.
fn telling(all: &[CategoryComparison], room: usize) -> Vec<&CategoryComparison> {
    let mut rows: Vec<&CategoryComparison> = all.iter().collect();
    while rows.len() > room {
        let unclear = rows.iter().rposition(|one| one.verdict == Verdict::Unclear);
        rows.remove(unclear.unwrap_or(rows.len() - 1));
    }
    rows
}

/// The names of the sides, shortened where both together have no room; where that makes them the same, the ids.
fn names(sides: Sides<'_>, lang: Lang) -> [String; 2] {
    let whole = sides.names(lang);
    if whole.iter().map(|name| columns(name)).sum::<usize>() <= 2 * SHORT_NAME {
        return whole;
    }
    let short = |names: [String; 2]| names.map(|name| cut(&name, SHORT_NAME));
    let names = short(whole);
    if names[0] != names[1] {
        return names;
    }
    short(sides.both().map(|side| side.first().meta.id.clone()))
}

/// `server-b against server-a: EPYC 7B13, 2 CPUs against Xeon 8481C, 2 CPUs`, without the machines where they have no
/// room; of a duel what it is about.
fn what(of: Compared<'_>) -> String {
    let lang = of.lang;
    let [base, other] = names(of.sides, lang);
    let line = say!(lang, "{other} against {base}", "{other} 対 {base}（基準）");
    if of.sides.are_of_a_duel() {
        let scope = scope::text(&of.comparison.scope, lang);
        let line = say!(lang, "{line}: a duel, {scope}", "{line}: デュエル、{scope}");
        return cut(&line, WIDTH);
    }
    let mut forms = [true, false].into_iter().filter_map(|with_cpus| {
        let [here, there] = of.sides.both().map(|side| {
            let machine = Machine::of(&side.first().host);
            let cpus = machine.cpus.filter(|_| with_cpus);
            list::machine(&Machine { cpus, ..machine }, lang)
        });
        let machines = match (here == there, here.is_empty() || there.is_empty()) {
            (_, true) => return None,
            (true, _) => say!(lang, "both {here}", "双方とも {here}"),
            (false, _) => say!(lang, "{there} against {here}", "{there} 対 {here}"),
        };
        Some(format!("{line}: {machines}")).filter(|long| columns(long) <= WIDTH)
    });
    forms.next().unwrap_or_else(|| line.clone())
}

/// What makes the sides of a duel what they are; of other comparisons what they are about, and when that began.
fn sides(of: Compared<'_>) -> String {
    let lang = of.lang;
    let room = WIDTH - GAP;
    let both = of.sides.both();
    if of.sides.are_of_a_duel() {
        let names = of.sides.names(lang);
        let told = both.map(|side| duel::side(side.first(), lang).unwrap_or_default());
        let [base, other] = fitting_both(told, room - columns("A: ; B: "));
        return format!("{}: {base}; {}: {other}", names[0], names[1]);
    }
    let scope = scope::text(&of.comparison.scope, lang);
    let begun = both.map(|side| side.first().meta.started);
    let imported = both.iter().any(|side| side.first().meta.origin.is_some());
    let when = (!imported).then(|| number::minute(begun[0].min(begun[1])));
    joined(
        [Some(scope), when].into_iter().flatten().collect(),
        lang.pick("; ", "、"),
        room,
    )
}

/// Two texts in so many columns: the shorter one leaves its room to the other.
fn fitting_both([one, two]: [String; 2], room: usize) -> [String; 2] {
    let (first, second) = (columns(&one), columns(&two));
    let half = room / 2;
    let one_has = half.max(room.saturating_sub(second));
    let two_has = half.max(room.saturating_sub(first));
    [cut(&one, one_has), cut(&two, two_has)]
}

/// What is to be trusted of either side: one line, or one for each where that has no room.
fn trust_of_both(of: Compared<'_>) -> Vec<Text> {
    let lang = of.lang;
    let [(base, base_sure), (other, other_sure)] = of.sides.both().map(|side| of_side(side, lang));
    let names = names(of.sides, lang);
    let one = |name: &str, said: &str| say!(lang, "{name} {said}", "{name} は{said}");
    let [on_base, on_other] = [one(&names[0], &base), one(&names[1], &other)];
    let whole = if base == other {
        say!(lang, "both {base}", "双方とも{base}")
    } else {
        say!(lang, "{on_base}; {on_other}", "{on_base}、{on_other}")
    };
    let toned = |text: &str, sure: bool| Text::doubtful(!sure, cut(text, ROOM));
    if columns(&whole) <= ROOM {
        return vec![toned(&whole, base_sure && other_sure)];
    }
    vec![toned(&on_base, base_sure), toned(&on_other, other_sure)]
}

/// What is to be trusted of a side, and whether all of it may be quoted: of a group how many runs may, and what the
/// first one of the others says.
fn of_side(side: &Party<'_>, lang: Lang) -> (String, bool) {
    let all: Vec<Trust> = side.runs().into_iter().map(Trust::of).collect();
    let doubtful = all.iter().find(|trust| !trust.may_be_quoted());
    let worst = doubtful.or(all.first());
    let why = worst.map(|trust| trust::brief(trust, "rounds", lang));
    let why = why.unwrap_or_default();
    if side.is_group() && doubtful.is_some() {
        let sure = all.iter().filter(|trust| trust.may_be_quoted()).count();
        let of = all.len();
        let text = say!(
            lang,
            "quotable in {sure} of {of} runs ({why})",
            "{of} 件中 {sure} 件が引用可（{why}）"
        );
        return (text, false);
    }
    (why, doubtful.is_none())
}

/// A category: its name; its ratio, interval and verdict, and by how many of its metrics where that has room.
fn row(category: &CategoryComparison, of: Compared<'_>, room: usize) -> (Text, Text) {
    let lang = of.lang;
    let (ratio, interval) = ratio_text(Some(category.ratio), category.interval.as_ref());
    let interval = match category.interval {
        Some(_) => format!("({interval})"),
        None => lang.pick("no interval", "区間なし").to_owned(),
    };
    let metrics = of.comparison.metrics.iter().filter(|metric| {
        metric.ratio.is_some() && stats::category_of(&metric.id.case.test) == category.category
    });
    let (by, all) = (category.metrics, metrics.count());
    let ratio = say!(lang, "{ratio} times as fast", "{ratio} 倍の速さ");
    let them = number::counted(all, "metric", "metrics");
    let figures = [
        wide(&ratio, RATIO),
        wide(&interval, INTERVAL),
        wide(verdict(category.verdict, lang), VERDICT),
    ];
    let short = figures.join("\u{a0}\u{a0}");
    let from = say!(lang, "  from {by} of {them}", "  {all} 項目中 {by} による");
    let long = short.clone() + &from;
    let text = if columns(&long) <= room { long } else { short };
    let tone = match category.verdict {
        Verdict::Better => Tone::Best,
        Verdict::Worse => Tone::Worse,
        _ => Tone::Plain,
    };
    // No line is broken within it.
    let text = Text::with(tone, text.trim_end().replace(' ', "\u{a0}"));
    (name_of_category(&category.category, lang).into(), text)
}

/// The verdicts in the order in which they are told.
const VERDICTS: [Verdict; 6] = [
    Verdict::Better,
    Verdict::Worse,
    Verdict::BetterMaybe,
    Verdict::WorseMaybe,
    Verdict::Same,
    Verdict::Unclear,
];

/// `faster at cpu and memory, slower at storage`: as many verdicts as there is room for.
fn in_all(of: Compared<'_>) -> String {
    let lang = of.lang;
    let told = VERDICTS.into_iter().filter_map(|wanted| {
        let all = of.comparison.categories.iter();
        let names = all.filter(|category| category.verdict == wanted);
        let names: Vec<&str> = names
            .map(|category| name_of_category(&category.category, lang))
            .collect();
        let list = listed(&names, lang)?;
        Some(match wanted {
            Verdict::Better => say!(lang, "faster at {list}", "{list} で速い"),
            Verdict::Worse => say!(lang, "slower at {list}", "{list} で遅い"),
            Verdict::BetterMaybe => say!(lang, "perhaps faster at {list}", "{list} で速い?"),
            Verdict::WorseMaybe => say!(lang, "perhaps slower at {list}", "{list} で遅い?"),
            Verdict::Same => say!(lang, "the same at {list}", "{list} で同等"),
            Verdict::Unclear => say!(lang, "unclear at {list}", "{list} で判定不能"),
        })
    });
    let line = joined(told.collect(), lang.pick(", ", "、"), ROOM);
    let again = lang.pick("; disturbed: measure again", "。外乱あり、要再測定");
    let categories = &of.comparison.categories;
    let differs = categories
        .iter()
        .any(|one| !matches!(one.verdict, Verdict::Same | Verdict::Unclear));
    let mut runs = of.sides.both().into_iter().flat_map(Party::runs);
    if differs
        && columns(&line) + columns(again) <= ROOM
        && runs.any(|run| matches!(Trust::of(run), Trust::Disturbed(..)))
    {
        return line + again;
    }
    line
}

/// `cpu, os and memory`; `None` for none.
fn listed(names: &[&str], lang: Lang) -> Option<String> {
    let (last, first) = names.split_last()?;
    if first.is_empty() {
        return Some((*last).to_owned());
    }
    let first = first.join(lang.pick(", ", "・"));
    Some(say!(lang, "{first} and {last}", "{first}・{last}"))
}

/// How many metrics have which verdict, and how many do not compare.
fn counts(of: Compared<'_>) -> String {
    let lang = of.lang;
    let metrics = &of.comparison.metrics;
    let compared = metrics.iter().filter(|metric| metric.ratio.is_some());
    let found: Vec<Verdict> = compared.map(|metric| metric.adjusted).collect();
    let mut parts: Vec<String> = VERDICTS
        .into_iter()
        .map(|wanted| (found.iter().filter(|one| **one == wanted).count(), wanted))
        .filter(|(n, _)| *n > 0)
        .map(|(n, wanted)| {
            let word = verdict(wanted, lang);
            say!(lang, "{n} {word}", "{word} {n}")
        })
        .collect();
    match metrics.len() - found.len() {
        0 => {}
        n => parts.push(say!(lang, "{n} not compared", "比較なし {n}")),
    }
    if parts.is_empty() {
        return super::summary::nothing(lang).to_owned();
    }
    parts.join(lang.pick(", ", "、"))
}

/// The same, followed by spaces up to so many columns.
fn wide(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    text.to_owned() + &"\u{a0}".repeat(missing)
}

#[cfg(test)]
mod tests;
