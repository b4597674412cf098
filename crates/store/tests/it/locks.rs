//! The locks that SQLite took are there for as long as a store is open, whatever else this process does with the file.

#![expect(
    clippy::disallowed_methods,
    reason = "the test must look from another process; sys is not among the store's arrows"
)]

use crate::fixture::{keep, left_behind, run};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use store::Store;

/// The locks that this process has on the file at `path`, as lines of /proc/locks. Other tests lock and unlock
/// meanwhile, so that lines may be left out of one reading: what three readings in a row say is so.
fn locks(path: &Path) -> Vec<String> {
    let file = std::fs::metadata(path).unwrap().ino().to_string();
    let own = std::process::id().to_string();
    let is_own = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let inode = fields.get(5).and_then(|place| place.rsplit(':').next());
        fields.get(4) == Some(&&*own) && inode == Some(&file)
    };
    let read = || -> Vec<String> {
        let all = std::fs::read_to_string("/proc/locks").unwrap();
        let lines = all.lines().filter(is_own);
        // Without the number of the line, which depends on those before it.
        let lines = lines.filter_map(|line| Some(line.split_once(' ')?.1.trim().to_owned()));
        lines.collect()
    };
    let mut last = [read(), read()];
    loop {
        let now = read();
        if last.iter().all(|before| *before == now) {
            return now;
        }
        last.rotate_left(1);
        last[1] = now;
    }
}

/// Names the store that a child opens and closes; set in children alone.
const STORE: &str = "KURABE_TEST_STORE_OF_ANOTHER";

/// What another process does that looks at the store and goes.
fn another_opens_and_closes(path: &Path, name: &str) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--test-threads=1"])
        .env(STORE, path)
        .status()
        .unwrap();
    assert!(status.success());
}

fn was_child() -> bool {
    let Some(path) = std::env::var_os(STORE) else {
        return false;
    };
    assert!(
        !Store::open(Path::new(&path))
            .unwrap()
            .list()
            .unwrap()
            .is_empty()
    );
    true
}

type Open = fn(&Path) -> Store;

#[test]
fn a_second_opening_drops_no_lock_of_the_first() {
    if was_child() {
        return;
    }
    let name = "locks::a_second_opening_drops_no_lock_of_the_first";
    let reads: Open = |path| Store::open_read_only(path).unwrap();
    let writes: Open = |path| Store::open(path).unwrap();
    for (first, second, can_write) in [
        (reads, writes, true),
        (writes, writes, true),
        (writes, reads, false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kurabe.db");
        Store::open(&path).unwrap().import(&run("r1", 3)).unwrap();
        let earlier = first(&path);
        let later = second(&path);
        assert!(!locks(&path).is_empty(), "both are open");
        // As `kurabe clean` did: the reader ends, the writer goes on.
        drop(earlier);
        assert!(!locks(&path).is_empty(), "the later one is open");
        assert_eq!(later.list().unwrap().len(), 1);
        let log = dir.path().join("kurabe.db-wal");
        assert!(log.exists());
        another_opens_and_closes(&path, name);
        assert!(log.exists(), "the other took itself for the last one");
        assert_eq!(keep(&later, &run("r2", 3)).is_ok(), can_write);
        let seen = Store::open_read_only(&path).unwrap();
        assert_eq!(seen.list().unwrap().len(), 1 + usize::from(can_write));
        drop(seen);
        drop(later);
        assert_eq!(locks(&path), [""; 0]);
        assert!(!log.exists(), "the last one folds it in");
    }
}

#[test]
fn a_reader_of_a_log_keeps_its_locks_and_folds_nothing_in() {
    if was_child() {
        return;
    }
    let name = "locks::a_reader_of_a_log_keeps_its_locks_and_folds_nothing_in";
    let dir = tempfile::tempdir().unwrap();
    let path = left_behind(dir.path(), true);
    let log = dir.path().join("kurabe.db-wal");
    let earlier = Store::open_read_only(&path).unwrap();
    let later = Store::open_read_only(&path).unwrap();
    assert!(!locks(&path).is_empty(), "both are open");
    drop(earlier);
    assert!(!locks(&path).is_empty(), "the later one is open");
    another_opens_and_closes(&path, name);
    assert!(log.exists(), "the other took itself for the last one");
    assert_eq!(later.list().unwrap().len(), 2);
    drop(later);
    assert_eq!(locks(&path), [""; 0]);
    assert!(log.exists(), "who reads folds nothing in");
}

#[test]
fn a_file_that_is_open_as_a_store_is_known_by_any_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    let link = dir.path().join("link.db");
    let store = Store::open(&path).unwrap();
    assert_eq!(store.list().unwrap(), []);
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [&path, &link] {
        assert!(store::is_open_store(&std::fs::metadata(name).unwrap()));
    }
    // By another name too it is not opened twice.
    drop(Store::open_read_only(&link).unwrap());
    assert!(!locks(&path).is_empty());
    drop(store);
    assert!(!store::is_open_store(&std::fs::metadata(&path).unwrap()));
}

#[test]
fn a_directory_that_is_noted_while_others_are_forgotten_stays_noted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    let store = Store::open(&path).unwrap();
    let (here, gone) = (Path::new("/here"), Path::new("/gone"));
    for dir in [here, gone] {
        store.note_work_dir("r1", dir).unwrap();
    }
    std::thread::scope(|scope| {
        let noting = || {
            let other = Store::open(&path).unwrap();
            other.note_work_dir("r2", gone).unwrap();
        };
        let is_gone = |dir: &Path| {
            if dir == gone {
                scope.spawn(noting);
                // It would have noted it by now, if it could.
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
            dir == gone
        };
        store.forget_work_dirs(is_gone).unwrap();
    });
    let runs: Vec<String> = store
        .work_dirs()
        .unwrap()
        .into_iter()
        .map(|dir| dir.run)
        .collect();
    assert_eq!(runs, ["r2", "r1"], "by path");
}
