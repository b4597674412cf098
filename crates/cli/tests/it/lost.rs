//! Stores that are replaced, removed or written over while a run is kept in them: no round is lost.

use crate::bed::{Bed, Done, eventually};
use std::path::{Path, PathBuf};

/// Some before something happens, and several after that however slow it is.
const PASSES: &str = "6";

/// What a run says and leaves whose store `happens` to meanwhile.
fn meanwhile(happens: impl Fn(&Path)) -> (Bed, Done) {
    let bed = Bed::new();
    bed.replay("earlier", "100,101");
    let args = ["run", "os.pipe@1", "--passes", PASSES, "--label", "second"];
    let child = bed.start(&args);
    let rounds = || {
        let args = ["show", "second", "--format", "csv-rounds"];
        bed.run(&args).out.lines().count()
    };
    // So that it happens before the last one, however long it takes to begin.
    eventually(60, || rounds() > 2);
    happens(&bed.store());
    let done: Done = child.wait_with_output().unwrap().into();
    (bed, done)
}

fn rescued(bed: &Bed) -> PathBuf {
    let names = bed.left_behind();
    let name = names
        .iter()
        .find(|name| name.starts_with("kurabe-rescued-"));
    bed.path().join(name.unwrap_or_else(|| panic!("{names:?}")))
}

fn remove_with_log(store: &Path) {
    for side in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{side}", store.display()));
    }
}

/// The file that was written has every round, and the store takes it in.
fn check(bed: &Bed, done: Done, how: &str) {
    let file = rescued(bed);
    let file = file.to_str().unwrap();
    done.code(4).err_has(&[how, file, "hint: `kurabe import "]);
    let csv = bed
        .run(&["show", file, "--format", "csv-rounds"])
        .code(0)
        .out;
    let passes: std::collections::BTreeSet<&str> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap())
        .collect();
    assert_eq!(passes.len().to_string(), PASSES, "{csv}");
    assert_eq!(bed.left_behind().len(), 1, "the work directory is gone");
}

#[test]
fn a_run_whose_store_was_replaced_is_written_beside_it_and_the_new_one_left_alone() {
    let other = Bed::new();
    other.replay("other", "1,2");
    let (bed, done) = meanwhile(|store| {
        remove_with_log(store);
        std::fs::copy(other.store(), store).unwrap();
    });
    check(&bed, done, "was replaced by another");
    assert_eq!(
        std::fs::read(bed.store()).unwrap(),
        std::fs::read(other.store()).unwrap()
    );
    bed.run(&["import", rescued(&bed).to_str().unwrap()])
        .code(0);
    let listed = bed.run(&["list"]).code(0);
    listed.out_has(&["other", "second"]);
}

/// A backup, moved over the store as `cp BACKUP t; mv t STORE` does: the log of what was there before stays beside it.
#[test]
fn a_store_that_replaced_another_is_not_read_through_the_log_of_that() {
    let other = Bed::new();
    other.replay("o1", "1,2");
    let small = std::fs::metadata(other.store()).unwrap().len();
    for number in 2..=12 {
        other.replay(&format!("o{number}"), "1,2");
    }
    assert!(std::fs::metadata(other.store()).unwrap().len() > small);
    let (bed, done) = meanwhile(|store| {
        assert!(store.with_extension("db-wal").exists());
        let copy = store.with_extension("t");
        std::fs::copy(other.store(), &copy).unwrap();
        std::fs::rename(&copy, store).unwrap();
    });
    check(&bed, done, "was replaced by another");
    let listed = bed.run(&["list"]).code(0);
    let listed = listed.out_has(&["o1 ", "o12 "]);
    assert!(!listed.out.contains("earlier"), "{}", listed.out);
    bed.run(&["import", rescued(&bed).to_str().unwrap()])
        .code(0);
    bed.run(&["list"]).code(0).out_has(&["o12 ", "second"]);
}

/// A limit on the size of files stands for every store that takes no more.
#[test]
fn a_run_whose_store_takes_no_more_names_the_command_that_goes_on() {
    let bed = Bed::new();
    bed.replay("earlier", "1");
    let limit = ["sh", "-c", "ulimit -f 160; exec \"$@\"", "sh"];
    let args = ["run", "os.pipe@1", "--passes", "16", "--label", "second"];
    let done = bed.behind(&limit, &args).code(4);
    let id = done.err.split("--resume ").nth(1).unwrap_or_default();
    let id = id.split('`').next().unwrap_or_default().to_owned();
    done.err_has(&[
        "keep round ",
        "hint: a limit on files (`ulimit -f`)",
        &format!("; then `kurabe run --resume {id}` goes on with it"),
    ]);
    let rounds = || {
        let shown = bed
            .run(&["show", "second", "--format", "csv-rounds"])
            .code(0);
        shown.out.lines().count()
    };
    let before = rounds();
    assert!(before > 1);
    bed.run(&["run", "--resume", &id, "--quiet"]).code(0);
    assert!(rounds() > before);
}

