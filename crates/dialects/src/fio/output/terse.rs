//! fio's terse form: one line a job, fields with `;` between; versions 3, 4 and 5.
//!
//! Bandwidth in KiB/s and latencies in whole microseconds, as fio has it. Version 4 adds trims to version 3, version 5
//! adds the samples of bandwidth and operations.

use super::json::shares;
use crate::fio::result::{Direction, DiskUse, JobResult, Latency, Report, Samples};
use model::num::round_to_u64;
use std::fmt::Display;

/// Percentiles of a line, whatever there are.
const PERCENTILES: usize = 20;

/// The jobs of a report, a line each. Other versions than 4 and 5 are printed as 3.
pub fn terse(report: &Report, version: u8) -> String {
    let mut out = String::new();
    for job in &report.jobs {
        let mut line = Fields {
            fields: Vec::new(),
            percents: percents(job),
        };
        line.job(job, report, version);
        out.push_str(&line.fields.join(";"));
        out.push('\n');
    }
    out
}

struct Fields {
    fields: Vec<String>,
    /// Which percentiles the job has; fio prints them for a direction without operations too.
    percents: Vec<f64>,
}

impl Fields {
    fn add(&mut self, field: impl Display) {
        // A `;` or a line end in a name would shift every field behind it.
        let text: String = field
            .to_string()
            .chars()
            .map(|c| {
                if matches!(c, ';' | '\n' | '\r') {
                    '_'
                } else {
                    c
                }
            })
            .collect();
        self.fields.push(text);
    }

    fn job(&mut self, job: &JobResult, report: &Report, version: u8) {
        self.add(if matches!(version, 4 | 5) { version } else { 3 });
        self.add(report.version.as_deref().unwrap_or_default());
        self.add(&job.name);
        self.add(job.group);
        self.add(job.error);
        let none = Direction::default();
        if job.is_mixed_only {
            self.direction(job.mixed.as_ref().unwrap_or(&none), version);
        } else {
            self.direction(job.read.as_ref().unwrap_or(&none), version);
            self.direction(job.write.as_ref().unwrap_or(&none), version);
            if matches!(version, 4 | 5) {
                self.direction(job.trim.as_ref().unwrap_or(&none), version);
            }
            if let Some(mixed) = &job.mixed {
                self.direction(mixed, version);
            }
        }
        self.rest(job);
        for disk in &report.disks {
            self.disk(disk);
        }
        if let Some((total, first)) = job.let_pass {
            self.add(total);
            self.add(first);
        }
        if let Some(description) = &job.description {
            self.add(description);
        }
    }

    fn direction(&mut self, direction: &Direction, version: u8) {
        self.add(direction.io_bytes / 1024);
        self.add(round_to_u64(direction.bw_bytes_per_s) / 1024);
        self.add(direction.iops.trunc());
        self.add(direction.runtime_ms);
        let none = Latency::default();
        self.moments(direction.slat.as_ref().unwrap_or(&none));
        let clat = direction.clat.as_ref().unwrap_or(&none);
        self.moments(clat);
        // As fio 3.33 does it: where there are those of the whole, they stand here.
        let lat = direction.lat.as_ref().unwrap_or(&none);
        let shown = if lat.percentiles.is_empty() {
            clat
        } else {
            lat
        };
        for index in 0..PERCENTILES {
            match (shown.percentiles.get(index), self.percents.get(index)) {
                (Some((percent, ns)), _) => self.add(format!("{percent:.6}%={}", ns / 1000)),
                (None, Some(percent)) => self.add(format!("{percent:.6}%=0")),
                (None, None) => self.add("0%=0"),
            }
        }
        self.moments(direction.lat.as_ref().unwrap_or(&none));
        let bw: Samples = direction.bw_samples.unwrap_or_default();
        self.add(round_to_u64(bw.min / 1024.0));
        self.add(round_to_u64(bw.max / 1024.0));
        self.add(format!("{:.6}%", bw.share_percent.unwrap_or(0.0)));
        self.add(format!("{:.6}", bw.mean / 1024.0));
        self.add(format!("{:.6}", bw.stddev / 1024.0));
        if version == 5 {
            let iops: Samples = direction.iops_samples.unwrap_or_default();
            self.add(bw.count.unwrap_or(0));
            self.add(round_to_u64(iops.min));
            self.add(round_to_u64(iops.max));
            self.add(format!("{:.6}", iops.mean));
            self.add(format!("{:.6}", iops.stddev));
            self.add(iops.count.unwrap_or(0));
        }
    }

    fn moments(&mut self, latency: &Latency) {
        self.add(latency.min_ns / 1000);
        self.add(latency.max_ns / 1000);
        self.add(format!("{:.6}", latency.mean_ns / 1e3));
        self.add(format!("{:.6}", latency.stddev_ns / 1e3));
    }

    fn rest(&mut self, job: &JobResult) {
        let cpu = job.cpu.unwrap_or_default();
        for share in [cpu.user_percent, cpu.system_percent] {
            self.add(format!("{:.6}%", share.unwrap_or(0.0)));
        }
        self.add(cpu.context_switches);
        self.add(cpu.major_faults);
        self.add(cpu.minor_faults);
        for share in job.depths.unwrap_or_default().level {
            self.add(format!("{share:.1}%"));
        }
        let shares = job.shares.or_else(|| shares(job)).unwrap_or_default();
        let below: f64 = shares.ns.unwrap_or_default().iter().sum();
        for (index, share) in shares.us.into_iter().enumerate() {
            let below = if index == 0 { below } else { 0.0 };
            self.add(format!("{:.2}%", share + below));
        }
        for share in shares.ms {
            self.add(format!("{share:.2}%"));
        }
    }

    fn disk(&mut self, disk: &DiskUse) {
        self.add(&disk.name);
        for number in [
            disk.ios.0,
            disk.ios.1,
            disk.merges.0,
            disk.merges.1,
            disk.ticks_ms.0,
            disk.ticks_ms.1,
        ] {
            self.add(number);
        }
        self.add(disk.in_queue_ms);
        self.add(format!("{:.2}%", disk.util_percent));
    }
}

fn percents(job: &JobResult) -> Vec<f64> {
    let latencies = job
        .directions()
        .flat_map(|(_, direction)| [&direction.clat, &direction.lat]);
    let lists = latencies.flatten().map(|latency| &latency.percentiles);
    let longest = lists.max_by_key(|list| list.len());
    longest.map_or_else(Vec::new, |list| {
        list.iter().map(|(percent, _)| *percent).collect()
    })
}
