//! What is left on servers where tables could not be made to their end, and `kurabe clean --db`.
//!
//! Where a server is not installed each test says that it was skipped, by its name.

use crate::bed::{Bed, Done, eventually, signal};
use crate::password::{PASSWORD, readable};
use crate::servers::{said, says};
use crate::{mariadb, postgres, redis, server_marks};
use std::process::Child;

/// A run of one pass.
fn once(bed: &Bed, url: &str, more: &[&str]) -> Done {
    let set = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let run = ["run", "db.point-select", "--passes", "1", "--db", url];
    bed.run(&[&run[..], &set, more].concat())
}

/// A run that makes tables for a while, as soon as they are seen.
fn making(bed: &Bed, url: &str, is_there: impl Fn() -> bool) -> Child {
    let run = ["run", "db.point-select", "--passes", "1", "--db", url];
    let set = [
        "--set",
        "db.point-select.table_size=2000000",
        "--db-max",
        "9GiB",
    ];
    let child = bed.start(&[&run[..], &set].concat());
    eventually(60, is_there);
    child
}

/// Nothing is there, and `clean` says so.
fn is_clean(bed: &Bed, url: &str) {
    let done = bed.run(&["clean", "--db", url]).code(0);
    says(&done, &["nothing to remove"]);
}

/// A function that is called where the server is about to end a statement of this kind.
fn at(tag: &str, does: &str) -> String {
    format!(
        "CREATE OR REPLACE FUNCTION stop() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN {does} END $$; \
         DROP EVENT TRIGGER IF EXISTS stop; \
         CREATE EVENT TRIGGER stop ON ddl_command_end WHEN TAG IN ('{tag}') EXECUTE FUNCTION stop()"
    )
}

#[test]
fn a_postgresql_that_stops_the_making_keeps_nothing_of_it() {
    let Some(server) = postgres::Server::start("a_postgresql_that_stops_the_making", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("shop"));
    let left = || {
        server.ask(
            "shop",
            "SELECT count(*) FROM pg_class WHERE relname ~ '^(sbtest|k_)'",
        )
    };
    let raise = |code: &str| format!("RAISE EXCEPTION 'stopped' USING ERRCODE = '{code}';");
    let second = format!(
        "IF to_regclass('sbtest2') IS NOT NULL THEN {} END IF;",
        raise("53100")
    );
    // A full disk, a time-out, lost rights, at an index or at the second table; and a connection that is ended.
    for (tag, does) in [
        ("CREATE INDEX", raise("53100")),
        ("CREATE INDEX", raise("57014")),
        ("CREATE INDEX", raise("42501")),
        ("CREATE TABLE", second),
        (
            "CREATE INDEX",
            "PERFORM pg_terminate_backend(pg_backend_pid());".to_owned(),
        ),
    ] {
        server.ask("shop", &at(tag, &does));
        let done = once(&bed, &url, &["--set", "db.*.tables=2"]);
        assert_ne!(done.code, Some(0), "{done:#?}");
        assert_eq!(left(), "0", "{tag} {does}");
        assert!(!said(&done).contains("could not be removed"), "{done:#?}");
    }
    server.ask("shop", "DROP EVENT TRIGGER stop; DROP FUNCTION stop()");
    is_clean(&bed, &url);
    once(&bed, &url, &[]).code(0);
}

#[test]
fn a_making_on_a_postgresql_that_is_interrupted_or_killed_is_tidied() {
    let Some(server) = postgres::Server::start("a_making_that_is_interrupted", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("shop"));
    let is_there = || server.ask("shop", "SELECT to_regclass('sbtest1')") == "sbtest1";
    let ended = |child: Child, name: &str| {
        signal(&child, name);
        Done::from(child.wait_with_output().unwrap())
    };
    ended(making(&bed, &url, is_there), "-INT");
    assert!(!is_there());
    // Killed, it leaves what `clean` knows, in whatever database is named, and nothing else.
    ended(making(&bed, &url, is_there), "-KILL");
    server.ask(
        "shop",
        "CREATE TABLE orders (id int); CREATE TABLE sbtest7 (id int)",
    );
    let done = bed.run(&["clean", "--dry-run", "--db", &url]).code(0);
    says(
        &done,
        &["would remove table sbtest1 in `postgres://postgres@"],
    );
    assert!(is_there());
    bed.run(&["clean"]).code(0);
    assert!(is_there(), "nothing is asked of a server that is not named");
    let done = bed.run(&["clean", "--db", &url]).code(0);
    says(&done, &["removed table sbtest1 in `postgres://postgres@"]);
    let tables = "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(server.ask("shop", tables), "orders sbtest7");
    server.ask("shop", "DROP TABLE orders, sbtest7");
    is_clean(&bed, &url);
    // One that cannot be dropped keeps no other.
    let many = ["--set", "db.point-select.tables=3"];
    let set = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let run = ["run", "db.point-select", "--passes", "60", "--db", &url];
    let before = bed.listed().len();
    let child = bed.start(&[&run[..], &set, &many].concat());
    eventually(60, || bed.listed().len() > before && bed.rounds() > 0);
    ended(child, "-KILL");
    server.ask("shop", "CREATE VIEW theirs AS SELECT * FROM sbtest2");
    let done = bed.run(&["clean", "--db", &url]).code(4);
    let each = [
        "removed table sbtest1 in",
        "removed table sbtest3 in",
        "error: cannot drop the table `sbtest2` of ours in",
        "(2BP01)",
    ];
    says(&done, &each);
    assert_eq!(server.ask("shop", tables), "sbtest2");
    server.ask("shop", "DROP VIEW theirs");
    let done = bed.run(&["clean", "--db", &url]).code(0);
    says(&done, &["removed table sbtest2 in"]);
    // A server that goes for good in the middle: what removes the rest is told.
    let child = making(&bed, &url, is_there);
    server.kill();
    signal(&child, "-INT");
    let done: Done = child.wait_with_output().unwrap().into();
    let command = format!("kurabe clean --db '{url}'");
    says(&done, &["could not be removed", &command]);
    bed.run(&["clean", "--db", &url])
        .code(4)
        .err_has(&["error: cannot connect to `postgres://"]);
    eventually(60, || server.up());
    let done = bed.run(&["clean", "--db", &url]).code(0);
    says(&done, &["removed table sbtest1 in"]);
    is_clean(&bed, &url);
}

