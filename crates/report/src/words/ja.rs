//! Japanese: polite, in the words of technical writing; numbers and units as in English.

mod comparison;

use super::{HostWords, Named, RunWords, Words, soak_command};
use crate::number::{percent, signed_percent, time};
use model::comparison::Verdict;
use model::estimate::State;
use model::plan::CaseId;
use model::record::{CommandEnd, End, Failure, brief};
use model::warning::{OffCpuCause, TargetLimit, Warning};

pub(super) static WORDS: Words = Words {
    run: RunWords {
        end: |end| match end {
            End::Open => "未終了",
            End::Complete => "完了",
            End::Interrupted => "中断（途中までの結果）",
        },
        took: |time| format!("所要時間 {time}"),
        metric: "測定項目",
        value: "値",
        unit: "単位",
        interval: "95 % 信頼区間",
        rounds: "回数",
        state: "状態",
        notes: "注",
        nothing: "測定された項目はありません",
        index: "UnixBench 形式の指数（UnixBench ではなく kurabe による測定）",
        copies: |n| format!("{n} 並列"),
        passes: |n| format!("{n} 巡の中央値"),
        partial: |have, of| format!("一部のみ: {of} 項目中 {have} 項目"),
        compat: |version| {
            format!("UnixBench {version} の規則で算出した単一の値（区間はありません）")
        },
        without_value: "値が得られなかった項目",
        dropped: "計画から外した項目",
        left_out: |n| format!("{n} 件のテストを計画から除外"),
        no_value: "値なし",
        too_few_between: |fewest, most, need| {
            format!(
                "回数が {fewest} から {most} 回しかありません。95 % 信頼区間には {need} 回必要です"
            )
        },
        range_instead: "。代わりにラウンドの範囲を示しています",
        range: "範囲",
        of_several_copies,
        six_passes_take: |time, room| {
            format!(
                "（この測定では 6 巡に約 {time} かかります。`--budget {room}` 以上で試してください）"
            )
        },
        set_up: "測定条件",
        set_otherwise: "変更した設定",
        in_place_of: |name, value, own| format!("{name} は {own} の代わりに {value}"),
        all_tests: "全テスト",
        warnings: "警告",
        unstable: (
            "不安定・二状態",
            "ラウンドを一つの数値では表せないため、信頼区間の代わりに範囲を示しています",
        ),
        worst_of: |n| format!("（{n} 項目）"),
        worst: "複数の項目に共通する注の数値は、そのうち最も悪い項目のものです",
        scope: "対象",
        next: "次にできること",
        next_show: "ブログ用に出力します（csv、json も選べます）",
        next_compare: "`kurabe list` にある別の結果と比べます",
        next_unixbench: "UnixBench と同じ書式で出力します",
        next_resume: "この結果は途中までのため、続きを測定します",
        next_fio: "fio と同じ書式で出力します（`--output-format` で json、terse も選べます）",
    },
    host: HostWords {
        host: "マシン",
        name: "ホスト名",
        instance: "インスタンス（ダイジェスト）",
        boot: "起動（ダイジェスト）",
        cpu: "CPU",
        arch: "アーキテクチャ",
        online: "有効な CPU 数",
        offline: "無効な CPU 数",
        sockets: "ソケット数",
        cores: "コア数",
        threads_per_core: "コアあたりのスレッド数",
        clock_rate: "公称クロック",
        governor: "周波数ガバナー",
        caches: "キャッシュ",
        flags: "機能フラグ",
        numa: "NUMA ノード数",
        limits: "制限",
        cgroup: "cgroup",
        cpu_quota: "CPU クォータ",
        cpus_allowed: "使用できる CPU 数",
        memory_limit: "メモリ上限",
        root: "root 権限",
        container: "コンテナ",
        memory: "メモリ",
        available: "使用可能",
        swap: "スワップ",
        huge_pages: "透過的ヒュージページ",
        page_size: "ページサイズ",
        kernel: "カーネル",
        build: "ビルド",
        distribution: "ディストリビューション",
        mitigations: "脆弱性の緩和策",
        platform: "プラットフォーム",
        virtualization: "仮想化",
        vendor: "ベンダー",
        product: "製品",
        clock: "クロックソース",
        clock_cost: "読み取りの所要時間",
        tsc_reliable: "TSC の信頼性",
        storage: "ストレージ",
        works_on: "測定対象",
        written_to: "書き込みあり",
        only_read: "読み取りのみ",
        directory: "作業ディレクトリ",
        file_system: "ファイルシステム",
        mount_options: "マウントオプション",
        mount_point: "マウントポイント",
        free: "空き容量",
        devices: "デバイス",
        io: "I/O",
        programs: "プログラム",
        locale: "ロケール",
        none: "なし",
        bare_metal: "なし（物理マシン）",
        yes: "はい",
        no: "いいえ",
        usable: "使用できます",
        refused: |why| format!("使用できません: {why}"),
        unknown: |why| format!("不明: {why}"),
        cpus: |n| format!("{n} CPU"),
        quota: |cpus| format!("CPU クォータ {cpus}"),
        free_space: |size| format!("空き {size}"),
        reading: |time| format!("読み取り {time}"),
        mitigated: |done, open| match open {
            0 => format!("CPU の脆弱性 {done} 件を緩和済み"),
            open => format!("CPU の脆弱性 {done} 件を緩和済み、{open} 件は未対策"),
        },
    },
    comparison: comparison::WORDS,
    soak: super::soak::JA,
    duel: super::duel::JA,
    memory: super::memory::JA,
    loaded: super::loaded::JA,
    scaling: super::scaling::JA,
    storage: super::storage::JA,
    warning,
    refusal: comparison::refusal,
    state,
    verdict: |verdict| match verdict {
        Verdict::Better => "良い",
        Verdict::Worse => "悪い",
        Verdict::BetterMaybe => "良い?",
        Verdict::WorseMaybe => "悪い?",
        Verdict::Same => "同等",
        Verdict::Unclear => "判定不能",
    },
    failure,
};

