//! The table of marks. Offsets and magic bytes are those of the formats' published descriptions: the kernel's
//! documentation and headers for its own file systems and volume managers, the UEFI specification for GPT, the
//! vendors' for the rest; most are collected in the manual of wipefs(8) and blkid(8) by name.

use super::{At, Class, Id, Mark};

const fn content(kind: &'static str, at: u64, magic: &'static [u8], id: Id) -> Mark {
    mark(kind, Class::Content, At::Start(at), magic, id)
}

const fn member(kind: &'static str, at: At, magic: &'static [u8], id: Id) -> Mark {
    mark(kind, Class::Member, at, magic, id)
}

const fn table(kind: &'static str, at: At, magic: &'static [u8], id: Id) -> Mark {
    mark(kind, Class::Table, at, magic, id)
}

const fn mark(kind: &'static str, class: Class, at: At, magic: &'static [u8], id: Id) -> Mark {
    Mark {
        kind,
        class,
        at,
        places: 1,
        magic,
        id,
    }
}

/// So many bytes before the end.
const fn end(back: u64, align: u64) -> At {
    At::End { back, align }
}

/// A swap area or a system that was suspended to it: the mark stands at the end of its first page.
const fn page_end(kind: &'static str, page: u64, magic: &'static [u8], id: Id) -> Mark {
    content(kind, page - 10, magic, id)
}

/// Where mkswap(8) puts the UUID: 1036 bytes from the start, whatever the page's size.
const fn swap(page: u64) -> Mark {
    page_end(
        "swap",
        page,
        b"SWAPSPACE2",
        Id::Uuid(1036 + 10 - page.cast_signed()),
    )
}

const fn old_swap(page: u64) -> Mark {
    page_end("swap", page, b"SWAP-SPACE", Id::None)
}

const fn suspended(page: u64, magic: &'static [u8]) -> Mark {
    page_end("suspended system", page, magic, Id::None)
}

/// The second header of LUKS 2, which stands while the first one is damaged.
const fn luks(at: u64) -> Mark {
    content("LUKS", at, b"SKUL\xba\xbe", Id::Text(168, 36))
}

const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
/// Version 0.90 is written in the order of the machine.
const MD_BIG: &[u8] = &[0xa9, 0x2b, 0x4e, 0xfc];
const ZFS: &[u8] = &[0x0c, 0xb1, 0xba, 0x00, 0, 0, 0, 0];
const ZFS_BIG: &[u8] = &[0, 0, 0, 0, 0x00, 0xba, 0xb1, 0x0c];
const BCACHE: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];

const KIB: u64 = 1 << 10;

/// A ZFS label: 256 KiB, of which the second half is a ring of uberblocks of at least 1 KiB, any of which may be the
/// first in use. Two labels stand at the start and two at the end of the device, rounded down to whole labels.
const fn zfs(at: At, magic: &'static [u8]) -> Mark {
    let at = match at {
        At::Start(start) => At::Start(start + 128 * KIB),
        At::End { back, align } => end(back - 128 * KIB, align),
    };
    Mark {
        places: 128,
        ..member("ZFS", at, magic, Id::None)
    }
}

/// Kinds whose boot sector ends with the two bytes that end a partition table.
pub(super) const BOOT_SECTORS: [&str; 6] = ["fat", "fat32", "ntfs", "exfat", "refs", "BitLocker"];

