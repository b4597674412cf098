//! Runs on a MariaDB server of the test's own: on a Unix socket and loopback, in a directory that goes with it.
//!
//! Where no MariaDB is installed each test says that it was skipped, by its name.

use crate::bed::{Bed, Done, eventually, program};
use crate::password::{
    PASSWORD, is_seen_with_a_worker, kept_nowhere, readable, refused_when_typed, shows,
};
use crate::postgres::{short, well};
use crate::servers::{free_port, is_root, made_once, said, takes_no_memory, user};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A server.
pub(crate) struct Server {
    dir: TempDir,
    port: u16,
    process: Child,
}

/// How its data are made. Its log has the size that it has then: nothing is to be made longer at the start.
const INSTALL: [&str; 3] = [
    "--auth-root-authentication-method=normal",
    "--skip-test-db",
    LOG_SIZE,
];
const LOG_SIZE: &str = "--innodb-log-file-size=16M";

/// As somebody who is not root, and ended with this test. A server that starts takes away the temporary tables of all
/// others in the same directory.
fn as_server(name: &str, dir: &Path) -> Command {
    let mut command = program("setpriv");
    command.current_dir(dir).env("TMPDIR", dir);
    if is_root() {
        command.args(["--reuid=mysql", "--regid=mysql", "--clear-groups"]);
    }
    command.args(["--pdeathsig=KILL", "--", name, "--no-defaults"]);
    command
}