fn warning(warning: &Warning) -> String {
    warning_about("ラウンド", warning)
}

/// The same of a soak, whose rounds are called stretches.
pub(super) fn warning_of_soak(warning: &Warning) -> String {
    warning_about("測定回", warning)
}

/// The sentence for a warning where what is counted is called `unit`.
fn warning_about(unit: &str, warning: &Warning) -> String {
    match warning {
        Warning::RoundsFailed { failed, of, reason } => {
            format!("{of} 回中 {failed} 回が失敗しました。最後の理由: {reason}")
        }
        Warning::TooFewRounds { have, need } => {
            format!("回数が {have} 回しかありません。95 % 信頼区間には {need} 回必要です")
        }
        Warning::Steal {
            rounds_share,
            worst_share,
        } => format!(
            "{} の{unit}で、要求した CPU 時間の 2 % 超をホストに奪われました（最大 {}）",
            percent(*rounds_share),
            percent(*worst_share)
        ),
        Warning::Throttled { rounds_share } => format!(
            "{} の{unit}で、CPU クォータにより測定が抑えられました",
            percent(*rounds_share)
        ),
        Warning::ForeignCpu {
            rounds_share,
            process,
        } => format!(
            "{} の{unit}で、他のプロセスが CPU の 5 % 超を使用しました{}",
            percent(*rounds_share),
            process.as_ref().map_or_else(String::new, |process| format!(
                "（最も多く使用したのは `{process}` です）"
            ))
        ),
        Warning::Gaps { rounds_share } => format!(
            "{} の{unit}で、どのカウンターでも説明できない空白時間がありました",
            percent(*rounds_share)
        ),
        Warning::UnevenSpeed { rounds_share } if *rounds_share > 0.5 => format!(
            "CPU の速度が一定していません。{} の{unit}の前後で、この測定の中央値から 3 % 超ずれていました",
            percent(*rounds_share)
        ),
        Warning::UnevenSpeed { rounds_share } => format!(
            "{} の{unit}の前後で、CPU の速度がこの測定の中央値から 3 % 超ずれていました",
            percent(*rounds_share)
        ),
        Warning::SharedCore {
            rounds_share,
            worst_share,
        } => format!(
            "{} の{unit}の前後で、コアのサイクル当たりの処理量が、この測定での最良時より少なくなっていました（最大で {} 減）。同じコアで別の何かも動いていたためです。コアのもう一つのハードウェアスレッドを使う他の仮想マシンなどで、これはどのカウンターにも現れません",
            percent(*rounds_share),
            percent(*worst_share)
        ),
        Warning::ClockTrouble { rounds_share } => format!(
            "{} の{unit}の間に、時計が変更されたか、マシンが一時停止しました",
            percent(*rounds_share)
        ),
        Warning::OrderEffect {
            within_pass: false,
            change,
        } => format!(
            "測定の前半から後半にかけて値が {} 変化しています（中央値どうしの比較。状態の列の値は最初から最後のラウンドまでの変化です）。CPU クレジットやディスクのバーストなどの残量が不明か、先に行った測定の影響を受けています。しばらく休ませてから測定し直してください",
            signed_percent(*change)
        ),
        Warning::OrderEffect {
            within_pass: true,
            change,
        } => format!(
            "値が巡の中での順番によって変わります（前半から後半で {}）。直前の測定の影響を受けています",
            signed_percent(*change)
        ),
        Warning::WarmingUp {
            discarded,
            longer,
            effect,
        } => format!(
            "{unit}の測定中もウォームアップが続いていました。捨てている最初の {} の後、さらに {} は残りの部分と異なり、値が {} 変わっています",
            time(*discarded),
            time(*longer),
            signed_percent(*effect)
        ),
        Warning::WorkDirInMemory { file_system } => format!(
            "作業ディレクトリがメモリ上（{file_system}）にあるため、ディスクの性能を表していません。`--dir` で別の場所を指定してください"
        ),
        Warning::DebugBuild => {
            "最適化なしのビルドで測定しました。`cargo build --release` でビルドしてください"
                .to_owned()
        }
        Warning::SlowClock { source } => format!(
            "クロックソースが TSC ではなく {source} です。時刻の読み取りが遅く、レイテンシの精度が落ちます"
        ),
        Warning::PartOfProcesses => {
            "このマシンのプロセスの一部が見えません（/proc の `hidepid`、または読み取れないプロセス）。他のプロセスの CPU 使用は、少なくとも表示の値です。root なら全部見えます"
                .to_owned()
        }
        Warning::Allocated { allocations } => {
            format!("測定中に {allocations} 回のメモリ確保があり、その時間も結果に含まれています")
        }
        Warning::OffCpu {
            share,
            copies,
            cause,
        } => {
            let who = if *copies == 1 {
                String::new()
            } else {
                format!("{copies} 並列の各コピーが")
            };
            off_cpu(*share, &who, *cause)
        }
        Warning::CpuWorthLess {
            loss,
            copies,
            threads_share_cores,
            of_one_process,
        } => worth_less(
            *loss,
            &format!("{copies} 並列"),
            shared(*threads_share_cores, *of_one_process),
        ),
        Warning::BudgetShort => {
            "6 巡を終える前に時間切れになりました。`--budget` で時間を増やしてください".to_owned()
        }
        Warning::TargetMissed {
            cases,
            target,
            limit,
            which,
        } => target_missed(*cases, &percent(*target), *limit, which),
        Warning::Limited(limit) => (super::storage::JA.limit)(limit),
        Warning::Other(text) => text.clone(),
    }
}

