//! A chain of dependent loads through memory in random order: what one access costs when nothing hides it.
//!
//! Each node has a cache line of its own and holds the address of the next; the next load cannot begin before the last
//! one ended. The nodes are linked in an order that the caller has shuffled, as one cycle through all of them: a
//! shuffled order gives every cycle the same chance, as Sattolo's algorithm does, and tells where in the cycle a node
//! is, which proves afterwards that every load was done.
//!
//! It refuses chains of fewer than two nodes, and orders that are longer than the memory.
#![expect(
    unsafe_code,
    reason = "loads through addresses kept in memory, and alignment"
)]

use super::align::{clone, place_loop};
use crate::memory::{Paging, Region};
use crate::tree::TreeError;

/// Loads per turn of the loop: the loop's own instructions then cost nothing next to them.
const UNROLL: u64 = 16;

/// A chain in a region of memory.
#[derive(Debug)]
pub struct Chain {
    region: Region,
    line_words: usize,
    nodes: u64,
    cursor: usize,
}

impl Chain {
    /// An empty chain over `region`, whose nodes will be `line_bytes` apart, a multiple of 16.
    pub fn new(region: Region, line_bytes: usize) -> Self {
        assert!(line_bytes >= 16 && line_bytes.is_multiple_of(16));
        Self {
            region,
            line_words: line_bytes / 8,
            nodes: 0,
            cursor: 0,
        }
    }

    /// How many nodes fit.
    pub fn room(&self) -> usize {
        self.region.len() / 8 / self.line_words
    }

    /// Links the nodes in `order`, which holds each number from 0 to its length - 1 once, and stands at the first.
    pub fn link(&mut self, order: &[u32]) {
        assert!(order.len() >= 2 && order.len() <= self.room());
        // Until every node leads to one: a number that there is no place for ends this half-way.
        self.nodes = 0;
        let base = self.region.pointer().expose_provenance();
        let line_words = self.line_words;
        let place = |node: u32| usize::try_from(node).unwrap_or(usize::MAX) * line_words;
        let words = self.region.words();
        let nexts = order.iter().cycle().skip(1);
        for ((&node, &next), position) in order.iter().zip(nexts).zip(0_u64..) {
            let at = place(node);
            words[at] = (base + place(next) * 8) as u64;
            words[at + 1] = position;
        }
        self.nodes = order.len() as u64;
        self.cursor = base + place(order[0]) * 8;
    }

    /// Does `steps` loads from where the last call ended. `number` chooses the clone.
    pub fn walk(&mut self, steps: u64, number: u32) {
        self.assert_linked();
        // SAFETY: `link` came to its end, so the cursor is the address of a node and every node holds the address of
        // another; the region that they are in belongs to `self`, which lets nobody else see it, let alone write to it.
        self.cursor = unsafe { clone!(number, follow(self.cursor, steps)) };
    }

    /// Where in the cycle it stands: after n loads from the beginning, n modulo the number of nodes.
    pub fn position(&mut self) -> u64 {
        self.assert_linked();
        let index = (self.cursor - self.region.pointer().addr()) / 8 + 1;
        self.region.words()[index]
    }

    /// How many nodes are linked.
    pub const fn nodes(&self) -> u64 {
        self.nodes
    }

    /// How the memory that it is in is paged. The memory itself is nobody's but the chain's: whoever writes to it says
    /// where the next load goes.
    pub fn paging(&self) -> Result<Paging, TreeError> {
        self.region.paging()
    }

    fn assert_linked(&self) {
        assert!(
            self.nodes > 0,
            "a chain is linked before anybody stands in it"
        );
    }
}

/// Follows the addresses.
///
/// # Safety
/// `from` is the address of a node of a linked chain.
#[inline(never)]
unsafe fn follow<const PAD: usize>(from: usize, steps: u64) -> usize {
    let mut at = from;
    place_loop!(PAD);
    for _ in 0..steps / UNROLL {
        // One block for each load would hide that they are sixteen of the same.
        macro_rules! load {
            ($($_turn:tt)*) => {$(
                let _ = $_turn;
                // SAFETY: the caller says that `at` is a node, and what a node holds is one too.
                at = unsafe { step(at) };
            )*};
        }
        load!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    }
    for _ in 0..steps % UNROLL {
        // SAFETY: as above.
        at = unsafe { step(at) };
    }
    at
}

/// One load.
///
/// # Safety
/// `at` is the address of a node of a linked chain.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of the figure")]
unsafe fn step(at: usize) -> usize {
    // SAFETY: the caller says that a node is there; volatile, so that no load is left out.
    unsafe { std::ptr::with_exposed_provenance::<usize>(at).read_volatile() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Pages;

    fn chain(order: &[u32]) -> Chain {
        let mut chain = Chain::new(Region::new(1 << 16, Pages::Usual).unwrap(), 64);
        chain.link(order);
        chain
    }

    #[test]
    fn a_chain_is_one_cycle_through_all_nodes() {
        let mut order: Vec<u32> = (0..1000).collect();
        order.reverse();
        order.swap(3, 700);
        let mut chain = chain(&order);
        assert_eq!((chain.nodes(), chain.room()), (1000, 1024));
        let mut seen = vec![false; 1000];
        for expected in 0..1000 {
            let position = chain.position();
            assert_eq!(position, expected);
            assert!(!std::mem::replace(
                &mut seen[usize::try_from(position).unwrap()],
                true
            ));
            chain.walk(1, 0);
        }
        assert_eq!(chain.position(), 0, "back at the beginning after all");
    }

    #[test]
    fn every_clone_does_every_load() {
        for number in 0..super::super::CLONES {
            let mut chain = chain(&[4, 2, 0, 3, 1, 6, 5]);
            let mut walked = 0;
            for steps in [1, 15, 16, 17, 1000] {
                chain.walk(steps, number);
                walked += steps;
                assert_eq!(chain.position(), walked % 7, "{number} {steps}");
            }
        }
    }

    #[test]
    fn the_memory_of_a_chain_is_for_nobody_to_write_to() {
        trait Otherwise {
            fn region(&self) -> &'static str {
                "not handed out"
            }
        }
        // A method of the chain's own would go before it.
        impl Otherwise for Chain {}
        assert_eq!(chain(&[1, 0]).region(), "not handed out");
    }

    #[test]
    fn a_chain_that_was_linked_half_is_not_walked() {
        let mut chain = chain(&[0, 1]);
        let mut attempt = |what: &mut dyn FnMut(&mut Chain)| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| what(&mut chain)))
        };
        // Node 0 now leads to node 5, and that to a place far behind the memory.
        assert!(attempt(&mut |chain| chain.link(&[0, 5, 1 << 30])).is_err());
        assert!(attempt(&mut |chain| chain.walk(3, 0)).is_err());
        assert!(attempt(&mut |chain| chain.link(&[0, 1])).is_ok());
        assert!(attempt(&mut |chain| chain.walk(3, 0)).is_ok());
    }

    #[test]
    #[should_panic(expected = "a chain is linked before anybody stands in it")]
    fn nobody_stands_in_a_chain_that_is_not_linked() {
        Chain::new(Region::new(1 << 16, Pages::Usual).unwrap(), 64).position();
    }

    #[test]
    #[should_panic(expected = "order.len() <= self.room()")]
    fn more_nodes_than_fit_are_refused() {
        let order: Vec<u32> = (0..1025).collect();
        chain(&order);
    }
}
