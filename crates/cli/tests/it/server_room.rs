//! What runs take on servers of PostgreSQL and MariaDB, beside what is told before, and `--db-max`.
//!
//! Where a server is not installed each test says that it was skipped, by its name.

use crate::bed::{Bed, eventually, signal};
use crate::postgres::well;
use crate::servers::{said, says};
use crate::{mariadb, postgres};
use serde_json::Value;
use std::path::Path;

/// What is told of a plan.
struct Told {
    tables: u64,
    logs: u64,
    added: u64,
    all: u64,
}

fn told(bed: &Bed, args: &[&str]) -> Told {
    let done = bed.run(&[args, &["--dry-run", "--json"]].concat()).code(0);
    let plan: Value = serde_json::from_str(&done.out).unwrap();
    let server = &plan["on_servers"][0];
    let of = |name: &str| server[name].as_u64().unwrap();
    Told {
        tables: of("tables_bytes"),
        logs: of("logs_bytes"),
        added: of("added_bytes"),
        all: of("all_bytes"),
    }
}

/// What a directory takes on its disk.
fn taken(dir: &Path) -> u64 {
    let said = well(crate::bed::program("du").args(["-sB1"]).arg(dir));
    said.split_whitespace().next().unwrap().parse().unwrap()
}

/// Tables and the growth of the server's directory are within what was told, while they are there; the tables are also
/// more than a third of it.
fn holds(bed: &Bed, args: &[&str], dir: &Path, tables: impl Fn() -> u64) {
    let told = told(bed, args);
    let (before, runs) = (taken(dir), bed.listed().len());
    let child = bed.start(args);
    eventually(120, || {
        bed.listed().len() > runs && tables() > told.tables / 3
    });
    let (tables, now) = (tables(), taken(dir));
    signal(&child, "-INT");
    child.wait_with_output().unwrap();
    assert!(tables <= told.tables, "{tables} of {}", told.tables);
    let grown = now.saturating_sub(before);
    assert!(grown <= told.all, "{grown} of {}", told.all);
}

const READS: [&str; 6] = [
    "run",
    "db.point-select",
    "--passes",
    "60",
    "--set",
    "db.*.time=500ms",
];

/// Two large tables.
const MANY: [&str; 4] = ["--set", "db.*.table_size=50000", "--set", "db.*.tables=2"];

/// Transactions at a rate, which is all that they may add.
const CHANGES: [&str; 8] = [
    "run",
    "db.oltp-write-only",
    "--passes",
    "2",
    "--set",
    "db.*.time=3s",
    "--set",
    "db.*.rate=100",
];

#[test]
fn what_a_postgresql_takes_is_within_what_was_told() {
    let checksums = ["wal_log_hints=on", "full_page_writes=on"];
    let Some(server) = postgres::Server::start("what_a_postgresql_takes", &checksums) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("shop"));
    let sizes = || {
        let sum = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class \
                   WHERE relkind = 'r' AND relname ~ '^(sbtest[0-9]+|pgbench_.*)$'";
        server.ask("shop", sum).parse().unwrap_or(0)
    };
    let many = [&MANY[..], &["--db", &url]].concat();
    holds(&bed, &[&READS[..], &many].concat(), &server.data(), sizes);
    let bank = ["run", "db.tpcb", "--passes", "60", "--db-max", "99GiB"];
    let rate = ["--set", "db.*.time=500ms", "--set", "db.*.rate=50"];
    let bank = [&bank[..], &rate, &["--db", &url]].concat();
    holds(&bed, &bank, &server.data(), sizes);
    // What goes into the log, from the first statement to the last.
    let log = || -> u64 {
        let at = server.ask("shop", "SELECT pg_current_wal_lsn() - '0/0'");
        at.parse().unwrap()
    };
    let changes = [&CHANGES[..], &["--db", &url]].concat();
    let told = told(&bed, &changes);
    let before = log();
    bed.run(&changes).code(0);
    let grown = log() - before;
    assert!(grown <= told.logs + told.added, "{grown}");
}

