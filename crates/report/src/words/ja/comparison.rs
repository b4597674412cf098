//! Japanese, of comparisons.

use crate::words::{ComparisonWords, Counts, FloorNote, Span, days};
use model::comparison::{
    Estimator, Hopeless, Place, Refusal, RoundsNeeded, Scope, Verdict, Watched,
};

pub(super) const WORDS: ComparisonWords = ComparisonWords {
    base: "基準",
    other: "比較対象",
    summary: "要約",
    categories: "分野別",
    ratio: "比",
    verdict: "判定",
    needed: "必要回数",
    refused: "比較しなかった項目",
    without_interval: "区間のない項目",
    differences: "環境の違い",
    metrics: |n| format!("{n} 項目"),
    all_metrics: |n| format!("全 {n} 項目"),
    these_are: |why, list| format!("{why}（対象: {list}）"),
    latest_of: |n| format!("このラベルの {n} 件のうち最新"),
    rounds_needed: |needed| match needed {
        RoundsNeeded::Rounds(n) => format!("各 {n} 回程度"),
        RoundsNeeded::Pairs(n) => format!("{n} 組程度"),
        RoundsNeeded::PairsAtLeast(n) => format!("{n} 組以上"),
        RoundsNeeded::Instances(n) => format!("各 {n} 台程度"),
        RoundsNeeded::RoundsAtLeast(n) => format!("各 {n} 回以上"),
        RoundsNeeded::InstancesAtLeast(n) => format!("各 {n} 台以上"),
        RoundsNeeded::NotAtThisNoise => "ばらつき大のため困難".to_owned(),
    },
    counts,
    gain: |metric, ratio, interval| {
        format!("最も向上した項目は {metric} で、比は {ratio} です（{interval}）")
    },
    loss: |metric, ratio, interval| {
        format!("最も低下した項目は {metric} で、比は {ratio} です（{interval}）")
    },
    incomplete: |plain, none| {
        let what = match (plain, none) {
            (plain, 0) => format!("{plain} 項目には区間がありません"),
            (0, none) => format!("{none} 項目は比較していません"),
            (plain, none) => {
                format!("{plain} 項目には区間がなく、{none} 項目は比較していません")
            }
        };
        format!("{what}（理由は下記のとおりです）")
    },
    both_disturbed: "測定中に両方とも妨害を受けており（注を参照）、それが原因の可能性があります。静かなときに両方を測り直してください",
    one_disturbed: |name| {
        format!(
            "{name} は測定中に妨害を受けており（注を参照）、それが原因の可能性があります。静かなときに測り直してください"
        )
    },
    setup_differs: |n, list| {
        format!("環境に {n} 点の違いがあり（{list}）、それが原因の可能性があります")
    },
    looked: |difference, same| {
        format!(
            "回数を測定値に応じて決めたため、判定には区間より厳しい水準を使っています（{difference}、「同等」は {same}）"
        )
    },
    paired: "デュエル: 両側のラウンドを 1 回ずつ組にし、順序を無作為に決めて続けて測定し、組ごとに比較しています",
    scope,
    and_more: |first, more| format!("{first} ほか {more} 件"),
    notes: "補足",
    slow_moments,
    hopeless,
    margin_raised: |metric, class, margin| {
        format!(
            "{metric}: 許容差を {class} から {margin} に広げました（このテストのノイズフロアの 2 倍）"
        )
    },
    repeat: |on_base, sure, runs| {
        let side = if on_base {
            "基準側"
        } else {
            "比較対象側"
        };
        if sure {
            format!(
                "{side}の {runs} は同じインスタンスで測定したものです。プランの比較には、各側 5 台の別々のインスタンスが必要です"
            )
        } else {
            format!(
                "{side}の {runs} は同じインスタンスかどうか判別できません。プランの比較には、各側 5 台の別々のインスタンスが必要です"
            )
        }
    },
    no_level: |side, list, estimator| {
        let about = match estimator {
            Estimator::Rounds => "全ラウンドのトリム平均",
            Estimator::Pairs => "全ラウンドの組のトリム平均",
            Estimator::Runs => "各測定の中央値",
        };
        format!(
            "{side}: 一つの水準に落ち着いていない項目があります。{list}。`kurabe show` では値を示しません。表の値と判定は{about}についてのもので、実際にその速度で動くとは限りません"
        )
    },
    changed: |side, list| {
        format!(
            "{side}: 測定中に水準が変わった項目があります。{list}。値は測定全体についてのもので、別の時間帯では異なる可能性があります"
        )
    },
    with_remark: |metric, remark| format!("{metric}: {remark}"),
    in_runs: |n, of| format!("{of} 件中 {n} 件"),
    lower: "（小）",
    values_are: |estimator| match estimator {
        Estimator::Rounds => {
            "基準・比較対象の値は、比のもとになるトリム平均（対数で計算）です。`kurabe show` の値は中央値のため、少し異なることがあります"
        }
        Estimator::Pairs => {
            "基準・比較対象の値は、比のもとになる組ごとのトリム平均（対数で計算）です。`kurabe show` の値は中央値のため、少し異なることがあります"
        }
        Estimator::Runs => {
            "基準・比較対象の値は、比のもとになる「各測定の中央値」の幾何平均です。どの測定も 1 件として数えます"
        }
    },
    no_level_legend: "~ の付いた値は、一つの水準に落ち着いていないラウンドの平均です（補足を参照）",
    lower_legend: "単位の後の（小）は小さいほど良い項目で、比は「基準 ÷ 比較対象」です",
    legend: &[
        "比は「比較対象 ÷ 基準」で、1 より大きいほど良くなるように向きをそろえています。* は良い側を示します",
        "区間は項目ごとの 95 % 信頼区間です。判定は項目数に応じて補正しています",
        "良い?・悪い?: 方向は確実ですが大きさは不確実です。同等: 許容差を超える違いはありません。判定不能: 判断できません",
    ],
    nothing: "比較できる項目はありません",
};

