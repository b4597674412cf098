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
    assert_eq!(store.lost(), Some("was removed"));
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(store.lost(), Some("was replaced by another"));
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
    assert_eq!(store.lost(), Some("was cut short"));
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
    assert_eq!(store.lost(), Some("was written over"));
    let aside = store.leave().unwrap();
    drop(store);
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
