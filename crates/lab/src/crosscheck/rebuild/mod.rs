//! Whether figures stay where they are when the program is linked in another order.
//!
//! One build, linked several times with the sections of data and of much that is not measured shuffled, as the order of
//! linking or a change elsewhere may shuffle them: they lie at other addresses and do the same.
//!
//! All binaries do each test at the same time on one CPU, which the kernel gives to one after the other for a few
//! milliseconds, and the figure is work per second of CPU time. So the clock rate, the neighbour on the other hardware
//! thread of the core and all else that changes what a second is worth meet all of them alike: where rounds of one
//! binary scatter by a fifth, the figures of two stay within a percent of each other. A turn is as many rounds as there
//! are clones of the loops, twice, and in another order of starting; what is looked at is each binary's figure over the
//! mean of the others in the same turn. A binary is off where the whole interval of that lies beyond the bound. It
//! happens by chance in one of a hundred or two, and there are five for each test. And five programs on one CPU share
//! what it remembers of branches and loads by their addresses: one that is unlike four others has less of it, whichever
//! of two layouts is the rare one (results/2026-11-24-rebuild-kvm-2cpu). So a binary that is off is measured once more
//! with one other alone, where neither is rare: the test moved where it is off again, in the same direction.
//!
//! It refuses to judge with fewer than six turns, which give no interval, where there is no linker that shuffles, and
//! binaries that are byte for byte the same.

mod link;

use super::ROUNDS;
use super::at_once::{Program, at_once};
use crate::asked;
use crate::truth::work_per_cpu_second;
use anyhow::{Context, ensure};
use clap::Parser;
use link::{all_differ, build};
use model::estimate::Interval;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use xtask::process::{command, output, target_dir};

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "rebuild";

/// How far a kernel may move, as a share: the project's promise.
const MOVES_MAX: f64 = 0.015;

/// Turns below which there is no interval.
const TURNS_MIN: usize = 6;

/// Rounds of a binary in a turn.
const PASSES: u32 = 2 * ROUNDS;

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
#[command(name = "cargo lab crosscheck rebuild", no_binary_name = true)]
struct Options {
    /// Tests [default: every kernel]
    #[arg(value_name = "TEST")]
    tests: Vec<String>,
    /// Binaries, each linked in another order
    #[arg(long, default_value_t = 5)]
    builds: usize,
    /// Turns of all binaries; at least 6
    #[arg(long, default_value_t = 12)]
    turns: usize,
    /// Shuffle measured code too, function by function, which no linker does by itself
    #[arg(long, conflicts_with = "keep")]
    measured_too: bool,
    /// Only build
    #[arg(long, conflicts_with = "keep")]
    build_only: bool,
    /// Measure what the last call has built
    #[arg(long)]
    keep: bool,
    /// Write the page and every figure into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
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
        let code = if options.measured_too {
            link::ALL
        } else {
            link::REST
        };
        build(root, &dir, &binaries, code)?;
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
    let all: Vec<usize> = (0..binaries.len()).collect();
    let mut rows = measure(&dir, &binaries, &all, &tests, options.turns)?;
    for (test, binary) in suspects(&rows) {
        let pair = [binary, (binary + 1) % binaries.len()];
        let [one, other] = pair.map(|binary| binary + 1);
        say!("once more, binaries {one} and {other} alone, because {one} was off: {test}");
        rows.extend(measure(&dir, &binaries, &pair, &[test], options.turns)?);
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

/// The figures of one test.
struct Row<'a> {
    test: &'a str,
    /// Which of the binaries, from 0.
    binaries: Vec<usize>,
    /// For each of them its figure in each turn.
    figures: Vec<Vec<f64>>,
    /// For each binary how far its figure is from those of the others, with the interval over the turns.
    apart: Vec<(f64, Interval)>,
}

impl<'a> Row<'a> {
    fn new(test: &'a str, binaries: &[usize], figures: Vec<Vec<f64>>) -> anyhow::Result<Self> {
        let apart = (0..figures.len()).map(|which| apart(which, &figures));
        Ok(Self {
            test,
            binaries: binaries.to_vec(),
            apart: apart.collect::<anyhow::Result<_>>()?,
            figures,
        })
    }

    fn is_off(&self) -> bool {
        self.ways().any(|(_, way)| way != 0)
    }

    /// Each binary, and which way it is off.
    fn ways(&self) -> impl Iterator<Item = (usize, i32)> {
        let ways = self.apart.iter().map(|(_, interval)| off(interval));
        self.binaries.iter().copied().zip(ways)
    }
}

/// Each test with each binary that is off in it.
fn suspects<'a>(rows: &[Row<'a>]) -> Vec<(&'a str, usize)> {
    let off = |row: &Row<'a>| {
        let (test, ways) = (row.test, row.ways().filter(|(_, way)| *way != 0));
        ways.map(|(binary, _)| (test, binary)).collect::<Vec<_>>()
    };
    rows.iter().flat_map(off).collect()
}

