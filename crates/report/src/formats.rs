//! Every format, and what it can show: one table, from which the command line, its help and its refusals come.
//!
//! A format draws pages of blocks, and then shows whatever has a page; or it is documents of some kinds of things. A
//! new one is an entry of [`FORMATS`].

mod unsuited;

use crate::comparison::ComparisonView;
use crate::influx;
use crate::lang::Lang;
use crate::offers::OffersView;
use crate::openmetrics::openmetrics;
use crate::page::plan::PlanView;
use crate::page::run::Detail;
use crate::page::{self, Block};
use crate::published::Published;
use crate::ranking::RankingView;
use crate::render::markdown::{MARKDOWN, markdown};
use crate::render::text::TEXT;
use crate::render::{Drawing, svg};
use crate::style::{self, Style};
use crate::view::RunView;
use crate::{csv, json};
use model::record::Run;
use unsuited::{no_bonnie, no_dbench, no_unixbench, no_yabs};

/// Something to show.
#[derive(Clone, Copy)]
pub enum Shown<'a> {
    /// A run or a soak.
    Run(&'a RunView<'a>),
    /// A comparison, or a duel.
    Comparison(&'a ComparisonView<'a>),
    /// What would be measured.
    Plan(&'a PlanView<'a>),
    /// Runs in one order.
    Ranking(&'a RankingView),
    /// What can be rented.
    Offers(&'a OffersView),
    /// What is claimed of it.
    Claims(&'a OffersView),
    /// What a person publishes.
    Report(&'a Published<'a>),
}

/// What kind of thing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run, as `kurabe run` measures it.
    Run,
    /// A soak.
    Soak,
    /// A comparison, or a duel.
    Comparison,
    /// A plan.
    Plan,
    /// Ranks.
    Ranking,
    /// Offers, or claims.
    Offers,
    /// A report.
    Report,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Run,
        Self::Soak,
        Self::Comparison,
        Self::Plan,
        Self::Ranking,
        Self::Offers,
        Self::Report,
    ];

    /// That of a run.
    pub const fn of(run: &Run) -> Self {
        if run.plan.soak.is_some() {
            Self::Soak
        } else {
            Self::Run
        }
    }

    /// What it is called in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Run => "a run",
            Self::Soak => "a soak",
            Self::Comparison => "a comparison",
            Self::Plan => "a plan",
            Self::Ranking => "ranks",
            Self::Offers => "offers",
            Self::Report => "a report",
        }
    }
}

/// How things are shown here.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The language of people.
    pub lang: Lang,
    /// How text is laid out.
    pub style: Style,
    /// The same for plans, whose lines are whole where there is no terminal.
    pub lines: Style,
    /// False where text must do without the blocks of pictures.
    pub blocks: bool,
    /// True for everything there is to show.
    pub full: bool,
}

/// A format.
#[derive(Debug)]
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// True where it may say whose a machine is, because the user looks at it or carries it elsewhere.
    has_identity: bool,
    /// True where it tells what was rented.
    pub tells_offers: bool,
    /// True where nobody reads it on a terminal.
    pub is_file: bool,
    /// Why it has nothing to say of a run, and what helps; `None` where it has.
    unsuited: fn(&Run) -> Option<[&'static str; 2]>,
    how: How,
}

