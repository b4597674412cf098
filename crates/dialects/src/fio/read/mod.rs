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
mod work;

use super::result::{Direction, JobResult, Report};
use crate::figures::{Figures, Found, LeftOut, Reader};
use model::order::Order as _;
use model::units::UnixNanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;
pub use work::work;

/// The name of the program.
pub const NAME: &str = "fio";

/// The reader of fio's outputs.
pub(crate) const READER: Reader = Reader {
    program: NAME,
    marks: &["fio", "(groupid="],
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
    /// The process of its first job, where it is said.
    pid: Option<u64>,
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

/// What an import of a report would hold, of the figures that are in it.
pub fn figures(report: &Report) -> Vec<Figures> {
    let is_there = |direction: &Direction| direction.io_bytes > 0 || direction.iops > 0.0;
    let own = |options: &[(String, String)]| {
        let all = report.global_options.iter().chain(options);
        params::with_defaults(all.map(|(name, value)| (name.as_str(), value.as_str())))
    };
    let job = |job: &JobResult| {
        let of = |direction: &Option<Direction>| direction.clone().filter(is_there);
        Job {
            line: 0,
            result: JobResult {
                options: own(&job.options),
                read: of(&job.read),
                write: of(&job.write),
                trim: of(&job.trim),
                mixed: of(&job.mixed),
                ..job.clone()
            },
            is_whole: true,
        }
    };
    let output = Output {
        line: 0,
        format: Format::Json,
        version: report.version.clone(),
        when: report.finished.as_ref().map(|finished| finished.at),
        pid: None,
        jobs: report.jobs.iter().map(job).collect(),
    };
    let mut figures = Vec::new();
    quote::figures(0, &output, &mut figures, &mut Vec::new());
    figures
}

fn read(text: &str) -> Found {
    let (outputs, mut left_out) = outputs(text);
    let mut figures = Vec::new();
    for (index, output) in outputs.iter().enumerate() {
        quote::figures(index, output, &mut figures, &mut left_out);
    }
    left_out.order_by_key(|part| part.line);
    Found { figures, left_out }
}

/// The outputs of a text, each execution once.
fn outputs(text: &str) -> (Vec<Output>, Vec<LeftOut>) {
    let mut left_out = Vec::new();
    let (mut outputs, rest) = json::outputs(text, &mut left_out);
    outputs.extend(terse::outputs(&rest, &mut left_out));
    outputs.extend(text::outputs(&rest, &mut left_out));
    outputs.order_by_key(|output| output.line);
    (most_exact(last_words(outputs)), left_out)
}

/// What outputs must have in common to be of one execution: the names and groups of their jobs.
type Jobs = Vec<(String, u32)>;

fn jobs(output: &Output) -> Jobs {
    let jobs = output.jobs.iter();
    jobs.map(|job| (job.result.name.clone(), job.result.group))
        .collect()
}

/// Without what fio prints of a run that goes on (`--status-interval`): all of that is in what it prints next.
fn last_words(outputs: Vec<Output>) -> Vec<Output> {
    let mut kept: Vec<Option<Output>> = Vec::new();
    let mut last: BTreeMap<(Format, Jobs), usize> = BTreeMap::new();
    for output in outputs {
        let before = last.insert((output.format, jobs(&output)), kept.len());
        if let Some(place) = before.and_then(|at| kept.get_mut(at)) {
            place.take_if(|before| is_earlier(before, &output));
        }
        kept.push(Some(output));
    }
    kept.into_iter().flatten().collect()
}

/// Each execution in its most exact format, which takes from the others how many jobs a group has: JSON does not always
/// say it.
fn most_exact(mut outputs: Vec<Output>) -> Vec<Output> {
    outputs.order_by_key(|output| Reverse(output.format));
    let mut kept: Vec<Output> = Vec::new();
    let mut by_jobs: BTreeMap<Jobs, Vec<usize>> = BTreeMap::new();
    for output in outputs {
        let same = by_jobs.entry(jobs(&output)).or_default();
        // Executions of the same jobs come one after the other: those far away are not of this one.
        let near = same.partition_point(|at| kept[*at].line < output.line);
        let near = near.saturating_sub(NEIGHBOURS)..same.len().min(near + NEIGHBOURS);
        let found = same[near].iter().find(|at| is_same(&kept[**at], &output));
        if let Some(at) = found.copied() {
            for (job, other) in kept[at].jobs.iter_mut().zip(&output.jobs) {
                job.result.members = job.result.members.or(other.result.members);
            }
        } else {
            same.push(kept.len());
            kept.push(output);
        }
    }
    kept.order_by_key(|output| output.line);
    kept
}

/// With so many outputs of the same jobs before it and behind it one is compared.
const NEIGHBOURS: usize = 8;

/// Two formats of one execution: other formats, the same version, and values that differ by rounding alone.
fn is_same(best: &Output, other: &Output) -> bool {
    // The text shortens to three digits, and the terse form cuts off what is behind the point.
    let near = |a: f64, b: f64| (a - b).abs() <= 1.0 + 0.006 * a.abs();
    let is_near = |a: &Direction, b: &Direction| {
        let mean = |direction: &Direction| Some(direction.lat.as_ref()?.mean_ns / 1e3);
        near(a.iops, b.iops)
            && mean(a).zip(mean(b)).is_none_or(|(a, b)| near(a, b))
            && a.runtime_ms == b.runtime_ms
    };
    // Terse lines of version 3 have no trims.
    let same = |a: &Job, b: &Job| {
        b.result.directions().all(|(name, direction)| {
            let mut ours = a.result.directions();
            ours.any(|(other, found)| other == name && is_near(found, direction))
        })
    };
    best.format != other.format
        && (best.version == other.version || best.version.is_none() || other.version.is_none())
        && best.jobs.iter().zip(&other.jobs).all(|(a, b)| same(a, b))
}

/// Whether `first` is what was printed of the same execution while it was going on: it began before the half of the
/// other was over, which only the same one can, and the process is the same where it is said.
fn is_earlier(first: &Output, second: &Output) -> bool {
    let directions = |output: &Output| -> Vec<(u64, u64)> {
        let directions = output.jobs.iter().flat_map(|job| job.result.directions());
        directions
            .map(|(_, direction)| (direction.io_bytes, direction.runtime_ms))
            .collect()
    };
    let (before, after) = (directions(first), directions(second));
    let runtime = |all: &[(u64, u64)]| all.iter().map(|(_, ms)| *ms).max().unwrap_or(0);
    let began = |output: &Output, all: &[(u64, u64)]| {
        let end_ms = output.when?.0 / 1_000_000;
        end_ms.checked_sub(runtime(all))
    };
    // Texts and old versions say the second alone.
    let ran = runtime(&before);
    let is_exact = first
        .when
        .is_some_and(|at| !at.0.is_multiple_of(1_000_000_000));
    let slack = match first.format {
        Format::Json if is_exact || ran > 2000 => ran / 2,
        Format::Text if first.pid.is_some() => 1001.max(ran / 2),
        _ => 0,
    };
    let (a, b) = (began(first, &before), began(second, &after));
    let is_one = matches!((a, b), (Some(a), Some(b)) if a.abs_diff(b) < slack);
    is_one
        && first.format == second.format
        && first.pid == second.pid
        && before.len() == after.len()
        && before.iter().zip(&after).all(|(a, b)| a.0 <= b.0)
}

/// The beginning of a text of others, for a line of words.
fn short(text: &str) -> String {
    let mut chars = text.trim().chars();
    let shown = chars.by_ref().take(SHORT);
    let mut out: String = shown
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if chars.next().is_some() {
        out.push_str("...");
    }
    out
}

/// As many characters of others are repeated.
const SHORT: usize = 80;
