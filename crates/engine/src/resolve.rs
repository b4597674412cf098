//! From what the user asked for to a plan for this machine.
//!
//! Pure: the catalogue of workloads and profiles, the request and the host facts come in, a plan or an error that
//! names the nearest valid thing comes out.

mod names;
mod needs;
mod ranks;
mod sets;

use model::order::Order as _;
pub use names::{glob, nearest, split_copies};
pub use sets::Set;

use crate::budget::Ranks;
use crate::profile::{Copies, Profile};
use crate::soak::{self, SoakError};
use crate::workload::{OnStandIn, StandIn, Workload, its_own};
use model::host::HostFacts;
use model::params::{ParamError, Params};
use model::plan::{CaseId, Dropped, Duel, Plan, PlannedCase, PlannedMetric};
use model::spec::{MetricDef, TestDef};
use model::units::Nanos;

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Profiles, tests and globs, in the order given; a test or glob may end in its own concurrency, as in `os.pipe@2`.
    pub what: Vec<String>,
    /// Concurrencies; `None` leaves them to the profile.
    pub copies: Option<Vec<Copies>>,
    /// Parameters: who, which, value. "Who" is a profile, a test or a glob.
    pub sets: Vec<Set>,
    /// Time for the whole run; `None` leaves it to the profile.
    pub budget: Option<Nanos>,
    /// Passes; `None` leaves them to the profile.
    pub passes: Option<u32>,
    /// The time over which the passes are spread; `None` where one follows the other.
    pub spread: Option<Nanos>,
    /// The half-width at which a case is done, as a share of its value; `None` leaves it to time and passes.
    pub target: Option<f64>,
    /// Seeds order and layout.
    pub seed: u64,
    /// What stands in for what tests would make themselves: a device or file, a server, a peer.
    pub stand_ins: Vec<StandIn>,
    /// Set for one side of a duel.
    pub duel: Option<Duel>,
    /// Set for a soak.
    pub soak: Option<soak::Wanted>,
    /// Why there is no disk to measure, for profiles that do without that part of theirs; `None` where there is one.
    pub no_disk: Option<String>,
}

/// Everything that can be asked for.
#[derive(Clone, Copy)]
pub struct Catalog<'a> {
    /// Every workload.
    pub workloads: &'a [&'static dyn Workload],
    /// Every profile.
    pub profiles: &'a [Profile],
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// Nothing has this name.
    #[error("find `{name}`: there is no such profile or test")]
    Unknown {
        /// What the user wrote.
        name: String,
        /// The names that come nearest, the nearest first; may be empty.
        nearest: Vec<String>,
    },
    /// A `--set`, or a parameter of a profile, reaches no test of the plan.
    #[error("set `{who}.{param}`: no test of this run is meant")]
    SetReachesNothing {
        /// Who was to get the parameter.
        who: String,
        /// The parameter.
        param: String,
        /// The names that come nearest; may be empty.
        nearest: Vec<String>,
    },
    /// A parameter is unknown or its value wrong.
    #[error("set `{who}.{param}`: {error}")]
    BadParam {
        /// Who was to get the parameter.
        who: String,
        /// The parameter.
        param: String,
        /// What is wrong.
        error: Box<ParamError>,
        /// The names that come nearest; may be empty.
        nearest: Vec<String>,
    },
    /// Nothing is left to measure.
    #[error("plan the run: nothing can be measured here: {0}")]
    NothingLeft(String),
    /// The passes take longer than the time over which they are to be spread.
    #[error("spread the passes over {} s: they take {} s by themselves", spread.0 / 1_000_000_000, needs.0.div_ceil(1_000_000_000))]
    Spread {
        /// The time that was asked for.
        spread: Nanos,
        /// What the passes take.
        needs: Nanos,
    },
    /// It makes no soak.
    #[error(transparent)]
    Soak(#[from] SoakError),
}

/// A test of the catalogue.
#[derive(Clone, Copy)]
struct Entry {
    workload: &'static dyn Workload,
    test: &'static TestDef,
}

