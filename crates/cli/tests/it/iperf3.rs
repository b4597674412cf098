//! `kurabe iperf3` beside iperf3 itself, against one server of the test's own on loopback.
//!
//! Where no iperf3 is installed each test that needs it says that it was skipped, by its name.

use crate::bed::{Bed, Done, eventually, program, signal};
use crate::net_iperf3::Server;
use crate::servers::free_port;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Stdio;

/// What a client prints; a slow flow, so that both have the same intervals.
fn line(server: &Server, args: &str) -> Vec<String> {
    let all = format!("-c 127.0.0.1 -p {} -b 8M -l 8K {args}", server.port);
    all.split_whitespace().map(str::to_owned).collect()
}

/// A server may be busy with the end of an earlier test.
fn when_free(mut client: impl FnMut() -> Done) -> Done {
    let mut last = None;
    eventually(20, || {
        let done = client();
        let is_busy = [&done.out, &done.err].map(|said| said.contains("busy running a test"));
        last = Some(done);
        is_busy == [false; 2]
    });
    last.unwrap()
}

fn theirs(server: &Server, args: &str) -> Done {
    let line = line(server, args);
    when_free(|| program("iperf3").args(&line).output().unwrap().into()).code(0)
}

fn ours_at_once(bed: &Bed, server: &Server, args: &str) -> Done {
    let line = line(server, args);
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    bed.run(&[&["iperf3"][..], &line[..]].concat())
}

fn ours(bed: &Bed, server: &Server, args: &str) -> Done {
    when_free(|| ours_at_once(bed, server, args))
}

/// Two servers, since each serves one at a time.
fn servers(test: &str) -> Option<[Server; 2]> {
    Some([Server::start(test)?, Server::start(test)?])
}

/// What both print, at the same time.
fn both(bed: &Bed, servers: &[Server; 2], args: &str) -> [Done; 2] {
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| theirs(&servers[0], args));
        let ours = ours(bed, &servers[1], args).code(0);
        [theirs.join().unwrap(), ours]
    })
}

/// Whether a client is in the middle of a test, as the kernel's table has it: a connection would be one more client.
fn is_on(server: &Server) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let ours = format!(" 0100007F:{:04X} ", server.port);
    let is_up = |line: &&str| {
        let mut words = line.split_whitespace().skip(3);
        line.contains(&ours) && words.next() == Some("01")
    };
    // Of the control connection and of a stream, the server's ends and the client's.
    table.lines().filter(is_up).count() >= 4
}

/// Every key with the way to it and its type.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    found.insert(format!("{path}: {kind}"));
    match value {
        Value::Array(all) => all
            .iter()
            .for_each(|one| paths(one, &format!("{path}[]"), found)),
        Value::Object(all) => {
            all.iter()
                .for_each(|(key, one)| paths(one, &format!("{path}.{key}"), found));
        }
        _ => {}
    }
}

fn paths_of(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths(&serde_json::from_str(text).unwrap(), "", &mut found);
    found
}

#[test]
fn documents_have_the_keys_and_types_of_iperf3_s_own() {
    let Some(servers) = servers("documents_have_the_keys_and_types_of_iperf3_s_own") else {
        return;
    };
    let bed = Bed::new();
    for args in [
        "-J -t 1",
        "-J -t 1 -R",
        "-J -t 1 -P 2",
        "-J -t 1 -R -P 2",
        "-J -t 1 --bidir",
        "-J -t 1 -O 1",
        "-J -n 100K",
        "-J -k 10 -R",
        "-J -t 1 -i 0 -T name --extra-data text --get-server-output -M 1000 -w 100K -N",
        "-u -J -t 1",
        "-u -J -t 1 -R -P 2",
        "-u -J -t 1 --bidir",
        "-u -J -t 1 --bidir -P 2 -O 1",
        "-u -J -n 100K -b 800K --udp-counters-64bit",
        "-u -J -k 10 -R",
        "-u -J -n 100K -b 0",
        "-u -J -t 1 -i 0 -T name --get-server-output -w 100K --dont-fragment -b 1M/4",
    ] {
        let [theirs, ours] = both(&bed, &servers, args);
        let [expected, found] = [&theirs, &ours].map(|done| paths_of(&done.out));
        let lacks: Vec<&String> = expected.difference(&found).collect();
        let more: Vec<&String> = found.difference(&expected).collect();
        assert!(
            lacks.is_empty() && more.is_empty(),
            "{args}: lacks {lacks:?}, more {more:?}"
        );
        assert_eq!(ours.err, "", "{args}");
    }
    // The server goes on to send its report, which nobody has asked for now.
    let plain = ours(&bed, &servers[1], "-J -n 8K").code(0);
    assert!(!plain.out.contains("server_output"), "{}", plain.out);
}

