//! A round: all threads of all tasks from the gate to the end of the time, or of the work.
//!
//! The caller works on nothing: it looks at what the threads have counted, ends them in time, and notes what each
//! interval of the report came to.

use super::make;
use super::set::Set;
use super::spec::{self, EACH};
use super::tally::{Sum, Tally};
use super::thread::{Outcome, Thread};
use super::together::{Doing, Together};
use engine::recorder::Recorder;
use engine::tick::SoFar;
use engine::workload::{Body, Finish, Place, WorkError};
use model::fileset::{Before, FileWork};
use model::num::approx;
use model::record::Series;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sys::clock::monotonic;
use sys::loops::team::{Member, Team};

/// How often the caller looks, in nanoseconds.
const LOOK_NS: u64 = 1_000_000;

/// How much earlier whoever asks for batches can have begun to count the time, in nanoseconds.
const LAST_NS: u64 = 50_000_000;

/// A round at work.
pub(super) struct Round {
    sets: Vec<Arc<Set>>,
    together: Arc<Together>,
    team: Team<Outcome>,
    me: Member,
    work: FileWork,
    /// What all threads had done when the last batch ended.
    seen: u64,
    /// When the warm-up ends, and when the measured part.
    warm_until: Option<u64>,
    over_at: u64,
    intervals: Intervals,
    /// Nothing more is to be done.
    is_over: bool,
}

impl Round {
    /// Starts all threads; they wait for the first batch.
    pub(super) fn start(
        work: &FileWork,
        sets: Vec<Arc<Set>>,
        place: &Place,
    ) -> Result<Self, WorkError> {
        let of = |number: u32| Arc::clone(&sets[number as usize]);
        let doing = (0_u64..).zip(&work.tasks).map(|(number, task)| {
            let target = task.target.unwrap_or(task.set);
            let seed = place.seed.wrapping_add(number);
            Doing::new(task, &of(task.set), &of(target), seed)
        });
        let together = Arc::new(Together::new(doing.collect()));
        let mut works = Vec::new();
        for (number, task) in work.tasks.iter().enumerate() {
            for index in 0..task.threads {
                let thread = Thread::new(&together, (number, index), place.clock(), place.seed);
                works.push(move |member: &Member| thread.run(member));
            }
        }
        if work.tasks.iter().any(|task| task.rate.is_some()) {
            // Threads take it over from the one that starts them.
            sys::clock::sleep_exactly();
        }
        let team =
            Team::start(works).map_err(|error| WorkError::failed("start", "a thread", error))?;
        Ok(Self {
            sets,
            me: team.me(),
            team,
            together,
            work: work.clone(),
            seen: 0,
            warm_until: None,
            over_at: 0,
            intervals: Intervals::new(work),
            is_over: false,
        })
    }

    fn begin(&mut self) {
        let now = monotonic();
        self.over_at = now.saturating_add(self.work.elapsed.0);
        self.intervals.begin(now);
    }

    fn tallies(&self) -> impl Iterator<Item = &Tally> {
        let tasks = self.together.tasks.iter();
        tasks.flat_map(|doing| doing.tallies.iter().map(AsRef::as_ref))
    }

    /// Whether the time ends so soon that this is the last batch. Whoever asks for batches began to count the time
    /// earlier, and would end the round before its last interval is whole.
    fn is_last(&self, now: u64) -> bool {
        self.warm_until.is_none() && now.saturating_add(LAST_NS) >= self.over_at
    }

    /// Whether the time is over, the work is, or somebody ended it.
    fn looks_over(&self, now: u64) -> bool {
        let is_time = self.warm_until.is_none() && now >= self.over_at;
        is_time || self.team.everybody_ended() || sys::signal::interrupted().is_some()
    }
}