fn counts(counts: &Counts) -> String {
    let Counts {
        other,
        base,
        compared,
        better,
        worse,
        same,
        unclear,
        no_level,
    } = counts;
    let no_level = match no_level {
        0 => String::new(),
        n => format!("（うち {n} 項目は一つの水準に落ち着いていません: ~）"),
    };
    format!(
        "{compared} 項目のうち、{other} が {base} より良いもの {better}、悪いもの {worse}、同等 {same}、判定不能 {unclear} です{no_level}"
    )
}

fn length(span: Span) -> String {
    match span {
        Span::Seconds(0) => "1 秒未満".to_owned(),
        Span::Seconds(n) => format!("{n} 秒間"),
        Span::Minutes(n) => format!("{n} 分間"),
        Span::Hours(n) | Span::DayAndMore(n) => format!("{n} 時間"),
    }
}

fn watched(watched: Watched) -> String {
    match watched {
        Watched::Once(span) => match Span::of(span) {
            span @ (Span::Seconds(0) | Span::DayAndMore(_)) => length(span),
            span => format!("今回の {}", length(span)),
        },
        Watched::Twice { base, other, apart } => {
            let (base, other) = (length(Span::of(base)), length(Span::of(other)));
            let spans = if base == other {
                format!("それぞれ {base}")
            } else {
                format!("{base}と {other}")
            };
            let apart = match days(apart) {
                Some(days) => format!("{days} 日"),
                None => match Span::of(apart) {
                    Span::Seconds(0) => "1 秒未満".to_owned(),
                    Span::Seconds(n) => format!("{n} 秒"),
                    Span::Minutes(n) => format!("{n} 分"),
                    Span::Hours(n) | Span::DayAndMore(n) => format!("{n} 時間"),
                },
            };
            format!("{spans}（開始時刻の差は {apart}）")
        }
    }
}

fn scope(scope: &Scope) -> String {
    let when = watched(scope.watched);
    match scope.place {
        Place::OneInstance => format!("このインスタンス、{when}"),
        Place::TwoInstances => format!("この 2 台のインスタンス、{when}"),
        Place::TwoRuns => format!("この 2 件の測定、{when}"),
        Place::Plan { base, other } => format!("このプラン（{base} 台と {other} 台）"),
        Place::Runs { base, other } => {
            format!("この {base} 件と {other} 件の測定（プラン全体ではありません）")
        }
    }
}

fn hopeless(metrics: &str, why: Hopeless) -> String {
    let why = match why {
        Hopeless::OnTheMargin => {
            "比がちょうど許容差の境目にあり、回数を増やしても判定できません。`--margin` を変えると判定できる可能性があります"
        }
        Hopeless::Steal => {
            "ばらつき大のため困難: ほとんどのラウンドでホストに時間を奪われています。別の時間帯のほうが静かな可能性があります"
        }
        Hopeless::BetweenRounds => {
            "ばらつき大のため困難: ラウンドごとの差が大きく、回数よりも、長い時間に分散して測定するほうが有効です"
        }
        Hopeless::WithinRounds => {
            "ばらつき大のため困難: ラウンドの中のばらつきが大きく、回数よりもラウンドを長くするほうが有効です"
        }
        Hopeless::BetweenInstances => "ばらつき大のため困難: インスタンスごとの差が大きいためです",
        Hopeless::Unseen => "ばらつき大のため困難: ばらつきの原因は記録からは分かりません",
    };
    format!("{metrics}: {why}")
}

fn slow_moments(note: &FloorNote) -> String {
    let FloorNote {
        metric,
        other,
        typical,
        faster,
        change,
        range,
        slow_shares,
    } = note;
    let typically = match typical {
        Verdict::Same => "通常時は同等です",
        Verdict::Better | Verdict::BetterMaybe => "通常時は良いです",
        Verdict::Worse | Verdict::WorseMaybe => "通常時は悪いです",
        Verdict::Unclear => "通常時の差は判定できません",
    };
    let direction = if *faster { "速く" } else { "遅く" };
    let shares = slow_shares
        .as_ref()
        .map_or_else(String::new, |(base, other)| {
            format!("。通常の 90 % を下回る区間の割合は {base} と {other} です")
        });
    format!(
        "{metric}: {typically}が、遅い瞬間では {other} が {change} {direction}なっています（{range}）{shares}"
    )
}

