//! Random texts: the parser and the readers never panic, never hang, and stay within their limits.
//!
//! A seeded mutator on the starting texts of `fuzz/corpus`, so that a failure comes again; it runs on a stable compiler
//! where the coverage-guided targets in `fuzz/` cannot. `KURABE_FUZZ_INPUTS` makes it longer.

#[path = "../../../../../fuzz/fuzz_targets/machine.rs"]
mod machine;
#[path = "../../../../../fuzz/fuzz_targets/reader.rs"]
mod readers;

use self::machine::Machine;
use super::*;
use crate::fio::{options, output};
use crate::fuzzing::{self, corpus};
use model::rng::Rng;

/// Words that take a parser into its corners.
const WORDS: &[&str] = &[
    "[global]",
    "[",
    "]",
    "[a]\n",
    "=",
    ";",
    "#",
    "\n",
    "include job.fio\n",
    "include none\n",
    "${HOME}",
    "${",
    "}",
    "$ncpus",
    "$pagesize*",
    "%",
    ":",
    ",",
    "-",
    "/",
    "\\:",
    "\"",
    "'",
    "0x",
    "18446744073709551615",
    "9223372036854775807",
    "-1",
    "1e309",
    "nan",
    "4KiB",
    "30sec",
    "1.5g",
    "100%",
    " ",
    "\t",
    "\r",
    "\u{feff}",
    "\u{0}",
    "計",
    "numjobs=4096\n",
    "nrfiles=65536\n",
    "{",
    "}",
    "{\"jobs\":[",
    "\"bins\":{",
    "3;fio-",
    "5;fio-",
    ";;;;",
    "--",
    "--name=",
    "--section",
];

fn mutate(rng: &mut Rng, seeds: &[String], names: &[&str]) -> String {
    let mut text: Vec<char> = seeds[rng.index(seeds.len())].chars().collect();
    for _ in 0..=rng.below(5) {
        let at = rng.index(text.len() + 1);
        let end = (at + rng.index(40)).min(text.len());
        match rng.below(7) {
            0 => drop(text.drain(at..end)),
            1 => drop(text.splice(at..at, WORDS[rng.index(WORDS.len())].chars())),
            2 => {
                let value = WORDS[rng.index(WORDS.len())];
                let option = format!("\n{}={value}\n", names[rng.index(names.len())]);
                drop(text.splice(at..at, option.chars()));
            }
            3 => {
                let copy: Vec<char> = text[at..end].to_vec();
                let to = rng.index(text.len() + 1);
                drop(text.splice(to..to, copy));
            }
            4 if at < text.len() => {
                let code = u32::try_from(rng.below(0x250)).unwrap();
                text[at] = char::from_u32(code).unwrap_or('x');
            }
            5 => {
                let digits = rng.next().to_string();
                drop(text.splice(at..at, digits.chars()));
            }
            _ => {
                let other: Vec<char> = seeds[rng.index(seeds.len())].chars().collect();
                let from = rng.index(other.len() + 1);
                drop(text.splice(at.., other[from..].iter().copied()));
            }
        }
    }
    text.into_iter().collect()
}

fn feed(seed: u64, default: u64, seeds: &[String], mut accepts: impl FnMut(&str) -> bool) {
    let names: Vec<&str> = options::all().flat_map(options::OptionDef::names).collect();
    let mut rng = Rng::new(seed);
    fuzzing::feed(default, || accepts(&mutate(&mut rng, seeds, &names)));
}

fn holds(plan: Result<Plan, Error>) -> bool {
    match plan {
        Ok(plan) => {
            assert!(plan.jobs().count() <= MAX_JOBS);
            for job in plan.jobs().filter(|job| job.clone == 0) {
                assert!(!job.target.files.is_empty());
                let _ = resolve(job, |path| Machine(String::new()).find(path));
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

fn job_files(default: u64) {
    feed(1, default, &corpus("fuzz/corpus/fio_job_file"), |text| {
        holds(parse_file("job.fio", &Machine(text.to_owned())))
    });
}

fn command_lines(default: u64) {
    let file = "[global]\nbs=8k\n[a]\n[b]\nstonewall\n";
    feed(
        2,
        default,
        &corpus("fuzz/corpus/fio_command_line"),
        |text| {
            let arguments: Vec<String> = text.lines().map(str::to_owned).collect();
            holds(parse(&arguments, &Machine(file.to_owned())))
        },
    );
}

fn outputs(default: u64) {
    feed(
        3,
        default,
        &corpus("crates/dialects/testdata/fio"),
        |text| {
            let report = printed::read(text);
            if let Some(report) = &report {
                assert!(!output::json(report, true).is_empty());
                let _ = (output::terse(report, 5), output::text(report, false));
            }
            report.is_some()
        },
    );
}

fn readers_of_outputs(default: u64) {
    for (seed, program) in [(4, "fio"), (5, "yabs")] {
        let seeds = corpus(&format!("fuzz/corpus/{program}_outputs"));
        feed(seed, default, &seeds, |text| {
            readers::read(program, text.as_bytes())
        });
    }
}

#[test]
fn a_few_random_texts_of_each_kind_are_survived() {
    job_files(300);
    command_lines(300);
    outputs(100);
    readers_of_outputs(100);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: half a minute of random job files"]
    fn random_job_files_are_survived() {
        job_files(30_000);
    }

    #[test]
    #[ignore = "slow: half a minute of random command lines"]
    fn random_command_lines_are_survived() {
        command_lines(20_000);
    }

    #[test]
    #[ignore = "slow: half a minute of random outputs"]
    fn random_outputs_are_survived() {
        outputs(10_000);
    }

    #[test]
    #[ignore = "slow: half a minute of random outputs"]
    fn random_outputs_of_others_are_survived() {
        readers_of_outputs(5_000);
    }
}
