//! Store files that are not what they should be.

use crate::bed::Bed;

#[test]
fn a_file_that_is_no_store_is_refused_and_not_touched() {
    let bed = Bed::new();
    for content in ["this is no database", "SQLite format 3\0 and then rubbish"] {
        std::fs::write(bed.store(), content).unwrap();
        for args in [&["list"][..], &["run", "selftest.replay"], &["clean"]] {
            bed.run(args).code(4).err_has(&["kurabe.db", "hint:"]);
        }
        assert_eq!(std::fs::read(bed.store()).unwrap(), content.as_bytes());
    }
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn a_damaged_store_is_refused_and_not_touched() {
    let bed = Bed::new();
    bed.replay("r", "1");
    let mut bytes = std::fs::read(bed.store()).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(bed.store(), &bytes).unwrap();
    bed.run(&["run", "selftest.replay"])
        .code(4)
        .err_has(&["damaged"]);
    assert_eq!(std::fs::read(bed.store()).unwrap(), bytes);
}

#[test]
fn a_store_that_cannot_be_made_is_said_before_measuring() {
    let bed = Bed::new();
    std::fs::write(bed.path().join("plain"), "").unwrap();
    let args = ["run", "selftest.replay", "--store", "plain/kurabe.db"];
    bed.run(&args)
        .code(2)
        .err_has(&["plain/kurabe.db", "no directory", "hint:"]);
    assert_eq!(bed.left_behind(), ["plain"]);
}

#[test]
fn a_store_that_is_named_in_a_directory_that_is_not_there_is_refused_and_nothing_is_made() {
    let bed = Bed::new();
    let run = ["run", "selftest.replay", "--passes", "1"];
    let option = ["--store", "typo/deep/kurabe.db"];
    bed.run(&[&run[..], &option].concat()).code(2).err_has(&[
        "there is no directory `typo/deep`",
        "hint: `mkdir -p typo/deep`",
    ]);
    let variable = |value: &str| -> crate::bed::Done {
        let mut command = bed.command(&run);
        command.env("KURABE_STORE", value);
        command.output().unwrap().into()
    };
    variable("typo/kurabe.db")
        .code(2)
        .err_has(&["there is no directory `typo`"]);
    assert_eq!(bed.left_behind(), [""; 0]);
    variable("here.db").code(0);
    // The place that nobody named is made.
    let home = bed.path().join("home/somebody");
    let mut command = bed.command(&run);
    command.env_remove("KURABE_STORE").env("HOME", &home);
    let done: crate::bed::Done = command.output().unwrap().into();
    done.code(0);
    assert!(home.join(".local/share/kurabe/kurabe.db").exists());
}

#[test]
fn without_a_home_the_user_is_told_what_to_do() {
    let bed = Bed::new();
    let done: crate::bed::Done = bed
        .command(&["run", "selftest.replay"])
        .env_remove("KURABE_STORE")
        .output()
        .unwrap()
        .into();
    done.code(2).err_has(&["XDG_DATA_HOME", "--store"]);
}

#[test]
fn two_runs_at_once_share_a_store() {
    let bed = Bed::new();
    let children: Vec<_> = (0..4)
        .map(|_| bed.start(&["run", "selftest.replay", "--passes", "6"]))
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(bed.listed().len(), 4);
}
