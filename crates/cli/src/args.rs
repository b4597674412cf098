//! What the user may type. Workloads never appear here: their parameters come from their specs.

mod consent;
mod duel;
mod formats;
pub(crate) mod help;
mod measuring;
mod net;
mod offers;
mod server;
mod token;
mod vdbench;

pub(crate) use consent::{OthersArgs, TRUST};
pub(crate) use duel::{DuelArgs, Trait};
pub(crate) use formats::{Chosen, FormatArg, Showing};
pub(crate) use measuring::{Amount, LookArgs, NewRun, Session};
pub(crate) use net::{NetArgs, NetWhat, ServeArgs};
use offers::CatalogueArg;
pub(crate) use offers::{OffersArgs, OffersWhat, RankArgs};
pub(crate) use server::{AddressArgs, ServerArgs};
pub(crate) use token::TokenArgs;
pub(crate) use vdbench::{OutputFormat, VdbenchArgs};

use crate::complete;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use engine::profile::Copies;
use model::bounds;
use model::params::{parse_duration, parse_size};
use model::units::{Bytes, Nanos};
use report::formats::{Format, Kind};
use std::path::PathBuf;

/// Measures a server, and compares servers, honestly.
#[derive(Debug, Parser)]
#[command(name = "kurabe", version, max_term_width = 100)]
pub struct Args {
    #[command(flatten, next_help_heading = "Options of every command")]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct Global {
    /// Keep runs in this file, in a directory that exists [default: that of `KURABE_STORE`, or
    /// `$XDG_DATA_HOME/kurabe/kurabe.db`]
    // The variable is read in `context`: clap would show the option as required in every usage line while it is set.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) store: Option<PathBuf>,
    /// Show runs and comparisons in this language; help, plans, errors, and lists of tests, profiles, metrics and
    /// parameters are in English [default: from LANG]
    #[arg(long, global = true)]
    pub(crate) lang: Option<LangArg>,
    /// Add colour to words
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: ColorArg,
}

/// A language.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LangArg {
    /// English
    En,
    /// Japanese
    Ja,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    /// On a terminal, unless `NO_COLOR` is set or TERM is dumb
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure this machine and keep the run
    Run(RunArgs),
    /// List kept runs, or tests, profiles, metrics and parameters
    List(ListArgs),
    /// Show a kept run
    Show(ShowArgs),
    /// Compare kept runs: better, worse, same, or unclear
    Compare(CompareArgs),
    /// Put many runs in one order, each with the ranks that it may have
    Rank(RankArgs),
    /// List what can be rented, check claims, and tell what a price buys
    Offers(OffersArgs),
    /// Make one page of kept runs to publish: figures, charts, and a comparison of several
    Report(ReportArgs),
    /// Measure two set-ups of this machine in pairs of rounds and compare them
    Duel(DuelArgs),
    /// Measure one test for hours: bursts, steps, ramps, periods, and states that alternate
    Soak(SoakArgs),
    /// Run fio's job files and command lines, and keep the run
    #[command(disable_help_flag = true)]
    Fio(FioArgs),
    /// Run the parameter files of vdbench, and keep the run
    Vdbench(VdbenchArgs),
    /// Be a client of iperf3: its arguments, and its lines or its JSON
    #[command(disable_help_flag = true)]
    Iperf3(Iperf3Args),
    /// Be the other end of a measurement of the network
    Net(NetArgs),
    /// Call a kept run by a name, or by none, or say what was rented for it
    Label(LabelArgs),
    /// Remove kept runs for good
    Rm(RmArgs),
    /// Write a kept run, or every one, to files that `kurabe import` reads
    Export(ExportArgs),
    /// Keep runs that another kurabe exported
    Import(ImportArgs),
    /// Say what is known about this machine, and what is not
    Doctor(DoctorArgs),
    /// Remove what killed runs left behind
    ///
    /// Marked work directories, and the files `.kurabe-removed-...`; with `--db`, tables and keys that carry kurabe's
    /// mark on that server. Nothing else is touched.
    Clean(CleanArgs),
    /// Print the licences of this program and of everything that is linked into it
    Licences,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Options of `run`.
