//! `kurabe net serve` with the real client of iperf3 over loopback.
//!
//! Where no iperf3 is installed each test says that it was skipped, by its name.

use crate::bed::{Bed, Done, eventually, program, signal};
use crate::net_iperf3::is_installed;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A server with a free port of loopback.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

/// No test is held up by what it is allowed.
pub(crate) const WIDE: [&str; 2] = ["--max-rate", "400G"];

impl Server {
    pub(crate) fn start(bed: &Bed, more: &[&str]) -> Self {
        Self::closed(bed, &[&["--iperf3-open"], more].concat())
    }

    /// One of those who have the token alone.
    pub(crate) fn closed(bed: &Bed, more: &[&str]) -> Self {
        let args = ["net", "serve", "--port", "0"];
        Self::of(bed.start(&[&args, more].concat()))
    }

    /// What is typed behind `--peer`.
    pub(crate) fn peer(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The token that it has printed.
    pub(crate) fn token(&self) -> String {
        self.says("KURABE_TOKEN=");
        let said = self.said();
        let (_, rest) = said.split_once("KURABE_TOKEN=").unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }

    /// Of a process that begins to serve.
    pub(crate) fn of(mut child: Child) -> Self {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        let at = first.strip_prefix("serving at ");
        let at = at.and_then(|at| at.split(", ").next());
        let Some((_, port)) = at.and_then(|at| at.rsplit_once(':')) else {
            panic!("{first} {:?}", child.wait_with_output());
        };
        let port = port.parse().unwrap();
        let lines = Arc::new(Mutex::new(vec![first.trim_end().to_owned()]));
        let kept = Arc::clone(&lines);
        let reader = std::thread::Builder::new()
            .spawn(move || {
                for line in out.lines() {
                    kept.lock().unwrap().push(line.unwrap());
                }
            })
            .unwrap();
        let reader = Some(reader);
        Self {
            child,
            port,
            lines,
            reader,
        }
    }

    /// What it said so far.
    pub(crate) fn said(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    /// Waits until it has said this.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) {
        eventually(30, || self.said().contains(words));
    }

    /// iperf3's client against it.
    pub(crate) fn client(&self, args: &[&str]) -> Command {
        let mut command = program("iperf3");
        let port = self.port.to_string();
        command.args(["-c", "127.0.0.1", "-p", &port]).args(args);
        command
    }

    /// What the client found, as JSON; it must have found something.
    pub(crate) fn measured(&self, args: &[&str]) -> Value {
        // The client before goes a moment before the server has put its test away.
        for _ in 0..20 {
            let out = self.client(args).arg("-J").output().unwrap();
            let found: Value = serde_json::from_slice(&out.stdout).unwrap();
            let error = found["error"].as_str();
            if !error.is_some_and(|error| error.contains("busy")) {
                assert_eq!(error, None, "{args:?}: {}", self.said());
                return found;
            }
            sys::clock::sleep(100_000_000);
        }
        panic!("{args:?}: busy for 2 s: {}", self.said());
    }

    /// Why the client found nothing.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let out = self.client(args).arg("-J").output().unwrap();
        let found: Value = serde_json::from_slice(&out.stdout).unwrap();
        match found["error"].as_str() {
            Some(error) => error.to_owned(),
            None => panic!("{args:?} was served: {found}"),
        }
    }

