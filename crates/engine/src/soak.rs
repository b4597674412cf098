//! The schedule of a soak: which stretch comes next, or how long to rest before it.
//!
//! Decided anew after every stretch from what has been kept and the time alone, so that a soak that was killed goes on
//! as if it had not been, and so that tests need no machine. The order: an opening of continuous load; where it shows
//! a burst, a rest and a refill stretch that tells a bucket of credit from a step; then samples until the time is over.

use model::num::{count, round_to_u64};
use model::plan::{Plan, Shape};
use model::record::Round;
use model::soak::{Soak, StretchKind};
use model::units::{Nanos, UnixNanos};
use stats::burst::Burst;
use stats::soak::{CHAIN_GAP, Past, burst_of, chain, chains, extent, shortest_stretch};
use sys::clock;

/// The length of a window, unless the user says otherwise. Shorter ones show shorter stalls and take more room.
pub const WINDOW: Nanos = Nanos::from_secs(1);

/// A stretch of continuous load, in windows: what is lost when the soak is killed.
const STRETCH_WINDOWS: u64 = 60;
/// A short soak has at least this many stretches, so that an interruption loses no more than one of them.
const STRETCHES_MIN: u64 = 10;
/// With pauses, a sample takes at most this part of the time between two of them.
const SAMPLE_OF_EVERY: u64 = 10;
/// With pauses, the opening takes at most this part of the whole time...
const OPENING_OF_SPAN: u64 = 4;
/// ...and at most this long: enough for the 30 minutes of burst that cloud disks are sold with, and some of what comes
/// after.
const OPENING_MAX: Nanos = Nanos::from_secs(40 * 60);
/// Windows of plateau after which a burst is taken for one, as long as they are half of the burst too.
const PLATEAU_WINDOWS: f64 = 60.0;
const PLATEAU_OF_BURST: f64 = 0.5;
/// Windows of plateau at the end of the load after which the credit is taken for spent.
const DRAINED_WINDOWS: usize = 10;
/// Windows that the refill stretch goes on behind the burst that is expected.
const REFILL_MORE: f64 = 30.0;

/// A soak as it was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// How long, all of it.
    pub span: Nanos,
    /// The time between the beginnings of two samples; `None` for load without a pause.
    pub every: Option<Nanos>,
    /// The length of a window.
    pub window: Nanos,
}

/// Why a soak cannot be planned.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SoakError {
    /// It is about more than one case.
    #[error("plan the soak: it is about one test at one concurrency, and these are {} cases", .0.len())]
    SeveralCases(Vec<String>),
    /// Its rounds end by themselves.
    #[error(
        "plan the soak: a round of `{0}` is a fixed amount of work, and no load that could go on for longer"
    )]
    FixedWork(String),
    /// The windows are too short.
    #[error("plan the soak: windows of {} ms are too short: the shortest are 10 ms", .0.0 / 1_000_000)]
    WindowTooShort(Nanos),
    /// Not even one stretch fits.
    #[error("plan the soak: {what} of {} s holds fewer than ten windows of {} s", .time.as_secs_f64(), .window.as_secs_f64())]
    TooShort {
        /// Which option.
        what: &'static str,
        /// Its value.
        time: Nanos,
        /// The length of a window.
        window: Nanos,
    },
    /// There would be no sample.
    #[error("plan the soak: a sample every {} s does not fit into {} s", .every.as_secs_f64(), .span.as_secs_f64())]
    EveryTooLong {
        /// The time between samples.
        every: Nanos,
        /// The whole time.
        span: Nanos,
    },
}

impl SoakError {
    /// What helps.
    pub fn hint(&self) -> String {
        match self {
            Self::SeveralCases(names) => format!("name one of {}", names.join(", ")),
            Self::FixedWork(name) => format!("`kurabe run {name}` measures it round by round"),
            Self::TooShort { .. } => {
                "make it longer, or the windows shorter with `--window 100ms`".to_owned()
            }
            Self::EveryTooLong { .. } => "leave `--every` out for load without a pause".to_owned(),
            Self::WindowTooShort(_) => "the default is `--window 1s`".to_owned(),
        }
    }
}

/// The shortest window: most batches of operations take 5 ms.
const WINDOW_MIN: Nanos = Nanos::from_millis(10);

