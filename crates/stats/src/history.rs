//! Earlier runs of a machine, which show what its runs differ by.
//!
//! What is looked for in a comparison must not count as scatter, so that only runs count that began before all that are
//! compared. Those of a duel or a soak are no samples of a machine as it is; a debug build and another disk are other
//! set-ups. Images of one disk may share identifier and name: where two boots overlap in time, they are two machines.

use crate::inside::Disturbances;
use crate::rounds::RunRounds;
use crate::scatter::{Differ, Spread};
use crate::visits::{self, Visits};
use crate::{quantile, scope, yuen};
use model::comparison::ScatterSource;
use model::host::BlockDevice;
use model::num::count;
use model::order::Order as _;
use model::plan::{CaseId, MetricId, PlannedCase};
use model::record::Run;
use model::spec::Nature;
use model::units::UnixNanos;
use std::cell::OnceCell;
use std::rc::Rc;

/// The latest runs that are asked: more of them would see a machine as it was long ago.
pub const EARLIER_MOST: usize = 20;

/// At fewer times than these nobody knows what hours differ by. Chosen: the upper 80 % limit of four degrees of freedom
/// is 1.56 times what was seen.
const VISITS_MIN: usize = 5;

/// The fewest rounds of an earlier run that nobody disturbed: two would hardly show their own scatter.
const QUIET_MIN: usize = 3;

/// Runs of which many comparisons ask: the rounds of each are sorted out once, when the first one does.
pub(crate) struct Kept<'a>(Vec<(&'a Run, OnceCell<Rc<RunRounds<'a>>>)>);

impl<'a> Kept<'a> {
    pub(crate) fn new(runs: &'a [Run]) -> Self {
        Self(runs.iter().map(|run| (run, OnceCell::new())).collect())
    }
}

/// A machine's earlier runs, ready to be asked.
#[derive(Clone)]
pub(crate) struct Past<'a>(Rc<[Earlier<'a>]>);

struct Earlier<'a> {
    rounds: Rc<RunRounds<'a>>,
    /// Whether it worked on the storage that is compared.
    same_storage: bool,
    /// Whether it worked on the database server that is compared, or on none as that.
    same_servers: bool,
    /// The same of peers.
    same_peers: bool,
}

/// What runs of a machine said of a metric.
pub(crate) struct Seen {
    /// The mean of each over its rounds.
    pub(crate) means: Vec<yuen::Side>,
    /// When these began.
    times: Vec<Vec<u64>>,
}

impl Seen {
    /// How they saw their machine.
    pub(crate) fn visits(&self) -> Visits {
        let times: Vec<&[u64]> = self.times.iter().map(Vec::as_slice).collect();
        Visits::of(&times)
    }

    /// At how many equal visits each of them saw it, on the (harmonic) average.
    pub(crate) fn visits_of_each(&self) -> f64 {
        let inverse: f64 = self
            .times
            .iter()
            .map(|times| 1.0 / visits::equal_of(times))
            .sum();
        count(self.times.len()) / inverse
    }
}

impl<'a> Past<'a> {
    /// Those of each side: sorted out once where both are of one set-up.
    pub(crate) fn of_sides(
        base: &Run,
        other: &Run,
        earlier: &Kept<'a>,
        first: UnixNanos,
    ) -> (Self, Self) {
        let past = Self::of(base, earlier, first);
        let alike = base.host.identity == other.host.identity
            && base.host.hostname == other.host.hostname
            && base.meta.binary.build == other.meta.binary.build
            && same_storage(base, other)
            && base.plan.servers().eq(other.plan.servers())
            && base.plan.peers().eq(other.plan.peers());
        let of_other = if alike {
            past.clone()
        } else {
            Self::of(other, earlier, first)
        };
        (past, of_other)
    }

    /// Those of `earlier` that show what runs like this one differ by, in a comparison whose first run began at
    /// `first`.
    fn of(run: &Run, earlier: &Kept<'a>, first: UnixNanos) -> Self {
        let counts = |(other, _): &&(&Run, _)| {
            let (meta, plan) = (&other.meta, &other.plan);
            meta.started < first
                && (plan.duel.is_none() && plan.soak.is_none())
                && meta.binary.build == run.meta.binary.build
                && scope::of_one_machine(&[run, other])
        };
        let mut runs: Vec<_> = earlier.0.iter().filter(counts).collect();
        runs.order_by_key(|(run, _)| std::cmp::Reverse(run.meta.started));
        runs.truncate(EARLIER_MOST);
        if scope::boots_overlap(runs.iter().map(|(run, _)| *run).chain([run])) {
            let boot = &run.host.identity.boot;
            runs.retain(|(other, _)| other.host.identity.boot == *boot);
        }
        let sorted = runs.into_iter().map(|(other, rounds)| Earlier {
            rounds: Rc::clone(rounds.get_or_init(|| Rc::new(RunRounds::of(other)))),
            same_storage: same_storage(run, other),
            same_servers: run.plan.servers().eq(other.plan.servers()),
            same_peers: run.plan.peers().eq(other.plan.peers()),
        });
        Self(sorted.collect())
    }

