//! What is made, what is removed, and what is left alone.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_work_directory_is_made_marked_and_removed() {
    let parent = tempfile::tempdir().unwrap();
    let dir = WorkDir::create(parent.path(), "r1", false).unwrap();
    fs::write(dir.path().join("data"), "x").unwrap();
    assert_eq!(find_stale(parent.path()).unwrap(), [], "its maker is alive");
    let path = dir.path().to_owned();
    dir.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_directory_of_a_dead_process_is_stale_and_others_are_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let dead = parent.path().join("kurabe-work-dead");
    fs::create_dir(&dead).unwrap();
    let marker = r#"{"run":"dead"}"#;
    fs::write(dead.join(MARKER), marker).unwrap();
    let unmarked = parent.path().join("kurabe-work-unmarked");
    fs::create_dir(&unmarked).unwrap();
    std::os::unix::fs::symlink(&dead, parent.path().join("kurabe-work-link")).unwrap();

    let stale = find_stale(parent.path()).unwrap();
    assert_eq!(
        stale,
        [Stale {
            path: dead.clone(),
            run: "dead".to_owned(),
            is_sure: true,
        }]
    );
    remove_stale(&stale[0]).unwrap();
    assert!(!dead.exists() && unmarked.exists());
}

#[test]
fn a_removal_that_stops_half_way_leaves_the_marker() {
    let parent = tempfile::tempdir().unwrap();
    let dir = WorkDir::create(parent.path(), "r1", false).unwrap();
    fs::create_dir_all(dir.path().join("round-1/copy-0")).unwrap();
    fs::write(dir.path().join("round-1/copy-0/data"), "x").unwrap();
    fs::write(dir.path().join("data"), "x").unwrap();
    std::os::unix::fs::symlink(parent.path(), dir.path().join("link")).unwrap();
    empty_but_for(dir.path(), &[MARKER]).unwrap();
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, [MARKER]);
    assert!(parent.path().exists(), "links are not followed");
}

