//! `storage.io`: how fast storage reads and writes.
//!
//! A job ([`Job`]) says what is to be done, whoever asked for it; [`open`] makes it ready, and the engine's
//! measuring loop drives it. What the engines are is in `sys::io`.

mod advice;
mod body;
mod broken;
mod buffers;
mod burn;
mod data;
pub mod exec;
mod familiar;
mod file;
mod frame;
mod full;
mod headline;
mod honest;
pub mod idle;
mod job;
pub mod jobs;
mod names;
mod offsets;
mod pace;
mod parts;
mod records;
mod shots;
pub mod space;
mod spec;
mod taking;
pub mod task;
mod threads;
mod verify;
mod watch;

pub(crate) use data::Fill;

use engine::consent::Touch;
use engine::workload::{
    BadValue, Body, ErrandKind, Need, Place, StandIn, Told, WorkError, Workload, Writes,
};
use job::from_params;
use model::ground::Ground;
use model::headline::Headline;
use model::host::HostFacts;
use model::job::{IoEngine, Job, Task};
use model::params::Params;
use model::plan::{Settle, Shape, StorageLoad};
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
pub(crate) use parts::make_ready;
use parts::{Parts, no_memory};
use std::path::Path;
use sys::io::{Aio, Change, Changes, Mmap, Null, Pvsync2, Uring};

pub(crate) use familiar::FAMILIAR;
pub(crate) use jobs::JOBS;
pub(crate) use spec::{mean, p50, p99, p999};

/// The workload.
pub(crate) static IO: Io = Io;

/// Reads and writes of a test file.
#[derive(Debug)]
pub(crate) struct Io;

/// A round: long enough for a few hundred operations on a slow disk, short enough for six rounds of eighteen tests in
/// five minutes, the making of the test file included.
const SHAPE: Shape = Shape {
    // A device that is given back and filled again by each round: 2 GiB at 4 MB/s take less.
    setup_max: Nanos::from_secs(600),
    measure: Nanos::from_millis(1500),
    ..Shape::DEFAULT
};

impl Workload for Io {
    fn spec(&self) -> &'static Spec {
        &spec::SPEC
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        headline::of(&from_params(params))
    }

    fn shape(&self, params: &Params) -> Shape {
        let writes = from_params(params).writes();
        Shape {
            // What an earlier round wrote must not be written back during this one.
            settle: if writes { Settle::Sync } else { Settle::None },
            ..SHAPE
        }
    }

    fn supported(&self, params: &Params, _: &HostFacts) -> Result<(), String> {
        from_params(params).check()
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        let job = from_params(params);
        buffers::have_room((0..copies).map(|_| &job), host)
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let of_share = params.count("rate_percent") > 0;
        if of_share && params.count("rate_iops") > 0 {
            return Err(BadValue::new("rate_iops", "0 beside `rate_percent`"));
        }
        if of_share != params.text("rate_of").is_empty() {
            return Ok(());
        }
        Err(if of_share {
            BadValue::new("rate_of", "the name of a test beside `rate_percent`")
        } else {
            BadValue::new("rate_percent", "1 to 100 beside `rate_of`")
        })
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let mut metrics = spec::metrics(&from_params(params));
        metrics.retain(|metric| metric.quantity != spec::RATE || self.needs(params).is_some());
        metrics
    }

    fn made_in(&self, params: &Params, time: Nanos, host: &HostFacts) -> Params {
        let mut smaller = params.clone();
        let free = host.storage.free.known().copied();
        if let Some(size) = file::size_made_in(&from_params(params), time, free) {
            let set = smaller.set(self.spec(), "size", &size.0.to_string());
            set.expect("a number is a size");
        }
        smaller
    }

    fn needs(&self, params: &Params) -> Option<Need> {
        (params.count("rate_percent") > 0).then(|| Need {
            test: params.text("rate_of").to_owned(),
            quantity: "iops",
            param: "rate_of",
        })
    }

    fn load(&self, params: &Params) -> Option<StorageLoad> {
        Some(spec::load(params))
    }

    fn storage_jobs(&self, params: &Params) -> Vec<Task> {
        let percent = params.count("rate_percent");
        let share = (percent > 0).then(|| model::num::approx(percent) / 100.0);
        vec![Task {
            job: from_params(params),
            rate_share: share,
            ..Task::default()
        }]
    }

    fn writes(&self, params: &Params) -> Writes {
        let job = from_params(params);
        if !job.engine.has_data() {
            return Writes::default();
        }
        Writes {
            throughout: job.pattern.mix.writes(),
            ..Writes::default()
        }
    }

    fn touches(&self, params: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        job::touches(&job::on(from_params(params), stand_in))
    }

    fn ground(
        &self,
        params: &Params,
        host: &HostFacts,
        stand_in: Option<&StandIn>,
    ) -> Option<Ground> {
        let free = host.storage.free.known().copied();
        file::ground(&job::on(from_params(params), stand_in), free)
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        let job = job::on(from_params(params), place.stand_in.as_ref());
        job.check().map_err(WorkError::Unsupported)?;
        file::errand(errand, &job, place, tell)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let mut job = job::on(from_params(params), place.stand_in.as_ref());
        if self.needs(params).is_some() {
            job.rate_iops = Some(pace::share(params.count("rate_percent"), place)?);
        }
        open(&job, place)
    }
}

