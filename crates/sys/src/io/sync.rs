//! The engines whose system call returns when the operation is over: pread and pwrite, preadv2 and pwritev2.

#![expect(
    unsafe_code,
    reason = "preadv2 has no safe interface, and pread into a mapping of our own needs none of std's checks"
)]

use super::{Common, Completion, Engine, Kind, Op, Setup, Wait, index};
use std::io;
use std::os::fd::AsRawFd;

/// One operation at a time through pread(2) and pwrite(2).
#[derive(Debug)]
pub struct Psync {
    one: One,
}

/// One operation at a time through preadv2(2) and pwritev2(2), with their flags.
#[derive(Debug)]
pub struct Pvsync2 {
    one: One,
    high_priority: bool,
}

/// What both are made of: a slot, and what is prepared or over in it.
#[derive(Debug)]
pub(super) struct One {
    pub(super) common: Common,
    prepared: Option<(u32, Op)>,
    over: Option<Completion>,
}

impl One {
    pub(super) fn new(setup: Setup) -> io::Result<Self> {
        Ok(Self {
            common: Common::new(Setup { slots: 1, ..setup })?,
            prepared: None,
            over: None,
        })
    }

    #[inline]
    pub(super) fn prepare(&mut self, slot: u32, op: Op) {
        self.common.occupy(slot, op);
        self.prepared = Some((slot, op));
    }

    /// Does what is prepared: syncs and trims by the calls for them, the rest with `transfer`.
    #[inline]
    fn submit(&mut self, transfer: impl Fn(&Common, u32, Op) -> libc::ssize_t) {
        self.does(|common, slot, op| match op.kind {
            Kind::Read | Kind::Write => transfer(common, slot, op),
            Kind::Trim | Kind::Sync | Kind::DataSync => other(common, op),
        });
    }

    /// Does what is prepared with `how`, again where a signal came first.
    #[inline]
    pub(super) fn does(&mut self, how: impl Fn(&Common, u32, Op) -> libc::ssize_t) {
        let Some((slot, op)) = self.prepared.take() else {
            return;
        };
        let result = loop {
            let got = how(&self.common, slot, op);
            if got >= 0 {
                break i32::try_from(got).unwrap_or(i32::MAX);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                break -error.raw_os_error().unwrap_or(libc::EIO);
            }
        };
        self.over = Some(Completion { slot, result });
    }

    #[inline]
    pub(super) fn reap(&mut self, into: &mut [Completion]) -> usize {
        let (Some(over), Some(first)) = (self.over, into.first_mut()) else {
            return 0;
        };
        *first = over;
        self.over = None;
        self.common.release(over.slot);
        1
    }
}

/// What is no transfer of data. A trim gives its length, the others 0.
pub(super) fn other(common: &Common, op: Op) -> libc::ssize_t {
    let fd = common.files[index(op.file)].as_raw_fd();
    match op.kind {
        Kind::Sync => {
            // SAFETY: an open descriptor is all it needs.
            (unsafe { libc::fsync(fd) }) as libc::ssize_t
        }
        Kind::DataSync => {
            // SAFETY: an open descriptor is all it needs.
            (unsafe { libc::fdatasync(fd) }) as libc::ssize_t
        }
        Kind::Trim | Kind::Read | Kind::Write => {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: an open descriptor is all it needs.
            let result =
                unsafe { libc::fallocate(fd, mode, offset(op), libc::off_t::from(op.len)) };
            if result == 0 {
                isize::try_from(op.len).unwrap_or(isize::MAX)
            } else {
                -1
            }
        }
    }
}

pub(super) fn offset(op: Op) -> libc::off_t {
    // A file cannot be longer than what off_t holds, so the kernel refuses this one.
    libc::off_t::try_from(op.offset).unwrap_or(libc::off_t::MAX)
}

impl Psync {
    /// An engine of one slot, whatever `setup` asks for.
    pub fn new(setup: Setup) -> io::Result<Self> {
        Ok(Self {
            one: One::new(setup)?,
        })
    }
}

impl Pvsync2 {
    /// An engine of one slot, whatever `setup` asks for; `high_priority` polls for completion where the device can.
    pub fn new(setup: Setup, high_priority: bool) -> io::Result<Self> {
        Ok(Self {
            one: One::new(setup)?,
            high_priority,
        })
    }
}

impl Engine for Psync {
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
        self.one.submit(|common, slot, op| {
            let fd = common.files[index(op.file)].as_raw_fd();
            let data = common.buffers.pointer(index(slot)).wrapping_add(op.at);
            if op.kind == Kind::Read {
                // SAFETY: `occupy` checked that `at + len` lies inside the slot's buffer, which nobody else uses.
                unsafe { libc::pread(fd, data.cast(), index(op.len), offset(op)) }
            } else {
                // SAFETY: as above.
                unsafe { libc::pwrite(fd, data.cast(), index(op.len), offset(op)) }
            }
        });
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> io::Result<usize> {
        Ok(self.one.reap(into))
    }
}

impl Engine for Pvsync2 {
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
        let flags = if self.high_priority {
            libc::RWF_HIPRI
        } else {
            0
        };
        self.one.submit(|common, slot, op| {
            let fd = common.files[index(op.file)].as_raw_fd();
            let data = common.buffers.pointer(index(slot)).wrapping_add(op.at);
            let part = libc::iovec {
                iov_base: data.cast(),
                iov_len: index(op.len),
            };
            if op.kind == Kind::Read {
                // SAFETY: `occupy` checked that `at + len` lies inside the slot's buffer, which nobody else uses; the
                // vector has one part.
                unsafe { libc::preadv2(fd, &raw const part, 1, offset(op), flags) }
            } else {
                // SAFETY: as above.
                unsafe { libc::pwritev2(fd, &raw const part, 1, offset(op), flags) }
            }
        });
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> io::Result<usize> {
        Ok(self.one.reap(into))
    }
}