impl<'a> Catalog<'a> {
    fn entries(self) -> impl Iterator<Item = Entry> + use<'a> {
        self.workloads.iter().flat_map(|&workload| {
            workload
                .spec()
                .tests
                .iter()
                .map(move |test| Entry { workload, test })
        })
    }

    /// The names of all tests, sorted.
    pub fn test_names(self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.entries().map(|entry| entry.test.name).collect();
        names.order();
        names
    }

    fn profile(self, name: &str) -> Option<&'a Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The tests that a name or glob stands for, in the catalogue's order; a family's name stands for all of it.
    fn matching(self, pattern: &str) -> Vec<Entry> {
        let family = format!("{pattern}.");
        self.entries()
            .filter(|entry| glob(pattern, entry.test.name) || entry.test.name.starts_with(&family))
            .collect()
    }

    /// A workload that no test is named after is known by its tests.
    fn nearest(self, name: &str) -> Vec<String> {
        let mut workloads = self.workloads.iter().map(|workload| workload.spec());
        if let Some(spec) = workloads.find(|spec| spec.name == name) {
            return spec.tests.iter().map(|test| test.name.to_owned()).collect();
        }
        let profiles = self.profiles.iter().map(|profile| profile.name.as_str());
        nearest(name, self.test_names().into_iter().chain(profiles))
    }
}

/// Makes the plan.
pub fn resolve(
    request: &Request,
    catalog: Catalog<'_>,
    host: &HostFacts,
) -> Result<Plan, PlanError> {
    let chosen = needs::with_needed(request, catalog, choose(request, catalog, host)?)?;
    let limits = limits(request, catalog);
    let mut cases = Vec::new();
    let mut dropped = Vec::new();
    let mut own_ground = None;
    let mut ranks = Ranks::new();
    for choice in &chosen {
        let mut params = sets::parameters(request, catalog, choice)?;
        let workload = choice.entry.workload;
        if let Some(budget) = budget_of_one(request, &chosen, limits, host) {
            let ground = |params: &Params| workload.ground(params, host, None);
            let smaller = workload.made_in(&params, crate::budget::for_making(budget), host);
            if smaller != params {
                own_ground = ground(&params).as_ref().map(crate::budget::not_made);
                params = smaller;
            }
        }
        workload
            .check_params(&params)
            .map_err(|bad| sets::bad_value(request, catalog, choice, &params, bad))?;
        let stand_in = its_own(workload, &params, &request.stand_ins);
        // What is on a server needs no disk of this machine.
        let is_here = stand_in.is_none_or(|own| {
            !own.kind.is_elsewhere() || workload.touches(&params, Some(own)).is_empty()
        });
        let needs_disk = choice.needs_disk && is_here;
        let no_disk = request.no_disk.as_ref().filter(|_| needs_disk);
        let supported =
            no_disk.map_or_else(|| workload.supported(&params, host), |why| Err(why.clone()));
        let on = || match stand_in {
            Some(own) => workload.on_stand_in(&params, own),
            None => workload.without_stand_in().map(|()| None),
        };
        let on_stand_in = match supported.and_then(|()| on()) {
            Ok(on_stand_in) => on_stand_in,
            Err(why) => {
                leave_out(&mut dropped, choice.entry.test.name.to_owned(), why);
                continue;
            }
        };
        let without = on_stand_in.as_ref().map_or(&[][..], |on| on.without);
        sets::refuse_unused(request, catalog, choice, &params, without)?;
        for copies in concurrencies(request, choice, host) {
            let mut case = planned(choice.entry, &params, copies, request.passes, host);
            if let Some(on_stand_in) = &on_stand_in {
                put_on(&mut case, on_stand_in);
            }
            case.ground = workload.ground(&params, host, stand_in);
            case.exceeds_memory = workload.exceeds_memory(&params, host, copies);
            case.needs = workload
                .needs(&params)
                .map(|need| needs::metric(&need, copies));
            case.shape.setup = case
                .shape
                .setup
                .plus(crate::budget::starting(&case, host.limits.copies_all()));
            // `os.pipe os.pipe@1` asks for the same case twice.
            if cases.iter().any(|other: &PlannedCase| other.id == case.id) {
                continue;
            }
            match workload.supported_with(&params, host, copies) {
                Ok(()) => {
                    let rank = choice.rank.filter(|_| !choice.named);
                    ranks.extend(rank.map(|rank| (case.id.clone(), rank)));
                    cases.push(case);
                }
                Err(why) => leave_out(&mut dropped, case.id.to_string(), why),
            }
        }
    }
    sets::check_sets(request, catalog, &chosen)?;
    needs::leave_out_without(&mut cases, &mut dropped);
    // What a profile does without, somebody may have asked for by its name.
    dropped.retain(|left_out| cases.iter().all(|case| case.id.test != left_out.what));
    if cases.is_empty() {
        return Err(PlanError::NothingLeft(whys(&dropped)));
    }
    let profiles = || request.what.iter().filter_map(|name| catalog.profile(name));
    let mut plan = Plan {
        what: request.what.clone(),
        cases,
        seed: request.seed,
        budget: limits.0,
        passes: limits.1,
        target: request.target,
        duel: request.duel.clone(),
        soak: None,
        named: Vec::new(),
        dropped,
        room: None,
        own_ground,
        ordered: profiles().any(|profile| profile.ordered),
        max_bytes: None,
        spread: request.spread,
    };
    let optional: Vec<String> = profiles()
        .flat_map(|profile| profile.optional.iter().cloned())
        .collect();
    let named = |test: &str| {
        chosen
            .iter()
            .any(|one| one.entry.test.name == test && one.named)
    };
    let may_go = crate::budget::MayGo {
        optional: &optional,
        is_named: &named,
        ranks: &ranks,
    };
    crate::budget::fit(&mut plan, may_go);
    if !ranks.is_empty() {
        ranks::by_test(&mut plan.cases);
    }
    needs::leave_out_without(&mut plan.cases, &mut plan.dropped);
    plan.room = crate::budget::short_of(&plan).and_then(|short| short.room);
    if let Some(spread) = plan.spread {
        let needs = crate::budget::by_passes(&plan).unwrap_or_default();
        if needs > spread {
            return Err(PlanError::Spread { spread, needs });
        }
    }
    match request.soak {
        Some(wanted) => Ok(soak::plan(plan, wanted)?),
        None => Ok(plan),
    }
}

