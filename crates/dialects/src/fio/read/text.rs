//! fio's text, from 1.57 to 3.x.
//!
//! Every line says by its first word what it is. Up to 2.16 `KB` is 1024 bytes; since 2.17 that is `KiB`, and `kB` is
//! 1000. `K` behind operations or latencies is 1000 in all versions, and each line names the unit of its latencies.

use super::{Format, Job, Output, params, short};
use crate::figures::LeftOut;
use crate::figures::line::{goes_on, number};
use crate::fio::result::{Direction, JobResult, Latency, SHARE_ENDS};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use model::num::round_to_u64;
use model::units::UnixNanos;
use std::collections::BTreeMap;

/// The outputs of a text without JSON.
pub(super) fn outputs(text: &str, left_out: &mut Vec<LeftOut>) -> Vec<Output> {
    let mut reader = Reader {
        left_out,
        outputs: Vec::new(),
        head: Head::default(),
        output: None,
        job: None,
        is_ended: false,
    };
    for (at, line) in (1..).zip(text.split_inclusive('\n')) {
        let whole = line.strip_suffix('\n');
        reader.line(at, unquoted(whole.unwrap_or(line)), whole.is_some());
    }
    reader.end_output();
    reader.outputs
}

/// The line without what mails and trackers put before it.
fn unquoted(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some(inner) = rest.strip_prefix('>').or_else(|| rest.strip_prefix("&gt;")) {
        rest = inner.trim_start();
    }
    rest
}

/// What stands before the jobs: the version, and the line of each kind of job.
#[derive(Default)]
struct Head {
    version: Option<String>,
    jobs: BTreeMap<(u32, String), Options>,
    /// What all kinds of jobs of a group have in common.
    groups: BTreeMap<u32, Options>,
}

type Options = Vec<(String, String)>;

struct Reader<'a> {
    left_out: &'a mut Vec<LeftOut>,
    outputs: Vec<Output>,
    head: Head,
    output: Option<Output>,
    job: Option<Open>,
    /// The sums behind the jobs were seen.
    is_ended: bool,
}

/// The job whose lines are being read.
struct Open {
    job: Job,
    /// The direction of the lines that follow.
    direction: Option<&'static str>,
    /// Whose percentiles follow, and their unit.
    percentiles: Option<(Kind, f64)>,
    /// Whether percentiles follow that are none of these: of one priority.
    skips_percentiles: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    Slat,
    Clat,
    Lat,
    Sync,
}

impl Reader<'_> {
    /// Reads a line; the last one of a text may be cut where it has no end.
    fn line(&mut self, at: usize, line: &str, is_whole: bool) {
        if let Some(version) = version(line).filter(|_| is_whole) {
            if self.output.is_some() {
                self.end_output();
            }
            self.head.version = Some(version.to_owned());
        } else if let Some((name, group, options)) = header(line).filter(|_| is_whole) {
            if self.output.is_some() || self.head.version.is_some() {
                self.end_output();
            }
            let common = self.head.groups.entry(group);
            common
                .and_modify(|common| common.retain(|option| options.contains(option)))
                .or_insert_with(|| options.clone());
            self.head.jobs.insert((group, name.to_owned()), options);
        } else if let Some((result, rest)) = job(line) {
            self.begin_job(at, result, rest);
        } else if line.starts_with("Run status group") || line.starts_with("Disk stats") {
            self.end_job();
            self.is_ended = true;
        } else if let Some(open) = &mut self.job
            && !open.line(line, is_whole)
        {
            self.left_out.push(LeftOut {
                line: at,
                what: format!("not understood: {}", short(line)),
            });
        }
    }

    fn begin_job(&mut self, line: usize, result: JobResult, rest: &str) {
        self.end_job();
        let before = self.output.as_ref().and_then(|output| output.jobs.last());
        if self.is_ended || before.is_some_and(|before| before.result.group > result.group) {
            if self.output.is_some() {
                self.end_output();
            }
            self.is_ended = false;
        }
        let pid_at = rest.split_once("pid=").map(|(_, rest)| rest);
        let when = pid_at.and_then(when);
        let pid = pid_at.and_then(|rest| rest.split(':').next()?.trim().parse().ok());
        let version = &self.head.version;
        let output = self.output.get_or_insert_with(|| Output {
            line,
            format: Format::Text,
            version: version.clone(),
            when: None,
            pid: None,
            jobs: Vec::new(),
        });
        output.when = output.when.or(when);
        output.pid = output.pid.or(pid);
        self.job = Some(Open {
            job: Job {
                line,
                result,
                is_whole: false,
            },
            direction: None,
            percentiles: None,
            skips_percentiles: false,
        });
    }

    fn end_job(&mut self) {
        if let (Some(open), Some(output)) = (self.job.take(), &mut self.output) {
            output.jobs.push(open.job);
        }
    }

    fn end_output(&mut self) {
        self.end_job();
        let head = std::mem::take(&mut self.head);
        self.is_ended = false;
        let Some(mut output) = self.output.take() else {
            return;
        };
        let mut members: BTreeMap<u32, usize> = BTreeMap::new();
        for job in &output.jobs {
            *members.entry(job.result.group).or_default() += 1;
        }
        for job in &mut output.jobs {
            let group = job.result.group;
            // One result for a group has the name of the first kind of job, and only what all kinds have in common.
            let options = if members.get(&group) == Some(&1) {
                head.groups.get(&group)
            } else {
                head.jobs.get(&(group, job.result.name.clone()))
            };
            job.result.options = options.cloned().unwrap_or_default();
        }
        self.outputs.push(output);
    }
}

