//! Where work per wall second and work per CPU second part, and why.
//!
//! Work that only computes should be on a CPU all of the time, and a CPU second should be worth the same however many
//! copies run. Where either is not so, the numbers are right, and the reader must know what they are numbers of.

use crate::rounds::{CaseRounds, RunRounds};
use crate::scaling;
use crate::thresholds::{FOREIGN_MAX, STEAL_MAX, THROTTLED_MAX};
use model::host::HostFacts;
use model::latency::LATE;
use model::noise::Noise;
use model::plan::{PlannedCase, PlannedMetric};
use model::record::Measured;
use model::spec::{How, MetricClass, Time};
use model::warning::{OffCpuCause, Warning};

/// Share of the wall time off a CPU above which it is said: more than starting together and ending batches cost.
pub(crate) const OFF_CPU_MAX: f64 = 0.03;

/// Loss of work per CPU second against one copy above which it is said, when the whole interval lies above it.
pub(crate) const WORTH_LOST_MAX: f64 = 0.05;

/// The warnings about a case; none for work that waits by nature.
pub(crate) fn warnings(rounds: &CaseRounds<'_>, run: &RunRounds<'_>) -> Vec<Warning> {
    let has = |is: fn(&PlannedMetric) -> bool| rounds.case.metrics.iter().any(is);
    let per_cpu_second = has(|metric| matches!(metric.how, How::Per(_, Time::Cpu)));
    // Loads and stores keep a CPU as busy as additions do: what waits for one has not waited for the memory. What such
    // a test is set up with is of this class as well, where its figures are latencies.
    let computes = per_cpu_second || has(|metric| metric.class == MetricClass::Compute);
    // Who waits for work that arrives by itself is off a CPU for no other reason.
    let arrives = |measured: &&Measured| measured.latencies.contains_key(LATE);
    let computes = computes && !rounds.done.iter().any(arrives);
    let host = &run.run.host;
    let off_cpu = computes.then(|| off_cpu(rounds.case, host, &rounds.noises));
    // What a second on a CPU is worth is asked of those alone that tell it.
    let worth_less = per_cpu_second.then(|| worth_less(rounds, run));
    [off_cpu, worth_less]
        .into_iter()
        .flatten()
        .flatten()
        .collect()
}

fn off_cpu(case: &PlannedCase, host: &HostFacts, noises: &[&Noise]) -> Option<Warning> {
    let median = |share: fn(&Noise) -> Option<f64>| {
        let shares: Vec<f64> = noises.iter().filter_map(|noise| share(noise)).collect();
        crate::quantile::median(&shares)
    };
    let above = |share: fn(&Noise) -> Option<f64>, limit| median(share).is_some_and(|x| x > limit);
    let share = median(|noise| noise.off_cpu_share).filter(|&share| share > OFF_CPU_MAX)?;
    let cpus = scaling::Cpus::of(host);
    let foreign = median(|noise| noise.foreign_cpu_share);
    let by_host = |steal| crate::taken::by_host_first(steal, foreign, case.id.copies, share);
    let stolen = median(|noise| noise.steal_share).filter(|&x| x > STEAL_MAX);
    let by_others = foreign.is_some_and(|x| x > FOREIGN_MAX);
    let cause = if above(|noise| noise.throttled_share, THROTTLED_MAX) {
        OffCpuCause::Quota(cpus.quota)
    } else if case.id.copies > cpus.allowed {
        OffCpuCause::MoreCopiesThanCpus(cpus.allowed)
    } else if stolen.is_some_and(|steal| !by_others || by_host(steal)) {
        OffCpuCause::Steal
    } else if by_others {
        OffCpuCause::Foreign
    } else {
        OffCpuCause::Unknown
    };
    Some(Warning::OffCpu {
        share,
        copies: case.id.copies,
        cause,
    })
}

