//! Rounds against servers that follow scripts: what they come to, and whatever goes wrong.

use super::fake::{Talk, beside, place_of, round, round_of, set};
use super::spec::{OF_SENDERS, RATE, RETRANSMITS, RTT_MEAN, RTT_MIN, RWND_LIMITED, SNDBUF_LIMITED};
use super::{NEEDS, TCP};
use crate::net::figures::{CPU, PEER_CPU};
use crate::net::iperf3::{Results, State};
use crate::net::peer::{Peer, reach};
use crate::os::testing::params;
use engine::recorder::Recorder;
use engine::workload::{Finish, StandIn, WorkError, Workload};
use model::named::NamedKind;
use model::spec::How;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;
use sys::clock::monotonic;

/// A server that does what is asked, and tells its results as `change` has them.
fn server(change: impl FnOnce(&mut Results) + Send) -> impl FnOnce(&TcpListener) + Send {
    |listener| {
        let mut talk = Talk::begun(listener);
        let (bytes, seconds) = talk.flown();
        talk.results();
        let mut counted = talk.counted(&bytes, seconds);
        change(&mut counted);
        talk.done(&counted);
    }
}

fn as_it_is(_: &mut Results) {}

/// Every figure has a value or a reason.
fn is_whole(finish: &Finish, direction: &str) {
    let metrics = TCP.metrics(&set(direction)).into_iter();
    for metric in metrics.filter(|metric| !metric.role.is_picture()) {
        let (name, by_itself) = (metric.quantity, matches!(metric.how, How::Reported(_)));
        let is_told = finish.reported.contains_key(name) || finish.missing.contains_key(name);
        assert_eq!(
            is_told,
            by_itself || direction == "up",
            "{name}: {finish:?}"
        );
    }
}

#[test]
fn what_is_sent_is_judged_by_what_the_server_received() {
    for flows in [1, 4] {
        let finish = beside(server(as_it_is), |peer| round(peer, "up", flows)).unwrap();
        is_whole(&finish, "up");
        let of = |quantity: &str| finish.reported[quantity];
        assert!(of(RATE) > 1e6, "{finish:?}");
        assert!(of(CPU.quantity) > 0.0 && of(RTT_MEAN) > 0.0 && of(RTT_MIN) <= of(RTT_MEAN));
        // Half a CPU.
        assert!((of(PEER_CPU.quantity) * of(RATE) / 1e9 / 0.5e9 - 1.0).abs() < 1e-9);
        let shares = of(RWND_LIMITED) + of(SNDBUF_LIMITED);
        assert!((0.0..=1.001).contains(&shares), "{finish:?}");
        assert!(of(RETRANSMITS) >= 0.0);
        let told = "here, `vegas` at the peer";
        assert!(
            finish.notes.iter().any(|note| note.contains(told)),
            "{finish:?}"
        );
    }
}

#[test]
fn what_is_sent_without_a_copy_arrives_and_over_loopback_it_is_copied_after_all() {
    let asks = |direction: &str| params(&TCP, &[("direction", direction), ("zerocopy", "on")]);
    let finish = beside(server(as_it_is), |peer| {
        round_of(&TCP, &asks("up"), peer, 2)
    });
    let finish = finish.unwrap();
    is_whole(&finish, "up");
    assert!(finish.reported[RATE] > 1e6, "{finish:?}");
    let told = |note: &String| note.contains("`zerocopy`: the kernel copied");
    assert!(finish.notes.iter().any(told), "{finish:?}");
    assert_eq!(
        TCP.check_params(&asks("down")).unwrap_err().param,
        "zerocopy"
    );
}

#[test]
fn half_of_what_was_sent_is_half_of_the_rate() {
    let half = |results: &mut Results| {
        for stream in &mut results.streams {
            stream.bytes = 1_000_000;
            stream.start_time = Some(0.5);
            stream.end_time = Some(1.0);
        }
    };
    let finish = beside(server(half), |peer| round(peer, "up", 3)).unwrap();
    assert!((finish.reported[RATE] - 6e6).abs() < 1e-3, "{finish:?}");
}

#[test]
fn what_a_queue_held_arrived_over_the_longer_time() {
    let late = |results: &mut Results| {
        for stream in &mut results.streams {
            (stream.bytes, stream.start_time, stream.end_time) = (1_000_000, Some(0.0), Some(4.0));
        }
    };
    let finish = beside(server(late), |peer| round(peer, "up", 2)).unwrap();
    assert!((finish.reported[RATE] - 5e5).abs() < 1e-3, "{finish:?}");
    let told = |note: &String| note.contains("arrived over 4.0 s: a queue on the way");
    assert!(finish.notes.iter().any(told), "{finish:?}");
}

