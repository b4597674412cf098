//! File systems that only root can make: really full, really read-only.

#![expect(
    clippy::disallowed_methods,
    reason = "mounting takes the machine's own mount command; sys is not among the store's arrows"
)]

use crate::fixture::run;
use std::path::Path;
use std::process::Command;
use store::{Store, StoreError};

/// A file system in memory, gone when dropped.
struct Mount(tempfile::TempDir);

impl Mount {
    fn new(options: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        mount(&["-t", "tmpfs", "-o", options, "tmpfs"], dir.path());
        Self(dir)
    }

    fn read_only(&self) {
        mount(&["-o", "remount,ro"], self.0.path());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(self.0.path()).status();
        assert!(status.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

fn mount(args: &[&str], at: &Path) {
    let status = Command::new("mount").args(args).arg(at).status().unwrap();
    assert!(status.success(), "mount {args:?} failed");
}

#[test]
#[ignore = "root: mounts a small file system"]
fn a_file_system_that_runs_full_costs_the_last_round_alone() {
    let mount = Mount::new("size=512k");
    let path = mount.0.path().join("kurabe.db");
    let kept = run("r1", 2);
    let store = Store::open(&path).unwrap();
    store.import(&kept).unwrap();
    let error = (0..1000)
        .find_map(|index| store.import(&run(&format!("x{index}"), 20)).err())
        .unwrap();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(
        error.to_string().contains(path.to_str().unwrap()),
        "{error}"
    );
    assert_eq!(store.load("r1").unwrap(), kept);
    drop(store);
    assert_eq!(
        Store::open_read_only(&path).unwrap().load("r1").unwrap(),
        kept
    );
}

#[test]
#[ignore = "root: mounts a small file system"]
fn a_store_that_does_not_fit_is_refused_with_the_reason() {
    let mount = Mount::new("size=8k");
    std::fs::write(mount.0.path().join("ballast"), [0; 8192]).unwrap();
    let error = Store::open(&mount.0.path().join("kurabe.db")).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
}

#[test]
#[ignore = "root: mounts a small file system"]
fn a_store_on_read_only_media_can_be_read_and_not_written() {
    let mount = Mount::new("size=4m");
    let path = mount.0.path().join("kurabe 1%.db");
    let kept = run("r1", 5);
    let store = Store::open(&path).unwrap();
    store.import(&kept).unwrap();
    drop(store);
    mount.read_only();
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.load("r1").unwrap(), kept);
    assert_eq!(reader.resolve("latest").unwrap(), "r1");
    assert_eq!(reader.path(), path);
    drop(reader);
    for path in [
        path,
        mount.0.path().join("new.db"),
        mount.0.path().join("new/new.db"),
    ] {
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Access { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("Read-only file system"), "{text}");
        assert!(text.contains(path.to_str().unwrap()), "{text}");
    }
}

#[test]
#[ignore = "root: mounts a small file system"]
fn a_log_without_its_index_is_read_on_read_only_media_too() {
    let mount = Mount::new("size=4m");
    let path = mount.0.path().join("kurabe.db");
    let kept = run("r1", 5);
    let store = Store::open(&path).unwrap();
    store.import(&kept).unwrap();
    // A copy of a store in use: its last transactions are in the log alone.
    let copy = mount.0.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(
        mount.0.path().join("kurabe.db-wal"),
        mount.0.path().join("copy.db-wal"),
    )
    .unwrap();
    drop(store);
    mount.read_only();
    let reader = Store::open_read_only(&copy).unwrap();
    assert_eq!(reader.load("r1").unwrap(), kept);
}

#[test]
#[ignore = "root: mounts a small file system"]
fn a_store_on_a_full_file_system_can_be_read() {
    let mount = Mount::new("size=1m");
    let path = mount.0.path().join("kurabe.db");
    let kept = run("r1", 5);
    let store = Store::open(&path).unwrap();
    store.import(&kept).unwrap();
    // In use elsewhere: what was kept last is in the log alone.
    let copy = mount.0.path().join("copy.db");
    let log = |path: &Path| path.with_extension("db-wal");
    store.note_work_dir("r1", Path::new("/a")).unwrap();
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(log(&path), log(&copy)).unwrap();
    drop(store);
    let ballast = std::fs::write(mount.0.path().join("ballast"), vec![0; 1 << 20]);
    assert!(ballast.is_err(), "it is full");
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.load("r1").unwrap(), kept);
    drop(reader);
    // There is no room for an index of its log, and none is needed.
    let reader = Store::open_read_only(&copy).unwrap();
    assert_eq!(reader.load("r1").unwrap(), kept);
    assert_eq!(reader.work_dirs().unwrap().len(), 1);
}
