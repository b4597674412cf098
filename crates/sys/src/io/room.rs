//! Changes of a file's length, or of the room that it has, in the place of transfers: ftruncate and fallocate.
//!
//! A loop that was made for transfers drives them as it is: an operation counts for its length, and no data moves.

#![expect(unsafe_code, reason = "fallocate has no safe interface")]

use super::sync::{One, offset, other};
use super::{Common, Completion, Engine, Kind, Op, Setup, Wait, index};
use std::io;
use std::os::fd::AsRawFd;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A write makes the file as long as the place where it would begin. There is nothing else.
    Length,
    /// A write gets room for its range, a read gets room that makes the file no longer, and a trim gives room back.
    Room,
}

/// One operation at a time.
#[derive(Debug)]
pub struct Changes {
    one: One,
    change: Change,
}

impl Changes {
    /// An engine of one slot, whatever `setup` asks for.
    pub fn new(setup: Setup, change: Change) -> io::Result<Self> {
        Ok(Self {
            one: One::new(setup)?,
            change,
        })
    }
}

fn changes(change: Change, common: &Common, op: Op) -> libc::ssize_t {
    let fd = common.files[index(op.file)].as_raw_fd();
    let result = match (change, op.kind) {
        (_, Kind::Sync | Kind::DataSync) | (Change::Room, Kind::Trim) => return other(common, op),
        (Change::Length, _) => {
            // SAFETY: an open descriptor is all it needs.
            unsafe { libc::ftruncate(fd, offset(op)) }
        }
        (Change::Room, kind) => {
            let mode = if kind == Kind::Read {
                libc::FALLOC_FL_KEEP_SIZE
            } else {
                0
            };
            // SAFETY: an open descriptor is all it needs.
            unsafe { libc::fallocate(fd, mode, offset(op), libc::off_t::from(op.len)) }
        }
    };
    if result == 0 {
        isize::try_from(op.len).unwrap_or(isize::MAX)
    } else {
        -1
    }
}

impl Engine for Changes {
    const SYNCHRONOUS: bool = true;

    fn slots(&self) -> u32 {
        1
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.one.common.buffer(slot)
    }

    #[inline]
    fn prepare(&mut self, slot: u32, op: Op) {
        let is_other = matches!(op.kind, Kind::Read | Kind::Trim);
        assert!(
            self.change == Change::Room || !is_other,
            "a length changes by writes alone"
        );
        self.one.prepare(slot, op);
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        let change = self.change;
        self.one.does(|common, _, op| changes(change, common, op));
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> io::Result<usize> {
        Ok(self.one.reap(into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;

    const BLOCK: u32 = 64 << 10;

    /// Does one operation on the second block of four, and gives its result.
    fn does(file: &File, change: Change, kind: Kind) -> i32 {
        let setup = Setup {
            files: vec![file.try_clone().unwrap()],
            slots: 8,
            slot_bytes: 64 << 10,
        };
        let mut engine = Changes::new(setup, change).unwrap();
        let op = Op {
            kind,
            file: 0,
            offset: u64::from(BLOCK),
            len: if kind == Kind::Sync { 0 } else { BLOCK },
            at: 0,
        };
        engine.prepare(0, op);
        engine.submit().unwrap();
        let mut over = [Completion::default()];
        assert_eq!(engine.reap(Wait::One, &mut over).unwrap(), 1);
        over[0].result
    }

    #[test]
    fn a_file_gets_a_length_or_room_and_no_data() {
        let file = tempfile::tempfile().unwrap();
        let found = || {
            let found = file.metadata().unwrap();
            (found.len(), found.blocks() * 512)
        };
        let block = u64::from(BLOCK);
        let moved = i32::try_from(BLOCK).unwrap();
        assert_eq!(does(&file, Change::Length, Kind::Write), moved);
        assert_eq!(found(), (block, 0));
        assert_eq!(does(&file, Change::Length, Kind::Sync), 0);
        assert_eq!(does(&file, Change::Room, Kind::Read), moved);
        assert_eq!(found(), (block, block), "no longer, with room behind it");
        assert_eq!(does(&file, Change::Room, Kind::Write), moved);
        assert_eq!(found(), (2 * block, block));
        assert_eq!(does(&file, Change::Room, Kind::Trim), moved);
        assert_eq!(found(), (2 * block, 0));
        assert_eq!(does(&file, Change::Length, Kind::Write), moved);
        assert_eq!(found().0, block);
        let null = File::open("/dev/null").unwrap();
        assert_eq!(does(&null, Change::Length, Kind::Write), -libc::EINVAL);
    }
}
