//! Stores that are replaced, removed or written over while a run is kept in them: no round is lost.

use crate::bed::{Bed, Done, eventually};
use std::path::{Path, PathBuf};

/// What a run says and leaves whose store `happens` to meanwhile.
fn meanwhile(happens: impl Fn(&Path)) -> (Bed, Done) {
    let bed = Bed::new();
    bed.replay("earlier", "100,101");
    let args = ["run", "os.pipe@1", "--passes", "8", "--label", "second"];
    let child = bed.start(&args);
    let rounds = || {
        let args = ["show", "second", "--format", "csv-rounds"];
        bed.run(&args).out.lines().count()
    };
    eventually(60, || rounds() > 6);
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
    assert_eq!(passes.len(), 8, "{csv}");
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
        (rubbish, "was damaged meanwhile"),
    ] {
        let (bed, done) = meanwhile(harm);
        check(&bed, done, how);
    }
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
