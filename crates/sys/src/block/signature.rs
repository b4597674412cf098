//! What a block device holds: the marks that file systems, partition tables, swap areas and volume managers leave.
//!
//! A table of magic bytes, from the published on-disk formats. It is not complete and cannot be, so that a device with
//! none of these marks but with any byte other than 0 in its first or last MiB counts as "data of an unknown kind": a
//! raw database volume looks like that. It only reads.

use std::io::{self, Read, Seek, SeekFrom};

/// What kind of owner a mark speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A file system, swap area or encrypted volume: it has an identity that a user can type.
    Content,
    /// A table of partitions.
    Table,
    /// Part of something larger (LVM, RAID, ZFS, bcache): the whole would be damaged.
    Member,
    /// Bytes that nothing here knows.
    Unknown,
}

/// A mark that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What left it: `ext2/3/4`, `LVM`, `data of an unknown kind`.
    pub kind: &'static str,
    /// What that means.
    pub class: Class,
    /// Its identity in the format that blkid(8) prints, where the format has one.
    pub uuid: Option<String>,
}

/// Where a mark lies.
#[derive(Clone, Copy, Debug)]
enum At {
    /// So many bytes from the start.
    Start(u64),
    /// So many bytes before the end, after the size was rounded down to a multiple of `align` bytes.
    End {
        /// Distance from the end.
        back: u64,
        /// Rounding.
        align: u64,
    },
}

/// How an identity is written down.
#[derive(Clone, Copy, Debug)]
enum Id {
    /// The format has none, or none worth typing.
    None,
    /// Sixteen bytes, printed as 8-4-4-4-12 hexadecimal digits; at this distance from the mark's own place.
    Uuid(i64),
    /// The same, with the first three groups little-endian (GPT).
    Guid(i64),
    /// So many bytes of text.
    Text(i64, usize),
    /// So many bytes as a little-endian hexadecimal number (FAT, NTFS, MBR).
    Hex(i64, usize),
}

/// One entry of the table.
struct Mark {
    kind: &'static str,
    class: Class,
    at: At,
    magic: &'static [u8],
    id: Id,
}

const fn content(kind: &'static str, at: u64, magic: &'static [u8], id: Id) -> Mark {
    mark(kind, Class::Content, At::Start(at), magic, id)
}

const fn member(kind: &'static str, at: At, magic: &'static [u8], id: Id) -> Mark {
    mark(kind, Class::Member, at, magic, id)
}

const fn mark(kind: &'static str, class: Class, at: At, magic: &'static [u8], id: Id) -> Mark {
    Mark {
        kind,
        class,
        at,
        magic,
        id,
    }
}

const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const ZFS: &[u8] = &[0x0c, 0xb1, 0xba, 0x00];
const BCACHE: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];
/// The first uberblock of a ZFS label lies behind 128 KiB of other things.
const ZFS_UBERBLOCKS: u64 = 128 << 10;

