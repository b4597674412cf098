//! Servers that are none, that want what they should not get, and ways of login. A real MariaDB is in the tests of the
//! binary; MySQL 8's way of login is here alone, by exchanges after its public documentation, and was not tried on one.

use super::decode::SCRAMBLE;
use super::login::log_in;
use super::{Prepared, Value, execute};
use crate::db::address::{Address, Host};
use crate::db::encryption::Check;
use crate::db::engines::Engine;
use crate::db::server::tls_tests::{asked, served};
use crate::db::server::trouble::Trouble;
use bytes::BytesMut;
use engine::secret::Secret;
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

const PASSWORD: &str = "hunter2";
const SALT: &[u8; SCRAMBLE] = b"abcdefghijklmnopqrst";

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(body.len()).unwrap().to_le_bytes();
    bytes[3] = number;
    [&bytes, body].concat()
}

/// The greeting of a MySQL 8 that proposes this way of login.
fn greeting(way: &str) -> Vec<u8> {
    let mut bytes = b"\x0a8.0.36\0\x07\0\0\0".to_vec();
    bytes.extend(&SALT[..8]);
    bytes.extend(b"\0\xff\xff\xff\x02\0\xff\xdf\x15");
    bytes.extend([0; 10]);
    bytes.extend(&SALT[8..]);
    bytes.push(0);
    bytes.extend(way.as_bytes());
    bytes.push(0);
    packet(0, &bytes)
}

const OK: &[u8] = b"\0\0\0\x02\0\0\0";

/// What a server hears that says one of these after each packet of ours, the first at once, and then ends.
fn serve(mut client: impl Read + Write, says: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    for (place, words) in says.iter().enumerate() {
        if place > 0 {
            let mut header = [0; 4];
            if client.read_exact(&mut header).is_err() {
                break;
            }
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
            let mut body = vec![0; length as usize];
            client.read_exact(&mut body).unwrap();
            heard.push(body);
        }
        client.write_all(words).unwrap();
    }
    heard
}

fn address(host: Host, port: u16) -> Address {
    Address {
        engine: Engine::Mysql,
        user: "bob".to_owned(),
        host,
        port,
        database: "shop".to_owned(),
        tls: None,
        may_be_clear: false,
    }
}

/// What comes of a login over the network.
fn at(says: &[Vec<u8>], password: Option<&str>) -> (Result<u16, Trouble>, Vec<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let to = address(Host::Name("127.0.0.1".to_owned()), port);
    let secret = password.map(|password| Secret::new(password.to_owned()));
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(listener.accept().unwrap().0, says));
        let done = log_in(&to, secret.as_ref()).map(|(_, status)| status);
        (done, server.join().unwrap())
    })
}

/// And over a Unix socket.
fn at_socket(says: &[Vec<u8>], password: &str) -> (Result<u16, Trouble>, Vec<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let secret = Secret::new(password.to_owned());
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(listener.accept().unwrap().0, says));
        let done = log_in(&address(Host::Socket(path), 3306), Some(&secret));
        (done.map(|(_, status)| status), server.join().unwrap())
    })
}

/// And encrypted: the first of the words comes before, and an empty one is nothing that is waited for.
fn at_encrypted(says: &[Vec<u8>], password: &str) -> (Result<u16, Trouble>, Vec<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut to = address(Host::Name("localhost".to_owned()), port);
    to.tls = Some(asked(Check::Name));
    let secret = Secret::new(password.to_owned());
    let (first, rest) = says.split_first().unwrap();
    let rest = [&[Vec::new()], rest].concat();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (mut socket, _) = listener.accept().unwrap();
            socket.write_all(first).unwrap();
            // Flags, the largest packet, the character set, and no name.
            let mut request = [0; 36];
            if socket.read_exact(&mut request).is_err() {
                return Vec::new();
            }
            assert_eq!(&request[..4], b"\x20\0\0\x01");
            assert_eq!(request[5] & 8, 8, "it asks for encryption");
            serve(served(socket), &rest)
        });
        let done = log_in(&to, Some(&secret)).map(|(_, status)| status);
        (done, server.join().unwrap())
    })
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Whether a server that keeps the digest of the digest of the password takes this proof of `caching_sha2_password`.
fn is_proved_by_sha256(proof: &[u8]) -> bool {
    let kept = Sha256::digest(Sha256::digest(PASSWORD.as_bytes()));
    let mask = Sha256::new()
        .chain_update(kept)
        .chain_update(SALT)
        .finalize();
    let once: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    proof.len() == 32 && Sha256::digest(once) == kept
}

