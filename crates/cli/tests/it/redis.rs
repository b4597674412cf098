//! Runs on a Redis server of the test's own: on a Unix socket and loopback, in a directory that goes with it.
//!
//! Where no Redis is installed each test that needs one says that it was skipped, by its name.

use crate::bed::{Bed, Done, eventually, program};
use crate::servers::{free_port, is_root, said, says, user};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A server.
pub(crate) struct Server {
    dir: TempDir,
    child: Child,
    port: u16,
    settings: Vec<String>,
}

const BIN: &str = "/usr/bin/redis-server";

/// The user and the group that it runs as where root tests it.
fn runs_as() -> Option<(u32, u32)> {
    user("redis").or_else(|| user("nobody"))
}

impl Server {
    /// Starts one with these further settings; `None`, with a word, where none is installed.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) fn start(test: &str, settings: &[&str]) -> Option<Self> {
        let bin = Path::new(BIN);
        let (true, Some((uid, gid))) = (bin.is_file(), runs_as()) else {
            eprintln!("skipped: {test}: no Redis");
            return None;
        };
        let dir = tempfile::Builder::new()
            .prefix("kredis")
            .tempdir_in("/tmp")
            .unwrap();
        if is_root() {
            chown(dir.path(), Some(uid), Some(gid)).unwrap();
        }
        let port = free_port();
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let child = Self::process(dir.path(), port, &settings);
        let server = Self {
            dir,
            child,
            port,
            settings,
        };
        server.awaited();
        Some(server)
    }

    /// Its process, which listens a moment later.
    fn process(dir: &Path, port: u16, settings: &[String]) -> Child {
        let (uid, gid) = runs_as().unwrap();
        assert_ne!(uid, 0);
        let mut command = if is_root() {
            let mut command = program("setpriv");
            let ids = [format!("--reuid={uid}"), format!("--regid={gid}")];
            command.args(ids).args(["--clear-groups", "--"]).arg(BIN);
            command
        } else {
            program(BIN)
        };
        command
            .current_dir(dir)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--unixsocketperm", "777", "--save", "", "--daemonize", "no"])
            .arg("--unixsocket")
            .arg(dir.join("s"))
            .arg("--dir")
            .arg(dir)
            .args(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    }

    fn awaited(&self) {
        eventually(20, || {
            std::os::unix::net::UnixStream::connect(self.dir.path().join("s")).is_ok()
        });
    }

    /// Kills it.
    pub(crate) fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again, with what it kept in its directory.
    pub(crate) fn again(&mut self) {
        self.child = Self::process(self.dir.path(), self.port, &self.settings);
        self.awaited();
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn cli(&self) -> Command {
        let mut command = program("redis-cli");
        command.arg("-s").arg(self.dir.path().join("s"));
        command
    }

    /// What `redis-cli` answers.
    #[track_caller]
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let done = self.cli().args(words).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        assert!(done.status.success(), "{words:?}: {said}");
        said
    }

    pub(crate) fn socket(&self) -> String {
        format!("redis:///0?socket={}/s", self.dir.path().display())
    }

    pub(crate) fn loopback(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Where it listens on loopback.
    pub(crate) const fn loopback_at(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    /// By its own number.
    pub(crate) fn signal(&self, signal: &str) {
        crate::bed::signal(&self.child, signal);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two short rounds of a test with a thousand keys.
pub(crate) fn short<'a>(test: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", test, "--passes", "2", "--set", "db.*.keys=1000"];
    args.extend(["--set", "db.*.time=500ms"]);
    args.extend(more);
    args
}

/// The values that each figure of a run has in its rounds.
#[derive(Debug)]
pub(crate) struct Figures(BTreeMap<String, Vec<f64>>);

impl Figures {
    pub(crate) fn of(page: &serde_json::Value) -> Self {
        let metrics = page["metrics"].as_array().unwrap();
        let each = metrics.iter().filter_map(|metric| {
            let rounds = metric["rounds"].as_array()?.iter();
            let values = rounds.filter_map(serde_json::Value::as_f64).collect();
            Some((metric["id"].as_str()?.to_owned(), values))
        });
        Self(each.collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Those of all rounds, of which there are some.
    #[track_caller]
    pub(crate) fn all(&self, name: &str) -> &[f64] {
        let all = self
            .0
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {self:?}"));
        assert!(!all.is_empty(), "{name}");
        all
    }

    /// Little's law: rate times latency are the requests under way, in every round.
    #[track_caller]
    fn under_way(&self, case: &str, expected: f64) {
        let rates = self.all(&format!("{case}:requests_per_s"));
        let times = self.all(&format!("{case}:lat_ns_mean"));
        for (rate, time) in rates.iter().zip(times) {
            let under_way = rate * time / 1e9 / expected;
            assert!((0.75..1.05).contains(&under_way), "{case}: {rate} {time}");
        }
    }
}

#[test]
fn every_test_works_on_a_server_and_leaves_nothing_there() {
    let Some(server) = Server::start("every_test_works_on_a_server", &[]) else {
        return;
    };
    let bed = Bed::new();
    server.ask(&["-n", "1", "SET", "kurabe:kv:000000000007", "theirs"]);
    for url in [server.socket(), server.loopback()] {
        let done = bed
            .run(&short("kv", &["--copies", "3", "--db", &url, "--json"]))
            .code(0);
        let page: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        let plan = &page["run"]["plan"];
        let cases = plan["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 3, "{cases:#?}");
        for case in cases {
            let title = case["title"].as_str().unwrap();
            assert!(title.starts_with("Redis or Valkey, "), "{title}");
            assert!(title.contains("1000 keys of 3 bytes"), "{title}");
        }
        assert_eq!(plan["named"][0]["path"], url.as_str());
        let figures = Figures::of(&page);
        for test in ["get", "set", "mixed"] {
            let case = format!("db.kv-{test}@3");
            figures.under_way(&case, 3.0);
            let of = |quantity: &str| figures.all(&format!("{case}:{quantity}"))[0];
            assert!(of("lat_ns_p50") <= of("lat_ns_p99") && of("lat_ns_p99") <= of("lat_ns_max"));
            assert!(of("cpu_ns_per_op") > 500.0 && of("server_cpu_ns_per_op") > 500.0);
            if test != "set" {
                assert!((of("hit_rate") - 1.0).abs() < 1e-9, "{test}");
            }
        }
        assert!(!figures.has("db.kv-set@3:hit_rate"));
        for words in [
            "Redis 7",
            "appendonly no",
            "no disturbance",
            "durability is off",
        ] {
            assert!(done.out.contains(words), "{words}");
        }
        assert_eq!(server.ask(&["DBSIZE"]), "0");
    }
    let theirs = server.ask(&["-n", "1", "GET", "kurabe:kv:000000000007"]);
    assert_eq!(theirs, "theirs");
}

#[test]
fn parameters_are_those_of_redis_benchmark_and_memtier() {
    let Some(server) = Server::start("parameters_are_those_of_redis_benchmark", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.loopback();
    let run = |test: &str, sets: &[&str]| {
        let mut args = short(test, &["--db", &url, "--json"]);
        for set in sets {
            args.extend(["--set", set]);
        }
        let done = bed.run(&args).code(0);
        let page = serde_json::from_str(&done.out).unwrap();
        Figures::of(&page)
    };
    // Many requests in a write are more requests a second, and each takes as long as all of them.
    let plain = run("db.kv-get", &[]);
    let many = run("db.kv-get", &["db.*.pipeline=100", "db.*.data_size=200"]);
    let rate = "db.kv-get@1:requests_per_s";
    let most = |figures: &Figures| figures.all(rate).iter().copied().fold(0.0, f64::max);
    assert!(most(&many) > 2.0 * most(&plain), "{many:?} {plain:?}");
    many.under_way("db.kv-get@1", 100.0);
    // The server counts what was asked of it: of eleven requests one is a SET.
    server.ask(&["CONFIG", "RESETSTAT"]);
    run("db.kv-mixed", &[]);
    let calls = |command: &str| -> f64 {
        let stats = server.ask(&["INFO", "commandstats"]);
        let begin = format!("cmdstat_{command}:calls=");
        let line = stats.lines().find_map(|line| line.strip_prefix(&begin));
        line.map_or(0.0, |line| line.split(',').next().unwrap().parse().unwrap())
    };
    let share = calls("set") / (calls("set") + calls("get"));
    // The keys are made by SET as well, a thousand of them.
    assert!((0.07..0.20).contains(&share), "{share}");
    // So are those of connections that share a thread.
    let args = short("db.kv-mixed", &["--db", &url, "--json", "--copies", "50"]);
    let done = bed.run(&[args, vec!["--set", "db.*.pipeline=4"]].concat());
    let crowd = Figures::of(&serde_json::from_str(&done.code(0).out).unwrap());
    crowd.under_way("db.kv-mixed@50", 200.0);
    // At a rate so many requests arrive, however fast the server is.
    let open = run("db.kv-get", &["db.*.rate=2000"]);
    for arrived in open.all(rate) {
        assert!((1600.0..2400.0).contains(arrived), "{open:?}");
    }
    let late = "db.kv-get@1:late_ns_mean";
    assert!(open.has(late) && !plain.has(late), "{open:?}");
    let refused = |set: &str, words: &[&str]| {
        let done = bed.run(&short("db.kv-mixed", &["--db", &url, "--set", set]));
        says(&done.code(2), words);
    };
    refused("db.kv-mixed.ratio=1", &["`1:10`"]);
    refused("db.kv-mixed.ratio=0:0", &["one of them above 0"]);
    refused("db.kv-mixed.data_size=0", &["from 1 byte"]);
    refused("db.kv-mixed.data_size=2M", &["from 1 byte"]);
    let both = ["--set", "db.*.rate=10", "--set", "db.*.pipeline=2"];
    let done = bed.run(&[short("db.kv-get", &["--db", &url]), both.to_vec()].concat());
    says(&done.code(2), &["1 where requests arrive at a `rate`"]);
}

#[test]
fn without_a_server_of_its_kind_a_test_says_what_it_needs() {
    let bed = Bed::new();
    let done = bed.run(&["run", "kv"]).code(3);
    says(
        &done,
        &[
            "db.kv-get, db.kv-set, db.kv-mixed: it works on a Redis or Valkey server, which `--db redis://",
        ],
    );
    let done = bed.run(&[
        "run",
        "db.kv-get",
        "--db",
        "postgres://bob@127.0.0.1:1/shop",
    ]);
    says(
        &done.code(3),
        &[
            "names PostgreSQL, the wrong kind of server",
            "--db redis://",
        ],
    );
    let done = bed.run(&["run", "oltp", "--db", "redis://127.0.0.1:1"]);
    says(
        &done.code(3),
        &[
            "Redis/Valkey has no tables and transactions",
            "kurabe run kv",
        ],
    );
    // One in the environment is for tests that work on it, and a test that works on others says that it is not used.
    let ambient = |test: &str, url: &str| -> Done {
        let mut command = bed.command(&["run", test, "--dry-run"]);
        command.env("KURABE_DB_URL", url).output().unwrap().into()
    };
    let done = ambient("db.point-select", "redis://127.0.0.1:1").code(0);
    says(
        &done,
        &["`KURABE_DB_URL` is not used: `db.point-select` works on no Redis/Valkey server"],
    );
    assert_eq!(done.err.matches("is not used").count(), 1, "{done:#?}");
    let done = ambient("db.point-select", "postgres://bob@127.0.0.1:1/shop").code(0);
    assert!(!done.err.contains("is not used"), "{done:#?}");
    let done = ambient("cpu.prime", "redis://127.0.0.1:1").code(0);
    assert!(!done.err.contains("is not used"), "{done:#?}");
    // Who asks for all tests of databases gets those that work here.
    let done = bed.run(&["run", "db.*", "--dry-run"]).code(0);
    says(&done, &["db.kv-get", "--db redis://", "db.point-select"]);
    bed.run(&["run", "oltp", "--dry-run"]).code(0);
    says(&bed.run(&["run", "redis"]).code(2), &["kurabe run kv"]);
    bed.run(&["list", "tests"])
        .code(0)
        .out_has(&["db.kv-mixed"]);
}

#[test]
fn keys_of_others_are_left_alone() {
    let Some(server) = Server::start("keys_of_others_are_left_alone", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket();
    let args = short("db.kv-mixed", &["--db", &url]);
    let allowed = [args.clone(), vec!["--db-allow-existing"]].concat();
    server.ask(&["SET", "order:7", "a book"]);
    server.ask(&["SET", "kurabe:kv:notes", "mine"]);
    let refused = bed.run(&args);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    says(&refused, &["2 keys of others", "--db-allow-existing"]);
    bed.run(&allowed).code(0);
    assert_eq!(server.ask(&["GET", "order:7"]), "a book");
    assert_eq!(server.ask(&["GET", "kurabe:kv:notes"]), "mine");
    assert_eq!(server.ask(&["DBSIZE"]), "2");
    // A key of a name that we would give is theirs as long as no marker counts it.
    server.ask(&["SET", "kurabe:kv:000000000005", "five"]);
    for args in [&allowed, &args] {
        let refused = bed.run(args).code(3);
        says(
            &refused,
            &["none of kurabe's", "stay as they are", "another database"],
        );
        assert!(
            !said(&refused).contains("--db-allow-existing"),
            "{refused:#?}"
        );
        assert_eq!(refused.err.lines().count(), 2, "{refused:#?}");
    }
    assert_eq!(server.ask(&["GET", "kurabe:kv:000000000005"]), "five");
    assert_eq!(server.ask(&["DBSIZE"]), "3");
    // So is one of the marker's name that is no marker, whatever it is.
    for make in [
        &["SET", "kurabe:kv", "mine"][..],
        &["RPUSH", "kurabe:kv", "a", "b"],
    ] {
        server.ask(&["DEL", "kurabe:kv"]);
        server.ask(make);
        let refused = bed.run(&allowed);
        assert_ne!(refused.code, Some(0), "{refused:#?}");
        says(&refused, &["`kurabe:kv` is none of kurabe's"]);
        assert_eq!(server.ask(&["DBSIZE"]), "4");
    }
    // What a killed run left is ours, up to what its marker counts.
    let marker = "kurabe: 10 keys of 3 bytes in database 0, being made";
    server.ask(&["SET", "kurabe:kv", marker]);
    server.ask(&["SET", "kurabe:kv:000000000012", "theirs"]);
    let refused = bed.run(&args);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    says(&refused, &["1 of its keys have names like"]);
    server.ask(&[
        "DEL",
        "order:7",
        "kurabe:kv:notes",
        "kurabe:kv:000000000012",
    ]);
    bed.run(&args).code(0);
    assert_eq!(server.ask(&["DBSIZE"]), "0");
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_one_and_a_run_goes_on() {
    let Some(server) = Server::start("what_a_killed_run_left", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket();
    let args = [
        "run",
        "db.kv-set",
        "--passes",
        "60",
        "--set",
        "db.*.keys=1000",
        "--db",
        &url,
    ];
    let mut child = bed.start(&args);
    eventually(60, || bed.rounds() > 1);
    crate::bed::signal(&child, "-KILL");
    child.wait().unwrap();
    assert_eq!(server.ask(&["DBSIZE"]), "1001");
    bed.run(&["run", "--resume", "latest"])
        .code(2)
        .err_has(&["works on `redis://", "name it again"]);
    let mut child = bed.start(&["run", "--resume", "latest", "--db", &url]);
    let before = bed.rounds();
    eventually(60, || bed.rounds() > before);
    crate::bed::signal(&child, "-INT");
    child.wait().unwrap();
    assert_eq!(server.ask(&["DBSIZE"]), "0");
}

#[test]
fn two_at_a_time_are_kept_apart_in_a_database() {
    let Some(server) = Server::start("two_at_a_time_are_kept_apart", &[]) else {
        return;
    };
    let bed = Bed::new();
    // As the connection of another one, for what it does not measure.
    let mut other = TcpStream::connect(server.loopback_at()).unwrap();
    other.write_all(b"CLIENT SETNAME kurabe\r\n").unwrap();
    let mut answer = [0; 5];
    other.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+OK\r\n");
    let url = server.socket();
    let args = short("db.kv-get", &["--db", &url]);
    let done = bed.run(&args);
    assert_ne!(done.code, Some(0), "{done:#?}");
    says(&done, &["another kurabe works there"]);
    // In another database nobody is in the way, and here nobody is any more.
    let next = server.loopback().replace("/0", "/1");
    bed.run(&short("db.kv-get", &["--db", &next])).code(0);
    drop(other);
    bed.run(&args).code(0);
}

#[test]
fn a_server_that_is_killed_in_the_middle_is_waited_for_and_one_error() {
    let Some(server) = Server::start("a_server_that_is_killed", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.loopback();
    let args = [
        "run",
        "db.kv-mixed",
        "--full",
        "--copies",
        "4",
        "--budget",
        "10s",
        "--set",
        "db.*.keys=1000",
        "--db",
        &url,
    ];
    let child = bed.start(&args);
    eventually(60, || bed.rounds() > 1);
    server.signal("-KILL");
    let done: Done = child.wait_with_output().unwrap().into();
    says(&done, &["Connection refused", "it was waited for"]);
    assert!(!said(&done).contains("panicked"), "{done:#?}");
}
