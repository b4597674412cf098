//! How long `kurabe compare` takes for two runs with a hundred metrics and as many rounds as a run ever looks at.
//!
//! `cargo lab comparison` measures the static release binary (`cargo xtask dist` first); `cargo lab comparison OLD
//! NEW` measures any number of binaries in turn, so that whatever else the machine does happens to all of them. The
//! first one is held against the limit. What is compared is made out of one real round, so that its texts are as long
//! as real ones.

use crate::asked;
use anyhow::{Context, bail, ensure};
use model::num::approx;
use model::rng::Rng;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use xtask::process::{command, output, succeeds, target_dir};

/// Cases of each run, with one metric each.
const METRICS: u32 = 100;

/// Rounds of each case: those of the last look.
const ROUNDS: u32 = stats::looks::LOOKS[stats::looks::LOOKS.len() - 1];

/// How often each binary compares.
const REPETITIONS: usize = 21;

/// The longest that a comparison may take, in milliseconds.
const LIMIT_MS: f64 = 50.0;

/// Makes two runs, compares them again and again, and prints the medians.
pub(crate) fn run(root: &Path, binaries: &[&str]) -> anyhow::Result<()> {
    let binaries: Vec<PathBuf> = match binaries {
        [] => vec![asked::binary(root, None)?],
        some => some
            .iter()
            .map(|binary| asked::binary(root, Some(Path::new(binary))))
            .collect::<anyhow::Result<_>>()?,
    };
    let dir = target_dir(root).join("comparison");
    std::fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
    let times = prepare(&binaries[0], &dir).and_then(|()| measure(&binaries, &dir));
    std::fs::remove_dir_all(&dir).with_context(|| format!("remove `{}`", dir.display()))?;
    let times = times?;
    say!(
        "two runs, {METRICS} metrics, {ROUNDS} rounds of each; medians of {REPETITIONS} in turn\n\n\
         | binary | wall | CPU | limit |\n|---|---|---|---|"
    );
    for (binary, [wall, cpu]) in binaries.iter().zip(&times) {
        say!(
            "| {} | {wall:.1} ms | {cpu:.1} ms | {LIMIT_MS} ms |",
            binary.display()
        );
    }
    if times[0][0] > LIMIT_MS {
        bail!(
            "over the limit\nhint: on a busy machine this says nothing; try again when it is quiet"
        );
    }
    Ok(())
}

/// Puts the two runs into a store in `dir`.
fn prepare(binary: &Path, dir: &Path) -> anyhow::Result<()> {
    let store = |words: &[&str]| -> anyhow::Result<String> {
        output(command(dir, binary).args(words).args(["--store", "one.db"]))
    };
    store(&[
        "run", "os.pipe", "--copies", "1", "--passes", "1", "--quiet",
    ])?;
    let one: Value = serde_json::from_str(&store(&["export"])?).context("read an export")?;
    for (label, seed) in [("a", 1), ("b", 2)] {
        let file = dir.join(format!("{label}.json"));
        let text = many(&one, label, seed)?.to_string();
        std::fs::write(&file, text).with_context(|| format!("write `{}`", file.display()))?;
        let imported = succeeds(
            command(dir, binary)
                .args(["import", "--store", "two.db"])
                .arg(&file),
        );
        ensure!(imported, "import `{}`", file.display());
    }
    Ok(())
}

