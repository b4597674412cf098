//! What only system calls and the environment can tell, gathered once as plain values.
//!
//! A test fills the struct by hand; [`Probes::real`] asks the machine.

use super::fact;
use model::host::{Fact, IoFacts};
use model::units::{Bytes, Nanos};
use std::path::{Path, PathBuf};
use sys::probe;
use sys::tree::{Tree, error_name};

/// How long a program may take to tell its version. All that we ask answer in milliseconds; a hanging one must not
/// hold up the run.
const VERSION_TIMEOUT_MS: u64 = 1_000;

/// What a [`Tree`] cannot show.
#[derive(Clone, Debug)]
pub struct Probes {
    /// The directory that will hold the files of the tests: absolute, links resolved.
    pub work_dir: PathBuf,
    /// The machine's architecture.
    pub arch: String,
    /// CPUs that the affinity mask allows.
    pub cpus_allowed: Fact<u32>,
    /// The page size.
    pub page_size: Fact<Bytes>,
    /// True for root.
    pub root: bool,
    /// True where no other kurabe measures.
    pub alone: Fact<bool>,
    /// Free space for ordinary users in the work directory.
    pub free: Fact<Bytes>,
    /// Which kinds of I/O are allowed.
    pub io: IoFacts,
    /// What one reading of the clock costs.
    pub clock_cost: Fact<Nanos>,
    /// How the hypervisor introduces itself through the CPU; `None` where nothing does.
    pub hypervisor: Option<String>,
    /// The search path for programs.
    pub path: String,
    /// The locale variables.
    pub locale: Locale,
    /// Runs a program with one argument, and returns the first line that it prints.
    pub version: fn(&Path, &str) -> Fact<String>,
}

/// The environment variables that decide how programs sort, as they are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locale {
    /// `LC_ALL`.
    pub lc_all: Option<String>,
    /// `LC_COLLATE`.
    pub lc_collate: Option<String>,
    /// `LANG`.
    pub lang: Option<String>,
}

impl Locale {
    /// The locale in force for sorting: the first that is set and not empty, else `C` (POSIX.1-2017, 8.2).
    pub fn collation(&self) -> String {
        [&self.lc_all, &self.lc_collate, &self.lang]
            .into_iter()
            .flatten()
            .find(|value| !value.is_empty())
            .map_or_else(|| "C".to_owned(), Clone::clone)
    }
}

impl Probes {
    /// Asks this machine, for tests that will work in `work_dir`.
    pub fn real(work_dir: &Path) -> Self {
        let tree = Tree::real();
        // A directory that cannot be resolved is looked up as it is: its facts will say that it is not there.
        let work_dir = work_dir
            .canonicalize()
            .unwrap_or_else(|_| work_dir.to_owned());
        let variable =
            |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self {
            arch: probe::machine().unwrap_or_else(|_| std::env::consts::ARCH.to_owned()),
            cpus_allowed: asked(
                "sched_getaffinity",
                sys::affinity::allowed_cpus()
                    .and_then(|cpus| u32::try_from(cpus.len()).map_err(std::io::Error::other)),
            ),
            page_size: asked("sysconf(_SC_PAGESIZE)", probe::page_bytes().map(Bytes)),
            root: probe::is_root(),
            alone: crate::alone::seen(),
            free: asked(
                &format!("statvfs `{}`", work_dir.display()),
                probe::file_system(&work_dir).map(|found| Bytes(found.free_bytes)),
            ),
            io: IoFacts {
                io_uring: Fact::Known(probe::io_uring(&tree).err()),
                libaio: Fact::Known(probe::libaio().err()),
                o_direct: Fact::Known(probe::o_direct(&work_dir).err()),
            },
            clock_cost: Fact::Known(Nanos(sys::clock::cost())),
            hypervisor: probe::hypervisor_signature(),
            path: variable("PATH").unwrap_or_default(),
            locale: Locale {
                lc_all: variable("LC_ALL"),
                lc_collate: variable("LC_COLLATE"),
                lang: variable("LANG"),
            },
            version: |program, argument| {
                fact(
                    sys::process::first_line(program, &[argument], VERSION_TIMEOUT_MS)
                        .map_err(|error| format!("{argument}: {}", error_name(&error))),
                )
            },
            work_dir,
        }
    }
}

fn asked<T>(call: &str, answer: std::io::Result<T>) -> Fact<T> {
    fact(answer.map_err(|error| format!("{call}: {}", error_name(&error))))
}
