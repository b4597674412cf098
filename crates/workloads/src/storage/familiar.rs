//! `familiar.io`: the storage tests of which forums and blogs quote the figures, run as the programs behind these run
//! them: one shot that ends with its bytes.
//!
//! Each is a job of our own engine. What is cut short so that a run takes minutes is a parameter, and can be asked for
//! in full.

use super::job::on;
use super::shots::{Shots, open_fresh};
use super::{buffers, file, job, open, spec};
use engine::consent::Touch;
use engine::workload::{
    BadValue, Body, ErrandKind, Place, StandIn, Told, WorkError, Workload, Writes,
};
use model::ground::Ground;
use model::host::HostFacts;
use model::job::{Contents, End, IoEngine, Job, Mix, Pattern};
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{How, MetricDef, Nature, ParamDef, ParamKind, Spec, Stat, TestDef};
use model::units::{Bytes, Nanos};

/// The workload.
pub(crate) static FAMILIAR: Familiar = Familiar;

/// One shot of somebody else's definition.
#[derive(Debug)]
pub(crate) struct Familiar;

static SPEC: Spec = Spec {
    name: "familiar.io",
    version: 1,
    nature: Nature::Storage,
    title: "storage tests that everybody quotes, run their way",
    doc: "One round is one shot, as the program does it whose figure is quoted; there is no warm-up, and it ends \
          with its bytes. `yabs` reads and writes random blocks, half and half, 64 at a time with libaio past the \
          page cache; each copy is one of its jobs, of which YABS has two (`@2`). `dd` writes zeros through the page \
          cache to a new file, one block after the other, and syncs once at the end; three shots follow one another \
          without a pause, as their script has them, and their mean is the figure. `etcd` writes to a new file for \
          which room is reserved, with an fdatasync after each write.\n\n\
          These figures are there to be laid beside those of others. One shot has no interval; the tests of `storage` \
          ask the same questions with one.",
    params: PARAMS,
    metrics: spec::METRICS,
    tests: TESTS,
    simulated: false,
    on_disk: true,
};

static PARAMS: &[ParamDef] = &[
    ParamDef {
        name: "of",
        kind: ParamKind::Choice(&["yabs", "dd", "etcd"]),
        default: "yabs",
        doc: "Whose test it is.",
    },
    ParamDef {
        name: "bs",
        kind: ParamKind::Size,
        default: "4k",
        doc: "Bytes of one operation.",
    },
    ParamDef {
        name: "size",
        kind: ParamKind::Size,
        default: "0",
        doc: "Bytes of the file, which each copy goes through once. 0 is for `yabs` alone: it takes the test file of \
              `storage.io`, which has 2 GiB, as that of YABS, where memory and free space allow.",
    },
    ParamDef {
        name: "runtime",
        kind: ParamKind::Duration,
        default: "0",
        doc: "It is over after this time, even if there are bytes left; 0 for no such end. YABS has 30 s.",
    },
];

static TESTS: &[TestDef] = &[
    TestDef::new(
        "familiar.yabs-4k",
        "YABS' fio 4k mixed: one shot of 5 s (its own: 30 s) or 2 GiB for each of two jobs",
        &[("bs", "4k"), ("runtime", "5s")],
    ),
    TestDef::new(
        "familiar.yabs-64k",
        "YABS' fio 64k mixed: one shot of 5 s (its own: 30 s) or 2 GiB for each of two jobs",
        &[("bs", "64k"), ("runtime", "5s")],
    ),
    TestDef::new(
        "familiar.yabs-512k",
        "YABS' fio 512k mixed: one shot of 5 s (its own: 30 s) or 2 GiB for each of two jobs",
        &[("bs", "512k"), ("runtime", "5s")],
    ),
    TestDef::new(
        "familiar.yabs-1m",
        "YABS' fio 1m mixed: one shot of 5 s (its own: 30 s) or 2 GiB for each of two jobs",
        &[("bs", "1M"), ("runtime", "5s")],
    ),
    TestDef::new(
        "familiar.dd",
        "bench.sh's dd: 1 GiB of zeros in 512 KiB through the page cache and one sync, three in a row",
        &[("of", "dd"), ("bs", "512k"), ("size", "1G")],
    ),
    TestDef::new(
        "familiar.etcd",
        "etcd's check of a disk: 2300 bytes and an fdatasync, up to 22 MiB, one shot of 10 s at most",
        &[
            ("of", "etcd"),
            ("bs", "2300"),
            ("size", "22M"),
            ("runtime", "10s"),
        ],
    ),
];

