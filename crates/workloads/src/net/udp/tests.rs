//! Rounds behind a relay that does known things to datagrams, and beside servers that follow scripts.

use super::relay::{Fate, Passed, Rule, through};
use super::spec::{DOUBLED, JITTER, LOST, PACKETS, RATE, REORDERED, SENT};
use super::{UDP, UDP_MAX};
use crate::net::figures::{CPU, PEER_CPU};
use crate::net::iperf3::datagram::{Datagram, REPLY, Width};
use crate::net::iperf3::error_numbers::TOTAL_RATE;
use crate::net::iperf3::{Results, ServerError, State};
use crate::net::peer::Peer;
use crate::net::tcp::fake::{Talk, beside, place_of, place_with_token, round_in, round_of};
use crate::os::testing::params;
use engine::recorder::Recorder;
use engine::workload::{Finish, WorkError, Workload};
use model::latency::LATE;
use model::num::{approx, count};
use model::params::Params;
use model::spec::How;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;
use sys::clock::monotonic;

const DIRECTIONS: [&str; 2] = ["up", "down"];

fn set(direction: &str, rate: &str) -> Params {
    params(
        &UDP,
        &[("direction", direction), ("rate", rate), ("size", "1000")],
    )
}

fn round(peer: &Peer, direction: &str, flows: u32) -> Result<Finish, WorkError> {
    round_of(&UDP, &set(direction, "4M"), peer, flows)
}

/// The same with a server of ours.
fn round_with_token(
    peer: &Peer,
    (direction, rate): (&str, &str),
    flows: u32,
) -> Result<Finish, WorkError> {
    let (_root, place) = place_with_token(peer, flows);
    round_in(&UDP, &set(direction, rate), &place)
}

/// A round through a relay with this rule.
fn relayed(direction: &str, rate: &str, rule: &Rule) -> (Finish, Vec<Passed>) {
    let (finish, passed) = through((direction == "up", rule), |peer| {
        round_with_token(peer, (direction, rate), 1)
    });
    (finish.unwrap(), passed)
}

/// The last that passes: well before the end, so that all of them are seen.
const LAST: u64 = 150;

/// What was lost, out of order and doubled of a list, counted by hand.
fn by_hand(passed: &[Passed]) -> (u64, u64, u64) {
    let (mut highest, mut seen) = (0, BTreeSet::new());
    let (mut late, mut doubled) = (0, 0);
    for (datagram, _) in passed {
        if !seen.insert(datagram.count) {
            doubled += 1;
        } else if datagram.count < highest {
            late += 1;
        }
        highest = highest.max(datagram.count);
    }
    (highest - seen.len() as u64, late, doubled)
}

fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9 * expected.max(1.0)
}

#[test]
fn loss_order_and_doubles_of_known_datagrams_are_exact() {
    let fates = |count: u64, _: u64| match count {
        LAST.. if count > LAST => Fate::Drop,
        _ if count.is_multiple_of(7) && count < LAST => Fate::Drop,
        _ if count.is_multiple_of(11) && count + 12 < LAST => Fate::Behind(1 + count % 10),
        _ if count.is_multiple_of(13) && count < LAST => Fate::Twice,
        _ => Fate::Pass,
    };
    // Down, all of it is counted here. A machine without time sends fewer.
    let found = (0..10).any(|_| {
        let (finish, passed) = relayed("down", "4M", &fates);
        let (lost, late, doubled) = by_hand(&passed);
        let is_whole = passed.iter().any(|(datagram, _)| datagram.count == LAST);
        if is_whole {
            assert!(
                lost > 15 && late > 5 && doubled > 5,
                "{lost} {late} {doubled}"
            );
            // What came before the first look does not count; nothing is done to the first ones.
            let found = |part: u64, before: u64| approx(part) / approx(LAST - before);
            let of = |quantity: &str| finish.reported[quantity];
            let before = (0..6).find(|&before| is_close(of(LOST), found(lost, before)));
            let before = before.unwrap_or_else(|| panic!("{} {lost}", of(LOST)));
            assert!(is_close(of(REORDERED), found(late, before)), "{late}");
            assert!(is_close(of(DOUBLED), found(doubled, before)), "{doubled}");
            let rate = finish.reported[RATE] / 1000.0;
            assert!(is_close(of(PACKETS), rate));
            // Bytes of all that came, over a time that is a little longer than was asked for.
            let came = rate * 0.4 / count(passed.len());
            assert!((0.5..1.01).contains(&came), "{came}");
        }
        is_whole
    });
    assert!(found);
    // Up, a server counts by iperf3's rules, in which doubled ones hide losses.
    let found = (0..10).any(|_| {
        let (finish, passed) = relayed("up", "4M", &fates);
        let (lost, _, doubled) = by_hand(&passed);
        let is_whole = passed.iter().any(|(datagram, _)| datagram.count == LAST);
        if is_whole {
            let expected = approx(lost - doubled) / approx(LAST);
            assert!(
                is_close(finish.reported[LOST], expected),
                "{lost} {doubled}"
            );
            assert!(!finish.reported.contains_key(REORDERED));
        }
        is_whole
    });
    assert!(found);
}

