//! Tests of the reader of UnixBench's reports: by reports made up here, and by those of a corpus.

use super::*;
use crate::figures::testkit::{self, same};
use crate::unixbench::report::date;
use crate::unixbench::testkit::Kit;
use crate::unixbench::{indexes, printable_ends, report_text};

const V5: &str = include_str!("../../../../fuzz/corpus/unixbench_output/5.1.3");
const V6: &str = include_str!("../../../../fuzz/corpus/unixbench_output/6.0.0");
const V4: &str = include_str!("../../../../fuzz/corpus/unixbench_output/4.1.0");
const PARTIAL: &str = include_str!("../../../../fuzz/corpus/unixbench_output/partial");

/// `test @ copies = value of quantity`, of each figure.
fn told(found: &Found) -> Vec<String> {
    let tell = |one: &Figures| {
        let figure = &one.values[0];
        format!(
            "{}@{} = {:.1} {}",
            one.test, one.copies, figure.value, figure.quantity
        )
    };
    found.figures.iter().map(tell).collect()
}

fn left_out(text: &str) -> Vec<(usize, String)> {
    let left = read(text).left_out.into_iter();
    left.map(|one| (one.line, one.what)).collect()
}

#[test]
fn the_twelve_tests_of_5_and_6_are_those_of_kurabe() {
    let check = |text: &str, version: &str, compat: &str, copies: u32, date: &str| {
        let found = read(text);
        assert_eq!(found.left_out, []);
        assert_eq!(found.figures.len(), 24);
        for (i, one) in found.figures.iter().enumerate() {
            let entry = TESTS.iter().find(|entry| entry.title == one.title).unwrap();
            assert_eq!(one.test, format!("unixbench.{}", entry.id));
            assert_eq!(
                (one.output, one.copies),
                (0, if i < 12 { 1 } else { copies })
            );
            assert_eq!(one.version.as_deref(), Some(version));
            assert_eq!(
                one.when.unwrap().rfc3339(),
                format!(
                    "{date}T10:{}0.000000000Z",
                    if i < 12 { "00:0" } else { "28:1" }
                )
            );
            assert_eq!(one.values[0].quantity, entry.quantity);
            let ours = one.ours.as_ref().unwrap();
            assert_eq!(
                (&*ours.test, &ours.set[..]),
                (entry.test, &[("compat", compat.to_owned())][..])
            );
            assert_eq!(
                one.params.contains_key("language"),
                entry.id.starts_with("shell")
            );
        }
    };
    check(V5, "5.1.3", "5.1.3", 4, "2026-08-21");
    check(V6, "6.0.0", "6", 64, "2026-08-22");
}

#[test]
fn values_are_in_base_units() {
    let text = "BYTE UNIX Benchmarks (Version 5.1.3)\n2 CPUs in system; running 2 parallel copies of tests\n\
                Double-Precision Whetstone 1000.5 MWIPS (10.0 s, 7 samples)\n\
                File Copy 256 bufsize 500 maxblocks 100.0 KBps\n\
                Shell Scripts (1 concurrent) 120.0 lpm (60.0 s, 2 samples)\n\
                System Call Overhead 7.5 lps (10.0 s, 7 samples)\n";
    assert_eq!(
        told(&read(text)),
        [
            "unixbench.whetstone-double@2 = 1000500000.0 wips",
            "unixbench.fsbuffer@2 = 102400.0 bytes_per_s",
            "unixbench.shell1@2 = 2.0 ops_per_s",
            "unixbench.syscall@2 = 7.5 ops_per_s",
        ]
    );
}

#[test]
fn version_4_has_tests_of_its_own() {
    let found = read(V4);
    assert_eq!(found.left_out, []);
    assert_eq!(found.figures.len(), 11);
    assert!(
        found
            .figures
            .iter()
            .all(|one| one.ours.is_none() && one.copies == 1)
    );
    let date = found.figures[0].when.unwrap().rfc3339();
    assert_eq!(date, "2002-09-05T21:19:59.000000000Z");
    let tests: Vec<&str> = found.figures.iter().map(|one| one.test.as_str()).collect();
    assert_eq!(
        tests[4..7],
        [
            "unixbench.fstime-r",
            "unixbench.fsbuffer",
            "unixbench.shell16"
        ]
    );
}

#[test]
fn without_a_version_nobody_knows_which_rules_a_figure_follows() {
    let found = read(PARTIAL);
    assert_eq!(found.left_out, []);
    let outputs: Vec<usize> = found.figures.iter().map(|one| one.output).collect();
    assert_eq!(outputs, [0, 0, 1, 1]);
    assert!(
        found
            .figures
            .iter()
            .all(|one| one.ours.is_none() && one.copies == 8 && one.version.is_none())
    );
}

