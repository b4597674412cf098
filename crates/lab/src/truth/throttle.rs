//! Limits on what a program may use: one small interface to control groups of both versions.
//!
//! Version 1 has a hierarchy for each controller (`cpu.cfs_quota_us`, `blkio.throttle.read_iops_device`), version 2 one
//! for all (`cpu.max`, `io.max`). Every change is a list of [`Write`]s, so that the harness can make it itself, or hand
//! it to `kurabe duel` as the shell command that sets a side up. A period of 10 ms, not the kernel's 100, where the
//! rate of short windows counts: a window of 100 ms then holds ten of them and shows the quota's rate instead of its
//! rhythm.
//! Sources: `scheduler/sched-bwc.rst`, `admin-guide/cgroup-v1/blkio-controller.rst`, `admin-guide/cgroup-v2.rst`.

use anyhow::{Context, bail};
use model::num::{approx, round_to_u64};
use std::fs;
use std::path::{Path, PathBuf};
use sys::tree::Tree;

/// The period over which a quota is counted, in microseconds.
pub(crate) const PERIOD_US: u64 = 10_000;

/// The kernel's own default. Only with long periods is its count of throttled time exact to a point: of 50 % it told
/// 38 % with periods of 10 ms, 48 with 20 and 49.5 with 100. And in duels, which set the quota anew before each round,
/// 97, 95 and 90 % of 10 ms all came out as 90 % (Linux 6.18).
pub(crate) const PERIOD_DEFAULT_US: u64 = 100_000;

/// For how long the kernel may need to see that the last process of a group is gone, in nanoseconds.
const REMOVE_NS: u64 = 3_000_000_000;

/// Where the controllers are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One hierarchy for each of `cpu`, `cpuacct`, `blkio`, in this order.
    V1([PathBuf; 3]),
    /// One hierarchy that has `cpu` and `io`.
    V2(PathBuf),
}

/// A change of one control file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    path: PathBuf,
    text: String,
}

/// A control group that is removed when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Group {
    layout: Layout,
    name: String,
    period_us: u64,
}

impl Layout {
    /// What this machine has.
    pub(crate) fn find(tree: &Tree) -> anyhow::Result<Self> {
        let mounts = tree
            .read("/proc/self/mountinfo")
            .context("read the mounts")?;
        let v1 = |controller: &str| mount_of(&mounts, "cgroup", Some(controller));
        if let (Some(cpu), Some(account), Some(disk)) = (v1("cpu"), v1("cpuacct"), v1("blkio")) {
            return Ok(Self::V1([cpu, account, disk]));
        }
        let Some(unified) = mount_of(&mounts, "cgroup2", None) else {
            bail!("no control groups are mounted");
        };
        let list = unified.join("cgroup.controllers");
        let there = tree
            .read(&list.display().to_string())
            .with_context(|| format!("read `{}`", list.display()))?;
        for wanted in ["cpu", "io"] {
            if !there.split_whitespace().any(|word| word == wanted) {
                bail!("the control groups have no controller `{wanted}`");
            }
        }
        Ok(Self::V2(unified))
    }

    /// `v1` or `v2`.
    pub(crate) fn version(&self) -> &'static str {
        match self {
            Self::V1(_) => "v1",
            Self::V2(_) => "v2",
        }
    }

    /// The mounted hierarchies.
    pub(crate) fn hierarchies(&self) -> Vec<&Path> {
        match self {
            Self::V1(dirs) => dirs.iter().map(PathBuf::as_path).collect(),
            Self::V2(dir) => vec![dir],
        }
    }
}

/// The mount point of the control groups of this type, with `controller` among the options where one is named.
pub(crate) fn mount_of(mounts: &str, kind: &str, controller: Option<&str>) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split_whitespace();
        let found = right.next()?;
        let options = right.last()?;
        let fits = controller.is_none_or(|name| options.split(',').any(|option| option == name));
        (found == kind && fits).then(|| left.split_whitespace().nth(4).map(PathBuf::from))?
    })
}

