//! Why metrics were not compared, in words, with the command that helps.

use crate::comparison::Sides;
use crate::duel;
use crate::lang::{Lang, say};
use crate::said::missing;
use dialects::command;
use model::comparison::Refusal;
use model::params::ParamValue;
use model::plan::CaseId;
use model::record::Run;
use model::units::Nanos;

/// Why the metrics of these cases were not compared, with the command that helps.
pub(crate) fn sentence(
    refusal: &Refusal,
    cases: &[&CaseId],
    sides: Sides<'_>,
    lang: Lang,
) -> String {
    let of_duel = sides
        .are_of_a_duel()
        .then(|| duel::refusal(refusal, lang))
        .flatten();
    let remedy = remedy(refusal, cases, sides);
    let of_import = || remedy.is_none().then(|| of_import(refusal, lang)).flatten();
    let with_command = || {
        let run = remedy.as_deref().unwrap_or("`kurabe run`");
        why(refusal, run, sides, lang)
    };
    of_duel.or_else(of_import).unwrap_or_else(with_command)
}

/// The command that measures these cases again, or for the first time; `None` where another program measured them.
pub(super) fn remedy(refusal: &Refusal, cases: &[&CaseId], sides: Sides<'_>) -> Option<String> {
    let run = match refusal {
        Refusal::OneSideOnly { base_has_it: false } => sides.other.first(),
        _ => sides.base.first(),
    };
    if run.meta.origin.is_some() {
        return None;
    }
    let longer = longer(refusal, cases, run);
    let differences = match refusal {
        Refusal::Parameters(differences) => differences.as_slice(),
        _ => longer.as_slice(),
    };
    // Each side has its server; where two are to be measured it takes two commands.
    let (base, other) = if longer.is_empty() {
        measured_again(refusal)
    } else {
        // Rounds of different length do not compare.
        (true, true)
    };
    let sides = [(base, sides.base), (other, sides.other)];
    let sides = sides.into_iter().filter(|(is_measured, _)| *is_measured);
    let server = |run: &Run| Some(run.plan.servers().next()?.path.clone());
    // What was imported names no server of its own; what kurabe measured without one was SQLite inside of it.
    let servers = sides.map(|(_, side)| {
        let side = side.first();
        let imported = || side.meta.origin.as_ref().and_then(|_| server(run));
        server(side).or_else(imported)
    });
    let mut commands: Vec<String> = servers
        .map(|server| {
            let command = command::again(&run.plan, cases, differences, server.as_deref());
            format!("`{command}`")
        })
        .collect();
    commands.dedup();
    Some(commands.join(", "))
}

/// Rounds as long as a percentile takes, where they had too few operations for it and their length is a parameter: more
/// rounds would have no more operations each.
fn longer(refusal: &Refusal, cases: &[&CaseId], run: &Run) -> Vec<(String, String, String)> {
    const LENGTH: &str = "time";
    let Refusal::NoValue { why, .. } = refusal else {
        return Vec::new();
    };
    let mut planned = run.plan.cases.iter();
    let planned = planned.find(|case| cases.contains(&&case.id));
    let now = planned.and_then(|case| case.params.get(LENGTH));
    let (Some(ParamValue::Duration(now)), Some((have, needed))) = (now, operations(why)) else {
        return Vec::new();
    };
    let seconds = seconds(*now, have, needed);
    vec![(LENGTH.to_owned(), format!("{seconds}s"), String::new())]
}

/// Whole seconds in which there are a quarter more operations than needed, where so many were in this time.
fn seconds(now: Nanos, have: u64, needed: u64) -> u64 {
    let needed = u128::from(now.0) * u128::from(needed) * 5 / 4;
    let seconds = needed.div_ceil(u128::from(have.max(1)) * 1_000_000_000);
    u64::try_from(seconds).unwrap_or(u64::MAX)
}

/// How many operations there were and how many it takes, of `130 operations in the round are too few for its percentile
/// 99: it takes 1000`.
fn operations(why: &str) -> Option<(u64, u64)> {
    let (have, rest) = why.split_once(" operation")?;
    let (_, rest) = rest.split_once("too few for its percentile ")?;
    let (_, needed) = rest.split_once(": it takes ")?;
    let digits = needed.find(|c: char| !c.is_ascii_digit());
    let needed = &needed[..digits.unwrap_or(needed.len())];
    Some((have.parse().ok()?, needed.parse().ok()?))
}

