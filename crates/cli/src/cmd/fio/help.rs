//! `--help`, `--version`, `--cmdhelp` and `--enghelp` of `kurabe fio`, from the tables that its reader uses.

use super::{own, results};
use crate::exit::{Exit, failure};
use dialects::fio::options::{self, OptionDef, Standing, engines};
use dialects::fio::{PROGRAM, Request};
use report::page::{Block, list};
use report::{Style, render};
use std::fmt::Write as _;

/// The version that reports name: whose forms they have, and who made them.
pub(super) fn version() -> String {
    format!("fio-3.33 (kurabe {})", env!("CARGO_PKG_VERSION"))
}

/// The answer to a question; `None` where something else was asked for.
pub(super) fn answer(request: &Request, style: Style) -> anyhow::Result<Option<String>> {
    Ok(Some(match request {
        Request::Help => {
            let width = style.width.min(PAGE);
            render::text(&help(), Style { width, ..style })
        }
        Request::Version => version(),
        Request::OptionHelp(name) if name == "all" => render::text(&[all_options()], style),
        Request::OptionHelp(name) => one_option(name)?,
        Request::Calibrate => dialects::fio::output::calibration(results::micros(
            workloads::storage::idle::unit_work(),
        )),
        Request::EngineHelp(None) => render::text(&[engine_list()], style),
        Request::EngineHelp(Some(name)) => one_engine(name)?,
        Request::Run | Request::ParseOnly | Request::ShowCommand => return Ok(None),
    }))
}

/// Columns of the help at most: those of the smallest terminal.
const PAGE: usize = 80;

fn help() -> Vec<Block> {
    let own = own::OPTIONS
        .iter()
        .map(|(option, what)| vec![(*option).to_owned(), (*what).to_owned()]);
    let fios = PROGRAM
        .iter()
        .filter(|option| option.refused.is_none())
        .map(|option| vec![format!("--{}", option.name), option.doc.to_owned()]);
    let options = |whose: &str, rows| Block::section(whose, vec![list::described(rows)]);
    vec![
        Block::Line("Usage: kurabe fio [OPTIONS] [JOB OPTIONS] [JOB FILES]".to_owned()),
        Block::Line("Runs fio's job files and command lines, and keeps the run.".to_owned()),
        options("Options of kurabe:", own.collect()),
        options("Options of fio:", fios.collect()),
        Block::Line(
            "--cmdhelp lists the options of jobs, --cmdhelp=NAME explains one, --enghelp lists the engines."
                .to_owned(),
        ),
        examples(),
    ]
}

fn examples() -> Block {
    let rows = crate::args::help::of("fio").map(|&(line, what)| (line.to_owned(), what.to_owned()));
    Block::section("Examples:", vec![Block::Commands(rows.collect())])
}

const fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Supported => "supported",
        Standing::InPart => "in part",
        Standing::Noted => "noted",
        Standing::Refused => "refused",
    }
}

fn all_options() -> Block {
    let row = |def: &OptionDef| {
        let standing = word(def.standing()).to_owned();
        vec![def.name.to_owned(), standing, def.doc.to_owned()]
    };
    list::described(options::all().map(row).collect())
}

fn one_option(name: &str) -> anyhow::Result<String> {
    let Some(def) = options::find(name) else {
        let nearest = options::nearest(name).map(|near| format!("nearest: {near}"));
        return Err(failure(
            Exit::Usage,
            format!("explain option `{name}`: there is none of that name"),
            nearest.as_deref(),
        ));
    };
    Ok(explain(def))
}

fn explain(def: &OptionDef) -> String {
    let names: Vec<&str> = def.names().collect();
    let mut text = format!("{}: {}\n", names.join(", "), word(def.standing()));
    let mut line = |what: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{what:>8}  {value}");
        }
    };
    line("default", def.default);
    line("in fio", def.fio_default.unwrap_or_default());
    line("meaning", def.doc);
    if let options::Status::Noted { why, .. } | options::Status::Refused { why, .. } = &def.status {
        line("why", why);
    }
    for limit in def.limits() {
        line("limit", limit.why);
    }
    text
}

fn engine_list() -> Block {
    let row = |engine: &engines::Engine| vec![engine.names[0].to_owned(), engine.doc.to_owned()];
    list::described(engines::available().map(row).collect())
}

/// The options that are this engine's own, as fio lays them out; with the name of one behind a comma, that one.
fn one_engine(asked: &str) -> anyhow::Result<String> {
    let (name, option) = asked.split_once(',').unwrap_or((asked, ""));
    let refused = |why: &str| {
        failure(
            Exit::Usage,
            format!("explain engine `{name}`: {why}"),
            Some("`kurabe fio --enghelp` lists those that are here"),
        )
    };
    let engine = engines::engine(name).ok_or_else(|| refused("there is none of that name"))?;
    if let Some(why) = engine.refusal() {
        return Err(refused(&format!("{}; it is not here: {why}", engine.doc)));
    }
    let mut own = engines::options(engine).peekable();
    if own.peek().is_none() {
        return Ok(format!("IO engine {name} has no options: {}\n", engine.doc));
    }
    if option.is_empty() {
        let mut text = String::new();
        own.for_each(|def| {
            let _ = writeln!(text, "{:<24}: {}", def.name, def.doc);
        });
        return Ok(text);
    }
    let found = own.find(|def| def.names().any(|known| known == option));
    let found = found.ok_or_else(|| refused(&format!("it has no option `{option}`")))?;
    Ok(explain(found))
}