impl Write {
    /// Makes the change.
    pub(crate) fn now(&self) -> anyhow::Result<()> {
        fs::write(&self.path, &self.text)
            .with_context(|| format!("write `{}` to `{}`", self.text, self.path.display()))
    }
}

/// Makes all changes, in order.
pub(crate) fn apply(writes: &[Write]) -> anyhow::Result<()> {
    writes.iter().try_for_each(Write::now)
}

/// The shell command that makes the changes.
pub(crate) fn command(writes: &[Write]) -> String {
    let parts: Vec<String> = writes
        .iter()
        .map(|write| format!("echo '{}' > '{}'", write.text, write.path.display()))
        .collect();
    parts.join(" && ")
}

impl Group {
    /// A new group without limits.
    pub(crate) fn make(layout: &Layout, name: &str) -> anyhow::Result<Self> {
        if let Layout::V2(root) = layout {
            let control = root.join("cgroup.subtree_control");
            fs::write(&control, "+cpu +io")
                .with_context(|| format!("give groups below `{}` controllers", root.display()))?;
        }
        let group = Self {
            layout: layout.clone(),
            name: name.to_owned(),
            period_us: PERIOD_US,
        };
        for dir in group.dirs() {
            fs::create_dir(&dir)
                .with_context(|| format!("create the control group `{}`", dir.display()))?;
        }
        group.first().now()?;
        apply(&group.cpu(None))?;
        Ok(group)
    }

    /// Lets the group go before everybody else: a quota is the truth only where nobody else keeps the program waiting.
    /// The numbers are the largest that the kernel takes.
    fn first(&self) -> Write {
        let (file, text) = match &self.layout {
            Layout::V1(_) => ("cpu.shares", "262144"),
            Layout::V2(_) => ("cpu.weight", "10000"),
        };
        Write {
            path: self.dir(0).join(file),
            text: text.to_owned(),
        }
    }

    /// The same with quotas counted over so many microseconds.
    pub(crate) fn with_period(mut self, period_us: u64) -> Self {
        self.period_us = period_us;
        self
    }

    fn dirs(&self) -> Vec<PathBuf> {
        let hierarchies = self.layout.hierarchies();
        hierarchies.iter().map(|dir| dir.join(&self.name)).collect()
    }

    fn dir(&self, controller: usize) -> PathBuf {
        match &self.layout {
            Layout::V1(dirs) => dirs[controller].join(&self.name),
            Layout::V2(dir) => dir.join(&self.name),
        }
    }

    /// What a shell writes to go into the group, with everything it starts.
    pub(crate) fn enter(&self) -> String {
        let writes: Vec<String> = self
            .dirs()
            .iter()
            .map(|dir| format!("echo $$ > '{}/cgroup.procs'", dir.display()))
            .collect();
        writes.join(" && ")
    }

    /// Lets the group use so many CPUs at most; `None` for no limit.
    pub(crate) fn cpu(&self, cpus: Option<f64>) -> Vec<Write> {
        let dir = self.dir(0);
        let period = self.period_us;
        let quota = cpus.map(|cpus| round_to_u64(cpus * approx(period)).max(1_000));
        match &self.layout {
            Layout::V1(_) => vec![
                Write {
                    path: dir.join("cpu.cfs_period_us"),
                    text: period.to_string(),
                },
                Write {
                    path: dir.join("cpu.cfs_quota_us"),
                    text: quota.map_or("-1".to_owned(), |quota| quota.to_string()),
                },
            ],
            Layout::V2(_) => vec![Write {
                path: dir.join("cpu.max"),
                text: format!(
                    "{} {period}",
                    quota.map_or("max".to_owned(), |quota| quota.to_string())
                ),
            }],
        }
    }