/// Makes a plan for one case the plan of a soak.
pub(crate) fn plan(mut plan: Plan, wanted: Wanted) -> Result<Plan, SoakError> {
    let Wanted {
        span,
        every,
        window,
    } = wanted;
    let [case] = plan.cases.as_mut_slice() else {
        let names = plan.cases.iter().map(|case| case.id.to_string());
        return Err(SoakError::SeveralCases(names.collect()));
    };
    if case.shape.fixed_work {
        return Err(SoakError::FixedWork(case.id.test.clone()));
    }
    if window < WINDOW_MIN {
        return Err(SoakError::WindowTooShort(window));
    }
    let least = shortest_stretch(window);
    for (what, time) in [("--for", Some(span)), ("--every", every)] {
        if let Some(time) = time.filter(|time| *time < least) {
            return Err(SoakError::TooShort { what, time, window });
        }
    }
    if let Some(every) = every.filter(|every| *every > span) {
        return Err(SoakError::EveryTooLong { every, span });
    }
    let most = Nanos(window.0.saturating_mul(STRETCH_WINDOWS));
    case.shape = Shape {
        // Work that nobody sees would spend credit that nobody counts; the analysis cuts a slow start off itself.
        warmup: Nanos::ZERO,
        measure: Nanos(span.0 / STRETCHES_MIN).min(most).max(least),
        window,
        rounds: None,
        settle: model::plan::Settle::None,
        shortenable: false,
        ..case.shape
    };
    plan.soak = Some(Soak {
        span,
        every,
        opening: match every {
            None => span,
            Some(_) => Nanos(span.0 / OPENING_OF_SPAN).min(OPENING_MAX).max(least),
        },
    });
    plan.budget = Some(span);
    plan.passes = None;
    plan.target = None;
    Ok(plan)
}

/// How long a sample measures.
pub fn sample_length(soak: &Soak, shape: &Shape) -> Nanos {
    let least = shortest_stretch(shape.window);
    match soak.every {
        None => shape.measure,
        Some(every) => Nanos(every.0 / SAMPLE_OF_EVERY)
            .min(Nanos(shape.window.0.saturating_mul(STRETCH_WINDOWS)))
            .max(least),
    }
}

/// Why a soak rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// So that credit comes back, which the next stretch will show.
    Refill,
    /// Until the next sample.
    Sample,
    /// Until the next pass of a run whose passes are spread over a time.
    NextPass,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A stretch.
    Stretch {
        kind: StretchKind,
        /// Its measured part.
        measure: Nanos,
    },
    /// A rest until this time of the soak.
    Rest { until: Nanos, why: Rest },
    /// Nothing: the time is over.
    Over,
}

/// The time of a soak, and the time at which this process took over from an earlier one; 0 for a new soak.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) elapsed: Nanos,
    pub(crate) since: Nanos,
}

/// What comes next after the stretches in `past`. `shape` is that of its case.
pub(crate) fn next(soak: &Soak, shape: &Shape, past: &[Past], now: Now) -> Next {
    let elapsed = now.elapsed;
    let least = shortest_stretch(shape.window);
    let left = soak.span.since(elapsed);
    if left < least {
        return Next::Over;
    }
    let stretch = |kind, measure: Nanos| Next::Stretch {
        kind,
        measure: to_the_end(shape, past, measure, left),
    };
    if past.iter().any(|past| past.kind != StretchKind::Opening) {
        return sample(soak, shape, past, elapsed);
    }
    let chain = chain(past);
    if let Some(burst) = settled_burst(past) {
        let test = if is_drained(chain, &burst) && !may_have_refilled(chain, &burst, now) {
            refill(soak, shape, &burst, chain, elapsed)
        } else {
            drain(soak, shape, &burst, elapsed)
        };
        return test.unwrap_or_else(|| sample(soak, shape, past, elapsed));
    }
    let opened = extent(chain);
    if opened.plus(least) > soak.opening && !chain.is_empty() {
        return sample(soak, shape, past, elapsed);
    }
    let broken = chain
        .last()
        .is_none_or(|last| elapsed.since(last.ended) > CHAIN_GAP);
    let still = if broken {
        soak.opening
    } else {
        soak.opening.since(opened)
    };
    stretch(StretchKind::Opening, shape.measure.min(still))
}

/// How long a stretch of `measure` lasts where `left` is left of the soak: to the end, in whole windows, where what
/// would stay has no room for another. A window and twice what the last stretch took to start and end are allowed for
/// what the next one takes.
fn to_the_end(shape: &Shape, past: &[Past], measure: Nanos, left: Nanos) -> Nanos {
    let window = shape.window.0.max(1);
    let least = shortest_stretch(Nanos(window));
    let measure = measure.max(least);
    // A stretch that failed says nothing about it.
    let last = past.iter().rev().find(|past| !past.windows.is_empty());
    let between = last.map_or(Nanos::ZERO, |last| {
        let load = seconds(last.step * count(last.windows.len()));
        last.ended.since(last.started).since(load)
    });
    let room = measure.plus(between).plus(between);
    if left >= room.plus(least).plus(shape.window) {
        return measure;
    }
    let windows = left.since(between).0.saturating_add(window / 2) / window;
    Nanos(windows.saturating_mul(window)).max(least)
}

