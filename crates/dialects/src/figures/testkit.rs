//! What the tests of every reader share: bad input that each must survive, and real outputs with known figures.

use super::line::plain;
use super::{Figures, Found, Reader};
use model::rng::Rng;
use serde_json::Value;

/// The real outputs of a program: file, text as readers get it, and what is known of it. `KURABE_CORPUS` names a
/// directory that cannot be part of this repository.
pub(crate) fn corpus(folder: &str) -> Vec<(String, String, Value)> {
    let directory = std::env::var("KURABE_CORPUS").expect("KURABE_CORPUS names the directory");
    let expected = std::fs::read_to_string(format!("{directory}/expected.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&expected).unwrap();
    let ours = expected
        .into_iter()
        .filter(|(path, _)| path.starts_with(&format!("{folder}/")));
    let read = |(path, entry): (String, Value)| {
        let bytes = std::fs::read(format!("{directory}/{path}")).unwrap();
        (path, plain(&bytes).unwrap(), entry)
    };
    let all: Vec<_> = ours.map(read).collect();
    assert!(!all.is_empty(), "no outputs in {folder}");
    all
}

/// The value of a quantity; `None` where there is none.
pub(crate) fn value(figures: &Figures, quantity: &str) -> Option<f64> {
    let mut values = figures.values.iter();
    let found = values.find(|figure| figure.quantity == quantity);
    found.map(|figure| figure.value)
}

/// The figures of a test in the n-th output of a text.
pub(crate) fn one<'a>(found: &'a Found, output: usize, test: &str) -> Option<&'a Figures> {
    let mut figures = found.figures.iter();
    figures.find(|figures| figures.output == output && figures.test == test)
}

/// The same number, up to the rounding of a conversion.
pub(crate) fn is_same(found: Option<f64>, expect: Option<f64>) -> bool {
    match (found, expect) {
        (Some(found), Some(expect)) => (found - expect).abs() <= expect.abs() * 1e-9,
        (found, expect) => found == expect,
    }
}

/// Asserts that `value` is what was printed as `printed`, within half a unit of its last digit.
pub(crate) fn same(what: &str, value: f64, printed: f64, half_digit: f64) {
    let slack = half_digit + 1e-9 * printed.abs();
    assert!(
        (value - printed).abs() <= slack,
        "{what}: {value} instead of {printed}"
    );
}

/// A figure as cuts tell it apart: test, copies, quantity, value.
type Told = (String, u32, String, f64);

fn told(found: &Found) -> Vec<Told> {
    let all = found.figures.iter().flat_map(|one| {
        let values = one.values.iter();
        values.map(|v| (one.test.clone(), one.copies, v.quantity.clone(), v.value))
    });
    all.collect()
}

/// Reads these outputs of a program in every state in which they may come: cut, pasted, with hostile numbers, in parts,
/// and repeated until a reader that is not linear takes hours.
pub(crate) fn survives(reader: &Reader, texts: &[&str]) {
    for text in texts {
        cut(reader, text);
        pasted(reader, text);
        hostile(reader, text);
        long(reader, text);
    }
    mutated(reader, texts);
    for rubbish in RUBBISH {
        assert_eq!((reader.read)(rubbish).figures, [], "{rubbish}");
    }
}

/// Texts in which there is nothing.
const RUBBISH: [&str; 9] = [
    "",
    "\n\n\n",
    "[",
    "{\"start\":",
    "a,b,c",
    "Throughput MB/sec",
    "avg_",
    "[SUM]",
    "%CP %CP",
];

/// What a reader may return for any text.
fn holds(reader: &Reader, text: &str) -> Found {
    let found = (reader.read)(text);
    let has_mark = reader.may_be_in(text);
    assert!(has_mark || found.figures.is_empty(), "no mark: {text}");
    let program = reader.program.trim_end_matches('+');
    for one in &found.figures {
        let name = one.test.strip_prefix(program).unwrap();
        let name = name.strip_prefix('.').unwrap();
        let is_plain =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        let is_name = !name.is_empty() && name.chars().all(is_plain);
        assert!(is_name, "{}", one.test);
        assert!(one.copies > 0 && !one.values.is_empty(), "{one:?}");
        assert!(!one.title.is_empty() && !one.title.contains('\n'));
        let is_one = |value: f64| value.is_finite() && value >= 0.0;
        assert!(one.values.iter().all(|v| is_one(v.value)), "{one:?}");
    }
    for left in &found.left_out {
        assert!(left.line > 0 && !left.what.contains('\n'), "{left:?}");
    }
    found
}

/// Cuts a text at every letter: what is left has no figure that the whole has not.
pub(crate) fn cut(reader: &Reader, text: &str) {
    let whole = told(&holds(reader, text));
    assert!(!whole.is_empty(), "nothing to cut: {text}");
    // A mean that follows from two figures is printed too, with fewer digits.
    let near = |one: &Told, other: &Told| {
        let slack = match one.2.as_str() {
            "lat_ns_mean" => (1e-3 * other.3).max(5000.0),
            _ => 1e-6 * other.3,
        };
        one.2 == other.2 && (one.3 - other.3).abs() <= slack
    };
    for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
        for one in told(&holds(reader, &text[..at])) {
            let is_it = |other: &Told| near(&one, other) && (&one.0, one.1) == (&other.0, other.1);
            assert!(whole.iter().any(is_it), "cut at {at}: {one:?}");
        }
        // A text without its beginning may lack what tells copies and names, but never a digit.
        if at == 0 || text.as_bytes()[at - 1] == b'\n' {
            for one in told(&holds(reader, &text[at..])) {
                let is_known = whole.iter().any(|other| near(&one, other));
                assert!(is_known, "begun at {at}: {one:?}");
            }
        }
    }
}

