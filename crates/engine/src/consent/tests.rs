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
    let granted = grants(touch, overwrite)?;
    granted.permits.of(&path).cloned()
}

fn grants(touch: Touch, overwrite: &[&Path]) -> Result<Granted, Refusal> {
    decide(&Tree::real(), vec![touch], &consent(overwrite), &|_| None)
}

/// What is granted where a job makes the file, writes to it, and nobody consented to anything.
fn job_on(path: &Path) -> Result<(Granted, Permit), Refusal> {
    let granted = grants(touch(path, true, true), &[])?;
    let permit = granted.permits.of(path)?.clone();
    Ok((granted, permit))
}

/// A file of ours with this content, after its run.
fn made(path: &Path, content: &[u8]) {
    let (granted, permit) = job_on(path).unwrap();
    let mut file = permit.empty().unwrap();
    std::io::Write::write_all(&mut file, content).unwrap();
    permit.keep_note(&file, "whole").unwrap();
    let settled = granted.settle(&|_| false);
    assert!(matches!(settled[0].left, Left::Kept { .. }), "{settled:?}");
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
    assert!(matches!(refused, Refusal::NotNamed { .. }), "{refused}");
    // Leave to write is no leave to empty it.
    let emptied = write.empty();
    assert!(matches!(emptied, Err(Refusal::NoPermit(_))), "{emptied:?}");
    let marked = write.keep_note(&write.open(WRITE).unwrap(), "x");
    assert!(matches!(marked, Err(Refusal::NoPermit(_))), "{marked:?}");
    let granted = grants(touch(&path, true, true), &[&path]).unwrap();
    assert_eq!(granted.settle(&|_| true), []);
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
    let slip = decide(
        &Tree::real(),
        vec![touch(&path, false, false)],
        &erase,
        &|_| None,
    )
    .unwrap_err();
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
    let (granted, permit) = job_on(&path).unwrap();
    assert_eq!(permit.note().unwrap(), None);
    assert_eq!(
        granted.settle(&|_| false)[0].left,
        Left::Removed,
        "it was never whole"
    );
    assert!(!path.exists());
    made(&path, b"content");
    // Another run needs no consent for it.
    let (granted, permit) = job_on(&path).unwrap();
    assert_eq!(permit.note().unwrap().as_deref(), Some("whole"));
    permit.open(WRITE).unwrap();
    permit.empty().unwrap();
    assert_eq!(permit.note().unwrap(), None);
    drop(granted);
    assert!(!path.exists(), "it was emptied and not written again");
    made(&path, b"content");
    let (granted, _) = job_on(&path).unwrap();
    assert_eq!(granted.settle(&|_| true)[0].left, Left::Removed);
    assert!(!path.exists());
}

#[test]
fn what_is_refused_leaves_nothing_and_changes_nothing() {
    let dir = place();
    let at = |name: &str| dir.path().join(name);
    made(&at("ours"), b"content");
    std::fs::write(at("theirs"), "precious").unwrap();
    let all = ["new", "ours", "theirs"].map(|name| touch(&at(name), true, true));
    let refused = decide(&Tree::real(), all.to_vec(), &consent(&[]), &|_| None).unwrap_err();
    assert!(matches!(refused, Refusal::NotNamed { .. }), "{refused}");
    assert!(!at("new").exists());
    assert_eq!(std::fs::read(at("ours")).unwrap(), b"content");
    // Nor where making the second file fails: a directory of that name is not there when it is looked at.
    let below = at("no such directory").join("x");
    let all = [at("new"), below].map(|path| touch(&path, true, true));
    decide(&Tree::real(), all.to_vec(), &consent(&[]), &|_| None).unwrap_err();
    assert!(!at("new").exists());
    job_on(&at("ours")).unwrap();
}

#[test]
fn a_store_knows_a_file_by_its_id_and_the_time_of_its_last_change() {
    let dir = place();
    let path = dir.path().join("data");
    made(&path, b"content");
    let (granted, _) = job_on(&path).unwrap();
    let settled = granted.settle(&|_| false);
    let Left::Kept { id, changed } = &settled[0].left else {
        panic!("{settled:?}")
    };
    let asked = |time: String| {
        let known = |asked: &str| (asked == id).then(|| time.clone());
        decide(
            &Tree::real(),
            vec![touch(&path, true, true)],
            &consent(&[]),
            &known,
        )
        .map(drop)
    };
    let refused = asked((changed + 1).to_string()).unwrap_err().to_string();
    assert!(refused.contains("somebody has changed it"), "{refused}");
    asked(changed.to_string()).unwrap();
    // The id was given up with that run, so that the old time says nothing any more.
    asked("1".to_owned()).unwrap();
}

