//! The test on small tables: every mix, what is counted and checked, refusals, and the tables.

use super::client::{Client, Counts, Course, Setting, Shared};
use super::mix::Mix;
use super::oltp::OLTP;
use super::rows::{Choice, Rows};
use super::sqlite::{self, Sqlite};
use super::tables::{self, Tables};
use crate::os::testing::{params, place};
use crate::sysbench::Events;
use engine::recorder::Recorder;
use engine::workload::{ErrandKind, Finish, Place, Told, WorkError, Workload};
use model::host::HostFacts;
use model::params::Params;
use model::spec::{Amount, How};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tempfile::TempDir;

/// Parameters of a thousand rows.
pub(super) fn with(more: &[(&'static str, &'static str)]) -> Params {
    let small = [("table_size", "1000")];
    let all: Vec<(&str, &str)> = small.iter().chain(more).copied().collect();
    params(&OLTP, &all)
}

fn send(errand: ErrandKind, params: &Params, place: &Place) -> Result<Told, WorkError> {
    OLTP.errand(errand, params, place, &mut |_| ())
}

/// A place with tables, and a copy of them for one round.
pub(super) fn database(params: &Params) -> (TempDir, Place, PathBuf) {
    let (root, place) = made(params, 1);
    let (path, _) = tables::fresh(&Tables::of(params), &place).unwrap();
    (root, place, path)
}

pub(super) fn made(params: &Params, copies: u32) -> (TempDir, Place) {
    let (root, mut place) = place();
    place.copies = copies;
    assert!(send(ErrandKind::Make, params, &place).unwrap().holds);
    (root, place)
}

/// What a round of so many transactions reports.
fn round(params: &Params, copies: u32, ops: u64) -> Finish {
    let (_root, place) = made(params, copies);
    let mut body = OLTP.prepare(params, &place).unwrap();
    body.batch(10, &mut Recorder::off()).unwrap();
    body.measured_part_begins();
    assert!(body.batch(ops, &mut Recorder::off()).unwrap() >= ops);
    body.finish().unwrap()
}

#[test]
fn every_mix_works_with_one_client_and_with_several() {
    for word in Mix::WORDS {
        for (copies, tables, rows) in [(1, "1", "special"), (3, "2", "uniform")] {
            let params = with(&[
                ("mix", word),
                ("tables", tables),
                ("rows", rows),
                ("synchronous", "NORMAL"),
            ]);
            let finish = round(&params, copies, 60);
            let statements = finish.reported["statements"];
            let each = f64::from(Mix::of(word).statements());
            assert!(statements >= 60.0 * each, "{word} {statements}");
            assert!((statements / each).fract() < 1e-9, "{word} {statements}");
            let latencies = finish.latencies["lat"].count();
            assert!(latencies >= 60, "{word}: {latencies}");
            if copies == 1 {
                assert!(finish.reported["retries_per_transaction"] <= 0.0, "{word}");
                assert!(finish.notes.is_empty(), "{word}");
            }
            for metric in OLTP.metrics(&params) {
                let reported = match metric.how {
                    How::Reported(_) => metric.quantity,
                    How::Per(Amount::Reported(name), _) => name,
                    _ => continue,
                };
                assert!(finish.reported.contains_key(reported), "{word} {reported}");
            }
        }
    }
}

#[test]
fn readers_have_no_retries() {
    let has = |word: &'static str| {
        let metrics = OLTP.metrics(&with(&[("mix", word)]));
        metrics
            .iter()
            .any(|metric| metric.quantity.starts_with("retries"))
    };
    for word in Mix::WORDS {
        assert_eq!(has(word), Mix::of(word).writes(), "{word}");
    }
}

fn client(path: &Path, word: &str) -> (Client<Sqlite>, Arc<Counts>) {
    let session = Sqlite {
        path: path.to_owned(),
        tables: 1,
        synchronous: "NORMAL",
    };
    let setting = Setting {
        mix: Mix::of(word),
        course: Course::Closed,
        rows: Rows::new(Choice::Uniform, 1000),
        tables: 1,
        table_size: 1000,
        range_size: 100,
    };
    let counts: Arc<Counts> = Arc::default();
    let shared: Arc<Shared> = Arc::default();
    let client = Client::new(session, setting, shared, Arc::clone(&counts), (1, 0));
    (client, counts)
}

