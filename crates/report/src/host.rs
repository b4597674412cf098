//! The machine, for people: a few lines above a run, and everything that is known for `kurabe doctor`.
//!
//! A fact that is not known is shown with its reason: hidden is not the same as absent.

use crate::number;
use crate::style::Style;
use crate::table::{Grid, indent};
use crate::words::{HostWords, Lang};
use dialects::printable::printable;
use model::host::{
    BlockDevice, Cache, CpuFacts, Fact, HostFacts, IoFacts, KernelFacts, LimitFacts, MemoryFacts,
    StorageFacts,
};
use model::plan::Plan;
use model::units::{Bytes, Nanos, Unit};

/// Everything known about the machine, section by section.
pub fn host_text(host: &HostFacts, style: Style, lang: Lang) -> String {
    let words = &lang.words().host;
    let mut out = String::new();
    for (heading, facts) in sections(host, words) {
        if facts.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&style.heading(heading));
        out.push('\n');
        let mut grid = Grid::new(2);
        for (name, text) in facts {
            grid.row(vec![name, text]);
        }
        out.push_str(&indent(&grid.render_wrapped(style.columns() - 2, &[])));
    }
    out
}

/// The machine in a few lines: name of the line, and what is known of it. What is not known is left out here.
pub(crate) fn brief(host: &HostFacts, words: &HostWords) -> Vec<(String, String)> {
    [
        (words.host, brief_host(host, words)),
        (words.cpu, brief_cpu(&host.cpu, words)),
        (words.memory, brief_memory(&host.memory, words)),
        (words.kernel, brief_kernel(&host.kernel, words)),
        (words.limits, brief_limits(&host.limits, words)),
        (words.storage, brief_storage(&host.storage, words)),
        (words.clock, brief_clock(host, words)),
    ]
    .into_iter()
    .map(|(name, parts)| {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (name.to_owned(), printable(&parts.join(", ")))
    })
    .filter(|(_, text)| !text.is_empty())
    .collect()
}

type Parts = Vec<Option<String>>;

fn brief_host(host: &HostFacts, words: &HostWords) -> Parts {
    let platform = &host.platform;
    vec![
        host.hostname.known().cloned(),
        platform.vendor.known().cloned(),
        platform.product.known().cloned(),
        platform
            .virtualization
            .known()
            .map(|kind| kind.clone().unwrap_or_else(|| words.bare_metal.to_owned())),
    ]
}

fn brief_cpu(cpu: &CpuFacts, words: &HostWords) -> Parts {
    let layout = match (
        cpu.sockets.known(),
        cpu.cores.known(),
        cpu.threads_per_core.known(),
    ) {
        (Some(sockets), Some(cores), Some(threads)) => Some(format!(
            "{} {sockets}, {} {cores}, {} {threads}",
            words.sockets, words.cores, words.threads_per_core
        )),
        _ => None,
    };
    vec![
        cpu.model.known().cloned(),
        cpu.online.known().map(|n| (words.cpus)(*n)),
        layout,
    ]
}

fn brief_memory(memory: &MemoryFacts, words: &HostWords) -> Parts {
    vec![
        memory.total.known().map(bytes),
        memory
            .swap
            .known()
            .map(|swap| format!("{} {}", words.swap, bytes(swap))),
        memory
            .transparent_huge_pages
            .known()
            .map(|mode| format!("{}: {mode}", words.huge_pages)),
    ]
}

fn brief_kernel(kernel: &KernelFacts, words: &HostWords) -> Parts {
    let mitigations = kernel.mitigations.known().map(|list| {
        let open = list
            .values()
            .filter(|text| text.starts_with("Vulnerable"))
            .count();
        let done = list
            .values()
            .filter(|text| text.starts_with("Mitigation"))
            .count();
        (words.mitigated)(done, open)
    });
    vec![
        kernel.release.known().cloned(),
        kernel.distribution.known().cloned(),
        mitigations,
    ]
}

fn brief_limits(limits: &LimitFacts, words: &HostWords) -> Parts {
    let quota = limits.cpu_quota.known().copied().flatten();
    let memory = limits.memory.known().copied().flatten();
    vec![
        limits.container.known().cloned().flatten(),
        quota.map(|quota| (words.quota)(&trimmed(quota))),
        limits
            .cpus_allowed
            .known()
            .map(|n| format!("{} {n}", words.cpus_allowed)),
        memory.map(|limit| format!("{} {}", words.memory_limit, bytes(&limit))),
    ]
}

fn brief_storage(storage: &StorageFacts, words: &HostWords) -> Parts {
    let chain = storage
        .devices
        .known()
        .filter(|devices| !devices.is_empty())
        .map(|devices| {
            let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
            names.join(" < ")
        });
    vec![
        Some(storage.path.clone()).filter(|path| !path.is_empty()),
        storage.file_system.known().cloned(),
        chain,
        storage
            .free
            .known()
            .map(|free| (words.free_space)(&bytes(free))),
    ]
}