/// `fio-3.33`, `fio 1.59`.
fn version(line: &str) -> Option<&str> {
    let version = line
        .strip_prefix("fio-")
        .or_else(|| line.strip_prefix("fio "))?;
    // What stands in brackets is who printed it in fio's words.
    let number = version.split(" (").next().unwrap_or(version);
    let is_one =
        number.starts_with(|c: char| c.is_ascii_digit()) && !number.contains([' ', ';', '/']);
    is_one.then_some(version)
}

/// `a: (g=0): rw=read, bs=4K-4K/4K-4K, ioengine=libaio, iodepth=4`: the name, the group and the options.
fn header(line: &str) -> Option<(&str, u32, Options)> {
    let (name, rest) = line.split_once(": (g=")?;
    let (group, rest) = rest.split_once("): ")?;
    let (_, rest) = rest.split_once("rw=")?;
    let (rw, rest) = rest.split_once(", bs=")?;
    let (blocks, rest) = rest.split_once(", ioengine=")?;
    let (engine, depth) = rest.split_once(", iodepth=")?;
    let pairs = [
        ("rw", rw.to_owned()),
        ("bs", params::blocks(blocks)),
        ("ioengine", engine.to_owned()),
        ("iodepth", depth.trim().to_owned()),
    ];
    let options = pairs.map(|(key, value)| (key.to_owned(), value));
    Some((name, group.parse().ok()?, options.into()))
}

/// `a: (groupid=0, jobs=2): err= 0: pid=12: Tue Jan  7 16:55:33 2014`.
/// Also what stands behind the error.
fn job(line: &str) -> Option<(JobResult, &str)> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(", jobs=")?;
    let (members, rest) = rest.split_once("):")?;
    let (_, rest) = rest.split_once("err=")?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let result = JobResult {
        name: name.to_owned(),
        group: group.trim().parse().ok()?,
        members: Some(members.trim().parse().ok()?),
        error: rest[..end].parse().ok()?,
        ..JobResult::default()
    };
    Some((result, &rest[end..]))
}

/// The time behind a process id, taken as UTC.
fn when(rest: &str) -> Option<UnixNanos> {
    let words: Vec<&str> = rest.split_once(':')?.1.split_whitespace().collect();
    let [_, month, day, time, year] = words[..] else {
        return None;
    };
    let text = format!("{month} {day} {time} {year}");
    let at = DateTime::strptime("%b %d %H:%M:%S %Y", text).ok()?;
    let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();
    u64::try_from(at).ok().map(UnixNanos)
}

impl Open {
    /// Reads a line of the job; false where it should have been understood.
    fn line(&mut self, line: &str, is_whole: bool) -> bool {
        if let Some(rest) = line.strip_prefix('|') {
            return self.percentile_line(rest);
        }
        if goes_on(line) && !self.job.is_whole {
            return false;
        }
        self.percentiles = None;
        self.skips_percentiles = line.contains(" percentiles (");
        let Some((head, rest)) = line.split_once(':') else {
            return line.is_empty() || self.job.is_whole;
        };
        let mut words = head.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        match first {
            "read" | "write" | "trim" | "mixed" if !self.job.is_whole && rest.contains('=') => {
                self.direction(first, rest)
            }
            "cpu" => {
                self.job.is_whole = true;
                true
            }
            "issued" => {
                self.issued(rest);
                true
            }
            "slat" | "clat" | "lat" | "sync" => {
                let kind = match first {
                    "slat" => Kind::Slat,
                    "clat" => Kind::Clat,
                    "lat" => Kind::Lat,
                    _ => Kind::Sync,
                };
                self.latency_line(kind, [second, words.next()], rest, is_whole)
            }
            "bw" | "iops" | "high" | "low" | "Description" | "fsync/fdatasync/sync_file_range" => {
                true
            }
            _ => self.job.is_whole,
        }
    }

