//! Runs of very many rounds: what it takes to bring one in and to show it.
//!
//! A soak of weeks, or a document from elsewhere, may have a hundred thousand rounds and more. What is looked for here
//! is work that grows with their square, which no run of ordinary length shows. The rounds are copies of a real one, in
//! the order and with the scatter of a quiet machine.

use super::{Limit, Line};
use anyhow::Context;
use model::num::approx;
use model::record::{Outcome, Round, Run};
use model::rng::Rng;
use std::path::Path;
use sys::clock::monotonic;
use xtask::process::{command, output};

/// Rounds that are shown within the limit; an import refuses more than ten times as many.
const ROUNDS: u32 = 100_000;

/// Measures the binary on the run of an export, made this long.
pub(super) fn lines(binary: &Path, dir: &Path, export: &str) -> anyhow::Result<[Line; 2]> {
    let file = dir.join("many.json");
    let long = document(export, ROUNDS)?;
    std::fs::write(&file, long).with_context(|| format!("write `{}`", file.display()))?;
    let store = dir.join("many.db");
    let seconds = |args: &[&str]| -> anyhow::Result<f64> {
        let began = monotonic();
        output(command(dir, binary).args(args).arg("--store").arg(&store))?;
        Ok(approx(monotonic() - began) / 1e9)
    };
    let import = seconds(&["import", "many.json"])?;
    let shows = (0..3)
        .map(|_| seconds(&["show", "latest"]))
        .collect::<anyhow::Result<Vec<f64>>>()?;
    Ok([
        Line {
            what: "import of 100,000 rounds",
            value: import,
            unit: "s",
            limit: Limit::AtMost(10.0),
        },
        Line {
            what: "show of 100,000 rounds",
            value: shows.into_iter().fold(f64::INFINITY, f64::min),
            unit: "s",
            limit: Limit::AtMost(1.0),
        },
    ])
}

/// The document of an export, made to have so many rounds: its first one again and again, each with values of its own.
fn document(export: &str, rounds: u32) -> anyhow::Result<String> {
    let run = store::export::read(export).context("read an export")?;
    let first = run.rounds.first().context("the export has no rounds")?;
    let mut rng = Rng::new(u64::from(rounds));
    let rounds = (1..=rounds).map(|seq| again(first, seq, 1.0 + 0.01 * rng.normal()));
    let long = Run {
        rounds: rounds.collect(),
        ..run.clone()
    };
    Ok(store::export::write(&long)?)
}

/// A round like this one with another number, and its values times `factor`.
fn again(round: &Round, seq: u32, factor: f64) -> Round {
    let mut round = round.clone();
    (round.seq, round.pass) = (seq, seq);
    if let Outcome::Done(measured) = &mut round.outcome {
        let windows = measured.windows.iter_mut();
        for value in measured.values.values_mut().chain(windows) {
            *value *= factor;
        }
    }
    round
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::export;

    #[test]
    fn a_run_is_made_longer_and_read_back() {
        let bed = tempfile::tempdir().unwrap();
        let kept = store::Store::open(&bed.path().join("kurabe.db")).unwrap();
        let long = document(&export(), 50).unwrap();
        let export = store::export::Export::of(long.clone()).unwrap();
        assert!(kept.import_export(&export).unwrap());
        let run = kept.load(&export.run().meta.id).unwrap();
        assert_eq!(run.rounds.len(), 50);
        let found = stats::summarize(&run);
        assert_eq!(found[0].rounds.len(), 50);
        assert!(found[0].rounds.windows(2).any(|pair| pair[0] < pair[1]));
        assert_eq!(store::export::write(&run).unwrap(), long);
    }
}
