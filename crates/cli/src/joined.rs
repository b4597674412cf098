//! Sides of a comparison, with the same storage jobs under the same names: what a case did is asked of its workload,
//! and of an imported one of the program that printed it.

use crate::output;
use dialects::printable::printable;
use model::comparison::Joined;
use model::figure::FigureName;
use model::job::Definition;
use model::params::Params;
use model::plan::PlannedCase;
use model::record::Run;
use stats::joined::{Told, Work};

/// Puts the figures of all sides under the names that the base has for the same jobs; what there is to say of it,
/// for each of the others.
pub(crate) fn join(base: &mut [Run], others: &mut [&mut [Run]], earlier: &mut [Run]) -> Vec<Told> {
    stats::joined::join(base, others, earlier, &work)
}

/// The same of runs of which figures are asked for by name, in the order in which they are: the names are those of the
/// first run that has one of these tests, or of the first run where no test is asked for. What was joined is said.
pub(crate) fn under_asked_names<'a>(runs: &mut [Run], asked: impl Iterator<Item = &'a FigureName>) {
    let asked: Vec<&str> = asked.map(|name| name.test.as_str()).collect();
    let has = |run: &Run| {
        let mut tests = run.plan.cases.iter().map(|case| case.id.test.as_str());
        asked.is_empty() || tests.any(|test| asked.contains(&test))
    };
    let Some(at) = runs.iter().position(has) else {
        return;
    };
    let (before, rest) = runs.split_at_mut(at);
    let (base, behind) = rest.split_at_mut(1);
    let mut said: Vec<String> = Vec::new();
    for told in join(base, &mut [before, behind], &mut []) {
        for Joined { base, other, .. } in told.joined {
            let words = printable(&format!("`{base}` with `{other}`: the same job"));
            if base != other && !said.contains(&words) {
                said.push(words);
            }
        }
    }
    for words in said {
        output::say(&words);
    }
}

fn work(case: &PlannedCase) -> Option<Work> {
    measured(case).or_else(|| dialects::fio::work(case))
}

/// What a case of ours did, where its workload is the one that planned it.
fn measured(case: &PlannedCase) -> Option<Work> {
    let workload = workloads::find(&case.workload)?;
    let spec = workload.spec();
    let defaults = Params::resolve(spec, []).ok()?;
    // What a file brings need not be what a workload declares.
    let is_declared = defaults.iter().all(|(name, own)| {
        let kept = case.params.get(name);
        kept.is_some_and(|kept| std::mem::discriminant(kept) == std::mem::discriminant(own))
    });
    if spec.version != case.workload_version || !is_declared {
        return None;
    }
    let tasks = workload.storage_jobs(&case.params);
    let each = u32::try_from(tasks.len()).ok().filter(|each| *each > 0)?;
    let name = tasks.first().map(|task| task.name.clone());
    Some(Work {
        definition: Definition::of(&tasks)?.times((case.id.copies / each).max(1)),
        name: name.filter(|name| !name.is_empty()),
        direction: None,
    })
}