    fn latency_line(
        &mut self,
        kind: Kind,
        words: [Option<&str>; 2],
        rest: &str,
        is_whole: bool,
    ) -> bool {
        let [second, third] = words;
        if second == Some("percentiles") {
            self.percentiles = third.and_then(unit).map(|unit| (kind, unit));
            let place = self.latency(kind).and_then(|place| place.as_ref());
            if place.is_some_and(|latency| !latency.percentiles.is_empty()) {
                return self.is_lost();
            }
            return self.percentiles.is_some();
        }
        let Some(unit) = second.and_then(unit) else {
            return true;
        };
        if !rest.contains("min=") {
            return !matches!(kind, Kind::Lat) || self.shares(rest, unit);
        }
        let Some(found) = moments(rest, unit).filter(|_| is_whole) else {
            return false;
        };
        match self.latency(kind) {
            Some(place @ None) => *place = Some(found),
            Some(Some(_)) => return self.is_lost(),
            None => {}
        }
        true
    }

    /// What comes a second time is of another direction, whose line was not understood.
    fn is_lost(&mut self) -> bool {
        self.direction = None;
        self.percentiles = None;
        false
    }

    /// The place of a latency of the direction that is being read.
    fn latency(&mut self, kind: Kind) -> Option<&mut Option<Latency>> {
        if matches!(kind, Kind::Sync) {
            return Some(&mut self.job.result.sync);
        }
        let result = &mut self.job.result;
        let direction = match self.direction? {
            "read" => &mut result.read,
            "write" => &mut result.write,
            "trim" => &mut result.trim,
            _ => &mut result.mixed,
        };
        let direction = direction.as_mut()?;
        Some(match kind {
            Kind::Slat => &mut direction.slat,
            Kind::Clat => &mut direction.clat,
            _ => &mut direction.lat,
        })
    }

    fn direction(&mut self, name: &str, rest: &str) -> bool {
        let result = &mut self.job.result;
        let (name, place) = match name {
            "read" => ("read", &mut result.read),
            "write" => ("write", &mut result.write),
            "trim" => ("trim", &mut result.trim),
            _ => ("mixed", &mut result.mixed),
        };
        self.direction = None;
        let Some(found) = new_direction(rest).or_else(|| old_direction(rest)) else {
            return false;
        };
        if place.is_some() {
            return false;
        }
        // What is printed of all directions beside each of them holds zeros.
        if found.iops > 0.0 || found.io_bytes > 0 {
            *place = Some(found);
            self.direction = Some(name);
        }
        true
    }

    /// `  1.00th=[  330],  5.00th=[  338], ...`.
    fn percentile_line(&mut self, rest: &str) -> bool {
        let Some((kind, unit)) = self.percentiles else {
            return self.job.is_whole || self.skips_percentiles;
        };
        let parts = rest.split(',').map(str::trim);
        let found: Option<Vec<(f64, u64)>> = parts
            .filter(|part| !part.is_empty())
            .map(|part| {
                let (percent, value) = part.split_once("th=[")?;
                let value = value.strip_suffix(']')?.trim_start_matches([' ', '>', '=']);
                Some((
                    percent.parse().ok()?,
                    round_to_u64(thousands(value)? * unit),
                ))
            })
            .collect();
        let place = self.latency(kind).and_then(Option::as_mut);
        match (found, place) {
            (Some(found), Some(latency)) => latency.percentiles.extend(found),
            (None, _) => return false,
            (_, None) => {}
        }
        true
    }

    /// `250=60.94%, 500=33.20%`, in classes of the unit.
    fn shares(&mut self, rest: &str, unit: f64) -> bool {
        let shares = self.job.result.shares.get_or_insert_default();
        for part in rest.split(',').map(str::trim) {
            let part = part.replace("&gt;", ">");
            let Some((end, share)) = part.split_once('=').filter(|(end, _)| *end != ">") else {
                if let Some(share) = part.strip_prefix(">=2000=").and_then(percent) {
                    shares.ms[11] = share;
                    continue;
                }
                return false;
            };
            let class = SHARE_ENDS.iter().chain(&[2000]);
            let class = class.copied().position(|class| end.parse() == Ok(class));
            let cells: &mut [f64] = match round_to_u64(unit) {
                1 => shares.ns.get_or_insert_default(),
                1_000 => &mut shares.us,
                _ => &mut shares.ms,
            };
            let cell = class.and_then(|class| cells.get_mut(class));
            let (Some(cell), Some(share)) = (cell, percent(share)) else {
                return false;
            };
            *cell = share;
        }
        true
    }

