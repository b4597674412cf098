//! `db.tpcb` beside pgbench, on one PostgreSQL server: the same socket, scale, prepared statements and connections.
//!
//! Each side has a database of its own, whose tables are made anew before it is measured, with as many branches as
//! connections, so that they do not all wait for one. The CPU time is that of the client alone: ours of the measured
//! part, pgbench's of the whole process.

use super::Wanted;
use super::checks::Must;
use super::originals::{behind, cpu_seconds};
use super::pairs::{self, Line, Load, Own, Sides};
use crate::asked;
use anyhow::ensure;
use clap::Parser;
use std::fs;
use std::path::Path;
use workloads::db::address::{Address, Host};
use workloads::db::engines::Engine;
use xtask::process::{command, output, succeed};

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "pgbench";

/// How long each side measures.
const SECONDS: u32 = 5;

const TEST: &str = "db.tpcb";

/// Measure pgbench's transaction beside pgbench on a PostgreSQL server
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab crosscheck pgbench", no_binary_name = true)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// An empty database for our tables, such as `postgres:///ours?host=/run/postgresql`
    #[arg(long, value_name = "URL")]
    ours: String,
    /// An empty database of the same server for pgbench's; both let the user in without a password
    #[arg(long, value_name = "URL")]
    theirs: String,
}

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let own = Own::new(root, &options.wanted, WORD)?;
    let bench = Bench {
        ours: options.ours,
        to: libpq(&options.theirs)?,
        program: program(),
        own: &own,
    };
    let about = format!("{SECONDS} s each; as many branches as connections");
    let loads = [1, 4, 16].map(Connections);
    pairs::all(root, &options.wanted, (&own, &about), &loads, &bench)
}

/// So many.
struct Connections(u32);

impl Load for Connections {
    fn name(&self) -> String {
        format!("tpcb {}", self.0)
    }
}

/// The server in words of PostgreSQL's programs.
fn libpq(url: &str) -> anyhow::Result<String> {
    let Address {
        engine,
        user,
        host,
        port,
        database,
        ..
    } = pairs::address(url, "--theirs")?;
    ensure!(
        engine == Engine::Postgres,
        "pgbench does not speak to {}",
        engine.products()
    );
    let host = match &host {
        Host::Socket(path) => path.display().to_string(),
        Host::Name(name) => name.clone(),
    };
    Ok(format!("-h {host} -p {port} -U {user} {database}"))
}

/// The program itself: what Debian has in the path begins with a script, whose CPU time would count.
fn program() -> String {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let programs = versions.flatten().map(|one| one.path().join("bin/pgbench"));
    let found = programs.filter(|path| path.is_file()).max();
    found.map_or_else(|| WORD.to_owned(), |path| path.display().to_string())
}

struct Bench<'a> {
    ours: String,
    /// How pgbench reaches the server.
    to: String,
    program: String,
    own: &'a Own,
}

impl Sides<Connections> for Bench<'_> {
    fn lines(&self, load: &Connections) -> Vec<Line> {
        let name = load.name();
        vec![
            (format!("{name}, tps"), Must::Within(0.05)),
            (format!("{name}, per CPU second"), Must::AtLeast(0.95)),
            (format!("{name}, mean"), Must::Within(0.05)),
        ]
    }

    fn ours(
        &self,
        Connections(number): &Connections,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<Vec<f64>> {
        let sets = [
            ("time", format!("{SECONDS}s")),
            ("scale", number.to_string()),
        ];
        let round = self
            .own
            .round((TEST, *number, &["--db", &self.ours]), &sets, commands)?;
        Ok(vec![
            round.of("tps")?,
            1e9 / round.of("cpu_ns_per_op")?,
            round.of("lat_ns_mean")? / 1e6,
        ])
    }

    fn theirs(
        &self,
        Connections(number): &Connections,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<Vec<f64>> {
        let Self { program, to, .. } = self;
        // The server makes the rows, as ours.
        let make = format!("{program} -i -q -I dtGvp -s {number} {to}");
        succeed(command(&self.own.dir, "sh").args(["-c", &format!("{make} 2> /dev/null")]))?;
        let line = format!("{program} -M prepared -n -c {number} -j {number} -T {SECONDS} {to}");
        if !commands.contains(&line) {
            commands.extend([make, line.clone()]);
        }
        let text = self.own.timed(&line)?;
        let done = behind(&text, "number of transactions actually processed:")?;
        Ok(vec![
            behind(&text, "tps =")?,
            done / cpu_seconds(&text)?,
            behind(&text, "latency average =")?,
        ])
    }

    fn version(&self) -> String {
        let version = output(command(&self.own.dir, &self.program).arg("--version"));
        version.map_or_else(|_| self.program.clone(), |text| text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pgbench_reaches_the_server_that_an_address_names() {
        let found = libpq("postgres://bob@/theirs?host=/run/postgresql").unwrap();
        assert_eq!(found, "-h /run/postgresql -p 5432 -U bob theirs");
        assert!(libpq("postgres://bob:secret@db/theirs").is_err());
        assert!(libpq("mysql://bob@db/theirs").is_err());
    }
}