/// Which sides the command of a refusal measures again: the base, and the other one.
const fn measured_again(refusal: &Refusal) -> (bool, bool) {
    match *refusal {
        Refusal::OneSideOnly { base_has_it } => (!base_has_it, base_has_it),
        Refusal::TooFewRounds { base, other, need } => (base < need, other < need),
        Refusal::NoValue { base, other, .. } | Refusal::Soak { base, other } => (base, other),
        Refusal::GroupDisagrees { on_base, .. } => (on_base, !on_base),
        Refusal::Parameters(_) => (false, true),
        _ => (true, true),
    }
}

/// Why metrics of another program's were not compared, where the sentence would name a command of kurabe's.
fn of_import(refusal: &Refusal, lang: Lang) -> Option<String> {
    Some(match refusal {
        Refusal::OneSideOnly { base_has_it: true } => {
            say!(lang, "only the base has it", "基準側にしかありません")
        }
        Refusal::OneSideOnly { base_has_it: false } => say!(
            lang,
            "only the other run has it",
            "比較対象側にしかありません"
        ),
        Refusal::WorkloadVersion { base, other } => say!(
            lang,
            "different versions of the workload ({base} and {other}), which do not compare",
            "ワークロードのバージョンが異なるため（{base} と {other}）比較できません"
        ),
        Refusal::Parameters(differences) => say!(
            lang,
            "measured otherwise: {list}",
            "測定条件が異なります: {list}",
            list = parameters(differences, lang)
        ),
        Refusal::NoValue { base, other, why } => say!(
            lang,
            "{on} there is no value: {why}",
            "{on}に値がありません: {why}",
            why = missing(Some(why), lang),
            on = on(*base, *other, lang)
        ),
        Refusal::Declared(what, base, other) => say!(
            lang,
            "the sides mean different things by it ({what}: {base} and {other})",
            "双方で項目の意味が異なります（{what}: {base} と {other}）"
        ),
        Refusal::BeyondNumbers => say!(
            lang,
            "the values lie so far apart that no number says their ratio",
            "値の差が大きすぎて比を数で表せません"
        ),
        Refusal::TooFewRuns { base, other, need } => say!(
            lang,
            "too few runs: {base} and {other}, where a plan needs {need} separate instances a side",
            "測定の件数が足りません: {base} 件と {other} 件（プランの比較には、各側 {need} 台の別々のインスタンスが必要です）"
        ),
        Refusal::TooFewRounds { base, other, need } => say!(
            lang,
            "too few rounds: {base} and {other}, where each side needs {need}",
            "ラウンドが足りません: {base} と {other}（双方 {need} ラウンド以上必要です）"
        ),
        Refusal::Soak { base, other } => say!(
            lang,
            "{on} it is a soak, whose rounds are one series and no independent sample: the plain ratio is all there is",
            "{on}がソークです。各ラウンドはひと続きの系列で、独立した標本ではないため、比だけを示します",
            on = on(*base, *other, lang)
        ),
        Refusal::GroupDisagrees {
            on_base,
            runs: (first, second),
            why,
        } => say!(
            lang,
            "the runs of the {side} did not measure the same ({first} and {second}: {why}); leave one out",
            "{side}の測定条件がそろっていません（{first} と {second}: {why}）。一方を除いてください",
            side = side(*on_base, lang),
            why = of_group(why, lang)
        ),
        Refusal::NoRatio {
            base_is_zero,
            other_is_zero,
        } if base_is_zero != other_is_zero => say!(
            lang,
            "0 in every round of the {side}, so there is no ratio",
            "{side}がすべてのラウンドで 0 のため、比を計算できません",
            side = side(*base_is_zero, lang)
        ),
        Refusal::NoRatio {
            base_is_zero: false,
            ..
        } => say!(
            lang,
            "a value is zero, negative or missing, so there is no ratio",
            "値がゼロ、負、または欠けているため、比を計算できません"
        ),
        // The others name no command that measures again, or are of figures that kurabe measured.
        _ => return None,
    })
}

