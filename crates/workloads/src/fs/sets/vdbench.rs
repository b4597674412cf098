//! `fs.vdbench`: the load on a file system that people describe to vdbench: threads that read and as many that write
//! random places of random files.
//!
//! It is `fs.sets` with one set and two tasks, so that its figures are those of `kurabe vdbench` for the same words.
//! The set stands in the run's own directory. `threads=8` among the defaults of a parameter file is that of each task,
//! so that eight threads read while eight write: a copy is one of each.

use super::spec::{METRICS, metrics};
use super::{NAME, SETS, params as of_sets};
use engine::workload::{
    BadValue, Body, ErrandKind, Place, StandIn, Told, WorkError, Workload, Writes,
};
use model::fileset::{
    Before, Blocks, FileIo, FileOperation, FileSelect, FileSet, FileSizes, FileSpread, FileTask,
    FileWork, Format, StopAfter,
};
use model::ground::Ground;
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::{Bytes, Nanos};
use std::path::PathBuf;

/// The workload.
pub(crate) static VDBENCH: Vdbench = Vdbench;

/// Reads and writes of a set's files.
#[derive(Debug)]
pub(crate) struct Vdbench;

const TIME_MIN: Nanos = Nanos::from_millis(500);
const TIME_MAX: Nanos = Nanos::from_secs(3600);
const FILES_MAX: u64 = 1_000_000;
const TRANSFER: std::ops::RangeInclusive<u64> = 512..=16 << 20;
const SIZE_MAX: u64 = 1 << 30;

static SPEC: Spec = Spec {
    name: "fs.vdbench",
    version: 1,
    nature: Nature::FileSystem,
    title: "random reads and writes of random files, as vdbench's users ask for them",
    doc: "Each copy is two threads, one that reads and one that writes: `@8` is what vdbench does with `threads=8` \
          among the defaults of two file workloads, `operation=read` and `operation=write`, with `fileio=random`, \
          `fileselect=random` and `fwdrate=max`. A thread opens a file that no other one has, does `stopafter` \
          operations of `xfersize` at random places of it, closes it and takes the next. Nothing is synced, and what \
          is read was written before, so that these are figures of the page cache as long as memory lasts, as \
          vdbench's are. The files are made before the first round, as `format=yes` has it; in the run's own \
          directory.\n\n\
          The rate has reads and writes together. A response time is that of the call alone, as vdbench has it. For \
          other words of vdbench's language, `kurabe vdbench` runs parameter files.",
    params: &[
        ParamDef {
            name: "files",
            kind: ParamKind::Count {
                min: 2,
                max: FILES_MAX,
            },
            default: "1000",
            doc: "How many files there are; each thread has one for itself.",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "128k",
            doc: "Bytes of a file, from `xfersize` to 1G.",
        },
        ParamDef {
            name: "xfersize",
            kind: ParamKind::Size,
            default: "4k",
            doc: "Bytes of a read or write, from 512 to 16M.",
        },
        ParamDef {
            name: "stopafter",
            kind: ParamKind::Count {
                min: 1,
                max: 1_000_000_000,
            },
            default: "100",
            doc: "Operations on a file before the next one is taken.",
        },
        ParamDef {
            name: "time",
            kind: ParamKind::Duration,
            default: "3s",
            doc: "How long a round measures (vdbench's `elapsed`); from 500ms to 1h.",
        },
    ],
    metrics: METRICS,
    tests: &[TestDef::new(
        "fs.vdbench",
        "vdbench's files: random reads and writes of 4 KiB in 1000 files of 128 KiB",
        &[],
    )],
    simulated: false,
    on_disk: true,
};

/// Two tasks of so many threads on one set at this place.
fn work(params: &Params, threads: u32, anchor: PathBuf, [warmup, elapsed]: [Nanos; 2]) -> FileWork {
    let task = |operation: FileOperation| FileTask {
        name: operation.word().to_owned(),
        operation,
        io: FileIo::Random,
        select: FileSelect::Random,
        transfer: Blocks::Fixed(params.size("xfersize").0),
        stop_after: Some(StopAfter::Operations(params.count("stopafter"))),
        threads: threads.max(1),
        ..FileTask::default()
    };
    FileWork {
        sets: vec![FileSet {
            name: "files".to_owned(),
            anchor,
            depth: 1,
            width: 1,
            files: params.count("files"),
            sizes: FileSizes::Split(vec![(params.size("size").0, 100.0)]),
            spread: FileSpread::Bottom,
            total: None,
            working_set: None,
        }],
        tasks: [FileOperation::Read, FileOperation::Write]
            .map(task)
            .to_vec(),
        format: Format {
            before: Before::Anew,
            ..Format::default()
        },
        elapsed,
        warmup,
        interval: Nanos::ZERO,
    }
}

/// The same before it is known where it stands: for what does not depend on that.
fn anywhere(params: &Params, threads: u32) -> Params {
    let times = [Shape::DEFAULT.warmup, params.duration("time")];
    of_sets(work(params, threads, PathBuf::from("/"), times))
}

/// The same in the run's own directory.
fn at(params: &Params, place: &Place) -> Params {
    let times = [place.warmup, place.measure];
    of_sets(work(params, place.copies, place.run_dir.clone(), times))
}