#[test]
fn tables_of_a_run_that_goes_on_are_not_cleaned() {
    let Some(server) = postgres::Server::start("tables_of_a_run_that_goes_on", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("shop"));
    let run = ["run", "db.point-select", "--passes", "60", "--db", &url];
    let set = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let child = bed.start(&[&run[..], &set].concat());
    eventually(60, || bed.rounds() > 0);
    bed.run(&["clean", "--db", &url])
        .code(4)
        .err_has(&["another kurabe has had it"]);
    assert_eq!(
        server.ask("shop", "SELECT to_regclass('sbtest1')"),
        "sbtest1"
    );
    signal(&child, "-INT");
    child.wait_with_output().unwrap();
    is_clean(&bed, &url);
}

#[test]
fn a_mariadb_that_stops_the_making_keeps_nothing_of_it() {
    let Some(server) = mariadb::Server::start("a_mariadb_that_stops_the_making", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("root", "shop"));
    // Without the right to make an index, which is found out once the rows are there.
    server.ask(&format!(
        "CREATE USER few@localhost IDENTIFIED BY '{PASSWORD}'; \
         GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON shop.* TO few@localhost"
    ));
    let file = bed.path().join("address");
    let few = server
        .socket("few", "shop")
        .replace("few@", &format!("few:{PASSWORD}@"));
    std::fs::write(&file, few).unwrap();
    readable(&file, 0o600);
    let set = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let run = [
        "run",
        "db.point-select",
        "--passes",
        "1",
        "--db-file",
        "address",
    ];
    let done = bed.run(&[&run[..], &set].concat());
    assert_ne!(done.code, Some(0), "{done:#?}");
    says(&done, &["make an index in", "(1142)"]);
    assert_eq!(server.tables_of_ours(), "");
    // Without the right to drop what is there then: that is said, with what removes it.
    server.ask("REVOKE DROP ON shop.* FROM few@localhost");
    let done = bed.run(&[&run[..], &set].concat());
    assert_ne!(done.code, Some(0), "{done:#?}");
    let parts = [
        "(1142)",
        "what was made of them was not dropped, which is tried again when the run ends: cannot drop",
        "could not be removed",
        "hint: `kurabe clean --db 'mysql://few@",
    ];
    says(&done, &parts);
    assert_eq!(server.tables_of_ours(), "kurabe_tables\nsbtest1");
    let both = ["removed table sbtest1 in", "removed table kurabe_tables in"];
    says(&bed.run(&["clean", "--db", &url]).code(0), &both);
    server.ask("GRANT DROP ON shop.* TO few@localhost");
    // A connection that is ended while rows are put in: the making is tried anew, and nothing is left in the end.
    let is_there = || server.tables_of_ours().contains("sbtest1");
    let child = making(&bed, &url, is_there);
    let works = "SELECT COALESCE(GROUP_CONCAT(id), '') FROM information_schema.processlist \
                 WHERE info LIKE 'INSERT INTO sbtest1%'";
    eventually(60, || {
        let id = server.ask(works);
        !id.is_empty()
            && server
                .client(&format!("KILL {id}"), "")
                .status()
                .unwrap()
                .success()
    });
    signal(&child, "-INT");
    child.wait_with_output().unwrap();
    assert_eq!(server.tables_of_ours(), "");
    // Killed, it leaves what `clean` knows, by the address in a file as well.
    let child = making(&bed, &url, is_there);
    signal(&child, "-KILL");
    child.wait_with_output().unwrap();
    server.ask_shop("CREATE TABLE orders (id int)");
    let done = bed.run(&["clean", "--db-file", "address"]).code(0);
    says(&done, &["removed table sbtest1 in `mysql://few@"]);
    assert!(!format!("{done:?}").contains(PASSWORD));
    assert_eq!(server.tables_of_ours(), "");
    assert_eq!(server.ask_shop("SHOW TABLES"), "orders");
    is_clean(&bed, &url);
}

