//! Exchanges of several versions, byte by byte.

use super::*;
use std::io::Write;

/// What one end sends.
#[derive(Default)]
struct Sent(Vec<u8>);

impl Sent {
    fn state(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    fn json(mut self, text: &str) -> Self {
        let length = u32::try_from(text.len()).unwrap();
        self.0.write_all(&length.to_be_bytes()).unwrap();
        self.0.write_all(text.as_bytes()).unwrap();
        self
    }
}

fn of_cookie(cookie: &[u8; 37]) -> Sent {
    Sent(cookie.to_vec())
}

/// All of a client's half, as a server reads it.
fn client(sent: &Sent) -> (Parameters, Results) {
    let mut from = sent.0.as_slice();
    Cookie::read(&mut from).unwrap();
    let parameters = Parameters::read(&mut from).unwrap();
    assert_eq!(State::read(&mut from).unwrap(), State::TestEnd);
    let results = Results::read(&mut from).unwrap();
    assert_eq!(State::read(&mut from).unwrap(), State::IperfDone);
    assert!(from.is_empty());
    (parameters, results)
}

/// All of a server's half, as a client reads it.
fn server(sent: &Sent) -> Results {
    let mut from = sent.0.as_slice();
    for state in [
        State::ParamExchange,
        State::CreateStreams,
        State::TestStart,
        State::TestRunning,
        State::ExchangeResults,
    ] {
        assert_eq!(State::read(&mut from).unwrap(), state);
    }
    let results = Results::read(&mut from).unwrap();
    assert_eq!(State::read(&mut from).unwrap(), State::DisplayResults);
    assert!(from.is_empty());
    results
}

fn server_sent(results: &str) -> Sent {
    Sent::default()
        .state(9)
        .state(10)
        .state(1)
        .state(2)
        .state(13)
        .json(results)
        .state(14)
}

#[test]
fn of_3_12() {
    let cookie = b"6jk6mln3ljyhvll7cphdcjjda6emydgcoeml\0";
    let asked = include_str!("exchanges/asked_3_12.json");
    let counted = include_str!("exchanges/counted_3_12.json");
    let sent = of_cookie(cookie)
        .json(asked)
        .state(4)
        .json(counted)
        .state(16);
    let (parameters, results) = client(&sent);
    assert!(parameters.tcp && parameters.num == 262_144 && parameters.time == 0);
    assert_eq!(parameters.client_version.as_deref(), Some("3.12"));
    parameters.check().unwrap();
    assert_eq!(results.congestion_used.as_deref(), Some("bbr"));
    assert_eq!(results.stream(1).unwrap().seconds(), Some(0.000_347));
    // What is written is as long as what was read: no key more, none less.
    let mut again = Vec::new();
    parameters.write(&mut again).unwrap();
    assert_eq!(Parameters::read(&mut again.as_slice()).unwrap(), parameters);
    assert_eq!(again.len(), asked.len() + 4);

    let wrapped = include_str!("exchanges/wrapped_3_12.json");
    let results = server(&server_sent(wrapped));
    assert_eq!(results.sender_has_retransmits, -1);
    assert_eq!(
        (results.streams[0].bytes, results.streams[0].retransmits),
        (131_072, -1)
    );
}

#[test]
fn of_3_1() {
    // No timer, no times, and a cookie of a name.
    let cookie = b"measured.example.1448223344.123456.7\0";
    let asked = include_str!("exchanges/asked_3_1.json");
    let counted = include_str!("exchanges/counted_3_1.json");
    let sent = of_cookie(cookie)
        .json(asked)
        .state(4)
        .json(counted)
        .state(16);
    let (parameters, results) = client(&sent);
    assert_eq!((parameters.streams(), parameters.pacing_timer), (2, 0));
    let ids: Vec<i64> = (0..2).map(stream_id).collect();
    assert_eq!(
        results
            .streams
            .iter()
            .map(|stream| stream.id)
            .collect::<Vec<_>>(),
        ids
    );
    assert_eq!(results.stream(3).unwrap().seconds(), None);
    let results = server(&server_sent(counted));
    assert_eq!(results.congestion_used, None);
}

#[test]
fn of_3_21() {
    let cookie = b"aaaaaaaabbbbbbbbccccccccdddddddd2345\0";
    let asked = include_str!("exchanges/asked_3_21.json");
    let counted = include_str!("exchanges/counted_3_21.json");
    let sent = of_cookie(cookie)
        .json(asked)
        .state(4)
        .json(counted)
        .state(16);
    let (parameters, results) = client(&sent);
    parameters.check().unwrap();
    assert_eq!(
        (parameters.all_streams(), parameters.gso, parameters.gro),
        (4, 1, 1)
    );
    let ids: Vec<i64> = (0..parameters.all_streams()).map(stream_id).collect();
    assert_eq!(
        results
            .streams
            .iter()
            .map(|stream| stream.id)
            .collect::<Vec<_>>(),
        ids
    );
    let first = results.stream(1).unwrap();
    assert_eq!(
        (first.omitted_errors, first.omitted_packets),
        (Some(1), Some(2))
    );
    assert_eq!(first.jitter, Some(0.00002));
}

#[test]
fn ids_leave_out_2() {
    let ids: Vec<i64> = (0..5).map(stream_id).collect();
    assert_eq!(ids, [1, 3, 4, 5, 6]);
}

#[test]
fn a_server_that_refuses_is_understood() {
    let busy = Sent::default().state(0xff);
    assert_eq!(
        State::read(&mut busy.0.as_slice()).unwrap(),
        State::AccessDenied
    );
    let mut error = Sent::default().state(9).state(0xfe);
    error.0.extend([0, 0, 0, 37, 0, 0, 0, 0]);
    let mut from = error.0.as_slice();
    assert_eq!(State::read(&mut from).unwrap(), State::ParamExchange);
    assert_eq!(State::read(&mut from).unwrap(), State::ServerError);
    let told = ServerError::read(&mut from).unwrap().to_string();
    assert!(told.contains("longer than it allows"), "{told}");
}
