//! Rounds that may move so many bytes: how many they move, over all of their flows.

use super::iperf3::serve::tests::client::serving_own;
use super::peer::Peer;
use super::rr::{CONNECT, RR};
use super::tcp::TCP;
use super::tcp::fake::place_with_token;
use super::udp::UDP;
use crate::os::testing::params;
use engine::recorder::Recorder;
use engine::workload::{Place, Workload};
use model::units::{Bytes, Nanos};
use std::net::SocketAddr;

/// What a round says it moved, and whether it came to its end.
fn moved(
    workload: &dyn Workload,
    set: &[(&str, &str)],
    (at, flows): (SocketAddr, u32),
    (left, measure): (u64, Nanos),
) -> (u64, bool) {
    let peer: Peer = at.to_string().parse().unwrap();
    let (_root, place) = place_with_token(&peer, flows);
    let place = Place {
        bytes_left: Some(Bytes(left)),
        measure,
        ..place
    };
    let mut body = match workload.prepare(&params(workload, set), &place) {
        Ok(body) => body,
        Err(why) => {
            assert!(why.to_string().contains("`--max-bytes`"), "{why}");
            return (0, false);
        }
    };
    let until = sys::clock::monotonic() + measure.0;
    while sys::clock::monotonic() < until {
        match body.batch(5, &mut Recorder::off()) {
            Ok(5) => {}
            Ok(_) => return (body.moved().unwrap().0, false),
            Err(why) => {
                assert!(why.to_string().contains("`--max-bytes`"), "{why}");
                return (body.moved().unwrap().0, false);
            }
        }
    }
    (body.moved().unwrap().0, true)
}

/// Longer than any of these rounds takes to come to its bound.
const LONG: Nanos = Nanos::from_secs(20);

/// Bytes that a line of the server says it received or sent, which it tells to a hundredth.
fn most_told(said: &[String]) -> f64 {
    let megabytes = said.iter().filter_map(|line| {
        let (_, rest) = line
            .split_once(", received ")
            .or(line.split_once(", sent "))?;
        let (number, unit) = rest.split_once(' ')?;
        let number: f64 = number.parse().ok()?;
        match unit.split(' ').next() {
            Some("MB") => Some(number),
            Some("kB") => Some(number / 1e3),
            _ => panic!("{line}"),
        }
    });
    megabytes.fold(0.0, f64::max)
}

#[test]
fn no_flow_of_tcp_goes_beyond_it_however_many_and_however_large_their_blocks() {
    const LEFT: u64 = 20_000_000;
    for direction in ["up", "down"] {
        for (flows, size) in [(1, "128k"), (128, "128k"), (16, "1M"), (3, "1k")] {
            let said = serving_own(|at, _| {
                let set = [("direction", direction), ("size", size)];
                let (moved, is_whole) = moved(&TCP, &set, (at, flows), (LEFT, LONG));
                assert!(
                    !is_whole && moved <= LEFT,
                    "{direction} {flows} {size}: {moved}"
                );
                // Up, a flow may be in the middle of a block when the others are at the end.
                let least = if direction == "up" { LEFT / 4 } else { LEFT };
                assert!(moved >= least, "{direction} {flows} {size}: {moved}");
            });
            // The other end has counted no more either.
            let told = most_told(&said);
            assert!(told <= 20.0, "{direction} {flows} {size}: {said:?}");
        }
    }
}

#[test]
fn rounds_one_after_the_other_share_what_is_left() {
    let said = serving_own(|at, _| {
        let mut left = 5_000_000;
        for (direction, flows) in [("down", 2), ("up", 4), ("down", 1), ("up", 1)] {
            // Each may move a half of it.
            let set = [("direction", direction), ("size", "1M")];
            let (moved, _) = moved(&TCP, &set, (at, flows), (left / 2, LONG));
            assert!(moved <= left / 2, "{direction}: {moved} of {left}");
            left -= moved;
        }
        assert!(left >= 5_000_000 / 16);
    });
    assert!(most_told(&said) <= 2.5, "{said:?}");
}

#[test]
fn messages_and_load_beside_them_do_not_go_beyond_it() {
    for (set, left) in [
        (&[("size", "32k")][..], 1_000_000),
        (&[("size", "32k"), ("protocol", "udp")], 1_000_000),
        (
            &[("size", "1"), ("load", "up"), ("flows", "16")],
            20_000_000,
        ),
        (
            &[("size", "1"), ("load", "down"), ("flows", "1")],
            20_000_000,
        ),
        (
            &[("size", "32k"), ("load", "both"), ("flows", "16")],
            20_000_001,
        ),
        // Less than one message.
        (&[("size", "32k")], 65_535),
    ] {
        serving_own(|at, _| {
            let (moved, is_whole) = moved(&RR, set, (at, 1), (left, LONG));
            assert!(!is_whole && moved <= left, "{set:?}: {moved}");
            let has_load_down = set
                .iter()
                .any(|(_, value)| ["down", "both"].contains(value));
            let least = if has_load_down {
                left / 2
            } else {
                left * 4 / 5
            };
            // A batch of messages did not begin.
            let batch = if set[0].1 == "1" { 10 } else { 10 << 15 };
            assert!(moved + batch >= least, "{set:?}: {moved}");
        });
    }
}

#[test]
fn connections_do_not_go_beyond_it() {
    for left in [38, 1000, 38_000] {
        serving_own(|at, _| {
            let (moved, is_whole) = moved(&CONNECT, &[], (at, 1), (left, LONG));
            assert!(
                !is_whole && moved <= left && moved + 6 * 38 > left,
                "{moved}"
            );
        });
    }
}

#[test]
fn datagrams_go_at_their_rate_or_not_at_all() {
    let second = Nanos::from_secs(1);
    for (direction, flows, left) in [
        ("up", 1, 1_100_000),
        ("down", 1, 1_100_000),
        ("up", 16, 16_500_000),
        ("down", 16, 16_500_000),
        ("up", 16, 15_000_000),
        ("down", 16, 1),
    ] {
        serving_own(|at, _| {
            let set = [("direction", direction), ("rate", "8M"), ("size", "1000")];
            let (moved, _) = moved(&UDP, &set, (at, flows), (left, second));
            let fits = left > 1_000_000 * u64::from(flows);
            assert_eq!(moved > 0, fits, "{direction} {flows}: {moved}");
            assert!(moved <= left, "{direction} {flows}: {moved} of {left}");
        });
    }
}
