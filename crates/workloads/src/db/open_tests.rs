//! Transactions that arrive by themselves, and the search for their highest rate, on small tables.

use super::SLO;
use super::oltp::OLTP;
use super::sqlite;
use super::tests::{made, with};
use engine::recorder::{Latencies, Recorder};
use engine::workload::{ErrandKind, Finish, Workload};
use model::latency::{mean, quantile};
use model::num::approx;
use model::spec::How;
use std::path::Path;
use std::time::Duration;
use sys::clock::monotonic;

/// The database is locked by another connection for so long, from now on.
fn lock(path: &Path, time: Duration) {
    let other = sqlite::open(path).unwrap();
    while other.execute_batch("BEGIN IMMEDIATE").is_err() {}
    std::thread::sleep(time);
    other.execute_batch("COMMIT").unwrap();
}

/// A round of two seconds and a bit in which so many transactions a second arrive, and the database stands still for
/// 0.4 s; how long it really took, in seconds.
fn stopped(rate: &'static str) -> (Finish, f64) {
    let params = with(&[
        ("mix", "update_non_index"),
        ("synchronous", "NORMAL"),
        ("rate", rate),
    ]);
    let (_root, place) = made(&params, 2);
    let mut body = OLTP.prepare(&params, &place).unwrap();
    body.batch(10, &mut Recorder::off()).unwrap();
    body.measured_part_begins();
    let begin = monotonic();
    let path = place.dir.join("oltp.db");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            lock(&path, Duration::from_millis(400));
        });
        while monotonic() - begin < 2_000_000_000 {
            body.batch(20, &mut Recorder::off()).unwrap();
        }
    });
    let seconds = approx(monotonic() - begin) / 1e9;
    (body.finish().unwrap(), seconds)
}

fn p999(latencies: &Latencies) -> f64 {
    approx(quantile(&latencies.pairs(), 0.999).unwrap())
}

/// Whoever arrives x after the beginning of a stop of D waits for its rest and for those before him: D - x (1 - load).
/// Of arrivals in a time of T the share q waits longer than D - q T (1 - load): p99.9 of 2 s is 0.4 s less 2 ms at
/// most.
#[test]
fn a_database_that_stands_still_shows_in_all_that_arrived_meanwhile() {
    let within = || {
        let (finish, seconds) = stopped("6000");
        let of = |name: &str| &finish.latencies[name];
        // Nothing that arrived is missing: random numbers differ by their root.
        let expected = 6000.0 * seconds;
        let found = approx(of("lat").count());
        assert!(
            (found - expected).abs() < 6.0 * expected.sqrt(),
            "{found} {expected}"
        );
        assert!(found > 10_000.0, "ten are beyond p99.9");
        // To wait for the database is no lateness of this program.
        let each = |name: &str| mean(&of(name).pairs()).unwrap();
        assert!(
            each("lag") > 10.0 * each("late"),
            "{} {}",
            each("lag"),
            each("late")
        );
        let p999 = p999(of("lat"));
        (0.9 * 0.398e9..1.1 * 0.4e9).contains(&p999)
    };
    // On a busy machine a lock is held for longer than it was to be.
    assert!((0..5).any(|_| within()));
}

#[test]
fn what_only_arrivals_have_is_told_with_a_rate_alone() {
    let has = |rate: &'static str| {
        let metrics = OLTP.metrics(&with(&[("rate", rate)]));
        ["lag_ns_mean", "lag_ns_max", "late_ns_mean", "lat_ns_p999"]
            .map(|name| metrics.iter().any(|metric| metric.quantity == name))
    };
    assert_eq!((has("0"), has("5")), ([false; 4], [true; 4]));
}

#[test]
fn more_than_can_be_done_is_said_and_what_waits_at_the_end_counts() {
    let (finish, seconds) = stopped("2000000");
    let lat = &finish.latencies["lat"];
    // No database does two million a second: most of them have waited to the end.
    assert!(
        approx(lat.count()) > 1.8e6 * seconds,
        "{} in {seconds} s",
        lat.count()
    );
    assert!(p999(lat) > 0.9e9 * seconds);
    assert_eq!(finish.notes.len(), 1, "{:?}", finish.notes);
    assert!(finish.notes[0].starts_with("more arrived than could be done"));
}

#[test]
fn the_highest_rate_of_a_database_is_below_what_it_does_at_once() {
    let params = crate::os::testing::params(
        &SLO,
        &[
            ("table_size", "1000"),
            ("mix", "point_select"),
            ("limit", "p99:5ms"),
            ("time", "500ms"),
        ],
    );
    let (_root, mut place) = crate::os::testing::place();
    place.copies = 2;
    let made = SLO.errand(ErrandKind::Make, &params, &place, &mut |_| ());
    assert!(made.unwrap().holds);
    let mut body = SLO.prepare(&params, &place).unwrap();
    let steps = body.batch(100, &mut Recorder::off()).unwrap();
    assert!((3..20).contains(&steps), "{steps}");
    let finish = body.finish().unwrap();
    let of = |name: &str| finish.reported.get(name).copied();
    let (held, closed) = (of("held_tps").unwrap(), of("closed_tps").unwrap());
    assert!(
        held > 0.05 * closed && held <= 2.0 * closed,
        "{held} {closed}"
    );
    assert!(of("held_lat_ns").unwrap() <= 5.1e6);
    assert!(finish.notes.is_empty(), "{:?}", finish.notes);
    assert!(of("above_tps").is_none_or(|above| above > held));
    for metric in SLO.metrics(&params) {
        match metric.how {
            How::Reported(_) => assert!(
                of(metric.quantity).is_some() || finish.missing.contains_key(metric.quantity),
                "{}",
                metric.quantity
            ),
            How::Of(name, _) => assert!(finish.latencies[name].count() > 0, "{name}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_limit_that_is_none_is_refused_and_tables_are_shared() {
    let params = |limit| crate::os::testing::params(&SLO, &[("limit", limit)]);
    assert_eq!(SLO.check_params(&params("p99:20ms")), Ok(()));
    let error = SLO.check_params(&params("20ms")).unwrap_err();
    assert_eq!(error.param, "limit");
    let host = model::host::HostFacts::default();
    assert_eq!(
        SLO.ground(&params("p99:20ms"), &host, None),
        OLTP.ground(&crate::os::testing::params(&OLTP, &[]), &host, None)
    );
}
