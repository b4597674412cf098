//! One sentence for each warning.

use crate::lang::{Lang, say};
use crate::number::{counted, percent, signed_percent, time};
use model::limit::Limit;
use model::plan::CaseId;
use model::warning::{FailedFor, OffCpuCause, TargetLimit, Warning};

/// The sentence for a warning.
pub fn warning(warning: &Warning, lang: Lang) -> String {
    let counted = lang.pick(("round", "rounds"), ("", "測定回"));
    about(warning, counted, lang)
}

/// The sentence of a soak, whose rounds are called stretches.
pub(crate) fn warning_of_soak(warning: &Warning, lang: Lang) -> String {
    let counted = lang.pick(("stretch", "stretches"), ("", "測定回"));
    about(warning, counted, lang)
}

/// The most reasons for failed rounds that are told beside the last one.
const OTHERS_MAX: usize = 3;

/// Why rounds failed beside the last one: the first line of each reason.
fn other_reasons(others: &[FailedFor], (one, many): (&str, &str), lang: Lang) -> String {
    let told = others
        .iter()
        .take(OTHERS_MAX)
        .map(|FailedFor { rounds, reason }| {
            let why = reason.lines().next().unwrap_or_default();
            let counted = counted(*rounds, one, many);
            say!(lang, "{why}, {counted}", "{why}、{rounds} 回")
        });
    let mut told: Vec<String> = told.collect();
    match others.len().saturating_sub(OTHERS_MAX) {
        0 if told.is_empty() => return String::new(),
        0 => {}
        more => {
            let reasons = counted(more, "more reason", "more reasons");
            told.push(say!(lang, "{reasons}", "ほか {more} 種類"));
        }
    }
    let list = told.join(lang.pick("; ", "。"));
    say!(lang, " (other reasons: {list})", "（ほかの理由: {list}）")
}

