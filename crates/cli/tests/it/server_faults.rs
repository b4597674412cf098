//! What goes wrong at servers of PostgreSQL and MariaDB in the middle of a run, or between two of them.
//!
//! Where a server is not installed each test says that it was skipped, by its name.

use crate::bed::{Bed, Done, eventually, program, signal};
use crate::mariadb;
use crate::password::{PASSWORD, family, holds, is_worker, readable, shows};
use crate::postgres::{Server, short};
use crate::servers::says;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Starts a run of many short rounds, and waits until some are kept.
fn begun(bed: &Bed, test: &str, more: &[&str]) -> Child {
    let set = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let child = bed.start(&[&["run", test, "--passes", "60"], &set[..], more].concat());
    eventually(60, || bed.rounds() > 0);
    child
}

/// Ends a run that goes on.
fn interrupted(child: Child) -> Done {
    signal(&child, "-INT");
    child.wait_with_output().unwrap().into()
}

/// A second kurabe is told who has the database, and how an administrator ends that.
fn is_had_by_one(url: &str, ends: &str) {
    let (bed, other) = (Bed::new(), Bed::new());
    let args = ["run", "db.point-select", "--passes", "1", "--db", url];
    let more = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let once = || other.run(&[&args[..], &more].concat());
    let child = begun(&bed, "db.point-select", &["--db", url]);
    let done = once().code(4);
    says(
        &done,
        &["another kurabe has had it for ", " s, from ", ends],
    );
    assert!(other.listed().is_empty(), "nothing was measured");
    // How to go on with it is said with its server.
    let done = interrupted(child).code(130);
    let again = format!("--db '{url}'");
    says(&done, &["kurabe run --resume", &again]);
    // And with it the lock has gone.
    once().code(0);
}

/// Ends whoever has a run's lock of PostgreSQL.
const END_HOLDER: &str = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted \
                          AND (classid, objid) = (27509, 1918984806)";

/// A lock that is lost in the middle is taken again, or the run ends where another one has it by then.
fn is_taken_again(server: &Server) {
    let holders = || {
        server.ask(
            "shop",
            &END_HOLDER.replace("pg_terminate_backend(pid)", "pid"),
        )
    };
    let bed = Bed::new();
    let url = server.socket("shop");
    let child = begun(&bed, "db.point-select", &["--db", &url]);
    let first = holders();
    assert!(!first.is_empty());
    server.ask("shop", END_HOLDER);
    eventually(30, || ![first.as_str(), ""].contains(&&*holders()));
    // Whoever waits has it as soon as it is lost.
    let lock = "SELECT pg_advisory_lock((27509::bigint << 32) + 1918984806), pg_sleep(600)";
    let mut other = server.program("psql", "shop");
    let mut other = other.args(["-XAtq", "-c", lock]).spawn().unwrap();
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    eventually(30, || server.ask("shop", waits) == "1");
    server.ask("shop", END_HOLDER);
    let done: Done = child.wait_with_output().unwrap().into();
    says(
        &done.code(4),
        &[
            "another kurabe has had it for ",
            "kurabe run --resume",
            "goes on with it",
        ],
    );
    // What may be the other one's stays.
    assert_eq!(
        server.ask("shop", "SELECT to_regclass('sbtest1')"),
        "sbtest1"
    );
    let (whys, ends_well) = failures(&bed);
    assert!(ends_well && whys.is_empty(), "{whys:?}");
    server.ask("shop", END_HOLDER);
    other.wait().unwrap();
    let before = bed.rounds();
    let child = bed.start(&["run", "--resume", "latest", "--db", &url]);
    eventually(60, || bed.rounds() > before);
    interrupted(child).code(130);
    assert_eq!(
        server.ask("shop", "SELECT to_regclass('sbtest1') IS NULL"),
        "t"
    );
}

#[test]
fn a_database_is_one_runs_at_a_time() {
    let test = "a_database_is_one_runs_at_a_time";
    if let Some(server) = Server::start(test, &[]) {
        is_had_by_one(&server.socket("shop"), "SELECT pg_terminate_backend(");
        is_taken_again(&server);
        // Two names of one database are no two runs.
        let eve = "CREATE ROLE eve SUPERUSER LOGIN; ALTER ROLE eve SET timezone = 'Asia/Tokyo'";
        server.ask("shop", eve);
        let a = format!("db={}", server.socket("shop"));
        let b = a.replace("//postgres@", "//eve@");
        let duel = ["duel", "db.point-select", "--a", &a, "--b", &b];
        let more = ["--passes", "1", "--set", "db.*.time=500ms"];
        Bed::new().run(&[&duel[..], &more].concat()).code(0);
    }
}

