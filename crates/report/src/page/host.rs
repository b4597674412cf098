//! The machine, for people: a few lines above a run, and everything that is known for `kurabe doctor`.
//!
//! A fact that is not known is shown with its reason: hidden is not the same as absent.

use super::block::Block;
use crate::lang::{Lang, say};
use crate::number;
use model::facts::{Brief, Known, Row, Section};
use model::host::{BlockDevice, Cache, Fact, HostFacts};
use model::named::{Named, NamedKind, ServerFact};
use model::plan::Plan;
use model::units::{Bytes, Nanos, Unit};

/// The page of a machine: everything known about it, section by section.
pub fn page(host: &HostFacts, lang: Lang) -> Vec<Block> {
    let sections = sections(host, lang).into_iter();
    sections
        .map(|(heading, facts)| Block::section(heading, vec![Block::facts(facts)]))
        .collect()
}

/// Every section with its facts: what is known, or why it is not.
fn sections(host: &HostFacts, lang: Lang) -> Vec<(&'static str, Vec<(String, String)>)> {
    let mut sections: Vec<(&str, Vec<(String, String)>)> = Section::ALL
        .into_iter()
        .map(|section| {
            let rows = section.rows().map(|row| {
                let known = |value: Known<'_>| known(section, value, lang);
                (
                    named(row.names, lang).to_owned(),
                    told((row.of)(host), known, lang),
                )
            });
            (named(section.names(), lang), rows.collect())
        })
        .collect();
    let programs = host.programs.iter();
    let programs = programs.map(|(name, fact)| {
        let no_version =
            |text: String| lang.pick(text.clone(), text.replace(NO_VERSION.0, NO_VERSION.1));
        let text = told(fact.clone(), no_version, lang);
        (name.clone(), text)
    });
    sections.push((lang.pick("programs", "プログラム"), programs.collect()));
    sections
}

fn named((en, ja): (&'static str, &'static str), lang: Lang) -> &'static str {
    lang.pick(en, ja)
}

fn told<T>(fact: Fact<T>, known: impl Fn(T) -> String, lang: Lang) -> String {
    match fact {
        Fact::Known(value) => known(value),
        Fact::Missing(why) if why.starts_with("read `") && why.ends_with(": ENOENT") => {
            let known = lang.pick(
                "unknown (the file is not there)",
                "不明（ファイルがありません）",
            );
            known.to_owned()
        }
        Fact::Missing(why) => say!(lang, "unknown: {why}", "不明: {why}"),
    }
}

/// What a program's line says where it tells no version.
const NO_VERSION: (&str, &str) = ("(no version told)", "（バージョン不明）");

/// A fact that is known, as text.
fn known(section: Section, known: Known<'_>, lang: Lang) -> String {
    let none = || none(lang).to_owned();
    let list = |items: Vec<String>| {
        if items.is_empty() {
            none()
        } else {
            items.join("; ")
        }
    };
    match known {
        Known::Text(text) => text.to_owned(),
        Known::Count(n) => n.to_string(),
        Known::Amount(amount) => bytes(amount),
        Known::Span(span) => nanos(span),
        Known::Megahertz(mhz) => format!("{mhz:.0} MHz"),
        Known::YesNo(true) => lang.pick("yes", "はい").to_owned(),
        Known::YesNo(false) => lang.pick("no", "いいえ").to_owned(),
        Known::Quota(cpus) => cpus.map_or_else(none, |cpus| quota(cpus, lang)),
        Known::Limit(limit) => limit.map_or_else(none, bytes),
        Known::Optional(kind) => match section {
            Section::Io => usable(kind, lang),
            Section::Platform => kind.map_or_else(|| bare_metal(lang).to_owned(), str::to_owned),
            _ => kind.map_or_else(none, str::to_owned),
        },
        Known::Caches(caches) => list(caches.iter().map(|one| cache(one, lang)).collect()),
        Known::Flags(flags) => flags.join(" "),
        Known::Table(table) => {
            let entries = table.iter().map(|(name, what)| format!("{name}: {what}"));
            list(entries.collect())
        }
        Known::Devices(devices) => list(devices.iter().map(device).collect()),
    }
}

fn none(lang: Lang) -> &'static str {
    lang.pick("none", "なし")
}

fn usable(refused: Option<&str>, lang: Lang) -> String {
    match refused {
        None => lang.pick("usable", "使用できます").to_owned(),
        Some(why) => say!(lang, "refused: {why}", "使用できません: {why}"),
    }
}

fn bare_metal(lang: Lang) -> &'static str {
    lang.pick("none (bare metal)", "なし（物理マシン）")
}

