//! One sentence for each warning.

use crate::lang::Lang;
use crate::number::{counted, percent, signed_percent, time};
use model::limit::Limit;
use model::plan::CaseId;
use model::warning::{OffCpuCause, TargetLimit, Warning};

/// The sentence for a warning.
pub fn warning(warning: &Warning, lang: Lang) -> String {
    about(
        warning,
        lang.pick(("round", "rounds"), ("", "ラウンド")),
        lang,
    )
}

/// The sentence of a soak, whose rounds are called stretches.
pub(crate) fn warning_of_soak(warning: &Warning, lang: Lang) -> String {
    about(
        warning,
        lang.pick(("stretch", "stretches"), ("", "測定回")),
        lang,
    )
}

/// The sentence of metrics with several numbers of copies, which names none of them.
pub(crate) fn warning_of_several_copies(warning: &Warning, lang: Lang) -> String {
    match warning {
        Warning::OffCpu { share, cause, .. } => {
            let who = lang.pick("copies were", "各コピーが");
            off_cpu(*share, who, *cause, lang)
        }
        Warning::CpuWorthLess {
            loss,
            threads_share_cores,
            of_one_process,
            ..
        } => {
            let why = shared(*threads_share_cores, *of_one_process, lang);
            worth_less(*loss, lang.pick("several", "複数の並列"), why, lang)
        }
        _ => self::warning(warning, lang),
    }
}

