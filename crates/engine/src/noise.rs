//! The noise watch: what else happened while a round was measured.
//!
//! Counters are read before the gate opens and after the last copy has measured, never in between, so that watching
//! costs the measurement nothing. What a kernel does not count is missing, not zero. Nothing here drops or corrects
//! a round.

use model::noise::{Noise, Sentinel};
use model::num::approx;
use model::units::Nanos;
use model::warning::Warning;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use sys::counters::{self, Cgroups, CpuTicks, Process, Resource};
use sys::tree::Tree;

/// Reads the counters of this machine.
#[derive(Debug)]
pub(crate) struct Watch {
    tree: Tree,
    /// Whether a walk over the processes ever saw a part of them alone.
    saw_a_part: Cell<bool>,
    cgroups: Option<Cgroups>,
    ticks_per_second: Option<f64>,
}

/// All counters at one instant.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) monotonic: u64,
    wall: u64,
    boottime: u64,
    cpu: Option<CpuTicks>,
    pressure: [Option<Duration>; 3],
    throttled: Option<Duration>,
    processes: Option<Vec<Process>>,
}

/// What the supervisor knows about the workers of the round; nothing of where there are none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Workers<'a> {
    /// Their process groups.
    pub(crate) groups: &'a [u32],
    /// Processes that work for the test and are none of ours, each with its children: a server on this machine.
    pub(crate) parties: &'a [u32],
    /// CPU time that they used together while measuring, in nanoseconds.
    pub(crate) cpu_ns: u64,
    /// How often they waited meanwhile.
    pub(crate) voluntary_switches: u64,
    /// How often others were given their CPU.
    pub(crate) involuntary_switches: u64,
    /// Wall time of the measured parts, summed over the copies, in nanoseconds.
    pub(crate) wall_ns: u64,
}

/// How long the sentinel looks for gaps, in nanoseconds: long enough for a 4 ms timer tick of a 250 Hz kernel.
const GAP_PROBE_NS: u64 = 5_000_000;

/// How many moments of the sentinel look at the core itself, spread over its search for gaps. Odd, so that the middle
/// one is one of them.
const MOMENTS: u64 = 11;

/// Additions of either kind in each moment: 0.07 ms at 3 GHz where they wait for each other, less where they do not.
const ADDS: u64 = 200_000;

/// CPU time of others is told over so many ticks of the kernel at least: a tick more or less of one process is then no
/// more than what counts as quiet (5 % of a CPU). In less time a few ticks are several CPUs.
const TICKS_MIN: f64 = 20.0;

impl Watch {
    /// Watches this machine.
    pub(crate) fn real() -> Self {
        let tree = Tree::real();
        Self {
            cgroups: Cgroups::find(&tree).ok(),
            ticks_per_second: sys::probe::ticks_per_second().ok().map(approx),
            saw_a_part: Cell::new(false),
            tree,
        }
    }

    /// What there is to say about the whole of what was watched.
    pub(crate) fn warning(&self) -> Option<Warning> {
        self.saw_a_part.get().then_some(Warning::PartOfProcesses)
    }

