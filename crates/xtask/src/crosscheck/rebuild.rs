//! Whether figures stay where they are when the program is linked in another order.
//!
//! One build, linked several times with its sections shuffled, as any change anywhere in the program may shuffle them:
//! functions and data lie at other addresses and do the same. The binaries take turns, each first as often as last;
//! each of their figures is the median of three rounds, one with each clone of the loops, over the mean of all
//! binaries in the same turn. A kernel moves where the whole interval of a binary's figure lies beyond the bound.
//!
//! It refuses to judge with fewer than six turns, which give no interval, and where there is no linker that shuffles.

use super::{ROUNDS, median_of, parsed};
use crate::dist::building;
use crate::process::{command, host_target, output, succeed, target_dir};
use anyhow::{Context, ensure};
use clap::Parser;
use model::estimate::Interval;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The word behind `cargo xtask crosscheck`.
pub(super) const WORD: &str = "rebuild";

/// How far a kernel may move, as a share: the project's promise.
const MOVES_MAX: f64 = 0.015;

/// Turns below which there is no interval.
const TURNS_MIN: usize = 6;

/// What is measured where nothing is asked for: every kernel of which the code is the figure.
const TESTS: &[&str] = &[
    "cpu.dhrystone",
    "cpu.whetstone",
    "cpu.prime",
    "cpu.sort",
    "cpu.matmul",
    "cpu.sha256",
    "cpu.blake3",
    "cpu.aes-gcm",
    "cpu.zstd-compress",
    "cpu.zstd-decompress",
    "cpu.json-parse",
    "cpu.json-write",
    "memory.block-write",
    "memory.block-read",
    "memory.latency-16k",
];

/// Link the program in other orders, and see whether a figure moves by more than 1.5 %.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask crosscheck rebuild", no_binary_name = true)]
struct Options {
    /// Tests [default: every kernel]
    #[arg(value_name = "TEST")]
    tests: Vec<String>,
    /// Binaries, each linked in another order
    #[arg(long, default_value_t = 5)]
    builds: usize,
    /// Turns of all binaries; at least 6
    #[arg(long, default_value_t = 7)]
    turns: usize,
    /// Only build
    #[arg(long)]
    build_only: bool,
    /// Measure what the last call has built
    #[arg(long)]
    keep: bool,
    /// Write the page and every figure into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = parsed::<Options>(arguments)? else {
        return Ok(());
    };
    ensure!(
        options.builds >= 2,
        "link {} binaries: two are needed to compare",
        options.builds
    );
    ensure!(
        options.turns >= TURNS_MIN,
        "measure {} turns: {TURNS_MIN} are needed for an interval",
        options.turns
    );
    let dir = target_dir(root).join("rebuild");
    let binaries: Vec<PathBuf> = (1..=options.builds)
        .map(|number| dir.join(format!("kurabe-{number}")))
        .collect();
    if !options.keep {
        build(root, &dir, options.builds)?;
    }
    for binary in &binaries {
        ensure!(
            binary.is_file(),
            "measure `{}`: it is not there",
            binary.display()
        );
    }
    if options.build_only {
        return Ok(());
    }
    let tests: Vec<&str> = if options.tests.is_empty() {
        TESTS.to_vec()
    } else {
        options.tests.iter().map(String::as_str).collect()
    };
    let figures = measure(&dir, &binaries, &tests, options.turns)?;
    let (page, moved) = page(&tests, &figures, options.turns)?;
    say!("{page}");
    if let Some(out) = &options.out {
        write(&root.join(out), &page, &tests, &figures)?;
    }
    ensure!(
        moved.is_empty(),
        "moved by more than {MOVES_MAX} beyond noise: {}",
        moved.join(", ")
    );
    Ok(())
}

/// Builds as `cargo xtask dist` does, with a linker that links once more for each binary.
fn build(root: &Path, dir: &Path, builds: usize) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("create `{}`", dir.display()))?;
    let target = host_target(root)?;
    let script = dir.join("linker");
    std::fs::write(&script, linker(&shuffler(root, &target)?, dir, builds))
        .with_context(|| format!("write `{}`", script.display()))?;
    succeed(command(root, "chmod").arg("+x").arg(&script))?;
    let linker = format!("linker={}", script.display());
    let mut build = building(root, "rustc", &target);
    build.args(["--bin", "kurabe", "--", "-C", &linker]);
    succeed(&mut build)
}

