//! What the tests of readers share: bad input that each of them must survive, and real outputs with known figures.

use super::{Figures, Found, Reader};
use serde_json::Value;

/// The real outputs of a program: file, text as readers get it, facts. `KURABE_CORPUS` names a directory that cannot be
/// part of this repository.
pub(crate) fn corpus(folder: &str) -> Vec<(String, String, Value)> {
    let directory = std::env::var("KURABE_CORPUS").expect("KURABE_CORPUS names the directory");
    let expected = std::fs::read_to_string(format!("{directory}/expected.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&expected).unwrap();
    let ours = expected
        .into_iter()
        .filter(|(path, _)| path.starts_with(&format!("{folder}/")));
    let read = |(path, entry): (String, Value)| {
        let bytes = std::fs::read(format!("{directory}/{path}")).unwrap();
        (path, super::line::plain(&bytes).unwrap(), entry)
    };
    let all: Vec<_> = ours.map(read).collect();
    assert!(!all.is_empty(), "no outputs in {folder}");
    all
}

/// The value of a quantity; `None` where there is none.
pub(crate) fn value(figures: &Figures, quantity: &str) -> Option<f64> {
    figures
        .values
        .iter()
        .find(|figure| figure.quantity == quantity)
        .map(|figure| figure.value)
}

/// The figures of a test in the n-th output of a text.
pub(crate) fn one<'a>(found: &'a Found, output: usize, test: &str) -> Option<&'a Figures> {
    found
        .figures
        .iter()
        .find(|figures| figures.output == output && figures.test == test)
}

/// The same number, up to the rounding of a conversion.
pub(crate) fn is_same(found: Option<f64>, expect: Option<f64>) -> bool {
    match (found, expect) {
        (Some(found), Some(expect)) => (found - expect).abs() <= expect.abs() * 1e-9,
        (found, expect) => found == expect,
    }
}

/// Cuts a text at every letter, at both ends: what is left has no figure that the whole has not.
pub(crate) fn check_cuts(reader: &Reader, text: &str) {
    let known = |found: &Found| -> Vec<(String, u32, String, f64)> {
        let values = |f: &Figures| {
            let value = |v: &super::Figure| (f.test.clone(), f.copies, v.quantity.clone(), v.value);
            f.values.iter().map(value).collect::<Vec<_>>()
        };
        found.figures.iter().flat_map(values).collect()
    };
    let whole = known(&(reader.read)(text));
    assert!(!whole.is_empty(), "nothing to cut: {text}");
    for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        for figure in known(&(reader.read)(&text[..at])) {
            assert!(whole.contains(&figure), "cut at {at}: {figure:?}");
        }
        // A text without its beginning may lack what tells copies, but never a digit.
        if at == 0 || text.as_bytes()[at - 1] == b'\n' {
            for figure in known(&(reader.read)(&text[at..])) {
                let is_known =
                    |of: &(String, u32, String, f64)| is_same(Some(of.3), Some(figure.3));
                assert!(whole.iter().any(is_known), "begun at {at}: {figure:?}");
            }
        }
    }
}

/// Gives a reader what is no output of any program, alone and around and inside of one.
pub(crate) fn check_rubbish(reader: &Reader, text: &str) {
    let whole = (reader.read)(text);
    let around = format!(
        "$ prog --x [1] {{\n\n```\n{text}\n```\n\n> done, \u{fffd}\u{202e} \u{7d50}\u{679c}\n"
    );
    assert_eq!((reader.read)(&around).figures, whole.figures, "pasted");
    for rubbish in [
        "",
        "\n\n\n",
        "[",
        "{",
        "{\"start\":",
        "a,b,c",
        "Throughput MB/sec",
        "avg_",
        "[SUM]",
        "%CP %CP",
    ] {
        assert_eq!((reader.read)(rubbish).figures, [], "{rubbish}");
    }
    // Every digit becomes one of a number that nothing can hold.
    for digits in [
        "99999999999999999999999999",
        "1e999",
        "-1",
        "NaN",
        "0x7f",
        "1,2,3",
        "",
    ] {
        let hostile = text.replace(|c: char| c.is_ascii_digit(), digits);
        for figures in (reader.read)(&hostile).figures {
            assert!(
                figures.values.iter().all(|figure| figure.value.is_finite()),
                "{figures:?}"
            );
        }
    }
    // What takes a time that grows with the square of the length would take hours of these.
    let long = |part: &str, bytes: usize| part.repeat(bytes / part.len());
    (reader.read)(&long("[  5] 1,\u{7d50} ", 20 << 20));
    let parts = [
        "[",
        "{",
        "{\"start\":[",
        "1,",
        "avg_",
        "Throughput ",
        "> ",
        "-",
    ];
    let lines = [
        "{\n",
        "[  5]\n",
        "\n",
        "Starting RD=\n",
        "{\"start\":[\n",
        "%CP\n",
    ];
    for (parts, bytes) in [(&parts[..], 1 << 20), (&lines[..], 1 << 17)] {
        for part in parts {
            (reader.read)(&format!("{text}\n{}", long(part, bytes)));
        }
    }
}
