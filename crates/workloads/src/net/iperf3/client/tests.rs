//! Tests beside iperf3's own server, and beside servers that follow a script.
//!
//! Where no iperf3 is installed each test that needs it says that it was skipped.

use super::*;
use crate::net::iperf3::{Cookie, State};
use model::flows::{Counted, RemoteReport};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};

/// Nothing here takes so long; it is an end for what would hang.
const LONG: Duration = Duration::from_secs(60);

/// What came to whoever looked on.
#[derive(Default)]
struct Seen {
    begun: Option<Begun>,
    intervals: Vec<Interval>,
    stops_after: Option<usize>,
}

impl Onlooker for Seen {
    fn greeted(&mut self, greeted: &Greeted) {
        assert_eq!(greeted.cookie.len(), 36);
        assert!(greeted.mss > 500 && greeted.block.0 > 0);
    }

    fn begun(&mut self, begun: &Begun) {
        self.begun = Some(begun.clone());
    }

    fn interval(&mut self, interval: &Interval) {
        self.intervals.push(interval.clone());
    }

    fn stops(&self) -> bool {
        self.stops_after
            .is_some_and(|after| self.intervals.len() >= after)
    }
}

fn order(at: SocketAddr, parameters: Parameters) -> Order {
    Order {
        peer: at.to_string().parse().unwrap(),
        family: None,
        connect_within: Some(LONG),
        interval: Some(Duration::from_millis(250)),
        parameters: Parameters {
            tcp: !parameters.udp,
            pacing_timer: 1000,
            parallel: parameters.parallel.max(1),
            len: if parameters.udp { 1000 } else { 8192 },
            ..parameters
        },
    }
}

/// A server of iperf3 for one test.
struct Theirs(Child);

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Theirs {
    #[expect(clippy::disallowed_methods, reason = "the test ends its program")]
    fn start(port: u16) -> Option<Self> {
        let mut command = Command::new("iperf3");
        command.args(["-s", "-1", "-B", "127.0.0.1", "-p", &port.to_string()]);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        match quiet.stderr(Stdio::null()).spawn() {
            Ok(child) => Some(Self(child)),
            Err(error) => {
                let test = std::thread::current();
                eprintln!("skipped: {}: no iperf3: {error}", test.name().unwrap_or(""));
                None
            }
        }
    }
}

/// Whether a server listens, as the kernel's table has it: a connection would be a client.
fn is_heard(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.contains(&format!("0100007F:{port:04X} 00000000:0000 0A"))
}

/// Beside a server of iperf3; none where that is not installed.
fn served(parameters: Parameters) -> Option<(Seen, Result<Ended, Stopped>)> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let _server = Theirs::start(at.port())?;
    let until = Until::after(LONG);
    while !is_heard(at.port()) {
        assert!(until.left().is_some(), "iperf3 does not listen");
        sys::clock::sleep(5_000_000);
    }
    let mut seen = Seen::default();
    let done = run(&order(at, parameters), &mut seen);
    Some((seen, done))
}

/// Beside a server that follows a script.
fn scripted(
    script: impl FnOnce(&TcpListener) + Send,
    parameters: Parameters,
    mut seen: Seen,
) -> Stopped {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || script(&listener));
        run(&order(at, parameters), &mut seen).unwrap_err()
    })
}

/// Takes a client in, with one stream, as far as its data.
fn begin(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let (mut control, _) = listener.accept().unwrap();
    Cookie::read(&mut control).unwrap();
    State::ParamExchange.write(&mut control).unwrap();
    Parameters::read(&mut control).unwrap();
    State::CreateStreams.write(&mut control).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    Cookie::read(&mut stream).unwrap();
    for state in [State::TestStart, State::TestRunning] {
        state.write(&mut control).unwrap();
    }
    (control, stream)
}

fn bytes_of(counted: Option<Counted>) -> u64 {
    counted.unwrap().bytes.0
}

/// Intervals follow each other without a gap, and their sums are what was counted in all.
fn fits(seen: &Seen, ended: &Ended) {
    let counted = seen
        .intervals
        .iter()
        .filter(|interval| !interval.is_omitted);
    let counted: Vec<&Interval> = counted.collect();
    assert_eq!(counted[0].start, Nanos::ZERO);
    assert!(counted.windows(2).all(|two| two[0].end == two[1].start));
    assert_eq!(counted.last().unwrap().end, ended.span);
    for (place, flow) in ended.flows.iter().enumerate() {
        let all = counted.iter().map(|interval| interval.moved[place].bytes.0);
        let own = if flow.sends { flow.sent } else { flow.received };
        assert_eq!(all.sum::<u64>(), bytes_of(own));
        assert!(bytes_of(own) > 0);
        // What was sent and did not come was on its way; the two clocks begin and end apart.
        assert!(bytes_of(flow.sent) > 0 && bytes_of(flow.received) > 0);
    }
}