#[derive(Debug, ClapArgs)]
#[command(mut_arg("resume", |arg| arg.conflicts_with_all(["what", "target", "spread", "Amount"])))]
#[command(mut_args(|arg| formats::of(arg, Kind::Run)))]
pub(crate) struct RunArgs {
    /// Profiles, tests, families or globs such as 'os.*' [default: quick]
    #[arg(value_name = "WHAT", add = complete::to_measure())]
    pub(crate) what: Vec<String>,
    #[command(flatten, next_help_heading = "How much")]
    pub(crate) amount: Amount,
    /// Stop measuring a test when its interval is this narrow, such as 2% to each side
    #[arg(help_heading = "How much", long, value_name = "SHARE", value_parser = share)]
    pub(crate) target: Option<f64>,
    /// Spread the passes over this time, such as 2h, so that they see several hours of the machine and not one
    #[arg(help_heading = "How much", long, value_name = "TIME", value_parser = duration)]
    #[arg(conflicts_with_all = ["budget", "target"])]
    pub(crate) spread: Option<Nanos>,
    #[command(flatten, next_help_heading = "What and where")]
    pub(crate) new: NewRun,
    #[command(flatten)]
    pub(crate) session: Session,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) format: Showing,
}

/// Options of `list`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(default_value = "runs")]
    pub(crate) what: ListWhat,
    /// The test whose parameters are listed
    #[arg(add = complete::tests())]
    pub(crate) test: Option<String>,
    /// Show so many runs, the latest first [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: Option<u32>,
    /// Show every run that is kept
    #[arg(long, conflicts_with = "last")]
    pub(crate) all: bool,
    /// Print the list as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ListWhat {
    /// Every test that can be run
    Tests,
    /// Every profile, with the time that it takes here
    Profiles,
    /// Every metric, with its unit and definition
    Metrics,
    /// The parameters of a test, with their values in it and what they mean
    Params,
    /// The runs that are kept
    Runs,
}

/// Options of `show`.
#[derive(Debug, ClapArgs)]
#[command(mut_args(|arg| formats::of(arg, Kind::Run)))]
pub(crate) struct ShowArgs {
    /// An id or its beginning, a label, `latest`, `latest~1`, or an exported file
    #[arg(default_value = "latest", add = complete::runs())]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArg,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) format: Showing,
}

/// Options of `compare`.
#[derive(Debug, ClapArgs)]
#[command(mut_args(|arg| formats::of(arg, Kind::Comparison)))]
pub(crate) struct CompareArgs {
    /// The run to compare with, or runs of one plan: A1,A2,A3,A4,A5
    #[arg(add = complete::runs())]
    pub(crate) base: String,
    /// The runs to compare, likewise
    #[arg(required = true, value_name = "OTHER", add = complete::runs())]
    pub(crate) others: Vec<String>,
    /// Differences below this count as the same, such as 3% [default: by kind of metric]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) margin: Option<f64>,
    /// What runs of one machine differ by: `store` (earlier runs of it), `shipped` (so that the verdict is the same
    /// elsewhere), or a share such as 0.5% [default: whatever knows the most]
    #[arg(long, value_name = "SOURCE", value_parser = scatter)]
    pub(crate) scatter: Option<ScatterArg>,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) format: Showing,
    /// End with exit code 1 where any metric is worse
    #[arg(long, value_name = "VERDICT")]
    pub(crate) fail_if: Option<FailIf>,
}

/// Options of `report`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// The run; or the run to compare with and those to compare, each of which may be a group: A1,A2,A3
    #[arg(value_name = "RUN", default_value = "latest", add = complete::runs())]
    pub(crate) runs: Vec<String>,
    /// Write to this file, which must not exist yet [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format
    #[arg(long, value_parser = formats::known(Kind::Report), default_value = "html")]
    pub(crate) format: &'static Format,
    /// Leave in what says whose the machines are: host names, addresses, paths, serial numbers
    #[arg(long)]
    pub(crate) with_identity: bool,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArg,
    #[command(flatten, next_help_heading = TRUST)]
    pub(crate) others: OthersArgs,
}

/// Where the scatter between runs comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ScatterArg {
    /// Earlier runs of the machines, of which there must be enough.
    Store,
    /// What is built into the program.
    Shipped,
    /// This share.
    Share(f64),
}

/// When a comparison fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailIf {
    /// A metric is worse: its whole interval lies beyond the margin
    Worse,
}

/// What a resumed soak has already.
const SERIES: [&str; 5] = ["what", "span", "every", "copies", "window"];
const SOAK: &str = "Go on with a soak that was interrupted or killed, on the same machine";

