//! UDP to a peer: beside an iperf3 server, beside one of ours, and where UDP does not pass.
//!
//! Where no iperf3 is installed each test that needs it says that it was skipped, by its name.

use crate::bed::{Bed, Done};
use crate::net_iperf3::{Server, all_measured, kept};
use crate::net_serve;
use crate::servers::says;
use model::record::{Measured, Outcome};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes per second of the rate that is asked for here.
const ASKED: f64 = 2_000_000.0;

const SHORT: [&str; 4] = ["--set", "net.udp*.time=1s", "--set", "net.udp*.rate=16M"];

#[track_caller]
fn fits(test: &str, flows: u32, measured: &Measured) {
    let of = |quantity: &str| {
        let value = measured.values.get(quantity);
        *value.unwrap_or_else(|| panic!("{test} {quantity}: {:?}", measured.missing))
    };
    let asked = ASKED * f64::from(flows);
    let (rate, sent) = (of("bytes_per_s"), of("sent_bytes_per_s"));
    // The first datagrams go at once; a server's clock is a little off. Less only where the machine has no time.
    for (what, value) in [("received", rate), ("sent", sent)] {
        assert!(
            value > 0.0 && value < 1.03 * asked,
            "{test} {what}: {value}"
        );
    }
    let packets = of("packets_per_s");
    assert!(
        (packets * 1400.0 / rate - 1.0).abs() < 1e-9,
        "{packets} {rate}"
    );
    // What was sent was received, lost, or on its way.
    let lost = of("lost_share");
    assert!((0.0..1.0).contains(&lost), "{lost}");
    assert!(
        rate > 0.8 * sent * (1.0 - lost),
        "{test}: {rate} of {sent}, {lost} lost"
    );
    assert!(of("jitter_ns") > 0.0 && of("cpu_ns_per_gb") > 0.0);
    let up = test == "net.udp";
    for (quantity, is_there) in [
        ("late_ns_mean", up),
        ("late_ns_p99", up),
        ("reordered_share", !up),
        ("doubled_share", !up),
    ] {
        assert_eq!(
            measured.values.contains_key(quantity),
            is_there,
            "{test} {quantity}"
        );
    }
    assert_eq!(measured.copies[0].allocations, 0, "{test}");
}

/// A run with this peer, whose token is known where it has one.
fn run(bed: &Bed, token: &str, args: &[&str]) -> Done {
    let mut command = bed.command(args);
    command.env("KURABE_TOKEN", token).output().unwrap().into()
}

fn measured_at(peer: &str, token: &str, more: &[&str]) {
    let bed = Bed::new();
    let args = [
        "run",
        "net.udp",
        "net.udp-down",
        "--copies",
        "1,3",
        "--passes",
        "1",
        "--peer",
        peer,
    ];
    let done = run(&bed, token, &[&args[..], &SHORT, more].concat()).code(0);
    says(&done, &["net.udp@1", "net.udp@3", "net.udp-down@1"]);
    let run = kept(&bed);
    assert_eq!(run.rounds.len(), 4);
    for (test, flows, measured) in all_measured(&run) {
        fits(test, flows, measured);
        let is_old = measured
            .notes
            .iter()
            .any(|note| note.contains("before 3.14"));
        assert!(!is_old || !more.is_empty(), "{:?}", measured.notes);
    }
}

#[test]
fn datagrams_beside_a_real_server_fit_what_was_asked_for() {
    let Some(server) = Server::start("datagrams_beside_a_real_server_fit_what_was_asked_for")
    else {
        return;
    };
    measured_at(&server.peer(), "", &[]);
    measured_at(&server.peer(), "", &["--set", "net.udp*.omit=1s"]);
}

#[test]
fn datagrams_beside_a_server_of_ours_fit_what_was_asked_for() {
    let bed = Bed::new();
    let server = net_serve::Server::start(&bed, &[]);
    let (peer, token) = (server.peer(), server.token());
    measured_at(&peer, &token, &[]);
    measured_at(&peer, &token, &["--set", "net.udp*.omit=1s"]);
}