/// The sentence where one of what is counted is called `one`, and several `many`.
fn about(warning: &Warning, (one, many): (&str, &str), lang: Lang) -> String {
    match warning {
        Warning::RoundsFailed {
            failed,
            of,
            reason,
            others,
        } => {
            let (all, others) = (
                counted(*of, one, many),
                other_reasons(others, (one, many), lang),
            );
            say!(
                lang,
                "{failed} of {all} failed{others}; the last reason: {reason}",
                "{of} 回中 {failed} 回が失敗しました{others}。最後の理由: {reason}"
            )
        }
        Warning::TooFewRounds { have, need } => {
            let rounds = counted(*have, one, many);
            say!(
                lang,
                "only {rounds}; a 95 % interval needs {need}",
                "回数が {have} 回しかありません。95 % 信頼区間には {need} 回必要です"
            )
        }
        Warning::Steal {
            rounds_share,
            worst_share,
        } => say!(
            lang,
            "in {share} of the {many} the host took away more than 2 % of the CPU time that was asked for (at worst {worst})",
            "{share} の{many}で、要求した CPU 時間の 2 % 超をホストに奪われました（最大 {worst}）",
            share = percent(*rounds_share),
            worst = percent(*worst_share)
        ),
        Warning::Throttled { rounds_share } => say!(
            lang,
            "a CPU quota held the measurement back in {share} of the {many}",
            "{share} の{many}で、CPU クォータにより測定が抑えられました",
            share = percent(*rounds_share)
        ),
        Warning::ForeignCpu {
            rounds_share,
            process,
        } => foreign_cpu(&percent(*rounds_share), process.as_deref(), many, lang),
        Warning::Gaps { rounds_share } => say!(
            lang,
            "in {share} of the {many} CPU time was lost in gaps that no counter explains",
            "{share} の{many}で、どのカウンターでも説明できない空白時間がありました",
            share = percent(*rounds_share)
        ),
        Warning::UnevenSpeed { rounds_share } => say!(
            lang,
            "before or after {share} of the {many} the CPU itself ran more than 3 % faster or slower than the run's median",
            "{share} の{many}の前後で、CPU の速度がこの測定の中央値から 3 % 超ずれていました",
            share = percent(*rounds_share)
        ),
        Warning::SharedCore {
            rounds_share,
            worst_share,
        } => say!(
            lang,
            "before or after {share} of the {many} the core did less in a cycle than at its best in this run (at worst {worst} less), while no program of this machine, no quota and no stolen time was seen that could be the cause: something outside ran on the core too, such as another guest on its second hardware thread, which no counter shows",
            "{share} の{many}の前後で、コアのサイクル当たりの処理量が、この測定での最良時より少なくなっていました（最大で {worst} 減）。このマシンのプログラム、クォータ、奪われた CPU 時間に原因は見当たらず、マシンの外の何かが同じコアで動いていたと考えられます。コアのもう一つのハードウェアスレッドを使う他の仮想マシンなどで、これはどのカウンターにも現れません",
            share = percent(*rounds_share),
            worst = percent(*worst_share)
        ),
        Warning::ClockTrouble { rounds_share } => say!(
            lang,
            "the clock was set or the machine suspended during {share} of the {many}",
            "{share} の{many}の間に、時計が変更されたか、マシンが一時停止しました",
            share = percent(*rounds_share)
        ),
        Warning::OrderEffect {
            within_pass,
            change,
        } => order_effect(*within_pass, &signed_percent(*change), lang),
        Warning::WarmingUp {
            discarded,
            longer,
            effect,
        } => say!(
            lang,
            "{many} were still warming up: after the {discarded} that are discarded, {longer} more are not like the rest and change the value by {effect}",
            "{many}の測定中もウォームアップが続いていました。捨てている最初の {discarded} の後、さらに {longer} は残りの部分と異なり、値が {effect} 変わっています",
            discarded = time(*discarded, lang),
            longer = time(*longer, lang),
            effect = signed_percent(*effect)
        ),
        Warning::WorkDirInMemory { file_system } => say!(
            lang,
            "the work directory is in memory ({file_system}): this says nothing about a disk; choose another with `--dir`",
            "作業ディレクトリがメモリ上（{file_system}）にあるため、ディスクの性能を表していません。`--dir` で別の場所を指定してください"
        ),
        Warning::DebugBuild => say!(
            lang,
            "measured by a build without optimisation: build with `cargo build --release`",
            "最適化なしのビルドで測定しました。`cargo build --release` でビルドしてください"
        ),
        Warning::SlowClock { source } => say!(
            lang,
            "the clock source is {source}, not the TSC: timing costs more, and latencies are blurred",
            "クロックソースが TSC ではなく {source} です。時刻の読み取りが遅く、レイテンシの精度が落ちます"
        ),
        Warning::PartOfProcesses => say!(
            lang,
            "not every process of this machine could be seen (`hidepid` of /proc, or one that could not be read): others \
             used at least what is said of them; root sees them all",
            "このマシンのプロセスの一部が見えません（/proc の `hidepid`、または読み取れないプロセス）。他のプロセスの CPU 使用は、少なくとも表示の値です。root なら全部見えます"
        ),
        Warning::Allocated { allocations } => {
            let times = counted(*allocations, "time", "times");
            say!(
                lang,
                "a {one} allocated memory {times} while measuring, which costs time of its own",
                "測定中に {allocations} 回のメモリ確保があり、その時間も結果に含まれています"
            )
        }
        Warning::OffCpu { share, cause, .. } => say!(
            lang,
            "for {share} of the time the test was not on a CPU, so that a wall second holds less work than a CPU second: {cause}",
            "時間の {share} で CPU 上にいなかったため、実時間あたりの仕事量が CPU 時間あたりより少なくなっています: {cause}",
            share = percent(*share),
            cause = off_cpu_cause(*cause, lang)
        ),
        Warning::CpuWorthLess {
            loss,
            threads_share_cores,
            of_one_process,
            ..
        } => say!(
            lang,
            "a CPU second does {loss} less than with one copy: {why}",
            "CPU 時間あたりの仕事量が単独の場合より {loss} 少なくなります: {why}",
            loss = percent(*loss),
            why = shared(*threads_share_cores, *of_one_process, lang)
        ),
        Warning::BudgetShort => say!(
            lang,
            "time ran out before six passes were done: allow more with `--budget`",
            "6 巡を終える前に時間切れになりました。`--budget` で時間を増やしてください"
        ),
        Warning::TargetMissed {
            cases,
            target,
            limit,
            which,
        } => target_missed(*cases, &percent(*target), *limit, which, lang),
        Warning::Limited(limit) => limited(limit, lang),
        Warning::Other { what } => what.clone(),
    }
}

fn foreign_cpu(share: &str, process: Option<&str>, many: &str, lang: Lang) -> String {
    let busiest = process.map_or_else(String::new, |process| {
        say!(
            lang,
            "; the busiest was `{process}`",
            "（最も多く使用したのは `{process}` です）"
        )
    });
    say!(
        lang,
        "other processes used more than 5 % of a CPU in {share} of the {many}{busiest}",
        "{share} の{many}で、他のプロセスが CPU の 5 % 超を使用しました{busiest}"
    )
}

