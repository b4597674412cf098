//! Outputs that end before they are whole.

use super::*;

/// A text to the end of the first line that has these words.
fn until<'a>(text: &'a str, words: &str) -> &'a str {
    let at = text.find(words).unwrap();
    let end = text[at..].find('\n').unwrap();
    &text[..=at + end]
}

/// Of version 0.5, whose words are those of both neighbours.
const V05: &str = "sysbench 0.5:  multi-threaded system evaluation benchmark\n\n\
    Running the test with following options:\nNumber of threads: 4\nRandom number generator seed is 0 and will be \
    ignored\n\n\nPrime numbers limit: 20000\n\nThreads started!\n\nGeneral statistics:\n    total time:  \
    10.0s\n    total number of events:  4000\n    total time taken by event execution: 39.9s\n    response time:\n    \
    \x20    min:  9.50ms\n         avg:  9.98ms\n         max:  19.50ms\n         approx.  95 percentile: \
    10.50ms\n\nThreads fairness:\n    events (avg/stddev):  1000.0/1.0\n    execution time (avg/stddev):  9.98/0.00\n";

#[test]
fn an_output_that_ends_at_a_line_says_what_is_not_there() {
    let check = |text: &str, last: &str, missing: &str| {
        let cut = until(text, last);
        let found = read(cut);
        let [one] = &found.figures[..] else {
            panic!("{cut}: {:?}", found.figures);
        };
        let test = one.test.replace('.', " ");
        let what =
            format!("the output of {test} is not whole: {missing} is not there (cut short?)");
        assert_eq!(one.cut_short.as_ref(), Some(&what), "{cut}");
        assert!(found.left_out.iter().any(|left| left.what == what), "{cut}");
    };
    let [of_1, of_0] = ["Latency", "the statistics of a request"];
    let all_of_1 = format!("General statistics, {of_1}, Threads fairness");
    check(CPU_MEMORY, "events per second", &all_of_1);
    check(CPU_MEMORY, "total time:", &all_of_1);
    check(
        CPU_MEMORY,
        "total number",
        &format!("{of_1}, Threads fairness"),
    );
    check(CPU_MEMORY, "avg:", &format!("{of_1}, Threads fairness"));
    check(CPU_MEMORY, "sum:", "Threads fairness");
    check(CPU_MEMORY, "events (avg/stddev)", "Threads fairness");
    check(FILEIO, "written, MiB/s", &all_of_1);
    check(OLTP, "ignored errors:", &all_of_1);
    let of_11 = format!(
        "sysbench 1.1.0 {}",
        FILEIO.split_once("sysbench 1.1.0 ").unwrap().1
    );
    check(&of_11, "fsync: IOPS", &format!("{of_1}, Threads fairness"));
    check(&of_11, "sum:", "Threads fairness");
    check(V05, "total number", &format!("{of_0}, Threads fairness"));
    check(V05, "percentile", "Threads fairness");
    let all_of_04 = format!("{of_0}, Threads fairness");
    check(V04, "total number", &all_of_04);
    check(V04, "percentile", "Threads fairness");
}

#[test]
fn an_output_that_ends_before_its_results_says_so() {
    let check = |text: &str, last: &str, what: &str| {
        let found = read(until(text, last));
        assert_eq!(found.figures, []);
        let left: Vec<&str> = found.left_out.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(left, [what]);
    };
    let nothing = "no results of sysbench cpu (cut short?)";
    check(CPU_MEMORY, "Threads started!", nothing);
    check(V05, "Threads started!", nothing);
    check(V04, "Threads started!", nothing);
    let unnamed = "an output of sysbench without results (cut short?)";
    check(OLTP, "Number of threads", unnamed);
}

#[test]
fn a_whole_output_is_whole_without_its_last_line_end() {
    for text in ALL.into_iter().chain([V05]) {
        for text in [text, text.trim_end()] {
            let found = read(text);
            assert!(found.figures.iter().all(|one| one.cut_short.is_none()));
            let is_cut = |left: &LeftOut| left.what.contains("cut short");
            assert!(!found.left_out.iter().any(is_cut), "{:?}", found.left_out);
        }
    }
}

#[test]
fn a_number_that_is_broken_in_two_is_left_out_and_listed() {
    let whole = read(CPU_MEMORY);
    let check = |from: &str, to: &str| {
        assert!(CPU_MEMORY.contains(from), "{from}");
        let found = read(&CPU_MEMORY.replacen(from, to, 1));
        let values = |found: &Found| -> Vec<f64> {
            let values = found.figures.iter().flat_map(|one| &one.values);
            values.map(|one| one.value).collect()
        };
        let of_whole = values(&whole);
        let near = |one: f64| {
            of_whole
                .iter()
                .any(|other| (one / other - 1.0).abs() < 0.01)
        };
        let found_values = values(&found);
        assert!(
            found_values.iter().all(|&one| near(one)),
            "{found_values:?} of {of_whole:?}"
        );
        let left = found
            .left_out
            .iter()
            .any(|left| left.what.contains("go on with the number"));
        assert!(left, "{to}: {:?}", found.left_out);
    };
    let second = CPU_MEMORY.split_once("events per second:").unwrap().1;
    let number = second.split_whitespace().next().unwrap();
    let point = number.find('.').unwrap();
    for at in [1, point, point + 1, point + 2] {
        let broken = format!("{}\n{}", &number[..at], &number[at..]);
        check(number, &broken);
    }
}