/// Options of `soak`.
#[derive(Debug, ClapArgs)]
#[command(mut_arg("resume", |arg| arg.help(SOAK).conflicts_with_all(SERIES)))]
#[command(mut_args(|arg| formats::of(arg, Kind::Soak)))]
pub(crate) struct SoakArgs {
    /// The test; required, unless a soak is resumed
    #[arg(value_name = "TEST", required_unless_present = "resume", add = complete::tests())]
    pub(crate) what: Option<String>,
    /// How long, such as 10m or 24h; required, unless a soak is resumed
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    #[arg(help_heading = "How much", required_unless_present = "resume")]
    pub(crate) span: Option<Nanos>,
    /// Take a sample every TIME, and rest between [default: load without a pause]
    #[arg(help_heading = "How much", long, value_name = "TIME", value_parser = duration)]
    pub(crate) every: Option<Nanos>,
    /// How many copies run at once: a number, or all [default: 1]
    #[arg(help_heading = "How much", long, value_name = "N")]
    pub(crate) copies: Option<Copies>,
    /// Length of a window; shorter ones show shorter stalls, and suit soaks of minutes [default: 1s]
    #[arg(help_heading = "How much", long, value_name = "TIME", value_parser = duration)]
    pub(crate) window: Option<Nanos>,
    #[command(flatten, next_help_heading = "What and where")]
    pub(crate) new: NewRun,
    #[command(flatten)]
    pub(crate) session: Session,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) format: Showing,
}

/// Options of `fio`: its own language, which is read elsewhere.
#[derive(Debug, ClapArgs)]
pub(crate) struct FioArgs {
    /// What would stand behind `fio`, and options of kurabe; `kurabe fio --help` explains them
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) arguments: Vec<String>,
}

/// Options of `iperf3`: its own, which are read elsewhere.
#[derive(Debug, ClapArgs)]
pub(crate) struct Iperf3Args {
    /// What would stand behind `iperf3`; `kurabe iperf3 --help` explains it
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) arguments: Vec<String>,
}

/// Options of `label`.
#[derive(Debug, ClapArgs)]
pub(crate) struct LabelArgs {
    /// An id or its beginning, a label, `latest` or `latest~1`
    #[arg(add = complete::runs())]
    pub(crate) run: String,
    /// The name, of at most 80 characters; or --none
    #[arg(value_parser = bounds::run_label, required_unless_present_any = ["none", "offer", "no_offer"])]
    pub(crate) name: Option<String>,
    /// Take its name away
    #[arg(long, conflicts_with = "name")]
    pub(crate) none: bool,
    /// What was rented: the id of an offer
    #[arg(long, value_name = "ID", value_parser = bounds::label)]
    pub(crate) offer: Option<String>,
    /// Take its offer away
    #[arg(long, conflicts_with = "offer")]
    pub(crate) no_offer: bool,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArg,
    #[command(flatten, next_help_heading = TRUST)]
    pub(crate) others: OthersArgs,
}

/// Options of `rm`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RmArgs {
    /// Ids or their beginnings, labels, `latest` or `latest~1`; a side of a duel goes with the other
    #[arg(required = true, value_name = "RUN", add = complete::runs())]
    pub(crate) runs: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten, next_help_heading = TRUST)]
    pub(crate) others: OthersArgs,
}

/// Options of `export`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArgs {
    /// An id or its beginning, a label, `latest` or `latest~1`
    #[arg(default_value = "latest", add = complete::runs())]
    pub(crate) run: String,
    /// Every run that is kept, each to a file ID.json in the directory that --output names, which is made where it does
    /// not exist
    #[arg(long, conflicts_with = "run", requires = "output")]
    pub(crate) all: bool,
    /// Write to this file, which must not exist yet [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten, next_help_heading = TRUST)]
    pub(crate) others: OthersArgs,
}

/// Options of `import`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// Files that `kurabe export` wrote, or with outputs of other benchmarks; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Make one run of outputs of repeated runs, each of which is a round of it
    #[arg(long)]
    pub(crate) as_rounds: bool,
    /// A name for what is imported of other programs
    #[arg(long, value_name = "NAME", value_parser = bounds::run_label)]
    pub(crate) label: Option<String>,
    #[command(flatten, next_help_heading = TRUST)]
    pub(crate) others: OthersArgs,
}