    /// Reads everything once; about a millisecond.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let walk = counters::processes(&self.tree).ok();
        if walk.as_ref().is_some_and(|walk| walk.is_part) {
            self.saw_a_part.set(true);
        }
        Snapshot {
            pressure: [Resource::Cpu, Resource::Io, Resource::Memory]
                .map(|resource| counters::pressure(&self.tree, resource).ok()),
            throttled: self
                .cgroups
                .as_ref()
                .and_then(|groups| groups.throttled(&self.tree).ok()),
            cpu: counters::cpu(&self.tree).ok(),
            monotonic: sys::clock::monotonic(),
            wall: sys::clock::wall(),
            boottime: sys::clock::boottime(),
            processes: walk.map(|walk| walk.seen),
        }
    }

    /// How many processes the kernel has killed for want of memory, as far as it says.
    pub(crate) fn memory_kills(&self) -> Option<u64> {
        let ours = self
            .cgroups
            .as_ref()
            .and_then(|groups| groups.memory_kills(&self.tree).ok());
        ours.or_else(|| counters::memory_kills(&self.tree).ok())
    }

    /// What happened between two snapshots.
    pub(crate) fn noise(&self, before: &Snapshot, after: &Snapshot, workers: Workers<'_>) -> Noise {
        let wall_ns = after.monotonic.saturating_sub(before.monotonic);
        let share = |later: Option<Duration>, earlier: Option<Duration>| {
            Some(later?.saturating_sub(earlier?).as_secs_f64() / (approx(wall_ns.max(1)) / 1e9))
        };
        let pressure = |i: usize| share(after.pressure[i], before.pressure[i]);
        let others = self.others(before, after, workers.groups, workers.parties);
        Noise {
            steal_share: steal_share(before.cpu, after.cpu),
            off_cpu_share: (workers.wall_ns > 0)
                .then(|| (1.0 - approx(workers.cpu_ns) / approx(workers.wall_ns)).clamp(0.0, 1.0)),
            psi_cpu_share: pressure(0),
            psi_io_share: pressure(1),
            psi_memory_share: pressure(2),
            throttled_share: share(after.throttled, before.throttled),
            involuntary_switches: Some(workers.involuntary_switches),
            voluntary_switches: Some(workers.voluntary_switches),
            foreign_cpu_share: others
                .as_ref()
                .map(|used| used.iter().map(|(share, _)| share).sum()),
            foreign_top: others.and_then(busiest),
            clock_jump: Some(Nanos(moved_apart(
                (before.wall, after.wall),
                (before.monotonic, after.monotonic),
            ))),
            suspended: Some(Nanos(moved_apart(
                (before.boottime, after.boottime),
                (before.monotonic, after.monotonic),
            ))),
            before: None,
            after: None,
        }
    }

    /// What each process used that is neither ours nor the kernel's, as a share of one CPU, with its name. Those of
    /// the process groups `own` are ours too, and `parties` and their children belong to the test. `None` in less time
    /// than the kernel's ticks can tell; never more together than the machine has.
    pub(crate) fn others<'a>(
        &self,
        before: &Snapshot,
        after: &'a Snapshot,
        own: &[u32],
        parties: &[u32],
    ) -> Option<Vec<(f64, &'a str)>> {
        let (earlier, later) = (before.processes.as_ref()?, after.processes.as_ref()?);
        let wall_ns = after.monotonic.saturating_sub(before.monotonic);
        let ticks = self.ticks_per_second? * (approx(wall_ns.max(1)) / 1e9);
        let supervisor = std::process::id();
        // A worker's children are in its process group; the workers are our children.
        let foreign = |process: &&Process| {
            !process.kernel
                && process.pid != supervisor
                && process.parent != supervisor
                && !own.contains(&process.group)
                && !parties.contains(&process.pid)
                && !parties.contains(&process.parent)
        };
        let used = used_between(earlier, later, foreign);
        let cpus = before.cpu.zip(after.cpu).map(|(then, now)| {
            let all = approx(now.since(then).all());
            (all / ticks).round().max(1.0)
        });
        shares(&used, ticks, cpus)
    }
}

