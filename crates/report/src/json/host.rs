//! The host facts in documents: each fact as its value or `null`, with the reason why it is missing.

use super::finite;
use model::host::{
    BlockDevice, Cache, ClockFacts, CpuFacts, Fact, HostFacts, IoFacts, KernelFacts, LimitFacts,
    MemoryFacts, PlatformFacts, StorageFacts,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A fact, or why it is not known.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct FactPart<T> {
    /// The fact; null where it is not known, and where the fact is that there is none (no quota, no container).
    value: Option<T>,
    /// Why it is not known; null where it is known.
    missing: Option<String>,
}

impl<T> FactPart<T> {
    pub(super) fn new<S>(fact: &Fact<S>, convert: impl Fn(&S) -> Option<T>) -> Self {
        match fact {
            Fact::Known(value) => Self {
                value: convert(value),
                missing: None,
            },
            Fact::Missing(why) => Self {
                value: None,
                missing: Some(why.clone()),
            },
        }
    }
}

impl<T: Clone> FactPart<T> {
    pub(super) fn same(fact: &Fact<T>) -> Self {
        Self::new(fact, |value| Some(value.clone()))
    }

    fn optional(fact: &Fact<Option<T>>) -> Self {
        Self::new(fact, Clone::clone)
    }
}

/// Everything known about the machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HostPart {
    hostname: FactPart<String>,
    identity: IdentityPart,
    cpu: CpuPart,
    limits: LimitPart,
    memory: MemoryPart,
    kernel: KernelPart,
    platform: PlatformPart,
    clock: ClockPart,
    storage: StoragePart,
    io: IoPart,
    /// The programs of the machine that tests run: path and version line.
    programs: BTreeMap<String, FactPart<String>>,
    locale: FactPart<String>,
}

/// What tells one instance from another: digests from which the originals cannot be computed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct IdentityPart {
    /// Of the installation; survives reboots, and copies of an image may share it.
    machine: FactPart<String>,
    /// Of the boot.
    boot: FactPart<String>,
}

/// The processors.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CpuPart {
    model: FactPart<String>,
    arch: String,
    online: FactPart<u32>,
    offline: FactPart<u32>,
    sockets: FactPart<u32>,
    cores: FactPart<u32>,
    threads_per_core: FactPart<u32>,
    /// The nominal clock rate in MHz.
    mhz: FactPart<f64>,
    governor: FactPart<String>,
    caches: FactPart<Vec<CachePart>>,
    flags: FactPart<Vec<String>>,
    numa_nodes: FactPart<u32>,
}

/// One cache of CPU 0.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CachePart {
    level: u32,
    /// `data`, `instruction` or `unified`.
    kind: String,
    size_bytes: u64,
    /// How many logical CPUs share it.
    shared_by: u32,
}

/// What of the machine could be used.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LimitPart {
    cgroup: FactPart<String>,
    /// CPUs the quota allows; both keys null where there is no quota.
    cpu_quota: FactPart<f64>,
    cpus_allowed: FactPart<u32>,
    /// The memory limit; both keys null where there is none.
    memory_bytes: FactPart<u64>,
    root: bool,
    /// The kind of container; both keys null outside of containers.
    container: FactPart<String>,
}

/// Memory.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MemoryPart {
    total_bytes: FactPart<u64>,
    available_bytes: FactPart<u64>,
    swap_bytes: FactPart<u64>,
    transparent_huge_pages: FactPart<String>,
    page_size_bytes: FactPart<u64>,
}

/// The kernel and the distribution.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct KernelPart {
    release: FactPart<String>,
    version: FactPart<String>,
    distribution: FactPart<String>,
    mitigations: FactPart<BTreeMap<String, String>>,
}

/// Virtual or not, and whose.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlatformPart {
    /// The hypervisor; both keys null on bare metal.
    virtualization: FactPart<String>,
    vendor: FactPart<String>,
    product: FactPart<String>,
}

/// The clock.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ClockPart {
    source: FactPart<String>,
    /// What one reading costs.
    cost_ns: FactPart<u64>,
    tsc_reliable: FactPart<bool>,
}

/// What is behind the work directory.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StoragePart {
    path: String,
    file_system: FactPart<String>,
    mount_options: FactPart<String>,
    mount_point: FactPart<String>,
    free_bytes: FactPart<u64>,
    /// From the file system down to the disk.
    devices: FactPart<Vec<DevicePart>>,
}

/// One block device.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DevicePart {
    name: String,
    kind: String,
    size_bytes: FactPart<u64>,
    scheduler: FactPart<String>,
    rotational: FactPart<bool>,
    model: FactPart<String>,
}

/// What kinds of I/O the kernel lets us do: `value` says why it is refused; both keys null where it works.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct IoPart {
    io_uring: FactPart<String>,
    libaio: FactPart<String>,
    o_direct: FactPart<String>,
}

