//! The language as a whole: job files and command lines against what fio 3.33 made of the same texts.

mod corpus;
mod fuzz;
mod names;
mod options;
pub(super) mod printed;
mod structure;

use super::testkit::{file, files, line};
use super::*;

fn first(plan: &Plan) -> &Job {
    plan.jobs().next().unwrap()
}

fn warned(plan: &Plan, part: &str) -> bool {
    plan.warnings
        .iter()
        .any(|remark| remark.text.contains(part))
}
