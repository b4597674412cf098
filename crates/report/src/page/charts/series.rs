//! The rate of a soak over its time: the median of each piece of time between its least and its most window, so that
//! no spike is lost however long the soak was.

use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Align, Chart, Long, Table};
use crate::page::chart::{self, Axis, Figure, Look, Plot, Point, Series};
use crate::page::soak::sentence;
use crate::view::RunView;
use model::num::{count, round_to_usize};
use stats::quantile;
use stats::soak::{Finding, Past, SoakSummary};

/// Pieces of time at most: about one for each two pixels.
const PIECES_MAX: usize = 400;

/// The same where a reader can look into it: fewer than a browser draws at once, so that it follows the hand.
const LONG_MAX: usize = 4000;

/// Rows of the table: what a reader looks through.
const ROWS_MAX: usize = 24;

/// Marks with words that have room.
const MARKS_MAX: usize = 6;

/// A piece of time: when it begins and ends, in seconds, and its windows.
struct Piece {
    from: f64,
    to: f64,
    windows: Vec<f64>,
}

impl Piece {
    /// Its least, middle and most window.
    fn whole(&self) -> Option<[f64; 3]> {
        let sorted = quantile::sorted(&self.windows);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        Some([least, quantile::of_sorted(&sorted, 0.5)?, most])
    }
}

/// The series to look into; `None` where the chart shows every window.
pub(crate) fn long(view: &RunView<'_>, soak: &SoakSummary) -> Option<Long> {
    let span = soak.lasted.as_secs_f64();
    let windows = placed(view);
    if windows.len() <= PIECES_MAX || span <= 0.0 {
        return None;
    }
    let n = LONG_MAX.min(windows.len());
    let most = windows.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let scale = number::scale(soak.unit, &soak.quantity, most);
    let of = |piece: &Piece| Some(piece.whole()?.map(|x| x / scale.divisor));
    Some(Long {
        step: span / count(n),
        pieces: pieces(&windows, span, n).iter().map(of).collect(),
        unit: scale.unit,
    })
}

/// The chart; `None` where nothing was measured.
pub(crate) fn series(view: &RunView<'_>, soak: &SoakSummary, lang: Lang) -> Option<Chart> {
    let span = soak.lasted.as_secs_f64();
    let windows = placed(view);
    if windows.is_empty() || span <= 0.0 {
        return None;
    }
    let pieces = pieces(&windows, span, PIECES_MAX.min(windows.len().div_ceil(3)));
    let points = pieces.iter().map(|piece| {
        let [least, middle, most] = piece.whole().unwrap_or([f64::NAN; 3]);
        Point {
            x: f64::midpoint(piece.from, piece.to),
            y: middle,
            y_ends: Some((least, most)),
            ..Point::default()
        }
    });
    let most = windows.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let (unit, quantity) = (soak.unit, soak.quantity.as_str());
    let scale = number::scale(unit, quantity, most);
    let mut table = Table::new([
        (lang.pick("from", "開始").to_owned(), Align::Right),
        (lang.pick("least", "最小").to_owned(), Align::Right),
        (
            format!("{} {}", lang.pick("median", "中央値"), scale.unit),
            Align::Right,
        ),
        (lang.pick("most", "最大").to_owned(), Align::Right),
    ]);
    for piece in self::pieces(&windows, span, ROWS_MAX.min(windows.len().div_ceil(3))) {
        let Some(figures) = piece.whole() else {
            continue;
        };
        let figures = figures.map(|x| scale.value(x).into());
        let from = number::seconds(piece.from, lang).into();
        table
            .rows
            .push(std::iter::once(from).chain(figures).collect());
    }
    let case = view.run.plan.cases.first().map(|case| case.id.to_string());
    let case = case.unwrap_or_default();
    Some(Chart {
        title: say!(lang, "{case}: rate over time", "{case}: 速度の推移"),
        finding: say!(
            lang,
            "{said}; the line is the median of each piece of time, the band goes from its slowest to its fastest window",
            "{said}。線は各時間帯の中央値、帯は最も遅い区間から最も速い区間までです",
            said = sentence(soak, lang)
        ),
        drawing: Figure::Plot(Plot {
            x: time_axis(span, lang),
            y: Axis::of_unit("", unit, quantity, 0.0, most),
            series: vec![Series {
                name: String::new(),
                look: Look::Band,
                points: points.collect(),
            }],
            marks: marks(soak, lang),
        }),
        table,
    })
}

/// Every window with its time in seconds.
fn placed(view: &RunView<'_>) -> Vec<(f64, f64)> {
    let past = view.run.rounds.iter().filter_map(Past::of);
    past.flat_map(|past| {
        let began = past.began.as_secs_f64();
        let windows = past.windows.into_iter().enumerate();
        windows.map(move |(place, rate)| (past.step.mul_add(count(place), began), rate))
    })
    .filter(|(_, rate)| rate.is_finite())
    .collect()
}

/// The windows in so many pieces of time.
fn pieces(windows: &[(f64, f64)], span: f64, n: usize) -> Vec<Piece> {
    let step = span / count(n.max(1));
    let mut pieces: Vec<Piece> = (0..n.max(1))
        .map(|place| Piece {
            from: step * count(place),
            to: step * count(place + 1),
            windows: Vec::new(),
        })
        .collect();
    let last = pieces.len() - 1;
    for (at, rate) in windows {
        let place = round_to_usize((at / step).floor()).min(last);
        pieces[place].windows.push(*rate);
    }
    pieces
}

/// The axis of so many seconds since the beginning, in steps of time that people count in: four to nine of them.
pub(super) fn time_axis(span: f64, lang: Lang) -> Axis {
    let steps = [
        1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0, 7200.0, 14400.0,
        21600.0, 43200.0, 86400.0, 172_800.0, 604_800.0,
    ];
    let step = steps.into_iter().find(|step| span / step <= 7.0);
    let step = step.unwrap_or(span / 5.0);
    let ticks = (0..=12_u32).map(|n| f64::from(n) * step);
    let ticks = ticks.take_while(|x| *x <= span);
    let label = lang.pick("time since the beginning", "開始からの時間");
    Axis {
        label: label.to_owned(),
        log: false,
        low: 0.0,
        high: span,
        ticks: ticks
            .map(|x| (x, chart::short(&number::seconds(x, lang))))
            .collect(),
    }
}

/// What happened, at its time.
pub(super) fn marks(soak: &SoakSummary, lang: Lang) -> Vec<(f64, String)> {
    let found = soak.findings.iter().filter_map(|finding| match finding {
        Finding::Burst { burst, .. } => Some((
            burst.burst_seconds,
            lang.pick("end of the burst", "バーストの終わり").to_owned(),
        )),
        Finding::Step { after_seconds, .. } => {
            Some((*after_seconds, lang.pick("step", "段差").to_owned()))
        }
        _ => None,
    });
    let happened = soak.marks.iter().map(|mark| {
        let word = lang.pick("see marks", "出来事を参照").to_owned();
        (mark.elapsed.as_secs_f64(), word)
    });
    found.chain(happened).take(MARKS_MAX).collect()
}
