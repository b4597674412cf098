//! Sets that are made, worked on and left.

use super::*;
use crate::os::testing::place;
use FileOperation::{Access, Copy, Create, Delete, Getattr, Mkdir, Read, Rmdir, Write};
use engine::recorder::Recorder;
use engine::workload::Finish;
use model::fileset::{
    FileIo, FileOperation, FileSelect, FileSet, FileSizes, FileSpread, FileTask, Format,
};

/// A set of files of one size at an anchor that needs not be there.
pub(super) fn set(depth: u32, width: u32, files: u64, size: u64) -> FileSet {
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

fn task(operation: FileOperation) -> FileTask {
    FileTask {
        name: operation.word().to_owned(),
        operation,
        threads: 2,
        ..FileTask::default()
    }
}

fn work(set: FileSet, before: Before, tasks: Vec<FileTask>) -> FileWork {
    FileWork {
        sets: vec![set],
        tasks,
        format: Format {
            before,
            threads: 3,
            ..Format::default()
        },
        elapsed: Nanos::from_millis(60),
        ..FileWork::default()
    }
}

fn errand(kind: ErrandKind, work: &FileWork, place: &Place) -> Result<Told, WorkError> {
    SETS.errand(kind, &params(work.clone()), place, &mut |_| ())
}

/// One round to its end.
fn round(work: &FileWork, place: &Place) -> Finish {
    assert_eq!(work.check(), Ok(()));
    let mut body = SETS.prepare(&params(work.clone()), place).unwrap();
    let mut recorder = Recorder::off();
    if work.warmup > Nanos::ZERO {
        while body.batch(1, &mut recorder).unwrap() >= 1 {}
        body.measured_part_begins();
    }
    while body.batch(50, &mut recorder).unwrap() >= 50 {}
    body.finish().unwrap()
}

fn count(finish: &Finish, operation: FileOperation) -> u64 {
    let told = finish.reported[&format!("{}_ops", operation.word())];
    let latencies = finish.latencies[operation.word()].count();
    assert_eq!(
        model::num::round_to_u64(told),
        latencies,
        "{}",
        operation.word()
    );
    latencies
}

/// What is known of the set is what is there.
fn agrees(work: &FileWork, place: &Place) -> (u64, u64, u64) {
    let (mut known, _) = set::Set::open(&work.sets[0], place).unwrap();
    let of = |set: &set::Set| {
        let files: Vec<_> = (0..set.map.files())
            .map(|file| set.map.file_is(file))
            .collect();
        let all = 0..set.map.directories();
        let directories: Vec<_> = all.map(|at| set.map.directory_is(at)).collect();
        (files, directories)
    };
    let before = of(&known);
    known.look().unwrap();
    assert_eq!(of(&known), before, "known and found");
    let (there, full) = known.map.counts();
    (known.map.made(), there, full)
}

#[test]
fn each_operation_does_what_it_is_called() {
    for operation in FileOperation::ALL {
        let (_root, place) = place();
        // Directories that may be removed have no files, and files that may be made are missing.
        let (depth, files, before, only) = match operation {
            FileOperation::Mkdir => (3, 2, Before::Nothing, false),
            FileOperation::Rmdir | FileOperation::Create => (3, 2, Before::Anew, true),
            _ => (2, 40, Before::Anew, false),
        };
        let mut work = work(set(depth, 2, files, 10_000), before, vec![task(operation)]);
        work.format.directories_only = only;
        let uses_up = [Mkdir, Rmdir, Create, Delete].contains(&operation);
        if uses_up {
            work.elapsed = Nanos::from_secs(30);
        }
        assert!(errand(ErrandKind::Make, &work, &place).unwrap().holds);
        let finish = round(&work, &place);
        assert!(finish.failed.is_none(), "{:?}", finish.failed);
        let done = count(&finish, operation);
        assert!(done > 0, "{operation:?}");
        assert!(finish.latencies["resp"].count() > 0);
        let (made, there, full) = agrees(&work, &place);
        let all = if depth == 3 {
            (14, 0, 0)
        } else {
            (6, 160, 160)
        };
        match operation {
            FileOperation::Mkdir => assert_eq!((done, made), (14, 14)),
            FileOperation::Rmdir => assert_eq!((done, made), (14, 0)),
            FileOperation::Create => assert_eq!((done, there, full), (16, 16, 0)),
            FileOperation::Delete => assert_eq!((done, there), (160, 0)),
            // Where none is missing each thread replaces one.
            FileOperation::Move => assert!((158..160).contains(&there), "{there}"),
            _ => assert_eq!((made, there, full), all),
        }
        let ends = finish
            .notes
            .iter()
            .any(|note| note.contains("nothing was left"));
        assert_eq!(ends, uses_up, "{operation:?}: {:?}", finish.notes);
    }
}

#[test]
fn tasks_that_change_one_set_at_the_same_time_keep_count_and_lose_nothing() {
    let (_root, place) = place();
    let tasks = FileOperation::ALL.map(|operation| FileTask {
        select: if operation == FileOperation::Delete {
            FileSelect::Sequential
        } else {
            FileSelect::Random
        },
        ..task(operation)
    });
    let mut work = work(set(3, 2, 4, 9000), Before::Anew, tasks.into());
    work.elapsed = Nanos::from_millis(400);
    work.interval = Nanos::from_millis(100);
    work.warmup = Nanos::from_millis(50);
    errand(ErrandKind::Make, &work, &place).unwrap();
    let finish = round(&work, &place);
    assert!(finish.failed.is_none(), "{:?}", finish.failed);
    for operation in FileOperation::ALL {
        count(&finish, operation);
    }
    let moved = finish.reported[spec::READ_BYTES];
    assert!(moved > 0.0 && moved % 1.0 == 0.0);
    agrees(&work, &place);
    for (name, series) in &finish.series {
        assert_eq!(series.values.len(), 4, "{name}");
    }
    // A further round finds all of it again.
    round(&work, &place);
    agrees(&work, &place);
}

#[test]
fn what_tasks_need_is_made_where_no_case_before_has_left_it() {
    let check = |operations: &[FileOperation], expect: (u64, u64, u64)| {
        let (_root, place) = place();
        let tasks = operations.iter().map(|of| task(*of)).collect();
        let work = work(set(2, 2, 3, 100), Before::Left, tasks);
        assert!(errand(ErrandKind::Make, &work, &place).unwrap().holds);
        assert_eq!(agrees(&work, &place), expect, "{operations:?}");
        let says = round(&work, &place).notes.join("\n");
        let made = expect != (0, 0, 0);
        assert_eq!(says.contains("no set outlives a run"), made, "{says}");
    };
    check(&[Mkdir], (0, 0, 0));
    check(&[Mkdir, Create], (0, 0, 0));
    check(&[Create], (6, 0, 0));
    check(&[Rmdir], (6, 0, 0));
    check(&[Read], (6, 12, 12));
    check(&[Delete, Create], (6, 0, 0));
    check(&[Getattr], (6, 12, 12));
}

#[test]
fn cases_go_on_with_what_the_ones_before_have_left() {
    let (_root, place) = place();
    let of = |operation| {
        let mut work = work(set(2, 2, 3, 5000), Before::Left, vec![task(operation)]);
        work.elapsed = Nanos::from_secs(20);
        work.tasks[0].select = FileSelect::Once;
        assert!(errand(ErrandKind::Make, &work, &place).unwrap().holds);
        let finish = round(&work, &place);
        assert!(finish.failed.is_none(), "{:?}", finish.failed);
        (count(&finish, operation), agrees(&work, &place))
    };
    assert_eq!(of(Mkdir), (6, (6, 0, 0)));
    assert_eq!(of(Create), (12, (6, 12, 0)));
    // Two writes of 4096 bytes at most fill a file of 5000.
    assert_eq!(of(Write), (24, (6, 12, 12)));
    assert_eq!(of(Read), (24, (6, 12, 12)));
    assert_eq!(of(Delete), (12, (6, 0, 0)));
    assert_eq!(of(Rmdir), (6, (0, 0, 0)));
}

#[test]
fn a_set_is_made_looked_at_and_made_whole_again() {
    let (_root, place) = place();
    let whole = work(set(2, 2, 3, 70_000), Before::Missing, vec![task(Read)]);
    let told = |kind| errand(kind, &whole, &place).unwrap();
    assert!(!told(ErrandKind::Check).holds, "nothing is there");
    let mut made = Vec::new();
    let mut tell = |bytes: Bytes| made.push(bytes.0);
    SETS.errand(ErrandKind::Make, &params(whole.clone()), &place, &mut tell)
        .unwrap();
    assert!(made.is_sorted());
    assert_eq!(told(ErrandKind::Check).bytes, Some(Bytes(12 * 70_000)));
    // What is known of it is lost, and so are a file and the end of another one.
    let (found, _) = set::Set::open(&whole.sets[0], &place).unwrap();
    found.forget().unwrap();
    let files = files_of(&place);
    std::fs::remove_file(&files[0]).unwrap();
    std::fs::File::options()
        .write(true)
        .open(&files[1])
        .unwrap()
        .set_len(10)
        .unwrap();
    assert!(!told(ErrandKind::Check).holds);
    round(&whole, &place);
    assert_eq!(agrees(&whole, &place), (6, 12, 12));
    // Anew, although it is whole.
    let mut anew = whole.clone();
    anew.format.before = Before::Anew;
    let then = std::fs::metadata(&files[2]).unwrap().modified().unwrap();
    assert!(errand(ErrandKind::Make, &anew, &place).unwrap().holds);
    assert!(std::fs::metadata(&files[2]).unwrap().modified().unwrap() > then);
    // Described otherwise it is another set, and the old one goes.
    let other = work(set(1, 1, 1, 10), Before::Missing, vec![task(Read)]);
    assert!(errand(ErrandKind::Make, &other, &place).unwrap().holds);
    assert_eq!(files_of(&place).len(), 1);
    let mut none = other.clone();
    none.format.before = Before::Nothing;
    none.tasks = Vec::new();
    assert!(errand(ErrandKind::Make, &none, &place).unwrap().holds);
    assert!(files_of(&place).is_empty());
}

/// All files of sets in the run's own directory, in order.
fn files_of(place: &Place) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![place.run_dir.clone()];
    while let Some(dir) = next.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                next.push(path);
            } else if path.extension().is_some_and(|end| end == "file") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_others_put_into_a_set_is_neither_used_nor_followed() {
    let (root, place) = place();
    let whole = work(set(2, 2, 2, 100), Before::Missing, vec![task(Delete)]);
    assert!(errand(ErrandKind::Make, &whole, &place).unwrap().holds);
    let precious = root.path().join("precious");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("f_00000001.file"), "precious").unwrap();
    let first = files_of(&place)[0].clone();
    let dir = first.parent().unwrap().to_owned();
    // A file that vdbench made, and a link in the place of one of ours.
    std::fs::write(dir.join("vdb_f0001.file"), "precious").unwrap();
    std::fs::remove_file(&first).unwrap();
    std::os::unix::fs::symlink(precious.join("f_00000001.file"), &first).unwrap();
    assert!(
        !errand(ErrandKind::Check, &whole, &place).unwrap().holds,
        "a link is no file"
    );
    let why = errand(ErrandKind::Make, &whole, &place)
        .unwrap_err()
        .to_string();
    assert!(
        why.contains("create") && why.contains("f_00000001.file"),
        "{why}"
    );
    let kept = || std::fs::read_to_string(precious.join("f_00000001.file")).unwrap();
    assert_eq!(kept(), "precious");
    // A link in the place of a directory.
    std::fs::remove_dir_all(&dir).unwrap();
    std::os::unix::fs::symlink(&precious, &dir).unwrap();
    let why = errand(ErrandKind::Make, &whole, &place)
        .unwrap_err()
        .to_string();
    assert!(why.contains("open") && why.contains(".dir"), "{why}");
    assert_eq!(kept(), "precious");
    let mut anew = whole;
    anew.format.before = Before::Anew;
    assert!(
        errand(ErrandKind::Make, &anew, &place).unwrap().holds,
        "the link goes"
    );
    assert_eq!(kept(), "precious");
    assert_eq!(std::fs::read_dir(&precious).unwrap().count(), 1);
}

