//! What the four tests of sysbench share: the version they imitate, the metrics, and threads that run events freely.
//!
//! Threads are never started or woken for a batch, because that would be part of the figure: they run from the first
//! batch to the end, and the caller counts what all of them have done. A thread that ends early fails the round.

use crate::arrivals::{Queue, Schedule};
use crate::open_loop::{Open, Tally, locked};
use engine::recorder::{Latencies, Recorder};
use engine::workload::{Place, WorkError};
use model::latency::LAT;
use model::params::Params;
use model::spec::{Amount, How, MetricClass, MetricDef, ParamDef, ParamKind, Stat, Time};
use model::units::Unit;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use sys::clock::monotonic;
use sys::loops::around::Around;
use sys::loops::failure::Failure;
use sys::loops::team::{Member, Team};

/// Which sysbench an event imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// 1.0 and 1.1.
    V10,
    /// 0.4, which distributions shipped until about 2017.
    V04,
}

impl Version {
    /// Reads the parameter [`VERSION`].
    pub(crate) fn of(params: &Params) -> Self {
        match params.text("version") {
            "0.4" => Self::V04,
            _ => Self::V10,
        }
    }
}

/// The parameter that all of them have.
pub(crate) const VERSION: ParamDef = ParamDef {
    name: "version",
    kind: ParamKind::Choice(&["1.0", "0.4"]),
    default: "1.0",
    doc: "The sysbench whose events these are, where versions differ.",
};

/// Events per second: what sysbench prints first.
pub(crate) const fn events_per_s(class: MetricClass, doc: &'static str) -> MetricDef {
    let how = How::Per(Amount::Work, Time::Wall);
    MetricDef::rate("ops_per_s", Unit::OpsPerSecond, class, how, doc)
}

/// Events per second of CPU time: what a second on a CPU is worth.
pub(crate) const fn events_per_cpu_s(class: MetricClass) -> MetricDef {
    MetricDef::rate(
        "ops_per_cpu_s",
        Unit::OpsPerSecond,
        class,
        How::Per(Amount::Work, Time::Cpu),
        "The same events over the CPU time, user and system, that all copies together spent meanwhile.",
    )
}

/// The average time per event.
pub(crate) const LAT_MEAN: MetricDef = MetricDef::time(
    "lat_ns_mean",
    MetricClass::LatencyTypical,
    How::Of(LAT, Stat::Mean),
    "Mean time of an event, from its beginning, or its arrival where it arrives by itself, to its end, over all copies: \
     the average time per event.",
);
/// The shortest event.
pub(crate) const LAT_MIN: MetricDef = MetricDef::time(
    "lat_ns_min",
    MetricClass::LatencyTypical,
    How::Of(LAT, Stat::Shortest),
    "The shortest event, over all copies.",
);
/// The 95th percentile, which sysbench prints by default.
pub(crate) const LAT_P95: MetricDef = MetricDef::time(
    "lat_ns_p95",
    MetricClass::LatencyTail,
    How::Of(LAT, Stat::Quantile(0.95)),
    "95 % of the events of all copies took no longer.",
);
/// The same where an event takes a good part of a second.
pub(crate) const LAT_P95_OF_FEW: MetricDef = MetricDef::time(
    "lat_ns_p95",
    MetricClass::LatencyTail,
    How::Of(LAT, Stat::QuantileOfFew(0.95)),
    "95 % of the events of all copies took no longer; with the usual parameters a round has some 20 to 50 of them, so that \
     it is the second or third longest.",
);
/// The longest event.
pub(crate) const LAT_MAX: MetricDef = MetricDef::time(
    "lat_ns_max",
    MetricClass::LatencyExtreme,
    How::Of(LAT, Stat::Longest),
    "The longest event, over all copies.",
);

/// What one thread needs to run events: made in the thread that runs them.
pub(crate) trait Events: Send + 'static {
    /// Runs one event, or the next part of one.
    fn event(&mut self) -> Result<(), Failure>;

    /// What is counted per event: 1, or its parts where an event takes so long that a round holds only a few.
    fn parts(&self) -> u64 {
        1
    }

    /// Whether the part of an event just done was its last.
    fn whole(&self) -> bool {
        true
    }

    /// Forgets the latencies that it recorded by itself: the measured part begins.
    fn forget(&mut self) {}

    /// What is left to do after the last event, where it must end without a failure.
    fn end(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// What the last event was about, for the message about one that failed.
    fn object(&self) -> String {
        "a thread".to_owned()
    }
}

