//! How long it takes to find, to list and to compare where very many runs are kept.
//!
//! The store is made of one real run, kept again and again under other names and times, with the labels and duels of
//! somebody who measures every few minutes for a year. The same questions are put to a small one, so that what does not
//! depend on the number of runs can be told from what does. Stores are kept below the build directory and used again:
//! to make a large one takes minutes.

use crate::asked;
use anyhow::{Context, bail, ensure};
use clap::Parser;
use jiff::Timestamp;
use model::num::approx;
use model::plan::Duel;
use model::record::Run;
use model::units::UnixNanos;
use std::path::{Path, PathBuf};
use store::Store;
use xtask::process::{command, output, succeeds, target_dir};

/// Runs of the small store.
const FEW: u32 = 10;

/// The longest that a question may take, in milliseconds: what a person does not notice as waiting.
const LIMIT_MS: f64 = 100.0;

/// How often each question is asked.
const REPETITIONS: usize = 21;

/// Passes of the run that is measured, and rounds of it that most of the kept runs have: enough to be compared, and
/// few, so that a store of 100,000 runs is made in minutes and fits in memory.
const PASSES: &str = "6";
const ROUNDS: usize = 2;

/// Seconds between the starts of two runs, and the first one: a round number, far from today.
const APART_S: u32 = 300;
const BEGIN_S: u32 = 1_600_000_000;

/// After so many runs the store is opened anew, which folds its log in.
const AT_ONCE: u32 = 2_000;

/// How long lists, `show` and `compare` take where many runs are kept.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab store", no_binary_name = true)]
struct Options {
    /// Runs of the large store
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(10..))]
    runs: u32,
    /// Measure this binary [default: target/dist/kurabe]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Make the stores anew, also where they are there from the last time
    #[arg(long)]
    anew: bool,
}

/// Something that is asked of a store.
struct Question {
    words: Vec<String>,
    /// Whether it has to be quick.
    limited: bool,
    /// Whether there is an answer.
    answered: bool,
}

/// Measures what `arguments` ask for.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let binary = asked::binary(root, options.binary.as_deref())?;
    let dir = target_dir(root).join("store");
    std::fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
    let sizes = [FEW, options.runs];
    let mut stores = Vec::new();
    for runs in sizes {
        stores.push((runs, kept(&binary, &dir, runs, options.anew)?));
    }
    say!(
        "| medians of {REPETITIONS} | {FEW} runs | {} runs | limit |\n|---|---|---|---|",
        options.runs
    );
    let mut slow = Vec::new();
    for index in 0..questions(FEW).len() {
        let mut cells = Vec::new();
        for (runs, store) in &stores {
            let question = &questions(*runs)[index];
            let took = milliseconds(&binary, &dir, store, question)?;
            cells.push(format!("{took:.1} ms"));
            if question.limited && took > LIMIT_MS {
                slow.push(format!("`{}` of {runs} runs", question.words.join(" ")));
            }
        }
        let question = &questions(options.runs)[index];
        let limit = if question.limited { "100 ms" } else { "-" };
        let cells = cells.join(" | ");
        say!("| `{}` | {cells} | {limit} |", question.words.join(" "));
    }
    if slow.is_empty() {
        return Ok(());
    }
    bail!(
        "over the limit: {}\nhint: on a busy machine this says nothing; try again when it is quiet",
        slow.join(", ")
    )
}

/// What is asked of a store of so many runs.
fn questions(runs: u32) -> Vec<Question> {
    let question = |words: &[&str]| Question {
        words: words.iter().map(|&word| word.to_owned()).collect(),
        limited: true,
        answered: true,
    };
    let back = format!("latest~{}", runs / 2 + 1);
    let [a, b] = [runs / 2, runs - 1].map(id);
    let beginning = &b[..b.len() - 2];
    vec![
        question(&["list"]),
        question(&["show", "latest"]),
        question(&["show", &back]),
        question(&["show", "nightly"]),
        question(&["show", beginning]),
        question(&["compare", &a, &b]),
        question(&["compare", "a", "latest"]),
        Question {
            limited: false,
            ..question(&["list", "--all"])
        },
        Question {
            limited: false,
            answered: false,
            ..question(&["show", "lateset"])
        },
    ]
}

