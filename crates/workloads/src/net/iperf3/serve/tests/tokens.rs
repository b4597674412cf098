//! Who has the token, who has not, and what either may do.

use super::client::{Client, LONG, connect, serving_for, serving_own, session, token};
use crate::net::iperf3::State;
use crate::net::iperf3::control::{Control, Trouble};
use crate::net::own::client::Session;
use crate::net::own::proof::{BUSY, CHALLENGES, WELCOME, WRONG};
use crate::net::own::{Challenge, Hello, Messages, Protocol, Request, Token};
use crate::net::peer::Peer;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;
use sys::until::Until;

fn peer(at: SocketAddr) -> Peer {
    at.to_string().parse().unwrap()
}

fn soon() -> Until {
    Until::after(LONG)
}

/// What the server says to a hello.
fn challenged(at: SocketAddr, hello: Hello) -> (TcpStream, Challenge) {
    let mut stream = connect(at);
    stream.write_all(&hello.0).unwrap();
    let mut said = [0; 33];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said[0], CHALLENGES);
    (
        stream,
        Challenge::heard(hello, said[1..].try_into().unwrap()),
    )
}

/// All that comes until the connection ends.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    // Closed over unread bytes it is reset.
    let _ = stream.read_to_end(&mut said);
    said
}

#[test]
fn a_proof_that_was_recorded_or_cut_short_lets_nobody_in() {
    let said = serving_own(|at, _| {
        let hello = Hello::control().unwrap();
        let (mut stream, challenge) = challenged(at, hello);
        let proof = challenge.of_client(&token());
        stream.write_all(&proof).unwrap();
        let mut word = [0];
        stream.read_exact(&mut word).unwrap();
        assert_eq!(word, [WELCOME]);
        drop(stream);
        // The same bytes again.
        let (mut again, _) = challenged(at, hello);
        again.write_all(&proof).unwrap();
        assert_eq!(rest(&mut again), [WRONG]);
        let (mut half, challenge) = challenged(at, Hello::control().unwrap());
        half.write_all(&challenge.of_client(&token())[..31])
            .unwrap();
        half.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(rest(&mut half).is_empty());
        session(at).facts(0, soon()).unwrap();
    });
    let said = said.join("\n");
    assert!(said.contains("refused: its token is wrong"), "{said}");
    assert!(said.contains("left without a word"), "{said}");
}

#[test]
fn another_token_is_refused_in_words_and_is_in_none() {
    let other = "f".repeat(32);
    let wrong: Token = other.parse().unwrap();
    let said = serving_own(|at, _| {
        let why = Session::open(&peer(at), &wrong, soon()).unwrap_err();
        let told = why.told(&peer(at), "begin").to_string();
        assert!(told.contains("the token is not that server's"), "{told}");
        assert!(!told.contains(&other), "{told}");
    });
    let said = said.join("\n");
    assert!(
        !said.contains(&other) && !said.contains(&token().reveal()),
        "{said}"
    );
}

#[test]
fn without_a_token_clients_of_iperf3_are_refused() {
    let said = serving_own(|at, _| {
        let mut stream = connect(at);
        stream
            .write_all(b"abcdefghijklmnopqrstuvwxyz2345670123\0")
            .unwrap();
        assert_eq!(rest(&mut stream), [State::AccessDenied.byte()]);
        let why = Control::open(&peer(at), None, soon()).unwrap_err();
        let told = why.told(&peer(at), "begin").to_string();
        assert!(told.contains("KURABE_TOKEN"), "{told}");
        // With it, the same protocol goes on.
        let until = soon();
        let control = loop {
            match Control::open(&peer(at), Some(&token()), soon()) {
                Err(Trouble::Busy(_)) if until.left().is_some() => {}
                other => break other.unwrap(),
            }
        };
        control.leave();
    });
    let said = said.join("\n");
    assert!(
        said.contains("refused: no token; `iperf3 -s` serves clients of iperf3"),
        "{said}"
    );
}

#[test]
fn a_second_client_hears_at_once_for_how_long_the_first_one_is_served() {
    serving_own(|at, _| {
        let first = session(at);
        first
            .begin(Request::Connect { seconds: 40 }, soon())
            .unwrap();
        let why = Session::open(&peer(at), &token(), soon()).unwrap_err();
        let Trouble::Busy(Some(left)) = why else {
            panic!("{why:?}");
        };
        assert!(
            left <= Duration::from_secs(40) && left > Duration::from_secs(1),
            "{left:?}"
        );
        // Who has not the token does not hear even that.
        let (mut stranger, _) = challenged(at, Hello::control().unwrap());
        stranger.write_all(&[7; 32]).unwrap();
        let said = rest(&mut stranger);
        assert!(said == [WRONG] && BUSY != WRONG);
        assert_eq!(first.ends(soon()).unwrap(), (0, None));
        // The next one is served.
        session(at).facts(0, soon()).unwrap();
    });
}

