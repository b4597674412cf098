//! `kurabe duel`: two set-ups of the same machine, measured in pairs of rounds and compared as pairs.
//!
//! Two disks, two mount options, two values of a parameter: whatever `dir=`, `set=` or a shell command can tell apart.
//! Each side is a run of its own in the store, so that `show`, `export` and `compare` know both.

use crate::args::{DuelArgs, Trait};
use crate::context::{Context, host_facts};
use crate::directory::directory;
use crate::exit::{Exit, failure};
use crate::new_run::{self, fresh_seed};
use crate::output;
use crate::session;
use engine::resolve::{Request, Set};
use model::plan::Duel;
use model::record::{End, Run};
use report::comparison::{self, CompareOptions};
use std::path::Path;

pub(crate) fn run(context: &Context, args: &DuelArgs) -> anyhow::Result<Exit> {
    if args.a.is_empty() && args.b.is_empty() && args.a_cmd.is_none() && args.b_cmd.is_none() {
        return Err(failure(
            Exit::Usage,
            "duel: both sides are the same",
            Some(
                "tell them apart with `--a`, `--b`, `--a-cmd` or `--b-cmd`, such as `--a dir=/mnt/x --b dir=/mnt/y`",
            ),
        ));
    }
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let id = format!("{seed:016x}");
    let sides = [
        side(args, &id, seed, "a", &args.a, args.a_cmd.as_ref())?,
        side(args, &id, seed, "b", &args.b, args.b_cmd.as_ref())?,
    ];
    same_cases(&sides)?;
    session::catch_stop_signals()?;
    let store = context.store()?;
    for run in &sides {
        store.begin(&run.meta, &run.plan, &run.host)?;
    }
    let measured = session::measure_sides(context, &store, &sides, args.quiet)?;
    let view = comparison::view(&measured[0], &[&measured[1]], &CompareOptions::default());
    output::print(&if args.json {
        report::json::comparison(&view)
    } else {
        report::comparison_text::text(&view, context.style, context.lang)
    })?;
    Ok(match measured[0].meta.end {
        End::Complete => Exit::Ok,
        End::Interrupted | End::Open => Exit::Interrupted,
    })
}

/// One side, before its first round.
fn side(
    args: &DuelArgs,
    id: &str,
    seed: u64,
    name: &str,
    traits: &[Trait],
    prepare: Option<&String>,
) -> anyhow::Result<Run> {
    let dirs: Vec<&Path> = traits
        .iter()
        .filter_map(|own| match own {
            Trait::Dir(dir) => Some(dir.as_path()),
            Trait::Set(_) => None,
        })
        .collect();
    if dirs.len() > 1 {
        return Err(failure(
            Exit::Usage,
            format!("duel: side {name} has two directories"),
            None,
        ));
    }
    let sets: Vec<Set> = traits
        .iter()
        .filter_map(|own| match own {
            Trait::Set(set) => Some(set.clone()),
            Trait::Dir(_) => None,
        })
        .collect();
    let dir = directory(dirs.first().copied())?;
    let host = host_facts(&dir.path);
    let request = Request {
        what: args.what.clone(),
        copies: args.copies.clone(),
        sets,
        budget: args.budget,
        passes: args.passes,
        target: None,
        seed,
        duel: Some(Duel {
            id: id.to_owned(),
            side: name.to_owned(),
            prepare: prepare.cloned(),
        }),
    };
    let plan = new_run::plan(&request, &host)?;
    dir.check(&plan)?;
    let label = args.label.as_ref().map(|label| format!("{label}-{name}"));
    let mut meta = new_run::meta(label, &dir.path, &host);
    // Both begin in the same second; the side keeps their ids, and so their work directories, apart.
    meta.id = format!("{}{name}", meta.id);
    Ok(Run {
        meta,
        plan,
        host,
        rounds: Vec::new(),
    })
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
