//! Memory that is measured: mapped by itself, paged as asked, read back as obtained.
//!
//! A [`Region`] is an anonymous private mapping on a boundary of 2 MiB, so that huge pages are possible at all. What
//! the kernel was asked for ([`Pages`]) and what it gave ([`Region::paging`]) are two things, and a figure needs the
//! second. Pages are placed by first touch: the thread that writes a region first should be the one that measures.
//!
//! It refuses regions of no size. It never locks memory and never takes more than it is asked for; whether there is
//! enough is answered by [`limits`] before.

#![expect(unsafe_code, reason = "mmap, madvise, and slices over what they give")]

pub mod forget;
pub mod limits;
pub mod numa;

use crate::tree::{Tree, TreeError, shorten};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The size of a huge page on x86-64, and on aarch64 with pages of 4 KiB. Elsewhere they are larger, and the mapping
/// is still aligned to a part of one.
pub const HUGE_PAGE: usize = 2 << 20;

/// What pages are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// What the kernel gives without being asked.
    Usual,
    /// The smallest: transparent huge pages are declined (`MADV_NOHUGEPAGE`).
    Small,
    /// Transparent huge pages (`MADV_HUGEPAGE`).
    Huge,
}

/// How a region really is paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// The mapping's basic page size in bytes.
    pub page_bytes: u64,
    /// Bytes that are in memory at all.
    pub resident_bytes: u64,
    /// Bytes of these that are in huge pages.
    pub huge_bytes: u64,
    /// Bytes that were swapped out.
    pub swapped_bytes: u64,
}

impl Paging {
    /// The share of the resident bytes that is in huge pages, 0 to 1; `None` where nothing is resident.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of sizes below 2^53 bytes"
    )]
    pub fn huge_share(self) -> Option<f64> {
        (self.resident_bytes > 0).then(|| self.huge_bytes as f64 / self.resident_bytes as f64)
    }
}

/// An anonymous private mapping; unmapped when dropped.
#[derive(Debug)]
pub struct Region {
    map: NonNull<u8>,
    map_len: usize,
    start: usize,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone, wherever it goes, like the memory of a Box.
unsafe impl Send for Region {}
// SAFETY: what is reachable through a shared reference is atomic, or only looks at the mapping from outside.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `len` bytes on a boundary of [`HUGE_PAGE`]. Nothing is touched: reading gives zeros.
    pub fn new(len: usize, pages: Pages) -> io::Result<Self> {
        // A multiple of huge pages, so that the last part can be one too.
        let whole = len.max(1).div_ceil(HUGE_PAGE).saturating_mul(HUGE_PAGE);
        let map_len = whole
            .checked_add(HUGE_PAGE)
            .filter(|_| len > 0)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that exists.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map_len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(map.cast::<u8>())
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let region = Self {
            start: map.as_ptr().align_offset(HUGE_PAGE).min(HUGE_PAGE),
            map,
            map_len,
            len,
        };
        region.advise(pages, whole)?;
        Ok(region)
    }

