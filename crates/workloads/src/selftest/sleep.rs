//! `selftest.sleep`: operations of a known latency.

use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::latency::LAT;
use model::params::Params;
use model::spec::{
    Amount, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, Stat, TestDef, Time,
};
use model::units::{Nanos, Unit};

pub(crate) static SLEEP: Sleep = Sleep;

/// The workload.
#[derive(Debug)]
pub(crate) struct Sleep;

static SPEC: Spec = Spec {
    name: "selftest.sleep",
    version: 2,
    nature: Nature::System,
    title: "operations of a known latency",
    doc: "One operation sleeps until a deadline that lies `op` after its start (clock_nanosleep, absolute), so its \
          latency is `op` plus what the machine takes to wake up a sleeper. The timer slack is 1 ns (prctl), so that \
          the kernel does not let a sleep run up to 50 us longer to end several at once. A latency that comes out \
          lower is a bug of the harness.",
    params: &[ParamDef {
        name: "op",
        kind: ParamKind::Duration,
        default: "4ms",
        doc: "How long one operation sleeps.",
    }],
    metrics: &[
        MetricDef::rate(
            "ops_per_s",
            Unit::OpsPerSecond,
            MetricClass::System,
            How::Per(Amount::Work, Time::Wall),
            "Operations over wall time of the measured part, summed over the copies.",
        ),
        MetricDef::time(
            "lat_ns_mean",
            MetricClass::LatencyTypical,
            How::Of(LAT, Stat::Mean),
            "Mean time from just before the call of clock_nanosleep to just after its return.",
        ),
        MetricDef::time(
            "lat_ns_p50",
            MetricClass::LatencyTypical,
            How::Of(LAT, Stat::Quantile(0.5)),
            "Median of the same time.",
        ),
        MetricDef::time(
            "lat_ns_p99",
            MetricClass::LatencyTail,
            How::Of(LAT, Stat::Quantile(0.99)),
            "99th percentile of the same time.",
        ),
    ],
    tests: &[TestDef::new("selftest.sleep", "4 ms of sleep", &[])],
    simulated: false,
    on_disk: false,
};

impl Workload for Sleep {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn prepare(&self, params: &Params, _place: &Place) -> Result<Box<dyn Body>, WorkError> {
        sys::clock::sleep_exactly();
        Ok(Box::new(Sleeper {
            op: params.duration("op"),
            done: 0,
        }))
    }
}

struct Sleeper {
    op: Nanos,
    done: u64,
}

impl Body for Sleeper {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            recorder.time(|| sys::clock::sleep_until(sys::clock::monotonic() + self.op.0));
        }
        self.done += ops;
        Ok(ops)
    }

    fn records_latency(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        Ok(Finish {
            digest: Digest::EMPTY.word(self.done),
            ..Finish::default()
        })
    }
}
