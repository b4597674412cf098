//! Everybody's block: the figures that forums and blogs quote, made as the programs make them that are quoted, beside
//! ours for the same question, and why the two differ.

use super::block::{Align, Block, Cell, Table, Text};
use super::indexes::copies;
use crate::lang::{Lang, say};
use crate::number::{self, Scale};
use crate::said;
use crate::view::{RunView, without_level};
use dialects::familiar::{Ours, Row, Theirs, Why, YABS_TIME, rows};
use model::estimate::{Estimate, MetricSummary};
use model::plan::MetricId;
use model::units::{Nanos, Unit};
use stats::quantile::median;

/// One row for each figure; nothing where nobody asked for any.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let rows = rows(view.run);
    if rows.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Cells> = rows.iter().map(|row| cells(view, row, lang)).collect();
    let mut forms = vec![
        vec![Block::Table(table(&rows, true, lang))],
        vec![
            Block::Table(table(&rows, false, lang)),
            Block::facts(reasons(&rows)),
        ],
    ];
    if rows.iter().any(|row| row.ours.contains('[')) {
        let legend = lang.pick(
            "[ ] the range of the rounds, behind their median: they are too few for an interval; or (~) behind their mean: \
             they have no single level",
            "[ ] はラウンドの範囲。その前は中央値（回数不足で区間なし）、~ のものは平均（一つの水準で表せない）",
        );
        for form in &mut forms {
            form.push(Block::Line(legend.to_owned()));
        }
    }
    let heading = lang.pick(
        "what everybody quotes (measured their way by kurabe, not by these programs)",
        "よく引用される値（各ツールの方法で kurabe が測定。各ツール自体は実行していません）",
    );
    vec![Block::section(heading, vec![Block::Fitting(forms)])]
}

/// A row as it is shown.
struct Cells {
    name: String,
    theirs: String,
    ours: String,
    /// Why the two differ, or one of them is missing.
    why: Text,
}

fn cells(view: &RunView<'_>, row: &Row, lang: Lang) -> Cells {
    let name = match row.ours {
        Ours::Index(n) => format!("{} {}", row.name, copies(n, lang)),
        Ours::Metric(..) => row.name.clone(),
    };
    let ours = ours(view, &row.ours, lang);
    let why = match (row.theirs, &row.ours, &ours) {
        (None, ..) => no_value(view, &row.metric, lang),
        (Some(_), Ours::Metric(id, _), None) => say!(
            lang,
            "{why}; ours: {missing}",
            "{why}。kurabe の値: {missing}",
            why = why(row.why, lang),
            missing = no_value(view, id, lang)
        ),
        (Some(_), ..) => why(row.why, lang),
    };
    let or_none = |cell: Option<String>| cell.unwrap_or_else(|| number::NONE.to_owned());
    Cells {
        name,
        theirs: or_none(row.theirs.map(theirs)),
        why: Text::doubtful(row.theirs.is_none() || ours.is_none(), why),
        ours: or_none(ours),
    }
}

/// The figures side by side, with the reasons behind them where there is room.
fn table(rows: &[Cells], with_reasons: bool, lang: Lang) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        (
            lang.pick("theirs, one shot", "各ツールの値（一発）"),
            Align::Right,
        ),
        (
            lang.pick("ours (95 % interval)", "kurabe（95 % 区間）"),
            Align::Right,
        ),
        (lang.pick("why they differ", "差が出る理由"), Align::Left),
    ]);
    let cells = |row: &Cells| -> Vec<Cell> {
        let figures = [&row.name, &row.theirs, &row.ours].map(|text| Cell::from(text.clone()));
        figures
            .into_iter()
            .chain([row.why.clone().into()])
            .collect()
    };
    table.rows = rows.iter().map(cells).collect();
    if !with_reasons {
        table.leave_out(3);
    }
    table
}

