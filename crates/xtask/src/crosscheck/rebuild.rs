//! Whether figures stay where they are when the program is linked in another order.
//!
//! One build, linked several times with its sections shuffled, as any change anywhere in the program may shuffle them:
//! functions and data lie at other addresses and do the same. The binaries take turns at each test, each first as often
//! as last, so that what the machine does within a quarter of a minute meets all of them; each of their figures is the
//! median of three rounds, one with each clone of the loops, over the mean of the others in the same turn. A binary is
//! off where the whole interval of its figure lies beyond the bound. That happens by chance in one of a hundred or two,
//! and there are five for each test, so such a test is measured once more: it moved where the same binary is off again,
//! in the same direction.
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
    "memory.read",
    "memory.write",
    "memory.copy",
    "memory.triad",
    "memory.write-nt",
    "memory.mbw-dumb",
    "os.mutex",
];

/// Parameters with which the code is the figure: arrays in the second-level cache, where memory would hide it, and
/// events of the mutex test that let a round be as short as the others.
const SET: &[(&str, &str)] = &[
    ("memory.read", "size=256K"),
    ("memory.write", "size=256K"),
    ("memory.copy", "size=256K"),
    ("memory.triad", "size=256K"),
    ("memory.write-nt", "size=256K"),
    ("memory.mbw-dumb", "size=128K"),
    ("os.mutex", "locks=1000"),
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
    let mut rows = measure(&dir, &binaries, &tests, options.turns)?;
    let suspects: Vec<&str> = rows
        .iter()
        .filter(|row| row.is_off())
        .map(|row| row.test)
        .collect();
    if !suspects.is_empty() {
        say!(
            "once more, because one of the binaries was off: {}",
            suspects.join(", ")
        );
        rows.extend(measure(&dir, &binaries, &suspects, options.turns)?);
    }
    let moved = moved(&rows);
    let page = page(&rows, options.builds, options.turns);
    say!("\n{page}");
    if let Some(out) = &options.out {
        write(&root.join(out), &page, &rows)?;
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

/// The figures of one test.
struct Row<'a> {
    test: &'a str,
    /// For each binary its figure in each turn.
    figures: Vec<Vec<f64>>,
    /// For each binary how far its figure is from those of the others, with the interval over the turns.
    apart: Vec<(f64, Interval)>,
}

impl<'a> Row<'a> {
    fn new(test: &'a str, figures: Vec<Vec<f64>>) -> anyhow::Result<Self> {
        let apart = (0..figures.len()).map(|which| apart(which, &figures));
        Ok(Self {
            test,
            apart: apart.collect::<anyhow::Result<_>>()?,
            figures,
        })
    }

    fn is_off(&self) -> bool {
        self.apart.iter().any(|(_, interval)| off(interval) != 0)
    }
}

fn measure<'a>(
    dir: &Path,
    binaries: &[PathBuf],
    tests: &[&'a str],
    turns: usize,
) -> anyhow::Result<Vec<Row<'a>>> {
    let mut figures = vec![vec![Vec::new(); binaries.len()]; tests.len()];
    for turn in 0..turns {
        say!("turn {} of {turns}", turn + 1);
        for (test, figures) in tests.iter().zip(&mut figures) {
            for place in 0..binaries.len() {
                // Another one begins in each turn.
                let which = (turn + place) % binaries.len();
                figures[which].push(once(dir, &binaries[which], test)?);
            }
        }
    }
    let rows = tests.iter().zip(figures);
    rows.map(|(test, figures)| Row::new(test, figures))
        .collect()
}

/// The leading figure of a test, as the median of its rounds.
fn once(dir: &Path, binary: &Path, test: &str) -> anyhow::Result<f64> {
    let store = dir.join("store.db");
    let rounds = ROUNDS.to_string();
    let mut run = command(dir, binary);
    run.args(["run", test, "--passes", &rounds])
        .args(["--seed", "1", "--json", "--quiet", "--copies", "1"])
        .arg("--store")
        .arg(&store);
    for (test, set) in SET.iter().filter(|(of, _)| *of == test) {
        run.arg("--set").arg(format!("{test}.{set}"));
    }
    let text = output(&mut run)?;
    let _ = std::fs::remove_file(&store);
    let document: Value = serde_json::from_str(&text).context("read our own document")?;
    let first = document["metrics"].get(0);
    let id = first.and_then(|metric| metric["id"].as_str());
    let id = id.with_context(|| format!("no metric of `{test}`"))?;
    median_of(&document, id)
}

/// How far one binary's figure is from those of the others, with its interval over the turns. Over the mean of all it
/// would be a fifth nearer.
fn apart(which: usize, all: &[Vec<f64>]) -> anyhow::Result<(f64, Interval)> {
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

/// 1 where all of the interval lies above the bound, -1 where below, or 0.
fn off(interval: &Interval) -> i32 {
    i32::from(interval.lo > 1.0 + MOVES_MAX) - i32::from(interval.hi < 1.0 / (1.0 + MOVES_MAX))
}

/// The tests of which one binary was off both times, and the same way.
fn moved<'a>(rows: &[Row<'a>]) -> Vec<&'a str> {
    let mut moved = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let again = rows[index + 1..]
            .iter()
            .find(|other| other.test == row.test);
        let both = again.is_some_and(|again| {
            let mut pairs = row.apart.iter().zip(&again.apart);
            pairs.any(|((_, first), (_, second))| off(first) != 0 && off(first) == off(second))
        });
        if both {
            moved.push(row.test);
        }
    }
    moved
}

