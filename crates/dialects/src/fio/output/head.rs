//! What fio's text says before the jobs begin: a line for each section, the version, and how many are started.

use super::scale::bytes;
use crate::fio::job::{Blocks, Job};
use crate::fio::plan::Plan;
use crate::printable::printable;
use model::job::{IoEngine, Mix};
use std::fmt::Write as _;

/// The lines before the jobs begin.
pub fn head(plan: &Plan, version: &str) -> String {
    let mut text = String::new();
    let (mut threads, mut processes) = (0, 0);
    for group in &plan.groups {
        for job in group.jobs.iter().filter(|job| job.clone == 0) {
            if job.does.engine != IoEngine::Exec {
                let _ = writeln!(text, "{}", section(job, group.id));
            }
            if job.clones > 1 {
                text.push_str("...\n");
            }
            let started = if job.is_thread {
                &mut threads
            } else {
                &mut processes
            };
            *started += job.clones;
        }
    }
    let counted = |n: u32, one: &str, several: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {several}")),
    };
    let started = [
        counted(threads, "thread", "threads"),
        counted(processes, "process", "processes"),
    ];
    let started: Vec<String> = started.into_iter().flatten().collect();
    let _ = writeln!(text, "{version}\nStarting {}", started.join(" and "));
    for job in plan.jobs().filter(|job| job.does.engine == IoEngine::Exec) {
        let _ = writeln!(
            text,
            "{} : program={}, arguments={}",
            printable(&job.name),
            printable(&job.exec.program),
            printable(job.written("arguments").unwrap_or("(null)"))
        );
    }
    text
}

fn section(job: &Job, group: u32) -> String {
    let does = &job.does;
    if does.engine == IoEngine::Cpu {
        let mode = if does.burn.sorts { "qsort" } else { "noop" };
        return format!(
            "{} ({mode}): ioengine=cpuio, cpuload={}, cpucycle={}",
            printable(&job.name),
            does.burn.percent,
            does.burn.chunk.0 / 1000
        );
    }
    let range = |blocks: Option<&Blocks>| {
        let ends = blocks.map_or((0, 0), |blocks| (blocks.min_bytes(), blocks.max_bytes()));
        format!("{}-{}", bytes(ends.0), bytes(ends.1))
    };
    format!(
        "{}: (g={group}): rw={}, bs=(R) {}, (W) {}, (T) {}, ioengine={}, iodepth={}",
        printable(&job.name),
        pattern(job),
        range(does.blocks.read.as_ref()),
        range(does.blocks.write.as_ref()),
        range(does.blocks.trim.as_ref()),
        job.engine_word(),
        does.depth
    )
}

/// fio's word for the pattern.
fn pattern(job: &Job) -> String {
    let kind = match job.does.pattern.mix {
        Mix::Read => "read",
        Mix::Write => "write",
        Mix::Trim => "trim",
        Mix::ReadWrite => "rw",
        Mix::TrimWrite => "trimwrite",
    };
    let random = if job.does.pattern.random { "rand" } else { "" };
    format!("{random}{kind}")
}
