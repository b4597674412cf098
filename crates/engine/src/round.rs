//! One round: fresh workers, a gate, a deadline, a clean-up.

mod crew;
mod errand;

pub(crate) use errand::{Asked, NotDone, errand, not_begun};

use self::crew::{Crew, Heard, Stage, Stop};
use crate::consent::Permits;
use crate::counter::Counter;
use crate::noise::{Snapshot, Watch, Workers, sentinel};
use crate::set_up::{NotSetUp, SetUp};
use crate::soak::{Moment, Stretching};
use crate::tick::Ticks;
use crate::wire::{CopyReport, Go, Order};
use crate::workdir::{RUN_DIR, WorkDir};
use crate::workload::{Place, StandIn};
use model::order::Keyed as _;
use model::plan::{PlannedCase, Settle};
use model::record::{Outcome, Round};
use model::rng::Rng;
use model::soak::Stretch;
use model::units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use sys::clock::monotonic;

/// What stays the same for all rounds of a run.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) watch: &'a Watch,
    pub(crate) work_dir: &'a WorkDir,
    /// Further work directories, by the directories in which the plan asks for them.
    pub(crate) anchors: Vec<(&'a Path, &'a WorkDir)>,
    pub(crate) cpus: &'a [u32],
    pub(crate) counter: Counter,
    /// What sets this side up before each round.
    pub(crate) set_up: Option<SetUp<'a>>,
    /// What stands in for what this side's cases would make themselves.
    pub(crate) stand_ins: Vec<StandIn>,
    pub(crate) permits: &'a Permits,
    /// When it is to be told how far a round is; `None` where nobody asks.
    pub(crate) ticks: Option<Ticks>,
}

impl Bench<'_> {
    /// Whether an earlier part of the run may have left something of what rounds stand on.
    pub(crate) fn is_taken_up(&self) -> bool {
        let further = self.anchors.iter().map(|(_, dir)| *dir);
        further.chain([self.work_dir]).any(WorkDir::is_taken_up)
    }

    /// The further work directories in which the case works.
    fn further(&self, case: &PlannedCase) -> impl Iterator<Item = (&Path, &WorkDir)> {
        let anchors = self.anchors.iter().copied();
        anchors.filter(|(anchor, _)| case.anchors.iter().any(|own| own == anchor))
    }

    /// What a worker inherits, so that no name above them leads it there.
    fn handles(&self, case: &PlannedCase) -> Vec<&File> {
        self.further(case).map(|(_, dir)| dir.handle()).collect()
    }

    /// What all rounds share in them, as the worker reaches it.
    fn anchors(&self, case: &PlannedCase) -> BTreeMap<PathBuf, PathBuf> {
        let further = self.further(case);
        further
            .map(|(anchor, dir)| (anchor.to_owned(), dir.here().join(RUN_DIR)))
            .into_map()
    }
}

/// Which round it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Which {
    pub(crate) pass: u32,
    /// Position in the run, from 1.
    pub(crate) seq: u32,
    /// Number within the case, from 1.
    pub(crate) number: u32,
    pub(crate) layout_seed: u64,
    /// What it needs of another case.
    pub(crate) known: Option<f64>,
    /// What it may move to a peer and from there.
    pub(crate) bytes_left: Option<Bytes>,
    /// What the round is for in a soak, and the soak's time.
    pub(crate) stretch: Option<Stretching>,
}

/// The user interrupted: there is no round.
#[derive(Debug)]
pub(crate) struct Interrupted;

/// Checking results and ending children may take this long.
const FINISH_DEADLINE: Nanos = Nanos::from_secs(60);

/// How much longer each stage may take for every further copy that a CPU has to serve: a copy waits for a turn of all
/// the others, a few milliseconds each, before it does anything, and a round takes some dozens of such turns.
const GRACE_PER_SHARER: Nanos = Nanos::from_millis(250);

/// The grace of a case whose copies have to share `cpus` CPUs.
fn crowd_grace(copies: u32, cpus: usize) -> Nanos {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
    let sharers = copies.div_ceil(cpus).saturating_sub(1);
    Nanos(GRACE_PER_SHARER.0.saturating_mul(u64::from(sharers)))
}

/// From the order to open the gate until it opens, for each copy: the time the order needs to reach it.
const GATE_PER_COPY: Nanos = Nanos(200_000);

