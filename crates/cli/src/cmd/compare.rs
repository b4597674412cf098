//! `kurabe compare BASE OTHER...`: reads the runs and calls one pure function for each pair of sides.
//!
//! A run against itself is refused: it would always be the same as itself, and that is no finding.

use super::fio::apart;
use crate::args::{Chosen, CompareArgs, FailIf, ScatterArg};
use crate::context::{Context, Reader, file};
use crate::exit::{Exit, failure};
use crate::joined;
use crate::output;
use model::comparison::{Comparison, Scatter, ScatterSource, Verdict};
use model::line::Machine;
use model::order::Order as _;
use model::record::Run;
use model::units::UnixNanos;
use report::comparison::{self, CompareOptions, ComparisonView, LatestOf, Party};
use report::formats::Shown;
use report::number::counted;
use stats::joined::Told;
use std::collections::HashMap;

/// How much of a run is read, and the ids of the others of its label.
type Load<'r> = fn(&Reader<'r>, &str) -> anyhow::Result<(Run, Vec<String>)>;

/// One side as it was typed, and what was read for it: at least one run.
#[derive(Clone)]
pub(crate) struct Side<'a> {
    text: &'a str,
    pub(crate) runs: Vec<Run>,
    /// Whether one of them comes from a file.
    has_file: bool,
    /// The runs of one label, the one that was taken first, where several have it.
    alike: Vec<Vec<String>>,
}

pub(crate) fn run(context: &Context, args: &CompareArgs) -> anyhow::Result<Exit> {
    let format = args.format.chosen()?;
    let reader = context.reader();
    let named = [&args.base].into_iter().chain(&args.others);
    let mut sides: Vec<Side<'_>> = named
        .map(|text| side(&reader, text, Reader::load_to_compare))
        .collect::<anyhow::Result<_>>()?;
    let (base, others) = split(&sides);
    for other in others {
        no_run_on_both_sides(base, other)?;
    }
    let mut earlier = match args.scatter {
        None => earlier_if_any(&reader, base, others),
        Some(ScatterArg::Store) => earlier(&reader, base, others)?,
        Some(ScatterArg::Shipped | ScatterArg::Share(_)) => Vec::new(),
    };
    read_whole(&mut sides, |id| Ok(reader.load_whole(id)?.0))?;
    let joined = join(&mut sides, &mut earlier);
    leave_out_identity(format, &mut sides, &mut earlier)?;
    let (base, others) = split(&sides);
    let options = CompareOptions {
        margin: args.margin,
        earlier: &earlier,
        scatter: match args.scatter {
            Some(ScatterArg::Share(share)) => Some(share),
            _ => None,
        },
    };
    let mut view =
        comparison::view_groups(party(base), others.iter().map(party).collect(), &options);
    tell_joined(&mut view, joined);
    if args.scatter == Some(ScatterArg::Store) {
        needs_earlier(&view)?;
    }
    output::print(&format.draw(context, Shown::Comparison(&view))?)?;
    let exit = exit(&view, args.fail_if);
    // The program ends here, and the system takes back at once what would be given back round by round.
    std::mem::forget((sides, earlier));
    Ok(exit)
}

fn split<'s, 'a>(sides: &'s [Side<'a>]) -> (&'s Side<'a>, &'s [Side<'a>]) {
    sides.split_first().expect("the base has been read")
}

