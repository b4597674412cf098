//! What an owner does to kept runs: removes them, and calls them by names. Nothing goes that was not agreed to.

use crate::bed::{Bed, Done, eventually, signal};
use model::record::End;
use std::process::Child;
use store::{RunLine, Store};

/// What the store holds, as the list shows it.
fn kept(bed: &Bed) -> String {
    bed.run(&["list"]).code(0).out
}

#[test]
fn runs_are_removed_where_that_is_agreed_to_beforehand() {
    let bed = Bed::new();
    for label in ["one", "two", "three"] {
        bed.replay(label, "1,2,3");
    }
    bed.run(&["rm", "one", "latest", "one", "--yes"])
        .code(0)
        .err_has(&["one", "three", "selftest.replay", "removed 2 runs"]);
    let left = kept(&bed);
    assert!(left.contains("two") && bed.listed().len() == 1, "{left}");
    bed.run(&["--lang", "ja", "rm", "two", "--yes"])
        .code(0)
        .err_has(&["1 件の測定を削除しました"]);
    assert_eq!(kept(&bed), "");
}

#[test]
fn where_nobody_can_answer_nothing_is_removed() {
    let bed = Bed::new();
    bed.replay("one", "1,2,3");
    bed.run(&["rm", "one"])
        .code(2)
        .err_has(&["one", "nothing was removed", "hint: `--yes`"]);
    assert_eq!(bed.listed().len(), 1);
}

#[test]
fn on_a_terminal_the_answer_decides() {
    let bed = Bed::new();
    bed.replay("one", "1,2,3");
    for no in ["n\n", "\n", "yesterday\n"] {
        let done = bed.on_terminal(&["rm", "one"], no).code(0);
        let done = done.out_has(&["one", "remove this run for good? [y/N]"]);
        done.out_has(&["nothing was removed"]);
        assert_eq!(bed.listed().len(), 1);
    }
    let done = bed.on_terminal(&["rm", "one"], "y\n").code(0);
    done.out_has(&["removed 1 run"]);
    assert_eq!(kept(&bed), "");
}

#[test]
fn a_store_that_is_put_in_place_before_the_answer_stays_as_it_is() {
    let bed = Bed::new();
    bed.replay("one", "1,2,3");
    let backup = bed.path().join("backup");
    std::fs::copy(bed.store(), &backup).unwrap();
    bed.replay("two", "1,2,3");
    let restore = || {
        let new = bed.path().join("new");
        std::fs::copy(&backup, &new).unwrap();
        std::fs::rename(&new, bed.store()).unwrap();
    };
    bed.asked(&["rm", "one"], restore, "y\n")
        .code(4)
        .out_has(&["was replaced by another meanwhile; nothing was removed"]);
    assert_eq!(
        std::fs::read(bed.store()).unwrap(),
        std::fs::read(&backup).unwrap()
    );
    for end in ["wal", "shm"] {
        let beside = bed.store().with_extension(format!("db-{end}"));
        assert!(!beside.exists(), "{beside:?}");
    }
    bed.run(&["show", "one"]).code(0);
    assert_eq!(bed.listed().len(), 1);
    let remove = || std::fs::remove_file(bed.store()).unwrap();
    bed.asked(&["rm", "one"], remove, "y\n")
        .code(2)
        .out_has(&["nothing was removed", "it does not exist"]);
    assert!(!bed.store().exists(), "none is made for it");
}

#[test]
fn one_slip_among_the_names_removes_nothing() {
    let bed = Bed::new();
    bed.replay("one", "1,2,3");
    bed.run(&["rm", "one", "twoo", "--yes"])
        .code(2)
        .err_has(&["`twoo`", "nearest: `one`"]);
    assert_eq!(bed.listed().len(), 1);
    let empty = Bed::new();
    empty
        .run(&["rm", "one", "--yes"])
        .code(2)
        .err_has(&["does not exist"]);
    assert!(!empty.store().exists(), "no store is made for it");
}

#[test]
fn of_several_runs_of_a_name_the_latest_is_meant_and_that_is_said() {
    let bed = Bed::new();
    for series in ["1,2,3", "2,3,4", "3,4,5"] {
        bed.replay("base", series);
    }
    bed.run(&["rm", "base", "--yes"]).code(0).err_has(&[
        "3 runs are called `base`",
        "the others stay",
        "removed 1 run",
    ]);
    assert_eq!(bed.listed().len(), 2);
}

#[test]
fn a_side_of_a_duel_goes_with_the_other() {
    let bed = Bed::new();
    let args = [
        "duel",
        "selftest.replay",
        "--label",
        "d",
        "--passes",
        "6",
        "--json",
    ];
    bed.run(&[&args[..], &["--b", "set=selftest.replay.series=2,3"]].concat())
        .code(0);
    bed.replay("other", "1,2,3");
    bed.run(&["rm", "d-b", "--yes"]).code(0).err_has(&[
        "d-a",
        "d-b",
        "removed 2 runs",
        "`d-a` is the other side of the duel",
    ]);
    let left = kept(&bed);
    assert!(left.contains("other") && bed.listed().len() == 1, "{left}");
}

