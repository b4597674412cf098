//! `kurabe run [WHAT...]`: resolve the plan, execute it, keep every round as it ends, summarize, show.

use crate::args::{RunArgs, ShowFormat};
use crate::cmd::show::render;
use crate::columns::columns;
use crate::context::{Context, host_facts};
use crate::exit::{Exit, failure};
use crate::output;
use crate::progress::Bar;
use anyhow::Context as _;
use engine::host::{WorkDirState, check_work_dir};
use engine::profile::Profile;
use engine::resolve::{Catalog, PlanError, Request, resolve};
use engine::run::{Observer, Progress, RunError, Setting};
use model::host::HostFacts;
use model::plan::Plan;
use model::record::{Binary, End, Outcome, Round, Run, RunMeta};
use model::rng::Rng;
use model::units::{Bytes, UnixNanos};
use model::warning::Warning;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use store::Store;

pub(crate) fn run(context: &Context, args: &RunArgs) -> anyhow::Result<Exit> {
    let dir = directory(args.dir.as_deref())?;
    let host = host_facts(&dir.path);
    let plan = plan(args, &host)?;
    dir.check(&plan)?;
    if args.dry_run {
        output::print(&describe(&plan))?;
        return Ok(Exit::Ok);
    }
    let run = execute(context, args, &plan, &host, &dir.path)?;
    let format = if args.json {
        ShowFormat::Json
    } else {
        ShowFormat::Text
    };
    output::print(&render(context, &run, format))?;
    Ok(exit(&run))
}

/// Measures, keeping every round before the next one starts; the run comes back as it was kept.
fn execute(
    context: &Context,
    args: &RunArgs,
    plan: &Plan,
    host: &HostFacts,
    dir: &Path,
) -> anyhow::Result<Run> {
    let store = context.store()?;
    let meta = meta(args, dir, host);
    let work_dir = engine::workdir::place(dir, &meta.id);
    store.begin(&meta, plan, host)?;
    store.note_work_dir(&meta.id, &work_dir)?;
    sys::signal::catch_stop_signals().context("catch Ctrl-C")?;
    let mut keeper = Keeper {
        store: &store,
        run: &meta.id,
        bar: Bar::new(args.quiet),
    };
    let setting = Setting {
        run: &meta.id,
        dir,
        host,
        find: workloads::find,
        began: context.began,
    };
    let ended = engine::run::execute(plan, &setting, &mut keeper);
    keeper.bar.clear();
    if !work_dir.exists() {
        store.forget_work_dir(&work_dir)?;
    }
    let ended = ended.map_err(explain)?;
    store.finish(
        &meta.id,
        UnixNanos(sys::clock::wall()),
        ended.end,
        &ended.warnings,
    )?;
    if ended.end == End::Interrupted {
        output::say(&format!(
            "interrupted: what was measured until then is kept as run {}",
            meta.id
        ));
    }
    Ok(store.load(&meta.id)?)
}

/// Keeps rounds and shows progress.
struct Keeper<'a> {
    store: &'a Store,
    run: &'a str,
    bar: Bar,
}

impl Observer for Keeper<'_> {
    fn starts(&mut self, progress: &Progress<'_>) {
        self.bar.starts(progress);
    }

    fn ended(&mut self, round: &Round) -> Result<(), String> {
        self.bar.ended(round);
        self.store
            .append(self.run, round)
            .map_err(|error| error.to_string())
    }
}

fn plan(args: &RunArgs, host: &HostFacts) -> anyhow::Result<Plan> {
    let mut profiles = workloads::profiles::all()?;
    let mut what = args.what.clone();
    for name in &mut what {
        if Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "toml")
        {
            let profile = own_profile(name)?;
            name.clone_from(&profile.name);
            profiles.push(profile);
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
        seed: args.seed.unwrap_or_else(fresh_seed),
    };
    let catalog = Catalog {
        workloads: workloads::ALL,
        profiles: &profiles,
    };
    resolve(&request, catalog, host).map_err(|error| refused(&error))
}

/// A profile of the user's own, named after its file.
fn own_profile(path: &str) -> anyhow::Result<Profile> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| failure(Exit::Usage, format!("read profile `{path}`: {error}"), None))?;
    let name = Path::new(path)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    Profile::parse(&name.unwrap_or_default(), &text)
        .map_err(|error| failure(Exit::Usage, error, None))
}

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

fn explain(error: RunError) -> anyhow::Error {
    match &error {
        RunError::WorkDir(_) => failure(
            Exit::Unsupported,
            &error,
            Some("name a directory that can be written with `--dir DIR`"),
        ),
        RunError::System { .. } | RunError::Keep { .. } => error.into(),
    }
}

/// The directory in which the work directory is made.
struct Directory {
    path: PathBuf,
    state: WorkDirState,
}

/// Room that a copy's files may need on the disk: two files of 8 MB, scripts' output, a helper, and some reserve.
const ROOM_PER_COPY: u64 = 32 << 20;

/// Looks at the directory before anything is measured: absolute, there, and writable.
fn directory(dir: Option<&Path>) -> anyhow::Result<Directory> {
    let dir = dir.unwrap_or(Path::new("."));
    let path = std::fs::canonicalize(dir).map_err(|error| unusable(dir, &error))?;
    let state = check_work_dir(&path);
    match state.not_writable {
        Some(why) => Err(unusable(dir, &why)),
        None => Ok(Directory { path, state }),
    }
}

fn unusable(dir: &Path, why: &dyn std::fmt::Display) -> anyhow::Error {
    failure(
        Exit::Usage,
        format!("use directory `{}` for measuring: {why}", dir.display()),
        Some("name a directory that can be written and has room with `--dir DIR`"),
    )
}

impl Directory {
    /// Says before measuring what would make the figures of this plan fail or mislead.
    fn check(&self, plan: &Plan) -> anyhow::Result<()> {
        let copies = plan
            .cases
            .iter()
            .filter(|case| case.on_disk)
            .map(|case| case.id.copies)
            .max();
        let Some(copies) = copies else { return Ok(()) };
        let need = Bytes(ROOM_PER_COPY * u64::from(copies));
        if !self.state.has_room_for(need) {
            let free = self.state.free.known().map_or(0, |free| free.0);
            let why = format!(
                "{} MiB are free, the tests may need {}",
                free >> 20,
                need.0 >> 20
            );
            return Err(unusable(&self.path, &why));
        }
        if let Some(kind) = &self.state.in_memory {
            let dir = self.path.display();
            output::say(&format!(
                "warning: `{dir}` is in memory ({kind}): file-system figures will say nothing about a disk\n\
                 hint: name a directory on a disk with `--dir DIR`"
            ));
        }
        Ok(())
    }
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
