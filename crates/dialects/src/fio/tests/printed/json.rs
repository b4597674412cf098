//! fio's JSON.

use crate::fio::result::{
    Cpu, Depths, Direction, DiskUse, Finished, JobResult, Latency, LatencyShares, LatencyTarget,
    Prioritized, Report, Samples, SteadyResult,
};
use model::job::IoPriority;
use model::units::UnixNanos;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// The document; `None` where it is no JSON of fio.
pub(super) fn read(text: &str) -> Option<Report> {
    let root: Root = serde_json::from_str(text).ok()?;
    Some(root.report())
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

#[derive(Deserialize)]
struct Root {
    #[serde(rename = "fio version")]
    version: String,
    timestamp_ms: u64,
    time: String,
    #[serde(rename = "global options", default)]
    global_options: Pairs<String>,
    jobs: Vec<Job>,
    #[serde(default)]
    disk_util: Vec<Disk>,
}

impl Root {
    fn report(self) -> Report {
        Report {
            version: Some(self.version),
            finished: Some(Finished {
                at: UnixNanos(self.timestamp_ms.saturating_mul(1_000_000)),
                local: self.time,
            }),
            global_options: self.global_options.0,
            jobs: self.jobs.into_iter().map(Job::result).collect(),
            disks: self.disk_util.into_iter().map(Disk::into_use).collect(),
            ..Report::default()
        }
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
            pid: None,
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
            sync: self.sync.and_then(|sync| sync.lat_ns.latency()),
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
            is_waiting: false,
            let_pass: self.total_err.zip(self.first_error),
        }
    }
}

/// The values of an object with exactly so many keys.
fn cells<const N: usize>(pairs: &Pairs<f64>) -> Option<[f64; N]> {
    let values: Vec<f64> = pairs.0.iter().map(|(_, value)| *value).collect();
    values.try_into().ok()
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Way {
    io_bytes: u64,
    bw_bytes: f64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: Moments,
    clat_ns: Moments,
    lat_ns: Moments,
    prios: Vec<AtPriority>,
    bw_min: f64,
    bw_max: f64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: f64,
    iops_max: f64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

impl Way {
    fn direction(self) -> Option<Direction> {
        let bw = [self.bw_min, self.bw_max, self.bw_mean, self.bw_dev].map(|kib| kib * 1024.0);
        let iops = [
            self.iops_min,
            self.iops_max,
            self.iops_mean,
            self.iops_stddev,
        ];
        (self.total_ios > 0).then(|| Direction {
            io_bytes: self.io_bytes,
            bw_bytes_per_s: self.bw_bytes,
            iops: self.iops,
            runtime_ms: self.runtime,
            total_ios: Some(self.total_ios),
            short_ios: Some(self.short_ios),
            dropped_ios: Some(self.drop_ios),
            slat: self.slat_ns.latency(),
            clat: self.clat_ns.latency(),
            lat: self.lat_ns.latency(),
            priorities: self
                .prios
                .into_iter()
                .filter_map(AtPriority::told)
                .collect(),
            bw_samples: samples(bw, self.bw_samples, Some(self.bw_agg)),
            iops_samples: samples(iops, self.iops_samples, None),
        })
    }
}

fn samples([min, max, mean, stddev]: [f64; 4], count: u64, share: Option<f64>) -> Option<Samples> {
    (count > 0).then_some(Samples {
        min,
        max,
        mean,
        stddev,
        count: Some(count),
        share_percent: share,
    })
}

/// Latencies of operations of one priority.
#[derive(Deserialize)]
struct AtPriority {
    prioclass: u8,
    prio: u8,
    clat_ns: Option<Moments>,
    lat_ns: Option<Moments>,
}

impl AtPriority {
    fn told(self) -> Option<Prioritized> {
        let is_whole = self.lat_ns.is_some();
        Some(Prioritized {
            priority: IoPriority {
                class: self.prioclass,
                level: self.prio,
            },
            is_whole,
            latency: self.lat_ns.or(self.clat_ns)?.latency()?,
        })
    }
}

/// A latency as printed.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Moments {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    n: u64,
    percentile: Pairs<u64>,
    bins: Pairs<u64>,
}

impl Moments {
    fn latency(self) -> Option<Latency> {
        let keyed = |(key, value): (String, u64)| (key.parse().unwrap_or(f64::NAN), value);
        let bin = |(key, count): (String, u64)| Some((key.parse().ok()?, count));
        let bins = self.bins.0.into_iter().filter_map(bin);
        (self.n > 0).then(|| Latency {
            min_ns: self.min,
            max_ns: self.max,
            mean_ns: self.mean,
            stddev_ns: self.stddev,
            count: Some(self.n),
            percentiles: self.percentile.0.into_iter().map(keyed).collect(),
            bins: bins.filter(|(_, count)| *count > 0).collect(),
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Sync {
    lat_ns: Moments,
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
