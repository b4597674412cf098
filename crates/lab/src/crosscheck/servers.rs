//! Our transactions beside sysbench's, on one database server: the same settings, socket, tables and choice of rows.
//!
//! Each side has a database of its own, whose tables are made anew before it is measured: a PostgreSQL table whose rows
//! were changed is slower than a new one. Both are measured for as long, one after the other, in an order that changes
//! from pair to pair. The CPU time is that of the client alone: ours of the measured part, sysbench's of the whole
//! process, whose start takes some milliseconds.

use super::checks::{Must, Reported};
use super::floor::Echo;
use super::originals::{self, behind, sysbench_figure};
use super::pairs::{self, Line, Load, Own, Round, Sides};
use super::{Measured, Wanted, floor, relay, replay};
use crate::asked;
use anyhow::{Context, bail, ensure};
use clap::Parser;
use model::num::round_to_u64;
use std::fs;
use std::path::Path;
use workloads::db::address::{Address, Host};
use workloads::db::engines::Engine;
use xtask::process::{command, succeed};

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "servers";

/// How long each side measures.
const SECONDS: u32 = 5;

/// Measure transactions beside sysbench's on a database server
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab crosscheck servers", no_binary_name = true)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// An empty database for our tables, such as `postgres:///ours?host=/run/postgresql`
    #[arg(long, value_name = "URL")]
    ours: String,
    /// An empty database of the same server for sysbench's; both let the user in without a password
    #[arg(long, value_name = "URL")]
    theirs: String,
    /// Rows of the table on both sides
    #[arg(long, default_value_t = 10_000)]
    table_size: u32,
    /// How both sides choose rows: `special` or `uniform`
    #[arg(long, default_value = "special")]
    rand_type: String,
}

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let own = Own::new(root, &options.wanted, WORD)?;
    let bench = Bench {
        theirs: Connection::of(&options.theirs, "--theirs")?,
        ours: options.ours,
        table_size: options.table_size,
        rand_type: options.rand_type,
        own: &own,
    };
    let about = format!(
        "{SECONDS} s each; {}; {} rows, chosen `{}`",
        bench.theirs.server, bench.table_size, bench.rand_type
    );
    pairs::all(root, &options.wanted, (&own, &about), &LOADS, &bench)
}

/// Transactions of one kind by so many connections.
#[derive(Debug)]
struct Transactions {
    /// Ours.
    test: &'static str,
    /// sysbench's.
    script: &'static str,
    threads: u32,
}

const fn load(test: &'static str, script: &'static str, threads: u32) -> Transactions {
    Transactions {
        test,
        script,
        threads,
    }
}

const LOADS: [Transactions; 6] = [
    load("db.oltp-read-write", "oltp_read_write", 1),
    load("db.oltp-read-write", "oltp_read_write", 4),
    load("db.oltp-read-write", "oltp_read_write", 16),
    load("db.point-select", "oltp_point_select", 1),
    load("db.point-select", "oltp_point_select", 4),
    load("db.point-select", "oltp_point_select", 16),
];

impl Load for Transactions {
    fn name(&self) -> String {
        format!("{} {}", self.script, self.threads)
    }
}

/// How sysbench reaches a server.
struct Connection {
    engine: Engine,
    driver: &'static str,
    arguments: String,
    server: &'static str,
}

impl Connection {
    fn of(url: &str, option: &str) -> anyhow::Result<Self> {
        let Address {
            engine,
            user,
            host,
            port,
            database,
            ..
        } = pairs::address(url, option)?;
        let driver = match engine {
            Engine::Postgres => "pgsql",
            Engine::Mysql => "mysql",
            Engine::Redis => bail!("sysbench does not speak to {}", engine.products()),
        };
        let host = match host {
            Host::Socket(path) if engine == Engine::Mysql => format!("socket={}", path.display()),
            Host::Socket(path) => format!("host={}", path.display()),
            Host::Name(name) => format!("host={name}"),
        };
        Ok(Self {
            engine,
            driver,
            arguments: format!(
                "--db-driver={driver} --{driver}-{host} --{driver}-port={port} --{driver}-user={user} \
                 --{driver}-db={database}"
            ),
            server: engine.products(),
        })
    }
}

