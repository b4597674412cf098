//! Runs that a format cannot show, and why: what a program prints needs the figures of that program.

use model::record::Run;

pub(super) fn no_unixbench(run: &Run) -> Option<[&'static str; 2]> {
    let has = !dialects::unixbench::indexes(run).is_empty();
    lacks(run, has, NO_UNIXBENCH)
}

pub(super) fn no_yabs(run: &Run) -> Option<[&'static str; 2]> {
    lacks(run, dialects::yabs::has_report(run), NO_YABS)
}

pub(super) fn no_bonnie(run: &Run) -> Option<[&'static str; 2]> {
    lacks(run, dialects::bonnie::has_lines(run), NO_BONNIE)
}

pub(super) fn no_dbench(run: &Run) -> Option<[&'static str; 2]> {
    lacks(run, dialects::dbench::has_report(run), NO_DBENCH)
}

const NO_UNIXBENCH: [&str; 2] = [
    "it has none of UnixBench's tests",
    "`kurabe run unixbench` has them all; `--format text` shows any run",
];

const NO_YABS: [&str; 2] = [
    "it has none of YABS' runs of fio",
    "`kurabe run familiar` has them; `--format text` shows any run",
];

const NO_BONNIE: [&str; 2] = [
    "it has none of bonnie++'s phases",
    "`kurabe run bonnie` has them; `--format text` shows any run",
];

const NO_DBENCH: [&str; 2] = [
    "it has none of dbench's load",
    "`kurabe run dbench` has it; `--format text` shows any run",
];

/// Why a run cannot be shown as a program would: it is not ours, or `has` nothing of that.
fn lacks(run: &Run, has: bool, why: [&'static str; 2]) -> Option<[&'static str; 2]> {
    imported(run).or_else(|| (!has).then_some(why))
}

pub(super) fn imported(run: &Run) -> Option<[&'static str; 2]> {
    run.meta.origin.is_some().then_some([
        "it was imported, and kurabe measured none of it",
        "`--format text` shows its figures and what follows from them",
    ])
}
