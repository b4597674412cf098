//! What of words that are carried out is not.

use super::super::value::Value;
use super::Kind;

/// What of a word is not carried out.
#[derive(Debug)]
pub struct Limit {
    /// The kind of the line.
    pub kind: Kind,
    /// The word's main name.
    pub word: &'static str,
    /// Whether it is refused; otherwise it changes nothing.
    pub is_refused: bool,
    /// Whether a value is concerned.
    pub(in super::super) applies: fn(&Value) -> bool,
    /// Why.
    pub why: &'static str,
    /// What to use instead, where there is something.
    pub instead: Option<&'static str>,
}

const fn refused(
    kind: Kind,
    word: &'static str,
    applies: fn(&Value) -> bool,
    why: &'static str,
    instead: Option<&'static str>,
) -> Limit {
    Limit {
        kind,
        word,
        is_refused: true,
        applies,
        why,
        instead,
    }
}

const fn noted(
    kind: Kind,
    word: &'static str,
    applies: fn(&Value) -> bool,
    why: &'static str,
) -> Limit {
    Limit {
        is_refused: false,
        ..refused(kind, word, applies, why, None)
    }
}

fn has(value: &Value, any: &[&str]) -> bool {
    let words = value.words().unwrap_or_default();
    words
        .iter()
        .any(|word| any.contains(&word.to_ascii_lowercase().as_str()))
}

const EOF: &str = "a workload does not end with its storage";
const EOF_HINT: Option<&str> = Some("`maxdata=SIZE` ends a run when so much is done");
const NOT_ZERO: &str =
    "a sequential workload begins at the beginning of its part, with `seqnz` too";

/// The table.
pub static LIMITS: &[Limit] = &[
    refused(
        Kind::Wd,
        "seekpct",
        |v| has(v, &["eof", "-1"]),
        EOF,
        EOF_HINT,
    ),
    refused(
        Kind::Rd,
        "forseekpct",
        |v| has(v, &["eof", "-1"]),
        EOF,
        EOF_HINT,
    ),
    noted(Kind::Wd, "seekpct", |v| has(v, &["seqnz"]), NOT_ZERO),
    noted(Kind::Rd, "forseekpct", |v| has(v, &["seqnz"]), NOT_ZERO),
    refused(
        Kind::Rd,
        "distribution",
        |v| has(v, &["variable", "v"]),
        "the rate of a run stays the same",
        Some("`iorate=(100,200)` is a run for each rate"),
    ),
    refused(
        Kind::Rd,
        "fwdrate",
        |v| has(v, &["curve"]),
        "`curve` is for storages",
        Some("`fwdrate=max` says what there is to share, and `fwdrate=(100,200)` are rates"),
    ),
    refused(
        Kind::Rd,
        "format",
        |v| has(v, &["no"]) && v.words().is_some_and(|words| words.len() > 1),
        "`no` stands alone",
        Some("leave it out, or the words beside it"),
    ),
    noted(
        Kind::Rd,
        "format",
        |v| has(v, &["limited"]),
        "files are made until all of them are there, whatever `elapsed` says",
    ),
];
