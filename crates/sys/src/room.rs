//! What limits how much may be written in a directory: asked before, so that no write ends in the middle.
//!
//! The file system's own free space (statvfs(2)); the quotas under which its files count ([`quota`]); for one in memory
//! (tmpfs) the memory; for an overlay what limits its upper directory; and where the device is a loop device on a file
//! with holes, what limits the file system of that file, however many lie on one another. Only facts: how much of it
//! may be used is decided where it is used. What is there and cannot be asked is told as well.

mod quota;

use crate::memory::limits;
use crate::mounts::{self, Mount};
use crate::probe;
use crate::tree::{Tree, error_name};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The most file systems on one another that are asked.
const DEEPEST: usize = 8;

/// The directory of block devices.
const CLASS: &str = "/sys/class/block";

/// One thing that limits what may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// What may still be written, in bytes.
    pub free_bytes: u64,
    /// All of it, in bytes.
    pub total_bytes: u64,
    /// The most that can still be needed of it: the holes of a file that a device lies on. `None` where every byte that
    /// is written counts.
    pub needed_bytes: Option<u64>,
    /// Of what these bytes are, in words; `None` for the file system itself.
    pub whose: Option<String>,
}

/// All that limits what may be written in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// At least one, the file system itself first.
    pub bounds: Vec<Bound>,
    /// How many files may still be made; `None` where the file system makes room for them as they come.
    pub free_inodes: Option<u64>,
    /// What limits it too, and cannot be asked.
    pub unasked: Vec<String>,
}

/// What limits how much may be written in `dir`.
pub fn of(tree: &Tree, dir: &Path) -> io::Result<Room> {
    let mut room = Room::default();
    room.add(tree, dir, None, 0)?;
    Ok(room)
}

/// What may still be written in `dir`, in bytes: the least of all limits.
pub fn free_bytes(tree: &Tree, dir: &Path) -> io::Result<u64> {
    let room = of(tree, dir)?;
    let counts = |bound: &&Bound| {
        bound
            .needed_bytes
            .is_none_or(|needed| needed > bound.free_bytes)
    };
    let free = room
        .bounds
        .iter()
        .filter(counts)
        .map(|bound| bound.free_bytes);
    Ok(free.min().unwrap_or(0))
}

impl Room {
    /// Adds what limits `dir`. `through` are the device or overlay through which what is written gets there, and the
    /// most that can be needed.
    fn add(
        &mut self,
        tree: &Tree,
        dir: &Path,
        through: Option<(&str, Option<u64>)>,
        depth: usize,
    ) -> io::Result<()> {
        let space = probe::file_system(dir)?;
        let dir = dir.canonicalize()?;
        let (through, needed_bytes) = through.unzip();
        let needed_bytes = needed_bytes.flatten();
        let own = through
            .map(|through| format!(" of the file system of `{}`, {through},", dir.display()));
        self.bounds.push(Bound {
            free_bytes: space.free_bytes,
            total_bytes: space.total_bytes,
            needed_bytes,
            whose: own,
        });
        // What lies on a device takes no inodes below it.
        if needed_bytes.is_none() {
            self.at_most_files(probe::free_inodes(&dir)?);
        }
        if space.in_memory().is_some() {
            self.add_memory(tree);
        }
        for quota in quota::all(tree, &dir, needed_bytes.is_none()) {
            if needed_bytes.is_none() {
                self.at_most_files(quota.free_inodes);
            }
            self.unasked.extend(quota.unasked);
            self.bounds.extend(quota.bound.map(|bound| Bound {
                needed_bytes,
                ..bound
            }));
        }
        let mounts = mounts::read(tree).unwrap_or_else(|why| {
            let dir = dir.display();
            self.unasked.push(format!(
                "what lies below the file system of `{dir}` ({why})"
            ));
            Vec::new()
        });
        let path = dir.to_string_lossy();
        if let Some(mount) = mounts::holding(&mounts, &path).filter(|_| depth < DEEPEST) {
            self.add_below(tree, mount, &space, needed_bytes, depth);
        }
        Ok(())
    }