/// The sentence; `run` is the command that helps.
fn why(refusal: &Refusal, run: &str, sides: Sides<'_>, lang: Lang) -> String {
    match refusal {
        Refusal::OneSideOnly { base_has_it: true } => say!(
            lang,
            "only the base has it; on the other side: {run}",
            "基準側にしかありません。比較対象側で {run} を実行してください"
        ),
        Refusal::OneSideOnly { base_has_it: false } => say!(
            lang,
            "only the other run has it; on the base's side: {run}",
            "比較対象側にしかありません。基準側で {run} を実行してください"
        ),
        Refusal::WorkloadVersion { base, other } => say!(
            lang,
            "measured by different versions of the workload ({base} and {other}), which do not compare: measure both with the same kurabe, {run}",
            "ワークロードのバージョンが異なるため（{base} と {other}）比較できません。双方を同じ kurabe で {run} として測定し直してください"
        ),
        Refusal::Parameters(differences) => say!(
            lang,
            "parameters differ: {list}; as the base: {run}",
            "パラメーターが異なります: {list}。基準側に合わせるには {run} を実行してください",
            list = parameters(differences, lang)
        ),
        Refusal::NoValue { base, other, why } => say!(
            lang,
            "{on} no round has a value: {why}; to try again: {run}",
            "{on}のどのラウンドにも値がありません: {why}。測定し直すには{on}で {run} を実行してください",
            why = missing(Some(why), lang),
            on = on(*base, *other, lang)
        ),
        Refusal::TooFewImported { base, other, need } => say!(
            lang,
            "imported figures are too few for an interval: {base} and {other}, where each side needs {need}; \
             `kurabe import --as-rounds FILE...` makes one run of the outputs of repeated runs",
            "取り込んだ値が少ないため区間を計算できません: {base} と {other}（双方 {need} 回以上必要です）。\
             `kurabe import --as-rounds FILE...` で繰り返しの出力を 1 件の測定にまとめられます"
        ),
        Refusal::TooFewRounds { base, other, need } => {
            let single = if *base == 1 || *other == 1 {
                lang.pick(
                    "; a single figure says nothing about its scatter",
                    "単独の値からはばらつきがわかりません。",
                )
            } else {
                ""
            };
            say!(
                lang,
                "too few rounds: {base} and {other}, where each side needs {need}{single}; {on}: {run}",
                "ラウンドが足りません: {base} と {other}（双方 {need} ラウンド以上必要です）。{single}{on}で {run} を実行してください",
                on = on(base < need, other < need, lang)
            )
        }
        Refusal::TooFewPairs {
            pairs,
            need,
            resume,
        } => {
            let resume = resume.as_deref().map(|id| {
                let mut plans = sides.both().map(|side| &side.first().plan);
                plans.sort_by_key(|plan| plan.duel.as_ref().map(|duel| &duel.side));
                command::resume("duel", id, &plans)
            });
            too_few_pairs(*pairs, *need, resume.as_deref(), lang)
        }
        Refusal::TooFewRuns { base, other, need } => say!(
            lang,
            "too few runs: {base} and {other}, where a plan needs {need} separate instances a side; on each further instance: {run}",
            "測定の件数が足りません: {base} 件と {other} 件（プランの比較には、各側 {need} 台の別々のインスタンスが必要です）。別のインスタンスで {run} を実行してください"
        ),
        Refusal::GroupDisagrees {
            on_base,
            runs: (first, second),
            why,
        } => say!(
            lang,
            "the runs of the {side} did not measure the same ({first} and {second}: {why}); leave one out, or measure it again: {run}",
            "{side}の測定条件がそろっていません（{first} と {second}: {why}）。一方を除くか、{run} で測定し直してください",
            side = side(*on_base, lang),
            why = of_group(why, lang)
        ),
        Refusal::Soak { base, other } => say!(
            lang,
            "{on} it is a soak, whose rounds are one series and no independent sample, so that the plain ratio is all there is; what a soak found is in `kurabe show RUN`; for a verdict, {on}: {run}",
            "{on}がソークです。ソークの各ラウンドはひと続きの系列で、独立した標本ではないため、比だけを示します。ソークの測定は `kurabe show RUN` で確認し、判定には{on}で {run} を実行してください",
            on = on(*base, *other, lang)
        ),
        Refusal::BeyondNumbers => say!(
            lang,
            "the values lie so far apart that no number says their ratio: see the rounds with `kurabe show RUN --format csv-rounds`, or measure again, {run}",
            "値の差が大きすぎて比を数で表せません。`kurabe show RUN --format csv-rounds` で確認するか、{run} で測定し直してください"
        ),
        Refusal::Declared(what, base, other) => say!(
            lang,
            "the sides mean different things by it ({what}: {base} and {other}), so that they do not compare: measure both with the same kurabe, {run}",
            "双方で項目の意味が異なるため（{what}: {base} と {other}）比較できません。双方を同じ kurabe で {run} として測定し直してください"
        ),
        Refusal::NoRatio {
            base_is_zero: true,
            other_is_zero: true,
        } => say!(
            lang,
            "0 in every round of both sides: there is no ratio, and no difference",
            "双方ともすべてのラウンドで 0 です。比はありませんが、違いもありません"
        ),
        Refusal::NoRatio {
            base_is_zero: false,
            other_is_zero: false,
        } => say!(
            lang,
            "a value is zero, negative or missing, so there is no ratio: see the rounds with `kurabe show RUN --format csv-rounds`, or measure again, {run}",
            "値がゼロ、負、または欠けているため、比を計算できません。`kurabe show RUN --format csv-rounds` で確認するか、{run} で測定し直してください"
        ),
        Refusal::NoRatio { base_is_zero, .. } => say!(
            lang,
            "0 in every round of the {side}, so there is no ratio: see the rounds with `kurabe show RUN --format csv-rounds`, or measure again, {run}",
            "{side}がすべてのラウンドで 0 のため、比を計算できません。`kurabe show RUN --format csv-rounds` で確認するか、{run} で測定し直してください",
            side = side(*base_is_zero, lang)
        ),
    }
}

