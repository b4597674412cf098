//! Which devices are the same storage: every one through which bytes of a device can be read or written.
//!
//! Each device is a stretch of what lies at the bottom: a disk or a file. A partition is a stretch of its disk. A loop
//! device is a stretch of the file or device behind it, and begins at its offset. Two paths to one disk are known by
//! the disk's world-wide name.
//!
//! Devices whose stretches overlap are the same storage. It does not matter how many partitions and loop devices lie
//! between, nor in which mount namespace they were made. What is made of such a device (`holders`: dm, md, bcache) is
//! the same storage too, and so is what overlaps with that.
//!
//! A loop device that cannot be asked what is behind it is an error, never a stranger.

use super::device::{self, CLASS, Number};
use super::identity::{self, Backing, Thing};
use crate::tree::{Tree, TreeError};
use std::collections::{BTreeMap, BTreeSet};

/// The unit of `size` and `start` files, whatever the device's own sectors are (Documentation/ABI/stable/sysfs-block).
const SECTOR_BYTES: u64 = 512;

/// The most devices between one and its bottom: far above what the kernel stacks, and an end to a circle, which is
/// seen where devices change while they are looked at.
const DEEPEST: usize = 64;

/// A device of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The kernel's name, such as `sdb1`.
    pub name: String,
    /// Its number; `None` for one that nobody can open, such as a path of `NVMe`'s own multipathing.
    pub number: Option<Number>,
    /// The disk that it is a partition of.
    disk: Option<String>,
    /// No byte of it lies outside of the device that was asked about.
    is_within: bool,
}

/// A device and all that is the same storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The device that was asked about comes first.
    pub members: Vec<Member>,
    /// Loop devices on a device of the family, but for the one that was asked about: the device and the loop on it.
    pub loops: Vec<(String, String)>,
    /// Members that lie on a file, and that file.
    pub(super) files: Vec<(String, Thing)>,
}

/// A stretch of what lies at the bottom, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    ground: Ground,
    from: u64,
    to: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Ground {
    /// A disk, by the kernel's name.
    Disk(String),
    /// A disk by its world-wide name.
    Named(String),
    /// A file.
    File(Thing),
}

impl Stretch {
    fn overlaps(&self, other: &Self) -> bool {
        self.ground == other.ground && self.from < other.to && other.from < self.to
    }

    fn is_within(&self, other: &Self) -> bool {
        self.ground == other.ground && other.from <= self.from && self.to <= other.to
    }
}

/// How a loop device is asked what is behind it: by the kernel but in tests.
type Ask<'a> = &'a dyn Fn(&str, Number) -> Result<Option<Backing>, TreeError>;

/// The disk that a partition lies on; `None` for anything but a partition.
pub fn disk_of(tree: &Tree, name: &str) -> Option<String> {
    if !tree.exists(&format!("{CLASS}/{name}/partition")) {
        return None;
    }
    let target = tree.link(&format!("{CLASS}/{name}")).ok()?;
    let mut parts = target.rsplit('/').skip(1);
    parts.next().map(str::to_owned)
}

/// The partitions of a disk; empty for anything else.
pub fn partitions(tree: &Tree, name: &str) -> Vec<String> {
    let mut found = tree.list(&format!("{CLASS}/{name}")).unwrap_or_default();
    found.retain(|part| tree.exists(&format!("{CLASS}/{name}/{part}/partition")));
    found
}

/// Why it cannot be said whether a loop device lies on a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unasked {
    /// Neither /sys nor /proc tells which there are.
    #[error("which loop devices there are cannot be found out ({0})")]
    Unlisted(TreeError),
    /// The kernel does not say what this one lies on, and its path, if it is known, leads nowhere from here.
    #[error("the loop device `{name}`{} cannot be asked what it lies on ({why})", on(.path.as_deref()))]
    Loop {
        /// The kernel's name.
        name: String,
        /// The file that it lies on, by a name that may be one of another mount namespace.
        path: Option<String>,
        /// Why it cannot be asked.
        why: TreeError,
    },
}

