//! A run in the layout of UnixBench's own report, so that programs which read those reports read ours.
//!
//! What readers look for is kept to the letter: the version line, the `Benchmark Run:` and `N CPUs in system` lines,
//! the result lines, the index table and the score. Everything else says plainly who measured and how. What is not
//! known is called so (`not recorded`); the one exception is the number of CPUs, where the layout's own word for
//! "unknown" is 0. Tests without a value have no line, as in the original, and make the index partial.

use crate::printable::printable;
use crate::unixbench::indexes;
use crate::unixbench::table::find;
use jiff::Timestamp;
use model::estimate::{IndexPart, IndexSummary};
use model::host::{Fact, HostFacts};
use model::order::Order as _;
use model::record::Run;
use std::fmt::Write as _;

/// Width of the ruler above each block.
const RULER: usize = 72;

/// The run as UnixBench would have reported it: header, then one block per concurrency.
pub fn report_text(run: &Run) -> String {
    let indexes = indexes(run);
    let mut out = String::new();
    header(&mut out, run, &indexes);
    for index in &indexes {
        out.push('\n');
        block(&mut out, run, index);
    }
    out
}

fn header(out: &mut String, run: &Run, indexes: &[IndexSummary]) {
    let compat = indexes.iter().find_map(|index| index.compat.as_deref());
    let version = match compat {
        None | Some("6") => "6.0",
        Some(other) => other,
    };
    let method = match compat {
        Some(_) => "durations, passes and rules of UnixBench; not measured by UnixBench",
        None => "medians of short rounds, not UnixBench's passes; not measured by UnixBench",
    };
    let host = &run.host;
    line(out, &"=".repeat(RULER));
    line(
        out,
        &format!(
            "   BYTE UNIX Benchmarks (Version {version}-compatible, measured by kurabe {})",
            printable(&run.meta.binary.version)
        ),
    );
    line(out, "");
    let system = known(&host.hostname);
    line(out, &format!("   System: {system}: GNU/Linux"));
    line(
        out,
        &format!(
            "   OS: GNU/Linux -- {} -- {}",
            known(&host.kernel.release),
            known(&host.kernel.version)
        ),
    );
    line(
        out,
        &format!("   Machine: {} (unknown)", printable(&host.cpu.arch)),
    );
    line(
        out,
        &format!(
            "   Language: {} (charmap=\"not recorded\", collate=\"not recorded\")",
            known(&host.locale)
        ),
    );
    cpus(out, host);
    line(out, &format!("   Method: {method}"));
    let unsteady: Vec<String> = indexes.iter().filter_map(unsteady).collect();
    if !unsteady.is_empty() {
        let tests = unsteady.join("; ");
        line(
            out,
            &format!("   Note: no single number describes the rounds of {tests}"),
        );
    }
    line(out, "   Times: UTC");
}

/// The tests of an index that no single number describes, by their titles; `None` where there are none.
fn unsteady(index: &IndexSummary) -> Option<String> {
    let titles: Vec<&str> = index
        .parts
        .iter()
        .filter(|part| index.without_single_number.contains(&part.case))
        .map(|part| part.title.as_str())
        .collect();
    let copies = copies(index.copies);
    (!titles.is_empty()).then(|| format!("{} ({copies})", titles.join(", ")))
}

/// `1 parallel copy`.
fn copies(n: u32) -> String {
    let word = if n == 1 { "copy" } else { "copies" };
    format!("{n} parallel {word}")
}

/// One line per CPU and its features below it; all CPUs are taken to be alike, as far as the facts go.
fn cpus(out: &mut String, host: &HostFacts) {
    let online = host.cpu.online.known().copied().unwrap_or(0);
    for cpu in 0..online {
        let model = known(&host.cpu.model);
        line(
            out,
            &format!("   CPU {cpu}: {model} (bogomips not recorded)"),
        );
        if let (0, Fact::Known(flags)) = (cpu, &host.cpu.flags) {
            let flags = printable(&flags.join(" "));
            line(out, &format!("          CPU Features: {flags}"));
        }
    }
}