/// Whose test it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Yabs,
    Dd,
    Etcd,
}

impl Of {
    fn asked(params: &Params) -> Self {
        match params.text("of") {
            "dd" => Self::Dd,
            "etcd" => Self::Etcd,
            _ => Self::Yabs,
        }
    }

    /// The shots of a round, one after the other.
    const fn shots(self) -> u32 {
        match self {
            Self::Yabs | Self::Etcd => 1,
            Self::Dd => 3,
        }
    }

    /// What storage is expected to do when nothing is known of it: bytes a second.
    const fn usual_bytes_per_s(self) -> u64 {
        match self {
            Self::Yabs | Self::Dd => 150 << 20,
            Self::Etcd => 2 << 20,
        }
    }
}

/// Bytes a second of the slowest storage that is waited for: about that of a memory card.
const SLOWEST_BYTES_PER_S: u64 = 2 << 20;
/// Behind the end of its time, what was begun may take this long.
const GRACE: Nanos = Nanos::from_secs(60);
/// However little there is to do, it may take this long.
const AT_LEAST: Nanos = Nanos::from_secs(600);

/// The job that the parameters describe.
fn job(params: &Params) -> Job {
    let positive = |n: u64| (n > 0).then_some(n);
    let runtime = params.duration("runtime");
    let plain = Job {
        pattern: Pattern {
            mix: Mix::Write,
            random: false,
        },
        block_bytes: params.size("bs").0,
        size: positive(params.size("size").0),
        engine: IoEngine::Psync,
        direct: false,
        end: End {
            time: (runtime > Nanos::ZERO).then_some(runtime),
            time_based: false,
            ..End::default()
        },
        ..Job::default()
    };
    match Of::asked(params) {
        Of::Yabs => Job {
            pattern: Pattern {
                mix: Mix::ReadWrite,
                random: true,
            },
            engine: IoEngine::Libaio,
            depth: 64,
            direct: true,
            ..plain
        },
        Of::Dd => Job {
            contents: Contents::Zero,
            fsync_at_end: true,
            ..plain
        },
        Of::Etcd => Job {
            fdatasync_every: 1,
            ..plain
        },
    }
}

/// Whether it writes to a file of each round's own.
fn is_fresh(params: &Params) -> bool {
    Of::asked(params) != Of::Yabs
}

impl Workload for Familiar {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        let (of, job) = (Of::asked(params), job(params));
        let bytes = job
            .size
            .unwrap_or(2 << 30)
            .saturating_mul(u64::from(of.shots()));
        let at = |rate: u64| Nanos((bytes / rate).saturating_mul(1_000_000_000));
        let by_bytes = at(of.usual_bytes_per_s());
        Shape {
            setup_max: AT_LEAST,
            warmup: Nanos::ZERO,
            measure: job.end.time.map_or(by_bytes, |time| time.min(by_bytes)),
            fixed_work: true,
            measure_max: Some(match job.end.time {
                Some(time) => time.plus(GRACE),
                None => AT_LEAST.plus(at(SLOWEST_BYTES_PER_S)),
            }),
            rounds: Some(1),
            settle: Settle::Sync,
            shortenable: false,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let job = job(params);
        match job.size {
            None if is_fresh(params) => Err(BadValue::new("size", "the bytes of a new file")),
            Some(size) if size < job.block_bytes => {
                Err(BadValue::new("size", "at least one block"))
            }
            _ => Ok(()),
        }
    }

    fn supported(&self, params: &Params, _: &HostFacts) -> Result<(), String> {
        job(params).check()
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        let job = job(params);
        buffers::have_room((0..copies).map(|_| &job), host)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        // One shot has the figures that are quoted and the latencies beside them, and no rate of arrivals.
        let is_told = |metric: &&MetricDef| match metric.how {
            How::Of(name, stat) => {
                let of_calls = name == "sync" || name.ends_with("clat");
                of_calls && [Stat::Quantile(0.5), Stat::Quantile(0.99)].contains(&stat)
            }
            _ => metric.quantity != spec::RATE,
        };
        let metrics = spec::metrics(&job(params)).into_iter();
        metrics.filter(is_told).collect()
    }

