//! `fs.dbench`: the load that an office puts on a file server, as dbench puts it on a file system.
//!
//! Nothing of dbench is in here: neither its code nor its load file, which is the record of a network that belongs to
//! others. What is done is a trace of our own ([`own`]) or a load file that the user has and names ([`loadfile`]).

mod client;
mod loadfile;
mod own;
mod trace;

use crate::storage::space;
use client::Client;
use engine::consent::Touch;
use engine::workload::{BadValue, Body, Place, StandIn, WorkError, Workload, Writes};
use model::headline::{Headline, Topic};
use model::named::NamedKind;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::rng::Rng;
use model::spec::{
    Amount, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, Stat, TestDef, Time,
};
use model::units::{Bytes, Nanos, Unit};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use sys::io::file::Access;
use sys::loops::copy;

/// The workload.
pub(crate) static DBENCH: Dbench = Dbench;

/// Clients of a file server.
#[derive(Debug)]
pub(crate) struct Dbench;

/// The parameter that says which load file it is. The file itself is named on the command line.
pub const LOAD: &str = "load";

/// Its value where none is named.
const OWN: &str = "own";

/// The digest of a load file by which runs of the same one compare.
///
/// # Errors
///
/// Where it is no load file: line, word, and what was expected.
pub fn load_digest(file: impl Read) -> Result<String, String> {
    let load = loadfile::read(file).map_err(|wrong| wrong.to_string())?;
    Ok(load.digest)
}

const fn mean(quantity: &'static str, class: &'static str) -> MetricDef {
    let doc = "Mean time of the operations that dbench calls so, from before the first call of one to after its last: \
               its AvgLat.";
    let how = How::Of(class, Stat::Mean);
    MetricDef::time(quantity, MetricClass::LatencyTypical, how, doc)
}

const fn longest(quantity: &'static str, class: &'static str) -> MetricDef {
    let doc =
        "The longest of them in a round: its MaxLat, which grows with the time that is measured.";
    let how = How::Of(class, Stat::Longest);
    MetricDef::time(quantity, MetricClass::LatencyExtreme, how, doc)
}

static SPEC: Spec = Spec {
    name: "fs.dbench",
    version: 1,
    nature: Nature::FileSystem,
    title: "dbench: the load of office clients on a file server, without the network",
    doc: "One operation is what a file server does for one request of a client: open a file, look for a name, read or \
          write a piece, flush, close, rename, remove. Each copy is a client with a directory of its own, and a \
          process. The rate is bytes read and written together; dbench's MB is 1000000 of them.\n\n\
          The trace is kurabe's own, with the operations, sizes, failures and the set of files of dbench 4.0: 458,341 \
          operations a loop, of which an eighth ask for what is not there and have a directory read, 1.47 GB read and \
          1.02 GB written, 5,553 fsyncs, up to 23 open files, 106 files of 24 MB. Its figures are not dbench's: with \
          `--loadfile FILE` it does what a load file of dbench 4 says, such as the `client.txt` that comes with \
          dbench, and then they compare.\n\n\
          Nearly everything is read from the page cache; fsync waits for the disk. So it measures names, small copies \
          and, on a disk, how long a flush takes and how many of them it takes at once.",
    params: &[
        ParamDef {
            name: "time",
            kind: ParamKind::Duration,
            default: "5s",
            doc: "How long a round measures. A load file is begun anew in every round, after a warm-up of a fifth of \
                  this: `10s` is what `dbench -t 10` does. A short round sees no more than a file's beginning.",
        },
        ParamDef {
            name: LOAD,
            kind: ParamKind::Text,
            default: OWN,
            doc: "Which load file is done; `own` for kurabe's own trace. `--loadfile FILE` sets it to a digest of the \
                  file.",
        },
    ],
    metrics: &[
        MetricDef::rate(
            "bytes_per_s",
            Unit::BytesPerSecond,
            MetricClass::Throughput,
            How::Per(Amount::Work, Time::Wall),
            "Bytes read and written by all clients, over the wall time of the measured part: dbench's Throughput.",
        ),
        MetricDef::rate(
            "ops_per_s",
            Unit::OpsPerSecond,
            MetricClass::Throughput,
            How::Per(Amount::Operations, Time::Wall),
            "Operations of all clients, whatever they are, over the wall time of the measured part.",
        ),
        MetricDef::time(
            "cpu_ns_per_op",
            MetricClass::System,
            How::TimePerOp(Time::Cpu),
            "CPU time, user and system, that all clients spent, over their operations. What the kernel does by itself, \
             such as writing back, is not in it.",
        ),
        MetricDef::time(
            "lat_ns_mean",
            MetricClass::LatencyTypical,
            How::Of(model::latency::LAT, Stat::Mean),
            "Mean time of an operation of any kind, from before its first call to after its last.",
        ),
        MetricDef::time(
            "lat_ns_p95",
            MetricClass::LatencyTail,
            How::Of(model::latency::LAT, Stat::Quantile(0.95)),
            "95 % of the operations, of any kind, took no longer.",
        ),
        MetricDef::time(
            "lat_ns_max",
            MetricClass::LatencyExtreme,
            How::Of(model::latency::LAT, Stat::Longest),
            "The longest operation of any kind in a round: dbench's max_latency.",
        ),
        mean("ntcreatex_ns_mean", "ntcreatex"),
        longest("ntcreatex_ns_max", "ntcreatex"),
        mean("close_ns_mean", "close"),
        longest("close_ns_max", "close"),
        mean("rename_ns_mean", "rename"),
        longest("rename_ns_max", "rename"),
        mean("unlink_ns_mean", "unlink"),
        longest("unlink_ns_max", "unlink"),
        mean("qpathinfo_ns_mean", "qpathinfo"),
        longest("qpathinfo_ns_max", "qpathinfo"),
        mean("qfileinfo_ns_mean", "qfileinfo"),
        longest("qfileinfo_ns_max", "qfileinfo"),
        mean("qfsinfo_ns_mean", "qfsinfo"),
        longest("qfsinfo_ns_max", "qfsinfo"),
        mean("sfileinfo_ns_mean", "sfileinfo"),
        longest("sfileinfo_ns_max", "sfileinfo"),
        mean("find_ns_mean", "find"),
        longest("find_ns_max", "find"),
        mean("writex_ns_mean", "writex"),
        longest("writex_ns_max", "writex"),
        mean("readx_ns_mean", "readx"),
        longest("readx_ns_max", "readx"),
        mean("lockx_ns_mean", "lockx"),
        longest("lockx_ns_max", "lockx"),
        mean("unlockx_ns_mean", "unlockx"),
        longest("unlockx_ns_max", "unlockx"),
        mean("flush_ns_mean", "flush"),
        longest("flush_ns_max", "flush"),
    ],
    tests: &[TestDef::new(
        "fs.dbench",
        "dbench's load by a trace of kurabe's own",
        &[],
    )],
    simulated: false,
    on_disk: true,
};