#[test]
fn what_a_mariadb_takes_is_within_what_was_told() {
    let settings = ["--log-bin=../binlog", "--binlog-format=ROW"];
    let Some(server) = mariadb::Server::start("what_a_mariadb_takes", &settings) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("root", "shop"));
    let sizes = || {
        let sum = "SELECT SUM(data_length + index_length) FROM information_schema.tables \
                   WHERE table_schema = 'shop' AND table_name LIKE 'sbtest%'";
        server.ask(sum).parse().unwrap_or(0)
    };
    let many = [&MANY[..], &["--db", &url]].concat();
    holds(&bed, &[&READS[..], &many].concat(), server.dir(), sizes);
    let log = || -> u64 {
        let logs = server.ask("SHOW BINARY LOGS");
        let sizes = logs
            .lines()
            .map(|line| line.split_whitespace().nth(1).unwrap());
        sizes.map(|size| size.parse::<u64>().unwrap()).sum()
    };
    let changes = [&CHANGES[..], &["--db", &url]].concat();
    let told = told(&bed, &changes);
    let before = log();
    bed.run(&changes).code(0);
    let grown = log() - before;
    assert!(grown > 0 && grown <= told.logs + told.added, "{grown}");
}

#[test]
fn a_plan_that_takes_more_is_refused_before_anything_is_asked_of_a_server() {
    let bed = Bed::new();
    // Nothing listens there, and no test finds out.
    let url = "postgres://bob@127.0.0.1:1/bench";
    let large = ["--set", "db.*.table_size=10000000"];
    for command in [
        &["run", "db.point-select"][..],
        &["soak", "db.point-select", "--for", "60s"],
        &[
            "duel",
            "db.point-select",
            "--a-cmd",
            "true",
            "--b-cmd",
            "true",
        ],
    ] {
        let args = [command, &["--db", url], &large].concat();
        let done = bed.run(&args).code(2);
        let words = [
            "the plan could take 10015 MiB on `postgres://bob@127.0.0.1:1/bench`, and `--db-max` allows 1 GiB",
            "hint: where the server has that room: `--db-max 10015MiB`",
        ];
        says(&done, &words);
        let plan = bed.run(&[&args[..], &["--dry-run"]].concat()).code(0);
        says(
            &plan,
            &[
                "takes on the server: about 10015 MiB of the 1 GiB",
                "would be refused",
            ],
        );
        let plan = bed.run(&[&args[..], &["--dry-run", "--db-max", "11GiB"]].concat());
        assert!(!plan.code(0).err.contains("refused"));
    }
    // A rate that is ordered counts, and so does the time of a soak.
    let long = ["soak", "db.update-index", "--for", "1h", "--db", url];
    bed.run(&long).code(2).err_has(&["`--db-max` allows 1 GiB"]);
    let done = bed.run(&long).code(2);
    says(&done, &["a smaller `--for`, or a larger `--every`"]);
    assert!(!said(&done).contains("--passes"), "{done:#?}");
    let slow = [&long[..], &["--set", "db.update-index.rate=1", "--dry-run"]].concat();
    assert!(!bed.run(&slow).code(0).err.contains("refused"));
    // The usual profile fits, and where no server has tables the option is a slip of the hand.
    let usual = bed.run(&["run", "oltp", "--dry-run", "--db", url]).code(0);
    assert!(!usual.err.contains("refused"), "{usual:#?}");
    for args in [
        &["run", "db.point-select", "--db-max", "1GiB"][..],
        &["run", "os.pipe", "--db-max", "1GiB"],
        &[
            "run",
            "db.kv-get",
            "--db",
            "redis://127.0.0.1:1/0",
            "--db-max",
            "1GiB",
        ],
    ] {
        let done = bed.run(args).code(2);
        says(&done, &["the run works on no tables of a server"]);
    }
    for nothing in ["0", "x", "-1"] {
        bed.run(&["run", "oltp", "--db", url, "--db-max", nothing])
            .code(2);
    }
}
