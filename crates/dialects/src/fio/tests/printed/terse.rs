//! fio's terse lines, versions 3, 4 and 5.

#![expect(
    clippy::option_option,
    reason = "outside whether it can be read, inside whether it was measured"
)]

use crate::fio::result::{
    Cpu, Depths, Direction, DiskUse, JobResult, Latency, LatencyShares, Report, Samples,
};
use model::num::round_to_u64;

/// Fields of a direction in versions 3 and 4, and what 5 adds.
const DIRECTION: usize = 41;
const SAMPLES: usize = 6;
/// Fields in front of the directions, behind them without disks, and of a disk.
const HEAD: usize = 5;
const REST: usize = 34;
const DISK: usize = 9;
const PERCENTILES: usize = 20;

/// The lines as one report; `None` where one of them is none of fio's.
pub(super) fn read(text: &str) -> Option<Report> {
    let mut report = Report::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.trim().split(';').collect();
        let (version, job, disks) = read_line(&fields)?;
        report.version = Some(version);
        report.jobs.push(job);
        // Every line repeats the disks of the whole run.
        report.disks = disks;
    }
    (!report.jobs.is_empty()).then_some(report)
}

fn read_line(fields: &[&str]) -> Option<(String, JobResult, Vec<DiskUse>)> {
    let mut rest = Fields { fields, at: 0 };
    let format: u8 = rest.number()?;
    let version = rest.next()?.to_owned();
    let mut job = JobResult {
        name: rest.next()?.to_owned(),
        ..JobResult::default()
    };
    job.group = rest.number()?;
    job.error = rest.number()?;
    let width = if format == 5 {
        DIRECTION + SAMPLES
    } else {
        DIRECTION
    };
    let directions = if format == 3 { 2 } else { 3 };
    job.is_mixed_only = fields.len() < HEAD + directions * width + REST;
    if job.is_mixed_only {
        job.mixed = rest.direction(format)?;
    } else {
        job.read = rest.direction(format)?;
        job.write = rest.direction(format)?;
        if directions == 3 {
            job.trim = rest.direction(format)?;
        }
    }
    job.cpu = Some(Cpu {
        user_percent: Some(rest.percent()?),
        system_percent: Some(rest.percent()?),
        context_switches: rest.number()?,
        major_faults: rest.number()?,
        minor_faults: rest.number()?,
    });
    job.depths = Some(Depths {
        level: rest.percents()?,
        submit: None,
        complete: None,
    });
    job.shares = Some(LatencyShares {
        ns: None,
        us: rest.percents()?,
        ms: rest.percents()?,
    });
    let mut disks = Vec::new();
    while rest.is_disk() {
        disks.push(rest.disk()?);
    }
    let tail = fields.get(rest.at..).unwrap_or_default();
    match tail {
        [total, first] if total.parse::<u64>().is_ok() && first.parse::<i32>().is_ok() => {
            job.let_pass = total.parse().ok().zip(first.parse().ok());
        }
        [] => {}
        tail => job.description = Some(tail.join(";")),
    }
    Some((version, job, disks))
}

struct Fields<'a> {
    fields: &'a [&'a str],
    at: usize,
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let field = self.fields.get(self.at)?;
        self.at += 1;
        Some(field)
    }

    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.next()?.parse().ok()
    }

    fn percent(&mut self) -> Option<f64> {
        let number: f64 = self.next()?.strip_suffix('%')?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    fn percents<const N: usize>(&mut self) -> Option<[f64; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.percent()?;
        }
        Some(values)
    }

    fn direction(&mut self, format: u8) -> Option<Option<Direction>> {
        let total_kib: u64 = self.number()?;
        let bw_kib: f64 = self.number()?;
        let mut direction = Direction {
            io_bytes: total_kib.saturating_mul(1024),
            bw_bytes_per_s: bw_kib * 1024.0,
            iops: self.number()?,
            runtime_ms: self.number()?,
            ..Direction::default()
        };
        direction.slat = self.moments()?;
        direction.clat = self.moments()?;
        let percentiles = self.percentiles()?;
        direction.lat = self.moments()?;
        match (&mut direction.clat, &mut direction.lat) {
            (Some(clat), _) => clat.percentiles = percentiles,
            (None, Some(lat)) => lat.percentiles = percentiles,
            (None, None) => {}
        }
        let [min, max]: [f64; 2] = [self.number()?, self.number()?];
        let share_percent = Some(self.percent()?);
        let [mean, stddev]: [f64; 2] = [self.number()?, self.number()?];
        let mut bw = Samples {
            min: min * 1024.0,
            max: max * 1024.0,
            mean: mean * 1024.0,
            stddev: stddev * 1024.0,
            count: None,
            share_percent,
        };
        if format == 5 {
            bw.count = Some(self.number()?);
            direction.iops_samples = self.iops()?;
        }
        direction.bw_samples = (bw.max > 0.0).then_some(bw);
        let is_unused = total_kib == 0 && direction.runtime_ms == 0;
        Some((!is_unused).then_some(direction))
    }

    fn iops(&mut self) -> Option<Option<Samples>> {
        let samples = Samples {
            min: self.number()?,
            max: self.number()?,
            mean: self.number()?,
            stddev: self.number()?,
            count: Some(self.number()?),
            share_percent: None,
        };
        Some((samples.count != Some(0)).then_some(samples))
    }

    fn moments(&mut self) -> Option<Option<Latency>> {
        let [min, max, mean, stddev]: [f64; 4] = [
            self.number()?,
            self.number()?,
            self.number()?,
            self.number()?,
        ];
        let is_empty = max <= 0.0 && mean <= 0.0;
        Some((!is_empty).then(|| Latency {
            min_ns: round_to_u64(min * 1e3),
            max_ns: round_to_u64(max * 1e3),
            mean_ns: mean * 1e3,
            stddev_ns: stddev * 1e3,
            ..Latency::default()
        }))
    }

    fn percentiles(&mut self) -> Option<Vec<(f64, u64)>> {
        let mut percentiles = Vec::new();
        for _ in 0..PERCENTILES {
            let (percent, us) = self.next()?.split_once("%=")?;
            let (percent, us): (f64, u64) = (percent.parse().ok()?, us.parse().ok()?);
            if percent > 0.0 {
                percentiles.push((percent, us.saturating_mul(1000)));
            }
        }
        Some(percentiles)
    }

    fn is_disk(&self) -> bool {
        let Some(fields) = self.fields.get(self.at..self.at + DISK) else {
            return false;
        };
        fields.last().is_some_and(|util| util.ends_with('%'))
            && fields.get(1).is_some_and(|ios| ios.parse::<u64>().is_ok())
    }

    fn disk(&mut self) -> Option<DiskUse> {
        Some(DiskUse {
            name: self.next()?.to_owned(),
            ios: (self.number()?, self.number()?),
            merges: (self.number()?, self.number()?),
            ticks_ms: (self.number()?, self.number()?),
            in_queue_ms: self.number()?,
            util_percent: self.percent()?,
        })
    }
}