/// A quota such as `1.5`, without zeros behind the last digit that counts.
pub(crate) fn quota(cpus: f64, lang: Lang) -> String {
    let text = format!("{cpus:.2}");
    let cpus = text.trim_end_matches('0').trim_end_matches('.');
    let word = if cpus == "1" { "CPU" } else { "CPUs" };
    say!(lang, "quota of {cpus} {word}", "CPU クォータ {cpus}")
}

/// `2 CPUs`.
pub(crate) fn cpus(n: u32, lang: Lang) -> String {
    lang.pick(number::counted(n, "CPU", "CPUs"), format!("{n} CPU"))
}

/// The machine in a few lines: name of the line, and what is known of it. What is not known is left out here.
pub(crate) fn brief(host: &HostFacts, lang: Lang) -> Vec<(String, String)> {
    let line = |section: Section| {
        let facts = section.rows().map(|row| few_words(row, host, lang));
        (named(section.names(), lang).to_owned(), joined(facts))
    };
    let lines = Section::ALL.into_iter().map(line);
    lines.filter(|(_, text)| !text.is_empty()).collect()
}

/// Every fact of a set-up in which machines may differ: its name, whether it is told of every run, and the fact where
/// it is known. The same facts in the same order for every machine.
pub(super) fn set_up(host: &HostFacts, lang: Lang) -> Vec<(&'static str, bool, Option<String>)> {
    let rows = Section::ALL.into_iter().flat_map(Section::rows);
    let rows = rows.filter(|row| row.differs.is_some());
    rows.map(|row| {
        let text = match (row.of)(host) {
            Fact::Known(value) => Some(in_short(row, value, lang)),
            Fact::Missing(_) => None,
        };
        let text = text.filter(|text| !text.is_empty());
        (named(row.names, lang), row.brief.is_some(), text)
    })
    .collect()
}

/// A fact that is known; of long lists, what they come to.
fn in_short(row: &Row, value: Known<'_>, lang: Lang) -> String {
    match value {
        Known::Table(list) => {
            let begin = |word: &str| list.values().filter(|text| text.starts_with(word)).count();
            mitigated(begin("Mitigation"), begin("Vulnerable"), lang)
        }
        value => known(row.section, value, lang),
    }
}

