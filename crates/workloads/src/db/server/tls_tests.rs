//! Encryption with a server of the test's own, which has a certificate for `localhost`, and with those who speak none.
//! Real servers are in the tests of the binary.

use super::tls::{Tls, open};
use super::trouble::Trouble;
use super::trust::{Verifier, config, roots, told};
use crate::db::address::{Address, Host};
use crate::db::encryption::{Check, Encryption};
use crate::db::engines::Engine;
use proptest::prelude::*;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const SERVER: &[u8] = include_bytes!("../../../testdata/tls/server.pem");
const KEY: &[u8] = include_bytes!("../../../testdata/tls/server.key");

fn testdata(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tls");
    dir.join(name)
}

/// The server's side of a connection.
pub(in crate::db) fn served(socket: TcpStream) -> StreamOwned<ServerConnection, TcpStream> {
    served_by(&TLS13, socket)
}

fn served_by(
    version: &'static SupportedProtocolVersion,
    socket: TcpStream,
) -> StreamOwned<ServerConnection, TcpStream> {
    let own = CertificateDer::from_pem_slice(SERVER).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own], key)
        .unwrap();
    let session = ServerConnection::new(Arc::new(config)).unwrap();
    StreamOwned::new(session, socket)
}

pub(in crate::db) fn asked(check: Check) -> Encryption {
    let is_checked = check != Check::Nothing;
    Encryption {
        check,
        authorities: is_checked.then(|| testdata("authority.pem")),
    }
}

fn address(engine: Engine, host: &str, port: u16, tls: Encryption) -> Address {
    Address {
        engine,
        user: "bob".to_owned(),
        host: Host::Name(host.to_owned()),
        port,
        database: "0".to_owned(),
        tls: Some(tls),
        may_be_clear: false,
    }
}

/// What comes of a handshake with `server`, which has so long for it, and of `client` after it.
fn between<T>(
    (tls, within): (Encryption, Duration),
    server: impl FnOnce(TcpStream) + Send,
    client: impl FnOnce(Tls) -> T,
) -> Result<T, Trouble> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || server(listener.accept().unwrap().0));
        let socket = TcpStream::connect(place).unwrap();
        let to = address(Engine::Postgres, "localhost", place.port(), tls.clone());
        open(socket, (&to, &tls), within).map(client)
    })
}

const SOON: Duration = Duration::from_secs(10);

/// What is read next, however often a part of a record comes before.
fn fetched(tls: &mut Tls, room: &mut [u8]) -> usize {
    loop {
        if let Some(read) = tls.read(room).unwrap() {
            return read;
        }
    }
}

#[test]
fn what_is_sent_comes_through_whatever_the_records_are() {
    let sent: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
    for check in [Check::Nothing, Check::Authority, Check::Name] {
        let server = |socket| {
            let mut stream = served(socket);
            let mut got = vec![0; sent.len()];
            stream.read_exact(&mut got).unwrap();
            assert_eq!(got, sent);
            // A byte, odd numbers of them, and more than a record has.
            let mut rest = &sent[..];
            for length in [1, 2, 4095, 16_384, 17_000, 40_001, usize::MAX] {
                let (piece, after) = rest.split_at(length.min(rest.len()));
                stream.write_all(piece).unwrap();
                rest = after;
            }
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        };
        let client = |mut tls: Tls| {
            tls.write(&sent).unwrap();
            let mut got = Vec::new();
            for room in (1..).step_by(997) {
                let mut room = vec![0; room % 20_000 + 1];
                match tls.read(&mut room).unwrap() {
                    Some(0) => break,
                    Some(read) => got.extend_from_slice(&room[..read]),
                    None => {}
                }
            }
            assert_eq!(got, sent);
            let facts = tls
                .facts()
                .map(|fact| format!("{} {}", fact.name, fact.value));
            assert_eq!(facts, ["tls TLSv1.3", "tls_cipher TLS_AES_256_GCM_SHA384"]);
            tls.note()
        };
        let note = between((asked(check), SOON), server, client).unwrap();
        assert!(note.contains("encrypted (TLSv1.3, TLS_AES_256"), "{note}");
        let words = match check {
            Check::Nothing => "certificate was not verified",
            Check::Authority => "authority.pem`, and the host that it names was not looked at",
            Check::Name => "authority.pem`, and names the host of the address",
        };
        assert!(note.contains(words), "{note}");
    }
}

