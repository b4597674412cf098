//! UDP: the first words, who is answered, and what is counted.

use super::super::super::datagram::{Datagram, HELLO, OLD_HELLO, REPLY, Width};
use super::client::LONG;
use super::*;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

const COOKIE: &[u8; 37] = b"eeeeeeeebbbbbbbbccccccccdddddddd2345\0";

fn socket(ip: Ipv4Addr) -> UdpSocket {
    let socket = UdpSocket::bind((ip, 0)).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket
}

/// Says the first word and gets the answer.
fn stream(client: &Client, hello: [u8; 4]) -> UdpSocket {
    let socket = socket(Ipv4Addr::LOCALHOST);
    socket.connect(client.at()).unwrap();
    socket.send(&hello).unwrap();
    let mut answer = [0; 64];
    assert_eq!(socket.recv(&mut answer).unwrap(), 4);
    assert_eq!(answer[..4], REPLY);
    socket
}

fn send(socket: &UdpSocket, count: u64, width: Width) {
    let mut bytes = [0; 100];
    let datagram = Datagram {
        seconds: 1,
        microseconds: 0,
        count,
    };
    datagram.write(&mut bytes, width);
    socket.send(&bytes).unwrap();
}

fn asked(more: &str) -> String {
    format!(r#"{{"udp":true,"omit":0,"time":10,"bandwidth":1048576,"len":100{more}}}"#)
}

#[test]
fn losses_order_and_jitter_are_iperf3_s_and_a_word_said_twice_is_no_data() {
    for (width, hello, more) in [
        (Width::Bits32, OLD_HELLO, r#","parallel":2"#),
        (
            Width::Bits64,
            HELLO,
            r#","parallel":2,"udp_counters_64bit":1"#,
        ),
    ] {
        serving(|at| {
            let found = (0..20).any(|_| {
                let mut client = Client::asking(at, COOKIE, &asked(more));
                client.hears(&[State::CreateStreams]);
                let streams = [stream(&client, hello), stream(&client, hello)];
                client.hears(&[State::TestStart, State::TestRunning]);
                for count in [1, 2, 5, 4, 9] {
                    send(&streams[0], count, width);
                }
                // Its answer did not come; it gets another.
                streams[1].send(&hello).unwrap();
                let mut answer = [0; 64];
                assert_eq!(streams[1].recv(&mut answer).unwrap(), 4);
                assert_eq!(answer[..4], REPLY);
                send(&streams[1], 1, width);
                std::thread::sleep(Duration::from_millis(300));
                let theirs = client.ends(r#"{"streams":[{"id":1,"bytes":500}]}"#);
                let [one, two] = theirs.streams.as_slice() else {
                    panic!("{theirs:?}");
                };
                assert_eq!((one.id, two.id), (1, 3));
                let all = (one.packets, one.errors, one.bytes) == (9, 4, 500);
                let alone = (two.packets, two.errors, two.bytes) == (1, 0, 100);
                assert!(one.jitter >= Some(0.0) && one.omitted_packets == Some(0));
                all && alone
            });
            assert!(found);
        });
    }
}

#[test]
fn nobody_is_answered_but_the_address_that_holds_the_control_connection() {
    serving(|at| {
        let mut client = Client::asking(at, COOKIE, &asked(r#","reverse":true"#));
        client.hears(&[State::CreateStreams]);
        let other = socket(Ipv4Addr::new(127, 0, 0, 2));
        other.send_to(&HELLO, at).unwrap();
        // What is no first word begins nothing either.
        let same = socket(Ipv4Addr::LOCALHOST);
        same.send_to(&[0; 100], at).unwrap();
        let stream = stream(&client, HELLO);
        client.hears(&[State::TestStart, State::TestRunning]);
        let mut bytes = [0; 2000];
        for count in 1..=3 {
            assert_eq!(stream.recv(&mut bytes).unwrap(), 100);
            let datagram = Datagram::read(&bytes, Width::Bits32).unwrap();
            assert_eq!(datagram.count, count);
        }
        for silent in [other, same] {
            silent
                .set_read_timeout(Some(Duration::from_millis(100)))
                .unwrap();
            assert!(silent.recv(&mut bytes).is_err());
        }
        let theirs = client.ends(r#"{"streams":[{"id":1,"bytes":300,"packets":3,"errors":0}]}"#);
        let one = &theirs.streams[0];
        assert_eq!(one.bytes, 100 * one.packets);
        assert_eq!(theirs.sender_has_retransmits, 0);
        assert_eq!(client.ip(), Ipv4Addr::LOCALHOST);
    });
}

#[test]
fn datagrams_come_at_the_rate_that_was_asked_for_and_no_faster() {
    serving(|at| {
        let mut client = Client::asking(at, COOKIE, &asked(r#","reverse":true"#));
        client.hears(&[State::CreateStreams]);
        let _stream = stream(&client, HELLO);
        client.hears(&[State::TestStart, State::TestRunning]);
        std::thread::sleep(Duration::from_secs(1));
        let theirs = client.ends(r#"{"streams":[]}"#);
        let one = &theirs.streams[0];
        let bits = 8.0 * model::num::approx(one.bytes.unsigned_abs());
        let asked = 1_048_576.0 * one.seconds().unwrap();
        assert!(bits <= asked + 8.0 * 100.0, "{bits} of {asked}");
        // Less only where the machine had no time.
        assert!(bits > 0.0);
    });
}
