//! The phases of a plan: the jobs up to the next stonewall run at the same time, as the copies of one case.

use super::files;
use super::own::Own;
use crate::exit::{Exit, failure};
use crate::new_run::fresh_seed;
use dialects::fio::job::{CpuNodes, ExitWhat, Job};
use dialects::fio::{Found, Plan, resolve};
use engine::resolve::planned_case;
use model::host::HostFacts;
use model::job::{IoEngine, Language, Task};
use model::plan::{self, CaseId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use sys::memory::numa;
use sys::tree::Tree;
use workloads::storage::jobs;
use workloads::storage::space;
use workloads::storage::task::EVERYTHING;

/// Jobs that run at the same time.
#[derive(Debug)]
pub(super) struct Phase<'a> {
    /// Their case.
    pub(super) case: CaseId,
    /// The jobs with the id of their reporting group; copy i does the i-th.
    pub(super) jobs: Vec<(u32, &'a Job)>,
    tasks: Vec<Task>,
}

impl Phase<'_> {
    /// What errors call it: its jobs, and not the case that stands for them.
    pub(super) fn in_words(&self) -> String {
        let names = sections(&self.jobs);
        let (shown, more) = names.split_at(names.len().min(NAMED_MAX));
        let mut list: Vec<String> = shown.iter().map(|name| format!("`{name}`")).collect();
        if !more.is_empty() {
            list.push(format!("and {} more", more.len()));
        }
        let plural = if names.len() == 1 { "" } else { "s" };
        format!("job{plural} {}", list.join(", "))
    }
}

/// Jobs that an error names at most.
const NAMED_MAX: usize = 4;

/// Their sections, each once.
fn sections<'a>(jobs: &[(u32, &'a Job)]) -> Vec<&'a str> {
    let mut sections: Vec<&str> = Vec::new();
    for (_, job) in jobs {
        if !sections.contains(&job.name.as_str()) {
            sections.push(&job.name);
        }
    }
    sections
}

/// The phases in order, without what the engine is to do: enough to tell what it did.
pub(super) fn told(plan: &Plan) -> Vec<Phase<'_>> {
    let mut found: Vec<Vec<(u32, &Job)>> = Vec::new();
    for group in &plan.groups {
        if group.waits || found.is_empty() {
            found.push(Vec::new());
        }
        if let Some(phase) = found.last_mut() {
            // The first of clones that are threads stands for all of them.
            let jobs = group.jobs.iter();
            let one_each = jobs.filter(|job| job.clone == 0 || !job.shares_process());
            phase.extend(one_each.map(|job| (group.id, job)));
        }
    }
    let mut phases: Vec<Phase<'_>> = Vec::new();
    for jobs in found {
        let taken = |name: &str| phases.iter().any(|phase| phase.case.test == name);
        phases.push(Phase {
            case: CaseId {
                test: name(&jobs, taken),
                copies: u32::try_from(jobs.len()).unwrap_or(u32::MAX),
            },
            jobs,
            tasks: Vec::new(),
        });
    }
    phases
}

/// The phases in order, ready for the engine.
pub(super) fn of(plan: &Plan) -> anyhow::Result<Vec<Phase<'_>>> {
    files::check(plan)?;
    let mut phases = told(plan);
    let mut longest: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for phase in &mut phases {
        let jobs = &phase.jobs;
        // As it will be when the phases before have made their files.
        let find = |path: &str| {
            let found = files::find(path)?;
            let made = longest.get(&found.path).copied();
            Ok(Found {
                length_bytes: found.length_bytes.max(made),
                ..found
            })
        };
        let mut tasks = jobs
            .iter()
            .map(|(_, job)| resolve(job, find))
            .collect::<Result<Vec<Task>, _>>()
            .map_err(|error| failure(Exit::Usage, error, None))?;
        for ((_, job), task) in jobs.iter().zip(&mut tasks) {
            task.job.threads = job.members();
            fit(job, task)?;
            task.looks_at_cpus = plan.output.idleness.is_some();
        }
        for (path, end) in tasks
            .iter()
            .flat_map(|task| task.files().zip(task.ends_in_files()))
        {
            let so_far = longest.entry(path.to_owned()).or_default();
            *so_far = end.max(*so_far);
        }
        Task::share_places(&mut tasks, files::is_same)
            .map_err(|why| failure(Exit::Usage, why, Some(OWN_PLACES)))?;
        phase.tasks = tasks;
    }
    take_along(&mut phases);
    wait(&mut phases);
    share_files(&mut phases, &longest);
    Ok(phases)
}

