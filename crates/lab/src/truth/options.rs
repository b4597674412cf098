//! What may follow `cargo lab truth`, and the size that it gives each experiment.

use clap::Parser;
use std::path::PathBuf;

/// Ground-truth experiments on the real machine, judged from outside by what the program prints.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab truth", no_binary_name = true)]
pub(crate) struct Options {
    /// Experiments, such as E1 E3 [default: all]
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) names: Vec<String>,
    /// Pairs of runs of the same thing (E1)
    #[arg(long, default_value_t = 20)]
    pub(crate) pairs: usize,
    /// Sessions at each level (E2, E4, E5, E6, E10, net)
    #[arg(long, default_value_t = 20)]
    pub(crate) sessions: usize,
    /// Passes of the one long session (E1)
    #[arg(long, default_value_t = 48)]
    pub(crate) passes: usize,
    /// Permutations of its labels (E1)
    #[arg(long, default_value_t = 10_000)]
    pub(crate) shuffles: usize,
    /// Pairs of rounds of a measurement of accuracy (E3), rounds of each case (net)
    #[arg(long, default_value_t = 13)]
    pub(crate) rounds: usize,
    /// Seconds of the noise log (E0)
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) noise: u64,
    /// Seconds of a session with a slow co-runner (E5)
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    pub(crate) slow_seconds: u64,
    /// Seconds of a session with a periodic throttle, and of its quiet twin (E6)
    #[arg(long, value_name = "SECONDS", default_value_t = 150)]
    pub(crate) period_seconds: u64,
    /// Sessions on disks of their own at the same time
    #[arg(long, default_value_t = 4)]
    pub(crate) parallel: usize,
    /// Leave the experiments that need a disk out of E2, E3, E4 and E6, or do nothing but them
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) on: Part,
    /// The CPU-bound test
    #[arg(long, default_value = "cpu.dhrystone")]
    pub(crate) cpu_test: String,
    /// The test that reads blocks of 4 KiB
    #[arg(long, default_value = "storage.randread-4k-qd32")]
    pub(crate) disk_test: String,
    /// The most reads a second that a bucket lends (E4); all disks at the same time must serve them with ease
    #[arg(long, value_name = "IOPS", default_value_t = 2_000)]
    pub(crate) bucket_iops: u32,
    /// Windows of a soak of a disk with a bucket of credit (E4)
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    pub(crate) disk_window: String,
    /// The same on a CPU, whose quota is enforced by the ticks of the kernel's clock and not sooner
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    pub(crate) cpu_window: String,
    /// Seed of everything that is drawn
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The smallest size at which every experiment still runs; its figures prove nothing
    #[arg(long)]
    pub(crate) quick: bool,
    /// Judge this binary [default: build the one that is shipped]
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
    /// Write raw outputs into this directory [default: results/DATE-truth-CLASS]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Disks and stores go into a directory of this one, on a file system with room for them [default: target/truth]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
}

/// What is throttled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// CPU and disk
    Both,
    /// The CPU
    Cpu,
    /// The disk
    Disk,
}

impl Options {
    /// The sizes that count: those asked for, or with `--quick` the smallest.
    pub(crate) fn sized(mut self) -> Self {
        if self.quick {
            self.pairs = self.pairs.min(2);
            self.sessions = self.sessions.min(1);
            self.passes = self.passes.min(12);
            self.shuffles = self.shuffles.min(200);
            self.rounds = self.rounds.min(6);
            self.noise = self.noise.min(2);
            self.slow_seconds = self.slow_seconds.min(120);
            self.period_seconds = self.period_seconds.min(150);
        }
        self
    }

    /// Whether the CPU is throttled.
    pub(crate) fn cpu(&self) -> bool {
        self.on != Part::Disk
    }

    /// Whether disks are throttled.
    pub(crate) fn disk(&self) -> bool {
        self.on != Part::Cpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_is_small_and_never_larger_than_what_was_asked_for() {
        let parse = |args: &[&str]| Options::try_parse_from(args).unwrap().sized();
        let quick = parse(&["E1", "--quick", "--pairs", "1"]);
        assert_eq!((quick.pairs, quick.sessions, quick.rounds), (1, 1, 6));
        assert_eq!(parse(&["E1"]).sessions, 20);
        assert!(Options::try_parse_from(["--pears", "3"]).is_err());
        assert!(!parse(&["--on", "disk"]).cpu());
    }
}