#[test]
fn a_database_of_mariadb_is_one_runs_at_a_time() {
    let test = "a_database_of_mariadb_is_one_runs_at_a_time";
    if let Some(server) = mariadb::Server::start(test, &[]) {
        is_had_by_one(&server.socket("root", "shop"), "KILL ");
    }
}

/// Why rounds failed, and whether the last one did not.
pub(crate) fn failures(bed: &Bed) -> (Vec<String>, bool) {
    let text = bed.run(&["export", "latest"]).code(0).out;
    let run = serde_json::from_str::<Value>(&text).unwrap();
    let rounds = run["run"]["rounds"].as_array().unwrap();
    let failed = |round: &Value| Some(round["outcome"]["failed"].as_object()?.clone());
    let whys = rounds.iter().filter_map(failed);
    let whys = whys.map(|why| Value::Object(why).to_string()).collect();
    (whys, failed(rounds.last().unwrap()).is_none())
}

/// A user of `shop` who is no administrator.
fn bob(server: &Server) -> String {
    server.ask(
        "shop",
        "CREATE ROLE bob LOGIN; GRANT CREATE ON SCHEMA public TO bob",
    );
    server.socket("shop").replace("//postgres@", "//bob@")
}

#[test]
fn connections_that_run_out_in_the_middle_cost_a_round_and_not_the_run() {
    let Some(server) = Server::start("connections_that_run_out", &[]) else {
        return;
    };
    let bed = Bed::new();
    let child = begun(&bed, "db.point-select", &["--db", &bob(&server)]);
    // The run keeps one connection, and its rounds need more.
    server.ask("shop", "ALTER ROLE bob CONNECTION LIMIT 1");
    eventually(30, || !failures(&bed).0.is_empty());
    std::thread::sleep(Duration::from_secs(2));
    server.ask("shop", "ALTER ROLE bob CONNECTION LIMIT -1");
    let before = bed.rounds();
    eventually(30, || bed.rounds() > before + 1);
    let done = interrupted(child);
    let (whys, ends_well) = failures(&bed);
    assert!(ends_well && whys.len() < 3, "{whys:?}");
    assert!(whys[0].contains("53300"), "{whys:?}");
    says(&done, &["waiting for up to", "is there again after"]);
}

#[test]
fn a_standby_is_refused_with_the_way_out() {
    let Some(server) = Server::start("a_standby", &[]) else {
        return;
    };
    server.stop();
    std::fs::write(server.data().join("standby.signal"), "").unwrap();
    assert!(server.up());
    let done = Bed::new().run(&short("db.insert", &["--db", &server.socket("shop")]));
    says(
        &done.code(3),
        &["it is a replica", "name the primary server"],
    );
}

