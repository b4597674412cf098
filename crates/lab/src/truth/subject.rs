//! What an experiment slows down: a CPU, or a disk of its own.
//!
//! Both look alike from outside: there is a test, a control group to run it in, a limit that is a number (CPUs, reads a
//! second), and what was used of it so far. So what is done to one is done to the other by the same lines.

use super::check::Check;
use super::disk::Disk;
use super::lab::{Call, Lab};
use super::throttle::{Group, PERIOD_DEFAULT_US, Write, apply};
use model::num::{approx, round_to_u64};

/// Something that can be slowed down.
#[derive(Debug)]
pub(crate) struct Subject {
    /// What it is, in a word: `CPU` or `disk`.
    pub(crate) what: &'static str,
    /// The group in which it is slowed down.
    pub(crate) group: Group,
    test: String,
    /// The one CPU to work on, where it is one of several.
    cpu: Option<u32>,
    /// The disk to work on, where it is one.
    pub(crate) disk: Option<Disk>,
}

impl Subject {
    /// Whatever CPU there is, with quotas that the kernel counts over its usual period.
    pub(crate) fn cpu(lab: &Lab) -> anyhow::Result<Self> {
        Self::cpu_of(lab, None, PERIOD_DEFAULT_US)
    }

    /// Each CPU as one of its own, with quotas that are counted over so many microseconds.
    pub(crate) fn cpus(lab: &Lab, period_us: u64) -> anyhow::Result<Vec<Self>> {
        let cpus = super::lab::cpus()?.into_iter();
        cpus.map(|cpu| Self::cpu_of(lab, Some(cpu), period_us))
            .collect()
    }

    fn cpu_of(lab: &Lab, cpu: Option<u32>, period_us: u64) -> anyhow::Result<Self> {
        Ok(Self {
            what: "CPU",
            group: lab.group()?.with_period(period_us),
            test: lab.options.cpu_test.clone(),
            cpu,
            disk: None,
        })
    }

    /// A new disk.
    pub(crate) fn disk(lab: &Lab) -> anyhow::Result<Self> {
        Ok(Self {
            what: "disk",
            group: lab.group()?,
            test: lab.options.disk_test.clone(),
            cpu: None,
            disk: Some(lab.disk()?),
        })
    }

    /// As many new disks as sessions run at the same time.
    pub(crate) fn disks(lab: &Lab) -> anyhow::Result<Vec<Self>> {
        let wanted = lab.options.parallel.clamp(1, lab.options.sessions.max(1));
        (0..wanted).map(|_| Self::disk(lab)).collect()
    }

    /// What has to be written for a limit in CPUs or reads a second; `None` for no limit.
    pub(crate) fn limit(&self, limit: Option<f64>) -> Vec<Write> {
        match &self.disk {
            Some(disk) => vec![self.group.read_iops(&disk.number, limit.map(round_to_u64))],
            None => self.group.cpu(limit),
        }
    }

    /// Sets a limit, or takes it away.
    pub(crate) fn set(&self, limit: Option<f64>) -> anyhow::Result<()> {
        apply(&self.limit(limit))
    }

    /// CPU seconds or reads so far.
    pub(crate) fn used(&self) -> anyhow::Result<f64> {
        match &self.disk {
            Some(disk) => Ok(approx(self.group.reads(&disk.number)?)),
            None => self.group.cpu_seconds(),
        }
    }

    /// A run of one copy under this label.
    pub(crate) fn run(&self, store: &str, label: &str, more: &[&str]) -> Call<'_> {
        let args = [
            "run", &self.test, "--copies", "1", "--label", label, "--quiet",
        ];
        self.placed(Call::new(store, &args).with(more))
    }

    /// A duel of the test with itself, without the word `duel`.
    pub(crate) fn duel(&self, store: &str, more: &[&str]) -> Call<'_> {
        let mut call = Call::new(store, &[self.test.as_str()]).with(more);
        if let Some(disk) = &self.disk {
            let side = format!("dir={}", disk.path());
            call = call.with(&["--a", &side, "--b", &side]);
        }
        call.within(&self.group).on(self.cpu)
    }

    /// A soak of `seconds` with windows of `window` (such as `100ms`).
    pub(crate) fn soak(&self, store: &str, seconds: u64, window: &str) -> Call<'_> {
        let call = super::sessions::soak_call(store, &self.test, seconds, window);
        self.placed(call)
    }

    fn placed<'a>(&'a self, call: Call<'a>) -> Call<'a> {
        let call = match &self.disk {
            Some(disk) => call.with(&["--dir", &disk.path()]),
            None => call,
        };
        call.within(&self.group).on(self.cpu)
    }
}

/// What both ways of doing something found: as far as they are asked for, and that on disks where the binary has the
/// test.
pub(crate) fn on_both(
    lab: &Lab,
    cpu: impl FnOnce() -> anyhow::Result<Vec<Check>>,
    disk: impl FnOnce() -> anyhow::Result<Vec<Check>>,
) -> anyhow::Result<Vec<Check>> {
    let mut checks = Vec::new();
    if lab.options.cpu() {
        checks.extend(cpu()?);
    }
    if lab.options.disk() {
        match lab.lacks(&lab.options.disk_test) {
            Some(why) => checks.push(Check::skipped("disk", why)),
            None => checks.extend(disk()?),
        }
    }
    Ok(checks)
}
