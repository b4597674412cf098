//! Figures out of a table: what `show --format csv` prints, and what people have in spreadsheets (RFC 4180).
//!
//! The first line names the columns. `test`, `quantity`, `unit` and `estimate` must be there; `run`, `program`,
//! `version`, `date`, `concurrency`, `better` and `title` may, and columns that begin with `param.` say how it was
//! measured. Other columns of a table that kurabe printed say nothing here, and what else there is, is listed. Rows of
//! one `run` are one run.

use super::{Figure, Figures, Found, LeftOut, Ours, Reader};
use model::bounds;
use model::order::{Keyed as _, Order as _};
use model::spec::{Better, MetricClass, Nature};
use model::units::{Unit, UnixNanos};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

pub(super) const READER: Reader = Reader {
    program: "table",
    marks: &["estimate"],
    read,
};

/// What may stand between cells.
const BETWEEN: [u8; 3] = [b';', b'\t', b','];

/// The columns without which a text is no such table.
const NEEDED: [&str; 4] = ["test", "quantity", "unit", "estimate"];

/// The columns that are read where they are there.
const TAKEN: [&str; 7] = [
    "run",
    "program",
    "version",
    "date",
    "concurrency",
    "better",
    "title",
];

/// What else `show --format csv` prints, of which an import makes nothing.
const PRINTED: [&str; 11] = [
    "label",
    "case",
    "lo",
    "hi",
    "confidence",
    "n",
    "floor",
    "state",
    "missing",
    "warnings",
    "",
];

/// What is said of a figure behind which the text ends.
const CUT: &str =
    "the text ends in this figure, which may be cut: a whole one has the end of its line behind it";

/// The beginning of the name of a column that says how something was measured.
const PARAM: &str = "param.";

fn read(text: &str) -> Found {
    let mut found = Found::default();
    let first = text.lines().next().unwrap_or_default().to_ascii_lowercase();
    if !NEEDED.iter().all(|name| first.contains(name)) {
        return found;
    }
    let separators = BETWEEN.into_iter();
    let most = separators.max_by_key(|&one| first.bytes().filter(|&byte| byte == one).count());
    let mut rows = csv::ReaderBuilder::new()
        .flexible(true)
        .delimiter(most.unwrap_or(b','))
        .from_reader(text.as_bytes());
    let Ok(names) = rows.headers().cloned() else {
        return found;
    };
    let names = names.iter().map(|name| name.trim().to_ascii_lowercase());
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if !NEEDED.iter().all(|name| names.contains(name)) {
        return found;
    }
    let twice = (1..)
        .zip(&names)
        .find(|(at, name)| names[*at..].contains(name));
    if let Some((_, name)) = twice.filter(|(_, name)| !name.is_empty()) {
        let what = format!("two columns are called `{name}`");
        found.left_out.push(LeftOut { line: 1, what });
        return found;
    }
    let known = |name: &str| {
        let all = [&NEEDED[..], &TAKEN, &PRINTED];
        name.starts_with(PARAM) || all.iter().any(|some| some.contains(&name))
    };
    let unknown = names.iter().filter(|name| !known(name));
    found.left_out.extend(unknown.map(|name| LeftOut {
        line: 1,
        what: format!("the column `{name}` is not read; where it says how a figure was measured, `{PARAM}{name}` is"),
    }));
    let mut outputs: HashMap<String, usize> = HashMap::new();
    let mut taken = Taken::default();
    let place = names.iter().position(|name| *name == "estimate");
    let has_end = text.ends_with(['\n', '"']);
    let mut rows = rows.records().peekable();
    while let Some(row) = rows.next() {
        let line = |position: Option<&csv::Position>| {
            position.map_or(0, |at| usize::try_from(at.line()).unwrap_or(usize::MAX))
        };
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                let (line, what) = (line(error.position()), error.to_string());
                found.left_out.push(LeftOut { line, what });
                continue;
            }
        };
        if row.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let cell = |name: &str| {
            let at = names.iter().position(|one| *one == name)?;
            row.get(at).map(str::trim).filter(|text| !text.is_empty())
        };
        let next = outputs.len();
        let run = cell("run").unwrap_or_default().to_owned();
        let output = *outputs.entry(run).or_insert(next);
        let params = names.iter().filter_map(|name| {
            let param = name.strip_prefix(PARAM)?;
            Some((param.to_owned(), cell(name)?.to_owned()))
        });
        // Half of a number is another number.
        let is_cut = !has_end && rows.peek().is_none() && place == row.len().checked_sub(1);
        let beyond = row
            .iter()
            .skip(names.len())
            .any(|cell| !cell.trim().is_empty());
        let figure = if is_cut {
            Err(CUT.to_owned())
        } else if beyond {
            let (cells, columns) = (row.len(), names.len());
            Err(format!(
                "it has {cells} cells, and the first line has {columns}"
            ))
        } else {
            figure(&cell, output, params.into_map()).and_then(|figures| taken.take(figures))
        };
        match figure {
            Ok(()) => {}
            Err(what) => {
                let line = line(row.position());
                found.left_out.push(LeftOut { line, what });
            }
        }
    }
    found.figures = taken.figures;
    found.figures.order_by_key(|figures| figures.output);
    found
}

