//! `kurabe doctor`: what is known about this machine, and what is not, with the reason; and at the end, from the look
//! that comes before a first round, what would disturb a measurement now.

use crate::args::DoctorArgs;
use crate::before;
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use anyhow::Context as _;
use engine::look;
use model::look::Look;
use report::number::counted;
use report::page::Block;
use report::{Lang, said};
use stats::look::Seen;
use std::slice;
use workloads::storage;

pub(crate) fn run(context: &Context, args: &DoctorArgs) -> anyhow::Result<Exit> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_dir().context("find the current directory")?,
    };
    let dir =
        std::fs::canonicalize(&dir).with_context(|| format!("look at `{}`", dir.display()))?;
    let host = crate::directory::host_facts(&dir);
    if args.json {
        output::print(&report::json::host(&host))?;
        return Ok(Exit::Ok);
    }
    let mut page = report::page::host::page(&host, context.lang);
    if !args.no_look
        && let Some(look) = look::look(look::SPAN)
    {
        let space = storage::space::taken(&dir, None);
        let seen = stats::look::seen(&Look { space, ..look }, &host);
        page.push(verdict(&seen, context.lang));
    }
    output::print(&report::render::text(&page, context.style))?;
    Ok(Exit::Ok)
}

/// What would disturb a measurement now, and what helps.
fn verdict(seen: &[Seen], lang: Lang) -> Block {
    let things = counted(
        u32::try_from(seen.len()).unwrap_or(u32::MAX),
        "thing",
        "things",
    );
    let sum = match seen.len() {
        0 => lang.pick(
            "nothing was seen that would disturb a measurement".to_owned(),
            "測定を乱すものは見つかりませんでした".to_owned(),
        ),
        n => lang.pick(
            format!("{things} will disturb a measurement:"),
            format!("測定を乱すものが {n} 件あります:"),
        ),
    };
    let lines = seen.iter().map(|one| {
        let what = said::seen(slice::from_ref(one), lang);
        let advice = before::advice(one, lang);
        lang.pick(format!("{what}: {advice}"), format!("{what}。{advice}"))
    });
    let heading = lang.pick("verdict", "判定");
    Block::section(heading, vec![Block::Line(sum), Block::bullets(lines)])
}
