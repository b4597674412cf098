//! NUMA nodes: which CPUs and memory belong together, and where a page is.
//!
//! Nodes come from `/sys/devices/system/node`. A machine without it is one node of all CPUs, which is what the kernel
//! itself assumes. Binding uses mbind(2) by its number, because the C library has no wrapper; it refuses node numbers
//! of 1024 and beyond.

#![expect(unsafe_code, reason = "mbind and get_mempolicy have no safe interface")]

use super::Region;
use crate::tree::{Tree, TreeError};
use std::io;

const NODES: &str = "/sys/devices/system/node";

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The kernel's number.
    pub number: u32,
    /// Its CPUs that are online, ascending; empty for a node of memory alone.
    pub cpus: Vec<u32>,
    /// Whether it has memory; true where the kernel does not tell.
    pub has_memory: bool,
}

/// Every node that is online; one without a list of CPUs where the kernel shows no nodes.
pub fn nodes(tree: &Tree) -> Result<Vec<Node>, TreeError> {
    let online = match tree.read_trimmed(&format!("{NODES}/online")) {
        Ok(text) => text,
        Err(error) if error.absent => {
            return Ok(vec![Node {
                number: 0,
                cpus: Vec::new(),
                has_memory: true,
            }]);
        }
        Err(error) => return Err(error),
    };
    let with_memory = tree.read(&format!("{NODES}/has_memory")).ok();
    let with_memory = with_memory.and_then(|text| list(text.trim()));
    list(&online)
        .ok_or_else(|| TreeError::content(NODES, format!("`{online}` is no list of nodes")))?
        .into_iter()
        .map(|number| {
            let path = format!("{NODES}/node{number}/cpulist");
            let text = tree.read(&path)?;
            let cpus = list(text.trim())
                .ok_or_else(|| TreeError::content(&path, "it is no list of CPUs"))?;
            let has_memory = with_memory
                .as_ref()
                .is_none_or(|numbers| numbers.contains(&number));
            Ok(Node {
                number,
                cpus,
                has_memory,
            })
        })
        .collect()
}

/// `0-3,8` as numbers; an empty text is an empty list.
pub fn list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > 1 << 20 {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// Words of a node mask: 1024 nodes, the largest number that kernels are configured for.
const MASK_WORDS: usize = 16;

/// Has the pages of `region`, none of which may have been touched, come from `node` alone.
pub fn bind(region: &Region, node: u32) -> io::Result<()> {
    const MPOL_BIND: libc::c_long = 2;
    let mut mask = [0_u64; MASK_WORDS];
    let word = usize::try_from(node / 64).map_err(io::Error::other)?;
    *mask
        .get_mut(word)
        .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))? = 1 << (node % 64);
    // SAFETY: the range lies in the region's own mapping and the mask is valid for its length; nothing is written.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            region.pointer(),
            region.len(),
            MPOL_BIND,
            mask.as_ptr(),
            // The kernel takes the number of bits plus one.
            MASK_WORDS * 64 + 1,
            0,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// From which nodes memory comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The node of the CPU that touches it.
    Local,
    /// The node that is named, and others where it is full; one.
    Prefer,
    /// The nodes that are named and no others.
    Bind,
    /// The nodes that are named, page by page in turn.
    Interleave,
}

/// Where pages come from that this thread, and threads that it starts from now on, touch first.
pub fn set_policy(policy: Policy, nodes: &[u32]) -> io::Result<()> {
    // linux/mempolicy.h.
    let mode: libc::c_long = match policy {
        Policy::Prefer => 1,
        Policy::Bind => 2,
        Policy::Interleave => 3,
        Policy::Local => 4,
    };
    let mut mask = [0_u64; MASK_WORDS];
    for node in nodes {
        let word = usize::try_from(node / 64).map_err(io::Error::other)?;
        *mask
            .get_mut(word)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))? |= 1 << (node % 64);
    }
    let (pointer, bits) = if nodes.is_empty() {
        (std::ptr::null(), 0)
    } else {
        // The kernel takes the number of bits plus one.
        (mask.as_ptr(), MASK_WORDS * 64 + 1)
    };
    // SAFETY: the mask is valid for its length, or there is none; nothing is written.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, pointer, bits) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The node on which the page is that holds the byte `offset` of `region`; the page must have been touched.