#[test]
fn an_index_table_stands_in_for_lines_that_are_missing() {
    let whole = read(V5);
    let without = |word: &str| -> String {
        V5.lines()
            .filter(|line| !line.contains(word))
            .map(|line| line.to_owned() + "\n")
            .collect()
    };
    let found = read(&without(" samples)"));
    assert_eq!(told(&found), told(&whole));
    let no_tables: String = V5
        .lines()
        .filter(|line| row_of_table(line))
        .map(|line| line.to_owned() + "\n")
        .collect();
    let found = read(&no_tables);
    assert_eq!(told(&found), told(&whole));
    let left: Vec<String> = left_out(&no_tables)
        .into_iter()
        .map(|(_, what)| what)
        .collect();
    let missing = "is not whole: its index table is not there (cut short?)";
    let expect = ["1 copy", "4 copies"].map(|copies| format!("the report of {copies} {missing}"));
    assert_eq!(left, expect);
}

#[test]
fn a_report_that_ends_at_a_line_says_what_is_not_there() {
    let check = |text: &str, last: &str, missing: &str| {
        // Before its report a run tells how far it is.
        let start = text.find("in system; running").unwrap_or(0);
        let at = start + text[start..].find(last).unwrap();
        let cut = &text[..=at + text[at..].find('\n').unwrap()];
        let what = format!("the report of 1 copy is not whole: {missing} (cut short?)");
        let found = read(cut);
        let told = found.figures.iter().map(|one| one.cut_short.as_deref());
        assert!(told.clone().all(|one| one == Some(&what)), "{cut}");
        let left: Vec<&str> = found.left_out.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(left, [what.as_str()], "{cut}");
        assert_eq!(told.count() == 0, missing.contains("results"), "{cut}");
    };
    for text in [V5, V6] {
        check(text, "in system; running", "its results are not there");
    }
    for text in [V5, V6, V4] {
        check(text, "Dhrystone 2", "its index table is not there");
        check(text, "System Call Overhead", "its index table is not there");
        check(text, "BASELINE", "its index is not there");
        check(text, "=====\n", "its index is not there");
        let whole = read(text.trim_end());
        assert!(whole.figures.iter().all(|one| one.cut_short.is_none()));
    }
    let outside = "BYTE UNIX Benchmarks (Version 5.1.3)\n2 CPUs in system; running 1 parallel copy of tests\n\
                   Recursion Test--Tower of Hanoi 28605.8 lps (20.0 s, 3 samples)\n";
    assert_eq!(read(outside).left_out, []);
}

fn row_of_table(line: &str) -> bool {
    line.contains(" samples)")
        || !TESTS.iter().any(|entry| line.starts_with(entry.title)) && !line.contains("INDEX")
}

#[test]
fn what_does_not_agree_is_said() {
    let check = |from: &str, to: &str, expect: &[(usize, &str)]| {
        let text = PARTIAL.replacen(from, to, 1);
        assert_ne!(text, PARTIAL);
        let left = left_out(&text);
        let left: Vec<(usize, &str)> = left
            .iter()
            .map(|(line, what)| (*line, what.as_str()))
            .collect();
        assert_eq!(left, expect);
    };
    check(
        "642.3",
        "642.5",
        &[(
            11,
            "the index 642.5 does not follow from the lines, which make 642.3",
        )],
    );
    check(
        "  500.0",
        "  501.0",
        &[(9, "the index 501 of System Call Overhead is not 500.0")],
    );
    check(
        "750000.0 lps",
        "750001.0 lps",
        &[(
            9,
            "System Call Overhead: 750000 in the index table, 750001 above",
        )],
    );
}

