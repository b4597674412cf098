//! The Linux `libaio` engine, by its raw system calls: `io_submit` and `io_getevents`.
//!
//! It is asynchronous only with `O_DIRECT`; through the page cache `io_submit` does the work itself. Sources:
//! `io_submit(2)`, `io_getevents(2)`, `linux/aio_abi.h`.

#![expect(
    unsafe_code,
    reason = "the kernel uses buffers and descriptors that only we can promise to keep alive"
)]

use super::sync::other;
use super::{Common, Completion, Engine, Kind, Op, Setup, Wait, index};
use std::io;
use std::os::fd::AsRawFd;

/// One context of the kernel.
#[derive(Debug)]
pub struct Aio {
    context: libc::c_ulong,
    common: Common,
    /// One control block per slot, which the kernel only reads while it submits.
    blocks: Vec<Block>,
    prepared: Vec<(u32, Op)>,
    /// What `io_submit` is given: one pointer per prepared operation.
    pointers: Vec<*mut Block>,
    events: Vec<Event>,
    /// Done without the kernel's queue, for what it has no command for.
    over: Vec<Completion>,
    /// Whether the kernel has commands for syncs: since 4.18, and until it refuses one.
    has_syncs: bool,
}

// SAFETY: the pointers lead into `blocks`, which it owns; a context belongs to the process and not to a thread.
unsafe impl Send for Aio {}

/// `IOCB_FLAG_IOPRIO`: the block has a priority.
const HAS_PRIORITY: u32 = 1 << 1;

/// `struct iocb`; what is not named here stays 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    data: u64,
    key_and_flags: u64,
    command: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    notify: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    second: i64,
}

const READ: u16 = 0;
const WRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

