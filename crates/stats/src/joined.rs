//! The same job under two names: figures are joined by what decides them, before sides are compared.
//!
//! A run names a case by what asked for it: a test, a section of a job file, a job of an imported output. Where the
//! definitions of two cases agree ([`Definition::against`]), the figures of one are put under the names that the base
//! has for them, in copies of the runs: what is kept stays as it is. Jobs of one name and other definitions are not
//! joined, and their parameters then say what differs. A definition of which a side knows only a part is joined only
//! with a job of the same name, and what is not known is told.
//!
//! Under other names a job is joined where a single one is left on each side that has its definition: which of several
//! it is cannot be told, for the names of files are no part of a definition.

mod rename;

use crate::compare::not_alike;
use model::comparison::{Joined, NotJoined};
use model::job::{Agreement, Definition, Direction};
use model::order::Keyed as _;
use model::params::{ParamValue, Params};
use model::plan::{CaseId, PlannedCase, PlannedMetric};
use model::record::Run;
use rename::{Renamed, To};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a case did, as far as it is a storage job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// What decides its figures.
    pub definition: Definition,
    /// What its job is called; `None` where its case has the name of a test.
    pub name: Option<String>,
    /// The only direction that it is about, where the job has several.
    pub direction: Option<Direction>,
}

/// What a case of a run did; `None` where it is no storage job, or where that is not known.
pub type WorkOf<'a> = dyn Fn(&PlannedCase) -> Option<Work> + 'a;

impl Work {
    /// What one of its figures is called where the job is known: without a direction where it has one alone, and with
    /// it where it has several.
    fn figure(&self, quantity: &str) -> String {
        let of_only = self.definition.only_direction();
        let without =
            of_only.and_then(|only| quantity.strip_prefix(only.word())?.strip_prefix('_'));
        match self.direction.filter(|_| !quantity.starts_with("sync_")) {
            Some(direction) if of_only.is_none() => format!("{}_{quantity}", direction.word()),
            _ => without.unwrap_or(quantity).to_owned(),
        }
    }
}

/// A figure of a job, where a run has it.
#[derive(Clone, Debug)]
struct Place {
    case: CaseId,
    metric: PlannedMetric,
    /// It is the first of its case.
    leads: bool,
}

/// A job of a run: its cases, which are several where an output tells one job in parts.
#[derive(Clone, Debug)]
struct Unit {
    work: Work,
    cases: Vec<CaseId>,
    figures: BTreeMap<String, Place>,
}

impl Unit {
    fn new(case: &PlannedCase, work: Work) -> Self {
        let figures = case.metrics.iter().enumerate().map(|(at, metric)| {
            let place = Place {
                case: case.id.clone(),
                metric: metric.clone(),
                leads: at == 0,
            };
            (work.figure(&metric.quantity), place)
        });
        Self {
            figures: figures.into_map(),
            cases: vec![case.id.clone()],
            work,
        }
    }

    /// Whether the other one tells further figures of the same job.
    fn goes_on_in(&self, other: &Self) -> bool {
        let (a, b) = (&self.work, &other.work);
        let has = |name: &String| self.figures.contains_key(name);
        matches!(a.definition.against(&b.definition), Agreement::Same(_))
            && (a.name == b.name || a.name.is_none() || b.name.is_none())
            && !other.figures.keys().any(has)
    }

    fn take(&mut self, other: Self) {
        self.work.name = self.work.name.take().or(other.work.name);
        self.cases.extend(other.cases);
        self.figures.extend(other.figures);
    }
}

/// The jobs of a run. An output tells some in several cases; what kurabe measures has one each.
fn units(run: &Run, of: &WorkOf<'_>) -> Vec<Unit> {
    let in_parts = run.meta.origin.is_some();
    let mut units: Vec<Unit> = Vec::new();
    // The last jobs of each definition: those before have their parts.
    let mut last: HashMap<String, usize> = HashMap::new();
    for case in &run.plan.cases {
        let Some(mut work) = of(case) else {
            continue;
        };
        if in_parts {
            work.definition = work.definition.without_target();
        }
        let key = work.definition.always_known();
        let unit = Unit::new(case, work);
        let before = last.get(&key).copied().filter(|_| in_parts);
        match before.and_then(|at| units.get_mut(at)) {
            Some(before) if before.goes_on_in(&unit) => before.take(unit),
            _ => {
                last.insert(key, units.len());
                units.push(unit);
            }
        }
    }
    if in_parts {
        beside(&mut units, run.plan.cases.len());
    }
    units
}