/// The sentence where one of what is counted is called `one`, and several `many`.
fn about(warning: &Warning, (one, many): (&str, &str), lang: Lang) -> String {
    match warning {
        Warning::RoundsFailed { failed, of, reason } => match lang {
            Lang::En => {
                let of = counted(*of, one, many);
                format!("{failed} of {of} failed; the last one: {reason}")
            }
            Lang::Ja => format!("{of} 回中 {failed} 回が失敗しました。最後の理由: {reason}"),
        },
        Warning::TooFewRounds { have, need } => match lang {
            Lang::En => {
                let have = counted(*have, one, many);
                format!("only {have}; a 95 % interval needs {need}")
            }
            Lang::Ja => {
                format!("回数が {have} 回しかありません。95 % 信頼区間には {need} 回必要です")
            }
        },
        Warning::Steal {
            rounds_share,
            worst_share,
        } => {
            let (share, worst) = (percent(*rounds_share), percent(*worst_share));
            match lang {
                Lang::En => format!(
                    "in {share} of the {many} the host took away more than 2 % of the CPU time that was asked for (at worst {worst})"
                ),
                Lang::Ja => format!(
                    "{share} の{many}で、要求した CPU 時間の 2 % 超をホストに奪われました（最大 {worst}）"
                ),
            }
        }
        Warning::Throttled { rounds_share } => match (lang, percent(*rounds_share)) {
            (Lang::En, share) => {
                format!("a CPU quota held the measurement back in {share} of the {many}")
            }
            (Lang::Ja, share) => {
                format!("{share} の{many}で、CPU クォータにより測定が抑えられました")
            }
        },
        Warning::ForeignCpu {
            rounds_share,
            process,
        } => foreign_cpu(&percent(*rounds_share), process.as_deref(), many, lang),
        Warning::Gaps { rounds_share } => match (lang, percent(*rounds_share)) {
            (Lang::En, share) => format!(
                "in {share} of the {many} CPU time was lost in gaps that no counter explains"
            ),
            (Lang::Ja, share) => format!(
                "{share} の{many}で、どのカウンターでも説明できない空白時間がありました"
            ),
        },
        Warning::UnevenSpeed { rounds_share } => uneven_speed(*rounds_share, many, lang),
        Warning::SharedCore {
            rounds_share,
            worst_share,
        } => {
            let (share, worst) = (percent(*rounds_share), percent(*worst_share));
            match lang {
                Lang::En => format!(
                    "before or after {share} of the {many} the core did less in a cycle than at its best in this run (at worst {worst} less): something else ran on it too, such as another guest on the second hardware thread of the core, which no counter shows"
                ),
                Lang::Ja => format!(
                    "{share} の{many}の前後で、コアのサイクル当たりの処理量が、この測定での最良時より少なくなっていました（最大で {worst} 減）。同じコアで別の何かも動いていたためです。コアのもう一つのハードウェアスレッドを使う他の仮想マシンなどで、これはどのカウンターにも現れません"
                ),
            }
        }
        Warning::ClockTrouble { rounds_share } => match (lang, percent(*rounds_share)) {
            (Lang::En, share) => {
                format!("the clock was set or the machine suspended during {share} of the {many}")
            }
            (Lang::Ja, share) => {
                format!("{share} の{many}の間に、時計が変更されたか、マシンが一時停止しました")
            }
        },
        Warning::OrderEffect {
            within_pass,
            change,
        } => order_effect(*within_pass, &signed_percent(*change), lang),
        Warning::WarmingUp {
            discarded,
            longer,
            effect,
        } => {
            let (discarded, longer) = (time(*discarded), time(*longer));
            let effect = signed_percent(*effect);
            match lang {
                Lang::En => format!(
                    "{many} were still warming up: after the {discarded} that are discarded, {longer} more are not like the rest and change the value by {effect}"
                ),
                Lang::Ja => format!(
                    "{many}の測定中もウォームアップが続いていました。捨てている最初の {discarded} の後、さらに {longer} は残りの部分と異なり、値が {effect} 変わっています"
                ),
            }
        }
        Warning::WorkDirInMemory { file_system } => match lang {
            Lang::En => format!(
                "the work directory is in memory ({file_system}): this says nothing about a disk; choose another with `--dir`"
            ),
            Lang::Ja => format!(
                "作業ディレクトリがメモリ上（{file_system}）にあるため、ディスクの性能を表していません。`--dir` で別の場所を指定してください"
            ),
        },
        Warning::DebugBuild => lang
            .pick(
                "measured by a build without optimisation: build with `cargo build --release`",
                "最適化なしのビルドで測定しました。`cargo build --release` でビルドしてください",
            )
            .to_owned(),
        Warning::SlowClock { source } => match lang {
            Lang::En => format!(
                "the clock source is {source}, not the TSC: timing costs more, and latencies are blurred"
            ),
            Lang::Ja => format!(
                "クロックソースが TSC ではなく {source} です。時刻の読み取りが遅く、レイテンシの精度が落ちます"
            ),
        },
        Warning::PartOfProcesses => lang
            .pick(
                "not every process of this machine could be seen (`hidepid` of /proc, or one that could not be read): others \
                 used at least what is said of them; root sees them all",
                "このマシンのプロセスの一部が見えません（/proc の `hidepid`、または読み取れないプロセス）。他のプロセスの CPU 使用は、少なくとも表示の値です。root なら全部見えます",
            )
            .to_owned(),
        Warning::Allocated { allocations } => match lang {
            Lang::En => format!(
                "a {one} allocated memory {} while measuring, which costs time of its own",
                counted(*allocations, "time", "times")
            ),
            Lang::Ja => format!(
                "測定中に {allocations} 回のメモリ確保があり、その時間も結果に含まれています"
            ),
        },
        Warning::OffCpu {
            share,
            copies,
            cause,
        } => {
            let who = match (lang, copies) {
                (Lang::En, 1) => "copy was".to_owned(),
                (Lang::Ja, 1) => String::new(),
                (Lang::En, n) => format!("{n} copies were"),
                (Lang::Ja, n) => format!("{n} 並列の各コピーが"),
            };
            off_cpu(*share, &who, *cause, lang)
        }
        Warning::CpuWorthLess {
            loss,
            copies,
            threads_share_cores,
            of_one_process,
        } => {
            let copies = match lang {
                Lang::En => copies.to_string(),
                Lang::Ja => format!("{copies} 並列"),
            };
            let why = shared(*threads_share_cores, *of_one_process, lang);
            worth_less(*loss, &copies, why, lang)
        }
        Warning::BudgetShort => lang
            .pick(
                "time ran out before six passes were done: allow more with `--budget`",
                "6 巡を終える前に時間切れになりました。`--budget` で時間を増やしてください",
            )
            .to_owned(),
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
    let busiest = process.map(|process| match lang {
        Lang::En => format!("; the busiest was `{process}`"),
        Lang::Ja => format!("（最も多く使用したのは `{process}` です）"),
    });
    let busiest = busiest.unwrap_or_default();
    match lang {
        Lang::En => {
            format!("other processes used more than 5 % of a CPU in {share} of the {many}{busiest}")
        }
        Lang::Ja => {
            format!("{share} の{many}で、他のプロセスが CPU の 5 % 超を使用しました{busiest}")
        }
    }
}

/// A speed that most rounds do not have is no speed that could be called the usual one.
fn uneven_speed(rounds_share: f64, many: &str, lang: Lang) -> String {
    let share = percent(rounds_share);
    match lang {
        Lang::En if rounds_share > 0.5 => format!(
            "the CPU itself had no steady speed: before or after {share} of the {many} it ran more than 3 % faster or slower than the run's median"
        ),
        Lang::En => format!(
            "before or after {share} of the {many} the CPU itself ran more than 3 % faster or slower than the run's median"
        ),
        Lang::Ja if rounds_share > 0.5 => format!(
            "CPU の速度が一定していません。{share} の{many}の前後で、この測定の中央値から 3 % 超ずれていました"
        ),
        Lang::Ja => format!(
            "{share} の{many}の前後で、CPU の速度がこの測定の中央値から 3 % 超ずれていました"
        ),
    }
}

fn order_effect(within_pass: bool, change: &str, lang: Lang) -> String {
    match (lang, within_pass) {
        (Lang::En, false) => format!(
            "the value changes by {change} from the earlier half of the run to the later one (median to median, where a state tells first to last round): the state of a budget (CPU credits, disk bursts) is unknown, or what was measured before has an effect; let the machine rest and run again"
        ),
        (Lang::Ja, false) => format!(
            "測定の前半から後半にかけて値が {change} 変化しています（中央値どうしの比較。状態の列の値は最初から最後のラウンドまでの変化です）。CPU クレジットやディスクのバーストなどの残量が不明か、先に行った測定の影響を受けています。しばらく休ませてから測定し直してください"
        ),
        (Lang::En, true) => format!(
            "the value depends on its place in the pass ({change} from early to late): what is measured just before has an effect"
        ),
        (Lang::Ja, true) => format!(
            "値が巡の中での順番によって変わります（前半から後半で {change}）。直前の測定の影響を受けています"
        ),
    }
}

fn off_cpu(share: f64, who: &str, cause: OffCpuCause, lang: Lang) -> String {
    let (share, cause) = (percent(share), off_cpu_cause(cause, lang));
    match lang {
        Lang::En => format!(
            "for {share} of the time the {who} not on a CPU, so that a wall second holds less work than a CPU second: {cause}"
        ),
        Lang::Ja => format!(
            "{who}時間の {share} で CPU 上にいなかったため、実時間あたりの仕事量が CPU 時間あたりより少なくなっています: {cause}"
        ),
    }
}

fn off_cpu_cause(cause: OffCpuCause, lang: Lang) -> String {
    match (lang, cause) {
        (Lang::En, OffCpuCause::MoreCopiesThanCpus(cpus)) => {
            format!("there are only {}", counted(cpus, "CPU", "CPUs"))
        }
        (Lang::Ja, OffCpuCause::MoreCopiesThanCpus(cpus)) => {
            format!("CPU は {cpus} 個しかありません")
        }
        (Lang::En, OffCpuCause::Quota(Some(cpus))) => {
            format!("a quota of {} held them back", counted(cpus, "CPU", "CPUs"))
        }
        (Lang::Ja, OffCpuCause::Quota(Some(cpus))) => {
            format!("CPU クォータ {cpus} により抑えられました")
        }
        (_, OffCpuCause::Quota(None)) => lang
            .pick("a quota held them back", "CPU クォータにより抑えられました")
            .to_owned(),
        (_, OffCpuCause::Steal) => lang
            .pick("the host took the time away", "ホストに時間を奪われました")
            .to_owned(),
        (_, OffCpuCause::Foreign) => lang
            .pick(
                "other processes of this machine took it",
                "このマシンの他のプロセスが使用しました",
            )
            .to_owned(),
        (_, OffCpuCause::Unknown) => lang
            .pick("no counter says why", "原因を示すカウンターはありません")
            .to_owned(),
    }
}

fn worth_less(loss: f64, copies: &str, why: &str, lang: Lang) -> String {
    let loss = percent(loss);
    match lang {
        Lang::En => {
            format!("with {copies} copies a CPU second does {loss} less than with one: {why}")
        }
        Lang::Ja => format!(
            "{copies}では、CPU 時間あたりの仕事量が単独の場合より {loss} 少なくなります: {why}"
        ),
    }
}

/// What copies may share that makes each of them slower.
const fn shared(cores: bool, of_one_process: bool, lang: Lang) -> &'static str {
    match (lang, cores, of_one_process) {
        (Lang::En, true, false) => "they share cores as hardware threads (SMT)",
        (Lang::Ja, true, false) => "同じコアをハードウェアスレッドとして共有しています（SMT）",
        (Lang::En, true, true) => {
            "they share cores as hardware threads (SMT), and what the threads of the test share (locks, cache lines)"
        }
        (Lang::Ja, true, true) => {
            "同じコアをハードウェアスレッドとして共有し（SMT）、テストのスレッドどうしもロックやキャッシュラインを共有しています"
        }
        (Lang::En, false, false) => {
            "they share something, such as a core, a cache, memory, or the power that sets the clock rate"
        }
        (Lang::Ja, false, false) => {
            "コア、キャッシュ、メモリ、クロックを決める電力などを共有しています"
        }
        (Lang::En, false, true) => {
            "they share something, such as a core, a cache, memory, the power that sets the clock rate, or what the threads of the test share (locks, cache lines)"
        }
        (Lang::Ja, false, true) => {
            "コア、キャッシュ、メモリ、クロックを決める電力、またはテストのスレッドどうしのロックやキャッシュラインなどを共有しています"
        }
    }
}

