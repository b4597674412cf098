//! Runs on servers that encrypt, with certificates that the test makes: an authority's, one that it signed for
//! `localhost`, and an authority that signed nothing.
//!
//! Where a server or `openssl` is not installed each test says that it was skipped, by its name.

use crate::bed::{Bed, Done, program};
use crate::password::{PASSWORD, readable};
use crate::postgres::well;
use crate::servers::{free_port, is_root, said, user};
use crate::{mariadb, postgres, redis};
use std::os::unix::fs::chown;
use std::path::Path;
use tempfile::TempDir;

/// Files of certificates and their keys.
struct Certificates {
    dir: TempDir,
}

impl Certificates {
    /// Makes them; `None`, with a word, where `openssl` is not installed.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn make(test: &str) -> Option<Self> {
        if program("openssl").arg("version").output().is_err() {
            eprintln!("skipped: {test}: no openssl");
            return None;
        }
        let dir = tempfile::Builder::new()
            .prefix("ktls")
            .tempdir_in("/tmp")
            .unwrap();
        readable(dir.path(), 0o755);
        let own = Self { dir };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        for name in ["ours", "others"] {
            own.openssl(&format!(
                "req -x509 {key} -keyout {name}.key -out {name}.pem -days 10 -subj /CN={name}"
            ));
        }
        own.openssl(&format!(
            "req {key} -keyout server.key -out server.csr -subj /CN=server"
        ));
        std::fs::write(own.path("names"), "subjectAltName=DNS:localhost\n").unwrap();
        // The second one ends when it begins.
        for (name, days) in [("server", 10), ("expired", 0)] {
            own.openssl(&format!(
                "x509 -req -in server.csr -CA ours.pem -CAkey ours.key -CAcreateserial -extfile names -days {days} \
                 -out {name}.pem"
            ));
        }
        // Without extensions it is of version 1.
        own.openssl(
            "x509 -req -in server.csr -CA ours.pem -CAkey ours.key -days 10 -out first.pem",
        );
        readable(&own.dir.path().join("server.key"), 0o644);
        Some(own)
    }

    fn openssl(&self, words: &str) {
        let mut openssl = program("openssl");
        well(openssl.current_dir(self.dir.path()).args(words.split(' ')));
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// A key that a PostgreSQL of this user takes: nobody else may read it.
    fn key_of(&self, user: Option<(u32, u32)>) -> String {
        let own = self.path("own.key");
        std::fs::copy(self.path("server.key"), &own).unwrap();
        readable(Path::new(&own), 0o600);
        if let Some((uid, gid)) = user {
            chown(&own, Some(uid), Some(gid)).unwrap();
        }
        own
    }
}

/// What came of a run whose address, with a password where it has one, is in the variable.
fn run(bed: &Bed, test: &str, url: &str, more: &[&str]) -> Done {
    let mut args = vec!["run", test, "--passes", "2", "--set", "db.*.time=500ms"];
    let small = ["db.*.table_size=1000", "db.*.keys=1000"];
    let small = if test.contains("kv") {
        small[1]
    } else {
        small[0]
    };
    args.extend(["--set", small]);
    args.extend(more);
    let mut command = bed.command(&args);
    command.env("KURABE_DB_URL", url).output().unwrap().into()
}

/// A run that goes well and says this.
#[track_caller]
fn measured(bed: &Bed, test: &str, url: &str, expected: &[&str]) -> serde_json::Value {
    let done = run(bed, test, url, &["--full", "--label", "encrypted"]).code(0);
    let all = said(&done);
    for word in expected {
        assert!(all.contains(word), "{url}: `{word}` is not in {all}");
    }
    let page = bed.run(&["show", "encrypted", "--json"]).code(0).out;
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    let allocated = model::warning::Warning::Allocated { allocations: 1 };
    let kind = serde_json::to_value(allocated).unwrap()["kind"].clone();
    let kinds = kinds(&page);
    assert!(!kinds.contains(&kind), "a record takes memory: {page}");
    // Two rounds are too few for an interval, which shows that there are warnings where they are looked for.
    assert!(!kinds.is_empty(), "{page}");
    page["run"]["plan"]["named"][0].clone()
}

/// The kinds of the warnings of all metrics of a page.
fn kinds(page: &serde_json::Value) -> Vec<serde_json::Value> {
    let metrics = page["metrics"].as_array().unwrap();
    let warnings = metrics
        .iter()
        .flat_map(|metric| metric["warnings"].as_array().unwrap());
    warnings.map(|warning| warning["kind"].clone()).collect()
}

/// What the run keeps of a setting of its server.
fn told<'a>(named: &'a serde_json::Value, name: &str) -> &'a str {
    let all = named["server"].as_array().unwrap();
    let found = all.iter().find(|one| one["name"] == name);
    found.map_or("", |one| one["value"].as_str().unwrap())
}

