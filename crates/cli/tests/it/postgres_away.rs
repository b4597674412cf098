//! A PostgreSQL server that is killed while a run goes on.

use crate::bed::{Bed, eventually};
use crate::postgres::Server;
use serde_json::Value;
use std::process::{Child, Output};
use std::time::Duration;

/// Starts rounds of half a second, and waits until some are kept.
fn begun(bed: &Bed, server: &Server, command: &[&str]) -> Child {
    let url = server.socket("shop");
    let more = ["--db", &url, "--set", "db.*.table_size=1000"];
    let child = bed.start(&[command, &more].concat());
    eventually(60, || bed.rounds() > 1);
    child
}

/// Why rounds failed, and whether the last one did not.
fn failures(bed: &Bed) -> (Vec<String>, usize, bool) {
    let text = bed.run(&["export", "latest"]).code(0).out;
    let run = serde_json::from_str::<Value>(&text).unwrap();
    let rounds = run["run"]["rounds"].as_array().unwrap();
    let failed = |round: &Value| Some(round["outcome"]["failed"].as_object()?.clone());
    let whys = rounds.iter().filter_map(failed);
    let whys: Vec<String> = whys.map(|why| Value::Object(why).to_string()).collect();
    let last = rounds.last().unwrap();
    (whys, rounds.len(), failed(last).is_none())
}

fn ended(child: Child) -> (Output, String) {
    let done = child.wait_with_output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    (done, said)
}

/// A server that is killed while this goes on, and comes back.
fn is_measured_on(test: &str, command: &[&str]) {
    let Some(server) = Server::start(test, &[]) else {
        return;
    };
    let bed = Bed::new();
    let child = begun(&bed, &server, command);
    server.kill();
    // Long enough for every further round to fail, if any was tried.
    std::thread::sleep(Duration::from_secs(3));
    eventually(60, || server.up());
    let (done, said) = ended(child);
    let (whys, rounds, ends_well) = failures(&bed);
    assert!(ends_well, "{whys:?} {said}");
    assert!((1..3).contains(&whys.len()), "{whys:?} of {rounds}: {said}");
    assert!(rounds >= whys.len() + 3, "{whys:?} of {rounds}: {said}");
    assert!(whys[0].contains("postgres://"), "{whys:?}");
    for words in ["waiting for up to", "is there again after"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(done.status.code().is_some(), "{done:?}");
    let left = "SELECT to_regclass('sbtest1') IS NULL";
    assert_eq!(server.ask("shop", left), "t");
}

#[test]
fn a_server_that_is_killed_and_comes_back_is_measured_on() {
    let run = ["run", "db.oltp-read-write", "--passes", "7"];
    let more = ["--copies", "2", "--set", "db.*.time=500ms"];
    is_measured_on("a_server_that_is_killed", &[run, more].concat());
}

#[test]
fn a_server_that_is_killed_and_comes_back_is_soaked_on() {
    let soak = ["soak", "db.oltp-read-write", "--for", "30s"];
    let more = ["--copies", "2", "--window", "100ms"];
    is_measured_on("a_server_that_is_killed", &[soak, more].concat());
}

#[test]
fn a_server_that_does_not_come_back_is_given_up_with_the_reason() {
    let Some(server) = Server::start("a_server_that_does_not_come_back", &[]) else {
        return;
    };
    let bed = Bed::new();
    let began = sys::clock::monotonic();
    let args = ["run", "db.oltp-read-write", "--full", "--budget", "20s"];
    let more = ["--set", "db.*.time=500ms"];
    let child = begun(&bed, &server, &[&args[..], &more].concat());
    server.kill();
    let (done, said) = ended(child);
    assert!(sys::clock::monotonic() - began < 40_000_000_000, "{said}");
    assert_ne!(done.status.code(), None);
    let (whys, _, ends_well) = failures(&bed);
    assert!(!ends_well && whys.len() < 4, "{whys:?}");
    let last = whys.last().unwrap();
    assert!(
        last.contains("it was waited for") && last.contains("given up"),
        "{whys:?}"
    );
    assert!(said.contains("waiting for up to"), "{said}");
    assert!(said.contains("is given up"), "{said}");
}