/// Lines with every digit as `0`, and without what the numbers are: their prefixes, and how far they are from each
/// other.
fn shapes(text: &str) -> Vec<String> {
    let shape = |line: &str| {
        let words = line.split_whitespace().map(|word| {
            let prefixed = word.starts_with(['K', 'M', 'G']);
            let word = if prefixed { &word[1..] } else { word };
            let word = word.replace(|c: char| c.is_ascii_digit() || c == '.', "0");
            let mut chars: Vec<char> = word.chars().collect();
            chars.dedup_by(|a, b| *a == '0' && *b == '0');
            chars.into_iter().collect::<String>()
        });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(shape).collect()
}

#[test]
fn lines_are_those_that_iperf3_prints() {
    let Some(servers) = servers("lines_are_those_that_iperf3_prints") else {
        return;
    };
    let bed = Bed::new();
    for args in [
        "-t 1 -i 0.5",
        "-t 1 -i 0.5 -R",
        "-t 1 -i 0.5 -P 2",
        "-t 1 -i 0.5 -R -P 3",
        "-t 1 -i 0.5 --bidir",
        "-t 1 -i 0.5 --bidir -P 2",
        "-t 1 -O 1",
        "-t 1 -i 0 -f K",
        "-t 1 -T name",
        "-u -t 1 -i 0.5",
        "-u -t 1 -i 0.5 -R -P 2",
        "-u -t 1 -i 0.5 --bidir",
        "-u -t 1 -i 0.5 --bidir -P 2",
        "-u -t 1 -O 1 -P 2",
        "-u -t 1 -i 0 -f K -T name",
    ] {
        let [theirs, ours] = both(&bed, &servers, args);
        assert_eq!(
            shapes(&ours.out),
            shapes(&theirs.out),
            "{args}\n{}\n{}",
            ours.out,
            theirs.out
        );
        assert_eq!(ours.err, "", "{args}");
    }
}

#[test]
fn figures_fit_what_was_asked_for_and_can_be_imported() {
    let Some(server) = Server::start("figures_fit_what_was_asked_for_and_can_be_imported") else {
        return;
    };
    let bed = Bed::new();
    let done = ours(&bed, &server, "-J -n 400K -P 2").code(0);
    let all: Value = serde_json::from_str(&done.out).unwrap();
    let of = |pointer: &str| all.pointer(pointer).and_then(Value::as_f64).unwrap();
    let sent = of("/end/sum_sent/bytes");
    assert!((sent - 409_600.0).abs() < 0.5, "{sent}");
    let received = of("/end/sum_received/bytes");
    assert!(received > 0.0 && received <= sent, "{received}");
    let rate = of("/end/sum_sent/bits_per_second");
    assert!((rate * of("/end/sum_sent/seconds") / 8.0 / sent - 1.0).abs() < 1e-6);
    std::fs::write(bed.path().join("result.json"), &done.out).unwrap();
    bed.run(&["import", "result.json"]).code(0);
    let page = bed.run(&["show", "latest"]).code(0);
    page.out_has(&["iperf3.tcp", "3.12 (kurabe"]);
}

#[test]
fn figures_of_datagrams_fit_what_was_asked_for_and_can_be_imported() {
    let test = "figures_of_datagrams_fit_what_was_asked_for_and_can_be_imported";
    let Some(server) = Server::start(test) else {
        return;
    };
    let bed = Bed::new();
    let done = ours(&bed, &server, "-J -u -l 1000 -b 800K -t 1").code(0);
    let all: Value = serde_json::from_str(&done.out).unwrap();
    let of = |pointer: &str| all.pointer(pointer).and_then(Value::as_f64).unwrap();
    let packets = of("/end/sum_sent/packets");
    assert!((90.0..=110.0).contains(&packets), "{packets}");
    assert!((of("/end/sum_sent/bytes") - 1000.0 * packets).abs() < 0.5);
    let lost = packets - of("/end/sum_received/bytes") / 1000.0;
    assert!((0.0..=2.0).contains(&lost), "{lost}");
    // All that the server has counted was sent.
    let fast = ours(&bed, &server, "-J -u -l 1400 -b 200M -t 1 -P 2").code(0);
    let fast: Value = serde_json::from_str(&fast.out).unwrap();
    let packets = |way: &str| fast["end"][way]["packets"].as_u64().unwrap();
    let (sent, received) = (packets("sum_sent"), packets("sum_received"));
    assert!(0 < received && received <= sent, "{received} of {sent}");
    assert!(of("/end/sum/lost_percent") < 0.5 && of("/end/sum/jitter_ms") > 0.0);
    std::fs::write(bed.path().join("result.json"), &done.out).unwrap();
    bed.run(&["import", "result.json"]).code(0);
    let page = bed.run(&["show", "latest"]).code(0);
    page.out_has(&["iperf3.udp", "3.12 (kurabe"]);
    // What may not go whole is told apart from the output, as iperf3 does it.
    let long = ours(&bed, &server, "-u -l 60000 -n 60000").code(0);
    let warning = "warning: UDP block size 60000 exceeds TCP MSS 32768";
    assert!(long.err.starts_with(warning), "{}", long.err);
}

#[test]
fn without_a_server_both_outputs_have_the_error_and_the_code_is_1() {
    let bed = Bed::new();
    let port = free_port().to_string();
    let args = ["iperf3", "-c", "127.0.0.1", "-p", &port];
    let done = bed.run(&args).code(1);
    assert_eq!(done.out, "");
    let words = "iperf3: error - unable to connect to server: Connection refused\nhint: ";
    assert!(done.err.starts_with(words), "{}", done.err);
    let done = bed.run(&[&args[..], &["-J"]].concat()).code(1);
    assert_eq!(done.err, "");
    let all: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        all["error"],
        "unable to connect to server: Connection refused"
    );
    assert!(all["start"]["version"].is_string() && all["end"].is_object());
    assert!(bed.listed().is_empty(), "nothing is kept");
}

