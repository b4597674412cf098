//! A job as fio means it: every option resolved, typed, and with its unit in the name.
//!
//! Nothing here depends on a machine: a size of 50 % stays 50 %, and a file without a size stays without one.
//! The defaults are fio's. Sub-structures follow the themes of the option tables.

use super::error::Place;
use std::sync::Arc;

mod data;
mod engine;
mod life;
mod pace;
mod reporting;
mod target;
mod work;

pub use model::pattern::{Blocks, Directions, Distribution};

pub use data::{Data, Durability, SyncMode, Verify, VerifyMethod};
pub use engine::{Engine, EngineKind};
pub use life::{Continue, ExitWhat, Life, SteadyQuantity, SteadyState};
pub use pace::{Arrivals, Pace};
pub use reporting::{PERCENTILES, Reporting, Unified};
pub use target::{Advice, Fallocate, FileOrder, Target};
pub use work::{Amount, Generator, Mix, Order, Work, Zones};

/// An amount of data: bytes, or a share of the file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Whole per cents from 1 to 100, of what is there when the job starts.
    Percent(u8),
}

/// One clone of a section of a job file, ready to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What results are filed under.
    pub name: String,
    /// Free text of the user.
    pub description: Option<String>,
    /// Where the section starts.
    pub place: Place,
    /// Number in the plan, from 0.
    pub number: u32,
    /// Which of the section's clones, from 0.
    pub clone: u32,
    /// How many clones the section has (`numjobs`).
    pub clones: u32,
    /// A thread of one process instead of a process.
    pub is_thread: bool,
    /// The options that were written, as (name, value, place): the section's own behind those of `[global]`. A flag
    /// without a value has none.
    pub settings: Vec<Setting>,
    /// What is done to which offsets.
    pub work: Work,
    /// How much of it.
    pub amount: Amount,
    /// On which files.
    pub target: Target,
    /// Through which interface of the kernel.
    pub engine: Engine,
    /// How fast.
    pub pace: Pace,
    /// When data is forced to the device.
    pub durability: Durability,
    /// What is written.
    pub data: Data,
    /// What is checked.
    pub verify: Verify,
    /// When it starts and ends.
    pub life: Life,
    /// What is reported.
    pub reporting: Reporting,
}

/// An option as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The option's main name.
    pub name: &'static str,
    /// Its value; `None` for a flag that has none.
    pub value: Option<Arc<str>>,
    /// Where it stands.
    pub place: Place,
    /// It comes from a `[global]` section.
    pub is_global: bool,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: None,
            place: Place::default(),
            number: 0,
            clone: 0,
            clones: 1,
            is_thread: false,
            settings: Vec::new(),
            work: Work::default(),
            amount: Amount::default(),
            target: Target::default(),
            engine: Engine::default(),
            pace: Pace::default(),
            durability: Durability::default(),
            data: Data::default(),
            verify: Verify::default(),
            life: Life::default(),
            reporting: Reporting::default(),
        }
    }
}

impl Job {
    /// True where the user wrote the option, in the section or in a `[global]` before it.
    pub fn has(&self, option: &str) -> bool {
        self.settings.iter().any(|setting| setting.name == option)
    }

    /// Whether its clones can be threads of one process with one result: they are told as one, work on the same part of
    /// the same named file with nothing of their own, and none of them ends the others.
    pub fn shares_process(&self) -> bool {
        self.is_thread
            && self.clones > 1
            && self.reporting.by_group
            && self.target.is_named
            && self.amount.offset_increment == Extent::Bytes(0)
            && self
                .amount
                .file_size_bytes
                .is_none_or(|(low, high)| low == high)
            && !self.life.splits_cpus
            && self.life.start_delay_ns.0 == self.life.start_delay_ns.1
            && self.pace.latency_target_ns.is_none()
            && self.life.steady_state.is_none()
            && self.verify.method.is_none()
            && !self.life.ends_all
            && !self.life.ends_all_on_error
    }

    /// How many of fio's jobs one copy of it stands for: all clones where they are threads of one process.
    pub fn members(&self) -> u32 {
        if self.shares_process() {
            self.clones
        } else {
            1
        }
    }
}