#[test]
fn a_round_that_finds_nothing_says_what_is_there() {
    let (_root, place) = place();
    let mut all = work(set(1, 2, 3, 100), Before::Anew, vec![task(Create)]);
    all.elapsed = Nanos::from_secs(30);
    let finish = round(&all, &place);
    let why = finish.failed.unwrap().to_string();
    let words = "found nothing to create in file set `fsd1`: of 2 directories 2 are there, \
                 of 6 files 6, of which 6 are full";
    assert!(why.contains(words), "{why}");
}

#[test]
fn operations_that_arrive_are_counted_from_then_and_keep_their_rate() {
    let (_root, place) = place();
    let rated = FileTask {
        rate: Some(500.0),
        arrivals: model::job::Arrivals::Linear,
        io: FileIo::Random,
        ..task(Read)
    };
    let mut paced = work(set(1, 1, 4, 40_960), Before::Anew, vec![rated]);
    paced.elapsed = Nanos::from_millis(300);
    let began = sys::clock::monotonic();
    let finish = round(&paced, &place);
    // One each two milliseconds, and the first at once.
    let arrived = (sys::clock::monotonic() - began) / 2_000_000 + 1;
    let (lat, resp) = (&finish.latencies["lat"], &finish.latencies["resp"]);
    assert_eq!(
        (lat.count(), finish.latencies["late"].count()),
        (resp.count(), resp.count())
    );
    assert!((1..=arrived).contains(&lat.count()), "{}", lat.count());
    let mean =
        |latencies: &engine::recorder::Latencies| model::latency::mean(&latencies.pairs()).unwrap();
    assert!(
        mean(lat) >= mean(resp) * 0.999,
        "{} {}",
        mean(lat),
        mean(resp)
    );
}

