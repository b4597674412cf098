//! What a new run starts from: a plan, an id, and who measures with what.

use crate::args::NewRun;
use crate::context::{Context, host_facts, read_capped};
use crate::directory::directory;
use crate::exit::{Exit, failure};
use crate::named;
use engine::profile::Profile;
use engine::resolve::{Catalog, PlanError, Request, resolve};
use model::host::HostFacts;
use model::plan::Plan;
use model::record::{Binary, End, Run, RunMeta};
use model::rng::Rng;
use model::units::UnixNanos;
use model::warning::Warning;
use std::collections::BTreeMap;
use std::path::Path;

/// A run before its first round: where it is measured has been looked at, and `plan` says what, on this machine.
pub(crate) fn prepare(
    context: &Context,
    new: &NewRun,
    plan: impl FnOnce(&HostFacts) -> anyhow::Result<Plan>,
) -> anyhow::Result<Run> {
    let dir = directory(new.dir.as_deref(), &context.consent)?;
    let host = host_facts(&dir.path);
    let mut plan = plan(&host)?;
    named::write_into(&mut plan, named::stand_in(new)?.as_ref())?;
    dir.check(&plan)?;
    let meta = RunMeta {
        tags: new.tag.iter().cloned().collect(),
        ..meta(new.label.clone(), &dir.path, &host)
    };
    Ok(Run {
        meta,
        plan,
        host,
        rounds: Vec::new(),
    })
}

/// The seed of a new run: the one that was asked for, or one of its own.
pub(crate) fn seed(new: &NewRun) -> u64 {
    new.seed.unwrap_or_else(fresh_seed)
}

/// The plan for what the user asked for, with the profiles that come with the program and those named as files.
pub(crate) fn plan(request: &Request, host: &HostFacts) -> anyhow::Result<Plan> {
    let mut profiles = workloads::profiles::all()?;
    for name in &request.what {
        if Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "toml")
        {
            profiles.push(own_profile(name)?);
        }
    }
    let catalog = Catalog {
        workloads: workloads::ALL,
        profiles: &profiles,
    };
    resolve(request, catalog, host).map_err(|error| refused(&error))
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
    let (exit, nearest) = match error {
        PlanError::Unknown { nearest, .. }
        | PlanError::SetReachesNothing { nearest, .. }
        | PlanError::BadParam { nearest, .. } => (Exit::Usage, nearest.join(", ")),
        PlanError::NothingLeft(_) => (Exit::Unsupported, String::new()),
    };
    let hint = match (exit, nearest.as_str()) {
        (Exit::Usage, "") => {
            Some("`kurabe list tests` and `docs/tests.md` show what there is".to_owned())
        }
        (Exit::Usage, nearest) => Some(format!("nearest: {nearest}")),
        _ => None,
    };
    failure(exit, error, hint.as_deref())
}

/// Who makes a run, when, and with what.
pub(crate) fn meta(label: Option<String>, dir: &Path, host: &HostFacts) -> RunMeta {
    let now = sys::clock::wall();
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
    RunMeta {
        id: run_id(now),
        label,
        tags: BTreeMap::new(),
        started: UnixNanos(now),
        finished: None,
        end: End::Open,
        binary: binary(),
        warnings,
        dir: dir.display().to_string(),
    }
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