impl Round {
    /// Notes the intervals that have ended.
    fn look(&mut self, now: u64) {
        if self.warm_until.is_none() {
            let tasks = self.together.tasks.iter();
            let all = tasks.flat_map(|doing| doing.tallies.iter().map(AsRef::as_ref));
            self.intervals.look(now, self.is_over, || Sum::of(all));
        }
    }
}

impl Body for Round {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if self.me.part() == 0 {
            self.team.next_part();
            if self.work.warmup.0 > 0 {
                self.warm_until = Some(monotonic().saturating_add(self.work.warmup.0));
            } else {
                self.begin();
            }
        }
        loop {
            sys::clock::sleep(LOOK_NS);
            let now = monotonic();
            if self.looks_over(now) {
                self.together.stop.store(true, Ordering::Release);
                self.is_over = true;
            }
            self.look(now);
            let all = self.team.done();
            let done = all - self.seen;
            let is_warm = self.warm_until.is_some_and(|until| now >= until);
            if self.is_over || is_warm || (done >= ops && !self.is_last(now)) {
                self.seen = all;
                // Less than was asked for ends a part. What a warm-up counts is forgotten; threads that have been
                // stopped soon do nothing more.
                let counted = if is_warm {
                    done.min(ops.saturating_sub(1))
                } else {
                    done
                };
                return Ok(counted);
            }
        }
    }

    fn batch_target(&self) -> Nanos {
        Nanos::from_millis(20)
    }

    fn measured_part_begins(&mut self) {
        self.warm_until = None;
        self.begin();
        self.team.next_part();
        self.seen = self.team.done();
    }

    fn tick(&mut self, so_far: &mut SoFar) {
        let together = Arc::clone(&self.together);
        let does = spec::does(&self.work);
        so_far.make(move |finish, _| {
            let tasks = together.tasks.iter();
            let all = tasks.flat_map(|doing| doing.tallies.iter().map(AsRef::as_ref));
            report(&Sum::of(all), does, &mut finish.reported);
        });
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.together.stop.store(true, Ordering::Release);
        // Whoever ends the round may be a moment ahead of its last look.
        self.is_over = true;
        self.look(monotonic());
        let mut finish = Finish {
            series: self.intervals.series(&self.work),
            ..Finish::default()
        };
        let mut free_since = 0;
        for outcome in self.team.end() {
            outcome.recorded.add_to(&mut finish.latencies);
            finish.failed = finish.failed.or(outcome.failed);
            free_since = free_since.max(outcome.free_since);
        }
        // They have ended: nothing is counted any more.
        let sum = Sum::of(self.tallies());
        report(&sum, spec::does(&self.work), &mut finish.reported);
        self.sets.iter().for_each(|set| set.keep());
        finish.notes = self.notes(free_since);
        let has_work = !self.work.tasks.is_empty();
        if has_work
            && sum.asked == 0
            && finish.failed.is_none()
            && sys::signal::interrupted().is_none()
        {
            finish.failed = Some(self.nothing_done());
        }
        Ok(finish)
    }
}

impl Round {
    fn notes(&self, free_since: u64) -> Vec<String> {
        let mut notes = Vec::new();
        for set in self.sets.iter().filter(|set| set.made_anew) {
            notes.push(format!(
                "file set `{}` was made for this run: no set outlives a run",
                set.spec.name
            ));
        }
        for doing in &self.together.tasks {
            let (name, word) = (&doing.task.name, doing.task.operation.word());
            if doing.is_over.load(Ordering::Acquire) && doing.done() > 0 {
                notes.push(format!(
                    "`{name}` ended early: after {} operations nothing was left to {word}",
                    doing.done()
                ));
            }
            if let Some(behind) = doing.behind(free_since) {
                notes.push(format!("`{name}`: {behind}"));
            }
        }
        let shared = self.intervals.shared;
        if shared > 0 {
            notes.push(format!(
                "{shared} intervals ended while the machine let nobody look: each shows the mean of those it ended with"
            ));
        }
        notes
    }

