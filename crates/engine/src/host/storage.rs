//! What is behind the work directory: the mount, and the block devices from the file system down to the disk.
//!
//! The chain starts at the mount's device number, because names in /proc/mounts lie at times (`/dev/root`); where a
//! file system has no number of its own (btrfs), at the name. An overlay's chain is that of its upper directory, if
//! that can be seen from here. File systems without a block device (tmpfs, NFS, 9p) have an empty chain; ZFS keeps its
//! devices to itself, and the chain is missing.

use super::{Probes, chosen, fact};
use model::host::{BlockDevice, Fact, IoThrottle, StorageFacts};
use model::named::NamedKind;
use model::units::Bytes;
use std::path::Path;
use sys::block::device;
use sys::counters::Cgroups;
use sys::mounts::{self, Mount};
use sys::tree::{Tree, TreeError, error_name};

const CLASS: &str = "/sys/class/block";

/// The unit of `size` files, whatever the device's own sectors are (Documentation/ABI/stable/sysfs-block).
const SECTOR_BYTES: u64 = 512;

/// The most devices in a chain: more than the widest array that one meets, and an end to any circle.
const MAX_DEVICES: usize = 256;

pub(super) fn facts(tree: &Tree, probes: &Probes) -> StorageFacts {
    let path = probes.work_dir.to_string_lossy().into_owned();
    let mounts = mounts::read(tree).map_err(|error| error.to_string());
    let mount = mounts.as_ref().map_err(Clone::clone).and_then(|mounts| {
        mounts::holding(mounts, &path)
            .ok_or_else(|| format!("no mount in /proc/self/mountinfo holds `{path}`"))
    });
    let text = |get: fn(&Mount) -> &String| fact(mount.clone().map(|mount| get(mount).clone()));
    StorageFacts {
        file_system: text(|mount| &mount.kind),
        mount_options: fact(mount.clone().map(options)),
        mount_point: text(|mount| &mount.point),
        free: probes.free.clone(),
        devices: fact(mount.clone().and_then(|mount| {
            let mounts = mounts.as_deref().unwrap_or_default();
            devices(tree, mounts, mount)
        })),
        path,
    }
}

/// What is behind a device or file that a run works on.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    pub(crate) size: Fact<Bytes>,
    pub(crate) devices: Fact<Vec<BlockDevice>>,
    pub(crate) serial: Fact<String>,
}

/// What is behind the device or file at `path`.
pub(crate) fn behind(tree: &Tree, path: &Path, kind: NamedKind) -> Behind {
    let why =
        |error: std::io::Error| format!("look at `{}`: {}", path.display(), error_name(&error));
    if kind.is_elsewhere() {
        let why = || format!("the storage of a {kind} is its own affair");
        return Behind {
            size: Fact::Missing(why()),
            devices: Fact::Missing(why()),
            serial: Fact::Missing(why()),
        };
    }
    if kind != NamedKind::Device {
        let mounts = mounts::read(tree).map_err(|error| error.to_string());
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let chain = mounts.and_then(|mounts| {
            let mount = mounts::holding(&mounts, &real.to_string_lossy())
                .ok_or_else(|| format!("no mount holds `{}`", real.display()))?;
            devices(tree, &mounts, mount)
        });
        return Behind {
            size: fact(path.metadata().map(|found| Bytes(found.len())).map_err(why)),
            devices: fact(chain),
            serial: Fact::Missing("a file has no serial number".to_owned()),
        };
    }
    let name = device::number(path)
        .map_err(why)
        .and_then(|number| number.ok_or_else(|| format!("`{}` is no device", path.display())))
        .and_then(|number| device::name(tree, number).map_err(|error| error.to_string()));
    let chain = name.clone().and_then(|name| {
        let mounts = mounts::read(tree).unwrap_or_default();
        let mut chain = Vec::new();
        descend(tree, &mounts, &name, &mut chain)?;
        Ok(chain)
    });
    Behind {
        size: fact(name.clone().and_then(|name| size(tree, &name))),
        devices: fact(chain),
        serial: fact(name.and_then(|name| {
            let serials = device::serials(tree, &name);
            let first = serials.first().ok_or("the device tells none")?;
            Ok::<_, String>(super::identity::keyed(first))
        })),
    }
}

