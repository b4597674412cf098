//! Duels of two PostgreSQL servers of the test's own, or of one and SQLite.

use crate::bed::{Bed, eventually, signal};
use crate::mariadb;
use crate::password::PASSWORD;
use crate::postgres::Server;
use crate::servers::exported;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// A duel of two short pairs of a test with a thousand rows.
fn short<'a>(a: &'a str, b: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["duel", "db.oltp-read-write", "--a", a, "--b", b];
    args.extend(["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"]);
    args.extend(more);
    args
}

/// How many tables of ours a server holds.
fn tables(server: &Server) -> String {
    let sql = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sbtest%'";
    server.ask("shop", sql)
}

#[test]
fn two_servers_are_compared_in_pairs() {
    const TEST: &str = "two_servers_are_compared_in_pairs";
    let Some(a) = Server::start(TEST, &[]) else {
        return;
    };
    let b = Server::start(TEST, &["synchronous_commit=off", "jit=off"]).unwrap();
    let bed = Bed::new();
    let (of_a, of_b) = (a.socket("shop"), b.socket("shop"));
    let sides = [&of_a, &of_b].map(|url| format!("db={url}"));
    let args = short(&sides[0], &sides[1], &["--passes", "2", "--label", "d"]);
    let plan = [&args[..], &["--dry-run"]].concat();
    let plan = bed.run(&plan).code(0);
    for url in [&of_a, &of_b] {
        assert!(plan.says(&format!("works on: server `{url}`")), "{plan:#?}");
    }
    assert_eq!((tables(&a).as_str(), tables(&b).as_str()), ("0", "0"));
    let done = bed.run(&[&args[..], &["--json"]].concat()).code(0);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(document["others"][0]["paired"], true);
    assert_eq!(document["others"][0]["metrics"][0]["n"]["base"], 2);
    for (run, url) in [("d-a", &of_a), ("d-b", &of_b)] {
        let run = exported(&bed, run);
        assert_eq!(run["plan"]["named"][0]["path"], url.as_str());
        assert_eq!(
            run["plan"]["duel"]["traits"],
            serde_json::json!([quoted(url)])
        );
        assert_eq!(run["rounds"].as_array().unwrap().len(), 2);
    }
    assert_eq!((tables(&a).as_str(), tables(&b).as_str()), ("0", "0"));
}

/// A trait of a side as a shell takes it.
fn quoted(url: &str) -> String {
    format!("'db={url}'")
}

#[test]
fn a_server_is_compared_with_sqlite() {
    let Some(server) = Server::start("a_server_is_compared_with_sqlite", &[]) else {
        return;
    };
    let bed = Bed::new();
    let a = format!("db={}", server.socket("shop"));
    let done = bed.run(&short(&a, "dir=.", &["--passes", "2", "--label", "d"]));
    done.code(0).out_says(&["2 pairs of rounds"]);
    let title = |run| exported(&bed, run)["plan"]["cases"][0]["title"].to_string();
    assert!(title("d-a").contains("PostgreSQL"), "{}", title("d-a"));
    assert!(title("d-b").contains("SQLite"), "{}", title("d-b"));
    assert_eq!(tables(&server), "0");
    assert!(bed.left_behind().is_empty());
    // A side is not left to chance, and SQLite's own durability is none of a server.
    let args = ["duel", "db.point-select", "--a", &a];
    bed.run(&args)
        .code(2)
        .err_has(&["nothing says where side B is", "is SQLite in"]);
    let args = ["duel", "db.insert-normal", "--a", &a, "--b", "dir=."];
    bed.run(&args)
        .code(3)
        .err_has(&["`synchronous` is SQLite's"]);
}