/// The devices and files that a run works on beside its own directory, a line for each.
pub(crate) fn works_on(plan: &Plan, words: &HostWords) -> Vec<(String, String)> {
    plan.named
        .iter()
        .map(|named| {
            let devices = named.devices.known().map_or(&[][..], Vec::as_slice);
            // A device is named already; what it is and what lies below it says more.
            let model = devices.first().and_then(|device| device.model.known());
            let kinds: Vec<&str> = devices.iter().map(|device| device.kind.as_str()).collect();
            let how = if named.writes {
                words.written_to
            } else {
                words.only_read
            };
            let parts = [
                Some(named.path.clone()),
                Some(kinds.join(" < ")).filter(|kinds| !kinds.is_empty()),
                model.cloned(),
                named.size.known().map(bytes),
                Some(how.to_owned()),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            (words.works_on.to_owned(), printable(&parts.join(", ")))
        })
        .collect()
}

fn brief_clock(host: &HostFacts, words: &HostWords) -> Parts {
    vec![
        host.clock.source.known().cloned(),
        host.clock
            .cost
            .known()
            .map(|cost| (words.reading)(&nanos(cost))),
    ]
}

/// Collects the facts of one section: known, or why not.
struct Section<'a> {
    words: &'a HostWords,
    facts: Vec<(String, String)>,
}

impl<'a> Section<'a> {
    fn new(words: &'a HostWords) -> Self {
        Self {
            words,
            facts: Vec::new(),
        }
    }

    fn fact<T>(mut self, name: &str, fact: &Fact<T>, show: impl Fn(&T) -> String) -> Self {
        let text = match fact {
            Fact::Known(value) => show(value),
            Fact::Missing(why) => (self.words.unknown)(why),
        };
        self.facts.push((printable(name), printable(&text)));
        self
    }

    fn text(self, name: &str, fact: &Fact<String>) -> Self {
        self.fact(name, fact, String::clone)
    }

    fn count(self, name: &str, fact: &Fact<u32>) -> Self {
        self.fact(name, fact, ToString::to_string)
    }

    fn bytes(self, name: &str, fact: &Fact<Bytes>) -> Self {
        self.fact(name, fact, bytes)
    }

    fn plain(mut self, name: &str, text: &str) -> Self {
        self.facts.push((printable(name), printable(text)));
        self
    }
}

type Listed<'a> = (&'a str, Vec<(String, String)>);

fn sections<'a>(host: &HostFacts, words: &'a HostWords) -> Vec<Listed<'a>> {
    let platform = Section::new(words)
        .text(words.name, &host.hostname)
        .text(words.instance, &host.identity.machine)
        .text(words.boot, &host.identity.boot)
        .fact(
            words.virtualization,
            &host.platform.virtualization,
            |kind| kind.clone().unwrap_or_else(|| words.bare_metal.to_owned()),
        )
        .text(words.vendor, &host.platform.vendor)
        .text(words.product, &host.platform.product)
        .text(words.locale, &host.locale);
    let clock = Section::new(words)
        .text(words.clock, &host.clock.source)
        .fact(words.clock_cost, &host.clock.cost, nanos)
        .fact(words.tsc_reliable, &host.clock.tsc_reliable, |reliable| {
            yes_no(*reliable, words)
        });
    let programs = host
        .programs
        .iter()
        .fold(Section::new(words), |section, (name, fact)| {
            section.text(name, fact)
        });
    vec![
        (words.platform, platform.facts),
        (words.cpu, cpu(&host.cpu, words)),
        (words.limits, limits(&host.limits, words)),
        (words.memory, memory(&host.memory, words)),
        (words.kernel, kernel(&host.kernel, words)),
        (words.clock, clock.facts),
        (words.storage, storage(&host.storage, words)),
        (words.io, io(&host.io, words)),
        (words.programs, programs.facts),
    ]
}

fn cpu(cpu: &CpuFacts, words: &HostWords) -> Vec<(String, String)> {
    Section::new(words)
        .text(words.cpu, &cpu.model)
        .plain(words.arch, &cpu.arch)
        .count(words.online, &cpu.online)
        .count(words.offline, &cpu.offline)
        .count(words.sockets, &cpu.sockets)
        .count(words.cores, &cpu.cores)
        .count(words.threads_per_core, &cpu.threads_per_core)
        .fact(words.clock_rate, &cpu.mhz, |mhz| format!("{mhz:.0} MHz"))
        .text(words.governor, &cpu.governor)
        .fact(words.caches, &cpu.caches, |caches| {
            list(caches.iter().map(cache), words)
        })
        .count(words.numa, &cpu.numa_nodes)
        .fact(words.flags, &cpu.flags, |flags| flags.join(" "))
        .facts
}

