//! One measurement at a time on a machine: who is refused, who is not, and that the lock dies with its holder.

use crate::bed::{Bed, Done, eventually, signal};
use serde_json::Value;
use std::process::{Child, Command, Stdio};

/// Long enough to be met by another one.
const LONG: [&str; 4] = ["run", "os.pipe", "--passes", "100"];
const SHORT: [&str; 4] = ["run", "os.pipe", "--passes", "1"];

/// Starts a run that goes on until it is ended, and waits until it measures and is kept.
fn measuring(bed: &Bed) -> Child {
    let before = runs(bed);
    let child = bed.start(&LONG);
    eventually(60, || runs(bed) > before);
    eventually(60, || bed.listed().len() > before);
    child
}

/// How many work directories there are, which are made by those who have the lock.
fn runs(bed: &Bed) -> usize {
    let left = bed.left_behind().into_iter();
    left.filter(|name| name.starts_with("kurabe-work-")).count()
}

fn end(mut child: Child) {
    signal(&child, "-KILL");
    child.wait().unwrap();
}

/// What the run `latest` says of others that measure.
fn alone(bed: &Bed) -> Value {
    let shown = bed.run(&["show", "latest", "--json"]).code(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    shown["run"]["host"]["limits"]["alone"].clone()
}

#[test]
fn the_second_is_told_who_measures_and_what_measures_nothing_real_is_not_refused() {
    let bed = Bed::new();
    let first = measuring(&bed);
    let pid = format!("process {} of user ", first.id());
    let told = [
        "another kurabe measures",
        &pid,
        "os.pipe --passes 100`",
        "started ",
        "hint: ",
    ];
    let refused = |args: &[&str]| bed.run(args).code(4).err_has(&told);
    refused(&SHORT);
    refused(&["run", "selftest.sleep", "os.pipe", "--passes", "1"]);
    refused(&["soak", "os.pipe", "--for", "20s"]);
    refused(&["duel", "os.pipe", "--a-cmd", "true", "--b-cmd", "true"]);
    bed.run(&["run", "selftest.replay", "--passes", "1"])
        .code(0);
    bed.run(&[&SHORT[..], &["--dry-run"]].concat()).code(0);
    bed.run(&[
        "fio",
        "--name=j",
        "--ioengine=null",
        "--size=1M",
        "--rw=read",
    ])
    .code(0);
    // Of those that were refused nothing is kept.
    assert_eq!(bed.listed().len(), 3);
    end(first);
}

#[test]
fn a_run_that_is_gone_on_with_asks_too_and_a_killed_one_holds_nothing() {
    let bed = Bed::new();
    end(measuring(&bed));
    let second = measuring(&bed);
    bed.run(&["run", "--resume", "latest~1"])
        .code(4)
        .err_has(&["another kurabe measures"]);
    end(second);
    bed.run(&SHORT).code(0);
    // Who has a lock of one's own cannot say that nobody else measured.
    let why = alone(&bed)["missing"].as_str().unwrap().to_owned();
    assert!(why.contains("KURABE_LOCK"), "{why}");
}

#[test]
fn the_second_waits_for_the_first_where_it_is_told_to() {
    let bed = Bed::new();
    let first = measuring(&bed);
    let waits =
        |time: &str| bed.looking(&["run", "os.pipe", "--passes", "1", "--wait-quiet", time]);
    let who = format!("another kurabe measures: process {} of user ", first.id());
    let in_vain: Done = waits("2s").output().unwrap().into();
    let still = format!("measure: waited 2 s, and still {who}");
    in_vain.code(4).err_has(&["waiting, 2 s at most: ", &still]);
    let mut second = waits("10s");
    let second = second.stdout(Stdio::piped()).stderr(Stdio::piped());
    let second = second.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(runs(&bed), 1, "it waits");
    end(first);
    // How soon it is quiet then is not ours to say.
    eventually(90, || runs(&bed) == 2 || has_ended(&second));
    let done: Done = second.wait_with_output().unwrap().into();
    assert!(matches!(done.code, Some(0 | 4)), "{done:?}");
    let done = done.err_has(&[&who]);
    assert!(!done.err.contains("and still"), "{done:?}");
    // Waiting is a part of the budget.
    let args = ["run", "os.pipe", "--wait-quiet", "5m", "--budget", "60s"];
    let refused: Done = bed.looking(&args).output().unwrap().into();
    refused
        .code(2)
        .err_has(&["waiting is a part of it", "hint: a larger `--budget`"]);
}

#[test]
fn a_machine_has_one_lock_for_everybody() {
    let bed = Bed::new();
    let command = |bed: &Bed, args: &[&str]| {
        let mut command: Command = bed.command(args);
        command
            .env_remove("KURABE_LOCK")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    // Somebody may be measuring here in earnest.
    let mut first = None;
    for _ in 0..300 {
        let mut child = command(&bed, &LONG).spawn().unwrap();
        eventually(60, || runs(&bed) > 0 || has_ended(&child));
        if runs(&bed) > 0 {
            first = Some(child);
            break;
        }
        child.wait().unwrap();
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    let first = first.expect("nobody measures for minutes");
    let other = Bed::new();
    let done: Done = command(&other, &SHORT).output().unwrap().into();
    let pid = format!("process {} of user ", first.id());
    done.code(4).err_has(&["another kurabe measures", &pid]);
    end(first);
}

fn has_ended(child: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_none_or(|rest| rest.starts_with('Z'))
}

pub(crate) mod root {
    use super::*;
    use crate::bed::program;

    #[test]
    #[ignore = "root: makes a network namespace"]
    fn who_does_not_see_the_lock_of_the_machine_measures_and_says_so() {
        let bed = Bed::new();
        let plain = bed.command(&SHORT);
        let mut command = program("unshare");
        let set = plain.get_envs().filter(|(name, _)| *name != "KURABE_LOCK");
        command
            .arg("-n")
            .arg(plain.get_program())
            .args(plain.get_args())
            .current_dir(bed.path())
            .env_clear()
            .envs(set.filter_map(|(name, value)| Some((name, value?))));
        let done: Done = command.output().unwrap().into();
        done.code(0);
        let why = alone(&bed)["missing"].as_str().unwrap().to_owned();
        assert!(why.contains("network namespace"), "{why}");
    }
}
