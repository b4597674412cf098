//! Memory: latency by working set as a table with bars, and round trips between CPUs as a matrix.
//!
//! The table has the sizes that are powers of two; those between, and every pair of a matrix too wide for the terminal,
//! are in the document. Nothing is shown where a run measured neither.

use super::block::{Align, Block, Cell, Table};
use super::charts;
use crate::lang::{Lang, say};
use crate::number;
use crate::view::RunView;
use model::num::{count, round_to_usize};
use model::order::Order as _;
use model::units::{Bytes, Unit};
use stats::memory::{Curve, Matrix};

/// Cells of the longest bar.
const BAR: usize = 24;

/// A fall below this share is the noise of single points on a quiet machine.
const FALL_MIN: f64 = 0.03;

/// Pairs that are named of a matrix that does not fit.
const PAIRS: usize = 3;

/// All curves and matrices.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let Some(memory) = &view.memory else {
        return Vec::new();
    };
    let of_curve = |curve: &Curve| {
        let name = Block::Name(curve.case.to_string());
        let said = Block::bullets([said(curve, lang)]);
        let table = Block::Table(table(curve, lang));
        let chart = Block::chart(charts::curve(curve, lang));
        Block::Section(None, [name, table, said].into_iter().chain(chart).collect())
    };
    let mut parts: Vec<Block> = memory.curves.iter().map(of_curve).collect();
    parts.extend(memory.matrices.iter().map(|matrix| square(matrix, lang)));
    if !memory.curves.is_empty() {
        let legend = lang.pick(
            "ns/load: median of the rounds, least and most beside it. # on a scale of factors, from the quickest to the \
             slowest",
            "ns/ロードはラウンドの中央値で、横に最小と最大を示します。# は最速から最遅までの対数目盛です",
        );
        parts.push(Block::Line(legend.to_owned()));
    }
    let heading = lang.pick("memory, point by point", "メモリの詳細");
    vec![Block::section(heading, parts)]
}

/// The same where it is what the run was made for: no other test was measured.
pub(crate) fn alone(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let Some(memory) = &view.memory else {
        return Vec::new();
    };
    let curves = memory.curves.iter().map(|curve| &curve.case);
    let pictured: Vec<_> = curves
        .chain(memory.matrices.iter().map(|matrix| &matrix.case))
        .collect();
    let is_pictured = |case: &model::plan::PlannedCase| pictured.contains(&&case.id);
    if view.run.plan.cases.iter().all(is_pictured) {
        blocks(view, lang)
    } else {
        Vec::new()
    }
}

/// Whether the curve rises as it must.
fn said(curve: &Curve, lang: Lang) -> String {
    let fall = curve.largest_fall();
    if fall <= 0.0 {
        say!(
            lang,
            "the latency never falls from one size to the next",
            "サイズが増えてもレイテンシーは下がりません"
        )
    } else if fall < FALL_MIN {
        say!(
            lang,
            "the latency never falls by more than {within} % from one size to the next",
            "サイズが増えてもレイテンシーは {within} % を超えて下がりません",
            within = round_to_usize(FALL_MIN * 100.0)
        )
    } else {
        say!(
            lang,
            "from one size to the next the latency falls by up to {by}: noise, or a busy machine",
            "サイズが増えるときにレイテンシーが最大 {by} 下がっています。ノイズか、マシンが混雑しています",
            by = number::percent(fall)
        )
    }
}

fn table(curve: &Curve, lang: Lang) -> Table {
    let mut table = Table::new([
        (lang.pick("working set", "ワーキングセット"), Align::Right),
        (lang.pick("ns/load", "ns/ロード"), Align::Right),
        (lang.pick("rounds", "各ラウンド"), Align::Left),
        ("", Align::Left),
    ]);
    let all = || curve.points.iter().map(|point| point.ns);
    let least = all().fold(f64::INFINITY, f64::min);
    let most = all().fold(0.0, f64::max);
    let shown = curve.points.iter();
    for point in shown.filter(|point| point.bytes.is_power_of_two()) {
        let ends = (nanos(point.least), nanos(point.most));
        table.rows.push(vec![
            Bytes(point.bytes).exact().into(),
            nanos(point.ns).into(),
            number::range(Some(&ends)).into(),
            Cell::Bar(bar(point.ns, least, most), 0),
        ]);
    }
    table
}

/// Three figures.
fn nanos(ns: f64) -> String {
    number::scale(Unit::Nanoseconds, "", 1.0).value(ns)
}

/// From one cell for the least to all for the most, by factors.
fn bar(ns: f64, least: f64, most: f64) -> usize {
    let whole = (most / least).ln();
    let share = if whole > 0.0 {
        (ns / least).ln() / whole
    } else {
        0.0
    };
    1 + round_to_usize(share * count(BAR - 1))
}