#[test]
fn a_run_whose_store_was_removed_is_written_where_it_was() {
    let (bed, done) = meanwhile(|store| {
        remove_with_log(store);
    });
    check(&bed, done, "was removed");
    assert!(!bed.store().exists());
    bed.run(&["import", rescued(&bed).to_str().unwrap()])
        .code(0);
    bed.run(&["list"]).code(0).out_has(&["second"]);
}

#[test]
fn a_run_whose_store_was_cut_short_or_written_over_is_written_beside_it() {
    type Harm = fn(&Path);
    let empty: Harm = |store| drop(std::fs::File::create(store).unwrap());
    let half: Harm = |store| {
        let file = std::fs::OpenOptions::new().write(true).open(store).unwrap();
        file.set_len(4096).unwrap();
    };
    let rubbish: Harm = |store| {
        let len = std::fs::metadata(store).unwrap().len();
        let bytes = vec![b'x'; usize::try_from(len).unwrap()];
        let mut file = std::fs::OpenOptions::new().write(true).open(store).unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
    };
    for (harm, how) in [
        (empty, "was cut short"),
        (half, "was cut short"),
        (rubbish, "was written over"),
    ] {
        let (bed, done) = meanwhile(harm);
        check(&bed, done, how);
    }
}

#[test]
fn a_run_whose_store_no_path_leads_to_any_more_is_written_elsewhere() {
    let (bed, done) = meanwhile(|store| {
        remove_with_log(store);
        std::os::unix::fs::symlink(store.file_name().unwrap(), store).unwrap();
    });
    check(
        &bed,
        done,
        "can no longer be reached (Too many levels of symbolic links",
    );
    // Its directory is a file now: what is beside it is where the command was typed.
    let bed = Bed::new();
    let dir = bed.path().join("st");
    std::fs::create_dir(&dir).unwrap();
    let store = dir.join("k.db");
    let args = ["--store", store.to_str().unwrap()];
    let run = ["run", "os.pipe@1", "--passes", PASSES, "--label", "second"];
    let child = bed.start(&[&run[..], &args[..]].concat());
    eventually(60, || {
        let show = ["show", "second", "--format", "csv-rounds"];
        bed.run(&[&show[..], &args[..]].concat())
            .out
            .lines()
            .count()
            > 2
    });
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::write(&dir, "mine").unwrap();
    let done: Done = child.wait_with_output().unwrap().into();
    let file = rescued(&bed);
    done.code(4).err_has(&[
        "can no longer be reached (Not a directory",
        file.to_str().unwrap(),
    ]);
    assert_eq!(std::fs::read(&dir).unwrap(), b"mine");
}

/// Runs python with a connection `c` to the store.
pub(crate) fn in_sqlite(store: &Path, script: &str) {
    let program = format!(
        "import sqlite3\nc=sqlite3.connect('{}',timeout=30)\n{script}\nc.commit()\nc.close()",
        store.display()
    );
    let mut python = crate::bed::program("python3");
    assert!(python.args(["-c", &program]).status().unwrap().success());
}

#[test]
fn a_run_whose_store_is_changed_by_sqlite_itself_is_written_beside_it_and_the_change_stays() {
    if !crate::disks::is_installed("python3") {
        eprintln!("skipped: there is no python3");
        return;
    }
    let other = Bed::new();
    for label in ["one", "two", "three"] {
        other.replay(label, "1,2");
    }
    let from = other.store().display().to_string();
    let restore = format!("s=sqlite3.connect('{from}'); s.backup(c); s.close()");
    let (bed, done) = meanwhile(|store| in_sqlite(store, &restore));
    check(&bed, done, "holds the run no more");
    let listed = bed.run(&["list"]).code(0);
    let listed = listed.out_has(&["one", "two", "three"]);
    assert!(!listed.out.contains("second"), "{}", listed.out);
    bed.run(&["import", rescued(&bed).to_str().unwrap()])
        .code(0);
    bed.run(&["list"]).code(0).out_has(&["three", "second"]);

    let removed = "c.execute(\"DELETE FROM runs WHERE label = 'second'\")";
    let (bed, done) = meanwhile(|store| in_sqlite(store, removed));
    check(&bed, done, "holds the run no more");
    bed.run(&["list"]).code(0).out_has(&["earlier"]);

    let (bed, done) = meanwhile(|store| in_sqlite(store, "c.execute('pragma application_id=5')"));
    check(
        &bed,
        done,
        "is marked as the database of another program now",
    );
}

#[test]
fn a_store_is_no_file_to_measure_on() {
    let bed = Bed::new();
    bed.replay("r", "1");
    let before = std::fs::read(bed.store()).unwrap();
    let file = format!("--filename={}", bed.store().display());
    let job = ["fio", "--name=j", "--rw=read", "--size=4k", "--bs=4k"];
    let done = bed.run(&[&job[..], &[file.as_str()]].concat());
    done.code(2).err_has(&["it is the store", "hint:"]);
    assert_eq!(std::fs::read(bed.store()).unwrap(), before);
}

