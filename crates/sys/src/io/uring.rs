//! The `io_uring` engine: one ring per process, files and buffers registered, completions run by ourselves.
//!
//! One system call hands a whole batch to the kernel and takes in what has completed meanwhile; a second one is only
//! made where nothing has completed and there is nothing left to submit. Where several completions are waited for, the
//! first call looks for none: those that it found would come alone. Set-up flags that the kernel does not know are
//! left out one by one, the newest first. Sources: `io_uring_setup(2)`, `io_uring_enter(2)`, `io_uring_register(2)`.

#![expect(
    unsafe_code,
    reason = "the kernel uses buffers and descriptors that only we can promise to keep alive"
)]

use super::{Common, Completion, Engine, Kind, Op, Setup, Wait, index};
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;

mod registered;

/// What may be asked of the ring. The default asks for everything that is safe on every device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own of the kernel's"
)]
pub struct UringOptions {
    /// Poll the device for completions instead of waiting for its interrupt. Only for `O_DIRECT` on devices that can.
    pub poll_device: bool,
    /// A thread of the kernel polls for submissions, and uses a CPU of its own for it.
    pub poll_submissions: bool,
    /// Register the files, so that no operation looks up its descriptor.
    pub register_files: bool,
    /// Register the buffers, so that no operation pins its pages.
    pub register_buffers: bool,
}

impl Default for UringOptions {
    fn default() -> Self {
        Self {
            poll_device: false,
            poll_submissions: false,
            register_files: true,
            register_buffers: true,
        }
    }
}

/// How long the kernel's polling thread goes on without work before it sleeps, in milliseconds.
const POLL_IDLE_MS: u32 = 2_000;

/// Slots that a table of registered buffers can have. Source: `IORING_MAX_REG_BUFFERS` of the kernel.
const REGISTERED_MAX: usize = 1 << 14;

/// For how long the kernel may take nothing, in nanoseconds; waits for completions do not count. It is short of memory
/// for moments; who is refused for longer is told.
const REFUSED_MAX_NS: u64 = 2_000_000_000;
/// Between two tries.
const PAUSE_NS: u64 = 100_000;

/// When the kernel runs what is to be done for a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completions {
    /// In an enter that asks for events (`IORING_SETUP_DEFER_TASKRUN`).
    Deferred,
    /// In the next call, whichever it is, or at the next tick of the timer (`IORING_SETUP_COOP_TASKRUN`).
    Cooperative,
    /// At once: it interrupts the thread.
    Interrupt,
}

/// How a ring is set up beside what is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    completions: Completions,
    /// Whether entries are submitted through an array of their numbers.
    array: bool,
}

/// What is tried, the best first: 6.6 knows all of them, 6.1 all but the first, 5.19 the cooperative one, older kernels
/// the last alone.
pub(super) const MODES: [Mode; 4] = [
    Mode {
        completions: Completions::Deferred,
        array: false,
    },
    Mode {
        completions: Completions::Deferred,
        array: true,
    },
    Mode {
        completions: Completions::Cooperative,
        array: true,
    },
    Mode {
        completions: Completions::Interrupt,
        array: true,
    },
];

