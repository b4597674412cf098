//! Runs on a PostgreSQL server of the test's own: on a Unix socket and loopback, in a directory that goes with it.
//!
//! Where no PostgreSQL is installed each test says that it was skipped, by its name.

use crate::bed::{Bed, eventually, program};
use crate::password::{
    PASSWORD, is_seen_with_a_worker, kept_nowhere, readable, refused_when_typed, shows,
};
use crate::servers::{free_port, is_root, made_once, takes_no_memory, tells_server_cpu, user};
use std::collections::BTreeMap;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A server.
pub(crate) struct Server {
    dir: TempDir,
    bin: PathBuf,
    port: u16,
    /// With which it is started.
    options: String,
}

/// Where a distribution puts what a server needs.
fn bin() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut bins: Vec<PathBuf> = versions
        .flatten()
        .map(|one| one.path().join("bin"))
        .collect();
    bins.retain(|bin| bin.join("initdb").is_file() && bin.join("pg_ctl").is_file());
    bins.sort();
    bins.pop()
}

/// How its data are made.
const INIT: [&str; 5] = [
    "-N",
    "-U",
    "postgres",
    "--auth-local=trust",
    "--auth-host=scram-sha-256",
];

/// As somebody who is not root, whom the server does not serve.
pub(crate) fn as_server(name: &Path) -> Command {
    if !is_root() {
        return program(&name.to_string_lossy());
    }
    let mut command = program("runuser");
    command.args(["-u", "postgres", "--"]).arg(name);
    command
}

#[track_caller]
pub(crate) fn well(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    said
}