/// A burst whose plateau has been seen for long enough, in one of the chains of the opening; the one that spent most.
fn settled_burst(past: &[Past]) -> Option<Burst> {
    chains(past)
        .into_iter()
        .filter_map(|chain| {
            let burst = burst_of(chain)?;
            let windows: usize = chain.iter().map(|past| past.windows.len()).sum();
            let fast = burst.burst_seconds / burst.window_seconds.max(f64::MIN_POSITIVE);
            let needed = PLATEAU_WINDOWS.max(PLATEAU_OF_BURST * fast);
            (count(windows) - fast >= needed).then_some(burst)
        })
        .max_by(|a, b| a.credit.total_cmp(&b.credit))
}

/// Whether the credit was spent when `chain` ended: the last of its windows are as slow as the plateau.
fn is_drained(chain: &[Past], burst: &Burst) -> bool {
    let middle = f64::midpoint(burst.burst_rate, burst.sustained_rate);
    let windows = chain.iter().rev().flat_map(|past| {
        let mut windows = past.as_lent(burst).into_owned();
        windows.reverse();
        windows
    });
    let last: Vec<f64> = windows.take(DRAINED_WINDOWS).collect();
    let slow = last.iter().filter(|&&rate| rate < middle).count();
    last.len() == DRAINED_WINDOWS && slow * 10 >= DRAINED_WINDOWS * 9
}

/// Whether an earlier process may have begun the refill stretch, and was killed in it: nobody knows then how much of
/// the credit it spent. Before the rest was over it cannot have.
fn may_have_refilled(chain: &[Past], burst: &Burst, now: Now) -> bool {
    chain.last().is_some_and(|last| {
        let rested = last.ended.plus(seconds(burst.rest_seconds()));
        now.since > last.ended && now.since >= rested
    })
}

/// Load until what credit there may be is spent, so that the rest begins with an empty bucket; `None` where the time is
/// too short for that and the test.
fn drain(soak: &Soak, shape: &Shape, burst: &Burst, elapsed: Nanos) -> Option<Next> {
    let more = shape.window.as_secs_f64() * (REFILL_MORE + count(DRAINED_WINDOWS));
    let rest = burst.rest_seconds();
    let test = rest + burst.second_burst_seconds(rest) + more;
    let enough = elapsed.plus(shape.measure).plus(seconds(test)) <= soak.span;
    enough.then_some(Next::Stretch {
        kind: StretchKind::Opening,
        measure: shape.measure,
    })
}

/// The rest or the stretch by which a bucket is told from a step; `None` where the time is too short for both.
fn refill(
    soak: &Soak,
    shape: &Shape,
    burst: &Burst,
    chain: &[Past],
    elapsed: Nanos,
) -> Option<Next> {
    let ended = chain.last()?.ended;
    let until = ended.plus(seconds(burst.rest_seconds()));
    let rest = elapsed.max(until).since(ended);
    let expect = burst.second_burst_seconds(rest.as_secs_f64());
    let measure = seconds(expect + REFILL_MORE * shape.window.as_secs_f64());
    if elapsed.max(until).plus(measure) > soak.span {
        return None;
    }
    Some(if elapsed < until {
        Next::Rest {
            until,
            why: Rest::Refill,
        }
    } else {
        let kind = StretchKind::Refill { rest };
        Next::Stretch { kind, measure }
    })
}

/// The next of the stretches after the opening: at once, or at a multiple of the time between samples.
fn sample(soak: &Soak, shape: &Shape, past: &[Past], elapsed: Nanos) -> Next {
    let length = sample_length(soak, shape);
    let left = soak.span.since(elapsed);
    let least = shortest_stretch(shape.window);
    let sample = |measure| Next::Stretch {
        kind: StretchKind::Sample,
        measure,
    };
    let Some(every) = soak.every else {
        return sample(to_the_end(shape, past, length, left));
    };
    let now = sample(length.min(left).max(least));
    let slot = elapsed.0 / every.0.max(1);
    let taken = past
        .iter()
        .rev()
        .find(|past| past.kind == StretchKind::Sample)
        .map(|past| past.started.0 / every.0.max(1));
    // A sample that is later than its own length has missed its time.
    let on_time = elapsed.0 % every.0.max(1) <= length.0;
    if slot > 0 && on_time && taken != Some(slot) {
        return now;
    }
    let until = Nanos((slot + 1).saturating_mul(every.0));
    if until.plus(least) > soak.span {
        return Next::Over;
    }
    Next::Rest {
        until,
        why: Rest::Sample,
    }
}

