//! What an imported case of fio did, read from the options that were kept with it: the job that its own language makes
//! of them.
//!
//! How much is known depends on what was printed. JSON has all options that were given; a text has four of them, and
//! lacks whether the page cache was passed by. Neither has the files, nor what else ran at the same time.

use super::super::{Surroundings, parse, resolve};
use model::job::{BESIDE, Definition, Direction};
use model::params::ParamValue;
use model::plan::PlannedCase;
use stats::joined::Work;

/// How names of tests begin whose parameters are options of fio.
const PREFIXES: [&str; 2] = ["fio.", "yabs.fio-"];

/// What every output says that says anything of options.
const LEAST: [&str; 4] = ["rw", "bs", "ioengine", "iodepth"];

/// What JSON always says besides, with fio's default where nothing was given.
const WITH_ALL: &str = "direct";

/// A size in the place of one that is not known, so that the rest can be settled.
const ANY_SIZE: &str = "size=1g";

/// What the case did; `None` where its options are not known or not understood.
pub fn work(case: &PlannedCase) -> Option<Work> {
    let test = case.id.test.as_str();
    PREFIXES.iter().find(|start| test.starts_with(**start))?;
    let options: Vec<(&str, &str)> = case
        .params
        .iter()
        .filter_map(|(name, value)| match value {
            ParamValue::Text(text) => Some((name, text.as_str())),
            _ => None,
        })
        .collect();
    let has = |name: &str| options.iter().any(|(told, _)| *told == name);
    if !LEAST.iter().all(|name| has(name)) {
        return None;
    }
    let definition = definition(&options)?.times(case.id.copies).without_files();
    let definition = if has(WITH_ALL) {
        definition
    } else {
        definition.partial()
    };
    let definition = match case.params.get(BESIDE) {
        Some(ParamValue::Count(others)) => {
            definition.beside(u32::try_from(*others).unwrap_or(u32::MAX))
        }
        _ => definition,
    };
    let direction = match definition.only_direction() {
        Some(_) => None,
        None => direction(case),
    };
    let name = test.strip_prefix(PREFIXES[0]).map(|name| {
        let ending = direction.map_or("", Direction::word);
        let name = name.strip_suffix(ending).unwrap_or(name);
        name.trim_end_matches('-').to_owned()
    });
    Some(Work {
        definition,
        name,
        direction,
    })
}

/// Which of several directions the case is about: it stands at the end of its title and of its name.
fn direction(case: &PlannedCase) -> Option<Direction> {
    let (_, last) = case.title.rsplit_once(", ")?;
    let mut all = Direction::ALL.into_iter();
    all.find(|one| last == one.word() && case.id.test.contains(one.word()))
}

fn definition(options: &[(&str, &str)]) -> Option<Definition> {
    let line = |keep: fn(&str) -> bool, more: &str| {
        let given = options.iter().filter(|(name, _)| keep(name));
        let given = given.map(|(name, value)| format!("--{name}={value}"));
        let more = (!more.is_empty()).then(|| format!("--{more}"));
        let job = "--name=job".to_owned();
        std::iter::once(job)
            .chain(given)
            .chain(more)
            .collect::<Vec<_>>()
    };
    let whole = of_line(&line(|_| true, ""));
    whole.or_else(|| {
        // A share of a file, or all of one.
        let sizeless = of_line(&line(|name| name != "size", ANY_SIZE))?;
        Some(sizeless.without_size())
    })
}

fn of_line(arguments: &[String]) -> Option<Definition> {
    let plan = parse(arguments, &Nowhere).ok()?;
    let job = plan.jobs().next()?;
    let task = resolve(job, |path| Nowhere.find(path)).ok()?;
    Definition::of(&[task])
}

/// No machine: options that ask for one have no meaning by themselves.
#[derive(Debug)]
struct Nowhere;

impl Surroundings for Nowhere {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no file is read here".to_owned())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn page_bytes(&self) -> u64 {
        4096
    }

    fn cpus(&self) -> u64 {
        1
    }

    fn memory_mib(&self) -> u64 {
        1024
    }
}
