//! What fio measured elsewhere, read from what it printed: its text from 1.57 on, JSON and json+, terse 3, 4 and 5.
//!
//! The three readers make the nouns of [`super::result`] of it, [`quote`] makes figures of these. Where one execution
//! printed several formats, the most exact one counts: JSON before text before terse.

mod json;
mod params;
mod quote;
mod terse;
#[cfg(test)]
mod tests;
mod text;

use super::result::JobResult;
use crate::figures::{Found, LeftOut, Reader};
use model::units::UnixNanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The reader of fio's outputs.
pub(crate) const READER: Reader = Reader {
    program: "fio",
    about: "text from 1.57 to 3.x, JSON and json+, terse 3 to 5",
    read,
};

/// The formats, the least exact first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Format {
    Terse,
    Text,
    Json,
}

/// What one execution printed in one format.
#[derive(Debug)]
struct Output {
    /// Where it begins, from 1.
    line: usize,
    format: Format,
    /// Without `fio-`.
    version: Option<String>,
    when: Option<UnixNanos>,
    /// Time since the start of the run, where it is said.
    elapsed_s: Option<u64>,
    jobs: Vec<Job>,
}

/// A job or group as it was read; its options are in the words of [`params`].
#[derive(Debug, Default)]
struct Job {
    line: usize,
    result: JobResult,
    /// Its end was seen: there is no further direction.
    is_whole: bool,
}

fn read(text: &str) -> Found {
    let (outputs, mut left_out) = outputs(text);
    let mut figures = Vec::new();
    for (index, output) in outputs.iter().enumerate() {
        quote::figures(index, output, &mut figures, &mut left_out);
    }
    left_out.sort_by_key(|part| part.line);
    Found { figures, left_out }
}

/// The outputs of a text, each execution once.
fn outputs(text: &str) -> (Vec<Output>, Vec<LeftOut>) {
    let mut left_out = Vec::new();
    let (mut outputs, rest) = json::outputs(text, &mut left_out);
    outputs.extend(terse::outputs(&rest));
    outputs.extend(text::outputs(&rest, &mut left_out));
    outputs.sort_by_key(|output| output.line);
    (each_once(outputs), left_out)
}

/// One output of each execution. The best stays, and takes from the others how many jobs a group has, which JSON does
/// not say.
fn each_once(outputs: Vec<Output>) -> Vec<Output> {
    let mut order: Vec<usize> = (0..outputs.len()).collect();
    order.sort_by_key(|at| Reverse(outputs[*at].format));
    let mut outputs: Vec<Option<Output>> = outputs.into_iter().map(Some).collect();
    // Only outputs of the same jobs can be of the same execution, and of those only neighbours are looked at.
    let mut by_jobs: BTreeMap<Vec<(String, u32)>, Vec<usize>> = BTreeMap::new();
    for at in order {
        let Some(output) = outputs[at].take() else {
            continue;
        };
        let jobs = output.jobs.iter();
        let key = jobs
            .map(|job| (job.result.name.clone(), job.result.group))
            .collect();
        let same = by_jobs.entry(key).or_default();
        let found = same.iter().find(|other| {
            outputs[**other]
                .as_ref()
                .is_some_and(|o| is_same(o, &output))
        });
        if let Some(best) = found.copied().and_then(|other| outputs[other].as_mut()) {
            for (job, other) in best.jobs.iter_mut().zip(&output.jobs) {
                job.result.members = job.result.members.or(other.result.members);
            }
        } else {
            if same
                .last()
                .and_then(|last| outputs[*last].as_ref())
                .is_some_and(|last| is_earlier(last, &output))
            {
                // What fio prints of a run that goes on (`--status-interval`) is in what it prints next.
                if let Some(last) = same.pop() {
                    outputs[last] = None;
                }
            }
            outputs[at] = Some(output);
            same.push(at);
            if same.len() > NEIGHBOURS {
                same.remove(0);
            }
        }
    }
    outputs.into_iter().flatten().collect()
}

/// With how many earlier outputs of the same jobs one is compared.
const NEIGHBOURS: usize = 16;

/// Two formats of one execution: other formats, the same version, and rates that differ by rounding alone.
fn is_same(best: &Output, other: &Output) -> bool {
    // The text shortens to three digits, and the terse form cuts off what is behind the point.
    let near = |a: f64, b: f64| (a - b).abs() <= 1.0 + 0.006 * a.abs();
    let same = |a: &Job, b: &Job| {
        let mut ours = a.result.directions();
        let theirs: Vec<_> = b.result.directions().collect();
        a.result.directions().count() == theirs.len()
            && ours.all(|(name, direction)| {
                theirs
                    .iter()
                    .any(|(other, b)| *other == name && near(direction.iops, b.iops))
            })
    };
    best.format != other.format
        && (best.version == other.version || best.version.is_none() || other.version.is_none())
        && best.jobs.iter().zip(&other.jobs).all(|(a, b)| same(a, b))
}

/// Whether `first` is what was printed of the same execution while it was going on.
fn is_earlier(first: &Output, second: &Output) -> bool {
    let start = |output: &Output| {
        let end = output.when?.0 / 1_000_000_000;
        end.checked_sub(output.elapsed_s?)
    };
    let bytes = |output: &Output| -> Vec<u64> {
        let directions = output.jobs.iter().flat_map(|job| job.result.directions());
        directions
            .map(|(_, direction)| direction.io_bytes)
            .collect()
    };
    let (before, after) = (bytes(first), bytes(second));
    first.format == second.format
        && first.elapsed_s < second.elapsed_s
        && matches!((start(first), start(second)), (Some(a), Some(b)) if a.abs_diff(b) <= 1)
        && before.len() == after.len()
        && before.iter().zip(&after).all(|(a, b)| a <= b)
}

/// The beginning of a text of others, for a line of words.
fn short(text: &str) -> String {
    let mut chars = text.trim().chars();
    let mut out: String = chars.by_ref().take(SHORT).collect();
    if chars.next().is_some() {
        out.push_str("...");
    }
    out
}

/// As many characters of others are repeated.
const SHORT: usize = 80;
