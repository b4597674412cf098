//! The locks that SQLite took are there for as long as a store is open, whatever else this process does with the file.

#![expect(
    clippy::disallowed_methods,
    reason = "the test must look from another process; sys is not among the store's arrows"
)]

use crate::fixture::{keep, run};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use store::Store;

/// Lines of /proc/locks about the file at `path`.
fn locks(path: &Path) -> Vec<String> {
    let inode = format!(":{} ", std::fs::metadata(path).unwrap().ino());
    let all = std::fs::read_to_string("/proc/locks").unwrap();
    all.lines()
        .filter(|line| line.contains(&inode))
        .map(str::to_owned)
        .collect()
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
        (reads, reads, false),
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
