//! Values of the model with their sentence, in documents.

use crate::lang::Lang;
use crate::said;
use model::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;

/// A warning, a refusal or a scope: its word, the figures that go with it, and its sentence.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Said<'a, T> {
    #[serde(flatten)]
    of: &'a T,
    /// The sentence in English.
    text: String,
}

impl<'a, T> Said<'a, T> {
    /// `of`, with the sentence that `say` makes of it.
    pub(super) fn new(of: &'a T, say: impl Fn(&T, Lang) -> String) -> Self {
        Self {
            text: say(of, Lang::En),
            of,
        }
    }
}

/// Warnings with their sentences.
pub(super) fn warnings(warnings: &[Warning]) -> Vec<Said<'_, Warning>> {
    let of = |warning| Said::new(warning, said::warning);
    warnings.iter().map(of).collect()
}
