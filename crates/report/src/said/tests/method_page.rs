//! The method page explains every word: each has an anchor there, which is its word in documents.

use crate::json::schema::{schema_comparison, schema_run};
use crate::json::{refusal_word, state_word, warning_kind};
use crate::testkit::{all_failures, all_refusals, all_states, all_warnings};
use model::comparison::{Estimator, Hopeless, Verdict};
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/method/statistics.md");

/// The words that a key of a published document may have.
fn published(schema: &str, pointer: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let words = schema.pointer(pointer).and_then(Value::as_array);
    let words = words.unwrap_or_else(|| panic!("the schema has no {pointer}"));
    let word = |word: &Value| word.as_str().unwrap().to_owned();
    words.iter().map(word).collect()
}

/// The key under which a value is stored.
fn stored(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value).unwrap() {
        Value::String(word) => word,
        Value::Object(map) => map.keys().next().unwrap().clone(),
        other => panic!("{other}"),
    }
}

fn owned<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    words.into_iter().map(ToOwned::to_owned).collect()
}

/// Every kind of word, with its words.
fn words() -> Vec<(&'static str, Vec<String>)> {
    let (run, comparison) = (schema_run(), schema_comparison());
    let verdicts = [
        Verdict::Better,
        Verdict::Worse,
        Verdict::BetterMaybe,
        Verdict::WorseMaybe,
        Verdict::Same,
        Verdict::Unclear,
    ];
    let of_run = |path: &str| published(&run, path);
    vec![
        ("warning", all_warnings().iter().map(warning_kind).collect()),
        ("state", owned(all_states().iter().map(state_word))),
        ("failure", all_failures().iter().map(stored).collect()),
        ("verdict", owned(verdicts.map(Verdict::word))),
        ("refusal", owned(all_refusals().iter().map(refusal_word))),
        ("hopeless", owned(Hopeless::ALL.map(Hopeless::word))),
        ("estimator", owned(Estimator::ALL.map(Estimator::word))),
        ("end", of_run("/$defs/RunPart/properties/end/enum")),
        ("scope", of_run("/$defs/ScopePart/properties/place/enum")),
        (
            "finding",
            of_run("/$defs/SoakPart/properties/findings/items/enum"),
        ),
        (
            "throttle",
            of_run("/$defs/ThrottlePart/properties/state/enum"),
        ),
        ("mark", of_run("/$defs/MarkPart/properties/kind/enum")),
        (
            "margin",
            published(
                &comparison,
                "/$defs/MetricPart/properties/margin_source/enum",
            ),
        ),
    ]
}

#[test]
fn every_word_has_its_place_on_the_method_page_and_no_place_is_left_over() {
    let mut wanted = BTreeSet::new();
    for (kind, words) in words() {
        for word in words {
            let anchor = format!("{kind}-{word}");
            let found = PAGE.matches(&format!("id=\"{anchor}\"")).count();
            assert_eq!(found, 1, "`{anchor}` in docs/method/statistics.md");
            wanted.insert(anchor);
        }
    }
    let there: BTreeSet<String> = PAGE
        .split("id=\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .collect();
    assert_eq!(there, wanted);
}

#[test]
fn what_every_document_and_table_says_is_explained() {
    // Words that stand in no list: headings of tables and lines of text.
    for words in [
        "without a value",
        "left out of the plan",
        "are those of the worst of them",
        "differences in set-up",
        "largest gain",
        "largest loss",
        "to tell",
        "without an interval",
        "not compared",
        "(lower)",
        "the latest of",
        "at full speed",
        "medians of the stretches",
        "line of blocks",
        "within this run",
        "slow moments",
        "noise floor",
        "not at this noise level",
    ] {
        let page = PAGE.to_lowercase().replace('\n', " ");
        assert!(page.contains(words), "{words}");
    }
}
