//! Family `memory`: bandwidth and latency of caches and memory, and how CPUs share lines.
//!
//! What the tests have in common is here: on which CPU a copy is kept, from which NUMA node its memory comes, which
//! pages it asks for, what it obtained, and whether there is enough of it. Memory is never taken so that somebody has
//! to swap: a size that does not fit is not measured, and the reason says what would fit.

use engine::workload::{Place, WorkError};
use model::host::HostFacts;
use model::params::Params;
use model::plan::Shape;
use model::spec::{Better, Fold, How, MetricClass, MetricDef, ParamDef, ParamKind, Role};
use model::units::{Nanos, Unit};
use std::io;
use sys::memory::numa::{self, Node};
use sys::memory::{Pages, Region, limits};
use sys::tree::Tree;

mod agreed;
mod bandwidth;
mod block;
mod curve;
mod latency;
mod levels;
mod loaded;
mod mbw;
mod paging;
mod places;
mod round_trip;

pub(crate) use bandwidth::BANDWIDTH;
pub(crate) use block::BLOCK;
pub(crate) use latency::LATENCY;
pub(crate) use levels::LEVELS;
pub(crate) use loaded::LOADED;
pub(crate) use mbw::MBW;
pub(crate) use round_trip::ROUND_TRIP;

use agreed::agreed;
use paging::page_values;
use places::{cpus, keep_on_a_cpu, pin};

/// Which pages are asked for.
const PAGES: ParamDef = ParamDef {
    name: "pages",
    kind: ParamKind::Choice(&["small", "huge", "usual"]),
    default: "huge",
    doc: "Pages asked for: `small` declines huge pages, `huge` asks for transparent huge pages and does not measure \
          without them, `usual` takes what the kernel gives. What was obtained is told.",
};

/// From which NUMA node memory comes.
const NODE: ParamDef = ParamDef {
    name: "node",
    kind: ParamKind::Choice(&["local", "remote"]),
    default: "local",
    doc: "NUMA node of the memory: that of the CPU which the copy is kept on, or the next one that has CPUs and \
          memory, which a note names.",
};

/// What the pages really are.
const HUGE_PAGE_SHARE: MetricDef = setting(
    "huge_page_share",
    Unit::Share,
    "The share of the memory that was in huge pages when the round ended, read back from the kernel's list of mappings.",
);
const PAGE_BYTES: MetricDef = setting(
    "page_bytes",
    Unit::Bytes,
    "The size of the pages that most of the memory was in: where it was huge pages, as the kernel tells their size \
     (`hpage_pmd_size`), and otherwise that of the mapping, read back likewise.",
);

/// A value that the body reports, as the mean over the copies.
const fn reported(
    quantity: &'static str,
    unit: Unit,
    better: Better,
    class: MetricClass,
    doc: &'static str,
) -> MetricDef {
    MetricDef {
        quantity,
        unit,
        better,
        class,
        how: How::Reported(Fold::Mean),
        role: Role::Plain,
        doc,
    }
}

/// What a round was set up with: told beside the figures, and none of them.
const fn setting(quantity: &'static str, unit: Unit, doc: &'static str) -> MetricDef {
    MetricDef {
        how: How::Setting,
        ..reported(quantity, unit, Better::Higher, MetricClass::Compute, doc)
    }
}

/// The shape where every copy sets memory of its own up. Two of them took twice as long as one on a machine of two
/// CPUs, where they wait for one another; more of them, on more CPUs, are expected to take no longer than that.
fn set_up_by_each(shape: Shape, copies: u32) -> Shape {
    Shape {
        setup: Nanos(shape.setup.0.saturating_mul(u64::from(copies.min(2)))),
        ..shape
    }
}

/// Whether the parameters ask for the memory of another node.
fn is_remote(params: &Params) -> bool {
    params.get("node").is_some() && params.text("node") == "remote"
}

fn pages(params: &Params) -> Pages {
    match params.text("pages") {
        "small" => Pages::Small,
        "huge" => Pages::Huge,
        _ => Pages::Usual,
    }
}

/// Why this machine cannot have the memory or the pages that the parameters ask for, as far as its facts tell.
fn supported(params: &Params, host: &HostFacts, bytes: u64) -> Result<(), String> {
    let thp = host.memory.transparent_huge_pages.known();
    let never = thp.is_some_and(|setting| setting == "never");
    if params.get("pages").is_some() && pages(params) == Pages::Huge && never {
        return Err("huge pages: transparent huge pages are switched off (`never`)".to_owned());
    }
    if is_remote(params) && host.cpu.numa_nodes.known() == Some(&1) {
        return Err("remote memory: the machine has one NUMA node".to_owned());
    }
    has_room(host, bytes)
}