#[test]
fn an_older_version_is_spoken_to_servers_that_know_no_newer_one() {
    for check in [Check::Nothing, Check::Name] {
        let server = |socket| {
            let mut stream = served_by(&TLS12, socket);
            let mut got = [0; 5];
            stream.read_exact(&mut got).unwrap();
            stream.write_all(&got).unwrap();
        };
        let client = |mut tls: Tls| {
            tls.write(b"hello").unwrap();
            let mut got = [0; 100];
            assert_eq!(fetched(&mut tls, &mut got), 5);
            assert!(got.starts_with(b"hello"));
            tls.facts().map(|fact| fact.value)
        };
        let facts = between((asked(check), SOON), server, client).unwrap();
        assert_eq!(
            facts,
            ["TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"]
        );
    }
}

#[test]
fn a_part_of_a_record_is_nothing_to_wait_for() {
    let server = |socket| {
        let mut stream = served(socket);
        let mut got = [0; 5];
        stream.read_exact(&mut got).unwrap();
        stream.conn.writer().write_all(b"answer").unwrap();
        let mut records = Vec::new();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut records).unwrap();
        }
        let (end, begin) = records.split_last().unwrap();
        stream.sock.write_all(begin).unwrap();
        // Until the client has read this and says that it got nothing.
        stream.read_exact(&mut got).unwrap();
        stream.sock.write_all(&[*end]).unwrap();
    };
    let client = |mut tls: Tls| {
        tls.write(b"hello").unwrap();
        let mut room = [0; 100];
        assert_eq!(tls.read(&mut room).unwrap(), None);
        tls.write(b"again").unwrap();
        assert_eq!(fetched(&mut tls, &mut room), 6);
        assert!(room.starts_with(b"answer"));
    };
    between((asked(Check::Name), SOON), server, client).unwrap();
}

#[test]
fn nothing_that_came_is_left_where_nobody_is_told_of_it() {
    let server = |socket| {
        let mut stream = served(socket);
        let mut got = [0; 5];
        stream.read_exact(&mut got).unwrap();
        // Three records in one write, after which nothing comes.
        for piece in [&b"one"[..], b"two", b"three"] {
            stream.conn.writer().write_all(piece).unwrap();
        }
        let mut records = Vec::new();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut records).unwrap();
        }
        stream.sock.write_all(&records).unwrap();
        let _ = stream.sock.read_to_end(&mut Vec::new());
    };
    for room in [2, 4, 100] {
        let client = |mut tls: Tls| {
            tls.write(b"hello").unwrap();
            let mut got = Vec::new();
            loop {
                let mut room = vec![0; room];
                let read = fetched(&mut tls, &mut room);
                got.extend_from_slice(&room[..read]);
                if !tls.holds_more() {
                    return got;
                }
            }
        };
        let got = between((asked(Check::Name), SOON), server, client).unwrap();
        assert_eq!(got, b"onetwothree", "{room}");
    }
}

