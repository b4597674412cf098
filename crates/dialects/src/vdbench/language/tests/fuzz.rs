//! Random texts: the parser never panics, never hangs, and stays within its limits.
//!
//! A seeded mutator on the starting texts of `fuzz/corpus/vdbench_parameters`, as the one for fio's job files. The
//! coverage-guided target in `fuzz/` asks the same.

use super::*;
use crate::fuzzing::{self, corpus};
use model::rng::Rng;

const WORDS: &[&str] = &[
    "(",
    ")",
    ",",
    "=",
    "\n",
    " ",
    "$x",
    "*",
    "-",
    "include=params\n",
    "eof\n",
    "\"",
    "sd=sd*",
    "rd=r2,wd=*\n",
    "(1-9999999,1)",
    "(1-64,d)",
    "18446744073709551615",
    "99999999t",
    "curve",
    "count=(1,1000)",
    "skew=50",
    "\u{0}",
    "計",
    "%04d",
    "forthreads=(1-4096,1)",
    "range=(10,20)",
    "<",
    "format=(yes,only)",
    "((((((((((",
];

fn mutated(rng: &mut Rng, seeds: &[String]) -> String {
    let mut text: Vec<char> = seeds[rng.index(seeds.len())].chars().collect();
    for _ in 0..=rng.below(4) {
        let at = rng.index(text.len() + 1);
        let end = (at + rng.index(30)).min(text.len());
        match rng.below(5) {
            0 => drop(text.drain(at..end)),
            1 => drop(text.splice(at..at, WORDS[rng.index(WORDS.len())].chars())),
            2 => {
                let copy: Vec<char> = text[at..end].to_vec();
                let to = rng.index(text.len() + 1);
                drop(text.splice(to..to, copy));
            }
            3 => text.truncate(at),
            _ => drop(text.splice(at..at, rng.below(10_000).to_string().chars())),
        }
    }
    text.into_iter().collect()
}

fn holds(text: &str) -> bool {
    // A variable that no file asks for is an error.
    let words: &[&str] = if text.contains("$x") { &["x=1"] } else { &[] };
    match plan_of(&[("params", text)], words) {
        Ok(plan) => {
            assert!(!plan.runs.is_empty() && plan.runs.len() as u64 <= RUNS_MAX);
            for run in plan.runs.iter().take(50) {
                let _ = tasks(run, &Files::default());
                assert!(run.times.averaged().0 <= run.times.averaged().1, "{run:?}");
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

#[test]
fn random_parameter_files_are_survived() {
    let seeds = corpus("fuzz/corpus/vdbench_parameters");
    let mut rng = Rng::new(11);
    fuzzing::feed(400, || holds(&mutated(&mut rng, &seeds)));
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_a_plan() {
    for text in [RAW, FILES] {
        for (at, _) in text.char_indices() {
            holds(&text[..at]);
        }
    }
}
