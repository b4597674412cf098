//! `cpu.whetstone`: how fast a core does scalar floating-point arithmetic and the C library its mathematics.

use super::work_metrics;
use crate::unixbench::{COMPAT, Compat, Length, shape};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::num::approx;
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, Spec, TestDef};
use model::units::Nanos;
use sys::loops::whetstone::{INSTRUCTIONS_PER_SCALE, Results, pass};

/// The workload.
pub(crate) static WHETSTONE: Whetstone = Whetstone;

/// Double-precision Whetstone, as gcc with `-ffast-math` leaves it.
#[derive(Debug)]
pub(crate) struct Whetstone;

/// A twentieth of the original's pass: 90 us on a core of 2023, so that batches end close to where they should, and
/// long enough that starting the seven sections does not show (under 0.5 %).
const SCALE: u64 = 5;

/// The metric's key: Whetstone instructions per second, a million times MWIPS.
const WIPS: &str = "wips";

static SPEC: Spec = Spec {
    name: "cpu.whetstone",
    version: 2,
    nature: Nature::Compute,
    title: "scalar floating point and the C library's mathematics",
    doc: "One operation is half a million Whetstone instructions: one pass through the eight sections of the Whetstone \
          benchmark (Curnow and Wichmann 1976) at a twentieth of UnixBench's length. A Whetstone instruction is not a \
          machine instruction; MWIPS is this metric divided by a million.\n\n\
          About half of the time goes into chains of dependent additions and multiplications, so it measures the \
          latency of those and not how many a core can do at once; nearly all of the other half into the C library's \
          sincos, cos, atan, log and exp. It is good for comparing the speed of cores at scalar floating point, and \
          with figures of UnixBench. It says nothing about vector units or memory; and where the programs have \
          different C libraries, it compares those too.",
    params: &[COMPAT],
    metrics: &work_metrics(
        [WIPS, "wips_per_cpu_s"],
        [
            "Whetstone instructions, over the wall time from the start of the first pass to the end of the last; with \
             `compat` 5.1.3 over the CPU time that the copy spent in user mode in between, as that version does.",
            "Whetstone instructions, over the CPU time that all copies together spent in between.",
        ],
    ),
    tests: &[TestDef::new(
        "cpu.whetstone",
        "Double-Precision Whetstone",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for Whetstone {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::named(Topic::Cpu, "whetstone").and_all())
    }

    fn shape(&self, params: &Params) -> Shape {
        shape(params, 10, Length::Long, Shape::DEFAULT)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Passes {
            first: pass(SCALE, place.round),
            clone: place.round,
            different: 0,
            done: 0,
            user: (Compat::of(params) == Compat::V513).then(UserTime::start),
        }))
    }
}

struct Passes {
    /// What the first pass gave; every other must give exactly the same.
    first: Results,
    clone: u32,
    different: u64,
    done: u64,
    /// The clock of version 5.1.3.
    user: Option<UserTime>,
}

impl Body for Passes {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            let results = recorder.time(|| pass(SCALE, self.clone));
            self.different += u64::from(results != self.first);
        }
        self.done += ops;
        if let Some(user) = &mut self.user {
            user.now();
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        approx(SCALE * INSTRUCTIONS_PER_SCALE)
    }

    fn measured_part_begins(&mut self) {
        self.done = 0;
        self.user = self.user.take().map(|_| UserTime::start());
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        if self.different > 0 {
            return Err(WorkError::Wrong(format!(
                "{} passes gave other results than the first",
                self.different
            )));
        }
        check(&self.first)?;
        let mut finish = Finish {
            digest: digest(&self.first),
            ..Finish::default()
        };
        if let Some(user) = &self.user
            && self.done > 0
        {
            let wips = approx(self.done) * self.work_per_op() / user.spent()?.as_secs_f64();
            finish.reported.insert(WIPS.to_owned(), wips);
        }
        Ok(finish)
    }
}

/// CPU time in user mode of this process between two instants.
struct UserTime {
    start: Nanos,
    end: Nanos,
}

impl UserTime {
    fn start() -> Self {
        let now = Nanos(sys::process::usage_self().user);
        Self {
            start: now,
            end: now,
        }
    }

    fn now(&mut self) {
        self.end = Nanos(sys::process::usage_self().user);
    }

    fn spent(&self) -> Result<Nanos, WorkError> {
        match self.end.since(self.start) {
            Nanos::ZERO => Err(WorkError::Failed(
                "getrusage `self`: no user time between start and end".to_owned(),
            )),
            spent => Ok(spent),
        }
    }
}

/// What a pass of scale [`SCALE`] gives. The sections without library functions give exactly this on every machine,
/// because every addition and multiplication is rounded as IEEE 754 says; the tests compare with a reference.
const EXPECTED: Results = Results {
    elements: [
        -0.066_675_038_442_935_5,
        -0.466_646_498_729_133_5,
        -0.733_315_258_218_136_5,
        -1.133_286_367_410_010_2,
    ],
    parameter: [
        -0.066_608_171_004_161_6,
        -0.466_567_950_158_604_36,
        -0.733_219_985_217_075_4,
        -1.133_180_017_665_494_5,
    ],
    jumps: 0,
    trigonometry: [0.499_951_491_511_038_3, 0.499_951_339_643_090_2],
    calls: [
        0.999_999_555_056_608_6,
        1.000_000_221_723_163_8,
        0.999_999_888_389_886_2,
    ],
    references: [3.0, 2.0, 3.0],
    standard: 0.750_050_160_394_974_3,
};

/// The sections that call the C library, whose functions may differ in the last digit from machine to machine.
const LIBRARY_SECTIONS: [&str; 2] = ["N5", "N8"];

/// The largest difference of those sections from [`EXPECTED`]. Their 160 and 465 turns add up errors of about 1e-16
/// each; one turn more or less changes their results by more than 1e-7.
const LIBRARY_TOLERANCE: f64 = 1e-10;

fn check(results: &Results) -> Result<(), WorkError> {
    for ((section, got), (_, want)) in values(results).into_iter().zip(values(&EXPECTED)) {
        let right = if LIBRARY_SECTIONS.contains(&section) {
            (got - want).abs() <= LIBRARY_TOLERANCE
        } else {
            got.to_bits() == want.to_bits()
        };
        if !right {
            return Err(WorkError::Wrong(format!(
                "section {section} gave {got} in place of {want}"
            )));
        }
    }
    Ok(())
}

/// All results with their section.
fn values(results: &Results) -> Vec<(&'static str, f64)> {
    let (jumps, standard) = ([approx(results.jumps)], [results.standard]);
    let sections: [(_, &[f64]); 7] = [
        ("N1", &results.elements),
        ("N2", &results.parameter),
        ("N3", &jumps),
        ("N5", &results.trigonometry),
        ("N6", &results.calls),
        ("N7", &results.references),
        ("N8", &standard),
    ];
    sections
        .into_iter()
        .flat_map(|(section, values)| values.iter().map(move |value| (section, *value)))
        .collect()
}

/// The digest of the sections without library functions: the same on every machine, to the last bit.
fn digest(results: &Results) -> Digest {
    values(results)
        .into_iter()
        .filter(|(section, _)| !LIBRARY_SECTIONS.contains(section))
        .fold(Digest::EMPTY, |digest, (_, value)| {
            digest.word(value.to_bits())
        })
}

#[cfg(test)]
#[path = "whetstone_tests.rs"]
mod tests;