/// Copies a store into the file that is open, as `cp` does: the file stays the same one.
fn copy_into(from: &Path, store: &Path) {
    let mut bytes = std::fs::read(from).unwrap();
    let len = std::fs::metadata(store).unwrap().len();
    // Not smaller: pages that belong to nothing are no damage to a store.
    bytes.resize(bytes.len().max(usize::try_from(len).unwrap()), 0);
    std::fs::write(store, bytes).unwrap();
}

#[test]
fn a_run_whose_store_a_backup_was_copied_into_is_written_beside_it_and_the_backup_left_alone() {
    let other = Bed::new();
    for label in ["one", "two", "three"] {
        other.replay(label, "1,2");
    }
    let (bed, done) = meanwhile(|store| copy_into(&other.store(), store));
    check(&bed, done, "was written over");
    let listed = bed.run(&["list"]).code(0);
    let listed = listed.out_has(&["one", "two", "three"]);
    assert!(!listed.out.contains("earlier") && !listed.out.contains("second"));
    bed.run(&["import", rescued(&bed).to_str().unwrap()])
        .code(0);
    bed.run(&["list"]).code(0).out_has(&["three", "second"]);
}

#[test]
fn other_runs_that_are_kept_meanwhile_are_no_loss() {
    let bed = Bed::new();
    let child = bed.start(&["run", "os.pipe@1", "--passes", PASSES, "--label", "second"]);
    for label in ["a", "b", "c"] {
        bed.replay(label, "1,2");
    }
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(0);
    bed.run(&["list"])
        .code(0)
        .out_has(&["a", "b", "c", "second"]);
}

#[test]
fn of_a_duel_what_was_written_is_named_where_the_other_side_could_not_be() {
    let bed = Bed::new();
    std::fs::create_dir(bed.path().join("sub")).unwrap();
    let sides = ["--a", "dir=.", "--b", "dir=sub", "--label", "d"];
    let child = bed.start(&[&["duel", "os.pipe@1", "--passes", "6"], &sides[..]].concat());
    let id = || {
        let text = bed.run(&["export", "d-b"]).out;
        let run: serde_json::Value = serde_json::from_str(&text).ok()?;
        run["run"]["meta"]["id"].as_str().map(str::to_owned)
    };
    eventually(60, || id().is_some());
    let in_the_way = format!("kurabe-rescued-{}.json", id().unwrap());
    std::fs::write(bed.path().join(&in_the_way), "mine").unwrap();
    remove_with_log(&bed.store());
    let done: Done = child.wait_with_output().unwrap().into();
    let names = bed.left_behind();
    let written = names
        .iter()
        .find(|name| name.starts_with("kurabe-rescued-") && **name != in_the_way);
    let written = written.unwrap_or_else(|| panic!("{names:?} {done:?}"));
    done.code(4)
        .err_has(&[&in_the_way, "File exists", "not all of it", written]);
    let left = std::fs::read(bed.path().join(&in_the_way)).unwrap();
    assert_eq!(left, b"mine");
}

#[test]
fn where_the_store_is_lost_files_of_jobs_are_settled_and_what_stays_is_said() {
    let bed = Bed::new();
    bed.replay("earlier", "1");
    let file = bed.path().join("t");
    let named = format!("--filename={}", file.display());
    let job = [
        "fio",
        "--name=j",
        "--rw=write",
        "--size=1m",
        "--bs=4k",
        "--unlink=1",
    ];
    let long = ["--time_based", "--runtime=3", &named];
    let child = bed.start(&[&job[..], &long].concat());
    let work_dir = || {
        let names = bed.left_behind();
        let name = names.iter().find(|name| name.starts_with("kurabe-work-"))?;
        Some(bed.path().join(name))
    };
    eventually(60, || {
        work_dir().is_some_and(|dir| std::fs::remove_file(dir.join(".kurabe-work")).is_ok())
    });
    eventually(60, || file.exists());
    remove_with_log(&bed.store());
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(4)
        .err_has(&["was removed", "somebody removed its marker", "by hand"]);
    assert!(!file.exists(), "the job unlinks it");
    std::fs::remove_dir_all(work_dir().unwrap()).unwrap();
}

#[test]
fn neither_the_store_nor_what_lies_beside_it_is_a_file_to_measure_on_before_anything_is_opened() {
    let bed = Bed::new();
    let job = ["fio", "--name=j", "--rw=write", "--size=8k", "--bs=4k"];
    for end in ["", "-wal", "-shm"] {
        let path = format!("{}{end}", bed.store().display());
        let file = format!("--filename={path}");
        let done = bed.run(&[&job[..], &[file.as_str()]].concat());
        done.code(2).err_has(&["it is the store", "hint:"]);
        assert!(!bed.store().exists(), "{path}");
    }
    // A file of ours has the store asked about it; the store behind it is not opened beside that.
    let ours = format!("--filename={}", bed.path().join("ours").display());
    bed.run(&[&job[..], &[ours.as_str()]].concat()).code(0);
    let both = format!("{ours}:{}", bed.store().display());
    let before = std::fs::read(bed.store()).unwrap();
    let done = bed.run(&[&job[..], &[both.as_str()]].concat());
    done.code(2).err_has(&["it is the store"]);
    assert_eq!(std::fs::read(bed.store()).unwrap(), before);
}