    /// All of these runs, on whatever storage.
    pub(crate) fn all(runs: &[&'a Run]) -> Self {
        let earlier = runs.iter().map(|run| Earlier {
            rounds: Rc::new(RunRounds::of(run)),
            same_storage: true,
            same_servers: true,
            same_peers: true,
        });
        Self(earlier.collect())
    }

    /// Whether both are one: what it says need not be asked twice.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The ids of the runs that have any of these cases.
    pub(crate) fn ids(&self, cases: &[&CaseId]) -> Vec<String> {
        let has_any = |run: &&Earlier<'_>| cases.iter().any(|case| run.rounds.case(case).is_some());
        let runs = self.0.iter().filter(has_any);
        runs.map(|run| run.rounds.run.meta.id.clone()).collect()
    }

    /// The mean of each run that measured the same case and has a few rounds that nothing disturbed. `alike` says
    /// whether a case is the same measurement.
    pub(crate) fn seen(&self, id: &MetricId, alike: impl Fn(&PlannedCase) -> bool) -> Seen {
        let of_run = |run: &Earlier<'_>| {
            let rounds = run.rounds.case(&id.case).filter(|of| alike(of.case))?;
            let on_another = match rounds.case.nature {
                _ if rounds.case.on_disk => !run.same_storage,
                Nature::Database => !run.same_servers,
                Nature::Network => !run.same_peers,
                _ => false,
            };
            if on_another {
                return None;
            }
            let disturbed = Disturbances::of(rounds);
            let rounds = rounds.values(&id.quantity);
            let quiet = rounds.filter(|(round, _)| disturbed.in_round(&round.noise).is_none());
            let (times, values): (Vec<u64>, Vec<f64>) =
                quiet.map(|(round, value)| (round.started.0, value)).unzip();
            let logs = quantile::logs(&values).filter(|logs| logs.len() >= QUIET_MIN)?;
            Some((yuen::side(&logs)?.with(run.rounds.dependence()), times))
        };
        let (means, times) = self.0.iter().filter_map(of_run).unzip();
        Seen { means, times }
    }

    /// What these runs differed by; `None` where they saw the machine at too few times.
    pub(crate) fn spread(
        &self,
        id: &MetricId,
        alike: impl Fn(&PlannedCase) -> bool,
    ) -> Option<Spread> {
        let seen = self.seen(id, alike);
        let differ = Differ::of(&seen).filter(|differ| differ.visits >= VISITS_MIN)?;
        let runs = crate::rounds::whole(seen.means.len());
        Some(Spread::of(
            differ.upper(),
            differ.df(),
            ScatterSource::Earlier { runs },
        ))
    }
}

/// Whether both worked on the same storage, as far as that is known.
fn same_storage(a: &Run, b: &Run) -> bool {
    let names = |devices: &Vec<BlockDevice>| -> Vec<String> {
        devices.iter().map(|device| device.name.clone()).collect()
    };
    let (here, there) = (&a.host.storage, &b.host.storage);
    here.file_system.known() == there.file_system.known()
        && here.devices.known().map(names) == there.devices.known().map(names)
        && a.plan.measured().eq(b.plan.measured())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_runs_that_were_spread_over_hours_are_reckoned_back_to_one_visit() {
        let seen = |hours: u64| {
            let of_run = |run: u64| {
                let mean = yuen::Side {
                    n: 9,
                    mean: if run.is_multiple_of(2) { 0.0 } else { 0.01 },
                    se_squared: 1e-8,
                    df: 5.0,
                };
                let rounds = 0..hours;
                let times = rounds.map(|hour| (100 * run + hour) * 3_600_000_000_000);
                (mean, times.collect())
            };
            let (means, times) = (0..6).map(of_run).unzip();
            Differ::of(&Seen { means, times }).unwrap()
        };
        let (one, four) = (seen(1), seen(4));
        assert_eq!((one.visits, four.visits), (6, 6));
        assert!((four.upper() / one.upper() - 2.0).abs() < 1e-9);
    }
}
