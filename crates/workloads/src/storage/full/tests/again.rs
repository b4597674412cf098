//! Jobs that could come upon their own traces in the page cache, and what the kernel is told of the order to come.

use super::*;
use model::job::OrderHint;
use std::fs::File;
use tempfile::TempDir;

/// A test file that is there already, on a disk: a file in memory is never forgotten. Without room for it, or on a file
/// system that keeps what it has, a test says that it is skipped.
fn laid_out() -> Option<(TempDir, Place, File)> {
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let place = crate::os::testing::place_in(&root);
    if let Err(why) = outcome(&job("read"), &place) {
        eprintln!("skipped: {why}");
        return None;
    }
    let file = File::open(data_file(&place)).unwrap();
    sys::io::file::drop_cache(&file).unwrap();
    if cached(&file) > 0 {
        eprintln!("skipped: what lies in the page cache stays there on this file system");
        return None;
    }
    Some((root, place, file))
}

fn cached(file: &File) -> u64 {
    sys::io::file::cached_bytes(file, 256 << 10).unwrap() as u64
}

#[test]
fn what_is_gone_through_again_is_fetched_again() {
    let Some((_root, place, file)) = laid_out() else {
        return;
    };
    for (engine, depth) in ENGINES {
        for rw in ["read", "randread"] {
            let once_and_a_block = |invalidate| Job {
                invalidate,
                order_hint: OrderHint::Random,
                end: end(|end| end.bytes = Some(260 * K)),
                ..on(engine, depth, job(rw))
            };
            let case = format!("{engine:?} {rw}");
            assert_eq!(run(&once_and_a_block(false), &place).0, 65, "{case}");
            assert_eq!(cached(&file), 256 * K, "{case}: one block came twice");
            assert_eq!(run(&once_and_a_block(true), &place).0, 65, "{case}");
            let left = cached(&file);
            // What was under way when the second time began may be there still.
            let most = u64::from(depth) * 4 * K;
            assert!((4 * K..=most).contains(&left), "{case}: {left}");
        }
    }
}

#[test]
fn the_kernel_is_told_of_the_order_to_come() {
    let Some((_root, place, file)) = laid_out() else {
        return;
    };
    let after_one_read = |order_hint, engine| {
        let one = Job {
            invalidate: true,
            order_hint,
            engine,
            end: end(|end| end.ops = Some(1)),
            ..job("read")
        };
        assert_eq!(run(&one, &place).0, 1);
        cached(&file)
    };
    if after_one_read(OrderHint::None, IoEngine::Psync) == 4 * K {
        eprintln!("skipped: nothing is read ahead on this device");
        return;
    }
    for (engine, _) in ENGINES {
        assert_eq!(after_one_read(OrderHint::Random, engine), 4 * K);
        assert!(after_one_read(OrderHint::Sequential, engine) > 4 * K);
    }
}

#[test]
fn what_was_written_is_read_back_from_storage_as_far_as_it_is_there() {
    let Some((_root, place, _)) = laid_out() else {
        return;
    };
    let share_of_cache = |invalidate| {
        let checked = Job {
            invalidate,
            order_hint: OrderHint::Random,
            fsync_every: 8,
            verify: Some(Verify::new(VerifyMethod::Crc32c)),
            ..job("write")
        };
        let (_, finish) = run(&checked, &place);
        assert_eq!(told(&finish).verified, 64);
        finish.reported["cached_share"]
    };
    // Of 64 blocks the last 8 are not synced when the check begins, and stay.
    assert!(share_of_cache(false) > 0.9);
    assert!(share_of_cache(true) < 0.5);
}