/// RFC 3550 over what passed, by the relay's clock, in nanoseconds.
fn jitter(passed: &[Passed]) -> f64 {
    let transits = passed.iter().map(|(datagram, at)| {
        let sent = u64::from(datagram.seconds) * 1_000_000 + u64::from(datagram.microseconds);
        approx(at / 1000) - approx(sent)
    });
    let (mut jitter, mut last) = (0.0, None);
    for transit in transits {
        let differs: f64 = transit - last.unwrap_or(transit);
        jitter += (differs.abs() - jitter) / 16.0;
        last = Some(transit);
    }
    jitter * 1e3
}

#[test]
fn jitter_is_that_of_known_delays() {
    // One every 10 ms; each second one comes 6 ms late.
    let fates = |count: u64, _: u64| match count {
        31.. => Fate::Drop,
        _ if count.is_multiple_of(2) => Fate::Late(6_000_000),
        _ => Fate::Pass,
    };
    for direction in DIRECTIONS {
        // A receiver that is woken late sees another one.
        let found = (0..20).any(|_| {
            let (finish, passed) = relayed(direction, "800k", &fates);
            let (found, expected) = (finish.reported[JITTER], jitter(&passed));
            assert!(found > 0.0 && expected > 3e6, "{found} {expected}");
            (found / expected - 1.0).abs() < 0.02
        });
        assert!(found, "{direction}");
    }
}

#[test]
fn every_figure_is_there_and_fits_what_was_asked_for() {
    for direction in DIRECTIONS {
        for flows in [1, 4] {
            let pass = |_: u64, _: u64| Fate::Pass;
            let (finish, _) = through((true, &pass), |peer| {
                round_with_token(peer, (direction, "4M"), flows)
            });
            let finish = finish.unwrap();
            let metrics = UDP.metrics(&set(direction, "4M")).into_iter();
            for metric in metrics.filter(|metric| !metric.role.is_picture()) {
                let name = metric.quantity;
                let is_told = match metric.how {
                    How::Of(of, _) => finish.latencies.contains_key(of),
                    _ => finish.reported.contains_key(name) || finish.missing.contains_key(name),
                };
                assert!(is_told, "{direction} {name}: {finish:?}");
            }
            let of = |quantity: &str| finish.reported[quantity];
            let asked = 500_000.0 * f64::from(flows);
            // No more than that, but for the first one, which is sent at once; less where the machine has no time.
            assert!(of(SENT) <= 1.02 * asked && of(SENT) > 0.0, "{}", of(SENT));
            assert!(of(RATE) <= 1.02 * asked && of(RATE) > 0.0, "{}", of(RATE));
            assert!((0.0..1.0).contains(&of(LOST)), "{}", of(LOST));
            assert!(of(CPU.quantity) > 0.0 && of(PEER_CPU.quantity) > 0.0);
            assert_eq!(finish.latencies.contains_key(LATE), direction == "up");
        }
    }
}