#[test]
fn data_flows_each_way_and_every_interval_is_told() {
    for (reverse, bidirectional, parallel, sends) in [
        (false, false, 1, vec![true]),
        (true, false, 2, vec![false; 2]),
        (false, true, 2, vec![true, true, false, false]),
    ] {
        let Some((seen, done)) = served(Parameters {
            time: 1,
            reverse,
            bidirectional,
            parallel,
            ..Parameters::default()
        }) else {
            return;
        };
        let ended = done.unwrap();
        let told: Vec<bool> = ended.flows.iter().map(|flow| flow.sends).collect();
        assert_eq!(told, sends);
        let begun = seen.begun.as_ref().unwrap();
        assert!(begun.flows.iter().map(|flow| flow.sends).eq(sends));
        assert!(begun.buffers.iter().all(|bytes| bytes.0 > 0));
        fits(&seen, &ended);
        assert!(seen.intervals.len() >= 2, "{:?}", seen.intervals);
        assert!(ended.span >= Nanos::from_secs(1));
        for flow in &ended.flows {
            assert!(flow.retransmits.is_some() && flow.peaks.unwrap().snd_cwnd.0 > 0);
        }
        assert!(ended.cpu.total_percent > Some(0.0) && ended.remote_cpu.total_percent.is_some());
        assert_eq!(ended.congestion, ended.remote_congestion);
    }
}

#[test]
fn bytes_and_blocks_end_a_test_of_all_streams_together() {
    for (num, blockcount, reverse) in [(100_000, 0, false), (0, 13, false), (100_000, 0, true)] {
        let Some((seen, done)) = served(Parameters {
            num,
            blockcount,
            reverse,
            parallel: 2,
            ..Parameters::default()
        }) else {
            return;
        };
        let ended = done.unwrap();
        let own = |flow: &model::flows::Carried| {
            bytes_of(if reverse { flow.received } else { flow.sent })
        };
        let all: u64 = ended.flows.iter().map(own).sum();
        // 13 blocks of 8192 bytes are the first that hold 100,000.
        if reverse {
            assert!((100_000..100_000 + 2 * 8192).contains(&all), "{all}");
        } else {
            assert_eq!(all, 13 * 8192);
        }
        assert!(ended.span > Nanos::ZERO);
        assert_eq!(seen.intervals.last().unwrap().end, ended.span);
    }
}

/// A test by UDP, of 1 Mbit/s where it has no other rate.
fn by_udp(parameters: Parameters) -> Option<(Seen, Ended)> {
    let bandwidth = match parameters.bandwidth {
        0 => 1_000_000,
        other => other,
    };
    let (seen, done) = served(Parameters {
        udp: true,
        bandwidth,
        ..parameters
    })?;
    Some((seen, done.unwrap()))
}

#[test]
fn datagrams_flow_each_way_and_are_counted_at_both_ends() {
    for (reverse, bidirectional, parallel, wide) in [
        (false, false, 1, 0),
        (true, false, 2, 1),
        (false, true, 2, 0),
    ] {
        let Some((seen, ended)) = by_udp(Parameters {
            time: 1,
            reverse,
            bidirectional,
            parallel,
            udp_counters_64bit: wide,
            ..Parameters::default()
        }) else {
            return;
        };
        fits(&seen, &ended);
        assert!(seen.intervals.len() >= 2, "{:?}", seen.intervals);
        for (place, flow) in ended.flows.iter().enumerate() {
            let sent = flow.sent_packets.unwrap();
            let came = flow.datagrams.unwrap();
            assert_eq!((came.lost, came.out_of_order), (0, 0));
            // Some were on their way at the end, or before the other end counted.
            assert!(came.packets.abs_diff(sent) <= 20, "{came:?} of {sent}");
            assert!((80..=160).contains(&sent), "{sent}");
            let told = seen.intervals.iter().map(|all| all.moved[place]);
            let told: u64 = told.map(|one| one.datagrams.unwrap().packets).sum();
            assert_eq!(told, if flow.sends { sent } else { came.packets });
            if !flow.sends {
                assert!(came.jitter > Nanos::ZERO);
                assert_eq!(bytes_of(flow.received), 1000 * came.packets);
            }
            assert!(flow.retransmits.is_none() && flow.peaks.is_none());
        }
        assert_eq!(
            (&ended.congestion, &ended.remote_congestion),
            (&None, &None)
        );
    }
}