impl Server {
    /// Starts one with these further settings; `None`, with a word, where none is installed.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) fn start(test: &str, settings: &[&str]) -> Option<Self> {
        let user = if is_root() {
            user("postgres").map(Some)
        } else {
            Some(None)
        };
        let (Some(bin), Some(user)) = (bin(), user) else {
            eprintln!("skipped: {test}: no PostgreSQL");
            return None;
        };
        let dir = tempfile::Builder::new()
            .prefix("kpg")
            .tempdir_in("/tmp")
            .unwrap();
        let owned = |path: &Path| {
            if let Some((uid, gid)) = user {
                chown(path, Some(uid), Some(gid)).unwrap();
            }
        };
        owned(dir.path());
        let (data, initdb) = (dir.path().join("data"), bin.join("initdb"));
        let version = well(program(&initdb.to_string_lossy()).arg("--version"));
        made_once("postgresql", &(version, INIT, PASSWORD), &data, || {
            let word = dir.path().join("word");
            std::fs::write(&word, PASSWORD).unwrap();
            owned(&word);
            let mut init = as_server(&initdb);
            init.current_dir(dir.path()).args(INIT);
            init.arg(format!("--pwfile={}", word.display()));
            well(init.arg("-D").arg(&data));
            std::fs::remove_file(word).unwrap();
        });
        let port = free_port();
        let mut own = format!(
            "-p {port} -k {} -c listen_addresses=127.0.0.1",
            dir.path().display()
        );
        for setting in settings {
            own.push_str(" -c ");
            own.push_str(setting);
        }
        let server = Self {
            dir,
            bin,
            port,
            options: own,
        };
        assert!(server.up(), "see `{}`", server.dir.path().display());
        server.ask("postgres", "CREATE DATABASE shop");
        Some(server)
    }

    /// Starts it, again where it was killed; whether that went well.
    pub(crate) fn up(&self) -> bool {
        let started = self
            .ctl()
            .args(["-w", "-l"])
            .arg(self.dir.path().join("log"))
            .args(["-o", &self.options, "start"])
            .stdout(std::process::Stdio::null())
            .status();
        started.unwrap().success()
    }

    /// Stops it in good order.
    pub(crate) fn stop(&self) {
        well(self.ctl().args(["-m", "fast", "-w", "stop"]));
    }

    /// Kills its main process, which nothing can catch.
    pub(crate) fn kill(&self) {
        let noted = self.dir.path().join("data/postmaster.pid");
        let noted = std::fs::read_to_string(noted).unwrap();
        let pid: u32 = noted.lines().next().unwrap().trim().parse().unwrap();
        assert!(pid > 1);
        well(program("kill").args(["-KILL", &pid.to_string()]));
    }

    /// One of its programs, which works on this database.
    pub(crate) fn program(&self, name: &str, database: &str) -> Command {
        let mut command = program(&self.bin.join(name).to_string_lossy());
        command.args(["-U", "postgres", "-p", &self.port.to_string(), "-h"]);
        command.arg(self.dir.path()).arg(database);
        command
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    fn ctl(&self) -> Command {
        let mut command = as_server(&self.bin.join("pg_ctl"));
        command
            .current_dir(self.dir.path())
            .arg("-D")
            .arg(self.dir.path().join("data"));
        command
    }

    /// Answers of `psql`, a line each.
    #[track_caller]
    pub(crate) fn ask(&self, database: &str, sql: &str) -> String {
        let mut psql = program(&self.bin.join("psql").to_string_lossy());
        psql.args([
            "-XAtq",
            "-U",
            "postgres",
            "-d",
            database,
            "-c",
            sql,
            "-p",
            &self.port.to_string(),
            "-h",
        ]);
        well(psql.arg(self.dir.path())).trim().to_owned()
    }

    /// The command line that asks its database `shop`.
    pub(crate) fn psql(&self) -> String {
        let dir = self.dir.path().display();
        format!("psql -XAtq -U postgres -d shop -p {} -h {dir}", self.port)
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Where its processes work, and nobody else.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn socket(&self, database: &str) -> String {
        let dir = self.dir.path().display();
        format!(
            "postgres://postgres@/{database}?host={dir}&port={}",
            self.port
        )
    }

    pub(crate) fn loopback(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/shop", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.ctl().args(["-m", "immediate", "stop"]).output();
    }
}

/// Two short rounds of a test with a thousand rows.
pub(crate) fn short<'a>(test: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = "run --passes 2 --set db.*.table_size=1000 --set db.*.time=500ms";
    let mut args: Vec<&str> = words.split(' ').collect();
    args.push(test);
    if test == "db.*" {
        // A limit of which every step of the search tells after some tens of transactions.
        args.extend(["--set", "db.oltp-slo.limit=p50:20ms"]);
    }
    args.extend(more);
    args
}