#[test]
fn what_is_put_in_the_place_of_a_work_directory_is_not_emptied() {
    let parent = tempfile::tempdir().unwrap();
    let precious = parent.path().join("precious");
    fs::create_dir(&precious).unwrap();
    // Even where somebody puts a marker into it.
    for name in ["file", MARKER] {
        fs::write(precious.join(name), r#"{"run":"r1"}"#).unwrap();
    }
    let moved = parent.path().join("moved");
    for link in [true, false] {
        let dir = WorkDir::create(parent.path(), "r1", false).unwrap();
        let path = dir.path().to_owned();
        fs::write(path.join("data"), "x").unwrap();
        fs::rename(&path, &moved).unwrap();
        if link {
            std::os::unix::fs::symlink(&precious, &path).unwrap();
        } else {
            fs::rename(&precious, &path).unwrap();
        }
        dir.remove().unwrap_err();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "{link}");
        // Ours was emptied where it is, and is found there by its marker.
        let left = stale_at(&moved).unwrap();
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 1, "{link}");
        remove_stale(&left).unwrap();
        assert!(!moved.exists());
        if link {
            let stale = Stale {
                path: path.clone(),
                run: "r1".to_owned(),
                is_sure: true,
            };
            remove_stale(&stale).unwrap_err();
            assert_eq!(fs::read_dir(&precious).unwrap().count(), 2);
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn a_directory_that_is_not_new_is_not_marked() {
    let parent = tempfile::tempdir().unwrap();
    let dir = place(parent.path(), "r1");
    fs::create_dir(&dir).unwrap();
    let mark = |path: &Path| {
        let held = Held::of(find_directory(parent.path()).unwrap(), path, "r1")?;
        held.mark_new(false).map(|_| ())
    };
    fs::write(dir.join("file"), "x").unwrap();
    mark(&dir).unwrap_err();
    fs::remove_file(dir.join("file")).unwrap();
    // Others may write to it: ours is for nobody else.
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    mark(&dir).unwrap_err();
    assert_eq!(
        fs::read_dir(&dir).unwrap().count(),
        0,
        "nothing is left in it"
    );
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    mark(&dir).unwrap();
    let link = parent.path().join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    mark(&link).unwrap_err();
}

#[test]
fn a_missing_parent_is_an_error_that_names_it() {
    let error = WorkDir::create(Path::new("/nonexistent/dir"), "r", false)
        .unwrap_err()
        .to_string();
    assert!(error.contains("create the work directory") && error.contains("/nonexistent/dir"));
}

#[test]
fn a_directory_whose_marker_was_removed_is_left_alone_and_that_is_said() {
    let parent = tempfile::tempdir().unwrap();
    let dir = WorkDir::create(parent.path(), "r1", false).unwrap();
    let path = dir.path().to_owned();
    fs::write(path.join("data"), "x").unwrap();
    fs::remove_file(path.join(MARKER)).unwrap();
    let error = dir.remove().unwrap_err().to_string();
    assert!(error.contains("somebody removed its marker"), "{error}");
    assert!(path.join("data").exists());
    // One that is gone altogether is no trouble.
    let dir = WorkDir::create(parent.path(), "r2", false).unwrap();
    fs::remove_dir_all(dir.path()).unwrap();
    dir.remove().unwrap();
}

#[test]
fn where_the_directory_cannot_be_removed_the_marker_is_there_for_the_next_try() {
    let parent = tempfile::tempdir().unwrap();
    let mut dir = WorkDir::create(parent.path(), "r1", false).unwrap();
    let path = dir.path().to_owned();
    drop(dir.marker.take());
    // `run`, as a file that the file system keeps for a moment.
    let error = dir.held.remove_empty().unwrap_err();
    assert!(is_about_to_go(&error), "{error}");
    drop(dir);
    let stale = find_stale(parent.path()).unwrap();
    assert_eq!(stale.len(), 1);
    assert_eq!((stale[0].run.as_str(), stale[0].is_sure), ("r1", true));
    remove_stale(&stale[0]).unwrap();
    assert!(!path.exists());
}

#[test]
fn what_the_file_system_keeps_for_a_moment_is_waited_for() {
    let parent = tempfile::tempdir().unwrap();
    let dir = WorkDir::create(parent.path(), "r1", false).unwrap();
    let path = dir.path().to_owned();
    let comes_back = path.join("comes-back");
    fs::write(&comes_back, "").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                while comes_back.exists() {
                    std::thread::yield_now();
                }
                // The directory may be gone already.
                let _ = File::create(&comes_back);
            }
        });
        dir.remove().unwrap();
    });
    assert!(!path.exists());
}

#[test]
fn what_nobody_can_be_sure_of_is_found_and_not_removed() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("kurabe-work-x");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join(MARKER), r#"{"run":"x","unlocked":true}"#).unwrap();
    let stale = stale_at(&dir).unwrap();
    assert!(!stale.is_sure);
    let error = remove_stale(&stale).unwrap_err().to_string();
    assert!(error.contains("has no locks"), "{error}");
    assert!(dir.join(MARKER).exists());
}

#[test]
fn a_directory_that_its_run_removes_meanwhile_is_no_error() {
    let parent = tempfile::tempdir().unwrap();
    let gone = Stale {
        path: place(parent.path(), "r1"),
        run: "r1".to_owned(),
        is_sure: true,
    };
    remove_stale(&gone).unwrap();
    // The other has taken the marker away, and is about to remove the directory.
    let path = place(parent.path(), "r2");
    fs::create_dir(&path).unwrap();
    let held = Held::of(find_directory(parent.path()).unwrap(), &path, "r2").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            sys::clock::sleep(20_000_000);
            fs::remove_dir(&path).unwrap();
        });
        held.remove(None).unwrap();
    });
    for _ in 0..50 {
        let mut dir = WorkDir::create(parent.path(), "r3", false).unwrap();
        // As it is when a run is about to remove the marker.
        drop(dir.marker.take());
        let path = dir.path().to_owned();
        let stale = stale_at(&path).unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| remove_stale(&stale));
            dir.held.remove(None).unwrap();
            other.join().unwrap().unwrap();
        });
        assert!(!path.exists());
    }
}

