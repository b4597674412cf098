//! Our tests of file systems beside bonnie++, dbench, sysbench and fio, in one control group of 1 GiB of memory.
//!
//! Both sides of a pair write to the same file system with the same bytes, flags and fsyncs, one after the other, in
//! an order that changes from pair to pair; each begins with files that it makes itself, and the disk is synced before.
//! What makes many files gets a new file system for each side: ext4 does not use the inodes of files that were deleted
//! in the last minutes again, and making files among them takes up to forty times the CPU time.
//! A disk is busy with what was written for a second or two: fileio, which begins with 2 GiB of that, is done three
//! times on the same files, and each side's median counts.
//! Of each figure there are two lines: its rate, and the work that a second of CPU time does, user and system of the
//! program as it counts it itself. bonnie++ prints whole percent, so the clock of its process counts ([`bonnie`]);
//! dbench prints none: what its processes used counts, over its operations and a fifth more for its warm-up.

use super::bonnie;
use super::checks::{Must, Reported};
use super::originals::{self, cpu_seconds, sysbench_figure};
use super::{Measured, Page, Wanted, median_of};
use crate::asked;
use crate::truth::disk::Disk;
use crate::truth::throttle::{mount_of, remove};
use anyhow::{Context, ensure};
use clap::Parser;
use model::num::approx;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::tree::Tree;
use xtask::process::{command, output, target_dir};

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "files";

/// Memory of the control group: the promise is made for it.
const MEMORY: u64 = 1 << 30;

/// The file of bonnie++: twice the memory.
const FILE_MIB: u64 = 2 * (MEMORY >> 20);

/// Its small files, in units of 1024: so many that each phase takes it half a second.
const FILES: u64 = 64;

/// Seeks, so many that they take bonnie++ longer than the half second below which it tells nothing.
const SEEKS: u64 = 64 << 10;

/// A new file system has room for twice bonnie++'s file in half of it, and for all files.
const DISK_MIB: u64 = 5 * FILE_MIB;
const INODES: u64 = 256 << 10;

/// How often fileio is done on the same files.
const FILEIO_TIMES: usize = 3;

/// The load file that comes with dbench.
const LOAD_FILE: &str = "/usr/share/dbench/client.txt";

/// Measure our file tests beside bonnie++, dbench, sysbench and fio
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab crosscheck files", no_binary_name = true)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// The file system to work in [default: that of the target directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let wanted = options.wanted;
    let loads = Load::all().into_iter();
    let loads: Vec<Load> = loads.filter(|load| wanted.has(&load.name())).collect();
    ensure!(
        !loads.is_empty(),
        "no load is called so\nhint: there are `{}`",
        Load::all().map(Load::name).join("`, `")
    );
    let below = options.dir.unwrap_or_else(|| target_dir(root));
    let memory = Memory::new(MEMORY)?;
    let bench = Bench {
        binary: asked::binary(root, wanted.binary.as_deref())?,
        dir: std::path::absolute(below)
            .context("find the directory")?
            .join("crosscheck-files"),
        memory: &memory,
    };
    let _ = fs::remove_dir_all(&bench.dir);
    fs::create_dir_all(&bench.dir).with_context(|| format!("create `{}`", bench.dir.display()))?;
    let mut page = Page::default();
    let version = output(command(&bench.dir, &bench.binary).arg("--version"))?;
    page.say(&format!(
        "{}; {} pairs, in turn first and second, in a control group of {} MiB",
        version.trim(),
        wanted.pairs,
        MEMORY >> 20
    ));
    page.heads();
    for load in loads {
        match bench.measure(load, wanted.pairs) {
            Ok(measured) => {
                for (line, measured) in &measured {
                    page.add(&line.name, line.must, measured);
                }
                page.ran(&load.name(), &measured[0].1);
            }
            Err(error) => page.skipped(&load.name(), &error),
        }
        // Hours are not lost with the last of them.
        if let Some(out) = &wanted.out {
            page.write(&root.join(out))?;
        }
    }
    say!("{}", page.commands());
    fs::remove_dir_all(&bench.dir).with_context(|| format!("remove `{}`", bench.dir.display()))
}

/// A control group with a limit of memory, removed when it goes out of scope.
struct Memory(PathBuf);