/// A side, in a sentence.
pub(super) fn side(is_base: bool, lang: Lang) -> &'static str {
    if is_base {
        lang.pick("base", "基準側")
    } else {
        lang.pick("other side", "比較対象側")
    }
}

/// On which of the sides.
fn on(base: bool, other: bool, lang: Lang) -> &'static str {
    match (base, other) {
        (true, false) => lang.pick("on the base's side", "基準側"),
        (false, true) => lang.pick("on the other side", "比較対象側"),
        _ => lang.pick("on both sides", "双方"),
    }
}

fn too_few_pairs(pairs: u32, need: u32, resume: Option<&str>, lang: Lang) -> String {
    let help = match resume {
        Some(command) => say!(
            lang,
            "`{command}` goes on with it",
            "`{command}` で続きを測定できます"
        ),
        None => say!(
            lang,
            "a new `kurabe duel` takes `--passes 9` or more, or more time",
            "`--passes` を 9 以上にするか時間を長くして、`kurabe duel` をやり直してください"
        ),
    };
    say!(
        lang,
        "too few pairs with both values: {pairs}, where a verdict takes {need}; {help}",
        "両側に値がある組が足りません: {pairs} 組（判定には {need} 組必要です）。{help}"
    )
}

/// Parameters with their values on both sides.
pub(super) fn parameters(differences: &[(String, String, String)], lang: Lang) -> String {
    let each = differences.iter().map(|(name, base, other)| {
        say!(
            lang,
            "{name} {base} and {other}",
            "{name} が {base} と {other}"
        )
    });
    each.collect::<Vec<_>>().join(lang.pick(", ", "、"))
}

