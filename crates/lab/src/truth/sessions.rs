//! Sessions of the program as experiments hold them, and what is read off their documents.

use super::book::Book;
use super::lab::{Call, Lab, Running};
use super::score;
use anyhow::{Context, bail, ensure};
use model::plan::{MetricId, PlannedMetric};
use model::record::{Outcome, Run};
use model::spec::Better;
use model::units::Unit;
use serde_json::Value;
use stats::quantile;

/// The conclusion about the first rate of a test, as the comparison's document has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// The metric.
    pub(crate) id: String,
    /// Other over base; above 1 is better.
    pub(crate) ratio: f64,
    /// The ends of its interval.
    pub(crate) ends: (f64, f64),
    /// The word.
    pub(crate) verdict: String,
    /// The word after correcting for the number of metrics.
    pub(crate) adjusted: String,
    /// Rounds on a side.
    pub(crate) n: u64,
    /// Differences below this share count as the same.
    pub(crate) margin: f64,
}

/// A duel that has ended.
#[derive(Debug)]
pub(crate) struct Duel {
    /// The conclusion.
    pub(crate) finding: Finding,
    /// Side A's run.
    pub(crate) a: Run,
    /// Side B's run.
    pub(crate) b: Run,
}

impl Finding {
    /// Whether it says better or worse, however carefully.
    pub(crate) fn has_direction(&self) -> bool {
        ["better", "worse", "better?", "worse?"].contains(&self.adjusted.as_str())
    }

    /// Whether it says worse, however carefully.
    pub(crate) fn is_worse(&self) -> bool {
        ["worse", "worse?"].contains(&self.adjusted.as_str())
    }
}

impl Duel {
    /// The standard deviation of a round's value beside its partner, as a share; `None` below two pairs.
    pub(crate) fn deviation(&self) -> Option<f64> {
        score::pair_deviation(&rates(&self.a)?, &rates(&self.b)?)
    }
}

/// Every rate of the one comparison in `document`.
pub(crate) fn findings(document: &Value) -> anyhow::Result<Vec<Finding>> {
    let metrics = document["others"][0]["metrics"]
        .as_array()
        .context("the comparison has no metrics")?;
    let rates = metrics.iter().filter(|metric| {
        metric["better"] == "higher"
            && (metric["unit"] == "ops_per_s" || metric["unit"] == "bytes_per_s")
    });
    rates.map(finding).collect()
}

fn finding(metric: &Value) -> anyhow::Result<Finding> {
    let id = metric["id"]
        .as_str()
        .context("a metric has no id")?
        .to_owned();
    let number = |key: &str| {
        metric[key]
            .as_f64()
            .with_context(|| format!("`{id}` has no `{key}`"))
    };
    let word = |key: &str| -> anyhow::Result<String> {
        let word = metric[key].as_str();
        Ok(word
            .with_context(|| format!("`{id}` has no `{key}`"))?
            .to_owned())
    };
    Ok(Finding {
        ratio: number("ratio")?,
        ends: (number("lo")?, number("hi")?),
        verdict: word("verdict")?,
        adjusted: word("adjusted")?,
        n: metric["n"]["base"]
            .as_u64()
            .context("a metric has no rounds")?,
        margin: number("margin")?,
        id,
    })
}

/// Holds a duel; `call` says where, `sides` what is done to each side before its rounds.
pub(crate) fn duel(
    lab: &Lab,
    book: &Book,
    label: &str,
    call: &Call<'_>,
    sides: [&str; 2],
) -> anyhow::Result<Duel> {
    let running = start_duel(lab, book, call, sides)?;
    end_duel(lab, book, label, call, &running.wait()?)
}

/// Starts a duel, for those who have something to do meanwhile.
pub(crate) fn start_duel(
    lab: &Lab,
    book: &Book,
    call: &Call<'_>,
    [a, b]: [&str; 2],
) -> anyhow::Result<Running> {
    let mut call = call.clone();
    call.args.insert(0, "duel".to_owned());
    let more = [
        "--a-cmd", a, "--b-cmd", b, "--copies", "1", "--json", "--quiet",
    ];
    lab.start(book, &call.with(&more))
}

