//! Servers that are none, or that want what they should not get. Real ones are in the tests of the binary.

use super::login::log_in;
use super::{Value, bind, numbered};
use crate::db::address::{Address, Defaults, Host};
use crate::db::encryption::{Check, Encryption};
use crate::db::engines::Engine;
use crate::db::server::trouble::Trouble;
use bytes::BytesMut;
use engine::secret::Secret;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

/// What comes of a login at a server that answers each message of ours with the next of these, and then ends.
fn at(answers: &[&[u8]], secret: Option<&Secret>) -> (Result<(), Trouble>, Vec<u8>) {
    with(&|_| {}, answers, secret)
}

/// The same, at an address that `changes`.
fn with(
    changes: &dyn Fn(&mut Address),
    answers: &[&[u8]],
    secret: Option<&Secret>,
) -> (Result<(), Trouble>, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut address = Address {
        engine: Engine::Postgres,
        user: "bob".to_owned(),
        host: Host::Name("127.0.0.1".to_owned()),
        port: listener.local_addr().unwrap().port(),
        database: "shop".to_owned(),
        tls: None,
        may_be_clear: false,
    };
    changes(&mut address);
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (mut client, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            for answer in answers {
                let mut piece = [0; 4096];
                let read = client.read(&mut piece).unwrap();
                heard.extend_from_slice(&piece[..read]);
                client.write_all(answer).unwrap();
            }
            // What is left of the client's words would turn the end into a reset.
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = client.read_to_end(&mut heard);
            heard
        });
        let done = log_in(&address, secret).map(|_| ());
        (done, server.join().unwrap())
    })
}

fn refused(answers: &[&[u8]], secret: Option<&Secret>) -> Trouble {
    at(answers, secret).0.unwrap_err()
}

#[test]
fn who_promises_encryption_and_speaks_none_is_an_error_and_learns_nothing() {
    let secret = Secret::new("hunter2".to_owned());
    let refused = |answers: &[&[u8]]| {
        let encrypted = |address: &mut Address| {
            address.tls = Some(Encryption {
                check: Check::Nothing,
                authorities: None,
            });
        };
        let (done, heard) = with(&encrypted, answers, Some(&secret));
        let first = heard.split_at_checked(8).unwrap();
        assert_eq!(first.0, b"\0\0\0\x08\x04\xd2\x16\x2f");
        // Behind it there is a beginning of TLS or nothing: no name and no password.
        assert!(first.1.is_empty() || first.1.starts_with(b"\x16\x03\x01"));
        for word in ["bob", "hunter2"] {
            assert!(
                !heard
                    .windows(word.len())
                    .any(|part| part == word.as_bytes())
            );
        }
        done.unwrap_err()
    };
    let check = |answers: &[&[u8]], words: &str| {
        let why = refused(answers).to_string();
        assert!(why.contains(words), "{answers:?}: {why}");
    };
    check(&[b"N"], "the server speaks no TLS\nhint: see `ssl`");
    check(&[b"S", b"HTTP/1.1 400 Bad\r\n"], "no TLS");
    check(
        &[b"S", b"\x16"],
        "ended the connection during the TLS handshake",
    );
    check(&[b"S"], "ended the connection during the TLS handshake");
    // An alert: the handshake failed.
    check(&[b"S", b"\x15\x03\x03\0\x02\x02\x28"], "HandshakeFailure");
    // A record that is too long, and one that is none of a beginning.
    check(&[b"S", b"\x16\x03\x03\xff\xff"], "handshake failed");
    check(&[b"S", b"\x17\x03\x03\0\x01x"], "no TLS");
    // What stands behind the word was not encrypted, and is none of the answers that follow.
    let stranger = "is no message of PostgreSQL\nhint: look whether PostgreSQL listens there, or another program";
    for answers in [&[&b"SR\0\0\0\x08\0\0\0\0"[..]], &[b"E"], &[b"x"]] {
        check(answers, stranger);
    }
    // Others are told by what they say first.
    check(&[b"SSH-2.0-OpenSSH_9.2p1\r\n"], "what an SSH server says");
    check(
        &[b"\x4a\0\0\0\x0a11.4.2-MariaDB"],
        "what MySQL/MariaDB says",
    );
}

const MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05abcd";
const SASL: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";

#[test]
fn what_is_no_server_is_an_error_and_no_hang() {
    let check = |answer: &[u8], words: &str| {
        let why = refused(&[answer], None);
        let Trouble::Stranger { why, .. } = why else {
            panic!("{why}")
        };
        assert!(why.contains(words), "{why}");
    };
    check(b"HTTP/1.1 400 Bad\r\n", "no message of PostgreSQL");
    check(b"R\xff\xff\xff\xff", "no message of PostgreSQL");
    check(b"R\0\0\0\x06\0\0", "no message of PostgreSQL");
    check(b"K\0\0\0\x05x", "no message of PostgreSQL");
    check(b"R\0\0\0\x08\0\0", "ended the connection");
    check(b"", "ended the connection");
}

