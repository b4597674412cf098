//! Our own control group: where it is, what it allows, and what it did to us.
//!
//! Three layouts exist: v1 (one hierarchy per controller, each mounted somewhere), v2 (one hierarchy for all), and
//! hybrid (v1 controllers, and a v2 hierarchy without controllers next to them). A limit may sit at any level between
//! our group and the root of what is mounted; the tightest one holds. In a container /proc/self/cgroup may show a path
//! of the host of which only a part, or nothing, is visible under the mount: then the root of the mount is the
//! container's own group, and that is used. Levels above it cannot be seen from inside; v1's
//! `hierarchical_memory_limit` still tells of them and is taken into account.
//! Sources: cgroups(7), `admin-guide/cgroup-v1/memory.rst`, `scheduler/sched-bwc.rst`, `admin-guide/cgroup-v2.rst`.

use super::{keyed, number};
use crate::tree::{Tree, TreeError, shorten};
use std::time::Duration;

mod io;

pub use io::Throttle;

const SELF_CGROUP: &str = "/proc/self/cgroup";
const SELF_MOUNTS: &str = "/proc/self/mountinfo";

/// A v1 memory limit of this size or more means "none": the kernel shows the largest signed 64-bit number, rounded
/// down to a page (of up to 64 KiB).
const V1_NO_LIMIT: u64 = 0x7fff_ffff_ffff_0000;

/// Which layout the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy per controller.
    V1,
    /// One hierarchy for all.
    V2,
    /// v1 controllers with a v2 hierarchy next to them.
    Hybrid,
    /// No control groups are mounted.
    None,
}

impl Version {
    /// `v1`, `v2`, `hybrid` or `none`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Hybrid => "hybrid",
            Self::None => "none",
        }
    }
}

/// Where the files of our own control group are. Found once; our group does not change while we run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroups {
    /// The layout.
    pub version: Version,
    /// Our path in each hierarchy, as /proc/self/cgroup lists it, without duplicates: names the container at times.
    pub paths: Vec<String>,
    cpu: Result<Group, TreeError>,
    memory: Result<Group, TreeError>,
    io: Result<Group, TreeError>,
}

/// One controller's view of our group.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    unified: bool,
    /// Directories from our own group up to the root of the mount.
    levels: Vec<String>,
}

/// A cgroup file system in /proc/self/mountinfo.
struct Mount {
    unified: bool,
    /// The directory of the hierarchy that is visible at `point`.
    root: String,
    point: String,
    /// v1: the controllers, and `name=...`.
    options: Vec<String>,
}

/// A line of /proc/self/cgroup.
struct Member {
    controllers: Vec<String>,
    path: String,
}

impl Cgroups {
    /// Finds our group in every hierarchy that matters.
    pub fn find(tree: &Tree) -> Result<Self, TreeError> {
        Self::find_of(tree, SELF_CGROUP)
    }

    /// The same of the process whose list of groups stands in this file, as far as our mounts show them.
    pub(crate) fn find_of(tree: &Tree, list: &str) -> Result<Self, TreeError> {
        let members = members(&tree.read(list)?)?;
        let mounts = mounts(&tree.read(SELF_MOUNTS)?);
        let v1 = mounts
            .iter()
            .any(|mount| !mount.unified && mount.options.iter().any(|name| is_controller(name)));
        let v2 = mounts.iter().any(|mount| mount.unified);
        let mut paths: Vec<String> = members.iter().map(|member| member.path.clone()).collect();
        paths.sort();
        paths.dedup();
        Ok(Self {
            version: match (v1, v2) {
                (true, true) => Version::Hybrid,
                (true, false) => Version::V1,
                (false, true) => Version::V2,
                (false, false) => Version::None,
            },
            paths,
            cpu: group(tree, "cpu", &members, &mounts),
            memory: group(tree, "memory", &members, &mounts),
            io: group(tree, "blkio", &members, &mounts),
        })
    }

