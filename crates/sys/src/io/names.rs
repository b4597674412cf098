//! Operations on names in the place of transfers: each operation makes, asks for or removes one file or directory.
//!
//! A loop that was made for transfers drives it as it is: the place of an operation says which name it is about, and
//! its length is what it counts for. Names are numbers behind a prefix, in one directory.

#![expect(unsafe_code, reason = "statx has no safe interface")]

use super::{Common, Completion, Engine, Kind, Op, Setup, Wait};
use crate::folder::{Folder, How, sync};
use crate::loops::failure::Failure;
use crate::name::Name;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// What is done to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A file is opened, and made where it is not there. Closing it is not part of the operation.
    Create,
    /// fstatat(2).
    Stat,
    /// statx(2), all that stat(2) tells.
    Statx,
    /// unlinkat(2) of a file.
    Unlink,
    /// mkdirat(2).
    Mkdir,
    /// unlinkat(2) of an empty directory.
    Rmdir,
}

/// The names.
#[derive(Debug)]
pub struct Of {
    /// Where they are.
    pub folder: Folder,
    /// What they begin with.
    pub prefix: String,
    /// How many there are; at least 1.
    pub count: u64,
    /// Places of operations are multiples of this; at least 1.
    pub unit: u64,
}

/// One operation at a time.
#[derive(Debug)]
pub struct Names {
    common: Common,
    of: Of,
    name: Name,
    act: Act,
    prepared: Option<(u32, Op)>,
    over: Option<Completion>,
    opened: Option<File>,
}

impl Names {
    /// An engine of one slot, whatever `setup` asks for; its files are not used.
    pub fn new(setup: Setup, of: Of, act: Act) -> io::Result<Self> {
        Ok(Self {
            common: Common::new(Setup { slots: 1, ..setup })?,
            name: Name::new(&of.prefix),
            of,
            act,
            prepared: None,
            over: None,
            opened: None,
        })
    }

    #[inline]
    fn operate(&mut self, op: Op) -> Result<(), Failure> {
        let folder = &self.of.folder;
        if matches!(op.kind, Kind::Sync | Kind::DataSync) {
            return sync(folder.handle());
        }
        let number = op.offset / self.of.unit.max(1) % self.of.count.max(1);
        let name = self.name.of(number);
        match self.act {
            Act::Create => {
                const MAKE: How = How {
                    both: true,
                    create: true,
                    ..How::READ
                };
                self.opened = Some(folder.file(name, MAKE)?);
                Ok(())
            }
            Act::Stat => folder.stat(name).map(drop),
            Act::Statx => statx(folder, name),
            Act::Unlink => folder.unlink(name),
            Act::Mkdir => folder.mkdir(name),
            Act::Rmdir => folder.rmdir(name),
        }
    }
}

/// By number, as [`crate::io::file::direct_alignment`] says why.
fn statx(folder: &Folder, name: &CStr) -> Result<(), Failure> {
    let mut found = std::mem::MaybeUninit::<libc::statx>::uninit();
    // SAFETY: the directory is open, the name ends in NUL, and `found` is valid to write to.
    let result = unsafe {
        libc::syscall(
            libc::SYS_statx,
            folder.handle().as_raw_fd(),
            name.as_ptr(),
            libc::AT_SYMLINK_NOFOLLOW,
            libc::STATX_BASIC_STATS,
            found.as_mut_ptr(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Failure::last("statx", 0))
    }
}

impl Engine for Names {
    const SYNCHRONOUS: bool = true;

    fn slots(&self) -> u32 {
        1
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.common.buffer(slot)
    }

    #[inline]
    fn prepare(&mut self, slot: u32, op: Op) {
        self.common.occupy(slot, op);
        // The file of the last operation is closed here, where no latency is taken.
        self.opened = None;
        self.prepared = Some((slot, op));
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        let Some((slot, op)) = self.prepared.take() else {
            return Ok(());
        };
        let result = match self.operate(op) {
            Ok(()) => i32::try_from(op.len).unwrap_or(i32::MAX),
            Err(failure) => -failure.error.raw_os_error().unwrap_or(libc::EIO),
        };
        self.over = Some(Completion { slot, result });
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> io::Result<usize> {
        let (Some(over), Some(first)) = (self.over.take(), into.first_mut()) else {
            return Ok(0);
        };
        *first = over;
        self.common.release(over.slot);
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(root: &std::path::Path, act: Act) -> Names {
        let setup = Setup {
            files: vec![File::open("/dev/null").unwrap()],
            slots: 1,
            slot_bytes: 512,
        };
        let of = Of {
            folder: Folder::open(root).unwrap(),
            prefix: "a.".to_owned(),
            count: 3,
            unit: 512,
        };
        Names::new(setup, of, act).unwrap()
    }

    /// Does the operation at this place and gives its result.
    fn at(engine: &mut Names, offset: u64) -> i32 {
        let op = Op {
            kind: Kind::Read,
            file: 0,
            offset,
            len: 512,
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
    fn each_place_is_a_name_and_the_length_is_what_an_operation_counts_for() {
        let root = tempfile::tempdir().unwrap();
        let left = || std::fs::read_dir(root.path()).unwrap().count();
        let places = [0, 512, 1024, 1536];
        for (make, remove, again) in [
            (Act::Create, Act::Unlink, 512),
            (Act::Mkdir, Act::Rmdir, -libc::EEXIST),
        ] {
            let mut act = engine(root.path(), make);
            let made = places.map(|place| at(&mut act, place));
            assert_eq!(
                made,
                [512, 512, 512, again],
                "the fourth is the first again"
            );
            assert_eq!(left(), 3);
            assert!(root.path().join("a.0000000002").exists());
            for ask in [Act::Stat, Act::Statx] {
                let mut ask = engine(root.path(), ask);
                assert_eq!(places.map(|place| at(&mut ask, place)), [512; 4]);
            }
            let mut act = engine(root.path(), remove);
            let removed = places.map(|place| at(&mut act, place));
            assert_eq!(removed, [512, 512, 512, -libc::ENOENT]);
            assert_eq!(left(), 0);
            for ask in [Act::Stat, Act::Statx] {
                assert_eq!(at(&mut engine(root.path(), ask), 0), -libc::ENOENT);
            }
        }
    }
}
