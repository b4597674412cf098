//! Rounds that their peer ends in the middle: what is kept of them, and what is said.

use super::iperf3::State;
use super::iperf3::serve::tests::client::serving_own;
use super::peer::Peer;
use super::tcp::TCP;
use super::tcp::fake::{Talk, beside, place_of, place_with_token, set};
use super::udp::UDP;
use crate::os::testing::params;
use engine::recorder::Recorder;
use engine::workload::{Finish, Place, WorkError, Workload};
use model::num::approx;
use model::params::Params;
use model::spec::Role;
use model::units::{Bytes, Nanos};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::clock::monotonic;

/// When the peer goes: later than a second, whatever was slow at the beginning.
const GOES_AFTER_NS: u64 = 2_500_000_000;

/// What came of a round: how many seconds it took, and what it says it moved.
struct Came {
    seconds: f64,
    moved: Option<Bytes>,
    finish: Result<Finish, WorkError>,
}

/// A round of 30 s, which may move so much.
fn round(workload: &dyn Workload, params: &Params, peer: &Peer, left: Option<u64>) -> Came {
    round_in(workload, params, place_of(peer, 2).1, left)
}

/// The same there.
fn round_in(workload: &dyn Workload, params: &Params, place: Place, left: Option<u64>) -> Came {
    let place = Place {
        measure: Nanos::from_secs(30),
        bytes_left: left.map(Bytes),
        ..place
    };
    let mut body = match workload.prepare(params, &place) {
        Ok(body) => body,
        Err(why) => {
            return Came {
                seconds: 0.0,
                moved: None,
                finish: Err(why),
            };
        }
    };
    let begun = monotonic();
    let finish = loop {
        match body.batch(5, &mut Recorder::off()) {
            Ok(5) => {}
            Ok(_) => break body.finish(),
            Err(why) => break Err(why),
        }
    };
    Came {
        seconds: approx(monotonic() - begun) / 1e9,
        moved: body.moved(),
        finish,
    }
}

/// Moves data until the peer is to go: bytes that a reader read.
fn flown(talk: &mut Talk) -> u64 {
    let until = monotonic() + GOES_AFTER_NS;
    let (mut block, mut all) = (vec![7; 1 << 16], 0);
    for stream in &talk.streams {
        stream.set_nonblocking(true).unwrap();
    }
    while monotonic() < until {
        for stream in &mut talk.streams {
            let moved = if talk.asked.reverse {
                stream.write(&block)
            } else {
                stream.read(&mut block)
            };
            all += moved.unwrap_or(0) as u64;
        }
    }
    all
}

/// What buffers hold at most, of two streams.
const BUFFERS: f64 = 128e6;

/// A round of TCP whose server goes so: what was kept is what passed.
fn is_kept(direction: &str, goes: fn(&mut Talk), says: &str) {
    let (told, hears) = std::sync::mpsc::channel();
    let script = move |listener: &TcpListener| {
        let mut talk = Talk::begun(listener);
        told.send(flown(&mut talk)).unwrap();
        goes(&mut talk);
    };
    let came = beside(script, |peer| round(&TCP, &set(direction), peer, None));
    let (seconds, moved) = (came.seconds, approx(hears.recv().unwrap()));
    let finish = came.finish.unwrap();
    let rate = finish.reported["bytes_per_s"];
    // The round had measured no longer than it was there, and no less than a second.
    assert!(rate * seconds > moved - BUFFERS, "{rate} {seconds} {moved}");
    assert!(rate < moved + BUFFERS, "{rate} {moved}");
    let why = finish.failed.as_ref().unwrap().to_string();
    for words in ["of 30 s it had measured ", "bit/s", says] {
        assert!(why.contains(words), "{words} in {why}");
    }
    assert!(finish.notes.contains(&why), "{finish:?}");
    let stands = ["acknowledged", "received here"].map(|words| why.contains(words));
    assert_eq!(stands, [direction == "up", direction == "down"], "{why}");
    // The rest of the figures have a value or a reason.
    for metric in TCP.metrics(&set(direction)) {
        let name = metric.quantity;
        if metric.role == Role::Series {
            continue;
        }
        let is_told = finish.reported.contains_key(name) || finish.missing.contains_key(name);
        assert!(is_told, "{name}: {finish:?}");
    }
    assert!(finish.missing.contains_key("peer_cpu_ns_per_gb"));
}

#[test]
fn what_passed_until_the_peer_went_is_kept() {
    std::thread::scope(|scope| {
        for direction in ["up", "down"] {
            scope.spawn(move || {
                let says = |talk: &mut Talk| talk.states(&[State::ServerTerminate]);
                is_kept(direction, says, "SERVER_TERMINATE");
            });
            scope.spawn(move || {
                let done = |talk: &mut Talk| talk.states(&[State::IperfDone]);
                is_kept(direction, done, "IperfDone");
            });
            // As where its process is killed.
            scope.spawn(move || is_kept(direction, |_| (), "127.0.0.1:"));
            scope.spawn(move || {
                let reset = |talk: &mut Talk| {
                    for stream in talk.streams.iter().chain([&talk.control]) {
                        sys::socket::reset_at_close(stream.as_fd()).unwrap();
                    }
                };
                is_kept(direction, reset, "127.0.0.1:");
            });
        }
    });
}

#[test]
fn a_peer_that_goes_before_a_second_leaves_nothing() {
    let script = |listener: &TcpListener| {
        let mut talk = Talk::begun(listener);
        talk.states(&[State::ServerTerminate]);
    };
    let came = beside(script, |peer| round(&TCP, &set("down"), peer, None));
    let why = came.finish.unwrap_err().to_string();
    assert!(!why.contains("measured"), "{why}");
}