#[test]
fn what_would_outlast_the_server_is_refused_with_what_it_takes() {
    let span = Duration::from_secs(30);
    let said = serving_for(span, |at, _| {
        let messages = |protocol, up, down| {
            Request::Rr(Messages {
                protocol,
                size: 1,
                seconds: 100,
                up,
                down,
                down_bytes_max: None,
            })
        };
        for request in [
            Request::Facts { seconds: 100 },
            Request::Connect { seconds: 100 },
            messages(Protocol::Tcp, 0, 0),
            messages(Protocol::Tcp, 16, 16),
            messages(Protocol::Udp, 0, 1),
        ] {
            let why = session(at).begin(request, soon()).unwrap_err();
            let Trouble::Short { left_s, needs_s } = why else {
                panic!("{why:?}");
            };
            assert!(left_s <= 30, "{left_s}");
            assert!((100..=131).contains(&needs_s), "{needs_s}");
            let told = Trouble::Short { left_s, needs_s }
                .told(&peer(at), "begin")
                .to_string();
            // Five minutes more, for whoever starts it again.
            let asks = ["`--for 7m`", "`--for 8m`"].map(|asks| told.contains(asks));
            assert!(asks.contains(&true), "{told}");
        }
        for asked in [
            r#"{"tcp":true,"time":31,"len":9}"#,
            r#"{"tcp":true,"time":20,"omit":11,"len":9}"#,
            r#"{"tcp":true,"time":100,"len":1048576,"parallel":128,"reverse":true}"#,
            r#"{"tcp":true,"time":100,"len":9,"reverse":true,"num":1}"#,
            r#"{"udp":true,"time":100,"len":99,"bandwidth":800}"#,
        ] {
            let mut client = Client::asking(at, &[0x61; 37], asked);
            assert_eq!(client.refused(), 37, "{asked}");
        }
        session(at).facts(1, soon()).unwrap();
    });
    let said = said.join("\n");
    assert!(said.contains("100 s are more than"), "{said}");
}

#[test]
fn no_request_of_a_broken_client_ends_the_server() {
    let said = serving_own(|at, _| {
        for bytes in [
            &[0xff; 64][..],
            b"\0\0\0\x02[]",
            b"\0\0\0\x0e{\"iperf4\":{}}xx",
            b"\0\0\x20\x00{",
            b"GET / HTTP/1.1\r\n\r\n",
        ] {
            let mut stream = session(at).into_parts().0;
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream.write_all(bytes).unwrap();
            // The server may have read enough, and gone.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            assert!(rest(&mut stream).is_empty(), "{bytes:?}");
        }
        session(at).facts(0, soon()).unwrap();
    });
    let said = said.join("\n");
    assert!(
        said.contains("4294967295 bytes of request are announced"),
        "{said}"
    );
}

#[test]
fn hellos_of_others_and_of_other_versions_are_refused_and_a_flood_keeps_nobody_out() {
    let said = serving_own(|at, _| {
        let key = crate::net::own::SessionKey::of_test(9);
        let mut stray = connect(at);
        stray.write_all(&Hello::data(0, &key).0).unwrap();
        assert!(rest(&mut stray).is_empty());
        let mut newer = Hello::control().unwrap();
        newer.0[7] = b'2';
        let mut other = connect(at);
        other.write_all(&newer.0).unwrap();
        assert_eq!(rest(&mut other), b"V");
        let flood: Vec<TcpStream> = (0..200)
            .map(|_| {
                let mut stream = connect(at);
                stream.write_all(&Hello::control().unwrap().0).unwrap();
                stream
            })
            .collect();
        session(at).facts(0, soon()).unwrap();
        drop(flood);
    });
    let said = said.join("\n");
    assert!(said.contains("no test waits for this connection"), "{said}");
    assert!(said.contains("it speaks another version"), "{said}");
}

#[test]
fn a_server_that_is_stopped_ends_a_session_at_once() {
    serving_own(|at, stops| {
        let first = session(at);
        first
            .begin(Request::Connect { seconds: 40 }, soon())
            .unwrap();
        stops.store(true, Ordering::Relaxed);
        let why = first.answer(soon()).unwrap_err();
        assert!(matches!(why, Trouble::Wire(_) | Trouble::Gone), "{why:?}");
    });
}

#[test]
fn a_server_that_has_not_the_token_is_found_out() {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let check = |answer: Vec<u8>, is: fn(&Trouble) -> bool| {
        let why = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 37]).unwrap();
                stream.write_all(&answer).unwrap();
                rest(&mut stream);
            });
            Session::open(&peer(at), &token(), soon()).unwrap_err()
        });
        assert!(is(&why), "{why:?}");
    };
    let mut impostor = vec![CHALLENGES];
    impostor.extend([1; 32]);
    impostor.push(WELCOME);
    impostor.extend([2; 32]);
    check(impostor, |why| matches!(why, Trouble::Impostor));
    check(vec![State::ParamExchange.byte()], |why| {
        matches!(why, Trouble::OfIperf3)
    });
    check(vec![State::AccessDenied.byte()], |why| {
        matches!(why, Trouble::OfIperf3)
    });
    check(b"HTTP/1.1 400\r\n".to_vec(), |why| {
        matches!(why, Trouble::Stranger)
    });
}
