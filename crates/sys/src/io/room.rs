//! Changes of a file's length, or of the room that it has, in the place of transfers: ftruncate, fallocate, and
//! extents that are exchanged.
//!
//! A loop that was made for transfers drives them as it is: an operation counts for its length, and no data moves.

#![expect(unsafe_code, reason = "fallocate and ioctl have no safe interface")]

use super::file::drop_cache;
use super::sync::{One, offset, other};
use super::{Common, Completion, Engine, Kind, Op, Setup, Wait, index};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A write makes the file as long as the place where it would begin. There is nothing else.
    Length,
    /// A write gets room for its range, a read gets room that makes the file no longer, and a trim gives room back.
    Room,
    /// A write exchanges the extents of its range for those of a donor, and the data stays.
    Extents,
}

/// A file without a name, whose extents go into another one.
#[derive(Debug)]
struct Donor {
    file: File,
    /// It gets room for each operation, and gives it back.
    in_place: bool,
    /// Bytes of a block of the file system.
    block: u64,
}

/// What `EXT4_IOC_MOVE_EXT` takes: blocks, and how many of them were moved.
#[repr(C)]
#[derive(Debug, Default)]
struct MoveExtent {
    reserved: u32,
    donor: u32,
    from: u64,
    donor_from: u64,
    length: u64,
    moved: u64,
}

/// How often a range that is busy is asked for again.
const TRIES: u32 = 5;

/// `_IOWR('f', 15, struct move_extent)`: include/uapi/linux/ext4.h of the kernel.
const EXT4_IOC_MOVE_EXT: libc::Ioctl = 0xc028_660f;

/// One operation at a time.
#[derive(Debug)]
pub struct Changes {
    one: One,
    change: Change,
    /// One for each file, where extents are exchanged.
    donors: Vec<Donor>,
}

impl Donor {
    /// One in this directory, for this file.
    fn new(file: &File, dir: &Path, in_place: bool) -> io::Result<Self> {
        let found = file.metadata()?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).mode(0o600);
        let donor = Self {
            file: options.custom_flags(libc::O_TMPFILE).open(dir)?,
            in_place,
            block: found.blksize().max(1),
        };
        if !in_place && donor.allocate(0, 0, found.len()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(donor)
    }

    fn allocate(&self, mode: libc::c_int, offset: u64, length: u64) -> libc::c_int {
        let [offset, length] = [offset, length].map(|n| libc::off_t::try_from(n).unwrap_or(-1));
        // SAFETY: an open descriptor is all it needs.
        unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset, length) }
    }

    /// Exchanges the extents of a range; how many bytes it was, or -1.
    fn moves(&self, of: &File, op: Op) -> libc::ssize_t {
        let length = u64::from(op.len);
        if self.in_place && self.allocate(0, op.offset, length) != 0 {
            return -1;
        }
        let mut asked = MoveExtent {
            donor: u32::try_from(self.file.as_raw_fd()).unwrap_or(u32::MAX),
            from: op.offset / self.block,
            donor_from: op.offset / self.block,
            length: length / self.block,
            ..MoveExtent::default()
        };
        let mut result = asks(of, &mut asked);
        for _ in 0..TRIES {
            if result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EBUSY) {
                break;
            }
            // What the page cache holds in large pieces is busy until it is written and forgotten.
            if of.sync_data().is_err() || drop_cache(of).is_err() {
                return -1;
            }
            result = asks(of, &mut asked);
        }
        if result != 0 {
            return -1;
        }
        if self.in_place {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            if self.allocate(mode, op.offset, length) != 0 {
                return -1;
            }
        }
        let moved = (asked.moved * self.block).min(length);
        libc::ssize_t::try_from(moved).unwrap_or(libc::ssize_t::MAX)
    }
}

fn asks(of: &File, asked: &mut MoveExtent) -> libc::c_int {
    asked.moved = 0;
    // SAFETY: `asked` has the layout of the kernel's structure, and outlives the call.
    unsafe { libc::ioctl(of.as_raw_fd(), EXT4_IOC_MOVE_EXT, &raw mut *asked) }
}

impl Changes {
    /// An engine that exchanges the extents of each file for those of a donor in a directory of the same file system.
    pub fn moving(setup: Setup, dirs: &[&Path], in_place: bool) -> io::Result<Self> {
        let each = setup.files.iter().zip(dirs);
        let donors = each.map(|(file, dir)| Donor::new(file, dir, in_place));
        Ok(Self {
            donors: donors.collect::<io::Result<_>>()?,
            ..Self::new(setup, Change::Extents)?
        })
    }

    /// An engine of one slot, whatever `setup` asks for.
    pub fn new(setup: Setup, change: Change) -> io::Result<Self> {
        Ok(Self {
            one: One::new(setup)?,
            change,
            donors: Vec::new(),
        })
    }
}

fn changes(change: Change, donors: &[Donor], common: &Common, op: Op) -> libc::ssize_t {
    let fd = common.files[index(op.file)].as_raw_fd();
    let result = match (change, op.kind) {
        (_, Kind::Sync | Kind::DataSync) | (Change::Room, Kind::Trim) => return other(common, op),
        (Change::Extents, _) => {
            let file = index(op.file);
            return donors[file].moves(&common.files[file], op);
        }
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
            "a length changes, and extents are exchanged, by writes alone"
        );
        self.one.prepare(slot, op);
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        let (change, donors) = (self.change, &self.donors);
        self.one
            .does(|common, _, op| changes(change, donors, common, op));
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
            priority: 0,
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

    #[test]
    fn extents_are_exchanged_and_the_data_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let data: Vec<u8> = (0..4 * BLOCK).map(|n| (n / 7).to_le_bytes()[0]).collect();
        std::fs::write(&path, &data).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        file.sync_all().unwrap();
        for in_place in [false, true] {
            let setup = Setup {
                files: vec![file.try_clone().unwrap()],
                slots: 1,
                slot_bytes: 64 << 10,
            };
            let Ok(mut engine) = Changes::moving(setup, &[dir.path()], in_place) else {
                eprintln!("skipped: this file system has no files without a name");
                return;
            };
            for number in 0..4 {
                let op = Op {
                    kind: Kind::Write,
                    file: 0,
                    offset: u64::from(number * BLOCK),
                    len: BLOCK,
                    at: 0,
                    priority: 0,
                };
                engine.prepare(0, op);
                engine.submit().unwrap();
                let mut over = [Completion::default()];
                assert_eq!(engine.reap(Wait::One, &mut over).unwrap(), 1);
                let moved = over[0].result;
                if [-libc::ENOTTY, -libc::EOPNOTSUPP].contains(&moved) {
                    eprintln!("skipped: this file system is not ext4");
                    return;
                }
                assert_eq!(moved, i32::try_from(BLOCK).unwrap(), "{in_place}");
            }
            assert_eq!(std::fs::read(&path).unwrap(), data);
        }
    }
}
