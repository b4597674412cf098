//! sysbench's OLTP tests on servers of the test's own: the tables that sysbench makes and the statements that a server
//! logs of it are held against ours.
//!
//! Where a server or sysbench is not installed each test says that it was skipped, by its name.

use crate::bed::{Bed, eventually, program};
use crate::postgres::well;
use crate::{mariadb, postgres};
use std::collections::{BTreeMap, BTreeSet};

/// The scripts of sysbench.
const SCRIPTS: [&str; 8] = [
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
];

/// Our test of a script.
fn of_ours(script: &str) -> String {
    let word = script.strip_prefix("oltp_").unwrap();
    let has_transactions = ["read_write", "read_only", "write_only"].contains(&word);
    let front = if has_transactions { "oltp-" } else { "" };
    format!("db.{front}{}", word.replace('_', "-"))
}

/// A statement without its values, and what each of them looks like: `n`, or a text with 9 for every digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    sql: String,
    values: Vec<String>,
}

/// How much of a text that begins with this letter or digit belongs together.
fn word(text: &str) -> usize {
    let is_over = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    text.find(is_over).unwrap_or(text.len())
}

impl Said {
    /// Of a statement with values in its text, or with `$1`, `$2`... in their place.
    fn of(sql: &str) -> Self {
        let (mut text, mut values) = (String::new(), Vec::new());
        let mut rest = sql;
        while let Some(first) = rest.chars().next() {
            let is_value = match first {
                '\'' | '$' => true,
                // What is added to `k` is no value.
                '0'..='9' => !text.ends_with('+'),
                _ => false,
            };
            let end = match first {
                '\'' => rest[1..].find('\'').unwrap() + 2,
                '$' => 1 + word(&rest[1..]),
                _ => word(rest).max(first.len_utf8()),
            };
            let (part, behind) = rest.split_at(end);
            text.push_str(if is_value { "?" } else { part });
            if is_value && first != '$' {
                values.push(part.trim_matches('\''));
            }
            rest = behind;
        }
        let mut said = Self {
            sql: text,
            values: Vec::new(),
        };
        said.with(&values);
        said
    }

    /// Its values.
    fn with(&mut self, values: &[&str]) {
        let digits = |c: char| if c.is_ascii_digit() { '9' } else { c };
        let looks = |value: &&str| match value.parse::<i64>() {
            Ok(_) => "n".to_owned(),
            Err(_) => value.chars().map(digits).collect(),
        };
        self.values = values.iter().map(looks).collect();
        if let (true, [first, last]) = (self.sql.contains("BETWEEN"), values) {
            let [first, last] = [first, last].map(|end| end.parse::<i64>().unwrap());
            self.values.push(format!("{} rows", last - first + 1));
        }
    }
}

/// What a line of a server's log says, with the connection that it is about.
enum Line<'a> {
    /// A statement, and whether it was prepared.
    Statement(&'a str, &'a str, bool),
    /// The values of the last statement.
    Values(&'a str, Vec<&'a str>),
}

/// What a line says; `None` where that is no statement.
type Read = fn(&str) -> Option<Line<'_>>;

fn of_postgres(line: &str) -> Option<Line<'_>> {
    // A statement of several lines goes on behind a tab.
    let line = Some(line).filter(|line| !line.starts_with('\t'))?;
    let (pid, said) = line.split_once('[')?.1.split_once("] ")?;
    // `$1 = '503', $2 = '602'`.
    if let Some(values) = said.strip_prefix("DETAIL:  parameters: ") {
        let values = values.split("', ").map(|one| one.split_once("= '"));
        let values = values.map(|one| Some(one?.1.trim_end_matches('\'')));
        return Some(Line::Values(pid, values.collect::<Option<_>>()?));
    }
    let (how, sql) = said.strip_prefix("LOG:  ")?.split_once(": ")?;
    // A connection of ours keeps to one schema, before anything is measured.
    if sql.contains("set_config('search_path'") {
        return None;
    }
    let is_prepared = how.starts_with("execute ");
    (is_prepared || how == "statement").then_some(Line::Statement(pid, sql, is_prepared))
}