#[test]
fn a_rate_that_was_not_sent_is_said_and_one_that_sends_next_to_nothing_refused() {
    let bed = Bed::new();
    let server = net_serve::Server::start(&bed, &[]);
    let (peer, token) = (server.peer(), server.token());
    let at = |rate: &str| {
        let rate = format!("net.udp.rate={rate}");
        let args = ["run", "net.udp", "--passes", "1", "--peer", &peer];
        run(
            &bed,
            &token,
            &[&args[..], &SHORT, &["--set", &rate]].concat(),
        )
    };
    at("1T").code(0);
    let (_, _, measured) = all_measured(&kept(&bed))
        .next()
        .map(|(a, b, c)| (a.to_owned(), b, c.clone()))
        .unwrap();
    let says = |note: &String| {
        note.contains("of 1.00 Tbit/s that were asked for")
            && note.contains("the sender was the limit")
    };
    assert!(measured.notes.iter().any(says), "{:?}", measured.notes);
    at("11k")
        .code(2)
        .err_has(&["at least a datagram of `size` in a second"]);
}

#[test]
fn trains_of_datagrams_are_said_to_be_no_packets_where_nothing_cuts_them() {
    let bed = Bed::new();
    let server = net_serve::Server::start(&bed, &[]);
    let (peer, token) = (server.peer(), server.token());
    // At the one rate no two are due at once, at the other many.
    for (rate, told) in [
        ("40k", "nothing went in a train"),
        ("2G", "`offload` over `lo`, a link within a machine"),
    ] {
        let rate = format!("net.udp*.rate={rate}");
        let trains = ["--set", "net.udp*.offload=on", "--set", &rate];
        let args = [
            "run",
            "net.udp",
            "net.udp-down",
            "--passes",
            "1",
            "--peer",
            &peer,
        ];
        run(&bed, &token, &[&args[..], &trains, &SHORT[..2]].concat()).code(0);
        for (test, _, measured) in all_measured(&kept(&bed)) {
            let is_told = measured.notes.iter().any(|note| note.contains(told));
            assert!(is_told, "{test} {told}: {:?}", measured.notes);
        }
    }
}

#[test]
fn the_highest_rate_is_searched_beside_a_real_server() {
    let Some(server) = Server::start("the_highest_rate_is_searched_beside_a_real_server") else {
        return;
    };
    let bed = Bed::new();
    let peer = server.peer();
    let args = ["run", "net.udp-max-down", "--passes", "1", "--peer", &peer];
    // A busy machine loses datagrams at any rate.
    let set = ["--set", "net.udp-max-down.loss_max=20%"];
    bed.run(&[&args[..], &set].concat()).code(0);
    let run = kept(&bed);
    for (test, _, measured) in all_measured(&run) {
        let of = |quantity: &str| measured.values[quantity];
        assert!(
            of("bytes_per_s") > 12_500.0,
            "{test}: {:?}",
            measured.values
        );
        assert!(of("lost_share") < 0.2 && of("above_bytes_per_s") > of("bytes_per_s") * 0.9);
        let told = "above the rate that held";
        assert!(
            measured.notes.iter().any(|note| note.contains(told)),
            "{:?}",
            measured.notes
        );
    }
}