fn target_missed(
    cases: u32,
    target: &str,
    limit: TargetLimit,
    which: &[CaseId],
    lang: Lang,
) -> String {
    let names = match (lang, Named::of(which)) {
        (_, Named { ids, more: 0 }) => ids.join(lang.pick(", ", "、")),
        (Lang::En, Named { ids, more }) => format!("{} and {more} more", ids.join(", ")),
        (Lang::Ja, Named { ids, more }) => format!("{}、ほか {more} 件", ids.join("、")),
    };
    let end = counted(cases, "case ends", "cases end");
    let command = soak_command(which);
    match (lang, limit) {
        (Lang::En, TargetLimit::Time) => format!(
            "{end} wider than the {target} asked for because the time was over ({names}): a larger `--budget` may help"
        ),
        (Lang::Ja, TargetLimit::Time) => format!(
            "時間切れのため、{cases} 件のケース（{names}）で、区間の半幅が目標の {target} より広いまま終わりました。`--budget` を増やすと狭くなる可能性があります"
        ),
        (Lang::En, TargetLimit::Rounds(n)) => format!(
            "{end} wider than the {target} asked for after {}, the most that there were to be ({names}): a larger `--passes`, without `--target`, may help",
            counted(n, "round", "rounds")
        ),
        (Lang::Ja, TargetLimit::Rounds(n)) => format!(
            "{cases} 件のケース（{names}）で、上限の {n} 回まで測定しても区間の半幅が目標の {target} より広いままでした。`--target` を付けずに `--passes` を増やすと狭くなる可能性があります"
        ),
        (Lang::En, TargetLimit::Scatter(n)) => format!(
            "{} given up ({names}): the rounds differ so much from one another that even {}, the most that a target is given, would leave the interval more than twice as wide as the {target} asked for; more time does not change that: `{command}` shows what the rate does, a quieter hour may have less noise, and another test may be steadier",
            counted(cases, "case was", "cases were"),
            counted(n, "round", "rounds"),
        ),
        (Lang::Ja, TargetLimit::Scatter(n)) => format!(
            "{cases} 件のケース（{names}）の測定を打ち切りました。ラウンドごとの差が大きく、目標を指定した測定の上限である {n} 回まで続けても、区間の半幅が目標の {target} の 2 倍を超えるためです。時間を増やしても狭くなりません。`{command}` で速度の推移を確認するか、静かな時間帯に測定するか、より安定した別のテストを選んでください"
        ),
    }
}

