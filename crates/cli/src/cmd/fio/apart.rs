//! The jobs of a kept run each by itself: what an import of its own report would hold, with the noise of its rounds.
//!
//! Jobs that work at the same time are one case of the run, whose figures are those of all of them. Where it is held
//! against figures of one job, such as an output that was imported, that case is taken apart.

use super::phases::{self, Phase};
use super::results;
use super::surroundings::Machine;
use dialects::figures::Figures;
use dialects::figures::run::{Source, of_rounds};
use dialects::fio::Plan;
use model::job::BESIDE;
use model::params::ParamValue;
use model::plan::PlannedCase;
use model::record::{Round, Run};

/// What `kurabe fio` was asked for, where a case of the run stands for several jobs that are reported each by itself.
pub(crate) fn asked(run: &Run) -> Option<Plan> {
    let plan = dialects::fio::parse(run.plan.of_fio()?, &Machine).ok()?;
    let phases = phases::told(&plan);
    let cases = run.plan.cases.iter().map(|case| &case.id);
    let is_so = phases.iter().map(|phase| &phase.case).eq(cases)
        && phases.iter().any(|phase| is_several(&plan, phase));
    is_so.then_some(plan)
}

/// Whether the jobs of a phase are reported as more than one.
fn is_several(plan: &Plan, phase: &Phase<'_>) -> bool {
    let as_one = |id: u32| {
        let mut groups = plan.groups.iter();
        groups.any(|group| group.id == id && group.is_reported_as_one())
    };
    let mut jobs = phase.jobs.iter().map(|(group, _)| *group);
    let first = jobs.next();
    first.is_some_and(|first| {
        let others: Vec<u32> = jobs.collect();
        !(others.is_empty() || as_one(first) && others.iter().all(|group| *group == first))
    })
}

/// Takes those cases apart; a case of which a job failed stays whole.
pub(crate) fn take(run: &mut Run, plan: &Plan) {
    for phase in phases::told(plan)
        .iter()
        .filter(|phase| is_several(plan, phase))
    {
        if let Some(apart) = of_phase(run, plan, phase) {
            let (cases, rounds) = apart;
            let at = run.plan.cases.iter().position(|case| case.id == phase.case);
            run.plan.cases.retain(|case| case.id != phase.case);
            let at = at.unwrap_or(0);
            run.plan.cases.splice(at..at, cases);
            run.rounds.retain(|round| round.case != phase.case);
            run.rounds.extend(rounds);
        }
    }
}

fn of_phase(run: &Run, plan: &Plan, phase: &Phase<'_>) -> Option<(Vec<PlannedCase>, Vec<Round>)> {
    let whole = run.plan.case(&phase.case)?;
    let rounds: Vec<&Round> = run
        .rounds_of(&phase.case)
        .filter(|round| round.told().is_some())
        .collect();
    let of_round = |round: &&Round| {
        let phase = std::slice::from_ref(phase);
        dialects::fio::figures(&results::report(plan, phase, run, round.pass))
    };
    let told: Vec<Vec<Figures>> = rounds.iter().map(of_round).collect();
    let source = Source {
        program: dialects::fio::NAME,
        file: "",
        text: "",
        binary: &run.meta.binary,
    };
    let texts: Vec<(Source<'_>, &[Figures])> =
        told.iter().map(|figures| (source, &figures[..])).collect();
    let apart = of_rounds(&texts, &|_, _| None).ok().flatten()?;
    let jobs: u32 = phase.jobs.iter().map(|(_, job)| job.members()).sum();
    let cases = apart.plan.cases.iter().map(|case| {
        let beside = jobs.saturating_sub(case.id.copies);
        let beside = (BESIDE.to_owned(), ParamValue::Count(beside.into()));
        let params = case
            .params
            .iter()
            .map(|(name, value)| (name.to_owned(), value.clone()));
        PlannedCase {
            params: params.chain([beside]).collect(),
            shape: whole.shape,
            on_disk: whole.on_disk,
            ..case.clone()
        }
    });
    let taken = rounds_of_texts(&rounds, &texts)?;
    Some((cases.collect(), taken))
}

/// What the text of each round says, as rounds of the times of that one: a text may say the same of several clones, and
/// another one of fewer.
fn rounds_of_texts(rounds: &[&Round], texts: &[(Source<'_>, &[Figures])]) -> Option<Vec<Round>> {
    let mut all: Vec<Round> = Vec::new();
    for (of, text) in rounds.iter().zip(texts) {
        let own = of_rounds(std::slice::from_ref(text), &|_, _| None);
        let own = own.ok().flatten()?.rounds.into_iter();
        all.extend(own.map(|one| Round {
            case: one.case,
            outcome: one.outcome,
            partial: None,
            ..(*of).clone()
        }));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialects::figures::Figure;
    use model::order::Keyed as _;
    use model::record::Outcome;
    use model::spec::{MetricClass, Nature};
    use model::units::{Nanos, Unit};
    use std::collections::BTreeMap;

    fn figures(value: f64) -> Figures {
        Figures {
            cut_short: None,
            output: 0,
            version: None,
            when: None,
            test: "fio.c".to_owned(),
            title: "c".to_owned(),
            copies: 1,
            nature: Nature::Storage,
            params: BTreeMap::new(),
            values: vec![Figure::rate(
                "iops",
                Unit::OpsPerSecond,
                MetricClass::Throughput,
                value,
            )],
            ours: None,
        }
    }

    /// The value says of which round it is.
    #[test]
    fn figures_have_the_times_of_their_own_round() {
        let binary = testkit::meta("20261121-004311-9f3c").binary;
        let source = Source {
            program: "fio",
            file: "",
            text: "",
            binary: &binary,
        };
        let case = testkit::case("fio.whole@3", Vec::new()).id;
        let rounds = [1_u32, 2, 3].map(|pass| Round {
            pass,
            took: Nanos(pass.into()),
            ..testkit::round(
                &case,
                pass,
                Outcome::Done(testkit::measured(&[("iops", 1.0)])),
            )
        });
        let check = |counts: [usize; 3]| {
            let told = [1.0, 2.0, 3.0].map(figures);
            let told = told.into_iter().zip(counts);
            let told: Vec<Vec<Figures>> = told.map(|(one, n)| vec![one; n]).collect();
            let texts: Vec<(Source<'_>, &[Figures])> =
                told.iter().map(|all| (source, &all[..])).collect();
            let found = rounds_of_texts(&rounds.each_ref(), &texts).unwrap();
            assert_eq!(found.len(), counts.iter().sum::<usize>());
            for round in found {
                let Outcome::Done(done) = &round.outcome else {
                    panic!("{round:?}");
                };
                let values = [("iops".to_owned(), f64::from(round.pass))];
                assert_eq!(done.values, values.into_map());
                assert_eq!(round.took, Nanos(round.pass.into()));
            }
        };
        check([1, 1, 1]);
        check([2, 2, 2]);
        check([3, 1, 2]);
        check([1, 3, 2]);
        check([1, 1, 4]);
    }
}