/// The reasons below the figures: once for rows that follow one another and have the same, under the words that their
/// names have in common.
fn reasons(rows: &[Cells]) -> Vec<(String, Text)> {
    let groups = rows.chunk_by(|one, next| one.why == next.why);
    let reason = |group: &[Cells]| {
        let mut words: Vec<&str> = group[0].name.split(' ').collect();
        for row in group {
            let alike = row
                .name
                .split(' ')
                .zip(&words)
                .take_while(|(one, other)| one == *other);
            words.truncate(alike.count());
        }
        (words.join(" "), group[0].why.clone())
    };
    groups.map(reason).collect()
}

/// A figure as its program prints it.
fn theirs(figure: Theirs) -> String {
    let iops = |iops: f64| number::of(Unit::OpsPerSecond, "iops", iops);
    match figure {
        Theirs::Rate {
            bytes_per_s,
            iops: Some(ops),
        } => format!("{:.2} MB/s, {}", bytes_per_s / 1e6, iops(ops)),
        Theirs::Rate {
            bytes_per_s,
            iops: None,
        } => format!("{:.1} MB/s", bytes_per_s / 1e6),
        Theirs::Events(rate) => format!("{rate:.2} events/s"),
        Theirs::Time(nanos) => number::alone(Unit::Nanoseconds, nanos),
        Theirs::Index(index) => format!("{index:.1}"),
    }
}

/// Our figure with its interval; `None` where it has no value.
fn ours(view: &RunView<'_>, of: &Ours, lang: Lang) -> Option<String> {
    match of {
        Ours::Index(copies) => {
            let mut indexes = view.indexes.iter();
            let index = indexes.find(|index| index.copies == *copies)?;
            Some(shown(&index.whole()?, &Scale::settled(1.0, "")))
        }
        Ours::Metric(id, factor) => {
            let metric = view.metric(&id.case, &id.quantity)?;
            let scale = scale(view, metric, *factor);
            match metric.estimate {
                Some(estimate) if estimate.interval.is_some() => Some(shown(&estimate, &scale)),
                _ => without_interval(metric, &scale, lang),
            }
        }
    }
}

/// The scale in which everybody tells it: decimal megabytes, events, and times as they are.
fn scale(view: &RunView<'_>, metric: &MetricSummary, factor: f64) -> Scale {
    let (divisor, unit) = match metric.metric.unit {
        Unit::BytesPerSecond => (1e6, "MB/s"),
        Unit::OpsPerSecond if factor > 1.0 => (1e6 / factor, "MB/s"),
        Unit::OpsPerSecond => (1.0, "events/s"),
        _ => return view.scale(metric),
    };
    Scale::settled(divisor, unit)
}

fn shown(estimate: &Estimate, scale: &Scale) -> String {
    let (value, ends) = scale.estimate(estimate);
    let value = format!("{value} {}", scale.unit);
    match ends {
        Some((lo, hi)) => format!("{} ({lo} .. {hi})", value.trim_end()),
        None => value.trim_end().to_owned(),
    }
}

/// The median with the range of the rounds, of which there are too few; of those that have no level the mean. `None`
/// without any.
fn without_interval(metric: &MetricSummary, scale: &Scale, lang: Lang) -> Option<String> {
    let has_level = metric.estimate.is_some();
    let typical: fn(&[f64]) -> _ = if has_level { median } else { without_level };
    let value = scale.value(typical(&metric.rounds)?);
    let unit = &scale.unit;
    if metric.rounds.len() == 1 {
        return Some(say!(
            lang,
            "{value} {unit}, one round",
            "{value} {unit}（1 回のみ）"
        ));
    }
    let end = |pick: fn(f64, f64) -> f64| metric.rounds.iter().copied().reduce(pick);
    let [lo, hi] = [end(f64::min)?, end(f64::max)?].map(|end| scale.value(end));
    let mark = if has_level { "" } else { number::NO_LEVEL_MARK };
    Some(format!("{mark}{value} {unit} [{lo} .. {hi}]"))
}

fn no_value(view: &RunView<'_>, id: &MetricId, lang: Lang) -> String {
    let why = why_missing(view, id, lang);
    say!(lang, "no value: {why}", "値なし: {why}")
}

