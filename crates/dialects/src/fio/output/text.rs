//! A text for people, with the words that readers of fio's text look for.
//!
//! The layout is our own. Units are chosen per line and always printed. What was not measured has no line.

use super::json::shares;
use crate::fio::result::{
    Cpu, Depths, Direction, DiskUse, GroupSum, JobResult, Latency, LatencyShares, Report,
    SHARE_ENDS, Samples,
};
use crate::printable::printable;
use model::num::approx;
use std::fmt::Write as _;

/// Percentiles on a line.
const PER_LINE: usize = 5;

/// The report as text; `in_bits` counts bandwidth in bits.
pub fn text(report: &Report, in_bits: bool) -> String {
    let mut out = Text {
        out: String::new(),
        in_bits,
    };
    for job in report.jobs.iter().filter(|job| !job.is_waiting) {
        out.job(job, report);
    }
    out.groups(&report.jobs);
    if !report.disks.is_empty() {
        out.line("");
        out.line("Disk stats (read/write):");
        for disk in &report.disks {
            out.disk(disk);
        }
    }
    out.out
}

struct Text {
    out: String,
    in_bits: bool,
}

impl Text {
    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn job(&mut self, job: &JobResult, report: &Report) {
        let when = report
            .finished
            .as_ref()
            .map_or_else(String::new, |finished| format!(": {}", finished.local));
        let members = job
            .members
            .map_or_else(String::new, |members| format!(", jobs={members}"));
        let name = printable(&job.name);
        self.line(&format!(
            "{name}: (groupid={}{members}): err={}{when}",
            job.group, job.error
        ));
        if let Some(description) = &job.description {
            self.line(&format!("  description: {}", printable(description)));
        }
        for (name, direction) in job.directions() {
            self.direction(name, direction);
        }
        if let Some(shares) = job.shares.or_else(|| shares(job)) {
            self.shares(&shares);
        }
        if let Some(sync) = &job.sync {
            self.line("  fsync/fdatasync:");
            self.latency("sync", sync);
            self.percentiles("sync", sync);
        }
        if let Some(cpu) = &job.cpu {
            self.cpu(cpu);
        }
        if let Some(depths) = &job.depths {
            self.depths(depths);
        }
        if let Some(target) = job.target.filter(|target| target.target_ns > 0) {
            let (divisor, unit) = time_unit(target.target_ns);
            let shown = approx(target.target_ns) / divisor;
            self.line(&format!(
                "  latency target: {shown:.2} {unit} for {:.2}% of operations, depth {}",
                target.percentile, target.depth
            ));
        }
        if let Some(state) = &job.steady_state {
            let attained = if state.is_attained {
                "attained"
            } else {
                "not attained"
            };
            self.line(&format!(
                "  steady state: {}, {attained}, came to {}",
                state.rule, state.criterion
            ));
        }
        if let Some((total, first)) = job.let_pass.filter(|(total, _)| *total > 0) {
            self.line(&format!("  errors: total={total}, first={first}"));
        }
    }

    fn direction(&mut self, name: &str, direction: &Direction) {
        let bw = self.bandwidth(direction.bw_bytes_per_s);
        let amount = bytes(direction.io_bytes);
        let ms = direction.runtime_ms;
        self.line(&format!(
            "  {name}: IOPS={}, BW={bw} ({amount} in {ms} msec)",
            rate(direction.iops)
        ));
        for (name, latency) in [
            ("slat", &direction.slat),
            ("clat", &direction.clat),
            ("lat", &direction.lat),
        ] {
            if let Some(latency) = latency {
                self.latency(name, latency);
            }
        }
        for (name, latency) in [
            ("slat", &direction.slat),
            ("clat", &direction.clat),
            ("lat", &direction.lat),
        ] {
            if let Some(latency) = latency {
                self.percentiles(name, latency);
            }
        }
        if let Some(samples) = &direction.bw_samples {
            self.samples("bw (KiB/s)", samples, 1024.0);
        }
        if let Some(samples) = &direction.iops_samples {
            self.samples("iops", samples, 1.0);
        }
        let odd = (
            direction.short_ios.unwrap_or(0),
            direction.dropped_ios.unwrap_or(0),
        );
        if let Some(total) = direction.total_ios {
            let odd = if odd == (0, 0) {
                String::new()
            } else {
                format!(", short={}, dropped={}", odd.0, odd.1)
            };
            self.line(&format!("    issued: total={total}{odd}"));
        }
    }