/// What was used of so many ticks, as shares of one CPU of those that there are. Ticks that a kernel counts late may
/// make more of them than there were.
fn shares<'a>(
    used: &[(u64, &'a str)],
    ticks: f64,
    cpus: Option<f64>,
) -> Option<Vec<(f64, &'a str)>> {
    if ticks < TICKS_MIN {
        return None;
    }
    let all = approx(used.iter().map(|(n, _)| n).sum());
    let there_were = cpus.map_or(all, |cpus| all.min(cpus * ticks));
    let part = there_were / all.max(1.0);
    let share = |&(n, name): &(u64, &'a str)| (approx(n) * part / ticks, name);
    Some(used.iter().map(share).collect())
}

/// The name of the process that used most.
fn busiest(used: Vec<(f64, &str)>) -> Option<String> {
    let some = used.into_iter().filter(|(share, _)| *share > 0.0);
    let top = some.max_by(|a, b| a.0.total_cmp(&b.0));
    top.map(|(_, name)| name.to_owned())
}

/// CPU ticks that each of the processes that `counts` picks used between two walks, with its name.
///
/// A process that ended in between hands all it ever used to its parent's `children_ticks`, and where that ended too,
/// to the one above; what it had used before the first walk is taken off again there, or a compiler that ends would
/// make its build tool look as if it had burnt minutes in a moment.
fn used_between<'a>(
    earlier: &[Process],
    later: &'a [Process],
    counts: impl Fn(&&Process) -> bool,
) -> Vec<(u64, &'a str)> {
    let now: HashSet<(u32, u64)> = later.iter().map(|p| (p.pid, p.start)).collect();
    let mut then: HashMap<(u32, u64), u64> = HashMap::new();
    let mut ended: HashMap<u32, u64> = HashMap::new();
    for process in earlier {
        let ticks = process.ticks.saturating_add(process.children_ticks);
        if now.contains(&(process.pid, process.start)) {
            then.insert((process.pid, process.start), ticks);
        } else {
            *ended.entry(heir(process, earlier, &now)).or_default() += ticks;
        }
    }
    later
        .iter()
        .filter(counts)
        .map(|process| {
            let known = then
                .get(&(process.pid, process.start))
                .copied()
                .unwrap_or(0);
            let inherited = ended.get(&process.pid).copied().unwrap_or(0);
            let ticks = process.ticks.saturating_add(process.children_ticks);
            (
                ticks.saturating_sub(known).saturating_sub(inherited),
                process.name.as_str(),
            )
        })
        .collect()
}

/// Who has the time of a process that ended: the first above it that lives.
fn heir(process: &Process, earlier: &[Process], now: &HashSet<(u32, u64)>) -> u32 {
    let mut heir = process.parent;
    // A walk is no instant: the parents that it saw need not lead to the first process.
    for _ in 0..earlier.len() {
        let gone = earlier.iter().find(|other| other.pid == heir);
        match gone.filter(|gone| !now.contains(&(gone.pid, gone.start))) {
            Some(gone) => heir = gone.parent,
            None => break,
        }
    }
    heir
}

/// Stolen time as a share of demanded time. Source: the method page, "Steal".
fn steal_share(before: Option<CpuTicks>, after: Option<CpuTicks>) -> Option<f64> {
    let ticks = after?.since(before?);
    let demanded = ticks.busy().saturating_add(ticks.steal);
    Some(if demanded == 0 {
        0.0
    } else {
        approx(ticks.steal) / approx(demanded)
    })
}

/// The clocks of a snapshot are read one after the other; a preemption in between is no jump.
const READING_SKEW_NS: u64 = 100_000;

/// By how much two clocks moved apart, in nanoseconds; 0 within [`READING_SKEW_NS`].
fn moved_apart(one: (u64, u64), other: (u64, u64)) -> u64 {
    let span = |(start, end): (u64, u64)| i128::from(end) - i128::from(start);
    let apart = u64::try_from((span(one) - span(other)).unsigned_abs()).unwrap_or(u64::MAX);
    if apart < READING_SKEW_NS { 0 } else { apart }
}

/// The micro-probe before and after a round: gaps, effective clock rate, and how much the core does in a cycle, about
/// 6.5 ms. It starts on `cpu`, as the first copy does, and the scheduler may move it as it may move that. `None` on
/// architectures where the clock rate is not known: a probe of gaps alone would call every CPU equally fast.
///
/// The two kinds of additions run one right after the other in each of the moments, and each moment is judged by
/// itself: the clock may change between them. The middle moment tells. A gap falls into one or two of eleven and makes
/// the core look slow there, or many times as fast where it falls into the chain, so that the least, the mean and the
/// most would tell gaps; and the most would tell of a free core wherever a neighbour pauses for a moment.
pub(crate) fn sentinel(cpu: Option<u32>) -> Option<Sentinel> {
    // Where that CPU is gone, the copy starts elsewhere too.
    let _ = cpu.map(sys::affinity::start_on);
    let mut gaps = sys::clock::Gaps::default();
    // The fastest chain of all: a gap inside of it would otherwise pass for a slow clock.
    let mut chain_ns = u64::MAX;
    let mut widths = Vec::new();
    for _ in 0..MOMENTS {
        let seen = sys::clock::gaps(GAP_PROBE_NS / MOMENTS);
        gaps.wall += seen.wall;
        gaps.lost += seen.lost;
        gaps.max = gaps.max.max(seen.max);
        let (one_by_one, _) = sys::clock::add_chain(ADDS)?;
        chain_ns = chain_ns.min(one_by_one);
        if let Some((side_by_side, _)) = sys::clock::add_side_by_side(ADDS) {
            widths.push(approx(one_by_one) / approx(side_by_side.max(1)));
        }
    }
    Some(Sentinel {
        add_ns: approx(chain_ns) / approx(ADDS),
        gap_share: approx(gaps.lost) / approx(gaps.wall.max(1)),
        gap_max: Nanos(gaps.max),
        adds_per_cycle: stats::quantile::median(&widths),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_demanded_time() {
        let ticks = |user, idle, steal| CpuTicks {
            user,
            idle,
            steal,
            ..CpuTicks::default()
        };
        let share = |after| steal_share(Some(ticks(100, 100, 0)), Some(after));
        assert_eq!(share(ticks(190, 900, 10)), Some(0.1));
        assert_eq!(share(ticks(100, 900, 0)), Some(0.0));
        assert_eq!(steal_share(None, Some(ticks(1, 1, 1))), None);
    }

    #[test]
    fn others_use_no_more_than_there_is_and_nothing_is_told_in_less_time_than_ticks_tell() {
        let check = |used: &[u64], ticks, cpus, expect: Option<&[f64]>| {
            let used: Vec<(u64, &str)> = used.iter().map(|&n| (n, "x")).collect();
            let found = shares(&used, ticks, cpus);
            let found = found.map(|all| all.iter().map(|(share, _)| *share).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expect, "{used:?} of {ticks}");
        };
        check(&[10, 0], 40.0, Some(2.0), Some(&[0.25, 0.0]));
        // Four ticks in 13 ms: 307 % of a CPU.
        check(&[4], 1.3, Some(2.0), None);
        check(&[75, 25], 40.0, Some(2.0), Some(&[1.5, 0.5]));
        check(&[75, 25], 50.0, None, Some(&[1.5, 0.5]));
        check(&[], 40.0, Some(2.0), Some(&[]));
    }

    #[test]
    fn clocks_that_move_apart_are_seen_in_both_directions() {
        assert_eq!(moved_apart((0, 9_000_000), (0, 3_000_000)), 6_000_000);
        assert_eq!(moved_apart((9_000_000, 0), (0, 1_000_000)), 10_000_000);
        assert_eq!(moved_apart((5, 9), (1, 6)), 0, "reading skew");
    }

    #[test]
    fn a_process_that_ends_does_not_burden_its_parent_with_its_past() {
        let process = |pid, parent, name: &str, ticks, children_ticks| Process {
            pid,
            parent,
            group: 1,
            name: name.to_owned(),
            kernel: false,
            ticks,
            children_ticks,
            start: 7,
        };
        let earlier = [process(1, 0, "make", 10, 100), process(2, 1, "cc", 1000, 0)];
        let later = [process(1, 0, "make", 11, 1105), process(3, 1, "cc", 20, 0)];
        assert_eq!(
            used_between(&earlier, &later, |_| true),
            [(6, "make"), (20, "cc")]
        );
        assert_eq!(used_between(&earlier, &later, |p| p.pid == 3), [(20, "cc")]);
        // A shell between them ended with what it had waited for.
        let earlier = [
            process(1, 0, "make", 10, 100),
            process(2, 1, "sh", 1, 500),
            process(3, 2, "cc", 1000, 0),
        ];
        let later = [process(1, 0, "make", 11, 1606)];
        assert_eq!(used_between(&earlier, &later, |_| true), [(6, "make")]);
    }

    #[test]
    fn the_clocks_of_this_machine_agree_and_we_are_not_foreign() {
        let watch = Watch::real();
        let before = watch.snapshot();
        sys::clock::gaps(250_000_000);
        let after = watch.snapshot();
        let noise = watch.noise(&before, &after, Workers::default());
        // This process itself does not count as foreign.
        assert!(noise.foreign_cpu_share.is_some());
        assert!(noise.clock_jump.unwrap() < Nanos::from_secs(1));
        assert_eq!(noise.off_cpu_share, None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_sentinel_gives_a_plausible_clock_rate() {
        let sentinel = sentinel(None).unwrap();
        assert!((0.0..=1.0).contains(&sentinel.gap_share));
        // No CPU adds more than eight at a time, and the middle of eleven moments is none that was interrupted.
        let width = sentinel.adds_per_cycle.unwrap();
        assert!((0.3..10.0).contains(&width), "{sentinel:?}");
        // The time-stamp counter runs at the nominal rate, and no CPU runs four times as fast as that.
        if let Some(ns_per_tick) = sys::clock::Clock::calibrate().rate() {
            let per_tick = ns_per_tick / sentinel.add_ns;
            assert!((0.1..4.0).contains(&per_tick), "{sentinel:?} {ns_per_tick}");
        }
    }

    #[test]
    fn a_probe_leaves_its_thread_all_the_cpus_that_it_had() {
        let before = sys::affinity::allowed_cpus().unwrap();
        for cpu in [None, before.last().copied(), Some(u32::MAX)] {
            sentinel(cpu);
            assert_eq!(sys::affinity::allowed_cpus().unwrap(), before, "{cpu:?}");
        }
    }

    #[test]
    fn a_probe_of_an_earlier_version_is_read_and_kept_as_it_was() {
        let kept = r#"{"add_ns":0.25,"gap_share":0.5,"gap_max":9000}"#;
        let probe: Sentinel = serde_json::from_str(kept).unwrap();
        assert_eq!(probe.adds_per_cycle, None);
        assert_eq!(serde_json::to_string(&probe).unwrap(), kept);
        let newer = Sentinel {
            adds_per_cycle: Some(4.5),
            ..probe
        };
        let text = serde_json::to_string(&newer).unwrap();
        assert_eq!(serde_json::from_str::<Sentinel>(&text).unwrap(), newer);
    }
}
