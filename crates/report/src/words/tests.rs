//! Every sentence in every language: said at all, on one line, with its figures in it.

use super::*;
use crate::testkit::{all_failures, all_refusals, all_states, all_warnings};

/// Every sentence that carries figures, in this language.
fn sentences(words: &Words) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    all.extend(all_warnings().iter().map(words.warning));
    all.extend(all_refusals().iter().map(words.refusal));
    all.extend(all_states().iter().map(words.state));
    all.extend(all_failures().iter().map(words.failure));
    all
}

#[test]
fn every_sentence_is_one_line_without_a_full_stop_and_unlike_the_others() {
    for lang in Lang::ALL {
        let all = sentences(lang.words());
        for (i, sentence) in all.iter().enumerate() {
            assert!(
                !sentence.is_empty() && !sentence.contains('\n'),
                "{sentence}"
            );
            assert!(
                !sentence.ends_with(['.', '。']),
                "ends with a full stop: {sentence}"
            );
            assert!(!all[..i].contains(sentence), "said twice: {sentence}");
        }
    }
}

#[test]
fn japanese_says_everything_in_japanese() {
    let japanese = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}');
    for sentence in sentences(Lang::Ja.words()) {
        // What a workload says about itself is English in every language.
        assert!(
            sentence.contains(japanese) || sentence == "said by a workload",
            "{sentence}"
        );
    }
}

#[test]
fn figures_are_the_same_in_every_language() {
    let digits = |text: &str| {
        let mut numbers: Vec<String> = text
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .filter(|part| part.contains(|c: char| c.is_ascii_digit()))
            .map(ToOwned::to_owned)
            .collect();
        numbers.sort();
        numbers
    };
    for (en, ja) in all_warnings()
        .iter()
        .map(|warning| ((en::WORDS.warning)(warning), (ja::WORDS.warning)(warning)))
    {
        let (en_digits, ja_digits) = (digits(&en), digits(&ja));
        // "six passes" is a word in English.
        let spelled = en.contains(" six ");
        assert!(spelled || en_digits == ja_digits, "{en} | {ja}");
    }
}

#[test]
fn verdicts_in_english_are_the_words_of_documents() {
    for verdict in [
        Verdict::Better,
        Verdict::Worse,
        Verdict::BetterMaybe,
        Verdict::WorseMaybe,
        Verdict::Same,
        Verdict::Unclear,
    ] {
        assert_eq!((en::WORDS.verdict)(verdict), verdict.word());
    }
}

#[test]
fn the_locale_chooses_the_language() {
    let check = |locale: &str, expect: Lang| assert_eq!(Lang::from_env(locale), expect, "{locale}");
    check("ja_JP.UTF-8", Lang::Ja);
    check("ja_JP.utf8", Lang::Ja);
    check("ja", Lang::Ja);
    check("ja_JP.UTF-8@cjknarrow", Lang::Ja);
    check("ja_JP.eucJP", Lang::En);
    check("en_US.UTF-8", Lang::En);
    check("C", Lang::En);
    check("", Lang::En);
    check("jam_JM", Lang::En);
    assert_eq!(Lang::from_name("ja"), Some(Lang::Ja));
    assert_eq!(Lang::from_name("fr"), None);
}
