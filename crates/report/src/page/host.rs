//! The machine, for people: a few lines above a run, and everything that is known for `kurabe doctor`.
//!
//! A fact that is not known is shown with its reason: hidden is not the same as absent.

use super::block::Block;
use crate::lang::{Lang, say};
use crate::number;
use model::facts::{Known, Section};
use model::host::{BlockDevice, Cache, CpuFacts, Fact, HostFacts, KernelFacts, LimitFacts};
use model::host::{MemoryFacts, StorageFacts};
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
        let text = told(fact.clone(), |text| text, lang);
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
        Fact::Missing(why) => say!(lang, "unknown: {why}", "不明: {why}"),
    }
}

/// A fact that is known, as text.
fn known(section: Section, known: Known<'_>, lang: Lang) -> String {
    let none = || lang.pick("none", "なし").to_owned();
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
        Known::Caches(caches) => list(caches.iter().map(cache).collect()),
        Known::Flags(flags) => flags.join(" "),
        Known::Table(table) => {
            let entries = table.iter().map(|(name, what)| format!("{name}: {what}"));
            list(entries.collect())
        }
        Known::Devices(devices) => list(devices.iter().map(device).collect()),
    }
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

type Parts = Vec<Option<String>>;

/// The machine in a few lines: name of the line, and what is known of it. What is not known is left out here.
pub(crate) fn brief(host: &HostFacts, lang: Lang) -> Vec<(String, String)> {
    let of = |section: Section| named(section.names(), lang);
    [
        (lang.pick("host", "マシン"), brief_host(host, lang)),
        (of(Section::Cpu), brief_cpu(&host.cpu, lang)),
        (of(Section::Memory), brief_memory(&host.memory, lang)),
        (of(Section::Kernel), brief_kernel(&host.kernel, lang)),
        (of(Section::Limits), brief_limits(&host.limits, lang)),
        (of(Section::Storage), brief_storage(&host.storage, lang)),
        (of(Section::Clock), brief_clock(host, lang)),
    ]
    .into_iter()
    .map(|(name, parts)| (name.to_owned(), joined(parts)))
    .filter(|(_, text)| !text.is_empty())
    .collect()
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

fn brief_host(host: &HostFacts, lang: Lang) -> Parts {
    let platform = &host.platform;
    let virtualization = platform.virtualization.known();
    vec![
        host.hostname.known().cloned(),
        platform.vendor.known().cloned(),
        platform.product.known().cloned(),
        virtualization.map(|kind| kind.clone().unwrap_or_else(|| bare_metal(lang).to_owned())),
    ]
}

fn brief_cpu(cpu: &CpuFacts, lang: Lang) -> Parts {
    let layout = match (
        cpu.sockets.known(),
        cpu.cores.known(),
        cpu.threads_per_core.known(),
    ) {
        (Some(sockets), Some(cores), Some(threads)) => Some(say!(
            lang,
            "sockets {sockets}, cores {cores}, threads per core {threads}",
            "ソケット数 {sockets}, コア数 {cores}, コアあたりのスレッド数 {threads}"
        )),
        _ => None,
    };
    let cpus = |n: &u32| lang.pick(number::counted(*n, "CPU", "CPUs"), format!("{n} CPU"));
    vec![
        cpu.model.known().cloned(),
        cpu.online.known().map(cpus),
        layout,
    ]
}

fn brief_memory(memory: &MemoryFacts, lang: Lang) -> Parts {
    let swap = lang.pick("swap", "スワップ");
    let pages = lang.pick("transparent huge pages", "透過的ヒュージページ");
    let mode = memory.transparent_huge_pages.known();
    vec![
        memory.total.known().copied().map(bytes),
        memory
            .swap
            .known()
            .map(|amount| format!("{swap} {}", bytes(*amount))),
        mode.map(|mode| format!("{pages}: {mode}")),
    ]
}

fn brief_kernel(kernel: &KernelFacts, lang: Lang) -> Parts {
    let mitigations = kernel.mitigations.known().map(|list| {
        let begin = |word: &str| list.values().filter(|text| text.starts_with(word)).count();
        mitigated(begin("Mitigation"), begin("Vulnerable"), lang)
    });
    vec![
        kernel.release.known().cloned(),
        kernel.distribution.known().cloned(),
        mitigations,
    ]
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

fn brief_limits(limits: &LimitFacts, lang: Lang) -> Parts {
    let memory = limits.memory.known().copied().flatten();
    let allowed = lang.pick("CPUs allowed", "使用できる CPU 数");
    let limit = lang.pick("memory limit", "メモリ上限");
    vec![
        limits.container.known().cloned().flatten(),
        limits
            .cpu_quota
            .known()
            .copied()
            .flatten()
            .map(|cpus| quota(cpus, lang)),
        limits
            .cpus_allowed
            .known()
            .map(|n| format!("{allowed} {n}")),
        memory.map(|amount| format!("{limit} {}", bytes(amount))),
    ]
}

fn brief_storage(storage: &StorageFacts, lang: Lang) -> Parts {
    let devices = storage.devices.known().map_or(&[][..], Vec::as_slice);
    let chain: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let free = |amount: &Bytes| {
        let amount = bytes(*amount);
        say!(lang, "{amount} free", "空き {amount}")
    };
    vec![
        Some(storage.path.clone()).filter(|path| !path.is_empty()),
        storage.file_system.known().cloned(),
        Some(chain.join(" < ")).filter(|chain| !chain.is_empty()),
        storage.free.known().map(free),
    ]
}

/// The devices and files that a run works on beside its own directory, a line for each.
pub(crate) fn works_on(plan: &Plan, lang: Lang) -> Vec<(String, String)> {
    plan.named
        .iter()
        .map(|named| {
            let devices = named.devices.known().map_or(&[][..], Vec::as_slice);
            // A device is named already; what it is and what lies below it says more.
            let model = devices.first().and_then(|device| device.model.known());
            let kinds: Vec<&str> = devices.iter().map(|device| device.kind.as_str()).collect();
            let how = if named.writes {
                lang.pick("written to", "書き込みあり")
            } else {
                lang.pick("only read", "読み取りのみ")
            };
            let parts = [
                Some(named.path.clone()),
                Some(kinds.join(" < ")).filter(|kinds| !kinds.is_empty()),
                model.cloned(),
                named.size.known().copied().map(bytes),
                Some(how.to_owned()),
            ];
            (lang.pick("works on", "測定対象").to_owned(), joined(parts))
        })
        .collect()
}

fn brief_clock(host: &HostFacts, lang: Lang) -> Parts {
    let reading = |cost: &Nanos| {
        let cost = nanos(*cost);
        say!(lang, "{cost} a reading", "読み取り {cost}")
    };
    vec![
        host.clock.source.known().cloned(),
        host.clock.cost.known().map(reading),
    ]
}

fn cache(cache: &Cache) -> String {
    format!(
        "L{} {} {} /{}",
        cache.level,
        cache.kind,
        bytes(cache.size),
        cache.shared_by
    )
}

fn device(device: &BlockDevice) -> String {
    let spins = device.rotational.known() == Some(&true);
    let parts = [
        Some(device.kind.clone()),
        device.size.known().copied().map(bytes),
        device.model.known().cloned(),
        device.scheduler.known().cloned(),
        spins.then(|| "rotational".to_owned()),
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