/// Options of `doctor`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// Look at the storage behind this directory [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print the facts as one JSON document, and look at nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not look for 3 s at what would disturb a measurement
    #[arg(long)]
    pub(crate) no_look: bool,
}

/// What the address of a server is for there.
const OF_SERVER: &str = "Remove on this server too what killed runs left in the database: tables and keys that carry \
                         kurabe's mark, such as `postgres://user@host/db`, with passwords as for `kurabe run --db`";

/// Options of `clean`.
#[derive(Debug, ClapArgs)]
#[command(mut_arg("db", |arg| arg.help(OF_SERVER)))]
pub(crate) struct CleanArgs {
    /// Look in here too, beside the directories of kept runs [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) address: AddressArgs,
    #[command(flatten, next_help_heading = TRUST)]
    pub(crate) others: OthersArgs,
}

fn duration(text: &str) -> Result<Nanos, String> {
    match parse_duration(text) {
        Some(nanos) if nanos.0 > 0 => Ok(nanos),
        _ => Err("expected a time with its unit, such as 90s, 5m or 1h".to_owned()),
    }
}

fn size(text: &str) -> Result<Bytes, String> {
    match parse_size(text) {
        Some(bytes) if bytes.0 > 0 => Ok(bytes),
        _ => Err("expected a size such as 500M, 50G or 50GB".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share / scale < 1.0 => Ok(share / scale),
        _ => Err("expected a share such as 3% or 0.03, above 0 and below 100 %".to_owned()),
    }
}

fn scatter(text: &str) -> Result<ScatterArg, String> {
    match text {
        "store" => Ok(ScatterArg::Store),
        "shipped" => Ok(ScatterArg::Shipped),
        "0" | "0%" => Ok(ScatterArg::Share(0.0)),
        _ => share(text).map(ScatterArg::Share).map_err(|_| {
            "expected `store`, `shipped`, or a share such as 0.5%, below 100 %".to_owned()
        }),
    }
}

pub(crate) fn tag(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((bounds::label(key)?, bounds::label(value)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_resumed_run_refuses_what_it_has_already() {
        let new = [
            "--device=/dev/x",
            "--file=x",
            "--set=a.b=1",
            "--seed=1",
            "--dry-run",
            "--dir=/tmp",
            "--label=x",
            "--tag=a=b",
            "--offer=x",
            "--offers=x",
        ];
        let run = [
            "os.pipe",
            "--budget=5m",
            "--passes=6",
            "--copies=1",
            "--target=2%",
            "--spread=2h",
        ];
        let soak = [
            "os.pipe",
            "--for=1h",
            "--every=5m",
            "--copies=1",
            "--window=2s",
        ];
        let duel = ["os.pipe", "--b-cmd=true", "--copies=1", "--passes=6"];
        for (command, own) in [("run", &run[..]), ("soak", &soak), ("duel", &duel)] {
            let resume = ["kurabe", command, "--resume", "latest"];
            assert!(Args::try_parse_from(resume).is_ok(), "{command}");
            for option in own.iter().chain(&new) {
                let refused = Args::try_parse_from(resume.iter().chain([option])).map(|_| ());
                let kind = refused.map_err(|error| error.kind());
                assert_eq!(
                    kind,
                    Err(clap::error::ErrorKind::ArgumentConflict),
                    "{option}"
                );
            }
            for shown in [["--json", "--quiet"], ["--format=markdown", "--quiet"]] {
                let shown = Args::try_parse_from(resume.iter().chain(&shown));
                assert!(shown.is_ok(), "{command}");
            }
        }
    }

    #[test]
    fn shares_are_read_with_and_without_percent() {
        assert_eq!(share("3%"), Ok(0.03));
        assert_eq!(share("0.05"), Ok(0.05));
        for bad in ["", "%", "0", "-1%", "100%", "3", "nan", "x"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_has_its_unit_as_a_share_has() {
        assert_eq!(duration("10s"), Ok(Nanos::from_secs(10)));
        for bad in ["10", "1.5", "0", "0s", "", "10 parsecs"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_tag_has_a_key_and_a_value() {
        assert!(tag("a").is_err() && tag("=b").is_err());
        assert_eq!(tag("a= b "), Ok(("a".to_owned(), "b".to_owned())));
    }
}