#[test]
fn a_server_that_is_busy_or_is_killed_is_told_once() {
    let test = "a_server_that_is_busy_or_is_killed_is_told_once";
    let Some(mut server) = Server::start(test) else {
        return;
    };
    let bed = Bed::new();
    let line = line(&server, "-t 60");
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let mut command = bed.command(&[&["iperf3"][..], &line[..]].concat());
    let first = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually(20, || is_on(&server));
    let busy = ours_at_once(&bed, &server, "-n 8K -J").code(1);
    let busy: Value = serde_json::from_str(&busy.out).unwrap();
    assert_eq!(
        busy["error"],
        "the server is busy running a test. try again later"
    );
    signal(&server.child, "-KILL");
    server.child.wait().unwrap();
    let done = Done::from(first.wait_with_output().unwrap()).code(1);
    let words = "iperf3: error - control socket has closed unexpectedly\n";
    assert!(done.err.starts_with(words), "{}", done.err);
    assert_eq!(done.err.matches("error").count(), 1, "{}", done.err);
    // What was sent until then is there, and nothing of what nobody has told.
    assert!(
        done.out.contains(" sender\n") && !done.out.contains("receiver"),
        "{}",
        done.out
    );
}

#[test]
fn ctrl_c_ends_a_test_with_what_was_counted() {
    let Some(server) = Server::start("ctrl_c_ends_a_test_with_what_was_counted") else {
        return;
    };
    let bed = Bed::new();
    let line = line(&server, "-t 60 -J");
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let mut command = bed.command(&[&["iperf3"][..], &line[..]].concat());
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually(20, || is_on(&server));
    // And until data flows.
    sys::clock::sleep(1_000_000_000);
    signal(&child, "-INT");
    let done = Done::from(child.wait_with_output().unwrap()).code(1);
    let all: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(all["error"], "interrupt - the client has terminated");
    assert!(
        all["end"]["sum_sent"]["bytes"].as_u64() > Some(0),
        "{}",
        done.out
    );
    assert!(all["end"].get("sum_received").is_none());
    // It has heard of the end.
    ours(&bed, &server, "-n 8K").code(0);
}

