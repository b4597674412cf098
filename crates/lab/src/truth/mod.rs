//! Ground truth: what the program says is held against what was done to the machine.
//!
//! Every experiment does something known to a real machine (a quota, a throttled disk, a bucket of credit, nothing at
//! all), runs the program as a user would, reads the documents that it prints, and compares. The method and the bounds
//! are described in docs/method/truth.md, the last figures are under results/. Ends with an error where a bound is
//! broken; what could not be measured here says so as a result of its own.
//!
//! Whatever is made outside of this process is taken away when it goes out of scope, also after Ctrl-C, and what a
//! killed start left is taken away by the next one.

mod book;
mod bucket;
mod check;
pub(crate) mod disk;
mod e00_noise;
mod e01_same;
mod e02_power;
mod e03_accuracy;
mod e04_bucket;
mod e05_slow;
mod e06_periodic;
mod e10_drift;
pub(crate) mod helper;
mod lab;
pub(crate) mod machine;
mod net;
mod options;
pub(crate) mod place;
pub(crate) mod score;
mod sessions;
mod subject;
#[cfg(test)]
mod testkit;
pub(crate) mod throttle;

use crate::asked;
use anyhow::{Context, ensure};
use book::Book;
use check::{Check, Judged};
use lab::Lab;
use machine::Machine;
use options::Options;
use place::Place;
pub(crate) use sessions::work_per_cpu_second;
use std::path::{Path, PathBuf};
use sys::tree::Tree;
use throttle::Layout;
use xtask::process::target_dir;

/// Something known that is done to a machine.
#[derive(Debug)]
struct Experiment {
    /// The name by which it is asked for.
    name: &'static str,
    /// What is done, in a few words.
    what: &'static str,
    /// Without what it can do nothing at all.
    needs: Needs,
    /// Does it.
    run: fn(&Lab, &Book) -> anyhow::Result<Vec<Check>>,
}

/// What an experiment cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// It does something in any case.
    Nothing,
    /// Control groups that throttle, and root.
    Groups,
    /// Network namespaces, and root.
    Namespaces,
}

/// Every experiment, in the order of docs/method/truth.md. Numbers that are missing belong to what is not built yet.
const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "E0",
        what: "noise of the machine before anything is measured",
        needs: Needs::Nothing,
        run: e00_noise::run,
    },
    Experiment {
        name: "E1",
        what: "the same machine compared with itself",
        needs: Needs::Nothing,
        run: e01_same::run,
    },
    Experiment {
        name: "E2",
        what: "known slowdowns of 3, 5 and 10 %",
        needs: Needs::Groups,
        run: e02_power::run,
    },
    Experiment {
        name: "E3",
        what: "known speeds of a CPU and of a disk",
        needs: Needs::Groups,
        run: e03_accuracy::run,
    },
    Experiment {
        name: "E4",
        what: "buckets of credit with hidden terms",
        needs: Needs::Groups,
        run: e04_bucket::run,
    },
    Experiment {
        name: "E5",
        what: "a slow state for a fifth of the time",
        needs: Needs::Nothing,
        run: e05_slow::run,
    },
    Experiment {
        name: "E6",
        what: "half the speed for one second in ten",
        needs: Needs::Groups,
        run: e06_periodic::run,
    },
    Experiment {
        name: "E10",
        what: "a machine that slows down meanwhile",
        needs: Needs::Groups,
        run: e10_drift::run,
    },
    Experiment {
        name: "net",
        what: "links of known rates, and one that lends, between two network namespaces",
        needs: Needs::Namespaces,
        run: net::run,
    },
];

/// How long the noise is looked at before each experiment, in seconds.
const GLANCE: u64 = 5;

/// Runs what `arguments` ask for.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, listed().trim_end())? else {
        return Ok(());
    };
    let options = options.sized();
    let wanted = wanted(&options.names)?;
    sys::signal::catch_stop_signals().context("catch Ctrl-C")?;
    let layout = Layout::find(&Tree::real()).map_err(|error| format!("{error:#}"));
    let scratch = options
        .scratch
        .clone()
        .unwrap_or_else(|| target_dir(root).join("truth"));
    std::fs::create_dir_all(&scratch).with_context(|| format!("create `{}`", scratch.display()))?;
    // Somebody who is not root could not take away what a killed start of root's left.
    if sys::probe::is_root() {
        place::sweep(&scratch, layout.as_ref().ok())?;
    }
    let binary = binary(root, &options)?;
    let place = Place::make(&scratch)?;
    let machine = Machine::ask(&place.dir, &binary, layout.as_ref().ok())?;
    let out = options
        .out
        .clone()
        .unwrap_or_else(|| root.join("results").join(machine.directory()));
    std::fs::create_dir_all(&out).with_context(|| format!("create `{}`", out.display()))?;
    let hidden = machine.hidden(&[&place.dir, &scratch, root], &place.name);
    let lab = Lab::new(options, place, binary, layout)?;
    let mut results = Vec::new();
    let mut commands = Vec::new();
    for experiment in wanted {
        let book = Book::new(hidden.clone());
        say!("\n==> {}: {}", experiment.name, experiment.what);
        let mut checks = glance(experiment)?;
        let done = attempt(experiment, &lab, &book);
        // What was measured until something went wrong is worth keeping.
        book.write(&out, experiment.name)?;
        checks.extend(done.with_context(|| format!("experiment {}", experiment.name))?);
        say!("{}", check::table(&[(experiment.name, checks.clone())]));
        commands.push((experiment.name, book.commands()));
        results.push((experiment.name, checks));
        machine.write(&out, arguments, &results, &commands)?;
    }
    say!("raw outputs are in `{}`", out.display());
    verdict(&results)
}