/// The budget, where a single case has all of it for rounds on a file of its own and nothing else ends the run. A duel
/// and a soak keep the file that the test would choose.
fn budget_of_one(
    request: &Request,
    chosen: &[Choice<'_>],
    (budget, passes): (Option<Nanos>, Option<u32>),
    host: &HostFacts,
) -> Option<Nanos> {
    let [choice] = chosen else { return None };
    let by_time_alone = passes.is_none() && request.target.is_none() && request.duel.is_none();
    let is_one = concurrencies(request, choice, host).len() == 1;
    let own_file = request.soak.is_none() && request.stand_ins.is_empty();
    budget.filter(|_| by_time_alone && is_one && own_file)
}

/// Notes what the machine cannot do, and why, once: `os.pipe os.pipe@2` asks for the same test twice.
fn leave_out(dropped: &mut Vec<Dropped>, what: String, why: String) {
    if !dropped.iter().any(|other| other.what == what) {
        dropped.push(Dropped {
            what,
            why,
            needs: None,
        });
    }
}

/// Why all of it is left out; those of one reason together.
fn whys(dropped: &[Dropped]) -> String {
    let of = |all: &[Dropped]| {
        let names: Vec<&str> = all.iter().map(|one| one.what.as_str()).collect();
        format!("{}: {}", names.join(", "), all[0].why)
    };
    let groups: Vec<String> = dropped.chunk_by(|a, b| a.why == b.why).map(of).collect();
    groups.join("; ")
}

/// A test chosen for the plan, and the profile that brought it.
#[derive(Clone, Copy)]
struct Choice<'a> {
    entry: Entry,
    profile: Option<&'a Profile>,
    /// The concurrency that stands behind its name.
    copies: Option<Copies>,
    /// True where the profile does without it on a machine without a disk to measure.
    needs_disk: bool,
    /// True where somebody asks for it beside profiles.
    named: bool,
    /// Its group, where the profile has them.
    rank: Option<usize>,
}

