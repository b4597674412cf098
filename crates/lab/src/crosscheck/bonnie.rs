//! What bonnie++ does not tell by itself: the CPU time of its phases to the nanosecond, and its seeks alone.
//!
//! bonnie++ prints whole percent of a CPU, which is little of a short phase. What it says while it works tells when a
//! phase begins and ends, and the clock of its process is read then.

use anyhow::{Context, ensure};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use sys::process::usage_of;
use xtask::process::{command, succeed};

/// A library that keeps large files from being removed.
const KEEP: &str = include_str!("keep.c");

/// What it calls the phases that are compared, in their order.
const PHASES: [&str; 7] = [
    "Writing intelligently...",
    "Rewriting...",
    "Reading intelligently...",
    "Create files in sequential order...",
    "Delete files in sequential order...",
    "Create files in random order...",
    "Delete files in random order...",
];

/// What it said up to a moment, and the CPU time of its process then, in nanoseconds.
type Moment = (usize, u64);

/// Makes the library in `dir`, under which bonnie++ leaves its file: its name there.
pub(super) fn keep(dir: &Path) -> anyhow::Result<&'static str> {
    let source = dir.join("keep.c");
    fs::write(&source, KEEP).with_context(|| format!("write `{}`", source.display()))?;
    succeed(command(dir, "cc").args(["-O2", "-shared", "-fPIC", "-o", "keep.so", "keep.c"]))?;
    Ok("./keep.so")
}

/// The seeks per second in the line of numbers that bonnie++ prints last.
pub(super) fn seeks(printed: &str) -> anyhow::Result<f64> {
    let line = printed.lines().find(|line| line.starts_with("1.98,"));
    let field = line.and_then(|line| line.split(',').nth(19));
    let rate = field.and_then(|field| field.parse().ok());
    rate.with_context(|| format!("bonnie++ tells no seeks: {printed}"))
}

/// Runs bonnie++, which this command becomes, to its end: what it printed, and the CPU time of each phase in seconds.
pub(super) fn run(command: &mut Command) -> anyhow::Result<(String, Vec<f64>)> {
    let started = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.context("start bonnie++")?;
    let mut said = child.stderr.take().context("its standard error")?;
    let mut text = Vec::new();
    let mut moments: Vec<Moment> = Vec::new();
    let mut piece = [0; 256];
    loop {
        let length = said.read(&mut piece).context("read what bonnie++ says")?;
        if length == 0 {
            break;
        }
        text.extend_from_slice(&piece[..length]);
        let used = usage_of(child.id()).context("read the CPU time of bonnie++")?;
        moments.push((text.len(), used.user + used.system));
    }
    let mut printed = String::new();
    let output = child.stdout.as_mut().context("its standard output")?;
    output
        .read_to_string(&mut printed)
        .context("read what bonnie++ printed")?;
    let status = child.wait().context("wait for bonnie++")?;
    let text = String::from_utf8_lossy(&text);
    ensure!(status.success(), "bonnie++ failed: {status}: {text}");
    Ok((printed, cpu_seconds(&text, &moments)?))
}

/// The CPU time between the beginning and the end of each phase.
fn cpu_seconds(text: &str, moments: &[Moment]) -> anyhow::Result<Vec<f64>> {
    let at = |end: usize| moments.iter().find(|(length, _)| *length >= end);
    let phases = PHASES.iter().map(|name| {
        let begin = text.find(name).map(|place| place + name.len());
        let end = begin.filter(|&begin| text[begin..].starts_with("done"));
        let [begin, end] = [begin, end.map(|end| end + "done".len())].map(|end| at(end?));
        let cpu = begin.zip(end).map(|((_, begin), (_, end))| end - begin);
        let cpu = cpu.filter(|&cpu| cpu > 0);
        let cpu = cpu.with_context(|| format!("bonnie++ did not say `{name}done`: {text}"))?;
        Ok(std::time::Duration::from_nanos(cpu).as_secs_f64())
    });
    phases.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeks_are_read_where_they_are_told() {
        let line = |seeks: &str| {
            format!("x\n1.98,2.00a,x,1,1795713276,64M,,65536,5,,,1,2,3,4,,,5,6,{seeks},8,,\n")
        };
        assert!((seeks(&line("81234.5")).unwrap() - 81234.5).abs() < 1e-9);
        assert!(seeks(&line("+++++")).is_err());
    }

    #[test]
    fn phases_are_found_in_what_bonnie_says() {
        let mut text = String::new();
        let mut moments = Vec::new();
        let mut say = |piece: &str, ms: u64| {
            text.push_str(piece);
            moments.push((text.len(), ms * 1_000_000));
        };
        for (phase, ms) in PHASES.iter().zip((100..).step_by(1000)) {
            say(phase, ms);
            say("done", ms + 250);
            say("\n", ms + 300);
        }
        assert_eq!(cpu_seconds(&text, &moments).unwrap(), [0.25; 7]);
        let why = cpu_seconds("Writing intelligently...", &moments);
        assert!(why.unwrap_err().to_string().contains("did not say"));
    }
}
