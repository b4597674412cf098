//! fio's text, line by line as version 3.33 prints it, so that what people cut their figures out with finds them.
//!
//! Learned from what the installed fio prints: its words, its units, when a line has which. What is not fio's stands
//! nowhere in it but in the line of the version. Where fio prints nonsense (the sums of `unified_rw_reporting=both`,
//! `kB/s` of a steady state), the right figure stands in its place.

use super::json::shares;
use super::scale::{bandwidth, bytes, decimal_bytes, latency, rate};
use crate::fio::result::{
    Cpu, Depths, Direction, DiskUse, GroupSum, Idleness, JobResult, Latency, LatencyShares, Report,
    SHARE_ENDS, Samples, SteadyResult,
};
use crate::printable::printable;
use model::job::IoPriority;
use model::num::{approx, round_to_u64};

/// The report as text; `in_bits` counts bandwidth in bits.
pub fn text(report: &Report, in_bits: bool) -> String {
    let mut out = Text {
        out: String::new(),
        in_bits,
    };
    let shown = || report.jobs.iter().filter(|job| !job.is_waiting);
    if shown().next().is_some() {
        out.line("");
    }
    for job in shown() {
        out.job(job, report);
    }
    out.groups(&report.jobs);
    if !report.disks.is_empty() {
        out.line("\nDisk stats (read/write):");
        for disk in &report.disks {
            out.disk(disk);
        }
    }
    if let Some(idleness) = &report.idleness {
        out.idleness(idleness);
    }
    out.out
}

/// What the kernel calls an error, without its number.
pub(super) fn error_name(number: i32) -> String {
    if number == 0 {
        return "Success".to_owned();
    }
    let words = std::io::Error::from_raw_os_error(number).to_string();
    let name = words.rsplit_once(" (os error");
    name.map_or(words.clone(), |(name, _)| name.to_owned())
}

struct Text {
    out: String,
    in_bits: bool,
}

/// Percentiles and shares on a line at most, by what fits into 80 columns.
const SHARES_PER_LINE: usize = 5;

impl Text {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn job(&mut self, job: &JobResult, report: &Report) {
        self.line(&head(job, report));
        if let Some(description) = &job.description {
            self.line(&format!("  Description  : [{}]", printable(description)));
        }
        for (name, direction) in job.directions() {
            self.direction(name, direction);
        }
        if let Some(shares) = job.shares.or_else(|| shares(job)) {
            self.shares(&shares);
        }
        if let Some(sync) = &job.sync {
            self.line("  fsync/fdatasync/sync_file_range:");
            self.latency("sync", sync);
            self.percentiles("sync", sync);
        }
        self.cpu(&job.cpu.unwrap_or_default());
        self.depths(&job.depths.unwrap_or_default());
        self.issued(job);
        if let Some((total, first)) = job.let_pass {
            let name = error_name(first);
            self.line(&format!(
                "     errors    : total={total}, first_error={first}/<{name}>"
            ));
        }
        let (target_ns, window_ns, percentile, depth) = job.target.map_or((0, 0, 100.0, 0), |t| {
            (t.target_ns, t.window_ns, t.percentile, t.depth)
        });
        self.line(&format!(
            "     latency   : target={target_ns}, window={}, percentile={percentile:.2}%, depth={depth}",
            window_ns / 1000
        ));
        if let Some(state) = &job.steady_state {
            self.steady(state);
        }
    }