impl Workload for Vdbench {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        Shape {
            setup_max: SETS.shape(&anywhere(params, 1)).setup_max,
            measure: params.duration("time"),
            measure_min: TIME_MIN,
            settle: Settle::Sync,
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let transfer = params.size("xfersize").0;
        if !TRANSFER.contains(&transfer) {
            return Err(BadValue::new("xfersize", "from 512 to 16M"));
        }
        if !(transfer..=SIZE_MAX).contains(&params.size("size").0) {
            return Err(BadValue::new("size", "from `xfersize` to 1G"));
        }
        if !(TIME_MIN..=TIME_MAX).contains(&params.duration("time")) {
            return Err(BadValue::new("time", "from 500ms to 1h"));
        }
        Ok(())
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        if u64::from(copies) * 2 > params.count("files") {
            let files = params.count("files");
            return Err(format!(
                "each of {} threads has a file for itself, and there are {files}",
                u64::from(copies) * 2
            ));
        }
        SETS.supported(&anywhere(params, copies), host)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        metrics(&work(params, 1, PathBuf::from("/"), [Nanos::ZERO; 2]))
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        let words = ["vdbench files", "vdbench ファイル"];
        Some(Headline::new(Topic::PageCache, words))
    }

    fn writes(&self, _: &Params) -> Writes {
        Writes {
            per_round: Bytes(0),
            throughout: true,
        }
    }

    fn ground(&self, params: &Params, host: &HostFacts, _: Option<&StandIn>) -> Option<Ground> {
        let of_sets = SETS.ground(&anywhere(params, 1), host, None)?;
        let own = of_sets.key.trim_start_matches(NAME);
        Some(Ground {
            key: format!("{}{own}", SPEC.name),
            ..of_sets
        })
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        SETS.errand(errand, &at(params, place), place, tell)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        SETS.prepare(&at(params, place), place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing::place;
    use engine::recorder::Recorder;

    /// Parameters as somebody would set them.
    fn set(params: &[(&str, &str)]) -> Params {
        Params::resolve(&SPEC, params.iter().copied()).unwrap()
    }

    #[test]
    fn each_copy_is_a_thread_that_reads_and_one_that_writes() {
        let (_root, mut place) = place();
        (place.copies, place.warmup) = (3, Nanos::ZERO);
        place.measure = Nanos::from_millis(60);
        let params = set(&[("files", "20"), ("size", "16k"), ("stopafter", "7")]);
        let made = VDBENCH.errand(ErrandKind::Make, &params, &place, &mut |_| ());
        assert_eq!(made.unwrap().bytes, Some(Bytes(20 * (16 << 10))));
        let threads = at(&params, &place);
        let threads = threads.files("work").tasks.iter().map(|task| task.threads);
        assert_eq!(threads.collect::<Vec<_>>(), [3, 3]);
        let mut body = VDBENCH.prepare(&params, &place).unwrap();
        while body.batch(50, &mut Recorder::off()).unwrap() >= 50 {}
        let finish = body.finish().unwrap();
        assert!(finish.failed.is_none(), "{:?}", finish.failed);
        let told = |name: &str| finish.reported[name];
        assert!(told("read_ops") > 0.0 && told("write_ops") > 0.0);
        // Both are asked for, and each moves as much as it says, but for one operation of each thread: what goes on
        // when all are stopped may be counted in parts.
        let is_near = |a: f64, b: f64, most: f64| assert!((a - b).abs() <= most, "{a} {b}");
        is_near(told("read_bytes") / 4096.0, told("read_ops"), 3.0);
        is_near(told("write_bytes") / 4096.0, told("write_ops"), 3.0);
        let asked = told("read_ops") + told("write_ops");
        is_near(
            model::num::approx(finish.latencies["resp"].count()),
            asked,
            6.0,
        );
        // A file is closed after so many operations; each thread has one when it is stopped.
        is_near(told("close_ops") * 7.0, asked, 6.0 * 8.0);
    }

    #[test]
    fn the_articles_load_is_what_its_parameter_file_says() {
        let params = set(&[]);
        let work = work(&params, 8, PathBuf::from("/x"), [Nanos::ZERO, Nanos(1)]);
        assert_eq!(work.check(), Ok(()));
        assert_eq!(work.sets[0].extent(), (1000, 1000 * (128 << 10)));
        assert_eq!(work.format.before, Before::Anew);
        for (task, operation) in work
            .tasks
            .iter()
            .zip([FileOperation::Read, FileOperation::Write])
        {
            let expected = FileTask {
                name: operation.word().to_owned(),
                operation,
                io: FileIo::Random,
                select: FileSelect::Random,
                transfer: Blocks::Fixed(4096),
                stop_after: Some(StopAfter::Operations(100)),
                threads: 8,
                ..FileTask::default()
            };
            assert_eq!(task, &expected);
        }
    }

    #[test]
    fn what_it_cannot_do_is_said_before() {
        let check = |params: &[(&str, &str)], copies, refused: Option<&str>| {
            let params = set(params);
            let found = VDBENCH
                .check_params(&params)
                .map_err(|bad| bad.to_string())
                .and_then(|()| VDBENCH.supported_with(&params, &HostFacts::default(), copies));
            match refused {
                None => assert_eq!(found, Ok(())),
                Some(words) => assert!(found.clone().unwrap_err().contains(words), "{found:?}"),
            }
        };
        check(&[], 8, None);
        check(&[("xfersize", "100")], 1, Some("`xfersize`"));
        check(&[("size", "2k")], 1, Some("`size`"));
        check(&[("time", "1ms")], 1, Some("`time`"));
        check(&[("files", "10")], 5, None);
        check(&[("files", "10")], 6, Some("12 threads"));
    }
}
