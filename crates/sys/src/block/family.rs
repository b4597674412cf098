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
//! A loop device that cannot be asked what is behind it is an error, never a stranger. One on a file that really lies
//! elsewhere ([`super::elsewhere`]) counts as one on the real file, where that can be found.

use super::device::{self, CLASS, Number};
use super::elsewhere::{Elsewhere, View};
use super::identity::{self, Backing, Thing};
use crate::tree::{Tree, TreeError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The unit of `size` and `start` files, whatever the device's own sectors are (Documentation/ABI/stable/sysfs-block).
pub(super) const SECTOR_BYTES: u64 = 512;

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
    /// Members that lie on a file, and that file; where it really lies elsewhere, the real one too.
    pub(super) files: Vec<(String, Thing)>,
    /// The type of the file system, where the file below the device that was asked about really lies elsewhere, or that
    /// of another member does and was not found there.
    pub(super) shown_by: Option<String>,
    /// A loop device that may lie on the same file, and the type of the file system that keeps that from being seen.
    pub(super) maybe: Option<(String, String)>,
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
pub(super) type Ask<'a> = &'a dyn Fn(&str, Number) -> Result<Option<Backing>, TreeError>;

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
        let files = names.iter().flat_map(|name| {
            let files = all.files(name).into_iter();
            files.map(|file| (name.clone(), file))
        });
        let lowest = all.lowest(name);
        let mut shown = names.iter().filter_map(|name| {
            let (_, known) = all.0.get(name)?.shown.as_ref()?;
            // One that was found to lie on a file of this family is looked at like all others.
            (name == lowest || known.real.is_none()).then_some(known)
        });
        Ok(Self {
            loops: loops.collect(),
            files: files.collect(),
            shown_by: shown.next().map(|known| known.kind.clone()),
            maybe: all.maybe(&seen),
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
    /// The length of the file that a loop device lies on, as far as the device tells it.
    length: Option<u64>,
    /// The file below it by the number that it tells, where that really lies elsewhere.
    shown: Option<(Thing, Elsewhere)>,
}

impl Device {
    /// The file that it lies on.
    const fn file(&self) -> Option<&Thing> {
        match &self.lies {
            Lies::Bottom {
                ground: Ground::File(file),
                ..
            } => Some(file),
            Lies::Bottom { .. } | Lies::On { .. } => None,
        }
    }
}

/// The length of the file at `path`, where that is this one.
fn length_at(path: &Path, file: Thing) -> Option<u64> {
    let is_it = identity::thing(path).is_ok_and(|found| found == file);
    is_it.then(|| path.metadata().ok().map(|found| found.len()))?
}

/// Every block device of the machine.
struct Devices(BTreeMap<String, Device>);

impl Devices {
    fn read(tree: &Tree, ask: Ask<'_>) -> Result<Self, TreeError> {
        let mut found = BTreeMap::new();
        let view = View::own(tree)?;
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
            let path = behind.and_then(|_| {
                let path = tree.read_trimmed(&format!("{CLASS}/{name}/loop/backing_file"));
                path.ok()
            });
            let shown = behind.and_then(|backing| {
                let known = view.elsewhere(tree, backing.on, path.as_deref())?;
                Some((backing.on, known))
            });
            let lies = match (&disk, behind) {
                (Some(disk), _) => Lies::On {
                    name: disk.clone(),
                    from: sectors("start")?,
                },
                (
                    None,
                    Some(Backing {
                        on, offset: from, ..
                    }),
                ) => match on {
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
            let length = behind.and_then(|backing| {
                let now = path.and_then(|path| length_at(&tree.place(&path), backing.on));
                let reaches = !backing.is_limited && bytes < u64::MAX;
                now.max(reaches.then(|| backing.offset.saturating_add(bytes)))
            });
            found.insert(
                name.clone(),
                Device {
                    number,
                    bytes,
                    disk,
                    lies,
                    length,
                    shown,
                },
            );
        }
        let mut all = Self(found);
        all.find_real_files();
        Ok(all)
    }

    /// Lets the loop devices lie on the real files, so that all on one of them are the same storage: what was found by
    /// the path of one device counts for every one with the same number.
    fn find_real_files(&mut self) {
        let devices = self.0.values();
        let found = devices.filter_map(|device| {
            let (told, known) = device.shown.as_ref()?;
            Some((*told, known.real.as_ref()?.1))
        });
        let found: Vec<(Thing, Thing)> = found.collect();
        for device in self.0.values_mut() {
            if let Lies::Bottom {
                ground: Ground::File(file),
                ..
            } = &mut device.lies
                && let Some((_, real)) = found.iter().find(|(told, _)| told == file)
            {
                *file = *real;
            }
        }
    }

    /// The files that a device lies on: by its real number, and by the one that the device tells.
    fn files(&self, name: &str) -> Vec<Thing> {
        let Some(device) = self.0.get(name) else {
            return Vec::new();
        };
        let Some(file) = device.file() else {
            return Vec::new();
        };
        let told = device.shown.as_ref().map(|(told, _)| *told);
        let told = told.filter(|told| told != file);
        std::iter::once(*file).chain(told).collect()
    }

    /// A loop device beside those `seen` whose file may be the one at the bottom of one of them: it really lies
    /// elsewhere, on this machine, and where cannot be found out.
    fn maybe(&self, seen: &BTreeSet<String>) -> Option<(String, String)> {
        let bottoms = seen.iter().filter_map(|name| self.0.get(self.lowest(name)));
        let files: Vec<&Thing> = bottoms.filter_map(Device::file).collect();
        let lengths: Vec<Option<u64>> = files.iter().map(|file| self.length(file)).collect();
        let mut others = self.0.iter().filter(|(name, _)| !seen.contains(*name));
        others.find_map(|(name, device)| {
            let (_, known) = device.shown.as_ref()?;
            let Lies::Bottom { from, .. } = &device.lies else {
                return None;
            };
            let ends = (device.bytes < u64::MAX).then(|| from.saturating_add(device.bytes));
            let may_be = lengths.iter().any(|length| known.may_be(ends, *length));
            may_be.then(|| (name.clone(), known.kind.clone()))
        })
    }

    /// The length of a file below loop devices, as far as one of them tells it.
    fn length(&self, file: &Thing) -> Option<u64> {
        let on_it = self.0.values().filter(|device| device.file() == Some(file));
        on_it.filter_map(|device| device.length).max()
    }

    fn get(&self, name: &str) -> Result<&Device, TreeError> {
        let gone = || TreeError::content(&format!("{CLASS}/{name}"), "it has gone meanwhile");
        self.0.get(name).ok_or_else(gone)
    }

    /// The last device on the way from one to its bottom.
    fn lowest<'a>(&'a self, name: &'a str) -> &'a str {
        let mut at = name;
        for _ in 0..DEEPEST {
            match self.0.get(at).map(|device| &device.lies) {
                Some(Lies::On { name, .. }) => at = name,
                _ => break,
            }
        }
        at
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

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// loop0 on a file, with the partition loop0p1 and the mapping dm-0 on that; loop1 on a file of an overlay.
    fn machine(own_sectors: u64, other_sectors: Option<u64>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let own = own_sectors.to_string();
        let other = other_sectors.map_or(String::new(), |sectors| sectors.to_string());
        for (place, number, size) in [
            ("loop0", "7:0", own.as_str()),
            ("loop0/loop0p1", "259:0", "100"),
            ("dm-0", "253:0", "100"),
            ("loop1", "7:1", other.as_str()),
        ] {
            let place = format!("sys/devices/{place}");
            write(&format!("{place}/dev"), number);
            write(&format!("{place}/size"), size);
            let name = place.rsplit('/').next().unwrap();
            let link = dir.path().join("sys/class/block").join(name);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            let from = place.strip_prefix("sys/").unwrap();
            std::os::unix::fs::symlink(format!("../../{from}"), link).unwrap();
        }
        write("sys/devices/loop0/loop0p1/partition", "1");
        write("sys/devices/loop0/loop0p1/start", "8");
        write("sys/devices/loop0/loop0p1/holders/dm-0/x", "");
        write("sys/devices/dm-0/slaves/loop0p1/x", "");
        write("sys/devices/loop0/loop/backing_file", "/image");
        write("sys/devices/loop1/loop/backing_file", "/gone/image");
        let overlay = "30 1 0:99 / /m rw - overlay x rw,lowerdir=/l,upperdir=/u\n";
        write("proc/self/mountinfo", overlay);
        dir
    }

    fn maybe(dir: &Path, asked: &str, is_limited: bool, on: Option<Thing>) -> Option<String> {
        let ask = |name: &str, _| {
            let own = on.unwrap_or(Thing::File {
                device: libc::makedev(8, 1),
                inode: 5,
            });
            let other = Thing::File {
                device: libc::makedev(0, 99),
                inode: 5,
            };
            Ok(Some(Backing {
                on: if name == "loop0" { own } else { other },
                offset: 0,
                is_limited: is_limited && name == "loop0",
            }))
        };
        let family = Family::asking(&Tree::at(dir), asked, &ask).unwrap();
        family.maybe.map(|(name, _)| name)
    }

    #[test]
    fn another_loop_device_may_lie_on_the_file_whatever_part_of_it_is_asked_about() {
        let sectors = MIB / SECTOR_BYTES;
        let check = |own, other, is_limited, expect: bool| {
            let dir = machine(own, other);
            let expect = expect.then(|| "loop1".to_owned());
            for asked in ["loop0", "loop0p1", "dm-0"] {
                let found = maybe(dir.path(), asked, is_limited, None);
                assert_eq!(found, expect, "{asked} {own} {other:?} {is_limited}");
            }
        };
        check(sectors, Some(sectors), false, true);
        check(sectors, Some(sectors / 2), false, true);
        check(sectors, Some(sectors + 1), false, false);
        // One that ends before its file does says nothing of the file's end.
        check(sectors / 2, Some(sectors), true, true);
        check(sectors, None, false, true);
    }

    #[test]
    fn the_file_itself_tells_how_long_it_has_become() {
        let sectors = MIB / SECTOR_BYTES;
        let dir = machine(sectors, Some(2 * sectors));
        let image = dir.path().join("image");
        let file = std::fs::File::create(&image).unwrap();
        let on = Some(identity::thing(&image).unwrap());
        for (length, is_limited, expect) in [
            (2 * MIB, false, true),
            (2 * MIB, true, true),
            (MIB, false, false),
            (MIB, true, false),
        ] {
            file.set_len(length).unwrap();
            let found = maybe(dir.path(), "loop0", is_limited, on).is_some();
            assert_eq!(found, expect, "{length} {is_limited}");
        }
    }
}