#[test]
fn bytes_and_blocks_end_a_test_by_udp() {
    for (num, blockcount, reverse) in [(20_500, 0, false), (0, 21, false), (20_500, 0, true)] {
        let Some((seen, ended)) = by_udp(Parameters {
            num,
            blockcount,
            reverse,
            ..Parameters::default()
        }) else {
            return;
        };
        let flow = &ended.flows[0];
        let own = if reverse { flow.received } else { flow.sent };
        // A look every 5 ms sees that it is enough, and another datagram comes in 8 ms.
        assert!((21_000..=23_000).contains(&bytes_of(own)), "{own:?}");
        assert_eq!(seen.intervals.last().unwrap().end, ended.span);
    }
}

#[test]
fn datagrams_that_are_omitted_are_in_no_count() {
    for reverse in [false, true] {
        let Some((seen, ended)) = by_udp(Parameters {
            omit: 1,
            time: 1,
            reverse,
            ..Parameters::default()
        }) else {
            return;
        };
        assert!(seen.intervals[0].is_omitted);
        let flow = &ended.flows[0];
        let (sent, came) = (flow.sent_packets.unwrap(), flow.datagrams.unwrap().packets);
        assert!(
            (80..=160).contains(&sent) && (80..=160).contains(&came),
            "{sent} {came}"
        );
    }
}

#[test]
fn datagrams_without_a_size_are_as_long_as_a_segment_and_go_as_fast_as_they_may() {
    let order = |len, mss| {
        let parameters = Parameters {
            udp: true,
            ..Parameters::default()
        };
        let mut order = order("127.0.0.1:1".parse().unwrap(), parameters);
        order.parameters.len = len;
        order.sized(mss).parameters.len
    };
    assert_eq!(order(0, 1448), 1448);
    assert_eq!(order(0, 65_520), 1460);
    assert_eq!(order(1200, 1448), 1200);
    let Some((_, done)) = served(Parameters {
        udp: true,
        num: 3_000_000,
        bandwidth: 900_000_000_000,
        ..Parameters::default()
    }) else {
        return;
    };
    let sent = done.unwrap().flows[0].sent_packets.unwrap();
    assert!(sent >= 3000, "{sent}");
}

#[test]
fn what_is_omitted_comes_first_and_is_not_counted() {
    for num in [0_i64, 20_000_000] {
        let Some((seen, done)) = served(Parameters {
            omit: 1,
            time: i64::from(num == 0),
            num,
            ..Parameters::default()
        }) else {
            return;
        };
        let ended = done.unwrap();
        let omitted = seen
            .intervals
            .iter()
            .take_while(|interval| interval.is_omitted);
        let omitted: Vec<&Interval> = omitted.collect();
        assert_eq!(omitted[0].start, Nanos::ZERO);
        assert!(omitted.last().unwrap().end >= Nanos::from_secs(1));
        assert!(
            seen.intervals[omitted.len()..]
                .iter()
                .all(|interval| !interval.is_omitted)
        );
        let counted = &seen.intervals[omitted.len()..];
        assert_eq!(counted[0].start, Nanos::ZERO);
        assert_eq!(counted.last().unwrap().end, ended.span);
        let sum: u64 = counted
            .iter()
            .map(|interval| interval.moved[0].bytes.0)
            .sum();
        assert_eq!(sum, bytes_of(ended.flows[0].sent));
        assert!(sum >= num.unsigned_abs(), "{sum}");
    }
}

#[test]
fn a_rate_is_kept_and_blocks_go_at_once() {
    for burst in [0, 4] {
        let Some((_, done)) = served(Parameters {
            time: 1,
            bandwidth: 4_000_000,
            burst,
            ..Parameters::default()
        }) else {
            return;
        };
        let ended = done.unwrap();
        let sent = bytes_of(ended.flows[0].sent);
        let most = 500_000.0 * ended.span.as_secs_f64() + 8192.0 * 5.0;
        assert!(
            sent > 8192 && model::num::approx(sent) <= most,
            "{sent} {most}"
        );
    }
}

#[test]
fn the_server_s_own_report_is_there_where_it_was_asked_for() {
    let Some((_, done)) = served(Parameters {
        num: 10_000,
        get_server_output: 1,
        ..Parameters::default()
    }) else {
        return;
    };
    let report = done.unwrap().remote_report.unwrap();
    assert!(matches!(report, RemoteReport::Text(text) if text.contains("receiver")));
}

