//! `selftest.replay`: plays a recorded series instead of measuring, so that everything behind the measurement can be
//! tested to the last digit.

use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::num::count;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::record::Series;
use model::spec::{
    Amount, Better, Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec,
    TestDef, Time,
};
use model::units::{Nanos, Unit};

pub(crate) static REPLAY: Replay = Replay;

/// The workload.
#[derive(Debug)]
pub(crate) struct Replay;

/// The parameter and the series of this name.
const BACKLOG: &str = "backlog";

const SERIES: &str = "100,101,99,100,102,98,100,101,99";

static SPEC: Spec = Spec {
    name: "selftest.replay",
    version: 1,
    nature: Nature::System,
    title: "plays a recorded series",
    doc: "Round N reports the Nth value of `series` (which starts again at its end) as `ops_per_s` and its inverse as \
          `lat_ns_p50`. Nothing is measured, no noise is recorded, and a round takes no time, except in a soak, whose \
          stretches it sleeps through. The word `fail` in the series makes its round fail.",
    params: &[
        ParamDef {
            name: "series",
            kind: ParamKind::Text,
            default: SERIES,
            doc: "The values, separated by commas: numbers, or `fail`, or windows of their own such as `200*5+100*15` \
                  (five windows of 200, then fifteen of 100), whose mean is the value.",
        },
        ParamDef {
            name: "windows",
            kind: ParamKind::Text,
            default: "",
            doc: "The windows of each round, as factors of its value, separated by commas; none by default.",
        },
        ParamDef {
            name: "backlog",
            kind: ParamKind::Text,
            default: "",
            doc: "The values of the series `backlog`, separated by commas: numbers, or `-` for none; no series by \
                  default.",
        },
    ],
    metrics: &[
        MetricDef::rate(
            "ops_per_s",
            Unit::OpsPerSecond,
            MetricClass::System,
            How::Per(Amount::Work, Time::Wall),
            "The value of the series, for each copy.",
        ),
        MetricDef::time(
            "lat_ns_p50",
            MetricClass::LatencyTypical,
            How::Reported(Fold::Mean),
            "One second over the value of the series, in nanoseconds.",
        ),
        MetricDef {
            quantity: BACKLOG,
            unit: Unit::Number,
            better: Better::Lower,
            class: MetricClass::System,
            how: How::Reported(Fold::Sum),
            role: Role::Series,
            doc: "The series: what `backlog` says, each value times the number of the round, summed over the copies.",
        },
    ],
    tests: &[TestDef::new("selftest.replay", "a recorded series", &[])],
    simulated: true,
    on_disk: false,
};

impl Workload for Replay {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, _params: &Params) -> Shape {
        Shape {
            warmup: Nanos::ZERO,
            measure: Nanos::ZERO,
            rounds: None,
            settle: Settle::None,
            shortenable: false,
            ..Shape::DEFAULT
        }
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let asked = !params.text(BACKLOG).is_empty();
        let metrics = SPEC.metrics.iter();
        metrics
            .filter(|metric| asked || metric.role != Role::Series)
            .collect()
    }

    fn supported(&self, params: &Params, _host: &model::host::HostFacts) -> Result<(), String> {
        numbers(params.text("windows"))?;
        backlog(params, 1)?;
        params
            .text("series")
            .split(',')
            .try_for_each(|item| value(item).map(|_| ()))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let items: Vec<&str> = params.text("series").split(',').collect();
        let at = usize::try_from(place.round.saturating_sub(1)).unwrap_or(0) % items.len();
        let factors = numbers(params.text("windows")).map_err(WorkError::Failed)?;
        let backlog = backlog(params, place.round).map_err(WorkError::Failed)?;
        let player = match value(items[at]).map_err(WorkError::Failed)? {
            Played::Fail => {
                return Err(WorkError::failed(
                    "play round",
                    place.round,
                    "the series says `fail`",
                ));
            }
            Played::Value(value) => Player {
                value,
                windows: factors.into_iter().map(|x| x * value).collect(),
                backlog,
            },
            Played::Windows(windows) => Player {
                value: windows.iter().sum::<f64>() / count(windows.len()),
                windows,
                backlog,
            },
        };
        Ok(Box::new(player))
    }
}

/// What one item of the series says.
enum Played {
    Fail,
    Value(f64),
    Windows(Vec<f64>),
}

/// The most windows that an item may have; more are a slip.
const WINDOWS_MAX: usize = 100_000;