/// What the duel said that printed `text`.
pub(crate) fn end_duel(
    lab: &Lab,
    book: &Book,
    label: &str,
    call: &Call<'_>,
    text: &str,
) -> anyhow::Result<Duel> {
    let document: Value = serde_json::from_str(text).context("read what a duel printed")?;
    book.document(label, &document);
    let id = |run: &Value| -> anyhow::Result<String> {
        Ok(run["id"].as_str().context("a run has no id")?.to_owned())
    };
    let a = lab.run(&call.store, &id(&document["base"])?)?;
    let b = lab.run(&call.store, &id(&document["others"][0]["run"])?)?;
    for run in [&a, &b] {
        no_round_failed(run)?;
    }
    let mut all = findings(&document)?;
    ensure!(!all.is_empty(), "the duel compared no rate");
    Ok(Duel {
        finding: all.remove(0),
        a,
        b,
    })
}

/// A failed round is a failed experiment, and its reason is what somebody wants to read then.
pub(crate) fn no_round_failed(run: &Run) -> anyhow::Result<()> {
    for round in &run.rounds {
        if let Outcome::Failed(failure) = &round.outcome {
            bail!("round {} of `{}` failed: {failure}", round.seq, round.case);
        }
    }
    Ok(())
}

/// The first metric of the run's only case that is a rate.
pub(crate) fn main_metric(run: &Run) -> Option<MetricId> {
    let case = run.plan.cases.first()?;
    let rate = |metric: &&PlannedMetric| {
        metric.better == Better::Higher
            && matches!(metric.unit, Unit::OpsPerSecond | Unit::BytesPerSecond)
    };
    let metric = case.metrics.iter().find(rate)?;
    Some(MetricId {
        case: case.id.clone(),
        quantity: metric.quantity.clone(),
    })
}

/// The main metric's value in each round.
pub(crate) fn rates(run: &Run) -> Option<Vec<f64>> {
    Some(stats::rounds::values(run, &main_metric(run)?))
}

/// Operations per second of CPU time, over all rounds: what the machine was worth while it was ours. `None` where no
/// CPU time was used.
pub(crate) fn work_per_cpu_second(run: &Run) -> Option<f64> {
    let copies = run.rounds.iter().filter_map(|round| match &round.outcome {
        Outcome::Done(measured) => Some(&measured.copies),
        Outcome::Failed(_) => None,
    });
    let (mut work, mut seconds) = (0.0, 0.0);
    for copy in copies.flatten() {
        work += copy.work;
        seconds += copy.user.as_secs_f64() + copy.system.as_secs_f64();
    }
    (seconds > 0.0).then(|| work / seconds)
}

/// The median of a share that the noise vector of each round has.
pub(crate) fn noise_median(
    run: &Run,
    share: impl Fn(&model::noise::Noise) -> Option<f64>,
) -> Option<f64> {
    let shares: Vec<f64> = run
        .rounds
        .iter()
        .filter_map(|round| share(&round.noise))
        .collect();
    quantile::median(&shares)
}

/// What a soak says, as its document has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Soak {
    /// The sentence.
    pub(crate) sentence: String,
    /// Everything that is said, the most telling first.
    pub(crate) findings: Vec<String>,
    /// What is known about credit.
    pub(crate) throttle: String,
    /// Burst rate, sustained rate and credit: in CPU seconds where CPU time was lent, else in operations of the disk or
    /// the test, or in what bandwidth was asked for in.
    pub(crate) bucket: Option<[f64; 3]>,
    /// The period in seconds, where one is named.
    pub(crate) period: Option<f64>,
    /// Median, 10th percentile and mean of the windows.
    pub(crate) levels: Option<[f64; 3]>,
    /// The share of windows below 90 % of the typical one.
    pub(crate) slow_share: Option<f64>,
}

/// The bytes of a block that the disk tests read.
const BLOCK: f64 = 4096.0;

/// What the document of a run says of its soak, bandwidth as operations: the throttles of a disk count those.
pub(crate) fn soak_of(document: &Value) -> anyhow::Result<Soak> {
    soak_in(document, BLOCK)
}