    /// Lets the group read so often a second from `device` (`major:minor`); `None` for no limit.
    pub(crate) fn read_iops(&self, device: &str, iops: Option<u64>) -> Write {
        let dir = self.dir(2);
        match &self.layout {
            Layout::V1(_) => Write {
                path: dir.join("blkio.throttle.read_iops_device"),
                text: format!("{device} {}", iops.unwrap_or(0)),
            },
            Layout::V2(_) => Write {
                path: dir.join("io.max"),
                text: format!(
                    "{device} riops={}",
                    iops.map_or("max".to_owned(), |iops| iops.to_string())
                ),
            },
        }
    }

    /// CPU time that the group has used so far, in seconds.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let dir = self.dir(1);
        match &self.layout {
            Layout::V1(_) => Ok(approx(number(&dir.join("cpuacct.usage"))?) / 1e9),
            Layout::V2(_) => {
                let path = dir.join("cpu.stat");
                let text = read(&path)?;
                let line = text
                    .lines()
                    .find_map(|line| line.strip_prefix("usage_usec "));
                Ok(approx(parse(line, &path)?) / 1e6)
            }
        }
    }

    /// Reads from `device` that the group has done so far.
    pub(crate) fn reads(&self, device: &str) -> anyhow::Result<u64> {
        let dir = self.dir(2);
        let (path, word) = match &self.layout {
            Layout::V1(_) => (dir.join("blkio.throttle.io_serviced"), "Read"),
            Layout::V2(_) => (dir.join("io.stat"), "rios"),
        };
        reads_in(&read(&path)?, device, word)
            .with_context(|| format!("understand `{}`", path.display()))
    }
}

/// The number of reads in `7:0 Read 12` (v1) or `7:0 rbytes=1 rios=12` (v2); 0 before the first.
fn reads_in(text: &str, device: &str, word: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| {
        let (at, rest) = line.split_once(' ')?;
        (at == device).then_some(rest)
    });
    for line in lines {
        let mut words = line.split([' ', '=']);
        if words.any(|found| found == word) {
            return words.next()?.parse().ok();
        }
    }
    Some(0)
}

impl Drop for Group {
    fn drop(&mut self) {
        for dir in self.dirs() {
            if let Err(error) = remove(&dir) {
                say!("warning: {error:#}");
            }
        }
    }
}

/// Removes a group whose processes have ended or are about to.
pub(crate) fn remove(dir: &Path) -> anyhow::Result<()> {
    let deadline = sys::clock::monotonic() + REMOVE_NS;
    loop {
        match fs::remove_dir(dir) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) if sys::clock::monotonic() > deadline => {
                return Err(error)
                    .with_context(|| format!("remove the control group `{}`", dir.display()));
            }
            Err(_) => sys::clock::sleep(10_000_000),
        }
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("read `{}`", path.display()))
}

fn number(path: &Path) -> anyhow::Result<u64> {
    parse(Some(read(path)?.trim()), path)
}