#[test]
fn tasks_with_shares_keep_them() {
    let (_root, place) = place();
    let of = |name: &str, skew, operation| FileTask {
        name: name.to_owned(),
        skew: Some(skew),
        ..task(operation)
    };
    let tasks = vec![of("a", 80.0, Getattr), of("b", 20.0, Access)];
    let mut shared = work(set(1, 2, 20, 100), Before::Anew, tasks);
    shared.elapsed = Nanos::from_millis(500);
    let finish = round(&shared, &place);
    let [a, b] = [Getattr, Access].map(|of| model::num::approx(count(&finish, of)));
    let share = a / (a + b);
    assert!((share - 0.8).abs() < 0.1, "{share} of {}", a + b);
}

#[test]
fn shared_and_mixed_and_deleting_tasks_do_what_they_say() {
    let (_root, place) = place();
    let mixed = FileTask {
        read_percent: Some(50),
        io: FileIo::Random,
        shares_files: true,
        threads: 4,
        ..task(Read)
    };
    let both = work(set(1, 1, 1, 81_920), Before::Anew, vec![mixed]);
    let finish = round(&both, &place);
    assert!(count(&finish, Read) > 0 && count(&finish, Write) > 0);
    let deleting = FileTask {
        deletes: true,
        select: FileSelect::Sequential,
        ..task(Read)
    };
    let mut gone = work(set(1, 2, 10, 8192), Before::Anew, vec![deleting]);
    gone.elapsed = Nanos::from_secs(30);
    let (_root, place) = crate::os::testing::place();
    let finish = round(&gone, &place);
    assert_eq!((count(&finish, Read), count(&finish, Delete)), (40, 20));
    assert_eq!(agrees(&gone, &place), (2, 0, 0));
}