#[test]
fn a_mariadb_is_compared_with_a_postgresql() {
    const TEST: &str = "a_mariadb_is_compared_with_a_postgresql";
    let (Some(a), Some(b)) = (
        mariadb::Server::start(TEST, &["--innodb-flush-log-at-trx-commit=2"]),
        Server::start(TEST, &["jit=off"]),
    ) else {
        return;
    };
    let bed = Bed::new();
    let urls = [a.socket("root", "shop"), b.socket("shop")];
    let sides = urls.each_ref().map(|url| format!("db={url}"));
    let more = ["--passes", "2", "--label", "d", "--json"];
    let done = bed.run(&short(&sides[0], &sides[1], &more)).code(0);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    let others = &document["others"][0];
    assert_eq!(others["paired"], true);
    let metrics = others["metrics"].as_array().unwrap();
    let tps = metrics
        .iter()
        .find(|metric| metric["id"] == "db.oltp-read-write@1:tps");
    assert_eq!(tps.unwrap()["n"]["base"], 2, "{others}");
    let runs = ["d-a", "d-b"].map(|run| exported(&bed, run));
    for (run, url) in runs.iter().zip(&urls) {
        assert_eq!(run["plan"]["named"][0]["path"], url.as_str());
        assert_eq!(run["rounds"].as_array().unwrap().len(), 2);
    }
    // What each server said of itself was asked while the other one had nothing to do, or had not begun.
    let [maria, postgres] = &runs;
    assert!(told(maria, "version").0.starts_with("MariaDB 10."));
    assert_eq!(told(maria, "innodb_flush_log_at_trx_commit").0, "2");
    assert!(told(postgres, "version").0.starts_with("PostgreSQL 1"));
    assert_eq!(told(postgres, "jit").0, "off");
    assert_eq!(
        (a.tables_of_ours().as_str(), tables(&b).as_str()),
        ("", "0")
    );
}

#[test]
fn a_password_of_a_side_is_not_taken_from_the_command_line() {
    const TEST: &str = "a_password_of_a_side";
    let Some(server) = Server::start(TEST, &[]) else {
        return;
    };
    let bed = Bed::new();
    let with = server
        .loopback()
        .replace("postgres@", &format!("postgres:{PASSWORD}@"));
    for side in [
        format!("db={with}"),
        with.clone(),
        format!("DB={with}"),
        format!("db={with}&nonsense"),
    ] {
        for args in [short(&side, "dir=.", &[]), short("dir=.", &side, &[])] {
            let done = bed.run(&args).code(2);
            assert!(!format!("{done:?}").contains(PASSWORD), "{done:#?}");
        }
    }
    let done = bed.run(&short(&format!("db={with}"), "dir=.", &[]));
    done.err_has(&["behind `--a db=`", ".pgpass"]);
    let file = bed.path().join("address");
    std::fs::write(&file, format!("{with}\n")).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let args = short(
        "db-file=address",
        "dir=.",
        &["--passes", "1", "--label", "d"],
    );
    bed.run(&args).code(0);
    std::fs::remove_file(&file).unwrap();
    let run = exported(&bed, "d-a");
    let traits = run["plan"]["duel"]["traits"].to_string();
    assert!(traits.contains(&server.loopback()), "{traits}");
    assert!(!run.to_string().contains(PASSWORD));
    bed.run(&short(&format!("db={with}"), &format!("db={with}"), &[]))
        .code(2);
    let two = short("db=postgres://h/a", "dir=.", &["--a", "db=postgres://h/b"]);
    bed.run(&two).code(2).err_has(&["two database servers"]);
}

#[test]
fn a_killed_duel_goes_on_where_its_servers_are_named_again() {
    const TEST: &str = "a_killed_duel_goes_on_where_its_servers_are_named_again";
    let Some(server) = Server::start(TEST, &[]) else {
        return;
    };
    server.ask("postgres", "CREATE DATABASE other");
    let bed = Bed::new();
    let sides = ["shop", "other"].map(|base| format!("db={}", server.socket(base)));
    let [a, b] = [&sides[0][..], &sides[1][..]];
    let args = short(a, b, &["--passes", "3", "--label", "d"]);
    let mut child = bed.start(&args);
    eventually(60, || {
        let list = bed.listed();
        list.len() == 2 && list.iter().all(|run| run["rounds"].as_u64() > Some(0))
    });
    signal(&child, "-KILL");
    child.wait().unwrap();
    let resume = ["duel", "--resume", "d-a"];
    let with = |more: &[&str]| bed.run(&[&resume[..], more].concat());
    // What is to be typed is said of both sides, as a shell takes it.
    let again = ["shop", "other"].map(|base| format!("db='{}'", server.socket(base)));
    let again = format!("`--a {} --b {}`", again[0], again[1]);
    for some in [&[][..], &["--a", a], &["--b", b]] {
        with(some).code(2).err_has(&["name it again: ", &again]);
    }
    let whole = format!("`kurabe duel --resume d-b {}", &again[1..]);
    bed.run(&["run", "--resume", "d-b"])
        .code(2)
        .err_has(&[&whole]);
    with(&["--a", b, "--b", a]).code(2).err_has(&["and not on"]);
    with(&["--a", "dir=."])
        .code(2)
        .err_has(&["alone are typed again"]);
    with(&["--a", a, "--b", b])
        .code(0)
        .out_says(&["3 pairs of rounds"]);
    assert_eq!(tables(&server), "0");
}