/// What of a task depends on the machine: the CPUs of its NUMA nodes, and an engine in whose place another one works.
fn fit(job: &Job, task: &mut Task) -> anyhow::Result<()> {
    let unsupported = |why: String| {
        let text = format!("{}: job `{}`: {why}", job.place, job.name);
        failure(Exit::Unsupported, text, None)
    };
    if job.engine_word() == "posixaio" && sys::probe::io_uring(&Tree::real()).is_err() {
        task.job.engine = IoEngine::Libaio;
    }
    let Some(wanted) = &job.life.cpu_nodes else {
        return Ok(());
    };
    let nodes = numa::nodes(&Tree::real()).map_err(|error| unsupported(error.to_string()))?;
    let mut cpus = BTreeSet::new();
    if nodes.iter().all(|node| node.cpus.is_empty()) {
        // A kernel that shows no nodes is one of all CPUs.
        return Ok(());
    }
    if let CpuNodes::Some(numbers) = wanted {
        for number in numbers {
            let node = nodes.iter().find(|node| node.number == *number);
            let node =
                node.ok_or_else(|| unsupported(format!("there is no NUMA node {number}")))?;
            cpus.extend(node.cpus.iter().copied());
        }
    } else {
        cpus.extend(nodes.iter().flat_map(|node| node.cpus.iter().copied()));
    }
    let is_allowed = |cpu: &u32| task.cpus.is_empty() || task.cpus.contains(cpu);
    let both: Vec<u32> = cpus.into_iter().filter(is_allowed).collect();
    if both.is_empty() {
        let why =
            "`numa_cpu_nodes` leaves it no CPU: the nodes have none, or none of `cpus_allowed`";
        return Err(unsupported(why.to_owned()));
    }
    task.cpus = both;
    Ok(())
}

/// Jobs on the same file make it as long as the one needs that uses most of it.
fn share_files(phases: &mut [Phase<'_>], longest: &BTreeMap<PathBuf, u64>) {
    for task in phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        let of_all = task.files().filter_map(|path| longest.get(path).copied());
        task.file_bytes = of_all.collect();
    }
}

/// A job with `wait_for` begins when all clones of that job have ended; those of an earlier phase have.
fn wait(phases: &mut [Phase<'_>]) {
    for phase in phases {
        let waited: Vec<Option<&str>> = phase
            .jobs
            .iter()
            .map(|(_, job)| job.life.waits_for.as_deref())
            .collect();
        for ((_, job), task) in phase.jobs.iter().zip(&mut phase.tasks) {
            if waited.contains(&Some(job.name.as_str())) {
                task.done = Some(format!("done-{}", job.number));
            }
        }
        let said: Vec<(&str, String)> = phase
            .jobs
            .iter()
            .zip(&phase.tasks)
            .filter_map(|((_, job), task)| Some((job.name.as_str(), task.done.clone()?)))
            .collect();
        for (name, task) in waited.into_iter().zip(&mut phase.tasks) {
            let words = said.iter().filter(|(job, _)| Some(*job) == name);
            task.waits_for = words.map(|(_, word)| word.clone()).collect();
        }
    }
}

/// A job with `exitall` takes those of its group along, all of its phase, or all there are; with `exitall_on_error` it
/// does so where it fails.
fn take_along(phases: &mut [Phase<'_>]) {
    const PHASE: &str = "over-phase";
    let of_group = |group: u32| format!("over-group-{group}");
    for phase in phases.iter_mut() {
        for ((group, job), task) in phase.jobs.iter().zip(&mut phase.tasks) {
            if job.life.ends_all || job.life.ends_all_on_error {
                task.ends_on_error = !job.life.ends_all;
                task.ends = Some(match job.life.exit_what {
                    ExitWhat::Group => of_group(*group),
                    ExitWhat::Stonewall => PHASE.to_owned(),
                    ExitWhat::All => EVERYTHING.to_owned(),
                });
            }
        }
    }
    let said = |tasks: &[Task]| -> Vec<String> {
        tasks.iter().filter_map(|task| task.ends.clone()).collect()
    };
    let in_run: Vec<String> = phases.iter().flat_map(|phase| said(&phase.tasks)).collect();
    for phase in phases {
        let in_phase = said(&phase.tasks);
        for ((group, _), task) in phase.jobs.iter().zip(&mut phase.tasks) {
            let own = [PHASE.to_owned(), of_group(*group)];
            let own = own.into_iter().filter(|word| in_phase.contains(word));
            let all = in_run.iter().find(|word| *word == EVERYTHING).cloned();
            task.ends_with = own.chain(all).collect();
        }
    }
}

/// What helps where jobs would take each other's blocks for damage.
const OWN_PLACES: &str = "`offset_increment` gives each clone a part of its own, `stonewall` lets jobs wait for each \
                          other, and without `filename` each has a file";

/// Letters of a case's name at most.
const NAME_MAX: usize = 60;

/// A name for the case: that of its section, or of all of them.
fn name(jobs: &[(u32, &Job)], taken: impl Fn(&str) -> bool) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || "-_.+".contains(c) {
            c
        } else {
            '_'
        }
    };
    let joined: String = sections(jobs)
        .join("+")
        .chars()
        .map(plain)
        .take(NAME_MAX)
        .collect();
    let name = format!("fio.{joined}");
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or(name)
}

