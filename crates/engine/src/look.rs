//! The look before the first round: what a rest on this machine is like, by the counters that are read around rounds.
//!
//! For two thirds of it nothing of ours runs: who is busy then would also be so beside rounds, however politely a
//! program gives way to them. For the last third one thread asks for a CPU, because what a host takes away and what a
//! quota holds back shows only where something is asked for.

use crate::budget;
use crate::noise::{Snapshot, Watch, Workers};
use model::look::{Busy, Look};
use model::order::Order as _;
use model::plan::Plan;
use model::units::{Bytes, Nanos};
use std::collections::BTreeMap;
use sys::clock::{gaps, monotonic, sleep_until_or_stop};
use sys::signal::interrupted;
use sys::tree::Tree;

/// How long a look takes where there is time: the kernel counts in hundredths of a second, and 5 % of a CPU are 15 of
/// them then.
pub const SPAN: Nanos = Nanos::from_secs(3);

/// A look takes no more than one part in so many of the time that is measured.
const PART_OF_RUN: u64 = 10;

/// One part in so many of a look asks for a CPU.
const PART_ASKING: u64 = 3;

/// How long a stop may go unnoticed while a CPU is asked for.
const STOP_NOTICED: Nanos = Nanos::from_millis(100);

/// How long the look before the first round of these plans takes: both sides of a duel share one. Nothing where no
/// round uses the machine.
pub fn span<'a>(plans: impl Iterator<Item = &'a Plan>) -> Nanos {
    let (mut took, mut budget) = (Nanos::ZERO, None);
    for plan in plans {
        budget = budget.or(plan.budget);
        if plan.cases.iter().any(|case| !case.simulated) {
            let soak = plan.soak.as_ref().map(|soak| soak.span);
            took = took.plus(soak.unwrap_or_else(|| budget::expected(plan)));
        }
    }
    // The sides of a duel share one budget.
    within(budget.map_or(took, |budget| took.min(budget)))
}

/// How long the look is in so much time.
pub(crate) fn within(time: Nanos) -> Nanos {
    SPAN.min(Nanos(time.0 / PART_OF_RUN))
}

/// The time in which a look leaves so much to all the rest.
pub(crate) fn beside(rest: Nanos) -> Nanos {
    let short = Nanos(rest.0.saturating_mul(PART_OF_RUN) / (PART_OF_RUN - 1));
    rest.plus(within(short))
}

/// Looks for so long; `None` where somebody interrupted it.
pub fn look(span: Nanos) -> Option<Look> {
    let looking = Looking::begin();
    let began = looking.before.monotonic;
    let end = began + span.0;
    sleep_until_or_stop(end - span.0 / PART_ASKING);
    while interrupted().is_none() {
        let left = end.saturating_sub(monotonic());
        if left == 0 {
            return Some(looking.end());
        }
        gaps(left.min(STOP_NOTICED.0));
    }
    None
}

/// A look that goes on, whatever is done meanwhile.
#[derive(Debug)]
pub struct Looking {
    watch: Watch,
    before: Snapshot,
}

impl Looking {
    /// From here.
    pub fn begin() -> Self {
        let watch = Watch::real();
        Self {
            before: watch.snapshot(),
            watch,
        }
    }

    /// To here.
    pub fn end(self) -> Look {
        let (before, after) = (self.before, self.watch.snapshot());
        let others = self.watch.others(&before, &after, &[], &[]);
        let room = sys::memory::limits::room(&Tree::real()).ok();
        Look {
            took: Nanos(after.monotonic - before.monotonic),
            waited: Nanos::ZERO,
            noise: self.watch.noise(&before, &after, Workers::default()),
            busy: by_name(others.unwrap_or_default()),
            memory_left: room.map(|room| Bytes(room.bytes)),
            space: None,
        }
    }
}

/// What the processes of each name used together, the busiest first.
fn by_name(used: Vec<(f64, &str)>) -> Vec<Busy> {
    let mut of_each: BTreeMap<&str, f64> = BTreeMap::new();
    for (share, name) in used {
        *of_each.entry(name).or_default() += share;
    }
    let some = of_each.into_iter().filter(|&(_, share)| share > 0.0);
    let mut busy: Vec<Busy> = some
        .map(|(name, cpu_share)| Busy {
            name: name.to_owned(),
            cpu_share,
        })
        .collect();
    busy.order_by(|a, b| b.cpu_share.total_cmp(&a.cpu_share));
    busy.truncate(Look::BUSY_MAX);
    busy
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::PlannedCase;
    use sys::counters;

    #[test]
    fn processes_of_one_name_are_one_program_and_the_busiest_are_told() {
        let used = vec![
            (0.25, "cc"),
            (0.5, "make"),
            (0.0, "sshd"),
            (0.5, "cc"),
            (0.125, "ld"),
            (0.0625, "as"),
        ];
        let told = by_name(used);
        let told: Vec<(&str, f64)> = told
            .iter()
            .map(|busy| (busy.name.as_str(), busy.cpu_share))
            .collect();
        assert_eq!(told, [("cc", 0.75), ("make", 0.5), ("ld", 0.125)]);
    }

    #[test]
    fn a_look_takes_its_time_and_asks_for_a_cpu_in_a_third_of_it() {
        let own = || counters::process::process(&Tree::real(), std::process::id());
        let before = own().unwrap().ticks;
        let look = look(Nanos::from_millis(600)).unwrap();
        let ticks = own().unwrap().ticks - before;
        assert!(look.took >= Nanos::from_millis(600), "{look:?}");
        // 20 hundredths of a second where a CPU is free; on a busy machine we get less than we ask for.
        assert!((2..=30).contains(&ticks), "{ticks}");
        assert!(look.memory_left.is_some());
    }

    #[test]
    fn a_look_is_short_before_a_short_run_and_none_where_nothing_uses_the_machine() {
        let replayed = PlannedCase {
            simulated: true,
            ..testkit::case("x.replay@1", Vec::new())
        };
        let of = |case: &PlannedCase, passes| Plan {
            passes: Some(passes),
            ..testkit::plan(vec![case.clone()])
        };
        let real = testkit::case("x.real@1", Vec::new());
        let spans = [(&real, 1), (&real, 1000), (&replayed, 1000)]
            .map(|(case, passes)| span([of(case, passes)].iter()));
        assert_eq!(spans[0], Nanos(budget::round_cost(&real).0 / 10));
        assert_eq!(spans[1..], [SPAN, Nanos::ZERO]);
        let budget = Plan {
            budget: Some(Nanos::from_secs(10)),
            ..of(&real, 1000)
        };
        assert_eq!(span([budget].iter()), Nanos::from_secs(1));
        let both = of(&real, 1);
        assert_eq!(span([both.clone(), both].iter()), Nanos(spans[0].0 * 2));
    }
}