fn seconds(seconds: f64) -> Nanos {
    Nanos(round_to_u64(seconds * 1e9))
}

/// A stretch of a soak that is about to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretching {
    pub(crate) kind: StretchKind,
    /// Its measured part.
    pub(crate) measure: Nanos,
    pub(crate) clock: SoakClock,
    /// For how long the machine was suspended since the stretch before ended, where that is known.
    pub(crate) suspended_before: Option<Nanos>,
}

/// For how long the machine has been suspended since it booted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asleep(Nanos);

impl Asleep {
    /// Up to now. The clocks are read one after the other, again where a preemption lies between them.
    pub(crate) fn now() -> Self {
        let mut closest = (u64::MAX, 0);
        for _ in 0..READINGS_MAX {
            let before = clock::monotonic();
            let boot = clock::boottime();
            let took = clock::monotonic().saturating_sub(before);
            if took < closest.0 {
                closest = (took, boot.saturating_sub(before));
            }
            if took <= READING_MAX_NS {
                break;
            }
        }
        Self(Nanos(closest.1))
    }

    /// For how long it was suspended since `then`; nothing within what reading two clocks takes.
    pub(crate) fn since(self, then: Self) -> Nanos {
        let time = self.0.since(then.0);
        if time.0 <= 2 * READING_MAX_NS {
            Nanos::ZERO
        } else {
            time
        }
    }
}

/// An instant on two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    wall: u64,
    boot: u64,
}

/// The clocks of a moment are read one after the other; where more than this lies between, they are read again.
const READING_MAX_NS: u64 = 100_000;
const READINGS_MAX: u32 = 10;

impl Moment {
    /// This one.
    pub(crate) fn now() -> Self {
        let mut closest = (u64::MAX, Self { wall: 0, boot: 0 });
        for _ in 0..READINGS_MAX {
            let boot = clock::boottime();
            let wall = clock::wall();
            let took = clock::boottime().saturating_sub(boot);
            if took < closest.0 {
                closest = (took, Self { wall, boot });
            }
            if took <= READING_MAX_NS {
                break;
            }
        }
        closest.1
    }

    /// The same so much later.
    pub(crate) fn later(self, time: Nanos) -> Self {
        Self {
            wall: self.wall.saturating_add(time.0),
            boot: self.boot.saturating_add(time.0),
        }
    }

    /// What the wall clock showed.
    pub(crate) const fn wall(self) -> UnixNanos {
        UnixNanos(self.wall)
    }
}

/// The time of a soak: from its beginning, suspended time included, whatever is done to the wall clock meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SoakClock {
    /// The time of the soak at `boot`.
    base: Nanos,
    /// The clock that counts suspended time, when this part of the soak began.
    boot: u64,
}

impl SoakClock {
    /// Starts at zero, or where `earlier` rounds of a resumed soak say by the wall clock.
    pub(crate) fn start(earlier: &[Round]) -> Self {
        let now = Moment::now();
        Self {
            base: resumed_at(earlier, now.wall()),
            boot: now.boot,
        }
    }

    /// The soak's time now.
    pub(crate) fn elapsed(&self) -> Nanos {
        self.tell(Moment::now()).1
    }

    /// The wall clock's and the soak's time at `moment`.
    pub(crate) fn tell(&self, moment: Moment) -> (UnixNanos, Nanos) {
        let since = Nanos(moment.boot.saturating_sub(self.boot));
        (moment.wall(), self.base.plus(since))
    }
}

/// The time of a soak when it is resumed at `now`: what the wall clock says since its last stretch, never less than
/// what its stretches took.
fn resumed_at(earlier: &[Round], now: UnixNanos) -> Nanos {
    let by_wall = earlier
        .iter()
        .rev()
        .find_map(|round| round.stretch)
        .map(|last| last.elapsed.plus(Nanos(now.0.saturating_sub(last.began.0))));
    let ends = earlier.iter().filter_map(Past::of).map(|past| past.ended);
    by_wall.into_iter().chain(ends).max().unwrap_or_default()
}

#[cfg(test)]
mod tests;
