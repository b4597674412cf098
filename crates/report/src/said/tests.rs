//! Every sentence in every language: said at all, on one line, with its figures in it.

mod method_page;

use crate::lang::Lang;
use crate::said;
use crate::testkit::{all_failures, all_seen, all_states, all_warnings, assert_sentences};
use model::warning::{FailedFor, TargetLimit, Warning};
use std::slice;

#[test]
fn every_sentence_is_one_line_in_its_language_and_unlike_the_others() {
    for lang in Lang::ALL {
        // What a workload says about itself is English in every language.
        let of_workload = |warning: &&Warning| matches!(warning, Warning::Other { .. });
        let warnings = all_warnings();
        let warnings = warnings.iter().filter(|warning| !of_workload(warning));
        let mut all: Vec<String> = warnings.map(|it| said::warning(it, lang)).collect();
        all.extend(all_states().iter().map(|it| said::state(it, lang)));
        all.extend(
            all_seen()
                .iter()
                .map(|it| said::seen(slice::from_ref(it), lang)),
        );
        all.extend(all_failures().iter().map(|it| said::failure(it, lang)));
        assert_sentences(&all, lang);
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

#[test]
fn what_was_seen_is_told_in_few_words_in_the_order_in_which_it_is_seen() {
    let all = all_seen();
    assert_eq!(
        said::seen(&all[..4], Lang::En),
        "`rustc` at 96 % of a CPU, `cc1` at 40 % of a CPU; programs waiting for memory 3.0 % of the time; only 120 MiB of \
         memory left; room for 200 MiB of files, where 1 GiB are to be written"
    );
    assert_eq!(
        said::seen(&all[4..], Lang::Ja),
        "CPU クォータ 0.5、CPU クォータ、省電力の周波数ガバナー `powersave`、要求した CPU 時間の 12 % をホストが占有"
    );
    assert_eq!(said::seen(&[], Lang::En), "");
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
    use model::warning::OffCpuCause;
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
            others: vec![FailedFor {
                rounds: 1,
                reason: "y".to_owned(),
            }],
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
        crate::page::host::quota(1.0, Lang::En),
        crate::page::host::mitigated(1, 0, Lang::En),
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
fn a_larger_budget_is_advised_only_where_time_was_the_limit() {
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
        said[1].contains("テストのスレッドどうしがロック"),
        "{}",
        said[1]
    );
}
