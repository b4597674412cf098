//! What may be opened: every kind of thing that a name can lead to, before and after somebody swaps it.

use super::*;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

const WRITE: Access = Access {
    write: true,
    direct: false,
    sync: file::SyncMode::None,
};

/// Not in /tmp, which may be a file system without marks.
fn place() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

fn touch(path: &Path, writes: bool, creates: bool) -> Touch {
    Touch {
        path: path.to_owned(),
        kind: NamedKind::File,
        writes,
        creates,
    }
}

fn consent(overwrite: &[&Path]) -> Consent {
    Consent {
        overwrite: overwrite.iter().map(|&path| path.to_owned()).collect(),
        ..Consent::default()
    }
}

/// What is decided about one touch.
fn asked(touch: Touch, overwrite: &[&Path]) -> Result<Permit, Refusal> {
    let path = touch.path.clone();
    let granted = decide(&Tree::real(), vec![touch], &consent(overwrite))?;
    granted.permits.of(&path).cloned()
}

#[test]
fn a_file_of_others_is_read_and_written_only_where_it_is_named() {
    let dir = place();
    let path = dir.path().join("theirs");
    std::fs::write(&path, "precious").unwrap();
    let read = asked(touch(&path, false, false), &[]).unwrap();
    read.open(Access::default()).unwrap();
    let write = read.open(WRITE);
    assert!(matches!(write, Err(Refusal::NoPermit(_))), "{write:?}");
    let refused = asked(touch(&path, true, false), &[]).unwrap_err();
    assert_eq!(
        refused.option().unwrap(),
        ["--overwrite-file", path.to_str().unwrap()]
    );
    let write = asked(touch(&path, true, false), &[&path]).unwrap();
    write.open(WRITE).unwrap();
    // Even where a job may make files, this one is there and is not ours.
    let refused = asked(touch(&path, true, true), &[]).unwrap_err();
    assert!(matches!(refused, Refusal::NotNamed(_)), "{refused}");
    let made = write.create();
    assert!(matches!(made, Err(Refusal::NoPermit(_))), "{made:?}");
    assert!(matches!(write.remove_ours(), Err(Refusal::NotNamed(_))));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn another_name_than_the_one_that_was_typed_is_refused() {
    let dir = place();
    let (path, other) = (dir.path().join("a"), dir.path().join("b"));
    std::fs::write(&path, "precious").unwrap();
    std::fs::write(&other, "precious").unwrap();
    let slip = asked(touch(&path, true, false), &[&other]).unwrap_err();
    assert!(matches!(slip, Refusal::Needless { .. }), "{slip}");
    let erase = Consent {
        erase: vec!["/dev/no-such".to_owned()],
        ..Consent::default()
    };
    let slip = decide(&Tree::real(), vec![touch(&path, false, false)], &erase).unwrap_err();
    let said = slip.to_string();
    assert_eq!(
        said,
        "--yes-erase `/dev/no-such`: no test of this run works on it"
    );
}

#[test]
fn only_regular_files_of_data_are_worked_on_whatever_is_typed() {
    let dir = place();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("file"), "precious").unwrap();
    symlink(at("file"), at("link")).unwrap();
    symlink("/nowhere", at("dangling")).unwrap();
    std::fs::hard_link(at("file"), at("twin")).unwrap();
    std::fs::create_dir(at("directory")).unwrap();
    let made = sys::process::shell(&format!("mkfifo {}", at("pipe").display()), 10_000);
    made.unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let check = |path: &Path, words: &str| {
        for creates in [false, true] {
            let refused = asked(touch(path, true, creates), &[path]).unwrap_err();
            let said = refused.to_string();
            assert!(said.contains(words), "{}: {said}", path.display());
        }
    };
    check(&at("link"), "symbolic link");
    check(&at("dangling"), "symbolic link");
    check(&at("file"), "it has 2 names (hard links)");
    check(&at("twin"), "it has 2 names (hard links)");
    check(&at("directory"), "it is a directory");
    check(&at("pipe"), "it is no regular file");
    check(&at("socket"), "it is no regular file");
    check(Path::new("/dev/null"), "it is no regular file");
    check(Path::new("/proc/self/comm"), "the kernel makes it up");
    check(
        Path::new("/proc/sys/kernel/hostname"),
        "the kernel makes it up",
    );
    check(
        Path::new("/sys/kernel/uevent_seqnum"),
        "the kernel makes it up",
    );
    assert_eq!(std::fs::read(at("file")).unwrap(), b"precious");
}

#[test]
fn nothing_is_made_where_no_file_belongs() {
    let check = |path: &str, words: &str| {
        let refused = asked(touch(Path::new(path), true, true), &[]).unwrap_err();
        assert!(refused.to_string().contains(words), "{path}: {refused}");
    };
    check("/dev/kurabe-test", "there is no such device");
    check("/dev/disk-of-mine/x", "No such file");
    check("/proc/kurabe-test", "no file can be made there");
    check("/sys/kurabe-test", "no file can be made there");
    check("/no-such-directory/x", "No such file");
    let absent = asked(touch(Path::new("/tmp/kurabe no such"), false, false), &[]);
    assert!(matches!(absent, Err(Refusal::System { .. })));
}

