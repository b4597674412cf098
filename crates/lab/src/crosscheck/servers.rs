//! Our transactions beside sysbench's, on one database server: the same settings, socket, tables and choice of rows.
//!
//! Each side has a database of its own, whose tables are made anew before it is measured: a PostgreSQL table whose rows
//! were changed is slower than a new one. Both are measured for as long, one after the other, in an order that changes
//! from pair to pair. The CPU time is that of the client alone: ours of the measured part, sysbench's of the whole
//! process, whose start takes some milliseconds.

use super::checks::{Must, Reported};
use super::originals::{self, behind, sysbench_figure};
use super::{Measured, Page, Wanted, floor, median_of};
use crate::asked;
use anyhow::{Context, bail, ensure};
use clap::Parser;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use workloads::db::address::{Address, Defaults, Host};
use workloads::db::engines::Engine;
use xtask::process::{command, output, succeed, target_dir};

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
    let wanted = options.wanted;
    let loads = LOADS.iter();
    let loads: Vec<&Load> = loads.filter(|load| wanted.has(&load.name())).collect();
    ensure!(!loads.is_empty(), "no load is called so");
    let dir = target_dir(root).join("crosscheck-servers");
    fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
    let bench = Bench {
        binary: asked::binary(root, wanted.binary.as_deref())?,
        theirs: Connection::of(&options.theirs)?,
        ours: options.ours,
        table_size: options.table_size,
        rand_type: options.rand_type,
        dir,
    };
    let mut page = Page::default();
    let version = output(command(&bench.dir, &bench.binary).arg("--version"))?;
    page.say(&format!(
        "{}; {} pairs of {SECONDS} s, in turn first and second; {}; {} rows, chosen `{}`",
        version.trim(),
        wanted.pairs,
        bench.theirs.server,
        bench.table_size,
        bench.rand_type
    ));
    page.heads();
    let mut takes = Vec::new();
    for load in loads {
        let measured = bench.measure(load, wanted.pairs)?;
        takes.push(bench.takes(load, &measured)?);
        for (line, measured) in &measured {
            page.add(&line.0, line.1, measured);
        }
        page.ran(&load.name(), &measured[0].1);
        if let Some(out) = &wanted.out {
            page.write(&root.join(out))?;
        }
    }
    page.say(TAKES);
    for line in takes {
        page.say(&line);
    }
    if let Some(out) = &wanted.out {
        page.write(&root.join(out))?;
    }
    say!("{}", page.commands());
    fs::remove_dir_all(&bench.dir).with_context(|| format!("remove `{}`", bench.dir.display()))
}

/// Transactions of one kind by so many connections.
#[derive(Debug)]
struct Load {
    /// Ours.
    test: &'static str,
    /// sysbench's.
    script: &'static str,
    threads: u32,
}

const fn load(test: &'static str, script: &'static str, threads: u32) -> Load {
    Load {
        test,
        script,
        threads,
    }
}

const LOADS: [Load; 6] = [
    load("db.oltp-read-write", "oltp_read_write", 1),
    load("db.oltp-read-write", "oltp_read_write", 4),
    load("db.oltp-read-write", "oltp_read_write", 16),
    load("db.point-select", "oltp_point_select", 1),
    load("db.point-select", "oltp_point_select", 4),
    load("db.point-select", "oltp_point_select", 16),
];

/// What a transaction takes of its client: beside it what the kernel takes of any client that sends the same messages.
const TAKES: &str = "\n| what | ours, CPU us | theirs | floor: the same messages to an echo | ours over floor | \
                     ours, share of the mean time |\n|---|---|---|---|---|---|";

/// What is compared, and what its ratio must be.
type Line = (String, Must);

impl Load {
    fn name(&self) -> String {
        format!("{} {}", self.script, self.threads)
    }

