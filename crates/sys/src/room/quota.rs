//! Quotas under which files of a directory count: those of user, group and project (quotactl(2)), and the group of a
//! volume of btrfs (/sys/fs/btrfs).
//!
//! A soft limit counts like a hard one: beyond it a time begins after which nothing can be written any more, by others
//! of the group or project neither. Where quotas are off there is no answer, and none is made up. Where they may not be
//! asked that is told, but for those of projects, which statvfs(2) tells for those who may not ask.

#![expect(
    unsafe_code,
    reason = "quotactl and the ioctls of file systems have no safe interface in std"
)]

use super::Bound;
use crate::mounts;
use crate::tree::{Tree, TreeError, error_name};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a quota says.
#[derive(Debug, Default)]
pub(super) struct Quota {
    pub(super) bound: Option<Bound>,
    pub(super) free_inodes: Option<u64>,
    pub(super) unasked: Option<String>,
}

impl Quota {
    fn unasked(words: String) -> Self {
        Self {
            unasked: Some(words),
            ..Self::default()
        }
    }
}

/// `struct if_dqblk` of linux/quota.h; limits of bytes in units of 1 KiB (`QIF_DQBLKSIZE`), `space` in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    hard: u64,
    soft: u64,
    space: u64,
    hard_inodes: u64,
    soft_inodes: u64,
    inodes: u64,
    space_time: u64,
    inodes_time: u64,
    valid: u32,
}

/// All quotas that can be asked. Where what is written is not `ours`, but that of a device on a file there, no user's
/// and no group's counts.
pub(super) fn all(tree: &Tree, dir: &Path, ours: bool) -> Vec<Quota> {
    let opened = match File::open(dir) {
        Ok(opened) => opened,
        Err(error) => {
            let (dir, why) = (dir.display(), error_name(&error));
            return vec![Quota::unasked(format!("the quotas of `{dir}` ({why})"))];
        }
    };
    let is_project = |owner: &Owner| matches!(owner, Owner::Project(_));
    let mut found = Vec::new();
    for owner in owners(&opened) {
        if !ours && !is_project(&owner) {
            continue;
        }
        match ask(tree, dir, &opened, owner) {
            Ok(told) => found.push(of_told(&told, owner.words())),
            Err(error) if is_denied(&error) && !is_project(&owner) => {
                let (what, number) = owner.name();
                let why = error_name(&error);
                let words = format!("the quota of {what} {number} ({why})");
                found.push(Quota::unasked(words));
            }
            Err(_) => {}
        }
    }
    found.extend(of_volume(tree, &opened));
    found
}

/// Whose quota: the type and the number, as linux/quota.h has them.
#[derive(Clone, Copy, Debug)]
enum Owner {
    User(u32),
    Group(u32),
    Project(u32),
}

impl Owner {
    const fn kind_and_number(self) -> (u32, u32) {
        match self {
            Self::User(number) => (0, number),
            Self::Group(number) => (1, number),
            Self::Project(number) => (2, number),
        }
    }

    const fn name(self) -> (&'static str, u32) {
        match self {
            Self::User(number) => ("user", number),
            Self::Group(number) => ("group", number),
            Self::Project(number) => ("project", number),
        }
    }

    fn words(self) -> String {
        let (what, number) = self.name();
        format!(" that the quota of {what} {number} allows")
    }
}

/// Whose the files are that we make in a directory.
fn owners(dir: &File) -> Vec<Owner> {
    /// sys/stat.h: files get the group of the directory.
    const SET_GROUP: u32 = 0o2000;
    // SAFETY: the call takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    // SAFETY: the call takes nothing and cannot fail.
    let group = unsafe { libc::getegid() };
    let what = dir.metadata().ok();
    let of_dir = what.filter(|what| what.mode() & SET_GROUP != 0);
    let group = of_dir.map_or(group, |what| what.gid());
    let project = project(dir).map(Owner::Project);
    let all = [Owner::User(user), Owner::Group(group)];
    all.into_iter().chain(project).collect()
}

