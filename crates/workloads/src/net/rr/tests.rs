//! Rounds with a server of our own on loopback.

use super::{CONNECT, RR, spec};
use crate::net::TCP;
use crate::net::iperf3::serve::tests::client::serving_own;
use crate::net::peer::Peer;
use crate::net::tcp::fake::place_with_token;
use crate::os::testing::params;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::units::Nanos;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use sys::clock::monotonic;
use tempfile::TempDir;

/// How long work goes on.
const MEASURE_MS: u64 = 300;

fn place_of(at: SocketAddr) -> (TempDir, Place) {
    let (root, place) = place_with_token(&at.to_string().parse().unwrap(), 1);
    let place = Place {
        measure: Nanos::from_millis(MEASURE_MS),
        ..place
    };
    (root, place)
}

fn begun(
    workload: &dyn Workload,
    set: &[(&str, &str)],
    at: SocketAddr,
) -> Result<Box<dyn Body>, WorkError> {
    let (_root, place) = place_of(at);
    workload.prepare(&params(workload, set), &place)
}

fn work(body: &mut dyn Body) -> Result<u64, WorkError> {
    let until = monotonic() + MEASURE_MS * 1_000_000;
    let mut done = 0;
    body.measured_part_begins();
    while monotonic() < until {
        done += body.batch(5, &mut Recorder::off())?;
    }
    Ok(done)
}

/// A round from its beginning to its end.
fn round(workload: &dyn Workload, set: &[(&str, &str)], at: SocketAddr) -> (u64, Finish) {
    let mut body = begun(workload, set, at).unwrap();
    let done = work(body.as_mut()).unwrap();
    (done, body.finish().unwrap())
}

#[test]
fn messages_go_there_and_back_and_both_ends_count_alike() {
    let said = serving_own(|at, _| {
        for set in [
            &[][..],
            &[("protocol", "udp")],
            &[("size", "9")],
            &[("protocol", "udp"), ("size", "32k")],
        ] {
            let (done, finish) = round(&RR, set, at);
            assert!(done > 5, "{set:?}: {done}");
            let by_udp = set.contains(&("protocol", "udp"));
            let lost = finish.reported.get("lost_share");
            assert_eq!(lost.is_some(), by_udp, "{set:?}");
            // Both ends have one clock here.
            for quantity in spec::UP.into_iter().chain(spec::DOWN) {
                let delay = finish.reported.get(quantity).copied();
                assert_eq!(delay.is_some(), by_udp, "{quantity}: {:?}", finish.missing);
                assert!(delay.is_none_or(|ns| ns > 0.0), "{quantity}");
            }
        }
    });
    let said = said.join("\n");
    assert!(
        said.contains("asks: round trips of 1 B by UDP, for "),
        "{said}"
    );
    assert!(said.contains(" messages answered"), "{said}");
}

#[test]
fn load_flows_beside_them_each_way_that_was_asked_for() {
    serving_own(|at, _| {
        for (load, up, down) in [
            ("up", true, false),
            ("down", false, true),
            ("both", true, true),
        ] {
            let set = [("load", load), ("flows", "2")];
            let (done, finish) = round(&RR, &set, at);
            assert!(done > 0);
            for (quantity, flows) in [("load_up_bytes_per_s", up), ("load_down_bytes_per_s", down)]
            {
                let rate = finish.reported.get(quantity).copied();
                assert_eq!(rate.is_some(), flows, "{load} {quantity}");
                assert!(
                    rate.is_none_or(|rate| rate > 1e6),
                    "{load} {quantity} {rate:?}"
                );
            }
        }
        // By datagrams as well.
        round(&RR, &[("load", "both"), ("protocol", "udp")], at);
    });
}

#[test]
fn each_connection_is_answered_and_counted_and_none_is_left() {
    let said = serving_own(|at, _| {
        let (done, _) = round(&CONNECT, &[], at);
        assert!(done > 5);
    });
    let said = said.join("\n");
    assert!(said.contains(" connections"), "{said}");
    assert!(!said.contains("refused"), "{said}");
}

