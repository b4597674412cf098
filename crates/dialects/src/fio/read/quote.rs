//! Figures of what was read: one of each job or group and direction.

use super::{Job, Output, params};
use crate::figures::{Figure, Figures, LeftOut, tell_apart};
use crate::fio::result::{Direction, Latency, LatencyShares, SHARE_ENDS};
use model::num::approx;
use model::spec::{Better, MetricClass, Nature};
use model::units::Unit;
use std::collections::BTreeMap;

/// Numbers from here on are counters that went below zero.
const TOO_LARGE: f64 = 9.2e18;

/// So much of a name goes into names of tests.
const NAME_CHARS: usize = 60;

/// Appends the figures of an output.
pub(super) fn figures(
    index: usize,
    output: &Output,
    figures: &mut Vec<Figures>,
    left_out: &mut Vec<LeftOut>,
) {
    let first = figures.len();
    let mut of_name: BTreeMap<(&str, u32), u32> = BTreeMap::new();
    for job in &output.jobs {
        *of_name
            .entry((&job.result.name, job.result.group))
            .or_default() += 1;
    }
    for job in &output.jobs {
        let result = &job.result;
        let mut leave = |what: &str| {
            let name = super::short(&result.name);
            let what = format!("job `{name}` of fio: {what}");
            let line = job.line;
            left_out.push(LeftOut { line, what });
        };
        if result.error != 0 {
            leave(&format!("it failed with error {}", result.error));
            continue;
        }
        let directions: Vec<_> = result.directions().collect();
        if directions.is_empty() {
            leave("no rates");
            continue;
        }
        // Which tests a job is depends on how many directions it has.
        if params::value(&result.options, "rw").is_none() && !job.is_whole {
            leave("it is cut before its end: whether another direction follows is not known");
            continue;
        }
        for (direction, found) in &directions {
            if let Some(what) = contradiction(found, params::block(&result.options)) {
                leave(&format!("{direction}: {what}; its rates are left out"));
            }
        }
        let is_one = of_name.get(&(&result.name, result.group)) == Some(&1);
        let numjobs = params::value(&result.options, "numjobs").filter(|_| is_one);
        let copies = result.members.or_else(|| numjobs?.parse().ok());
        let copies = copies.filter(|copies| *copies > 0).unwrap_or(1);
        let name = format!("fio.{}", slug(&result.name));
        let of_job = OfJob {
            index,
            output,
            job,
            name,
            copies,
        };
        of_job.append(&directions, figures);
    }
    tell_apart(&mut figures[first..]);
}

/// Lowercase letters, digits and `-`.
fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(NAME_CHARS) {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let name = out.trim_end_matches('-');
    if name.is_empty() { "job" } else { name }.to_owned()
}

struct OfJob<'a> {
    index: usize,
    output: &'a Output,
    job: &'a Job,
    name: String,
    copies: u32,
}

impl OfJob<'_> {
    fn append(&self, directions: &[(&str, &Direction)], figures: &mut Vec<Figures>) {
        let result = &self.job.result;
        let options = &result.options;
        let rw = params::value(options, "rw");
        let is_mixed = rw.is_some_and(|rw| rw.ends_with("rw") || rw.contains("trimwrite"));
        let is_split = directions.len() > 1 || (directions[0].0 != "mixed" && is_mixed);
        let sync_at = directions
            .iter()
            .position(|(name, _)| *name == "write")
            .unwrap_or(0);
        let mode = result.shares.as_ref().and_then(mode);
        for (at, (direction, found)) in directions.iter().enumerate() {
            let mut values = values(found, params::block(options));
            if at == sync_at
                && let Some(sync) = &result.sync
            {
                latency("sync", sync, &mut values);
            }
            if !is_split {
                values.extend(mode.clone().into_iter().flatten());
            }
            let (suffix, words) = if is_split {
                (format!("-{direction}"), format!(", {direction}"))
            } else {
                (String::new(), String::new())
            };
            let ours =
                (!is_split && *direction != "mixed").then(|| params::ours(options, self.copies));
            self.one(&suffix, &words, values, ours.flatten(), figures);
        }
        if let Some(mode) = mode.filter(|_| is_split) {
            // The histogram is of all directions together.
            self.one("", "", mode.into(), None, figures);
        }
    }

    fn one(
        &self,
        suffix: &str,
        words: &str,
        values: Vec<Figure>,
        ours: Option<crate::figures::Ours>,
        figures: &mut Vec<Figures>,
    ) {
        let options = &self.job.result.options;
        let shown: Vec<String> = ["rw", "bs", "ioengine", "iodepth"]
            .into_iter()
            .filter_map(|key| {
                Some(format!(
                    "{key}={}",
                    super::short(params::value(options, key)?)
                ))
            })
            .collect();
        let colon = if shown.is_empty() { "" } else { ": " };
        let name = match super::short(&self.job.result.name) {
            name if name.is_empty() => self.name.clone(),
            name => name,
        };
        let title = format!("{name}{colon}{}{words}", shown.join(", "));
        let values: Vec<Figure> = values
            .into_iter()
            .filter(|figure| (0.0..TOO_LARGE).contains(&figure.value))
            .collect();
        if values.is_empty() {
            return;
        }
        figures.push(Figures {
            cut_short: None,
            output: self.index,
            version: self.output.version.clone(),
            when: self.output.when,
            test: format!("{}{suffix}", self.name),
            title,
            copies: self.copies,
            nature: Nature::Storage,
            params: params::told(options),
            values,
            ours,
        });
    }
}

