//! Jobs of a list: how they end, fail, and take each other along.

use super::*;
use model::job::{End, Job};
use model::num::round_to_u64;

/// Reads of nothing at all, without an end.
pub(in crate::storage) fn task() -> Task {
    Task {
        name: "t".to_owned(),
        job: Job {
            engine: IoEngine::Null,
            size: Some(1 << 20),
            direct: false,
            samples: Some(Nanos::from_millis(500)),
            ..Job::default()
        },
        looks_at_file: true,
        ..Task::default()
    }
}

pub(in crate::storage) fn place(dir: &Path, copy: u32) -> Place {
    Place {
        dir: dir.to_owned(),
        shared_dir: dir.to_owned(),
        run_dir: dir.to_owned(),
        copy,
        copies: 2,
        round: 1,
        seed: 7,
        warmup: model::plan::Shape::DEFAULT.warmup,
        measure: model::plan::Shape::DEFAULT.measure,
        ns_per_tick: None,
        stand_in: None,
        anchors: std::collections::BTreeMap::new(),
        bytes_left: None,
        known: None,
        permits: engine::consent::Permits::default(),
    }
}

#[test]
fn a_program_is_executed_by_leave_of_the_permits_alone() {
    let dir = tempfile::tempdir().unwrap();
    let program = Program {
        name: "touch".to_owned(),
        arguments: vec!["executed".to_owned()],
        dir: dir.path().to_owned(),
        outputs: None,
        grace: Nanos::ZERO,
    };
    let job = Job {
        engine: IoEngine::Exec,
        program: Some(program),
        ..task().job
    };
    let mut doing = doing(Task { job, ..task() }, dir.path());
    assert_eq!(doing.batch(1, &mut Recorder::off()).unwrap(), 0);
    let failed = doing.finish().unwrap().failed.unwrap().to_string();
    assert!(failed.starts_with("job `t`: execute `touch`"), "{failed}");
    assert!(failed.contains("`--allow-exec`"), "{failed}");
    assert!(!dir.path().join("executed").exists());
}

fn ending_after(ops: u64) -> Job {
    Job {
        end: End {
            ops: Some(ops),
            time_based: false,
            ..End::default()
        },
        ..task().job
    }
}

fn doing(task: Task, dir: &Path) -> Doing {
    let inner = crate::storage::open(&task.job, &place(dir, 0)).unwrap();
    with(task, inner, dir)
}

fn with(task: Task, inner: Box<dyn Body>, dir: &Path) -> Doing {
    let words = Words::open(&task, &place(dir, 0)).unwrap();
    Doing::new(task, inner, words, &place(dir, 0))
}

fn batch(body: &mut Doing, ops: u64) -> u64 {
    body.batch(ops, &mut Recorder::off()).unwrap()
}

#[test]
fn it_ends_with_its_operations_and_tells_its_rates() {
    let dir = tempfile::tempdir().unwrap();
    let limited = Task {
        job: ending_after(10),
        ..task()
    };
    let mut body = doing(limited, dir.path());
    assert_eq!((batch(&mut body, 8), batch(&mut body, 8)), (8, 2));
    let finish = body.finish().unwrap();
    assert_eq!(finish.job.unwrap().done.read.ops, 10);
    let pairs = finish.latencies["read_clat"].pairs();
    assert_eq!(pairs.iter().map(|pair| pair.1).sum::<u64>(), 10);
    assert!(finish.reported["iops"] > 0.0);
    assert_eq!(
        finish.reported["iops"].to_bits(),
        finish.reported["read_iops"].to_bits()
    );
}

#[test]
fn it_ends_with_the_one_that_takes_it_along() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = doing(
        Task {
            job: ending_after(1),
            ends: Some("over-0".to_owned()),
            ..task()
        },
        dir.path(),
    );
    let mut second = doing(
        Task {
            ends_with: vec!["over-0".to_owned()],
            ..task()
        },
        dir.path(),
    );
    // Nothing is looked up by its name while they work.
    std::fs::remove_file(dir.path().join("over-0")).unwrap();
    assert_eq!(batch(&mut second, 5), 5);
    assert_eq!(batch(&mut first, 5), 1);
    assert_eq!(batch(&mut second, 5), 0);
}

#[test]
fn it_begins_when_all_that_it_waits_for_have_ended() {
    let dir = tempfile::tempdir().unwrap();
    let words: Vec<String> = ["done-0", "done-1"].map(str::to_owned).to_vec();
    let waited = |word: &String| Task {
        job: ending_after(1),
        done: Some(word.clone()),
        ..task()
    };
    let mut first: Vec<Doing> = words
        .iter()
        .map(|word| doing(waited(word), dir.path()))
        .collect();
    let later = Task {
        job: ending_after(3),
        waits_for: words,
        ..task()
    };
    let path = dir.path().to_owned();
    #[expect(
        clippy::disallowed_methods,
        reason = "a test waits in a thread of its own"
    )]
    let waiting = std::thread::spawn(move || {
        let mut later = doing(later, &path);
        let done = batch(&mut later, 8);
        (done, later.entered)
    });
    assert_eq!(batch(&mut first[0], 8), 1);
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!waiting.is_finished(), "one of two is no end");
    let ended = monotonic();
    assert_eq!(batch(&mut first[1], 8), 1);
    let (done, entered) = waiting.join().unwrap();
    assert_eq!(done, 3);
    assert!(entered >= ended, "its time begins with its work");
}