/// What a kept run has of its server's setting: its value and source.
fn told(run: &Value, name: &str) -> (String, String) {
    let facts = run["plan"]["named"][0]["server"].as_array().unwrap();
    let found = facts.iter().find(|fact| fact["name"] == name).unwrap();
    let text = |key: &str| found[key].as_str().unwrap().to_owned();
    (text("value"), text("source"))
}

#[test]
fn what_servers_say_of_themselves_is_kept_and_compared() {
    const TEST: &str = "what_servers_say_of_themselves_is_kept_and_compared";
    let Some(server) = Server::start(TEST, &["jit=off"]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("shop");
    // Two settings of one server, by commands: each side's is asked for as its side is set up.
    let set = |value: &str| {
        let psql = server.psql();
        format!(
            "{psql} -c 'ALTER SYSTEM SET synchronous_commit = {value}' -c 'SELECT pg_reload_conf()' && sleep 0.2"
        )
    };
    let (a, b) = (set("on"), set("off"));
    let args = [
        "duel",
        "db.update-index",
        "--db",
        &url,
        "--a-cmd",
        &a,
        "--b-cmd",
        &b,
    ];
    let more = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let more = [&more[..], &["--passes", "2", "--label", "d"]].concat();
    let done = bed.run(&[&args[..], &more].concat()).code(0);
    let differ = "the servers differ: synchronous_commit on (configuration file) (A) and off (configuration file) (B)";
    done.out_says(&[differ]);
    let [on, off] = ["d-a", "d-b"].map(|run| exported(&bed, run));
    let of_file = |value: &str| (value.to_owned(), "configuration file".to_owned());
    assert_eq!(told(&on, "synchronous_commit"), of_file("on"));
    assert_eq!(told(&off, "synchronous_commit"), of_file("off"));
    assert_eq!(told(&on, "fsync").1, "default");
    assert_eq!(
        told(&on, "jit"),
        ("off".to_owned(), "command line".to_owned())
    );
    assert!(told(&on, "version").0.starts_with("PostgreSQL 1"));
    // Runs, too, are told apart by it.
    server.ask("shop", "ALTER DATABASE shop SET random_page_cost = 1.5");
    let args = [
        "run",
        "db.point-select",
        "--db",
        &url,
        "--passes",
        "1",
        "--label",
        "r",
    ];
    bed.run(&[&args[..], &more[..4]].concat()).code(0);
    bed.run(&["show", "r", "--full"])
        .code(0)
        .out_says(&[", PostgreSQL 1"]);
    server.ask("shop", "ALTER DATABASE shop RESET random_page_cost");
    let args = [
        "run",
        "db.point-select",
        "--db",
        &url,
        "--passes",
        "60",
        "--label",
        "s",
    ];
    let mut child = bed.start(&[&args[..], &more[..4]].concat());
    eventually(60, || {
        let latest = &bed.listed()[0];
        latest["label"] == "s" && latest["rounds"].as_u64() > Some(0)
    });
    signal(&child, "-KILL");
    child.wait().unwrap();
    let done = bed.run(&["compare", "--full", "r", "s"]);
    for words in ["server: random_page_cost", "1.5 (database)"] {
        assert!(done.says(words), "{words}: {done:#?}");
    }
    // And another one is no server to go on with.
    server.ask("shop", "ALTER DATABASE shop SET jit = on");
    bed.run(&["run", "--resume", "s", "--db", &url])
        .code(2)
        .err_has(&[
            "the set-up is not the same",
            "server: jit: off (command line), now on (database)",
        ]);
}
