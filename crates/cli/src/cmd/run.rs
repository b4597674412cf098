//! `kurabe run [WHAT...]`: resolve the plan, execute it, keep every round as it ends, summarize, show.

use crate::args::{RunArgs, ShowFormat};
use crate::cmd::show::render;
use crate::columns::columns;
use crate::context::{Context, host_facts, read_capped};
use crate::directory::directory;
use crate::exit::{Exit, failure};
use crate::output;
use crate::session;
use engine::profile::Profile;
use engine::resolve::{Catalog, PlanError, Request, resolve};
use model::host::HostFacts;
use model::plan::Plan;
use model::record::{Binary, End, Outcome, Run, RunMeta};
use model::rng::Rng;
use model::units::UnixNanos;
use model::warning::Warning;
use std::fmt::Write;
use std::path::Path;

pub(crate) fn run(context: &Context, args: &RunArgs) -> anyhow::Result<Exit> {
    let run = match &args.resume {
        Some(run) => resume(context, args, run)?,
        None => match begin(context, args)? {
            Some(run) => run,
            None => return Ok(Exit::Ok),
        },
    };
    let format = if args.json {
        ShowFormat::Json
    } else {
        ShowFormat::Text
    };
    output::print(&render(context, &run, format))?;
    Ok(exit(&run))
}

/// A new run; `None` where only the plan was wanted.
fn begin(context: &Context, args: &RunArgs) -> anyhow::Result<Option<Run>> {
    let dir = directory(args.dir.as_deref())?;
    let host = host_facts(&dir.path);
    let plan = plan(args, &host)?;
    dir.check(&plan)?;
    if args.dry_run {
        output::print(&describe(&plan))?;
        return Ok(None);
    }
    let run = Run {
        meta: meta(args, &dir.path, &host),
        plan,
        host,
        rounds: Vec::new(),
    };
    session::catch_stop_signals()?;
    let store = context.store()?;
    store.begin(&run.meta, &run.plan, &run.host)?;
    session::measure(context, &store, &run, args.quiet).map(Some)
}

/// Goes on with a kept run, on the machine and with the program that began it: rounds of another set-up would not be
/// rounds of this run.
fn resume(context: &Context, args: &RunArgs, run: &str) -> anyhow::Result<Run> {
    session::catch_stop_signals()?;
    let store = context.store()?;
    let run = store.load(&store.resolve(run)?)?;
    let dir = directory(Some(Path::new(&run.meta.dir)))?;
    let now = Run {
        meta: RunMeta {
            binary: binary(),
            ..run.meta.clone()
        },
        host: host_facts(&dir.path),
        plan: run.plan.clone(),
        rounds: Vec::new(),
    };
    let differences = stats::differences(&run, &now);
    if !differences.is_empty() {
        let list: Vec<String> = differences
            .iter()
            .map(|d| format!("{}: {}, now {}", d.what, d.base, d.other))
            .collect();
        return Err(failure(
            Exit::Usage,
            format!(
                "go on with run `{}`: the set-up is not the same: {}",
                run.meta.id,
                list.join("; ")
            ),
            Some("begin a new run, and compare the two with `kurabe compare`"),
        ));
    }
    store.reopen(&run.meta.id)?;
    session::measure(context, &store, &run, args.quiet)
}

fn plan(args: &RunArgs, host: &HostFacts) -> anyhow::Result<Plan> {
    let mut profiles = workloads::profiles::all()?;
    let mut what = args.what.clone();
    for name in &what {
        if Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "toml")
        {
            profiles.push(own_profile(name)?);
        }
    }
    if what.is_empty() {
        what.push("quick".to_owned());
    }
    let request = Request {
        what,
        copies: args.copies.clone(),
        sets: args.set.clone(),
        budget: args.budget,
        passes: args.passes,
        target: args.target,
        seed: args.seed.unwrap_or_else(fresh_seed),
    };
    let catalog = Catalog {
        workloads: workloads::ALL,
        profiles: &profiles,
    };
    resolve(&request, catalog, host).map_err(|error| refused(&error))
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

/// The plan in words: cases, rounds, time.
fn describe(plan: &Plan) -> String {
    let rows: Vec<Vec<String>> = plan
        .cases
        .iter()
        .map(|case| {
            let rounds = engine::budget::rounds_wanted(plan, case);
            let rounds = rounds.map_or("as many rounds as fit".to_owned(), |n| {
                format!("{n} rounds")
            });
            let measure = case.shape.measure.as_secs_f64();
            vec![
                case.id.to_string(),
                rounds,
                format!("{measure:.1} s each"),
                case.title.clone(),
            ]
        })
        .collect();
    let mut text = columns(&rows);
    for dropped in &plan.dropped {
        let _ = writeln!(text, "left out: {} ({})", dropped.what, dropped.why);
    }
    let time = engine::budget::expected(plan).as_secs_f64();
    let _ = writeln!(
        text,
        "{} cases, about {time:.0} s, seed {}",
        plan.cases.len(),
        plan.seed
    );
    text
}

fn meta(args: &RunArgs, dir: &Path, host: &HostFacts) -> RunMeta {
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
        label: args.label.clone(),
        tags: args.tag.iter().cloned().collect(),
        started: UnixNanos(now),
        finished: None,
        end: End::Open,
        binary: binary(),
        warnings,
        dir: dir.display().to_string(),
    }
}

fn binary() -> Binary {
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
fn fresh_seed() -> u64 {
    Rng::stream(sys::clock::wall(), u64::from(std::process::id())).next()
}

fn exit(run: &Run) -> Exit {
    if run.meta.end == End::Interrupted {
        return Exit::Interrupted;
    }
    let measured = |case: &model::plan::PlannedCase| {
        run.rounds_of(&case.id)
            .any(|round| matches!(round.outcome, Outcome::Done(_)))
    };
    if run.plan.cases.iter().all(measured) {
        Exit::Ok
    } else {
        Exit::Incomplete
    }
}
