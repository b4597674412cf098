//! Our requests beside redis-benchmark's, on one Redis or Valkey server: the same socket, connections, requests in a
//! write, bytes of a value and number of keys.
//!
//! Each side has a database of its own: ours in the one that the address names, redis-benchmark's in the next one. Its
//! keys are written before, so that its GETs find them as ours do. It does a number of requests and not a time: how
//! many it does in a second is asked first. The CPU time is that of the client alone: ours of the measured part, theirs
//! of the whole process, whose start takes some milliseconds.
//!
//! Its percentiles are shown and not judged: its clock does not run for as long as a request is under way
//! (docs/method/database.md).

use super::Wanted;
use super::checks::Must;
use super::originals::{self, cpu_seconds};
use super::pairs::{self, Line, Load, Own, Sides};
use crate::asked;
use anyhow::{Context, bail, ensure};
use clap::Parser;
use model::num::{approx, round_to_u64};
use std::path::Path;
use workloads::db::address::{Address, Host};
use workloads::db::engines::Engine;
use xtask::process::{command, succeed};

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "kv";

/// How many keys, and bytes of a value: what both take by default where redis-benchmark is asked for keys.
const KEYS: u32 = 100_000;
const BYTES: u32 = 3;

/// Measure GET and SET beside redis-benchmark on a Redis or Valkey server
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab crosscheck kv", no_binary_name = true)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// A server that asks for no password, and an empty database of it, such as `redis:///0?socket=/run/redis.sock`;
    /// the next database is redis-benchmark's, whose keys stay there
    #[arg(long, value_name = "URL")]
    db: String,
    /// How long each side measures, in seconds
    #[arg(long, default_value_t = 5)]
    seconds: u32,
}

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    ensure!(options.seconds > 0, "measure for 0 s: at least 1 is needed");
    let server = server_of(&options.db)?;
    let own = Own::new(root, &options.wanted, WORD)?;
    let bench = Bench {
        line: format!("redis-benchmark {server} -r {KEYS} -d {BYTES}"),
        url: options.db,
        seconds: options.seconds,
        own: &own,
    };
    // So many that hardly a key is left out; those are no errors to it.
    let fill = format!("{} -t set -n {} -P 100 -q", bench.line, 10 * KEYS);
    succeed(command(&own.dir, "sh").args(["-c", &format!("{fill} > /dev/null")]))?;
    let about = format!(
        "{} s each, {KEYS} keys, {BYTES} bytes; {}",
        bench.seconds,
        Engine::Redis.products()
    );
    pairs::all(root, &options.wanted, (&own, &about), &loads(), &bench)
}

/// How redis-benchmark reaches the server of this address, and the database behind the one that it names.
fn server_of(url: &str) -> anyhow::Result<String> {
    let Address {
        engine,
        host,
        port,
        database,
        ..
    } = pairs::address(url, "--db")?;
    if engine != Engine::Redis {
        bail!("redis-benchmark does not speak to {}", engine.products());
    }
    let host = match host {
        Host::Socket(path) => format!("-s {}", path.display()),
        Host::Name(name) => format!("-h {name} -p {port}"),
    };
    let next = database.parse::<u32>().context("read the database")? + 1;
    Ok(format!("{host} --dbnum {next}"))
}

/// Requests of one kind.
#[derive(Debug)]
struct Requests {
    kind: &'static str,
    connections: u32,
    pipeline: u32,
}

/// All of them.
fn loads() -> Vec<Requests> {
    let mut all = Vec::new();
    for kind in ["get", "set"] {
        for connections in [1, 4, 50] {
            for pipeline in [1, 16] {
                all.push(Requests {
                    kind,
                    connections,
                    pipeline,
                });
            }
        }
    }
    all
}

impl Load for Requests {
    fn name(&self) -> String {
        let Self {
            kind,
            connections,
            pipeline,
        } = self;
        format!("{kind} {connections} pipeline {pipeline}")
    }
}

struct Bench<'a> {
    /// redis-benchmark on the server.
    line: String,
    url: String,
    seconds: u32,
    own: &'a Own,
}

/// What redis-benchmark says in one line of values.
#[derive(Debug, PartialEq)]
struct Report {
    per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
}

