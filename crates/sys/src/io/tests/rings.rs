//! What rings of every mode do, and what they leave behind.

use super::*;
use crate::io::uring::MODES;
use std::io::Write;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

#[test]
fn what_is_over_is_seen_by_the_first_look_that_does_not_wait() {
    // A ring that is interrupted sees it an instant later; the others must ask. On one CPU nothing happens while we
    // spin, and this shows nothing.
    for (number, mode) in MODES[..3].iter().enumerate() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let setup = Setup {
            files: vec![File::from(std::os::fd::OwnedFd::from(reader))],
            slots: 1,
            slot_bytes: 4096,
        };
        let options = UringOptions::default();
        let Ok(mut ring) = Uring::in_first_mode_of(&[*mode], setup, options) else {
            eprintln!("skipped: this kernel does not know mode {number}");
            continue;
        };
        let (asked, written) = (AtomicU32::new(0), AtomicU32::new(0));
        let mut over = [Completion::default()];
        let spin_until = |what: &AtomicU32, turn| {
            while what.load(Ordering::SeqCst) != turn {
                std::hint::spin_loop();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 1..=200 {
                    spin_until(&asked, turn);
                    writer.write_all(b"x").unwrap();
                    written.store(turn, Ordering::SeqCst);
                }
            });
            let mut late = 0;
            for turn in 1..=200 {
                let op = Op {
                    len: 1,
                    ..op(Kind::Read, 0)
                };
                ring.prepare(0, Op { at: 0, ..op });
                ring.submit().unwrap();
                assert_eq!(ring.reap(Wait::No, &mut over).unwrap(), 0);
                asked.store(turn, Ordering::SeqCst);
                // No call, and so no chance for the kernel, between the end of the operation and the look.
                spin_until(&written, turn);
                if ring.reap(Wait::No, &mut over).unwrap() == 0 {
                    late += 1;
                    ring.reap(Wait::One, &mut over).unwrap();
                }
                assert_eq!(over[0].result, 1);
            }
            assert_eq!(late, 0, "of 200, in mode {number}");
        });
    }
}

#[test]
fn a_ring_that_is_dropped_gives_back_its_place_and_its_memory() {
    const SLOT: usize = 8 << 20;
    let (_dir, path) = numbered_file();
    let mut registered = Vec::new();
    for _ in 0..20 {
        let setup = Setup {
            slot_bytes: SLOT,
            ..setup(&path, 1)
        };
        let ring = Uring::new(setup, UringOptions::default()).unwrap();
        registered.push(ring.is_registered());
    }
    // Before 5.18 no thread knows a ring by a number.
    assert!(
        registered.iter().all(|known| *known == registered[0]),
        "{registered:?}"
    );
    // The kernel takes them apart a little later; other tests pin much less.
    let pinned = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmPin:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<usize>().unwrap() << 10
    };
    let patience = crate::clock::monotonic() + 20_000_000_000;
    while pinned() >= SLOT && crate::clock::monotonic() < patience {
        crate::clock::sleep(10_000_000);
    }
    assert!(pinned() < SLOT, "{} bytes are still pinned", pinned());
}

#[test]
fn a_ring_stays_in_the_thread_that_knows_its_number() {
    struct Is<T>(PhantomData<T>);
    trait Otherwise {
        const SENT: bool = false;
    }
    impl<T> Otherwise for Is<T> {}
    // Goes before what the trait says, for what can be sent.
    impl<T: Send> Is<T> {
        const SENT: bool = true;
    }
    assert!((Is::<Psync>::SENT, Is::<Uring>::SENT) == (true, false));
    let _ = Is(PhantomData::<()>);
}

/// Lets the kernel take nothing that this thread hands over: `error`, or where that is 0 none of it.
fn refuse_entries(error: libc::c_int) {
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let call = u32::try_from(libc::SYS_io_uring_enter).unwrap();
    filter_calls(vec![
        load(0),
        statement(equal, 0, 3, call),
        // The low half of the second argument: how many there are.
        load(24),
        statement(equal, 1, 0, 0),
        refused_with(error),
        answer(libc::SECCOMP_RET_ALLOW),
    ]);
}

/// Begins `work` in a thread of its own; what is returned waits for what it gives, `None` where that takes too long.
fn begin<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl FnOnce() -> Option<T> {
    let (tell, told) = mpsc::channel();
    // A thread that hangs goes with the test.
    #[expect(clippy::disallowed_methods, reason = "it may never end")]
    std::thread::spawn(move || tell.send(work()));
    move || told.recv_timeout(Duration::from_secs(20)).ok()
}

#[test]
fn a_kernel_that_takes_nothing_is_no_reason_to_wait_for_completions() {
    let ends = [
        (libc::EAGAIN, libc::EAGAIN),
        (libc::EBUSY, libc::EBUSY),
        (0, libc::EAGAIN),
    ]
    .map(|(error, expected)| {
        let submits = move || {
            let (_dir, path) = numbered_file();
            let mut ring = Uring::new(setup(&path, 2), UringOptions::default()).unwrap();
            refuse_entries(error);
            ring.prepare(0, op(Kind::Read, 0));
            ring.submit().unwrap_err().raw_os_error()
        };
        (begin(submits), Some(Some(expected)))
    });
    for (submitted, expected) in ends {
        assert_eq!(submitted(), expected);
    }
}

#[test]
fn a_place_that_the_kernels_thread_gives_back_late_is_waited_for() {
    let (_dir, path) = numbered_file();
    let polled = UringOptions {
        poll_submissions: true,
        ..UringOptions::default()
    };
    let mut engine = Uring::new(setup(&path, 1), polled).unwrap();
    let reads = (0..100_000).map(|n| op(Kind::Read, n % BLOCKS));
    all(&mut engine, reads, |_, _| {}, |_, _| {});
}
