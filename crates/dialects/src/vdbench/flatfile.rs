//! `flatfile.html`: one line of column names, then rows of words.

use super::columns::{self, Kind, Value};
use super::{About, Definition, MAX_WORD, Row, figures, unix};
use jiff::civil::DateTime;
use model::units::UnixNanos;

/// The columns that become figures.
const FIGURES: &[&str] = &[
    "rate",
    "MB/sec",
    "bytes/io",
    "read%",
    "resp",
    "read_resp",
    "write_resp",
    "resp_max",
    "read_max",
    "write_max",
    "resp_std",
    "read_std",
    "write_std",
    "cpu_used",
    "cpu_kernel",
];

/// The columns that say how it was measured.
const PARAMS: &[(&str, &str)] = &[
    ("reqrate", "iorate"),
    ("xfersize", "xfersize"),
    ("threads", "threads"),
    ("rdpct", "rdpct"),
    ("rhpct", "rhpct"),
    ("whpct", "whpct"),
    ("seekpct", "seekpct"),
    ("compratio", "compratio"),
    ("dedupratio", "dedupratio"),
];

/// The names of the columns.
pub(super) struct Columns<'a>(Vec<&'a str>);

impl<'a> Columns<'a> {
    /// The columns, where this line names them.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let names = line.strip_prefix("tod ")?;
        let names: Vec<&str> = std::iter::once("tod")
            .chain(names.split_whitespace())
            .take(200)
            .collect();
        let has = |name| names.contains(&name);
        (has("timestamp") && has("Run") && has("Interval") && has("rate")).then_some(Self(names))
    }

    /// The figures of a row of averages.
    pub(super) fn average(
        &self,
        line: &str,
        is_whole: bool,
        output: usize,
        version: Option<&String>,
    ) -> Row {
        let words: Vec<&str> = line.split_whitespace().take(self.0.len() + 1).collect();
        if !words.get(3).is_some_and(|word| word.starts_with("avg_")) {
            return Row::Other;
        }
        if words.len() != self.0.len() {
            return Row::Unread("a row of averages whose columns are not those of its headings");
        }
        let get = |name: &str| {
            let at = self.0.iter().position(|column| *column == name)?;
            words[..words.len() - usize::from(!is_whole)]
                .get(at)
                .copied()
                .filter(|word| *word != "n/a" && word.len() <= MAX_WORD)
        };
        let value = |name: &&'static str| {
            Some((
                *name,
                columns::exact(get(name).filter(|w| !w.contains(','))?)?,
            ))
        };
        let values: Vec<Value> = FIGURES.iter().filter_map(value).collect();
        let name = get("Run").unwrap_or_default().to_owned();
        let copies = get("threads").and_then(|word| word.parse().ok());
        let mut definition = Definition {
            name: name.clone(),
            copies: copies.filter(|copies| *copies > 0).unwrap_or(1),
            ..Definition::default()
        };
        definition.params.insert("rd".to_owned(), name);
        for (column, param) in PARAMS {
            if let Some(word) = get(column) {
                definition
                    .params
                    .insert((*param).to_owned(), word.to_owned());
            }
        }
        let about = About {
            output,
            version: version.cloned(),
            when: get("timestamp").and_then(timestamp),
            kind: Kind::Storage,
        };
        figures(
            about,
            &definition,
            get("Interval").unwrap_or_default(),
            &values,
        )
    }
}

/// Whether this line is a row: it begins with a time of the day and a date.
pub(super) fn has_row(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let (tod, stamp) = (words.next(), words.next());
    tod.is_some_and(|tod| tod.len() <= 12 && tod.contains(':'))
        && stamp.and_then(timestamp).is_some()
}

/// `05/10/2023-21:16:09-CST`.
fn timestamp(word: &str) -> Option<UnixNanos> {
    let stamp = word.get(..19)?;
    DateTime::strptime("%m/%d/%Y-%H:%M:%S", stamp)
        .ok()
        .and_then(unix)
}