/// Makes one copy of a job ready: its file, its engine, its buffers.
pub fn open(job: &Job, place: &Place) -> Result<Box<dyn Body>, WorkError> {
    job.check().map_err(WorkError::Unsupported)?;
    if job.threads > 1 {
        return threads::open(job, place);
    }
    open_one(job, place, true)
}

/// The same without threads of its own. Alone in its process it watches what the process does.
fn open_one(job: &Job, place: &Place, is_alone: bool) -> Result<Box<dyn Body>, WorkError> {
    if job.engine.has_no_operations() {
        // Whoever has several jobs keeps their time.
        return Ok(Box::new(task::Nothing));
    }
    let mut parts = Parts::new(job, place, is_alone)?;
    match job.engine {
        IoEngine::Auto if job.depth == 1 => parts.psync(),
        IoEngine::Auto => parts.first_that_works(),
        IoEngine::IoUring => {
            let engine = Uring::new(parts.setup()?, parts.ring_options()).map_err(|error| {
                let why = sys::io::why_no_ring(&error);
                WorkError::Unsupported(format!("io_uring does not work here: {why}"))
            })?;
            parts.notes.extend_from_slice(engine.notes());
            Ok(parts.body(engine))
        }
        IoEngine::Libaio => {
            let engine = Aio::new(parts.setup()?).map_err(|error| {
                let why = sys::io::why_no_context(&error);
                WorkError::Unsupported(format!("libaio does not work here: {why}"))
            })?;
            Ok(parts.body(engine))
        }
        IoEngine::Psync => parts.psync(),
        IoEngine::Pvsync2 => {
            let engine = Pvsync2::new(parts.setup()?, job.poll_device).map_err(no_memory)?;
            Ok(parts.body(engine))
        }
        IoEngine::Mmap => {
            let order = file::order(job);
            let engine = Mmap::new(parts.setup()?, job.writes(), order)
                .map_err(|error| WorkError::failed("map", parts.files[0].path.display(), error))?;
            Ok(parts.body(engine))
        }
        IoEngine::Ftruncate | IoEngine::Falloc => {
            let change = if job.engine == IoEngine::Falloc {
                Change::Room
            } else {
                Change::Length
            };
            let engine = Changes::new(parts.setup()?, change).map_err(no_memory)?;
            Ok(parts.body(engine))
        }
        IoEngine::Defrag | IoEngine::DefragInPlace => {
            let dirs = parts.files.iter().map(|found| {
                let dir = found.path.parent();
                dir.filter(|dir| !dir.as_os_str().is_empty())
                    .unwrap_or(Path::new("."))
            });
            let dirs: Vec<&Path> = dirs.collect();
            let in_place = job.engine == IoEngine::DefragInPlace;
            if let (false, Some(dir)) = (in_place, dirs.first()) {
                // Donors are as large as the files.
                space::check_round(dir, parts.sizes.iter().sum())?;
            }
            let engine = Changes::moving(parts.setup()?, &dirs, in_place);
            let engine = engine.map_err(|error| {
                let path = parts.files[0].path.display();
                WorkError::failed("make a donor of extents beside", path, error)
            })?;
            Ok(parts.body(engine))
        }
        IoEngine::Null | IoEngine::Cpu | IoEngine::Exec => {
            let engine = Null::new(parts.setup()?).map_err(no_memory)?;
            Ok(parts.body(engine))
        }
        IoEngine::FileCreate
        | IoEngine::FileStat
        | IoEngine::FileDelete
        | IoEngine::DirCreate
        | IoEngine::DirStat
        | IoEngine::DirDelete => {
            let names = names::made(job, place)?;
            let setup = parts.setup()?;
            let engine = sys::io::names::Names::new(setup, names, names::act(job));
            Ok(parts.body(engine.map_err(no_memory)?))
        }
    }
}

#[cfg(test)]
mod tests;
