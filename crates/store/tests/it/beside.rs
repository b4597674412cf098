//! The files beside a store: reading makes and changes none, and what is not the store's own is not taken in.

#![expect(
    clippy::disallowed_methods,
    reason = "the test must look from another process, and make a pipe"
)]

use crate::fixture::{host, left_behind, meta, plan, round, run};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use store::{Store, StoreError};

/// All that is in a directory: of each name the file, its times, owner and mode, and its content.
type Everything = BTreeMap<PathBuf, (Vec<i64>, Vec<u8>)>;

fn everything(dir: &Path) -> Everything {
    let entries = fs::read_dir(dir).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let found = path.symlink_metadata().unwrap();
        let number = |number: u64| i64::try_from(number).unwrap();
        let facts = vec![
            number(found.ino()),
            number(found.nlink()),
            number(found.len()),
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec(),
            i64::from(found.uid()),
            i64::from(found.mode()),
        ];
        let content = if found.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        (path, (facts, content))
    });
    let mut all: Everything = entries.collect();
    let itself = dir.metadata().unwrap();
    all.insert(
        dir.to_owned(),
        (vec![itself.mtime(), itself.mtime_nsec()], Vec::new()),
    );
    all
}

/// Reads all that there is to read, twice at once; gives the ids of the runs, the oldest first.
fn read(path: &Path) -> Vec<String> {
    let (one, other) = (
        Store::open_read_only(path).unwrap(),
        Store::open_read_only(path).unwrap(),
    );
    let lines = one.list().unwrap();
    for line in &lines {
        assert_eq!(one.load(&line.id).unwrap(), other.load(&line.id).unwrap());
    }
    one.work_dirs().unwrap();
    one.resolve("latest").unwrap();
    let mut ids: Vec<String> = lines.into_iter().map(|line| line.id).collect();
    ids.sort();
    ids
}

/// Names the store that a child reads; set in children alone.
const STORE: &str = "KURABE_TEST_STORE_TO_READ";
/// The runs that it finds.
const RUNS: &str = "KURABE_TEST_RUNS_TO_FIND";

fn another_reads(path: &Path, runs: &str) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "beside::reading_changes_nothing",
            "--test-threads=1",
        ])
        .env(STORE, path)
        .env(RUNS, runs)
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn reading_changes_nothing() {
    if let Some(path) = std::env::var_os(STORE) {
        assert_eq!(
            read(Path::new(&path)).join(" "),
            std::env::var(RUNS).unwrap()
        );
        return;
    }
    let check = |what: &str, path: &Path, runs: &str| {
        let dir = path.parent().unwrap();
        let before = everything(dir);
        another_reads(path, runs);
        assert!(everything(dir) == before, "{what}");
        // By another name too, beside which there is nothing.
        let links = tempfile::tempdir().unwrap();
        symlink(path, links.path().join("link.db")).unwrap();
        let around = everything(links.path());
        another_reads(&links.path().join("link.db"), runs);
        assert!(everything(dir) == before, "{what}, by a link");
        assert!(everything(links.path()) == around, "{what}, beside a link");
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    Store::open(&path).unwrap().import(&run("r1", 3)).unwrap();
    check("at rest", &path, "r1");
    let writer = Store::open(&path).unwrap();
    writer
        .begin(&meta("r2", None, 1), &plan(), &host())
        .unwrap();
    writer.append("r2", &round(1, 1.5)).unwrap();
    check("while another process measures", &path, "r1 r2");
    writer.append("r2", &round(2, 2.5)).unwrap();
    check("and goes on", &path, "r1 r2");
    drop(writer);
    check("when it has ended", &path, "r1 r2");
    for index in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        check(
            "as a killed process left it",
            &left_behind(dir.path(), index),
            "r1 r2",
        );
    }
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(raw);
    check("with a journal and no log", &path, "r1 r2");
    fs::write(dir.path().join("kurabe.db-journal"), [0; 512]).unwrap();
    check("with a journal that is wiped out", &path, "r1 r2");
}

