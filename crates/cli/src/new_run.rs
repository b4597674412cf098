//! A new run: what was asked for, planned for this machine, and who measures it with what.

use crate::args::NewRun;
use crate::catalogue;
use crate::context::read_capped;
use crate::directory::{self, Directory};
use crate::exit::{Exit, failure};
use crate::loadfile;
use crate::output;
use crate::server::{self, Server};
use crate::targets;
use engine::consent::Consent;
use engine::profile::Profile;
use engine::resolve::{Catalog, PlanError, Request, resolve};
use engine::workload::StandIn;
use model::host::HostFacts;
use model::named::NamedKind;
use model::plan::{Plan, PlannedCase};
use model::record::{Binary, End, Run, RunMeta};
use model::rng::Rng;
use model::units::UnixNanos;
use model::warning::Warning;
use std::net::IpAddr;
use std::path::Path;
use workloads::db::engines::Engine;

/// The run that `request` asks for, in this directory, before its first round.
pub(crate) fn prepare(dir: Directory, new: &NewRun, request: &Request) -> anyhow::Result<Run> {
    if let Some(id) = &new.offer
        && let Some(offer) = catalogue::offer(id, new.offers.as_deref())?
    {
        catalogue::doubt(&offer, &dir.host);
    }
    let mut request = request.clone();
    request.stand_ins.extend(targets::stand_ins(new)?);
    request.sets.extend(loadfile::set(new)?);
    let mut plan = planned(&request, &dir.host)?
        .map_err(|error| loadfile::unused(new, &error).unwrap_or_else(|| refused(&error)))?;
    loadfile::check_alone(new, &plan)?;
    targets::name(&mut plan, &request.stand_ins)?;
    plan.max_bytes = new.max_bytes;
    if plan.max_bytes.is_some() && plan.peers().next().is_none() {
        let what = "`--max-bytes`: the run works with no peer";
        let hint = "name it with `--peer HOST`";
        return Err(failure(Exit::Usage, what, Some(hint)));
    }
    let mut run = of(dir, plan, new.label.clone(), &new.tag)?;
    run.meta.offer.clone_from(&new.offer);
    Ok(run)
}

/// The same on a server that the user named. One that stands in the environment alone is for tests that work on one:
/// the others do as without it.
pub(crate) fn prepare_on(
    server: Option<&Server>,
    dir: Directory,
    new: &NewRun,
    request: &Request,
) -> anyhow::Result<Run> {
    let Some(server) = server else {
        return prepare(dir, new, request);
    };
    let stand_in = server.stand_in();
    let named = targets::on_storage(new)?;
    if named.is_some() && server.is_typed() {
        let what = "measure a server and a file or device in one run";
        return Err(failure(Exit::Usage, what, Some("make a run of each")));
    }
    let on_server = Request {
        stand_ins: vec![stand_in.clone()],
        ..request.clone()
    };
    if !server.is_typed() {
        let works_on_it = |case: &PlannedCase| {
            let workload = workloads::find(&case.workload);
            workload.is_some_and(|own| !own.touches(&case.params, Some(&stand_in)).is_empty())
        };
        let is_used =
            planned(&on_server, &dir.host)?.is_ok_and(|plan| plan.cases.iter().any(works_on_it));
        if named.is_some() || !is_used {
            let run = prepare(dir, new, request)?;
            if let Some(line) = unused(server, &run.plan) {
                output::say(&line);
            }
            return Ok(run);
        }
    }
    prepare(dir, new, &on_server)
}

/// What is to be said where tests that could work on a server do not work on the one that the environment names.
fn unused(server: &Server, plan: &Plan) -> Option<String> {
    let mut cases = plan.cases.iter();
    let first = cases.find(|case| {
        workloads::find(&case.workload).is_some_and(|own| {
            Engine::ALL.into_iter().any(|engine| {
                let on = StandIn {
                    path: engine.scheme().into(),
                    kind: NamedKind::Server,
                };
                !own.touches(&case.params, Some(&on)).is_empty()
            })
        })
    })?;
    Some(format!(
        "warning: `{}` in `{}` is not used: `{}` works on no {} server, and measures the database inside of kurabe",
        server.shown(),
        server::VARIABLE,
        first.id.test,
        server.products()
    ))
}

/// A run of this plan before its first round.
pub(crate) fn of(
    dir: Directory,
    plan: Plan,
    label: Option<String>,
    tags: &[(String, String)],
) -> anyhow::Result<Run> {
    dir.check(&plan)?;
    let now = sys::clock::wall();
    let meta = RunMeta {
        id: run_id(now),
        label,
        tags: tags.iter().cloned().collect(),
        started: UnixNanos(now),
        finished: None,
        end: End::Open,
        binary: binary(),
        warnings: warnings(&dir.host),
        looks: Vec::new(),
        origin: None,
        offer: None,
        dir: dir.path.display().to_string(),
    };
    Ok(Run {
        meta,
        plan,
        host: dir.host,
        rounds: Vec::new(),
    })
}

/// The seed of a new run: the one that was asked for, or one of its own.
pub(crate) fn seed(new: &NewRun) -> u64 {
    new.seed.unwrap_or_else(fresh_seed)
}

/// Where a run of `what` is measured: where the user says, or here.
pub(crate) fn directory(
    new: &NewRun,
    what: &[String],
    consent: &Consent,
) -> anyhow::Result<Directory> {
    let profiles = profiles(what)?;
    let does_without_disk = |name: &String| {
        let mut named = profiles.iter().filter(|profile| profile.name == *name);
        named.any(|profile| !profile.disk.is_empty())
    };
    let look = if what.iter().all(does_without_disk) && !works_on_storage(new)? {
        Directory::look_or_elsewhere
    } else {
        Directory::look
    };
    look(new.dir.as_deref(), directory::OPTION, consent)
}