/// What the files of a client come to at most, with room for what the file system notes of them.
const CLIENT_BYTES: u64 = 32_000_000;

impl Workload for Dbench {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        let measure = params.duration("time");
        // Files are written, or a load file is read: dbench does it for a fifth as long before it measures.
        let (setup, warmup) = match params.text(LOAD) {
            OWN => (Nanos::from_millis(400), Nanos::from_secs(1)),
            _ => (Nanos::from_millis(200), Nanos(measure.0 / 5)),
        };
        Shape {
            setup,
            setup_max: Nanos::from_secs(600),
            warmup,
            measure,
            measure_min: Nanos::from_secs(1),
            settle: Settle::Sync,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if params.duration("time").0 < Nanos::from_secs(1).0 {
            return Err(BadValue::new("time", "a second or more"));
        }
        let load = params.text(LOAD);
        let is_digest = load.len() == 16 && load.bytes().all(|byte| byte.is_ascii_hexdigit());
        if load == OWN || is_digest {
            Ok(())
        } else {
            Err(BadValue::new(LOAD, "what `--loadfile FILE` sets it to"))
        }
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::named(Topic::Storage, "dbench"))
    }

    fn touches(&self, params: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        let is_file = |named: &&StandIn| !named.kind.is_elsewhere();
        let named = stand_in.filter(is_file);
        let named = named.filter(|_| params.text(LOAD) != OWN);
        let touch = named.map(|file| Touch {
            path: file.path.clone(),
            kind: NamedKind::Load,
            writes: false,
            creates: false,
        });
        touch.into_iter().collect()
    }

    fn writes(&self, _: &Params) -> Writes {
        Writes {
            per_round: Bytes(CLIENT_BYTES),
            throughout: true,
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let load = params.text(LOAD);
        let clock = place.clock();
        if load != OWN {
            let trace = named_load(load, place)?;
            // As dbench writes.
            return Ok(Box::new(Client::new(trace, &place.dir, clock, || 0)?));
        }
        let needed = CLIENT_BYTES.saturating_mul(place.copies.into());
        space::check_round(&place.dir, needed)?;
        let own = own::own();
        let mut rng = Rng::stream(place.seed, 1);
        // Nothing that a file system could make smaller.
        let data = || rng.next().to_le_bytes()[0];
        let client = Client::new(own.trace, &place.dir, clock, data)?;
        for name in &own.directories {
            let path = place.dir.join(name);
            fs::create_dir_all(&path)
                .map_err(|error| WorkError::failed("make directory", path.display(), error))?;
        }
        for (name, size) in &own.files {
            let path = place.dir.join(name);
            fill(&path, *size, &mut rng)
                .map_err(|error| WorkError::failed("write", path.display(), error))?;
        }
        let synced = File::open(&place.dir)
            .map_err(|error| WorkError::failed("open", place.dir.display(), error))?;
        // What was written here must not be written back while the clients are measured.
        copy::sync_file_system(synced.as_fd()).map_err(|failure| {
            WorkError::failed(failure.operation, place.dir.display(), failure.error)
        })?;
        Ok(Box::new(client))
    }
}

/// The load of the file that the user named, as long as it is the one that the plan was made for.
fn named_load(digest: &str, place: &Place) -> Result<trace::Trace, WorkError> {
    let Some(file) = &place.stand_in else {
        let why = "do a load file: `load` says which, and no file is named\nhint: `--loadfile FILE` does both";
        return Err(WorkError::Unsupported(why.to_owned()));
    };
    let path = file.path.display();
    let permit = place.permits.of(&file.path);
    let opened = permit.and_then(|permit| permit.open(Access::default()));
    let opened = opened.map_err(|why| WorkError::Unsupported(why.to_string()))?;
    let load = loadfile::read(opened)
        .map_err(|wrong| WorkError::Unsupported(format!("read load file `{path}`: {wrong}")))?;
    if load.digest == digest {
        return Ok(load.trace);
    }
    Err(WorkError::Unsupported(format!(
        "read load file `{path}`: it is not the one any more that the run was planned for"
    )))
}

/// Writes a file of random bytes.
fn fill(path: &Path, size: u64, rng: &mut Rng) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    let mut piece = vec![0; 1 << 16];
    let mut left = usize::try_from(size).unwrap_or(usize::MAX);
    while left > 0 {
        for word in piece.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.next().to_le_bytes());
        }
        let now = left.min(piece.len());
        file.write_all(&piece[..now])?;
        left -= now;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
