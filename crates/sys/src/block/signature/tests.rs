//! Marks made up by hand, by the descriptions of their formats, and by the tools that write them.

use super::*;
use std::io::Cursor;
use std::path::{Path, PathBuf};

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

/// What is said of a device with these bytes at these places, of a size that is no round number.
fn check(pieces: &[(usize, &[u8])], expect: &[(&str, Option<&str>)]) {
    let mut bytes = vec![0; SIZE + 7 * 512];
    for (at, piece) in pieces {
        bytes[*at..at + piece.len()].copy_from_slice(piece);
    }
    let all = found(bytes);
    let seen: Vec<_> = all
        .iter()
        .map(|found| (found.kind, found.uuid.as_deref()))
        .collect();
    assert_eq!(seen, expect);
}

/// The bytes 1, 2, 3...
const ID: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const ID_WORDS: &str = "01020304-0506-0708-090a-0b0c0d0e0f10";

#[test]
fn headers_as_the_formats_describe_them_are_found_where_they_stand() {
    // Places are counted by hand from the descriptions, and not taken from the table.
    let md = 0xa92b_4efc_u32.to_le_bytes();
    let end = SIZE + 7 * 512;
    let is_md = [("software RAID", Some(ID_WORDS))];
    // Version 1.1 stands at the start, 1.2 at 4 KiB, 1.0 at least 8 KiB before the end, at a multiple of 4 KiB.
    for at in [0, 4096, (end / 512 - 16) / 8 * 8 * 512] {
        check(&[(at, &md), (at + 16, &ID)], &is_md);
    }
    // Version 0.90 stands in the last whole 64 KiB but one, in the order of the machine.
    let at = end / 65536 * 65536 - 65536;
    check(&[(at, &md)], &[("software RAID", None)]);
    check(
        &[(at, &0xa92b_4efc_u32.to_be_bytes())],
        &[("software RAID", None)],
    );
    // Four labels of ZFS, of 256 KiB each, with the ring of uberblocks in their second half.
    let labels = end / (256 << 10) * (256 << 10);
    for label in [0, 256 << 10, labels - (512 << 10), labels - (256 << 10)] {
        for number in [0, 1, 77, 127] {
            let at = label + (128 << 10) + number * 1024;
            check(&[(at, &0x00ba_b10c_u64.to_le_bytes())], &[("ZFS", None)]);
            check(&[(at, &0x00ba_b10c_u64.to_be_bytes())], &[("ZFS", None)]);
        }
    }
    let lvm = b"0DRNw2-eXWx-GoK9-NNNN-abcd-efgh-ijklmn";
    for sector in 0..4 {
        let label = sector * 512;
        let text = std::str::from_utf8(&lvm[..32]).unwrap();
        check(
            &[(label, b"LABELONE"), (label + 32, &lvm[..32])],
            &[("LVM", Some(text))],
        );
    }
    check(
        &[(end - 1024, b"Intel Raid ISM Cfg Sig. 1.3.00")],
        &[("firmware RAID", None)],
    );
    check(
        &[(end - 512, &[0xde, 0x11, 0xde, 0x11])],
        &[("firmware RAID", None)],
    );
    let guid = "04030201-0605-0807-090a-0b0c0d0e0f10";
    for (at, kind) in [(512, "GPT"), (4096, "GPT"), (end - 512, "backup GPT")] {
        check(&[(at, b"EFI PART"), (at + 56, &ID)], &[(kind, Some(guid))]);
    }
    let bcache = [0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca];
    let rest = [0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81];
    check(
        &[(4096 + 24, &bcache), (4096 + 32, &rest), (4096 + 40, &ID)],
        &[("bcache", Some(ID_WORDS))],
    );
    let luks = b"1c2d3e4f-0102-4304-8506-0708090a0b0c";
    check(
        &[(0, b"LUKS\xba\xbe"), (168, luks)],
        &[("LUKS", Some("1c2d3e4f-0102-4304-8506-0708090a0b0c"))],
    );
    check(&[(0x4000, b"SKUL\xba\xbe")], &[("LUKS", None)]);
    check(
        &[(1 << 20, &0xc001_d00d_u32.to_le_bytes())],
        &[("VMFS", None)],
    );
    check(&[(32769, b"CD001")], &[("iso9660", None)]);
    let made = (32768 + 813, &b"2026112111344100"[..]);
    let changed = (32768 + 830, &b"2027010203040506"[..]);
    let iso = |times: &[(usize, &[u8])], id: &str| {
        let magic = (32769, &b"CD001"[..]);
        check(&[&[magic], times].concat(), &[("iso9660", Some(id))]);
    };
    iso(&[made], "2026-11-21-11-34-41-00");
    iso(&[made, changed], "2027-01-02-03-04-05-06");
    for page in [4096, 8192, 16384, 32768, 65536] {
        check(
            &[(page - 10, b"SWAPSPACE2"), (1036, &ID)],
            &[("swap", Some(ID_WORDS))],
        );
    }
}

#[test]
fn a_boot_sector_is_no_partition_table() {
    let end = (510, &[0x55, 0xaa][..]);
    let number = &[0xcd, 0xab, 0x34, 0x12][..];
    check(
        &[end, (54, b"FAT16   "), (39, number)],
        &[("fat", Some("1234-ABCD"))],
    );
    check(
        &[end, (82, b"FAT32   "), (67, number)],
        &[("fat32", Some("1234-ABCD"))],
    );
    check(
        &[end, (3, b"EXFAT   "), (100, number)],
        &[("exfat", Some("1234-ABCD"))],
    );
    check(
        &[end, (3, b"NTFS    "), (72, number), (76, number)],
        &[("ntfs", Some("1234ABCD1234ABCD"))],
    );
}

