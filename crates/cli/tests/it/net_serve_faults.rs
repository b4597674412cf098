//! What broken clients, accidents and owners do to `kurabe net serve`.

use crate::bed::{Bed, Done, eventually, signal};
use crate::net_serve::Server;
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
    eventually(30, || server.lets_in());
}

#[test]
fn ten_thousand_malformed_connections_cost_no_memory_and_the_next_client_is_served() {
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
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
fn half_a_cookie_and_a_proof_that_never_ends_hold_up_no_client_for_long() {
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
    let mut slow: Vec<TcpStream> = (0..100).map(|_| connect(&server)).collect();
    for stream in &mut slow {
        let _ = stream.write_all(b"aaaa");
    }
    serves(&server);
    // Their ends would be told within the same second as what follows.
    drop(slow);
    // A whole hello, and a byte of the proof now and then.
    let mut holds = connect(&server);
    holds.write_all(&OWN_WRONG[..37]).unwrap();
    holds.read_exact(&mut [0; 33]).unwrap();
    let begun = sys::clock::monotonic();
    while holds.write_all(b" ").is_ok() {
        let taken = Duration::from_nanos(sys::clock::monotonic() - begun);
        assert!(taken < Duration::from_secs(60), "it is held up");
        std::thread::sleep(Duration::from_millis(500));
    }
    serves(&server);
    let said = server.stop();
    assert!(said.contains("no proof of the token within 10 s"), "{said}");
}

/// A run with the token that is in the middle of its only round.
fn under_way(bed: &Bed, server: &Server, test: &str) -> std::process::Child {
    let before = server.said().matches(" asks: ").count();
    let peer = server.peer();
    let args = [
        "run", test, "--copies", "1", "--passes", "1", "--peer", &peer,
    ];
    let long = ["--set", "net.*.time=30s"];
    let mut command = bed.command(&[&args[..], &long].concat());
    command.env("KURABE_TOKEN", server.token());
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    eventually(30, || server.said().matches(" asks: ").count() > before);
    std::thread::sleep(Duration::from_millis(300));
    child
}

#[test]
fn a_client_that_is_killed_leaves_the_server_to_the_next() {
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
    for test in ["net.tcp", "net.tcp-down", "net.udp-down"] {
        let mut client = under_way(&bed, &server, test);
        client.kill().unwrap();
        client.wait().unwrap();
        serves(&server);
    }
    let said = server.stop();
    let early = said.matches(" ended early, the client went away: ").count();
    assert_eq!(early, 3, "{said}");
}

#[test]
fn a_server_that_is_interrupted_ends_and_its_client_does_not_wait_for_it() {
    let bed = Bed::new();
    for (test, name) in [("net.tcp-down", "-INT"), ("net.udp", "-TERM")] {
        let mut server = Server::start(&bed, &[]);
        let mut client = under_way(&bed, &server, test);
        signal(&server.child, name);
        assert_eq!(server.child.wait().unwrap().code(), Some(130));
        server.says("interrupted: this server ends");
        assert!(server.said().contains("ended early, this server ends: "));
        client.kill().unwrap();
        client.wait().unwrap();
    }
}

#[test]
fn it_ends_by_itself() {
    let bed = Bed::new();
    let args = ["net", "serve", "--port", "0", "--for", "1s"];
    bed.run(&args).code(0).out_has(&[
        "TCP and UDP, for 1 s, one test at a time",
        "only this machine reaches that address",
        "the time of `--for` is over",
    ]);
}

#[test]
fn without_a_port_it_says_what_helps() {
    let bed = Bed::new();
    let serve = |more: &[&str]| bed.run(&[&["net", "serve"], more].concat());
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
    serve(&["--for", "60"]).code(2).err_has(&["with its unit"]);
    bed.run(&["net"]).code(2).err_has(&["serve"]);
}

#[test]
fn nobody_listens_to_a_server_whose_lines_nobody_reads() {
    let bed = Bed::new();
    let mut child = bed.start(&["net", "serve", "--port", "0"]);
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
    let args = ["net", "serve", "--port", "0", "--for", "60s"];
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
    serves(&server);
    let said = server.stop();
    assert!(!said.contains("root"), "{said}");
}

#[test]
fn ipv6_is_served_as_ipv4_is() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let bed = Bed::new();
    for (bind, client) in [("::1", "[::1]"), ("::", "[::1]"), ("::", "127.0.0.1")] {
        let server = Server::start(&bed, &["--bind", bind]);
        let peer = format!("{client}:{}", server.port);
        let tests = ["run", "net.tcp", "net.udp", "net.udp-down", "net.rr-udp"];
        let more = ["--copies", "1", "--passes", "1", "--peer", &peer];
        let time = ["--set", "net.*.time=1s"];
        let mut command = bed.command(&[&tests[..], &more, &time].concat());
        command.env("KURABE_TOKEN", server.token());
        Done::from(command.output().unwrap()).code(0);
        let said = server.stop();
        for asked in [
            "TCP, 1 stream to here",
            "UDP, 1 stream from here",
            "round trips",
        ] {
            assert!(said.contains(asked), "{asked}: {said}");
        }
    }
}
