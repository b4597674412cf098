//! What a job file or a command line asks for, complete: groups of jobs, remarks, and how results are to be shown.

use super::apply::{Raw, apply};
use super::draft::Draft;
use super::error::{Error, Place};
use super::finish::finish;
use super::job::Job;
use super::options::{finish_files, split_names};
use std::fmt;

/// Jobs of a plan at most; fio's own limit.
pub const MAX_JOBS: usize = 4096;
/// Files of all jobs of a plan at most.
const MAX_FILES: usize = 1 << 18;
/// Bytes of the names in all jobs of a plan at most.
const MAX_NAME_BYTES: usize = 64 << 20;
/// Remarks of a plan at most; a job file that needs more is not read by people.
const MAX_REMARKS: usize = 1000;

/// Everything that was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Jobs by reporting group, in order. Groups run at the same time unless one waits.
    pub groups: Vec<Group>,
    /// The options of the `[global]` sections, or before the first `--name`, as written.
    pub global_options: Vec<(String, String)>,
    /// What is fine and worth a word.
    pub notes: Vec<Remark>,
    /// Where most people would expect something else.
    pub warnings: Vec<Remark>,
    /// What is to be done with the plan.
    pub request: Request,
    /// How results are shown.
    pub output: Output,
}

/// Jobs that are reported together.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// fio's group id, from 0.
    pub id: u32,
    /// It starts when all groups before it have ended.
    pub waits: bool,
    /// The jobs.
    pub jobs: Vec<Job>,
}

impl Group {
    /// True where its jobs are reported as one.
    pub fn is_reported_as_one(&self) -> bool {
        self.jobs.iter().any(|job| job.reporting.by_group)
    }
}

/// A sentence about one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where.
    pub place: Place,
    /// What.
    pub text: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Request {
    /// Run the jobs.
    #[default]
    Run,
    /// Read them and end.
    ParseOnly,
    /// How long a small piece of work takes.
    Calibrate,
    /// Print them as a command line.
    ShowCommand,
    /// Explain the program.
    Help,
    /// Name the version.
    Version,
    /// Explain one option, or `all`.
    OptionHelp(String),
    /// Explain one engine, or list them.
    EngineHelp(Option<String>),
}

/// A form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Normal,
    /// fio's JSON.
    Json,
    /// The same with histograms.
    JsonPlus,
    /// One line per job.
    Terse,
}

/// When the expected end is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

impl Eta {
    /// The one that fio calls so.
    pub(super) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "always" => Self::Always,
            "never" => Self::Never,
            "auto" => Self::Auto,
            _ => return None,
        })
    }
}

/// How results are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The forms, each once, in the order in which fio prints them: terse, JSON, normal.
    pub formats: Vec<Format>,
    /// The version of the terse form: 3, 4 or 5.
    pub terse_version: u8,
    /// Where they go; standard output where not said.
    pub file: Option<String>,
    /// When the expected end is shown.
    pub eta: Eta,
    /// A full report after every such time.
    pub status_interval_ns: Option<u64>,
    /// How much of the CPUs nobody uses is told too.
    pub idleness: Option<IdleProf>,
    /// Jobs that would write are an error.
    pub is_readonly: bool,
}

/// What is told of the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProf {
    /// All together.
    System,
    /// Each by itself too.
    EachCpu,
}

impl IdleProf {
    /// The one that fio calls so.
    pub(super) fn named(word: &str) -> Option<Self> {
        let mut all = [Self::System, Self::EachCpu].into_iter();
        all.find(|told| told.word() == word)
    }

    /// fio's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::EachCpu => "percpu",
        }
    }
}

impl Default for Output {
    fn default() -> Self {
        Self {
            formats: vec![Format::Normal],
            terse_version: 3,
            file: None,
            eta: Eta::default(),
            status_interval_ns: None,
            idleness: None,
            is_readonly: false,
        }
    }
}

impl Plan {
    /// All jobs in their order.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.groups.iter().flat_map(|group| &group.jobs)
    }
}

/// A section as it was read: its name, its place, its options.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) options: Vec<Raw>,
    /// Whether it waits because its file does.
    pub(super) is_behind: bool,
}

/// Collects sections into a plan.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) plan: Plan,
    files: usize,
    name_bytes: usize,
}

impl Builder {
    /// Adds options to the defaults of the jobs behind them.
    pub(super) fn globals(&mut self, defaults: &mut Draft, options: &[Raw]) -> Result<(), Error> {
        for raw in options {
            apply(defaults, raw, true)?;
            self.remarks(defaults, &raw.place);
            if let Some(value) = &raw.value {
                self.plan
                    .global_options
                    .push((raw.name.clone(), value.clone()));
            }
        }
        Ok(())
    }