impl Memory {
    fn new(bytes: u64) -> anyhow::Result<Self> {
        let mounts = Tree::real()
            .read("/proc/self/mountinfo")
            .context("read the mounts")?;
        let above = mount_of(&mounts, "cgroup", Some("memory"));
        let above = above.context("no control groups of version 1 limit memory here")?;
        let group = Self(above.join(format!("kurabe-lab-{}", std::process::id())));
        fs::create_dir(&group.0).with_context(|| {
            format!(
                "create the control group `{}`\nhint: it takes root",
                group.0.display()
            )
        })?;
        let limit = group.0.join("memory.limit_in_bytes");
        fs::write(&limit, bytes.to_string())
            .with_context(|| format!("write {bytes} to `{}`", limit.display()))?;
        Ok(group)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.0) {
            say!("warning: {error:#}");
        }
    }
}

/// What both sides do.
#[derive(Clone, Copy, Debug)]
enum Load {
    Bonnie,
    /// Its seeks alone, with so many of them that it tells how fast they were.
    Seeks,
    /// With so many clients.
    Dbench(u32),
    /// sysbench's fileio in this mode.
    Fileio(&'static str),
    /// An engine of fio that works on names.
    Names(&'static str),
}

/// A figure of a load.
#[derive(Clone, Debug)]
struct Line {
    name: String,
    must: Must,
}

/// The phases of bonnie++ that are compared: what they are called here, and the metric with its unit. It does not tell
/// how fast it stats where that takes less than half a second (fio's `filestat` does). Seeks are a load of their own:
/// bonnie++ counts removing its file as seeking, which a library in front of it ([`bonnie::keep`]) does not let it do.
const PHASES: [(&str, &str, &str); 7] = [
    ("block write", "fs.bonnie@1:block_write", "bytes_per_s"),
    ("rewrite", "fs.bonnie@1:rewrite", "bytes_per_s"),
    ("block read", "fs.bonnie@1:block_read", "bytes_per_s"),
    (
        "create, in order",
        "fs.bonnie-files@1:create_seq",
        "ops_per_s",
    ),
    (
        "delete, in order",
        "fs.bonnie-files@1:delete_seq",
        "ops_per_s",
    ),
    (
        "create, at random",
        "fs.bonnie-files@1:create_random",
        "ops_per_s",
    ),
    (
        "delete, at random",
        "fs.bonnie-files@1:delete_random",
        "ops_per_s",
    ),
];

impl Load {
    fn all() -> [Self; 12] {
        let [creates, stats, deletes] = ["filecreate", "filestat", "filedelete"].map(Self::Names);
        let [seqrd, rndrd, rndwr, rndrw] = ["seqrd", "rndrd", "rndwr", "rndrw"].map(Self::Fileio);
        let [one, four, many] = [1, 4, 16].map(Self::Dbench);
        [
            Self::Bonnie,
            Self::Seeks,
            one,
            four,
            many,
            seqrd,
            rndrd,
            rndwr,
            rndrw,
            creates,
            stats,
            deletes,
        ]
    }

    fn name(self) -> String {
        match self {
            Self::Bonnie => "bonnie++".to_owned(),
            Self::Seeks => "bonnie++ seeks, its file kept".to_owned(),
            Self::Dbench(clients) => format!("dbench, {clients} clients"),
            Self::Fileio(mode) => format!("sysbench fileio {mode}"),
            Self::Names(engine) => format!("fio {engine}"),
        }
    }

    /// Rates and work per CPU second, in turn: at most 1.02 times their CPU time for the same work. Of seeks the rate
    /// alone: bonnie++ does them in processes of their own, and tells whole percent.
    fn lines(self) -> Vec<Line> {
        let both = |name: &str, must: Must| {
            let name = format!("{}{name}", self.name());
            let cpu = Line {
                name: format!("{name}, per CPU second"),
                must: Must::AtLeast(0.98),
            };
            [Line { name, must }, cpu]
        };
        match self {
            Self::Bonnie => PHASES
                .iter()
                .flat_map(|(phase, ..)| both(&format!(" {phase}"), Must::Within(0.10)))
                .collect(),
            Self::Seeks => both("", Must::Within(0.10)).into_iter().take(1).collect(),
            Self::Dbench(_) => both("", Must::Within(0.10)).into(),
            Self::Fileio(_) => both("", Must::Within(0.05)).into(),
            Self::Names(_) => both("", Must::AtLeast(0.98)).into(),
        }
    }
}

/// Where it is done.
struct Bench<'a> {
    binary: PathBuf,
    dir: PathBuf,
    memory: &'a Memory,
}

/// What one side does of a load: its figures.
type Side<'a> = fn(&Bench<'a>, Load, &mut Vec<String>) -> anyhow::Result<Vec<f64>>;