/// Refuses what takes more memory than this machine has to give, as far as its facts tell.
pub(crate) fn has_room(host: &HostFacts, bytes: u64) -> Result<(), String> {
    let available = host.memory.available.known().map(|bytes| bytes.0);
    let limit = match host.limits.memory.known() {
        Some(Some(limit)) => Some(limit.0),
        _ => None,
    };
    match available.into_iter().chain(limit).min() {
        Some(least) if bytes > share_of(least) => Err(too_little(bytes, least, "memory")),
        _ => Ok(()),
    }
}

/// What of the available memory may be taken: nine tenths, because others need some while we measure.
const fn share_of(bytes: u64) -> u64 {
    bytes / 10 * 9
}

fn too_little(need: u64, have: u64, whose: &str) -> String {
    format!(
        "too little memory: {} MiB are needed, and 90 % of {} MiB of {whose} may be taken",
        need.div_ceil(1 << 20),
        have >> 20
    )
}

/// Refuses what would make anybody swap or be killed: `bytes` for each of the copies. The first copy asks for all of
/// them, before any has taken its own.
pub(crate) fn check_room(bytes: u64, place: &Place) -> Result<(), WorkError> {
    agreed(place, "room", || {
        let room =
            limits::room(&Tree::real()).map_err(|error| WorkError::Failed(error.to_string()))?;
        let need = bytes.saturating_mul(u64::from(if place.copy == 0 { place.copies } else { 1 }));
        if need > share_of(room.bytes) {
            let why = too_little(need, room.bytes, room.whose);
            return Err(WorkError::Unsupported(why));
        }
        Ok(())
    })
}

/// The same where one process takes `bytes` for all of the copies, and nothing of it is taken yet.
pub(crate) fn check_room_once(bytes: u64, place: &Place) -> Result<(), WorkError> {
    let alone = Place {
        copies: 1,
        copy: 0,
        ..place.clone()
    };
    check_room(bytes, &alone)
}

/// The room that all copies together may take, in bytes.
fn room_of_all() -> Result<u64, WorkError> {
    let room = limits::room(&Tree::real()).map_err(|error| WorkError::Failed(error.to_string()))?;
    Ok(share_of(room.bytes))
}

/// Of all the room, what one of the copies may take.
fn room_of_each(room: u64, place: &Place) -> u64 {
    room / u64::from(place.copies.max(1))
}

/// The node whose memory is used by the CPUs of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Remote {
    node: u32,
    used_by: u32,
}

impl Remote {
    /// What is told of it, because nodes may be at different distances.
    fn note(self) -> String {
        format!(
            "memory of NUMA node {}, used by CPUs of node {}",
            self.node, self.used_by
        )
    }
}

/// The node whose memory `cpu` is to use, where the parameters ask for another one than its own.
fn remote_node(params: &Params, cpu: u32) -> Result<Option<Remote>, WorkError> {
    if !is_remote(params) {
        // First touch does it: the thread is on its CPU already.
        return Ok(None);
    }
    next_node(cpu, &nodes()?).map(Some)
}

fn nodes() -> Result<Vec<Node>, WorkError> {
    numa::nodes(&Tree::real()).map_err(|error| WorkError::Failed(error.to_string()))
}

/// The next node behind that of `cpu`, and behind the last one the first, so that copies on all nodes load all nodes
/// alike. Nodes without memory have none to give; those of memory alone, which is of another kind, are taken where no
/// other node has both.
fn next_node(cpu: u32, nodes: &[Node]) -> Result<Remote, WorkError> {
    let own = nodes.iter().find(|node| node.cpus.contains(&cpu));
    let next = own.and_then(|own| {
        let others = |with_cpus: bool| {
            nodes.iter().filter(move |node| {
                node.number != own.number && node.has_memory && node.cpus.is_empty() != with_cpus
            })
        };
        let behind = |with_cpus| {
            let mut later = others(with_cpus).filter(|node| node.number > own.number);
            later.next().or_else(|| others(with_cpus).next())
        };
        let node = behind(true).or_else(|| behind(false))?;
        Some(Remote {
            node: node.number,
            used_by: own.number,
        })
    });
    next.ok_or_else(|| {
        let why = match nodes.len() {
            0 | 1 => "the machine has one NUMA node",
            _ => "no other NUMA node has memory",
        };
        WorkError::Unsupported(format!("remote memory: {why}"))
    })
}