#[test]
fn a_log_in_memory_says_what_sqlite_reads_in_it() {
    // Cut anywhere: what was committed before counts, and nothing behind it.
    let whole = tempfile::tempdir().unwrap();
    let path = left_behind(whole.path(), false);
    let log = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    let bytes = fs::read(log(&path)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for cut in [
        0,
        20,
        32,
        56,
        4152,
        8272,
        bytes.len() / 2,
        bytes.len() - 1,
        bytes.len(),
    ] {
        for flip in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let copies = ["ours.db", "theirs.db"].map(|name| dir.path().join(name));
            let mut part = bytes[..cut.min(bytes.len())].to_vec();
            let middle = part.len() / 2;
            if let (true, Some(byte)) = (flip, part.get_mut(middle)) {
                *byte ^= 4;
            }
            for copy in &copies {
                fs::copy(&path, copy).unwrap();
                fs::write(log(copy), &part).unwrap();
            }
            let ours = Store::open_read_only(&copies[0]).unwrap();
            let theirs = Store::open(&copies[1]).unwrap();
            assert_eq!(ours.list().unwrap(), theirs.list().unwrap(), "{cut} {flip}");
            let rounds = |store: &Store| store.load("r2").map(|run| run.rounds).ok();
            assert_eq!(rounds(&ours), rounds(&theirs), "{cut} {flip}");
            seen.insert(ours.list().unwrap().len());
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2]);
}

/// Puts what is not the store's own at a name beside it.
type Plant = fn(&Path, &Path);

const PLANTS: [(&str, Plant); 6] = [
    ("it is no regular file", |at, victim| {
        symlink(victim, at).unwrap();
    }),
    ("it is no regular file", |at, _| {
        symlink("nowhere", at).unwrap();
    }),
    ("it is no regular file", |at, _| fs::create_dir(at).unwrap()),
    ("it is no regular file", |at, _| {
        let status = Command::new("mkfifo").arg(at).status().unwrap();
        assert!(status.success());
    }),
    ("it has 2 names (hard links)", |at, victim| {
        fs::hard_link(victim, at).unwrap();
    }),
    ("others may write to it (mode 666)", |at, _| {
        fs::write(at, "x").unwrap();
        fs::set_permissions(at, fs::Permissions::from_mode(0o666)).unwrap();
    }),
];

/// Opens and changes a store in a directory with this at `end` beside it; nothing may have been changed.
fn check_refused(end: &str, expect: &str, plant: impl Fn(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    Store::open(&path).unwrap().import(&run("r1", 3)).unwrap();
    let at = dir.path().join(format!("kurabe.db{end}"));
    plant(&at);
    let before = everything(dir.path());
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Beside { .. }), "{error:?}");
    let said = error.to_string();
    let name = at.display().to_string();
    assert!(said.contains(expect) && said.contains(&name), "{said}");
    // The index of a log is of no use to a reader where there is no log.
    match Store::open_read_only(&path) {
        Ok(store) => assert_eq!((end, store.list().unwrap().len()), ("-shm", 1)),
        Err(error) => assert_eq!((end != "-shm", error.to_string()), (true, said)),
    }
    assert!(everything(dir.path()) == before, "{end}: {expect}");
}

#[test]
fn what_is_not_the_stores_own_is_neither_taken_in_nor_written_over() {
    let precious = tempfile::tempdir().unwrap();
    let victim = precious.path().join("precious");
    fs::write(&victim, vec![7; 100_000]).unwrap();
    for (expect, plant) in PLANTS {
        for end in ["-wal", "-shm", "-journal"] {
            check_refused(end, expect, |at| plant(at, &victim));
            assert_eq!(fs::read(&victim).unwrap(), vec![7; 100_000], "{end}");
        }
    }
}

#[test]
fn a_log_whose_index_went_away_while_it_was_read_is_said_to_have_lost_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = left_behind(dir.path(), true);
    let first = Store::open_read_only(&path).unwrap();
    fs::remove_file(dir.path().join("kurabe.db-shm")).unwrap();
    let said = Store::open_read_only(&path).unwrap_err().to_string();
    assert!(said.contains("the index of its log is gone"), "{said}");
    assert_eq!(first.list().unwrap().len(), 2);
    drop(first);
    assert_eq!(read(&path), ["r1", "r2"]);
}

#[test]
fn who_shares_a_store_with_a_group_shares_what_is_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = left_behind(dir.path(), true);
    for end in ["", "-wal", "-shm"] {
        let name = format!("{}{end}", path.display());
        fs::set_permissions(name, fs::Permissions::from_mode(0o664)).unwrap();
    }
    assert_eq!(read(&path), ["r1", "r2"]);
    assert_eq!(Store::open(&path).unwrap().list().unwrap().len(), 2);
}

