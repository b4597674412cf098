//! `os.context`: how fast two processes hand a counter to and fro.

use super::{all_or_each, failed, ops_per_s};
use crate::unixbench::{COMPAT, Length, shape};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, Spec, TestDef};
use std::io;
use sys::loops::context::Partner;
use sys::process::Usage;

/// The workload.
pub(crate) static CONTEXT: Context = Context;

/// Two processes, two pipes.
#[derive(Debug)]
pub(crate) struct Context;

static SPEC: Spec = Spec {
    name: "os.context",
    version: 1,
    nature: Nature::System,
    title: "pipe-based context switching",
    doc: "Two processes send an 8-byte counter to and fro through two pipes, and each checks it. One operation is one \
          round trip: two context switches where both run on one CPU, two wake-ups across CPUs where they do not. \
          Nothing is pinned, so the figure also shows where the scheduler puts the two and how long an idle CPU needs \
          to wake: with one copy on a machine with idle CPUs it may vary by a factor of three.",
    params: &[COMPAT],
    metrics: &[ops_per_s(
        "Round trips, over the wall time from the first write of the counter to the return of the read that brings \
         the last one back.",
    )],
    tests: &[TestDef::new(
        "os.context",
        "Pipe-based Context Switching",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for Context {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::new(Topic::Os, ["switch", "切り替え"]))
    }

    fn hands_over(&self) -> bool {
        true
    }

    fn shape(&self, params: &Params) -> Shape {
        shape(params, 10, Length::Long, Shape::DEFAULT)
    }

    fn prepare(&self, _: &Params, _: &Place) -> Result<Box<dyn Body>, WorkError> {
        sys::signal::ignore_sigpipe()
            .map_err(|error| WorkError::failed("sigaction", "SIGPIPE", error))?;
        let partner = Partner::start().map_err(|failure| failed(&failure, "the other process"))?;
        Ok(Box::new(Exchange { partner }))
    }
}

struct Exchange {
    partner: Partner,
}

impl Body for Exchange {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let partner = &mut self.partner;
        all_or_each(ops, recorder, |ops| partner.round_trips(ops).map(|()| ops)).map_err(
            |failure| {
                if self.partner.finish() || failure.error.kind() == io::ErrorKind::InvalidData {
                    WorkError::Wrong("the counter arrived changed".to_owned())
                } else {
                    failed(&failure, "the other process")
                }
            },
        )
    }

    fn living_children(&mut self) -> Result<Usage, WorkError> {
        sys::process::usage_of(self.partner.pid())
            .map_err(|error| WorkError::failed("read the CPU time of", "the other process", error))
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.partner.finish();
        Ok(Finish::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_out_of_step_is_a_wrong_result() {
        let mut body = Exchange {
            partner: Partner::start().unwrap(),
        };
        body.batch(3, &mut Recorder::off()).unwrap();
        body.partner.skip_one_for_test();
        let error = body.batch(3, &mut Recorder::off()).unwrap_err();
        assert!(matches!(error, WorkError::Wrong(_)), "{error}");
    }
}
