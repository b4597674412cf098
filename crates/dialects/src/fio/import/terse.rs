//! fio's terse lines, versions 3, 4 and 5.

use super::ImportError;
use crate::fio::result::{
    Cpu, Depths, Direction, DiskUse, JobResult, Latency, LatencyShares, Report, Samples,
};
use model::num::{approx, round_to_u64};

/// Fields of a direction in versions 3 and 4, and what 5 adds.
const DIRECTION: usize = 41;
const SAMPLES: usize = 6;
/// Fields in front of the directions, behind them without disks, and of a disk.
const HEAD: usize = 5;
const REST: usize = 34;
const DISK: usize = 9;
const PERCENTILES: usize = 20;

/// The terse lines in `text` as one report; nothing where there are none.
pub(super) fn read(text: &str) -> Result<Option<Report>, ImportError> {
    let mut report: Option<Report> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let is_terse = ["3;fio-", "4;fio-", "5;fio-"]
            .iter()
            .any(|head| line.starts_with(head));
        if !is_terse {
            continue;
        }
        let fields: Vec<&str> = line.split(';').collect();
        let (version, job, disks) = read_line(&fields).map_err(|what| ImportError::Terse {
            line: index + 1,
            what,
        })?;
        let report = report.get_or_insert_with(|| Report {
            version: Some(version),
            ..Report::default()
        });
        report.jobs.push(job);
        // Every line repeats the disks of the whole run.
        report.disks = disks;
    }
    Ok(report)
}

fn read_line(fields: &[&str]) -> Result<(String, JobResult, Vec<DiskUse>), String> {
    let mut rest = Fields { fields, at: 0 };
    let format: u8 = rest.number("version")?;
    let version = rest.next("fio version")?.to_owned();
    let mut job = JobResult {
        name: rest.next("name")?.to_owned(),
        ..JobResult::default()
    };
    job.group = rest.number("group")?;
    job.error = rest.number("error")?;
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
        user_percent: Some(rest.percent("usr cpu")?),
        system_percent: Some(rest.percent("sys cpu")?),
        context_switches: rest.number("context switches")?,
        major_faults: rest.number("major faults")?,
        minor_faults: rest.number("minor faults")?,
    });
    job.depths = Some(Depths {
        level: rest.percents("depths")?,
        submit: None,
        complete: None,
    });
    job.shares = Some(LatencyShares {
        ns: None,
        us: rest.percents("latencies")?,
        ms: rest.percents("latencies")?,
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
    Ok((version, job, disks))
}

struct Fields<'a> {
    fields: &'a [&'a str],
    at: usize,
}

impl<'a> Fields<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        let field = self
            .fields
            .get(self.at)
            .ok_or_else(|| format!("ends before {what}"))?;
        self.at += 1;
        Ok(field)
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, String> {
        let at = self.at + 1;
        let field = self.next(what)?;
        field
            .trim()
            .parse()
            .map_err(|_| format!("field {at}, {what}: `{field}` is no number"))
    }

    fn percent(&mut self, what: &str) -> Result<f64, String> {
        let at = self.at + 1;
        let field = self.next(what)?;
        let number: Option<f64> = field
            .trim()
            .strip_suffix('%')
            .and_then(|number| number.parse().ok());
        number
            .filter(|number| number.is_finite())
            .ok_or_else(|| format!("field {at}, {what}: `{field}` is no share"))
    }

    fn percents<const N: usize>(&mut self, what: &str) -> Result<[f64; N], String> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.percent(what)?;
        }
        Ok(values)
    }

    fn direction(&mut self, format: u8) -> Result<Option<Direction>, String> {
        let total_kib: u64 = self.number("total")?;
        let bw_kib: f64 = self.number("bandwidth")?;
        let mut direction = Direction {
            io_bytes: total_kib.saturating_mul(1024),
            bw_bytes_per_s: bw_kib * 1024.0,
            iops: self.number("iops")?,
            runtime_ms: self.number("runtime")?,
            ..Direction::default()
        };
        direction.slat = self.moments("slat")?;
        direction.clat = self.moments("clat")?;
        let percentiles = self.percentiles()?;
        direction.lat = self.moments("lat")?;
        match (&mut direction.clat, &mut direction.lat) {
            (Some(clat), _) => clat.percentiles = percentiles,
            (None, Some(lat)) => lat.percentiles = percentiles,
            (None, None) => {}
        }
        let [min, max]: [f64; 2] = [self.number("bandwidth")?, self.number("bandwidth")?];
        let share_percent = Some(self.percent("share of bandwidth")?);
        let [mean, stddev]: [f64; 2] = [self.number("bandwidth")?, self.number("bandwidth")?];
        let mut bw = Samples {
            min: min * 1024.0,
            max: max * 1024.0,
            mean: mean * 1024.0,
            stddev: stddev * 1024.0,
            count: None,
            share_percent,
        };
        if format == 5 {
            bw.count = Some(self.number("samples")?);
            direction.iops_samples = self.iops()?;
        }
        direction.bw_samples = (bw.max > 0.0).then_some(bw);
        let is_unused = total_kib == 0 && direction.runtime_ms == 0;
        Ok((!is_unused).then_some(direction))
    }

    fn iops(&mut self) -> Result<Option<Samples>, String> {
        let samples = Samples {
            min: self.number("iops")?,
            max: self.number("iops")?,
            mean: self.number("iops")?,
            stddev: self.number("iops")?,
            count: Some(self.number("samples")?),
            share_percent: None,
        };
        Ok((samples.count != Some(0)).then_some(samples))
    }

    fn moments(&mut self, what: &str) -> Result<Option<Latency>, String> {
        let [min, max, mean, stddev]: [f64; 4] = [
            self.number(what)?,
            self.number(what)?,
            self.number(what)?,
            self.number(what)?,
        ];
        let is_empty = max <= 0.0 && mean <= 0.0;
        Ok((!is_empty).then(|| Latency {
            min_ns: round_to_u64(min * 1e3),
            max_ns: round_to_u64(max * 1e3),
            mean_ns: mean * 1e3,
            stddev_ns: stddev * 1e3,
            ..Latency::default()
        }))
    }

    fn percentiles(&mut self) -> Result<Vec<(f64, u64)>, String> {
        let mut percentiles = Vec::new();
        for _ in 0..PERCENTILES {
            let at = self.at + 1;
            let field = self.next("percentiles")?;
            let pair = field.split_once("%=").and_then(|(percent, us)| {
                Some((percent.parse::<f64>().ok()?, us.parse::<u64>().ok()?))
            });
            let (percent, us) =
                pair.ok_or_else(|| format!("field {at}: `{field}` is no percentile"))?;
            if percent > 0.0 {
                percentiles.push((percent, round_to_u64(approx(us) * 1e3)));
            }
        }
        Ok(percentiles)
    }

    fn is_disk(&self) -> bool {
        let Some(fields) = self.fields.get(self.at..self.at + DISK) else {
            return false;
        };
        fields.last().is_some_and(|util| util.ends_with('%'))
            && fields.get(1).is_some_and(|ios| ios.parse::<u64>().is_ok())
    }

    fn disk(&mut self) -> Result<DiskUse, String> {
        Ok(DiskUse {
            name: self.next("disk")?.to_owned(),
            ios: (self.number("disk")?, self.number("disk")?),
            merges: (self.number("disk")?, self.number("disk")?),
            ticks_ms: (self.number("disk")?, self.number("disk")?),
            in_queue_ms: self.number("disk")?,
            util_percent: self.percent("disk")?,
        })
    }
}
