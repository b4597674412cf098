//! Every sentence in every language: said at all, on one line, with its figures in it.

use super::*;
use crate::said;
use crate::testkit::{all_failures, all_refusals, all_states, all_warnings};
use model::comparison::{Estimator, Hopeless, Place, RoundsNeeded, Watched};
use model::units::Nanos;
use model::warning::Warning;

/// Every sentence that carries figures, in this language.
fn sentences(words: &Words) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let lang = words.lang;
    all.extend(
        all_warnings()
            .iter()
            .map(|warning| said::warning(warning, lang)),
    );
    let refusals = all_refusals();
    all.extend(
        refusals
            .iter()
            .map(|refusal| (words.refusal)(refusal, "`kurabe run os.pipe`")),
    );
    let never = Refusal::NoRatio {
        base_is_zero: true,
        other_is_zero: true,
    };
    all.push((words.refusal)(&never, ""));
    for estimator in Estimator::ALL {
        all.push((words.comparison.no_level)("a", "os.pipe@1", estimator));
        all.push((words.comparison.values_are)(estimator).to_owned());
    }
    all.push((words.comparison.changed)("a", "os.pipe@1"));
    all.push(words.comparison.no_level_legend.to_owned());
    all.push(words.comparison.lower_legend.to_owned());
    all.extend([(1, 0), (0, 2), (3, 4)].map(|(a, b)| (words.comparison.incomplete)(a, b)));
    all.push((words.comparison.latest_of)(3));
    all.push((words.comparison.in_runs)(2, 5));
    all.push((words.comparison.all_metrics)(7));
    for needed in [
        RoundsNeeded::Rounds(7),
        RoundsNeeded::Instances(7),
        RoundsNeeded::RoundsAtLeast(7),
        RoundsNeeded::PairsAtLeast(7),
        RoundsNeeded::InstancesAtLeast(7),
        RoundsNeeded::NotAtThisNoise,
    ] {
        all.push((words.comparison.rounds_needed)(needed));
    }
    all.extend([0, 2].map(|no_level| {
        (words.comparison.counts)(&Counts {
            no_level,
            ..Counts::default()
        })
    }));
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
    all.extend(all_states().iter().map(|state| said::state(state, lang)));
    all.extend(
        all_failures()
            .iter()
            .map(|failure| said::failure(failure, lang)),
    );
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
    let refusals = [
        Refusal::OneSideOnly { base_has_it: true },
        Refusal::NoRatio {
            base_is_zero: true,
            other_is_zero: false,
        },
    ];
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
    let watched = Watched::Once(Nanos::from_secs(720));
    places.map(|place| Scope { place, watched }).to_vec()
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
            watched: Watched::Once(Nanos::from_secs(seconds)),
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
fn runs_apart_give_the_time_of_each_and_how_far_apart_they_began() {
    let check = |seconds: [u64; 3], en: &str, ja: &str| {
        let [base, other, apart] = seconds.map(Nanos::from_secs);
        let scope = Scope {
            place: Place::TwoRuns,
            watched: Watched::Twice { base, other, apart },
        };
        let [en_found, ja_found] = Lang::ALL.map(|lang| (lang.words().comparison.scope)(&scope));
        assert_eq!(en_found, format!("these two runs, {en}"));
        assert_eq!(ja_found, format!("この 2 件の測定、{ja}"));
    };
    check(
        [18, 23, 41],
        "18 seconds and 23 seconds, begun 41 seconds apart",
        "18 秒間と 23 秒間（開始時刻の差は 41 秒）",
    );
    check(
        [130, 135, 136],
        "2 minutes each, begun 2 minutes apart",
        "それぞれ 2 分間（開始時刻の差は 2 分）",
    );
    check(
        [1, 3600, 3 * 86_400],
        "1 second and 60 minutes, begun 3 days apart",
        "1 秒間と 60 分間（開始時刻の差は 3 日）",
    );
}

#[test]
fn a_scope_and_what_the_run_took_agree() {
    // Below a minute and a half both count seconds, and neither counts one that has only begun.
    for millis in [400, 999, 1000, 1999, 18_600, 41_999, 59_999] {
        let span = Nanos::from_millis(millis);
        let took = crate::number::duration(span);
        let scope = Scope {
            place: Place::OneInstance,
            watched: Watched::Once(span),
        };
        let said = (en::WORDS.comparison.scope)(&scope);
        match took.strip_suffix(" s") {
            Some("1") => assert_eq!(said, "this instance, this second"),
            Some(n) => assert_eq!(said, format!("this instance, these {n} seconds")),
            None => assert_eq!(said, "this instance, less than a second", "{took}"),
        }
    }
}

