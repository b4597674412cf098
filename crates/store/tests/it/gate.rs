//! Files that are no store of ours, or of another age, are named, refused, and left bit for bit as they were.

use crate::fixture::{host, meta, plan, run};
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;
use store::{Store, StoreError};

/// Both ways of opening refuse the file with an error that names it, has a hint and contains `expect`; afterwards
/// the file's bytes are the same and nothing was put next to it.
fn check_refused(path: &Path, expect: &str) -> StoreError {
    let before = std::fs::read(path).unwrap();
    let beside = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    let error = Store::open(path).unwrap_err();
    for error in [&error, &Store::open_read_only(path).unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()), "{text}");
        assert!(text.contains("\nhint: "), "{text}");
        assert!(text.contains(expect), "{text}");
    }
    assert_eq!(std::fs::read(path).unwrap(), before, "the file was touched");
    assert_eq!(
        std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
        beside
    );
    error
}

#[test]
fn files_that_are_no_database_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let check = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = check_refused(&path, "it is no SQLite database");
        assert!(matches!(error, StoreError::Foreign { .. }));
    };
    check("notes.txt", "わたしのメモ\n".repeat(1000).as_bytes());
    check("one-byte", b"S");
    check("zeros", &[0; 8192]);
    check("almost", b"SQLite format 4\0 and so on");
}

#[test]
fn databases_of_other_programs_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let check = |name: &str, sql: &str| {
        let path = dir.path().join(name);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let error = check_refused(&path, "it is another program's database");
        assert!(matches!(error, StoreError::Foreign { .. }));
    };
    check(
        "plain.db",
        "CREATE TABLE runs (id TEXT); INSERT INTO runs VALUES ('mine');",
    );
    check(
        "marked.db",
        "PRAGMA application_id = 252006673; CREATE TABLE t (x);",
    );
    check("log.db", "PRAGMA journal_mode = wal; CREATE TABLE t (x);");
    check(
        "versioned.db",
        "PRAGMA user_version = 1; CREATE TABLE t (x);",
    );
}

#[test]
fn another_schema_is_refused_with_what_helps() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    drop(Store::open(&path).unwrap());
    let of_version = |version: u32, hint: &str| {
        let raw = Connection::open(&path).unwrap();
        raw.pragma_update(None, "user_version", version).unwrap();
        drop(raw);
        let expect = format!(
            "its schema is version {version} and this program reads and writes version 3; the file was not touched\nhint: {hint}"
        );
        check_refused(&path, &expect)
    };
    let older = of_version(2, "measure again into another file (`--store FILE`");
    assert!(
        matches!(older, StoreError::Older { found: 2, .. }),
        "{older:?}"
    );
    let newer = of_version(4, "use a newer kurabe");
    assert!(
        matches!(newer, StoreError::Newer { found: 4, .. }),
        "{newer:?}"
    );
}

#[test]
fn a_run_of_another_record_version_is_refused_and_others_stay_readable() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("kurabe.db")).unwrap();
    let old = run("r1", 2);
    store.import(&old).unwrap();
    store.import(&run("r2", 2)).unwrap();
    let raw = Connection::open(store.path()).unwrap();
    for (version, hint) in [(4, "a newer kurabe"), (2, "measure again")] {
        raw.execute(
            "UPDATE runs SET record_version = ?1 WHERE id = 'r2'",
            [version],
        )
        .unwrap();
        let error = store.load("r2").unwrap_err();
        assert!(
            matches!(error, StoreError::OtherVersion { found, .. } if found == version),
            "{error:?}"
        );
        assert!(error.to_string().contains(hint), "{error}");
    }
    assert_eq!(store.load("r1").unwrap(), old);
    assert_eq!(store.list().unwrap().len(), 2);
}

#[test]
fn paths_that_cannot_be_a_store_are_refused_with_the_systems_reason() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    let check = |path: &Path, expect: &str| {
        let text = Store::open(path).unwrap_err().to_string();
        assert!(text.contains(path.to_str().unwrap()), "{text}");
        assert!(text.contains(expect), "{text}");
        assert!(text.contains("\nhint: "), "{text}");
    };
    check(dir.path(), "it is a directory");
    check(&dir.path().join("file/kurabe.db"), "Not a directory");
    check(Path::new("/dev/null"), "it is no regular file");
    check(Path::new("/proc/kurabe/kurabe.db"), "create the directory");
}

#[test]
fn reading_a_store_that_is_not_there_says_so_and_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    assert!(matches!(
        Store::open_read_only(&path),
        Err(StoreError::Missing { .. })
    ));
    assert!(!path.exists());
    std::fs::write(&path, "").unwrap();
    assert!(matches!(
        Store::open_read_only(&path),
        Err(StoreError::Missing { .. })
    ));
    // An empty file is what a killed first opening leaves: it becomes a store.
    assert_eq!(Store::open(&path).unwrap().list().unwrap(), []);
}

#[test]
fn names_that_mean_something_to_sqlite_are_plain_files() {
    let dir = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x?mode=memory", "100% #1?.db", "スト ア"] {
        let path = dir.path().join(name);
        let store = Store::open(&path).unwrap();
        store.import(&run("r1", 2)).unwrap();
        drop(store);
        assert!(path.is_file(), "{name}");
        assert_eq!(
            Store::open_read_only(&path).unwrap().list().unwrap().len(),
            1
        );
    }
}

#[test]
fn a_lock_that_outlasts_our_patience_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    let patient = Store::open(&path).unwrap();
    let store = Store::open_waiting(&path, Duration::from_millis(20)).unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store
        .begin(&meta("r1", None, 1), &plan(), &host())
        .unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert!(error.to_string().contains("another process has it locked"));
    assert_eq!(store.list().unwrap(), [], "readers are not locked out");
    // Who waits long enough gets through.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| patient_begin(&path));
        raw.execute_batch("COMMIT").unwrap();
        waiting.join().unwrap();
    });
    assert_eq!(patient.list().unwrap().len(), 1);
}

fn patient_begin(path: &Path) {
    let store = Store::open(path).unwrap();
    store.begin(&meta("r1", None, 1), &plan(), &host()).unwrap();
}
