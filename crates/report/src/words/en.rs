//! English.

mod comparison;

use super::{HostWords, RunWords, Words};
pub(super) use crate::number::counted as plural;
use model::comparison::Verdict;

pub(super) static WORDS: Words = Words {
    lang: crate::lang::Lang::En,
    run: RunWords {
        metric: "metric",
        unit: "unit",
        interval: "95 % interval",
    },
    host: HostWords {
        host: "host",
        name: "name",
        instance: "instance (digest)",
        boot: "boot (digest)",
        cpu: "CPU",
        arch: "architecture",
        online: "CPUs online",
        offline: "CPUs offline",
        sockets: "sockets",
        cores: "cores",
        threads_per_core: "threads per core",
        clock_rate: "nominal clock rate",
        governor: "frequency governor",
        caches: "caches",
        flags: "flags",
        numa: "NUMA nodes",
        limits: "limits",
        cgroup: "cgroup",
        cpu_quota: "CPU quota",
        cpus_allowed: "CPUs allowed",
        memory_limit: "memory limit",
        root: "root",
        container: "container",
        memory: "memory",
        available: "available",
        swap: "swap",
        huge_pages: "transparent huge pages",
        page_size: "page size",
        kernel: "kernel",
        build: "build",
        distribution: "distribution",
        mitigations: "mitigations",
        platform: "platform",
        virtualization: "virtualization",
        vendor: "vendor",
        product: "product",
        clock: "clock",
        clock_cost: "cost of a reading",
        tsc_reliable: "TSC reliable",
        storage: "storage",
        works_on: "works on",
        written_to: "written to",
        only_read: "only read",
        directory: "work directory",
        file_system: "file system",
        mount_options: "mount options",
        mount_point: "mount point",
        free: "free",
        devices: "devices",
        io: "I/O",
        programs: "programs",
        locale: "locale",
        none: "none",
        bare_metal: "none (bare metal)",
        yes: "yes",
        no: "no",
        usable: "usable",
        refused: |why| format!("refused: {why}"),
        unknown: |why| format!("unknown: {why}"),
        cpus: |n| plural(n, "CPU", "CPUs"),
        quota: |cpus| format!("quota of {}", cpus_of(cpus)),
        free_space: |size| format!("{size} free"),
        reading: |time| format!("{time} a reading"),
        mitigated: |done, open| {
            let done = plural(done, "CPU weakness", "CPU weaknesses");
            match open {
                0 => format!("{done} mitigated"),
                open => format!("{done} mitigated, {open} left open"),
            }
        },
    },
    comparison: comparison::WORDS,
    duel: super::duel::EN,
    refusal: comparison::refusal,
    verdict: Verdict::word,
};

/// So many CPUs, which need not be whole.
fn cpus_of(cpus: &str) -> String {
    let word = if cpus == "1" { "CPU" } else { "CPUs" };
    format!("{cpus} {word}")
}