/// An output does not say which of its jobs worked at the same time. One that all of its cases are of was alone.
fn beside(units: &mut [Unit], cases: usize) {
    let is_alone = matches!(&*units, [only] if only.cases.len() == cases);
    for unit in units {
        let definition = unit.work.definition.clone();
        unit.work.definition = if is_alone {
            definition.beside(0)
        } else {
            definition.perhaps_beside_others()
        };
    }
}

/// What there is to say of two sides whose jobs were joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The same job under two names.
    pub joined: Vec<Joined>,
    /// Jobs of the same kind that are not the same.
    pub not_joined: Vec<NotJoined>,
}

/// Puts the figures of `others` and of `earlier`, and of the runs of the base but its first, under the names that the
/// base has for the same jobs. What there is to say of it, for each of `others`.
pub fn join(
    base: &mut [Run],
    others: &mut [&mut [Run]],
    earlier: &mut [Run],
    of: &WorkOf<'_>,
) -> Vec<Told> {
    let none = vec![Told::default(); others.len()];
    if !is_asked(base, others.iter().flat_map(|side| side.iter())) {
        return none;
    }
    let mut joint = Joint::default();
    let mut within = Told::default();
    for run in base.iter_mut() {
        within.joined.extend(joint.take(run, true, of).joined);
    }
    if joint.reference.is_empty() {
        return none;
    }
    let told = others.iter_mut().map(|side| {
        let mut all = within.clone();
        for run in side.iter_mut() {
            let of_run = joint.take(run, false, of);
            add(&mut all.joined, of_run.joined);
            add(&mut all.not_joined, of_run.not_joined);
        }
        all
    });
    let told: Vec<Told> = told.collect();
    for run in earlier.iter_mut() {
        joint.take(run, false, of);
    }
    let others = others.iter_mut().flat_map(|side| side.iter_mut());
    let runs = base.iter_mut().chain(others).chain(earlier);
    for (run, params) in runs.zip(&joint.params) {
        say_params(run, params, &joint.concerned);
    }
    told
}

/// Adds those that are not there yet: the runs of a side say the same.
fn add<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// Whether a run has a case that does not stand in the base under the same name and with the same parameters: without
/// one there is nothing to join.
pub fn is_asked<'a>(base: &'a [Run], others: impl Iterator<Item = &'a Run>) -> bool {
    let mut all = base.iter().skip(1).chain(others);
    !all.all(|run| has_twins(run, base))
}

/// Whether each case of a run has one of the same name and parameters in the first run of the base.
fn has_twins(run: &Run, base: &[Run]) -> bool {
    let planned = base.iter().take(1).flat_map(|run| &run.plan.cases);
    let known: HashMap<&CaseId, &PlannedCase> = planned.map(|case| (&case.id, case)).collect();
    let mut cases = run.plan.cases.iter();
    cases.all(|case| {
        let twin = known.get(&case.id);
        twin.is_some_and(|twin| not_alike(twin, case).is_none())
    })
}

/// So many jobs of one kind are held against one: an import may have thousands.
const NEAR_MAX: usize = 64;