#[test]
fn the_highest_rate_that_a_policer_lets_through_is_found() {
    const BITS: f64 = 40e6;
    let policed = || {
        // A bucket of 50 ms.
        let room = BITS / 8.0 * 0.05;
        let bucket = std::sync::Mutex::new((room, 0));
        let fates = move |_: u64, now: u64| {
            let mut bucket = bucket.lock().unwrap();
            let filled = approx(now - bucket.1.min(now)) / 1e9 * BITS / 8.0;
            *bucket = ((bucket.0 + filled).min(room), now);
            if bucket.0 < 1400.0 {
                return Fate::Drop;
            }
            bucket.0 -= 1400.0;
            Fate::Pass
        };
        let (finish, _) = through((true, &fates), |peer| {
            let (_root, place) = place_with_token(peer, 1);
            let mut body = UDP_MAX.prepare(&params(&UDP_MAX, &[]), &place)?;
            assert!(body.batch(u64::MAX, &mut Recorder::off())? < 20);
            body.finish()
        });
        let finish: Finish = finish.unwrap();
        let held = finish.reported.get(RATE).map(|rate| rate * 8.0);
        held.is_some_and(|held| (0.9 * BITS..1.06 * BITS).contains(&held))
    };
    assert!((0..4).any(|_| policed()));
}

#[test]
fn a_search_tells_that_the_server_allows_no_rate() {
    let refuses = |listener: &TcpListener| loop {
        let mut talk = Talk::accept(listener).agreed();
        talk.states(&[State::ServerError]);
        let why = ServerError {
            number: TOTAL_RATE,
            errno: 0,
        };
        why.write(&mut talk.control).unwrap();
        // The lowest rate that is tried.
        if talk.asked.bandwidth <= 100_000 {
            break;
        }
    };
    let finish = beside(refuses, |peer| {
        let (_root, place) = place_of(peer, 1);
        let mut body = UDP_MAX.prepare(&params(&UDP_MAX, &[]), &place)?;
        body.batch(u64::MAX, &mut Recorder::off())?;
        body.finish()
    });
    let why = &finish.unwrap().missing[RATE];
    assert!(why.contains("does not allow 100 kbit/s"), "{why}");
}

/// A stream of a server that follows a script.
struct Stream {
    talk: Talk,
    socket: UdpSocket,
    client: SocketAddr,
}

impl Stream {
    /// Takes in a client and its only stream.
    fn begun(listener: &TcpListener) -> Self {
        let socket = UdpSocket::bind(listener.local_addr().unwrap()).unwrap();
        let mut talk = Talk::accept(listener).agreed();
        assert!(talk.asked.udp && talk.asked.udp_counters_64bit == 1);
        talk.states(&[State::CreateStreams]);
        let (_, client) = socket.recv_from(&mut [0; 64]).unwrap();
        socket.connect(client).unwrap();
        socket.send(&REPLY).unwrap();
        talk.states(&[State::TestStart, State::TestRunning]);
        Self {
            talk,
            socket,
            client,
        }
    }

    fn send(&self, count: u64) {
        let mut bytes = [0; 1000];
        let datagram = Datagram {
            seconds: 1,
            microseconds: 0,
            count,
        };
        datagram.write(&mut bytes, Width::Bits64);
        self.socket.send(&bytes).unwrap();
    }

    /// Waits for the end, and asks for results, which it returns.
    fn ended(&mut self) -> Results {
        assert_eq!(State::read(&mut self.talk.control).unwrap(), State::TestEnd);
        self.talk.results()
    }

    /// Gives results in which `change` has changed those of the client.
    fn done(mut self, change: impl FnOnce(&mut Results)) {
        let mut results = self.ended();
        change(&mut results);
        results.write(&mut self.talk.control).unwrap();
        let _ = State::DisplayResults.write(&mut self.talk.control);
        let _ = State::read(&mut self.talk.control);
    }
}