/// A fact among a few others; `None` where it is none of these, or there is nothing to say of it.
fn few_words(row: &Row, host: &HostFacts, lang: Lang) -> Option<String> {
    let (brief, Fact::Known(value)) = (row.brief?, (row.of)(host)) else {
        return None;
    };
    let text = in_short(row, value, lang);
    let name = named(row.names, lang);
    match brief {
        _ if text.is_empty() || text == none(lang) => None,
        Brief::Alone => Some(text),
        Brief::Named => Some(format!("{name} {text}")),
    }
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// How many weaknesses of the CPU the kernel mitigates, and how many it leaves open.
pub(crate) fn mitigated(done: usize, open: usize, lang: Lang) -> String {
    let en = number::counted(done, "CPU weakness", "CPU weaknesses");
    match (lang, open) {
        (Lang::En, 0) => format!("{en} mitigated"),
        (Lang::En, open) => format!("{en} mitigated, {open} left open"),
        (Lang::Ja, 0) => format!("CPU の脆弱性 {done} 件を緩和済み"),
        (Lang::Ja, open) => format!("CPU の脆弱性 {done} 件を緩和済み、{open} 件は未対策"),
    }
}

/// What a server is.
pub(super) fn version(named: &Named) -> Option<&String> {
    let mut facts = named.server.iter();
    let version = facts.find(|fact| fact.name == ServerFact::VERSION);
    version.map(|fact| &fact.value)
}

/// What a peer says of its machine.
fn peer(named: &Named) -> Option<String> {
    let facts = named.server.iter();
    let facts = facts.filter(|fact| fact.name != ServerFact::VERSION);
    let facts = facts.map(
        |fact| match (fact.name.as_str(), fact.value.parse::<u64>()) {
            ("memory_bytes", Ok(size)) => bytes(Bytes(size)),
            ("cpus", Ok(count)) => number::counted(count, "CPU", "CPUs"),
            ("virtualisation", _) if fact.value == "none" => "bare metal".to_owned(),
            _ => fact.value.clone(),
        },
    );
    let facts: Vec<String> = facts.collect();
    (!facts.is_empty()).then(|| facts.join(", "))
}

/// The devices, files and servers that a run works on beside its own directory, a line for each.
pub(crate) fn works_on(plan: &Plan, lang: Lang) -> Vec<(String, String)> {
    plan.named
        .iter()
        .map(|named| {
            let devices = named.devices.known().map_or(&[][..], Vec::as_slice);
            // A device is named already; what it is and what lies below it says more.
            let model = devices.first().and_then(|device| device.model.known());
            let kinds: Vec<&str> = devices.iter().map(|device| device.kind.as_str()).collect();
            let how = match (named.kind, named.writes) {
                (kind, _) if kind.is_peer() => peer(named),
                (_, true) => Some(lang.pick("written to", "書き込みあり").to_owned()),
                (_, false) => Some(lang.pick("only read", "読み取りのみ").to_owned()),
            };
            let parts = [
                Some(named.path.clone()),
                Some(kinds.join(" < ")).filter(|kinds| !kinds.is_empty()),
                model.cloned(),
                named.size.known().copied().map(bytes),
                version(named).cloned(),
                how,
            ];
            let what = match named.kind {
                NamedKind::Load => lang.pick("load file", "負荷ファイル"),
                NamedKind::Output => lang.pick("output", "出力"),
                NamedKind::Peer | NamedKind::TokenPeer => lang.pick("measured with", "測定相手"),
                NamedKind::Device | NamedKind::File | NamedKind::Server => {
                    lang.pick("works on", "測定対象")
                }
            };
            (what.to_owned(), joined(parts))
        })
        .collect()
}

fn cache(cache: &Cache, lang: Lang) -> String {
    let (level, kind, size) = (cache.level, &cache.kind, bytes(cache.size));
    let shared = cpus(cache.shared_by, lang);
    say!(
        lang,
        "L{level} {kind} {size} for {shared}",
        "L{level} {kind} {size}（{shared} ごと）"
    )
}

fn device(device: &BlockDevice) -> String {
    let spins = device.rotational.known() == Some(&true);
    let throttle = device.throttle.known().copied().flatten();
    let parts = [
        Some(device.kind.clone()),
        device.size.known().copied().map(bytes),
        device.model.known().cloned(),
        device.scheduler.known().cloned(),
        spins.then(|| "rotational".to_owned()),
        throttle.map(|throttle| format!("throttled: {throttle}")),
        (device.buffered.known() == Some(&true)).then(|| "buffered".to_owned()),
    ];
    format!("{} ({})", device.name, joined(parts))
}

fn bytes(amount: Bytes) -> String {
    number::alone(Unit::Bytes, model::num::approx(amount.0))
}

fn nanos(span: Nanos) -> String {
    number::alone(Unit::Nanoseconds, model::num::approx(span.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{markdown, text};
    use crate::style::Style;
    use crate::testkit;
    use model::host::IoThrottle;

    #[test]
    fn doctor_shows_every_fact_and_why_the_others_are_missing() {
        insta::assert_snapshot!(
            "doctor_en",
            text(&page(&testkit::host(), Lang::En), Style::PLAIN)
        );
    }

    #[test]
    fn doctor_in_japanese_lines_up() {
        insta::assert_snapshot!(
            "doctor_ja",
            text(&page(&testkit::host(), Lang::Ja), Style::PLAIN)
        );
    }

    #[test]
    fn a_throttle_and_a_cache_below_a_device_are_told() {
        let mut host = testkit::host();
        let Fact::Known(devices) = &mut host.storage.devices else {
            panic!()
        };
        devices[0].throttle = Fact::Known(Some(IoThrottle {
            reads_per_s: Some(300),
            write_bytes_per_s: Some(1 << 20),
            ..IoThrottle::default()
        }));
        devices[0].buffered = Fact::Known(true);
        let page = markdown(&page(&host, Lang::En));
        let told = ", throttled: read 300 IOPS, write 1 MiB/s, buffered)";
        assert!(page.contains(told), "{page}");
    }

    #[test]
    fn a_machine_for_a_blog_is_lists_under_headings() {
        let page = markdown(&page(&testkit::host(), Lang::En));
        assert!(page.contains("### limits\n\n- cgroup: v2\n"), "{page}");
    }

    #[test]
    fn a_machine_of_which_nothing_is_known_says_so_for_each_fact() {
        let text = text(&page(&HostFacts::default(), Lang::En), Style::PLAIN);
        let document = crate::json::host(&HostFacts::default());
        let missing = document.matches("not looked at").count();
        assert_eq!(text.matches("unknown: not looked at").count(), missing);
        assert!(missing > 30);
        assert!(brief(&HostFacts::default(), Lang::En).is_empty());
    }

    #[test]
    fn every_fact_has_a_row() {
        let document = serde_json::to_value(HostFacts::default()).unwrap();
        let sections = document.as_object().unwrap().values();
        // A section is an object of facts; what stands alone has the key `missing`.
        let facts: usize = sections
            .map(|section| match section.as_object() {
                Some(facts) if !facts.contains_key("missing") => facts.len(),
                _ => 1,
            })
            .sum();
        assert_eq!(model::facts::ROWS.len(), facts);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [60, 80, 120] {
            let style = Style {
                width,
                color: false,
            };
            for line in text(&page(&testkit::host(), Lang::En), style).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
