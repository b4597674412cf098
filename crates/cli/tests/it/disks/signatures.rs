//! Devices that hold something, as the tools of their owners make it: never written to by a slip.

mod root {
    use super::super::*;

    /// What a tool makes on a device. In the script `$1` is the device.
    struct Maker {
        /// What has to be installed.
        program: &'static str,
        script: &'static str,
        /// What is said of it.
        kind: &'static str,
        /// Of the device: all of it is read and compared.
        size: &'static str,
        /// Part of something larger: no option helps.
        member: bool,
    }

    const fn holds(program: &'static str, script: &'static str, kind: &'static str) -> Maker {
        Maker {
            program,
            script,
            kind,
            size: "128M",
            member: false,
        }
    }

    const fn member(program: &'static str, script: &'static str, kind: &'static str) -> Maker {
        Maker {
            member: true,
            ..holds(program, script, kind)
        }
    }

    const MAKERS: &[Maker] = &[
        holds("mke2fs", "mke2fs -q -F $1", "ext2/3/4"),
        Maker {
            // The least that it takes.
            size: "300M",
            ..holds("mkfs.xfs", "mkfs.xfs -q $1", "xfs")
        },
        holds("mkfs.btrfs", "mkfs.btrfs -q $1", "btrfs"),
        holds("mkfs.f2fs", "mkfs.f2fs -q $1", "f2fs"),
        holds("mkfs.vfat", "mkfs.vfat -F 32 $1", "fat32"),
        holds("mkfs.exfat", "mkfs.exfat $1", "exfat"),
        holds("mkntfs", "mkntfs -q -Q $1", "ntfs"),
        holds("mkswap", "mkswap $1", "swap"),
        holds(
            "cryptsetup",
            "printf secret | cryptsetup luksFormat --type luks1 --pbkdf-force-iterations 1000 -q $1 -",
            "LUKS",
        ),
        holds(
            "cryptsetup",
            "printf secret | cryptsetup luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -q $1 -",
            "LUKS",
        ),
        holds("sfdisk", "echo 2048,, | sfdisk -q --label gpt $1", "GPT"),
        holds("sfdisk", "echo 2048,, | sfdisk -q --label dos $1", "MBR"),
        // Its first copy is overwritten, and the one at the end tells.
        holds(
            "sfdisk",
            "echo 2048,, | sfdisk -q --label gpt $1; dd if=/dev/zero of=$1 bs=1M count=1 status=none",
            "backup GPT",
        ),
        holds(
            "xorriso",
            "mkdir $1.d; echo x > $1.d/x; xorriso -as mkisofs -quiet -o $1.iso $1.d; dd if=$1.iso of=$1 conv=notrunc status=none",
            "iso9660",
        ),
        member("pvcreate", "pvcreate -q -y -ff $1", "LVM"),
        member("make-bcache", "make-bcache -B $1", "bcache"),
    ];

    fn run(bed: &Bed, device: &str, word: &str) -> Done {
        let size = "storage.*.size=4M";
        let more = ["--device", device, "--yes-erase", word, "--set", size];
        bed.run(&args("storage.write-1m", &more))
    }

    #[test]
    #[ignore = "root: makes loop devices and what tools make on them"]
    fn what_a_tool_made_is_lost_only_by_its_own_name() {
        let installed = |maker: &&Maker| {
            let is_there = is_installed(maker.program);
            if !is_there {
                eprintln!("skipped: `{}` is not installed", maker.program);
            }
            is_there
        };
        let bed = Bed::new();
        for maker in MAKERS.iter().filter(installed) {
            let disk = Loop::new(maker.size);
            // On the image: what needs files of its own has them beside it.
            let image = disk.image().display().to_string();
            let device = if maker.script.contains("$1.") {
                &image
            } else {
                &disk.device
            };
            sh(&format!("set -- {device}; {} >&2", maker.script));
            let before = disk.image_bytes();
            let device = disk.device.as_str();
            let refused = run(&bed, device, device).code(2);
            refused.err_has(&[maker.kind]);
            let id = sh(&format!(
                "blkid -p -o value -s UUID -s PTUUID {device} | head -1"
            ));
            let typed = format!("{device}={id}");
            let refused = run(&bed, device, &format!("{device}=1234")).code(2);
            if maker.member {
                refused.err_has(&["part of something larger"]);
                run(&bed, device, &typed)
                    .code(2)
                    .err_has(&["part of something larger"]);
            } else {
                refused.err_has(&["neither its serial number nor the UUID of what it holds"]);
            }
            assert!(before == disk.image_bytes(), "{}", maker.kind);
            if !maker.member && maker.kind != "backup GPT" {
                run(&bed, device, &typed).code(0);
                assert!(before != disk.image_bytes(), "{}", maker.kind);
            }
        }
    }

