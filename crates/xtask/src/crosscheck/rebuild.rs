//! Whether figures stay where they are when the program is linked in another order.
//!
//! One build, linked several times with its sections shuffled, as any change anywhere in the program may shuffle them:
//! functions and data lie at other addresses and do the same. The binaries take turns, each first as often as last;
//! each of their figures is the median of three rounds, one with each clone of the loops, over the mean of the others
//! in the same turn. A kernel moves where the whole interval of a binary's figure lies beyond the bound.
//!
//! It refuses to judge with fewer than six turns, which give no interval, where there is no linker that shuffles, and
//! binaries that are byte for byte the same.

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
        build(root, &dir, &binaries)?;
    }
    all_differ(&binaries)?;
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
    say!("\n{page}");
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
fn build(root: &Path, dir: &Path, binaries: &[PathBuf]) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("create `{}`", dir.display()))?;
    let target = host_target(root)?;
    for old in binaries {
        let _ = std::fs::remove_file(old);
    }
    // Under another name in each call: cargo would not link again for a script that says something else.
    let script = dir.join(format!("linker-{}", std::process::id()));
    std::fs::write(&script, linker(&shuffler(root, &target)?, binaries))
        .with_context(|| format!("write `{}`", script.display()))?;
    succeed(command(root, "chmod").arg("+x").arg(&script))?;
    let linker = format!("linker={}", script.display());
    let mut build = building(root, "rustc", &target);
    build.args(["--bin", "kurabe", "--", "-C", &linker]);
    let built = succeed(&mut build);
    std::fs::remove_file(&script).with_context(|| format!("remove `{}`", script.display()))?;
    built
}

/// What was linked in another order is another file; of two that are the same nothing can be learned.
fn all_differ(binaries: &[PathBuf]) -> anyhow::Result<()> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for binary in binaries {
        let bytes =
            std::fs::read(binary).with_context(|| format!("read `{}`", binary.display()))?;
        ensure!(
            !seen.contains(&bytes),
            "compare `{}`: another of the binaries is the same",
            binary.display()
        );
        seen.push(bytes);
    }
    Ok(())
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
fn linker(lld: &Path, binaries: &[PathBuf]) -> String {
    let mut script = "#!/bin/sh\nset -e\ncc \"$@\"\n".to_owned();
    for (seed, binary) in (1..).zip(binaries) {
        let shuffles = [".text*", ".rodata*", ".data*", ".bss*"]
            .map(|sections| format!("'-Wl,--shuffle-sections={sections}={seed}'"));
        let _ = writeln!(
            script,
            "cc \"$@\" -fuse-ld=lld -B'{}' {} -o '{}'",
            lld.display(),
            shuffles.join(" "),
            binary.display()
        );
    }
    script
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
        say!("turn {} of {turns}", turn + 1);
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

/// How far one binary's figure is from those of the others, with its interval over the turns. Over the mean of all it
/// would be a fifth nearer.
fn moves(which: usize, all: &[Vec<f64>]) -> anyhow::Result<(f64, Interval)> {
    let ratios: Vec<f64> = all[which]
        .iter()
        .enumerate()
        .map(|(turn, value)| {
            let others = (0..all.len()).filter(|other| *other != which);
            let others: Vec<f64> = others.map(|other| all[other][turn]).collect();
            value / stats::quantile::mean(&others).unwrap_or(f64::NAN)
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
         figure over the mean of the others\n\n"
    );
    page.push_str(
        "| test | the binaries, from the smallest figure | the one that is off most, and its interval | moved |\n\
         |---|---|---|---|\n",
    );
    let mut moved = Vec::new();
    for (test, figures) in tests.iter().zip(figures) {
        let all = (0..figures.len()).map(|which| moves(which, figures));
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
        assert_eq!(moved(1.01), [""; 0]);
        assert_eq!(moved(1.02), ["cpu.sort"]);
        assert_eq!(moved(0.98), ["cpu.sort"]);
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
        let binaries = ["/out/kurabe-1", "/out/kurabe-2"].map(PathBuf::from);
        let script = linker(Path::new("/lld"), &binaries);
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!(lines[..3], ["#!/bin/sh", "set -e", "cc \"$@\""]);
        assert_eq!(lines.len(), 5, "{script}");
        for (seed, line) in (1..).zip(&lines[3..]) {
            let expected = format!(
                "cc \"$@\" -fuse-ld=lld -B'/lld' '-Wl,--shuffle-sections=.text*={seed}' \
                 '-Wl,--shuffle-sections=.rodata*={seed}' '-Wl,--shuffle-sections=.data*={seed}' \
                 '-Wl,--shuffle-sections=.bss*={seed}' -o '/out/kurabe-{seed}'"
            );
            assert_eq!(*line, expected);
        }
    }

    #[test]
    fn binaries_that_are_the_same_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let binaries = ["1", "2", "3"].map(|name| root.path().join(name));
        for (binary, text) in binaries.iter().zip(["a", "b", "a"]) {
            std::fs::write(binary, text).unwrap();
        }
        all_differ(&binaries[..2]).unwrap();
        let error = all_differ(&binaries).unwrap_err().to_string();
        assert!(
            error.contains("another of the binaries is the same"),
            "{error}"
        );
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
