//! Rings that a thread has registered with itself, which spares each call the look-up of their descriptor.
//!
//! The kernel has 16 places for each thread and keeps a ring that is in one until the thread ends or gives it back, the
//! ring's memory and its registered buffers with it, whether or not the descriptor was closed. Source:
//! `io_uring_register(2)`.

/// `IORING_REGISTER_RING_FDS` of `linux/io_uring.h`.
const REGISTER_RING_FDS: libc::c_uint = 20;
/// `IORING_UNREGISTER_RING_FDS`.
const UNREGISTER_RING_FDS: libc::c_uint = 21;

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// Registers a ring with this thread; `None` where the kernel cannot, or has no place left.
pub(super) fn add(ring: libc::c_int) -> Option<libc::c_int> {
    let mut update = Update {
        // Any free place.
        offset: u32::MAX,
        reserved: 0,
        data: u64::try_from(ring).ok()?,
    };
    let done = call(ring, REGISTER_RING_FDS, &mut update);
    done.then(|| libc::c_int::try_from(update.offset).ok())?
}

/// Gives the place `number` of this thread back.
pub(super) fn remove(ring: libc::c_int, number: libc::c_int) {
    let mut update = Update {
        offset: u32::try_from(number).unwrap_or(u32::MAX),
        reserved: 0,
        data: 0,
    };
    call(ring, UNREGISTER_RING_FDS, &mut update);
}

fn call(ring: libc::c_int, what: libc::c_uint, update: &mut Update) -> bool {
    let number = libc::SYS_io_uring_register;
    // SAFETY: `update` is the one entry that either call reads, and writes to.
    unsafe { libc::syscall(number, ring, what, std::ptr::from_mut(update), 1) == 1 }
}
