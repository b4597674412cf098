//! `os.spawn`: how fast a small process makes children that end at once.

use super::{HELPER_BATCH, all_or_each, failed, ops_per_s, start_failed};
use crate::unixbench::{COMPAT, Length, shape};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, Spec, TestDef};
use model::units::Nanos;
use sys::loops::helper::{Helper, Linking, Task};
use sys::process::Usage;

/// The workload.
pub(crate) static SPAWN: Spawn = Spawn;

/// fork, exit, wait.
#[derive(Debug)]
pub(crate) struct Spawn;

static SPEC: Spec = Spec {
    name: "os.spawn",
    version: 1,
    nature: Nature::System,
    title: "process creation",
    doc: "One operation is a fork whose child exits with 0 at once, and the wait for it. A fork costs what there is \
          to copy, so it is done by a tiny dynamically linked C program (the helper that kurabe carries inside) and \
          not by kurabe itself.",
    params: &[COMPAT],
    metrics: &[ops_per_s(
        "Children made, ended and waited for, over the wall time from telling the helper to its report: one request \
         per 20 ms, which adds less than a thousandth.",
    )],
    tests: &[TestDef::new("os.spawn", "Process Creation", &[])],
    simulated: false,
    on_disk: false,
};

impl Workload for Spawn {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::named(Topic::Os, "fork"))
    }

    fn shape(&self, params: &Params) -> Shape {
        shape(params, 30, Length::Short, Shape::DEFAULT)
    }

    fn prepare(&self, _: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        sys::signal::ignore_sigpipe()
            .map_err(|error| WorkError::failed("sigaction", "SIGPIPE", error))?;
        let helper =
            Helper::start(Linking::Dynamic, Task::Spawn, &place.dir).map_err(start_failed)?;
        Ok(Box::new(InHelper {
            helper,
            object: "a child process",
        }))
    }
}

/// Work that the helper does: told how much, it reports when it is done.
pub(super) struct InHelper {
    pub(super) helper: Helper,
    /// What the helper works on, for messages.
    pub(super) object: &'static str,
}

impl Body for InHelper {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        all_or_each(ops, recorder, |ops| self.helper.batch(ops))
            .map_err(|failure| failed(&failure, self.object))
    }

    fn batch_target(&self) -> Nanos {
        HELPER_BATCH
    }

    fn living_children(&mut self) -> Result<Usage, WorkError> {
        self.helper
            .used()
            .map_err(|failure| failed(&failure, "the helper"))
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        if self.helper.finish() {
            Ok(Finish::default())
        } else {
            Err(WorkError::failed(
                "end",
                "the helper",
                "it did not end in good order",
            ))
        }
    }
}