impl<'a> Bench<'a> {
    /// All figures of a load, each with its pairs.
    fn measure(&self, load: Load, pairs: u32) -> anyhow::Result<Vec<(Line, Measured)>> {
        let mut both: Vec<(Line, Measured)> = load
            .lines()
            .into_iter()
            .map(|line| (line, Measured::default()))
            .collect();
        let mut commands = [Vec::new(), Vec::new()];
        for pair in 0..pairs {
            let [own, other] = &mut commands;
            let (ours, theirs) = if pair % 2 == 0 {
                let ours = self.side(Self::ours, load, own)?;
                (ours, self.side(Self::theirs, load, other)?)
            } else {
                let theirs = self.side(Self::theirs, load, other)?;
                (self.side(Self::ours, load, own)?, theirs)
            };
            ensure!(
                ours.len() == both.len() && theirs.len() == both.len(),
                "{} figures of ours and {} of theirs where {} are compared",
                ours.len(),
                theirs.len(),
                both.len()
            );
            for ((_, measured), values) in both.iter_mut().zip(ours.into_iter().zip(theirs)) {
                measured.pairs.push(values);
            }
        }
        let [ours, theirs] = commands;
        for (_, measured) in &mut both {
            measured.version = self.version(load);
            (measured.ours, measured.theirs) = (ours.clone(), theirs.clone());
        }
        Ok(both)
    }

    /// One side, on a new file system where it makes many files.
    fn side(
        &self,
        side: Side<'a>,
        load: Load,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<Vec<f64>> {
        if matches!(load, Load::Fileio(_)) {
            return side(self, load, commands);
        }
        let disk = Disk::at(&self.dir.join("disk"), DISK_MIB, INODES)?;
        let there = Self {
            binary: self.binary.clone(),
            dir: disk.dir.clone(),
            memory: self.memory,
        };
        side(&there, load, commands)
    }

    fn version(&self, load: Load) -> String {
        let (program, package) = match load {
            Load::Bonnie | Load::Seeks => ("bonnie++", "bonnie++"),
            Load::Dbench(_) => ("dbench", "dbench"),
            Load::Fileio(_) => ("sysbench", "sysbench"),
            Load::Names(_) => ("fio", "fio"),
        };
        originals::version(&self.dir, program, package)
    }

    /// Runs this in the control group, after a sync; what it printed.
    fn said(&self, line: &str, commands: &mut Vec<String>) -> anyhow::Result<String> {
        output(&mut self.confined(line, commands))
    }

    /// What does that.
    fn confined(&self, line: &str, commands: &mut Vec<String>) -> Command {
        if !commands.iter().any(|kept| kept == line) {
            commands.push(line.to_owned());
        }
        let enter = self.memory.0.join("cgroup.procs");
        let line = format!("sync && echo $$ > '{}' && {line}", enter.display());
        let mut shell = command(&self.dir, "bash");
        shell.args(["-c", &line]);
        shell
    }

    /// A run of ours, as a document.
    fn run(&self, what: &str, passes: usize, commands: &mut Vec<String>) -> anyhow::Result<Value> {
        let binary = self.binary.display();
        let line = format!(
            "'{binary}' run {what} --passes {passes} --json --quiet --dir . --store ours.db"
        );
        let text = self.said(&line, commands)?;
        self.forget("ours.db");
        serde_json::from_str(&text).context("read our own document")
    }

    /// Stores are made anew each time.
    fn forget(&self, store: &str) {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(self.dir.join(format!("{store}{end}")));
        }
    }

