//! `kurabe rm RUN...`: removes kept runs for good, after saying which ones, and after asking.
//!
//! A figure that took an hour is not lost by a slip: where nobody can answer, only `--yes` removes; a run that is being
//! measured stays; and what is removed is what was said, all of it or nothing.

use super::list::runs_as_text;
use crate::args::RmArgs;
use crate::context::{Context, is_measured};
use crate::exit::{Exit, failure};
use crate::output;
use anyhow::Context as _;
use report::Lang;
use report::number::counted;
use store::{Identity, RunLine, Store};

pub(crate) fn run(context: &Context, args: &RmArgs) -> anyhow::Result<Exit> {
    let mut store = context.store_to_change(args.others.dir_of_others)?;
    let runs = meant(context.lang, &store, &args.runs)?;
    refuse_measured(&store, &runs)?;
    output::say(&runs_as_text(context, &runs));
    if !args.yes {
        // Closed while somebody thinks: a log of ours would be taken for that of a file put in its place meanwhile.
        let file = store.file();
        drop(store);
        if !agreed(context.lang, runs.len())? {
            let nothing = ("nothing was removed", "何も削除していません");
            output::say(context.lang.pick(nothing.0, nothing.1));
            return Ok(Exit::Ok);
        }
        store = open_again(context, args, file)?;
    }
    // Somebody may have gone on with one of them before the answer.
    refuse_measured(&store, &runs)?;
    store.remove(&runs)?;
    output::say(&match context.lang {
        Lang::En => format!("removed {}", counted(runs.len(), "run", "runs")),
        Lang::Ja => format!("{} 件の測定を削除しました", runs.len()),
    });
    Ok(Exit::Ok)
}

/// The store once more, where it is still the file whose runs were agreed to.
fn open_again(context: &Context, args: &RmArgs, file: Identity) -> anyhow::Result<Store> {
    let store = context
        .store_to_change(args.others.dir_of_others)
        .context("remove runs: nothing was removed")?;
    if store.file() == file {
        return Ok(store);
    }
    Err(failure(
        Exit::Incomplete,
        format!(
            "remove runs: the store `{}` was replaced by another meanwhile; nothing was removed",
            store.path().display()
        ),
        Some("`kurabe list` shows what it holds now"),
    ))
}

/// The runs that the user means, each once, with the other sides of their duels.
fn meant(lang: Lang, store: &Store, names: &[String]) -> anyhow::Result<Vec<RunLine>> {
    let mut runs: Vec<RunLine> = Vec::new();
    let mut add = |run: RunLine| {
        let is_new = runs.iter().all(|known| known.id != run.id);
        if is_new {
            runs.push(run);
        }
        is_new
    };
    for name in names {
        let meant = store.meant(name)?;
        if let Some(other) = meant.hidden.first() {
            let both = format!(
                "remove run `{name}`: run `{}` is called so, and the id of run `{other}` ends so; nothing was removed",
                meant.id
            );
            return Err(failure(Exit::Usage, both, Some("type more of the id")));
        }
        if !meant.alike.is_empty() {
            output::say(&only_latest(lang, name, meant.alike.len() + 1));
        }
        let run = store.line(&meant.id)?;
        let duel = run.duel.clone();
        add(run);
        let other = duel.map(|duel| store.other_side(&meant.id, &duel));
        if let Some(other) = other.transpose()?.flatten() {
            let name = other.label.clone().unwrap_or_else(|| other.short.clone());
            if add(other) && !names.contains(&name) {
                output::say(&match lang {
                    Lang::En => {
                        format!("note: `{name}` is the other side of the duel, and goes with it")
                    }
                    Lang::Ja => {
                        format!("注: `{name}` はデュエルのもう一方の側で、一緒に削除されます")
                    }
                });
            }
        }
    }
    Ok(runs)
}

fn only_latest(lang: Lang, name: &str, runs: usize) -> String {
    match lang {
        Lang::En => format!(
            "note: {runs} runs are called `{name}`; the latest is meant, and the others stay"
        ),
        Lang::Ja => {
            format!("注: `{name}` という測定は {runs} 件あります。対象は最新の 1 件だけです")
        }
    }
}

/// Refuses a run of which somebody is measuring the next round.
fn refuse_measured(store: &Store, runs: &[RunLine]) -> anyhow::Result<()> {
    for run in runs {
        if is_measured(store, &run.id, run.end)? {
            return Err(failure(
                Exit::Usage,
                format!("remove run `{}`: it is being measured", run.id),
                Some(
                    "end it with Ctrl-C, or wait; where no kurabe is measuring, `kurabe clean` says what was left behind",
                ),
            ));
        }
    }
    Ok(())
}

/// Whether the user agrees.
fn agreed(lang: Lang, runs: usize) -> anyhow::Result<bool> {
    if !output::can_ask() {
        return Err(failure(
            Exit::Usage,
            "remove runs: nobody can be asked, because this is no terminal; nothing was removed",
            Some("`--yes` removes without asking"),
        ));
    }
    let question = match (lang, runs) {
        (Lang::En, 1) => "remove this run for good? [y/N]".to_owned(),
        (Lang::En, runs) => format!("remove these {runs} runs for good? [y/N]"),
        (Lang::Ja, runs) => format!("この {runs} 件を完全に削除しますか? [y/N]"),
    };
    let answer = output::ask(&question)?.to_lowercase();
    Ok(["y", "yes", "はい"].contains(&answer.as_str()))
}