#[test]
fn errors_of_a_login_are_told_with_what_helps() {
    let check = |code: &str, is_lasting: bool, hint: &str| {
        let mut error = format!("E\0\0\0\0SFATAL\0C{code}\0Mno such luck\0\0").into_bytes();
        error[4] = u8::try_from(error.len() - 1).unwrap();
        let why = refused(&[&error], None);
        assert_eq!(why.is_lasting(), is_lasting, "{code}");
        let told = why.to_string();
        assert!(
            told.starts_with(&format!("no such luck ({code})\nhint: ")),
            "{told}"
        );
        assert!(told.contains(hint), "{told}");
    };
    check("28P01", true, ".pgpass");
    check("28000", true, "pg_hba.conf");
    check("3D000", true, "createdb");
    check("42501", true, "GRANT");
    check("53300", false, "max_connections");
    check("57P01", false, "stops or starts");
    check("25006", true, "replica");
}

#[test]
fn a_password_goes_nowhere_but_where_it_may() {
    let secret = Secret::new("hunter2".to_owned());
    for answers in [&[SASL, b"R\0\0\0\x08\0\0\0\0"][..], &[MD5]] {
        let (done, heard) = at(answers, Some(&secret));
        assert!(
            !heard.windows(7).any(|part| part == b"hunter2"),
            "{answers:?}"
        );
        let why = done.unwrap_err();
        assert!(!format!("{why} {why:?}").contains("hunter2"));
    }
    // Who lets us in without an end of the exchange has not shown that he knows it.
    for end in [&b"R\0\0\0\x08\0\0\0\0"[..], b"Z\0\0\0\x05I"] {
        let why = refused(&[SASL, end], Some(&secret));
        assert!(matches!(why, Trouble::Proof(_)), "{why}");
    }
    assert!(matches!(refused(&[SASL], None), Trouble::NoPassword(_)));
    assert!(matches!(refused(&[CLEAR], None), Trouble::NoPassword(_)));
    assert!(matches!(
        refused(&[b"R\0\0\0\x08\0\0\0\x07"], None),
        Trouble::Login(..)
    ));
}

/// A demand for the password as it is, and being let in.
const CLEAR: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

fn holds(heard: &[u8], word: &[u8]) -> bool {
    heard.windows(word.len()).any(|part| part == word)
}

#[test]
fn a_password_goes_as_it_is_where_the_address_says_so_and_not_over_loopback_by_itself() {
    let secret = Secret::new("hunter2".to_owned());
    let refuses = |answers: &[&[u8]], host: &str| {
        let name = |address: &mut Address| address.host = Host::Name(host.to_owned());
        let (done, heard) = with(&name, answers, Some(&secret));
        let why = done.unwrap_err();
        assert!(
            matches!(why, Trouble::Clear(_)) && why.is_lasting(),
            "{why}"
        );
        let words = format!("{why} {why:?}");
        assert!(words.contains("`?password=clear`") && words.contains("scram-sha-256"));
        assert!(!holds(&heard, b"hunter2") && !words.contains("hunter2"));
    };
    // By any name of loopback, at once or once something else was asked for.
    refuses(&[CLEAR], "127.0.0.1");
    refuses(&[CLEAR], "localhost");
    refuses(&[MD5, CLEAR], "127.0.0.1");
    refuses(&[SASL, CLEAR], "127.0.0.1");
    let clear = |address: &mut Address| address.may_be_clear = true;
    let (done, heard) = with(&clear, &[CLEAR, LET_IN], Some(&secret));
    done.unwrap();
    assert!(holds(&heard, b"p\0\0\0\x0chunter2\0"));
    // What asks for a digest gets no more than that.
    let (done, heard) = with(&clear, &[MD5, LET_IN], Some(&secret));
    done.unwrap();
    assert!(!holds(&heard, b"hunter2"));
}

#[test]
fn a_unix_socket_is_no_network_for_a_password() {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
    let url = format!("postgres://bob@/shop?host={}", dir.path().display());
    let to = Address::read(&url, &Defaults::default()).unwrap().address;
    let secret = Secret::new("hunter2".to_owned());
    let heard = std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (mut client, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            for answer in [CLEAR, LET_IN] {
                let mut piece = [0; 4096];
                let read = client.read(&mut piece).unwrap();
                heard.extend_from_slice(&piece[..read]);
                client.write_all(answer).unwrap();
            }
            heard
        });
        log_in(&to, Some(&secret)).map(drop).unwrap();
        server.join().unwrap()
    });
    assert!(holds(&heard, b"hunter2"));
}

#[test]
fn a_server_does_not_get_our_cpu() {
    let secret = Secret::new("hunter2".to_owned());
    let many = b"R\0\0\0\x1f\0\0\0\x0br=x,s=eA==,i=4000000000";
    let why = refused(&[SASL, many], Some(&secret));
    assert!(
        matches!(&why, Trouble::Login(_, what) if what.contains("million")),
        "{why}"
    );
}

#[test]
fn statements_are_numbered_and_bound_in_binary() {
    assert_eq!(
        numbered("UPDATE t SET c=? WHERE id=?"),
        "UPDATE t SET c=$1 WHERE id=$2"
    );
    let mut out = BytesMut::new();
    bind(&mut out, "k", &[Value::Number(258), Value::Text("ab")]).unwrap();
    let expected =
        b"B\0\0\0\x1f\0k\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\x01\x02\0\0\0\x02ab\0\x01\0\x01";
    assert_eq!(&out[..], expected);
}