/// One row and one column per CPU; where that is too wide, the nearest and the farthest pairs.
fn square(matrix: &Matrix, lang: Lang) -> Block {
    let heads = matrix.cpus.iter().map(ToString::to_string);
    let heads = std::iter::once("CPU".to_owned()).chain(heads);
    let mut table = Table::new(heads.map(|head| (head, Align::Right)));
    for &row in &matrix.cpus {
        let cells = matrix.cpus.iter().map(|&column| {
            let pair = (row.min(column), row.max(column));
            let ns = matrix.pairs.get(&pair);
            ns.map_or_else(|| number::NONE.to_owned(), |ns| nanos(*ns))
                .into()
        });
        let row: Cell = row.to_string().into();
        table.rows.push(std::iter::once(row).chain(cells).collect());
    }
    let what = lang.pick(
        "round trip of a cache line between two CPUs, in nanoseconds",
        "2 個の CPU 間のキャッシュライン往復時間（ナノ秒）",
    );
    let whole = vec![Block::Table(table), Block::bullets([what])];
    let ends = vec![Block::bullets([what.to_owned(), ends(matrix, lang)])];
    let name = Block::Name(matrix.case.to_string());
    Block::Section(None, vec![name, Block::Fitting(vec![whole, ends])])
}

/// The nearest and the farthest pairs of a matrix in a sentence.
fn ends(matrix: &Matrix, lang: Lang) -> String {
    let mut sorted: Vec<_> = matrix.pairs.iter().collect();
    sorted.order_by(|a, b| a.1.total_cmp(b.1));
    let text = |pairs: &[(&(u32, u32), &f64)]| {
        let each = pairs
            .iter()
            .map(|((a, b), ns)| format!("{a}-{b} {} ns", nanos(**ns)));
        each.collect::<Vec<_>>().join(", ")
    };
    let take = PAIRS.min(sorted.len());
    let nearest = text(&sorted[..take]);
    let farthest = text(&sorted[sorted.len() - take..]);
    let cpus = matrix.cpus.len();
    say!(
        lang,
        "{cpus} CPUs: the nearest pairs are {nearest}; the farthest are {farthest} (all in the JSON document)",
        "{cpus} CPU: 最も近い組は {nearest}、最も遠い組は {farthest} です（すべて JSON にあります）"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Quantity, add_case, add_round, empty};
    use model::record::{Outcome, Run};
    use model::spec::Better;

    fn run(values: &[(String, f64)]) -> Run {
        let quantity = Quantity("memory_ns", Unit::Nanoseconds, Better::Lower);
        let mut run = empty();
        let case = add_case(&mut run, "memory.levels", 1, "off", &[quantity]);
        for pass in 1..=6 {
            add_round(&mut run, &case, pass, Ok(&[("memory_ns", 90.0)]));
        }
        for round in &mut run.rounds {
            if let Outcome::Done(measured) = &mut round.outcome {
                measured.copies[0].reported = values.iter().cloned().collect();
            }
        }
        run
    }

    fn shown(values: &[(String, f64)], width: usize, lang: Lang) -> String {
        let run = run(values);
        crate::testkit::section(&blocks(&crate::view::view(&run), lang), width)
    }

    #[test]
    fn a_curve_is_a_table_of_whole_powers_with_bars() {
        let point = |bytes: u64, ns| (format!("ns_at_{bytes}"), ns);
        let text = shown(
            &[
                point(4096, 1.5),
                point(5760, 1.5),
                point(8192, 12.25),
                point(1 << 30, 150.0),
            ],
            80,
            Lang::En,
        );
        let expected = "memory.levels@1\n\
                        working set  ns/load  rounds\n      4 KiB     1.50  1.50 .. 1.50  #\n\
                        \u{20}     8 KiB     12.2  12.2 .. 12.2  ###########\n\
                        \u{20}     1 GiB      150  150 .. 150    ########################\n\
                        -  the latency never falls from one size to the next\n";
        assert!(text.starts_with(expected), "{text}");
        let check = |second: f64, lang, expected: &str| {
            let text = shown(&[point(4096, 1.0), point(8192, second)], 80, lang);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(expected), "{second}: {text}");
        };
        let falls = "the latency never falls from one";
        check(1.0, Lang::En, falls);
        check(1.5, Lang::En, falls);
        let within = "the latency never falls by more than 3 % from one";
        check(0.98, Lang::En, within);
        check(0.999, Lang::En, within);
        check(0.5, Lang::En, "falls by up to 50 %");
        check(0.96, Lang::En, "falls by up to 4.0 %");
        check(1.0, Lang::Ja, "レイテンシーは下がりません");
        check(0.98, Lang::Ja, "レイテンシーは 3 % を超えて下がりません");
        check(0.5, Lang::Ja, "最大 50 %");
        assert!(shown(&[point(4096, 2.0)], 80, Lang::Ja).contains("ワーキングセット"));
    }

    #[test]
    fn a_matrix_is_square_where_it_fits_and_its_ends_where_not() {
        let mut pairs = Vec::new();
        for a in 0..20_u32 {
            for b in a + 1..20 {
                pairs.push((format!("ns_{a}_{b}"), f64::from(50 + a + b)));
            }
        }
        let small = shown(&pairs[..1], 80, Lang::En);
        assert!(
            small.contains("CPU     0     1\n  0     -  51.0\n  1  51.0     -\n"),
            "{small}"
        );
        let large = shown(&pairs, 80, Lang::En);
        assert!(
            large.contains("20 CPUs: the nearest pairs are 0-1 51.0 ns"),
            "{large}"
        );
        assert!(large.contains("18-19 87.0 ns"), "{large}");
        assert!(large.lines().all(|line| line.len() <= 80), "{large}");
    }

    #[test]
    fn a_run_without_points_says_nothing() {
        assert_eq!(shown(&[("l1_ns".to_owned(), 1.0)], 80, Lang::En), "");
    }
}