pub(super) static MARKS: &[Mark] = &[
    content("ext2/3/4", 0x438, &[0x53, 0xef], Id::Uuid(0x30)),
    content("xfs", 0, b"XFSB", Id::Uuid(32)),
    content("btrfs", 0x1_0040, b"_BHRfS_M", Id::Uuid(-0x20)),
    content("f2fs", 1024, &[0x10, 0x20, 0xf5, 0xf2], Id::Uuid(108)),
    content("erofs", 1024, &[0xe2, 0xe1, 0xf5, 0xe0], Id::Uuid(48)),
    content("squashfs", 0, b"hsqs", Id::None),
    content("bcachefs", 4096 + 24, BCACHEFS, Id::Uuid(32)),
    content("jfs", 0x8000, b"JFS1", Id::Uuid(136)),
    content("reiserfs", 0x1_0034, b"ReIsEr", Id::Uuid(32)),
    content("nilfs2", 1024 + 6, &[0x34, 0x34], Id::Uuid(146)),
    content("ocfs2", 8192, b"OCFSV2", Id::None),
    content("gfs2", 0x1_0000, &[0x01, 0x16, 0x19, 0x70], Id::None),
    content("ufs", 8192 + 1372, &[0x54, 0x19, 0x01, 0x00], Id::None),
    content("ufs2", 65536 + 1372, &[0x19, 0x01, 0x54, 0x19], Id::None),
    content("iso9660", 32769, b"CD001", Id::Date(812)),
    content("udf", 32769 + 2048, b"NSR0", Id::None),
    content("hfs", 1024, b"BD", Id::None),
    content("hfs+", 1024, b"H+", Id::None),
    content("hfsx", 1024, b"HX", Id::None),
    content("apfs", 32, b"NXSB", Id::Uuid(40)),
    content("ntfs", 3, b"NTFS    ", Id::Capitals(69)),
    content("refs", 3, b"ReFS\0\0\0\0", Id::None),
    content("BitLocker", 3, b"-FVE-FS-", Id::None),
    content("exfat", 3, b"EXFAT   ", Id::Halves(97)),
    content("fat", 54, b"FAT1", Id::Halves(-15)),
    content("fat32", 82, b"FAT32", Id::Halves(-15)),
    swap(4096),
    swap(8192),
    swap(16384),
    swap(32768),
    swap(65536),
    old_swap(4096),
    old_swap(65536),
    suspended(4096, b"S1SUSPEND"),
    suspended(4096, b"S2SUSPEND"),
    suspended(4096, b"ULSUSPEND"),
    suspended(4096, b"LINHIB0001"),
    content("LUKS", 0, b"LUKS\xba\xbe", Id::Text(168, 36)),
    luks(16 * KIB),
    luks(32 * KIB),
    luks(64 * KIB),
    luks(128 * KIB),
    luks(256 * KIB),
    luks(512 * KIB),
    luks(1024 * KIB),
    luks(2048 * KIB),
    luks(4096 * KIB),
    content("dm-verity", 0, b"verity\0\0", Id::Uuid(16)),
    content(
        "Ceph BlueStore",
        0,
        b"bluestore block device\n",
        Id::Text(23, 36),
    ),
    content("Oracle ASM", 32, b"ORCLDISK", Id::None),
    table("GPT", At::Start(512), b"EFI PART", Id::Guid(56)),
    table("GPT", At::Start(4096), b"EFI PART", Id::Guid(56)),
    table("backup GPT", end(512, 512), b"EFI PART", Id::Guid(56)),
    table("backup GPT", end(4096, 4096), b"EFI PART", Id::Guid(56)),
    table("MBR", At::Start(510), &[0x55, 0xaa], Id::Hex(-70)),
    member("LVM", At::Start(0), b"LABELONE", Id::Text(32, 32)),
    member("LVM", At::Start(512), b"LABELONE", Id::Text(32, 32)),
    member("LVM", At::Start(1024), b"LABELONE", Id::Text(32, 32)),
    member("LVM", At::Start(1536), b"LABELONE", Id::Text(32, 32)),
    member("software RAID", At::Start(0), MD, Id::Uuid(16)),
    member("software RAID", At::Start(4096), MD, Id::Uuid(16)),
    member("software RAID", end(8192, 4096), MD, Id::Uuid(16)),
    member("software RAID", end(65536, 65536), MD, Id::None),
    member("software RAID", end(65536, 65536), MD_BIG, Id::None),
    member(
        "firmware RAID",
        end(1024, 512),
        b"Intel Raid ISM Cfg Sig. ",
        Id::None,
    ),
    member(
        "firmware RAID",
        end(512, 512),
        &[0xde, 0x11, 0xde, 0x11],
        Id::None,
    ),
    member(
        "firmware RAID",
        end(512, 512),
        &[0x11, 0xde, 0x11, 0xde],
        Id::None,
    ),
    member(
        "DRBD",
        end(4096 - 60, 4096),
        &[0x83, 0x74, 0x02, 0x6b],
        Id::None,
    ),
    member(
        "DRBD",
        end(4096 - 60, 4096),
        &[0x83, 0x74, 0x02, 0x6c],
        Id::None,
    ),
    member("bcache", At::Start(4096 + 24), BCACHE, Id::Uuid(16)),
    member(
        "VMFS",
        At::Start(1024 * KIB),
        &[0x0d, 0xd0, 0x01, 0xc0],
        Id::None,
    ),
    member(
        "Stratis",
        At::Start(512 + 4),
        b"!Stra0tis\x86\xff\x02",
        Id::None,
    ),
    member("VDO", At::Start(0), b"dmvdo001", Id::None),
    zfs(At::Start(0), ZFS),
    zfs(At::Start(256 * KIB), ZFS),
    zfs(end(512 * KIB, 256 * KIB), ZFS),
    zfs(end(256 * KIB, 256 * KIB), ZFS),
    zfs(At::Start(0), ZFS_BIG),
    zfs(At::Start(256 * KIB), ZFS_BIG),
    zfs(end(512 * KIB, 256 * KIB), ZFS_BIG),
    zfs(end(256 * KIB, 256 * KIB), ZFS_BIG),
];