#[test]
fn what_cannot_be_kept_is_named() {
    let check = |lines: &str, expect: &[&str]| {
        let text = format!(
            "BYTE UNIX Benchmarks (Version 6.0.0)\n4 CPUs in system; running 4 parallel copies of tests\n{lines}"
        );
        let found = read(&text);
        assert_eq!(found.figures, []);
        let left = left_out(&text).into_iter().map(|(_, what)| what);
        // Of what follows the lines another test tells.
        let left: Vec<String> = left.filter(|what| !what.contains("is not whole")).collect();
        assert_eq!(left, expect);
    };
    check(
        "2D graphics: rectangles 1119.1 score (3.0 s, 2 samples)\n",
        &["an unknown test: 2D graphics: rectangles"],
    );
    check(
        "Pipe Throughput 1.0 KBps (3.0 s, 2 samples)\n",
        &["Pipe Throughput in KBps instead of lps"],
    );
    check(
        "Pipe Throughput 0.0 lps (3.0 s, 2 samples)\n",
        &["Pipe Throughput: 0 is no score"],
    );
    check(
        "Pipe Throughput 1e999 lps (3.0 s, 2 samples)\n",
        &["not understood: Pipe Throughput 1e999 lps (3.0 s, 2 samples)"],
    );
    check("1 x Pipe Throughput  1 2 3 4 5 6 7 8 9 10\n", &[]);
    let no_copies = "Pipe Throughput 10.0 lps (10.0 s, 7 samples)\n";
    let what = "results without `running N parallel copies of tests` above them";
    assert_eq!(left_out(no_copies), [(1, what.to_owned())]);
    assert_eq!(read(no_copies).figures, []);
}

#[test]
fn another_reference_score_is_another_test() {
    let text = V6.replace("15000.0", "16000.0");
    let found = read(&text);
    let ours = |test: &str| {
        found
            .figures
            .iter()
            .filter(|one| one.test == test && one.ours.is_some())
            .count()
    };
    assert_eq!((ours("unixbench.syscall"), ours("unixbench.pipe")), (0, 2));
    assert!(!found.left_out.is_empty());
}

#[test]
fn a_report_of_kurabe_is_not_one_of_unixbench() {
    let run = Kit::new("6")
        .all_at(1)
        .all_at(2)
        .passes(3, |_, _| 1.0)
        .run();
    let text = report_text(&run);
    assert_eq!(read(&text).figures, []);
    assert_eq!(left_out(&text).len(), 1);
}

#[test]
fn the_index_of_the_figures_is_the_one_printed() {
    for text in [V5, V6] {
        assert_eq!(check_indexes(&read(text), text), 2);
    }
}

/// The index that kurabe makes of the figures against each one printed; how many there were.
fn check_indexes(found: &Found, text: &str) -> usize {
    let printed: Vec<f64> = blocks(text)
        .iter()
        .flat_map(|block| &block.tables)
        .filter_map(|table| Some(table.total?.1))
        .collect();
    let outputs: BTreeSet<usize> = found.figures.iter().map(|one| one.output).collect();
    let mut computed = Vec::new();
    for output in outputs {
        let figures: Vec<&Figures> = found
            .figures
            .iter()
            .filter(|one| one.output == output && one.ours.is_some())
            .collect();
        let compat = figures
            .first()
            .map(|one| one.ours.as_ref().unwrap().set[0].1.as_str());
        let kit = match compat {
            Some("5.1.3") => Kit::new("5.1.3"),
            Some("6") => Kit::new("6"),
            _ => continue,
        };
        let run = kit.figures(&figures).run();
        computed.extend(indexes(&run));
    }
    for (index, printed) in computed.iter().zip(&printed) {
        // What is printed is rounded, and so are the scores that it is computed from here: no more lies between.
        let value = index.estimate.unwrap().value;
        let [low, high] = printable_ends(index);
        assert!(low <= value && value <= high, "{low} .. {high}");
        let rounds_to = low - HALF_DIGIT - 1e-9..=high + HALF_DIGIT + 1e-9;
        assert!(rounds_to.contains(printed), "{printed}: {low} .. {high}");
        same("index", value, *printed, 0.1);
    }
    computed.len()
}

#[test]
fn as_many_tests_as_a_text_holds_take_no_longer_than_their_lines() {
    const MANY: usize = 30_000;
    let rows = |tail: &str| {
        let lines: Vec<String> = (0..MANY).map(|i| format!("test {i} {tail}")).collect();
        lines.join("\n") + "\n"
    };
    let known = "Pipe Throughput 12440.0 1.0 2.0\n".repeat(MANY);
    let header = "System Benchmarks Index Values BASELINE RESULT INDEX\n";
    let table = rows("1.0 1.0 10.0");
    let lines = rows("1.0 lps (1.0 s, 2 samples)");
    let found = read(&format!(
        "{V5}4 CPUs in system; running 9 parallel copies of tests\n{lines}{header}{table}{known}"
    ));
    assert_eq!(found.figures.len(), 25);
}

