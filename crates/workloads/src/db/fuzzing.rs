//! What reads the bytes of servers and the texts of users, fed with anything: the targets in `fuzz/` call this, and so
//! do the tests below, with any bytes and with changed files of `fuzz/corpus`.
//!
//! It must not panic, loop, quote a password or take more memory than its limits allow.

use super::address::{Address, Defaults, Host};
use super::engines::Engine;
use super::option_file::Options;
use super::server::line::Line;
use super::{kv, mysql, password_file, postgres};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// As what a PostgreSQL server says.
pub fn postgres_server(bytes: &[u8]) {
    postgres::fuzzing::any(bytes);
}

/// As what a MySQL or MariaDB server says.
pub fn mysql_server(bytes: &[u8]) {
    mysql::fuzzing::any(bytes);
}

/// As replies of a Redis or Valkey server.
pub fn redis_server(bytes: &[u8]) {
    kv::fuzzing::any(bytes);
}

/// As an address. What is kept of it is read back as the same.
pub fn address(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let defaults = Defaults {
        user: Some("me".to_owned()),
        ..Defaults::default()
    };
    for begin in ["", "postgres://", "mysql://", "redis://"] {
        match Address::read(&format!("{begin}{text}"), &defaults) {
            Ok(typed) => {
                let kept = typed.address.to_string();
                let again = Address::read(&kept, &Defaults::default());
                let again = again.unwrap_or_else(|why| panic!("{kept}: {why}"));
                assert_eq!(again.address, typed.address, "{kept}");
                assert!(again.password.is_none(), "{kept}");
                assert!(!kept.contains(char::is_control), "{kept:?}");
            }
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}

/// As a file of passwords, of either kind.
pub fn password_files(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for host in ["db", "/srv/pg"] {
        let mut to = somebody(Engine::Postgres);
        to.host = if host.starts_with('/') {
            Host::Socket(host.into())
        } else {
            Host::Name(host.to_owned())
        };
        if let Some(found) = password_file::password_in(&text, &to) {
            assert!(!found.is_empty() && found.len() <= text.len());
        }
    }
    let options = Options::read(&text);
    let defaults = options.defaults(Some("me".to_owned()));
    assert!(defaults.user.is_some());
    if let Some(found) = options.password() {
        assert!(!found.is_empty() && found.len() <= text.len());
    }
    // Whatever stands there, an address is read by it or refused.
    let _ = Address::read("mysql:///x", &defaults).map(|typed| typed.address.to_string());
}

/// What opens the door while anything comes through it.
pub(super) const PASSWORD: &str = "kn0bbly:hunter";

/// An error quotes the password only where the other side said it.
pub(super) fn quotes_no_password(error: &str, heard: &[u8]) {
    let mut parts = heard.windows(PASSWORD.len());
    let mut is_told = || parts.any(|part| part == PASSWORD.as_bytes());
    assert!(!error.contains(PASSWORD) || is_told(), "{error}");
}

/// Whoever asks.
pub(super) fn somebody(engine: Engine) -> Address {
    Address {
        engine,
        user: "bob".to_owned(),
        host: Host::Name("db".to_owned()),
        port: 5432,
        tls: None,
        may_be_clear: false,
        database: "shop".to_owned(),
    }
}

/// A connection over which these bytes come, and then the end. What is written to it goes nowhere, as long as the other
/// end is there.
pub(super) fn heard(bytes: &[u8]) -> (Line, UnixStream) {
    // As many as a socket takes without a reader.
    let bytes = &bytes[..bytes.len().min(64 << 10)];
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(bytes).expect("a socket takes so much");
    theirs.shutdown(Shutdown::Write).expect("it is open");
    let mut line = Line::over(ours);
    // Nobody waits for a server that has said all.
    let waits = line.wait_at_most(Duration::from_secs(5));
    waits.expect("a socket has time-outs");
    (line, theirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    type Target = (&'static str, fn(&[u8]));

    const TARGETS: [Target; 5] = [
        ("postgres_server", postgres_server),
        ("mysql_server", mysql_server),
        ("redis_server", redis_server),
        ("db_address", address),
        ("db_password_files", password_files),
    ];

    /// The files in which a search of this name begins.
    fn seeds(name: &str) -> Vec<Vec<u8>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        let files = std::fs::read_dir(root.join(name)).unwrap().flatten();
        let mut files: Vec<_> = files.map(|file| file.path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name}");
        let read = |file| std::fs::read(file).unwrap();
        files.iter().map(read).collect()
    }

    #[test]
    fn the_files_of_the_corpus_are_read() {
        for (name, target) in TARGETS {
            for seed in seeds(name) {
                target(&seed);
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_them(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            for (_, target) in TARGETS {
                target(&bytes);
            }
        }

        #[test]
        fn nor_do_changed_files_of_the_corpus(
            seed in any::<prop::sample::Index>(),
            cut in any::<prop::sample::Index>(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            for (name, target) in TARGETS {
                let seeds = seeds(name);
                let mut bytes = seeds[seed.index(seeds.len())].clone();
                for (place, byte) in &changes {
                    if !bytes.is_empty() {
                        let place = place.index(bytes.len());
                        bytes[place] = *byte;
                    }
                }
                target(&bytes);
                target(&bytes[..cut.index(bytes.len() + 1)]);
            }
        }
    }
}