    fn at_most_files(&mut self, files: Option<u64>) {
        self.free_inodes = match (self.free_inodes, files) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    fn add_memory(&mut self, tree: &Tree) {
        match limits::room(tree) {
            Ok(memory) => self.bounds.push(Bound {
                free_bytes: memory.bytes,
                // That of the group where a group limits: a tenth of it stays, however large the machine is.
                total_bytes: memory.total,
                needed_bytes: None,
                whose: Some(format!(" of memory, in which it lies ({}),", memory.whose)),
            }),
            Err(error) => self.unasked.push(format!("memory: {error}")),
        }
    }

    /// What lies below the file system of a mount.
    fn add_below(
        &mut self,
        tree: &Tree,
        mount: &Mount,
        space: &probe::FileSystem,
        needed: Option<u64>,
        depth: usize,
    ) {
        if let Some(upper) = mount.layers().first() {
            // Its name may be one of another mount namespace: the room tells whether it is the directory.
            let is_it = |found: probe::FileSystem| found.total_bytes == space.total_bytes;
            let is_there = probe::file_system(&tree.place(upper)).is_ok_and(is_it);
            let words = "on which the overlay lies";
            let through = Some((words, needed));
            if !is_there
                || self
                    .add(tree, &tree.place(upper), through, depth + 1)
                    .is_err()
            {
                self.unasked.push(format!("quotas of `{upper}`, {words}"));
            }
            return;
        }
        let device = device_of(tree, mount);
        for name in device.into_iter().flat_map(|name| bottoms(tree, &name)) {
            self.add_device(tree, &name, depth);
        }
    }

    /// The file system of the file that a loop device lies on; nothing for other devices.
    fn add_device(&mut self, tree: &Tree, name: &str, depth: usize) {
        let mapping = tree.read_trimmed(&format!("{CLASS}/{name}/dm/name"));
        if let Some(pool) = mapping.ok().filter(|name| name.ends_with("-tpool")) {
            self.unasked
                .push(format!("the pool of thin volumes `{pool}` below it"));
            return;
        }
        let path = match tree.read_trimmed(&format!("{CLASS}/{name}/loop/backing_file")) {
            Ok(path) => path,
            // No loop device.
            Err(error) if error.absent => return,
            Err(why) => {
                self.unasked
                    .push(format!("what `{name}` lies on, which is below it ({why})"));
                return;
            }
        };
        let place = tree.place(&path);
        let found = place.metadata().and_then(|file| {
            // Blocks of stat(2) are of 512 bytes, whatever those of the file system.
            let holes = file.len().saturating_sub(file.blocks().saturating_mul(512));
            let parent = place.parent().filter(|_| file.is_file() && holes > 0);
            let through = format!("on which `{name}` lies");
            parent.map_or(Ok(()), |parent| {
                self.add(tree, parent, Some((&through, Some(holes))), depth + 1)
            })
        });
        if let Err(error) = found {
            let why = error_name(&error);
            self.unasked.push(format!(
                "the file system of `{path}`, on which `{name}` lies ({why})"
            ));
        }
    }
}

/// The kernel's name of the device that a mounted file system lies on; of one with several (btrfs) that which is named.
fn device_of(tree: &Tree, mount: &Mount) -> Option<String> {
    let link = tree.link(&format!("/sys/dev/block/{}", mount.device)).ok();
    let named = || {
        let path = tree.place(&mount.source).canonicalize().ok()?;
        Some(path.to_string_lossy().into_owned())
    };
    let path = link.or_else(|| mount.source.starts_with("/dev/").then(named)?)?;
    path.rsplit('/').next().map(str::to_owned)
}

/// The devices that one is made of in the end: the disk of a partition, what mappings and arrays lie on. A pool of thin
/// volumes is an end, whatever it lies on.
fn bottoms(tree: &Tree, name: &str) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), vec![name.to_owned()]);
    for _ in 0..64 {
        let Some(name) = at.pop() else { break };
        let disk = crate::block::family::disk_of(tree, &name);
        let slaves = tree.list(&format!("{CLASS}/{name}/slaves"));
        let pool = tree.read_trimmed(&format!("{CLASS}/{name}/dm/name"));
        let is_pool = pool.is_ok_and(|name| name.ends_with("-tpool"));
        let below: Vec<String> = disk.into_iter().chain(slaves.unwrap_or_default()).collect();
        if below.is_empty() || is_pool {
            found.push(name);
        } else {
            at.extend(below);
        }
    }
    found
}

#[cfg(test)]
mod tests;
