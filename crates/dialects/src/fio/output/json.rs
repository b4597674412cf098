//! fio's JSON, as version 3.33 prints it.

use super::bins;
use super::layout::{Pairs, to_text};
use crate::fio::result::{
    Direction, DiskUse, Idleness, JobResult, Kept, Latency, LatencyShares, LatencyTarget,
    Prioritized, Report, SHARE_ENDS, Samples, SteadyResult,
};
use model::num::{approx, round_to_u64};
use serde::Serialize;

/// `--output-format=json`, or `json+` with histograms.
pub fn json(report: &Report, with_bins: bool) -> String {
    let finished = report.finished.as_ref();
    let millis = finished.map(|finished| finished.at.0 / 1_000_000);
    to_text(&Root {
        version: report.version.as_deref().unwrap_or_default(),
        timestamp: millis.unwrap_or(0) / 1000,
        timestamp_ms: millis.unwrap_or(0),
        time: finished.map_or("", |finished| &finished.local),
        global_options: (!report.global_options.is_empty())
            .then(|| Pairs(report.global_options.clone())),
        jobs: report
            .jobs
            .iter()
            .map(|job| JobJson::of(job, with_bins))
            .collect(),
        disk_util: report.disks.iter().map(DiskJson::of).collect(),
        cpu_idleness: report.idleness.as_ref().map(idleness),
        kurabe: report.kept.as_ref(),
    })
}

/// fio's keys: each CPU has one of its own.
fn idleness(idleness: &Idleness) -> Pairs<f64> {
    let cpus = idleness.cpus.iter();
    let cpus = cpus.map(|(cpu, idle)| (format!("cpu-{cpu}"), *idle));
    let (mean, stddev) = idleness.unit_us;
    let first = ("system".to_owned(), idleness.system_percent);
    let unit = [("unit_mean", mean), ("unit_stddev", stddev)];
    let unit = unit.map(|(name, value)| (name.to_owned(), value));
    Pairs(std::iter::once(first).chain(cpus).chain(unit).collect())
}

#[derive(Serialize)]
struct Root<'a> {
    #[serde(rename = "fio version")]
    version: &'a str,
    timestamp: u64,
    timestamp_ms: u64,
    time: &'a str,
    #[serde(rename = "global options", skip_serializing_if = "Option::is_none")]
    global_options: Option<Pairs<String>>,
    jobs: Vec<JobJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disk_util: Vec<DiskJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_idleness: Option<Pairs<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kurabe: Option<&'a Kept>,
}

#[derive(Serialize)]
struct JobJson<'a> {
    jobname: &'a str,
    groupid: u32,
    error: i32,
    eta: u64,
    elapsed: u64,
    #[serde(rename = "job options")]
    options: Pairs<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<DirectionJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<DirectionJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trim: Option<DirectionJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<SyncJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mixed: Option<DirectionJson>,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    iodepth_level: Pairs<f64>,
    iodepth_submit: Pairs<f64>,
    iodepth_complete: Pairs<f64>,
    latency_ns: Pairs<f64>,
    latency_us: Pairs<f64>,
    latency_ms: Pairs<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_err: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_error: Option<i32>,
    latency_depth: u32,
    latency_target: u64,
    latency_percentile: f64,
    latency_window: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    desc: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steadystate: Option<SteadyJson<'a>>,
}

