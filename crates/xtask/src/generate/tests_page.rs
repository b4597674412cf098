//! `docs/tests.md`: every workload with its tests, parameters and metrics, from the registry.

use super::push;
use engine::workload::Workload;
use model::spec::{Amount, Better, Fold, How, MetricDef, ParamDef, Role, Spec, Stat, Time};
use std::collections::BTreeMap;

/// The page for `workloads`.
pub(crate) fn page(workloads: &[&dyn Workload]) -> String {
    let mut families: BTreeMap<&str, Vec<&Spec>> = BTreeMap::new();
    for workload in workloads {
        let spec = workload.spec();
        let family = spec.name.split('.').next().unwrap_or(spec.name);
        families.entry(family).or_default().push(spec);
    }
    let mut page = String::from(
        "# Tests\n\n\
         Everything that kurabe can measure: each workload with the tests made of it, the parameters that\n\
         `--set TEST.PARAMETER=VALUE` takes, and the metrics that a round yields, exactly defined.\n\n\
         This page is generated from the program by `cargo xtask gen`.\n",
    );
    for (family, mut specs) in families {
        specs.sort_unstable_by_key(|spec| spec.name);
        push(&mut page, &format!("\n## Family `{family}`\n"));
        for spec in specs {
            workload(&mut page, spec);
        }
    }
    page
}

fn workload(page: &mut String, spec: &Spec) {
    push(page, &format!("\n### `{}`: {}\n", spec.name, spec.title));
    push(page, &format!("\n{}\n", spec.doc.trim()));
    let mut facts = vec![format!("Version {}", spec.version)];
    if spec.on_disk {
        facts.push("depends on the file system of the work directory".to_owned());
    }
    if spec.simulated {
        facts.push("plays a known result instead of using the machine".to_owned());
    }
    push(page, &format!("\n{}.\n", facts.join("; ")));
    let tests = spec.tests.iter().map(|test| {
        let params: Vec<String> = test
            .params
            .iter()
            .map(|(name, value)| format!("`{name}={value}`"))
            .collect();
        [
            format!("`{}`", test.name),
            test.title.to_owned(),
            params.join(", "),
        ]
    });
    table(page, ["Test", "What it measures", "Parameters set"], tests);
    table(
        page,
        ["Parameter", "Values", "Default", "Meaning"],
        spec.params.iter().map(parameter),
    );
    table(
        page,
        [
            "Metric",
            "Unit",
            "Better",
            "How a round's value comes about",
            "Definition",
        ],
        spec.metrics.iter().map(metric),
    );
}

fn parameter(def: &ParamDef) -> [String; 4] {
    let default = match def.default {
        "" => "empty".to_owned(),
        text => format!("`{text}`"),
    };
    [
        format!("`{}`", def.name),
        def.kind.in_words(),
        default,
        def.doc.to_owned(),
    ]
}

/// How a value comes about, in words.
fn how(how: How) -> String {
    match how {
        How::Per(amount, time) => {
            let amount = match amount {
                Amount::Work => "work",
                Amount::Operations => "operations",
                Amount::Reported(_) => "reported by the workload,",
            };
            let time = match time {
                Time::Wall => "wall time, summed over the copies",
                Time::Cpu => "CPU time, all copies together",
            };
            format!("{amount} over {time}")
        }
        How::TimePerOp(Time::Wall) => "wall time over operations, mean over the copies".to_owned(),
        How::TimePerOp(Time::Cpu) => "CPU time over operations, all copies together".to_owned(),
        How::Of(name, stat) => {
            let figure = match stat {
                Stat::Shortest => "shortest".to_owned(),
                Stat::Mean => "mean".to_owned(),
                Stat::Deviation => "standard deviation".to_owned(),
                Stat::Longest => "longest".to_owned(),
                Stat::Quantile(q) | Stat::QuantileOfFew(q) => format!("quantile {q}"),
            };
            format!("{figure} of the `{name}` latencies of all copies together")
        }
        How::Reported(Fold::Sum) => "reported by the workload, summed over the copies".to_owned(),
        How::Reported(Fold::Mean) => "reported by the workload, mean over the copies".to_owned(),
        How::Setting => "of the set-up, no measurement; reported by the workload".to_owned(),
    }
}

fn metric(def: &MetricDef) -> [String; 5] {
    let better = match def.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    };
    let picture = match def.role {
        Role::Curve(unit) => format!(", a curve over {unit}"),
        Role::Matrix => ", a matrix of CPUs".to_owned(),
        _ => String::new(),
    };
    [
        format!("`{}`{picture}", def.quantity),
        format!("`{}`", def.unit),
        better.to_owned(),
        how(def.how),
        def.doc.to_owned(),
    ]
}

/// A Markdown table, or nothing where there are no rows.
fn table<const N: usize>(
    page: &mut String,
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    push(
        page,
        &format!("\n| {} |\n|{}\n", head.join(" | "), "---|".repeat(N)),
    );
    for row in rows {
        push(
            page,
            &format!("| {} |\n", row.map(|cell| escaped(&cell)).join(" | ")),
        );
    }
}

/// Text for one cell: on one line, and without a bar that would end the cell.
fn escaped(cell: &str) -> String {
    let words: Vec<&str> = cell.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_registry_is_on_the_page() {
        let page = page(workloads::ALL);
        for workload in workloads::ALL {
            let spec = workload.spec();
            let tests = spec.tests.iter().map(|test| test.name);
            let params = spec.params.iter().map(|param| param.name);
            let metrics = spec.metrics.iter().map(|metric| metric.quantity);
            for name in tests.chain(params).chain(metrics).chain([spec.name]) {
                assert!(page.contains(&format!("`{name}`")), "{name}");
            }
        }
        assert!(workloads::ALL.len() > 1);
    }

    #[test]
    fn cells_stay_in_their_table() {
        assert_eq!(escaped("a | b\n  c"), "a \\| b c");
    }
}