    fn latency(&mut self, name: &str, latency: &Latency) {
        let (divisor, unit) = time_unit(latency.min_ns.max(1));
        let shown = |ns: f64| format!("{:.2}", ns / divisor);
        let [min, max] = [latency.min_ns, latency.max_ns].map(|ns| shown(approx(ns)));
        let (mean, stddev) = (shown(latency.mean_ns), shown(latency.stddev_ns));
        self.line(&format!(
            "    {name:>4} ({unit}): min={min}, max={max}, avg={mean}, stdev={stddev}"
        ));
    }

    fn percentiles(&mut self, name: &str, latency: &Latency) {
        let Some((_, lowest)) = latency.percentiles.first() else {
            return;
        };
        let (divisor, unit) = time_unit((*lowest).max(1));
        self.line(&format!("    {name} percentiles ({unit}):"));
        for row in latency.percentiles.chunks(PER_LINE) {
            let cells: Vec<String> = row
                .iter()
                .map(|(percent, ns)| format!("{percent:>5.2}th={:<10.2}", approx(*ns) / divisor))
                .collect();
            self.line(&format!("      {}", cells.join(" ")));
        }
    }

    fn samples(&mut self, name: &str, samples: &Samples, divisor: f64) {
        let [min, max, mean, stddev] = [samples.min, samples.max, samples.mean, samples.stddev]
            .map(|value| format!("{:.2}", value / divisor));
        let share = samples
            .share_percent
            .map_or_else(String::new, |share| format!(", per={share:.2}%"));
        let count = samples
            .count
            .map_or_else(String::new, |count| format!(", samples={count}"));
        self.line(&format!(
            "    {name}: min={min}, max={max}, avg={mean}, stdev={stddev}{share}{count}"
        ));
    }

    fn shares(&mut self, shares: &LatencyShares) {
        let ns = shares.ns.unwrap_or_default();
        for (unit, cells) in [
            ("nsec", &ns[..]),
            ("usec", &shares.us),
            ("msec", &shares.ms),
        ] {
            let ends = SHARE_ENDS
                .iter()
                .map(u64::to_string)
                .chain(["2000".to_owned(), ">=2000".to_owned()]);
            let shown: Vec<String> = ends
                .zip(cells)
                .filter(|(_, share)| **share >= 0.005)
                .map(|(end, share)| format!("{end}={share:.2}%"))
                .collect();
            if !shown.is_empty() {
                self.line(&format!("  latencies below ({unit}): {}", shown.join(", ")));
            }
        }
    }

    fn cpu(&mut self, cpu: &Cpu) {
        let shares = cpu.user_percent.zip(cpu.system_percent);
        let shares = shares.map_or_else(String::new, |(user, system)| {
            format!("usr={user:.2}%, sys={system:.2}%, ")
        });
        self.line(&format!(
            "  cpu: {shares}ctx={}, majf={}, minf={}",
            cpu.context_switches, cpu.major_faults, cpu.minor_faults
        ));
    }

    fn depths(&mut self, depths: &Depths) {
        let named = |names: [&str; 7], shares: &[f64; 7]| {
            let cells: Vec<String> = names
                .iter()
                .zip(shares)
                .map(|(name, share)| format!("{name}={share:.1}%"))
                .collect();
            cells.join(", ")
        };
        let together = ["0", "4", "8", "16", "32", "64", ">=64"];
        self.line(&format!(
            "  IO depths: {}",
            named(["1", "2", "4", "8", "16", "32", ">=64"], &depths.level)
        ));
        for (name, shares) in [
            ("submitted together", depths.submit),
            ("completed together", depths.complete),
        ] {
            if let Some(shares) = shares {
                self.line(&format!("    {name}: {}", named(together, &shares)));
            }
        }
    }