/// The same with bandwidth in units of so many bytes.
pub(crate) fn soak_in(document: &Value, bytes: f64) -> anyhow::Result<Soak> {
    let soak = &document["soak"];
    ensure!(soak.is_object(), "the document has no soak");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_bandwidth = soak["unit"] == "bytes_per_s";
    let unit = if is_bandwidth { bytes } else { 1.0 };
    let figures = |part: &Value, keys: [&str; 3]| -> Option<[f64; 3]> {
        let [a, b, c] = keys.map(|key| part[key].as_f64().map(|value| value / unit));
        Some([a?, b?, c?])
    };
    let throttle = &soak["throttle"];
    let worth = throttle["per_cpu_second"].as_f64();
    let worth = worth.map_or(1.0, |worth| worth / unit);
    let cause = throttle.get("cause").filter(|cause| cause.is_string());
    let findings = soak["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let periodic = findings.iter().find(|one| one["kind"] == "periodic");
    let bucket = figures(throttle, ["burst_rate", "sustained_rate", "credit"]);
    Ok(Soak {
        sentence: text(&soak["sentence"]),
        findings: findings.iter().map(|one| text(&one["kind"])).collect(),
        throttle: text(cause.unwrap_or(&throttle["state"])),
        bucket: bucket.map(|figures| figures.map(|figure| figure / worth)),
        period: soak["fine_period"]["seconds"]
            .as_f64()
            .or_else(|| periodic?["seconds"].as_f64()),
        levels: figures(&soak["levels"], ["typical", "floor", "mean"]),
        slow_share: soak["levels"]["slow_share"].as_f64(),
    })
}

/// The call of a soak of `seconds` with windows of `window` (such as `100ms`).
pub(crate) fn soak_call<'a>(store: &str, test: &str, seconds: u64, window: &str) -> Call<'a> {
    let span = format!("{seconds}s");
    let args = [
        "soak", test, "--for", &span, "--window", window, "--copies", "1", "--json", "--quiet",
    ];
    Call::new(store, &args)
}

/// A figure where there is one, and `-` where there is none.
pub(crate) fn or_dash(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.4}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rates_alone_are_findings() {
        let metric = |id: &str, unit: &str, better: &str| {
            json!({"id": id, "unit": unit, "better": better, "ratio": 0.95, "lo": 0.94, "hi": 0.96,
                "verdict": "worse", "adjusted": "worse?", "n": {"base": 6}, "margin": 0.02})
        };
        let metrics = [
            metric("a@1:iops", "ops_per_s", "higher"),
            metric("a@1:lat_ns_p50", "ns", "lower"),
        ];
        let found = findings(&json!({"others": [{"metrics": metrics}]})).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].is_worse() && found[0].n == 6 && found[0].verdict == "worse");
        assert!(findings(&json!({})).is_err());
    }

    #[test]
    fn a_soak_is_read_in_operations() {
        let document = json!({"soak": {
            "unit": "bytes_per_s", "sentence": "s", "findings": [{"kind": "burst"}],
            "throttle": {"state": "seen", "cause": "token_bucket", "burst_rate": 409_600.0, "sustained_rate": 40_960.0,
                "credit": 4_096_000.0},
            "fine_period": {"seconds": 10.0},
            "levels": {"typical": 4096.0, "floor": 4096.0, "mean": 4096.0, "slow_share": 0.0}
        }});
        let soak = soak_of(&document).unwrap();
        assert_eq!(soak.bucket, Some([100.0, 10.0, 1000.0]));
        let of_time = json!({"soak": {"unit": "ops_per_s", "throttle": {
            "burst_rate": 60.0, "sustained_rate": 20.0, "credit": 800.0, "per_cpu_second": 100.0,
        }}});
        assert_eq!(soak_of(&of_time).unwrap().bucket, Some([0.6, 0.2, 8.0]));
        assert_eq!(
            (soak.period, soak.throttle.as_str()),
            (Some(10.0), "token_bucket")
        );
        assert!(soak_of(&json!({"soak": null})).is_err());
    }
}
