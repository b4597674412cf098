//! `kurabe report RUN...`: one file that a person publishes. Nothing is measured again, and nothing is asked of any
//! network.

use super::compare::{Side, earlier_if_any, leave_out_identity, no_run_on_both_sides, side, view};
use crate::args::{Chosen, ReportArgs};
use crate::catalogue;
use crate::context::{Context, Reader};
use crate::directory;
use crate::exit::{Exit, failure};
use crate::output;
use model::offer::Catalogue;
use model::record::Run;
use report::formats::Shown;
use report::offers::{Measured, part};
use report::published::Published;
use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) fn run(context: &Context, args: &ReportArgs) -> anyhow::Result<Exit> {
    // Before anything is read: who named a place that cannot be has not to wait for it.
    let place = match &args.output {
        Some(path) => Some(free(path, args.others.dir_of_others)?),
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
            written(path, &place, text.as_bytes())?;
            output::say(&format!("wrote {}", path.display()));
        }
        _ => output::print(&text)?,
    }
    Ok(Exit::Ok)
}

fn drawn(
    context: &Context,
    sides: &[Side<'_>],
    earlier: &[Run],
    catalogue: Option<&Catalogue>,
    format: Chosen,
) -> anyhow::Result<String> {
    let comparison = match sides {
        [base, others @ ..] if !others.is_empty() => Some(view(base, others, earlier)),
        _ => None,
    };
    let runs: Vec<&Run> = sides.iter().flat_map(|side| &side.runs).collect();
    let mut published = Published::new(comparison, &runs, catalogue);
    if let Some(catalogue) = catalogue.filter(|_| format.format.tells_offers) {
        for view in &mut published.runs {
            let id = view.run.meta.offer.as_ref();
            let offer = id.and_then(|id| catalogue.find(id));
            let alone = |offer| part(&Measured::new(offer, &[view.run]));
            view.offer = offer.map(alone);
        }
    }
    format.draw(context, Shown::Report(&published))
}

/// The place of a new file, which nothing is in the way of.
fn free(path: &Path, of_others: bool) -> anyhow::Result<PathBuf> {
    let place = directory::refuse_strangers_to_new(path, "--output FILE", of_others)?;
    match place.symlink_metadata() {
        Ok(found) if found.is_dir() => Err(refused(
            path,
            &"it is a directory",
            Some("name a file in it"),
        )),
        Ok(_) => Err(refused(
            path,
            &"it exists already",
            Some("kurabe overwrites no files: remove it, or name another with `--output FILE`"),
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(place),
        Err(error) => Err(refused(path, &error, None)),
    }
}

fn refused(path: &Path, why: &dyn std::fmt::Display, hint: Option<&str>) -> anyhow::Error {
    failure(
        Exit::Usage,
        format!("write `{}`: {why}", path.display()),
        hint,
    )
}

/// Writes beside the place and renames, so that there is a whole file or none.
fn written(path: &Path, place: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut beside = place.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .open(&beside)
        .map_err(|error| refused(path, &error, None))?;
    let made = file.metadata();
    let done = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&beside, place));
    done.map_err(|error| {
        // We made it a moment ago, and half of a report is of no use.
        if let Ok(made) = made {
            let _ = sys::io::remove::remove_exactly(&beside, made.dev(), made.ino());
        }
        refused(path, &error, None)
    })
}