    /// Transactions a second, those of a CPU second of the client, and the time that 95 % do not exceed: sysbench's is
    /// the end of a bucket 1.8 % wide.
    fn lines(&self, driver: &str) -> [Line; 3] {
        let share = match (self.script, driver) {
            ("oltp_point_select", _) => 0.9,
            (_, "pgsql") => 0.85,
            _ => 0.75,
        };
        let name = self.name();
        [
            (format!("{name}, tps"), Must::AtLeast(0.98)),
            (
                format!("{name}, per CPU second"),
                Must::AtLeast((100.0_f64 / share).round() / 100.0),
            ),
            (format!("{name}, p95"), Must::Within(0.05)),
        ]
    }
}

/// How sysbench reaches a server.
struct Connection {
    driver: &'static str,
    arguments: String,
    server: &'static str,
}

impl Connection {
    fn of(url: &str) -> anyhow::Result<Self> {
        let typed = Address::read(url, &Defaults::default());
        let typed = typed.context("read the address behind `--theirs`")?;
        ensure!(typed.password.is_none(), "the server must ask for none");
        let Address {
            engine,
            user,
            host,
            port,
            database,
            tls,
        } = typed.address;
        ensure!(tls.is_none(), "both go without TLS");
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
            driver,
            arguments: format!(
                "--db-driver={driver} --{driver}-{host} --{driver}-port={port} --{driver}-user={user} \
                 --{driver}-db={database}"
            ),
            server: engine.products(),
        })
    }
}

struct Bench {
    binary: PathBuf,
    ours: String,
    theirs: Connection,
    table_size: u32,
    rand_type: String,
    dir: PathBuf,
}

/// What one run of ours came to.
struct Own {
    tps: f64,
    qps: f64,
    cpu_ns: f64,
    p95_ms: f64,
    mean_ns: f64,
}

impl Bench {
    fn measure(&self, load: &Load, pairs: u32) -> anyhow::Result<Vec<(Line, Measured)>> {
        let lines = load.lines(self.theirs.driver).into_iter();
        let mut all: Vec<(Line, Measured)> =
            lines.map(|line| (line, Measured::default())).collect();
        let mut commands = [Vec::new(), Vec::new()];
        for pair in 0..pairs {
            let [own, other] = &mut commands;
            let (ours, theirs) = if pair % 2 == 0 {
                let ours = self.ours(load, &self.ours, own)?;
                (ours, self.theirs(load, other)?)
            } else {
                let theirs = self.theirs(load, other)?;
                (self.ours(load, &self.ours, own)?, theirs)
            };
            let ours = [ours.tps, 1e9 / ours.cpu_ns, ours.p95_ms];
            for ((_, measured), values) in all.iter_mut().zip(ours.into_iter().zip(theirs)) {
                measured.pairs.push(values);
            }
        }
        let [ours, theirs] = commands;
        for (_, measured) in &mut all {
            measured.version = originals::version(&self.dir, "sysbench", "sysbench");
            (measured.ours, measured.theirs) = (ours.clone(), theirs.clone());
        }
        Ok(all)
    }

    /// The line of what a transaction takes.
    fn takes(&self, load: &Load, measured: &[(Line, Measured)]) -> anyhow::Result<String> {
        let cpu_us = |of: fn(&(f64, f64)) -> f64| {
            let per_second: Vec<f64> = measured[1].1.pairs.iter().map(of).collect();
            1e6 / stats::quantile::median(&per_second).unwrap_or(f64::NAN)
        };
        let (ours, theirs) = (cpu_us(|pair| pair.0), cpu_us(|pair| pair.1));
        let own = Address::read(&self.ours, &Defaults::default());
        let mut own = own.context("read the address behind `--ours`")?.address;
        let server = own.socket();
        let server = server
            .context("measure the floor: it is one of Unix sockets, and `--ours` names none")?;
        let at = match own.engine {
            Engine::Mysql => self.dir.join("relay"),
            _ => self.dir.clone(),
        };
        own.host = Host::Socket(at);
        let at = own.socket().context("name the relay")?;
        let mut through = None;
        let passed = floor::record(&at, &server, || {
            through = Some(self.ours(load, &own.to_string(), &mut Vec::new())?);
            Ok(())
        });
        fs::remove_file(&at).with_context(|| format!("remove `{}`", at.display()))?;
        let (passed, through) = (passed?, through.context("nothing was measured")?);
        let exchanges = through.qps / through.tps;
        let floor = floor::cpu_ns(&passed, load.threads)? * exchanges / 1e3;
        // The mean of a run that nothing relays.
        let direct = self.ours(load, &self.ours, &mut Vec::new())?;
        Ok(format!(
            "| {} | {ours:.1} | {theirs:.1} | {floor:.1} ({exchanges:.0} exchanges) | {:.2} | {:.0} % |",
            load.name(),
            ours / floor,
            100.0 * direct.cpu_ns / direct.mean_ns
        ))
    }