/// Reads all of what the copies did in the runs that will be taken apart. What comes from a file is whole.
fn read_whole(
    sides: &mut [Side<'_>],
    load: impl Fn(&str) -> anyhow::Result<Run>,
) -> anyhow::Result<()> {
    if !is_to_be_joined(sides) {
        return Ok(());
    }
    for side in sides.iter_mut().filter(|side| !side.has_file) {
        for run in &mut side.runs {
            if apart::asked(run).is_some() {
                *run = load(&run.meta.id)?;
            }
        }
    }
    Ok(())
}

/// Has all sides call the same jobs by the names that the base has for them; what was joined, for each of the others.
fn join(sides: &mut [Side<'_>], earlier: &mut [Run]) -> Vec<Told> {
    if !is_to_be_joined(sides) {
        return Vec::new();
    }
    for side in sides.iter_mut() {
        for run in &mut side.runs {
            if let Some(plan) = apart::asked(run) {
                apart::take(run, &plan);
            }
        }
    }
    let Some((base, others)) = sides.split_first_mut() else {
        return Vec::new();
    };
    let mut others: Vec<&mut [Run]> = others.iter_mut().map(|side| &mut side.runs[..]).collect();
    joined::join(&mut base.runs, &mut others, earlier)
}

fn is_to_be_joined(sides: &[Side<'_>]) -> bool {
    sides.split_first().is_some_and(|(base, others)| {
        let runs = others.iter().flat_map(|side| &side.runs);
        stats::joined::is_asked(&base.runs, runs)
    })
}

/// Has the page say what was joined.
pub(crate) fn tell_joined(view: &mut ComparisonView<'_>, joined: Vec<Told>) {
    for ((_, comparison), joined) in view.others.iter_mut().zip(joined) {
        comparison.joined = joined.joined;
        comparison.not_joined = joined.not_joined;
    }
}

/// Takes out of what is shown together what says whose the machines are, where the format has no place for it: a side
/// without a label is then A, B, ..., and its runs are A1, A2, ... where it is a group.
pub(crate) fn leave_out_identity(
    format: Chosen,
    sides: &mut [Side<'_>],
    earlier: &mut [Run],
) -> anyhow::Result<()> {
    let runs = sides.iter_mut().flat_map(|side| &mut side.runs);
    format.leave_out_identity(&mut runs.chain(earlier).collect::<Vec<_>>())?;
    if !format.is_anonymous() {
        return Ok(());
    }
    for (place, side) in sides.iter_mut().enumerate() {
        side.has_file = false;
        let letter = report::identity::letter(place);
        let is_group = side.runs.len() > 1;
        for (number, run) in (1..).zip(&mut side.runs) {
            let name = if is_group {
                format!("{letter}{number}")
            } else {
                letter.clone()
            };
            report::identity::call(run, &name);
        }
    }
    Ok(())
}

/// How the command ends, and on standard error why, where something was missing for a verdict.
fn exit(view: &ComparisonView<'_>, fail_if: Option<FailIf>) -> Exit {
    let metrics = || view.others.iter().flat_map(|(_, one)| &one.metrics);
    let worse = || metrics().any(|metric| metric.adjusted == Verdict::Worse);
    if fail_if == Some(FailIf::Worse) && worse() {
        return Exit::GateFailed;
    }
    let compared = |one: &Comparison| one.metrics.iter().any(|metric| metric.interval.is_some());
    if !view.others.iter().all(|(_, one)| compared(one)) {
        output::say("nothing could be compared: no metric has an interval on both sides");
        return Exit::Incomplete;
    }
    let doubted: usize = view
        .others
        .iter()
        .map(|(_, one)| one.doubts().count())
        .sum();
    if doubted > 0 {
        output::say(&format!(
            "{} in doubt (of metrics, of their slow moments, or of categories): something on a machine disturbed rounds; \
             measure again when it is quiet",
            counted(doubted, "difference is", "differences are")
        ));
        return Exit::Incomplete;
    }
    Exit::Ok
}

/// The latest runs of each machine from before the first of the runs that are compared: what came between them may have
/// the very change that is looked for. None where there is no store.
fn earlier(reader: &Reader<'_>, base: &Side<'_>, others: &[Side<'_>]) -> anyhow::Result<Vec<Run>> {
    let mut ids: Vec<String> = Vec::new();
    let mut asked: Vec<(Machine, UnixNanos)> = Vec::new();
    for other in others.iter().filter(|other| !is_duel(base, other)) {
        let before = base.began().min(other.began());
        for side in [base, other] {
            let host = &side.first().host;
            let question = (Machine::of(host), before);
            if asked.contains(&question) {
                continue;
            }
            asked.push(question);
            for id in reader.earlier(host, before, stats::EARLIER_MOST)? {
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
    }
    // Those that are compared as well have been read.
    let sides = [base].into_iter().chain(others);
    let of_store = sides.filter(|side| !side.has_file);
    let read: HashMap<&str, &Run> = of_store
        .flat_map(|side| &side.runs)
        .map(|run| (run.meta.id.as_str(), run))
        .collect();
    let load = |id: &String| match read.get(id.as_str()) {
        Some(&run) => Ok(run.clone()),
        None => reader.load_earlier(id),
    };
    ids.iter().map(load).collect()
}

/// Whether these are the two sides of one duel, whose pairs share what runs differ by.
fn is_duel(base: &Side<'_>, other: &Side<'_>) -> bool {
    match (&base.runs[..], &other.runs[..]) {
        ([base], [other]) => base.is_against(other),
        _ => false,
    }
}

/// The same, and none where they cannot be read.
pub(crate) fn earlier_if_any(
    reader: &Reader<'_>,
    base: &Side<'_>,
    others: &[Side<'_>],
) -> Vec<Run> {
    earlier(reader, base, others).unwrap_or_else(|error| without_earlier(&error))
}

/// Sides with the same jobs under the same names.
pub(crate) struct Apart<'a> {
    pub(crate) sides: Vec<Side<'a>>,
    pub(crate) earlier: Vec<Run>,
    pub(crate) joined: Vec<Told>,
}

/// The same as copies, because the sides keep their names for what else is shown of them; `None` where there is nothing
/// to join.
pub(crate) fn joined_apart<'a>(sides: &[Side<'a>], earlier: &[Run]) -> Option<Apart<'a>> {
    is_to_be_joined(sides).then(|| {
        let (mut sides, mut earlier) = (sides.to_vec(), earlier.to_vec());
        let joined = join(&mut sides, &mut earlier);
        Apart {
            sides,
            earlier,
            joined,
        }
    })
}

/// Compares as the command does that was given nothing but runs.
pub(crate) fn view<'a>(
    base: &'a Side<'_>,
    others: &'a [Side<'_>],
    earlier: &[Run],
) -> ComparisonView<'a> {
    let options = CompareOptions {
        earlier,
        ..CompareOptions::default()
    };
    comparison::view_groups(party(base), others.iter().map(party).collect(), &options)
}

/// What a store that cannot be read leaves: the comparison needs nothing else from it.
fn without_earlier(error: &anyhow::Error) -> Vec<Run> {
    let why = error.to_string();
    let why = why.lines().next().unwrap_or_default();
    output::say(&format!("going on without earlier runs: {why}"));
    Vec::new()
}

/// Refuses a comparison for which earlier runs were asked, where something else is all that is known of what runs of a
/// machine differ by in a metric.
fn needs_earlier(view: &ComparisonView<'_>) -> anyhow::Result<()> {
    let of_others = |scatter: Option<Scatter>| {
        scatter.is_some_and(|one| {
            matches!(
                one.source,
                ScatterSource::Shipped { .. } | ScatterSource::Class
            )
        })
    };
    let mut lacking: Vec<String> = Vec::new();
    for metric in view.others.iter().flat_map(|(_, one)| &one.metrics) {
        let lacks = of_others(metric.scatter.base) || of_others(metric.scatter.other);
        let name = format!("`{}`", metric.id);
        if lacks && metric.interval.is_some() && !lacking.contains(&name) {
            lacking.push(name);
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    let (named, rest) = lacking.split_at(lacking.len().min(LACKING_NAMED));
    let more = if rest.is_empty() {
        String::new()
    } else {
        format!(" and {} more", rest.len())
    };
    Err(failure(
        Exit::Usage,
        format!(
            "compare: `--scatter store`: too few earlier runs of these machines show what runs differ by in {}{more}",
            named.join(", ")
        ),
        Some(
            "earlier runs count from five times on at which they saw the machine, 20 minutes or more apart and before \
             the runs that are compared; or compare three runs a side that are as far apart, or leave \
             `--scatter` away",
        ),
    ))
}

/// The most metrics that an error names.
const LACKING_NAMED: usize = 3;

/// The runs of one side: one, or a list with commas. What is a run's name as a whole is no list: labels and paths may
/// hold commas.
pub(crate) fn side<'a, 'r>(
    reader: &Reader<'r>,
    text: &'a str,
    load: Load<'r>,
) -> anyhow::Result<Side<'a>> {
    let mut side = Side {
        text,
        runs: Vec::new(),
        has_file: text
            .split(',')
            .chain([text])
            .any(|part| file(part.trim()).is_some()),
        alike: Vec::new(),
    };
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() == 1 {
        side.push(load(reader, text)?);
        return Ok(side);
    }
    if let Ok(found) = load(reader, text) {
        side.push(found);
        return Ok(side);
    }
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        side.push(load(reader, part)?);
    }
    side.no_run_twice()?;
    Ok(side)
}

impl Side<'_> {
    fn first(&self) -> &Run {
        &self.runs[0]
    }

    /// When the first of its runs began.
    fn began(&self) -> UnixNanos {
        let began = self.runs.iter().map(|run| run.meta.started);
        began.min().unwrap_or_default()
    }

    fn push(&mut self, (run, others): (Run, Vec<String>)) {
        if !others.is_empty() {
            let all = std::iter::once(run.meta.id.clone()).chain(others);
            self.alike.push(all.collect());
        }
        self.runs.push(run);
    }

    /// A run that is named twice would count as two instances.
    fn no_run_twice(&self) -> anyhow::Result<()> {
        let text = self.text;
        let mut ids: Vec<&str> = self.runs.iter().map(|run| run.meta.id.as_str()).collect();
        ids.order();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            let why = format!("compare: `{text}` names the run `{}` twice", twice[0]);
            return Err(failure(Exit::Usage, why, Some(&self.another(twice[0]))));
        }
        if ids.is_empty() {
            let why = format!("compare: `{text}` names no run");
            return Err(failure(Exit::Usage, why, Some("see `kurabe list`")));
        }
        Ok(())
    }

    /// What may have been meant in the place of a run: where its label has others, one of those.
    fn another(&self, id: &str) -> String {
        let mut labels = self.alike.iter();
        match labels.find(|alike| alike[0] == id) {
            Some(alike) => format!(
                "its label stands for the latest of {} runs; name an older one by its id, such as `{}`",
                alike.len(),
                alike[1]
            ),
            None => "name another run; `kurabe list --all` shows every run".to_owned(),
        }
    }
}

/// A run on both sides would be compared with itself.
pub(crate) fn no_run_on_both_sides(base: &Side<'_>, other: &Side<'_>) -> anyhow::Result<()> {
    let ids: Vec<&str> = base.runs.iter().map(|run| run.meta.id.as_str()).collect();
    let mut theirs = other.runs.iter().map(|run| run.meta.id.as_str());
    let Some(id) = theirs.find(|id| ids.contains(id)) else {
        return Ok(());
    };
    let why = format!(
        "compare: `{}` and `{}` both name the run `{id}`: a run is always the same as itself",
        base.text, other.text
    );
    let hint = if base.alike.iter().any(|alike| alike[0] == id) {
        base.another(id)
    } else {
        other.another(id)
    };
    Err(failure(Exit::Usage, why, Some(&hint)))
}

fn party<'a>(side: &'a Side<'_>) -> Party<'a> {
    let latest_of = side.alike.iter().map(|alike| LatestOf {
        run: alike[0].clone(),
        runs: alike.len(),
    });
    Party::group(&side.runs)
        .expect("a side has been read with at least one run")
        .with_latest_of(latest_of.collect())
        .with_path(side.has_file.then(|| side.text.to_owned()))
}
