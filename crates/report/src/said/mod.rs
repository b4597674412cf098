//! What is said of a measurement on every page: warnings, states, failures.
//!
//! Each sentence stands once, in all languages; a language that lacks one does not compile. Raw errors of the system
//! stay in English inside a translated sentence.

mod failure;
mod look;
mod warning;

pub use failure::failure;
pub use look::seen;
pub use warning::warning;
pub(crate) use warning::{shared, warning_of_soak};

use crate::lang::{Lang, say};
use crate::number::{percent, signed_percent};
use model::estimate::State;

/// Why there is no value: what the program says itself in the language, and a worker's words as they are.
pub(crate) fn missing(why: Option<&str>, lang: Lang) -> String {
    match why {
        Some(stats::NO_ROUND) => say!(lang, "no round of it was run", "ラウンドを実行していません"),
        Some(stats::NO_VALUE) => say!(
            lang,
            "no round reported a value",
            "どのラウンドも値を報告していません"
        ),
        why => why.unwrap_or_default().to_owned(),
    }
}

/// What a series looks like, in a few words.
pub fn state(state: &State, lang: Lang) -> String {
    let word = |en: &str, ja: &str| lang.pick(en, ja).to_owned();
    let by = |en, ja, change| format!("{} {}", lang.pick(en, ja), signed_percent(change));
    match state {
        State::Unknown => word("too few rounds", "回数不足"),
        State::Steady => word("steady", "安定"),
        State::Drifting { change } => by("drifting", "漸変", *change),
        State::PossibleDrift { change } => by("drifting?", "漸変?", *change),
        State::PossibleTwoState { apart: 1, change } => by("outlier?", "外れ値?", *change),
        State::PossibleTwoState { apart, change } => say!(
            lang,
            "two states? {apart} rounds {change}",
            "二つの水準? {apart} 回が {change}",
            change = signed_percent(*change)
        ),
        State::Step { after, change } => say!(
            lang,
            "step {change} after round {after}",
            "ラウンド {after} の後に {change} の段差",
            change = signed_percent(*change)
        ),
        State::TwoState {
            low,
            high,
            low_share,
            ..
        } => say!(
            lang,
            "two states, {apart} apart, {share} low",
            "二つの水準（差 {apart}、低い側 {share}）",
            apart = percent((high - low) / low.abs().max(f64::MIN_POSITIVE)),
            share = percent(*low_share)
        ),
        State::Series => word("see the course", "推移を参照"),
        State::Setting { alike: true } => word("set-up", "測定条件"),
        State::Setting { alike: false } => word(
            "set-up, not alike in all rounds",
            "測定条件（ラウンドにより異なります）",
        ),
        State::Unstable { spread } => say!(
            lang,
            "unstable, spread {spread}",
            "不安定（幅 {spread}）",
            spread = percent(*spread)
        ),
    }
}

#[cfg(test)]
mod tests;
