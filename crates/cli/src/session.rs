//! Measuring: runs are begun in the store, every round is kept before the next one starts, and what the runs made is
//! marked or removed.

use crate::context::Context;
use crate::directory;
use crate::empty;
use crate::exit::{Exit, failure};
use crate::output;
use crate::peer;
use crate::progress::Bar;
use crate::rescue::Rescue;
use crate::resume::goes_on;
use crate::server;
use crate::server_room::Growth;
use engine::consent::{Granted, Left, Permits};
use engine::ground::Preparing;
use engine::run::{Ended, Observer, Places, Progress, Resting, RunError, Setting, Side};
use engine::set_up::{NotSetUp, SetUp};
use engine::workdir::{Next, WorkDirError};
use model::plan::PlannedCase;
use model::record::{End, Outcome, Round, Run};
use model::units::{Bytes, Nanos, UnixNanos};
use report::Lang;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use store::{Store, StoreError};
use workloads::db::Held;

/// What is about to be measured: one run, or the two sides of a duel.
pub(crate) struct Ready {
    /// The runs, with the rounds that they have already.
    pub(crate) runs: Vec<Run>,
    /// True where the store has them and they go on; false where they begin.
    pub(crate) kept: bool,
    /// What their transactions may take on a server of tables; `None` for any.
    pub(crate) db_max: Option<Bytes>,
}

impl Ready {
    /// Runs that begin.
    pub(crate) fn new<const N: usize>(runs: [Run; N]) -> Self {
        Self {
            runs: runs.into(),
            kept: false,
            db_max: None,
        }
    }

    /// The same with what it may take on a server of tables.
    pub(crate) fn within(self, db_max: Bytes) -> Self {
        Self {
            db_max: Some(db_max),
            ..self
        }
    }
}

/// What was measured.
pub(crate) struct Measured {
    /// The runs as they were kept.
    pub(crate) runs: Vec<Run>,
    /// The files of ours that stay for further runs, or why the store could not note what became of them.
    pub(crate) files: anyhow::Result<Vec<PathBuf>>,
}

impl Measured {
    /// The runs, where nothing at all went wrong.
    pub(crate) fn whole(self) -> anyhow::Result<Vec<Run>> {
        self.files?;
        Ok(self.runs)
    }
}

/// Measures what is ready with what was granted, and ends with what stays behind. Nothing is left in the store where
/// the commands of a duel cannot be run.
pub(crate) fn measure(
    context: &Context,
    ready: &Ready,
    granted: Granted,
    quiet: bool,
) -> anyhow::Result<Measured> {
    measure_before(context, ready, granted, quiet, None)
}

/// Who looks on while rounds go on.
pub(crate) trait Onlooker {
    /// How often.
    fn every(&self) -> Nanos;

    /// A round goes on, and this is what it has come to.
    fn ticks(&mut self, so_far: &Round);

    /// A round has ended, and is kept.
    fn ended(&mut self, round: &Round);
}

/// The same before somebody who looks on.
pub(crate) fn measure_before(
    context: &Context,
    ready: &Ready,
    granted: Granted,
    quiet: bool,
    onlooker: Option<&mut dyn Onlooker>,
) -> anyhow::Result<Measured> {
    let store = context.store(granted.dir_of_others)?;
    let runs = &*rehearsed(&ready.runs, &granted.permits)?;
    let held = server::held(runs, &granted.permits)?;
    let sides: Vec<Side<'_>> = runs.iter().map(side).collect();
    let note = || {
        let mut dirs = sides.iter().flat_map(work_dirs);
        dirs.try_for_each(|(run, dir)| store.note_work_dir(run, &dir))
    };
    note()?;
    // Before the store has the runs: open there, and without a directory that is held, they would seem to be over.
    let places =
        Places::make(&sides, granted.dir_of_others).map_err(|error| explain(error, runs))?;
    // Once more: `kurabe clean` forgets what is not there, as they were not until now.
    note()?;
    for run in runs {
        if ready.kept {
            store.reopen(&run.meta.id, &run.meta.looks)?;
        } else {
            store.begin(&run.meta, &run.plan, &run.host)?;
        }
    }
    let onlooker = onlooker.map(|own| -> &mut dyn Onlooker { own });
    let ended = execute(
        context,
        &store,
        runs,
        (&sides, places, held, Growth::new(runs, ready.db_max)),
        &granted,
        (quiet, onlooker),
    );
    // However the run ended: what it made is not left half-written.
    let noted_in = (!matches!(ended, Ok(Kept::Elsewhere(_)))).then_some(&store);
    let files = settle(granted, noted_in, runs);
    match ended {
        Ok(Kept::InStore(runs)) => Ok(Measured { runs, files }),
        Ok(Kept::Elsewhere(lost)) => Err(lost),
        Err(error) => {
            if let Err(error) = files {
                output::say(&format!("warning: {error:#}"));
            }
            Err(error)
        }
    }
}

