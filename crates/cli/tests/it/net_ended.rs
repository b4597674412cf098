//! `kurabe run net.tcp` with a peer of the test's own that is killed in the middle of a round, and may come back.

use crate::bed::{Bed, Done, eventually};
use crate::net_serve::Server;
use crate::net_token::kept;
use crate::password::readable;
use model::record::Outcome;
use std::process::{Child, Stdio};

/// A run of one copy with this server, from when the server was asked for a round.
fn under_way(bed: &Bed, server: &mut Server, args: &[&str]) -> Child {
    let (peer, token) = (server.peer(), server.token());
    let more = ["--copies", "1", "--peer", &peer];
    let mut command = bed.command(&[args, &more].concat());
    command.env("KURABE_TOKEN", token);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    server.says(" asks: ");
    child
}

#[test]
fn a_peer_that_is_killed_leaves_what_was_measured_on_the_page_and_in_no_estimate() {
    for test in ["net.tcp", "net.tcp-down"] {
        let bed = Bed::new();
        let mut server = Server::start(&bed, &[]);
        let long = ["--set", "net.tcp*.time=30s", "--set", "net.tcp*.omit=0s"];
        let args = ["run", test, "--passes", "1"];
        let child = under_way(&bed, &mut server, &[&args[..], &long].concat());
        sys::clock::sleep(2_500_000_000);
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        let done = Done::from(child.wait_with_output().unwrap()).code(4);
        assert!(done.says("of 30 s it had measured "), "{done:?}");
        let run = kept(&bed);
        let [round] = run.rounds.as_slice() else {
            panic!("{} rounds", run.rounds.len());
        };
        let Outcome::Failed(failure) = &round.outcome else {
            panic!("{:?}", round.outcome);
        };
        let told = round.partial.as_ref().unwrap();
        assert!(told.values["bytes_per_s"] > 1e6, "{told:?}");
        assert!(told.windows.len() >= 8, "{:?}", told.windows);
        assert!(told.notes.contains(&failure.to_string()), "{told:?}");
        let shown = bed.run(&["show", "latest", "--json"]).code(0).out;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let until_then = &shown["failed_rounds"][0]["until_then"]["bytes_per_s"];
        assert_eq!(until_then.as_f64(), Some(told.values["bytes_per_s"]));
        let metrics = shown["metrics"].as_array().unwrap();
        let has_value = |metric: &&serde_json::Value| {
            metric["rounds"]
                .as_array()
                .is_some_and(|rounds| !rounds.is_empty())
        };
        assert_eq!(metrics.iter().find(has_value), None);
    }
}

#[test]
fn a_peer_that_goes_in_the_first_round_is_waited_for() {
    let bed = Bed::new();
    let mut server = Server::start(&bed, &[]);
    let (token, port) = (server.token(), server.port.to_string());
    let file = bed.path().join("token");
    std::fs::write(&file, &token).unwrap();
    readable(&file, 0o600);
    let args = ["run", "net.tcp", "--passes", "2"];
    let short = ["--set", "net.tcp.time=1s", "--set", "net.tcp.omit=0s"];
    let child = under_way(&bed, &mut server, &[&args[..], &short].concat());
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    eventually(30, || bed.rounds() > 0);
    // It looks once a second.
    sys::clock::sleep(1_500_000_000);
    let again = ["net", "serve", "--port", &port, "--token-file", "token"];
    let _again = Server::of(bed.start(&again));
    Done::from(child.wait_with_output().unwrap())
        .code(0)
        .err_has(&["waiting for up to", "is there again after"])
        .out_says(&["net.tcp@1 1 of 2 ("]);
    let run = kept(&bed);
    let failed = run.rounds.iter().map(|one| one.failure().is_some());
    let failed: Vec<bool> = failed.collect();
    assert_eq!(failed, [true, false], "{:?}", run.rounds);
}
