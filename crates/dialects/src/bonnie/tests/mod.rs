//! Outputs made up in the forms of several versions, and what is no output.

mod corpus;

use super::*;
use crate::figures::testkit::{cut, is_same, one, survives};

const OLD: &str = "\
Version 1.03e       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
alpha            4G 50210  90 91000  12 45500   8 61000  93 112000   5 260.5   1
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16   151  99 +++++ +++  1401 100   247  98   288  99   480  97
";
const OLD_LINE: &str = "\
    alpha,4G,50210,90,91000,12,45500,8,61000,93,112000,5,260.5,1,16,151,99,+++++,+++,1401,100,247,98,288,99,480,97\n";

const TABLE_197: &str = "\
Version  1.97       ------Sequential Output------ --Sequential Input- --Random-
Concurrency   2     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
beta          7888M   754  97 64825   9 31211   4  3479  88 102054   5 258.5   2
Latency             15626us    4693ms    2346ms   52158us       3s     236ms
Version  1.97       ------Sequential Create------ --------Random Create--------
beta                -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16 18344  25 +++++ +++ +++++ +++ 17000  20 +++++ +++ +++++ +++
Latency               254us     568us     430us     262us      30us      40us
";
const LINE_197: &str = "\
1.97,1.97,beta,2,1299000000,7888M,,754,97,64825,9,31211,4,3479,88,102054,5,258.5,2,16,,,,,18344,25,+++++,+++,\
+++++,+++,17000,20,+++++,+++,+++++,+++,15626us,4693ms,2346ms,52158us,3s,236ms,254us,568us,430us,262us,30us,40us
";

/// Phases per byte did not run, rates have units, and of files it prints how many there were.
const TABLE_200: &str = "\
Version  2.00       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
64G:4k:2:65536                15.5m  19  960k  26              2g  31 279.5  13
Latency                         659ms     517ms             61146us    3052ms
Version  2.00       ------Sequential Create------ --------Random Create--------
gamma               -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max:min        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
         60:64:16/2 61440  63 +++++ +++ 61440  31 61440  92 +++++ +++ 61440  32
Latency               496us     387us    4534us    4108us     136us    4213us
";
const LINE_200: &str = "\
1.98,2.00a,gamma,1,1700000000,16M,,8192,5,2260,99,+++++,+++,+++++,+++,3868,99,+++++,+++,+++++,+++,1,64,16,,,340,7,\
+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,2686us,143us,37us,1802us,27us,5759us,97us,116us,3464us,65us,29us,\
4379us
";

/// The value of a quantity, which begins with its phase where the test is one of ours.
fn told(figures: &Figures, quantity: &str) -> Option<f64> {
    let mut values = figures.values.iter();
    let found = values.find(|figure| figure.quantity.ends_with(quantity));
    found.map(|figure| figure.value)
}

fn check_phase(text: &str, test: &str, rate: Option<f64>, cpu: Option<f64>, latency: Option<f64>) {
    let found = (READER.read)(text);
    let figures = one(&found, 0, test).unwrap_or_else(|| panic!("{test} of {text}"));
    let rates = told(figures, "bytes_per_s").or(told(figures, "ops_per_s"));
    assert!(is_same(rates, rate), "{test}: {rates:?}");
    let (share, largest) = (told(figures, "cpu_share"), told(figures, "lat_ns_max"));
    assert!(is_same(share, cpu), "{test}: {share:?}");
    assert!(is_same(largest, latency), "{test}: {largest:?}");
}

#[test]
fn every_phase_of_version_1_03_is_read_from_its_tables_and_from_its_line() {
    for text in [OLD, OLD_LINE] {
        check_phase(
            text,
            "bonnie.char-write",
            Some(50210.0 * 1024.0),
            Some(0.9),
            None,
        );
        check_phase(
            text,
            "bonnie.block-read",
            Some(112_000.0 * 1024.0),
            Some(0.05),
            None,
        );
        check_phase(text, "bonnie.random-seek", Some(260.5), Some(0.01), None);
        check_phase(text, "bonnie.create-seq", Some(151.0), Some(0.99), None);
        check_phase(text, "bonnie.delete-seq", Some(1401.0), Some(1.0), None);
        check_phase(text, "bonnie.delete-random", Some(480.0), Some(0.97), None);
        let found = (READER.read)(text);
        assert!(one(&found, 0, "bonnie.stat-seq").is_none());
        assert_eq!(found.figures.len(), 11);
        assert_eq!(found.figures[0].params["file_size"], "4G");
        assert_eq!(found.figures[10].params["files"], "16");
    }
}