    /// `total=256/0`, `total=r=9114/w=5685/d=0`, `total=163840,0,0,`.
    fn issued(&mut self, rest: &str) {
        let total = rest.split_once("total=").map(|(_, rest)| rest);
        let total = total.and_then(|rest| rest.split("short").next());
        let mut counts = total
            .into_iter()
            .flat_map(|total| total.split(|c: char| !c.is_ascii_digit()))
            .filter_map(|digits| digits.parse().ok());
        let result = &mut self.job.result;
        for direction in [&mut result.read, &mut result.write, &mut result.trim] {
            let count = counts.next();
            if let Some(direction) = direction {
                direction.total_ios = direction.total_ios.or(count);
            }
        }
    }
}

fn percent(text: &str) -> Option<f64> {
    text.trim().strip_suffix('%')?.parse().ok()
}

/// Nanoseconds of `(usec)`.
fn unit(word: &str) -> Option<f64> {
    match word.trim_start_matches('(').trim_end_matches(')') {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        _ => None,
    }
}

/// What stands behind `key` and an equals sign.
fn behind<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = text.find(key)? + key.len();
    Some(text[at..].strip_prefix('=')?.trim_start())
}

/// A number with a suffix of thousands: `22.7k`, `1119.1K`.
fn thousands(text: &str) -> Option<f64> {
    let (value, rest) = number(text)?;
    let factor = match rest.bytes().next() {
        Some(b'k' | b'K') => 1e3,
        Some(b'm' | b'M') => 1e6,
        Some(b'g' | b'G') => 1e9,
        Some(b't' | b'T') => 1e12,
        _ => 1.0,
    };
    (value >= 0.0).then_some(value * factor)
}

/// `min=11 , max=4007 , avg=18.80, stdev=16.36`.
fn moments(text: &str, unit: f64) -> Option<Latency> {
    let of = |key: &str| Some(thousands(behind(text, key)?)? * unit);
    Some(Latency {
        min_ns: round_to_u64(of("min")?),
        max_ns: round_to_u64(of("max")?),
        mean_ns: of("avg")?,
        stddev_ns: of("stdev")?,
        ..Latency::default()
    })
}

/// `io=1024KB, bw=5753KB/s, iops=1438, runt=   178msec`.
fn old_direction(text: &str) -> Option<Direction> {
    let part = |key: &str| behind(text, key)?.split(',').next();
    let rate = part("bw")?.trim_end().strip_suffix("/s")?;
    Some(Direction {
        io_bytes: round_to_u64(bytes(part("io")?, 1024.0)?),
        bw_bytes_per_s: bytes(rate, 1024.0)?,
        iops: thousands(behind(text, "iops")?)?,
        runtime_ms: milliseconds(behind(text, "runt")?)?,
        ..Direction::default()
    })
}

/// `IOPS=22.7k, BW=88.6MiB/s (93.0MB/s)(887MiB/10001msec)`.
fn new_direction(text: &str) -> Option<Direction> {
    let iops = thousands(behind(text, "IOPS")?)?;
    let (rate, rest) = behind(text, "BW")?.split_once('(')?;
    let rate = rate.trim_end();
    let rate = rate.strip_suffix("/s").unwrap_or(rate);
    let (_, amount) = rest.split_once(")(")?;
    let (amount, runtime) = amount.split_once('/')?;
    Some(Direction {
        io_bytes: round_to_u64(bytes(amount, 1000.0)?),
        bw_bytes_per_s: bytes(rate, 1000.0)?,
        iops,
        runtime_ms: milliseconds(runtime)?,
        ..Direction::default()
    })
}

fn milliseconds(text: &str) -> Option<u64> {
    let (value, rest) = number(text)?;
    rest.starts_with("msec").then(|| round_to_u64(value))
}

/// `5753KB`, `88.6MiB`, `521296 B`, `0`; a letter without `i` behind it stands for powers of `base`.
fn bytes(text: &str, base: f64) -> Option<f64> {
    let (value, unit) = number(text)?;
    let unit = unit.trim();
    let (power, rest) = match unit.chars().next() {
        None => return (value == 0.0).then_some(0.0),
        Some('B') => (0, unit),
        Some(letter) => {
            let power = "kmgtp".find(letter.to_ascii_lowercase())? + 1;
            (i32::try_from(power).ok()?, &unit[1..])
        }
    };
    let (base, rest) = match rest.strip_prefix('i') {
        Some(rest) => (1024.0_f64, rest),
        None => (base, rest),
    };
    (rest == "B" && value >= 0.0).then(|| value * base.powi(power))
}
