//! How large the file is: twice what memory could hold of it, or less where the disk has no room for that.

use crate::storage::space::limits;
use engine::workload::WorkError;
use model::host::HostFacts;
use model::params::Params;
use std::path::Path;
use sys::counters::Cgroups;
use sys::tree::Tree;

/// bonnie++ takes this much at least, however little memory there is.
const LEAST: u64 = 300 << 20;

/// A smaller file is none: five seekers would jump within a handful of chunks.
pub(super) const SIZE_MIN: u64 = 1 << 20;

/// Sizes that were found and not asked for are whole numbers of these.
const STEP: u64 = 1 << 20;

/// A size, and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) note: Option<&'static str>,
}

const TOO_LITTLE_ROOM: &str = "the disk has no room for twice the memory, so the file is smaller: what is read may \
                               come out of the page cache, and rates of reading and seeking may be too high";

/// What the page cache may take: all memory, or what a control group allows of it.
fn memory() -> u64 {
    let tree = Tree::real();
    let limit = Cgroups::find(&tree).and_then(|groups| groups.memory_limit(&tree));
    let limit = limit.ok().flatten();
    let all = sys::probe::memory_bytes().unwrap_or(u64::MAX);
    limit.map_or(all, |limit| limit.min(all))
}

/// What is wanted of one copy of several that share the disk and the memory.
pub(super) fn wanted(params: &Params, copies: u32) -> u64 {
    match params.size("size").0 {
        0 => automatic(memory(), copies),
        asked => asked,
    }
}

fn automatic(memory: u64, copies: u32) -> u64 {
    let all = memory.saturating_mul(2).max(LEAST);
    whole(all / u64::from(copies.max(1)))
}

fn whole(bytes: u64) -> u64 {
    (bytes / STEP * STEP).max(SIZE_MIN)
}

/// The size on this machine as far as its facts tell, where it was not asked for.
pub(super) fn expected(params: &Params, host: &HostFacts, copies: u32) -> Option<u64> {
    if params.size("size").0 > 0 {
        return None;
    }
    let wanted = wanted(params, copies);
    let of_each = |free: u64| whole(free / 2 / u64::from(copies.max(1)));
    let free = host.storage.free.known();
    Some(free.map_or(wanted, |free| wanted.min(of_each(free.0))))
}

/// Whether the files of all copies are larger than what could hold them.
pub(super) fn exceeds_memory(params: &Params, host: &HostFacts, copies: u32) -> bool {
    let each = expected(params, host, copies).unwrap_or_else(|| wanted(params, copies));
    each.saturating_mul(u64::from(copies)) > memory()
}

/// The size that a copy is to have in `dir` now.
pub(super) fn of_copy(params: &Params, dir: &Path, copies: u32) -> Result<Size, WorkError> {
    let limits = limits(dir)?;
    let all = limits.room();
    let is_asked = params.size("size").0 > 0;
    fit(
        wanted(params, copies),
        all / u64::from(copies.max(1)),
        is_asked,
    )
    .ok_or_else(|| {
        WorkError::Unsupported(format!(
            "there is room for {all} bytes, and {} are needed: {}; hint: `--dir` on a larger disk, or a smaller `size`",
            if is_asked { wanted(params, copies) } else { SIZE_MIN },
            limits.rule()
        ))
    })
}

fn fit(wanted: u64, room: u64, is_asked: bool) -> Option<Size> {
    if wanted <= room {
        let (bytes, note) = (wanted, None);
        return Some(Size { bytes, note });
    }
    (!is_asked && room >= SIZE_MIN).then(|| Size {
        bytes: whole(room),
        note: Some(TOO_LITTLE_ROOM),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1 << 20;

    #[test]
    fn twice_the_memory_or_what_fits_with_a_mark() {
        assert_eq!(automatic(1 << 30, 1), 2 << 30);
        assert_eq!(automatic(64 * M, 1), LEAST);
        assert_eq!(automatic(1 << 30, 3), 682 * M);
        let size = |bytes, note| Some(Size { bytes, note });
        assert_eq!(fit(100 * M, 100 * M, false), size(100 * M, None));
        let less = size(99 * M, Some(TOO_LITTLE_ROOM));
        assert_eq!(fit(100 * M, 100 * M - 1, false), less);
        assert_eq!(fit(100 * M, 100 * M - 1, true), None, "it was asked for");
        assert_eq!(fit(100 * M, M - 1, false), None);
    }
}