/// How single events are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Not at all.
    Off,
    /// With our own clock and histogram.
    Own,
    /// With the calls of the original, which then are part of the figure: for events so short that its figure is one of
    /// its clock. Such events have no parts.
    Theirs,
}

/// A thread's event failed.
#[cold]
fn failed(events: &impl Events, failure: &Failure) -> WorkError {
    crate::os::failed(failure, events.object())
}

/// What a thread hands over.
type Outcome<E> = (E, Recorder, Option<Open>, Option<Failure>);

/// As many threads as there are copies, each with its own events: the caller runs the first.
pub(crate) struct Threads<E: Events> {
    team: Team<Outcome<E>>,
    me: Member,
    own: E,
    recorder: Recorder,
    /// What the original spends around an event, where that is part of the figure.
    around: Option<Arc<Around>>,
    /// Done by all when the last batch ended.
    seen: u64,
    /// The lap that an event of several parts began in.
    began: Option<u64>,
    clock: sys::clock::Clock,
    /// When this thread's events arrive, where they do by themselves.
    open: Option<Open>,
    /// What was recorded of everybody's events that arrive by themselves.
    tallies: Vec<Arc<Mutex<Tally>>>,
    /// The events of the others and their latencies, once they have ended.
    others: Vec<E>,
}

impl<E: Events> Threads<E> {
    /// Starts all threads but the caller's; they wait for the first batch.
    pub(crate) fn start(
        place: &Place,
        make: impl FnMut(u32) -> E,
        timing: Timing,
    ) -> Result<Self, WorkError> {
        Self::start_at(place, make, timing, |_| None)
    }

    /// The same where the events of each thread, which have one part, arrive by themselves in a queue, and are timed
    /// from then on with our own clock whatever `timing` says.
    pub(crate) fn start_at(
        place: &Place,
        mut make: impl FnMut(u32) -> E,
        timing: Timing,
        queue: impl Fn(u32) -> Option<Queue>,
    ) -> Result<Self, WorkError> {
        let clock = place.clock();
        let mut tallies = Vec::new();
        let mut open = |index: u32| {
            let open = Open::new(queue(index)?);
            tallies.push(open.tally());
            Some(open)
        };
        let own_open = open(0);
        let is_open = own_open.is_some();
        if is_open {
            // Threads take it over from the one that starts them.
            sys::clock::sleep_exactly();
        }
        let recorder = || match timing {
            Timing::Own | Timing::Theirs if !is_open => Recorder::on(clock),
            // Or it is recorded behind its queue.
            _ => Recorder::off(),
        };
        let around = (timing == Timing::Theirs).then(|| Arc::new(Around::new()));
        let own = make(0);
        let works = (1..place.copies.max(1)).map(|index| {
            let events = make(index);
            let recorder = recorder();
            let around = around.clone();
            let open = open(index);
            move |member: &Member| match open {
                None => run(member, events, recorder, around.as_deref(), clock),
                Some(open) => run_open(member, events, open),
            }
        });
        // A library that knows of one thread alone leaves the atomic instructions of its mutexes away; the threads of
        // the original are never alone.
        let works: Vec<_> = works.collect();
        sys::loops::team::second_thread()
            .and_then(|()| Team::start(works))
            .map_err(|error| WorkError::failed("start", "a thread", error))
            .map(|team| Self {
                me: team.me(),
                team,
                own,
                recorder: recorder(),
                around,
                seen: 0,
                began: None,
                clock,
                open: own_open,
                tallies,
                others: Vec::new(),
            })
    }

    /// Runs events in the calling thread until all threads together have done `ops` more, and returns how many they
    /// did.
    pub(crate) fn batch(&mut self, ops: u64) -> Result<u64, WorkError> {
        if self.me.part() == 0 {
            self.team.next_part();
        }
        if self.open.is_some() {
            return self.batch_open(ops);
        }
        // Counting all threads costs a cache line of each, so not after every short event of one's own.
        let between = (ops / u64::from(self.count()) / 8).max(1);
        loop {
            for _ in 0..between {
                one(
                    &mut self.own,
                    &mut self.recorder,
                    self.around.as_deref(),
                    &mut self.began,
                    self.clock,
                )
                .map_err(|failure| failed(&self.own, &failure))?;
                self.me.add(1);
            }
            if let Some(done) = self.done(ops)? {
                return Ok(done);
            }
        }
    }

    /// The same where events arrive by themselves.
    fn batch_open(&mut self, ops: u64) -> Result<u64, WorkError> {
        loop {
            if let Some(open) = &mut self.open {
                let one = open.one(&mut self.own);
                let is_done = one.map_err(|failure| failed(&self.own, &failure))?;
                self.me.add(u64::from(is_done));
            }
            if let Some(done) = self.done(ops)? {
                return Ok(done);
            }
        }
    }