/// Why a run does without the disk; `None` where there is one to measure, or the user names what is measured.
pub(crate) fn no_disk(new: &NewRun, dir: &Directory) -> anyhow::Result<Option<String>> {
    Ok(if works_on_storage(new)? {
        None
    } else {
        dir.no_disk()
    })
}

/// Whether the user names a device or a file.
fn works_on_storage(new: &NewRun) -> anyhow::Result<bool> {
    Ok(targets::on_storage(new)?.is_some())
}

/// The profiles that come with the program, and those of `what` that are files.
fn profiles(what: &[String]) -> anyhow::Result<Vec<Profile>> {
    let mut profiles = workloads::profiles::all()?;
    for name in what {
        if Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "toml")
        {
            profiles.push(own_profile(name)?);
        }
    }
    Ok(profiles)
}

/// The plan for what the user asked for.
pub(crate) fn plan(request: &Request, host: &HostFacts) -> anyhow::Result<Plan> {
    planned(request, host)?.map_err(|error| refused(&error))
}

fn planned(request: &Request, host: &HostFacts) -> anyhow::Result<Result<Plan, PlanError>> {
    let profiles = profiles(&request.what)?;
    let catalog = Catalog {
        workloads: workloads::ALL,
        profiles: &profiles,
    };
    Ok(resolve(request, catalog, host))
}

/// A profile of the user's own. Its name is the path as typed, which no profile of ours can have.
fn own_profile(path: &str) -> anyhow::Result<Profile> {
    let text = read_capped(Path::new(path), PROFILE_BYTES_MAX).map_err(|error| {
        failure(
            Exit::Usage,
            format!("read profile `{path}`: {error:#}"),
            None,
        )
    })?;
    Profile::parse(path, &text).map_err(|error| failure(Exit::Usage, error, None))
}

/// A profile lists tests; a file larger than this is something else.
const PROFILE_BYTES_MAX: u64 = 1 << 20;

fn refused(error: &PlanError) -> anyhow::Error {
    let (exit, hint) = match error {
        PlanError::NothingLeft(_) => (Exit::Unsupported, None),
        PlanError::Spread { needs, .. } => {
            let least = needs.0.div_ceil(1_000_000_000);
            let hint = format!("`--spread {least}s` is the least; or take fewer `--passes`");
            (Exit::Usage, Some(hint))
        }
        PlanError::Soak(error) => (Exit::Usage, Some(error.hint())),
        PlanError::BadParam { who, nearest, .. } => {
            let mut tests = workloads::ALL.iter().flat_map(|one| one.spec().tests);
            let list = if tests.any(|test| test.name == who) {
                format!("`kurabe list params {who}` shows what it takes")
            } else {
                "`kurabe list params TEST` shows what a test takes".to_owned()
            };
            (Exit::Usage, Some(nearest_or(nearest, &list)))
        }
        PlanError::Unknown { name, .. } if of_server(name).is_some() => {
            (Exit::Usage, of_server(name))
        }
        PlanError::Unknown { name, .. } if name.parse::<IpAddr>().is_ok() => {
            let hint = format!("an address stands behind `--peer`: `kurabe run net --peer {name}`");
            (Exit::Usage, Some(hint))
        }
        PlanError::Unknown { nearest, .. } | PlanError::SetReachesNothing { nearest, .. } => {
            let list = "`kurabe list tests` and `kurabe list profiles` show what there is";
            (Exit::Usage, Some(nearest_or(nearest, list)))
        }
    };
    failure(exit, error, hint.as_deref())
}

/// What measures a server that is called by its product.
fn of_server(name: &str) -> Option<String> {
    let engine = Engine::of(&format!("{name}://"))?;
    let test = if engine.has_tables() { "oltp" } else { "kv" };
    let (example, products) = (engine.example(), engine.products());
    Some(format!(
        "`kurabe run {test} --db {example}` measures {products}"
    ))
}

/// The names that come nearest, or where all of them are listed.
fn nearest_or(nearest: &[String], list: &str) -> String {
    if nearest.is_empty() {
        list.to_owned()
    } else {
        format!("nearest: {}; {list}", nearest.join(", "))
    }
}

/// What is to be known about every figure of a run on this machine.
fn warnings(host: &HostFacts) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if cfg!(debug_assertions) {
        warnings.push(Warning::DebugBuild);
    }
    if let Some(source) = host.clock.source.known()
        && matches!(
            source.as_str(),
            "xen" | "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies"
        )
    {
        warnings.push(Warning::SlowClock {
            source: source.clone(),
        });
    }
    warnings
}

/// The program as it was built.
pub(crate) fn binary() -> Binary {
    Binary {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("KURABE_COMMIT")
            .filter(|commit| !commit.is_empty())
            .map(str::to_owned),
        build: env!("KURABE_BUILD").to_owned(),
        target: env!("KURABE_TARGET").to_owned(),
        linked_statically: cfg!(target_feature = "crt-static"),
    }
}

/// The start in UTC and four hex digits, so that two runs of the same second differ.
fn run_id(now: u64) -> String {
    let at =
        jiff::Timestamp::from_nanosecond(i128::from(now)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!(
        "{}-{:04x}",
        at.strftime("%Y%m%d-%H%M%S"),
        fresh_seed() & 0xffff
    )
}

/// A seed that differs from run to run.
pub(crate) fn fresh_seed() -> u64 {
    Rng::stream(sys::clock::wall(), u64::from(std::process::id())).next()
}
