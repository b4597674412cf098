//! How many CPUs, cores, sockets and NUMA nodes there are.
//!
//! Cores are counted as distinct sets of sibling threads, because core numbers repeat between sockets and, on some
//! machines, between dies. Where sysfs hides the topology it stays unknown: guessing "one thread per core" would hide
//! the very thing that makes two virtual CPUs worth one.

use super::{cpu::Info, fact, how_many, read_list};
use model::host::Fact;
use std::collections::BTreeSet;
use sys::tree::Tree;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node/online";

pub(super) struct Topology {
    pub(super) online: Fact<u32>,
    pub(super) offline: Fact<u32>,
    pub(super) sockets: Fact<u32>,
    pub(super) cores: Fact<u32>,
    pub(super) threads_per_core: Fact<u32>,
    pub(super) numa_nodes: Fact<u32>,
}

pub(super) fn read(tree: &Tree, info: &Info) -> Topology {
    let online = read_list(tree, &format!("{CPUS}/online")).and_then(not_empty);
    let offline = online.clone().and_then(|online| {
        let present = read_list(tree, &format!("{CPUS}/present"))?;
        Ok(how_many(&present.difference(&online).collect()))
    });
    let siblings = online.clone().and_then(|online| siblings(tree, &online));
    Topology {
        online: fact(
            online
                .as_ref()
                .map(how_many)
                .map_err(Clone::clone)
                .or_else(|why| listed(info).ok_or(why)),
        ),
        offline: fact(offline),
        sockets: fact(online.and_then(|online| sockets(tree, &online))),
        cores: fact(siblings.as_ref().map(how_many)),
        threads_per_core: fact(
            siblings
                .as_ref()
                .map(|sets| sets.iter().map(how_many).max().unwrap_or(1)),
        ),
        numa_nodes: fact(
            read_list(tree, NODES)
                .and_then(not_empty)
                .map(|nodes| how_many(&nodes)),
        ),
    }
}

fn not_empty(list: BTreeSet<u32>) -> Result<BTreeSet<u32>, String> {
    if list.is_empty() {
        return Err("the list is empty".to_owned());
    }
    Ok(list)
}

/// The number of CPUs that /proc/cpuinfo lists, where it lists any.
fn listed(info: &Info) -> Option<u32> {
    u32::try_from(info.values("processor").count())
        .ok()
        .filter(|count| *count > 0)
}

/// The distinct sets of hardware threads that share a core.
fn siblings(tree: &Tree, online: &BTreeSet<u32>) -> Result<BTreeSet<BTreeSet<u32>>, String> {
    online
        .iter()
        .map(|cpu| {
            let file = |name| format!("{CPUS}/cpu{cpu}/topology/{name}");
            // `core_cpus_list` is the new name (Linux 5.3) of the same file.
            read_list(tree, &file("thread_siblings_list"))
                .or_else(|why| read_list(tree, &file("core_cpus_list")).map_err(|_| why))
                .and_then(not_empty)
        })
        .collect()
}

/// The distinct sockets. The kernel writes -1 where the firmware does not tell.
fn sockets(tree: &Tree, online: &BTreeSet<u32>) -> Result<u32, String> {
    let packages = online
        .iter()
        .map(|cpu| {
            tree.read_number(&format!("{CPUS}/cpu{cpu}/topology/physical_package_id"))
                .map_err(|error| error.to_string())
        })
        .collect::<Result<BTreeSet<u64>, String>>()?;
    Ok(how_many(&packages))
}