    /// Ends it, and gives all that it said.
    pub(crate) fn stop(mut self) -> String {
        signal(&self.child, "-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(130));
        self.reader.take().unwrap().join().unwrap();
        self.said()
    }

    /// A number of /proc/PID/status.
    pub(crate) fn status(&self, name: &str) -> Vec<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        let words = line.split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn number(found: &Value, path: &str) -> f64 {
    match found.pointer(path).and_then(Value::as_f64) {
        Some(number) => number,
        None => panic!("no {path} in {found}"),
    }
}

/// What arrived is what was sent but for what was under way at the end, by both ends.
#[track_caller]
fn fits(found: &Value, way: &str) {
    let sent = number(found, &format!("/end/sum_sent{way}/bytes"));
    let received = number(found, &format!("/end/sum_received{way}/bytes"));
    assert!(received > 0.0 && sent > 0.0, "{found}");
    // Buffers of both ends, of up to 32 MiB and 4 MiB for each of at most eight streams.
    let under_way = 8.0 * 36.0 * 1_048_576.0;
    assert!((sent - received).abs() <= under_way, "{sent} {received}");
}

#[test]
fn tcp_goes_every_way_with_any_number_of_streams() {
    if !is_installed("tcp_goes_every_way_with_any_number_of_streams") {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(&bed, &WIDE);
    for (args, streams) in [
        (&["-t", "1"][..], 1),
        (&["-t", "1", "-P", "4"], 4),
        (&["-t", "1", "-R"], 1),
        (&["-t", "1", "-R", "-P", "4"], 4),
        (&["-t", "1", "--bidir"], 2),
        (&["-t", "1", "--bidir", "-P", "2"], 4),
        (&["-n", "32M"], 1),
        (&["-k", "100"], 1),
        (&["-n", "32M", "-R"], 1),
        (&["-t", "1", "-O", "1"], 1),
        (&["-t", "1", "-O", "1", "-R"], 1),
        (&["-t", "1", "-l", "1400", "-w", "64K", "-N"], 1),
        (&["-t", "1", "-Z"], 1),
        (&["-t", "1", "-R", "-l", "1M", "-P", "8"], 8),
        (&["-t", "1", "-R", "-C", "reno", "-S", "16"], 1),
    ] {
        let found = server.measured(args);
        fits(&found, "");
        let all = found["end"]["streams"].as_array().unwrap();
        assert_eq!(all.len(), streams, "{args:?}");
        let seconds = number(&found, "/end/sum_received/seconds");
        assert!(seconds > 0.0 && seconds < 30.0, "{args:?} {seconds}");
        if args.contains(&"--bidir") {
            fits(&found, "_bidir_reverse");
        }
        if args.contains(&"-R") {
            // The server counts them.
            assert!(number(&found, "/end/sum_sent/retransmits") >= 0.0);
        }
        if args.contains(&"-O") {
            assert!(seconds < 1.9, "the omitted second is in it: {seconds}");
        }
        let remote = number(&found, "/end/cpu_utilization_percent/remote_total");
        assert!(remote >= 0.0, "{args:?} {remote}");
    }
    let said = server.stop();
    assert_eq!(said.matches(" done: ").count(), 15, "{said}");
    assert!(said.contains("TCP, 2 streams each way, 1 s"), "{said}");
    assert!(said.contains("33554432 bytes"), "{said}");
}

#[test]
fn a_rate_that_was_asked_for_is_kept_by_the_server_too() {
    if !is_installed("a_rate_that_was_asked_for_is_kept_by_the_server_too") {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(&bed, &WIDE);
    for args in [
        ["-t", "2", "-b", "40M", "-R"],
        ["-t", "2", "-b", "40M/10", "-R"],
        ["-ut2", "-b", "40M", "-R", "-l1000"],
    ] {
        let found = server.measured(&args);
        let sent = number(&found, "/end/sum_sent/bytes") * 8.0;
        let most = 40e6 * number(&found, "/end/sum_sent/seconds") + 8.0 * 10.0 * 131_072.0;
        assert!(sent <= most, "{args:?}: {sent} of {most}");
        assert!(sent >= 20e6, "{args:?}: {sent}");
    }
}

#[test]
fn our_own_clients_say_where_the_server_holds_the_rate() {
    let bed = Bed::new();
    let server = Server::start(&bed, &["--max-rate", "80M"]);
    let peer = format!("127.0.0.1:{}", server.port);
    let args = [
        "run",
        "net.tcp",
        "net.tcp-down",
        "--copies",
        "1",
        "--passes",
        "1",
    ];
    bed.run(&[&args[..], &["--set", "net.*.time=1s", "--peer", &peer]].concat())
        .code(0);
    let run = crate::net_iperf3::kept(&bed);
    for (test, _, measured) in crate::net_iperf3::all_measured(&run) {
        let says = |note: &String| note.contains("without its token to 80.00 Mbit/s");
        assert!(
            measured.notes.iter().any(says),
            "{test}: {:?}",
            measured.notes
        );
    }
    let port = server.port.to_string();
    let done = bed.run(&["iperf3", "-c", "127.0.0.1", "-p", &port, "-t", "1", "-R"]);
    done.code(0).err_has(&["holds this to 80.00 Mbit/s"]);
}

#[test]
fn udp_is_counted_by_whoever_receives_and_loopback_loses_little() {
    if !is_installed("udp_is_counted_by_whoever_receives_and_loopback_loses_little") {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(&bed, &WIDE);
    for args in [
        &["-u", "-b", "5M", "-t", "1", "-l", "1000"][..],
        &["-u", "-b", "5M", "-t", "1", "-l", "1000", "-R"],
        &["-u", "-b", "5M", "-t", "1", "-l", "1000", "-P", "3"],
        &["-u", "-b", "5M", "-t", "1", "-l", "1000", "--bidir"],
        &[
            "-u",
            "-b",
            "5M",
            "-t",
            "1",
            "-l",
            "1000",
            "--udp-counters-64bit",
        ],
        &[
            "-u",
            "-b",
            "5M",
            "-t",
            "1",
            "-l",
            "1000",
            "-R",
            "--udp-counters-64bit",
        ],
        &["-u", "-b", "5M", "-t", "1", "-l", "1000", "-O", "1"],
        &["-u", "-b", "5M", "-t", "1", "-l", "1000", "-O", "1", "-R"],
    ] {
        let found = server.measured(args);
        let streams = found["end"]["streams"].as_array().unwrap();
        for stream in streams {
            let of = |name: &str| stream["udp"][name].as_f64().unwrap();
            // 625 a second by the rate.
            let packets = of("packets");
            assert!((100.0..=1250.0).contains(&packets), "{args:?} {packets}");
            assert!(of("lost_packets") <= packets, "{args:?} {stream}");
            assert!(of("jitter_ms") >= 0.0);
        }
        let lost = number(&found, "/end/sum/lost_percent");
        assert!((0.0..20.0).contains(&lost), "{args:?} {lost}");
        let (sent, received) = (
            number(&found, "/end/sum_sent/bytes"),
            number(&found, "/end/sum_received/bytes"),
        );
        assert!(
            received > 0.0 && received <= sent * 1.1,
            "{args:?} {sent} {received}"
        );
    }
    let said = server.stop();
    assert_eq!(said.matches(" done: ").count(), 8, "{said}");
    assert!(said.contains(" datagrams"), "{said}");
}

#[test]
fn the_server_s_own_words_come_with_the_results() {
    if !is_installed("the_server_s_own_words_come_with_the_results") {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(&bed, &WIDE);
    let found = server.measured(&["-t", "1", "--get-server-output"]);
    let text = found["server_output_text"].as_str().unwrap();
    assert!(
        text.starts_with("kurabe ") && text.contains("[  1] received "),
        "{text}"
    );
    let out = server.client(&["-t", "1", "--get-server-output"]).output();
    let done: Done = out.unwrap().into();
    done.code(0).out_has(&["Server output:", "[  1] received "]);
}

#[test]
fn a_second_client_is_told_at_once_and_the_first_goes_on() {
    if !is_installed("a_second_client_is_told_at_once_and_the_first_goes_on") {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(&bed, &WIDE);
    let first = server
        .client(&["-t", "4", "-J"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    server.says(" asks: ");
    let why = server.refused(&["-t", "1"]);
    assert!(why.contains("busy"), "{why}");
    let first = first.wait_with_output().unwrap();
    let found: Value = serde_json::from_slice(&first.stdout).unwrap();
    fits(&found, "");
    let said = server.stop();
    let (busy, done) = (said.find("another client is served"), said.find(" done: "));
    assert!(busy.is_some() && busy < done, "{said}");
}

#[test]
fn more_than_is_allowed_is_refused_in_iperf3_s_own_words() {
    if !is_installed("more_than_is_allowed_is_refused_in_iperf3_s_own_words") {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(
        &bed,
        &["--max-rate", "100M", "--max-time", "5s", "--for", "60s"],
    );
    // What 3.12 has no words for it tells by its number.
    let (long, fast) = (["37", "duration"], ["27", "limit"]);
    for (args, words) in [
        (&["-t", "6"][..], long),
        (&["-t", "4", "-O", "2"], long),
        (&["-t", "0"], long),
        (&["-t", "2", "-b", "60M", "-P", "2"], fast),
        (&["-t", "2", "-u", "-b", "0"], fast),
    ] {
        let why = server.refused(args);
        assert!(
            words.iter().any(|word| why.contains(word)),
            "{args:?}: {why}"
        );
    }
    // Nobody is held up, and what was not asked to be slow is.
    for args in [&["-t", "1"][..], &["-t", "1", "-R", "-P", "3"]] {
        let found = server.measured(args);
        let received = number(&found, "/end/sum_received/bytes") * 8.0;
        let seconds = number(&found, "/end/sum_received/seconds");
        // 100 ms at once, and a block of each stream.
        let most = 100e6 * (seconds + 0.1) + 3.0 * 8.0 * 131_072.0;
        assert!(received <= most, "{args:?}: {received} of {most}");
    }
    let said = server.stop();
    assert_eq!(said.matches(" refused: ").count(), 5, "{said}");
}
