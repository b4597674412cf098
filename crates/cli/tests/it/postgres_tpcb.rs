//! pgbench's transaction on a PostgreSQL server of the test's own, beside pgbench itself.

use crate::bed::{Bed, eventually, signal};
use crate::postgres::{Server, well};
use crate::redis::Figures;
use std::collections::BTreeSet;

/// Two short rounds.
fn short<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = "run db.tpcb --passes 2 --json --set db.tpcb.time=500ms --db";
    let mut args: Vec<&str> = words.split(' ').collect();
    args.push(url);
    args.extend(more);
    args
}

/// The prepared statements that were carried out by these lines of a server's log.
fn executed(log: &str) -> BTreeSet<String> {
    let all = log.lines().filter_map(|line| line.split_once("execute "));
    all.filter_map(|(_, rest)| rest.split_once(": "))
        .map(|(_, sql)| sql.trim_end_matches(';').to_owned())
        .filter(|sql| sql.contains("pgbench_"))
        .collect()
}

/// Columns, rows, pages and what ANALYZE found in pgbench's tables and their keys.
const SHAPE: &str = "SELECT string_agg(concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), \
                     a.attnotnull, c.reltuples, c.relpages, c.reloptions, s.null_frac, s.avg_width, s.n_distinct), \
                     '; ' ORDER BY c.relname, a.attnum) FROM pg_class c \
                     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 LEFT JOIN pg_stats s \
                     ON s.tablename = c.relname AND s.attname = a.attname WHERE c.relname LIKE 'pgbench%'";

#[test]
fn tables_and_statements_are_those_of_pgbench() {
    let Some(server) = Server::start(
        "tables_and_statements_are_those_of_pgbench",
        &["log_statement=all"],
    ) else {
        return;
    };
    server.ask("postgres", "CREATE DATABASE theirs");
    well(
        server
            .program("pgbench", "theirs")
            .args(["-i", "-q", "-F", "90"]),
    );
    let theirs = server.ask("theirs", SHAPE);
    let printed = well(
        server
            .program("pgbench", "theirs")
            .args(["-n", "-M", "prepared", "-T", "1"]),
    );
    let history = "SELECT count(*), sum(delta) FROM pgbench_history";
    let before = server.ask("theirs", history);
    let log = server.log();
    let bed = Bed::new();
    let url = server.socket("shop");
    let words = "run db.tpcb --passes 60 --db-max 100GiB --set db.tpcb.fillfactor=90 --db";
    let args: Vec<&str> = words.split(' ').chain([url.as_str()]).collect();
    let mut child = bed.start(&args);
    eventually(60, || server.ask("shop", SHAPE) == theirs);
    let statements = executed(&log);
    assert_eq!(statements.len(), 5, "{statements:?}");
    eventually(60, || executed(&server.log()[log.len()..]) == statements);
    signal(&child, "-INT");
    child.wait().unwrap();
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'";
    assert_eq!(server.ask("shop", left), "0");
    // Those of pgbench carry no mark, and are left alone.
    let other = server.socket("theirs");
    for more in [&[][..], &["--db-allow-existing"]] {
        let done = bed.run(&short(&other, more));
        assert_ne!(done.code, Some(0), "{done:#?}");
        let all = format!("{}{}", done.out, done.err);
        assert!(all.contains("`pgbench_accounts` is there"), "{all}");
    }
    assert_eq!(server.ask("theirs", history), before);
    // What it printed is a figure of the same test.
    std::fs::write(bed.path().join("theirs.txt"), &printed).unwrap();
    bed.run(&short(&url, &["--label", "ours"])).code(0);
    bed.run(&["compare", "./theirs.txt", "ours"])
        .code(4)
        .out_says(&["measured otherwise: time 1s and 500ms"]);
    bed.run(&short(
        &url,
        &["--label", "as-long", "--set", "db.tpcb.time=1s"],
    ))
    .code(0);
    bed.run(&["compare", "./theirs.txt", "as-long"])
        .code(4)
        .out_says(&["1 and 2, where each side needs 6", "db.tpcb@1:lat_ns_mean"]);
    std::fs::write(
        bed.path().join("simple.txt"),
        printed.replace("prepared", "simple"),
    )
    .unwrap();
    bed.run(&["import", "simple.txt"]).code(0).err_has(&[
        "the comparison with kurabe's `db.tpcb`",
        "query mode simple",
    ]);
}

#[test]
fn deposits_are_counted_retried_and_asked_for_at_a_rate() {
    const WAITS: &str = "fewer branches than connections measure that wait";
    let Some(server) = Server::start("deposits_are_counted_retried_and_asked_for_at_a_rate", &[])
    else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("shop");
    let run = |more: &[&str]| {
        let done = bed.run(&short(&url, more)).code(0);
        let page: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        (done.out, Figures::of(&page))
    };
    // Updates of the one branch wait for each other, and with this isolation the second one is refused.
    server.ask(
        "postgres",
        "ALTER DATABASE shop SET default_transaction_isolation = 'repeatable read'",
    );
    let (out, page) = run(&["--copies", "4"]);
    let retries = page.all("db.tpcb@4:retries_per_transaction");
    assert!(retries.iter().all(|each| *each > 0.01), "{retries:?}");
    for words in [
        "tried again after 40001",
        "4 connections at `scale` 1",
        WAITS,
    ] {
        assert!(out.contains(words), "{words}");
    }
    for (tps, qps) in page
        .all("db.tpcb@4:tps")
        .iter()
        .zip(page.all("db.tpcb@4:qps"))
    {
        assert!((qps / tps - 7.0).abs() < 1e-6, "{qps} {tps}");
    }
    // At a rate so many arrive, and their wait is told apart.
    let (out, page) = run(&["--set", "db.tpcb.rate=30", "--set", "db.tpcb.time=3s"]);
    for arrived in page.all("db.tpcb@1:tps") {
        assert!((18.0..42.0).contains(arrived), "{arrived}");
    }
    assert!(
        !out.contains(WAITS),
        "one connection has its branch for itself"
    );
    let mean = |metric: &str| page.all(&format!("db.tpcb@1:{metric}")).to_vec();
    let lags = mean("lag_ns_mean").into_iter().zip(mean("lat_ns_mean"));
    assert!(lags.into_iter().all(|(lag, lat)| lag < lat));
    // What others put into our tables meanwhile is noticed.
    let args = short(&url, &["--set", "db.tpcb.time=3s"]);
    let child = bed
        .command(&args)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let changed = "SELECT count(*) FROM pg_class WHERE obj_description(oid, 'pg_class') LIKE 'kurabe: % changed%'";
    eventually(60, || server.ask("shop", changed) == "4");
    server.ask(
        "shop",
        "BEGIN ISOLATION LEVEL READ COMMITTED;
         UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1; COMMIT",
    );
    let done = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(
        out.contains("the balances of accounts, of tellers"),
        "{out}"
    );
}

#[test]
fn deposits_need_a_server_of_postgresql() {
    let bed = Bed::new();
    for more in [&[][..], &["--db", "mysql://bob@127.0.0.1:1/shop"]] {
        let args = [&["run", "db.tpcb"], more].concat();
        bed.run(&args)
            .code(3)
            .err_has(&["it works on a PostgreSQL server, which `--db postgres://"]);
    }
}