/// A job of the reference, with what only one of them knows.
type Match = (usize, Vec<&'static str>);

/// How many jobs of one definition are left on each side, where which of them is which cannot be told.
#[derive(Clone, Copy, Debug)]
struct Several {
    /// The first of the reference.
    there: usize,
    base: usize,
    other: usize,
}

impl Several {
    /// As what keeps jobs apart.
    fn told(self) -> (&'static str, String, String) {
        const NAME: &str = "number of such jobs";
        (NAME, self.base.to_string(), self.other.to_string())
    }
}

/// Runs on their way to the names of the base.
#[derive(Default)]
struct Joint {
    /// The jobs of the base.
    reference: Vec<Unit>,
    /// Which of them have a definition that agrees in what is always known.
    by_key: HashMap<String, Vec<usize>>,
    /// The job of each of its cases.
    by_case: HashMap<CaseId, usize>,
    /// How the cases of the base that are concerned by name were planned.
    planned: HashMap<CaseId, PlannedCase>,
    /// What each run that was taken has for parameters of its jobs, by the names that they have now.
    params: Vec<BTreeMap<CaseId, Params>>,
    /// The cases whose definitions stand in the place of their parameters: joined, or of one name and not the same.
    concerned: BTreeSet<CaseId>,
}

impl Joint {
    /// Takes a run: its jobs become part of the reference where it is one of the base.
    fn take(&mut self, run: &mut Run, of_base: bool, of: &WorkOf<'_>) -> Told {
        let units = units(run, of);
        let (found, several) = self.matched(&units);
        let mut renamed = Renamed::default();
        let mut told = Told::default();
        let taken: BTreeSet<usize> = found.iter().flatten().map(|(there, _)| *there).collect();
        for (at, (unit, found)) in units.iter().zip(&found).enumerate() {
            match found {
                Some((there, _)) if self.is_so_already(*there, unit, run) => {}
                Some((there, unknown)) => {
                    told.joined
                        .extend(self.move_to(*there, (at, unit), unknown, &mut renamed));
                }
                None => {
                    self.stays(unit, run);
                    told.not_joined
                        .extend(self.nearest(unit, &taken, several.get(&at)));
                }
            }
        }
        for (at, unit) in units.iter().enumerate() {
            renamed.belong(at, &unit.cases);
        }
        let names = rename::apply(run, &renamed);
        let mut params = BTreeMap::new();
        for (at, (unit, found)) in units.into_iter().zip(found).enumerate() {
            let definition = match &found {
                Some((there, _)) => &self.reference[*there].work.definition,
                None => &unit.work.definition,
            };
            let now = names.iter().filter(|(_, of)| *of == Some(at));
            params.extend(now.map(|(id, _)| (id.clone(), definition.params())));
            if of_base && found.is_none() {
                self.refer_to(unit, run);
            }
        }
        self.params.push(params);
        told
    }

    fn refer_to(&mut self, unit: Unit, run: &Run) {
        let key = unit.work.definition.always_known();
        let at = self.reference.len();
        self.by_key.entry(key).or_default().push(at);
        let cases = unit.cases.iter().cloned();
        self.by_case.extend(cases.map(|case| (case, at)));
        for case in run
            .plan
            .cases
            .iter()
            .filter(|case| unit.cases.contains(&case.id))
        {
            self.planned
                .entry(case.id.clone())
                .or_insert_with(|| case.clone());
        }
        self.reference.push(unit);
    }

    /// Which job of the reference each of these is, with what only one of them knows: each one once, those of the same
    /// case first, then those that are known in full, by the name of the job and then where there is a single one. And
    /// those that could be several, or one that several could be.
    fn matched(&self, units: &[Unit]) -> (Vec<Option<Match>>, BTreeMap<usize, Several>) {
        let mut found: Vec<Option<Match>> = vec![None; units.len()];
        let mut several = BTreeMap::new();
        let mut free = self.by_key.clone();
        for closeness in Closeness::ALL {
            if matches!(closeness, Closeness::Definition) {
                several = self.single(units, &mut found, &mut free);
                continue;
            }
            for (unit, found) in units.iter().zip(&mut found) {
                let key = unit.work.definition.always_known();
                let Some(free) = free.get_mut(&key).filter(|_| found.is_none()) else {
                    continue;
                };
                let near = |at: usize| closeness.of(&self.reference[at], unit);
                let mut places: Vec<usize> = (0..free.len().min(NEAR_MAX)).collect();
                if matches!(closeness, Closeness::Case) {
                    let case = unit.cases.iter().find_map(|case| self.by_case.get(case));
                    places = case
                        .and_then(|at| free.binary_search(at).ok())
                        .into_iter()
                        .collect();
                }
                let mut places = places.into_iter();
                if let Some((place, unknown)) =
                    places.find_map(|place| Some((place, near(free[place])?)))
                {
                    *found = Some((free.remove(place), unknown));
                }
            }
        }
        several.retain(|at, _| found[*at].is_none());
        (found, several)
    }

    /// Finds those of the same definition where there is a single one on each side; the others of which there is any.
    fn single(
        &self,
        units: &[Unit],
        found: &mut [Option<Match>],
        free: &mut HashMap<String, Vec<usize>>,
    ) -> BTreeMap<usize, Several> {
        let mut fits: Vec<(usize, String, Vec<Match>)> = Vec::new();
        let mut wanted: HashMap<usize, usize> = HashMap::new();
        for (at, unit) in units.iter().enumerate() {
            let key = unit.work.definition.always_known();
            let Some(of_kind) = free.get(&key).filter(|_| found[at].is_none()) else {
                continue;
            };
            // Of more than are looked at it is not known that there is a single one.
            let near = of_kind.iter().take(NEAR_MAX + 1).filter_map(|there| {
                let unknown = Closeness::Definition.of(&self.reference[*there], unit)?;
                Some((*there, unknown))
            });
            let near: Vec<Match> = near.collect();
            for (there, _) in &near {
                *wanted.entry(*there).or_default() += 1;
            }
            fits.push((at, key, near));
        }
        let mut several = BTreeMap::new();
        for (at, key, near) in fits {
            let Some(first) = near.first() else {
                continue;
            };
            let (base, other) = (near.len(), wanted[&first.0]);
            let of_kind = free.entry(key).or_default();
            if (base, other) == (1, 1) && of_kind.len() <= NEAR_MAX {
                of_kind.retain(|there| *there != first.0);
                found[at] = Some(first.clone());
            } else {
                let there = first.0;
                several.insert(at, Several { there, base, other });
            }
        }
        several
    }

    /// Whether the same case of the same parameters stands in the base: there is nothing to do then.
    fn is_so_already(&self, there: usize, unit: &Unit, run: &Run) -> bool {
        let reference = &self.reference[there];
        let twin = |id: &CaseId| self.planned.get(id).zip(run.plan.case(id));
        let alike = |id: &CaseId| twin(id).is_some_and(|(a, b)| not_alike(a, b).is_none());
        reference.cases == unit.cases && unit.cases.iter().all(alike)
    }

    /// Puts what both have under the names of the reference; what was joined, where the names differ.
    fn move_to(
        &mut self,
        there: usize,
        (at, unit): (usize, &Unit),
        unknown: &[&'static str],
        renamed: &mut Renamed,
    ) -> Vec<Joined> {
        let reference = &self.reference[there];
        let place = |cases: &[CaseId], id: &CaseId| cases.iter().position(|case| case == id);
        let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (name, from) in &unit.figures {
            let Some(to) = reference.figures.get(name) else {
                continue;
            };
            let (own, theirs) = (&from.metric, &to.metric);
            if (own.unit, own.better) != (theirs.unit, theirs.better) {
                continue;
            }
            pairs.extend(place(&reference.cases, &to.case).zip(place(&unit.cases, &from.case)));
            let to = To {
                unit: at,
                case: to.case.clone(),
                metric: PlannedMetric {
                    how: own.how.clone(),
                    ..theirs.clone()
                },
                leads: to.leads,
                has_windows: to.leads && from.leads,
            };
            renamed.put((from.case.clone(), own.quantity.clone()), to);
        }
        self.concerned.extend(reference.cases.iter().cloned());
        let unknown: Vec<String> = unknown.iter().map(|name| (*name).to_owned()).collect();
        let pair = |(base, other): (usize, usize)| Joined {
            base: reference.cases[base].clone(),
            other: unit.cases[other].clone(),
            unknown: unknown.clone(),
        };
        let all: Vec<Joined> = pairs.into_iter().map(pair).collect();
        let is_told = |one: &&Joined| one.base != one.other;
        let mut told: Vec<Joined> = all.iter().filter(is_told).cloned().collect();
        if told.is_empty() && !unknown.is_empty() {
            told.extend(all.into_iter().next());
        }
        told
    }

    /// A job of the reference that is of the same kind and not the same, with what keeps them apart. Of one of the same
    /// case its parameters say so.
    fn nearest(
        &self,
        unit: &Unit,
        taken: &BTreeSet<usize>,
        several: Option<&Several>,
    ) -> Option<NotJoined> {
        let own = &unit.work.definition;
        let of_kind = self.by_key.get(&own.always_known())?;
        if unit
            .cases
            .iter()
            .any(|case| self.by_case.contains_key(case))
        {
            return None;
        }
        let of_several = several.map(|several| several.there);
        let left = || of_kind.iter().find(|there| !taken.contains(there)).copied();
        let there = &self.reference[of_several.or_else(left)?];
        let theirs = &there.work.definition;
        let parameters = match (several, theirs.against(own)) {
            (Some(several), _) => vec![several.told()],
            (None, Agreement::Differ(facts)) => facts,
            (None, Agreement::Same(unknown)) => {
                let both = |name| (name, theirs.told(name), own.told(name));
                unknown.into_iter().map(both).collect()
            }
        };
        let parameters = parameters.into_iter();
        let parameters = parameters.map(|(name, here, there)| (name.to_owned(), here, there));
        Some(NotJoined {
            base: there.cases.first()?.clone(),
            other: unit.cases.first()?.clone(),
            parameters: parameters.collect(),
        })
        .filter(|one| !one.parameters.is_empty())
    }

    /// A job that is none of the reference: where that has its name for another one, both say what they are. Parameters
    /// that can be told, of one workload, say it by themselves.
    fn stays(&mut self, unit: &Unit, run: &Run) {
        for id in &unit.cases {
            let own = run.plan.case(id);
            let Some((there, own)) = self.planned.get(id).zip(own) else {
                continue;
            };
            let jobs = |case: &PlannedCase| {
                let mut params = case.params.iter();
                params.any(|(_, value)| matches!(value, ParamValue::Jobs(_)))
            };
            if there.workload != own.workload || jobs(there) {
                self.concerned.insert(id.clone());
            }
        }
    }
}

/// How near two jobs are to each other, the nearest first.
#[derive(Clone, Copy, Debug)]
enum Closeness {
    /// The same case.
    Case,
    /// The same definition, and the same name of the job.
    Name,
    /// The same definition.
    Definition,
    /// The same case or name, and the same definition as far as it is known.
    AsKnown,
}

impl Closeness {
    const ALL: [Self; 4] = [Self::Case, Self::Name, Self::Definition, Self::AsKnown];

    /// What only one of them knows, where they are so near.
    fn of(self, a: &Unit, b: &Unit) -> Option<Vec<&'static str>> {
        let Agreement::Same(unknown) = a.work.definition.against(&b.work.definition) else {
            return None;
        };
        let names = [a, b].map(|unit| unit.work.name.as_deref().map(plain));
        let same_name = names[0].is_some() && names[0] == names[1];
        let same_case = a.cases.iter().any(|case| b.cases.contains(case));
        let has = |name: &String| b.figures.contains_key(name);
        let is_sure = !Definition::is_in_doubt(&unknown);
        let is_so = a.figures.keys().any(has)
            && match self {
                Self::Case => is_sure && same_case,
                Self::Name => is_sure && same_name,
                Self::Definition => is_sure,
                Self::AsKnown => same_name || same_case,
            };
        is_so.then_some(unknown)
    }
}

/// The letters of a name: programs write the others in ways of their own.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Has the definitions stand in the place of the parameters of cases that are concerned.
fn say_params(run: &mut Run, params: &BTreeMap<CaseId, Params>, concerned: &BTreeSet<CaseId>) {
    /// One workload for all: it is the definition that says what was done.
    const WORKLOAD: &str = "storage job";
    for case in &mut run.plan.cases {
        if let Some(params) = params
            .get(&case.id)
            .filter(|_| concerned.contains(&case.id))
        {
            WORKLOAD.clone_into(&mut case.workload);
            case.workload_version = 1;
            case.params = params.clone();
            case.in_place_of = Params::default();
        }
    }
}

#[cfg(test)]
mod tests;