/// The mount's own options, then those of the file system that are not among them: `rw,noatime,discard`. An
/// overlay's directories are left out: they differ from container to container and set nothing.
fn options(mount: &Mount) -> String {
    let mut all: Vec<&str> = mount.options.split(',').collect();
    let is_directory = |option: &str| {
        ["lowerdir", "upperdir", "workdir"]
            .iter()
            .any(|name| option.starts_with(name))
    };
    for option in mount.super_options.split(',') {
        // A file system that is writable as such may be mounted read-only here; here counts.
        let sets = !matches!(option, "" | "rw" | "ro") && !is_directory(option);
        if sets && !all.contains(&option) {
            all.push(option);
        }
    }
    all.join(",")
}

fn devices(tree: &Tree, mounts: &[Mount], mount: &Mount) -> Result<Vec<BlockDevice>, String> {
    let mut chain = Vec::new();
    for name in first_devices(tree, mounts, mount)? {
        descend(tree, mounts, &name, &mut chain)?;
    }
    Ok(chain)
}

/// The names of the devices that the file system itself lies on.
fn first_devices(tree: &Tree, mounts: &[Mount], mount: &Mount) -> Result<Vec<String>, String> {
    if mount.kind == "overlay" {
        let upper = mount
            .super_options
            .split(',')
            .find_map(|option| option.strip_prefix("upperdir="))
            .ok_or("the overlay has no upper directory")?;
        return match mounts::holding(mounts, upper) {
            Some(below) if below != mount && below.kind != "overlay" && tree.exists(upper) => {
                first_devices(tree, mounts, below)
            }
            _ => Err("the overlay's upper directory cannot be seen from here".to_owned()),
        };
    }
    if !mount.device.starts_with("0:") {
        let path = format!("/sys/dev/block/{}", mount.device);
        let target = tree.link(&path).map_err(|error| error.to_string())?;
        return Ok(vec![last_part(&target).to_owned()]);
    }
    if mount.kind == "zfs" {
        return Err("ZFS does not show its devices under /sys".to_owned());
    }
    if !mount.source.starts_with("/dev/") {
        return Ok(Vec::new());
    }
    let name = by_source(tree, &mount.source)?;
    Ok(if mount.kind == "btrfs" {
        btrfs_members(tree, name)
    } else {
        vec![name]
    })
}

/// The kernel's name of a device file: its last part, or, for `/dev/mapper/NAME`, the dm device of that name.
fn by_source(tree: &Tree, source: &str) -> Result<String, String> {
    let name = last_part(source);
    if tree.exists(&format!("{CLASS}/{name}")) {
        return Ok(name.to_owned());
    }
    let names = tree.list(CLASS).map_err(|error| error.to_string())?;
    names
        .into_iter()
        .find(|device| {
            tree.read_trimmed(&format!("{CLASS}/{device}/dm/name"))
                .is_ok_and(|mapped| mapped == name)
        })
        .ok_or_else(|| format!("no device under {CLASS} is `{source}`"))
}

/// All devices of the btrfs that `name` belongs to; btrfs names one of them as its source.
fn btrfs_members(tree: &Tree, name: String) -> Vec<String> {
    let dir = "/sys/fs/btrfs";
    tree.list(dir)
        .unwrap_or_default()
        .iter()
        .filter_map(|id| tree.list(&format!("{dir}/{id}/devices")).ok())
        .find(|members| members.contains(&name))
        .unwrap_or_else(|| vec![name])
}