#[test]
fn cut_anywhere_it_says_nothing_that_the_whole_does_not() {
    // Every byte of a report twice is much; half of its tests have all that the others have.
    let is_kept = |line: &&str| {
        !["File Copy", "Shell", "Pipe", "CPU 0"]
            .iter()
            .any(|word| line.contains(word))
    };
    let half: String = V5
        .lines()
        .filter(is_kept)
        .map(|line| line.to_owned() + "\n")
        .collect();
    for text in [half.as_str(), V4, PARTIAL] {
        testkit::cut(&READER, text);
    }
}

#[test]
fn what_quotes_a_report_is_no_part_of_it() {
    for text in [V5, V6, V4, PARTIAL] {
        testkit::quoted(&READER, text);
    }
}

#[test]
fn bad_input_is_survived() {
    testkit::survives(&READER, &[V4, PARTIAL]);
}

/// Real outputs, which cannot be part of this repository.
mod corpus {
    use super::*;

    #[test]
    #[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
    fn every_report_of_the_corpus_is_read_to_its_last_figure() {
        let (mut rows, mut indexes) = (0, 0);
        for (path, text, entry) in testkit::corpus("unixbench") {
            let facts = &entry["facts"];
            let found = read(&text);
            // The second report of one ends in the heading of its table.
            let without_index =
                |run: &&serde_json::Value| run["indices"].as_array().is_some_and(Vec::is_empty);
            let reports = facts["reports"].as_array().unwrap().iter();
            let cut = reports.flat_map(|report| report["runs"].as_array().unwrap());
            let is_cut = |left: &LeftOut| left.what.contains("its index table is not there");
            assert!(
                found.left_out.iter().all(is_cut),
                "{path}: {:?}",
                found.left_out
            );
            assert_eq!(
                found.left_out.len(),
                cut.filter(without_index).count(),
                "{path}"
            );
            let mut figures = found.figures.iter();
            let blocks = blocks(&text);
            let mut tables = blocks.iter();
            for report in facts["reports"].as_array().unwrap() {
                for run in report["runs"].as_array().unwrap() {
                    let raw = run["raw"].as_object().unwrap();
                    for one in figures.by_ref().take(raw.len()) {
                        let wanted = &raw[&one.title];
                        assert_eq!(one.version.as_deref(), report["version"].as_str(), "{path}");
                        assert_eq!(
                            u64::from(one.copies),
                            run["copies"].as_u64().unwrap_or(1),
                            "{path}"
                        );
                        let entry = known(&one.title).unwrap();
                        assert_eq!(entry.unit, wanted["unit"], "{path}");
                        let scale = match entry.unit {
                            "KBps" => 1.0 / 1024.0,
                            "lpm" => 60.0,
                            "MWIPS" => 1e-6,
                            _ => 1.0,
                        };
                        let score = wanted["score"].as_f64().unwrap();
                        same(&one.title, one.values[0].value * scale, score, 0.05);
                        assert_eq!(
                            one.params["samples"],
                            wanted["samples"].to_string(),
                            "{path}"
                        );
                        if let Some(start) = run["start"].as_str().or(report["start"].as_str()) {
                            let start = if start.contains("BST") {
                                start.to_owned()
                            } else {
                                format!("{start} -")
                            };
                            assert_eq!(one.when, date(&start), "{path}");
                            assert!(one.when.is_some(), "{path}: {start}");
                        }
                        let of_family = one.version.as_deref().and_then(compat).is_some();
                        assert_eq!(one.ours.is_some(), of_family, "{path}");
                        rows += 1;
                    }
                    let tables = &tables.next().unwrap().tables;
                    let wanted = run["indices"].as_array().unwrap();
                    assert_eq!(tables.len(), wanted.len(), "{path}");
                    for (table, wanted) in tables.iter().zip(wanted) {
                        let rows = wanted["rows"].as_object().unwrap();
                        assert_eq!(table.rows.len(), rows.len(), "{path}");
                        for row in &table.rows {
                            let wanted = &rows[&row.title];
                            for (value, key) in [
                                (row.baseline, "baseline"),
                                (row.result, "result"),
                                (row.index, "index"),
                            ] {
                                same(&row.title, value, wanted[key].as_f64().unwrap(), 0.0);
                            }
                        }
                        same(
                            "index",
                            table.total.unwrap().1,
                            wanted["total"].as_f64().unwrap(),
                            0.0,
                        );
                    }
                }
            }
            assert!(
                figures.next().is_none() && tables.next().is_none(),
                "{path}"
            );
            indexes += check_indexes(&found, &text);
        }
        println!("{rows} rows, {indexes} indexes");
        assert!(
            rows >= 181 && indexes >= 11,
            "{rows} rows, {indexes} indexes"
        );
    }
}
