//! What a run in a guest left behind, and whether it is what it must be.

use anyhow::Context;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What one run left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// The program's document; null where it wrote none.
    pub(super) document: Value,
    /// How the program ended.
    code: String,
    /// What it said beside the document.
    said: String,
    /// How the program of a single AVX2 instruction ended.
    witness: String,
    /// Where memory was: see `PLACES`.
    places: String,
}

impl Left {
    pub(super) fn read(results: &Path, run: &str) -> anyhow::Result<Self> {
        let read = |name: String| {
            let path = results.join(name);
            fs::read_to_string(&path).with_context(|| format!("read `{}`", path.display()))
        };
        Ok(Self {
            document: serde_json::from_str(&read(format!("{run}.json"))?).unwrap_or_default(),
            code: read(format!("{run}.code"))?.trim().to_owned(),
            said: read(format!("{run}.err"))?.trim().to_owned(),
            witness: read("avx2.code".to_owned())?.trim().to_owned(),
            places: read(format!("{run}.places"))?,
        })
    }

    /// The document without the facts about the host.
    pub(super) fn published(&self) -> String {
        let mut document = self.document.clone();
        if let Some(run) = document.get_mut("run").and_then(Value::as_object_mut) {
            run.remove("host");
        }
        format!("{document}\n")
    }

    fn list(&self, pointer: &str) -> &[Value] {
        let list = self.document.pointer(pointer).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }
}

/// What must be.
#[derive(Debug)]
pub(super) enum Must {
    /// The program ends with this code.
    Code(i32),
    /// Whether a program of one AVX2 instruction is killed (code 132: 128 and the number of `SIGILL`).
    KilledByAvx2(bool),
    /// So many NUMA nodes are known.
    Nodes(u64),
    /// The case has a value, no failed round, and was done by this code; empty for cases that have only one.
    Ran(&'static str, &'static str),
    /// The test is in no case, with a reason that contains this.
    LeftOut(&'static str, &'static str),
    /// No case has more copies.
    AtMost(u64),
    /// All memory of the working sets was on the node of its CPU, or on another one.
    Memory {
        /// Which of the two.
        remote: bool,
    },
}

/// What was found.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) what: String,
    pub(super) found: String,
    pub(super) must: String,
    pub(super) held: bool,
}

impl Must {
    pub(super) fn judge(&self, left: &Left) -> Verdict {
        let verdict = |what: &str, found: String, must: &str, held: bool| Verdict {
            what: what.to_owned(),
            found,
            must: must.to_owned(),
            held,
        };
        match *self {
            Self::Code(code) => {
                let code = code.to_string();
                let held = left.code == code;
                let mut found = left.code.clone();
                if !held {
                    found = format!("{found}: {}", left.said);
                }
                verdict("exit code", found, &code, held)
            }
            Self::KilledByAvx2(killed) => {
                let code = if killed { "132" } else { "0" };
                let word = if killed {
                    "killed by SIGILL (132)"
                } else {
                    "not killed (0)"
                };
                let what = "a program of one AVX2 instruction";
                verdict(what, left.witness.clone(), word, left.witness == code)
            }
            Self::Nodes(count) => {
                let found = left.document.pointer("/run/host/cpu/numa_nodes/value");
                let found = found.and_then(Value::as_u64);
                let shown = found.map_or_else(|| "not known".to_owned(), |found| found.to_string());
                verdict(
                    "NUMA nodes",
                    shown,
                    &count.to_string(),
                    found == Some(count),
                )
            }
            Self::Ran(case, code) => {
                let (found, held) = match ran(left, case) {
                    Ok(found) => (shown(&found).to_owned(), found == code),
                    Err(why) => (why, false),
                };
                let must = format!("measured, by {}", shown(code));
                verdict(&format!("`{case}`"), found, &must, held)
            }
            Self::LeftOut(test, why) => {
                let (found, held) = left_out(left, test, why);
                verdict(
                    &format!("`{test}`"),
                    found,
                    &format!("left out: {why}"),
                    held,
                )
            }
            Self::AtMost(copies) => {
                let cases = left.list("/run/plan/cases").iter();
                let most = cases.filter_map(|case| case["concurrency"].as_u64()).max();
                let found = most.map_or_else(|| "no case".to_owned(), |most| most.to_string());
                let held = most.is_some_and(|most| most <= copies);
                verdict("most copies", found, &format!("at most {copies}"), held)
            }
            Self::Memory { remote } => {
                let (found, held) = memory(&left.places, remote);
                let must = if remote {
                    "all on the other node"
                } else {
                    "all on the CPU's own node"
                };
                verdict("memory, by the kernel's word", found, must, held)
            }
        }
    }
}

