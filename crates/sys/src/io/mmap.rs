//! The engine whose files lie in memory: each is mapped whole, an operation copies between the mapping and the slot's
//! buffer, and a sync is msync(2) of all of it.
//!
//! What the kernel does of an operation happens in page faults. There is nobody to return an error to: where the device
//! fails to read a page, or the file became shorter, the process gets SIGBUS and ends, and its supervisor tells that. What
//! lies beyond the length that a file had when it was mapped is not there, as at the end of any file.

#![expect(
    unsafe_code,
    reason = "mmap, msync, and copies from and to what others may change"
)]

use super::file::ReadOrder;
use super::sync::{One, other};
use super::{Common, Completion, Engine, Kind, Op, Setup, Wait, index};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// One operation at a time, by copying.
#[derive(Debug)]
pub struct Mmap {
    one: One,
    maps: Vec<Map>,
}

/// A file in memory; one without bytes has no mapping.
#[derive(Debug)]
struct Map {
    start: NonNull<u8>,
    bytes: usize,
    /// It may be written to.
    writes: bool,
}

// SAFETY: the mapping belongs to it alone; nothing in it belongs to a thread.
unsafe impl Send for Map {}

impl Map {
    fn new(file: &File, writes: bool, order: Option<ReadOrder>) -> io::Result<Self> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if bytes == 0 {
            let start = NonNull::dangling();
            return Ok(Self {
                start,
                bytes,
                writes,
            });
        }
        let write = if writes { libc::PROT_WRITE } else { 0 };
        // SAFETY: a new shared mapping of an open file; nothing of ours is replaced without MAP_FIXED.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | write,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let map = Self {
            start,
            bytes,
            writes,
        };
        let advice = match order {
            None => return Ok(map),
            Some(ReadOrder::Random) => libc::MADV_RANDOM,
            Some(ReadOrder::Sequential) => libc::MADV_SEQUENTIAL,
        };
        // SAFETY: the whole of a mapping of ours, about which the kernel is told something.
        if unsafe { libc::madvise(map.start.as_ptr().cast(), bytes, advice) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(map)
    }

    /// Where an operation's bytes are, and how many of them.
    #[inline]
    fn part(&self, op: Op) -> (*mut u8, usize) {
        let first = usize::try_from(op.offset)
            .unwrap_or(usize::MAX)
            .min(self.bytes);
        let len = index(op.len).min(self.bytes - first);
        (self.start.as_ptr().wrapping_add(first), len)
    }

    /// Its pages are mapped again when they are touched.
    fn let_go(&self) -> io::Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let start = self.start.as_ptr().cast();
        // SAFETY: the whole of a shared mapping of ours, into which nothing refers; what was written stays in the file.
        if unsafe { libc::madvise(start, self.bytes, libc::MADV_DONTNEED) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn sync(&self) -> libc::ssize_t {
        if self.bytes == 0 {
            return 0;
        }
        // SAFETY: the whole of a mapping of ours.
        (unsafe { libc::msync(self.start.as_ptr().cast(), self.bytes, libc::MS_SYNC) })
            as libc::ssize_t
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the mapping was made with this length, and nothing refers into it any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }
}

impl Mmap {
    /// An engine of one slot, whatever `setup` asks for; files are mapped to be written to where it `writes`.
    pub fn new(setup: Setup, writes: bool, order: Option<ReadOrder>) -> io::Result<Self> {
        let maps = setup.files.iter();
        let maps = maps
            .map(|file| Map::new(file, writes, order))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            one: One::new(setup)?,
            maps,
        })
    }
}

/// Does an operation, and says how many bytes it moved.
#[inline]
fn copy(maps: &[Map], common: &Common, slot: u32, op: Op) -> libc::ssize_t {
    let map = &maps[index(op.file)];
    let data = common.buffers.pointer(index(slot)).wrapping_add(op.at);
    let (there, len) = map.part(op);
    match op.kind {
        Kind::Read => {
            // SAFETY: `part` lies inside the mapping, and `occupy` checked that `at + len` lies inside the slot's
            // buffer, which is no part of it.
            unsafe { std::ptr::copy_nonoverlapping(there.cast_const(), data, len) };
        }
        Kind::Write => {
            assert!(map.writes, "a write to a file that is mapped to be read");
            // SAFETY: as above, and the mapping may be written to.
            unsafe { std::ptr::copy_nonoverlapping(data.cast_const(), there, len) };
        }
        Kind::Sync | Kind::DataSync => return map.sync(),
        Kind::Trim => return other(common, op),
    }
    isize::try_from(len).unwrap_or(isize::MAX)
}

impl Engine for Mmap {
    const SYNCHRONOUS: bool = true;

    fn slots(&self) -> u32 {
        1
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.one.common.buffer(slot)
    }

    #[inline]
    fn prepare(&mut self, slot: u32, op: Op) {
        self.one.prepare(slot, op);
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        let maps = &self.maps;
        self.one
            .does(|common, slot, op| copy(maps, common, slot, op));
        Ok(())
    }

    fn let_go(&mut self, file: u32) -> io::Result<()> {
        self.maps.get(index(file)).map_or(Ok(()), Map::let_go)
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> io::Result<usize> {
        Ok(self.one.reap(into))
    }
}
