//! `fs.files`: what it costs to make, ask for, open, rename and take away files, to read names, and to sync, in a
//! directory with few or with very many files, in memory or forgotten.

mod classes;
mod cold;
mod set;
mod spec;
mod turns;

use engine::workload::{
    BadValue, Body, ErrandKind, Finish, Place, StandIn, Told, WorkError, Workload, Writes,
};
use model::ground::{Ground, GroundKind};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
use set::{Made, Wanted};
use sys::folder::Folder;

/// The workload.
pub(crate) static FILES: Files = Files;

/// Names and files of one directory.
#[derive(Debug)]
pub(crate) struct Files;

/// The largest file.
const BYTES_MAX: u64 = 64 << 20;

/// What making a file is expected to take, and at most: a disk that turns makes some hundred a second where it syncs.
const USUAL_NS: u64 = 20_000;
const SLOWEST_NS: u64 = 5_000_000;
/// The same for its bytes, in bytes a second.
const USUAL_BYTES_PER_S: u64 = 128 << 20;
const SLOWEST_BYTES_PER_S: u64 = 4 << 20;
const AT_MOST: Nanos = Nanos::from_secs(600);

/// A round is long enough for ten thousand operations of the quick kinds.
const SHAPE: Shape = Shape {
    warmup: Nanos::from_millis(200),
    measure: Nanos::from_millis(1500),
    settle: Settle::Sync,
    // Kinds of operations take turns: a rate over time would show their order.
    windowless: true,
    ..Shape::DEFAULT
};

/// What the directory holds.
fn wanted(params: &Params) -> Wanted {
    Wanted {
        files: params.count("entries"),
        bytes: params.size("fill").0,
    }
}

fn is_cold(params: &Params) -> bool {
    params.text("cache") == "cold"
}

/// Says how many files the directory has, and why they are fewer than asked for.
fn tell_set(made: &Made, finish: &mut Finish) {
    let entries = approx(made.files);
    finish.reported.insert("entries".to_owned(), entries);
    finish.notes.extend(made.why.clone());
}

impl Workload for Files {
    fn spec(&self) -> &'static Spec {
        &spec::SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        if !is_cold(params) {
            return SHAPE;
        }
        // A warm-up would bring back what was forgotten.
        let warmup = Nanos::ZERO;
        Shape { warmup, ..SHAPE }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        for (name, least) in [("size", 1), ("fill", 0)] {
            if !(least..=BYTES_MAX).contains(&params.size(name).0) {
                let expected = format!("from {least} to {BYTES_MAX} bytes");
                return Err(BadValue::new(name, expected));
            }
        }
        Ok(())
    }

    fn supported(&self, params: &Params, _: &HostFacts) -> Result<(), String> {
        if !is_cold(params) {
            return Ok(());
        }
        cold::forgettable(wanted(params).bytes).map(drop)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        spec::metrics(is_cold(params), wanted(params).bytes > 0)
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let files = params.count("entries");
        let files = match (files % 1_000_000, files % 1000) {
            (0, _) => format!("{}M", files / 1_000_000),
            (_, 0) => format!("{}k", files / 1000),
            _ => files.to_string(),
        };
        if is_cold(params) {
            let words = [format!("cold of {files}"), format!("未キャッシュ {files}")];
            return Some(Headline {
                words,
                ..Headline::named(Topic::Files, "")
            });
        }
        let words = [format!("create in {files}"), format!("{files} 中で作成")];
        let headline = Headline {
            words,
            ..Headline::named(Topic::Files, "")
        };
        // Large files are about their data.
        (params.size("size").0 <= 64 << 10).then_some(headline)
    }

    fn writes(&self, params: &Params) -> Writes {
        Writes {
            throughout: !is_cold(params),
            ..Writes::default()
        }
    }

    fn ground(&self, params: &Params, _: &HostFacts, _: Option<&StandIn>) -> Option<Ground> {
        let wanted = wanted(params);
        let bytes = Bytes(wanted.files.saturating_mul(wanted.each()));
        let at = |each: u64, rate: u64| {
            let of_files = Nanos(wanted.files.saturating_mul(each));
            bytes.time_at(rate).plus(of_files)
        };
        Some(Ground {
            key: wanted.key(),
            kind: GroundKind::FileSet,
            bytes: Some(bytes),
            expected: at(USUAL_NS, USUAL_BYTES_PER_S),
            at_most: AT_MOST.plus(at(SLOWEST_NS, SLOWEST_BYTES_PER_S)),
        })
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        let wanted = wanted(params);
        let bytes_of = |files: u64| Bytes(files.saturating_mul(wanted.each()));
        let made = match errand {
            ErrandKind::Make => {
                let mut tell = |files| tell(bytes_of(files));
                Some(set::make(wanted, place, &mut tell)?)
            }
            ErrandKind::Check => set::check(wanted, place)?,
            ErrandKind::Remove => {
                set::remove(wanted, place)?;
                None
            }
        };
        Ok(Told {
            holds: made.is_some(),
            bytes: made.map(|made| bytes_of(made.files)),
        })
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let wanted = wanted(params);
        let [path, note] = wanted.paths(place);
        let made = Made::noted(&note).ok_or_else(|| {
            let why = "it is not there, or not in whole";
            WorkError::failed("stand on", path.display(), why)
        })?;
        let folder =
            Folder::open(&path).map_err(|failure| crate::os::failed(&failure, path.display()))?;
        let directory = (folder, path, made);
        if is_cold(params) {
            let forgotten = cold::forgettable(wanted.bytes).map_err(WorkError::Unsupported)?;
            let cold = cold::Cold::new(directory, forgotten, wanted.bytes, place)?;
            return Ok(Box::new(cold));
        }
        let bytes = params.size("size").0;
        crate::storage::space::check_round(
            &place.run_dir,
            turns::most_bytes(bytes).saturating_mul(u64::from(place.copies)),
        )?;
        Ok(Box::new(turns::Turns::new(directory, bytes, place)))
    }
}

#[cfg(test)]
mod tests;
