//! `familiar.cpu`: `sysbench cpu run` as everybody quotes it: the events of [`super::prime`] in one run of ten seconds.

use super::prime;
use crate::cpu::PRIME;
use engine::workload::{Body, Place, WorkError, Workload};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::Nanos;

/// The workload.
pub(crate) static SYSBENCH_CPU: SysbenchCpu = SysbenchCpu;

/// One shot of sysbench's CPU test.
#[derive(Debug)]
pub(crate) struct SysbenchCpu;

static PARAMS: [ParamDef; 3] = {
    let [version, max_prime] = prime::PARAMS;
    let time = ParamDef {
        name: "time",
        kind: ParamKind::Duration,
        default: "10s",
        doc: "How long the one run takes. goecs and LemonBench have 5 s.",
    };
    [version, max_prime, time]
};

static SPEC: Spec = Spec {
    name: "familiar.cpu",
    version: prime::SPEC.version,
    nature: Nature::Compute,
    title: "sysbench's CPU test, run its way",
    doc: "The events of `cpu.prime` as `sysbench cpu run` counts them: one run of ten seconds without a warm-up, whose \
          figure has no interval. Copies stand for its threads.",
    params: &PARAMS,
    metrics: prime::SPEC.metrics,
    tests: &[TestDef::new(
        "familiar.sysbench-cpu",
        "sysbench cpu run: primes below 10000, one shot of 10 s",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for SysbenchCpu {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        Shape {
            warmup: Nanos::ZERO,
            measure: params.duration("time").max(Shape::MEASURE_MIN),
            rounds: Some(1),
            shortenable: false,
            ..PRIME.shape(params)
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        PRIME.prepare(params, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn one_run_takes_its_time_and_no_other() {
        let shape = |set: &[(&str, &str)]| SYSBENCH_CPU.shape(&testing::params(&SYSBENCH_CPU, set));
        let whole = shape(&[]);
        assert_eq!(
            (whole.measure, whole.rounds),
            (Nanos::from_secs(10), Some(1))
        );
        assert_eq!((whole.warmup, whole.can_shorten()), (Nanos::ZERO, false));
        assert_eq!(shape(&[("time", "5s")]).measure, Nanos::from_secs(5));
        assert_eq!(shape(&[("time", "0")]).measure, Shape::MEASURE_MIN);
    }
}
