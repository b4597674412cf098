//! How long `kurabe compare` takes: for two runs with a hundred metrics and as many rounds as a run ever looks at, for
//! two of which everything differs, and for a hundred runs.
//!
//! `cargo lab comparison` measures the static release binary (`cargo xtask dist` first); `cargo lab comparison OLD
//! NEW` measures any number of binaries in turn, so that whatever else the machine does happens to all of them. The
//! first one is held against the limits. Beside the whole command stands the part of it that judges, called in this
//! program. What is compared is made out of one real round, so that its texts are as long as real ones.

use crate::asked;
use anyhow::{Context, bail, ensure};
use model::num::approx;
use model::record::Run;
use model::rng::Rng;
use serde_json::{Value, json};
use stats::CompareOptions;
use std::path::{Path, PathBuf};
use sys::process::Usage;
use xtask::process::{command, output, succeeds, target_dir};

/// Rounds of each case: those of the last look.
const MOST_ROUNDS: u32 = stats::looks::LOOKS[stats::looks::LOOKS.len() - 1];

/// How often each binary compares.
const REPETITIONS: usize = 21;

/// Between the starts of two runs, in ns: each sees the machine at a time of its own.
const HOUR: u64 = 3_600_000_000_000;

/// What is compared.
pub(crate) struct Scene {
    pub(crate) runs: u32,
    /// Cases of each run, with one metric each.
    metrics: u32,
    rounds: u32,
    operands: Operands,
    /// How many times as fast the later half of the runs is.
    faster: f64,
    /// The longest that it may take, in milliseconds.
    limit_ms: Option<f64>,
}

/// What the command is given.
#[derive(Clone, Copy)]
pub(crate) enum Operands {
    /// The earlier half of the runs as one side, the later half as the other.
    Halves,
    /// The latest run, and every other one by itself, which has the runs before it to show what runs differ by.
    LatestAndEach,
}

/// Metrics and rounds of each of many runs: somewhat more than those of the profile `quick`.
pub(crate) const OF_MANY: Scene = Scene {
    runs: 100,
    metrics: 24,
    rounds: 9,
    operands: Operands::Halves,
    faster: 1.0,
    limit_ms: Some(1000.0),
};

/// The same runs, one against each of the others.
pub(crate) const EACH_OF_MANY: Scene = Scene {
    operands: Operands::LatestAndEach,
    ..OF_MANY
};

const SCENES: [Scene; 4] = [
    Scene {
        runs: 2,
        metrics: 100,
        rounds: MOST_ROUNDS,
        limit_ms: Some(50.0),
        ..OF_MANY
    },
    // So few rounds are exchanged in every way that there is, for each metric that seems to differ.
    Scene {
        runs: 2,
        metrics: 100,
        rounds: 9,
        faster: 1.1,
        limit_ms: None,
        ..OF_MANY
    },
    OF_MANY,
    EACH_OF_MANY,
];

/// Makes the runs, compares them again and again, and prints the medians.
pub(crate) fn run(root: &Path, binaries: &[&str]) -> anyhow::Result<()> {
    let binaries: Vec<PathBuf> = match binaries {
        [] => vec![asked::binary(root, None)?],
        some => some
            .iter()
            .map(|binary| asked::binary(root, Some(Path::new(binary))))
            .collect::<anyhow::Result<_>>()?,
    };
    let dir = target_dir(root).join("comparison");
    let mut slow = Vec::new();
    say!(
        "medians of {REPETITIONS} in turn\n\n\
         | compared | by | wall | CPU | limit |\n|---|---|---|---|---|"
    );
    for scene in &SCENES {
        std::fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
        let times = scene.times(&binaries, &dir);
        std::fs::remove_dir_all(&dir).with_context(|| format!("remove `{}`", dir.display()))?;
        let times = times?;
        let what = scene.words();
        for (number, (by, [wall, cpu])) in times.iter().enumerate() {
            let limit = scene.limit_ms.filter(|_| number == 0);
            let shown = limit.map_or_else(|| "-".to_owned(), |limit| format!("{limit} ms"));
            say!("| {what} | {by} | {wall:.1} ms | {cpu:.1} ms | {shown} |");
            if limit.is_some_and(|limit| *wall > limit) {
                slow.push(what.clone());
            }
        }
    }
    if slow.is_empty() {
        return Ok(());
    }
    bail!(
        "over the limit: {}\nhint: on a busy machine this says nothing; try again when it is quiet",
        slow.join("; ")
    )
}

impl Scene {
    /// As the table has it.
    pub(crate) fn words(&self) -> String {
        let Self {
            runs,
            metrics,
            rounds,
            ..
        } = self;
        let runs = match self.operands {
            Operands::Halves if *runs == 2 => "two runs".to_owned(),
            Operands::Halves => format!("{0} runs against {0}", runs / 2),
            Operands::LatestAndEach => format!("one run against each of {}", runs - 1),
        };
        let differing = if self.faster > 1.0 {
            ", all 10 % apart"
        } else {
            ""
        };
        format!("{runs}, {metrics} metrics, {rounds} rounds{differing}")
    }

