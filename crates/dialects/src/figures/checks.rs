//! What is asked of every reader, whatever its program: for the tests of each.

use crate::figures::line::plain;
use crate::figures::{Figures, Found, Reader};
use model::rng::Rng;
use serde_json::Value;

/// Every figure of what was found: how many copies, which quantity, and its value.
fn values(found: &Found) -> Vec<(u32, &str, f64)> {
    let all = found.figures.iter();
    all.flat_map(|one| {
        one.values
            .iter()
            .map(|figure| (one.copies, figure.quantity.as_str(), figure.value))
    })
    .collect()
}

/// What a reader may return for any text.
pub(crate) fn holds(reader: &Reader, found: &Found) {
    for one in &found.figures {
        let (program, name) = one.test.split_once('.').unwrap();
        assert_eq!(program, reader.program);
        let is_plain =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        assert!(
            !name.is_empty() && name.chars().all(is_plain),
            "{}",
            one.test
        );
        assert!(one.copies > 0 && !one.values.is_empty(), "{one:?}");
        assert!(!one.title.is_empty() && !one.title.contains('\n'));
        for figure in &one.values {
            assert!(
                figure.value.is_finite() && figure.value > 0.0,
                "{}: {figure:?}",
                one.test
            );
        }
    }
    for left in &found.left_out {
        assert!(left.line > 0 && !left.what.contains('\n'), "{left:?}");
    }
}

/// Cuts head and tail of `text` at every byte: what is left must not make a figure that the whole does not have.
pub(crate) fn cut_anywhere(reader: &Reader, text: &str) {
    let whole = (reader.read)(text);
    let whole = values(&whole);
    assert!(!whole.is_empty());
    let is_known = |&(copies, quantity, value): &(u32, &str, f64)| {
        // A mean that follows from two figures is printed too, with fewer digits.
        let near = |other: f64| (other - value).abs() <= (1e-3 * other).max(5000.0);
        let is_it = |other: f64| {
            if quantity == "lat_ns_mean" {
                near(other)
            } else {
                (other - value).abs() <= 1e-6 * other
            }
        };
        whole
            .iter()
            .any(|&(n, other, wanted)| (n, other) == (copies, quantity) && is_it(wanted))
    };
    for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
        for part in [&text[..at], &text[at..]] {
            let found = (reader.read)(part);
            holds(reader, &found);
            let strange: Vec<_> = values(&found)
                .into_iter()
                .filter(|one| !is_known(one))
                .collect();
            assert!(
                strange.is_empty(),
                "{strange:?} of {} bytes, cut at {at}",
                part.len()
            );
        }
    }
}

/// Reads `text` as mails, pages and terminals show it: the same figures come of it.
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
        format!(
            "# Results\n\n```text\n$ ls\na  b\n{text}\n```\n\nIt was 5 lps, 3 MiB/s and 12 tps = fast.\n"
        ),
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

/// Bytes of a text that takes too long unless a reader is linear in it.
const LONG: usize = 20_000_000;

/// Puts hostile numbers in the place of each number of `text`, and repeats it until it is long.
pub(crate) fn hostile(reader: &Reader, text: &str) {
    let starts = |at: usize| {
        let before = text[..at].chars().next_back();
        text[at..].starts_with(|c: char| c.is_ascii_digit())
            && !before.is_some_and(|c| c.is_ascii_digit() || c == '.')
    };
    let places: Vec<usize> = (0..text.len())
        .filter(|&at| text.is_char_boundary(at) && starts(at))
        .collect();
    for at in places {
        let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = text[at..]
            .find(|c| !is_of_number(c))
            .map_or(text.len(), |length| at + length);
        let words = [
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
        for word in words {
            let text = format!("{}{word}{}", &text[..at], &text[end..]);
            holds(reader, &(reader.read)(&text));
        }
    }
    let times = LONG / text.len();
    let one_line = text.replace('\n', " ").repeat(times);
    assert_eq!((reader.read)(&one_line), Found::default());
    let of_marks = "> | &gt; ".repeat(LONG / 9);
    assert_eq!((reader.read)(&of_marks), Found::default());
    let short = "( 1.0 \n".repeat(300_000);
    assert_eq!((reader.read)(&short), Found::default());
}

/// Pieces of the texts in any order, with rubbish in between: a seeded mutator, so that a failure comes again.
/// `KURABE_FUZZ_INPUTS` makes it longer.
pub(crate) fn mutated(reader: &Reader, texts: &[&str]) {
    let inputs = std::env::var("KURABE_FUZZ_INPUTS")
        .ok()
        .and_then(|n| n.parse().ok());
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
    let mut with_figures = 0;
    for _ in 0..inputs.unwrap_or(200) {
        let mut input = String::new();
        for _ in 0..=rng.below(6) {
            let text = &texts[rng.index(texts.len())];
            let from = rng.index(text.len());
            let to = (from + rng.index(1500)).min(text.len());
            input.extend(&text[from..to]);
            input.push_str(rubbish[rng.index(rubbish.len())]);
        }
        let found = (reader.read)(&input);
        holds(reader, &found);
        with_figures += usize::from(!found.figures.is_empty());
    }
    assert!(with_figures > 0);
}

/// The texts of one program in a directory with `expected.json`, which `KURABE_CORPUS` names: name, text, facts.
pub(crate) fn corpus(program: &str) -> Vec<(String, String, Value)> {
    let directory = std::env::var("KURABE_CORPUS").expect("KURABE_CORPUS names the directory");
    let read = |path: &str| std::fs::read(format!("{directory}/{path}")).unwrap();
    let expected: Value = serde_json::from_slice(&read("expected.json")).unwrap();
    let entries = expected.as_object().unwrap().iter();
    let ours = entries.filter(|(path, _)| path.starts_with(&format!("{program}/")));
    ours.map(|(path, entry)| {
        (
            path.clone(),
            plain(&read(path)).unwrap(),
            entry["facts"].clone(),
        )
    })
    .collect()
}

/// Asserts that `value` is what was printed as `printed`, within half a unit of its last digit.
pub(crate) fn same(what: &str, value: f64, printed: f64, half_digit: f64) {
    let slack = half_digit + 1e-9 * printed.abs();
    assert!(
        (value - printed).abs() <= slack,
        "{what}: {value} instead of {printed}"
    );
}
