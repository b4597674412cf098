//! About soaks, in Japanese.

use super::{ALIKE, Marked, Said, SoakWords, Spent, shares, with};
use crate::number::{percent, signed_percent};
use crate::words::ja::warning_of_soak;
use stats::soak::{Disturbed, Early};

pub(in crate::words) const WORDS: SoakWords = SoakWords {
    says,
    between: "。また、",
    operations: |n| format!("{n} 回の操作"),
    of_cpu_time: |work, time| format!("{work}（CPU 時間で {time}）"),
    blocks: |low, high| format!("最も低い目盛りは {low}、最も高い目盛りは {high}"),
    spent,
    levels: "水準",
    burst: "バースト時の速度",
    sustained: "持続速度",
    bucket: "バケットの容量",
    at_full_speed: |time| format!("全速で {time} に相当"),
    typical: "代表値（区間の中央値）",
    floor: "下限（10 % の区間はこれより遅い）",
    best: "最良（5 % の区間はこれより速い）",
    slow: "代表値の 90 % を下回る区間の割合",
    mean: "平均",
    within: "この測定内の区間であり、比較には使えません",
    of_stretches: |metric| format!("{metric}（各回の中央値）"),
    marks: "記録された出来事",
    mark: |mark| match mark {
        Marked::ClockJump(by) => format!("時計が {by} 変更されました"),
        Marked::Suspended(time) => format!("マシンが {time} 停止していました"),
        Marked::SuspendedAtRest(time) => {
            format!("この前の休止中に、マシンが {time} 停止していました")
        }
        Marked::Failed(why) => format!("測定に失敗しました: {why}"),
        Marked::Gap(time) => format!("この前の {time} は測定されていません"),
    },
    left_out: |n| {
        format!(
            "時計の変更またはマシンの停止があったため、{n} 個の区間をすべての水準から除いています"
        )
    },
    next_resume: "残りの時間の測定を続けます",
    clock_range: |lo, hi, median| {
        format!("{lo}..{hi} GHz（中央値 {median}、各測定回の前後に測定）")
    },
    warning: warning_of_soak,
};

fn spent(spent: &Spent) -> String {
    let asked = with(spent.asked.as_ref(), |time| format!("（予定 {time}）"));
    let no_room = if spent.no_room {
        "（残り時間には次の測定が入りません）"
    } else {
        ""
    };
    let every = match &spent.every {
        None => "休止なしの負荷".to_owned(),
        Some(every) => format!("{every} ごとに測定"),
    };
    let missed = with(spent.missed.as_ref(), |time| {
        format!("（うち {time} は測定なし）")
    });
    let (time, windows, window) = (&spent.time, spent.windows, &spent.window);
    let between = with(spent.between.as_ref(), |time| {
        format!("。測定回の開始と終了に {time}")
    });
    let edges = match spent.edges {
        0 => String::new(),
        n => format!("。うち各測定回の両端の {n} 個は図に含みません"),
    };
    format!("{time}{asked}{no_room}、{every}{missed}: {window} の区間 {windows} 個{edges}{between}")
}

fn disturbed(disturbed: &Disturbed) -> String {
    let by = shares(
        disturbed,
        [
            |share| format!("ホストによるもの {share}"),
            |share| format!("他のプロセスによるもの {share}"),
            |share| format!("CPU クォータによるもの {share}"),
        ],
    );
    let change = match disturbed.change {
        None => String::new(),
        Some(change) if change.abs() < ALIKE => {
            "。その間の区間の中央値は、他との差が 0.5 % 未満です".to_owned()
        }
        Some(change) => format!(
            "。その間の区間の中央値は、他と {} 違います",
            signed_percent(change)
        ),
    };
    format!(
        "測定回の {} で CPU 時間を奪われています（{}）{change}",
        percent(disturbed.share),
        by.join("、")
    )
}

fn ended_early(why: Early, lasted: Option<&(String, f64)>, of: &str) -> String {
    let how = match why {
        Early::Unfinished => "強制終了されたか、まだ測定中です",
        Early::Interrupted => "途中で中断されました",
        Early::Failed => "測定に失敗し続けたため打ち切りました",
        Early::Lapsed => "止まり、再開されないまま予定の時間が過ぎました",
    };
    match lasted {
        Some((time, share)) => format!("予定 {of} のうち {time}（{}）で{how}", percent(*share)),
        None => format!("予定 {of} の最初の測定回が終わる前に{how}"),
    }
}

fn says(said: &Said) -> String {
    match said {
        Said::TooShort { windows, need } if windows < need => {
            format!(
                "有効な区間が {windows} 個しかなく、安定しているとは言えません（{need} 個必要です）"
            )
        }
        Said::TooShort { windows, .. } => {
            format!("{windows} 個の区間の半分以上で処理が進まず、表せる値がありません")
        }
        Said::Bucket {
            burst,
            time,
            sustained,
            credit,
            rest,
        } => format!(
            "{time} の間 {burst}、その後は {sustained}。容量 {credit} のトークンバケットであり、{rest} の休止中の回復で確認しました"
        ),
        Said::NoBucket {
            burst,
            time,
            sustained,
            at,
            rest,
        } => format!(
            "{time} の間 {burst}、{at} からは {sustained}。{rest} 休止してもクレジットのようには回復しなかったため、原因不明の段差です"
        ),
        Said::Untested {
            burst,
            time,
            sustained,
            credit,
            at,
        } => format!(
            "{time} の間 {burst}、{at} からは {sustained}。段差か容量 {credit} のバケットかは、回復の試験をしていないため分かりません"
        ),
        Said::Step {
            at,
            after,
            from,
            to,
            change,
        } => format!(
            "開始から {after} 後の {at} に {} の段差があり、{from} から {to} になりました",
            signed_percent(*change)
        ),
        Said::Ramp {
            change,
            interval: (lo, hi),
            time,
        } => format!(
            "{time} かけて {} 変化しました（99 % 信頼区間 {} .. {}）",
            signed_percent(*change),
            signed_percent(*lo),
            signed_percent(*hi)
        ),
        Said::TwoState {
            low,
            high,
            low_share,
            dwell,
        } => format!(
            "二つの状態を行き来します。{low} が時間の {}、{high} が {} で、平均 {dwell} ずつ続きます",
            percent(*low_share),
            percent(1.0 - low_share)
        ),
        Said::Periodic { time, depth } => {
            format!(
                "{time} ごとに繰り返す低下があり、最大で {} 下がります",
                percent(*depth)
            )
        }
        Said::Unstable { levels, low, high } => {
            format!("{low} から {high} までの {levels} つの水準があり、一つの数値では表せません")
        }
        Said::Steady { level, slow: None } => format!("{level} で安定しています"),
        Said::Steady {
            level,
            slow: Some(share),
        } => format!(
            "{level} で安定していますが、区間の {} はその 90 % を下回ります",
            percent(*share)
        ),
        Said::PossibleRamp {
            level,
            change,
            interval: (lo, hi),
            time,
        } => format!(
            "{level} 前後ですが、安定しているとは言い切れません。{time} かけて {} 変化している可能性があります（99 % 信頼区間 {} .. {}、偶然かもしれません）",
            signed_percent(*change),
            signed_percent(*lo),
            signed_percent(*hi)
        ),
        Said::Disturbed(by) => disturbed(by),
        Said::EndedEarly { why, lasted, of } => ended_early(*why, lasted.as_ref(), of),
        Said::NotSeen { time, work } => format!(
            "{time} の負荷（{work}）の間に制限は見られず、バケットがあるとすればこれより大きいものです"
        ),
    }
}