#[test]
fn a_handshake_that_does_not_go_on_ends_in_time() {
    let brief = Duration::from_millis(150);
    let silent = |mut socket: TcpStream| {
        let _ = socket.read_to_end(&mut Vec::new());
    };
    // A record of 16 KiB, a byte at a time: each read has an answer.
    let dripping = |mut socket: TcpStream| {
        let header = [0x16, 3, 3, 0x40, 0].into_iter();
        for byte in header.chain(std::iter::repeat(0)) {
            if socket.write_all(&[byte]).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    for server in [&silent as &(dyn Fn(TcpStream) + Sync), &dripping] {
        let why = between((asked(Check::Nothing), brief), server, drop).unwrap_err();
        assert!(why.to_string().contains("did not end in time"), "{why}");
        assert!(!why.is_lasting());
    }
}

#[test]
fn who_speaks_no_tls_is_told_by_what_it_says() {
    for (words, kind) in [
        (&b"SSH-2.0-OpenSSH_9.2p1\r\n"[..], "an SSH server"),
        (b"-ERR Protocol error\r\n", "Redis/Valkey"),
    ] {
        let server = |mut socket: TcpStream| {
            socket.write_all(words).unwrap();
            let _ = socket.read_to_end(&mut Vec::new());
        };
        let why = between((asked(Check::Nothing), SOON), server, drop).unwrap_err();
        let expected = format!("is no TLS: it is what {kind} says\nhint: ");
        assert!(why.to_string().contains(&expected), "{why}");
    }
}

#[test]
fn what_is_put_between_records_is_an_error_and_no_text() {
    let server = |socket| {
        let mut stream = served(socket);
        let mut got = [0; 5];
        stream.read_exact(&mut got).unwrap();
        // A record that nobody encrypted who knows the keys.
        let forged = [&[0x17, 3, 3, 0, 32][..], &[0; 32]].concat();
        stream.sock.write_all(&forged).unwrap();
        let _ = stream.sock.read_to_end(&mut Vec::new());
    };
    let client = |mut tls: Tls| {
        tls.write(b"hello").unwrap();
        loop {
            if let Err(why) = tls.read(&mut [0; 100]) {
                return why.to_string();
            }
        }
    };
    let why = between((asked(Check::Name), SOON), server, client).unwrap();
    assert!(why.contains("TLS: cannot decrypt"), "{why}");
}

#[test]
fn certificates_are_refused_with_words_that_help() {
    let own = CertificateDer::from_pem_slice(SERVER).unwrap();
    let authority = CertificateDer::from_pem_file(testdata("authority.pem")).unwrap();
    let verifier = |check: Check, file: &str| Verifier {
        check,
        roots: Some(roots(&testdata(file)).unwrap()),
        algorithms: rustls::crypto::ring::default_provider().signature_verification_algorithms,
    };
    let year =
        |year: u64| UnixTime::since_unix_epoch(Duration::from_secs((year - 1970) * 31_556_952));
    let check = |(check, file): (Check, &str), certificate, host: &str, now, words: &[&str]| {
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let done = verifier(check, file).verify_server_cert(certificate, &[], &name, &[], now);
        let Err(error) = done else {
            assert!(words.is_empty(), "{host}: {words:?}");
            return;
        };
        let to = address(Engine::Postgres, host, 5432, asked(check));
        let why = told(&to, file, error, &[]).to_string();
        assert!(!words.is_empty(), "{host}: {why}");
        for word in words {
            assert!(why.contains(word), "{why}");
        }
    };
    let ours = "authority.pem";
    let now = year(2030);
    check((Check::Name, ours), &own, "localhost", now, &[]);
    check((Check::Authority, ours), &own, "db.example", now, &[]);
    let others = ["is not that of `db.example`", "localhost", "verify-ca"];
    check((Check::Name, ours), &own, "db.example", now, &others);
    let by_number = ["is not that of `127.0.0.1`: it names", "localhost"];
    check((Check::Name, ours), &own, "127.0.0.1", now, &by_number);
    for (now, word) in [
        (year(2200), "has expired"),
        (year(2000), "is not valid yet"),
    ] {
        check(
            (Check::Authority, ours),
            &own,
            "localhost",
            now,
            &[word, "clock"],
        );
    }
    // Its own certificate is none of an authority, and that of the authority none of a server.
    let unknown = ["is of no authority in `server.pem`", "sslrootcert=FILE"];
    check(
        (Check::Authority, "server.pem"),
        &own,
        "localhost",
        now,
        &unknown,
    );
    let of_authority = ["is refused: ", "not that of the authority itself"];
    check(
        (Check::Authority, ours),
        &authority,
        "localhost",
        now,
        &of_authority,
    );
}

#[test]
fn a_bundle_is_read_once_for_all_clients_and_one_of_no_use_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bundle.pem");
    let of = |check| Encryption {
        check,
        authorities: Some(path.clone()),
    };
    let made = |check| config(Engine::Postgres, &of(check)).map(|(config, _)| config);
    assert!(made(Check::Name).is_err());
    std::fs::copy(testdata("authority.pem"), &path).unwrap();
    let first = made(Check::Name).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(Arc::ptr_eq(&first, &made(Check::Name).unwrap()));
    assert!(
        made(Check::Authority).is_err(),
        "it asks for something else"
    );
}

#[test]
fn a_file_of_authorities_that_is_of_no_use_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let pem = |inside: &str| {
        format!("-----BEGIN CERTIFICATE-----\n{inside}\n-----END CERTIFICATE-----\n")
    };
    for (path, words) in [
        (dir.path().join("none"), "No such file"),
        (PathBuf::from("authority.pem"), "no absolute path"),
        (dir.path().to_owned(), "no regular file"),
        (file("empty", b""), "no certificate"),
        (file("noise", b"\x00\xff certificate"), "no certificate"),
        (file("key", KEY), "no certificate"),
        (file("other", pem("aGVsbG8=").as_bytes()), "no certificate"),
        (file("broken", pem("%%%").as_bytes()), "base64"),
    ] {
        let why = roots(&path).unwrap_err().to_string();
        let shown = format!("`{}`: ", path.display());
        assert!(why.contains(&shown) && why.contains(words), "{why}");
        assert!(why.contains("hint: "), "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_break_a_handshake(
        kind in 0x14_u8..0x19,
        length in 0_u16..80,
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        is_record in any::<bool>(),
    ) {
        let mut answer = bytes;
        if is_record {
            let [high, low] = length.to_be_bytes();
            answer.splice(0..0, [kind, 3, 3, high, low]);
        }
        let server = |mut socket: TcpStream| {
            let _ = socket.write_all(&answer);
            let _ = socket.shutdown(std::net::Shutdown::Write);
            let _ = socket.read_to_end(&mut Vec::new());
        };
        let why = between((asked(Check::Nothing), SOON), server, drop).unwrap_err();
        prop_assert!(why.to_string().contains("TLS"), "{why}");
    }
}
