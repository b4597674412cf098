//! `selftest.fault`: a worker that goes wrong in a chosen way.

use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::params::Params;
use model::plan::Shape;
use model::spec::{
    Amount, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time,
};
use model::units::{Nanos, Unit};

pub(crate) static FAULT: Fault = Fault;

/// The workload.
#[derive(Debug)]
pub(crate) struct Fault;

static SPEC: Spec = Spec {
    name: "selftest.fault",
    version: 1,
    nature: Nature::System,
    title: "a worker that goes wrong in a chosen way",
    doc: "Round `round` of every case fails as `kind` says; all other rounds count loops for 1 ms at a time. It shows \
          that a failing worker costs one round and never the run.",
    params: &[
        ParamDef {
            name: "kind",
            kind: ParamKind::Choice(&[
                "error",
                "panic",
                "abort",
                "exit",
                "hang",
                "memory",
                "wrong",
                "unsupported",
            ]),
            default: "error",
            doc: "`error` reports a failed operation; `panic` and `abort` end the process; `exit` ends it with code 7; \
                  `hang` stops answering during set-up; `memory` allocates and touches memory without end; `wrong` \
                  reports a wrong digest; `unsupported` says that the machine cannot do it.",
        },
        ParamDef {
            name: "round",
            kind: ParamKind::Count {
                min: 0,
                max: 1_000_000,
            },
            default: "2",
            doc: "Which round fails; 0 for all.",
        },
    ],
    metrics: &[MetricDef::rate(
        "ops_per_s",
        Unit::OpsPerSecond,
        MetricClass::System,
        How::Per(Amount::Work, Time::Wall),
        "Milliseconds slept per second of wall time.",
    )],
    tests: &[TestDef::new("selftest.fault", "a failing worker", &[])],
    simulated: false,
    on_disk: false,
};

impl Workload for Fault {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, _params: &Params) -> Shape {
        Shape {
            setup_max: Nanos::from_secs(2),
            ..Shape::DEFAULT
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let round = params.count("round");
        let fails = round == 0 || round == u64::from(place.round);
        if fails && params.text("kind") == "hang" {
            loop {
                sys::clock::sleep(1_000_000_000);
            }
        }
        if fails && params.text("kind") == "unsupported" {
            let why = "selftest.fault was told that it cannot be done";
            return Err(WorkError::Unsupported(why.to_owned()));
        }
        let kind = if fails { params.text("kind") } else { "" };
        Ok(Box::new(Culprit {
            kind: kind.to_owned(),
            hoard: Vec::new(),
        }))
    }
}

struct Culprit {
    kind: String,
    hoard: Vec<Vec<u8>>,
}

impl Body for Culprit {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        match self.kind.as_str() {
            "error" => {
                return Err(WorkError::failed(
                    "fail",
                    "selftest.fault",
                    "as it was told to",
                ));
            }
            "panic" => panic!("selftest.fault was told to panic"),
            "abort" => std::process::abort(),
            "exit" => std::process::exit(7),
            "memory" => loop {
                // Touched, page by page, or the kernel would never have to find the memory.
                self.hoard.push(vec![1; 1 << 20]);
            },
            _ => {}
        }
        sys::clock::sleep(ops * 1_000_000);
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        if self.kind == "wrong" {
            return Err(WorkError::Wrong(
                "digest of `selftest.fault`, as it was told to".to_owned(),
            ));
        }
        Ok(Finish::default())
    }
}
