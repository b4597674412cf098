//! What is kept of the comparisons with fio: one JSON file for each, with every pair, and a page that is made from all
//! that lie in the directory. Comparisons can therefore be measured one by one, whenever the machine is quiet.

use super::beside::{COMPARISONS, Verdict};
use super::queue::Queues;
use super::side::Took;
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
    measured: &[[Took; 2]],
    queues: Option<&Queues>,
    verdicts: &[Verdict],
) -> Value {
    let pairs: Vec<Value> = measured
        .iter()
        .enumerate()
        .map(|(number, [ours, theirs])| {
            let first = if number % 2 == 0 { "kurabe" } else { "fio" };
            json!({"first": first, "kurabe": ours.kept(), "fio": theirs.kept()})
        })
        .collect();
    json!({
        "what": what,
        "machine": facts,
        "commands": {"kurabe": lines[0], "fio": lines[1]},
        "pairs": pairs,
        "queue": queues.map(Queues::kept),
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
        "Made by `cargo lab overhead`. Both programs are told the same but for batches, work on the same file, which fio \
         laid out, and take turns; who is first alternates, and both are kept to one CPU, another one after every two \
         pairs. Ratios are kurabe over fio, pair by pair; CPU time is that of all processes and threads of a program, \
         without what a start with one operation takes. Every pair is in `beside-fio-*.json`.\n\n",
    );
    page.push_str(&tables(records));
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

/// What came of it, and what was under way meanwhile.
pub(super) fn tables(records: &[Value]) -> String {
    let under_way = under_way(records);
    let table = table(records);
    if under_way.is_empty() {
        return table;
    }
    format!("{table}\n{under_way}")
}

/// What both kept under way, where there is a device behind a queue.
fn under_way(records: &[Value]) -> String {
    let mut rows = String::new();
    for record in records.iter().filter(|record| record["queue"].is_object()) {
        let queue = &record["queue"];
        let both = |of: &dyn Fn(&Value) -> String| {
            format!("{} / {}", of(&queue["kurabe"]), of(&queue["fio"]))
        };
        let number = |value: &Value, by: f64| match value.as_f64() {
            Some(value) => format!("{:.1}", value / by),
            None => "-".to_owned(),
        };
        let same = match queue["differ"].as_str() {
            Some(why) => format!("**no**: {why}; not judged"),
            None => "yes".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            rows,
            "| {} | {} | {} | {} | {} | {} | {} | {same} |",
            text(&record["what"]),
            queue["depth"],
            both(&|side| number(&side["full"], 1.0)),
            both(&|side| text(&side["submit"]).to_owned()),
            both(&|side| text(&side["complete"]).to_owned()),
            both(&|side| number(&side["device_mean_queue"], 1.0)),
            both(&|side| number(&side["bytes"], 1e9)),
        );
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "Under way, kurabe / fio, medians of the pairs: operations that were handed over into a queue of the full depth \
         (`iodepth_level`, %); calls by how many operations went in and completions came out together (class: %); the \
         device's mean queue (time of all its operations over wall time, `/sys/dev/block/*/stat`); GB done. A ratio is \
         judged where kurabe has at most 5 % fewer operations at the full depth, and a mean queue of at least 0.9 \
         times fio's.\n\n\
         | what | depth | at it, % | in a call | completions | mean queue | GB | the same work |\n\
         |---|---|---|---|---|---|---|---|\n{rows}"
    )
}

/// The table of all figures.
fn table(records: &[Value]) -> String {
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
                None if text(&verdict["bound"]).is_empty() => "-",
                None => "not the same work",
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
    use super::super::queue::Queue;
    use super::*;

    fn took(iops: f64) -> Took {
        Took {
            iops,
            cpu_ns: 10.0,
            machine_ns: 12.0,
            percentiles: Vec::new(),
            queue: Queue::of(
                &json!({"iodepth_level": {"32": if iops > 90.0 { 100.0 } else { 5.0 }}}),
                4e9,
                Some(20.0),
            ),
        }
    }

    #[test]
    fn comparisons_that_were_measured_apart_come_together_on_the_page() {
        let dir = tempfile::tempdir().unwrap();
        let facts = ["kernel: 1".to_owned(), "fio: fio-3".to_owned()];
        let lines = ["kurabe fio a".to_owned(), "fio b".to_owned()];
        let of = |name: &str| COMPARISONS.iter().find(|one| one.name == name).unwrap();
        let kept = of("randread-uring-plain");
        for (comparison, ours) in [(of("randread-libaio-plain"), 0.0), (kept, 90.0)] {
            let pairs = [9.0, 7.0, 9.0].map(|more| [took(ours + more), took(100.0)]);
            let verdicts = comparison.verdicts(&pairs).unwrap();
            let queues = comparison.queues(&pairs);
            let what = comparison.what;
            let record = record(what, &facts, &lines, &pairs, queues.as_ref(), &verdicts);
            assert_eq!(record["pairs"][1]["first"], "fio");
            write(dir.path(), comparison.name, &record).unwrap();
        }
        let page = std::fs::read_to_string(dir.path().join(PAGE)).unwrap();
        let rows: Vec<&str> = page
            .lines()
            .filter(|line| line.contains("| IOPS |"))
            .collect();
        assert_eq!(rows.len(), 2, "{page}");
        assert!(
            rows[0].contains("io_uring") && rows[1].contains("libaio"),
            "{page}"
        );
        assert!(
            rows[0].contains(
                "| 99 | 100 | 0.990 0.970 0.990 | **0.990** | 0.983 | at least 0.98 | met |"
            ),
            "{page}"
        );
        assert!(rows[1].ends_with("| not the same work |"), "{page}");
        assert!(
            page.contains("| 32 | 100.0 / 100.0 |  /  |  /  | 20.0 / 20.0 | 4.0 / 4.0 | yes |")
                && page.contains("**no**: at 32 under way 5 % beside 100 %; not judged"),
            "{page}"
        );
        assert_eq!(page.matches("kernel: 1").count(), 1);
        assert!(
            page.contains("NOT met") && page.contains("kurabe fio a\nfio b"),
            "{page}"
        );
    }
}