#[test]
fn sockets_are_set_as_asked_or_there_is_no_test() {
    let Some((seen, done)) = served(Parameters {
        num: 10_000,
        mss: 1000,
        window: 50_000,
        nodelay: true,
        ..Parameters::default()
    }) else {
        return;
    };
    done.unwrap();
    assert_eq!(seen.begun.unwrap().buffers, [Bytes(100_000); 2]);
    let Some((_, done)) = served(Parameters {
        num: 10_000,
        congestion: Some("nonesuch".to_owned()),
        ..Parameters::default()
    }) else {
        return;
    };
    let stopped = done.unwrap_err();
    assert!(
        stopped.words.starts_with("unable to set TCP_CONGESTION: "),
        "{stopped:?}"
    );
    assert!(
        stopped
            .hint
            .unwrap()
            .contains("tcp_available_congestion_control")
    );
}

#[test]
fn a_server_that_is_busy_or_goes_away_is_told_in_iperf3_s_words() {
    let check = |script: fn(&TcpListener), words: &str, has_flowed: bool| {
        let asked = Parameters {
            time: 30,
            ..Parameters::default()
        };
        let stopped = scripted(script, asked, Seen::default());
        assert!(stopped.words.contains(words), "{stopped:?}");
        assert!(stopped.words.lines().count() == 1 && !stopped.is_ours);
        assert_eq!(stopped.so_far.is_some(), has_flowed, "{stopped:?}");
        if let Some(so_far) = stopped.so_far {
            assert!(so_far.flows[0].received.is_none(), "nobody has told");
        }
    };
    check(
        |listener| {
            let (mut control, _) = listener.accept().unwrap();
            Cookie::read(&mut control).unwrap();
            State::AccessDenied.write(&mut control).unwrap();
        },
        "the server is busy running a test. try again later",
        false,
    );
    check(
        |listener| drop(begin(listener)),
        "control socket has closed unexpectedly",
        true,
    );
    check(
        |listener| {
            let (mut control, mut stream) = begin(listener);
            stream.read_exact(&mut [0; 8192]).unwrap();
            State::ServerTerminate.write(&mut control).unwrap();
        },
        "the server has terminated",
        true,
    );
    check(
        |listener| {
            let (mut control, _stream) = begin(listener);
            State::ServerError.write(&mut control).unwrap();
            control.write_all(&[0, 0, 0, 160, 0, 0, 0, 0]).unwrap();
        },
        "the server ended the test: the test did not end when it should have (iperf3's error 160)",
        true,
    );
    check(
        |listener| {
            let (mut control, _) = listener.accept().unwrap();
            Cookie::read(&mut control).unwrap();
            control.write_all(b"HTTP/1.1 400 Bad Request").unwrap();
        },
        "`72` is no state of iperf3's protocol",
        false,
    );
}

#[test]
fn who_is_stopped_says_so_and_has_what_was_counted() {
    let seen = Seen {
        stops_after: Some(1),
        ..Seen::default()
    };
    let asked = Parameters {
        time: 30,
        ..Parameters::default()
    };
    let script = |listener: &TcpListener| {
        let (mut control, mut stream) = begin(listener);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut block = vec![0; 65_536];
                while matches!(stream.read(&mut block), Ok(1..)) {}
            });
            let said = State::read(&mut control).unwrap();
            assert_eq!(said, State::ClientTerminate);
        });
    };
    let stopped = scripted(script, asked, seen);
    assert!(stopped.is_ours);
    assert_eq!(stopped.words, "the client has terminated");
    let so_far = stopped.so_far.unwrap();
    assert!(bytes_of(so_far.flows[0].sent) > 0);
}

#[test]
fn nobody_and_no_address_of_the_family_are_no_server() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let six = Order {
        family: Some(Family::V6),
        ..order(at, Parameters::default())
    };
    let stopped = run(&six, &mut Seen::default()).unwrap_err();
    let expected = "unable to connect to server: Address family for hostname not supported";
    assert_eq!(stopped.words, expected);
    drop(listener);
    let four = Order {
        family: Some(Family::V4),
        ..order(at, Parameters::default())
    };
    let stopped = run(&four, &mut Seen::default()).unwrap_err();
    assert_eq!(
        stopped.words,
        "unable to connect to server: Connection refused"
    );
    assert!(
        stopped
            .hint
            .unwrap()
            .contains("no server listens at TCP port")
    );
}
