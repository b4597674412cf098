//! Another kernel: what this machine's own does not have, measured in an emulated machine.
//!
//! Control groups of version 2, md and the device mapper are not everywhere where this project is built. A kernel of
//! Debian's is booted by QEMU with nothing but busybox, the two programs and what they call in its memory, and one disk
//! on which results are left. The jobs are the project's own: the truth experiments as they are, devices that must
//! not be written to, and machines that are old, have two NUMA nodes or have less than one would think. Rates of an
//! emulated CPU mean nothing, and it loses time in gaps of its own; what the kernel's accounts say can be judged.

mod image;
mod memory;

use crate::asked;
use anyhow::{Context, bail, ensure};
use clap::{Parser, Subcommand};
use image::Image;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::dist::building;
use xtask::process::{command, host_target, output, shown, succeed, target_dir};

/// The package that names the newest kernel for virtual machines.
const KERNEL: &str = "linux-image-cloud-amd64";

/// Where the results of a job lie on its disk.
const RESULTS: &str = "/results";

/// The emulator.
const EMULATOR: &str = "qemu-system-x86_64";

/// What holds devices in a guest.
const DEVICES: &str = include_str!("devices.sh");

/// A job in a machine with a kernel of Debian's.
#[derive(Debug, Parser)]
#[command(name = "cargo lab guest", no_binary_name = true)]
struct Options {
    /// The kernel's package [default: the newest one of this system's archive, fetched once]
    #[arg(long, value_name = "FILE.deb")]
    kernel: Option<PathBuf>,
    /// Take this binary [default: build the one that is shipped]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Memory of the guest in MiB
    #[arg(long, value_name = "MIB", default_value_t = 3_072)]
    memory: u32,
    /// End the guest after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800)]
    seconds: u32,
    /// Copy what the job left into this directory, as `results` [default: guest/left below the build directory]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(subcommand)]
    job: Job,
}

/// What happens in the guest.
#[derive(Debug, Subcommand)]
enum Job {
    /// Ground-truth experiments, with the arguments of `cargo lab truth`
    Truth {
        /// Such as `E3 --rounds 6`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Devices in use are refused: halves of mirrors, what is mapped, mounted or swapped to
    Devices,
    /// Kernels and memory tests on a CPU without AVX, with two NUMA nodes, and with a CPU offline and no huge pages;
    /// into `--out` goes a page of what was found
    Memory,
    /// A shell script of your own; what it puts into /scratch/results is copied
    Shell {
        /// The script
        script: PathBuf,
    },
}

/// Runs what `arguments` ask for.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let here = target_dir(root).join("guest");
    fs::create_dir_all(&here).with_context(|| format!("create `{}`", here.display()))?;
    let out = match &options.out {
        Some(out) => {
            let there = root.join(out);
            fs::create_dir_all(&there).with_context(|| format!("create `{}`", there.display()))?;
            there
        }
        None => image::anew(&here.join("left"))?,
    };
    let binary = match &options.binary {
        Some(binary) => root.join(binary),
        None => build(root)?,
    };
    let package = match &options.kernel {
        Some(package) => root.join(package),
        None => fetch(&here)?,
    };
    let lab = Lab {
        here,
        binary,
        package,
        memory: options.memory,
        seconds: options.seconds,
    };
    match script(&options.job)? {
        Some(job) => lab.once(&Machine::USUAL, &job, &out).map(drop),
        None => memory::run(&lab, &out),
    }
}

/// A machine as the emulator makes it.
#[derive(Clone, Copy, Debug)]
struct Machine {
    /// The emulator's name of its two CPUs' kind.
    cpu: &'static str,
    /// NUMA nodes, one or two; of two, each has the CPU of its number and half of the memory.
    nodes: u32,
    /// More words for the kernel.
    kernel: &'static str,
}

impl Machine {
    /// Everything that the emulator can do.
    const USUAL: Self = Self {
        cpu: "max",
        nodes: 1,
        kernel: "",
    };

    /// What tells the emulator about the memory, `mib` of it.
    fn memory(self, mib: u32) -> Vec<String> {
        let mut words = vec!["-m".to_owned(), mib.to_string()];
        if self.nodes > 1 {
            for node in 0..self.nodes {
                let size = mib / self.nodes;
                words.extend([
                    "-object".to_owned(),
                    format!("memory-backend-ram,id=part{node},size={size}M"),
                    "-numa".to_owned(),
                    format!("node,nodeid={node},cpus={node},memdev=part{node}"),
                ]);
            }
        }
        words
    }
}

/// What every guest is made of.
#[derive(Debug)]
struct Lab {
    /// Where images are made.
    here: PathBuf,
    binary: PathBuf,
    package: PathBuf,
    /// In MiB.
    memory: u32,
    seconds: u32,
}

impl Lab {
    /// Runs `job` in a machine and copies what it left to `out`, as `results`. Returns the kernel's name.
    fn once(&self, machine: &Machine, job: &str, out: &Path) -> anyhow::Result<String> {
        let taken = out.join(RESULTS.trim_start_matches('/'));
        ensure!(
            !taken.exists(),
            "copy results to `{}`: it is there already\nhint: name another directory",
            taken.display()
        );
        let here = &self.here;
        let image = Image::make(here, &self.package, &self.binary, job)?;
        say!("==> kernel {}", image.kernel_name());
        self.boot(&image, machine)?;
        let log = read_back(here, "job.log")?;
        say!("{}", log.trim_end());
        // It makes a directory of the same name in the one that it is given.
        let copy = format!("rdump {RESULTS} {}", out.display());
        succeed(command(here, "debugfs").args(["-R", &copy, image::DISK]))?;
        say!("what it left is in `{}{RESULTS}`", out.display());
        let status = read_back(here, "job.status")?;
        match status.trim() {
            "0" => Ok(image.kernel_name()),
            "" => bail!(
                "the guest ended before its job did\nhint: `{}` is what it said",
                here.join(image::CONSOLE).display()
            ),
            other => bail!("the job ended with code {other}"),
        }
    }

