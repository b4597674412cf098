//! What strangers, accidents and owners do to `kurabe net serve`.

use crate::bed::{Bed, Done, eventually, program, signal};
use crate::net_iperf3::is_installed;
use crate::net_serve::{Server, WIDE};
use crate::servers::is_root;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

/// A hello of our own protocol, and what follows it whether or not anything was answered.
const OWN_WRONG: [u8; 74] = {
    let mut bytes = [0xff; 74];
    let begin = *b"KURABE\x001C";
    let mut at = 0;
    while at < begin.len() {
        bytes[at] = begin[at];
        at += 1;
    }
    bytes
};

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream
}

/// A test that ends well; others may still be on their way out.
#[track_caller]
fn serves(server: &Server) {
    eventually(30, || {
        let out = server.client(&["-n", "1M", "-J"]).output().unwrap();
        let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        found.get("error").is_none()
    });
}

#[test]
fn ten_thousand_malformed_connections_cost_no_memory_and_the_next_client_is_served() {
    let test = "ten_thousand_malformed_connections_cost_no_memory_and_the_next_client_is_served";
    if !is_installed(test) {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(&bed, &WIDE);
    serves(&server);
    let flood = |count: usize| {
        let mut kept = Vec::new();
        for place in 0..count {
            let mut stream = connect(&server);
            let bytes: &[u8] = match place % 10 {
                0 => &[],
                1 => b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                2 => &[0xff; 20],
                3 => &[0; 37],
                4 => &[0x61; 1000],
                // A cookie, 4 GiB to come.
                5 => &[0xff; 45],
                6 => b"aaaaaaaabbbbbbbbccccccccdddddddd2345\0\0\0\0\x0f{\"tcp\":\"wrong\"}",
                // Of our own protocol: half a proof, a wrong one with a length of 4 GiB behind it, and a connection of
                // no session.
                7 => b"KURABE\x001C0123456789abcdef0123456789abhalf of a proof",
                8 => &OWN_WRONG,
                9 if place % 20 == 9 => b"KURABE\x001D0123456789abcdef0123456789ab",
                _ => b"aaaaaaaabbbbbbbbccccccccdddddddd2345\0\0\0\x20\0{\"tcp\":tr",
            };
            // Who was thrown out may not be able to.
            let _ = stream.write_all(bytes);
            // A cookie is answered, or its connection closed, when those before it have been let in: the listener's
            // queue has room for 128, and who finds it full tries again after a second.
            if place % 100 == 3 {
                let _ = stream.read(&mut [0]);
            }
            // Some stay and say nothing more.
            if place % 16 < 3 {
                kept.push(stream);
            }
            if kept.len() > 300 {
                kept.clear();
            }
        }
    };
    // What is taken once, and what every further one takes, are two things.
    flood(500);
    serves(&server);
    let before = server.status("VmRSS:")[0];
    flood(10_000);
    serves(&server);
    let after = server.status("VmRSS:")[0];
    assert!(after < before + 5000, "{before} KiB before, {after} after");
    let files = format!("/proc/{}/fd", server.child.id());
    eventually(30, || {
        // Those of a user who is nobody are for root to see.
        std::fs::read_dir(&files).map_or(0, Iterator::count) < 40
    });
    let said = server.stop();
    let lines = said.lines().count();
    assert!(lines < 5000, "{lines} lines for 10,000 connections");
    assert!(said.contains(" more refused within a second"), "{said}");
}

#[test]
fn half_a_cookie_and_a_frame_that_never_ends_hold_up_nobody_for_long() {
    let test = "half_a_cookie_and_a_frame_that_never_ends_hold_up_nobody_for_long";
    if !is_installed(test) {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(&bed, &WIDE);
    let mut slow: Vec<TcpStream> = (0..100).map(|_| connect(&server)).collect();
    for stream in &mut slow {
        let _ = stream.write_all(b"aaaa");
    }
    serves(&server);
    // Their ends would be told within the same second as what follows.
    drop(slow);
    // A whole cookie, and a byte of parameters now and then.
    let mut holds = connect(&server);
    holds.write_all(&[0x61; 37]).unwrap();
    let mut said = [0];
    holds.read_exact(&mut said).unwrap();
    assert_eq!(said, [9]);
    holds.write_all(&[0, 0, 1, 0]).unwrap();
    let begun = sys::clock::monotonic();
    while holds.write_all(b" ").is_ok() {
        let taken = Duration::from_nanos(sys::clock::monotonic() - begun);
        assert!(taken < Duration::from_secs(60), "it is held up");
        std::thread::sleep(Duration::from_millis(50));
    }
    serves(&server);
    let said = server.stop();
    assert!(said.contains("no parameters came in time"), "{said}");
}

#[test]
fn a_client_that_is_killed_leaves_the_server_to_the_next() {
    if !is_installed("a_client_that_is_killed_leaves_the_server_to_the_next") {
        return;
    }
    let bed = Bed::new();
    let server = Server::start(&bed, &WIDE);
    for args in [
        &["-t", "30"][..],
        &["-t", "30", "-R"],
        &["-t", "30", "-u", "-b", "10M", "-R"],
        &["-t", "30", "--bidir", "-P", "4"],
    ] {
        let before = server.said().matches(" asks: ").count();
        let mut client = server.client(args);
        let mut client = client.stdout(Stdio::null()).spawn().unwrap();
        eventually(30, || server.said().matches(" asks: ").count() > before);
        std::thread::sleep(Duration::from_millis(300));
        client.kill().unwrap();
        client.wait().unwrap();
        serves(&server);
    }
    let said = server.stop();
    let early = said.matches(" ended early, the client went away: ").count();
    assert_eq!(early, 4, "{said}");
}

#[test]
fn a_server_that_is_interrupted_ends_and_says_so_to_its_client() {
    if !is_installed("a_server_that_is_interrupted_ends_and_says_so_to_its_client") {
        return;
    }
    let bed = Bed::new();
    for (way, name) in [("-R", "-INT"), ("--bidir", "-TERM")] {
        let mut server = Server::start(&bed, &WIDE);
        let client = server
            .client(&["-t", "30", way, "-J"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        server.says(" asks: ");
        std::thread::sleep(Duration::from_millis(300));
        signal(&server.child, name);
        assert_eq!(server.child.wait().unwrap().code(), Some(130));
        let out = client.wait_with_output().unwrap();
        let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let why = found["error"].as_str().unwrap();
        assert!(why.contains("server has terminated"), "{why}");
        server.says("interrupted: this server ends");
        assert!(server.said().contains("ended early, this server ends: "));
    }
}

#[test]
fn it_ends_by_itself_and_refuses_what_would_be_longer() {
    let bed = Bed::new();
    let args = [
        "net",
        "serve",
        "--iperf3-open",
        "--port",
        "0",
        "--for",
        "1s",
    ];
    bed.run(&args).code(0).out_has(&[
        "TCP and UDP, for 1 s, one test at a time",
        "clients of iperf3 need no token, and have 60 s and 1000 Mbit/s each way at most",
        "only this machine reaches that address",
        "the time of `--for` is over",
    ]);
    if !is_installed("it_ends_by_itself_and_refuses_what_would_be_longer") {
        return;
    }
    let server = Server::start(&bed, &["--for", "20s"]);
    let why = server.refused(&["-t", "30"]);
    assert!(
        ["37", "duration"].iter().any(|word| why.contains(word)),
        "{why}"
    );
    server.says("left of `--for`");
}

#[test]
fn without_a_port_it_says_what_helps() {
    let bed = Bed::new();
    let serve = |more: &[&str]| bed.run(&[&["net", "serve", "--iperf3-open"], more].concat());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    serve(&["--port", &port]).code(3).err_has(&[
        &format!("listen at `127.0.0.1:{port}`"),
        "in use",
        "hint: another server has this port",
        "`--port`",
    ]);
    serve(&["--port", "0", "--bind", "192.0.2.77"])
        .code(3)
        .err_has(&["listen at `192.0.2.77:0`", "hint: `ip address`"]);
    serve(&["--port", "80"]).code(2).err_has(&["from 1024"]);
    serve(&["--max-rate", "0"]).code(2).err_has(&["500M"]);
    serve(&["--max-time", "60"])
        .code(2)
        .err_has(&["with its unit"]);
    bed.run(&["net"]).code(2).err_has(&["serve"]);
}

#[test]
fn nobody_listens_to_a_server_whose_lines_nobody_reads() {
    let bed = Bed::new();
    let mut child = bed.start(&["net", "serve", "--iperf3-open", "--port", "0"]);
    let mut out = child.stdout.take().unwrap();
    let mut begun = [0; 1000];
    let got = out.read(&mut begun).unwrap();
    let text = String::from_utf8_lossy(&begun[..got]).into_owned();
    let port = text.split(':').nth(1).unwrap().split(',').next().unwrap();
    drop(out);
    let at = format!("127.0.0.1:{port}");
    eventually(30, || {
        // Each causes a line, until one cannot be written.
        drop(TcpStream::connect(&at));
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn it_serves_as_nobody_and_needs_no_root() {
    let bed = Bed::new();
    let server = Server::start(&bed, &["--for", "60s"]);
    if is_root() {
        server.says("root is given up: this is user 65534 now");
        for name in ["Uid:", "Gid:"] {
            assert_eq!(server.status(name), [65534; 4], "{name}");
        }
        assert!(server.status("Groups:").is_empty(), "in no other group");
        let path = format!("/proc/{}/status", server.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        for name in ["CapEff:", "CapPrm:"] {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            assert!(line.ends_with("0000000000000000"), "{line}");
        }
    }
    server.stop();
    if !is_root() {
        return;
    }
    let user = [
        "setpriv",
        "--reuid=12345",
        "--regid=12345",
        "--clear-groups",
        "--",
    ];
    let args = [
        "net",
        "serve",
        "--iperf3-open",
        "--port",
        "0",
        "--for",
        "60s",
    ];
    // Everybody may look into the bed then.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bed.path(), mode).unwrap();
    let mut command = bed.command_behind(&user, &args);
    let spawned = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let server = Server::of(spawned);
    assert_eq!(server.status("Uid:"), [12345; 4]);
    if is_installed("it_serves_as_nobody_and_needs_no_root") {
        serves(&server);
    }
    let said = server.stop();
    assert!(!said.contains("root"), "{said}");
}

#[test]
fn ipv6_is_served_as_ipv4_is() {
    let test = "ipv6_is_served_as_ipv4_is";
    if !is_installed(test) || std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let bed = Bed::new();
    for (bind, client) in [("::1", "::1"), ("::", "::1"), ("::", "127.0.0.1")] {
        let server = Server::start(&bed, &["--bind", bind]);
        let port = server.port.to_string();
        for more in [
            &["-t", "1"][..],
            &["-t", "1", "-u", "-R"],
            &["-t", "1", "-u"],
        ] {
            let mut command = program("iperf3");
            let command = command.args(["-c", client, "-p", &port]).args(more);
            let done: Done = command.output().unwrap().into();
            done.code(0).out_has(&["iperf Done."]);
        }
        let said = server.stop();
        assert_eq!(said.matches(" done: ").count(), 3, "{said}");
    }
}