    fn allocates(&self, params: &Params) -> bool {
        // Between its shots.
        Of::asked(params).shots() > 1
    }

    fn writes(&self, params: &Params) -> Writes {
        // Of the file that is read as well half of the blocks are written.
        let shots = u64::from(Of::asked(params).shots());
        let bytes = job(params).size.unwrap_or(2 << 30).saturating_mul(shots);
        let part = if is_fresh(params) { 1 } else { 2 };
        Writes {
            per_round: Bytes(bytes / part),
            throughout: false,
        }
    }

    fn touches(&self, params: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        if is_fresh(params) {
            return Vec::new();
        }
        job::touches(&on(job(params), stand_in))
    }

    fn ground(
        &self,
        params: &Params,
        host: &HostFacts,
        stand_in: Option<&StandIn>,
    ) -> Option<Ground> {
        let free = host.storage.free.known().copied();
        let job = (!is_fresh(params)).then(|| on(job(params), stand_in))?;
        file::ground(&job, free)
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        let job = on(job(params), place.stand_in.as_ref());
        job.check().map_err(WorkError::Unsupported)?;
        file::errand(errand, &job, place, tell)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let job = job(params);
        match Of::asked(params) {
            Of::Yabs => open(&on(job, place.stand_in.as_ref()), place),
            Of::Dd => Shots::open(job, place, Of::Dd.shots()),
            Of::Etcd => open_fresh(&job, place, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;
    use crate::storage::tests::place;
    use engine::recorder::Recorder;
    use engine::workload::Finish;
    use model::num::approx;
    use std::os::unix::fs::MetadataExt;

    /// All that a test does with these parameters in their place, and the file of the round if it has one.
    fn shot(test: &str, set: &[(&str, &str)]) -> (u64, Finish, Option<Vec<u8>>) {
        let (_root, place) = place();
        let test = TESTS.iter().find(|one| one.name == test).unwrap();
        let params: Vec<_> = test.params.iter().chain(set).copied().collect();
        let mut body = testing::prepare(&FAMILIAR, &params, &place).unwrap();
        let (mut done, mut recorder) = (0, Recorder::off());
        loop {
            let some = body.batch(64, &mut recorder).unwrap();
            done += some;
            if some < 64 {
                break;
            }
        }
        let file = std::fs::read(place.dir.join("fresh")).ok();
        (done, body.finish().unwrap(), file)
    }

    #[test]
    fn dd_writes_zeros_to_a_new_file_and_syncs_once_three_times_in_a_row() {
        let (done, finish, file) = shot("familiar.dd", &[("size", "8M")]);
        assert_eq!(done, 3 * 16, "three shots in a row");
        let [note] = finish.notes.as_slice() else {
            panic!("{:?}", finish.notes);
        };
        let told = note.trim_start_matches(|c: char| !c.is_ascii_digit());
        let (told, _) = told.split_once(" MB/s").unwrap();
        let rates: Vec<f64> = told.split(", ").map(|rate| rate.parse().unwrap()).collect();
        let mean = rates.iter().sum::<f64>() / 3.0;
        let reported = finish.reported["bw_bytes_per_s"];
        assert!(
            rates.len() == 3 && (mean - reported / 1e6).abs() <= 0.5,
            "{note}"
        );
        assert!((finish.reported["iops"] * 524_288.0 / reported - 1.0).abs() < 1e-9);
        let clats = finish.latencies["clat"].pairs();
        assert_eq!(clats.iter().map(|pair| pair.1).sum::<u64>(), 48);
        let report = finish.job.unwrap();
        assert_eq!((report.done.write.bytes, report.syncs), (8 << 20, 1));
        let file = file.unwrap();
        assert_eq!(file.len(), 8 << 20);
        assert!(file.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn etcd_syncs_after_each_of_its_odd_blocks_and_writes_data() {
        let (done, finish, file) = shot("familiar.etcd", &[("size", "23000")]);
        assert_eq!(done, 10);
        let report = finish.job.unwrap();
        assert_eq!((report.done.write.bytes, report.syncs), (23_000, 9));
        assert_eq!(
            finish.latencies["sync"]
                .pairs()
                .iter()
                .map(|pair| pair.1)
                .sum::<u64>(),
            9
        );
        let file = file.unwrap();
        assert_eq!(file.len(), 23_000);
        assert!(
            file.chunks(2300)
                .all(|block| block.iter().any(|&byte| byte != 0))
        );
    }

    #[test]
    fn room_is_reserved_for_the_file_of_etcd_and_not_for_that_of_dd() {
        for (of, reserved) in [("etcd", true), ("dd", false)] {
            let (_root, place) = place();
            let params = [("of", of), ("bs", "4k"), ("size", "1M")];
            let body = testing::prepare(&FAMILIAR, &params, &place).unwrap();
            let made = place.dir.join("fresh").metadata().unwrap();
            assert_eq!(made.blocks() > 0, reserved, "{of}");
            assert_eq!(made.len(), if reserved { 1 << 20 } else { 0 }, "{of}");
            drop(body);
        }
    }

    #[test]
    fn yabs_reads_and_writes_every_block_once_half_and_half() {
        let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let place = testing::place_in(&root);
        let params = [("size", "8M"), ("bs", "4k")];
        let mut body = match testing::prepare(&FAMILIAR, &params, &place) {
            Err(WorkError::Unsupported(why)) => {
                eprintln!("skipped: {why}");
                return;
            }
            body => body.unwrap(),
        };
        assert_eq!(body.batch(10_000, &mut Recorder::off()).unwrap(), 2048);
        let finish = body.finish().unwrap();
        let [reads, writes, bytes] = ["reads", "writes", "bytes"].map(|name| finish.reported[name]);
        assert!((bytes - approx(8 << 20)).abs() < 0.5 && (reads + writes - 2048.0).abs() < 0.5);
        assert!((900.0..1150.0).contains(&reads), "{reads} reads");
    }

    #[test]
    fn a_shot_is_expected_to_take_its_time_or_its_bytes_and_comes_as_often_as_theirs() {
        let check = |test: &str, set: &[(&str, &str)], seconds: u64, rounds: u32| {
            let test = TESTS.iter().find(|one| one.name == test).unwrap();
            let params: Vec<_> = test.params.iter().chain(set).copied().collect();
            let shape = FAMILIAR.shape(&testing::params(&FAMILIAR, &params));
            assert_eq!(
                (shape.measure.0 / 1_000_000_000, shape.rounds),
                (seconds, Some(rounds)),
                "{params:?}"
            );
            assert!(shape.fixed_work && shape.warmup == Nanos::ZERO);
        };
        check("familiar.yabs-4k", &[], 5, 1);
        check("familiar.yabs-1m", &[("runtime", "30s")], 13, 1);
        check("familiar.dd", &[], 20, 1);
        check("familiar.etcd", &[], 10, 1);
    }

    #[test]
    fn one_shot_tells_what_is_quoted_of_it() {
        let check = |of: &str, expect: &[&str]| {
            let params = testing::params(&FAMILIAR, &[("of", of), ("bs", "4k"), ("size", "1M")]);
            let metrics = FAMILIAR.metrics(&params);
            let told: Vec<&str> = metrics.iter().map(|metric| metric.quantity).collect();
            assert!(told.starts_with(expect), "{of}: {told:?}");
            assert!(told.len() <= 11, "{of}: {told:?}");
        };
        check(
            "yabs",
            &["iops", "bw_bytes_per_s", "read_iops", "write_iops"],
        );
        check(
            "etcd",
            &["iops", "bw_bytes_per_s", "sync_ns_p50", "sync_ns_p99"],
        );
        check("dd", &["iops", "bw_bytes_per_s", "clat_ns_p50"]);
    }

    #[test]
    fn a_new_file_without_a_size_is_refused() {
        let check = |set: &[(&str, &str)], param: Option<&str>| {
            let found = FAMILIAR.check_params(&testing::params(&FAMILIAR, set));
            assert_eq!(found.err().map(|bad| bad.param), param, "{set:?}");
        };
        check(&[], None);
        check(&[("of", "dd")], Some("size"));
        check(&[("of", "dd"), ("size", "1k")], Some("size"));
        check(&[("of", "etcd"), ("size", "4k")], None);
    }
}
