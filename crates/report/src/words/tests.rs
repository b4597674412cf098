//! Every sentence in every language: said at all, on one line, with its figures in it.

use super::*;
use crate::testkit::{all_failures, all_refusals, all_states, all_warnings};
use model::comparison::{Hopeless, Place};
use model::units::Nanos;

/// Every sentence that carries figures, in this language.
fn sentences(words: &Words) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    all.extend(all_warnings().iter().map(words.warning));
    let case = "os.pipe@2".parse().unwrap();
    let refusals = all_refusals();
    all.extend(
        refusals
            .iter()
            .map(|refusal| (words.refusal)(refusal, &case)),
    );
    all.extend(scopes().iter().map(words.comparison.scope));
    all.extend(floor_notes().iter().map(words.comparison.slow_moments));
    all.extend(Hopeless::ALL.map(|why| (words.comparison.hopeless)("os.pipe@1", why)));
    for (on_base, sure) in [(true, true), (true, false), (false, true), (false, false)] {
        all.push((words.comparison.repeat)(on_base, sure, "a, b"));
    }
    all.push((words.comparison.looked)("98.4 %", "98.8 %"));
    all.push((words.comparison.margin_raised)(
        "os.pipe@1",
        "5.0 %",
        "7.2 %",
    ));
    all.extend(all_states().iter().map(words.state));
    all.extend(all_failures().iter().map(words.failure));
    all.extend(of_duels(&words.duel));
    all
}

fn of_duels(says: &DuelWords) -> Vec<String> {
    let mut all = vec![
        says.same.to_owned(),
        says.next_compare.to_owned(),
        (says.party)("A", true),
        (says.party)("A", false),
        (says.as_is)("/mnt"),
        (says.set_up)("true"),
        (says.against)("A", "20261121-004311-9f3cb"),
        (says.one_file_system)("/"),
        (says.pairs)(1, 1),
        (says.pairs)(6, 6),
        (says.pairs)(6, 9),
        (says.failed)("A", 2, 7, "no luck"),
        (says.more_reasons)("A", 2),
        (says.given_up)("A", 3),
        (says.end)("", 2, 7),
    ];
    let refusals = [Refusal::OneSideOnly { base_has_it: true }, Refusal::NoRatio];
    all.extend(refusals.iter().filter_map(says.refusal));
    all
}

fn scopes() -> Vec<Scope> {
    let places = [
        Place::OneInstance,
        Place::TwoInstances,
        Place::TwoRuns,
        Place::Plan { base: 5, other: 6 },
        Place::Runs { base: 5, other: 1 },
    ];
    let span = Nanos::from_secs(720);
    places.map(|place| Scope { place, span }).to_vec()
}

fn floor_notes() -> Vec<FloorNote> {
    let note = |typical, faster| FloorNote {
        metric: "os.pipe@1".to_owned(),
        other: "b".to_owned(),
        typical,
        faster,
        change: "20 %".to_owned(),
        range: "15 % .. 25 %".to_owned(),
        slow_shares: (!faster).then(|| ("3 %".to_owned(), "12 %".to_owned())),
    };
    vec![
        note(Verdict::Same, false),
        note(Verdict::Better, false),
        note(Verdict::Worse, true),
        note(Verdict::Unclear, true),
    ]
}

#[test]
fn a_scope_gives_its_time_in_one_unit() {
    let check = |seconds: u64, en: &str, ja: &str| {
        let scope = Scope {
            place: Place::OneInstance,
            span: Nanos::from_secs(seconds),
        };
        let [en_found, ja_found] = Lang::ALL.map(|lang| (lang.words().comparison.scope)(&scope));
        assert_eq!(en_found, format!("this instance, {en}"));
        assert_eq!(ja_found, format!("このインスタンス、{ja}"));
    };
    check(0, "less than a second", "1 秒未満");
    check(1, "this second", "今回の 1 秒間");
    check(45, "these 45 seconds", "今回の 45 秒間");
    check(700, "these 12 minutes", "今回の 12 分間");
    check(3 * 3600 + 60, "these 3 hours", "今回の 3 時間");
    check(24 * 3600 - 300, "24 hours", "24 時間");
}

#[test]
fn refusals_name_the_command_that_helps() {
    let case = "os.pipe@2".parse().unwrap();
    for lang in Lang::ALL {
        for refusal in all_refusals() {
            let text = (lang.words().refusal)(&refusal, &case);
            // Rounds of a run beside it are no pairs: a duel is helped by a duel.
            let command = match &refusal {
                Refusal::TooFewPairs { resume: None, .. } => "`kurabe duel`",
                Refusal::TooFewPairs { .. } => "`kurabe duel --resume 20261121-004311-9f3ca`",
                _ => "kurabe run os.pipe --copies 2",
            };
            assert!(text.contains(command), "{text}");
        }
    }
    let differ = Refusal::Parameters(vec![("bs".to_owned(), "4k".to_owned(), "8k".to_owned())]);
    let text = (Lang::En.words().refusal)(&differ, &case);
    assert!(text.contains("--set os.pipe.bs=4k --passes 9"), "{text}");
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
