//! Whose tables are whose on servers of PostgreSQL and MariaDB: what others made of tables of ours is theirs.
//!
//! Where a server is not installed each test says that it was skipped, by its name.

use crate::bed::{Bed, Done, eventually, program, signal};
use crate::password::{PASSWORD, readable};
use crate::postgres::well;
use crate::servers::{said, says};
use crate::{mariadb, postgres};
use std::time::Duration;

const SHORT: [&str; 6] = [
    "--passes",
    "1",
    "--set",
    "db.*.table_size=1000",
    "--set",
    "db.*.time=500ms",
];

/// A run that others' tables do not keep from working.
fn once(bed: &Bed, url: &str) -> Done {
    let run = ["run", "db.point-select", "--db", url, "--db-allow-existing"];
    bed.run(&[&run[..], &SHORT].concat())
}

/// Leaves a table of ours there, whole, as a run does that is killed. Times of tables are whole seconds: what others do
/// then is later.
pub(crate) fn killed(bed: &Bed, url: &str) {
    let before = bed.listed().len();
    let run = ["run", "db.point-select", "--passes", "60", "--db", url];
    let set = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let mut child = bed.start(&[&run[..], &["--db-allow-existing"], &set].concat());
    eventually(60, || bed.listed().len() > before && bed.rounds() > 0);
    signal(&child, "-KILL");
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(1100));
}

/// A run is refused by this table of others, and `kurabe clean` takes nothing.
fn is_refused(bed: &Bed, url: &str, table: &str) {
    let done = once(bed, url);
    assert_ne!(done.code, Some(0), "{done:#?}");
    says(
        &done,
        &[&format!("`{table}` is there and is none of kurabe's")],
    );
    let done = bed.run(&["clean", "--db", url]).code(0);
    let names = ["removed table sbtest", &format!("removed table {table} ")];
    let is_named = names.iter().any(|words| said(&done).contains(*words));
    assert!(!is_named, "{done:#?}");
}

#[test]
fn what_others_made_of_tables_of_ours_on_a_postgresql_is_theirs() {
    let Some(server) = postgres::Server::start("what_others_made_of_tables", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("shop"));
    let ask = |sql: &str| server.ask("shop", sql);
    let comment = "SELECT obj_description('sbtest1'::regclass, 'pg_class')";
    // A copy under another name, with everything that the server copies and the comment by hand.
    killed(&bed, &url);
    let mark = ask(comment);
    ask(&format!(
        "CREATE TABLE sbtest3 (LIKE sbtest1 INCLUDING ALL EXCLUDING DEFAULTS); COMMENT ON TABLE sbtest3 IS '{mark}'; \
         INSERT INTO sbtest3 VALUES (7, 7, 'mine', '')"
    ));
    once(&bed, &url).code(0);
    assert_eq!(ask("SELECT id FROM sbtest3"), "7");
    ask("DROP TABLE sbtest3");
    // One that takes its numbers from ours keeps ours from being dropped.
    killed(&bed, &url);
    ask(
        "CREATE TABLE theirs (LIKE sbtest1 INCLUDING ALL); INSERT INTO theirs SELECT * FROM sbtest1",
    );
    let done = once(&bed, &url);
    assert_ne!(done.code, Some(0), "{done:#?}");
    says(
        &done,
        &["(2BP01)", "something of others is made from that table"],
    );
    assert_eq!(ask("SELECT count(*) FROM theirs"), "1000");
    ask("DROP TABLE theirs");
    once(&bed, &url).code(0);
    // Ours under another name, and a copy under its own: both are of others.
    killed(&bed, &url);
    let mark = ask(comment);
    ask(&format!(
        "ALTER TABLE sbtest1 RENAME TO sbtest2; CREATE TABLE sbtest1 AS SELECT * FROM sbtest2 LIMIT 3; \
         COMMENT ON TABLE sbtest1 IS '{mark}'"
    ));
    is_refused(&bed, &url, "sbtest1");
    assert_eq!(ask("SELECT count(*) FROM sbtest1"), "3");
    assert_eq!(ask("SELECT count(*) FROM sbtest2"), "1000");
    ask("DROP TABLE sbtest1, sbtest2");
    // Ours as a part of a table of others, and one of others that is made of ours.
    for (of_others, gone) in [
        (
            "CREATE TABLE parent (LIKE sbtest1) PARTITION BY RANGE (id); ALTER TABLE parent ATTACH PARTITION sbtest1 \
             FOR VALUES FROM (1) TO (10000000); INSERT INTO parent VALUES (777777, 1, 'mine', '')",
            "DROP TABLE parent",
        ),
        (
            "CREATE TABLE child (note text) INHERITS (sbtest1); INSERT INTO child VALUES (777777, 1, 'mine', '', 'x')",
            "DROP TABLE child, sbtest1",
        ),
    ] {
        killed(&bed, &url);
        ask(of_others);
        is_refused(&bed, &url, "sbtest1");
        assert_eq!(ask("SELECT count(*) FROM sbtest1"), "1001", "{of_others}");
        ask(gone);
    }
    // A table with a mark of words alone.
    ask("CREATE TABLE sbtest1 (id int); COMMENT ON TABLE sbtest1 IS 'kurabe: being made'");
    is_refused(&bed, &url, "sbtest1");
    ask("DROP TABLE sbtest1");
    // An index of others that has the name of one of ours.
    ask("CREATE TABLE orders (id int); CREATE INDEX k_1 ON orders (id)");
    is_refused(&bed, &url, "k_1");
    assert_eq!(ask("SELECT to_regclass('sbtest1') IS NULL"), "t");
    ask("DROP TABLE orders; CREATE SEQUENCE sbtest1");
    is_refused(&bed, &url, "sbtest1");
    ask("DROP SEQUENCE sbtest1");
}