#[test]
fn the_flows_of_net_tcp_go_over_a_server_with_a_token() {
    let said = serving_own(|at, _| {
        for direction in ["up", "down"] {
            let (_, finish) = round(&TCP, &[("direction", direction)], at);
            // What comes here is counted here.
            let told = finish.reported.get("bytes_per_s").copied();
            assert!(told.is_none_or(|rate| rate > 1e6), "{direction}: {told:?}");
            assert_eq!(told.is_some(), direction == "up");
            assert!(
                finish.reported.contains_key("peer_cpu_ns_per_gb"),
                "{direction}"
            );
        }
        let (_root, place) = place_of(at);
        TCP.reach(&place).unwrap();
        RR.reach(&place).unwrap();
    });
    let said = said.join("\n");
    assert!(said.contains("TCP, 1 stream to here, 1 s"), "{said}");
    assert!(
        said.contains("it looked whether this server is there"),
        "{said}"
    );
}

#[test]
fn a_server_that_ends_in_the_middle_is_told() {
    for (workload, set) in [
        (&RR as &dyn Workload, &[][..]),
        (&RR, &[("load", "both")]),
        (&CONNECT, &[]),
    ] {
        serving_own(|at, stops| {
            let mut body = begun(workload, set, at).unwrap();
            work(body.as_mut()).unwrap();
            stops.store(true, Ordering::Relaxed);
            let until = monotonic() + 20_000_000_000;
            let why = loop {
                assert!(monotonic() < until);
                if let Err(why) = body.batch(1, &mut Recorder::off()) {
                    break why.to_string();
                }
            };
            assert!(why.contains(&format!("`{at}`")), "{why}");
        });
    }
}

/// Passes what comes by TCP on to the server, as a filter that drops UDP alone does.
fn relay(at: SocketAddr, listener: &TcpListener) {
    let (ours, _) = listener.accept().unwrap();
    let theirs = TcpStream::connect(at).unwrap();
    std::thread::scope(|scope| {
        for (mut from, mut to) in [(&ours, &theirs), (&theirs, &ours)] {
            scope.spawn(move || {
                let mut bytes = [0; 1024];
                while let Ok(got @ 1..) = from.read(&mut bytes) {
                    to.write_all(&bytes[..got]).unwrap();
                }
                let _ = to.shutdown(std::net::Shutdown::Write);
            });
        }
    });
}

#[test]
fn udp_that_does_not_get_there_where_tcp_does_is_said_to_be_blocked() {
    serving_own(|at, _| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let front = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| relay(at, &listener));
            let why = begun(&RR, &[("protocol", "udp")], front)
                .err()
                .unwrap()
                .to_string();
            assert!(why.contains("UDP is blocked"), "{why}");
            assert!(why.contains(&format!("UDP port {}", front.port())), "{why}");
        });
        // Who can speak is served at once.
        round(&RR, &[], at);
    });
}

#[test]
fn without_a_token_each_says_what_it_needs() {
    let peer: Peer = "192.0.2.1".parse().unwrap();
    for workload in [&RR as &dyn Workload, &CONNECT] {
        let params = params(workload, &[]);
        let why = workload.without_stand_in().unwrap_err();
        assert!(why.contains("KURABE_TOKEN"), "{why}");
        let iperf3 = workload.on_stand_in(&params, &peer.stand_in(false));
        assert_eq!(iperf3.unwrap_err(), why);
        assert!(workload.on_stand_in(&params, &peer.stand_in(true)).is_ok());
        assert!(
            workload
                .touches(&params, Some(&peer.stand_in(false)))
                .is_empty()
        );
        assert_eq!(
            workload.touches(&params, Some(&peer.stand_in(true))).len(),
            1
        );
    }
}

#[test]
fn with_a_rate_messages_arrive_and_wait_for_the_answer_before_them() {
    serving_own(|at, _| {
        for protocol in ["tcp", "udp"] {
            let set = [("rate", "200"), ("protocol", protocol)];
            let begun = monotonic();
            let (done, finish) = round(&RR, &set, at);
            let seconds = model::num::approx(monotonic() - begun) / 1e9;
            // No more than have arrived; one after the other they would be thousands.
            assert!(
                model::num::approx(done) <= seconds * 200.0 + 1.0,
                "{done} in {seconds} s"
            );
            let of = |name: &str| finish.latencies[name].count();
            assert!(of("lat") >= done && of("late") <= of("lat"), "{finish:?}");
        }
        // More than anybody answers: they queue, each behind those before it, and that is said.
        let (_, finish) = round(&RR, &[("rate", "10000000")], at);
        let longest = finish.latencies["lat"].pairs().pop().unwrap().0;
        assert!(longest > MEASURE_MS * 1_000_000 / 2, "{longest}");
        assert!(
            finish
                .notes
                .iter()
                .any(|note| note.contains("more arrived")),
            "{finish:?}"
        );
    });
}