    fn direction(&mut self, name: &str, direction: &Direction) {
        if direction.io_bytes == 0 {
            return;
        }
        let [binary, decimal] = bandwidth(round_to_u64(direction.bw_bytes_per_s), self.in_bits);
        let zones = if name == "write" {
            "; 0 zone resets"
        } else {
            ""
        };
        self.line(&format!(
            "  {name}: IOPS={}, BW={binary} ({decimal})({}/{}msec){zones}",
            rate(round_to_u64(direction.iops.floor())),
            bytes(direction.io_bytes),
            direction.runtime_ms
        ));
        let each = || {
            let kinds = [&direction.slat, &direction.clat, &direction.lat];
            let named = ["slat", "clat", "lat"].into_iter().zip(kinds);
            named.filter_map(|(name, latency)| Some((name, latency.as_ref()?)))
        };
        let all: u64 = direction
            .priorities
            .iter()
            .filter_map(|one| one.latency.count)
            .sum();
        let by_priority = direction.priorities.iter().map(|one| {
            let IoPriority { class, level } = one.priority;
            let of = if one.is_whole { "lat" } else { "clat" };
            (format!("{of} prio {class}/{level}"), &one.latency)
        });
        let by_priority: Vec<(String, &Latency)> = by_priority.collect();
        for (name, latency) in each() {
            self.latency(name, latency);
        }
        for (name, latency) in &by_priority {
            self.latency(&format!("    {name}"), latency);
        }
        for (name, latency) in each() {
            self.percentiles(name, latency);
        }
        for (name, latency) in &by_priority {
            let share = 100.0 * approx(latency.count.unwrap_or(0)) / approx(all.max(1));
            self.percentiles(&format!("{name} ({share:.2}% of IOs)"), latency);
        }
        let seen = |samples: &&Samples| samples.count != Some(0);
        if let Some(samples) = direction.bw_samples.as_ref().filter(seen) {
            self.bw_samples(samples);
        }
        if let Some(samples) = direction.iops_samples.as_ref().filter(seen) {
            let [min, max] = [samples.min, samples.max].map(round_to_u64);
            self.samples("iops        ", [min, max], "", samples, 1.0);
        }
    }

    fn latency(&mut self, name: &str, of: &Latency) {
        let (divisor, unit) = unit(of.min_ns, of.max_ns, of.stddev_ns);
        let [min, max] = [of.min_ns, of.max_ns].map(|ns| latency(ns / divisor));
        let [mean, stddev] = [of.mean_ns, of.stddev_ns].map(|ns| ns / approx(divisor));
        self.line(&format!(
            "{name:>8} ({unit}): min={min}, max={max}, avg={mean:5.2}, stdev={stddev:5.2}"
        ));
    }

    /// As many in a line as fit, each as wide as the largest.
    fn percentiles(&mut self, name: &str, latency: &Latency) {
        const COLUMNS: usize = 73;
        let list = &latency.percentiles;
        let (Some((_, first)), Some((_, last))) = (list.first(), list.last()) else {
            return;
        };
        let (divisor, unit) = unit(*first, *last, f64::INFINITY);
        let digits = |percent: &f64| {
            let text = percent.to_string();
            text.split_once('.').map_or(0, |(_, behind)| behind.len())
        };
        let precision = list.iter().map(|(percent, _)| digits(percent)).max();
        let precision = precision.unwrap_or(0);
        // Upwards: so many operations took no longer.
        let shown = |ns: &u64| ns.div_ceil(divisor);
        let width = shown(last).to_string().len().max(5);
        let per_line = (COLUMNS / (precision + 10 + width)).max(1);
        let before = precision + 3;
        self.line(&format!("    {name} percentiles ({unit}):"));
        let rows = list.chunks(per_line).map(|row| {
            let cells = row.iter().map(|(percent, ns)| {
                format!("{percent:before$.precision$}th=[{:width$}]", shown(ns))
            });
            format!("     | {}", cells.collect::<Vec<_>>().join(", "))
        });
        let rows: Vec<String> = rows.collect();
        self.line(&rows.join(",\n"));
    }

    /// In KiB/s, or in MiB/s above a GiB/s.
    fn bw_samples(&mut self, samples: &Samples) {
        const KIB: f64 = 1024.0;
        let (kib, unit) = if samples.mean > KIB * KIB * KIB {
            (1024, "MiB/s")
        } else {
            (1, "KiB/s")
        };
        let divisor = KIB * approx(kib);
        let share = samples.share_percent.unwrap_or(0.0);
        let share = format!(" per={share:3.2}%,");
        let ends = [samples.min, samples.max].map(|bw| round_to_u64(bw / KIB) / kib);
        self.samples(&format!("bw (  {unit})"), ends, &share, samples, divisor);
    }