    fn advise(&self, pages: Pages, whole: usize) -> io::Result<()> {
        let advice = match pages {
            Pages::Usual => return Ok(()),
            Pages::Small => libc::MADV_NOHUGEPAGE,
            Pages::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: the range lies in our own mapping, and neither advice changes what it holds.
        let result = unsafe { libc::madvise(self.pointer().cast(), whole, advice) };
        let error = io::Error::last_os_error();
        // A kernel without transparent huge pages does not know the advice: then small pages are all there is, and
        // what was obtained is read back anyway.
        if result == 0 || error.raw_os_error() == Some(libc::EINVAL) {
            Ok(())
        } else {
            Err(error)
        }
    }

    /// The first byte.
    pub(crate) fn pointer(&self) -> *mut u8 {
        // SAFETY: `start` is at most one huge page, and the mapping is at least one longer than the region.
        unsafe { self.map.as_ptr().add(self.start) }
    }

    fn typed<T>(&self) -> *mut T {
        self.pointer().cast()
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for a region of no bytes, which there is none of.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it as words; a rest below eight bytes is left out.
    pub fn words(&mut self) -> &mut [u64] {
        let (pointer, count) = (self.typed::<u64>(), self.len / 8);
        // SAFETY: the mapping is readable and writable for `len` bytes, aligned, zero or written by us, and ours alone.
        unsafe { std::slice::from_raw_parts_mut(pointer, count) }
    }

    /// All of it as numbers; zeros where nothing was written.
    pub fn numbers(&mut self) -> &mut [f64] {
        let (pointer, count) = (self.typed::<f64>(), self.len / 8);
        // SAFETY: as for `words`; every pattern of bits is a number.
        unsafe { std::slice::from_raw_parts_mut(pointer, count) }
    }

    /// All of it as words that several threads may read and write at the same time.
    pub fn shared_words(&self) -> &[AtomicU64] {
        let (pointer, count) = (self.typed::<AtomicU64>(), self.len / 8);
        // SAFETY: as for `words`; a shared borrow of the region excludes the views that are not atomic.
        unsafe { std::slice::from_raw_parts(pointer, count) }
    }

    /// The same as words of four bytes.
    pub fn shared_half_words(&self) -> &[AtomicU32] {
        let (pointer, count) = (self.typed::<AtomicU32>(), self.len / 4);
        // SAFETY: as for `shared_words`.
        unsafe { std::slice::from_raw_parts(pointer, count) }
    }

    /// Writes one word into every page, so that each is there and belongs to the node of the calling thread.
    pub fn touch(&mut self) {
        const SMALLEST_PAGE_WORDS: usize = 4096 / 8;
        for word in self.words().iter_mut().step_by(SMALLEST_PAGE_WORDS) {
            // SAFETY: `word` is a valid reference; volatile, because a zero over a zero would be left out.
            unsafe { std::ptr::write_volatile(word, 0) };
        }
    }

    /// How it is paged at this moment, as the kernel lists it in `/proc/self/smaps`.
    pub fn paging(&self) -> Result<Paging, TreeError> {
        let from = self.pointer().addr();
        paging_of(&Tree::real(), from, from + self.len)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by us with this length, and nothing borrows it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_len) };
    }
}

const SMAPS: &str = "/proc/self/smaps";

/// Sums the mappings that overlap with the addresses. The kernel splits a mapping where advice differs, and merges
/// neighbours that are alike, so one region may be several or share one. It lists about 2 KiB for each mapping, and
/// each thread has two. Source: proc(5).
fn paging_of(tree: &Tree, from: usize, to: usize) -> Result<Paging, TreeError> {
    let mut sum: Option<Paging> = None;
    let mut inside = false;
    let mut odd = None;
    tree.each_line(SMAPS, |line| {
        if let Some((start, end)) = addresses(line) {
            inside = start < to && end > from;
        } else if inside {
            let sum = sum.get_or_insert(Paging {
                page_bytes: 0,
                resident_bytes: 0,
                huge_bytes: 0,
                swapped_bytes: 0,
            });
            if add(sum, line).is_none() {
                odd.get_or_insert_with(|| line.to_owned());
            }
        }
    })?;
    if let Some(line) = odd {
        let why = format!("`{}` is no size", shorten(&line));
        return Err(TreeError::content(SMAPS, why));
    }
    sum.ok_or_else(|| TreeError::content(SMAPS, "it does not list the mapping"))
}