    /// What all threads together have done since this last said so; `None` before it is `ops`.
    fn done(&mut self, ops: u64) -> Result<Option<u64>, WorkError> {
        let all = self.team.done();
        let done = all - self.seen;
        if done >= ops {
            self.seen = all;
            Ok(Some(done))
        } else if self.team.anybody_ended() {
            // It says why, if it can.
            self.end()?;
            let why = "run events: a thread has ended early";
            Err(WorkError::Failed(why.to_owned()))
        } else {
            Ok(None)
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.team.len() + 1).unwrap_or(u32::MAX)
    }

    /// Forgets the latencies of the warm-up.
    pub(crate) fn measured_part_begins(&mut self) {
        self.recorder.clear();
        self.own.forget();
        self.forget();
        self.team.next_part();
        self.seen = self.team.done();
    }

    /// Forgets what was recorded of events that arrive by themselves.
    pub(crate) fn forget(&self) {
        for tally in &self.tallies {
            locked(tally).clear();
        }
    }

    /// From now on the events of all threads, which share one queue, arrive by this schedule, or one after the other;
    /// those that take longer than the limit are counted apart.
    pub(crate) fn replace(&self, schedule: Option<Schedule>, limit_ns: u64) {
        if let Some(open) = &self.open {
            open.queue.replace(schedule);
        }
        for tally in &self.tallies {
            let mut tally = locked(tally);
            tally.clear();
            tally.limit_ns = limit_ns;
        }
    }

    /// Events that ended since the last of both, and those of them that took longer than the limit.
    pub(crate) fn counted(&self) -> (u64, u64) {
        let both = self.tallies.iter().map(|tally| {
            let tally = locked(tally);
            (tally.all, tally.beyond)
        });
        both.fold((0, 0), |sum, both| (sum.0 + both.0, sum.1 + both.1))
    }

    /// What was recorded of them.
    pub(crate) fn tally(&self) -> Tally {
        let mut all = Tally::default();
        for tally in &self.tallies {
            all.absorb(&locked(tally));
        }
        all
    }

    /// Whether more arrives than is done.
    pub(crate) fn is_behind(&self) -> bool {
        let now = monotonic();
        let open = self.open.as_ref();
        open.is_some_and(|open| open.queue.behind(now).is_some())
    }

    /// How many have waited for their start longer than this, in nanoseconds; nothing that waits begins any more.
    pub(crate) fn overdue(&self, limit_ns: u64) -> u64 {
        let now = monotonic();
        let mut overdue = 0;
        if let Some(open) = &self.open {
            open.queue.drain(now, |since, number| {
                if now.saturating_sub(since) > limit_ns {
                    overdue += number;
                }
            });
        }
        overdue
    }

    /// Ends the other threads and takes over their events and latencies. What has arrived by now and could not begin is
    /// recorded with what it has waited.
    pub(crate) fn end(&mut self) -> Result<(), WorkError> {
        let now = monotonic();
        if let Some(open) = &mut self.open {
            open.behind = open.queue.behind(now);
            open.give_up(now);
        }
        for (events, recorder, open, failure) in self.team.end() {
            if let Some(failure) = failure {
                return Err(failed(&events, &failure));
            }
            self.recorder.absorb(&recorder);
            if let Some(mut open) = open {
                open.give_up(now);
            }
            self.others.push(events);
        }
        self.own
            .end()
            .map_err(|failure| failed(&self.own, &failure))
    }

    /// What must be said of events that arrive by themselves, after the end.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.open
            .iter()
            .filter_map(|open| open.behind.clone())
            .collect()
    }

    /// Everybody's events; those of the other threads once they have ended.
    pub(crate) fn all(&self) -> impl Iterator<Item = &E> {
        std::iter::once(&self.own).chain(&self.others)
    }

    /// Latencies of all threads; those of the others once they have ended.
    pub(crate) fn latencies(&self) -> BTreeMap<String, Latencies> {
        match &self.open {
            None => self.recorder.named(),
            Some(_) => self.tally().named(),
        }
    }
}

fn run_open<E: Events>(member: &Member, mut events: E, mut open: Open) -> Outcome<E> {
    member.wait();
    while !member.stopped() {
        match open.one(&mut events) {
            Ok(is_done) => member.add(u64::from(is_done)),
            Err(failure) => return (events, Recorder::off(), Some(open), Some(failure)),
        }
    }
    let failure = events.end().err();
    (events, Recorder::off(), Some(open), failure)
}

