//! fio's JSON of any version since 2.0.10.
//!
//! Older versions print latencies in microseconds under `slat`, `clat`, `lat` and `io_bytes` in KiB; newer ones in
//! nanoseconds under `slat_ns` and so on, and bytes. Text around the JSON, several documents behind each other and keys
//! that stand twice are all found in the wild.

use super::ImportError;
use crate::fio::result::{
    Cpu, Depths, Direction, DiskUse, Finished, JobResult, Latency, LatencyShares, LatencyTarget,
    Report, Samples, SteadyResult,
};
use model::num::{approx, round_to_u64};
use model::units::UnixNanos;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Every document in `text` that has fio's jobs.
pub(super) fn read(text: &str) -> Result<Vec<Report>, ImportError> {
    let mut reports = Vec::new();
    let mut at = 0;
    while let Some(start) = next_object(text, at) {
        let rest = text.get(start..).unwrap_or_default();
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Root>();
        match documents.next() {
            Some(Ok(root)) => {
                at = start + documents.byte_offset().max(1);
                if let Some(report) = root.report() {
                    reports.push(report);
                }
            }
            // Cut off in the middle of fio's output: half of a result is none.
            Some(Err(error)) if error.is_eof() && rest.contains("\"fio version\"") => {
                return Err(ImportError::Json(error));
            }
            Some(Err(error)) if error.is_eof() => break,
            Some(Err(error)) if error.is_data() && rest.starts_with("{\n  \"fio version\"") => {
                return Err(ImportError::Json(error));
            }
            _ => at = start + documents.byte_offset().max(1),
        }
    }
    Ok(reports)
}

/// Where the next `{` is that begins a line, apart from blanks and marks of quotation.
fn next_object(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = text.get(at..)?.find('{') {
        let start = at + found;
        let line = text.get(..start)?.rsplit('\n').next().unwrap_or_default();
        if line.len() < 64
            && line
                .chars()
                .all(|c| c.is_whitespace() || matches!(c, '>' | '`' | '|'))
        {
            return Some(start);
        }
        at = start + 1;
    }
    None
}

/// Keys with values, in their order, those that stand twice twice.
#[derive(Debug)]
struct Pairs<V>(Vec<(String, V)>);

impl<V> Default for Pairs<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Visit<V> {
            type Value = Pairs<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Visit(PhantomData))
    }
}

/// A document; every key may be missing, and `jobs` decides whether it is fio's.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Root {
    #[serde(rename = "fio version")]
    version: Option<String>,
    timestamp: Option<u64>,
    timestamp_ms: Option<u64>,
    time: Option<String>,
    #[serde(rename = "global options")]
    global_options: Pairs<String>,
    jobs: Option<Vec<Job>>,
    client_stats: Option<Vec<Job>>,
    disk_util: Vec<Disk>,
}