/// Takes a line such as `Rss:   2048 kB` into account; `None` where it should have a size.
fn add(paging: &mut Paging, line: &str) -> Option<()> {
    let Some((key, value)) = line.split_once(':') else {
        return Some(());
    };
    let bytes = || -> Option<u64> {
        let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    match key {
        "KernelPageSize" => paging.page_bytes = paging.page_bytes.max(bytes()?),
        "Rss" => paging.resident_bytes += bytes()?,
        "AnonHugePages" => paging.huge_bytes += bytes()?,
        "Swap" => paging.swapped_bytes += bytes()?,
        _ => {}
    }
    Some(())
}

/// The range at the beginning of a mapping's first line: `7f0000000000-7f0000200000 rw-p ...`.
fn addresses(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some((
        usize::from_str_radix(start, 16).ok()?,
        usize::from_str_radix(end, 16).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    #[test]
    fn a_region_is_aligned_zero_and_paged_as_it_was_touched() {
        let mut region = Region::new(3 * HUGE_PAGE + 100, Pages::Small).unwrap();
        assert!(region.words().iter().all(|&word| word == 0));
        assert_eq!(region.pointer().addr() % HUGE_PAGE, 0);
        assert_eq!(
            (region.len(), region.is_empty()),
            (3 * HUGE_PAGE + 100, false)
        );
        region.touch();
        let paging = region.paging().unwrap();
        assert!(paging.resident_bytes >= 3 * HUGE_PAGE as u64, "{paging:?}");
        assert_eq!(paging.huge_bytes, 0, "{paging:?}");
    }

    #[test]
    fn huge_pages_are_given_where_the_kernel_may_give_them() {
        let setting = Tree::real().read("/sys/kernel/mm/transparent_hugepage/enabled");
        let mut region = Region::new(4 * HUGE_PAGE, Pages::Huge).unwrap();
        region.touch();
        let share = region.paging().unwrap().huge_share().unwrap();
        let may = setting.is_ok_and(|text| !text.contains("[never]"));
        // Memory in pieces may leave fewer, never more.
        assert!(share <= 1.0 && (may || share == 0.0), "{share}");
    }

    #[test]
    fn no_size_and_impossible_sizes_are_refused() {
        assert!(Region::new(0, Pages::Usual).is_err());
        assert!(Region::new(usize::MAX / 2, Pages::Usual).is_err());
    }

    #[test]
    fn smaps_is_summed_over_the_pieces_of_a_region() {
        let text = "7f0000000000-7f0000200000 rw-p 00000000 00:00 0\nSize: 2048 kB\nKernelPageSize: 4 kB\n\
                    Rss: 2048 kB\nAnonHugePages: 2048 kB\nSwap: 0 kB\nVmFlags: rd wr\n\
                    7f0000200000-7f0000400000 rw-p 00000000 00:00 0\nKernelPageSize: 4 kB\nRss: 1024 kB\n\
                    AnonHugePages: 0 kB\nSwap: 8 kB\n\
                    7f0000400000-7f0000600000 rw-p 00000000 00:00 0\nKernelPageSize: 4 kB\nRss: 4 kB\n";
        let (_dir, tree) = listing(text);
        let paging = paging_of(&tree, 0x7f00_0000_0000, 0x7f00_0040_0000).unwrap();
        assert_eq!(paging.resident_bytes, 3 << 20);
        assert_eq!(paging.swapped_bytes, 8192);
        assert_eq!(
            paging.huge_share().map(|share| (share * 3.0).round()),
            Some(2.0)
        );
        let absent = paging_of(&tree, 0x1000, 0x2000).unwrap_err();
        assert_eq!(absent.why, "it does not list the mapping");
    }

    #[test]
    fn a_region_is_found_behind_the_stacks_of_ten_thousand_threads() {
        let mut text = String::new();
        for start in (0..20_000_u64).map(|n| 0x1000_0000 + n * 0x1_0000) {
            let filler = "Shared_Clean: 0 kB\n".repeat(25);
            write!(
                text,
                "{start:x}-{:x} rw-p 0 00:00 0\n{filler}",
                start + 0x1000
            )
            .unwrap();
        }
        assert!(text.len() as u64 > crate::tree::MAX_FILE);
        text.push_str("7f0000000000-7f0000200000 rw-p 0 00:00 0\nRss: 8 kB\nVmFlags: rd wr\n");
        let (_dir, tree) = listing(&text);
        let paging = paging_of(&tree, 0x7f00_0000_0000, 0x7f00_0020_0000).unwrap();
        assert_eq!(paging.resident_bytes, 8192);
    }

    /// A machine with this list of mappings.
    fn listing(text: &str) -> (tempfile::TempDir, Tree) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(SMAPS.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let tree = Tree::at(root.path());
        (root, tree)
    }
}
