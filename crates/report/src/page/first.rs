//! What every page of a run begins with, in at most [`LINES`] lines: which machine, whether its figures may be quoted,
//! and those figures that people quote.

use super::block::{Block, Text};
use super::fit::{cut, joined};
use super::indexes::copies;
use super::{database, soak, title, trust};
use crate::grouped::grouped;
use crate::lang::{Lang, say};
use crate::number::{self, Scale};
use crate::table::{columns, wrapped};
use crate::view::{RunView, levels_in, shown_in};
use model::estimate::{Estimate, IndexSummary, MetricSummary};
use model::headline::Topic;
use model::line::Machine;
use model::origin::Origin;
use model::record::{End, Run};
use model::spec::{How, Stat};
use stats::Trust;

/// The most lines, on a terminal of [`WIDTH`].
pub(crate) const LINES: usize = 10;

/// The columns for which these lines are made, whatever the terminal: two pages can be laid side by side.
const WIDTH: usize = 80;

/// Two columns of a list are the space of a heading above it; what stands behind a name is that far from it.
const SPACE: usize = 2;

/// The first lines of the page.
pub(crate) fn block(view: &RunView<'_>, lang: Lang) -> Block {
    let run = view.run;
    let machine = joined(machine(run, lang), ", ", WIDTH);
    let made = made(run, lang);
    let lines = lines(view, lang);
    let trust_name = lang.pick("trust", "信頼性").to_owned();
    let names = lines.iter().map(|line| &line.name).chain([&trust_name]);
    let room = WIDTH - 2 * SPACE - names.map(|name| columns(name)).max().unwrap_or(0);
    let said = trust::whole(&view.trust, view.soak.is_some(), lang);
    // Where nothing was measured, reasons stand where figures would.
    let failed = if view.trust == Trust::Nothing {
        Vec::new()
    } else {
        stats::failed(run)
    };
    let failed = trust::failed(&failed, view.soak.is_some(), lang);
    let said = said + &failed + &trust::before(&view.seen, lang);
    let resume = super::next::resume(view);
    let above = 2 + wrapped(&said, room).lines().count() + usize::from(resume.is_some());
    let said = Text::doubtful(!view.trust.may_be_quoted(), said);
    let mut facts = vec![(trust_name.into(), said)];
    if let Some(soak) = &view.soak {
        let course = lang.pick("course", "推移");
        facts.push((course.into(), soak::sentence(soak, lang).into()));
        if let Some(rate) = soak::typical(soak, lang) {
            let typical = lang.pick("typical", "代表値");
            facts.push((typical.into(), rate.into()));
        }
    } else {
        // However much is to be said of the run, a figure stands there, be it a line more.
        facts.extend(rows(lines, room, LINES.saturating_sub(above).max(1)));
    }
    facts.extend(resume.map(|command| (lang.pick("go on", "再開").into(), command.into())));
    let name = run.meta.label.as_deref().unwrap_or(&run.meta.id);
    let mut name = vec![name.into()];
    name.extend(title::soaked(run).map(|case| Text::name(case.to_string())));
    Block::Within(
        WIDTH,
        vec![Block::Title(name, machine, made), Block::Facts(facts)],
    )
}

