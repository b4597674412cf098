//! `os.execl`: how fast a small program replaces itself by itself; `os.execl-static`: the same without a dynamic
//! loader, which is another metric.

use super::spawn::InHelper;
use super::{ops_per_s, start_failed};
use crate::unixbench::{COMPAT, Length, shape};
use engine::workload::{Body, Place, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, Spec, TestDef};
use sys::loops::helper::{Helper, Linking, Task};

/// The workload that UnixBench has.
pub(crate) static EXECL: Execl = Execl {
    spec: &DYNAMIC,
    linking: Linking::Dynamic,
};

/// The same for a statically linked program; not part of the twelve.
pub(crate) static EXECL_STATIC: Execl = Execl {
    spec: &STATIC,
    linking: Linking::Static,
};

/// A chain of replacements.
#[derive(Debug)]
pub(crate) struct Execl {
    spec: &'static Spec,
    linking: Linking,
}

static DYNAMIC: Spec = Spec {
    name: "os.execl",
    version: 1,
    nature: Nature::System,
    title: "execl throughput",
    doc: "One operation is a process replacing itself by the same program (execl), with its state in the arguments: \
          the kernel's execve, the dynamic loader mapping libc and resolving symbols, time(2), and reading and \
          printing the arguments. The program is a tiny dynamically linked C program that kurabe carries inside; it \
          needs the machine's dynamic loader and libc.",
    params: &[COMPAT],
    metrics: &[ops_per_s(
        "Replacements, over the wall time from telling the helper to its report: one request per 20 ms, which adds \
         less than a thousandth.",
    )],
    tests: &[TestDef::new("os.execl", "Execl Throughput", &[])],
    simulated: false,
    on_disk: false,
};

static STATIC: Spec = Spec {
    name: "os.execl-static",
    version: 1,
    nature: Nature::System,
    title: "execl throughput of a static program",
    doc: "Like os.execl, for the same program linked statically: the kernel's execve without a dynamic loader. It is \
          several times faster and not comparable with os.execl or with UnixBench's figure. Not every build of \
          kurabe has it: it needs a static libc where it is built.",
    params: &[],
    metrics: &[ops_per_s(
        "Replacements, over the wall time from telling the helper to its report: one request per 20 ms, which adds \
         less than a thousandth.",
    )],
    tests: &[TestDef::new(
        "os.execl-static",
        "Execl Throughput, static program",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for Execl {
    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        let linked_as_usual = matches!(self.linking, Linking::Dynamic);
        linked_as_usual.then(|| Headline::named(Topic::Os, "exec"))
    }

    fn shape(&self, params: &Params) -> Shape {
        match self.linking {
            Linking::Dynamic => shape(params, 30, Length::Short, Shape::DEFAULT),
            Linking::Static => Shape::DEFAULT,
        }
    }

    fn supported(&self, _: &Params, _: &model::host::HostFacts) -> Result<(), String> {
        sys::loops::helper::built(self.linking)
    }

    fn prepare(&self, _: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        sys::signal::ignore_sigpipe()
            .map_err(|error| WorkError::failed("sigaction", "SIGPIPE", error))?;
        let helper = Helper::start(self.linking, Task::Chain, &place.dir).map_err(start_failed)?;
        Ok(Box::new(InHelper {
            helper,
            object: "the helper",
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;
    use engine::recorder::Recorder;

    #[test]
    fn the_static_program_runs_or_the_reason_is_said_beforehand() {
        let (_root, place) = testing::place();
        let params = testing::params(&EXECL_STATIC, &[]);
        match EXECL_STATIC.supported(&params, &model::host::HostFacts::default()) {
            Ok(()) => {
                let mut body = testing::prepare(&EXECL_STATIC, &[], &place).unwrap();
                assert_eq!(body.batch(50, &mut Recorder::off()).unwrap(), 50);
                body.finish().unwrap();
            }
            Err(why) => {
                let error = testing::prepare(&EXECL_STATIC, &[], &place).err().unwrap();
                assert!(
                    matches!(&error, WorkError::Unsupported(text) if *text == why),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn a_helper_that_vanished_is_an_error_that_names_execl() {
        let (_root, place) = testing::place();
        let mut body = testing::prepare(&EXECL, &[], &place).unwrap();
        std::fs::remove_file(place.dir.join("helper")).unwrap();
        let error = body.batch(5, &mut Recorder::off()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("execl `the helper`: No such file"),
            "{error}"
        );
    }
}