    fn ours(&self, load: Load, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        match load {
            Load::Bonnie => {
                let what = format!(
                    "fs.bonnie fs.bonnie-files --set fs.bonnie.size={FILE_MIB}M --set fs.bonnie-files.files={FILES}"
                );
                phases(&self.run(&what, 1, commands)?)
            }
            Load::Seeks => {
                let what = format!(
                    "fs.bonnie --set fs.bonnie.size={FILE_MIB}M --set fs.bonnie.seeks={SEEKS} \
                     --set fs.bonnie.char_size=1M"
                );
                let document = self.run(&what, 1, commands)?;
                Ok(vec![median_of(
                    &document,
                    "fs.bonnie@1:random_seek_ops_per_s",
                )?])
            }
            Load::Dbench(clients) => {
                let what = format!(
                    "fs.dbench --loadfile {LOAD_FILE} --copies {clients} --set fs.dbench.time=10s"
                );
                let document = self.run(&what, 1, commands)?;
                let of = |name: &str| median_of(&document, &format!("fs.dbench@{clients}:{name}"));
                Ok(vec![of("bytes_per_s")?, 1e9 / of("cpu_ns_per_op")?])
            }
            Load::Fileio(mode) => {
                let what = format!("fs.fileio-{mode} --copies 1 --set 'fs.fileio-*.time=5s'");
                let document = self.run(&what, FILEIO_TIMES, commands)?;
                let of = |name: &str| median_of(&document, &format!("fs.fileio-{mode}@1:{name}"));
                Ok(vec![of("ops_per_s")?, of("ops_per_cpu_s")?])
            }
            Load::Names(engine) => {
                let line = format!("'{}' fio", self.binary.display());
                self.fio(&format!("{line} --store ours.db"), engine, commands)
            }
        }
    }

    fn theirs(&self, load: Load, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        match load {
            Load::Bonnie => {
                let memory = MEMORY >> 20;
                let line =
                    format!("exec bonnie++ -d . -s {FILE_MIB} -r {memory} -n {FILES} -u root -m x");
                let (text, cpu) = bonnie::run(&mut self.confined(&line, commands))?;
                fs::write(self.dir.join("theirs.txt"), text).context("keep what bonnie++ said")?;
                let store = ["--store", "theirs.db"];
                let ours = || command(&self.dir, &self.binary);
                output(ours().args(["import", "theirs.txt"]).args(store))?;
                let text = output(ours().args(["show", "latest", "--json"]).args(store))?;
                self.forget("theirs.db");
                let document = serde_json::from_str(&text).context("read the imported document")?;
                let mut figures = phases(&document)?;
                let per_cpu = figures.iter_mut().skip(1).step_by(2);
                for ((figure, cpu), place) in per_cpu.zip(cpu).zip(0..) {
                    *figure = bonnie_work(place) / cpu;
                }
                Ok(figures)
            }
            Load::Seeks => {
                let library = bonnie::keep(&self.dir)?;
                let memory = MEMORY >> 20;
                let line = format!(
                    "LD_PRELOAD={library} bonnie++ -d . -s {FILE_MIB}:8k:{SEEKS} -r {memory} -n 0 -f -u root -m x"
                );
                Ok(vec![bonnie::seeks(&self.said(&line, commands)?)?])
            }
            Load::Dbench(clients) => {
                let line = format!("dbench -c {LOAD_FILE} -D . -t 10 {clients} && times");
                let text = self.said(&line, commands)?;
                let (rate, ops) = dbench_figures(&text)?;
                Ok(vec![rate, ops / cpu_seconds(&text)?])
            }
            Load::Fileio(mode) => {
                let line = "sysbench fileio --file-total-size=2G";
                self.said(&format!("{line} prepare"), commands)?;
                let line = format!("{line} --file-test-mode={mode}");
                let line = format!("{line} --time=5 run && times");
                let mut texts = Vec::new();
                for _ in 0..FILEIO_TIMES {
                    texts.push(self.said(&line, commands)?);
                }
                self.said("rm test_file.*", &mut Vec::new())?;
                let of = |figure| -> anyhow::Result<f64> {
                    let all = texts.iter().map(|text| sysbench_figure(text, figure));
                    let all = all.collect::<anyhow::Result<Vec<_>>>()?;
                    stats::quantile::median(&all).context("it was not run")
                };
                Ok(vec![
                    of(Reported::EventsOverTime(1.0))?,
                    of(Reported::EventsOverCpuTime(1.0))?,
                ])
            }
            Load::Names(engine) => self.fio("fio", engine, commands),
        }
    }

