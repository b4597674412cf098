//! The engine whose files lie in memory: each is mapped whole, an operation copies between the mapping and the slot's
//! buffer, and a sync is msync(2) of all of it.
//!
//! What the kernel does of an operation happens in page faults. There is nobody to return an error to: where the device
//! fails to read a page, or the file became shorter, the process gets SIGBUS and ends, and its supervisor tells that.
//! What lies beyond the length that a file had when it was mapped is not there, as at the end of any file.

#![expect(
    unsafe_code,
    reason = "copies from and to memory that others may change"
)]

use super::file::ReadOrder;
use super::map::Map;
use super::sync::{One, other};
use super::{Common, Completion, Engine, Kind, Op, Setup, Wait, index};
use std::fs::File;
use std::io;

/// One operation at a time, by copying.
#[derive(Debug)]
pub struct Mmap {
    one: One,
    maps: Vec<Map>,
}

impl Mmap {
    /// An engine of one slot, whatever `setup` asks for; files are mapped to be written to where it `writes`.
    pub fn new(setup: Setup, writes: bool, order: Option<ReadOrder>) -> io::Result<Self> {
        let map = |file: &File| {
            let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
            let map = Map::new(file, bytes, writes)?;
            order.map_or(Ok(()), |order| map.tell_order(order))?;
            Ok(map)
        };
        let maps = setup.files.iter().map(map).collect::<io::Result<_>>()?;
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
    let (there, len) = map.part(op.offset, index(op.len));
    match op.kind {
        Kind::Read => {
            // SAFETY: `part` lies inside the mapping, and `occupy` checked that `at + len` lies inside the slot's
            // buffer, which is no part of it.
            unsafe { std::ptr::copy_nonoverlapping(there.cast_const(), data, len) };
        }
        Kind::Write => {
            map.check_writes();
            // SAFETY: as above, and the mapping may be written to.
            unsafe { std::ptr::copy_nonoverlapping(data.cast_const(), there, len) };
        }
        Kind::Sync | Kind::DataSync => return if map.sync().is_ok() { 0 } else { -1 },
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
