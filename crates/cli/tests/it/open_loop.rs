//! Transactions that arrive by themselves at a PostgreSQL server of the test's own, which is stopped for a known time.

use crate::bed::{Bed, Done, eventually, program};
use crate::postgres::Server;
use std::path::Path;
use std::time::Duration;

/// Processes of a server, stopped until this is dropped.
struct Stopped(Vec<String>);

/// Whoever works in a directory that nobody else works in.
fn processes(dir: &Path) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let works = all.filter(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    });
    let pids = works.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| pid.parse::<u32>().is_ok_and(|pid| pid > 1))
        .collect()
}

fn send(name: &str, pids: &[String]) {
    program("kill").arg(name).args(pids).output().unwrap();
}

impl Stopped {
    fn all_of(server: &Server) -> Self {
        let pids = processes(&server.data());
        assert!(pids.len() > 4, "{pids:?}");
        send("-STOP", &pids);
        Self(pids)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        send("-CONT", &self.0);
    }
}

/// The value of a metric of the only case of a page for programs.
fn value(page: &serde_json::Value, quantity: &str) -> f64 {
    let metrics = page["metrics"].as_array().unwrap();
    let metric = metrics.iter().find(|one| one["quantity"] == quantity);
    let metric = metric.unwrap_or_else(|| panic!("{quantity}"));
    metric["estimate"]
        .as_f64()
        .unwrap_or_else(|| panic!("{metric:#}"))
}

/// What p99.9 is, in seconds, in one round of so many seconds in which the server is stopped for a while.
fn p999(seconds: u32, stop: Duration, rate: u32) -> Option<f64> {
    const CLIENTS: &str = "4";
    let server = Server::start("a_server_that_is_stopped", &[])?;
    let bed = Bed::new();
    let url = server.socket("shop");
    let (rate, time) = (format!("db.*.rate={rate}"), format!("db.*.time={seconds}s"));
    let args = [
        "run",
        "db.point-select",
        "--passes",
        "1",
        "--copies",
        CLIENTS,
        "--db",
        &url,
        "--set",
        "db.*.table_size=1000",
        "--set",
        &rate,
        "--set",
        &time,
        "--json",
    ];
    let child = bed.start(&args);
    let clients = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> \
                   pg_backend_pid()";
    // The clients, the connection that made the tables, and the one that has the database for the run.
    eventually(60, || server.ask("shop", clients) == "6");
    std::thread::sleep(Duration::from_secs(u64::from(seconds) / 3 + 1));
    let stopped = Stopped::all_of(&server);
    std::thread::sleep(stop);
    drop(stopped);
    let done = Done::from(child.wait_with_output().unwrap()).code(0);
    let page: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    // To wait for the server is no lateness of the program.
    assert!(value(&page, "late_ns_mean") < value(&page, "lag_ns_mean"));
    assert!(!done.out.contains("more arrived than could be done"));
    Some(value(&page, "lat_ns_p999") / 1e9)
}

/// Of the arrivals of T seconds a thousandth waited longer than D - 0.001 T (1 - load), whatever the load.
fn is_as_arithmetic_says(seconds: u32, stop: Duration, rate: u32) {
    let Some(p999) = p999(seconds, stop, rate) else {
        return;
    };
    let least = stop.as_secs_f64() - 0.001 * f64::from(seconds);
    assert!(
        p999 > 0.9 * least && p999 < 1.1 * stop.as_secs_f64(),
        "{p999} s where {stop:?} of {seconds} s were stopped"
    );
}

#[test]
fn a_server_that_is_stopped_shows_in_the_tail() {
    is_as_arithmetic_says(7, Duration::from_secs(1), 2000);
}

#[test]
fn the_highest_rate_within_a_limit_is_searched_on_a_server() {
    let Some(server) = Server::start("the_highest_rate_within_a_limit", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket("shop");
    let run = |limit: &str| {
        let limit = format!("db.oltp-slo.limit={limit}");
        let args = [
            "run",
            "db.oltp-slo",
            "--passes",
            "1",
            "--copies",
            "2",
            "--db",
            &url,
            "--set",
            "db.oltp-slo.table_size=1000",
            "--set",
            "db.oltp-slo.time=500ms",
            "--set",
            "db.oltp-slo.mix=read_only",
            "--set",
            &limit,
            "--json",
        ];
        bed.run(&args)
    };
    let done = run("p90:50ms").code(0);
    let page: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert!(value(&page, "held_tps") > 0.2 * value(&page, "closed_tps"));
    assert!(value(&page, "held_lat_ns") <= 50.5e6);
    let title = page["run"]["plan"]["cases"][0]["title"].as_str().unwrap();
    assert!(
        title.starts_with("PostgreSQL, ") && title.ends_with("within p90:50ms"),
        "{title}"
    );
    // Twenty trips to a server take longer.
    let never = run("p99:20us");
    assert!(
        never
            .out
            .contains("`p99:20us` is not kept at 17 transactions a second"),
        "{never:#?}"
    );
    assert_eq!(
        server.ask("shop", "SELECT to_regclass('sbtest1') IS NULL"),
        "t"
    );
    run("20ms").code(2).err_has(&["p99:20ms"]);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: a round of a minute"]
    fn a_server_that_is_stopped_for_two_seconds_of_a_minute_shows_in_p999() {
        is_as_arithmetic_says(60, Duration::from_secs(2), 2000);
    }
}