pub fn node_of(region: &Region, offset: usize) -> io::Result<u32> {
    const MPOL_F_NODE: libc::c_long = 1;
    const MPOL_F_ADDR: libc::c_long = 2;
    if offset >= region.len() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut node: libc::c_int = -1;
    // SAFETY: `node` is valid to write to; without a mask its length must be 0, and the address is only looked up.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut node,
            std::ptr::null::<u64>(),
            0,
            region.pointer().wrapping_add(offset),
            MPOL_F_NODE | MPOL_F_ADDR,
        )
    };
    if result == 0 {
        u32::try_from(node).map_err(io::Error::other)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pages;
    use super::*;

    #[test]
    fn lists_of_numbers_are_read_and_nonsense_is_refused() {
        let check = |text, expected: Option<&[u32]>| {
            assert_eq!(list(text).as_deref(), expected, "{text}");
        };
        check("0-3,8", Some(&[0, 1, 2, 3, 8]));
        check("", Some(&[]));
        check("5", Some(&[5]));
        for bad in ["3-1", "a", "0-", "0-99999999"] {
            check(bad, None);
        }
    }

    #[test]
    fn nodes_are_read_with_their_cpus_and_a_machine_without_them_is_one() {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::at(root.path());
        assert_eq!(nodes(&tree).unwrap().len(), 1);
        for (number, cpus) in [(0, "0-1,4"), (2, "")] {
            let dir = root
                .path()
                .join(format!("sys/devices/system/node/node{number}"));
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("cpulist"), format!("{cpus}\n")).unwrap();
        }
        std::fs::write(root.path().join("sys/devices/system/node/online"), "0,2\n").unwrap();
        let found = || -> Vec<_> {
            let nodes = nodes(&tree).unwrap().into_iter();
            nodes
                .map(|node| (node.number, node.cpus, node.has_memory))
                .collect()
        };
        assert_eq!(found(), [(0, vec![0, 1, 4], true), (2, vec![], true)]);
        let file = root.path().join("sys/devices/system/node/has_memory");
        std::fs::write(file, "2\n").unwrap();
        assert_eq!(found(), [(0, vec![0, 1, 4], false), (2, vec![], true)]);
    }

    #[test]
    fn memory_comes_from_where_the_policy_says() {
        let node = nodes(&Tree::real()).unwrap()[0].number;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for policy in [
                    Policy::Bind,
                    Policy::Prefer,
                    Policy::Interleave,
                    Policy::Local,
                ] {
                    let named: &[u32] = if policy == Policy::Local {
                        &[]
                    } else {
                        &[node]
                    };
                    if let Err(error) = set_policy(policy, named) {
                        let number = error.raw_os_error();
                        let is_missing = matches!(number, Some(libc::ENOSYS | libc::EPERM));
                        assert!(is_missing, "{policy:?}: {error}");
                        return;
                    }
                    let mut region = Region::new(1 << 16, Pages::Small).unwrap();
                    region.touch();
                    assert_eq!(node_of(&region, 0).unwrap(), node, "{policy:?}");
                }
                assert!(
                    set_policy(Policy::Bind, &[1023]).is_err(),
                    "no machine has so many"
                );
                assert!(set_policy(Policy::Bind, &[5000]).is_err());
            });
        });
    }

    #[test]
    fn a_bound_region_is_where_it_was_bound() {
        let node = nodes(&Tree::real()).unwrap()[0].number;
        let mut region = Region::new(1 << 16, Pages::Small).unwrap();
        if let Err(error) = bind(&region, node) {
            // A kernel without NUMA, or a filter, has nothing to bind with.
            let number = error.raw_os_error();
            assert!(
                matches!(number, Some(libc::ENOSYS | libc::EPERM)),
                "{error}"
            );
        } else {
            region.touch();
            for offset in [0, 5000, region.len() - 1] {
                assert_eq!(node_of(&region, offset).unwrap(), node, "{offset}");
            }
        }
        assert!(node_of(&region, region.len()).is_err());
        assert!(bind(&region, 5000).is_err());
    }
}