/// The project that files of a directory get; `None` where they get none.
fn project(dir: &File) -> Option<u32> {
    /// `FS_IOC_FSGETXATTR` and `FS_XFLAG_PROJINHERIT` of linux/fs.h.
    const GET: libc::Ioctl = 0x801c_581f_u32 as libc::Ioctl;
    const INHERITED: u32 = 0x200;
    // `struct fsxattr`: flags, extent size, extents, project, and 12 bytes more.
    let mut told = [0_u32; 7];
    // SAFETY: the kernel writes 28 bytes, which `told` has.
    let result = unsafe { libc::ioctl(dir.as_raw_fd(), GET, told.as_mut_ptr()) };
    (result == 0 && told[0] & INHERITED != 0).then_some(told[3])
}

/// Whether asking was refused. Other errors say that there is no such quota.
fn is_denied(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

/// Asks for a quota; an error where there is none, or where it may not be asked.
fn ask(tree: &Tree, dir: &Path, opened: &File, owner: Owner) -> io::Result<Told> {
    /// `Q_GETQUOTA` and `QCMD` of linux/quota.h.
    const GET: u32 = 0x0080_0007;
    let (kind, number) = owner.kind_and_number();
    let command = libc::c_long::from((GET << 8) | kind);
    let number = libc::c_long::from(number);
    let mut told = Told::default();
    // SAFETY: the kernel writes one `if_dqblk`, which `told` is (Linux 5.14).
    let result = unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            libc::c_long::from(opened.as_raw_fd()),
            command,
            number,
            &raw mut told,
        )
    };
    if result == 0 {
        return Ok(told);
    }
    let refused = io::Error::last_os_error();
    if is_denied(&refused) {
        return Err(refused);
    }
    // An older kernel takes the device by its path.
    let mounts = mounts::read(tree).unwrap_or_default();
    let mount = dir.to_str().and_then(|dir| mounts::holding(&mounts, dir));
    let device = mount.and_then(|mount| CString::new(mount.source.as_str()).ok());
    let Some(device) = device else {
        return Err(refused);
    };
    // SAFETY: the path is a C string, and the kernel writes one `if_dqblk`, which `told` is.
    let result = unsafe {
        libc::syscall(
            libc::SYS_quotactl,
            command,
            device.as_ptr(),
            number,
            &raw mut told,
        )
    };
    if result == 0 {
        return Ok(told);
    }
    Err(io::Error::last_os_error())
}

fn of_told(told: &Told, whose: String) -> Quota {
    let least = |hard: u64, soft: u64| [hard, soft].into_iter().filter(|limit| *limit > 0).min();
    let bytes = least(told.hard, told.soft).map(|limit| limit.saturating_mul(1024));
    let inodes = least(told.hard_inodes, told.soft_inodes);
    Quota {
        bound: bytes.map(|limit| bound(limit, told.space, whose)),
        free_inodes: inodes.map(|limit| limit.saturating_sub(told.inodes)),
        unasked: None,
    }
}

fn bound(limit: u64, used: u64, whose: String) -> Bound {
    Bound {
        free_bytes: limit.saturating_sub(used),
        total_bytes: limit,
        needed_bytes: None,
        whose: Some(whose),
    }
}

/// The limits of the volume of btrfs that a directory lies in. Its statvfs(2) says nothing of them.
fn of_volume(tree: &Tree, dir: &File) -> Vec<Quota> {
    match volume(dir) {
        Ok(Some((file_system, volume))) => {
            let all = format!("/sys/fs/btrfs/{file_system}/qgroups");
            of_groups(tree, &all, volume)
        }
        Ok(None) => Vec::new(),
        Err(error) => {
            let why = error_name(&error);
            let words = format!("the quota groups of the volume ({why})");
            vec![Quota::unasked(words)]
        }
    }
}