fn of_mariadb(line: &str) -> Option<Line<'_>> {
    let (before, sql) = line.rsplit_once('\t')?;
    let (number, how) = before.rsplit('\t').next()?.trim().split_once(' ')?;
    let is_prepared = how == "Execute";
    (is_prepared || how == "Query").then_some(Line::Statement(number, sql, is_prepared))
}

/// The first transaction of each connection in a log: from BEGIN to COMMIT, or one statement. Where it is `prepared`
/// connections that prepare nothing are left out.
fn transactions(log: &str, read: Read, prepared: bool) -> BTreeSet<Vec<Said>> {
    let mut each: BTreeMap<&str, (Vec<Said>, bool)> = BTreeMap::new();
    for line in log.lines().filter_map(read) {
        match line {
            Line::Statement(connection, sql, is_prepared) => {
                let (all, prepares) = each.entry(connection).or_default();
                all.push(Said::of(sql));
                *prepares |= is_prepared;
            }
            Line::Values(connection, values) => {
                let (all, _) = each.get_mut(connection).unwrap();
                all.last_mut().unwrap().with(&values);
            }
        }
    }
    let first = |(mut all, _): (Vec<Said>, bool)| {
        let is = |wanted: &str| all.iter().position(|one| one.sql == wanted);
        let end = is("COMMIT").filter(|_| is("BEGIN") == Some(0));
        all.truncate(end.unwrap_or(0) + 1);
        all
    };
    let all = each.into_values();
    all.filter(|(_, prepares)| *prepares || !prepared)
        .map(first)
        .collect()
}

/// Has sysbench and kurabe work on a server, and compares what it holds and logs of both.
fn held(
    to_server: &[String],
    url: &str,
    shape: &dyn Fn(&str) -> String,
    (log, read): (&dyn Fn() -> String, Read),
) {
    let sysbench = |script: &str, does: &str| {
        let mut command = program("sysbench");
        let short = ["--table-size=1000", "--events=1", "--time=0", script, does];
        well(command.args(to_server).args(short));
    };
    sysbench(SCRIPTS[0], "prepare");
    let theirs = shape("theirs");
    let before = log().len();
    for script in SCRIPTS {
        sysbench(script, "run");
    }
    let whole = log();
    // An insert of sysbench is not prepared, and gives MariaDB no number of a row by giving it 0.
    let theirs_said =
        whole[before..].replace("(id, k, c, pad) VALUES (0, ", "(k, c, pad) VALUES (");
    let theirs_said = transactions(&theirs_said, read, false);
    assert_eq!(theirs_said.len(), SCRIPTS.len(), "{theirs_said:#?}");
    // Ours arrive slowly, so that the log stays short.
    let tests = SCRIPTS.map(of_ours);
    let sets = ["db.*.table_size=1000", "db.*.time=500ms", "db.*.rate=30"];
    let mut args = vec!["run", "--passes", "1", "--db", url];
    args.extend(sets.iter().flat_map(|set| ["--set", set]));
    args.extend(tests.iter().map(String::as_str));
    let bed = Bed::new();
    let child = bed.start(&args);
    // They are there from before the first round until after the last, and change meanwhile.
    eventually(60, || shape("shop") == theirs);
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    // Of ours, connections that look after tables prepare nothing.
    let ours_said = transactions(&log()[whole.len()..], read, true);
    assert_eq!(ours_said, theirs_said);
}

/// Whether sysbench is installed; false with a word.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn is_there(test: &str) -> bool {
    let is_there = program("sysbench").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: {test}: no sysbench");
    }
    is_there
}

