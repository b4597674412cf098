//! `kurabe net serve` and `kurabe run net` with its token, over loopback: no other program is needed.

use crate::bed::{Bed, Done, eventually};
use crate::net_serve::Server;
use crate::password::{family, holds, is_worker, kept_nowhere, readable};
use crate::postgres;
use crate::servers::says;
use model::named::NamedKind;
use model::record::{Outcome, Run};
use std::process::Stdio;

/// Short rounds.
const SHORT: [&str; 4] = ["--set", "net.tcp*.time=1s", "--set", "net.tcp*.omit=0s"];

/// The binary with this token in its environment.
fn with_token(bed: &Bed, token: &str, args: &[&str]) -> Done {
    let mut command = bed.command(args);
    command.env("KURABE_TOKEN", token).output().unwrap().into()
}

pub(crate) fn kept(bed: &Bed) -> Run {
    let kept = bed.run(&["export", "latest"]).code(0).out;
    store::export::read(&kept).unwrap()
}

#[test]
fn every_test_of_the_network_runs_with_a_token_and_the_token_is_kept_nowhere() {
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
    let (peer, token) = (server.peer(), server.token());
    assert_eq!(token.len(), 32);
    let args = [
        "run", "net", "--copies", "1", "--passes", "1", "--peer", &peer,
    ];
    let done = with_token(&bed, &token, &[&args[..], &SHORT].concat()).code(0);
    let tests = [
        "net.connect",
        "net.rr",
        "net.rr-loaded",
        "net.rr-udp",
        "net.tcp",
        "net.tcp-down",
        "net.udp",
        "net.udp-down",
        "net.udp-max",
        "net.udp-max-down",
    ];
    says(&done, &tests);
    for text in [&done.out, &done.err] {
        assert!(!text.contains(&token), "{text}");
    }
    kept_nowhere(&bed, &[&token]);
    let run = kept(&bed);
    let mut found: Vec<&str> = run
        .rounds
        .iter()
        .map(|round| round.case.test.as_str())
        .collect();
    found.sort_unstable();
    assert_eq!(found, tests);
    for round in &run.rounds {
        let Outcome::Done(measured) = &round.outcome else {
            panic!("{}: {:?}", round.case, round.outcome);
        };
        let test = round.case.test.as_str();
        let of = |quantity: &str| measured.values.get(quantity).copied();
        if test.starts_with("net.tcp") || test.starts_with("net.udp") {
            assert!(of("bytes_per_s") > Some(1e6), "{test}");
            continue;
        }
        let (p50, p99) = (of("lat_ns_p50").unwrap(), of("lat_ns_p99").unwrap());
        assert!(p50 > 1000.0 && p99 >= p50, "{test}: {p50} {p99}");
        let (rate, mean) = (of("ops_per_s").unwrap(), of("lat_ns_mean").unwrap());
        assert!(
            (rate * mean / 1e9 - 1.0).abs() < 0.1,
            "{test}: {rate} of {mean} ns"
        );
        let loaded = [of("load_up_bytes_per_s"), of("load_down_bytes_per_s")];
        assert_eq!(
            loaded.iter().all(Option::is_some),
            test == "net.rr-loaded",
            "{test}"
        );
        assert_eq!(of("lost_share").is_some(), test == "net.rr-udp", "{test}");
        assert_eq!(measured.copies[0].allocations, 0, "{test}");
    }
    // The machine there, without its name.
    let named = &run.plan.named[0];
    assert_eq!((named.kind, &named.path), (NamedKind::TokenPeer, &peer));
    let facts: Vec<&str> = named.server.iter().map(|fact| fact.name.as_str()).collect();
    assert!(
        facts.starts_with(&["version"]) && facts.contains(&"kernel"),
        "{facts:?}"
    );
    let host = run.host.hostname.known().unwrap();
    let mut words = named.server.iter();
    let is_named = words.any(|fact| fact.value.split([' ', '.']).any(|word| word == host));
    assert!(!is_named, "{:?}", named.server);
    let said = server.stop();
    // The server printed it for its owner, once, and says it to nobody else.
    assert_eq!(said.matches(&token).count(), 1, "{said}");
    for words in [
        "it begins a run of ",
        "round trips of 1 B by UDP",
        " connections",
        "1 stream from here",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_server_and_a_peer_of_one_run_both_say_what_they_are() {
    let test = "a_server_and_a_peer_of_one_run_both_say_what_they_are";
    let Some(database) = postgres::Server::start(test, &[]) else {
        return;
    };
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
    let (peer, url) = (server.peer(), database.socket("shop"));
    let tests = ["run", "db.point-select", "net.rr", "--passes", "1"];
    let on = ["--db", &url, "--peer", &peer];
    let small = ["--set", "db.point-select.table_size=1000"];
    let args = [&tests[..], &on, &small].concat();
    with_token(&bed, &server.token(), &args).code(0);
    let run = kept(&bed);
    let kinds: Vec<NamedKind> = run.plan.named.iter().map(|named| named.kind).collect();
    assert_eq!(kinds, [NamedKind::Server, NamedKind::TokenPeer]);
    for named in &run.plan.named {
        let mut names = named.server.iter().map(|fact| fact.name.as_str());
        assert!(names.any(|name| name == "version"), "{named:?}");
    }
}

#[test]
fn without_the_token_nothing_is_measured_and_what_helps_is_said() {
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
    let (peer, token) = (server.peer(), server.token());
    let run = |args: &[&str]| bed.run(&[&["run", "--passes", "1", "--peer", &peer], args].concat());
    run(&["net.rr"])
        .code(3)
        .err_has(&["net.rr", "KURABE_TOKEN"]);
    run(&["net.tcp"]).code(4).err_has(&["busy", "KURABE_TOKEN"]);
    let wrong = "0".repeat(32);
    let args = ["run", "net.rr", "--passes", "1", "--peer", &peer];
    let done = with_token(&bed, &wrong, &args).code(4);
    assert!(!done.err.contains(&wrong), "{}", done.err);
    done.err_has(&["the token is not that server's"]);
    // What is no token is not sent, and not shown.
    let done = with_token(&bed, "hunter2", &args).code(2);
    assert!(!done.err.contains("hunter2"), "{}", done.err);
    done.err_has(&[
        "cannot read the token in `KURABE_TOKEN`",
        "openssl rand -hex 16",
    ]);
    // A plan that outlasts the server.
    let short = Server::start(&bed, &["--for", "5s"]);
    let (other, its) = (short.peer(), short.token());
    let args = ["run", "net.rr", "--passes", "90", "--peer", &other];
    with_token(&bed, &its, &args)
        .code(4)
        .err_has(&["ends in ", "hint: start it with `--for "]);
    // A token for nobody is a slip of the hand; in the environment it concerns nobody.
    std::fs::write(bed.path().join("token"), &token).unwrap();
    readable(&bed.path().join("token"), 0o600);
    let args = ["run", "selftest.null", "--passes", "1"];
    bed.run(&[&args[..], &["--token-file", "token"]].concat())
        .code(2)
        .err_has(&["the run works with no peer"]);
    with_token(&bed, &token, &args).code(0);
    let said = server.stop();
    assert!(said.contains("refused: its token is wrong"), "{said}");
    assert!(said.contains("refused: no token"), "{said}");
}

#[test]
fn a_token_in_a_file_is_its_owner_s_alone_on_both_sides() {
    let bed = Bed::new();
    let token = "00112233445566778899aabbccddeeff";
    let file = bed.path().join("token");
    std::fs::write(&file, format!("{token}\n")).unwrap();
    readable(&file, 0o644);
    let refused = [
        "cannot read the token in `",
        "others may read it (mode 644)",
        "chmod 600",
    ];
    bed.run(&["net", "serve", "--token-file", "token"])
        .code(2)
        .err_has(&refused);
    let args = [
        "run",
        "net.rr",
        "--passes",
        "1",
        "--peer",
        "127.0.0.1:1",
        "--token-file",
        "token",
    ];
    bed.run(&args).code(2).err_has(&refused);
    readable(&file, 0o600);
    let server = Server::start(&bed, &["--token-file", "token"]);
    let peer = server.peer();
    let args = [
        "run",
        "net.rr",
        "--passes",
        "1",
        "--peer",
        &peer,
        "--token-file",
        "token",
    ];
    bed.run(&args).code(0);
    std::fs::remove_file(&file).unwrap();
    kept_nowhere(&bed, &[token]);
    assert!(!server.stop().contains(token));
}

#[test]
fn sides_of_a_duel_have_a_token_each_which_is_typed_again_to_go_on() {
    let bed = Bed::new();
    let servers = [(); 2].map(|()| Server::start(&bed, &[]));
    let mut args = vec!["duel".to_owned(), "net.rr".to_owned()];
    args.extend(["--passes".to_owned(), "2".to_owned()]);
    for (side, server) in ["a", "b"].into_iter().zip(&servers) {
        let name = format!("token-{side}");
        std::fs::write(bed.path().join(&name), server.token()).unwrap();
        readable(&bed.path().join(&name), 0o600);
        for what in [
            format!("peer={}", server.peer()),
            format!("token-file={name}"),
        ] {
            args.extend([format!("--{side}"), what]);
        }
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = bed.run(&args).code(0);
    says(&done, &[&servers[0].peer(), &servers[1].peer()]);
    let tokens = servers.each_ref().map(Server::token);
    for server in servers {
        let said = server.stop();
        assert!(said.contains(" messages answered"), "{said}");
    }
    for side in ["a", "b"] {
        std::fs::remove_file(bed.path().join(format!("token-{side}"))).unwrap();
    }
    kept_nowhere(&bed, &tokens.each_ref().map(String::as_str));
}

#[test]
fn a_run_goes_on_with_the_token_and_no_worker_shows_it() {
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
    let (peer, token) = (server.peer(), server.token());
    let args = ["run", "net.rr", "--passes", "40", "--peer", &peer];
    let mut command = bed.command(&args);
    command.env("KURABE_TOKEN", &token);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut workers = 0;
    eventually(60, || {
        for (pid, line) in family(child.id()) {
            assert!(!holds(&line, &token), "{}", String::from_utf8_lossy(&line));
            if is_worker(&line) {
                workers += 1;
                let environment = std::fs::read(format!("/proc/{pid}/environ"));
                assert!(!holds(&environment.unwrap_or_default(), &token), "{pid}");
            }
        }
        workers > 0 && bed.store().exists() && bed.rounds() >= 1
    });
    crate::bed::signal(&child, "-INT");
    Done::from(child.wait_with_output().unwrap()).code(130);
    let again = ["run", "--resume", "latest"];
    let why = ["it takes the token that the run began with", "KURABE_TOKEN"];
    bed.run(&again).code(2).err_has(&why);
    let mut command = bed.command(&again);
    command.env("KURABE_TOKEN", &token);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let before = bed.rounds();
    eventually(60, || bed.rounds() > before);
    crate::bed::signal(&child, "-INT");
    Done::from(child.wait_with_output().unwrap()).code(130);
    kept_nowhere(&bed, &[&token]);
}