fn block(out: &mut String, run: &Run, index: &IndexSummary) {
    line(out, &"-".repeat(RULER));
    if let Some(times) = times(run, index.copies) {
        line(out, &format!("Benchmark Run: {times}"));
    }
    let online = run.host.cpu.online.known().copied().unwrap_or(0);
    line(
        out,
        &format!(
            "{online} {} in system; running {} of tests",
            if online == 1 { "CPU" } else { "CPUs" },
            copies(index.copies),
        ),
    );
    line(out, "");
    let mut parts: Vec<&IndexPart> = index.parts.iter().collect();
    parts.order_by(|a, b| a.title.cmp(&b.title));
    for part in &parts {
        line(
            out,
            &format!(
                "{:<40} {:>12.1} {:<5} ({:.1} s, {} samples)",
                part.title, part.score, part.unit, part.seconds, part.samples
            ),
        );
    }
    line(out, "");
    let (values, score) = if index.partial {
        (
            "System Benchmarks Partial Index",
            "System Benchmarks Index Score (Partial Only)",
        )
    } else {
        (
            "System Benchmarks Index Values",
            "System Benchmarks Index Score",
        )
    };
    line(
        out,
        &format!(
            "{values:<40} {:>12} {:>12} {:>8}",
            "BASELINE", "RESULT", "INDEX"
        ),
    );
    for part in &parts {
        line(
            out,
            &format!(
                "{:<40} {:>12.1} {:>12.1} {:>8.1}",
                part.title, part.baseline, part.score, part.index
            ),
        );
    }
    match (index.estimate, &index.missing) {
        (Some(estimate), _) => {
            line(out, &format!("{:66} {}", "", "========"));
            line(out, &format!("{score:<66} {:>8.1}", estimate.value));
        }
        (None, why) => {
            let why = why.as_deref().unwrap_or("the reason was not recorded");
            line(out, &format!("   (no index: {})", printable(why)));
        }
    }
}

/// From the start of the first round at this concurrency to the end of the last one. Rounds of other concurrencies
/// lie between them: kurabe shuffles all cases of a pass.
fn times(run: &Run, copies: u32) -> Option<String> {
    let rounds = || {
        run.rounds
            .iter()
            .filter(|round| round.case.copies == copies && find(&round.case.test).is_some())
    };
    let first = rounds().map(|round| round.started.0).min()?;
    let last = rounds()
        .map(|round| round.started.0.saturating_add(round.took.0))
        .max()?;
    let first = Timestamp::from_nanosecond(i128::from(first)).ok()?;
    let last = Timestamp::from_nanosecond(i128::from(last)).ok()?;
    Some(format!(
        "{} - {}",
        first.strftime("%a %b %d %Y %H:%M:%S"),
        last.strftime("%H:%M:%S")
    ))
}

fn known(fact: &Fact<String>) -> String {
    fact.known()
        .map_or_else(|| "not recorded".to_owned(), |text| printable(text))
}

