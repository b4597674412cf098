//! What every page of a run begins with, in at most [`LINES`] lines: which machine, whether its figures may be quoted,
//! and those figures that people quote.

use super::block::{Block, Text, Tone};
use super::{soak, title};
use crate::lang::{Lang, say};
use crate::number::{self, percent};
use crate::table::{columns, wrapped};
use crate::view::RunView;
use model::estimate::{Estimate, IndexSummary, MetricSummary, State};
use model::headline::Topic;
use model::host::HostFacts;
use model::plan::MetricId;
use model::record::{End, Run};
use model::spec::{How, Stat};
use model::units::{Nanos, UnixNanos};
use stats::{Disturber, Rounds, Trust};

/// The most lines, on a terminal of [`WIDTH`].
pub(crate) const LINES: usize = 10;

/// The columns for which these lines are made, whatever the terminal: two pages can be laid side by side.
const WIDTH: usize = 80;

/// Two columns of a list are the space of a heading above it; what stands behind a name is that far from it.
const SPACE: usize = 2;

/// The first lines of the page.
pub(crate) fn block(view: &RunView<'_>, lang: Lang) -> Block {
    let run = view.run;
    let machine = fitting(machine(run, lang), WIDTH);
    let made = fitting(made(run, lang), WIDTH - SPACE);
    let lines = lines(view, lang);
    let trust_name = lang.pick("trust", "信頼性");
    let names = lines.iter().map(|line| line.name).chain([trust_name]);
    let room = WIDTH - 2 * SPACE - names.map(columns).max().unwrap_or(0);
    let trust_text = trust(&view.trust, view.soak.is_some(), lang);
    let above = 2 + wrapped(&trust_text, room).lines().count();
    let tone = if view.trust.may_be_quoted() {
        Tone::Plain
    } else {
        Tone::Attention
    };
    let mut facts = vec![(trust_name.into(), Text::with(tone, trust_text))];
    if let Some(soak) = &view.soak {
        let course = lang.pick("course", "推移");
        facts.push((course.into(), soak::sentence(soak, lang).into()));
    } else {
        facts.extend(rows(lines, room, LINES.saturating_sub(above), lang));
    }
    let name = run.meta.label.as_deref().unwrap_or(&run.meta.id);
    let mut name = vec![name.into()];
    name.extend(title::soaked(run).map(|case| Text::name(case.to_string())));
    Block::Within(
        WIDTH,
        vec![Block::Title(name, machine, made), Block::Facts(facts)],
    )
}

/// As many parts as there is room for; the last ones matter least.
fn fitting(mut parts: Vec<String>, room: usize) -> String {
    loop {
        let line = parts.join(", ");
        if columns(&line) <= room || parts.len() <= 1 {
            return line;
        }
        parts.pop();
    }
}