fn parse(text: Option<&str>, path: &Path) -> anyhow::Result<u64> {
    text.and_then(|text| text.trim().parse().ok())
        .with_context(|| format!("`{}` holds no number", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::ManuallyDrop;

    const V1: &str = "\
30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
31 23 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct
32 23 0:28 / /sys/fs/cgroup/blkio rw shared:3 - cgroup cgroup rw,blkio
39 23 0:35 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate
";
    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn find(mounts: &str, controllers: &[(&str, &str)]) -> anyhow::Result<Layout> {
        let root = tempfile::tempdir().unwrap();
        let files = [("/proc/self/mountinfo", mounts)];
        for (path, text) in files.iter().chain(controllers) {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Layout::find(&Tree::at(root.path()))
    }

    #[test]
    fn the_layout_is_the_one_that_has_the_controllers() {
        let controllers = "/sys/fs/cgroup/cgroup.controllers";
        let v1 = find(V1, &[]).unwrap();
        assert_eq!((v1.version(), v1.hierarchies().len()), ("v1", 3));
        let v2 = find(V2, &[(controllers, "cpuset cpu io memory\n")]).unwrap();
        assert_eq!(v2, Layout::V2("/sys/fs/cgroup".into()));
        let error = find(V2, &[(controllers, "hugetlb\n")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the control groups have no controller `cpu`"
        );
        assert!(find("", &[]).is_err());
    }

    /// A group in directories that stand for the hierarchies. It is not removed: only the kernel's own directories may
    /// be removed with the files in them.
    fn fake(version: u8) -> (tempfile::TempDir, ManuallyDrop<Group>) {
        let root = tempfile::tempdir().unwrap();
        let layout = if version == 1 {
            let dirs = ["cpu", "cpuacct", "blkio"].map(|name| root.path().join(name));
            for dir in &dirs {
                fs::create_dir(dir).unwrap();
            }
            Layout::V1(dirs)
        } else {
            Layout::V2(root.path().to_owned())
        };
        let group = Group::make(&layout, "g").unwrap();
        (root, ManuallyDrop::new(group))
    }

    #[test]
    fn limits_are_written_as_each_version_wants_them() {
        let (root, group) = fake(1);
        apply(&group.cpu(Some(0.95))).unwrap();
        group.read_iops("7:1", Some(500)).now().unwrap();
        let content = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        assert_eq!(content("cpu/g/cpu.cfs_quota_us"), "9500");
        assert_eq!(content("cpu/g/cpu.cfs_period_us"), "10000");
        assert_eq!(content("cpu/g/cpu.shares"), "262144");
        assert_eq!(
            content("blkio/g/blkio.throttle.read_iops_device"),
            "7:1 500"
        );
        apply(&group.cpu(None)).unwrap();
        group.read_iops("7:1", None).now().unwrap();
        assert_eq!(content("cpu/g/cpu.cfs_quota_us"), "-1");
        assert_eq!(content("blkio/g/blkio.throttle.read_iops_device"), "7:1 0");

        let (root, group) = fake(2);
        let content = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        assert_eq!(content("g/cpu.max"), "max 10000");
        assert_eq!(content("g/cpu.weight"), "10000");
        apply(&group.cpu(Some(0.2))).unwrap();
        group.read_iops("7:1", Some(500)).now().unwrap();
        assert_eq!(content("g/cpu.max"), "2000 10000");
        assert_eq!(content("g/io.max"), "7:1 riops=500");
        group.read_iops("7:1", None).now().unwrap();
        assert_eq!(content("g/io.max"), "7:1 riops=max");
        assert_eq!(content("cgroup.subtree_control"), "+cpu +io");
    }

    #[test]
    fn the_shell_command_makes_the_same_change() {
        let (root, group) = fake(1);
        let ok = sys::process::shell(&command(&group.cpu(Some(0.5))), 5_000);
        assert!(ok.is_ok(), "{ok:?}");
        let quota = fs::read_to_string(root.path().join("cpu/g/cpu.cfs_quota_us")).unwrap();
        assert_eq!(quota, "5000\n");
    }

    #[test]
    fn usage_is_read_as_each_version_tells_it() {
        let (root, group) = fake(1);
        let put = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
        put("cpuacct/g/cpuacct.usage", "1500000000\n");
        let served = "7:0 Read 9\n7:1 Read 12\n7:1 Write 3\n7:1 Total 15\nTotal 24\n";
        put("blkio/g/blkio.throttle.io_serviced", served);
        assert!((group.cpu_seconds().unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(group.reads("7:1").unwrap(), 12);
        assert_eq!(group.reads("7:9").unwrap(), 0);

        let (root, group) = fake(2);
        let put = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
        put("g/cpu.stat", "usage_usec 2500000\nuser_usec 1\n");
        put(
            "g/io.stat",
            "7:0 rbytes=4096 wbytes=0 rios=1 wios=0\n7:1 rbytes=8 rios=34 wios=2\n",
        );
        assert!((group.cpu_seconds().unwrap() - 2.5).abs() < 1e-9);
        assert_eq!(group.reads("7:1").unwrap(), 34);
    }
}