/// The figure of a row, or why it has none.
fn figure<'a>(
    cell: &impl Fn(&str) -> Option<&'a str>,
    output: usize,
    params: BTreeMap<String, String>,
) -> Result<Figures, String> {
    let need = |name: &str| cell(name).ok_or_else(|| format!("it has no `{name}`"));
    let (test, quantity) = (need("test")?, need("quantity")?);
    for (what, text) in [("test", test), ("quantity", quantity)] {
        bounds::name(what, text)?;
    }
    let unit = unit(need("unit")?)?;
    let text = need("estimate")?;
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if !value.is_finite() {
        return Err(format!("`{text}` is no finite number"));
    }
    if value < 0.0 || (unit == Unit::Share && value > 1.0) {
        return Err(format!("`{text}` is no value of the unit {unit}"));
    }
    let copies = match cell("concurrency") {
        None => 1,
        Some(text) => text
            .parse()
            .ok()
            .filter(|&copies| copies > 0)
            .ok_or_else(|| format!("the concurrency `{text}` is no number from 1"))?,
    };
    let better = match cell("better") {
        None if matches!(unit, Unit::Nanoseconds) => Better::Lower,
        None | Some("higher") => Better::Higher,
        Some("lower") => Better::Lower,
        Some(text) => return Err(format!("`better` is `higher` or `lower`, not `{text}`")),
    };
    let when = cell("date").map(instant).transpose()?;
    let class = match unit {
        Unit::Nanoseconds => MetricClass::LatencyTypical,
        _ => MetricClass::Throughput,
    };
    let title = cell("title").unwrap_or(test);
    let by: Vec<&str> = [cell("program"), cell("version")]
        .into_iter()
        .flatten()
        .collect();
    let title = match by.as_slice() {
        [] => title.to_owned(),
        by => format!("{title}, by {}", by.join(" ")),
    };
    Ok(Figures {
        cut_short: None,
        output,
        version: None,
        when,
        test: test.to_owned(),
        title,
        copies,
        nature: nature(test),
        params,
        values: vec![Figure {
            quantity: quantity.to_owned(),
            unit,
            better,
            class,
            value,
        }],
        // What another program measured is no test of ours because somebody gave it the name of one.
        ours: by.is_empty().then(|| Ours {
            test: Cow::Owned(test.to_owned()),
            set: Vec::new(),
            server: None,
        }),
    })
}

/// What a test is about, by the name before its first dot: under which heading it stands.
fn nature(test: &str) -> Nature {
    match test.split('.').next().unwrap_or_default() {
        "cpu" => Nature::Compute,
        "memory" | "mbw" => Nature::Memory,
        "storage" | "fio" | "vdbench" | "yabs" => Nature::Storage,
        "fs" | "bonnie" | "dbench" => Nature::FileSystem,
        "db" | "pgbench" => Nature::Database,
        "net" | "iperf3" => Nature::Network,
        _ => Nature::System,
    }
}

