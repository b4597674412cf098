//! The line of comma-separated values: 27 fields of 1.03, 48 of 1.96 and 1.97, 50 of 2.00, and 47 of 1.96 without the
//! phases on one file. The version 2.00 calls its format 1.98, and prints a line of names that lacks two of them.

use super::{MAX_WORD, Phase, Report, cell, cpu_percent, file_params, is_size, latency, said};

/// The longest line of values: what is longer is no line of bonnie++.
const MAX_LINE: usize = 4096;

/// What a line is.
pub(super) enum Line {
    /// None of these lines.
    Other,
    /// One of them, and why it is left out.
    Unread(&'static str),
    /// A run.
    Report(Box<Report>),
}

/// Reads a line.
pub(super) fn read(line: &str, is_whole: bool) -> Line {
    if line.len() > MAX_LINE || !line.contains(',') {
        return Line::Other;
    }
    let fields: Vec<&str> = line.trim_end_matches('`').trim_end().split(',').collect();
    let report = match fields[0] {
        "1.96" | "1.97" | "1.98" => with_latencies(&fields),
        "1.93" | "1.93c" | "1.93d" | "1.94" | "1.95" | "2" if fields.len() >= 40 => {
            return Line::Unread("a line of a format whose order of fields is not known");
        }
        _ if fields.len() == 27 => old(&fields).map(|report| without_last(report, is_whole)),
        _ if is_part_of_old(&fields) => None,
        _ => return Line::Other,
    };
    match report {
        Some(report) => Line::Report(Box::new(report)),
        None if fields.len() == 27 => Line::Other,
        None => Line::Unread("a line of comma-separated values that is cut or changed"),
    }
}

/// Whether these are the first fields of a line of 1.03: rates and shares of at least two phases behind the size of a
/// file.
fn is_part_of_old(fields: &[&str]) -> bool {
    let size = fields[1].split(':').next().unwrap_or_default();
    let pairs = || fields[2..].chunks_exact(2);
    (6..27).contains(&fields.len())
        && is_size(size)
        && size.ends_with(['M', 'G'])
        && pairs().all(|pair| cell(pair[0]).is_some() && cpu_percent(pair[1]).is_some())
}

/// `name,size,` and a rate and a CPU share per phase, the number of files before the seventh.
fn old(fields: &[&str]) -> Option<Report> {
    let (size, chunk) = fields[1].split_once(':').unwrap_or((fields[1], ""));
    let none_ran = fields[2..14].iter().all(|field| field.is_empty());
    let is_sized = is_size(size) || (size.is_empty() && none_ran);
    if !is_sized {
        return None;
    }
    let mut report = Report {
        of_file: file_params(size, chunk),
        of_files: said(&[("files", fields[14])]),
        ..Report::default()
    };
    fill(&mut report.phases[..6], &fields[2..14])?;
    fill(&mut report.phases[6..], &fields[15..27])?;
    Some(report)
}

/// The last of these fields is a share of CPUs, which a line that was cut may lack a digit of.
fn without_last(mut report: Report, is_whole: bool) -> Report {
    report.phases[11].cpu_percent = report.phases[11].cpu_percent.filter(|_| is_whole);
    report
}

fn with_latencies(fields: &[&str]) -> Option<Report> {
    // Both formats end alike: number of files, four more of files, twelve fields of phases, twelve latencies.
    let files = fields.len().checked_sub(29)?;
    let first = match (fields[0], fields.len()) {
        ("1.98", 50) => Some(9),
        ("1.96" | "1.97", 48) => Some(7),
        ("1.96" | "1.97", 47) => None,
        _ => return None,
    };
    let version = Some(fields[1].to_owned())
        .filter(|version| !version.is_empty() && version.len() <= MAX_WORD);
    let copies: u32 = fields[3].parse().ok().filter(|copies| *copies > 0)?;
    let mut report = Report {
        version,
        copies: Some(copies),
        ..Report::default()
    };
    match first {
        Some(first) => {
            let (size, chunk) = (fields[5], fields[6]);
            if !size.is_empty() && !is_size(size) {
                return None;
            }
            report.of_file = file_params(size, chunk);
            if first == 9 {
                report.of_seeks = seek_params(fields[7], fields[8]);
            }
            fill(&mut report.phases[..6], &fields[first..first + 12])?;
        }
        None => fields[5..files]
            .iter()
            .all(|field| field.is_empty())
            .then_some(())?,
    }
    let of_files = &fields[files..files + 5];
    report.of_files = said(&[
        ("files", of_files[0]),
        ("max_size", of_files[1]),
        ("min_size", of_files[2]),
        ("directories", of_files[3]),
        ("file_chunk_size", of_files[4]),
    ]);
    fill(&mut report.phases[6..], &fields[files + 5..files + 17])?;
    for (phase, word) in report.phases.iter_mut().zip(&fields[files + 17..]) {
        if !word.is_empty() {
            phase.latency_ns = Some(latency(word)?);
        }
    }
    Some(report)
}

/// Seeks and their processes, where they are not the defaults: tables name only the others.
pub(super) fn seek_params(
    seeks: &str,
    processes: &str,
) -> std::collections::BTreeMap<String, String> {
    let unless = |word, default| if word == default { "" } else { word };
    said(&[
        ("seeks", unless(seeks, "8192")),
        ("seek_processes", unless(processes, "5")),
    ])
}

/// A rate and a share of CPUs per phase.
fn fill(phases: &mut [Phase], fields: &[&str]) -> Option<()> {
    for (phase, pair) in phases.iter_mut().zip(fields.chunks(2)) {
        phase.rate = cell(pair[0])?.value();
        phase.cpu_percent = cpu_percent(pair[1])?.value();
    }
    Some(())
}