/// One ring.
pub struct Uring {
    /// Before the buffers: it must be gone when they go.
    ring: IoUring,
    common: Common,
    options: UringOptions,
    notes: Vec<String>,
    /// Whether the kernel's wait takes a deadline.
    timed_wait: bool,
    /// Whether completions only come to light in a call: the kernel neither interrupts us for them nor runs them alone.
    must_enter: bool,
    /// Whether several completions are waited for at a time.
    in_company: bool,
    /// The ring's number among those registered with this thread, which spares every call looking up its descriptor.
    registered: Option<libc::c_int>,
    /// That number is another ring's, or none's, in another thread.
    of_this_thread: PhantomData<*mut ()>,
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uring")
            .field("common", &self.common)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Uring {
    /// A ring for `setup`. Registrations that the kernel refuses are done without, which [`Uring::notes`] tells; that
    /// there is no ring at all is an error.
    pub fn new(setup: Setup, options: UringOptions) -> io::Result<Self> {
        Self::in_first_mode_of(&MODES, setup, options)
    }

    /// The same in the first of `modes` that the kernel knows.
    pub(super) fn in_first_mode_of(
        modes: &[Mode],
        setup: Setup,
        options: UringOptions,
    ) -> io::Result<Self> {
        let common = Common::new(setup)?;
        let (ring, mode) = build(common.slots(), options, modes)?;
        let mut uring = Self {
            timed_wait: ring.params().is_feature_ext_arg(),
            must_enter: mode.completions != Completions::Interrupt || options.poll_device,
            in_company: false,
            ring,
            common,
            options,
            notes: Vec::new(),
            registered: None,
            of_this_thread: PhantomData,
        };
        // Since 5.18; without it every call takes a little longer, which is not worth a word.
        uring.registered = registered::add(uring.ring.as_raw_fd());
        uring.register();
        Ok(uring)
    }

    /// Whether the thread knows the ring by a number.
    #[cfg(test)]
    pub(super) const fn is_registered(&self) -> bool {
        self.registered.is_some()
    }

    /// What the kernel refused, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn register(&mut self) {
        if self.options.register_files {
            let fds: Vec<_> = self.common.files.iter().map(AsRawFd::as_raw_fd).collect();
            if let Err(error) = self.ring.submitter().register_files(&fds) {
                self.options.register_files = false;
                self.notes
                    .push(format!("io_uring: files are not registered: {error}"));
            }
        }
        if self.options.register_buffers
            && let Err(error) = self.register_buffers()
        {
            self.options.register_buffers = false;
            let why = if error.raw_os_error() == Some(libc::ENOMEM) {
                format!("{error}; the limit of locked memory (ulimit -l) may be too small")
            } else {
                error.to_string()
            };
            self.notes
                .push(format!("io_uring: buffers are not registered: {why}"));
        }
    }

