//! Options of `vdbench`.

use super::consent::{CONSENT, ConsentArgs};
use super::tag;
use crate::complete;
use clap::{Args as ClapArgs, ValueEnum};
use engine::profile::PASSES_MAX;
use model::bounds;
use std::path::PathBuf;

/// Options of `vdbench`.
#[derive(Debug, ClapArgs)]
pub(crate) struct VdbenchArgs {
    /// What `$WORD` stands for in the files, a word of all runs such as `threads=16`, or a line of parameters
    #[arg(value_name = "WORD=VALUE")]
    pub(crate) words: Vec<String>,
    /// Read this parameter file; `-` is standard input
    #[arg(help_heading = "What", short = 'f', long = "file", value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Say what the runs would be, and measure nothing
    #[arg(help_heading = "What", short = 's', long)]
    pub(crate) simulate: bool,
    /// Report a kept run again; nothing is measured
    #[arg(help_heading = "What", long, value_name = "RUN", add = complete::runs())]
    #[arg(conflicts_with_all = ["words", "files", "simulate", "passes", "label", "tag"])]
    pub(crate) show: Option<String>,
    /// `elapsed` of all runs
    #[arg(help_heading = "How much", short = 'e', long, value_name = "TIME")]
    pub(crate) elapsed: Option<String>,
    /// `interval` of all runs
    #[arg(help_heading = "How much", short = 'i', long, value_name = "TIME")]
    pub(crate) interval: Option<String>,
    /// `warmup` of all runs
    #[arg(help_heading = "How much", short = 'w', long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Do everything N times, for intervals [default: 1]
    #[arg(help_heading = "How much", long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(PASSES_MAX)))]
    pub(crate) passes: Option<u32>,
    /// A name for the run
    #[arg(help_heading = "Output", long, value_name = "NAME", value_parser = bounds::run_label)]
    pub(crate) label: Option<String>,
    /// A tag for the run, such as disk=nvme
    #[arg(help_heading = "Output", long, value_name = "KEY=VALUE", value_parser = tag)]
    pub(crate) tag: Vec<(String, String)>,
    /// Write `summary.html`, `totals.html` and `flatfile.html` as vdbench has them into this directory
    #[arg(help_heading = "Output", short = 'o', long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// What standard output gets: lines while it runs and totals, or one document at the end
    #[arg(
        help_heading = "Output",
        long,
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub(crate) output_format: OutputFormat,
    /// No words but errors and warnings
    #[arg(help_heading = "Output", long)]
    pub(crate) quiet: bool,
    #[command(flatten, next_help_heading = CONSENT)]
    pub(crate) consent: ConsentArgs,
}

/// What standard output gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Lines as vdbench prints them
    #[default]
    Text,
    /// A JSON document
    Json,
}