impl<'a> JobJson<'a> {
    fn of(job: &'a JobResult, with_bins: bool) -> Self {
        let apart = |direction: &Option<Direction>| {
            let direction = direction.clone().unwrap_or_default();
            (!job.is_mixed_only).then(|| DirectionJson::of(&direction, with_bins))
        };
        let cpu = job.cpu.unwrap_or_default();
        let depths = job.depths.unwrap_or_default();
        let shares = job.shares.or_else(|| shares(job)).unwrap_or_default();
        let target = job.target.unwrap_or(LatencyTarget {
            depth: 0,
            target_ns: 0,
            percentile: 100.0,
            window_ns: 0,
        });
        Self {
            jobname: &job.name,
            groupid: job.group,
            error: job.error,
            eta: 0,
            elapsed: job.elapsed_s.unwrap_or(0),
            options: Pairs(job.options.clone()),
            read: apart(&job.read),
            write: apart(&job.write),
            trim: apart(&job.trim),
            mixed: job
                .mixed
                .as_ref()
                .map(|mixed| DirectionJson::of(mixed, with_bins)),
            sync: (!job.is_mixed_only).then(|| SyncJson::of(job.sync.as_ref(), with_bins)),
            job_runtime: job.runtime_ms.unwrap_or(0),
            usr_cpu: cpu.user_percent.unwrap_or(0.0),
            sys_cpu: cpu.system_percent.unwrap_or(0.0),
            ctx: cpu.context_switches,
            majf: cpu.major_faults,
            minf: cpu.minor_faults,
            iodepth_level: classes(&["1", "2", "4", "8", "16", "32", ">=64"], &depths.level),
            iodepth_submit: classes(&TOGETHER, &depths.submit.unwrap_or_default()),
            iodepth_complete: classes(&TOGETHER, &depths.complete.unwrap_or_default()),
            latency_ns: by_end(&shares.ns.unwrap_or_default()),
            latency_us: by_end(&shares.us),
            latency_ms: by_end(&shares.ms),
            total_err: job.let_pass.map(|(total, _)| total),
            first_error: job.let_pass.map(|(_, first)| first),
            latency_depth: target.depth,
            latency_target: target.target_ns,
            latency_percentile: target.percentile,
            // fio prints the target in nanoseconds and the window in microseconds.
            latency_window: target.window_ns / 1000,
            desc: job.description.as_deref(),
            steadystate: job.steady_state.as_ref().map(SteadyJson::of),
        }
    }
}

const TOGETHER: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

/// The shares of total latency, or of completion where that is not taken.
pub(super) fn shares(job: &JobResult) -> Option<LatencyShares> {
    let directions = [&job.read, &job.write, &job.trim];
    let apart: Vec<&Direction> = directions.into_iter().flatten().collect();
    let all = if apart.is_empty() {
        job.mixed.iter().collect()
    } else {
        apart
    };
    let histograms: Vec<&[(u64, u64)]> = all
        .iter()
        .filter_map(|direction| direction.lat.as_ref().or(direction.clat.as_ref()))
        .map(|lat| &lat.bins[..])
        .collect();
    LatencyShares::of(&histograms)
}

fn classes(names: &[&str], shares: &[f64]) -> Pairs<f64> {
    Pairs(
        names
            .iter()
            .zip(shares)
            .map(|(name, share)| ((*name).to_owned(), *share))
            .collect(),
    )
}

fn by_end(shares: &[f64]) -> Pairs<f64> {
    let ends = SHARE_ENDS
        .iter()
        .map(u64::to_string)
        .chain(["2000".to_owned(), ">=2000".to_owned()]);
    Pairs(ends.zip(shares.iter().copied()).collect())
}

