//! `fs.sets`: tasks on file sets, at the same time, as parameter files of another program describe them.
//!
//! A case has a copy for each of its tasks; all are threads of one worker, because what is known of a file, who has
//! it and which operation arrives next is theirs together. The sets are a ground: they are made before the first
//! round that stands on them, in the run's own marked directory at each anchor, and go with it. The
//! parameter comes from `kurabe vdbench`; the one test of its own is `vdbench`.

mod anchor;
mod body;
mod choose;
mod make;
mod map;
mod set;
mod spec;
mod stamp;
mod tally;
#[cfg(test)]
mod tests;
mod thread;
mod together;
mod transfer;
mod tree;
mod vdbench;

pub use anchor::{Missing, stand_at};
pub use spec::NAME;
pub(crate) use vdbench::VDBENCH;

use self::body::{Round, stand};
use self::spec::{PARAM, SPEC};
use crate::storage::space;
use engine::workload::{
    BadValue, Body, ErrandKind, Place, StandIn, Told, WorkError, Workload, Writes,
};
use model::fileset::{Before, FileWork};
use model::ground::{Ground, GroundKind};
use model::host::HostFacts;
use model::params::{ParamValue, Params};
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The workload.
pub static SETS: Sets = Sets;

/// Tasks on file sets.
#[derive(Debug)]
pub struct Sets;

/// The parameters that ask for this work.
pub fn params(work: FileWork) -> Params {
    [(PARAM.to_owned(), ParamValue::Files(Box::new(work)))]
        .into_iter()
        .collect()
}

/// What making a set is expected to take, where nothing is known: bytes a second, and time for each file or directory.
const USUAL_BYTES_PER_S: u64 = 128 << 20;
const USUAL_ENTRY: Nanos = Nanos(50_000);

/// The slowest file system that is waited for, and how long at least.
const SLOWEST_BYTES_PER_S: u64 = 4 << 20;
const SLOWEST_ENTRY: Nanos = Nanos::from_millis(10);
const AT_MOST: Nanos = Nanos::from_secs(600);

/// Latencies of a thread, of one kind of operation: a histogram of 200 KiB.
const LATENCIES: u64 = 220 << 10;

/// What making all sets takes, at these speeds.
fn making(work: &FileWork, bytes_per_s: u64, entry: Nanos) -> Nanos {
    if work.format.before == Before::Nothing {
        return Nanos::ZERO;
    }
    let entries: u64 = work
        .sets
        .iter()
        .map(|set| set.directories() + set.extent().0)
        .sum();
    let of_entries = Nanos(entries.saturating_mul(entry.0));
    Bytes(bytes(work)).time_at(bytes_per_s).plus(of_entries)
}

/// Bytes of all sets.
fn bytes(work: &FileWork) -> u64 {
    let each = work.sets.iter().map(|set| set.extent().1);
    each.fold(0, u64::saturating_add)
}

/// Refuses file sets for which there is no room together: those of one file system.
pub fn check_space(work: &FileWork) -> Result<(), String> {
    let mut systems: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
    for (number, set) in (0..).zip(&work.sets) {
        let part = make::asked(&work.format).unwrap_or_else(|| make::needed(work, number));
        if part < make::Part::All {
            continue;
        }
        // A directory that is gone is told of where it is opened.
        let Ok(found) = set.anchor.metadata() else {
            continue;
        };
        let (_, needed) = systems.entry(found.dev()).or_insert((&set.anchor, 0));
        *needed = needed.saturating_add(set.extent().1);
    }
    let mut systems = systems.into_values();
    systems.try_for_each(|(dir, needed)| {
        space::check_round(dir, needed).map_err(|why| format!("`{}`: {why}", dir.display()))
    })
}