    fn samples(&mut self, name: &str, ends: [u64; 2], share: &str, of: &Samples, divisor: f64) {
        let [min, max] = ends;
        let [mean, stddev] = [of.mean, of.stddev].map(|value| value / divisor);
        let count = of.count.unwrap_or(0);
        self.line(&format!(
            "   {name}: min={min:5}, max={max:5},{share} avg={mean:5.2}, stdev={stddev:5.2}, samples={count}"
        ));
    }

    fn shares(&mut self, shares: &LatencyShares) {
        let ns = shares.ns.unwrap_or_default();
        for (unit, cells) in [
            ("nsec", &ns[..]),
            ("usec", &shares.us),
            ("msec", &shares.ms),
        ] {
            let ends = SHARE_ENDS.iter().map(u64::to_string);
            let ends = ends.chain(["2000".to_owned(), ">=2000".to_owned()]);
            let shown = ends.zip(cells).filter(|(_, share)| **share > 0.0);
            let shown = shown.map(|(end, share)| format!("{end}={:.2}%", share.max(0.01)));
            let shown: Vec<String> = shown.collect();
            for row in shown.chunks(SHARES_PER_LINE) {
                self.line(&format!("  lat ({unit})   : {}", row.join(", ")));
            }
        }
    }

    fn cpu(&mut self, cpu: &Cpu) {
        let [user, system] =
            [cpu.user_percent, cpu.system_percent].map(|share| share.unwrap_or(0.0));
        self.line(&format!(
            "  cpu          : usr={user:3.2}%, sys={system:3.2}%, ctx={}, majf={}, minf={}",
            cpu.context_switches, cpu.major_faults, cpu.minor_faults
        ));
    }

    fn depths(&mut self, depths: &Depths) {
        let named = |names: [&str; 7], shares: &[f64; 7]| {
            let cells = names.iter().zip(shares).map(|(name, share)| {
                let shown = if *share > 0.0 { share.max(0.1) } else { 0.0 };
                format!("{name}={shown:3.1}%")
            });
            cells.collect::<Vec<_>>().join(", ")
        };
        let together = ["0", "4", "8", "16", "32", "64", ">=64"];
        let levels = named(["1", "2", "4", "8", "16", "32", ">=64"], &depths.level);
        self.line(&format!("  IO depths    : {levels}"));
        for (name, shares) in [("submit", depths.submit), ("complete", depths.complete)] {
            let shares = named(together, &shares.unwrap_or_default());
            self.line(&format!("     {name:<9} : {shares}"));
        }
    }

    /// Reads, writes, trims, syncs; of directions that are told together all stand at the first place.
    fn issued(&mut self, job: &JobResult) {
        let first = if job.is_mixed_only {
            &job.mixed
        } else {
            &job.read
        };
        let of = |count: fn(&Direction) -> Option<u64>| {
            [first, &job.write, &job.trim]
                .map(|direction| direction.as_ref().and_then(count).unwrap_or(0))
        };
        let syncs = job.sync.as_ref().and_then(|sync| sync.count).unwrap_or(0);
        let [reads, writes, trims] = of(|direction| direction.total_ios);
        let [short_reads, short_writes, short_trims] = of(|direction| direction.short_ios);
        let [lost_reads, lost_writes, lost_trims] = of(|direction| direction.dropped_ios);
        self.line(&format!(
            "     issued rwts: total={reads},{writes},{trims},{syncs} \
             short={short_reads},{short_writes},{short_trims},0 \
             dropped={lost_reads},{lost_writes},{lost_trims},0"
        ));
    }

    fn steady(&mut self, state: &SteadyResult) {
        let mean = |values: &[u64]| {
            let sum: u64 = values
                .iter()
                .fold(0, |sum, value| sum.saturating_add(*value));
            sum.checked_div(values.len() as u64).unwrap_or(0)
        };
        let [binary, decimal] = bandwidth(mean(&state.bw_bytes_per_s), self.in_bits);
        let of = state.rule.split(':').next().unwrap_or_default();
        let (quantity, how) = of
            .strip_suffix("_slope")
            .map_or((of, "mean dev"), |of| (of, "slope"));
        let attained = if state.is_attained { "yes" } else { "no" };
        let criterion = state.criterion.trim_end_matches('%');
        let sign = if criterion == state.criterion {
            ""
        } else {
            "%"
        };
        let criterion: f64 = criterion.parse().unwrap_or(0.0);
        self.line(&format!(
            "  steadystate  : attained={attained}, bw={binary} ({decimal}), iops={}, {quantity} {how}={criterion:.3}{sign}",
            mean(&state.iops)
        ));
    }

