//! The method page explains every word: each has an anchor there, which is its word in documents.

use crate::json::schema::{schema_comparison, schema_run};
use crate::testkit::{all_failures, all_refusals, all_states, all_warnings};
use model::comparison::{Place, ScatterSource};
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/method/statistics.md");

/// The words that a type of a published document may have: constants, alone or under the key `tag`.
fn published(schema: &str, of: &str, tag: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let kinds = schema["$defs"][of]["oneOf"].as_array();
    let kinds = kinds.unwrap_or_else(|| panic!("the schema has no kinds of {of}"));
    let word = |kind: &Value| -> Vec<String> {
        let (alone, tagged) = (&kind["const"], &kind["properties"][tag]["const"]);
        let several = kind["enum"].as_array().into_iter().flatten();
        let all = several.chain([alone, tagged]).filter_map(Value::as_str);
        all.map(ToOwned::to_owned).collect()
    };
    kinds.iter().flat_map(word).collect()
}

/// The key under which a value is stored.
fn stored(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value).unwrap() {
        Value::String(word) => word,
        Value::Object(map) => map.keys().next().unwrap().clone(),
        other => panic!("{other}"),
    }
}

/// What stands under a key of each of these values in documents.
fn words_of<T: serde::Serialize>(all: impl IntoIterator<Item = T>, key: &str) -> Vec<String> {
    let word = |one: T| {
        let document = serde_json::to_value(one).unwrap();
        document[key].as_str().unwrap().to_owned()
    };
    all.into_iter().map(word).collect()
}

/// Every kind of word, with its words.
fn words() -> Vec<(&'static str, Vec<String>)> {
    let (run, comparison) = (schema_run(), schema_comparison());
    let of_run = |of: &str, tag: &str| published(&run, of, tag);
    let of_both = |of: &str| published(&comparison, of, "");
    let marks: Value = serde_json::from_str(&run).unwrap();
    let marks = &marks["$defs"]["MarkPart"]["properties"]["kind"]["enum"];
    let runs = 5;
    let sources = [
        ScatterSource::Given,
        ScatterSource::Earlier { runs },
        ScatterSource::Shipped { runs },
        ScatterSource::Class,
        ScatterSource::Asked,
    ];
    let (base, other) = (5, 5);
    let places = [
        Place::OneInstance,
        Place::TwoInstances,
        Place::TwoRuns,
        Place::Plan { base, other },
        Place::Runs { base, other },
    ];
    vec![
        ("warning", words_of(all_warnings(), "kind")),
        ("seen", of_run("Seen", "kind")),
        ("state", words_of(all_states(), "state")),
        ("failure", all_failures().iter().map(stored).collect()),
        ("verdict", of_both("Verdict")),
        ("refusal", words_of(all_refusals(), "kind")),
        ("hopeless", of_both("Hopeless")),
        ("estimator", of_both("Estimator")),
        ("end", of_run("End", "")),
        ("scope", words_of(places, "place")),
        ("finding", of_run("Finding", "kind")),
        ("throttle", of_run("Throttle", "state")),
        ("cause", of_run("Cause", "")),
        ("mark", serde_json::from_value(marks.clone()).unwrap()),
        ("margin", of_both("MarginSource")),
        ("scatter", words_of(sources, "source")),
        ("doubt", of_both("Inside")),
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
        "*needs*",
        "without an interval",
        "not compared",
        "(lower)",
        "the latest of",
        "at full speed",
        "medians of the stretches",
        "line of blocks",
        "within this run",
        "slow moments",
        "these minutes",
        "not at this noise level",
    ] {
        let page = PAGE.to_lowercase().replace('\n', " ");
        assert!(page.contains(words), "{words}");
    }
}