fn page(rows: &[Row], builds: usize, turns: usize) -> String {
    let mut page = format!(
        "{builds} binaries linked in other orders, {turns} turns, {ROUNDS} rounds in each; \
         figure over the mean of the others\n\n\
         | test | the binaries, from the first | the one that is off most, and its interval | off |\n\
         |---|---|---|---|\n"
    );
    for row in rows {
        let ratios: Vec<String> = row
            .apart
            .iter()
            .map(|(median, _)| format!("{median:.4}"))
            .collect();
        let farthest = row
            .apart
            .iter()
            .max_by(|a, b| a.0.ln().abs().total_cmp(&b.0.ln().abs()));
        let Some((median, interval)) = farthest else {
            continue;
        };
        let _ = writeln!(
            page,
            "| {} | {} | {median:.4} ({:.4}..{:.4}) | {} |",
            row.test,
            ratios.join(" "),
            interval.lo,
            interval.hi,
            if row.is_off() { "yes" } else { "no" }
        );
    }
    let moved = moved(rows);
    let _ = writeln!(
        page,
        "\nMoved, which is off twice in the same direction: {}.",
        if moved.is_empty() {
            "none".to_owned()
        } else {
            moved.join(", ")
        }
    );
    page
}

fn write(out: &Path, page: &str, rows: &[Row]) -> anyhow::Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("create `{}`", out.display()))?;
    let mut csv = "test,binary,turn,figure\n".to_owned();
    for row in rows {
        for (binary, values) in (1..).zip(&row.figures) {
            for (turn, value) in (1..).zip(values) {
                let _ = writeln!(csv, "{},{binary},{turn},{value}", row.test);
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

    /// Three binaries, seven turns: noise of a tenth of a percent, drift of the whole machine, and the third binary off
    /// by a factor.
    fn row(factor: f64) -> Row<'static> {
        let noise = [0.0, 1.0, -1.0, 0.5, -0.5, 0.2, -0.2];
        let series = |factor: f64, shift: usize| -> Vec<f64> {
            (0..7)
                .map(|turn| {
                    let drift = 1.0 + 0.05 * model::num::count(turn);
                    100.0 * factor * drift * (1.0 + 0.001 * noise[(turn + shift) % 7])
                })
                .collect()
        };
        Row::new(
            "cpu.sort",
            vec![series(1.0, 0), series(1.0, 2), series(factor, 4)],
        )
        .unwrap()
    }

    #[test]
    fn a_binary_that_is_off_twice_the_same_way_is_found_and_drift_is_not() {
        let check = |first, second, expected: &[&str]| {
            assert_eq!(
                moved(&[row(first), row(second)]),
                expected,
                "{first} {second}"
            );
        };
        check(1.0, 1.0, &[]);
        check(1.01, 1.01, &[]);
        check(1.02, 1.02, &["cpu.sort"]);
        check(0.98, 0.98, &["cpu.sort"]);
        check(1.02, 1.0, &[]);
        check(1.02, 0.98, &[]);
        assert!(row(1.02).is_off() && !row(1.01).is_off());
        assert_eq!(moved(&[row(1.02)]), [""; 0], "not measured again");
    }

    #[test]
    fn the_page_has_every_measurement_and_says_what_moved() {
        let told = page(&[row(1.0), row(1.02), row(1.02)], 3, 7);
        assert_eq!(told.matches("| cpu.sort | ").count(), 3, "{told}");
        assert!(told.contains(" 1.0200 (1.0"), "{told}");
        assert!(
            told.contains(" | no |\n") && told.contains(" | yes |\n"),
            "{told}"
        );
        assert!(told.ends_with("direction: cpu.sort.\n"), "{told}");
        assert!(page(&[row(1.0)], 3, 7).ends_with("direction: none.\n"));
    }

    #[test]
    fn noise_alone_does_not_move_a_kernel() {
        let mut noisy = row(1.03).figures;
        for (turn, value) in noisy[2].iter_mut().enumerate() {
            *value *= if turn % 2 == 0 { 0.95 } else { 1.05 };
        }
        assert!(!Row::new("cpu.sort", noisy).unwrap().is_off());
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
    fn every_kernel_is_a_test_that_exists_with_the_parameters_that_it_is_given() {
        for test in TESTS {
            let mut specs = workloads::ALL.iter().map(|workload| workload.spec());
            let spec = specs.find(|spec| spec.tests.iter().any(|def| def.name == *test));
            let params = spec.unwrap_or_else(|| panic!("{test}")).params;
            for (_, set) in SET.iter().filter(|(of, _)| of == test) {
                let (name, _) = set.split_once('=').unwrap();
                assert!(params.iter().any(|def| def.name == name), "{test}.{name}");
            }
        }
        assert!(SET.iter().all(|(test, _)| TESTS.contains(test)));
    }
}
