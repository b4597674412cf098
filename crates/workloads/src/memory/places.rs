//! On which CPU a copy is kept.
//!
//! Copies take one CPU of each core before they take the second threads of cores, because fewer copies than CPUs are to
//! be as many cores: the numbers of threads that share a core are far apart on most machines (0 and 48) and neighbours
//! on others (0 and 1, usual in virtual machines that are given threads). Rounds begin elsewhere, so that one core is
//! not the figure of all. Where the kernel does not tell which CPUs share a core, their numbers are the order.

use engine::workload::{Place, WorkError};
use std::collections::BTreeMap;
use sys::memory::numa;
use sys::tree::Tree;

/// The CPUs that copies are kept on: one of each core first, in an order that begins elsewhere in each round.
pub(super) fn cpus(place: &Place) -> Result<Vec<u32>, WorkError> {
    let allowed = sys::affinity::allowed_cpus()
        .map_err(|error| WorkError::failed("sched_getaffinity", "self", error))?;
    Ok(in_turn(&Tree::real(), &allowed, place.round))
}

pub(super) fn pin(cpu: u32) -> Result<(), WorkError> {
    sys::affinity::pin(cpu)
        .map_err(|error| WorkError::failed("sched_setaffinity", format!("CPU {cpu}"), error))
}

/// Keeps the calling thread on the CPU of its copy, and returns which that is.
pub(super) fn keep_on_a_cpu(place: &Place) -> Result<u32, WorkError> {
    let cpus = cpus(place)?;
    let index = usize::try_from(place.copy).unwrap_or(0) % cpus.len().max(1);
    let cpu = *cpus
        .get(index)
        .ok_or_else(|| WorkError::Failed("find a CPU: none is allowed".to_owned()))?;
    pin(cpu)?;
    Ok(cpu)
}

/// The `allowed` CPUs, ascending, with the first thread of every core before the second ones, and so on; the threads of
/// one rank begin with another one in each round.
fn in_turn(tree: &Tree, allowed: &[u32], round: u32) -> Vec<u32> {
    let mut ranks: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for &cpu in allowed {
        let rank = rank_in_core(tree, cpu, allowed);
        ranks.entry(rank).or_default().push(cpu);
    }
    let mut order = Vec::with_capacity(allowed.len());
    for mut cpus in ranks.into_values() {
        let first = usize::try_from(round).unwrap_or(0) % cpus.len().max(1);
        cpus.rotate_left(first);
        order.extend(cpus);
    }
    order
}

/// How many `allowed` CPUs of its core have a smaller number than `cpu`; 0 where that is not known.
fn rank_in_core(tree: &Tree, cpu: u32, allowed: &[u32]) -> usize {
    let listed = |name: &str| {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        numa::list(&tree.read_trimmed(&file).ok()?)
    };
    // `core_cpus_list` is the new name (Linux 5.3) of the same file.
    let siblings = listed("thread_siblings_list").or_else(|| listed("core_cpus_list"));
    siblings
        .unwrap_or_default()
        .iter()
        .filter(|sibling| **sibling < cpu && allowed.contains(sibling))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of `allowed` CPUs in a round, on a machine with these cores.
    fn check(cores: &[&str], allowed: &[u32], round: u32, expected: &[u32]) {
        let root = tempfile::tempdir().unwrap();
        for core in cores {
            for cpu in numa::list(core).unwrap() {
                let dir = format!("sys/devices/system/cpu/cpu{cpu}/topology");
                let dir = root.path().join(dir);
                std::fs::create_dir_all(&dir).unwrap();
                std::fs::write(dir.join("thread_siblings_list"), format!("{core}\n")).unwrap();
            }
        }
        let found = in_turn(&Tree::at(root.path()), allowed, round);
        assert_eq!(found, expected, "{cores:?} {allowed:?} {round}");
    }

    #[test]
    fn every_core_has_a_copy_before_any_has_two() {
        let neighbours = ["0-1", "2-3", "4-5", "6-7"];
        let all = [0, 1, 2, 3, 4, 5, 6, 7];
        check(&neighbours, &all, 0, &[0, 2, 4, 6, 1, 3, 5, 7]);
        check(&neighbours, &all, 1, &[2, 4, 6, 0, 3, 5, 7, 1]);
        check(&neighbours, &all, 6, &[4, 6, 0, 2, 5, 7, 1, 3]);
        let apart = ["0,4", "1,5", "2,6", "3,7"];
        check(&apart, &all, 0, &all);
        check(&apart, &all, 1, &[1, 2, 3, 0, 5, 6, 7, 4]);
    }

    #[test]
    fn a_thread_whose_sibling_is_not_allowed_is_the_first_of_its_core() {
        let neighbours = ["0-1", "2-3", "4-5"];
        check(&neighbours, &[1, 2, 3], 0, &[1, 2, 3]);
        check(&neighbours, &[1, 2, 3], 1, &[2, 1, 3]);
        check(&neighbours, &[1, 3, 5], 0, &[1, 3, 5]);
    }

    #[test]
    fn cores_may_differ_and_need_not_be_known() {
        // Two cores with two threads each and two with one.
        check(
            &["0-1", "2-3", "4", "5"],
            &[0, 1, 2, 3, 4, 5],
            0,
            &[0, 2, 4, 5, 1, 3],
        );
        check(&[], &[0, 1, 2, 3], 0, &[0, 1, 2, 3]);
        check(&[], &[0, 1, 2, 3], 5, &[1, 2, 3, 0]);
        check(&[], &[], 3, &[]);
    }
}