#[test]
fn what_stands_in_the_place_of_a_marker_is_not_waited_for() {
    let parent = tempfile::tempdir().unwrap();
    let dir = place(parent.path(), "r1");
    fs::create_dir(&dir).unwrap();
    let (marker, pipe) = (dir.join(MARKER), dir.join("pipe"));
    #[expect(clippy::disallowed_methods, reason = "std makes no pipes with names")]
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let over = std::sync::atomic::AtomicBool::new(false);
    let (tell, told) = std::sync::mpsc::channel();
    let look = dir.clone();
    // Left behind where it hangs: nothing would end it.
    #[expect(clippy::disallowed_methods, reason = "it may never end")]
    std::thread::spawn(move || {
        for _ in 0..20_000 {
            let _ = stale_at(&look);
        }
        let _ = tell.send(());
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let put = dir.join("put");
                fs::write(&put, r#"{"run":"r1"}"#).unwrap();
                fs::rename(&put, &marker).unwrap();
                fs::hard_link(&pipe, &put).unwrap();
                fs::rename(&put, &marker).unwrap();
            }
        });
        let ended = told.recv_timeout(std::time::Duration::from_secs(60));
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        ended.expect("a pipe was opened");
    });
}

#[test]
fn what_cannot_be_looked_at_is_not_called_unmarked() {
    let parent = tempfile::tempdir().unwrap();
    let dir = place(parent.path(), "r1");
    assert_eq!(next_of(&dir), Next::Nothing, "there is none");
    fs::create_dir(&dir).unwrap();
    assert_eq!(next_of(&dir), Next::Nothing, "it has no marker");
    fs::write(dir.join(MARKER), r#"{"run":"r1"}"#).unwrap();
    assert_eq!(next_of(&dir), Next::Clean);
    fs::write(dir.join(MARKER), r#"{"run":"r1","unlocked":true}"#).unwrap();
    assert_eq!(next_of(&dir), Next::Nothing, "nobody can tell");
    for number in [5, 13, 107] {
        let error = io::Error::from_raw_os_error(number);
        assert!(!is_none(&error), "{error}");
    }
}

mod root {
    use super::*;

    #[test]
    #[ignore = "root: mounts a file system and shuts it down"]
    fn on_a_file_system_that_was_shut_down_the_marker_is_not_called_missing() {
        let bed = tempfile::tempdir().unwrap();
        let (image, mount) = (bed.path().join("image"), bed.path().join("mount"));
        fs::create_dir(&mount).unwrap();
        let sh = |line: String| {
            #[expect(clippy::disallowed_methods, reason = "mounts and shuts down")]
            let done = std::process::Command::new("sh")
                .args(["-c", &line])
                .status();
            assert!(done.unwrap().success(), "{line}");
        };
        let (image, at) = (image.display(), mount.display());
        sh(format!(
            "truncate -s 400m {image} && mkfs.xfs -q {image} && mount -o loop {image} {at}"
        ));
        let dir = WorkDir::create(&mount, "r1", false).unwrap();
        let path = dir.path().to_owned();
        sh(format!("xfs_io -x -c shutdown {at}"));
        let error = dir.remove().unwrap_err();
        let next = next_of(&path);
        sh(format!("umount {at}"));
        assert_eq!(error.error.raw_os_error(), Some(5), "{error}");
        assert_eq!(next, Next::CleanLater);
    }

    #[test]
    #[ignore = "root: gives a directory to another user"]
    fn a_directory_that_another_user_made_is_not_marked() {
        let parent = tempfile::tempdir().unwrap();
        let dir = place(parent.path(), "r1");
        DirBuilder::new().mode(0o700).create(&dir).unwrap();
        std::os::unix::fs::chown(&dir, Some(65534), None).unwrap();
        let inside = find_directory(parent.path()).unwrap();
        let held = Held::of(inside, &dir, "r1").unwrap();
        for of_others in [false, true] {
            let error = held.mark_new(of_others).unwrap_err().to_string();
            assert!(error.contains("another directory"), "{error}");
            assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        }
    }
}