#[test]
fn every_test_works_on_a_server_and_leaves_nothing_there() {
    let Some(server) = Server::start("every_test_works_on_a_server", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("shop");
    let words = "--copies 3 --json --set db.oltp-slo.limit=p50:100ms --db";
    let more: Vec<&str> = words.split(' ').chain([url.as_str()]).collect();
    let done = bed.run(&short("db.*", &more)).code(0);
    let page: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let plan = &page["run"]["plan"];
    let cases = plan["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 10, "{cases:#?}");
    for case in cases {
        let title = case["title"].as_str().unwrap();
        let starts = ["PostgreSQL, sysbench OLTP ", "PostgreSQL, TPC-B-like, "];
        assert!(
            starts.iter().any(|start| title.starts_with(start)),
            "{title}"
        );
        assert!(
            !title.contains("WAL") && !title.contains("synchronous"),
            "{title}"
        );
        // pgbench's rows are chosen in one way.
        let rows = ": special rows";
        assert_eq!(title.contains(rows), !title.contains("TPC-B"), "{title}");
        assert!(title.contains(", durable as the server is set"), "{title}");
        assert_eq!(case["on_disk"], false, "{title}");
        assert_eq!(
            case["implementation"],
            serde_json::Value::Null,
            "{title}: it is not this program's SQLite"
        );
    }
    takes_no_memory(&bed);
    let metrics = page["metrics"].as_array().unwrap().iter();
    let cpu = metrics.filter(|metric| metric["quantity"] == "server_cpu_ns_per_op");
    let used = |metric: &serde_json::Value| metric["estimate"].as_f64().unwrap();
    let used: BTreeMap<&str, f64> = cpu
        .map(|metric| (metric["case"].as_str().unwrap(), used(metric)))
        .collect();
    assert_eq!(used.len(), 9, "all but the search for a rate: {used:?}");
    // It is told in ticks: who waits for the disk at each commit may take less than one in a short round.
    for case in ["db.point-select@3", "db.oltp-read-only@3"] {
        assert!(used[case] > 0.0, "{used:?}");
    }
    assert_eq!(plan["named"][0]["path"], url.as_str());
    assert_eq!(plan["named"][0]["kind"], "server");
    for words in ["PostgreSQL 1", "fsync on", "no disturbance"] {
        assert!(done.out.contains(words), "{words}");
    }
    assert!(!done.out.contains("durability is off"));
    assert_eq!(
        server.ask(
            "shop",
            "SELECT count(*) FROM pg_class WHERE relname LIKE 'sbtest%' OR relname LIKE 'pgbench%'"
        ),
        "0"
    );
    // The same test without a server is SQLite's.
    bed.run(&short("db.point-select", &["--json"]))
        .code(0)
        .out_has(&["SQLite, sysbench point select"]);
}

#[test]
fn a_test_that_is_called_by_a_word_of_sqlite_is_none_of_a_server() {
    let bed = Bed::new();
    let url = "postgres://bob@127.0.0.1:1/shop";
    bed.run(&short("db.oltp-read-write-normal", &["--db", url]))
        .code(3)
        .err_has(&["`synchronous` is SQLite's"]);
    let full = ["--db", url, "--set", "db.point-select.synchronous=FULL"];
    bed.run(&short("db.point-select", &full))
        .code(2)
        .err_has(&["on a server its own settings decide"]);
    bed.run(&["run", "os.pipe", "--db", url]).code(2).err_has(&[
        "error: cannot use `",
        "no test of this run works on a database server",
    ]);
    bed.run(&["run", "oltp", "--dry-run", "--db", url])
        .code(0)
        .out_says(&["only tables or keys of kurabe's own are made and dropped there"]);
    bed.run(&["run", "oltp", "--db", "newcomer"])
        .code(2)
        .err_has(&["`mariadb://`", "postgres:///DATABASE"]);
    let done = bed.run(&["run", "oltp", "--copies", "1,4", "--dry-run", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&done.code(0).out).unwrap();
    assert!(!plan.to_string().contains("db.update-index@16"), "{plan}");
    // The choice of rows, whichever it is, is in the title on every server.
    let uniform = [
        "--set",
        "db.point-select.rows=uniform",
        "--dry-run",
        "--json",
    ];
    for url in [url, "mysql://bob@127.0.0.1:1/shop"] {
        let run = ["run", "db.point-select", "--db", url];
        bed.run(&[&run[..], &uniform].concat())
            .code(0)
            .out_has(&["sysbench OLTP point-select: uniform rows, durable"]);
    }
}

#[test]
fn what_is_not_durable_is_said() {
    let settings = ["fsync=off", "synchronous_commit=off"];
    let Some(server) = Server::start("what_is_not_durable_is_said", &settings) else {
        return;
    };
    let bed = Bed::new();
    bed.run(&short(
        "db.update-index",
        &["--full", "--db", &server.socket("shop")],
    ))
    .code(0)
    .out_says(&[
        "fsync off (command line)",
        "durability is off: fsync is off",
        "synchronous_commit is off",
        "the tables were made anew before each round that found them changed",
    ]);
}

#[test]
fn tables_of_others_are_left_alone() {
    let Some(server) = Server::start("tables_of_others_are_left_alone", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("shop");
    server.ask(
        "shop",
        "CREATE TABLE orders (id int); INSERT INTO orders VALUES (7)",
    );
    let args = short("db.point-select", &["--db", &url]);
    let refused = bed.run(&args);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    let all = format!("{}{}", refused.out, refused.err);
    assert!(
        all.contains("public.orders") && all.contains("--db-allow-existing"),
        "{all}"
    );
    let allowed = [args.clone(), vec!["--db-allow-existing"]].concat();
    bed.run(&allowed).code(0);
    assert_eq!(server.ask("shop", "SELECT id FROM orders"), "7");
    // A table of our name is theirs as long as it does not carry our mark.
    server.ask(
        "shop",
        "CREATE TABLE sbtest1 (id int); COMMENT ON TABLE sbtest1 IS 'mine'",
    );
    let refused = bed.run(&allowed);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    assert!(
        format!("{}{}", refused.out, refused.err).contains("none of kurabe's"),
        "{refused:#?}"
    );
    let left = "SELECT obj_description('sbtest1'::regclass, 'pg_class')";
    assert_eq!(server.ask("shop", left), "mine");
    // Nothing is kept of a run that could not begin.
    assert_eq!(
        bed.run(&["list", "--all", "--json"])
            .out
            .matches("\"id\"")
            .count(),
        1
    );
    // Consent for a database that the run does not touch is a slip of the hand.
    bed.run(&["run", "os.pipe", "--db-allow-existing"])
        .code(2)
        .err_has(&["no server is named"]);
}

#[test]
fn what_keeps_us_out_is_one_error_with_a_hint() {
    let Some(server) = Server::start(
        "what_keeps_us_out",
        &["max_connections=6", "superuser_reserved_connections=0"],
    ) else {
        return;
    };
    let bed = Bed::new();
    let check = |url: &str, more: &[&str], words: &[&str]| {
        let args = [short("db.point-select", &["--db", url]), more.to_vec()].concat();
        let done = bed.run(&args);
        assert_ne!(done.code, Some(0), "{done:#?}");
        let all = format!("{}{}", done.out, done.err);
        let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(all.contains(word), "`{word}` is not in {all}");
        }
    };
    check(&server.socket("none"), &[], &["3D000", "createdb"]);
    check(
        &server.loopback(),
        &[],
        &["the server asks for a password", ".pgpass"],
    );
    let wrong = server.loopback().replace("postgres@", "postgres:wr0ng@");
    std::fs::write(bed.path().join("wrong"), wrong).unwrap();
    readable(&bed.path().join("wrong"), 0o600);
    let done = bed.run(&short("db.point-select", &["--db-file", "wrong"]));
    assert!(!format!("{done:?}").contains("wr0ng"), "{done:#?}");
    done.code(3).err_has(&["28P01", "~/.pgpass"]);
    let nobody = server.socket("shop").replace("//postgres@", "//nobody@");
    check(&nobody, &[], &["28000", "createuser"]);
    check(
        "postgres://postgres@127.0.0.1:1/shop",
        &[],
        &["Connection refused", "listen_addresses"],
    );
    check(
        "postgres://db..example/shop",
        &[],
        &["read the host `db..example`"],
    );
    check(
        &server.socket("shop"),
        &["--copies", "16"],
        &[
            "16 copies take 18 connections",
            "lets in 6",
            "max_connections",
        ],
    );
    server.ask(
        "shop",
        "CREATE ROLE weak LOGIN; REVOKE CREATE ON SCHEMA public FROM public",
    );
    let weak = server.socket("shop").replace("//postgres@", "//weak@");
    check(&weak, &[], &["42501", "GRANT CREATE"]);
    server.ask(
        "shop",
        "ALTER DATABASE shop SET default_transaction_read_only = on",
    );
    check(
        &server.socket("shop"),
        &[],
        &["25006", "default_transaction_read_only"],
    );
}

#[test]
fn a_password_is_shown_nowhere() {
    let Some(server) = Server::start("a_password_is_shown_nowhere", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.loopback();
    let with = url.replace("postgres@", &format!("postgres:{PASSWORD}@"));
    let typed = ["", "?sslmode=require", "?nonsense=1", "%zz"].map(|end| format!("{with}{end}"));
    let words = [".pgpass", "KURABE_DB_URL"];
    refused_when_typed(&bed, "db.point-select", &typed, &words);
    // From each of the places where it may stand.
    let pass = bed.path().join("pass");
    std::fs::write(&pass, format!("127.0.0.1:*:*:postgres:{PASSWORD}\n")).unwrap();
    readable(&pass, 0o644);
    let args = short("db.point-select", &["--db", &url]);
    let done = bed
        .command(&args)
        .env("PGPASSFILE", &pass)
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&done.stderr).contains("others may read it"),
        "{done:?}"
    );
    readable(&pass, 0o600);
    let done = bed
        .command(&args)
        .env("PGPASSFILE", &pass)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    std::fs::write(&pass, format!("{with}\n")).unwrap();
    let by_file = short("db.point-select", &["--db-file", "pass", "--json"]);
    // Over loopback the server's processes are told as well.
    tells_server_cpu(&bed.run(&by_file).code(0).out);
    readable(&pass, 0o640);
    bed.run(&by_file)
        .code(2)
        .err_has(&["others may read it", "chmod 600"]);
    readable(&pass, 0o600);
    // And while a run goes on nobody sees it, whichever way it came. The variable is in our own environment, where the
    // user put it, and in that of no process of ours.
    let args = [
        "run",
        "db.oltp-read-write",
        "--passes",
        "4",
        "--set",
        "db.*.table_size=1000",
    ];
    for is_by_file in [true, false] {
        let by_file = ["--db-file", "pass"];
        let mut command =
            bed.command(&[&args[..], &by_file[..if is_by_file { 2 } else { 0 }]].concat());
        if !is_by_file {
            std::fs::remove_file(&pass).unwrap();
            command.env("KURABE_DB_URL", &with);
        }
        let piped = std::process::Stdio::piped;
        let child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
        eventually(60, || is_seen_with_a_worker(child.id(), is_by_file));
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
        assert!(!shows(&done.stdout) && !shows(&done.stderr), "{done:?}");
        let whole = bed.run(&["show", "latest", "--full"]);
        assert!(!shows(whole.out.as_bytes()), "{whole:#?}");
        assert!(whole.out.contains(&url), "{whole:#?}");
        let document = bed.run(&["show", "latest", "--json"]);
        assert!(!shows(document.out.as_bytes()), "{document:#?}");
    }
    kept_nowhere(&bed, &[PASSWORD]);
}

#[test]
fn a_run_goes_on_where_its_server_is_named_again() {
    let Some(server) = Server::start("a_run_goes_on_where_its_server_is_named_again", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("shop");
    let args = [
        "run",
        "db.point-select",
        "--passes",
        "60",
        "--set",
        "db.*.table_size=1000",
        "--db",
        &url,
    ];
    let mut child = bed.start(&args);
    eventually(60, || bed.rounds() > 1);
    crate::bed::signal(&child, "-KILL");
    child.wait().unwrap();
    bed.run(&["run", "--resume", "latest"])
        .code(2)
        .err_has(&["works on `postgres://", "name it again"]);
    let other = server.socket("postgres");
    bed.run(&["run", "--resume", "latest", "--db", &other])
        .code(2)
        .err_has(&["and not on"]);
    let mut child = bed.start(&["run", "--resume", "latest", "--db", &url]);
    let before = bed.rounds();
    eventually(60, || bed.rounds() > before);
    crate::bed::signal(&child, "-INT");
    child.wait().unwrap();
    assert_eq!(
        server.ask("shop", "SELECT to_regclass('sbtest1') IS NULL"),
        "t"
    );
}
