//! What decides the figures of storage jobs: jobs of one definition do the same work, whatever they are called and
//! whichever language described them.
//!
//! No part of it are the names of files and how they were made ready, the order that a seed gives, how long the work
//! goes on and what is written down of it. Every other field of a job is. Fields that mean nothing for a job, such as
//! the depth of an engine that waits, are left out, because languages have other defaults for them.

mod facts;

use super::Task;
use crate::params::{ParamValue, Params};
use crate::pattern::Direction;
use facts::facts;
use std::collections::{BTreeMap, BTreeSet};

/// What every description of a job says: without these two jobs cannot be held against each other.
const ALWAYS: [&str; 5] = [RW, BS, ENGINE, DEPTH, COPIES];

const RW: &str = "rw";
const BS: &str = "bs";
const ENGINE: &str = "ioengine";
const DEPTH: &str = "iodepth";
/// How many jobs of the same kind work at the same time.
const COPIES: &str = "copies";
const SIZE: &str = "size";
const DIRECT: &str = "direct";
/// Whether jobs of the same kind work on the same files.
const FILES: &str = "filename";
/// What the job works on: files or devices.
const TARGET: &str = "target";
/// How much is done, where that is not the size.
const IO_SIZE: &str = "io_size";

/// How many other jobs worked at the same time; no option of fio is called so.
pub const BESIDE: &str = "jobs beside it";

/// What decides the figures of one job, or of clones that work at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// In which directions data goes.
    directions: Vec<Direction>,
    /// Each fact by the word that users know; what a job does not have is absent.
    facts: BTreeMap<&'static str, String>,
    /// What is not known of it.
    unknown: BTreeSet<&'static str>,
    /// Nothing but [`ALWAYS`] is known.
    is_partial: bool,
    /// Jobs of other definitions that work at the same time, where that is known.
    beside: Option<u32>,
}

