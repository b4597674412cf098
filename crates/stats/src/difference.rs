//! What differs between the set-ups of two runs, in plain words.
//!
//! Only facts that are known on both sides are compared: what one kernel hides is not a difference. Figures that a
//! machine states anew at every boot (clock rate, memory total) count as different beyond a tolerance. The machine's
//! name, the time and what was measured are no set-up and are not listed.

use model::comparison::Difference;
use model::facts::{Known, Section};
use model::host::{BlockDevice, Cache, Fact, HostFacts, IoThrottle};
use model::named::{Named, ServerFact};
use model::origin::Origin;
use model::plan::Plan;
use model::record::{Binary, Run, RunMeta};
use model::units::{Bytes, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Relative difference up to which stated clock rates and amounts of memory count as equal: kernels reserve
/// different amounts for themselves.
const STATED_TOLERANCE: f64 = 0.02;

/// The sections in the order in which differences are told: what is changed most often comes first.
const SECTIONS: [Section; 8] = [
    Section::Kernel,
    Section::Clock,
    Section::Cpu,
    Section::Limits,
    Section::Memory,
    Section::Platform,
    Section::Storage,
    Section::Io,
];

/// Everything that differs between the set-ups of `base` and `other`.
pub fn differences(base: &Run, other: &Run) -> Vec<Difference> {
    let mut list = List::default();
    list.programs_that_measured(&base.meta, &other.meta);
    if base.meta.origin.is_none() && other.meta.origin.is_none() {
        list.hosts(&base.host, &other.host);
    }
    list.named(&base.plan, &other.plan);
    list.programs(&base.host, &other.host);
    // How long a round of another program was is not known.
    if base.meta.origin.is_none() && other.meta.origin.is_none() {
        list.shapes(&base.plan, &other.plan);
    }
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

    fn words(&mut self, what: &str, base: &Fact<String>, other: &Fact<String>) {
        if let (Some(base), Some(other)) = (base.known(), other.known()) {
            self.texts(what, base, other);
        }
    }

    /// Amounts that need not agree to the last byte.
    fn amounts(&mut self, what: &str, base: &Fact<Bytes>, other: &Fact<Bytes>) {
        if let (Some(&base), Some(&other)) = (base.known(), other.known()) {
            self.amount(what, base, other);
        }
    }

    fn amount(&mut self, what: &str, base: Bytes, other: Bytes) {
        if differs(model::num::approx(base.0), model::num::approx(other.0)) {
            self.texts(what, base.rounded(), other.rounded());
        }
    }

    /// Which program measured: of ours which build.
    fn programs_that_measured(&mut self, base: &RunMeta, other: &RunMeta) {
        if base.origin.is_none() && other.origin.is_none() {
            return self.binary(&base.binary, &other.binary);
        }
        let who = |meta: &RunMeta| {
            let own = || format!("kurabe {}", meta.binary.version);
            meta.origin.as_deref().map_or_else(own, Origin::who)
        };
        self.texts("measured by", who(base), who(other));
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

    /// The facts of two machines that are part of the set-up.
    fn hosts(&mut self, base: &HostFacts, other: &HostFacts) {
        for row in SECTIONS.into_iter().flat_map(Section::rows) {
            if let Some(what) = row.differs
                && let (Fact::Known(base), Fact::Known(other)) = ((row.of)(base), (row.of)(other))
            {
                self.fact(row.section, what, base, other);
            }
        }
        if self.0.iter().any(|difference| difference.what == "kernel") {
            // Another release is another build anyway.
            self.0
                .retain(|difference| difference.what != "kernel: build");
        }
    }

    fn fact(&mut self, section: Section, what: &str, base: Known<'_>, other: Known<'_>) {
        match (base, other) {
            _ if base == other => {}
            (Known::Amount(base), Known::Amount(other)) => self.amount(what, base, other),
            (Known::Megahertz(base), Known::Megahertz(other)) if !differs(base, other) => {}
            (Known::Table(base), Known::Table(other)) => self.maps(what, base, other),
            (Known::Flags(base), Known::Flags(other)) => {
                self.texts(what, only_in(base, other), only_in(other, base));
            }
            (Known::Devices(base), Known::Devices(other)) => {
                self.texts(what, chain(base), chain(other));
                self.devices(base, other);
            }
            _ => self.texts(what, text(section, base), text(section, other)),
        }
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

    fn devices(&mut self, base: &[BlockDevice], other: &[BlockDevice]) {
        for (base, other) in base.iter().zip(other) {
            let what = |fact: &str| format!("block device {}: {fact}", base.name);
            self.amounts(&what("size"), &base.size, &other.size);
            self.words(&what("scheduler"), &base.scheduler, &other.scheduler);
            if let (Some(&base), Some(&other)) = (base.rotational.known(), other.rotational.known())
            {
                self.texts(&what("rotational"), yes_no(base), yes_no(other));
            }
            self.words(&what("model"), &base.model, &other.model);
            if let (Some(&base), Some(&other)) = (base.throttle.known(), other.throttle.known()) {
                let text = |throttle: Option<IoThrottle>| {
                    throttle.map_or_else(|| "none".to_owned(), |throttle| throttle.to_string())
                };
                self.texts(&what("throttle"), text(base), text(other));
            }
            if let (Some(&base), Some(&other)) = (base.buffered.known(), other.buffered.known()) {
                self.texts(&what("buffered"), yes_no(base), yes_no(other));
            }
        }
    }

    /// Devices, files and servers that were measured in the place of what the run would make itself.
    fn named(&mut self, base: &Plan, other: &Plan) {
        let [here, there] = [base, other].map(|plan| plan.measured().collect::<Vec<_>>());
        self.each_named(&here, &there);
        let [here, there] = [base, other].map(|plan| plan.servers().collect::<Vec<_>>());
        self.each_named(&here, &there);
        let [here, there] = [base, other].map(|plan| plan.peers().collect::<Vec<_>>());
        self.each_named(&here, &there);
        self.0.extend(of_servers(base, other));
    }

    fn each_named(&mut self, base: &[&Named], other: &[&Named]) {
        for at in 0..base.len().max(other.len()) {
            let (here, there) = (base.get(at).copied(), other.get(at).copied());
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
                    &format!("length of a round, such as of {}", case.id),
                    length(a.warmup, a.measure),
                    length(b.warmup, b.measure),
                );
            }
        }
    }
}

/// The facts of servers, and of peers that a token opens, that both plans know and that differ.
pub fn of_servers(base: &Plan, other: &Plan) -> Vec<Difference> {
    let mut list = List::default();
    let servers = base.servers().zip(other.servers());
    for (here, there) in servers.chain(base.peers().zip(other.peers())) {
        for fact in &here.server {
            let same = |other: &&ServerFact| other.name == fact.name;
            let other = there.server.iter().find(same);
            if let Some(other) = other.filter(|other| other.value != fact.value) {
                let what = format!("{}: {}", here.kind, fact.name);
                list.texts(&what, fact.told(), other.told());
            }
        }
    }
    list.0
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
        || "none: what the run makes itself".to_owned(),
        |named| {
            let how = match (named.kind, named.writes) {
                (kind, _) if kind.is_peer() => return named.path.clone(),
                (_, true) => "written to",
                (_, false) => "only read",
            };
            format!("{}, {how}", named.path)
        },
    )
}

/// A fact in English.
fn text(section: Section, known: Known<'_>) -> String {
    let none = || "none".to_owned();
    match known {
        Known::Text(text) => text.to_owned(),
        Known::Count(n) => n.to_string(),
        Known::Amount(amount) => amount.rounded(),
        Known::Span(span) => format!("{} ns", span.0),
        Known::Megahertz(mhz) => format!("{mhz:.0} MHz"),
        Known::YesNo(yes) => yes_no(yes).to_owned(),
        Known::Quota(quota) => quota.map_or_else(none, |cpus| format!("{cpus} CPUs")),
        Known::Limit(limit) => limit.map_or_else(none, Bytes::rounded),
        Known::Optional(refused) if section == Section::Io => {
            refused.map_or_else(|| "available".to_owned(), |why| format!("refused: {why}"))
        }
        Known::Optional(kind) => kind.unwrap_or("none").to_owned(),
        Known::Caches(caches) => caches.iter().map(cache).collect::<Vec<_>>().join(", "),
        Known::Flags(flags) => flags.join(" "),
        Known::Table(table) => table.keys().cloned().collect::<Vec<_>>().join(" "),
        Known::Devices(devices) => chain(devices),
    }
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

const fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

#[cfg(test)]
mod tests;