/// Why a metric has no value: its case failed or was left out, its turn did not come, or what the round says itself.
fn why_missing(view: &RunView<'_>, id: &MetricId, lang: Lang) -> String {
    let case = &id.case;
    if let Some(failure) = view.last_failure(case) {
        return said::failure(failure, lang);
    }
    let names = [case.test.clone(), case.to_string()];
    let mut dropped = view.run.plan.dropped.iter();
    if let Some(one) = dropped.find(|one| names.contains(&one.what)) {
        return match one.needs {
            Some(_) => lang
                .pick("left out: too little time", "時間が足りず除外")
                .to_owned(),
            None => say!(lang, "left out: {why}", "除外: {why}", why = one.why),
        };
    }
    match view.metric(case, &id.quantity) {
        Some(metric) => said::missing(metric.missing.as_deref(), lang),
        None => lang
            .pick("no part of this run", "この測定に含まれません")
            .to_owned(),
    }
}

/// Six words or so.
fn why(why: Why, lang: Lang) -> String {
    let time = |span| seconds(span, lang);
    match why {
        Why::OverIn(took) => say!(
            lang,
            "over in {took}, bursts included",
            "{took}で終了、バーストを含む",
            took = time(took)
        ),
        Why::CutTo(runtime) => say!(
            lang,
            "one shot, {cut} of their {whole}",
            "一発、本来の {whole}を {cut}に短縮",
            cut = time(runtime),
            whole = time(YABS_TIME)
        ),
        Why::OneShot => lang
            .pick("one shot, no interval", "一発、区間なし")
            .to_owned(),
        Why::Zeros => lang
            .pick(
                "zeros through the page cache, one flush",
                "ゼロをページキャッシュ経由、最後に一度フラッシュ",
            )
            .to_owned(),
        Why::Best(runs) => say!(
            lang,
            "best of {runs}, not the middle",
            "{runs} 回の最良値（中央値ではない）"
        ),
        Why::NewFile => lang
            .pick(
                "appends 2300 bytes; ours rewrites 4 KiB",
                "2300 バイトの追記（kurabe は 4 KiB の上書き）",
            )
            .to_owned(),
        Why::OnePass => lang
            .pick("one pass, no interval", "1 巡のみ、区間なし")
            .to_owned(),
    }
}

