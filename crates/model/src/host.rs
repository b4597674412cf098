//! What is known about the machine: the facts without which a number means nothing.
//!
//! Every fact is a [`Fact`]: known, or missing with its reason. Hidden is not the same as absent.

use crate::units::{Bytes, Nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A fact about the machine, or the reason why it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact<T> {
    /// Known.
    Known(T),
    /// Not known, and why.
    Missing(String),
}

impl<T> Fact<T> {
    /// The fact, where it is known.
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Missing(_) => None,
        }
    }

    /// Why it is not known.
    pub fn missing(&self) -> Option<&str> {
        match self {
            Self::Known(_) => None,
            Self::Missing(why) => Some(why),
        }
    }
}

impl<T> Default for Fact<T> {
    fn default() -> Self {
        Self::Missing("not looked at".to_owned())
    }
}

/// How a fact is written.
#[derive(Serialize, JsonSchema)]
struct Written<'a, T> {
    /// The fact; null where it is not known, and where the fact is that there is none (no quota, no container).
    value: Option<T>,
    /// Why it is not known; null where it is known.
    missing: Option<&'a str>,
}

/// How it is read: where no reason is given, the value counts, which may be null.
#[derive(Deserialize)]
#[serde(untagged)]
enum Read<T> {
    Missing { missing: String },
    Known { value: T },
}

impl<T: Serialize> Serialize for Fact<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (value, missing) = (self.known(), self.missing());
        Written { value, missing }.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fact<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Read::deserialize(deserializer)? {
            Read::Missing { missing } => Self::Missing(missing),
            Read::Known { value } => Self::Known(value),
        })
    }
}

impl<T: JsonSchema> JsonSchema for Fact<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Written::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::<T>::json_schema(generator)
    }
}

/// Everything known about the machine at the start of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// The machine's name.
    pub hostname: Fact<String>,
    /// What tells this instance from another.
    pub identity: IdentityFacts,
    /// The processors.
    pub cpu: CpuFacts,
    /// What of them, and of memory, we may use.
    pub limits: LimitFacts,
    /// Memory.
    pub memory: MemoryFacts,
    /// The kernel and the distribution.
    pub kernel: KernelFacts,
    /// Virtual or not, and whose.
    pub platform: PlatformFacts,
    /// The clock.
    pub clock: ClockFacts,
    /// What is behind the work directory.
    pub storage: StorageFacts,
    /// What kinds of I/O the kernel lets us do.
    pub io: IoFacts,
    /// The programs of the machine that shell tests run, by name: path and version line.
    pub programs: BTreeMap<String, Fact<String>>,
    /// The locale in force for programs that the tests run.
    pub locale: Fact<String>,
}

/// What tells one instance from another, as digests: 16 hexadecimal digits that say whether two runs come from the
/// same instance and nothing else. Half of the information of the 128-bit originals is gone, so that they cannot be
/// computed back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityFacts {
    /// Of the installation: `/etc/machine-id`. Survives reboots; copies of an image may share it.
    pub machine: Fact<String>,
    /// Of the boot: `/proc/sys/kernel/random/boot_id`. Another one on every boot.
    pub boot: Fact<String>,
}

/// The processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuFacts {
    /// The model's name.
    pub model: Fact<String>,
    /// `x86_64`, `aarch64`...
    pub arch: String,
    /// Logical CPUs that are online.
    pub online: Fact<u32>,
    /// Logical CPUs that are present but offline.
    pub offline: Fact<u32>,
    /// Sockets.
    pub sockets: Fact<u32>,
    /// Physical cores over all sockets.
    pub cores: Fact<u32>,
    /// Hardware threads per core; 2 or more is SMT.
    pub threads_per_core: Fact<u32>,
    /// The clock rate that the kernel states, in MHz; nominal, not what is really obtained.
    pub mhz: Fact<f64>,
    /// The frequency governor of CPU 0.
    pub governor: Fact<String>,
    /// The driver that the governor works with, which may choose rates by itself: `intel_pstate`, `acpi-cpufreq`...
    #[serde(default)]
    pub frequency_driver: Fact<String>,
    /// The caches that CPU 0 sees.
    pub caches: Fact<Vec<Cache>>,
    /// Feature flags, as the kernel lists them.
    pub flags: Fact<Vec<String>>,
    /// NUMA nodes.
    pub numa_nodes: Fact<u32>,
}

/// One cache of CPU 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 1, 2, 3...
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub kind: String,
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// How many logical CPUs share it.
    pub shared_by: u32,
}

/// What of the machine we may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitFacts {
    /// `v1`, `v2`, `hybrid` or `none`.
    pub cgroup: Fact<String>,
    /// CPUs the quota allows, such as 1.5; none (both keys of documents are null) where there is no quota. The tightest
    /// of all levels.
    pub cpu_quota: Fact<Option<f64>>,
    /// CPUs that the affinity mask or cpuset allows.
    pub cpus_allowed: Fact<u32>,
    /// The memory limit, or none. The tightest of all levels.
    #[serde(rename = "memory_bytes")]
    pub memory: Fact<Option<Bytes>>,
    /// True for root.
    pub root: bool,
    /// `docker`, `lxc`, `podman`...; none outside of containers.
    pub container: Fact<Option<String>>,
    /// True where no other kurabe measures on the machine. A run holds a lock by which it knows that.
    #[serde(default)]
    pub alone: Fact<bool>,
}

