//! The last cache of a machine, as a curve of latencies shows it, and what follows from its size.
//!
//! How large arrays are follows from what the kernel states, which is the same in every run of a machine: two runs then
//! compare the same work. The curve is the guard against machines that hide their caches: arrays that it finds to be
//! less than twice a cache are doubled until they are not. That is a step that other programs cannot make: they make
//! loads slower, and what is as slow as memory is no cache.
//!
//! The curve is measured once per run, by the first copy that asks, and what it shows is kept in the run's directory: a
//! machine that hides its caches or shows those of another is found out, and rounds need not pay for it. It goes on to
//! four times the last cache that it shows itself, whatever the kernel says of caches, as far as the room allows, and
//! beyond [`FARTHEST`] only where four times the cache that is shown lies beyond it.
//!
//! Where the room ends the curve before the end of the last cache is in sight, that cache holds at least all that was
//! measured: a smaller one, such as L2, is not taken for the last, because bandwidth would then be that of a cache.

use super::{SMALLEST, Sweep, reaching, sizes};
use crate::memory::agreed::{agreed, keep, kept};
use crate::memory::{page_values, room_of_all, room_of_each};
use engine::workload::{Place, WorkError};
use model::num::approx;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use sys::memory::Pages;
use sys::tree::Tree;

/// What a machine that shows no cache is taken to have at least, so that a sweep goes far enough.
const LAST_CACHE_MIN: u64 = 32 << 20;

/// How far the run's first curve goes at least. The cache that emulators show by default (16 MiB) is none that exists,
/// and behind it may be one of 100 MiB, whose end a curve of four times 16 MiB would not reach.
const FIRST_REACH: u64 = 512 << 20;

/// How far the run's first curve goes at most: four times the largest cache that one core has seen so far (504 MiB,
/// Xeon 6980P, 2024), or a curve that noise keeps from being flat would take all of the memory.
const FARTHEST: u64 = 2 << 30;

/// Where a curve ends before [`FIRST_REACH`] and is flat there, it may have ended within a cache if a load takes less
/// than this: halfway, by factors, from the slowest last cache of servers (42 ns) to their quickest memory (89 ns).
/// Sources: anandtech.com on Xeons of 2016 and 2017, and on EPYC of 2019 (10 and 122 ns). Desktops may have quicker
/// memory: with as little of it free they are refused, which is the safe side; a size of one's own is still measured.
const MEMORY_NS_MIN: f64 = 60.0;

/// The last cache, as the run's first curve shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LastCache {
    /// What it holds, in bytes; the least that it may hold where its end was not seen.
    bytes: u64,
    /// The largest cache that the kernel shows, 0 where it shows none.
    shown: u64,
    /// Whether the curve went on until the end of the last cache was in sight.
    seen: bool,
    /// Whether the curve was measured in huge pages.
    huge: bool,
}

impl LastCache {
    /// Observed or shown, whichever is larger: a busy machine shows less of a cache than it has.
    const fn larger(self) -> u64 {
        if self.bytes > self.shown {
            self.bytes
        } else {
            self.shown
        }
    }
}

/// How far the curves of rounds go, and what must be said about it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reach {
    /// The largest working set.
    pub(crate) largest: u64,
    /// Why the curve ends before four times the last cache, where it does.
    pub(crate) cut: Option<String>,
    /// Whether the last cache was looked for in huge pages.
    pub(crate) huge: bool,
}

/// How far the curves of rounds go: four times the last cache that was observed or is shown, whichever is larger, and
/// no further than the room allows.
pub(crate) fn reach(place: &Place) -> Result<Reach, WorkError> {
    let last = observed_cache(place)?;
    agreed(place, "reach", || {
        Ok(reach_within(last, room_of_each(room_of_all()?, place)))
    })
}