/// The wall time of a question: the median, after one that fills the page cache.
fn milliseconds(
    binary: &Path,
    dir: &Path,
    store: &Path,
    question: &Question,
) -> anyhow::Result<f64> {
    let mut times = Vec::with_capacity(REPETITIONS);
    for repetition in 0..=REPETITIONS {
        let mut asked = command(dir, binary);
        asked.args(&question.words).arg("--store").arg(store);
        let start = sys::clock::monotonic();
        let answered = succeeds(&mut asked);
        let took = sys::clock::monotonic() - start;
        ensure!(
            answered == question.answered,
            "`{}` ended otherwise than it should",
            question.words.join(" ")
        );
        if repetition > 0 {
            times.push(approx(took) / 1e6);
        }
    }
    stats::quantile::median(&times).context("nothing was measured")
}

/// The store of so many runs, from the last time or made now.
fn kept(binary: &Path, dir: &Path, runs: u32, anew: bool) -> anyhow::Result<PathBuf> {
    let path = dir.join(format!("{runs}.db"));
    let there = Store::open_read_only(&path).and_then(|store| store.count());
    if !anew && there.is_ok_and(|there| u32::try_from(there) == Ok(runs)) {
        return Ok(path);
    }
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(dir.join(format!("{runs}.db{end}")));
    }
    say!("making a store of {runs} runs");
    let one = measured(binary, dir)?;
    let mut store = Store::open(&path)?;
    for n in 0..runs {
        if n % AT_ONCE == AT_ONCE - 1 {
            drop(store);
            store = Store::open(&path)?;
        }
        store.import(&again(&one, n, runs))?;
    }
    Ok(path)
}

/// A run of this machine.
fn measured(binary: &Path, dir: &Path) -> anyhow::Result<Run> {
    let store = dir.join("one.db");
    let said = |words: &[&str]| output(command(dir, binary).args(words).arg("--store").arg(&store));
    said(&[
        "run", "os.pipe", "--copies", "1", "--passes", PASSES, "--quiet",
    ])?;
    Ok(store::export::read(&said(&["export"])?)?)
}

/// The same run as the one of this number among `runs`.
fn again(one: &Run, n: u32, runs: u32) -> Run {
    let mut run = one.clone();
    run.meta.id = id(n);
    run.meta.started = UnixNanos(u64::from(BEGIN_S + n * APART_S) * 1_000_000_000);
    run.meta.label = match n {
        _ if n == runs / 2 => Some("a".to_owned()),
        _ if n == runs - 1 => None,
        _ if n.is_multiple_of(2) => Some("nightly".to_owned()),
        _ if n % 10 == 1 => Some(format!("server-{}", n / 10)),
        _ => None,
    };
    if n % 20 >= 18 && n != runs - 1 {
        run.plan.duel = Some(Duel {
            id: format!("duel-{}", n / 20),
            side: if n.is_multiple_of(2) { "a" } else { "b" }.to_owned(),
            prepare: None,
            traits: vec![format!("dir=/mnt/{n}")],
        });
    }
    if n != runs / 2 && n != runs - 1 {
        run.rounds.truncate(ROUNDS);
    }
    run
}

/// The id of the run of this number, as its start makes it.
fn id(n: u32) -> String {
    let start = i64::from(BEGIN_S) + i64::from(n) * i64::from(APART_S);
    // Every 32-bit number of seconds is an instant.
    let start = Timestamp::from_second(start).unwrap_or_default();
    format!("{}-{:04x}", start.strftime("%Y%m%d-%H%M%S"), n % 0x1_0000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::export;

    #[test]
    fn every_question_but_the_last_means_a_run_of_the_store_that_is_made() {
        let bed = tempfile::tempdir().unwrap();
        let store = Store::open(&bed.path().join("kurabe.db")).unwrap();
        let one = store::export::read(&export()).unwrap();
        for n in 0..40 {
            assert!(store.import(&again(&one, n, 40)).unwrap());
        }
        let lines = store.list().unwrap();
        assert_eq!(lines.iter().filter(|line| line.duel.is_some()).count(), 3);
        assert_eq!(lines[0].id, id(39));
        assert_eq!(store.meant("nightly").unwrap().alike.len(), 18);
        for question in questions(40) {
            let names = question.words.iter().skip(1);
            for name in names.filter(|name| !name.starts_with("--")) {
                assert_eq!(store.resolve(name).is_ok(), question.answered, "{name}");
            }
        }
    }

    #[test]
    fn ids_are_those_of_runs_that_start_then() {
        assert_eq!(id(0), "20200913-122640-0000");
        assert_eq!(id(99_999), "20210826-174140-869f");
    }
}
