//! The curve of latency over working-set size, and the size of the last cache that it shows.
//!
//! The levels that a core sees are measured once per run, by the first copy that asks, and kept in the run's
//! directory: a machine that hides its caches or shows those of another is found out, and rounds need not pay for it.
//! That curve goes on to four times the last cache that it shows itself, whatever the kernel says of caches, as far as
//! the room allows, and beyond [`FARTHEST`] only where four times the cache that is shown lies beyond it.

use super::{map, room_of_each};
use engine::workload::{Place, WorkError};
use model::num::{approx, round_to_u64};
use model::rng::Rng;
use model::units::Nanos;
use sys::loops::chase::Chain;
use sys::memory::Pages;
use sys::tree::Tree;

/// Bytes between two nodes: a cache line of x86-64 and of most of aarch64.
pub(super) const LINE_BYTES: u64 = 64;

/// The smallest working set: within any first-level cache.
const SMALLEST: u64 = 4 << 10;

/// What a machine that shows no cache is taken to have at least, so that a sweep goes far enough.
const LAST_CACHE_MIN: u64 = 32 << 20;

/// How far the run's first curve goes at least. The cache that emulators show by default (16 MiB) is none that exists,
/// and behind it may be one of 100 MiB, whose end a curve of four times 16 MiB would not reach.
const FIRST_REACH: u64 = 512 << 20;

/// How far the run's first curve goes at most: four times the largest cache that one core has seen so far (504 MiB,
/// Xeon 6980P, 2024), or a curve that noise keeps from being flat would take all of the memory.
const FARTHEST: u64 = 2 << 30;

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

/// The last cache that the kernel shows for CPU 0, in bytes; `None` where it shows none.
fn shown_cache(tree: &Tree) -> Option<u64> {
    const DIR: &str = "/sys/devices/system/cpu/cpu0/cache";
    let caches = tree.list(DIR).ok()?;
    caches
        .iter()
        .filter_map(|index| {
            let text = tree.read_trimmed(&format!("{DIR}/{index}/size")).ok()?;
            model::params::parse_size(&text).map(|bytes| bytes.0)
        })
        .max()
}

/// The smallest working set of a curve that is no smaller than `bytes`.
fn reaching(bytes: u64) -> u64 {
    let mut size = approx(SMALLEST);
    while round_to_u64(size) < bytes {
        size *= std::f64::consts::SQRT_2;
    }
    round_to_u64(size)
}

/// How far the curves of rounds go: four times the last cache that was observed or is shown, whichever is larger, and
/// no further than the room allows.
pub(super) fn largest(place: &Place) -> Result<u64, WorkError> {
    let last = observed_cache(place)?.max(shown_cache(&Tree::real()).unwrap_or(0));
    let wanted = reaching(last.max(LAST_CACHE_MIN).saturating_mul(4));
    Ok(wanted.min(room_of_a_curve(place)?))
}

