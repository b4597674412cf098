//! Every engine does the same work, and what it reads is what was written.

#![expect(
    unsafe_code,
    reason = "a test forbids system calls to itself, as a container would, and lowers its limits"
)]

use super::file::{Access, SyncMode};
use super::*;
use std::collections::BTreeSet;
use std::path::Path;

mod rings;

const BLOCK: u32 = 4096;
const BLOCKS: u64 = 64;

/// A file whose block n is full of n.
fn numbered_file() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let content: Vec<u8> = (0..BLOCKS)
        .flat_map(|block| [u8::try_from(block).unwrap(); BLOCK as usize])
        .collect();
    std::fs::write(&path, content).unwrap();
    (dir, path)
}

fn setup(path: &Path, slots: u32) -> Setup {
    let access = Access {
        write: true,
        direct: false,
        sync: SyncMode::None,
    };
    Setup {
        files: vec![file::open(path, access).unwrap()],
        slots,
        slot_bytes: 2 * BLOCK as usize,
    }
}

fn op(kind: Kind, block: u64) -> Op {
    let data = matches!(kind, Kind::Read | Kind::Write | Kind::Trim);
    Op {
        kind,
        file: 0,
        offset: block * u64::from(BLOCK),
        len: if data { BLOCK } else { 0 },
        at: BLOCK as usize,
        priority: 0,
    }
}

/// Does all of `ops`, as many at a time as there are slots; `before` and `after` see each operation's buffer.
fn all<E: Engine>(
    engine: &mut E,
    ops: impl Iterator<Item = Op>,
    mut before: impl FnMut(Op, &mut [u8]),
    mut after: impl FnMut(Op, &[u8]),
) {
    let mut ops = ops.peekable();
    let mut free: Vec<u32> = (0..engine.slots()).collect();
    let mut under_way = vec![None; free.len()];
    let mut over = [Completion::default(); 3];
    while ops.peek().is_some() || under_way.iter().any(Option::is_some) {
        while let (false, Some(slot)) = (ops.peek().is_none(), free.last().copied()) {
            free.pop();
            let op = ops.next().unwrap();
            before(op, &mut engine.buffer(slot)[op.at..]);
            engine.prepare(slot, op);
            under_way[index(slot)] = Some(op);
        }
        engine.submit().unwrap();
        let count = engine.reap(Wait::One, &mut over).unwrap();
        assert!(count > 0);
        for completion in &over[..count] {
            let op = under_way[index(completion.slot)].take().unwrap();
            let bytes = completion.bytes().unwrap();
            if matches!(op.kind, Kind::Read | Kind::Write) {
                assert_eq!(bytes, op.len, "{op:?}");
            }
            after(op, &engine.buffer(completion.slot)[op.at..]);
            free.push(completion.slot);
        }
    }
}

/// Writes every block anew, syncs, gives one back, and reads all of them in another order.
fn does_its_work<E: Engine>(make: impl Fn(Setup) -> E) {
    let (_dir, path) = numbered_file();
    for slots in [1, 7, 64] {
        let mut engine = make(setup(&path, slots));
        let mut read = BTreeSet::new();
        let reads = (0..BLOCKS).map(|n| op(Kind::Read, n * 37 % BLOCKS));
        all(
            &mut engine,
            reads,
            |_, data| data.fill(0xee),
            |op, data| {
                let block = op.offset / u64::from(BLOCK);
                assert!(data.iter().all(|&byte| u64::from(byte) == block), "{op:?}");
                read.insert(block);
            },
        );
        assert_eq!(read.len() as u64, BLOCKS);
        let writes = (0..BLOCKS).map(|n| op(Kind::Write, n));
        let value = |op: Op| u8::try_from(255 - op.offset / u64::from(BLOCK)).unwrap();
        all(
            &mut engine,
            writes,
            |op, data| data.fill(value(op)),
            |_, _| {},
        );
        let others = [Kind::Sync, Kind::DataSync].map(|kind| op(kind, 0));
        all(&mut engine, others.into_iter(), |_, _| {}, |_, _| {});
        all(
            &mut engine,
            [op(Kind::Trim, 3)].into_iter(),
            |_, _| {},
            |_, _| {},
        );
        drop(engine);
        let content = std::fs::read(&path).unwrap();
        for (n, block) in (0..).zip(content.chunks(BLOCK as usize)) {
            let expected = if n == 3 { 0 } else { value(op(Kind::Read, n)) };
            assert!(block.iter().all(|&byte| byte == expected), "block {n}");
        }
        let again: Vec<u8> = (0..BLOCKS)
            .flat_map(|block| [u8::try_from(block).unwrap(); BLOCK as usize])
            .collect();
        std::fs::write(&path, again).unwrap();
    }
}