fn unit(text: &str) -> Result<Unit, String> {
    let mut all = Unit::ALL.into_iter();
    all.find(|unit| unit.key() == text).ok_or_else(|| {
        let keys: Vec<&str> = Unit::ALL.iter().map(|unit| unit.key()).collect();
        format!("`{text}` is none of the units {}", keys.join(", "))
    })
}

/// A day, or an instant with or without a zone; without one it is UTC.
fn instant(text: &str) -> Result<UnixNanos, String> {
    let day = || {
        text.parse::<jiff::civil::Date>()
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .ok()
    };
    let local = || {
        text.parse::<jiff::civil::DateTime>()
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .ok()
    };
    let found = text.parse::<jiff::Timestamp>().ok();
    let found = found.or_else(|| Some(local().or_else(day)?.timestamp()));
    let second = found.and_then(|found| u64::try_from(found.as_second()).ok());
    second
        .and_then(|second| second.checked_mul(1_000_000_000))
        .map(UnixNanos)
        .filter(|&at| at <= model::bounds::INSTANT_MAX)
        .ok_or_else(|| format!("the date `{text}` is not one since 1970, such as 2014-03-01"))
}

/// What was taken of a table so far.
#[derive(Default)]
struct Taken {
    figures: Vec<Figures>,
    /// Where the last figures of each case stand: of a run, a test, so many copies, and settings.
    last: HashMap<(usize, u32, String, BTreeMap<String, String>), usize>,
}