/// A run that does not begin, for this reason.
#[track_caller]
fn refused(bed: &Bed, test: &str, url: &str, expected: &[&str]) {
    let done = run(bed, test, url, &[]);
    assert_ne!(done.code, Some(0), "{url}: {done:#?}");
    let all = said(&done);
    for word in expected {
        assert!(all.contains(word), "{url}: `{word}` is not in {all}");
    }
    assert!(!all.contains(PASSWORD), "{all}");
}

const POINT: &str = "db.point-select";

#[test]
fn a_postgres_is_spoken_to_encrypted_and_known_by_its_certificate() {
    const TEST: &str = "a_postgres_is_spoken_to_encrypted";
    let Some(made) = Certificates::make(TEST) else {
        return;
    };
    let key = made.key_of(user("postgres").filter(|_| is_root()));
    let settings = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", made.path("server.pem")),
        format!("ssl_key_file={key}"),
        "log_connections=on".to_owned(),
    ];
    let Some(server) = postgres::Server::start(TEST, &settings.each_ref().map(String::as_str))
    else {
        return;
    };
    let bed = Bed::new();
    let url = |host: &str, rest: &str| {
        let port = server.port();
        format!("postgres://postgres:{PASSWORD}@{host}:{port}/shop{rest}")
    };
    let (ours, others) = (made.path("ours.pem"), made.path("others.pem"));
    let named = measured(
        &bed,
        POINT,
        &url(
            "localhost",
            &format!("?sslmode=verify-full&sslrootcert={ours}"),
        ),
        &[
            "the connections are encrypted (TLSv1.3, TLS_AES_256_GCM_SHA384)",
            &format!("is of an authority in `{ours}`, and names the host"),
        ],
    );
    assert_eq!(told(&named, "tls"), "TLSv1.3", "{named}");
    assert_eq!(told(&named, "tls_cipher"), "TLS_AES_256_GCM_SHA384");
    let path = named["path"].as_str().unwrap();
    assert!(
        path.ends_with(&format!("/shop?sslmode=verify-full&sslrootcert={ours}")),
        "{path}"
    );
    // By its own word it was, and nobody else came over the network.
    let log = std::fs::read_to_string(server.dir().join("log")).unwrap();
    let let_in = log
        .lines()
        .filter(|line| line.contains("application_name=kurabe"));
    let (with, without): (Vec<&str>, Vec<&str>) =
        let_in.partition(|line| line.contains("SSL enabled (protocol=TLSv1.3"));
    assert!(with.len() > 2 && without.is_empty(), "{without:?}");
    let refused =
        |host: &str, rest: &str, words: &[&str]| refused(&bed, POINT, &url(host, rest), words);
    let full = format!("?sslmode=verify-full&sslrootcert={ours}");
    refused(
        "127.0.0.1",
        &full,
        &[
            "is not that of `127.0.0.1`: it names",
            "localhost",
            "`sslmode=verify-ca`",
        ],
    );
    refused(
        "localhost",
        &format!("?sslmode=verify-ca&sslrootcert={others}"),
        &[
            &format!("is of no authority in `{others}`"),
            "`sslrootcert=FILE`",
        ],
    );
    refused(
        "localhost",
        "?sslmode=verify-ca&sslrootcert=/nowhere/ca.pem",
        &[
            "certificates of authorities in `/nowhere/ca.pem`",
            "No such file",
        ],
    );
    refused(
        "localhost",
        &format!("?sslmode=verify-ca&sslrootcert={key}"),
        &["it holds no certificate"],
    );
    // The server reads its files again, which are others now.
    let shows = |name: &str| {
        std::fs::copy(made.path(name), made.path("server.pem")).unwrap();
        server.ask("shop", "SELECT pg_reload_conf()");
    };
    shows("expired.pem");
    refused(
        "localhost",
        &full,
        &["the server's certificate has expired", "clock"],
    );
    shows("first.pem");
    refused("localhost", &full, &["is refused: ", "of X.509 version 3"]);
    measured(
        &bed,
        POINT,
        &url("127.0.0.1", "?sslmode=require"),
        &["the server's certificate was not verified"],
    );
    // Without a word nothing is encrypted, and a comparison says so.
    run(&bed, POINT, &url("127.0.0.1", ""), &["--label", "plain"]).code(0);
    bed.run(&["compare", "plain", "encrypted"])
        .out_says(&["server: tls"]);
    let socket = format!("{}&sslmode=require", server.socket("shop"));
    refused_address(&bed, &socket, "over a Unix socket");
}

/// An address that nobody is asked for.
#[track_caller]
fn refused_address(bed: &Bed, url: &str, words: &str) {
    bed.run(&["run", POINT, "--db", url])
        .code(2)
        .err_has(&[words, "hint: "]);
}

