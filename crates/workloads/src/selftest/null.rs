//! `selftest.null`: operations that do next to nothing, so that what is left is the harness.

use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::params::Params;
use model::spec::{
    Better, Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, TestDef,
    Time,
};
use model::units::Unit;

pub(crate) static NULL: Null = Null;

/// The workload.
#[derive(Debug)]
pub(crate) struct Null;

static SPEC: Spec = Spec {
    name: "selftest.null",
    version: 1,
    nature: Nature::System,
    title: "the harness's own cost per operation",
    doc: "One operation folds a counter into a digest: a multiplication, about a nanosecond. `ns_per_op` is therefore \
          the harness's own cost, plus that nanosecond. With `latency=yes` every operation is timed and recorded, \
          which is what a workload with latencies pays.",
    params: &[ParamDef {
        name: "latency",
        kind: ParamKind::Switch,
        default: "no",
        doc: "Record the latency of every operation.",
    }],
    metrics: &[
        MetricDef::time(
            "ns_per_op",
            MetricClass::Compute,
            How::TimePerOp(Time::Wall),
            "Wall time of the measured part over operations, mean over the copies.",
        ),
        MetricDef {
            quantity: "allocations",
            unit: Unit::Number,
            better: Better::Lower,
            class: MetricClass::Compute,
            how: How::Reported(Fold::Sum),
            role: Role::Plain,
            doc: "Heap allocations between the first and the last operation of the round, warm-up included, all \
                  copies. Must be 0.",
        },
    ],
    tests: &[
        TestDef::new(
            "selftest.null",
            "harness cost without latency recording",
            &[],
        ),
        TestDef::new(
            "selftest.null-latency",
            "harness cost with latency recording",
            &[("latency", "yes")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

impl Workload for Null {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn prepare(&self, params: &Params, _place: &Place) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Nothing {
            latency: params.switch("latency"),
            digest: Digest::EMPTY,
            done: 0,
            allocations_at_start: None,
            allocations: 0,
        }))
    }
}

struct Nothing {
    latency: bool,
    digest: Digest,
    done: u64,
    allocations_at_start: Option<u64>,
    allocations: u64,
}

impl Body for Nothing {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let at_start = *self
            .allocations_at_start
            .get_or_insert_with(sys::alloc::allocations);
        let mut digest = self.digest;
        let range = self.done..self.done + ops;
        if self.latency {
            let mut laps = recorder.laps();
            for op in range {
                digest = laps.lap(|| digest.word(op));
            }
        } else {
            for op in range {
                digest = digest.word(op);
            }
        }
        self.digest = digest;
        self.done += ops;
        self.allocations = sys::alloc::allocations() - at_start;
        Ok(ops)
    }

    fn records_latency(&self) -> bool {
        self.latency
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let expected = (0..self.done).fold(Digest::EMPTY, Digest::word);
        if self.digest != expected {
            return Err(WorkError::Wrong(format!(
                "digest of {} operations",
                self.done
            )));
        }
        Ok(Finish {
            digest: self.digest,
            reported: [(
                "allocations".to_owned(),
                model::num::approx(self.allocations),
            )]
            .into(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_work_is_found_out() {
        let mut body = Nothing {
            latency: false,
            digest: Digest::EMPTY,
            done: 0,
            allocations_at_start: None,
            allocations: 0,
        };
        body.batch(10, &mut Recorder::off()).unwrap();
        assert!(body.finish().is_ok());
        body.done += 1;
        assert!(matches!(body.finish(), Err(WorkError::Wrong(_))));
    }
}