    /// The sides by the numbers of their runs, the base first.
    fn sides(&self) -> Vec<Vec<u32>> {
        match self.operands {
            Operands::Halves => {
                let half = self.runs / 2;
                vec![(0..half).collect(), (half..self.runs).collect()]
            }
            Operands::LatestAndEach => (0..self.runs).rev().map(|run| vec![run]).collect(),
        }
    }

    /// The sides as the command is given them, the base first.
    pub(crate) fn labels(&self) -> Vec<String> {
        let sides = self.sides().into_iter();
        let labels = |side: Vec<u32>| side.into_iter().map(label).collect::<Vec<_>>().join(",");
        sides.map(labels).collect()
    }

    /// Wall and CPU time in milliseconds, of each binary and of the call that judges.
    fn times(&self, binaries: &[PathBuf], dir: &Path) -> anyhow::Result<Vec<(String, [f64; 2])>> {
        let runs = self.prepare(&binaries[0], dir)?;
        let mut times = self.measure(binaries, dir)?;
        times.push(self.judge(&runs)?);
        let by = binaries.iter().map(|binary| binary.display().to_string());
        let by = by.chain(["the call alone".to_owned()]);
        Ok(by.zip(times).collect())
    }

    /// Puts the runs into a store in `dir`, and hands them out.
    pub(crate) fn prepare(&self, binary: &Path, dir: &Path) -> anyhow::Result<Vec<Run>> {
        let store = |words: &[&str]| -> anyhow::Result<String> {
            output(command(dir, binary).args(words).args(["--store", "one.db"]))
        };
        store(&[
            "run", "os.pipe", "--copies", "1", "--passes", "1", "--quiet",
        ])?;
        let one: Value = serde_json::from_str(&store(&["export"])?).context("read an export")?;
        let mut runs = Vec::new();
        let mut import = command(dir, binary);
        import.args(["import", "--store", "many.db"]);
        for number in 0..self.runs {
            let file = dir.join(format!("{}.json", label(number)));
            let text = self.many(&one, number)?.to_string();
            std::fs::write(&file, &text).with_context(|| format!("write `{}`", file.display()))?;
            import.arg(&file);
            runs.push(store::export::read(&text)?);
        }
        ensure!(succeeds(&mut import), "import the runs");
        Ok(runs)
    }

    /// An exported run with one round, as the one of this number with many cases and rounds around the same value.
    fn many(&self, one: &Value, number: u32) -> anyhow::Result<Value> {
        let mut record = one.clone();
        let run = &mut record["run"];
        let (case, round) = (run["plan"]["cases"][0].clone(), run["rounds"][0].clone());
        let quantity = case["metrics"][0]["quantity"].as_str().map(str::to_owned);
        let quantity = quantity.context("the export has no metric")?;
        let typical = round["outcome"]["done"]["values"][&quantity].as_f64();
        let typical = typical.context("the export has no value")?;
        let times = if number < self.runs / 2 {
            1.0
        } else {
            self.faster
        };
        let mut rng = Rng::new(u64::from(number) + 1);
        let mut near = |share: f64| times * typical * (share * rng.normal()).exp();
        let ids: Vec<String> = (0..self.metrics)
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
        for pass in 1..=self.rounds {
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
        run["meta"]["id"] = json!(format!(
            "20260101-{:02}{:02}00-aaaa",
            number / 60,
            number % 60
        ));
        run["meta"]["label"] = json!(label(number));
        let earlier = u64::from(self.runs - number) * HOUR;
        set_back(run, earlier).context("the export has no times")?;
        Ok(record)
    }

    /// What the whole command takes, for each binary.
    fn measure(&self, binaries: &[PathBuf], dir: &Path) -> anyhow::Result<Vec<[f64; 2]>> {
        let words = self.labels();
        let mut times = vec![Times::default(); binaries.len()];
        // The first time is not counted: it fills the page cache.
        for repetition in 0..=REPETITIONS {
            for (binary, times) in binaries.iter().zip(&mut times) {
                let mut compare = command(dir, binary);
                compare.arg("compare").args(&words);
                compare.args(["--store", "many.db"]);
                let taken = taken(sys::process::usage_children, || succeeds(&mut compare));
                ensure!(taken.2, "`{} compare` failed", binary.display());
                times.count(repetition, &taken);
            }
        }
        times.iter().map(Times::medians).collect()
    }

    /// What it takes to judge, with every run to show what runs of the machine differ by.
    fn judge(&self, runs: &[Run]) -> anyhow::Result<[f64; 2]> {
        let options = CompareOptions {
            earlier: runs,
            ..CompareOptions::default()
        };
        let of_side = |side: &Vec<u32>| -> Vec<&Run> {
            side.iter().map(|&number| &runs[number as usize]).collect()
        };
        let sides: Vec<Vec<&Run>> = self.sides().iter().map(of_side).collect();
        let (base, others) = sides.split_first().context("nothing is compared")?;
        let mut times = Times::default();
        for repetition in 0..=REPETITIONS {
            let taken = taken(sys::process::usage_self, || {
                let found = stats::compare_each(base, others, &options).into_iter();
                let metrics = found.flat_map(|comparison| comparison.metrics);
                let without = metrics.filter(|metric| metric.interval.is_none());
                without.count() == 0
            });
            ensure!(taken.2, "a metric has no interval");
            times.count(repetition, &taken);
        }
        times.medians()
    }
}

/// Wall and CPU times in milliseconds.
#[derive(Clone, Default)]
struct Times {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Times {
    /// Keeps what something took, but for the first time.
    fn count(&mut self, repetition: usize, taken: &(u64, Usage, bool)) {
        if repetition > 0 {
            self.wall.push(approx(taken.0) / 1e6);
            self.cpu.push(approx(taken.1.user + taken.1.system) / 1e6);
        }
    }