#[test]
fn what_is_received_is_counted_here() {
    for flows in [1, 4] {
        let finish = beside(server(as_it_is), |peer| round(peer, "down", flows)).unwrap();
        is_whole(&finish, "down");
        assert!(!finish.reported.contains_key(RATE), "work over wall time");
        assert!(finish.reported[CPU.quantity] > 0.0 && finish.reported[PEER_CPU.quantity] > 0.0);
        assert!(finish.reported[RETRANSMITS] > 0.0, "three of each stream");
        let metrics = TCP.metrics(&set("down"));
        assert!(
            metrics
                .iter()
                .all(|metric| !OF_SENDERS.contains(&metric.quantity))
        );
    }
}

#[test]
fn a_server_before_3_2_says_no_time_and_one_before_3_14_wraps() {
    let old = |listener: &TcpListener| {
        let mut talk = Talk::begun(listener);
        let (bytes, _) = talk.flown();
        talk.results();
        let json = format!(
            "{{\"cpu_util_total\":0,\"sender_has_retransmits\":18446744073709551615,\"streams\":[{{\"id\":1,\
             \"bytes\":{},\"retransmits\":18446744073709551615,\"jitter\":0}}]}}",
            bytes[0]
        );
        talk.say(&u32::try_from(json.len()).unwrap().to_be_bytes());
        talk.say(json.as_bytes());
        talk.states(&[State::DisplayResults]);
        assert_eq!(State::read(&mut talk.control).unwrap(), State::IperfDone);
    };
    let finish = beside(old, |peer| round(peer, "up", 1)).unwrap();
    assert!(finish.reported[RATE] > 1e6);
    assert!(
        finish.missing[PEER_CPU.quantity].contains("does not say"),
        "{finish:?}"
    );
    let notes = finish.notes.join("; ");
    assert!(
        notes.contains("before 3.2") && notes.contains("does not say its own"),
        "{notes}"
    );
}

#[test]
fn the_server_is_asked_for_what_was_set() {
    let script = |listener: &TcpListener| {
        let talk = Talk::accept(listener).agreed();
        let asked = &talk.asked;
        assert!(asked.tcp && asked.reverse && !asked.udp);
        assert_eq!((asked.parallel, asked.len, asked.omit), (4, 128 << 10, 0));
        // Whole seconds, and never none.
        assert_eq!((asked.time, asked.num), (1, 0));
        assert!(
            asked
                .client_version
                .as_ref()
                .unwrap()
                .starts_with("kurabe ")
        );
    };
    beside(script, |peer| round(peer, "down", 4)).unwrap_err();
}

/// A round fails with these words, in good time.
#[track_caller]
fn fails(direction: &str, script: impl FnOnce(&TcpListener) + Send, says: &[&str]) -> WorkError {
    let begin = monotonic();
    let why = beside(script, |peer| round(peer, direction, 2)).unwrap_err();
    let took = Duration::from_nanos(monotonic() - begin);
    assert!(took < Duration::from_secs(30), "{took:?}: {why}");
    let words = why.to_string();
    for needle in says {
        assert!(words.contains(needle), "`{needle}`: {words}");
    }
    assert!(words.contains("127.0.0.1:"), "{words}");
    why
}

#[test]
fn a_server_that_refuses_is_told_with_its_words() {
    let error = |listener: &TcpListener| {
        let mut talk = Talk::accept(listener).agreed();
        talk.states(&[State::ServerError]);
        talk.say(&[0, 0, 0, 37, 0, 0, 0, 0]);
    };
    fails(
        "up",
        error,
        &["begin a test with", "longer than it allows", "error 37"],
    );
    let busy = |listener: &TcpListener| {
        let begin = monotonic();
        // It asks again for a while.
        while monotonic() - begin < 2_500_000_000 {
            Talk::accept(listener).states(&[State::AccessDenied]);
        }
        listener.set_nonblocking(true).unwrap();
        let until = monotonic() + 1_500_000_000;
        while monotonic() < until {
            if let Ok((mut late, _)) = listener.accept() {
                let _ = late.write_all(&[0xff]);
            }
        }
    };
    fails(
        "up",
        busy,
        &[
            "it turns us away: it is busy with another test, or ",
            "hint: ",
        ],
    );
}

#[test]
fn a_server_that_is_busy_for_a_moment_is_waited_for() {
    let script = |listener: &TcpListener| {
        Talk::accept(listener).states(&[State::AccessDenied]);
        server(as_it_is)(listener);
    };
    beside(script, |peer| round(peer, "up", 1)).unwrap();
}