#[test]
fn a_change_that_was_broken_off_is_undone_by_who_writes_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    Store::open(&path).unwrap().import(&run("r1", 3)).unwrap();
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(raw);
    let whole = fs::read(&path).unwrap();
    let pages = u32::try_from(whole.len() / 4096).unwrap();
    // Nothing was written to the file yet. Layout: https://www.sqlite.org/fileformat.html, "The Rollback Journal".
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [0, 1, pages, 512, 4096] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    fs::write(dir.path().join("kurabe.db-journal"), journal).unwrap();
    let before = everything(dir.path());
    let error = Store::open_read_only(&path).unwrap_err();
    assert!(matches!(error, StoreError::BrokenOff { .. }), "{error:?}");
    assert!(everything(dir.path()) == before);
    Store::require(&path).unwrap();
    drop(Store::open(&path).unwrap());
    assert_eq!(read(&path), ["r1"]);
}

mod root {
    use super::*;
    use std::os::unix::fs::chown;

    #[test]
    #[ignore = "root: makes files of other users"]
    fn a_file_of_a_user_who_may_not_write_to_the_store_is_not_taken_in() {
        for (end, from) in [("-wal", "-wal"), ("-shm", "-shm"), ("-journal", "-wal")] {
            // Of another store: who reads the store can make one with its salts.
            let other = tempfile::tempdir().unwrap();
            let left = left_behind(other.path(), true);
            let from = format!("{}{from}", left.display());
            check_refused(end, "it belongs to user 65534", |at| {
                fs::copy(&from, at).unwrap();
                chown(at, Some(65534), Some(65534)).unwrap();
            });
        }
        // Another user's log of this very store, with its salts.
        let dir = tempfile::tempdir().unwrap();
        let path = left_behind(dir.path(), true);
        let log = dir.path().join("kurabe.db-wal");
        chown(&log, Some(65534), Some(65534)).unwrap();
        let before = everything(dir.path());
        for opened in [Store::open(&path), Store::open_read_only(&path)] {
            let error = opened.unwrap_err();
            assert!(matches!(error, StoreError::Beside { .. }), "{error:?}");
        }
        assert!(everything(dir.path()) == before);
    }

    #[test]
    #[ignore = "root: makes files of other users"]
    fn a_store_of_another_user_is_read_without_sharing_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = left_behind(dir.path(), true);
        for end in ["", "-wal", "-shm"] {
            let name = format!("{}{end}", path.display());
            chown(name, Some(65534), Some(65534)).unwrap();
        }
        chown(dir.path(), Some(65534), Some(65534)).unwrap();
        let index = dir.path().join("kurabe.db-shm");
        let before = everything(dir.path());
        let store = Store::open_read_only(&path).unwrap();
        assert_eq!(store.list().unwrap().len(), 2);
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains(index.to_str().unwrap()), "{maps}");
        drop(store);
        // Another file by the name of the index is no hindrance.
        fs::remove_file(&index).unwrap();
        fs::hard_link("/etc/passwd", &index)
            .or_else(|_| symlink("/etc/passwd", &index))
            .unwrap();
        let there = everything(dir.path());
        assert_eq!(read(&path), ["r1", "r2"]);
        assert!(everything(dir.path()) == there);
        assert_eq!(before.len(), there.len());
    }

    #[test]
    #[ignore = "root: makes files of other users"]
    fn a_log_of_a_group_that_may_write_to_the_store_is_taken_in() {
        for (store_mode, group, dir_mode, taken_in) in [
            (0o664, 0, 0o700, true),
            (0o664, 65534, 0o700, false),
            (0o644, 0, 0o700, false),
            (0o666, 65534, 0o700, true),
            // In a directory for all its group says nothing: the directory may have given it.
            (0o664, 0, 0o777, false),
            (0o666, 65534, 0o777, true),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = left_behind(dir.path(), false);
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(dir_mode)).unwrap();
            let log = dir.path().join("kurabe.db-wal");
            fs::set_permissions(&path, fs::Permissions::from_mode(store_mode)).unwrap();
            chown(&log, Some(65534), Some(group)).unwrap();
            let case = format!("{store_mode:o} {group} {dir_mode:o}");
            assert_eq!(Store::open_read_only(&path).is_ok(), taken_in, "{case}");
            assert_eq!(Store::open(&path).is_ok(), taken_in, "{case}");
        }
    }
}
