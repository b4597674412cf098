//! What the program itself costs: per operation, per round, to start, in memory, on disk.
//!
//! Measures the static release binary (`cargo xtask dist` first) on the machine at hand and prints a page of markdown
//! for results/. It judges by the project's own limits and fails where one is broken, so run it on a quiet machine:
//! a busy one breaks them without any fault of the program.

use crate::process::{command, output, target_dir};
use anyhow::{Context, bail, ensure};
use model::num::approx;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use sys::tree::Tree;

/// A measured figure and its limit.
struct Line {
    what: &'static str,
    value: f64,
    unit: &'static str,
    limit: Option<f64>,
}

/// Measures everything and prints the page.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let binary = target_dir(root).join("dist/kurabe");
    ensure!(
        binary.is_file(),
        "measure `{}`: it is not there\nhint: `cargo xtask dist` builds it",
        binary.display()
    );
    let dir = target_dir(root).join("overhead");
    std::fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
    let size = std::fs::metadata(&binary)
        .context("look at the binary")?
        .len();
    let null = document(
        &binary,
        &dir,
        &["run", "selftest.null", "selftest.null-latency", "--json"],
    )?;
    let sleep = document(&binary, &dir, &["run", "selftest.sleep", "--json"])?;
    let plain = plain_run(&binary, &dir)?;
    let lines = [
        Line {
            what: "harness, no latencies",
            value: value(&null, "selftest.null@1:ns_per_op")?,
            unit: "ns per operation",
            limit: Some(5.0),
        },
        Line {
            what: "harness, every latency recorded",
            value: value(&null, "selftest.null-latency@1:ns_per_op")?,
            unit: "ns per operation",
            limit: Some(40.0),
        },
        Line {
            what: "allocations while measuring",
            value: value(&null, "selftest.null@1:allocations")?
                + value(&null, "selftest.null-latency@1:allocations")?,
            unit: "in 9 rounds",
            limit: Some(0.0),
        },
        Line {
            what: "median latency of a sleep of 4 ms",
            value: value(&sleep, "selftest.sleep@1:lat_ns_p50")? / 1e6,
            unit: "ms",
            limit: Some(4.08),
        },
        Line {
            what: "round, beside warm-up and measured part",
            value: round_overhead_ms(&plain)?,
            unit: "ms",
            limit: None,
        },
        Line {
            what: "clock rate that the sentinel sees",
            value: sentinel_ghz(&plain)?,
            unit: "GHz",
            limit: Some(10.0),
        },
        Line {
            what: "start (`kurabe --version`)",
            value: crate::dist::start_ms(root, &binary)?,
            unit: "ms",
            limit: Some(10.0),
        },
        Line {
            what: "largest resident memory of `run quick`",
            value: peak_mb(&binary, &dir)?,
            unit: "MB",
            limit: Some(64.0),
        },
        Line {
            what: "file",
            value: approx(size) / 1e6,
            unit: "MB",
            limit: Some(12.0),
        },
    ];
    std::fs::remove_dir_all(&dir).with_context(|| format!("remove `{}`", dir.display()))?;
    print(&lines);
    let broken: Vec<&str> = lines
        .iter()
        .filter(|line| line.limit.is_some_and(|limit| line.value > limit))
        .map(|line| line.what)
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    bail!(
        "over the limit: {}\nhint: on a busy machine this says nothing; try again when it is quiet",
        broken.join("; ")
    )
}

fn print(lines: &[Line]) {
    say!("| what | measured | unit | limit |\n|---|---|---|---|");
    for line in lines {
        let limit = line.limit.map_or("-".to_owned(), |limit| limit.to_string());
        say!(
            "| {} | {:.2} | {} | {limit} |",
            line.what,
            line.value,
            line.unit
        );
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