fn of_groups(tree: &Tree, all: &str, volume: u64) -> Vec<Quota> {
    /// `BTRFS_QGROUP_LIMIT_MAX_RFER` and `BTRFS_QGROUP_LIMIT_MAX_EXCL` of linux/btrfs.h.
    const LIMITS: [(u64, &str); 2] = [(1, "referenced"), (2, "exclusive")];
    let own = format!("{all}/0_{volume}");
    let told = |file: &str| tree.read_number(&format!("{own}/{file}"));
    let denied = |why: &TreeError| {
        let words = format!("the limits of the quota group 0/{volume} ({why})");
        Quota::unasked(words)
    };
    let flags = match told("limit_flags") {
        Err(why) if !why.absent => return vec![denied(&why)],
        flags => flags.unwrap_or(0),
    };
    let limits = LIMITS.into_iter().filter(|(flag, _)| flags & flag != 0);
    let mut found: Vec<Quota> = limits
        .map(|(_, what)| {
            let whose = format!(" that the quota group 0/{volume} allows");
            let both = told(&format!("max_{what}")).and_then(|limit| Ok((limit, told(what)?)));
            both.map_or_else(
                |why| denied(&why),
                |(limit, used)| Quota {
                    bound: Some(bound(limit, used, whose)),
                    ..Quota::default()
                },
            )
        })
        .collect();
    // Which groups are part of which is told to root alone, and in no file.
    let names = tree.list(all).unwrap_or_else(|why| {
        found.extend((!why.absent).then(|| denied(&why)));
        Vec::new()
    });
    let mut higher = names.into_iter().filter(|name| {
        let limits = || tree.read_number(&format!("{all}/{name}/limit_flags"));
        let is_group = name.split_once('_').is_some_and(|(level, _)| level != "0");
        is_group && limits().is_ok_and(|flags| flags & 3 != 0)
    });
    found.extend(higher.next().map(|name| {
        let name = name.replace('_', "/");
        Quota::unasked(format!(
            "the limit of the quota group {name}, in which the volume may be"
        ))
    }));
    found
}