#[test]
fn a_server_that_ends_in_the_middle_is_told_with_its_words() {
    let ends = |direction| {
        let terminated = |listener: &TcpListener| {
            let mut talk = Talk::begun(listener);
            sys::clock::sleep(50_000_000);
            talk.states(&[State::ServerTerminate]);
        };
        fails(direction, terminated, &["measure with", "SERVER_TERMINATE"]);
        let error = |listener: &TcpListener| {
            let mut talk = Talk::begun(listener);
            sys::clock::sleep(50_000_000);
            // The streams end first.
            talk.streams.clear();
            talk.states(&[State::ServerError]);
            talk.say(&[0, 0, 0, 144, 0, 0, 0, 0]);
            talk.until_it_goes();
        };
        fails(direction, error, &["no data came for too long", "144"]);
        let gone = |listener: &TcpListener| {
            let _talk = Talk::begun(listener);
            sys::clock::sleep(50_000_000);
        };
        fails(direction, gone, &["closed the control connection"]);
        let one_stream = |listener: &TcpListener| {
            let mut talk = Talk::begun(listener);
            sys::clock::sleep(50_000_000);
            talk.streams.pop();
            talk.until_it_goes();
        };
        fails(direction, one_stream, &["127.0.0.1:"]);
        let reset = |listener: &TcpListener| {
            let talk = Talk::begun(listener);
            sys::clock::sleep(50_000_000);
            for stream in talk.streams.iter().chain([&talk.control]) {
                sys::socket::reset_at_close(stream.as_fd()).unwrap();
            }
        };
        fails(direction, reset, &["127.0.0.1:"]);
        let other = |listener: &TcpListener| {
            let mut talk = Talk::begun(listener);
            talk.states(&[State::CreateStreams]);
            talk.until_it_goes();
        };
        fails(direction, other, &["CreateStreams", "does not belong here"]);
    };
    std::thread::scope(|scope| {
        for direction in ["up", "down"] {
            scope.spawn(move || ends(direction));
        }
    });
}

#[test]
fn what_is_no_iperf3_is_found_out() {
    let web = |listener: &TcpListener| {
        Talk::accept(listener).say(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    };
    fails("up", web, &["`72` is no state", "hint: does iperf3 listen"]);
    let closed = |listener: &TcpListener| drop(listener.accept().unwrap());
    fails("up", closed, &["does iperf3 listen at TCP port"]);
    let early = |listener: &TcpListener| Talk::accept(listener).states(&[State::TestStart]);
    fails("up", early, &["TestStart", "does not belong here"]);
}

/// A server whose results are these bytes.
fn results(bytes: &'static [u8]) -> impl FnOnce(&TcpListener) + Send {
    |listener| {
        let mut talk = Talk::begun(listener);
        talk.flown();
        talk.results();
        talk.say(bytes);
    }
}

#[test]
fn results_that_are_none_are_refused() {
    let end = "end the test with";
    fails("up", results(&[0xff; 8]), &[end, "4294967295 bytes"]);
    fails(
        "down",
        results(b"\0\0\x10\0{\"cpu"),
        &[end, "5 of 4096 bytes came"],
    );
    fails("up", results(b"\0\0\0\x02{]"), &[end, "cannot be read"]);
    fails(
        "up",
        results(b"\0\0\0\x0e{\"streams\":17}"),
        &[end, "a list of streams"],
    );
    fails(
        "down",
        results(b"\0\0\0\x02{}\x0e"),
        &[end, "lack stream 1"],
    );
}

#[test]
fn results_that_cannot_be_are_wrong() {
    let wrong = |change: fn(&mut Results), says| {
        let why = fails("up", server(change), &[says]);
        assert!(matches!(why, WorkError::Wrong(_)), "{why}");
    };
    wrong(|results| results.streams[1].bytes = i64::MAX, "were sent");
    wrong(
        |results| results.streams[0].end_time = Some(9.0),
        "data flowed for 0.4 s",
    );
    wrong(|results| results.streams.truncate(1), "lack stream 3");
    let again = |results: &mut Results| results.streams[0].retransmits = i64::MAX;
    let why = fails("down", server(again), &["segments again, and"]);
    assert!(matches!(why, WorkError::Wrong(_)), "{why}");
    let none = |results: &mut Results| {
        for stream in &mut results.streams {
            stream.bytes = 0;
        }
    };
    fails("up", server(none), &["no byte has arrived"]);
}

#[test]
fn who_says_nothing_or_next_to_nothing_has_a_deadline() {
    let silent = |listener: &TcpListener| {
        Talk::accept(listener).until_it_goes();
    };
    let loris = |listener: &TcpListener| {
        let mut talk = Talk::begun(listener);
        talk.flown();
        talk.results();
        talk.say(&[0, 0, 1, 0]);
        for _ in 0..40 {
            sys::clock::sleep(300_000_000);
            if talk.control.write_all(b" ").is_err() {
                return;
            }
        }
    };
    let no_results = |listener: &TcpListener| {
        let mut talk = Talk::begun(listener);
        talk.flown();
        talk.until_it_goes();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| fails("up", silent, &["no state came in time", "hint: "]));
        scope.spawn(|| fails("up", loris, &["no results came in time"]));
        scope.spawn(|| {
            fails(
                "down",
                no_results,
                &["end the test with", "no state came in time"],
            )
        });
    });
}

