//! What the steps mean, in one of a few words.

use super::{Cpus, Step};
use crate::taken;
use crate::thresholds::{FOREIGN_MAX, STEAL_MAX, THROTTLED_MAX};
use model::estimate::{Estimate, Interval};
use schemars::JsonSchema;
use serde::Serialize;

/// The efficiency at all usable CPUs from which a test is said to scale: a tenth lost is what turbo clock rates and a
/// shared last cache cost most programs.
pub const SCALES_MIN: f64 = 0.90;

/// A factor above this explains no loss of a tenth.
const EXPLAINS_MAX: f64 = 0.97;

/// What is concluded from the steps within the usable CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// There is one CPU: nothing to scale to.
    OneCpu,
    /// The copies do nearly as many times more as there are of them.
    Scales,
    /// It scales over the cores; further threads share them.
    SharedCores,
    /// A quota allows fewer CPUs at the same time than copies ran.
    Quota {
        /// CPUs that the quota allows.
        #[serde(rename = "quota_cpus")]
        cpus: f64,
    },
    /// The host took time away.
    Stolen {
        /// Share of the demanded time.
        share: f64,
    },
    /// Other processes of this machine took CPU time.
    Foreign {
        /// CPU time of theirs, as a share of one CPU.
        share: f64,
    },
    /// The copies ran all the time and each CPU second did less: something is shared.
    SharedResource {
        /// Work per CPU second over that of one copy.
        worth: f64,
        /// True where the copies are threads of one process, which may share more than the machine.
        of_one_process: bool,
    },
    /// The copies were not on a CPU as much as one alone: they waited, for each other, for the kernel, or for input.
    Waits {
        /// Share of the wall time on a CPU.
        on_cpu: f64,
    },
    /// More copies do less than fewer.
    Falls {
        /// The step that does most.
        best: u32,
    },
    /// The interval allows both.
    Unclear,
}

/// Concludes from the steps, ascending.
/// `of_one_process`: the copies are threads of one process.
pub(super) fn of(
    steps: &[Step],
    cpus: Cpus,
    second_thread: Option<Estimate>,
    of_one_process: bool,
) -> Finding {
    let within: Vec<&Step> = steps.iter().filter(|step| !step.oversubscribed).collect();
    let Some(top) = within.last().filter(|top| top.copies > 1) else {
        return match cpus.quota {
            Some(cpus) => Finding::Quota { cpus },
            None => Finding::OneCpu,
        };
    };
    let Some(efficiency) = top.efficiency.and_then(|e| e.interval) else {
        return Finding::Unclear;
    };
    if efficiency.lo >= SCALES_MIN {
        return Finding::Scales;
    }
    if let Some(cpus) = cpus.quota
        && top.throttled.is_some_and(|share| share > THROTTLED_MAX)
    {
        return Finding::Quota { cpus };
    }
    if efficiency.hi >= SCALES_MIN {
        return Finding::Unclear;
    }
    if let Some(taken) = taken(top) {
        return taken;
    }
    if let Some(best) = better_below(&within, top) {
        return Finding::Falls { best };
    }
    let cores = within
        .iter()
        .find(|step| Some(step.copies) == cpus.smt_cores);
    let cores_scale = cores.is_some_and(|step| {
        step.copies == 1 || interval(step).is_some_and(|interval| interval.lo >= SCALES_MIN)
    });
    if second_thread.is_some() && cores_scale {
        return Finding::SharedCores;
    }
    cause(&within, top, of_one_process)
}

/// What the host or other processes took from the step; the larger of the two where it was both.
fn taken(top: &Step) -> Option<Finding> {
    let missing = 1.0 - top.efficiency.map_or(0.0, |efficiency| efficiency.value);
    let busy = FOREIGN_MAX * f64::from(top.copies);
    let foreign = top.foreign.filter(|&share| share > busy);
    let steal = top.steal.filter(|&share| share > STEAL_MAX);
    let by_host = |steal| taken::by_host_first(steal, foreign, top.copies, missing);
    match (steal, foreign) {
        (Some(share), None) => Some(Finding::Stolen { share }),
        (Some(steal), Some(_)) if by_host(steal) => Some(Finding::Stolen { share: steal }),
        (_, foreign) => foreign.map(|share| Finding::Foreign { share }),
    }
}

fn interval(step: &Step) -> Option<Interval> {
    step.efficiency.and_then(|efficiency| efficiency.interval)
}

/// A smaller step whose rate is surely higher than the largest one's.
fn better_below(within: &[&Step], top: &Step) -> Option<u32> {
    let rate = |step: &Step| step.speedup.and_then(|speedup| speedup.interval);
    let top_hi = rate(top)?.hi;
    within
        .iter()
        .filter(|step| rate(step).is_some_and(|interval| interval.lo > top_hi))
        .max_by(|a, b| {
            let value = |step: &Step| step.speedup.map_or(0.0, |speedup| speedup.value);
            value(a).total_cmp(&value(b))
        })
        .map(|step| step.copies)
}

/// Which of two factors lost more: work per CPU second, or the share of time on a CPU.
fn cause(within: &[&Step], top: &Step, of_one_process: bool) -> Finding {
    let alone = within.first().and_then(|step| step.on_cpu);
    let (Some(worth), Some(on_cpu), Some(alone)) = (top.cpu_worth, top.on_cpu, alone) else {
        return Finding::Unclear;
    };
    if (on_cpu / alone).min(worth.value) > EXPLAINS_MAX {
        return Finding::Unclear;
    }
    if on_cpu / alone < worth.value {
        Finding::Waits { on_cpu }
    } else {
        Finding::SharedResource {
            worth: worth.value,
            of_one_process,
        }
    }
}