/// The name of code, where there is a choice.
fn shown(code: &str) -> &str {
    if code.is_empty() {
        "its only code"
    } else {
        code
    }
}

/// The code by which a case was measured, or why it was not.
fn ran(left: &Left, case: &str) -> Result<String, String> {
    let named = |key: &'static str| move |value: &&Value| value[key].as_str() == Some(case);
    let planned = left.list("/run/plan/cases").iter().find(named("id"));
    let planned = planned.ok_or("not in the plan")?;
    if let Some(failed) = left.list("/failed_rounds").iter().find(named("case")) {
        return Err(format!("a round failed: {}", failed["reason"]));
    }
    let mut metrics = left.list("/metrics").iter().filter(named("case"));
    let first = metrics.next().ok_or("no metric")?;
    let value = first["estimate"].as_f64().filter(|value| *value > 0.0);
    value.ok_or_else(|| format!("no value: {}", first["missing"]))?;
    Ok(planned["implementation"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

/// Why a test was left out, and whether that contains `why`.
fn left_out(left: &Left, test: &str, why: &str) -> (String, bool) {
    let planned = left
        .list("/run/plan/cases")
        .iter()
        .any(|case| case["test"].as_str() == Some(test));
    if planned {
        return ("in the plan".to_owned(), false);
    }
    let mut dropped = left.list("/run/plan/dropped").iter();
    let reason = dropped.find(|dropped| {
        let what = dropped["what"].as_str().unwrap_or_default();
        what.split('@').next() == Some(test)
    });
    match reason.and_then(|dropped| dropped["why"].as_str()) {
        Some(reason) => (reason.to_owned(), reason.contains(why)),
        None => ("not mentioned".to_owned(), false),
    }
}

/// Pages of 4 KiB from which on a mapping is a working set: a quarter of those that are asked for on the machine with
/// two nodes (32 MiB), and four times the order in which a chain of that size is linked.
const WORKING_SET_PAGES: u64 = 2048;

/// Looks at lines of `CPUS ADDRESS POLICY ... N0=PAGES ...`; where a process is not kept on one CPU yet, it has no
/// working set to speak of. The machine's CPUs have the numbers of their nodes.
fn memory(places: &str, remote: bool) -> (String, bool) {
    let (mut looks, mut wrong) = ([0_u32; 2], 0_u32);
    for line in places.lines() {
        let mut words = line.split(' ');
        let Some(cpu @ 0..2) = words.next().and_then(|cpus| cpus.parse::<u64>().ok()) else {
            continue;
        };
        let nodes = words.filter_map(|word| {
            let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
            Some((node.parse::<u64>().ok()?, pages.parse::<u64>().ok()?))
        });
        let nodes: Vec<(u64, u64)> = nodes.collect();
        if nodes.iter().map(|(_, pages)| pages).sum::<u64>() < WORKING_SET_PAGES {
            continue;
        }
        looks[usize::from(cpu == 1)] += 1;
        wrong += u32::from(nodes.iter().any(|(node, _)| (*node != cpu) != remote));
    }
    let found = format!(
        "{} looks at copies on CPU 0 and {} on CPU 1, of which {wrong} found some elsewhere",
        looks[0], looks[1]
    );
    (found, wrong == 0 && looks.iter().all(|&looks| looks > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn left() -> Left {
        Left {
            document: json!({
                "run": {
                    "host": {"cpu": {"numa_nodes": {"value": 2}}},
                    "plan": {
                        "cases": [
                            {"id": "a@1", "test": "a", "concurrency": 1, "implementation": "SSE2"},
                            {"id": "b@1", "test": "b", "concurrency": 1, "implementation": null},
                            {"id": "c@2", "test": "c", "concurrency": 2, "implementation": null},
                            {"id": "d@1", "test": "d", "concurrency": 1, "implementation": null},
                        ],
                        "dropped": [{"what": "e", "why": "huge pages: switched off"}],
                    },
                },
                "metrics": [
                    {"case": "a@1", "estimate": 2.5},
                    {"case": "b@1", "estimate": 1.0},
                    {"case": "c@2", "estimate": null, "missing": "no round"},
                    {"case": "d@1", "estimate": 1.0},
                ],
                "failed_rounds": [{"case": "d@1", "reason": "killed by signal 4"}],
            }),
            code: "4".to_owned(),
            said: "a round failed".to_owned(),
            witness: "132".to_owned(),
            places: String::new(),
        }
    }

    #[test]
    fn what_must_be_is_told_from_what_is_not() {
        let left = left();
        for (must, held, found) in [
            (Must::Code(4), true, "4"),
            (Must::Code(0), false, "4: a round failed"),
            (Must::KilledByAvx2(true), true, "132"),
            (Must::KilledByAvx2(false), false, "132"),
            (Must::Nodes(2), true, "2"),
            (Must::Nodes(1), false, "2"),
            (Must::Ran("a@1", "SSE2"), true, "SSE2"),
            (Must::Ran("a@1", "AVX2"), false, "SSE2"),
            (Must::Ran("b@1", ""), true, "its only code"),
            (Must::Ran("c@2", ""), false, "no value: \"no round\""),
            (
                Must::Ran("d@1", ""),
                false,
                "a round failed: \"killed by signal 4\"",
            ),
            (Must::Ran("a@2", ""), false, "not in the plan"),
            (
                Must::LeftOut("e", "switched off"),
                true,
                "huge pages: switched off",
            ),
            (
                Must::LeftOut("e", "memory"),
                false,
                "huge pages: switched off",
            ),
            (Must::LeftOut("a", ""), false, "in the plan"),
            (Must::LeftOut("f", ""), false, "not mentioned"),
            (Must::AtMost(2), true, "2"),
            (Must::AtMost(1), false, "2"),
        ] {
            let verdict = must.judge(&left);
            assert_eq!((verdict.held, &*verdict.found), (held, found), "{must:?}");
        }
    }

    #[test]
    fn nothing_holds_where_the_program_left_nothing() {
        let nothing = Left::default();
        for must in [
            Must::Code(0),
            Must::KilledByAvx2(true),
            Must::KilledByAvx2(false),
            Must::Nodes(1),
            Must::Ran("a@1", ""),
            Must::LeftOut("a", ""),
            Must::AtMost(1),
            Must::Memory { remote: false },
            Must::Memory { remote: true },
        ] {
            assert!(!must.judge(&nothing).held, "{must:?}");
        }
    }

    #[test]
    fn memory_is_where_the_kernel_says() {
        let line = |cpus: &str, nodes: &str| {
            format!(
                "{cpus} 7f0000000000 default anon=4096 dirty=4096 active=0 {nodes} kernelpagesize_kB=4\n"
            )
        };
        let check = |lines: &[(&str, &str)], local, remote| {
            let places: String = lines
                .iter()
                .map(|(cpus, nodes)| line(cpus, nodes))
                .collect();
            assert_eq!(memory(&places, false).1, local, "{places}");
            assert_eq!(memory(&places, true).1, remote, "{places}");
        };
        check(&[("0", "N0=4096"), ("1", "N1=4096")], true, false);
        check(&[("0", "N1=4096"), ("1", "N0=4096")], false, true);
        check(&[("0", "N0=4096"), ("1", "N0=1 N1=4095")], false, false);
        // One CPU alone says too little; small mappings and processes on their way say nothing.
        check(&[("0", "N0=4096")], false, false);
        let noise = [("0-1", "N0=4096"), ("0", "N1=900"), ("1", "N0=900")];
        check(
            &[&noise[..], &[("0", "N0=4096"), ("1", "N1=4096")]].concat(),
            true,
            false,
        );
    }

    #[test]
    fn what_is_published_says_nothing_about_the_host() {
        let published: Value = serde_json::from_str(&left().published()).unwrap();
        assert_eq!(published.pointer("/run/host"), None);
        assert_eq!(published.pointer("/metrics/0/case"), Some(&json!("a@1")));
    }
}