    /// Adds a section with its clones.
    pub(super) fn section(&mut self, defaults: &Draft, section: &Section) -> Result<(), Error> {
        let mut draft = defaults.clone();
        draft.job.name.clone_from(&section.name);
        draft.job.place = section.place.clone();
        for raw in &section.options {
            apply(&mut draft, raw, false)?;
            self.remarks(&mut draft, &raw.place);
        }
        draft.job.life.is_stonewalled |= section.is_behind;
        let job = finish(&mut draft).and_then(|job| self.waits(&job).map(|()| job));
        let job = job.map_err(|what| Error::Conflict {
            place: section.place.clone(),
            job: draft.job.name.clone(),
            what,
        })?;
        self.remarks(&mut draft, &section.place);
        self.clones(&job)
    }

    /// A job waits for one that stands before it, and for no name of several.
    fn waits(&self, job: &Job) -> Result<(), String> {
        let Some(name) = &job.life.waits_for else {
            return Ok(());
        };
        let before = self
            .plan
            .jobs()
            .filter(|other| other.name == *name && other.clone == 0);
        match before.count() {
            _ if job.name == *name => Err(format!("`wait_for={name}`: it would wait for itself")),
            0 => Err(format!(
                "`wait_for={name}`: no job of that name stands before it"
            )),
            1 => Ok(()),
            several => Err(format!("`wait_for={name}`: {several} jobs have that name")),
        }
    }

    fn clones(&mut self, job: &Job) -> Result<(), Error> {
        let there = self.plan.jobs().count();
        let clones = usize::try_from(job.clones).unwrap_or(usize::MAX);
        let too_much = |what, limit| Error::TooMuch {
            place: job.place.clone(),
            what,
            limit,
        };
        if there.saturating_add(clones) > MAX_JOBS {
            return Err(too_much("jobs", MAX_JOBS));
        }
        let is_first = self.plan.groups.is_empty();
        if is_first || job.life.is_stonewalled || job.life.is_new_group {
            let id = u32::try_from(self.plan.groups.len()).unwrap_or(u32::MAX);
            let waits = !is_first && job.life.is_stonewalled;
            self.plan.groups.push(Group {
                id,
                waits,
                jobs: Vec::new(),
            });
        }
        let (files, bytes) = names_of(job);
        self.files = self.files.saturating_add(files.saturating_mul(clones));
        if self.files > MAX_FILES {
            return Err(too_much("files of all jobs", MAX_FILES));
        }
        self.name_bytes = self.name_bytes.saturating_add(bytes.saturating_mul(clones));
        if self.name_bytes > MAX_NAME_BYTES {
            return Err(too_much("bytes of names in all jobs", MAX_NAME_BYTES));
        }
        let group = self
            .plan
            .groups
            .last_mut()
            .expect("one was pushed above where there was none");
        for clone in 0..job.clones {
            let mut copy = job.clone();
            copy.clone = clone;
            copy.number = u32::try_from(there)
                .unwrap_or(u32::MAX)
                .saturating_add(clone);
            finish_files(&mut copy);
            group.jobs.push(copy);
        }
        Ok(())
    }

    /// Takes what the draft has to say over into the plan, each sentence once.
    fn remarks(&mut self, draft: &mut Draft, place: &Place) {
        for (from, to) in [
            (&mut draft.warnings, &mut self.plan.warnings),
            (&mut draft.notes, &mut self.plan.notes),
        ] {
            for text in from.drain(..) {
                let remark = Remark {
                    place: place.clone(),
                    text,
                };
                if to.len() < MAX_REMARKS && to.last() != Some(&remark) {
                    to.push(remark);
                }
            }
        }
    }

    /// Adds a warning that belongs to no option.
    pub(super) fn warn(&mut self, place: &Place, text: String) {
        if self.plan.warnings.len() < MAX_REMARKS {
            self.plan.warnings.push(Remark {
                place: place.clone(),
                text,
            });
        }
    }

    pub(super) fn note(&mut self, place: &Place, text: String) {
        if self.plan.notes.len() < MAX_REMARKS {
            self.plan.notes.push(Remark {
                place: place.clone(),
                text,
            });
        }
    }
}

/// Number of files of a clone, and bytes of the names that it carries.
fn names_of(job: &Job) -> (usize, usize) {
    let target = &job.target;
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let fixed = job.name.len()
        + length(&job.description)
        + length(&target.filename)
        + length(&target.directory);
    let directory = length(&target.directory) + 1;
    if let Some(names) = &target.filename {
        let files = split_names(names).len();
        return (files, fixed + names.len() + files.saturating_mul(directory));
    }
    if job.does.engine.is_on_names() {
        // Names of files that are made, asked for and removed are numbers, and stand nowhere.
        return (0, fixed);
    }
    let files = usize::try_from(target.count).unwrap_or(usize::MAX);
    // `$jobname` may stand in the format several times.
    let one = directory + target.format.len().saturating_mul(1 + job.name.len() / 8) + 20;
    (files, fixed.saturating_add(files.saturating_mul(one)))
}