    /// How many CPUs' worth of time the quotas allow: the tightest of all visible levels, `None` where no level has
    /// one.
    pub fn cpu_quota(&self, tree: &Tree) -> Result<Option<f64>, TreeError> {
        let group = self.cpu.as_ref().map_err(Clone::clone)?;
        let quota = if group.unified { quota_v2 } else { quota_v1 };
        Ok(group
            .over_levels(|level| quota(tree, level))?
            .into_iter()
            .flatten()
            .reduce(f64::min))
    }

    /// The memory limit in bytes: the tightest of all levels, `None` where no level has one.
    pub fn memory_limit(&self, tree: &Tree) -> Result<Option<u64>, TreeError> {
        let group = self.memory.as_ref().map_err(Clone::clone)?;
        let limit = if group.unified { memory_v2 } else { memory_v1 };
        Ok(group
            .over_levels(|level| limit(tree, level))?
            .into_iter()
            .flatten()
            .min())
    }

    /// What the memory limits leave, in bytes: limit less what is in use, page cache counted as free; the tightest of
    /// all levels, with the limit of that level; `None` where no level has one.
    pub fn memory_room(&self, tree: &Tree) -> Result<Option<(u64, u64)>, TreeError> {
        let group = self.memory.as_ref().map_err(Clone::clone)?;
        let rooms = group.over_levels(|level| room_at(tree, level, group.unified))?;
        Ok(rooms.into_iter().flatten().min())
    }

    /// For how long CPU quotas held our group back so far, summed over its CPUs and over all visible levels (a quota
    /// of a parent holds us back as well, and in practice one level has the quota). An error where no level counts it.
    pub fn throttled(&self, tree: &Tree) -> Result<Duration, TreeError> {
        let group = self.cpu.as_ref().map_err(Clone::clone)?;
        let levels = group.over_levels(|level| throttled_at(tree, level, group.unified))?;
        levels
            .into_iter()
            .flatten()
            .reduce(Duration::saturating_add)
            .ok_or_else(|| {
                TreeError::content(&group.file("cpu.stat"), "it does not count throttled time")
            })
    }

    /// How many processes of our group were killed because it reached its memory limit. v2 counts groups below ours
    /// too.
    pub fn memory_kills(&self, tree: &Tree) -> Result<u64, TreeError> {
        let group = self.memory.as_ref().map_err(Clone::clone)?;
        let path = group.file(if group.unified {
            "memory.events"
        } else {
            "memory.oom_control"
        });
        let text = tree.read(&path)?;
        number(&path, "oom_kill", keyed(&text, "oom_kill"))
    }
}

impl Group {
    /// The path of a file of our own group.
    fn file(&self, name: &str) -> String {
        // There is always a level: the root of the mount.
        let own = self.levels.first().map_or("", String::as_str);
        format!("{own}/{name}")
    }

    /// Asks every level. A level without the file has no such control, which is no error: the root of v2 has none.
    fn over_levels<T>(
        &self,
        ask: impl Fn(&str) -> Result<T, TreeError>,
    ) -> Result<Vec<T>, TreeError> {
        self.levels
            .iter()
            .map(|level| ask(level))
            .filter(|answer| !matches!(answer, Err(error) if error.absent))
            .collect()
    }
}

fn quota_v1(tree: &Tree, level: &str) -> Result<Option<f64>, TreeError> {
    let path = format!("{level}/cpu.cfs_quota_us");
    let quota = tree.read_trimmed(&path)?;
    if quota.starts_with('-') {
        return Ok(None);
    }
    let period = format!("{level}/cpu.cfs_period_us");
    share(&path, &quota, &tree.read_trimmed(&period)?)
}

fn quota_v2(tree: &Tree, level: &str) -> Result<Option<f64>, TreeError> {
    let path = format!("{level}/cpu.max");
    let text = tree.read_trimmed(&path)?;
    match text.split_once(' ') {
        Some(("max", _)) => Ok(None),
        Some((quota, period)) => share(&path, quota, period),
        None => Err(TreeError::content(&path, "it is not `QUOTA PERIOD`")),
    }
}