#[test]
fn sets_of_several_anchors_stand_in_directories_of_their_own() {
    let (root, mut place) = place();
    let other = root.path().join("other");
    std::fs::create_dir(&other).unwrap();
    place
        .anchors
        .insert(PathBuf::from("/second"), other.clone());
    let second = FileSet {
        name: "fsd2".to_owned(),
        anchor: PathBuf::from("/second"),
        ..set(1, 1, 5, 100)
    };
    let copies = FileTask {
        target: Some(1),
        ..task(Copy)
    };
    let mut two = work(set(1, 1, 5, 100), Before::Anew, vec![copies]);
    two.sets.push(second);
    let found = SETS.anchors(&params(two.clone()));
    assert_eq!(found, [PathBuf::from("/anchor"), PathBuf::from("/second")]);
    assert!(errand(ErrandKind::Make, &two, &place).unwrap().holds);
    let finish = round(&two, &place);
    assert!(finish.failed.is_none() && count(&finish, Copy) > 0);
    assert_eq!(
        std::fs::read_dir(&other).unwrap().count(),
        2,
        "the set and what is known of it"
    );
    assert_eq!(files_of(&place).len(), 5);
}

#[test]
fn metrics_are_those_of_what_the_tasks_do() {
    let quantities = |tasks: Vec<FileTask>, interval: u64| -> Vec<&str> {
        let mut of = work(set(1, 1, 1, 1), Before::Anew, tasks);
        of.interval = Nanos(interval);
        let metrics = SETS.metrics(&params(of));
        metrics.iter().map(|metric| metric.quantity).collect()
    };
    let plain = quantities(vec![task(Read)], 0);
    assert_eq!(plain[0], "ops_per_s");
    for (quantity, is_there) in [
        ("read_per_s", true),
        ("open_ns_p99", true),
        ("read_bytes_per_s", true),
        ("write_per_s", false),
        ("lat_ns_mean", false),
        ("late_ns_mean", false),
        ("ops_per_s_at", false),
    ] {
        assert_eq!(plain.contains(&quantity), is_there, "{quantity}");
    }
    let rated = FileTask {
        rate: Some(1.0),
        ..task(Create)
    };
    let rated = quantities(vec![rated], 1);
    for quantity in [
        "create_ns_max",
        "lat_ns_p99",
        "late_ns_mean",
        "create_ns_at",
    ] {
        assert!(rated.contains(&quantity), "{quantity}");
    }
}