#[test]
fn a_server_that_does_not_encrypt_is_told_from_one_that_is_none() {
    let Some(server) = postgres::Server::start("a_server_that_does_not_encrypt", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = format!("{}?sslmode=require", server.loopback());
    refused(
        &bed,
        POINT,
        &url,
        &[
            "the server speaks no TLS",
            "hint: see `ssl` of postgresql.conf",
        ],
    );
    for (url, words) in [
        ("postgres://b@h/d?sslmode=prefer", "leaves to the server"),
        ("mysql://b@h/d?ssl-mode=PREFERRED", "leaves to the server"),
        (
            "postgres://b@h/d?sslmode=require&sslcert=/x",
            "no certificate of its own",
        ),
    ] {
        refused_address(&bed, url, words);
    }
}

#[test]
fn a_mariadb_is_spoken_to_encrypted_where_it_asks_for_that() {
    const TEST: &str = "a_mariadb_is_spoken_to_encrypted";
    let Some(made) = Certificates::make(TEST) else {
        return;
    };
    let settings = [
        format!("--ssl-cert={}", made.path("server.pem")),
        format!("--ssl-key={}", made.path("server.key")),
    ];
    let Some(server) = mariadb::Server::start(TEST, &settings.each_ref().map(String::as_str))
    else {
        return;
    };
    // It lets nobody in whom others can listen to.
    server.ask("ALTER USER bob REQUIRE SSL; ALTER USER bob@localhost REQUIRE SSL");
    let bed = Bed::new();
    let url = |host: &str, rest: &str| {
        let own = server
            .loopback()
            .replace("bob@127.0.0.1", &format!("bob:{PASSWORD}@{host}"));
        format!("{own}{rest}")
    };
    let ours = made.path("ours.pem");
    let named = measured(
        &bed,
        POINT,
        &url(
            "localhost",
            &format!("?ssl-mode=VERIFY_IDENTITY&ssl-ca={ours}"),
        ),
        &[
            "the connections are encrypted (TLSv1.3",
            "names the host of the address",
        ],
    );
    assert_eq!(told(&named, "tls"), "TLSv1.3", "{named}");
    measured(
        &bed,
        POINT,
        &url("127.0.0.1", "?ssl-mode=REQUIRED"),
        &["the server's certificate was not verified"],
    );
    refused(
        &bed,
        POINT,
        &url("127.0.0.1", ""),
        &["(1045)", "`ssl-mode=REQUIRED`"],
    );
    refused(
        &bed,
        POINT,
        &url(
            "127.0.0.1",
            &format!("?ssl-mode=VERIFY_IDENTITY&ssl-ca={ours}"),
        ),
        &["is not that of `127.0.0.1`", "`ssl-mode=VERIFY_CA`"],
    );
    let others = made.path("others.pem");
    refused(
        &bed,
        POINT,
        &url("127.0.0.1", &format!("?ssl-mode=VERIFY_CA&ssl-ca={others}")),
        &[
            &format!("is of no authority in `{others}`"),
            "`ssl-ca=FILE`",
        ],
    );
}

#[test]
fn a_redis_is_spoken_to_encrypted_on_a_port_of_its_own() {
    const TEST: &str = "a_redis_is_spoken_to_encrypted";
    let Some(made) = Certificates::make(TEST) else {
        return;
    };
    let port = free_port().to_string();
    let (own, key, ours) = (
        made.path("server.pem"),
        made.path("server.key"),
        made.path("ours.pem"),
    );
    let settings = [
        "--tls-port",
        &port,
        "--tls-cert-file",
        &own,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &ours,
        "--tls-auth-clients",
        "no",
        "--requirepass",
        PASSWORD,
    ];
    let Some(_server) = redis::Server::start(TEST, &settings) else {
        return;
    };
    let bed = Bed::new();
    let test = "db.kv-mixed";
    let url = |host: &str, rest: &str| format!("rediss://:{PASSWORD}@{host}:{port}/0{rest}");
    let named = measured(
        &bed,
        test,
        &url("localhost", &format!("?cacert={ours}")),
        &[
            "the connections are encrypted (TLSv1.3",
            "names the host of the address",
        ],
    );
    assert_eq!(told(&named, "tls"), "TLSv1.3", "{named}");
    measured(
        &bed,
        test,
        &url("127.0.0.1", "?insecure"),
        &["the server's certificate was not verified"],
    );
    let refused = |url: &str, words: &[&str]| refused(&bed, test, url, words);
    let with = |name: &str| format!("?cacert={}", made.path(name));
    refused(
        &url("127.0.0.1", &with("ours.pem")),
        &["is not that of `127.0.0.1`", "`insecure`"],
    );
    refused(
        &url("localhost", &with("others.pem")),
        &["is of no authority in", "`cacert=FILE`"],
    );
}
