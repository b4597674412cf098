//! What the program itself costs: per operation, per round, to start, in memory, on disk; and beside fio.
//!
//! Measures the static release binary (`cargo xtask dist` first) on the machine at hand, prints tables of markdown and
//! keeps the comparisons with fio for results/. It judges by the project's own limits and fails where one is broken, so
//! run it on a quiet machine: a busy one breaks them without any fault of the program.

mod beside;
mod many;
mod page;
mod queue;
mod side;
mod sleep;

use crate::asked;
use crate::truth::machine::Machine;
use anyhow::{Context, bail};
use beside::{COMPARISONS, Comparison, On};
use clap::Parser;
use model::num::approx;
use serde_json::Value;
use side::Side;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use sys::tree::Tree;
use xtask::process::{command, output, succeed, succeeds, target_dir};

/// What the program itself costs, and beside fio where it is installed.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab overhead", no_binary_name = true)]
struct Options {
    /// Comparisons with fio, by parts of their names [default: all]
    #[arg(value_name = "COMPARISON")]
    names: Vec<String>,
    /// What is measured
    #[arg(long, value_enum, default_value = "both")]
    part: Part,
    /// Pairs of each comparison
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Seconds of each side of a pair
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Size of the file, as fio takes it
    #[arg(long, default_value = "2g")]
    size: String,
    /// The file lies in a directory of this one [default: target/overhead]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Keep the comparisons in this directory [default: they are printed only]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure this binary [default: target/dist/kurabe]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Everything
    Both,
    /// What the program itself costs
    Own,
    /// Sleeps of a known length alone, which are part of `own`
    Sleep,
    /// The comparisons with fio
    Fio,
}

/// A measured figure and its limit.
struct Line {
    what: &'static str,
    value: f64,
    unit: &'static str,
    limit: Limit,
}

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// Anything.
    None,
    /// This at most.
    AtMost(f64),
    /// Not below the first and not above the second.
    Within(f64, f64),
}

impl Limit {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::None => true,
            Self::AtMost(most) => value <= most,
            Self::Within(least, most) => (least..=most).contains(&value),
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("-"),
            Self::AtMost(most) => write!(f, "{most}"),
            Self::Within(least, most) => write!(f, "{least:.2} to {most:.2}"),
        }
    }
}

/// Measures what `arguments` ask for.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let names: Vec<&str> = COMPARISONS.iter().map(|one| one.name).collect();
    let more = format!("\nComparisons: {}", names.join(", "));
    let Some(options) = asked::options::<Options>(arguments, &more)? else {
        return Ok(());
    };
    let comparisons = wanted(&options.names)?;
    let binary = asked::binary(root, options.binary.as_deref())?;
    let scratch = options
        .scratch
        .clone()
        .unwrap_or_else(|| target_dir(root).join("overhead"));
    let dir = scratch.join("kurabe-overhead");
    std::fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
    let mut broken = Vec::new();
    let mut attempt = || -> anyhow::Result<()> {
        let lines = match options.part {
            Part::Fio => Vec::new(),
            Part::Sleep => sleep::lines(&binary, &dir)?.into(),
            Part::Both | Part::Own => own_costs(root, &binary, &dir)?,
        };
        if !lines.is_empty() {
            print(&lines);
        }
        let over = lines.iter().filter(|line| !line.limit.holds(line.value));
        broken.extend(over.map(|line| line.what.to_owned()));
        if matches!(options.part, Part::Both | Part::Fio) {
            broken.extend(beside_fio(&options, &comparisons, &binary, &dir)?);
        }
        Ok(())
    };
    let done = attempt();
    std::fs::remove_dir_all(&dir).with_context(|| format!("remove `{}`", dir.display()))?;
    done?;
    if broken.is_empty() {
        return Ok(());
    }
    bail!(
        "not within the limit: {}\nhint: on a busy machine this says nothing; try again when it is quiet",
        broken.join("; ")
    )
}

fn wanted(names: &[String]) -> anyhow::Result<Vec<&'static Comparison>> {
    let all = || COMPARISONS.iter();
    if let Some(unknown) = names
        .iter()
        .find(|name| !all().any(|one| one.name.contains(name.as_str())))
    {
        let known: Vec<&str> = all().map(|one| one.name).collect();
        bail!(
            "no comparison is called `{unknown}`\nhint: there are {}",
            known.join(", ")
        );
    }
    let is_wanted = |one: &&Comparison| {
        names.is_empty() || names.iter().any(|name| one.name.contains(name.as_str()))
    };
    Ok(all().filter(is_wanted).collect())
}