/// Executes one round from set-up to clean-up; `hear` takes what it has come to so far, at every tick.
pub(crate) fn execute(
    bench: &Bench<'_>,
    case: &PlannedCase,
    which: Which,
    hear: &mut dyn FnMut(&Round),
) -> Result<Round, Interrupted> {
    let begin = monotonic();
    let start = Moment::now();
    let prepared = match bench.set_up.map(SetUp::run) {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(NotSetUp::Failed(failure))) => Err(Stop::Failed(failure)),
        Some(Err(NotSetUp::Interrupted)) => return Err(Interrupted),
    };
    if prepared.is_ok() {
        settle(case.shape.settle)?;
    }
    let mut noise = model::noise::Noise::default();
    let place = first_place(&mut Rng::new(which.layout_seed), bench.cpus);
    let first_cpu = bench.cpus.get(place).copied();
    if !case.simulated {
        noise.before = sentinel(first_cpu);
    }
    let dir = RoundDir::of(bench.work_dir, format!("round-{}", which.seq));
    let mut crew = Crew::default();
    let ns_per_tick = bench.counter.rate();
    let so_far = |outcome| Round {
        case: case.id.clone(),
        pass: which.pass,
        seq: which.seq,
        started: start.wall(),
        took: Nanos(monotonic() - begin),
        errands: Vec::new(),
        layout_seed: which.layout_seed,
        outcome,
        partial: None,
        moved: None,
        stretch: None,
        noise: model::noise::Noise::default(),
    };
    let mut tick = |reports| hear(&so_far(crate::combine::so_far(case, reports)));
    let result = prepared.and_then(|()| {
        measure(
            bench,
            case,
            which,
            (ns_per_tick, &dir),
            &mut crew,
            &mut tick,
        )
    });
    let moved = crew.moved();
    crew.dismiss();
    let (outcome, partial) = match result {
        Ok((reports, snapshots)) => {
            if let Some((before, after)) = snapshots {
                let sum = |of: fn(&CopyReport) -> u64| reports.iter().map(of).sum();
                let parties: Vec<u32> = reports.iter().filter_map(|copy| copy.party).collect();
                let workers = Workers {
                    groups: &crew.groups,
                    parties: &parties,
                    cpu_ns: sum(|copy| copy.record.user.0 + copy.record.system.0),
                    voluntary_switches: sum(|copy| copy.detail.voluntary_switches),
                    involuntary_switches: sum(|copy| copy.detail.involuntary_switches),
                    wall_ns: demanded_ns(case, &reports),
                };
                let after_probe = sentinel(first_cpu);
                noise = model::noise::Noise {
                    before: noise.before,
                    after: after_probe,
                    ..bench.watch.noise(&before, &after, workers)
                };
            }
            let (outcome, partial) = crate::combine::outcome(case, reports);
            let notes = [
                crew.is_ending.then(|| INTERRUPTED.to_owned()),
                bench.counter.lost(ns_per_tick),
            ];
            (told(outcome, notes), partial)
        }
        Err(Stop::Interrupted) => {
            let _ = fs::remove_dir_all(&dir.here);
            return Err(Interrupted);
        }
        Err(Stop::Failed(failure)) => (Outcome::Failed(failure), None),
    };
    // A directory that cannot be removed now goes with the work directory at the end.
    let _ = fs::remove_dir_all(&dir.here);
    let stretch = which.stretch.map(|stretching| {
        // A stretch that failed before its gate opened began when it started.
        let (began, elapsed) = stretching.clock.tell(crew.opens.unwrap_or(start));
        Stretch {
            kind: stretching.kind,
            began,
            elapsed,
            suspended_before: stretching.suspended_before,
        }
    });
    Ok(Round {
        partial,
        moved,
        stretch,
        noise,
        ..so_far(outcome)
    })
}

/// What the copies of a round share, in its directory.
const SHARED: &str = "shared";

/// The directory of a round, by the three ways that lead to it.
struct RoundDir {
    name: String,
    /// By the handle of the work directory, in this process.
    here: PathBuf,
    /// By its name, for words alone: somebody may have put another in its place.
    told: PathBuf,
}

impl RoundDir {
    fn of(work_dir: &WorkDir, name: String) -> Self {
        Self {
            here: work_dir.here().join(&name),
            told: work_dir.path().join(&name),
            name,
        }
    }

    fn create(&self, inside: &str) -> Result<(), Stop> {
        let told = || self.told.join(inside);
        fs::create_dir(self.here.join(inside))
            .map_err(|error| Stop::error("create directory", told().display(), error))
    }

    /// The work directory, from any directory right inside a round's.
    fn top() -> PathBuf {
        "../..".into()
    }

    /// A directory right inside, for a worker in one of them: the way up from there nobody else can turn aside.
    fn seen_inside(&self, name: &str) -> PathBuf {
        Self::top().join(&self.name).join(name)
    }
}

/// Said where the user ended a round.
const INTERRUPTED: &str = "interrupted: this is what was done until then";

/// The outcome, with what the supervisor has to say about it.
fn told(mut outcome: Outcome, notes: [Option<String>; 2]) -> Outcome {
    if let Outcome::Done(done) = &mut outcome {
        done.notes.extend(notes.into_iter().flatten());
    }
    outcome
}

