//! What is mounted where: /proc/self/mountinfo, parsed.
//!
//! mountinfo and not /proc/mounts, because only it tells the device number and which part of a file system is
//! mounted. Lines that cannot be parsed are skipped: one odd mount must not hide the others. Format: proc(5).

use crate::tree::{Tree, TreeError};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Major and minor number of the device, `254:0`; the major number is 0 where no single block device is behind it.
    pub device: String,
    /// The directory of the file system that is seen at `point`.
    pub root: String,
    /// Where it is mounted.
    pub point: String,
    /// Options of this mount: `rw,noatime`.
    pub options: String,
    /// The type: `ext4`.
    pub kind: String,
    /// What is mounted: `/dev/vda1`, `overlay`.
    pub source: String,
    /// Options of the file system: `rw,errors=remount-ro`.
    pub super_options: String,
}

impl Mount {
    /// The user whose program serves the file system (FUSE, `user_id` in mount.fuse(8)): it says of every file what it
    /// likes. `None` for other file systems.
    pub fn served_by(&self) -> Option<u32> {
        let mut options = self.super_options.split(',');
        let user = options.find_map(|option| option.strip_prefix("user_id="));
        let is_fuse = self.is_served() || self.kind.starts_with("fuseblk");
        user.filter(|_| is_fuse).and_then(|user| user.parse().ok())
    }

    /// Whether a program serves it: FUSE, but not on a block device (`fuseblk`, such as ntfs-3g), which is claimed.
    fn is_served(&self) -> bool {
        self.kind == "fuse" || self.kind.starts_with("fuse.")
    }

    /// Whether its files lie in it, so that the number of a file is all that there is to know: it has a block device of
    /// its own, or is one of the kinds that keep data without one. False for what shows files of another place
    /// (overlay, FUSE, eCryptfs), for what another machine serves, and for kinds that are not known.
    pub fn keeps_files(&self) -> bool {
        let has_device = !self.device.starts_with("0:");
        if has_device {
            return !OF_SEVERAL_MACHINES.contains(&self.kind.as_str());
        }
        WITHOUT_DEVICE.contains(&self.kind.as_str())
    }

    /// Whether another machine serves it: a file of this one cannot be meant, but by an export of this very machine.
    pub fn is_remote(&self) -> bool {
        REMOTE.contains(&self.kind.as_str()) || OF_SEVERAL_MACHINES.contains(&self.kind.as_str())
    }

    /// The directories that an overlay shows as one, the upper one first, as they were named when it was mounted; empty
    /// for other file systems. Options: Documentation/filesystems/overlayfs.rst.
    pub fn layers(&self) -> Vec<String> {
        if self.kind != "overlay" {
            return Vec::new();
        }
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for option in self.super_options.split(',') {
            let Some((name, value)) = option.split_once('=') else {
                continue;
            };
            match name {
                "upperdir" => upper.push(unescape(value)),
                "lowerdir" => lower.extend(listed(&unescape(value))),
                "lowerdir+" => lower.push(unescape(value)),
                _ => {}
            }
        }
        upper.extend(lower);
        upper
    }

    /// The path of a file of this mount from the root of its file system, for an absolute path below the mount point.
    pub fn within(&self, path: &str) -> Option<String> {
        let below = path.strip_prefix(self.point.trim_end_matches('/'))?;
        Some(format!("{}{below}", self.root.trim_end_matches('/')))
    }
}

/// Kinds without a block device of their own that keep the data of their files.
const WITHOUT_DEVICE: [&str; 9] = [
    "bcachefs",
    "btrfs",
    "hugetlbfs",
    "jffs2",
    "ramfs",
    "rootfs",
    "tmpfs",
    "ubifs",
    "zfs",
];

/// Kinds on a block device that several machines write to at once.
const OF_SEVERAL_MACHINES: [&str; 2] = ["gfs2", "ocfs2"];

/// Kinds that another machine serves.
const REMOTE: [&str; 12] = [
    "9p", "afs", "ceph", "cifs", "coda", "lustre", "nfs", "nfs4", "orangefs", "smb3", "vboxsf",
    "virtiofs",
];

/// The directories of `lowerdir`: with colons between them, two before those of data alone; `\\:` is a colon in a name.
fn listed(value: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        let last = found.last_mut().expect("there is one from the beginning");
        match letter {
            '\\' => last.extend(letters.next()),
            ':' => found.push(String::new()),
            other => last.push(other),
        }
    }
    found.retain(|dir| !dir.is_empty());
    found
}

