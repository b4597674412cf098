//! How large sets are, and what is refused.

use super::*;

/// A set of the files of one size.
pub(crate) fn set(depth: u32, width: u32, files: u64, size: u64) -> FileSet {
    FileSet {
        name: "fsd1".to_owned(),
        anchor: PathBuf::from("/anchor"),
        depth,
        width,
        files,
        sizes: FileSizes::Split(vec![(size, 100.0)]),
        spread: FileSpread::Bottom,
        total: None,
        working_set: None,
    }
}

#[test]
fn directories_and_files_are_as_many_as_vdbench_has() {
    // As vdbench's guide and people's logs have them: depth=5,width=5,files=2 is 3905 directories and 6250 files.
    let check = |set: FileSet, directories: u64, files: u64, bytes: u64| {
        assert_eq!(set.directories(), directories);
        assert_eq!(set.extent(), (files, bytes));
    };
    check(set(5, 5, 2, 4096), 3905, 6250, 25_600_000);
    check(set(1, 1, 300, 640 << 10), 1, 300, 300 * (640 << 10));
    let all = FileSet {
        spread: FileSpread::All,
        ..set(2, 3, 10, 1)
    };
    check(all, 12, 120, 120);
}

#[test]
fn a_total_and_a_working_set_end_within_a_file_of_theirs() {
    for sizes in [
        FileSizes::Split(vec![(1000, 100.0)]),
        FileSizes::Split(vec![(500, 50.0), (1500, 50.0)]),
        FileSizes::Around(1000),
    ] {
        let limited = FileSet {
            sizes,
            total: Some(Bytes(50_500)),
            working_set: Some(Bytes(20_500)),
            ..set(1, 1, 100, 0)
        };
        let (files, bytes) = limited.extent();
        assert!(bytes <= 50_500 && bytes + limited.size_of(files) > 50_500);
        let (working, used) = limited.working_extent();
        assert!(used >= 20_500 && used - limited.size_of(working - 1) < 20_500);
        let each: u64 = (0..files).map(|file| limited.size_of(file)).sum();
        assert_eq!(each, bytes);
    }
}

#[test]
fn sizes_have_their_shares_and_their_mean() {
    let split = FileSet {
        sizes: FileSizes::Split(vec![(1, 20.0), (2, 70.0), (3, 10.0)]),
        ..set(1, 1, 20_000, 0)
    };
    let mut counts = [0_u32; 4];
    (0..20_000).for_each(|file| counts[usize::try_from(split.size_of(file)).unwrap()] += 1);
    for (size, share) in [(1, 4000), (2, 14_000), (3, 2000)] {
        assert!(counts[size].abs_diff(share) < 300, "{counts:?}");
    }
    let around = FileSet {
        sizes: FileSizes::Around(4096),
        ..set(1, 1, 20_000, 0)
    };
    let sum: u64 = (0..20_000).map(|file| around.size_of(file)).sum();
    assert!((sum / 20_000).abs_diff(4096) < 80, "{sum}");
    assert_eq!(around.size_max(), 8191);
}

fn work(set: FileSet, task: FileTask) -> FileWork {
    FileWork {
        sets: vec![set],
        tasks: vec![task],
        elapsed: Nanos::from_secs(1),
        ..FileWork::default()
    }
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let task = FileTask::default;
    let check = |work: FileWork, words: &str| {
        let why = work.check().unwrap_err();
        assert!(why.contains(words), "{why}");
    };
    assert_eq!(work(set(2, 2, 2, 1), task()).check(), Ok(()));
    check(work(set(0, 2, 2, 1), task()), "a depth of 0");
    check(work(set(64, 9, 1, 1), task()), "directories are more than");
    check(work(set(1, 9, 1 << 40, 1), task()), "files are more than");
    check(work(set(1, 1, 0, 1), task()), "has no files");
    let relative = FileSet {
        anchor: PathBuf::from("here"),
        ..set(1, 1, 1, 1)
    };
    check(work(relative, task()), "no absolute path");
    let shares = FileSet {
        sizes: FileSizes::Split(vec![(1, 50.0), (2, 40.0)]),
        ..set(1, 1, 1, 1)
    };
    check(work(shares, task()), "sum up to 90");
    for (task, words) in [
        (FileTask { set: 1, ..task() }, "no file set of number 1"),
        (
            FileTask {
                threads: 0,
                ..task()
            },
            "no thread",
        ),
        (
            FileTask {
                transfer: Blocks::Fixed(0),
                ..task()
            },
            "0 bytes",
        ),
        (
            FileTask {
                operation: FileOperation::Mkdir,
                read_percent: Some(50),
                ..task()
            },
            "not for mkdir",
        ),
        (
            FileTask {
                rate: Some(f64::NAN),
                ..task()
            },
            "a rate of",
        ),
        (
            FileTask {
                skew: Some(50.0),
                ..task()
            },
            "not to 100 per cent",
        ),
        (
            FileTask {
                stop_after: Some(StopAfter::Operations(0)),
                ..task()
            },
            "after 0 operations",
        ),
        (
            FileTask {
                operation: FileOperation::Move,
                ..task()
            },
            "needs two files",
        ),
    ] {
        check(work(set(1, 1, 1, 1), task), words);
    }
    let mut twice = work(set(1, 1, 1, 1), task());
    twice.sets.push(set(1, 1, 1, 1));
    check(twice, "the same anchor");
}

#[test]
fn operations_are_known_by_their_words() {
    for operation in FileOperation::ALL {
        assert_eq!(FileOperation::from_word(operation.word()), Some(operation));
    }
    assert_eq!(FileOperation::from_word("fsync"), None);
}