/// Some of the binaries, all at once.
fn measure<'a>(
    dir: &Path,
    binaries: &[PathBuf],
    some: &[usize],
    tests: &[&'a str],
    turns: usize,
) -> anyhow::Result<Vec<Row<'a>>> {
    let cpus = sys::affinity::allowed_cpus().context("read the CPUs allowed")?;
    let mut figures = vec![vec![Vec::new(); some.len()]; tests.len()];
    for turn in 0..turns {
        say!("turn {} of {turns}", turn + 1);
        for (test, figures) in tests.iter().zip(&mut figures) {
            // Another one begins in each turn.
            let order: Vec<usize> = (0..some.len())
                .map(|place| (turn + place) % some.len())
                .collect();
            let programs = order.iter().map(|&place| -> Program<'_, f64> {
                let which = some[place];
                Box::new(move || once(&dir.join(which.to_string()), &binaries[which], test, turn))
            });
            let values = at_once(&cpus[turn % cpus.len()..][..1], programs.collect())?;
            for (place, value) in order.into_iter().zip(values) {
                figures[place].push(value);
            }
        }
    }
    let rows = tests.iter().zip(figures);
    rows.map(|(test, figures)| Row::new(test, some, figures))
        .collect()
}

/// What a binary does of a test in a second of CPU time, over the rounds of a turn.
fn once(dir: &Path, binary: &Path, test: &str, turn: usize) -> anyhow::Result<f64> {
    std::fs::create_dir_all(dir).with_context(|| format!("create `{}`", dir.display()))?;
    let store = dir.join("store.db");
    let (passes, seed) = (PASSES.to_string(), (turn + 1).to_string());
    let mut run = command(dir, binary);
    // The others measure at the same time, and are meant to: each has a lock of its own.
    run.env(engine::alone::VARIABLE, dir)
        .args(["run", test, "--passes", &passes, "--seed", &seed])
        .args(["--quiet", "--no-look", "--copies", "1", "--store"])
        .arg(&store);
    for (test, set) in SET.iter().filter(|(of, _)| *of == test) {
        run.arg("--set").arg(format!("{test}.{set}"));
    }
    output(&mut run)?;
    let kept = output(command(dir, binary).args(["export", "--store"]).arg(&store))?;
    std::fs::remove_file(&store).with_context(|| format!("remove `{}`", store.display()))?;
    let run = store::export::read(&kept).context("read our own export")?;
    work_per_cpu_second(&run).with_context(|| format!("`{test}` used no CPU time"))
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
            .filter(|again| again.test == row.test);
        let both = again.flat_map(Row::ways).any(|second| {
            let mut first = row.ways();
            second.1 != 0 && first.any(|first| first == second)
        });
        if both && !moved.contains(&row.test) {
            moved.push(row.test);
        }
    }
    moved
}

fn page(rows: &[Row], builds: usize, turns: usize) -> String {
    let mut page = format!(
        "{builds} binaries linked in other orders, all at once on one CPU, {turns} turns, {PASSES} rounds of each in a \
         turn; work per CPU second over the mean of the others\n\n\
         | test | binaries | their figures | the one that is off most, and its interval | off |\n\
         |---|---|---|---|---|\n"
    );
    for row in rows {
        let ratios: Vec<String> = row
            .apart
            .iter()
            .map(|(median, _)| format!("{median:.4}"))
            .collect();
        let numbers: Vec<String> = row
            .binaries
            .iter()
            .map(|binary| (binary + 1).to_string())
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
            "| {} | {} | {} | {median:.4} ({:.4}..{:.4}) | {} |",
            row.test,
            numbers.join(" "),
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
        for (binary, values) in row.binaries.iter().zip(&row.figures) {
            for (turn, value) in (1..).zip(values) {
                let _ = writeln!(csv, "{},{},{turn},{value}", row.test, binary + 1);
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
            &[0, 1, 2],
            vec![series(1.0, 0), series(1.0, 2), series(factor, 4)],
        )
        .unwrap()
    }

    /// The third binary again, with the first alone.
    fn pair(factor: f64) -> Row<'static> {
        let Row { mut figures, .. } = row(factor);
        figures.swap(0, 2);
        Row::new("cpu.sort", &[2, 0], figures[..2].to_vec()).unwrap()
    }

    #[test]
    fn a_binary_that_is_off_twice_the_same_way_is_found_and_drift_is_not() {
        let check = |first, second, expected: &[&str]| {
            assert_eq!(
                moved(&[row(first), pair(second)]),
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
        assert_eq!(suspects(&[row(1.0), row(1.02)]), [("cpu.sort", 2)]);
    }

    #[test]
    fn the_page_has_every_measurement_and_says_what_moved() {
        let told = page(&[row(1.0), row(1.02), pair(1.02)], 3, 7);
        assert_eq!(told.matches("| cpu.sort | 1 2 3 | ").count(), 2, "{told}");
        assert_eq!(told.matches("| cpu.sort | 3 1 | ").count(), 1, "{told}");
        assert!(told.contains(" 1.0200 (1.0"), "{told}");
        assert!(
            told.contains(" | no |\n") && told.contains(" | yes |\n"),
            "{told}"
        );
        assert!(told.ends_with("direction: cpu.sort.\n"), "{told}");
        assert!(page(&[row(1.0)], 3, 7).ends_with("direction: none.\n"));
    }

    #[test]
    fn what_is_asked_of_a_build_is_refused_where_nothing_is_built() {
        for option in ["--measured-too", "--build-only"] {
            assert!(
                asked::options::<Options>(&[option], "").unwrap().is_some(),
                "{option}"
            );
            assert!(
                asked::options::<Options>(&["--keep", option], "").is_err(),
                "{option}"
            );
        }
    }

    #[test]
    fn noise_alone_does_not_move_a_kernel() {
        let mut noisy = row(1.03).figures;
        for (turn, value) in noisy[2].iter_mut().enumerate() {
            *value *= if turn % 2 == 0 { 0.95 } else { 1.05 };
        }
        assert!(!Row::new("cpu.sort", &[0, 1, 2], noisy).unwrap().is_off());
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
