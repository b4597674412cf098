//! Memory for people: latency by working set as a table with bars, and round trips between CPUs as a matrix.
//!
//! The table has the sizes that are powers of two; those between, and every pair of a matrix too wide for the terminal,
//! are in the document. Nothing is shown where a run measured neither.

use crate::number;
use crate::style::Style;
use crate::table::Grid;
use crate::text::pairs;
use crate::view::RunView;
use crate::words::{MemoryWords, Words};
use dialects::printable::printable;
use model::num::{count, round_to_usize};
use model::units::Bytes;
use stats::memory::{Curve, Matrix};

/// Cells of the longest bar.
const BAR: usize = 24;

/// A fall below this share is the noise of single points on a quiet machine.
const FALL_MIN: f64 = 0.03;

/// Pairs that are named of a matrix that does not fit.
const PAIRS: usize = 3;

/// The block of all curves and matrices; empty where the run has none.
pub(crate) fn block(view: &RunView<'_>, style: Style, words: &Words) -> String {
    let Some(memory) = &view.memory else {
        return String::new();
    };
    let says = &words.memory;
    let mut out = String::new();
    for curve in &memory.curves {
        out.push_str(&printable(&curve.case.to_string()));
        out.push('\n');
        out.push_str(&table(curve, says).render(&[0, 1]));
        out.push_str(&line(&said(curve, says), style));
        out.push('\n');
    }
    for matrix in &memory.matrices {
        out.push_str(&printable(&matrix.case.to_string()));
        out.push('\n');
        let grid = square(matrix);
        if grid.width() <= style.columns() - 2 {
            let right: Vec<usize> = (0..=matrix.cpus.len()).collect();
            out.push_str(&grid.render(&right));
            out.push_str(&line(says.matrix, style));
        } else {
            out.push_str(&line(says.matrix, style));
            out.push_str(&line(&ends(matrix, says), style));
        }
        out.push('\n');
    }
    if !memory.curves.is_empty() {
        let mut legend = Grid::new(1);
        legend.row(vec![says.legend.to_owned()]);
        out.push_str(&legend.render_wrapped(style.columns() - 2, &[]));
    }
    out
}

fn line(text: &str, style: Style) -> String {
    pairs(&[("-".to_owned(), text.to_owned())], style)
}

/// Whether the curve rises as it must.
fn said(curve: &Curve, says: &MemoryWords) -> String {
    let fall = curve.largest_fall();
    if fall <= 0.0 {
        says.rises.to_owned()
    } else if fall < FALL_MIN {
        (says.rises_within)(&format!("{} %", round_to_usize(FALL_MIN * 100.0)))
    } else {
        (says.falls)(&number::percent(fall))
    }
}

fn table(curve: &Curve, says: &MemoryWords) -> Grid {
    let mut grid = Grid::with_header(&[says.working_set, says.per_load, says.rounds, ""]);
    let shown = curve
        .points
        .iter()
        .filter(|point| point.bytes.is_power_of_two());
    let all = || curve.points.iter().map(|point| point.ns);
    let (least, most) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(0.0, f64::max),
    );
    for point in shown {
        let ends = (nanos(point.least), nanos(point.most));
        grid.row(vec![
            Bytes(point.bytes).exact(),
            nanos(point.ns),
            number::range(Some(&ends)),
            bar(point.ns, least, most),
        ]);
    }
    grid
}

/// Three figures.
fn nanos(ns: f64) -> String {
    if ns < 9.995 {
        format!("{ns:.2}")
    } else if ns < 99.95 {
        format!("{ns:.1}")
    } else {
        format!("{ns:.0}")
    }
}

/// From one cell for the least to all for the most, by factors.
fn bar(ns: f64, least: f64, most: f64) -> String {
    let whole = (most / least).ln();
    let share = if whole > 0.0 {
        (ns / least).ln() / whole
    } else {
        0.0
    };
    "#".repeat(1 + round_to_usize(share * count(BAR - 1)))
}

/// One row and one column per CPU.
fn square(matrix: &Matrix) -> Grid {
    let heads: Vec<String> = matrix.cpus.iter().map(ToString::to_string).collect();
    let head: Vec<&str> = std::iter::once("CPU")
        .chain(heads.iter().map(String::as_str))
        .collect();
    let mut grid = Grid::with_header(&head);
    for &row in &matrix.cpus {
        let cells = matrix.cpus.iter().map(|&column| {
            let pair = (row.min(column), row.max(column));
            matrix
                .pairs
                .get(&pair)
                .map_or_else(|| number::NONE.to_owned(), |ns| nanos(*ns))
        });
        grid.row(std::iter::once(row.to_string()).chain(cells).collect());
    }
    grid
}

/// The nearest and the farthest pairs of a matrix in a sentence.
fn ends(matrix: &Matrix, says: &MemoryWords) -> String {
    let mut sorted: Vec<_> = matrix.pairs.iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(b.1));
    let text = |pairs: &[(&(u32, u32), &f64)]| {
        let each = pairs
            .iter()
            .map(|((a, b), ns)| format!("{a}-{b} {} ns", nanos(**ns)));
        each.collect::<Vec<_>>().join(", ")
    };
    let take = PAIRS.min(sorted.len());
    let nearest = text(&sorted[..take]);
    let farthest = text(&sorted[sorted.len() - take..]);
    (says.pairs)(matrix.cpus.len(), &nearest, &farthest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Quantity, add_case, add_round, empty};
    use crate::words::Lang;
    use model::record::{Outcome, Run};
    use model::spec::Better;
    use model::units::Unit;

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
        let style = Style {
            width,
            color: false,
        };
        block(&crate::view::view(&run), style, lang.words())
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