/// Microseconds of CPU time per microseconds of wall time: the kernel takes quotas of up to 2^44 us and periods of up
/// to a second. Source: `max_bw_runtime_us` of the kernel's `sched/core.c`.
#[expect(clippy::cast_precision_loss, reason = "numbers below 2^53 are exact")]
fn share(path: &str, quota: &str, period: &str) -> Result<Option<f64>, TreeError> {
    match (quota.parse::<u64>(), period.parse::<u64>()) {
        (Ok(quota), Ok(period)) if period > 0 => Ok(Some(quota as f64 / period as f64)),
        _ => {
            let why = format!(
                "`{}` per `{}` is not a quota",
                shorten(quota),
                shorten(period)
            );
            Err(TreeError::content(path, why))
        }
    }
}

fn memory_v1(tree: &Tree, level: &str) -> Result<Option<u64>, TreeError> {
    let own = tree.read_number(&format!("{level}/memory.limit_in_bytes"))?;
    // Also tells of levels above the one that is mounted here. Not every kernel has the line.
    let above = tree
        .read(&format!("{level}/memory.stat"))
        .ok()
        .and_then(|text| {
            keyed(&text, "hierarchical_memory_limit")?
                .parse::<u64>()
                .ok()
        });
    let tightest = own.min(above.unwrap_or(u64::MAX));
    Ok((tightest < V1_NO_LIMIT).then_some(tightest))
}

fn memory_v2(tree: &Tree, level: &str) -> Result<Option<u64>, TreeError> {
    limit_v2(tree, level, "memory.max")
}

fn limit_v2(tree: &Tree, level: &str, file: &str) -> Result<Option<u64>, TreeError> {
    let path = format!("{level}/{file}");
    let text = tree.read_trimmed(&path)?;
    if text == "max" {
        return Ok(None);
    }
    number(&path, "the limit", Some(&text)).map(Some)
}

/// The limit of one level less what is used at it, page cache not counted, because it is given up first. Files that lie
/// in memory (tmpfs, shared memory) are counted with the page cache and can only be swapped out. Where v2 throttles
/// before it kills (`memory.high`), that is the limit: beyond it the kernel takes pages away while we measure.
fn room_at(tree: &Tree, level: &str, unified: bool) -> Result<Option<(u64, u64)>, TreeError> {
    let (limit, used, [cache, in_memory]) = if unified {
        let limits = [
            memory_v2(tree, level)?,
            limit_v2(tree, level, "memory.high").or_else(none_where_absent)?,
        ];
        let tightest = limits.into_iter().flatten().min();
        (tightest, "memory.current", ["file", "shmem"])
    } else {
        (
            memory_v1(tree, level)?,
            "memory.usage_in_bytes",
            ["total_cache", "total_shmem"],
        )
    };
    let Some(limit) = limit else {
        return Ok(None);
    };
    let used = tree.read_number(&format!("{level}/{used}"))?;
    let stat = tree
        .read(&format!("{level}/memory.stat"))
        .unwrap_or_default();
    let bytes = |key| keyed(&stat, key).and_then(|value| value.parse::<u64>().ok());
    let given_up = bytes(cache)
        .unwrap_or(0)
        .saturating_sub(bytes(in_memory).unwrap_or(0));
    let kept = used.saturating_sub(given_up);
    Ok(Some((limit.saturating_sub(kept), limit)))
}

/// A kernel that is too old for a control sets no limit by it.
fn none_where_absent(error: TreeError) -> Result<Option<u64>, TreeError> {
    if error.absent { Ok(None) } else { Err(error) }
}

