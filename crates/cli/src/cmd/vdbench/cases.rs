//! The runs of a plan as cases: each has a name of its own, its workloads on storages are its copies.

use crate::args::VdbenchArgs;
use crate::cmd::fio::surroundings::Machine;
use crate::directory::{self, Directory, OPTION_OF_VDBENCH};
use crate::exit::{Exit, failure};
use crate::new_run::fresh_seed;
use anyhow::Context as _;
use dialects::fio::names_device;
use dialects::vdbench::language::{self, Plan, Rate, Run, Work};
use dialects::vdbench::output::begins;
use engine::consent::Consent;
use engine::resolve::planned_case;
use model::fileset::FileWork;
use model::host::HostFacts;
use model::job::{Language, Task};
use model::plan::{self, CaseId, MetricId};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use workloads::fs::sets::{self, Missing, stand_at};
use workloads::storage::{jobs, space};

/// A run as a case.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) run: &'a Run,
    pub(super) id: CaseId,
    /// On storages.
    pub(super) tasks: Vec<Task>,
    /// On file sets, with their anchors as they are here.
    pub(super) files: Option<FileWork>,
}

impl Case<'_> {
    /// The metric that says how fast it went.
    pub(super) const fn rate(&self) -> &'static str {
        if self.files.is_some() {
            "ops_per_s"
        } else {
            "iops"
        }
    }
}

/// The runs as they would be, with what each does.
pub(super) fn listed(plan: &Plan, passes: u32) -> String {
    let mut text = String::new();
    let mut seconds = 0_u64;
    for run in &plan.runs {
        let times = run.times;
        seconds = seconds.saturating_add(times.elapsed + times.warmup.unwrap_or(0));
        let _ = writeln!(text, "{}", begins(run));
        match &run.work {
            Work::Raw(parts) => {
                for part in parts {
                    let _ = writeln!(
                        text,
                        "  {}: {} threads={} rdpct={} seekpct={}",
                        part.name(),
                        part.lun,
                        part.threads,
                        part.reads_percent,
                        part.random_percent
                    );
                }
            }
            Work::Files(work) => {
                for task in &work.tasks {
                    let set = usize::try_from(task.set)
                        .ok()
                        .and_then(|at| work.sets.get(at));
                    let anchor =
                        set.map_or_else(String::new, |set| set.anchor.display().to_string());
                    let _ = writeln!(
                        text,
                        "  {}: {} in {anchor} threads={}",
                        task.name,
                        task.operation.word(),
                        task.threads
                    );
                }
            }
        }
    }
    let all = seconds.saturating_mul(u64::from(passes));
    let _ = writeln!(
        text,
        "{} runs, {passes} times: {all} s, and what files take to be written before",
        plan.runs.len()
    );
    text
}

/// The cases of a plan, ready for the engine.
pub(super) fn of(plan: &Plan) -> anyhow::Result<Vec<Case<'_>>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for run in &plan.runs {
        let tasks =
            language::tasks(run, &Machine).map_err(|error| failure(Exit::Usage, error, None))?;
        let files = match &run.work {
            Work::Raw(_) => None,
            Work::Files(work) => Some(standing(work, run, plan)?),
        };
        let workloads = files.as_ref().map_or(tasks.len(), |work| work.tasks.len());
        let copies = u32::try_from(workloads.max(1)).unwrap_or(u32::MAX);
        let test = name(run, |name| cases.iter().any(|case| case.id.test == name));
        let id = CaseId { test, copies };
        cases.push(Case {
            run,
            id,
            tasks,
            files,
        });
    }
    share_files(&mut cases);
    Ok(cases)
}

/// Work on file sets at the directories that are there.
fn standing(work: &FileWork, run: &Run, plan: &Plan) -> anyhow::Result<FileWork> {
    let missing = if plan.creates_anchors {
        Missing::Any
    } else {
        Missing::Last
    };
    let mut here = work.clone();
    for set in &mut here.sets {
        let absolute = std::path::absolute(&set.anchor).map_err(|error| error.to_string());
        set.anchor = absolute
            .and_then(|anchor| stand_at(&anchor, missing))
            .map_err(|why| {
                let place = plan.sets.get(&set.name).unwrap_or(&run.place);
                failure(
                    Exit::Usage,
                    format!("{place}: `fsd={}`: {why}", set.name),
                    None,
                )
            })?;
    }
    here.check().map_err(|why| {
        let what = format!("{}: `rd={}`: {why}", run.place, run.name);
        failure(Exit::Usage, what, None)
    })?;
    Ok(here)
}

/// The same of a kept plan: what is asked is what it did.
pub(super) fn told<'a>(plan: &'a Plan, kept: &plan::Plan) -> Vec<Case<'a>> {
    let each = plan.runs.iter().zip(&kept.cases);
    each.map(|(run, case)| Case {
        run,
        id: case.id.clone(),
        tasks: jobs::tasks(case).to_vec(),
        files: match &run.work {
            Work::Raw(_) => None,
            Work::Files(work) => Some((**work).clone()),
        },
    })
    .collect()
}