#[test]
fn clean_takes_the_password_of_the_variable_where_it_names_the_same_server() {
    let Some(server) = mariadb::Server::start("clean_takes_the_password", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("root", "shop"));
    server_marks::killed(&bed, &url);
    let bob = server.socket("bob", "shop");
    let with_password = bob.replace("bob@", &format!("bob:{PASSWORD}@"));
    let clean = |variable: &str| {
        let mut command = bed.command(&["clean", "--db", &bob]);
        Done::from(command.env("KURABE_DB_URL", variable).output().unwrap())
    };
    // That of another database is none of this one's.
    let other = with_password.replace("/shop", "/other");
    clean(&other).code(4).err_has(&["(1045)"]);
    says(
        &clean(&with_password).code(0),
        &["removed table sbtest1 in"],
    );
    assert_eq!(server.tables_of_ours(), "");
}

#[test]
fn keys_of_a_killed_run_are_cleaned_and_no_others() {
    let Some(server) = redis::Server::start("keys_of_a_killed_run_are_cleaned", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.loopback());
    let run = ["run", "db.kv-get", "--passes", "60", "--db", &url];
    let set = ["--set", "db.*.keys=1000", "--set", "db.*.time=500ms"];
    let mut child = bed.start(&[&run[..], &set].concat());
    eventually(60, || bed.rounds() > 0);
    signal(&child, "-KILL");
    child.wait().unwrap();
    server.ask(&["SET", "mine", "7"]);
    server.ask(&["SET", "kurabe:kv:999999999999", "7"]);
    server.ask(&["DEL", "kurabe:kv:000000000007"]);
    let done = bed.run(&["clean", "--dry-run", "--db", &url]).code(0);
    says(
        &done,
        &["would remove 999 keys and the key that counts them, kurabe:kv in"],
    );
    let done = bed.run(&["clean", "--db", &url]).code(0);
    says(
        &done,
        &["removed 999 keys and the key that counts them, kurabe:kv in"],
    );
    assert_eq!(server.ask(&["DBSIZE"]), "2");
    is_clean(&bed, &url);
}

/// A run of kurabe's with a thousand keys, once a round is kept.
fn run_of_keys(bed: &Bed, url: &str, more: &[&str]) -> Child {
    let run = ["run", "db.kv-get", "--passes", "3", "--db", url];
    let set = ["--set", "db.*.keys=1000", "--set", "db.*.time=500ms"];
    let child = bed.start(&[&run[..], &set, more].concat());
    eventually(60, || bed.rounds() > 0);
    child
}

#[test]
fn keys_of_a_run_that_rests_are_not_cleaned() {
    let Some(server) = redis::Server::start("keys_of_a_run_that_rests", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.loopback());
    let child = run_of_keys(&bed, &url, &["--spread", "1h"]);
    for way in [&["--dry-run"][..], &[]] {
        let args = [&["clean", "--db", &url], way].concat();
        bed.run(&args)
            .code(4)
            .err_has(&["another kurabe works there"]);
        assert_eq!(server.ask(&["DBSIZE"]), "1001");
    }
    // Another database is no concern of the run's.
    is_clean(&bed, &url.replace("/0", "/1"));
    // Also once its connection was ended and made anew.
    let named = || {
        let list = server.ask(&["CLIENT", "LIST"]);
        let line = list.lines().find(|line| line.contains(" name=kurabe-run "));
        let id = line.and_then(|line| line.strip_prefix("id=")?.split(' ').next());
        id.map(str::to_owned)
    };
    let before = named().unwrap();
    server.ask(&["CLIENT", "KILL", "ID", &before]);
    eventually(20, || named().is_some_and(|now| now != before));
    bed.run(&["clean", "--db", &url]).code(4);
    signal(&child, "-INT");
    let _: Done = child.wait_with_output().unwrap().into();
    is_clean(&bed, &url);
}

#[test]
fn keys_that_cannot_be_deleted_are_told_with_what_does() {
    let Some(server) = redis::Server::start("keys_that_cannot_be_deleted", &[]) else {
        return;
    };
    let bed = Bed::new();
    server.ask(&["ACL", "SETUSER", "bob", "on", "nopass", "~*", "+@all"]);
    let url = server.loopback().replace("//", "//bob@");
    let child = run_of_keys(&bed, &url, &["--spread", "1h"]);
    server.ask(&["ACL", "SETUSER", "bob", "-del"]);
    signal(&child, "-INT");
    let done: Done = child.wait_with_output().unwrap().into();
    says(&done, &[&format!("kurabe clean --db '{url}'")]);
    assert_eq!(server.ask(&["DBSIZE"]), "1001");
    server.ask(&["ACL", "SETUSER", "bob", "+del"]);
    bed.run(&["clean", "--db", &url]).code(0);
    assert_eq!(server.ask(&["DBSIZE"]), "0");
}