/// Lets TCP through to a server, and nothing of UDP.
fn beside_a_filter<T>(server: u16, work: impl FnOnce(u16) -> T) -> T {
    // A port that nobody has by UDP either.
    let (listener, _silent) = loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        if let Ok(silent) = UdpSocket::bind(listener.local_addr().unwrap()) {
            break (listener, silent);
        }
    };
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    let ends = AtomicBool::new(false);
    let ended = || ends.load(Ordering::Relaxed);
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        let mut room = vec![0; 1 << 17];
        from.set_nonblocking(false).unwrap();
        from.set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        while !ended() {
            match from.read(&mut room) {
                Ok(0) => break,
                Ok(got) if to.write_all(&room[..got]).is_ok() => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                _ => break,
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    };
    std::thread::scope(|scope| {
        let copy = &copy;
        scope.spawn(move || {
            while !ended() {
                if let Ok((ours, _)) = listener.accept() {
                    let theirs = TcpStream::connect(("127.0.0.1", server)).unwrap();
                    let back = (theirs.try_clone().unwrap(), ours.try_clone().unwrap());
                    scope.spawn(move || copy(ours, theirs));
                    scope.spawn(move || copy(back.0, back.1));
                }
                sys::clock::sleep(1_000_000);
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(port)));
        ends.store(true, Ordering::Relaxed);
        done
    })
    .unwrap()
}

#[test]
fn where_udp_is_filtered_tcp_is_kept_and_udp_said_to_be_blocked() {
    let test = "where_udp_is_filtered_tcp_is_kept_and_udp_said_to_be_blocked";
    let Some(server) = Server::start(test) else {
        return;
    };
    let bed = Bed::new();
    beside_a_filter(server.port, |port| {
        let peer = format!("127.0.0.1:{port}");
        let args = [
            "run",
            "net.tcp-down",
            "net.udp",
            "--passes",
            "1",
            "--peer",
            &peer,
            "--set",
            "net.tcp*.time=1s",
        ];
        let begin = sys::clock::monotonic();
        let done = bed.run(&args).code(4);
        let words = format!("goes to UDP port {port} there");
        says(&done, &["UDP is blocked", &words, "TCP passes"]);
        assert!(sys::clock::monotonic() - begin < 60_000_000_000);
    });
    let run = kept(&bed);
    let done = run.rounds.iter().map(|round| {
        let is_done = matches!(round.outcome, Outcome::Done(_));
        (round.case.test.as_str(), is_done)
    });
    let mut done: Vec<_> = done.collect();
    done.sort_unstable();
    assert_eq!(done, [("net.tcp-down", true), ("net.udp", false)]);
}

mod root {
    use super::*;
    use crate::net_iperf3::{is_installed, root::between};

    #[test]
    #[ignore = "root: makes network namespaces"]
    fn a_datagram_that_is_too_long_for_the_way_is_told_with_the_longest() {
        if !is_installed("a_datagram_that_is_too_long_for_the_way_is_told_with_the_longest") {
            return;
        }
        for (peer, longest) in [("10.77.0.2", 1472), ("fe80::2%v0", 1452)] {
            for offload in ["off", "on"] {
                let bed = Bed::new();
                let one = |size: u32, meanwhile: &str, more: &[&str]| {
                    let size = format!("net.udp.size={size}");
                    let offload = format!("net.udp.offload={offload}");
                    let mut args = vec!["run", "net.udp", "--passes", "1", "--peer", peer];
                    args.extend(["--set", &size, "--set", &offload]);
                    between(&bed, meanwhile, &[&args[..], &SHORT, more].concat())
                };
                let served = |one: &dyn Fn() -> crate::bed::Done| {
                    // Over IPv6 iperf3 3.12 may have served UDP before anybody asked.
                    let mut dones = (0..3).map(|_| one());
                    let done = dones.find(|done| !done.says("there is refused"));
                    done.expect("refused three times")
                };
                let too_long = |longest: u32, one: &dyn Fn() -> crate::bed::Done| {
                    let hint = format!("takes {longest} bytes: `--set 'net.udp*.size={longest}'`");
                    says(
                        &served(one).code(4),
                        &["send to `", "too long for the way", &hint],
                    );
                };
                too_long(longest, &|| one(longest + 1, "", &[]));
                served(&|| one(longest, "", &[])).code(0);
                // A round that failed is tried again, which iperf3 3.12 does not serve over IPv6.
                if longest == 1472 {
                    // The way becomes narrower, in the middle of the test where the machine is fast enough.
                    let narrower = "(sleep 2; ip link set v0 mtu 1400) &\n";
                    let more = ["--set", "net.udp.time=6s", "--set", "net.udp.rate=400M"];
                    too_long(longest - 100, &|| one(longest, narrower, &more));
                }
            }
        }
    }
}
