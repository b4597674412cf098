//! Measuring a run that is begun in the store: every round is kept before the next one starts.

use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::output;
use crate::progress::Bar;
use anyhow::Context as _;
use engine::run::{Observer, Progress, RunError, Setting};
use model::record::{End, Round, Run};
use model::units::UnixNanos;
use std::path::Path;
use store::Store;

/// From now on Ctrl-C ends the run in good order. Called before anything is made that would stay behind.
pub(crate) fn catch_stop_signals() -> anyhow::Result<()> {
    sys::signal::catch_stop_signals().context("catch Ctrl-C")?;
    sys::signal::ignore_sigxfsz().context("ignore SIGXFSZ")
}

/// Executes the plan of `run`, which the store holds open, after the rounds that it has already; the run comes back
/// as it was kept.
pub(crate) fn measure(
    context: &Context,
    store: &Store,
    run: &Run,
    quiet: bool,
) -> anyhow::Result<Run> {
    let id = &run.meta.id;
    let dir = Path::new(&run.meta.dir);
    let work_dir = engine::workdir::place(dir, id);
    if let Some(stale) = engine::workdir::stale_at(&work_dir) {
        // Left behind when an earlier part of this run was killed.
        engine::workdir::remove_stale(&stale)?;
    }
    store.note_work_dir(id, &work_dir)?;
    let mut keeper = Keeper {
        store,
        run: id,
        bar: Bar::new(quiet),
    };
    let setting = Setting {
        run: id,
        dir,
        host: &run.host,
        find: workloads::find,
        began: context.began,
        earlier: &run.rounds,
    };
    let ended = engine::run::execute(&run.plan, &setting, &mut keeper);
    keeper.bar.clear();
    let ended = ended.map_err(explain)?;
    store.finish(
        id,
        UnixNanos(sys::clock::wall()),
        ended.end,
        &ended.warnings,
    )?;
    match &ended.left_behind {
        None => store.forget_work_dir(&work_dir)?,
        Some(error) => {
            output::say(&format!(
                "warning: {error}\nhint: `kurabe clean` tries again"
            ));
        }
    }
    if !store.path().exists() {
        output::say(&format!(
            "warning: the store `{}` was removed meanwhile: this run is not kept",
            store.path().display()
        ));
    }
    if ended.end == End::Interrupted {
        output::say(&format!(
            "interrupted: what was measured until then is kept as run {id}\n\
             hint: `kurabe run --resume {id}` goes on with it"
        ));
    }
    Ok(store.load(id)?)
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

fn explain(error: RunError) -> anyhow::Error {
    match &error {
        RunError::WorkDir(_) => failure(
            Exit::Unsupported,
            &error,
            Some(
                "name a directory that can be written with `--dir DIR`; `kurabe clean` removes what killed runs left",
            ),
        ),
        RunError::System { .. } | RunError::Keep { .. } => error.into(),
    }
}