#[test]
fn a_refused_transaction_is_tried_again_and_counted_until_it_commits_once() {
    for word in ["write_only", "update_index"] {
        let (_root, _, path) = database(&with(&[]));
        let before = tables::survey(&path, 1).unwrap();
        let (mut client, counts) = client(&path, word);
        let other = sqlite::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = || counts.retries[0].load(Ordering::Relaxed);
        let changes = std::thread::scope(|scope| {
            let work = scope.spawn(move || {
                client.event().unwrap();
                client.end().unwrap();
                client.changes()
            });
            while refused() < 3 {
                std::thread::yield_now();
            }
            other.execute_batch("COMMIT").unwrap();
            work.join().unwrap()
        });
        assert!(refused() >= 3, "{word}");
        assert_eq!(counts.committed.load(Ordering::Relaxed), 1, "{word}");
        assert_eq!(changes.index_updates, 1, "{word}");
        let after = tables::survey(&path, 1).unwrap();
        assert_eq!(
            super::check::wrong(Mix::of(word), &before, &changes, &after),
            None
        );
    }
}

#[test]
fn the_log_has_its_length_before_anybody_writes_to_it() {
    let params = with(&[("mix", "update_non_index"), ("synchronous", "NORMAL")]);
    let (_root, place) = made(&params, 1);
    let mut body = OLTP.prepare(&params, &place).unwrap();
    let log = place.dir.join("oltp.db-wal");
    let bytes = || log.metadata().unwrap().len();
    assert_eq!(bytes(), tables::LOG_BYTES);
    // It is copied back several times, and stays as long.
    body.batch(3000, &mut Recorder::off()).unwrap();
    body.finish().unwrap();
    assert_eq!(bytes(), tables::LOG_BYTES);
}

#[test]
fn an_event_allocates_nothing_where_nobody_is_in_its_way() {
    for word in Mix::WORDS {
        let (_root, _, path) = database(&with(&[]));
        let (mut client, _) = client(&path, word);
        client.event().unwrap();
        // The fewest of several, because other tests of this process may allocate meanwhile.
        let of_twenty = |_| {
            let before = sys::alloc::allocations();
            for _ in 0..20 {
                client.event().unwrap();
            }
            sys::alloc::allocations() - before
        };
        assert_eq!((0..30).map(of_twenty).min(), Some(0), "{word}");
    }
}

/// What a round says whose tables somebody else changes by this statement, before and after its transactions.
fn tampered(word: &'static str, before: &str, after: &str) -> WorkError {
    let params = with(&[("mix", word), ("synchronous", "NORMAL")]);
    let (_root, place) = made(&params, 1);
    let mut body = OLTP.prepare(&params, &place).unwrap();
    let other = sqlite::open(&place.dir.join("oltp.db")).unwrap();
    other.execute_batch(before).unwrap();
    if let Err(error) = body.batch(20, &mut Recorder::off()) {
        return error;
    }
    other.execute_batch(after).unwrap();
    body.finish().map(|_| ()).unwrap_err()
}

#[test]
fn tables_and_answers_that_are_wrong_fail_the_round() {
    for (word, before, after, words) in [
        (
            "read_only",
            "",
            "DELETE FROM sbtest1 WHERE id=3",
            "999 rows in place of 1000",
        ),
        (
            "update_index",
            "",
            "UPDATE sbtest1 SET k=k+1 WHERE id=3",
            "the sum of `k` is",
        ),
        (
            "read_write",
            "",
            "UPDATE sbtest1 SET id=2000 WHERE id=1",
            "from 2 to 2000",
        ),
        (
            "insert",
            "",
            "DELETE FROM sbtest1 WHERE id=3",
            "rows in place of",
        ),
        (
            "point_select",
            "DELETE FROM sbtest1",
            "",
            "Point answered 0 rows",
        ),
        (
            "point_select",
            "UPDATE sbtest1 SET c='x'",
            "",
            "1 rows and 1 bytes of text",
        ),
        (
            "update_non_index",
            "DELETE FROM sbtest1",
            "",
            "UpdateNonIndex answered 0 rows",
        ),
    ] {
        let error = tampered(word, before, after);
        assert!(matches!(error, WorkError::Wrong(_)), "{word}: {error:?}");
        assert!(error.to_string().contains(words), "{word}: {error}");
    }
}

