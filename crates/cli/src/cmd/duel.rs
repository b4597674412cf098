//! `kurabe duel`: two set-ups of the same machine, measured in pairs of rounds and compared as pairs.
//!
//! Two disks, two mount options, two values of a parameter: whatever `dir=`, `set=` or a shell command can tell apart.
//! Each side is a run of its own in the store, so that `show`, `export` and `compare` know both.
//!
//! What could be a slip is refused (one side that nobody said anything about, see `sides`) or said before anything is
//! measured: which side is what, that both are the same, or too few pairs for any verdict.

mod sides;

use crate::args::{DuelArgs, NewRun, Trait};
use crate::cmd::{compare, show};
use crate::context::Context;
use crate::directory;
use crate::exit::{Exit, failure};
use crate::new_run;
use crate::output;
use crate::planned;
use crate::resume::{self, Kind};
use crate::session;
use engine::resolve::{Request, Set};
use model::named::NamedKind;
use model::plan::Duel;
use model::record::Run;
use report::comparison::{self, CompareOptions};
use std::path::PathBuf;

pub(crate) fn run(context: &Context, args: &DuelArgs) -> anyhow::Result<Exit> {
    let quiet = args.session.quiet;
    let measured = if let Some(name) = &args.session.resume {
        resume::sides(context, name, Kind::Duel, quiet)?
    } else {
        let dry_run = args
            .new
            .dry_run
            .then(|| args.format.of_plan())
            .transpose()?;
        let sides = sides(context, args)?;
        if let Some(format) = dry_run {
            let plan = sides::describe(&sides, context.lang) + &planned::describe(&sides);
            sides::warn(&sides, context.lang);
            return planned::show(context, &sides, format, &plan);
        }
        if !quiet {
            output::say(&sides::describe(&sides, context.lang));
        }
        sides::warn(&sides, context.lang);
        session::begin_sides(context, &sides, quiet)?
    };
    let [a, b] = measured.as_slice() else {
        anyhow::bail!("read both sides of the duel back");
    };
    let view = comparison::view(a, &[b], &CompareOptions::default());
    output::print(&compare::render(context, &view, args.format.chosen()))?;
    Ok(match (show::exit(a), show::exit(b)) {
        (Exit::Ok, other) => other,
        (worse, _) => worse,
    })
}

/// Both sides before their first round.
fn sides(context: &Context, args: &DuelArgs) -> anyhow::Result<[Run; 2]> {
    if args.a.is_empty() && args.b.is_empty() && args.a_cmd.is_none() && args.b_cmd.is_none() {
        return Err(failure(
            Exit::Usage,
            "duel: both sides are the same",
            Some(
                "tell them apart with `--a`, `--b`, `--a-cmd` or `--b-cmd`, such as `--a dir=/mnt/x --b dir=/mnt/y`; to see the noise, say the same of both",
            ),
        ));
    }
    sides::refuse_one_sided(args)?;
    let seed = new_run::seed(&args.new);
    let mut sides = [
        side(context, args, seed, "a", &args.a, args.a_cmd.as_ref())?,
        side(context, args, seed, "b", &args.b, args.b_cmd.as_ref())?,
    ];
    // The side keeps their ids, and so their work directories, apart; what is common to both lets one be found by the
    // other.
    let common = sides[0].meta.id.clone();
    for (run, name) in sides.iter_mut().zip(["a", "b"]) {
        run.meta.id = format!("{common}{name}");
        run.plan.duel = run.plan.duel.take().map(|duel| Duel {
            id: common.clone(),
            ..duel
        });
    }
    same_cases(&sides)?;
    Ok(sides)
}

/// One side, before its first round.
fn side(
    context: &Context,
    args: &DuelArgs,
    seed: u64,
    name: &str,
    traits: &[Trait],
    prepare: Option<&String>,
) -> anyhow::Result<Run> {
    let dirs: Vec<&PathBuf> = traits
        .iter()
        .filter_map(|own| match own {
            Trait::Dir(dir) => Some(dir),
            Trait::Set(_) | Trait::Named(..) => None,
        })
        .collect();
    if dirs.len() > 1 {
        return Err(failure(
            Exit::Usage,
            format!("duel: side {} has two directories", name.to_uppercase()),
            None,
        ));
    }
    if let Some(dir) = dirs.first() {
        // Refused by the name of the option that names it.
        let option = if name == "a" {
            "--a dir=DIR"
        } else {
            "--b dir=DIR"
        };
        directory::named_by(Some(dir), option, &context.consent)?;
    }
    let own_sets = traits.iter().filter_map(|own| match own {
        Trait::Set(set) => Some(set.clone()),
        Trait::Dir(_) | Trait::Named(..) => None,
    });
    let (device, file) = named(&args.new, name, traits)?;
    let new = NewRun {
        // What is said about one side overrides what is said about both.
        dir: dirs.first().copied().or(args.new.dir.as_ref()).cloned(),
        device,
        file,
        set: args.new.set.iter().cloned().chain(own_sets).collect(),
        label: args
            .new
            .label
            .as_ref()
            .map(|label| format!("{label}-{name}")),
        ..args.new.clone()
    };
    let request = |sets: Vec<Set>| Request {
        what: args.what.clone(),
        copies: args.amount.copies.clone(),
        sets,
        budget: args.amount.budget,
        passes: args.amount.passes,
        target: None,
        seed,
        duel: Some(Duel {
            // That of the runs, as soon as there is one.
            id: String::new(),
            side: name.to_owned(),
            prepare: prepare.cloned(),
            // What is said of it is known in full when its directory has been looked at.
            traits: None,
        }),
    };
    let mut run = new_run::prepare(context, &new, |host| {
        new_run::plan(&request(new.set.clone()), host)
    })?;
    let own = sides::own_traits(traits, &run.meta.dir);
    if let Some(duel) = &mut run.plan.duel {
        duel.traits = Some(own);
    }
    Ok(run)
}

/// The device or file that this side measures in place of a test file: its own, or that of both.
fn named(
    both: &NewRun,
    name: &str,
    traits: &[Trait],
) -> anyhow::Result<(Option<PathBuf>, Option<PathBuf>)> {
    let mut own = traits.iter().filter_map(|own| match own {
        Trait::Named(kind, path) => Some((kind, path)),
        Trait::Dir(_) | Trait::Set(_) => None,
    });
    match (own.next(), own.next()) {
        (Some(_), Some(_)) => Err(failure(
            Exit::Usage,
            format!(
                "duel: side {} has two devices or files",
                name.to_uppercase()
            ),
            None,
        )),
        (Some((NamedKind::Device, path)), None) => Ok((Some(path.clone()), None)),
        (Some((NamedKind::File, path)), None) => Ok((None, Some(path.clone()))),
        (None, _) => Ok((both.device.clone(), both.file.clone())),
    }
}

/// A pair needs both its halves: what only one side can do is refused before anything is measured.
fn same_cases(sides: &[Run; 2]) -> anyhow::Result<()> {
    let cases = |run: &Run| -> Vec<String> {
        run.plan
            .cases
            .iter()
            .map(|case| case.id.to_string())
            .collect()
    };
    let (a, b) = (cases(&sides[0]), cases(&sides[1]));
    if a == b {
        return Ok(());
    }
    let dropped = sides.iter().flat_map(|run| &run.plan.dropped);
    let whys: Vec<String> = dropped.map(|d| format!("{} ({})", d.what, d.why)).collect();
    let text = format!(
        "duel: the sides cannot do the same tests: {}",
        whys.join("; ")
    );
    Err(failure(Exit::Unsupported, text, None))
}
