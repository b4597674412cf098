//! Which phases of an output are phases of our own tests.
//!
//! From version 1.96 on bytes are written one by one with write(2), 3 MiB of them, and a phase ends with the fsync that
//! ours has. The size of a block must be known: lines do not say it, tables do. Of random seeks only the longest is one
//! of ours: version 2.00 removes the file while they go on, and the last close, which frees all of it, is within their
//! time; and each of its threads takes the CPU time of the whole process for its own, five times over.

use super::write::{quantity_of, rate};
use super::{Moves, Report};
use crate::figures::{Figure, Ours};
use std::borrow::Cow;

/// Where random seeks stand among the phases.
const SEEKS: usize = 5;

/// How versions of these definitions begin, ours among them.
const VERSIONS: [&str; 5] = ["1.96", "1.97", "1.98", "2.", OWN];
const OWN: &str = "kurabe ";

/// The block of a default run.
const BLOCKS: [&str; 2] = ["8192", "8k"];

/// Our test of phases that move such things; `None` where the definition is another one, or is not known.
pub(super) fn of_phase(report: &Report, moves: Moves) -> Option<Ours> {
    let version = report.version.as_deref()?;
    let is_known = VERSIONS.iter().any(|start| version.starts_with(start));
    if !is_known || report.copies != Some(1) {
        return None;
    }
    if moves == Moves::Files {
        let of = |name: &str| report.of_files.get(name).map(String::as_str);
        let is_plain = ["max_size", "min_size", "directories"]
            .iter()
            .all(|name| matches!(of(name), None | Some("0")));
        let files = of("files").filter(|files| files.parse::<u32>().is_ok())?;
        return is_plain.then(|| ours("fs.bonnie-files", vec![("files", files.to_owned())]));
    }
    let block = report.of_file.get("chunk_size").map(String::as_str);
    let is_block = block.map_or(report.has_usual_block, |block| BLOCKS.contains(&block));
    let size = report.of_file.get("file_size").filter(|_| is_block)?;
    let mut set = vec![("size", size.clone())];
    for (theirs, name) in [("seeks", "seeks"), ("seek_processes", "seekers")] {
        if let Some(value) = report.of_seeks.get(theirs) {
            set.push((name, value.clone()));
        }
    }
    Some(ours("fs.bonnie", set))
}

fn ours(test: &'static str, set: Vec<(&'static str, String)>) -> Ours {
    let test = Cow::Borrowed(test);
    Ours {
        test,
        set,
        server: None,
    }
}

/// The figures of a phase under the names that our test has for them.
pub(super) fn named(report: &Report, at: usize, values: &mut [Figure]) {
    let version = report.version.as_deref();
    let is_own = version.is_some_and(|version| version.starts_with(OWN));
    for figure in values {
        let quantity = figure.quantity.as_str();
        let is_told = match quantity {
            "lat_ns_max" => true,
            _ if at == SEEKS && !is_own => false,
            _ => quantity == "cpu_share" || quantity == rate(at),
        };
        if is_told {
            figure.quantity = quantity_of(at, quantity);
        }
    }
}
