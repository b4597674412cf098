//! English.

mod comparison;

use super::{RunWords, Words};
pub(super) use crate::number::counted as plural;
use model::comparison::Verdict;

pub(super) static WORDS: Words = Words {
    lang: crate::lang::Lang::En,
    run: RunWords {
        metric: "metric",
        unit: "unit",
        interval: "95 % interval",
    },
    comparison: comparison::WORDS,
    duel: super::duel::EN,
    refusal: comparison::refusal,
    verdict: Verdict::word,
};
