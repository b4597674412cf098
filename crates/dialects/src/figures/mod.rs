//! What other programs measured: [`Figures`], read from their outputs.
//!
//! One reader per program, in the folder of that program, and a line in [`READERS`]. A reader takes a text that may
//! hold anything - prompts, prose, several outputs, outputs cut short - and returns what it is sure of; what stands
//! inside of an output and is not understood is listed, and nothing is guessed. [`crate::figures::run`] makes runs.

#[cfg(test)]
mod corpus;
pub mod line;
pub(crate) mod objects;
pub mod run;
mod table;
#[cfg(test)]
pub(crate) mod testkit;

use model::spec::{Better, MetricClass, Nature};
use model::units::{Unit, UnixNanos};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What one program says of one test: of one execution at one concurrency.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Which output of the text it is part of, from 0: what one execution of the program printed has one number.
    pub output: usize,
    /// The program's version; `None` where the text does not say it.
    pub version: Option<String>,
    /// When it measured; `None` where the text does not say it with year and time. A time without a zone is taken as
    /// UTC.
    pub when: Option<UnixNanos>,
    /// The test's name, such as `sysbench.cpu`: of lowercase letters, digits, `-` and `.`, the program first.
    pub test: String,
    /// One line: what the program calls it.
    pub title: String,
    /// Copies, threads, clients or jobs at work at the same time; 1 where the text does not say.
    pub copies: u32,
    /// What it is about.
    pub nature: Nature,
    /// How it was measured, as far as the text says: what the program calls it, and the value as printed. Outputs that
    /// differ here do not compare.
    pub params: BTreeMap<String, String>,
    /// The figures, the most telling first.
    pub values: Vec<Figure>,
    /// What its program always prints and the text has not, where the text seems to be cut; a line of words.
    pub cut_short: Option<String>,
    /// kurabe's own test of the same definition, where there is one and the text shows that the parameters agree. The
    /// figures whose quantities that test declares are then taken for figures of it; the others stay what they are.
    pub ours: Option<Ours>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The quantity's key with its unit at the end, such as `clat_ns_p99`; that of kurabe's own test where the
    /// definition is the same.
    pub quantity: String,
    /// The unit of the value: a base unit.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// Which margin applies.
    pub class: MetricClass,
    /// The value.
    pub value: f64,
}

impl Figure {
    /// A rate, of which more is better.
    pub fn rate(quantity: impl Into<String>, unit: Unit, class: MetricClass, value: f64) -> Self {
        let quantity = quantity.into();
        let better = Better::Higher;
        Self {
            quantity,
            unit,
            better,
            class,
            value,
        }
    }

    /// A time in nanoseconds, of which less is better.
    pub fn time(quantity: impl Into<String>, class: MetricClass, ns: f64) -> Self {
        let better = Better::Lower;
        Self {
            better,
            ..Self::rate(quantity, Unit::Nanoseconds, class, ns)
        }
    }
}

/// A test of kurabe, with the parameters that differ from its own, as the user would write them behind `--set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ours {
    /// The test's name, such as `cpu.prime`.
    pub test: Cow<'static, str>,
    /// Parameters and their values.
    pub set: Vec<(&'static str, String)>,
    /// How the address of a server begins, as behind `--db`, where the test was on one.
    pub server: Option<&'static str>,
}

/// What a reader found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The figures, in the order of the text.
    pub figures: Vec<Figures>,
    /// What stands inside of an output of the program and was not understood, or cannot be kept.
    pub left_out: Vec<LeftOut>,
}

/// A part of a text that became nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The line, from 1.
    pub line: usize,
    /// What stands there, or why it was left out; a line of words.
    pub what: String,
}

/// A reader of a program's outputs.
#[derive(Debug)]
pub struct Reader {
    /// The program, such as `fio`.
    pub program: &'static str,
    /// Words without one of which a text has nothing of it; none where every text has to be read.
    pub marks: &'static [&'static str],
    /// Reads what it finds. The text has no carriage returns, colours or byte order mark ([`line::plain`]).
    pub read: fn(&str) -> Found,
}

impl Reader {
    /// What a text holds of this program. A long text of something else costs a search for its marks, and no more.
    pub fn find(&self, text: &str) -> Found {
        if self.may_be_in(text) {
            (self.read)(text)
        } else {
            Found::default()
        }
    }

    /// Whether a text has one of the marks.
    pub(crate) fn may_be_in(&self, text: &str) -> bool {
        self.marks.is_empty() || self.marks.iter().any(|mark| text.contains(mark))
    }
}

/// Gives tests of one name within an output, such as those of clones that are not reported together, a number each.
pub(crate) fn tell_apart(figures: &mut [Figures]) {
    let mut taken: BTreeMap<String, u32> = BTreeMap::new();
    for part in figures {
        let name = part.test.clone();
        while taken.contains_key(&part.test) {
            let last = taken.entry(name.clone()).or_insert(1);
            *last += 1;
            part.test = format!("{name}-{last}");
        }
        taken.insert(part.test.clone(), 1);
    }
}

/// Every reader.
pub static READERS: &[Reader] = &[
    table::READER,
    crate::bonnie::READER,
    crate::dbench::READER,
    crate::fio::read::READER,
    crate::iperf3::READER,
    crate::mbw::READER,
    crate::pgbench::READER,
    crate::sysbench::READER,
    crate::unixbench::READER,
    crate::vdbench::READER,
    crate::yabs::READER,
];
