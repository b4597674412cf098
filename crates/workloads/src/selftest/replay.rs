//! `selftest.replay`: plays a recorded series instead of measuring, so that everything behind the measurement can be
//! tested to the last digit.

use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{Better, How, MetricClass, MetricDef, ParamDef, ParamKind, Spec, TestDef};
use model::units::{Nanos, Unit};

pub(crate) static REPLAY: Replay = Replay;

/// The workload.
#[derive(Debug)]
pub(crate) struct Replay;

const SERIES: &str = "100,101,99,100,102,98,100,101,99";

static SPEC: Spec = Spec {
    name: "selftest.replay",
    version: 1,
    title: "plays a recorded series",
    doc: "Round N reports the Nth value of `series` (which starts again at its end) as `ops_per_s` and its inverse as \
          `lat_ns_p50`. Nothing is measured, no noise is recorded, and a round takes no time. The word `fail` in the \
          series makes its round fail.",
    params: &[
        ParamDef {
            name: "series",
            kind: ParamKind::Text,
            default: SERIES,
            doc: "The values, separated by commas: numbers, or `fail`.",
        },
        ParamDef {
            name: "windows",
            kind: ParamKind::Text,
            default: "",
            doc: "The windows of each round, as factors of its value, separated by commas; none by default.",
        },
    ],
    metrics: &[
        MetricDef {
            quantity: "ops_per_s",
            unit: Unit::OpsPerSecond,
            better: Better::Higher,
            class: MetricClass::System,
            how: How::Rate,
            doc: "The value of the series, for each copy.",
        },
        MetricDef {
            quantity: "lat_ns_p50",
            unit: Unit::Nanoseconds,
            better: Better::Lower,
            class: MetricClass::LatencyTypical,
            how: How::ReportedMean,
            doc: "One second over the value of the series, in nanoseconds.",
        },
    ],
    tests: &[TestDef {
        name: "selftest.replay",
        title: "a recorded series",
        params: &[],
    }],
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

    fn supported(&self, params: &Params, _host: &model::host::HostFacts) -> Result<(), String> {
        numbers(params.text("windows"))?;
        params
            .text("series")
            .split(',')
            .try_for_each(|item| value(item).map(|_| ()))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let items: Vec<&str> = params.text("series").split(',').collect();
        let at = usize::try_from(place.round.saturating_sub(1)).unwrap_or(0) % items.len();
        let Some(value) = value(items[at]).map_err(WorkError::Failed)? else {
            return Err(WorkError::failed(
                "play round",
                place.round,
                "the series says `fail`",
            ));
        };
        let windows = numbers(params.text("windows")).map_err(WorkError::Failed)?;
        Ok(Box::new(Player {
            value,
            windows: windows.into_iter().map(|x| x * value).collect(),
        }))
    }
}

/// A number of the series; `None` for the word `fail`.
fn value(item: &str) -> Result<Option<f64>, String> {
    match item.trim() {
        "fail" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(format!(
                "`{text}` in `series` is neither a number nor `fail`"
            )),
        },
    }
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

struct Player {
    value: f64,
    windows: Vec<f64>,
}

impl Body for Player {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
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
            copy: 0,
            copies: 1,
            round,
            seed: 0,
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
    }

    #[test]
    fn nonsense_in_the_series_is_refused_before_measuring() {
        for bad in [
            ("series", "1,x"),
            ("series", ""),
            ("series", "inf"),
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
