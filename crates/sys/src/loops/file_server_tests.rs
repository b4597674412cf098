//! The calls on files in a directory of the test's own.

use super::*;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

#[test]
fn a_file_is_made_written_read_renamed_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| c(&dir.path().join(name)));
    assert_eq!(
        open(&one, Opening::Existing).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    let file = open(&one, Opening::Make).unwrap();
    assert_eq!(write_at(&file, b"hello", 3).unwrap(), 5);
    let mut room = [1; 16];
    assert_eq!(read_at(&file, &mut room, 1).unwrap(), 7);
    assert_eq!(&room[..7], b"\0\0hello");
    set_times(&one, [7, 9]).unwrap();
    assert_eq!(stat_handle(&file).unwrap(), [7, 9]);
    lock(&file, 1 << 31, 1, true).unwrap();
    lock(&file, 1 << 31, 1, false).unwrap();
    sync(&file).unwrap();
    close(file).unwrap();
    rename(&one, &two).unwrap();
    assert!(stat(&one).is_err() && stat(&two).is_ok());
    close(open(&two, Opening::MakeEmpty).unwrap()).unwrap();
    assert_eq!(std::fs::metadata(dir.path().join("two")).unwrap().len(), 0);
    unlink(&two).unwrap();
    stat_file_system(&c(dir.path())).unwrap();
    assert!(stat_file_system(&two).is_err());
}

#[test]
fn names_are_read_until_one_is_enough() {
    let dir = tempfile::tempdir().unwrap();
    // More than one call of getdents64 reads.
    let wanted: Vec<String> = (0..900)
        .map(|number| format!("a-name-that-is-somewhat-long-{number:04}"))
        .collect();
    for name in &wanted {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    let mut names = Names::default();
    let mut found = Vec::new();
    names
        .read(&c(dir.path()), |name| {
            found.push(String::from_utf8(name.to_vec()).unwrap());
            false
        })
        .unwrap();
    found.retain(|name| name != "." && name != "..");
    found.sort();
    assert_eq!(found, wanted);
    let mut looked = 0;
    names
        .read(&c(dir.path()), |_| {
            looked += 1;
            looked == 5
        })
        .unwrap();
    assert_eq!(looked, 5);
    assert!(names.read(&c(&dir.path().join("none")), |_| false).is_err());
}

#[test]
fn a_tree_is_removed_and_what_links_lead_to_stays() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    std::fs::create_dir_all(tree.join("a/b")).unwrap();
    std::fs::write(dir.path().join("other"), "").unwrap();
    std::os::unix::fs::symlink("../other", tree.join("link")).unwrap();
    std::os::unix::fs::symlink("..", tree.join("a/up")).unwrap();
    for number in 0..300 {
        std::fs::write(tree.join(format!("a/b/file-of-some-length-{number}")), "").unwrap();
    }
    remove_tree(&c(&tree)).unwrap();
    assert!(!tree.exists() && dir.path().join("other").exists());
    remove_tree(&c(&tree)).unwrap();
    remove_tree(&c(&dir.path().join("other"))).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