    fn groups(&mut self, jobs: &[JobResult]) {
        let mut ids: Vec<u32> = jobs.iter().map(|job| job.group).collect();
        ids.dedup();
        for id in ids {
            let members = || jobs.iter().filter(move |job| job.group == id);
            self.line(&format!("\nRun status group {id} (all jobs):"));
            for name in ["read", "write", "trim", "mixed"] {
                let all = members().flat_map(JobResult::directions);
                let of_name = all.filter(|(own, _)| *own == name);
                if let Some(sum) = GroupSum::of(of_name.map(|(_, direction)| direction)) {
                    self.sum(&name.to_uppercase(), &sum);
                }
            }
        }
    }

    fn sum(&mut self, name: &str, sum: &GroupSum) {
        let (low, high) = sum.bw_range_bytes_per_s;
        let [all, low, high] =
            [sum.bw_bytes_per_s, low, high].map(|bw| bandwidth(round_to_u64(bw), self.in_bits));
        let (short, long) = sum.runtime_range_ms;
        self.line(&format!(
            "{name:>7}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={short}-{long}msec",
            all[0],
            all[1],
            low[0],
            high[0],
            low[1],
            high[1],
            bytes(sum.io_bytes),
            decimal_bytes(sum.io_bytes)
        ));
    }

    fn disk(&mut self, disk: &DiskUse) {
        self.line(&format!(
            "  {}: ios={}/{}, merge={}/{}, ticks={}/{}, in_queue={}, util={:3.2}%",
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

    fn idleness(&mut self, idleness: &Idleness) {
        self.line(&format!(
            "\nCPU idleness:\n  system: {:3.2}%",
            idleness.system_percent
        ));
        if !idleness.cpus.is_empty() {
            let each = idleness.cpus.iter().map(|(_, idle)| format!("{idle:3.2}%"));
            self.line(&format!(
                "  percpu: {}",
                each.collect::<Vec<_>>().join(", ")
            ));
        }
        self.line(&unit_work(idleness.unit_us));
    }
}

/// How long a piece of work took that nothing disturbed: mean and standard deviation, in microseconds.
fn unit_work((mean, stddev): (f64, f64)) -> String {
    format!("  unit work: mean={mean:3.2}us, stddev={stddev:3.2}")
}

/// What is printed of a calibration alone.
pub fn calibration(unit_us: (f64, f64)) -> String {
    format!("CPU idleness:\n{}\n", unit_work(unit_us))
}

/// The first line of a job.
fn head(job: &JobResult, report: &Report) -> String {
    let finished = report.finished.as_ref();
    let when = finished.map_or(String::new(), |finished| format!(": {}", finished.local));
    let error = if job.error == 0 {
        String::new()
    } else {
        format!(" (error={})", error_name(job.error))
    };
    format!(
        "{}: (groupid={}, jobs={}): err={:2}{error}: pid={}{when}",
        printable(&job.name),
        job.group,
        job.members.unwrap_or(1),
        job.error,
        job.pid.unwrap_or(0)
    )
}

/// Nanoseconds of the unit of a line, and its name: fio goes up as long as nothing of the line becomes too coarse.
fn unit(min_ns: u64, max_ns: u64, stddev_ns: f64) -> (u64, &'static str) {
    let mut unit = (1, "nsec");
    for next in [(1_000, "usec"), (1_000_000, "msec")] {
        let (min, max) = (min_ns / unit.0, max_ns / unit.0);
        if min <= 2_000 || max <= 99_999 || stddev_ns / approx(unit.0) <= 1_000.0 {
            break;
        }
        unit = next;
    }
    unit
}
