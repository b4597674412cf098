//! What the server counts, and how a test ends.

use super::*;
use std::io::{Read, Write};
use std::time::Duration;

const COOKIE: &[u8; 37] = b"aaaaaaaabbbbbbbbccccccccdddddddd2345\0";

/// Everything that was sent had been read when the end was told.
#[test]
fn two_streams_to_here_are_counted_apart() {
    let asked =
        r#"{"tcp":true,"omit":0,"time":10,"parallel":2,"len":131072,"client_version":"kurabe"}"#;
    let lines = serving(|at| {
        // A server that had no CPU meanwhile has read less: then it is tried again.
        let found = (0..20).any(|_| {
            let mut client = Client::asking(at, COOKIE, asked);
            client.hears(&[State::CreateStreams]);
            let mut streams = [client.stream(), client.stream()];
            client.hears(&[State::TestStart, State::TestRunning]);
            streams[0].write_all(&vec![7; 50_000]).unwrap();
            streams[1].write_all(&vec![7; 70_000]).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            let theirs = client.ends(
                r#"{"cpu_util_total":1.5,"cpu_util_user":0.5,"cpu_util_system":1.0,"sender_has_retransmits":1,
                    "streams":[{"id":1,"bytes":50000,"retransmits":0,"jitter":0,"errors":0,"packets":0},
                    {"id":3,"bytes":70000,"retransmits":2,"jitter":0,"errors":0,"packets":0}]}"#,
            );
            assert_eq!(theirs.sender_has_retransmits, -1, "it sends nothing");
            assert!(theirs.cpu_util_total.is_some_and(|percent| percent >= 0.0));
            let ids: Vec<i64> = theirs.streams.iter().map(|stream| stream.id).collect();
            assert_eq!(ids, [1, 3]);
            assert!(theirs.streams.iter().all(|stream| stream.retransmits == -1));
            assert!(theirs.streams[0].seconds() >= Some(0.3));
            let bytes: Vec<i64> = theirs.streams.iter().map(|stream| stream.bytes).collect();
            assert!(bytes[0] <= 50_000 && bytes[1] <= 70_000, "{bytes:?}");
            client.is_left() && bytes == [50_000, 70_000]
        });
        assert!(found);
    });
    let asks = lines.iter().find(|line| line.contains(" asks: ")).unwrap();
    assert!(asks.ends_with("TCP, 2 streams to here, 10 s"), "{asks}");
    let done = lines.last().unwrap();
    assert!(
        done.contains(" done: ") && done.contains("received 120.00 kB"),
        "{done}"
    );
}

#[test]
fn a_client_that_reads_nothing_any_more_gets_its_results() {
    let asked = r#"{"tcp":true,"time":10,"parallel":3,"len":131072,"reverse":true}"#;
    let lines = serving(|at| {
        let mut client = Client::asking(at, COOKIE, asked);
        client.hears(&[State::CreateStreams]);
        let streams: Vec<_> = (0..3).map(|_| client.stream()).collect();
        client.hears(&[State::TestStart, State::TestRunning]);
        // By then every sender waits for room.
        std::thread::sleep(Duration::from_millis(500));
        let begun = sys::clock::monotonic();
        client.ends(r#"{"streams":[]}"#);
        let taken = Duration::from_nanos(sys::clock::monotonic() - begun);
        assert!(taken < Duration::from_secs(10), "{taken:?}");
        drop(streams);
    });
    assert!(lines.last().unwrap().contains(" done: "), "{lines:?}");
}

#[test]
fn a_client_that_waits_for_the_rest_of_a_block_is_told_that_there_is_none() {
    let asked = r#"{"tcp":true,"time":10,"parallel":2,"len":1048576,"reverse":true}"#;
    serving(|at| {
        let mut client = Client::asking(at, COOKIE, asked);
        client.hears(&[State::CreateStreams]);
        let mut streams = [client.stream(), client.stream()];
        client.hears(&[State::TestStart, State::TestRunning]);
        for stream in &mut streams {
            stream.read_exact(&mut [0; 5000]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(300));
        client.say(State::TestEnd);
        client.hears(&[State::ExchangeResults]);
        for stream in &mut streams {
            stream.read_to_end(&mut Vec::new()).unwrap();
        }
        client.json(r#"{"streams":[]}"#);
        super::super::super::Results::read(&mut client.control).unwrap();
        client.hears(&[State::DisplayResults]);
    });
}

#[test]
fn what_is_omitted_is_in_no_count() {
    let asked = r#"{"tcp":true,"omit":1,"time":10,"parallel":1,"len":131072}"#;
    serving(|at| {
        let mut client = Client::asking(at, COOKIE, asked);
        client.hears(&[State::CreateStreams]);
        let mut stream = client.stream();
        client.hears(&[State::TestStart, State::TestRunning]);
        stream.write_all(&vec![7; 90_000]).unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        stream.write_all(&[7; 1000]).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let theirs = client.ends(r#"{"streams":[{"id":1,"bytes":1000}]}"#);
        // All of it only where the server had no CPU for a second.
        assert!(theirs.streams[0].bytes <= 1000, "{theirs:?}");
        let seconds = theirs.streams[0].seconds().unwrap();
        assert!(seconds >= 0.7, "since the omitted second: {seconds}");
    });
}

/// All bytes that come on the streams of a test, until the server has ended them.
fn all_that_comes(at: std::net::SocketAddr, streams: usize, asked: &str) -> u64 {
    let mut client = Client::asking(at, COOKIE, asked);
    client.hears(&[State::CreateStreams]);
    let streams: Vec<_> = (0..streams).map(|_| client.stream()).collect();
    client.hears(&[State::TestStart, State::TestRunning]);
    std::thread::scope(|scope| {
        let read = |mut stream: std::net::TcpStream| {
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
        };
        let readers: Vec<_> = streams
            .into_iter()
            .map(|stream| scope.spawn(move || read(stream)))
            .collect();
        // All of it is sent long before, and nothing more comes.
        std::thread::sleep(Duration::from_millis(1200));
        client.ends(r#"{"streams":[]}"#);
        readers.into_iter().map(|one| one.join().unwrap()).sum()
    })
}

#[test]
fn no_more_bytes_are_sent_than_the_client_allows_over_all_streams_of_a_test() {
    serving(|at| {
        // The last of them follow one another: what one test had counts for no other.
        for (streams, len, omit, most) in [
            (1, 131_072, 0, 3_000_000),
            (128, 131_072, 0, 3_000_001),
            (128, 1_048_576, 0, 3_000_000),
            (8, 1_048_576, 0, 1000),
            (3, 7, 0, 100_000),
            (2, 131_072, 1, 3_000_000),
            (128, 1_048_576, 0, 1),
        ] {
            let asked = format!(
                r#"{{"tcp":true,"time":20,"omit":{omit},"len":{len},"parallel":{streams},"reverse":true,"num":{most}}}"#
            );
            assert_eq!(all_that_comes(at, streams, &asked), most, "{asked}");
        }
    });
}