    fn ours(&self, load: &Load, url: &str, commands: &mut Vec<String>) -> anyhow::Result<Own> {
        let Load { test, threads, .. } = load;
        let mut run = command(&self.dir, &self.binary);
        run.args(["run", test, "--copies", &threads.to_string()]);
        let (size, rows) = (self.table_size.to_string(), self.rand_type.clone());
        for (name, value) in [
            ("time", format!("{SECONDS}s")),
            ("table_size", size),
            ("rows", rows),
        ] {
            run.args(["--set", &format!("{test}.{name}={value}")]);
        }
        run.args([
            "--passes", "1", "--json", "--quiet", "--db", url, "--store", "ours.db",
        ]);
        originals::note(commands, &run);
        let text = output(&mut run)?;
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(self.dir.join(format!("ours.db{end}")));
        }
        let document: Value = serde_json::from_str(&text).context("read our own document")?;
        let of = |name: &str| median_of(&document, &format!("{test}@{threads}:{name}"));
        Ok(Own {
            tps: of("tps")?,
            qps: of("qps")?,
            cpu_ns: of("cpu_ns_per_op")?,
            p95_ms: of("lat_ns_p95")? / 1e6,
            mean_ns: of("lat_ns_mean")?,
        })
    }

    fn theirs(&self, load: &Load, commands: &mut Vec<String>) -> anyhow::Result<[f64; 3]> {
        let Load {
            script, threads, ..
        } = load;
        let line = format!(
            "sysbench {script} {} --table_size={}",
            self.theirs.arguments, self.table_size
        );
        for word in ["cleanup", "prepare"] {
            succeed(command(&self.dir, "sh").args(["-c", &format!("{line} {word}")]))?;
        }
        let line = format!(
            "{line} --rand-type={} --threads={threads} --time={SECONDS} run",
            self.rand_type
        );
        if !commands.contains(&line) {
            commands.push(line.clone());
        }
        let line = format!("{line} && times");
        let text = output(command(&self.dir, "bash").args(["-c", &line]))?;
        Ok([
            sysbench_figure(&text, Reported::EventsOverTime(1.0))?,
            sysbench_figure(&text, Reported::EventsOverCpuTime(1.0))?,
            behind(&text, "95th percentile:")?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysbench_reaches_the_server_that_an_address_names() {
        let found = Connection::of("postgres://bob@/theirs?host=/run/postgresql").unwrap();
        assert_eq!(
            found.arguments,
            "--db-driver=pgsql --pgsql-host=/run/postgresql --pgsql-port=5432 --pgsql-user=bob --pgsql-db=theirs"
        );
        let found = Connection::of("mysql://bob@/theirs?socket=/run/mysqld/mysqld.sock").unwrap();
        assert_eq!(
            found.arguments,
            "--db-driver=mysql --mysql-socket=/run/mysqld/mysqld.sock --mysql-port=3306 --mysql-user=bob \
             --mysql-db=theirs"
        );
        assert!(Connection::of("postgres://bob:secret@db/theirs").is_err());
        assert!(Connection::of("redis://db/0").is_err());
    }

    #[test]
    fn every_load_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = LOADS.iter().map(Load::name).collect();
        assert_eq!(names.len(), LOADS.len());
    }
}