struct Bench<'a> {
    ours: String,
    theirs: Connection,
    table_size: u32,
    rand_type: String,
    own: &'a Own,
}

impl Bench<'_> {
    fn round(
        &self,
        load: &Transactions,
        url: &str,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<Round> {
        let sets = [
            ("time", format!("{SECONDS}s")),
            ("table_size", self.table_size.to_string()),
            ("rows", self.rand_type.clone()),
        ];
        let Transactions { test, threads, .. } = load;
        self.own
            .round((test, *threads, &["--db", url]), &sets, commands)
    }

    /// sysbench's command line without its word.
    fn line(&self, connection: &Connection, script: &str) -> String {
        let size = self.table_size;
        format!(
            "sysbench {script} {} --table_size={size}",
            connection.arguments
        )
    }

    /// Makes or removes sysbench's tables.
    fn tables(
        &self,
        connection: &Connection,
        load: &Transactions,
        words: &[&str],
    ) -> anyhow::Result<()> {
        let line = self.line(connection, load.script);
        let mut lines = words.iter().map(|word| format!("{line} {word}"));
        lines.try_for_each(|line| succeed(command(&self.own.dir, "sh").args(["-c", &line])))
    }

    /// CPU time of a transaction, in us, of clients that send what passed and do nothing else: to the server itself,
    /// where sysbench makes tables as ours were.
    fn replayed(
        &self,
        load: &Transactions,
        server: &Path,
        talks: &[relay::Talk],
    ) -> anyhow::Result<f64> {
        let ours = Connection::of(&self.ours, "--ours")?;
        ensure!(ours.engine == Engine::Mysql, "of MySQL alone");
        let threads = usize::try_from(load.threads)?;
        let talks = talks.get(..threads).context("a connection is missing")?;
        let took = self
            .tables(&ours, load, &["cleanup", "prepare"])
            .and_then(|()| replay::takes(server, talks));
        let gone = self.tables(&ours, load, &["cleanup"]);
        took.and_then(|took| gone.map(|()| took / 1e3))
    }
}