/// And of `mysql_native_password`.
fn is_proved_by_sha1(proof: &[u8]) -> bool {
    let kept = Sha1::digest(Sha1::digest(PASSWORD.as_bytes()));
    let mask = Sha1::new().chain_update(SALT).chain_update(kept).finalize();
    let once: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    proof.len() == 20 && Sha1::digest(once) == kept
}

/// The proof in the answer to a greeting.
fn proof_of(answer: &[u8]) -> &[u8] {
    let rest = answer[32..].strip_prefix(b"bob\0").unwrap();
    let (length, rest) = rest.split_first().unwrap();
    let (proof, rest) = rest.split_at((*length).into());
    assert!(rest.starts_with(b"shop\0"), "{rest:?}");
    proof
}

#[test]
fn caching_sha2_is_done_with_at_a_server_that_knows_us() {
    let way = "caching_sha2_password";
    // Both words in one write.
    let known = [packet(2, b"\x01\x03"), packet(3, OK)].concat();
    let (done, heard) = at(&[greeting(way), known], Some(PASSWORD));
    assert_eq!(done.unwrap(), 2);
    assert!(is_proved_by_sha256(proof_of(&heard[0])));
}

#[test]
fn a_password_in_the_clear_goes_encrypted_as_well() {
    let says = [
        greeting("caching_sha2_password"),
        packet(3, b"\x01\x04"),
        packet(5, OK),
    ];
    let (done, heard) = at_encrypted(&says, PASSWORD);
    assert_eq!(done.unwrap(), 2);
    assert!(is_proved_by_sha256(proof_of(&heard[0])));
    assert_eq!(heard[1], [PASSWORD.as_bytes(), b"\0"].concat());
    // Who does not offer it hears nothing.
    let mut without = greeting("caching_sha2_password");
    let low = without.windows(2).position(|two| two == b"\xff\xff");
    without[low.unwrap() + 1] = 0xf7;
    let (done, heard) = at_encrypted(&[without], PASSWORD);
    let why = done.unwrap_err();
    assert!(
        why.to_string()
            .contains("speaks no TLS\nhint: see `ssl_cert`"),
        "{why}"
    );
    assert!(why.is_lasting() && heard.is_empty());
}

#[test]
fn a_password_in_the_clear_goes_over_no_network_that_others_hear() {
    let way = "caching_sha2_password";
    let says = [greeting(way), packet(2, b"\x01\x04"), packet(4, OK)];
    let (done, heard) = at_socket(&says, PASSWORD);
    assert!(done.is_ok());
    assert_eq!(heard[1], b"hunter2\0");
    let (done, heard) = at(&says, Some(PASSWORD));
    let why = done.unwrap_err();
    assert!(why.is_lasting());
    let why = format!("{why}{why:?}");
    assert!(
        why.contains("Unix socket") && !why.contains(PASSWORD),
        "{why}"
    );
    assert!(
        heard
            .iter()
            .all(|packet| !holds(packet, PASSWORD.as_bytes()))
    );
}