impl Workload for Sets {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        let work = params.files(PARAM);
        let window = if work.interval > Nanos::ZERO {
            work.interval
        } else {
            Shape::DEFAULT.window
        };
        Shape {
            setup_max: AT_MOST.plus(making(work, SLOWEST_BYTES_PER_S, SLOWEST_ENTRY)),
            warmup: work.warmup,
            measure: work.elapsed,
            settle: Settle::Sync,
            shortenable: false,
            threads: true,
            interval: (work.interval > Nanos::ZERO).then_some(work.interval),
            window: window.min(work.elapsed.max(Nanos(1))),
            ends_early: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let checked = params.files(PARAM).check();
        checked.map_err(|why| BadValue::new(PARAM, format!("no such work: {why}")))
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        let work = params.files(PARAM);
        work.check()?;
        let of_task = |task: &model::fileset::FileTask| {
            let kinds = task.operations().len() as u64 + 3;
            let each = kinds * LATENCIES + 2 * task.transfer.max_bytes() + (256 << 10);
            each.saturating_mul(u64::from(task.threads))
        };
        let states = work
            .sets
            .iter()
            .map(|set| 4 * set.extent().0 + 5 * set.directories());
        let all = work.tasks.iter().map(of_task).chain(states);
        crate::memory::has_room(host, all.fold(0, u64::saturating_add))
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        spec::metrics(params.files(PARAM))
    }

    fn writes(&self, params: &Params) -> Writes {
        use model::fileset::FileOperation::{Copy, Write};
        let tasks = &params.files(PARAM).tasks;
        let writes = |operation| [Copy, Write].contains(&operation);
        Writes {
            per_round: Bytes(0),
            throughout: tasks
                .iter()
                .any(|task| task.operations().into_iter().any(writes)),
        }
    }

    fn anchors(&self, params: &Params) -> Vec<PathBuf> {
        let sets = &params.files(PARAM).sets;
        sets.iter().map(|set| set.anchor.clone()).collect()
    }

    fn ground(&self, params: &Params, _: &HostFacts, _: Option<&StandIn>) -> Option<Ground> {
        let work = params.files(PARAM);
        let needs: Vec<_> = (0..)
            .zip(&work.sets)
            .map(|(set, _)| make::needed(work, set) as u8)
            .collect();
        let of = (&work.sets, &work.format, needs);
        Some(Ground {
            key: format!("{NAME} {}", serde_json::to_string(&of).unwrap_or_default()),
            kind: GroundKind::Data,
            bytes: (work.format.before != Before::Nothing).then(|| Bytes(bytes(work))),
            expected: making(work, USUAL_BYTES_PER_S, USUAL_ENTRY),
            at_most: AT_MOST.plus(making(work, SLOWEST_BYTES_PER_S, SLOWEST_ENTRY)),
        })
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        let work = params.files(PARAM);
        let sets = match errand {
            ErrandKind::Make => stand(work, place, true, tell)?,
            ErrandKind::Check => look(work, place)?,
            // They go with the run's own directory.
            ErrandKind::Remove => return Ok(Told::default()),
        };
        let holds = |set: &set::Set| {
            make::has(
                set,
                make::asked(&work.format).unwrap_or(make::Part::Nothing),
            )
        };
        Ok(Told {
            holds: sets.len() == work.sets.len() && sets.iter().all(holds),
            bytes: Some(Bytes(sets.iter().map(set::Set::bytes).sum())),
        })
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let work = params.files(PARAM);
        let sets = stand(work, place, false, &mut |_| ())?;
        // From now on what was written of them does not hold.
        sets.iter().try_for_each(set::Set::forget)?;
        let sets = sets.into_iter().map(Arc::new).collect();
        Ok(Box::new(Round::start(work, sets, place)?))
    }
}

/// Looks at those sets that are there, file by file.
fn look(work: &FileWork, place: &Place) -> Result<Vec<set::Set>, WorkError> {
    let mut sets = Vec::new();
    for spec in &work.sets {
        let (mut set, found) = set::Set::open(spec, place)?;
        if found == set::Found::Left {
            set.look()?;
            set.keep();
            sets.push(set);
        }
    }
    Ok(sets)
}