#[test]
fn transactions_that_meet_on_a_postgresql_are_counted_by_their_codes() {
    let Some(server) = Server::start("transactions_that_meet", &["deadlock_timeout=10ms"]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("shop");
    let of = |label: &str| {
        let more = ["--copies", "16", "--db", &url, "--json", "--label", label];
        let done = bed.run(&short("db.oltp-read-write", &more)).code(0);
        let page: Value = serde_json::from_str(&done.out).unwrap();
        let mut metrics = page["metrics"].as_array().unwrap().iter();
        let retries = metrics.find(|metric| metric["quantity"] == "retries_per_transaction");
        let retries = retries.unwrap()["estimate"].as_f64().unwrap();
        (retries, done.out)
    };
    // Two that replace a row: the second one finds that it is there already. Or each waits for the other.
    let (retries, page) = of("x");
    assert!(
        retries > 0.0 && page.contains("after 40P01 (deadlock)"),
        "{page}"
    );
    let isolation = "ALTER DATABASE shop SET default_transaction_isolation = serializable";
    server.ask("shop", isolation);
    let (retries, page) = of("y");
    assert!(retries > 0.0, "{page}");
    for words in [
        "after 40001 (serialization failure)",
        "default_transaction_isolation serializable (database)",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    // Who compares them is told how to measure more on the server.
    let more = format!("--copies 16 --passes 9 --db '{url}'");
    says(
        &bed.run(&["compare", "x", "y"]),
        &["kurabe run db.oltp-read-write", &more],
    );
    assert_eq!(
        server.ask("shop", "SELECT to_regclass('sbtest1') IS NULL"),
        "t"
    );
}

#[test]
fn a_mariadb_that_comes_back_is_measured_on_and_another_version_is_not() {
    let test = "a_mariadb_that_comes_back";
    let few = ["--max-connections=10"];
    let Some(mut server) = mariadb::Server::start(test, &few) else {
        return;
    };
    runs_out_of_connections(&server);
    let bed = Bed::new();
    let url = server.socket("root", "shop");
    let mut child = begun(&bed, "db.point-select", &["--db", &url]);
    // It is killed in the middle.
    server.again(&few);
    let before = bed.rounds();
    eventually(60, || bed.rounds() > before + 2);
    let (whys, ends_well) = failures(&bed);
    assert!(ends_well && whys.len() == 1, "{whys:?}");
    assert!(whys[0].contains("mysql://"), "{whys:?}");
    // And others are kept out again.
    let has = "SELECT IS_USED_LOCK(CONCAT('kurabe.run.', MD5('shop'))) IS NOT NULL";
    assert_eq!(server.ask(has), "1");
    signal(&child, "-KILL");
    child.wait().unwrap();
    let was = server.ask("SELECT VERSION()");
    server.again(&["--version=10.99.1-MariaDB-other"]);
    let done = bed
        .run(&["run", "--resume", "latest", "--db", &url])
        .code(2);
    let version = format!("version: MariaDB {was}");
    says(
        &done,
        &[
            "the set-up is not the same",
            &version,
            "now MariaDB 10.99.1",
        ],
    );
    // Tables that the killed one left are ours, whoever comes next.
    bed.run(&short("db.point-select", &["--db", &url])).code(0);
    assert_eq!(server.tables_of_ours(), "");
    stays_away(server);
}

/// Connections that others take in the middle cost a round and not the run.
fn runs_out_of_connections(server: &mariadb::Server) {
    // Who is no administrator has no connection more than all.
    server.ask("CREATE USER eve@localhost; GRANT ALL ON shop.* TO eve@localhost");
    let bed = Bed::new();
    let url = server.socket("eve", "shop");
    let child = begun(&bed, "db.point-select", &["--db", &url]);
    // Each of them has a connection until it is to log in. They take every one that a round gives back.
    let mut others = Vec::new();
    eventually(30, || {
        others.extend(UnixStream::connect(server.dir().join("s")));
        others.len() % 50 == 0 && !failures(&bed).0.is_empty()
    });
    std::thread::sleep(Duration::from_secs(1));
    drop(others);
    let before = bed.rounds();
    eventually(30, || bed.rounds() > before + 1);
    let done = interrupted(child);
    let (whys, ends_well) = failures(&bed);
    assert!(ends_well && whys.len() < 3, "{whys:?}");
    assert!(whys[0].contains("(1040)"), "{whys:?}");
    says(&done, &["waiting for up to", "is there again after"]);
}

/// A server that does not come back is waited for, and given up with the reason.
fn stays_away(mut server: mariadb::Server) {
    let bed = Bed::new();
    let url = server.socket("root", "shop");
    let run = [
        "run",
        "db.point-select",
        "--full",
        "--budget",
        "8s",
        "--db",
        &url,
    ];
    let set = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let child = bed.start(&[&run[..], &set].concat());
    eventually(60, || bed.rounds() > 0);
    server.end();
    let done: Done = child.wait_with_output().unwrap().into();
    let (whys, ends_well) = failures(&bed);
    let last = whys.last().unwrap();
    assert!(!ends_well && whys.len() < 4, "{whys:?}");
    assert!(last.contains("it was waited for"), "{whys:?}");
    says(&done, &["waiting for up to", "is given up", "mysql://"]);
}

/// Answers everybody who connects with these bytes, and what waits behind them with silence or the end.
fn answered(scheme: &str, answers: &[u8], ends: bool) -> Done {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("{scheme}://bob@127.0.0.1:{port}/shop");
    let bed = Bed::new();
    let mut child = bed.start(&short("db.point-select", &["--db", &url]));
    listener.set_nonblocking(true).unwrap();
    let mut open: Vec<TcpStream> = Vec::new();
    let deadline = sys::clock::monotonic() + 60_000_000_000;
    while child.try_wait().unwrap().is_none() {
        if sys::clock::monotonic() > deadline {
            child.kill().unwrap();
            let done: Done = child.wait_with_output().unwrap().into();
            panic!("it does not end: {done:#?}");
        }
        if let Ok((mut client, _)) = listener.accept() {
            client.set_nonblocking(false).unwrap();
            if scheme == "postgres" {
                // It speaks first.
                let _ = client.read(&mut [0; 512]);
            }
            let _ = client.write_all(answers);
            open.extend((!ends).then_some(client));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap().into()
}

#[test]
fn a_server_that_speaks_garbage_is_one_error_and_takes_no_memory() {
    for (scheme, product, answers, half) in [
        (
            "postgres",
            "PostgreSQL",
            // Another protocol; a message of 4 GiB, and one of less than nothing.
            [
                &b"HTTP/1.1 400 Bad Request\r\n"[..],
                b"R\xff\xff\xff\xff",
                b"R\0\0\0\x03",
            ],
            &b"R\0\0\0\x08\0"[..],
        ),
        (
            "mysql",
            "MySQL/MariaDB",
            // A packet of 16 MiB, after which another one would follow; and an empty one.
            [
                b"HTTP/1.1 400 Bad Request\r\n",
                b"\xff\xff\xff\0\x0a",
                b"\0\0\0\0",
            ],
            b"\x4a\0\0\0\x0a5.5.5",
        ),
    ] {
        let garbage = format!("no message of {product}");
        for bytes in answers {
            let done = answered(scheme, bytes, false).code(4);
            says(&done, &[&garbage, "or another program"]);
            assert_eq!(done.err.matches("error: ").count(), 1, "{done:#?}");
        }
        let done = answered(scheme, half, true).code(4);
        says(&done, &["the server ended the connection"]);
    }
}

/// Cores of a process that worked in this directory.
fn cores(dir: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let found = found.map(|entry| entry.path());
    let is_core = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("core")
    };
    found.filter(is_core).collect()
}

fn send(name: &str, pid: u32) {
    assert!(pid > 1);
    let pid = pid.to_string();
    assert!(
        program("kill")
            .args([name, &pid])
            .status()
            .unwrap()
            .success()
    );
}

/// What a worker of a run that may dump cores leaves when it aborts, and the run itself.
fn dumped(bed: &Bed, args: &[&str]) -> Vec<Vec<u8>> {
    let before = ["sh", "-c", "ulimit -c unlimited; exec \"$@\"", "sh"];
    let mut command = bed.command_behind(&before, args);
    let piped = Stdio::piped;
    let mut child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    eventually(60, || bed.rounds() > 0);
    // Well within a round, whose worker has connected.
    let worker = || {
        let family = family(child.id());
        let worker = family.iter().find(|(_, line)| is_worker(line))?;
        let began = sys::counters::process(&sys::tree::Tree::real(), worker.0).ok()?;
        (began.ticks > 5).then_some(worker.0)
    };
    eventually(60, || worker().is_some());
    let worker = worker().unwrap();
    send("-STOP", child.id());
    let dir = std::fs::read_link(format!("/proc/{worker}/cwd")).unwrap();
    send("-ABRT", worker);
    let stat = format!("/proc/{worker}/stat");
    eventually(20, || {
        std::fs::read_to_string(&stat).unwrap().contains(") Z")
    });
    let mut found = cores(&dir);
    send("-ABRT", child.id());
    send("-CONT", child.id());
    child.wait().unwrap();
    found.extend(cores(bed.path()));
    found
        .iter()
        .map(|core| std::fs::read(core).unwrap())
        .collect()
}

#[test]
fn no_core_has_a_password() {
    let test = "no_core_has_a_password";
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if !pattern.starts_with("core") {
        eprintln!("skipped: {test}: cores go to {pattern}");
        return;
    }
    let Some(server) = Server::start(test, &[]) else {
        return;
    };
    let args = ["run", "db.oltp-read-write", "--passes", "9"];
    let more = ["--set", "db.*.table_size=1000", "--set", "db.*.time=1s"];
    // Without a secret both leave one.
    let bed = Bed::new();
    let without = dumped(
        &bed,
        &[&args[..], &more, &["--db", &server.socket("shop")]].concat(),
    );
    assert_eq!(without.len(), 2);
    // What is searched like this is found: both know the address, which names the server's directory.
    let address = server.dir().display().to_string();
    assert!(without.iter().all(|core| holds(core, &address)));
    let bed = Bed::new();
    let with = server
        .loopback()
        .replace("postgres@", &format!("postgres:{PASSWORD}@"));
    std::fs::write(bed.path().join("address"), with).unwrap();
    readable(&bed.path().join("address"), 0o600);
    let with = dumped(
        &bed,
        &[&args[..], &more, &["--db-file", "address"]].concat(),
    );
    assert!(with.iter().all(|core| !shows(core)), "{} cores", with.len());
    assert!(with.is_empty());
}

mod root {
    //! What needs root: a server whose disk is full.

    use super::*;
    use crate::root::sh;

    /// A small disk in memory, on which a server's user may write.
    struct Disk(PathBuf);

    impl Disk {
        fn new(at: PathBuf, user: &str, mib: u32) -> Self {
            sh(&format!(
                "mkdir {0}; mount -t tmpfs -o size={mib}m,mode=700,uid=$(id -u {user}),gid=$(id -g {user}) none {0}",
                at.display()
            ));
            Self(at)
        }

        /// Takes what is free of it, and was freed since.
        fn fill(&self) {
            let at = self.0.join("fill");
            let mut fill = std::fs::File::options()
                .append(true)
                .create(true)
                .open(at)
                .unwrap();
            while fill.write_all(&[0; 4096]).is_ok() {}
        }

        fn free(&self) {
            std::fs::remove_file(self.0.join("fill")).unwrap();
        }
    }

    impl Drop for Disk {
        fn drop(&mut self) {
            sh(&format!("umount -l {}", self.0.display()));
        }
    }

    /// A disk that is full while tables are made, and one that is filled in the middle of a run and freed again.
    fn full(url: &str, disk: &Disk, code: &str) {
        let bed = Bed::new();
        let many = ["--db", url, "--set", "db.*.table_size=400000"];
        let done = bed.run(&[&["run", "db.insert", "--passes", "1"], &many[..]].concat());
        says(&done.code(4), &[code, "the server's disk is full"]);
        // Nothing is left there that would keep it full.
        let bed = Bed::new();
        let child = begun(&bed, "db.insert", &["--db", url, "--copies", "2"]);
        eventually(60, || {
            disk.fill();
            !failures(&bed).0.is_empty()
        });
        disk.free();
        let before = bed.rounds();
        eventually(60, || bed.rounds() > before + 1);
        interrupted(child).code(130);
        let (whys, ends_well) = failures(&bed);
        let is_told = |why: &String| why.contains(code) || why.contains("No space left");
        assert!(ends_well && is_told(&whys[0]), "{whys:?}");
    }

    #[test]
    #[ignore = "root: mounts a small file system"]
    fn a_postgresql_whose_disk_is_full_says_so() {
        let Some(server) = Server::start("a_postgresql_whose_disk_is_full", &[]) else {
            return;
        };
        let disk = Disk::new(server.dir().join("small"), "postgres", 60);
        let at = disk.0.display();
        server.ask(
            "postgres",
            &format!("CREATE TABLESPACE small LOCATION '{at}'"),
        );
        server.ask("postgres", "CREATE DATABASE little TABLESPACE small");
        full(&server.socket("little"), &disk, "53100");
        let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sbtest%'";
        assert_eq!(server.ask("little", left), "0");
        server.stop();
    }

    #[test]
    #[ignore = "root: mounts a small file system"]
    fn a_mariadb_whose_disk_is_full_says_so() {
        let Some(mut server) = mariadb::Server::start("a_mariadb_whose_disk_is_full", &[]) else {
            return;
        };
        let disk = Disk::new(server.dir().join("small"), "mysql", 60);
        let (data, at) = (server.dir().join("data"), disk.0.display());
        sh(&format!(
            "cd {}; mv shop {at}/shop; ln -s {at}/shop shop",
            data.display()
        ));
        // As many rows as a round can make.
        server.again(&["--innodb-flush-log-at-trx-commit=2"]);
        full(&server.socket("root", "shop"), &disk, "1114");
        assert_eq!(server.tables_of_ours(), "");
        server.end();
    }
}
