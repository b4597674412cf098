//! A store whose file is no longer what was opened.

use crate::fixture::{host, keep, meta, plan, round, run};
use std::path::Path;
use store::Store;

/// A store with a run that goes on, of five rounds.
fn going_on(path: &Path) -> Store {
    Store::open(path).unwrap().import(&run("r0", 40)).unwrap();
    let store = Store::open(path).unwrap();
    store.begin(&meta("r1", None, 1), &plan(), &host()).unwrap();
    for seq in 1..=5 {
        store.append("r1", &round(seq, f64::from(seq))).unwrap();
    }
    assert_eq!(store.lost(), None);
    store
}

fn beside(path: &Path) -> Vec<String> {
    let dir = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<String> = dir
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_store_that_was_replaced_is_told_and_the_new_one_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("kurabe.db"), dir.path().join("other"));
    let store = going_on(&path);
    Store::open(&other).unwrap().import(&run("x", 3)).unwrap();
    for side in ["", "-wal", "-shm"] {
        std::fs::remove_file(format!("{}{side}", path.display())).unwrap();
    }
    assert_eq!(store.lost().as_deref(), Some("was removed"));
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(store.lost().as_deref(), Some("was replaced by another"));
    let new = Store::open(&path).unwrap();
    new.import(&run("y", 3)).unwrap();
    // What was kept is still read, rounds that come later too.
    store.append("r1", &round(6, 6.0)).unwrap();
    assert_eq!(store.load("r1").unwrap().rounds.len(), 6);
    store.leave();
    drop(store);
    assert_eq!(
        beside(&path),
        ["kurabe.db", "kurabe.db-shm", "kurabe.db-wal"]
    );
    drop(new);
    let new = Store::open_read_only(&path).unwrap();
    assert_eq!(new.list().unwrap().len(), 2);
}

#[test]
fn a_store_that_was_cut_short_or_written_over_is_told_and_not_folded_into() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    let store = going_on(&path);
    store.look_again().unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(4096)
        .unwrap();
    assert_eq!(store.lost().as_deref(), Some("was cut short"));
    store.leave();
    drop(store);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4096);

    let path = dir.path().join("second.db");
    let store = going_on(&path);
    let old = std::fs::read(&path).unwrap();
    let rubbish = vec![b'x'; old.len()];
    // Written over in place: the file is the same, and what is in it is not.
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, &rubbish).unwrap();
    assert_eq!(store.lost(), None);
    assert!(store.look_again().is_err());
    drop(store);
    assert_eq!(std::fs::read(&path).unwrap(), rubbish);
}

#[test]
fn a_backup_copied_into_the_open_file_is_told_and_left_as_it_was_copied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    Store::open(&path).unwrap().import(&run("r0", 40)).unwrap();
    // Before the run, as a killed one that is gone on with: `r1` is in it already.
    let store = Store::open(&path).unwrap();
    store.begin(&meta("r1", None, 1), &plan(), &host()).unwrap();
    drop(store);
    let backup = std::fs::read(&path).unwrap();
    let store = Store::open(&path).unwrap();
    store.mark(&["r1"]).unwrap();
    for seq in 1..=5 {
        store.append("r1", &round(seq, f64::from(seq))).unwrap();
        assert_eq!(store.lost(), None);
    }
    // Another process that keeps a run and folds the log in is no loss.
    let other = Store::open(&path).unwrap();
    keep(&other, &run("r2", 60)).unwrap();
    drop(other);
    assert_eq!(store.lost(), None);
    store.append("r1", &round(6, 6.0)).unwrap();
    assert_eq!(store.lost(), None);

    let grown = usize::try_from(std::fs::metadata(&path).unwrap().len()).unwrap();
    let mut copied = backup.clone();
    copied.resize(grown.max(copied.len()), 0);
    std::fs::write(&path, &copied).unwrap();
    assert_eq!(store.lost().as_deref(), Some("was written over"));
    // The name that the log would have is taken, and what has it stays.
    let taken = dir.path().join("kurabe.db-wal-of-r1");
    std::fs::write(&taken, "precious").unwrap();
    let aside = store.leave().unwrap();
    drop(store);
    assert!(aside.ends_with("kurabe.db-wal-of-r1-2"), "{aside:?}");
    assert_eq!(std::fs::read(&taken).unwrap(), b"precious");
    std::fs::remove_file(&taken).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), copied);
    assert_eq!(
        beside(&path),
        ["kurabe.db", aside.file_name().unwrap().to_str().unwrap()]
    );
    let restored = Store::open(&path).unwrap();
    assert_eq!(restored.load("r0").unwrap().rounds.len(), 40);
    assert_eq!(restored.load("r1").unwrap().rounds.len(), 0);
}