/// How two definitions stand to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// They are the same as far as both are known; with what only one of them knows.
    Same(Vec<&'static str>),
    /// They differ: the fact, and what either has.
    Differ(Vec<(&'static str, String, String)>),
}

impl Definition {
    /// That of jobs that work at the same time, where it is the same of all; `None` where it is not, or without a job.
    pub fn of(tasks: &[Task]) -> Option<Self> {
        let (first, others) = tasks.split_first()?;
        let alike = facts(first);
        // Clones may begin at other places, one behind the other.
        if !others.iter().all(|task| facts(task) == alike) {
            return None;
        }
        let mut all = alike;
        let job = &first.job;
        let threads = tasks.iter().map(|task| u64::from(task.job.threads.max(1)));
        all.insert(COPIES, threads.sum::<u64>().to_string());
        let has_data = all.contains_key(DIRECT);
        if has_data && job.offset_bytes > 0 {
            all.insert("offset", job.offset_bytes.to_string());
        }
        if has_data && !others.is_empty() {
            let targets = |task: &Task| (task.job.target.clone(), task.job.more_targets.clone());
            let one = others.iter().all(|task| targets(task) == targets(first));
            all.insert(FILES, if one { SHARED } else { "each its own" }.to_owned());
        }
        let unknown = has_data && !all.contains_key(SIZE);
        let mix = job.pattern.mix;
        let has = [mix.reads(), mix.writes(), mix.trims()];
        let directions = Direction::ALL.into_iter().zip(has);
        Some(Self {
            directions: directions
                .filter_map(|(one, has)| has.then_some(one))
                .collect(),
            facts: all,
            unknown: unknown.then_some(SIZE).into_iter().collect(),
            is_partial: false,
            beside: Some(0),
        })
    }

    /// So many of it at the same time, on the same files.
    #[must_use]
    pub fn times(mut self, copies: u32) -> Self {
        let copies = u64::from(copies).saturating_mul(self.copies());
        self.facts.insert(COPIES, copies.to_string());
        if copies > 1 && self.has_data() {
            self.facts.entry(FILES).or_insert_with(|| SHARED.to_owned());
        }
        self
    }

    /// How many jobs work at the same time.
    pub fn copies(&self) -> u64 {
        let copies = self.facts.get(COPIES);
        copies.and_then(|text| text.parse().ok()).unwrap_or(1)
    }

    /// The same where it is not known whether jobs of another kind worked at the same time.
    #[must_use]
    pub fn perhaps_beside_others(mut self) -> Self {
        self.beside = None;
        self
    }

    /// The same where it is not known on which files or devices the jobs worked.
    #[must_use]
    pub fn without_files(mut self) -> Self {
        for name in [FILES, TARGET] {
            if self.facts.remove(name).is_some() {
                self.unknown.insert(name);
            }
        }
        self
    }

    /// The same where it is not known whether the jobs worked on files or on devices.
    #[must_use]
    pub fn without_target(mut self) -> Self {
        if self.facts.remove(TARGET).is_some() {
            self.unknown.insert(TARGET);
        }
        self
    }

    /// The same beside so many other jobs.
    #[must_use]
    pub const fn beside(mut self, others: u32) -> Self {
        self.beside = Some(others);
        self
    }

    /// The same where the size is not known.
    #[must_use]
    pub fn without_size(mut self) -> Self {
        for name in [SIZE, IO_SIZE] {
            self.facts.remove(name);
            self.unknown.insert(name);
        }
        self
    }

    /// The same where nothing is known but what every description says.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.unknown.clear();
        self.facts.retain(|name, _| ALWAYS.contains(name));
        self.is_partial = true;
        self
    }

    /// The only direction; `None` where there are several, or none.
    pub fn only_direction(&self) -> Option<Direction> {
        match self.directions[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// What both surely know, as one text: definitions that differ in it are different.
    pub fn always_known(&self) -> String {
        let known = ALWAYS.iter().filter_map(|name| self.facts.get(name));
        known.cloned().collect::<Vec<_>>().join("\0")
    }

    /// How it stands to another one.
    pub fn against(&self, other: &Self) -> Agreement {
        let mut unknown = Vec::new();
        let mut differ = Vec::new();
        let names = self.facts.keys().chain(other.facts.keys());
        let names: BTreeSet<&'static str> = names.copied().collect();
        for name in names {
            if self.knows(name) && other.knows(name) {
                let (here, there) = (self.told(name), other.told(name));
                if here != there {
                    differ.push((name, here, there));
                }
            } else {
                unknown.push(name);
            }
        }
        match (self.beside, other.beside) {
            (Some(here), Some(there)) if here != there => {
                differ.push((BESIDE, here.to_string(), there.to_string()));
            }
            (Some(_), None) | (None, Some(_)) => unknown.push(BESIDE),
            _ => {}
        }
        if differ.is_empty() {
            Agreement::Same(unknown)
        } else {
            Agreement::Differ(differ)
        }
    }

    /// Whether what only one side knows leaves in doubt that both are the same job. Outputs of fio do not say what kind
    /// of target they had: that is told, and keeps nothing apart.
    pub fn is_in_doubt(unknown: &[&'static str]) -> bool {
        unknown.iter().any(|name| *name != TARGET)
    }

    /// Whether it says whether the job has this.
    fn knows(&self, name: &str) -> bool {
        !self.unknown.contains(name) && (!self.is_partial || ALWAYS.contains(&name))
    }

    /// Whether data of files is read or written.
    fn has_data(&self) -> bool {
        self.facts.contains_key(DIRECT)
    }

    /// What it says of this: that it is not set, or not known, as well.
    pub fn told(&self, name: &str) -> String {
        let none = if self.knows(name) { NOT_SET } else { NOT_KNOWN };
        if name == BESIDE {
            let beside = self.beside.map(|beside| beside.to_string());
            return beside.unwrap_or_else(|| NOT_KNOWN.to_owned());
        }
        let found = self.facts.get(name);
        found.map_or_else(|| none.to_owned(), Clone::clone)
    }

    /// As the parameters of a case: what is not known stands there as such.
    pub fn params(&self) -> Params {
        let not_told = [DIRECT, SIZE].into_iter().filter(|_| self.is_partial);
        let unknown = not_told.chain(self.unknown.iter().copied());
        let unknown = unknown.map(|name| (name, NOT_KNOWN.to_owned()));
        let facts = self.facts.iter().map(|(name, text)| (*name, text.clone()));
        let beside = (self.beside != Some(0)).then(|| (BESIDE, self.told(BESIDE)));
        let all = unknown.chain(facts).chain(beside);
        all.map(|(name, text)| (name.to_owned(), ParamValue::Text(text)))
            .collect()
    }
}

const SHARED: &str = "the same";
const NOT_SET: &str = "not set";
const NOT_KNOWN: &str = "not known";

#[cfg(test)]
mod tests;