#[test]
fn latencies_and_concurrency_came_with_version_1_9() {
    for text in [TABLE_197, LINE_197] {
        check_phase(
            text,
            "bonnie.block-write",
            Some(64825.0 * 1024.0),
            Some(0.09),
            Some(4693e6),
        );
        check_phase(
            text,
            "bonnie.block-read",
            Some(102_054.0 * 1024.0),
            Some(0.05),
            Some(3e9),
        );
        check_phase(
            text,
            "bonnie.create-random",
            Some(17000.0),
            Some(0.2),
            Some(262e3),
        );
        check_phase(text, "bonnie.stat-random", None, None, Some(30e3));
        let found = (READER.read)(text);
        assert_eq!(found.figures.len(), 12);
        for figures in &found.figures {
            assert_eq!(
                (figures.copies, figures.version.as_deref()),
                (2, Some("1.97"))
            );
        }
    }
}

#[test]
fn tables_of_version_2_have_units_and_blank_cells_and_no_rates_of_files() {
    let mib = 1_048_576.0;
    check_phase(
        TABLE_200,
        "bonnie.block-write",
        Some(15.5 * mib),
        Some(0.19),
        Some(659e6),
    );
    check_phase(
        TABLE_200,
        "bonnie.rewrite",
        Some(960.0 * 1024.0),
        Some(0.26),
        Some(517e6),
    );
    check_phase(
        TABLE_200,
        "bonnie.block-read",
        Some(2048.0 * mib),
        Some(0.31),
        Some(61_146e3),
    );
    check_phase(
        TABLE_200,
        "bonnie.random-seek",
        Some(279.5),
        Some(0.13),
        Some(3052e6),
    );
    check_phase(
        TABLE_200,
        "bonnie.create-seq",
        None,
        Some(0.63),
        Some(496e3),
    );
    let found = (READER.read)(TABLE_200);
    assert!(one(&found, 0, "bonnie.char-write").is_none());
    let params = |test| {
        let figures = one(&found, 0, test).unwrap();
        let all = figures
            .params
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        all.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(params("bonnie.rewrite"), "chunk_size=4k file_size=64G");
    assert_eq!(
        params("bonnie.random-seek"),
        "chunk_size=4k file_size=64G seeks=65536"
    );
    assert_eq!(
        params("bonnie.create-seq"),
        "directories=2 files=60 max_size=64 min_size=16"
    );
    assert_eq!(found.figures[0].copies, 2);
}

#[test]
fn the_line_of_version_2_has_two_fields_more() {
    check_phase(
        LINE_200,
        "bonnie.char-write",
        Some(2260.0 * 1024.0),
        Some(0.99),
        Some(2686e3),
    );
    check_phase(LINE_200, "bonnie.random-seek", None, None, Some(5759e3));
    check_phase(
        LINE_200,
        "bonnie.create-seq",
        Some(340.0),
        Some(0.07),
        Some(97e3),
    );
    let found = (READER.read)(LINE_200);
    assert_eq!(found.figures[0].version.as_deref(), Some("2.00a"));
    assert_eq!(found.figures[0].params["file_size"], "16M");
}

#[test]
fn a_line_without_the_phases_on_one_file_may_have_47_fields() {
    let files = "16,,,,,183,25,+++++,+++,+++++,+++,170,20,+++++,+++,+++++,+++,,,,,,,254us,568us,430us,262us,30us,40us";
    let line = format!("1.96,1.96,delta,1,1299000000{}{files}\n", ",".repeat(14));
    assert_eq!(line.split(',').count(), 47);
    check_phase(
        &line,
        "bonnie.create-seq",
        Some(183.0),
        Some(0.25),
        Some(254e3),
    );
    assert_eq!((READER.read)(&line).figures.len(), 6);
}

#[test]
fn tables_and_line_of_one_run_count_once_and_two_runs_are_two() {
    let check = |text: String, outputs: usize, figures: usize| {
        let found = (READER.read)(&text);
        let last = found.figures.last().unwrap().output;
        assert_eq!(
            (last + 1, found.figures.len()),
            (outputs, figures),
            "{text}"
        );
        assert_eq!(found.left_out, []);
    };
    check(format!("{OLD}{OLD_LINE}"), 1, 11);
    check(format!("{TABLE_197}{LINE_197}"), 1, 12);
    check(format!("{TABLE_197}{LINE_200}"), 2, 24);
    check(format!("{OLD}{TABLE_197}{LINE_197}\n{OLD_LINE}"), 3, 34);
    // The line of 1.03 does not say its version; its tables do.
    let found = (READER.read)(&format!("{OLD}{OLD_LINE}"));
    assert_eq!(found.figures[0].version.as_deref(), Some("1.03e"));
}

/// Our tests that the phases of a text are, as `TEST NAME=VALUE...`, and the quantities of each.
fn ours_of(text: &str) -> Vec<(String, Vec<String>)> {
    let found = (READER.read)(text);
    let of = |figures: &Figures| {
        let ours = figures.ours.as_ref()?;
        let set = ours
            .set
            .iter()
            .map(|(name, value)| format!(" {name}={value}"));
        let quantities = figures.values.iter().map(|figure| figure.quantity.clone());
        let test = ours.test.to_string() + &set.collect::<String>();
        Some((test, quantities.collect()))
    };
    found.figures.iter().filter_map(of).collect()
}

#[test]
fn phases_are_ours_where_version_copies_block_and_files_are_known_to_agree() {
    let alone = LINE_197.replace("beta,2,", "beta,1,");
    let table = TABLE_197.replace("Concurrency   2", "Concurrency   1");
    let tests = |text: &str| {
        let mut tests: Vec<String> = ours_of(text).into_iter().map(|(test, _)| test).collect();
        tests.dedup();
        tests
    };
    let files = "fs.bonnie-files files=16";
    assert_eq!(
        tests(&format!("{table}{alone}")),
        ["fs.bonnie size=7888M", files]
    );
    // Nobody says how large its blocks are.
    assert_eq!(tests(&alone), [files]);
    let told = alone.replace("7888M,,", "7888M,8192,");
    assert_eq!(tests(&told), ["fs.bonnie size=7888M", files]);
    assert_eq!(tests(&alone.replace("7888M,,", "7888M,16384,")), [files]);
    let nothing: [&str; 0] = [];
    for other in [LINE_197, TABLE_197, OLD, LINE_200] {
        assert_eq!(tests(other), nothing, "{other}");
    }
    assert_eq!(tests(&alone.replace("16,,,,,183", "16,64,,,,183")), nothing);
    let line = LINE_200.replace("16M,,8192,5", "16M,8192,9000,3");
    assert_eq!(tests(&line), ["fs.bonnie size=16M seeks=9000 seekers=3"]);
    let quantities = |at: usize| ours_of(&told)[at].1.join(" ");
    assert_eq!(
        quantities(1),
        "block_write_bytes_per_s block_write_cpu_share block_write_lat_ns_max"
    );
    // Version 2.00 counts its threads five times over, and the file's removal as seeks.
    assert_eq!(quantities(5), "ops_per_s cpu_share random_seek_lat_ns_max");
    assert_eq!(quantities(11), "delete_random_lat_ns_max");
}

#[test]
fn what_is_not_understood_is_listed() {
    let check = |text: String| {
        let found = (READER.read)(&text);
        assert_eq!(
            (found.figures.len(), found.left_out.len()),
            (0, 1),
            "{text} {found:?}"
        );
    };
    check(LINE_197.replace("15626us", "15626"));
    check(LINE_197.replace(",+++++", ""));
    check(LINE_197.replace("7888M", "large"));
    check("host,4G,34113,96,198720,99,73129".to_owned());
    check(TABLE_197.lines().next().unwrap().to_owned() + "\nMachine  Size K/sec %CP\nK/sec\n");
    check(LINE_197.replace("1.97,1.97", "1.93c,1.93c"));
    check(
        OLD.lines()
            .take(4)
            .collect::<Vec<_>>()
            .join("\n")
            .replace("  4G ", " big ")
            + "\n",
    );
    // Blanks are gone and cells are missing: nobody knows which.
    let table: Vec<String> = TABLE_200
        .lines()
        .take(4)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    check(table.join("\n") + "\n");
}

#[test]
fn blanks_that_are_gone_do_no_harm_where_every_cell_is_there() {
    let joined = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    let text: String = TABLE_197.lines().map(joined).collect();
    assert_eq!((READER.read)(&text), (READER.read)(TABLE_197));
    let quoted = format!("> \t{}", TABLE_200.trim_end().replace('\n', "\n> \t")) + "\n";
    assert_eq!((READER.read)(&quoted), (READER.read)(TABLE_200));
}

#[test]
fn lines_of_other_programs_are_none_of_bonnie() {
    for line in [
        "a,1,2,3",
        "x,12,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25",
        ",,,,,,,",
    ] {
        assert_eq!((READER.read)(line), Found::default(), "{line}");
    }
}

#[test]
fn bad_input_is_survived() {
    let texts = [OLD, OLD_LINE, TABLE_197, LINE_197, TABLE_200, LINE_200];
    survives(&READER, &texts);
    for text in texts {
        cut(&READER, text.trim_end());
    }
}