/// The throttled time of one level, or `None` where its cpu.stat does not count it.
fn throttled_at(tree: &Tree, level: &str, unified: bool) -> Result<Option<Duration>, TreeError> {
    let path = format!("{level}/cpu.stat");
    let text = tree.read(&path)?;
    let key = if unified {
        "throttled_usec"
    } else {
        "throttled_time"
    };
    let Some(value) = keyed(&text, key) else {
        return Ok(None);
    };
    let value = number(&path, key, Some(value))?;
    Ok(Some(if unified {
        Duration::from_micros(value)
    } else {
        Duration::from_nanos(value)
    }))
}

/// Named hierarchies (`name=systemd`) and file system options control nothing.
fn is_controller(option: &str) -> bool {
    const OPTIONS: [&str; 7] = [
        "rw",
        "ro",
        "xattr",
        "noprefix",
        "clone_children",
        "cpuset_v2_mode",
        "favordynmods",
    ];
    !option.contains('=') && !OPTIONS.contains(&option)
}

/// Finds the directories of our group in the hierarchy that has `controller`.
fn group(
    tree: &Tree,
    controller: &str,
    members: &[Member],
    mounts: &[Mount],
) -> Result<Group, TreeError> {
    let has = |names: &[String]| names.iter().any(|name| name == controller);
    let v1 = members.iter().find(|member| has(&member.controllers));
    let v2 = members.iter().find(|member| member.controllers.is_empty());
    let unified = v1.is_none();
    let member = v1.or(v2).ok_or_else(|| {
        TreeError::content(
            SELF_CGROUP,
            format!("it has no hierarchy with {controller}"),
        )
    })?;
    let fits = |mount: &&Mount| mount.unified == unified && (unified || has(&mount.options));
    let mut best: Option<Vec<String>> = None;
    for mount in mounts.iter().filter(fits) {
        let levels = levels(tree, mount, &member.path);
        // The same hierarchy may be mounted several times: the view that reaches furthest up tells most.
        if best.as_ref().is_none_or(|other| levels.len() > other.len()) {
            best = Some(levels);
        }
    }
    best.map(|levels| Group { unified, levels }).ok_or_else(|| {
        let why = format!("no control group file system with {controller} is mounted");
        TreeError::content(SELF_MOUNTS, why)
    })
}

/// The directories from our own group up to the mount point; only the mount point where our path is not visible.
fn levels(tree: &Tree, mount: &Mount, path: &str) -> Vec<String> {
    let below = path
        .strip_prefix(mount.root.trim_end_matches('/'))
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        .map(|rest| rest.trim_matches('/'))
        .filter(|rest| !rest.split('/').any(|part| part == ".."))
        .filter(|rest| tree.exists(&format!("{}/{rest}", mount.point)))
        .unwrap_or("");
    let mut levels = Vec::new();
    let mut rest = below;
    while !rest.is_empty() {
        levels.push(format!("{}/{rest}", mount.point));
        rest = rest.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    levels.push(mount.point.clone());
    levels
}

/// `id:controller,controller:path`, where the path may hold colons.
fn members(text: &str) -> Result<Vec<Member>, TreeError> {
    let parse = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        Some(Member {
            controllers: controllers
                .split(',')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            path: path.to_owned(),
        })
    };
    text.lines()
        .map(|line| {
            parse(line).ok_or_else(|| {
                let why = format!("`{}` is not `ID:CONTROLLERS:PATH`", shorten(line));
                TreeError::content(SELF_CGROUP, why)
            })
        })
        .collect()
}

/// The cgroup lines of mountinfo; others are none of our business and are not judged.
fn mounts(text: &str) -> Vec<Mount> {
    crate::mounts::parse(text)
        .into_iter()
        .filter(|mount| mount.kind == "cgroup" || mount.kind == "cgroup2")
        .map(|mount| Mount {
            unified: mount.kind == "cgroup2",
            options: mount.super_options.split(',').map(str::to_owned).collect(),
            root: mount.root,
            point: mount.point,
        })
        .collect()
}

#[cfg(test)]
mod tests;