/// Where a test of a plan comes from: by itself, or from a profile.
#[derive(Clone, Copy, Default)]
struct Source<'a> {
    profile: Option<&'a Profile>,
    needs_disk: bool,
    rank: Option<usize>,
}

fn choose<'a>(
    request: &Request,
    catalog: Catalog<'a>,
    host: &HostFacts,
) -> Result<Vec<Choice<'a>>, PlanError> {
    let has_nodes = host.cpu.numa_nodes.known().is_some_and(|&nodes| nodes > 1);
    let mut chosen: Vec<Choice<'a>> = Vec::new();
    let mut add = |pattern: &str, source: Source<'a>| {
        let Source {
            profile,
            needs_disk,
            rank,
        } = source;
        let (name, copies) = split_copies(pattern);
        // What somebody types goes before what a profile says of single tests.
        let copies = copies.filter(|_| profile.is_none() || request.copies.is_none());
        let found = catalog.matching(name);
        let any = !found.is_empty();
        for entry in found {
            let same = |choice: &&mut Choice<'_>| {
                choice.entry.test.name == entry.test.name && choice.copies == copies
            };
            // The same test may come from two sides; the first one counts, and who asks for it whatever there is.
            match chosen.iter_mut().find(same) {
                Some(choice) => {
                    choice.needs_disk &= needs_disk;
                    choice.named |= profile.is_none();
                }
                None => chosen.push(Choice {
                    entry,
                    profile,
                    copies,
                    needs_disk,
                    named: profile.is_none(),
                    rank,
                }),
            }
        }
        any
    };
    let unknown = |name: &str| PlanError::Unknown {
        name: name.to_owned(),
        nearest: catalog.nearest(name),
    };
    for name in &request.what {
        if let Some(profile) = catalog.profile(name) {
            let source = Source {
                profile: Some(profile),
                ..Source::default()
            };
            for (pattern, needs_disk, rank) in ranks::listed(profile) {
                let source = Source {
                    needs_disk,
                    rank,
                    ..source
                };
                if !add(pattern, source) {
                    return Err(unknown(pattern));
                }
            }
            for pattern in &profile.numa {
                // A name that nothing has is wrong on every machine.
                let known = !catalog.matching(split_copies(pattern).0).is_empty();
                if !(known && (!has_nodes || add(pattern, source))) {
                    return Err(unknown(pattern));
                }
            }
        } else if !add(name, Source::default()) {
            return Err(unknown(name));
        }
    }
    Ok(chosen)
}

fn concurrencies(request: &Request, choice: &Choice<'_>, host: &HostFacts) -> Vec<u32> {
    let default = [Copies::Exactly(1)];
    let own = choice.copies.map(|copies| [copies]);
    let asked = match (&request.copies, choice.profile) {
        _ if own.is_some() => own.as_ref().map_or(&default[..], |own| &own[..]),
        (Some(copies), _) => copies.as_slice(),
        (None, Some(profile)) => profile.copies.as_slice(),
        (None, None) => &default,
    };
    let mut numbers: Vec<u32> = asked
        .iter()
        .flat_map(|copies| match copies {
            Copies::Exactly(n) => vec![*n],
            Copies::All => vec![host.limits.copies_all()],
            Copies::Steps => steps(host),
        })
        .collect();
    numbers.order();
    numbers.dedup();
    numbers
}

/// 1, 2, 4, ... and all usable CPUs, the number of cores where they have several threads, and the next power of two
/// above, which shows what happens when copies have to share CPUs.
fn steps(host: &HostFacts) -> Vec<u32> {
    let all = host.limits.copies_all();
    let powers = || (0..31).map(|power| 1_u32 << power);
    let smt = host.cpu.threads_per_core.known().is_some_and(|&n| n > 1);
    let cores = host.cpu.cores.known().copied().filter(|_| smt);
    let mut steps: Vec<u32> = powers().take_while(|&step| step < all).collect();
    steps.extend(cores.filter(|&cores| cores > 1 && cores < all));
    steps.push(all);
    steps.extend(powers().find(|&step| step > all));
    steps
}