#[test]
fn a_table_in_a_schema_that_others_make_meanwhile_keeps_its_rows() {
    let Some(server) = postgres::Server::start("a_table_in_a_schema_that_others_make", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("shop"));
    let ask = |sql: &str| server.ask("shop", sql);
    let words = "run db.delete --passes 2 --set db.*.table_size=1000 --set db.*.time=3s --db";
    let args: Vec<&str> = words.split(' ').chain([url.as_str()]).collect();
    let mut run = bed.start(&args);
    let changed = "SELECT count(*) FROM pg_class WHERE obj_description(oid, 'pg_class') LIKE 'kurabe: % changed%'";
    eventually(60, || ask(changed) == "1");
    // The schema of the user's name comes first by default. Statements that are prepared are looked at again.
    ask(
        "CREATE SCHEMA postgres; CREATE TABLE postgres.sbtest1 AS SELECT * FROM public.sbtest1 LIMIT 0; \
         INSERT INTO postgres.sbtest1 SELECT i, 1, 'mine', '' FROM generate_series(1, 1000) i; \
         ANALYZE public.sbtest1",
    );
    run.wait().unwrap();
    assert_eq!(ask("SELECT count(*) FROM postgres.sbtest1"), "1000");
}

#[test]
fn a_dump_and_a_copy_of_a_database_of_postgresql_are_of_others() {
    let Some(server) = postgres::Server::start("a_dump_and_a_copy_of_a_database", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("shop"));
    killed(&bed, &url);
    let dump = well(server.program("pg_dump", "shop").arg("--inserts"));
    assert!(dump.contains("kurabe: "), "the dump has the mark");
    let file = server.dir().join("dump");
    std::fs::write(&file, dump).unwrap();
    let restore = |database: &str| {
        let mut psql = server.program("psql", database);
        well(psql.args(["-Xq", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file));
    };
    // As files, in a database of another number, and as statements.
    eventually(30, || {
        server.ask(
            "postgres",
            "SELECT count(*) FROM pg_stat_activity WHERE datname = 'shop'",
        ) == "0"
    });
    server.ask("postgres", "CREATE DATABASE copied TEMPLATE shop");
    server.ask("postgres", "CREATE DATABASE restored");
    restore("restored");
    for database in ["copied", "restored"] {
        is_refused(&bed, &server.socket(database), "sbtest1");
        assert_eq!(server.ask(database, "SELECT count(*) FROM sbtest1"), "1000");
    }
    // What the server does with its own tables, and a restart, are nothing to ours.
    server.ask("shop", "VACUUM (FREEZE, FULL) pg_description");
    server.ask("shop", "VACUUM (FREEZE, FULL) pg_class");
    server.ask("shop", "VACUUM FREEZE pg_description");
    server.ask("shop", "VACUUM FULL sbtest1");
    server.stop();
    assert!(server.up());
    let done = bed.run(&["clean", "--dry-run", "--db", &url]).code(0);
    says(&done, &["would remove table sbtest1 in `postgres://"]);
    // In the place of ours.
    server.ask("shop", "DROP TABLE sbtest1");
    restore("shop");
    is_refused(&bed, &url, "sbtest1");
    assert_eq!(server.ask("shop", "SELECT count(*) FROM sbtest1"), "1000");
}

#[test]
fn what_others_made_of_tables_of_ours_on_a_mariadb_is_theirs() {
    let Some(server) = mariadb::Server::start("what_others_made_of_tables", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("root", "shop"));
    let ask = |sql: &str| server.ask_shop(sql);
    // A copy under another name: the server copies the comment.
    killed(&bed, &url);
    ask("CREATE TABLE sbtest3 LIKE sbtest1; INSERT INTO sbtest3 VALUES (7, 7, 'mine', '')");
    once(&bed, &url).code(0);
    assert_eq!(ask("SELECT id FROM sbtest3"), "7");
    ask("DROP TABLE sbtest3");
    // Ours under another name, and a copy under its own.
    killed(&bed, &url);
    ask(
        "RENAME TABLE sbtest1 TO sbtest2; CREATE TABLE sbtest1 LIKE sbtest2; \
         INSERT INTO sbtest1 VALUES (7, 7, 'mine', '')",
    );
    is_refused(&bed, &url, "sbtest1");
    assert_eq!(ask("SELECT id FROM sbtest1"), "7");
    assert_eq!(ask("SELECT COUNT(*) FROM sbtest2"), "1000");
    ask("DROP TABLE sbtest1, sbtest2");
    // Nothing of ours is left, and so neither is the table of marks.
    assert_eq!(server.tables_of_ours(), "");
    // Comments alone.
    for comment in [
        "kurabe: being made",
        "kurabe: table 7, of which kurabe_tables says what is in it",
        "kurabe: tables of kurabe in this database",
    ] {
        ask(&format!(
            "CREATE TABLE sbtest1 (id int) COMMENT='{comment}'"
        ));
        is_refused(&bed, &url, "sbtest1");
        ask("DROP TABLE sbtest1");
    }
    // A copy of the table of marks with all that is in it.
    killed(&bed, &url);
    ask(
        "RENAME TABLE kurabe_tables TO marks; CREATE TABLE kurabe_tables LIKE marks; \
         INSERT INTO kurabe_tables SELECT * FROM marks",
    );
    is_refused(&bed, &url, "kurabe_tables");
    assert_eq!(ask("SELECT COUNT(*) FROM sbtest1"), "1000");
    ask("DROP TABLE sbtest1, kurabe_tables, marks");
    once(&bed, &url).code(0);
    assert_eq!(server.tables_of_ours(), "");
}

/// A row of marks of a table that was never made: one that others make then is theirs, with the comment of another
/// table of ours, and while nothing is committed.
#[test]
fn a_row_whose_table_was_never_made_on_a_mariadb_fits_no_other() {
    let Some(server) = mariadb::Server::start("a_row_whose_table_was_never_made", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("root", "shop"));
    let ask = |sql: &str| server.ask_shop(sql);
    killed(&bed, &url);
    // What a run left that was killed before the table was there: a number of its own.
    ask(
        "CREATE DATABASE bench; RENAME TABLE sbtest1 TO bench.sbtest1; \
         REPLACE INTO kurabe_tables VALUES ('sbtest1', UUID_SHORT(), NULL, '0 0', UNIX_TIMESTAMP(), 'being made'); \
         CREATE TABLE sbtest1 LIKE bench.sbtest1",
    );
    is_refused(&bed, &url, "sbtest1");
    ask("INSERT INTO sbtest1 SELECT * FROM bench.sbtest1");
    assert_eq!(ask("SELECT COUNT(*) FROM sbtest1"), "1000");
    ask("DROP TABLE sbtest1");
    // A copy with the same number and the same rows, later than the time in which ours may have been made.
    killed(&bed, &url);
    ask(
        "UPDATE kurabe_tables SET holds = (SELECT CONCAT(COUNT(*), ' ', SUM(k)) FROM sbtest1), \
         since = UNIX_TIMESTAMP() - 60 WHERE name = 'sbtest1'; RENAME TABLE sbtest1 TO theirs; \
         CREATE TABLE sbtest1 LIKE theirs; INSERT INTO sbtest1 SELECT * FROM theirs",
    );
    // What is no answer is not taken for one: here not all of it may be read.
    server.ask(&format!(
        "GRANT SELECT (id), INSERT, UPDATE, DELETE, CREATE ON shop.sbtest1 TO few@localhost IDENTIFIED BY '{PASSWORD}'; \
         GRANT SELECT ON shop.kurabe_tables TO few@localhost"
    ));
    let file = bed.path().join("address");
    let few = server.socket("few", "shop");
    std::fs::write(&file, few.replace("few@", &format!("few:{PASSWORD}@"))).unwrap();
    readable(&file, 0o600);
    let clean = ["clean", "--dry-run", "--db-file", "address"];
    let done = bed.run(&clean).code(4);
    says(&done, &["cannot list the tables of", "(1143)"]);
    ask("UPDATE kurabe_tables SET since = UNIX_TIMESTAMP() - 661 WHERE name = 'sbtest1'");
    is_refused(&bed, &url, "sbtest1");
    assert_eq!(ask("SELECT COUNT(*) FROM sbtest1"), "1000");
}

/// What is in the database of the tests, in another one as well.
fn restore(server: &mariadb::Server, bed: &Bed, database: &str) {
    let client = format!(
        "--no-defaults -u root --socket={}/s",
        server.dir().display()
    );
    let line = format!("mariadb-dump {client} shop > dump && mariadb {client} {database} < dump");
    let mut shell = program("sh");
    well(shell.args(["-c", &line]).current_dir(bed.path()));
}

#[test]
fn a_dump_of_a_database_of_mariadb_is_of_others() {
    let Some(mut server) = mariadb::Server::start("a_dump_of_a_database_of_mariadb", &[]) else {
        return;
    };
    let (bed, url) = (Bed::new(), server.socket("root", "shop"));
    killed(&bed, &url);
    server.ask("CREATE DATABASE restored");
    restore(&server, &bed, "restored");
    is_refused(&bed, &server.socket("root", "restored"), "kurabe_tables");
    assert_eq!(server.ask("SELECT COUNT(*) FROM restored.sbtest1"), "1000");
    // A server that was started anew knows ours.
    server.again(&[]);
    let clean = ["clean", "--dry-run", "--db", &url];
    says(
        &bed.run(&clean).code(0),
        &["would remove table sbtest1 in `mysql://"],
    );
    // One whose connection ended while its index was made is ours by what it holds, and no longer once others put
    // something into it.
    server.ask_shop(
        "UPDATE kurabe_tables SET holds = (SELECT CONCAT(COUNT(*), ' ', SUM(k)) FROM sbtest1), \
                     since = UNIX_TIMESTAMP() WHERE name = 'sbtest1'; ALTER TABLE sbtest1 ADD INDEX other (k)",
    );
    says(&bed.run(&clean).code(0), &["would remove table sbtest1 in"]);
    server.ask_shop("INSERT INTO sbtest1 (k) VALUES (1)");
    is_refused(&bed, &url, "sbtest1");
    server.ask_shop("DROP TABLE sbtest1");
    // In the place of ours.
    killed(&bed, &url);
    restore(&server, &bed, "shop");
    is_refused(&bed, &url, "kurabe_tables");
    assert_eq!(server.ask_shop("SELECT COUNT(*) FROM sbtest1"), "1000");
}