/// Where runs are that were measured.
enum Kept {
    /// In the store.
    InStore(Vec<Run>),
    /// The store is no more, and they are elsewhere: the error says where.
    Elsewhere(anyhow::Error),
}

/// Sets each side of a duel up once, before anything is kept: a slip in a command must not cost a budget. And asks
/// servers what they are, each as its side has been set up.
fn rehearsed<'a>(runs: &'a [Run], permits: &Permits) -> anyhow::Result<Cow<'a, [Run]>> {
    let mut all = Cow::Borrowed(runs);
    for (at, run) in runs.iter().enumerate() {
        // One that is over will be refused.
        if run.meta.end == End::Complete {
            continue;
        }
        set_up_once(run)?;
        // A run may work on both.
        let peer = peer::asked(run, runs, permits)?;
        let server = server::asked(peer.as_ref().unwrap_or(run), permits)?;
        if let Some(asked) = server.or(peer) {
            all.to_mut()[at] = asked;
        }
    }
    Ok(all)
}

fn set_up_once(run: &Run) -> anyhow::Result<()> {
    if let (Some(set_up), Some(duel)) = (SetUp::of(&run.plan), &run.plan.duel) {
        match set_up.run() {
            Ok(done) => {
                if done.leaves {
                    output::say(&format!(
                        "warning: the command of side {} leaves something running, which goes on during the rounds of both sides and after the duel",
                        duel.letter()
                    ));
                }
            }
            Err(NotSetUp::Interrupted) => {
                let text = "interrupted: nothing was measured";
                return Err(failure(Exit::Interrupted, text, None));
            }
            Err(NotSetUp::Failed(why)) => {
                let why = report::duel::failure(&why, Lang::En);
                let text = format!("set up side {}: {why}", duel.letter());
                let hint = "commands are tried once before anything is measured, and run again before each round";
                return Err(failure(Exit::Usage, text, Some(hint)));
            }
        }
    }
    Ok(())
}

/// What is measured of a run, after the rounds that it has already.
fn side(run: &Run) -> Side<'_> {
    Side {
        run: &run.meta.id,
        plan: &run.plan,
        dir: Path::new(&run.meta.dir),
        host: &run.host,
        earlier: &run.rounds,
    }
}

/// A run's id with each of its work directories.
fn work_dirs<'a>(side: &Side<'a>) -> Vec<(&'a str, PathBuf)> {
    let all = engine::run::work_dirs(side.run, side.dir, side.plan);
    all.into_iter().map(|dir| (side.run, dir)).collect()
}