fn on(path: Option<&str>) -> String {
    path.map_or_else(String::new, |path| {
        format!(", which is said to lie on `{path}`,")
    })
}

/// The loop devices that lie on one of these regular files: the place of the file, and the loop's name; and one of
/// which that cannot be said. Where a loop device may not be asked, its path is believed if it leads to a file: who may
/// not open the device may still own the file.
pub(super) fn loops_on_files(
    tree: &Tree,
    files: &[Thing],
    ask: Ask<'_>,
) -> (Vec<(usize, String)>, Option<Unasked>) {
    let (mut found, mut unasked) = (Vec::new(), None);
    let all = loops(tree).unwrap_or_else(|why| {
        unasked = Some(Unasked::Unlisted(why));
        Vec::new()
    });
    for Looped { name, number, path } in all {
        let on = match ask(&name, number) {
            Ok(backing) => backing.map(|backing| backing.on),
            Err(why) => {
                let known = path.as_ref().filter(|path| !path.ends_with(DELETED));
                let on = known.and_then(|path| identity::thing(&tree.place(path)).ok());
                if on.is_none() {
                    unasked.get_or_insert(Unasked::Loop { name, path, why });
                    continue;
                }
                on
            }
        };
        if let Some(place) = files.iter().position(|file| on == Some(*file)) {
            found.push((place, name));
        }
    }
    (found, unasked)
}

/// How the kernel ends the path of a file that has lost this name (`d_path` of `fs/d_path.c`).
const DELETED: &str = " (deleted)";

/// The major number of loop devices (`LOOP_MAJOR` of linux/major.h).
const LOOP_MAJOR: u32 = 7;

/// A loop device with something behind it.
struct Looped {
    name: String,
    number: Number,
    /// `None` where it could not be read.
    path: Option<String>,
}

/// Every loop device, by `/sys/class/block` and by `/proc/partitions`: one of them is enough, and neither hides what
/// the other tells.
fn loops(tree: &Tree) -> Result<Vec<Looped>, TreeError> {
    let mut found: Vec<Looped> = Vec::new();
    let listed = tree.list(CLASS);
    for name in listed.iter().flatten() {
        let path = match tree.read_trimmed(&format!("{CLASS}/{name}/loop/backing_file")) {
            Err(error) if error.absent => continue,
            other => other.ok(),
        };
        // Without a number it has gone meanwhile.
        if let Some(number) = device::own_number(tree, name)? {
            let name = name.clone();
            found.push(Looped { name, number, path });
        }
    }
    // Without a heading it is hidden, or there is no device at all.
    let partitions = tree.read("/proc/partitions").unwrap_or_default();
    if let Err(error) = listed
        && !partitions.starts_with("major")
    {
        return Err(error);
    }
    // `major minor #blocks name`, below a heading; what has no size is not listed.
    for line in partitions.lines() {
        let mut words = line.split_whitespace();
        let mut number = || words.next()?.parse().ok();
        if let (Some(LOOP_MAJOR), Some(minor)) = (number(), number())
            && let Some(name) = words.nth(1)
        {
            let number = Number {
                major: LOOP_MAJOR,
                minor,
            };
            let is_known = found.iter().any(|known| known.number == number);
            // A partition of one is a stretch of the same file.
            let is_partition = disk_of(tree, name).is_some();
            if !is_known && !is_partition {
                let name = name.to_owned();
                found.push(Looped {
                    name,
                    number,
                    path: None,
                });
            }
        }
    }
    Ok(found)
}

impl Family {
    /// The family of `name`.
    pub fn of(tree: &Tree, name: &str) -> Result<Self, TreeError> {
        Self::asking(tree, name, &|name, number| {
            identity::backing(tree, name, number)
        })
    }

