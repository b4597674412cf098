//! A store whose file is no longer what was opened.

use crate::fixture::{host, meta, plan, round, run};
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