/// What is said of metrics with several numbers of copies.
fn of_several_copies(warning: &Warning) -> Option<String> {
    match warning {
        Warning::OffCpu { share, cause, .. } => Some(off_cpu(*share, "各コピーが", *cause)),
        Warning::CpuWorthLess {
            loss,
            threads_share_cores,
            of_one_process,
            ..
        } => {
            let why = shared(*threads_share_cores, *of_one_process);
            Some(worth_less(*loss, "複数の並列", why))
        }
        _ => None,
    }
}

fn off_cpu(share: f64, who: &str, cause: OffCpuCause) -> String {
    format!(
        "{who}時間の {} で CPU 上にいなかったため、実時間あたりの仕事量が CPU 時間あたりより少なくなっています: {}",
        percent(share),
        off_cpu_cause(cause)
    )
}

fn worth_less(loss: f64, copies: &str, why: &str) -> String {
    let loss = percent(loss);
    format!("{copies}では、CPU 時間あたりの仕事量が単独の場合より {loss} 少なくなります: {why}")
}

/// What copies may share that makes each of them slower.
const fn shared(cores: bool, of_one_process: bool) -> &'static str {
    match (cores, of_one_process) {
        (true, false) => "同じコアをハードウェアスレッドとして共有しています（SMT）",
        (true, true) => {
            "同じコアをハードウェアスレッドとして共有し（SMT）、テストのスレッドどうしもロックやキャッシュラインを共有しています"
        }
        (false, false) => "コア、キャッシュ、メモリ、クロックを決める電力などを共有しています",
        (false, true) => {
            "コア、キャッシュ、メモリ、クロックを決める電力、またはテストのスレッドどうしのロックやキャッシュラインなどを共有しています"
        }
    }
}