/// What else than the storage may have set the limit.
fn limited(limit: &Limit, lang: Lang) -> String {
    let (Limit::Cpu { share, .. }
    | Limit::Late { share }
    | Limit::Cached { share, .. }
    | Limit::DeviceIdle { busy_share: share }) = limit;
    let share = percent(*share);
    match (lang, limit) {
        (
            Lang::En,
            Limit::Cpu {
                one_at_a_time: true,
                ..
            },
        ) => format!(
            "a CPU was busy for {share} of the time with one operation after the other: most of the latency is this machine's \
             own path, not the device"
        ),
        (
            Lang::Ja,
            Limit::Cpu {
                one_at_a_time: true,
                ..
            },
        ) => format!(
            "一度に一つの操作で CPU が時間の {share} 使われていました。レイテンシーの大半はデバイスではなく、このマシン自身の\
             処理時間です"
        ),
        (Lang::En, Limit::Cpu { copies: 1, .. }) => format!(
            "submitting and completing took {share} of a CPU: one process can hardly ask for more, and the storage may do more \
             for several (`TEST@2`, or `numjobs=2` of a fio job)"
        ),
        (Lang::Ja, Limit::Cpu { copies: 1, .. }) => format!(
            "操作の発行と完了処理に CPU の {share} が使われました。一つのプロセスではこれ以上要求できず、並列（`TEST@2`、fio のジョブでは `numjobs=2`）では\
             ストレージの性能がさらに出る可能性があります"
        ),
        (Lang::En, Limit::Cpu { copies, .. }) => format!(
            "submitting and completing took {share} of the CPUs that {copies} copies can have: the storage may do more for a \
             machine with more CPUs"
        ),
        (Lang::Ja, Limit::Cpu { copies, .. }) => format!(
            "操作の発行と完了処理に、{copies} 並列で使える CPU の {share} が使われました。CPU の多いマシンではストレージの\
             性能がさらに出る可能性があります"
        ),
        (Lang::En, Limit::Late { .. }) => format!(
            "this program started operations late: its own lateness is {share} of the latency (late_ns_mean)"
        ),
        (Lang::Ja, Limit::Late { .. }) => format!(
            "このプログラムの操作開始が遅れました。遅れはレイテンシーの {share} です（late_ns_mean）"
        ),
        (Lang::En, Limit::Cached { direct: true, .. }) => format!(
            "{share} of the bytes came out of a cache in spite of O_DIRECT: the figures are not the device's (cached_share)"
        ),
        (Lang::Ja, Limit::Cached { direct: true, .. }) => format!(
            "O_DIRECT にもかかわらず、データの {share} がキャッシュから読まれました。デバイスの値ではありません（cached_share）"
        ),
        (Lang::En, Limit::Cached { direct: false, .. }) => format!(
            "{share} of the bytes came out of the page cache: the figures are not the device's (cached_share)"
        ),
        (Lang::Ja, Limit::Cached { direct: false, .. }) => format!(
            "データの {share} がページキャッシュから読まれました。デバイスの値ではありません（cached_share）"
        ),
        (Lang::En, Limit::DeviceIdle { .. }) => format!(
            "the device had something to do for only {share} of the time although operations were waiting: something else is \
             the limit (device_busy_share)"
        ),
        (Lang::Ja, Limit::DeviceIdle { .. }) => format!(
            "操作が待っていたにもかかわらず、デバイスが動いていたのは時間の {share} のみでした。ほかに限界があります\
             （device_busy_share）"
        ),
    }
}

/// The first few of a list of cases, and how many more there are.
struct Named {
    ids: Vec<String>,
    more: usize,
}

impl Named {
    /// As many as a sentence bears.
    const MOST: usize = 3;

    fn of(cases: &[CaseId]) -> Self {
        Self {
            ids: cases
                .iter()
                .take(Self::MOST)
                .map(ToString::to_string)
                .collect(),
            more: cases.len().saturating_sub(Self::MOST),
        }
    }
}

/// The command that shows what the rate of the first of these cases does in the course of time.
fn soak_command(cases: &[CaseId]) -> String {
    cases.first().map_or_else(
        || "kurabe soak TEST --for 10m".to_owned(),
        |case| {
            format!(
                "kurabe soak {} --copies {} --for 10m",
                case.test, case.copies
            )
        },
    )
}
