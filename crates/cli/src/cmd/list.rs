//! `kurabe list`: what was kept, and what can be run.

use crate::args::{ListArgs, ListWhat};
use crate::complete;
use crate::context::Context;
use crate::directory::{Directory, OPTION};
use crate::exit::{Exit, failure};
use crate::new_run;
use crate::output;
use crate::planned;
use engine::consent::Consent;
use engine::profile::Profile;
use engine::resolve::Request;
use model::params::Params;
use model::spec::{ParamDef, ParamKind, Spec, TestDef};
use report::Lang;
use report::json::list::{List, MetricDefPart, ParamPart, ProfilePart, TestPart};
use report::page::list;
use store::RunLine;

/// Runs that are listed where nobody says how many: what a terminal scrolls back to at a glance.
const LAST: u32 = 50;

pub(crate) fn run(context: &Context, args: &ListArgs) -> anyhow::Result<Exit> {
    refuse_what_is_no_question(args)?;
    let found = match args.what {
        ListWhat::Runs => runs(context, args)?,
        ListWhat::Tests => List::Tests(tests()),
        ListWhat::Profiles => List::Profiles(profiles()?),
        ListWhat::Metrics => List::Metrics(metrics()),
        ListWhat::Params => List::Params(params(args.test.as_deref())?),
    };
    if args.json {
        output::print(&report::json::list(&found))?;
        return Ok(Exit::Ok);
    }
    if let List::Runs(lines, kept) = &found {
        output::print(&runs_as_text(context, lines))?;
        say_how_many(lines.len(), *kept, context.lang);
        return Ok(Exit::Ok);
    }
    output::print(&report::render::text(
        &[list::reference(&found)],
        context.lines,
    ))?;
    if let Some(note) = list::in_english(context.lang) {
        output::say(note);
    }
    Ok(Exit::Ok)
}

fn refuse_what_is_no_question(args: &ListArgs) -> anyhow::Result<()> {
    let is_runs = matches!(args.what, ListWhat::Runs);
    let is_params = matches!(args.what, ListWhat::Params);
    let text = if !is_runs && (args.all || args.last.is_some()) {
        "`--all` and `--last` are about runs; of everything else the list is whole"
    } else if matches!(args.what, ListWhat::Metrics) && args.test.is_some() {
        "metrics are listed of all tests together: `kurabe list metrics`; of one test: `kurabe list params TEST`"
    } else if !is_params && args.test.is_some() {
        "a test is named to list its parameters: `kurabe list params TEST`"
    } else if is_params && args.test.is_none() {
        "parameters are those of a test: `kurabe list params TEST`"
    } else {
        return Ok(());
    };
    let hint = is_params.then_some("`kurabe list tests` names them");
    Err(failure(Exit::Usage, text, hint))
}

/// Kept runs as the list shows them; nothing where there are none.
pub(super) fn runs_as_text(context: &Context, lines: &[RunLine]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    report::render::text(&[list::runs(lines, context.lang)], context.lines)
}

fn runs(context: &Context, args: &ListArgs) -> anyhow::Result<List> {
    let store = match context.store_to_read() {
        Ok(store) => store,
        // No store yet means no runs yet: nothing is wrong.
        Err(error)
            if matches!(
                error.downcast_ref(),
                Some(store::StoreError::Missing { .. })
            ) =>
        {
            return Ok(List::Runs(Vec::new(), 0));
        }
        Err(error) => return Err(error),
    };
    let lines = if args.all {
        store.list()?
    } else {
        store.latest(args.last.unwrap_or(LAST))?
    };
    Ok(List::Runs(lines, store.count()?))
}

fn say_how_many(shown: usize, kept: usize, lang: Lang) {
    if kept == 0 {
        output::say(lang.pick(
            "no runs are kept yet; `kurabe run` makes one",
            "保存された測定はまだありません。`kurabe run` で測定します",
        ));
    } else if shown < kept {
        output::say(&match lang {
            Lang::En => format!(
                "the latest {shown} of {kept} runs; `kurabe list --all` shows every run, `--last N` so many"
            ),
            Lang::Ja => format!(
                "{kept} 件の測定のうち最新の {shown} 件です。`kurabe list --all` ですべて、`--last N` で N 件を表示します"
            ),
        });
    }
}

fn specs() -> impl Iterator<Item = &'static Spec> {
    workloads::ALL.iter().map(|workload| workload.spec())
}

fn all_tests() -> impl Iterator<Item = (&'static Spec, &'static TestDef)> {
    specs().flat_map(|spec| spec.tests.iter().map(move |test| (spec, test)))
}

fn tests() -> Vec<TestPart> {
    let part = |(_, test): (_, &TestDef)| TestPart {
        name: test.name,
        title: if complete::is_for_developers(test.name) {
            format!("for developers: {}", test.title)
        } else {
            test.title.to_owned()
        },
    };
    all_tests().map(part).collect()
}

/// Every profile, planned for this machine and directory as `kurabe run` would.
fn profiles() -> anyhow::Result<Vec<ProfilePart>> {
    let dir = Directory::look_or_elsewhere(None, OPTION, &Consent::default())?;
    let part = |profile: Profile| {
        let request = Request {
            what: vec![profile.name.clone()],
            no_disk: dir.no_disk(),
            ..Request::default()
        };
        let planned = new_run::plan(&request, &dir.host);
        ProfilePart {
            expected_ns: planned.as_ref().ok().map(|plan| planned::of_plan(plan).0),
            refused: planned.err().map(|error| in_short(&error)),
            name: profile.name,
            title: profile.title,
        }
    };
    Ok(workloads::profiles::all()?.into_iter().map(part).collect())
}

/// Why a profile cannot be run here as it is, in the words of its tests where all have the same.
fn in_short(error: &anyhow::Error) -> String {
    let text = error.to_string();
    let whys = text.strip_prefix("plan the run: nothing can be measured here: ");
    let of_one = whys.filter(|whys| !whys.contains("; "));
    let why = of_one.and_then(|whys| whys.split_once(": "));
    why.map_or_else(|| text.clone(), |(_, why)| why.to_owned())
}

fn metrics() -> Vec<MetricDefPart> {
    specs()
        .flat_map(|spec| spec.metrics.iter().map(move |metric| (spec, metric)))
        .filter(|(_, metric)| !metric.role.is_picture())
        .map(|(spec, metric)| MetricDefPart {
            id: format!("{}:{}", spec.name, metric.quantity),
            unit: metric.unit.to_string(),
            definition: in_one_line(metric.doc),
        })
        .collect()
}

/// The parameters of this test.
fn params(test: Option<&str>) -> anyhow::Result<Vec<ParamPart>> {
    let name = test.unwrap_or_default();
    let Some((spec, test)) = all_tests().find(|(_, test)| test.name == name) else {
        return Err(failure(
            Exit::Usage,
            format!("list the parameters of `{name}`: it is no test"),
            Some("`kurabe list tests` names them"),
        ));
    };
    let set = Params::resolve(spec, test.params.iter().copied())?;
    Ok(spec.params.iter().map(|def| param(def, &set)).collect())
}

fn param(def: &ParamDef, set: &Params) -> ParamPart {
    let (min, max) = match def.kind {
        ParamKind::Count { min, max } => (Some(min), Some(max)),
        _ => (None, None),
    };
    ParamPart {
        name: def.name,
        value: set
            .get(def.name)
            .map(ToString::to_string)
            .unwrap_or_default(),
        takes: def.kind.in_words(),
        choices: match def.kind {
            ParamKind::Choice(words) => words,
            _ => &[],
        },
        min,
        max,
        meaning: in_one_line(def.doc),
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
