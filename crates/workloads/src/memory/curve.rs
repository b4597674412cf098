//! The curve of latency over working-set size: which sizes it has, and how one sweep over them is measured.
//!
//! Every point proves its loads: a chain that is not where so many steps lead gives no curve. What a curve says of the
//! last cache, and how far the curves of a machine go, is [`observed`].

use super::region;
use engine::workload::{Place, WorkError};
use model::num::{approx, round_to_u64};
use model::rng::Rng;
use sys::loops::chase::Chain;
use sys::memory::{Pages, Region};

mod observed;

pub(super) use observed::{Extent, Reach, beyond_the_caches, reach};

/// Bytes between two nodes: a cache line of x86-64 and of most of aarch64.
pub(super) const LINE_BYTES: u64 = 64;

/// The smallest working set: within any first-level cache.
const SMALLEST: u64 = 4 << 10;

/// Steps of one piece of a point: with 100 ns each, 4 ms.
const STEPS: u64 = 40_000;

/// Pieces of a point, whose median counts: whoever takes the CPU for a moment spoils one of them.
const PIECES: usize = 5;

/// Steps before the first piece, at most: as many as all pieces have.
const WARM_STEPS: u64 = 200_000;

/// A chain over `bytes`, linked in an order of its own.
pub(super) fn link(chain: &mut Chain, bytes: u64, order: &mut Vec<u32>, rng: &mut Rng) {
    let nodes = u32::try_from(bytes / LINE_BYTES).unwrap_or(u32::MAX);
    order.clear();
    order.extend(0..nodes.max(2));
    rng.shuffle(order);
    chain.link(order);
}

/// A chain over `bytes` of `region`, linked in an order of this round.
pub(super) fn linked(region: Region, bytes: u64, place: &Place) -> Chain {
    let mut chain = empty(region);
    let mut rng = Rng::stream(place.seed, 7);
    link(&mut chain, bytes, &mut Vec::new(), &mut rng);
    chain
}

fn empty(region: Region) -> Chain {
    Chain::new(region, usize::try_from(LINE_BYTES).unwrap_or(64))
}

/// The working sets of a curve: two per doubling, up to `largest`.
pub(super) fn sizes(largest: u64) -> Vec<u64> {
    let mut sizes = Vec::new();
    let mut size = approx(SMALLEST);
    while round_to_u64(size) <= largest {
        sizes.push(round_to_u64(size) / LINE_BYTES * LINE_BYTES);
        size *= std::f64::consts::SQRT_2;
    }
    sizes
}

/// The smallest working set of a curve that is no smaller than `bytes`.
fn reaching(bytes: u64) -> u64 {
    let mut size = approx(SMALLEST);
    while round_to_u64(size) < bytes {
        size *= std::f64::consts::SQRT_2;
    }
    round_to_u64(size)
}

/// One sweep.
pub(super) struct Sweep {
    chain: Chain,
    order: Vec<u32>,
    rng: Rng,
    clone: u32,
    pub(super) sizes: Vec<u64>,
    /// Size and latency of the last sweep.
    pub(super) curve: Vec<(u64, f64)>,
}

impl Sweep {
    /// Memory for working sets up to `largest`, on the node of the CPU that the calling thread is kept on.
    pub(super) fn new(largest: u64, pages: Pages, place: &Place) -> Result<Self, WorkError> {
        let sizes = sizes(largest);
        let most = sizes.last().copied().unwrap_or(SMALLEST);
        let cpu = sys::affinity::current_cpu()
            .ok_or_else(|| WorkError::Failed("sched_getcpu: it tells no CPU".to_owned()))?;
        Ok(Self {
            chain: empty(region("the chains of loads", most, pages, cpu, None)?),
            order: Vec::with_capacity(usize::try_from(most / LINE_BYTES).unwrap_or(0)),
            rng: Rng::stream(place.seed, 7),
            clone: place.round,
            curve: Vec::with_capacity(sizes.len()),
            sizes,
        })
    }

    /// Measures every size once, the smallest first. Allocates nothing.
    pub(super) fn run(&mut self) -> Result<(), WorkError> {
        self.curve.clear();
        for index in 0..self.sizes.len() {
            let bytes = self.sizes[index];
            let nodes = bytes / LINE_BYTES;
            link(&mut self.chain, bytes, &mut self.order, &mut self.rng);
            // Twice through, where that is quick: the second time what fits is where it belongs.
            let before = (2 * nodes).min(WARM_STEPS);
            self.chain.walk(before, self.clone);
            let mut pieces = [0.0; PIECES];
            for piece in &mut pieces {
                let start = sys::clock::monotonic();
                self.chain.walk(STEPS, self.clone);
                let spent = sys::clock::monotonic() - start;
                *piece = approx(spent) / approx(STEPS);
            }
            pieces.sort_by(f64::total_cmp);
            let expected = (before + STEPS * PIECES as u64) % nodes;
            let found = self.chain.position();
            if found != expected {
                return Err(WorkError::Wrong(format!(
                    "a chain of {nodes} nodes is at node {found} in place of {expected}"
                )));
            }
            self.curve.push((bytes, pieces[PIECES / 2]));
        }
        Ok(())
    }

    pub(super) const fn chain(&self) -> &Chain {
        &self.chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn sizes_double_in_two_steps_and_stay_below_the_largest() {
        let sizes = sizes(1 << 20);
        assert_eq!((sizes[0], sizes[2]), (4096, 8192));
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(sizes.last(), Some(&(1 << 20)));
        assert!(sizes.iter().all(|size| size.is_multiple_of(LINE_BYTES)));
        for bytes in [1, 4096, 5000, 420 << 20, 512 << 20] {
            let to = reaching(bytes);
            let last = super::sizes(to).pop().unwrap();
            assert!(last + LINE_BYTES > to && to >= bytes);
            assert!(to < 2 * bytes.max(SMALLEST), "{bytes}: {to}");
        }
    }

    #[test]
    fn a_sweep_measures_every_size_and_proves_every_load() {
        let (_root, place) = testing::place();
        let mut sweep = Sweep::new(64 << 10, Pages::Small, &place).unwrap();
        sweep.run().unwrap();
        let measured: Vec<u64> = sweep.curve.iter().map(|point| point.0).collect();
        assert_eq!(measured, sizes(64 << 10));
        assert!(sweep.curve.iter().all(|point| point.1 > 0.0));
    }
}