#[test]
fn refusals_name_the_command_that_helps() {
    let case: model::plan::CaseId = "os.pipe@2".parse().unwrap();
    let run = crate::testkit::normal();
    let party = crate::comparison::Party::one(&run);
    for lang in Lang::ALL {
        for refusal in all_refusals() {
            let command = crate::comparison_refused::remedy(&refusal, &[&case], &party, &party);
            let text = (lang.words().refusal)(&refusal, &command);
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
    let text = crate::comparison_refused::remedy(&differ, &[&case], &party, &party);
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
    for (en, ja) in all_warnings().iter().map(|warning| {
        (
            said::warning(warning, Lang::En),
            said::warning(warning, Lang::Ja),
        )
    }) {
        let (en_digits, ja_digits) = (digits(&en), digits(&ja));
        // "six passes" and "twice" are words in English.
        let spelled = en.contains(" six ") || en.contains(" twice ");
        assert!(spelled || en_digits == ja_digits, "{en} | {ja}");
    }
}

/// What a count of one must not stand before.
const SEVERAL: [&str; 16] = [
    "rounds",
    "cases",
    "metrics",
    "runs",
    "CPUs",
    "copies",
    "passes",
    "tests",
    "seconds",
    "minutes",
    "hours",
    "days",
    "points",
    "instances",
    "times",
    "weaknesses",
];

#[test]
fn one_is_never_several() {
    use model::warning::{OffCpuCause, TargetLimit};
    let words = &en::WORDS;
    let says = &words.comparison;
    let one = Nanos::from_secs(60);
    let scope = |watched| {
        (says.scope)(&Scope {
            place: Place::OneInstance,
            watched,
        })
    };
    let missed = |limit| Warning::TargetMissed {
        cases: 1,
        target: 0.02,
        limit,
        which: vec!["os.pipe@1".parse().unwrap()],
    };
    let off_cpu = |cause| Warning::OffCpu {
        share: 0.5,
        copies: 1,
        cause,
    };
    let warnings = [
        Warning::RoundsFailed {
            failed: 1,
            of: 1,
            reason: "x".to_owned(),
        },
        Warning::TooFewRounds { have: 1, need: 6 },
        Warning::Allocated { allocations: 1 },
        missed(TargetLimit::Time),
        missed(TargetLimit::Rounds(1)),
        missed(TargetLimit::Scatter(28)),
        off_cpu(OffCpuCause::MoreCopiesThanCpus(1)),
        off_cpu(OffCpuCause::Quota(Some(1.0))),
    ];
    let mut all: Vec<String> = warnings
        .iter()
        .map(|warning| said::warning(warning, Lang::En))
        .collect();
    all.extend([
        crate::host::quota(1.0, Lang::En),
        crate::host::mitigated(1, 0, Lang::En),
        (says.metrics)(1),
        (says.incomplete)(1, 0),
        (says.incomplete)(0, 1),
        (says.incomplete)(1, 1),
        (says.setup_differs)(1, "kernel"),
        (says.rounds_needed)(RoundsNeeded::Rounds(1)),
        (says.rounds_needed)(RoundsNeeded::Instances(1)),
        (says.counts)(&Counts {
            compared: 1,
            ..Counts::default()
        }),
        scope(Watched::Once(one)),
        scope(Watched::Once(Nanos::from_secs(1))),
        scope(Watched::Twice {
            base: one,
            other: Nanos::from_secs(1),
            apart: Nanos::from_secs(1),
        }),
    ]);
    for text in all {
        let parts: Vec<&str> = text
            .split([' ', ',', ';', ':', '(', ')'])
            .filter(|part| !part.is_empty())
            .collect();
        assert!(
            !parts
                .windows(2)
                .any(|pair| pair[0] == "1" && SEVERAL.contains(&pair[1])),
            "{text}"
        );
    }
}

#[test]
fn a_speed_without_a_middle_has_no_usual() {
    for lang in Lang::ALL {
        let say = |rounds_share| said::warning(&Warning::UnevenSpeed { rounds_share }, lang);
        let (few, most) = (say(0.2), say(1.0));
        assert!(
            !few.contains("usual") && !most.contains("usual"),
            "{few} {most}"
        );
        assert_ne!(few.replace("20 %", "100 %"), most);
    }
}

#[test]
fn a_larger_budget_is_advised_only_where_time_was_the_limit() {
    use model::warning::TargetLimit;
    for lang in Lang::ALL {
        for warning in all_warnings() {
            let Warning::TargetMissed { limit, .. } = warning else {
                continue;
            };
            let text = said::warning(&warning, lang);
            let has = |word: &str| text.contains(word);
            assert_eq!(has("--budget"), limit == TargetLimit::Time, "{text}");
            assert_eq!(has("--passes"), matches!(limit, TargetLimit::Rounds(_)));
            assert_eq!(has("kurabe soak"), matches!(limit, TargetLimit::Scatter(_)));
            assert!(has("os.pipe@3"), "{text}");
            assert!(!has("os.pipe@4"), "the rest is counted: {text}");
        }
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

#[test]
fn what_is_unsteady_is_said_of_shares_and_not_about() {
    let text = said::warning(&Warning::UnevenSpeed { rounds_share: 0.83 }, Lang::En);
    assert!(
        text.contains("before or after 83 % of the rounds"),
        "{text}"
    );
    let halves = Warning::OrderEffect {
        within_pass: false,
        change: 0.11,
    };
    for (lang, expect) in [
        (
            Lang::En,
            "+11 % from the earlier half of the run to the later one",
        ),
        (Lang::Ja, "前半から後半にかけて値が +11 %"),
    ] {
        let text = said::warning(&halves, lang);
        assert!(text.contains(expect), "{text}");
    }
}

#[test]
fn threads_of_a_test_may_share_what_belongs_to_the_test() {
    let said = Lang::ALL.map(|lang| {
        said::warning(
            &Warning::CpuWorthLess {
                loss: 0.57,
                copies: 4,
                threads_share_cores: false,
                of_one_process: true,
            },
            lang,
        )
    });
    assert!(
        said[0].ends_with("or what the threads of the test share (locks, cache lines)"),
        "{}",
        said[0]
    );
    assert!(
        said[1].contains("テストのスレッドどうしのロック"),
        "{}",
        said[1]
    );
}