/// A round fails with these words, in good time.
#[track_caller]
fn fails(direction: &str, script: impl FnOnce(&TcpListener) + Send, says: &[&str]) -> WorkError {
    let begin = monotonic();
    let why = beside(script, |peer| round(peer, direction, 1)).unwrap_err();
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
fn udp_that_is_blocked_while_tcp_passes_is_told_with_port_and_direction() {
    let agreed = |listener: &TcpListener| {
        let mut talk = Talk::accept(listener).agreed();
        talk.states(&[State::CreateStreams]);
        talk
    };
    let silent = move |listener: &TcpListener| {
        let _socket = UdpSocket::bind(listener.local_addr().unwrap()).unwrap();
        agreed(listener).until_it_goes();
    };
    let no_answer = move |listener: &TcpListener| {
        let _socket = UdpSocket::bind(listener.local_addr().unwrap()).unwrap();
        let mut talk = agreed(listener);
        talk.states(&[State::TestStart]);
        talk.until_it_goes();
    };
    let refused = move |listener: &TcpListener| agreed(listener).until_it_goes();
    let ended = move |listener: &TcpListener, more: &[State], why: Option<ServerError>| {
        let mut talk = agreed(listener);
        talk.states(more);
        if let Some(why) = why {
            why.write(&mut talk.control).unwrap();
        }
        talk.until_it_goes();
    };
    let lacks = |listener: &TcpListener| {
        let why = ServerError {
            number: 200,
            errno: 24,
        };
        ended(listener, &[State::ServerError], Some(why));
    };
    let interrupted = |listener: &TcpListener| {
        let all = [State::TestStart, State::TestRunning, State::ServerTerminate];
        ended(listener, &all, None);
    };
    let blocked = "begin a test with `127.0.0.1:";
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let says = [blocked, "UDP is blocked", "TCP passes", "goes to UDP port"];
            fails("up", silent, &says)
        });
        scope.spawn(|| {
            let says = [
                blocked,
                "UDP is blocked: the server heard us",
                "comes from UDP port",
            ];
            fails("down", no_answer, &says)
        });
        scope.spawn(|| {
            fails(
                "up",
                lacks,
                &[blocked, "Too many open files", "or fewer flows"],
            )
        });
        scope.spawn(|| fails("down", interrupted, &[blocked, "interrupted"]));
        scope.spawn(|| fails("up", refused, &[blocked, "UDP is blocked", "is refused"]));
    });
}

#[test]
fn a_first_word_that_is_lost_is_said_again() {
    let script = |listener: &TcpListener| {
        let socket = UdpSocket::bind(listener.local_addr().unwrap()).unwrap();
        let mut talk = Talk::accept(listener).agreed();
        talk.states(&[State::CreateStreams]);
        let mut last = None;
        for _ in 0..3 {
            last = Some(socket.recv_from(&mut [0; 64]).unwrap().1);
        }
        socket.send_to(&REPLY, last.unwrap()).unwrap();
        talk.states(&[State::TestStart, State::ServerTerminate]);
    };
    // So far it came.
    fails("up", script, &["interrupted"]);
}

#[test]
fn results_that_cannot_be_are_wrong() {
    let wrong = |change: fn(&mut Results), says| {
        let server = move |listener: &TcpListener| Stream::begun(listener).done(change);
        let why = fails("up", server, &["end the test with", says]);
        assert!(matches!(why, WorkError::Wrong(_)), "{why}");
    };
    wrong(|all| all.streams[0].packets += 1, "were sent");
    wrong(|all| all.streams[0].bytes = i64::MAX, "were sent");
    wrong(|all| all.streams[0].errors = -1, "losses are -1");
    wrong(
        |all| all.streams[0].errors = all.streams[0].packets + 1,
        "of them lost",
    );
    wrong(|all| all.streams[0].end_time = Some(9.0), "took 9.0 s");
    wrong(|all| all.streams.clear(), "lack stream 1");
    let none = |listener: &TcpListener| {
        Stream::begun(listener).done(|all| {
            (all.streams[0].packets, all.streams[0].bytes) = (0, 0);
        });
    };
    fails("up", none, &["none has arrived", "too long", "to UDP port"]);
    let more = |listener: &TcpListener| {
        let stream = Stream::begun(listener);
        for count in [1, 2, 900] {
            stream.send(count);
        }
        stream.done(|all| all.streams[0].packets = 3);
    };
    let why = fails("down", more, &["sent 3 datagrams, and number 900 came"]);
    assert!(matches!(why, WorkError::Wrong(_)), "{why}");
}

#[test]
fn what_a_server_said_of_losses_and_jitter_is_told() {
    let server = |listener: &TcpListener| {
        Stream::begun(listener).done(|all| {
            let stream = &mut all.streams[0];
            stream.errors = stream.packets / 2;
            stream.jitter = Some(0.0025);
            stream.packets -= 1;
            all.cpu_util_total = Some(50.0);
        });
    };
    let finish = beside(server, |peer| round(peer, "up", 1)).unwrap();
    assert!((0.45..0.52).contains(&finish.reported[LOST]), "{finish:?}");
    assert!(is_close(finish.reported[JITTER], 2.5e6));
    let cost = finish.reported[PEER_CPU.quantity] * finish.reported[RATE] / 1e9;
    assert!(is_close(cost, 0.5e9), "{cost}");
    // Of the second half nothing came.
    let half = |listener: &TcpListener| {
        Stream::begun(listener).done(|all| all.streams[0].packets /= 2);
    };
    let slow = params(&UDP, &[("rate", "80k"), ("size", "100")]);
    let finish = beside(half, |peer| round_of(&UDP, &slow, peer, 1)).unwrap();
    // The kernel's counters are of other tests' datagrams too.
    let is_late = |note: &String| note.contains("nothing had arrived at its end");
    assert!(
        !finish.notes.iter().any(is_late),
        "0.2 s are not long: {finish:?}"
    );
}

