//! Japanese: polite, in the words of technical writing; numbers and units as in English.

mod comparison;

use super::{RunWords, Words};
use model::comparison::Verdict;

pub(super) static WORDS: Words = Words {
    lang: crate::lang::Lang::Ja,
    run: RunWords {
        metric: "測定項目",
        unit: "単位",
        interval: "95 % 信頼区間",
    },
    comparison: comparison::WORDS,
    duel: super::duel::JA,
    refusal: comparison::refusal,
    verdict: |verdict| match verdict {
        Verdict::Better => "良い",
        Verdict::Worse => "悪い",
        Verdict::BetterMaybe => "良い?",
        Verdict::WorseMaybe => "悪い?",
        Verdict::Same => "同等",
        Verdict::Unclear => "判定不能",
    },
};