    pub(super) fn asking(tree: &Tree, name: &str, ask: Ask<'_>) -> Result<Self, TreeError> {
        // A device that is not there has no family, and nothing may be said of it.
        tree.list(&format!("{CLASS}/{name}"))?;
        let all = Devices::read(tree, ask)?;
        let own = all.bottom(name)?;
        let mut stretches = vec![own.clone()];
        let mut names = vec![name.to_owned()];
        let mut seen: BTreeSet<String> = names.iter().cloned().collect();
        let mut next = 0;
        while let Some(stretch) = stretches.get(next).cloned() {
            next += 1;
            let mut relatives = Vec::new();
            for other in all.0.keys() {
                if other == name && next == 1 || all.bottom(other)?.overlaps(&stretch) {
                    relatives.push(other);
                }
            }
            for relative in relatives {
                if seen.insert(relative.clone()) {
                    names.push(relative.clone());
                }
                for holder in list(tree, &format!("{CLASS}/{relative}/holders"))? {
                    if seen.insert(holder.clone()) {
                        stretches.push(all.bottom(&holder)?);
                        names.push(holder);
                    }
                }
            }
        }
        // What it is made of.
        let slaves = list(tree, &format!("{CLASS}/{name}/slaves"))?;
        names.extend(
            slaves
                .into_iter()
                .filter(|slave| seen.insert(slave.clone())),
        );
        let members: Result<Vec<Member>, TreeError> =
            names.iter().map(|name| all.member(name, &own)).collect();
        let loops = all.0.keys().filter(|other| *other != name);
        let loops = loops.filter_map(|other| {
            let on = all.loops_on(other)?;
            seen.contains(&on).then(|| (on, other.clone()))
        });
        let files = names
            .iter()
            .filter_map(|name| match &all.0.get(name)?.lies {
                Lies::Bottom {
                    ground: Ground::File(file),
                    ..
                } => Some((name.clone(), *file)),
                Lies::Bottom { .. } | Lies::On { .. } => None,
            });
        Ok(Self {
            loops: loops.collect(),
            files: files.collect(),
            members: members?,
        })
    }

    /// The names of its members.
    pub fn names(&self) -> Vec<String> {
        self.members
            .iter()
            .map(|member| member.name.clone())
            .collect()
    }

    /// The members that must be claimed beside the device itself, so that nobody can have or take any part of the
    /// storage: the kernel claims each device on its own, but a disk together with its partitions.
    pub fn to_claim(&self) -> Vec<&Member> {
        let Some((own, others)) = self.members.split_first() else {
            return Vec::new();
        };
        let disk = |member: &Member| member.disk.as_ref().unwrap_or(&member.name).clone();
        let own_disk = disk(own);
        let whole: BTreeSet<String> = others
            .iter()
            .filter(|member| member.disk.is_none() && member.is_within)
            .map(disk)
            .collect();
        let in_parts: BTreeSet<String> = others
            .iter()
            .filter(|member| member.disk.is_some())
            .map(disk)
            .filter(|disk| !whole.contains(disk))
            .collect();
        others
            .iter()
            .filter(|member| {
                let on = disk(member);
                let is_disk = member.disk.is_none();
                let claimed_else = if is_disk { &in_parts } else { &whole };
                member.number.is_some() && on != own_disk && !claimed_else.contains(&on)
            })
            .collect()
    }
}

/// What a device lies on.
#[derive(Clone, Debug)]
enum Lies {
    /// Another device, from this byte on.
    On { name: String, from: u64 },
    /// The bottom, from this byte on.
    Bottom { ground: Ground, from: u64 },
}

#[derive(Clone, Debug)]
struct Device {
    number: Option<Number>,
    bytes: u64,
    disk: Option<String>,
    lies: Lies,
}

/// Every block device of the machine.
struct Devices(BTreeMap<String, Device>);

