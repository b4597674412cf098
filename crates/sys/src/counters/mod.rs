//! What the kernel counts while we measure: CPU time by kind, pressure, throttling, memory kills, other processes.
//!
//! Readers only: each returns a total since boot (or since the cgroup was made), and whoever watches noise takes
//! differences. A figure that this kernel does not keep is an error with its reason, never 0. Every reader takes a
//! [`Tree`], and all of them together take about as long as one walk over /proc. See proc(5) and the kernel's
//! `accounting/psi.rst`, `admin-guide/cgroup-v1/` and `admin-guide/cgroup-v2.rst`.

pub mod cgroup;
pub mod network;
pub mod process;

pub use cgroup::Cgroups;
pub use process::{Process, Walk, process, processes};

use crate::tree::{Tree, TreeError, shorten};
use std::time::Duration;

const STAT: &str = "/proc/stat";
const VMSTAT: &str = "/proc/vmstat";

/// The first line of /proc/stat: time of all CPUs together since boot, in ticks of
/// [`crate::probe::ticks_per_second`]. `user` and `nice` contain the time of guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Programs at normal or raised priority.
    pub user: u64,
    /// Programs at lowered priority.
    pub nice: u64,
    /// The kernel.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do while I/O was under way.
    pub iowait: u64,
    /// Interrupts.
    pub irq: u64,
    /// Deferred work of interrupts.
    pub softirq: u64,
    /// Somebody else on the same physical CPU ran while we wanted to.
    pub steal: u64,
}

impl CpuTicks {
    /// What was counted between `earlier` and `self`. The kernel lets single fields (idle, iowait) run backwards at
    /// times; those count as nothing.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            nice: self.nice.saturating_sub(earlier.nice),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    /// Ticks in which nobody had anything for a CPU to do.
    pub fn unused(self) -> u64 {
        self.idle.saturating_add(self.iowait)
    }

    /// All ticks.
    pub fn all(self) -> u64 {
        let lost = self.unused().saturating_add(self.steal);
        self.busy().saturating_add(lost)
    }

    /// Ticks in which a CPU really worked for this machine.
    pub fn busy(self) -> u64 {
        [self.user, self.nice, self.system, self.irq, self.softirq]
            .iter()
            .fold(0, |sum, ticks| sum.saturating_add(*ticks))
    }
}

/// The CPU time of the whole machine by kind.
pub fn cpu(tree: &Tree) -> Result<CpuTicks, TreeError> {
    let text = tree.read(STAT)?;
    let line = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("cpu "))
        .ok_or_else(|| TreeError::content(STAT, "the first line is not `cpu`"))?;
    ticks(line)
}

/// The CPU time of each CPU that is online, by its number.
pub fn each_cpu(tree: &Tree) -> Result<Vec<(u32, CpuTicks)>, TreeError> {
    let text = tree.read(STAT)?;
    let of_cpu = |line: &str| {
        let (number, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
        Some(ticks(fields).map(|ticks| (number.parse().ok(), ticks)))
    };
    let found: Result<Vec<_>, _> = text.lines().map_while(of_cpu).collect();
    let numbered = found?.into_iter();
    Ok(numbered
        .filter_map(|(number, ticks)| Some((number?, ticks)))
        .collect())
}

fn ticks(fields: &str) -> Result<CpuTicks, TreeError> {
    let mut fields = fields.split_ascii_whitespace();
    let mut next = |name: &str| number(STAT, name, fields.next());
    Ok(CpuTicks {
        user: next("user")?,
        nice: next("nice")?,
        system: next("system")?,
        idle: next("idle")?,
        iowait: next("iowait")?,
        irq: next("irq")?,
        softirq: next("softirq")?,
        steal: next("steal")?,
    })
}

/// What tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A CPU.
    Cpu,
    /// Input and output.
    Io,
    /// Memory.
    Memory,
}

impl Resource {
    fn path(self) -> &'static str {
        match self {
            Self::Cpu => "/proc/pressure/cpu",
            Self::Io => "/proc/pressure/io",
            Self::Memory => "/proc/pressure/memory",
        }
    }
}

/// For how long, since boot, at least one task of this machine waited for `resource` (PSI, line `some`; the kernel
/// counts microseconds).
pub fn pressure(tree: &Tree, resource: Resource) -> Result<Duration, TreeError> {
    let path = resource.path();
    let text = tree.read(path)?;
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("some "))
        .and_then(|line| {
            line.split_ascii_whitespace()
                .find_map(|field| field.strip_prefix("total="))
        });
    number(path, "total of `some`", total).map(Duration::from_micros)
}

/// How many processes the kernel killed for want of memory since boot, in whatever cgroup (since Linux 4.13).
pub fn memory_kills(tree: &Tree) -> Result<u64, TreeError> {
    let text = tree.read(VMSTAT)?;
    number(VMSTAT, "oom_kill", keyed(&text, "oom_kill"))
}

/// The value of the line `key value`.
pub(crate) fn keyed<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ').map(str::trim))
}

/// The number in a field, or an error that names the field.
pub(crate) fn number(path: &str, name: &str, field: Option<&str>) -> Result<u64, TreeError> {
    let field = field.ok_or_else(|| TreeError::content(path, format!("it has no {name}")))?;
    field.parse().map_err(|_| {
        TreeError::content(
            path,
            format!("{name} is `{}`, not a number", shorten(field)),
        )
    })
}

#[cfg(test)]
mod tests;
