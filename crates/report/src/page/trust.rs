//! Whether figures may be quoted: in a few words, and with what must be known or done beside them.

use super::fit::cut;
use crate::lang::{Lang, say};
use crate::number::{counted, percent};
use crate::said;
use stats::look::Seen;
use stats::{Disturber, Failed, Rounds, Trust};
use std::fmt::Display;

/// In a few words; a soak has stretches in the place of rounds.
pub(crate) fn brief(trust: &Trust, rounds: &str, lang: Lang) -> String {
    let word = |en: &str, ja: &str| lang.pick(en, ja).to_owned();
    let held_in = |what: &str, Rounds { n, of }: &Rounds| {
        say!(
            lang,
            "{what} in {n} of {of} {rounds}",
            "{what}（{of} 回中 {n} 回）"
        )
    };
    match trust {
        Trust::Nothing => word("nothing measured", "測定なし"),
        Trust::Quiet {
            others: None,
            stolen: None,
        } => word("not known", "不明"),
        Trust::Quiet { .. } => word("quiet", "静穏"),
        Trust::Quota(rounds) => held_in(lang.pick("held by a quota", "クォータ制限"), rounds),
        Trust::Disturbed(by, rounds) => {
            let by = match by {
                Disturber::Others(Some(program), _) if program == "kurabe" => {
                    word("another `kurabe`", "別の `kurabe`")
                }
                Disturber::Others(Some(program), _) => format!("`{program}`"),
                Disturber::Others(None, _) => word("other programs", "他のプログラム"),
                Disturber::Host(_) => word("the host", "ホスト"),
                Disturber::Neighbour => word("the same core", "同じコア"),
                Disturber::Clock => word("the clock", "時計"),
            };
            let what = say!(lang, "DISTURBED: {by}", "外乱あり: {by}");
            held_in(&what, rounds)
        }
        Trust::DebugBuild => word("DEBUG BUILD", "デバッグビルド"),
        Trust::Imported { .. } => word("imported", "取り込み"),
        Trust::FewRounds(n) => say!(lang, "TOO FEW ROUNDS: {n}", "回数不足: {n} 回"),
    }
}

/// What was seen before the first round, behind what is said of the rounds; nothing where nothing was.
pub(crate) fn before(seen: &[Seen], lang: Lang) -> String {
    let seen = said::seen(seen, lang);
    if seen.is_empty() {
        return seen;
    }
    say!(lang, ". Before it began: {seen}", "。測定前: {seen}")
}

/// The most tests whose failed rounds are told, and the most reasons of each.
const FAILED_MAX: usize = 2;

/// The columns of a reason, and of all of it: figures have their lines below.
const WHY: usize = 60;
const FAILED_ROOM: usize = 200;