fn worth_less(rounds: &CaseRounds<'_>, run: &RunRounds<'_>) -> Option<Warning> {
    let case = rounds.case;
    if case.id.copies < 2 || rounds.done.is_empty() {
        return None;
    }
    let worth = scaling::cpu_worth(rounds, run)?;
    let surely = worth.interval?.hi < 1.0 - WORTH_LOST_MAX;
    let cores = scaling::Cpus::of(&run.run.host).smt_cores;
    surely.then(|| Warning::CpuWorthLess {
        loss: 1.0 - worth.value,
        copies: case.id.copies,
        threads_share_cores: cores.is_some_and(|cores| case.id.copies > cores),
        of_one_process: case.shape.threads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::host::Fact;
    use model::record::{Outcome, Run};
    use model::spec::{Amount, Better, MetricClass};
    use model::units::{Nanos, Unit};

    /// One copy and two, six rounds each, in which each copy was on a CPU for `on_cpu` of its half second and did
    /// `work`.
    fn run(on_cpu: [f64; 2], work: [f64; 2]) -> Run {
        let mut run = fixture::run(&[("t@1", vec![1.0; 6]), ("t@2", vec![1.0; 6])]);
        run.host.limits.cpus_allowed = Fact::Known(2);
        run.host.cpu.online = Fact::Known(2);
        for case in &mut run.plan.cases {
            case.metrics.push(PlannedMetric {
                how: How::Per(Amount::Operations, Time::Cpu),
                ..fixture::metric(
                    "ops_per_cpu_s",
                    Unit::OpsPerSecond,
                    Better::Higher,
                    MetricClass::Compute,
                )
            });
        }
        for round in &mut run.rounds {
            let at = usize::from(round.case.copies > 1);
            round.noise.off_cpu_share = Some(1.0 - on_cpu[at]);
            if let Outcome::Done(measured) = &mut round.outcome {
                measured.copies[0].user = Nanos(model::num::round_to_u64(5e8 * on_cpu[at]));
                measured.copies[0].work = work[at] * on_cpu[at];
            }
        }
        run
    }

    /// The warnings of the case with two copies.
    fn check(run: &Run, expect: &[Warning]) {
        let rounds = RunRounds::of(run);
        assert_eq!(warnings(&rounds.cases()[1], &rounds), expect);
    }

    fn off(cause: OffCpuCause) -> Warning {
        Warning::OffCpu {
            share: 0.5,
            copies: 2,
            cause,
        }
    }

    #[test]
    fn time_off_the_cpu_is_said_with_its_cause() {
        check(&run([1.0, 0.98], [1e6, 1e6]), &[]);
        let half = || run([1.0, 0.5], [1e6, 1e6]);
        check(&half(), &[off(OffCpuCause::Unknown)]);
        let mut arrives = half();
        for round in &mut arrives.rounds {
            if let Outcome::Done(measured) = &mut round.outcome {
                measured.latencies = [(LATE.to_owned(), vec![(100, 10)])].into();
            }
        }
        check(&arrives, &[]);
        let mut one_cpu = half();
        one_cpu.host.limits.cpus_allowed = Fact::Known(1);
        check(&one_cpu, &[off(OffCpuCause::MoreCopiesThanCpus(1))]);
        let with = |change: fn(&mut Noise)| {
            let mut run = half();
            run.rounds
                .iter_mut()
                .for_each(|round| change(&mut round.noise));
            run.host.limits.cpu_quota = Fact::Known(Some(1.5));
            run
        };
        let quota = with(|noise| noise.throttled_share = Some(0.2));
        check(&quota, &[off(OffCpuCause::Quota(Some(1.5)))]);
        check(
            &with(|noise| noise.steal_share = Some(0.2)),
            &[off(OffCpuCause::Steal)],
        );
        let foreign = with(|noise| noise.foreign_cpu_share = Some(0.2));
        check(&foreign, &[off(OffCpuCause::Foreign)]);
        // Both: a little stolen time does not make the host the cause of what a busy neighbour took.
        let both = with(|noise| {
            noise.steal_share = Some(0.024);
            noise.foreign_cpu_share = Some(1.5);
        });
        check(&both, &[off(OffCpuCause::Foreign)]);
        let mostly_stolen = with(|noise| {
            noise.steal_share = Some(0.3);
            noise.foreign_cpu_share = Some(1.5);
        });
        check(&mostly_stolen, &[off(OffCpuCause::Steal)]);
    }

    #[test]
    fn a_cpu_second_that_is_worth_less_is_said() {
        check(&run([1.0, 1.0], [1e6, 0.96e6]), &[]);
        let slower = |threads| Warning::CpuWorthLess {
            loss: 0.25,
            copies: 2,
            threads_share_cores: threads,
            of_one_process: false,
        };
        let mut run = run([1.0, 1.0], [1e6, 0.75e6]);
        check(&run, &[slower(false)]);
        run.host.cpu.threads_per_core = Fact::Known(2);
        run.host.cpu.cores = Fact::Known(1);
        check(&run, &[slower(true)]);
        for case in &mut run.plan.cases {
            case.shape.threads = true;
        }
        let threads = Warning::CpuWorthLess {
            loss: 0.25,
            copies: 2,
            threads_share_cores: true,
            of_one_process: true,
        };
        check(&run, &[threads]);
    }

    #[test]
    fn loads_that_waited_for_a_cpu_are_told_so_without_a_figure_per_cpu_second() {
        let mut run = run([1.0, 0.5], [1e6, 0.2e6]);
        run.host.limits.cpus_allowed = Fact::Known(1);
        for case in &mut run.plan.cases {
            case.metrics = vec![fixture::metric(
                "ns_per_load",
                Unit::Nanoseconds,
                Better::Lower,
                MetricClass::Compute,
            )];
        }
        check(&run, &[off(OffCpuCause::MoreCopiesThanCpus(1))]);
        // Latencies of a curve, and what it is set up with.
        for case in &mut run.plan.cases {
            case.metrics[0].class = MetricClass::LatencyTypical;
        }
        check(&run, &[]);
        for case in &mut run.plan.cases {
            let setting = fixture::metric(
                "page_bytes",
                Unit::Bytes,
                Better::Higher,
                MetricClass::Compute,
            );
            case.metrics.push(setting);
        }
        check(&run, &[off(OffCpuCause::MoreCopiesThanCpus(1))]);
    }

    #[test]
    fn work_that_waits_by_nature_is_not_told_that_it_waits() {
        let mut run = run([1.0, 0.5], [1e6, 0.5e6]);
        for case in &mut run.plan.cases {
            case.metrics.truncate(1);
        }
        check(&run, &[]);
    }
}