/// Reads a text in the middle of others.
fn pasted(reader: &Reader, text: &str) {
    let whole = (reader.read)(text).figures;
    let around = format!(
        "# Results\n\n```text\n$ prog --x [1] {{\na  b\n{text}\n```\n\n> done, \u{fffd}\u{202e} \u{7d50}\u{679c}\n\
         It was 5 lps, 3 MiB/s and 12 tps = fast.\n"
    );
    assert_eq!(holds(reader, &around).figures, whole, "pasted");
}

/// Reads `text` as mails, pages and terminals show lines that stand for themselves: the same figures come of it.
pub(crate) fn quoted(reader: &Reader, text: &str) {
    let plain_found = (reader.read)(text).figures;
    assert!(!plain_found.is_empty());
    let each = |f: &dyn Fn(&str) -> String| -> String {
        text.lines().map(|line| f(line) + "\n").collect()
    };
    let ways = [
        each(&|line| format!("> > {line}")),
        each(&|line| format!("&gt; {line}")),
        each(&|line| format!("\t{line}  ")),
        each(&|line| format!("{line}\r")),
        each(&|line| format!("\u{1b}[32m{line}\u{1b}[0m")),
        each(&|line| line.split_whitespace().collect::<Vec<_>>().join(" ")),
    ];
    for way in ways {
        let found = (reader.read)(&plain(way.as_bytes()).unwrap()).figures;
        assert_eq!(found, plain_found, "{way}");
    }
    let twice = (reader.read)(&format!("{text}\n{text}"));
    let outputs = |figures: &[Figures]| figures.iter().map(|one| one.output).max().unwrap() + 1;
    assert_eq!(twice.figures.len(), 2 * plain_found.len());
    assert_eq!(outputs(&twice.figures), 2 * outputs(&plain_found));
}

/// What nobody measured.
const HOSTILE: [&str; 11] = [
    "1e999",
    "1e308",
    "NaN",
    "inf",
    "-5.00",
    "0.00",
    "98765432109876543210.0",
    "0,5",
    "1.2.3",
    "",
    "計",
];

/// Puts hostile numbers in the place of each number of `text`, and of every digit.
fn hostile(reader: &Reader, text: &str) {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut at = 0;
    while let Some(place) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let begin = at + place;
        let end = text[begin..].find(|c| !is_of_number(c));
        at = end.map_or(text.len(), |length| begin + length);
        for word in HOSTILE {
            holds(reader, &format!("{}{word}{}", &text[..begin], &text[at..]));
        }
    }
    for word in HOSTILE {
        holds(reader, &text.replace(|c: char| c.is_ascii_digit(), word));
    }
}

/// Bytes of a text that takes hours unless a reader is linear in it.
const LONG: usize = 4_000_000;

fn long(reader: &Reader, text: &str) {
    let one_line = text.replace('\n', " ");
    holds(reader, &one_line.repeat(LONG / one_line.len()));
    for part in ["> | &gt; ", "( 1.0 \n", "[  5] 1,\u{7d50} "] {
        let found = holds(reader, &part.repeat(LONG / part.len()));
        assert_eq!(found.figures, [], "{part}");
    }
    let parts = [
        "[",
        "{",
        "{\"start\":[",
        "1,",
        "avg_",
        "Throughput ",
        "> ",
        "-",
        "{\n",
        "[  5]\n",
        "\n",
        "Starting RD=\n",
        "{\"start\":[\n",
        "%CP\n",
    ];
    for part in parts {
        holds(
            reader,
            &format!("{text}\n{}", part.repeat((1 << 18) / part.len())),
        );
    }
}

/// Pieces of the texts in any order, with rubbish in between: a seeded mutator, so that a failure comes again.
/// `KURABE_FUZZ_INPUTS` makes it longer.
fn mutated(reader: &Reader, texts: &[&str]) {
    let inputs = std::env::var("KURABE_FUZZ_INPUTS").ok();
    let inputs = inputs.and_then(|n| n.parse().ok()).unwrap_or(200);
    let rubbish = [
        "\n",
        " ",
        "(",
        ")",
        ":",
        "=",
        "-",
        ",",
        "0",
        "1e9",
        "%",
        "$ sysbench x run\n",
        "計",
        "\u{ff1a}",
        "&gt;",
    ];
    let texts: Vec<Vec<char>> = texts.iter().map(|text| text.chars().collect()).collect();
    let mut rng = Rng::new(7);
    for _ in 0..inputs {
        let mut input = String::new();
        for _ in 0..=rng.below(6) {
            let text = &texts[rng.index(texts.len())];
            let from = rng.index(text.len());
            let to = (from + rng.index(1500)).min(text.len());
            input.extend(&text[from..to]);
            input.push_str(rubbish[rng.index(rubbish.len())]);
        }
        holds(reader, &input);
    }
}