fn planned(
    entry: Entry,
    params: &Params,
    copies: u32,
    passes: Option<u32>,
    host: &HostFacts,
) -> PlannedCase {
    let id = CaseId {
        test: entry.test.name.to_owned(),
        copies,
    };
    let mut case = planned_case(entry.workload, id, entry.test.title, params);
    let here = entry.workload.on(params, host, copies);
    case.shape = entry.workload.shape_of(&here, copies);
    // What the catalogue says of a test is right, or the test's own parameters would have been refused before.
    let own = Params::resolve(entry.workload.spec(), entry.test.params.iter().copied());
    case.in_place_of = params.differing(&own.unwrap_or_default());
    // The user's word goes before the method's, a profile's does not.
    let rounds = case.shape.rounds;
    case.shape.rounds = rounds.map(|fixed| fixed.min(passes.unwrap_or(fixed)));
    case
}

/// The case as it is on what stands in for what it would make itself.
pub fn put_on(case: &mut PlannedCase, on: &OnStandIn) {
    let (pictures, metrics) = split(&on.metrics);
    case.title.clone_from(&on.title);
    case.headline.clone_from(&on.headline);
    (case.pictures, case.metrics) = (pictures, metrics);
    case.shape = on.shape;
    case.on_disk = on.on_disk;
    case.allocates = on.allocates;
    case.implementation.clone_from(&on.implementation);
    case.params = case.params.without(on.without);
    case.in_place_of = case.in_place_of.without(on.without);
}

/// Metrics as a plan has them: those that are pictures, and the others.
fn split(yields: &[&'static MetricDef]) -> (Vec<PlannedMetric>, Vec<PlannedMetric>) {
    let planned = yields.iter().copied().map(PlannedMetric::of);
    planned.partition(|metric| metric.role.is_picture())
}

/// A case of this workload under a name of its own.
pub fn planned_case(
    workload: &dyn Workload,
    id: CaseId,
    title: &str,
    params: &Params,
) -> PlannedCase {
    let spec = workload.spec();
    let shape = workload.shape_of(params, id.copies);
    let (pictures, metrics) = split(&workload.metrics(params));
    PlannedCase {
        id,
        title: title.to_owned(),
        workload: spec.name.to_owned(),
        workload_version: spec.version,
        params: params.clone(),
        nature: spec.nature,
        metrics,
        pictures,
        headline: workload.headline(params),
        load: workload.load(params),
        shape,
        hands_over: workload.hands_over(),
        simulated: spec.simulated,
        on_disk: spec.on_disk,
        allocates: workload.allocates(params),
        implementation: workload.implementation(params),
        ground: None,
        anchors: workload.anchors(params),
        needs: None,
        exceeds_memory: false,
        in_place_of: Params::default(),
    }
}

/// Budget and passes: the user's where given, else the longest of the profiles named; one of the two is always set.
fn limits(request: &Request, catalog: Catalog<'_>) -> (Option<Nanos>, Option<u32>) {
    if request.spread.is_some() {
        return (None, request.passes.or(Some(Plan::PASSES_DEFAULT)));
    }
    let own = request.budget.is_some() || request.passes.is_some();
    // With a target or in a duel the looks end the run, not a profile's passes.
    if own || request.target.is_some() || request.duel.is_some() {
        return (request.budget, request.passes);
    }
    let profiles: Vec<&Profile> = request
        .what
        .iter()
        .filter_map(|name| catalog.profile(name))
        .collect();
    let budget = profiles.iter().filter_map(|profile| profile.budget).max();
    let passes = profiles.iter().filter_map(|profile| profile.passes).max();
    match (budget, passes) {
        (None, None) => (None, Some(Plan::PASSES_DEFAULT)),
        both => both,
    }
}

#[cfg(test)]
mod tests;