/// Below these a rate is printed with too few digits to be held against another: operations and bytes per second.
const COMPARABLE: [f64; 2] = [50.0, 50.0 * 1024.0];

/// What two rates that follow from one another may differ by.
const ROUNDED: f64 = 0.05;

/// How operations and bytes per second contradict each other, where all blocks have this size; `None` where they agree.
fn contradiction(direction: &Direction, block: Option<f64>) -> Option<String> {
    let (iops, bw) = (direction.iops, direction.bw_bytes_per_s);
    let implied = iops * block?;
    let told = iops >= COMPARABLE[0] && bw >= COMPARABLE[1];
    let differ = (implied - bw).abs() > ROUNDED * implied.max(bw);
    (told && differ).then(|| {
        format!("{iops} operations/s of its blocks are {implied} bytes/s, and it says {bw}")
    })
}

fn values(direction: &Direction, block: Option<f64>) -> Vec<Figure> {
    let rate = |quantity, unit, value| Figure::rate(quantity, unit, MetricClass::Throughput, value);
    let mut values = vec![
        rate("iops", Unit::OpsPerSecond, direction.iops),
        rate(
            "bw_bytes_per_s",
            Unit::BytesPerSecond,
            direction.bw_bytes_per_s,
        ),
    ];
    if contradiction(direction, block).is_some() {
        values.clear();
    }
    for (name, found) in [
        ("clat", &direction.clat),
        ("lat", &direction.lat),
        ("slat", &direction.slat),
    ] {
        if let Some(found) = found {
            latency(name, found, &mut values);
        }
    }
    values
}

fn latency(name: &str, found: &Latency, values: &mut Vec<Figure>) {
    let mut time = |key: &str, class, ns| {
        values.push(Figure::time(format!("{name}_ns_{key}"), class, ns));
    };
    time("mean", MetricClass::LatencyTypical, found.mean_ns);
    let mut last = 0.0;
    for (percent, ns) in &found.percentiles {
        // They rise, and each comes once.
        if *percent <= last {
            continue;
        }
        last = *percent;
        let class = match *percent {
            ..90.0 => MetricClass::LatencyTypical,
            90.0..99.9 => MetricClass::LatencyTail,
            _ => MetricClass::LatencyExtreme,
        };
        time(&percentile(*percent), class, approx(*ns));
    }
    time("max", MetricClass::LatencyExtreme, approx(found.max_ns));
}

/// `p50`, `p99`, `p999` for 99.9; `p9_5` for 9.5, for `p95` is another.
fn percentile(percent: f64) -> String {
    let digits = percent.to_string();
    let point = if percent < 10.0 { "_" } else { "" };
    format!("p{}", digits.replace('.', point))
}

/// The end of the class of the histogram in which most latencies lie, with their share; `None` where a class that was
/// not seen could hold more, or that class has no end.
fn mode(shares: &LatencyShares) -> Option<[Figure; 2]> {
    let ends = || SHARE_ENDS.into_iter().chain([2000, u64::MAX]);
    let classes = [
        (shares.ns.as_ref().map_or(&[][..], |cells| &cells[..]), 1),
        (&shares.us[..], 1_000),
        (&shares.ms[..], 1_000_000),
    ];
    let all = classes
        .into_iter()
        .flat_map(|(cells, unit)| cells.iter().zip(ends().map(move |end| (end, unit))));
    let sum: f64 = all.clone().map(|(share, _)| share).sum();
    let (share, (end, unit)) =
        all.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
    if *share <= 100.0 - sum || end == u64::MAX {
        return None;
    }
    let share = Figure {
        quantity: "lat_mode_share".to_owned(),
        unit: Unit::Share,
        better: Better::Higher,
        class: MetricClass::LatencyTypical,
        value: share / 100.0,
    };
    let end = approx(end.saturating_mul(unit));
    Some([
        Figure::time("lat_ns_mode", MetricClass::LatencyTypical, end),
        share,
    ])
}