/// The machine, what is worth most first.
fn machine(run: &Run, lang: Lang) -> Vec<String> {
    let of = &run.host;
    // The domain says where it stands, and takes the room of what it is.
    let host = of.hostname.known();
    let host = host.map(|name| cut(name.split('.').next().unwrap_or_default(), HOST) + "  ");
    let model = of.cpu.model.known().map(|model| Machine::processor(model));
    let cpus = of.cpu.online.known().map(|n| super::host::cpus(*n, lang));
    let quota = of.limits.cpu_quota.known().copied().flatten();
    let devices = of.storage.devices.known().map_or(&[][..], Vec::as_slice);
    let on = devices.first().map(|device| format!(" on {}", device.name));
    let file_system = of.storage.file_system.known();
    let named = run.plan.measured().next().map(|named| named.path.clone());
    let disk = named.or_else(|| Some(file_system?.clone() + &on.unwrap_or_default()));
    let kernel = of.kernel.release.known();
    let kernel = kernel.and_then(|release| release.split('-').next());
    let parts = [
        model.or_else(|| of.hostname.known().map(|_| "CPU ?".to_owned())),
        cpus,
        quota.map(|cpus| super::host::quota(cpus, lang)),
        of.memory.total.known().map(|total| total.rounded()),
        disk,
        kernel.map(|release| format!("Linux {release}")),
        of.platform.virtualization.known().cloned().flatten(),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    if let (Some(host), Some(first)) = (host, parts.first_mut()) {
        *first = host + first;
    }
    parts
}

/// When the run was made, how long it took, of how many rounds, how it ended, and by which program; at the end always
/// by which name it is found.
fn made(run: &Run, lang: Lang) -> String {
    let meta = &run.meta;
    let left_out = match run.plan.dropped.len() {
        0 => None,
        n => Some(say!(lang, "{n} left out", "{n} 件を除外")),
    };
    let soaked = title::soaked(run);
    let parts = [
        soaked.map(ToString::to_string),
        Some(title::began(run, |at| number::minute(at) + " UTC", lang)),
        title::took(run, lang),
        rounds(run, lang).filter(|_| soaked.is_none()),
        (meta.end != End::Complete).then(|| title::end_word(meta.end, lang).to_owned()),
        left_out,
        Some(
            meta.origin
                .as_deref()
                .map_or_else(|| format!("kurabe {}", meta.binary.version), Origin::who),
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let id = &meta.id;
    let names = match &meta.label {
        Some(label) => vec![
            format!("\"{label}\", {id}"),
            format!("\"{label}\""),
            format!("\"{}\"", cut(label, LABEL)),
        ],
        None => vec![
            id.clone(),
            id.rsplit('-').next().unwrap_or_default().to_owned(),
        ],
    };
    let room = |name: &str| WIDTH - SPACE - ", ".len() - columns(name).min(WIDTH / 2);
    let whole = columns(&parts.join(", "));
    let found = names.iter().find(|name| whole <= room(name));
    let name = found.or(names.last()).map_or("", String::as_str);
    joined(parts, ", ", room(name)) + ", " + name
}

/// The columns of a label that has no room.
const LABEL: usize = 12;

/// The most columns of a host's name: what it is has room behind it.
const HOST: usize = 30;

/// How many rounds the cases have, and how many cases where not all have any; `None` where none has.
fn rounds(run: &Run, lang: Lang) -> Option<String> {
    let all = stats::rounds_of_each(run);
    let some: Vec<u32> = all.iter().copied().filter(|&rounds| rounds > 0).collect();
    let (fewest, most) = (some.iter().min()?, some.iter().max()?);
    let (n, of) = (some.len(), all.len());
    let alike = fewest == most;
    let (en, ja) = if alike {
        let rounds = number::counted(*most, "round", "rounds");
        (rounds, format!("各 {most} 回"))
    } else {
        let rounds = format!("{fewest} to {most} rounds");
        (rounds, format!("各 {fewest} から {most} 回"))
    };
    Some(if n < of {
        say!(
            lang,
            "{n} of {of} cases have {en}",
            "{of} 件中 {n} 件が{ja}"
        )
    } else if alike {
        lang.pick(en, ja)
    } else {
        lang.pick(en + " each", ja)
    })
}

/// A line of headlines.
struct Line {
    topic: Topic,
    /// What stands before it.
    name: String,
    items: Vec<Item>,
    /// What must be known of all of them.
    remark: Option<&'static str>,
}

/// A figure and what stands beside it where there is room.
struct Item {
    figure: String,
    beside: String,
}

/// What is known of each topic, from top to bottom. Large blocks and syncs of a disk share a line.
fn lines(view: &RunView<'_>, lang: Lang) -> Vec<Line> {
    let indexes = view.indexes.iter();
    let indexes = indexes.filter_map(|index| Some((Topic::Index, of_index(index, lang)?)));
    let headlines = view.headlines.iter();
    let mut test = "";
    let figures = headlines.filter_map(|one| {
        // Further copies of a test stand behind its first ones, without its name.
        let again = std::mem::replace(&mut test, &one.metric.case.test) == test;
        Some((one.topic, item(view, one, again, lang)?))
    });
    let items = indexes.chain(figures).map(|(topic, item)| match topic {
        Topic::LargeBlocks => (Topic::Syncs, (topic, item)),
        _ => (topic, (topic, item)),
    });
    let line = |(line, items): (Topic, Vec<(Topic, Item)>)| {
        let (mut topics, items): (Vec<Topic>, Vec<Item>) = items.into_iter().unzip();
        topics.dedup();
        let names: Vec<&str> = topics.into_iter().map(|of| name_of(of, lang)).collect();
        Line {
            topic: line,
            name: names.join(", "),
            items,
            remark: remark(line, view.run, lang),
        }
    };
    grouped(items).into_iter().map(line).collect()
}

/// Where there are more lines than rows, these are left to the table first: what an index holds, and what is told of a
/// disk by others.
const LEFT_FIRST: [Topic; 5] = [
    Topic::Files,
    Topic::PageCache,
    Topic::Os,
    Topic::Cpu,
    Topic::Storage,
];

/// The lines for so many rows, and whether any is left out that is not the last one. Without an index nothing else
/// tells of processors and kernel.
fn chosen(mut lines: Vec<Line>, most: usize) -> (Vec<Line>, bool) {
    let all = lines.len();
    if lines.iter().all(|line| line.topic != Topic::Index) {
        return (lines, false);
    }
    for topic in LEFT_FIRST {
        if lines.len() > most {
            lines.retain(|line| line.topic != topic);
        }
    }
    let is_less = lines.len() < all;
    (lines, is_less)
}

/// The rows of the lines, at most so many: one for each, and more of the first lines where there is room.
fn rows(lines: Vec<Line>, room: usize, most: usize) -> Vec<(Text, Text)> {
    let (lines, is_less) = chosen(lines, most);
    let mut spare = most.saturating_sub(lines.len());
    let mut facts: Vec<(Text, Text)> = Vec::new();
    for line in lines.iter().take(most) {
        let fits = |rows: &Vec<String>| {
            rows.len() <= 1 + spare && rows.iter().all(|row| columns(row) <= room)
        };
        let forms = (0..=line.items.len()).rev();
        let mut forms = forms.map(|with_beside| packed(line, with_beside, room));
        let mut rows = forms.find(fits).unwrap_or_else(|| packed(line, 0, room));
        let has_more = rows.len() > 1 + spare;
        rows.truncate(1 + spare);
        spare -= rows.len() - 1;
        if let Some(last) = rows.last_mut().filter(|_| has_more) {
            leave_out(last, line, room);
        }
        let names = [line.name.as_str()]
            .into_iter()
            .chain(std::iter::repeat(""));
        facts.extend(names.zip(rows).map(|(name, row)| (name.into(), row.into())));
    }
    if let (Some(line), Some((_, last))) = (lines[..most.min(lines.len())].last(), facts.last_mut())
        && (lines.len() > most || is_less)
    {
        leave_out(&mut last.text, line, room);
    }
    facts
}

/// Says at the end of a row that something was left out behind it.
fn leave_out(row: &mut String, line: &Line, room: usize) {
    let remark = line.remark.filter(|remark| row.ends_with(remark));
    let end = remark.map_or_else(|| MORE.to_owned(), |remark| format!("{MORE} {remark}"));
    let text = row.strip_suffix(remark.unwrap_or_default());
    let mut text = text.unwrap_or(row).trim_end().trim_end_matches(MORE);
    while columns(text) + columns(&end) > room
        && let Some((first, _)) = text.rsplit_once(GAP)
    {
        text = first;
    }
    *row = format!("{text}{end}");
}

/// Behind the last item where there is no room for more.
const MORE: &str = "; ...";

/// The items of a line in rows of so many columns, the first ones with what stands beside their figures.
fn packed(line: &Line, with_beside: usize, room: usize) -> Vec<String> {
    let remark = line.remark.map(|remark| format!(" {remark}"));
    let remark = remark.unwrap_or_default();
    let mut rows: Vec<String> = Vec::new();
    for (place, item) in line.items.iter().enumerate() {
        let mut text = item.figure.clone();
        if place < with_beside {
            text += &item.beside;
        }
        let reserved = if rows.len() < 2 { columns(&remark) } else { 0 };
        match rows.last_mut() {
            Some(row) if columns(&format!("{row}{GAP}{text}")) + reserved <= room => {
                *row += GAP;
                *row += &text;
            }
            _ => rows.push(text),
        }
    }
    if let Some(first) = rows.first_mut() {
        *first += &remark;
    }
    rows
}

/// Between two items. What belongs together is held by spaces at which no line is broken.
const GAP: &str = "; ";

/// What stands before an index with tests that no single number describes.
pub(super) fn mark_of(index: &IndexSummary) -> &'static str {
    if index.without_single_number.is_empty() {
        ""
    } else {
        number::NO_LEVEL_MARK
    }
}

fn of_index(index: &IndexSummary, lang: Lang) -> Option<Item> {
    let estimate = &index.whole()?;
    let copies = copies(index.copies, lang);
    let value = number::index(estimate).0;
    let mark = mark_of(index);
    Some(Item {
        figure: held(&format!("{copies} {mark}{value}{}", within(estimate))),
        beside: String::new(),
    })
}

/// A headline with its figure; `None` where it has none, for which the table has the reason.
fn item(view: &RunView<'_>, one: &stats::Headlined, again: bool, lang: Lang) -> Option<Item> {
    if let Some(told) = database::told(view, one, lang) {
        let by = if again {
            told.by
        } else {
            told.name() + lang.pick(", ", "、") + &told.by
        };
        // These are sentences, which may be broken.
        return Some(Item {
            figure: format!("{by}: {}{}", told.figure, told.beside),
            beside: String::new(),
        });
    }
    let [en, ja] = &one.words;
    let word = if again {
        String::new()
    } else {
        format!("{} ", lang.pick(en, ja))
    };
    let copies = if one.says_copies {
        format!("{} ", copies(one.metric.case.copies, lang))
    } else {
        String::new()
    };
    let metric = view.metric(&one.metric.case, &one.metric.quantity)?;
    let figure = figure(view, metric, lang)?;
    let beside = beside(view, one).map(|text| held(&text));
    Some(Item {
        figure: held(&format!("{word}{copies}{figure}")),
        beside: beside.unwrap_or_default(),
    })
}

/// `, p99 1.2 ms`, `, lost 0.2 %`: what stands beside the figure of a headline.
pub(super) fn beside(view: &RunView<'_>, one: &stats::Headlined) -> Option<String> {
    let beside = one.beside.as_ref()?;
    let metric = view.metric(&beside.case, &beside.quantity)?;
    let share = || Some(beside.quantity.strip_suffix("_share")?.to_owned());
    let word = quantile_word(&metric.metric.how).or_else(share)?;
    let estimate = metric.estimate?;
    let scale = number::scale(metric.metric.unit, &metric.id.quantity, estimate.value);
    let value = scale.estimate(&estimate).0;
    Some(format!(", {word} {value} {}", scale.unit))
}

/// `p99` of a 99th percentile.
fn quantile_word(how: &How<String>) -> Option<String> {
    match how {
        How::Of(_, Stat::Quantile(at) | Stat::QuantileOfFew(at)) => {
            let text = format!("{:.1}", at * 100.0);
            Some(format!(
                "p{}",
                text.trim_end_matches('0').trim_end_matches('.')
            ))
        }
        _ => None,
    }
}

/// The figure of a metric with its interval: or its two levels, or between which ends it is unstable.
pub(super) fn figure(view: &RunView<'_>, metric: &MetricSummary, lang: Lang) -> Option<String> {
    let scale = view.scale(metric);
    let unit = scale.unit.replace("ops/s", "/s");
    figure_in(metric, scale, &unit, lang)
}

/// The same in this scale, whose unit has this word.
pub(super) fn figure_in(
    metric: &MetricSummary,
    scale: Scale,
    unit: &str,
    lang: Lang,
) -> Option<String> {
    if let Some([[first, share], [second, _]]) = levels_in(metric, &scale, lang) {
        return Some(say!(
            lang,
            "two levels: {first} ({share}) and {second} {unit}",
            "二つの水準: {first}（{share}）と {second} {unit}"
        ));
    }
    let shown = shown_in(metric, scale);
    match metric.estimate.as_ref() {
        Some(estimate) => Some(format!("{} {unit}{}", shown.value, within(estimate))),
        None if shown.is_range => Some(say!(
            lang,
            "unstable, {range} {unit}",
            "不安定 {range} {unit}",
            range = shown.interval
        )),
        None => None,
    }
}

/// ` +-2 %`; nothing where there is no interval.
pub(super) fn within(estimate: &Estimate) -> String {
    half(estimate).map_or_else(String::new, |half| format!(" +-{half}"))
}

/// Half of the interval as a share of the value, with one digit; `None` where there is no interval.
pub(crate) fn half(estimate: &Estimate) -> Option<String> {
    let interval = estimate.interval.as_ref()?;
    let half = interval.relative_half_width(estimate.value)?;
    Some(number::one_digit(half))
}

/// The same in a piece that no line breaks.
fn held(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// What must be known of every figure of a line: that it is memory, and not a disk.
fn remark(topic: Topic, run: &Run, lang: Lang) -> Option<&'static str> {
    let file_system = run.host.storage.file_system.known();
    let in_memory = file_system.is_some_and(|kind| matches!(kind.as_str(), "tmpfs" | "ramfs"));
    let is_disk = matches!(
        topic,
        Topic::SmallReads | Topic::SmallWrites | Topic::LargeBlocks | Topic::Syncs | Topic::Storage
    );
    match topic {
        // Other programs take care in other ways that a file is none of the memory's.
        Topic::PageCache if run.meta.origin.is_some() => None,
        Topic::PageCache => {
            Some(lang.pick("(memory, not the disk)", "（メモリ。ディスクではない）"))
        }
        _ if is_disk && in_memory && run.plan.measured().next().is_none() => {
            Some(lang.pick("(in memory)", "（メモリ上）"))
        }
        _ => None,
    }
}

/// What stands before a line of this category of a comparison: the same as on the page of a run.
pub(crate) fn name_of_category(category: &str, lang: Lang) -> &str {
    let mut topics = [Topic::Cpu, Topic::Os, Topic::Memory].into_iter();
    let found = topics.find(|&topic| name_of(topic, Lang::En) == category);
    match category {
        "fs" => lang.pick(category, "ファイル"),
        // The column there has eight columns of the screen, and the Japanese word of other pages takes ten.
        "storage" => lang.pick(category, "ディスク"),
        _ => found.map_or(category, |topic| name_of(topic, lang)),
    }
}

/// What stands before a line.
fn name_of(topic: Topic, lang: Lang) -> &'static str {
    let (en, ja) = match topic {
        Topic::Index => ("index", "指数"),
        Topic::Cpu => ("cpu", "CPU"),
        Topic::Os => ("os", "OS"),
        Topic::Memory => ("memory", "メモリ"),
        Topic::SmallReads => ("4k read", "4k 読み込み"),
        Topic::SmallWrites => ("4k write", "4k 書き込み"),
        Topic::LargeBlocks => ("1M", "1M"),
        Topic::Syncs => ("sync", "同期"),
        Topic::Storage => ("storage", "ストレージ"),
        Topic::PageCache => ("cache", "キャッシュ"),
        Topic::Files => ("files", "ファイル"),
        Topic::Database => ("database", "DB"),
        Topic::Network => ("network", "通信"),
    };
    lang.pick(en, ja)
}

#[cfg(test)]
mod tests;