    /// Ours or theirs, with the same jobs on files of one directory. Several with few files each: what fio spends on
    /// choosing one grows with the square of their number.
    fn fio(
        &self,
        program: &str,
        engine: &str,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<Vec<f64>> {
        // The others need files that are there, and lay them out.
        let makes = if engine == "filecreate" {
            " --create_on_open=1 --fallocate=none"
        } else {
            ""
        };
        let line = format!(
            "rm -rf names && mkdir names && {program} --name=names --directory=names --ioengine={engine} --nrfiles=4000 \
             --filesize=4k --openfiles=1 --numjobs=8 --group_reporting --output-format=json{makes}"
        );
        let text = self.said(&line, commands)?;
        self.forget("ours.db");
        let document: Value = serde_json::from_str(&text).context("read fio's document")?;
        let job = &document["jobs"][0];
        let number = |value: &Value| value.as_f64().unwrap_or(0.0);
        let of = |name: &str| -> f64 {
            let kinds = ["read", "write", "trim"].map(|kind| number(&job[kind][name]));
            kinds.iter().sum()
        };
        let seconds = number(&job["job_runtime"]) / 1e3;
        let cpu = seconds * (number(&job["usr_cpu"]) + number(&job["sys_cpu"])) / 100.0;
        ensure!(cpu > 0.0, "the job used no CPU time");
        Ok(vec![of("iops"), of("total_ios") / cpu])
    }
}

/// What bonnie++ does in the phase at this place: bytes of its file, or files.
fn bonnie_work(place: usize) -> f64 {
    let (_, _, unit) = PHASES[place];
    approx(match unit {
        "bytes_per_s" => FILE_MIB << 20,
        _ => FILES << 10,
    })
}

/// Rates and work per CPU second of bonnie++'s phases.
fn phases(document: &Value) -> anyhow::Result<Vec<f64>> {
    let mut figures = Vec::new();
    for (_, phase, unit) in PHASES {
        let rate = median_of(document, &format!("{phase}_{unit}"))?;
        let share = median_of(document, &format!("{phase}_cpu_share"))?;
        figures.extend([rate, rate / share]);
    }
    Ok(figures)
}

/// What dbench reached in bytes per second, and how many operations it did: those of its table, and a fifth more in its
/// warm-up.
fn dbench_figures(text: &str) -> anyhow::Result<(f64, f64)> {
    let rate = text
        .lines()
        .find_map(|line| line.strip_prefix("Throughput "));
    let rate = rate.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    let table = text
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("Operation"));
    let counts = table
        .skip(2)
        .map_while(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    let ops: f64 = counts.sum();
    ensure!(ops > 0.0, "dbench has no table of operations");
    Ok((1e6 * rate.context("dbench tells no throughput")?, 1.2 * ops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_and_operations_of_dbench_are_read() {
        let text = "   1     10    1.00 MB/sec  execute   1 sec  latency 1.000 ms\n\n \
                    Operation      Count    AvgLat    MaxLat\n ----------------------------------------\n \
                    NTCreateX       3000     0.025     8.100\n Close           2000     0.002     0.400\n\n\
                    Throughput 12.5 MB/sec  1 clients  1 procs  max_latency=8.101 ms\n";
        let (rate, ops) = dbench_figures(text).unwrap();
        assert!((rate - 12.5e6).abs() < 1.0 && (ops - 6000.0).abs() < 1e-9);
        assert!(dbench_figures("Throughput 12.5 MB/sec").is_err());
        assert!(dbench_figures("").is_err());
    }

    #[test]
    fn every_load_has_a_name_of_its_own_and_two_lines_for_each_figure() {
        let names: std::collections::BTreeSet<String> =
            Load::all().map(Load::name).into_iter().collect();
        assert_eq!(names.len(), Load::all().len());
        for load in Load::all() {
            let lines = load.lines();
            if matches!(load, Load::Seeks) {
                assert_eq!(lines.len(), 1);
                continue;
            }
            assert!(
                lines
                    .chunks(2)
                    .all(|both| both[1].name.ends_with("per CPU second"))
            );
        }
    }
}