/// Executes the plan of `runs`, which the store holds open. Their work directories are held until they are finished.
fn execute<'a>(
    context: &Context,
    store: &'a Store,
    runs: &'a [Run],
    (sides, places, held, growth): (&[Side<'_>], Places, Option<Held>, Growth),
    granted: &Granted,
    (quiet, onlooker): (bool, Option<&'a mut (dyn Onlooker + 'a)>),
) -> anyhow::Result<Kept> {
    let ids: Vec<&str> = runs.iter().map(|run| run.meta.id.as_str()).collect();
    store.mark(&ids)?;
    let ticks = onlooker.as_ref().map(|onlooker| onlooker.every());
    let mut keeper = Keeper {
        rescue: Rescue::new(store, runs),
        runs,
        bar: Bar::new(quiet, context.lang, runs.first().map(|run| &run.plan)),
        told: BTreeSet::new(),
        onlooker,
        held,
        growth,
    };
    let setting = Setting {
        permits: &granted.permits,
        began: context.began,
        ticks,
    };
    let ended = engine::run::execute(sides, &places, setting, &mut keeper);
    keeper.bar.clear();
    let (end, warnings) = ended.as_ref().map_or((End::Interrupted, &[][..]), |ended| {
        (ended.end, ended.warnings.as_slice())
    });
    let lost = keeper.rescue.outcome(end, warnings);
    let ended = ended.map_err(|error| explain(error, runs));
    if let Some(lost) = lost {
        match &ended {
            Ok(_) => say_left_behind(places.remove()),
            Err(error) => output::say(&format!("warning: the run ended early: {error:#}")),
        }
        return Ok(Kept::Elsewhere(lost));
    }
    let ended = ended?;
    let nothing = empty::taken_away(store, runs, &ended)?;
    let measured: Vec<anyhow::Result<Run>> = if nothing.is_some() {
        Vec::new()
    } else {
        let finished = runs.iter().map(|run| finish(store, run, &ended));
        finished.collect::<anyhow::Result<_>>()?
    };
    say_left_behind(places.remove());
    for (_, work_dir) in sides.iter().flat_map(work_dirs) {
        if !work_dir.exists() {
            store.forget_work_dir(&work_dir)?;
        }
    }
    if let Some(nothing) = nothing {
        return Err(nothing);
    }
    if let Some(why) = empty::unmade(runs, &ended) {
        output::say(&format!("warning: {why}"));
    }
    let measured: anyhow::Result<Vec<Run>> = measured.into_iter().collect();
    say_how_it_ended(measured.as_deref().unwrap_or(runs), &ended);
    measured.map(Kept::InStore)
}

/// Ends a run in the store. Gives it as it is there then, with what lists say of it noted.
fn finish(store: &Store, run: &Run, ended: &Ended) -> anyhow::Result<anyhow::Result<Run>> {
    let id = &run.meta.id;
    // Read before it ends: its owner may remove it from then on.
    let loaded = store.load(id);
    let now = UnixNanos(sys::clock::wall());
    let meta = store
        .finish(id, now, ended.end, &ended.warnings)
        .map_err(|error| stays_open(&error, run))?;
    let whole = loaded.and_then(|loaded| {
        let whole = Run { meta, ..loaded };
        match store.note_brief(id, &report::brief::of(&whole).text()) {
            Ok(()) | Err(StoreError::Unknown { .. }) => Ok(whole),
            Err(error) => Err(error),
        }
    });
    Ok(whole.map_err(Into::into))
}

/// Marks the files of ours as the runs leave them, and removes those that a job of theirs unlinks or that are not
/// whole. Gives those that stay. Without a store they are known by their marks alone.
fn settle(granted: Granted, store: Option<&Store>, runs: &[Run]) -> anyhow::Result<Vec<PathBuf>> {
    let plans = runs.iter().map(|run| &run.plan);
    let unlinked: Vec<PathBuf> = plans.flat_map(workloads::storage::jobs::unlinked).collect();
    let mut stay = Vec::new();
    for file in granted.settle(&|path| unlinked.iter().any(|own| own == path)) {
        match file.left {
            Left::Kept { id, changed } => {
                if let Some(store) = store {
                    store.note_file(&file.path, &id, &changed.to_string())?;
                }
                stay.push(file.path);
            }
            Left::Removed => store.map_or(Ok(()), |store| store.forget_file(&file.path))?,
            Left::Lost(why) => {
                output::say(&format!(
                    "warning: `{}` stays and is no file of kurabe's any more: {why}",
                    file.path.display()
                ));
            }
        }
    }
    Ok(stay)
}

/// Says that work directories stay, where they do.
fn say_left_behind(stay: Vec<WorkDirError>) {
    for error in stay {
        let hint = match engine::workdir::next_of(&error.path) {
            Next::Clean => "`kurabe clean` tries again",
            Next::CleanLater => "`kurabe clean` tries again, once its file system can be read",
            Next::Nothing => {
                "look what is in it and remove it by hand: `kurabe clean` leaves it alone"
            }
        };
        output::say(&format!("warning: {error}\nhint: {hint}"));
    }
}

fn say_how_it_ended(runs: &[Run], ended: &Ended) {
    if ended.end == End::Interrupted {
        for run in runs {
            let id = &run.meta.id;
            output::say(&format!(
                "interrupted: what was measured until then is kept as run {id}"
            ));
        }
        if let [run, ..] = runs
            && !has_all_rounds(run)
        {
            output::say(&format!("hint: {}", goes_on(&run.meta.id, runs)));
        }
    }
}