fn limits(limits: &LimitFacts, words: &HostWords) -> Vec<(String, String)> {
    let none = || words.none.to_owned();
    Section::new(words)
        .text(words.cgroup, &limits.cgroup)
        .fact(words.cpu_quota, &limits.cpu_quota, |quota| {
            quota.map_or_else(none, |quota| (words.quota)(&trimmed(quota)))
        })
        .count(words.cpus_allowed, &limits.cpus_allowed)
        .fact(words.memory_limit, &limits.memory, |limit| {
            limit.as_ref().map_or_else(none, bytes)
        })
        .fact(words.container, &limits.container, |kind| {
            kind.clone().unwrap_or_else(none)
        })
        .plain(words.root, &yes_no(limits.root, words))
        .facts
}

fn memory(memory: &MemoryFacts, words: &HostWords) -> Vec<(String, String)> {
    Section::new(words)
        .bytes(words.memory, &memory.total)
        .bytes(words.available, &memory.available)
        .bytes(words.swap, &memory.swap)
        .text(words.huge_pages, &memory.transparent_huge_pages)
        .bytes(words.page_size, &memory.page_size)
        .facts
}

fn kernel(kernel: &KernelFacts, words: &HostWords) -> Vec<(String, String)> {
    Section::new(words)
        .text(words.kernel, &kernel.release)
        .text(words.build, &kernel.version)
        .text(words.distribution, &kernel.distribution)
        .fact(words.mitigations, &kernel.mitigations, |mitigations| {
            list(
                mitigations
                    .iter()
                    .map(|(name, what)| format!("{name}: {what}")),
                words,
            )
        })
        .facts
}

fn storage(storage: &StorageFacts, words: &HostWords) -> Vec<(String, String)> {
    Section::new(words)
        .plain(words.directory, &storage.path)
        .text(words.file_system, &storage.file_system)
        .text(words.mount_point, &storage.mount_point)
        .text(words.mount_options, &storage.mount_options)
        .bytes(words.free, &storage.free)
        .fact(words.devices, &storage.devices, |devices| {
            list(devices.iter().map(device), words)
        })
        .facts
}

fn io(io: &IoFacts, words: &HostWords) -> Vec<(String, String)> {
    let show = |refused: &Option<String>| {
        refused
            .as_ref()
            .map_or_else(|| words.usable.to_owned(), |why| (words.refused)(why))
    };
    Section::new(words)
        .fact("io_uring", &io.io_uring, show)
        .fact("libaio", &io.libaio, show)
        .fact("O_DIRECT", &io.o_direct, show)
        .facts
}

fn cache(cache: &Cache) -> String {
    format!(
        "L{} {} {} /{}",
        cache.level,
        cache.kind,
        bytes(&cache.size),
        cache.shared_by
    )
}

fn device(device: &BlockDevice) -> String {
    let parts = [
        Some(device.kind.clone()),
        device.size.known().map(bytes),
        device.model.known().cloned(),
        device.scheduler.known().cloned(),
        device
            .rotational
            .known()
            .and_then(|spins| spins.then(|| "rotational".to_owned())),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} ({})", device.name, parts.join(", "))
}

fn list(items: impl Iterator<Item = String>, words: &HostWords) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        words.none.to_owned()
    } else {
        items.join("; ")
    }
}

fn yes_no(yes: bool, words: &HostWords) -> String {
    if yes { words.yes } else { words.no }.to_owned()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "called through Fact::known, which lends"
)]
fn bytes(amount: &Bytes) -> String {
    number::alone(Unit::Bytes, model::num::approx(amount.0))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "called through Fact::known, which lends"
)]
fn nanos(span: &Nanos) -> String {
    number::alone(Unit::Nanoseconds, model::num::approx(span.0))
}

/// A quota such as `1.5`, without zeros behind the last digit that counts.
fn trimmed(quota: f64) -> String {
    let text = format!("{quota:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn doctor_shows_every_fact_and_why_the_others_are_missing() {
        insta::assert_snapshot!(
            "doctor_en",
            host_text(&testkit::host(), Style::PLAIN, Lang::En)
        );
    }

    #[test]
    fn doctor_in_japanese_lines_up() {
        insta::assert_snapshot!(
            "doctor_ja",
            host_text(&testkit::host(), Style::PLAIN, Lang::Ja)
        );
    }

    #[test]
    fn a_machine_of_which_nothing_is_known_says_so_for_each_fact() {
        let text = host_text(&HostFacts::default(), Style::PLAIN, Lang::En);
        let document = crate::json::host(&HostFacts::default());
        let missing = document.matches("not looked at").count();
        assert_eq!(text.matches("unknown: not looked at").count(), missing);
        assert!(missing > 30);
        assert!(brief(&HostFacts::default(), &Lang::En.words().host).is_empty());
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [60, 80, 120] {
            let style = Style {
                width,
                color: false,
            };
            for line in host_text(&testkit::host(), style, Lang::En).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
