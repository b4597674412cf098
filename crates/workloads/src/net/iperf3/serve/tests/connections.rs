//! Who is let in, who is not, and what broken clients can do.

use super::client::{LONG, connect, token};
use super::*;
use crate::net::iperf3::control::Trouble;
use crate::net::own::client::Session;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use sys::until::Until;

const ONE: &[u8; 37] = b"aaaaaaaabbbbbbbbccccccccdddddddd2345\0";
const TWO: &[u8; 37] = b"ffffffffbbbbbbbbccccccccdddddddd2345\0";
const TCP: &str = r#"{"tcp":true,"time":10,"len":131072}"#;
const DOWN: &str = r#"{"tcp":true,"time":10,"len":131072,"reverse":true}"#;

/// A test that comes to its good end.
fn whole_test(at: std::net::SocketAddr) {
    let mut client = Client::asking(at, TWO, TCP);
    client.hears(&[State::CreateStreams]);
    let _stream = client.stream();
    client.hears(&[State::TestStart, State::TestRunning]);
    client.ends(r#"{"streams":[{"id":1,"bytes":0}]}"#);
}

#[test]
fn a_second_client_and_a_stream_too_many_are_denied_at_once() {
    let lines = serving(|at| {
        let mut client = Client::asking(at, ONE, TCP);
        client.hears(&[State::CreateStreams]);
        for _ in 0..2 {
            let peer = at.to_string().parse().unwrap();
            let why = Session::open(&peer, &token(), Until::after(LONG)).unwrap_err();
            assert!(matches!(why, Trouble::Busy(Some(_))), "{why:?}");
        }
        let _stream = client.stream();
        client.hears(&[State::TestStart, State::TestRunning]);
        // All of its streams are there.
        let mut more = client.stream();
        let mut said = [0];
        more.read_exact(&mut said).unwrap();
        assert_eq!(said[0], State::AccessDenied.byte());
        client.ends(r#"{"streams":[{"id":1,"bytes":0}]}"#);
        whole_test(at);
    });
    let denied = |line: &&String| line.ends_with("refused: another client is served");
    assert!(lines.iter().filter(denied).count() >= 2, "{lines:?}");
}

#[test]
fn all_streams_of_a_test_may_come_before_the_first_says_whose_they_are() {
    let asks = r#"{"tcp":true,"time":10,"len":9,"parallel":128}"#;
    serving(|at| {
        let mut client = Client::asking(at, ONE, asks);
        client.hears(&[State::CreateStreams]);
        let mut streams: Vec<TcpStream> = (0..128).map(|_| connect(at)).collect();
        // None of them is closed meanwhile.
        sys::clock::sleep(300_000_000);
        for stream in &mut streams {
            stream.write_all(ONE).unwrap();
        }
        client.hears(&[State::TestStart, State::TestRunning]);
        drop(streams);
        drop(client);
        whole_test(at);
    });
}

#[test]
fn what_is_no_order_is_refused_by_iperf3_s_numbers_and_the_next_is_served() {
    let lines = serving(|at| {
        for (parameters, number) in [
            (r#"{"tcp":true,"time":61,"len":9}"#, 37),
            (r#"{"tcp":true,"time":5,"len":9,"bandwidth":1000001}"#, 114),
            (r#"{"tcp":true,"time":5,"len":9,"bidirectional":true}"#, 114),
            (r#"{"tcp":true,"len":9,"num":100}"#, 114),
            (r#"{"udp":true,"time":5,"len":100}"#, 27),
            (r#"{"tcp":true,"time":5,"len":9,"parallel":129}"#, 6),
            (r#"{"tcp":true,"time":5,"len":2000000}"#, 7),
            (r#"{"sctp":true,"time":5}"#, 114),
        ] {
            let mut client = Client::asking(at, ONE, parameters);
            assert_eq!(client.refused(), number, "{parameters}");
            assert!(client.is_left());
        }
        whole_test(at);
    });
    assert!(
        lines.iter().any(|line| line.contains("`--for`")),
        "{lines:?}"
    );
}

#[test]
fn what_is_not_understood_is_refused_and_the_next_is_served() {
    serving(|at| {
        for (frame, number) in [
            (&b"\xff\xff\xff\xff{}"[..], 114),
            (b"\0\0\x20\x01", 114),
            (b"\0\0\0\x05{\"tc", 114),
            (b"\0\0\0\x017", 114),
            (b"\0\0\0\x0c{\"tcp\":\"yes\"", 114),
        ] {
            let mut client = Client::new(at, ONE);
            client.hears(&[State::ParamExchange]);
            client.control.write_all(frame).unwrap();
            client.control.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(client.refused(), number, "{frame:?}");
        }
        // Results are no better.
        for wrong in ["7", r#"{"streams":[{"id":"1","bytes":0}]}"#] {
            let mut client = Client::asking(at, ONE, TCP);
            client.hears(&[State::CreateStreams]);
            let _stream = client.stream();
            client.hears(&[State::TestStart, State::TestRunning]);
            client.say(State::TestEnd);
            client.hears(&[State::ExchangeResults]);
            client.json(wrong);
            assert_eq!(client.refused(), 117, "{wrong}");
        }
        whole_test(at);
    });
}

#[test]
fn connections_that_say_nothing_keep_out_nobody() {
    let lines = serving(|at| {
        let silent: Vec<TcpStream> = (0..200).map(|_| connect(at)).collect();
        // And some that say half a cookie.
        let mut half: Vec<TcpStream> = (0..100).map(|_| connect(at)).collect();
        for stream in &mut half {
            let _ = stream.write_all(&ONE[..20]);
        }
        whole_test(at);
        drop((silent, half));
        whole_test(at);
    });
    let done = |line: &&String| line.contains(" done: ");
    assert_eq!(lines.iter().filter(done).count(), 2, "{lines:?}");
}

#[test]
fn a_client_that_vanishes_leaves_the_server_to_the_next() {
    for parameters in [TCP, DOWN] {
        let lines = serving(|at| {
            let mut client = Client::asking(at, ONE, parameters);
            client.hears(&[State::CreateStreams]);
            let mut stream = client.stream();
            client.hears(&[State::TestStart, State::TestRunning]);
            if parameters == DOWN {
                stream.read_exact(&mut [0; 10_000]).unwrap();
            }
            // The stream stays: it is the control connection that counts.
            drop(client);
            whole_test(at);
            drop(stream);
        });
        let early = |line: &String| line.contains("ended early, the client went away");
        assert!(lines.iter().any(early), "{lines:?}");
    }
}

#[test]
fn a_server_that_is_stopped_says_so_to_its_client() {
    for parameters in [TCP, DOWN] {
        let lines = serving_own(|at, stops| {
            let mut client = Client::asking(at, ONE, parameters);
            client.hears(&[State::CreateStreams]);
            let _stream = client.stream();
            client.hears(&[State::TestStart, State::TestRunning]);
            stops.store(true, Ordering::Relaxed);
            client.hears(&[State::ServerTerminate]);
            assert!(client.is_left());
        });
        let early = |line: &String| line.contains("ended early, this server ends");
        assert!(lines.iter().any(early), "{lines:?}");
    }
}

#[test]
fn a_cookie_is_any_37_bytes() {
    let cookie = Cookie::read(&mut [0xff; 37].as_slice()).unwrap();
    assert_eq!(format!("{cookie:?}"), "Cookie(..)");
    serving(|at| {
        let mut client = Client::asking(at, &[0xff; 37], TCP);
        client.hears(&[State::CreateStreams]);
        let _stream = client.stream();
        client.hears(&[State::TestStart, State::TestRunning]);
        client.say(State::ClientTerminate);
        assert!(client.is_left());
        whole_test(at);
    });
}