#[test]
fn a_run_that_is_being_measured_stays_and_one_that_was_killed_goes() {
    let bed = Bed::new();
    let child = bed.start(&[
        "run", "os.pipe", "--copies", "1", "--budget", "60s", "--quiet",
    ]);
    eventually(20, || {
        bed.run(&["show", "latest", "--format", "csv"]).code == Some(0)
    });
    bed.run(&["rm", "latest", "--yes"])
        .code(2)
        .err_has(&["it is being measured", "hint: end it with Ctrl-C"]);
    bed.run(&["report", "latest", "-o", "r.html"])
        .code(2)
        .err_has(&["publish run `", "it is being measured", "hint: wait"]);
    assert!(!bed.path().join("r.html").exists());
    bed.run(&["label", "latest", "named meanwhile"]).code(0);
    signal(&child, "-KILL");
    child.wait_with_output().unwrap();
    assert!(kept(&bed).contains("named meanwhile"));
    bed.run(&["rm", "latest", "--yes"]).code(0);
    assert_eq!(kept(&bed), "");
    // What it left on the disk is still found.
    bed.run(&["clean"]).code(0).err_has(&["removed"]);
    assert_eq!(bed.left_behind(), [""; 0]);
}

/// A run of some tenths of a second, and the store that it is kept in, which has another run.
fn short_run(bed: &Bed) -> (Child, Store) {
    bed.replay("earlier", "1,2,3");
    let store = Store::open(&bed.store()).unwrap();
    let run = ["run", "selftest.replay", "--passes", "20", "--label", "new"];
    (bed.start(&run), store)
}

#[test]
fn a_run_that_is_open_in_the_store_holds_its_work_directory() {
    for _ in 0..3 {
        let bed = Bed::new();
        let (mut child, store) = short_run(&bed);
        let open = || {
            let found = store.latest(1).unwrap().pop();
            found.filter(|run| run.end == End::Open)
        };
        let mut seen = 0;
        while child.try_wait().unwrap().is_none() {
            if let Some(run) = open() {
                let dir = engine::workdir::place(bed.path(), &run.id);
                let is_seen = engine::workdir::may_be_in_use(&dir) || open().is_none();
                assert!(is_seen, "it would be taken for one that was killed");
                seen += 1;
            }
        }
        assert!(seen > 0);
        assert!(child.wait_with_output().unwrap().status.success());
    }
}

#[test]
fn a_run_that_is_removed_as_soon_as_it_is_over_is_shown_all_the_same() {
    for _ in 0..3 {
        let bed = Bed::new();
        let (mut child, store) = short_run(&bed);
        let is_over = |run: &RunLine| run.label.as_deref() == Some("new") && run.end != End::Open;
        while child.try_wait().unwrap().is_none() {
            let run = store.latest(1).unwrap().pop().filter(is_over);
            if let Some(run) = run {
                store.remove(&[run]).unwrap();
                break;
            }
        }
        let done: Done = child.wait_with_output().unwrap().into();
        done.code(0).out_has(&["new", "selftest.replay"]);
        bed.run(&["show", "new"]).code(2);
    }
}

#[test]
fn a_name_is_given_and_taken_away() {
    let bed = Bed::new();
    bed.replay("one", "1,2,3");
    bed.run(&["label", "one", "zwei"])
        .code(0)
        .err_has(&["is called `zwei`"]);
    bed.run(&["show", "one"]).code(2);
    bed.run(&["show", "zwei"]).code(0);
    bed.replay("one", "1,2,3");
    bed.run(&["label", "zwei", "one"])
        .code(0)
        .err_has(&["note: 2 runs are called so"]);
    bed.run(&["--lang", "ja", "label", "latest~1", "--none"])
        .code(0)
        .err_has(&["名前を外しました"]);
    assert_eq!(kept(&bed).matches("one").count(), 1);
}

#[test]
fn a_name_that_is_the_short_id_of_another_run_removes_neither() {
    let bed = Bed::new();
    bed.replay("one", "1,2,3");
    bed.replay("two", "1,2,3");
    let two = &bed.listed()[0];
    let (short, id) = (two["short"].as_str().unwrap(), two["id"].as_str().unwrap());
    bed.run(&["label", "one", short])
        .code(0)
        .err_has(&["note: the id of run", id]);
    let one = bed.listed()[1]["id"].as_str().unwrap().to_owned();
    bed.run(&["rm", short, "--yes"]).code(2).err_has(&[
        &one,
        id,
        "nothing was removed",
        "hint: type more",
    ]);
    assert_eq!(bed.listed().len(), 2);
    bed.run(&["rm", id, "--yes"]).code(0);
    bed.run(&["rm", short, "--yes"]).code(0);
    assert_eq!(kept(&bed), "");
}

#[test]
fn a_name_has_the_limits_of_the_option_that_gives_one() {
    let bed = Bed::new();
    bed.replay("one", "1,2,3");
    let long = "x".repeat(81);
    for bad in [&long, "latest", "-", "a,b", " "] {
        bed.run(&["label", "one", bad]).code(2);
    }
    bed.run(&["label", "one"]).code(2);
    bed.run(&["label", "one", "two", "--none"]).code(2);
    bed.run(&["label", "one", &long[1..]]).code(0);
    bed.run(&["label", "nobody", "x"]).code(2);
}