/// Maps `bytes` for this `purpose` and touches all of it: from the node that is asked for, or else from that of `cpu`,
/// on which the calling thread must be and will measure. Memory that is elsewhere is refused.
fn region(
    purpose: &str,
    bytes: u64,
    pages: Pages,
    cpu: u32,
    remote: Option<Remote>,
) -> Result<Region, WorkError> {
    let nodes = nodes()?;
    let mut region = map(purpose, bytes, pages)?;
    if let Some(Remote { node, .. }) = remote {
        numa::bind(&region, node)
            .map_err(|error| WorkError::failed("mbind to node", node, error))?;
    }
    region.touch();
    let own = nodes.iter().find(|node| node.cpus.contains(&cpu));
    // A filter may forbid the question; then first touch is trusted.
    let local = own.filter(|_| nodes.len() > 1 && numa::node_of(&region, 0).is_ok());
    let expected = remote.map(|remote| remote.node);
    if let Some(expected) = expected.or(local.map(|node| node.number)) {
        check_nodes(region.len(), expected, |offset| {
            numa::node_of(&region, offset)
        })?;
    }
    Ok(region)
}

/// Pages of a region that are looked at: where a node is full, the kernel goes on with another one.
const LOOKED_AT: usize = 16;

/// Refuses memory of `len` bytes that is not all on the node `expected`; `node_of` tells where a byte is.
fn check_nodes(
    len: usize,
    expected: u32,
    node_of: impl Fn(usize) -> io::Result<u32>,
) -> Result<(), WorkError> {
    for part in 0..LOOKED_AT {
        let found = node_of(len.saturating_sub(1) / (LOOKED_AT - 1) * part)
            .map_err(|error| WorkError::failed("get_mempolicy of", "the memory", error))?;
        if found == expected {
            continue;
        }
        // Where the first page is elsewhere already, rounds on this CPU would fail one like the other: its node has no
        // memory, or a cpuset or a policy keeps it away.
        return Err(if part == 0 {
            WorkError::Unsupported(format!(
                "memory of node {expected}: the kernel gives that of node {found}\nhint: numactl \
                 --cpunodebind={found} --membind={found} measures with the CPUs that this memory belongs to, as does a \
                 cpuset of both"
            ))
        } else {
            WorkError::Failed(format!(
                "place memory on node `{expected}`: some of it is on node {found}"
            ))
        });
    }
    Ok(())
}

fn map(purpose: &str, bytes: u64, pages: Pages) -> Result<Region, WorkError> {
    let len = usize::try_from(bytes).unwrap_or(usize::MAX);
    Region::new(len, pages).map_err(|error| not_mapped(purpose, bytes, &error))
}

