//! A plan as a command line that asks for the same: what `--showcmd` prints.
//!
//! Defaults are written out for each job, so the line stands for itself and means the same here and in fio.

use super::job::{Job, Setting};
use super::plan::Plan;

/// The jobs of a plan as one command line, quoted for a shell, without a line end.
pub fn show_command(plan: &Plan) -> String {
    let mut words = vec!["fio".to_owned()];
    words.extend(each(plan).map(|(name, value)| quoted(name, value)));
    words.join(" ")
}

/// The jobs of a plan as the arguments that ask for the same: what [`parse`](super::parse) takes. Defaults that all
/// jobs share stay defaults, because reports tell them apart.
pub fn arguments(plan: &Plan) -> Vec<String> {
    let plain = |(name, value): (&str, Option<&str>)| match value {
        None => format!("--{name}"),
        Some(value) => format!("--{name}={value}"),
    };
    let shared = shared(plan);
    let defaults = shared.iter().map(|setting| of_setting(setting));
    let jobs = plan.jobs().filter(|job| job.clone == 0);
    let own = jobs.flat_map(|job| of_job(job, &shared));
    let idleness = plan.output.idleness;
    let idleness = idleness.map(|told| ("idle-prof", Some(told.word())));
    idleness
        .into_iter()
        .chain(defaults)
        .chain(own)
        .map(plain)
        .collect()
}

/// The defaults of the first job, where every other job has them too or says something else by itself.
fn shared(plan: &Plan) -> Vec<&Setting> {
    let first: Vec<&Setting> = plan.jobs().next().map_or_else(Vec::new, defaults_of);
    let fits = |job: &Job| {
        let is_shared = |setting: &&Setting| first.iter().any(|shared| is_same(shared, setting));
        let own = defaults_of(job);
        own.iter().all(is_shared) && first.iter().all(|shared| job.has(shared.name))
    };
    if plan.jobs().all(fits) {
        first
    } else {
        Vec::new()
    }
}

fn defaults_of(job: &Job) -> Vec<&Setting> {
    let all = job.settings.iter();
    all.filter(|setting| setting.is_global && setting.name != "name")
        .collect()
}

fn is_same(a: &Setting, b: &Setting) -> bool {
    (a.name, &a.value) == (b.name, &b.value)
}

/// The options of all jobs, one after the other.
fn each(plan: &Plan) -> impl Iterator<Item = (&str, Option<&str>)> {
    let jobs = plan.jobs().filter(|job| job.clone == 0);
    jobs.flat_map(|job| of_job(job, &[]))
}

fn of_setting(setting: &Setting) -> (&str, Option<&str>) {
    (setting.name, setting.value.as_deref())
}

/// The options of a job but for defaults that stand elsewhere.
fn of_job<'a>(job: &'a Job, elsewhere: &[&Setting]) -> Vec<(&'a str, Option<&'a str>)> {
    let is_elsewhere = |setting: &Setting| {
        setting.is_global && elsewhere.iter().any(|other| is_same(other, setting))
    };
    let own = job.settings.iter();
    let own = own.filter(|setting| setting.name != "name" && !is_elsewhere(setting));
    let waits = job.life.is_stonewalled && !job.has("stonewall");
    std::iter::once(("name", Some(job.name.as_str())))
        .chain(own.map(of_setting))
        .chain(waits.then_some(("stonewall", None)))
        .collect()
}

fn quoted(name: &str, value: Option<&str>) -> String {
    let Some(value) = value else {
        return format!("--{name}");
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,%+=@".contains(c);
    if value.chars().all(is_plain) {
        return format!("--{name}={value}");
    }
    format!("--{name}='{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::testkit::{Nowhere, file};
    use crate::fio::{Place, parse};

    #[test]
    fn the_command_line_asks_for_the_same_jobs() {
        let text = "[global]\nkb_base=1000\nsize=1mib\n[a]\nthread\nrw=randread\n[global]\nrw=write\n[b c]\nstonewall\n\
                    description=it's two words\nname=d\nnumjobs=2\n";
        let plan = file(text).unwrap();
        let line = show_command(&plan);
        assert_eq!(
            line,
            "fio --name=a --kb_base=1000 --size=1mib --thread --rw=randread \
             --name=d --kb_base=1000 --size=1mib --rw=write --stonewall --description='it'\\''s two words' --numjobs=2"
        );
        let arguments = arguments(&plan);
        assert_eq!(arguments[10], "--description=it's two words");
        let again = parse(&arguments, &Nowhere).unwrap();
        let bare = |plan: &Plan| -> Vec<Job> {
            let jobs = plan.jobs().cloned();
            jobs.map(|job| Job {
                settings: Vec::new(),
                place: Place::default(),
                ..job
            })
            .collect()
        };
        assert_eq!(bare(&again), bare(&plan));
        assert_eq!(again.groups.len(), plan.groups.len());
    }

    #[test]
    fn defaults_that_all_jobs_share_stay_defaults() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(arguments(&file(text).unwrap()), expect, "{text}");
        };
        check(
            "[global]\nbs=8k\nthread\n[a]\nsize=1m\n[b]\nsize=2m\nbs=4k\n",
            &[
                "--bs=8k",
                "--thread",
                "--name=a",
                "--size=1m",
                "--name=b",
                "--size=2m",
                "--bs=4k",
            ],
        );
        // The second job does not have those of the first, or the first one has lost one of its own.
        check(
            "[global]\nbs=8k\n[a]\nsize=1m\n[global]\nbs=4k\n[b]\nsize=2m\n",
            &[
                "--name=a",
                "--bs=8k",
                "--size=1m",
                "--name=b",
                "--bs=4k",
                "--size=2m",
            ],
        );
        check(
            "[global]\nbs=8k\n[a]\nsize=1m\nbs=4k\n[b]\nsize=2m\n",
            &[
                "--name=a",
                "--size=1m",
                "--bs=4k",
                "--name=b",
                "--bs=8k",
                "--size=2m",
            ],
        );
    }
}