impl LimitFacts {
    /// How many copies "all" means here: the allowed CPUs, or fewer where a quota allows less (rounded up); at
    /// least 1.
    pub fn copies_all(&self) -> u32 {
        let allowed = self.cpus_allowed.known().copied().unwrap_or(1).max(1);
        match self.cpu_quota.known() {
            Some(Some(quota)) => {
                let whole =
                    u32::try_from(crate::num::round_to_u64(quota.ceil())).unwrap_or(allowed);
                allowed.min(whole.max(1))
            }
            _ => allowed,
        }
    }
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFacts {
    /// All of it.
    #[serde(rename = "total_bytes")]
    pub total: Fact<Bytes>,
    /// What could be used without swapping.
    #[serde(rename = "available_bytes")]
    pub available: Fact<Bytes>,
    /// Swap space.
    #[serde(rename = "swap_bytes")]
    pub swap: Fact<Bytes>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Fact<String>,
    /// The usual page size.
    #[serde(rename = "page_size_bytes")]
    pub page_size: Fact<Bytes>,
}

/// The kernel and the distribution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFacts {
    /// The release, such as `6.12.8`.
    pub release: Fact<String>,
    /// The build line.
    pub version: Fact<String>,
    /// The distribution's pretty name.
    pub distribution: Fact<String>,
    /// CPU weaknesses and what the kernel does about them, by name.
    pub mitigations: Fact<BTreeMap<String, String>>,
}

/// Virtual or not, and whose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlatformFacts {
    /// `kvm`, `xen`, `vmware`, `hyper-v`...; none on bare metal.
    pub virtualization: Fact<Option<String>>,
    /// The vendor in the machine's DMI table.
    pub vendor: Fact<String>,
    /// The product in the machine's DMI table.
    pub product: Fact<String>,
}

/// The clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockFacts {
    /// The kernel's clock source: `tsc`, `kvm-clock`, `arch_sys_counter`...
    pub source: Fact<String>,
    /// What one reading costs.
    #[serde(rename = "cost_ns")]
    pub cost: Fact<Nanos>,
    /// True where the CPU's counter runs at a constant rate and does not stop.
    pub tsc_reliable: Fact<bool>,
}

/// What is behind the work directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StorageFacts {
    /// The directory.
    pub path: String,
    /// The file system's type.
    pub file_system: Fact<String>,
    /// Its mount options.
    pub mount_options: Fact<String>,
    /// Its mount point.
    pub mount_point: Fact<String>,
    /// Free space for ordinary users.
    #[serde(rename = "free_bytes")]
    pub free: Fact<Bytes>,
    /// The block devices from the file system down to the disk (dm, md, partition, disk); empty where there is none.
    pub devices: Fact<Vec<BlockDevice>>,
}

/// One block device in the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDevice {
    /// The kernel's name: `vda1`, `dm-0`.
    pub name: String,
    /// `disk`, `partition`, `dm`, `md`, `loop`.
    pub kind: String,
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: Fact<Bytes>,
    /// The I/O scheduler in force.
    pub scheduler: Fact<String>,
    /// True for spinning disks, as the kernel believes.
    pub rotational: Fact<bool>,
    /// The model, or the dm/md name.
    pub model: Fact<String>,
    /// What the control groups of this process let it do with the device; none where they do not limit it.
    #[serde(default)]
    pub throttle: Fact<Option<IoThrottle>>,
    /// True for a loop device without direct I/O: what it reads and writes goes through the page cache of this machine.
    #[serde(default)]
    pub buffered: Fact<bool>,
}

/// The most of a device that a second allows; null where nothing limits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoThrottle {
    /// Bytes read.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written.
    pub write_bytes_per_s: Option<u64>,
    /// Reads.
    pub reads_per_s: Option<u64>,
    /// Writes.
    pub writes_per_s: Option<u64>,
}

impl fmt::Display for IoThrottle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |of: Option<u64>| of.map(|bytes| Bytes(bytes).rounded() + "/s");
        let ops = |of: Option<u64>| of.map(|ops| format!("{ops} IOPS"));
        let parts = [
            ("read", bytes(self.read_bytes_per_s)),
            ("read", ops(self.reads_per_s)),
            ("write", bytes(self.write_bytes_per_s)),
            ("write", ops(self.writes_per_s)),
        ];
        let known = parts
            .into_iter()
            .filter_map(|(what, most)| Some(format!("{what} {}", most?)));
        f.write_str(&known.collect::<Vec<_>>().join(", "))
    }
}

/// What kinds of I/O the kernel lets us do: the value says why one is refused, and there is none where it works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoFacts {
    /// `io_uring`.
    pub io_uring: Fact<Option<String>>,
    /// Linux native AIO.
    pub libaio: Fact<Option<String>>,
    /// `O_DIRECT` in the work directory.
    pub o_direct: Fact<Option<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_copies_is_the_tighter_of_affinity_and_quota() {
        let limits = |allowed, quota| LimitFacts {
            cpus_allowed: Fact::Known(allowed),
            cpu_quota: Fact::Known(quota),
            ..LimitFacts::default()
        };
        assert_eq!(limits(8, None).copies_all(), 8);
        assert_eq!(limits(8, Some(1.5)).copies_all(), 2);
        assert_eq!(limits(1, Some(4.0)).copies_all(), 1);
        assert_eq!(limits(4, Some(0.2)).copies_all(), 1);
        assert_eq!(LimitFacts::default().copies_all(), 1);
    }
}