fn order_effect(within_pass: bool, change: &str, lang: Lang) -> String {
    if within_pass {
        return say!(
            lang,
            "the value depends on its place in the pass ({change} from early to late): what is measured just before has an effect",
            "値が巡の中での順番によって変わります（前半から後半で {change}）。直前の測定の影響を受けています"
        );
    }
    say!(
        lang,
        "the value changes by {change} from the earlier half of the run to the later one (median to median, where a state tells first to last round): the state of a budget (CPU credits, disk bursts) is unknown, or what was measured before has an effect; let the machine rest and run again",
        "測定の前半から後半にかけて値が {change} 変化しています（中央値どうしの比較。状態の列の値は最初から最後のラウンドまでの変化です）。CPU クレジットやディスクのバーストなどの残量が不明か、先に行った測定の影響を受けています。しばらく休ませてから測定し直してください"
    )
}

fn off_cpu_cause(cause: OffCpuCause, lang: Lang) -> String {
    let words = |en: &str, ja: &str| lang.pick(en, ja).to_owned();
    match cause {
        OffCpuCause::MoreCopiesThanCpus(n) => {
            let cpus = counted(n, "CPU", "CPUs");
            say!(lang, "there are only {cpus}", "CPU は {n} 個しかありません")
        }
        OffCpuCause::Quota(n) => {
            let of = n.map_or_else(String::new, |n| {
                let cpus = counted(n, "CPU", "CPUs");
                say!(lang, " of {cpus}", " {n} ")
            });
            say!(
                lang,
                "a quota{of} held them back",
                "CPU クォータ{of}により抑えられました"
            )
        }
        OffCpuCause::Steal => words("the host took the time away", "ホストに時間を奪われました"),
        OffCpuCause::Foreign => {
            let en = "other processes of this machine took it";
            words(en, "このマシンの他のプロセスが使用しました")
        }
        OffCpuCause::Unknown => words("no counter says why", "原因を示すカウンターはありません"),
    }
}

/// What copies may share that makes each of them slower.
pub(crate) fn shared(cores: bool, of_one_process: bool, lang: Lang) -> String {
    let what = if cores {
        lang.pick(
            "they share cores as hardware threads (SMT)",
            "同じコアをハードウェアスレッドとして共有しています（SMT）",
        )
    } else {
        lang.pick(
            "they share something, such as a core, a cache, memory, locks that spin, or the power that sets the clock rate",
            "コア、キャッシュ、メモリ、スピンロック、クロックを決める電力などを共有しています",
        )
    };
    if !of_one_process {
        return what.to_owned();
    }
    say!(
        lang,
        "{what}, or what the threads of the test share (locks, cache lines)",
        "{what}。テストのスレッドどうしがロックやキャッシュラインを共有している可能性もあります"
    )
}

/// As many cases as a sentence bears.
const NAMED_MAX: usize = 3;

fn target_missed(
    cases: u32,
    target: &str,
    limit: TargetLimit,
    which: &[CaseId],
    lang: Lang,
) -> String {
    let named = which.iter().take(NAMED_MAX).map(ToString::to_string);
    let mut names = named.collect::<Vec<_>>().join(lang.pick(", ", "、"));
    if which.len() > NAMED_MAX {
        let more = which.len() - NAMED_MAX;
        names += &say!(lang, " and {more} more", "、ほか {more} 件");
    }
    let end = counted(cases, "case ends", "cases end");
    match limit {
        TargetLimit::Time => say!(
            lang,
            "{end} wider than the {target} asked for because the time was over ({names}): a larger `--budget` may help",
            "時間切れのため、{cases} 件のケース（{names}）で、区間の半幅が目標の {target} より広いまま終わりました。`--budget` を増やすと狭くなる可能性があります"
        ),
        TargetLimit::Rounds(n) => {
            let rounds = counted(n, "round", "rounds");
            say!(
                lang,
                "{end} wider than the {target} asked for after {rounds}, the most that there were to be ({names}): a larger `--passes`, without `--target`, may help",
                "{cases} 件のケース（{names}）で、上限の {n} ラウンドまで測定しても区間の半幅が目標の {target} より広いままでした。`--target` を付けずに `--passes` を増やすと狭くなる可能性があります"
            )
        }
        TargetLimit::Scatter(n) => {
            let given_up = counted(cases, "case was", "cases were");
            let (rounds, command) = (counted(n, "round", "rounds"), soak_command(which));
            say!(
                lang,
                "{given_up} given up ({names}): the rounds differ so much from one another that even {rounds}, the most that a target is given, would leave the interval more than twice as wide as the {target} asked for; more time does not change that: `{command}` shows what the rate does, a quieter hour may have less noise, and another test may be steadier",
                "{cases} 件のケース（{names}）の測定を打ち切りました。ラウンドごとの差が大きく、目標を指定した測定の上限である {n} ラウンドまで続けても、区間の半幅が目標の {target} の 2 倍を超えるためです。時間を増やしても狭くなりません。`{command}` で速度の推移を確認するか、静かな時間帯に測定するか、より安定した別のテストを選んでください"
            )
        }
    }
}