/// The reports, and the counters before and after where the case uses the machine.
type Measured = (Vec<CopyReport>, Option<(Snapshot, Snapshot)>);

fn measure(
    bench: &Bench<'_>,
    case: &PlannedCase,
    which: Which,
    (ns_per_tick, dir): (Option<f64>, &RoundDir),
    crew: &mut Crew,
    tick: &mut dyn FnMut(Vec<CopyReport>),
) -> Result<Measured, Stop> {
    crew.memory_kills = bench.watch.memory_kills();
    // Not with its parents: a work directory that somebody removed must not come back without its marker.
    dir.create("")?;
    dir.create(SHARED)?;
    let mut rng = Rng::new(which.layout_seed);
    let first_place = first_place(&mut rng, bench.cpus);
    // Threads belong to the one worker of copy 0, which starts them by itself.
    let workers = if case.shape.threads {
        1
    } else {
        case.id.copies
    };
    for copy in 0..workers {
        let own = format!("copy-{copy}");
        dir.create(&own)?;
        let spread = first_place + usize::try_from(copy).unwrap_or(0);
        let order = Order {
            workload: case.workload.clone(),
            params: case.params.clone(),
            shape: case.shape,
            place: Place {
                dir: dir.seen_inside(&own),
                shared_dir: dir.seen_inside(SHARED),
                run_dir: RoundDir::top().join(RUN_DIR),
                anchors: bench.anchors(case),
                copy,
                copies: case.id.copies,
                round: which.number,
                seed: rng.next(),
                warmup: case.shape.warmup,
                measure: case.shape.measure,
                ns_per_tick,
                stand_in: None,
                bytes_left: which.bytes_left,
                known: which.known,
                permits: bench.permits.clone(),
            },
            stand_ins: bench.stand_ins.clone(),
            errand: None,
            cpu: (!bench.cpus.is_empty()).then(|| bench.cpus[spread % bench.cpus.len()]),
            ticks: bench.ticks.is_some(),
        };
        let handles = bench.handles(case);
        crew.hire(&order, &dir.here.join(&own), &handles, rng.below(4096))?;
    }
    let grace = crowd_grace(case.id.copies, bench.cpus.len());
    crew.wait_for(Stage::Ready, case.shape.setup_max.plus(grace))?;
    crew.ends_early = case.shape.ends_early;
    let before = (!case.simulated).then(|| bench.watch.snapshot());
    let gate = GATE_PER_COPY
        .0
        .saturating_mul(u64::from(case.id.copies) + 1);
    let at = monotonic() + gate;
    let own = case.shape.interval.map(|every| Ticks::new(at, every));
    let ticks = bench.ticks.map(|ticks| own.unwrap_or(ticks));
    crew.open_gate(&Go { at, ticks })?;
    crew.opens = Some(Moment::now().later(Nanos(gate).plus(case.shape.warmup)));
    crew.ticks = ticks.map(|ticks| (ticks, ticks.after(monotonic())));
    crew.wait_and_hear(
        Stage::Measured,
        case.shape.hangs_after().plus(grace),
        &mut |heard| {
            if let Heard::Tick(reports) = heard {
                tick(reports);
            }
        },
    )?;
    let after = (!case.simulated).then(|| bench.watch.snapshot());
    crew.wait_for(Stage::Done, FINISH_DEADLINE.plus(grace))?;
    Ok((crew.reports(), before.zip(after)))
}

/// Where among `cpus` the first copy starts: the first draw of the round's generator.
fn first_place(rng: &mut Rng, cpus: &[u32]) -> usize {
    rng.index(cpus.len())
}

/// Time that all copies together asked of the CPUs, in nanoseconds: a worker with threads asks for each of them.
fn demanded_ns(case: &PlannedCase, reports: &[CopyReport]) -> u64 {
    let wall: u64 = reports.iter().map(|report| report.record.wall.0).sum();
    wall.saturating_mul(u64::from(case.cpus_of_each()))
}

fn settle(settle: Settle) -> Result<(), Interrupted> {
    let pause = |secs: u64| {
        sys::process::sync();
        sys::clock::sleep(Nanos::from_secs(secs).0);
        if sys::signal::interrupted().is_some() {
            Err(Interrupted)
        } else {
            Ok(())
        }
    };
    match settle {
        Settle::None => Ok(()),
        Settle::Sync => pause(0),
        Settle::SyncSleep => pause(1).and_then(|()| pause(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_share_cpus_are_waited_for_longer_and_others_are_not() {
        for (copies, cpus, millis) in [
            (1, 2, 0),
            (2, 2, 0),
            (3, 2, 250),
            (8, 2, 750),
            (1000, 2, 124_750),
            (4, 0, 750),
        ] {
            let expect = Nanos::from_millis(millis);
            assert_eq!(crowd_grace(copies, cpus), expect, "{copies} on {cpus}");
        }
    }
}