/// Memory that the kernel refuses. That there is enough of it was seen to before, so it is mostly a limit.
fn not_mapped(purpose: &str, bytes: u64, error: &io::Error) -> WorkError {
    let hint = if error.kind() == io::ErrorKind::OutOfMemory {
        "\nhint: `ulimit -v unlimited`, where a limit on the address space is in the way; or a smaller `size` with \
         `--set`, or fewer `--copies`"
    } else {
        ""
    };
    // Rounded up: less than a KiB more than there was asked for.
    let size = bytes.div_ceil(1024);
    WorkError::Failed(format!("map {size} KiB for {purpose}: {error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;
    use engine::workload::Workload;
    use model::host::Fact;
    use model::units::Bytes;
    use std::collections::BTreeSet;

    #[test]
    fn a_second_copy_sets_up_longer_and_a_third_does_not() {
        let workloads: [&dyn Workload; 4] = [&BANDWIDTH, &LATENCY, &LEVELS, &MBW];
        for workload in workloads {
            let shape = |copies| workload.shape_of(&testing::params(workload, &[]), copies);
            let name = workload.spec().name;
            assert_eq!(shape(2).setup.0, 2 * shape(1).setup.0, "{name}");
            assert_eq!(shape(96), shape(2), "{name}");
            assert_eq!(shape(2).measure, shape(1).measure, "{name}");
        }
    }

    #[test]
    fn what_was_chosen_or_obtained_is_a_setting_and_what_was_measured_is_none() {
        let all = crate::ALL.iter().map(|workload| workload.spec());
        let settings: BTreeSet<&str> = all
            .flat_map(|spec| spec.metrics)
            .filter(|metric| metric.is_setting())
            .map(|metric| metric.quantity)
            .collect();
        let expected = [
            "array_bytes",
            "arriving_iops",
            "entries",
            "huge_page_share",
            "page_bytes",
            "size_bytes",
            "vector_bytes",
            "working_set_bytes",
        ];
        assert_eq!(settings, BTreeSet::from(expected));
    }

    #[test]
    fn what_a_machine_cannot_have_is_refused_when_the_plan_is_made() {
        let mut host = HostFacts::default();
        host.memory.available = Fact::Known(Bytes(1 << 30));
        host.memory.transparent_huge_pages = Fact::Known("never".to_owned());
        host.cpu.numa_nodes = Fact::Known(1);
        let check = |host: &HostFacts, set: &[(&str, &str)], bytes, expected: &str| {
            let params = testing::params(&LATENCY, set);
            let found = supported(&params, host, bytes).err().unwrap_or_default();
            assert!(
                if expected.is_empty() {
                    found.is_empty()
                } else {
                    found.contains(expected)
                },
                "{set:?} {bytes}: `{found}`"
            );
        };
        let small = [("pages", "small")];
        check(&host, &small, 1 << 20, "");
        check(&host, &[("pages", "huge")], 1 << 20, "switched off");
        check(
            &host,
            &[("pages", "small"), ("node", "remote")],
            1,
            "one NUMA node",
        );
        check(
            &host,
            &small,
            1 << 30,
            "1024 MiB are needed, and 90 % of 1024 MiB",
        );
        host.limits.memory = Fact::Known(Some(Bytes(256 << 20)));
        check(&host, &small, 512 << 20, "90 % of 256 MiB");
    }

    #[test]
    fn memory_that_cannot_be_mapped_is_named_with_its_purpose_its_size_and_a_way_out() {
        let error = map("the arrays", u64::MAX / 2, Pages::Usual).unwrap_err();
        assert!(matches!(error, WorkError::Failed(_)), "{error:?}");
        let text = error.to_string();
        let size = (u64::MAX / 2).div_ceil(1024);
        assert!(
            text.starts_with(&format!("map {size} KiB for the arrays: ")),
            "{text}"
        );
        let refused = not_mapped("the chain", 2048, &io::Error::from_raw_os_error(12)).to_string();
        assert!(
            refused.starts_with("map 2 KiB for the chain: "),
            "{refused}"
        );
        assert!(
            refused.contains("\nhint: `ulimit -v unlimited`"),
            "{refused}"
        );
    }

    #[test]
    fn more_than_there_is_is_not_measured() {
        let (_root, mut place) = testing::place();
        check_room(1 << 20, &place).unwrap();
        let error = check_room(1 << 60, &place).unwrap_err();
        assert!(matches!(error, WorkError::Unsupported(_)), "{error}");
        place.copies = 1 << 20;
        assert!(check_room(1 << 34, &place).is_err(), "all copies count");
        check_room_once(1 << 20, &place).unwrap();
        assert!(check_room_once(1 << 60, &place).is_err());
    }

    #[test]
    fn the_remote_node_is_the_next_one_with_memory_and_with_cpus_as_far_as_there_is_any() {
        let node = |number, cpus: &[u32]| Node {
            number,
            cpus: cpus.to_vec(),
            has_memory: true,
        };
        let check = |cpu, nodes: &[Node], expected: Result<(u32, u32), &str>| {
            let found = next_node(cpu, nodes).map(|remote| (remote.node, remote.used_by));
            let found = found.map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{cpu} {nodes:?}");
        };
        let two = [node(0, &[0, 1]), node(3, &[2])];
        check(1, &two, Ok((3, 0)));
        check(2, &two, Ok((0, 3)));
        check(
            0,
            &two[..1],
            Err("remote memory: the machine has one NUMA node"),
        );
        // Every node serves one other.
        let four = [0, 1, 2, 3].map(|number| node(number, &[number, number + 4]));
        for (cpu, served_by) in [(0, 1), (1, 2), (2, 3), (3, 0), (4, 1), (7, 0)] {
            check(cpu, &four, Ok((served_by, cpu % 4)));
        }
        let mut odd = four.to_vec();
        odd[1].has_memory = false;
        odd[2].cpus.clear();
        check(0, &odd, Ok((3, 0)));
        check(1, &odd, Ok((3, 1)));
        check(3, &odd, Ok((0, 3)));
        // Memory alone where there is no other, as that of a memory expander.
        check(0, &odd[..3], Ok((2, 0)));
        let why = "remote memory: no other NUMA node has memory";
        check(0, &odd[..2], Err(why));
        let why = remote_node(&testing::params(&BANDWIDTH, &[]), 0);
        assert_eq!(why.unwrap(), None, "nothing is asked for by default");
    }

    #[test]
    fn memory_of_which_a_part_is_on_another_node_is_refused() {
        let len = 1 << 20;
        check_nodes(len, 1, |_| Ok(1)).unwrap();
        let spilled = |offset| Ok(u32::from(offset > len / 10 * 9));
        let error = check_nodes(len, 0, spilled).unwrap_err();
        assert!(matches!(error, WorkError::Failed(_)), "{error:?}");
        let error = error.to_string();
        assert!(error.contains("some of it is on node 1"), "{error}");
        // A node without memory gives none, in no round.
        let error = check_nodes(len, 0, |_| Ok(1)).unwrap_err();
        assert!(matches!(error, WorkError::Unsupported(_)), "{error:?}");
        let error = error.to_string();
        assert!(error.contains("\nhint: numactl --cpunodebind=1"), "{error}");
        let unknown = |_| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(check_nodes(len, 0, unknown).is_err());
    }
}