/// Where the compiler keeps the linker that can shuffle sections.
fn shuffler(root: &Path, target: &str) -> anyhow::Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = output(command(root, rustc).args(["--print", "sysroot"]))?;
    let dir = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(target)
        .join("bin/gcc-ld");
    ensure!(
        dir.join("ld.lld").is_file(),
        "link with lld: this compiler does not come with it (`{}`)",
        dir.display()
    );
    Ok(dir)
}

/// A linker that does what it is asked, and then the same with the sections of code and data in other orders.
fn linker(lld: &Path, dir: &Path, builds: usize) -> String {
    let seeds: Vec<String> = (1..=builds).map(|seed| seed.to_string()).collect();
    let shuffles = [".text*", ".rodata*", ".data*", ".bss*"]
        .map(|sections| format!("'-Wl,--shuffle-sections={sections}='\"$seed\""));
    format!(
        "#!/bin/sh\nset -e\ncc \"$@\"\nfor seed in {}; do\n  cc \"$@\" -fuse-ld=lld -B'{}' {} -o '{}'/kurabe-\"$seed\"\ndone\n",
        seeds.join(" "),
        lld.display(),
        shuffles.join(" "),
        dir.display()
    )
}

/// For each test, for each binary, its figure in each turn.
type Figures = Vec<Vec<Vec<f64>>>;

fn measure(
    dir: &Path,
    binaries: &[PathBuf],
    tests: &[&str],
    turns: usize,
) -> anyhow::Result<Figures> {
    let mut figures = vec![vec![Vec::new(); binaries.len()]; tests.len()];
    for turn in 0..turns {
        for place in 0..binaries.len() {
            // Another one begins in each turn.
            let which = (turn + place) % binaries.len();
            for (index, value) in once(dir, &binaries[which], tests)?.into_iter().enumerate() {
                figures[index][which].push(value);
            }
        }
    }
    Ok(figures)
}

/// The leading figure of each test, as the median of its rounds.
fn once(dir: &Path, binary: &Path, tests: &[&str]) -> anyhow::Result<Vec<f64>> {
    let store = dir.join("store.db");
    let rounds = ROUNDS.to_string();
    let mut run = command(dir, binary);
    run.arg("run")
        .args(tests)
        .args([
            "--passes", &rounds, "--seed", "1", "--json", "--quiet", "--copies", "1",
        ])
        .arg("--store")
        .arg(&store);
    let text = output(&mut run)?;
    let _ = std::fs::remove_file(&store);
    let document: Value = serde_json::from_str(&text).context("read our own document")?;
    let leading = |test: &&str| {
        let case = format!("{test}@1");
        let mut metrics = document["metrics"].as_array().into_iter().flatten();
        let first = metrics.find(|metric| metric["case"] == case.as_str());
        let id = first.and_then(|metric| metric["id"].as_str());
        median_of(
            &document,
            id.with_context(|| format!("no metric of `{case}`"))?,
        )
    };
    tests.iter().map(leading).collect()
}

/// How far one binary's figure is from that of all, with its interval over the turns.
fn moves(of_binary: &[f64], all: &[Vec<f64>]) -> anyhow::Result<(f64, Interval)> {
    let ratios: Vec<f64> = of_binary
        .iter()
        .enumerate()
        .map(|(turn, value)| {
            let turn: Vec<f64> = all.iter().map(|values| values[turn]).collect();
            value / stats::quantile::mean(&turn).unwrap_or(f64::NAN)
        })
        .collect();
    let median = stats::quantile::median(&ratios).context("no turns")?;
    let interval =
        stats::order::median_interval(&ratios, stats::CONFIDENCE).context("too few turns")?;
    Ok((median, interval))
}

/// Whether all of the interval lies beyond the bound.
fn beyond(interval: &Interval) -> bool {
    interval.lo > 1.0 + MOVES_MAX || interval.hi < 1.0 / (1.0 + MOVES_MAX)
}