#[test]
fn a_file_that_we_make_is_ours_until_it_is_removed() {
    let dir = place();
    let path = dir.path().join("data");
    let permit = asked(touch(&path, true, true), &[]).unwrap();
    assert_eq!(permit.owner().unwrap(), Owner::Nobody);
    let made = permit.create().unwrap();
    assert_eq!(permit.owner().unwrap(), Owner::Unfinished);
    permit.finish(&made, "whole").unwrap();
    assert_eq!(permit.owner().unwrap(), Owner::Us("whole".to_owned()));
    // Another run needs no consent for it.
    let later = asked(touch(&path, true, true), &[]).unwrap();
    later.open(WRITE).unwrap();
    later.create().unwrap();
    assert_eq!(later.owner().unwrap(), Owner::Unfinished);
    later.remove_ours().unwrap();
    assert!(!path.exists());
    later.remove_ours().unwrap();
}

#[test]
fn what_is_put_in_the_place_of_a_file_after_the_look_is_not_opened() {
    let dir = place();
    let at = |name: &str| dir.path().join(name);
    let path = at("file");
    let look = || {
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, "may be lost").unwrap();
        asked(touch(&path, true, false), &[&path]).unwrap()
    };
    std::fs::write(at("precious"), "precious").unwrap();
    let swap: [(&dyn Fn(), &str); 4] = [
        (&|| symlink(at("precious"), &path).unwrap(), "symbolic link"),
        (
            &|| std::fs::hard_link(at("precious"), &path).unwrap(),
            "hard links",
        ),
        (
            &|| drop(std::fs::rename(at("other"), &path)),
            "not the file any more",
        ),
        (&|| std::fs::create_dir(&path).unwrap(), "a directory"),
    ];
    for (put, words) in swap {
        std::fs::write(at("other"), "precious").unwrap();
        let permit = look();
        permit.open(WRITE).unwrap();
        std::fs::remove_file(&path).unwrap();
        put();
        let said = permit.open(WRITE).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
        let _ = std::fs::remove_dir(&path);
    }
    assert_eq!(std::fs::read(at("precious")).unwrap(), b"precious");

    // And where nothing was, only what we make ourselves is opened.
    let permit = asked(touch(&at("new"), true, true), &[]).unwrap();
    std::fs::write(at("new"), "of somebody else").unwrap();
    assert!(permit.open(WRITE).is_err());
    assert!(matches!(permit.create(), Err(Refusal::NotNamed(_))));
}

#[test]
fn where_files_carry_no_marks_none_is_made() {
    // ramfs and old tmpfs have none; procfs refuses earlier. Where shared memory has marks, this is nothing new.
    let path = Path::new("/dev/shm/kurabe-test-marks");
    let _ = std::fs::remove_file(path);
    let permit = asked(touch(path, true, true), &[]).unwrap();
    match permit.create() {
        Ok(_) => permit.remove_ours().unwrap(),
        Err(refused) => assert!(
            refused.to_string().contains("extended attributes"),
            "{refused}"
        ),
    }
    assert!(!path.exists());
}

#[test]
fn what_no_permit_names_is_not_opened() {
    let dir = place();
    let path = dir.path().join("file");
    std::fs::write(&path, "precious").unwrap();
    let none = Permits::default().of(&path).cloned();
    assert!(matches!(none, Err(Refusal::NoPermit(_))));
    let device = Touch {
        kind: NamedKind::Device,
        ..touch(&path, false, false)
    };
    let said = asked(device, &[]).unwrap_err().to_string();
    assert!(said.ends_with("it is no block device"), "{said}");
}

#[test]
fn each_path_counts_once_with_all_that_is_done_to_it() {
    let (a, b) = (Path::new("/a"), Path::new("/b"));
    let all = [
        touch(a, false, true),
        touch(b, false, false),
        touch(a, true, false),
    ];
    assert_eq!(
        each_once(all),
        [touch(a, true, true), touch(b, false, false)]
    );
}

mod root {
    use super::*;

    fn sh(script: &str) {
        sys::process::shell(script, 20_000).unwrap();
    }

    #[test]
    #[ignore = "root: mounts a ramfs"]
    fn a_file_system_without_marks_is_refused_and_nothing_stays() {
        let dir = place();
        let at = dir.path().display().to_string();
        sh(&format!("mount -t ramfs kurabe-test {at}"));
        let path = dir.path().join("data");
        let made = asked(touch(&path, true, true), &[]).and_then(|permit| permit.create());
        let left = path.exists();
        sh(&format!("umount {at}"));
        let said = made.unwrap_err().to_string();
        assert!(said.contains("carries no extended attributes"), "{said}");
        assert!(!left);
    }
}
