//! Tests of the reader of mbw's outputs: by outputs made up here, and by those of a corpus.

use super::*;
use crate::figures::testkit::{self, same};

const AVERAGES: &str = include_str!("../../../../fuzz/corpus/mbw_output/averages");
const NO_AVERAGES: &str = include_str!("../../../../fuzz/corpus/mbw_output/no-averages");
const QUIET: &str = include_str!("../../../../fuzz/corpus/mbw_output/quiet");

fn told(text: &str) -> Vec<(usize, String, f64)> {
    let tell = |one: Figures| (one.output, one.test, one.values[0].value / MIB);
    let figures = read(text).figures.into_iter();
    figures.map(tell).collect()
}

#[test]
fn each_way_has_its_average() {
    let check = |text: &str, expect: &[(&str, f64)]| {
        let found = told(text);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for ((output, test, mib), (name, wanted)) in found.iter().zip(expect) {
            assert_eq!((*output, test.as_str()), (0, *name));
            same(name, *mib, *wanted, 0.0005);
        }
        assert_eq!(read(text).left_out, []);
    };
    check(
        AVERAGES,
        &[
            ("mbw.memcpy", 7020.745),
            ("mbw.dumb", 6907.163),
            ("mbw.mcblock", 12_016.763),
        ],
    );
    check(
        NO_AVERAGES,
        &[
            ("mbw.memcpy", 7556.6142),
            ("mbw.dumb", 6805.246),
            ("mbw.mcblock", 13_050.186),
        ],
    );
    check(QUIET, &[("mbw.memcpy", 7775.207)]);
}

#[test]
fn only_the_way_that_the_text_is_sure_of_is_ours() {
    let check = |text: &str, expect: &[Option<&[(&str, &str)]>]| {
        let found = read(text).figures;
        let sets: Vec<Option<Vec<(&str, &str)>>> = found
            .iter()
            .map(|one| {
                let ours = one.ours.as_ref()?;
                assert_eq!(
                    (&*ours.test, one.test.as_str()),
                    ("memory.mbw-mcblock", "mbw.mcblock")
                );
                Some(
                    ours.set
                        .iter()
                        .map(|(name, value)| (*name, value.as_str()))
                        .collect(),
                )
            })
            .collect();
        let sets: Vec<Option<&[(&str, &str)]>> = sets.iter().map(Option::as_deref).collect();
        assert_eq!(sets, expect);
    };
    check(AVERAGES, &[None, None, Some(&[])]);
    check(
        NO_AVERAGES,
        &[None, None, Some(&[("size", "16777216"), ("block", "4096")])],
    );
    check(&QUIET.replace("MEMCPY", "MCBLOCK"), &[None]);
}

#[test]
fn a_header_is_about_its_own_output() {
    let quiet = QUIET.replace("MEMCPY", "MCBLOCK");
    let found = read(&format!("{NO_AVERAGES}{quiet}{AVERAGES}"));
    assert_eq!(found.left_out, []);
    let mcblocks = found.figures.iter().filter(|one| one.test == "mbw.mcblock");
    let blocks: Vec<(usize, Option<&str>)> = mcblocks
        .map(|one| (one.output, one.params.get("block").map(String::as_str)))
        .collect();
    assert_eq!(
        blocks,
        [
            (0, Some("4096 bytes")),
            (1, None),
            (2, Some("262144 bytes"))
        ]
    );
}

#[test]
fn a_way_that_was_cut_has_no_average() {
    let check = |text: &str, tests: usize, left: &[usize]| {
        let found = read(text);
        let lines: Vec<usize> = found.left_out.iter().map(|one| one.line).collect();
        assert_eq!((found.figures.len(), &lines[..]), (tests, left), "{text}");
    };
    let head = |text: &str, lines: usize| -> String {
        text.lines()
            .take(lines)
            .map(|line| line.to_owned() + "\n")
            .collect()
    };
    check(&head(AVERAGES, 5), 0, &[4]);
    check(&head(AVERAGES, 6), 1, &[]);
    check(&head(NO_AVERAGES, 6), 1, &[6]);
    check(&head(QUIET, 3), 0, &[1]);
    check(QUIET.trim_end().trim_end_matches(" MiB/s"), 1, &[]);
    check(
        "7\tMethod: DUMB\tElapsed: 1.0\tMiB: 8.0\tCopy: 8.000 MiB/s\n",
        0,
        &[],
    );
    check(
        "AVG\tMethod: OTHER\tElapsed: 1.0\tMiB: 8.0\tCopy: 8.000 MiB/s\n",
        0,
        &[1],
    );
}

#[test]
fn what_quotes_an_output_is_no_part_of_it() {
    for text in [AVERAGES, NO_AVERAGES, QUIET] {
        testkit::quoted(&READER, text);
    }
}

#[test]
fn bad_input_is_survived() {
    testkit::survives(&READER, &[AVERAGES, NO_AVERAGES, QUIET]);
}

/// Real outputs, which cannot be part of this repository.
mod corpus {
    use super::*;

    #[test]
    #[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
    fn every_output_of_the_corpus_is_read_to_its_last_figure() {
        let mut read_figures = 0;
        for (path, text, entry) in testkit::corpus("mbw") {
            let facts = &entry["facts"];
            let found = read(&text);
            assert_eq!(found.left_out, [], "{path}");
            let mut figures = found.figures.iter();
            for (output, block) in facts["blocks"].as_array().unwrap().iter().enumerate() {
                let averages = block["average_mib_per_s"].as_object().unwrap();
                for one in figures.by_ref().take(averages.len()) {
                    let (title, _) = METHODS
                        .iter()
                        .find(|(_, name)| one.test == format!("mbw.{name}"))
                        .unwrap();
                    let average = averages[*title].as_f64().unwrap();
                    same(&path, one.values[0].value / MIB, average, 0.0005);
                    let size: f64 = amount(&one.params["array"]).unwrap().0;
                    same(&path, size, block["array_mib"].as_f64().unwrap(), 0.0);
                    assert_eq!(one.output, output, "{path}");
                    read_figures += 1;
                }
            }
            assert!(figures.next().is_none(), "{path}");
            // Without the averages, they follow from the copies where the text says how many there are.
            let copies: String = text
                .lines()
                .filter(|line| !line.starts_with("AVG"))
                .map(|line| line.to_owned() + "\n")
                .collect();
            let again = read(&copies).figures;
            if text.contains("runs per test") {
                assert_eq!(again.len(), found.figures.len(), "{path}");
                for (one, other) in again.iter().zip(&found.figures) {
                    same(
                        &path,
                        one.values[0].value / MIB,
                        other.values[0].value / MIB,
                        1.0,
                    );
                }
            }
        }
        assert_eq!(read_figures, 7);
    }
}