#[test]
fn data_that_stands_still_is_given_up() {
    let given_up = |direction| {
        let still = |listener: &TcpListener| {
            Talk::begun(listener).until_it_goes();
        };
        let why = beside(still, |peer| {
            let (_root, place) = place_of(peer, 1);
            let mut body = TCP.prepare(&set(direction), &place).unwrap();
            // It is over then, and has nothing that is kept.
            while body.batch(5, &mut Recorder::off()).unwrap() == 5 {}
            body.finish()
                .map_or_else(|why| why, |finish| finish.failed.unwrap())
        });
        let words = why.to_string();
        assert!(words.contains("no byte has passed for 10 s"), "{words}");
        let where_to = if direction == "up" {
            "to TCP port"
        } else {
            "from TCP port"
        };
        assert!(words.contains(where_to), "{words}");
    };
    std::thread::scope(|scope| {
        for direction in ["up", "down"] {
            scope.spawn(move || given_up(direction));
        }
    });
}

#[test]
fn who_does_not_listen_and_what_is_no_name_are_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer: Peer = listener.local_addr().unwrap().to_string().parse().unwrap();
    drop(listener);
    let why = round(&peer, "up", 1).unwrap_err().to_string();
    let port = peer.port().to_string();
    for needle in [
        "connect to `127.0.0.1:",
        "nobody listens",
        "iperf3 -s -p",
        &port,
    ] {
        assert!(why.contains(needle), "{needle}: {why}");
    }
    let peer: Peer = "db..example".parse().unwrap();
    let why = round(&peer, "up", 1).unwrap_err().to_string();
    assert!(
        why.contains("connect to `db..example:5201`") && why.contains("hint: "),
        "{why}"
    );
}

#[test]
fn a_round_that_is_dropped_halfway_ends_its_threads() {
    let script = |listener: &TcpListener| {
        let mut talk = Talk::begun(listener);
        talk.streams.clear();
    };
    beside(script, |peer| {
        let (_root, place) = place_of(peer, 4);
        let mut body = TCP.prepare(&set("down"), &place).unwrap();
        let _ = body.batch(1, &mut Recorder::off());
        drop(body);
    });
}

#[test]
fn a_look_at_the_peer_is_no_test() {
    let script = |listener: &TcpListener| Talk::accept(listener).states(&[State::ParamExchange]);
    let look = |peer: &Peer| {
        let path = peer.stand_in(false).path;
        reach(&path, &super::fake::permits(peer, None))
    };
    beside(script, look).unwrap();
    let busy = |listener: &TcpListener| Talk::accept(listener).states(&[State::AccessDenied]);
    let why = beside(busy, look).unwrap_err().to_string();
    assert!(why.contains("busy"), "{why}");
    let other: Peer = "127.0.0.1:1".parse().unwrap();
    let why = reach(
        &other.stand_in(false).path,
        &engine::consent::Permits::default(),
    )
    .unwrap_err();
    assert!(why.to_string().contains("no permit"), "{why}");
}

#[test]
fn it_needs_a_peer_and_takes_no_file() {
    assert_eq!(TCP.without_stand_in(), Err(NEEDS.to_owned()));
    let file = StandIn {
        path: Path::new("/x").to_owned(),
        kind: NamedKind::File,
    };
    let on = TCP.on_stand_in(&set("up"), &file).unwrap_err();
    assert!(on.contains("--peer HOST"), "{on}");
    assert!(TCP.touches(&set("up"), Some(&file)).is_empty());
    let host = model::host::HostFacts::default();
    TCP.supported_with(&set("up"), &host, 128).unwrap();
    assert!(TCP.supported_with(&set("up"), &host, 129).is_err());
}