/// The id of a btrfs and the number of the volume that a directory lies in; `None` on other file systems.
fn volume(dir: &File) -> io::Result<Option<(String, u64)>> {
    /// `BTRFS_IOC_FS_INFO` and `BTRFS_IOC_INO_LOOKUP` of linux/btrfs.h.
    const INFO: libc::Ioctl = 0x8400_941f_u32 as libc::Ioctl;
    const LOOK_UP: libc::Ioctl = 0xd000_9412_u32 as libc::Ioctl;
    /// `BTRFS_FIRST_FREE_OBJECTID`, for which everyone is told the volume alone.
    const ROOT: u64 = 256;
    // The magic number says that the two ioctls mean this.
    let space = crate::probe::file_system(&crate::io::file::handle_path(dir))?;
    if space.magic != BTRFS {
        return Ok(None);
    }
    // The id is behind two numbers of 8 bytes.
    let mut info = [0_u8; 1024];
    // SAFETY: the kernel writes 1024 bytes, which `info` has.
    if unsafe { libc::ioctl(dir.as_raw_fd(), INFO, info.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut look = [0_u64; 512];
    look[1] = ROOT;
    // SAFETY: the kernel reads and writes 4096 bytes, which `look` has.
    if unsafe { libc::ioctl(dir.as_raw_fd(), LOOK_UP, look.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let id = u128::from_be_bytes(std::array::from_fn(|at| info[16 + at]));
    let id = format!("{id:032x}");
    let parts = [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]];
    Ok(Some((parts.join("-"), look[0])))
}

/// `BTRFS_SUPER_MAGIC` of linux/magic.h.
const BTRFS: u64 = 0x9123_683e;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_of_two_limits_counts_and_none_is_none() {
        let check = |hard, soft, used, expect: Option<(u64, u64)>| {
            let told = Told {
                hard,
                soft,
                space: used,
                hard_inodes: hard,
                soft_inodes: soft,
                inodes: 3,
                ..Told::default()
            };
            let quota = of_told(&told, Owner::User(7).words());
            let bound = quota.bound.as_ref();
            assert_eq!(
                bound.map(|bound| (bound.free_bytes, bound.total_bytes)),
                expect
            );
            assert_eq!(quota.free_inodes.is_some(), expect.is_some());
            let words = " that the quota of user 7 allows";
            assert!(bound.is_none_or(|bound| bound.whose.as_deref() == Some(words)));
        };
        check(0, 0, 5000, None);
        check(100, 0, 2400, Some((100_000, 102_400)));
        check(0, 100, 2400, Some((100_000, 102_400)));
        check(200, 100, 2400, Some((100_000, 102_400)));
        check(100, 0, 200_000, Some((0, 102_400)));
    }

    #[test]
    fn the_kernel_is_asked_for_all_quotas_and_where_there_are_none_none_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let opened = File::open(dir.path()).unwrap();
        assert!(owners(&opened).len() >= 2);
        // Whatever the machine has, nothing of it is an error.
        let found = all(&Tree::real(), dir.path(), true);
        assert!(
            found
                .iter()
                .all(|quota| quota.unasked.is_none() || quota.bound.is_none())
        );
        assert_eq!(size_of::<Told>(), 72);
    }

    #[test]
    fn quotas_that_may_not_be_asked_are_said_and_those_that_are_off_are_not() {
        let found = all(&Tree::real(), Path::new("/no such place"), true);
        let words: Vec<_> = found
            .into_iter()
            .filter_map(|quota| quota.unasked)
            .collect();
        assert_eq!(words, ["the quotas of `/no such place` (ENOENT)"]);
        for (number, expect) in [
            (libc::EPERM, true),
            (libc::EACCES, true),
            (libc::ENOSYS, false),
            (libc::ESRCH, false),
            (libc::EINVAL, false),
            (libc::ENOENT, false),
            (libc::ENOTBLK, false),
        ] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(is_denied(&error), expect, "{error}");
        }
    }

    #[test]
    fn groups_of_a_volume_limit_what_it_refers_to_and_groups_of_groups_are_said() {
        let dir = tempfile::tempdir().unwrap();
        let group = |name: &str, flags: u64| {
            let at = dir.path().join("q").join(name);
            std::fs::create_dir_all(&at).unwrap();
            for (file, value) in [
                ("limit_flags", flags),
                ("max_referenced", 1000),
                ("referenced", 400),
                ("max_exclusive", 900),
                ("exclusive", 100),
            ] {
                std::fs::write(at.join(file), format!("{value}\n")).unwrap();
            }
        };
        let tree = Tree::at(dir.path());
        let told = || {
            let all = of_groups(&tree, "/q", 256).into_iter();
            all.map(|quota| {
                let bound = quota
                    .bound
                    .map(|bound| (bound.free_bytes, bound.total_bytes));
                (bound, quota.unasked)
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(told(), []);
        group("0_256", 0);
        group("0_5", 3);
        assert_eq!(told(), [], "another volume's");
        group("0_256", 1);
        assert_eq!(told(), [(Some((600, 1000)), None)]);
        group("0_256", 3);
        assert_eq!(told().len(), 2);
        assert_eq!(told()[1], (Some((800, 900)), None));
        // What is there and cannot be read.
        std::fs::write(dir.path().join("q/0_256/exclusive"), "").unwrap();
        let words = "the limits of the quota group 0/256 (parse `/q/0_256/exclusive`: it is empty)";
        assert_eq!(told()[1], (None, Some(words.to_owned())));
        std::fs::write(dir.path().join("q/0_256/limit_flags"), "").unwrap();
        assert!(matches!(&told()[..], [(None, Some(_))]));
        group("0_256", 0);
        group("1_100", 0);
        assert_eq!(told(), []);
        group("1_100", 1);
        let words = "the limit of the quota group 1/100, in which the volume may be";
        assert_eq!(told(), [(None, Some(words.to_owned()))]);
    }
}
