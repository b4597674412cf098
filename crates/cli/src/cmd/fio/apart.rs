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
        let beside = (
            dialects::fio::BESIDE.to_owned(),
            ParamValue::Count(beside.into()),
        );
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
    let mut taken: Vec<Round> = Vec::new();
    for case in &apart.plan.cases {
        let own: Vec<&Round> = apart.rounds_of(&case.id).collect();
        // Clones that are told under one name are as many rounds of it.
        let each = own.len() / rounds.len().max(1);
        for (at, one) in own.into_iter().enumerate() {
            let of = rounds.get(at / each.max(1))?;
            taken.push(Round {
                case: one.case.clone(),
                outcome: one.outcome.clone(),
                partial: None,
                ..(*of).clone()
            });
        }
    }
    Some((cases.collect(), taken))
}