fn attempt(experiment: &Experiment, lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let lacks = match experiment.needs {
        Needs::Nothing => None,
        Needs::Groups => lab.lacks_groups(),
        Needs::Namespaces => crate::cable::lacks(),
    };
    if let Some(why) = lacks {
        return Ok(vec![Check::skipped(experiment.what, why)]);
    }
    (experiment.run)(lab, book)
}

/// What the machine does right before an experiment.
fn glance(experiment: &Experiment) -> anyhow::Result<Vec<Check>> {
    if experiment.name == "E0" {
        return Ok(Vec::new());
    }
    let log = e00_noise::log(GLANCE, &Book::default())?;
    Ok(vec![Check::reported(
        "noise before: lost in gaps; steal; CPUs busy with other things",
        format!(
            "{}; {}; {:.2}",
            check::percent(log.gaps),
            check::percent(log.steal),
            log.busy
        ),
    )])
}

/// Nothing but broken bounds is an error; a start that judged nothing has shown nothing.
fn verdict(results: &[(&str, Vec<Check>)]) -> anyhow::Result<()> {
    let all = || {
        results
            .iter()
            .flat_map(|(name, checks)| checks.iter().map(move |c| (name, c)))
    };
    let broken: Vec<String> = all()
        .filter(|(_, check)| check.judged == Judged::Broken)
        .map(|(name, check)| {
            format!(
                "{name} {}: {}, not {}",
                check.what, check.figure, check.bound
            )
        })
        .collect();
    ensure!(
        broken.is_empty(),
        "bounds are broken:\n  {}\nhint: on a busy machine this may be the machine; E0 shows its noise",
        broken.join("\n  ")
    );
    let held = all()
        .filter(|(_, check)| check.judged == Judged::Held)
        .count();
    say!("truth: {held} bounds held, none is broken");
    Ok(())
}

fn wanted(names: &[String]) -> anyhow::Result<Vec<&'static Experiment>> {
    if names.is_empty() {
        return Ok(EXPERIMENTS.iter().collect());
    }
    let find = |name: &String| {
        let mut known = EXPERIMENTS.iter();
        let found = known.find(|experiment| experiment.name.eq_ignore_ascii_case(name));
        found.with_context(|| format!("no such experiment: `{name}`\n{}", listed()))
    };
    names.iter().map(find).collect()
}

fn listed() -> String {
    let lines: Vec<String> = EXPERIMENTS
        .iter()
        .map(|experiment| format!("  {:<4} {}\n", experiment.name, experiment.what))
        .collect();
    format!("\nExperiments:\n{}", lines.concat())
}

/// The binary to judge: the one that was named, or the one that is shipped, built now.
fn binary(root: &Path, options: &Options) -> anyhow::Result<PathBuf> {
    if let Some(binary) = &options.binary {
        return binary
            .canonicalize()
            .with_context(|| format!("find the binary `{}`", binary.display()));
    }
    xtask::dist::run(root)?;
    Ok(target_dir(root).join("dist/kurabe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_found_by_name_in_any_case() {
        let names = |names: &[&str]| -> Vec<&str> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            wanted(&names).unwrap().iter().map(|e| e.name).collect()
        };
        assert_eq!(names(&["e3", "E10"]), ["E3", "E10"]);
        assert_eq!(names(&[]).len(), EXPERIMENTS.len());
        let error = wanted(&["E99".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("`E99`") && error.contains("E10"), "{error}");
    }

    #[test]
    fn only_broken_bounds_are_an_error() {
        let fine = vec![
            Check::bound("a", "1", "1", true),
            Check::skipped("b", "needs root"),
            Check::at_most("c", 0, 0, 0.05),
        ];
        assert!(verdict(&[("E1", fine)]).is_ok());
        let broken = vec![Check::bound("speed", "2", "1", false)];
        let error = verdict(&[("E1", broken)]).unwrap_err().to_string();
        assert!(error.contains("E1 speed: 2, not 1"), "{error}");
    }
}