#[test]
fn every_engine_reads_what_is_there_and_writes_what_it_is_given() {
    does_its_work(|setup| Psync::new(setup).unwrap());
    does_its_work(|setup| Pvsync2::new(setup, false).unwrap());
    does_its_work(|setup| Mmap::new(setup, true, Some(file::ReadOrder::Random)).unwrap());
    does_its_work(|setup| Aio::new(setup).unwrap());
    for (register_files, register_buffers) in [(true, true), (false, false), (true, false)] {
        let options = UringOptions {
            register_files,
            register_buffers,
            ..UringOptions::default()
        };
        does_its_work(|setup| Uring::new(setup, options).unwrap());
    }
    let polled = UringOptions {
        poll_submissions: true,
        ..UringOptions::default()
    };
    does_its_work(|setup| Uring::new(setup, polled).unwrap());
}

#[test]
fn an_error_of_an_operation_is_its_result() {
    fn check<E: Engine>(mut engine: E) {
        // Far behind the end nothing is read, and no file ends behind 2^63.
        for (offset, expected) in [(1 << 40, Ok(0)), (i64::MAX as u64, Err(libc::EINVAL))] {
            let op = Op {
                offset,
                ..op(Kind::Read, 0)
            };
            engine.prepare(0, op);
            engine.submit().unwrap();
            let mut over = [Completion::default()];
            assert_eq!(engine.reap(Wait::One, &mut over).unwrap(), 1);
            let found = over[0]
                .bytes()
                .map_err(|error| error.raw_os_error().unwrap());
            assert_eq!(found, expected);
        }
    }
    let (_dir, path) = numbered_file();
    check(Psync::new(setup(&path, 1)).unwrap());
    check(Uring::new(setup(&path, 1), UringOptions::default()).unwrap());
}

#[test]
fn what_lies_in_memory_ends_with_the_file_and_is_written_to_where_that_was_asked_for() {
    let (_dir, path) = numbered_file();
    let mut engine = Mmap::new(setup(&path, 1), false, None).unwrap();
    let mut read = |offset| {
        engine.prepare(
            0,
            Op {
                offset,
                ..op(Kind::Read, 0)
            },
        );
        engine.submit().unwrap();
        let mut over = [Completion::default()];
        assert_eq!(engine.reap(Wait::One, &mut over).unwrap(), 1);
        over[0].bytes().unwrap()
    };
    let end = BLOCKS * u64::from(BLOCK);
    assert_eq!([read(end - 100), read(end), read(1 << 40)], [100, 0, 0]);
    engine.prepare(0, op(Kind::Write, 0));
    let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| engine.submit()));
    assert!(written.is_err(), "it was mapped to be read");
    let empty = path.with_file_name("empty");
    std::fs::write(&empty, "").unwrap();
    let mut engine = Mmap::new(setup(&empty, 1), true, None).unwrap();
    engine.prepare(0, op(Kind::Sync, 0));
    engine.submit().unwrap();
    let mut over = [Completion::default()];
    assert_eq!(engine.reap(Wait::One, &mut over).unwrap(), 1);
    assert_eq!(over[0].bytes().unwrap(), 0);
}

#[test]
fn a_sync_that_cannot_be_queued_is_an_operation_like_any_other() {
    // A pipe has none, and io_submit refuses that as kernels before 4.18 refuse all of them.
    let (_dir, path) = numbered_file();
    let mut setup = setup(&path, 4);
    let (pipe, _writer) = std::io::pipe().unwrap();
    setup
        .files
        .push(File::from(std::os::fd::OwnedFd::from(pipe)));
    let mut engine = Aio::new(setup).unwrap();
    for _ in 0..2 {
        let sync = |kind, file| Op {
            file,
            ..op(kind, 0)
        };
        engine.prepare(0, op(Kind::Read, 0));
        engine.prepare(1, sync(Kind::Sync, 1));
        engine.prepare(2, sync(Kind::DataSync, 0));
        engine.prepare(3, op(Kind::Read, 1));
        engine.submit().unwrap();
        let mut results = [i32::MAX; 4];
        let mut over = [Completion::default(); 4];
        let mut done = 0;
        while done < 4 {
            let count = engine.reap(Wait::One, &mut over).unwrap();
            for completion in &over[..count] {
                results[index(completion.slot)] = completion.result;
            }
            done += count;
        }
        assert_eq!(results, [4096, -libc::EINVAL, 0, 4096]);
    }
}