impl Root {
    fn report(self) -> Option<Report> {
        let jobs = self.jobs.or(self.client_stats)?;
        let nanos = self.timestamp_ms.map_or_else(
            || self.timestamp.and_then(|s| s.checked_mul(1_000_000_000)),
            |ms| ms.checked_mul(1_000_000),
        );
        let finished = nanos.map(|at| Finished {
            at: UnixNanos(at),
            local: self.time.unwrap_or_default(),
        });
        Some(Report {
            version: self.version,
            finished,
            global_options: self.global_options.0,
            jobs: jobs.into_iter().map(Job::result).collect(),
            disks: self.disk_util.into_iter().map(Disk::into_use).collect(),
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Job {
    jobname: String,
    desc: Option<String>,
    groupid: u32,
    error: i32,
    elapsed: Option<u64>,
    #[serde(rename = "job options")]
    options: Pairs<String>,
    read: Option<Way>,
    write: Option<Way>,
    trim: Option<Way>,
    mixed: Option<Way>,
    sync: Option<Sync>,
    #[serde(rename = "job_runtime")]
    runtime: Option<u64>,
    usr_cpu: Option<f64>,
    sys_cpu: Option<f64>,
    ctx: Option<u64>,
    majf: Option<u64>,
    minf: Option<u64>,
    iodepth_level: Pairs<f64>,
    iodepth_submit: Pairs<f64>,
    iodepth_complete: Pairs<f64>,
    latency_ns: Pairs<f64>,
    latency_us: Pairs<f64>,
    latency_ms: Pairs<f64>,
    total_err: Option<u64>,
    first_error: Option<i32>,
    latency_depth: Option<u32>,
    latency_target: Option<u64>,
    latency_percentile: Option<f64>,
    latency_window: Option<u64>,
    steadystate: Option<Steady>,
}

impl Job {
    fn result(self) -> JobResult {
        let is_mixed_only = self.mixed.is_some() && self.read.is_none();
        let cpu = match (self.usr_cpu, self.sys_cpu, self.ctx, self.majf, self.minf) {
            (
                Some(user_percent),
                Some(system_percent),
                Some(context_switches),
                Some(major_faults),
                Some(minor_faults),
            ) => Some(Cpu {
                user_percent: Some(user_percent),
                system_percent: Some(system_percent),
                context_switches,
                major_faults,
                minor_faults,
            }),
            _ => None,
        };
        let target = self
            .latency_target
            .zip(self.latency_depth)
            .map(|(target_ns, depth)| LatencyTarget {
                depth,
                target_ns,
                percentile: self.latency_percentile.unwrap_or(100.0),
                window_ns: self.latency_window.unwrap_or(0).saturating_mul(1000),
            });
        JobResult {
            name: self.jobname,
            description: self.desc,
            group: self.groupid,
            members: None,
            error: self.error,
            elapsed_s: self.elapsed,
            options: self.options.0,
            read: self.read.and_then(Way::direction),
            write: self.write.and_then(Way::direction),
            trim: self.trim.and_then(Way::direction),
            mixed: self.mixed.and_then(Way::direction),
            is_mixed_only,
            sync: self.sync.and_then(Sync::latency),
            runtime_ms: self.runtime,
            cpu,
            depths: cells(&self.iodepth_level).map(|level| Depths {
                level,
                submit: cells(&self.iodepth_submit),
                complete: cells(&self.iodepth_complete),
            }),
            shares: cells(&self.latency_us)
                .zip(cells(&self.latency_ms))
                .map(|(us, ms)| LatencyShares {
                    ns: cells(&self.latency_ns),
                    us,
                    ms,
                }),
            target,
            steady_state: self.steadystate.map(Steady::result),
            let_pass: self.total_err.zip(self.first_error),
        }
    }
}

/// The values of an object with exactly so many keys.
fn cells<const N: usize>(pairs: &Pairs<f64>) -> Option<[f64; N]> {
    let values: Vec<f64> = pairs.0.iter().map(|(_, value)| *value).collect();
    values.try_into().ok()
}

/// One direction.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Way {
    io_bytes: u64,
    io_kbytes: Option<u64>,
    bw_bytes: Option<f64>,
    bw: f64,
    iops: f64,
    runtime: u64,
    total_ios: Option<u64>,
    short_ios: Option<u64>,
    drop_ios: Option<u64>,
    slat: Option<Moments>,
    clat: Option<Moments>,
    lat: Option<Moments>,
    slat_ns: Option<Moments>,
    clat_ns: Option<Moments>,
    lat_ns: Option<Moments>,
    bw_min: Option<f64>,
    bw_max: Option<f64>,
    bw_agg: Option<f64>,
    bw_mean: Option<f64>,
    bw_dev: Option<f64>,
    bw_samples: Option<u64>,
    iops_min: Option<f64>,
    iops_max: Option<f64>,
    iops_mean: Option<f64>,
    iops_stddev: Option<f64>,
    iops_samples: Option<u64>,
}

impl Way {
    fn direction(self) -> Option<Direction> {
        if self.io_bytes == 0 && self.total_ios.unwrap_or(0) == 0 {
            return None;
        }
        let latency = |ns: Option<Moments>, us: Option<Moments>| match (ns, us) {
            (Some(ns), _) => ns.latency(1.0),
            (None, Some(us)) => us.latency(1000.0),
            (None, None) => None,
        };
        let bw_bytes_per_s = self.bw_bytes.unwrap_or(self.bw * 1024.0);
        let bw_samples = samples(
            [self.bw_min, self.bw_max, self.bw_mean, self.bw_dev],
            self.bw_samples,
            self.bw_agg,
            1024.0,
        );
        let iops_samples = samples(
            [
                self.iops_min,
                self.iops_max,
                self.iops_mean,
                self.iops_stddev,
            ],
            self.iops_samples,
            None,
            1.0,
        );
        Some(Direction {
            io_bytes: in_bytes(self.io_bytes, self.io_kbytes, bw_bytes_per_s, self.runtime),
            bw_bytes_per_s,
            iops: self.iops,
            runtime_ms: self.runtime,
            total_ios: self.total_ios,
            short_ios: self.short_ios,
            dropped_ios: self.drop_ios,
            slat: latency(self.slat_ns, self.slat),
            clat: latency(self.clat_ns, self.clat),
            lat: latency(self.lat_ns, self.lat),
            bw_samples,
            iops_samples,
        })
    }
}

/// `io_bytes` was in KiB up to 2.20. With `io_kbytes` beside it, it is in bytes; otherwise bandwidth and time tell.
fn in_bytes(io_bytes: u64, io_kbytes: Option<u64>, bw_bytes_per_s: f64, runtime_ms: u64) -> u64 {
    if io_kbytes.is_some() {
        return io_bytes;
    }
    let expected = bw_bytes_per_s * approx(runtime_ms) / 1000.0;
    let printed = approx(io_bytes);
    // Halfway between 1 and 1024 on a scale of factors.
    if expected > 0.0 && printed * 32.0 > expected {
        io_bytes
    } else {
        io_bytes.saturating_mul(1024)
    }
}

fn samples(
    values: [Option<f64>; 4],
    count: Option<u64>,
    share: Option<f64>,
    scale: f64,
) -> Option<Samples> {
    let [Some(min), Some(max), Some(mean), Some(stddev)] = values else {
        return None;
    };
    let is_empty = count == Some(0) || (count.is_none() && max <= 0.0);
    (!is_empty).then_some(Samples {
        min: min * scale,
        max: max * scale,
        mean: mean * scale,
        stddev: stddev * scale,
        count,
        share_percent: share,
    })
}

/// A latency as printed.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Moments {
    min: f64,
    max: f64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    n: Option<u64>,
    percentile: Pairs<serde_json::Value>,
    bins: Pairs<u64>,
}

impl Moments {
    fn latency(self, scale: f64) -> Option<Latency> {
        let is_empty =
            self.n == Some(0) || (self.n.is_none() && self.max <= 0.0 && self.mean <= 0.0);
        if is_empty {
            return None;
        }
        let mut percentiles: Vec<(f64, u64)> = self
            .percentile
            .0
            .iter()
            .filter_map(|(key, value)| Some((key.parse::<f64>().ok()?, value.as_f64()?)))
            // Unused places of the list are printed as `0.00`.
            .filter(|(percent, _)| *percent > 0.0 && *percent <= 100.0)
            .map(|(percent, value)| (percent, round_to_u64(value * scale)))
            .collect();
        percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut bins: Vec<(u64, u64)> = self
            .bins
            .0
            .iter()
            .filter_map(|(key, count)| {
                Some((round_to_u64(key.parse::<f64>().ok()? * scale), *count))
            })
            .filter(|(_, count)| *count > 0)
            .collect();
        bins.sort_unstable();
        Some(Latency {
            min_ns: round_to_u64(self.min * scale),
            max_ns: round_to_u64(self.max * scale),
            mean_ns: self.mean * scale,
            stddev_ns: self.stddev * scale,
            count: self.n,
            percentiles,
            bins,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Sync {
    total_ios: u64,
    lat_ns: Option<Moments>,
    lat: Option<Moments>,
}

impl Sync {
    fn latency(self) -> Option<Latency> {
        let mut latency = match (self.lat_ns, self.lat) {
            (Some(ns), _) => ns.latency(1.0),
            (None, us) => us.and_then(|us| us.latency(1000.0)),
        }?;
        if latency.count.is_none() && self.total_ios > 0 {
            latency.count = Some(self.total_ios);
        }
        Some(latency)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Steady {
    ss: String,
    duration: u64,
    attained: u64,
    criterion: serde_json::Value,
    max_deviation: f64,
    slope: f64,
    data: SteadyData,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SteadyData {
    iops: Vec<u64>,
    bw: Vec<u64>,
}

impl Steady {
    fn result(self) -> SteadyResult {
        SteadyResult {
            rule: self.ss,
            duration_s: self.duration,
            is_attained: self.attained != 0,
            criterion: self
                .criterion
                .as_str()
                .map_or_else(|| self.criterion.to_string(), str::to_owned),
            max_deviation: self.max_deviation,
            slope: self.slope,
            bw_bytes_per_s: self.data.bw,
            iops: self.data.iops,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Disk {
    name: String,
    read_ios: u64,
    write_ios: u64,
    read_merges: u64,
    write_merges: u64,
    read_ticks: u64,
    write_ticks: u64,
    in_queue: u64,
    util: f64,
}

impl Disk {
    fn into_use(self) -> DiskUse {
        DiskUse {
            name: self.name,
            ios: (self.read_ios, self.write_ios),
            merges: (self.read_merges, self.write_merges),
            ticks_ms: (self.read_ticks, self.write_ticks),
            in_queue_ms: self.in_queue,
            util_percent: self.util,
        }
    }
}