#[test]
fn folding_the_log_in_while_another_reads_is_no_loss() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    let store = going_on(&path);
    store.mark(&["r1"]).unwrap();
    for index in 0..20 {
        let other = Store::open(&path).unwrap();
        keep(&other, &run(&format!("x{index}"), 5)).unwrap();
        assert_eq!(store.lost(), None);
        store.append("r1", &round(10 + index, 1.0)).unwrap();
        assert_eq!(store.lost(), None);
    }
    assert_eq!(store.load("r1").unwrap().rounds.len(), 25);
}

/// Somebody else's connection, as a tool beside us has it.
fn tool(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).unwrap()
}

#[test]
fn a_store_that_no_path_leads_to_any_more_is_lost_whatever_the_error_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("dir/kurabe.db");
    let store = going_on(&path);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("kurabe.db", &path).unwrap();
    let how = store.lost().unwrap();
    assert!(
        how.starts_with("can no longer be reached (") && how.contains("symbolic links"),
        "{how}"
    );
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_eq!(store.lost().as_deref(), Some("was removed"));
    std::fs::write(path.parent().unwrap(), "mine").unwrap();
    let how = store.lost().unwrap();
    assert!(how.contains("(Not a directory"), "{how}");
}

#[test]
fn a_backup_that_sqlite_itself_restores_is_told_and_not_torn() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("kurabe.db"), dir.path().join("other"));
    Store::open(&other).unwrap().import(&run("x", 90)).unwrap();
    // Once it is only in the log, once in the file too.
    for fold in [false, true] {
        let store = going_on(&path);
        store.mark(&["r1"]).unwrap();
        store.append("r1", &round(6, 6.0)).unwrap();
        assert_eq!(store.lost(), None);
        let (from, mut to) = (tool(&other), tool(&path));
        rusqlite::backup::Backup::new(&from, &mut to)
            .unwrap()
            .run_to_completion(1000, std::time::Duration::ZERO, None)
            .unwrap();
        if fold {
            to.pragma_query(None, "wal_checkpoint", |_| Ok(())).unwrap();
        }
        drop(to);
        assert!(store.append("r1", &round(7, 7.0)).is_err());
        let how = store.lost().unwrap();
        assert!(how.contains("holds the run no more"), "{how}");
        assert_eq!(store.leave(), None, "the log is that of the backup");
        drop(store);
        let restored = Store::open(&path).unwrap();
        assert_eq!(restored.list().unwrap().len(), 1);
        assert_eq!(restored.load("x").unwrap().rounds.len(), 90);
        drop(restored);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_run_that_somebody_removes_while_it_goes_on_is_told_and_the_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    let store = going_on(&path);
    store.mark(&["r1"]).unwrap();
    assert_eq!(store.lost(), None);
    let sql = "DELETE FROM runs WHERE id = 'r1'";
    tool(&path).execute(sql, []).unwrap();
    let how = store.lost().unwrap();
    assert!(how.contains("holds the run no more"), "{how}");
    store.leave();
    // What comes later does not go into a store that is left.
    assert!(store.append("r0", &round(41, 1.0)).is_err());
    drop(store);
    let left = Store::open(&path).unwrap();
    assert_eq!(left.list().unwrap().len(), 1);
    assert_eq!(left.load("r0").unwrap().rounds.len(), 40);
}

#[test]
fn a_store_whose_mark_of_ours_is_taken_off_is_lost() {
    for (name, value, says) in [
        ("application_id", 5, "another program"),
        ("user_version", 77, "another version"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kurabe.db");
        let store = going_on(&path);
        store.mark(&["r1"]).unwrap();
        tool(&path).pragma_update(None, name, value).unwrap();
        let how = store.lost().unwrap();
        assert!(how.contains(says), "{how}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    let store = going_on(&path);
    store.mark(&["r1"]).unwrap();
    // In the file itself, behind SQLite's back.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 4], 68).unwrap();
    assert_eq!(store.lost().as_deref(), Some("was written over"));
}

#[test]
fn a_copy_of_the_same_run_that_is_restored_while_it_goes_on_lacks_rounds() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("kurabe.db"), dir.path().join("copy"));
    let store = going_on(&path);
    store.mark(&["r1"]).unwrap();
    let sql = format!("VACUUM INTO '{}'", copy.display());
    tool(&path).execute(&sql, []).unwrap();
    store.append("r1", &round(6, 6.0)).unwrap();
    assert_eq!(store.lost(), None);
    rusqlite::backup::Backup::new(&tool(&copy), &mut tool(&path))
        .unwrap()
        .run_to_completion(1000, std::time::Duration::ZERO, None)
        .unwrap();
    store.append("r1", &round(7, 7.0)).unwrap();
    let how = store.lost().unwrap();
    assert!(how.contains("not all of it"), "{how}");
}