    fn medians(&self) -> anyhow::Result<[f64; 2]> {
        let median = |times| stats::quantile::median(times).context("nothing was measured");
        Ok([median(&self.wall)?, median(&self.cpu)?])
    }
}

/// What `work` took, in ns and by what `used` says, and what came of it.
fn taken(used: fn() -> Usage, work: impl FnOnce() -> bool) -> (u64, Usage, bool) {
    let before = used();
    let start = sys::clock::monotonic();
    let done = work();
    let took = sys::clock::monotonic() - start;
    (took, used().since(before), done)
}

pub(crate) fn label(number: u32) -> String {
    format!("r{number}")
}

/// Moves a run back in time, and takes out of its rounds what other programs did meanwhile: verdicts in doubt would end
/// the command otherwise.
fn set_back(run: &mut Value, by: u64) -> Option<()> {
    let earlier = |at: &mut Value| -> Option<()> {
        *at = json!(at.as_u64()?.checked_sub(by)?);
        Some(())
    };
    earlier(&mut run["meta"]["started"])?;
    earlier(&mut run["meta"]["finished"])?;
    for round in run["rounds"].as_array_mut()? {
        earlier(&mut round["started"])?;
        for share in ["foreign_cpu_share", "psi_memory_share", "throttled_share"] {
            let share = &mut round["noise"][share];
            if !share.is_null() {
                *share = json!(0.0);
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::export;

    fn one() -> Value {
        let mut one: Value = serde_json::from_str(&export()).unwrap();
        let start = 1_795_221_791_000_000_000_u64;
        for at in ["started", "finished"] {
            one["run"]["meta"][at] = json!(start);
        }
        one["run"]["rounds"][0]["started"] = json!(start);
        one["run"]["rounds"][0]["noise"]["foreign_cpu_share"] = json!(0.5);
        one
    }

    #[test]
    fn one_round_becomes_a_run_of_many_cases() {
        let scene = &SCENES[0];
        let made = scene.many(&one(), 0).unwrap();
        let run: Run = store::export::read(&made.to_string()).unwrap();
        assert_eq!((run.plan.cases.len(), run.rounds.len()), (100, 2800));
        assert_eq!(run.plan.cases[9].id.to_string(), "f1.test-9@1");
        assert_eq!(run.plan.cases[9].metrics.len(), 1);
        let last = &run.rounds[2799];
        assert_eq!((last.seq, last.pass), (2800, 28));
        assert_eq!(last.noise.foreign_cpu_share, Some(0.0));
        let rounds = &made["run"]["rounds"];
        let done = &rounds[2799]["outcome"]["done"];
        let value = done["values"]["ops_per_s"].as_f64().unwrap();
        assert!((80.0..125.0).contains(&value));
        assert_eq!(done["windows"].as_array().unwrap().len(), 2);
        assert_ne!(&scene.many(&one(), 1).unwrap()["run"]["rounds"], rounds);
        assert!(scene.many(&json!({"run": {}}), 1).is_err());
    }

    #[test]
    fn every_run_has_an_hour_of_its_own_and_later_ones_may_be_faster() {
        let scene = &SCENES[1];
        let made = [0, 1].map(|number| {
            let made = scene.many(&one(), number).unwrap();
            store::export::read(&made.to_string()).unwrap()
        });
        let apart = made[1].meta.started.0 - made[0].meta.started.0;
        assert_eq!(apart, HOUR);
        assert_ne!(made[0].meta.id, made[1].meta.id);
        let found = stats::compare(&made[0], &made[1], &CompareOptions::default());
        let ratio = found.metrics[0].ratio.unwrap();
        assert!((1.05..1.15).contains(&ratio), "{ratio}");
    }

    #[test]
    fn every_run_is_compared_and_none_with_itself() {
        for scene in &SCENES {
            let sides = scene.sides();
            let mut all: Vec<u32> = sides.concat();
            all.sort_unstable();
            assert_eq!(all, (0..scene.runs).collect::<Vec<_>>());
        }
        assert_eq!(SCENES[0].sides(), [[0], [1]]);
        assert_eq!(SCENES[2].sides()[1][0], 50);
        assert_eq!(SCENES[3].sides()[..2], [[99], [98]]);
    }
}
