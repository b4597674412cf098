//! File sets on file systems of every kind, full, failing and of others.

use super::*;
use crate::root::sh;

/// A file system that a script mounts in the bed, unmounted at the end.
struct Mount(PathBuf);

impl Mount {
    fn new(bed: &Bed, script: &str) -> Self {
        let at = fs::canonicalize(bed.path()).unwrap().join("mount");
        fs::create_dir(&at).unwrap();
        let script = script.replace("AT", at.to_str().unwrap());
        sh(&format!("cd {}; {script}", bed.path().display()));
        Self(at)
    }

    fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| !path.ends_with("lost+found")).collect()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        sh(&format!("umount -l {}", self.0.display()));
    }
}

const EXT4: &str = "truncate -s 64M image; mkfs.ext4 -qF OPTIONS image; mount -o loop image AT";

/// The reasons of all rounds that failed.
fn reasons(bed: &Bed) -> String {
    let text = bed.run(&["export", ID]).code(0).out;
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rounds = document["run"]["rounds"].as_array().unwrap().iter();
    let of = |round: &serde_json::Value| {
        let failed = &round["outcome"]["failed"];
        format!("{failed} {}", round["partial"])
    };
    rounds.map(of).collect()
}

#[test]
#[ignore = "root: mounts file systems"]
fn too_little_room_and_too_few_inodes_are_said_and_nothing_stays() {
    let check = |options: &str, set: &dyn Fn(FileSet) -> FileSet, words: &str| {
        let bed = Bed::new();
        let mount = Mount::new(&bed, &EXT4.replace("OPTIONS", options));
        let sets = vec![set(super::set(&mount.0))];
        begin(
            &bed,
            vec![work(sets, vec![task(0, FileOperation::Read)], 200)],
            1,
        );
        carry_out(&bed).code(4);
        let why = reasons(&bed);
        assert!(why.contains(words), "`{words}` is not in {why}");
        assert_eq!(mount.left(), [""; 0].map(PathBuf::from));
    };
    let large = |set| FileSet {
        sizes: FileSizes::Split(vec![(20 << 20, 100.0)]),
        ..set
    };
    check("-m 0", &large, "there is room for");
    let many = |set| FileSet {
        files: 200,
        sizes: FileSizes::Split(vec![(1, 100.0)]),
        ..set
    };
    check("-N 64", &many, "no inodes left");
}

#[test]
#[ignore = "root: mounts file systems"]
fn every_kind_of_file_system_is_worked_on_and_left_empty() {
    let overlay = "mkdir lower upper; mount -t tmpfs none upper; mkdir upper/u upper/w; \
                   mount -t overlay -o lowerdir=lower,upperdir=upper/u,workdir=upper/w none AT; umount -l upper";
    let mut kinds = vec![
        ("ext4", EXT4.replace("OPTIONS", "")),
        ("tmpfs", "mount -t tmpfs -o size=32M none AT".to_owned()),
        ("overlay", overlay.to_owned()),
    ];
    if crate::disks::is_installed("bindfs") {
        kinds.push(("fuse", "mkdir below; bindfs below AT".to_owned()));
    } else {
        eprintln!("skipped: there is no bindfs");
    }
    for (kind, script) in kinds {
        let bed = Bed::new();
        let mount = Mount::new(&bed, &script);
        let tasks: Vec<_> = FileOperation::ALL.map(|of| task(0, of)).into();
        begin(&bed, vec![work(vec![set(&mount.0)], tasks, 500)], 1);
        carry_out(&bed).code(0);
        let done = measured(&bed, 0);
        assert!(
            done["values"]["ops_per_s"].as_f64().unwrap() > 0.0,
            "{kind}: {done}"
        );
        assert_eq!(mount.left(), [""; 0].map(PathBuf::from), "{kind}");
    }
}

#[test]
#[ignore = "root: mounts a file system read-only, and one whose image loses its end"]
fn read_only_and_failing_file_systems_give_the_kernels_reason() {
    let bed = Bed::new();
    let mount = Mount::new(&bed, &EXT4.replace("OPTIONS", "-m 0"));
    let one = anchor(&bed, "one");
    let before = contents(&one);
    let read = vec![task(1, FileOperation::Read)];
    begin(
        &bed,
        vec![work(vec![set(&one), set(&mount.0)], read, 200)],
        1,
    );
    sh(&format!("mount -o remount,ro {}", mount.0.display()));
    let done = carry_out(&bed);
    assert_ne!(done.code, Some(0));
    done.err_has(&["Read-only file system", "mount"]);
    assert_eq!(contents(&one), before);
    sh(&format!("mount -o remount,rw {}", mount.0.display()));
    assert_eq!(mount.left(), [""; 0].map(PathBuf::from));

    let bed = Bed::new();
    let mount = Mount::new(&bed, &EXT4.replace("OPTIONS", "-m 0"));
    let large = FileSet {
        sizes: FileSizes::Split(vec![(2 << 20, 100.0)]),
        ..set(&mount.0)
    };
    let direct = FileTask {
        direct: true,
        transfer: model::fileset::Blocks::Fixed(65_536),
        ..task(0, FileOperation::Read)
    };
    begin(&bed, vec![work(vec![large], vec![direct], 20_000)], 1);
    let child = bed.start(&["run", "--resume", ID]);
    eventually(60, || {
        work_dirs(&mount.0)
            .iter()
            .any(|dir| dir.join("round-1").exists())
    });
    std::thread::sleep(std::time::Duration::from_millis(500));
    sh(&format!(
        "truncate -s 1M {}",
        bed.path().join("image").display()
    ));
    let done: Done = child.wait_with_output().unwrap().into();
    assert_ne!(done.code, Some(0));
    let why = reasons(&bed);
    assert!(why.contains("Input/output error"), "{why}");
    assert!(why.contains("fwd0-read"), "{why}");
}

#[test]
#[ignore = "root: gives a directory to another user"]
fn an_anchor_of_another_user_is_refused_and_left_as_it_was() {
    let bed = Bed::new();
    let (one, other) = (anchor(&bed, "one"), anchor(&bed, "other"));
    let read = vec![task(1, FileOperation::Read)];
    begin(&bed, vec![work(vec![set(&one), set(&other)], read, 200)], 1);
    std::os::unix::fs::chown(&other, Some(65_534), Some(65_534)).unwrap();
    let before = [contents(&one), contents(&other)];
    let done = carry_out(&bed);
    assert_ne!(done.code, Some(0));
    done.err_has(&["belongs to user 65534", "--dir-of-others"]);
    assert_eq!([contents(&one), contents(&other)], before);
}

#[test]
#[ignore = "root: works in the root directory"]
fn the_root_directory_as_anchor_is_left_as_it_was() {
    let bed = Bed::new();
    let names = || {
        let entries = fs::read_dir("/").unwrap().flatten();
        let mut all: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        all.sort();
        all
    };
    let before = names();
    let at_root = FileSet {
        name: "root".to_owned(),
        ..set(&bed.path().join("x"))
    };
    let at_root = FileSet {
        anchor: PathBuf::from("/"),
        ..at_root
    };
    begin(
        &bed,
        vec![work(
            vec![at_root],
            vec![task(0, FileOperation::Delete)],
            200,
        )],
        1,
    );
    carry_out(&bed).code(0);
    assert_eq!(names(), before);
}