impl Sides<Transactions> for Bench<'_> {
    /// Transactions a second, those of a CPU second of the client, and the time that 95 % do not exceed: sysbench's is
    /// the end of a bucket 1.8 % wide.
    fn lines(&self, load: &Transactions) -> Vec<Line> {
        let share = match (load.script, self.theirs.driver) {
            ("oltp_point_select", _) => 0.9,
            (_, "pgsql") => 0.85,
            _ => 0.75,
        };
        let name = load.name();
        vec![
            (format!("{name}, tps"), Must::AtLeast(0.98)),
            (
                format!("{name}, per CPU second"),
                Must::AtLeast((100.0_f64 / share).round() / 100.0),
            ),
            (format!("{name}, p95"), Must::Within(0.05)),
        ]
    }

    fn ours(&self, load: &Transactions, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let round = self.round(load, &self.ours, commands)?;
        Ok(vec![
            round.of("tps")?,
            1e9 / round.of("cpu_ns_per_op")?,
            round.of("lat_ns_p95")? / 1e6,
        ])
    }

    fn theirs(&self, load: &Transactions, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let Transactions {
            script, threads, ..
        } = load;
        let line = self.line(&self.theirs, script);
        self.tables(&self.theirs, load, &["cleanup", "prepare"])?;
        let line = format!(
            "{line} --rand-type={} --threads={threads} --time={SECONDS} run",
            self.rand_type
        );
        if !commands.contains(&line) {
            commands.push(line.clone());
        }
        let text = self.own.timed(&line)?;
        Ok(vec![
            sysbench_figure(&text, Reported::EventsOverTime(1.0))?,
            sysbench_figure(&text, Reported::EventsOverCpuTime(1.0))?,
            behind(&text, "95th percentile:")?,
        ])
    }

    /// The messages of one round pass a relay, and are played to an echo, and whole transactions to the server itself.
    /// The last share is of a round that nothing relays.
    fn takes(
        &self,
        load: &Transactions,
        measured: &[(Line, Measured)],
    ) -> anyhow::Result<Option<String>> {
        let cpu_us = |of: fn(&(f64, f64)) -> f64| {
            let per_second: Vec<f64> = measured[1].1.pairs.iter().map(of).collect();
            1e6 / stats::quantile::median(&per_second).unwrap_or(f64::NAN)
        };
        let (ours, theirs) = (cpu_us(|pair| pair.0), cpu_us(|pair| pair.1));
        let mut own = pairs::address(&self.ours, "--ours")?;
        let Some(server) = own.socket() else {
            return Ok(None);
        };
        own.host = Host::Socket(match own.engine {
            Engine::Mysql => self.own.dir.join("relay"),
            _ => self.own.dir.clone(),
        });
        let at = own.socket().context("name the relay")?;
        let mut through = None;
        let talks = relay::record(&at, &server, || {
            through = Some(self.round(load, &own.to_string(), &mut Vec::new())?);
            Ok(())
        });
        let (talks, through) = (talks?, through.context("nothing was measured")?);
        fs::remove_file(&at).with_context(|| format!("remove `{}`", at.display()))?;
        let passed = floor::sizes(&talks[0]);
        let exchanges = through.of("qps")? / through.of("tps")?;
        let direct = self.round(load, &self.ours, &mut Vec::new())?;
        let at = self.own.dir.join("echo");
        let floor = |like| floor::takes(&at, &passed, load.threads, like);
        let idle = floor(Echo::default())?;
        let mut like = Echo {
            busy: round_to_u64(direct.of("server_cpu_ns_per_op")? / exchanges),
            ..Echo::default()
        };
        let busy = floor(like)?;
        // What is left of a transaction's time the server waits, for the disk and for others.
        like.every = round_to_u64(exchanges);
        like.sleeps = round_to_u64(direct.of("lat_ns_mean")? - busy.wall * exchanges);
        let waits = floor(like)?;
        let [idle, busy, waits] = [idle, busy, waits].map(|took| took.cpu * exchanges / 1e3);
        let itself = match self.replayed(load, &server, &talks) {
            Ok(itself) => format!(
                "{itself:.1} | {:.2} | {:.2}",
                ours / itself,
                itself / theirs
            ),
            Err(why) => format!("missing: {why:#} | |"),
        };
        Ok(Some(format!(
            "| {} | {ours:.1} | {theirs:.1} | {idle:.1} ({exchanges:.0} exchanges) | {busy:.1} | {waits:.1} | {:.2} \
             | {itself} | {:.0} % |",
            load.name(),
            ours / waits,
            100.0 * direct.of("cpu_ns_per_op")? / direct.of("lat_ns_mean")?
        )))
    }

    fn version(&self) -> String {
        originals::version(&self.own.dir, "sysbench", "sysbench")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysbench_reaches_the_server_that_an_address_names() {
        let of = |url| Connection::of(url, "--theirs");
        let found = of("postgres://bob@/theirs?host=/run/postgresql").unwrap();
        assert_eq!(
            found.arguments,
            "--db-driver=pgsql --pgsql-host=/run/postgresql --pgsql-port=5432 --pgsql-user=bob --pgsql-db=theirs"
        );
        let found = of("mysql://bob@/theirs?socket=/run/mysqld/mysqld.sock").unwrap();
        assert_eq!(
            found.arguments,
            "--db-driver=mysql --mysql-socket=/run/mysqld/mysqld.sock --mysql-port=3306 --mysql-user=bob \
             --mysql-db=theirs"
        );
        assert!(of("postgres://bob:secret@db/theirs").is_err());
        assert!(of("redis://db/0").is_err());
    }

    #[test]
    fn every_load_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = LOADS.iter().map(Load::name).collect();
        assert_eq!(names.len(), LOADS.len());
    }
}