impl Taken {
    /// Puts a figure beside those of its case, or says why it has no room there.
    fn take(&mut self, mut one: Figures) -> Result<(), String> {
        let case = (one.output, one.copies, one.test.clone(), one.params.clone());
        let last = self.last.get(&case);
        if let Some(known) = last.and_then(|&at| self.figures.get_mut(at)) {
            let mut have = known.values.iter();
            if have.all(|have| have.quantity != one.values[0].quantity) {
                if known.values.len() >= bounds::METRICS_MAX {
                    let most = bounds::METRICS_MAX;
                    return Err(format!(
                        "its test has {most} quantities before it, which are the most"
                    ));
                }
                known.values.append(&mut one.values);
                return Ok(());
            }
        }
        self.last.insert(case, self.figures.len());
        self.figures.push(one);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_other_countries_are_read_and_what_does_not_fit_is_listed() {
        let head = "test,quantity,unit,estimate";
        let check = |text: &str, values: &[f64], left: &str| {
            let found = read(text);
            let figures = found.figures.iter().flat_map(|one| &one.values);
            let told: Vec<f64> = figures.map(|one| one.value).collect();
            assert_eq!(told, values, "{text}");
            let what = found.left_out.first().map_or("", |left| &left.what);
            assert!(
                what.contains(left) && what.is_empty() == left.is_empty(),
                "{text}: {what}"
            );
        };
        check("Test;Quantity;Unit;Estimate\na;b;ops_per_s;5\n", &[5.0], "");
        check("test\tquantity\tunit\testimate\na\tb\tns\t5\n", &[5.0], "");
        check(&format!("{head}\na,b,ops_per_s,7,012\n"), &[], "5 cells");
        check(&format!("{head}\na,b,ops_per_s,7,,\n"), &[7.0], "");
        check(
            &format!("{head},estimate\na,b,ops_per_s,7,8\n"),
            &[],
            "`estimate`",
        );
        check(
            &format!("{head}\n<b>,b,ops_per_s,7\nc,b,ns,8\n"),
            &[8.0],
            "`<b>`",
        );
        check(&format!("{head}\n , ,\na,b,ns,8\n"), &[8.0], "");
        let many: Vec<String> = (0..1002).map(|i| format!("a,q{i},ns,1")).collect();
        let many = format!("{head}\n{}\n", many.join("\n"));
        assert_eq!(read(&many).left_out.len(), 2);
    }

    #[test]
    fn a_table_is_read_by_the_names_of_its_columns() {
        let found = read(
            "run,program,version,date,test,concurrency,quantity,unit,better,estimate,param.size\n\
             a,fio,2.0.13,2014-03-01,disk.read,1,iops,ops_per_s,higher,6000,4G\n\
             a,fio,2.0.13,2014-03-01,disk.read,1,clat_ns,ns,,4e6,4G\n\
             b,fio,1.57,,disk.read,2,iops,ops_per_s,,10986,4G\n",
        );
        assert_eq!(found.left_out, []);
        let [a, b] = found.figures.as_slice() else {
            panic!("{found:?}");
        };
        let values: Vec<(&str, f64)> = a
            .values
            .iter()
            .map(|one| (&*one.quantity, one.value))
            .collect();
        assert_eq!(values, [("iops", 6000.0), ("clat_ns", 4e6)]);
        assert_eq!(a.values[1].better, Better::Lower);
        assert_eq!(a.title, "disk.read, by fio 2.0.13");
        assert_eq!(a.when, Some(UnixNanos(1_393_632_000_000_000_000)));
        assert_eq!(a.params["size"], "4G");
        assert_eq!((b.output, b.copies, b.when), (1, 2, None));
    }

    #[test]
    fn a_column_of_no_known_name_is_listed() {
        let found = read("test,Depth,quantity,unit,estimate,lo\na,4,b,ns,5,4\n");
        let told: Vec<(usize, &str)> = found
            .left_out
            .iter()
            .map(|left| (left.line, &*left.what))
            .collect();
        let what = "the column `depth` is not read; where it says how a figure was measured, `param.depth` is";
        assert_eq!((told, found.figures.len()), (vec![(1, what)], 1));
    }

    #[test]
    fn a_row_that_cannot_be_kept_is_listed_with_its_line() {
        let check = |row: &str, expect: &str| {
            let found = read(&format!(
                "test,quantity,unit,estimate,date,concurrency,better\n{row}\n"
            ));
            let told: Vec<_> = found
                .left_out
                .iter()
                .map(|left| (left.line, &*left.what))
                .collect();
            assert_eq!((told, found.figures.len()), (vec![(2, expect)], 0), "{row}");
        };
        check("a,b,ops_per_s,nan", "`nan` is no finite number");
        check("a,b,ops_per_s,1e999", "`1e999` is no finite number");
        check("a,b,ops_per_s,-5", "`-5` is no value of the unit ops_per_s");
        check("a,b,share,55", "`55` is no value of the unit share");
        check("a,b,ops_per_s,fast", "`fast` is no number");
        check("a,b,ops_per_s,", "it has no `estimate`");
        check(
            "a,b,ns,1,2014-13-01",
            "the date `2014-13-01` is not one since 1970, such as 2014-03-01",
        );
        check(
            "a,b,ns,1,1950-01-01",
            "the date `1950-01-01` is not one since 1970, such as 2014-03-01",
        );
        check(
            "a,b,ns,1,2999-01-01",
            "the date `2999-01-01` is not one since 1970, such as 2014-03-01",
        );
        check("a,b,ns,1,,0", "the concurrency `0` is no number from 1");
        check(
            "a,b,ns,1,,,more",
            "`better` is `higher` or `lower`, not `more`",
        );
        let units = "`MB/s` is none of the units ops_per_s, bytes_per_s, net_bytes_per_s, ns, bytes, share, number";
        check("a,b,MB/s,1", units);
    }

    #[test]
    fn other_texts_are_no_table() {
        for text in [
            "",
            "a,b\n1,2\n",
            "the test of a quantity in a unit: estimate\n",
            "\"test,quantity,unit,estimate",
        ] {
            assert_eq!(read(text), Found::default(), "{text}");
        }
    }
}
