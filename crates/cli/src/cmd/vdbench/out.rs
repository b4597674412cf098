//! The files of `--output`: vdbench's names in one directory, which is made where it is not there.
//!
//! What is there already is replaced only where it is empty or a file of vdbench or of this program, by the rules of
//! `kurabe fio --output`.

use crate::cmd::fio::out::{AS_ROOT, Form, Way};
use crate::directory::hint_of_others;
use crate::exit::{Exit, failure};
use crate::output;
use dialects::vdbench::output::{Report, flatfile, summary, totals};
use engine::strangers;
use std::path::{Path, PathBuf};

const FORM: Form = Form {
    begins: |text| text.trim_start().starts_with("<title>Vdbench"),
    otherwise: "it is there already and begins as no report of vdbench or kurabe does",
};

/// How a file is made.
type Make = fn(&Report<'_>) -> String;

const FILES: [(&str, Make); 3] = [
    ("summary.html", summary),
    ("totals.html", totals),
    ("flatfile.html", flatfile),
];

fn refused(dir: &Path, what: &str, why: &str, exit: Exit) -> anyhow::Error {
    let hint = if why.starts_with(AS_ROOT) {
        hint_of_others("--output DIR")
    } else {
        "name another directory with `--output DIR`".to_owned()
    };
    let text = format!("write {what} in `{}`: {why}", dir.display());
    failure(exit, text, Some(&hint))
}

/// A directory that was made; gone again when dropped, where no file came to lie in it.
pub(super) struct Made(Option<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(dir) = &self.0 {
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// Whether the files can go where they shall, found out before anything is measured. Makes the directory.
pub(super) fn check(dir: &Path, of_others: bool) -> anyhow::Result<Made> {
    let made = if dir.exists() {
        Made(None)
    } else {
        make(dir, of_others).map_err(|why| refused(dir, "reports", &why, Exit::Usage))?
    };
    for (name, _) in FILES {
        Way::to(&dir.join(name), of_others, FORM)
            .and_then(|way| way.try_out())
            .map_err(|why| refused(dir, &format!("`{name}`"), &why, Exit::Usage))?;
    }
    Ok(made)
}

/// Makes the directory where the way to it is as safe as that to a file in it has to be.
fn make(dir: &Path, of_others: bool) -> Result<Made, String> {
    let said = |error: std::io::Error| error.to_string();
    let led = strangers::way_to_file(dir).map_err(said)?;
    match led.stranger.filter(|_| !of_others) {
        None => {
            std::fs::create_dir(&led.path).map_err(said)?;
            Ok(Made(Some(led.path)))
        }
        Some(stranger) => Err(format!("{AS_ROOT}{stranger}")),
    }
}

/// Writes the files.
pub(super) fn write(
    dir: &Path,
    report: &Report<'_>,
    (run, of_others): (&str, bool),
) -> anyhow::Result<()> {
    if report.executions.is_empty() {
        let dir = dir.display();
        output::say(&format!(
            "nothing was measured: the files in `{dir}` stay as they are"
        ));
        return Ok(());
    }
    for (name, make) in FILES {
        let way = Way::to(&dir.join(name), of_others, FORM);
        way.and_then(|way| way.take(&make(report))).map_err(|why| {
            let text = format!("write `{name}` in `{}`: {why}", dir.display());
            let hint =
                format!("the run is kept: `kurabe vdbench --show {run} -o DIR` writes them again");
            failure(Exit::Incomplete, text, Some(&hint))
        })?;
    }
    Ok(())
}
