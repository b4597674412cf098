//! What of the machine we may use: quotas, limits, affinity, root, and the container we may be in.

use super::{Probes, container, fact};
use model::host::LimitFacts;
use model::units::Bytes;
use sys::counters::Cgroups;
use sys::tree::Tree;

pub(super) fn facts(tree: &Tree, probes: &Probes) -> LimitFacts {
    let groups = Cgroups::find(tree);
    let ask = || groups.as_ref().map_err(Clone::clone);
    LimitFacts {
        cgroup: fact(ask().map(|groups| groups.version.name().to_owned())),
        cpu_quota: fact(ask().and_then(|groups| groups.cpu_quota(tree))),
        cpus_allowed: probes.cpus_allowed.clone(),
        memory: fact(ask().and_then(|groups| Ok(groups.memory_limit(tree)?.map(Bytes)))),
        root: probes.root,
        container: container::fact(tree, ask().map_or(&[], |groups| &groups.paths)),
        alone: probes.alone.clone(),
    }
}