    /// Why not one operation was done.
    fn nothing_done(&self) -> WorkError {
        let of = |doing: &Doing| {
            let set = &doing.set;
            let (there, full) = set.map.counts();
            let (name, word) = (&doing.task.name, doing.task.operation.word());
            format!(
                "file workload `{name}` found nothing to {word} in file set `{}`: of {} directories {} are there, of \
                 {} files {there}, of which {full} are full",
                set.spec.name,
                set.map.directories(),
                set.map.made(),
                set.map.files()
            )
        };
        let each: Vec<String> = self.together.tasks.iter().map(of).collect();
        let hint = match self.work.format.before {
            Before::Left => "format=no goes on with what the runs before left of a set",
            Before::Anew | Before::Missing => {
                "format=yes and format=restart make all of a set before the workload begins"
            }
            Before::Nothing => "format=clean removes a set before the workload begins",
        };
        WorkError::Failed(format!("{}; hint: {hint}", each.join("; ")))
    }
}

/// What is reported of all operations.
fn report(sum: &Sum, does: [bool; 13], reported: &mut BTreeMap<String, f64>) {
    let mut tell = |name: &str, value: u64| {
        reported.insert(name.to_owned(), approx(value));
    };
    for (kind, of) in EACH.iter().enumerate().filter(|(kind, _)| does[*kind]) {
        tell(of.reported[0], sum.ops[kind]);
        tell(of.reported[1], sum.ns[kind]);
    }
    tell(spec::READ_BYTES, sum.read_bytes);
    tell(spec::WRITE_BYTES, sum.write_bytes);
    tell(spec::ASKED_NS, sum.asked_ns);
}

/// What each interval of the report came to.
#[derive(Debug)]
struct Intervals {
    step: u64,
    next: u64,
    last: Sum,
    each: Vec<Sum>,
    /// How many of them ended while nobody could look.
    shared: u64,
}

impl Intervals {
    fn new(work: &FileWork) -> Self {
        let step = work.interval.0;
        let count = work.elapsed.0.checked_div(step).unwrap_or(0);
        // Room for all is taken now; what does not fit is not told.
        let count = usize::try_from(count.min(INTERVALS_MAX)).unwrap_or(0);
        Self {
            step,
            next: u64::MAX,
            last: Sum::default(),
            each: Vec::with_capacity(count),
            shared: 0,
        }
    }

    fn begin(&mut self, now: u64) {
        self.last = Sum::default();
        self.each.clear();
        self.shared = 0;
        self.next = if self.step > 0 {
            now.saturating_add(self.step)
        } else {
            u64::MAX
        };
    }

    /// Notes what those intervals came to that have ended by now.
    fn look(&mut self, now: u64, is_over: bool, sum: impl FnOnce() -> Sum) {
        // The last one ends with the time, a moment before or after.
        let now = now.saturating_add(if is_over { LOOK_NS } else { 0 });
        let Some(late) = now.checked_sub(self.next) else {
            return;
        };
        let ended = late / self.step + 1;
        let sum = sum();
        // Where this thread was held back for longer than one, they share what they came to together.
        let share = sum.since(&self.last).part_of(ended);
        self.last = sum;
        self.next = self.next.saturating_add(ended.saturating_mul(self.step));
        if ended > 1 {
            self.shared += ended;
        }
        let room = self.each.capacity() - self.each.len();
        let ended = usize::try_from(ended).unwrap_or(room).min(room);
        self.each.extend(std::iter::repeat_n(share, ended));
    }

