//! An errand: one worker that makes, checks or removes what rounds stand on, or looks whether a server is there, with a
//! deadline of its own.

use super::crew::{Crew, Heard, Stage, Stop};
use super::{Bench, RoundDir, SHARED, Which};
use crate::set_up::{NotSetUp, SetUp};
use crate::soak::Moment;
use crate::wire::{Order, Sent};
use crate::workdir::RUN_DIR;
use crate::workload::{ErrandKind, Place, Told};
use model::noise::Noise;
use model::plan::PlannedCase;
use model::record::{Failure, Outcome, Round};
use model::units::{Bytes, Nanos};
use std::fs;

/// What is asked of a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) errand: Sent,
    /// A case that stands on the ground.
    pub(crate) case: &'a PlannedCase,
    /// Tells errands of a kind apart.
    pub(crate) number: u32,
    pub(crate) seed: u64,
    /// Taking longer is a hang.
    pub(crate) at_most: Nanos,
}

/// Why an errand was not done.
#[derive(Debug)]
pub(crate) enum NotDone {
    Interrupted,
    Failed(Failure),
    /// The budget has no time for it.
    NoTime,
}

impl From<Stop> for NotDone {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => Self::Interrupted,
            Stop::Failed(failure) => Self::Failed(failure),
        }
    }
}

/// Has an errand done; `hear` takes how much has been made so far.
pub(crate) fn errand(
    bench: &Bench<'_>,
    asked: Asked<'_>,
    hear: &mut dyn FnMut(Bytes),
) -> Result<Told, NotDone> {
    let removes = asked.errand == Sent::For(ErrandKind::Remove);
    // Whoever sets a side up may mount what is written to; who only asks leaves it as it is.
    let needs_set_up = !removes && asked.errand != Sent::Reach;
    match bench.set_up.filter(|_| needs_set_up).map(SetUp::run) {
        None | Some(Ok(_)) => {}
        Some(Err(NotSetUp::Failed(failure))) => return Err(NotDone::Failed(failure)),
        Some(Err(NotSetUp::Interrupted)) => return Err(NotDone::Interrupted),
    }
    let what = match asked.errand {
        Sent::For(_) => "errand",
        Sent::Reach => "reach",
    };
    let dir = RoundDir::of(bench.work_dir, format!("{what}-{}", asked.number));
    let mut crew = Crew::default();
    crew.is_deaf = removes;
    let done = send(bench, asked, &dir, &mut crew, hear);
    crew.dismiss();
    // What cannot be removed now goes with the work directory at the end.
    let _ = fs::remove_dir_all(&dir.here);
    Ok(done?)
}

fn send(
    bench: &Bench<'_>,
    asked: Asked<'_>,
    dir: &RoundDir,
    crew: &mut Crew,
    hear: &mut dyn FnMut(Bytes),
) -> Result<Told, Stop> {
    const OWN: &str = "copy-0";
    crew.memory_kills = bench.watch.memory_kills();
    for inside in ["", SHARED, OWN] {
        dir.create(inside)?;
    }
    let order = Order {
        workload: asked.case.workload.clone(),
        params: asked.case.params.clone(),
        shape: asked.case.shape,
        place: Place {
            dir: dir.seen_inside(OWN),
            shared_dir: dir.seen_inside(SHARED),
            run_dir: RoundDir::top().join(RUN_DIR),
            anchors: bench.anchors(asked.case),
            copy: 0,
            copies: 1,
            round: 0,
            seed: asked.seed,
            warmup: asked.case.shape.warmup,
            measure: asked.case.shape.measure,
            ns_per_tick: None,
            stand_in: None,
            bytes_left: None,
            known: None,
            permits: bench.permits.clone(),
        },
        stand_ins: bench.stand_ins.clone(),
        errand: Some(asked.errand),
        cpu: None,
        ticks: false,
    };
    let handles = bench.handles(asked.case);
    crew.hire(&order, &dir.here.join(OWN), &handles, 0)?;
    let waited = crew.wait_and_hear(Stage::Done, asked.at_most, &mut |heard| {
        if let Heard::Made(bytes) = heard {
            hear(bytes);
        }
    });
    waited.map_err(|stop| match stop {
        Stop::Failed(Failure::Hung { after, .. }) => Stop::Failed(Failure::Hung {
            stage: "making".to_owned(),
            after,
        }),
        other => other,
    })?;
    let nothing = || Stop::error("understand worker for", &order.workload, "it told nothing");
    crew.told().ok_or_else(nothing)
}

/// A round that had nothing to stand on: it took no time.
pub(crate) fn not_begun(case: &PlannedCase, which: Which, failure: Failure) -> Round {
    Round {
        case: case.id.clone(),
        pass: which.pass,
        seq: which.seq,
        started: Moment::now().wall(),
        took: Nanos::ZERO,
        errands: Vec::new(),
        layout_seed: which.layout_seed,
        outcome: Outcome::Failed(failure),
        partial: None,
        moved: None,
        stretch: None,
        noise: Noise::default(),
    }
}
