//! A small strict reader of UnixBench's layout, only as large as it takes to prove that ours reads back.
//!
//! It holds the rules that readers in the wild follow: titles are the key, the number of copies comes from the
//! `running N parallel` line, and every line of a block must be understood.

use std::collections::BTreeMap;

/// One block of a report.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) copies: u32,
    pub(super) partial: bool,
    pub(super) score: Option<f64>,
    pub(super) tests: BTreeMap<String, Test>,
}

/// One test of a block.
#[derive(Debug, Default)]
pub(super) struct Test {
    pub(super) result: f64,
    pub(super) unit: String,
    pub(super) samples: u32,
    pub(super) baseline: f64,
    pub(super) index: f64,
}

/// The blocks of a report, or the first line that makes no sense.
pub(super) fn read(text: &str) -> Result<Vec<Report>, String> {
    if !text.contains("   BYTE UNIX Benchmarks (Version ") {
        return Err("no version line".to_owned());
    }
    let mut reports: Vec<Report> = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.starts_with("-----") {
            in_block = true;
            reports.push(Report::default());
            continue;
        }
        if in_block && !line.is_empty() {
            let report = reports.last_mut().ok_or("no block")?;
            read_line(report, line).ok_or_else(|| format!("not understood: {line}"))?;
        }
    }
    Ok(reports)
}

fn read_line(report: &mut Report, line: &str) -> Option<()> {
    if line.starts_with("Benchmark Run: ")
        || line.starts_with("   (no index: ")
        || line.trim() == "========"
    {
        return Some(());
    }
    if let Some((_, rest)) = line.split_once(" in system; running ") {
        report.copies = rest.split(' ').next()?.parse().ok()?;
        return Some(());
    }
    if line.starts_with("System Benchmarks Index Score") {
        report.score = Some(line.split_whitespace().next_back()?.parse().ok()?);
        return Some(());
    }
    if line.starts_with("System Benchmarks ") && line.ends_with("INDEX") {
        report.partial = line.starts_with("System Benchmarks Partial");
        return Some(());
    }
    let title = line.get(..40)?.trim_end().to_owned();
    let fields: Vec<&str> = line.get(40..)?.split_whitespace().collect();
    let test = report.tests.entry(title).or_default();
    match fields[..] {
        [result, unit, _seconds, "s,", samples, "samples)"] => {
            test.result = result.parse().ok()?;
            test.unit = unit.to_owned();
            test.samples = samples.parse().ok()?;
        }
        [baseline, result, index] => {
            // The result must be the same in both tables.
            if format!("{:.1}", test.result) != result {
                return None;
            }
            test.baseline = baseline.parse().ok()?;
            test.index = index.parse().ok()?;
        }
        _ => return None,
    }
    Some(())
}
