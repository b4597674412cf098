//! The line of comma-separated values of version 2.00, format 1.98, of a run that did the same phases: what
//! `bon_csv2html` and whoever collects such lines reads.
//!
//! A line is one round of both workloads, as `bonnie++ -x` prints one for each of its runs: medians of different rounds
//! would be a run that nobody did. Rates are not rounded away where they are small, and a phase that took less than
//! half a second has them too.

use super::{Moves, PHASES};
use model::num::round_to_u64;
use model::order::Keyed as _;
use model::params::ParamValue;
use model::plan::{CaseId, PlannedCase};
use model::record::{Outcome, Run};
use model::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Tests that have the phases on one file; of several the first that the run has is told.
const OF_FILE: [&str; 2] = ["fs.bonnie", "fs.bonnie-quick"];
const OF_FILES: &str = "fs.bonnie-files";
/// What it calls the format.
const FORMAT: &str = "1.98";
/// Bytes of a block, the only size that our phases have.
const CHUNK: &str = "8192";

/// What version 2.00 writes and reads byte by byte. The line has no field for it: where it is otherwise, these phases
/// are left out.
const SINGLY: Bytes = Bytes(3 << 20);

/// A round's values.
type Values = BTreeMap<String, f64>;

/// Whether the run is to do any of the phases, or did.
pub fn has_lines(run: &Run) -> bool {
    let is_ours = |case: &PlannedCase| is_of_file(case) || case.id.test == OF_FILES;
    let is_planned = run.plan.cases.iter().any(is_ours);
    is_planned && (run.rounds.is_empty() || !csv_lines(run).is_empty())
}

/// A line for each round; nothing where the run has none of the phases.
pub fn csv_lines(run: &Run) -> String {
    if run.meta.origin.is_some() {
        return String::new();
    }
    let large = OF_FILE.iter().find_map(|name| {
        let mut cases = run.plan.cases.iter();
        cases.find(|case| case.id.test == **name)
    });
    let large = large.map_or(OF_FILE[0], |case| case.id.test.as_str());
    let told = |case: &&PlannedCase| case.id.test == large || case.id.test == OF_FILES;
    let cases = run.plan.cases.iter().filter(told);
    let copies: BTreeSet<u32> = cases.map(|case| case.id.copies).collect();
    let mut text = String::new();
    for copies in copies {
        let rounds = |test: &str| {
            rounds(
                run,
                &CaseId {
                    test: test.to_owned(),
                    copies,
                },
            )
        };
        let [of_file, of_files] = [rounds(large), rounds(OF_FILES)];
        let passes: BTreeSet<u32> = of_file.keys().chain(of_files.keys()).copied().collect();
        for pass in passes {
            let both = [of_file.get(&pass).copied(), of_files.get(&pass).copied()];
            text += &line(run, large, copies, both);
        }
    }
    text
}

fn is_of_file(case: &PlannedCase) -> bool {
    OF_FILE.contains(&case.id.test.as_str())
}

/// The values of each pass in which the case has some.
fn rounds<'a>(run: &'a Run, id: &CaseId) -> BTreeMap<u32, &'a Values> {
    let of_case = run.rounds.iter().filter(|round| round.case == *id);
    let rounds = of_case.filter_map(|round| match &round.outcome {
        Outcome::Done(measured) => Some((round.pass, &measured.values)),
        Outcome::Failed(_) => None,
    });
    rounds.into_map()
}

fn line(run: &Run, large: &str, copies: u32, [of_file, of_files]: [Option<&Values>; 2]) -> String {
    let count = |test: &str, param: &str| {
        let id = CaseId {
            test: test.to_owned(),
            copies,
        };
        match run.plan.case(&id)?.params.get(param)? {
            ParamValue::Count(n) => Some(n.to_string()),
            _ => None,
        }
    };
    let size = of_file.and_then(|values| values.get("size_bytes"));
    let asked = |param: &str| {
        of_file
            .and_then(|_| count(large, param))
            .unwrap_or_default()
    };
    let files = of_files.and_then(|_| count(OF_FILES, "files"));
    let mut fields = vec![
        FORMAT.to_owned(),
        format!("kurabe {}", run.meta.binary.version),
        name(run),
        copies.to_string(),
        run.plan.seed.to_string(),
        size.map(|&bytes| short(bytes)).unwrap_or_default(),
        size.map(|_| CHUNK.to_owned()).unwrap_or_default(),
        asked("seeks"),
        asked("seekers"),
    ];
    let singly = run.plan.case(&CaseId {
        test: large.to_owned(),
        copies,
    });
    let singly = singly.and_then(|case| case.params.get("char_size"));
    let is_usual = singly == Some(&ParamValue::Size(SINGLY));
    let value = |at: usize, quantity: &str| {
        if PHASES[at].0.starts_with("char-") && !is_usual {
            return None;
        }
        let values = if at < 6 { of_file } else { of_files };
        values?.get(&quantity_of(at, quantity)).copied()
    };
    let rates = |fields: &mut Vec<String>, phases: std::ops::Range<usize>| {
        for at in phases {
            fields.push(
                value(at, rate(at))
                    .map(|of| decimal(of / scale(at)))
                    .unwrap_or_default(),
            );
            let cpu = value(at, "cpu_share").map(|share| round_to_u64(share * 100.0));
            fields.push(cpu.map(|percent| percent.to_string()).unwrap_or_default());
        }
    };
    rates(&mut fields, 0..6);
    fields.push(files.unwrap_or_default());
    // Sizes of files, their directories and chunks: as bonnie++ leaves them out where files are empty.
    fields.extend([(); 4].map(|()| String::new()));
    rates(&mut fields, 6..12);
    for at in 0..12 {
        let us = value(at, "lat_ns_max").map(|ns| round_to_u64(ns / 1e3).max(1));
        fields.push(us.map(|us| format!("{us}us")).unwrap_or_default());
    }
    fields.join(",") + "\n"
}

/// What our tests call a figure of a phase: `block_write_bytes_per_s`.
pub(super) fn quantity_of(at: usize, quantity: &str) -> String {
    let phase = PHASES.get(at).map_or("", |(name, ..)| name);
    format!("{}_{quantity}", phase.replace('-', "_"))
}

/// What a phase's rate is called.
pub(super) fn rate(at: usize) -> &'static str {
    match PHASES.get(at) {
        Some((_, _, Moves::Data)) => "bytes_per_s",
        _ => "ops_per_s",
    }
}

/// Bytes are told in KiB.
fn scale(at: usize) -> f64 {
    if rate(at) == "bytes_per_s" {
        1024.0
    } else {
        1.0
    }
}

/// Without a fraction from 10,000 on, as far as four digits and more are exact enough.
fn decimal(value: f64) -> String {
    if value >= 1e4 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}

/// `64M`, or in KiB where it is no whole number of these.
fn short(bytes: f64) -> String {
    let kib = round_to_u64(bytes / 1024.0);
    match kib % 1024 {
        0 => format!("{}M", kib / 1024),
        _ => format!("{kib}k"),
    }
}

/// The run's label as a field: what would end it, or make a comment or markup of the line, becomes `_`.
fn name(run: &Run) -> String {
    let label = run.meta.label.as_deref().unwrap_or("kurabe");
    let plain = |c: char| {
        if c.is_alphanumeric() || "-. ".contains(c) {
            c
        } else {
            '_'
        }
    };
    label.chars().take(super::MAX_WORD).map(plain).collect()
}

#[cfg(test)]
#[path = "tests/write.rs"]
mod tests;