#[test]
fn the_tables_are_made_once_and_whole() {
    let (_root, place) = place();
    let params = with(&[("tables", "2")]);
    let holds = |errand| send(errand, &params, &place).unwrap().holds;
    assert!(!holds(ErrandKind::Check));
    let why = OLTP.prepare(&params, &place).err().unwrap().to_string();
    assert!(why.contains("not there in whole"), "{why}");
    assert!(holds(ErrandKind::Make) && holds(ErrandKind::Check));
    let tables = Tables::of(&params);
    let path = tables.path(&place);
    let held = tables::survey(&path, 2).unwrap();
    assert_eq!((held.rows, held.first, held.last), (2000, 1, 1000));
    // What is said before is about what it takes.
    let bytes = path.metadata().unwrap().len();
    assert!(
        bytes <= tables.bytes().0 && 2 * bytes > tables.bytes().0,
        "{bytes}"
    );
    assert_eq!(tables::damage(&path).unwrap(), None);
    // A round leaves it as it is.
    drop(OLTP.prepare(&params, &place).unwrap());
    assert!(holds(ErrandKind::Check));
    let other = sqlite::open(&path).unwrap();
    other
        .execute_batch("UPDATE sbtest2 SET pad='1' WHERE id=77")
        .unwrap();
    assert!(!holds(ErrandKind::Check));
    assert!(holds(ErrandKind::Make) && holds(ErrandKind::Check));
    // Killed before the note was written.
    std::fs::remove_file(path.with_file_name("complete")).unwrap();
    assert!(!holds(ErrandKind::Check));
    assert!(!holds(ErrandKind::Remove) && !path.parent().unwrap().exists());
}

#[test]
fn tables_that_cannot_be_made_are_told_with_what_was_done() {
    let (root, mut place) = place();
    place.run_dir = root.path().join("none");
    let why = send(ErrandKind::Make, &with(&[]), &place)
        .unwrap_err()
        .to_string();
    assert!(
        why.starts_with("make directory `") && why.contains("No such file"),
        "{why}"
    );
    // The directory of the round is gone.
    let (_root, mut place) = made(&with(&[]), 1);
    place.dir = place.dir.join("none");
    let why = OLTP.prepare(&with(&[]), &place).err().unwrap().to_string();
    assert!(why.contains("none"), "{why}");
}

#[test]
fn cases_of_the_same_tables_share_their_ground() {
    let ground = |more: &[(&'static str, &'static str)]| {
        OLTP.ground(&with(more), &HostFacts::default(), None)
    };
    let one = ground(&[]);
    assert!(one.is_some());
    assert_eq!(ground(&[("mix", "delete"), ("synchronous", "NORMAL")]), one);
    for other in [("tables", "2"), ("table_size", "2000"), ("rows", "uniform")] {
        assert_ne!(ground(&[other]), one);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (param, value) in [("range_size", "1001"), ("time", "100ms")] {
        let error = OLTP.check_params(&with(&[(param, value)])).unwrap_err();
        assert_eq!(error.param, param);
    }
    assert_eq!(OLTP.check_params(&with(&[])), Ok(()));
}

/// As for the crates of CPU tests: where this fails, raise the version of the workload and add a line.
#[test]
fn the_library_moves_only_with_the_version_of_the_workload() {
    let history = [(1, "SQLite 3.54.1")];
    let spec = OLTP.spec();
    let (_, library) = history
        .iter()
        .find(|(version, _)| *version == spec.version)
        .unwrap();
    assert_eq!(OLTP.implementation(&with(&[])).as_deref(), Some(*library));
}

#[test]
fn every_title_says_how_rows_are_chosen_and_how_durable_a_commit_is() {
    for test in OLTP.spec().tests {
        let params = Params::resolve(OLTP.spec(), test.params.iter().copied()).unwrap();
        let said = format!(
            ": {} rows, WAL, synchronous {}",
            params.text("rows"),
            params.text("synchronous")
        );
        assert!(test.title.ends_with(&said), "{}", test.title);
        let is_normal = params.text("synchronous") == "NORMAL";
        assert_eq!(test.name.ends_with("-normal"), is_normal, "{}", test.name);
    }
    let first = |name: &str| {
        let test = OLTP
            .spec()
            .tests
            .iter()
            .find(|test| test.name == name)
            .unwrap();
        OLTP.headline(&Params::resolve(OLTP.spec(), test.params.iter().copied()).unwrap())
    };
    assert!(first("db.oltp-read-write").is_some());
    assert!(first("db.oltp-read-write-normal").is_none() && first("db.insert").is_none());
}