/// The error of a run whose store took no more of it: it is open, and has what was kept before.
fn stays_open(error: &impl std::fmt::Display, run: &Run) -> anyhow::Error {
    let hint = goes_on(&run.meta.id, std::slice::from_ref(run));
    let text = error.to_string();
    if text.contains("\nhint: ") {
        failure(Exit::Incomplete, format!("{text}; then {hint}"), None)
    } else {
        failure(Exit::Incomplete, text, Some(&hint))
    }
}

/// Whether nothing is left to do, although somebody interrupted: the last round was kept as far as it had come.
fn has_all_rounds(run: &Run) -> bool {
    let has = |case: &PlannedCase, passes: u32| {
        let last = run.rounds_of(&case.id).map(|round| round.pass).max();
        last.is_some_and(|last| last >= passes)
    };
    let plan = &run.plan;
    plan.passes
        .is_some_and(|passes| plan.cases.iter().all(|case| has(case, passes)))
}

/// Keeps rounds and shows progress.
struct Keeper<'a> {
    rescue: Rescue<'a>,
    runs: &'a [Run],
    bar: Bar,
    /// What was said of failed rounds: each reason once.
    told: BTreeSet<String>,
    onlooker: Option<&'a mut (dyn Onlooker + 'a)>,
    held: Option<Held>,
    growth: Growth,
}

impl Keeper<'_> {
    /// Says at once why a round of a duel failed: it costs a pair, and its command may be wrong.
    fn tell(&mut self, side: usize, round: &Round) {
        let (Some(duel), Outcome::Failed(why)) = (&self.runs[side].plan.duel, &round.outcome)
        else {
            return;
        };
        let letter = duel.letter();
        let why = report::duel::failure(why, Lang::En);
        if self.told.insert(stats::kind_of(&format!("{letter} {why}"))) {
            let (case, pass) = (&round.case, round.pass);
            self.bar.say(&format!(
                "warning: side {letter}, pass {pass}, {case}: {why}; this pair does not count"
            ));
        }
    }
}

impl Observer for Keeper<'_> {
    fn holds(&mut self) -> Result<(), String> {
        let held = self.held.as_mut().map_or(Ok(()), Held::hold);
        held.map_err(|error| error.to_string())
    }

    fn spares(&mut self) -> Result<(), String> {
        let spared = self.held.as_mut().map_or(Ok(()), Held::spares);
        spared.map_err(|error| error.to_string())?;
        self.growth.fits()
    }

    fn starts(&mut self, progress: &Progress<'_>) {
        self.bar.starts(progress);
    }

    fn ticks(&mut self, _: usize, so_far: &Round) {
        if let Some(onlooker) = &mut self.onlooker {
            self.bar.beside(|| onlooker.ticks(so_far));
        }
    }

    fn prepares(&mut self, preparing: &Preparing<'_>) {
        self.bar.prepares(preparing);
    }

    fn rests(&mut self, resting: &Resting) {
        self.bar.rests(resting);
    }

    fn notices(&mut self, words: &str) {
        self.bar.say(&format!("note: {words}"));
    }

    fn ended(&mut self, side: usize, round: &Round) -> Result<(), String> {
        self.bar.ended(round);
        self.tell(side, round);
        self.growth.learn(&self.runs[side], round);
        if let Some(lost) = self.rescue.keep(side, round)? {
            self.bar.say(&lost);
        }
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.ended(round);
        }
        if let Some(held) = &mut self.held {
            // Also so that what the round has made is known; that it ends the run is said before the next one.
            let _ = held.spares();
        }
        Ok(())
    }
}

fn explain(error: RunError, runs: &[Run]) -> anyhow::Error {
    match &error {
        RunError::WorkDir(_) => {
            let option = runs
                .first()
                .map_or(directory::OPTION, |run| directory::option(&run.plan));
            let hint = format!(
                "name a directory that can be written with `{option}`; `kurabe clean` removes what killed runs left"
            );
            failure(Exit::Unsupported, &error, Some(&hint))
        }
        RunError::Keep { .. } | RunError::NotHeld(_) | RunError::Costs(_) => match runs {
            [run, ..] => stays_open(&error, run),
            [] => error.into(),
        },
        RunError::System { .. } => error.into(),
    }
}