/// Adds the device and everything below it.
pub(super) fn descend(
    tree: &Tree,
    mounts: &[Mount],
    name: &str,
    chain: &mut Vec<BlockDevice>,
) -> Result<(), String> {
    if chain.len() >= MAX_DEVICES || chain.iter().any(|device| device.name == name) {
        return Ok(());
    }
    let target = tree
        .link(&format!("{CLASS}/{name}"))
        .map_err(|error| error.to_string())?;
    let kind = kind(tree, name);
    // A partition lies inside its disk's directory, and has the disk's queue.
    let disk = (kind == "partition").then(|| {
        let parent = Path::new(&target).parent();
        parent.map_or_else(String::new, |dir| {
            last_part(&dir.to_string_lossy()).to_owned()
        })
    });
    chain.push(described(tree, name, kind, disk.as_deref().unwrap_or(name)));
    if let Some(disk) = disk {
        descend(tree, mounts, &disk, chain)?;
    }
    for slave in tree
        .list(&format!("{CLASS}/{name}/slaves"))
        .unwrap_or_default()
    {
        descend(tree, mounts, &slave, chain)?;
    }
    if kind == "loop"
        && let Ok(file) = backing_file(tree, name)
        && let Some(mount) = mounts::holding(mounts, &file)
    {
        // What cannot be seen below the file is no reason to drop what can be seen above it.
        for below in first_devices(tree, mounts, mount).unwrap_or_default() {
            descend(tree, mounts, &below, chain)?;
        }
    }
    Ok(())
}

fn kind(tree: &Tree, name: &str) -> &'static str {
    let has = |file: &str| tree.exists(&format!("{CLASS}/{name}/{file}"));
    if has("partition") {
        "partition"
    } else if has("dm") {
        "dm"
    } else if has("md") {
        "md"
    } else if name.starts_with("loop") {
        "loop"
    } else {
        "disk"
    }
}

fn described(tree: &Tree, name: &str, kind: &str, disk: &str) -> BlockDevice {
    let queue = |file: &str| {
        tree.read_trimmed(&format!("{CLASS}/{disk}/queue/{file}"))
            .map_err(|error| error.to_string())
    };
    let own = |file: &str| fact(tree.read_trimmed(&format!("{CLASS}/{name}/{file}")));
    BlockDevice {
        name: name.to_owned(),
        kind: kind.to_owned(),
        size: fact(size(tree, name)),
        scheduler: fact(queue("scheduler").and_then(|text| {
            chosen(&text)
                .map(str::to_owned)
                .ok_or_else(|| format!("no scheduler of `{disk}` is in brackets"))
        })),
        rotational: fact(queue("rotational").and_then(|text| match text.as_str() {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(format!("`rotational` of `{disk}` is `{other}`")),
        })),
        model: match kind {
            "partition" => Fact::Missing("a partition has no model of its own".to_owned()),
            "dm" => own("dm/name"),
            "md" => own("md/level"),
            "loop" => fact(backing_file(tree, name)),
            _ => own("device/model"),
        },
        throttle: fact(throttle(tree, name)),
        buffered: match kind {
            "loop" => fact(
                tree.read_trimmed(&format!("{CLASS}/{name}/loop/dio"))
                    .map(|dio| dio == "0"),
            ),
            _ => Fact::Known(false),
        },
    }
}

/// What our control groups let us do with a device.
fn throttle(tree: &Tree, name: &str) -> Result<Option<IoThrottle>, TreeError> {
    let number = tree.read_trimmed(&format!("{CLASS}/{name}/dev"))?;
    let found = Cgroups::find(tree)?.throttle(tree, &number)?;
    Ok(found.map(|found| IoThrottle {
        read_bytes_per_s: found.read_bytes,
        write_bytes_per_s: found.write_bytes,
        reads_per_s: found.reads,
        writes_per_s: found.writes,
    }))
}

fn size(tree: &Tree, name: &str) -> Result<Bytes, String> {
    let path = format!("{CLASS}/{name}/size");
    let sectors = tree.read_number(&path).map_err(|error| error.to_string())?;
    sectors
        .checked_mul(SECTOR_BYTES)
        .map(Bytes)
        .ok_or_else(|| format!("parse `{path}`: {sectors} sectors are too many"))
}

fn backing_file(tree: &Tree, name: &str) -> Result<String, String> {
    tree.read_trimmed(&format!("{CLASS}/{name}/loop/backing_file"))
        .map_err(|error| error.to_string())
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