impl HostPart {
    /// Fills the part.
    pub(super) fn new(host: &HostFacts) -> Self {
        Self {
            hostname: FactPart::same(&host.hostname),
            identity: IdentityPart {
                machine: FactPart::same(&host.identity.machine),
                boot: FactPart::same(&host.identity.boot),
            },
            cpu: cpu(&host.cpu),
            limits: limits(&host.limits),
            memory: memory(&host.memory),
            kernel: kernel(&host.kernel),
            platform: platform(&host.platform),
            clock: clock(&host.clock),
            storage: storage(&host.storage),
            io: io(&host.io),
            programs: host
                .programs
                .iter()
                .map(|(name, fact)| (name.clone(), FactPart::same(fact)))
                .collect(),
            locale: FactPart::same(&host.locale),
        }
    }
}

fn cpu(cpu: &CpuFacts) -> CpuPart {
    let cache = |cache: &Cache| CachePart {
        level: cache.level,
        kind: cache.kind.clone(),
        size_bytes: cache.size.0,
        shared_by: cache.shared_by,
    };
    CpuPart {
        model: FactPart::same(&cpu.model),
        arch: cpu.arch.clone(),
        online: FactPart::same(&cpu.online),
        offline: FactPart::same(&cpu.offline),
        sockets: FactPart::same(&cpu.sockets),
        cores: FactPart::same(&cpu.cores),
        threads_per_core: FactPart::same(&cpu.threads_per_core),
        mhz: FactPart::new(&cpu.mhz, |mhz| finite(*mhz)),
        governor: FactPart::same(&cpu.governor),
        caches: FactPart::new(&cpu.caches, |caches| {
            Some(caches.iter().map(cache).collect())
        }),
        flags: FactPart::same(&cpu.flags),
        numa_nodes: FactPart::same(&cpu.numa_nodes),
    }
}

fn limits(limits: &LimitFacts) -> LimitPart {
    LimitPart {
        cgroup: FactPart::same(&limits.cgroup),
        cpu_quota: FactPart::new(&limits.cpu_quota, |quota| quota.and_then(finite)),
        cpus_allowed: FactPart::same(&limits.cpus_allowed),
        memory_bytes: FactPart::new(&limits.memory, |limit| limit.map(|bytes| bytes.0)),
        root: limits.root,
        container: FactPart::optional(&limits.container),
    }
}

fn memory(memory: &MemoryFacts) -> MemoryPart {
    MemoryPart {
        total_bytes: FactPart::new(&memory.total, |bytes| Some(bytes.0)),
        available_bytes: FactPart::new(&memory.available, |bytes| Some(bytes.0)),
        swap_bytes: FactPart::new(&memory.swap, |bytes| Some(bytes.0)),
        transparent_huge_pages: FactPart::same(&memory.transparent_huge_pages),
        page_size_bytes: FactPart::new(&memory.page_size, |bytes| Some(bytes.0)),
    }
}

fn kernel(kernel: &KernelFacts) -> KernelPart {
    KernelPart {
        release: FactPart::same(&kernel.release),
        version: FactPart::same(&kernel.version),
        distribution: FactPart::same(&kernel.distribution),
        mitigations: FactPart::same(&kernel.mitigations),
    }
}

fn platform(platform: &PlatformFacts) -> PlatformPart {
    PlatformPart {
        virtualization: FactPart::optional(&platform.virtualization),
        vendor: FactPart::same(&platform.vendor),
        product: FactPart::same(&platform.product),
    }
}

fn clock(clock: &ClockFacts) -> ClockPart {
    ClockPart {
        source: FactPart::same(&clock.source),
        cost_ns: FactPart::new(&clock.cost, |cost| Some(cost.0)),
        tsc_reliable: FactPart::same(&clock.tsc_reliable),
    }
}

pub(super) fn device_part(device: &BlockDevice) -> DevicePart {
    DevicePart {
        name: device.name.clone(),
        kind: device.kind.clone(),
        size_bytes: FactPart::new(&device.size, |bytes| Some(bytes.0)),
        scheduler: FactPart::same(&device.scheduler),
        rotational: FactPart::same(&device.rotational),
        model: FactPart::same(&device.model),
    }
}

fn storage(storage: &StorageFacts) -> StoragePart {
    StoragePart {
        path: storage.path.clone(),
        file_system: FactPart::same(&storage.file_system),
        mount_options: FactPart::same(&storage.mount_options),
        mount_point: FactPart::same(&storage.mount_point),
        free_bytes: FactPart::new(&storage.free, |bytes| Some(bytes.0)),
        devices: FactPart::new(&storage.devices, |devices| {
            Some(devices.iter().map(device_part).collect())
        }),
    }
}

fn io(io: &IoFacts) -> IoPart {
    IoPart {
        io_uring: FactPart::optional(&io.io_uring),
        libaio: FactPart::optional(&io.libaio),
        o_direct: FactPart::optional(&io.o_direct),
    }
}