    fn register_buffers(&self) -> io::Result<()> {
        let slots = self.common.busy.len();
        if slots > REGISTERED_MAX {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let parts: Vec<libc::iovec> = (0..slots)
            .map(|slot| libc::iovec {
                iov_base: self.common.buffers.pointer(slot).cast(),
                iov_len: self.common.buffers.slot_bytes(),
            })
            .collect();
        let submitter = self.ring.submitter();
        // SAFETY: the parts lie in the mapping that `common` owns, which lives until the ring is gone.
        unsafe { submitter.register_buffers(&parts) }
    }

    fn entry(&self, slot: u32, op: Op) -> squeue::Entry {
        let data = self.common.buffers.pointer(index(slot)).wrapping_add(op.at);
        let fixed_file = Fixed(op.file);
        let file = io_uring::types::Fd(self.common.files[index(op.file)].as_raw_fd());
        let buffer = u16::try_from(slot).unwrap_or(u16::MAX);
        // The opcodes take either kind of file, but as types and not as values.
        macro_rules! with_file {
            ($make:expr) => {
                if self.options.register_files {
                    ($make)(fixed_file).build()
                } else {
                    ($make)(file).build()
                }
            };
        }
        let entry = match (op.kind, self.options.register_buffers) {
            (Kind::Read, true) => {
                with_file!(|fd| opcode::ReadFixed::new(fd, data, op.len, buffer)
                    .offset(op.offset)
                    .ioprio(op.priority))
            }
            (Kind::Read, false) => {
                with_file!(|fd| opcode::Read::new(fd, data, op.len)
                    .offset(op.offset)
                    .ioprio(op.priority))
            }
            (Kind::Write, true) => {
                with_file!(
                    |fd| opcode::WriteFixed::new(fd, data.cast_const(), op.len, buffer)
                        .offset(op.offset)
                        .ioprio(op.priority)
                )
            }
            (Kind::Write, false) => {
                with_file!(|fd| opcode::Write::new(fd, data.cast_const(), op.len)
                    .offset(op.offset)
                    .ioprio(op.priority))
            }
            (Kind::Sync, _) => with_file!(opcode::Fsync::new),
            (Kind::DataSync, _) => {
                with_file!(|fd| opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC))
            }
            (Kind::Trim, _) => {
                with_file!(|fd| opcode::Fallocate::new(fd, u64::from(op.len))
                    .offset(op.offset)
                    .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE))
            }
        };
        entry.user_data(u64::from(slot))
    }

    /// One `io_uring_enter`; interrupted by a signal it is made again, as often as one comes: whoever asks for an end
    /// is heard between completions, and a worker without any has a deadline at its supervisor's.
    #[inline]
    fn enter(&self, submit: u32, wait: u32, flags: EnterFlags) -> io::Result<usize> {
        let (fd, flags) = match self.registered {
            Some(number) => (number, flags | EnterFlags::REGISTERED_RING),
            None => (self.ring.as_raw_fd(), flags),
        };
        loop {
            // SAFETY: entries up to the tail are complete, and what they point to lives as long as `self`; the last two
            // arguments are a signal mask, of which there is none, and its size.
            let result = unsafe {
                let call = libc::SYS_io_uring_enter;
                libc::syscall(call, fd, submit, wait, flags.bits(), 0_usize, 0_usize)
            };
            if let Ok(taken) = usize::try_from(result) {
                return Ok(taken);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Puts an entry where there was no place a moment ago. The ring has one for every slot; but the kernel's thread
    /// that takes them completes operations before it gives back the places of their entries.
    #[cold]
    fn push_later(&mut self, entry: &squeue::Entry) {
        assert!(
            self.options.poll_submissions,
            "the ring has an entry for every slot"
        );
        // SAFETY: as in `prepare`, whose entry this is.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            std::thread::yield_now();
        }
    }

    /// Goes on with entries of which the kernel has just taken none, for the reason `why`: it is short of requests for
    /// a moment. One completion gives it something back; where it has nothing of ours there is none to come, and time
    /// must do.
    #[cold]
    fn submit_slowly(&mut self, flags: EnterFlags, mut why: libc::c_int) -> io::Result<()> {
        let mut slept = 0;
        loop {
            let waiting = limit(self.ring.submission().len());
            if waiting == 0 {
                return Ok(());
            }
            if self.common.in_flight() > waiting {
                self.enter(0, 1, EnterFlags::GETEVENTS)?;
            }
            // A completion may have been there before, so that this, too, took no time.
            if slept > REFUSED_MAX_NS {
                return Err(io::Error::from_raw_os_error(why));
            }
            crate::clock::sleep(PAUSE_NS);
            slept += PAUSE_NS;
            match refusal(self.enter(waiting, 0, flags))? {
                Some(error) => why = error,
                None => slept = 0,
            }
        }
    }

    fn wait_until(&mut self, deadline: u64) -> io::Result<()> {
        let left = deadline.saturating_sub(crate::clock::monotonic());
        if !self.timed_wait {
            // Old kernels have no deadline here: look again after a moment.
            crate::clock::sleep(left.min(50_000));
            return self.enter(0, 0, EnterFlags::GETEVENTS).map(drop);
        }
        let span = Timespec::from(std::time::Duration::from_nanos(left));
        let args = SubmitArgs::new().timespec(&span);
        match self.ring.submitter().submit_with_args(1, &args) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => Ok(()),
            other => other.map(drop),
        }
    }

    #[inline]
    fn take(&mut self, into: &mut [Completion]) -> usize {
        let mut taken = 0;
        let mut completed = self.ring.completion();
        for to in into.iter_mut() {
            let Some(entry) = completed.next() else { break };
            // What we put there was a u32.
            let slot = u32::try_from(entry.user_data()).unwrap_or(u32::MAX);
            *to = Completion {
                slot,
                result: entry.result(),
            };
            self.common.release(slot);
            taken += 1;
        }
        taken
    }
}