#[test]
fn tables_and_statements_are_those_of_sysbench_on_a_postgresql() {
    // Columns, keys, the next number of a row, and what rows look like: about three of four `k` are from 498 to 505.
    const SHAPE: &str = r"
        SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull,
                                    pg_get_expr(d.adbin, d.adrelid)), '; ' ORDER BY attnum)
        FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE attrelid = 'sbtest1'::regclass AND attnum > 0
        UNION ALL SELECT string_agg(indexdef, '; ' ORDER BY indexname) FROM pg_indexes WHERE tablename = 'sbtest1'
        UNION ALL SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), '; ')
        FROM pg_constraint WHERE conrelid = 'sbtest1'::regclass
        UNION ALL SELECT concat_ws(' ', 'the last number is', last_value, is_called) FROM sbtest1_id_seq
        UNION ALL SELECT concat_ws(' ', count(*), min(id), max(id), min(k) > 0, max(k) <= 1000,
                                   bool_and(c ~ '^([0-9]{11}-){9}[0-9]{11} *$'),
                                   bool_and(pad ~ '^([0-9]{11}-){4}[0-9]{11} *$'),
                                   count(*) FILTER (WHERE k BETWEEN 498 AND 505) BETWEEN 690 AND 830)
        FROM sbtest1";
    const TEST: &str = "tables_and_statements_are_those_of_sysbench_on_a_postgresql";
    if !is_there(TEST) {
        return;
    }
    let Some(server) = postgres::Server::start(TEST, &["log_statement=all"]) else {
        return;
    };
    server.ask("postgres", "CREATE DATABASE theirs");
    let to_server = [
        "--db-driver=pgsql".to_owned(),
        "--pgsql-user=postgres".to_owned(),
        "--pgsql-db=theirs".to_owned(),
        format!("--pgsql-host={}", server.dir().display()),
        format!("--pgsql-port={}", server.port()),
    ];
    let shape = |database: &str| {
        let mut psql = server.program("psql", database);
        let said = psql.args(["-XAtq", "-c", SHAPE]).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    let log = || server.log();
    held(
        &to_server,
        &server.socket("shop"),
        &shape,
        (&log, of_postgres),
    );
}

#[test]
fn tables_and_statements_are_those_of_sysbench_on_a_mariadb() {
    const SHAPE: &str = "SHOW CREATE TABLE sbtest1; \
        SELECT COUNT(*), MIN(id), MAX(id), MIN(k) > 0, MAX(k) <= 1000, \
        SUM(c REGEXP '^([0-9]{11}-){9}[0-9]{11}$'), SUM(pad REGEXP '^([0-9]{11}-){4}[0-9]{11}$'), \
        SUM(k BETWEEN 498 AND 505) BETWEEN 690 AND 830 FROM sbtest1";
    const TEST: &str = "tables_and_statements_are_those_of_sysbench_on_a_mariadb";
    if !is_there(TEST) {
        return;
    }
    let settings = ["--general-log", "--general-log-file=../general"];
    let Some(server) = mariadb::Server::start(TEST, &settings) else {
        return;
    };
    server.ask("CREATE DATABASE theirs");
    let to_server = [
        "--db-driver=mysql".to_owned(),
        "--mysql-user=root".to_owned(),
        "--mysql-db=theirs".to_owned(),
        format!("--mysql-socket={}", server.dir().join("s").display()),
    ];
    let shape = |database: &str| {
        let said = server.client(SHAPE, database).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        // Our mark is all that theirs have not.
        let mark = said.find(" COMMENT='kurabe: ").map(|begin| {
            let rest = &said[begin + 10..];
            begin..begin + 10 + rest.find('\'').unwrap() + 1
        });
        mark.map_or(said.clone(), |mark| said.replace(&said[mark], ""))
    };
    let log = || std::fs::read_to_string(server.dir().join("general")).unwrap();
    held(
        &to_server,
        &server.socket("root", "shop"),
        &shape,
        (&log, of_mariadb),
    );
}