#[test]
fn the_null_engine_completes_everything_and_does_no_input_or_output() {
    let (_dir, path) = numbered_file();
    let before = std::fs::read(&path).unwrap();
    let mut engine = Null::new(setup(&path, 8)).unwrap();
    let ops = (0..100).map(|n| {
        op(
            if n % 2 == 0 { Kind::Write } else { Kind::Read },
            n % BLOCKS,
        )
    });
    let mut done = 0;
    all(
        &mut engine,
        ops,
        |_, data| data.fill(0xee),
        |_, data| {
            assert!(data.iter().all(|&byte| byte == 0xee), "nothing was read");
            done += 1;
        },
    );
    assert_eq!(done, 100);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn waiting_for_several_gives_so_many_or_all_that_are_under_way() {
    fn check<E: Engine>(mut engine: E) {
        let mut over = [Completion::default(); 8];
        for (under_way, wanted, least, room) in [
            (6, 4, 4, 8),
            (6, 6, 6, 8),
            (3, 6, 3, 8),
            (1, 8, 1, 8),
            // No more than there is room for.
            (6, 6, 2, 2),
            (4, 1, 1, 8),
        ] {
            for slot in 0..under_way {
                engine.prepare(slot, op(Kind::Read, u64::from(slot)));
            }
            engine.submit().unwrap();
            let first = engine
                .reap(Wait::Several(wanted), &mut over[..room])
                .unwrap();
            assert!(
                (least..=room).contains(&first),
                "{first} of {under_way}, wanted {wanted}, room for {room}"
            );
            let mut done = first;
            while done < index(under_way) {
                done += engine.reap(Wait::One, &mut over).unwrap();
            }
        }
    }
    let (_dir, path) = numbered_file();
    check(Aio::new(setup(&path, 8)).unwrap());
    check(Uring::new(setup(&path, 8), UringOptions::default()).unwrap());
}

#[test]
fn reading_leaves_no_trace_and_needs_no_ownership() {
    let (_dir, path) = numbered_file();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    let times = std::fs::FileTimes::new().set_accessed(long_ago);
    std::fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_times(times))
        .unwrap();
    let file = file::open(&path, Access::default()).unwrap();
    file::reopen(&file, Access::default()).unwrap();
    std::io::Read::read_exact(&mut &file, &mut [0; 4096]).unwrap();
    assert_eq!(file.metadata().unwrap().accessed().unwrap(), long_ago);
    // Root's, whoever runs this.
    assert!(file::open(Path::new("/etc/passwd"), Access::default()).is_ok());
}

#[test]
fn waiting_ends_at_its_deadline() {
    fn check<E: Engine>(mut engine: E) {
        let start = crate::clock::monotonic();
        let mut over = [Completion::default()];
        let until = Wait::Until(start + 5_000_000);
        while crate::clock::monotonic() < start + 5_000_000 {
            assert_eq!(engine.reap(until, &mut over).unwrap(), 0);
        }
        assert_eq!(engine.reap(Wait::No, &mut over).unwrap(), 0);
    }
    let (_dir, path) = numbered_file();
    check(Aio::new(setup(&path, 2)).unwrap());
    check(Uring::new(setup(&path, 2), UringOptions::default()).unwrap());
}

#[test]
fn the_kernel_is_told_the_priority_of_an_operation() {
    /// There are four classes.
    const NO_CLASS: u16 = 7 << 13;
    /// Best effort, level 6.
    const LOW: u16 = (2 << 13) | 6;
    fn result(engine: &mut impl Engine, priority: u16) -> Result<i32, Option<i32>> {
        let op = Op {
            priority,
            ..op(Kind::Read, 0)
        };
        engine.prepare(0, op);
        engine.submit().map_err(|error| error.raw_os_error())?;
        let mut done = [Completion::default()];
        assert_eq!(engine.reap(Wait::One, &mut done).unwrap(), 1);
        Ok(done[0].result)
    }
    let (_dir, path) = numbered_file();
    let read = i32::try_from(BLOCK).unwrap();
    let mut uring = Uring::new(setup(&path, 1), UringOptions::default()).unwrap();
    assert_eq!(result(&mut uring, LOW), Ok(read));
    assert_eq!(result(&mut uring, NO_CLASS), Ok(-libc::EINVAL));
    let mut aio = Aio::new(setup(&path, 1)).unwrap();
    assert_eq!(result(&mut aio, LOW), Ok(read));
    assert_eq!(result(&mut aio, NO_CLASS), Err(Some(libc::EINVAL)));
}