    fn series(&self, work: &FileWork) -> BTreeMap<String, Series> {
        if self.step == 0 {
            return BTreeMap::new();
        }
        let seconds = Nanos(self.step).as_secs_f64();
        let of = |name: &str, value: &dyn Fn(&Sum) -> Option<f64>| {
            let values = self.each.iter().map(value).collect();
            let step = Nanos(self.step);
            (name.to_owned(), Series { step, values })
        };
        let rate = |amount: u64| Some(approx(amount) / seconds);
        let mean = |ns: u64, ops: u64| (ops > 0).then(|| approx(ns) / approx(ops));
        let [ops, resp, read, write] = &spec::SERIES;
        let mut all = BTreeMap::from([
            of(ops.quantity, &|sum| rate(sum.asked)),
            of(resp.quantity, &|sum| mean(sum.asked_ns, sum.asked)),
            of(read.quantity, &|sum| rate(sum.read_bytes)),
            of(write.quantity, &|sum| rate(sum.write_bytes)),
        ]);
        let does = spec::does(work);
        for (kind, one) in EACH.iter().enumerate().filter(|(kind, _)| does[*kind]) {
            let [per_s, ns] = &one.series;
            all.extend([
                of(per_s.quantity, &|sum| rate(sum.ops[kind])),
                of(ns.quantity, &|sum| mean(sum.ns[kind], sum.ops[kind])),
            ]);
        }
        all
    }
}

/// Intervals of a round that are told at most: a day of seconds.
const INTERVALS_MAX: u64 = 86_400;

/// Sees to it that the sets are as the case asks for before its tasks begin. `anew` removes them first where that is
/// asked for.
pub(super) fn stand(
    work: &FileWork,
    place: &Place,
    anew: bool,
    tell: &mut dyn FnMut(model::units::Bytes),
) -> Result<Vec<Set>, WorkError> {
    use super::set::Found;
    let mut before = 0;
    let mut sets = Vec::new();
    for (number, spec) in (0..).zip(&work.sets) {
        let (mut set, found) = Set::open(spec, place)?;
        let removes = match work.format.before {
            Before::Nothing => found == Found::Left,
            Before::Anew => anew && found == Found::Left,
            Before::Left | Before::Missing => false,
        };
        if removes {
            set = set.clear()?;
        }
        let part = match (make::asked(&work.format), found) {
            (Some(part), _) => part,
            (None, Found::Nothing) => make::needed(work, number),
            (None, Found::Left) => make::Part::Nothing,
        };
        let says = matches!(work.format.before, Before::Left | Before::Missing);
        if !make::has(&set, part) {
            set.forget()?;
            let way = make::Way {
                format: &work.format,
                dir: place.run_dir_at(&spec.anchor),
                before,
            };
            before += make::make(&set, part, way, tell)?;
            set.look()?;
            set.made_anew = set.made_anew || (says && found == Found::Nothing);
            if !make::has(&set, part) {
                return Err(WorkError::Wrong(format!(
                    "file set `{}` was made and is not there in whole: {} of {} directories, {} of {} files",
                    set.spec.name,
                    set.map.made(),
                    set.map.directories(),
                    set.map.counts().1,
                    set.map.files()
                )));
            }
        }
        set.keep();
        sets.push(set);
    }
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_at_which_nobody_looked_in_time_share_what_they_came_to() {
        let work = FileWork {
            elapsed: Nanos::from_secs(4),
            interval: Nanos::from_secs(1),
            ..FileWork::default()
        };
        let mut intervals = Intervals::new(&work);
        let all_asked = |asked: u64| {
            move || Sum {
                asked,
                ..Sum::default()
            }
        };
        let at = |millis: u64| Nanos::from_millis(millis).0;
        intervals.begin(0);
        intervals.look(at(999), false, all_asked(99));
        intervals.look(at(1000), false, all_asked(100));
        intervals.look(at(3300), false, all_asked(400));
        intervals.look(at(4000) - LOOK_NS, true, all_asked(450));
        let asked: Vec<u64> = intervals.each.iter().map(|sum| sum.asked).collect();
        assert_eq!((asked, intervals.shared), (vec![100, 150, 150, 50], 2));
        // Beyond the time that was asked for nothing is told.
        intervals.look(at(9000), true, all_asked(500));
        assert_eq!(intervals.each.len(), 4);
    }
}