/// How many rounds of which tests have no value, and why, behind what is said of the others; nothing where all have.
pub(crate) fn failed(all: &[Failed<'_>], is_soak: bool, lang: Lang) -> String {
    if all.is_empty() {
        return String::new();
    }
    let sum = |of: fn(&Failed<'_>) -> u32| all.iter().map(of).sum::<u32>();
    let (n, early) = (sum(|one| one.failed), sum(|one| one.early));
    let ended = match early {
        0 => lang.pick("failed", "失敗"),
        _ if early == n => lang.pick("ended early", "途中で終了"),
        _ => lang.pick("failed or ended early", "失敗または途中で終了"),
    };
    let of_test = |one: &Failed<'_>| {
        let reasons = one.reasons.iter().take(FAILED_MAX);
        let reasons = reasons.map(|(why, n)| {
            let why = said::failure(why, lang);
            let why = cut(why.lines().next().unwrap_or_default(), WHY);
            match one.reasons.len() {
                1 => why,
                _ => for_so_many(&why, *n, is_soak, lang),
            }
        });
        let mut reasons: Vec<String> = reasons.collect();
        reasons.extend((one.reasons.len() > FAILED_MAX).then(|| "...".to_owned()));
        let (case, failed, of) = (one.case, one.failed, one.of);
        let reasons = reasons.join("; ");
        say!(
            lang,
            "{case} {failed} of {of} ({reasons})",
            "{case} は {of} 回中 {failed} 回（{reasons}）"
        )
    };
    let mut tests: Vec<String> = all.iter().take(FAILED_MAX).map(of_test).collect();
    match all.len().saturating_sub(FAILED_MAX) {
        0 => {}
        more => {
            let tests_more = counted(more, "more test", "more tests");
            tests.push(say!(lang, "{tests_more}", "ほか {more} 件"));
        }
    }
    let tests = tests.join(lang.pick(", ", "、"));
    let rounds = counted_rounds(n, is_soak);
    let said = say!(
        lang,
        ". {rounds} {ended}: {tests}",
        "。{n} 回が{ended}: {tests}"
    );
    cut(&said, FAILED_ROOM)
}

/// A reason, and for how many rounds it was one.
fn for_so_many(why: &str, n: usize, is_soak: bool, lang: Lang) -> String {
    let rounds = counted_rounds(n, is_soak);
    say!(lang, "{why}, {rounds}", "{why}、{n} 回")
}

fn counted_rounds<N: Copy + Display + PartialEq + From<u8>>(n: N, is_soak: bool) -> String {
    if is_soak {
        counted(n, "stretch", "stretches")
    } else {
        counted(n, "round", "rounds")
    }
}

/// Likewise, with what must be known of it, and what to do where the figures may not be quoted.
pub(crate) fn whole(trust: &Trust, is_soak: bool, lang: Lang) -> String {
    let rounds = if is_soak { "stretches" } else { "rounds" };
    let brief = brief(trust, rounds, lang);
    let later = lang.pick(
        "Run again at another hour",
        "時間を変えて再測定してください",
    );
    match trust {
        Trust::Nothing => say!(
            lang,
            "{brief}; `--full` has the reasons",
            "{brief}。理由は `--full` にあります"
        ),
        Trust::Quiet { others, stolen } => brief + &known(*others, *stolen, rounds, lang),
        Trust::Quota(_) => say!(
            lang,
            "{brief}; quote the quota with the figures",
            "{brief}。数値はクォータとともに引用してください"
        ),
        Trust::Disturbed(Disturber::Others(_, share), _) => say!(
            lang,
            "{brief}, using {share} of a CPU; do not quote. Stop it and run again, or see `--full`",
            "{brief}、CPU の {share} を使用。引用不可。止めて再測定するか、`--full` を参照",
            share = percent(*share)
        ),
        Trust::Disturbed(Disturber::Host(share), _) => say!(
            lang,
            "{brief}, taking {share} of the CPU time; do not quote. {later}",
            "{brief}、CPU 時間の {share} を占有。引用不可。{later}",
            share = percent(*share)
        ),
        Trust::Disturbed(Disturber::Neighbour, _) => say!(
            lang,
            "{brief}, on which something else ran; do not quote. {later}",
            "{brief}で他の処理が動作。引用不可。{later}"
        ),
        Trust::Disturbed(Disturber::Clock, _) => say!(
            lang,
            "{brief} (set, or the machine slept); do not quote. Run again",
            "{brief}、変更かマシンの休止。引用不可。再測定してください"
        ),
        Trust::DebugBuild => say!(
            lang,
            "{brief}: do not quote. Build with `cargo build --release`",
            "{brief}: 引用不可。`cargo build --release` でビルドしてください"
        ),
        Trust::Imported { by, rounds: 0 | 1 } => say!(
            lang,
            "{brief} from {by}, one sample: no interval. What went on meanwhile is not known",
            "{brief}（{by}）、1 回のみ: 区間なし。測定中の様子は不明"
        ),
        Trust::Imported { by, rounds } => say!(
            lang,
            "{brief} from {by}, {rounds} runs as rounds. What went on meanwhile is not known",
            "{brief}（{by}）、{rounds} 回分。測定中の様子は不明"
        ),
        Trust::FewRounds(_) => say!(
            lang,
            "{brief} of each, an interval takes {need}; do not quote",
            "{brief}（区間には {need} 回必要）。引用不可",
            need = stats::ROUNDS_MIN
        ),
    }
}

/// What is known of other programs and of the host.
fn known(others: Option<Rounds>, stolen: Option<f64>, rounds: &str, lang: Lang) -> String {
    let others = others.map(|Rounds { n, of }| match n {
        0 => say!(
            lang,
            "other programs used under 5 % of a CPU",
            "他のプログラムの CPU 使用は 5 % 未満"
        ),
        n => say!(
            lang,
            "other programs used a CPU in {n} of {of} {rounds}",
            "他のプログラムの CPU 使用は {of} 回中 {n} 回"
        ),
    });
    let host = stolen.map(|share| {
        let share = percent(share);
        say!(lang, "the host took {share}", "ホストによる占有 {share}")
    });
    let known: Vec<String> = [others, host].into_iter().flatten().collect();
    let text = known.join(lang.pick(", ", "、"));
    match known.len() {
        0 => say!(
            lang,
            ": this system tells nothing of other programs and of the host",
            ": 他のプログラムもホストも、このシステムでは分かりません"
        ),
        1 => say!(lang, " as far as known: {text}", "（分かる範囲）: {text}"),
        _ => format!(": {text}"),
    }
}