#[test]
fn what_lies_in_a_partition_is_found_without_the_kernels_help() {
    let mut entry = [0_u8; 16];
    entry[4] = 0x8e;
    entry[8] = 64;
    entry[13] = 8;
    let table = [(446, &entry[..]), (510, &[0x55, 0xaa]), (440, &ID[..4])];
    let start = 64 * 512;
    let mbr = ("MBR", Some("04030201"));
    let with = |inside: &[(usize, &[u8])], expect: (&'static str, Option<&'static str>)| {
        check(&[&table[..], inside].concat(), &[mbr, expect]);
    };
    with(&[(start + 512, b"LABELONE")], ("LVM", None));
    with(
        &[(start, b"XFSB"), (start + 32, &ID)],
        ("xfs", Some(ID_WORDS)),
    );
    // At its end: version 0.90 of 2048 sectors that begin at 32 KiB.
    let md = start + (2048 * 512) - 65536;
    with(
        &[(md, &0xa92b_4efc_u32.to_le_bytes())],
        ("software RAID", None),
    );
}

#[test]
fn what_is_written_between_the_two_looks_is_named() {
    /// A device on which somebody makes a file system after so many reads.
    struct Meanwhile(Cursor<Vec<u8>>, usize);
    impl Read for Meanwhile {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            if self.1 == 0 {
                self.0.get_mut()[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
            }
            self.1 = self.1.wrapping_sub(1);
            self.0.read(bytes)
        }
    }
    impl Seek for Meanwhile {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }
    for after in [1, 5, 20, 100, 500] {
        let mut device = Meanwhile(Cursor::new(vec![0; SIZE]), after);
        let all = probe(&mut device, SIZE as u64).unwrap();
        let kinds: Vec<_> = all.iter().map(|found| found.kind).collect();
        assert_eq!(kinds, ["ext2/3/4"], "{after}");
    }
}

#[test]
fn a_zfs_label_is_found_wherever_its_ring_stands() {
    let mut bytes = vec![0; SIZE];
    let at = (128 << 10) + 77 * 1024;
    bytes[at..at + 8].copy_from_slice(&0x00ba_b10c_u64.to_le_bytes());
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

/// Tools that are on every machine with disks, and their packages: without them nothing here would be checked.
const NEEDED: [(&str, &str); 3] = [
    ("mke2fs", "e2fsprogs"),
    ("mkswap", "util-linux"),
    ("blkid", "util-linux"),
];

/// Where a tool is installed; one that is [`NEEDED`] must be.
fn program(name: &str) -> Option<PathBuf> {
    let places = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let mut paths = places.iter().map(|place| Path::new(place).join(name));
    let found = paths.find(|path| path.exists());
    let needed = NEEDED.iter().find(|(needed, _)| *needed == name);
    if let (None, Some((_, package))) = (&found, needed) {
        panic!("`{name}` is not installed: install the package `{package}`");
    }
    found
}

/// What a tool makes on a file of 300 MiB, beside what blkid(8) says of it.
fn made_by(command: &str, arguments: &[&str], kind: &str) {
    let (Some(path), Some(blkid)) = (program(command), program("blkid")) else {
        eprintln!("skipped: `{command}` is not installed");
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    // The smallest that mkfs.xfs takes.
    let size = 300 << 20;
    file.as_file().set_len(size).unwrap();
    let target = file.path().to_str().unwrap();
    let run = |program: &Path, arguments: &[&str]| {
        crate::process::first_line(program, &[arguments, &[target]].concat(), 60_000).ok()
    };
    run(&path, arguments);
    let all = probe(&mut file.reopen().unwrap(), size).unwrap();
    assert_eq!(
        all.first().map(|mark| mark.kind),
        Some(kind),
        "{command}: {all:?}"
    );
    let id = run(&blkid, &["-p", "-o", "value", "-s", "UUID"]);
    let id = id.or_else(|| run(&blkid, &["-p", "-o", "value", "-s", "PTUUID"]));
    assert_eq!(all[0].uuid, id.filter(|id| !id.is_empty()), "{command}");
}

#[test]
fn what_real_tools_write_is_known_by_the_identity_that_blkid_prints() {
    made_by("mke2fs", &["-q", "-F"], "ext2/3/4");
    made_by("mkswap", &[], "swap");
    made_by("mkfs.xfs", &["-q"], "xfs");
    made_by("mkfs.btrfs", &["-q"], "btrfs");
    made_by("mkfs.vfat", &["-F", "16"], "fat");
    made_by("mkfs.vfat", &["-F", "32"], "fat32");
    made_by("mkfs.exfat", &[], "exfat");
    made_by("mkntfs", &["-Q", "-F", "-q"], "ntfs");
    made_by("mkfs.f2fs", &["-q"], "f2fs");
    made_by("mkfs.nilfs2", &["-q"], "nilfs2");
    made_by("mkfs.jfs", &["-q"], "jfs");
    made_by("mkfs.reiserfs", &["-q", "-ff"], "reiserfs");
    made_by("sgdisk", &["--new=1:2048:0"], "GPT");
}
