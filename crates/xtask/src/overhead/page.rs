//! What is kept of the comparisons with fio: one JSON file for each, with every pair, and a page that is made from all
//! that lie in the directory. Comparisons can therefore be measured one by one, whenever the machine is quiet.

use super::beside::{COMPARISONS, Measured, Verdict};
use anyhow::Context;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// The page.
pub(super) const PAGE: &str = "beside-fio.md";

/// One comparison as it is kept.
pub(super) fn record(
    what: &str,
    facts: &[String],
    lines: &[String; 2],
    measured: &Measured,
    verdicts: &[Verdict],
) -> Value {
    let pairs: Vec<Value> = measured
        .pairs
        .iter()
        .enumerate()
        .map(|(number, [ours, theirs])| {
            let first = if number % 2 == 0 { "kurabe" } else { "fio" };
            let mut pair = json!({"first": first, "kurabe": ours.kept(), "fio": theirs.kept()});
            if let Some(floor) = measured.floors.get(number) {
                pair["bare_ring"] = floor.kept();
            }
            pair
        })
        .collect();
    json!({
        "what": what,
        "machine": facts,
        "commands": {"kurabe": lines[0], "fio": lines[1]},
        "pairs": pairs,
        "verdicts": verdicts.iter().map(Verdict::kept).collect::<Vec<_>>(),
    })
}

/// Writes the record of a comparison, and the page anew.
pub(super) fn write(dir: &Path, name: &str, record: &Value) -> anyhow::Result<()> {
    let put = |file: &str, text: String| {
        let path = dir.join(file);
        std::fs::write(&path, text).with_context(|| format!("write `{}`", path.display()))
    };
    put(&file_of(name), format!("{record:#}\n"))?;
    put(PAGE, page(&kept(dir)?))
}

fn file_of(name: &str) -> String {
    format!("beside-fio-{name}.json")
}

/// What lies in the directory, in the order of the comparisons.
fn kept(dir: &Path) -> anyhow::Result<Vec<Value>> {
    let mut found = Vec::new();
    for comparison in COMPARISONS {
        let path = dir.join(file_of(comparison.name));
        if let Ok(text) = std::fs::read_to_string(&path) {
            let record = serde_json::from_str(&text)
                .with_context(|| format!("read `{}`", path.display()))?;
            found.push(record);
        }
    }
    Ok(found)
}

/// The page of all records.
fn page(records: &[Value]) -> String {
    let mut page = String::from("# Beside fio\n\n");
    let mut machines: Vec<&Value> = Vec::new();
    for record in records {
        if !machines.contains(&&record["machine"]) {
            machines.push(&record["machine"]);
        }
    }
    for machine in machines {
        for fact in machine.as_array().into_iter().flatten() {
            // Writing to a string cannot fail.
            let _ = writeln!(page, "- {}", fact.as_str().unwrap_or_default());
        }
        page.push('\n');
    }
    page.push_str(
        "Made by `cargo xtask overhead`. Both programs work on the same file, which fio laid out, and take turns; who \
         is first alternates, and both are kept to one CPU, another one after every two pairs. Ratios are kurabe over \
         fio, pair by pair; CPU time is that of all processes and threads of a program, without what a start with one \
         operation takes. A bare ring is the floor: a loop in a process of its own that begins the same operations \
         again and does nothing else, one call for all that are under way, whatever that does to the rate. Every pair \
         is in `beside-fio-*.json`.\n\n",
    );
    page.push_str(&table(records));
    page.push_str("\n## Command lines\n\nFILE is the file of all of them.\n");
    for record in records {
        let _ = write!(
            page,
            "\n{}\n\n```text\n{}\n{}\n```\n",
            text(&record["what"]),
            text(&record["commands"]["kurabe"]),
            text(&record["commands"]["fio"]),
        );
    }
    page
}

/// The table of all figures.
pub(super) fn table(records: &[Value]) -> String {
    let mut table = String::from(
        "| what | figure | kurabe | fio | ratio of each pair | median | mean | must be | |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for record in records {
        for verdict in record["verdicts"].as_array().into_iter().flatten() {
            let number = |key: &str| verdict[key].as_f64().unwrap_or(f64::NAN);
            let ratios: Vec<String> = verdict["ratios"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64)
                .map(shown)
                .collect();
            let judged = match verdict["held"].as_bool() {
                Some(true) => "met",
                Some(false) => "NOT met",
                None => "-",
            };
            let _ = writeln!(
                table,
                "| {} | {} | {:.0} | {:.0} | {} | **{}** | {} | {} | {judged} |",
                text(&record["what"]),
                text(&verdict["figure"]),
                number("ours"),
                number("fio"),
                ratios.join(" "),
                shown(number("median")),
                shown(number("mean")),
                text(&verdict["bound"]),
            );
        }
    }
    table
}

/// A ratio with three digits or more.
fn shown(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("{ratio:.3}")
    } else {
        format!("{ratio:.1}")
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::side::Took;
    use super::*;

    fn took(iops: f64) -> Took {
        Took {
            iops,
            cpu_ns: 10.0,
            machine_ns: 12.0,
            percentiles: Vec::new(),
        }
    }

    #[test]
    fn comparisons_that_were_measured_apart_come_together_on_the_page() {
        let dir = tempfile::tempdir().unwrap();
        let facts = ["kernel: 1".to_owned(), "fio: fio-3".to_owned()];
        let lines = ["kurabe fio a".to_owned(), "fio b".to_owned()];
        for comparison in [&COMPARISONS[3], &COMPARISONS[2]] {
            let measured = Measured {
                pairs: [99.0, 97.0, 99.0]
                    .map(|ours| [took(ours), took(100.0)])
                    .to_vec(),
                floors: vec![took(96.0); 3],
            };
            let verdicts = comparison.verdicts(&measured).unwrap();
            let record = record(comparison.what, &facts, &lines, &measured, &verdicts);
            assert_eq!(record["pairs"][1]["first"], "fio");
            assert_eq!(record["pairs"][1]["bare_ring"]["iops"], 96.0);
            write(dir.path(), comparison.name, &record).unwrap();
        }
        let page = std::fs::read_to_string(dir.path().join(PAGE)).unwrap();
        let rows: Vec<&str> = page
            .lines()
            .filter(|line| line.contains("| IOPS |"))
            .collect();
        assert_eq!(rows.len(), 2, "{page}");
        assert!(
            rows[0].contains("best switches") && rows[1].contains("libaio"),
            "{page}"
        );
        assert!(
            rows[0].contains(
                "| 99 | 100 | 0.990 0.970 0.990 | **0.990** | 0.983 | at least 0.98 | met |"
            ),
            "{page}"
        );
        assert_eq!(page.matches("kernel: 1").count(), 1);
        assert!(
            page.contains("NOT met") && page.contains("kurabe fio a\nfio b"),
            "{page}"
        );
    }
}
