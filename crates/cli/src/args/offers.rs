//! Options of commands about what can be rented.

use super::{FormatArg, formats};
use crate::complete;
use clap::{Args as ClapArgs, ValueEnum};
use model::figure::Requirement;
use report::formats::Kind;
use std::path::{Path, PathBuf};

/// Where the catalogue is.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct CatalogueArg {
    /// The catalogue of offers [default: `$XDG_CONFIG_HOME/kurabe/offers.toml`]
    #[arg(long, value_name = "FILE")]
    offers: Option<PathBuf>,
}

impl CatalogueArg {
    /// The file that was named.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.offers.as_deref()
    }
}

/// Options of `offers`.
#[derive(Debug, ClapArgs)]
#[command(mut_args(|arg| formats::of(arg, Kind::Offers)))]
pub(crate) struct OffersArgs {
    /// What is asked of them
    #[arg(default_value = "list")]
    pub(crate) what: OffersWhat,
    /// The figure for `value`, such as `storage.randread-4k:iops` or `unixbench@1`
    #[arg(value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// What `recommend` is to look for, such as 'unixbench@1 >= 1500'; may be given several times
    #[arg(long, value_name = "NEED")]
    pub(crate) need: Vec<Requirement>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArg,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) format: FormatArg,
}

/// What may be asked of offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OffersWhat {
    /// What there is, and what a month of it costs with tax
    List,
    /// What providers claim against what was measured
    Claims,
    /// A figure against the price: what a month buys, and what is dominated
    Value,
    /// The cheapest offer that meets every need
    Recommend,
}

/// Options of `rank`.
#[derive(Debug, ClapArgs)]
#[command(mut_args(|arg| formats::of(arg, Kind::Ranking)))]
pub(crate) struct RankArgs {
    /// Figures to rank by, such as `os.pipe@1:ops_per_s` or `unixbench@1` [default: the headlines of the first run],
    /// and the runs: ids or their beginnings, labels, `latest`, or exported files
    #[arg(required = true, value_name = "METRIC|RUN", add = complete::runs())]
    pub(crate) what: Vec<String>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArg,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) format: FormatArg,
}