    #[test]
    #[ignore = "root: makes loop devices"]
    fn members_of_arrays_and_pools_are_found_at_either_end_and_in_partitions() {
        let bed = Bed::new();
        let size = 64_u64 << 20;
        let md = [0xfc, 0x4e, 0x2b, 0xa9];
        let zfs = [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];
        // A partition of type LVM from 1 MiB on, in a table that this kernel may not even read.
        let mut table = [0_u8; 66];
        table[4] = 0x8e;
        table[8..12].copy_from_slice(&2048_u32.to_le_bytes());
        table[12..16].copy_from_slice(&65536_u32.to_le_bytes());
        table[64..].copy_from_slice(&[0x55, 0xaa]);
        let cases: [(&str, u64, &[u8], &[u8]); 8] = [
            ("software RAID", 0, &md, &[]),
            ("software RAID", 4096, &md, &[]),
            ("software RAID", size - 8192, &md, &[]),
            ("software RAID", size - 65536, &md, &[]),
            ("ZFS", 128 << 10, &zfs, &[]),
            ("ZFS", size - (128 << 10), &zfs, &[]),
            ("LVM", (1 << 20) + 512, b"LABELONE", &table),
            ("ZFS", (33 << 20) - (128 << 10), &zfs, &table),
        ];
        for (kind, at, magic, table) in cases {
            let disk = Loop::new("64M");
            let mut image = std::fs::File::options();
            let image = image.write(true).open(disk.image()).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&image, magic, at).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&image, table, 446).unwrap();
            image.sync_all().unwrap();
            drop(image);
            let before = disk.image_bytes();
            let refused = run(&bed, &disk.device, &disk.device).code(2);
            refused.err_has(&[&format!("part of something larger: {kind}")]);
            assert!(before == disk.image_bytes(), "{kind} at {at}");
        }
    }

    #[test]
    #[ignore = "root: makes loop devices and mounts one"]
    fn the_same_storage_under_another_name_is_in_use() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b10";
        sh(&format!("mkfs.ext4 -qF -U {uuid} {}", disk.device));
        let point = disk.dir.path().join("mount");
        sh(&format!(
            "mkdir {0}; mount {1} {0}",
            point.display(),
            disk.device
        ));
        // A loop device on the mounted one, and a second one on its image: the kernel claims each for itself.
        let others = [disk.device.clone(), disk.image().display().to_string()].map(|below| {
            let other = sh(&format!("losetup --find --show {below}"));
            let done = run(&bed, &other, &format!("{other}={uuid}"));
            sh(&format!("losetup --detach {other}"));
            done
        });
        sh(&format!("umount {}", point.display()));
        for refused in others {
            refused.code(2).err_has(&[
                &format!(
                    "`{}` is mounted at",
                    disk.device.trim_start_matches("/dev/")
                ),
                "no option overrides this",
            ]);
        }
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn what_nobody_knows_is_made_blank_by_what_the_hint_says() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        sh(&format!(
            "head -c 8192 /dev/urandom | dd of={} bs=4096 seek=3 status=none",
            disk.device
        ));
        let refused = run(&bed, &disk.device, &disk.device).code(2);
        refused.err_has(&["data of an unknown kind", "neither serial number nor UUID"]);
        let done = run(&bed, &disk.device, &disk.device);
        let hint = done
            .err
            .split('`')
            .find(|word| word.starts_with("blkdiscard"));
        sh(hint.unwrap());
        run(&bed, &disk.device, &disk.device).code(0);
    }
}