/// Runs on the same file make it as long as the one needs that uses most of it.
fn share_files(cases: &mut [Case<'_>]) {
    let mut longest: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for task in cases.iter().flat_map(|case| &case.tasks) {
        for (path, bytes) in task.files().zip(&task.file_bytes) {
            let so_far = longest.entry(path.to_owned()).or_default();
            *so_far = (*bytes).max(*so_far);
        }
    }
    for task in cases.iter_mut().flat_map(|case| &mut case.tasks) {
        let of_all = task.files().filter_map(|path| longest.get(path).copied());
        task.file_bytes = of_all.collect();
    }
}

/// Letters of a case's name at most.
const NAME_MAX: usize = 60;

/// A name for the case, as imported ones have it: its definition, and what its loops stand at.
fn name(run: &Run, is_taken: impl Fn(&str) -> bool) -> String {
    let plain = |text: &str| -> String {
        let letters = text.chars().map(|c| c.to_ascii_lowercase());
        letters
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect()
    };
    let mut name = format!("vdbench.{}", plain(&run.name));
    // A share is none of the rates beside it.
    let in_words = |pair: &str| plain(&pair.replace('%', "pct"));
    for pair in run
        .loops_in_words()
        .iter()
        .flat_map(|loops| loops.split(' '))
    {
        let _ = write!(name, ".{}", in_words(pair));
    }
    let name: String = name.chars().take(NAME_MAX).collect();
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or(name)
}

/// Where the work directory is made: beside the first file, so that its file system is the one that is told about;
/// else here, or where temporary files go.
pub(super) fn work_place(cases: &[Case<'_>], consent: &Consent) -> anyhow::Result<Directory> {
    let anchors = cases.iter().filter_map(|case| case.files.as_ref());
    let anchor = anchors
        .flat_map(|work| &work.sets)
        .map(|set| set.anchor.clone())
        .next();
    let luns = cases.iter().flat_map(|case| match &case.run.work {
        Work::Raw(parts) => parts.iter().map(|part| part.lun.as_str()).collect(),
        Work::Files(_) => Vec::new(),
    });
    let mut files = luns.filter(|lun| !names_device(lun));
    let first = files
        .next()
        .and_then(|lun| directory::parent(Path::new(lun)));
    Directory::look_beside(first.or(anchor).as_deref(), OPTION_OF_VDBENCH, consent)
}

/// Refuses files that would together take more room than they may.
pub(super) fn check_space(cases: &[Case<'_>]) -> anyhow::Result<()> {
    let tasks = cases.iter().flat_map(|case| &case.tasks);
    space::check(tasks, Language::Vdbench).map_err(|why| failure(Exit::Unsupported, why, None))?;
    for case in cases {
        let Some(work) = &case.files else { continue };
        sets::check_space(work).map_err(|why| {
            let what = format!("{}: `rd={}`: {why}", case.run.place, case.run.name);
            let hint = "fewer or smaller files, or an anchor on another file system";
            failure(Exit::Unsupported, what, Some(hint))
        })?;
    }
    Ok(())
}

/// The plan of the run.
pub(super) fn plan(
    asked: &Plan,
    cases: &[Case<'_>],
    args: &VdbenchArgs,
    host: &HostFacts,
) -> anyhow::Result<plan::Plan> {
    let mut planned = Vec::new();
    for case in cases {
        planned.push(planned_of(case, cases, host)?);
    }
    // With what was asked for in full, so that the run can be told in vdbench's words again.
    let what = std::iter::once(plan::Plan::VDBENCH.to_owned()).chain(asked.lines.iter().cloned());
    Ok(plan::Plan {
        seed: fresh_seed(),
        passes: Some(args.passes.unwrap_or(1)),
        ordered: true,
        ..plan::Plan::new(what.collect(), planned)
    })
}

fn planned_of(
    case: &Case<'_>,
    cases: &[Case<'_>],
    host: &HostFacts,
) -> anyhow::Result<plan::PlannedCase> {
    let (name, params) = match &case.files {
        None => (jobs::NAME, jobs::params(case.tasks.clone())),
        Some(work) => (sets::NAME, sets::params(work.clone())),
    };
    let workload = workloads::find(name).with_context(|| format!("find the workload `{name}`"))?;
    workload
        .check_params(&params)
        .map_err(|bad| failure(Exit::Usage, bad, None))?;
    workload
        .supported(&params, host)
        .map_err(|why| failure(Exit::Unsupported, why, None))?;
    let mut planned = planned_case(workload, case.id.clone(), &begins(case.run), &params);
    planned.ground = workload.ground(&params, host, None);
    if let Rate::OfMax { of, .. } = case.run.rate {
        planned.needs = cases.get(of).map(|other| MetricId {
            case: other.id.clone(),
            quantity: "iops".to_owned(),
        });
    }
    Ok(planned)
}
