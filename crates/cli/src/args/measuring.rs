//! Options of every command that measures, in groups that a command takes as a whole.
//!
//! A command adds only what its plan needs; what the options mean is then the same everywhere, and so is what a
//! resumed run refuses, because it has them already.

use super::consent::{CONSENT, ConsentArgs};
use super::{duration, size, tag};
use crate::complete;
use clap::Args as ClapArgs;
use engine::consent::Consent;
use engine::profile::{Copies, PASSES_MAX};
use engine::resolve::Set;
use engine::secret::Secret;
use model::bounds::{label, run_label};
use model::units::{Bytes, Nanos};
use std::path::PathBuf;
use workloads::net::peer::Peer;

/// How much is measured, in passes over all cases.
#[derive(Debug, ClapArgs)]
pub(crate) struct Amount {
    /// Time for all of it, with looking, waiting and making test files, such as 90s or 5m [default: that of the
    /// profile; for tests, as long as the passes take]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) budget: Option<Nanos>,
    /// Rounds of every case [default: as many as fit into the budget; without one, 9]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(PASSES_MAX)))]
    pub(crate) passes: Option<u32>,
    /// Concurrencies, such as 1,4,all; or steps: 1, 2, 4 ... all CPUs and one above [default: those of
    /// the profile; for tests, 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) copies: Option<Vec<Copies>>,
}

/// What describes a new run beside its tests; a resumed one has it already.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct NewRun {
    /// Set a parameter of a test, or of all tests of a profile or glob
    #[arg(long, value_name = "TEST.PARAM=VALUE")]
    pub(crate) set: Vec<Set>,
    /// Seed of order and layout, to repeat a run in the same order
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print the plan and its time, and measure nothing
    #[arg(help_heading = "How much", long)]
    pub(crate) dry_run: bool,
    /// Make the work directory in here [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Measure this device in place of a test file; tests that write need --yes-erase too
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<PathBuf>,
    /// Measure this existing file in place of a test file; tests that write need --overwrite-file too
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    pub(crate) file: Option<PathBuf>,
    /// Let fs.dbench do what this load file of dbench 4 says, such as the client.txt that comes with dbench
    #[arg(long, value_name = "FILE", conflicts_with_all = ["device", "file"])]
    pub(crate) loadfile: Option<PathBuf>,
    /// Measure the network between this machine and that one, where `kurabe net serve` or an iperf3 server listens
    /// [default port: 5201]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) peer: Option<Peer>,
    /// Move no more than this to and from the peer, in all rounds, such as 50GB: a plan that could is refused, and no
    /// round goes beyond it
    #[arg(help_heading = "How much", long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_bytes: Option<Bytes>,
    /// What opens it.
    #[arg(skip)]
    pub(crate) token: Option<Secret>,
    /// A name for the run
    #[arg(help_heading = "Names", long, value_name = "NAME", value_parser = run_label)]
    pub(crate) label: Option<String>,
    /// What was rented: the id of an offer of the catalogue
    #[arg(help_heading = "Names", long, value_name = "ID", value_parser = label)]
    pub(crate) offer: Option<String>,
    /// The catalogue of offers [default: `$XDG_CONFIG_HOME/kurabe/offers.toml`]
    #[arg(help_heading = "Names", long, value_name = "FILE")]
    pub(crate) offers: Option<PathBuf>,
    /// A tag for the run; may be given several times
    #[arg(help_heading = "Names", long, value_name = "KEY=VALUE", value_parser = tag)]
    pub(crate) tag: Vec<(String, String)>,
}

/// Whether the machine is looked at before the first round, and how long it is waited for quiet.
#[derive(Clone, Copy, Debug, Default, ClapArgs)]
pub(crate) struct LookArgs {
    /// Wait so long at most, such as 5m, until other programs let the machine rest; else measure nothing
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "no_look")]
    pub(crate) wait_quiet: Option<Nanos>,
    /// Do not look at the machine for up to 3 s before the first round
    #[arg(long)]
    pub(crate) no_look: bool,
}

/// What a command that measures is told beside what it measures: whether to go on with a kept run, what may be lost,
/// and whether the way to the result is shown.
#[derive(Debug, ClapArgs)]
pub(crate) struct Session {
    /// Go on with a run that was interrupted or killed, on the same machine
    #[arg(
        help_heading = "What and where",
        long,
        value_name = "RUN",
        conflicts_with = "NewRun"
    )]
    #[arg(add = complete::runs())]
    pub(crate) resume: Option<String>,
    #[command(flatten, next_help_heading = "How much")]
    pub(crate) look: LookArgs,
    #[command(flatten, next_help_heading = CONSENT)]
    pub(crate) consent: ConsentArgs,
    /// No progress
    #[arg(help_heading = "Output", long, short)]
    pub(crate) quiet: bool,
}

impl Session {
    /// What the user agreed to lose.
    pub(crate) fn consent(&self) -> Consent {
        self.consent.consent()
    }
}