/// The table. Offsets and magic bytes are those of the formats' published descriptions: the kernel's documentation
/// and headers for its own file systems, the UEFI specification for GPT, the vendors' for the rest.
static MARKS: &[Mark] = &[
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
    content("iso9660", 32769, b"CD001", Id::None),
    content("udf", 32769 + 2048, b"NSR0", Id::None),
    content("hfs+", 1024, b"H+", Id::None),
    content("hfsx", 1024, b"HX", Id::None),
    content("apfs", 32, b"NXSB", Id::Uuid(40)),
    content("ntfs", 3, b"NTFS    ", Id::Hex(69, 8)),
    content("exfat", 3, b"EXFAT   ", Id::Hex(97, 4)),
    content("fat", 54, b"FAT1", Id::Hex(-15, 4)),
    content("fat32", 82, b"FAT32", Id::Hex(-15, 4)),
    content("swap", 4096 - 10, b"SWAPSPACE2", Id::Uuid(1036 - 4086)),
    content("swap", 65536 - 10, b"SWAPSPACE2", Id::Uuid(1036 - 65526)),
    content("suspended system", 4096 - 10, b"S1SUSPEND", Id::None),
    content("LUKS", 0, b"LUKS\xba\xbe", Id::Text(168, 36)),
    content("dm-verity", 0, b"verity\0\0", Id::Uuid(16)),
    content(
        "Ceph BlueStore",
        0,
        b"bluestore block device\n",
        Id::Text(23, 36),
    ),
    content("Oracle ASM", 32, b"ORCLDISK", Id::None),
    mark(
        "GPT",
        Class::Table,
        At::Start(512),
        b"EFI PART",
        Id::Guid(56),
    ),
    mark(
        "GPT",
        Class::Table,
        At::Start(4096),
        b"EFI PART",
        Id::Guid(56),
    ),
    mark(
        "backup GPT",
        Class::Table,
        At::End {
            back: 512,
            align: 512,
        },
        b"EFI PART",
        Id::Guid(56),
    ),
    mark(
        "MBR",
        Class::Table,
        At::Start(510),
        &[0x55, 0xaa],
        Id::Hex(-70, 4),
    ),
    member("LVM", At::Start(0), b"LABELONE", Id::Text(32, 32)),
    member("LVM", At::Start(512), b"LABELONE", Id::Text(32, 32)),
    member("LVM", At::Start(1024), b"LABELONE", Id::Text(32, 32)),
    member("LVM", At::Start(1536), b"LABELONE", Id::Text(32, 32)),
    member("software RAID", At::Start(0), MD, Id::Uuid(16)),
    member("software RAID", At::Start(4096), MD, Id::Uuid(16)),
    member(
        "software RAID",
        At::End {
            back: 8192,
            align: 4096,
        },
        MD,
        Id::Uuid(16),
    ),
    member(
        "software RAID",
        At::End {
            back: 65536,
            align: 65536,
        },
        MD,
        Id::None,
    ),
    member("bcache", At::Start(4096 + 24), BCACHE, Id::Uuid(16)),
    member(
        "Stratis",
        At::Start(512 + 4),
        b"!Stra0tis\x86\xff\x02",
        Id::None,
    ),
    member("VDO", At::Start(0), b"dmvdo001", Id::None),
    member("ZFS", At::Start(ZFS_UBERBLOCKS), ZFS, Id::None),
    member(
        "ZFS",
        At::Start((256 << 10) + ZFS_UBERBLOCKS),
        ZFS,
        Id::None,
    ),
    member(
        "ZFS",
        At::End {
            back: (512 << 10) - ZFS_UBERBLOCKS,
            align: 256 << 10,
        },
        ZFS,
        Id::None,
    ),
    member(
        "ZFS",
        At::End {
            back: (256 << 10) - ZFS_UBERBLOCKS,
            align: 256 << 10,
        },
        ZFS,
        Id::None,
    ),
];

/// How much of each end is searched for data of an unknown kind.
const ENDS: u64 = 1 << 20;

/// A ZFS label has a ring of this many uberblocks of at least 1 KiB, of which any may be the first in use.
const ZFS_RING: u64 = 128;

/// Every mark on a device of `size` bytes; an empty list means a blank device.
pub fn probe(device: &mut (impl Read + Seek), size: u64) -> io::Result<Vec<Signature>> {
    let mut found: Vec<Signature> = Vec::new();
    for mark in MARKS {
        let Some(place) = place(mark.at, size) else {
            continue;
        };
        let steps = if mark.kind == "ZFS" { ZFS_RING } else { 1 };
        for step in 0..steps {
            let here = place + step * 1024;
            if read_at(device, here, mark.magic.len(), size)?.as_deref() == Some(mark.magic) {
                let signature = Signature {
                    kind: mark.kind,
                    class: mark.class,
                    uuid: identity(device, mark.id, here, size)?,
                };
                if !found.contains(&signature) {
                    found.push(signature);
                }
                break;
            }
        }
    }
    if found.is_empty() && !blank(device, size)? {
        found.push(Signature {
            kind: "data of an unknown kind",
            class: Class::Unknown,
            uuid: None,
        });
    }
    Ok(found)
}

fn place(at: At, size: u64) -> Option<u64> {
    match at {
        At::Start(offset) => Some(offset),
        At::End { back, align } => (size / align * align).checked_sub(back),
    }
}

