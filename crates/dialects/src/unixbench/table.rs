//! The twelve tests of the index: our name, their title, unit and reference score.
//!
//! The reference scores are those of the machine that UnixBench defines as 10, a `SPARCstation 20-61` known as
//! "George". Source: the baseline list that UnixBench publishes with its reports; both 5.1.3 and 6 use it unchanged.

/// One test of the index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexTest {
    /// Our test's name.
    pub test: &'static str,
    /// Their name for it on the command line.
    pub id: &'static str,
    /// Their title, as every report prints it and every reader looks for it.
    pub title: &'static str,
    /// Their unit: `lps`, `lpm`, `MWIPS` or `KBps`.
    pub unit: &'static str,
    /// The metric of our test that corresponds to it.
    pub quantity: &'static str,
    /// Their unit over ours: what one base unit of our metric is worth in theirs.
    pub scale: f64,
    /// Seconds in which their unit counts (1 for `lps`, 60 for `lpm`); `None` where the test itself prints a rate and
    /// the harness takes the figure as it stands.
    pub timebase: Option<f64>,
    /// The reference machine's score, in their unit.
    pub baseline: f64,
}

/// Loops per second: one operation of ours is one loop of theirs.
const fn lps(
    test: &'static str,
    id: &'static str,
    title: &'static str,
    baseline: f64,
) -> IndexTest {
    IndexTest {
        test,
        id,
        title,
        unit: "lps",
        quantity: "ops_per_s",
        scale: 1.0,
        timebase: Some(1.0),
        baseline,
    }
}

/// Loops per minute.
const fn lpm(
    test: &'static str,
    id: &'static str,
    title: &'static str,
    baseline: f64,
) -> IndexTest {
    IndexTest {
        test,
        id,
        title,
        unit: "lpm",
        quantity: "ops_per_s",
        scale: 60.0,
        timebase: Some(60.0),
        baseline,
    }
}

/// Kilobytes of 1024 bytes per second.
const fn kbps(
    test: &'static str,
    id: &'static str,
    title: &'static str,
    baseline: f64,
) -> IndexTest {
    IndexTest {
        test,
        id,
        title,
        unit: "KBps",
        quantity: "bytes_per_s",
        scale: 1.0 / 1024.0,
        timebase: None,
        baseline,
    }
}

/// Every test of the index, in UnixBench's order.
pub static TESTS: [IndexTest; 12] = [
    lps(
        "cpu.dhrystone",
        "dhry2reg",
        "Dhrystone 2 using register variables",
        116_700.0,
    ),
    IndexTest {
        test: "cpu.whetstone",
        id: "whetstone-double",
        title: "Double-Precision Whetstone",
        unit: "MWIPS",
        quantity: "wips",
        scale: 1e-6,
        timebase: None,
        baseline: 55.0,
    },
    lps("os.execl", "execl", "Execl Throughput", 43.0),
    kbps(
        "fs.copy-1024",
        "fstime",
        "File Copy 1024 bufsize 2000 maxblocks",
        3960.0,
    ),
    kbps(
        "fs.copy-256",
        "fsbuffer",
        "File Copy 256 bufsize 500 maxblocks",
        1655.0,
    ),
    kbps(
        "fs.copy-4096",
        "fsdisk",
        "File Copy 4096 bufsize 8000 maxblocks",
        5800.0,
    ),
    lps("os.pipe", "pipe", "Pipe Throughput", 12_440.0),
    lps(
        "os.context",
        "context1",
        "Pipe-based Context Switching",
        4000.0,
    ),
    lps("os.spawn", "spawn", "Process Creation", 126.0),
    lps("os.syscall", "syscall", "System Call Overhead", 15_000.0),
    lpm("os.shell-1", "shell1", "Shell Scripts (1 concurrent)", 42.4),
    lpm("os.shell-8", "shell8", "Shell Scripts (8 concurrent)", 6.0),
];

/// The test of the index that our test `name` corresponds to.
pub fn find(name: &str) -> Option<&'static IndexTest> {
    TESTS.iter().find(|entry| entry.test == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_their_units_is_worth_what_its_name_says_in_ours() {
        let check = |test: &str, reference_in_our_unit: f64| {
            let entry = find(test).unwrap();
            let theirs = reference_in_our_unit * entry.scale;
            assert!(
                (theirs - entry.baseline).abs() < 1e-9 * entry.baseline,
                "{test}: {theirs}"
            );
        };
        check("cpu.whetstone", 55_000_000.0);
        check("fs.copy-1024", 4_055_040.0);
        check("fs.copy-256", 1_694_720.0);
        check("fs.copy-4096", 5_939_200.0);
        check("os.pipe", 12_440.0);
        check("os.shell-1", 42.4 / 60.0);
        check("os.shell-8", 0.1);
    }

    #[test]
    fn names_and_titles_are_unique_and_fit_the_layout() {
        for (i, a) in TESTS.iter().enumerate() {
            assert!(a.title.len() <= 40, "{} overflows its column", a.title);
            assert!(
                a.unit.len() <= 5,
                "{} overflows the column of units",
                a.unit
            );
            for b in &TESTS[i + 1..] {
                assert!(a.test != b.test && a.title != b.title, "{}", a.test);
            }
        }
    }

    #[test]
    fn a_unit_with_a_timebase_is_a_rate_over_it() {
        for entry in &TESTS {
            match entry.timebase {
                Some(seconds) => assert!((entry.scale - seconds).abs() < 1e-12, "{}", entry.test),
                None => assert!(
                    matches!(entry.unit, "MWIPS" | "KBps"),
                    "{} needs a timebase",
                    entry.test
                ),
            }
        }
    }
}
