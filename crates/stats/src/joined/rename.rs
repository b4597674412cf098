//! Figures of a run under other names: its plan and its rounds, as if it had been asked for under those.

use model::order::Keyed as _;
use model::plan::{CaseId, PlannedCase, PlannedMetric};
use model::record::{Measured, Outcome, Round, Run};
use std::collections::{BTreeMap, HashMap};

/// Where a figure goes.
#[derive(Clone, Debug)]
pub(super) struct To {
    /// Of which job it is.
    pub(super) unit: usize,
    /// Its case there.
    pub(super) case: CaseId,
    /// How it is declared there.
    pub(super) metric: PlannedMetric,
    /// It is the first one there.
    pub(super) leads: bool,
    /// The windows of a round are its own.
    pub(super) has_windows: bool,
}

/// Which figures go where.
#[derive(Debug, Default)]
pub(super) struct Renamed {
    to: BTreeMap<(CaseId, String), To>,
    /// Of which job a case is.
    units: HashMap<CaseId, usize>,
}

impl Renamed {
    /// A figure, by its case and quantity, goes there.
    pub(super) fn put(&mut self, from: (CaseId, String), to: To) {
        self.to.insert(from, to);
    }

    /// These cases are of this job.
    pub(super) fn belong(&mut self, unit: usize, cases: &[CaseId]) {
        let cases = cases.iter().cloned();
        self.units.extend(cases.map(|case| (case, unit)));
    }
}

/// Part of a case that goes to one place: the quantities as they were and as they are now.
struct Part {
    case: CaseId,
    quantities: Vec<(String, String)>,
    has_windows: bool,
}

/// Renames, and says of which job each case of the run is now.
pub(super) fn apply(run: &mut Run, renamed: &Renamed) -> Vec<(CaseId, Option<usize>)> {
    let mut names = Names::default();
    for to in renamed.to.values() {
        names.taken.insert(to.case.clone(), Some(to.unit));
    }
    let mut cases: Vec<PlannedCase> = Vec::new();
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    let mut parts: HashMap<CaseId, Vec<Part>> = HashMap::new();
    for case in std::mem::take(&mut run.plan.cases) {
        let unit = renamed.units.get(&case.id).copied();
        let mut own: Vec<Part> = Vec::new();
        for (at, metric) in case.metrics.iter().enumerate() {
            let key = (case.id.clone(), metric.quantity.clone());
            let (id, metric, leads, has_windows) = match renamed.to.get(&key) {
                Some(to) => (to.case.clone(), to.metric.clone(), to.leads, to.has_windows),
                None => (names.of(&case.id, unit), metric.clone(), false, at == 0),
            };
            let part = part(&mut own, &id);
            part.quantities.push((key.1, metric.quantity.clone()));
            part.has_windows |= has_windows;
            let place = *places.entry(id.clone()).or_insert_with(|| {
                let empty = Vec::new();
                cases.push(PlannedCase {
                    id,
                    metrics: empty,
                    ..case.clone()
                });
                cases.len() - 1
            });
            let metrics = &mut cases[place].metrics;
            metrics.insert(if leads { 0 } else { metrics.len() }, metric);
        }
        if own.is_empty() {
            own.push(Part {
                case: names.of(&case.id, unit),
                quantities: Vec::new(),
                has_windows: true,
            });
            cases.push(case.clone());
        }
        parts.insert(case.id, own);
    }
    run.plan.cases = cases;
    let rounds = std::mem::take(&mut run.rounds);
    run.rounds = rounds
        .into_iter()
        .flat_map(|round| of_parts(round, &parts))
        .collect();
    let ids = run.plan.cases.iter().map(|case| case.id.clone());
    ids.map(|id| (id.clone(), names.taken.get(&id).copied().flatten()))
        .collect()
}

fn part<'a>(parts: &'a mut Vec<Part>, id: &CaseId) -> &'a mut Part {
    let at = parts.iter().position(|part| part.case == *id);
    let at = at.unwrap_or_else(|| {
        parts.push(Part {
            case: id.clone(),
            quantities: Vec::new(),
            has_windows: false,
        });
        parts.len() - 1
    });
    &mut parts[at]
}

/// The names that are given, with the job that has each.
#[derive(Default)]
struct Names {
    taken: BTreeMap<CaseId, Option<usize>>,
    given: HashMap<CaseId, CaseId>,
}

impl Names {
    /// What is left of a case keeps its name, unless another job has it now.
    fn of(&mut self, id: &CaseId, unit: Option<usize>) -> CaseId {
        if let Some(given) = self.given.get(id) {
            return given.clone();
        }
        let mut name = id.clone();
        let mut number = 1;
        while self.taken.get(&name).is_some_and(|of| *of != unit) {
            number += 1;
            name.test = format!("{}-{number}", id.test);
        }
        self.taken.insert(name.clone(), unit);
        self.given.insert(id.clone(), name.clone());
        name
    }
}

/// A round of each part of its case.
fn of_parts(round: Round, parts: &HashMap<CaseId, Vec<Part>>) -> Vec<Round> {
    let Some(parts) = parts.get(&round.case) else {
        return vec![round];
    };
    let is_as_it_was = |part: &Part| {
        part.case == round.case && part.quantities.iter().all(|(from, to)| from == to)
    };
    if let [only] = &parts[..]
        && is_as_it_was(only)
    {
        return vec![round];
    }
    let of_part = |(at, part): (usize, &Part)| Round {
        case: part.case.clone(),
        outcome: match &round.outcome {
            Outcome::Done(done) => Outcome::Done(measured(done, part, at == 0)),
            failed @ Outcome::Failed(_) => failed.clone(),
        },
        partial: round.partial.clone().filter(|_| at == 0),
        ..round.clone()
    };
    parts.iter().enumerate().map(of_part).collect()
}

fn measured(done: &Measured, part: &Part, is_first: bool) -> Measured {
    let quantities = || part.quantities.iter();
    let values = quantities().filter_map(|(from, to)| Some((to.clone(), *done.values.get(from)?)));
    let missing =
        quantities().filter_map(|(from, to)| Some((to.clone(), done.missing.get(from)?.clone())));
    let all = if is_first {
        done.clone()
    } else {
        Measured {
            notes: Vec::new(),
            series: BTreeMap::new(),
            copies: Vec::new(),
            latencies: BTreeMap::new(),
            ..done.clone()
        }
    };
    Measured {
        values: values.into_map(),
        missing: missing.into_map(),
        windows: all
            .windows
            .into_iter()
            .filter(|_| part.has_windows)
            .collect(),
        cpu_windows: all
            .cpu_windows
            .into_iter()
            .filter(|_| part.has_windows)
            .collect(),
        ..all
    }
}