#[test]
fn of_datagrams_what_came_here_is_kept_and_what_went_is_said() {
    for direction in ["up", "down"] {
        let set = [("direction", direction), ("rate", "4M"), ("size", "1000")];
        let ends = |at: SocketAddr, stops: &AtomicBool| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    sys::clock::sleep(GOES_AFTER_NS);
                    stops.store(true, Ordering::Relaxed);
                });
                let peer: Peer = at.to_string().parse().unwrap();
                let (_root, place) = place_with_token(&peer, 2);
                let came = round_in(&UDP, &params(&UDP, &set), place, None);
                if direction == "up" {
                    let why = came.finish.unwrap_err().to_string();
                    let says = "MB were sent, and nothing says how much of that arrived";
                    assert!(why.contains(says), "{why}");
                    return;
                }
                let finish = came.finish.unwrap();
                let (rate, lost) = (
                    &finish.reported["bytes_per_s"],
                    &finish.reported["lost_share"],
                );
                // Two flows of 4 Mbit/s.
                assert!(*rate > 1e5 && *rate < 1.1e6 && *lost < 1.0, "{finish:?}");
                let why = finish.failed.as_ref().unwrap().to_string();
                assert!(why.contains("of 30 s it had measured"), "{why}");
                assert!(
                    finish.missing.contains_key("sent_bytes_per_s"),
                    "{finish:?}"
                );
            });
        };
        serving_own(ends);
    }
}

/// What may be moved, and a block of `net.tcp`.
const LEFT: u64 = 40_000_000;
const BLOCK: u64 = 128 << 10;

/// A server that is slow enough for a second to pass: all that it received, or sent, to the end of the streams.
fn slowly(moved: std::sync::mpsc::Sender<u64>) -> impl FnOnce(&TcpListener) + Send {
    move |listener: &TcpListener| {
        let mut talk = Talk::begun(listener);
        let (bytes, seconds) = talk.flown_slowly(20_000_000);
        talk.results();
        talk.counted(&bytes, seconds)
            .write(&mut talk.control)
            .unwrap();
        talk.states(&[State::DisplayResults]);
        assert_eq!(State::read(&mut talk.control).unwrap(), State::IperfDone);
        let mut all = bytes.iter().sum();
        for stream in talk.streams.iter_mut().filter(|_| !talk.asked.reverse) {
            // What was on its way.
            stream.set_nonblocking(false).unwrap();
            all += std::io::copy(stream, &mut std::io::sink()).unwrap();
        }
        moved.send(all).unwrap();
    }
}

#[test]
fn a_round_ends_where_it_has_moved_what_it_may() {
    for direction in ["up", "down"] {
        let (told, hears) = std::sync::mpsc::channel();
        let came = beside(slowly(told), |peer| {
            round(&TCP, &set(direction), peer, Some(LEFT))
        });
        let finish = came.finish.unwrap();
        let (there, here) = (hears.recv().unwrap(), came.moved.unwrap().0);
        if direction == "up" {
            // As the receiver counted.
            assert_eq!(there, here);
            assert!(there <= LEFT, "{there}");
            // Each of both flows may be in the middle of its block.
            assert!(there >= LEFT - 2 * BLOCK, "{there}");
        } else {
            // What came behind the limit is counted as well.
            assert!((LEFT..=there).contains(&here), "{here} of {there}");
        }
        let why = finish.failed.as_ref().unwrap().to_string();
        let says = "the 40.00 MB that were left of `--max-bytes` have passed; of 30 s";
        assert!(why.contains(says), "{why}");
        // Down, it is the work over its time.
        let rate = finish.reported.get("bytes_per_s");
        assert_eq!(rate.is_some(), direction == "up", "{finish:?}");
        assert!(
            finish.reported.contains_key("peer_cpu_ns_per_gb"),
            "{finish:?}"
        );
    }
}

#[test]
fn what_is_over_within_a_second_is_no_figure_and_what_cannot_fit_is_not_begun() {
    let fast = |listener: &TcpListener| {
        let mut talk = Talk::begun(listener);
        flown(&mut talk);
    };
    let came = beside(fast, |peer| round(&TCP, &set("up"), peer, Some(1_000_000)));
    let why = came.finish.unwrap_err().to_string();
    assert!(
        why.contains("1.00 MB that were left of `--max-bytes`"),
        "{why}"
    );
    let moved = came.moved.unwrap().0;
    assert!(
        (1_000_000 - 2 * BLOCK..=1_000_000).contains(&moved),
        "{moved}"
    );
    // Nobody is asked.
    let peer: Peer = "127.0.0.1:9".parse().unwrap();
    let not_begun = |workload: &dyn Workload, params: &Params, left| {
        let why = round(workload, params, &peer, Some(left))
            .finish
            .unwrap_err();
        assert!(matches!(why, WorkError::Unsupported(_)), "{why}");
        assert!(why.to_string().contains("`--max-bytes`"), "{why}");
    };
    not_begun(&TCP, &set("down"), 0);
    // Two flows of 4 Mbit/s for 30 s are 30 MB.
    let of_udp = params(&UDP, &[("rate", "4M")]);
    not_begun(&UDP, &of_udp, 30_000_000);
    let why = round(&UDP, &of_udp, &peer, Some(31_000_000))
        .finish
        .unwrap_err();
    assert!(!why.to_string().contains("--max-bytes"), "{why}");
}
