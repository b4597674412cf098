//! `os.syscall`: what entering and leaving the kernel costs.

use super::{all_or_each, failed, ops_per_s};
use crate::unixbench::{COMPAT, Compat, Length, shape};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, Spec, TestDef};
use std::io::{PipeReader, Stdin};
use std::os::fd::AsFd;
use sys::loops::syscall::{five, set_umask};

/// The workload.
pub(crate) static SYSCALL: Syscall = Syscall;

/// Five cheap system calls.
#[derive(Debug)]
pub(crate) struct Syscall;

static SPEC: Spec = Spec {
    name: "os.syscall",
    version: 1,
    nature: Nature::System,
    title: "system call overhead",
    doc: "One operation is five system calls that do next to nothing: dup of a descriptor, close of the copy, getpid, \
          getuid, umask. With compat 5.1.3 the descriptor is standard input, as in that version; otherwise it is a \
          pipe of the process's own. In UnixBench 5.1.3 all copies share one standard input and slow each other down \
          on its reference count; here each copy has its own, so with many copies the figure is higher.",
    params: &[COMPAT],
    metrics: &[ops_per_s(
        "Groups of five system calls, over the wall time from the first dup to the return of the last umask.",
    )],
    tests: &[TestDef::new("os.syscall", "System Call Overhead", &[])],
    simulated: false,
    on_disk: false,
};

impl Workload for Syscall {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::named(Topic::Os, "syscall"))
    }

    fn shape(&self, params: &Params) -> Shape {
        shape(params, 10, Length::Long, Shape::DEFAULT)
    }

    fn prepare(&self, params: &Params, _: &Place) -> Result<Box<dyn Body>, WorkError> {
        let descriptor = match Compat::of(params) {
            Compat::V513 => Descriptor::Stdin(std::io::stdin()),
            Compat::Off | Compat::V6 => {
                let (reader, _) = std::io::pipe()
                    .map_err(|error| WorkError::failed("pipe", "a new pipe", error))?;
                Descriptor::Pipe(reader)
            }
        };
        let umask = set_umask(0o022);
        Ok(Box::new(Calls { descriptor, umask }))
    }
}

enum Descriptor {
    Stdin(Stdin),
    Pipe(PipeReader),
}

struct Calls {
    descriptor: Descriptor,
    /// The umask before, brought back at the end: it belongs to the whole process.
    umask: u32,
}

impl Body for Calls {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let (fd, object) = match &self.descriptor {
            Descriptor::Stdin(stdin) => (stdin.as_fd(), "standard input"),
            Descriptor::Pipe(reader) => (reader.as_fd(), "a pipe"),
        };
        all_or_each(ops, recorder, |ops| five(fd, ops).map(|()| ops))
            .map_err(|failure| failed(&failure, object))
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        // The loop checks the results of dup and close; of the other calls only umask has one that it set itself.
        let mask = set_umask(0o022);
        if mask != 0o022 {
            return Err(WorkError::Wrong(format!(
                "the umask is {mask:03o} and not 022, which was set"
            )));
        }
        Ok(Finish::default())
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        set_umask(self.umask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_umask_that_was_not_set_is_found_and_the_old_one_comes_back() {
        let before = set_umask(0o077);
        let mut body = Calls {
            descriptor: Descriptor::Stdin(std::io::stdin()),
            umask: 0o077,
        };
        let error = body.finish().unwrap_err();
        assert!(matches!(error, WorkError::Wrong(_)), "{error}");
        body.batch(1, &mut Recorder::off()).unwrap();
        body.finish().unwrap();
        drop(body);
        assert_eq!(set_umask(before), 0o077);
    }
}