fn reach_within(last: LastCache, room: u64) -> Reach {
    let cache = last.larger().max(LAST_CACHE_MIN);
    let wanted = reaching(cache.saturating_mul(4));
    let largest = wanted.min(room_of_a_curve(room));
    let cut = || {
        let end = sizes(largest).last().copied().unwrap_or(SMALLEST);
        let or_more = if last.seen { "" } else { " or more" };
        // Without the room, which differs a little from round to round: the same sentence is said once.
        format!(
            "the curve ends at {} MiB: four times the last cache ({} MiB{or_more}) do not fit into the memory that each \
             copy may take",
            end >> 20,
            cache >> 20
        )
    };
    Reach {
        largest,
        cut: (largest < wanted).then(cut),
        huge: last.huge,
    }
}

/// The largest working set for which there is room.
const fn room_of_a_curve(room: u64) -> u64 {
    // The order in which nodes are linked takes a sixteenth more.
    room / 17 * 16
}

/// What each copy takes where the user leaves the size to us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    /// Bytes of all arrays of a copy together.
    pub(crate) bytes: u64,
    /// That a part of it lies in the last cache, where it does.
    pub(crate) note: Option<String>,
}

/// Arrays of four times the cache that is shown, so that at most a part of a pass is left in it for the next, of at
/// least [`ARRAYS_USUAL`], and of more than twice the last cache that is observed; the same for all copies of a round.
/// `share` is what each copy may take of the room, and `what` the name of that in words.
pub(crate) fn beyond_the_caches(
    place: &Place,
    what: &str,
    share: impl FnOnce(u64) -> u64,
) -> Result<Extent, WorkError> {
    let last = observed_cache(place)?;
    agreed(place, "arrays", || {
        arrays_within(last, what, share(room_of_all()?)).map_err(WorkError::Unsupported)
    })
}

/// The smallest arrays that are taken for larger than any cache of a core of one's own.
const ARRAYS_MIN: u64 = 64 << 20;

/// The arrays where the kernel shows no larger cache: four times one of 64 MiB, because what is shown may be less than
/// there is.
const ARRAYS_USUAL: u64 = 256 << 20;

/// Arrays of fewer times the last cache are said to be partly the cache's. Those of four times the cache that is shown
/// are not, whatever the curve's own error makes of it.
const SURELY_BEYOND: u64 = 3;

/// The arrays in a room of so many bytes: half as large as wanted, and half of that, until they fit. Halves and not all
/// of the room, which is another one in every run.
fn arrays_within(last: LastCache, what: &str, room: u64) -> Result<Extent, String> {
    let cache = last.larger();
    let least = cache.saturating_mul(2).max(ARRAYS_MIN);
    let mut wanted = last.shown.saturating_mul(4).max(ARRAYS_USUAL);
    while wanted < least {
        wanted *= 2;
    }
    let mut bytes = wanted;
    while bytes > room {
        bytes /= 2;
    }
    if bytes < least {
        return Err(too_small(last, least, room));
    }
    let note = (bytes < cache.saturating_mul(SURELY_BEYOND)).then(|| {
        let or_more = if last.seen { "" } else { " or more" };
        let why = if bytes < wanted {
            ", because no more memory may be used"
        } else {
            ""
        };
        format!(
            "{what} of {} MiB are {:.1} times the last cache ({} MiB{or_more}){why}: a part of the figure is the cache's",
            bytes >> 20,
            approx(bytes) / approx(cache),
            cache >> 20
        )
    });
    Ok(Extent { bytes, note })
}

/// Why there are no arrays at all.
fn too_small(last: LastCache, least: u64, room: u64) -> String {
    let cache = last.larger();
    let why = if !last.seen && last.bytes >= last.shown {
        format!(
            ", twice the last cache, which is larger than the {} MiB that could be looked at",
            last.bytes >> 20
        )
    } else if least > ARRAYS_MIN {
        format!(", twice the last cache of {} MiB", cache >> 20)
    } else {
        String::new()
    };
    format!(
        "too little memory: {} MiB are needed{why}, and each copy may take {} MiB\nhint: --set TEST.size=SIZE measures \
         arrays of that size, beyond the caches or not",
        least.div_ceil(1 << 20),
        room >> 20
    )
}