/// A mount of the file system of this number, as stat(2) tells it.
pub fn of_device(mounts: &[Mount], device: u64) -> Option<&Mount> {
    let number = format!("{}:{}", libc::major(device), libc::minor(device));
    mounts.iter().find(|mount| mount.device == number)
}

/// Every mount that we see, in the order in which they were made.
pub fn read(tree: &Tree) -> Result<Vec<Mount>, TreeError> {
    Ok(parse(&tree.read(MOUNTINFO)?))
}

/// Where something is mounted, to the byte: for whoever must not take one path for another.
pub fn points(tree: &Tree) -> Result<Vec<PathBuf>, TreeError> {
    let mut bytes = Vec::new();
    tree.read_into(MOUNTINFO, &mut bytes)?;
    let lines = bytes.split(|&byte| byte == b'\n');
    let points = lines.filter_map(|line| line.split(|&byte| byte == b' ').nth(4));
    Ok(points
        .map(|point| OsString::from_vec(unescape_bytes(point)).into())
        .collect())
}

/// The mount that holds `path`, which is absolute and without links: the longest mount point that it lies under, and
/// of several mounts at one point the last, which covers the others.
pub fn holding<'a>(mounts: &'a [Mount], path: &str) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| lies_under(path, &mount.point))
        .max_by_key(|mount| mount.point.trim_end_matches('/').len())
}

fn lies_under(path: &str, point: &str) -> bool {
    path.strip_prefix(point.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(line).collect()
}

/// `id parent major:minor root point options [optional fields] - type source super-options`.
fn line(line: &str) -> Option<Mount> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let mut file_system = file_system.split(' ');
    Some(Mount {
        device: mount.next()?.to_owned(),
        root: unescape(mount.next()?),
        point: unescape(mount.next()?),
        options: mount.next()?.to_owned(),
        kind: file_system.next()?.to_owned(),
        source: unescape(file_system.next()?),
        super_options: file_system.next().unwrap_or_default().to_owned(),
    })
}

/// Undoes the kernel's `\ooo` escapes (space, tab, newline, backslash and `#`).
pub(crate) fn unescape(field: &str) -> String {
    String::from_utf8_lossy(&unescape_bytes(field.as_bytes())).into_owned()
}

fn unescape_bytes(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'\\').then(|| octal(tail)).flatten();
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    bytes
}

