//! A job that several threads of one process each do, with engines, buffers and records of their own: fio's `thread=1`
//! with `numjobs`. What they found is put together in the end.

use super::file;
use super::open_one;
use super::parts::files;
use super::records::amounts;
use super::watch::Watch;
use engine::recorder::Recorder;
use engine::tick::SoFar;
use engine::workload::{Body, Finish, Place, WorkError};
use model::job::Job;
use model::rng::Rng;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use sys::loops::team::{Member, Team};

/// What a thread has to say in the end.
type Outcome = Result<Finish, WorkError>;

/// The threads.
struct Threads {
    team: Team<Outcome>,
    me: Member,
    own: Box<dyn Body>,
    own_is_over: bool,
    /// A thread has failed.
    failed: Arc<AtomicBool>,
    /// How many ticks there were, and what each of the others gives away at them.
    ticks: Arc<AtomicU32>,
    told: Vec<Arc<Mutex<SoFar>>>,
    /// Done by all when the last batch ended.
    seen: u64,
    /// Of the process: no thread knows what it alone made storage do.
    watch: Watch,
}

/// Operations between two looks at the clock of a thread, at first.
const CHUNK: u64 = 1;
/// How long such a chunk should take, in nanoseconds: a thread hears of the end after it.
const CHUNK_NS: u64 = 1_000_000;

/// Makes the threads ready; they wait for the first batch.
pub(super) fn open(job: &Job, place: &Place) -> Result<Box<dyn Body>, WorkError> {
    let one = Job {
        threads: 1,
        ..job.clone()
    };
    let of_thread = |index: u32| Place {
        copy: place.copy * job.threads + index,
        copies: place.copies * job.threads,
        seed: Rng::stream(place.seed, 37 + u64::from(index)).next(),
        ..place.clone()
    };
    // The caller's first: it lays the file out.
    let own = open_one(&one, &of_thread(0), false)?;
    let first = of_thread(0);
    let watched = if job.engine.has_data() {
        Some(file::open(&one, &files(&one, &first)?[0], &first)?)
    } else {
        None
    };
    let failed = Arc::new(AtomicBool::new(false));
    let ticks = Arc::new(AtomicU32::new(0));
    let told: Vec<Arc<Mutex<SoFar>>> = (1..job.threads).map(|_| Arc::default()).collect();
    let works = (1..job.threads).zip(&told).map(|(index, told)| {
        let (one, place, failed) = (one.clone(), of_thread(index), Arc::clone(&failed));
        let (ticks, told) = (Arc::clone(&ticks), Arc::clone(told));
        move |member: &Member| {
            let outcome = run(member, &one, &place, (&ticks, &told));
            failed.fetch_or(outcome.is_err(), Ordering::AcqRel);
            outcome
        }
    });
    let team = Team::start(works.collect())
        .map_err(|error| WorkError::failed("start", "a thread", error))?;
    let mut threads = Threads {
        me: team.me(),
        team,
        own,
        own_is_over: false,
        failed,
        ticks,
        told,
        seen: 0,
        watch: Watch::new(watched.as_ref()),
    };
    threads.check()?;
    Ok(Box::new(threads))
}

/// One thread's work.
fn run(
    member: &Member,
    job: &Job,
    place: &Place,
    (ticks, told): (&AtomicU32, &Mutex<SoFar>),
) -> Outcome {
    let mut body = open_one(job, place, false)?;
    member.wait();
    let mut seen = ticks.load(Ordering::Relaxed);
    let (mut part, mut chunk) = (member.part(), CHUNK);
    let mut recorder = Recorder::off();
    while !member.stopped() {
        if member.part() > part && !member.stopped() {
            part = member.part();
            body.measured_part_begins();
        }
        let began = sys::clock::monotonic();
        // A job that broke says so itself, with what it did.
        let done = body.batch(chunk, &mut recorder).unwrap_or(0);
        member.add(done);
        if done < chunk {
            break;
        }
        let took = sys::clock::monotonic() - began;
        let now = ticks.load(Ordering::Relaxed);
        // Where somebody is telling what was given before, the next chunk is early enough.
        if now != seen
            && let Ok(mut told) = told.try_lock()
            && !told.is_full()
        {
            seen = now;
            body.tick(&mut told);
        }
        chunk = if took > CHUNK_NS {
            (chunk / 2).max(1)
        } else {
            chunk * 2
        };
    }
    body.finish()
}

impl Threads {
    /// The error of the first thread that failed, where one did.
    fn check(&mut self) -> Result<(), WorkError> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let failed = self.team.end().into_iter().find_map(Result::err);
        Err(failed.unwrap_or_else(|| WorkError::Failed("run a thread: it failed".to_owned())))
    }
}

impl Body for Threads {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        if self.me.part() == 0 {
            self.team.next_part();
        }
        let between = (ops / (self.team.len() as u64 + 1) / 8).max(1);
        loop {
            if self.own_is_over {
                // Nothing to do but to wait for the others.
                sys::clock::sleep(200_000);
            } else {
                // As with the others: it says itself that it broke, and they go on.
                let done = self.own.batch(between, recorder).unwrap_or(0);
                self.me.add(done);
                self.own_is_over = done < between;
            }
            self.check()?;
            let all_over = self.own_is_over && self.team.everybody_ended();
            let all = self.team.done();
            if all - self.seen >= ops || all_over {
                let done = all - self.seen;
                self.seen = all;
                // More than was asked for is no reason to go on where nobody does.
                return Ok(if all_over {
                    done.min(ops.saturating_sub(1))
                } else {
                    done
                });
            }
        }
    }

    fn work_per_op(&self) -> f64 {
        self.own.work_per_op()
    }

    fn measured_part_begins(&mut self) {
        self.own.measured_part_begins();
        self.own_is_over = false;
        self.team.next_part();
        self.seen = self.team.done();
        self.watch.begin();
    }

    fn tick(&mut self, so_far: &mut SoFar) {
        self.own.tick(so_far);
        self.told.iter().for_each(|other| so_far.join(other));
        self.ticks.fetch_add(1, Ordering::Relaxed);
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let mut all = self.own.finish()?;
        for outcome in self.team.end() {
            let other = outcome?;
            if let (Some(own), Some(other)) = (&mut all.job, other.job) {
                own.absorb(&other);
            }
            for (name, latencies) in other.latencies {
                match all.latencies.get_mut(&name) {
                    Some(own) => own.absorb(&latencies),
                    None => drop(all.latencies.insert(name, latencies)),
                }
            }
            all.notes.extend(other.notes);
            all.failed = all.failed.or(other.failed);
        }
        all.notes.dedup();
        if let Some(report) = &all.job {
            all.reported = amounts(report);
            self.watch.end(report.done.read.bytes, &mut all.reported);
        }
        Ok(all)
    }
}