/// What else than the storage may have set the limit.
fn limited(limit: &Limit, lang: Lang) -> String {
    let share = percent(limit.severity().abs());
    match limit {
        Limit::Throttled { device, throttle } => say!(
            lang,
            "a control group limits `{device}` ({throttle}): the figures may be those of the limit, and not the device's",
            "コントロールグループが `{device}` を制限しています（{throttle}）。デバイスではなく、この制限の値の可能性があります"
        ),
        Limit::Buffered { device } => say!(
            lang,
            "`{device}` is a loop device without direct I/O: its file goes through this machine's page cache, with O_DIRECT too, \
             and the figures are partly memory's; `losetup --direct-io=on` leaves it out",
            "`{device}` はダイレクト I/O を使わないループデバイスです。O_DIRECT でもこのマシンのページキャッシュを通るため、メモリの性能が含まれます。\
             `losetup --direct-io=on` で避けられます"
        ),
        Limit::Cpu {
            one_at_a_time: true,
            ..
        } => say!(
            lang,
            "a CPU was busy for {share} of the time with one operation after the other: most of the latency is this machine's \
             own path, not the device",
            "一度に一つの操作で CPU が時間の {share} 使われていました。レイテンシーの大半はデバイスではなく、このマシン自身の\
             処理時間です"
        ),
        Limit::Cpu { copies: 1, .. } => say!(
            lang,
            "submitting and completing took {share} of a CPU: one process can hardly ask for more, and the storage may do more \
             for several (`TEST@2`, or `numjobs=2` of a fio job)",
            "操作の発行と完了処理に CPU の {share} が使われました。一つのプロセスではこれ以上要求できず、並列（`TEST@2`、fio のジョブでは `numjobs=2`）では\
             ストレージの性能がさらに出る可能性があります"
        ),
        Limit::Cpu { copies, .. } => say!(
            lang,
            "submitting and completing took {share} of the CPUs that {copies} copies can have: the storage may do more for a \
             machine with more CPUs",
            "操作の発行と完了処理に、{copies} 並列で使える CPU の {share} が使われました。CPU の多いマシンではストレージの\
             性能がさらに出る可能性があります"
        ),
        Limit::Late { .. } => say!(
            lang,
            "this program started operations late: its own lateness is {share} of the latency (late_ns_mean)",
            "このプログラムの操作開始が遅れました。遅れはレイテンシーの {share} です（late_ns_mean）"
        ),
        Limit::Cached { direct: true, .. } => say!(
            lang,
            "{share} of the bytes came out of a cache in spite of O_DIRECT: the figures are not the device's (cached_share)",
            "O_DIRECT にもかかわらず、データの {share} がキャッシュから読まれました。デバイスの値ではありません（cached_share）"
        ),
        Limit::Cached { direct: false, .. } => say!(
            lang,
            "{share} of the bytes came out of the page cache: the figures are not the device's (cached_share)",
            "データの {share} がページキャッシュから読まれました。デバイスの値ではありません（cached_share）"
        ),
        Limit::DeviceIdle { .. } => say!(
            lang,
            "the device had something to do for only {share} of the time although operations were waiting: something else is \
             the limit (device_busy_share)",
            "操作が待っていたにもかかわらず、デバイスが動いていたのは時間の {share} のみでした。ほかに限界があります\
             （device_busy_share）"
        ),
    }
}

/// The command that shows what the rate of the first of these cases does in the course of time.
fn soak_command(cases: &[CaseId]) -> String {
    let case = cases.first().map_or_else(
        || "TEST".to_owned(),
        |CaseId { test, copies }| format!("{test} --copies {copies}"),
    );
    format!("kurabe soak {case} --for 10m")
}