/// The machine, what is worth most first.
fn machine(run: &Run, lang: Lang) -> Vec<String> {
    let HostFacts {
        cpu,
        memory,
        storage,
        kernel,
        platform,
        limits,
        ..
    } = &run.host;
    // The domain says where it stands, and takes the room of what it is.
    let host = run.host.hostname.known();
    let host = host.map(|name| name.split('.').next().unwrap_or_default().to_owned() + "  ");
    let model = cpu.model.known().map(|model| short_model(model));
    let cpus = cpu.online.known();
    let cpus = cpus.map(|n| lang.pick(number::counted(*n, "CPU", "CPUs"), format!("{n} CPU")));
    let quota = limits.cpu_quota.known().copied().flatten();
    let devices = storage.devices.known().map_or(&[][..], Vec::as_slice);
    let on = devices.first().map(|device| format!(" on {}", device.name));
    let file_system = storage.file_system.known();
    let named = run.plan.named.first().map(|named| named.path.clone());
    let disk = named.or_else(|| Some(file_system?.clone() + &on.unwrap_or_default()));
    let kernel = kernel.release.known();
    let kernel = kernel.and_then(|release| release.split('-').next());
    let parts = [
        model.or_else(|| run.host.hostname.known().map(|_| "CPU ?".to_owned())),
        cpus,
        quota.map(|cpus| super::host::quota(cpus, lang)),
        memory.total.known().map(|total| total.rounded()),
        disk,
        kernel.map(|release| format!("Linux {release}")),
        platform.virtualization.known().cloned().flatten(),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    if let (Some(host), Some(first)) = (host, parts.first_mut()) {
        *first = host + first;
    }
    parts
}

/// The name of a CPU without what every one of them says: `Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` is an
/// `Intel Xeon Platinum 8481C`.
fn short_model(model: &str) -> String {
    let plain = model.replace("(R)", "").replace("(TM)", "");
    let name = plain.split('@').next().unwrap_or_default();
    let said = |word: &&str| !matches!(*word, "CPU" | "Processor") && !word.ends_with("-Core");
    name.split_whitespace()
        .filter(said)
        .collect::<Vec<_>>()
        .join(" ")
}

/// When the run was made, how long it took, of how many rounds, how it ended, and by which program.
fn made(run: &Run, lang: Lang) -> Vec<String> {
    let meta = &run.meta;
    let label = meta.label.as_ref().map(|label| format!("\"{label}\""));
    let span = |end: UnixNanos| number::duration(Nanos(end.0.saturating_sub(meta.started.0)), lang);
    let rounds = stats::rounds_of_each(run);
    let of_each = number::counted(rounds, "round", "rounds");
    let end = match meta.end {
        End::Complete => None,
        End::Open => Some(lang.pick("not finished", "未終了")),
        End::Interrupted => Some(lang.pick("interrupted: partial", "中断（途中まで）")),
    };
    let left_out = match run.plan.dropped.len() {
        0 => None,
        n => Some(say!(lang, "{n} left out", "{n} 件を除外")),
    };
    let soaked = title::soaked(run);
    let parts = [
        soaked.map(ToString::to_string),
        Some(number::minute(meta.started) + " UTC"),
        meta.finished.map(span),
        (soaked.is_none() && rounds > 0).then(|| say!(lang, "{of_each}", "各 {rounds} 回")),
        end.map(str::to_owned),
        left_out,
        Some(format!("kurabe {}", meta.binary.version)),
        label,
        Some(meta.id.clone()),
    ];
    parts.into_iter().flatten().collect()
}

/// Whether the figures may be quoted, and what to do where they may not. A soak has stretches in the place of rounds.
pub(crate) fn trust(trust: &Trust, soak: bool, lang: Lang) -> String {
    let rounds = if soak { "stretches" } else { "rounds" };
    match trust {
        Trust::Nothing => say!(
            lang,
            "nothing was measured; the reasons stand below, or with `--full`",
            "何も測定されていません。理由は以下か `--full` にあります"
        ),
        Trust::Quiet { others, stolen } => quiet(*others, *stolen, rounds, lang),
        Trust::Quota(Rounds { n, of }) => say!(
            lang,
            "held back by a CPU quota in {n} of {of} {rounds}; quote the quota with the figures",
            "{of} 回中 {n} 回で CPU クォータによる制限。数値はクォータとともに引用してください"
        ),
        Trust::Disturbed(by, Rounds { n, of }) => {
            let en = format!("in {n} of {of} {rounds}; do not quote.");
            let ja = format!("（{of} 回中 {n} 回）。引用不可。");
            disturbed(by, &en, &ja, lang)
        }
        Trust::DebugBuild => say!(
            lang,
            "DEBUG BUILD: do not quote. Build with `cargo build --release`",
            "デバッグビルド: 引用不可。`cargo build --release` でビルドしてください"
        ),
        Trust::FewRounds(n) => {
            let need = stats::ROUNDS_MIN;
            say!(
                lang,
                "TOO FEW ROUNDS to quote: {n} of each, an interval takes {need}",
                "回数不足で引用不可: 各 {n} 回（区間には {need} 回必要）"
            )
        }
    }
}

fn quiet(others: Option<Rounds>, stolen: Option<f64>, rounds: &str, lang: Lang) -> String {
    let others = others.map(|Rounds { n, of }| match n {
        0 => say!(
            lang,
            "other programs used under 5 % of a CPU",
            "他のプログラムの CPU 使用は 5 % 未満"
        ),
        n => say!(
            lang,
            "other programs used a CPU in {n} of {of} {rounds}",
            "他のプログラムの CPU 使用は {of} 回中 {n} 回"
        ),
    });
    let host = stolen.map(|share| {
        let share = percent(share);
        say!(lang, "the host took {share}", "ホストによる占有 {share}")
    });
    let known: Vec<String> = [others, host].into_iter().flatten().collect();
    let whole = known.len() == 2;
    let known = known.join(lang.pick(", ", "、"));
    match known.as_str() {
        "" => say!(
            lang,
            "not known: this system tells nothing of other programs and of the host",
            "不明: 他のプログラムもホストも、このシステムでは分かりません"
        ),
        known if whole => say!(lang, "quiet: {known}", "静穏: {known}"),
        known => say!(
            lang,
            "quiet as far as known: {known}",
            "分かる範囲で静穏: {known}"
        ),
    }
}

/// Who disturbed it; how often, in English and in Japanese.
fn disturbed(by: &Disturber, en: &str, ja: &str, lang: Lang) -> String {
    match by {
        Disturber::Others(program, share) => {
            let share = percent(*share);
            let program = match program {
                Some(name) => format!("`{name}`"),
                None => lang.pick("other programs", "他のプログラム").to_owned(),
            };
            say!(
                lang,
                "DISTURBED: {program} used {share} of a CPU {en} Stop it and run again, or see `--full`",
                "外乱あり: {program} が CPU の {share} を使用{ja}止めて再測定するか、`--full` を参照"
            )
        }
        Disturber::Host(share) => say!(
            lang,
            "DISTURBED: the host took {share} of the CPU time {en} Run again at another hour",
            "外乱あり: ホストが CPU 時間の {share} を占有{ja}時間を変えて再測定してください",
            share = percent(*share)
        ),
        Disturber::Neighbour => say!(
            lang,
            "DISTURBED: something else ran on the core {en} Run again at another hour",
            "外乱あり: 同じコアで他の処理が動作{ja}時間を変えて再測定してください"
        ),
        Disturber::Clock => say!(
            lang,
            "DISTURBED: the clock was set or the machine slept {en} Run again",
            "外乱あり: 時計の変更かマシンの休止{ja}再測定してください"
        ),
    }
}

/// A line of headlines.
struct Line {
    topic: Topic,
    /// What stands before it.
    name: &'static str,
    items: Vec<Item>,
    /// What must be known of all of them.
    remark: Option<&'static str>,
}

/// A figure and what stands beside it where there is room.
struct Item {
    figure: String,
    beside: String,
}

/// What is known of each topic, from top to bottom.
fn lines(view: &RunView<'_>, lang: Lang) -> Vec<Line> {
    let indexes = view
        .indexes
        .iter()
        .filter_map(|index| of_index(index, lang));
    let indexes = indexes.map(|item| (Topic::Index, item));
    let headlines = view.headlines.iter();
    let mut test = "";
    let figures = headlines.filter_map(|one| {
        // Further copies of a test stand behind its first ones, without its name.
        let again = std::mem::replace(&mut test, &one.metric.case.test) == test;
        Some((one.topic, item(view, one, again, lang)?))
    });
    let mut lines: Vec<Line> = Vec::new();
    for (topic, item) in indexes.chain(figures) {
        match lines.last_mut().filter(|line| line.topic == topic) {
            Some(line) => line.items.push(item),
            None => lines.push(Line {
                topic,
                name: name_of(topic, lang),
                items: vec![item],
                remark: remark(topic, view.run, lang),
            }),
        }
    }
    lines
}

/// The rows of the lines, at most so many: one for each, and more of the first lines where there is room.
fn rows(mut lines: Vec<Line>, room: usize, most: usize, lang: Lang) -> Vec<(Text, Text)> {
    if lines.len() > most {
        merge(&mut lines, room, lang);
    }
    lines.truncate(most);
    let mut spare = most - lines.len();
    let mut facts = Vec::new();
    for line in lines {
        let mut rows = packed(&line, room).into_iter();
        facts.push((line.name.into(), rows.next().unwrap_or_default().into()));
        for row in rows.take(spare) {
            spare -= 1;
            facts.push(("".into(), row.into()));
        }
    }
    facts
}

/// Makes one line of the bandwidth of a disk and of what it syncs, where there is room for the figures of both.
fn merge(lines: &mut Vec<Line>, room: usize, lang: Lang) {
    let place = |topic| lines.iter().position(|line| line.topic == topic);
    let (Some(large), Some(syncs)) = (place(Topic::LargeBlocks), place(Topic::Syncs)) else {
        return;
    };
    let figures = [large, syncs]
        .map(|place| &lines[place].items)
        .into_iter()
        .flatten();
    let items = figures.map(|item| Item {
        figure: item.figure.clone(),
        beside: String::new(),
    });
    let both = Line {
        topic: Topic::Syncs,
        name: lang.pick("1M, sync", "1M, 同期"),
        items: items.collect(),
        remark: lines[syncs].remark,
    };
    if packed(&both, room).len() == 1 {
        lines[syncs] = both;
        lines.remove(large);
    }
}

/// The items of a line in rows of so many columns. What stands beside a figure gives way first.
fn packed(line: &Line, room: usize) -> Vec<String> {
    let remark = line.remark.map(|remark| format!(" {remark}"));
    let mut rows: Vec<String> = Vec::new();
    for item in &line.items {
        let whole = format!("{}{}", item.figure, item.beside);
        let reserved = match (&remark, rows.len()) {
            (Some(remark), 0 | 1) => columns(remark),
            _ => 0,
        };
        let joined = rows.last_mut().and_then(|row| {
            let forms = [&whole, &item.figure].map(|form| format!("{row}{GAP}{form}"));
            let form = forms
                .into_iter()
                .find(|form| columns(form) + reserved <= room)?;
            *row = form;
            Some(())
        });
        if joined.is_none() {
            let fits = columns(&whole) + reserved <= room;
            rows.push(if fits { whole } else { item.figure.clone() });
        }
    }
    if let (Some(first), Some(remark)) = (rows.first_mut(), remark) {
        *first += &remark;
    }
    rows
}

/// Between two items. What belongs together is held by spaces at which no line is broken.
const GAP: &str = "\u{a0} ";

fn of_index(index: &IndexSummary, lang: Lang) -> Option<Item> {
    let estimate = index.estimate.as_ref()?;
    let copies = copies(index.copies, lang);
    let value = number::plain(estimate).0;
    Some(Item {
        figure: held(&format!("{copies} {value}{}", within(estimate))),
        beside: String::new(),
    })
}

fn copies(n: u32, lang: Lang) -> String {
    let copies = number::counted(n, "copy", "copies");
    say!(lang, "{copies}", "{n} 並列")
}

/// A headline with its figure; `None` where it has none, for which the table has the reason.
fn item(view: &RunView<'_>, one: &stats::Headlined, again: bool, lang: Lang) -> Option<Item> {
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
    let figure = figure(view, metric(view, &one.metric)?, lang)?;
    let beside = one.beside.as_ref().and_then(|id| metric(view, id));
    let beside = beside.and_then(|metric| {
        let word = quantile_word(&metric.metric.how)?;
        let estimate = metric.estimate?;
        let scale = number::scale(metric.metric.unit, &metric.id.quantity, estimate.value);
        let value = scale.estimate(&estimate).0;
        Some(held(&format!(", {word} {value} {}", scale.unit)))
    });
    Some(Item {
        figure: held(&format!("{word}{copies}{figure}")),
        beside: beside.unwrap_or_default(),
    })
}

fn metric<'a>(view: &'a RunView<'_>, id: &MetricId) -> Option<&'a MetricSummary> {
    let mut metrics = view.metrics_of(&id.case);
    metrics.find(|metric| metric.id.quantity == id.quantity)
}

/// `p99` of a 99th percentile.
pub(crate) fn quantile_word(how: &How<String>) -> Option<String> {
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
fn figure(view: &RunView<'_>, metric: &MetricSummary, lang: Lang) -> Option<String> {
    let shown = view.shown(metric);
    let unit = &shown.unit.replace("ops/s", "/s");
    if let Some([low, high]) = view.levels(metric) {
        let State::TwoState { low_share, .. } = metric.state else {
            return None;
        };
        let (first, share, second) = if low_share >= 0.5 {
            (low, low_share, high)
        } else {
            (high, 1.0 - low_share, low)
        };
        let share = percent(share);
        return Some(say!(
            lang,
            "two levels: {first} ({share}) and {second} {unit}",
            "二つの水準: {first}（{share}）と {second} {unit}"
        ));
    }
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

/// ` +-2 %`: half of the interval as a share of the value, with one digit; nothing where there is no interval.
pub(crate) fn within(estimate: &Estimate) -> String {
    let interval = estimate.interval.as_ref();
    let half = interval.and_then(|interval| interval.relative_half_width(estimate.value));
    half.map_or_else(String::new, |half| {
        format!(" +-{}", number::one_digit(half))
    })
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
        Topic::PageCache => {
            Some(lang.pick("(memory, not the disk)", "（メモリー。ディスクではない）"))
        }
        _ if is_disk && in_memory && run.plan.named.is_empty() => {
            Some(lang.pick("(in memory)", "（メモリー上）"))
        }
        _ => None,
    }
}

/// What stands before a line.
const fn name_of(topic: Topic, lang: Lang) -> &'static str {
    let (en, ja) = match topic {
        Topic::Index => ("index", "指数"),
        Topic::Cpu => ("cpu", "CPU"),
        Topic::Os => ("os", "OS"),
        Topic::Memory => ("memory", "メモリー"),
        Topic::SmallReads => ("4k read", "4k 読込"),
        Topic::SmallWrites => ("4k write", "4k 書込"),
        Topic::LargeBlocks => ("1M", "1M"),
        Topic::Syncs => ("sync", "同期"),
        Topic::Storage => ("storage", "記憶装置"),
        Topic::PageCache => ("cache", "キャッシュ"),
        Topic::Database => ("database", "DB"),
        Topic::Network => ("network", "通信"),
    };
    match lang {
        Lang::En => en,
        Lang::Ja => ja,
    }
}

#[cfg(test)]
mod tests;
