//! Runs on servers that are there already, such as MySQL and Valkey, which a distribution does not have beside MariaDB
//! and Redis: `KURABE_TEST_POSTGRES`, `KURABE_TEST_MYSQL` and `KURABE_TEST_REDIS` have the address of an empty
//! database, with its password. Without them each test says that it was skipped, by its name.

use crate::bed::Bed;
use crate::redis::Figures;

/// Every test of `tests` on the server of this variable: with one client and with four, by its address alone.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn all_work(test: &str, variable: &str, (tests, rate, set): (&[&str], &str, &[&str])) {
    let Ok(address) = std::env::var(variable) else {
        eprintln!("skipped: {test}: no address in `{variable}`");
        return;
    };
    let bed = Bed::new();
    let mut args = vec!["run"];
    args.extend(tests);
    args.extend(["--copies", "1,4", "--passes", "2", "--json"]);
    args.extend(set.iter().flat_map(|one| ["--set", *one]));
    let mut command = bed.command(&args);
    let done = command.env("KURABE_DB_URL", address).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(0), "{said}");
    let page: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(page["failed_rounds"], serde_json::json!([]), "{said}");
    let figures = Figures::of(&page);
    let cases = tests
        .iter()
        .flat_map(|test| [1, 4].map(|copies| format!("{test}@{copies}")));
    for case in cases {
        let rates = figures.all(&format!("{case}:{rate}"));
        assert!(
            rates.len() == 2 && rates.iter().all(|one| *one > 0.0),
            "{case}: {rates:?}"
        );
    }
}

/// The tests of sysbench.
const OLTP: [&str; 8] = [
    "db.oltp-read-write",
    "db.oltp-read-only",
    "db.oltp-write-only",
    "db.point-select",
    "db.update-index",
    "db.update-non-index",
    "db.insert",
    "db.delete",
];

/// Small and short.
const SET: [&str; 2] = ["db.*.table_size=1000", "db.*.time=500ms"];

#[test]
fn every_test_works_on_the_postgresql_that_is_given() {
    let test = "every_test_works_on_the_postgresql_that_is_given";
    all_work(test, "KURABE_TEST_POSTGRES", (&OLTP, "tps", &SET));
    let bank = ["db.tpcb.time=500ms"];
    all_work(test, "KURABE_TEST_POSTGRES", (&["db.tpcb"], "tps", &bank));
}

#[test]
fn every_test_works_on_the_mysql_that_is_given() {
    let test = "every_test_works_on_the_mysql_that_is_given";
    all_work(test, "KURABE_TEST_MYSQL", (&OLTP, "tps", &SET));
}

#[test]
fn every_test_works_on_the_redis_that_is_given() {
    let test = "every_test_works_on_the_redis_that_is_given";
    let tests = ["db.kv-get", "db.kv-set", "db.kv-mixed"];
    let set = ["db.*.keys=1000", "db.*.time=500ms"];
    all_work(test, "KURABE_TEST_REDIS", (&tests, "requests_per_s", &set));
}
