//! Why some figures are as they are, as far as the run can tell: who took time from which of them, and where processes
//! that wake each other stood.

use super::block::Block;
use crate::lang::{Lang, say};
use crate::number::percent;
use crate::view::RunView;
use stats::hand_over::HandOver;
use stats::toll::{Cause, Toll};

/// Figures that a sentence names.
const NAMED: usize = 3;

/// One sentence for each cause.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    // A soak says so of its levels and steps.
    if view.soak.is_some() {
        return Vec::new();
    }
    let tolls = stats::toll::of_run(view.run);
    let over = stats::hand_over::of_run(view.run, &view.metrics);
    let lines = tolls.iter().map(|one| toll(one, lang));
    let lines: Vec<String> = lines
        .chain(over.iter().map(|one| hand_over(one, lang)))
        .collect();
    let heading = lang.pick("what moved figures", "値を動かした要因");
    vec![Block::section(heading, vec![Block::bullets(lines)])]
}

/// What was seen in some rounds, and which figures are worse in these.
fn toll(toll: &Toll, lang: Lang) -> String {
    let cause = match toll.cause {
        Cause::Steal => lang.pick(
            "the host gave CPU time to others (steal)",
            "ホストが CPU 時間を他へ割り当てた（steal）",
        ),
        Cause::SharedCore => lang.pick(
            "something else ran on the other thread of the core",
            "コアのもう一方のスレッドで他の処理が動いた",
        ),
        Cause::Quota => lang.pick(
            "a CPU quota held processes back",
            "CPU クォータがプロセスを止めた",
        ),
    };
    let (rounds, of) = (toll.rounds, toll.of);
    let named = toll.worse.iter().take(NAMED).map(|(metric, share)| {
        let (case, share) = (&metric.case, percent(*share));
        say!(lang, "{case} by {share}", "{case} は {share}")
    });
    let named: Vec<String> = named.collect();
    let named = named.join(lang.pick(", ", "、"));
    let more = toll.worse.len().saturating_sub(NAMED);
    match (toll.worse.len(), more) {
        (0, _) => say!(
            lang,
            "{cause} in {rounds} of {of} rounds; no figure is worse in these rounds than chance makes it",
            "{cause}ラウンドは {of} 回中 {rounds} 回です。その回に偶然を超えて悪化した値はありません"
        ),
        (_, 0) => say!(
            lang,
            "{cause} in {rounds} of {of} rounds; in these rounds the median is worse: {named}",
            "{cause}ラウンドは {of} 回中 {rounds} 回で、その回の中央値は悪化しています: {named}"
        ),
        _ => say!(
            lang,
            "{cause} in {rounds} of {of} rounds; in these rounds the median is worse: {named}, and {more} more",
            "{cause}ラウンドは {of} 回中 {rounds} 回で、その回の中央値は悪化しています: {named}、ほか {more} 件"
        ),
    }
}

/// Why many copies do more than their CPUs explain, and what of that the run shows.
fn hand_over(of: &HandOver, lang: Lang) -> String {
    let (one, many, cpus) = (&of.one, of.many.copies, of.cpus);
    let times = format!("{:.1}", of.times);
    let cpus = lang.pick(
        crate::number::counted(cpus, "CPU", "CPUs"),
        format!("{cpus} CPU"),
    );
    let shown = match of.used {
        Some(used) => say!(
            lang,
            "with 1 copy both used {used} of a CPU together, and two on one CPU use all that others leave them",
            "1 並列では両方の合計で CPU の {used} でした。同じ CPU にいれば他の処理が残す分をすべて使います",
            used = percent(used)
        ),
        None => lang
            .pick(
                "on which CPUs they stood the run does not keep",
                "どの CPU にいたかは記録されていません",
            )
            .to_owned(),
    };
    say!(
        lang,
        "{one}: {many} copies do {times} times as much, more than {cpus} explain: two that wait for each other hand \
         over by a switch on one CPU, on two CPUs each has to wake the other. Nothing pins them; {shown}",
        "{one}: {many} 並列では {times} 倍で、{cpus} では説明できません。互いを待つ 2 つの処理は、同じ CPU では切り替えだけで\
         受け渡し、別々の CPU では互いを起こす必要があります。CPU は固定していません。{shown}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use model::plan::MetricId;

    fn seen(cause: Cause, worse: &[(&str, f64)]) -> Toll {
        let metric = |(id, share): &(&str, f64)| {
            let id = MetricId::try_from((*id).to_owned()).unwrap();
            (id, *share)
        };
        Toll {
            cause,
            rounds: 14,
            of: 60,
            worse: worse.iter().map(metric).collect(),
        }
    }

    fn switches(used: Option<f64>) -> HandOver {
        HandOver {
            one: "os.context@1".parse().unwrap(),
            many: "os.context@2".parse().unwrap(),
            times: 18.04,
            cpus: 2,
            used,
        }
    }

    #[test]
    fn each_cause_has_its_sentence_with_the_figures_that_are_worse() {
        let worse = [
            ("os.pipe@1:ops_per_s", 0.12),
            ("os.spawn@1:ops_per_s", 0.08),
            ("cpu.sort@1:ops_per_s", 0.034),
            ("cpu.aes@1:ops_per_s", 0.02),
        ];
        let check = |toll_of: &Toll, expect: &str| {
            assert_eq!(toll(toll_of, Lang::En), expect);
        };
        check(
            &seen(Cause::Steal, &worse),
            "the host gave CPU time to others (steal) in 14 of 60 rounds; in these rounds the median is worse: \
             os.pipe@1 by 12 %, os.spawn@1 by 8.0 %, cpu.sort@1 by 3.4 %, and 1 more",
        );
        check(
            &seen(Cause::SharedCore, &worse[..1]),
            "something else ran on the other thread of the core in 14 of 60 rounds; in these rounds the median is \
             worse: os.pipe@1 by 12 %",
        );
        check(
            &seen(Cause::Quota, &[]),
            "a CPU quota held processes back in 14 of 60 rounds; no figure is worse in these rounds than chance makes \
             it",
        );
    }

    #[test]
    fn only_what_was_measured_is_said_of_where_processes_stood() {
        let said = |used| hand_over(&switches(used), Lang::En);
        let told = said(Some(0.55));
        assert!(
            told.starts_with(
                "os.context@1: 2 copies do 18.0 times as much, more than 2 CPUs explain"
            )
        );
        assert!(told.contains("both used 55 % of a CPU together"), "{told}");
        assert!(said(None).ends_with("on which CPUs they stood the run does not keep"));
    }

    #[test]
    fn every_sentence_exists_in_both_languages() {
        for lang in Lang::ALL {
            let mut all: Vec<String> = [Cause::Steal, Cause::SharedCore, Cause::Quota]
                .into_iter()
                .flat_map(|cause| [seen(cause, &[]), seen(cause, &[("a@1:b", 0.1)])])
                .map(|one| toll(&one, lang))
                .collect();
            all.extend([None, Some(0.5)].map(|used| hand_over(&switches(used), lang)));
            testkit::assert_sentences(&all, lang);
        }
    }

    #[test]
    fn a_run_in_which_nothing_took_time_has_no_such_part() {
        let run = testkit::normal();
        let text = testkit::section(&blocks(&crate::view::view(&run), Lang::En), 100);
        assert_eq!(text, "");
    }
}
