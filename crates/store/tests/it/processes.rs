//! Several processes at one store, and the death of one of them in the middle.
//!
//! The children are this test binary itself, told by an environment variable to be a writer; each test is its own
//! child, so that none needs a second program.

#![expect(
    clippy::disallowed_methods,
    reason = "the test must start processes that it can kill; sys is not among the store's arrows"
)]

use crate::fixture::{host, meta, plan, round};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use store::Store;

/// Names the store that a child writes to; set in children alone.
const STORE: &str = "KURABE_TEST_STORE";
/// Names the run that a child writes.
const RUN: &str = "KURABE_TEST_RUN";
/// How many rounds a child writes.
const ROUNDS: &str = "KURABE_TEST_ROUNDS";

/// How many writers there are at once, and how many rounds each keeps.
const WRITERS: usize = 4;
const EACH: u32 = 60;

/// Starts the test `name` of this binary as a child that keeps `rounds` rounds under `run`.
fn child(name: &str, store: &Path, run: &str, rounds: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(STORE, store)
        .env(RUN, run)
        .env(ROUNDS, rounds.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// In a child: writes, saying the number of each round once it is kept, and returns true. In a parent: false.
fn was_child() -> bool {
    let Some(store) = std::env::var_os(STORE) else {
        return false;
    };
    let run = std::env::var(RUN).unwrap();
    let rounds: u32 = std::env::var(ROUNDS).unwrap().parse().unwrap();
    let store = Store::open(Path::new(&store)).unwrap();
    store.begin(&meta(&run, None, 1), &plan(), &host()).unwrap();
    let mut out = std::io::stdout();
    for seq in 1..=rounds {
        store.append(&run, &round(seq, f64::from(seq))).unwrap();
        writeln!(out, "kept {seq}").unwrap();
        out.flush().unwrap();
    }
    true
}

fn number(line: &str) -> Option<u32> {
    line.strip_prefix("kept ")?.parse().ok()
}

#[test]
fn every_round_that_was_kept_survives_a_kill() {
    if was_child() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    for victim in 1..=5_u32 {
        let run = format!("run-{victim}");
        let name = "processes::every_round_that_was_kept_survives_a_kill";
        let mut writer = child(name, &path, &run, 100_000);
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let enough = victim * 13;
        let reached = lines.find(|line| number(line.as_ref().unwrap()) == Some(enough));
        assert!(reached.is_some(), "the child ended by itself");
        writer.kill().unwrap();
        let status = writer.wait().unwrap();
        assert!(!status.success());
        let said = lines.filter_map(|line| number(&line.ok()?)).last();
        let last = said.unwrap_or(enough);
        let store = Store::open(&path).unwrap();
        let kept = store.load(&run).unwrap();
        let count = u32::try_from(kept.rounds.len()).unwrap();
        // The round in flight may be kept without the child having had the time to say so.
        assert!(
            (last..=last + 1).contains(&count),
            "said {last}, kept {count}"
        );
        for (seq, kept) in (1..).zip(&kept.rounds) {
            assert_eq!(*kept, round(seq, f64::from(seq)));
        }
        assert!(count < 100_000, "the child was done before it was killed");
    }
}

#[test]
fn processes_that_write_and_read_at_once_lose_nothing() {
    if was_child() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // The store does not exist yet: the children race for its making, too.
    let path = dir.path().join("kurabe.db");
    let name = "processes::processes_that_write_and_read_at_once_lose_nothing";
    let mut writers: Vec<Child> = (0..WRITERS)
        .map(|index| child(name, &path, &format!("run-{index}"), EACH))
        .collect();
    let mut outputs: Vec<_> = writers
        .iter_mut()
        .map(|writer| writer.stdout.take().unwrap())
        .collect();
    drop(Store::open(&path).unwrap());
    let store = Store::open_read_only(&path).unwrap();
    while writers
        .iter_mut()
        .any(|writer| writer.try_wait().unwrap().is_none())
    {
        let anew = Store::open_read_only(&path).unwrap();
        for line in store.list().unwrap() {
            let least = usize::try_from(line.rounds).unwrap();
            let seen = store.load(&line.id).unwrap().rounds.len();
            assert!(seen >= least);
        }
        let later = Store::open_read_only(&path).unwrap();
        for line in anew.list().unwrap() {
            let least = usize::try_from(line.rounds).unwrap();
            assert!(later.load(&line.id).unwrap().rounds.len() >= least);
        }
    }
    for (writer, output) in writers.iter_mut().zip(&mut outputs) {
        let mut said = String::new();
        output.read_to_string(&mut said).unwrap();
        assert!(writer.wait().unwrap().success(), "{said}");
    }
    for index in 0..WRITERS {
        let kept = store.load(&format!("run-{index}")).unwrap();
        let expect: Vec<_> = (1..=EACH).map(|seq| round(seq, f64::from(seq))).collect();
        assert_eq!(kept.rounds, expect);
    }
}
