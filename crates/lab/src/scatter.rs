//! What runs of one machine differ by, out of kept runs: the lines of `crates/stats/scatter.txt`.

use crate::asked;
use clap::Parser;
use model::record::Run;
use std::path::{Path, PathBuf};

/// A line is written of no fewer runs that count: of twenty that were measured, some were disturbed.
const RUNS_MIN: u32 = 15;

/// No line says less than this.
const DEVIATION_MIN: f64 = 1e-4;

/// Options of `cargo lab scatter`.
#[derive(Parser)]
#[command(
    name = "cargo lab scatter",
    no_binary_name = true,
    about = "What runs of one machine differ by, out of the runs of stores: the lines of `crates/stats/scatter.txt`"
)]
struct Options {
    /// Where the runs are kept
    #[arg(required = true, value_name = "STORE")]
    stores: Vec<PathBuf>,
    /// Day, version of the program and class of the machines, as the lines end
    #[arg(long, value_name = "TEXT")]
    origin: String,
    /// The fewest runs of which a line is printed
    #[arg(long, default_value_t = RUNS_MIN)]
    runs: u32,
}

/// Prints a line for each test and quantity.
pub(crate) fn run(_root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let runs = asked::runs(&options.stores)?;
    let mut machines: Vec<Vec<&Run>> = Vec::new();
    for run in &runs {
        let kin = |machine: &&mut Vec<&Run>| stats::scope::of_one_machine(&[machine[0], run]);
        match machines.iter_mut().find(kin) {
            Some(machine) => machine.push(run),
            None => machines.push(vec![run]),
        }
    }
    for (key, known) in stats::scatter::observed(&machines) {
        let (deviation, runs, visits) = (known.deviation, known.runs, known.visits);
        // What rounds hide is not known to be nothing: such a metric keeps the guess of its class.
        if runs >= options.runs && deviation >= DEVIATION_MIN {
            say!("{key} {deviation:.5} {runs} {visits} {}", options.origin);
        }
    }
    Ok(())
}