/// An exported run with one round, as one with many cases and rounds around the same value.
fn many(one: &Value, label: &str, seed: u64) -> anyhow::Result<Value> {
    let mut record = one.clone();
    let run = &mut record["run"];
    let (case, round) = (run["plan"]["cases"][0].clone(), run["rounds"][0].clone());
    let quantity = case["metrics"][0]["quantity"].as_str().map(str::to_owned);
    let quantity = quantity.context("the export has no metric")?;
    let values = &round["outcome"]["done"]["values"];
    let typical = values[&quantity].as_f64();
    let typical = typical.context("the export has no value")?;
    let mut rng = Rng::new(seed);
    let mut near = |share: f64| typical * (share * rng.normal()).exp();
    let ids: Vec<String> = (0..METRICS)
        .map(|i| format!("f{}.test-{i}@1", i % 8))
        .collect();
    let cases = ids.iter().map(|id| {
        let mut case = case.clone();
        case["id"] = json!(id);
        case["metrics"] = json!([case["metrics"][0]]);
        case
    });
    run["plan"]["cases"] = cases.collect();
    let mut rounds = Vec::new();
    for pass in 1..=ROUNDS {
        for id in &ids {
            let mut round = round.clone();
            round["case"] = json!(id);
            round["pass"] = json!(pass);
            round["seq"] = json!(rounds.len() + 1);
            let done = &mut round["outcome"]["done"];
            done["values"] = json!({ &quantity: near(0.02) });
            let windows = done["windows"].as_array().map_or(0, Vec::len);
            done["windows"] = (0..windows).map(|_| near(0.03)).collect();
            rounds.push(round);
        }
    }
    run["rounds"] = rounds.into();
    run["meta"]["id"] = json!(format!("20260101-00000{seed}-aaaa"));
    run["meta"]["label"] = json!(label);
    Ok(record)
}

/// Wall and CPU time of a comparison in milliseconds, for each binary.
fn measure(binaries: &[PathBuf], dir: &Path) -> anyhow::Result<Vec<[f64; 2]>> {
    let mut times = vec![[Vec::new(), Vec::new()]; binaries.len()];
    // The first time is not counted: it fills the page cache.
    for repetition in 0..=REPETITIONS {
        for (binary, [wall, cpu]) in binaries.iter().zip(&mut times) {
            let before = sys::process::usage_children();
            let start = sys::clock::monotonic();
            let compared =
                succeeds(command(dir, binary).args(["compare", "a", "b", "--store", "two.db"]));
            let took = sys::clock::monotonic() - start;
            ensure!(compared, "`{} compare` failed", binary.display());
            let used = sys::process::usage_children().since(before);
            if repetition > 0 {
                wall.push(approx(took) / 1e6);
                cpu.push(approx(used.user + used.system) / 1e6);
            }
        }
    }
    let median = |times: &Vec<f64>| stats::quantile::median(times).context("nothing was measured");
    times
        .iter()
        .map(|[wall, cpu]| Ok([median(wall)?, median(cpu)?]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_round_becomes_a_run_of_many_cases() {
        let one = json!({"format": "x", "run": {
            "meta": {"id": "i", "label": null},
            "plan": {"cases": [{"id": "os.pipe@1", "metrics": [{"quantity": "ops_per_s"}, {"quantity": "other"}]}]},
            "rounds": [{"case": "os.pipe@1", "pass": 1, "seq": 1, "outcome": {"done": {
                "values": {"ops_per_s": 100.0, "other": 1.0}, "windows": [1.0, 2.0], "notes": []}}}],
        }});
        let made = many(&one, "a", 1).unwrap();
        let run = &made["run"];
        let cases = run["plan"]["cases"].as_array().unwrap();
        let rounds = run["rounds"].as_array().unwrap();
        assert_eq!((cases.len(), rounds.len()), (100, 2800));
        assert_eq!(cases[9]["id"], "f1.test-9@1");
        assert_eq!(cases[9]["metrics"].as_array().unwrap().len(), 1);
        let last = &rounds[2799];
        assert_eq!((&last["seq"], &last["pass"]), (&json!(2800), &json!(28)));
        let value = last["outcome"]["done"]["values"]["ops_per_s"]
            .as_f64()
            .unwrap();
        assert!((80.0..125.0).contains(&value));
        assert_eq!(
            last["outcome"]["done"]["windows"].as_array().unwrap().len(),
            2
        );
        assert_ne!(many(&one, "a", 2).unwrap()["run"]["rounds"], run["rounds"]);
        assert!(many(&json!({"run": {}}), "a", 1).is_err());
    }
}