impl Aio {
    /// A context for `setup`. `EAGAIN` means that the machine's limit is reached (sysctl fs.aio-max-nr).
    pub fn new(setup: Setup) -> io::Result<Self> {
        let common = Common::new(setup)?;
        let slots = common.busy.len();
        let mut context: libc::c_ulong = 0;
        let most = libc::c_long::from(common.slots());
        // SAFETY: `context` is 0, as the call demands, and valid to write to.
        if unsafe { libc::syscall(libc::SYS_io_setup, most, &raw mut context) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            context,
            blocks: vec![Block::default(); slots],
            prepared: Vec::with_capacity(slots),
            pointers: Vec::with_capacity(slots),
            events: vec![Event::default(); slots],
            over: Vec::with_capacity(slots),
            has_syncs: true,
            common,
        })
    }

    /// The block for an operation; false where the kernel has no command for it.
    fn fill_block(&mut self, slot: u32, op: Op) -> bool {
        let command = match op.kind {
            Kind::Read => READ,
            Kind::Write => WRITE,
            Kind::Sync if self.has_syncs => FSYNC,
            Kind::DataSync if self.has_syncs => FDSYNC,
            Kind::Sync | Kind::DataSync | Kind::Trim => return false,
        };
        let fd = self.common.files[index(op.file)].as_raw_fd();
        let data = self.common.buffers.pointer(index(slot)).wrapping_add(op.at);
        self.blocks[index(slot)] = Block {
            data: u64::from(slot),
            command,
            file: u32::try_from(fd).unwrap_or(u32::MAX),
            // The kernel refuses a sync that names one.
            buffer: if op.len > 0 { data.addr() as u64 } else { 0 },
            bytes: u64::from(op.len),
            offset: i64::try_from(op.offset).unwrap_or(i64::MAX),
            priority: op.priority.cast_signed(),
            flags: if op.priority > 0 { HAS_PRIORITY } else { 0 },
            ..Block::default()
        };
        true
    }

    /// Does an operation without the kernel's queue.
    fn do_at_once(&mut self, slot: u32, op: Op) {
        let result = other(&self.common, op);
        let error = io::Error::last_os_error().raw_os_error();
        self.over.push(Completion {
            slot,
            result: i32::try_from(result)
                .ok()
                .filter(|result| *result >= 0)
                .unwrap_or(-error.unwrap_or(libc::EIO)),
        });
    }

    /// Where what the kernel refused to queue is a sync, it and all later ones are done without the queue: an old
    /// kernel has no command for them, and what a file has against it is the result of that one operation.
    #[cold]
    fn does_instead(&mut self, refused: *const Block) -> bool {
        let blocks = &self.blocks;
        let is_it = |slot: u32| std::ptr::eq(&raw const blocks[index(slot)], refused);
        let found = self.prepared.iter().find(|(slot, _)| is_it(*slot)).copied();
        let Some((slot, op)) = found else {
            return false;
        };
        if !matches!(op.kind, Kind::Sync | Kind::DataSync) {
            return false;
        }
        self.has_syncs = false;
        self.do_at_once(slot, op);
        true
    }

    /// Hands `pointers` to the kernel, all of them.
    fn submit_blocks(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.pointers.len() {
            let rest = &mut self.pointers[done..];
            let count = libc::c_long::try_from(rest.len()).unwrap_or(libc::c_long::MAX);
            // SAFETY: the pointers lead to control blocks that are complete; the buffers and files they name live
            // until the context is destroyed.
            let result = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, count, rest.as_mut_ptr())
            };
            match usize::try_from(result) {
                Ok(taken) if taken > 0 => done += taken,
                _ => {
                    let error = io::Error::last_os_error();
                    let refused: *const Block = self.pointers[done];
                    if error.raw_os_error() == Some(libc::EINVAL) && self.does_instead(refused) {
                        done += 1;
                        continue;
                    }
                    let again = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR));
                    if result < 0 && !again {
                        return Err(error);
                    }
                    // The device's queue is full for a moment.
                    crate::clock::sleep(10_000);
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, least: usize, most: usize, until: Option<u64>) -> io::Result<usize> {
        loop {
            let left = until.map(|until| {
                crate::clock::timespec(until.saturating_sub(crate::clock::monotonic()))
            });
            let timeout = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: `events` has room for `most` of them, and the timeout is null or valid.
            let result = unsafe {
                libc::syscall(
                    libc::SYS_io_getevents,
                    self.context,
                    libc::c_long::try_from(least).unwrap_or(1),
                    libc::c_long::try_from(most.min(self.events.len())).unwrap_or(1),
                    self.events.as_mut_ptr(),
                    timeout,
                )
            };
            if let Ok(count) = usize::try_from(result) {
                return Ok(count);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

impl Engine for Aio {
    const SYNCHRONOUS: bool = false;

    fn slots(&self) -> u32 {
        self.common.slots()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.common.buffer(slot)
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "several loops call it, and a call for each operation costs a tenth of what the operation does"
    )]
    fn prepare(&mut self, slot: u32, op: Op) {
        self.common.occupy(slot, op);
        self.prepared.push((slot, op));
    }

    fn submit(&mut self) -> io::Result<()> {
        self.pointers.clear();
        for at in 0..self.prepared.len() {
            let (slot, op) = self.prepared[at];
            if self.fill_block(slot, op) {
                self.pointers.push(&raw mut self.blocks[index(slot)]);
            } else {
                self.do_at_once(slot, op);
            }
        }
        let result = self.submit_blocks();
        self.prepared.clear();
        result
    }

    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if let Some(over) = self.over.pop() {
            into[0] = over;
            self.common.release(over.slot);
            return Ok(1);
        }
        let count = match wait {
            Wait::No => self.wait(0, into.len(), Some(0))?,
            Wait::One => self.wait(1, into.len(), None)?,
            Wait::Several(wanted) => {
                let wanted = index(self.common.at_most_in_flight(wanted)).min(into.len());
                self.wait(wanted, into.len(), None)?
            }
            Wait::Until(deadline) => self.wait(1, into.len(), Some(deadline))?,
        };
        for (to, event) in into.iter_mut().zip(&self.events[..count]) {
            // What we put there was a u32.
            let slot = u32::try_from(event.data).unwrap_or(u32::MAX);
            *to = Completion {
                slot,
                result: i32::try_from(event.result).unwrap_or(i32::MAX),
            };
            self.common.release(slot);
        }
        Ok(count)
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // Waits for everything in flight, so that the memory can go afterwards.
        // SAFETY: the context is ours and is not used again.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
