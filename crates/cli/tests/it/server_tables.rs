//! Tables of ours on servers of PostgreSQL and MariaDB that somebody else changes, in a round or between two of them.
//!
//! Where a server is not installed each test says that it was skipped, by its name.

use crate::bed::{Bed, Done, eventually, program};
use crate::server_faults::failures;
use crate::servers::says;
use crate::{mariadb, postgres};

/// A server as a shell asks it, with what tells how far a round is.
struct There {
    url: String,
    /// What stands before a statement.
    asks: String,
    /// Asks whether a round has begun that will change the tables.
    will_change: &'static str,
    /// Asks whether a client reads.
    reads: &'static str,
}

impl There {
    fn of_postgres(server: &postgres::Server) -> Self {
        Self {
            url: server.socket("shop"),
            asks: format!("{} -c", server.psql()),
            will_change: "SELECT count(*) FROM pg_class \
                          WHERE obj_description(oid, 'pg_class') LIKE 'kurabe: % changed%'",
            reads: "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT c FROM sbtest1 WHERE id=%'",
        }
    }

    fn of_mariadb(server: &mariadb::Server) -> Self {
        Self {
            url: server.socket("root", "shop"),
            asks: format!("{} -e", server.shell()),
            will_change: "SELECT count(*) FROM kurabe_tables WHERE words LIKE 'changed%'",
            reads: "SELECT variable_value FROM information_schema.global_status \
                    WHERE variable_name = 'Prepared_stmt_count'",
        }
    }

    fn line(&self, sql: &str) -> String {
        format!("{} \"{sql}\" 2>/dev/null", self.asks)
    }

    /// What it answers; nothing where it cannot, such as of a table that is not there.
    fn ask(&self, sql: &str) -> String {
        let done = program("sh").args(["-c", &self.line(sql)]).output();
        let answer = String::from_utf8(done.unwrap().stdout).unwrap();
        answer.trim().to_owned()
    }

    /// In a round: it fails, by what is there afterwards, or by an answer.
    fn changed_in_a_round(&self) {
        for (test, is_under_way, sql, words) in [
            (
                "db.update-index",
                self.will_change,
                "UPDATE sbtest1 SET k=k+1 WHERE id=3",
                "the sum of `k` is",
            ),
            (
                "db.insert",
                self.will_change,
                "DELETE FROM sbtest1 WHERE id=3",
                "rows in place of",
            ),
            (
                "db.point-select",
                self.reads,
                "UPDATE sbtest1 SET c='x'",
                "Point answered 1 rows and 1 bytes of text in place of 1 and 119",
            ),
        ] {
            let bed = Bed::new();
            let run = ["run", test, "--passes", "1", "--db", &self.url];
            let child = bed.start(&[&run[..], &LONGER].concat());
            eventually(60, || self.ask(is_under_way) == "1");
            self.ask(sql);
            let done: Done = child.wait_with_output().unwrap().into();
            assert_ne!(done.code, Some(0), "{done:#?}");
            says(&done, &["wrong result", words]);
            let (whys, ends_well) = failures(&bed);
            assert!(!ends_well && whys.len() == 1, "{whys:?}");
            assert!(whys[0].contains("wrong_result"), "{whys:?}");
        }
    }

    /// Between rounds, as one side of a duel does before each of its own: they are made anew for the side that finds
    /// them so, and it is said.
    fn changed_between_rounds(&self) {
        let bed = Bed::new();
        // Neither the number of rows nor their own tells this.
        let change = format!("{}; true", self.line("UPDATE sbtest1 SET c='x' WHERE id=3"));
        let duel = ["duel", "db.point-select", "--db", &self.url, "--a-cmd"];
        let sides = [change.as_str(), "--b-cmd", "true"];
        let more = ["--passes", "2", "--label", "d"];
        bed.run(&[&duel[..], &sides, &more, &SHORT].concat())
            .code(0);
        let notes = |run| bed.run(&["show", run, "--full"]).code(0);
        says(
            &notes("d-a"),
            &["somebody else changed the tables between two rounds: they were made anew"],
        );
        let of_b = notes("d-b");
        assert!(!of_b.says("made anew"), "{of_b:#?}");
    }
}

const SHORT: [&str; 4] = ["--set", "db.*.table_size=1000", "--set", "db.*.time=1s"];

/// A round that is not over before a client of the server has been started and is heard.
const LONGER: [&str; 4] = ["--set", "db.*.table_size=1000", "--set", "db.*.time=4s"];

#[test]
fn rows_of_ours_that_others_change_on_a_postgresql_are_found() {
    let Some(server) = postgres::Server::start("rows_of_ours_that_others_change", &[]) else {
        return;
    };
    let there = There::of_postgres(&server);
    there.changed_in_a_round();
    there.changed_between_rounds();
}

#[test]
fn rows_of_ours_that_others_change_on_a_mariadb_are_found() {
    let Some(server) = mariadb::Server::start("rows_of_ours_that_others_change", &[]) else {
        return;
    };
    let there = There::of_mariadb(&server);
    there.changed_in_a_round();
    there.changed_between_rounds();
    assert_eq!(server.tables_of_ours(), "");
}