#[derive(Serialize)]
struct DirectionJson {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: LatencyJson,
    clat_ns: LatencyJson,
    lat_ns: LatencyJson,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prios: Vec<PriorityJson>,
    bw_min: u64,
    bw_max: u64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

impl DirectionJson {
    fn of(direction: &Direction, with_bins: bool) -> Self {
        let bw: Samples = direction.bw_samples.unwrap_or_default();
        let iops: Samples = direction.iops_samples.unwrap_or_default();
        Self {
            io_bytes: direction.io_bytes,
            io_kbytes: direction.io_bytes / 1024,
            bw_bytes: round_to_u64(direction.bw_bytes_per_s),
            bw: round_to_u64(direction.bw_bytes_per_s) / 1024,
            iops: direction.iops,
            runtime: direction.runtime_ms,
            total_ios: direction.total_ios.unwrap_or(0),
            short_ios: direction.short_ios.unwrap_or(0),
            drop_ios: direction.dropped_ios.unwrap_or(0),
            slat_ns: LatencyJson::of(direction.slat.as_ref(), with_bins),
            clat_ns: LatencyJson::of(direction.clat.as_ref(), with_bins),
            lat_ns: LatencyJson::of(direction.lat.as_ref(), with_bins),
            prios: direction
                .priorities
                .iter()
                .map(|one| PriorityJson::of(one, with_bins))
                .collect(),
            bw_min: round_to_u64(bw.min / 1024.0),
            bw_max: round_to_u64(bw.max / 1024.0),
            bw_agg: bw.share_percent.unwrap_or(0.0),
            bw_mean: bw.mean / 1024.0,
            bw_dev: bw.stddev / 1024.0,
            bw_samples: bw.count.unwrap_or(0),
            iops_min: round_to_u64(iops.min),
            iops_max: round_to_u64(iops.max),
            iops_mean: iops.mean,
            iops_stddev: iops.stddev,
            iops_samples: iops.count.unwrap_or(0),
        }
    }
}

#[derive(Serialize)]
struct PriorityJson {
    prioclass: u8,
    prio: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    clat_ns: Option<LatencyJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lat_ns: Option<LatencyJson>,
}

impl PriorityJson {
    fn of(one: &Prioritized, with_bins: bool) -> Self {
        let latency = || LatencyJson::of(Some(&one.latency), with_bins);
        Self {
            prioclass: one.priority.class,
            prio: one.priority.level,
            clat_ns: (!one.is_whole).then(latency),
            lat_ns: one.is_whole.then(latency),
        }
    }
}

#[derive(Serialize)]
struct LatencyJson {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<Pairs<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Pairs<u64>>,
}

impl LatencyJson {
    fn of(latency: Option<&Latency>, with_bins: bool) -> Self {
        let none = Latency::default();
        let latency = latency.unwrap_or(&none);
        let is_shown = !latency.percentiles.is_empty();
        let keyed = |(ns, count): (u64, u64)| (ns.to_string(), count);
        Self {
            min: latency.min_ns,
            max: latency.max_ns,
            mean: latency.mean_ns,
            stddev: latency.stddev_ns,
            n: latency.count.unwrap_or(0),
            percentile: is_shown.then(|| {
                Pairs(
                    latency
                        .percentiles
                        .iter()
                        .map(|(percent, ns)| (format!("{percent:.6}"), *ns))
                        .collect(),
                )
            }),
            bins: (is_shown && with_bins)
                .then(|| Pairs(bins::bins(&latency.bins).into_iter().map(keyed).collect())),
        }
    }
}

#[derive(Serialize)]
struct SyncJson {
    total_ios: u64,
    lat_ns: LatencyJson,
}

impl SyncJson {
    fn of(sync: Option<&Latency>, with_bins: bool) -> Self {
        Self {
            total_ios: sync.and_then(|sync| sync.count).unwrap_or(0),
            lat_ns: LatencyJson::of(sync, with_bins),
        }
    }
}

#[derive(Serialize)]
struct SteadyJson<'a> {
    ss: &'a str,
    duration: u64,
    attained: u8,
    criterion: &'a str,
    max_deviation: f64,
    slope: f64,
    data: SteadyData<'a>,
}

#[derive(Serialize)]
struct SteadyData<'a> {
    bw_mean: u64,
    iops_mean: u64,
    iops: &'a [u64],
    bw: &'a [u64],
}

impl<'a> SteadyJson<'a> {
    fn of(state: &'a SteadyResult) -> Self {
        let mean = |values: &[u64]| {
            let sum: f64 = values.iter().copied().map(approx).sum();
            if values.is_empty() {
                0
            } else {
                round_to_u64(sum / model::num::count(values.len()))
            }
        };
        Self {
            ss: &state.rule,
            duration: state.duration_s,
            attained: u8::from(state.is_attained),
            criterion: &state.criterion,
            max_deviation: state.max_deviation,
            slope: state.slope,
            data: SteadyData {
                bw_mean: mean(&state.bw_bytes_per_s),
                iops_mean: mean(&state.iops),
                iops: &state.iops,
                bw: &state.bw_bytes_per_s,
            },
        }
    }
}

#[derive(Serialize)]
struct DiskJson<'a> {
    name: &'a str,
    read_ios: u64,
    write_ios: u64,
    read_merges: u64,
    write_merges: u64,
    read_ticks: u64,
    write_ticks: u64,
    in_queue: u64,
    util: f64,
}

impl<'a> DiskJson<'a> {
    fn of(disk: &'a DiskUse) -> Self {
        Self {
            name: &disk.name,
            read_ios: disk.ios.0,
            write_ios: disk.ios.1,
            read_merges: disk.merges.0,
            write_merges: disk.merges.1,
            read_ticks: disk.ticks_ms.0,
            write_ticks: disk.ticks_ms.1,
            in_queue: disk.in_queue_ms,
            util: disk.util_percent,
        }
    }
}