pub(super) fn refusal(refusal: &Refusal, run: &str) -> String {
    match refusal {
        Refusal::OneSideOnly { base_has_it: true } => {
            format!("基準側にしかありません。比較対象側で {run} を実行してください")
        }
        Refusal::OneSideOnly { base_has_it: false } => {
            format!("比較対象側にしかありません。基準側で {run} を実行してください")
        }
        Refusal::WorkloadVersion { base, other } => format!(
            "ワークロードのバージョンが異なるため（{base} と {other}）比較できません。双方を同じ kurabe で {run} として測定し直してください"
        ),
        Refusal::Parameters(differences) => {
            let list: Vec<String> = differences
                .iter()
                .map(|(name, base, other)| format!("{name} が {base} と {other}"))
                .collect();
            format!(
                "パラメーターが異なります: {}。基準側に合わせるには {run} を実行してください",
                list.join("、")
            )
        }
        Refusal::NoValue { base, other, why } => {
            let side = match (base, other) {
                (true, true) => "双方",
                (true, false) => "基準側",
                _ => "比較対象側",
            };
            format!(
                "{side}のどのラウンドにも値がありません: {why}。測定し直すには{side}で {run} を実行してください"
            )
        }
        Refusal::TooFewRounds { base, other, need } => {
            let single = if *base == 1 || *other == 1 {
                "単独の値からはばらつきがわかりません。"
            } else {
                ""
            };
            let side = match (base < need, other < need) {
                (true, false) => "基準側",
                (false, true) => "比較対象側",
                _ => "双方",
            };
            format!(
                "回数が足りません: {base} 回と {other} 回（双方 {need} 回以上必要です）。{single}{side}で {run} を実行してください"
            )
        }
        Refusal::TooFewPairs {
            pairs,
            need,
            resume,
        } => {
            let help = resume.as_ref().map_or_else(
                || {
                    "`--passes` を 9 以上にするか時間を長くして、`kurabe duel` をやり直してください"
                        .to_owned()
                },
                |id| format!("`kurabe duel --resume {id}` で続きを測定できます"),
            );
            format!(
                "両側に値がある組が足りません: {pairs} 組（判定には {need} 組必要です）。{help}"
            )
        }
        Refusal::TooFewRuns { base, other, need } => format!(
            "測定の件数が足りません: {base} 件と {other} 件（プランの比較には、各側 {need} 台の別々のインスタンスが必要です）。別のインスタンスで {run} を実行してください"
        ),
        Refusal::GroupDisagrees { on_base, runs, why } => {
            let side = if *on_base {
                "基準側"
            } else {
                "比較対象側"
            };
            let why = refusal_of_group(why);
            format!(
                "{side}の測定条件がそろっていません（{} と {}: {why}）。一方を除くか、{run} で測定し直してください",
                runs.0, runs.1
            )
        }
        Refusal::Soak { base, other } => {
            let (who, side) = match (base, other) {
                (true, true) => ("双方が", "双方"),
                (true, false) => ("基準側が", "基準側"),
                _ => ("比較対象側が", "比較対象側"),
            };
            format!(
                "{who}ソークです。ソークの各回はひと続きの系列で、独立した標本ではないため、比だけを示します。ソークの結果は `kurabe show RUN` で確認し、判定には{side}で {run} を実行してください"
            )
        }
        Refusal::NoRatio {
            base_is_zero: true,
            other_is_zero: true,
        } => "双方ともすべてのラウンドで 0 です。比はありませんが、違いもありません".to_owned(),
        Refusal::NoRatio {
            base_is_zero,
            other_is_zero,
        } if *base_is_zero || *other_is_zero => format!(
            "{}がすべてのラウンドで 0 のため、比を計算できません。`kurabe show RUN --format csv-rounds` で確認するか、{run} で測定し直してください",
            if *base_is_zero {
                "基準側"
            } else {
                "比較対象側"
            }
        ),
        Refusal::NoRatio { .. } => format!(
            "値がゼロ、負、または欠けているため、比を計算できません。`kurabe show RUN --format csv-rounds` で確認するか、{run} で測定し直してください"
        ),
    }
}

/// Why two runs of one side disagree.
fn refusal_of_group(why: &Refusal) -> String {
    match why {
        Refusal::WorkloadVersion { base, other } => {
            format!("ワークロードのバージョンが {base} と {other}")
        }
        Refusal::Parameters(differences) => {
            let list = differences
                .iter()
                .map(|(name, base, other)| format!("{name} が {base} と {other}"));
            list.collect::<Vec<_>>().join("、")
        }
        _ => "測定内容が異なります".to_owned(),
    }
}