#[test]
fn nobody_but_the_peer_is_heard_and_garbage_is_no_data() {
    let server = |listener: &TcpListener| {
        let stream = Stream::begun(listener);
        let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut bytes = [0xff; 1000];
        // What comes before the first look does not count.
        sys::clock::sleep(100_000_000);
        for count in 1..=20 {
            stream.send(count);
            for length in [1000, 16, 4, 0] {
                let _ = stranger.send_to(&bytes[..length], stream.client);
            }
            // Too short to be data.
            for length in [0, 4, 15] {
                stream.socket.send(&bytes[..length]).unwrap();
            }
            bytes[0] = 0;
        }
        stream.done(|all| all.streams[0].packets = 20);
    };
    let finish = beside(server, |peer| round(peer, "down", 1)).unwrap();
    let of = |quantity: &str| finish.reported[quantity];
    let none = [LOST, REORDERED, DOUBLED].map(of);
    assert!(none.iter().all(|share| *share <= 0.0), "{none:?}");
    assert!(of(RATE) <= 20_000.0 / 0.4, "{finish:?}");
}

#[test]
fn a_server_that_ends_in_the_middle_is_told_with_its_words() {
    for direction in DIRECTIONS {
        let terminated = |listener: &TcpListener| {
            let mut stream = Stream::begun(listener);
            sys::clock::sleep(50_000_000);
            stream.talk.states(&[State::ServerTerminate]);
        };
        fails(direction, terminated, &["measure with", "SERVER_TERMINATE"]);
        let gone = |listener: &TcpListener| {
            let _stream = Stream::begun(listener);
            sys::clock::sleep(50_000_000);
        };
        fails(direction, gone, &["127.0.0.1:"]);
    }
    let refuses = |listener: &TcpListener| {
        let mut talk = Talk::accept(listener).agreed();
        talk.states(&[State::ServerError]);
        talk.say(&[0, 0, 0, 27, 0, 0, 0, 0]);
    };
    fails(
        "up",
        refuses,
        &["begin a test with", "rate of all streams", "27"],
    );
}

#[test]
fn a_peer_that_stands_still_is_given_up() {
    let still = |listener: &TcpListener| {
        let stream = Stream::begun(listener);
        stream.talk.until_it_goes();
    };
    let down = || {
        let why = beside(still, |peer| {
            let (_root, place) = place_of(peer, 1);
            let mut body = UDP.prepare(&set("down", "4M"), &place).unwrap();
            // It is over then, and has nothing that is kept.
            while body.batch(5, &mut Recorder::off()).unwrap() == 5 {}
            body.finish()
                .map_or_else(|why| why, |finish| finish.failed.unwrap())
        });
        let words = why.to_string();
        assert!(words.contains("no byte has passed for 10 s"), "{words}");
        assert!(words.contains("from UDP port"), "{words}");
    };
    std::thread::scope(|scope| {
        scope.spawn(down);
        // What is sent into the void is not seen before the end.
        scope.spawn(|| fails("up", still, &["end the test with", "no state came in time"]));
    });
}

#[test]
fn values_that_cannot_be_are_refused() {
    let check = |name: &str, value: &str, fits: bool| {
        let found = UDP.check_params(&params(&UDP, &[(name, value)]));
        assert_eq!(found.is_ok(), fits, "{name} {value}: {found:?}");
    };
    check("rate", "2.5G", true);
    check("size", "16", true);
    check("size", "65507", true);
    for (name, value) in [
        ("rate", "0"),
        ("rate", "fast"),
        ("size", "15"),
        ("size", "65508"),
        ("time", "500ms"),
        ("omit", "1500ms"),
    ] {
        check(name, value, false);
    }
    assert!(UDP.without_stand_in().is_err() && UDP_MAX.without_stand_in().is_err());
}