/// An item of the series.
fn value(item: &str) -> Result<Played, String> {
    let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let text = item.trim();
    if text == "fail" {
        return Ok(Played::Fail);
    }
    if let Some(number) = finite(text) {
        return Ok(Played::Value(number));
    }
    let bad = || {
        format!(
            "`{text}` in `series` is neither a number nor `fail` nor windows such as `200*5+100*15`"
        )
    };
    let mut windows = Vec::new();
    for piece in text.split('+') {
        let (level, times) = piece.split_once('*').ok_or_else(bad)?;
        let level = finite(level).ok_or_else(bad)?;
        let times: usize = times.trim().parse().map_err(|_| bad())?;
        if times == 0 || windows.len() + times > WINDOWS_MAX {
            return Err(bad());
        }
        windows.resize(windows.len() + times, level);
    }
    Ok(Played::Windows(windows))
}

fn numbers(text: &str) -> Result<Vec<f64>, String> {
    let items = text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    items
        .map(|item| {
            item.parse()
                .map_err(|_| format!("`{item}` in `windows` is no number"))
        })
        .collect()
}

/// The series of this round.
fn backlog(params: &Params, round: u32) -> Result<Vec<Option<f64>>, String> {
    let items = params.text(BACKLOG).split(',').map(str::trim);
    let value = |item: &str| match item {
        "-" => Ok(None),
        _ => item
            .parse::<f64>()
            .map(|value| Some(value * f64::from(round)))
            .map_err(|_| format!("`{item}` in `backlog` is neither a number nor `-`")),
    };
    items.filter(|item| !item.is_empty()).map(value).collect()
}

/// What an operation takes: next to nothing in a round without a measured part, which has one, and in a soak so little
/// that a window holds enough of them.
const OPERATION_NS: u64 = 10_000;

struct Player {
    value: f64,
    windows: Vec<f64>,
    backlog: Vec<Option<f64>>,
}

impl Body for Player {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        sys::clock::sleep(ops.saturating_mul(OPERATION_NS));
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        Ok(Finish {
            digest: Digest::EMPTY.word(self.value.to_bits()),
            reported: [
                ("ops_per_s".to_owned(), self.value),
                ("lat_ns_p50".to_owned(), 1e9 / self.value),
            ]
            .into(),
            windows: self.windows.clone(),
            series: (!self.backlog.is_empty())
                .then(|| {
                    let series = Series {
                        step: Shape::DEFAULT.window,
                        values: self.backlog.clone(),
                    };
                    (BACKLOG.to_owned(), series)
                })
                .into_iter()
                .collect(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(round: u32) -> Place {
        Place {
            dir: "/".into(),
            shared_dir: "/".into(),
            run_dir: "/".into(),
            copy: 0,
            copies: 1,
            round,
            seed: 0,
            warmup: model::units::Nanos::ZERO,
            measure: model::units::Nanos::ZERO,
            ns_per_tick: None,
            stand_in: None,
            anchors: std::collections::BTreeMap::new(),
            bytes_left: None,
            known: None,
            permits: engine::consent::Permits::default(),
        }
    }

    #[test]
    fn round_n_plays_value_n_and_the_series_starts_again() {
        let params =
            Params::resolve(&SPEC, [("series", "1, 2,fail"), ("windows", "1,0.5")]).unwrap();
        let play = |round| {
            REPLAY
                .prepare(&params, &place(round))
                .and_then(|mut b| b.finish())
        };
        assert_eq!(
            play(2).unwrap().reported["ops_per_s"].to_bits(),
            2.0_f64.to_bits()
        );
        assert_eq!(play(4).unwrap().windows, [1.0, 0.5]);
        assert!(matches!(play(3), Err(WorkError::Failed(_))));
        let own = Params::resolve(&SPEC, [("series", "200*1+ 100*3")]).unwrap();
        let played = REPLAY.prepare(&own, &place(1)).and_then(|mut b| b.finish());
        let played = played.unwrap();
        assert_eq!(played.windows, [200.0, 100.0, 100.0, 100.0]);
        assert!((played.reported["ops_per_s"] - 125.0).abs() < 1e-9);
    }

    #[test]
    fn nonsense_in_the_series_is_refused_before_measuring() {
        for bad in [
            ("series", "1,x"),
            ("series", ""),
            ("series", "inf"),
            ("series", "5*0"),
            ("series", "5*x+1*2"),
            ("series", "5*99999999999"),
            ("windows", "1,y"),
        ] {
            let params = Params::resolve(&SPEC, [bad]).unwrap();
            assert!(
                REPLAY
                    .supported(&params, &model::host::HostFacts::default())
                    .is_err()
            );
        }
    }
}