#[test]
fn ctrl_c_ends_the_wait_for_a_server_that_says_nothing() {
    let bed = Bed::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let child = bed.start(&["iperf3", "-c", "127.0.0.1", "-p", &port]);
    let _waits = silent.accept().unwrap();
    signal(&child, "-INT");
    let done = Done::from(child.wait_with_output().unwrap()).code(1);
    done.err_has(&["iperf3: interrupt - the client has terminated"]);
}

#[test]
fn lines_that_cannot_be_written_end_with_code_1() {
    let Some(server) = Server::start("lines_that_cannot_be_written_end_with_code_1") else {
        return;
    };
    let bed = Bed::new();
    for args in ["-n 8K", "-J -n 8K"] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let line = line(&server, args);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let mut command = bed.command(&[&["iperf3"][..], &line[..]].concat());
        let done = Done::from(command.stdout(full).output().unwrap()).code(1);
        done.err_has(&["write to standard output"]);
    }
}

#[test]
fn nobody_is_told_anything_once_nobody_reads() {
    let Some(server) = Server::start("nobody_is_told_anything_once_nobody_reads") else {
        return;
    };
    let bed = Bed::new();
    let line = line(&server, "-t 60 -i 0.1");
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let mut command = bed.command(&[&["iperf3"][..], &line[..]].concat());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = Done::from(child.wait_with_output().unwrap()).code(0);
    assert_eq!(done.err, "");
    // The test is over, and the server free.
    ours(&bed, &server, "-n 8K").code(0);
}

#[test]
fn what_is_not_taken_is_refused_by_its_name_before_anybody_is_asked() {
    let bed = Bed::new();
    let check = |args: &[&str], says: &[&str]| {
        let done = bed.run(&[&["iperf3"][..], args].concat()).code(1);
        assert_eq!(done.out, "");
        done.err_has(&["iperf3: parameter error - ", "\nhint: "])
            .err_has(says);
    };
    check(&["-s"], &["`-s, --server`", "`iperf3 -s`"]);
    check(
        &["-c", "127.0.0.1", "-u", "-N"],
        &["`-N, --no-delay` is for TCP"],
    );
    check(
        &["-c", "127.0.0.1", "-u", "-l", "64K"],
        &["block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"],
    );
    check(
        &["-c", "127.0.0.1", "-Z"],
        &["`-Z, --zerocopy` is not taken"],
    );
    check(
        &["-c", "127.0.0.1", "-P", "200"],
        &["number of parallel streams too large"],
    );
    check(&["-c", "a b"], &["`a b` is no host"]);
    check(&[], &["must either be a client (-c) or server (-s)"]);
    for help in [&["iperf3", "--help"][..], &["help", "iperf3"]] {
        let page = bed.run(help).code(0);
        page.out_has(&["-P, --parallel N", "--get-server-output", "-Z, --zerocopy"]);
    }
    bed.run(&["iperf3", "-v"])
        .code(0)
        .out_has(&["iperf 3.12 (kurabe "]);
}
