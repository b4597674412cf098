//! The look before the first round: who is busy is named at once and kept with the run, and waited for where that is
//! asked for. What a quiet machine is told, no test here says: this one may be busy with other tests.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start what disturbs a measurement"
)]

use crate::bed::{Bed, Done, eventually, signal};
use crate::faults::rounds_kept;
use crate::root::CpuQuota;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The name by which the look knows the busy program.
const NAME: &str = "kurabe-spins";

/// Busy processes of one name: as many as get more of the CPUs than anything that tests do beside them.
struct Spinners([Child; 3]);

impl Spinners {
    fn start(bed: &Bed) -> Self {
        let shell = bed.path().join(NAME);
        std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        let script = "while :; do :; done";
        Self([(); 3].map(|()| Command::new(&shell).args(["-c", script]).spawn().unwrap()))
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A run of a test that uses the machine: of half a second and more, so that its look is of some tenths of a second.
const RUN: [&str; 4] = ["run", "os.pipe", "--passes", "6"];

fn looks(bed: &Bed, args: &[&str]) -> Done {
    bed.looking(args).output().unwrap().into()
}

fn kept(bed: &Bed) -> Value {
    let shown = bed.run(&["show", "--json"]).code(0).out;
    serde_json::from_str(&shown).unwrap()
}

fn kinds(run: &Value) -> Vec<&str> {
    let seen = run["run"]["seen"].as_array().unwrap().iter();
    seen.map(|seen| seen["kind"].as_str().unwrap()).collect()
}

#[test]
fn a_busy_program_is_named_at_once_and_on_the_page() {
    let bed = Bed::new();
    let spinners = Spinners::start(&bed);
    let done = looks(&bed, &RUN).code(0);
    drop(spinners);
    let named = format!("`{NAME}` at ");
    let notes = done
        .err
        .lines()
        .filter(|line| line.starts_with("note: before the first round: "));
    assert!(
        notes.clone().any(|line| line.contains(&named)),
        "{}",
        done.err
    );
    assert!(
        notes.clone().any(|line| line.contains("--wait-quiet 5m")),
        "{}",
        done.err
    );
    done.out_says(&[". Before it began: ", &named]);
    let run = kept(&bed);
    assert!(kinds(&run).contains(&"others"), "{run}");
    let seen = &run["run"]["seen"][0];
    let programs = seen["programs"].as_array().unwrap().iter();
    let spins = programs.filter(|program| program["name"] == NAME);
    let shares: Vec<f64> = spins
        .map(|program| program["cpu_share"].as_f64().unwrap())
        .collect();
    // All three together, and not more than all of them could use.
    assert!(
        shares.len() == 1 && (0.05..3.3).contains(&shares[0]),
        "{seen}"
    );
}

#[test]
fn nothing_is_said_where_progress_is_not_wanted_and_nothing_is_seen_where_nobody_looks() {
    let bed = Bed::new();
    let spinners = Spinners::start(&bed);
    let quiet = looks(&bed, &["run", "os.pipe", "--passes", "6", "--quiet"]).code(0);
    assert!(
        !quiet.err.contains("before the first round"),
        "{}",
        quiet.err
    );
    assert!(kinds(&kept(&bed)).contains(&"others"));
    let blind = looks(&bed, &["run", "os.pipe", "--passes", "1", "--no-look"]).code(0);
    assert!(
        !blind.err.contains("before the first round"),
        "{}",
        blind.err
    );
    assert_eq!(kept(&bed)["run"]["seen"], Value::Null);
    // What plays a known series has nothing to look at, and waits for nobody.
    let replay = [
        "run",
        "selftest.replay",
        "--passes",
        "6",
        "--wait-quiet",
        "1s",
    ];
    let replayed = looks(&bed, &replay).code(0);
    drop(spinners);
    assert!(
        !replayed.out.contains("Before it began"),
        "{}",
        replayed.out
    );
    assert_eq!(kept(&bed)["run"]["seen"], Value::Null);
}

#[test]
fn what_never_becomes_quiet_is_not_measured_and_nothing_is_kept() {
    let bed = Bed::new();
    let spinners = Spinners::start(&bed);
    for command in [
        &["run", "os.pipe", "--wait-quiet", "2s"][..],
        &["soak", "os.pipe", "--for", "10s", "--wait-quiet", "1s"],
    ] {
        let done = looks(&bed, command).code(4);
        let within = format!(
            "it did not become quiet within {}",
            ["2 s", "1 s"][usize::from(command[0] == "soak")]
        );
        done.err_has(&[&within, NAME, "nothing was measured", "hint: stop it"]);
    }
    drop(spinners);
    assert_eq!(bed.run(&["list"]).out, "");
    assert_eq!(bed.left_behind(), [NAME]);
}

#[test]
fn who_waits_is_told_for_what_as_long_as_it_lasts() {
    let bed = Bed::new();
    let spinners = Spinners::start(&bed);
    let done = looks(&bed, &["run", "os.pipe", "--wait-quiet", "7s"]).code(4);
    drop(spinners);
    // Two looks of three seconds fit; the first one is followed by a line.
    let lines = done
        .err
        .lines()
        .filter(|line| line.starts_with("waiting for quiet, "));
    assert_eq!(lines.count(), 1, "{}", done.err);
    done.err_has(&["more at most: ", NAME]);
}

#[test]
fn who_stops_the_look_has_measured_nothing() {
    let bed = Bed::new();
    let spinners = Spinners::start(&bed);
    let mut command = bed.looking(&["run", "os.pipe", "--wait-quiet", "5m"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting for quiet, "), "{line}");
    signal(&child, "-INT");
    line.clear();
    said.read_to_string(&mut line).unwrap();
    drop(spinners);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(line, "error: interrupted: nothing was measured\n");
    assert_eq!(bed.run(&["list"]).out, "");
}

#[test]
fn a_run_that_goes_on_looks_again_and_keeps_both() {
    let bed = Bed::new();
    let spinners = Spinners::start(&bed);
    let mut command = bed.looking(&[
        "run", "os.pipe", "--passes", "7", "--label", "long", "--quiet",
    ]);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    eventually(60, || rounds_kept(&bed) > 0);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    looks(&bed, &["run", "--resume", "long", "--quiet"]).code(0);
    drop(spinners);
    let exported = bed.run(&["export"]).code(0).out;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    let looks = exported["run"]["meta"]["looks"].as_array().unwrap();
    assert_eq!(looks.len(), 2, "{looks:?}");
    assert!(
        looks
            .iter()
            .all(|look| look["noise"]["foreign_cpu_share"].as_f64() > Some(0.05))
    );
    assert_eq!(
        kinds(&kept(&bed))
            .iter()
            .filter(|kind| **kind == "others")
            .count(),
        1
    );
}

#[test]
fn files_for_which_there_is_no_room_are_told_before_anybody_writes_them() {
    let bed = Bed::new();
    let set = "storage.randread-4k.size=1000000G";
    let done = looks(
        &bed,
        &["run", "storage.randread-4k", "--set", set, "--passes", "1"],
    );
    done.err_has(&[
        "note: before the first round: room for ",
        "choose a place with more room with `--dir`",
    ]);
    let run = kept(&bed);
    assert!(
        kinds(&run).contains(&"little_space"),
        "{}",
        run["run"]["seen"]
    );
}

#[test]
fn workers_are_called_what_the_program_is_called() {
    let bed = Bed::new();
    let child = bed.start(&["run", "os.pipe", "--passes", "9", "--quiet"]);
    eventually(60, || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let read = |process: &Path, file| std::fs::read_to_string(process.join(file));
        let mut named = processes.map(|entry| entry.path()).filter(|process| {
            let cwd = std::fs::read_link(process.join("cwd"));
            let ours = cwd.is_ok_and(|cwd| cwd.starts_with(bed.path()));
            // One that is executed already.
            ours && read(process, "cmdline").is_ok_and(|line| line.contains("__worker"))
        });
        named.any(|process| read(&process, "comm").is_ok_and(|name| name == "kurabe\n"))
    });
    signal(&child, "-INT");
    child.wait_with_output().unwrap();
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let bed = Bed::new();
    for command in ["run", "soak", "duel"] {
        let args = [command, "os.pipe", "--no-look", "--wait-quiet", "5m"];
        looks(&bed, &args)
            .code(2)
            .err_has(&["--no-look", "--wait-quiet"]);
    }
}

#[test]
fn fio_looks_on_its_way_and_says_nothing() {
    let bed = Bed::new();
    let job = [
        "fio",
        "--name=a",
        "--ioengine=null",
        "--size=1m",
        "--rw=read",
    ];
    let spinners = Spinners::start(&bed);
    let done = bed.run(&job).code(0);
    drop(spinners);
    assert_eq!(done.err, "");
    let run = kept(&bed);
    assert!(run["run"]["seen"].is_array(), "{}", run["run"]["seen"]);
}

#[test]
fn doctor_ends_with_what_disturbs_now_and_what_helps() {
    let bed = Bed::new();
    let spinners = Spinners::start(&bed);
    let done = bed.run(&["doctor"]).code(0);
    drop(spinners);
    let (_, verdict) = done.out.split_once("\nverdict\n").unwrap();
    for words in ["will disturb a measurement:", NAME, "stop it"] {
        assert!(verdict.contains(words), "{words}: {verdict}");
    }
    let blind = bed.run(&["doctor", "--no-look"]).code(0);
    assert!(!blind.out.contains("verdict"), "{}", blind.out);
}

#[test]
#[ignore = "root: makes a control group"]
fn a_quota_is_told_before_the_first_round() {
    let bed = Bed::new();
    let quota = CpuQuota::new(0.5);
    let done = quota.run(&bed, &["--lang", "en", "run", "os.pipe", "--passes", "6"]);
    done.code(0)
        .err_has(&[
            "note: before the first round: quota of 0.5 CPUs; the figures are those of the quota",
        ])
        .out_says(&["Before it began: ", "quota of 0.5 CPUs"]);
    let run = kept(&bed);
    let seen = run["run"]["seen"].as_array().unwrap();
    let told = seen.iter().find(|seen| seen["kind"] == "quota").unwrap();
    assert_eq!(told["cpus"], 0.5);
}

/// Runs the bed's binary where nothing but it and `beside` is to be seen, which is started before it.
fn alone_with(bed: &Bed, beside: &str, args: &[&str]) -> Done {
    let script = format!("{beside} \"$@\"");
    let apart = [
        "unshare",
        "--pid",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        &script,
        "sh",
    ];
    // Behind an option it looks, as beds do not by themselves.
    let args = [&["--lang", "en"], args].concat();
    bed.behind(&apart, &args)
}

#[test]
#[ignore = "root: makes a process namespace"]
fn a_quiet_machine_is_told_nothing_of_programs() {
    let bed = Bed::new();
    let done = alone_with(&bed, "", &RUN).code(0);
    assert!(!done.err.contains("of a CPU"), "{}", done.err);
    assert!(!kinds(&kept(&bed)).contains(&"others"));
}

#[test]
#[ignore = "root: makes a process namespace"]
fn a_machine_that_becomes_quiet_is_measured_from_then_on() {
    let bed = Bed::new();
    std::os::unix::fs::symlink("/bin/sh", bed.path().join(NAME)).unwrap();
    let spins = format!("timeout 4 ./{NAME} -c 'while :; do :; done' &");
    let began = sys::clock::wall();
    let wait = ["run", "os.pipe", "--passes", "6", "--wait-quiet", "60s"];
    let done = alone_with(&bed, &spins, &wait).code(0);
    done.err_has(&["waiting for quiet, ", NAME]);
    let exported = bed.run(&["export"]).code(0).out;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    let meta = &exported["run"]["meta"];
    let waited = meta["looks"][0]["waited"].as_u64().unwrap();
    assert!(waited >= 3_000_000_000, "{waited}");
    assert!(
        meta["started"].as_u64().unwrap() >= began + waited,
        "{meta}"
    );
    assert!(!kinds(&kept(&bed)).contains(&"others"));
}