    fn groups(&mut self, jobs: &[JobResult]) {
        let mut ids: Vec<u32> = jobs.iter().map(|job| job.group).collect();
        ids.dedup();
        for id in ids {
            let members = || jobs.iter().filter(move |job| job.group == id);
            self.line("");
            self.line(&format!("Run status group {id} (all jobs):"));
            self.sum(
                " READ",
                GroupSum::of(members().filter_map(|job| job.read.as_ref())),
            );
            self.sum(
                "WRITE",
                GroupSum::of(members().filter_map(|job| job.write.as_ref())),
            );
            self.sum(
                " TRIM",
                GroupSum::of(members().filter_map(|job| job.trim.as_ref())),
            );
            self.sum(
                "MIXED",
                GroupSum::of(members().filter_map(|job| job.mixed.as_ref())),
            );
        }
    }

    fn sum(&mut self, name: &str, sum: Option<GroupSum>) {
        let Some(sum) = sum else { return };
        let (low, high) = sum.bw_range_bytes_per_s;
        let [bw, low, high] = [sum.bw_bytes_per_s, low, high].map(|bw| self.bandwidth(bw));
        let (short, long) = sum.runtime_range_ms;
        self.line(&format!(
            "  {name}: bw={bw}, {low} to {high} a job, io={}, run={short}-{long}msec",
            bytes(sum.io_bytes)
        ));
    }

    fn disk(&mut self, disk: &DiskUse) {
        self.line(&format!(
            "  {}: ios={}/{}, merge={}/{}, ticks={}/{}, in_queue={}, util={:.2}%",
            printable(&disk.name),
            disk.ios.0,
            disk.ios.1,
            disk.merges.0,
            disk.merges.1,
            disk.ticks_ms.0,
            disk.ticks_ms.1,
            disk.in_queue_ms,
            disk.util_percent
        ));
    }

    fn bandwidth(&self, bytes_per_s: f64) -> String {
        if self.in_bits {
            return format!(
                "{}bit/s",
                scaled(bytes_per_s * 8.0, 1000.0, ["", "k", "M", "G", "T"])
            );
        }
        let binary = scaled(bytes_per_s, 1024.0, ["", "Ki", "Mi", "Gi", "Ti"]);
        let decimal = scaled(bytes_per_s, 1000.0, ["", "k", "M", "G", "T"]);
        format!("{binary}B/s ({decimal}B/s)")
    }
}

/// Nanoseconds a unit, and the unit, for a line whose smallest value is `ns`.
fn time_unit(ns: u64) -> (f64, &'static str) {
    match ns {
        0..10_000 => (1.0, "nsec"),
        10_000..10_000_000 => (1e3, "usec"),
        _ => (1e6, "msec"),
    }
}

fn bytes(n: u64) -> String {
    format!(
        "{}B",
        scaled(approx(n), 1024.0, ["", "Ki", "Mi", "Gi", "Ti"])
    )
}

fn rate(per_s: f64) -> String {
    if per_s < 10_000.0 {
        format!("{per_s:.1}")
    } else {
        scaled(per_s, 1000.0, ["", "k", "M", "G", "T"])
    }
}

/// Four digits and a prefix.
fn scaled(value: f64, base: f64, prefixes: [&str; 5]) -> String {
    let mut value = value;
    let mut prefix = prefixes[0];
    for next in &prefixes[1..] {
        if value < base {
            break;
        }
        value /= base;
        prefix = next;
    }
    let digits = if value < 10.0 {
        3
    } else if value < 100.0 {
        2
    } else {
        usize::from(value < 1000.0)
    };
    let mut text = String::new();
    let _ = write!(text, "{value:.digits$}{prefix}");
    text
}