/// The largest cache that the kernel shows, in bytes; `None` where it shows none. Of all CPUs and not of those that are
/// allowed: the caller is kept on one of them already, and the first one may be offline or have a small cache.
fn shown_cache(tree: &Tree) -> Option<u64> {
    const CPUS: &str = "/sys/devices/system/cpu";
    let is_cpu = |name: &&String| {
        name.strip_prefix("cpu").is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let names = tree.list(CPUS).ok()?;
    let of_cpu = |cpu: &String| {
        let dir = format!("{CPUS}/{cpu}/cache");
        let caches = tree.list(&dir).ok()?;
        let sizes = caches.iter().filter_map(|index| {
            let text = tree.read_trimmed(&format!("{dir}/{index}/size")).ok()?;
            model::params::parse_size(&text).map(|bytes| bytes.0)
        });
        sizes.max()
    };
    names.iter().filter(is_cpu).filter_map(of_cpu).max()
}

/// How long the others wait for the first copy's curve, which may take several sweeps, the last up to [`FARTHEST`];
/// less than the deadline of set-up (60 s), so that they can still measure by themselves.
const PATIENCE: Nanos = Nanos::from_secs(40);

/// The last cache that this run's curve shows. The first copy measures and the others wait for it; the caller must be
/// where it will measure.
fn observed_cache(place: &Place) -> Result<LastCache, WorkError> {
    let path = place.run_dir.join("last-cache");
    let give_up = sys::clock::monotonic() + PATIENCE.0;
    loop {
        if let Some(last) = kept(&path) {
            return Ok(last);
        }
        // A first copy that failed leaves nothing, and its failure ends the round for all.
        if place.copy == 0 || sys::clock::monotonic() > give_up {
            break;
        }
        sys::clock::sleep(10_000_000);
    }
    let shown = shown_cache(&Tree::real()).unwrap_or(0);
    let room = room_to_look(place, room_of_all()?);
    let last = look(shown, room_of_a_curve(room), |from, to| {
        measure(place, Pages::Huge, from, to)
    })?;
    // What somebody has seen in a share of the room is no answer for those who will have more.
    if place.copy == 0 {
        keep(place, &path, &last)?;
    }
    Ok(last)
}

/// Of all the room, what the first curve may take. The first copy has it for itself, because the others wait with
/// nothing mapped, and so looks as far whichever case comes first; those that lost patience share what it left.
fn room_to_look(place: &Place, room: u64) -> u64 {
    if place.copy == 0 {
        room
    } else {
        room_of_each(room, place)
    }
}

/// Points of a curve: working set and latency.
type Points = Vec<(u64, f64)>;

/// The points above `from` and up to `to`, and whether they were measured in huge pages, which not every machine has.
fn measure(place: &Place, pages: Pages, from: u64, to: u64) -> Result<(Points, bool), WorkError> {
    let mut sweep = Sweep::new(to, pages, place)?;
    sweep.sizes.retain(|size| *size > from);
    sweep.run()?;
    let huge = match page_values(sweep.chain().paging(), Pages::Huge) {
        Ok(_) => true,
        Err(WorkError::Unsupported(_)) => false,
        Err(error) => return Err(error),
    };
    Ok((sweep.curve, huge))
}

/// Looks for the last cache with a curve that ends at `room` at the latest; `measure` as [`explore`] asks for it, with
/// whether the points were measured in huge pages.
fn look(
    shown: u64,
    room: u64,
    mut measure: impl FnMut(u64, u64) -> Result<(Points, bool), WorkError>,
) -> Result<LastCache, WorkError> {
    let first = reaching(shown.saturating_mul(4).max(FIRST_REACH));
    let farthest = first.max(FARTHEST);
    let mut huge = true;
    let curve = explore(first, room.min(farthest), |from, to| {
        let (points, obtained) = measure(from, to)?;
        huge &= obtained;
        Ok(points)
    })?;
    // As far as any curve goes: what it shows is all that is asked for.
    let in_a_cache = room < first && ends_as_quick_as_a_cache(&curve);
    let in_sight = end_in_sight(&curve) && !in_a_cache;
    let seen = room >= farthest || ends_in_memory(&curve) || in_sight;
    let bytes = if seen {
        // A curve without a climb shows no cache: what the kernel shows is all there is.
        let told = if shown > 0 { shown } else { LAST_CACHE_MIN };
        last_cache(&curve).unwrap_or(told)
    } else {
        curve.last().map_or(room, |point| point.0)
    };
    Ok(LastCache {
        bytes,
        shown,
        seen,
        huge,
    })
}

/// A curve that goes as far as it has to: `measure` gives its points above the first size and up to the second. It
/// begins with what lies up to `first` and ends at `most` at the latest.
fn explore(
    first: u64,
    most: u64,
    mut measure: impl FnMut(u64, u64) -> Result<Points, WorkError>,
) -> Result<Points, WorkError> {
    let mut curve = Vec::new();
    let (mut from, mut to) = (0, first.min(most));
    loop {
        curve.extend(measure(from, to)?);
        let next = reaching(next_reach(&curve, to)).min(most);
        if next <= to {
            return Ok(curve);
        }
        (from, to) = (to, next);
    }
}

/// How far a curve that ends at `to` must go: four times the last cache that it shows, and twice as far as it did where
/// its end is not in sight, because nobody knows then where its last level ends.
fn next_reach(curve: &[(u64, f64)], to: u64) -> u64 {
    let in_memory = ends_in_memory(curve);
    match last_cache(curve) {
        Some(cache) if in_memory || end_in_sight(curve) => cache.saturating_mul(4),
        None if in_memory => to,
        _ => to.saturating_mul(2),
    }
}

/// Points in two octaves of a curve, with both ends.
const TWO_OCTAVES: usize = 5;

/// Whether the last two octaves of a curve are as slow as memory: what comes before is then all that may be a cache,
/// and noise, which keeps a busy machine's curve from being flat, is no reason to go on.
fn ends_in_memory(curve: &[(u64, f64)]) -> bool {
    let last = curve.iter().rev().take(TWO_OCTAVES);
    curve.len() > TWO_OCTAVES && last.map(|point| point.1).all(|ns| ns >= MEMORY_NS_MIN)
}

/// A last point above the last level by more may be the first one of a climb.
const RISEN_MAX: f64 = 1.25;

/// Whether a curve ends at a level behind which nothing climbs any more, or in sight of it.
fn end_in_sight(curve: &[(u64, f64)]) -> bool {
    let levels = engine::knee::levels(curve);
    let end = levels.last().zip(curve.last());
    end.is_some_and(|(level, point)| level.name == "memory" && point.1 <= level.ns * RISEN_MAX)
}

/// Whether the last level of a curve is so quick that it may be a cache: a curve that ends within one is as flat as one
/// that ends in memory.
fn ends_as_quick_as_a_cache(curve: &[(u64, f64)]) -> bool {
    let levels = engine::knee::levels(curve);
    levels.last().is_some_and(|level| level.ns < MEMORY_NS_MIN)
}

/// The largest cache among the levels of a curve, in bytes, but no more than what was reached more quickly than memory:
/// a busy machine makes memory a flat level, or one that climbs, and no cache as slow as that.
fn last_cache(curve: &[(u64, f64)]) -> Option<u64> {
    let quick = |ns: f64| ns < MEMORY_NS_MIN;
    let levels = engine::knee::levels(curve);
    let caches = levels.iter().filter(|level| quick(level.ns));
    let reached = curve.iter().filter(|point| quick(point.1));
    let most = reached.map(|point| point.0).max()?;
    Some(caches.filter_map(|level| level.bytes).max()?.min(most))
}

#[cfg(test)]
mod tests;
