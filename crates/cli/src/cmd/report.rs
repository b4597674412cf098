//! `kurabe report RUN...`: one file that a person publishes. Nothing is measured again, and nothing is asked of any
//! network.

use super::compare::{
    Side, earlier_if_any, joined_apart, leave_out_identity, no_run_on_both_sides, side,
    tell_joined, view,
};
use crate::args::{Chosen, ReportArgs};
use crate::catalogue;
use crate::context::{Context, Reader};
use crate::exit::{Exit, failure};
use crate::new_file;
use crate::output;
use model::offer::Catalogue;
use model::record::Run;
use report::formats::Shown;
use report::published::Published;
use std::io::IsTerminal;

pub(crate) fn run(context: &Context, args: &ReportArgs) -> anyhow::Result<Exit> {
    // Before anything is read: who named a place that cannot be has not to wait for it.
    let place = match &args.output {
        Some(path) => Some(new_file::place(path, args.others.dir_of_others)?),
        None if args.format.is_file && std::io::stdout().is_terminal() => {
            return Err(failure(
                Exit::Usage,
                "write a report to a terminal: nobody reads it there",
                Some("name a file: `--output report.html`"),
            ));
        }
        None => None,
    };
    let catalogue = catalogue::read(args.catalogue.file())?;
    let reader = context.reader();
    let texts = args.runs.iter();
    let mut sides: Vec<Side<'_>> = texts
        .map(|text| side(&reader, text, Reader::load_whole))
        .collect::<anyhow::Result<_>>()?;
    refuse_measured(&reader, &sides)?;
    let mut earlier = match sides.as_slice() {
        [base, others @ ..] if !others.is_empty() => {
            for other in others {
                no_run_on_both_sides(base, other)?;
            }
            earlier_if_any(&reader, base, others)
        }
        _ => Vec::new(),
    };
    let format = Chosen::usual(args.format, args.with_identity);
    leave_out_identity(format, &mut sides, &mut earlier)?;
    let text = drawn(context, &sides, &earlier, catalogue.as_ref(), format)?;
    match (&args.output, place) {
        (Some(path), Some(place)) => {
            new_file::write(path, &place, text.as_bytes())?;
            output::say(&format!("wrote {}", path.display()));
        }
        _ => output::print(&text)?,
    }
    Ok(Exit::Ok)
}

/// Half of a run is no page that others should read.
fn refuse_measured(reader: &Reader<'_>, sides: &[Side<'_>]) -> anyhow::Result<()> {
    for run in sides.iter().flat_map(|side| &side.runs) {
        let id = &run.meta.id;
        if reader.is_measured(run)? {
            return Err(failure(
                Exit::Usage,
                format!("publish run `{id}`: it is being measured"),
                Some(&format!(
                    "wait, or end it with Ctrl-C; `kurabe show {id}` shows what there is"
                )),
            ));
        }
    }
    Ok(())
}

fn drawn(
    context: &Context,
    sides: &[Side<'_>],
    earlier: &[Run],
    catalogue: Option<&Catalogue>,
    format: Chosen,
) -> anyhow::Result<String> {
    let runs: Vec<&Run> = sides.iter().flat_map(|side| &side.runs).collect();
    let apart = joined_apart(sides, earlier);
    let (compared, past, joined) = match &apart {
        Some(apart) => (&apart.sides[..], &apart.earlier[..], apart.joined.clone()),
        None => (sides, earlier, Vec::new()),
    };
    let comparison = match compared {
        [base, others @ ..] if !others.is_empty() => {
            let mut view = view(base, others, past);
            tell_joined(&mut view, joined);
            Some(view)
        }
        _ => None,
    };
    let published = Published::new(comparison, &runs, catalogue, earlier);
    format.draw(context, Shown::Report(&published))
}