/// The byte that three octal digits at the start of `digits` mean.
fn octal(digits: &[u8]) -> Option<u8> {
    let digits = digits.get(..3)?;
    if !digits.iter().all(|digit| (b'0'..=b'7').contains(digit)) {
        return None;
    }
    let value = digits
        .iter()
        .fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro
30 22 0:25 / /mnt rw,nosuid - tmpfs tmpfs rw,size=1024k
31 22 8:17 /sub /mnt/with\\040space rw master:2 propagate_from:1 - xfs /dev/sdb1 rw,attr2
32 22 8:33 / /mnt rw - ext4 /dev/sdc1 rw
not a mount
33 22 0:40 / /data rw - zfs tank/a\\134b
";

    #[test]
    fn fields_are_found_and_escapes_undone() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 5, "the odd line is skipped");
        assert_eq!(
            mounts[2],
            Mount {
                device: "8:17".to_owned(),
                root: "/sub".to_owned(),
                point: "/mnt/with space".to_owned(),
                options: "rw".to_owned(),
                kind: "xfs".to_owned(),
                source: "/dev/sdb1".to_owned(),
                super_options: "rw,attr2".to_owned(),
            }
        );
        assert_eq!(mounts[4].source, "tank/a\\b");
        assert_eq!(mounts[4].super_options, "");
    }

    #[test]
    fn the_longest_mount_point_holds_a_path_and_the_last_of_equals_wins() {
        let mounts = parse(TEXT);
        let check = |path: &str, source: &str| {
            assert_eq!(
                holding(&mounts, path).map(|mount| mount.source.as_str()),
                Some(source),
                "{path}"
            );
        };
        check("/", "/dev/root");
        check("/srv", "/dev/root");
        check("/mnt", "/dev/sdc1");
        check("/mnt/x", "/dev/sdc1");
        check("/mnt2", "/dev/root");
        check("/mnt/with space", "/dev/sdb1");
        check("/mnt/with space/x", "/dev/sdb1");
        check("/mnt/with spaces", "/dev/sdc1");
        assert_eq!(holding(&[], "/"), None);
    }

    #[test]
    fn who_serves_a_file_system_is_known_by_its_number() {
        let text = "\
30 22 0:25 / /a rw - fuse.sshfs host: rw,user_id=1000,group_id=0
31 22 8:17 / /b rw - fuseblk /dev/sdb1 rw,user_id=0,group_id=0
32 22 0:26 / /c rw - ext4 /dev/sdc rw,user_id=7
";
        let mounts = parse(text);
        let check = |device: u64, user: Option<u32>| {
            let mount = of_device(&mounts, device).unwrap();
            assert_eq!(mount.served_by(), user);
        };
        check(libc::makedev(0, 25), Some(1000));
        check(libc::makedev(8, 17), Some(0));
        check(libc::makedev(0, 26), None);
        assert_eq!(of_device(&mounts, libc::makedev(0, 27)), None);
    }

    #[test]
    fn files_lie_where_there_is_a_device_or_a_kind_that_keeps_them() {
        let check = |device: &str, kind: &str, keeps: bool, is_remote: bool| {
            let text = format!("30 22 {device} / /a rw - {kind} x rw\n");
            let mount = &parse(&text)[0];
            assert_eq!(
                (mount.keeps_files(), mount.is_remote()),
                (keeps, is_remote),
                "{kind}"
            );
        };
        for kind in ["ext4", "xfs", "vfat", "fuseblk", "a-new-one"] {
            check("8:17", kind, true, false);
        }
        for kind in ["tmpfs", "btrfs", "zfs", "bcachefs", "ramfs"] {
            check("0:30", kind, true, false);
        }
        let stacked = [
            "overlay",
            "fuse",
            "fuse.bindfs",
            "fuse.mergerfs",
            "ecryptfs",
        ];
        for kind in stacked
            .into_iter()
            .chain(["aufs", "unionfs", "shiftfs", "a-new-one"])
        {
            check("0:30", kind, false, false);
        }
        for kind in ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs"] {
            check("0:30", kind, false, true);
        }
        check("8:17", "ocfs2", false, true);
    }

    #[test]
    fn the_directories_of_an_overlay_are_named_with_the_upper_one_first() {
        let check = |options: &str, expect: &[&str]| {
            let text = format!("30 22 0:25 / /m rw - overlay overlay {options}\n");
            assert_eq!(parse(&text)[0].layers(), expect, "{options}");
        };
        check(
            "rw,lowerdir=/l,upperdir=/u,workdir=/w,uuid=on",
            &["/u", "/l"],
        );
        check("ro,lowerdir=/a:/b:/c", &["/a", "/b", "/c"]);
        check(
            "rw,lowerdir+=/a,lowerdir+=/b:c,upperdir=/u",
            &["/u", "/a", "/b:c"],
        );
        check("ro,lowerdir=/a\\134:b:/c::/data", &["/a:b", "/c", "/data"]);
        check(
            "rw,upperdir=/with\\040space\\054comma",
            &["/with space,comma"],
        );
        check("rw", &[]);
        let fuse = "30 22 0:25 / /m rw - fuse x rw,upperdir=/u\n";
        assert_eq!(parse(fuse)[0].layers(), [""; 0]);
    }

    #[test]
    fn a_path_in_a_mount_is_one_from_the_root_of_its_file_system() {
        let check = |root: &str, point: &str, path: &str, expect: &str| {
            let text = format!("30 22 0:25 {root} {point} rw - overlay overlay rw\n");
            assert_eq!(parse(&text)[0].within(path).as_deref(), Some(expect));
        };
        check("/", "/m", "/m/a/b", "/a/b");
        check("/", "/", "/a/b", "/a/b");
        check("/sub", "/m", "/m/a", "/sub/a");
        // A bind mount of a single file.
        check("/sub/a", "/m/file", "/m/file", "/sub/a");
    }

    #[test]
    fn broken_escapes_are_kept_as_they_are() {
        for text in ["\\", "\\04", "\\0", "a\\9", "\\777", "\\08x"] {
            assert_eq!(unescape(text), text);
        }
        assert_eq!(unescape("\\011\\012\\134\\043"), "\t\n\\#");
    }

    #[test]
    fn mount_points_that_are_no_utf8_stay_apart_to_the_byte() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let text = b"30 22 0:25 / /m\xff\\040x rw - tmpfs tmpfs rw\n31 22 0:26 / /m\xfe rw - tmpfs tmpfs rw\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), text).unwrap();
        let found = points(&Tree::at(root.path())).unwrap();
        let expect = [&b"/m\xff x"[..], b"/m\xfe"].map(|point| OsString::from_vec(point.to_vec()));
        assert_eq!(found, expect.map(PathBuf::from));
    }
}