/// `len` bytes at `offset`; `None` where the device ends before.
fn read_at(
    device: &mut (impl Read + Seek),
    offset: u64,
    len: usize,
    size: u64,
) -> io::Result<Option<Vec<u8>>> {
    let end = u64::try_from(len)
        .ok()
        .and_then(|len| offset.checked_add(len));
    if end.is_none_or(|end| end > size) {
        return Ok(None);
    }
    let mut bytes = vec![0; len];
    device.seek(SeekFrom::Start(offset))?;
    device.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

fn identity(
    device: &mut (impl Read + Seek),
    id: Id,
    mark: u64,
    size: u64,
) -> io::Result<Option<String>> {
    let (distance, len) = match id {
        Id::None => return Ok(None),
        Id::Uuid(distance) | Id::Guid(distance) => (distance, 16),
        Id::Text(distance, len) | Id::Hex(distance, len) => (distance, len),
    };
    let Some(offset) = mark.checked_add_signed(distance) else {
        return Ok(None);
    };
    let Some(mut bytes) = read_at(device, offset, len, size)? else {
        return Ok(None);
    };
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(None);
    }
    Ok(match id {
        Id::Text(..) => Some(
            String::from_utf8_lossy(&bytes)
                .trim_end_matches('\0')
                .to_owned(),
        ),
        Id::Hex(..) => {
            bytes.reverse();
            Some(hex(&bytes))
        }
        Id::Guid(_) => {
            bytes[0..4].reverse();
            bytes[4..6].reverse();
            bytes[6..8].reverse();
            Some(uuid(&bytes))
        }
        Id::Uuid(_) | Id::None => Some(uuid(&bytes)),
    })
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn uuid(bytes: &[u8]) -> String {
    let groups = [0..4, 4..6, 6..8, 8..10, 10..16];
    groups.map(|group| hex(&bytes[group])).join("-")
}

/// Whether both ends hold nothing but zeros.
fn blank(device: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let len = ENDS.min(size);
    let bytes = usize::try_from(len).unwrap_or(0);
    for offset in [0, size - len] {
        let end = read_at(device, offset, bytes, size)?.unwrap_or_default();
        if end.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const SIZE: usize = 8 << 20;

    fn found(bytes: Vec<u8>) -> Vec<Signature> {
        let size = bytes.len() as u64;
        probe(&mut Cursor::new(bytes), size).unwrap()
    }

    #[test]
    fn a_blank_device_has_no_mark_and_a_single_byte_is_data() {
        for size in [0, 1, 511, 4096, SIZE] {
            assert_eq!(found(vec![0; size]), [], "{size}");
        }
        for place in [0, 12_345, SIZE - 1] {
            let mut bytes = vec![0; SIZE];
            bytes[place] = 1;
            assert_eq!(found(bytes)[0].class, Class::Unknown, "{place}");
        }
    }

    #[test]
    fn every_mark_of_the_table_is_found_by_itself() {
        for mark in MARKS {
            let mut bytes = vec![0; SIZE];
            let at = usize::try_from(place(mark.at, SIZE as u64).unwrap()).unwrap();
            bytes[at..at + mark.magic.len()].copy_from_slice(mark.magic);
            let kinds: Vec<_> = found(bytes).iter().map(|found| found.kind).collect();
            assert_eq!(kinds, [mark.kind]);
        }
    }

    #[test]
    fn a_zfs_label_is_found_wherever_its_ring_stands() {
        let mut bytes = vec![0; SIZE];
        let at = (128 << 10) + 77 * 1024;
        bytes[at..at + 4].copy_from_slice(ZFS);
        assert_eq!(found(bytes)[0].class, Class::Member);
    }

    #[test]
    fn identities_are_written_as_their_tools_write_them() {
        let mut bytes = vec![0; SIZE];
        bytes[512..520].copy_from_slice(b"EFI PART");
        for (i, byte) in bytes[568..584].iter_mut().enumerate() {
            *byte = u8::try_from(i).unwrap();
        }
        let guid = found(bytes)[0].uuid.clone();
        assert_eq!(
            guid.as_deref(),
            Some("03020100-0504-0706-0809-0a0b0c0d0e0f")
        );

        let mut bytes = vec![0; SIZE];
        bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        bytes[440..444].copy_from_slice(&[0x78, 0x56, 0x34, 0x12]);
        assert_eq!(found(bytes)[0].uuid.as_deref(), Some("12345678"));
    }

    /// The marks of real tools, on a file of 64 MiB.
    fn made_by(command: &str, arguments: &[&str], kind: &str, uuid: Option<&str>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(64 << 20).unwrap();
        let path = std::path::Path::new(command);
        assert!(path.exists(), "`{command}` is needed for this test");
        let mut all = arguments.to_vec();
        all.push(file.path().to_str().unwrap());
        crate::process::first_line(path, &all, 20_000).ok();
        let size = 64 << 20;
        let found = probe(&mut file.reopen().unwrap(), size).unwrap();
        assert_eq!(found.len(), 1, "{command}: {found:?}");
        assert_eq!((found[0].kind, found[0].uuid.as_deref()), (kind, uuid));
    }

    #[test]
    fn what_mkfs_and_mkswap_write_is_recognised() {
        let uuid = "1c2d3e4f-0102-4304-8506-0708090a0b0c";
        made_by(
            "/sbin/mke2fs",
            &["-q", "-F", "-U", uuid],
            "ext2/3/4",
            Some(uuid),
        );
        made_by("/sbin/mkswap", &["-U", uuid], "swap", Some(uuid));
    }
}
