//! What differs between the set-ups of two runs, in plain words.
//!
//! Only facts that are known on both sides are compared: what one kernel hides is not a difference. Figures that a
//! machine states anew at every boot (clock rate, memory total) count as different beyond a tolerance. The machine's
//! name, the time and what was measured are no set-up and are not listed.

use model::comparison::Difference;
use model::host::{BlockDevice, Cache, Fact, HostFacts};
use model::named::Named;
use model::plan::Plan;
use model::record::{Binary, Run};
use model::units::{Bytes, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Relative difference up to which stated clock rates and amounts of memory count as equal: kernels reserve
/// different amounts for themselves.
const STATED_TOLERANCE: f64 = 0.02;

/// Everything that differs between the set-ups of `base` and `other`.
pub fn differences(base: &Run, other: &Run) -> Vec<Difference> {
    let mut list = List::default();
    list.binary(&base.meta.binary, &other.meta.binary);
    list.kernel(&base.host, &other.host);
    list.processors(&base.host, &other.host);
    list.limits(&base.host, &other.host);
    list.memory(&base.host, &other.host);
    list.platform(&base.host, &other.host);
    list.storage(&base.host, &other.host);
    list.named(&base.plan, &other.plan);
    list.programs(&base.host, &other.host);
    list.shapes(&base.plan, &other.plan);
    list.code(&base.plan, &other.plan);
    list.0
}

/// Everything that differs between the set-ups of two groups, each point once: the values of the base's runs and of the
/// other side's, in the order in which they are met. What differs only within a side is not listed.
pub(crate) fn between_groups(base: &[&Run], other: &[&Run]) -> Vec<Difference> {
    let mut found: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
    for here in base {
        for there in other {
            for Difference { what, base, other } in differences(here, there) {
                let at = found.iter().position(|entry| entry.0 == what);
                let at = at.unwrap_or_else(|| {
                    found.push((what, Vec::new(), Vec::new()));
                    found.len() - 1
                });
                push_new(&mut found[at].1, base);
                push_new(&mut found[at].2, other);
            }
        }
    }
    found
        .into_iter()
        .map(|(what, base, other)| Difference {
            what,
            base: base.join(" / "),
            other: other.join(" / "),
        })
        .collect()
}

/// Adds a value that the list does not hold yet.
pub(crate) fn push_new(list: &mut Vec<String>, value: String) {
    if !list.contains(&value) {
        list.push(value);
    }
}

#[derive(Default)]
struct List(Vec<Difference>);

impl List {
    fn texts(&mut self, what: &str, base: impl Into<String>, other: impl Into<String>) {
        let (base, other) = (base.into(), other.into());
        if base != other {
            self.0.push(Difference {
                what: what.to_owned(),
                base,
                other,
            });
        }
    }

    fn facts<T>(
        &mut self,
        what: &str,
        base: &Fact<T>,
        other: &Fact<T>,
        show: impl Fn(&T) -> String,
    ) {
        if let (Some(base), Some(other)) = (base.known(), other.known()) {
            self.texts(what, show(base), show(other));
        }
    }

    fn words(&mut self, what: &str, base: &Fact<String>, other: &Fact<String>) {
        self.facts(what, base, other, String::clone);
    }

    fn counts(&mut self, what: &str, base: &Fact<u32>, other: &Fact<u32>) {
        self.facts(what, base, other, ToString::to_string);
    }

    /// Amounts that need not agree to the last byte.
    fn amounts(&mut self, what: &str, base: &Fact<Bytes>, other: &Fact<Bytes>) {
        if let (Some(a), Some(b)) = (base.known(), other.known())
            && differs(model::num::approx(a.0), model::num::approx(b.0))
        {
            self.texts(what, a.rounded(), b.rounded());
        }
    }

    fn binary(&mut self, base: &Binary, other: &Binary) {
        self.texts("binary: version", &base.version, &other.version);
        if let (Some(base), Some(other)) = (&base.commit, &other.commit) {
            self.texts("binary: commit", base, other);
        }
        self.texts("binary: build", &base.build, &other.build);
        self.texts("binary: target", &base.target, &other.target);
        let linked = |binary: &Binary| {
            if binary.linked_statically {
                "static"
            } else {
                "dynamic"
            }
        };
        self.texts("binary: linking", linked(base), linked(other));
    }

    fn kernel(&mut self, base: &HostFacts, other: &HostFacts) {
        let before = self.0.len();
        self.words("kernel", &base.kernel.release, &other.kernel.release);
        if self.0.len() == before {
            // Another release is another build anyway.
            self.words("kernel: build", &base.kernel.version, &other.kernel.version);
        }
        self.words(
            "distribution",
            &base.kernel.distribution,
            &other.kernel.distribution,
        );
        if let (Some(base), Some(other)) = (
            base.kernel.mitigations.known(),
            other.kernel.mitigations.known(),
        ) {
            self.maps("mitigations", base, other);
        }
        self.words("clock source", &base.clock.source, &other.clock.source);
        self.facts(
            "clock: TSC reliable",
            &base.clock.tsc_reliable,
            &other.clock.tsc_reliable,
            yes_no,
        );
        self.words("locale", &base.locale, &other.locale);
    }

    /// One entry for each key whose text differs or that only one side lists.
    fn maps(
        &mut self,
        what: &str,
        base: &BTreeMap<String, String>,
        other: &BTreeMap<String, String>,
    ) {
        let text = |map: &BTreeMap<String, String>, key: &String| {
            map.get(key)
                .map_or_else(|| "not listed".to_owned(), String::clone)
        };
        let keys: BTreeSet<&String> = base.keys().chain(other.keys()).collect();
        for key in keys {
            self.texts(&format!("{what}: {key}"), text(base, key), text(other, key));
        }
    }

    fn processors(&mut self, base: &HostFacts, other: &HostFacts) {
        let (base, other) = (&base.cpu, &other.cpu);
        self.words("CPU model", &base.model, &other.model);
        self.texts("CPU architecture", &base.arch, &other.arch);
        self.counts("CPUs online", &base.online, &other.online);
        self.counts("CPUs offline", &base.offline, &other.offline);
        self.counts("CPU sockets", &base.sockets, &other.sockets);
        self.counts("CPU cores", &base.cores, &other.cores);
        self.counts(
            "threads per core",
            &base.threads_per_core,
            &other.threads_per_core,
        );
        self.counts("NUMA nodes", &base.numa_nodes, &other.numa_nodes);
        if let (Some(a), Some(b)) = (base.mhz.known(), other.mhz.known())
            && differs(*a, *b)
        {
            self.texts(
                "CPU clock rate stated",
                format!("{a:.0} MHz"),
                format!("{b:.0} MHz"),
            );
        }
        self.words("CPU governor", &base.governor, &other.governor);
        self.facts("CPU caches", &base.caches, &other.caches, |caches| {
            caches.iter().map(cache).collect::<Vec<_>>().join(", ")
        });
        if let (Some(base), Some(other)) = (base.flags.known(), other.flags.known()) {
            self.texts("CPU flags", only_in(base, other), only_in(other, base));
        }
    }

    fn limits(&mut self, base: &HostFacts, other: &HostFacts) {
        let (base, other) = (&base.limits, &other.limits);
        self.words("cgroup version", &base.cgroup, &other.cgroup);
        self.facts("CPU quota", &base.cpu_quota, &other.cpu_quota, |quota| {
            quota.map_or_else(|| "none".to_owned(), |cpus| format!("{cpus} CPUs"))
        });
        self.counts("CPUs allowed", &base.cpus_allowed, &other.cpus_allowed);
        self.facts("memory limit", &base.memory, &other.memory, |limit| {
            limit.map_or_else(|| "none".to_owned(), Bytes::rounded)
        });
        self.facts("container", &base.container, &other.container, or_none);
        self.texts("root", yes_no(&base.root), yes_no(&other.root));
    }

    fn memory(&mut self, base: &HostFacts, other: &HostFacts) {
        let (base, other) = (&base.memory, &other.memory);
        self.amounts("memory", &base.total, &other.total);
        self.amounts("swap", &base.swap, &other.swap);
        self.words(
            "transparent huge pages",
            &base.transparent_huge_pages,
            &other.transparent_huge_pages,
        );
        self.amounts("page size", &base.page_size, &other.page_size);
    }

    fn platform(&mut self, base: &HostFacts, other: &HostFacts) {
        let (base, other) = (&base.platform, &other.platform);
        self.facts(
            "virtualization",
            &base.virtualization,
            &other.virtualization,
            or_none,
        );
        self.words("vendor", &base.vendor, &other.vendor);
        self.words("product", &base.product, &other.product);
    }

    fn storage(&mut self, base: &HostFacts, other: &HostFacts) {
        let (io_base, io_other) = (&base.io, &other.io);
        let (base, other) = (&base.storage, &other.storage);
        self.words("file system", &base.file_system, &other.file_system);
        self.words("mount options", &base.mount_options, &other.mount_options);
        if let (Some(base), Some(other)) = (base.devices.known(), other.devices.known()) {
            self.texts("block devices", chain(base), chain(other));
            self.devices(base, other);
        }
        self.facts("io_uring", &io_base.io_uring, &io_other.io_uring, available);
        self.facts("libaio", &io_base.libaio, &io_other.libaio, available);
        self.facts("O_DIRECT", &io_base.o_direct, &io_other.o_direct, available);
    }

    fn devices(&mut self, base: &[BlockDevice], other: &[BlockDevice]) {
        for (base, other) in base.iter().zip(other) {
            let what = |fact: &str| format!("block device {}: {fact}", base.name);
            self.amounts(&what("size"), &base.size, &other.size);
            self.words(&what("scheduler"), &base.scheduler, &other.scheduler);
            self.facts(
                &what("rotational"),
                &base.rotational,
                &other.rotational,
                yes_no,
            );
            self.words(&what("model"), &base.model, &other.model);
        }
    }

    /// Devices and files that were measured in the place of a test file of the run's own.
    fn named(&mut self, base: &Plan, other: &Plan) {
        for at in 0..base.named.len().max(other.named.len()) {
            let (here, there) = (base.named.get(at), other.named.get(at));
            let what = |fact: &str| match here.or(there) {
                Some(named) => format!("measured {}{fact}", named.kind),
                None => String::new(),
            };
            self.texts(&what(""), measured(here), measured(there));
            let (Some(here), Some(there)) = (here, there) else {
                continue;
            };
            self.amounts(&what(": size"), &here.size, &there.size);
            self.words(
                &what(": digest of the serial number"),
                &here.serial,
                &there.serial,
            );
            if let (Some(base), Some(other)) = (here.devices.known(), there.devices.known()) {
                self.texts(&what(": block devices"), chain(base), chain(other));
                self.devices(base, other);
            }
        }
    }

    fn programs(&mut self, base: &HostFacts, other: &HostFacts) {
        for (name, here) in &base.programs {
            if let Some(there) = other.programs.get(name) {
                self.words(&format!("program: {name}"), here, there);
            }
        }
    }

    /// Which code does the work, where that differs for a test of both plans: each test once.
    fn code(&mut self, base: &Plan, other: &Plan) {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for case in &base.cases {
            let there = other.case(&case.id);
            let both = there.and_then(|there| {
                case.implementation
                    .as_ref()
                    .zip(there.implementation.as_ref())
            });
            if let Some((here, there)) = both
                && seen.insert(&case.id.test)
            {
                self.texts(&format!("code that runs: {}", case.id.test), here, there);
            }
        }
    }

    /// How long a round measures and warms up, where that differs for a case of both plans: each pair of lengths
    /// once, with the first case that has it.
    fn shapes(&mut self, base: &Plan, other: &Plan) {
        let mut seen: BTreeSet<(Nanos, Nanos, Nanos, Nanos)> = BTreeSet::new();
        for case in &base.cases {
            let Some(there) = other.case(&case.id) else {
                continue;
            };
            let (a, b) = (&case.shape, &there.shape);
            if seen.insert((a.warmup, a.measure, b.warmup, b.measure)) {
                self.texts(
                    &format!("length of a round: {} and others", case.id),
                    length(a.warmup, a.measure),
                    length(b.warmup, b.measure),
                );
            }
        }
    }
}

/// Whether two figures that need not agree exactly differ beyond what they may.
pub(crate) fn differs(a: f64, b: f64) -> bool {
    (a - b).abs() > STATED_TOLERANCE * a.abs().max(b.abs())
}

/// What `a` lists and `b` does not, or `none`.
fn only_in(a: &[String], b: &[String]) -> String {
    let b: BTreeSet<&String> = b.iter().collect();
    let only: BTreeSet<&str> = a
        .iter()
        .filter(|item| !b.contains(item))
        .map(String::as_str)
        .collect();
    if only.is_empty() {
        "none of its own".to_owned()
    } else {
        format!(
            "only here: {}",
            only.into_iter().collect::<Vec<_>>().join(" ")
        )
    }
}

fn chain(devices: &[BlockDevice]) -> String {
    if devices.is_empty() {
        return "none".to_owned();
    }
    let names = devices
        .iter()
        .map(|device| format!("{} ({})", device.name, device.kind));
    names.collect::<Vec<_>>().join(" on ")
}

fn measured(named: Option<&Named>) -> String {
    named.map_or_else(
        || "none: a test file of its own".to_owned(),
        |named| {
            let how = if named.writes {
                "written to"
            } else {
                "only read"
            };
            format!("{}, {how}", named.path)
        },
    )
}

fn cache(cache: &Cache) -> String {
    let shared = cache.shared_by;
    format!(
        "L{} {} {} shared by {shared}",
        cache.level,
        cache.kind,
        cache.size.rounded()
    )
}

fn length(warmup: Nanos, measure: Nanos) -> String {
    format!(
        "{} s after {} s of warm-up",
        measure.as_secs_f64(),
        warmup.as_secs_f64()
    )
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "facts hand out references, and this is how one is shown"
)]
fn yes_no(yes: &bool) -> String {
    (if *yes { "yes" } else { "no" }).to_owned()
}

#[expect(
    clippy::ref_option,
    reason = "facts hand out references to what they hold"
)]
fn or_none(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "none".to_owned())
}

#[expect(
    clippy::ref_option,
    reason = "facts hand out references to what they hold"
)]
fn available(refused: &Option<String>) -> String {
    refused
        .as_ref()
        .map_or_else(|| "available".to_owned(), |why| format!("refused: {why}"))
}

#[cfg(test)]
mod tests;
