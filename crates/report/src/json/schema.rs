//! The schemas of the documents, made from the types that are serialized.
//!
//! Every key is required, and those that go with a word (a state, a warning, a finding) where the word stands: a
//! document without one is not valid. Further keys are allowed, because a later version may
//! add some without breaking a reader; what would break one gets a new number behind the document's name.

use super::comparison::ComparisonDocument;
use super::list::ListDocument;
use super::plan::PlanDocument;
use super::run::RunDocument;
use crate::offers::OffersView;
use crate::ranking::RankingView;
use model::offer::File;
use model::order::Order as _;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The files of docs/schema: their names, and what they hold.
pub fn files() -> [(&'static str, String); 7] {
    [
        ("kurabe.run.1.json", schema_run()),
        ("kurabe.comparison.1.json", schema_comparison()),
        ("kurabe.plan.1.json", schema::<PlanDocument<'_>>()),
        ("kurabe.list.1.json", schema::<ListDocument<'_>>()),
        ("kurabe.offers.1.json", schema::<OffersView>()),
        ("kurabe.ranking.1.json", schema::<RankingView>()),
        ("kurabe.catalogue.1.json", schema_catalogue()),
    ]
}

/// The JSON schema (draft 2020-12) of `kurabe.run/1`.
pub fn schema_run() -> String {
    schema::<RunDocument<'_>>()
}

/// The JSON schema (draft 2020-12) of `kurabe.comparison/1`.
pub fn schema_comparison() -> String {
    schema::<ComparisonDocument<'_>>()
}

/// The JSON schema (draft 2020-12) of a catalogue of offers, which people write as TOML.
pub fn schema_catalogue() -> String {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    as_text(settings.into_generator().into_root_schema_for::<File>())
}

fn schema<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(in_json));
    as_text(settings.into_generator().into_root_schema_for::<T>())
}

fn as_text(schema: Schema) -> String {
    let text = serde_json::to_string_pretty(&sorted(schema.to_value()))
        .expect("a schema is a JSON value, which always has a text");
    text + "\n"
}

/// Says of a type what is so in documents: a number that is not finite is null, for JSON has no text for it, and so is
/// what Rust calls `None`; no name of a constant is a link.
fn in_json(schema: &mut Schema) {
    if schema.get("type") == Some(&json!("number")) {
        schema.insert("type".to_owned(), json!(["number", "null"]));
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description
            .replace("`None`", "null")
            .replace("[`", "`")
            .replace("`]", "`");
    }
}

/// The value with the keys of every object in alphabetical order, so that the text does not depend on which features
/// of `serde_json` the build happens to have.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.order_by(|a, b| a.0.cmp(&b.0));
            Value::Object(
                entries
                    .into_iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect::<Map<String, Value>>(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