/// The page, and the tests that moved.
fn page(tests: &[&str], figures: &Figures, turns: usize) -> anyhow::Result<(String, Vec<String>)> {
    let builds = figures.first().map_or(0, Vec::len);
    let mut page = format!(
        "{builds} binaries linked in other orders, {turns} turns, {ROUNDS} rounds in each; \
         figure over the mean of all\n\n"
    );
    page.push_str(
        "| test | from slowest to quickest binary | the one that is off most, and its interval | moved |\n\
         |---|---|---|---|\n",
    );
    let mut moved = Vec::new();
    for (test, figures) in tests.iter().zip(figures) {
        let all = figures.iter().map(|values| moves(values, figures));
        let mut all = all.collect::<anyhow::Result<Vec<_>>>()?;
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ratios: Vec<String> = all
            .iter()
            .map(|(median, _)| format!("{median:.4}"))
            .collect();
        let (median, interval) = all
            .iter()
            .max_by(|a, b| a.0.ln().abs().total_cmp(&b.0.ln().abs()))
            .context("no binaries")?;
        let is = all.iter().any(|(_, interval)| beyond(interval));
        if is {
            moved.push((*test).to_owned());
        }
        let _ = writeln!(
            page,
            "| {test} | {} | {median:.4} ({:.4}..{:.4}) | {} |",
            ratios.join(" "),
            interval.lo,
            interval.hi,
            if is { "yes" } else { "no" }
        );
    }
    Ok((page, moved))
}

fn write(out: &Path, page: &str, tests: &[&str], figures: &Figures) -> anyhow::Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("create `{}`", out.display()))?;
    let mut csv = "test,binary,turn,figure\n".to_owned();
    for (test, figures) in tests.iter().zip(figures) {
        for (binary, values) in (1..).zip(figures) {
            for (turn, value) in (1..).zip(values) {
                let _ = writeln!(csv, "{test},{binary},{turn},{value}");
            }
        }
    }
    for (name, text) in [("rebuild.md", page), ("rebuild.csv", csv.as_str())] {
        let path = out.join(name);
        std::fs::write(&path, text).with_context(|| format!("write `{}`", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, three binaries, seven turns: noise of a tenth of a percent, drift of the whole machine, and the third
    /// binary off by a factor.
    fn figures(off: f64) -> Figures {
        let noise = [0.0, 1.0, -1.0, 0.5, -0.5, 0.2, -0.2];
        let series = |factor: f64, shift: usize| -> Vec<f64> {
            (0..7)
                .map(|turn| {
                    let drift = 1.0 + 0.05 * model::num::count(turn);
                    100.0 * factor * drift * (1.0 + 0.001 * noise[(turn + shift) % 7])
                })
                .collect()
        };
        vec![vec![series(1.0, 0), series(1.0, 2), series(off, 4)]]
    }

    #[test]
    fn a_binary_that_is_off_is_found_and_drift_is_not() {
        let moved = |off| page(&["cpu.sort"], &figures(off), 7).unwrap().1;
        assert_eq!(moved(1.0), [""; 0]);
        assert_eq!(moved(1.015), [""; 0], "one percent of the mean");
        assert_eq!(moved(1.04), ["cpu.sort"]);
        assert_eq!(moved(0.95), ["cpu.sort"]);
    }

    #[test]
    fn noise_alone_does_not_move_a_kernel() {
        let mut noisy = figures(1.03);
        for (turn, value) in noisy[0][2].iter_mut().enumerate() {
            *value *= if turn % 2 == 0 { 0.95 } else { 1.05 };
        }
        assert_eq!(page(&["cpu.sort"], &noisy, 7).unwrap().1, [""; 0]);
    }

    #[test]
    fn the_linker_links_as_asked_and_once_more_for_each_binary() {
        let script = linker(Path::new("/lld"), Path::new("/out"), 3);
        assert!(
            script.starts_with("#!/bin/sh\nset -e\ncc \"$@\"\nfor seed in 1 2 3; do"),
            "{script}"
        );
        assert!(
            script.contains("'-Wl,--shuffle-sections=.text*='\"$seed\""),
            "{script}"
        );
        assert!(script.contains("-o '/out'/kurabe-\"$seed\""), "{script}");
    }

    #[test]
    fn every_kernel_is_a_test_that_exists() {
        for test in TESTS {
            let mut all = workloads::ALL
                .iter()
                .flat_map(|workload| workload.spec().tests);
            assert!(all.any(|def| def.name == *test), "{test}");
        }
    }
}