fn reads(ops: u64) -> Report {
    let mut report = Report::default();
    report.done.read.ops = ops;
    report
}

/// Does so many operations, and fails at the next.
struct Breaking {
    left: u64,
    done: u64,
}

impl Body for Breaking {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if ops > self.left {
            return Err(WorkError::Failed("read `f`: gone".to_owned()));
        }
        (self.left, self.done) = (self.left - ops, self.done + ops);
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        Ok(Finish {
            job: Some(Box::new(reads(self.done))),
            ..Finish::default()
        })
    }
}

#[test]
fn a_job_that_fails_is_told_as_far_as_it_came_and_takes_along_whom_it_should() {
    for (on_error, fails) in [(true, true), (true, false), (false, false)] {
        let dir = tempfile::tempdir().unwrap();
        let first = Task {
            ends: Some("over-0".to_owned()),
            ends_on_error: on_error,
            job: ending_after(10),
            ..task()
        };
        let mut first = if fails {
            let inner = Breaking { left: 8, done: 0 };
            with(first, Box::new(inner), dir.path())
        } else {
            doing(first, dir.path())
        };
        let listening = Task {
            ends_with: vec!["over-0".to_owned()],
            ..task()
        };
        let mut second = doing(listening, dir.path());
        assert_eq!((batch(&mut first, 8), batch(&mut second, 5)), (8, 5));
        assert_eq!(batch(&mut first, 8), if fails { 0 } else { 2 });
        let goes_on = if on_error && !fails { 5 } else { 0 };
        assert_eq!(batch(&mut second, 5), goes_on, "{on_error} {fails}");
        let finish = first.finish().unwrap();
        let reads = finish.job.unwrap().done.read.ops;
        assert_eq!(reads, if fails { 8 } else { 10 });
        let failed = finish.failed.map(|error| error.to_string());
        assert_eq!(
            failed.as_deref(),
            fails.then_some("job `t`: read `f`: gone")
        );
        assert!(second.finish().unwrap().failed.is_none());
    }
}

#[test]
fn a_job_that_cannot_be_made_ready_does_nothing_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let error = WorkError::Unsupported("no such engine".to_owned());
    let place = place(dir.path(), 0);
    let words = Words::open(&task(), &place).unwrap();
    let mut body = Doing::failed(task(), error, words, &place);
    assert_eq!(batch(&mut body, 5), 0);
    let finish = body.finish().unwrap();
    assert!(
        matches!(finish.failed, Some(WorkError::Unsupported(why)) if why == "job `t`: no such engine")
    );
    assert_eq!(finish.reported["iops"].to_bits(), 0);
}

#[test]
fn the_word_for_everything_reaches_later_rounds_of_the_same_pass() {
    let dir = tempfile::tempdir().unwrap();
    let at = |round: u32| {
        let shared_dir = dir.path().join(format!("round-{round}"));
        Place {
            round,
            shared_dir,
            ..place(dir.path(), 0)
        }
    };
    let says = Task {
        ends: Some(EVERYTHING.to_owned()),
        ..task()
    };
    let hears = Task {
        ends_with: vec![EVERYTHING.to_owned()],
        ..task()
    };
    let heard = |place: &Place| Words::open(&hears, place).unwrap().end();
    assert!(!heard(&at(1)));
    let words = Words::open(&says, &at(1)).unwrap();
    Doing::none(says, words, &at(1)).end();
    let later = Place {
        shared_dir: dir.path().join("another"),
        ..at(1)
    };
    assert!(heard(&later));
    assert!(!heard(&at(2)));
}

#[test]
fn a_job_that_only_prepares_does_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut body = doing(
        Task {
            only_prepares: true,
            ..task()
        },
        dir.path(),
    );
    assert_eq!(batch(&mut body, 5), 0);
    assert_eq!(body.finish().unwrap().reported["iops"].to_bits(), 0);
}

#[test]
fn directions_have_times_of_their_own() {
    let mut report = reads(10);
    report.done.write.ops = 10;
    (report.done.read.bytes, report.done.write.bytes) = (100, 300);
    report.done.read.runtime = Some(Nanos::from_secs(1));
    report.done.write.runtime = Some(Nanos::from_secs(2));
    let rates: BTreeMap<String, f64> = rates(&mut report, Nanos(7)).into();
    for (name, expected) in [
        ("iops", 10),
        ("read_iops", 10),
        ("write_iops", 5),
        ("bw_bytes_per_s", 200),
    ] {
        assert_eq!(round_to_u64(rates[name]), expected, "{name}");
    }
    assert_eq!(report.runtime, Nanos::from_secs(2));
}

#[test]
fn names_of_latencies_say_the_kind() {
    let names = |mix| -> Vec<String> {
        let plain = ["clat", "lat", "slat", "sync", "late"]
            .map(|name| (name.to_owned(), Latencies::default()));
        with_kind(plain.into(), mix).into_keys().collect()
    };
    assert_eq!(
        names(Mix::Write),
        ["late", "sync", "write_clat", "write_lat", "write_slat"]
    );
    assert_eq!(
        names(Mix::ReadWrite),
        ["clat", "lat", "late", "slat", "sync"]
    );
}