#[derive(Debug)]
enum How {
    /// Pages, of so many blocks.
    Page(&'static Drawing, Detail),
    /// What each kind of thing becomes.
    Documents(&'static [Document]),
}

/// What makes a document of a thing.
#[derive(Debug)]
enum Document {
    /// Of runs and soaks.
    EveryRun(fn(&RunView<'_>, Lang) -> String),
    /// Of runs alone.
    Run(fn(&RunView<'_>, Lang) -> String),
    Comparison(fn(&ComparisonView<'_>) -> String),
    Plan(fn(&PlanView<'_>) -> String),
    Ranking(fn(&RankingView) -> String),
    Offers(fn(&OffersView) -> String),
    Report(fn(&Published<'_>, Lang) -> Result<String, Refused>),
}

/// Why a format does not show something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is refused, and why.
    pub why: String,
    /// What helps.
    pub hint: String,
    /// True where it would be shown if more had been measured.
    pub lacks_figures: bool,
}

fn refused(why: impl Into<String>, hint: impl Into<String>) -> Refused {
    Refused {
        why: why.into(),
        hint: hint.into(),
        lacks_figures: false,
    }
}

/// Every format.
pub static FORMATS: &[Format] = &[
    pages("text", "A table for people", &TEXT, Detail::Usual),
    pages(
        "markdown",
        "A table for blogs and issues",
        &MARKDOWN,
        Detail::Usual,
    ),
    pages(
        "short",
        "The first ten lines of the page",
        &TEXT,
        Detail::Short,
    ),
    pages(
        "short-markdown",
        "The same, as Markdown",
        &MARKDOWN,
        Detail::Short,
    ),
    Format {
        has_identity: true,
        ..documents(
            "json",
            "One document for programs",
            &[
                Document::EveryRun(|view, _| json::run(view)),
                Document::Comparison(json::comparison),
                Document::Plan(json::plan),
                Document::Ranking(json::ranking),
                Document::Offers(json::offers),
            ],
        )
    },
    documents(
        "csv",
        "One line for each metric",
        &[Document::EveryRun(|view, _| csv::metrics(view))],
    ),
    documents(
        "csv-rounds",
        "One line for each value of each round",
        &[Document::EveryRun(|view, _| csv::rounds(view))],
    ),
    Format {
        unsuited: no_unixbench,
        ..documents(
            "unixbench",
            "`UnixBench`'s own report layout",
            &[Document::Run(|view, _| {
                dialects::unixbench::report_text(view.run)
            })],
        )
    },
    Format {
        unsuited: no_yabs,
        ..documents(
            "yabs",
            "`YABS`' JSON of its runs of fio",
            &[Document::Run(|view, _| {
                dialects::yabs::report_json(view.run).unwrap_or_default()
            })],
        )
    },
    Format {
        unsuited: no_bonnie,
        ..documents(
            "bonnie-csv",
            "`bonnie++`'s line of values (1.98) for each round, as `bon_csv2html` reads it",
            &[Document::Run(|view, _| {
                dialects::bonnie::csv_lines(view.run)
            })],
        )
    },
    Format {
        unsuited: no_dbench,
        ..documents(
            "dbench",
            "`dbench`'s own lines: the table of operations and the throughput",
            &[Document::Run(|view, _| {
                dialects::dbench::report_text(view.run)
            })],
        )
    },
    documents(
        "openmetrics",
        "Text for Prometheus and what reads `OpenMetrics`",
        &[Document::EveryRun(|view, _| openmetrics(view))],
    ),
    Format {
        unsuited: influx::undated,
        ..documents(
            "influx",
            "Points in `InfluxDB`'s line protocol",
            &[Document::EveryRun(|view, _| influx::influx(view))],
        )
    },
    Format {
        is_file: true,
        ..documents(
            "html",
            "One page in English and Japanese that needs nothing else",
            &[Document::Report(file)],
        )
    },
    Format {
        is_file: true,
        ..documents(
            "svg",
            "The picture that says the most, for a web log or a README",
            &[Document::Report(picture)],
        )
    },
    Format {
        tells_offers: true,
        ..documents(
            "blog",
            "An article in Markdown: method, conditions, results, and room for yours",
            &[Document::EveryRun(blog_of_one), Document::Report(blog)],
        )
    },
];

const fn pages(
    name: &'static str,
    about: &'static str,
    drawing: &'static Drawing,
    detail: Detail,
) -> Format {
    Format {
        name,
        about,
        has_identity: drawing.of_terminal,
        tells_offers: true,
        is_file: false,
        unsuited: |_| None,
        how: How::Page(drawing, detail),
    }
}

const fn documents(
    name: &'static str,
    about: &'static str,
    documents: &'static [Document],
) -> Format {
    Format {
        name,
        about,
        has_identity: false,
        tells_offers: false,
        is_file: false,
        unsuited: |_| None,
        how: How::Documents(documents),
    }
}

fn file(published: &Published<'_>, lang: Lang) -> Result<String, Refused> {
    published.html(lang).ok_or_else(|| {
        refused(
            "make a page of so many runs: it would have more than 1.5 MB",
            "name fewer, or see `kurabe rank` and `kurabe compare`",
        )
    })
}

fn picture(published: &Published<'_>, lang: Lang) -> Result<String, Refused> {
    let chart = published.headline(lang).ok_or_else(|| Refused {
        lacks_figures: true,
        ..refused(
            "draw the picture: no figure has an interval",
            "measure more rounds, or see `kurabe show`",
        )
    })?;
    Ok(svg::svg(&chart))
}

fn blog_of_one(view: &RunView<'_>, lang: Lang) -> String {
    markdown(&page::blog::page(vec![view], None, &[], lang))
}

fn blog(published: &Published<'_>, lang: Lang) -> Result<String, Refused> {
    let comparison = published.comparison.as_ref();
    let sides = comparison.map_or(1, |view| 1 + view.others.len());
    if sides < published.runs.len() {
        return Err(refused(
            "show with `--format blog`: a side is a group of runs",
            "name one run of each; `kurabe report` without `--format` shows groups",
        ));
    }
    let views = published.runs.iter().collect();
    Ok(markdown(&page::blog::page(
        views,
        comparison,
        published.earlier,
        lang,
    )))
}

/// The formats that show such a thing.
pub fn showing(kind: Kind) -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(move |format| format.shows(kind))
}

/// Their names as one types them.
fn named(formats: impl Iterator<Item = &'static Format>) -> String {
    let names = formats.map(|format| format!("`--format {}`", format.name));
    let names: Vec<String> = names.collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

impl Format {
    /// Whether it shows such things at all.
    pub fn shows(&self, kind: Kind) -> bool {
        match (&self.how, kind) {
            (How::Page(..), Kind::Report)
            | (How::Page(_, Detail::Short), Kind::Ranking | Kind::Offers) => false,
            (How::Page(drawing, detail), Kind::Plan) => {
                drawing.of_terminal && *detail == Detail::Usual
            }
            (How::Page(..), _) => true,
            (How::Documents(list), kind) => list.iter().any(|one| one.is_of(kind)),
        }
    }

    /// Whether what says whose a machine is has no place in it: [`crate::identity`] takes it out of the runs first.
    pub const fn is_anonymous(&self) -> bool {
        !self.has_identity
    }

    /// Refuses what says whose a machine is where it is told in any case.
    ///
    /// # Errors
    ///
    /// Where it is.
    pub fn check_with_identity(&self) -> Result<(), Refused> {
        if self.is_anonymous() {
            return Ok(());
        }
        let name = self.name;
        Err(refused(
            format!("show with `--with-identity`: `--format {name}` leaves nothing out"),
            "leave it away",
        ))
    }

    /// Whether it shows more where all there is was asked for.
    pub const fn has_full(&self) -> bool {
        matches!(self.how, How::Page(_, Detail::Usual))
    }

    /// Refuses everything that there is in a format that has no more of it.
    ///
    /// # Errors
    ///
    /// Where it has none.
    pub fn check_full(&self) -> Result<(), Refused> {
        if self.has_full() {
            return Ok(());
        }
        let with = named(FORMATS.iter().filter(|one| one.has_full()));
        Err(refused(
            "show everything: `--full` is for pages",
            format!("it stands with {with}; documents have everything"),
        ))
    }

    /// Refuses a kind of things that it does not show.
    ///
    /// # Errors
    ///
    /// Where it shows none.
    pub fn check(&self, kind: Kind) -> Result<(), Refused> {
        if self.shows(kind) {
            return Ok(());
        }
        let (kind_words, name) = (kind.words(), self.name);
        Err(refused(
            format!("show {kind_words} with `--format {name}`: it is not made for that"),
            format!("{kind_words} can be shown with {}", named(showing(kind))),
        ))
    }

    /// Refuses a run of which it has nothing to say, before or after it was measured.
    ///
    /// # Errors
    ///
    /// Where it has nothing to say.
    pub fn check_run(&self, run: &Run) -> Result<(), Refused> {
        self.check(Kind::of(run))?;
        match (self.unsuited)(run) {
            None => Ok(()),
            Some([why, hint]) => {
                let name = self.name;
                Err(refused(format!("show with `--format {name}`: {why}"), hint))
            }
        }
    }

    /// The thing in this format.
    ///
    /// # Errors
    ///
    /// Where it does not show such things, or not this one.
    pub fn draw(&self, shown: Shown<'_>, look: Look) -> Result<String, Refused> {
        match shown {
            Shown::Run(view) => self.check_run(view.run)?,
            other => self.check(other.kind())?,
        }
        match &self.how {
            How::Page(drawing, detail) => Ok(drawn(shown, drawing, *detail, look)),
            How::Documents(list) => list
                .iter()
                .find_map(|one| one.of(shown, look.lang))
                .expect("one of them is of the kind that was checked"),
        }
    }
}

impl Document {
    const fn is_of(&self, kind: Kind) -> bool {
        match self {
            Self::EveryRun(_) => matches!(kind, Kind::Run | Kind::Soak),
            Self::Run(_) => matches!(kind, Kind::Run),
            Self::Comparison(_) => matches!(kind, Kind::Comparison),
            Self::Plan(_) => matches!(kind, Kind::Plan),
            Self::Ranking(_) => matches!(kind, Kind::Ranking),
            Self::Offers(_) => matches!(kind, Kind::Offers),
            Self::Report(_) => matches!(kind, Kind::Report),
        }
    }

    /// The thing, where it is one of those.
    fn of(&self, shown: Shown<'_>, lang: Lang) -> Option<Result<String, Refused>> {
        Some(match (self, shown) {
            (Self::EveryRun(of) | Self::Run(of), Shown::Run(view)) => Ok(of(view, lang)),
            (Self::Comparison(of), Shown::Comparison(view)) => Ok(of(view)),
            (Self::Plan(of), Shown::Plan(view)) => Ok(of(view)),
            (Self::Ranking(of), Shown::Ranking(view)) => Ok(of(view)),
            (Self::Offers(of), Shown::Offers(view) | Shown::Claims(view)) => Ok(of(view)),
            (Self::Report(of), Shown::Report(published)) => of(published, lang),
            _ => return None,
        })
    }
}

impl Shown<'_> {
    const fn kind(self) -> Kind {
        match self {
            Self::Run(view) => Kind::of(view.run),
            Self::Comparison(_) => Kind::Comparison,
            Self::Plan(_) => Kind::Plan,
            Self::Ranking(_) => Kind::Ranking,
            Self::Offers(_) | Self::Claims(_) => Kind::Offers,
            Self::Report(_) => Kind::Report,
        }
    }

    fn page(self, detail: Detail, lang: Lang) -> Vec<Block> {
        match self {
            Self::Run(view) => page::run::page(view, detail, lang),
            Self::Comparison(view) => page::comparison::page(view, detail, lang),
            Self::Plan(view) => page::plan::page(view, lang),
            Self::Ranking(view) => page::ranking::page(view, lang),
            Self::Offers(view) => page::offers::page(view, lang),
            Self::Claims(view) => page::offers::claims(&view.offers, lang),
            Self::Report(_) => Vec::new(),
        }
    }
}

/// The page, with nothing in it that this terminal cannot show where it is made for one.
fn drawn(shown: Shown<'_>, drawing: &Drawing, detail: Detail, look: Look) -> String {
    let detail = if look.full { Detail::Full } else { detail };
    let style = match shown {
        Shown::Plan(_) => look.lines,
        _ => look.style,
    };
    let text = (drawing.draw)(&shown.page(detail, look.lang), style);
    if look.blocks || !drawing.of_terminal {
        text
    } else {
        style::without_blocks(&text)
    }
}

#[cfg(test)]
mod tests;