/// Measures the comparisons, and says which figures are not what they must be.
fn beside_fio(
    options: &Options,
    comparisons: &[&Comparison],
    binary: &Path,
    dir: &Path,
) -> anyhow::Result<Vec<String>> {
    if !succeeds(command(dir, "fio").arg("--version")) {
        say!("not compared with fio: it is not installed (`apt-get install fio`)");
        return Ok(Vec::new());
    }
    let machine = Machine::ask(dir, binary, None)?;
    let mut facts = machine.facts();
    let version = output(command(dir, "fio").arg("--version"))?;
    facts.push(format!("fio: {}", version.trim()));
    facts.push(format!("date: {}", machine.date()));
    for fact in &facts {
        say!("- {fact}");
    }
    let file = dir.join("file");
    if comparisons.iter().any(|one| one.on != On::Nothing) {
        lay_out(dir, &file, &options.size)?;
    }
    let mut broken = Vec::new();
    for one in comparisons {
        if one.on == On::Cache {
            warm(&file)?;
        }
        let [ours, theirs] = sides(one, binary, dir, &file, &options.size);
        let lines = [("kurabe", &ours), ("fio", &theirs)]
            .map(|(name, side)| side.line(name, &file, options.seconds));
        say!("\n{}\n{}\n{}\n", one.what, lines[0], lines[1]);
        let measured = beside::measure([&ours, &theirs], dir, options.pairs, options.seconds)?;
        let verdicts = one.verdicts(&measured)?;
        let queues = one.queues(&measured);
        let record = page::record(
            one.what,
            &facts,
            &lines,
            &measured,
            queues.as_ref(),
            &verdicts,
        );
        say!("{}", page::tables(std::slice::from_ref(&record)));
        if let Some(out) = &options.out {
            std::fs::create_dir_all(out).with_context(|| format!("create `{}`", out.display()))?;
            page::write(out, one.name, &record)?;
        }
        let missed = verdicts.iter().filter(|found| found.held == Some(false));
        broken.extend(missed.map(|found| {
            let (figure, median) = (&found.figure, found.median);
            format!("{}, {figure}: {median:.3}, not {}", one.what, found.bound)
        }));
    }
    Ok(broken)
}

/// Both programs on one comparison: ours, and fio.
fn sides(one: &Comparison, binary: &Path, dir: &Path, file: &Path, size: &str) -> [Side; 2] {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut before: Vec<String> = words(&["fio", "--quiet"]);
    if one.writes() {
        before.push(format!("--overwrite-file={}", file.display()));
    }
    let store = dir.join("store.db").display().to_string();
    let [ours, theirs] = one.words(file, size);
    [
        Side {
            program: binary.to_owned(),
            environment: vec![("KURABE_STORE".to_owned(), store)],
            before,
            words: ours,
        },
        Side {
            program: "fio".into(),
            environment: Vec::new(),
            before: Vec::new(),
            words: theirs,
        },
    ]
}

/// Writes the file, every block of it.
fn lay_out(dir: &Path, file: &Path, size: &str) -> anyhow::Result<()> {
    succeed(
        command(dir, "fio")
            .args(["--name=layout", "--rw=write", "--bs=1m", "--direct=1"])
            .args(["--end_fsync=1", "--output=/dev/null"])
            .arg(format!("--size={size}"))
            .arg(format!("--filename={}", file.display())),
    )
}

/// Brings the part that is read from the page cache into it.
fn warm(file: &Path) -> anyhow::Result<()> {
    let open = File::open(file).with_context(|| format!("open `{}`", file.display()))?;
    std::io::copy(&mut open.take(beside::CACHED_BYTES), &mut std::io::sink())
        .with_context(|| format!("read `{}`", file.display()))?;
    Ok(())
}

/// Measures what the program itself costs.
fn own_costs(root: &Path, binary: &Path, dir: &Path) -> anyhow::Result<Vec<Line>> {
    let size = std::fs::metadata(binary)
        .context("look at the binary")?
        .len();
    let null = document(
        binary,
        dir,
        &["run", "selftest.null", "selftest.null-latency", "--json"],
    )?;
    let plain = plain_run(binary, dir)?;
    let mut lines = vec![
        Line {
            what: "harness, no latencies",
            value: value(&null, "selftest.null@1:ns_per_op")?,
            unit: "ns per operation",
            limit: Limit::AtMost(5.0),
        },
        Line {
            what: "harness, every latency recorded",
            value: value(&null, "selftest.null-latency@1:ns_per_op")?,
            unit: "ns per operation",
            limit: Limit::AtMost(40.0),
        },
        Line {
            what: "allocations while measuring",
            value: value(&null, "selftest.null@1:allocations")?
                + value(&null, "selftest.null-latency@1:allocations")?,
            unit: "in 9 rounds",
            limit: Limit::AtMost(0.0),
        },
        Line {
            what: "round, beside warm-up and measured part",
            value: round_overhead_ms(&plain)?,
            unit: "ms",
            limit: Limit::None,
        },
        Line {
            what: "clock rate that the sentinel sees",
            value: sentinel_ghz(&plain)?,
            unit: "GHz",
            limit: Limit::AtMost(10.0),
        },
        Line {
            what: "start (`kurabe --version`)",
            value: xtask::dist::start_ms(root, binary)?,
            unit: "ms",
            limit: Limit::AtMost(10.0),
        },
        Line {
            what: "largest resident memory of `run quick`",
            value: peak_mb(binary, dir)?,
            unit: "MB",
            limit: Limit::AtMost(64.0),
        },
        Line {
            what: "file",
            value: approx(size) / 1e6,
            unit: "MB",
            limit: Limit::AtMost(12.0),
        },
    ];
    lines.extend(many::lines(binary, dir, &plain.to_string())?);
    lines.extend(sleep::lines(binary, dir)?);
    Ok(lines)
}