fn target_missed(cases: u32, target: &str, limit: TargetLimit, which: &[CaseId]) -> String {
    let names = match Named::of(which) {
        Named { ids, more: 0 } => ids.join("、"),
        Named { ids, more } => format!("{}、ほか {more} 件", ids.join("、")),
    };
    match limit {
        TargetLimit::Unknown => {
            format!("{cases} 件のケースで、区間の半幅が目標の {target} より広いまま終わりました")
        }
        TargetLimit::Time => format!(
            "時間切れのため、{cases} 件のケース（{names}）で、区間の半幅が目標の {target} より広いまま終わりました。`--budget` を増やすと狭くなる可能性があります"
        ),
        TargetLimit::Rounds(n) => format!(
            "{cases} 件のケース（{names}）で、上限の {n} 回まで測定しても区間の半幅が目標の {target} より広いままでした。`--target` を付けずに `--passes` を増やすと狭くなる可能性があります"
        ),
        TargetLimit::Scatter(n) => format!(
            "{cases} 件のケース（{names}）の測定を打ち切りました。ラウンドごとの差が大きく、目標を指定した測定の上限である {n} 回まで続けても、区間の半幅が目標の {target} の 2 倍を超えるためです。時間を増やしても狭くなりません。`{}` で速度の推移を確認するか、静かな時間帯に測定するか、より安定した別のテストを選んでください",
            soak_command(which)
        ),
    }
}

fn off_cpu_cause(cause: OffCpuCause) -> String {
    match cause {
        OffCpuCause::MoreCopiesThanCpus(cpus) => format!("CPU は {cpus} 個しかありません"),
        OffCpuCause::Quota(Some(cpus)) => format!("CPU クォータ {cpus} により抑えられました"),
        OffCpuCause::Quota(None) => "CPU クォータにより抑えられました".to_owned(),
        OffCpuCause::Steal => "ホストに時間を奪われました".to_owned(),
        OffCpuCause::Foreign => "このマシンの他のプロセスが使用しました".to_owned(),
        OffCpuCause::Unknown => "原因を示すカウンターはありません".to_owned(),
    }
}

fn state(state: &State) -> String {
    match state {
        State::Unknown => "回数不足".to_owned(),
        State::Steady => "安定".to_owned(),
        State::Drifting { change } => format!("漸変 {}", signed_percent(*change)),
        State::PossibleDrift { change } => format!("漸変? {}", signed_percent(*change)),
        State::Step { after, change } => {
            format!("{after} 回目の後に {} の段差", signed_percent(*change))
        }
        State::TwoState {
            low,
            high,
            low_share,
        } => format!(
            "二状態（差 {}、低い側 {}）",
            percent((high - low) / low.abs().max(f64::MIN_POSITIVE)),
            percent(*low_share)
        ),
        State::Series => "推移を参照".to_owned(),
        State::Setting { alike: true } => "測定条件".to_owned(),
        State::Setting { alike: false } => "測定条件（ラウンドにより異なります）".to_owned(),
        State::Unstable { spread } => format!("不安定（幅 {}）", percent(*spread)),
    }
}

/// The system's own words stay in English.
fn failure(failure: &Failure) -> String {
    let with = |said: &str| {
        if said.is_empty() {
            String::new()
        } else {
            format!(": {said}")
        }
    };
    match failure {
        Failure::Unsupported(why) => format!("この環境では対応していません: {why}"),
        Failure::Error(what) => format!("エラーが発生しました: {what}"),
        Failure::Exited { code, said } => {
            format!("ワーカーが終了コード {code} で終了しました{}", with(said))
        }
        Failure::Signal { signal, said } => format!(
            "ワーカーがシグナル {signal} で強制終了されました{}",
            with(said)
        ),
        Failure::OutOfMemory => {
            "メモリ不足のため、ワーカーがカーネルに強制終了されました".to_owned()
        }
        Failure::Hung { stage, after } => format!(
            "ワーカーが応答しなくなりました（{}が {:.1} 秒以内に終わらず強制終了）。同時に動かすコピーを減らすか、ほかの処理を\
             止めてください。応答しないデバイスやファイルシステムは `dmesg` で分かることがあります",
            stage_word(stage),
            after.as_secs_f64()
        ),
        Failure::WrongResult(what) => format!("計算結果が誤っています: {what}"),
        Failure::SetUp { command, end, said } => format!(
            "準備コマンド `{}` が失敗しました（{}）{}",
            brief(command),
            command_end(end),
            with(said)
        ),
    }
}

/// How a command ended that did not do its work.
fn command_end(end: &CommandEnd) -> String {
    match end {
        CommandEnd::Exited(code) => format!("終了コード {code}"),
        CommandEnd::Signal(signal) => format!("シグナル {signal} で終了"),
        CommandEnd::Hung(after) => format!("{:.0} 秒以内に終わらず強制終了", after.as_secs_f64()),
        CommandEnd::NotStarted(why) => format!("起動できません: {why}"),
    }
}

/// The stages that [`Failure::Hung`] names; a stage of a later version stays as it is.
fn stage_word(stage: &str) -> &str {
    match stage {
        "set-up" => "準備",
        "measuring" => "測定",
        "finishing" => "終了処理",
        other => other,
    }
}