/// The largest working set for which there is room.
fn room_of_a_curve(place: &Place) -> Result<u64, WorkError> {
    // The order in which nodes are linked takes a sixteenth more.
    Ok(room_of_each(place)? / 17 * 16)
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
    /// Memory for working sets up to `largest`.
    pub(super) fn new(largest: u64, pages: Pages, place: &Place) -> Result<Self, WorkError> {
        let sizes = sizes(largest);
        let most = sizes.last().copied().unwrap_or(SMALLEST);
        let mut region = map(most, pages)?;
        region.touch();
        let line = usize::try_from(LINE_BYTES).unwrap_or(64);
        Ok(Self {
            chain: Chain::new(region, line),
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

/// How long the others wait for the first copy's curve, which may take several sweeps, the last up to [`FARTHEST`];
/// less than the deadline of set-up (60 s), so that they can still measure by themselves.
const PATIENCE: Nanos = Nanos::from_secs(40);

/// The last cache that this run's curve shows, in bytes. The first copy measures and the others wait for it; the
/// caller must be where it will measure.
pub(super) fn observed_cache(place: &Place) -> Result<u64, WorkError> {
    let path = place.run_dir.join("last-cache-bytes");
    let kept = || std::fs::read_to_string(&path).ok()?.trim().parse().ok();
    let give_up = sys::clock::monotonic() + PATIENCE.0;
    loop {
        if let Some(bytes) = kept() {
            return Ok(bytes);
        }
        // A first copy that failed leaves nothing, and its failure ends the round for all.
        if place.copy == 0 || sys::clock::monotonic() > give_up {
            break;
        }
        sys::clock::sleep(10_000_000);
    }
    let shown = shown_cache(&Tree::real()).unwrap_or(0);
    let first = reaching(shown.saturating_mul(4).max(FIRST_REACH));
    let most = room_of_a_curve(place)?.min(first.max(FARTHEST));
    let curve = explore(first, most, |from, to| {
        let mut sweep = Sweep::new(to, Pages::Huge, place)?;
        sweep.sizes.retain(|size| *size > from);
        sweep.run()?;
        Ok(sweep.curve)
    })?;
    // A curve without a climb shows no cache: what the kernel shows is all there is.
    let told = if shown > 0 { shown } else { LAST_CACHE_MIN };
    let bytes = last_cache(&curve).unwrap_or(told);
    // Under another name first, so that nobody reads half of it.
    let fresh = place.dir.join("last-cache-bytes");
    std::fs::write(&fresh, bytes.to_string())
        .map_err(|error| WorkError::failed("write", fresh.display(), error))?;
    std::fs::rename(&fresh, &path)
        .map_err(|error| WorkError::failed("rename to", path.display(), error))?;
    Ok(bytes)
}

/// A curve that goes as far as it has to: `measure` gives its points above the first size and up to the second. It
/// begins with what lies up to `first` and ends at `most` at the latest.
fn explore(
    first: u64,
    most: u64,
    mut measure: impl FnMut(u64, u64) -> Result<Vec<(u64, f64)>, WorkError>,
) -> Result<Vec<(u64, f64)>, WorkError> {
    let mut curve = Vec::new();
    let (mut from, mut to) = (0, first.min(most));
    loop {
        curve.extend(measure(from, to)?);
        let next = reaching(reach(&curve, to)).min(most);
        if next <= to {
            return Ok(curve);
        }
        (from, to) = (to, next);
    }
}

/// A last point above the last level by more may be the first one of a climb.
const RISEN_MAX: f64 = 1.25;

/// How far a curve that ends at `to` must go: four times the last cache that it shows, and twice as far as it did where
/// its end is not in sight, because nobody knows then where its last level ends.
fn reach(curve: &[(u64, f64)], to: u64) -> u64 {
    let levels = engine::knee::levels(curve);
    let end = levels.last().zip(curve.last());
    let in_sight =
        end.is_some_and(|(level, point)| level.name == "memory" && point.1 <= level.ns * RISEN_MAX);
    match levels.iter().filter_map(|level| level.bytes).max() {
        Some(cache) if in_sight => cache.saturating_mul(4),
        _ => to.saturating_mul(2),
    }
}

/// The largest cache among the levels of a curve, in bytes.
fn last_cache(curve: &[(u64, f64)]) -> Option<u64> {
    let levels = engine::knee::levels(curve);
    levels.iter().filter_map(|level| level.bytes).max()
}

/// Bytes for all arrays of one copy together, where the user leaves the size to us: four times the last cache that is
/// observed or shown, so that nothing of a pass is left in it for the next, and at least 64 MiB.
pub(super) fn beyond_the_caches(place: &Place) -> Result<u64, WorkError> {
    const LEAST: u64 = 64 << 20;
    let cache = observed_cache(place)?;
    // A busy machine shows less of a cache than it has, and a figure from within it would be none of memory: what the
    // kernel shows counts where it is more.
    let largest = cache.max(shown_cache(&Tree::real()).unwrap_or(0));
    let wanted = largest.saturating_mul(4).max(LEAST);
    let room = room_of_each(place)?;
    if room < cache.saturating_mul(2).max(LEAST) {
        return Err(WorkError::Unsupported(super::too_little(
            cache.saturating_mul(2).max(LEAST),
            room,
            "memory for each copy",
        )));
    }
    Ok(wanted.min(room))
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

    #[test]
    fn what_was_observed_once_is_kept_for_the_run() {
        let (_root, mut place) = testing::place();
        std::fs::write(place.run_dir.join("last-cache-bytes"), "12345678").unwrap();
        assert_eq!(observed_cache(&place).unwrap(), 12_345_678);
        let shown = shown_cache(&Tree::real()).unwrap_or(0);
        let expected = (4 * shown.max(12_345_678)).max(64 << 20);
        let room = room_of_each(&place).unwrap();
        let found = beyond_the_caches(&place).unwrap();
        assert!(
            found == expected || (found < expected && found > room / 2),
            "{found} {expected}"
        );
        place.copies = 1 << 30;
        assert!(beyond_the_caches(&place).is_err(), "no room for so many");
    }

    /// How far the curve of a machine goes whose last cache has so many MiB, and the cache that it then shows.
    fn explored(last_mib: u64, shown_mib: u64, most_mib: u64) -> (u64, u64) {
        let last = approx(last_mib << 20);
        let ns = |bytes: f64| {
            let held = |cache: f64| (cache / bytes).min(1.0);
            let (l2, l3) = (held(2_097_152.0), held(last));
            6.0 * l2 + 25.0 * (l3 - l2).max(0.0) + 110.0 * (1.0 - l3)
        };
        let first = reaching(((4 * shown_mib) << 20).max(FIRST_REACH));
        let curve = explore(first, most_mib << 20, |from, to| {
            let new = sizes(to).into_iter().filter(|size| *size > from);
            Ok(new.map(|size| (size, ns(approx(size)))).collect())
        })
        .unwrap();
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0));
        (
            curve.last().unwrap().0 >> 20,
            last_cache(&curve).unwrap() >> 20,
        )
    }

    #[test]
    fn a_cache_that_the_machine_does_not_show_is_followed_to_four_times_its_size() {
        let check = |last, shown, most, reached: std::ops::RangeInclusive<u64>, seen: bool| {
            let (found, cache) = explored(last, shown, most);
            assert!(reached.contains(&found), "{last} {shown}: to {found} MiB");
            let right = (last * 3 / 5..=last * 5 / 4).contains(&cache);
            assert_eq!(right, seen, "{last} {shown}: {cache} MiB");
        };
        // What is shown is there, or less is: the first stretch is enough.
        check(100, 105, 8192, 500..=512, true);
        check(32, 0, 8192, 500..=512, true);
        check(200, 256, 8192, 1000..=1024, true);
        // More is there than is shown.
        check(400, 16, 8192, 1024..=2048, true);
        check(300, 0, 8192, 1024..=2048, true);
        // The room ends the curve, wherever it is.
        check(400, 16, 300, 200..=300, false);
    }

    #[test]
    fn a_curve_that_noise_keeps_from_being_flat_ends_where_it_must() {
        let mut calls = Vec::new();
        let climbing = explore(1 << 20, 16 << 20, |from, to| {
            calls.push((from >> 20, to >> 20));
            let new = sizes(to).into_iter().filter(|size| *size > from);
            Ok(new.map(|size| (size, approx(size))).collect())
        });
        assert_eq!(calls, [(0, 1), (1, 2), (2, 4), (4, 8), (8, 16)]);
        assert_eq!(climbing.unwrap().len(), sizes(16 << 20).len());
    }

    #[test]
    fn the_kernels_caches_are_read_with_their_units() {
        let root = tempfile::tempdir().unwrap();
        for (index, size) in [("index0", "48K\n"), ("index3", "107520K\n")] {
            let dir = root
                .path()
                .join("sys/devices/system/cpu/cpu0/cache")
                .join(index);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("size"), size).unwrap();
        }
        assert_eq!(shown_cache(&Tree::at(root.path())), Some(107_520 << 10));
        assert_eq!(shown_cache(&Tree::at("/nowhere")), None);
    }
}