#[test]
#[should_panic(expected = "an operation outside its buffer")]
fn an_operation_outside_its_buffer_is_refused() {
    let (_dir, path) = numbered_file();
    let mut engine = Psync::new(setup(&path, 1)).unwrap();
    let op = Op {
        len: 2 * BLOCK,
        ..op(Kind::Read, 0)
    };
    engine.prepare(0, op);
}

#[test]
fn an_engine_dropped_with_work_under_way_waits_for_it() {
    let (_dir, path) = numbered_file();
    let start = |engine: &mut dyn FnMut(u32)| (0..8).for_each(engine);
    let mut uring = Uring::new(setup(&path, 8), UringOptions::default()).unwrap();
    start(&mut |slot| uring.prepare(slot, op(Kind::Read, u64::from(slot))));
    uring.submit().unwrap();
    drop(uring);
    let mut aio = Aio::new(setup(&path, 8)).unwrap();
    start(&mut |slot| aio.prepare(slot, op(Kind::Read, u64::from(slot))));
    aio.submit().unwrap();
    drop(aio);
}

/// A statement of a filter of system calls: an operation, how many to skip if so and if not, and its constant.
fn statement(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt,
        jf,
        k,
    }
}

/// Reads a word of what a filter sees, the number of the call being the first.
fn load(at: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, at)
}

/// Ends a filter.
fn answer(with: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, 0, 0, with)
}

fn refused_with(error: libc::c_int) -> libc::sock_filter {
    answer(libc::SECCOMP_RET_ERRNO | u32::try_from(error).unwrap())
}

/// Has every later system call of this thread pass through `filter`.
fn filter_calls(mut filter: Vec<libc::sock_filter>) {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap(),
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: only gives up privileges of this thread.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(result, 0);
    // SAFETY: `program` and its filter are valid; the filter concerns this thread alone.
    let result = unsafe { libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const program) };
    assert_eq!(result, 0);
}

/// Makes `calls` fail with EPERM for this thread, as the filter of a container does.
fn forbid(calls: &[libc::c_long]) {
    let mut filter = vec![load(0)];
    for &call in calls {
        let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        filter.push(statement(equal, 0, 1, u32::try_from(call).unwrap()));
        filter.push(refused_with(libc::EPERM));
    }
    filter.push(answer(libc::SECCOMP_RET_ALLOW));
    filter_calls(filter);
}

#[test]
fn what_is_forbidden_is_replaced_and_the_reason_said() {
    /// Its name alone: a ring stays in its thread.
    fn chosen(calls: &[libc::c_long]) -> (&'static str, Vec<String>) {
        std::thread::scope(|scope| {
            let work = || {
                let (_dir, path) = numbered_file();
                forbid(calls);
                let setup = || Ok(setup(&path, 4));
                let (chosen, notes) = first_that_works(setup, UringOptions::default()).unwrap();
                let name = match chosen {
                    Chosen::Uring(_) => "io_uring",
                    Chosen::Aio(_) => "libaio",
                    Chosen::Psync(_) => "psync",
                };
                (name, notes)
            };
            scope.spawn(work).join().unwrap()
        })
    }
    let (queue, notes) = chosen(&[]);
    assert_eq!((queue, notes), ("io_uring", vec![]));
    let (queue, notes) = chosen(&[libc::SYS_io_uring_setup]);
    assert_eq!(queue, "libaio");
    assert!(notes[0].starts_with("libaio was used, because io_uring does not work here: "));
    let (queue, notes) = chosen(&[libc::SYS_io_uring_setup, libc::SYS_io_setup]);
    assert_eq!(queue, "psync");
    assert!(
        notes[0].contains("nor does libaio (Operation not permitted"),
        "{notes:?}"
    );
    // Registering is only a help: without it the ring works all the same.
    let (queue, notes) = chosen(&[libc::SYS_io_uring_register]);
    assert_eq!(queue, "io_uring");
    assert!(
        notes
            .iter()
            .any(|note| note.contains("buffers are not registered")),
        "{notes:?}"
    );
}