/// Refuses jobs whose files would together take more room than they may.
pub(super) fn check_space(phases: &[Phase<'_>]) -> anyhow::Result<()> {
    let tasks = phases.iter().flat_map(|phase| &phase.tasks);
    space::check(tasks, Language::Fio).map_err(|why| failure(Exit::Unsupported, why, None))
}

/// The plan of the run.
pub(super) fn plan(
    asked: &Plan,
    phases: &[Phase<'_>],
    own: &Own,
    host: &HostFacts,
) -> anyhow::Result<plan::Plan> {
    let workload = workloads::find(jobs::NAME).ok_or_else(|| anyhow::anyhow!("find workload"))?;
    let mut cases = Vec::new();
    for phase in phases {
        let params = jobs::params(phase.tasks.clone());
        workload
            .supported(&params, host)
            .map_err(|why| failure(Exit::Unsupported, why, None))?;
        cases.push(planned_case(
            workload,
            phase.case.clone(),
            &title(phase),
            &params,
        ));
    }
    // With what was asked for in full, so that the run can be told in fio's words again.
    let what = std::iter::once(plan::Plan::FIO.to_owned()).chain(dialects::fio::arguments(asked));
    Ok(plan::Plan {
        passes: Some(own.passes.unwrap_or(1)),
        seed: fresh_seed(),
        ordered: true,
        ..plan::Plan::new(what.collect(), cases)
    })
}

/// What the phase does, as far as a line holds it.
fn title(phase: &Phase<'_>) -> String {
    let jobs = phase.jobs.len();
    let Some((_, first)) = phase.jobs.first() else {
        return String::new();
    };
    let written = |name: &str| {
        let setting = first.settings.iter().rfind(|setting| setting.name == name);
        setting.and_then(|setting| {
            setting
                .value
                .as_deref()
                .map(|value| format!("{name}={value}"))
        })
    };
    let words: Vec<String> = ["rw", "bs", "iodepth", "ioengine"]
        .into_iter()
        .filter_map(written)
        .collect();
    let plural = if jobs == 1 { "" } else { "s" };
    format!("{jobs} job{plural} of fio: {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::surroundings::Machine;
    use super::*;

    fn asked(line: &str) -> Plan {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        dialects::fio::parse(&arguments, &Machine).unwrap()
    }

    fn phases_of(line: &str) -> Vec<(String, u32, Vec<u32>)> {
        let plan = asked(line);
        let phases = of(&plan).unwrap();
        let groups = |phase: &Phase<'_>| phase.jobs.iter().map(|(group, _)| *group).collect();
        phases
            .iter()
            .map(|phase| (phase.case.test.clone(), phase.case.copies, groups(phase)))
            .collect()
    }

    #[test]
    fn jobs_up_to_a_stonewall_run_together() {
        let null = "--ioengine=null --size=1m";
        assert_eq!(
            phases_of(&format!(
                "{null} --name=a --name=b --new_group --name=c --stonewall --name=d"
            )),
            [
                ("fio.a+b".to_owned(), 2, vec![0, 1]),
                ("fio.c+d".to_owned(), 2, vec![2, 2]),
            ]
        );
        assert_eq!(
            phases_of(&format!("{null} --name=a --numjobs=3 --name=a --stonewall")),
            [
                ("fio.a".to_owned(), 3, vec![0, 0, 0]),
                ("fio.a-2".to_owned(), 1, vec![1]),
            ]
        );
    }

    #[test]
    fn a_job_waits_for_all_clones_of_another_one() {
        let line = "--ioengine=null --size=1m --name=a --numjobs=2 --name=b --wait_for=a --name=c --wait_for=b \
                    --name=d --stonewall --wait_for=a";
        let plan = asked(line);
        let phases = of(&plan).unwrap();
        let words: Vec<(Option<&str>, Vec<String>)> = phases
            .iter()
            .flat_map(|phase| &phase.tasks)
            .map(|task| (task.done.as_deref(), task.waits_for.clone()))
            .collect();
        let [a, second, b] = ["done-0", "done-1", "done-2"];
        assert_eq!(
            words,
            [
                (Some(a), vec![]),
                (Some(second), vec![]),
                (Some(b), vec![a.to_owned(), second.to_owned()]),
                (None, vec![b.to_owned()]),
                (None, vec![]),
            ]
        );
    }

    #[test]
    fn a_job_takes_along_those_that_it_should() {
        let line = "--ioengine=null --size=1m --name=a --exitall --name=b --new_group --name=c";
        let plan = asked(line);
        let phases = of(&plan).unwrap();
        let tasks = &phases[0].tasks;
        assert_eq!(tasks[0].ends.as_deref(), Some("over-group-0"));
        assert_eq!(tasks[0].ends_with, ["over-group-0"]);
        assert!(tasks[1].ends_with.is_empty() && tasks[2].ends_with.is_empty());
    }
}