    /// Boots the guest and waits for its end.
    fn boot(&self, image: &Image, machine: &Machine) -> anyhow::Result<()> {
        let disk = format!(
            "file={},if=virtio,format=raw,cache=none,aio=native",
            image::DISK
        );
        let words = format!("console=ttyS0 panic=1 quiet {}", machine.kernel);
        let mut qemu = command(&self.here, "timeout");
        qemu.arg(self.seconds.to_string())
            .arg(EMULATOR)
            .args(["-accel", "tcg,thread=multi"])
            .args(["-cpu", machine.cpu, "-smp", "2"])
            .args(machine.memory(self.memory))
            .args(["-nodefaults", "-no-reboot", "-nographic"])
            .arg("-kernel")
            .arg(&image.kernel)
            .args(["-initrd", image::MEMORY, "-append", words.trim_end()])
            .args(["-serial", &format!("file:{}", image::CONSOLE)])
            .args(["-drive", &disk])
            .stdin(std::process::Stdio::null());
        let shown = shown(&qemu);
        let status = qemu.status().with_context(|| {
            format!("start `{shown}`\nhint: `apt-get install qemu-system-x86` brings the emulator")
        })?;
        ensure!(
            status.success(),
            "`{shown}` ended with {status}: 124 is the time that `--seconds` gave it\n\
             hint: `{}` is what the guest said",
            self.here.join(image::CONSOLE).display()
        );
        Ok(())
    }
}

/// The script of a job; `None` for one that boots several machines.
fn script(job: &Job) -> anyhow::Result<Option<String>> {
    Ok(Some(match job {
        Job::Truth { arguments } => {
            let arguments: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
            format!(
                "mkdir -p /scratch/truth\n\
                 export CARGO_MANIFEST_DIR=/project/crates/lab\n\
                 exec lab truth --binary /bin/kurabe --scratch /scratch/truth --out /scratch{RESULTS} {}\n",
                arguments.join(" ")
            )
        }
        Job::Devices => DEVICES.to_owned(),
        Job::Memory => return Ok(None),
        Job::Shell { script } => {
            fs::read_to_string(script).with_context(|| format!("read `{}`", script.display()))?
        }
    }))
}

/// A word as a shell takes it as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The binary that is shipped.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let target = host_target(root)?;
    succeed(&mut building(root, "build", &target)?)?;
    Ok(target_dir(root).join(target).join("dist/kurabe"))
}

/// The package of the newest kernel, from the archive or as it was fetched before.
fn fetch(here: &Path) -> anyhow::Result<PathBuf> {
    let depends = output(command(here, "apt-cache").args(["depends", KERNEL]))?;
    let name = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .with_context(|| {
            format!("`{KERNEL}` names no kernel\nhint: `apt-get update`, or `--kernel FILE.deb`")
        })?;
    let there = || -> anyhow::Result<Option<PathBuf>> {
        let entries = fs::read_dir(here).with_context(|| format!("list `{}`", here.display()))?;
        let named = |path: &PathBuf| {
            let file = path.file_name().and_then(|file| file.to_str());
            file.is_some_and(|file| file.starts_with(&format!("{name}_")))
        };
        Ok(entries.flatten().map(|entry| entry.path()).find(named))
    };
    if let Some(package) = there()? {
        return Ok(package);
    }
    succeed(command(here, "apt-get").args(["download", "-q", name]))?;
    there()?.with_context(|| format!("`apt-get download {name}` left no package"))
}

/// A file of the guest's disk; empty where there is none.
fn read_back(here: &Path, name: &str) -> anyhow::Result<String> {
    let quiet = "debugfs -R \"cat /$1\" \"$2\" 2> /dev/null";
    output(command(here, "sh").args(["-c", quiet, "sh", name, image::DISK]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_reach_the_guest_as_they_are() {
        let parse = |words: &[&str]| Options::try_parse_from(words).unwrap();
        let options = parse(&["--memory", "2048", "truth", "E3", "--rounds", "6", "it's"]);
        assert_eq!(options.memory, 2048);
        let script = script(&options.job).unwrap().unwrap();
        assert!(
            script.ends_with("'E3' '--rounds' '6' 'it'\\''s'\n"),
            "{script}"
        );
        assert!(Options::try_parse_from(["devices", "more"]).is_err());
        assert!(Options::try_parse_from([] as [&str; 0]).is_err());
    }

    #[test]
    fn each_of_two_nodes_has_a_cpu_and_half_of_the_memory() {
        let words = |nodes| {
            let machine = Machine {
                nodes,
                ..Machine::USUAL
            };
            machine.memory(3072).join(" ")
        };
        assert_eq!(words(1), "-m 3072");
        assert_eq!(
            words(2),
            "-m 3072 -object memory-backend-ram,id=part0,size=1536M -numa node,nodeid=0,cpus=0,memdev=part0 \
             -object memory-backend-ram,id=part1,size=1536M -numa node,nodeid=1,cpus=1,memdev=part1"
        );
    }
}