#[test]
fn a_file_in_the_hands_of_a_run_is_not_taken_by_another() {
    let dir = place();
    let path = dir.path().join("data");
    made(&path, b"content");
    let (held, permit) = job_on(&path).unwrap();
    for overwrite in [&[][..], &[path.as_path()]] {
        let refused = grants(touch(&path, true, true), overwrite).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains("another program has locked it"), "{said}");
    }
    // Reading it harms nobody, and does not make it the reader's.
    let reads = asked(touch(&path, false, true), &[]).unwrap();
    assert_eq!((reads.makes(), reads.note().unwrap()), (false, None));
    // A file of others that was given up is held as well.
    let theirs = dir.path().join("theirs");
    std::fs::write(&theirs, "may be lost").unwrap();
    let _first = grants(touch(&theirs, true, false), &[&theirs]).unwrap();
    let second = grants(touch(&theirs, true, false), &[&theirs]).unwrap_err();
    assert!(second.to_string().contains("locked"), "{second}");
    permit.open(WRITE).unwrap();
    drop(held);
    job_on(&path).unwrap();
}

#[test]
fn a_file_that_somebody_changed_while_its_run_was_killed_is_theirs() {
    let dir = place();
    let path = dir.path().join("data");
    let killed = |writes: bool| {
        let _ = std::fs::remove_file(&path);
        made(&path, b"content");
        let (mut granted, permit) = job_on(&path).unwrap();
        if writes {
            std::os::unix::fs::FileExt::write_all_at(&permit.open(WRITE).unwrap(), b"x", 0)
                .unwrap();
        }
        // The kernel closes what a process had, and nobody settles anything.
        granted.held.clear();
    };
    killed(false);
    drop(job_on(&path).unwrap());
    // Whether that was the run or somebody else nobody can tell.
    killed(true);
    let refused = job_on(&path).unwrap_err();
    assert!(refused.to_string().contains("was killed"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), b"xontent");
    // Leave for it is leave for it.
    asked(touch(&path, true, true), &[&path]).unwrap();
    job_on(&path).unwrap_err();
}

#[test]
fn a_file_that_goes_under_our_hands_is_not_looked_for_elsewhere() {
    let dir = place();
    let at = |name: &str| dir.path().join(name);
    let path = at("data");
    let left = |change: &dyn Fn()| {
        let _ = std::fs::remove_file(&path);
        made(&path, b"content");
        let (granted, _) = job_on(&path).unwrap();
        change();
        let unlinked = granted.settle(&|_| true);
        unlinked[0].left.clone()
    };
    assert_eq!(
        left(&|| std::fs::remove_file(&path).unwrap()),
        Left::Removed
    );
    std::fs::write(at("precious"), "precious").unwrap();
    let another = left(&|| std::fs::rename(at("precious"), &path).unwrap());
    assert!(matches!(&another, Left::Lost(why) if why.contains("another file")));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    let moved = left(&|| std::fs::rename(&path, at("moved")).unwrap());
    assert_eq!(moved, Left::Removed);
    assert_eq!(std::fs::read(at("moved")).unwrap(), b"content");
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

    // And where nothing was, only what we made ourselves is opened.
    let (granted, permit) = job_on(&at("new")).unwrap();
    std::fs::remove_file(at("new")).unwrap();
    std::fs::write(at("new"), "of somebody else").unwrap();
    permit.open(WRITE).unwrap_err();
    permit.empty().unwrap_err();
    drop(granted);
    assert_eq!(std::fs::read(at("new")).unwrap(), b"of somebody else");
}

#[test]
fn where_files_carry_no_marks_none_is_made() {
    // ramfs and old tmpfs have none; procfs refuses earlier. Where shared memory has marks, this is nothing new.
    let path = Path::new("/dev/shm/kurabe-test-marks");
    let _ = std::fs::remove_file(path);
    match job_on(path) {
        Ok(granted) => drop(granted),
        Err(refused) => assert!(
            refused.to_string().contains("extended attributes"),
            "{refused}"
        ),
    }
    assert!(!path.exists());
}

#[test]
fn a_file_is_reached_by_the_way_that_was_looked_at() {
    let dir = place();
    let at = |name: &str| dir.path().join(name);
    for name in ["a", "b"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    symlink("a", at("link")).unwrap();
    let path = at("link/file");
    let (granted, permit) = job_on(&path).unwrap();
    // Somebody leads the link elsewhere, where a file has the name.
    std::fs::remove_file(at("link")).unwrap();
    symlink("b", at("link")).unwrap();
    std::fs::write(at("b/file"), "precious").unwrap();
    let mut file = permit.empty().unwrap();
    std::io::Write::write_all(&mut file, b"ours").unwrap();
    permit.keep_note(&file, "whole").unwrap();
    assert_eq!(std::fs::read(at("a/file")).unwrap(), b"ours");
    assert_eq!(permit.path(), path);
    let settled = granted.settle(&|unlinked| unlinked == path);
    assert_eq!(
        settled,
        [Settled {
            path,
            left: Left::Removed
        }]
    );
    assert!(!at("a/file").exists());
    assert_eq!(std::fs::read(at("b/file")).unwrap(), b"precious");
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
        let made = job_on(&path).map(drop);
        let left = path.exists();
        sh(&format!("umount {at}"));
        let said = made.unwrap_err().to_string();
        assert!(said.contains("carries no extended attributes"), "{said}");
        assert!(!left);
    }
}