/// One part of an event, and its latency where it was the last.
#[inline]
fn one<E: Events>(
    events: &mut E,
    recorder: &mut Recorder,
    around: Option<&Around>,
    began: &mut Option<u64>,
    clock: sys::clock::Clock,
) -> Result<(), Failure> {
    if let Some(around) = around {
        let (result, nanos) = around.time(|| events.event());
        recorder.add(nanos);
        return result;
    }
    if events.parts() == 1 {
        return recorder.time(|| events.event());
    }
    let start = *began.get_or_insert_with(|| clock.tick());
    events.event()?;
    if events.whole() {
        let end = clock.tick();
        recorder.add(clock.nanos(start, end));
        *began = None;
    }
    Ok(())
}

fn run<E: Events>(
    member: &Member,
    mut events: E,
    mut recorder: Recorder,
    around: Option<&Around>,
    clock: sys::clock::Clock,
) -> Outcome<E> {
    member.wait();
    let mut part = member.part();
    let mut began = None;
    while !member.stopped() {
        if let Err(failure) = one(&mut events, &mut recorder, around, &mut began, clock) {
            return (events, recorder, None, Some(failure));
        }
        member.add(1);
        let now = member.part();
        if now != part {
            if !member.stopped() {
                recorder.clear();
                events.forget();
            }
            part = now;
        }
    }
    let failure = events.end().err();
    (events, recorder, None, failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::workload::Workload;
    use model::params::ParamValue;
    use model::units::Bytes;

    type Defaults = Vec<(&'static str, ParamValue)>;

    /// The four, each with what the original does where nobody asks for anything else: its public documentation, and
    /// the usage text of `sysbench TEST help`.
    fn originals() -> [(&'static dyn Workload, Defaults); 4] {
        let word = |text: &str| ParamValue::Text(text.to_owned());
        [
            (
                &crate::cpu::PRIME,
                vec![("max_prime", ParamValue::Count(10_000))],
            ),
            (
                &crate::os::THREADS,
                vec![
                    ("yields", ParamValue::Count(1_000)),
                    ("locks", ParamValue::Count(8)),
                    ("rate", ParamValue::Count(0)),
                    ("arrivals", word("linear")),
                ],
            ),
            (
                &crate::os::MUTEX,
                vec![
                    ("mutexes", ParamValue::Count(4_096)),
                    ("locks", ParamValue::Count(50_000)),
                    ("loops", ParamValue::Count(10_000)),
                ],
            ),
            (
                &crate::memory::BLOCK,
                vec![
                    ("block_size", ParamValue::Size(Bytes(1_024))),
                    ("scope", word("global")),
                    ("oper", word("write")),
                    ("mode", word("seq")),
                    ("timing", word("sysbench")),
                ],
            ),
        ]
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        for (workload, mut expected) in originals() {
            let spec = workload.spec();
            expected.push(("version", ParamValue::Text("1.0".to_owned())));
            let params = Params::resolve(spec, []).unwrap();
            let mut found: Vec<(&str, ParamValue)> = params
                .iter()
                .map(|(name, value)| (name, value.clone()))
                .collect();
            found.sort_by_key(|(name, _)| *name);
            expected.sort_by_key(|(name, _)| *name);
            assert_eq!(found, expected, "{}", spec.name);
            // The first test of each is the plain one.
            assert!(spec.tests[0].params.is_empty(), "{}", spec.name);
        }
    }

    #[test]
    fn each_tells_its_events_per_wall_second_and_per_cpu_second() {
        for (workload, _) in originals() {
            let spec = workload.spec();
            let of = |quantity: &str| {
                let mut metrics = spec.metrics.iter();
                metrics
                    .find(|def| def.quantity == quantity)
                    .unwrap_or_else(|| panic!("{} {quantity}", spec.name))
            };
            let (wall, cpu) = (of("ops_per_s"), of("ops_per_cpu_s"));
            assert_eq!((wall.unit, wall.class), (cpu.unit, cpu.class));
            // Where the work of an event is more than 1, a rate of work is none of events.
            let expected = match wall.how {
                How::Per(amount, Time::Wall) => How::Per(amount, Time::Cpu),
                other => panic!("{} {other:?}", spec.name),
            };
            assert_eq!(cpu.how, expected, "{}", spec.name);
            assert_eq!(
                of("lat_ns_mean").how,
                How::Of(LAT, Stat::Mean),
                "{}",
                spec.name
            );
        }
    }
}