impl Devices {
    fn read(tree: &Tree, ask: Ask<'_>) -> Result<Self, TreeError> {
        let mut found = BTreeMap::new();
        let names = list(tree, CLASS)?;
        let numbers: Result<Vec<Option<Number>>, TreeError> = names
            .iter()
            .map(|name| device::own_number(tree, name))
            .collect();
        let numbers = numbers?;
        let named = |number: Number| {
            let place = numbers.iter().position(|own| *own == Some(number))?;
            names.get(place).cloned()
        };
        for (name, &number) in names.iter().zip(&numbers) {
            let sectors = |file: &str| {
                let sectors = tree.read_number(&format!("{CLASS}/{name}/{file}"));
                sectors.map(|sectors| sectors.saturating_mul(SECTOR_BYTES))
            };
            let disk = disk_of(tree, name);
            let behind = match number {
                Some(number) if tree.exists(&format!("{CLASS}/{name}/loop/backing_file")) => {
                    ask(name, number)?
                }
                _ => None,
            };
            let lies = match (&disk, behind) {
                (Some(disk), _) => Lies::On {
                    name: disk.clone(),
                    from: sectors("start")?,
                },
                (None, Some(Backing { on, offset: from })) => match on {
                    Thing::File { .. } => Lies::Bottom {
                        ground: Ground::File(on),
                        from,
                    },
                    Thing::Device(number) => Lies::On {
                        name: named(number).ok_or_else(|| {
                            let why = format!("it lies on the device {number}, which is not there");
                            TreeError::content(&device::node(name), why)
                        })?,
                        from,
                    },
                },
                (None, None) => Lies::Bottom {
                    ground: world_wide_name(tree, name)
                        .map_or_else(|| Ground::Disk(name.clone()), Ground::Named),
                    from: 0,
                },
            };
            // What does not tell its end may reach anywhere.
            let bytes = sectors("size").unwrap_or(u64::MAX);
            found.insert(
                name.clone(),
                Device {
                    number,
                    bytes,
                    disk,
                    lies,
                },
            );
        }
        Ok(Self(found))
    }

    fn get(&self, name: &str) -> Result<&Device, TreeError> {
        let gone = || TreeError::content(&format!("{CLASS}/{name}"), "it has gone meanwhile");
        self.0.get(name).ok_or_else(gone)
    }

    /// What a device is in the end.
    fn bottom(&self, name: &str) -> Result<Stretch, TreeError> {
        let bytes = self.get(name)?.bytes;
        let (mut at, mut from) = (name, 0_u64);
        for _ in 0..DEEPEST {
            match &self.get(at)?.lies {
                Lies::On { name, from: start } => {
                    from = from.saturating_add(*start);
                    at = name;
                }
                Lies::Bottom {
                    ground,
                    from: start,
                } => {
                    let from = from.saturating_add(*start);
                    return Ok(Stretch {
                        ground: ground.clone(),
                        from,
                        to: from.saturating_add(bytes),
                    });
                }
            }
        }
        let why = format!("more than {DEEPEST} devices lie below it");
        Err(TreeError::content(&format!("{CLASS}/{name}"), why))
    }

    /// The device that a loop device lies on; `None` for one on a file, and for other devices.
    fn loops_on(&self, name: &str) -> Option<String> {
        let device = self.0.get(name)?;
        match &device.lies {
            Lies::On { name, .. } if device.disk.is_none() => Some(name.clone()),
            Lies::On { .. } | Lies::Bottom { .. } => None,
        }
    }

    fn member(&self, name: &str, asked: &Stretch) -> Result<Member, TreeError> {
        let device = self.get(name)?;
        Ok(Member {
            name: name.to_owned(),
            number: device.number,
            disk: device.disk.clone(),
            is_within: self.bottom(name)?.is_within(asked),
        })
    }
}

fn world_wide_name(tree: &Tree, name: &str) -> Option<String> {
    let files = ["wwid", "device/wwid"];
    let mut names = files
        .iter()
        .filter_map(|file| tree.read_trimmed(&format!("{CLASS}/{name}/{file}")).ok());
    names.find(|name| !name.is_empty())
}

/// What is in a directory; nothing where it is not there, as for a partition's `slaves`.
pub(super) fn list(tree: &Tree, path: &str) -> Result<Vec<String>, TreeError> {
    match tree.list(path) {
        Err(error) if error.absent => Ok(Vec::new()),
        other => other,
    }
}
