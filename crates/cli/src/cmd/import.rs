//! `kurabe import FILE...`: keeps runs that another kurabe exported, and what other programs printed.

use crate::args::ImportArgs;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::foreign::{self, Held, Texts, as_rounds, beyond};
use crate::output;
use dialects::printable::{quoted, said};
use model::origin::Origin;
use model::record::{End, Run};
use report::brief;
use report::number::{self, counted};
use std::path::Path;
use store::export::Export;
use store::{Store, StoreError};

pub(crate) fn run(context: &Context, args: &ImportArgs) -> anyhow::Result<Exit> {
    // All files are read before the first is kept: a bad one leaves the store as it was.
    let (mut exports, mut texts) = (Vec::new(), Vec::new());
    for path in &args.files {
        match foreign::held(path)? {
            Held::Export(_) if args.as_rounds => {
                let what = format!("make rounds of `{}`: it is an export", path.display());
                let hint = "an export has its own rounds; import it without `--as-rounds`";
                return Err(failure(Exit::Usage, what, Some(hint)));
            }
            Held::Export(export) => exports.push(export),
            Held::Figures(found) => {
                tell_left_out(path, &found);
                texts.push(found);
            }
        }
    }
    let mut runs = if args.as_rounds {
        as_rounds(&texts)?
    } else {
        texts.iter().flat_map(Texts::runs).collect()
    };
    for run in &mut runs {
        run.meta.label.clone_from(&args.label);
        if let Some(why) = beyond(run) {
            let what = format!("keep figures of `{}`: {}", who(run).0, said(&why));
            return Err(failure(Exit::Usage, what, Some(foreign::WITHIN)));
        }
    }
    let store = context.store(args.others.dir_of_others)?;
    exports.iter().try_for_each(|export| keep(&store, export))?;
    let before = if runs.is_empty() {
        Vec::new()
    } else {
        store.imported()?
    };
    for run in &runs {
        if keep_figures(&store, run)? {
            tell_older(&store, run, &before)?;
        }
    }
    Ok(Exit::Ok)
}

fn keep(store: &Store, export: &Export) -> anyhow::Result<()> {
    let news = store.import_export(export)?;
    let Run { meta, .. } = export.run();
    let id = &meta.id;
    if news && meta.end != End::Open {
        let run = store.load_to_compare(id)?;
        store.note_brief(id, &brief::of(&run).text())?;
    }
    output::say(&if news {
        format!("kept run {id} ({} rounds)", export.rounds())
    } else {
        format!("run {id} was kept already")
    });
    Ok(())
}

/// Keeps a run of figures; false where it was kept already.
fn keep_figures(store: &Store, run: &Run) -> anyhow::Result<bool> {
    let id = &run.meta.id;
    let news = match store.import(run) {
        // The id is of the text: it was kept by another version of kurabe, or has a label since.
        Err(StoreError::Taken { .. }) => false,
        kept => kept?,
    };
    if !news {
        let named = run.meta.label.as_deref();
        let hint = named.map(|name| format!("; `kurabe label {id} {}` names it", quoted(name)));
        let hint = hint.unwrap_or_default();
        output::say(&format!("run {id} was kept already{hint}"));
        return Ok(false);
    }
    store.note_brief(id, &brief::of(run).text())?;
    let (who, when) = who(run);
    let rounds = run.plan.passes.unwrap_or(1);
    let samples = match rounds {
        0 | 1 => "one sample: no interval".to_owned(),
        rounds => format!("up to {}", counted(rounds, "round", "rounds")),
    };
    let metrics = run
        .plan
        .cases
        .iter()
        .map(|case| case.metrics.len())
        .sum::<usize>();
    let figures = counted(metrics, "figure", "figures");
    output::say(&format!(
        "kept run {id}: {figures} of {who}, {when}; imported, {samples}"
    ));
    Ok(true)
}

/// So many of the runs of a file of one name are looked at: a name such as `out.txt` may have thousands.
const OLDER_LOOKED_AT: usize = 5;

/// Says which run is of the same file as it was before somebody mended it: what has half of its figures. Nothing is
/// removed.
fn tell_older(store: &Store, run: &Run, before: &[[String; 3]]) -> anyhow::Result<()> {
    let Some(origin) = run.meta.origin.as_deref() else {
        return Ok(());
    };
    let values = |run: &Run| -> Vec<(String, u64)> {
        let told = run
            .rounds
            .iter()
            .filter_map(|round| Some((round, round.told()?)));
        let values = told.flat_map(|(round, told)| {
            let each = told.values.iter();
            each.map(|(quantity, value)| (format!("{}:{quantity}", round.case), value.to_bits()))
        });
        values.collect()
    };
    let own = values(run);
    let of_file =
        |[program, file, _]: &&[String; 3]| (program, file) == (&origin.program, &origin.file);
    for [_, file, id] in before.iter().rev().filter(of_file).take(OLDER_LOOKED_AT) {
        let older = store.load_to_compare(id)?;
        // Fewer or more files of repeated runs are no mended file.
        if older.plan.passes != run.plan.passes {
            continue;
        }
        let older = values(&older);
        let same = own.iter().filter(|value| older.contains(value)).count();
        if 2 * same >= own.len() {
            output::say(&format!(
                "run {id} came from `{}` too, and has {same} of these figures: if the file was mended since, \
                 `kurabe rm {id}` removes the older one",
                said(file)
            ));
            break;
        }
    }
    Ok(())
}

/// Who measured, and when.
fn who(run: &Run) -> (String, String) {
    let origin = run.meta.origin.as_deref();
    let when = origin.and_then(|origin| origin.when.known());
    (
        said(&origin.map(Origin::who).unwrap_or_default()),
        when.map_or_else(
            || "date unknown".to_owned(),
            |&when| number::minute(when) + " UTC",
        ),
    )
}

/// The most parts of a file that are told one by one.
const LEFT_OUT_TOLD: usize = 10;

fn tell_left_out(path: &Path, texts: &Texts) {
    let all = &texts.left_out;
    for left in all.iter().take(LEFT_OUT_TOLD) {
        let (path, line) = (path.display(), left.line);
        output::say(&format!(
            "left out, {path} line {line}: {}",
            said(&left.what)
        ));
    }
    if all.len() > LEFT_OUT_TOLD {
        let more = counted(all.len() - LEFT_OUT_TOLD, "line", "lines");
        output::say(&format!("left out, {}: {more} more", path.display()));
    }
}