impl Server {
    /// Starts one with these further settings; `None`, with a word, where none is installed.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) fn start(test: &str, settings: &[&str]) -> Option<Self> {
        let has = |name: &str| program(name).arg("--version").output().is_ok();
        let all = ["mariadbd", "mariadb-install-db", "mariadb"];
        let user = if is_root() {
            user("mysql").map(Some)
        } else {
            Some(None)
        };
        let (true, Some(user)) = (all.into_iter().all(has), user) else {
            eprintln!("skipped: {test}: no MariaDB");
            return None;
        };
        let dir = tempfile::Builder::new()
            .prefix("kmy")
            .tempdir_in("/tmp")
            .unwrap();
        // Clients of any user find the socket.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        if let Some((uid, gid)) = user {
            chown(dir.path(), Some(uid), Some(gid)).unwrap();
        }
        let version = well(program("mariadbd").arg("--version"));
        let data = dir.path().join("data");
        made_once("mariadb", &(version, INSTALL), &data, || {
            let data = format!("--datadir={}", data.display());
            let mut install = as_server("mariadb-install-db", dir.path());
            well(install.arg(data).args(INSTALL));
        });
        let port = free_port();
        let process = Self::process(dir.path(), port, settings);
        let server = Self { dir, port, process };
        server.awaited();
        server.ask(&format!(
            "CREATE DATABASE shop; CREATE USER bob IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON shop.* TO bob; \
             CREATE USER bob@localhost IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON shop.* TO bob@localhost"
        ));
        Some(server)
    }

    /// Its process, which listens a moment later.
    fn process(dir: &Path, port: u16, settings: &[&str]) -> Child {
        let log = std::fs::File::create(dir.join("log")).unwrap();
        as_server("mariadbd", dir)
            .args([
                &format!("--datadir={}", dir.join("data").display()),
                &format!("--socket={}", dir.join("s").display()),
                &format!("--pid-file={}", dir.join("pid").display()),
                &format!("--port={port}"),
                "--bind-address=127.0.0.1",
                "--innodb-buffer-pool-size=32M",
                LOG_SIZE,
            ])
            .args(settings)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    fn awaited(&self) {
        eventually(60, || {
            let done = self.client("SELECT 1", "").output();
            done.is_ok_and(|done| done.status.success())
        });
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Ends it.
    pub(crate) fn end(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Ends it, and starts it with other settings.
    pub(crate) fn again(&mut self, settings: &[&str]) {
        self.end();
        self.process = Self::process(self.dir.path(), self.port, settings);
        self.awaited();
    }

    pub(crate) fn client(&self, sql: &str, database: &str) -> Command {
        let mut client = program("mariadb");
        client.args(["--no-defaults", "-N", "-B", "-u", "root", "-e", sql]);
        client.arg(format!("--socket={}", self.dir.path().join("s").display()));
        if !database.is_empty() {
            client.arg(database);
        }
        client
    }

    /// Answers of the server's own client, a line each.
    #[track_caller]
    pub(crate) fn ask(&self, sql: &str) -> String {
        well(&mut self.client(sql, "")).trim().to_owned()
    }

    /// And in the database of the tests.
    #[track_caller]
    pub(crate) fn ask_shop(&self, sql: &str) -> String {
        well(&mut self.client(sql, "shop")).trim().to_owned()
    }

    /// The command line that asks the database of the tests.
    pub(crate) fn shell(&self) -> String {
        let dir = self.dir.path().display();
        format!("mariadb --no-defaults -N -B -u root --socket={dir}/s shop")
    }

    pub(crate) fn socket(&self, user: &str, database: &str) -> String {
        let dir = self.dir.path().display();
        format!("mysql://{user}@/{database}?socket={dir}/s")
    }

    pub(crate) fn loopback(&self) -> String {
        format!("mysql://bob@127.0.0.1:{}/shop", self.port)
    }

    pub(crate) fn tables_of_ours(&self) -> String {
        self.ask_shop("SHOW TABLES WHERE tables_in_shop REGEXP '^(sbtest|kurabe)'")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn every_test_works_on_a_mariadb_and_leaves_nothing_there() {
    let Some(server) = Server::start("every_test_works_on_a_mariadb", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("root", "shop");
    let done = bed
        .run(&short("db.*", &["--copies", "3", "--db", &url, "--json"]))
        .code(0);
    let page: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let plan = &page["run"]["plan"];
    let cases = plan["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 9, "{cases:#?}");
    for case in cases {
        let title = case["title"].as_str().unwrap();
        assert!(
            title.starts_with("MySQL/MariaDB, sysbench OLTP "),
            "{title}"
        );
        assert!(
            title.contains(": special rows, durable as the server is set"),
            "{title}"
        );
        assert_eq!(case["on_disk"], false, "{title}");
    }
    takes_no_memory(&bed);
    assert_eq!(plan["named"][0]["path"], url.as_str());
    for words in [
        "MariaDB 10.",
        "innodb_flush_log_at_trx_commit 1",
        "innodb_buffer_pool_size 32 MiB (command-line)",
        "our tables fit into the server's memory",
        "no disturbance",
    ] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    assert!(!done.out.contains("durability is off"));
    let metrics = page["metrics"].as_array().unwrap();
    let cpu = metrics
        .iter()
        .filter(|metric| metric["quantity"] == "server_cpu_ns_per_op");
    assert_eq!(cpu.count(), 8);
    assert_eq!(server.tables_of_ours(), "");
}

#[test]
fn transactions_that_meet_are_tried_again_and_counted() {
    let settings = ["--innodb-lock-wait-timeout=1"];
    let Some(server) = Server::start("transactions_that_meet_are_tried_again", &settings) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("root", "shop");
    let of = |test: &str| {
        let args = [
            "--set",
            "db.*.time=1s",
            "--db",
            &url,
            "--copies",
            "16",
            "--json",
        ];
        let done = bed.run(&short(test, &args)).code(0);
        let page: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        let metrics = page["metrics"].as_array().unwrap().clone();
        let retries = metrics
            .iter()
            .find(|metric| metric["quantity"] == "retries_per_transaction");
        let retries = retries.unwrap()["estimate"].as_f64().unwrap();
        (retries, done.out.contains("tried again after"))
    };
    // Rows are locked in any order: sooner or later two transactions wait for one another. The server calls that a
    // deadlock (1213), the usual code, of which no note tells.
    let deadlocks = || {
        let told = server.ask("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'");
        told.split_whitespace().nth(1).unwrap().parse::<u64>()
    };
    let mut seen = Vec::new();
    let is_deadlock = (0..3).any(|_| {
        let before = deadlocks().unwrap();
        let (retries, others) = of("db.oltp-read-write");
        let met = deadlocks().unwrap() - before;
        seen.push((retries, others, met));
        retries > 0.0 && !others && met > 0
    });
    assert!(is_deadlock, "{seen:?}");
    // Somebody else holds the rows for longer than the server lets one wait, and the transaction goes on with the next
    // try: the round holds, and the code is told.
    let args = short(
        "db.oltp-write-only",
        &["--db", &url, "--set", "db.*.time=4s", "--full"],
    );
    let mut child = bed
        .command(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        let hold = "BEGIN; SELECT COUNT(*) FROM sbtest1 FOR UPDATE; DO SLEEP(1.6); ROLLBACK";
        // There is no table yet, or any more.
        let _ = server.client(hold, "shop").output().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    let done = Done::from(child.wait_with_output().unwrap()).code(0);
    assert!(
        said(&done).contains("after 1205 (lock wait timeout)"),
        "{done:#?}"
    );
    assert_eq!(server.tables_of_ours(), "");
}

#[test]
fn a_mariadb_that_is_set_up_oddly_is_measured_all_the_same() {
    let settings = [
        "--autocommit=0",
        "--sql-mode=ANSI,PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES",
        "--transaction-isolation=SERIALIZABLE",
        "--default-storage-engine=MyISAM",
        "--lower-case-table-names=1",
        "--innodb-flush-log-at-trx-commit=2",
        "--skip-innodb-doublewrite",
        "--log-bin=own",
        "--server-id=7",
        "--query-cache-type=1",
        "--query-cache-size=1M",
    ];
    let Some(server) = Server::start("a_mariadb_that_is_set_up_oddly", &settings) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("root", "shop");
    bed.run(&short(
        "db.oltp-read-write",
        &["--db", &url, "--copies", "2", "--full"],
    ))
    .code(0)
    .out_says(&[
        "durability is off: innodb_flush_log_at_trx_commit is 2",
        "durability is off: log_bin is on and sync_binlog is not 1",
        "durability is off: innodb_doublewrite is off",
        "query_cache_type is on",
        "tx_isolation SERIALIZABLE",
    ]);
    bed.run(&["show", "latest", "--full"])
        .code(0)
        .out_says(&["the tables were made anew before each round that found them changed"]);
    bed.run(&short("db.insert", &["--db", &url])).code(0);
    assert_eq!(server.tables_of_ours(), "");
}

#[test]
fn tables_of_others_on_a_mariadb_are_left_alone() {
    let Some(server) = Server::start("tables_of_others_on_a_mariadb", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("root", "shop");
    server.ask_shop("CREATE TABLE orders (id int); INSERT INTO orders VALUES (7)");
    let args = short("db.point-select", &["--db", &url]);
    let refused = bed.run(&args);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    let all = said(&refused);
    for word in ["`shop.orders`", "--db-allow-existing", "CREATE DATABASE"] {
        assert!(all.contains(word), "{word}: {all}");
    }
    let allowed = [args.clone(), vec!["--db-allow-existing"]].concat();
    bed.run(&allowed).code(0);
    assert_eq!(server.ask_shop("SELECT id FROM orders"), "7");
    // What is called as ours is theirs as long as it does not carry our mark, or is no table.
    for theirs in [
        "CREATE TABLE sbtest1 (id int) COMMENT='mine'",
        "CREATE VIEW sbtest1 AS SELECT 1",
    ] {
        server.ask_shop(theirs);
        let refused = bed.run(&allowed);
        assert_ne!(refused.code, Some(0), "{theirs}: {refused:#?}");
        assert!(said(&refused).contains("none of kurabe's"), "{refused:#?}");
        assert_eq!(server.tables_of_ours(), "sbtest1", "{theirs}");
        if theirs.contains("VIEW") {
            server.ask_shop("DROP VIEW sbtest1");
        } else {
            server.ask_shop("DROP TABLE sbtest1");
        }
    }
    assert_eq!(server.tables_of_ours(), "");
}

#[test]
fn what_keeps_us_out_of_a_mariadb_is_one_error_with_a_hint() {
    let settings = [
        "--max-connections=10",
        "--extra-max-connections=0",
        "--plugin-load-add=auth_ed25519",
    ];
    let Some(server) = Server::start("what_keeps_us_out_of_a_mariadb", &settings) else {
        return;
    };
    let bed = Bed::new();
    let check = |url: &str, more: &[&str], expected: &[&str]| {
        let args = [short("db.point-select", &["--db", url]), more.to_vec()].concat();
        let done = bed.run(&args);
        assert_ne!(done.code, Some(0), "{done:#?}");
        let all = said(&done);
        for word in expected {
            assert!(all.contains(word), "`{word}` is not in {all}");
        }
    };
    check(
        &server.socket("root", "none"),
        &[],
        &["(1049)", "CREATE DATABASE"],
    );
    check(&server.socket("bob", "shop"), &[], &["(1045)", ".my.cnf"]);
    check(&server.loopback(), &[], &["(1045)", ".my.cnf"]);
    let file = bed.path().join("wrong");
    std::fs::write(&file, server.loopback().replace("bob@", "bob:wr0ng@")).unwrap();
    readable(&file, 0o600);
    let done = bed.run(&short("db.point-select", &["--db-file", "wrong"]));
    assert!(!format!("{done:?}").contains("wr0ng"), "{done:#?}");
    done.code(3)
        .err_has(&["Access denied for user 'bob'", "(1045)", ".my.cnf"]);
    server.ask("CREATE USER weak@localhost; GRANT SELECT ON shop.* TO weak@localhost");
    check(
        &server.socket("weak", "shop"),
        &[],
        &["(1142)", "GRANT ALL"],
    );
    check(
        &server.socket("weak", "mysql"),
        &[],
        &["(1044)", "GRANT ALL"],
    );
    server.ask(
        "GRANT ALL ON shop.* TO carol@localhost IDENTIFIED VIA unix_socket; \
         GRANT ALL ON shop.* TO ed@localhost IDENTIFIED VIA ed25519 USING PASSWORD('x')",
    );
    check(
        &server.socket("carol", "shop"),
        &[],
        &["(1698)", "who runs kurabe"],
    );
    check(
        &server.socket("ed", "shop"),
        &[],
        &["(client_ed25519)", "mysql_native_password"],
    );
    check(
        "mysql://bob@127.0.0.1:1/shop",
        &[],
        &["Connection refused", "bind_address"],
    );
    check(
        "mysql://bob@/shop?socket=/nowhere/s",
        &[],
        &["socket `/nowhere/s`", "No such file"],
    );
    let many = ["--copies", "16"];
    check(
        &server.socket("root", "shop"),
        &many,
        &["16 copies take 18 connections", "max_connections"],
    );
    server.ask("SET GLOBAL read_only = 1");
    check(&server.socket("root", "shop"), &[], &["`read_only` is on"]);
}

#[test]
fn who_speaks_another_language_is_no_mariadb() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let bed = Bed::new();
    let url = format!("mysql://bob@127.0.0.1:{port}/shop");
    let mut child = bed
        .command(&short("db.point-select", &["--db", &url]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    listener.set_nonblocking(true).unwrap();
    while child.try_wait().unwrap().is_none() {
        if let Ok((mut client, _)) = listener.accept() {
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let done = Done::from(child.wait_with_output().unwrap());
    assert_ne!(done.code, Some(0), "{done:#?}");
    assert!(
        said(&done).contains("no message of MySQL/MariaDB"),
        "{done:#?}"
    );
}

#[test]
fn a_password_of_mariadb_is_shown_nowhere() {
    let Some(server) = Server::start("a_password_of_mariadb_is_shown_nowhere", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.loopback();
    let with = url.replace("bob@", &format!("bob:{PASSWORD}@"));
    let typed = ["", "?ssl-mode=REQUIRED", "%zz"].map(|end| format!("{with}{end}"));
    let words = [".my.cnf", "KURABE_DB_URL"];
    refused_when_typed(&bed, "db.point-select", &typed, &words);
    // The clients' own file says all that the address does not.
    let file = bed.path().join(".my.cnf");
    let text = format!(
        "[client]\nhost=127.0.0.1\nport={}\nuser=bob\npassword=\"{PASSWORD}\"\n",
        server.port
    );
    std::fs::write(&file, text).unwrap();
    let at_home = |args: &[&str]| {
        let output = bed.command(args).env("HOME", bed.path()).output();
        Done::from(output.unwrap())
    };
    let args = short(
        "db.point-select",
        &["--db", "mysql:///shop", "--label", "home"],
    );
    readable(&file, 0o644);
    at_home(&args).err_has(&["others may read it"]);
    readable(&file, 0o600);
    at_home(&args).code(0);
    bed.run(&["show", "home", "--full"])
        .code(0)
        .out_has(&[&url]);
    std::fs::remove_file(&file).unwrap();
    let file = bed.path().join("address");
    std::fs::write(&file, format!("{with}\n")).unwrap();
    readable(&file, 0o600);
    // While a run goes on nobody sees it, whichever way it came. The variable is in our own environment, where the user
    // put it, and in that of no process of ours.
    for is_by_file in [true, false] {
        let by_file = ["--db-file", "address"];
        let by_file = &by_file[..if is_by_file { 2 } else { 0 }];
        let mut command = bed.command(&short("db.oltp-read-write", by_file));
        if !is_by_file {
            std::fs::remove_file(&file).unwrap();
            command.env("KURABE_DB_URL", &with);
        }
        let piped = Stdio::piped;
        let child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
        eventually(60, || is_seen_with_a_worker(child.id(), is_by_file));
        let done = Done::from(child.wait_with_output().unwrap()).code(0);
        assert!(!shows(format!("{done:?}").as_bytes()), "{done:#?}");
    }
    kept_nowhere(&bed, &[PASSWORD]);
}

#[test]
fn who_runs_kurabe_is_let_in_by_the_kernels_word() {
    let Some(server) = Server::start("who_runs_kurabe_is_let_in", &[]) else {
        return;
    };
    let bed = Bed::new();
    let me = well(program("id").arg("-un"));
    let me = me.trim();
    server.ask(&format!(
        "GRANT ALL ON shop.* TO '{me}'@localhost IDENTIFIED VIA unix_socket"
    ));
    bed.run(&short(
        "db.point-select",
        &["--db", &server.socket(me, "shop")],
    ))
    .code(0);
}