impl Report {
    /// Reads its table: a line of names, and one of values.
    fn read(text: &str) -> anyhow::Result<Self> {
        let mut lines = text
            .lines()
            .skip_while(|line| !line.starts_with("\"test\""));
        let (names, values) = lines.next().zip(lines.next()).context("it has no table")?;
        let cells = |line: &'_ str| -> Vec<String> {
            line.split(',')
                .map(|cell| cell.trim_matches('"').to_owned())
                .collect()
        };
        let (names, values) = (cells(names), cells(values));
        let of = |name: &str| -> anyhow::Result<f64> {
            let place = names.iter().position(|own| own == name);
            let value = place.and_then(|place| values.get(place));
            let value = value.with_context(|| format!("the table has no `{name}`"))?;
            value
                .parse()
                .with_context(|| format!("`{value}` of `{name}` is no number"))
        };
        Ok(Self {
            per_s: of("rps")?,
            p50_ms: of("p50_latency_ms")?,
            p99_ms: of("p99_latency_ms")?,
        })
    }
}

impl Bench<'_> {
    /// One call of redis-benchmark, and the CPU time of its requests in seconds.
    fn call(
        &self,
        load: &Requests,
        requests: u64,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<(Report, f64)> {
        let Requests {
            kind,
            connections,
            pipeline,
        } = load;
        let line = format!(
            "{} -t {kind} -c {connections} -P {pipeline} --precision 3 --csv -n {requests}",
            self.line
        );
        if commands.is_empty() {
            commands.push(line.clone());
        }
        let text = self.own.timed(&line)?;
        Ok((Report::read(&text)?, cpu_seconds(&text)?))
    }
}

impl Sides<Requests> for Bench<'_> {
    fn lines(&self, load: &Requests) -> Vec<Line> {
        let line = |what: &str, must| (format!("{}, {what}", load.name()), must);
        vec![
            line("requests/s", Must::AtLeast(0.95)),
            line("per CPU second", Must::AtLeast(1.0)),
            line("p50", Must::Nothing),
            line("p99", Must::Nothing),
        ]
    }

    fn ours(&self, load: &Requests, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let test = format!("db.kv-{}", load.kind);
        let sets = [
            ("time", format!("{}s", self.seconds)),
            ("keys", KEYS.to_string()),
            ("data_size", BYTES.to_string()),
            ("pipeline", load.pipeline.to_string()),
        ];
        let round = self.own.round(
            (&test, load.connections, &["--db", &self.url]),
            &sets,
            commands,
        )?;
        Ok(vec![
            round.of("requests_per_s")?,
            1e9 / round.of("cpu_ns_per_op")?,
            round.of("lat_ns_p50")? / 1e6,
            round.of("lat_ns_p99")? / 1e6,
        ])
    }

    fn theirs(&self, load: &Requests, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let trial = u64::from(20_000 * load.pipeline);
        let (trial, _) = self.call(load, trial, &mut Vec::new())?;
        let requests = round_to_u64(trial.per_s * f64::from(self.seconds));
        let (report, cpu_s) = self.call(load, requests, commands)?;
        Ok(vec![
            report.per_s,
            approx(requests) / cpu_s,
            report.p50_ms,
            report.p99_ms,
        ])
    }

    fn version(&self) -> String {
        originals::version(&self.own.dir, "redis-benchmark", "redis-tools")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_benchmark_reaches_the_server_that_an_address_names() {
        let found = server_of("redis:///3?socket=/run/redis.sock").unwrap();
        assert_eq!(found, "-s /run/redis.sock --dbnum 4");
        let found = server_of("redis://cache:7").unwrap();
        assert_eq!(found, "-h cache -p 7 --dbnum 1");
        assert!(server_of("redis://:secret@cache/0").is_err());
        assert!(server_of("postgres://db/theirs").is_err());
    }

    #[test]
    fn every_load_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = loads().iter().map(Load::name).collect();
        assert_eq!(names.len(), 12);
    }

    #[test]
    fn its_table_is_read_by_the_names_of_its_columns() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\
                    \"p99_latency_ms\",\"max_latency_ms\"\n\
                    \"GET\",\"49164.21\",\"0.9\",\"0.1\",\"0.391\",\"1.0\",\"4.687\",\"9.0\"\n0m0.1s 0m0.1s\n";
        let read = Report::read(text).unwrap();
        let expected = Report {
            per_s: 49164.21,
            p50_ms: 0.391,
            p99_ms: 4.687,
        };
        assert_eq!(read, expected);
        assert!(Report::read("Could not connect").is_err());
        assert!(Report::read(&text.replace("rps", "other")).is_err());
    }
}
