//! In which form a command prints what it found: `--format`, and `--json` for short, the same for every command that
//! prints a run or a comparison, whether it has just been measured or was kept long ago.

use crate::context::Context;
use crate::exit::{Exit, failure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args as ClapArgs};
use model::record::Run;
use report::formats::{self, FORMATS, Format, Kind, Refused, Shown};

/// Lets `--format` have the formats that show such things; any other argument stays as it is.
pub(super) fn of(arg: Arg, kind: Kind) -> Arg {
    if arg.get_id() == "format" {
        arg.value_parser(known(kind))
    } else {
        arg
    }
}

/// Reads the name of such a format.
pub(super) fn known(kind: Kind) -> impl TypedValueParser<Value = &'static Format> {
    let name = |format: &Format| PossibleValue::new(format.name).help(format.about);
    PossibleValuesParser::new(formats::showing(kind).map(name)).try_map(|name| {
        let mut all = FORMATS.iter();
        all.find(|format| format.name == name).ok_or("unknown")
    })
}

/// How anything is shown.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct FormatArg {
    /// The format
    #[arg(long, value_parser = known(Kind::Run), default_value = "text")]
    format: &'static Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatArg {
    /// The format that was asked for.
    pub(crate) fn chosen(self) -> Chosen {
        let mut all = FORMATS.iter();
        let json = all.find(|format| self.json && format.name == "json");
        Chosen::usual(json.unwrap_or(self.format), false)
    }
}

/// How a run or a comparison is shown.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct Showing {
    #[command(flatten)]
    format: FormatArg,
    /// Show everything: further metrics, percentiles, reasons, and facts about the machine
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Leave in what says whose the machines are: host names, addresses, paths, serial numbers
    #[arg(long, conflicts_with = "json")]
    with_identity: bool,
}

/// A format, and how much of everything is to be shown in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) format: &'static Format,
    full: bool,
    with_identity: bool,
}

impl Showing {
    /// The format that was asked for. Refused before anything is looked at: what has everything already, or never.
    pub(crate) fn chosen(self) -> anyhow::Result<Chosen> {
        let chosen = Chosen {
            full: self.full,
            with_identity: self.with_identity,
            ..self.format.chosen()
        };
        if self.full {
            chosen.format.check_full().map_err(refusal)?;
        }
        if self.with_identity {
            chosen.format.check_with_identity().map_err(refusal)?;
        }
        Ok(chosen)
    }

    /// The same where a plan is printed and nothing is measured; `None` where it is. Refused before anything is looked
    /// at.
    pub(crate) fn of_plan(self, dry_run: bool) -> anyhow::Result<Option<Chosen>> {
        if !dry_run {
            return Ok(None);
        }
        if self.full {
            return Err(failure(
                Exit::Usage,
                "print a plan with `--full`: it has no figures",
                None,
            ));
        }
        let chosen = self.chosen()?;
        chosen.format.check(Kind::Plan).map_err(refusal)?;
        Ok(Some(chosen))
    }
}

impl Chosen {
    /// Everything that the format usually has.
    pub(crate) const fn usual(format: &'static Format, with_identity: bool) -> Self {
        Self {
            format,
            full: false,
            with_identity,
        }
    }

    /// Whether what says whose a machine is has no place in it.
    pub(crate) const fn is_anonymous(self) -> bool {
        self.format.is_anonymous() && !self.with_identity
    }

    /// Takes it out of these runs, which are shown together, where it has none.
    pub(crate) fn leave_out_identity(self, runs: &mut [&mut Run]) -> anyhow::Result<()> {
        if !self.is_anonymous() {
            return Ok(());
        }
        report::identity::leave_out(runs).map_err(|error| {
            failure(
                Exit::Usage,
                format!("leave out what says whose the machine is: {error}"),
                Some("`--with-identity` leaves it in"),
            )
        })
    }

    /// Refuses a run of which it has nothing to say.
    pub(crate) fn check(self, run: &Run) -> anyhow::Result<()> {
        self.format.check_run(run).map_err(refusal)
    }

    /// The thing as it is printed.
    pub(crate) fn draw(self, context: &Context, shown: Shown<'_>) -> anyhow::Result<String> {
        let look = context.look(self.full);
        self.format.draw(shown, look).map_err(refusal)
    }
}

fn refusal(refused: Refused) -> anyhow::Error {
    let exit = if refused.lacks_figures {
        Exit::Incomplete
    } else {
        Exit::Usage
    };
    failure(exit, refused.why, Some(&refused.hint))
}
