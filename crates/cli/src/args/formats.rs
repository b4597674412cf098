//! In which form a command prints what it found: `--format`, and `--json` for short, the same for every command that
//! prints a run or a comparison, whether it has just been measured or was kept long ago.

use crate::exit::{Exit, failure};
use clap::builder::PossibleValue;
use clap::{Args as ClapArgs, ValueEnum};
use report::page::run::Detail;
use report::render::FORMATS;
use std::sync::LazyLock;

/// The name of documents for programs, and what they are.
const JSON: (&str, &str) = ("json", "One document for programs");

/// The formats of one kind of document.
pub(crate) trait Format: ValueEnum + Copy + Send + Sync + 'static {
    /// What `--json` stands for.
    const JSON: Self;

    /// That of a plan, where nothing is measured; `None` where a plan cannot be told so.
    fn of_plan(self) -> Option<PlanFormat>;

    /// The same with everything on it; `None` for what has everything already, or never.
    fn full(self) -> Option<Self>;
}

/// Which of them.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct Formats<F: Format> {
    /// The format
    #[arg(long, value_enum, default_value = "text")]
    format: F,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl<F: Format> Formats<F> {
    /// The format that was asked for.
    pub(crate) fn chosen(self) -> F {
        if self.json { F::JSON } else { self.format }
    }

    /// The same where a plan is printed and nothing is measured; `None` where it is. Refused before anything is looked
    /// at.
    pub(crate) fn of_plan(self, dry_run: bool) -> anyhow::Result<Option<PlanFormat>> {
        let format = self.chosen();
        if !dry_run || format.of_plan().is_some() {
            return Ok(format.of_plan().filter(|_| dry_run));
        }
        let name = format.to_possible_value();
        let name = name.as_ref().map_or("", PossibleValue::get_name);
        Err(failure(
            Exit::Usage,
            format!("print a plan with `--format {name}`: it has no rounds and no figures"),
            Some("with `--dry-run` stands `--format text` or `--format json`"),
        ))
    }
}

/// How a run or a comparison is shown.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct Showing<F: Format> {
    #[command(flatten)]
    format: Formats<F>,
    /// Show everything: further metrics, percentiles, reasons, and facts about the machine
    #[arg(long, conflicts_with = "json")]
    full: bool,
}

impl<F: Format> Showing<F> {
    /// The format that was asked for. Refused before anything is looked at: what has everything already, or never.
    pub(crate) fn chosen(self) -> anyhow::Result<F> {
        let format = self.format.chosen();
        if !self.full {
            return Ok(format);
        }
        format.full().ok_or_else(|| {
            failure(
                Exit::Usage,
                "show everything: `--full` is for pages",
                Some(
                    "it stands with `--format text` or `--format markdown`; documents have everything",
                ),
            )
        })
    }

    /// As [`Formats::of_plan`].
    pub(crate) fn of_plan(self, dry_run: bool) -> anyhow::Result<Option<PlanFormat>> {
        if dry_run && self.full {
            return Err(failure(
                Exit::Usage,
                "print a plan with `--full`: it has no figures",
                None,
            ));
        }
        self.format.of_plan(dry_run)
    }
}

/// The pages that may be asked for by name.
fn pages() -> impl Iterator<Item = (&'static report::render::Format, Detail)> {
    [Detail::Usual, Detail::Short]
        .into_iter()
        .flat_map(|detail| FORMATS.iter().map(move |page| (page, detail)))
}

/// The name of a page, and what it is.
const fn page_name(
    format: &report::render::Format,
    detail: Detail,
) -> (&'static str, &'static str) {
    match detail {
        Detail::Short if format.of_terminal => (format.short, "The first ten lines of the page"),
        Detail::Short => (format.short, "The same, as Markdown"),
        Detail::Usual | Detail::Full => (format.name, format.about),
    }
}

/// The formats of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanFormat {
    /// Lines for people.
    Text,
    /// One document for programs.
    Json,
}

/// The formats of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ShowFormat {
    /// A page for people, as much of it.
    Page(&'static report::render::Format, Detail),
    /// One document for programs.
    Json,
    /// One line for each metric.
    Csv,
    /// One line for each value of each round.
    CsvRounds,
    /// `UnixBench`'s own report layout.
    Unixbench,
    /// `YABS`' JSON.
    Yabs,
}

impl ValueEnum for ShowFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<ShowFormat>> = LazyLock::new(|| {
            let pages = pages().map(|(page, detail)| ShowFormat::Page(page, detail));
            let others = [
                ShowFormat::Json,
                ShowFormat::Csv,
                ShowFormat::CsvRounds,
                ShowFormat::Unixbench,
                ShowFormat::Yabs,
            ];
            pages.chain(others).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Page(format, detail) => page_name(format, *detail),
            Self::Json => JSON,
            Self::Csv => ("csv", "One line for each metric"),
            Self::CsvRounds => ("csv-rounds", "One line for each value of each round"),
            Self::Unixbench => ("unixbench", "`UnixBench`'s own report layout"),
            Self::Yabs => ("yabs", "`YABS`' JSON of its runs of fio"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl Format for ShowFormat {
    const JSON: Self = Self::Json;

    fn of_plan(self) -> Option<PlanFormat> {
        match self {
            Self::Page(format, Detail::Usual) if format.of_terminal => Some(PlanFormat::Text),
            Self::Json => Some(PlanFormat::Json),
            Self::Page(..) | Self::Csv | Self::CsvRounds | Self::Unixbench | Self::Yabs => None,
        }
    }

    fn full(self) -> Option<Self> {
        match self {
            Self::Page(format, Detail::Usual) => Some(Self::Page(format, Detail::Full)),
            _ => None,
        }
    }
}

/// The formats of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CompareFormat {
    /// A page for people, as much of it.
    Page(&'static report::render::Format, Detail),
    /// One document for programs.
    Json,
}

impl ValueEnum for CompareFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<CompareFormat>> = LazyLock::new(|| {
            let pages = pages().map(|(page, detail)| CompareFormat::Page(page, detail));
            pages.chain([CompareFormat::Json]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Page(format, detail) => page_name(format, *detail),
            Self::Json => JSON,
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl Format for CompareFormat {
    const JSON: Self = Self::Json;

    fn of_plan(self) -> Option<PlanFormat> {
        match self {
            Self::Page(format, Detail::Usual) if format.of_terminal => Some(PlanFormat::Text),
            Self::Page(..) => None,
            Self::Json => Some(PlanFormat::Json),
        }
    }

    fn full(self) -> Option<Self> {
        match self {
            Self::Page(format, Detail::Usual) => Some(Self::Page(format, Detail::Full)),
            _ => None,
        }
    }
}