#[test]
fn a_server_may_want_another_way_than_it_proposed() {
    let wish = |way: &str| {
        let body = [b"\xfe", way.as_bytes(), b"\0", SALT, b"\0"].concat();
        packet(2, &body)
    };
    for proposed in ["caching_sha2_password", "client_ed25519"] {
        let says = [
            greeting(proposed),
            wish("mysql_native_password"),
            packet(4, OK),
        ];
        let (done, heard) = at(&says, Some(PASSWORD));
        assert!(done.is_ok(), "{proposed}: {done:?}");
        assert!(is_proved_by_sha1(&heard[1]));
    }
    // The kernel says who we are: nothing is to be sent.
    let says = [
        greeting("mysql_native_password"),
        packet(2, b"\xfeunix_socket\0"),
        packet(4, OK),
    ];
    let (done, heard) = at_socket(&says, PASSWORD);
    assert!(done.is_ok() && heard[1].is_empty(), "{done:?}");
    for way in ["client_ed25519", "dialog", "mysql_clear_password", "parsec"] {
        let (done, heard) = at(
            &[greeting("mysql_native_password"), wish(way)],
            Some(PASSWORD),
        );
        let why = done.unwrap_err();
        assert!(why.is_lasting(), "{way}");
        assert!(why.to_string().contains(&format!("({way})")), "{why}");
        assert!(
            heard
                .iter()
                .all(|packet| !holds(packet, PASSWORD.as_bytes()))
        );
    }
    let (done, _) = at(
        &[greeting("mysql_native_password"), packet(2, b"\xfe")],
        None,
    );
    assert!(matches!(done, Err(Trouble::Login(_, way)) if way == "mysql_old_password"));
    // What stood apart in a name stays so, and nothing of it moves a cursor.
    let (done, _) = at(&[greeting("mysql_native_password"), wish("a\x1bb")], None);
    assert!(matches!(done, Err(Trouble::Login(_, way)) if way == "a b"));
}

#[test]
fn what_is_no_server_is_an_error_and_no_hang() {
    for says in [
        &[b"HTTP/1.1 400 Bad\r\n".to_vec()][..],
        &[packet(0, b"\x09old\0")],
        &[packet(1, b"\x0a")],
        &[greeting("mysql_native_password"), packet(2, b"\x05")],
        &[greeting("mysql_native_password"), packet(7, OK)],
        &[greeting("mysql_native_password"), packet(2, b"\x01\x09")],
    ] {
        let (done, _) = at(says, Some(PASSWORD));
        assert!(
            matches!(&done, Err(Trouble::Stranger { why, .. }) if why.contains("no message of MySQL")),
            "{says:?}: {done:?}"
        );
    }
    for says in [&[Vec::new()][..], &[b"\x50\0\0\0\x0a".to_vec()]] {
        let (done, _) = at(says, None);
        assert!(
            matches!(&done, Err(Trouble::Stranger { why, .. }) if why.contains("ended the connection")),
            "{says:?}: {done:?}"
        );
    }
}

#[test]
fn errors_of_a_login_are_told_with_what_helps() {
    let check = |code: u16, is_lasting: bool, hint: &str| {
        let body = [b"\xff", &code.to_le_bytes()[..], b"#28000no such luck"].concat();
        let before = [b"\xff", &code.to_le_bytes()[..], b"no such luck"].concat();
        let late = [greeting("mysql_native_password"), packet(2, &body)];
        for says in [&[packet(0, &before)][..], &late] {
            let why = at(says, None).0.unwrap_err();
            assert_eq!(why.is_lasting(), is_lasting, "{code}");
            let told = why.to_string();
            let begins = format!("no such luck ({code})\nhint: ");
            assert!(told.starts_with(&begins) && told.contains(hint), "{told}");
        }
    };
    check(1045, true, ".my.cnf");
    check(1044, true, "GRANT ALL");
    check(1049, true, "CREATE DATABASE");
    check(1040, false, "max_connections");
    check(1129, false, "flush-hosts");
    check(1698, true, "Unix socket");
    check(1290, true, "read_only");
}

#[test]
fn statements_are_executed_in_binary_and_types_travel_once() {
    let mut out = BytesMut::new();
    let mut statement = Prepared {
        id: 3,
        is_bound: false,
    };
    let values = [Value::Text("ab"), Value::Number(258)];
    execute(&mut out, &mut statement, &values);
    assert_eq!(
        &out[..],
        b"\x17\x03\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x03\0\x02ab\x02\x01\0\0"
    );
    out.clear();
    execute(&mut out, &mut statement, &values);
    assert_eq!(
        &out[..],
        b"\x17\x03\0\0\0\0\x01\0\0\0\0\0\x02ab\x02\x01\0\0"
    );
}