/// A time of which nobody wants to know more than tenths of seconds.
fn seconds(span: Nanos, lang: Lang) -> String {
    let tenths = format!("{:.1}", span.as_secs_f64());
    let seconds = tenths.trim_end_matches(".0");
    say!(lang, "{seconds} s", "{seconds} 秒")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{OPS, P99, Quantity, add_case, add_round, empty, six_around};
    use crate::view::view;
    use model::params::ParamValue;
    use model::plan::Dropped;
    use model::record::{Failure, Run};
    use model::spec::Better;
    use model::units::Bytes;

    const IOPS: Quantity = Quantity("iops", Unit::OpsPerSecond, Better::Higher);
    const READS: Quantity = Quantity("read_iops", Unit::OpsPerSecond, Better::Higher);
    const WRITES: Quantity = Quantity("write_iops", Unit::OpsPerSecond, Better::Higher);
    const BYTES: Quantity = Quantity("bw_bytes_per_s", Unit::BytesPerSecond, Better::Higher);
    const SYNC: Quantity = Quantity("sync_ns_p99", P99.1, P99.2);

    /// A case with blocks of 64 KiB and a time of so many milliseconds, and as many of six rounds.
    fn add(run: &mut Run, id: &str, runtime_ms: u64, rounds: usize, figures: &[(Quantity, f64)]) {
        let (test, copies) = id.split_once('@').unwrap();
        let quantities: Vec<Quantity> = figures.iter().map(|(quantity, _)| *quantity).collect();
        let case = add_case(run, test, copies.parse().unwrap(), "off", &quantities);
        let params = [
            ("bs", ParamValue::Size(Bytes(65_536))),
            (
                "runtime",
                ParamValue::Duration(Nanos::from_millis(runtime_ms)),
            ),
        ];
        let planned = run.plan.cases.last_mut().unwrap();
        planned.load = None;
        planned.params = params
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect();
        for (pass, share) in (1..).zip(six_around(1.0)).take(rounds) {
            let values: Vec<(&str, f64)> = figures
                .iter()
                .map(|(quantity, value)| (quantity.0, value * share))
                .collect();
            add_round(run, &case, pass, Ok(&values));
        }
    }

    /// A row of every kind: rounds of the kit take half a second.
    fn run() -> Run {
        let mut run = empty();
        let mixed = [(READS, 1500.0), (WRITES, 1510.0), (IOPS, 3010.0)];
        add(&mut run, "familiar.yabs-4k@2", 5000, 1, &mixed);
        add(&mut run, "storage.mixed-4k@2", 0, 6, &mixed);
        add(&mut run, "familiar.yabs-64k@2", 500, 1, &mixed);
        add(&mut run, "storage.mixed-64k@2", 0, 3, &mixed);
        add(&mut run, "familiar.dd@1", 0, 3, &[(BYTES, 4e8)]);
        add(
            &mut run,
            "storage.write-1m@1",
            0,
            6,
            &[(BYTES, 123_456_789.0), (IOPS, 117.7)],
        );
        add(&mut run, "familiar.etcd@1", 0, 1, &[(SYNC, 8.4e6)]);
        add(
            &mut run,
            "storage.fsync-4k@1",
            0,
            6,
            &[(IOPS, 400.0), (SYNC, 3e6)],
        );
        add(
            &mut run,
            "familiar.sysbench-cpu@1",
            0,
            1,
            &[(OPS, 1234.567)],
        );
        add(&mut run, "cpu.prime@1", 0, 1, &[(OPS, 1230.0)]);
        let failed = add_case(&mut run, "storage.read-1m", 1, "off", &[BYTES]);
        let why = Failure::Unsupported("no O_DIRECT".to_owned());
        add_round(&mut run, &failed, 1, Err(why));
        for (what, why) in [
            ("storage.randread-4k", "it is in memory"),
            ("storage.randwrite-4k@1", ""),
        ] {
            run.plan.dropped.push(Dropped {
                what: what.to_owned(),
                why: why.to_owned(),
                needs: why.is_empty().then(|| Nanos::from_secs(300)),
            });
        }
        run
    }

    fn shown(run: &Run, width: usize, lang: Lang) -> String {
        crate::testkit::section(&blocks(&view(run), lang), width)
    }

    #[test]
    fn every_kind_of_row_in_both_languages_and_on_a_narrow_terminal() {
        insta::assert_snapshot!("familiar_en", shown(&run(), 120, Lang::En));
        insta::assert_snapshot!("familiar_ja", shown(&run(), 120, Lang::Ja));
        insta::assert_snapshot!("familiar_narrow", shown(&run(), 80, Lang::En));
    }

    #[test]
    fn the_index_of_one_pass_stands_beside_that_of_all() {
        let mut run = crate::testkit::unixbench("off", 2.0);
        add(&mut run, "familiar.dd@1", 0, 1, &[(BYTES, 4e8)]);
        let page = shown(&run, 120, Lang::En);
        let figures = page
            .lines()
            .find(|line| line.starts_with("UnixBench 1 copy"));
        let figures = figures.expect("a row for each concurrency");
        assert!(
            figures.contains(" 20.0  20.01 (19.96 .. 20.04)"),
            "{figures}"
        );
        assert!(page.contains("one pass, no interval"), "{page}");
    }

    #[test]
    fn nobody_who_did_not_ask_has_the_block() {
        assert_eq!(blocks(&view(&crate::testkit::normal()), Lang::En), []);
    }

    #[test]
    fn a_time_is_told_in_tenths_of_seconds() {
        let check =
            |ms, expect: &str| assert_eq!(seconds(Nanos::from_millis(ms), Lang::En), expect);
        check(5000, "5 s");
        check(4123, "4.1 s");
        check(30_040, "30 s");
        check(10, "0 s");
    }
}