/// Appends a line; writing to a `String` cannot fail.
fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unixbench::report::blocks;
    use crate::unixbench::testkit::{Kit, fail};

    /// One decimal is what the layout prints.
    fn printed(a: f64, b: f64) -> bool {
        (a - b).abs() <= 0.05 + 1e-9 * b.abs()
    }

    #[test]
    fn our_own_report_reads_back_to_the_indexes_it_was_made_from() {
        let kit = || Kit::new("off").all_at(1).all_at(16);
        let grows = |case: &model::plan::CaseId, pass| {
            f64::from(case.copies) * (1.0 + 0.01 * f64::from(pass))
        };
        let compat = Kit::new("5.1.3")
            .all_at(1)
            .passes(10, |_, pass| f64::from(pass));
        for run in [kit().passes(6, grows).run(), compat.run()] {
            let indexes = indexes(&run);
            let blocks = blocks(&report_text(&run));
            assert_eq!(blocks.len(), indexes.len());
            for (block, index) in blocks.iter().zip(&indexes) {
                assert_eq!(block.copies, Some(index.copies));
                let table = &block.tables[0];
                let (_, total) = table.total.unwrap();
                assert!(printed(total, index.estimate.unwrap().value));
                assert_eq!((block.rows.len(), table.rows.len()), (12, 12));
                for part in &index.parts {
                    let row = block
                        .rows
                        .iter()
                        .find(|row| row.title == part.title)
                        .unwrap();
                    let of_index = table
                        .rows
                        .iter()
                        .find(|row| row.title == part.title)
                        .unwrap();
                    assert!(printed(row.score, part.score), "{}", part.title);
                    assert!(printed(of_index.result, part.score), "{}", part.title);
                    assert!(printed(of_index.baseline, part.baseline), "{}", part.title);
                    assert!(printed(of_index.index, part.index), "{}", part.title);
                    assert_eq!(
                        (row.unit.as_str(), row.samples),
                        (part.unit.as_str(), Some(part.samples))
                    );
                }
            }
        }
    }

    #[test]
    fn a_failed_test_has_no_line_and_makes_the_report_partial() {
        let mut run = Kit::new("off").all_at(1).passes(6, |_, _| 1.0).run();
        for pass in 1..=6 {
            fail(&mut run, "os.spawn", pass);
        }
        let text = report_text(&run);
        assert!(text.contains("System Benchmarks Index Score (Partial Only)"));
        assert_eq!(blocks(&text)[0].rows.len(), 11);
        assert!(!text.contains("Process Creation"));
    }

    #[test]
    fn tests_that_no_single_number_describes_are_named_where_no_reader_looks() {
        let spread = |case: &model::plan::CaseId, pass: u32| match case.test.as_str() {
            "os.pipe" | "os.spawn" => [1.0, 1.5, 2.0][pass as usize % 3],
            _ => 1.0,
        };
        let run = Kit::new("off").all_at(1).all_at(4).passes(9, spread).run();
        let text = report_text(&run);
        let said = "   Note: no single number describes the rounds of Pipe Throughput, Process Creation (1 parallel \
                    copy); Pipe Throughput, Process Creation (4 parallel copies)\n";
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("Partial"));
        let steady = Kit::new("off").all_at(1).passes(9, |_, _| 1.0).run();
        assert!(!report_text(&steady).contains("Note:"));
    }

    #[test]
    fn without_an_index_the_report_says_why_and_prints_no_score() {
        let run = Kit::new("off").all_at(1).run();
        let text = report_text(&run);
        assert!(text.contains("(no index: no test of the index has a value)"));
        assert_eq!(blocks(&text)[0].tables[0].total, None);
    }

    #[test]
    fn the_header_names_who_measured_and_lets_no_escape_through() {
        let text = report_text(&Kit::new("6").all_at(1).passes(3, |_, _| 1.0).run());
        assert!(text.contains(
            "   BYTE UNIX Benchmarks (Version 6.0-compatible, measured by kurabe 0.1.0)\n"
        ));
        assert!(text.contains("   System: box?[2J: GNU/Linux\n"));
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn times_span_the_rounds_of_the_concurrency() {
        let text = report_text(&Kit::new("off").all_at(1).passes(1, |_, _| 1.0).run());
        assert!(text.contains("Benchmark Run: Sat Nov 21 2026 10:00:01 - 10:00:13\n"));
        assert!(text.contains("0 CPUs in system; running 1 parallel copy of tests\n"));
    }

    #[test]
    fn columns_stand_where_readers_of_fixed_columns_look() {
        let text = report_text(&Kit::new("off").all_at(1).passes(6, |_, _| 1.0).run());
        let lines: Vec<&str> = text.lines().collect();
        let find = |start: &str| *lines.iter().find(|line| line.starts_with(start)).unwrap();
        assert_eq!(
            find("Pipe Throughput"),
            "Pipe Throughput                               12440.0 lps   (1000000.0 s, 6 samples)"
        );
        assert_eq!(
            find("System Benchmarks Index Values"),
            "System Benchmarks Index Values               BASELINE       RESULT    INDEX"
        );
        assert_eq!(
            find("System Benchmarks Index Score"),
            "System Benchmarks Index Score                                          10.0"
        );
        assert!(lines.contains(
            &"                                                                   ========"
        ));
    }
}