/// Why two runs of one side disagree.
fn of_group(why: &Refusal, lang: Lang) -> String {
    match why {
        Refusal::WorkloadVersion { base, other } => say!(
            lang,
            "versions {base} and {other} of the workload",
            "ワークロードのバージョンが {base} と {other}"
        ),
        Refusal::Parameters(differences) => parameters(differences, lang),
        _ => say!(lang, "other work", "測定内容が異なります"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Party;
    use crate::testkit;
    use model::spec::Nature;

    fn case(text: &str) -> CaseId {
        text.parse().unwrap()
    }

    #[test]
    fn rounds_that_are_too_short_for_a_percentile_are_to_be_longer() {
        let few = "130 operations in the round are too few for its percentile 99: it takes 1000";
        assert_eq!(operations(few), Some((130, 1000)));
        let one = "1 operation in the round is too few for its percentile 95: it takes 20";
        assert_eq!(operations(one), Some((1, 20)));
        assert_eq!(operations("no operation ended in the round"), None);
        assert_eq!(seconds(Nanos::from_secs(1), 130, 1000), 10);
        assert_eq!(seconds(Nanos::from_millis(500), 1, 20), 13);
    }

    #[test]
    fn a_job_of_fios_is_measured_again_as_one() {
        let (mut base, other, _) = testkit::comparison();
        base.plan.what = ["fio", "--passes=3", "--name=a b", "job.fio"]
            .map(str::to_owned)
            .to_vec();
        let (base, other) = (Party::one(&base), Party::one(&other));
        let sides = Sides {
            base: &base,
            other: &other,
        };
        let few = Refusal::TooFewRounds {
            base: 1,
            other: 1,
            need: 6,
        };
        let found = remedy(&few, &[&case("a@1")], sides);
        let expect = "`kurabe fio --passes=9 '--name=a b' job.fio`";
        assert_eq!(found.as_deref(), Some(expect));
    }

    #[test]
    fn each_side_is_measured_again_on_its_own_server_and_an_import_on_that_of_the_other() {
        let few = Refusal::TooFewRounds {
            base: 1,
            other: 1,
            need: 6,
        };
        let case = case("os.pipe@2");
        let mut on_server = testkit::normal();
        let planned = on_server.plan.cases.iter_mut();
        planned.for_each(|case| case.nature = Nature::Database);
        let mut other = on_server.clone();
        on_server
            .plan
            .named
            .push(testkit::server("mysql://bob@h/a"));
        let remedy = |other: &Run| {
            let (base, other) = (Party::one(&on_server), Party::one(other));
            let sides = Sides {
                base: &base,
                other: &other,
            };
            remedy(&few, &[&case], sides).unwrap()
        };
        let sqlite = "`kurabe run os.pipe --copies 2 --passes 9`";
        let server = "`kurabe run os.pipe --copies 2 --passes 9 --db mysql://bob@h/a`";
        assert_eq!(remedy(&other), format!("{server}, {sqlite}"));
        other.meta.origin = Some(Box::new(testkit::origin()));
        assert_eq!(remedy(&other), server);
    }

    #[test]
    fn refusals_name_the_command_that_helps() {
        let case: CaseId = "os.pipe@2".parse().unwrap();
        let run = testkit::normal();
        let side = Party::one(&run);
        let sides = Sides {
            base: &side,
            other: &side,
        };
        for lang in Lang::ALL {
            for refusal in testkit::all_refusals() {
                let text = sentence(&refusal, &[&case], sides, lang);
                // Rounds of a run beside it are no pairs: a duel is helped by a duel.
                let command = match &refusal {
                    Refusal::TooFewPairs { resume: None, .. } => "`kurabe duel`",
                    Refusal::TooFewPairs { .. } => "`kurabe duel --resume 20261121-004311-9f3ca`",
                    Refusal::TooFewImported { .. } => "`kurabe import --as-rounds FILE...`",
                    _ => "kurabe run os.pipe --copies 2",
                };
                assert!(text.contains(command), "{text}");
            }
        }
        let differ = Refusal::Parameters(vec![("bs".to_owned(), "4k".to_owned(), "8k".to_owned())]);
        let text = remedy(&differ, &[&case], sides).unwrap();
        assert!(text.contains("--set os.pipe.bs=4k --passes 9"), "{text}");
    }

    #[test]
    fn what_another_program_measured_is_told_without_a_command_to_measure_it_again() {
        let case: CaseId = "table.x@2".parse().unwrap();
        let mut run = testkit::normal();
        run.meta.origin = Some(Box::new(testkit::origin()));
        let side = Party::one(&run);
        let sides = Sides {
            base: &side,
            other: &side,
        };
        for lang in Lang::ALL {
            for refusal in testkit::all_refusals() {
                let text = sentence(&refusal, &[&case], sides, lang);
                assert!(!text.contains("kurabe run"), "{text}");
            }
        }
    }

    #[test]
    fn every_refusal_is_said_in_every_language() {
        let never = Refusal::NoRatio {
            base_is_zero: true,
            other_is_zero: true,
        };
        let of_duels = [
            Refusal::OneSideOnly { base_has_it: true },
            Refusal::NoRatio {
                base_is_zero: true,
                other_is_zero: false,
            },
        ];
        let run = testkit::normal();
        let side = Party::one(&run);
        let sides = Sides {
            base: &side,
            other: &side,
        };
        for lang in Lang::ALL {
            let mut all: Vec<String> = testkit::all_refusals()
                .iter()
                .chain([&never])
                .map(|refusal| why(refusal, "`kurabe run os.pipe`", sides, lang))
                .collect();
            all.extend(
                of_duels
                    .iter()
                    .filter_map(|refusal| duel::refusal(refusal, lang)),
            );
            testkit::assert_sentences(&all, lang);
        }
    }
}