fn print(lines: &[Line]) {
    say!("| what | measured | unit | limit |\n|---|---|---|---|");
    for line in lines {
        let Line {
            what,
            value,
            unit,
            limit,
        } = line;
        say!("| {what} | {value:.2} | {unit} | {limit} |");
    }
}

/// Runs the binary with a store of its own and reads the document that it prints.
fn document(binary: &Path, dir: &Path, args: &[&str]) -> anyhow::Result<Value> {
    let text = output(
        command(dir, binary)
            .args(args)
            .arg("--store")
            .arg(dir.join("store.db")),
    )?;
    serde_json::from_str(&text).context("read the program's own document")
}

fn value(document: &Value, id: &str) -> anyhow::Result<f64> {
    let metrics = document["metrics"]
        .as_array()
        .context("the document has no metrics")?;
    let metric = metrics.iter().find(|metric| metric["id"] == id);
    let metric = metric.with_context(|| format!("the document has no `{id}`"))?;
    // A metric that the noise made unstable still has rounds; their median is what is wanted here.
    let rounds: Vec<f64> = metric["rounds"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect();
    stats::quantile::median(&rounds).with_context(|| format!("`{id}` has no rounds"))
}

/// The effective clock rate in GHz that the sentinel of the shipped binary sees: a link-time optimiser that drops the
/// chain of additions shows up here as thousands.
fn sentinel_ghz(run: &Value) -> anyhow::Result<f64> {
    let rounds = run["run"]["rounds"]
        .as_array()
        .context("the export has no rounds")?;
    let add_ns: Vec<f64> = rounds
        .iter()
        .filter_map(|round| round["noise"]["before"]["add_ns"].as_f64())
        .collect();
    let median = stats::quantile::median(&add_ns).context("the export has no sentinel")?;
    Ok(1.0 / median)
}

/// The run that is looked at for what a round costs beside its work.
fn plain_run(binary: &Path, dir: &Path) -> anyhow::Result<Value> {
    document(binary, dir, &["run", "os.pipe", "--json", "--passes", "15"])?;
    export(binary, dir)
}

/// The last run, as it is kept.
fn export(binary: &Path, dir: &Path) -> anyhow::Result<Value> {
    let text = output(
        command(dir, binary)
            .args(["export", "--store"])
            .arg(dir.join("store.db")),
    )?;
    serde_json::from_str(&text).context("read an export")
}

/// The median of what a round took beside the 600 ms of warm-up and measured part.
fn round_overhead_ms(run: &Value) -> anyhow::Result<f64> {
    let rounds = run["run"]["rounds"]
        .as_array()
        .context("the export has no rounds")?;
    let took: Vec<f64> = rounds
        .iter()
        .filter_map(|round| round["took"].as_f64())
        .collect();
    let median = stats::quantile::median(&took).context("the export has no durations")?;
    Ok(median / 1e6 - 600.0)
}

/// The largest resident set of the supervisor during one pass of `quick`, as the kernel keeps it (`VmHWM`).
fn peak_mb(binary: &Path, dir: &Path) -> anyhow::Result<f64> {
    let mut child = command(dir, binary)
        .args(["run", "quick", "--passes", "1", "--quiet", "--store"])
        .arg(dir.join("store.db"))
        .stdout(Stdio::null())
        .spawn()
        .context("start a run")?;
    let path = format!("/proc/{}/status", child.id());
    let mut peak_kb = None;
    while child.try_wait().context("wait for the run")?.is_none() {
        let status = Tree::real().read(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak_kb = peak_kb.max(now);
        sys::clock::sleep(20_000_000);
    }
    Ok(approx(peak_kb.context("the kernel does not tell the run's memory")?) * 1024.0 / 1e6)
}