impl Engine for Uring {
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
        let entry = self.entry(slot, op);
        // SAFETY: file and buffer belong to `common`, which lives until everything in flight is over.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.push_later(&entry);
        }
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        let flags = if (self.must_enter && !self.in_company) || self.options.poll_device {
            EnterFlags::GETEVENTS
        } else {
            EnterFlags::empty()
        };
        loop {
            let waiting = limit(self.ring.submission().len());
            if waiting == 0 {
                return Ok(());
            }
            if self.options.poll_submissions {
                return self.ring.submit().map(drop);
            }
            if let Some(why) = refusal(self.enter(waiting, 0, flags))? {
                return self.submit_slowly(flags, why);
            }
        }
    }

    #[inline]
    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let least = match wait {
            Wait::Several(wanted) => self.common.at_most_in_flight(wanted).min(limit(into.len())),
            Wait::No | Wait::One | Wait::Until(_) => 1,
        };
        self.in_company = least > 1;
        loop {
            if least == 1 || self.ring.completion().len() >= index(least) {
                let taken = self.take(into);
                if taken > 0 {
                    return Ok(taken);
                }
            }
            match wait {
                Wait::No => {
                    if !self.must_enter {
                        return Ok(0);
                    }
                    self.enter(0, 0, EnterFlags::GETEVENTS)?;
                    return Ok(self.take(into));
                }
                Wait::One | Wait::Several(_) => {
                    self.enter(0, least, EnterFlags::GETEVENTS)?;
                }
                Wait::Until(deadline) => {
                    self.wait_until(deadline)?;
                    return Ok(self.take(into));
                }
            }
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // First, because there is more than one way out: until its thread ends, the number keeps the ring, and the ring
        // the buffers that are registered with it.
        if let Some(number) = self.registered.take() {
            registered::remove(self.ring.as_raw_fd(), number);
        }
        // Closing a ring does not wait for what is in flight, and the memory must not be given away before.
        let mut over = [Completion::default(); 64];
        while self.common.in_flight() > 0 {
            let drained = self.submit().and_then(|()| self.reap(Wait::One, &mut over));
            if drained.is_err() {
                self.common.buffers.leak();
                return;
            }
        }
        // The kernel takes a ring apart some time after its process has ended, and has the files open until then.
        if self.options.register_files {
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

/// Why the kernel took no entry, where it may do so later: it was short of requests or completions. `None` where it
/// took some.
#[inline]
fn refusal(entered: io::Result<usize>) -> io::Result<Option<libc::c_int>> {
    match entered {
        Ok(taken) if taken > 0 => Ok(None),
        Ok(_) => Ok(Some(libc::EAGAIN)),
        Err(error) => match error.raw_os_error() {
            Some(why @ (libc::EAGAIN | libc::EBUSY)) => Ok(Some(why)),
            _ => Err(error),
        },
    }
}

/// A length as a number of completions.
#[inline]
fn limit(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A ring with as much of what helps as the kernel knows, and which of `modes` it is in.
fn build(slots: u32, options: UringOptions, modes: &[Mode]) -> io::Result<(IoUring, Mode)> {
    let mut last = io::Error::from_raw_os_error(libc::EINVAL);
    for &mode in modes {
        let mut mode = mode;
        let mut builder = IoUring::builder();
        builder.setup_cqsize(slots.saturating_mul(2)).setup_clamp();
        if options.poll_device {
            builder.setup_iopoll();
        }
        if !mode.array {
            builder.setup_no_sqarray();
        }
        if options.poll_submissions {
            // The kernel's thread runs completions itself: neither of the others goes with it.
            mode.completions = Completions::Interrupt;
            builder.setup_sqpoll(POLL_IDLE_MS);
        }
        match mode.completions {
            Completions::Deferred => {
                builder.setup_single_issuer().setup_defer_taskrun();
            }
            Completions::Cooperative => {
                builder.setup_coop_taskrun();
            }
            Completions::Interrupt => {}
        }
        match builder.build(slots) {
            Ok(ring) => return Ok((ring, mode)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
