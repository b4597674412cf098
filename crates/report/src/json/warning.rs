//! Warnings in documents: tag, fields and sentence.

use crate::lang::Lang;
use crate::said;
use model::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;

/// A warning: its kind, the figures of that kind, and its sentence.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WarningPart {
    #[serde(flatten)]
    warning: Warning,
    /// The sentence in English.
    text: String,
}

/// The warning with its sentence.
pub(super) fn warning_part(warning: &Warning) -> WarningPart {
    WarningPart {
        warning: warning.clone(),
        text: said::warning(warning, Lang::En),
    }
}

/// The same of a soak, whose rounds are called stretches.
pub(super) fn warning_part_of_soak(warning: &Warning) -> WarningPart {
    WarningPart {
        warning: warning.clone(),
        text: said::warning_of_soak(warning, Lang::En),
    }
}

/// The tag of a warning.
pub(crate) fn warning_kind(warning: &Warning) -> String {
    let document = serde_json::to_value(warning).unwrap_or_default();
    document["kind"].as_str().unwrap_or_default().to_owned()
}
